/* Durable nodes (S23): a server that forgets nothing when it restarts needs no guard after that. A
 * key of its own, the canary, with a random value and without a TTL, shows whether it has
 * forgotten. Each handshake asks for it. If it is there, so is everything that was written before
 * it and since.
 *
 * Only a client for which the node has a full vote sets a canary, so the guard that was due when it
 * was set is over. It says nothing about the guard that is due if the server has lost it, or is
 * another one. So the rules are
 *
 *     canary                          the server is           so it
 *     any                             new to this client      votes
 *     the one that we knew            restarted               goes on as before: votes, or stays
 *                                                             within the guard it was in
 *     none, or another, or new to us  restarted               begins the full guard: it
 *                                                             came back empty
 *     none, or another                the same                begins the full guard: it was flushed
 *     none, and we knew of none       whatever it is          is as any other node
 *
 * An old copy of the data has the canary as well, and so has a server that writes too late what it
 * has answered. */
#include "canary.h"

#include "events.h"
#include "kinds/plain.h"

REDLOCK_STATIC_ASSERT(sizeof(struct redlock_scripts) <=
                          sizeof(((struct redlock_durable *)0)->scripts),
                      "REDLOCK_DURABLE_WORDS is too small");

/* The scripts of such an engine are the first field of its part. */
static struct redlock_durable *part_of(const struct redlock_scripts *scripts)
{
    return ((const struct redlock_durable *)(const void *)scripts)->self;
}

/* ---- Evidence of the canary ---- */

static void canary_learn(struct redlock_canary *canary, const uint8_t *token)
{
    canary->is_known = token != NULL;
    if (token) copy_bytes(canary->token, token, REDLOCK_TOKEN_SIZE);
}

/* The engine takes it for a server that it knows, but counts its vote only from the next round on
 * (S12). This matters only if a server has another one's canary, for instance after a copy of its
 * files, and answers in its place. */
static void canary_go_on(struct redlock_node *node)
{
    copy_bytes(node->run_id, node->identity.run_id, sizeof node->run_id);
    node->is_bereft = true;
}

/* It is treated as another server than before, so its uptime is not believed. */
static void canary_begin_anew(struct redlock_node *node)
{
    node->run_id[0] = (uint8_t)~node->identity.run_id[0];
}

/* At the first contact nothing is known about it, so it may have been up for ever. Later its uptime
 * does not count. */
static void canary_believe(struct redlock_identity *identity)
{
    identity->uptime_s = UINT32_MAX;
}

REDLOCK_OUTLINE static enum redlock_memory
canary_memory(struct redlock_node *node, const struct redlock_canary *canary, const uint8_t *token)
{
    bool is_right =
        token && canary->is_known && are_same_bytes(canary->token, token, REDLOCK_TOKEN_SIZE);
    bool is_same = are_same_bytes(node->run_id, node->identity.run_id, sizeof node->run_id);
    bool was_lost =
        canary->memory == REDLOCK_MEMORY_LOST || canary->memory == REDLOCK_MEMORY_FLUSHED;

    if (token) canary_believe(&node->identity);
    if (is_right && !is_same) canary_go_on(node);
    if (canary->is_known && !is_right) {
        canary_begin_anew(node);
        return is_same ? REDLOCK_MEMORY_FLUSHED : REDLOCK_MEMORY_LOST;
    }
    if (token) return REDLOCK_MEMORY_KEPT;
    return was_lost ? (enum redlock_memory)canary->memory : REDLOCK_MEMORY_NONE;
}

/* S23: token is NULL if there is no canary. Nobody sees a restart of a server that does not give
 * its identity, and is trusted (S12). */
static void canary_judge(struct redlock_durable *d, unsigned k, const uint8_t *token)
{
    struct redlock_node *node = &d->r->nodes[k];
    struct redlock_canary *canary = &d->canaries[k];
    bool was_known = canary->is_known;
    enum redlock_memory memory;

    if (!node->identity.has_run_id) return;
    memory = canary_memory(node, canary, token);
    canary_learn(canary, token);
    canary->memory = node->identity.memory = (uint8_t)memory;
    if (was_known && memory != REDLOCK_MEMORY_KEPT)
        event_note(d->r, NULL, REDLOCK_EVENT_EMPTIED, k);
}

void canary_hide(struct redlock_durable *d, unsigned k)
{
    d->canaries[k].memory = d->r->nodes[k].identity.memory = REDLOCK_MEMORY_HIDDEN;
    d->canaries[k].is_known = false;
}

/* ---- The handshake ---- */

static void canary_put(struct resp_writer *w, enum redlock_command command,
                       const struct redlock_node *node, const struct redlock_scripts *scripts)
{
    if (command != REDLOCK_COMMAND_CANARY) {
        plain_put_load(w, command, node, scripts);
        return;
    }
    resp_command(w, 2);
    resp_text(w, "GET");
    resp_text(w, REDLOCK_CANARY);
}

/* The question on the last connection is over, since an unsent SET must not be sent
 * after a restart. */
static void canary_begin_connection(struct redlock_durable *d, unsigned k)
{
    redlock_forget_question(d->r, &d->canaries[k].question);
    d->canaries[k].step = CANARY_NOT_ASKED;
}

/* A key with another value is no canary, and stays. */
static enum redlock_answer canary_read(struct redlock_durable *d, unsigned k,
                                       const struct redlock_asked *asked,
                                       const struct wire_reply *reply)
{
    enum redlock_answer meaning = wire_read_any(asked, reply);
    uint8_t token[REDLOCK_TOKEN_SIZE];

    if (meaning == REDLOCK_ANSWER_WRONG) return meaning;
    if (meaning == REDLOCK_ANSWER_ERROR &&
        wire_ends_session(wire_class(reply->text, reply->text_size)))
        return meaning;
    canary_begin_connection(d, k);
    if (meaning == REDLOCK_ANSWER_ERROR) {
        canary_hide(d, k);
    } else {
        bool is_there = wire_token_read(reply->text, reply->text_size, token);
        canary_judge(d, k, is_there ? token : NULL);
    }
    return REDLOCK_ANSWER_GRANTED;
}

static enum redlock_answer canary_read_handshake(struct redlock_node *node,
                                                 const struct redlock_asked *asked,
                                                 const struct redlock_scripts *scripts,
                                                 const struct wire_reply *reply)
{
    struct redlock_durable *d = part_of(scripts);

    if (asked->command != REDLOCK_COMMAND_CANARY)
        return plain_read_load(node, asked, scripts, reply);
    return canary_read(d, (unsigned)(node - d->r->nodes), asked, reply);
}

const struct wire_loading *canary_loading(void)
{
    static const struct wire_loading loading = {
        plain_is_canary_left_out, canary_put, canary_read_handshake
    };

    return &loading;
}
