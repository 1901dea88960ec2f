/* The engine: locks x nodes. It puts a lock's commands to all nodes at once, counts the votes, and draws the consequences:
 * held, tried again, released, owed. No I/O, no clock, no dice: all of that comes in by arguments.
 *
 * For each lock and node there is a stake: what of ours may lie there, and the one command that is to be sent next.
 *
 *     STAKE_NONE  --SET sent-->  STAKE_PLACED  --to be released-->  STAKE_OWED  --sent-->  STAKE_LEAVING  --answered--> NONE
 *
 * A SET goes to a node only from STAKE_NONE, so that of one lock never more than one token is anywhere on one node; the
 * stake remembers which (S6). What breaks on the way (connection, error) falls back to STAKE_OWED: a debt (S5).
 *
 * Reading order: asking and answering (one node), then the rounds (all nodes), then the calls of redlock.h. */
#include "node.h"
#include "queue.h"
#include "quorum.h"
#include "round.h"
#include "wire.h"

#include <string.h>

_Static_assert(WIRE_COMMAND_MAX <= REDLOCK_SEND_MIN(0), "REDLOCK_SEND_MIN must hold the longest command");
_Static_assert(REDLOCK_TOKEN_TEXT == 2 * REDLOCK_TOKEN_SIZE && REDLOCK_RUN_ID_SIZE == REDLOCK_TOKEN_SIZE,
               "a run_id is read like a token");

enum stake {
    STAKE_NONE,         /* Nothing of ours is there. */
    STAKE_PLACED,       /* A SET was sent: our token may be there, granted or not yet known. */
    STAKE_OWED,         /* It is to be released. */
    STAKE_LEAVING       /* The release is on its way. */
};

enum phase {
    PHASE_IDLE,         /* Nothing is under way; something may be owed. */
    PHASE_WAITING,      /* For the next attempt at retry_at, or for random bytes. */
    PHASE_ACQUIRING,
    PHASE_SETTLING,     /* The last attempt is lost; nodes are asked how long the holder has left. */
    PHASE_HELD,         /* Won. Whether it is still held only the clock tells (S10). */
    PHASE_EXTENDING,
    PHASE_RELEASING,
    PHASE_INSPECTING
};

enum {
    DEBT_RETRY_MS = 1000,           /* When a node would not or could not take a release: how long until the next try. */
    SLOT_DONE = REDLOCK_NODES_MAX   /* The link for a queue that is of no node: done, or hungry in PHASE_WAITING. */
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t timeout_at(const struct redlock *r)
{
    return r->now_us + (uint64_t)r->config.node_timeout_ms * 1000;
}

/* A number from 0 to less than range, for delays: xorshift32 (Marsaglia 2003), whose state is never 0. */
static uint32_t throw_dice(struct redlock *r, uint32_t range)
{
    uint32_t x = r->dice;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    r->dice = x;
    return (uint32_t)((uint64_t)x * range >> 32);
}

static bool is_overdue(const struct redlock *r, const struct redlock_lock *lock)
{
    return r->now_us >= lock->round.deadline_at;
}

/* ---- Asking one node ---- */

static void want(struct redlock *r, struct redlock_lock *lock, unsigned k, enum wire_command command)
{
    lock->stakes[k].want = (uint8_t)command;
    lock->stakes[k].eval = false;
    queue_add(&r->nodes[k].queue, lock, k);
}

static void want_nothing(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    lock->stakes[k].want = WIRE_NONE;
    queue_remove(&r->nodes[k].queue, lock, k);
}

static void set_stake(struct redlock_lock *lock, unsigned k, enum stake state)
{
    lock->stakes[k].state = (uint8_t)state;
    lock->late &= (uint16_t)~bit_of(k);
    if (state == STAKE_OWED) lock->owed |= bit_of(k);
    else lock->owed &= (uint16_t)~bit_of(k);
}

/* To be released at once, or as soon as there is a connection: a release waits in the node's queue (S5). */
static void owe(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    set_stake(lock, k, STAKE_OWED);
    want(r, lock, k, WIRE_RELEASE);
}

/* An attempt that waited until an older stake on node k is settled goes on without that node. */
static void give_up_waiting(struct redlock_lock *lock, unsigned k)
{
    if (lock->phase == PHASE_ACQUIRING) round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
}

/* To be released, but not now: the node would not do it, or a SET may still come behind the release. */
static void owe_later(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    set_stake(lock, k, STAKE_OWED);
    lock->late |= bit_of(k);
    lock->debt_at = r->now_us + (uint64_t)DEBT_RETRY_MS * 1000;
    give_up_waiting(lock, k);
}

/* Lets go of whatever may be on node k: grants, and what is unknown, alike (S4). */
static void let_go(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    struct redlock_stake *stake = &lock->stakes[k];

    if (stake->want == WIRE_ACQUIRE || stake->want == WIRE_EXTEND) want_nothing(r, lock, k);
    if (stake->state == STAKE_PLACED) owe(r, lock, k);
}

static void let_go_everywhere(struct redlock *r, struct redlock_lock *lock)
{
    for (unsigned k = 0; k < r->node_count; k++) let_go(r, lock, k);
}

/* Until when a key may be there whose TTL begins now at the latest. */
static void note_owed_until(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t ttl_us = (uint64_t)lock->owed_ttl_ms * 1000 + drift_us(lock->owed_ttl_ms, r->config.drift_ppm);

    lock->owed_until = later(lock->owed_until, r->now_us + ttl_us);
}

/* A TTL goes out: to be noted now, and when the node has answered, since it begins there only then. */
static void note_ttl(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->round.ttl_ms > lock->owed_ttl_ms) lock->owed_ttl_ms = lock->round.ttl_ms;
    note_owed_until(r, lock);
}

/* A lock's command has gone into the send buffer of node k. */
static void note_asked(struct redlock *r, struct redlock_lock *lock, unsigned k, enum wire_command command)
{
    struct redlock_stake *stake = &lock->stakes[k];
    struct redlock_asked asked = {
        .lock = lock, .round = lock->round.number, .command = (uint8_t)command, .eval = stake->eval
    };

    node_asked(&r->nodes[k], &r->config, r->now_us, &asked);
    lock->outstanding++;
    want_nothing(r, lock, k);
    switch (command) {
    case WIRE_ACQUIRE:
        memcpy(stake->token, lock->token, sizeof stake->token);
        stake->stale = false;
        set_stake(lock, k, STAKE_PLACED);
        note_ttl(r, lock);
        break;
    case WIRE_EXTEND:   note_ttl(r, lock); break;
    case WIRE_RELEASE:  set_stake(lock, k, STAKE_LEAVING); break;
    case WIRE_GETRANGE: want(r, lock, k, WIRE_PTTL); break;
    default:            break;
    }
}

/* Encodes what the lock wants of node k, from its own fields. False: it does not fit now. */
static bool put(struct redlock *r, struct redlock_lock *lock, unsigned k, struct resp_writer *w)
{
    struct redlock_stake *stake = &lock->stakes[k];
    enum wire_command command = (enum wire_command)stake->want;
    struct wire_subject subject = {
        .resource = lock->resource,
        .resource_size = lock->resource_size,
        .token = command == WIRE_RELEASE ? stake->token : lock->token,
        .ttl_ms = lock->round.ttl_ms,
        .eval = stake->eval,
    };

    if (command == WIRE_ACQUIRE && is_overdue(r, lock)) {   /* Won meanwhile without this node. */
        want_nothing(r, lock, k);
        return true;
    }
    if (!wire_put(w, command, &subject)) return false;
    note_asked(r, lock, k, command);
    return true;
}

static void fill_send_buffer(struct redlock *r, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];
    struct resp_writer w;

    resp_write_begin(&w, node->send, r->config.send_size, node->send_end);
    while (node->queue.first && node_can_ask(node, &r->config))
        if (!put(r, node->queue.first, k, &w)) break;
    node->send_end = (uint32_t)w.used;
}

/* ---- Phases ---- */

static void set_phase(struct redlock_lock *lock, enum phase phase)
{
    static const uint8_t may_follow[] = {   /* Of each phase: the set of those that may come next. */
        [PHASE_IDLE] = 1 << PHASE_WAITING | 1 << PHASE_ACQUIRING | 1 << PHASE_HELD | 1 << PHASE_INSPECTING,
        [PHASE_WAITING] = 1 << PHASE_IDLE | 1 << PHASE_ACQUIRING,
        [PHASE_ACQUIRING] = 1 << PHASE_IDLE | 1 << PHASE_WAITING | 1 << PHASE_SETTLING | 1 << PHASE_HELD,
        [PHASE_SETTLING] = 1 << PHASE_IDLE,
        [PHASE_HELD] = 1 << PHASE_IDLE | 1 << PHASE_EXTENDING | 1 << PHASE_RELEASING,
        [PHASE_EXTENDING] = 1 << PHASE_HELD | 1 << PHASE_RELEASING | 1 << PHASE_IDLE,
        [PHASE_RELEASING] = 1 << PHASE_IDLE,
        [PHASE_INSPECTING] = 1 << PHASE_IDLE,
    };

    REDLOCK_CHECK(may_follow[lock->phase] >> phase & 1);
    lock->phase = (uint8_t)phase;
}

static bool is_round(const struct redlock_lock *lock)
{
    return lock->phase != PHASE_IDLE && lock->phase != PHASE_WAITING && lock->phase != PHASE_HELD;
}

/* When the lock must be looked at again. */
static void reschedule(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t at = REDLOCK_NEVER;

    if (lock->phase == PHASE_WAITING) at = lock->retry_at;
    if (is_round(lock)) at = lock->round.deadline_at;
    if (lock->late) at = sooner(at, lock->debt_at);
    if (lock->owed) at = sooner(at, lock->owed_until);
    heap_set(&r->heap, lock, at);
}

/* The operation begins. A status that nobody has fetched is forgotten. */
static void start(struct redlock *r, struct redlock_lock *lock)
{
    queue_remove(&r->done, lock, SLOT_DONE);
    lock->status = REDLOCK_PENDING;
}

/* Begins a round about a command, which ends with the node timeout or at latest, whichever comes first. */
static void begin_round(struct redlock *r, struct redlock_lock *lock, enum wire_command command, uint64_t latest)
{
    round_begin(&lock->round, command, r->node_count, r->now_us, sooner(timeout_at(r), latest));
}

/* The operation ends. */
static void finish(struct redlock *r, struct redlock_lock *lock, enum phase phase, enum redlock_status status)
{
    if (lock->round.decided_at == 0) lock->round.decided_at = r->now_us;
    set_phase(lock, phase);
    lock->status = (uint8_t)status;
    queue_add(&r->done, lock, SLOT_DONE);
}

/* ---- The acquire round ---- */

/* The random bytes of a token are used once and gone (S6). */
static bool draw_token(struct redlock *r, uint8_t token[REDLOCK_TOKEN_SIZE])
{
    if (r->entropy_size < REDLOCK_TOKEN_SIZE) return false;
    r->entropy_size = (uint8_t)(r->entropy_size - REDLOCK_TOKEN_SIZE);
    memcpy(token, r->entropy + r->entropy_size, REDLOCK_TOKEN_SIZE);
    memset(r->entropy + r->entropy_size, 0, REDLOCK_TOKEN_SIZE);
    return true;
}

/* Has it a vote, or is it not yet known whether it has? Then the command waits for it in its queue. */
static bool may_vote(const struct redlock_node *node, uint64_t now_us)
{
    return node_votes(node, now_us) || !node->settled;
}

/* Puts the SET to node k, now or when what went before is settled there. */
static void ask_to_acquire(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];
    uint8_t state = lock->stakes[k].state;
    bool leaves_soon = state == STAKE_LEAVING || (state == STAKE_OWED && !(lock->late & bit_of(k)));

    if (state == STAKE_NONE && may_vote(node, r->now_us)) want(r, lock, k, WIRE_ACQUIRE);
    else if (!leaves_soon || !may_vote(node, r->now_us)) round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
}

/* Nothing of ours is on node k any more. An attempt that waited for that goes on. */
static void clear_stake(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    set_stake(lock, k, STAKE_NONE);
    want_nothing(r, lock, k);
    if (lock->phase == PHASE_ACQUIRING && round_vote_of(&lock->round, k) == REDLOCK_VOTE_PENDING)
        ask_to_acquire(r, lock, k);
}

static void wait_for_entropy(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->phase != PHASE_WAITING) set_phase(lock, PHASE_WAITING);
    lock->retry_at = timeout_at(r);
    queue_add(&r->hungry, lock, SLOT_DONE);
}

/* With less left than this a win is none. */
static uint64_t min_validity_us(const struct redlock_lock *lock)
{
    return later(1, (uint64_t)lock->min_validity_ms * 1000);
}

/* Step 1 and 2 of the algorithm: "It gets the current time", "It tries to acquire the lock in all the N instances". The time
 * is that of the call, so from before the first byte leaves (S2). */
static void begin_attempt(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t drift = drift_us(lock->ttl_ms, r->config.drift_ppm);
    uint64_t latest = r->now_us + validity_us(lock->ttl_ms, 0, drift) - min_validity_us(lock) + 1;

    if (!draw_token(r, lock->token)) {
        wait_for_entropy(r, lock);
        return;
    }
    queue_remove(&r->hungry, lock, SLOT_DONE);
    set_phase(lock, PHASE_ACQUIRING);
    begin_round(r, lock, WIRE_ACQUIRE, latest);
    round_set_ttl(&lock->round, lock->ttl_ms, drift);
    lock->told = 0;
    for (unsigned k = 0; k < r->node_count; k++) {
        lock->stakes[k].holder_ms = REDLOCK_UNTOLD;
        ask_to_acquire(r, lock, k);
    }
}

static void win(struct redlock *r, struct redlock_lock *lock)
{
    lock->valid_from = lock->round.started_at;
    lock->valid_until = r->now_us + round_validity_us(&lock->round, r->now_us);
    lock->is_unconfirmed = false;
    lock->extension_count = 0;
    lock->attempt_status = REDLOCK_OK;
    finish(r, lock, PHASE_HELD, REDLOCK_OK);
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

/* S14: at least as long as the round took, and a random time beyond. The last attempt comes when the time to wait ends. */
static bool schedule_retry(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t took = r->now_us - lock->round.started_at;
    uint32_t retry_us = r->config.retry_ms * 1000;
    uint64_t earliest = r->now_us + took;

    if (earliest >= lock->wait_until) return false;
    lock->retry_at = sooner(earliest + retry_us / 2 + throw_dice(r, retry_us), lock->wait_until);
    return true;
}

/* Step 5: "it will try to unlock all the instances (even the instances it believed it was not able to lock)" (S5). */
static void lose(struct redlock *r, struct redlock_lock *lock)
{
    lock->round.decided_at = r->now_us;
    lock->attempt_status = (uint8_t)loss_of(&lock->round, round_validity_us(&lock->round, r->now_us) < min_validity_us(lock));
    let_go_everywhere(r, lock);
    set_phase(lock, schedule_retry(r, lock) ? PHASE_WAITING : PHASE_SETTLING);
}

static void judge_settling(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->told != 0 && !is_overdue(r, lock)) return;
    lock->told = 0;
    finish(r, lock, PHASE_IDLE, lock->wait_until == 0 ? (enum redlock_status)lock->attempt_status : REDLOCK_TIMEOUT);
}

static void judge_acquiring(struct redlock *r, struct redlock_lock *lock)
{
    if (is_overdue(r, lock)) round_close(&lock->round);
    switch (round_verdict(&lock->round, r->now_us, min_validity_us(lock))) {
    case VERDICT_PENDING: return;
    case VERDICT_WON:     win(r, lock); return;
    case VERDICT_LOST:    lose(r, lock);
    }
    if (lock->phase == PHASE_SETTLING) judge_settling(r, lock);
}

/* ---- The other rounds ---- */

/* S9: counts only when a quorum confirms it before the old validity ends, and runs from the extension's start. What was
 * promised before stands in any case: no key was shortened (S7). */
static void judge_extending(struct redlock *r, struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;
    bool ended = r->now_us >= lock->valid_until || r->now_us < lock->valid_from;
    enum verdict verdict;

    if (is_overdue(r, lock)) round_close(&lock->round);
    verdict = ended ? VERDICT_LOST : round_verdict(round, r->now_us, 0);
    if (verdict == VERDICT_PENDING) return;
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].want == WIRE_EXTEND) want_nothing(r, lock, k);
    if (verdict == VERDICT_LOST) {
        if (lock->is_unconfirmed) lock->valid_until = 0;
        finish(r, lock, PHASE_HELD, ended ? REDLOCK_LOST : loss_of(round, round_validity_us(round, r->now_us) == 0));
        return;
    }
    if (lock->is_unconfirmed) lock->valid_until = 0;    /* Nobody had promised that. */
    lock->is_unconfirmed = false;
    lock->valid_from = round->started_at;
    lock->valid_until = later(lock->valid_until, r->now_us + round_validity_us(round, r->now_us));
    lock->extension_count++;
    finish(r, lock, PHASE_HELD, REDLOCK_OK);
}

/* A quorum that confirms is enough; else all are waited for that can answer. What did not is owed. */
static void judge_releasing(struct redlock *r, struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;
    unsigned quorum = quorum_of(round->node_count);
    bool confirmed = round_count(round->granted) >= quorum;

    if (!confirmed && round_pending(round) > 0 && !is_overdue(r, lock)) return;
    finish(r, lock, PHASE_IDLE, !confirmed && round_count(round->refused) >= quorum ? REDLOCK_LOST : REDLOCK_OK);
}

static void judge_inspecting(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->told != 0 && !is_overdue(r, lock)) return;
    for (unsigned k = 0; k < r->node_count; k++) want_nothing(r, lock, k);
    lock->told = 0;
    lock->sights = NULL;
    finish(r, lock, PHASE_IDLE, REDLOCK_OK);
}

/* Has what just happened decided the round? */
static void judge(struct redlock *r, struct redlock_lock *lock)
{
    switch ((enum phase)lock->phase) {
    case PHASE_ACQUIRING:  judge_acquiring(r, lock); break;
    case PHASE_SETTLING:   judge_settling(r, lock); break;
    case PHASE_EXTENDING:  judge_extending(r, lock); break;
    case PHASE_RELEASING:  judge_releasing(r, lock); break;
    case PHASE_INSPECTING: judge_inspecting(r, lock); break;
    case PHASE_IDLE:
    case PHASE_WAITING:
    case PHASE_HELD:       break;
    }
    reschedule(r, lock);
}

/* ---- Answers of one node ---- */

/* An answer that was read: of which lock and node, to what, and what it means. */
struct answer {
    struct redlock_lock *lock;
    unsigned k;
    enum wire_command command;
    enum wire_answer meaning;
    enum redlock_trouble trouble;   /* With WIRE_ERROR. */
    bool current;                   /* It was asked in the lock's last round. */
    bool eval;                      /* It was asked by EVAL. */
    const struct wire_reply *reply;
};

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

/* A refusal proves that nothing of ours is there: no release is needed. One that has been sent already is still answered. */
static void answer_acquire(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    uint8_t state = lock->stakes[a->k].state;

    vote(a);
    if (a->meaning != WIRE_REFUSED) return;
    if (state == STAKE_PLACED || state == STAKE_OWED) {
        set_stake(lock, a->k, STAKE_NONE);
        want_nothing(r, lock, a->k);
    }
    if (a->current && lock->phase == PHASE_ACQUIRING) {
        lock->told |= bit_of(a->k);
        want(r, lock, a->k, WIRE_PTTL);
    }
}

/* NOSCRIPT (somebody ran SCRIPT FLUSH) is answered by EVAL at once, within the same round. */
static bool send_script(struct redlock *r, const struct answer *a)
{
    if (a->meaning != WIRE_ERROR || a->trouble != REDLOCK_TROUBLE_NOSCRIPT || a->eval) return false;
    if (a->command == WIRE_RELEASE) set_stake(a->lock, a->k, STAKE_OWED);
    want(r, a->lock, a->k, a->command);
    a->lock->stakes[a->k].eval = true;
    return true;
}

static void answer_extend(struct redlock *r, const struct answer *a)
{
    bool is_open = a->current && a->lock->phase == PHASE_EXTENDING;

    if (!is_open || !send_script(r, a)) vote(a);
}

/* "Gone" is the end of it, unless the SET may still be on its way on a connection that broke: then once more, later. An
 * error leaves it owed, but for a key of another type, which is not ours. */
static void answer_release(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    struct redlock_stake *stake = &lock->stakes[a->k];
    bool is_gone = a->meaning == WIRE_REFUSED || a->trouble == REDLOCK_TROUBLE_WRONGTYPE;

    REDLOCK_CHECK(stake->state == STAKE_LEAVING);
    if (send_script(r, a)) return;
    vote(a);
    if (a->meaning == WIRE_GRANTED || (is_gone && !stake->stale)) clear_stake(r, lock, a->k);
    else owe_later(r, lock, a->k);
    if (is_gone) stake->stale = false;
}

static uint32_t as_ms(int64_t pttl)
{
    if (pttl == -1) return REDLOCK_FOREVER;     /* No TTL. */
    if (pttl < 0)   return 0;                   /* No key any more. */
    return pttl < REDLOCK_UNTOLD ? (uint32_t)pttl : REDLOCK_UNTOLD - 1;
}

static void see_value(struct redlock_sight *sight, const struct answer *a)
{
    size_t size = a->reply->text_size < REDLOCK_TOKEN_TEXT ? a->reply->text_size : REDLOCK_TOKEN_TEXT;

    sight->is_string = a->trouble != REDLOCK_TROUBLE_WRONGTYPE;
    sight->is_readable = a->meaning == WIRE_GRANTED;
    if (!sight->is_readable) return;
    memcpy(sight->value, a->reply->text, size);
    sight->value[size] = '\0';
    sight->value_size = (uint32_t)a->reply->text_size;
}

static void see_ttl(struct redlock_sight *sight, const struct answer *a)
{
    sight->seen = a->meaning == WIRE_GRANTED;
    sight->exists = sight->seen && a->reply->integer != -2;
    sight->has_ttl = sight->exists && a->reply->integer != -1;
    sight->ttl_ms = sight->has_ttl ? as_ms(a->reply->integer) : 0;
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
    else if (a->meaning == WIRE_GRANTED) lock->stakes[a->k].holder_ms = as_ms(a->reply->integer);
}

static void answer_lock(struct redlock *r, const struct answer *a)
{
    a->lock->outstanding--;
    if (a->command == WIRE_ACQUIRE || a->command == WIRE_EXTEND) note_owed_until(r, a->lock);
    switch (a->command) {
    case WIRE_ACQUIRE: answer_acquire(r, a); break;
    case WIRE_EXTEND:  answer_extend(r, a); break;
    case WIRE_RELEASE: answer_release(r, a); break;
    default:           answer_question(a); break;
    }
    judge(r, a->lock);
}

/* ---- When a connection is lost ---- */

/* A command will not be answered any more. Whatever it was about may have happened (S4). */
static void never_answered(struct redlock *r, unsigned k, const struct redlock_asked *asked)
{
    struct redlock_lock *lock = asked->lock;
    struct redlock_stake *stake;

    if (!lock) return;
    stake = &lock->stakes[k];
    lock->outstanding--;
    if (is_vote(lock, asked->round == lock->round.number, (enum wire_command)asked->command))
        round_vote(&lock->round, k, REDLOCK_VOTE_UNKNOWN);
    lock->told &= (uint16_t)~bit_of(k);
    if (asked->command == WIRE_ACQUIRE || asked->command == WIRE_EXTEND) note_owed_until(r, lock);
    if (asked->command == WIRE_ACQUIRE) stake->stale = true;
    if (stake->state == STAKE_LEAVING) owe(r, lock, k);
    judge(r, lock);
}

/* A command waits in the queue of a node that cannot take it now. Releases stay there: they are debts. So do others where the
 * node may be back at once. */
static void turn_away(struct redlock *r, unsigned k, struct redlock_lock *lock)
{
    struct redlock_stake *stake = &lock->stakes[k];

    if (!r->nodes[k].settled) return;
    if (stake->want == WIRE_RELEASE) {
        if (lock->phase == PHASE_RELEASING) round_vote(&lock->round, k, REDLOCK_VOTE_UNKNOWN);
        give_up_waiting(lock, k);
    } else {
        if (stake->want == WIRE_ACQUIRE || stake->want == WIRE_EXTEND) round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
        want_nothing(r, lock, k);
        lock->told &= (uint16_t)~bit_of(k);
    }
    judge(r, lock);
}

/* Clears up behind a session that has ended. */
static void abandon(struct redlock *r, unsigned k)
{
    struct redlock_asked asked;
    struct redlock_lock *lock, *next;

    while (node_take_asked(&r->nodes[k], &r->config, &asked)) never_answered(r, k, &asked);
    for (lock = r->nodes[k].queue.first; lock; lock = next) {
        next = lock->links[k].next;
        turn_away(r, k, lock);
    }
}

/* ---- The session of one node ---- */

static bool is_same_server(const struct redlock_node *node, bool has_run_id, const uint8_t run_id[REDLOCK_RUN_ID_SIZE])
{
    return node->has_run_id && has_run_id && memcmp(node->run_id, run_id, REDLOCK_RUN_ID_SIZE) == 0;
}

/* S12: the same server twice would have two votes. */
static bool is_twin(struct redlock *r, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];

    for (unsigned j = 0; j < r->node_count; j++) {
        const struct redlock_node *other = &r->nodes[j];
        if (j == k || other->state != NODE_READY) continue;
        if (!is_same_server(other, node->identity.has_run_id, node->identity.run_id)) continue;
        node_lose(node, REDLOCK_TROUBLE_SAME_SERVER, NULL, 0);
        node->twin = (uint8_t)j;
        return true;
    }
    return false;
}

/* S12: has the server voted in this round already, when another node led to it? Then it counts from the next one on. */
static bool was_elsewhere(const struct redlock *r, unsigned k)
{
    for (unsigned j = 0; j < r->node_count; j++)
        if (j != k && is_same_server(&r->nodes[j], r->nodes[k].has_run_id, r->nodes[k].run_id)) return true;
    return false;
}

/* The handshake is over. Who waited for this node to vote learns whether it does (S11, S12). */
static void settle(struct redlock *r, unsigned k)
{
    struct redlock_lock *lock, *next;

    if (is_twin(r, k)) return;
    node_settle(&r->nodes[k], &r->config, r->now_us);
    if (r->nodes[k].state != NODE_READY) return;
    if (node_votes(&r->nodes[k], r->now_us) && !was_elsewhere(r, k)) return;
    for (lock = r->nodes[k].queue.first; lock; lock = next) {
        next = lock->links[k].next;
        if (lock->stakes[k].want == WIRE_ACQUIRE || lock->stakes[k].want == WIRE_EXTEND) turn_away(r, k, lock);
    }
}

static void answer_greeting(struct redlock *r, unsigned k, enum wire_command command, const struct wire_reply *reply)
{
    struct redlock_node *node = &r->nodes[k];

    if (node_read_greeting(node, &r->config, command, reply) && node_is_greeted(node)) settle(r, k);
}

/* An answer to a command of a lock; its lock may be forgotten. */
static void answer_command(struct redlock *r, unsigned k, const struct redlock_asked *asked, const struct wire_reply *reply)
{
    struct redlock_node *node = &r->nodes[k];
    struct answer a = {
        .lock = asked->lock,
        .k = k,
        .command = (enum wire_command)asked->command,
        .meaning = wire_read((enum wire_command)asked->command, reply),
        .current = asked->lock && asked->round == asked->lock->round.number,
        .eval = asked->eval,
        .reply = reply,
    };

    if (a.meaning == WIRE_WRONG) {      /* S16 */
        static const char text[] = "an answer of the wrong type";
        node_lose(node, REDLOCK_TROUBLE_PROTOCOL, text, sizeof text - 1);
        never_answered(r, k, asked);
        return;
    }
    node->failures = 0;
    if (a.meaning == WIRE_ERROR) a.trouble = wire_trouble(reply->text, reply->text_size);
    if (a.meaning == WIRE_ERROR)             node_note(node, a.command, a.trouble, reply->text, reply->text_size);
    else if (node->noted == asked->command)  node->trouble = REDLOCK_TROUBLE_NONE;
    if (a.lock) answer_lock(r, &a);
    if (wire_ends_session(a.trouble)) node_lose(node, a.trouble, reply->text, reply->text_size);
}

/* ---- Calls: setting up ---- */

void redlock_config_init(struct redlock_config *config)
{
    *config = (struct redlock_config){
        .guard_ms = REDLOCK_GUARD_MS,
        .drift_ppm = REDLOCK_DRIFT_PPM,
        .node_timeout_ms = REDLOCK_NODE_TIMEOUT_MS,
        .retry_ms = REDLOCK_RETRY_MS,
        .resource_max = REDLOCK_RESOURCE_MAX,
        .pipeline = REDLOCK_PIPELINE,
        .send_size = REDLOCK_SEND_SIZE,
        .receive_size = REDLOCK_RECEIVE_SIZE,
    };
}

static bool is_in_range(const struct redlock_config *config)
{
    return config->drift_ppm <= REDLOCK_DRIFT_PPM_MAX && config->node_timeout_ms > 0 && config->retry_ms > 0 &&
           config->retry_ms <= REDLOCK_RETRY_MS_MAX &&
           config->resource_max > 0 && config->resource_max <= REDLOCK_RESOURCE_MAX &&
           config->pipeline >= REDLOCK_PIPELINE_MIN && config->send_size >= REDLOCK_SEND_MIN(config->resource_max) &&
           config->receive_size >= REDLOCK_RECEIVE_MIN;
}

/* Cuts a piece off the caller's memory. Sizes are rounded up, so that the next piece is aligned as well. */
static void *cut(uint8_t **memory, size_t size)
{
    void *piece = *memory;

    *memory += (size + 7) & ~(size_t)7;
    return piece;
}

enum redlock_status redlock_init(struct redlock *r, const struct redlock_config *config, struct redlock_node *nodes,
                                 unsigned node_count, void *memory, size_t memory_size, uint64_t now_us)
{
    struct redlock_config defaults;
    uint8_t *rest = (uint8_t *)memory;

    redlock_config_init(&defaults);
    if (!config) config = &defaults;
    if (node_count < 1 || node_count > REDLOCK_NODES_MAX) return REDLOCK_BAD_NODE_COUNT;
    if (!is_in_range(config)) return REDLOCK_BAD_CONFIG;
    if (!memory || (uintptr_t)memory % sizeof(uint64_t) != 0 ||
        memory_size < REDLOCK_MEMORY(node_count, config->pipeline, config->send_size, config->receive_size))
        return REDLOCK_BAD_MEMORY;
    *r = (struct redlock){ .config = *config, .nodes = nodes, .node_count = (uint8_t)node_count, .dice = 1, .now_us = now_us };
    for (unsigned k = 0; k < node_count; k++) {
        nodes[k] = (struct redlock_node){ 0 };
        nodes[k].asked = cut(&rest, config->pipeline * sizeof *nodes[k].asked);
        nodes[k].send = cut(&rest, config->send_size);
        nodes[k].receive = cut(&rest, config->receive_size);
        node_init(&nodes[k]);
    }
    return REDLOCK_OK;
}

static size_t size_of_text(const char *text)
{
    size_t size = 0;

    while (text && size <= REDLOCK_LOGIN_MAX && text[size] != '\0') size++;
    return size;
}

enum redlock_status redlock_set_login(struct redlock *r, unsigned k, const struct redlock_login *login)
{
    enum { AUTH_SIZE = sizeof "*3 $4 AUTH $512 $512" + 12 };     /* Without user and password; each blank is CR LF. */
    size_t size = size_of_text(login->user) + size_of_text(login->password);

    if (k >= r->node_count || size > REDLOCK_LOGIN_MAX || size + AUTH_SIZE > r->config.send_size) return REDLOCK_BAD_CONFIG;
    if (login->user && !login->password) return REDLOCK_BAD_CONFIG;
    r->nodes[k].login = *login;
    return REDLOCK_OK;
}

/* ---- Calls: random bytes and time ---- */

size_t redlock_entropy_wanted(const struct redlock *r)
{
    bool is_enough = r->entropy_size >= 2 * REDLOCK_TOKEN_SIZE && !r->hungry.first;

    return is_enough ? 0 : (size_t)REDLOCK_ENTROPY_MAX - r->entropy_size;
}

void redlock_add_entropy(struct redlock *r, const void *bytes, size_t size)
{
    const uint8_t *source = (const uint8_t *)bytes;
    size_t room = (size_t)REDLOCK_ENTROPY_MAX - r->entropy_size;
    size_t kept = size < room ? size : room;

    if (kept == 0) return;
    memcpy(r->entropy + r->entropy_size, source, kept);
    r->entropy_size = (uint8_t)(r->entropy_size + kept);
    for (size_t i = 0; i < kept; i++) r->dice = (r->dice ^ source[i]) * 16777619u;  /* FNV-1a: what delays show tells no byte. */
    if (r->dice == 0) r->dice = 1;
}

uint64_t redlock_wake_at(const struct redlock *r)
{
    uint64_t at = r->heap ? r->heap->wake_at : REDLOCK_NEVER;

    if (r->hungry.first && r->entropy_size >= REDLOCK_TOKEN_SIZE) return r->now_us;
    for (unsigned k = 0; k < r->node_count; k++) at = sooner(at, node_wake_at(&r->nodes[k]));
    return at;
}

/* S5: a debt is paid until the TTL has run out on the node. After that nothing of ours is there; but while something is not
 * answered, a SET may still be waiting there, and its TTL has not begun. */
static void tick_debts(struct redlock *r, struct redlock_lock *lock)
{
    bool expired = r->now_us >= lock->owed_until;

    if (expired && lock->outstanding > 0) {
        lock->owed_until = timeout_at(r);
        return;
    }
    for (unsigned k = 0; k < r->node_count && expired; k++)
        if (lock->stakes[k].state == STAKE_OWED) clear_stake(r, lock, k);
    if (lock->late && r->now_us >= lock->debt_at) redlock_pay(r, lock, r->now_us);
}

static void tick_lock(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->owed) tick_debts(r, lock);
    if (lock->phase == PHASE_WAITING && r->now_us >= lock->retry_at) {
        if (queue_holds(lock, SLOT_DONE)) {
            queue_remove(&r->hungry, lock, SLOT_DONE);
            finish(r, lock, PHASE_IDLE, REDLOCK_NO_ENTROPY);
        } else {
            begin_attempt(r, lock);
        }
    }
    judge(r, lock);
}

void redlock_tick(struct redlock *r, uint64_t now_us)
{
    r->now_us = now_us;
    for (unsigned k = 0; k < r->node_count; k++)
        if (node_tick(&r->nodes[k], &r->config, now_us)) abandon(r, k);
    while (r->heap && r->heap->wake_at <= now_us) tick_lock(r, r->heap);
    while (r->hungry.first && r->entropy_size >= REDLOCK_TOKEN_SIZE) {
        struct redlock_lock *lock = r->hungry.first;
        begin_attempt(r, lock);
        judge(r, lock);
    }
}

/* ---- Calls: the transport ---- */

unsigned redlock_wants(const struct redlock *r, unsigned k)
{
    const struct redlock_node *node = &r->nodes[k];
    bool has_bytes = node->send_end > node->send_start;
    bool can_ask = node_can_ask(node, &r->config);

    switch ((enum node_state)node->state) {
    case NODE_CONNECTING: return REDLOCK_WANT_CONNECT;
    case NODE_CLOSING:    return REDLOCK_WANT_CLOSE;
    case NODE_GREETING:
        return REDLOCK_WANT_RECEIVE | (has_bytes || (can_ask && node->step != WIRE_READY) ? REDLOCK_WANT_SEND : 0u);
    case NODE_READY:
        return REDLOCK_WANT_RECEIVE | (has_bytes || (can_ask && node->queue.first) ? REDLOCK_WANT_SEND : 0u);
    case NODE_WAITING:    break;
    }
    return 0;
}

void redlock_connected(struct redlock *r, unsigned k, uint64_t now_us)
{
    r->now_us = now_us;
    node_connected(&r->nodes[k], &r->config, now_us);
}

void redlock_disconnected(struct redlock *r, unsigned k, const char *why, uint64_t now_us)
{
    struct redlock_node *node = &r->nodes[k];

    r->now_us = now_us;
    if (node->state != NODE_CLOSING) {
        /* One that was good and had long been silent was closed for its silence, as servers do: that is no failure. */
        if (node->state == NODE_READY && node->asked_count == 0 && now_us >= node->alarm_at) node->failures = 0;
        node_lose(node, why ? REDLOCK_TROUBLE_UNREACHABLE : REDLOCK_TROUBLE_CLOSED, why, size_of_text(why));
        abandon(r, k);
    }
    node_disconnected(node, now_us, node_delay_us(node, throw_dice(r, UINT32_MAX)));
}

const uint8_t *redlock_output(struct redlock *r, unsigned k, size_t *size)
{
    struct redlock_node *node = &r->nodes[k];

    if (node->send_start > 0) {
        node->send_end -= node->send_start;
        memmove(node->send, node->send + node->send_start, node->send_end);
        node->send_start = 0;
    }
    if (node->state == NODE_GREETING) node_greet(node, &r->config, r->now_us);
    if (node->state == NODE_READY) fill_send_buffer(r, k);
    *size = node->state == NODE_GREETING || node->state == NODE_READY ? node->send_end : 0;
    return node->send;
}

void redlock_sent(struct redlock *r, unsigned k, size_t size)
{
    struct redlock_node *node = &r->nodes[k];

    REDLOCK_CHECK(size <= node->send_end - node->send_start);
    node->send_start += (uint32_t)size;
}

uint8_t *redlock_input(struct redlock *r, unsigned k, size_t *room)
{
    struct redlock_node *node = &r->nodes[k];

    node->receive_end -= node->receive_start;
    memmove(node->receive, node->receive + node->receive_start, node->receive_end);
    node->receive_start = 0;
    *room = r->config.receive_size - node->receive_end;
    return node->receive + node->receive_end;
}

void redlock_received(struct redlock *r, unsigned k, size_t size, uint64_t now_us)
{
    struct redlock_node *node = &r->nodes[k];
    struct redlock_asked asked;
    struct wire_reply reply;

    REDLOCK_CHECK(size <= r->config.receive_size - node->receive_end);
    r->now_us = now_us;
    node->receive_end += (uint32_t)size;
    while (node_next_reply(node, &r->config, now_us, &asked, &reply)) {
        if (asked.command < WIRE_READY) answer_greeting(r, k, (enum wire_command)asked.command, &reply);
        else                            answer_command(r, k, &asked, &reply);
    }
    if (node->state == NODE_CLOSING) abandon(r, k);
}

/* ---- Calls: locks ---- */

void redlock_lock_init(struct redlock_lock *lock)
{
    *lock = (struct redlock_lock){ .status = REDLOCK_LOST, .attempt_status = REDLOCK_LOST };
}

/* Held, or adopted and perhaps held. */
static bool is_held(const struct redlock_lock *lock, uint64_t now_us)
{
    return now_us >= lock->valid_from && now_us < lock->valid_until;
}

/* Is nothing under way, and nothing held by this clock? */
static bool has_ended(const struct redlock_lock *lock, uint64_t now_us)
{
    return lock->phase == PHASE_IDLE || (lock->phase == PHASE_HELD && !is_held(lock, now_us));
}

static bool is_about(const struct redlock_lock *lock, const void *resource, size_t size)
{
    return lock->resource && lock->resource_size == size && memcmp(lock->resource, resource, size) == 0;
}

/* A lock whose validity has ended and that was not released ends now. Its keys will be gone at any moment, and are left to
 * that, unless they are in the way of what comes next. */
static void retire(struct redlock *r, struct redlock_lock *lock, bool are_in_the_way)
{
    for (unsigned k = 0; k < r->node_count; k++) {
        if (are_in_the_way) let_go(r, lock, k);
        else                clear_stake(r, lock, k);
    }
    set_phase(lock, PHASE_IDLE);
}

static enum redlock_status check_ttl(const struct redlock *r, uint32_t ttl_ms, uint32_t min_validity_ms)
{
    uint64_t validity = validity_us(ttl_ms, 0, drift_us(ttl_ms, r->config.drift_ppm));

    if (ttl_ms < 1 || ttl_ms > REDLOCK_TTL_MS_MAX)                           return REDLOCK_BAD_TTL;
    if (validity == 0 || validity <= (uint64_t)min_validity_ms * 1000)       return REDLOCK_BAD_TTL;
    if (r->config.guard_ms > 0 && ttl_ms > r->config.guard_ms)               return REDLOCK_TTL_OVER_GUARD;   /* S11 */
    return REDLOCK_OK;
}

/* Makes the lock ready for its next operation, on this resource. */
static enum redlock_status set_resource(struct redlock *r, struct redlock_lock *lock, const void *resource, size_t size,
                                        bool acquires)
{
    bool is_same;

    if (!resource || size < 1 || size > r->config.resource_max) return REDLOCK_BAD_RESOURCE;
    is_same = is_about(lock, resource, size);
    if (!has_ended(lock, r->now_us) || (!is_same && !redlock_idle(lock, r->now_us))) return REDLOCK_BAD_STATE;
    if (lock->phase == PHASE_HELD) retire(r, lock, is_same && acquires);
    if (redlock_idle(lock, r->now_us)) {
        lock->owed_ttl_ms = 0;
        lock->owed_until = 0;
    }
    lock->resource = (const uint8_t *)resource;
    lock->resource_size = (uint16_t)size;
    return REDLOCK_OK;
}

static uint64_t wait_until(uint64_t now_us, uint32_t wait_ms)
{
    if (wait_ms == 0) return 0;
    return wait_ms == REDLOCK_FOREVER ? REDLOCK_NEVER : now_us + (uint64_t)wait_ms * 1000;
}

enum redlock_status redlock_start_acquire(struct redlock *r, struct redlock_lock *lock, const struct redlock_request *request,
                                          uint64_t now_us)
{
    enum redlock_status status = check_ttl(r, request->ttl_ms, request->min_validity_ms);

    r->now_us = now_us;
    if (status == REDLOCK_OK) status = set_resource(r, lock, request->resource, request->resource_size, true);
    if (status != REDLOCK_OK) return status;
    start(r, lock);
    lock->ttl_ms = request->ttl_ms;
    lock->min_validity_ms = request->min_validity_ms;
    lock->extension_limit = request->extension_limit;
    lock->wait_until = wait_until(now_us, request->wait_ms);
    lock->valid_from = lock->valid_until = 0;
    begin_attempt(r, lock);
    judge(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_start_extend(struct redlock *r, struct redlock_lock *lock, uint32_t ttl_ms, uint64_t now_us)
{
    enum redlock_status status = check_ttl(r, ttl_ms, 0);

    r->now_us = now_us;
    if (status != REDLOCK_OK)           return status;
    if (is_round(lock) || lock->phase == PHASE_WAITING) return REDLOCK_BAD_STATE;
    if (!is_held(lock, now_us))         return REDLOCK_LOST;    /* S9: refused, not tried. */
    if (lock->extension_limit > 0 && lock->extension_count >= lock->extension_limit) return REDLOCK_EXTENSION_LIMIT;  /* S13 */
    start(r, lock);
    set_phase(lock, PHASE_EXTENDING);
    begin_round(r, lock, WIRE_EXTEND, lock->valid_until);
    round_set_ttl(&lock->round, ttl_ms, drift_us(ttl_ms, r->config.drift_ppm));
    lock->ttl_ms = ttl_ms;
    for (unsigned k = 0; k < r->node_count; k++) {
        if (lock->stakes[k].state == STAKE_PLACED && may_vote(&r->nodes[k], now_us)) {
            want(r, lock, k, WIRE_EXTEND);
        } else {    /* What may lie there is part of the old promise: it stays. */
            if (lock->stakes[k].want == WIRE_ACQUIRE) want_nothing(r, lock, k);
            round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
        }
    }
    judge(r, lock);
    return REDLOCK_OK;
}

/* Puts the release to node k, or owes it. Where nothing of ours is there is nothing to remove. */
static void ask_to_release(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    let_go(r, lock, k);
    if (lock->late & bit_of(k)) owe(r, lock, k);
    if (lock->stakes[k].state == STAKE_NONE)        round_vote(&lock->round, k, REDLOCK_VOTE_REFUSED);
    else if (r->nodes[k].state != NODE_READY && r->nodes[k].settled) round_vote(&lock->round, k, REDLOCK_VOTE_UNKNOWN);
}

enum redlock_status redlock_start_release(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    bool held = is_held(lock, now_us);

    r->now_us = now_us;
    if (lock->phase == PHASE_IDLE) return REDLOCK_LOST;
    if (lock->phase != PHASE_HELD && lock->phase != PHASE_EXTENDING) return REDLOCK_BAD_STATE;
    start(r, lock);
    lock->valid_until = 0;      /* Not held from now on, whatever the nodes will say. */
    set_phase(lock, PHASE_RELEASING);
    begin_round(r, lock, WIRE_RELEASE, REDLOCK_NEVER);
    for (unsigned k = 0; k < r->node_count; k++) ask_to_release(r, lock, k);
    if (held) {
        judge(r, lock);
    } else {
        finish(r, lock, PHASE_IDLE, REDLOCK_LOST);
        reschedule(r, lock);
    }
    return REDLOCK_OK;
}

enum redlock_status redlock_start_inspect(struct redlock *r, struct redlock_lock *lock, const void *resource,
                                          size_t resource_size, struct redlock_sight *sights, uint64_t now_us)
{
    enum redlock_status status;

    r->now_us = now_us;
    if (!redlock_idle(lock, now_us)) return REDLOCK_BAD_STATE;
    status = set_resource(r, lock, resource, resource_size, false);
    if (status != REDLOCK_OK) return status;
    start(r, lock);
    set_phase(lock, PHASE_INSPECTING);
    begin_round(r, lock, WIRE_GETRANGE, REDLOCK_NEVER);
    lock->sights = sights;
    for (unsigned k = 0; k < r->node_count; k++) {
        sights[k] = (struct redlock_sight){ 0 };
        if (r->nodes[k].state != NODE_READY && r->nodes[k].settled) continue;
        lock->told |= bit_of(k);
        want(r, lock, k, WIRE_GETRANGE);
    }
    judge(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_adopt(struct redlock *r, struct redlock_lock *lock, const void *resource, size_t resource_size,
                                  const char *token, uint64_t now_us)
{
    uint8_t bytes[REDLOCK_TOKEN_SIZE];
    enum redlock_status status;

    r->now_us = now_us;
    if (!wire_token_read(token, size_of_text(token), bytes)) return REDLOCK_BAD_TOKEN;
    if (!redlock_idle(lock, now_us)) return REDLOCK_BAD_STATE;
    status = set_resource(r, lock, resource, resource_size, false);
    if (status != REDLOCK_OK) return status;
    memcpy(lock->token, bytes, sizeof bytes);
    set_phase(lock, PHASE_HELD);
    for (unsigned k = 0; k < r->node_count; k++) {
        memcpy(lock->stakes[k].token, bytes, sizeof bytes);
        set_stake(lock, k, STAKE_PLACED);
    }
    lock->valid_from = now_us;
    lock->valid_until = timeout_at(r);
    lock->is_unconfirmed = true;
    /* Nobody told its TTL, but it is not over the guard (S11). */
    lock->owed_ttl_ms = r->config.guard_ms > 0 ? r->config.guard_ms : REDLOCK_TTL_MS_MAX;
    note_owed_until(r, lock);
    lock->extension_limit = 0;
    return REDLOCK_OK;
}

void redlock_cancel(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    enum phase after = lock->phase == PHASE_EXTENDING ? PHASE_HELD : PHASE_IDLE;

    r->now_us = now_us;
    if (!is_round(lock) && lock->phase != PHASE_WAITING) return;
    if (lock->phase == PHASE_WAITING) queue_remove(&r->hungry, lock, SLOT_DONE);
    for (unsigned k = 0; k < r->node_count; k++) {
        if (after == PHASE_IDLE) let_go(r, lock, k);
        if (lock->stakes[k].want != WIRE_RELEASE) want_nothing(r, lock, k);
    }
    lock->told = 0;
    lock->sights = NULL;
    finish(r, lock, after, REDLOCK_CANCELLED);
    reschedule(r, lock);
}

/* Makes every question that was asked for one lock that of another, or of none. */
static void readdress(struct redlock *r, const struct redlock_lock *from, struct redlock_lock *to)
{
    for (unsigned k = 0; k < r->node_count; k++)
        for (unsigned i = 0; i < r->nodes[k].asked_count; i++) {
            struct redlock_asked *asked = node_asked_at(&r->nodes[k], &r->config, i);
            if (asked->lock == from) asked->lock = to;
        }
}

void redlock_pay(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    r->now_us = now_us;
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->late & bit_of(k)) owe(r, lock, k);
    reschedule(r, lock);
}

/* What is left of a lock that the engine does not know any more: the answers to questions about its last operation. */
static void clear(struct redlock_lock *lock)
{
    struct redlock_lock rest;

    redlock_lock_init(&rest);
    rest.status = lock->status;
    rest.attempt_status = lock->attempt_status;
    rest.round = lock->round;
    memcpy(rest.token, lock->token, sizeof rest.token);
    for (unsigned k = 0; k < REDLOCK_NODES_MAX; k++) rest.stakes[k].holder_ms = lock->stakes[k].holder_ms;
    *lock = rest;
}

void redlock_forget(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->outstanding > 0) readdress(r, lock, NULL);
    for (unsigned k = 0; k < r->node_count; k++) want_nothing(r, lock, k);
    queue_remove(lock->phase == PHASE_WAITING ? &r->hungry : &r->done, lock, SLOT_DONE);
    heap_set(&r->heap, lock, REDLOCK_NEVER);
    clear(lock);
}

void redlock_move(struct redlock *r, struct redlock_lock *to, struct redlock_lock *from, const void *resource)
{
    heap_set(&r->heap, from, REDLOCK_NEVER);
    if (from->phase != PHASE_WAITING) queue_remove(&r->done, from, SLOT_DONE);
    *to = *from;
    to->resource = (const uint8_t *)resource;
    for (unsigned k = 0; k < r->node_count; k++) queue_replace(&r->nodes[k].queue, to, k);
    if (to->phase == PHASE_WAITING) queue_replace(&r->hungry, to, SLOT_DONE);
    if (to->outstanding > 0) readdress(r, from, to);
    reschedule(r, to);
    clear(from);
}

struct redlock_lock *redlock_next_done(struct redlock *r)
{
    struct redlock_lock *lock = r->done.first;

    if (lock) queue_remove(&r->done, lock, SLOT_DONE);
    return lock;
}

/* ---- Calls: questions ---- */

enum redlock_status redlock_lock_status(const struct redlock_lock *lock)
{
    return (enum redlock_status)lock->status;
}

enum redlock_status redlock_attempt_status(const struct redlock_lock *lock)
{
    return (enum redlock_status)lock->attempt_status;
}

/* S10: computed at every question. A clock that went back is no clock: not held. */
uint64_t redlock_valid_us(const struct redlock_lock *lock, uint64_t now_us)
{
    return is_held(lock, now_us) && !lock->is_unconfirmed ? lock->valid_until - now_us : 0;
}

bool redlock_idle(const struct redlock_lock *lock, uint64_t now_us)
{
    return has_ended(lock, now_us) && lock->owed == 0 && lock->outstanding == 0;
}

unsigned redlock_owed(const struct redlock_lock *lock)
{
    unsigned count = 0;

    for (unsigned k = 0; k < REDLOCK_NODES_MAX; k++)
        count += lock->stakes[k].state == STAKE_OWED || lock->stakes[k].state == STAKE_LEAVING;
    return count;
}

unsigned redlock_confirmed(const struct redlock_lock *lock)
{
    return round_count(lock->round.granted);
}

const struct redlock_round *redlock_last_round(const struct redlock_lock *lock)
{
    return &lock->round;
}

enum redlock_vote redlock_vote_of(const struct redlock_lock *lock, unsigned k)
{
    return round_vote_of(&lock->round, k);
}

/* In how many ms node k is free for us: now, when it has granted; when the holder's key is gone, when it told. */
static uint32_t free_in(const struct redlock_lock *lock, unsigned k)
{
    if (lock->round.granted & bit_of(k)) return 0;
    return lock->round.refused & bit_of(k) ? lock->stakes[k].holder_ms : REDLOCK_UNTOLD;
}

uint32_t redlock_free_in_ms(const struct redlock_lock *lock)
{
    unsigned quorum = quorum_of(lock->round.node_count), n = lock->round.node_count;
    uint32_t best = REDLOCK_UNTOLD;

    for (unsigned k = 0; k < n; k++) {      /* The least time by which a quorum is free. */
        uint32_t candidate = free_in(lock, k);
        unsigned count = 0;
        for (unsigned j = 0; j < n; j++) count += free_in(lock, j) != REDLOCK_UNTOLD && free_in(lock, j) <= candidate;
        if (candidate == REDLOCK_UNTOLD || count < quorum) continue;
        if (best == REDLOCK_UNTOLD || candidate < best) best = candidate;
    }
    return best;
}

void redlock_token(const struct redlock_lock *lock, char text[REDLOCK_TOKEN_TEXT + 1])
{
    wire_token_text(lock->token, text);
    text[REDLOCK_TOKEN_TEXT] = '\0';
}

unsigned redlock_quorum(unsigned node_count)
{
    return quorum_of(node_count);
}

bool redlock_node_votes(const struct redlock *r, unsigned k, uint64_t now_us)
{
    return node_votes(&r->nodes[k], now_us);
}

bool redlock_node_settled(const struct redlock *r, unsigned k)
{
    return r->nodes[k].settled;
}

enum redlock_trouble redlock_node_trouble(const struct redlock *r, unsigned k, uint64_t now_us)
{
    return node_trouble(&r->nodes[k], now_us);
}

void redlock_describe_node(const struct redlock *r, unsigned k, uint64_t now_us, char *text, size_t size)
{
    node_describe(&r->nodes[k], now_us, text, size);
}

/* ---- Calls: texts ---- */

const char *redlock_status_text(enum redlock_status status)
{
    switch (status) {
#define REDLOCK_STATUS_CASE(number, name, text) case REDLOCK_##name: return (text);
    REDLOCK_STATUSES(REDLOCK_STATUS_CASE)
#undef REDLOCK_STATUS_CASE
    }
    return "unknown status";
}

const char *redlock_vote_text(enum redlock_vote vote)
{
    switch (vote) {
    case REDLOCK_VOTE_PENDING:   return "pending";
    case REDLOCK_VOTE_GRANTED:   return "granted";
    case REDLOCK_VOTE_REFUSED:   return "refused";
    case REDLOCK_VOTE_UNKNOWN:   return "unknown";
    case REDLOCK_VOTE_NOT_ASKED: return "not asked";
    }
    return "unknown vote";
}
