/* What was looked at, for people and for machines, on stdout. */
#ifndef STATUS_H
#define STATUS_H

#include "view.h"

/* "door: held by ... for another 8.2 s on 3 of 3 nodes (quorum 2)", without a line feed. */
void status_print_verdict(const struct view *view);

/* The holder, where no name is known: what of its value may be shown. Returns text, or
 * what is static. */
const char *status_value_text(const struct redlock_sight *sight, char *text, size_t size);

/* The members of an object, from "verdict" on, and its end. */
void status_json(const struct view *view);

/* The same of permits. */
void status_json_permits(const struct permits *permits);

#endif
