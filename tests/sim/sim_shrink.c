/* Makes a story shorter. It leaves out faults and actors in ever smaller pieces, begins later, and
 * rolls other dice outside the schedule and actors, as long as the same rule is still broken, and
 * sooner. Each fault is drawn whether it happens or not, so that those which stay are the same. */
#include "sim.h"

#include <string.h>
#include <time.h>

enum {
    SHRINK_RUNS_MAX = 400,
    SHRINK_PASSES = 3,
    SALTS = 40,
    ITEMS_MAX = SIM_FAULTS_MAX + SIM_ACTORS_MAX
};

struct shrinking {
    struct sim_plan best;
    char rule[16];                      /* The broken rule, up to the colon. */
    clock_t until;                      /* In CPU time. */
    unsigned line_count;                /* Lines of the best story. */
    uint64_t ended_us;
    unsigned fault_count, item_count;   /* Items: first the faults, then the actors. */
    unsigned runs;
};

/* Its name, as "exclusion" or "S5". */
static size_t rule_size(const char *broken)
{
    return strcspn(broken, ":");
}

static bool is_same_rule(const struct shrinking *shrinking, const char *broken)
{
    const size_t size = rule_size(broken);
    return strlen(shrinking->rule) == size && memcmp(shrinking->rule, broken, size) == 0;
}

/* Keeps the plan when it breaks the rule in no more words than the best. */
static bool is_better(struct shrinking *shrinking, const struct sim_plan *plan)
{
    static struct sim_outcome outcome;
    struct sim_totals ignored = { 0 };
    shrinking->runs++;
    sim_run(plan, &ignored, &outcome);
    if (outcome.broken[0] == '\0' || outcome.line_count > shrinking->line_count) return false;
    if (shrinking->runs == 1 && rule_size(outcome.broken) < sizeof shrinking->rule)
        memcpy(shrinking->rule, outcome.broken, rule_size(outcome.broken));
    if (shrinking->rule[0] != '\0' && !is_same_rule(shrinking, outcome.broken)) return false;
    shrinking->best = *plan;
    shrinking->line_count = outcome.line_count;
    shrinking->ended_us = outcome.ended_us;
    shrinking->fault_count = outcome.fault_count;
    shrinking->item_count = outcome.fault_count + outcome.actor_count;
    return true;
}

static bool may_go_on(const struct shrinking *shrinking)
{
    return shrinking->runs < SHRINK_RUNS_MAX && clock() < shrinking->until;
}

static bool *mask_of(const struct shrinking *shrinking, struct sim_plan *plan, unsigned item)
{
    return item < shrinking->fault_count ? &plan->fault_masked[item]
                                         : &plan->actor_masked[item - shrinking->fault_count];
}

static void leave_out(struct shrinking *shrinking, unsigned first, unsigned count)
{
    struct sim_plan plan = shrinking->best;
    bool changes = false;
    for (unsigned i = first; i < first + count && i < shrinking->item_count; i++) {
        bool *mask = mask_of(shrinking, &plan, i);
        changes = changes || !*mask;
        *mask = true;
    }
    if (changes) (void)is_better(shrinking, &plan);
}

static void leave_out_pieces(struct shrinking *shrinking)
{
    for (unsigned size = (shrinking->item_count + 1) / 2; size > 0; size /= 2)
        for (unsigned first = 0; first < shrinking->item_count && may_go_on(shrinking);
             first += size)
            leave_out(shrinking, first, size);
}

/* Begins in the second half of the story, in its last quarter, and so on. */
static void begin_later(struct shrinking *shrinking)
{
    for (unsigned part = 2; part <= 64 && may_go_on(shrinking); part *= 2) {
        struct sim_plan plan = shrinking->best;
        plan.quiet_us = shrinking->ended_us - shrinking->ended_us / part;
        (void)is_better(shrinking, &plan);
    }
}

static void throw_other_dice(struct shrinking *shrinking)
{
    for (unsigned i = 1; i <= SALTS && may_go_on(shrinking); i++) {
        struct sim_plan plan = shrinking->best;
        plan.salt = i;
        (void)is_better(shrinking, &plan);
    }
}

unsigned sim_shrink(struct sim_plan *plan, unsigned cpu_s)
{
    struct shrinking shrinking = { .best = *plan, .line_count = UINT32_MAX,
                                   .until = clock() + (clock_t)cpu_s * CLOCKS_PER_SEC };
    if (is_better(&shrinking, plan))
        for (unsigned i = 0; i < SHRINK_PASSES; i++) {
            leave_out_pieces(&shrinking);
            begin_later(&shrinking);
            throw_other_dice(&shrinking);
        }
    *plan = shrinking.best;
    return shrinking.runs;
}
