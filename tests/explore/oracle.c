#include "oracle.h"

#include "../../redlock/lock.h"
#include "../../redlock/queue.h"

/* A dead client is inside nothing, and its keys may vanish. */
static bool is_valid(const struct world *w, unsigned c)
{
    return !w->clients[c].is_out && redlock_valid_us(&w->clients[c].lock, world_now_us(w)) > 0;
}

/* ---- What is promised ---- */

/* While a client is within its validity a quorum holds its key, those nodes counted that have lost
 * it in a crash. */
static const char *check_promise(const struct world *w, const struct bounds *bounds, unsigned c)
{
    const struct client *client = &w->clients[c];
    unsigned count = 0;

    if (!is_valid(w, c)) return NULL;
    for (unsigned k = 0; k < bounds->nodes; k++)
        count += world_protects(w, c, k) || (client->lost >> k & 1);
    return count >= bounds->nodes / 2 + 1
               ? NULL
               : "a client is within its validity, but no quorum holds its key";
}

/* ---- What the engine takes for granted ---- */

static unsigned asked_count(const struct client *client, unsigned k, unsigned command)
{
    unsigned count = 0;

    for (unsigned i = 0; i < client->nodes[k].asked_count; i++)
        count += ring_at(client, k, i)->command == command;
    return count;
}

/* S9: a key is set again only for a lock that a quorum has just confirmed. */
static bool restores_unconfirmed(const struct world *w, const struct bounds *bounds, unsigned c,
                                 unsigned k)
{
    const struct client *client = &w->clients[c];
    const struct redlock_round *round = &client->lock.round;
    bool is_confirmed = round_count(round->granted) >= bounds->nodes / 2 + 1;

    for (unsigned i = 0; i < client->nodes[k].asked_count; i++) {
        const struct redlock_asked *asked = ring_at(client, k, i);
        if (asked->command == REDLOCK_COMMAND_RESTORE && asked->round == round->number &&
            !is_confirmed)
            return true;
    }
    return false;
}

static bool has_prompt_key(const struct model *node, unsigned c)
{
    bool has = false;

    for (unsigned i = 0; i < PERMITS_MAX; i++)
        has |= token_client(node->keys[i].token) == c && node->keys[i].is_prompt;
    for (unsigned i = 0; i < READERS_MAX; i++)
        has |= token_client(node->readers[i].token) == c && node->readers[i].is_prompt;
    return has;
}

static const char *check_stake(const struct world *w, unsigned c, unsigned k)
{
    const struct client *client = &w->clients[c];
    const struct redlock_lock *lock = &client->lock;
    const struct redlock_stake *stake = &lock->stakes[k];
    bool is_owed = lock->owed >> k & 1, is_deferred = lock->deferred >> k & 1;
    unsigned releases = asked_count(client, k, REDLOCK_COMMAND_RELEASE);
    unsigned sets = asked_count(client, k, REDLOCK_COMMAND_ACQUIRE) +
                    asked_count(client, k, REDLOCK_COMMAND_RESTORE);

    if (releases != (stake->state == STAKE_LEAVING))
        return "a release is on its way exactly when a stake is leaving";
    if (sets > 1 && !w->clients[c].lock.kind->keeps_place)
        return "two SETs of one lock are on their way to one node";
    if (sets > 0 && stake->state == STAKE_NONE) return "a SET is on its way where no stake is";
    if (is_owed != (stake->state == STAKE_OWED))           return "a stake is owed, but not noted";
    if (is_deferred && !is_owed) return "a debt is deferred, but not owed";
    if (is_owed && !is_deferred && stake->want != REDLOCK_COMMAND_RELEASE)
        return "a debt is neither queued nor deferred";
    if ((stake->want != REDLOCK_COMMAND_NONE) != queue_holds(lock, k))
        return "what a lock wants of a node is not queued";
    if (stake->state == STAKE_NONE && has_prompt_key(&w->nodes[k], c))
        return "a node has a client's key, and the client knows nothing of it";
    return NULL;
}

static const char *check_session(const struct world *w, unsigned c, unsigned k)
{
    const struct redlock_node *node = &w->clients[c].nodes[k];
    const struct link *link = &w->links[c][k];

    if (node->state == NODE_READY && !link->is_broken &&
        node->asked_count != link->command_count + link->answer_count)
        return "a node owes more or fewer answers than its session waits for";
    return NULL;
}

static const char *check_lock(const struct world *w, const struct bounds *bounds, unsigned c)
{
    const struct client *client = &w->clients[c];
    const struct redlock_lock *lock = &client->lock;
    unsigned outstanding = 0;

    for (unsigned k = 0; k < bounds->nodes; k++) outstanding += client->nodes[k].asked_count;
    if (outstanding != lock->outstanding)
        return "a lock waits for more or fewer answers than were asked for";
    if (lock->phase != REDLOCK_PHASE_IDLE && lock->phase != REDLOCK_PHASE_HELD &&
        !lock->in_heap) return "nothing will ever end an operation";
    if (lock->owed && !lock->in_heap) return "nothing will ever end a debt";
    return NULL;
}

static const char *check_client(const struct world *w, const struct bounds *bounds, unsigned c)
{
    const char *breach;

    if (w->clients[c].is_out) return NULL;
    breach = check_promise(w, bounds, c);
    if (!breach) breach = check_lock(w, bounds, c);
    for (unsigned k = 0; k < bounds->nodes && !breach; k++) {
        breach = check_stake(w, c, k);
        if (!breach && restores_unconfirmed(w, bounds, c, k))
            breach = "a key is set again that no quorum has confirmed";
        if (!breach) breach = check_session(w, c, k);
    }
    return breach;
}

/* ---- Who may be inside at the same time ---- */

static const char *check_pair(const struct world *w, unsigned c, unsigned other)
{
    const struct redlock_lock *a = &w->clients[c].lock, *b = &w->clients[other].lock;
    bool a_reads = redlock_view_lock(a).is_shared, b_reads = redlock_view_lock(b).is_shared;

    if (!is_valid(w, c) || !is_valid(w, other) || (a_reads && b_reads)) return NULL;
    if (a->permit.count > 0)
        return redlock_view_lock(a).slot == redlock_view_lock(b).slot
            ? "two clients hold the same slot" : NULL;
    return a_reads || b_reads ? "a client reads while another one writes"
                              : "two clients hold the lock";
}

static const char *check_exclusion(const struct world *w, const struct bounds *bounds)
{
    const char *breach = NULL;
    unsigned count = 0;

    for (unsigned c = 0; c < clients_of(bounds) && !breach; c++) {
        count += is_valid(w, c);
        for (unsigned other = 0; other < c && !breach; other++) breach = check_pair(w, c, other);
    }
    return bounds->permits > 0 && count > bounds->permits
               ? "more clients are inside than there are permits"
               : breach;
}

const char *oracle(const struct world *w, const struct bounds *bounds)
{
    const char *breach = w->breach, *exclusion;

    if (bounds->only_tickets) return w->ticket_breach;
    if (bounds->only_order) return w->order_breach;
    exclusion = check_exclusion(w, bounds);
    if (exclusion || bounds->only_exclusion) return exclusion;
    if (!breach) breach = w->ticket_breach;
    if (!breach) breach = w->order_breach;
    for (unsigned c = 0; c < clients_of(bounds) && !breach; c++)
        breach = check_client(w, bounds, c);
    return breach;
}
