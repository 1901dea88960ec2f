#include "shared.h"

#include "events.h"
#include "extend.h"
#include "lock.h"
#include "names.h"
#include "quorum.h"
#include "random.h"

static bool is_kind(const struct redlock_lock *lock, enum wire_shared which)
{
    return lock->kind == wire_shared_kind(which);
}

static bool shared_has_two_tokens_on(const struct redlock_lock *lock, unsigned k)
{
    const struct redlock_stake *stake = &lock->stakes[k];

    if (stake->state == STAKE_NONE) return false;
    if (lock->kind->rows[KIND_EXTEND] != wire_shared_kind(WIRE_UPGRADED)->rows[KIND_EXTEND]) return false;
    return !are_same_bytes(stake->token, lock->token, sizeof stake->token);
}

static bool shared_has_two_tokens(const struct redlock_lock *lock)
{
    for (unsigned k = 0; k < lock->round.node_count; k++)
        if (shared_has_two_tokens_on(lock, k)) return true;
    return false;
}

/* From now on the node knows it by its present token, if at all; unless a change of its role may still be executed there. */
static void forget_old_token(struct redlock_lock *lock, unsigned k)
{
    if (lock->stakes[k].strays & STRAYS_ROLE) return;
    copy_bytes(lock->stakes[k].token, lock->token, sizeof lock->stakes[k].token);
}

/* While an upgrade is under way the old token is still needed: it may have to be undone. */
static void shared_learn(const struct answer *a)
{
    bool is_told = a->meaning == WIRE_GRANTED || (a->meaning == WIRE_REFUSED && a->reply->integer == 0);

    if (is_told && !is_kind(a->lock, WIRE_UPGRADING)) forget_old_token(a->lock, a->k);
}

static void shared_not_told(struct redlock_lock *lock, unsigned k)
{
    if (shared_has_two_tokens_on(lock, k)) lock->stakes[k].strays |= STRAYS_ROLE;
}

static const struct redlock_kind *shared_kind(void)
{
    return wire_shared_kind(WIRE_SHARED);
}

/* ---- Another role ---- */

/* The lock goes by another token from now on, and where something of it is the one that it had is the one that lies there. */
static void change_token(struct redlock *r, struct redlock_lock *lock, const uint8_t token[REDLOCK_TOKEN_SIZE])
{
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].state == STAKE_PLACED) copy_bytes(lock->stakes[k].token, lock->token, REDLOCK_TOKEN_SIZE);
    copy_bytes(lock->token, token, REDLOCK_TOKEN_SIZE);
}

static void become(struct redlock_lock *lock, enum wire_shared which)
{
    lock->kind = wire_shared_kind(which);
    lock->name.shared = which != WIRE_UPGRADING && which != WIRE_UPGRADED;
}

/* The token by which the lock was a reader before it asked to be a writer: wherever anything of it is, that was there. */
static const uint8_t *reader_token(const struct redlock *r, const struct redlock_lock *lock)
{
    const uint8_t *token = lock->token;

    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].state == STAKE_PLACED) token = lock->stakes[k].token;
    return token;
}

/* It is a reader as before: with its old token and its old ticket. */
static void step_back(struct redlock *r, struct redlock_lock *lock, enum wire_shared which)
{
    uint8_t token[REDLOCK_TOKEN_SIZE];

    copy_bytes(token, reader_token(r, lock), sizeof token);
    change_token(r, lock, token);
    if (has_ticket(lock)) lock->ticket = lock->ticket_seen;
    become(lock, which);
}

/* S22: an upgrade that a quorum has not granted is undone where it was granted, or may have been: by an extension as a reader. */
static bool undo_upgrade(struct redlock *r, struct redlock_lock *lock, enum redlock_status status)
{
    bool is_held = lock_is_held(lock, r->now_us);

    event_note(r, lock, REDLOCK_EVENT_VERDICT, status);
    lock->attempt_status = (uint8_t)status;
    step_back(r, lock, is_held ? WIRE_UNDOING : WIRE_DOWNGRADED);
    if (is_held) extend_begin(r, lock, lock->round.ttl_ms);
    return is_held;
}

static void finish_upgrade(const struct redlock *r, struct redlock_lock *lock)
{
    become(lock, WIRE_UPGRADED);
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->round.granted & bit_of(k)) forget_old_token(lock, k);
}

static enum redlock_status shared_judged(struct redlock *r, struct redlock_lock *lock, enum redlock_status status)
{
    if (is_kind(lock, WIRE_UPGRADING)) {
        if (status == REDLOCK_OK) finish_upgrade(r, lock);
        else if (undo_upgrade(r, lock, status)) return REDLOCK_PENDING;
    }
    if (is_kind(lock, WIRE_UNDOING)) {
        become(lock, WIRE_DOWNGRADED);
        if (status != REDLOCK_LOST) status = (enum redlock_status)lock->attempt_status;
    }
    if (is_kind(lock, WIRE_CANCELLED) && status == REDLOCK_OK) become(lock, WIRE_DOWNGRADED);
    return status;
}

/* S22: an upgrade that is given up may have been granted: the next extension undoes it. Before that no quorum knows the lock by
 * its present token, so that there is no other upgrade, which would forget the token of the first. */
static void shared_cancelled(struct redlock *r, struct redlock_lock *lock)
{
    if (is_kind(lock, WIRE_UPGRADING)) step_back(r, lock, WIRE_CANCELLED);
    if (is_kind(lock, WIRE_UNDOING)) become(lock, WIRE_CANCELLED);
}

const struct redlock_sharing *sharing_feature(void)
{
    static const struct redlock_sharing feature = {
        .kind = shared_kind, .has_two_tokens_on = shared_has_two_tokens_on, .has_two_tokens = shared_has_two_tokens,
        .learn = shared_learn, .not_told = shared_not_told, .judged = shared_judged, .cancelled = shared_cancelled,
        .wait_row = wire_shared_wait, .give_back_row = wire_release_of_waiter
    };

    return &feature;
}

/* ---- Calls ---- */

bool redlock_is_shared(const struct redlock_lock *lock)
{
    return names_are_shared(names_of(lock), lock->name_count) || is_kind(lock, WIRE_UPGRADING);
}

/* Do so many nodes know it by its present token that what the others may know it by is a minority's? */
static bool is_known_to_quorum(const struct redlock *r, const struct redlock_lock *lock)
{
    unsigned known = 0;

    for (unsigned k = 0; k < r->node_count; k++)
        known += lock->stakes[k].state == STAKE_PLACED && !shared_has_two_tokens_on(lock, k);
    return known >= quorum_of(r->node_count);
}

static enum redlock_status check_change(const struct redlock *r, const struct redlock_lock *lock, bool is_upgrade)
{
    bool is_busy = lock->phase != PHASE_HELD && !is_quiet(lock);

    if (!r->sharing)                              return REDLOCK_BAD_CONFIG;
    if (!is_ours(r, lock))                        return REDLOCK_BAD_LOCK;
    if (lock->phase == PHASE_IDLE)                return REDLOCK_LOST;
    if (is_busy)                                  return REDLOCK_BAD_STATE;
    if (lock->name_count != 1)                    return REDLOCK_BAD_SET;
    if (lock->permit.count > 0)                   return REDLOCK_BAD_PERMITS;
    if (is_bridged(r, lock))                      return REDLOCK_BAD_REDISSON;
    if (lock->is_fair)                            return REDLOCK_BAD_FAIR;
    if (redlock_is_shared(lock) != is_upgrade)    return REDLOCK_BAD_STATE;
    if (lock_valid_us(lock, r->now_us) == 0)      return REDLOCK_LOST;
    if (!is_known_to_quorum(r, lock))             return REDLOCK_BAD_STATE;     /* S5: with a third token one would be forgotten. */
    if (lock->extension_limit > 0 && lock->extension_count >= lock->extension_limit) return REDLOCK_EXTENSION_LIMIT;   /* S13 */
    return REDLOCK_OK;
}

/* A ticket that is larger than that of every writer before; the reader's is kept beside it for as long as it may be needed. */
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
        if (lock->stakes[k].want == WIRE_EXTEND && !stake_may_ask(r, k, true)) {
            stake_want_nothing(r, lock, k);
            round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
        }
}

/* S5: as text, which needs no second try. A slow node's NOSCRIPT could come when the next change has begun: that would name two
 * tokens, and the lock be known there by the one before them. */
static void send_as_text(const struct redlock *r, struct redlock_lock *lock)
{
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].want == WIRE_EXTEND) lock->stakes[k].form = WIRE_BY_TEXT;
}

/* As an extension by the lock's TTL; in its other role it has another token (S6). */
static enum redlock_status change_role(struct redlock *r, struct redlock_lock *lock, enum wire_shared which, uint64_t now_us)
{
    bool is_upgrade = which == WIRE_UPGRADING;
    uint8_t token[REDLOCK_TOKEN_SIZE];
    enum redlock_status status;

    r->now_us = now_us;
    status = check_change(r, lock, is_upgrade);
    if (status != REDLOCK_OK) return status;
    if (!draw_token(r, token)) return REDLOCK_NO_ENTROPY;
    if (is_upgrade && !has_ticket_to_write(r, lock)) return REDLOCK_BAD_CLOCK;
    lock_start(r, lock);
    lock->is_quiet = false;
    change_token(r, lock, token);
    become(lock, which);
    extend_begin(r, lock, lock->ttl_ms);
    if (is_upgrade) pass_over_the_forgetful(r, lock);
    send_as_text(r, lock);
    lock_judge(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_start_upgrade(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    return change_role(r, lock, WIRE_UPGRADING, now_us);
}

enum redlock_status redlock_start_downgrade(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    return change_role(r, lock, WIRE_DOWNGRADED, now_us);
}
