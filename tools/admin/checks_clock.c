/* Time: how long a node is up, how its clock goes, and how quickly it answers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../redlock/print.h"
#include "../redlock/text.h"
#include "checks.h"

enum {
    CLOCK_WARNING_US = 1000 * 1000,
    RATE_WARNING_PPM = 500,             /* The kernel slews a clock so fast by default. */
    STEP_WARNING_US = 100 * 1000,
    /* 50 ppm, so two clocks that nobody sets differ by so much of the time that passes. */
    QUARTZ_PART = 20000,
    /* Part of the TTL; a round trip that takes more is worth a word. */
    LATENCY_PART = 50
};
#define STEP_TOLD_US ((uint64_t)3600 * 1000 * 1000)     /* A step is found again for so long. */

void judge_up(struct judging *j)
{
    uint64_t guard = j->limits->guard_ms, tickets = guard + 2 * (uint64_t)j->limits->skew_ms, up;
    char duration[TEXT_DURATION_MAX], up_text[TEXT_DURATION_MAX];

    if (guard > 0 && j->limits->ttl_ms > guard) {
        found(j, SEVERITY_UNSAFE, "a TTL (--ttl) of at most the guard (--guard)",
              "its guard, %s, is shorter than locks last: it could vote twice after a restart",
              text_duration(duration, guard));
        return;
    }
    if (!number_of(j, FACT_UPTIME, &up)) return;
    up = up > 0 ? (up - 1) * 1000 : 0;
    (void)text_duration(up_text, up);
    if (why_remember(j) && j->node->votes)
        well(j, "up for %s, and %s", up_text, why_remember(j));
    else if (guard > 0 && up < guard)
        found(j, SEVERITY_WARNING, "wait", "restarted %s ago: no vote for another %s", up_text,
              text_duration(duration, guard - up));
    else if (guard > 0 && up < tickets)
        found(j, SEVERITY_WARNING, "wait", "restarted %s ago: no ticket for another %s", up_text,
              text_duration(duration, tickets - up));
    else well(j, "up for %s", up_text);
}

/* ---- Clocks ---- */

static void time_unknown(struct judging *j, const struct survey_clock *clock)
{
    if (clock->answer == ANSWER_REFUSED)   unknown(j, "+time", "TIME is refused: needs +time");
    else if (clock->answer != ANSWER_NONE) unknown(j, NULL, "TIME has no answer that is one");
    else
        unknown(j, NULL, "not asked: %s",
                j->node->trouble ? j->node->trouble_text : "no answer in time");
}

static uint64_t size_of(int64_t number)
{
    return number < 0 ? -(uint64_t)number : (uint64_t)number;
}

/* Do most nodes' clocks differ from ours by about as much as this one's? If so, it is ours
 * that is wrong. */
static bool is_our_clock(const struct judging *j)
{
    unsigned count = 0, known = 0;

    for (unsigned k = 0; k < j->survey->count; k++) {
        const struct survey_clock *clock = &j->survey->nodes[k].clock;
        known += clock->is_known;
        count += clock->is_known &&
                 size_of(clock->ahead_us - j->node->clock.ahead_us) < CLOCK_WARNING_US;
    }
    return known > 1 && count > known / 2;
}

void judge_clock(struct judging *j)
{
    const struct survey_clock *clock = &j->node->clock;
    uint64_t off = size_of(clock->ahead_us),
             least = off > clock->give_or_take_us ? off - clock->give_or_take_us : 0;
    const char *fix = is_our_clock(j)
                          ? "set this machine's clock, by NTP: most nodes agree with each other"
                          : "set its clock, by NTP: slewing, not stepping";
    const char *way = clock->ahead_us < 0 ? "behind" : "ahead of";
    char text[TEXT_DURATION_MAX];

    if (!clock->is_known) {
        time_unknown(j, clock);
        return;
    }
    if (least <= CLOCK_WARNING_US) {
        well(j, "its clock is within %s ms of this machine's",
             text_ms(text, off + clock->give_or_take_us));
        return;
    }
    (void)text_duration(text, off / 1000);
    if (least > (uint64_t)j->limits->skew_ms * 1000)
        found(j, SEVERITY_UNSAFE, fix,
              "its clock is %s %s this machine's, more than the skew: tickets are refused", text,
              way);
    else found(j, SEVERITY_WARNING, fix, "its clock is %s %s this machine's", text, way);
}

/* How much faster than our clock a node's has run between two looks, in millionths, and how far
 * that may be wrong. */
void judge_rate(struct judging *j)
{
    const struct survey_clock *first = &j->node->clock, *later = &j->node->later;
    int64_t us = (int64_t)(later->at_us - first->at_us), ppm, give_or_take,
            limit = j->limits->drift_ppm;

    if (!later->is_known && j->survey->is_quick) {
        left_out(j, "--quick");
        return;
    }
    if (!later->is_known || us <= 0) {
        time_unknown(j, later);
        return;
    }
    ppm = (later->since_boot_us - first->since_boot_us) * 1000000 / us;
    give_or_take = (int64_t)(first->give_or_take_us + later->give_or_take_us) * 1000000 / us;
    if (ppm - give_or_take > limit)
        found(j, SEVERITY_UNSAFE, "let its clock be slewed more slowly, or give --drift",
              "its clock runs %" PRId64 " ppm too fast: locks end before their time", ppm);
    else if (ppm + give_or_take > limit)
        unknown(j, NULL,
                "its clock runs at our rate, give or take %" PRId64 " ppm: more than the drift",
                give_or_take);
    else if (ppm - give_or_take > RATE_WARNING_PPM || ppm + give_or_take < -RATE_WARNING_PPM)
        found(j, SEVERITY_WARNING, "see how its clock is set, and this machine's",
              "its clock is slewed: %" PRId64 " ppm", ppm);
    else
        well(j, "its clock runs at the rate of ours, give or take %" PRId64 " ppm",
             give_or_take + (ppm < 0 ? -ppm : ppm));
}

/* How far a node's clock has moved beside ours since then, beyond the usual difference
 * of two clocks. */
static uint64_t moved_us(const struct survey_clock *clock, const struct clock_record *before)
{
    uint64_t passed_us = clock->at_us - before->at_us;
    uint64_t spare = passed_us / QUARTZ_PART + clock->give_or_take_us + before->give_or_take_us;
    uint64_t moved = size_of(clock->since_boot_us - before->since_boot_us);

    return moved > spare ? moved - spare : 0;
}

/* A clock that was stepped forward has ended keys before the locks were over. */
static enum severity severity_of_step(const struct judge_limits *limits,
                                      const struct survey_clock *clock,
                                      const struct clock_record *before)
{
    uint64_t moved = moved_us(clock, before),
             margin = (uint64_t)limits->ttl_ms * limits->drift_ppm / 1000;

    if (clock->since_boot_us > before->since_boot_us && moved > margin) return SEVERITY_UNSAFE;
    return moved > STEP_WARNING_US ? SEVERITY_WARNING : SEVERITY_OK;
}

void judge_step(struct judging *j)
{
    const struct survey_clock *clock = &j->node->clock;
    const struct clock_record *before =
        j->limits->log ? clock_log_find(j->limits->log, j->node->address) : NULL;
    const char *fix = "let NTP slew it, not step it";
    char by[TEXT_DURATION_MAX], within[TEXT_DURATION_MAX];
    enum severity severity;

    if (!j->limits->log || !before) {
        left_out(j, j->limits->log
                        ? "the state file does not know this node since this machine has started"
                        : "--state FILE");
        return;
    }
    if (!clock->is_known) {
        time_unknown(j, clock);
        return;
    }
    severity = severity_of_step(j->limits, clock, before);
    (void)text_duration(by, moved_us(clock, before) / 1000);
    (void)text_duration(within, (clock->at_us - before->at_us) / 1000);
    if (severity == SEVERITY_UNSAFE)
        found(j, severity, fix,
              "its clock was stepped %s forward within the last %s: keys ended early", by, within);
    else if (severity == SEVERITY_WARNING)
        found(j, severity, fix, "its clock was stepped by %s within the last %s", by, within);
    else well(j, "its clock was not stepped within the last %s", within);
}

/* record: the earlier record, if there was one. */
static void note_clock(const struct survey_node *node, const struct judge_limits *limits,
                       struct clock_record *record)
{
    const struct survey_clock *clock = &node->clock;
    bool is_stepped =
        record->address[0] != '\0' && severity_of_step(limits, clock, record) != SEVERITY_OK;

    if (is_stepped &&
        (record->stepped_at_us == 0 || clock->at_us - record->stepped_at_us < STEP_TOLD_US)) {
        if (record->stepped_at_us == 0) record->stepped_at_us = clock->at_us;
        return;
    }
    *record = (struct clock_record){ .at_us = clock->at_us, .since_boot_us = clock->since_boot_us,
                                     .give_or_take_us = clock->give_or_take_us };
    (void)print_text(record->address, sizeof record->address, "%s", node->address);
}

void judge_note_clocks(const struct survey *survey, const struct judge_limits *limits,
                       struct clock_log *log)
{
    struct clock_log next = { 0 };

    for (unsigned k = 0; k < survey->count; k++) {
        const struct survey_node *node = &survey->nodes[k];
        const struct clock_record *before = clock_log_find(log, node->address);
        struct clock_record *record = &next.records[next.count];
        if (!node->clock.is_known && !before) continue;
        next.count++;
        if (before) *record = *before;
        if (node->clock.is_known) note_clock(node, limits, record);
    }
    *log = next;
}

void judge_latency(struct judging *j)
{
    const struct survey_clock *clock = &j->node->clock;
    uint64_t worst =
        clock->worst_us > j->node->later.worst_us ? clock->worst_us : j->node->later.worst_us;
    char text[TEXT_DURATION_MAX];

    if (!clock->is_known) {
        time_unknown(j, clock);
        return;
    }
    (void)text_ms(text, worst);
    if (worst > (uint64_t)j->limits->node_timeout_ms * 1000)
        found(j, SEVERITY_UNSAFE,
              "a node that is nearer, or --node-timeout ('redlock ping' proposes one)",
              "a round trip took %s ms: longer than the node timeout, so it has no say", text);
    else if (worst > (uint64_t)j->limits->ttl_ms * 1000 / LATENCY_PART)
        found(j, SEVERITY_WARNING, "a node that is nearer, or a longer TTL",
              "a round trip took %s ms: more than 1/%d of the TTL", text, LATENCY_PART);
    else well(j, "round trips of up to %s ms", text);
}
