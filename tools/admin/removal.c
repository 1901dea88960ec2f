#include "removal.h"

#include <stdio.h>
#include <string.h>

#include "../redlock/ask_all.h"
#include "admin_scripts.h"

const char removal_script[] = REMOVAL_SCRIPT;

bool removal_note_refusal(struct session *session, unsigned k, const struct redlock_item *item,
                          const char *needs)
{
    struct session_note *note = &session->notes[k];

    item_note_refusal(item, note, needs);
    if (note->trouble == REDLOCK_TROUBLE_NOPERM || note->trouble == REDLOCK_TROUBLE_WRONGTYPE)
        note->trouble = REDLOCK_TROUBLE_OTHER_ERROR;
    return item_is_forbidden(item);
}

unsigned removal_of(struct session *session, const void *name, size_t name_size, const void *value,
                    size_t value_size)
{
    static struct ask_all all;
    unsigned removed = 0;
    struct redlock_item item;

    all = (struct ask_all){ 0 };
    ask_all_argument(&all, "EVAL");
    ask_all_argument(&all, removal_script);
    ask_all_argument(&all, "1");
    ask_all_bytes(&all, name, name_size);
    ask_all_bytes(&all, value, value_size);
    ask_all_argument(&all, "0");
    ask_all_begin(&all, session);
    ask_all_wait(&all, session,
                 redlock_now_us() +
                     (uint64_t)session->settings->options.engine.node_timeout_ms * 1000);
    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        bool has_answered = ask_all_answer(&all, k, &item);
        removed += has_answered && item.type == REDLOCK_ITEM_INTEGER && item.integer > 0;
        if (!has_answered && item.type == REDLOCK_ITEM_ERROR)
            (void)removal_note_refusal(session, k, &item,
                                       "to remove takes ~RESOURCE* +eval +get +set +del: ");
    }
    ask_all_end(&all, session);
    return removed;
}
