/* A server may refuse to run scripts. Its users can still lock there if it has a command that
 * compares and deletes. S5: the handshake finds that out before anything is won.
 *
 *     DELEX resource IFEQ token       Redis 8.4 (redis PR 14435), Valkey 9.2 (valkey PR 4607)
 *     DELIFEQ resource token          Valkey 9.0 (valkey PR 1975)
 *                                     :1 released  :0 no key there, or another's
 *     SET resource token IFEQ token PX ttl
 *                                     +OK extended    $-1 no key there, or another's
 *                                     (Redis 8.4, Valkey 8.1)
 *
 * The question is asked about the canary's key, with a token that no key has. DELEX without a
 * condition would delete, so it is never sent without one.
 *
 * S7: such a SET may shorten the time of a key, if it comes late and another was longer. So it is
 * sent only while all commands with this token have had the same TTL. Whichever is executed last
 * then ends last. A lock that was extended by another TTL, or that another process acquired, is not
 * extended on such a node. Nobody can know what another process sends with a token that was handed
 * to it, so whoever hands a token on no longer extends it.
 *
 * Plain locks of one resource without a ticket need no script to be acquired. All others need one,
 * so the node has no vote for them. A release wakes nobody there, and waiters try again by
 * themselves. An entry that a waiter took there before scripts were refused stays for its
 * minute. */
#include "native.h"

/* ---- In the handshake ---- */

bool native_is_begun(struct redlock_node *node, enum redlock_command command,
                     const struct wire_reply *reply)
{
    bool is_about_scripts = command == REDLOCK_COMMAND_EVAL || command == REDLOCK_COMMAND_TRIAL;
    bool is_refusal = wire_begins(reply->text, reply->text_size, "ERR ") > 0 ||
                      wire_begins(reply->text, reply->text_size, "NOPERM ") > 0;

    if (!is_about_scripts || !is_refusal) return false;
    if (node->identity.native == NATIVE_NONE || node->identity.trouble) return false;
    node->identity.native = NATIVE_DELEX;
    if (node->step == REDLOCK_COMMAND_READY) node->step = REDLOCK_COMMAND_NATIVE;
    return true;
}

void native_put_question(struct resp_writer *w, const struct redlock_node *node)
{
    bool is_delex = node->identity.native == NATIVE_DELEX;

    REDLOCK_ASSERT(native_is(node));
    resp_command(w, is_delex ? 4 : 3);
    resp_text(w, is_delex ? "DELEX" : "DELIFEQ");
    resp_text(w, REDLOCK_CANARY);
    if (is_delex) resp_text(w, "IFEQ");
    resp_text(w, "-");      /* No token, so a key that is there stays. */
}

/* True if the error is about the canary's key, so the node knows the command, and the user may send
 * it. Redis 7.0 says "NOPERM this user has no permissions to access one of the keys used as
 * arguments", later servers "NOPERM No permissions to access a key". */
static bool is_about_key(const struct wire_reply *reply)
{
    return wire_begins(reply->text, reply->text_size, "MOVED ") > 0 ||
           (wire_begins(reply->text, reply->text_size, "NOPERM ") > 0 && wire_says(reply, " key"));
}

enum redlock_answer native_read_answer(struct redlock_node *node, const struct wire_reply *reply)
{
    REDLOCK_ASSERT(native_is(node));
    /* No key has that value, so 1 would be a DEL of anything. */
    if (reply->type != RESP_ERROR)
        return reply->type == RESP_INTEGER && reply->integer == 0 ? REDLOCK_ANSWER_GRANTED
                                                                  : REDLOCK_ANSWER_WRONG;
    if (is_about_key(reply)) return REDLOCK_ANSWER_GRANTED;
    if (wire_ends_session(wire_class(reply->text, reply->text_size))) return REDLOCK_ANSWER_ERROR;
    node->identity.native =
        node->identity.native == NATIVE_DELEX ? NATIVE_DELIFEQ : NATIVE_NONE;
    node->step = native_is(node) ? REDLOCK_COMMAND_NATIVE : REDLOCK_COMMAND_EVAL;
    return REDLOCK_ANSWER_GRANTED;
}

/* ---- Commands of locks ---- */

/* S7: see above. The TTL of an acquire is that of the SET that it is, which shortens nothing. */
static bool has_one_ttl(const struct redlock_lock *lock)
{
    return lock->round.command != REDLOCK_COMMAND_EXTEND ||
           (lock->round.ttl_ms == lock->owed_ttl_ms && !lock->has_other_ttl);
}

bool native_lacks(const struct redlock *r, const struct redlock_lock *lock, unsigned k)
{
    return native_is(&r->nodes[k]) && (kind_row(r, lock, KIND_ACQUIRE)->text || !has_one_ttl(lock));
}

static void put_delex(struct resp_writer *w, const struct wire_subject *s)
{
    resp_command(w, 4);
    resp_text(w, "DELEX");
    wire_put_resource(w, s);
    resp_text(w, "IFEQ");
    wire_put_placed(w, s);
}

static void put_delifeq(struct resp_writer *w, const struct wire_subject *s)
{
    resp_command(w, 3);
    resp_text(w, "DELIFEQ");
    wire_put_resource(w, s);
    wire_put_placed(w, s);
}

static void put_extend(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->ttl_ms > 0);
    resp_command(w, 7);
    resp_text(w, "SET");
    wire_put_resource(w, s);
    wire_put_value(w, s);
    resp_text(w, "IFEQ");
    wire_put_value(w, s);
    resp_text(w, "PX");
    resp_size(w, s->ttl_ms);
}

static const struct wire_row *native_release_row(enum native how)
{
    static const struct wire_row delex = { .put = put_delex, .highest = 1 },
                                 delifeq = { .put = put_delifeq, .highest = 1 };

    return how == NATIVE_DELEX ? &delex : &delifeq;
}

/* The command for a node that runs no scripts. */
static const struct wire_row *row_without_script(const struct redlock *r,
                                                 const struct redlock_lock *lock, unsigned k,
                                                 const struct wire_row *row)
{
    static const struct wire_row extend = { .put = put_extend };
    bool is_plain = kind_row(r, lock, KIND_RELEASE) == r->scripts->rows[KIND_RELEASE];

    switch (lock->stakes[k].want) {
    case REDLOCK_COMMAND_EXTEND:
        REDLOCK_ASSERT(has_one_ttl(lock));      /* S7 */
        return &extend;
    case REDLOCK_COMMAND_RELEASE:
        return is_plain && lock->name_count == 1
                   ? native_release_row((enum native)r->nodes[k].identity.native)
                   : row;
    default:
        return row;
    }
}

const struct wire_row *native_row(const struct redlock *r, struct redlock_lock *lock, unsigned k,
                                  const struct wire_row *row)
{
    switch (lock->stakes[k].want) {
    case REDLOCK_COMMAND_ACQUIRE: lock->has_other_ttl = false; break;
    case REDLOCK_COMMAND_EXTEND:  lock->has_other_ttl = !has_one_ttl(lock); break;
    default:                      break;
    }
    return native_is(&r->nodes[k]) ? row_without_script(r, lock, k, row) : row;
}
