/* One of several permits (S20). Of a resource with k permits, "resource:1" to "resource:k" are slots, each a plain lock, so that
 * at most k have one, and whoever locks "resource:3" otherwise takes a permit. A node grants the first slot that is free, in an
 * order that the token makes, so that it is the same on all nodes. With the grant its entry among the waiters goes, if it has
 * one, or while it holds a release of another's would wake it in vain. A client with a quorum of one slot holds that. Nodes that
 * have granted it another give that up, and get the one that is held, by a restore at once: or they would take for free what is
 * held. Never by a release: S27, by a token that is held none is sent, for one that is executed late would delete the slot that
 * an extension has set again meanwhile. What comes too late for a restore waits for the next extension, or for the end of the
 * lock. To count on each node how many have one would be unsound: three clients, each with another two of three nodes, are three
 * holders where each node has seen two. Those who wait have one entry for all slots, in "resource:#waiters", so that clients
 * that know of no permits never hear of slots; a release tells "number@slot".
 *
 * What the nodes are sent, with answers as to a plain lock (see wire.h); slot 0 is any:
 *     EVALSHA acquire 1 resource token ttl ticket life skew permits slot entry
 *                                     :slot granted  $"counter ms" refused: the largest ticket of those that are free, and
 *                                                    how long until one is; -AHEAD
 *     EVALSHA restore 1 resource token ttl ticket life skew permits slot      as of a lock
 *     EVALSHA extend 1 resource token ttl permits slot        :1, :0 as above
 *     EVALSHA release 1 resource token entry permits slot     :1, :2, :0 as above; entry "": none; slot: wakes when it goes
 *     EVALSHA wait 1 resource entry arrived life permits      :ms     as PTTL of the slot that is free first */
#include "../holder.h"
#include "../quorum.h"
#include "../random.h"
#include "../restore.h"
#include "../retry.h"

enum { SPLIT_ROUNDS = 3 };      /* Between two attempts of which the first was lost by chance: rounds at most (S14). */

/* What is owed on the keys of slots names how many there are. */
static enum redlock_status permits_check(struct redlock *r, const struct redlock_lock *lock, const struct redlock_request *request)
{
    bool is_right = request->permits >= 1 && request->permits <= REDLOCK_PERMITS_MAX && !request->set;
    bool has_other = lock->permit.count != request->permits && !lock_is_idle(lock);

    if (request->kind == &redlock_permits && !is_right) return REDLOCK_BAD_KIND;
    if (has_other || lock_owes_otherwise(lock, &redlock_permits, request)) return REDLOCK_BAD_STATE;
    r->holding = holder_feature();
    r->restoring = restore_feature();   /* A restore moves a grant to the slot that is held. */
    stake_use_scripts(r);
    return REDLOCK_OK;
}

/* ---- Commands ---- */

static void put_permit(struct resp_writer *w, struct redlock_permit permit)
{
    resp_size(w, permit.count);
    resp_size(w, permit.slot);
}

static void put_permit_restore(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_grant(w, s);
    put_permit(w, s->permit);
}

static void put_permit_acquire(struct resp_writer *w, const struct wire_subject *s)
{
    put_permit_restore(w, s);
    wire_put_entry_if_any(w, s);
}

static void put_permit_extend(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->permit.slot > 0);
    wire_put_extend(w, s);
    put_permit(w, s->permit);
}

static void put_permit_wake(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_wake(w, s);
    put_permit(w, s->permit);
}

/* No slot is that whose end wakes. */
static void put_permit_release(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_placed(w, s);
    resp_text(w, "");
    put_permit(w, (struct redlock_permit){ .count = s->permit.count });
}

static void put_permit_wait(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_wait(w, s);
    resp_size(w, s->permit.count);
}

static const char permit_acquire_text[] = WIRE_PERMIT_ACQUIRE_SCRIPT, permit_acquire_sha1[] = WIRE_PERMIT_ACQUIRE_SHA1;
static const char permit_restore_text[] = WIRE_PERMIT_RESTORE_SCRIPT, permit_restore_sha1[] = WIRE_PERMIT_RESTORE_SHA1;
static const char permit_extend_text[] = WIRE_PERMIT_EXTEND_SCRIPT, permit_extend_sha1[] = WIRE_PERMIT_EXTEND_SHA1;
static const char permit_release_text[] = WIRE_PERMIT_RELEASE_SCRIPT, permit_release_sha1[] = WIRE_PERMIT_RELEASE_SHA1;
static const char permit_wait_text[] = WIRE_PERMIT_WAIT_SCRIPT, permit_wait_sha1[] = WIRE_PERMIT_WAIT_SHA1;

static const struct wire_row permit_acquire = {
    .text = permit_acquire_text, .sha1 = permit_acquire_sha1, .put = put_permit_acquire, .argument_count = 8,
    .read_refusal = wire_read_refusal, .lowest = 1, .highest = REDLOCK_PERMITS_MAX
};
static const struct wire_row permit_restore = {
    .text = permit_restore_text, .sha1 = permit_restore_sha1, .put = put_permit_restore, .argument_count = 7
};
static const struct wire_row permit_extend = {
    .text = permit_extend_text, .sha1 = permit_extend_sha1, .put = put_permit_extend, .argument_count = 4, .lowest = 0, .highest = 1
};
static const struct wire_row permit_release = {
    .text = permit_release_text, .sha1 = permit_release_sha1, .put = put_permit_release, .argument_count = 4,
    .lowest = 0, .highest = 1
};
static const struct wire_row permit_wake = {
    .text = permit_release_text, .sha1 = permit_release_sha1, .put = put_permit_wake, .argument_count = 4, .lowest = 0, .highest = 2
};
static const struct wire_row permit_wait = {
    .text = permit_wait_text, .sha1 = permit_wait_sha1, .put = put_permit_wait, .argument_count = 4
};

/* ---- Answers ---- */

/* The nodes that have granted a slot in the round, and the same one as node k. */
static uint16_t slot_mates(const struct redlock_lock *lock, uint16_t grants, unsigned k)
{
    uint16_t mates = 0;

    for (unsigned j = 0; j < lock->round.node_count; j++)
        if ((grants & bit_of(j)) && lock->use.slots[j] == lock->use.slots[k]) mates |= bit_of(j);
    return mates;
}

/* Nodes that have granted a slot, whichever: a refusal proves that nothing of ours is there. */
static uint16_t all_grants(const struct redlock_lock *lock)
{
    uint16_t grants = lock->round.granted;

    for (unsigned j = 0; j < lock->round.node_count; j++)
        if ((lock->round.refused & bit_of(j)) && lock->stakes[j].state == STAKE_PLACED) grants |= bit_of(j);
    return grants;
}

/* S20: the slot that most have granted is the one that the round is about, as if the others had refused: so it is lost as soon as
 * no slot can have a quorum. */
static void count_votes(struct redlock_lock *lock)
{
    struct redlock_round *round = &lock->round;
    uint16_t grants = all_grants(lock), best = 0;

    for (unsigned j = 0; j < round->node_count; j++) {
        uint16_t mates = grants & bit_of(j) ? slot_mates(lock, grants, j) : 0;
        if (round_count(mates) > round_count(best)) best = mates;
    }
    round->refused = (uint16_t)((round->refused | grants) & ~best);
    round->granted = best;
}

/* What node k has granted of another slot is given up, and that of the lock set there, if it is free: by one command. Else the node
 * would take a slot for free that is held, and give it to others, none of whom can have a quorum of it. Past the deadline it stays
 * until the next extension, which moves it, or the lock's end: a release now would be by the token that is held, and executed late
 * it would delete what that extension has set (S27). */
static void move_grant(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    if (!lock_is_past_deadline(r, lock)) stake_want(r, lock, k, WIRE_RESTORE);
}

/* From now on the lock is about this slot, and gives up whatever else it was granted. Was it in line, but not woken? Then it took
 * what another is woken for, perhaps, and shall be as patient the next time as one whose turn it was. */
static void take_slot(struct redlock *r, struct redlock_lock *lock, uint8_t slot)
{
    uint16_t others = (uint16_t)(all_grants(lock) & ~lock->round.granted);

    REDLOCK_ASSERT(round_count(lock->round.granted) >= quorum_of(r->node_count));
    lock->permit.slot = slot;
    lock->woken |= lock->entries;
    for (unsigned j = 0; j < r->node_count; j++)
        if (others & bit_of(j)) move_grant(r, lock, j);
}

/* S3: a slot that there is not is none; our token may be on any of those that there are. */
static void count_grant(struct redlock *r, struct redlock_lock *lock, unsigned k, uint8_t slot)
{
    lock->use.slots[k] = slot;
    if (slot > lock->permit.count) {
        lock->round.granted &= (uint16_t)~bit_of(k);
        lock->round.unknown |= bit_of(k);
    }
    count_votes(lock);
    if (round_verdict(&lock->round, r->now_us, min_validity_us(lock)) != VERDICT_WON) return;
    for (unsigned j = 0; j < r->node_count; j++)
        if (lock->round.granted & bit_of(j)) slot = lock->use.slots[j];
    take_slot(r, lock, slot);
}

/* Is the node still to answer an extension? Since it has not the right slot, its refusal brings a restore. */
static bool will_refuse_extension(const struct redlock *r, const struct redlock_lock *lock, unsigned k)
{
    bool is_asked = lock->round.command == WIRE_EXTEND && round_vote_of(&lock->round, k) == REDLOCK_VOTE_PENDING;

    return is_asked && !lock_is_past_deadline(r, lock);
}

/* A node that answers when the lock is held already has granted the slot, or another: that is given up, by one restore: of two
 * that are on their way a release would remove one. */
static void permits_count(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    uint8_t slot = (uint8_t)a->reply->integer;
    bool is_other = lock->phase == PHASE_HELD && slot != lock->permit.slot;

    if (lock->phase == PHASE_ACQUIRING && round_vote_of(&lock->round, a->k) == REDLOCK_VOTE_GRANTED) {
        count_grant(r, lock, a->k, slot);
    } else if (is_other && lock->stakes[a->k].state == STAKE_PLACED && !will_refuse_extension(r, lock, a->k)) {
        if (a->current) lock->round.refused |= bit_of(a->k);
        if (a->current) lock->round.granted &= (uint16_t)~bit_of(a->k);
        move_grant(r, lock, a->k);
    }
}

/* A node that refused because of something else than what others hold had granted another slot. */
static bool permits_is_split(const struct redlock_lock *lock)
{
    uint16_t free_nodes = (uint16_t)((lock->round.granted | lock->round.refused) & ~lock->taken);

    return round_count(free_nodes) >= quorum_of(lock->round.node_count);
}

/* Where many wait, some slots are on their way from one to another: so of several that were granted most is free, and the others
 * are somebody's who was woken for them. It is asked for alone. */
static uint8_t slot_of_most(const struct redlock *r, const struct redlock_lock *lock)
{
    uint8_t slot = 0;

    for (unsigned j = 0; j < r->node_count; j++)
        if (lock->round.granted & bit_of(j)) slot = lock->use.slots[j];
    return permits_is_split(lock) && lock->entries != 0 ? slot : 0;
}

static uint64_t permits_shorten(struct redlock *r, struct redlock_lock *lock, uint64_t pause_us)
{
    uint64_t longest_us = sooner(SPLIT_ROUNDS * retry_round_us(lock) + 1, pause_us);

    lock->permit.slot = slot_of_most(r, lock);
    lock->permit.named = 0;
    return permits_is_split(lock) ? throw_dice(r, (uint32_t)sooner(longest_us, UINT32_MAX)) : pause_us;
}

/* ---- To wait ---- */

/* The slot that most nodes name is asked for alone. For where two releases came in another order, two clients are told of both
 * slots, and each must take another. */
static void permits_called(struct redlock_lock *lock, uint8_t slot)
{
    struct redlock_permit *permit = &lock->permit;

    if (slot > permit->count) slot = 0;
    if (permit->named == 0) permit->slot = slot;
    permit->named = (uint8_t)(permit->slot == slot ? permit->named + 1 : permit->named - 1);
    if (permit->named == 0) permit->slot = 0;
    REDLOCK_ASSERT(permit->slot <= permit->count);
}

static void permits_not_called(struct redlock_lock *lock)
{
    if (lock->permit.named > 0) lock->permit.slot = lock->permit.named = 0;
}

static const struct redlock_waiting permits_waiting = {
    .is_brief = permits_is_split, .called = permits_called, .not_called = permits_not_called
};

static const struct wire_row *const permits_rows[KIND_ROWS] = {
    [KIND_ACQUIRE] = &permit_acquire, [KIND_RESTORE] = &permit_restore, [KIND_EXTEND] = &permit_extend,
    [KIND_RELEASE] = &permit_release, [KIND_WAKE] = &permit_wake, [KIND_GIVE_BACK] = &permit_wake, [KIND_WAIT] = &permit_wait
};

const struct redlock_kind redlock_permits = {
    .rows = permits_rows,
    .has_own_keys = true, .hides_token = true,
    .waiting = &permits_waiting, .check = permits_check, .granted = permits_count, .shorten = permits_shorten
};
