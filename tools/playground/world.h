/* One world has a stage (tests/world/stage.h), its events since the last call, and the actions that
 * are still to come. It is the same natively and as WebAssembly, where the functions marked so are
 * all that the page may call. Texts go in by world_input, and out as NUL-terminated UTF-8, valid
 * until the next call. There is one world in each instance of the module, and a call of it before
 * world_create does nothing. Times are microseconds since the beginning, in a double, which
 * JavaScript has. */
#ifndef PLAYGROUND_WORLD_H
#define PLAYGROUND_WORLD_H

#include "../../tests/world/stage.h"
#include "text.h"

#ifdef __wasm__
#define EXPORTED(name) __attribute__((export_name(#name)))
#else
#define EXPORTED(name)
#endif

struct playground {
    struct stage *stage;
    struct stage_action *script;    /* All actions of the link. */
    size_t script_count, script_done;
    struct stage_settings settings; /* The settings of the link. */
    struct text events;             /* JSON, not closed yet. */
    /* No events are written, since the past is gone through again. */
    bool is_muted;
    /* Commands in the send buffer of a session; JSON. */
    struct text sent[STAGE_CLIENTS_MAX][2 * STAGE_NODES_MAX];
    /* Answers of a node that leave at once. */
    struct text answered[STAGE_CLIENTS_MAX][2 * STAGE_NODES_MAX];
};

extern struct playground playground;

/* Memory for so many bytes of text, and a NUL, which the next call of create or act reads. */
char *world_input(size_t size) EXPORTED(world_input);

/* Begins the world of the link that was put in. Its actions are to come. 0: it is
 * none, see world_reason. */
int world_create(void) EXPORTED(world_create);

/* The actions to come do not happen. */
void world_drop_future(void) EXPORTED(world_drop_future);

/* The next event, or action of the link, until then. 0: there was none, and now it is then. */
int world_step(double until_us) EXPORTED(world_step);

/* The clock goes there, past events alone, so an action of the link that is due then is
 * still to come. */
void world_pass(double until_us) EXPORTED(world_pass);

/* All of them until then; at most max, unless that is 0. Returns how many there were. is_muted: no
 * event is written for them. */
double world_run(double until_us, double max, int is_muted) EXPORTED(world_run);

/* Does the action that was put in ("kill.3"), now; actions to come are dropped. 0: it was not done,
 * see world_reason. It is a part of the link nevertheless, if it is an action at all. */
int world_act(void) EXPORTED(world_act);

const char *world_reason(void) EXPORTED(world_reason);
double world_now(void) EXPORTED(world_now);
double world_steps(void) EXPORTED(world_steps);     /* Events so far, */
/* and actions, as many as calls of world_step that were not in vain; */
double world_moves(void) EXPORTED(world_moves);
double world_actions(void) EXPORTED(world_actions); /* and the actions among them. */
const char *world_state(void) EXPORTED(world_state);    /* An object in JSON, see state.c. */
/* An array in JSON, with the events since the last call. See events.c. */
const char *world_events(void) EXPORTED(world_events);
/* Settings, seed, and the actions done and to come. */
const char *world_link(void) EXPORTED(world_link);
const char *world_hash(void) EXPORTED(world_hash);      /* Hash of the trace, as 16 hex digits. */

/* The actions of the link that was put in, which begins like the actions done. The others
 * are to come. */
void world_take_future(void) EXPORTED(world_take_future);

/* Searches with the faults that were put in ("empty.step.flush"), by seeds from that one on, in
 * worlds of these settings. Returns the link of the first world in which two hold the resource,
 * without any action that could be left out; "": there was none among count. */
const char *world_search(double from, double count) EXPORTED(world_search);

/* The stories of tests/world/stories.c, as a JSON array of {name, title}; and one, by its number,
 * played to its end without touching this world, as {name, title, link, lines: [{at, moves,
 * actions, words}], endsAt, verdict, isRight, hash}. Its words belong to the world of the link at
 * that moment, after so many moves, of which so many are actions at least. It is null if
 * there is none. */
const char *world_stories(void) EXPORTED(world_stories);
const char *world_story(int number) EXPORTED(world_story);

const char *world_text_in(void);    /* The text that was put in. */

/* The link of these, in memory that the next call uses again. */
const char *world_link_of(const struct stage_settings *settings, const struct stage_action *actions,
                          size_t count);

/* state.c */
void state_write(struct text *text, const struct playground *world);

/* events.c */
struct stage_observer events_observer(struct playground *world);
const char *name_of_command(enum redlock_command command);
const char *name_of_phase(enum redlock_phase phase);

#endif
