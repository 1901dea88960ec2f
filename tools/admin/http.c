#define _GNU_SOURCE
#include "http.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../redlock/numbers.h"
#include "../redlock/print.h"
#include "../redlock/text.h"
#include "../../redlock/redlock_client.h"

enum {
    HEAD_MAX = 256,             /* Bytes of an answer before the text. */
    BACKLOG = 64,
    /* Nobody is accepted for so long if the system has no descriptor for a client, and no other has
     * been there for long enough to make room. */
    REFUSED_PAUSE_MS = 100,
    ENOUGH_MS = 1000
};

/* One version of the text that is handed out. It goes when a newer one is there and no answer is
 * made of it any longer. */
struct version {
    unsigned users;
    size_t size;
    char text[];
};

enum stage { STAGE_ASKED, STAGE_ANSWERED, STAGE_ENDED };

struct client {
    int fd;                     /* -1: none. */
    /* It is being read; answered; or has got all, and is waited for until it closes. */
    enum stage stage;
    uint64_t since_us;
    char request[HTTP_REQUEST_MAX];
    size_t request_size;
    char head[HEAD_MAX];
    size_t head_size, sent;     /* Bytes of head and text together. */
    struct version *version;    /* NULL: the head is all. */
};

struct http {
    int listener, stop[2];      /* stop[0] can be read when all ends. */
    char address[HTTP_ADDRESS_MAX];
    bool is_running;
    pthread_t thread;
    pthread_mutex_t mutex;      /* Protects the versions and their users. */
    struct version *newest;     /* NULL: none yet. */
    uint64_t deaf_until_us;
    struct client clients[HTTP_CLIENTS];
};

/* ---- Versions ---- */

static void drop(struct http *http, struct version *version)
{
    bool is_last;

    if (!version) return;
    (void)pthread_mutex_lock(&http->mutex);
    is_last = --version->users == 0;
    (void)pthread_mutex_unlock(&http->mutex);
    if (is_last) free(version);
}

static struct version *take_newest(struct http *http)
{
    struct version *newest;

    (void)pthread_mutex_lock(&http->mutex);
    newest = http->newest;
    if (newest) newest->users++;
    (void)pthread_mutex_unlock(&http->mutex);
    return newest;
}

bool http_give(struct http *http, const char *text, size_t size)
{
    struct version *version = malloc(sizeof *version + size), *before;

    if (!version) return false;
    version->users = 1;
    version->size = size;
    memcpy(version->text, text, size);
    (void)pthread_mutex_lock(&http->mutex);
    before = http->newest;
    http->newest = version;
    (void)pthread_mutex_unlock(&http->mutex);
    drop(http, before);
    return true;
}

/* ---- Answers ---- */

static void answer(struct client *client, const char *status, const char *more, const char *body)
{
    int size = print_text(
        client->head, sizeof client->head,
        "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n%s"
        "Connection: close\r\n\r\n%s",
        status, strlen(body), more, body);

    client->head_size = (size_t)size;
    client->stage = STAGE_ANSWERED;
}

static void answer_metrics(struct http *http, struct client *client, bool is_head_only)
{
    struct version *version = take_newest(http);

    if (!version) {
        answer(client, "503 Service Unavailable", "Retry-After: 1\r\n",
               "The nodes are being asked for the first time.\n");
        return;
    }
    client->head_size = (size_t)print_text(
        client->head, sizeof client->head,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        "Content-Length: %zu\r\nConnection: close\r\n\r\n",
        version->size);
    client->stage = STAGE_ANSWERED;
    if (is_head_only) drop(http, version);
    else              client->version = version;
}

/* "METHOD TARGET HTTP/1.x": the parts of the line, which ends with a NUL. */
static bool split(char *line, char **method, char **target)
{
    char *version;

    *method = line;
    *target = strchr(line, ' ');
    if (!*target) return false;
    *(*target)++ = '\0';
    version = strchr(*target, ' ');
    if (!version) return false;
    *version++ = '\0';
    (*target)[strcspn(*target, "?")] = '\0';
    return strncmp(version, "HTTP/1.", 7) == 0 && **method != '\0';
}

static void answer_line(struct http *http, struct client *client, char *line)
{
    char *method, *target;
    bool is_head;

    if (!split(line, &method, &target)) {
        answer(client, "400 Bad Request", "", "This is no request of HTTP/1.\n");
        return;
    }
    is_head = strcmp(method, "HEAD") == 0;
    if (!is_head && strcmp(method, "GET") != 0)
        answer(client, "405 Method Not Allowed", "Allow: GET, HEAD\r\n",
               "There is nothing but GET and HEAD.\n");
    else if (strcmp(target, "/metrics") != 0)
        answer(client, "404 Not Found", "", "Look at /metrics.\n");
    else
        answer_metrics(http, client, is_head);
}

/* The request is complete with the empty line after its head; further bytes are not looked at. */
static void read_request(struct http *http, struct client *client)
{
    char *request = client->request;

    request[client->request_size] = '\0';
    if (strlen(request) < client->request_size)
        answer(client, "400 Bad Request", "", "A request has no bytes that are 0.\n");
    else if (strstr(request, "\r\n\r\n") || strstr(request, "\n\n")) {
        request[strcspn(request, "\r\n")] = '\0';
        answer_line(http, client, request);
    } else if (client->request_size == sizeof client->request - 1)
        answer(client, "431 Request Header Fields Too Large", "", "The request is too long.\n");
}

/* ---- Clients ---- */

static void end_client(struct http *http, struct client *client)
{
    if (client->fd < 0) return;
    (void)close(client->fd);
    drop(http, client->version);
    client->fd = -1;
    client->version = NULL;
}

/* Bytes after its request are thrown away, since closing with bytes unread would take the answer
 * from it. */
static void discard(struct http *http, struct client *client)
{
    char bytes[1024];
    ssize_t size = recv(client->fd, bytes, sizeof bytes, 0);

    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) end_client(http, client);
}

static void receive(struct http *http, struct client *client)
{
    size_t room = sizeof client->request - 1 - client->request_size;
    ssize_t size = recv(client->fd, client->request + client->request_size, room, 0);

    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
        end_client(http, client);
        return;
    }
    client->request_size += (size_t)size;
    read_request(http, client);
}

/* The next bytes of the answer that are in one piece. */
static const char *next_piece(const struct client *client, size_t *size)
{
    if (client->sent < client->head_size) {
        *size = client->head_size - client->sent;
        return client->head + client->sent;
    }
    *size = client->version ? client->head_size + client->version->size - client->sent : 0;
    return client->version ? client->version->text + (client->sent - client->head_size) : NULL;
}

static void send_answer(struct http *http, struct client *client)
{
    size_t size;
    const char *piece = next_piece(client, &size);

    while (size > 0) {
        ssize_t sent = send(client->fd, piece, size, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (sent < 0) {
            end_client(http, client);
            return;
        }
        client->sent += (size_t)sent;
        piece = next_piece(client, &size);
    }
    (void)shutdown(client->fd, SHUT_WR);
    client->stage = STAGE_ENDED;
}

static void serve_client(struct http *http, struct client *client)
{
    if (client->stage == STAGE_ASKED) receive(http, client);
    if (client->fd >= 0 && client->stage == STAGE_ANSWERED) send_answer(http, client);
    else if (client->fd >= 0 && client->stage == STAGE_ENDED) discard(http, client);
}

/* The client that has been there longest. NULL: there is none. */
static struct client *find_oldest(struct http *http)
{
    struct client *oldest = NULL;

    for (unsigned i = 0; i < HTTP_CLIENTS; i++) {
        struct client *client = &http->clients[i];
        if (client->fd >= 0 && (!oldest || client->since_us < oldest->since_us)) oldest = client;
    }
    return oldest;
}

/* A free place, or that of the oldest. */
static struct client *make_room(struct http *http)
{
    struct client *oldest = find_oldest(http);

    for (unsigned i = 0; i < HTTP_CLIENTS; i++)
        if (http->clients[i].fd < 0) return &http->clients[i];
    assert(oldest);
    end_client(http, oldest);
    return oldest;
}

static void be_deaf(struct http *http)
{
    http->deaf_until_us = redlock_now_us() + (uint64_t)REFUSED_PAUSE_MS * 1000;
}

/* This process has no descriptor for another. */
static void make_descriptor(struct http *http)
{
    struct client *oldest = find_oldest(http);
    bool may_go =
        oldest && redlock_now_us() - oldest->since_us >= (uint64_t)ENOUGH_MS * 1000;

    if (may_go) end_client(http, oldest);
    else        be_deaf(http);
}

static bool prepare(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

/* One at a time, so that earlier clients are served in between. */
static void accept_client(struct http *http)
{
    int fd = accept(http->listener, NULL, NULL);
    struct client *client;

    if (fd < 0 && errno == EMFILE) make_descriptor(http);
    if (fd < 0 && (errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) be_deaf(http);
    if (fd < 0) return;
    if (!prepare(fd)) {
        (void)close(fd);
        return;
    }
    client = make_room(http);
    client->fd = fd;
    client->stage = STAGE_ASKED;
    client->since_us = redlock_now_us();
    client->request_size = client->head_size = client->sent = 0;
}

/* ---- The loop ---- */

static short wanted(const struct client *client)
{
    return client->stage == STAGE_ANSWERED ? POLLOUT : POLLIN;
}

/* Ends those whose time is over. When poll() must return at the latest, in ms; -1: never. */
static int look_at_times(struct http *http, uint64_t now)
{
    uint64_t until = http->deaf_until_us > now ? http->deaf_until_us : UINT64_MAX;

    for (unsigned i = 0; i < HTTP_CLIENTS; i++) {
        struct client *client = &http->clients[i];
        uint64_t end = client->since_us + (uint64_t)HTTP_CLIENT_MS * 1000;
        if (client->fd >= 0 && end <= now) end_client(http, client);
        else if (client->fd >= 0 && end < until) until = end;
    }
    return until == UINT64_MAX ? -1 : (int)((until - now) / 1000 + 1);
}

/* Gathers the events to wait for. They are the end, new clients, and present ones; `whose` maps
 * each but the first two to its client. No entry is empty, since poll() refuses more than a process
 * may have descriptors. */
static nfds_t gather(const struct http *http, uint64_t now, struct pollfd fds[HTTP_CLIENTS + 2],
                     unsigned whose[HTTP_CLIENTS + 2])
{
    nfds_t count = 2;

    fds[0] = (struct pollfd){ .fd = http->stop[0], .events = POLLIN };
    fds[1] = (struct pollfd){
        .fd = http->deaf_until_us > now ? -1 : http->listener, .events = POLLIN
    };
    for (unsigned i = 0; i < HTTP_CLIENTS; i++) {
        if (http->clients[i].fd < 0) continue;
        fds[count] = (struct pollfd){
            .fd = http->clients[i].fd, .events = wanted(&http->clients[i])
        };
        whose[count++] = i;
    }
    return count;
}

static void *serve(void *context)
{
    struct http *http = context;
    struct pollfd fds[HTTP_CLIENTS + 2];
    unsigned whose[HTTP_CLIENTS + 2];

    for (;;) {
        uint64_t now = redlock_now_us();
        int ms = look_at_times(http, now);
        nfds_t count = gather(http, now, fds, whose);
        if (poll(fds, count, ms) <= 0) continue;
        if (fds[0].revents) return NULL;
        for (nfds_t i = 2; i < count; i++)
            if (fds[i].revents) serve_client(http, &http->clients[whose[i]]);
        if (fds[1].revents) accept_client(http);
    }
}

/* ---- Beginning and end ---- */

union address {
    struct sockaddr plain;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t size_of(const union address *address)
{
    return address->plain.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

/* host has no brackets; if empty, it is the loopback. */
static bool read_host(const char *host, uint16_t port, union address *address)
{
    memset(address, 0, sizeof *address);
    address->v4.sin_family = AF_INET;
    address->v4.sin_port = htons(port);
    address->v4.sin_addr.s_addr = htonl(*host == '*' ? INADDR_ANY : INADDR_LOOPBACK);
    if (*host == '\0' || strcmp(host, "*") == 0 ||
        inet_pton(AF_INET, host, &address->v4.sin_addr) == 1)
        return true;
    memset(address, 0, sizeof *address);
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons(port);
    return inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1;
}

/* "9736", "127.0.0.1:9736", "[::1]:9736", "*:9736" */
static bool read_address(const char *text, union address *address)
{
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    char host[HTTP_ADDRESS_MAX] = "";
    size_t size = colon ? (size_t)(colon - text) : 0;
    uint32_t number = 0;

    if (count_read(port, UINT16_MAX, &number) != NUMBER_OK || size >= sizeof host) return false;
    if (colon && size == 0) return false;
    if (size > 2 && text[0] == '[' && text[size - 1] == ']') memcpy(host, text + 1, size - 2);
    else if (memchr(text, ':', size))                        return false;
    else                                                     memcpy(host, text, size);
    return read_host(host, (uint16_t)number, address);
}

/* The port may have been chosen by the system. */
static void write_address(struct http *http)
{
    union address address;
    socklen_t size = sizeof address;
    char host[INET6_ADDRSTRLEN] = "?";

    memset(&address, 0, sizeof address);
    (void)getsockname(http->listener, &address.plain, &size);
    if (address.plain.sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof host);
        (void)print_text(http->address, sizeof http->address, "[%s]:%u", host,
                         ntohs(address.v6.sin6_port));
    } else {
        (void)inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof host);
        (void)print_text(http->address, sizeof http->address, "%s:%u", host,
                         ntohs(address.v4.sin_port));
    }
}

/* A server that was just ended leaves connections that must not keep the next one from its port. */
static bool listen_on(struct http *http, const union address *address)
{
    int yes = 1;

    http->listener = socket(address->plain.sa_family, SOCK_STREAM, 0);
    if (http->listener < 0 || !prepare(http->listener)) return false;
    (void)setsockopt(http->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address->plain.sa_family == AF_INET6)
        (void)setsockopt(http->listener, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(http->listener, &address->plain, size_of(address)) != 0 ||
        listen(http->listener, BACKLOG) != 0)
        return false;
    write_address(http);
    return pipe(http->stop) == 0 && prepare(http->stop[0]) && prepare(http->stop[1]);
}

static void close_all(struct http *http)
{
    for (unsigned i = 0; i < HTTP_CLIENTS; i++) end_client(http, &http->clients[i]);
    if (http->listener >= 0) (void)close(http->listener);
    for (unsigned i = 0; i < 2; i++)
        if (http->stop[i] >= 0) (void)close(http->stop[i]);
    drop(http, http->newest);
    (void)pthread_mutex_destroy(&http->mutex);
    free(http);
}

static struct http *make(void)
{
    struct http *http = calloc(1, sizeof *http);

    if (!http || pthread_mutex_init(&http->mutex, NULL) != 0) {
        free(http);
        return NULL;
    }
    http->listener = http->stop[0] = http->stop[1] = -1;
    for (unsigned i = 0; i < HTTP_CLIENTS; i++) http->clients[i].fd = -1;
    return http;
}

struct http *http_open(const char *text, char why[HTTP_WHY_MAX])
{
    union address address;
    struct http *http;

    (void)print_text(why, HTTP_WHY_MAX,
                     "it is no address: write PORT, 127.0.0.1:PORT, [::1]:PORT or *:PORT");
    if (!read_address(text, &address)) return NULL;
    http = make();
    if (http && listen_on(http, &address)) return http;
    (void)print_text(why, HTTP_WHY_MAX, "%s", text_system_error(http ? errno : ENOMEM));
    if (http) close_all(http);
    return NULL;
}

const char *http_address(const struct http *http)
{
    return http->address;
}

/* Signals are for the program's first thread, which waits for them. */
bool http_start(struct http *http)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    http->is_running = pthread_create(&http->thread, NULL, serve, http) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return http->is_running;
}

void http_close(struct http *http)
{
    if (!http) return;
    if (http->is_running && write(http->stop[1], "", 1) == 1)
        (void)pthread_join(http->thread, NULL);
    close_all(http);
}
