/* Locks of Redisson's kind (S26). The resource's key is a hash with one field, "uuid:number" of the
 * attempt's token, whose count is 1. A Java holder's field has its own UUID and the number of its
 * thread, and the count of its entries. Any key there refuses.
 *     EVALSHA acquire 1 resource field ttl            +OK granted  $"0 ms" refused: how long until
 *                                                                  it is free
 *     EVALSHA extend 1 resource field ttl             :1 granted   :0 refused, not ours
 *     EVALSHA release 1 resource field                :1 granted, :2 and somebody listened
 *                                                     :0 no key there   :-1 another's
 * The release publishes "0" on the channel "redisson_lock__channel:{resource}" (without these
 * braces if the resource has one itself), on which Java threads and we wait, and on the channel of
 * the first in a fair lock's queue. On several nodes it would be unsound, since for a lock over
 * several nodes Java looks at no clock, and it has no delayed restart. */
#include "redisson.h"

#include "../events.h"
#include "../holder.h"
#include "../names.h"
#include "../retry.h"

/* Pause between attempts that messages hasten, doubled by each one that was in vain. */
enum { DISTANCE_US = 125 };

/* ---- Commands ---- */

static const char channel_prefix[] = "redisson_lock__channel:";

enum { CHANNEL_MAX = sizeof channel_prefix - 1 + 2 + REDLOCK_RESOURCE_MAX };

static bool has_brace(const struct redlock_name *name)
{
    for (size_t i = 0; i < name->size; i++)
        if (((const char *)name->bytes)[i] == '{') return true;
    return false;
}

/* Writes Redisson's name for it, and returns its size. */
static size_t channel_of(const struct redlock_name *name, char text[CHANNEL_MAX])
{
    size_t size = sizeof channel_prefix - 1;
    bool is_bare = has_brace(name);

    copy_bytes(text, channel_prefix, size);
    if (!is_bare) text[size++] = '{';
    copy_bytes(text + size, name->bytes, name->size);
    size += name->size;
    if (!is_bare) text[size++] = '}';
    return size;
}

bool redisson_put_subscription(struct resp_writer *w, bool begins, const struct redlock_name *name)
{
    static const char words[] = "UNSUBSCRIBE";
    char channel[CHANNEL_MAX];

    resp_command(w, 2);
    resp_text(w, words + (begins ? 2 : 0));
    resp_bytes(w, channel, channel_of(name, channel));
    return resp_end(w);
}

/* The order is that of enum redisson_heard. */
static const char heard_words[][sizeof "unsubscribe"] = { "", "message", "subscribe",
                                                          "unsubscribe" };

enum redisson_heard redisson_read_heard(const struct wire_reply *reply)
{
    if (reply->type != RESP_ARRAY || reply->integer != 3) return REDISSON_HEARD_NOTHING;
    for (unsigned i = REDISSON_HEARD_MESSAGE; i <= REDISSON_HEARD_UNSUBSCRIBED; i++) {
        size_t size = wire_begins(reply->text, reply->text_size, heard_words[i]);
        if (size > 0 && wire_begins(reply->text + size, reply->text_size - size, channel_prefix))
            return (enum redisson_heard)i;
    }
    return REDISSON_HEARD_NOTHING;
}

bool redisson_is_heard_of(const struct wire_reply *reply, enum redisson_heard heard,
                          const struct redlock_name *name)
{
    char channel[CHANNEL_MAX];
    size_t before = wire_begins(reply->text, reply->text_size, heard_words[heard]),
           size = channel_of(name, channel);
    size_t told = reply->text_size - before;

    if (told < size && !reply->text_cut) return false;
    return are_same_bytes(reply->text + before, channel, told < size ? told : size);
}

/* S6: it has the attempt's token, whose first 16 bytes are the UUID and the last 4 the number. */
size_t redisson_field(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDISSON_FIELD])
{
    enum { UUID_BYTES = 16 };
    char digits[RESP_DIGITS_MAX];
    uint32_t number = 0;
    size_t size = 0, at;

    for (unsigned i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text[size++] = '-';
        wire_write_hex(token + i, 1, text + size);
        size += 2;
    }
    text[size++] = ':';
    for (unsigned i = UUID_BYTES; i < REDLOCK_TOKEN_SIZE; i++) number = number << 8 | token[i];
    at = resp_decimal(digits, number);
    copy_bytes(text + size, digits + at, sizeof digits - at);
    return size + sizeof digits - at;
}

static void put_redisson_field(struct resp_writer *w, const uint8_t token[REDLOCK_TOKEN_SIZE])
{
    char text[REDISSON_FIELD];

    resp_bytes(w, text, redisson_field(token, text));
}

static void put_redisson(struct resp_writer *w, const struct wire_subject *s)
{
    /* S7: PEXPIRE with 0 would delete the key. */
    REDLOCK_CHECK(s->ttl_ms > 0 && s->name_count == 1);
    put_redisson_field(w, s->token);
    resp_size(w, s->ttl_ms);
}

static void put_redisson_release(struct resp_writer *w, const struct wire_subject *s)
{
    put_redisson_field(w, s->placed);
}

static const char redisson_acquire_text[] = WIRE_REDISSON_ACQUIRE_SCRIPT,
                  redisson_acquire_sha1[] = WIRE_REDISSON_ACQUIRE_SHA1;
static const char redisson_extend_text[] = WIRE_REDISSON_EXTEND_SCRIPT,
                  redisson_extend_sha1[] = WIRE_REDISSON_EXTEND_SHA1;
static const char redisson_release_text[] = WIRE_REDISSON_RELEASE_SCRIPT,
                  redisson_release_sha1[] = WIRE_REDISSON_RELEASE_SHA1;

static const struct wire_row redisson_acquire = {
    .text = redisson_acquire_text, .sha1 = redisson_acquire_sha1, .put = put_redisson,
    .argument_count = 2, .read_refusal = wire_read_refusal
};
static const struct wire_row redisson_extend = {
    .text = redisson_extend_text, .sha1 = redisson_extend_sha1, .put = put_redisson,
    .argument_count = 2, .lowest = 0, .highest = 1
};
static const struct wire_row redisson_release = {
    .text = redisson_release_text, .sha1 = redisson_release_sha1, .put = put_redisson_release,
    .argument_count = 1, .lowest = -1, .highest = 2
};
static const struct wire_row redisson_wait = { .put = wire_put_pttl };

/* ---- Waiting ---- */

/* A lock that waits subscribes to Redisson's channel of its name each time that it begins to wait,
 * and unsubscribes when its pause is over, unless another of that name waits. The answer to
 * SUBSCRIBE is heard like a message, and after each a lock asks how long the key has left. A key
 * that was released before is gone, and a later release will be heard. */
enum listening { LISTENS_NOT, LISTENS_LATER, LISTENS, HAS_ASKED };

/* Makes room by dropping the bytes that have been sent, since redlock_output(), which would do it,
 * is called for a subscription only in its handshake. False: there is no room now,
 * or no connection. */
static bool put_listening(struct redlock *r, const struct redlock_lock *lock, unsigned k,
                          bool begins)
{
    struct redlock_node *session = &r->nodes[r->node_count + k];
    struct resp_writer w;
    bool fits;

    REDLOCK_ASSERT(session->is_subscription);
    if (session->state != NODE_READY) return false;
    REDLOCK_ASSERT(!session->apart);
    if (session->send_start == session->send_end) session->send_start = session->send_end = 0;
    node_begin_writing(session, &r->config, &w);
    fits = redisson_put_subscription(&w, begins, &lock->name);
    node_written(session, &w);
    REDLOCK_ASSERT(session->send_end <= r->config.send_size);
    return fits;
}

/* Locks that found no room, in order. The buffer then has bytes whose answer shows that there is
 * room again. */
static void listen_now(struct redlock *r, unsigned k)
{
    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        if (lock->listening != LISTENS_LATER) continue;
        if (!put_listening(r, lock, k, true)) return;
        lock->listening = LISTENS;
    }
}

static void redisson_listen(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    lock->listening = LISTENS_LATER;
    listen_now(r, k);
}

/* True if another lock of that name listens as well. */
static bool is_waited_for(const struct redlock *r, const struct redlock_lock *lock)
{
    for (const struct redlock_lock *other = r->waiting.first; other;
         other = other->links[SLOT_DONE].next) {
        if (other == lock || other->kind != &redlock_redisson || other->wait_number == 0) continue;
        if (names_are_of(r, other, &lock->name, 1)) return true;
    }
    return false;
}

/* An UNSUBSCRIBE that finds no room is left out, and the channel's messages are then for nobody. */
static void redisson_leave(struct redlock *r, struct redlock_lock *lock)
{
    lock->listening = LISTENS_NOT;
    if (lock->wait_number == 0 || is_waited_for(r, lock)) return;
    for (unsigned k = 0; k < r->node_count; k++) (void)put_listening(r, lock, k, false);
}

static bool is_told(const struct redlock_lock *lock, const struct wire_reply *reply,
                    enum redisson_heard heard)
{
    return lock->kind == &redlock_redisson && lock->wait_number != 0 &&
           redisson_is_heard_of(reply, heard, &lock->name);
}

/* The first lock that has not asked yet asks after each answer to SUBSCRIBE. If there is none,
 * another asks once more, in case the answer before was to an older SUBSCRIBE, which
 * was taken back. */
static void ask_how_long(struct redlock *r, unsigned k, const struct wire_reply *reply)
{
    struct redlock_lock *asks = NULL;

    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        if (!is_told(lock, reply, REDISSON_HEARD_SUBSCRIBED) || lock->listening < LISTENS) continue;
        /* Otherwise it would not have begun to listen. */
        REDLOCK_ASSERT(lock->stakes[k].state == STAKE_NONE);
        if (lock->stakes[k].want != REDLOCK_COMMAND_NONE) continue;
        if (!asks || lock->listening < asks->listening) asks = lock;
    }
    if (!asks) return;
    asks->listening = HAS_ASKED;
    stake_want(r, asks, k, REDLOCK_COMMAND_WAIT);
}

/* S14: anybody may publish at any rate. Each attempt in vain makes the pause between attempts
 * longer. A lock that waits after its own release has made no attempt. */
static uint64_t next_attempt_at(const struct redlock_lock *lock)
{
    return lock->round.command == REDLOCK_COMMAND_ACQUIRE
               ? lock->round.started_at + ((uint64_t)DISTANCE_US << lock->refusals)
               : 0;
}

/* All listeners hear that the key is free. One lock of each engine tries at once, like one thread
 * of each Java program, and the others after a pause, in case that one is no longer there. Until
 * they have tried, the same message is no news to them. */
static void be_told(struct redlock *r, struct redlock_lock *lock, unsigned k, bool is_first)
{
    bool is_known = is_first ? lock_is_woken(r, lock) : lock->stakes[k].holder_ms == 0;
    uint64_t planned = lock->retry_at;

    if (is_known) return;
    if (is_first) {
        lock->woken |= bit_of(k);
        event_note(r, lock, REDLOCK_EVENT_WOKEN, k);
    }
    lock->stakes[k].holder_ms = 0;
    retry_hurry(r, lock);
    lock->retry_at = sooner(planned, later(lock->retry_at, next_attempt_at(lock)));
    lock_reschedule(r, lock);
}

static void tell_all(struct redlock *r, unsigned k, const struct wire_reply *reply)
{
    bool is_first = true;

    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        if (!is_told(lock, reply, REDISSON_HEARD_MESSAGE)) continue;
        be_told(r, lock, k, is_first);
        is_first = false;
    }
}

/* The error means that an ACL hides the channel, so the lock polls. */
static bool redisson_hear(struct redlock *r, unsigned k, const struct wire_reply *reply)
{
    enum redisson_heard heard = redisson_read_heard(reply);

    if (heard == REDISSON_HEARD_MESSAGE)    tell_all(r, k, reply);
    if (heard == REDISSON_HEARD_SUBSCRIBED) ask_how_long(r, k, reply);
    listen_now(r, k);
    return heard != REDISSON_HEARD_NOTHING || reply->type == RESP_ERROR;
}

/* S26: it has one node. Over several, a Java holder looks at no clock while it takes them one after
 * the other, and ignores the results of its extensions, so that a quorum of such locks is no
 * promise. No other program would know a ticket, since Java counts its own. */
static enum redlock_status redisson_check(struct redlock *r, const struct redlock_lock *lock,
                                          const struct redlock_request *request)
{
    bool is_wrong = r->node_count > 1 || request->ticket || request->permits > 0 || request->set;

    if (request->kind == &redlock_redisson && is_wrong) return REDLOCK_BAD_KIND;
    if (lock_owes_otherwise(lock, &redlock_redisson, request)) return REDLOCK_BAD_STATE;
    r->holding = holder_feature();
    stake_use_scripts(r);
    r->hear_channel = redisson_hear;
    return REDLOCK_OK;
}

static const struct redlock_waiting redisson_waiting = {
    .listen = redisson_listen, .unlisten = redisson_leave
};

static const struct wire_row *const redisson_rows[KIND_ROWS] = {
    [KIND_ACQUIRE] = &redisson_acquire, [KIND_RESTORE] = &redisson_acquire,
    [KIND_EXTEND] = &redisson_extend,   [KIND_RELEASE] = &redisson_release,
    [KIND_WAKE] = &redisson_release,    [KIND_GIVE_BACK] = &redisson_release,
    [KIND_WAIT] = &redisson_wait
};

/* A restore is for a node that has lost a key that a quorum holds, so the only node gets none. It
 * would be a grant like another. */
const struct redlock_kind redlock_redisson = {
    .rows = redisson_rows,
    .has_own_keys = true, .hides_token = true,
    .check = redisson_check, .waiting = &redisson_waiting
};
