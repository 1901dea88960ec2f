#include "news.h"

#include <assert.h>

_Static_assert(REDLOCK_NODES_MAX <= 16, "nodes are kept in a uint16_t");

/* At the first contact each server is new. */
static void take_ready(struct news *news, const struct redlock_event *event)
{
    uint16_t bit = (uint16_t)(1u << event->session);

    assert(event->session < 16);
    if (event->as.is_new_server) news->restarted |= news->met & bit;
    news->met |= bit;
}

void news_take(struct news *news, const struct redlock_event *event)
{
    if (event->kind == REDLOCK_EVENT_READY && event->session < REDLOCK_NODES_MAX)
        take_ready(news, event);
    if (news->meter) news->meter->count(event);
}
