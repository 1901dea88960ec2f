/* Looks through all keys of the nodes for locks, and for leftovers of some. It reads only.
 *
 * It goes from node to node. Each step of SCAN gives some names, and all nodes are asked about them
 * one right after the other, so that their answers can be compared. A name is judged at the first
 * node that has it, and its state is forgotten at once. Only names that may need somebody are kept,
 * with the hash of their state, until they are looked at again. SCAN_KEPT_MAX of these fit, and if
 * there is no room it waits until the oldest is due. The memory is therefore the same for a
 * thousand keys and for a million, and nothing is dropped. */
#ifndef SCAN_H
#define SCAN_H

#include "../redlock/session.h"
#include "scan_order.h"

/* Call it before the session is opened. It gives it larger buffers, or scan_nodes() says
 * BAD_CONFIG. Waiting clients cannot be woken by way of such a session, nor are releases heard,
 * since it has one connection to each node. */
void scan_prepare(struct settings *settings);

/* Connects if need be, and goes through all nodes that have a say. OK; NO_QUORUM: too few of them
 * could be gone through; CANCELLED: a signal or goes_on ended it; or session->fault. *counts is
 * right as far as it went. Why a node has no say, or was not gone through, stands in the session's
 * notes. The memory that it uses is static, so there can be one at a time. */
enum redlock_status scan_nodes(struct session *session, const struct scan_order *order,
                               struct scan_counts *counts);

#endif
