/* The wire: every command that redlock sends and every answer that it understands, byte for byte. The only file that knows
 * both RESP and locks. The scripts are those of redlock/kinds, and scripts.h has them as they go out.
 *
 * Handshake, pipelined, on each new connection (left out where not needed: AUTH, SELECT):
 *     AUTH [user] password            +OK
 *     SELECT database                 +OK
 *     CLIENT SETNAME redlock          +OK                 or an error, ignored
 *     INFO                            $run_id, uptime_in_seconds, redis_mode, second_repl_offset
 *     ROLE                            *"master" ...
 *     SCRIPT LOAD release-script      $its SHA-1          or -NOPERM, ignored: EVAL will do
 *     SCRIPT LOAD extend-script       $its SHA-1          both left out by an engine that sends scripts by text
 *
 * A subscription (see below) says AUTH and CLIENT SETNAME, and then
 *     SUBSCRIBE redlock:name-of-the-engine    *"subscribe" ...
 *
 * Acquire one resource without a ticket:
 *     SET resource token NX PX ttl    +OK granted         $-1 refused
 *     PTTL resource                   :ms                 behind a refusal: when will it be free? -1: no TTL, -2: it is
 * Acquire with a ticket, or several resources, by a script, all or nothing:
 *     EVALSHA acquire n resource... token ttl ticket life skew
 *                                     +OK granted         $"counter ms" refused: the largest ticket there, and the PTTL
 *                                                         -AHEAD: the ticket is too far ahead of the node's clock
 * Set it again, as its holder, where a node has lost one of the keys:
 *     SET                             as to acquire
 *     EVALSHA restore n resource... token ttl ticket life skew
 *                                     +OK all are ours    $taken: one is another's, and nothing is changed    -AHEAD as above
 * Extend, release:
 *     EVALSHA extend n resource... token ttl      :1 granted  :0 refused, not all of the keys are ours
 *     EVALSHA release n resource... token [entry] :1 granted, :2 and a waiter was woken, if an entry or "" was given
 *                                                 :0 refused, no key there   :-1 refused, another's
 *     EVAL in place of EVALSHA when the answer was -NOSCRIPT, or always where no script was loaded
 * Wait:
 *     EVALSHA wait n resource... entry arrived life modes :ms     as PTTL of what is free last; modes: see kinds/shared.c
 * What other kinds of locks say stands with them, in kinds/.
 * Inspect:
 *     GETRANGE resource 0 40          $value              41 bytes: longer than a token
 *     PTTL resource
 *
 * Where the engine has a holder's name, each token above is "token name": nodes compare the whole (redlock_use_holder).
 *
 * Tickets (S15). A ticket is a number below 2^53, so that Lua compares it exactly; its text is what is stored. The client
 * proposes the same one to all nodes: the larger of its wall clock in microseconds and one more than the largest that it
 * has seen. A node grants it when all resources are free and it is larger than the counter of each, "resource#ticket",
 * which becomes the ticket, for a life of its own that is much longer than the lock's. Release and extend leave counters
 * alone. A client that is refused learns the largest counter and proposes more in its next attempt: at once, if nothing else is in
 * the way and there is time to wait left.
 *   Two quorums have a node in common; it granted both tickets, so the later is larger: whoever begins to acquire after
 * another has acquired gets more. (Who began before that may get less, and come back later: then the resource refuses it.)
 * No clock is needed for that as long as the node does not forget.
 *   A node that restarts empty has forgotten. It gives no ticket for the guard (no attempt from before is valid then) and
 * twice the largest difference of two wall clocks: after that every honest clock has passed every ticket that was given
 * before, since a node refuses one that is further than that difference ahead of its own clock, whoever's clock is wrong.
 * The same holds when a counter's life is over. What is lost unseen (FLUSHALL, eviction, a step of a wall clock that is
 * larger than the difference) may make a ticket that is not larger.
 *   The holder sets its key again where a node has lost it, behind an extension that a quorum has confirmed. That is no grant of
 * a ticket and no vote, so the ticket need not be larger than the counter; but the counter must not become smaller, and becomes the
 * ticket where it is smaller. For the later of two holders has more because it was granted its ticket, in an acquire, by a node
 * that had granted the earlier one: while counters only grow, it makes no difference what sets keys. A larger counter at a node
 * that has lost the key was there before us, or is that of a candidate that the others have refused, since our quorum stands. If
 * the command comes so late that another client has acquired and released meanwhile, it leaves that one's counter, and a key that
 * keeps others out until its TTL is over or its release comes (S5). It adds nothing to what the holder believes, since an
 * extension counts only within the old validity (S9).
 *   The counter's name begins with the resource's, since ACLs allow keys by what they begin with; where the resource has a
 * hash tag both have it. A plain lock and one with a ticket exclude each other: both are the same key with a token.
 *
 * Waiters. A client that waits keeps a second connection to each node, its subscription, for a channel of its own.
 * It puts an entry, "name-of-the-engine:number", into the sorted set "resource#waiters", ordered by when it arrived. A release
 * takes the first entry out and tells its channel the number; where nobody listens any more it takes the next. So one waiter
 * is woken by a release, not all. What is heard is never a grant: it only makes the next attempt begin earlier.
 *
 * Periods (S18). A holder that marks a period does so by a question of no lock, EVAL, since it is rare:
 *     EVAL mark 1 resource token mark life skew   :1 taken (life 0: would be)  :0 our lock is not there
 *                                                 $mark refused: there is another's of this period, or one of a later
 *                                                 -AHEAD, -BEHIND: the mark's clock differs from the node's by more than skew
 * A mark, "resource#done", is "period marker when who": when the period begins, by the marker's wall clock; the first 16 digits of
 * its token; when it asked; both in milliseconds since 1970; and words for people. mark.c says why that is enough.
 *
 * Every other answer is no grant (S3). An error is a vote of its own meaning; an answer of another type ends the
 * connection (S16). Keys and values are the plain ones of every Redlock library, so that they exclude each other. */
#ifndef REDLOCK_WIRE_H
#define REDLOCK_WIRE_H

#include "private.h"
#include "redlock.h"
#include "scripts.h"
#include "../resp/resp.h"

enum wire_command {
    WIRE_NONE,
    WIRE_AUTH, WIRE_SELECT, WIRE_SETNAME, WIRE_INFO, WIRE_ROLE, WIRE_LOAD_RELEASE, WIRE_LOAD_EXTEND, WIRE_SUBSCRIBE,
    WIRE_CANARY,            /* Of a durable node: see durable.c. */
    WIRE_READY,             /* No command: the end of the handshake. */
    WIRE_ACQUIRE,
    WIRE_RESTORE,           /* By the holder of the lock, where a node has lost it. */
    WIRE_EXTEND, WIRE_RELEASE, WIRE_WAIT, WIRE_PTTL, WIRE_GETRANGE,
    WIRE_QUESTION           /* Of no lock: whatever the caller asks. */
};

enum {
    WIRE_VALUE_MAX = REDLOCK_TOKEN_TEXT + 1,    /* Bytes of a value that GETRANGE asks for. */
    WIRE_UPTIME_MAX = 50 * 365 * 86400,    /* 50 years: a server that claims more has a wrong clock. */
    WIRE_TICKET_MAX_DIGITS = 16,
    WIRE_WAITERS_LIFE_MS = 60000,   /* An entry among the waiters is renewed more often than that, or its waiter is gone. */
    WIRE_WRITER_LIFE_MS = 20000,    /* So is the hint that a writer waits. */
    WIRE_FAIR_LEASE_MS = 5000,      /* The same of a place in the queue. */
    WIRE_FAIR_RANK_MAX = 999999,
    /* The longest command of a lock, by EVALSHA or without the bytes of the script and of the resource. */
    WIRE_COMMAND_MAX = sizeof "*10 $7 EVALSHA $40 $2 16 $512 $40 $10 2147483647 $16 9007199254740991 $10 4294967295 $7 3600000 "
                              "$2 64 $2 64" + 23 + 40 + 40,
    /* The longest of all: of a fair lock. One that changes its role has 4 bytes less, one of several permits 8. */
    WIRE_LONGEST_MAX = sizeof "*10 $7 EVALSHA $40 $1 1 $512 $40 $10 2147483647 $16 9007199254740991 $10 4294967295 $7 3600000 "
                              "$51 4294967295 4294967295 1 0123456789abcdef:4294967295" + 24 + 40 + 40,
    WIRE_HOLDER_ROOM = REDLOCK_HOLDER_MAX + 2,  /* More, where the engine has a holder's name: it, a blank, a digit of the size. */
    WIRE_NAME_HEAD = sizeof "$512    " - 1      /* What each resource but the first adds to its bytes. */
};

#define WIRE_TICKET_MAX ((uint64_t)9007199254740991)    /* 2^53 - 1: Lua counts in doubles. */

/* A whole reply, as far as it matters. */
struct wire_reply {
    enum resp_type type;
    int64_t integer;
    const char *text;               /* The beginning of a string, or of the first one of an array (on a subscription: of all of
                                     * them, one behind the other: "message", the channel, and what was published there). */
    size_t text_size;
    bool text_cut;                  /* There was more of it. */
};

/* The form in which a command goes out. */
enum wire_form {
    WIRE_PLAIN,                     /* A command of the server's own. */
    WIRE_BY_SHA1,                   /* A script that the node is believed to know. */
    WIRE_BY_TEXT                    /* A script that it does not know. */
};

/* Of a fair lock that is acquired: its place in the order. */
struct redlock_place {
    uint32_t turn;                  /* 0: it has none yet. */
    uint32_t poll;                  /* Number of the round of polls, from 1. */
    uint32_t entry;                 /* By which it is woken; 0: by none. */
    bool renew;                     /* The last round was answered by a quorum. */
};

/* What a command of a lock is about. */
struct wire_subject {
    const struct redlock_name *names;
    unsigned name_count;
    const uint8_t *token;           /* REDLOCK_TOKEN_SIZE bytes: the lock's, and that of the last acquire that was sent there, */
    const uint8_t *placed;          /* which a release names; */
    const char *holder;             /* and what stands behind it in the value of the key; NULL: nothing. */
    uint32_t ttl_ms;
    uint64_t ticket;                /* 0: without. */
    uint32_t life_ms, skew_ms;      /* Of the counter; of wall clocks. */
    const uint8_t *engine;          /* REDLOCK_NAME_SIZE bytes: whose entry it is among the waiters, */
    uint32_t wait_number;           /* and which; 0: it has none. */
    uint64_t arrived_at;
    struct redlock_permit permit;
    const struct redlock_place *place;      /* Of a fair lock. */
    uint8_t phase;                  /* enum redlock_phase, of the lock. */
};

/* A command of a lock is a row: what goes out, and what may come back. An engine reaches the rows that its features use, so that
 * a linker drops all others; tests/world/decoder.c lists them. */
struct wire_row {
    const char *text;               /* Of a script; NULL: it is none. */
    const char *sha1;               /* By which a node knows it that has run it or loaded it. NULL: it goes out by text alone. */
    void (*put)(struct resp_writer *w, const struct wire_subject *subject);     /* The script's arguments; or all of the command. */
    bool (*read_refusal)(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl);     /* NULL: it says nothing more. */
    uint8_t argument_count;         /* Of a script, behind its keys. */
    int8_t lowest, highest;         /* Of a script that answers with a number: from 1 on it is a grant. */
};

REDLOCK_PRIVATE const struct wire_row *wire_pttl(void);
REDLOCK_PRIVATE const struct wire_row *wire_getrange(void);

enum wire_answer {
    WIRE_GRANTED,
    WIRE_REFUSED,
    WIRE_ERROR,                     /* An error reply: see wire_trouble. */
    WIRE_WRONG                      /* Of a type or a value that this command never answers (S16). */
};

/* The commands of a lock, as a kind has them: see kind.h. */
enum wire_kind_row {
    KIND_ACQUIRE, KIND_RESTORE, KIND_EXTEND, KIND_RELEASE,      /* As in enum wire_command. */
    KIND_WAKE,                      /* A release that wakes a waiter. NULL, of plain locks: nobody is woken. */
    KIND_GIVE_BACK,                 /* One that gives back an entry among the waiters as well. */
    KIND_WAIT,
    KIND_ROWS
};

/* What an engine has in common with its nodes, in the form that suits its features: the commands of plain locks. See
 * kinds/plain.h. */
struct redlock_scripts {
    const struct wire_row *rows[KIND_ROWS];
    const struct wire_loading *loading;         /* NULL: none is loaded in the handshake; they go out by text. */
    void (*put_subscribe)(struct resp_writer *w, const uint8_t engine[REDLOCK_NAME_SIZE]);     /* NULL: it has no subscriptions. */
};

/* The commands of the handshake from SCRIPT LOAD on, but for SUBSCRIBE; and what the answer to any means, so that what was loaded
 * is the script that we know. */
struct wire_loading {
    bool (*is_left_out)(enum wire_command command, const struct redlock_login *login, bool is_subscription);
    void (*put)(struct resp_writer *w, enum wire_command command, const struct redlock_scripts *scripts);
    enum wire_answer (*read)(struct redlock_node *node, const struct redlock_asked *asked, const struct redlock_scripts *scripts,
                             const struct wire_reply *reply);
};

/* The form of a command, if a script that a node may know is to go out in this one. */
static inline enum wire_form wire_form_of(const struct wire_row *row, enum wire_form of_script)
{
    return !row->text ? WIRE_PLAIN : row->sha1 ? of_script : WIRE_BY_TEXT;
}

/* What the reply means as the answer to that. Of asked it looks at the command, the form and the range of numbers. */
REDLOCK_PRIVATE enum wire_answer wire_read(const struct redlock_asked *asked, const struct wire_reply *reply);

/* The same, also of the commands of the handshake that not all engines send: LOAD_..., SUBSCRIBE, CANARY. */
REDLOCK_PRIVATE enum wire_answer wire_read_any(const struct redlock_asked *asked, const struct wire_reply *reply);

/* What the acquire script says when it refuses. False: it is not that. */
REDLOCK_PRIVATE bool wire_read_refusal(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl);

/* The same of a poll, "counter ms turn rank"; and where the first two words of that end. 0: there are no four. */
REDLOCK_PRIVATE bool wire_read_poll_refusal(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl);
REDLOCK_PRIVATE size_t wire_first_two_words(const struct wire_reply *reply);

/* How many bytes stand before what was published, if that was on the channel of an engine. 0: it was not. */
REDLOCK_PRIVATE size_t wire_before_wake_up(const struct wire_reply *reply);

/* What a subscription hears there, without these: the number of the entry whose turn it is; of which slot, 0: none; and, ignored,
 * an s if it is a reader's. False: it is not that. */
REDLOCK_PRIVATE bool wire_read_wake_up(const struct wire_reply *reply, uint32_t *wait_number, uint8_t *slot);

/* Takes what matters from one line of INFO (without its end), and from the answer to ROLE.
 *
 * S30: a second_repl_offset other than -1 says that the server has taken over a history from before its present run, as a replica
 * that was promoted, which may lack its master's last writes. Tried with Redis 7.0.15, whose uptime does not change meanwhile:
 *
 *     a master, also one with replicas                    -1
 *     REPLICAOF NO ONE, also where the link never stood   the offset at which the old history ends
 *     FAILOVER                                            the same, on both sides
 *     REPLICAOF again, and a full synchronization         -1, until REPLICAOF NO ONE: then the next offset
 *     a restart with the RDB file of SHUTDOWN SAVE        an offset
 *     a restart with an AOF, or with nothing              -1, but the uptime begins anew
 *     repl-backlog-ttl (3,600 s) without a replica        -1: by then any guard is over, unless somebody set less; but the
 *                                                         offset where there is no backlog, as the link never stood
 *
 * Plain INFO, since Redis before 7.0 takes one section at a time. A server that tells no offset is as one that has taken over
 * nothing. */
REDLOCK_PRIVATE void wire_read_info(const char *line, size_t size, struct redlock_identity *identity);
REDLOCK_PRIVATE void wire_read_role(const struct wire_reply *reply, struct redlock_identity *identity);

/* What kind of trouble the text of an error reply tells of. */
REDLOCK_PRIVATE enum redlock_trouble wire_trouble(const char *text, size_t size);

/* The same as far as an engine must know it: NOPERM, NOSCRIPT, WRONGTYPE, AHEAD; NOAUTH for whatever ends the session, and
 * OTHER_ERROR. The other kinds are linked with redlock_node_trouble alone. */
REDLOCK_PRIVATE enum redlock_trouble wire_class(const char *text, size_t size);

/* True when the node will not vote on this connection any more, so that a new handshake has to find out why. */
static inline bool wire_ends_session(enum redlock_trouble class_of_error)
{
    return class_of_error == REDLOCK_TROUBLE_NOAUTH;
}

/* The value of a lock's keys: the token, and behind a blank what the engine was told of the holder, if anything. Without a
 * NUL; its size. */
REDLOCK_PRIVATE size_t wire_value_text(const uint8_t token[REDLOCK_TOKEN_SIZE], const char *holder, char text[REDLOCK_VALUE_TEXT]);

/* The hex digits of a token, without a NUL; and the way back: false when they are not 40 of 0-9 a-f. */
REDLOCK_PRIVATE void wire_token_text(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDLOCK_TOKEN_TEXT]);
REDLOCK_PRIVATE bool wire_token_read(const char *text, size_t size, uint8_t token[REDLOCK_TOKEN_SIZE]);

/* How many bytes of text are those of expected: all of expected, or 0. And: is the reply that text, whole? */
REDLOCK_PRIVATE size_t wire_begins(const char *text, size_t size, const char *expected);
REDLOCK_PRIVATE bool wire_text_is(const struct wire_reply *reply, const char *text);

/* Decimal digits, and nothing else, of a number up to max < 2^60. */
REDLOCK_PRIVATE bool wire_read_decimal(const char *text, size_t size, uint64_t max, uint64_t *number);

/* ---- What the commands of the kinds are made of ---- */

/* The only resource, or the first of several; the value of its key; what was put there and a release names (S6). */
REDLOCK_PRIVATE void wire_put_resource(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_value(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_placed(struct resp_writer *w, const struct wire_subject *s);

/* Value, TTL, ticket, its life and the skew; value and TTL. */
REDLOCK_PRIVATE void wire_put_grant(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_extend(struct resp_writer *w, const struct wire_subject *s);

/* A lock's entry among the waiters, or "" if it has none; what was put there, and that; and what a lock waits by. */
REDLOCK_PRIVATE void wire_put_entry_if_any(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_wake(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_wait(struct resp_writer *w, const struct wire_subject *s);

/* Of each resource: s, the lock has it shared, or asks for that; x, not. */
REDLOCK_PRIVATE void wire_put_modes(struct resp_writer *w, const struct wire_subject *s);

/* PTTL resource: all of that command. */
REDLOCK_PRIVATE void wire_put_pttl(struct resp_writer *w, const struct wire_subject *s);

/* An entry ends where text ends; returns where it begins. */
enum { WIRE_ENTRY_ROOM = 2 * REDLOCK_NAME_SIZE + 1 + RESP_DIGITS_MAX };
REDLOCK_PRIVATE size_t wire_write_entry(char text[WIRE_ENTRY_ROOM], const uint8_t engine[REDLOCK_NAME_SIZE], uint32_t number);

/* Two hex digits a byte. */
REDLOCK_PRIVATE void wire_write_hex(const uint8_t *bytes, size_t size, char *text);

/* EVALSHA, or EVAL, of a script with the resources as its keys; its arguments come behind them. */
REDLOCK_PRIVATE void wire_put_script(struct resp_writer *w, const struct wire_row *script, enum wire_form form,
                                     const struct wire_subject *s);

/* A script's text goes out in one write with what is around it where the buffer has room for it and for the rest of any command;
 * otherwise it is sent from where it lies. */
REDLOCK_PRIVATE void wire_put_script_text(struct resp_writer *w, const char *text);

#endif
