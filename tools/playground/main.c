/* The same world without a page. It reads lines of "TIME LINK" (us), or "TIME/MOVES LINK" to stop
 * after so many events and actions, and writes for each the hash of the trace, the fault of the
 * engine's books ("ok" for nothing), and the resource's holders (a set of clients, as a number).
 * tools/playground/test compares. With --witness it writes what
 * happens, for tests/witness/check. */
#include "world.h"

#include "../../tests/world/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1 << 20 };

static void bear_witness(double until_us)
{
    witness_begin(playground.stage->cluster, "link");
    (void)world_run(until_us, 0, true);
    witness_end(playground.stage->cluster->witness);
    playground.stage->cluster->witness = NULL;
}

static void replay(double until_us, double moves, const char *link, bool has_witness)
{
    unsigned holders = 0;
    strcpy(world_input(strlen(link)), link);
    if (!world_create()) {
        printf("%s\n", world_reason());
        return;
    }
    if (has_witness) {
        bear_witness(until_us);
        return;
    }
    (void)world_run(until_us, moves, true);
    if (moves > 0) world_pass(until_us);
    for (unsigned c = 0; c < playground.stage->settings.clients; c++)
        holders |= stage_holds(playground.stage, c) ? 1u << c : 0;
    const char *broken = playground.stage->cluster->broken;
    printf("%s %u %s\n", world_hash(), holders, broken[0] != '\0' ? broken : "ok");
}

int main(int argc, char **argv)
{
    const bool has_witness = argc == 2 && strcmp(argv[1], "--witness") == 0;
    char *line = malloc(LINE), *link;
    if (!line) return 1;
    while (fgets(line, LINE, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        const double until_us = strtod(line, &link),
                     moves = *link == '/' ? strtod(link + 1, &link) : 0;
        if (*link == ' ') link++;
        replay(until_us, moves, link, has_witness);
    }
    free(line);
    return 0;
}
