/* One lock, all nodes: it puts a command to all nodes at once, counts the votes, and draws the consequences: held, tried
 * again, released, owed. See lock.h.
 *
 * Reading order: phases, the acquire round, the other rounds, answers, lost connections, debts. */
#include "lock.h"
#include "queue.h"
#include "quorum.h"

#include <string.h>

/* xorshift32 (Marsaglia 2003): its state is never 0. */
REDLOCK_WRAPS uint32_t throw_dice(struct redlock *r, uint32_t range)
{
    uint32_t x = r->dice;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    r->dice = x;
    return (uint32_t)((uint64_t)x * range >> 32);
}

/* S6: what is given away is overwritten. */
bool draw_random(struct redlock *r, uint8_t *bytes, size_t size)
{
    if (r->entropy_size < size) return false;
    r->entropy_size = (uint8_t)(r->entropy_size - size);
    memcpy(bytes, r->entropy + r->entropy_size, size);
    memset(r->entropy + r->entropy_size, 0, size);
    return true;
}

/* ---- Phases ---- */

void lock_set_phase(struct redlock_lock *lock, enum phase phase)
{
    static const uint16_t may_follow[] = {   /* Of each phase: the set of those that may come next. */
        [PHASE_IDLE] = 1 << PHASE_WAITING | 1 << PHASE_HUNGRY | 1 << PHASE_ACQUIRING | 1 << PHASE_HELD | 1 << PHASE_INSPECTING,
        [PHASE_WAITING] = 1 << PHASE_IDLE | 1 << PHASE_HUNGRY | 1 << PHASE_ACQUIRING,
        [PHASE_HUNGRY] = 1 << PHASE_IDLE | 1 << PHASE_ACQUIRING,
        [PHASE_ACQUIRING] = 1 << PHASE_IDLE | 1 << PHASE_WAITING | 1 << PHASE_SETTLING | 1 << PHASE_HELD,
        [PHASE_SETTLING] = 1 << PHASE_IDLE,
        [PHASE_HELD] = 1 << PHASE_IDLE | 1 << PHASE_EXTENDING | 1 << PHASE_RELEASING,
        [PHASE_EXTENDING] = 1 << PHASE_HELD | 1 << PHASE_RELEASING | 1 << PHASE_IDLE,
        [PHASE_RELEASING] = 1 << PHASE_IDLE,
        [PHASE_INSPECTING] = 1 << PHASE_IDLE,
    };

    REDLOCK_CHECK(may_follow[lock->phase] >> phase & 1);
    lock->phase = (uint8_t)phase;
    if (phase != PHASE_HELD && phase != PHASE_EXTENDING) lock->is_kept = lock->is_quiet = false;
}

bool lock_is_in_round(const struct redlock_lock *lock)
{
    return lock->phase != PHASE_IDLE && lock->phase != PHASE_WAITING && lock->phase != PHASE_HUNGRY && lock->phase != PHASE_HELD;
}

bool lock_is_trying(const struct redlock_lock *lock)
{
    return lock->phase == PHASE_WAITING || lock->phase == PHASE_HUNGRY || lock->phase == PHASE_ACQUIRING;
}

struct redlock_queue *lock_queue(struct redlock *r, const struct redlock_lock *lock)
{
    return lock->phase == PHASE_WAITING ? &r->waiting : lock->phase == PHASE_HUNGRY ? &r->hungry : &r->done;
}

void lock_leave_queue(struct redlock *r, struct redlock_lock *lock)
{
    queue_remove(lock_queue(r, lock), lock, SLOT_DONE);
}

/* S10: by the clock, at every question. */
bool lock_is_held(const struct redlock_lock *lock, uint64_t now_us)
{
    return now_us >= lock->valid_from && now_us < lock->valid_until;
}

bool lock_is_overdue(const struct redlock *r, const struct redlock_lock *lock)
{
    return r->now_us >= lock->round.deadline_at;
}

void lock_reschedule(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t at = REDLOCK_NEVER;

    if (lock->phase == PHASE_WAITING || lock->phase == PHASE_HUNGRY) at = lock->retry_at;
    if (lock->phase == PHASE_HELD) at = keeper_wake_at(lock);
    if (lock_is_in_round(lock)) at = lock->round.deadline_at;
    if (lock->late) at = sooner(at, lock->debt_at);
    if (lock->owed) at = sooner(at, lock->owed_until);
    heap_set(&r->heap, lock, at);
}

/* A status that nobody has fetched is forgotten. */
void lock_start(struct redlock *r, struct redlock_lock *lock)
{
    queue_remove(&r->done, lock, SLOT_DONE);
    lock->status = REDLOCK_PENDING;
}

void lock_begin_round(struct redlock *r, struct redlock_lock *lock, enum wire_command command, uint64_t latest)
{
    round_begin(&lock->round, command, r->node_count, r->now_us, sooner(timeout_at(r), latest));
}

void lock_finish(struct redlock *r, struct redlock_lock *lock, enum phase phase, enum redlock_status status)
{
    if (lock->round.decided_at == 0) lock->round.decided_at = r->now_us;
    lock_leave_queue(r, lock);
    lock_set_phase(lock, phase);
    if (phase == PHASE_IDLE) stake_leave_waiters(r, lock);
    lock->status = (uint8_t)status;
    queue_add(&r->done, lock, SLOT_DONE);
}

/* ---- The acquire round ---- */

/* S11: within the guard a node is not even asked. */
bool lock_may_ask(const struct redlock *r, unsigned k, bool for_ticket)
{
    return node_votes(&r->nodes[k], &r->config, for_ticket, r->now_us) || !r->nodes[k].settled;
}

/* Puts the SET to node k, now or when what went before is settled there. */
static void ask_to_acquire(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    uint8_t state = lock->stakes[k].state;
    bool leaves_soon = state == STAKE_LEAVING || (state == STAKE_OWED && !(lock->late & bit_of(k)));
    bool may_ask = lock_may_ask(r, k, has_ticket(lock));

    if (state == STAKE_NONE && may_ask) stake_want(r, lock, k, WIRE_ACQUIRE);
    else if (!leaves_soon || !may_ask)  round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
}

void lock_clear_stake(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    struct redlock_stake *stake = &lock->stakes[k];
    bool is_over = lock->phase == PHASE_IDLE || lock->phase == PHASE_RELEASING;     /* So that it needs no place any more. */

    stake_set(lock, k, STAKE_NONE);
    if (stake->want == WIRE_RELEASE || stake->want == WIRE_EXTEND) stake_want_nothing(r, lock, k);
    if (has_place(lock, k) && is_over) stake_owe(r, lock, k);
    if (lock->phase == PHASE_EXTENDING || lock->phase == PHASE_RELEASING) round_vote(&lock->round, k, REDLOCK_VOTE_REFUSED);
    if (lock->phase == PHASE_ACQUIRING && round_vote_of(&lock->round, k) == REDLOCK_VOTE_PENDING)
        ask_to_acquire(r, lock, k);
    if (lock->phase == PHASE_WAITING) waiter_line_up(r, lock, k);
}

static void wait_for_entropy(struct redlock *r, struct redlock_lock *lock)
{
    lock_leave_queue(r, lock);
    lock_set_phase(lock, PHASE_HUNGRY);
    lock->retry_at = timeout_at(r);
    queue_add(&r->hungry, lock, SLOT_DONE);
}

/* With less left than this a win is none. */
static uint64_t min_validity_us(const struct redlock_lock *lock)
{
    return later(1, (uint64_t)lock->min_validity_ms * 1000);
}

/* S15: more than the wall clock, than every counter that a node told of, and than what was proposed before. But a node with a
 * wrong clock may tell of a counter that all others find too far ahead; then, for one attempt, by the wall clock alone. */
REDLOCK_WRAPS static bool propose_ticket(const struct redlock *r, struct redlock_lock *lock)
{
    uint64_t wall = r->now_us + lock->wall_offset_us, seen = later(lock->ticket, lock->ticket_seen);
    bool is_too_far = lock->is_ahead || seen >= WIRE_TICKET_MAX;

    if (!has_ticket(lock)) return true;
    if (is_too_far) lock->ticket_seen = 0;
    lock->is_ahead = false;
    lock->ticket = is_too_far ? wall : later(wall, seen + 1);
    return lock->ticket <= WIRE_TICKET_MAX;
}

/* Step 1 and 2 of the algorithm: "It gets the current time", "It tries to acquire the lock in all the N instances". The time
 * is that of the call, so from before the first byte leaves (S2). */
void lock_begin_attempt(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t drift = drift_us(lock->ttl_ms, r->config.drift_ppm);
    uint64_t latest = r->now_us + validity_us(lock->ttl_ms, 0, drift) - min_validity_us(lock) + 1;

    if (!propose_ticket(r, lock)) {
        lock_finish(r, lock, PHASE_IDLE, REDLOCK_BAD_CLOCK);
        return;
    }
    if (!draw_random(r, lock->token, sizeof lock->token)) {
        wait_for_entropy(r, lock);
        return;
    }
    lock_leave_queue(r, lock);
    lock_set_phase(lock, PHASE_ACQUIRING);
    lock->wakes = false;
    lock->is_yielding = false;
    lock->yields_to = 0;
    lock_begin_round(r, lock, WIRE_ACQUIRE, latest);
    round_set_ttl(&lock->round, lock->ttl_ms, drift);
    lock->told = lock->taken = 0;
    for (unsigned k = 0; k < r->node_count; k++) {
        lock->stakes[k].holder_ms = REDLOCK_UNTOLD;
        ask_to_acquire(r, lock, k);
    }
}

/* Nobody asks any more how long the holder has left. */
static void stop_asking(struct redlock *r, struct redlock_lock *lock)
{
    lock->told = 0;
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].want == WIRE_PTTL) stake_want_nothing(r, lock, k);
}

static void win(struct redlock *r, struct redlock_lock *lock)
{
    stop_asking(r, lock);
    lock->valid_from = lock->round.started_at;
    lock->valid_until = r->now_us + round_validity_us(&lock->round, r->now_us);
    lock->is_unconfirmed = false;
    lock->extension_count = 0;
    lock->wakes = true;
    if (!waiter_is_woken(r, lock)) lock->refusals = 0;
    lock->attempt_status = REDLOCK_OK;
    lock_finish(r, lock, PHASE_HELD, REDLOCK_OK);
}

/* Why a round is lost: time ran out while a quorum granted or still might; or enough nodes answer, and some refused; or too
 * few answer. */
static enum redlock_status loss_of(const struct redlock_round *round, bool has_run_out)
{
    unsigned quorum = quorum_of(round->node_count);
    unsigned possible = round_count(round->granted) + round_pending(round);

    if (has_run_out && possible + round_count(round->unknown) >= quorum) return REDLOCK_TOO_LATE;
    return possible + round_count(round->refused) >= quorum ? REDLOCK_TAKEN : REDLOCK_NO_QUORUM;
}

/* A clock behind those of others proposes too small a ticket, and is told so by nodes where the resource is free: the next
 * attempt may come at once, since nobody is in its way: the one exception from S14, which keeps rivals from meeting again and
 * again. Once: then somebody is. And only within the time to wait, like every other attempt but the first. */
static bool is_behind(const struct redlock *r, const struct redlock_lock *lock)
{
    bool is_outdated = has_ticket(lock) && lock->ticket_seen >= lock->ticket && lock->taken == 0;

    return is_outdated && !lock->is_corrected && r->now_us < lock->wait_until;
}

/* Step 5: "it will try to unlock all the instances (even the instances it believed it was not able to lock)" (S5). */
static void lose(struct redlock *r, struct redlock_lock *lock)
{
    lock->round.decided_at = r->now_us;
    lock->attempt_status = (uint8_t)loss_of(&lock->round, round_validity_us(&lock->round, r->now_us) < min_validity_us(lock));
    stake_let_go_everywhere(r, lock);
    if (is_behind(r, lock)) {
        lock->is_corrected = true;
        lock_set_phase(lock, PHASE_WAITING);
        lock->retry_at = r->now_us;
    } else {
        lock->is_corrected = false;
        if (!waiter_begin(r, lock)) lock_set_phase(lock, PHASE_SETTLING);
    }
}

static void judge_settling(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->told != 0 && !lock_is_overdue(r, lock)) return;
    stop_asking(r, lock);
    lock_finish(r, lock, PHASE_IDLE, lock->wait_until == 0 ? (enum redlock_status)lock->attempt_status : REDLOCK_TIMEOUT);
}

static void judge_acquiring(struct redlock *r, struct redlock_lock *lock)
{
    if (lock_is_overdue(r, lock)) round_close(&lock->round);
    switch (round_verdict(&lock->round, r->now_us, min_validity_us(lock))) {
    case VERDICT_PENDING: return;
    case VERDICT_WON:     win(r, lock); return;
    case VERDICT_LOST:    lose(r, lock);
    }
    if (lock->phase == PHASE_SETTLING) judge_settling(r, lock);
}

/* ---- The other rounds ---- */

void lock_begin_extension(struct redlock *r, struct redlock_lock *lock, uint32_t ttl_ms)
{
    if (lock->phase != PHASE_EXTENDING) lock_set_phase(lock, PHASE_EXTENDING);
    lock_begin_round(r, lock, WIRE_EXTEND, lock->valid_until);
    round_set_ttl(&lock->round, ttl_ms, drift_us(ttl_ms, r->config.drift_ppm));
    for (unsigned k = 0; k < r->node_count; k++) {
        if (lock->stakes[k].state == STAKE_PLACED && lock_may_ask(r, k, false)) {
            stake_want(r, lock, k, WIRE_EXTEND);
        } else {    /* What may lie there is part of the old promise: it stays. */
            if (lock->stakes[k].want != WIRE_RELEASE) stake_want_nothing(r, lock, k);
            round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
        }
    }
}

/* A node that has lost the key, or never had it, gets it while a quorum has just confirmed the lock: by SET NX with the same
 * token, within the old validity, and without a vote in this round. So at no time has a rival, and the next extension has one
 * node more to count on. Where a quorum has lost the key nothing is set: somebody may have meant it. */
static void restore(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    enum redlock_vote vote = round_vote_of(&lock->round, k);
    uint8_t state = lock->stakes[k].state;
    bool is_missing = (vote == REDLOCK_VOTE_REFUSED && state == STAKE_PLACED) ||
                      (vote == REDLOCK_VOTE_NOT_ASKED && state == STAKE_NONE);

    if (is_missing && !lock_is_overdue(r, lock) && lock_may_ask(r, k, has_ticket(lock))) stake_want(r, lock, k, WIRE_RESTORE);
}

static void finish_extension(struct redlock *r, struct redlock_lock *lock, enum redlock_status status)
{
    if (is_quiet(lock)) {
        lock->is_quiet = false;
        lock->round.decided_at = r->now_us;
        lock_set_phase(lock, PHASE_HELD);
        keeper_extended(r, lock, status);
    } else {
        lock_finish(r, lock, PHASE_HELD, status);
        if (is_kept(lock) && status == REDLOCK_OK) keeper_schedule(r, lock);
    }
}

/* S9: counts only when a quorum confirms it before the old validity ends, and runs from the extension's start. What was
 * promised before stands in any case: no key was shortened (S7). Nodes that could not be asked yet when it is won are asked
 * nevertheless. */
static void judge_extending(struct redlock *r, struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;
    bool ended = r->now_us >= lock->valid_until || r->now_us < lock->valid_from;
    enum verdict verdict;

    if (lock_is_overdue(r, lock)) round_close(&lock->round);
    verdict = ended ? VERDICT_LOST : round_verdict(round, r->now_us, 0);
    if (verdict == VERDICT_PENDING) return;
    if (verdict == VERDICT_LOST) {
        if (lock->is_unconfirmed) lock->valid_until = 0;
        lock->round.deadline_at = r->now_us;    /* Nothing is sent for it any more, even if the acquire began just now. */
        finish_extension(r, lock, ended ? REDLOCK_LOST : loss_of(round, round_validity_us(round, r->now_us) == 0));
        return;
    }
    if (lock->is_unconfirmed) lock->valid_until = 0;    /* Nobody had promised that. */
    lock->is_unconfirmed = false;
    lock->valid_from = round->started_at;
    lock->valid_until = later(lock->valid_until, r->now_us + round_validity_us(round, r->now_us));
    lock->extension_count++;
    for (unsigned k = 0; k < r->node_count; k++) restore(r, lock, k);
    finish_extension(r, lock, REDLOCK_OK);
}

/* A quorum that confirms is enough; else all are waited for that can answer. What did not is owed. */
static void judge_releasing(struct redlock *r, struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;
    unsigned quorum = quorum_of(round->node_count);
    bool confirmed = round_count(round->granted) >= quorum;

    if (!confirmed && round_pending(round) > 0 && !lock_is_overdue(r, lock)) return;
    lock_finish(r, lock, PHASE_IDLE, !confirmed && round_count(round->refused) >= quorum ? REDLOCK_LOST : REDLOCK_OK);
}

static void judge_inspecting(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->told != 0 && !lock_is_overdue(r, lock)) return;
    for (unsigned k = 0; k < r->node_count; k++) stake_want_nothing(r, lock, k);
    lock->told = 0;
    lock->sights = NULL;
    lock_finish(r, lock, PHASE_IDLE, REDLOCK_OK);
}

void lock_judge(struct redlock *r, struct redlock_lock *lock)
{
    switch ((enum phase)lock->phase) {
    case PHASE_ACQUIRING:  judge_acquiring(r, lock); break;
    case PHASE_SETTLING:   judge_settling(r, lock); break;
    case PHASE_EXTENDING:  judge_extending(r, lock); break;
    case PHASE_RELEASING:  judge_releasing(r, lock); break;
    case PHASE_INSPECTING: judge_inspecting(r, lock); break;
    case PHASE_IDLE:
    case PHASE_WAITING:
    case PHASE_HUNGRY:
    case PHASE_HELD:       break;
    }
    lock_reschedule(r, lock);
}

/* ---- Answers of one node ---- */

/* S8: a vote counts for the round that it was cast in, and for what that round asks: a release that tidies up behind an older
 * attempt may go out during the next one, and says nothing about it. */
static bool is_vote(const struct redlock_lock *lock, bool current, enum wire_command command)
{
    return current && command == (enum wire_command)lock->round.command;
}

static void vote(const struct answer *a)
{
    /* To a release, a key of another type is as good as "gone". */
    bool is_gone = a->command == WIRE_RELEASE && a->trouble == REDLOCK_TROUBLE_WRONGTYPE;
    enum redlock_vote vote = a->meaning == WIRE_GRANTED            ? REDLOCK_VOTE_GRANTED
                           : a->meaning == WIRE_REFUSED || is_gone ? REDLOCK_VOTE_REFUSED
                                                                   : REDLOCK_VOTE_UNKNOWN;      /* S4 */

    if (is_vote(a->lock, a->current, a->command)) round_vote(&a->lock->round, a->k, vote);
}

uint32_t lock_ms_of(int64_t pttl)
{
    if (pttl == -1) return REDLOCK_FOREVER;     /* No TTL. */
    if (pttl < 0)   return 0;                   /* No key any more. */
    return pttl < REDLOCK_UNTOLD ? (uint32_t)pttl : REDLOCK_UNTOLD - 1;
}

/* Asks how long the holder has left; a script has said it with its refusal, and the largest ticket as well (S15). */
static void learn_from_refusal(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    uint64_t counter;
    int64_t pttl;

    if (WITH_TICKETS && a->scripted && wire_read_refusal(a->reply, &counter, &pttl)) {
        lock->ticket_seen = later(lock->ticket_seen, counter);
        lock->stakes[a->k].holder_ms = lock_ms_of(pttl);
        if (pttl != -2) lock->taken |= bit_of(a->k);
    } else if (lock->phase != PHASE_WAITING) {
        lock->told |= bit_of(a->k);
        stake_want(r, lock, a->k, WIRE_PTTL);
    }
}

/* NOSCRIPT (somebody ran SCRIPT FLUSH, or nobody has used the script there yet) is answered by EVAL at once, within the same
 * round. */
static bool send_script(struct redlock *r, const struct answer *a)
{
    if (a->meaning != WIRE_ERROR || a->trouble != REDLOCK_TROUBLE_NOSCRIPT || a->eval) return false;
    if (a->command == WIRE_RELEASE) stake_set(a->lock, a->k, STAKE_OWED);
    stake_want(r, a->lock, a->k, a->command);
    a->lock->stakes[a->k].eval = true;
    return true;
}

/* A refusal proves that nothing of ours is there: no release is needed. One that has been sent already is still answered, and
 * only then the lock lines up. */
static void answer_acquire(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    uint8_t state = lock->stakes[a->k].state;
    bool is_wanted = lock->phase == PHASE_ACQUIRING || lock->phase == PHASE_WAITING || lock->phase == PHASE_SETTLING;
    bool is_open = lock->phase == PHASE_ACQUIRING || lock->phase == PHASE_HELD;      /* Each node more is one that may be lost. */

    if (a->current && is_open && send_script(r, a)) {
        stake_set(lock, a->k, STAKE_NONE);
        return;
    }
    vote(a);
    if (a->current && a->trouble == REDLOCK_TROUBLE_AHEAD)
        lock->is_ahead = lock->ticket > lock->round.started_at + lock->wall_offset_us;
    if (a->meaning != WIRE_REFUSED) return;
    if (state == STAKE_PLACED || state == STAKE_OWED) lock_clear_stake(r, lock, a->k);
    if (a->current && is_wanted) learn_from_refusal(r, a);
}

static void answer_extend(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    bool is_open = a->current && lock->phase == PHASE_EXTENDING;
    bool is_won = a->current && lock->phase == PHASE_HELD && lock->valid_from == lock->round.started_at;
    bool is_in_time = is_won && !lock_is_overdue(r, lock);      /* Each node more is one that may be lost. */

    if ((is_open || is_in_time) && send_script(r, a)) return;
    vote(a);
    if (is_won) restore(r, lock, a->k);
}

/* What was set again is there, or is not: both are known by the next extension. An error says nothing. */
static void answer_restore(struct redlock *r, const struct answer *a)
{
    bool is_open = a->lock->phase == PHASE_HELD && a->lock->stakes[a->k].state == STAKE_PLACED && !lock_is_overdue(r, a->lock);

    if (is_open) (void)send_script(r, a);
}

/* A release that was not executed has not given back a place among the waiters either. */
static void keep_place(struct redlock_lock *lock, unsigned k)
{
    if (WITH_WAITERS && lock->wait_number != 0 && !lock_is_trying(lock)) lock->waits |= bit_of(k);
}

/* "Gone" is the end of it, unless the SET may still be on its way on a connection that broke: then once more, later. So it is
 * with a key that was there, if it may have been that of another SET. An error leaves it owed, but for a key of another type,
 * which is not ours. */
static void answer_release(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    struct redlock_stake *stake = &lock->stakes[a->k];
    bool is_gone = a->meaning == WIRE_REFUSED || a->trouble == REDLOCK_TROUBLE_WRONGTYPE;
    bool is_settled = (is_gone && stake->strays == 0) || (a->meaning == WIRE_GRANTED && stake->strays < 2);

    REDLOCK_CHECK(stake->state == STAKE_LEAVING);
    if (a->meaning == WIRE_ERROR && !is_gone) keep_place(lock, a->k);
    if (send_script(r, a)) return;
    vote(a);
    if (a->meaning == WIRE_GRANTED && a->reply->integer == 2) lock->yields_to = waiter_hash(lock);
    if (is_settled) lock_clear_stake(r, lock, a->k);
    else            stake_owe_later(r, lock, a->k);
    if (is_gone || is_settled)           stake->strays = 0;
    else if (a->meaning == WIRE_GRANTED) stake->strays = 1;
}

static void see_value(struct redlock_sight *sight, const struct answer *a)
{
    bool is_longer = a->reply->text_size > REDLOCK_TOKEN_TEXT;      /* By one byte, or by more where the node is no Redis. */
    size_t size = is_longer ? REDLOCK_TOKEN_TEXT : a->reply->text_size;

    sight->is_string = a->trouble != REDLOCK_TROUBLE_WRONGTYPE;
    sight->is_readable = a->meaning == WIRE_GRANTED;
    if (!sight->is_readable) return;
    memcpy(sight->value, a->reply->text, size);
    sight->value[size] = '\0';
    sight->value_size = (uint32_t)size + is_longer;
}

static void see_ttl(struct redlock_sight *sight, const struct answer *a)
{
    sight->seen = a->meaning == WIRE_GRANTED;
    sight->exists = sight->seen && a->reply->integer != -2;
    sight->has_ttl = sight->exists && a->reply->integer != -1;
    sight->ttl_ms = sight->has_ttl ? lock_ms_of(a->reply->integer) : 0;
}

static void answer_question(const struct answer *a)
{
    struct redlock_lock *lock = a->lock;

    if (!a->current) return;
    if (a->command == WIRE_GETRANGE) {
        if (lock->sights) see_value(&lock->sights[a->k], a);
        return;
    }
    lock->told &= (uint16_t)~bit_of(a->k);
    if (lock->sights) see_ttl(&lock->sights[a->k], a);
    else if (a->meaning == WIRE_GRANTED) lock->stakes[a->k].holder_ms = lock_ms_of(a->reply->integer);
}

/* A place that is to be taken anew is asked for without the script first. */
static bool is_in_wait(const struct answer *a)
{
    return a->current && a->lock->phase == PHASE_WAITING && a->lock->stakes[a->k].want == WIRE_NONE;
}

void lock_answer(struct redlock *r, const struct answer *a)
{
    a->lock->outstanding--;
    if (is_with_ttl(a->command)) stake_note_end(r, a->lock);
    switch (a->command) {
    case WIRE_ACQUIRE: answer_acquire(r, a); break;
    case WIRE_RESTORE: answer_restore(r, a); break;
    case WIRE_EXTEND:  answer_extend(r, a); break;
    case WIRE_RELEASE: answer_release(r, a); break;
    case WIRE_WAIT:    if (!is_in_wait(a) || !send_script(r, a)) waiter_answer(r, a); break;
    default:           answer_question(a); break;
    }
    lock_judge(r, a->lock);
}

/* ---- When a connection is lost ---- */

/* A command will not be answered any more. Whatever it was about may have happened (S4). */
void lock_never_answered(struct redlock *r, unsigned k, const struct redlock_asked *asked)
{
    struct redlock_lock *lock = asked->lock;
    struct redlock_stake *stake;

    if (!lock) return;
    stake = &lock->stakes[k];
    lock->outstanding--;
    if (is_vote(lock, asked->round == lock->round.number, (enum wire_command)asked->command))
        round_vote(&lock->round, k, REDLOCK_VOTE_UNKNOWN);
    lock->told &= (uint16_t)~bit_of(k);
    if (is_with_ttl((enum wire_command)asked->command)) stake_note_end(r, lock);
    if ((asked->command == WIRE_ACQUIRE || asked->command == WIRE_RESTORE) && stake->strays == 0) stake->strays = 1;
    if (asked->command == WIRE_RELEASE) keep_place(lock, k);
    if (stake->state == STAKE_LEAVING) stake_owe(r, lock, k);
    lock_judge(r, lock);
}

/* A command waits in the queue of a node that cannot take it now. Releases stay there: they are debts. So do others where the
 * node may be back at once. */
void lock_turn_away(struct redlock *r, unsigned k, struct redlock_lock *lock)
{
    struct redlock_stake *stake = &lock->stakes[k];

    if (!r->nodes[k].settled) return;
    if (stake->want == WIRE_RELEASE) {
        stake_give_up_waiting(lock, k);
    } else {
        if (stake->want == WIRE_ACQUIRE || stake->want == WIRE_EXTEND) round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
        stake_want_nothing(r, lock, k);
        lock->told &= (uint16_t)~bit_of(k);
    }
    lock_judge(r, lock);
}

/* ---- Debts and time ---- */

/* S5: a debt is paid until the TTL has run out on the node. After that nothing of ours is there; but while something is not
 * answered, a SET may still be waiting there, and its TTL has not begun. */
static void tick_debts(struct redlock *r, struct redlock_lock *lock)
{
    bool expired = r->now_us >= lock->owed_until;

    if (expired && lock->outstanding > 0) {
        lock->owed_until = timeout_at(r);
        return;
    }
    if (expired) lock->waits &= (uint16_t)~lock->owed;      /* Those places are given up; there may be others. */
    for (unsigned k = 0; k < r->node_count && expired; k++)
        if (lock->stakes[k].state == STAKE_OWED) lock_clear_stake(r, lock, k);
    if (lock->late && r->now_us >= lock->debt_at) redlock_pay(r, lock, r->now_us);
}

void lock_tick(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->owed) tick_debts(r, lock);
    if (lock->phase == PHASE_HUNGRY && r->now_us >= lock->retry_at) lock_finish(r, lock, PHASE_IDLE, REDLOCK_NO_ENTROPY);
    if (lock->phase == PHASE_WAITING && r->now_us >= lock->retry_at) waiter_tick(r, lock);
    if (lock->phase == PHASE_HELD) keeper_tick(r, lock);
    lock_judge(r, lock);
}
