/* Nodes that run no scripts (an ACL without EVAL, a service without Lua), but compare and delete by
 * a command of their own. native.c says which commands that are, and what is left of a lock. */
#ifndef REDLOCK_NATIVE_H
#define REDLOCK_NATIVE_H

#include "kind.h"

/* How a node works without scripts, as far as its handshake has come. */
enum native {
    NATIVE_NOT_SOUGHT,          /* It has refused no script. */
    NATIVE_NONE,                /* It knows none of the commands, so the next refusal is final. */
    NATIVE_DELEX,               /* It knows this command, or is being asked whether it does. */
    NATIVE_DELIFEQ
};

/* True if the node runs no scripts, and has such a command, or is being asked for it. */
static inline bool native_is(const struct redlock_node *node)
{
    return node->identity.native > NATIVE_NONE;
}

/* ---- In the handshake ---- */

/* An error reply to EVAL or TRIAL. True: it was a refusal to run scripts by a node that might vote,
 * and the handshake goes on with NATIVE. */
REDLOCK_PRIVATE bool native_is_begun(struct redlock_node *node, enum redlock_command command,
                                     const struct wire_reply *reply);

/* The question, and its answer. After the last one in vain the handshake asks for scripts again,
 * whose refusal is then the reason that a person sees. */
REDLOCK_PRIVATE void native_put_question(struct resp_writer *w, const struct redlock_node *node);
REDLOCK_PRIVATE enum redlock_answer native_read_answer(struct redlock_node *node,
                                                       const struct wire_reply *reply);

/* ---- Commands of locks ---- */

/* See struct redlock_hashing in stake.h. */
REDLOCK_PRIVATE bool native_lacks(const struct redlock *r, const struct redlock_lock *lock,
                                  unsigned k);
REDLOCK_PRIVATE const struct wire_row *native_row(const struct redlock *r,
                                                  struct redlock_lock *lock, unsigned k,
                                                  const struct wire_row *row);

#endif
