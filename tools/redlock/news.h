/* What log and metrics take from the engine's events, of which a trace sees each before them. */
#ifndef NEWS_H
#define NEWS_H

#include "meter.h"

struct news {
    const struct meter_feature *meter;  /* NULL: there is none. */
    uint16_t met;                       /* Nodes that have been connected: a set. */
    /* Those that have restarted since, or are other servers now; the log takes them away. */
    uint16_t restarted;
};

void news_take(struct news *news, const struct redlock_event *event);

#endif
