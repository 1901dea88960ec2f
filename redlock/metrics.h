/* Things that counting and writing of metrics share. Knows only the public headers. */
#ifndef REDLOCK_METRICS_PRIVATE_H
#define REDLOCK_METRICS_PRIVATE_H

#include "private.h"
#include "redlock_metrics.h"

enum metrics_outcome {
    OUTCOME_OK,
    OUTCOME_TAKEN,
    OUTCOME_NO_QUORUM,
    OUTCOME_TOO_LATE,
    OUTCOME_LOST,
    OUTCOME_TIMEOUT,
    OUTCOME_CANCELLED,
    OUTCOME_ERROR
};
enum metrics_loss { LOSS_EXPIRED, LOSS_REFUSED, LOSS_NO_QUORUM };
enum metrics_release { RELEASE_CONFIRMED, RELEASE_OWED, RELEASE_LOST };
enum metrics_wake_up { WAKE_UP_HEARD, WAKE_UP_TIMER };
enum metrics_vote { METRIC_GRANTED, METRIC_REFUSED, METRIC_UNKNOWN, METRIC_NOT_ASKED, METRIC_LATE };

/* The upper ends of the buckets, in microseconds, or in millionths for parts. */
REDLOCK_PRIVATE const uint32_t *metrics_times(void);
REDLOCK_PRIVATE const uint32_t *metrics_trips(void);
REDLOCK_PRIVATE const uint32_t *metrics_parts(void);

REDLOCK_PRIVATE unsigned metrics_count_of(uint16_t nodes);

#endif
