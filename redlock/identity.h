/* The identity of servers whose INFO names no run_id. */
#ifndef REDLOCK_IDENTITY_H
#define REDLOCK_IDENTITY_H

#include "redlock.h"
#include "private.h"

/* S12: reads a line of INFO, as wire_read_info does, and takes from other lines what can stand in
 * for a run_id. */
REDLOCK_PRIVATE void identity_read_info(const char *line, size_t size,
                                        struct redlock_identity *identity);

/* After the last line: gives the identity a run_id if it has none, and finds out whether the server
 * that the node knows by it has restarted. */
REDLOCK_PRIVATE void identity_conclude(struct redlock_node *node,
                                       const struct redlock_config *config, uint64_t now_us);

#endif
