/* The calls of redlock.h by which a lock changes its role (S22). A reader that is alone becomes a
 * writer, a writer a reader. */
#include "extend.h"
#include "kinds/shared.h"
#include "lock.h"
#include "names.h"
#include "quorum.h"
#include "random.h"
#include "stake.h"

/* True if so many nodes know it by its present token that only a minority may know
 * it by another. */
static bool is_known_to_quorum(const struct redlock *r, const struct redlock_lock *lock)
{
    unsigned known = 0;

    for (unsigned k = 0; k < r->node_count; k++)
        known += lock->stakes[k].state == STAKE_PLACED && !kind_has_two_tokens_on(lock, k);
    return known >= quorum_of(r->node_count);
}

static enum redlock_status check_change(const struct redlock *r, const struct redlock_lock *lock,
                                        bool is_upgrade)
{
    if (!is_ours(r, lock))                        return REDLOCK_BAD_LOCK;
    if (lock->phase == REDLOCK_PHASE_IDLE)        return REDLOCK_LOST;
    if (lock->phase != REDLOCK_PHASE_HELD && !is_quiet(lock)) return REDLOCK_BAD_STATE;
    if (lock->name_count != 1)                    return REDLOCK_BAD_SET;
    if (lock->kind->has_own_keys)                 return REDLOCK_BAD_KIND;
    if (names_are_of_reader(lock) != is_upgrade)  return REDLOCK_BAD_STATE;
    if (lock_valid_us(lock, r->now_us) == 0)      return REDLOCK_LOST;
    /* S5: with a third token one would be forgotten. */
    if (!is_known_to_quorum(r, lock))             return REDLOCK_BAD_STATE;
    /* S13 */
    if (lock->extension_limit > 0 && lock->extension_count >= lock->extension_limit)
        return REDLOCK_EXTENSION_LIMIT;
    return REDLOCK_OK;
}

/* A ticket that is larger than any earlier writer's. The reader's is kept beside it for as long as
 * it may be needed. */
REDLOCK_WRAPS static bool has_ticket_to_write(const struct redlock *r, struct redlock_lock *lock)
{
    uint64_t ticket = later(r->now_us + lock->wall_offset_us, lock->ticket + 1);

    if (!has_ticket(lock)) return true;
    if (ticket > WIRE_TICKET_MAX) return false;
    lock->ticket_seen = lock->ticket;
    lock->ticket = ticket;
    return true;
}

/* S15: a node that may have forgotten its counter has no vote on a ticket. */
static void pass_over_the_forgetful(struct redlock *r, struct redlock_lock *lock)
{
    for (unsigned k = 0; k < r->node_count && has_ticket(lock); k++)
        if (lock->stakes[k].want == REDLOCK_COMMAND_EXTEND && !stake_may_ask(r, lock, k, true)) {
            stake_want_nothing(r, lock, k);
            round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
        }
}

/* S5: it is sent as text, which needs no second try. A slow node's NOSCRIPT could arrive when the
 * next change has begun. The command would then name two tokens, and the node know the lock by the
 * one before them. */
static void send_as_text(const struct redlock *r, struct redlock_lock *lock)
{
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].want == REDLOCK_COMMAND_EXTEND)
            lock->stakes[k].form = REDLOCK_FORM_BY_TEXT;
}

/* True if a command that names the lock's present token may have been sent to node k. */
static bool may_know_present_token(struct redlock *r, const struct redlock_lock *lock, unsigned k)
{
    bool may = (lock->stakes[k].strays & STRAYS_ROLE) != 0;

    for (unsigned i = 0; i < r->nodes[k].asked_count; i++) {
        const struct redlock_asked *asked = node_asked_at(&r->nodes[k], &r->config, i);

        may = may || (asked->lock == lock && asked->command == REDLOCK_COMMAND_EXTEND);
    }
    return may;
}

/* S5: a node that has missed a change is not to know the lock by three tokens. What it may have is
 * released like a key of an older attempt, and is no part of the promise. S17: if that was somebody
 * else's, it is left to its TTL. */
static void let_go_of_older_token(struct redlock *r, struct redlock_lock *lock)
{
    for (unsigned k = 0; k < r->node_count && !lock->is_adopted; k++)
        if (kind_has_two_tokens_on(lock, k) && !may_know_present_token(r, lock, k))
            stake_let_go(r, lock, k);
    REDLOCK_ASSERT(is_known_to_quorum(r, lock));
}

/* Like an extension by the lock's TTL. The lock has another token in its other role (S6). */
static enum redlock_status change_role(struct redlock *r, struct redlock_lock *lock,
                                       enum shared_role role, uint64_t now_us)
{
    bool is_upgrade = role == SHARED_UPGRADING;
    uint8_t token[REDLOCK_TOKEN_SIZE];
    enum redlock_status status;

    r->now_us = now_us;
    status = check_change(r, lock, is_upgrade);
    if (status != REDLOCK_OK) return status;
    if (!draw_token(r, token)) return REDLOCK_NO_ENTROPY;
    if (is_upgrade && !has_ticket_to_write(r, lock)) return REDLOCK_BAD_CLOCK;
    stake_use_scripts(r);
    lock_start(r, lock);
    lock->is_quiet = false;
    let_go_of_older_token(r, lock);
    shared_change_token(r, lock, token);
    shared_become(lock, role);
    extend_begin(r, lock, lock->ttl_ms);
    if (is_upgrade) pass_over_the_forgetful(r, lock);
    send_as_text(r, lock);
    lock_judge(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_start_upgrade(struct redlock *r, struct redlock_lock *lock,
                                          uint64_t now_us)
{
    return change_role(r, lock, SHARED_UPGRADING, now_us);
}

enum redlock_status redlock_start_downgrade(struct redlock *r, struct redlock_lock *lock,
                                            uint64_t now_us)
{
    return change_role(r, lock, SHARED_DOWNGRADED, now_us);
}
