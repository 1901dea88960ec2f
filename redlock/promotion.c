/* S31: the age of a master's reign, for nodes whose login says `watched`. Sentinels number their
 * failovers by an epoch. A master that has one reigns since a failover, and the server's own words
 * are not enough then. One that was cut off may be named again before it was made a replica. It has
 * no new history (S30), has been up for long, and lacks the locks that were granted meanwhile. So
 * its vote depends on the epoch alone: the guard begins when a client meets it in this epoch.
 *
 * Clients that live shortly would wait for the guard each time. So the first one leaves the time of
 * its contact on the server, and the handshake of the others asks for it (kinds/promotion.lua).
 * Only clients that a majority of sentinels has sent may do so. They know that no answer of the old
 * master counts that was asked for later. Somebody else may have met the new master when the old
 * one still granted. tests/explore/sentinels shows both. If the time cannot be read, the guard
 * begins with the first contact of each client. */
#include "promotion.h"

#include "kinds/plain.h"
#include "scripts.h"

REDLOCK_STATIC_ASSERT(sizeof(struct redlock_scripts) <=
                          sizeof(((struct redlock_promotions *)0)->scripts),
                      "REDLOCK_DURABLE_WORDS is too small");

/* The scripts of such an engine are the first field of its part. */
static struct redlock_promotions *promotions_of(const struct redlock_scripts *scripts)
{
    return ((const struct redlock_promotions *)(const void *)scripts)->self;
}

static bool is_promotion_left_out(enum redlock_command command, const struct redlock_node *node)
{
    if (command == REDLOCK_COMMAND_PROMOTION) return node->is_subscription || !node->login.watched;
    return plain_is_canary_left_out(command, node);
}

static void put_promotion(struct resp_writer *w, enum redlock_command command,
                          const struct redlock_node *node, const struct redlock_scripts *scripts)
{
    const struct redlock_promotions *p = promotions_of(scripts);

    if (command != REDLOCK_COMMAND_PROMOTION) {
        p->before->loading->put(w, command, node, p->before);
        return;
    }
    resp_command(w, 5);
    resp_text(w, "EVAL");
    wire_put_script_text(w, WIRE_PROMOTION_SCRIPT);
    resp_text(w, "1");
    resp_text(w, REDLOCK_PROMOTION_KEY);
    resp_number(w, (int64_t)p->reigns[node - p->r->nodes].epoch);
}

/* The server is taken for one that has been known for so long, or since the engine met it in this
 * epoch. If it is not the one that this node led to before, its vote counts from the next round on
 * (S12), as that of any server that has moved. */
static void begin_reign(struct redlock_reign *reign, struct redlock_node *node, uint64_t age_us,
                        uint64_t now_us)
{
    const struct redlock_identity *identity = &node->identity;
    uint8_t history = identity->history | 1;
    bool is_same = are_same_bytes(node->run_id, identity->run_id, sizeof node->run_id);
    bool is_known = is_same && node->has_run_id == history && reign->met_epoch == reign->epoch;
    uint64_t known_us = is_known ? now_us - node->met_at + node->uptime_us : 0;

    if (node->has_run_id && !is_same) node->is_bereft = true;
    copy_bytes(node->run_id, identity->run_id, sizeof node->run_id);
    node->has_run_id = history;
    node->met_at = now_us;
    node->uptime_us = age_us > known_us ? age_us : known_us;
    reign->met_epoch = reign->epoch;
}

/* An error only costs the guard, unless it would end any session. In epoch 0 there was no failover
 * yet, and the server's own words count. */
static enum redlock_answer read_promotion(struct redlock_node *node,
                                          const struct redlock_asked *asked,
                                          const struct redlock_scripts *scripts,
                                          const struct wire_reply *reply)
{
    const struct redlock_promotions *p = promotions_of(scripts);
    struct redlock_reign *reign = &promotions_of(scripts)->reigns[node - p->r->nodes];
    bool is_error = reply->type == RESP_ERROR;
    /* An error has the integer 0. */
    uint64_t age_ms = reply->integer > 0 ? (uint64_t)reply->integer : 0;

    if (asked->command != REDLOCK_COMMAND_PROMOTION)
        return p->before->loading->read(node, asked, p->before, reply);
    if (is_error && wire_ends_session(wire_class(reply->text, reply->text_size)))
        return REDLOCK_ANSWER_ERROR;
    if (!is_error && reply->type != RESP_INTEGER) return REDLOCK_ANSWER_WRONG;
    if (reign->epoch > 0 && node->identity.has_run_id)
        begin_reign(reign, node, age_ms * 1000, p->r->now_us);
    return REDLOCK_ANSWER_GRANTED;
}

const struct wire_loading *promotion_loading(void)
{
    static const struct wire_loading loading = {
        is_promotion_left_out, put_promotion, read_promotion
    };

    return &loading;
}
