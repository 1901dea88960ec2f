/* One lock among the nodes: what of it lies where, what it goes through, and what it asks. Shared by the files that make up
 * the engine:
 *
 *     stake.c       one lock x one node: what is there, and the next command
 *     lock.c        one lock x all nodes: attempts, rounds, answers, debts
 *     keeper.c      a lock that is held and extended by itself
 *     waiter.c      a lock between two attempts: its places among the waiters, and what wakes it
 *     operations.c  the calls of redlock.h that are about a lock
 *     engine.c      the calls that are about nodes and time
 *
 * For each lock and node there is a stake: what of ours may lie there, and the one command that is to be sent next.
 *
 *     STAKE_NONE --SET sent--> STAKE_PLACED --to be released--> STAKE_OWED --sent--> STAKE_LEAVING --answered--> STAKE_NONE
 *
 * A SET goes to a node only from STAKE_NONE, so that of one lock never more than one token is anywhere on one node; the
 * stake remembers which (S6). What breaks on the way (connection, error) falls back to STAKE_OWED: a debt (S5). */
#ifndef REDLOCK_LOCK_H
#define REDLOCK_LOCK_H

#include "node.h"
#include "private.h"
#include "redlock.h"
#include "round.h"
#include "wire.h"

enum stake {
    STAKE_NONE,         /* Nothing of ours is there. */
    STAKE_PLACED,       /* A SET was sent: our token may be there, granted or not yet known. */
    STAKE_OWED,         /* It is to be released. */
    STAKE_LEAVING       /* The release is on its way. */
};

enum phase {
    PHASE_IDLE,         /* Nothing is under way; something may be owed. */
    PHASE_WAITING,      /* For the next attempt at retry_at, or for a wake-up. */
    PHASE_HUNGRY,       /* For random bytes, until retry_at. */
    PHASE_ACQUIRING,
    PHASE_SETTLING,     /* The last attempt is lost; nodes are asked how long the holder has left. */
    PHASE_HELD,         /* Won. Whether it is still held only the clock tells (S10). */
    PHASE_EXTENDING,
    PHASE_RELEASING,
    PHASE_INSPECTING
};

enum {
    DEBT_RETRY_MS = 1000,           /* When a node would not or could not take a release: how long until the next try. */
    SLOT_DONE = REDLOCK_NODES_MAX   /* The link for a queue that is of no node: hungry, waiting, or else done. */
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When a round that begins now ends at the latest. */
static inline uint64_t timeout_at(const struct redlock *r)
{
    return r->now_us + (uint64_t)r->config.node_timeout_ms * 1000;
}

/* Does a TTL go out with it? */
static inline bool is_with_ttl(enum wire_command command)
{
    return command == WIRE_ACQUIRE || command == WIRE_RESTORE || command == WIRE_EXTEND;
}

/* What the lock is about. */
static inline const struct redlock_name *names_of(const struct redlock_lock *lock)
{
    return lock->set ? lock->set : &lock->name;
}

static inline bool has_ticket(const struct redlock_lock *lock)
{
    return WITH_TICKETS && lock->has_ticket;
}

/* Has it a place among the waiters of node k? */
static inline bool has_place(const struct redlock_lock *lock, unsigned k)
{
    return WITH_WAITERS && (lock->waits & bit_of(k));
}

/* Does the keeper extend it, and is it at that now? */
static inline bool is_kept(const struct redlock_lock *lock)
{
    return WITH_KEEPER && lock->is_kept;
}

static inline bool is_quiet(const struct redlock_lock *lock)
{
    return WITH_KEEPER && lock->is_quiet;
}

/* A number from 0 to less than range, for delays: it need not be secret. */
REDLOCK_PRIVATE uint32_t throw_dice(struct redlock *r, uint32_t range);

/* Takes random bytes, which are used once and gone (S6). False: there are not so many. */
REDLOCK_PRIVATE bool draw_random(struct redlock *r, uint8_t *bytes, size_t size);

/* ---- stake.c: one lock, one node ---- */

/* The command goes out as soon as there is room for it on a connection; one that waited before is replaced. */
REDLOCK_PRIVATE void stake_want(struct redlock *r, struct redlock_lock *lock, unsigned k, enum wire_command command);
REDLOCK_PRIVATE void stake_want_nothing(struct redlock *r, struct redlock_lock *lock, unsigned k);

REDLOCK_PRIVATE void stake_set(struct redlock_lock *lock, unsigned k, enum stake state);

/* To be released at once, or as soon as there is a connection: a release waits in the node's queue (S5). */
REDLOCK_PRIVATE void stake_owe(struct redlock *r, struct redlock_lock *lock, unsigned k);

/* To be released, but not now: the node would not do it, or a SET may still come behind the release. */
REDLOCK_PRIVATE void stake_owe_later(struct redlock *r, struct redlock_lock *lock, unsigned k);

/* An attempt, or a release, that waited until an older stake on node k is settled goes on without that node. */
REDLOCK_PRIVATE void stake_give_up_waiting(struct redlock_lock *lock, unsigned k);

/* Lets go of whatever may be on node k, on all nodes: grants, and what is unknown, alike (S4). */
REDLOCK_PRIVATE void stake_let_go(struct redlock *r, struct redlock_lock *lock, unsigned k);
REDLOCK_PRIVATE void stake_let_go_everywhere(struct redlock *r, struct redlock_lock *lock);

/* Gives back its places among the waiters, as if they were keys. */
REDLOCK_PRIVATE void stake_leave_waiters(struct redlock *r, struct redlock_lock *lock);

/* A TTL of this lock begins on some node now at the latest: until then debts are not given up. */
REDLOCK_PRIVATE void stake_note_end(struct redlock *r, struct redlock_lock *lock);

/* Encodes for node k what the locks in its queue want, as much as there is room for. */
REDLOCK_PRIVATE void stake_fill_send_buffer(struct redlock *r, unsigned k);

/* ---- lock.c: one lock, all nodes ---- */

/* The only one that changes the phase. */
REDLOCK_PRIVATE void lock_set_phase(struct redlock_lock *lock, enum phase phase);
REDLOCK_PRIVATE bool lock_is_in_round(const struct redlock_lock *lock);
/* To be acquired: it has lost no more than single attempts. */
REDLOCK_PRIVATE bool lock_is_trying(const struct redlock_lock *lock);
REDLOCK_PRIVATE bool lock_is_overdue(const struct redlock *r, const struct redlock_lock *lock);

/* An operation begins; it ends, in a phase and with a status. After whatever may change when the lock must be looked at again,
 * it is put into the heap for that time. */
REDLOCK_PRIVATE void lock_start(struct redlock *r, struct redlock_lock *lock);
REDLOCK_PRIVATE void lock_finish(struct redlock *r, struct redlock_lock *lock, enum phase phase, enum redlock_status status);
REDLOCK_PRIVATE void lock_reschedule(struct redlock *r, struct redlock_lock *lock);

/* Which of the three queues by SLOT_DONE is for locks in its phase; to be taken out of it before the phase changes. */
REDLOCK_PRIVATE struct redlock_queue *lock_queue(struct redlock *r, const struct redlock_lock *lock);
REDLOCK_PRIVATE void lock_leave_queue(struct redlock *r, struct redlock_lock *lock);

/* Held, or adopted and perhaps held. */
REDLOCK_PRIVATE bool lock_is_held(const struct redlock_lock *lock, uint64_t now_us);

/* Begins a round about a command, which ends with the node timeout or at latest, whichever comes first. */
REDLOCK_PRIVATE void lock_begin_round(struct redlock *r, struct redlock_lock *lock, enum wire_command command, uint64_t latest);

/* Begins an attempt to acquire, or waits for random bytes. */
REDLOCK_PRIVATE void lock_begin_attempt(struct redlock *r, struct redlock_lock *lock);

/* Begins to extend a lock that is held. */
REDLOCK_PRIVATE void lock_begin_extension(struct redlock *r, struct redlock_lock *lock, uint32_t ttl_ms);

/* Has node k a vote, on a ticket or without, or is it not yet known whether it has? Then the command waits in its queue. */
REDLOCK_PRIVATE bool lock_may_ask(const struct redlock *r, unsigned k, bool for_ticket);

/* Nothing of ours is on node k any more. What waited for that goes on; what was to be done to it there is not. */
REDLOCK_PRIVATE void lock_clear_stake(struct redlock *r, struct redlock_lock *lock, unsigned k);

/* Has what just happened decided the round? */
REDLOCK_PRIVATE void lock_judge(struct redlock *r, struct redlock_lock *lock);

/* An answer that was read: of which lock and node, to what, and what it means. */
struct answer {
    struct redlock_lock *lock;
    unsigned k;
    enum wire_command command;
    enum wire_answer meaning;
    enum redlock_trouble trouble;   /* With WIRE_ERROR. */
    bool current;                   /* It was asked in the lock's last round. */
    bool eval, scripted;            /* It was asked by EVAL; to acquire, by the script. */
    const struct wire_reply *reply;
};

/* What PTTL says, in ms: FOREVER, 0 for no key, and never more than what is told. */
REDLOCK_PRIVATE uint32_t lock_ms_of(int64_t pttl);

REDLOCK_PRIVATE void lock_answer(struct redlock *r, const struct answer *a);

/* A command will not be answered any more: its connection is lost. The lock may be NULL. */
REDLOCK_PRIVATE void lock_never_answered(struct redlock *r, unsigned k, const struct redlock_asked *asked);

/* What the lock wants of node k waits in the queue of a node that cannot take it now. */
REDLOCK_PRIVATE void lock_turn_away(struct redlock *r, unsigned k, struct redlock_lock *lock);

/* Its time has come: a deadline, a retry, a debt. */
REDLOCK_PRIVATE void lock_tick(struct redlock *r, struct redlock_lock *lock);

/* ---- keeper.c ---- */

/* The keeper's next extension, after one that has just begun the lock's validity. */
REDLOCK_PRIVATE void keeper_schedule(struct redlock *r, struct redlock_lock *lock);

/* When it has something to do for the lock. */
REDLOCK_PRIVATE uint64_t keeper_wake_at(const struct redlock_lock *lock);
REDLOCK_PRIVATE void keeper_tick(struct redlock *r, struct redlock_lock *lock);

/* An extension that the keeper began has ended. */
REDLOCK_PRIVATE void keeper_extended(struct redlock *r, struct redlock_lock *lock, enum redlock_status status);

/* ---- waiter.c ---- */

/* Between two attempts: when will the next one begin at the latest? False: there is no time for one. */
REDLOCK_PRIVATE bool waiter_begin(struct redlock *r, struct redlock_lock *lock);

/* After its release woke somebody: the lock stands aside for a while, and lines up then, instead of taking it from under their
 * noses. False: it has no reason to, or cannot. */
REDLOCK_PRIVATE bool waiter_yield(struct redlock *r, struct redlock_lock *lock);

/* The time that it waited for has come. */
REDLOCK_PRIVATE void waiter_tick(struct redlock *r, struct redlock_lock *lock);

/* Of its name, of a set the first one: that tells well enough whether the next acquire is about what somebody was woken for, since
 * a mistake costs one of the two a pause, and nobody the lock. */
REDLOCK_PRIVATE uint32_t waiter_hash(const struct redlock_lock *lock);

/* A quorum has said that its turn has come. Who wins so stays patient when he waits for the same again: of many waiters each
 * would otherwise look by himself several times until his turn. */
REDLOCK_PRIVATE bool waiter_is_woken(const struct redlock *r, const struct redlock_lock *lock);

/* Takes a place among the waiters of node k, if the lock listens, and k's ear does. */
REDLOCK_PRIVATE void waiter_line_up(struct redlock *r, struct redlock_lock *lock, unsigned k);
REDLOCK_PRIVATE void waiter_answer(struct redlock *r, const struct answer *a);

/* Node k's ear has subscribed; it has heard that the turn of a place has come. */
REDLOCK_PRIVATE void waiter_ear_opens(struct redlock *r, unsigned k);
REDLOCK_PRIVATE void waiter_hear(struct redlock *r, unsigned k, uint32_t wait_number);

#endif
