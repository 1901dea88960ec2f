/* The calls of redlock.h about durable nodes (S23): a canary is set where there is none. canary.c
 * says what it is for. */
#include "canary.h"
#include "node.h"
#include "random.h"
#include "stake.h"

/* ---- A canary is set ---- */

/* A question that cannot be asked now has no answer either. */
static void canary_ask(struct redlock_durable *d, unsigned k, enum canary_step step)
{
    static const char set[] = "SET", get[] = "GET", key[] = REDLOCK_CANARY, nx[] = "NX";
    struct redlock_canary *canary = &d->canaries[k];
    struct redlock_name *words = canary->words;
    enum redlock_status status;

    words[0].bytes = step == CANARY_IS_SET ? set : get;
    words[0].size = sizeof set - 1;
    words[1].bytes = key;
    words[1].size = sizeof key - 1;
    words[2].bytes = canary->value;
    words[2].size = sizeof canary->value;
    words[3].bytes = nx;
    words[3].size = sizeof nx - 1;
    canary->step = (uint8_t)step;
    status = redlock_ask(d->r, &canary->question, k, words, step == CANARY_IS_SET ? 4 : 2,
                         canary->reply, sizeof canary->reply, d->r->now_us);
    (void)status;
}

/* +OK: the value was set. Otherwise somebody else had set one before, which is read. It may come in
 * pieces, and without the last of them it is no canary. */
static void canary_read_answer(struct redlock_durable *d, unsigned k)
{
    struct redlock_canary *canary = &d->canaries[k];
    struct redlock_item item;
    size_t size = 0;

    if (!redlock_next_item(&canary->question, &item)) return;
    do {
        if (size + item.size <= sizeof canary->value)
            copy_bytes(canary->value + size, item.bytes, item.size);
        size += item.size;
    } while (redlock_next_item(&canary->question, &item));
    if (item.type == REDLOCK_ITEM_ERROR) {
        canary_hide(d, k);
    } else if (item.type == REDLOCK_ITEM_SIMPLE ||
               (item.last && wire_token_read(canary->value, size, canary->token))) {
        canary->is_known = true;
        canary->memory = REDLOCK_MEMORY_KEPT;
    } else if (canary->step == CANARY_IS_SET) {
        canary_ask(d, k, CANARY_IS_READ);
    }
}

/* S23: only a client for which the node has a full vote, also on tickets, and not because there is
 * no guard. */
static bool canary_may_be_set(const struct redlock_durable *d, unsigned k)
{
    const struct redlock_node *node = &d->r->nodes[k];
    const struct redlock_canary *canary = &d->canaries[k];

    return node->login.durable && !canary->is_known && canary->step == CANARY_NOT_ASKED &&
           canary->memory != REDLOCK_MEMORY_HIDDEN && d->r->config.guard_ms > 0 &&
           node->has_run_id && node_votes(node, &d->r->config, true, d->r->now_us);
}

static void canary_set(struct redlock_durable *d, unsigned k)
{
    struct redlock_canary *canary = &d->canaries[k];

    if (!draw_token(d->r, canary->token)) return;
    wire_token_text(canary->token, canary->value);
    canary_ask(d, k, CANARY_IS_SET);
}

void redlock_tend_durable(struct redlock_durable *d)
{
    for (unsigned k = 0; d->r && k < d->r->node_count; k++) {
        struct redlock_canary *canary = &d->canaries[k];
        if (canary->question.status == REDLOCK_PENDING) continue;
        if (canary->step != CANARY_NOT_ASKED) canary_read_answer(d, k);
        if (canary_may_be_set(d, k)) canary_set(d, k);
    }
}

void redlock_use_durable(struct redlock *r, struct redlock_durable *d)
{
    struct redlock_scripts *scripts = (struct redlock_scripts *)(void *)d->scripts;

    clear_bytes(d, sizeof *d);
    stake_load_scripts(r);
    *scripts = *r->scripts;
    scripts->loading = canary_loading();
    r->scripts = scripts;
    d->r = r;
    d->self = d;
}
