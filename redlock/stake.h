/* One lock, one node: what of ours may lie there, and the next command for it. Says what an answer
 * leaves behind there; knows no operation, and not what a command looks like. */
#ifndef REDLOCK_STAKE_H
#define REDLOCK_STAKE_H

#include "kind.h"
#include "lock_state.h"
#include "node.h"

/* Time until the next try if a node did not or could not take a release. */
enum { DEBT_RETRY_MS = 1000 };

/* An answer that was read, with its lock and node, its question, and its meaning. */
struct answer {
    struct redlock_lock *lock;
    unsigned k;
    enum redlock_command command;
    enum redlock_answer meaning;
    enum redlock_trouble trouble;   /* With REDLOCK_ANSWER_ERROR (see wire_class). */
    bool current;                   /* It was asked in the lock's last round. */
    enum redlock_form form;            /* The form in which it was asked. */
    /* A release that gives an entry among the waiters back, if there was one. */
    bool gives_back;
    const struct wire_reply *reply;
};

/* The part that wake-ups add. */
struct redlock_waking {
    /* An attempt was lost and the lock waits for the next one. It takes entries, if
     * it may listen. */
    void (*begin)(struct redlock *r, struct redlock_lock *lock);

    /* The lock's release has woken another client. */
    void (*has_woken)(struct redlock_lock *lock);

    /* The lock is to be acquired. After its release woke another client it stands aside for a
     * while, and takes entries then, so that the woken client can take it. False: it has no reason
     * to, or cannot. */
    bool (*yield)(struct redlock *r, struct redlock_lock *lock);

    /* The time that it waited for has come. False: it is not yet time for an attempt. */
    bool (*tick)(struct redlock *r, struct redlock_lock *lock);

    /* A lock waits no longer, if it did, or not here. Its number then belongs to nobody. */
    void (*leave)(struct redlock *r, struct redlock_lock *lock);

    /* It is in other memory, where to is its copy. */
    void (*move)(struct redlock *r, struct redlock_lock *to);

    /* Takes an entry among the waiters of node k, if the lock listens, and k's
     * subscription is established. */
    void (*line_up)(struct redlock *r, struct redlock_lock *lock, unsigned k);

    /* An answer to WAIT. */
    void (*answer)(struct redlock *r, const struct answer *a);

    /* The pause before the next attempt. It grows each time for a client that will be woken because
     * it has entries on a quorum. */
    uint64_t (*lengthen)(const struct redlock *r, struct redlock_lock *lock, uint64_t pause_us);

    /* Its entries are given back as if they were keys. keep_entry notes that a release that was to
     * give back the entry on node k was not executed. The lock may be acquired again meanwhile. */
    void (*give_back)(struct redlock *r, struct redlock_lock *lock);
    void (*keep_entry)(struct redlock_lock *lock, unsigned k);

    /* A session has lost its connection. Returns the number of failures after which the pause
     * before the next one grows no longer. */
    unsigned (*failures_max)(const struct redlock *r, unsigned session);

    /* A session is established, a node's own or its subscription. A lock that waits may now have a
     * quorum that can vote, or take its entry there. */
    void (*stands)(struct redlock *r, unsigned session);

    /* Node k's subscription has heard something. */
    void (*hear)(struct redlock *r, unsigned k, const struct wire_reply *reply);
};

/* The part that sends scripts by their SHA-1s, and as texts only to nodes that need that. */
struct redlock_hashing {
    /* The class of an error (see wire_class). It is NOSCRIPT as well if the node has no EVALSHA,
     * but may have EVAL. */
    enum redlock_trouble (*class_of)(const struct wire_reply *reply);

    /* The answer was NOSCRIPT, so the text is sent at once, within the same round. False:
     * it was another. */
    bool (*send_text)(struct redlock *r, const struct answer *a);

    /* True if node k runs no scripts, and the lock needs one now. Otherwise row gives the command
     * that is sent there, which is row where a script will do (see native.h). */
    bool (*lacks)(const struct redlock *r, const struct redlock_lock *lock, unsigned k);
    const struct wire_row *(*row)(const struct redlock *r, struct redlock_lock *lock, unsigned k,
                                  const struct wire_row *row);
};

/* The part that asks for the remaining time of a lock's holder after a refusal. */
struct redlock_holding {
    /* A node has refused. */
    void (*learn)(struct redlock *r, const struct answer *a);

    /* An answer to PTTL. */
    void (*answer)(const struct answer *a);

    /* Nobody asks any longer. */
    void (*stop)(struct redlock *r, struct redlock_lock *lock);

    /* Its command. */
    const struct wire_row *(*row)(void);
};

/* What setting keys again adds. */
struct redlock_restoring {
    /* An extension is won, or was when node k's answer came: does the node lack the key? */
    void (*key)(struct redlock *r, struct redlock_lock *lock, unsigned k);

    /* An answer to RESTORE. */
    void (*answer)(struct redlock *r, const struct answer *a);
};

/* The part that inspection adds. */
struct redlock_inspecting {
    /* Ends the inspection if all nodes have answered that can. */
    void (*judge)(struct redlock *r, struct redlock_lock *lock);

    /* An answer to GETRANGE, or to PTTL, for a lock that is inspected, or was until
     * it was cancelled. */
    void (*answer)(const struct answer *a);

    /* Its command. */
    const struct wire_row *(*row)(void);
};

/* The command is sent as soon as there is room for it on a connection. It replaces one
 * that waited before. */
REDLOCK_PRIVATE void stake_want(struct redlock *r, struct redlock_lock *lock, unsigned k,
                                enum redlock_command command);
REDLOCK_PRIVATE void stake_want_nothing(struct redlock *r, struct redlock_lock *lock, unsigned k);

/* Only this function changes the state of a stake. */
REDLOCK_PRIVATE void stake_set(struct redlock_lock *lock, unsigned k, enum stake state);

/* Nothing of ours is on node k any longer, so commands that waited for it there are dropped. The
 * dispatcher sees to commands that waited for this (see lock.c). */
REDLOCK_PRIVATE void stake_clear(struct redlock *r, struct redlock_lock *lock, unsigned k);

/* To be released at once, or as soon as there is a connection. A release waits in the
 * node's queue (S5). */
REDLOCK_PRIVATE void stake_owe(struct redlock *r, struct redlock_lock *lock, unsigned k);

/* To be released, but not now, since the node did not do it, or a SET may still arrive
 * after the release. */
REDLOCK_PRIVATE void stake_defer(struct redlock *r, struct redlock_lock *lock, unsigned k);

/* The debts that were put off are tried again now. */
REDLOCK_PRIVATE void stake_pay(struct redlock *r, struct redlock_lock *lock);

/* An attempt, or a release, that waited until an older stake on node k is cleared goes on without
 * that node. */
REDLOCK_PRIVATE void stake_give_up_waiting(struct redlock_lock *lock, unsigned k);

/* Lets go of everything that may be on node k, or on all nodes, whether granted or unknown (S4). */
REDLOCK_PRIVATE void stake_let_go(struct redlock *r, struct redlock_lock *lock, unsigned k);
REDLOCK_PRIVATE void stake_let_go_everywhere(struct redlock *r, struct redlock_lock *lock);

/* A TTL of this lock begins on some node now at the latest. Debts are not given up
 * before it ends. */
REDLOCK_PRIVATE void stake_note_end(struct redlock *r, struct redlock_lock *lock);

/* True if node k has a vote for the lock (on tickets, if asked) or may have one. If it may have
 * one, the command waits in its queue. */
REDLOCK_PRIVATE bool stake_may_ask(const struct redlock *r, const struct redlock_lock *lock,
                                   unsigned k, bool for_ticket);

/* S8: true if an answer to a command, asked in the current round or not, is a vote
 * on that round. */
REDLOCK_PRIVATE bool stake_is_vote(const struct redlock_lock *lock, bool current,
                                   enum redlock_command command);

/* Counts an answer as a vote, if it is one. */
REDLOCK_PRIVATE void stake_vote(const struct answer *a);

/* Scripts may go out by their SHA-1s from now on. */
REDLOCK_PRIVATE void stake_use_scripts(struct redlock *r);

/* The same, and each new connection loads those that extend and release. */
REDLOCK_PRIVATE void stake_load_scripts(struct redlock *r);

REDLOCK_INLINE bool stake_sends_text(struct redlock *r, const struct answer *a)
{
    return r->hashing && r->hashing->send_text(r, a);
}

#endif
