/* The state of one lock has its phase, its keys that may be on each node, and the time when it must
 * be looked at again. All operations share these words. This file knows no command and no answer.
 *
 * Each lock has a stake on each node. It records whether something of ours may be there, and the
 * one command that is to be sent next.
 *
 *     STAKE_NONE --SET sent--> STAKE_PLACED --to be released--> STAKE_OWED --sent--> STAKE_LEAVING
 *     --answered--> STAKE_NONE
 *
 * A SET is sent to a node only from STAKE_NONE, so that a lock never has more than one token on one
 * node. The stake remembers which (S6). If a connection breaks or an error is the answer, the stake
 * falls back to STAKE_OWED, a debt (S5). */
#ifndef REDLOCK_LOCK_STATE_H
#define REDLOCK_LOCK_STATE_H

#include "private.h"
#include "redlock.h"
#include "round.h"
#include "wire.h"

enum stake {
    STAKE_NONE,         /* Nothing of ours is there. */
    STAKE_PLACED,       /* A SET was sent. Our token may be there, granted or not yet known. */
    STAKE_OWED,         /* It is to be released. */
    STAKE_LEAVING       /* The release is on its way. */
};

/* Commands of ours that a node may execute after a release, or after an answer, because they were
 * sent on a connection that broke. The low bits count SETs that are not answered, and those that
 * were answered after one. A release may remove the key of any of them, so it is sent again until
 * it has removed as many or has twice found nothing, a while apart. */
enum strays {
    /* The largest count. Beyond it none is counted, and none is taken off again. */
    STRAYS_COUNT = 0x3F,
    STRAYS_MISSED = 0x40,   /* A release has found nothing. */
    /* The lock's role may change there. It is known by either token until the stake is cleared. */
    STRAYS_ROLE = 0x80
};

/* The link for the engine's own queues (needs_entropy, waiting, or else done). */
enum { SLOT_DONE = REDLOCK_NODES_MAX };

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

/* True if a TTL is sent with it. */
static inline bool is_with_ttl(enum redlock_command command)
{
    return command == REDLOCK_COMMAND_ACQUIRE || command == REDLOCK_COMMAND_RESTORE ||
           command == REDLOCK_COMMAND_EXTEND;
}

/* A win with less validity than this counts as lost. */
static inline uint64_t min_validity_us(const struct redlock_lock *lock)
{
    return later(1, (uint64_t)lock->min_validity_ms * 1000);
}

static inline bool has_ticket(const struct redlock_lock *lock)
{
    return lock->has_ticket;
}

/* True if it has an entry among the waiters of node k. */
static inline bool has_entry(const struct redlock_lock *lock, unsigned k)
{
    return (lock->entries & bit_of(k)) != 0;
}

/* True if the keeper extends it. is_quiet is true while it does so. */
static inline bool is_kept(const struct redlock_lock *lock)
{
    return lock->is_kept;
}

static inline bool is_quiet(const struct redlock_lock *lock)
{
    return lock->is_quiet;
}

/* Only this function changes the phase. */
REDLOCK_PRIVATE void lock_set_phase(struct redlock *r, struct redlock_lock *lock,
                                    enum redlock_phase phase);
REDLOCK_PRIVATE bool lock_is_in_round(const struct redlock_lock *lock);
/* See redlock_idle. */
REDLOCK_PRIVATE bool lock_is_idle(const struct redlock_lock *lock);
/* True if it is, or was, of that kind, whose keys no other kind removes, is to have another kind,
 * and may owe something. */
REDLOCK_PRIVATE bool lock_owes_otherwise(const struct redlock_lock *lock,
                                         const struct redlock_kind *kind,
                                         const struct redlock_request *request);
/* True if it is being acquired, and all that was lost so far are attempts. */
REDLOCK_PRIVATE bool lock_is_trying(const struct redlock_lock *lock);
/* True if the time of its round is over, so that nothing is sent for it any longer. Only a tick may
 * end it without the missing answers (has_timed_out), since a client that slept
 * reads them first. */
REDLOCK_PRIVATE bool lock_is_past_deadline(const struct redlock *r,
                                           const struct redlock_lock *lock);

/* True if it is held, or adopted and perhaps held. lock_valid_us returns for how long. 0: it is not
 * held, or nobody has confirmed it (S10). */
REDLOCK_PRIVATE bool lock_is_held(const struct redlock_lock *lock, uint64_t now_us);
REDLOCK_PRIVATE uint64_t lock_valid_us(const struct redlock_lock *lock, uint64_t now_us);

/* True if a quorum has reported that it is its turn. */
REDLOCK_PRIVATE bool lock_is_woken(const struct redlock *r, const struct redlock_lock *lock);

/* The time when the keeper has something to do for it. */
REDLOCK_PRIVATE uint64_t lock_keep_at(const struct redlock_lock *lock);

/* The one of the three queues by SLOT_DONE that has locks in its phase. It must leave the queue
 * before the phase changes. */
REDLOCK_PRIVATE struct redlock_queue *lock_queue(struct redlock *r,
                                                 const struct redlock_lock *lock);
REDLOCK_PRIVATE void lock_leave_queue(struct redlock *r, struct redlock_lock *lock);

/* Begins an operation. A status that nobody has fetched is forgotten. */
REDLOCK_PRIVATE void lock_start(struct redlock *r, struct redlock_lock *lock);

/* Begins a round for a command, with a TTL or without (0), which ends with the node timeout or at
 * latest, whichever is first. Call it before the phase is set. */
REDLOCK_PRIVATE void lock_begin_round(struct redlock *r, struct redlock_lock *lock,
                                      enum redlock_command command, uint32_t ttl_ms,
                                      uint64_t latest);

/* Puts the lock into the heap for the time when it must be looked at again. Call after any change
 * of that time. */
REDLOCK_PRIVATE void lock_reschedule(struct redlock *r, struct redlock_lock *lock);

/* Reports a status to the caller, by redlock_next_done. */
REDLOCK_PRIVATE void lock_tell(struct redlock *r, struct redlock_lock *lock,
                               enum redlock_status status);

#endif
