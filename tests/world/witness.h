/* A witness prints what happens in a cluster, by lines that a program which is not ours can judge: what each node keeps
 * after the commands that it has executed, and what each client believes. tests/witness/README.md has their form. It looks at
 * the nodes' keys and at the answers of redlock.h alone. */
#ifndef WITNESS_H
#define WITNESS_H

#include "cluster.h"

/* The cluster is watched from now on, and does not judge by itself any more. It must have been set up. Ends the program when
 * there is no memory. */
void witness_begin(struct cluster *cluster, const char *name);

/* Called by the cluster: a node has executed commands, or a client has called its engine. */
void witness_saw_node(struct witness *witness, unsigned node);
void witness_saw_call(struct witness *witness);

/* Prints the last line, without which the world is incomplete. NULL: does nothing. */
void witness_end(struct witness *witness);

#endif
