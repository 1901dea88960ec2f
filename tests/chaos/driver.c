/* The driver of a chaos run. It builds the world, lets the clients fight and the faults rage for so
 * long, ends the faults, and then the clients. It judges nothing; tests/chaos/check reads
 * everybody's notes.
 *
 *     chaos_driver CLIENT PRELOAD RECORDER DIRECTORY SECONDS SEED MODE
 *
 * MODE   faults     what is promised to be safe
 *        amnesia    no guard, while the servers are restarted empty, one after the other: they
 *                   forget who holds what
 *        careless   the faults again, and clients that do not ask whether their validity has ended
 *
 * The seed repeats the schedule of the faults, but not the state of the processes
 * when they struck. */
#define _XOPEN_SOURCE 700

#include "faults.h"
#include "moment.h"
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <sys/prctl.h>

enum {
    NUMBER_MAX = 2000000000,    /* Seconds, or a seed. */
    STEP_MS = 5,
    /* The end of the run, when the guards run out, and everybody gets his turn. */
    CALM_MS_MAX = 5000,
    AMNESIA_EVERY_MS = 60,      /* A majority forgets in less time than the shortest TTL. */
    /* A server reports its age in whole seconds, and the library believes one less. Long enough
     * also to see that a clock runs fast. */
    UPTIME_SLACK_MS = 2000
};

static uint32_t whole_number(const char *text, const char *what)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value == 0 || value > NUMBER_MAX)
        bail_out("%s must be a number from 1 to %d, not \"%s\"", what, (int)NUMBER_MAX, text);
    return (uint32_t)value;
}

static void start_crew(struct world *w)
{
    nap_ms(w->guard_ms + 2u * SKEW_MS + UPTIME_SLACK_MS);
    clock_measure(w, 0);
    for (unsigned i = 0; i < CREW; i++) {
        w->crew[i].house = i % HOUSES;
        member_start(w, &w->crew[i]);
    }
}

static void replace_the_fallen(struct world *w)
{
    for (unsigned i = 0; i < CREW; i++)
        if (member_has_ended(w, &w->crew[i])) member_start(w, &w->crew[i]);
}

static void rage(struct world *w, uint64_t until_ms)
{
    struct faults faults;
    faults_begin(&faults, w);
    while (clock_ms() < until_ms) {
        faults_step(&faults);
        replace_the_fallen(w);
        nap_ms(STEP_MS);
    }
    faults_end(&faults);
}

static void forget_in_turn(struct world *w, uint64_t until_ms)
{
    world_note(w, "class: server emptied in turn");
    for (unsigned k = 0; clock_ms() < until_ms; k = (k + 1) % NODES) {
        world_note(w, "fault: server emptied in turn: server %u", k);
        node_restart(w, k, true);
        nap_ms(AMNESIA_EVERY_MS);
    }
}

static void note_links(struct world *w)
{
    if (w->no_network) return;
    const struct links *links = w->network.links;
    world_note(
        w, "links: %" PRIu64 " packets carried, %" PRIu64 " of them delayed, %" PRIu64 " lost",
        atomic_load(&links->carried), atomic_load(&links->delayed), atomic_load(&links->lost));
}

static void run(struct world *w, uint32_t seconds, bool amnesia)
{
    uint64_t run_ms = (uint64_t)seconds * 1000,
             calm_ms = run_ms / 4 < CALM_MS_MAX ? run_ms / 4 : CALM_MS_MAX;
    world_open(w);
    /* Nothing rages on when the process that started it is killed. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (w->no_network) world_note(w, "no links: %s", w->no_network);
    start_crew(w);
    world_note(w, "begins: %d servers, %d clients, guard %" PRIu32 " ms, clocks within %d ms",
               NODES, CREW, w->guard_ms, (int)SKEW_MS);
    uint64_t until_ms = clock_ms() + run_ms - calm_ms;
    (amnesia ? forget_in_turn : rage)(w, until_ms);
    world_note(w, "calm: no more faults");
    nap_ms((unsigned)calm_ms);
    replace_the_fallen(w);
    world_note(w, "over: the clients are told to end");
    crew_end(w);
    recorders_end(w);
    note_links(w);
    world_note(w, "ends");
}

static const struct mode {
    const char *name, *manner;
    uint32_t guard_ms;
    bool amnesia;
} modes[] = {
    { "faults", "usual", GUARD_MS, false },
    { "amnesia", "patient", 0, true },
    { "careless", "careless", GUARD_MS, false },
};
enum { MODES = sizeof modes / sizeof modes[0] };

static const struct mode *mode_of(const char *name)
{
    for (unsigned i = 0; i < MODES; i++)
        if (strcmp(modes[i].name, name) == 0) return &modes[i];
    bail_out("there is no mode \"%s\"", name);
}

int main(int argc, char **argv)
{
    static struct world world;
    if (argc != 8)
        bail_out("usage: chaos_driver CLIENT PRELOAD RECORDER DIRECTORY SECONDS SEED MODE");
    const struct mode *mode = mode_of(argv[7]);
    world.client = argv[1];
    world.preload = argv[2];
    world.recorder = argv[3];
    world.directory = argv[4];
    world.guard_ms = mode->guard_ms;
    world.manner = mode->manner;
    world.dice.state = whole_number(argv[6], "the seed");
    run(&world, whole_number(argv[5], "the time in seconds"), mode->amnesia);
    return 0;
}
