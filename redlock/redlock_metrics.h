/* redlock_metrics: counters and histograms made of the events of an engine (redlock_use_events in
 * redlock.h), and their text in the exposition format of Prometheus. It is optional. A program that
 * does not call it links none of it. It knows redlock.h and nothing else.
 *
 *     static struct redlock_metered slots[2 * LOCKS];
 *     redlock_use_events(&engine, &events, ring, RING_SIZE);
 *     events.kinds = REDLOCK_METRICS_EVENTS;
 *     redlock_metrics_init(&metrics, &engine, slots, 2 * LOCKS);
 *     ... after each step of the loop:
 *     while (redlock_next_event(&events, &event)) redlock_metrics_count(&metrics, &event);
 *     redlock_metrics_lost(&metrics, events.lost);
 *     ... when it is asked for:
 *     size = redlock_metrics_text(&metrics, &engine, now_us, wall_us, 0, text, sizeof text);
 *
 * Memory:  all of it is the caller's. Nothing is allocated, nothing is global. Fields are private,
 *          but for node_names.
 * Threads: the metrics belong to the thread that the engine belongs to.
 * Time:    the time of the engine's events and of now_us. Texts give seconds, as decimals of
 *          microseconds. No floating point and no division of 64 bits is needed.
 * Errors:  a status where one can occur. Nothing here changes the engine or a lock, so metrics
 *          cannot cost a lock.
 * Counts:  64 bits each, which overflow at a million a second in half a million years. They begin
 *          at 0 with redlock_metrics_init, which readers take for a restart. */
#ifndef REDLOCK_METRICS_H
#define REDLOCK_METRICS_H

#include "redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* See ABI in redlock.h. */
#define redlock_metrics_init REDLOCK_WITH_LAYOUT(redlock_metrics_init)

/* The kinds of events that are counted, which are all but CONNECTED and EMPTIED. Without SENT there
 * are no round trips. Without another kind the metrics are wrong. */
#define REDLOCK_METRICS_EVENTS (REDLOCK_EVENTS_ALL & \
                                ~REDLOCK_EVENT_BIT(REDLOCK_EVENT_CONNECTED) & \
                                ~REDLOCK_EVENT_BIT(REDLOCK_EVENT_EMPTIED))

enum { REDLOCK_LABELS_MAX = 8 };        /* Labels of the caller's own. */

/* A label of every metric. Its name has letters, digits and '_', does not begin with a digit or
 * "__", and is none of le, node, vote, outcome, reason, kind, trouble and version. Its value is any
 * text in UTF-8. Quotes, backslashes and newlines are escaped. */
struct redlock_label {
    const char *name, *value;
};

struct redlock_metered;     /* The facts remembered about one lock. */
struct redlock_metrics;

/* Begins to count the events of r from now on, best before its first redlock_tick. Each lock that
 * is in use or still owes something has a slot for its times. Twice as many slots as locks make
 * them quick to find. Locks beyond the slots are counted if that needs no memory of them, but have
 * no times and do not count as held (see untracked below). m and slots must stay until they are
 * used no longer. There is nothing to destroy. slot_count may be 0, and is below 2^32. */
void redlock_metrics_init(struct redlock_metrics *m, const struct redlock *r,
                          struct redlock_metered *slots, size_t slot_count);

/* From now on the events are those of another engine, with as many nodes, for instance after a
 * client was closed and opened again. Counts go on, and the locks of the old one are forgotten.
 * NULL: there is none, and redlock_metrics_text then takes NULL as well. */
void redlock_metrics_change(struct redlock_metrics *m, const struct redlock *r);

/* Sets the labels of every metric, instead of earlier ones. Neither they nor their texts are
 * copied, so they must stay. BAD_CONFIG: a name is not valid, or is there twice, or there are more
 * than LABELS_MAX. Nothing was changed. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_metrics_set_labels(struct redlock_metrics *m,
                                               const struct redlock_label *labels, unsigned count);

/* Counts one event, which the caller has taken out of its ring. It must count all events, in their
 * order. */
void redlock_metrics_count(struct redlock_metrics *m, const struct redlock_event *event);

/* The program gives up a lock that it holds, since no extension succeeds in time. Its work on the
 * resource ends, and a release follows, which the engine does not take for a loss. Counts the loss
 * now, with its reason. The release is counted as usual. Does nothing unless the lock is held. */
void redlock_metrics_give_up(struct redlock_metrics *m, const struct redlock_lock *lock,
                             uint64_t now_us);

/* Reports how many events have been lost in all (lost of the ring). Call it when all that were
 * in the ring have been counted. Lost events are counted themselves. If there are new ones, nobody
 * knows the state of the locks meanwhile. Each lock is forgotten, and comes back with its next
 * round. So counters are too low, the times of operations under way are missing or too short, and
 * gauges are too low until then. A ring that holds the events of one step loses none. */
void redlock_metrics_lost(struct redlock_metrics *m, uint64_t lost);

/* Writes the metrics as they are at now_us, by the engine's clock, in the text format of Prometheus
 * (version 0.0.4). It writes the bytes of the text from byte number `from` on, at most size - 1 of
 * them, and a NUL, or nothing if size is 0. Returns how many bytes of the text there are from there
 * on, so it fitted if that is less than size. With a small buffer, page by page:
 *
 *     for (from = 0; (left = redlock_metrics_text(&m, &r, now, wall, from, page, sizeof page)) > 0;
 *          from += left)
 *         send(page, left = left < sizeof page ? left : sizeof page - 1);
 *
 * with the same times, and without an event or a call of the engine between the pages, or they do
 * not fit together.
 * r is the engine whose events were counted. It gives the nodes' votes and troubles. NULL: it is
 * gone, and neither these nor the nodes that are up are reported.
 * wall_us is the wall clock, microseconds since 1970, reported as
 * redlock_updated_timestamp_seconds, by which a reader sees that nobody writes any longer. 0: it is
 * left out.
 *
 *     redlock_build_info{version}               1
 *     redlock_updated_timestamp_seconds         wall_us
 *     redlock_held                              locks that are held (S10: by the clock)
 *     redlock_waiting                           locks that are being acquired
 *     redlock_debts                             releases that nodes have not confirmed, one for
 *                                               each lock and node
 *     redlock_ticket                            the last ticket that was given; left out until then
 *     redlock_acquire_seconds{outcome}          histogram: from the beginning of an acquire to its
 *                                               end, with waiting: ok, taken, no_quorum (also where
 *                                               the time to wait was over, if the last attempt had
 *                                               none) and timeout are there from the start, others
 *                                               once they have occurred
 *     redlock_hold_seconds                      histogram: from when a lock was won until it was
 *                                               released or lost
 *     redlock_validity_left_ratio               histogram: the rest of the validity, as a part of
 *                                               the TTL, when an extension was decided; a smaller
 *                                               rest was nearer to a loss
 *     redlock_attempts_total{outcome}           rounds to acquire: ok, taken, no_quorum, too_late
 *     redlock_extensions_total{outcome}         rounds to extend, to upgrade and to downgrade: the
 *                                               same, and lost
 *     redlock_releases_total{outcome}           confirmed: by a quorum; owed: by fewer, so far;
 *                                               lost: it was not held any longer
 *     redlock_lost_total{reason}                locks that ended without a release, or were given
 *                                               up. expired: nobody extended it in time; refused:
 *                                               the last extension, or the release, found our token
 *                                               gone; no_quorum: extensions failed until the
 *                                               validity had ended, or it was given up
 *     redlock_wake_ups_total{kind}              attempts after a pause. heard: a quorum of nodes
 *                                               reported that its turn had come; timer: the pause
 *                                               was over
 *     redlock_votes_total{node,vote}            on rounds to acquire and to extend: granted,
 *                                               refused, unknown, not_asked; late: the lock had
 *                                               gone on before the node answered. Together they are
 *                                               the rounds, for each node
 *     redlock_node_round_trip_seconds{node}     histogram: from a command to its answer, of one
 *                                               command of a lock at a time
 *     redlock_node_restarts_total{node}         another server than before, or the same one
 *                                               after a restart
 *     redlock_node_up{node}                     1: connected, and the handshake is over; else 0
 *     redlock_node_votes{node}                  1: it has a vote on locks without a ticket; else 0
 *     redlock_node_trouble{node,trouble}        1: its last error, or why it has no vote; left out
 *                                               if there is none
 *     redlock_metrics_lost_events_total         see redlock_metrics_lost
 *     redlock_metrics_untracked_rounds_total    of locks for which there was no slot */
size_t redlock_metrics_text(const struct redlock_metrics *m, const struct redlock *r,
                            uint64_t now_us, uint64_t wall_us, size_t from, char *buffer,
                            size_t size);

/* ---- Private from here on ---- */

enum {
    REDLOCK_METRICS_OUTCOMES = 8,
    REDLOCK_METRICS_TIMES = 17,
    REDLOCK_METRICS_TRIPS = 12,
    REDLOCK_METRICS_PARTS = 9,
    REDLOCK_METRICS_VOTES = 5
};

struct redlock_metered {
    const struct redlock_lock *lock;    /* NULL: the slot is free. */
    uint64_t began_at;                  /* Its acquire. */
    uint64_t held_at, valid_until;
    uint16_t owed, voted, woken;        /* Sets of nodes. */
    uint8_t phase;
    uint8_t failure;                    /* The last extension's, or attempt's. */
    bool is_acquiring, is_held, is_voting;
    uint8_t releasing;
};

/* One command per node is timed, by the number of answers due before its own; 0: none is. */
struct redlock_trip {
    uint64_t began_at;
    uint16_t to_come;
    bool was_met, is_up;                /* It has been ready before, and it is ready now. */
};

/* A histogram has a count for each bucket, one more for values above all, and the sum. */
struct redlock_metrics {
    struct redlock_metered *slots;
    const struct redlock_label *labels;
    /* To be set after redlock_metrics_init. The value of the label "node" for each node, in UTF-8,
     * no two alike. The texts are not copied, so they must stay. NULL, or a text that is NULL: the
     * node's number. (Addresses may tell a reader more than it should know.) */
    const char *const *node_names;
    uint32_t slot_count;
    uint8_t node_count, label_count;
    struct redlock_trip nodes[REDLOCK_NODES_MAX];
    uint64_t acquires[REDLOCK_METRICS_OUTCOMES][REDLOCK_METRICS_TIMES + 2];
    uint64_t holds[REDLOCK_METRICS_TIMES + 2];
    uint64_t parts_left[REDLOCK_METRICS_PARTS + 2];
    uint64_t trips[REDLOCK_NODES_MAX][REDLOCK_METRICS_TRIPS + 2];
    uint64_t votes[REDLOCK_NODES_MAX][REDLOCK_METRICS_VOTES];
    uint64_t restarts[REDLOCK_NODES_MAX];
    uint64_t attempts[REDLOCK_METRICS_OUTCOMES], extensions[REDLOCK_METRICS_OUTCOMES];
    uint64_t losses[3], releases[3], wake_ups[2];
    uint64_t ticket, lost_events, lost_seen, untracked_rounds;
};

#ifdef __cplusplus
}
#endif
#endif
