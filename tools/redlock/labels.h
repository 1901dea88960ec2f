/* How metrics name a node. */
#ifndef LABELS_H
#define LABELS_H

#include "../../redlock/redlock_client.h"

enum { NODE_LABEL_MAX = REDLOCK_ADDRESS_MAX + 8 };

/* By its address, made printable; one that is there twice also by its number: "host:6379 (2)".
 * Returns text. */
const char *node_label(const struct redlock_client *client, unsigned k, char text[NODE_LABEL_MAX]);

#endif
