/* The functions of net/redlock_net.h that touch the system, played by a script in virtual time. A
 * test program that includes this defines them all, so the linker takes net_socket.c and
 * net_system.c from no archive. The shipped client thus meets model servers, and every fault that
 * the header allows.
 *
 * Time passes only in net_wait(), except that each look at the clock adds `creep_us`. Everything
 * random comes from one seed. The first breach of the contract of net/ by a caller is
 * written into net.breach.
 * Breaches are a descriptor that is used when it is not open, or closed twice, or left open; a wait
 * that nothing can end; a loop that waits and waits while nothing moves; bytes that the trace does
 * not report; a call between the two calls of around_wait.
 *
 * The nodes are called n0, n1 and so on, see net_resolve_now below. */
#ifndef SCRIPTED_NET_H
#define SCRIPTED_NET_H

#include "../../../net/redlock_net.h"
#include "../../../redlock/redlock_client.h"
#include "../../world/model_node.h"
#include "../../tap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>

enum {
    NET_NODES_MAX = 5,
    NET_HOSTS_MAX = NET_NODES_MAX + 1,  /* The last one is no node. */
    NET_LINES_MAX = 128,
    NET_DESCRIPTORS_MAX = 8192,
    NET_PIECES_MAX = 64,
    NET_ACTIONS_MAX = 16,
    NET_BUSY_MAX = 64,      /* Waits in one millisecond in which nothing moves. */
    NET_WAITS_MAX = 200000, /* Waits in one test. */
    NET_MOVED_MAX = 4096,
    NET_SESSIONS_MAX = 2 * NET_NODES_MAX
};

/* The outcome of a connection attempt. */
enum net_welcome { NET_LATER, NET_AT_ONCE, NET_REFUSES_AT_ONCE, NET_REFUSES_LATER, NET_NEVER };

/* Codes of the resolver. */
enum { NET_NO_HOST = 1, NET_NO_SERVER, NET_NO_LOOKUP };

enum net_line_state { NET_FREE, NET_CONNECTING, NET_FAILED, NET_OPEN };
enum net_piece_kind { NET_DATA, NET_FIN, NET_RESET };

struct net_piece {
    enum net_piece_kind kind;
    uint64_t at;                    /* When it arrives. */
    size_t size;
};

/* Bytes on their way. */
struct net_flow {
    struct model_bytes bytes;
    struct net_piece pieces[NET_PIECES_MAX];
    unsigned count;
    size_t sever_after;             /* The connection breaks when so many more have passed. */
};

/* A connection, which lasts until both sides have left it. */
struct net_line {
    enum net_line_state state;
    unsigned node;
    /* The error of a connection attempt or of a reset; reported once. */
    int error;
    uint64_t connects_at;
    bool refuses;                   /* It does so whatever the host does. */
    bool client_left, node_left;
    bool has_ended, is_reset;       /* The client's view, after the bytes that have arrived. */
    bool fin_waits;                 /* The client's end has come to a node that hangs. */
    struct net_flow to_node, to_client;
    struct model_bytes arrived;
    struct model_session session;
};

/* The kinds of open descriptors. */
enum net_kind_of { NET_CLOSED, NET_SOCKET, NET_SELF_PIPE, NET_SELF_PIPE_END, NET_LOOKUP };

struct net_descriptor {
    enum net_kind_of kind;
    unsigned line;                  /* The host that a look-up asks for. */
    uint64_t number;                /* No other one that was ever opened has it. */
    uint64_t known_at;              /* The time at which a look-up ends. */
};

struct net_host {
    struct model_node node;
    enum net_welcome welcome;
    bool is_down;
    uint64_t delay_us;              /* One way. */
    /* Endpoints of its name; those before the last one refuse at once. */
    unsigned endpoint_count;
    bool is_name;                   /* The name must be looked up. */
    int unresolved;                 /* The resolver's error for it; 0: the endpoints. */
    uint64_t lookup_us;             /* The duration of a look-up; UINT64_MAX: for ever. */
    unsigned lookups;               /* Look-ups that were begun. */
    unsigned address;               /* Nobody listens at any other address, see node_move. */
    /* They count for connections from now on; SIZE_MAX: they hold. */
    size_t sever_to_node, sever_to_client;
    unsigned connects;
};

struct net_action {
    uint64_t at;
    void (*act)(unsigned argument); /* NULL: done. */
    unsigned argument;
};

static struct {
    uint64_t now_us, dice, creep_us;
    unsigned node_count;
    struct net_host hosts[NET_HOSTS_MAX];
    struct net_line lines[NET_LINES_MAX];
    unsigned line_count;            /* No line from this one on was ever used. */
    struct net_descriptor descriptors[NET_DESCRIPTORS_MAX];
    int next_descriptor;            /* The next number if new_numbers is set. */
    bool has_input;                 /* Standard input is open, and the other two. */
    struct net_action actions[NET_ACTIONS_MAX];
    bool was_written;
    bool has_lookups;               /* There was one. */
    int64_t process;
    uint64_t wall_offset_us;

    /* Set when several threads are played, see scripted_thread.h. NULL: there is one. */
    /* Instead of letting time pass. */
    void (*sleeps)(struct net_wait *waits, size_t count, uint64_t until_us);
    /* At each call that is about a descriptor. */
    void (*watches)(const char *what);
    /* Instead of jumping to `escape`. */
    void (*leaves)(void);

    /* Faults. Chances are of 1000. */
    /* Each descriptor gets a new number, so a use after its end is always noticed. */
    bool new_numbers;
    size_t send_max, receive_max;   /* Bytes that one call moves; 0: any number. */
    size_t window;                  /* Bytes on their way to a node. */
    unsigned again, breaks, signals, blind, suspends, full, no_entropy;
    bool is_starved;                /* No random bytes. */
    bool is_full;                   /* No descriptor is left. */

    /* Counts of events. */
    unsigned open_count, opened, sent_count;
    uint64_t numbers, suspended_us, wait_count, entropy_count;
    uint64_t busy_since;            /* When something moved last, or a millisecond passed; */
    unsigned busy_count;            /* waits since then. */
    bool has_trace, has_around_wait, is_given_up;
    unsigned connected_sessions;    /* The trace's last report. */
    struct {
        enum redlock_traffic what;
        size_t size;
        uint8_t bytes[NET_MOVED_MAX];
    } moved[NET_SESSIONS_MAX];      /* The trace must report these next. */
    unsigned moved_first, moved_count;
    /* Looks at the clock, all and those before the last bytes came. */
    uint64_t looks, looks_before;
    char breach[200];
    jmp_buf escape;                 /* The place to leave a call that would never return. */
} net;

__attribute__((format(printf, 1, 2)))
static inline void net_break(const char *format, ...)
{
    va_list arguments;
    if (net.breach[0] != '\0') return;
    va_start(arguments, format);
    (void)vsnprintf(net.breach, sizeof net.breach, format, arguments);
    va_end(arguments);
}

static inline uint64_t net_random(void)
{
    uint64_t z = net.dice += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t net_below(uint64_t limit)
{
    return net_random() % limit;
}

static inline bool net_happens(unsigned chance)
{
    return chance > 0 && net_below(1000) < chance;
}

/* Something moved, so a thread that waits now is not spinning. */
static inline void net_moves(void)
{
    net.busy_count = 0;
    net.busy_since = net.now_us;
}

static inline void net_check_turn(const char *what)
{
    if (net.is_given_up) net_break("%s while the client is given up for a wait", what);
    if (net.watches) net.watches(what);
}

/* ---- Bytes on their way ---- */

static inline void flow_add(struct net_flow *flow, enum net_piece_kind kind, const void *data,
                            size_t size, uint64_t at)
{
    struct net_piece *last = flow->count > 0 ? &flow->pieces[flow->count - 1] : NULL;
    if (last && at < last->at) at = last->at;
    if (size > 0) model_bytes_add(&flow->bytes, data, size);
    if (last && last->kind == NET_DATA && kind == NET_DATA &&
        (last->at == at || flow->count >= NET_PIECES_MAX - 2)) {
        last->size += size;
        last->at = at;
        return;
    }
    if (flow->count < NET_PIECES_MAX)
        flow->pieces[flow->count++] = (struct net_piece){ kind, at, size };
}

/* The part that passes, since a connection may break after any byte. */
static inline void flow_pass(struct net_flow *flow, const void *data, size_t size, uint64_t at)
{
    const size_t passes = size < flow->sever_after ? size : flow->sever_after;
    if (passes > 0) flow_add(flow, NET_DATA, data, passes, at);
    if (flow->sever_after == SIZE_MAX) return;
    flow->sever_after -= passes;
    if (flow->sever_after == 0) flow_add(flow, NET_RESET, NULL, 0, at);
}

static inline struct net_piece flow_take(struct net_flow *flow)
{
    const struct net_piece piece = flow->pieces[0];
    flow->count--;
    memmove(flow->pieces, flow->pieces + 1, flow->count * sizeof flow->pieces[0]);
    return piece;
}

static inline void flow_free(struct net_flow *flow)
{
    model_bytes_free(&flow->bytes);
    *flow = (struct net_flow){ .sever_after = SIZE_MAX };
}

static inline void line_free_if_left(struct net_line *line)
{
    if (!line->client_left || !line->node_left) return;
    flow_free(&line->to_node);
    flow_free(&line->to_client);
    model_bytes_free(&line->arrived);
    *line = (struct net_line){ .state = NET_FREE };
}

static inline void line_end_of_node(struct net_line *line)
{
    if (line->node_left) return;
    model_session_end(&line->session);
    line->node_left = true;
}

static inline void line_reset(struct net_line *line)
{
    line_end_of_node(line);
    model_bytes_drop(&line->arrived, line->arrived.size);
    flow_free(&line->to_client);
    flow_free(&line->to_node);
    line->is_reset = true;
    line->error = ECONNRESET;
    net_moves();
}

/* Answers of the node to any of its sessions set out. */
static inline void host_flush(unsigned k)
{
    for (unsigned i = 0; i < net.line_count; i++) {
        struct net_line *line = &net.lines[i];
        const uint64_t at = net.now_us + net.hosts[k].delay_us;
        if (line->state != NET_OPEN || line->node != k || line->node_left) continue;
        if (line->session.out.size > 0 && !line->client_left)
            flow_pass(&line->to_client, line->session.out.data, line->session.out.size, at);
        model_bytes_drop(&line->session.out, line->session.out.size);
        if (!line->session.closing) continue;
        flow_add(&line->to_client, NET_FIN, NULL, 0, at);
        line_end_of_node(line);
        line_free_if_left(line);
    }
}

static inline void node_reads(struct net_line *line, const void *data, size_t size)
{
    struct net_host *host = &net.hosts[line->node];
    const unsigned k = line->node;
    if (!line->node_left)
        model_session_receive(&host->node, &line->session, data, size, net.now_us);
    if (host->node.breach[0] != '\0') net_break("node %u: %s", k, host->node.breach);
    host_flush(k);
}

static inline void node_gets(struct net_line *line)
{
    const struct net_piece piece = flow_take(&line->to_node);
    uint8_t *data;
    if (piece.kind == NET_RESET) {
        line_reset(line);
        line_free_if_left(line);
    } else if (piece.kind == NET_FIN && !net.hosts[line->node].node.hung) {
        line_end_of_node(line);
        line_free_if_left(line);
    } else if (piece.kind == NET_FIN) {
        line->fin_waits = true;
    } else {
        data = malloc(piece.size);
        memcpy(data, line->to_node.bytes.data, piece.size);
        model_bytes_drop(&line->to_node.bytes, piece.size);
        node_reads(line, data, piece.size);
        free(data);
    }
}

static inline void client_gets(struct net_line *line)
{
    const struct net_piece piece = flow_take(&line->to_client);
    net_moves();
    if (piece.kind == NET_FIN) {
        line->has_ended = true;
    } else if (piece.kind == NET_RESET) {
        line_reset(line);
        line_free_if_left(line);
    } else {
        model_bytes_add(&line->arrived, line->to_client.bytes.data, piece.size);
        model_bytes_drop(&line->to_client.bytes, piece.size);
    }
}

static inline void line_connects(struct net_line *line)
{
    struct net_host *host = &net.hosts[line->node];
    const bool refuses = line->refuses || host->is_down || host->welcome == NET_REFUSES_LATER ||
                         host->welcome == NET_REFUSES_AT_ONCE;
    net_moves();
    if (host->welcome == NET_NEVER && !refuses) {
        line->connects_at = UINT64_MAX;
        return;
    }
    line->state = refuses ? NET_FAILED : NET_OPEN;
    line->error = refuses ? ECONNREFUSED : 0;
    line->node_left = refuses;
    if (!refuses) model_session_begin(&host->node, &line->session);
    host_flush(line->node);
}

/* ---- Time ---- */

static inline uint64_t net_sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t net_next_event(void)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < net.line_count; i++) {
        const struct net_line *line = &net.lines[i];
        if (line->state == NET_CONNECTING) at = net_sooner(at, line->connects_at);
        if (line->to_node.count > 0) at = net_sooner(at, line->to_node.pieces[0].at);
        if (line->to_client.count > 0) at = net_sooner(at, line->to_client.pieces[0].at);
    }
    for (unsigned i = 0; i < NET_ACTIONS_MAX; i++)
        if (net.actions[i].act) at = net_sooner(at, net.actions[i].at);
    for (unsigned fd = 0; fd < NET_DESCRIPTORS_MAX && net.has_lookups; fd++) {
        const struct net_descriptor *d = &net.descriptors[fd];
        if (d->kind == NET_LOOKUP && d->known_at > net.now_us) at = net_sooner(at, d->known_at);
    }
    return at;
}

static inline void actions_happen(void)
{
    for (unsigned i = 0; i < NET_ACTIONS_MAX; i++) {
        struct net_action action = net.actions[i];
        if (!action.act || action.at > net.now_us) continue;
        net.actions[i].act = NULL;
        action.act(action.argument);
    }
}

/* Runs the events that are due by now. */
static inline void net_happen(void)
{
    while (net_next_event() <= net.now_us) {
        actions_happen();
        for (unsigned i = 0; i < net.line_count; i++) {
            struct net_line *line = &net.lines[i];
            if (line->state == NET_CONNECTING && line->connects_at <= net.now_us)
                line_connects(line);
            if (line->to_node.count > 0 && line->to_node.pieces[0].at <= net.now_us)
                node_gets(line);
            if (line->to_client.count > 0 && line->to_client.pieces[0].at <= net.now_us)
                client_gets(line);
        }
    }
}

/* Time passes for everybody but the client, which sleeps. */
static inline void net_pass(uint64_t us)
{
    const uint64_t until = net.now_us + us;
    for (uint64_t next; (next = net_next_event()) <= until;) {
        if (next > net.now_us) net.now_us = next;
        net_happen();
    }
    net.now_us = until;
}

/* At a time, once. It runs within a wait, where another thread or a signal handler would act. */
static inline void net_plan(uint64_t at, void (*act)(unsigned argument), unsigned argument)
{
    for (unsigned i = 0; i < NET_ACTIONS_MAX; i++) {
        if (net.actions[i].act) continue;
        net.actions[i] = (struct net_action){ at, act, argument };
        return;
    }
    net_break("too many actions are planned");
}

/* ---- Descriptors ---- */

static inline int descriptor_open(enum net_kind_of kind, unsigned line)
{
    int fd = net.has_input ? 3 : 0;     /* A daemon may have closed its input. */
    if (net.is_full || net_happens(net.full)) return -EMFILE;
    if (net.new_numbers) fd = net.next_descriptor++;
    while (fd < NET_DESCRIPTORS_MAX && net.descriptors[fd].kind != NET_CLOSED) fd++;
    if (fd >= NET_DESCRIPTORS_MAX) return -EMFILE;
    net.descriptors[fd] = (struct net_descriptor){
        .kind = kind, .line = line, .number = ++net.numbers
    };
    net.open_count++;
    net.opened++;
    return fd;
}

static inline struct net_descriptor *descriptor(int fd, const char *what)
{
    if (fd >= 0 && fd < NET_DESCRIPTORS_MAX && net.descriptors[fd].kind != NET_CLOSED)
        return &net.descriptors[fd];
    net_break("%s on descriptor %d, which is not open", what, fd);
    return NULL;
}

static inline struct net_line *line_of(int fd, const char *what)
{
    struct net_descriptor *d = descriptor(fd, what);
    net_check_turn(what);
    if (d && d->kind != NET_SOCKET) net_break("%s on descriptor %d, which is no socket", what, fd);
    return d && d->kind == NET_SOCKET ? &net.lines[d->line] : NULL;
}

/* The number that no other connection has; 0: none. */
static inline uint64_t net_number_of(int fd)
{
    return fd < 0 || fd >= NET_DESCRIPTORS_MAX || net.descriptors[fd].kind == NET_CLOSED
               ? 0
               : net.descriptors[fd].number;
}

/* ---- net/redlock_net.h: endpoints ---- */

/* The host nK is node K. Word 0 of an endpoint is the node, word 1 which of its endpoints, word 2
 * its address then. */
static inline void host_resolved(unsigned k, struct net_resolved *resolved)
{
    const struct net_host *host = &net.hosts[k];
    memset(resolved, 0, sizeof *resolved);
    resolved->code = host->unresolved;
    for (unsigned i = 0; host->unresolved == 0 && i < host->endpoint_count && i < NET_ENDPOINTS_MAX;
         i++) {
        struct net_endpoint *endpoint = &resolved->endpoints[resolved->count++];
        *endpoint = (struct net_endpoint){ .words = { k, i + 1, host->address }, .size = 24 };
    }
}

/* What a caller finds where nothing is set. */
static inline void host_unresolved(struct net_resolved *resolved)
{
    memset(resolved, 0xa5, sizeof *resolved);
    resolved->code = 0;
}

bool net_resolve_now(const struct net_address *address, struct net_resolved *resolved)
{
    const unsigned k = (unsigned)(address->host[1] - '0');
    host_unresolved(resolved);
    if (net.hosts[k].is_name || net.hosts[k].unresolved != 0) return false;
    host_resolved(k, resolved);
    return true;
}

int net_resolve_begin(const struct net_address *address, struct net_resolved *resolved)
{
    const unsigned k = (unsigned)(address->host[1] - '0');
    const int fd = descriptor_open(NET_LOOKUP, k);
    net_check_turn("look up");
    memset(resolved, 0, sizeof *resolved);
    resolved->code = NET_NO_LOOKUP;
    if (fd < 0) return -1;
    host_unresolved(resolved);
    net.has_lookups = true;
    net.hosts[k].lookups++;
    net.descriptors[fd].known_at =
        net.hosts[k].lookup_us == UINT64_MAX ? UINT64_MAX : net.now_us + net.hosts[k].lookup_us;
    return fd;
}

bool net_resolve_end(int fd, struct net_resolved *resolved)
{
    struct net_descriptor *d = descriptor(fd, "end of a look-up");
    net_check_turn("end of a look-up");
    if (d && d->kind != NET_LOOKUP)
        net_break("the end of a look-up on descriptor %d, which is none", fd);
    if (!d || d->known_at > net.now_us) return false;
    if (d->known_at == 0) net_break("a look-up ended twice");
    d->known_at = 0;
    net_moves();
    host_resolved(d->line, resolved);
    return true;
}

bool net_resolve_denies(int code)
{
    return code == NET_NO_HOST;
}

const char *net_resolve_text(int code)
{
    return code == NET_NO_HOST     ? "no such host"
           : code == NET_NO_LOOKUP ? "too many open files"
                                   : "the name server failed";
}

const char *net_error_text(int error)
{
    switch (error) {
    case ECONNREFUSED: return "connection refused";
    case ECONNRESET:   return "connection reset";
    case EPIPE:        return "connection broken";
    case EMFILE:       return "too many open files in this process";
    default:           return "system error";
    }
}

/* ---- net/redlock_net.h: sockets ---- */

static inline struct net_line *line_begin(unsigned k, unsigned *index)
{
    const struct net_host *host = &net.hosts[k];
    for (*index = 0; *index < NET_LINES_MAX; ++*index) {
        struct net_line *line = &net.lines[*index];
        if (line->state != NET_FREE) continue;
        *line = (struct net_line){ .state = NET_CONNECTING, .node = k, .node_left = false };
        if (*index >= net.line_count) net.line_count = *index + 1;
        line->connects_at = net.now_us + 2 * host->delay_us;
        line->to_node.sever_after = host->sever_to_node;
        line->to_client.sever_after = host->sever_to_client;
        return line;
    }
    net_break("too many connections");
    return NULL;
}

int net_connect(const struct net_endpoint *endpoint, bool *connected)
{
    const unsigned k = (unsigned)endpoint->words[0];
    struct net_host *host = &net.hosts[k];
    const bool refuses = host->is_down || host->welcome == NET_REFUSES_AT_ONCE ||
                         endpoint->words[1] < host->endpoint_count ||
                         endpoint->words[2] != host->address;
    struct net_line *line;
    unsigned index;
    int fd;
    net_check_turn("connect");
    net_moves();
    host->connects++;
    if (endpoint->size != 24 || k >= net.node_count)
        net_break("connect to what was never resolved");
    if (refuses && (host->welcome == NET_REFUSES_AT_ONCE || net_below(2) == 0))
        return -ECONNREFUSED;
    line = line_begin(k, &index);
    if (!line) return -ENOMEM;
    fd = descriptor_open(NET_SOCKET, index);
    if (fd < 0) {
        *line = (struct net_line){ .state = NET_FREE };
        return fd;
    }
    line->refuses = refuses;
    if (host->welcome == NET_AT_ONCE && !refuses) {
        line->connects_at = net.now_us;
        line_connects(line);
    }
    *connected = line->state == NET_OPEN;
    return fd;
}

int net_connect_result(int fd)
{
    struct net_line *line = line_of(fd, "connect_result");
    int error;
    net_happen();
    if (!line) return EBADF;
    if (line->state == NET_CONNECTING) return NET_PENDING;
    error = line->error;
    line->error = 0;
    return error;
}

/* The trace must report each move before anything is sent; and received bytes in the order of their
 * arrival. Sentinels are not in it. */
static inline void net_note(const struct net_line *line, enum redlock_traffic what,
                            const void *data, size_t size)
{
    net_moves();
    if (!net.has_trace || net.hosts[line->node].node.role == MODEL_SENTINEL) return;
    if (what == REDLOCK_SENT && net.moved_count > 0) net_break("bytes that moved were not traced");
    if (net.moved_count == NET_SESSIONS_MAX)
        net_break("bytes that came to all sessions were not traced");
    if (net.breach[0] != '\0') return;
    if (size > NET_MOVED_MAX) net_break("more bytes at once than the test expects");
    const unsigned at = (net.moved_first + net.moved_count++) % NET_SESSIONS_MAX;
    net.moved[at].what = what;
    net.moved[at].size = size;
    memcpy(net.moved[at].bytes, data, size < NET_MOVED_MAX ? size : NET_MOVED_MAX);
    if (what == REDLOCK_RECEIVED) net.looks_before = net.looks;
}

/* Bytes that a send may move now. Bytes that a hung node does not read fill the window. */
static inline size_t line_room(const struct net_line *line)
{
    const size_t unread = net.hosts[line->node].node.hung ? line->session.in.size : 0;
    const size_t used = line->to_node.bytes.size + unread;
    return net.window > used ? net.window - used : 0;
}

static inline bool line_breaks(struct net_line *line)
{
    if (net_happens(net.breaks)) line_reset(line);
    return line->is_reset;
}

ptrdiff_t net_send(int fd, const void *data, size_t size)
{
    struct net_line *line = line_of(fd, "send");
    size_t room;
    net_happen();
    if (size == 0) net_break("send of nothing");
    if (!line) return -EBADF;
    if (line->state == NET_CONNECTING) net_break("send before the connection stands");
    if (line->state != NET_OPEN) return -ENOTCONN;
    net.sent_count++;
    if (line_breaks(line) || line->node_left) return line->error != 0 ? -line->error : -EPIPE;
    room = line_room(line);
    if (net_happens(net.again) || room == 0) return 0;
    if (size > room) size = room;
    if (net.send_max > 0 && size > net.send_max) size = 1 + (size_t)net_below(net.send_max);
    flow_pass(&line->to_node, data, size, net.now_us + net.hosts[line->node].delay_us);
    net_note(line, REDLOCK_SENT, data, size);
    return (ptrdiff_t)size;
}

ptrdiff_t net_receive(int fd, void *data, size_t size)
{
    struct net_line *line = line_of(fd, "receive");
    net_happen();
    if (size == 0) net_break("receive of nothing");
    if (!line) return -EBADF;
    if (line->state == NET_CONNECTING) net_break("receive before the connection stands");
    if (line_breaks(line)) {
        const int error = line->error;
        line->error = 0;
        return error != 0 ? -error : NET_END;
    }
    if (line->arrived.size == 0) return line->has_ended ? NET_END : 0;
    if (net_happens(net.again)) return 0;
    if (size > line->arrived.size) size = line->arrived.size;
    if (net.receive_max > 0 && size > net.receive_max)
        size = 1 + (size_t)net_below(net.receive_max);
    memcpy(data, line->arrived.data, size);
    model_bytes_drop(&line->arrived, size);
    net_note(line, REDLOCK_RECEIVED, data, size);
    return (ptrdiff_t)size;
}

/* Bytes that were sent still arrive, and then the end. */
static inline void line_leave(struct net_line *line)
{
    line->client_left = true;
    if (line->state != NET_OPEN) line->node_left = true;
    else if (!line->node_left)
        flow_add(&line->to_node, NET_FIN, NULL, 0, net.now_us + net.hosts[line->node].delay_us);
    line_free_if_left(line);
}

void net_close(int fd)
{
    struct net_descriptor *d;
    net_check_turn("close");
    if (fd < 0) return;
    net_moves();
    d = descriptor(fd, "close");
    if (!d) return;
    if (d->kind == NET_SELF_PIPE && net_number_of(fd + 1) == d->number + 1 &&
        net.descriptors[fd + 1].kind == NET_SELF_PIPE_END)
        net_break("a self-pipe loses its reader first, so that a writer gets SIGPIPE");
    if (d->kind == NET_SOCKET) line_leave(&net.lines[d->line]);
    d->kind = NET_CLOSED;
    net.open_count--;
}

/* ---- net/redlock_net.h: waiting ---- */

static inline uint8_t socket_ready(const struct net_line *line, uint8_t events)
{
    unsigned ready = 0;
    if (line->state == NET_CONNECTING) return 0;
    if (line->state == NET_FAILED) return (uint8_t)(NET_BROKEN | events);
    if (line->arrived.size > 0 || line->has_ended || line->is_reset) ready |= NET_READ;
    if (line_room(line) > 0 || line->is_reset) ready |= NET_WRITE;
    return (uint8_t)((ready & events) | (line->is_reset ? NET_BROKEN : 0u));
}

static inline uint8_t wait_ready(const struct net_wait *wait)
{
    const struct net_descriptor *d = wait->fd < 0 ? NULL : descriptor(wait->fd, "wait");
    if (!d) return 0;
    if (d->kind == NET_SELF_PIPE) return net.was_written ? (uint8_t)(wait->events & NET_READ) : 0;
    if (d->kind == NET_LOOKUP)
        return d->known_at <= net.now_us ? (uint8_t)(wait->events & NET_READ) : 0;
    return d->kind == NET_SOCKET ? socket_ready(&net.lines[d->line], wait->events) : 0;
}

static inline int waits_ready(struct net_wait *waits, size_t count)
{
    int ready = 0;
    for (size_t i = 0; i < count; i++) {
        waits[i].ready = wait_ready(&waits[i]);
        ready += waits[i].ready != 0;
    }
    return ready;
}

/* A call that would go on for ever is left by the way that the test has opened. */
static inline void net_escape(const char *why)
{
    net_break("%s", why);
    net.is_given_up = false;
    if (net.leaves) net.leaves();
    longjmp(net.escape, 1);
}

static inline void wait_is_counted(void)
{
    if (net.now_us - net.busy_since >= 1000) net_moves();
    if (++net.busy_count > NET_BUSY_MAX)
        net_escape("a loop waits again and again while nothing moves");
    if (++net.wait_count > NET_WAITS_MAX) net_escape("a loop waits for ever");
}

static inline int wait_blind(struct net_wait *waits, size_t count, uint64_t until_us)
{
    int ready = 0;
    for (size_t i = 0; i < count; i++) {
        (void)wait_ready(&waits[i]);    /* It must be open even so. */
        waits[i].ready = waits[i].fd >= 0 ? waits[i].events : 0;
        ready += waits[i].ready != 0;
    }
    if (until_us > net.now_us) net_pass(net_sooner(until_us - net.now_us, 10000));
    return ready;
}

static inline int wait_for_events(struct net_wait *waits, size_t count, uint64_t until_us)
{
    for (;;) {
        uint64_t next;
        int ready;
        net_happen();
        ready = waits_ready(waits, count);
        if (ready > 0 || net.now_us >= until_us) return ready;
        next = net_sooner(net_next_event(), until_us);
        if (net.sleeps) {
            net.sleeps(waits, count, until_us);
            continue;
        }
        if (next == UINT64_MAX) net_escape("a wait that nothing can end");
        net.now_us = next;
    }
}

int net_wait(struct net_wait *waits, size_t count, uint64_t until_us)
{
    if (net.has_around_wait && !net.is_given_up) net_break("a wait without the calls around it");
    wait_is_counted();
    if (count > NET_WAIT_MAX) net_break("more descriptors than net_wait takes");
    if (net_happens(net.blind)) return wait_blind(waits, count, until_us);
    if (net_happens(net.suspends)) {
        const uint64_t us = 1000 + net_below(3000000);
        net.suspended_us += us;
        net_pass(us);
    }
    if (net_happens(net.signals)) {
        (void)waits_ready(waits, count);
        for (size_t i = 0; i < count; i++) waits[i].ready = 0;
        return -EINTR;
    }
    return wait_for_events(waits, count, until_us);
}

int net_self_pipe_open(int self_pipe[2])
{
    self_pipe[0] = self_pipe[1] = -1;
    if ((self_pipe[0] = descriptor_open(NET_SELF_PIPE, 0)) < 0) return -EMFILE;
    if ((self_pipe[1] = descriptor_open(NET_SELF_PIPE_END, 0)) >= 0) return 0;
    net_close(self_pipe[0]);
    self_pipe[0] = self_pipe[1] = -1;
    return -EMFILE;
}

/* Anybody may write at any time. */
void net_self_pipe_write(int fd)
{
    const struct net_descriptor *d = fd < 0 ? NULL : descriptor(fd, "ring");
    if (!d) return;
    if (d->kind != NET_SELF_PIPE_END)
        net_break("a wake-up on descriptor %d, which is no self-pipe's", fd);
    net_moves();
    net.was_written = true;
}

bool net_self_pipe_drain(int fd)
{
    const struct net_descriptor *d = fd < 0 ? NULL : descriptor(fd, "hear");
    const bool was_written = net.was_written;
    if (!d) return false;
    if (d->kind != NET_SELF_PIPE) net_break("draining descriptor %d, which is no self-pipe", fd);
    net.was_written = false;
    return was_written;
}

/* ---- net/redlock_net.h: clock, random bytes, process ---- */

uint64_t net_now_us(void)
{
    net.now_us += net.creep_us;
    net.looks++;
    return net.now_us;
}

uint64_t net_wall_us(void)
{
    return net.now_us + net.wall_offset_us;
}

bool net_entropy(void *data, size_t size)
{
    uint8_t *bytes = data;
    if (net.is_starved || net_happens(net.no_entropy)) return false;
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)net_random();
    net.entropy_count += size;
    return true;
}

int64_t net_process(void)
{
    return net.process;
}

/* ---- What the client's own calls tell ---- */

static inline void net_trace(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what,
                             const void *data, size_t size)
{
    const unsigned bit = 1u << k;
    const bool is_connected = (net.connected_sessions & bit) != 0;
    (void)context;
    if (now_us > net.now_us) net_break("the trace is ahead of the clock");
    if (what == REDLOCK_CONNECTED && is_connected) net_break("session %u is connected twice", k);
    if (what != REDLOCK_CONNECTED && what != REDLOCK_DISCONNECTED && !is_connected)
        net_break("bytes without a connection");
    if (what == REDLOCK_CONNECTED) net.connected_sessions |= bit;
    if (what == REDLOCK_DISCONNECTED) net.connected_sessions &= ~bit;
    if (what == REDLOCK_CONNECTED || what == REDLOCK_DISCONNECTED) return;
    if (net.moved_count == 0 || what != net.moved[net.moved_first].what ||
        size != net.moved[net.moved_first].size ||
        memcmp(data, net.moved[net.moved_first].bytes, size) != 0)
        net_break("the trace tells of other bytes than those that moved");
    /* S2: one look when the last of them had come, before the first was judged; the other is the
     * trace's own. */
    if (what == REDLOCK_RECEIVED && net.looks - net.looks_before < 2)
        net_break("bytes were judged by an older time");
    if (net.moved_count > 0) net.moved_count--;
    net.moved_first = (net.moved_first + 1) % NET_SESSIONS_MAX;
}

static inline void net_around_wait(void *context, bool is_before)
{
    (void)context;
    if (net.is_given_up == is_before) net_break("the calls around a wait are not in pairs");
    net.is_given_up = is_before;
}

/* ---- What tests do to the world ---- */

static inline void net_end_world(void)
{
    for (unsigned i = 0; i < net.line_count; i++) {
        struct net_line *line = &net.lines[i];
        if (line->state == NET_OPEN) line_end_of_node(line);
        line->client_left = line->node_left = true;
        if (line->state != NET_FREE) line_free_if_left(line);
    }
    for (unsigned k = 0; k < net.node_count; k++) model_node_free(&net.hosts[k].node);
}

static inline void net_begin_world(unsigned node_count, uint64_t seed)
{
    net_end_world();
    memset(&net, 0, sizeof net);
    net.node_count = node_count;
    net.dice = seed;
    net.now_us = 100000000000 + seed % 1000;
    net.wall_offset_us = 1790000000000000;
    net.window = 65536;
    net.process = 4711;
    net.next_descriptor = 3;
    for (unsigned k = 0; k < node_count; k++) {
        struct net_host *host = &net.hosts[k];
        model_node_init(&host->node, k + 1, 0);
        host->node.wall_offset_us = (int64_t)net.wall_offset_us;
        host->delay_us = 100;
        host->endpoint_count = 1;
        host->sever_to_node = host->sever_to_client = SIZE_MAX;
    }
}

/* SIGSTOP and SIGCONT. */
static inline void node_hang(unsigned k)
{
    net.hosts[k].node.hung = true;
}

static inline void node_wake(unsigned k)
{
    net.hosts[k].node.hung = false;
    for (unsigned i = 0; i < net.line_count; i++) {
        struct net_line *line = &net.lines[i];
        if (line->state != NET_OPEN || line->node != k || line->node_left) continue;
        node_reads(line, NULL, 0);
        if (line->state != NET_OPEN || !line->fin_waits) continue;
        line_end_of_node(line);
        line_free_if_left(line);
    }
}

/* The process ends. Its connections break, and new ones are refused. */
static inline void node_kill(unsigned k)
{
    net.hosts[k].is_down = true;
    for (unsigned i = 0; i < net.line_count; i++) {
        struct net_line *line = &net.lines[i];
        if (line->node != k || line->state != NET_OPEN) continue;
        line_reset(line);
        line_free_if_left(line);
    }
}

static inline void node_start(unsigned k)
{
    net.hosts[k].is_down = false;
}

/* Another server, which has nothing, is there in its place, at another address. */
static inline void node_move(unsigned k)
{
    node_kill(k);
    node_start(k);
    net.hosts[k].address++;
    model_node_restart(&net.hosts[k].node, 100 * net.hosts[k].address + k, false, net.now_us);
}

/* All connections to the node break; new ones may be made. */
static inline void node_cut(unsigned k)
{
    node_kill(k);
    node_start(k);
}

#endif
