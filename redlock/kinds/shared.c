/* Shared locks (S21: a reader is never beside a writer). The resource's key has the text "~shared",
 * which is no token, so that it refuses everybody else's SET NX. The sorted set "resource#readers"
 * beside it has the readers' tokens, each with the time at which it ends, in milliseconds by the
 * node's clock. A reader's whole claim is that the key stays until then, and a writer's SET is
 * refused as long as it does. So the key lives as long as the longest of them, and no reader
 * shortens the time of another. A writer is a plain lock.
 *     EVALSHA acquire n resource... token ttl ticket life skew modes arrived
 *                                     as the acquire script; modes: s or x for each resource
 *     EVALSHA extend n resource... token ttl modes
 *                                     :1 granted  :0 refused
 *     EVALSHA extend 1 resource token ttl x|s other ticket life skew
 *                                     the same, and another role: :-1 others read,
 *                                     :-2 the ticket is too small
 *     EVALSHA release n resource... token [entry [other]]
 *                                     as the release script
 *   S22: a lock changes its role without a gap. Only a reader that is alone on a quorum becomes a
 * writer, and otherwise stays a reader. It then has a new token (S6), like a writer that becomes a
 * reader, and the command names the other token as well. So an extension heals everything that an
 * earlier message, lost or late, has left in the other role, and a release removes both.
 *   A reader's entry among the waiters ends in "s". A release wakes all readers up to the next
 * writer. So does a reader that is admitted, since older clients take one entry out.
 * "resource#writer", "arrived entry", is the writer that waits next. Readers that arrived later are
 * refused until it has had its turn, or has been silent for 20 s. It is a hint, and no vote.
 *   A reader's ticket is the largest counter that it has seen. A node whose counter is larger
 * refuses and reports it, and one whose counter is smaller takes it over. So it is no smaller than
 * any earlier writer's, and every later writer, whose quorum has a node in common with the
 * reader's, gets more.
 *   A set in which some are shared and some are not has one ticket. Each node compares it with the
 * counter of each resource like a reader's or a writer's, and it becomes the counter of all. The
 * effect on each resource is as if that were locked alone. */
#include "shared.h"

#include "../events.h"
#include "../holder.h"
#include "../names.h"
#include "texts.h"

REDLOCK_STATIC_ASSERT(WIRE_WRITER_LIFE_MS == 20000, "the wait script says it in digits");

/* ---- Commands ---- */

static void put_hex(struct resp_writer *w, const uint8_t token[REDLOCK_TOKEN_SIZE])
{
    char text[REDLOCK_TOKEN_TEXT];

    wire_token_text(token, text);
    resp_bytes(w, text, sizeof text);
}

static bool is_of_holder(const struct wire_subject *s)
{
    return s->phase == REDLOCK_PHASE_HELD || s->phase == REDLOCK_PHASE_EXTENDING;
}

/* Its time of arrival among the waiters. A lock that does not wait is the last. */
static void put_shared_acquire(struct resp_writer *w, const struct wire_subject *s)
{
    uint64_t arrived_at = s->arrived_at > 0 ? s->arrived_at : WIRE_TICKET_MAX;

    wire_put_grant(w, s);
    wire_put_modes(w, s);
    resp_number(w, (int64_t)arrived_at);
}

/* A holder steps back for nobody. It shows no ticket, since an attempt that failed may have raised
 * a counter. */
static void put_shared_restore(struct resp_writer *w, const struct wire_subject *s)
{
    struct wire_subject subject = *s;

    subject.ticket = 0;
    wire_put_grant(w, &subject);
    wire_put_modes(w, s);
    resp_size(w, 0);
}

static void put_shared_extend(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_extend(w, s);
    wire_put_modes(w, s);
}

/* The other token is for its other role there. */
static void put_role(struct resp_writer *w, const struct wire_subject *s)
{
    put_shared_extend(w, s);
    put_hex(w, s->placed);
    resp_number(w, (int64_t)s->ticket);
    resp_size(w, s->life_ms);
    resp_size(w, s->skew_ms);
}

/* S6: while it is held, a release is of an older attempt. */
static void put_other(struct resp_writer *w, const struct wire_subject *s)
{
    put_hex(w, is_of_holder(s) ? s->placed : s->token);
}

static void put_release_both(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_placed(w, s);
    resp_text(w, "-");
    put_other(w, s);
}

static void put_wake_both(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_wake(w, s);
    put_other(w, s);
}

static const char shared_acquire_text[] = WIRE_SHARED_ACQUIRE_SCRIPT,
                  shared_acquire_sha1[] = WIRE_SHARED_ACQUIRE_SHA1;
static const char shared_extend_text[] = WIRE_SHARED_EXTEND_SCRIPT,
                  shared_extend_sha1[] = WIRE_SHARED_EXTEND_SHA1;

static const struct wire_row shared_acquire = {
    .text = shared_acquire_text, .sha1 = shared_acquire_sha1, .put = put_shared_acquire,
    .argument_count = 7, .read_refusal = wire_read_refusal
};
static const struct wire_row shared_restore = {
    .text = shared_acquire_text, .sha1 = shared_acquire_sha1, .put = put_shared_restore,
    .argument_count = 7
};
static const struct wire_row shared_extend = {
    .text = shared_extend_text, .sha1 = shared_extend_sha1, .put = put_shared_extend,
    .argument_count = 3, .lowest = 0, .highest = 1
};
static const struct wire_row shared_role = {
    .text = shared_extend_text, .sha1 = shared_extend_sha1, .put = put_role, .argument_count = 7,
    .lowest = -2, .highest = 1
};
static const struct wire_row shared_release = {
    .text = shared_release_text, .sha1 = shared_release_sha1, .put = wire_put_placed,
    .argument_count = 1, .lowest = -1, .highest = 1
};
static const struct wire_row shared_wake = {
    .text = shared_release_text, .sha1 = shared_release_sha1, .put = wire_put_wake,
    .argument_count = 2, .lowest = -1, .highest = 2
};
static const struct wire_row shared_release_both = {
    .text = shared_release_text, .sha1 = shared_release_sha1, .put = put_release_both,
    .argument_count = 3, .lowest = -1, .highest = 1
};
static const struct wire_row shared_wake_both = {
    .text = shared_release_text, .sha1 = shared_release_sha1, .put = put_wake_both,
    .argument_count = 3, .lowest = -1, .highest = 2
};

/* ---- Two tokens ---- */

static bool has_role(const struct redlock_lock *lock, enum shared_role role)
{
    return lock->kind == shared_kind(role);
}

static bool shared_has_two_tokens_on(const struct redlock_lock *lock, unsigned k)
{
    const struct redlock_stake *stake = &lock->stakes[k];

    if (stake->state == STAKE_NONE) return false;
    return !are_same_bytes(stake->token, lock->token, sizeof stake->token);
}

static bool has_two_tokens(const struct redlock_lock *lock)
{
    for (unsigned k = 0; k < lock->round.node_count; k++)
        if (kind_has_two_tokens_on(lock, k)) return true;
    return false;
}

/* From now on the node knows it by its present token, if at all, unless a change of its role may
 * still be executed there. */
static void forget_old_token(struct redlock_lock *lock, unsigned k)
{
    if (lock->stakes[k].strays & STRAYS_ROLE) return;
    copy_bytes(lock->stakes[k].token, lock->token, sizeof lock->stakes[k].token);
}

/* While an upgrade is under way the old token is still needed, since the upgrade may have
 * to be undone. */
static void shared_extended(const struct answer *a)
{
    bool is_told = a->meaning == REDLOCK_ANSWER_GRANTED ||
                   (a->meaning == REDLOCK_ANSWER_REFUSED && a->reply->integer == 0);

    if (is_told && !has_role(a->lock, SHARED_UPGRADING)) forget_old_token(a->lock, a->k);
}

static void shared_not_told(struct redlock_lock *lock, unsigned k, enum redlock_command command)
{
    if (command == REDLOCK_COMMAND_EXTEND && shared_has_two_tokens_on(lock, k))
        lock->stakes[k].strays |= STRAYS_ROLE;
}

/* ---- Another role ---- */

/* The lock has another token from now on. Nodes that have something of it have its old token. */
void shared_change_token(struct redlock *r, struct redlock_lock *lock,
                         const uint8_t token[REDLOCK_TOKEN_SIZE])
{
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].state == STAKE_PLACED)
            copy_bytes(lock->stakes[k].token, lock->token, REDLOCK_TOKEN_SIZE);
    copy_bytes(lock->token, token, REDLOCK_TOKEN_SIZE);
}

void shared_become(struct redlock_lock *lock, enum shared_role role)
{
    lock->kind = shared_kind(role);
    lock->name.shared = role != SHARED_UPGRADING && role != SHARED_UPGRADED;
}

/* The token of the lock as a reader before it asked to be a writer. Every node that has something
 * of it had this token. */
static const uint8_t *reader_token(const struct redlock *r, const struct redlock_lock *lock)
{
    const uint8_t *token = lock->token;

    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].state == STAKE_PLACED) token = lock->stakes[k].token;
    return token;
}

/* It is a reader as before, with its old token and its old ticket, if it has one. */
static void step_back(struct redlock *r, struct redlock_lock *lock, enum shared_role role)
{
    uint8_t token[REDLOCK_TOKEN_SIZE];

    copy_bytes(token, reader_token(r, lock), sizeof token);
    shared_change_token(r, lock, token);
    lock->ticket = lock->ticket_seen;
    shared_become(lock, role);
}

/* S22: an upgrade that a quorum has not granted is undone where it was granted, or may have been,
 * by an extension as a reader. */
static bool undo_upgrade(struct redlock *r, struct redlock_lock *lock, enum redlock_status status)
{
    bool is_held = lock_is_held(lock, r->now_us);

    REDLOCK_ASSERT(is_held == (status != REDLOCK_LOST));
    if (is_held) event_note(r, lock, REDLOCK_EVENT_VERDICT, status);
    lock->attempt_status = (uint8_t)status;
    step_back(r, lock, SHARED_UNDOING);
    return is_held;
}

static void finish_upgrade(const struct redlock *r, struct redlock_lock *lock)
{
    shared_become(lock, SHARED_UPGRADED);
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->round.granted & bit_of(k)) forget_old_token(lock, k);
}

static enum redlock_status shared_judged(struct redlock *r, struct redlock_lock *lock,
                                         enum redlock_status status)
{
    if (has_role(lock, SHARED_UPGRADING)) {
        if (status == REDLOCK_OK) finish_upgrade(r, lock);
        else if (undo_upgrade(r, lock, status)) return REDLOCK_PENDING;
    }
    if (has_role(lock, SHARED_UNDOING)) {
        shared_become(lock, SHARED_DOWNGRADED);
        if (status != REDLOCK_LOST) status = (enum redlock_status)lock->attempt_status;
    }
    return status;
}

/* S22: an upgrade that is given up may have been granted, and the next extension undoes it. Before
 * that no quorum knows the lock by its present token, so that there is no other upgrade, which
 * would forget the token of the first. */
static void shared_cancelled(struct redlock *r, struct redlock_lock *lock)
{
    if (has_role(lock, SHARED_UPGRADING)) step_back(r, lock, SHARED_DOWNGRADED);
    if (has_role(lock, SHARED_UNDOING)) shared_become(lock, SHARED_DOWNGRADED);
}

/* ---- Possible combinations ---- */

/* A reader's key is removed by another script than a writer's, and debts with two tokens are paid
 * before there is a third. What has run out on all nodes is owed to none. */
static bool owes_in_another_role(const struct redlock *r, const struct redlock_lock *lock,
                                 const struct redlock_request *request)
{
    const struct redlock_name name = { .bytes = request->resource, .size = request->resource_size,
                                       .shared = request->kind == &redlock_shared };
    bool has_run_out = lock->outstanding == 0 && r->now_us >= lock->owed_until;

    if (has_two_tokens(lock)) return true;
    return !has_run_out && !names_have_same_roles(lock, request->set ? request->set : &name,
                                                  request->set ? request->set_count : 1);
}

static enum redlock_status shared_check(struct redlock *r, const struct redlock_lock *lock,
                                        const struct redlock_request *request)
{
    if (request->kind == &redlock_shared && request->permits > 0)         return REDLOCK_BAD_KIND;
    if (!lock_is_idle(lock) && owes_in_another_role(r, lock, request)) return REDLOCK_BAD_STATE;
    r->holding = holder_feature();
    stake_use_scripts(r);
    return REDLOCK_OK;
}

/* ---- The kinds ---- */

static const struct wire_row *const shared_rows[KIND_ROWS] = {
    [KIND_ACQUIRE] = &shared_acquire, [KIND_RESTORE] = &shared_restore,
    [KIND_EXTEND] = &shared_extend,   [KIND_RELEASE] = &shared_release,
    [KIND_WAKE] = &shared_wake,       [KIND_GIVE_BACK] = &shared_wake
};

const struct redlock_kind redlock_shared = {
    .rows = shared_rows, .is_shared = true, .hides_token = true, .check = shared_check
};

/* A writer's key is set again like any writer's. */
const struct redlock_kind *shared_kind(enum shared_role role)
{
#define OF_BOTH \
    [KIND_EXTEND] = &shared_role, [KIND_RELEASE] = &shared_release_both, \
    [KIND_WAKE] = &shared_wake_both, [KIND_GIVE_BACK] = &shared_wake_both
    static const struct wire_row *const writer[KIND_ROWS] = { OF_BOTH };
    static const struct wire_row *const reader[KIND_ROWS] = {
        OF_BOTH, [KIND_RESTORE] = &shared_restore
    };
#undef OF_BOTH
#define WITH_TWO_TOKENS(its_rows, is_reader, is_upgrade) \
    { \
        .rows = (its_rows), .hides_token = (is_reader), .is_changing = (is_upgrade), \
        .check = shared_check, .has_two_tokens_on = shared_has_two_tokens_on, \
        .extended = shared_extended, .not_told = shared_not_told, .judged = shared_judged, \
        .cancelled = shared_cancelled \
    }
    static const struct redlock_kind kinds[SHARED_ROLES] = {
        [SHARED_UPGRADING] = WITH_TWO_TOKENS(writer, true, true),
        [SHARED_UPGRADED] = WITH_TWO_TOKENS(writer, false, false),
        [SHARED_UNDOING] = WITH_TWO_TOKENS(reader, true, false),
        [SHARED_DOWNGRADED] = WITH_TWO_TOKENS(reader, true, false),
    };
#undef WITH_TWO_TOKENS

    REDLOCK_ASSERT(role < SHARED_ROLES);
    return &kinds[role];
}
