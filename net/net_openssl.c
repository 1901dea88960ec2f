/* TLS by OpenSSL (1.1.1 or newer), as a transport. Only a build that asks for it has this file: make TLS=openssl.
 *
 * OpenSSL never sees the socket. It reads from one piece of memory and writes to another, and these are filled and emptied here: so
 * no SIGPIPE is raised; a record that was begun is ours, whatever the engine wants to send next; and what OpenSSL wants to write
 * while it reads, or to read while it writes (tickets, key updates), is done whenever the descriptor allows it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "redlock_net.h"
#include "redlock_tls.h"
#include "redlock_transport.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

enum {
    TLS_SESSIONS_MAX = NET_WAIT_MAX,    /* Two for each node that there can be, and two to spare. */
    TLS_PIECE = 4096,                   /* Taken from the socket at once, */
    TLS_PIECES_MAX = 8,                 /* and so often in one call: a node that floods us must not keep others waiting (S16). */
    TLS_OUT_MAX = 65536,                /* More is not kept for a node that takes nothing. */
    TLS_WORDS_MAX = 96                  /* Of which the engine keeps some 60. */
};

/* One connection. Beside `words`, which outlive it, all is zero while there is none. */
struct tls_session {
    SSL *ssl;               /* NULL: there is no connection. */
    BIO *in, *out;          /* What has come and is not yet read; what is to go. They belong to `ssl`. */
    int fd;
    int ended;              /* 0; REDLOCK_TRANSPORT_END, or -E: nothing more comes. */
    bool has_socket;        /* TCP stands, */
    bool stands;            /* and so does TLS. */
    bool may_have_more;     /* The last call has stopped before it knew. */
    unsigned pieces;        /* Taken in this call. */
    char words[TLS_WORDS_MAX];
};

struct redlock_tls {
    SSL_CTX *ctx;
    struct tls_session sessions[TLS_SESSIONS_MAX];
};

/* --- Words --- */

/* What is wrong with the node's certificate. */
static const char *tls_verdict_words(long verdict)
{
    switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:      return "its certificate is for another host name";
    case X509_V_ERR_IP_ADDRESS_MISMATCH:    return "its certificate is not for this IP address";
    case X509_V_ERR_CERT_HAS_EXPIRED:       return "its certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:     return "its certificate is not valid yet";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return "its certificate is of a CA not trusted here";
    default:                                return X509_verify_cert_error_string(verdict);
    }
}

/* What the node, or OpenSSL here, does not like. */
static const char *tls_reason_words(unsigned long error)
{
    const char *text;

    switch (ERR_GET_REASON(error)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:   return "it asks for a client certificate";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:       return "it refuses: no cipher in common, or no certificate";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:              return "it does not trust the CA of our certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:     return "it says that our certificate has expired";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:           return "it refuses our certificate";
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:                return "no version in common: here 1.2 or newer";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:              return "what answers there does not speak TLS";
    default:
        text = ERR_reason_error_string(error);
        return text ? text : "an error without a name";
    }
}

/* Keeps what has gone wrong. Returns its number for error_text(), negated. */
static int tls_fail(struct tls_session *session, const char *words)
{
    (void)snprintf(session->words, sizeof session->words, "TLS: %s", words);
    session->ended = -REDLOCK_TRANSPORT_ERROR;
    return session->ended;
}

/* The same of what OpenSSL has just said: of the first error in the queue, as the later ones are about what was lost by it. */
static int tls_fail_by_queue(struct tls_session *session)
{
    unsigned long error = ERR_peek_error();
    long verdict = SSL_get_verify_result(session->ssl);
    bool is_ours = ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;

    tls_fail(session, is_ours ? tls_verdict_words(verdict) : tls_reason_words(error));
    ERR_clear_error();
    return session->ended;
}

/* --- Bytes --- */

/* Gives the socket what OpenSSL has written. Returns 0, or -errno; what the socket does not take stays. */
static int tls_flush(struct tls_session *session)
{
    char *data, piece[TLS_PIECE];
    long size;

    while ((size = BIO_get_mem_data(session->out, &data)) > 0) {
        ptrdiff_t sent = net_send(session->fd, data, size < TLS_PIECE ? (size_t)size : TLS_PIECE);
        if (sent <= 0) return (int)sent;
        (void)BIO_read(session->out, piece, (int)sent);     /* They are gone: the memory forgets them. */
    }
    return 0;
}

static bool tls_has_output(const struct tls_session *session)
{
    return BIO_ctrl_pending(session->out) > 0;
}

/* Takes from the socket what OpenSSL is to read. False: there is nothing, for now or, as session->ended says, for good; or it has
 * been asked often enough in this call. */
static bool tls_fill(struct tls_session *session)
{
    char piece[TLS_PIECE];
    ptrdiff_t size;

    session->may_have_more = session->pieces == TLS_PIECES_MAX;
    if (session->may_have_more) return false;
    session->pieces++;
    size = net_receive(session->fd, piece, sizeof piece);
    if (size < 0) session->ended = (int)size;
    if (size > 0 && BIO_write(session->in, piece, (int)size) != size) session->ended = -ENOMEM;
    net_wipe(piece, size > 0 ? (size_t)size : 0);
    return size > 0 && session->ended == 0;
}

/* --- Connecting --- */

/* Can a certificate be for this host? OpenSSL would take one that begins with a dot for all that end so. */
static bool tls_is_host(const char *host)
{
    return host[0] != '\0' && host[0] != '.' && host[0] != '%';
}

/* A certificate says which name or which number it is for, without the dot at the end of a name and the scope of a number. */
static bool tls_expect(SSL *ssl, const char *host)
{
    unsigned char number[sizeof(struct in6_addr)];
    char name[NET_HOST_MAX + 1];
    size_t size = strcspn(host, "%");
    bool is_number;

    if (size == 0 || size > NET_HOST_MAX) return false;
    if (host[size - 1] == '.') size--;
    memcpy(name, host, size);
    name[size] = '\0';
    is_number = inet_pton(AF_INET, name, number) == 1 || inet_pton(AF_INET6, name, number) == 1;
    if (is_number) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

static SSL *tls_new_ssl(SSL_CTX *ctx, const struct redlock_peer *peer, BIO **in, BIO **out)
{
    SSL *ssl = SSL_new(ctx);

    *in = BIO_new(BIO_s_mem());
    *out = BIO_new(BIO_s_mem());
    if (ssl && *in && *out && tls_expect(ssl, peer->host)) {
        BIO_set_mem_eof_return(*in, -1);    /* Empty is not the end. */
        SSL_set_bio(ssl, *in, *out);
        SSL_set_connect_state(ssl);
        return ssl;
    }
    SSL_free(ssl);
    BIO_free(*in);
    BIO_free(*out);
    ERR_clear_error();
    return NULL;
}

static int tls_connect(void *context, unsigned k, const struct redlock_peer *peer, bool *connected)
{
    struct redlock_tls *tls = context;
    struct net_endpoint endpoint = { .size = (uint32_t)peer->endpoint_size };
    struct tls_session session = { .fd = -1 };

    NET_CHECK(k < TLS_SESSIONS_MAX && tls->sessions[k].ssl == NULL && peer->endpoint_size <= sizeof endpoint.words);
    memcpy(endpoint.words, peer->endpoint, peer->endpoint_size);
    if (!tls_is_host(peer->host)) {
        (void)snprintf(tls->sessions[k].words, sizeof session.words, "TLS: no certificate can be for such a host");
        return -REDLOCK_TRANSPORT_ERROR;
    }
    session.ssl = tls_new_ssl(tls->ctx, peer, &session.in, &session.out);
    if (!session.ssl) return -ENOMEM;
    session.fd = net_connect(&endpoint, connected);
    *connected = false;
    if (session.fd >= 0) tls->sessions[k] = session;
    else                 SSL_free(session.ssl);
    return session.fd;
}

/* TLS stands. But some ciphers need no certificate, and the system's configuration may allow them: then none was looked at. */
static int tls_stand(struct tls_session *session)
{
    if (!SSL_get_peer_cert_chain(session->ssl)) return -tls_fail(session, "it shows no certificate");
    session->stands = session->may_have_more = true;
    return 0;
}

/* 0, REDLOCK_TRANSPORT_PENDING, or the number of an error. */
static int tls_shake_hands(struct tls_session *session)
{
    int done, why;

    do {
        ERR_clear_error();
        done = SSL_do_handshake(session->ssl);
        why = SSL_get_error(session->ssl, done);
        (void)tls_flush(session);       /* The alert as well that says why it has failed. If it cannot be sent, reading tells. */
    } while (done != 1 && why == SSL_ERROR_WANT_READ && tls_fill(session));
    if (done == 1) return tls_stand(session);
    if (why != SSL_ERROR_WANT_READ) return -tls_fail_by_queue(session);
    if (session->ended == REDLOCK_TRANSPORT_END) return -tls_fail(session, "it closed the connection during the handshake");
    return session->ended < 0 ? -session->ended : REDLOCK_TRANSPORT_PENDING;
}

static int tls_finish(void *context, unsigned k)
{
    struct tls_session *session = &((struct redlock_tls *)context)->sessions[k];

    if (session->stands) return 0;
    if (!session->has_socket) {
        int error = net_connect_result(session->fd);
        if (error != 0) return error;
        session->has_socket = true;
    }
    session->pieces = 0;
    return tls_shake_hands(session);
}

/* --- Talking --- */

/* OpenSSL takes all or nothing, since what it writes to is memory: so nothing has to be repeated. What is taken while the socket
 * takes nothing is one record at most. */
static ptrdiff_t tls_send(void *context, unsigned k, const void *data, size_t size)
{
    struct tls_session *session = &((struct redlock_tls *)context)->sessions[k];
    int taken, error = tls_flush(session);

    if (error < 0 || tls_has_output(session)) return error;
    ERR_clear_error();
    taken = SSL_write(session->ssl, data, (int)(size < SSL3_RT_MAX_PLAIN_LENGTH ? size : SSL3_RT_MAX_PLAIN_LENGTH));
    if (taken <= 0) {
        bool waits = SSL_get_error(session->ssl, taken) == SSL_ERROR_WANT_READ;
        return waits ? 0 : tls_fail_by_queue(session);
    }
    (void)tls_flush(session);   /* An error is told by the next call. */
    return taken;
}

/* One piece: how many bytes; 0: none, for now or as session->ended says. */
static int tls_read(struct tls_session *session, uint8_t *data, size_t size)
{
    for (;;) {
        int taken, why;
        ERR_clear_error();
        taken = SSL_read(session->ssl, data, size < INT_MAX ? (int)size : INT_MAX);
        if (taken > 0) return taken;
        why = SSL_get_error(session->ssl, taken);
        if (why == SSL_ERROR_ZERO_RETURN)    session->ended = REDLOCK_TRANSPORT_END;
        else if (why != SSL_ERROR_WANT_READ) tls_fail_by_queue(session);
        if (session->ended != 0 || !tls_fill(session)) return 0;
    }
}

static ptrdiff_t tls_receive(void *context, unsigned k, void *data, size_t size)
{
    struct tls_session *session = &((struct redlock_tls *)context)->sessions[k];
    size_t got = 0;
    int taken = 1;

    session->pieces = 0;
    session->may_have_more = false;
    while (got < size && taken > 0 && session->ended == 0) {
        taken = tls_read(session, (uint8_t *)data + got, size - got);
        got += (size_t)taken;
    }
    session->may_have_more |= got == size;
    (void)tls_flush(session);   /* What reading made necessary; and what could not be sent before. */
    if (session->ended == 0 && BIO_ctrl_pending(session->out) > TLS_OUT_MAX)
        (void)tls_fail(session, "it asks for more and more, and takes nothing");
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
    (void)SSL_shutdown(session->ssl);
    (void)tls_flush(session);
}

static void tls_hang_up(void *context, unsigned k, bool silently)
{
    struct tls_session *session = &((struct redlock_tls *)context)->sessions[k];
    struct tls_session none = { .fd = -1 };

    if (!silently) tls_say_goodbye(session);
    SSL_free(session->ssl);
    ERR_clear_error();
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

/* Always false: says what is wrong with a file, from OpenSSL's queue. */
static bool tls_blame(char *words, size_t size, const char *what, const char *path)
{
    unsigned long error = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(error);

    if (access(path, R_OK) != 0) reason = errno == ENOENT ? "no such file" : "this file may not be read";
    (void)snprintf(words, size, "%s %s: %s", what, path, reason ? reason : "of no use");
    return false;
}

/* A directory is looked into when a certificate is to be checked. */
static bool tls_trust(SSL_CTX *ctx, const char *ca, char *words, size_t size)
{
    struct stat status;
    bool is_directory = ca && stat(ca, &status) == 0 && S_ISDIR(status.st_mode);

    if (!ca) return SSL_CTX_set_default_verify_paths(ctx) == 1;
    if (SSL_CTX_load_verify_locations(ctx, is_directory ? NULL : ca, is_directory ? ca : NULL) == 1) return true;
    return tls_blame(words, size, "the CA certificates in", ca);
}

/* OpenSSL would ask at the terminal. */
static int tls_no_passphrase(char *text, int size, int is_written, void *context)
{
    (void)is_written;
    (void)context;
    if (size > 0) text[0] = '\0';
    return 0;
}

static bool tls_identify(SSL_CTX *ctx, const struct redlock_tls_options *options, char *words, size_t size)
{
    const char *key = options->key ? options->key : options->cert;

    SSL_CTX_set_default_passwd_cb(ctx, tls_no_passphrase);
    if (!options->cert) {
        if (options->key) (void)snprintf(words, size, "the key %s is of no use without its certificate", options->key);
        return !options->key;
    }
    if (SSL_CTX_use_certificate_chain_file(ctx, options->cert) != 1)
        return tls_blame(words, size, "the client certificate", options->cert);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1)
        return tls_blame(words, size, "the key of the client certificate", key);
    return true;
}

/* Connections are new ones: without a cache no session is taken up again, so that a certificate is looked at each time. */
static SSL_CTX *tls_new_ctx(const struct redlock_tls_options *options, char *words, size_t size)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    (void)snprintf(words, size, "OpenSSL cannot be used: out of memory, or wrongly configured");
    if (!ctx) return NULL;
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 && tls_trust(ctx, options->ca, words, size) &&
        tls_identify(ctx, options, words, size))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

struct redlock_tls *redlock_tls_open(const struct redlock_tls_options *options, char *words, size_t size)
{
    static const struct redlock_tls_options defaults = { .ca = NULL };
    struct redlock_tls *tls = OPENSSL_zalloc(sizeof *tls);

    NET_CHECK(size >= 1);
    ERR_clear_error();
    if (tls) tls->ctx = tls_new_ctx(options ? options : &defaults, words, size);
    else     (void)snprintf(words, size, "out of memory");
    ERR_clear_error();
    if (tls && tls->ctx) {
        words[0] = '\0';
        return tls;
    }
    OPENSSL_free(tls);
    return NULL;
}

void redlock_tls_close(struct redlock_tls *tls)
{
    if (!tls) return;
    SSL_CTX_free(tls->ctx);
    OPENSSL_free(tls);
}

const char *redlock_tls_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}
