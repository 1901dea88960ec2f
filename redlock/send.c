#include "send.h"

#include "events.h"
#include "names.h"
#include "native.h"
#include "queue.h"

#include <string.h>

/* Notes a TTL that is sent now, and again when the node has answered, since it begins
 * there only then. */
static void note_ttl(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->round.ttl_ms > 0);
    if (lock->round.ttl_ms > lock->owed_ttl_ms) lock->owed_ttl_ms = lock->round.ttl_ms;
    stake_note_end(r, lock);
    REDLOCK_ASSERT(lock->owed_ttl_ms >= lock->round.ttl_ms);
}

/* S27: no release is ever sent with a token that is held. Whenever it is executed, it may find a
 * key that an extension has set again. */
REDLOCK_INLINE bool is_token_held(const struct redlock_lock *lock, unsigned k)
{
    return (lock->phase == REDLOCK_PHASE_HELD || lock->phase == REDLOCK_PHASE_EXTENDING) &&
           are_same_bytes(lock->stakes[k].token, lock->token, sizeof lock->token);
}

/* A lock's command has gone into the send buffer of node k. */
static void note_asked(struct redlock *r, unsigned k, const struct redlock_asked *asked)
{
    struct redlock_lock *lock = asked->lock;
    struct redlock_stake *stake = &lock->stakes[k];
    enum redlock_command command = (enum redlock_command)asked->command;

    REDLOCK_ASSERT(r->nodes[k].state == NODE_READY && !r->nodes[k].is_subscription);
    /* S6: never two tokens on one node. */
    REDLOCK_ASSERT(
        command != REDLOCK_COMMAND_ACQUIRE || stake->state == STAKE_NONE ||
        (lock->kind->keeps_place && are_same_bytes(stake->token, lock->token, sizeof lock->token)));
    REDLOCK_ASSERT(command != REDLOCK_COMMAND_RELEASE || !is_token_held(lock, k));
    node_asked(&r->nodes[k], &r->config, r->now_us, asked);
    lock->outstanding++;
    stake_want_nothing(r, lock, k);
    switch (command) {
    case REDLOCK_COMMAND_ACQUIRE:
    case REDLOCK_COMMAND_RESTORE:
        copy_bytes(stake->token, lock->token, sizeof stake->token);
        REDLOCK_ASSERT(stake->strays <= STRAYS_COUNT);
        if (stake->strays < STRAYS_COUNT) stake->strays++;
        stake_set(lock, k, STAKE_PLACED);
        note_ttl(r, lock);
        break;
    case REDLOCK_COMMAND_EXTEND:   note_ttl(r, lock); break;
    case REDLOCK_COMMAND_RELEASE:
        stake_set(lock, k, STAKE_LEAVING);
        if (!lock_is_trying(lock)) lock->entries &= (uint16_t)~bit_of(k);
        break;
    case REDLOCK_COMMAND_WAIT:     lock->entries |= bit_of(k); break;
    case REDLOCK_COMMAND_GETRANGE: stake_want(r, lock, k, REDLOCK_COMMAND_PTTL); break;
    default:                       break;
    }
}

/* True if its round has ended meanwhile without this node, or the lock no longer waits. */
static bool is_obsolete(const struct redlock *r, const struct redlock_lock *lock,
                        enum redlock_command command)
{
    REDLOCK_ASSERT(!is_with_ttl(command) || lock->round.command == REDLOCK_COMMAND_ACQUIRE ||
                   lock->round.command == REDLOCK_COMMAND_EXTEND);
    if (command == REDLOCK_COMMAND_WAIT) return lock->phase != REDLOCK_PHASE_WAITING;
    return is_with_ttl(command) && lock_is_past_deadline(r, lock);
}

/* A lost attempt is released without losing its entry among the waiters. */
static bool gives_entry_back(const struct redlock_lock *lock, unsigned k)
{
    REDLOCK_ASSERT(!has_entry(lock, k) || lock->wait_number != 0);
    return has_entry(lock, k) && !lock_is_trying(lock);
}

/* The next command for node k names its entry. */
REDLOCK_INLINE bool names_entry(const struct redlock_lock *lock, unsigned k)
{
    unsigned want = lock->stakes[k].want;

    return want == REDLOCK_COMMAND_WAIT || want == REDLOCK_COMMAND_ACQUIRE ||
           gives_entry_back(lock, k);
}

/* The release of a lock that was held wakes a waiter, and so does one that gives an entry back. */
static bool may_wake(const struct redlock *r, const struct redlock_lock *lock, unsigned k)
{
    REDLOCK_ASSERT(lock->stakes[k].want == REDLOCK_COMMAND_RELEASE);
    REDLOCK_ASSERT(!has_entry(lock, k) || r->scripts->rows[KIND_WAKE]);
    return gives_entry_back(lock, k) ||
           (lock->wakes && r->scripts->rows[KIND_WAKE] && !r->config.silent);
}

REDLOCK_STATIC_ASSERT((int)KIND_ACQUIRE == 0 &&
                          (int)REDLOCK_COMMAND_RESTORE - (int)REDLOCK_COMMAND_ACQUIRE ==
                              (int)KIND_RESTORE &&
                          (int)REDLOCK_COMMAND_EXTEND - (int)REDLOCK_COMMAND_ACQUIRE ==
                              (int)KIND_EXTEND,
                      "rows are in the order of the commands");

static enum wire_kind_row release_row(const struct redlock *r, const struct redlock_lock *lock,
                                      unsigned k)
{
    if (!may_wake(r, lock, k)) return KIND_RELEASE;
    return has_entry(lock, k) ? KIND_GIVE_BACK : KIND_WAKE;
}

static const struct wire_row *usual_row(const struct redlock *r, const struct redlock_lock *lock,
                                        unsigned k)
{
    unsigned want = lock->stakes[k].want;

    switch (want) {
    case REDLOCK_COMMAND_RELEASE:  return kind_row(r, lock, release_row(r, lock, k));
    case REDLOCK_COMMAND_WAIT:     return kind_row(r, lock, KIND_WAIT);
    case REDLOCK_COMMAND_PTTL:     return r->holding->row();
    case REDLOCK_COMMAND_GETRANGE: return r->inspecting->row();
    default:
        return kind_row(r, lock, (enum wire_kind_row)(want - (unsigned)REDLOCK_COMMAND_ACQUIRE));
    }
}

static const struct wire_row *row_of(const struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    const struct wire_row *row = usual_row(r, lock, k);

    return r->hashing ? r->hashing->row(r, lock, k, row) : row;
}

bool send_encode(struct resp_writer *w, const struct wire_row *row, enum redlock_form form,
                 const struct wire_subject *subject)
{
    if (row->text) wire_put_script(w, row, form, subject);
    row->put(w, subject);
    return resp_end(w);
}

/* Encodes the command that the lock wants for node k, from its own fields. False: it does
 * not fit now. */
static bool put_command(struct redlock *r, struct redlock_lock *lock, unsigned k,
                        struct resp_writer *w)
{
    struct redlock_stake *stake = &lock->stakes[k];
    enum redlock_command command = (enum redlock_command)stake->want;
    const struct wire_row *row = row_of(r, lock, k);
    enum redlock_form form = wire_form_of(row, (enum redlock_form)stake->form);
    struct redlock_asked asked;
    struct redlock_place place;
    struct wire_subject subject = {
        .names = names_of(lock),
        .name_count = lock->name_count,
        .token = lock->token,
        .placed = stake->token,
        .holder = r->holder,
        .ttl_ms = lock->round.ttl_ms,
        .ticket = has_ticket(lock) ? lock->ticket : 0,
        .life_ms = r->config.ticket_life_ms,
        .skew_ms = r->config.ticket_skew_ms,
        .engine = r->name,
        .wait_number = names_entry(lock, k) ? lock->wait_number : 0,
        .arrived_at = lock->line.arrived_at,
        .permit = lock->permit,
        .phase = lock->phase,
        .place = lock->kind->place ? lock->kind->place(lock, &place) : NULL,
    };

    REDLOCK_ASSERT(r->nodes[k].queue.first == lock);        /* First come, first served. */
    REDLOCK_ASSERT((form == REDLOCK_FORM_PLAIN) == !row->text &&
                   (form != REDLOCK_FORM_BY_SHA1 || row->sha1));
    REDLOCK_ASSERT(command != REDLOCK_COMMAND_NONE && queue_holds(lock, k));
    if (is_obsolete(r, lock, command)) {
        stake_want_nothing(r, lock, k);
        return true;
    }
    REDLOCK_ASSERT(command != REDLOCK_COMMAND_RELEASE || lock->stakes[k].state == STAKE_OWED);
    if (!send_encode(w, row, form, &subject)) return false;
    asked.lock = lock;
    asked.round = lock->round.number;
    asked.command = (uint8_t)command;
    asked.form = (uint8_t)form;
    asked.lowest = row->lowest;
    asked.highest = row->highest;
    note_asked(r, k, &asked);
    return true;
}

void send_fill(struct redlock *r, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];
    struct resp_writer w;

    REDLOCK_ASSERT(node->state == NODE_READY && !node->is_subscription && !node->apart);
    node_begin_writing(node, &r->config, &w);
    while (node->queue.first && node_can_ask(node, &r->config) && !w.apart)
        if (!put_command(r, node->queue.first, k, &w)) break;
    node_written(node, &w);
    REDLOCK_ASSERT(node->send_end <= r->config.send_size);
}

/* ---- Commands that go to several nodes in the same bytes are encoded once (optional) ---- */

/* The nodes besides k that may take copies, which have nothing else to send. A buffer that does not
 * empty gets no bytes that its node did not ask for, since a command that is not encoded can still
 * be dropped. */
static uint16_t begin_copies(struct redlock *r, unsigned k)
{
    uint16_t nodes = 0;

    for (unsigned j = 0; j < r->node_count; j++) {
        struct redlock_node *node = &r->nodes[j];
        /* Bytes follow each script. */
        REDLOCK_ASSERT(!node->apart || node->send_start != node->send_end);
        if (j == k || node->state != NODE_READY || node->send_start != node->send_end) continue;
        node->send_start = node->send_end = 0;
        nodes |= bit_of(j);
    }
    REDLOCK_ASSERT(!(nodes & bit_of(k)));
    return nodes;
}

/* True if the lock wants the same bytes to go to both nodes. All other arguments of put_command()
 * are the lock's or the engine's. Only commands other than ACQUIRE may name an
 * earlier token (S6). */
static bool is_alike(const struct redlock *r, const struct redlock_lock *lock, unsigned k,
                     unsigned j)
{
    const struct redlock_stake *a = &lock->stakes[k], *b = &lock->stakes[j];

    REDLOCK_ASSERT(j != k && queue_holds(lock, k) && queue_holds(lock, j));
    if (a->want != b->want || a->form != b->form ||
        r->nodes[k].identity.native != r->nodes[j].identity.native ||
        gives_entry_back(lock, k) != gives_entry_back(lock, j))
        return false;
    return a->want == REDLOCK_COMMAND_ACQUIRE || memcmp(a->token, b->token, sizeof a->token) == 0;
}

/* The ones of these nodes that have the same next command as node k. */
static uint16_t alike(const struct redlock *r, const struct redlock_lock *lock, unsigned k,
                      uint16_t nodes)
{
    uint16_t found = 0;

    for (unsigned j = 0; j < r->node_count; j++)
        if (nodes & bit_of(j) && r->nodes[j].queue.first == lock && is_alike(r, lock, k, j))
            found |= bit_of(j);
    REDLOCK_ASSERT((found & ~nodes) == 0);
    return found;
}

/* Node j has been sent only copies of node k's commands, so there is room for one more. */
static void put_copy(struct redlock *r, unsigned j, const struct redlock_asked *asked,
                     const uint8_t *bytes, size_t size)
{
    struct redlock_node *node = &r->nodes[j];
    unsigned before = node->asked_count;

    REDLOCK_CHECK(size <= r->config.send_size - node->send_end);
    REDLOCK_ASSERT(node->queue.first == asked->lock &&
                   asked->lock->stakes[j].want == asked->command && node->send_start == 0);
    if (!node_can_ask(node, &r->config)) return;
    memcpy(node->send + node->send_end, bytes, size);
    node->send_end += (uint32_t)size;
    note_asked(r, j, asked);
    REDLOCK_ASSERT(node->asked_count == before + 1 && node->send_end <= r->config.send_size);
    if (r->events) r->events->feature->sent(r, j, before);
}

/* False: it does not fit now. */
static bool put_with_copies(struct redlock *r, unsigned k, uint16_t nodes, struct resp_writer *w)
{
    struct redlock_lock *lock = r->nodes[k].queue.first;
    const struct redlock_asked *asked;
    size_t before = w->used;

    REDLOCK_ASSERT(lock && !(nodes & bit_of(k)));
    nodes = alike(r, lock, k, nodes);
    if (!put_command(r, lock, k, w)) return false;
    if (w->apart || w->used == before) return true;
    asked = node_asked_at(&r->nodes[k], &r->config, r->nodes[k].asked_count - 1u);
    REDLOCK_ASSERT(asked->lock == lock && w->used > before);
    for (unsigned j = 0; nodes >> j != 0; j++)
        if (nodes >> j & 1) put_copy(r, j, asked, w->data + before, w->used - before);
    return true;
}

static void fill_with_copies(struct redlock *r, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];
    uint16_t nodes = begin_copies(r, k);
    struct resp_writer w;

    REDLOCK_ASSERT(node->state == NODE_READY && !node->is_subscription && !node->apart);
    node_begin_writing(node, &r->config, &w);
    while (node->queue.first && node_can_ask(node, &r->config) && !w.apart)
        if (!put_with_copies(r, k, nodes, &w)) break;
    node_written(node, &w);
    REDLOCK_ASSERT(node->send_end <= r->config.send_size);
}

void send_use_copies(struct redlock *r)
{
    r->fill_send_buffer = fill_with_copies;
}
