#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_MAX = 4096 };

struct playground playground;

static struct text input, output;
static char reason[STAGE_WORDS];

char *world_input(size_t size)
{
    text_clear(&input);
    while (input.size < size)
        text_bytes(&input, "                ", size - input.size < 16 ? size - input.size : 16);
    return input.data;
}

/* ---- From a link ---- */

const char *world_text_in(void)
{
    return input.data ? input.data : "";
}

static void forget_texts(void)
{
    for (unsigned c = 0; c < STAGE_CLIENTS_MAX; c++) {
        for (unsigned s = 0; s < 2 * STAGE_NODES_MAX; s++) {
            text_clear(&playground.sent[c][s]);
            text_clear(&playground.answered[c][s]);
        }
    }
    text_clear(&playground.events);
}

static bool read_link(void)
{
    size_t count;
    if (!playground.script) playground.script = calloc(SCRIPT_MAX, sizeof *playground.script);
    if (!playground.script) abort();
    if (!stage_read_link(world_text_in(), &playground.settings, playground.script, SCRIPT_MAX,
                         &count, reason)) {
        playground.script_count = playground.script_done = 0;
        return false;
    }
    playground.script_count = count;
    playground.script_done = 0;
    return true;
}

int world_create(void)
{
    stage_free(playground.stage);
    playground.stage = NULL;
    if (!read_link()) return 0;
    forget_texts();
    const struct stage_observer observer = events_observer(&playground);
    playground.stage = stage_new(&playground.settings, &observer);
    return 1;
}

void world_take_future(void)
{
    if (!read_link() || !playground.stage) return;
    const size_t done = playground.stage->action_count;
    playground.script_done = done < playground.script_count ? done : playground.script_count;
}

void world_drop_future(void)
{
    playground.script_count = playground.script_done;
}

/* ---- Time ---- */

static bool do_scripted(double until_us)
{
    const struct stage_action *next = &playground.script[playground.script_done];
    if (playground.script_done == playground.script_count || (double)next->at_us > until_us)
        return false;
    if (stage_step(playground.stage, next->at_us)) return true;
    (void)stage_act(playground.stage, *next);
    playground.script_done++;
    return true;
}

int world_step(double until_us)
{
    if (!playground.stage || until_us < world_now()) return 0;
    return do_scripted(until_us) || stage_step(playground.stage, (uint64_t)until_us);
}

void world_pass(double until_us)
{
    if (playground.stage && until_us > world_now())
        stage_run_until(playground.stage, (uint64_t)until_us);
}

double world_run(double until_us, double max, int is_muted)
{
    double steps = 0;
    playground.is_muted = is_muted != 0;
    while (world_step(until_us) && ++steps != max) { }
    playground.is_muted = false;
    return steps;
}

/* ---- Actions ---- */

int world_act(void)
{
    struct stage_action action;
    snprintf(reason, sizeof reason, "not an action");
    if (!playground.stage || !stage_read_action(input.data, strlen(input.data), &action)) return 0;
    world_drop_future();
    snprintf(reason, sizeof reason, "%s", stage_act(playground.stage, action));
    return reason[0] == '\0';
}

const char *world_reason(void)
{
    return reason;
}

/* ---- Questions ---- */

double world_now(void)
{
    return playground.stage ? (double)stage_now_us(playground.stage) : 0;
}

double world_steps(void)
{
    return playground.stage ? (double)playground.stage->step_count : 0;
}

double world_moves(void)
{
    return playground.stage ? (double)stage_moves(playground.stage) : 0;
}

double world_actions(void)
{
    return playground.stage ? (double)playground.stage->action_count : 0;
}

const char *world_state(void)
{
    text_clear(&output);
    if (playground.stage) state_write(&output, &playground);
    return output.data;
}

const char *world_events(void)
{
    text_clear(&output);
    text_put(&output, "[");
    text_bytes(&output, playground.events.data ? playground.events.data : "",
               playground.events.size);
    text_put(&output, "]");
    text_clear(&playground.events);
    return output.data;
}

/* Actions done, and to come, both at most SCRIPT_MAX. */
static const struct stage_action *all_actions(size_t *count)
{
    static struct stage_action *all;
    const size_t done = playground.stage->action_count,
                 more = playground.script_count - playground.script_done;
    all = realloc(all, (done + more + 1) * sizeof *all);
    if (!all) abort();
    if (done > 0) memcpy(all, playground.stage->actions, done * sizeof *all);
    if (more > 0)
        memcpy(all + done, playground.script + playground.script_done, more * sizeof *all);
    *count = done + more;
    return all;
}

const char *world_link_of(const struct stage_settings *settings, const struct stage_action *actions,
                          size_t count)
{
    static struct text link;
    const size_t size = stage_write_link(settings, actions, count, NULL, 0);
    text_clear(&link);
    for (size_t i = 0; i < size; i++) text_put(&link, " ");
    (void)stage_write_link(settings, actions, count, link.data, size + 1);
    return link.data;
}

const char *world_link(void)
{
    size_t count;
    if (!playground.stage) return "";
    const struct stage_action *actions = all_actions(&count);
    return world_link_of(&playground.settings, actions, count);
}

const char *world_hash(void)
{
    char hash[20];
    text_clear(&output);
    snprintf(hash, sizeof hash, "%016llx",
             playground.stage ? (unsigned long long)playground.stage->hash : 0);
    text_put(&output, hash);
    return output.data;
}
