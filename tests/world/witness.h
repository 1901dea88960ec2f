/* A witness prints what each node keeps after the commands that it has executed, and what each
 * client believes, so that a program which is not ours can judge it. tests/witness/README.md has
 * the lines. It looks at the nodes' keys, at the answers of redlock.h, and at a lock's token and
 * number of permits. */
#ifndef WITNESS_H
#define WITNESS_H

#include "cluster.h"

/* The cluster is watched from now on, and does not judge by itself any more. It must have been set
 * up. Ends the program when there is no memory. */
void witness_begin(struct cluster *cluster, const char *name);

/* The cluster calls these when a node has executed commands, and when a client has called its
 * engine, a node has started or a clock has changed. */
void witness_saw_node(struct witness *witness, unsigned node);
void witness_saw_call(struct witness *witness);

/* The holder "marks" a period and then runs; or it "looks" whether the period is done, "begins" to
 * run in it, has "done" it. */
void witness_saw_deed(struct witness *witness, unsigned client, const char *verb,
                      struct redlock_name resource, uint64_t period_ms, const char *token);

/* Prints the last line, without which the world is incomplete. NULL: does nothing. */
void witness_end(struct witness *witness);

#endif
