/* Removes one value from the nodes that have it, as the library's release does (S7). */
#ifndef REMOVAL_H
#define REMOVAL_H

#include "../redlock/session.h"

/* EVAL script 1 resource value ticket life. The answer is :1 removed, :0 no key there, :-1
 * another's. The value is compared as a whole. A counter of tickets that is smaller than the ticket
 * becomes that, for life ms; ticket 0: it is left alone. Waiters are looked for as by a release.
 * The flag goes with the key, and the first place whose channel has a listener is told. Commands of
 * this part that an ACL refuses are ignored. */
extern const char removal_script[];

/* Notes the command of a script that node k refused, with the right that an ACL must give if that
 * is why, and then returns true. The advice for locks does not fit. item: of type ERROR. */
bool removal_note_refusal(struct session *session, unsigned k, const struct redlock_item *item,
                          const char *needs);

/* Asks all nodes, for a node timeout. The number of nodes that it was removed from. */
unsigned removal_of(struct session *session, const void *name, size_t name_size, const void *value,
                    size_t value_size);

#endif
