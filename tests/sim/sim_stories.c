/* The stories of tests/world/stories.c, on the terminal. */
#include "sim.h"

#include "../world/stories.h"

#include <stdio.h>

static void print_line(void *context, const struct story_line *line)
{
    (void)context;
    printf("%10.1f ms  %s\n", (double)line->at_us / 1000, line->words);
}

/* 1: it did not end as it must. */
static unsigned tell(const struct story *story)
{
    const struct story_listener listener = { NULL, print_line };
    struct story_end end;
    printf("== %s\n", story->title);
    struct stage *stage = story_tell(story, &listener, &end);
    if (cluster_is_broken(stage->cluster)) printf("    %s\n", stage->cluster->broken);
    printf("    => %s; %s\n", end.verdict, end.is_right ? "as expected" : "NOT AS EXPECTED");
    printf("    to be seen, and changed: make playground, then build/playground.html#story=%s\n\n",
           story->name);
    stage_free(stage);
    return !end.is_right;
}

unsigned sim_tell_stories(void)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < story_count; i++) wrong += tell(&stories[i]);
    return wrong;
}
