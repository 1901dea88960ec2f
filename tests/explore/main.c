/* explore: all that can happen in a small world of real engines and model nodes. See world.h for
 * the meaning of "all". */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 64 };

/* name=number; a flag is 0 or 1. */
struct setting {
    const char *name;
    unsigned *unsigned_value;
    bool *flag;
};

static bool set(const struct setting *settings, const char *argument)
{
    const char *equals = strchr(argument, '=');
    char *end;
    unsigned long number = equals ? strtoul(equals + 1, &end, 10) : 0;

    if (!equals || *end != '\0') return false;
    for (; settings->name; settings++) {
        size_t size = strlen(settings->name);
        if (size != (size_t)(equals - argument) || strncmp(settings->name, argument, size) != 0)
            continue;
        if (settings->flag) *settings->flag = number != 0;
        else                *settings->unsigned_value = (unsigned)number;
        return true;
    }
    return false;
}

static bool is_sensible(const struct bounds *b)
{
    bool is_plain = !has_readers(b) && b->permits == 0 && !b->fair,
         are_alone = clients_of(b) == 2 && (is_plain || b->fair);

    for (unsigned c = 0; c < CLIENTS; c++)
        if (tokens_of(b, c) > ATTEMPTS_MAX || b->slots[c] > b->permits) return false;
    return b->nodes >= 1 && b->nodes <= NODES_MAX && b->ttl >= 1 && b->ttl <= 8 &&
           b->extend_ttl <= 8 && b->guard <= 16 && b->permits <= PERMITS_MAX &&
           !(has_readers(b) && b->permits > 0) && (are_alone || !b->tickets) &&
           (is_plain || !b->fair || (!has_readers(b) && b->permits == 0));
}

static void report(enum outcome outcome, const struct figures *f)
{
    static const char *const words[] = { "exhausted", "broken", "not exhausted" };

    printf("%s%s%s%s: ", words[outcome],
           f->limit ? " (limit: " : "", f->limit ? f->limit : "", f->limit ? ")" : "");
    if (f->calm > 0) printf("held within %u ticks of calm, ", f->calm);
    printf("%llu states, %llu transitions, depth %u, %.1f s, %.0f states/s, %.0f MB\n",
           (unsigned long long)f->states, (unsigned long long)f->transitions, f->depth, f->seconds,
           (double)f->states / (f->seconds + 1e-9), (double)f->memory / 1e6);
}

int main(int count, char **arguments)
{
    struct bounds b = {
        .nodes = 3, .attempts = { 1, 1 }, .ttl = 2, .extend_ttl = 2, .guard = 2, .timeout_ms = 1000,
        .lease = 2, .drift_ppm = REDLOCK_DRIFT_PPM
    };
    struct limits limits = { .seconds = 3600, .depth = 1000 };
    unsigned megabytes = 4000;
    const struct setting settings[] = {
        { "nodes", &b.nodes, NULL }, { "a", &b.attempts[0], NULL }, { "b", &b.attempts[1], NULL },
        { "c", &b.attempts[2], NULL }, { "extend-c", &b.extensions[2], NULL },
        { "reads-a", NULL, &b.reads[0] }, { "reads-b", NULL, &b.reads[1] },
        { "reads-c", NULL, &b.reads[2] },
        { "upgrade-a", &b.upgrades[0], NULL }, { "upgrade-b", &b.upgrades[1], NULL },
        { "upgrade-c", &b.upgrades[2], NULL },
        { "downgrade-a", &b.downgrades[0], NULL }, { "downgrade-b", &b.downgrades[1], NULL },
        { "downgrade-c", &b.downgrades[2], NULL }, { "permits", &b.permits, NULL },
        { "fair", NULL, &b.fair }, { "lease", &b.lease, NULL }, { "deaths", &b.deaths, NULL },
        { "only-order", NULL, &b.only_order },
        { "slot-a", &b.slots[0], NULL }, { "slot-b", &b.slots[1], NULL },
        { "slot-c", &b.slots[2], NULL },
        { "extend-a", &b.extensions[0], NULL }, { "extend-b", &b.extensions[1], NULL },
        { "losses", &b.losses, NULL },
        { "crashes", &b.crashes, NULL }, { "cancels", &b.cancels, NULL },
        { "gains", &b.gains, NULL },
        { "ttl", &b.ttl, NULL }, { "extend-ttl", &b.extend_ttl, NULL }, { "guard", &b.guard, NULL },
        { "wait", &b.wait, NULL }, { "timeout-ms", &b.timeout_ms, NULL },
        { "drift-ppm", &b.drift_ppm, NULL },
        { "calm", &b.calm, NULL }, { "late", &b.late, NULL }, { "pauses", NULL, &b.pauses },
        { "brief", NULL, &b.brief },
        { "wall-a", &b.walls[0], NULL }, { "wall-b", &b.walls[1], NULL },
        { "wall-0", &b.node_walls[0], NULL },
        { "wall-1", &b.node_walls[1], NULL }, { "wall-2", &b.node_walls[2], NULL },
        { "skew", &b.skew, NULL },
        { "tickets", NULL, &b.tickets }, { "keeps", NULL, &b.keeps },
        { "only-tickets", NULL, &b.only_tickets },
        { "ordered", NULL, &b.ordered }, { "distrust", NULL, &b.distrust },
        { "only-exclusion", NULL, &b.only_exclusion },
        { "memory-mb", &megabytes, NULL }, { "seconds", &limits.seconds, NULL },
        { "depth", &limits.depth, NULL },
        { "talk", NULL, &limits.talks }, { "compare", NULL, &limits.compares }, { NULL, NULL, NULL }
    };
    struct figures figures;
    enum outcome outcome;

    for (int i = 1; i < count; i++)
        if (!set(settings, arguments[i])) {
            fprintf(stderr, "explore: not a setting: %s\n", arguments[i]);
            return EXIT_USAGE;
        }
    if (!is_sensible(&b)) {
        fprintf(stderr, "explore: a setting is out of its range\n");
        return EXIT_USAGE;
    }
    limits.memory = (size_t)megabytes * 1000000;
    outcome = search(&b, &limits, &figures);
    report(outcome, &figures);
    return (int)outcome;
}
