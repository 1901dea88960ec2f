/* Once per period (S18): holders mark it, and the client whose mark is confirmed runs. */
#include "sim_world.h"

#include "../world/witness.h"

#include <stdlib.h>
#include <string.h>

static struct redlock *engine_of(struct sim_world *world, const struct sim_actor *actor)
{
    return &world->cluster->clients[actor->client].engine;
}

void sim_periods_note_due(struct sim_world *world, struct sim_actor *actor)
{
    actor->due_wall_us = cluster_client_wall(world->cluster, actor->client);
    actor->due_at = cluster_client_now(world->cluster, actor->client);
}

void sim_periods_forget(struct sim_world *world, struct sim_actor *actor)
{
    if (actor->is_marking) redlock_forget_mark(engine_of(world, actor), &actor->mark);
    actor->is_marking = actor->has_begun = false;
}

static void tell_witness(const struct sim_world *world, const struct sim_actor *actor,
                         const char *verb)
{
    char token[REDLOCK_TOKEN_TEXT + 1];
    const char *resource = sim_resource(actor->lock);
    if (!world->cluster->witness) return;
    redlock_token(cluster_lock(world->cluster, actor->client, actor->lock), token);
    witness_saw_deed(world->cluster->witness, actor->client, verb,
                     (struct redlock_name){ .bytes = resource, .size = strlen(resource) },
                     actor->mark.period_begins_ms, token);
}

static void note_run(struct sim_world *world, const struct sim_period_run *run)
{
    struct sim_period_run *runs = realloc(world->runs, (world->run_count + 1) * sizeof *runs);
    if (!runs) abort();
    world->runs = runs;
    world->runs[world->run_count++] = *run;
}

/* Runs of one acquire are one. A client that asks again with the same lock gets the same answer. */
static void run(struct sim_world *world, const struct sim_actor *actor)
{
    struct sim_period_run run = {
        .client = actor->client, .lock = actor->lock, .period_ms = actor->mark.period_begins_ms
    };
    size_t i = 0;
    redlock_token(cluster_lock(world->cluster, actor->client, actor->lock), run.token);
    while (i < world->run_count &&
           (world->runs[i].lock != run.lock || world->runs[i].period_ms != run.period_ms))
        i++;
    if (i == world->run_count) note_run(world, &run);
    sim_demand(world, SIM_RULE_S18, strcmp(world->runs[i].token, run.token) == 0,
               "S18: client %u runs %s in the period that client %u has run in", run.client,
               sim_resource(run.lock),
               world->runs[i].client);
}

/* Did somebody else know, before this one asked, that the period is done? NULL: nobody. */
static const struct sim_period_run *find_done(const struct sim_world *world,
                                              const struct sim_actor *actor, const char *token)
{
    for (size_t i = 0; i < world->run_count; i++) {
        const struct sim_period_run *run = &world->runs[i];
        const bool is_same =
            run->lock == actor->lock && run->period_ms == actor->mark.period_begins_ms;
        if (is_same && run->known_at < actor->asked_at && strcmp(run->token, token) != 0)
            return run;
    }
    return NULL;
}

/* The same holder may do it again. */
static void begin_run(struct sim_world *world, struct sim_actor *actor)
{
    char token[REDLOCK_TOKEN_TEXT + 1];
    actor->has_begun = true;
    tell_witness(world, actor, "begins");
    redlock_token(cluster_lock(world->cluster, actor->client, actor->lock), token);
    const struct sim_period_run *done = find_done(world, actor, token);
    sim_demand(world, SIM_RULE_S18_DONE, !done,
               "S18: client %u begins in a period of %s that client %u has done", actor->client,
               sim_resource(actor->lock), done ? done->client : 0);
}

/* The run is done. It is marked as often as marking failed, and once more. */
static void end_run(struct sim_world *world, const struct sim_actor *actor)
{
    struct sim_period_run run = {
        .client = actor->client, .lock = actor->lock, .period_ms = actor->mark.period_begins_ms,
        .known_at = world->cluster->now_us
    };
    redlock_token(cluster_lock(world->cluster, actor->client, actor->lock), run.token);
    note_run(world, &run);
}

static void mark_is_set(struct sim_world *world, struct sim_actor *actor)
{
    sim_count(world, SIM_PATH_MARKED);
    tell_witness(world, actor, world->options.until_done ? "done" : "marks");
    if (world->options.until_done) end_run(world, actor);
    else                           run(world, actor);
}

static bool is_any_forgetful(const struct sim_world *world, const struct sim_actor *actor)
{
    for (unsigned k = 0; k < world->options.node_count; k++)
        if (actor->mark.nodes[k].vote == REDLOCK_VOTE_NOT_ASKED &&
            actor->mark.nodes[k].words[0] != '\0')
            return true;
    return false;
}

static void end_mark(struct sim_world *world, struct sim_actor *actor, enum redlock_status status)
{
    sim_mix(world, status);
    sim_tell(world, "client %u marks %s: %s", actor->client, sim_resource(actor->lock),
             redlock_status_text(status));
    if (is_any_forgetful(world, actor)) sim_count(world, SIM_PATH_MARK_FORGETFUL);
    actor->has_begun = false;
    switch (status) {
    case REDLOCK_OK:
        if (actor->period.looks_only) begin_run(world, actor);
        else                          mark_is_set(world, actor);
        break;
    case REDLOCK_ALREADY:
        sim_count(world, SIM_PATH_MARKED_ALREADY);
        if (actor->period.looks_only) sim_demand(world, SIM_RULE_S18_DONE, true, "it is done");
        break;
    case REDLOCK_NO_QUORUM: sim_count(world, SIM_PATH_MARK_NO_QUORUM); break;
    case REDLOCK_LOST:
    case REDLOCK_TOO_LATE:  break;
    default: sim_break(world, "a mark ends with \"%s\"", redlock_status_text(status)); break;
    }
}

/* Looks soon again, as a client does that gets answers. */
static void look(struct sim_world *world, struct sim_actor *actor)
{
    const uint64_t now_us = cluster_client_now(world->cluster, actor->client);
    const enum redlock_status status =
        redlock_mark_status(engine_of(world, actor), &actor->mark, now_us);
    actor->is_marking = status == REDLOCK_PENDING;
    actor->next_at =
        world->cluster->now_us + 1 + world->options.delay_us + world->options.jitter_us;
    if (!actor->is_marking) end_mark(world, actor, status);
}

/* The job was due just now, or when the lock was asked for. */
static void draw_period(struct sim_world *world, struct sim_actor *actor)
{
    if (sim_one_in(&actor->dice, 2)) sim_periods_note_due(world, actor);
    actor->period = (struct redlock_period){
        .period_ms = world->options.period_ms,
        .wall_us = actor->due_wall_us,
        .at_us = actor->due_at,
        .takes_forgetful = world->options.class == SIM_CLASS_PERIODS_NO_GUARD,
    };
}

/* Bytes on their way to the client, which should have ended a connection, may now be the answer to
 * a question. */
static void forget_nonsense(struct sim_world *world, unsigned client)
{
    for (unsigned k = 0; k < world->options.node_count; k++) world->nonsense[client][k] = 0;
}

/* A run that has begun is marked when it is done. */
static void begin_mark(struct sim_world *world, struct sim_actor *actor)
{
    const uint64_t now_us = cluster_client_now(world->cluster, actor->client);
    struct redlock_lock *lock = cluster_lock(world->cluster, actor->client, actor->lock);
    if (!actor->has_begun) draw_period(world, actor);
    actor->period.looks_only = world->options.until_done && !actor->has_begun;
    actor->asked_at = world->cluster->now_us;
    forget_nonsense(world, actor->client);
    const enum redlock_status status =
        redlock_start_mark(engine_of(world, actor), &actor->mark, lock, &actor->period, now_us);
    actor->is_marking = status == REDLOCK_OK;
    actor->has_begun = actor->has_begun && actor->is_marking;
    actor->next_at = world->cluster->now_us + 1 + world->options.delay_us;
    if (actor->is_marking && actor->period.looks_only) tell_witness(world, actor, "looks");
    if (status != REDLOCK_OK && status != REDLOCK_TOO_LATE)
        sim_break(world, "client %u may not mark %s: %s", actor->client, sim_resource(actor->lock),
                  redlock_status_text(status));
}

bool sim_periods_act(struct sim_world *world, struct sim_actor *actor)
{
    if (world->options.period_ms == 0) return false;
    if (actor->is_marking) {
        look(world, actor);
        return actor->is_marking;
    }
    if (actor->names != 1u << actor->lock || !sim_one_in(&actor->dice, 2)) return false;
    begin_mark(world, actor);
    return true;
}
