/* The client: a transport, sockets if not another one, under the engine. The event-loop face is one step that does whatever can be
 * done without waiting; the blocking face is a loop of steps and waits. */
#include "redlock_client.h"

#include "../net/redlock_net.h"
#include "../net/redlock_transport.h"

#include <limits.h>
#include <string.h>

enum { SESSIONS_MAX = REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true) };

NET_STATIC_ASSERT(sizeof(struct net_endpoint) <= sizeof(((struct redlock_target *)0)->endpoints[0]), "an endpoint must fit");
NET_STATIC_ASSERT((int)REDLOCK_ENDPOINTS_MAX == (int)NET_ENDPOINTS_MAX, "net/ says how many are sensible");
NET_STATIC_ASSERT((int)REDLOCK_ADDRESS_MAX >= (int)NET_ADDRESS_TEXT_SIZE, "an address in words must fit");
NET_STATIC_ASSERT((int)SESSIONS_MAX + 1 <= (int)NET_WAIT_MAX, "all sessions and the self-pipe are waited for at once");
NET_STATIC_ASSERT((int)SESSIONS_MAX <= (int)sizeof(unsigned) * CHAR_BIT, "a bit says which session is ready");
NET_STATIC_ASSERT(sizeof(((struct redlock_target *)0)->user) > NET_USER_MAX &&
                  sizeof(((struct redlock_target *)0)->password) > NET_PASSWORD_MAX, "user and password must fit");
NET_STATIC_ASSERT((int)REDLOCK_READ == (int)REDLOCK_TRANSPORT_READ && (int)REDLOCK_WRITE == (int)REDLOCK_TRANSPORT_WRITE &&
                  (int)NET_READ == (int)REDLOCK_READ && (int)NET_WRITE == (int)REDLOCK_WRITE, "one set of bits for all floors");
NET_STATIC_ASSERT((int)NET_END == (int)REDLOCK_TRANSPORT_END && (int)NET_PENDING == (int)REDLOCK_TRANSPORT_PENDING,
                  "sockets answer as any transport does");

/* Of the name to which a session connects. */
enum name_state {
    NAME_IDLE,          /* Nobody looks it up. */
    NAME_AWAITED,       /* The connection waits for its address, */
    NAME_LATE,          /* or did so in vain; the look-up goes on, and the next connection may use an older address. */
    NAME_KNOWN          /* It was looked up when no connection waited any longer: for the next one, if that is soon. */
};

enum {
    POLL_SLICE_MS = 1000,   /* poll() does not count the time for which the machine sleeps, redlock_now_us() does. */
    NAME_PART = 10,         /* A connection waits for its name until a tenth of the node's timeout is left, to say why. */
    NAME_KNOWN_US = 5000000,    /* The longest pause between two connections is shorter. */
    FEED_PAUSE_US = 100000, /* When the system gave no random bytes: how long until it is asked again. */
    QUIET_US = 100000,      /* After so long without a step, connections are looked at before they are used. */
    RECEIVES_MAX = 16       /* In one step from one node: a node that floods us must not keep us from the others (S16). */
};

/* Where session k leads. */
static const struct redlock_target *target_of(const struct redlock_client *c, unsigned k)
{
    return &c->targets[k % redlock_nodes(&c->engine)];
}

/* ---- Sockets, as a transport whose context is the client ---- */

static int begin_socket(void *context, unsigned k, const struct redlock_peer *peer, bool *connected)
{
    struct net_endpoint endpoint = { .size = (uint32_t)peer->endpoint_size };

    (void)context, (void)k;
    memcpy(endpoint.words, peer->endpoint, peer->endpoint_size);
    return net_connect(&endpoint, connected);
}

static int finish_socket(void *context, unsigned k)
{
    return net_connect_result(((const struct redlock_client *)context)->sockets[k].fd);
}

static ptrdiff_t send_to_socket(void *context, unsigned k, const void *data, size_t size)
{
    return net_send(((const struct redlock_client *)context)->sockets[k].fd, data, size);
}

static ptrdiff_t receive_from_socket(void *context, unsigned k, void *data, size_t size)
{
    return net_receive(((const struct redlock_client *)context)->sockets[k].fd, data, size);
}

/* What a socket does when it is closed is enough. */
static void hang_up_socket(void *context, unsigned k, bool silently)
{
    (void)context, (void)k, (void)silently;
}

static void close_socket(void *context, unsigned k, int fd)
{
    (void)context, (void)k;
    net_close(fd);
}

static const struct redlock_transport SOCKETS = {
    .has_addresses = true, .connect = begin_socket, .finish = finish_socket, .send = send_to_socket, .receive = receive_from_socket,
    .hang_up = hang_up_socket, .discard = close_socket
};

/* ---- The connection of one session ---- */

/* The one to call for session k, and with what. */
static const struct redlock_transport *transport_of(const struct redlock_client *c, unsigned k)
{
    return c->transports[target_of(c, k)->is_secure];
}

static void *context_of(const struct redlock_client *c, unsigned k)
{
    return c->transport_contexts[target_of(c, k)->is_secure];
}

/* What session k waits for, a set of REDLOCK_TRANSPORT_ bits. It has a descriptor. */
static unsigned transport_events(const struct redlock_client *c, unsigned k)
{
    const struct redlock_transport *transport = transport_of(c, k);
    unsigned wants = redlock_wants(&c->engine, k), wanted = REDLOCK_WRITE;

    if (!c->sockets[k].connecting)
        wanted = (wants & REDLOCK_WANT_RECEIVE ? REDLOCK_READ : 0u) | (wants & REDLOCK_WANT_SEND ? REDLOCK_WRITE : 0u);
    return transport->events && wanted != 0 ? transport->events(context_of(c, k), k, wanted) : wanted;
}

/* Is there something to be done of which no descriptor tells? */
static bool is_at_hand(const struct redlock_client *c, unsigned k)
{
    return transport_of(c, k)->events && c->sockets[k].fd >= 0 && (transport_events(c, k) & REDLOCK_TRANSPORT_AT_HAND);
}

static void trace_traffic(struct redlock_client *c, unsigned k, enum redlock_traffic what, const void *data, size_t size)
{
    if (c->trace) c->trace(c->trace_context, redlock_now_us(), k, what, data, size);
}

/* Takes a session's descriptor away. It stays open until the step ends, so that no new one gets its number: a loop that compares
 * numbers would go on waiting for the old connection. A second one within a step was seen by no loop. */
static void retire_lookup(struct redlock_socket *socket)
{
    if (socket->dropped >= 0) {
        net_close(socket->lookup);
    } else {
        socket->dropped = socket->lookup;
        socket->dropped_lookup = true;
    }
}

static void close_dropped(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];

    if (socket->dropped_lookup)    net_close(socket->dropped);
    else if (socket->dropped >= 0) transport_of(c, k)->discard(context_of(c, k), k, socket->dropped);
    socket->dropped = -1;
    socket->dropped_lookup = false;
}

static void drop_connection(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];

    if (socket->fd < 0) return;
    transport_of(c, k)->hang_up(context_of(c, k), k, false);
    if (socket->dropped >= 0) transport_of(c, k)->discard(context_of(c, k), k, socket->fd);
    else                      socket->dropped = socket->fd;
    socket->fd = -1;
    socket->connecting = false;
}

/* Tells the engine and the trace that session k has no connection. why NULL: see redlock_disconnected. */
static void end_connection(struct redlock_client *c, unsigned k, const char *why)
{
    char words[REDLOCK_ERROR_MAX + 32];
    uint64_t now = redlock_now_us();

    drop_connection(c, k);
    if (c->sockets[k].name_state == NAME_AWAITED) c->sockets[k].name_state = NAME_LATE;
    redlock_disconnected(&c->engine, k, why, now);
    if (!c->trace) return;
    redlock_describe_node(&c->engine, k, now, words, sizeof words);
    trace_traffic(c, k, REDLOCK_DISCONNECTED, words, strlen(words));
}

/* An error in words. NULL: the node closed, as it may. */
static const char *words_for(const struct redlock_client *c, unsigned k, int error)
{
    const struct redlock_transport *transport = transport_of(c, k);
    const char *text = NULL;

    if (error == -REDLOCK_TRANSPORT_END) return NULL;
    if (transport->error_text) text = transport->error_text(context_of(c, k), k, error);
    return text ? text : net_error_text(error);
}

static void report_connected(struct redlock_client *c, unsigned k)
{
    c->sockets[k].connecting = false;
    redlock_connected(&c->engine, k, redlock_now_us());
    trace_traffic(c, k, REDLOCK_CONNECTED, target_of(c, k)->address, strlen(target_of(c, k)->address));
}

/* Begins to connect to one address of the node. Returns a descriptor, or -errno. */
static int connect_to(struct redlock_client *c, unsigned k, const uint64_t *endpoint, bool *connected)
{
    const struct redlock_target *target = target_of(c, k);
    struct redlock_peer peer = { .node = k % redlock_nodes(&c->engine), .address = target->address };
    struct net_endpoint copy;
    struct net_address address;
    struct net_error error;

    NET_CHECK(net_parse_address(target->address, strlen(target->address), REDLOCK_PORT, &address, &error));
    memcpy(&copy, endpoint, sizeof copy);
    peer.host = address.host;
    peer.endpoint = copy.size > 0 ? copy.words : NULL;
    peer.endpoint_size = copy.size;
    *connected = false;
    return transport_of(c, k)->connect(context_of(c, k), k, &peer, connected);
}

/* Tries the addresses of the node in turn, each once, until one does not fail at once. why: what became of the last one. */
static void connect_next(struct redlock_client *c, unsigned k, const char *why)
{
    struct redlock_socket *socket = &c->sockets[k];
    const struct redlock_target *target = target_of(c, k);

    while (socket->endpoints_failed < target->endpoint_count) {
        bool connected;
        int fd = connect_to(c, k, target->endpoints[socket->endpoint_next % target->endpoint_count], &connected);

        socket->endpoint_next = (uint8_t)((socket->endpoint_next + 1) % target->endpoint_count);
        socket->endpoints_failed++;
        if (fd >= 0) {
            socket->fd = fd;
            socket->connecting = true;
            if (connected) report_connected(c, k);
            return;
        }
        why = words_for(c, k, -fd);
    }
    end_connection(c, k, target->endpoint_count == 0 ? target->unresolved : why);
}

/* ---- Names ---- */

/* An older address stays when nothing is said of the name: a name server that is down must not cost a node that is up. */
static void note_addresses(struct redlock_target *target, const struct net_resolved *resolved)
{
    bool is_told = resolved->code == 0 || net_resolve_denies(resolved->code);

    target->unresolved = net_resolve_text(resolved->code);
    if (!is_told && target->endpoint_count > 0) return;
    target->endpoint_count = (uint8_t)resolved->count;
    for (size_t i = 0; i < resolved->count; i++)
        memcpy(target->endpoints[i], &resolved->endpoints[i], sizeof resolved->endpoints[i]);
}

/* From the address in words, which has no password. */
static void look_up(struct redlock_client *c, unsigned k)
{
    struct redlock_target *target = &c->targets[k % redlock_nodes(&c->engine)];
    struct redlock_socket *socket = &c->sockets[k];
    struct net_resolved resolved;
    struct net_address address;
    struct net_error error;

    NET_CHECK(net_parse_address(target->address, strlen(target->address), REDLOCK_PORT, &address, &error));
    socket->lookup = net_resolve_begin(&address, &resolved);
    if (socket->lookup < 0) note_addresses(target, &resolved);
}

/* S11: a name is looked up for each connection, so that a server in another one's place is found, and known by its run_id. */
static void begin_connecting(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];
    const struct redlock_target *target = target_of(c, k);
    bool is_late = socket->name_state == NAME_LATE, is_known;
    uint64_t now = redlock_now_us();

    socket->endpoints_failed = 0;
    is_known = socket->name_state == NAME_KNOWN && now < socket->late_at;
    if (!is_late) socket->name_state = NAME_IDLE;
    if (target->is_name && !is_late && !is_known) look_up(c, k);
    if (socket->lookup < 0 || (is_late && target->endpoint_count > 0)) {
        connect_next(c, k, NULL);
        return;
    }
    socket->name_state = NAME_AWAITED;
    socket->late_at = now + c->name_wait_us;
}

/* Is a connection wanted that waits for its name? The engine may have given it up meanwhile, in a tick of the caller's. */
static bool awaits_name(const struct redlock_client *c, unsigned k)
{
    return c->sockets[k].name_state == NAME_AWAITED && (redlock_wants(&c->engine, k) & REDLOCK_WANT_CONNECT);
}

/* Is the name looked up by now? */
static void finish_lookup(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];
    struct net_resolved resolved;
    bool is_awaited = awaits_name(c, k);
    uint64_t now = redlock_now_us();

    if (!net_resolve_end(socket->lookup, &resolved)) {
        if (is_awaited && now >= socket->late_at) end_connection(c, k, "the name server is slow, or does not answer");
        return;
    }
    note_addresses(&c->targets[k % redlock_nodes(&c->engine)], &resolved);
    if (socket->fd >= 0) net_close(socket->lookup);     /* What a loop sees is the connection, which may yet end in this step. */
    else                 retire_lookup(socket);
    socket->lookup = -1;
    socket->name_state = socket->fd >= 0 || is_awaited ? NAME_IDLE : NAME_KNOWN;
    socket->late_at = now + NAME_KNOWN_US;
    if (is_awaited) connect_next(c, k, NULL);
}

/* ---- Bytes ---- */

/* Has a connection that was begun come to something? Unless the engine has given it up meanwhile, in a tick of the caller's. */
static void finish_connecting(struct redlock_client *c, unsigned k)
{
    int error = transport_of(c, k)->finish(context_of(c, k), k);

    if (!(redlock_wants(&c->engine, k) & REDLOCK_WANT_CONNECT)) return;
    if (error == 0) {
        report_connected(c, k);
    } else if (error != REDLOCK_TRANSPORT_PENDING) {
        const char *why = words_for(c, k, error);
        drop_connection(c, k);
        connect_next(c, k, why);
    }
}

/* What one call has received on one session. */
struct arrival {
    const uint8_t *data;
    ptrdiff_t size;         /* As the transport says; 0 if the session wants nothing. */
    bool may_be_more;       /* Otherwise poll() or the transport will tell. */
};

static struct arrival receive_bytes(struct redlock_client *c, unsigned k)
{
    struct arrival arrival = { 0 };
    uint8_t *data;
    size_t room;

    if (!(redlock_wants(&c->engine, k) & REDLOCK_WANT_RECEIVE)) return arrival;
    data = redlock_input(&c->engine, k, &room);
    arrival.data = data;
    arrival.size = transport_of(c, k)->receive(context_of(c, k), k, data, room);
    arrival.may_be_more = arrival.size > 0 && ((size_t)arrival.size == room || is_at_hand(c, k));
    return arrival;
}

/* S2: the time was read after the bytes had come. */
static void hand_over(struct redlock_client *c, unsigned k, const struct arrival *arrival, uint64_t now_us)
{
    if (arrival->size < 0) end_connection(c, k, words_for(c, k, (int)-arrival->size));
    if (arrival->size <= 0) return;
    redlock_received(&c->engine, k, (size_t)arrival->size, now_us);
    trace_traffic(c, k, REDLOCK_RECEIVED, arrival->data, (size_t)arrival->size);
}

/* What else has come on session k. */
static void receive_rest(struct redlock_client *c, unsigned k, unsigned count)
{
    struct arrival arrival = { .may_be_more = true };

    while (count-- > 0 && arrival.may_be_more) {
        arrival = receive_bytes(c, k);
        if (arrival.size != 0) hand_over(c, k, &arrival, redlock_now_us());
    }
}

/* One look at the clock serves all that has come to sessions with a connection. True: the engine has read something, so it
 * knows what time it is. */
static bool receive_all(struct redlock_client *c, unsigned ready)
{
    struct arrival arrivals[SESSIONS_MAX];
    bool came = false;
    uint64_t now;

    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++) {
        arrivals[k] = ready >> k & 1 ? receive_bytes(c, k) : (struct arrival){ 0 };
        came |= arrivals[k].size != 0;
    }
    if (!came) return false;
    now = redlock_now_us();
    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++)
        if (arrivals[k].size > 0) hand_over(c, k, &arrivals[k], now);
    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++) {       /* Each of these looks at the clock anew. */
        if (arrivals[k].size < 0) hand_over(c, k, &arrivals[k], now);
        if (arrivals[k].may_be_more) receive_rest(c, k, RECEIVES_MAX - 1);
    }
    return true;
}

/* A server that turns us away says why and closes, so that what we send fails: its words count, if there are any. */
static void send_output(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];

    while (redlock_wants(&c->engine, k) & REDLOCK_WANT_SEND) {
        size_t size;
        const uint8_t *data = redlock_output(&c->engine, k, &size);
        ptrdiff_t taken = size > 0 ? transport_of(c, k)->send(context_of(c, k), k, data, size) : 0;

        if (taken < 0) receive_rest(c, k, RECEIVES_MAX);
        if (taken < 0 && socket->fd >= 0) end_connection(c, k, words_for(c, k, (int)-taken));
        if (taken <= 0) return;
        trace_traffic(c, k, REDLOCK_SENT, data, (size_t)taken);
        redlock_sent(&c->engine, k, (size_t)taken);
        if ((size_t)taken < size) return;
    }
}

/* Does for session k what the engine wants and what needs no waiting, but for receiving. */
static void serve_session(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];
    unsigned wants = redlock_wants(&c->engine, k);

    if (wants & REDLOCK_WANT_CLOSE) end_connection(c, k, NULL);
    if ((wants & REDLOCK_WANT_CONNECT) && socket->fd < 0 && socket->name_state != NAME_AWAITED) begin_connecting(c, k);
    if (socket->fd >= 0 && !socket->connecting) send_output(c, k);
}

/* ---- Event-loop face ---- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Gives the engine the random bytes that it wants. */
static enum redlock_status add_entropy(struct redlock_client *c)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];
    size_t wanted = redlock_entropy_wanted(&c->engine);
    uint64_t now;

    if (wanted == 0) return REDLOCK_OK;
    now = redlock_now_us();
    if (now < c->feed_at) return REDLOCK_NO_ENTROPY;
    if (!net_entropy(bytes, wanted)) {
        c->feed_at = now + FEED_PAUSE_US;
        return REDLOCK_NO_ENTROPY;
    }
    redlock_add_entropy(&c->engine, bytes, wanted);
    net_wipe(bytes, wanted);
    return REDLOCK_OK;
}

/* Does what is due, until no attempt waits for random bytes. */
static enum redlock_status tick_engine(struct redlock_client *c, uint64_t now_us)
{
    enum redlock_status status;

    do {
        status = add_entropy(c);
        redlock_tick(&c->engine, now_us);
        redlock_tend_durable(&c->durable);
    } while (status == REDLOCK_OK && redlock_entropy_wanted(&c->engine) > 0);
    return status;
}

/* Does what is due at that time, which the engine knows, or has come since. */
static enum redlock_status act_on_time(struct redlock_client *c, uint64_t now_us)
{
    enum redlock_status status = tick_engine(c, now_us);

    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++) serve_session(c, k);
    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++) close_dropped(c, k);
    c->stepped_at = redlock_time_us(&c->engine);
    return status;
}

/* First what has come, then what time demands: a client that slept finds the answers before the deadlines. */
static enum redlock_status step_client(struct redlock_client *c, unsigned ready)
{
    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++) {
        bool connects;
        if (is_at_hand(c, k)) ready |= 1u << k;
        if (c->sockets[k].lookup >= 0) finish_lookup(c, k);
        connects = c->sockets[k].connecting;
        if (connects && (ready >> k & 1)) finish_connecting(c, k);
        if (connects || c->sockets[k].fd < 0) ready &= ~(1u << k);
    }
    return act_on_time(c, receive_all(c, ready) ? redlock_time_us(&c->engine) : redlock_now_us());
}

/* After a fork the sockets are the parent's, and the random bytes at hand would make the same tokens twice (S6). */
bool redlock_is_forked(const struct redlock_client *c)
{
    return c->owner != 0 && net_process() != c->owner;
}

/* NOT_OPEN, FORKED, or OK. */
static enum redlock_status check_open(const struct redlock_client *c)
{
    if (c->owner == 0) return REDLOCK_NOT_OPEN;
    return redlock_is_forked(c) ? REDLOCK_FORKED : REDLOCK_OK;
}

enum redlock_status redlock_step_ready(struct redlock_client *c, unsigned ready)
{
    enum redlock_status status = check_open(c);

    return status == REDLOCK_OK ? step_client(c, ready) : status;
}

enum redlock_status redlock_step(struct redlock_client *c)
{
    return redlock_step_ready(c, UINT_MAX);
}

struct redlock *redlock_engine(struct redlock_client *c)
{
    return &c->engine;
}

int redlock_fd(const struct redlock_client *c, unsigned k)
{
    return c->sockets[k].fd >= 0 ? c->sockets[k].fd : c->sockets[k].lookup;
}

unsigned redlock_events(const struct redlock_client *c, unsigned k)
{
    if (c->sockets[k].fd < 0) return c->sockets[k].lookup >= 0 ? REDLOCK_READ : 0;
    return transport_events(c, k) & (REDLOCK_READ | REDLOCK_WRITE);
}

uint64_t redlock_now_us(void)
{
    return net_now_us();
}

uint64_t redlock_wall_us(void)
{
    return net_wall_us();
}

/* When there is something to be done that no descriptor will tell of. */
static uint64_t wake_at(const struct redlock_client *c)
{
    uint64_t at = redlock_wake_at(&c->engine);

    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++) {
        if (awaits_name(c, k)) at = sooner(at, c->sockets[k].late_at);
        if (is_at_hand(c, k)) at = 0;
    }
    return redlock_entropy_wanted(&c->engine) > 0 ? sooner(at, c->feed_at) : at;
}

/* Is there such a thing now? */
static bool has_work(const struct redlock_client *c)
{
    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++) {
        unsigned wants = redlock_wants(&c->engine, k);
        bool is_begun = c->sockets[k].fd >= 0 || c->sockets[k].name_state == NAME_AWAITED;
        if ((wants & REDLOCK_WANT_CLOSE) || ((wants & REDLOCK_WANT_CONNECT) && !is_begun)) return true;
    }
    return false;
}

int redlock_poll_ms(const struct redlock_client *c)
{
    uint64_t at = wake_at(c), now = redlock_now_us();

    if (has_work(c)) return 0;
    if (at == REDLOCK_NEVER) return -1;
    if (at <= now) return 0;
    return at - now >= (uint64_t)POLL_SLICE_MS * 1000 ? POLL_SLICE_MS : (int)((at - now + 999) / 1000);
}

/* ---- Opening and closing ---- */

void redlock_options_init(struct redlock_options *options)
{
    *options = (struct redlock_options){ 0 };
    redlock_config_init(&options->engine);
    options->engine.wake_ups = true;
}

static size_t skip_blanks(const char *list, size_t at)
{
    return at + strspn(list + at, " \t\n\r");
}

/* The next entry of a list that begins behind the one that ended at *at (0: the first); false at the end of the list. Its size is
 * 0 where a comma has nothing before or behind it: an entry that got lost would make the quorum smaller (S1). */
static bool next_entry(const char *list, size_t *at, size_t *size)
{
    size_t begin = skip_blanks(list, *at);
    bool has_comma = *at > 0 && list[begin] == ',';

    *at = has_comma ? skip_blanks(list, begin + 1) : begin;
    *size = strcspn(list + *at, ", \t\n\r");
    return *size > 0 || has_comma || list[*at] == ',';
}

static void append_text(struct redlock_mistake *mistake, const char *text)
{
    size_t used = strlen(mistake->text), room = sizeof mistake->text - 1 - used, size = strlen(text);

    memcpy(mistake->text + used, text, size < room ? size : room);
}

static enum redlock_status explain_mistake(struct redlock_mistake *mistake, enum redlock_status status, unsigned k, size_t at,
                                           const char *text)
{
    if (!mistake) return status;
    *mistake = (struct redlock_mistake){ .node = k, .at = at };
    append_text(mistake, text);
    return status;
}

/* A transport without addresses is given one endpoint to connect to, which says nothing. */
static void note_endpoints(struct redlock_target *target, const struct net_address *address,
                           const struct redlock_transport *transport)
{
    struct net_resolved resolved = { .count = 1 };

    target->is_name = transport->has_addresses && !net_resolve_now(address, &resolved);
    if (!target->is_name) note_addresses(target, &resolved);
}

/* Where node k is and how to log in there, from its address and, where that does not say, from the options. */
static struct redlock_login note_target(struct redlock_target *target, const struct net_address *address,
                                        const struct redlock_transport *transport, const struct redlock_options *options)
{
    struct redlock_login login = { .user = options->user, .password = options->password,
                                   .database = address->database & INT32_MAX, .durable = address->durable };

    net_format_address(address, target->address, sizeof target->address);
    target->is_secure = address->secure;
    note_endpoints(target, address, transport);
    if (address->has_password) {
        memcpy(target->user, address->user, sizeof address->user);
        memcpy(target->password, address->password, sizeof address->password);
        login.user = target->user[0] != '\0' ? target->user : NULL;
        login.password = target->password;
    }
    return login;
}

/* What asks for TLS never gets anything else. (A literal: the commands say the same, and it is there once.) */
#define WITHOUT_TLS "there is no TLS here: 'make TLS=openssl' or TLS=mbedtls builds it in"

static enum redlock_status read_nodes(struct redlock_client *c, const char *nodes, const struct redlock_options *options,
                                      struct redlock_login *logins, unsigned *count, struct redlock_mistake *mistake)
{
    size_t size;

    *count = 0;
    for (size_t at = 0; next_entry(nodes, &at, &size); at += size) {
        struct net_address address;
        struct net_error error;

        if (!net_parse_address(nodes + at, size, REDLOCK_PORT, &address, &error))
            return explain_mistake(mistake, REDLOCK_BAD_ADDRESS, *count, at + error.at, error.text);
        if (*count == REDLOCK_NODES_MAX || !c->transports[address.secure]) {
            net_wipe(&address, sizeof address);
            if (*count == REDLOCK_NODES_MAX) return REDLOCK_BAD_NODE_COUNT;
            return explain_mistake(mistake, REDLOCK_BAD_ADDRESS, *count, at, WITHOUT_TLS);
        }
        logins[*count] = note_target(&c->targets[*count], &address, c->transports[address.secure], options);
        net_wipe(&address, sizeof address);
        (*count)++;
    }
    return REDLOCK_OK;
}

static enum redlock_status set_logins(struct redlock_client *c, const struct redlock_login *logins,
                                      struct redlock_mistake *mistake)
{
    for (unsigned k = 0; k < redlock_nodes(&c->engine); k++)
        if (redlock_set_login(&c->engine, k, &logins[k]) != REDLOCK_OK)
            return explain_mistake(mistake, REDLOCK_BAD_CONFIG, k, 0,
                                   "a user needs a password, and both together have at most 512 bytes and fit in the send buffer");
    return REDLOCK_OK;
}

/* A client that is not open has no descriptors; 0 would be one. */
static void clear_client(struct redlock_client *c)
{
    memset(c, 0, sizeof *c);
    for (unsigned k = 0; k < SESSIONS_MAX; k++) c->sockets[k].fd = c->sockets[k].dropped = c->sockets[k].lookup = -1;
    c->self_pipe[0] = c->self_pipe[1] = -1;
}

static void use_all_features(struct redlock *engine)
{
    redlock_use_tickets(engine);
    redlock_use_sets(engine);
    redlock_use_restore(engine);
    redlock_use_wake_ups(engine);
    redlock_use_copies(engine);
}

/* Of which at least one login is. */
static void use_durable(struct redlock_client *c, const struct redlock_login *logins)
{
    bool is_any = false;

    for (unsigned k = 0; k < redlock_nodes(&c->engine); k++) is_any |= logins[k].durable;
    if (is_any) redlock_use_durable(&c->engine, &c->durable);
}

static void use_transports(struct redlock_client *c, const struct redlock_options *options)
{
    c->transports[0] = options->transport ? options->transport : &SOCKETS;
    c->transport_contexts[0] = options->transport ? options->transport_context : c;
    c->transports[1] = options->secure_transport;
    c->transport_contexts[1] = options->secure_context;
}

static enum redlock_status use_holder(struct redlock_client *c, const char *holder, struct redlock_mistake *mistake)
{
    size_t size = strlen(holder);

    if (size <= REDLOCK_HOLDER_MAX) memcpy(c->holder, holder, size + 1);
    if (size <= REDLOCK_HOLDER_MAX && redlock_use_holder(&c->engine, c->holder) == REDLOCK_OK) return REDLOCK_OK;
    return explain_mistake(mistake, REDLOCK_BAD_CONFIG, 0, 0,
                           "a holder's name has 1 to 63 bytes, none of them a control character");
}

enum redlock_status redlock_open(struct redlock_client *c, const char *nodes, const struct redlock_options *options,
                                 struct redlock_mistake *mistake)
{
    struct redlock_login logins[REDLOCK_NODES_MAX] = { { .user = NULL } };
    struct redlock_options defaults;
    enum redlock_status status;
    unsigned count;

    redlock_options_init(&defaults);
    if (!options) options = &defaults;
    if (c->owner != 0 && !redlock_is_forked(c)) return REDLOCK_ALREADY_OPEN;
    clear_client(c);
    c->owner = net_process();
    c->trace = options->trace;
    c->trace_context = options->trace_context;
    c->around_wait = options->around_wait;
    c->wait_context = options->wait_context;
    use_transports(c, options);
    c->name_wait_us = (uint64_t)options->engine.node_timeout_ms * (1000 - 1000 / NAME_PART);
    status = read_nodes(c, nodes, options, logins, &count, mistake);
    if (status == REDLOCK_OK)
        status = redlock_init(&c->engine, &options->engine, c->nodes, count, options->memory ? options->memory : c->memory,
                              options->memory ? options->memory_size : sizeof c->memory, redlock_now_us());
    if (status == REDLOCK_OK) use_all_features(&c->engine);
    if (status == REDLOCK_OK && options->holder) status = use_holder(c, options->holder, mistake);
    if (status == REDLOCK_OK) status = set_logins(c, logins, mistake);
    if (status == REDLOCK_OK) use_durable(c, logins);
    if (status == REDLOCK_OK) status = add_entropy(c);
    if (status == REDLOCK_OK && options->interruptible && net_self_pipe_open(c->self_pipe) != 0) status = REDLOCK_SYSTEM;
    if (status != REDLOCK_OK) {
        net_wipe(c->targets, sizeof c->targets);
        c->owner = 0;
    }
    return status;
}

/* ---- Blocking face ---- */

enum attention { HEEDS_NOTHING, HEEDS_INTERRUPTS };

/* Waits for something to do until a time, or for an interrupt; says which sessions are ready. A signal ends the wait, which does no
 * harm. */
static unsigned wait_for(struct redlock_client *c, uint64_t until_us, enum attention attention)
{
    struct net_wait waits[SESSIONS_MAX + 1];
    unsigned count = redlock_sessions(&c->engine), ready = 0;

    for (unsigned k = 0; k < count; k++) {
        unsigned events = redlock_events(c, k);
        waits[k] = (struct net_wait){
            .fd = redlock_fd(c, k),
            .events = (uint8_t)events,
        };
    }
    waits[count] = (struct net_wait){ .fd = attention == HEEDS_INTERRUPTS ? c->self_pipe[0] : -1, .events = NET_READ };
    if (c->around_wait) c->around_wait(c->wait_context, true);
    net_wait(waits, count + 1, until_us);
    if (c->around_wait) c->around_wait(c->wait_context, false);
    for (unsigned k = 0; k < count; k++)
        if (waits[k].ready) ready |= 1u << k;
    return ready;
}

static uint64_t end_of(uint32_t wait_ms)
{
    return wait_ms == REDLOCK_FOREVER ? REDLOCK_NEVER : redlock_now_us() + (uint64_t)wait_ms * 1000;
}

/* Was the client interrupted? Says so once. */
static bool is_interrupted(const struct redlock_client *c)
{
    return net_self_pipe_drain(c->self_pipe[0]);
}

/* One turn of a loop: waits until there is something to do, but no longer than until a time, and does it. */
static enum redlock_status run_turn(struct redlock_client *c, uint64_t until_us, enum attention attention)
{
    return step_client(c, wait_for(c, sooner(until_us, wake_at(c)), attention));
}

/* Only an attempt needs random bytes, and the engine says so of the lock that waits for them: everything else goes on. */
static enum redlock_status without_entropy(enum redlock_status status)
{
    return status == REDLOCK_NO_ENTROPY ? REDLOCK_OK : status;
}

/* Before an operation begins: connections that were closed in a long silence are found now, not by its first command. Says
 * what time it is then. */
static enum redlock_status catch_up(struct redlock_client *c, uint64_t *now_us)
{
    enum redlock_status status = check_open(c);

    *now_us = redlock_now_us();
    if (status != REDLOCK_OK || *now_us - c->stepped_at < QUIET_US) return status;
    status = without_entropy(run_turn(c, 0, HEEDS_NOTHING));
    *now_us = redlock_time_us(&c->engine);
    return status;
}

/* Steps and waits until the operation on the lock, which has just begun, has ended. One that was interrupted before sends
 * nothing. */
static enum redlock_status run_operation(struct redlock_client *c, struct redlock_lock *lock, enum attention attention)
{
    bool is_over = attention == HEEDS_INTERRUPTS && is_interrupted(c);
    enum redlock_status status = is_over ? REDLOCK_CANCELLED : without_entropy(act_on_time(c, redlock_time_us(&c->engine)));

    while (status == REDLOCK_OK && redlock_lock_status(lock) == REDLOCK_PENDING) {
        if (attention == HEEDS_INTERRUPTS && is_interrupted(c)) status = REDLOCK_CANCELLED;
        else status = without_entropy(run_turn(c, REDLOCK_NEVER, attention));
    }
    if (redlock_lock_status(lock) != REDLOCK_PENDING) return redlock_lock_status(lock);
    redlock_cancel(&c->engine, lock, redlock_now_us());
    (void)step_client(c, 0);  /* What may be there is released at once. */
    return status;
}

static void drop_if_idle(struct redlock_client *c, struct redlock_parted *parted)
{
    if (!parted->used || !redlock_idle(&parted->lock)) return;
    redlock_forget(&c->engine, &parted->lock);
    parted->used = false;
}

/* Copies what the lock is about to where it may stay: one name, or a set and its names. */
static const void *copy_names(struct redlock_parted *parted, const struct redlock_lock *lock)
{
    unsigned count;
    const struct redlock_name *names = redlock_lock_names(lock, &count);
    uint8_t *to = parted->bytes;

    for (unsigned i = 0; i < count; i++) {
        memcpy(to, names[i].bytes, names[i].size);
        parted->set[i] = (struct redlock_name){ .bytes = to, .size = names[i].size, .shared = names[i].shared };
        to += names[i].size;
    }
    return count > 1 ? (const void *)parted->set : parted->bytes;
}

/* S5: what the lock owes outlives it, in the client's own memory; where that is full, keys stay until their TTL ends. For
 * its caller the release ends here: later on redlock_next_done would name that memory. */
void redlock_part(struct redlock_client *c, struct redlock_lock *lock)
{
    bool owes = redlock_let_go(&c->engine, lock, redlock_now_us());

    if (owes) redlock_cancel(&c->engine, lock, redlock_now_us());
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX; i++) {
        struct redlock_parted *parted = &c->parted[i];
        drop_if_idle(c, parted);
        if (!owes || parted->used) continue;
        redlock_move(&c->engine, &parted->lock, lock, copy_names(parted, lock));
        parted->used = true;
        return;
    }
    if (owes) c->given_up++;
    redlock_forget(&c->engine, lock);
}

enum redlock_status redlock_connect(struct redlock_client *c, uint32_t wait_ms)
{
    uint64_t until = end_of(wait_ms);
    unsigned n = redlock_nodes(&c->engine);
    enum redlock_status status = without_entropy(redlock_step(c));

    if (status != REDLOCK_OK) return status;
    for (;;) {
        unsigned settled = 0, votes = 0;
        for (unsigned k = 0; k < n; k++) {
            settled += redlock_node_settled(&c->engine, k);
            votes += redlock_node_votes(&c->engine, k, redlock_now_us());
        }
        if (settled == n || redlock_now_us() >= until) return votes >= redlock_quorum(n) ? REDLOCK_OK : REDLOCK_NO_QUORUM;
        if (is_interrupted(c)) return REDLOCK_CANCELLED;
        (void)run_turn(c, until, HEEDS_INTERRUPTS);
    }
}

/* Of tickets and wake-ups the engine knows nothing without the wall clock. */
static enum redlock_status start_dated(struct redlock_client *c, struct redlock_lock *lock, const struct redlock_request *request,
                                       uint64_t now_us)
{
    struct redlock_request dated = *request;

    if (dated.wall_us == 0) dated.wall_us = redlock_wall_us();
    return redlock_start_acquire(&c->engine, lock, &dated, now_us);
}

enum redlock_status redlock_begin_acquire(struct redlock_client *c, struct redlock_lock *lock,
                                          const struct redlock_request *request)
{
    enum redlock_status status = check_open(c);

    return status == REDLOCK_OK ? start_dated(c, lock, request, redlock_now_us()) : status;
}

enum redlock_status redlock_acquire_request(struct redlock_client *c, struct redlock_lock *lock,
                                            const struct redlock_request *request)
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    if (status == REDLOCK_OK) status = start_dated(c, lock, request, now);
    if (status != REDLOCK_OK) return status;
    (void)redlock_copy_name(lock);
    status = run_operation(c, lock, HEEDS_INTERRUPTS);
    if (status == REDLOCK_OK) redlock_note_names(lock);
    else                      redlock_part(c, lock);
    return status;
}

enum redlock_status redlock_acquire(struct redlock_client *c, struct redlock_lock *lock, const char *resource,
                                    uint32_t ttl_ms, uint32_t wait_ms)
{
    struct redlock_request request = {
        .resource = resource, .resource_size = strlen(resource), .ttl_ms = ttl_ms, .wait_ms = wait_ms
    };

    return redlock_acquire_request(c, lock, &request);
}

enum redlock_status redlock_extend(struct redlock_client *c, struct redlock_lock *lock, uint32_t ttl_ms)
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    if (status == REDLOCK_OK && !redlock_has_its_names(lock)) return REDLOCK_BAD_RESOURCE;
    if (status == REDLOCK_OK) status = redlock_start_extend(&c->engine, lock, ttl_ms, now);
    if (status == REDLOCK_OK) {
        redlock_note_names(lock);       /* One that was adopted, or acquired in an event loop, has none yet. */
        status = run_operation(c, lock, HEEDS_NOTHING);
    }
    if (status == REDLOCK_LOST) redlock_part(c, lock);
    return status;
}

/* In the other role, as far as it has come, when it returns. */
static enum redlock_status change_role(struct redlock_client *c, struct redlock_lock *lock,
                                       enum redlock_status (*start)(struct redlock *r, struct redlock_lock *lock, uint64_t now_us))
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    if (status == REDLOCK_OK && !redlock_has_its_names(lock)) return REDLOCK_BAD_RESOURCE;
    if (status == REDLOCK_OK) status = start(&c->engine, lock, now);
    if (status == REDLOCK_OK) {
        redlock_note_names(lock);       /* One that was adopted, or acquired in an event loop, has none yet. */
        status = run_operation(c, lock, HEEDS_NOTHING);
    }
    if (status == REDLOCK_LOST) redlock_part(c, lock);
    return status;
}

enum redlock_status redlock_upgrade(struct redlock_client *c, struct redlock_lock *lock)
{
    return change_role(c, lock, redlock_start_upgrade);
}

enum redlock_status redlock_downgrade(struct redlock_client *c, struct redlock_lock *lock)
{
    return change_role(c, lock, redlock_start_downgrade);
}

enum redlock_status redlock_release(struct redlock_client *c, struct redlock_lock *lock, unsigned *confirmed)
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    if (confirmed) *confirmed = 0;
    if (status == REDLOCK_OK && !redlock_has_its_names(lock)) return REDLOCK_BAD_RESOURCE;
    if (status == REDLOCK_OK) status = redlock_start_release(&c->engine, lock, now);
    if (status == REDLOCK_OK) {
        status = run_operation(c, lock, HEEDS_NOTHING);
        if (confirmed) *confirmed = redlock_confirmed(lock);
    } else if (status != REDLOCK_LOST) {
        return status;
    }
    redlock_part(c, lock);      /* It may owe something even if it was never held. */
    return status;
}

/* S5: a debt to a node that is away is not waited for, since it may be away for good. */
static bool is_busy(const struct redlock_client *c)
{
    for (unsigned k = 0; k < redlock_nodes(&c->engine); k++)
        if (redlock_node_is_busy(&c->engine, k)) return true;
    return false;
}

static bool is_any_pending(struct redlock_lock *const *locks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (redlock_lock_status(locks[i]) == REDLOCK_PENDING) return true;
    return false;
}

/* The end of a release that was begun, however far it has come. Is nothing left that would keep others out? */
static bool part_released(struct redlock_client *c, struct redlock_lock *lock)
{
    bool is_confirmed = redlock_lock_status(lock) == REDLOCK_OK &&
                        redlock_confirmed(lock) >= redlock_quorum(redlock_nodes(&c->engine));
    bool is_gone = redlock_idle(lock) || is_confirmed || redlock_lock_status(lock) == REDLOCK_LOST;

    redlock_part(c, lock);
    return is_gone;
}

enum redlock_status redlock_release_all(struct redlock_client *c, struct redlock_lock *const *locks, size_t count,
                                        uint32_t wait_ms)
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);
    uint64_t until = end_of(wait_ms);
    bool are_gone = true;

    if (status != REDLOCK_OK) return status;
    for (size_t i = 0; i < count; i++) {
        redlock_cancel(&c->engine, locks[i], now);
        (void)redlock_start_release(&c->engine, locks[i], now);
    }
    (void)step_client(c, 0);
    while ((is_any_pending(locks, count) || is_busy(c)) && redlock_now_us() < until) (void)run_turn(c, until, HEEDS_NOTHING);
    for (size_t i = 0; i < count; i++) are_gone &= part_released(c, locks[i]);
    return are_gone ? REDLOCK_OK : REDLOCK_NO_QUORUM;
}

/* What there is to tell of a lock. A lock that nobody keeps ends without a word. */
static enum redlock_status news_of(const struct redlock_lock *lock)
{
    enum redlock_status status = lock ? redlock_lock_status(lock) : REDLOCK_OK;

    if (!lock || status == REDLOCK_PENDING) return status;
    return redlock_valid_us(lock, redlock_now_us()) > 0 ? status : REDLOCK_LOST;
}

enum redlock_status redlock_run_for(struct redlock_client *c, const struct redlock_lock *lock, uint32_t for_ms)
{
    uint64_t until = end_of(for_ms);
    enum redlock_status before = news_of(lock), status = without_entropy(redlock_step(c));

    if (status != REDLOCK_OK) return status;
    while (news_of(lock) == before && before != REDLOCK_LOST && redlock_now_us() < until) {
        uint64_t now = redlock_now_us();
        uint64_t valid_us = lock ? redlock_valid_us(lock, now) : 0;
        if (is_interrupted(c)) return REDLOCK_CANCELLED;
        (void)run_turn(c, valid_us > 0 ? sooner(until, now + valid_us) : until, HEEDS_INTERRUPTS);
    }
    return news_of(lock);
}

void redlock_interrupt(struct redlock_client *c)
{
    if (check_open(c) == REDLOCK_OK) net_self_pipe_write(c->self_pipe[1]);
}

enum redlock_status redlock_inspect(struct redlock_client *c, const char *resource, struct redlock_sight *sights)
{
    struct redlock_lock lock;
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    redlock_lock_init(&lock);
    if (status == REDLOCK_OK)
        status = redlock_start_inspect(&c->engine, &lock, resource, strlen(resource), sights, now);
    if (status != REDLOCK_OK) return status;
    status = run_operation(c, &lock, HEEDS_NOTHING);
    redlock_forget(&c->engine, &lock);
    return status;
}

enum redlock_status redlock_ask_node(struct redlock_client *c, struct redlock_question *question, unsigned k,
                                     const struct redlock_name *arguments, unsigned count, void *buffer, size_t size)
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    if (status == REDLOCK_OK) status = redlock_ask(&c->engine, question, k, arguments, count, buffer, size, now);
    if (status != REDLOCK_OK) return status;
    status = without_entropy(step_client(c, 0));
    while (status == REDLOCK_OK && redlock_question_status(question) == REDLOCK_PENDING)
        status = is_interrupted(c) ? REDLOCK_CANCELLED : without_entropy(run_turn(c, REDLOCK_NEVER, HEEDS_INTERRUPTS));
    redlock_forget_question(&c->engine, question);
    return status == REDLOCK_OK ? redlock_question_status(question) : status;
}

/* One round of marks. */
static enum redlock_status ask_for_marks(struct redlock_client *c, struct redlock_mark *mark, struct redlock_lock *lock,
                                         const struct redlock_period *period)
{
    struct redlock *r = &c->engine;
    enum redlock_status status = redlock_start_mark(r, mark, lock, period, redlock_now_us());

    if (status != REDLOCK_OK) return status;
    status = without_entropy(step_client(c, 0));
    while (status == REDLOCK_OK && redlock_mark_status(r, mark, redlock_now_us()) == REDLOCK_PENDING)
        status = is_interrupted(c) ? REDLOCK_CANCELLED : without_entropy(run_turn(c, redlock_mark_until(mark), HEEDS_INTERRUPTS));
    redlock_forget_mark(r, mark);
    return status == REDLOCK_OK ? redlock_mark_status(r, mark, redlock_now_us()) : status;
}

/* Lets time pass. OK, or why not. */
static enum redlock_status pass_time(struct redlock_client *c, uint64_t until_us)
{
    enum redlock_status status = REDLOCK_OK;

    while (status == REDLOCK_OK && redlock_now_us() < until_us)
        status = is_interrupted(c) ? REDLOCK_CANCELLED : without_entropy(run_turn(c, until_us, HEEDS_INTERRUPTS));
    return status;
}

enum redlock_status redlock_mark_period(struct redlock_client *c, struct redlock_mark *mark, struct redlock_lock *lock,
                                        const struct redlock_period *period, uint32_t wait_ms)
{
    struct redlock_period dated = *period;
    uint64_t until = end_of(wait_ms), now;
    enum redlock_status status = catch_up(c, &now);

    if (dated.wall_us == 0) {
        dated.wall_us = redlock_wall_us();
        dated.at_us = redlock_now_us();
    }
    if (status == REDLOCK_OK) status = ask_for_marks(c, mark, lock, &dated);
    while (status == REDLOCK_NO_QUORUM && redlock_now_us() < until) {
        status = pass_time(c, sooner(until, redlock_now_us() + (uint64_t)REDLOCK_RETRY_MS * 1000));
        if (status == REDLOCK_OK) status = ask_for_marks(c, mark, lock, &dated);
    }
    return status;
}

uint32_t redlock_valid_ms(const struct redlock_lock *lock)
{
    return (uint32_t)(redlock_valid_us(lock, redlock_now_us()) / 1000);
}

/* silently: in a child of fork(), whose parent goes on using it. */
static void close_connection(struct redlock_client *c, unsigned k, bool silently)
{
    if (c->sockets[k].fd < 0) return;
    transport_of(c, k)->hang_up(context_of(c, k), k, silently);
    transport_of(c, k)->discard(context_of(c, k), k, c->sockets[k].fd);
}

/* S5: pays what can be paid in that time. */
void redlock_close(struct redlock_client *c, uint32_t wait_ms)
{
    uint64_t until = end_of(wait_ms);
    enum redlock_status status = redlock_step(c);

    if (status == REDLOCK_NOT_OPEN) return;
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX; i++)
        if (c->parted[i].used) redlock_pay(&c->engine, &c->parted[i].lock, redlock_now_us());
    while (status != REDLOCK_FORKED && is_busy(c) && redlock_now_us() < until)
        status = run_turn(c, until, HEEDS_NOTHING);
    c->owner = 0;       /* A signal handler's redlock_interrupt finds a client that is not open from here on. */
    for (unsigned k = 0; k < redlock_sessions(&c->engine); k++) {
        close_connection(c, k, status == REDLOCK_FORKED);
        net_close(c->sockets[k].lookup);
    }
    net_close(c->self_pipe[1]);  /* First: without a reader the pipe would be a broken one. */
    net_close(c->self_pipe[0]);
    net_wipe(c->targets, sizeof c->targets);
    clear_client(c);
}

/* ---- Questions ---- */

unsigned redlock_node_count(const struct redlock_client *c)
{
    return redlock_nodes(&c->engine);
}

uint64_t redlock_given_up(const struct redlock_client *c)
{
    return c->given_up;
}

const char *redlock_node_address(const struct redlock_client *c, unsigned k)
{
    return c->targets[k].address;
}
