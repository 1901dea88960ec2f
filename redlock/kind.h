/* A kind of locks has commands to acquire, extend and release it, and functions for all that
 * differs from a plain lock. Each kind is a file in kinds/. No other file asks for the kind of a
 * lock, but roles.c, which changes it, and lock_state.c and ticket.c, which compare it. */
#ifndef REDLOCK_KIND_H
#define REDLOCK_KIND_H

#include "wire.h"

struct answer;

/* How locks of a kind wait for a wake-up. NULL: like plain locks. */
struct redlock_waiting {
    /* True if it can be found among the waiters. */
    bool (*can_be_called)(const struct redlock_lock *lock);

    /* True if it tries again so soon that it need not wait to be called. */
    bool (*is_brief)(const struct redlock_lock *lock);

    /* A node reports that it is the lock's turn, perhaps for a slot. If the pause is over without a
     * quorum of such reports, not_called follows. */
    void (*called)(struct redlock_lock *lock, uint8_t slot);
    void (*not_called)(struct redlock_lock *lock);

    /* It listens to a channel of its own, by node k's subscription, instead of taking entries.
     * unlisten ends that. */
    void (*listen)(struct redlock *r, struct redlock_lock *lock, unsigned k);
    void (*unlisten)(struct redlock *r, struct redlock_lock *lock);
};

struct redlock_kind {
    /* KIND_ROWS of them. NULL for one or for all: the command of plain locks. */
    const struct wire_row *const *rows;
    const struct redlock_waiting *waiting;  /* How it waits. NULL: like a plain lock. */
    bool has_own_keys;          /* No other kind removes its keys from the nodes. */
    /* A single resource is shared. Each resource of a set says it for itself. */
    bool is_shared;
    bool hides_token;           /* The resource's own key does not have its value. */
    /* Its ticket is one that it has asked for, and ticket_seen the one that it has. */
    bool is_changing;
    /* Its place on a node stays there until it is acquired or given up. All attempts have one
     * token, a refusal does not prove that nothing is there, and it takes no entry to wait. */
    bool keeps_place;

    /* ---- From here on NULL means the same as for a plain lock, mostly nothing ---- */

    /* The lock has this kind, or is to have it. OK: it may become a lock as requested. BAD_KIND:
     * parts of the request exclude each other. BAD_STATE: it may still have something on a node
     * that only commands of another kind would remove. Also prepares the engine for the kind. NULL:
     * a plain lock goes with everything but permits. */
    enum redlock_status (*check)(struct redlock *r, const struct redlock_lock *lock,
                                 const struct redlock_request *request);

    /* ---- To acquire ---- */

    /* An attempt begins. True: it goes on with the token that it has. */
    bool (*begin_round)(struct redlock *r, struct redlock_lock *lock);

    /* Its place, for its commands. */
    const struct redlock_place *(*place)(const struct redlock_lock *lock,
                                         struct redlock_place *place);

    /* A node has granted. A kind with answered does all that follows from an answer after it has
     * been counted. */
    void (*granted)(struct redlock *r, const struct answer *a);
    void (*answered)(struct redlock *r, const struct answer *a);

    /* An attempt is lost. True: the lock waits for the next one, and keeps everything that it has
     * on the nodes. */
    bool (*stay)(struct redlock *r, struct redlock_lock *lock);

    /* The pause before the next attempt. */
    uint64_t (*shorten)(struct redlock *r, struct redlock_lock *lock, uint64_t pause_us);

    /* ---- To extend, and to change its role ---- */

    /* True if node k may know it by either of two tokens. */
    bool (*has_two_tokens_on)(const struct redlock_lock *lock, unsigned k);

    /* An answer to an extension has arrived. If none will arrive any more, to this or another
     * command with a TTL, not_told is called instead. */
    void (*extended)(const struct answer *a);
    void (*not_told)(struct redlock_lock *lock, unsigned k, enum redlock_command command);

    /* An extension has ended. Returns the status to report. PENDING: it is to be extended once
     * more, to make up for it. */
    enum redlock_status (*judged)(struct redlock *r, struct redlock_lock *lock,
                                  enum redlock_status status);

    /* The operation under way is given up. */
    void (*cancelled)(struct redlock *r, struct redlock_lock *lock);
};

/* The row of a lock's command. NULL: there is none, since nobody is woken. */
static inline const struct wire_row *
kind_row(const struct redlock *r, const struct redlock_lock *lock, enum wire_kind_row which)
{
    const struct wire_row *own = lock->kind->rows ? lock->kind->rows[which] : NULL;

    return own ? own : r->scripts->rows[which];
}

static inline bool kind_has_two_tokens_on(const struct redlock_lock *lock, unsigned k)
{
    return lock->kind->has_two_tokens_on && lock->kind->has_two_tokens_on(lock, k);
}

#endif
