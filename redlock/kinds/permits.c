/* One of several permits (S20). The slots of a resource with k permits are "resource:1" to
 * "resource:k", each a plain lock, so that at most k clients have one, and a client that locks
 * "resource:3" in another way takes a permit. A node grants the first slot that is free, in an
 * order that the token makes, so that it is the same on all nodes. The grant removes the client's
 * entry among the waiters, if it has one. Otherwise another's release would wake it in vain while
 * it holds. A client with a quorum of one slot holds that. Nodes that have granted it another slot
 * give that up, and get the held one, by a restore at once. Otherwise they would take the held slot
 * for free. They are never sent a release. S27: no release is sent with a token that is held, since
 * one that is executed late would delete the slot that an extension has set again meanwhile. An
 * answer too late for a restore waits for the next extension, or for the end of the lock. Counting
 * the permits on each node would be unsound. Three clients, each with another two of three nodes,
 * are three holders where each node has seen two. Waiters have one entry for all slots, in
 * "resource:#waiters", so that clients that know of no permits never hear of slots. A release
 * publishes "number@slot".
 *
 * The commands have the answers of a plain lock (see wire.h). Slot 0 is any:
 *     EVALSHA acquire 1 resource token ttl ticket life skew permits slot entry
 *                                     :slot granted  $"counter ms" refused: the largest ticket of
 *                                                    those that are free, and how long until one
 *                                                    is; -AHEAD
 *     EVALSHA restore 1 resource token ttl ticket life skew permits slot      as of a lock
 *     EVALSHA extend 1 resource token ttl permits slot        :1, :0 as above
 *     EVALSHA release 1 resource token entry permits slot     :1, :2, :0 as above; entry "": none;
 *                                                             slot: wakes when it goes
 *     EVALSHA wait 1 resource entry arrived life permits      :ms  as PTTL of the slot that is free
 *                                                             first */
#include "../holder.h"
#include "../quorum.h"
#include "../random.h"
#include "../restore.h"
#include "../retry.h"

/* Longest pause after an attempt that was lost by chance, in rounds (S14). */
enum { SPLIT_ROUNDS = 3 };

/* A debt on the keys of slots names the number of slots. */
static enum redlock_status permits_check(struct redlock *r, const struct redlock_lock *lock,
                                         const struct redlock_request *request)
{
    bool is_right =
        request->permits >= 1 && request->permits <= REDLOCK_PERMITS_MAX && !request->set;
    bool has_other = lock->permit.count != request->permits && !lock_is_idle(lock);

    if (request->kind == &redlock_permits && !is_right) return REDLOCK_BAD_KIND;
    if (has_other) return REDLOCK_BAD_STATE;
    /* Other kinds count no permits. */
    REDLOCK_ASSERT(!lock_owes_otherwise(lock, &redlock_permits, request));
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

/* No slot's end wakes. */
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

static const char permit_acquire_text[] = WIRE_PERMIT_ACQUIRE_SCRIPT,
                  permit_acquire_sha1[] = WIRE_PERMIT_ACQUIRE_SHA1;
static const char permit_restore_text[] = WIRE_PERMIT_RESTORE_SCRIPT,
                  permit_restore_sha1[] = WIRE_PERMIT_RESTORE_SHA1;
static const char permit_extend_text[] = WIRE_PERMIT_EXTEND_SCRIPT,
                  permit_extend_sha1[] = WIRE_PERMIT_EXTEND_SHA1;
static const char permit_release_text[] = WIRE_PERMIT_RELEASE_SCRIPT,
                  permit_release_sha1[] = WIRE_PERMIT_RELEASE_SHA1;
static const char permit_wait_text[] = WIRE_PERMIT_WAIT_SCRIPT,
                  permit_wait_sha1[] = WIRE_PERMIT_WAIT_SHA1;

static const struct wire_row permit_acquire = {
    .text = permit_acquire_text, .sha1 = permit_acquire_sha1, .put = put_permit_acquire,
    .argument_count = 8, .read_refusal = wire_read_refusal, .lowest = 1,
    .highest = REDLOCK_PERMITS_MAX
};
static const struct wire_row permit_restore = {
    .text = permit_restore_text, .sha1 = permit_restore_sha1, .put = put_permit_restore,
    .argument_count = 7
};
static const struct wire_row permit_extend = {
    .text = permit_extend_text, .sha1 = permit_extend_sha1, .put = put_permit_extend,
    .argument_count = 4, .lowest = 0, .highest = 1
};
static const struct wire_row permit_release = {
    .text = permit_release_text, .sha1 = permit_release_sha1, .put = put_permit_release,
    .argument_count = 4, .lowest = 0, .highest = 1
};
static const struct wire_row permit_wake = {
    .text = permit_release_text, .sha1 = permit_release_sha1, .put = put_permit_wake,
    .argument_count = 4, .lowest = 0, .highest = 2
};
static const struct wire_row permit_wait = {
    .text = permit_wait_text, .sha1 = permit_wait_sha1, .put = put_permit_wait, .argument_count = 4
};

/* ---- Answers ---- */

/* The nodes that have granted the slot of node k in the round. */
static uint16_t slot_mates(const struct redlock_lock *lock, uint16_t grants, unsigned k)
{
    uint16_t mates = 0;

    for (unsigned j = 0; j < lock->round.node_count; j++)
        if ((grants & bit_of(j)) && lock->use.slots[j] == lock->use.slots[k]) mates |= bit_of(j);
    return mates;
}

/* The nodes that have granted any slot. A refusal proves that nothing of ours is there. */
static uint16_t all_grants(const struct redlock_lock *lock)
{
    uint16_t grants = lock->round.granted;

    for (unsigned j = 0; j < lock->round.node_count; j++)
        if ((lock->round.refused & bit_of(j)) && lock->stakes[j].state == STAKE_PLACED)
            grants |= bit_of(j);
    return grants;
}

/* S20: the round is about the slot that most nodes have granted, as if the others had refused. So
 * it is lost as soon as no slot can have a quorum. */
static void count_votes(struct redlock_lock *lock)
{
    struct redlock_round *round = &lock->round;
    uint16_t grants = all_grants(lock), best = 0;

    for (unsigned j = 0; j < round->node_count; j++) {
        uint16_t mates = slot_mates(lock, grants, j);
        if (round_count(mates) > round_count(best)) best = mates;
    }
    round->refused = (uint16_t)((round->refused | grants) & ~best);
    round->granted = best;
}

/* One command gives up another slot that node k has granted, and sets the lock's own slot there, if
 * it is free. Otherwise the node would take the held slot for free, and give it to others, none of
 * whom can have a quorum of it. Past the deadline it stays until the next extension, which moves
 * it, or until the lock's end. A release now would have the token that is held, and if executed
 * late it would delete the slot that the extension has set (S27). */
static void move_grant(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    if (!lock_is_past_deadline(r, lock)) stake_want(r, lock, k, REDLOCK_COMMAND_RESTORE);
}

/* From now on the lock is about this slot, and gives up every other slot that it was granted. If it
 * was in line, but not woken, it may have taken a slot for which another was woken, and must be as
 * patient the next time as one whose turn it was. */
static void take_slot(struct redlock *r, struct redlock_lock *lock, uint8_t slot)
{
    uint16_t others = (uint16_t)(all_grants(lock) & ~lock->round.granted);

    REDLOCK_ASSERT(round_count(lock->round.granted) >= quorum_of(r->node_count));
    lock->permit.slot = slot;
    lock->woken |= lock->entries;
    for (unsigned j = 0; j < r->node_count; j++)
        if (others & bit_of(j)) move_grant(r, lock, j);
}

/* S3: a slot that does not exist is no grant. Our token may be on any of the existing slots. */
static void count_grant(struct redlock *r, struct redlock_lock *lock, unsigned k, uint8_t slot)
{
    lock->use.slots[k] = slot;
    if (slot > lock->permit.count) {
        lock->round.granted &= (uint16_t)~bit_of(k);
        lock->round.unknown |= bit_of(k);
    }
    count_votes(lock);
    if (round_verdict(&lock->round, r->now_us, min_validity_us(lock)) != VERDICT_WON) return;
    /* No other slot had a quorum before. */
    REDLOCK_ASSERT(slot_mates(lock, lock->round.granted, k) == lock->round.granted);
    take_slot(r, lock, slot);
}

/* True if the node still has to answer an extension. It has not the right slot, so its refusal
 * causes a restore. */
static bool will_refuse_extension(const struct redlock *r, const struct redlock_lock *lock,
                                  unsigned k)
{
    bool is_asked = round_vote_of(&lock->round, k) == REDLOCK_VOTE_PENDING;

    REDLOCK_ASSERT(!is_asked || lock->round.command == REDLOCK_COMMAND_EXTEND);
    return is_asked && !lock_is_past_deadline(r, lock);
}

/* A node that answers when the lock is held already has granted the slot, or another, which one
 * restore gives up. If two were on their way, a release would remove one. */
static void permits_count(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    uint8_t slot = (uint8_t)a->reply->integer;
    bool is_other = lock->phase == REDLOCK_PHASE_HELD && slot != lock->permit.slot;

    if (lock->phase == REDLOCK_PHASE_ACQUIRING &&
        round_vote_of(&lock->round, a->k) == REDLOCK_VOTE_GRANTED) {
        count_grant(r, lock, a->k, slot);
    } else if (is_other && lock->stakes[a->k].state == STAKE_PLACED &&
               !will_refuse_extension(r, lock, a->k)) {
        if (a->current) lock->round.refused |= bit_of(a->k);
        if (a->current) lock->round.granted &= (uint16_t)~bit_of(a->k);
        move_grant(r, lock, a->k);
    }
}

/* A node that refused for another reason than the holders had granted another slot. */
static bool permits_is_split(const struct redlock_lock *lock)
{
    uint16_t free_nodes = (uint16_t)((lock->round.granted | lock->round.refused) & ~lock->taken);

    return round_count(free_nodes) >= quorum_of(lock->round.node_count);
}

/* If many wait, some slots are on their way from one client to another. Only the slot that most
 * nodes granted is likely free, and the others were promised to woken clients. So only that slot is
 * asked for. */
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
    return permits_is_split(lock) ? throw_dice(r, (uint32_t)sooner(longest_us, UINT32_MAX))
                                  : pause_us;
}

/* ---- To wait ---- */

/* Only the slot that most nodes name is asked for. If two releases arrived in another order, two
 * clients hear of both slots, and each must take another. */
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
    [KIND_ACQUIRE] = &permit_acquire, [KIND_RESTORE] = &permit_restore,
    [KIND_EXTEND] = &permit_extend,   [KIND_RELEASE] = &permit_release,
    [KIND_WAKE] = &permit_wake,       [KIND_GIVE_BACK] = &permit_wake,
    [KIND_WAIT] = &permit_wait
};

const struct redlock_kind redlock_permits = {
    .rows = permits_rows,
    .has_own_keys = true, .hides_token = true,
    .waiting = &permits_waiting, .check = permits_check, .granted = permits_count,
    .shorten = permits_shorten
};
