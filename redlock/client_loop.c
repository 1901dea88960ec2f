/* The event-loop face. One step does whatever can be done without waiting. It moves bytes between
 * engine and transport, tells the engine the time, and feeds it random bytes. It must not wait, and
 * it does not know the meaning of the bytes. */
#include "client.h"

#include <limits.h>

NET_STATIC_ASSERT((int)REDLOCK_FDS_MAX <= (int)(sizeof(unsigned) * CHAR_BIT),
                  "a bit says which session is ready");

enum {
    /* poll() does not count the time for which the machine sleeps, redlock_now_us() does. */
    POLL_SLICE_MS = 1000,
    /* The system is asked for random bytes again so long after it gave none. */
    FEED_PAUSE_US = 100000,
    /* Per step and node. A node that floods us must not keep us from the others (S16). */
    RECEIVES_MAX = 16
};

/* After a fork the sockets are the parent's, and the random bytes at hand would make the same
 * tokens twice (S6). */
bool redlock_is_forked(const struct redlock_client *c)
{
    return c->owner != 0 && net_process() != c->owner;
}

enum redlock_status client_check_open(const struct redlock_client *c)
{
    if (c->owner == 0) return REDLOCK_NOT_OPEN;
    return redlock_is_forked(c) ? REDLOCK_FORKED : REDLOCK_OK;
}

unsigned redlock_fd_count(const struct redlock_client *c)
{
    return client_fd_count(c);
}

uint32_t redlock_valid_ms(const struct redlock_lock *lock)
{
    return (uint32_t)(redlock_valid_us(lock, redlock_now_us()) / 1000);
}

/* ---- Bytes ---- */

/* The bytes that one call has received on one session. */
struct arrival {
    const uint8_t *data;
    ptrdiff_t size;         /* The result of the transport; 0 if the session wants nothing. */
    bool may_be_more;       /* If not, poll() or the transport will report it. */
};

static struct arrival receive_bytes(struct redlock_client *c, unsigned k)
{
    struct arrival arrival = { 0 };
    uint8_t *data;
    size_t room;

    if (!(session_wants(c, k) & REDLOCK_WANT_RECEIVE) || is_gated(c, k)) return arrival;
    data = is_of_sentinel(c, k) ? c->sentinels->calls->input(c, k, &room)
                                : redlock_input(&c->engine, k, &room);
    arrival.data = data;
    arrival.size = transport_of(c, k)->receive(context_of(c, k), k, data, room);
    REDLOCK_ASSERT(arrival.size <= (ptrdiff_t)room);
    arrival.may_be_more = (size_t)arrival.size == room || client_is_at_hand(c, k);
    return arrival;
}

/* S2: the time is read after the bytes have arrived. */
static void hand_over(struct redlock_client *c, unsigned k, const struct arrival *arrival,
                      uint64_t now_us)
{
    if (arrival->size < 0)
        client_end_connection(c, k, client_error_text(c, k, (int)-arrival->size));
    if (arrival->size <= 0) return;
    REDLOCK_ASSERT(arrival->data && c->sockets[k].fd >= 0);
    if (is_of_sentinel(c, k)) c->sentinels->calls->received(c, k, (size_t)arrival->size);
    else                      redlock_received(&c->engine, k, (size_t)arrival->size, now_us);
    client_trace(c, k, REDLOCK_RECEIVED, arrival->data, (size_t)arrival->size);
}

/* Receives the rest of the bytes on session k, in at most so many calls. */
static void receive_rest(struct redlock_client *c, unsigned k, unsigned count)
{
    struct arrival arrival = { .may_be_more = true };

    REDLOCK_ASSERT(count <= RECEIVES_MAX);
    while (count-- > 0 && arrival.may_be_more) {
        arrival = receive_bytes(c, k);
        hand_over(c, k, &arrival, redlock_now_us());
    }
}

/* The clock is read once for all sessions with a connection. True if the engine has read something,
 * so that it knows what time it is. */
static bool receive_all(struct redlock_client *c, unsigned ready)
{
    struct arrival arrivals[REDLOCK_FDS_MAX];
    bool came = false;
    uint64_t now;

    for (unsigned k = 0; k < redlock_fd_count(c); k++) {
        arrivals[k] = ready >> k & 1 ? receive_bytes(c, k) : (struct arrival){ 0 };
        came |= arrivals[k].size != 0;
    }
    if (!came) return false;
    now = redlock_now_us();
    for (unsigned k = 0; k < redlock_fd_count(c); k++)
        if (arrivals[k].size > 0) hand_over(c, k, &arrivals[k], now);
    /* Each of these looks at the clock anew. */
    for (unsigned k = 0; k < redlock_fd_count(c); k++) {
        if (arrivals[k].size < 0) hand_over(c, k, &arrivals[k], now);
        if (arrivals[k].may_be_more) receive_rest(c, k, RECEIVES_MAX - 1);
    }
    return true;
}

/* A server that turns us away gives its reason and closes, so that sending fails. Its words count,
 * if there are any. */
static void send_output(struct redlock_client *c, unsigned k)
{
    struct redlock_socket *socket = &c->sockets[k];
    bool has_sent = false;

    while (session_wants(c, k) & REDLOCK_WANT_SEND) {
        size_t size;
        const uint8_t *data = is_of_sentinel(c, k) ? c->sentinels->calls->output(c, k, &size)
                                                   : redlock_output(&c->engine, k, &size);
        ptrdiff_t taken = size > 0 ? transport_of(c, k)->send(context_of(c, k), k, data, size) : 0;

        REDLOCK_ASSERT(taken <= (ptrdiff_t)size);
        if (taken < 0) receive_rest(c, k, RECEIVES_MAX);
        if (taken < 0 && socket->fd >= 0)
            client_end_connection(c, k, client_error_text(c, k, (int)-taken));
        if (taken <= 0) break;
        client_trace(c, k, REDLOCK_SENT, data, (size_t)taken);
        if (is_of_sentinel(c, k)) c->sentinels->calls->sent(c, k, (size_t)taken);
        else                      redlock_sent(&c->engine, k, (size_t)taken);
        has_sent = true;
        if ((size_t)taken < size) break;
    }
    if (has_sent && c->sentinels && !is_of_sentinel(c, k)) c->sentinels->calls->wrote(c, k);
}

/* Is it connected, or under way to be? */
static bool is_begun(const struct redlock_client *c, unsigned k)
{
    return c->sockets[k].fd >= 0 || c->sockets[k].name_state == NAME_AWAITED ||
           c->sockets[k].name_state == NAME_ASKED;
}

/* Does all that the engine wants of session k and that needs no waiting, except receiving. */
static void serve_session(struct redlock_client *c, unsigned k)
{
    unsigned wants = session_wants(c, k);

    if (wants & REDLOCK_WANT_CLOSE) client_end_connection(c, k, NULL);
    if ((wants & REDLOCK_WANT_CONNECT) && !is_begun(c, k)) client_begin_connecting(c, k);
    if (!is_gated(c, k)) send_output(c, k);
    REDLOCK_ASSERT(c->sockets[k].fd >= 0 || !c->sockets[k].connecting);
}

/* ---- A step ---- */

enum redlock_status client_add_entropy(struct redlock_client *c)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];
    size_t wanted = redlock_entropy_wanted(&c->engine);
    uint64_t now;

    REDLOCK_ASSERT(wanted <= REDLOCK_ENTROPY_MAX);
    if (wanted == 0) return REDLOCK_OK;
    now = redlock_now_us();
    if (now < c->feed_at) return REDLOCK_NO_ENTROPY;
    if (!net_entropy(bytes, wanted)) {
        c->feed_at = now + FEED_PAUSE_US;
        return REDLOCK_NO_ENTROPY;
    }
    redlock_add_entropy(&c->engine, bytes, wanted);
    net_wipe(bytes, wanted);
    REDLOCK_ASSERT(redlock_entropy_wanted(&c->engine) == 0);
    return REDLOCK_OK;
}

/* Does all that is due, until no attempt waits for random bytes. More may wait than the engine has
 * room for, and for a late loop the clock stands still until all have some. */
static enum redlock_status tick_engine(struct redlock_client *c, uint64_t now_us)
{
    enum redlock_status status = REDLOCK_OK;

    while (status == REDLOCK_OK && redlock_entropy_wanted(&c->engine) > 0) {
        status = client_add_entropy(c);
        redlock_tick(&c->engine, c->engine.now_us);
    }
    do {
        status = client_add_entropy(c);
        redlock_tick(&c->engine, now_us);
        redlock_tend_durable(&c->durable);
    } while (status == REDLOCK_OK && redlock_entropy_wanted(&c->engine) > 0);
    return status;
}

/* S31: sessions go on, or end, after what the sentinels have answered. What has come is read before
 * more is sent, which waits for the sentinels again. */
static void heed_sentinels(struct redlock_client *c, uint64_t now_us)
{
    for (unsigned k = 0; k < c->engine.session_count; k++) {
        char why[REDLOCK_ERROR_MAX];

        switch (c->sentinels->calls->judge(c, k, c->sockets[k].fd >= 0, client_awaits_name(c, k),
                                           now_us, why, sizeof why)) {
        case SENTINELS_GO_ON: client_go_on_connecting(c, k); break;
        case SENTINELS_READ:  receive_rest(c, k, RECEIVES_MAX); break;
        case SENTINELS_END:   client_end_connection(c, k, why); break;
        default:              break;
        }
    }
}

enum redlock_status client_act_on_time(struct redlock_client *c, uint64_t now_us)
{
    enum redlock_status status;

    if (c->sentinels) {
        heed_sentinels(c, now_us);
        if (c->engine.now_us > now_us) now_us = c->engine.now_us;
    }
    status = tick_engine(c, now_us);
    for (unsigned k = 0; k < c->engine.session_count; k++) serve_session(c, k);
    /* Sessions that have sent are to be asked for. */
    if (c->sentinels) c->sentinels->calls->tick(c, now_us);
    for (unsigned k = c->engine.session_count; k < redlock_fd_count(c); k++) serve_session(c, k);
    for (unsigned k = 0; k < redlock_fd_count(c); k++) client_close_dropped(c, k);
    c->stepped_at = c->engine.now_us;
    REDLOCK_ASSERT(c->stepped_at >= now_us);
    return status;
}

/* Bytes that have arrived go before deadlines, so that a client that slept finds the
 * answers in time. */
enum redlock_status client_step(struct redlock_client *c, unsigned ready)
{
    for (unsigned k = 0; k < redlock_fd_count(c); k++) {
        bool connects;
        if (client_is_at_hand(c, k)) ready |= 1u << k;
        if (c->sockets[k].lookup >= 0) client_finish_lookup(c, k);
        connects = c->sockets[k].connecting;
        if (connects && (ready >> k & 1)) client_finish_connecting(c, k);
        if (connects) ready &= ~(1u << k);
    }
    return client_act_on_time(c, receive_all(c, ready) ? c->engine.now_us
                                                       : redlock_now_us());
}

enum redlock_status redlock_step_ready(struct redlock_client *c, unsigned ready)
{
    enum redlock_status status = client_check_open(c);

    return status == REDLOCK_OK ? client_step(c, ready) : status;
}

enum redlock_status redlock_step(struct redlock_client *c)
{
    return redlock_step_ready(c, UINT_MAX);
}

/* ---- The next step ---- */

uint64_t client_wake_at(const struct redlock_client *c)
{
    uint64_t at = redlock_wake_at(&c->engine);

    for (unsigned k = 0; k < redlock_fd_count(c); k++) {
        if (client_awaits_name(c, k)) at = sooner(at, c->sockets[k].late_at);
        if (client_is_at_hand(c, k)) at = 0;
    }
    if (c->sentinels) at = sooner(at, c->sentinels->calls->wake_at(c));
    return redlock_entropy_wanted(&c->engine) > 0 ? sooner(at, c->feed_at) : at;
}

/* Is there anything to close or to connect now? */
static bool has_work(const struct redlock_client *c)
{
    for (unsigned k = 0; k < redlock_fd_count(c); k++) {
        unsigned wants = session_wants(c, k);
        if ((wants & REDLOCK_WANT_CLOSE) || ((wants & REDLOCK_WANT_CONNECT) && !is_begun(c, k)))
            return true;
    }
    return false;
}

int redlock_poll_ms(const struct redlock_client *c)
{
    uint64_t at = client_wake_at(c), now = redlock_now_us();

    if (has_work(c)) return 0;
    if (at == REDLOCK_NEVER) return -1;
    if (at <= now) return 0;
    return at - now >= (uint64_t)POLL_SLICE_MS * 1000 ? POLL_SLICE_MS
                                                      : (int)((at - now + 999) / 1000);
}

/* ---- Acquiring in a loop ---- */

enum redlock_status client_start_acquire(struct redlock_client *c, struct redlock_lock *lock,
                                         const struct redlock_request *request, uint64_t now_us)
{
    struct redlock_request dated = *request;

    if (dated.wall_us == 0) dated.wall_us = redlock_wall_us();
    return redlock_start_acquire(&c->engine, lock, &dated, now_us);
}

enum redlock_status redlock_begin_acquire(struct redlock_client *c, struct redlock_lock *lock,
                                          const struct redlock_request *request)
{
    enum redlock_status status = client_check_open(c);

    return status == REDLOCK_OK ? client_start_acquire(c, lock, request, redlock_now_us()) : status;
}
