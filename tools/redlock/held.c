#include "held.h"

#include <assert.h>
#include <string.h>

#include "ask_all.h"
#include "print.h"

/* The name behind the token, if the value is still of that one. */
static void read_name(struct held *held, const struct redlock_item *item, const char *token)
{
    const char *value = (const char *)item->bytes;

    if (item->type != REDLOCK_ITEM_BULK || item->size <= REDLOCK_TOKEN_TEXT + 1 ||
        item->size > REDLOCK_VALUE_TEXT)
        return;
    if (memcmp(value, token, REDLOCK_TOKEN_TEXT) != 0 || value[REDLOCK_TOKEN_TEXT] != ' ') return;
    (void)print_text(held->name, sizeof held->name, "%.*s",
                     (int)(item->size - REDLOCK_TOKEN_TEXT - 1), value + REDLOCK_TOKEN_TEXT + 1);
}

void held_look(struct held *held, struct session *session, const char *resource, const char *token)
{
    static struct ask_all value, ticket;
    struct redlock_item item;
    char last[16], counter[REDLOCK_RESOURCE_MAX + sizeof REDLOCK_TICKET_SUFFIX];
    uint64_t until =
        redlock_now_us() + (uint64_t)session->settings->options.engine.node_timeout_ms * 1000;

    assert(resource && token);
    *held = (struct held){ 0 };
    value = ticket = (struct ask_all){ 0 };
    /* One more than there may be. */
    (void)print_text(last, sizeof last, "%d", REDLOCK_VALUE_TEXT);
    (void)print_text(counter, sizeof counter, "%s%s", resource, REDLOCK_TICKET_SUFFIX);
    ask_all_argument(&value, "GETRANGE");
    ask_all_argument(&value, resource);
    ask_all_argument(&value, "0");
    ask_all_argument(&value, last);
    ask_all_argument(&ticket, "GET");
    ask_all_argument(&ticket, counter);
    ask_all_begin(&value, session);
    ask_all_begin(&ticket, session);
    ask_all_wait(&value, session, until);
    ask_all_wait(&ticket, session, until);
    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        if (ask_all_answer(&value, k, &item)) read_name(held, &item, token);
        if (ask_all_answer(&ticket, k, &item) && item_number(&item) > held->ticket)
            held->ticket = item_number(&item);
    }
    ask_all_end(&value, session);
    ask_all_end(&ticket, session);
}
