#include "restore.h"

#include "quorum.h"

/* A node that has lost the key, or never had it, gets it after a quorum has just confirmed the
 * lock, with the same token, if nobody else has the key, within the old validity, and without a
 * vote in this round. So a rival never has it, and the next extension has one node more to count
 * on. If a quorum has lost the key we restore nothing, since somebody may have deleted
 * it on purpose. */
static void restore_key(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    enum redlock_vote vote = round_vote_of(&lock->round, k);
    uint8_t state = lock->stakes[k].state;
    bool is_missing = (vote == REDLOCK_VOTE_REFUSED && state == STAKE_PLACED) ||
                      (vote == REDLOCK_VOTE_NOT_ASKED && state == STAKE_NONE);

    /* S22: the role in which the node knows the lock. */
    if (kind_has_two_tokens_on(lock, k)) return;
    if (!is_missing || lock_is_past_deadline(r, lock)) return;
    if (!stake_may_ask(r, lock, k, has_ticket(lock)))  return;
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_HELD || lock->phase == REDLOCK_PHASE_EXTENDING);
    REDLOCK_ASSERT(lock->round.command == REDLOCK_COMMAND_EXTEND &&
                   round_count(lock->round.granted) >= quorum_of(r->node_count));
    stake_want(r, lock, k, REDLOCK_COMMAND_RESTORE);
}

/* The key that was set again is there, or is not, and the next extension finds out. An
 * error says nothing. */
static void restore_answer(struct redlock *r, const struct answer *a)
{
    const struct redlock_lock *lock = a->lock;
    uint8_t state = lock->stakes[a->k].state;
    bool is_open = lock->phase == REDLOCK_PHASE_HELD && state == STAKE_PLACED &&
                   !lock_is_past_deadline(r, lock);

    REDLOCK_ASSERT(a->command == REDLOCK_COMMAND_RESTORE && state != STAKE_NONE);
    if (is_open) (void)stake_sends_text(r, a);
}

const struct redlock_restoring *restore_feature(void)
{
    static const struct redlock_restoring feature = {
        .key = restore_key, .answer = restore_answer
    };

    return &feature;
}
