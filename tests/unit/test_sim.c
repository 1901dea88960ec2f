/* The simulator on a few pinned seeds; tests/sim/run has the many. */
#include "../tap.h"
#include "../sim/sim.h"

enum { SEEDS = 8 };

static struct sim_outcome outcome;

static void run_world(uint64_t seed, enum sim_class class, struct sim_totals *totals)
{
    const struct sim_plan plan = { .seed = seed, .class = class };
    sim_run(&plan, totals, &outcome);
}

TEST(no_promised_fault_breaks_a_rule_and_afterwards_everything_ends)
{
    struct sim_totals totals = { 0 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_world(seed, SIM_CLASS_COUNT, &totals);
        TAP_CONTEXT("seed %u", (unsigned)seed);
        CHECK_STR(outcome.broken, "");
    }
    CHECK(totals.won > 20 * SEEDS); /* It was not only quiet. */
}

/* The seeds are those of the table that "sim --classes" prints. */
TEST(each_fault_that_is_not_promised_breaks_the_exclusion)
{
    for (unsigned class = 0; class < SIM_CLASS_COUNT; class++) {
        struct sim_totals totals = { 0 };
        if (sim_class_is_promised((enum sim_class)class))
            continue;
        TAP_CONTEXT("faults \"%s\"", sim_class_text((enum sim_class)class));
        for (uint64_t seed = 1; seed <= SEEDS && totals.violations == 0; seed++)
            run_world(seed, (enum sim_class)class, &totals);
        CHECK(totals.violations > 0);
    }
}

TEST(the_same_seed_gives_the_same_trace)
{
    struct sim_totals totals = { 0 };
    for (uint64_t seed = 1; seed <= 2; seed++) {
        run_world(seed, SIM_CLASS_ALL, &totals);
        const uint64_t first = outcome.hash;
        run_world(seed, SIM_CLASS_ALL, &totals);
        CHECK(outcome.hash == first);
    }
}

TEST(other_seeds_give_other_traces)
{
    struct sim_totals totals = { 0 };
    run_world(1, SIM_CLASS_ALL, &totals);
    const uint64_t first = outcome.hash;
    run_world(2, SIM_CLASS_ALL, &totals);
    CHECK(outcome.hash != first);
}

TEST(a_shrunk_story_is_shorter_and_breaks_a_rule_as_well)
{
    struct sim_plan plan = { .seed = 4, .class = SIM_CLASS_FLUSHALL };
    struct sim_totals totals = { 0 };
    unsigned faults = 0, actors = 0;
    sim_run(&plan, &totals, &outcome);
    const unsigned lines = outcome.line_count;
    sim_shrink(&plan);
    sim_run(&plan, &totals, &outcome);
    for (unsigned i = 0; i < outcome.fault_count; i++)
        faults += !plan.fault_masked[i];
    for (unsigned i = 0; i < outcome.actor_count; i++)
        actors += !plan.actor_masked[i];
    CHECK(outcome.broken[0] != '\0');
    CHECK(faults >= 1 && faults < outcome.fault_count / 2);
    CHECK(actors >= 2 && actors <= outcome.actor_count);
    CHECK(outcome.line_count < lines / 2);
}

TAP_MAIN
