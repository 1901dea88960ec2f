/* The connection of one session, from the look-up of its node's name to its end. Nothing here
 * waits. It knows the transport, and whether the engine wants a connection; it must not know the
 * bytes that are sent, nor any lock. */
#include "client.h"

#include <string.h>

NET_STATIC_ASSERT(sizeof(struct net_endpoint) <= sizeof(((struct redlock_target *)0)->endpoints[0]),
                  "an endpoint must fit");
NET_STATIC_ASSERT((int)REDLOCK_ENDPOINTS_MAX == (int)NET_ENDPOINTS_MAX,
                  "net/ says how many are sensible");

enum { NAME_KNOWN_US = 5000000 };   /* The longest pause between two connections is shorter. */

/* The events that session k waits for, a set of REDLOCK_TRANSPORT_ bits. It has a descriptor. */
static unsigned transport_events(const struct redlock_client *c, unsigned k)
{
    const struct redlock_transport *transport = transport_of(c, k);
    unsigned wants = session_wants(c, k), wanted = REDLOCK_WRITE;

    if (is_gated(c, k)) return 0;
    if (!c->sockets[k].connecting)
        wanted = (wants & REDLOCK_WANT_RECEIVE ? REDLOCK_READ : 0u) |
                 (wants & REDLOCK_WANT_SEND ? REDLOCK_WRITE : 0u);
    return transport->events && wanted != 0 ? transport->events(context_of(c, k), k, wanted)
                                            : wanted;
}

/* While it is gated no loop looks at it, since a connection that has ended would be reported again
 * and again. */
int redlock_fd(const struct redlock_client *c, unsigned k)
{
    const struct redlock_socket *socket = &c->sockets[k];

    if (socket->fd < 0) return socket->lookup;
    return is_gated(c, k) ? -1 : socket->fd;
}

unsigned redlock_events(const struct redlock_client *c, unsigned k)
{
    if (c->sockets[k].fd < 0) return c->sockets[k].lookup >= 0 ? REDLOCK_READ : 0;
    return transport_events(c, k) & (REDLOCK_READ | REDLOCK_WRITE);
}

bool client_is_at_hand(const struct redlock_client *c, unsigned k)
{
    return transport_of(c, k)->events && (transport_events(c, k) & REDLOCK_TRANSPORT_AT_HAND);
}

void client_trace(struct redlock_client *c, unsigned k, enum redlock_traffic what, const void *data,
                  size_t size)
{
    if (c->trace && !is_of_sentinel(c, k))
        c->trace(c->trace_context, redlock_now_us(), k, what, data, size);
}

/* ---- Ending a connection ---- */

/* Takes a session's descriptor away. It stays open until the step ends, so that no new one gets its
 * number, since a loop that compares numbers would go on waiting for the old connection. No loop
 * has seen a second one within a step. */
static void retire_lookup(struct redlock_socket *socket)
{
    REDLOCK_ASSERT(socket->lookup >= 0 && socket->dropped < 0);
    socket->dropped = socket->lookup;
    socket->dropped_lookup = true;
}

void client_close_dropped(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];

    REDLOCK_ASSERT(!socket->dropped_lookup || socket->dropped >= 0);
    if (socket->dropped_lookup)    net_close(socket->dropped);
    else if (socket->dropped >= 0)
        transport_of(c, k)->discard(context_of(c, k), k, socket->dropped);
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

void client_end_connection(struct redlock_client *c, unsigned k, const char *why)
{
    char words[REDLOCK_ERROR_MAX + 32];
    uint64_t now = redlock_now_us();

    drop_connection(c, k);
    REDLOCK_ASSERT(c->sockets[k].fd < 0);
    if (c->sockets[k].name_state == NAME_AWAITED) c->sockets[k].name_state = NAME_LATE;
    if (c->sockets[k].name_state == NAME_ASKED) c->sockets[k].name_state = NAME_IDLE;
    if (is_of_sentinel(c, k)) {
        c->sentinels->calls->disconnected(c, k, why, now);
        return;
    }
    redlock_disconnected(&c->engine, k, why, now);
    redlock_describe_node(&c->engine, k, now, words, sizeof words);
    client_trace(c, k, REDLOCK_DISCONNECTED, words, strlen(words));
}

const char *client_error_text(const struct redlock_client *c, unsigned k, int error)
{
    const struct redlock_transport *transport = transport_of(c, k);
    const char *text = NULL;

    if (error == -REDLOCK_TRANSPORT_END) return NULL;
    if (transport->error_text) text = transport->error_text(context_of(c, k), k, error);
    return text ? text : net_error_text(error);
}

/* ---- Beginning one ---- */

/* Where session k connects to, in words. */
static const char *place_of(const struct redlock_client *c, unsigned k)
{
    const struct redlock_watched *watched = NULL;

    if (c->sentinels && !is_of_sentinel(c, k))
        watched = &c->sentinels->watched[k % c->engine.node_count];
    return watched && watched->count > 0 ? watched->master : target_of(c, k)->address;
}

static void report_connected(struct redlock_client *c, unsigned k)
{
    const char *place = place_of(c, k);

    REDLOCK_ASSERT(c->sockets[k].fd >= 0);
    c->sockets[k].connecting = false;
    if (is_of_sentinel(c, k)) c->sentinels->calls->connected(c, k, redlock_now_us());
    else                      redlock_connected(&c->engine, k, redlock_now_us());
    client_trace(c, k, REDLOCK_CONNECTED, place, strlen(place));
}

/* The sentinels are numbered behind the nodes. */
static unsigned server_of(const struct redlock_client *c, unsigned k)
{
    unsigned nodes = c->engine.node_count;

    return is_of_sentinel(c, k) ? nodes + (k - c->engine.session_count) : k % nodes;
}

/* Begins to connect to one address of the node. Returns a descriptor, or -errno. */
static int connect_to(struct redlock_client *c, unsigned k, const uint64_t *endpoint,
                      bool *connected)
{
    struct redlock_peer peer = { .node = server_of(c, k), .address = place_of(c, k) };
    struct net_endpoint copy;
    struct net_address address;
    struct net_error error;

    NET_CHECK(
        net_parse_address(peer.address, strlen(peer.address), REDLOCK_PORT, &address, &error));
    memcpy(&copy, endpoint, sizeof copy);
    peer.host = address.host;
    peer.endpoint = copy.size > 0 ? copy.words : NULL;
    peer.endpoint_size = copy.size;
    *connected = false;
    return transport_of(c, k)->connect(context_of(c, k), k, &peer, connected);
}

/* Tries the addresses of the node in turn, each once, until one does not fail at once. why is the
 * error of the last one. */
static void connect_next(struct redlock_client *c, unsigned k, const char *why)
{
    struct redlock_socket *socket = &c->sockets[k];
    const struct redlock_target *target = target_of(c, k);
    char words[REDLOCK_ERROR_MAX];

    while (socket->endpoints_failed < target->endpoint_count) {
        bool connected;
        int fd = connect_to(c, k, target->endpoints[socket->endpoint_next % target->endpoint_count],
                            &connected);

        socket->endpoint_next = (uint8_t)((socket->endpoint_next + 1) % target->endpoint_count);
        socket->endpoints_failed++;
        if (fd >= 0) {
            socket->fd = fd;
            socket->connecting = true;
            if (connected) report_connected(c, k);
            return;
        }
        why = client_error_text(c, k, -fd);
    }
    if (target->endpoint_count == 0) why = target->unresolved;
    if (c->sentinels && !is_of_sentinel(c, k))
        why = c->sentinels->calls->blame(c, k, why, words, sizeof words);
    client_end_connection(c, k, why);
}

void client_finish_connecting(struct redlock_client *c, unsigned k)
{
    int error = transport_of(c, k)->finish(context_of(c, k), k);

    REDLOCK_ASSERT(c->sockets[k].fd >= 0 && c->sockets[k].connecting);
    if (!(session_wants(c, k) & REDLOCK_WANT_CONNECT)) return;
    if (error == 0) {
        report_connected(c, k);
    } else if (error != REDLOCK_TRANSPORT_PENDING) {
        const char *why = client_error_text(c, k, error);
        drop_connection(c, k);
        connect_next(c, k, why);
    }
}

/* ---- Names ---- */

void client_note_addresses(struct redlock_target *target, const struct net_resolved *resolved)
{
    bool is_told = resolved->code == 0 || net_resolve_denies(resolved->code);

    REDLOCK_ASSERT(resolved->count <= REDLOCK_ENDPOINTS_MAX);
    target->unresolved = net_resolve_text(resolved->code);
    if (!is_told) return;
    target->endpoint_count = (uint8_t)resolved->count;
    for (size_t i = 0; i < resolved->count; i++)
        memcpy(target->endpoints[i], &resolved->endpoints[i], sizeof resolved->endpoints[i]);
}

/* Looks the name up that stands in the address, which has no password. */
static void look_up(struct redlock_client *c, unsigned k)
{
    struct redlock_target *target = target_of(c, k);
    struct redlock_socket *socket = &c->sockets[k];
    const char *place = place_of(c, k);
    struct net_resolved resolved;
    struct net_address address;
    struct net_error error;

    REDLOCK_ASSERT(target->is_name && socket->lookup < 0);
    NET_CHECK(net_parse_address(place, strlen(place), REDLOCK_PORT, &address, &error));
    socket->lookup = net_resolve_begin(&address, &resolved);
    if (socket->lookup < 0) client_note_addresses(target, &resolved);
}

/* S11: a name is looked up for each connection, so that a server in another one's place is found,
 * and known by its run_id. */
static void begin_at_place(struct redlock_client *c, unsigned k, uint64_t now)
{
    struct redlock_socket *socket = &c->sockets[k];
    const struct redlock_target *target = target_of(c, k);
    bool is_late = socket->name_state == NAME_LATE, is_known;

    REDLOCK_ASSERT(socket->fd < 0 && socket->name_state != NAME_AWAITED);
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

/* The target of session k becomes the place where it is to connect, which the program's list of
 * nodes does not tell. */
static void target_place(struct redlock_client *c, unsigned k)
{
    struct redlock_target *target = target_of(c, k);
    const char *place = place_of(c, k);
    struct net_resolved resolved;
    struct net_address address;
    struct net_error error;

    NET_CHECK(net_parse_address(place, strlen(place), REDLOCK_PORT, &address, &error));
    target->is_name = !net_resolve_now(&address, &resolved);
    if (!target->is_name) client_note_addresses(target, &resolved);
}

void client_begin_connecting(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];
    uint64_t now = redlock_now_us();

    socket->endpoints_failed = 0;
    if (is_of_sentinel(c, k)) target_place(c, k);
    if (c->sentinels && !is_of_sentinel(c, k) && c->sentinels->calls->asks_first(c, k, now)) {
        socket->name_state = NAME_ASKED;
        socket->late_at = now + c->name_wait_us;
        return;
    }
    begin_at_place(c, k, now);
}

void client_go_on_connecting(struct redlock_client *c, unsigned k)
{
    REDLOCK_ASSERT(c->sockets[k].name_state == NAME_ASKED);
    target_of(c, k)->endpoint_count = 0;
    target_place(c, k);
    begin_at_place(c, k, redlock_now_us());
}

bool client_awaits_name(const struct redlock_client *c, unsigned k)
{
    bool is_awaited =
        c->sockets[k].name_state == NAME_AWAITED || c->sockets[k].name_state == NAME_ASKED;

    return is_awaited && (session_wants(c, k) & REDLOCK_WANT_CONNECT);
}

void client_finish_lookup(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];
    struct net_resolved resolved;
    bool is_awaited = client_awaits_name(c, k);
    uint64_t now = redlock_now_us();

    REDLOCK_ASSERT(socket->lookup >= 0);
    if (!net_resolve_end(socket->lookup, &resolved)) {
        if (is_awaited && now >= socket->late_at)
            client_end_connection(c, k, "the name server is slow, or does not answer");
        return;
    }
    client_note_addresses(target_of(c, k), &resolved);
    /* A loop sees the connection, which may yet end in this step. */
    if (socket->fd >= 0) net_close(socket->lookup);
    else                 retire_lookup(socket);
    socket->lookup = -1;
    socket->name_state = socket->fd >= 0 || is_awaited ? NAME_IDLE : NAME_KNOWN;
    socket->late_at = now + NAME_KNOWN_US;
    if (is_awaited) connect_next(c, k, NULL);
}
