#include "model.h"

#include "ticket.h"

#include <stdlib.h>
#include <string.h>

static bool says(const char *script, const char *words)
{
    return strstr(script, words) != NULL;
}

static bool release_compares(void)
{
    return says(WIRE_RELEASE_SCRIPT, "if v==t then");
}

static bool extend_compares(void)
{
    return says(WIRE_EXTEND_SCRIPT, "~=t then return 0");
}

bool model_compares(void)
{
    return release_compares() && extend_compares() &&
           says(WIRE_SHARED_RELEASE_SCRIPT, "c('zrem',a,t,h)>0") &&
           says(WIRE_PERMIT_RELEASE_SCRIPT, "if v==t then") &&
           says(WIRE_FAIR_RELEASE_SCRIPT, "if v==o then");
}

/* ---- Keys ---- */

static uint16_t time_after(const struct world *w, const struct command *command)
{
    return (uint16_t)(w->now + command->ttl);
}

static uint16_t later_of(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

static uint8_t set_key(struct key *key, const struct world *w, const struct command *command,
                       bool is_prompt)
{
    if (key->token != 0) return 0;
    *key = (struct key){ command->token, is_prompt, time_after(w, command) };
    return 1;
}

static void lengthen(struct key *key, uint16_t expires_at, bool may_shorten, bool is_prompt)
{
    if (expires_at <= key->expires_at && !may_shorten) return;
    key->expires_at = expires_at;
    key->is_prompt = key->is_prompt && is_prompt;
}

static void clear_key(struct key *key)
{
    *key = (struct key){ 0 };
}

/* ---- Plain locks ---- */

static uint8_t release(struct world *w, struct key *key, const struct command *command)
{
    if (key->token == 0) return 0;
    if (key->token != command->token && release_compares()) return 0;
    if (token_client(key->token) != token_client(command->token))
        w->breach = "a node's key was deleted by another client";
    clear_key(key);
    return 1;
}

static uint8_t extend(struct world *w, struct key *key, const struct command *command,
                      bool is_prompt)
{
    if (key->token == 0 || (key->token != command->token && extend_compares())) return 0;
    if (token_client(key->token) != token_client(command->token))
        w->breach = "a node's key was extended by another client";
    lengthen(key, time_after(w, command), !says(WIRE_EXTEND_SCRIPT, "l<m+0"), is_prompt);
    return 1;
}

/* The key is free, or ours already, and the ticket may be there. */
static uint8_t restore(struct world *w, struct model *node, const struct command *command,
                       bool is_prompt)
{
    bool may_lower = !says(WIRE_RESTORE_SCRIPT, "k>tonumber(c('get',o)or 0)");

    if (command->ticket > node->counter || may_lower) node->counter = command->ticket;
    if (node->keys[0].token == command->token) return extend(w, &node->keys[0], command, is_prompt);
    clear_key(&node->keys[0]);
    return set_key(&node->keys[0], w, command, is_prompt);
}

static void execute_plain(struct world *w, const struct bounds *bounds, unsigned k,
                          const struct command *command, bool is_prompt, struct reply *reply)
{
    struct model *node = &w->nodes[k];

    switch (command->kind) {
    case REDLOCK_COMMAND_ACQUIRE:
        if (command->ticket != 0) reply->done = ticket_grant(w, bounds, k, command->ticket, reply);
        if (reply->done)          reply->done = set_key(&node->keys[0], w, command, is_prompt);
        if (reply->done && command->ticket != 0) node->counter = command->ticket;
        break;
    case REDLOCK_COMMAND_RESTORE:
        reply->done = ticket_restore(w, bounds, k, command, reply);
        if (reply->done) reply->done = restore(w, node, command, is_prompt);
        break;
    case REDLOCK_COMMAND_RELEASE: reply->done = release(w, &node->keys[0], command); break;
    case REDLOCK_COMMAND_EXTEND: reply->done = extend(w, &node->keys[0], command, is_prompt); break;
    default:           break;
    }
}

/* ---- Shared locks ---- */

static struct key *reader_of(struct model *node, unsigned token)
{
    for (unsigned i = 0; i < READERS_MAX && token != 0; i++)
        if (node->readers[i].token == token) return &node->readers[i];
    return NULL;
}

static unsigned readers_count(const struct model *node)
{
    unsigned count = 0;

    while (count < READERS_MAX && node->readers[count].token != 0) count++;
    return count;
}

static uint16_t last_reader_until(const struct model *node)
{
    uint16_t until = 0;

    for (unsigned i = 0; i < READERS_MAX; i++) until = later_of(until, node->readers[i].expires_at);
    return until;
}

static void clear_readers(struct model *node)
{
    memset(node->readers, 0, sizeof node->readers);
}

static void remove_reader(struct model *node, struct key *reader)
{
    struct key *last = &node->readers[READERS_MAX - 1];

    memmove(reader, reader + 1, (size_t)(last - reader) * sizeof *reader);
    clear_key(last);
}

static struct key *add_reader(struct world *w, struct model *node, unsigned token, bool is_prompt)
{
    unsigned i = 0;

    if (node->readers[READERS_MAX - 1].token != 0) {
        w->is_full = true;
        return &node->readers[READERS_MAX - 1];
    }
    while (node->readers[i].token != 0 && node->readers[i].token < token) i++;
    memmove(node->readers + i + 1, node->readers + i,
            (READERS_MAX - 1 - i) * sizeof node->readers[0]);
    node->readers[i] = (struct key){ .token = (uint8_t)token, .is_prompt = is_prompt };
    return &node->readers[i];
}

/* admit.lua */
static void let_read(struct world *w, struct model *node, const struct command *command,
                     uint16_t until, bool is_prompt)
{
    struct key *reader = reader_of(node, command->token);

    if (!reader) reader = add_reader(w, node, command->token, is_prompt);
    lengthen(reader, until, true, is_prompt);
    if (says(WIRE_SHARED_ACQUIRE_SCRIPT, "tonumber(c('zrevrange'"))
        until = later_of(until, last_reader_until(node));
    node->keys[0] = (struct key){ .token = TOKEN_SHARED, .expires_at = until };
}

/* Also to set the key again. */
static uint8_t acquire_shared(struct world *w, struct model *node, const struct command *command,
                              bool is_prompt)
{
    bool heeds_writers = says(WIRE_SHARED_ACQUIRE_SCRIPT, "and(not v or v=='~shared')then");
    const struct key *own;

    if (node->keys[0].token != 0 && node->keys[0].token != TOKEN_SHARED && heeds_writers) return 0;
    if (node->keys[0].token == 0) clear_readers(node);
    own = reader_of(node, command->token);
    let_read(w, node, command, later_of(time_after(w, command), own ? own->expires_at : 0),
             is_prompt);
    return 1;
}

/* A reader that is alone becomes a writer. */
static uint8_t upgrade(struct world *w, struct model *node, const struct command *command,
                       bool is_prompt, struct reply *reply)
{
    const struct key *own = reader_of(node, command->other);

    if (!own) return 0;
    if (readers_count(node) > 1 &&
        says(WIRE_SHARED_EXTEND_SCRIPT, "if c('zcard',r)>1 then return-1 end")) {
        reply->others = true;
        return 0;
    }
    node->keys[0] = (struct key){
        command->token, own->is_prompt && is_prompt,
        later_of(time_after(w, command), own->expires_at)
    };
    clear_readers(node);
    return 1;
}

/* A writer becomes a reader, as it was the only one there. */
static uint8_t downgrade(struct world *w, struct model *node, const struct command *command,
                         bool is_prompt)
{
    struct key was = node->keys[0];

    clear_readers(node);
    let_read(w, node, command, later_of(time_after(w, command), was.expires_at),
             was.is_prompt && is_prompt);
    return 1;
}

static uint8_t extend_shared(struct world *w, struct model *node, const struct command *command,
                             bool is_prompt, struct reply *reply)
{
    struct key *key = &node->keys[0];
    const struct key *own = reader_of(node, command->token);
    bool is_reader = command->role == ROLE_READER;

    if (is_reader && key->token == TOKEN_SHARED) {
        if (own)
            let_read(w, node, command, later_of(time_after(w, command), own->expires_at),
                     is_prompt);
        return own != NULL;
    }
    if (key->token == TOKEN_SHARED && command->other != 0)
        return upgrade(w, node, command, is_prompt, reply);
    if (key->token == 0 || key->token != (is_reader ? command->other : command->token)) return 0;
    if (is_reader) return downgrade(w, node, command, is_prompt);
    lengthen(key, time_after(w, command), false, is_prompt);
    return 1;
}

/* True: it was there. */
static bool leave(struct model *node, unsigned token)
{
    struct key *reader = reader_of(node, token);

    if (!reader) return false;
    remove_reader(node, reader);
    node->keys[0].expires_at = last_reader_until(node);
    if (readers_count(node) == 0) clear_key(&node->keys[0]);
    return true;
}

/* A script that does not look for its own entry takes the first. */
static uint8_t release_shared(struct world *w, struct model *node, const struct command *command)
{
    struct key *key = &node->keys[0];
    unsigned token = command->token;
    bool is_there;

    if (key->token != 0 && (key->token == token || key->token == command->other)) {
        clear_key(key);
        return 1;
    }
    if (key->token != TOKEN_SHARED) return 0;
    if (!says(WIRE_SHARED_RELEASE_SCRIPT, "c('zrem',a,t,h)>0")) token = node->readers[0].token;
    if (token_client(token) != token_client(command->token))
        w->breach = "a node's key was deleted by another client";
    is_there = leave(node, token);
    return leave(node, command->other) || is_there;
}

static void execute_shared(struct world *w, struct model *node, const struct command *command,
                           bool is_prompt, struct reply *reply)
{
    switch (command->kind) {
    case REDLOCK_COMMAND_ACQUIRE:
    case REDLOCK_COMMAND_RESTORE: reply->done = acquire_shared(w, node, command, is_prompt); break;
    case REDLOCK_COMMAND_EXTEND:
        reply->done = extend_shared(w, node, command, is_prompt, reply);
        break;
    case REDLOCK_COMMAND_RELEASE: reply->done = release_shared(w, node, command); break;
    default:           break;
    }
}

/* ---- Permits ---- */

static uint8_t acquire_permit(struct world *w, const struct bounds *bounds, struct model *node,
                              const struct command *command, bool is_prompt, struct reply *reply)
{
    unsigned first = bounds->slots[token_client(command->token)];
    bool takes_what_is_free = says(WIRE_PERMIT_ACQUIRE_SCRIPT, "if j==-2 then f=j");

    for (unsigned i = 0; i < bounds->permits; i++) {
        unsigned slot = (first + bounds->permits - 1 + i) % bounds->permits;
        if (first == 0) slot = i;
        if (node->keys[slot].token != 0 && takes_what_is_free) continue;
        clear_key(&node->keys[slot]);
        reply->slot = (uint8_t)(slot + 1);
        return set_key(&node->keys[slot], w, command, is_prompt);
    }
    return 0;
}

/* Any other slot that the node has granted is given up. */
static uint8_t restore_permit(struct world *w, const struct bounds *bounds, struct model *node,
                              const struct command *command, bool is_prompt)
{
    struct key *key = &node->keys[command->slot - 1];
    bool gives_up = says(WIRE_PERMIT_RESTORE_SCRIPT, "o~=h+0 and redis.pcall('get',b..o)==t");

    for (unsigned i = 0; i < bounds->permits && gives_up; i++)
        if (&node->keys[i] != key && node->keys[i].token == command->token)
            clear_key(&node->keys[i]);
    if (key->token == command->token) {
        lengthen(key, time_after(w, command), false, is_prompt);
        return 1;
    }
    if (key->token != 0 && says(WIRE_PERMIT_RESTORE_SCRIPT, "if v and v~=t then return'taken'end"))
        return 0;
    clear_key(key);
    return set_key(key, w, command, is_prompt);
}

static uint8_t extend_permit(struct world *w, struct model *node, const struct command *command,
                             bool is_prompt)
{
    struct key *key = &node->keys[command->slot - 1];

    if (key->token != command->token) return 0;
    lengthen(key, time_after(w, command), !says(WIRE_PERMIT_EXTEND_SCRIPT, "l<m+0"), is_prompt);
    return 1;
}

/* S4: our token may be on any of the slots. */
static uint8_t release_permit(struct world *w, const struct bounds *bounds, struct model *node,
                              const struct command *command)
{
    uint8_t count = 0;

    for (unsigned i = 0; i < bounds->permits; i++) {
        struct key *key = &node->keys[i];
        if (key->token == 0) continue;
        if (key->token != command->token && says(WIRE_PERMIT_RELEASE_SCRIPT, "if v==t then"))
            continue;
        if (token_client(key->token) != token_client(command->token))
            w->breach = "a node's key was deleted by another client";
        clear_key(key);
        count = 1;
    }
    return count;
}

static void execute_permit(struct world *w, const struct bounds *bounds, struct model *node,
                           const struct command *command, bool is_prompt, struct reply *reply)
{
    switch (command->kind) {
    case REDLOCK_COMMAND_ACQUIRE:
        reply->done = acquire_permit(w, bounds, node, command, is_prompt, reply);
        break;
    case REDLOCK_COMMAND_RESTORE:
        reply->done = restore_permit(w, bounds, node, command, is_prompt);
        break;
    case REDLOCK_COMMAND_EXTEND:  reply->done = extend_permit(w, node, command, is_prompt); break;
    case REDLOCK_COMMAND_RELEASE: reply->done = release_permit(w, bounds, node, command); break;
    default:           break;
    }
}

/* ---- Fair locks ---- */

static bool is_before(const struct place *a, const struct place *b)
{
    return a->turn != b->turn ? a->turn < b->turn : a->token < b->token;
}

static struct place *place_of(struct model *node, unsigned token)
{
    for (unsigned i = 0; i < QUEUE_MAX && token != 0; i++)
        if (node->queue[i].token == token) return &node->queue[i];
    return NULL;
}

bool model_queues(const struct model *node, unsigned token)
{
    for (unsigned i = 0; i < QUEUE_MAX && token != 0; i++)
        if (node->queue[i].token == token) return true;
    return false;
}

static void remove_place(struct model *node, struct place *place)
{
    struct place *last = &node->queue[QUEUE_MAX - 1];

    memmove(place, place + 1, (size_t)(last - place) * sizeof *place);
    *last = (struct place){ 0 };
}

/* A place is taken, or renewed. */
static void take_place(struct world *w, const struct bounds *bounds, struct model *node,
                       const struct command *command)
{
    struct place place = { command->token, command->turn, (uint16_t)(w->now + bounds->lease) };
    struct place *old = place_of(node, command->token);
    unsigned i = 0;

    if (old) remove_place(node, old);
    if (node->queue[QUEUE_MAX - 1].token != 0) {
        w->is_full = true;
        return;
    }
    while (node->queue[i].token != 0 && is_before(&node->queue[i], &place)) i++;
    memmove(node->queue + i + 1, node->queue + i, (QUEUE_MAX - 1 - i) * sizeof node->queue[0]);
    node->queue[i] = place;
}

static bool may_have(const struct model *node, const struct command *command)
{
    if (command->turn > 0) return node->queue[0].token == command->token;
    return node->queue[0].token == 0 ||
           !says(WIRE_FAIR_ACQUIRE_SCRIPT, "if h==(u~='0'and b or nil)then");
}

static void tell_place(struct model *node, const struct command *command, struct reply *reply)
{
    reply->rank = -1;
    for (unsigned i = 0; i < QUEUE_MAX && node->queue[i].token != 0; i++) {
        reply->turn = node->queue[i].turn;
        if (node->queue[i].token == command->token) reply->rank = (int8_t)i;
    }
}

/* It can be granted nothing. */
static void leave_ahead(struct model *node, const struct command *command)
{
    struct place *place = place_of(node, command->token);

    if (place) remove_place(node, place);
    if (node->keys[0].token == command->token) clear_key(&node->keys[0]);
}

/* The key is ours, or free, and we are the first. */
static uint8_t grant_poll(struct world *w, struct model *node, const struct command *command,
                          bool is_prompt)
{
    struct key *key = &node->keys[0];

    node->grant = command->poll;
    if (command->ticket != 0) node->counter = command->ticket;
    if (key->token != command->token) return set_key(key, w, command, is_prompt);
    lengthen(key, time_after(w, command), !says(WIRE_FAIR_ACQUIRE_SCRIPT, "B<m+0"), is_prompt);
    return 1;
}

/* S24: an old poll changes nothing. */
static uint8_t poll(struct world *w, const struct bounds *bounds, struct model *node,
                    const struct command *command, bool is_prompt, struct reply *reply)
{
    struct key *key = &node->keys[0];
    bool is_ours = key->token == command->token;
    bool renews =
        says(WIRE_FAIR_ACQUIRE_SCRIPT, "if n=='1'then") ? command->renews : command->turn > 0;
    bool heeds_rounds =
        says(WIRE_FAIR_ACQUIRE_SCRIPT, "r+0>=tonumber(c('get',g)or 9007199254740991)");
    bool may =
        command->ticket == 0 || ticket_poll(w, bounds, (unsigned)(node - w->nodes), command, reply);

    tell_place(node, command, reply);
    if (is_ours && heeds_rounds && command->poll < node->grant) {
        reply->rank = -2;
        reply->is_ahead = false;
        return 0;
    }
    if (reply->is_ahead) {
        leave_ahead(node, command);
        return 0;
    }
    if (renews) take_place(w, bounds, node, command);
    tell_place(node, command, reply);
    if (may_have(node, command)) {
        if (!may || (key->token != 0 && !is_ours)) return 0;
        return grant_poll(w, node, command, is_prompt);
    }
    if (is_ours && says(WIRE_FAIR_ACQUIRE_SCRIPT, "elseif A then c('del',k,g)")) clear_key(key);
    return 0;
}

static uint8_t extend_fair(struct world *w, struct model *node, const struct command *command,
                           const char *script, bool is_prompt)
{
    struct key *key = &node->keys[0];

    if (key->token != command->token) return 0;
    if (says(script, "'9007199254740991','px'")) node->grant = POLL_CLOSED;
    lengthen(key, time_after(w, command), !says(script, "<m+0"), is_prompt);
    return 1;
}

static bool is_behind_another(const struct model *node, const struct command *command)
{
    unsigned key = node->keys[0].token, first = node->queue[0].token;

    return (key != 0 && key != command->token) || (first != 0 && first != command->token);
}

static uint8_t restore_fair(struct world *w, struct model *node, const struct command *command,
                            bool is_prompt)
{
    struct key *key = &node->keys[0];

    if (command->ticket > node->counter) node->counter = command->ticket;
    if (key->token != 0 && key->token != command->token) return 0;
    if (key->token == 0) {
        (void)set_key(key, w, command, is_prompt);
        node->grant = 0;
    }
    return extend_fair(w, node, command, WIRE_FAIR_RESTORE_SCRIPT, is_prompt);
}

static uint8_t leave_queue(struct world *w, struct model *node, const struct command *command)
{
    struct key *key = &node->keys[0];
    struct place *place = place_of(node, command->token);

    if (place && says(WIRE_FAIR_RELEASE_SCRIPT, "p('zrem',q,u..e)")) remove_place(node, place);
    if (key->token == 0) return 0;
    if (key->token != command->token && says(WIRE_FAIR_RELEASE_SCRIPT, "if v==o then")) return 0;
    if (token_client(key->token) != token_client(command->token))
        w->breach = "a node's key was deleted by another client";
    clear_key(key);
    return 1;
}

static void execute_fair(struct world *w, const struct bounds *bounds, struct model *node,
                         const struct command *command, bool is_prompt, struct reply *reply)
{
    switch (command->kind) {
    case REDLOCK_COMMAND_ACQUIRE:
        reply->done = poll(w, bounds, node, command, is_prompt, reply);
        reply->is_taken = bounds->tickets && is_behind_another(node, command);
        break;
    case REDLOCK_COMMAND_RESTORE:
        reply->done = ticket_restore(w, bounds, (unsigned)(node - w->nodes), command, reply);
        if (reply->done) reply->done = restore_fair(w, node, command, is_prompt);
        break;
    case REDLOCK_COMMAND_EXTEND:
        reply->done = extend_fair(w, node, command, WIRE_FAIR_EXTEND_SCRIPT, is_prompt);
        break;
    case REDLOCK_COMMAND_RELEASE: reply->done = leave_queue(w, node, command); break;
    default:           break;
    }
    if (node->keys[0].token == 0) node->grant = 0;
}

/* ---- All of them ---- */

struct reply model_execute(struct world *w, const struct bounds *bounds, unsigned k,
                           const struct command *command, bool is_live)
{
    bool is_prompt = is_live && command->sent_at == w->now;
    struct reply reply = { .kind = command->kind, .role = command->role, .done = 1 };

    switch ((enum role)command->role) {
    case ROLE_PLAIN:  execute_plain(w, bounds, k, command, is_prompt, &reply); break;
    case ROLE_READER:
    case ROLE_WRITER: execute_shared(w, &w->nodes[k], command, is_prompt, &reply); break;
    case ROLE_PERMIT: execute_permit(w, bounds, &w->nodes[k], command, is_prompt, &reply); break;
    case ROLE_FAIR:   execute_fair(w, bounds, &w->nodes[k], command, is_prompt, &reply); break;
    }
    return reply;
}

static void expire_readers(struct world *w, struct model *node)
{
    for (unsigned i = 0; i < READERS_MAX && node->readers[i].token != 0;) {
        if (w->now >= node->readers[i].expires_at) remove_reader(node, &node->readers[i]);
        else i++;
    }
}

void model_expire(struct world *w, unsigned nodes)
{
    for (unsigned k = 0; k < nodes; k++) {
        struct model *node = &w->nodes[k];
        for (unsigned i = 0; i < PERMITS_MAX; i++)
            if (node->keys[i].token != 0 && w->now >= node->keys[i].expires_at)
                clear_key(&node->keys[i]);
        if (node->keys[0].token == 0) node->grant = 0;
        for (unsigned i = 0; i < QUEUE_MAX && node->queue[i].token != 0;) {
            if (w->now >= node->queue[i].until) remove_place(node, &node->queue[i]);
            else i++;
        }
        if (node->keys[0].token == TOKEN_SHARED) expire_readers(w, node);
        else                                     clear_readers(node);
    }
}

void model_release(struct model *node, unsigned token)
{
    for (unsigned i = 0; i < PERMITS_MAX; i++)
        if (node->keys[i].token == token) clear_key(&node->keys[i]);
    if (place_of(node, token)) remove_place(node, place_of(node, token));
    if (node->keys[0].token == 0) node->grant = 0;
    (void)leave(node, token);
}

void model_clear(struct model *node)
{
    memset(node->keys, 0, sizeof node->keys);
    clear_readers(node);
    memset(node->queue, 0, sizeof node->queue);
    node->grant = 0;
    node->counter = 0;
}

bool model_has(const struct model *node, unsigned token)
{
    for (unsigned i = 0; i < PERMITS_MAX; i++)
        if (node->keys[i].token == token) return true;
    for (unsigned i = 0; i < READERS_MAX; i++)
        if (node->readers[i].token == token) return true;
    return false;
}
