#include "model_script.h"

#include "decoder.h"

#include <string.h>

/* ---- Which script ---- */

enum model_script model_script_of(struct slice text)
{
    static const uint8_t scripts[ROW_COUNT] = {
        [ROW_ACQUIRE] = MODEL_SCRIPT_ACQUIRE,
        [ROW_RESTORE] = MODEL_SCRIPT_RESTORE,
        [ROW_EXTEND] = MODEL_SCRIPT_EXTEND,
        [ROW_EXTEND_ONE] = MODEL_SCRIPT_EXTEND_ONE,
        [ROW_RELEASE] = MODEL_SCRIPT_RELEASE,
        [ROW_RELEASE_ONE] = MODEL_SCRIPT_RELEASE_ONE,
        [ROW_PERMIT_ACQUIRE] = MODEL_SCRIPT_PERMIT_ACQUIRE,
        [ROW_PERMIT_RESTORE] = MODEL_SCRIPT_PERMIT_RESTORE,
        [ROW_PERMIT_EXTEND] = MODEL_SCRIPT_PERMIT_EXTEND,
        [ROW_PERMIT_RELEASE] = MODEL_SCRIPT_PERMIT_RELEASE,
        [ROW_PERMIT_WAIT] = MODEL_SCRIPT_PERMIT_WAIT,
        [ROW_SHARED_ACQUIRE] = MODEL_SCRIPT_SHARED_ACQUIRE,
        [ROW_SHARED_EXTEND] = MODEL_SCRIPT_SHARED_EXTEND,
        [ROW_SHARED_RELEASE] = MODEL_SCRIPT_SHARED_RELEASE,
        [ROW_WAIT] = MODEL_SCRIPT_WAIT,
        [ROW_FAIR_ACQUIRE] = MODEL_SCRIPT_FAIR_ACQUIRE,
        [ROW_FAIR_RESTORE] = MODEL_SCRIPT_FAIR_RESTORE,
        [ROW_FAIR_EXTEND] = MODEL_SCRIPT_FAIR_EXTEND,
        [ROW_FAIR_RELEASE] = MODEL_SCRIPT_FAIR_RELEASE,
        [ROW_REDISSON_ACQUIRE] = MODEL_SCRIPT_REDISSON_ACQUIRE,
        [ROW_REDISSON_EXTEND] = MODEL_SCRIPT_REDISSON_EXTEND,
        [ROW_REDISSON_RELEASE] = MODEL_SCRIPT_REDISSON_RELEASE,
    };
    if (text.size <= MODEL_SHA_TEXT) return MODEL_SCRIPT_NONE;
    if (slice_is(text, WIRE_MARK_SCRIPT)) return MODEL_SCRIPT_MARK;
    if (slice_is(text, WIRE_PROMOTION_SCRIPT)) return MODEL_SCRIPT_PROMOTION;
    const enum row row = row_by_name(REDLOCK_FORM_BY_TEXT, text.data, text.size);
    return row == ROW_COUNT ? MODEL_SCRIPT_NONE : (enum model_script)scripts[row];
}

/* All texts of a kind are the same, on each node. */
static struct {
    char sha[MODEL_SHA_TEXT + 1];
    unsigned line;
} known_texts[MODEL_SCRIPT_REDISSON_RELEASE + 1];

static void sha_of(enum model_script kind, struct slice text, char sha[MODEL_SHA_TEXT + 1])
{
    if (kind == MODEL_SCRIPT_NONE || known_texts[kind].line == 0) {
        sha1_text(text, known_texts[kind].sha);
        known_texts[kind].line = memchr(text.data, '\n', text.size) ? 2 : 1;
    }
    memcpy(sha, known_texts[kind].sha, MODEL_SHA_TEXT + 1);
}

/* It recognises its scripts by their text, since that is faster than their SHA-1. */
static void script_load(struct model_node *node, struct slice text, char sha[MODEL_SHA_TEXT + 1])
{
    const enum model_script kind = model_script_of(text);
    for (unsigned i = 0; i < node->script_count; i++)
        if (node->script_kinds[i] == kind) {
            node->script_shards[i] |= (uint8_t)(1u << node->shard);
            memcpy(sha, node->script_shas[i], MODEL_SHA_TEXT + 1);
            return;
        }
    sha_of(kind, text, sha);
    if (kind == MODEL_SCRIPT_NONE || node->script_count == MODEL_SCRIPTS_MAX) {
        model_breach(node, "a script that the model does not know");
        return;
    }
    node->script_kinds[node->script_count] = (uint8_t)kind;
    node->script_shards[node->script_count] = (uint8_t)(1u << node->shard);
    memcpy(node->script_shas[node->script_count++], sha, MODEL_SHA_TEXT + 1);
}

enum model_script model_script_loaded(const struct model_node *node, const char *sha)
{
    for (unsigned i = 0; i < node->script_count; i++)
        if (strcmp(node->script_shas[i], sha) == 0 && node->script_shards[i] >> node->shard & 1)
            return node->script_kinds[i];
    return MODEL_SCRIPT_NONE;
}

void model_do_load(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    script_load(scene->node, scene->command->arguments[2], sha);
    model_answer_bulk(scene, slice_of(sha));
}

/* ---- How it is called ---- */

static const struct {
    unsigned least, most;       /* Arguments after the keys. */
    void (*run)(struct run *run);
} known_scripts[] = {
    [MODEL_SCRIPT_ACQUIRE] = { 5, 5, do_acquire },
    [MODEL_SCRIPT_RESTORE] = { 5, 5, do_restore },
    [MODEL_SCRIPT_EXTEND] = { 2, 2, do_extend },
    [MODEL_SCRIPT_EXTEND_ONE] = { 2, 2, do_extend },
    [MODEL_SCRIPT_RELEASE] = { 1, 2, do_release },
    [MODEL_SCRIPT_RELEASE_ONE] = { 1, 1, do_release_one },
    [MODEL_SCRIPT_MARK] = { 4, 4, do_mark },
    [MODEL_SCRIPT_PROMOTION] = { 1, 1, do_promotion },
    [MODEL_SCRIPT_PERMIT_ACQUIRE] = { 8, 8, do_permit_acquire },
    [MODEL_SCRIPT_PERMIT_RESTORE] = { 7, 7, do_permit_restore },
    [MODEL_SCRIPT_PERMIT_EXTEND] = { 4, 4, do_permit_extend },
    [MODEL_SCRIPT_PERMIT_RELEASE] = { 4, 4, do_permit_release },
    [MODEL_SCRIPT_PERMIT_WAIT] = { 4, 4, do_permit_wait },
    [MODEL_SCRIPT_SHARED_ACQUIRE] = { 7, 7, do_shared_acquire },
    [MODEL_SCRIPT_SHARED_EXTEND] = { 3, 7, do_shared_extend },
    [MODEL_SCRIPT_SHARED_RELEASE] = { 1, 3, do_shared_release },
    [MODEL_SCRIPT_WAIT] = { 4, 4, do_wait },
    [MODEL_SCRIPT_FAIR_ACQUIRE] = { 6, 6, do_fair_acquire },
    [MODEL_SCRIPT_FAIR_RESTORE] = { 5, 5, do_fair_restore },
    [MODEL_SCRIPT_FAIR_EXTEND] = { 2, 2, do_fair_extend },
    [MODEL_SCRIPT_FAIR_RELEASE] = { 2, 3, do_fair_release },
    [MODEL_SCRIPT_REDISSON_ACQUIRE] = { 2, 2, do_redisson_acquire },
    [MODEL_SCRIPT_REDISSON_EXTEND] = { 2, 2, do_redisson_extend },
    [MODEL_SCRIPT_REDISSON_RELEASE] = { 1, 1, do_redisson_release },
};

/* The check for stale data is as late as here because EVAL has loaded the script and EVALSHA may
 * not have found it. */
static void run_script(const struct scene *scene, enum model_script script, const char *sha)
{
    const struct command *command = scene->command;
    struct run run = {
        .scene = scene, .sha = sha, .line = known_texts[script].line, .keys = command->arguments + 3
    };
    int64_t key_count = 0;
    const bool is_number = slice_number(command->arguments[2], &key_count);
    if (script != MODEL_SCRIPT_NONE && is_number && key_count >= 1 &&
        key_count + 3 <= (int64_t)command->count) {
        run.key_count = (unsigned)key_count;
        run.arguments = run.keys + key_count;
        run.argument_count = command->count - 3 - run.key_count;
    }
    if (run.key_count == 0 || run.key_count > MODEL_KEYS_MAX ||
        run.argument_count < known_scripts[script].least ||
        run.argument_count > known_scripts[script].most) {
        model_breach(scene->node, "a script with the wrong arguments");
        model_answer(scene, "-ERR wrong arguments\r\n");
    } else if (scene->node->condition == MODEL_MASTER_DOWN) {
        model_answer(scene, model_master_down);
    } else {
        known_scripts[script].run(&run);
    }
}

void model_do_eval(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    script_load(scene->node, scene->command->arguments[1], sha);
    run_script(scene, model_script_of(scene->command->arguments[1]), sha);
}

void model_do_evalsha(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    slice_text(scene->command->arguments[1], sha, sizeof sha);
    const enum model_script script = model_script_loaded(scene->node, sha);
    if (script == MODEL_SCRIPT_NONE)
        model_answer(scene, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    else
        run_script(scene, script, sha);
}
