#include "redisson.h"

#include "events.h"
#include "retry.h"

/* S26: of one node. Over several, a Java holder looks at no clock while it takes them one after the other, and ignores what becomes
 * of its extensions, so that a quorum of such locks is no promise. A ticket would be no other program's: Java counts its own. */
static enum redlock_status redisson_check(const struct redlock *r, const struct redlock_request *request)
{
    bool is_more = request->ticket || request->permits > 0 || request->set || request->shared || request->fair;

    return r->node_count > 1 || is_more ? REDLOCK_BAD_REDISSON : REDLOCK_OK;
}

/* ---- Waiting ---- */

/* A lock that waits subscribes to Redisson's channel of its name each time that it begins to wait, and ends that when its pause is
 * over, unless another of that name waits: so nothing need be remembered. What finds no room in the send buffer is left out, since
 * the lock tries again without it. No answer is waited for; that to SUBSCRIBE is heard like a message, and then the lock asks how
 * long the key has left: what was released before is gone, and what is released behind it will be heard. */
static void put_listening(struct redlock *r, const struct redlock_lock *lock, unsigned k, bool begins)
{
    struct redlock_node *session = &r->nodes[r->node_count + k];
    struct resp_writer w;

    REDLOCK_ASSERT(session->is_subscription && session->state == NODE_READY && !session->apart);
    node_begin_writing(session, &r->config, &w);
    if (wire_put_listening(&w, begins, &lock->name)) node_written(session, &w);
    REDLOCK_ASSERT(session->send_end <= r->config.send_size);
}

static void redisson_listen(struct redlock *r, const struct redlock_lock *lock, unsigned k)
{
    put_listening(r, lock, k, true);
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

static void redisson_leave(struct redlock *r, const struct redlock_lock *lock)
{
    if (lock->wait_number == 0 || is_waited_for(r, lock)) return;
    for (unsigned k = 0; k < r->node_count; k++)
        if (r->nodes[r->node_count + k].state == NODE_READY) put_listening(r, lock, k, false);
}

static void ask_how_long(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    const struct redlock_stake *stake = &lock->stakes[k];

    if (stake->state == STAKE_NONE && stake->want == WIRE_NONE) stake_want(r, lock, k, WIRE_WAIT);
}

/* All that listen hear that the key is free: of one engine one tries at once, as one thread of each Java program does, and the
 * others behind a pause, in case that one is no longer there. */
static void be_told(struct redlock *r, struct redlock_lock *lock, unsigned k, bool is_first)
{
    if (is_first) {
        lock->woken |= bit_of(k);
        event_note(r, lock, REDLOCK_EVENT_WOKEN, k);
    }
    lock->stakes[k].holder_ms = 0;
    retry_hurry(r, lock);
    lock_reschedule(r, lock);
}

static void tell_all(struct redlock *r, unsigned k, const struct wire_reply *reply, enum wire_heard heard)
{
    bool is_first = true;

    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        if (!is_bridged(r, lock) || lock->wait_number == 0 || !wire_is_heard_of(reply, heard, &lock->name)) continue;
        if (heard == WIRE_HEARD_SUBSCRIBED) ask_how_long(r, lock, k);
        else                                be_told(r, lock, k, is_first);
        is_first = false;
    }
}

/* An error is that of an ACL which hides the channel: the lock polls. */
static bool redisson_hear(struct redlock *r, unsigned k, const struct wire_reply *reply)
{
    enum wire_heard heard = wire_read_heard(reply);

    if (heard == WIRE_HEARD_MESSAGE || heard == WIRE_HEARD_SUBSCRIBED) tell_all(r, k, reply, heard);
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
