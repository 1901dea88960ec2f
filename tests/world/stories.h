/* The literature's stories about distributed locks, as timelines that a person can follow. Each has
 * the expected verdict. Either the exclusion is kept, or this is one of the known limits. The
 * terminal (make stories) and the playground tell them from here. A story is played on a stage, so
 * it is a link, too. */
#ifndef STORIES_H
#define STORIES_H

#include "stage.h"

enum { STORY_LINE = 200 };

struct story_step;

struct story {
    const char *name;               /* The name in playground.html#story=NAME. */
    const char *title;
    const char *settings;           /* The syntax is a link's, without actions. */
    const struct story_step *steps;
    size_t step_count;
    bool keeps;                     /* The exclusion is kept. */
    /* The outcome instead, if that is not the point. NULL: it is. */
    const char *verdict;
    const char *conclusion;         /* The lesson in a sentence or two, told last. */
};

extern const struct story stories[];
extern const size_t story_count;

const struct story *story_named(const char *name, size_t size);     /* NULL: there is none. */

/* A line, and the world that it describes. The world is as it was at that moment, after so many
 * events and actions (stage_moves), of which so many were actions. A line about an action belongs
 * to the world in which it is done, so the last of those actions is still to come when
 * it is told. */
struct story_line {
    uint64_t at_us, moves;
    size_t actions;
    const char *words;
};

/* Receives the story, line by line. */
struct story_listener {
    void *context;
    void (*heard)(void *context, const struct story_line *line);
};

struct story_end {
    bool is_right;                  /* It ended as it must. */
    char verdict[STORY_LINE];       /* "exclusion broken, a known limit" */
};

/* Plays it on a new stage. The caller owns it. It contains all actions, and stands where
 * the story ends. */
struct stage *story_tell(const struct story *story, const struct story_listener *listener,
                         struct story_end *end);

#endif
