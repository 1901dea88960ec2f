/* Shared by the files of the model server; tests include model_node.h. From the bottom up:
 *
 *   model_bytes.c      bytes that grow, slices of them, SHA-1
 *   model_keys.c       keys: found, set, removed, saved
 *   model_slots.c      a slot that moves between two shards
 *   model_commands.c   what each command answers, and who may send it when
 *   model_scripts.c    which script is executed; what each does:
 *                      model_script_*.c, see model_script.h
 *   model_session.c    subscriptions, planned answers, the log; from bytes to commands; the life of
 *                      a node */
#ifndef MODEL_INSIDE_H
#define MODEL_INSIDE_H

#include "model_node.h"

enum { MODEL_TEXT_MAX = 2048 };     /* Bytes of an answer that is made up here. */

enum model_script {
    MODEL_SCRIPT_NONE,
    MODEL_SCRIPT_ACQUIRE,
    MODEL_SCRIPT_RESTORE,
    MODEL_SCRIPT_EXTEND,
    MODEL_SCRIPT_EXTEND_ONE,
    MODEL_SCRIPT_RELEASE,
    MODEL_SCRIPT_RELEASE_ONE,
    MODEL_SCRIPT_MARK,
    MODEL_SCRIPT_PROMOTION,
    MODEL_SCRIPT_PERMIT_ACQUIRE,
    MODEL_SCRIPT_PERMIT_RESTORE,
    MODEL_SCRIPT_PERMIT_EXTEND,
    MODEL_SCRIPT_PERMIT_RELEASE,
    MODEL_SCRIPT_PERMIT_WAIT,
    MODEL_SCRIPT_SHARED_ACQUIRE,
    MODEL_SCRIPT_SHARED_EXTEND,
    MODEL_SCRIPT_SHARED_RELEASE,
    MODEL_SCRIPT_WAIT,
    MODEL_SCRIPT_FAIR_ACQUIRE,
    MODEL_SCRIPT_FAIR_RESTORE,
    MODEL_SCRIPT_FAIR_EXTEND,
    MODEL_SCRIPT_FAIR_RELEASE,
    MODEL_SCRIPT_REDISSON_ACQUIRE,
    MODEL_SCRIPT_REDISSON_EXTEND,
    MODEL_SCRIPT_REDISSON_RELEASE
};

/* A text of a command or a key, not NUL-terminated. */
struct slice {
    const uint8_t *data;
    size_t size;
};

struct command {
    struct slice arguments[MODEL_ARGUMENTS_MAX];
    unsigned count;
};

/* The context in which a command is executed. */
struct scene {
    struct model_node *node;
    struct model_session *session;
    const struct command *command;
    struct model_call *call;
    uint64_t now_us;
};

static inline uint64_t ms_of(uint64_t us)
{
    return us / 1000;
}

/* ---- model_bytes.c ---- */

void *model_grow(void *data, size_t size);
struct slice slice_of(const char *text);
bool slice_is(struct slice a, const char *text);
bool slices_equal(struct slice a, struct slice b);
void slice_text(struct slice slice, char *text, size_t size);
uint8_t *slice_copy(struct slice slice);    /* With a NUL after it; the caller's to free. */

/* A decimal number as Redis accepts it, with no sign but '-' and no leading zero. */
bool slice_number(struct slice slice, int64_t *number);
struct slice slice_word(struct slice *text);     /* Takes off the bytes up to a blank. */
void sha1_text(struct slice input, char text[MODEL_SHA_TEXT + 1]);

/* ---- model_keys.c ---- */

/* A key lives as long as the clock, in whole milliseconds, is not past its end. NULL:
 * there is none. */
struct model_key *key_find(struct model_node *node, uint32_t database, struct slice name,
                           uint64_t now_us);
struct model_key *key_put(struct model_node *node, uint32_t database, struct slice name,
                          struct slice value);
void key_remove(struct model_node *node, struct model_key *key);
bool key_is_string(const struct model_key *key);
int64_t key_pttl(const struct model_key *key, uint64_t now_us);
void model_forget_saved(struct model_node *node);

/* ---- model_slots.c ---- */

/* The answer of a shard that does not execute a command with these keys; NULL: it does. */
const char *model_redirect(const struct scene *scene, const struct slice *names, unsigned count);

/* The same of a call in a script: the error. */
const char *model_why_not_local(const struct scene *scene, struct slice name);

/* ---- model_commands.c ---- */

extern const char *const model_wrong_type, *const model_master_down;

void model_answer(const struct scene *scene, const char *text);
void model_answer_number(const struct scene *scene, int64_t number);
void model_answer_bulk(const struct scene *scene, struct slice slice);

void model_answer_error(const struct scene *scene, const char *error);

/* The reason why a write is refused, or NULL. frees: it needs no memory. */
const char *model_why_no_write(const struct model_node *node, bool frees);

/* Is the name one of the words in the list? NULL: an empty list. */
bool model_is_listed(const char *list, const char *name);
void model_execute(const struct scene *scene);

/* ---- model_scripts.c ---- */

enum model_script model_script_of(struct slice text);
enum model_script model_script_loaded(const struct model_node *node, const char *sha);
void model_do_load(const struct scene *scene);
void model_do_eval(const struct scene *scene);
void model_do_evalsha(const struct scene *scene);

/* ---- model_session.c ---- */

/* Notes an act that is forbidden to clients of ours. The first one stays. */
void model_breach(struct model_node *node, const char *what);
void model_do_subscribe(const struct scene *scene);
void model_do_unsubscribe(const struct scene *scene);

/* The place where the session keeps the name of a channel to which it has subscribed; NULL:
 * it has not. */
char *model_channel(struct model_session *session, struct slice channel);

#endif
