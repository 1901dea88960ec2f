#include "redisson.h"

#include "events.h"
#include "retry.h"

enum { DISTANCE_US = 125 };     /* Between attempts that messages hasten; doubled by each one that was in vain. */

/* S26: of one node. Over several, a Java holder looks at no clock while it takes them one after the other, and ignores what becomes
 * of its extensions, so that a quorum of such locks is no promise. A ticket would be no other program's: Java counts its own. */
static enum redlock_status redisson_check(const struct redlock *r, const struct redlock_request *request)
{
    bool is_more = request->ticket || request->permits > 0 || request->set || request->shared || request->fair;

    return r->node_count > 1 || is_more ? REDLOCK_BAD_REDISSON : REDLOCK_OK;
}

/* ---- Waiting ---- */

/* A lock that waits subscribes to Redisson's channel of its name each time that it begins to wait, and ends that when its pause is
 * over, unless another of that name waits. The answer to SUBSCRIBE is heard like a message, and for each a lock asks how long the
 * key has left: what was released before is gone, and what is released behind it will be heard. */
enum listening { LISTENS_NOT, LISTENS_LATER, LISTENS, HAS_ASKED };

/* What has been sent makes room: redlock_output(), which would make it, is called for a subscription in its handshake only.
 * False: there is no room now, or no connection. */
static bool put_listening(struct redlock *r, const struct redlock_lock *lock, unsigned k, bool begins)
{
    struct redlock_node *session = &r->nodes[r->node_count + k];
    struct resp_writer w;
    bool fits;

    REDLOCK_ASSERT(session->is_subscription);
    if (session->state != NODE_READY) return false;
    REDLOCK_ASSERT(!session->apart);
    if (session->send_start == session->send_end) session->send_start = session->send_end = 0;
    node_begin_writing(session, &r->config, &w);
    fits = wire_put_listening(&w, begins, &lock->name);
    if (fits) node_written(session, &w);
    REDLOCK_ASSERT(session->send_end <= r->config.send_size);
    return fits;
}

/* Those that found no room, in the order in which they came. Something is in the buffer then, whose answer says that there is. */
static void listen_now(struct redlock *r, unsigned k)
{
    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        if (lock->listening != LISTENS_LATER) continue;
        if (!put_listening(r, lock, k, true)) return;
        lock->listening = LISTENS;
    }
}

static void redisson_listen(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    lock->listening = LISTENS_LATER;
    listen_now(r, k);
}

/* By another lock of that name, which listens as well? */
static bool is_waited_for(const struct redlock *r, const struct redlock_lock *lock)
{
    for (const struct redlock_lock *other = r->waiting.first; other; other = other->links[SLOT_DONE].next) {
        if (other == lock || !is_bridged(r, other) || other->wait_number == 0) continue;
        if (other->name.size != lock->name.size) continue;
        if (are_same_bytes(other->name.bytes, lock->name.bytes, lock->name.size)) return true;
    }
    return false;
}

/* An UNSUBSCRIBE that finds no room is left out: what the channel says is for nobody then. */
static void redisson_leave(struct redlock *r, struct redlock_lock *lock)
{
    lock->listening = LISTENS_NOT;
    if (lock->wait_number == 0 || is_waited_for(r, lock)) return;
    for (unsigned k = 0; k < r->node_count; k++) (void)put_listening(r, lock, k, false);
}

static bool is_told(const struct redlock *r, const struct redlock_lock *lock, const struct wire_reply *reply, enum wire_heard heard)
{
    return is_bridged(r, lock) && lock->wait_number != 0 && wire_is_heard_of(reply, heard, &lock->name);
}

/* One lock asks for each answer to SUBSCRIBE: the first that has not asked yet. With none, another asks once more, in case the
 * answer before was to an older SUBSCRIBE, which was taken back. */
static void ask_how_long(struct redlock *r, unsigned k, const struct wire_reply *reply)
{
    struct redlock_lock *asks = NULL;

    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        if (!is_told(r, lock, reply, WIRE_HEARD_SUBSCRIBED) || lock->listening < LISTENS) continue;
        REDLOCK_ASSERT(lock->stakes[k].state == STAKE_NONE);    /* Or it would not have begun to listen. */
        if (lock->stakes[k].want != WIRE_NONE) continue;
        if (!asks || lock->listening < asks->listening) asks = lock;
    }
    if (!asks) return;
    asks->listening = HAS_ASKED;
    stake_want(r, asks, k, WIRE_WAIT);
}

/* S14: anybody may publish, as often as he likes. The more attempts were in vain, the longer they keep their distance. What waits
 * behind a release of its own has made none. */
static uint64_t next_attempt_at(const struct redlock_lock *lock)
{
    return lock->round.command == WIRE_ACQUIRE ? lock->round.started_at + ((uint64_t)DISTANCE_US << lock->refusals) : 0;
}

/* All that listen hear that the key is free: of one engine one tries at once, as one thread of each Java program does, and the
 * others behind a pause, in case that one is no longer there. Until they have tried it is no news to hear that again. */
static void be_told(struct redlock *r, struct redlock_lock *lock, unsigned k, bool is_first)
{
    bool is_known = is_first ? lock_is_woken(r, lock) : lock->stakes[k].holder_ms == 0;
    uint64_t planned = lock->retry_at;

    if (is_known) return;
    if (is_first) {
        lock->woken |= bit_of(k);
        event_note(r, lock, REDLOCK_EVENT_WOKEN, k);
    }
    lock->stakes[k].holder_ms = 0;
    retry_hurry(r, lock);
    lock->retry_at = sooner(planned, later(lock->retry_at, next_attempt_at(lock)));
    lock_reschedule(r, lock);
}

static void tell_all(struct redlock *r, unsigned k, const struct wire_reply *reply)
{
    bool is_first = true;

    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        if (!is_told(r, lock, reply, WIRE_HEARD_MESSAGE)) continue;
        be_told(r, lock, k, is_first);
        is_first = false;
    }
}

/* An error is that of an ACL which hides the channel: the lock polls. */
static bool redisson_hear(struct redlock *r, unsigned k, const struct wire_reply *reply)
{
    enum wire_heard heard = wire_read_heard(reply);

    if (heard == WIRE_HEARD_MESSAGE)    tell_all(r, k, reply);
    if (heard == WIRE_HEARD_SUBSCRIBED) ask_how_long(r, k, reply);
    listen_now(r, k);
    return heard != WIRE_HEARD_NOTHING || reply->type == RESP_ERROR;
}

const struct redlock_bridging *redisson_feature(void)
{
    static const struct redlock_bridging feature = {
        .check = redisson_check, .kind = wire_redisson_kind, .listen = redisson_listen, .leave = redisson_leave,
        .hear = redisson_hear
    };

    return &feature;
}
