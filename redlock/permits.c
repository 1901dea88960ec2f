#include "permits.h"

#include "quorum.h"
#include "random.h"
#include "retry.h"

enum { SPLIT_ROUNDS = 3 };      /* Between two attempts of which the first was lost by chance: rounds at most (S14). */

static enum redlock_status permits_check(const struct redlock_request *request)
{
    return request->permits > REDLOCK_PERMITS_MAX || request->set ? REDLOCK_BAD_PERMITS : REDLOCK_OK;
}

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

    return lock->permit.count > 0 && round_count(free_nodes) >= quorum_of(lock->round.node_count);
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

const struct redlock_permitting *permits_feature(void)
{
    static const struct redlock_permitting feature = {
        .check = permits_check, .count = permits_count, .kind = wire_permit_kind, .wait = wire_permit_wait,
        .is_split = permits_is_split, .shorten = permits_shorten
    };

    return &feature;
}
