/* The lock through TLS on a machine without an operating system, with the engine, BearSSL above it,
 * and no allocation. All memory is in `sessions`, and the program prints its size. Sockets stand
 * for the TCP of your board (lwIP, or a radio with AT commands).
 *
 *     cc bearssl_engine.c -o bearssl_engine $(pkg-config --cflags --libs redlock) -lbearssl
 *     ./bearssl_engine ca.crt host1:6379,host2:6379,host3:6379 door
 *
 * Shows: bytes that go from the engine through TLS and back; a host name that is checked; buffers
 * of 1 KiB, to which the server must agree (max_fragment_length, as OpenSSL does), instead of 16
 * KiB; and what else TLS needs of a board:
 *
 * - Random bytes. seed_bytes() is asked once per connection, and by the engine for tokens.
 *   getentropy() here; on a board a hardware generator. A board without one hashes a secret that
 *   differs from board to board and a number that never comes again, as in
 *   firmware/device_random.h. A seed that comes twice gives TLS away, and two locks the same token.
 * - The time of day, to see that a certificate has not expired, by seconds_since_1970(). A board
 *   without a clock takes it from the network before the first connection, or from the day on which
 *   its firmware was built. It then refuses certificates that had expired by then. The engine
 *   itself needs none, since its clock is a free-running counter (now_us()).
 * - Names. BearSSL knows names alone, no numbers, so a node's certificate must be for the name in
 *   the list.
 * - The CA. read_anchors() reads a file. Firmware has the result of "brssl ta ca.crt" compiled
 *   in. */
#define _GNU_SOURCE
#include <bearssl.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "redlock.h"

enum {
    NODES_MAX = 5, RESOURCE = 64, SEND = REDLOCK_SEND_MIN(RESOURCE), RECEIVE = REDLOCK_RECEIVE_MIN,
    /* A record of so many bytes, and its overhead. */
    TLS_IN = 1024 + 325, TLS_OUT = 512 + 85,
    ANCHORS_MAX = 4, ANCHOR_BYTES = 1024,
    TTL_MS = 10000, WAIT_MS = 2000
};

/* One connection to one node. */
struct session {
    char host[128];
    struct addrinfo *address;
    int fd;                             /* -1: none. */
    bool stands;                        /* The handshake is over. */
    br_ssl_client_context tls;
    br_x509_minimal_context x509;
    unsigned char in[TLS_IN], out[TLS_OUT];
};

static struct redlock engine;
static struct redlock_node nodes[NODES_MAX];
static struct redlock_lock lock;
static uint64_t
    memory[REDLOCK_MEMORY(NODES_MAX, REDLOCK_PIPELINE_MIN, SEND, RECEIVE) / sizeof(uint64_t)];
static struct session sessions[NODES_MAX];
static br_x509_trust_anchor anchors[ANCHORS_MAX];
/* Name, and numbers of the key. */
static unsigned char anchor_bytes[ANCHORS_MAX][ANCHOR_BYTES];
static unsigned count, anchor_count;

/* ---- What the board must have ---- */

static bool seed_bytes(void *bytes, size_t size)
{
    return getentropy(bytes, size) == 0;
}

static uint64_t seconds_since_1970(void)
{
    return (uint64_t)time(NULL);
}

static uint64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- A connection ---- */

static const char *words_for(int error)
{
    switch (error) {
    case BR_ERR_X509_BAD_SERVER_NAME: return "TLS: its certificate is for another host name";
    case BR_ERR_X509_EXPIRED:         return "TLS: its certificate is not valid at this time";
    case BR_ERR_X509_NOT_TRUSTED:     return "TLS: its certificate is of a CA not trusted here";
    case BR_ERR_BAD_VERSION:          return "TLS: what answers there does not speak TLS 1.2";
    case BR_ERR_OK:                   return NULL;
    default:
        return error >= BR_ERR_RECV_FATAL_ALERT ? "TLS: it refuses" : "TLS: the handshake failed";
    }
}

/* Memory of the last connection is used again as it is, since nothing is to be given back. */
static void end_session(unsigned k, const char *why)
{
    struct session *s = &sessions[k];

    if (s->fd >= 0) (void)close(s->fd);
    s->fd = -1;
    redlock_disconnected(&engine, k, why, now_us());
}

static void begin_session(unsigned k)
{
    struct session *s = &sessions[k];
    br_ssl_engine_context *tls = &s->tls.eng;
    unsigned char seed[32];
    uint64_t now = seconds_since_1970();

    s->stands = false;
    s->fd = socket(s->address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || (connect(s->fd, s->address->ai_addr, s->address->ai_addrlen) != 0 &&
                      errno != EINPROGRESS)) {
        end_session(k, strerror(errno));
        return;
    }
    br_ssl_client_init_full(&s->tls, &s->x509, anchors, anchor_count);
    br_ssl_engine_set_versions(tls, BR_TLS12, BR_TLS12);
    /* Days since the year 0. */
    br_x509_minimal_set_time(&s->x509, (uint32_t)(now / 86400 + 719528), (uint32_t)(now % 86400));
    br_ssl_engine_set_buffers_bidi(tls, s->in, sizeof s->in, s->out, sizeof s->out);
    if (seed_bytes(seed, sizeof seed)) br_ssl_engine_inject_entropy(tls, seed, sizeof seed);
    if (!br_ssl_client_reset(&s->tls, s->host, 0)) end_session(k, "TLS: no random bytes");
}

/* ---- Records: between BearSSL and the network. False: nothing moved ---- */

static bool send_records(unsigned k)
{
    size_t size;
    unsigned char *bytes = br_ssl_engine_sendrec_buf(&sessions[k].tls.eng, &size);
    ssize_t sent = bytes ? send(sessions[k].fd, bytes, size, MSG_NOSIGNAL) : 0;

    if (sent < 0 && errno != EAGAIN && errno != ENOTCONN) end_session(k, strerror(errno));
    if (sent <= 0) return false;
    br_ssl_engine_sendrec_ack(&sessions[k].tls.eng, (size_t)sent);
    return true;
}

static bool receive_records(unsigned k)
{
    size_t room;
    unsigned char *bytes = br_ssl_engine_recvrec_buf(&sessions[k].tls.eng, &room);
    ssize_t got = bytes ? recv(sessions[k].fd, bytes, room, 0) : -1;

    if (bytes && got == 0)
        end_session(k, sessions[k].stands ? NULL
                                          : "TLS: it closed the connection during the handshake");
    if (bytes && got < 0 && errno != EAGAIN && errno != ENOTCONN) end_session(k, strerror(errno));
    if (got <= 0) return false;
    br_ssl_engine_recvrec_ack(&sessions[k].tls.eng, (size_t)got);
    return true;
}

/* ---- Plain bytes: between BearSSL and the engine ---- */

static bool send_plain(unsigned k)
{
    br_ssl_engine_context *tls = &sessions[k].tls.eng;
    size_t size, room = 0;
    const uint8_t *from;
    unsigned char *to;

    if (!(redlock_wants(&engine, k) & REDLOCK_WANT_SEND) ||
        !(to = br_ssl_engine_sendapp_buf(tls, &room)))
        return false;
    from = redlock_output(&engine, k, &size);
    if (size > room) size = room;
    if (size == 0) return false;
    memcpy(to, from, size);
    br_ssl_engine_sendapp_ack(tls, size);
    br_ssl_engine_flush(tls, 0);        /* A record may be shorter than it could be. */
    redlock_sent(&engine, k, size);
    return true;
}

/* The clock is read after the bytes (S2). */
static bool receive_plain(unsigned k)
{
    br_ssl_engine_context *tls = &sessions[k].tls.eng;
    size_t size, room;
    unsigned char *from = br_ssl_engine_recvapp_buf(tls, &size);
    uint8_t *to;

    if (!from || !(redlock_wants(&engine, k) & REDLOCK_WANT_RECEIVE)) return false;
    to = redlock_input(&engine, k, &room);
    if (size > room) size = room;
    memcpy(to, from, size);
    br_ssl_engine_recvapp_ack(tls, size);
    redlock_received(&engine, k, size, now_us());
    return true;
}

/* The session stands when BearSSL takes plain bytes for the first time, since by then it has
 * checked the certificate. */
static bool serve_session(unsigned k)
{
    struct session *s = &sessions[k];
    unsigned state;
    bool moved = false;

    if (redlock_wants(&engine, k) & REDLOCK_WANT_CLOSE) end_session(k, NULL);
    if (s->fd < 0 && (redlock_wants(&engine, k) & REDLOCK_WANT_CONNECT)) begin_session(k);
    if (s->fd >= 0) moved |= send_records(k);
    if (s->fd >= 0) moved |= receive_records(k);
    if (s->fd < 0) return moved;
    state = br_ssl_engine_current_state(&s->tls.eng);
    if (!s->stands && (state & BR_SSL_SENDAPP)) {
        s->stands = true;
        redlock_connected(&engine, k, now_us());
    }
    if (s->stands) moved |= receive_plain(k);
    if (s->stands) moved |= send_plain(k);
    if (state == BR_SSL_CLOSED) end_session(k, words_for(br_ssl_engine_last_error(&s->tls.eng)));
    return moved;
}

/* ---- The loop ---- */

/* Sleeps until something comes or is due, for 20 ms at most. */
static void rest(void)
{
    struct pollfd polled[NODES_MAX];

    for (unsigned k = 0; k < count; k++) {
        bool has_records = sessions[k].fd >= 0 &&
                           (br_ssl_engine_current_state(&sessions[k].tls.eng) & BR_SSL_SENDREC);
        polled[k] = (struct pollfd){
            .fd = sessions[k].fd, .events = (short)(POLLIN | (has_records ? POLLOUT : 0))
        };
    }
    (void)poll(polled, count, redlock_wake_at(&engine) <= now_us() ? 0 : 20);
}

static void turn(void)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];
    size_t wanted = redlock_entropy_wanted(&engine);
    bool moved = false;

    if (wanted > 0 && seed_bytes(bytes, wanted)) redlock_add_entropy(&engine, bytes, wanted);
    redlock_tick(&engine, now_us());
    for (unsigned k = 0; k < count; k++) moved |= serve_session(k);
    if (!moved) rest();
}

static enum redlock_status until_done(enum redlock_status begun)
{
    while (begun == REDLOCK_OK && redlock_lock_status(&lock) == REDLOCK_PENDING) turn();
    return begun == REDLOCK_OK ? redlock_lock_status(&lock) : begun;
}

/* ---- The CA ---- */

struct reader {
    br_x509_decoder_context x509;
    size_t name_size;
    bool fits;
};

static void add_name(void *context, const void *bytes, size_t size)
{
    struct reader *reader = context;

    reader->fits &= size <= ANCHOR_BYTES / 2 - reader->name_size;
    if (!reader->fits) return;
    memcpy(anchor_bytes[anchor_count] + reader->name_size, bytes, size);
    reader->name_size += size;
}

static void add_certificate(void *context, const void *bytes, size_t size)
{
    br_x509_decoder_push(&((struct reader *)context)->x509, bytes, size);
}

/* The numbers of the key, after the name. */
static unsigned char *keep(struct reader *reader, size_t *used, const unsigned char *bytes,
                           size_t size)
{
    unsigned char *to = anchor_bytes[anchor_count] + *used;

    reader->fits &= size <= ANCHOR_BYTES - *used;
    if (reader->fits) memcpy(to, bytes, size);
    *used += reader->fits ? size : 0;
    return to;
}

static void end_certificate(struct reader *reader)
{
    const br_x509_pkey *key = br_x509_decoder_get_pkey(&reader->x509);
    br_x509_trust_anchor *anchor = &anchors[anchor_count];
    size_t used = reader->name_size;

    if (!key || !reader->fits) return;
    *anchor = (br_x509_trust_anchor){
        .dn = { anchor_bytes[anchor_count], used }, .flags = BR_X509_TA_CA, .pkey = *key
    };
    if (key->key_type == BR_KEYTYPE_RSA) {
        anchor->pkey.key.rsa.n = keep(reader, &used, key->key.rsa.n, key->key.rsa.nlen);
        anchor->pkey.key.rsa.e = keep(reader, &used, key->key.rsa.e, key->key.rsa.elen);
    } else {
        anchor->pkey.key.ec.q = keep(reader, &used, key->key.ec.q, key->key.ec.qlen);
    }
    anchor_count += reader->fits;
}

static void read_anchors(FILE *file)
{
    static br_pem_decoder_context pem;
    static struct reader reader;
    unsigned char byte;

    br_pem_decoder_init(&pem);
    while (anchor_count < ANCHORS_MAX && fread(&byte, 1, 1, file) == 1) {
        (void)br_pem_decoder_push(&pem, &byte, 1);
        switch (br_pem_decoder_event(&pem)) {
        case BR_PEM_BEGIN_OBJ:
            reader.name_size = 0;
            reader.fits = true;
            br_x509_decoder_init(&reader.x509, add_name, &reader);
            br_pem_decoder_setdest(&pem, add_certificate, &reader);
            break;
        case BR_PEM_END_OBJ:
            end_certificate(&reader);
            break;
        default:
            break;
        }
    }
}

/* ---- The program ---- */

static bool read_nodes(char *list)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

    for (char *entry = strtok(list, ","); entry; entry = strtok(NULL, ","), count++) {
        struct session *s = &sessions[count];
        char *colon = strrchr(entry, ':');
        if (count == NODES_MAX)
            return fprintf(stderr, "%s: there is room for %d nodes\n", entry, NODES_MAX), false;
        if (!colon) return fprintf(stderr, "%s: write HOST:PORT\n", entry), false;
        (void)snprintf(s->host, sizeof s->host, "%.*s", (int)(colon - entry), entry);
        s->fd = -1;
        if (getaddrinfo(s->host, colon + 1, &hints, &s->address) != 0)
            return fprintf(stderr, "%s: no such host\n", s->host), false;
    }
    return count > 0;
}

static bool begin(const char *ca, char *list)
{
    struct redlock_config config;
    FILE *file = fopen(ca, "r");

    if (!file) return perror(ca), false;
    read_anchors(file);
    (void)fclose(file);
    if (anchor_count == 0)
        return fprintf(stderr, "%s: no certificate of a CA is in it\n", ca), false;
    redlock_config_init(&config);
    config.resource_max = RESOURCE;
    config.pipeline = REDLOCK_PIPELINE_MIN;
    config.send_size = SEND;
    config.receive_size = RECEIVE;
    redlock_lock_init(&lock);
    return read_nodes(list) && redlock_init(&engine, &config, nodes, count, memory, sizeof memory,
                                            now_us()) == REDLOCK_OK;
}

int main(int argc, char **argv)
{
    struct redlock_request request = { .ttl_ms = TTL_MS, .wait_ms = WAIT_MS };
    enum redlock_status status;
    char words[REDLOCK_ERROR_MAX];

    if (argc != 4 || !begin(argv[1], argv[2])) {
        fprintf(stderr, "usage: bearssl_engine CA_FILE HOST:PORT,... RESOURCE\n");
        return 2;
    }
    printf("memory: %zu bytes for each session with TLS, %zu for the lock\n", sizeof sessions[0],
           sizeof lock);
    request.resource = argv[3];
    request.resource_size = strlen(argv[3]);
    status = until_done(redlock_start_acquire(&engine, &lock, &request, now_us()));
    printf("acquire: %s, %u ms\n", redlock_status_text(status),
           (unsigned)(redlock_valid_us(&lock, now_us()) / 1000));
    for (unsigned k = 0; k < count; k++) {
        redlock_describe_node(&engine, k, now_us(), words, sizeof words);
        printf("node %u: %s\n", k, words);
    }
    if (status != REDLOCK_OK) return 1;
    printf("extend: %s\n",
           redlock_status_text(until_done(redlock_start_extend(&engine, &lock, TTL_MS, now_us()))));
    printf("release: %s\n",
           redlock_status_text(until_done(redlock_start_release(&engine, &lock, now_us()))));
    return 0;
}
