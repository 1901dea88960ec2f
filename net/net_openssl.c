/* TLS by OpenSSL (1.1.1 or newer), as a transport. Only a build that asks for it by make
 * TLS=openssl has this file.
 *
 * OpenSSL never sees the socket, since it reads from one piece of memory and writes to another.
 * net_tls.h has the parts that are not its own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "net_tls.h"

#include <dirent.h>
#include <limits.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct tls_line {
    SSL *ssl;
    /* Bytes that have come and are not yet read; and bytes that are to go. They belong to `ssl`. */
    BIO *in, *out;
};

struct redlock_tls {
    SSL_CTX *ctx;
    struct tls_session sessions[TLS_SESSIONS_MAX];
    struct tls_ticket tickets[TLS_SERVERS_MAX];     /* tls_resumable is an SSL_SESSION. */
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

/* The certificate is for another host, or for none, like certificates made before 2000, by its
 * common name alone. */
static const char *tls_mismatch_words(const SSL *ssl)
{
    const STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    const X509 *certificate = sk_X509_num(chain) > 0 ? sk_X509_value(chain, 0) : NULL;
    bool has_names = certificate && X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0;

    return has_names ? TLS_OTHER_HOST : TLS_NO_HOST;
}

/* The fault of the node's certificate, in words of ours, or in those of
 * OpenSSL, in text[0..size). */
static const char *tls_verdict_words(const SSL *ssl, char *text, size_t size)
{
    long verdict = SSL_get_verify_result(ssl);

    switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:      return tls_mismatch_words(ssl);
    case X509_V_ERR_IP_ADDRESS_MISMATCH:    return "its certificate is not for this IP address";
    case X509_V_ERR_CERT_HAS_EXPIRED:       return "its certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:     return "its certificate is not valid yet";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return "its certificate is of a CA not trusted here";
    default:
        (void)snprintf(text, size, "its certificate: %s", X509_verify_cert_error_string(verdict));
        return text;
    }
}

/* The complaint of the node, or of OpenSSL here. */
static const char *tls_reason_words(unsigned long error)
{
    const char *text;

    switch (ERR_GET_REASON(error)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:   return "it asks for a client certificate";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        return "it refuses: no cipher in common, or no certificate";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return "it does not trust the CA of our certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return "it says that our certificate has expired";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:           return "it refuses our certificate";
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL: return "no version in common: here 1.2 or newer";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:              return "what answers there does not speak TLS";
    default:
        text = ERR_reason_error_string(error);
        return text ? text : "an error without a name";
    }
}

/* The first error in OpenSSL's queue counts, as the later ones are about the losses
 * that it caused. */
static void tls_fail_by_queue(struct tls_session *session)
{
    unsigned long error = ERR_peek_error();
    bool is_ours = ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;
    char text[TLS_WORDS_MAX - sizeof "TLS: "];

    (void)tls_fail(session, is_ours ? tls_verdict_words(session->line->ssl, text, sizeof text)
                                    : tls_reason_words(error));
    ERR_clear_error();
}

/* --- Bytes --- */

static size_t tls_output(const struct tls_line *line, const void **data)
{
    char *begin;
    long size = BIO_get_mem_data(line->out, &begin);

    *data = begin;
    return (size_t)size;
}

/* Bytes that were read are gone. */
static void tls_sent(struct tls_line *line, size_t size)
{
    uint8_t piece[TLS_PIECE];

    while (size > 0)
        size -=
            (size_t)BIO_read(line->out, piece, size < sizeof piece ? (int)size : (int)sizeof piece);
}

/* False: nothing has come, see tls_take. */
static bool tls_fill(struct tls_session *session)
{
    uint8_t piece[TLS_PIECE];
    size_t size = tls_take(session, piece);

    if (size > 0 && BIO_write(session->line->in, piece, (int)size) != (int)size)
        session->ended = -ENOMEM;
    net_wipe(piece, size);
    return size > 0 && session->ended == 0;
}

/* --- Connecting --- */

/* RFC 9525, 6.3: the common name is not looked at, although OpenSSL does so by default. */
static bool tls_expect(SSL *ssl, const struct tls_host *host)
{
    if (host->number_size > 0)
        return X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), host->number, host->number_size) == 1;
    SSL_set_hostflags(ssl,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(ssl, host->name) == 1 && SSL_set_tlsext_host_name(ssl, host->name) == 1;
}

static bool tls_line_begin(struct tls_line *line, SSL_CTX *ctx, const struct tls_host *host)
{
    line->ssl = SSL_new(ctx);
    line->in = BIO_new(BIO_s_mem());
    line->out = BIO_new(BIO_s_mem());
    if (!line->ssl || !line->in || !line->out || !tls_expect(line->ssl, host)) return false;
    BIO_set_mem_eof_return(line->in, -1);   /* Empty is not the end. */
    SSL_set_bio(line->ssl, line->in, line->out);
    SSL_set_connect_state(line->ssl);
    return true;
}

static struct tls_line *tls_line_open(struct redlock_tls *tls, struct tls_session *session,
                                      const struct tls_host *host)
{
    struct tls_line *line = OPENSSL_zalloc(sizeof *line);

    if (!line) return NULL;
    if (tls_line_begin(line, tls->ctx, host) &&
        SSL_set_app_data(line->ssl, tls_ticket(tls, session->node)) == 1)
        return line;
    BIO_free(line->in);
    BIO_free(line->out);
    tls_line_close(line);
    return NULL;
}

/* Without both goodbyes, OpenSSL would take the session that it was given for resuming as spoilt,
 * although RFC 8446, 6.1, does not ask for that. */
static void tls_line_close(struct tls_line *line)
{
    if (line->ssl) SSL_set_shutdown(line->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(line->ssl);
    OPENSSL_free(line);
    ERR_clear_error();
}

static bool tls_shake_hands(struct tls_session *session)
{
    SSL *ssl = session->line->ssl;
    int done, why;

    do {
        ERR_clear_error();
        done = SSL_do_handshake(ssl);
        why = SSL_get_error(ssl, done);
    } while (done != 1 && why == SSL_ERROR_WANT_READ && tls_fill(session));
    if (done != 1) {
        if (why != SSL_ERROR_WANT_READ) tls_fail_by_queue(session);
        return false;
    }
    /* Anonymous ciphers, if the system's configuration allows them, skip the certificate check. */
    if (!SSL_get_peer_cert_chain(ssl)) (void)tls_fail(session, "it shows no certificate");
    return session->ended == 0;
}

/* --- Talking --- */

/* OpenSSL takes all or nothing, since it writes to memory, so nothing has to be repeated. */
static size_t tls_write(struct tls_session *session, const void *data, size_t size)
{
    SSL *ssl = session->line->ssl;
    int taken;

    ERR_clear_error();
    taken = SSL_write(ssl, data,
                      (int)(size < SSL3_RT_MAX_PLAIN_LENGTH ? size : SSL3_RT_MAX_PLAIN_LENGTH));
    if (taken > 0) return (size_t)taken;
    if (SSL_get_error(ssl, taken) != SSL_ERROR_WANT_READ) tls_fail_by_queue(session);
    return 0;
}

static size_t tls_read(struct tls_session *session, void *data, size_t size)
{
    SSL *ssl = session->line->ssl;

    for (;;) {
        int taken, why;
        ERR_clear_error();
        taken = SSL_read(ssl, data, size < INT_MAX ? (int)size : INT_MAX);
        if (taken > 0) return (size_t)taken;
        why = SSL_get_error(ssl, taken);
        if (why == SSL_ERROR_ZERO_RETURN)    session->ended = REDLOCK_TRANSPORT_END;
        else if (why != SSL_ERROR_WANT_READ) tls_fail_by_queue(session);
        if (session->ended != 0 || !tls_fill(session)) return 0;
    }
}

static void tls_write_goodbye(struct tls_line *line)
{
    (void)SSL_shutdown(line->ssl);
}

static uint64_t tls_first_end(const struct tls_line *line)
{
    const STACK_OF(X509) *chain = SSL_get_peer_cert_chain(line->ssl);
    uint64_t first = UINT64_MAX, ends;
    struct tm t;

    for (int i = 0; i < sk_X509_num(chain); i++) {
        if (ASN1_TIME_to_tm(X509_get0_notAfter(sk_X509_value(chain, i)), &t) != 1) continue;
        ends =
            tls_seconds(t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
        if (ends < first) first = ends;
    }
    return first;
}

/* --- Resuming --- */

/* OpenSSL calls it whenever a node gives one; 1 says that it is ours now. */
static int tls_take_resumable(SSL *ssl, SSL_SESSION *given)
{
    const struct tls_line line = { .ssl = ssl };

    tls_keep_ticket(SSL_get_app_data(ssl), (struct tls_resumable *)given, tls_first_end(&line));
    return 1;
}

static bool tls_resume(struct tls_line *line, struct tls_resumable *resumable)
{
    SSL_SESSION *given = (SSL_SESSION *)resumable;

    return SSL_SESSION_is_resumable(given) && SSL_set_session(line->ssl, given) == 1;
}

static void tls_forget(struct tls_resumable *resumable)
{
    SSL_SESSION_free((SSL_SESSION *)resumable);
}

/* --- Opening --- */

static bool tls_blame_by_queue(char *words, size_t size, const struct tls_use *use,
                               const char *path)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());

    return tls_blame(words, size, use, path, reason ? reason : "of no use");
}

/* Certificates are looked for by names such as "5ed36f99.0". */
static bool tls_has_hashes(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    bool has = false;

    if (!directory) return false;
    while (!has && (entry = readdir(directory)))
        has = strspn(entry->d_name, "0123456789abcdef") == 8 && entry->d_name[8] == '.';
    (void)closedir(directory);
    return has;
}

/* A directory is looked into when a certificate is to be checked. A store counts its users, and
 * locks its additions. */
static bool tls_trust(SSL_CTX *ctx, const struct redlock_tls_options *options, char *words,
                      size_t size)
{
    const char *ca = options->ca;
    bool is_directory = ca && tls_is_directory(ca);

    if (options->ca_of) {
        SSL_CTX_set1_cert_store(ctx, SSL_CTX_get_cert_store(options->ca_of->ctx));
        return true;
    }
    if (!ca) return SSL_CTX_set_default_verify_paths(ctx) == 1;
    if (!tls_can_read(words, size, &TLS_CA, ca)) return false;
    if (is_directory && !tls_has_hashes(ca))
        return tls_blame(words, size, &TLS_CA, ca,
                         "it has no certificate that is named by its hash");
    if (SSL_CTX_load_verify_locations(ctx, is_directory ? NULL : ca, is_directory ? ca : NULL) == 1)
        return true;
    return tls_blame_by_queue(words, size, &TLS_CA, ca);
}

/* OpenSSL would ask at the terminal. */
static int tls_no_passphrase(char *text, int size, int is_written, void *context)
{
    (void)is_written;
    (void)context;
    if (size > 0) text[0] = '\0';
    return 0;
}

static bool tls_identify(SSL_CTX *ctx, const struct redlock_tls_options *options, char *words,
                         size_t size)
{
    const char *key = options->key ? options->key : options->cert;

    SSL_CTX_set_default_passwd_cb(ctx, tls_no_passphrase);
    if (!options->cert) return tls_may_lack_cert(options, words, size);
    if (!tls_can_read(words, size, &TLS_CERT, options->cert) ||
        !tls_can_read(words, size, &TLS_KEY, key))
        return false;
    if (SSL_CTX_use_certificate_chain_file(ctx, options->cert) != 1)
        return tls_blame_by_queue(words, size, &TLS_CERT, options->cert);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1)
        return tls_blame_by_queue(words, size, &TLS_KEY, key);
    return true;
}

/* tls_keep_ticket, not OpenSSL, keeps the sessions that nodes give for resuming. */
static SSL_CTX *tls_new_ctx(const struct redlock_tls_options *options, char *words, size_t size)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    (void)snprintf(words, size, "OpenSSL cannot be used: out of memory, or wrongly configured");
    if (!ctx) return NULL;
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, tls_take_resumable);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
        tls_trust(ctx, options, words, size) && tls_identify(ctx, options, words, size))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

struct redlock_tls *redlock_tls_open(const struct redlock_tls_options *options, char *words,
                                     size_t size)
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
    for (unsigned node = 0; node < TLS_SERVERS_MAX; node++)
        tls_keep_ticket(tls_ticket(tls, node), NULL, 0);
    SSL_CTX_free(tls->ctx);
    OPENSSL_free(tls);
}

const char *redlock_tls_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}
