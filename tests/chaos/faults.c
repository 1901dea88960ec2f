/* See faults.h. Never more than a minority of the servers is killed, stopped, cut off or still
 * without a vote after a restart, so that locks can be had nearly all the time. Now and then a
 * majority forgets who holds what, and then the guard must keep everybody waiting until nobody
 * holds anything. */
#define _XOPEN_SOURCE 700

#include "faults.h"

#include "moment.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAUSE_US_MIN = 100000, PAUSE_US_MAX = 600000,       /* The time from one fault to the next. */
    DOWN_US_MIN = 20000, DOWN_US_MAX = 1200000,         /* Killed, stopped, cut. */
    WEATHER_US_MIN = 300000, WEATHER_US_MAX = 1500000,  /* Slow, lossy. */
    /* One way. At its worst an answer comes after the node timeout, */
    DELAY_US_MIN = 1000, DELAY_US_MAX = 60000,
    /* and here it does not, so some rounds take long and are won. */
    HOUSE_DELAY_US_MIN = 15000, HOUSE_DELAY_US_MAX = 40000,
    /* Long enough for many to hold a lock to its end meanwhile. */
    HOUSE_US_MIN = 1000000, HOUSE_US_MAX = 3000000,
    /* The time from one loss of it to the next. */
    MAJORITY_US_MIN = 8000000, MAJORITY_US_MAX = 16000000,
    FIRST_MAJORITY_US = 3000000,
    LOSS_PPM_MIN = 50000, LOSS_PPM_MAX = 300000,
    /* Stops of clients, longer than the longest TTL. */
    STOP_US_MIN = 1600000, STOP_US_MAX = 2500000,
    STOPPED_MAX = 2,                                    /* Clients at once. */
    /* Nodes at once, slow and lossy ones included. */
    TROUBLED_MAX = MINORITY + 1,
    /* The time until the clients have found out that a server is back. */
    GUARD_SLACK_US = 500000
};

static const struct {
    const char *words;
    bool needs_links;
} facts[FAULT_COUNT] = {
#define FAULT_FACT(name, needs_links, words) { words, needs_links },
    FAULTS(FAULT_FACT)
#undef FAULT_FACT
};

static const struct weather fine = { 0, 0 }, no_weather_at_all = { 0, EVERYTHING_PPM };

static uint32_t draw(struct faults *f, uint32_t low, uint32_t high)
{
    return dice_between(&f->world->dice, low, high);
}

/* ---- Nodes ---- */

static bool is_well(const struct faults *f, unsigned k, uint64_t now)
{
    return !f->troubles[k].suffers && f->troubles[k].well_at <= now;
}

static bool is_mere_weather(enum fault fault)
{
    return fault == FAULT_LINK_SLOW || fault == FAULT_LINK_LOSSY;
}

/* Nodes that are not well, either all of them or only those that cannot vote. */
static unsigned count_unwell(const struct faults *f, bool weather_too, uint64_t now)
{
    unsigned count = 0;
    for (unsigned k = 0; k < NODES; k++)
        if (!is_well(f, k, now))
            count +=
                weather_too || !f->troubles[k].suffers || !is_mere_weather(f->troubles[k].fault);
    return count;
}

/* A node that is well, or NODES. */
static unsigned pick_node(struct faults *f, uint64_t now)
{
    unsigned k = draw(f, 0, NODES - 1);
    for (unsigned tries = 0; tries < NODES; tries++, k = (k + 1) % NODES)
        if (is_well(f, k, now)) return k;
    return NODES;
}

static void set_weather(struct faults *f, unsigned k, unsigned houses, struct weather there,
                        struct weather back)
{
    for (unsigned house = 0; house < HOUSES; house++)
        if (houses >> house & 1) link_set(f->world, k, house, there, back);
}

/* The links of one house, or of both. If it is one, the two see different majorities. */
static void change_links(struct faults *f, unsigned k, enum fault fault)
{
    unsigned houses = draw(f, 1, (1u << HOUSES) - 1);
    struct weather slow = { draw(f, DELAY_US_MIN, DELAY_US_MAX), 0 };
    struct weather lossy = { 0, draw(f, LOSS_PPM_MIN, LOSS_PPM_MAX) };
    bool answers_pass = draw(f, 0, 1);
    switch (fault) {
    case FAULT_LINK_SLOW:
        set_weather(f, k, houses, slow, slow);
        break;
    case FAULT_LINK_LOSSY:
        set_weather(f, k, houses, lossy, lossy);
        break;
    case FAULT_LINK_CUT:
        set_weather(f, k, houses, no_weather_at_all, no_weather_at_all);
        break;
    default:
        set_weather(f, k, houses, answers_pass ? no_weather_at_all : fine,
                    answers_pass ? fine : no_weather_at_all);
    }
}

static void strike(struct faults *f, unsigned k, enum fault fault)
{
    if (fault == FAULT_SERVER_EMPTIED || fault == FAULT_SERVER_KILLED)
        node_crash(f->world, k);
    else if (fault == FAULT_SERVER_STOPPED)
        server_freeze(&f->world->nodes[k].server);
    else
        change_links(f, k, fault);
}

static bool begin_trouble(struct faults *f, enum fault fault, uint64_t now)
{
    bool mere_weather = is_mere_weather(fault);
    unsigned k = pick_node(f, now);
    if (k == NODES || count_unwell(f, true, now) >= TROUBLED_MAX) return false;
    if (!mere_weather && count_unwell(f, false, now) >= MINORITY) return false;
    uint32_t time_us =
        mere_weather ? draw(f, WEATHER_US_MIN, WEATHER_US_MAX) : draw(f, DOWN_US_MIN, DOWN_US_MAX);
    f->troubles[k] = (struct trouble){ .suffers = true, .fault = fault, .heals_at = now + time_us };
    world_note(f->world, "fault: %s: server %u for %u ms", facts[fault].words, k, time_us / 1000);
    strike(f, k, fault);
    return true;
}

static void set_guarded(struct faults *f, unsigned k)
{
    f->troubles[k].well_at =
        moment_us() + 1000 * ((uint64_t)f->world->guard_ms + 2u * SKEW_MS) + GUARD_SLACK_US;
}

static void heal(struct faults *f, unsigned k)
{
    struct trouble *t = &f->troubles[k];
    t->suffers = false;
    if (t->fault == FAULT_SERVER_STOPPED) {
        server_thaw(&f->world->nodes[k].server);
    } else if (t->fault == FAULT_SERVER_EMPTIED || t->fault == FAULT_SERVER_KILLED) {
        node_restart(f->world, k, t->fault == FAULT_SERVER_EMPTIED);
        set_guarded(f, k);
    } else {
        set_weather(f, k, (1u << HOUSES) - 1, fine, fine);
    }
}

/* Faster than the shortest TTL. */
static bool empty_majority(struct faults *f, uint64_t now)
{
    if (now < f->majority_at || count_unwell(f, true, now) > MINORITY) return false;
    f->majority_at = now + draw(f, MAJORITY_US_MIN, MAJORITY_US_MAX);
    world_note(f->world, "fault: %s", facts[FAULT_MAJORITY_EMPTIED].words);
    for (unsigned i = 0; i <= NODES / 2; i++) {
        unsigned k = pick_node(f, now);
        node_restart(f->world, k, true);
        set_guarded(f, k);
    }
    return true;
}

static void set_house_weather(struct faults *f, unsigned house, struct weather weather)
{
    for (unsigned k = 0; k < NODES; k++)
        if (!f->troubles[k].suffers) link_set(f->world, k, house, weather, weather);
}

static bool slow_house(struct faults *f, uint64_t now)
{
    unsigned house = draw(f, 0, HOUSES - 1);
    struct weather slow = { draw(f, HOUSE_DELAY_US_MIN, HOUSE_DELAY_US_MAX), 0 };
    uint32_t time_us = draw(f, HOUSE_US_MIN, HOUSE_US_MAX);
    if (f->fine_at[house] != 0) return false;
    world_note(f->world, "fault: %s: %u us for %u ms", facts[FAULT_HOUSE_SLOW].words, slow.delay_us,
               time_us / 1000);
    set_house_weather(f, house, slow);
    f->fine_at[house] = now + time_us;
    return true;
}

static void heal_house(struct faults *f, unsigned house)
{
    set_house_weather(f, house, fine);
    f->fine_at[house] = 0;
}

static bool meddle(struct faults *f, enum fault fault, uint64_t now)
{
    unsigned k = pick_node(f, now);
    if (k == NODES) return false;
    const struct server *s = &f->world->nodes[k].server;
    const char *answer = fault == FAULT_SCRIPT_FLUSH ? ASK(s, "SCRIPT", "FLUSH")
                                                     : ASK(s, "CLIENT", "KILL", "TYPE", "normal");
    if (strcmp(answer, "OK") != 0 && strtoul(answer, NULL, 10) == 0) return false;
    world_note(f->world, "fault: %s: server %u says %s", facts[fault].words, k, answer);
    return true;
}

/* ---- Clients ---- */

static unsigned count_stopped(const struct faults *f)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CREW; i++) count += f->wakes_at[i] != 0;
    return count;
}

static bool kill_member(struct faults *f)
{
    unsigned i = draw(f, 0, CREW - 1);
    if (f->wakes_at[i] != 0) return false;
    world_note(f->world, "fault: %s: client %u", facts[FAULT_MEMBER_KILLED].words,
               f->world->crew[i].number);
    member_kill(f->world, &f->world->crew[i]);
    member_start(f->world, &f->world->crew[i]);
    return true;
}

static bool stop_member(struct faults *f, uint64_t now)
{
    unsigned i = draw(f, 0, CREW - 1);
    uint32_t time_us = draw(f, STOP_US_MIN, STOP_US_MAX);
    if (f->wakes_at[i] != 0 || count_stopped(f) >= STOPPED_MAX) return false;
    world_note(f->world, "fault: %s: client %u for %u ms", facts[FAULT_MEMBER_STOPPED].words,
               f->world->crew[i].number, time_us / 1000);
    process_stop(f->world->crew[i].pid);
    f->wakes_at[i] = now + time_us;
    return true;
}

static void wake_member(struct faults *f, unsigned i)
{
    process_continue(f->world->crew[i].pid);
    f->wakes_at[i] = 0;
}

/* ---- The schedule ---- */

/* Draws two and takes the one that occurred less often, so that no class is rare. */
static enum fault pick_fault(struct faults *f)
{
    enum fault one = draw(f, 0, FAULT_COUNT - 1), other = draw(f, 0, FAULT_COUNT - 1);
    return f->counts[one] <= f->counts[other] ? one : other;
}

static bool begin_fault(struct faults *f, enum fault fault, uint64_t now)
{
    if (facts[fault].needs_links && f->world->no_network) return false;
    switch (fault) {
    case FAULT_MAJORITY_EMPTIED:
        return empty_majority(f, now);
    case FAULT_HOUSE_SLOW:
        return slow_house(f, now);
    case FAULT_SCRIPT_FLUSH:
    case FAULT_CLIENT_KILL:
        return meddle(f, fault, now);
    case FAULT_MEMBER_KILLED:
        return kill_member(f);
    case FAULT_MEMBER_STOPPED:
        return stop_member(f, now);
    default:
        return begin_trouble(f, fault, now);
    }
}

void faults_begin(struct faults *f, struct world *w)
{
    *f = (struct faults){ .world = w, .majority_at = moment_us() + FIRST_MAJORITY_US };
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        if (!facts[i].needs_links || w->no_network == NULL)
            world_note(w, "class: %s", facts[i].words);
}

static void end_what_is_over(struct faults *f, uint64_t now)
{
    for (unsigned k = 0; k < NODES; k++)
        if (f->troubles[k].suffers && f->troubles[k].heals_at <= now) heal(f, k);
    for (unsigned house = 0; house < HOUSES; house++)
        if (f->fine_at[house] != 0 && f->fine_at[house] <= now) heal_house(f, house);
    for (unsigned i = 0; i < CREW; i++)
        if (f->wakes_at[i] != 0 && f->wakes_at[i] <= now) wake_member(f, i);
}

void faults_step(struct faults *f)
{
    uint64_t now = moment_us();
    end_what_is_over(f, now);
    if (now < f->next_at) return;
    enum fault fault = pick_fault(f);
    if (!begin_fault(f, fault, now)) return;
    f->counts[fault]++;
    f->next_at = now + draw(f, PAUSE_US_MIN, PAUSE_US_MAX);
}

void faults_end(struct faults *f)
{
    end_what_is_over(f, UINT64_MAX);
}
