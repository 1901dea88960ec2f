/* Decides which fields of the engine matter, and when, by reading engine.c. A field left out by
 * mistake would merge worlds that differ, so a doubtful one is included. Points in time count as
 * ticks from now on, rounded up, because the engine only ever asks whether they have come, and is
 * asked only at whole ticks. */
#include "digest.h"

#include "../../redlock/kinds/shared.h"
#include "../../redlock/lock.h"
#include "ticket.h"

#include <string.h>

/* A time further away than any TTL here counts as never. */
enum { FAR_TICKS = 31, PART_MAX = 255 };

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
        .low =
            mix(digest.low + word * 0x9e3779b97f4a7c15 + 0x8ebc6af09c88c6e3, 0x589965cc75374cc3) ^
            word,
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

    for (unsigned i = 0; i < part->size; i += sizeof word) {    /* bytes after size are 0. */
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

/* How long a round has lasted. Beyond the TTL it makes no difference, but to the pause before the
 * next attempt. */
static uint64_t ticks_since(const struct world *w, const struct bounds *bounds, uint64_t at)
{
    uint64_t ticks = (world_now_us(w) - at) / (TICK_MS * 1000);
    uint64_t most = bounds->wait ? FAR_TICKS : (uint64_t)bounds->ttl + bounds->extend_ttl;

    return ticks < most ? ticks : most;
}

/* How long the guard still lasts after the restart of a server that this client has met (S11); that
 * for tickets, if there are any, from which the other follows. */
static uint64_t ticks_of_guard(const struct world *w, const struct bounds *bounds,
                               const struct redlock_node *node)
{
    uint64_t up_us = world_now_us(w) - node->met_at + node->uptime_us;
    uint64_t guard_us = (uint64_t)bounds->guard * TICK_MS * 1000;

    if (bounds->tickets && guard_us > 0)
        guard_us += 2000u * (uint64_t)(bounds->skew > 0 ? bounds->skew * TICK_MS : 1);
    return up_us < guard_us ? ticks_until(w, world_now_us(w) + guard_us - up_us) : 0;
}

/* ---- A client, but for what it has with one node ---- */

static void add_round(struct part *part, const struct world *w, const struct bounds *bounds,
                      const struct client *client)
{
    const struct redlock_lock *lock = &client->lock;
    const struct redlock_round *round = &lock->round;
    unsigned promised_until = client->promised_until;

    if (lock->phase == REDLOCK_PHASE_IDLE || lock->phase == REDLOCK_PHASE_WAITING ||
        lock->phase == REDLOCK_PHASE_NEEDS_ENTROPY) return;
    add(part, round->command);
    add(part, ticks_until(w, round->deadline_at));
    if (lock->phase == REDLOCK_PHASE_ACQUIRING || lock->phase == REDLOCK_PHASE_EXTENDING)
        add(part, ticks_since(w, bounds, round->started_at));
    if (lock->phase != REDLOCK_PHASE_RELEASING) add(part, token_number(lock->token) & 15);
    if (round->command == REDLOCK_COMMAND_EXTEND)
        add(part, promised_until > w->now ? promised_until - w->now : 0u);
    add(part, round->ttl_ms / TICK_MS);
}

static void add_ticket(struct part *part, const struct ticket_order *order, uint16_t number)
{
    uint16_t place = ticket_place(order, number);

    add(part, place >> 8);
    add(part, place & 255u);
}

/* The number of rounds since then, since only the order of the rounds of one client matters. */
static unsigned age_of(const struct client *client, unsigned poll)
{
    return poll == POLL_CLOSED ? UINT8_MAX : (client->lock.round.number - poll) & 127u;
}

/* Adds the knowledge of tickets that the engine and its judge have. */
static void add_tickets(struct part *part, const struct ticket_order *order,
                        const struct bounds *bounds, unsigned c, const struct client *client)
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
    add(part,
        lock->is_corrected | (uint64_t)lock->is_ahead << 1 | (uint64_t)client->was_ahead << 2);
    add(part, lock->taken != 0);    /* It does not matter which nodes. */
    add(part, client->proposed_by & 15);
    if (bounds->fair) add(part, age_of(client, client->proposed_in) == 0);
}

/* A release of a lock that has changed its role names the same token even when the lock is idle. */
static void add_role(struct part *part, const struct bounds *bounds, unsigned c,
                     const struct client *client)
{
    const struct redlock_lock *lock = &client->lock;
    unsigned kind = 0;

    while (kind < SHARED_ROLES && lock->kind != shared_kind((enum shared_role)kind)) kind++;
    add(part, bounds->reads[c]);
    add(part, client->upgrades);
    add(part, client->downgrades);
    add(part, kind);
    add(part, token_number(lock->token) & 15);
    add(part, lock->ttl_ms / TICK_MS);      /* The TTL of the next change. */
}

/* The answers of the round before matter even after it. */
static bool is_in_line(const struct redlock_lock *lock)
{
    return lock->kind == &redlock_fair &&
           (lock->phase == REDLOCK_PHASE_WAITING || lock->phase == REDLOCK_PHASE_ACQUIRING);
}

static void add_place(struct part *part, const struct client *client)
{
    const struct redlock_turn *turn = &client->lock.line.turn;

    for (unsigned c = 0; c < CLIENTS; c++) add(part, client->behind[c]);
    if (!is_in_line(&client->lock)) return;
    add(part, turn->number);
    add(part, (uint64_t)turn->renews | (uint64_t)turn->is_at_doorway << 1);
    add(part, turn->rank);
    add(part, token_number(client->lock.token) & 15);
}

static struct digest digest_client(const struct world *w, const struct bounds *bounds,
                                   const struct ticket_order *order, unsigned c)
{
    const struct client *client = &w->clients[c];
    const struct redlock_lock *lock = &client->lock;
    bool has_stake = false;
    struct part part = { 0 };

    /* Nobody here has a keeper, or listens, so the fields for that never change. When somebody has,
     * they must go in. */
    REDLOCK_CHECK(!lock->is_kept && !lock->is_yielding && lock->entries == 0 &&
                  (lock->woken == 0 || bounds->fair));
    add(&part, client->is_out);
    if (bounds->permits > 0) add(&part, bounds->slots[c]);
    if (bounds->fair) add(&part, c);    /* If turns are equal, the smaller token is the first. */
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
    add(&part, lock->phase == REDLOCK_PHASE_WAITING ||
        lock->phase == REDLOCK_PHASE_NEEDS_ENTROPY ? 1 + ticks_until(w, lock->retry_at) : 0);
    add(&part, client->engine.needs_entropy.first != NULL);
    add_round(&part, w, bounds, client);
    if (bounds->tickets) add_tickets(&part, order, bounds, c, client);
    if (has_readers(bounds)) add_role(&part, bounds, c, client);
    if (bounds->permits > 0 && lock->phase != REDLOCK_PHASE_IDLE) add(&part, lock->permit.slot);
    if (bounds->fair) add_place(&part, client);
    return digest_part(&part);
}

/* ---- What a client has with one node ---- */

/* Can an answer in its last round still change something? A late one to an extension that was won
 * may have the key set again; all votes before it are then no matter. */
static bool heeds_answers(const struct redlock_lock *lock)
{
    bool is_extended =
        lock->round.command == REDLOCK_COMMAND_EXTEND && lock->valid_from == lock->round.started_at;

    if (is_in_line(lock)) return true;
    return lock_is_in_round(lock) || (lock->phase == REDLOCK_PHASE_HELD && is_extended);
}

/* The vote of node k. For a permit it is the slot that was granted. Each answer decides anew which
 * of several slots the round is about. */
static unsigned vote_of(const struct redlock_lock *lock, unsigned k)
{
    enum redlock_vote vote = redlock_vote_of(lock, k);
    bool is_grant = (vote == REDLOCK_VOTE_GRANTED || vote == REDLOCK_VOTE_REFUSED) &&
                    lock->stakes[k].state == STAKE_PLACED;

    if (!lock_is_in_round(lock) && !is_in_line(lock)) return 0;
    if (lock->permit.count > 0 && lock->phase == REDLOCK_PHASE_ACQUIRING && is_grant)
        return 16u + lock->use.slots[k];
    return 1u + vote;
}

static void add_stake(struct part *part, const struct redlock_lock *lock, unsigned k)
{
    const struct redlock_stake *stake = &lock->stakes[k];

    add(part, stake->state | (uint64_t)(stake->form == REDLOCK_FORM_BY_TEXT) << 4 |
                  (uint64_t)(lock->deferred >> k & 1) << 5);
    add(part, stake->strays);
    add(part, lock->asking >> k & 1);
    add(part, stake->want);
    add(part, stake->state ? stake->token[0] & 15 : 0);
    add(part, vote_of(lock, k));
    if (is_in_line(lock)) add(part, lock->woken >> k & 1);
}

static void add_session(struct part *part, const struct world *w, const struct bounds *bounds,
                        const struct client *client, unsigned k)
{
    const struct redlock_node *node = &client->nodes[k];
    bool has_alarm = node->state != NODE_READY || node->asked_count > 0;
    bool is_young = node->state == NODE_READY &&
                    (uint32_t)(world_now_us(w) >> 10) - node->ready_at < NODE_YOUNG_MS;

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

static void add_command(struct part *part, const struct client *client,
                        const struct ticket_order *order, const struct command *command)
{
    add(part, command->kind);
    if (command->poll > 0) {
        add(part, command->turn);
        add(part, (uint64_t)age_of(client, command->poll) << 1 | command->renews);
    }
    add(part, (uint64_t)(command->token & 15) << 4 | command->ttl);
    if (command->role != ROLE_PLAIN) {
        add(part, (uint64_t)command->role << 4 | command->slot);
        add(part, command->other ? 1u + (command->other & 15) : 0);
    }
    if (command->ticket) add_ticket(part, order, command->ticket);
}

static void add_answer(struct part *part, const struct ticket_order *order,
                       const struct reply *answer)
{
    add(part, answer->kind | (uint64_t)answer->done << 5 | (uint64_t)answer->is_taken << 6 |
                  (uint64_t)answer->is_ahead << 7);
    add(part, (uint64_t)answer->others << 4 | answer->slot);
    if (answer->counter) add_ticket(part, order, answer->counter);
    if (answer->role != ROLE_FAIR) return;
    add(part, answer->turn);
    add(part, (uint64_t)(answer->rank + 2));
}

static void add_link(struct part *part, const struct world *w, const struct client *client,
                     const struct ticket_order *order, const struct link *link)
{
    add(part, (uint64_t)link->is_open << 7 | (uint64_t)link->is_broken << 6 | link->command_count);
    for (unsigned i = 0; i < link->command_count; i++) {
        add_command(part, client, order, &link->commands[i]);
        add(part, link->commands[i].sent_at == w->now);
    }
    add(part, link->answer_count);
    for (unsigned i = 0; i < link->answer_count; i++) add_answer(part, order, &link->answers[i]);
    add(part, link->stale_count);
    for (unsigned i = 0; i < link->stale_count; i++)
        add_command(part, client, order, &link->stale[i]);
}

static struct digest digest_pair(const struct world *w, const struct bounds *bounds,
                                 const struct ticket_order *order, unsigned c, unsigned k)
{
    const struct client *client = &w->clients[c];
    bool promises = client->lock.phase == REDLOCK_PHASE_ACQUIRING ||
                    redlock_valid_us(&client->lock, world_now_us(w)) > 0;
    struct part part = { 0 };

    if (client->is_out) {
        add_link(&part, w, client, order, &w->links[c][k]);
        return digest_part(&part);
    }
    add(&part, promises && (client->lost >> k & 1));
    add_stake(&part, &client->lock, k);
    add_session(&part, w, bounds, client, k);
    add_ring(&part, client, k);
    add_link(&part, w, client, order, &w->links[c][k]);
    if (is_in_line(&client->lock))
        add(&part, (w->links[c][k].released & token_bit(token_number(client->lock.token))) != 0);
    return digest_part(&part);
}

/* ---- All of it ---- */

/* The parts of which no two name each other, and an order of the clients for
 * putting them together. */
struct view {
    const struct world *w;
    const struct bounds *bounds;
    struct ticket_order tickets;
    struct digest clients[CLIENTS], pairs[CLIENTS][NODES_MAX];
    unsigned order[CLIENTS];
    struct digest best;
};

static unsigned place_of(const struct view *view, unsigned c)
{
    unsigned place = 0;

    while (view->order[place] != c) place++;
    return place;
}

static void add_key(struct part *part, const struct view *view, const struct key *key)
{
    if (key->token == 0) {
        add(part, 0);
        return;
    }
    add(part,
        key->token == TOKEN_SHARED ? 1 + CLIENTS : 1 + place_of(view, token_client(key->token)));
    add(part, key->token & 15);
    add(part, (uint64_t)(key->expires_at - view->w->now) << 1 | key->is_prompt);
}

static void add_queue(struct part *part, const struct view *view, const struct model *node)
{
    const struct world *w = view->w;
    const struct client *owner =
        node->keys[0].token ? &w->clients[token_client(node->keys[0].token)] : NULL;

    add(part, owner ? age_of(owner, node->grant) : 0);
    for (unsigned i = 0; i < QUEUE_MAX && node->queue[i].token != 0; i++) {
        add(part, node->queue[i].token);
        add(part, node->queue[i].turn);
        add(part, (uint64_t)(node->queue[i].until - w->now));
    }
}

static void add_keys(struct part *part, const struct view *view, const struct model *node)
{
    for (unsigned i = 0; i < (view->bounds->permits > 0 ? view->bounds->permits : 1); i++)
        add_key(part, view, &node->keys[i]);
    if (node->keys[0].token != TOKEN_SHARED) return;
    for (unsigned place = 0; place < clients_of(view->bounds); place++)
        for (unsigned i = 0; i < READERS_MAX && node->readers[i].token != 0; i++)
            if (token_client(node->readers[i].token) == view->order[place])
                add_key(part, view, &node->readers[i]);
}

static struct digest digest_node(const struct view *view, unsigned k)
{
    const struct model *node = &view->w->nodes[k];
    struct part part = { 0 };
    struct digest digest;

    add(&part, node->gains);
    if (view->bounds->tickets) {
        add(&part, view->bounds->node_walls[k]);
        add_ticket(&part, &view->tickets, node->counter);
    }
    add_keys(&part, view, node);
    if (view->bounds->fair) add_queue(&part, view, node);
    digest = digest_part(&part);
    for (unsigned i = 0; i < clients_of(view->bounds); i++)
        digest = digest_join(digest, view->pairs[view->order[i]][k]);
    return digest;
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

static struct digest digest_in_order(const struct view *view)
{
    const struct world *w = view->w;
    struct digest nodes[NODES_MAX], sum = {
        w->losses, (uint64_t)w->deaths << 16 | (uint64_t)w->crashes << 8 | w->cancels
    };

    for (unsigned i = 0; i < clients_of(view->bounds); i++)
        sum = digest_join(sum, view->clients[view->order[i]]);
    if (ticket_last_matters(w))
        sum = digest_join(sum, (struct digest){ 0, ticket_place(&view->tickets, w->last_ticket) });
    for (unsigned k = 0; k < view->bounds->nodes; k++) nodes[k] = digest_node(view, k);
    if (!view->bounds->ordered) sort(nodes, view->bounds->nodes);
    for (unsigned k = 0; k < view->bounds->nodes; k++) sum = digest_join(sum, nodes[k]);
    return sum;
}

static void swap(unsigned *a, unsigned *b)
{
    unsigned kept = *a;

    *a = *b;
    *b = kept;
}

/* Tries all orders in which clients come by their own digests, from this place on, so only those
 * that are alike change places. The least of their results is the digest of the world. */
static void try_orders(struct view *view, unsigned place)
{
    if (place == clients_of(view->bounds)) {
        struct digest digest = digest_in_order(view);
        if (is_less(digest, view->best)) view->best = digest;
        return;
    }
    for (unsigned i = place; i < clients_of(view->bounds); i++) {
        bool is_next = true;
        for (unsigned j = place; j < clients_of(view->bounds); j++)
            is_next &= !is_less(view->clients[view->order[j]], view->clients[view->order[i]]);
        if (!is_next) continue;
        swap(&view->order[place], &view->order[i]);
        try_orders(view, place + 1);
        swap(&view->order[place], &view->order[i]);
    }
}

struct digest digest_of(const struct world *w, const struct bounds *bounds)
{
    struct view view = { .w = w, .bounds = bounds, .best = { UINT64_MAX, UINT64_MAX } };

    ticket_order(&view.tickets, w, bounds);
    for (unsigned c = 0; c < clients_of(bounds); c++) {
        view.order[c] = c;
        view.clients[c] = digest_client(w, bounds, &view.tickets, c);
        for (unsigned k = 0; k < bounds->nodes; k++)
            view.pairs[c][k] = digest_pair(w, bounds, &view.tickets, c, k);
    }
    try_orders(&view, 0);
    return view.best;
}
