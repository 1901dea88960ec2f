/* The calls of redlock.h that are about nodes and time. They hand answers to the locks that asked,
 * report lost connections to them, and wake them when their time has come. There is no I/O, no
 * clock and no dice, since all of these are arguments. */
#include "events.h"
#include "holder.h"
#include "kinds/plain.h"
#include "lock.h"
#include "names.h"
#include "native.h"
#include "promotion.h"
#include "quorum.h"
#include "random.h"
#include "restore.h"
#include "send.h"
#include "ticket.h"
#include "waiter.h"

REDLOCK_STATIC_ASSERT(WIRE_LONGEST_MAX <= REDLOCK_SEND_MIN(0),
                      "REDLOCK_SEND_MIN must hold the longest command");
REDLOCK_STATIC_ASSERT((uint64_t)REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true) *
                              (UINT16_MAX * (uint64_t)sizeof(struct redlock_asked) + 8 +
                               2 * (uint64_t)REDLOCK_BUFFER_MAX) <=
                          UINT32_MAX,
                      "REDLOCK_MEMORY must not overflow on 32 bits");
REDLOCK_STATIC_ASSERT(REDLOCK_TOKEN_TEXT == 2 * REDLOCK_TOKEN_SIZE &&
                          REDLOCK_RUN_ID_SIZE == REDLOCK_TOKEN_SIZE,
                      "a run_id is read like a token");

/* ---- The session of one node ---- */

static bool is_subscription(const struct redlock *r, unsigned k)
{
    return k >= r->node_count;
}

/* A subscription is needed only while some lock waits. */
static bool is_needed(const struct redlock *r, unsigned k)
{
    return !is_subscription(r, k) || r->now_us < r->listen_until;
}

/* Cleans up after a session that has ended. */
static void abandon_session(struct redlock *r, unsigned k)
{
    struct redlock_asked asked;
    struct redlock_lock *lock, *next;

    event_note(r, NULL, REDLOCK_EVENT_DISCONNECTED, k);
    while (node_take_asked(&r->nodes[k], &r->config, &asked)) {
        if (r->events) r->events->feature->heard(r, k, &asked, NULL);
        lock_never_answered(r, k, &asked);
    }
    for (lock = r->nodes[k].queue.first; lock; lock = next) {
        next = lock->links[k].next;
        lock_turn_away(r, k, lock);
    }
    if (r->questions) r->questions->feature->disconnected(r, k);
}

/* True if it is the last server that the node led to. */
static bool is_known(const struct redlock_node *node, const struct redlock_identity *identity)
{
    return node->has_run_id && identity->has_run_id &&
           are_same_bytes(node->run_id, identity->run_id, sizeof node->run_id);
}

/* S12: the same server twice would have two votes. */
static bool is_twin(struct redlock *r, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];

    for (unsigned j = 0; j < r->node_count; j++) {
        const struct redlock_node *other = &r->nodes[j];
        if (other->state != NODE_READY) continue;       /* Node k is not yet. */
        if (!is_known(other, &node->identity)) continue;
        node_give_up_for(node, REDLOCK_TROUBLE_SAME_SERVER, j);
        return true;
    }
    return false;
}

/* S12: true if the server that node k leads to now may have voted in this round already, by another
 * node. It may be a new one here, or one that another node has led to since it was seen here. A
 * node that has led to it before learns that it does now. */
static bool has_moved(struct redlock *r, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];
    bool moved = node->is_bereft || (node->has_run_id && !is_known(node, &node->identity));

    for (unsigned j = 0; j < r->node_count; j++) {
        if (j == k || !is_known(&r->nodes[j], &node->identity)) continue;
        r->nodes[j].is_bereft = true;
        moved = true;
    }
    node->is_bereft = false;
    return moved;
}

/* A lock that waited for this node to vote learns whether it does (S11). */
static void turn_voteless_away(struct redlock *r, unsigned k, bool moved)
{
    struct redlock_lock *lock, *next;

    for (lock = r->nodes[k].queue.first; lock; lock = next) {
        uint8_t want = lock->stakes[k].want;
        bool for_ticket = want != REDLOCK_COMMAND_EXTEND && has_ticket(lock);
        next = lock->links[k].next;
        if (want != REDLOCK_COMMAND_ACQUIRE && want != REDLOCK_COMMAND_EXTEND &&
            want != REDLOCK_COMMAND_RESTORE)
            continue;
        if (moved || !stake_may_ask(r, lock, k, for_ticket)) lock_turn_away(r, k, lock);
    }
}

/* The handshake is over.
 *
 * S12: a server that has moved counts from the next round on. (At the very first contact nobody can
 * tell where it was. A server that has executed a SET refuses it. But one server could confirm an
 * adopted lock twice if it is extended before the first contact, and no guard prevents that.) */
static void end_handshake(struct redlock *r, unsigned k)
{
    bool moved;

    if (is_twin(r, k)) return;
    moved = has_moved(r, k);
    node_end_handshake(&r->nodes[k], r->now_us);
    if (r->nodes[k].state != NODE_READY) return;
    event_note(r, NULL, REDLOCK_EVENT_READY, k);
    turn_voteless_away(r, k, moved);
    if (r->waking) r->waking->stands(r, k);
}

static void answer_handshake(struct redlock *r, unsigned k, const struct redlock_asked *asked,
                             const struct wire_reply *reply)
{
    struct redlock_node *node = &r->nodes[k];

    if (!node_read_handshake(node, &r->config, r->scripts, r->now_us, asked, reply)) return;
    if (node_handshake_is_over(node)) end_handshake(r, k);
}

/* The text of the script answers NOSCRIPT. It must not hide a trouble that only a
 * person can end. */
static void note_answer(struct redlock_node *node, const struct answer *a)
{
    bool is_news = a->trouble != REDLOCK_TROUBLE_NOSCRIPT || node->trouble == REDLOCK_TROUBLE_NONE;

    if (a->meaning != REDLOCK_ANSWER_ERROR && node->noted == a->command)
        node->trouble = REDLOCK_TROUBLE_NONE;
    if (a->meaning == REDLOCK_ANSWER_ERROR && is_news)
        node_note(node, a->command, a->trouble, a->reply->text);
}

/* An answer to a command of a lock, which may be forgotten. */
static void answer_command(struct redlock *r, unsigned k, const struct redlock_asked *asked,
                           const struct wire_reply *reply)
{
    struct redlock_node *node = &r->nodes[k];
    struct answer a = {
        .lock = asked->lock,
        .k = k,
        .command = (enum redlock_command)asked->command,
        .meaning = wire_read(asked, reply),
        .current = asked->lock && asked->round == asked->lock->round.number,
        .form = (enum redlock_form)asked->form,
        .gives_back = r->waking && wire_gives_back(asked),    /* Redisson's wakes without. */
        .reply = reply,
    };

    if (a.meaning == REDLOCK_ANSWER_WRONG) {      /* S16 */
        node_give_up_for(node, REDLOCK_TROUBLE_PROTOCOL, REASON_WRONG_TYPE);
        lock_never_answered(r, k, asked);
        return;
    }
    if (a.meaning == REDLOCK_ANSWER_ERROR)
        a.trouble =
            r->hashing ? r->hashing->class_of(reply) : wire_class(reply->text, reply->text_size);
    note_answer(node, &a);
    if (a.lock) lock_answer(r, &a);
    if (wire_ends_session(a.trouble)) node_give_up(node, a.trouble, reply->text);
    else                              node->failures = 0;
}

/* ---- Setting up ---- */

const char *redlock_version(void)
{
    return REDLOCK_VERSION;
}

void redlock_config_init(struct redlock_config *config)
{
    *config = (struct redlock_config){
        .guard_ms = REDLOCK_GUARD_MS,
        .drift_ppm = REDLOCK_DRIFT_PPM,
        .node_timeout_ms = REDLOCK_NODE_TIMEOUT_MS,
        .retry_ms = REDLOCK_RETRY_MS,
        .resource_max = REDLOCK_RESOURCE_MAX,
        .pipeline = REDLOCK_PIPELINE,
        .send_size = REDLOCK_SEND_SIZE,
        .receive_size = REDLOCK_RECEIVE_SIZE,
        .ticket_skew_ms = REDLOCK_SKEW_MS,
        .ticket_life_ms = REDLOCK_TICKET_LIFE_MS,
        .keep_percent = REDLOCK_KEEP_PERCENT,
    };
}

static bool is_in_range(const struct redlock_config *config)
{
    return config->drift_ppm <= REDLOCK_DRIFT_PPM_MAX && config->node_timeout_ms > 0 &&
           config->retry_ms > 0 && config->retry_ms <= REDLOCK_RETRY_MS_MAX &&
           config->resource_max > 0 && config->resource_max <= REDLOCK_RESOURCE_MAX &&
           config->pipeline >= REDLOCK_PIPELINE_MIN &&
           config->send_size >= REDLOCK_SEND_MIN(config->resource_max) &&
           config->send_size <= REDLOCK_BUFFER_MAX && config->receive_size >= REDLOCK_RECEIVE_MIN &&
           config->receive_size <= REDLOCK_BUFFER_MAX && config->keep_percent > 0 &&
           config->keep_percent <= REDLOCK_KEEP_PERCENT_MAX && config->ticket_skew_ms > 0 &&
           config->ticket_skew_ms <= REDLOCK_SKEW_MS_MAX && config->ticket_life_ms > 0;
}

/* The alignment of a uint64_t within a structure, which on 32 bits of x86 is less than its size. */
struct alignment {
    char before;
    uint64_t member;
};

/* Cuts a piece off the caller's memory. Sizes are rounded up, so that the next piece is
 * aligned as well. */
REDLOCK_OUTLINE static void *cut_piece(uint8_t **memory, size_t size)
{
    void *piece = *memory;

    *memory += (size + 7) & ~(size_t)7;
    return piece;
}

enum redlock_status redlock_init(struct redlock *r, const struct redlock_config *config,
                                 struct redlock_node *nodes, unsigned node_count, void *memory,
                                 size_t memory_size, uint64_t now_us)
{
    struct redlock_config defaults;
    uint8_t *rest = (uint8_t *)memory;
    unsigned sessions;

    redlock_config_init(&defaults);
    if (!config) config = &defaults;
    sessions = REDLOCK_SESSIONS(node_count, config->wake_ups);
    if (node_count < 1 || node_count > REDLOCK_NODES_MAX) return REDLOCK_BAD_NODE_COUNT;
    if (!is_in_range(config)) return REDLOCK_BAD_CONFIG;
    if (!memory || (uintptr_t)memory % offsetof(struct alignment, member) != 0 ||
        memory_size <
            REDLOCK_MEMORY(sessions, config->pipeline, config->send_size, config->receive_size))
        return REDLOCK_BAD_MEMORY;
    clear_bytes(r, sizeof *r);
    r->config = *config;
    r->nodes = nodes;
    r->node_count = (uint8_t)node_count;
    r->session_count = (uint8_t)sessions;
    r->scripts = plain_scripts_for_one();
    r->dice = 1;
    r->now_us = now_us;
    for (unsigned k = 0; k < sessions; k++) {
        clear_bytes(&nodes[k], sizeof nodes[k]);
        nodes[k].asked =
            (struct redlock_asked *)cut_piece(&rest, config->pipeline * sizeof *nodes[k].asked);
        nodes[k].send = (uint8_t *)cut_piece(&rest, config->send_size);
        nodes[k].receive = (uint8_t *)cut_piece(&rest, config->receive_size);
        node_init(&nodes[k], is_subscription(r, k));
    }
    REDLOCK_LOOK_AT_ENGINE(r);
    return REDLOCK_OK;
}

/* It is a variable, so that what it uses is linked where it is named. */
struct redlock_feature {
    void (*use)(struct redlock *r);
};

void redlock_use(struct redlock *r, const struct redlock_feature *feature)
{
    feature->use(r);
}

const struct redlock_feature redlock_loaded_scripts = { stake_load_scripts };

void redlock_use_promotions(struct redlock *r, struct redlock_promotions *p)
{
    struct redlock_scripts *scripts = (struct redlock_scripts *)(void *)p->scripts;

    clear_bytes(p, sizeof *p);
    stake_load_scripts(r);
    *scripts = *r->scripts;
    scripts->loading = promotion_loading();
    p->before = r->scripts;
    p->r = r;
    p->self = p;
    r->scripts = scripts;
}

void redlock_set_epoch(struct redlock_promotions *p, unsigned k, uint64_t epoch)
{
    REDLOCK_ASSERT(k < p->r->node_count);
    p->reigns[k].epoch = epoch & INT64_MAX;
}

static void use_tickets(struct redlock *r)
{
    r->ticketing = ticket_feature();
    r->scripted = plain_scripted();
    stake_use_scripts(r);
    r->holding = holder_feature();
}

const struct redlock_feature redlock_tickets = { use_tickets };

static void use_sets(struct redlock *r)
{
    r->sets = names_feature();
    r->scripted = plain_scripted();
    stake_use_scripts(r);
    r->holding = holder_feature();
    r->scripts = plain_scripts_for_all();
}

const struct redlock_feature redlock_sets = { use_sets };

enum redlock_status redlock_use_holder(struct redlock *r, const char *holder)
{
    size_t size = length_of(holder, REDLOCK_HOLDER_MAX + 1);

    if (size == 0 || size > REDLOCK_HOLDER_MAX) return REDLOCK_BAD_CONFIG;
    if (r->config.send_size < REDLOCK_SEND_MIN(r->config.resource_max) + WIRE_HOLDER_ROOM)
        return REDLOCK_BAD_CONFIG;
    for (size_t i = 0; i < size; i++)
        if ((uint8_t)holder[i] < ' ' || holder[i] == 127) return REDLOCK_BAD_CONFIG;
    r->holder = holder;
    return REDLOCK_OK;
}

static void use_wake_ups(struct redlock *r)
{
    r->waking = waiter_feature();
    stake_use_scripts(r);
    r->holding = holder_feature();
    r->scripts = plain_scripts_for_all();
}

const struct redlock_feature redlock_wake_ups = { use_wake_ups };

static void use_restore(struct redlock *r)
{
    r->restoring = restore_feature();
}

const struct redlock_feature redlock_restore = { use_restore };

static void use_free_in(struct redlock *r)
{
    r->holding = holder_feature();
}

const struct redlock_feature redlock_free_in = { use_free_in };

const struct redlock_feature redlock_copies = { send_use_copies };

static void use_all_features(struct redlock *r)
{
    use_tickets(r);
    use_sets(r);
    use_restore(r);
    use_wake_ups(r);
    send_use_copies(r);
}

const struct redlock_feature redlock_all_features = { use_all_features };

enum redlock_status redlock_set_login(struct redlock *r, unsigned k,
                                      const struct redlock_login *login)
{
    enum {
        TEXT_MAX = REDLOCK_LOGIN_MAX + 1,
        /* Without user and password. Each blank is CR LF. */
        AUTH_SIZE = sizeof "*3 $4 AUTH $512 $512" + 12
    };
    size_t size = length_of(login->user, TEXT_MAX) + length_of(login->password, TEXT_MAX);

    if (k >= r->node_count || size > REDLOCK_LOGIN_MAX || size + AUTH_SIZE > r->config.send_size)
        return REDLOCK_BAD_CONFIG;
    if (login->user && !login->password) return REDLOCK_BAD_CONFIG;
    r->nodes[k].login = *login;
    r->config.managed |= login->managed;
    if (r->config.wake_ups) r->nodes[r->node_count + k].login = *login;
    return REDLOCK_OK;
}

/* ---- Random bytes and time ---- */

size_t redlock_entropy_wanted(const struct redlock *r)
{
    return r->entropy_size >= 2 * REDLOCK_TOKEN_SIZE
               ? 0
               : (size_t)REDLOCK_ENTROPY_MAX - r->entropy_size;
}

void redlock_add_entropy(struct redlock *r, const void *bytes, size_t size)
{
    store_random(r, (const uint8_t *)bytes, size);
    REDLOCK_LOOK_AT_ENGINE(r);
}

uint64_t redlock_wake_at(const struct redlock *r)
{
    uint64_t at = r->heap ? r->heap->wake_at : REDLOCK_NEVER;

    if (r->needs_entropy.first && r->entropy_size >= REDLOCK_TOKEN_SIZE) return r->now_us;
    for (unsigned k = 0; k < r->session_count; k++)
        at = sooner(at, node_wake_at(&r->nodes[k], is_needed(r, k)));
    for (unsigned k = r->node_count; k < r->session_count; k++)
        if (r->nodes[k].state != NODE_DISCONNECTED && r->nodes[k].state != NODE_CLOSING)
            at = sooner(at, r->listen_until);
    return at;
}

static void tick_sessions(struct redlock *r, unsigned first)
{
    for (unsigned k = first; k < r->session_count; k++)
        if (node_tick(&r->nodes[k], &r->config, is_needed(r, k), r->now_us)) abandon_session(r, k);
}

void redlock_tick(struct redlock *r, uint64_t now_us)
{
    r->now_us = now_us;
    tick_sessions(r, 0);
    /* Before it is too late for them. */
    while (r->needs_entropy.first && r->entropy_size >= REDLOCK_TOKEN_SIZE)
        lock_begin_with_entropy(r, r->needs_entropy.first);
    while (r->heap && r->heap->wake_at <= now_us) {
        /* Or it was made ready anew, or overwritten, while it was in use. */
        REDLOCK_CHECK(r->heap->in_heap);
        lock_tick(r, r->heap);
    }
    tick_sessions(r, r->node_count);    /* Subscriptions that a lock has just begun to need. */
    REDLOCK_LOOK_AT_ENGINE(r);
}

/* ---- The transport ---- */

/* True if there is a command for the node. */
static bool has_to_ask(const struct redlock *r, unsigned k)
{
    const struct redlock_node *node = &r->nodes[k];

    if (node->state == NODE_HANDSHAKE) return node->step != REDLOCK_COMMAND_READY;
    return node->queue.first ||
           (r->questions && r->questions->feature->waits(r->questions, k));
}

unsigned redlock_wants(const struct redlock *r, unsigned k)
{
    const struct redlock_node *node = &r->nodes[k];
    bool has_bytes = node->send_end > node->send_start;
    bool can_ask = node_can_ask(node, &r->config);

    switch ((enum node_state)node->state) {
    case NODE_DISCONNECTED: return 0;
    case NODE_CONNECTING:   return REDLOCK_WANT_CONNECT;
    case NODE_CLOSING:      return REDLOCK_WANT_CLOSE;
    case NODE_HANDSHAKE:
    case NODE_READY:        break;
    }
    return has_bytes || (can_ask && has_to_ask(r, k)) ? REDLOCK_WANT_RECEIVE | REDLOCK_WANT_SEND
                                                      : REDLOCK_WANT_RECEIVE;
}

bool redlock_node_is_busy(const struct redlock *r, unsigned k)
{
    const struct redlock_node *node = &r->nodes[k];
    bool is_expected = node->queue.first && !node->settled;

    return is_expected || node->asked_count > 0 || (redlock_wants(r, k) & REDLOCK_WANT_SEND) != 0;
}

void redlock_connected(struct redlock *r, unsigned k, uint64_t now_us)
{
    r->now_us = now_us;
    node_connected(&r->nodes[k], &r->config, now_us);
    event_note(r, NULL, REDLOCK_EVENT_CONNECTED, k);
    REDLOCK_LOOK_AT_SESSION(r, k);
}

void redlock_disconnected(struct redlock *r, unsigned k, const char *why, uint64_t now_us)
{
    struct redlock_node *node = &r->nodes[k];
    unsigned failures_max = NODE_FAILURES_MAX;
    uint32_t half_us;

    r->now_us = now_us;
    if (node->state != NODE_CLOSING) {
        node_forgive(node, now_us);
        node_give_up(node, why ? REDLOCK_TROUBLE_UNREACHABLE : REDLOCK_TROUBLE_CLOSED, why);
        abandon_session(r, k);
    }
    if (r->waking) failures_max = r->waking->failures_max(r, k);
    half_us = node_half_delay_us(node, failures_max);
    node_disconnected(node, now_us, half_us + throw_dice(r, half_us + 1));
    REDLOCK_LOOK_AT_SESSION(r, k);
}

/* Mostly nothing is left. A loop, since memmove would be one more function that firmware
 * has to link. */
static void move_to_front(uint8_t *buffer, uint32_t *start, uint32_t *end)
{
    uint32_t size = *end - *start;

    for (uint32_t i = 0; *start > 0 && i < size; i++) buffer[i] = buffer[*start + i];
    *start = 0;
    *end = size;
}

/* Commands of locks come before those that belong to none. */
static void fill_send_buffer(struct redlock *r, unsigned k)
{
    if (r->fill_send_buffer) r->fill_send_buffer(r, k);
    else                     send_fill(r, k);
    if (r->questions) r->questions->feature->put(r, k);
}

const uint8_t *redlock_output(struct redlock *r, unsigned k, size_t *size)
{
    struct redlock_node *node = &r->nodes[k];
    unsigned before = node->asked_count;
    bool is_open = node->state == NODE_HANDSHAKE || node->state == NODE_READY;

    *size = 0;
    if (!is_open) return node->send;
    if (!node->apart) {
        move_to_front(node->send, &node->send_start, &node->send_end);
        if (node->state == NODE_HANDSHAKE)
            node_put_handshake(node, &r->config, r->scripts, r->name, r->now_us);
        else if (!is_subscription(r, k))           fill_send_buffer(r, k);
    }
    if (r->events) r->events->feature->sent(r, k, before);
    REDLOCK_LOOK_AT_SESSION(r, k);
    return node_output(node, size);
}

void redlock_sent(struct redlock *r, unsigned k, size_t size)
{
    node_sent(&r->nodes[k], size);
    REDLOCK_LOOK_AT_SESSION(r, k);
}

uint8_t *redlock_input(struct redlock *r, unsigned k, size_t *room)
{
    struct redlock_node *node = &r->nodes[k];

    move_to_front(node->receive, &node->receive_start, &node->receive_end);
    *room = r->config.receive_size - node->receive_end;
    return node->receive + node->receive_end;
}

void redlock_received(struct redlock *r, unsigned k, size_t size, uint64_t now_us)
{
    struct redlock_node *node = &r->nodes[k];
    struct redlock_asked asked;
    struct wire_reply reply;

    REDLOCK_CHECK(size <= r->config.receive_size - node->receive_end);
    r->now_us = now_us;
    node->receive_end += (uint32_t)size;
    while (node_next_reply(node, &r->config, r->scripts, now_us, &r->questions, &asked, &reply)) {
        if (r->events) r->events->feature->heard(r, k, &asked, &reply);
        if (asked.command == REDLOCK_COMMAND_NONE) r->waking->hear(r, k - r->node_count, &reply);
        else if (asked.command < REDLOCK_COMMAND_READY)
            answer_handshake(r, k, &asked, &reply);
        else if (asked.command != REDLOCK_COMMAND_QUESTION) answer_command(r, k, &asked, &reply);
    }
    if (node->state == NODE_CLOSING) abandon_session(r, k);
    REDLOCK_LOOK_AT_SESSION(r, k);
}

/* ---- Questions about the nodes ---- */

unsigned redlock_quorum(unsigned node_count)
{
    return quorum_of(node_count);
}

bool redlock_node_votes(const struct redlock *r, unsigned k, uint64_t now_us)
{
    return node_votes(&r->nodes[k], &r->config, false, now_us);
}

/* A run_id that is made of other lines does not tell a trusted server from another. */
static const uint8_t *run_id_of(const struct redlock *r, const struct redlock_node *node)
{
    bool is_own = !node->identity.is_derived || !r->config.trust_unknown;

    return node->has_run_id && is_own ? node->run_id : NULL;
}

struct redlock_node_view redlock_view_node(const struct redlock *r, unsigned k, uint64_t now_us)
{
    const struct redlock_node *node = &r->nodes[k];
    struct redlock_node_view view;

    view.is_settled = node->settled;
    view.run_id = run_id_of(r, node);
    view.lacks_scripts = native_is(&r->nodes[k]);
    view.gives_tickets = !view.lacks_scripts && node_votes(node, &r->config, true, now_us);
    view.trouble = node_trouble(node, &r->config, now_us);
    return view;
}

void redlock_describe_node(const struct redlock *r, unsigned k, uint64_t now_us, char *text,
                           size_t size)
{
    node_describe(&r->nodes[k], &r->config, now_us, text, size);
}

/* ---- Texts ---- */

/* One text and a row of numbers, much smaller than a switch. */
const char *redlock_status_text(enum redlock_status status)
{
#define STATUS_NUMBER(number, name, text) number,
#define STATUS_TEXT(number, name, text) text "\0"
    static const uint8_t numbers[] = { REDLOCK_STATUSES(STATUS_NUMBER) };
    static const char texts[] = REDLOCK_STATUSES(STATUS_TEXT);
#undef STATUS_NUMBER
#undef STATUS_TEXT
    const char *text = texts;

    for (size_t i = 0; i < sizeof numbers; i++) {
        if (numbers[i] == (unsigned)status) return text;
        text = next_text(text, sizeof texts);
    }
    return "unknown status";
}

const char *redlock_vote_text(enum redlock_vote vote)
{
    /* The order is that of enum redlock_vote. */
    static const char texts[][sizeof "not asked"] = { "pending", "granted", "refused", "unknown",
                                                      "not asked" };

    return (unsigned)vote < sizeof texts / sizeof texts[0] ? texts[vote] : "unknown vote";
}
