/* TLS for the reference of the benchmark, as it is written by hand with Mbed TLS, which calls recv
 * for the head of a record and again for the rest of it. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>

struct session {
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_x509_crt ca;
    int fd;
    /* Bytes of a record that the socket has not taken as a whole, since Mbed TLS wants the same
     * call again. */
    size_t begun;
};

static int put(void *context, const unsigned char *data, size_t size)
{
    ssize_t sent = send(((struct session *)context)->fd, data, size, MSG_NOSIGNAL);
    if (sent >= 0) return (int)sent;
    return errno == EAGAIN || errno == EINTR ? MBEDTLS_ERR_SSL_WANT_WRITE
                                             : MBEDTLS_ERR_NET_SEND_FAILED;
}

static int get(void *context, unsigned char *data, size_t size)
{
    ssize_t got = recv(((struct session *)context)->fd, data, size, 0);
    if (got >= 0) return (int)got;
    return errno == EAGAIN || errno == EINTR ? MBEDTLS_ERR_SSL_WANT_READ
                                             : MBEDTLS_ERR_NET_RECV_FAILED;
}

static void tls_hang_up(void *context)
{
    struct session *s = context;
    mbedtls_ssl_free(&s->ssl);
    mbedtls_ssl_config_free(&s->config);
    mbedtls_x509_crt_free(&s->ca);
    mbedtls_ctr_drbg_free(&s->random);
    mbedtls_entropy_free(&s->entropy);
    free(s);
}

static struct session *new_session(void)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    mbedtls_ssl_init(&s->ssl);
    mbedtls_ssl_config_init(&s->config);
    mbedtls_x509_crt_init(&s->ca);
    mbedtls_ctr_drbg_init(&s->random);
    mbedtls_entropy_init(&s->entropy);
    return s;
}

/* The certificate is checked, and only Mbed TLS 3 looks for the host if that is a number, since
 * servers of the benchmark are its own. */
static bool configure(struct session *s, const char *ca, const char *host)
{
    if (mbedtls_ctr_drbg_seed(&s->random, mbedtls_entropy_func, &s->entropy, NULL, 0) != 0 ||
        mbedtls_x509_crt_parse_file(&s->ca, ca) != 0 ||
        mbedtls_ssl_config_defaults(&s->config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                    MBEDTLS_SSL_PRESET_DEFAULT) != 0)
        return false;
    mbedtls_ssl_conf_rng(&s->config, mbedtls_ctr_drbg_random, &s->random);
    mbedtls_ssl_conf_authmode(&s->config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(&s->config, &s->ca, NULL);
    mbedtls_ssl_set_bio(&s->ssl, s, put, get, NULL);
    return mbedtls_ssl_setup(&s->ssl, &s->config) == 0 &&
           mbedtls_ssl_set_hostname(&s->ssl, MBEDTLS_VERSION_NUMBER >= 0x03000000 ? host : NULL) ==
               0;
}

static bool waits(int code)
{
    return code == MBEDTLS_ERR_SSL_WANT_READ || code == MBEDTLS_ERR_SSL_WANT_WRITE;
}

static void *tls_connect(const char *ca, int fd, const char *host, uint64_t until_ns)
{
    struct session *s = new_session();
    int code = -1;
    if (!s) return NULL;
    s->fd = fd;
    if (configure(s, ca, host)) code = mbedtls_ssl_handshake(&s->ssl);
    while (waits(code)) {
        struct pollfd polled = {
            .fd = fd, .events = code == MBEDTLS_ERR_SSL_WANT_WRITE ? POLLOUT : POLLIN
        };
        code = bench_poll(&polled, 1, until_ns) > 0 ? mbedtls_ssl_handshake(&s->ssl) : -1;
    }
    if (code == 0) return s;
    tls_hang_up(s);
    return NULL;
}

/* The result, as send and recv have it. */
static ssize_t result_of(int code)
{
    if (code >= 0) return code;
    if (code == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) return 0;
    errno = waits(code) ? EAGAIN : EIO;
    return -1;
}

static ssize_t tls_send(void *context, const void *data, size_t size)
{
    struct session *s = context;
    int code = mbedtls_ssl_write(&s->ssl, data, s->begun > 0 ? s->begun : size);
    s->begun = !waits(code) ? 0 : s->begun > 0 ? s->begun : size;
    return result_of(code);
}

static ssize_t tls_receive(void *context, void *data, size_t size)
{
    struct session *s = context;
    size_t got = 0;
    int code;
    do {
        code = mbedtls_ssl_read(&s->ssl, (unsigned char *)data + got, size - got);
        if (code > 0) got += (size_t)code;
    } while (code > 0 && got < size && mbedtls_ssl_check_pending(&s->ssl) != 0);
    return got > 0 ? (ssize_t)got : result_of(code);
}

const struct bench_tls bench_tls = { tls_connect, tls_send, tls_receive, tls_hang_up };
