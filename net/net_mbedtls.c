/* TLS by Mbed TLS (2.28 or 3), as a transport. Only a build that asks for it has this file: make TLS=mbedtls.
 *
 * Mbed TLS reads from the socket by itself. What it writes goes through `out` of the session: so it is never asked to write the
 * same bytes again, as it would have to be when the socket takes a part of a record, whatever the engine wants to send next; and
 * what it writes while it reads is sent whenever the descriptor allows it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "redlock_net.h"
#include "redlock_tls.h"
#include "redlock_transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/platform.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#if MBEDTLS_VERSION_NUMBER >= 0x03000000 && defined(MBEDTLS_PSA_CRYPTO_C)
#include <psa/crypto.h>
#define TLS_BEGIN_CRYPTO() (psa_crypto_init() == PSA_SUCCESS)
#else
#define TLS_BEGIN_CRYPTO() true
#endif
#ifndef MBEDTLS_PRIVATE
#define MBEDTLS_PRIVATE(member) member      /* Of 3: what may be another one day is called so. */
#endif

#ifndef MBEDTLS_HAVE_TIME_DATE
#error "this Mbed TLS knows no time of day: it would take certificates that have expired"
#endif

enum {
    TLS_SESSIONS_MAX = NET_WAIT_MAX,    /* Two for each node that there can be, and two to spare. */
    TLS_PIECE = 4096,                   /* Sent as one record at most. */
    TLS_OUT_MAX = 20480,                /* Room for one record of any kind, and what goes with it. */
    TLS_LOOKS_MAX = 64,                 /* At the socket in one call: a node that floods us must not keep others waiting (S16). */
    TLS_WORDS_MAX = 96                  /* Of which the engine keeps some 60. */
};

/* What there is while there is a connection. */
struct tls_line {
    mbedtls_ssl_context ssl;
    size_t out_start, out_end;
    uint8_t out[TLS_OUT_MAX];
    uint8_t number[sizeof(struct in6_addr)];    /* The host as a number, */
    size_t number_size;                         /* of 4 or 16 bytes; 0: it is a name. */
};

/* One connection. Beside `words`, which outlive it, all is zero while there is none. */
struct tls_session {
    struct tls_line *line;  /* NULL: there is no connection. */
    int fd;
    int ended;              /* 0; REDLOCK_TRANSPORT_END, or -E: nothing more comes. */
    bool has_socket;        /* TCP stands, */
    bool stands;            /* and so does TLS. */
    bool may_have_more;     /* The last call has stopped before it knew. */
    unsigned looks;         /* At the socket in this call. */
    char words[TLS_WORDS_MAX];
};

struct redlock_tls {
    mbedtls_ssl_config config;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_x509_crt ca, cert;
    mbedtls_pk_context key;
    struct tls_session sessions[TLS_SESSIONS_MAX];
};

/* --- Words --- */

/* What is wrong with the node's certificate. */
static const char *tls_verdict_words(uint32_t flags, bool is_number)
{
    if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) return "its certificate is of a CA not trusted here";
    if (flags & MBEDTLS_X509_BADCERT_EXPIRED)     return "its certificate has expired";
    if (flags & MBEDTLS_X509_BADCERT_FUTURE)      return "its certificate is not valid yet";
    if (flags & MBEDTLS_X509_BADCERT_REVOKED)     return "its certificate has been revoked";
    if (!(flags & MBEDTLS_X509_BADCERT_CN_MISMATCH)) return "its certificate is not good enough, or not for servers";
    return is_number ? "its certificate is not for this IP address" : "its certificate is for another host name";
}

/* What the node says before it closes: the number of its alert. */
static const char *tls_alert_words(unsigned alert)
{
    switch (alert) {
    case MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE: return "it refuses: no cipher in common, or no certificate";
    case MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA:        return "it does not trust the CA of our certificate";
    case MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED:      return "it says that our certificate has expired";
    case MBEDTLS_SSL_ALERT_MSG_BAD_CERT:
    case MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED:
    case MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN:
    case MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT:
    case MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED:     return "it refuses our certificate";
    case MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION:  return "no version in common: here 1.2 or newer";
    case 116:                                     return "it asks for a client certificate";   /* RFC 8446, 6 */
    default:                                      return "it has broken off";
    }
}

/* Keeps what has gone wrong. Returns its number for error_text(), negated. */
static int tls_fail(struct tls_session *session, const char *words)
{
    (void)snprintf(session->words, sizeof session->words, "TLS: %s", words);
    session->ended = -REDLOCK_TRANSPORT_ERROR;
    return session->ended;
}

/* The same of what Mbed TLS has said. An error of the socket is the system's. */
static int tls_fail_by_code(struct tls_session *session, int code)
{
    const struct tls_line *line = session->line;
    char text[TLS_WORDS_MAX - sizeof "TLS: "];

    if (session->ended < 0 && session->ended != REDLOCK_TRANSPORT_END) return session->ended;
    switch (code) {
    case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
#ifdef MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE       /* What 2.28 says of one that is not for servers. */
    case MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE:
#endif
        return tls_fail(session, tls_verdict_words(mbedtls_ssl_get_verify_result(&line->ssl), line->number_size > 0));
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
        return tls_fail(session, tls_alert_words(line->ssl.MBEDTLS_PRIVATE(in_msg)[1]));
    case MBEDTLS_ERR_SSL_INVALID_RECORD:
    case MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE:
        return tls_fail(session, session->stands ? "a record that is no good" : "what answers there does not speak TLS");
    case MBEDTLS_ERR_SSL_CONN_EOF:
        return tls_fail(session, "it closed the connection during the handshake");
#ifdef MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
    case MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION:
#endif
#ifdef MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION
    case MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION:
#endif
        return tls_fail(session, "no version in common: here 1.2 or newer");
    default:
        mbedtls_strerror(code, text, sizeof text);
        return tls_fail(session, text);
    }
}

/* --- Bytes --- */

/* Gives the socket what Mbed TLS has written. Returns 0, or -errno; what the socket does not take stays. */
static int tls_flush(struct tls_session *session)
{
    struct tls_line *line = session->line;

    while (line->out_start < line->out_end) {
        ptrdiff_t sent = net_send(session->fd, line->out + line->out_start, line->out_end - line->out_start);
        if (sent <= 0) return (int)sent;
        line->out_start += (size_t)sent;
    }
    line->out_start = line->out_end = 0;
    return 0;
}

static bool tls_has_output(const struct tls_session *session)
{
    return session->line->out_start < session->line->out_end;
}

/* What Mbed TLS writes. Without room it has to come again, with the same bytes: of a handshake it does. Later there is always room,
 * unless the node asks for more and more and takes nothing. */
static int tls_put(void *context, const unsigned char *data, size_t size)
{
    struct tls_session *session = context;
    struct tls_line *line = session->line;

    (void)tls_flush(session);       /* An error is told by whoever reads. */
    if (size > TLS_OUT_MAX - line->out_end) size = TLS_OUT_MAX - line->out_end;
    if (size == 0 && !session->stands) return MBEDTLS_ERR_SSL_WANT_WRITE;
    if (size == 0) {
        (void)tls_fail(session, "it asks for more and more, and takes nothing");
        return MBEDTLS_ERR_NET_SEND_FAILED;
    }
    memcpy(line->out + line->out_end, data, size);
    line->out_end += size;
    return (int)size;
}

/* What it reads. */
static int tls_get(void *context, unsigned char *data, size_t size)
{
    struct tls_session *session = context;
    ptrdiff_t got;

    session->may_have_more = session->looks == TLS_LOOKS_MAX;
    if (session->may_have_more) return MBEDTLS_ERR_SSL_WANT_READ;
    session->looks++;
    got = net_receive(session->fd, data, size);
    if (got > 0) return (int)got;
    if (got == 0) return MBEDTLS_ERR_SSL_WANT_READ;
    session->ended = (int)got;
    return got == NET_END ? 0 : MBEDTLS_ERR_NET_RECV_FAILED;
}

/* --- Connecting --- */

/* Is the number of the host among those of the node's certificate? Mbed TLS 2 looks at names alone. */
static int tls_check_number(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
    const struct tls_line *line = context;

    if (depth > 0) return 0;
    for (const mbedtls_x509_sequence *name = &certificate->subject_alt_names; name; name = name->next) {
        bool is_number = name->buf.tag == (MBEDTLS_ASN1_CONTEXT_SPECIFIC | MBEDTLS_X509_SAN_IP_ADDRESS);
        if (is_number && name->buf.len == line->number_size && memcmp(name->buf.p, line->number, line->number_size) == 0) return 0;
    }
    *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    return 0;
}

/* Can a certificate be for this host? OpenSSL would take one that begins with a dot for all that end so. */
static bool tls_is_host(const char *host)
{
    return host[0] != '\0' && host[0] != '.' && host[0] != '%';
}

/* A certificate says which name or which number it is for, without the dot at the end of a name and the scope of a number. */
static bool tls_expect(struct tls_line *line, const char *host)
{
    char name[NET_HOST_MAX + 1];
    size_t size = strcspn(host, "%");

    if (size == 0 || size > NET_HOST_MAX) return false;
    if (host[size - 1] == '.') size--;
    memcpy(name, host, size);
    name[size] = '\0';
    if (inet_pton(AF_INET, name, line->number) == 1)       line->number_size = sizeof(struct in_addr);
    else if (inet_pton(AF_INET6, name, line->number) == 1) line->number_size = sizeof(struct in6_addr);
    if (line->number_size == 0) return mbedtls_ssl_set_hostname(&line->ssl, name) == 0;
    mbedtls_ssl_set_verify(&line->ssl, tls_check_number, line);
    return mbedtls_ssl_set_hostname(&line->ssl, NULL) == 0;     /* 3.6 wants to be told that there is no name. */
}

static void tls_free_line(struct tls_line *line)
{
    if (!line) return;
    mbedtls_ssl_free(&line->ssl);
    net_wipe(line, sizeof *line);
    mbedtls_free(line);
}

static struct tls_line *tls_new_line(const mbedtls_ssl_config *config, const char *host)
{
    struct tls_line *line = mbedtls_calloc(1, sizeof *line);

    if (!line) return NULL;
    mbedtls_ssl_init(&line->ssl);
    if (mbedtls_ssl_setup(&line->ssl, config) == 0 && tls_expect(line, host)) return line;
    tls_free_line(line);
    return NULL;
}

static int tls_connect(void *context, unsigned k, const struct redlock_peer *peer, bool *connected)
{
    struct redlock_tls *tls = context;
    struct net_endpoint endpoint = { .size = (uint32_t)peer->endpoint_size };
    struct tls_session session = { .fd = -1 };

    NET_CHECK(k < TLS_SESSIONS_MAX && tls->sessions[k].line == NULL && peer->endpoint_size <= sizeof endpoint.words);
    memcpy(endpoint.words, peer->endpoint, peer->endpoint_size);
    if (!tls_is_host(peer->host)) {
        (void)snprintf(tls->sessions[k].words, sizeof session.words, "TLS: no certificate can be for such a host");
        return -REDLOCK_TRANSPORT_ERROR;
    }
    session.line = tls_new_line(&tls->config, peer->host);
    if (!session.line) return -ENOMEM;
    session.fd = net_connect(&endpoint, connected);
    *connected = false;
    if (session.fd < 0) {
        tls_free_line(session.line);
        return session.fd;
    }
    tls->sessions[k] = session;
    mbedtls_ssl_set_bio(&session.line->ssl, &tls->sessions[k], tls_put, tls_get, NULL);
    return session.fd;
}

static bool tls_waits(int code)
{
    return code == MBEDTLS_ERR_SSL_WANT_READ || code == MBEDTLS_ERR_SSL_WANT_WRITE;
}

/* 0, REDLOCK_TRANSPORT_PENDING, or the number of an error. */
static int tls_finish(void *context, unsigned k)
{
    struct tls_session *session = &((struct redlock_tls *)context)->sessions[k];
    int code;

    if (session->stands) return 0;
    if (!session->has_socket) {
        int error = net_connect_result(session->fd);
        if (error != 0) return error;
        session->has_socket = true;
    }
    session->looks = 0;
    (void)tls_flush(session);
    code = mbedtls_ssl_handshake(&session->line->ssl);
    (void)tls_flush(session);       /* The alert as well that says why it has failed. If it cannot be sent, reading tells. */
    if (tls_waits(code)) return REDLOCK_TRANSPORT_PENDING;
    if (code != 0) return -tls_fail_by_code(session, code);
    session->stands = session->may_have_more = true;
    return 0;
}

/* --- Talking --- */

/* There is room for a whole record, and so nothing has to be repeated. */
static ptrdiff_t tls_send(void *context, unsigned k, const void *data, size_t size)
{
    struct tls_session *session = &((struct redlock_tls *)context)->sessions[k];
    int taken, error = tls_flush(session);

    if (error < 0 || tls_has_output(session)) return error;
    taken = mbedtls_ssl_write(&session->line->ssl, data, size < TLS_PIECE ? size : TLS_PIECE);
    if (taken < 0) return tls_waits(taken) ? 0 : tls_fail_by_code(session, taken);
    (void)tls_flush(session);       /* An error is told by the next call. */
    return taken;
}

/* One piece: how many bytes; 0: none, for now or as session->ended says. */
static int tls_read(struct tls_session *session, uint8_t *data, size_t size)
{
    int taken;

    do taken = mbedtls_ssl_read(&session->line->ssl, data, size);
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
    while (taken == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET);
#else
    while (false);
#endif
    if (taken > 0) return taken;
    if (taken == 0 || taken == MBEDTLS_ERR_SSL_CONN_EOF || taken == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
        session->ended = REDLOCK_TRANSPORT_END;
    else if (!tls_waits(taken))
        (void)tls_fail_by_code(session, taken);
    return 0;
}

static ptrdiff_t tls_receive(void *context, unsigned k, void *data, size_t size)
{
    struct tls_session *session = &((struct redlock_tls *)context)->sessions[k];
    size_t got = 0;
    int taken = 1;

    session->looks = 0;
    session->may_have_more = false;
    while (got < size && taken > 0 && session->ended == 0) {
        taken = tls_read(session, (uint8_t *)data + got, size - got);
        got += (size_t)taken;
    }
    session->may_have_more |= got == size;
    (void)tls_flush(session);   /* What reading made necessary; and what could not be sent before. */
    return got > 0 ? (ptrdiff_t)got : session->ended;
}

static unsigned tls_events(void *context, unsigned k, unsigned wanted)
{
    const struct tls_session *session = &((const struct redlock_tls *)context)->sessions[k];
    unsigned known = tls_has_output(session) ? REDLOCK_TRANSPORT_WRITE : 0u;

    if (!session->has_socket) return REDLOCK_TRANSPORT_WRITE;
    if (session->may_have_more || session->ended != 0) known |= REDLOCK_TRANSPORT_AT_HAND;
    return (session->stands ? wanted : (unsigned)REDLOCK_TRANSPORT_READ) | known;
}

static const char *tls_error_text(void *context, unsigned k, int error)
{
    return error == REDLOCK_TRANSPORT_ERROR ? ((const struct redlock_tls *)context)->sessions[k].words : NULL;
}

/* --- Hanging up --- */

/* Says close_notify, as far as the socket takes it, unless something has gone wrong or stands before it. */
static void tls_say_goodbye(struct tls_session *session)
{
    if (!session->stands || session->ended != 0 || tls_flush(session) < 0 || tls_has_output(session)) return;
    (void)mbedtls_ssl_close_notify(&session->line->ssl);
    (void)tls_flush(session);
}

static void tls_hang_up(void *context, unsigned k, bool silently)
{
    struct tls_session *session = &((struct redlock_tls *)context)->sessions[k];
    struct tls_session none = { .fd = -1 };

    if (!silently) tls_say_goodbye(session);
    tls_free_line(session->line);
    memcpy(none.words, session->words, sizeof none.words);
    *session = none;
}

static void tls_discard(void *context, unsigned k, int fd)
{
    (void)context;
    (void)k;
    net_close(fd);
}

static const struct redlock_transport TLS_TRANSPORT = {
    .has_addresses = true, .connect = tls_connect, .finish = tls_finish, .send = tls_send, .receive = tls_receive,
    .events = tls_events, .error_text = tls_error_text, .hang_up = tls_hang_up, .discard = tls_discard
};

const struct redlock_transport *redlock_tls_transport(void)
{
    return &TLS_TRANSPORT;
}

/* --- Opening --- */

/* Always false: says what is wrong with a file. */
static bool tls_blame(char *words, size_t size, const char *what, const char *path, int code)
{
    char reason[TLS_WORDS_MAX] = "of no use";

    if (code < 0) mbedtls_strerror(code, reason, sizeof reason);
    if (access(path, R_OK) == 0) (void)snprintf(words, size, "%s %s: %s", what, path, reason);
    else (void)snprintf(words, size, "%s %s: %s", what, path, errno == ENOENT ? "no such file" : "this file may not be read");
    return false;
}

/* Where systems have the CAs that they trust. */
static const char *tls_system_ca(void)
{
    static const char *const paths[] = {
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"
    };

    if (getenv("SSL_CERT_FILE")) return getenv("SSL_CERT_FILE");    /* As OpenSSL has it. */
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (access(paths[i], R_OK) == 0) return paths[i];
    return NULL;
}

/* Certificates that it cannot read are passed over, as long as there is one that it can. */
static bool tls_trust(struct redlock_tls *tls, const char *ca, char *words, size_t size)
{
    const char *path = ca ? ca : tls_system_ca();
    struct stat status;
    int code = 0;

    if (path && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) code = mbedtls_x509_crt_parse_path(&tls->ca, path);
    else if (path)                                                   code = mbedtls_x509_crt_parse_file(&tls->ca, path);
    if (ca && (code < 0 || tls->ca.raw.len == 0)) return tls_blame(words, size, "the CA certificates in", ca, code);
    mbedtls_ssl_conf_ca_chain(&tls->config, &tls->ca, NULL);
    return true;
}

static int tls_read_key(struct redlock_tls *tls, const char *path)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    int code = mbedtls_pk_parse_keyfile(&tls->key, path, NULL, mbedtls_ctr_drbg_random, &tls->random);
    if (code == 0) code = mbedtls_pk_check_pair(&tls->cert.pk, &tls->key, mbedtls_ctr_drbg_random, &tls->random);
#else
    int code = mbedtls_pk_parse_keyfile(&tls->key, path, NULL);
    if (code == 0) code = mbedtls_pk_check_pair(&tls->cert.pk, &tls->key);
#endif
    return code == 0 ? mbedtls_ssl_conf_own_cert(&tls->config, &tls->cert, &tls->key) : code;
}

static bool tls_identify(struct redlock_tls *tls, const struct redlock_tls_options *options, char *words, size_t size)
{
    const char *key = options->key ? options->key : options->cert;
    int code;

    if (!options->cert) {
        if (options->key) (void)snprintf(words, size, "the key %s is of no use without its certificate", options->key);
        return !options->key;
    }
    code = mbedtls_x509_crt_parse_file(&tls->cert, options->cert);
    if (code != 0) return tls_blame(words, size, "the client certificate", options->cert, code);
    code = tls_read_key(tls, key);
    return code == 0 || tls_blame(words, size, "the key of the client certificate", key, code);
}

static bool tls_configure(struct redlock_tls *tls, const struct redlock_tls_options *options, char *words, size_t size)
{
    (void)snprintf(words, size, "Mbed TLS cannot be used: out of memory, or without random bytes");
    if (!TLS_BEGIN_CRYPTO() || mbedtls_ctr_drbg_seed(&tls->random, mbedtls_entropy_func, &tls->entropy, NULL, 0) != 0 ||
        mbedtls_ssl_config_defaults(&tls->config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                    MBEDTLS_SSL_PRESET_DEFAULT) != 0)
        return false;
    mbedtls_ssl_conf_rng(&tls->config, mbedtls_ctr_drbg_random, &tls->random);
    mbedtls_ssl_conf_authmode(&tls->config, MBEDTLS_SSL_VERIFY_REQUIRED);
#if MBEDTLS_VERSION_NUMBER >= 0x03020000
    mbedtls_ssl_conf_min_tls_version(&tls->config, MBEDTLS_SSL_VERSION_TLS1_2);
#else
    mbedtls_ssl_conf_min_version(&tls->config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
#endif
#ifdef MBEDTLS_SSL_SESSION_TICKETS
    mbedtls_ssl_conf_session_tickets(&tls->config, MBEDTLS_SSL_SESSION_TICKETS_DISABLED);
#endif
    return tls_trust(tls, options->ca, words, size) && tls_identify(tls, options, words, size);
}

struct redlock_tls *redlock_tls_open(const struct redlock_tls_options *options, char *words, size_t size)
{
    static const struct redlock_tls_options defaults = { .ca = NULL };
    struct redlock_tls *tls = mbedtls_calloc(1, sizeof *tls);

    NET_CHECK(size >= 1);
    (void)snprintf(words, size, "out of memory");
    if (!tls) return NULL;
    mbedtls_ssl_config_init(&tls->config);
    mbedtls_entropy_init(&tls->entropy);
    mbedtls_ctr_drbg_init(&tls->random);
    mbedtls_x509_crt_init(&tls->ca);
    mbedtls_x509_crt_init(&tls->cert);
    mbedtls_pk_init(&tls->key);
    if (!tls_configure(tls, options ? options : &defaults, words, size)) {
        redlock_tls_close(tls);
        return NULL;
    }
    words[0] = '\0';
    return tls;
}

void redlock_tls_close(struct redlock_tls *tls)
{
    if (!tls) return;
    mbedtls_ssl_config_free(&tls->config);
    mbedtls_pk_free(&tls->key);
    mbedtls_x509_crt_free(&tls->cert);
    mbedtls_x509_crt_free(&tls->ca);
    mbedtls_ctr_drbg_free(&tls->random);
    mbedtls_entropy_free(&tls->entropy);
    mbedtls_free(tls);
}

const char *redlock_tls_library(void)
{
    return "Mbed TLS " MBEDTLS_VERSION_STRING;
}
