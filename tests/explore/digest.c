/* Which fields of the engine matter, and when, is decided here, by reading engine.c: a field left out by mistake would merge
 * worlds that differ, so in doubt it is in. Points in time count as ticks from now on, rounded up, because the engine only
 * ever asks whether they have come, and is asked only at whole ticks. */
#include "digest.h"

#include "../../redlock/lock.h"
#include "ticket.h"

#include <string.h>

enum { FAR_TICKS = 31, PART_MAX = 192 };    /* What is farther away than any TTL here is never. */

/* ---- Hashing ---- */

struct part {
    uint8_t bytes[PART_MAX];
    unsigned size;
};

static void add(struct part *part, uint64_t value)
{
    REDLOCK_CHECK(value <= UINT8_MAX && part->size < PART_MAX - 8);
    part->bytes[part->size++] = (uint8_t)value;
}

/* The folded product that wyhash and others are made of. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static struct digest join(struct digest digest, uint64_t word)
{
    return (struct digest){
        .high = mix(digest.high ^ word ^ 0xa0761d6478bd642f, 0xe7037ed1a0b428db),
        .low = mix(digest.low + word * 0x9e3779b97f4a7c15 + 0x8ebc6af09c88c6e3, 0x589965cc75374cc3) ^ word,
    };
}

struct digest digest_join(struct digest digest, struct digest other)
{
    return join(join(digest, other.high), other.low);
}

static struct digest digest_part(const struct part *part)
{
    struct digest digest = { 0x1d8e4e27c47d124f, part->size };
    uint64_t word;

    for (unsigned i = 0; i < part->size; i += sizeof word) {    /* bytes behind size are 0. */
        memcpy(&word, part->bytes + i, sizeof word);
        digest = join(digest, word);
    }
    return digest;
}

static bool is_less(struct digest a, struct digest b)
{
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}

/* ---- Time ---- */

static uint64_t ticks_until(const struct world *w, uint64_t at)
{
    uint64_t now = world_now_us(w), tick = TICK_MS * 1000, ticks;

    if (at <= now) return 0;
    ticks = (at - now - 1) / tick + 1;
    return ticks < FAR_TICKS ? ticks : FAR_TICKS;
}

/* How long a round has lasted. Beyond the TTL it makes no difference, but to the pause before the next attempt. */
static uint64_t ticks_since(const struct world *w, const struct bounds *bounds, uint64_t at)
{
    uint64_t ticks = (world_now_us(w) - at) / (TICK_MS * 1000);
    uint64_t most = bounds->wait ? FAR_TICKS : (uint64_t)bounds->ttl + bounds->extend_ttl;

    return ticks < most ? ticks : most;
}

/* How long the guard still lasts after the restart of a server that this client has met (S11); that for tickets, if there are
 * any, from which the other follows. */
static uint64_t ticks_of_guard(const struct world *w, const struct bounds *bounds, const struct redlock_node *node)
{
    uint64_t up_us = world_now_us(w) - node->met_at + node->uptime_us;
    uint64_t guard_us = (uint64_t)bounds->guard * TICK_MS * 1000;

    if (bounds->tickets && guard_us > 0) guard_us += 2000u * (uint64_t)(bounds->skew > 0 ? bounds->skew * TICK_MS : 1);
    return up_us < guard_us ? ticks_until(w, world_now_us(w) + guard_us - up_us) : 0;
}

/* ---- A client, but for what it has with one node ---- */

static void add_round(struct part *part, const struct world *w, const struct bounds *bounds, const struct client *client)
{
    const struct redlock_lock *lock = &client->lock;
    const struct redlock_round *round = &lock->round;
    unsigned promised_until = client->promised_until;

    if (lock->phase == PHASE_IDLE || lock->phase == PHASE_WAITING || lock->phase == PHASE_NEEDS_ENTROPY) return;
    add(part, round->command);
    add(part, ticks_until(w, round->deadline_at));
    if (lock->phase == PHASE_ACQUIRING || lock->phase == PHASE_EXTENDING) add(part, ticks_since(w, bounds, round->started_at));
    if (lock->phase != PHASE_RELEASING) add(part, token_number(lock->token) & 15);
    if (round->command == WIRE_EXTEND) add(part, promised_until > w->now ? promised_until - w->now : 0u);
    add(part, round->ttl_ms / TICK_MS);
}

static void add_ticket(struct part *part, const struct ticket_order *order, uint16_t number)
{
    uint16_t place = ticket_place(order, number);

    add(part, place >> 8);
    add(part, place & 255u);
}

/* With tickets: what the engine, and what its judge, knows of them. */
static void add_tickets(struct part *part, const struct ticket_order *order, const struct bounds *bounds, unsigned c,
                        const struct client *client)
{
    const struct redlock_lock *lock = &client->lock;

    add(part, bounds->walls[c]);
    if (ticket_is_live(client)) add_ticket(part, order, ticket_number(lock->ticket));
    add(part, client->is_acquiring);
    if (!client->is_acquiring) return;
    add_ticket(part, order, ticket_number(lock->ticket_seen));
    add_ticket(part, order, client->known);
    add_ticket(part, order, client->floor);
    for (unsigned i = 0; i < ATTEMPTS_MAX; i++) add_ticket(part, order, client->rivals[i]);
    add(part, lock->is_corrected | (uint64_t)lock->is_ahead << 1 | (uint64_t)client->was_ahead << 2);
    add(part, lock->taken != 0);    /* Which nodes, does not matter. */
    add(part, client->proposed_by & 15);
}

static struct digest digest_client(const struct world *w, const struct bounds *bounds, const struct ticket_order *order,
                                   unsigned c)
{
    const struct client *client = &w->clients[c];
    const struct redlock_lock *lock = &client->lock;
    bool has_stake = false;
    struct part part = { 0 };

    /* Nobody here has a keeper, or listens: the fields for that never change. When somebody has, they must go in. */
    REDLOCK_CHECK(!lock->is_kept && !lock->is_yielding && lock->entries == 0 && lock->woken == 0);
    add(&part, client->is_out);
    if (client->is_out) return digest_part(&part);
    for (unsigned k = 0; k < bounds->nodes; k++) has_stake |= lock->stakes[k].state != STAKE_NONE;
    /* It will be out before it matters. */
    if (bounds->brief && client->attempts == 0 && bounds->wait == 0) has_stake = false;
    add(&part, lock->phase);
    add(&part, lock->status == REDLOCK_PENDING);
    add(&part, client->attempts);
    add(&part, client->extensions);
    add(&part, client->engine.entropy_size);
    add(&part, lock->valid_until != 0);
    add(&part, ticks_until(w, lock->valid_until));
    add(&part, has_stake ? ticks_until(w, lock->owed_until) : 0);
    add(&part, has_stake ? lock->owed_ttl_ms / TICK_MS : 0);
    add(&part, lock->deferred ? ticks_until(w, lock->debt_at) : 0);
    add(&part, lock->wait_until ? 1 + ticks_until(w, lock->wait_until) : 0);
    add(&part, lock->phase == PHASE_WAITING || lock->phase == PHASE_NEEDS_ENTROPY ? 1 + ticks_until(w, lock->retry_at) : 0);
    add(&part, client->engine.needs_entropy.first != NULL);
    add_round(&part, w, bounds, client);
    if (bounds->tickets) add_tickets(&part, order, bounds, c, client);
    return digest_part(&part);
}

/* ---- What a client has with one node ---- */

/* Can an answer in its last round still change something? A late one to an extension that was won may have the key set
 * again; all votes before it are then no matter. */
static bool heeds_answers(const struct redlock_lock *lock)
{
    bool is_extended = lock->round.command == WIRE_EXTEND && lock->valid_from == lock->round.started_at;

    return lock_is_in_round(lock) || (lock->phase == PHASE_HELD && is_extended);
}

static void add_stake(struct part *part, const struct redlock_lock *lock, unsigned k)
{
    const struct redlock_stake *stake = &lock->stakes[k];

    add(part, stake->state | (uint64_t)(stake->form == WIRE_BY_TEXT) << 4 | (uint64_t)(lock->deferred >> k & 1) << 5 |
              (uint64_t)stake->strays << 6);
    add(part, lock->asking >> k & 1);
    add(part, stake->want);
    add(part, stake->state ? stake->token[0] & 15 : 0);
    add(part, lock_is_in_round(lock) ? 1u + redlock_vote_of(lock, k) : 0);
}

static void add_session(struct part *part, const struct world *w, const struct bounds *bounds, const struct client *client,
                        unsigned k)
{
    const struct redlock_node *node = &client->nodes[k];
    bool has_alarm = node->state != NODE_READY || node->asked_count > 0;
    bool is_young = node->state == NODE_READY && (uint32_t)(world_now_us(w) >> 10) - node->ready_at < NODE_YOUNG_MS;

    add(part, node->state);
    add(part, (uint64_t)node->settled | (uint64_t)(node->failures > 0) << 1 |
                  (uint64_t)(node->run_id[REDLOCK_RUN_ID_SIZE - 1] == w->nodes[k].crashes) << 2 |
                  (uint64_t)(is_young && node->failures > 0) << 3);
    add(part, ticks_of_guard(w, bounds, node));
    add(part, has_alarm ? ticks_until(w, node->alarm_at) : 0);
}

static void add_ring(struct part *part, const struct client *client, unsigned k)
{
    unsigned count = client->nodes[k].asked_count;

    add(part, count);
    for (unsigned i = 0; i < count; i++) {
        const struct redlock_asked *asked = ring_at(client, k, i);
        bool is_current = heeds_answers(&client->lock) && asked->round == client->lock.round.number;
        add(part, asked->command | (uint64_t)is_current << 7);
    }
}

static void add_command(struct part *part, const struct ticket_order *order, const struct command *command)
{
    add(part, command->kind);
    add(part, (uint64_t)(command->token & 15) << 4 | command->ttl);
    if (command->ticket) add_ticket(part, order, command->ticket);
}

static void add_answer(struct part *part, const struct ticket_order *order, const struct reply *answer)
{
    add(part, answer->kind | (uint64_t)answer->done << 5 | (uint64_t)answer->is_taken << 6 | (uint64_t)answer->is_ahead << 7);
    if (answer->counter) add_ticket(part, order, answer->counter);
}

static void add_link(struct part *part, const struct world *w, const struct ticket_order *order, const struct link *link)
{
    add(part, (uint64_t)link->is_open << 7 | (uint64_t)link->is_broken << 6 | link->command_count);
    for (unsigned i = 0; i < link->command_count; i++) {
        add_command(part, order, &link->commands[i]);
        add(part, link->commands[i].sent_at == w->now);
    }
    add(part, link->answer_count);
    for (unsigned i = 0; i < link->answer_count; i++) add_answer(part, order, &link->answers[i]);
    add(part, link->stale_count);
    for (unsigned i = 0; i < link->stale_count; i++) add_command(part, order, &link->stale[i]);
}

static struct digest digest_pair(const struct world *w, const struct bounds *bounds, const struct ticket_order *order,
                                 unsigned c, unsigned k)
{
    const struct client *client = &w->clients[c];
    bool promises = client->lock.phase == PHASE_ACQUIRING || redlock_valid_us(&client->lock, world_now_us(w)) > 0;
    struct part part = { 0 };

    if (client->is_out) {
        add_link(&part, w, order, &w->links[c][k]);
        return digest_part(&part);
    }
    add(&part, promises && (client->lost >> k & 1));
    add_stake(&part, &client->lock, k);
    add_session(&part, w, bounds, client, k);
    add_ring(&part, client, k);
    add_link(&part, w, order, &w->links[c][k]);
    return digest_part(&part);
}

/* ---- All of it ---- */

/* The key of a node, seen when client first is called the first. */
static struct digest digest_node(const struct world *w, const struct bounds *bounds, const struct ticket_order *order,
                                 struct digest pairs[CLIENTS][NODES_MAX], unsigned k, unsigned first)
{
    const struct model *node = &w->nodes[k];
    struct part part = { 0 };

    add(&part, node->gains);
    if (bounds->tickets) {
        add(&part, bounds->node_walls[k]);
        add_ticket(&part, order, node->counter);
    }
    if (node->token != 0) {
        add(&part, 1 + (token_client(node->token) ^ first));
        add(&part, node->token & 15);
        add(&part, (uint64_t)(node->expires_at - w->now) << 1 | node->is_prompt);
    }
    return digest_join(digest_join(digest_part(&part), pairs[first][k]), pairs[1 - first][k]);
}

static void sort(struct digest *digests, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j > 0 && is_less(digests[j], digests[j - 1]); j--) {
            struct digest swap = digests[j];
            digests[j] = digests[j - 1];
            digests[j - 1] = swap;
        }
}

struct digest digest_of_set(struct digest *digests, unsigned count)
{
    struct digest sum = { 0, 0 };

    sort(digests, count);
    for (unsigned i = 0; i < count; i++)
        if (i == 0 || is_less(digests[i - 1], digests[i])) sum = digest_join(sum, digests[i]);
    return sum;
}

struct digest digest_of(const struct world *w, const struct bounds *bounds)
{
    struct digest pairs[CLIENTS][NODES_MAX], clients[CLIENTS], best = { UINT64_MAX, UINT64_MAX };
    struct ticket_order order;

    ticket_order(&order, w, bounds);
    for (unsigned c = 0; c < CLIENTS; c++) {
        clients[c] = digest_client(w, bounds, &order, c);
        for (unsigned k = 0; k < bounds->nodes; k++) pairs[c][k] = digest_pair(w, bounds, &order, c, k);
    }
    for (unsigned first = 0; first < CLIENTS; first++) {
        struct digest nodes[NODES_MAX], sum = { w->losses, (uint64_t)w->crashes << 8 | w->cancels };
        sum = digest_join(digest_join(sum, clients[first]), clients[1 - first]);
        if (ticket_last_matters(w)) sum = digest_join(sum, (struct digest){ 0, ticket_place(&order, w->last_ticket) });
        for (unsigned k = 0; k < bounds->nodes; k++) nodes[k] = digest_node(w, bounds, &order, pairs, k, first);
        sort(nodes, bounds->nodes);
        for (unsigned k = 0; k < bounds->nodes; k++) sum = digest_join(sum, nodes[k]);
        if (is_less(sum, best)) best = sum;
    }
    return best;
}
