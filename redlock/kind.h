/* A kind of locks: the commands by which it is acquired, extended and released, and what is done for it otherwise than for a plain
 * lock. Each kind is a file of its own in kinds/, and no other file asks which kind a lock is of. */
#ifndef REDLOCK_KIND_H
#define REDLOCK_KIND_H

#include "wire.h"

struct answer;

/* How locks of a kind wait for a wake-up. NULL: as plain locks do. */
struct redlock_waiting {
    /* Can it be found among those that wait? */
    bool (*can_be_called)(const struct redlock_lock *lock);

    /* Does it try again so soon that it need not wait to be called? */
    bool (*is_brief)(const struct redlock_lock *lock);

    /* A node says that its turn has come, perhaps for a slot; and the pause is over without a quorum that said so. */
    void (*called)(struct redlock_lock *lock, uint8_t slot);
    void (*not_called)(struct redlock_lock *lock);

    /* It listens to a channel of its own, by node k's subscription, instead of taking entries; and no longer. */
    void (*listen)(struct redlock *r, struct redlock_lock *lock, unsigned k);
    void (*unlisten)(struct redlock *r, struct redlock_lock *lock);
};

struct redlock_kind {
    const struct wire_row *const *rows;     /* KIND_ROWS of them. NULL, all or one: the command of plain locks. */
    const struct redlock_waiting *waiting;  /* How it waits. NULL: as a plain lock does. */
    bool has_own_keys;          /* No other kind removes what it leaves on the nodes. */
    bool is_shared;             /* A single resource is shared. In a set each has a word of its own. */
    bool hides_token;           /* The resource's own key does not have its value. */
    bool keeps_place;           /* What it has on a node stays there until it is acquired or given up: all attempts are by one
                                 * token, a refusal does not prove that nothing is there, and it takes no entry to wait. */

    /* ---- NULL below: what is done for a plain lock, mostly nothing ---- */

    /* The lock is of this kind, or is to be. May it become what the request says? OK. BAD_KIND: what is asked for does not go
     * together. BAD_STATE: it may still have something on a node that would be removed by commands of another kind. Gets ready what
     * the kind needs of the engine. NULL: a plain lock goes with everything but permits. */
    enum redlock_status (*check)(struct redlock *r, const struct redlock_lock *lock, const struct redlock_request *request);

    /* ---- To acquire ---- */

    /* An attempt begins. True: it goes on with the token that it has. */
    bool (*begin_round)(struct redlock *r, struct redlock_lock *lock);

    /* What its commands say of its place. */
    const struct redlock_place *(*place)(const struct redlock_lock *lock, struct redlock_place *place);

    /* A node has granted; and an answer has been counted, by a kind that sees to all that follows from it. */
    void (*granted)(struct redlock *r, const struct answer *a);
    void (*answered)(struct redlock *r, const struct answer *a);

    /* An attempt is lost. True: the lock waits for the next one, with whatever it has on the nodes. */
    bool (*stay)(struct redlock *r, struct redlock_lock *lock);

    /* The pause before the next attempt. */
    uint64_t (*shorten)(struct redlock *r, struct redlock_lock *lock, uint64_t pause_us);

    /* ---- To extend, and to change its role ---- */

    /* May node k know it by either of two tokens? */
    bool (*has_two_tokens_on)(const struct redlock_lock *lock, unsigned k);

    /* An answer to an extension; and none will come any more. */
    void (*extended)(const struct answer *a);
    void (*not_told)(struct redlock_lock *lock, unsigned k);

    /* An extension has ended: what there is to tell of it. PENDING: it is to be extended once more, to make up for it. */
    enum redlock_status (*judged)(struct redlock *r, struct redlock_lock *lock, enum redlock_status status);

    /* The operation under way is given up. */
    void (*cancelled)(struct redlock *r, struct redlock_lock *lock);
};

/* The row by which a command of the lock goes out. NULL: there is none, since nobody is woken. */
static inline const struct wire_row *kind_row(const struct redlock *r, const struct redlock_lock *lock, enum wire_kind_row which)
{
    const struct wire_row *own = lock->kind->rows ? lock->kind->rows[which] : NULL;

    return own ? own : r->scripts->rows[which];
}

static inline bool kind_has_two_tokens_on(const struct redlock_lock *lock, unsigned k)
{
    return lock->kind->has_two_tokens_on && lock->kind->has_two_tokens_on(lock, k);
}

#endif
