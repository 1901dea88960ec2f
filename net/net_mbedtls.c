/* TLS by Mbed TLS (2.28 or 3), as a transport. Only a build that asks for it by make TLS=mbedtls
 * has this file.
 *
 * Mbed TLS writes into `out` of its line, so it is never asked to write the same bytes again, as it
 * would have to be when the socket takes a part of a record. net_tls.h has the parts that are not
 * its own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "net_tls.h"

#include <stdlib.h>

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
/* Version 3 uses these names for fields that may change one day. */
#define MBEDTLS_PRIVATE(member) member
#endif

#ifndef MBEDTLS_HAVE_TIME_DATE
#error "this Mbed TLS knows no time of day: it would take certificates that have expired"
#endif

enum {
    TLS_RECORD = 4096,      /* Sent as one at most. */
    TLS_ROOM = 20480        /* Room for one record of any kind, and its overhead. */
};

struct tls_resumable {
    mbedtls_ssl_session session;
};

struct tls_line {
    mbedtls_ssl_context ssl;
    struct tls_ticket *ticket;
    struct tls_host host;
    bool names_no_host;         /* The node's certificate has a common name at most. */
    size_t in_start, in_end, out_start, out_end;
    /* Mbed TLS reads a record in two parts or more, so the socket is asked once for several. */
    uint8_t in[TLS_PIECE];
    uint8_t out[TLS_ROOM];
};

struct redlock_tls {
    mbedtls_ssl_config config;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_x509_crt ca, cert;
    mbedtls_x509_crt *trusted;      /* `ca`, or the certificates that another one has read. */
    mbedtls_pk_context key;
    struct tls_session sessions[TLS_SESSIONS_MAX];
    struct tls_ticket tickets[TLS_SERVERS_MAX];
};

static struct tls_session *tls_session(struct redlock_tls *tls, unsigned k)
{
    return &tls->sessions[k];
}

static struct tls_ticket *tls_ticket(struct redlock_tls *tls, unsigned node)
{
    return &tls->tickets[node];
}

/* --- Words --- */

/* The fault of the node's certificate. */
static const char *tls_verdict_words(uint32_t flags, const struct tls_line *line)
{
    if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED)
        return "its certificate is of a CA not trusted here";
    if (flags & MBEDTLS_X509_BADCERT_EXPIRED)     return "its certificate has expired";
    if (flags & MBEDTLS_X509_BADCERT_FUTURE)      return "its certificate is not valid yet";
    if (flags & MBEDTLS_X509_BADCERT_REVOKED)     return "its certificate has been revoked";
    if (!(flags & MBEDTLS_X509_BADCERT_CN_MISMATCH))
        return "its certificate is not good enough, or not for servers";
    if (line->host.number_size > 0) return "its certificate is not for this IP address";
    return line->names_no_host ? TLS_NO_HOST : TLS_OTHER_HOST;
}

#define TLS_NO_VERSION "no version in common: here 1.2 or newer"

/* The number of the alert that the node sends before it closes. */
static const char *tls_alert_words(unsigned alert)
{
    switch (alert) {
    case MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE:
        return "it refuses: no cipher in common, or no certificate";
    case MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA: return "it does not trust the CA of our certificate";
    case MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED:      return "it says that our certificate has expired";
    case MBEDTLS_SSL_ALERT_MSG_BAD_CERT:
    case MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED:
    case MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN:
    case MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT:
    case MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED:     return "it refuses our certificate";
    case MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION:  return TLS_NO_VERSION;
    case 116: return "it asks for a client certificate"; /* RFC 8446, 6 */
    default:                                      return "it has broken off";
    }
}

/* A node that has chosen 1.1, and then finds that its settings allow no signature there, breaks off
 * by a record of that version. */
static bool tls_is_record_of_1_1(const unsigned char *header)
{
    return header[1] == 3 && header[2] == 2;
}

/* The error in words of ours, or in those of Mbed TLS, in text[0..size). */
static const char *tls_code_words(const struct tls_session *session, int code, char *text,
                                  size_t size)
{
    const struct tls_line *line = session->line;

    switch (code) {
    case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
#ifdef MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE
    /* Version 2.28 reports this for a certificate that is not for servers. */
    case MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE:
#endif
        return tls_verdict_words(mbedtls_ssl_get_verify_result(&line->ssl), line);
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
        if (tls_is_record_of_1_1(line->ssl.MBEDTLS_PRIVATE(in_hdr))) return TLS_NO_VERSION;
        return tls_alert_words(line->ssl.MBEDTLS_PRIVATE(in_msg)[1]);
    case MBEDTLS_ERR_SSL_INVALID_RECORD:
    case MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE:
        return session->stands ? "a record that is no good"
                               : "what answers there does not speak TLS";
#ifdef MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
    case MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION:
#endif
#ifdef MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION
    case MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION:
#endif
        return TLS_NO_VERSION;
    default:
        mbedtls_strerror(code, text, size);
        return text;
    }
}

/* Records the code unless an error of the socket, or the node itself, has ended it. */
static void tls_fail_by_code(struct tls_session *session, int code)
{
    char text[TLS_WORDS_MAX - sizeof "TLS: "];

    if (session->ended == 0)
        (void)tls_fail(session, tls_code_words(session, code, text, sizeof text));
}

/* --- Bytes --- */

static size_t tls_output(const struct tls_line *line, const void **data)
{
    *data = line->out + line->out_start;
    return line->out_end - line->out_start;
}

static void tls_sent(struct tls_line *line, size_t size)
{
    line->out_start += size;
    if (line->out_start == line->out_end) line->out_start = line->out_end = 0;
}

/* Takes the bytes that Mbed TLS writes. Without room it has to come again, with the same bytes, as
 * it does during a handshake. Later there is always room, unless the node asks for more and more
 * and takes nothing. */
static int tls_put(void *context, const unsigned char *data, size_t size)
{
    struct tls_session *session = context;
    struct tls_line *line = session->line;

    (void)tls_flush(session);       /* The next read reports an error. */
    if (size > TLS_ROOM - line->out_end) size = TLS_ROOM - line->out_end;
    if (size == 0 && !session->stands) return MBEDTLS_ERR_SSL_WANT_WRITE;
    if (size == 0) {
        (void)tls_fail(session, "it asks for more and more, and takes nothing");
        return MBEDTLS_ERR_NET_SEND_FAILED;
    }
    memcpy(line->out + line->out_end, data, size);
    line->out_end += size;
    return (int)size;
}

/* Gives it the bytes that it reads. */
static int tls_get(void *context, unsigned char *data, size_t size)
{
    struct tls_session *session = context;
    struct tls_line *line = session->line;

    if (line->in_start == line->in_end) {
        line->in_start = 0;
        line->in_end = tls_take(session, line->in);
    }
    if (size > line->in_end - line->in_start) size = line->in_end - line->in_start;
    memcpy(data, line->in + line->in_start, size);
    line->in_start += size;
    if (size > 0) return (int)size;
    if (session->ended == 0) return MBEDTLS_ERR_SSL_WANT_READ;
    return session->ended == REDLOCK_TRANSPORT_END ? 0 : MBEDTLS_ERR_NET_RECV_FAILED;
}

/* --- Connecting --- */

static bool tls_is_for_number(const mbedtls_x509_crt *certificate, const struct tls_host *host)
{
    const size_t size = host->number_size;

    for (const mbedtls_x509_sequence *name = &certificate->subject_alt_names; name;
         name = name->next) {
        bool is_number =
            name->buf.tag == (MBEDTLS_ASN1_CONTEXT_SPECIFIC | MBEDTLS_X509_SAN_IP_ADDRESS);
        if (is_number && name->buf.len == size && memcmp(name->buf.p, host->number, size) == 0)
            return true;
    }
    return false;
}

/* Checks two things that Mbed TLS does not. One is the number of the host, since version 2 knows
 * names alone. The other is that the certificate has names, since without any it takes the common
 * name (RFC 9525, 6.3: that is not looked at). */
static int tls_check_host(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
    struct tls_line *line = context;

    if (depth > 0) return 0;
    line->names_no_host = certificate->subject_alt_names.buf.len == 0;
    if (line->names_no_host ||
        (line->host.number_size > 0 && !tls_is_for_number(certificate, &line->host)))
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    return 0;
}

/* 3.6 wants to be told that there is no name. */
static bool tls_expect(struct tls_line *line)
{
    mbedtls_ssl_set_verify(&line->ssl, tls_check_host, line);
    return mbedtls_ssl_set_hostname(&line->ssl,
                                    line->host.number_size == 0 ? line->host.name : NULL) == 0;
}

static struct tls_line *tls_line_open(struct redlock_tls *tls, struct tls_session *session,
                                      const struct tls_host *host)
{
    struct tls_line *line = mbedtls_calloc(1, sizeof *line);

    if (!line) return NULL;
    line->host = *host;
    line->ticket = tls_ticket(tls, session->node);
    mbedtls_ssl_init(&line->ssl);
    if (mbedtls_ssl_setup(&line->ssl, &tls->config) != 0 || !tls_expect(line)) {
        tls_line_close(line);
        return NULL;
    }
    mbedtls_ssl_set_bio(&line->ssl, session, tls_put, tls_get, NULL);
    return line;
}

static void tls_line_close(struct tls_line *line)
{
    mbedtls_ssl_free(&line->ssl);
    net_wipe(line, sizeof *line);
    mbedtls_free(line);
}

/* --- Resuming --- */

static void tls_forget(struct tls_resumable *resumable)
{
    mbedtls_ssl_session_free(&resumable->session);
    mbedtls_free(resumable);
}

static bool tls_resume(struct tls_line *line, struct tls_resumable *resumable)
{
    return mbedtls_ssl_set_session(&line->ssl, &resumable->session) == 0;
}

/* With TLS 1.2 a node gives it during the handshake; with 1.3 later, if it wants to. */
static void tls_take_resumable(struct tls_line *line)
{
    struct tls_resumable *resumable = mbedtls_calloc(1, sizeof *resumable);

    if (!resumable) return;
    mbedtls_ssl_session_init(&resumable->session);
    if (mbedtls_ssl_get_session(&line->ssl, &resumable->session) != 0) tls_forget(resumable);
    else tls_keep_ticket(line->ticket, resumable, tls_first_end(line));
}

static bool tls_waits(int code)
{
    return code == MBEDTLS_ERR_SSL_WANT_READ || code == MBEDTLS_ERR_SSL_WANT_WRITE;
}

/* It has taken a message without content, such as a warning, and there is more, which the
 * descriptor does not show. */
static bool tls_goes_on(struct tls_line *line, int code)
{
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
    if (code == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) {
        tls_take_resumable(line);
        return true;
    }
#endif
    return code == MBEDTLS_ERR_SSL_WANT_READ && line->in_start < line->in_end;
}

static bool tls_shake_hands(struct tls_session *session)
{
    int code;

    do code = mbedtls_ssl_handshake(&session->line->ssl);
    while (tls_goes_on(session->line, code));
    if (code != 0 && !tls_waits(code)) tls_fail_by_code(session, code);
    if (code == 0) tls_take_resumable(session->line);
    return code == 0;
}

/* --- Talking --- */

/* There is room for a whole record, and so nothing has to be repeated. */
static size_t tls_write(struct tls_session *session, const void *data, size_t size)
{
    int taken = mbedtls_ssl_write(&session->line->ssl, data, size < TLS_RECORD ? size : TLS_RECORD);

    if (taken < 0 && !tls_waits(taken)) tls_fail_by_code(session, taken);
    return taken > 0 ? (size_t)taken : 0;
}

static size_t tls_read(struct tls_session *session, void *data, size_t size)
{
    int taken;

    do taken = mbedtls_ssl_read(&session->line->ssl, data, size);
    while (tls_goes_on(session->line, taken));
    if (taken > 0) return (size_t)taken;
    if (taken == 0 || taken == MBEDTLS_ERR_SSL_CONN_EOF ||
        taken == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
        session->ended = REDLOCK_TRANSPORT_END;
    else if (!tls_waits(taken))
        tls_fail_by_code(session, taken);
    return 0;
}

static void tls_write_goodbye(struct tls_line *line)
{
    (void)mbedtls_ssl_close_notify(&line->ssl);
}

/* (It may have been built so that it keeps none.) */
static uint64_t tls_first_end(const struct tls_line *line)
{
    uint64_t first = UINT64_MAX;

    for (const mbedtls_x509_crt *cert = mbedtls_ssl_get_peer_cert(&line->ssl); cert;
         cert = cert->next) {
        const mbedtls_x509_time *t = &cert->valid_to;
        uint64_t ends = tls_seconds(t->year, t->mon, t->day, t->hour, t->min, t->sec);
        if (ends < first) first = ends;
    }
    return first;
}

/* --- Opening --- */

static bool tls_blame_by_code(char *words, size_t size, const struct tls_use *use, const char *path,
                              int code)
{
    char reason[TLS_WORDS_MAX] = "it has no certificate";

    if (code < 0) mbedtls_strerror(code, reason, sizeof reason);
    return tls_blame(words, size, use, path, reason);
}

/* The places where systems have the CAs that they trust. */
static const char *tls_system_ca(void)
{
    static const char *const paths[] = {
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"
    };

    if (getenv("SSL_CERT_FILE")) return getenv("SSL_CERT_FILE");    /* OpenSSL has it so. */
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (access(paths[i], R_OK) == 0) return paths[i];
    return NULL;
}

/* Certificates that it cannot read are passed over, as long as there is one that it can. */
static bool tls_read_ca(struct redlock_tls *tls, const char *ca, char *words, size_t size)
{
    const char *path = ca ? ca : tls_system_ca();
    int code = 0;

    if (ca && !tls_can_read(words, size, &TLS_CA, ca)) return false;
    if (path && tls_is_directory(path)) code = mbedtls_x509_crt_parse_path(&tls->ca, path);
    else if (path)                      code = mbedtls_x509_crt_parse_file(&tls->ca, path);
    return !ca || (code >= 0 && tls->ca.raw.len > 0) ||
           tls_blame_by_code(words, size, &TLS_CA, ca, code);
}

static bool tls_trust(struct redlock_tls *tls, const struct redlock_tls_options *options,
                      char *words, size_t size)
{
    tls->trusted = options->ca_of ? options->ca_of->trusted : &tls->ca;
    if (!options->ca_of && !tls_read_ca(tls, options->ca, words, size)) return false;
    mbedtls_ssl_conf_ca_chain(&tls->config, tls->trusted, NULL);
    return true;
}

static int tls_read_key(struct redlock_tls *tls, const char *path)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    int code =
        mbedtls_pk_parse_keyfile(&tls->key, path, NULL, mbedtls_ctr_drbg_random, &tls->random);
    if (code == 0)
        code =
            mbedtls_pk_check_pair(&tls->cert.pk, &tls->key, mbedtls_ctr_drbg_random, &tls->random);
#else
    int code = mbedtls_pk_parse_keyfile(&tls->key, path, NULL);
    if (code == 0) code = mbedtls_pk_check_pair(&tls->cert.pk, &tls->key);
#endif
    return code == 0 ? mbedtls_ssl_conf_own_cert(&tls->config, &tls->cert, &tls->key) : code;
}

static bool tls_identify(struct redlock_tls *tls, const struct redlock_tls_options *options,
                         char *words, size_t size)
{
    const char *key = options->key ? options->key : options->cert;
    int code;

    if (!options->cert) return tls_may_lack_cert(options, words, size);
    if (!tls_can_read(words, size, &TLS_CERT, options->cert) ||
        !tls_can_read(words, size, &TLS_KEY, key))
        return false;
    code = mbedtls_x509_crt_parse_file(&tls->cert, options->cert);
    if (code != 0) return tls_blame_by_code(words, size, &TLS_CERT, options->cert, code);
    code = tls_read_key(tls, key);
    return code == 0 || tls_blame_by_code(words, size, &TLS_KEY, key, code);
}

static bool tls_configure(struct redlock_tls *tls, const struct redlock_tls_options *options,
                          char *words, size_t size)
{
    (void)snprintf(words, size, "Mbed TLS cannot be used: out of memory, or without random bytes");
    if (!TLS_BEGIN_CRYPTO() ||
        mbedtls_ctr_drbg_seed(&tls->random, mbedtls_entropy_func, &tls->entropy, NULL, 0) != 0 ||
        mbedtls_ssl_config_defaults(&tls->config, MBEDTLS_SSL_IS_CLIENT,
                                    MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT) != 0)
        return false;
    mbedtls_ssl_conf_rng(&tls->config, mbedtls_ctr_drbg_random, &tls->random);
    mbedtls_ssl_conf_authmode(&tls->config, MBEDTLS_SSL_VERIFY_REQUIRED);
#if MBEDTLS_VERSION_NUMBER >= 0x03020000
    mbedtls_ssl_conf_min_tls_version(&tls->config, MBEDTLS_SSL_VERSION_TLS1_2);
#else
    mbedtls_ssl_conf_min_version(&tls->config, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3);
#endif
#if defined(MBEDTLS_SSL_SESSION_TICKETS) && MBEDTLS_VERSION_NUMBER >= 0x03060100 && \
    defined(MBEDTLS_SSL_PROTO_TLS1_3)
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(
        &tls->config, MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
#endif
    return tls_trust(tls, options, words, size) && tls_identify(tls, options, words, size);
}

struct redlock_tls *redlock_tls_open(const struct redlock_tls_options *options, char *words,
                                     size_t size)
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
    for (unsigned node = 0; node < TLS_SERVERS_MAX; node++)
        tls_keep_ticket(tls_ticket(tls, node), NULL, 0);
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
