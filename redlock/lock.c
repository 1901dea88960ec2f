#include "lock.h"

#include "acquire.h"
#include "events.h"
#include "extend.h"
#include "keeper.h"
#include "outcome.h"
#include "release.h"

/* ---- Verdicts ---- */

static void judge_acquiring(struct redlock *r, struct redlock_lock *lock)
{
    acquire_judge(r, lock);
    if (r->waking && lock->phase == REDLOCK_PHASE_WAITING && !lock->is_corrected)
        r->waking->begin(r, lock);
}

static void judge_extending(struct redlock *r, struct redlock_lock *lock)
{
    enum redlock_status status = extend_judge(r, lock);

    if (status == REDLOCK_PENDING) return;
    if (lock->kind->judged) status = lock->kind->judged(r, lock, status);
    if (status == REDLOCK_PENDING) {
        extend_begin(r, lock, lock->round.ttl_ms);
        return;
    }
    event_note(r, lock, REDLOCK_EVENT_VERDICT, status);
    if (is_quiet(lock)) {
        r->keeping->extended(r, lock, status);
        return;
    }
    outcome_set(r, lock, REDLOCK_PHASE_HELD, status);
    if (is_kept(lock) && status == REDLOCK_OK) r->keeping->schedule(r, lock);
}

void lock_judge(struct redlock *r, struct redlock_lock *lock)
{
    switch ((enum redlock_phase)lock->phase) {
    case REDLOCK_PHASE_ACQUIRING:  judge_acquiring(r, lock); break;
    case REDLOCK_PHASE_ENDING:     acquire_judge_ending(r, lock); break;
    case REDLOCK_PHASE_EXTENDING:  judge_extending(r, lock); break;
    case REDLOCK_PHASE_RELEASING:  release_judge(r, lock); break;
    case REDLOCK_PHASE_INSPECTING: r->inspecting->judge(r, lock); break;
    case REDLOCK_PHASE_IDLE:
    case REDLOCK_PHASE_WAITING:
    case REDLOCK_PHASE_NEEDS_ENTROPY:
    case REDLOCK_PHASE_HELD:       break;
    }
    lock_reschedule(r, lock);
}

/* ---- Answers of one node ---- */

/* Nothing of ours is on node k any longer, so commands that waited for that go on. A lock that has
 * ended needs its entry there no longer. */
static void stake_was_cleared(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    enum redlock_phase phase = (enum redlock_phase)lock->phase;

    event_note(r, lock, REDLOCK_EVENT_CLEARED, k);
    if (has_entry(lock, k) && (phase == REDLOCK_PHASE_IDLE || phase == REDLOCK_PHASE_RELEASING))
        stake_owe(r, lock, k);
    if (phase == REDLOCK_PHASE_EXTENDING || phase == REDLOCK_PHASE_RELEASING)
        round_vote(&lock->round, k, REDLOCK_VOTE_REFUSED);
    if (phase == REDLOCK_PHASE_ACQUIRING && round_vote_of(&lock->round, k) == REDLOCK_VOTE_PENDING)
        acquire_ask(r, lock, k);
    if (phase == REDLOCK_PHASE_WAITING && r->waking) r->waking->line_up(r, lock, k);
}

/* An answer to an older question is nothing to either. */
static void answer_question(struct redlock *r, const struct answer *a)
{
    if (a->lock->round.command == REDLOCK_COMMAND_GETRANGE) r->inspecting->answer(a);
    else                                                    r->holding->answer(a);
}

/* 2: it has woken another client. */
REDLOCK_OUTLINE static void answer_release(struct redlock *r, const struct answer *a)
{
    if (a->meaning == REDLOCK_ANSWER_GRANTED && a->reply->integer == 2 && r->waking)
        r->waking->has_woken(a->lock);
    release_answer(r, a);
}

static void hand_to_operation(struct redlock *r, const struct answer *a)
{
    switch (a->command) {
    case REDLOCK_COMMAND_ACQUIRE: acquire_answer(r, a); break;
    case REDLOCK_COMMAND_RESTORE: r->restoring->answer(r, a); break;
    case REDLOCK_COMMAND_EXTEND:  extend_answer(r, a); break;
    case REDLOCK_COMMAND_RELEASE: answer_release(r, a); break;
    case REDLOCK_COMMAND_WAIT:    r->waking->answer(r, a); break;
    default:                      answer_question(r, a); break;
    }
}

/* It is no stray. But after one its key is one more that a release may find. A full count stays,
 * since it may be too small. */
static void note_set_answered(struct redlock_stake *stake, enum redlock_answer meaning)
{
    unsigned count = stake->strays;

    REDLOCK_CHECK(count > 0);       /* Like lock_answer. */
    REDLOCK_ASSERT(count <= STRAYS_COUNT);      /* No SET is under way when it has more bits. */
    if (count < STRAYS_COUNT && (count == 1 || meaning == REDLOCK_ANSWER_REFUSED)) stake->strays--;
}

void lock_answer(struct redlock *r, const struct answer *a)
{
    struct redlock_stake *stake = &a->lock->stakes[a->k];
    bool was_there = stake->state != STAKE_NONE;

    /* Or it was made ready anew, or overwritten, while it was in use. */
    REDLOCK_CHECK(a->lock->outstanding > 0);
    a->lock->outstanding--;
    if (is_with_ttl(a->command)) {
        stake_note_end(r, a->lock);
        if (a->command != REDLOCK_COMMAND_EXTEND) note_set_answered(stake, a->meaning);
    }
    hand_to_operation(r, a);
    if (was_there && stake->state == STAKE_NONE && stake->want != REDLOCK_COMMAND_ACQUIRE)
        stake_was_cleared(r, a->lock, a->k);
    lock_judge(r, a->lock);
    REDLOCK_LOOK_AT_LOCK(r, a->lock);
}

/* ---- When a connection is lost ---- */

/* The node may have executed the command (S4). */
void lock_never_answered(struct redlock *r, unsigned k, const struct redlock_asked *asked)
{
    struct redlock_lock *lock = asked->lock;
    struct redlock_stake *stake;

    REDLOCK_ASSERT(!wire_gives_back(asked) || asked->command == REDLOCK_COMMAND_RELEASE);
    if (!lock) return;
    stake = &lock->stakes[k];
    lock->outstanding--;
    if (stake_is_vote(lock, asked->round == lock->round.number,
                      (enum redlock_command)asked->command))
        round_vote(&lock->round, k, REDLOCK_VOTE_UNKNOWN);
    lock->asking &= (uint16_t)~bit_of(k);
    if (is_with_ttl((enum redlock_command)asked->command)) {
        stake_note_end(r, lock);
        if (lock->kind->not_told)
            lock->kind->not_told(lock, k, (enum redlock_command)asked->command);
    }
    if (r->waking && wire_gives_back(asked)) r->waking->keep_entry(lock, k);
    if (stake->state == STAKE_LEAVING) stake_owe(r, lock, k);
    lock_judge(r, lock);
}

/* Releases stay in the queue, since they are debts. So do other commands if the node may be back at
 * once. A node that has not voted before is passed over. */
void lock_turn_away(struct redlock *r, unsigned k, struct redlock_lock *lock)
{
    struct redlock_stake *stake = &lock->stakes[k];

    if (!r->nodes[k].settled) return;
    if (stake->want == REDLOCK_COMMAND_RELEASE) {
        stake_give_up_waiting(lock, k);
    } else {
        round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
        stake_want_nothing(r, lock, k);
        lock->asking &= (uint16_t)~bit_of(k);
    }
    lock_judge(r, lock);
}

/* ---- Debts and time ---- */

/* The TTL has run out on the node, so nothing of ours is there. An entry there is given up, though
 * there may be others. */
static void forget_debts(struct redlock *r, struct redlock_lock *lock)
{
    lock->entries &= (uint16_t)~lock->owed;
    for (unsigned k = 0; k < r->node_count; k++) {
        if (lock->stakes[k].state != STAKE_OWED) continue;
        stake_clear(r, lock, k);
        stake_was_cleared(r, lock, k);
    }
}

/* S5: a debt is paid until the TTL has run out on the node. But while a command is not answered, a
 * SET may still be waiting there, and its TTL has not begun. */
static void tick_debts(struct redlock *r, struct redlock_lock *lock)
{
    bool expired = r->now_us >= lock->owed_until;

    if (expired && lock->outstanding > 0) {
        lock->owed_until = timeout_at(r);
        return;
    }
    if (expired) forget_debts(r, lock);
    if (r->now_us >= lock->debt_at) stake_pay(r, lock);
}

void lock_begin_with_entropy(struct redlock *r, struct redlock_lock *lock)
{
    acquire_begin(r, lock);
    lock_judge(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
}

static void tick_waiting(struct redlock *r, struct redlock_lock *lock)
{
    if (!r->waking || r->waking->tick(r, lock)) acquire_begin(r, lock);
}

void lock_tick(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->owed) tick_debts(r, lock);
    if (lock->phase == REDLOCK_PHASE_NEEDS_ENTROPY && r->now_us >= lock->retry_at)
        acquire_end_without_entropy(r, lock);
    if (lock->phase == REDLOCK_PHASE_WAITING && r->now_us >= lock->retry_at) tick_waiting(r, lock);
    if (lock->phase == REDLOCK_PHASE_HELD && is_kept(lock)) r->keeping->tick(r, lock);
    lock->has_timed_out = lock_is_past_deadline(r, lock);
    lock_judge(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
}
