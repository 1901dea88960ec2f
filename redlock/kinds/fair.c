/* Fair locks. A client that waits has a turn, and a node grants the key only to the first of its
 * queue. "resource#queue" is a sorted set of members "token:entry", by their turns.
 * "resource#lease" has the same members with the time at which each place ends, in milliseconds by
 * the node's clock.
 * wire.h shows what the arguments and answers of a plain lock mean. These are sent instead.
 *     EVALSHA acquire 1 resource token ttl ticket life skew place
 *                                     the poll; place: "turn round renew entry"
 *                                     +OK granted    $"counter ms turn rank" refused: the largest
 *                                                    ticket there; how long until it may be worth
 *                                                    while to ask again, at most; the largest turn
 *                                                    in the queue; how many are before it, -1: it
 *                                                    is not queued, -2: an old poll;    -AHEAD
 *     EVALSHA restore 1 resource token ttl ticket life skew   as of a plain lock
 *     EVALSHA extend 1 resource token ttl             :1, :0 as of a plain lock
 *     EVALSHA release 1 resource token entry [1]      :1, :0, :-1 as of a plain lock; its place
 *                                                     goes as well. With the 1: :2 and a waiter was
 *                                                     woken
 *   The first poll, with turn 0, is the doorway. It is granted if the key is free and nobody is
 * queued. Otherwise the answers of a quorum give the turn, which is larger by one than the largest
 * of theirs, and stays the same from then on. S25: nobody whose first poll began after a waiter was
 * queued on a quorum gets in before it, since one of the nodes that gave the turn had that waiter
 * in its queue, and so has one of those that would have to grant. Turns that are equal are ordered
 * by the tokens.
 *   A node that has granted the key to a client takes it back by that client's next poll if another
 * is the first by then. Otherwise each of three clients might have one node for ever. No grant that
 * counts is lost by that, since each round forgets the grants of the last. But a poll may be
 * executed late, after a later one that was granted and counted. So "resource#grant" is the round
 * in which the key was granted. S24: a poll of an older round than that changes nothing. A command
 * that extends the key, or sets it again, belongs to no round, and from then on all polls are old.
 *   A place is taken, and renewed, only by a client whose last round was answered by a quorum,
 * since a client that reaches a minority would hold up all others. A client that dies at the head
 * of the queue holds them up for its lease. A poll that arrives late, after the release, makes a
 * ghost, in the queue for the time of a lease, or in the key until its TTL is over.
 *
 * The client acquires such a lock in rounds of polls, until a round is won or the lock gives up.
 * From the doorway on all have one token (S24).
 *
 *     the doorway     Polls without a turn. If the resource is free and nobody is queued, the lock
 *                     is held. Otherwise, when a quorum has answered, the turn is one more than the
 *                     largest that was reported (S25), since one of these nodes has seen any client
 *                     that was queued on a quorum before. Without a quorum of answers the lock lets
 *                     go, like a plain one, and returns to the doorway, with another token.
 *     the queue       The next round follows at once, and puts the lock into the nodes' queues.
 *                     More follow when its turn may have come, and often enough to keep its places
 *                     there. Only a round after one that a quorum has answered renews a place,
 *                     since a waiter that reaches a minority would hold up all others.
 *     the end         The lock is held when a quorum has granted it in one round. Grants of other
 *                     rounds do not count (S8). If it gives up, it is released everywhere, which
 *                     takes its places out of the queues.
 *
 * Between two rounds in the queue nothing is released. A node that has granted the lock keeps it
 * for us until another is first in its queue and we poll again. A refusal does not prove that
 * nothing of ours is there, so until the end there is a stake on each node that was polled. */
#include "fair.h"

#include "../holder.h"
#include "../queue.h"
#include "../quorum.h"
#include "../random.h"
#include "../retry.h"
#include "../ticket.h"

REDLOCK_STATIC_ASSERT(WIRE_FAIR_LEASE_MS == 5000, "the poll says it in digits");

enum {
    /* Two polls may be lost before a place is, if rounds are short. */
    RENEW_MS = WIRE_FAIR_LEASE_MS / 3,
    /* A poll may be this much earlier, so that many do not poll together. */
    SPREAD_MS = RENEW_MS / 4,
    /* With more waiters before it a lock does not poll when somebody's time ends. */
    NEAR = 1
};

static enum redlock_status fair_check(struct redlock *r, const struct redlock_lock *lock,
                                      const struct redlock_request *request)
{
    if (request->kind == &redlock_fair && (request->set || request->permits > 0))
        return REDLOCK_BAD_KIND;
    if (lock_owes_otherwise(lock, &redlock_fair, request)) return REDLOCK_BAD_STATE;
    r->holding = holder_feature();
    stake_use_scripts(r);
    return REDLOCK_OK;
}

/* ---- Commands ---- */

enum { PLACE_ROOM = RESP_DIGITS_MAX + 1 + RESP_DIGITS_MAX + 1 + 1 + 1 + WIRE_ENTRY_ROOM };

/* Writes a number and a blank in front of that place, and returns where they begin. */
static size_t write_before(char text[PLACE_ROOM], size_t at, uint32_t number)
{
    text[--at] = ' ';
    return at - RESP_DIGITS_MAX + resp_decimal(text + at - RESP_DIGITS_MAX, number);
}

/* It has the same length in each command of one lock, even if a wake-up has changed its number
 * meanwhile. "": it has none. */
static size_t write_place_entry(char text[WIRE_ENTRY_ROOM], const struct wire_subject *s)
{
    return s->place->entry > 0 ? wire_write_entry(text, s->engine, s->place->entry)
                               : WIRE_ENTRY_ROOM;
}

/* One argument, since the longest command of all may not be longer. */
static void put_place(struct resp_writer *w, const struct wire_subject *s)
{
    char text[PLACE_ROOM];
    size_t at =
        PLACE_ROOM - WIRE_ENTRY_ROOM + write_place_entry(text + PLACE_ROOM - WIRE_ENTRY_ROOM, s);

    REDLOCK_CHECK(!s->place->renew || s->place->turn > 0);
    text[--at] = ' ';
    text[--at] = (char)('0' + s->place->renew);
    at = write_before(text, at, s->place->poll);
    at = write_before(text, at, s->place->turn);
    resp_bytes(w, text + at, sizeof text - at);
}

static void put_poll(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_grant(w, s);
    put_place(w, s);
}

static void put_leave(struct resp_writer *w, const struct wire_subject *s)
{
    char text[WIRE_ENTRY_ROOM];
    size_t at = write_place_entry(text, s);

    wire_put_placed(w, s);
    resp_bytes(w, text + at, sizeof text - at);
}

static void put_leave_and_wake(struct resp_writer *w, const struct wire_subject *s)
{
    put_leave(w, s);
    resp_text(w, "1");
}

/* ---- Refusals of a poll ---- */

/* Like the first two words, the last two are a number, a blank, and a number that
 * may be negative. */
bool fair_read_place(const struct wire_reply *reply, uint32_t *turn, int32_t *rank)
{
    size_t before = wire_first_two_words(reply);
    struct wire_reply two = *reply;
    uint64_t largest;
    int64_t ahead;

    if (before == 0) return false;
    two.text += before + 1;
    two.text_size -= before + 1;
    if (!wire_read_refusal(&two, &largest, &ahead) || largest > UINT32_MAX ||
        ahead > WIRE_FAIR_RANK_MAX)
        return false;
    *turn = (uint32_t)largest;
    *rank = (int32_t)ahead;
    return true;
}

static const char fair_acquire_text[] = WIRE_FAIR_ACQUIRE_SCRIPT,
                  fair_acquire_sha1[] = WIRE_FAIR_ACQUIRE_SHA1;
static const char fair_restore_text[] = WIRE_FAIR_RESTORE_SCRIPT,
                  fair_restore_sha1[] = WIRE_FAIR_RESTORE_SHA1;
static const char fair_extend_text[] = WIRE_FAIR_EXTEND_SCRIPT,
                  fair_extend_sha1[] = WIRE_FAIR_EXTEND_SHA1;
static const char fair_release_text[] = WIRE_FAIR_RELEASE_SCRIPT,
                  fair_release_sha1[] = WIRE_FAIR_RELEASE_SHA1;

static const struct wire_row fair_acquire = {
    .text = fair_acquire_text, .sha1 = fair_acquire_sha1, .put = put_poll, .argument_count = 6,
    .read_refusal = wire_read_poll_refusal
};
static const struct wire_row fair_restore = {
    .text = fair_restore_text, .sha1 = fair_restore_sha1, .put = wire_put_grant, .argument_count = 5
};
static const struct wire_row fair_extend = {
    .text = fair_extend_text, .sha1 = fair_extend_sha1, .put = wire_put_extend, .argument_count = 2,
    .lowest = 0, .highest = 1
};
static const struct wire_row fair_release = {
    .text = fair_release_text, .sha1 = fair_release_sha1, .put = put_leave, .argument_count = 2,
    .lowest = -1, .highest = 1
};
static const struct wire_row fair_wake = {
    .text = fair_release_text, .sha1 = fair_release_sha1, .put = put_leave_and_wake,
    .argument_count = 3, .lowest = -1, .highest = 2
};

/* ---- A round begins ---- */

static unsigned answers_to(const struct redlock_round *round)
{
    return round_count((uint16_t)(round->granted | round->refused));
}

static bool has_answered(const struct redlock_lock *lock)
{
    return answers_to(&lock->round) >= quorum_of(lock->round.node_count);
}

/* Also true if the missing answers may still make a quorum. */
static bool may_be_answered(const struct redlock_lock *lock)
{
    return answers_to(&lock->round) + round_pending(&lock->round) >=
           quorum_of(lock->round.node_count);
}

/* A poll's place lives for a lease at least. */
static void approach(struct redlock_lock *lock)
{
    lock->line.turn = (struct redlock_turn){ .number = 1, .is_at_doorway = true };
    lock->owed_ttl_ms = (uint32_t)later(lock->owed_ttl_ms, WIRE_FAIR_LEASE_MS);
}

/* Without a turn it must not go on, since its keys on a minority would be in the way of all others
 * for as long as it waits. A try that has let go comes again for its ticket. */
static bool is_lost(const struct redlock_lock *lock)
{
    const struct redlock_turn *turn = &lock->line.turn;

    return turn->number == 0 || (turn->is_at_doorway && !has_answered(lock));
}

static void begin_anew(struct redlock *r, struct redlock_lock *lock)
{
    stake_let_go_everywhere(r, lock);
    number_remove(&r->listening, lock);
    approach(lock);
}

static bool fair_begin_round(struct redlock *r, struct redlock_lock *lock)
{
    struct redlock_turn *turn = &lock->line.turn;

    lock->wakes = true;
    if (lock->phase != REDLOCK_PHASE_WAITING) {
        approach(lock);
        return false;
    }
    if (is_lost(lock)) {
        begin_anew(r, lock);
        return false;
    }
    REDLOCK_ASSERT(lock->round.command == REDLOCK_COMMAND_ACQUIRE && turn->number > 0);
    turn->renews = has_answered(lock);
    turn->is_at_doorway = false;
    turn->rank = 0;
    lock->woken = 0;
    return true;
}

/* No two rounds of one lock have the same number. */
static const struct redlock_place *fair_place(const struct redlock_lock *lock,
                                              struct redlock_place *place)
{
    const struct redlock_turn *turn = &lock->line.turn;

    place->turn = turn->is_at_doorway ? 0 : turn->number;
    place->poll = lock->round.number;
    place->entry = lock->wait_number;
    place->renew = turn->renews;
    return place;
}

/* ---- Answers, and a round that is not won ---- */

/* True if it would hear a quorum call it. Only a lock that listens has a number. */
static bool can_hear(const struct redlock *r, const struct redlock_lock *lock)
{
    unsigned open = 0;

    for (unsigned k = r->node_count; k < r->session_count; k++)
        open += r->nodes[k].state == NODE_READY;
    REDLOCK_ASSERT(r->waking || lock->wait_number == 0);
    return lock->wait_number != 0 && open >= quorum_of(r->node_count);
}

/* Places in the queues must be renewed. A lock that nobody will call polls by itself, more rarely
 * if more others are before it. S14: never sooner than the last round took. While an answer that
 * completes a quorum may still arrive, it is waited for, since without it the next round could
 * renew nothing. */
static uint64_t look_at(struct redlock *r, const struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;
    uint64_t earliest = later(round->decided_at + retry_round_us(lock), r->now_us);
    uint64_t renew_at =
        round->started_at + (uint64_t)RENEW_MS * 1000 - throw_dice(r, (uint32_t)SPREAD_MS * 1000);
    uint64_t pause_us = retry_pause_us(r) * (lock->line.turn.rank + 1u);
    bool will_hear = has_answered(lock) && can_hear(r, lock);     /* Then it is in the queues. */

    if (!has_answered(lock) && may_be_answered(lock)) return later(round->deadline_at, earliest);
    return will_hear ? later(renew_at, earliest)
                     : later(sooner(renew_at, earliest + pause_us), earliest);
}

/* A lock that has just learnt its turn takes its place at once, where it is in nobody's way. Locks
 * near the front poll when the holder's time ends, or that of a first one that has died. A node
 * that has granted the lock need not call it. */
static void choose_time(struct redlock *r, struct redlock_lock *lock)
{
    bool has_turn = lock->line.turn.is_at_doorway && has_answered(lock);

    lock->woken |= lock->round.granted;
    lock->retry_at = has_turn || lock->is_corrected ? r->now_us : look_at(r, lock);
    if (lock->line.turn.rank <= NEAR || lock_is_woken(r, lock)) retry_hurry(r, lock);
    lock->retry_at = sooner(lock->retry_at, lock->wait_until);
}

/* The lock is released everywhere. Its ticket is a reason to come again at once only for a try,
 * which has no place in a queue. */
static bool let_go(struct redlock_lock *lock)
{
    lock->line.turn.number = 0;
    if (lock->wait_until > 0) lock->is_corrected = true;
    return false;
}

/* A queued lock whose ticket was too small while nobody has the resource polls again at once, and
 * only once (S14). The last round begins when the time to wait ends. */
static bool fair_stay(struct redlock *r, struct redlock_lock *lock)
{
    bool is_at_doorway = lock->line.turn.is_at_doorway;

    if ((is_at_doorway && !may_be_answered(lock)) || r->now_us >= lock->wait_until)
        return let_go(lock);
    lock->is_corrected = !is_at_doorway && has_ticket(lock) && r->ticketing->is_behind(r, lock);
    choose_time(r, lock);
    /* S14 */
    if (lock->retry_at > r->now_us && r->now_us + retry_round_us(lock) >= lock->wait_until)
        return let_go(lock);
    lock_set_phase(r, lock, REDLOCK_PHASE_WAITING);
    queue_add(&r->waiting, lock, SLOT_DONE);
    return true;
}

/* The turn grows with the answers at the doorway, and stays from then on. */
static void learn_place(struct redlock_turn *turn, const struct wire_reply *reply)
{
    uint32_t largest;
    int32_t rank;

    if (!fair_read_place(reply, &largest, &rank)) return;
    if (turn->is_at_doorway && largest >= turn->number)
        turn->number = largest < UINT32_MAX ? largest + 1 : largest;
    if (rank > (int32_t)turn->rank)
        turn->rank = rank < (int32_t)UINT16_MAX ? (uint16_t)rank : UINT16_MAX;
}

/* An answer after the round was lost may complete a quorum of answers. If it is a grant, it does
 * not count (S8), but the node has the key for us. */
static void fair_answer(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    bool is_trying = a->current && (lock->phase == REDLOCK_PHASE_ACQUIRING ||
                                    lock->phase == REDLOCK_PHASE_WAITING);

    if (!is_trying) return;
    if (a->meaning == REDLOCK_ANSWER_REFUSED) r->holding->learn(r, a);
    if (lock->line.turn.number == 0) return;
    learn_place(&lock->line.turn, a->reply);    /* Only a refusal has words about it. */
    if (lock->phase == REDLOCK_PHASE_WAITING) choose_time(r, lock);
}

/* S5: an earlier poll's key may be there as well, and a release that finds it proves nothing about
 * this one. A full count stays. */
static void fair_not_told(struct redlock_lock *lock, unsigned k, enum redlock_command command)
{
    struct redlock_stake *stake = &lock->stakes[k];

    /* A release is never answered before a poll, so nothing was missed. */
    REDLOCK_ASSERT(command != REDLOCK_COMMAND_ACQUIRE ||
                   (stake->strays > 0 && stake->strays <= STRAYS_COUNT));
    if (command == REDLOCK_COMMAND_ACQUIRE && stake->strays < STRAYS_COUNT) stake->strays++;
}

/* At the doorway it may get a number. A lock that has a turn is in the queues by its number, or
 * without one. */
static bool fair_can_be_called(const struct redlock_lock *lock)
{
    return lock->line.turn.is_at_doorway || lock->wait_number != 0;
}

static const struct redlock_waiting fair_waiting = { .can_be_called = fair_can_be_called };

static const struct wire_row *const fair_rows[KIND_ROWS] = {
    [KIND_ACQUIRE] = &fair_acquire, [KIND_RESTORE] = &fair_restore, [KIND_EXTEND] = &fair_extend,
    [KIND_RELEASE] = &fair_release, [KIND_WAKE] = &fair_wake, [KIND_GIVE_BACK] = &fair_wake
};

const struct redlock_kind redlock_fair = {
    .rows = fair_rows,
    .has_own_keys = true, .keeps_place = true,
    .check = fair_check, .begin_round = fair_begin_round, .place = fair_place,
    .answered = fair_answer, .not_told = fair_not_told, .stay = fair_stay, .waiting = &fair_waiting
};
