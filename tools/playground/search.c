/* Finds an accident in worlds of random actions, one seed after the other, until two clients hold
 * the resource; and then leaves out every action without which they do all the same. */
#include "world.h"

#include <string.h>

enum { SEARCH_ACTIONS = 24, FAULTS_MAX = 16 };

struct search {
    struct stage_settings settings;
    enum stage_verb faults[FAULTS_MAX];
    unsigned fault_count;
    uint64_t dice;
    struct stage_action actions[SEARCH_ACTIONS];
    size_t count;
};

/* SplitMix64 */
static uint64_t draw(struct search *search, uint64_t limit)
{
    uint64_t z = search->dice += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % limit;
}

/* Acquiring and releasing go on beside the faults. */
static enum stage_verb draw_verb(struct search *search)
{
    const uint64_t number = draw(search, 10);
    if (search->fault_count > 0 && number < 5)
        return search->faults[draw(search, search->fault_count)];
    return number < 9 ? STAGE_ACQUIRE : STAGE_RELEASE;
}

static int64_t draw_value(struct search *search, enum stage_verb verb)
{
    const int64_t ttl_ms = search->settings.ttl_ms;
    switch (verb) {
    case STAGE_ACQUIRE:    return draw(search, 2) ? 2 * ttl_ms : 0;
    case STAGE_STEP_CLOCK: return (draw(search, 4) ? 1 : -1) * (ttl_ms + ttl_ms / 10);
    case STAGE_CLIENT_RATE: return -200000;
    case STAGE_NODE_RATE:  return 200000;
    case STAGE_SLOW:
    case STAGE_DELAY_TO:
    case STAGE_DELAY_FROM:
    case STAGE_DISTANCE:   return (int64_t)draw(search, 400) * 1000;
    default:               return 0;    /* A suspension in which the clock stands still. */
    }
}

static void draw_actions(struct search *search)
{
    uint64_t at_us = 0;
    for (search->count = 0; search->count < SEARCH_ACTIONS; search->count++) {
        struct stage_action *action = &search->actions[search->count];
        at_us += draw(search, draw(search, 2) ? 10000 : (uint64_t)search->settings.ttl_ms * 400);
        *action = (struct stage_action){ .at_us = at_us, .verb = draw_verb(search) };
        action->client = (unsigned)draw(search, search->settings.clients);
        action->node = (unsigned)draw(search, search->settings.nodes);
        action->value = draw_value(search, action->verb);
    }
}

/* Does two clients' holding come of it? When: *at_us. */
static bool is_accident(const struct search *search, uint64_t *at_us)
{
    struct stage *stage = stage_new(&search->settings, NULL);
    for (size_t i = 0; i < search->count && !stage->accident.happened; i++) {
        stage_run_until(stage, search->actions[i].at_us);
        if (!stage->accident.happened) (void)stage_act(stage, search->actions[i]);
    }
    if (!stage->accident.happened)
        stage_run_until(stage, stage_now_us(stage) + (uint64_t)search->settings.ttl_ms * 1000);
    *at_us = stage->accident.at_us;
    const bool happened = stage->accident.happened;
    stage_free(stage);
    return happened;
}

static void leave_out(struct search *search, size_t i)
{
    memmove(search->actions + i, search->actions + i + 1,
            (--search->count - i) * sizeof *search->actions);
}

/* Goes from the last one on, again and again, until nothing more can be left out. */
static void shrink(struct search *search)
{
    uint64_t at_us;
    for (size_t i = search->count; i-- > 0;) {
        struct search less = *search;
        leave_out(&less, i);
        if (!is_accident(&less, &at_us)) continue;
        *search = less;
        i = search->count;
    }
}

static void read_faults(struct search *search, const char *text)
{
    while (*text != '\0') {
        const size_t size = strcspn(text, ".");
        enum stage_verb verb;
        if (stage_read_verb(text, size, &verb) && search->fault_count < FAULTS_MAX)
            search->faults[search->fault_count++] = verb;
        text += size;
        if (*text == '.') text++;
    }
}

const char *world_search(double from, double count)
{
    struct search search = { .settings = playground.settings };
    uint64_t at_us;
    read_faults(&search, world_text_in());
    for (double seed = from; seed < from + count; seed++) {
        search.dice = search.settings.seed = (uint64_t)seed;
        draw_actions(&search);
        if (!is_accident(&search, &at_us)) continue;
        shrink(&search);
        return world_link_of(&search.settings, search.actions, search.count);
    }
    return "";
}
