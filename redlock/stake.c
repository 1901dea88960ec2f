#include "stake.h"

#include "events.h"
#include "kinds/plain.h"
#include "native.h"
#include "queue.h"
#include "quorum.h"

void stake_want(struct redlock *r, struct redlock_lock *lock, unsigned k,
                enum redlock_command command)
{
    REDLOCK_ASSERT(k < r->node_count && command > REDLOCK_COMMAND_READY &&
                   command < REDLOCK_COMMAND_QUESTION);
    REDLOCK_ASSERT((command != REDLOCK_COMMAND_ACQUIRE || lock->stakes[k].state != STAKE_OWED) &&
                   (command == REDLOCK_COMMAND_RELEASE) == (lock->stakes[k].state == STAKE_OWED));
    lock->stakes[k].want = (uint8_t)command;
    lock->stakes[k].form = REDLOCK_FORM_BY_SHA1;
    queue_add(&r->nodes[k].queue, lock, k);
    REDLOCK_ASSERT(queue_holds(lock, k));
}

void stake_want_nothing(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    REDLOCK_ASSERT(k < r->node_count);
    lock->stakes[k].want = REDLOCK_COMMAND_NONE;
    queue_remove(&r->nodes[k].queue, lock, k);
    REDLOCK_ASSERT(!queue_holds(lock, k));
}

void stake_set(struct redlock_lock *lock, unsigned k, enum stake state)
{
    static const uint8_t may_follow[] = {   /* The set of states that may follow each state. */
        [STAKE_NONE] = 1 << STAKE_NONE | 1 << STAKE_PLACED | 1 << STAKE_OWED,
        [STAKE_PLACED] = 1 << STAKE_NONE | 1 << STAKE_PLACED | 1 << STAKE_OWED,
        [STAKE_OWED] = 1 << STAKE_NONE | 1 << STAKE_OWED | 1 << STAKE_LEAVING,
        [STAKE_LEAVING] = 1 << STAKE_NONE | 1 << STAKE_OWED,
    };

    REDLOCK_ASSERT(may_follow[lock->stakes[k].state] >> state & 1);
    REDLOCK_ASSERT(state != STAKE_OWED || !lock->is_adopted);       /* S17 */
    lock->stakes[k].state = (uint8_t)state;
    lock->deferred &= (uint16_t)~bit_of(k);
    if (state == STAKE_OWED) lock->owed |= bit_of(k);
    else lock->owed &= (uint16_t)~bit_of(k);
    /* A question gives way to a release. */
    if (state == STAKE_OWED) lock->asking &= (uint16_t)~bit_of(k);
    REDLOCK_ASSERT((state == STAKE_OWED) == ((lock->owed & bit_of(k)) != 0) &&
                   !(lock->deferred & bit_of(k)));
}

void stake_clear(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    uint8_t want = lock->stakes[k].want;

    REDLOCK_ASSERT(lock->stakes[k].state != STAKE_NONE);
    stake_set(lock, k, STAKE_NONE);
    lock->stakes[k].strays = 0;
    if (want == REDLOCK_COMMAND_RELEASE || want == REDLOCK_COMMAND_EXTEND)
        stake_want_nothing(r, lock, k);
    REDLOCK_ASSERT(!((lock->owed | lock->deferred) & bit_of(k)));
}

/* S5 */
void stake_owe(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    stake_set(lock, k, STAKE_OWED);
    stake_want(r, lock, k, REDLOCK_COMMAND_RELEASE);
    event_note(r, lock, REDLOCK_EVENT_OWED, k);
    REDLOCK_ASSERT((lock->owed & ~(lock->deferred | lock->asking)) & bit_of(k));
}

void stake_give_up_waiting(struct redlock_lock *lock, unsigned k)
{
    bool is_waited_for =
        lock->phase == REDLOCK_PHASE_ACQUIRING || lock->phase == REDLOCK_PHASE_RELEASING;

    REDLOCK_ASSERT(lock->stakes[k].state == STAKE_OWED);
    if (lock->phase == REDLOCK_PHASE_ACQUIRING) round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
    if (lock->phase == REDLOCK_PHASE_RELEASING) round_vote(&lock->round, k, REDLOCK_VOTE_UNKNOWN);
    REDLOCK_ASSERT(!is_waited_for || round_vote_of(&lock->round, k) != REDLOCK_VOTE_PENDING);
}

void stake_defer(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    REDLOCK_ASSERT(lock->stakes[k].state == STAKE_LEAVING || lock->stakes[k].state == STAKE_PLACED);
    stake_set(lock, k, STAKE_OWED);
    lock->deferred |= bit_of(k);
    lock->debt_at = r->now_us + (uint64_t)DEBT_RETRY_MS * 1000;
    stake_give_up_waiting(lock, k);
    REDLOCK_ASSERT(lock->stakes[k].want != REDLOCK_COMMAND_RELEASE && lock->debt_at > r->now_us);
    REDLOCK_ASSERT(lock->owed & lock->deferred & bit_of(k));
}

void stake_pay(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT((lock->deferred & ~lock->owed) == 0);
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->deferred & bit_of(k)) stake_owe(r, lock, k);
    REDLOCK_ASSERT(lock->deferred == 0);
}

/* S4 */
void stake_let_go(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    struct redlock_stake *stake = &lock->stakes[k];

    REDLOCK_ASSERT(!lock->is_adopted);      /* S17 */
    if (stake->want != REDLOCK_COMMAND_RELEASE && stake->want != REDLOCK_COMMAND_PTTL)
        stake_want_nothing(r, lock, k);
    if (stake->state == STAKE_PLACED) stake_owe(r, lock, k);
    REDLOCK_ASSERT(stake->state != STAKE_PLACED);
    REDLOCK_ASSERT(stake->state != STAKE_OWED || stake->want == REDLOCK_COMMAND_RELEASE ||
                   lock->deferred & bit_of(k));
}

void stake_let_go_everywhere(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(!lock->is_adopted);      /* S17 */
    for (unsigned k = 0; k < r->node_count; k++) stake_let_go(r, lock, k);
    REDLOCK_ASSERT((lock->deferred & ~lock->owed) == 0);
}

void stake_note_end(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t ttl_us =
        (uint64_t)lock->owed_ttl_ms * 1000 + drift_us(lock->owed_ttl_ms, r->config.drift_ppm);

    REDLOCK_ASSERT(lock->owed_ttl_ms > 0);
    lock->owed_until = later(lock->owed_until, r->now_us + ttl_us);
    REDLOCK_ASSERT(lock->owed_until - r->now_us >= (uint64_t)lock->owed_ttl_ms * 1000);
}

/* ---- Answers ---- */

/* S11: within the guard a node is not even asked. */
bool stake_may_ask(const struct redlock *r, const struct redlock_lock *lock, unsigned k,
                   bool for_ticket)
{
    REDLOCK_ASSERT(k < r->node_count && !r->nodes[k].is_subscription);
    if (r->hashing && r->hashing->lacks(r, lock, k)) return false;
    return node_votes(&r->nodes[k], &r->config, for_ticket, r->now_us) || !r->nodes[k].settled;
}

/* S8: a vote counts for the round in which it was cast, and for the command of that round. A
 * release that cleans up after an older attempt may be sent during the next one, and is no
 * vote on it. */
bool stake_is_vote(const struct redlock_lock *lock, bool current, enum redlock_command command)
{
    REDLOCK_ASSERT(command > REDLOCK_COMMAND_READY && command < REDLOCK_COMMAND_QUESTION);
    return current && command == (enum redlock_command)lock->round.command;
}

void stake_vote(const struct answer *a)
{
    /* S16: such an answer has ended the connection. */
    REDLOCK_ASSERT(a->meaning != REDLOCK_ANSWER_WRONG);
    if (stake_is_vote(a->lock, a->current, a->command))
        round_vote(&a->lock->round, a->k, wire_vote(a->command, a->meaning, a->trouble));
}

/* Each server has words of its own for a command that it lacks, or that the user may not use. All
 * name the command. */
static enum redlock_trouble class_of(const struct wire_reply *reply)
{
    enum redlock_trouble class_of_error = wire_class(reply->text, reply->text_size);
    bool names_it = wire_says(reply, "evalsha") || wire_says(reply, "EVALSHA");

    return class_of_error == REDLOCK_TROUBLE_OTHER_ERROR && names_it ? REDLOCK_TROUBLE_NOSCRIPT
                                                                     : class_of_error;
}

/* NOSCRIPT: somebody ran SCRIPT FLUSH, or nobody has used the script there yet. */
static bool send_text(struct redlock *r, const struct answer *a)
{
    if (a->trouble != REDLOCK_TROUBLE_NOSCRIPT || a->form != REDLOCK_FORM_BY_SHA1) return false;
    REDLOCK_ASSERT(a->meaning == REDLOCK_ANSWER_ERROR);
    /* No scripts. */
    REDLOCK_ASSERT(a->command != REDLOCK_COMMAND_PTTL && a->command != REDLOCK_COMMAND_GETRANGE);
    if (a->command == REDLOCK_COMMAND_RELEASE) stake_set(a->lock, a->k, STAKE_OWED);
    REDLOCK_ASSERT(a->lock->stakes[a->k].state != STAKE_LEAVING);
    stake_want(r, a->lock, a->k, a->command);
    a->lock->stakes[a->k].form = REDLOCK_FORM_BY_TEXT;
    REDLOCK_ASSERT(queue_holds(a->lock, a->k));
    return true;
}

void stake_use_scripts(struct redlock *r)
{
    static const struct redlock_hashing feature = {
        .class_of = class_of, .send_text = send_text, .lacks = native_lacks, .row = native_row
    };

    r->hashing = &feature;
}

void stake_load_scripts(struct redlock *r)
{
    if (!r->scripts->loading) r->scripts = plain_scripts_for_one_loaded();
    stake_use_scripts(r);
}
