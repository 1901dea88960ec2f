/* The reference is a program that knows its servers are well, without any library. Preformatted
 * commands, in which only the key, the token and the ticket are written anew, go to all nodes over
 * nonblocking sockets; poll waits for a quorum of +OK, :1 or :2. Late answers are read, but not
 * waited for. The commands are those of redlock, byte for byte.
 *
 * These are left out, and are thus redlock's cost: random tokens, the clock and the validity,
 * reconnecting, the checks of a server's kind, answers of all kinds. Do not lock with it. Nodes at
 * rediss:// addresses get the same through TLS, by hand as well. */
#define _GNU_SOURCE
#include "bench.h"
#include "bench_scripts.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RAW_TOKEN = 40,
    RAW_TICKET = 16,                /* Digits of the wall clock in microseconds. */
    RAW_TICKET_LIFE_MS = 86400000, RAW_SKEW_MS = 10000,     /* redlock's defaults. */
    RAW_SHA1 = 40,
    RAW_SCRIPT_MAX = sizeof WIRE_ACQUIRE_SCRIPT + sizeof WIRE_RELEASE_SCRIPT,
    RAW_HOST_MAX = 255,
    RAW_COMMAND_MAX = BENCH_KEY_MAX + 256,
    /* Bytes that wait to be sent to a node, beside two commands of each slot. */
    RAW_OUT_MIN = 65536,
    RAW_IN = 16384,
    /* Commands that a node may owe an answer to. One that owes so many is not asked. */
    RAW_ASKED_MAX = 16384
};

/* A command with the places that change. */
struct raw_command {
    char text[RAW_COMMAND_MAX];
    size_t size, key_at, token_at;
    size_t ticket_at;               /* 0: none. */
};

/* A slot's operation. */
struct raw_operation {
    struct bench_slot *slot;
    struct raw_command acquire, release;
    /* The release of an attempt that was lost, which wakes no waiter. */
    struct raw_command withdraw;
    /* The number of this slot's operation; answers to earlier ones do not count. */
    uint32_t number;
    unsigned granted, open;         /* Votes for it; nodes that have not answered. */
    bool is_pending, is_acquire;
};

struct raw_asked {
    uint32_t operation, number;
};

struct raw_node {
    int fd;                         /* -1: refused, broken or given up. It stays so. */
    void *session;                  /* The TLS session; NULL: in plain text. */
    char *out;
    size_t out_start, out_end;
    size_t in_size;
    char in[RAW_IN];
    unsigned asked_first, asked_count;
    struct raw_asked asked[RAW_ASKED_MAX];
};

struct raw {
    const struct bench_options *options;
    /* The timeout of a node; and the time until it has its scripts. */
    uint64_t timeout_ns, patience_ns;
    unsigned quorum;
    size_t out_size;
    uint64_t token_count;
    /* The last one. Counted on from the wall clock, since a node refuses a ticket that is far ahead
     * of it. */
    uint64_t ticket;
    char acquire_sha1[RAW_SHA1 + 1], release_sha1[RAW_SHA1 + 1];
    struct raw_node *nodes;
    struct raw_operation *operations;
    struct bench_slot **done;       /* Ring of as many as there are slots. */
    unsigned done_first, done_count;
};

/* ---- Commands ---- */

/* Appends one argument. Returns where its bytes begin. */
static size_t put_argument(struct raw_command *c, const char *data, size_t size)
{
    size_t room = sizeof c->text - c->size, at;
    at = c->size + (size_t)snprintf(c->text + c->size, room, "$%zu\r\n", size);
    (void)snprintf(c->text + at, sizeof c->text - at, "%.*s\r\n", (int)size, data);
    c->size = at + size + 2;
    return at;
}

static void put_words(struct raw_command *c, unsigned count, const char *const *words)
{
    for (unsigned i = 0; i < count; i++) (void)put_argument(c, words[i], strlen(words[i]));
}

static void begin_command(struct raw_command *c, unsigned arguments)
{
    c->size = (size_t)snprintf(c->text, sizeof c->text, "*%u\r\n", arguments);
}

static const char NO_TOKEN[] = "----------------------------------------";

static void format_acquire_with_ticket(const struct raw *r, struct raw_command *c,
                                       const struct bench_slot *slot)
{
    char ttl[16], life[16], skew[16];
    (void)snprintf(ttl, sizeof ttl, "%u", (unsigned)r->options->ttl_ms);
    (void)snprintf(life, sizeof life, "%u", (unsigned)RAW_TICKET_LIFE_MS);
    (void)snprintf(skew, sizeof skew, "%u", (unsigned)RAW_SKEW_MS);
    begin_command(c, 9);
    put_words(c, 3, (const char *const[]){ "EVALSHA", r->acquire_sha1, "1" });
    c->key_at = put_argument(c, slot->key, slot->key_size);
    c->token_at = put_argument(c, NO_TOKEN, RAW_TOKEN);
    put_words(c, 1, (const char *const[]){ ttl });
    c->ticket_at = put_argument(c, NO_TOKEN, RAW_TICKET);
    put_words(c, 2, (const char *const[]){ life, skew });
}

static void format_acquire(const struct raw *r, struct raw_command *c,
                           const struct bench_slot *slot)
{
    char ttl[16];
    (void)snprintf(ttl, sizeof ttl, "%u", (unsigned)r->options->ttl_ms);
    begin_command(c, 6);
    put_words(c, 1, (const char *const[]){ "SET" });
    c->key_at = put_argument(c, slot->key, slot->key_size);
    c->token_at = put_argument(c, NO_TOKEN, RAW_TOKEN);
    put_words(c, 3, (const char *const[]){ "NX", "PX", ttl });
}

static void format_release(const struct raw *r, struct raw_command *c,
                           const struct bench_slot *slot, bool wakes)
{
    begin_command(c, wakes ? 6 : 5);
    put_words(c, 3, (const char *const[]){ "EVALSHA", r->release_sha1, "1" });
    c->key_at = put_argument(c, slot->key, slot->key_size);
    c->token_at = put_argument(c, NO_TOKEN, RAW_TOKEN);
    if (wakes) put_words(c, 1, (const char *const[]){ "" });
}

/* The token is not random, only new. Every process begins to count somewhere else, or it would
 * release locks of the others. */
static void write_token(struct raw *r, char token[RAW_TOKEN])
{
    uint64_t mixed = ++r->token_count * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < RAW_TOKEN; i++) {
        token[i] = "0123456789abcdef"[mixed & 15];
        mixed = mixed >> 4 | mixed << 60;
    }
}

static void write_ticket(struct raw *r, char ticket[RAW_TICKET])
{
    uint64_t rest = ++r->ticket;
    for (int i = RAW_TICKET - 1; i >= 0; i--, rest /= 10) ticket[i] = (char)('0' + rest % 10);
}

static void write_key(const struct raw_operation *o, struct raw_command *c)
{
    memcpy(c->text + c->key_at, o->slot->key, o->slot->key_size);
}

/* Into the command that acquires and the one that releases. */
static void write_all(struct raw *r, struct raw_operation *o)
{
    write_token(r, o->acquire.text + o->acquire.token_at);
    memcpy(o->release.text + o->release.token_at, o->acquire.text + o->acquire.token_at, RAW_TOKEN);
    write_key(o, &o->acquire);
    write_key(o, &o->release);
    if (o->acquire.ticket_at > 0) write_ticket(r, o->acquire.text + o->acquire.ticket_at);
}

/* ---- Operations ---- */

static void send_all(struct raw *r, struct raw_operation *o, const struct raw_command *c);

static void withdraw(struct raw *r, struct raw_operation *o)
{
    memcpy(o->withdraw.text + o->withdraw.token_at, o->release.text + o->release.token_at,
           RAW_TOKEN);
    write_key(o, &o->withdraw);
    send_all(r, o, &o->withdraw);
}

static void end_operation(struct raw *r, struct raw_operation *o, bool is_won)
{
    o->is_pending = false;
    if (o->is_acquire) o->slot->won = is_won;
    r->done[(r->done_first + r->done_count++) % r->options->concurrency] = o->slot;
    if (o->is_acquire && !is_won) withdraw(r, o);
}

static void decide(struct raw *r, struct raw_operation *o)
{
    if (!o->is_pending) return;
    if (o->granted >= r->quorum)
        end_operation(r, o, true);
    else if (o->granted + o->open < r->quorum)
        end_operation(r, o, false);
}

static void begin_operation(struct raw *r, struct raw_operation *o, const struct raw_command *c)
{
    o->is_pending = true;
    o->is_acquire = c == &o->acquire;
    o->granted = 0;
    send_all(r, o, c);
    decide(r, o);       /* Without enough nodes it has ended. */
}

/* An answer, or that there will be none. */
static void take_vote(struct raw *r, struct raw_asked asked, bool is_granted)
{
    struct raw_operation *o = &r->operations[asked.operation];
    if (o->number != asked.number || !o->is_pending) return;
    o->open--;
    o->granted += is_granted;
    decide(r, o);
}

/* ---- Nodes ---- */

static struct raw_asked take_asked(struct raw_node *n)
{
    struct raw_asked asked = n->asked[n->asked_first];
    n->asked_first = (n->asked_first + 1) % RAW_ASKED_MAX;
    n->asked_count--;
    return asked;
}

static ssize_t put(const struct raw *r, struct raw_node *n, const void *data, size_t size)
{
    return n->session ? r->options->tls->send(n->session, data, size)
                      : send(n->fd, data, size, MSG_NOSIGNAL);
}

static ssize_t take(const struct raw *r, struct raw_node *n, void *data, size_t size)
{
    return n->session ? r->options->tls->receive(n->session, data, size)
                      : recv(n->fd, data, size, 0);
}

static void disconnect(const struct raw *r, struct raw_node *n)
{
    if (n->session) r->options->tls->hang_up(n->session);
    if (n->fd >= 0) (void)close(n->fd);
    n->session = NULL;
    n->fd = -1;
}

static void give_up(struct raw *r, struct raw_node *n)
{
    disconnect(r, n);
    n->out_start = n->out_end = n->in_size = 0;
    while (n->asked_count > 0) take_vote(r, take_asked(n), false);
}

/* Appends to the bytes that wait to be sent. Returns false if too much waits there already, as when
 * the node hangs; it is then not asked. */
static bool append(const struct raw *r, struct raw_node *n, const struct raw_command *c,
                   struct raw_asked asked)
{
    if (n->asked_count == RAW_ASKED_MAX || r->out_size - n->out_end < c->size) return false;
    memcpy(n->out + n->out_end, c->text, c->size);
    n->out_end += c->size;
    n->asked[(n->asked_first + n->asked_count++) % RAW_ASKED_MAX] = asked;
    return true;
}

static void send_all(struct raw *r, struct raw_operation *o, const struct raw_command *c)
{
    struct raw_asked asked = { .operation = o->slot->number, .number = ++o->number };
    o->open = 0;
    for (unsigned k = 0; k < r->options->node_count; k++) {
        struct raw_node *n = &r->nodes[k];
        o->open += n->fd >= 0 && append(r, n, c, asked);
    }
}

static void flush(struct raw *r, struct raw_node *n)
{
    ssize_t sent = put(r, n, n->out + n->out_start, n->out_end - n->out_start);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        give_up(r, n);
        return;
    }
    if (sent > 0) n->out_start += (size_t)sent;
    if (n->out_start == n->out_end) n->out_start = n->out_end = 0;
}

static void flush_all(struct raw *r)
{
    for (unsigned k = 0; k < r->options->node_count; k++)
        if (r->nodes[k].out_end > 0) flush(r, &r->nodes[k]);
}

/* The end of the answer that begins here. It is one line, except for the text with which a ticket
 * is refused. NULL: it is not all there. */
static const char *end_of_answer(const char *answer, const char *end)
{
    const char *newline = memchr(answer, '\n', (size_t)(end - answer));
    if (newline && answer[0] == '$' && answer[1] != '-')
        newline = memchr(newline + 1, '\n', (size_t)(end - newline - 1));
    return newline ? newline + 1 : NULL;
}

/* Returns the bytes that whole answers took. */
static size_t read_answers(struct raw *r, struct raw_node *n)
{
    const char *answer = n->in, *end = n->in + n->in_size, *next;
    while (n->asked_count > 0 && (next = end_of_answer(answer, end)) != NULL) {
        take_vote(r, take_asked(n),
                  answer[0] == '+' || (answer[0] == ':' && (answer[1] == '1' || answer[1] == '2')));
        answer = next;
    }
    return (size_t)(answer - n->in);
}

/* True when there may be more than fitted in, which poll does not know if it is in
 * the TLS library. */
static bool receive(struct raw *r, struct raw_node *n)
{
    size_t room = sizeof n->in - n->in_size;
    ssize_t size = take(r, n, n->in + n->in_size, room);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size <= 0) {
        give_up(r, n);
        return false;
    }
    n->in_size += (size_t)size;
    size_t used = read_answers(r, n);
    n->in_size -= used;
    memmove(n->in, n->in + used, n->in_size);
    return (size_t)size == room;
}

/* ---- Connecting. One node after the other: nothing is timed yet. ---- */

static int begin_connect(const char *host, const char *port)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    int on = 1, fd;
    if (getaddrinfo(host, port, &hints, &found) != 0) return -1;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
        (void)close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static bool wait_for(int fd, short events, uint64_t until_ns)
{
    struct pollfd polled = { .fd = fd, .events = events };
    return bench_poll(&polled, 1, until_ns) == 1 && (polled.revents & events) != 0;
}

/* Puts a script there, and keeps the SHA-1 that the node knows it by. */
static bool load_script(const struct raw *r, struct raw_node *n, const char *script,
                        char sha1[RAW_SHA1 + 1])
{
    char text[RAW_SCRIPT_MAX + 64], answer[sizeof "$40\r\n" + RAW_SHA1 + 2];
    uint64_t until_ns = bench_now_ns() + r->patience_ns;
    ssize_t got = -1;
    size_t size =
        (size_t)snprintf(text, sizeof text, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                         strlen(script), script);
    if (!wait_for(n->fd, POLLOUT, until_ns) || put(r, n, text, size) != (ssize_t)size) return false;
    errno = EAGAIN;
    while (got < 0 && errno == EAGAIN && wait_for(n->fd, POLLIN, until_ns))
        got = take(r, n, answer, sizeof answer);
    if (got < 5 + RAW_SHA1) return false;
    if (memcmp(answer, "$40\r\n", 5) != 0) return false;
    memcpy(sha1, answer + 5, RAW_SHA1);
    return true;
}

static bool load_scripts(struct raw *r, struct raw_node *n)
{
    return load_script(r, n, WIRE_RELEASE_SCRIPT, r->release_sha1) &&
           load_script(r, n, WIRE_ACQUIRE_SCRIPT, r->acquire_sha1);
}

static bool begin_tls(const struct raw *r, struct raw_node *n, const char *host)
{
    uint64_t until_ns = bench_now_ns() + (uint64_t)BENCH_CONNECT_MS * 1000000;
    if (wait_for(n->fd, POLLOUT, until_ns))
        n->session = r->options->tls->connect(r->options->tls_ca, n->fd, host, until_ns);
    return n->session != NULL;
}

/* Takes "host:port" off the list, or "rediss://host:port". */
static void connect_next(struct raw *r, struct raw_node *n, const char **list)
{
    static const char scheme[] = "rediss://";
    char node[RAW_HOST_MAX + 1], *port;
    bool is_secure = r->options->tls && strncmp(*list, scheme, sizeof scheme - 1) == 0;
    n->fd = -1;
    if (is_secure) *list += sizeof scheme - 1;
    size_t size = strcspn(*list, ",");
    (void)snprintf(node, sizeof node, "%.*s", (int)size, *list);
    *list += size + ((*list)[size] == ',');
    port = strrchr(node, ':');
    if (!port) return;
    *port++ = '\0';
    n->fd = begin_connect(node, port);
    if (n->fd >= 0 && ((is_secure && !begin_tls(r, n, node)) || !load_scripts(r, n)))
        disconnect(r, n);
}

static unsigned connect_all(struct raw *r)
{
    unsigned connected = 0;
    const char *list = r->options->nodes;
    for (unsigned k = 0; k < r->options->node_count; k++) {
        connect_next(r, &r->nodes[k], &list);
        connected += r->nodes[k].fd >= 0;
    }
    return connected;
}

/* On a busy machine a node may need longer than it may take later. */
static bool connect_quorum(struct raw *r)
{
    r->patience_ns = r->timeout_ns;
    while (connect_all(r) < r->quorum) {
        for (unsigned k = 0; k < r->options->node_count; k++)
            if (r->nodes[k].fd >= 0) disconnect(r, &r->nodes[k]);
        r->patience_ns *= 10;
        if (r->patience_ns > (uint64_t)BENCH_CONNECT_MS * 1000000) return false;
    }
    return true;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "redlock-bench: no memory\n");
        exit(1);
    }
    return memory;
}

/* ---- The client ---- */

static void raw_acquire(void *context, struct bench_slot *slot)
{
    struct raw *r = context;
    struct raw_operation *o = &r->operations[slot->number];
    if (!o->slot) {
        o->slot = slot;
        if (r->options->ticket) format_acquire_with_ticket(r, &o->acquire, slot);
        else                    format_acquire(r, &o->acquire, slot);
        format_release(r, &o->release, slot, true);
        format_release(r, &o->withdraw, slot, false);
    }
    write_all(r, o);
    begin_operation(r, o, &o->acquire);
}

static void raw_release(void *context, struct bench_slot *slot)
{
    struct raw *r = context;
    struct raw_operation *o = &r->operations[slot->number];
    begin_operation(r, o, &o->release);
}

/* True when something came. */
static bool wait_and_receive(struct raw *r, uint64_t until_ns)
{
    struct pollfd polled[BENCH_NODES_MAX];
    unsigned count = r->options->node_count;
    for (unsigned k = 0; k < count; k++)
        polled[k] = (struct pollfd){
            .fd = r->nodes[k].fd, .events = r->nodes[k].out_end > 0 ? POLLIN | POLLOUT : POLLIN
        };
    int ready = bench_poll(polled, count, until_ns);
    for (unsigned k = 0; k < count && ready > 0; k++)
        while ((polled[k].revents & ~POLLOUT) != 0 && receive(r, &r->nodes[k])) continue;
    return ready != 0;
}

/* If no node answers within the node timeout, the round fails. */
static void end_all(struct raw *r)
{
    for (unsigned i = 0; i < r->options->concurrency; i++)
        if (r->operations[i].is_pending) end_operation(r, &r->operations[i], false);
}

static struct bench_slot *raw_next(void *context, uint64_t until_ns)
{
    struct raw *r = context;
    while (r->done_count == 0) {
        flush_all(r);
        uint64_t now = bench_now_ns(), quiet_until = now + r->timeout_ns;
        if (now >= until_ns) return NULL;
        if (!wait_and_receive(r, quiet_until < until_ns ? quiet_until : until_ns) &&
            quiet_until < until_ns)
            end_all(r);
    }
    struct bench_slot *slot = r->done[r->done_first];
    r->done_first = (r->done_first + 1) % r->options->concurrency;
    r->done_count--;
    return slot;
}

static bool is_owed_answers(const struct raw *r)
{
    for (unsigned k = 0; k < r->options->node_count; k++)
        if (r->nodes[k].asked_count > 0) return true;
    return false;
}

static void raw_close(void *context)
{
    struct raw *r = context;
    do flush_all(r);
    while (is_owed_answers(r) && wait_and_receive(r, bench_now_ns() + r->timeout_ns));
    for (unsigned k = 0; k < r->options->node_count; k++) {
        disconnect(r, &r->nodes[k]);
        free(r->nodes[k].out);
    }
    free(r->nodes);
    free(r->operations);
    free(r->done);
    free(r);
}

static void *raw_open(const struct bench_options *options)
{
    struct raw *r = allocate(1, sizeof *r);
    r->options = options;
    r->timeout_ns = (uint64_t)options->node_timeout_ms * 1000000;
    r->quorum = options->node_count / 2 + 1;
    r->token_count = bench_now_ns() ^ (uint64_t)getpid() << 40;
    r->ticket = bench_wall_us();
    r->out_size = RAW_OUT_MIN + (size_t)options->concurrency * 2 * RAW_COMMAND_MAX;
    r->nodes = allocate(options->node_count, sizeof *r->nodes);
    r->operations = allocate(options->concurrency, sizeof *r->operations);
    r->done = allocate(options->concurrency, sizeof(struct bench_slot *));
    for (unsigned k = 0; k < options->node_count; k++) r->nodes[k].out = allocate(1, r->out_size);
    if (connect_quorum(r)) return r;
    fprintf(stderr, "redlock-bench: no quorum of nodes answers\n");
    raw_close(r);
    return NULL;
}

const struct bench_client bench_raw = {
    "raw", raw_open, raw_acquire, raw_release, raw_next, raw_close
};
