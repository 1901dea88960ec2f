/* The library through TLS, at the ends of connections. Tests a handshake that is cut or stops after
 * any byte, key updates and renegotiation under load, and a fork. The servers are real ones; the
 * proxies before them are here. The TLS library before the servers is always OpenSSL. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "../../net/redlock_transport.h"
#include "../live/clients.h"
#include "open_tls.h"

enum { CUTS_MAX = 15, HASTE_MS = 500, FLOOD_MS = 60000 };

static struct redlock_client alice;
static struct server server;

/* ---- Clients ---- */

static unsigned lost;      /* Connections, since open_secure(). */

static void count_lost(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what,
                       const void *data, size_t size)
{
    (void)context, (void)now_us, (void)k, (void)data, (void)size;
    lost += what == REDLOCK_DISCONNECTED;
}

static void open_by(struct redlock_tls *tls, struct redlock_client *c, const char *list,
                    uint32_t node_timeout_ms)
{
    struct redlock_options options = throw_away_options();

    options.engine.node_timeout_ms = node_timeout_ms;
    options.engine.trust_unknown = true;
    options.secure_transport = redlock_tls_transport();
    options.secure_context = tls;
    options.trace = count_lost;
    lost = 0;
    if (redlock_open(c, list, &options, NULL) != REDLOCK_OK) bail_out("redlock_open");
}

static struct redlock_tls *open_secure(struct redlock_client *c, const char *list,
                                       uint32_t node_timeout_ms)
{
    struct redlock_tls *tls = open_tls();

    open_by(tls, c, list, node_timeout_ms);
    return tls;
}

/* ---- What stands before a server ---- */

static int listen_on_loopback(uint16_t *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        bail_out("no listener");
    *port = ntohs(address.sin_port);
    return fd;
}

static int connect_to_server(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(server.port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) _exit(1);
    return fd;
}

/* Hands on all bytes, but only `left` bytes of the server's, and then it hangs up or, while the
 * client stays, says nothing else. */
static void relay(int client, long left, bool stops)
{
    int upstream = connect_to_server();
    struct pollfd polled[2] = {
        { .fd = client, .events = POLLIN }, { .fd = upstream, .events = POLLIN }
    };
    char bytes[4096];

    while (left != 0 && poll(polled, 2, -1) > 0) {
        for (int i = 0; i < 2; i++) {
            size_t most =
                i == 1 && left > 0 && (size_t)left < sizeof bytes ? (size_t)left : sizeof bytes;
            ssize_t size = polled[i].revents != 0 ? read(polled[i].fd, bytes, most) : -1;
            if (size == 0) _exit(0);
            if (size > 0 && send(polled[1 - i].fd, bytes, (size_t)size, MSG_NOSIGNAL) < 0) _exit(0);
            if (size > 0 && i == 1 && left > 0) left -= size;
        }
    }
    while (stops && read(client, bytes, sizeof bytes) > 0) {}
    _exit(0);
}

/* A relay whose first connection is cut after so many bytes of the server's; the later
 * ones are whole. */
static uint16_t start_relay(long cut, bool stops)
{
    uint16_t port;
    int listener = listen_on_loopback(&port);

    if (process_fork() != 0) {
        close(listener);
        return port;
    }
    signal(SIGCHLD, SIG_IGN);
    for (bool is_first = true;; is_first = false) {
        int client = accept(listener, NULL, NULL);
        if (client < 0) continue;
        if (fork() == 0) relay(client, is_first ? cut : -1, stops);
        close(client);
    }
}

static long handshake_bytes(void)
{
    /* About as many bytes as a server says here in TLS 1.3, its certificate, and the answers to the
     * first commands. */
    return 1800;
}

/* After a failure it is, until the next handshake. */
static bool is_away(unsigned k)
{
    switch (redlock_view_node(&alice.engine, k, redlock_now_us()).trouble) {
    case REDLOCK_TROUBLE_UNREACHABLE:
    case REDLOCK_TROUBLE_SILENT:
    case REDLOCK_TROUBLE_CLOSED: return true;
    default:                     return !redlock_view_node(&alice.engine, k,
                                                           redlock_now_us()).is_settled;
    }
}

static void survive_cuts(long first, long step, long count, bool stops)
{
    char list[CUTS_MAX * 40] = "";
    struct redlock_tls *tls;

    for (long i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "rediss://127.0.0.1:%u ",
                 (unsigned)start_relay(first + i * step, stops));
    TAP_CONTEXT("after %ld bytes and every %ld behind them%s", first, step,
                stops ? ", and nothing more" : "");
    tls = open_secure(&alice, list, stops ? HASTE_MS : PATIENCE_MS);
    for (unsigned k = 0; k < alice.engine.node_count; k++) {
        uint64_t until = clock_ms() + 2 * SOON_MS;
        do (void)redlock_run_for(&alice, NULL, 5);
        while (is_away(k) && clock_ms() < until);
        TAP_CHECK(!is_away(k), "node %u, cut after %ld bytes, does not find back", k,
                  first + (long)k * step);
    }
    CHECK(lost >= alice.engine.node_count);
    redlock_close(&alice, 100);
    redlock_tls_close(tls);
}

static long every(void)
{
    const char *text = getenv("SEVER_EVERY");
    return text && atol(text) > 0 ? atol(text) : 29;
}

/* SEVER_EVERY=1 cuts after every byte, by hand. */
TEST(a_handshake_that_is_cut_after_any_byte_ends_in_time_and_the_node_is_found_again)
{
    long step = every();
    for (long first = 1; first <= handshake_bytes(); first += CUTS_MAX * step)
        survive_cuts(first, step, CUTS_MAX, false);
}

TEST(a_handshake_that_stops_after_any_byte_ends_with_the_node_timeout_and_the_node_is_found_again)
{
    long step = every() * 4;
    for (long first = 1; first <= handshake_bytes(); first += CUTS_MAX * step)
        survive_cuts(first, step, CUTS_MAX, true);
}

/* ---- Names ---- */

/* Certificates of the server are for redlock.test and localhost. */
TEST(a_host_that_is_no_name_and_no_number_is_not_connected_to)
{
    static const char *const hosts[] = { ".test", ".", "", "%lo" };
    const struct redlock_transport *transport = redlock_tls_transport();
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(server.port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct redlock_peer peer = {
        .address = "it", .endpoint = &address, .endpoint_size = sizeof address
    };
    char words[REDLOCK_TLS_WORDS];
    struct redlock_tls *tls = redlock_tls_open(NULL, words, sizeof words);

    if (!tls) bail_out("redlock_tls_open: %s", words);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        bool connected = false;
        peer.host = hosts[i];
        CHECK_INT(transport->connect(tls, 0, &peer, &connected), -REDLOCK_TRANSPORT_ERROR);
        CHECK_STR(transport->error_text(tls, 0, REDLOCK_TRANSPORT_ERROR),
                  "TLS: no certificate can be for such a host");
    }
    redlock_tls_close(tls);
}

/* ---- Several clients ---- */

/* Session 0 is connected to already. */
TEST(a_client_that_is_given_the_tls_of_another_is_told_so_and_the_other_goes_on)
{
    const struct redlock_transport *transport = redlock_tls_transport();
    struct redlock_peer peer = { .host = "localhost" };
    struct redlock_lock lock;
    bool connected = false;
    char list[64];
    struct redlock_tls *tls;

    snprintf(list, sizeof list, "rediss://127.0.0.1:%u", (unsigned)server.port);
    tls = open_secure(&alice, list, PATIENCE_MS);
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "door", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    int error = -transport->connect(tls, 0, &peer, &connected);
    CHECK_INT(error > REDLOCK_TRANSPORT_ERROR, true);
    CHECK_STR(transport->error_text(tls, 0, error),
              "TLS: its redlock_tls is another client's: open one for each");
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    CHECK_INT(lost, 0);
    redlock_close(&alice, CLOSE_MS);
    redlock_tls_close(tls);
}

/* The other has no CA of its own, and has not read any but those. */
TEST(what_one_has_read_of_CAs_serves_others)
{
    struct redlock_tls *first = open_tls(), *second;
    struct redlock_options options = throw_away_options();
    struct redlock_tls_options like = { .ca = "/nowhere", .ca_of = first };
    char words[REDLOCK_TLS_WORDS], list[64];

    snprintf(list, sizeof list, "rediss://127.0.0.1:%u", (unsigned)server.port);
    options.engine.trust_unknown = true;
    options.secure_transport = redlock_tls_transport();
    second = redlock_tls_open(&like, words, sizeof words);
    if (!second) bail_out("redlock_tls_open: %s", words);
    options.secure_context = second;
    CHECK_STATUS(redlock_open(&alice, list, &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_tls_close(second);
    redlock_tls_close(first);
}

/* ---- Calls of the system ---- */

static unsigned empty_receives;

/* It replaces libc's. */
ssize_t recv(int fd, void *data, size_t size, int flags)
{
    ssize_t got = recvfrom(fd, data, size, flags, NULL, NULL);

    empty_receives += got < 0 && errno == EAGAIN;
    return got;
}

static void cycle(const char *list, int count)
{
    struct redlock_tls *tls = open_secure(&alice, list, PATIENCE_MS);
    struct redlock_lock lock;

    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    for (int i = 0; i < count; i++) {
        redlock_lock_init(&lock);
        CHECK_STATUS(redlock_acquire(&alice, &lock, "door", TTL_MS, PATIENCE_MS), REDLOCK_OK);
        CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_OK);
        CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    }
    redlock_close(&alice, CLOSE_MS);
    redlock_tls_close(tls);
}

TEST(a_socket_that_has_given_all_is_not_asked_again)
{
    enum { CYCLES = 100 };
    char list[64];

    snprintf(list, sizeof list, "rediss://127.0.0.1:%u", (unsigned)server.port);
    empty_receives = 0;
    cycle(list, CYCLES);
    TAP_CHECK(empty_receives < CYCLES, "%u times in %d cycles it had nothing", empty_receives,
              CYCLES);
}

/* ---- Processes ---- */

TEST(a_child_that_closes_its_copy_says_nothing_on_its_parents_connections)
{
    struct redlock_lock lock;
    char list[64];
    struct redlock_tls *tls;

    snprintf(list, sizeof list, "rediss://127.0.0.1:%u", (unsigned)server.port);
    tls = open_secure(&alice, list, PATIENCE_MS);
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "door", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    pid_t child = process_fork();
    if (child == 0) {
        redlock_close(&alice, 100);
        redlock_tls_close(tls);
        _exit(0);
    }
    CHECK_INT(process_wait(child), 0);
    int fd = redlock_fd(&alice, 0);
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_OK);
    CHECK_INT(redlock_fd(&alice, 0), fd);       /* It is the same connection. */
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_tls_close(tls);
}

/* ---- Under load ---- */

/* The server's side, of no newer version. */
static SSL_CTX *new_server(int version)
{
    char path[SERVER_PATH_SIZE + 16];
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    snprintf(path, sizeof path, "%s/server.crt", servers_certificates());
    SSL_CTX_use_certificate_file(ctx, path, SSL_FILETYPE_PEM);
    snprintf(path, sizeof path, "%s/server.key", servers_certificates());
    SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM);
    SSL_CTX_set_max_proto_version(ctx, version);
    return ctx;
}

static SSL *accept_tls(int client, int version)
{
    SSL *ssl = SSL_new(new_server(version));

    SSL_set_fd(ssl, client);
    if (SSL_accept(ssl) != 1) _exit(1);
    return ssl;
}

/* A server of TLS, in plain text before the real one. After each piece that it hands on it asks for
 * new keys, or a handshake. */
static void serve_tls(int client, int version)
{
    SSL *ssl = accept_tls(client, version);
    int upstream = connect_to_server();
    struct pollfd polled[2] = {
        { .fd = client, .events = POLLIN }, { .fd = upstream, .events = POLLIN }
    };
    char bytes[4096];
    unsigned pieces = 0;

    while (poll(polled, 2, -1) > 0) {
        bool has_more = polled[0].revents != 0;
        while (has_more) {
            int size = SSL_read(ssl, bytes, sizeof bytes);
            if (size <= 0 && SSL_get_error(ssl, size) != SSL_ERROR_WANT_READ) _exit(0);
            if (size > 0 && write(upstream, bytes, (size_t)size) != size) _exit(1);
            has_more = SSL_pending(ssl) > 0;
        }
        if (polled[1].revents != 0) {
            ssize_t size = read(upstream, bytes, sizeof bytes);
            if (size <= 0 || SSL_write(ssl, bytes, (int)size) <= 0) _exit(0);
            if (version == TLS1_3_VERSION) SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
            else if (++pieces % 8 == 0)    SSL_renegotiate(ssl);
            SSL_do_handshake(ssl);
        }
    }
    _exit(0);
}

static uint16_t start_tls_server(int version)
{
    uint16_t port;
    int listener = listen_on_loopback(&port);

    (void)servers_certificates();
    if (process_fork() != 0) {
        close(listener);
        return port;
    }
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client >= 0 && fork() == 0) serve_tls(client, version);
        close(client);
    }
}

/* The server speaks no TLS by itself from here on. */
static void speak_plainly(void)
{
    if (!servers_speak_tls()) return;
    servers_end(&server, 1);
    unsetenv("REDLOCK_TEST_TLS");
    servers_start(&server, 1, "");
}

TEST(keys_that_are_updated_after_each_answer_disturb_nobody)
{
    char list[64];
    speak_plainly();
    snprintf(list, sizeof list, "rediss://127.0.0.1:%u",
             (unsigned)start_tls_server(TLS1_3_VERSION));
    cycle(list, 200);
}

/* It is refused, and this one hangs up then. The connection is lost, and the next one serves. */
TEST(a_server_that_renegotiates_is_refused_and_at_worst_connected_to_anew)
{
    char list[64];
    struct redlock_lock lock;
    struct redlock_tls *tls;
    int won = 0;

    speak_plainly();
    snprintf(list, sizeof list, "rediss://127.0.0.1:%u",
             (unsigned)start_tls_server(TLS1_2_VERSION));
    tls = open_secure(&alice, list, PATIENCE_MS);
    for (int i = 0; i < 40; i++) {
        redlock_lock_init(&lock);
        if (redlock_acquire(&alice, &lock, "door", 1000, 5000) != REDLOCK_OK) continue;
        won++;
        (void)redlock_release(&alice, &lock, NULL);
    }
    CHECK(won > 20);
    redlock_close(&alice, CLOSE_MS);
    redlock_tls_close(tls);
}

/* ---- Resuming ---- */

/* A server that shakes hands, reports how to `told`, and hangs up after a while. "f" is in full,
 * "r" means that it resumed an earlier session, "x" is not at all. */
static void shake_hands(SSL_CTX *ctx, int client, int told)
{
    SSL *ssl = SSL_new(ctx);
    const char *how;

    SSL_set_fd(ssl, client);
    how = SSL_accept(ssl) != 1 ? "x" : SSL_session_reused(ssl) ? "r" : "f";
    if (how[0] != 'x') usleep(20000);       /* The client reads the bytes that it got. */
    if (write(told, how, 1) != 1) _exit(1);
    SSL_free(ssl);
    close(client);
}

/* The server's certificate, but that it ends in so many seconds. */
static void certify_for(SSL_CTX *ctx, long seconds)
{
    char path[SERVER_PATH_SIZE + 16];
    FILE *file;

    snprintf(path, sizeof path, "%s/ca.key", servers_certificates());
    file = fopen(path, "r");
    if (!file) bail_out("no %s", path);
    X509 *certificate = X509_dup(SSL_CTX_get0_certificate(ctx));
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    fclose(file);
    X509_gmtime_adj(X509_getm_notAfter(certificate), seconds);
    X509_sign(certificate, key, EVP_sha256());
    SSL_CTX_use_certificate(ctx, certificate);
    EVP_PKEY_free(key);
    X509_free(certificate);
}

/* *told is the descriptor that reports each handshake. is_odd: it wants to see certificates, but is
 * not set up to resume a session that had one. */
static uint16_t start_resumer(int version, long seconds, bool is_odd, int *told)
{
    SSL_CTX *ctx = new_server(version);
    int pipes[2];
    uint16_t port;
    int listener = listen_on_loopback(&port);

    if (pipe(pipes) < 0) bail_out("pipe");
    *told = pipes[0];
    if (seconds > 0) certify_for(ctx, seconds);
    if (is_odd) SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (process_fork() == 0) for (;;) shake_hands(ctx, accept(listener, NULL, NULL), pipes[1]);
    SSL_CTX_free(ctx);
    close(listener);
    close(pipes[1]);
    return port;
}

/* Such a server's reports about the first handshakes of a client, so many, or until one ends so. */
static const char *handshakes_by(struct redlock_tls *tls, const char *list, int told, size_t count,
                                 char end)
{
    static char text[512];
    struct pollfd polled = { .fd = told, .events = POLLIN };
    uint64_t until = clock_ms() + 5 * SOON_MS;
    size_t size = 0;

    open_by(tls, &alice, list, PATIENCE_MS);
    while (size < count && (size == 0 || text[size - 1] != end) && clock_ms() < until) {
        (void)redlock_run_for(&alice, NULL, 5);
        if (poll(&polled, 1, 0) > 0 && read(told, text + size, 1) == 1) size++;
    }
    text[size] = '\0';
    redlock_close(&alice, 100);
    return text;
}

static const char *handshakes_of(const char *list, int told, size_t count, char end)
{
    struct redlock_tls *tls = open_tls();
    const char *text = handshakes_by(tls, list, told, count, end);

    redlock_tls_close(tls);
    close(told);
    return text;
}

/* Those of connections that the client had begun anew when it was closed. */
static void forget_handshakes(int told)
{
    struct pollfd polled = { .fd = told, .events = POLLIN };
    char how;

    while (poll(&polled, 1, SOON_MS / 4) > 0 && read(told, &how, 1) == 1) {}
}

/* Tried by TLS 1.2, which both libraries speak, and by 1.3 if this one does. */
TEST(a_connection_that_is_lost_is_made_again_without_certificates)
{
    static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
    char list[64];

    for (int i = 0; i < 2; i++) {
        int told;
        snprintf(list, sizeof list, "rediss://127.0.0.1:%u",
                 (unsigned)start_resumer(versions[i], 0, false, &told));
        CHECK_STR(handshakes_of(list, told, 3, '\0'), "frr");
    }
}

TEST(a_server_that_breaks_off_when_it_is_to_resume_is_asked_no_more)
{
    char list[64];
    int told;

    snprintf(list, sizeof list, "rediss://127.0.0.1:%u",
             (unsigned)start_resumer(TLS1_2_VERSION, 0, true, &told));
    CHECK_STR(handshakes_of(list, told, 4, '\0'), "fxff");
}

/* The certificate is for both hosts, but a server whose is for one could resume as the other. */
TEST(a_session_is_resumed_with_the_host_alone_whose_certificate_was_seen)
{
    static const struct { const char *host, *how; } turns[] = {
        { "127.0.0.1", "fr" }, { "localhost", "fr" }, { "localhost", "rr" }, { "127.0.0.1", "fr" }
    };
    struct redlock_tls *tls = open_tls();
    char list[64];
    int told;
    unsigned port = start_resumer(TLS1_2_VERSION, 0, false, &told);

    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        TAP_CONTEXT("turn %u", (unsigned)i);
        snprintf(list, sizeof list, "rediss://%s:%u", turns[i].host, port);
        CHECK_STR(handshakes_by(tls, list, told, 2, '\0'), turns[i].how);
        forget_handshakes(told);
    }
    redlock_tls_close(tls);
    close(told);
}

/* A certificate of a second or two is good for handshakes until then. Later handshakes are in full,
 * and refused. */
TEST(a_session_is_not_resumed_when_the_certificate_has_ended)
{
    enum { SECONDS = 2, HANDSHAKES = 400 };
    char list[64];
    int told;

    snprintf(list, sizeof list, "rediss://127.0.0.1:%u",
             (unsigned)start_resumer(TLS1_2_VERSION, SECONDS, false, &told));
    const char *how = handshakes_of(list, told, HANDSHAKES, 'x');
    TAP_CHECK(strncmp(how, "fr", 2) == 0 && how[strlen(how) - 1] == 'x', "handshakes were: %s",
              how);
}

/* ---- Floods ---- */

/* Warnings, which mean nothing, to whomever says hello. */
static void flood_plainly(int client)
{
    static const unsigned char warning[] = { 21, 3, 3, 0, 2, 1, 90 };
    static unsigned char bytes[sizeof warning * 4096];
    uint64_t until = clock_ms() + FLOOD_MS;

    for (size_t i = 0; i < sizeof bytes; i += sizeof warning)
        memcpy(bytes + i, warning, sizeof warning);
    (void)!read(client, bytes, 0);
    while (clock_ms() < until && send(client, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) {}
    _exit(0);
}

/* Once TLS stands, it sends messages that have to be answered, and does not read the answers. They
 * are other keys (TLS 1.3), or a handshake. */
static void flood_securely(int client, int version)
{
    SSL *ssl = accept_tls(client, version);
    uint64_t until = clock_ms() + FLOOD_MS;

    if (SSL_version(ssl) != version) _exit(1);      /* Mbed TLS 2 knows nothing newer than 1.2. */
    do {
        if (version == TLS1_3_VERSION) SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
        else                           SSL_renegotiate(ssl);
    } while (clock_ms() < until && SSL_do_handshake(ssl) == 1);
    _exit(0);
}

/* version 0: it speaks no TLS at all. */
static uint16_t start_flood(int version)
{
    uint16_t port;
    int listener = listen_on_loopback(&port), size = 4096;

    (void)servers_certificates();
    (void)setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (process_fork() != 0) {
        close(listener);
        return port;
    }
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client >= 0 && fork() == 0) {
            if (version == 0) flood_plainly(client);
            flood_securely(client, version);
        }
        close(client);
    }
}

/* Long before the flood is over. */
static void fail_in_time(int version, uint32_t node_timeout_ms, const char *words)
{
    char list[64], text[REDLOCK_ERROR_MAX];
    struct redlock_tls *tls;
    uint64_t began = clock_ms();

    snprintf(list, sizeof list, "rediss://127.0.0.1:%u", (unsigned)start_flood(version));
    tls = open_secure(&alice, list, node_timeout_ms);
    CHECK_STATUS(redlock_connect(&alice, FLOOD_MS / 2), REDLOCK_NO_QUORUM);
    redlock_describe_node(&alice.engine, 0, redlock_now_us(), text, sizeof text);
    TAP_CHECK(strstr(text, words) != NULL, "'%s' is not said, but '%s'", words, text);
    CHECK(clock_ms() - began < FLOOD_MS / 2);
    redlock_close(&alice, 100);
    redlock_tls_close(tls);
}

/* S16: nobody waits for the end of its bytes. */
TEST(a_node_that_floods_a_handshake_is_given_up_in_time)
{
    fail_in_time(0, HASTE_MS, "");
}

TEST(a_node_that_floods_a_connection_is_given_up_in_time)
{
    fail_in_time(TLS1_2_VERSION, HASTE_MS, "");
    fail_in_time(TLS1_3_VERSION, HASTE_MS, "");
}

/* A server's hello by TLS 1.2, and the first `size` bytes of certificates that would be longer. Up
 * to then all goes in the open. (RFC 5246, 7.4; renegotiation_info: RFC 5746) */
static void begin_endless_certificates(int client, size_t size)
{
    enum { RANDOM = 32, RECORD = 4096 };
    static const unsigned char head[] = { 22, 3, 3, 0, 49, 2, 0, 0, 45, 3, 3 };
    /* ECDHE-RSA-AES128-GCM-SHA256 */
    static const unsigned char rest[] = { 0, 0xC0, 0x2F, 0, 0, 5, 0xFF, 1, 0, 1, 0 };
    unsigned char hello[sizeof head + RANDOM + sizeof rest] = { 0 };
    unsigned char record[5 + RECORD] = {
        22, 3, 3, RECORD >> 8, RECORD & 0xFF, 11, 1, 0x80, 0, 1, 0x7F, 0xFD
    };

    memcpy(hello, head, sizeof head);
    memcpy(hello + sizeof head + RANDOM, rest, sizeof rest);
    if (send(client, hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        bail_out("the hello is not sent");
    for (size_t sent = 0; sent < size; sent += RECORD) {
        if (send(client, record, sizeof record, MSG_NOSIGNAL) != sizeof record)
            bail_out("a certificate is not sent");
        memset(record + 5, 'c', 7);
    }
}

static int bytes_waiting(int fd)
{
    int size = 0;
    return ioctl(fd, FIONREAD, &size) == 0 ? size : -1;
}

/* S16: in one call no more is read than TLS_PIECES_MAX pieces, however much there is. Mbed TLS
 * takes no certificates that long, and closes. */
TEST(a_node_that_has_sent_a_lot_is_read_a_few_pieces_at_a_time)
{
    enum { PIECES = 8 * 4096, SENT = 12 * 4096 };
    char list[64];
    uint16_t port;
    int listener = listen_on_loopback(&port), size = 1 << 20;
    unsigned char byte;
    uint64_t until = clock_ms() + SOON_MS;

    snprintf(list, sizeof list, "rediss://127.0.0.1:%u", (unsigned)port);
    (void)setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    struct redlock_tls *tls = open_secure(&alice, list, PATIENCE_MS);
    (void)redlock_step(&alice);
    int client = accept(listener, NULL, NULL);
    while (recv(client, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1 && clock_ms() < until)
        (void)redlock_run_for(&alice, NULL, 5);
    begin_endless_certificates(client, SENT);
    while (bytes_waiting(redlock_fd(&alice, 0)) < SENT && clock_ms() < until) usleep(1000);
    int before = bytes_waiting(redlock_fd(&alice, 0));
    (void)redlock_step(&alice);
    bool is_closed = redlock_fd(&alice, 0) < 0;
    int after = is_closed ? 0 : bytes_waiting(redlock_fd(&alice, 0));
    TAP_CHECK(before >= SENT, "only %d bytes came", before);
    TAP_CHECK(is_closed || (after >= before - PIECES && after < before),
              "%d bytes were there, %d are left", before, after);
    close(client);
    close(listener);
    redlock_close(&alice, 100);
    redlock_tls_close(tls);
}

TEST(answers_that_a_node_asks_for_and_does_not_take_are_not_heaped_up)
{
    fail_in_time(TLS1_2_VERSION, FLOOD_MS, "TLS: it asks for more and more, and takes nothing");
}

int main(int argc, char **argv)
{
    setenv("REDLOCK_TEST_TLS", "1", 1);
    servers_start(&server, 1, "");
    return tap_run_all(argc, argv);
}
