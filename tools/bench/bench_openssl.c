/* TLS for the reference of the benchmark, written by hand with OpenSSL. The library has the socket,
 * reads as much as there is with one call, and is asked again only if something is left in it. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* Certificates are for numbers or for names. */
static bool expect_host(SSL *ssl, const char *host)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) return true;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static SSL *new_session(const char *ca, int fd, const char *host)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = ctx && SSL_CTX_load_verify_locations(ctx, ca, NULL) == 1 ? SSL_new(ctx) : NULL;
    SSL_CTX_free(ctx);
    if (!ssl) return NULL;
    SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    SSL_set_read_ahead(ssl, 1);
    (void)SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (expect_host(ssl, host) && SSL_set_fd(ssl, fd) == 1) return ssl;
    SSL_free(ssl);
    return NULL;
}

static void *tls_connect(const char *ca, int fd, const char *host, uint64_t until_ns)
{
    SSL *ssl = new_session(ca, fd, host);
    int done = 0;
    (void)signal(SIGPIPE, SIG_IGN);     /* OpenSSL calls write(). */
    while (ssl && (done = SSL_connect(ssl)) != 1) {
        int why = SSL_get_error(ssl, done);
        struct pollfd polled = {
            .fd = fd, .events = why == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN
        };
        bool waits = why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ;
        if (!waits || bench_poll(&polled, 1, until_ns) <= 0) break;
    }
    if (done == 1) return ssl;
    SSL_free(ssl);
    ERR_clear_error();
    return NULL;
}

/* The result, as send and recv have it. An error that stayed in the queue would be taken for one of
 * the next node. */
static ssize_t result_of(SSL *ssl, int done)
{
    if (done > 0) return done;
    switch (SSL_get_error(ssl, done)) {
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:  errno = EAGAIN; return -1;
    default:                    ERR_clear_error(); errno = EIO; return -1;
    }
}

static ssize_t tls_send(void *session, const void *data, size_t size)
{
    return result_of(session, SSL_write(session, data, (int)size));
}

static ssize_t tls_receive(void *session, void *data, size_t size)
{
    size_t got = 0;
    int taken;
    do {
        taken = SSL_read(session, (char *)data + got, (int)(size - got));
        if (taken > 0) got += (size_t)taken;
    } while (taken > 0 && got < size && SSL_has_pending(session) == 1);
    return got > 0 ? (ssize_t)got : result_of(session, taken);
}

static void tls_hang_up(void *session)
{
    SSL_free(session);
}

const struct bench_tls bench_tls = { tls_connect, tls_send, tls_receive, tls_hang_up };
