/* The wire: what the commands of all kinds have in common, and every answer that is understood,
 * byte for byte. handshake.c builds the commands of the handshake, and kinds/ those of each kind.
 * scripts.h has the scripts as they are sent.
 *
 * Handshake, pipelined, on each new connection (left out where not needed: AUTH, SELECT):
 *     AUTH [user] password            +OK
 *     SELECT database                 +OK
 *     CLIENT SETNAME redlock          +OK                 or an error, ignored
 *     INFO                            $run_id, uptime_in_seconds, redis_mode, role,
 *                                     second_repl_offset
 *     EVAL return 0                   $-1                 a node that runs no scripts could release
 *                                                         nothing: no vote
 *     EVAL release-script 1 redlock:canary#done#done -
 *                                     :0 or :-1           only to a managed node. A proxy that
 *                                                         refuses the text has no vote
 *     SCRIPT LOAD release-script      $its SHA-1          or -NOPERM, ignored: EVAL will do
 *     SCRIPT LOAD extend-script       $its SHA-1          both left out by an engine that sends
 *                                                         scripts by text
 *
 * A subscription (see below) says AUTH and CLIENT SETNAME, and then
 *     SUBSCRIBE redlock:name-of-the-engine    *"subscribe" ...
 *
 * Acquire one resource without a ticket:
 *     SET resource token NX PX ttl    +OK granted         $-1 refused
 *     PTTL resource                   :ms                 behind a refusal: when will it be free?
 *                                                         -1: no TTL, -2: it is
 * Acquire with a ticket, or several resources, by a script, all or nothing:
 *     EVALSHA acquire n resource... token ttl ticket life skew
 *                                     +OK granted         $"counter ms" refused: the largest ticket
 *                                                         there, and the PTTL
 *                                                         -AHEAD: the ticket is too far ahead of
 *                                                         the node's clock
 * Set it again, as its holder, where a node has lost one of the keys:
 *     SET                             as to acquire
 *     EVALSHA restore n resource... token ttl ticket life skew
 *                                     +OK all are ours    $taken: one is another's, and nothing is
 *                                                         changed    -AHEAD as above
 * Extend, release:
 *     EVALSHA extend n resource... token ttl      :1 granted  :0 refused, not all of the
 *                                                             keys are ours
 *     EVALSHA release n resource... token [entry] :1 granted, :2 and a waiter was woken, if an
 *                                                 entry or "" was given
 *                                                 :0 refused, no key there   :-1 refused, another's
 *     other commands where no script runs (see native.c)
 *     EVAL in place of EVALSHA when the answer was -NOSCRIPT, or always where no script was loaded
 * Wait:
 *     EVALSHA wait n resource... entry arrived life modes :ms     as PTTL of what is free last;
 *                                                                 modes: see kinds/shared.c
 * Commands of other kinds of locks are described with them, in kinds/.
 * Inspect:
 *     GETRANGE resource 0 40          $value              41 bytes: longer than a token
 *     PTTL resource
 *
 * If the engine has a holder's name, each token above is "token name", and nodes compare
 * the whole (redlock_use_holder).
 *
 * Fencing tokens, here called tickets (S15). A ticket is a number below 2^53, so that Lua compares
 * it exactly. Nodes store its text. The client proposes the same ticket to all nodes, the larger of
 * its wall clock in microseconds and one more than the largest that it has seen. A node grants it
 * when all resources are free and it is larger than the counter of each, "resource#ticket", which
 * becomes the ticket, for a life of its own that is much longer than the lock's. Release and extend
 * leave counters alone. A client that is refused learns the largest counter and proposes more in
 * its next attempt, which begins at once if nothing else is in the way and there is time
 * to wait left.
 *   Two quorums have a node in common. It granted both tickets, so the later is larger. A client
 * that begins to acquire after another has acquired gets more. (A client that began before that may
 * get less, and come back later. The resource then refuses it.) No clock is needed for that as long
 * as the node does not forget.
 *   A node that restarts empty has forgotten. It gives no ticket for the guard (no attempt from
 * before is valid then) and twice the largest difference of two wall clocks. After that every
 * honest clock has passed every ticket that was given before, since a node refuses one that is
 * further than that difference ahead of its own clock, whoever's clock is wrong. The same holds
 * when a counter's life is over. An unseen loss (FLUSHALL, eviction, a step of a wall clock that is
 * larger than the difference) may make a ticket that is not larger.
 *   The holder sets its key again where a node has lost it, after an extension that a quorum has
 * confirmed. This is no grant of a ticket and no vote, so the ticket need not be larger than the
 * counter. But the counter must not become smaller, and becomes the ticket if it is smaller. The
 * reason is that the later of two holders has more because a node that had granted the earlier
 * ticket granted it its own, in an acquire. While counters only grow, it makes no difference which
 * command sets keys. A larger counter at a node that has lost the key was there before us, or
 * belongs to a candidate that the others have refused, since our quorum stands. If the command
 * arrives so late that another client has acquired and released meanwhile, it leaves the other's
 * counter, and a key that keeps others out until its TTL is over or its release arrives (S5). It
 * adds nothing to what the holder believes, since an extension counts only within the
 * old validity (S9).
 *   The counter's name begins with the resource's, since ACLs allow keys by their prefixes. If the
 * resource has a hash tag both have it. A plain lock and one with a ticket exclude each other,
 * since both are the same key with a token.
 *
 * Waiters. A client that waits keeps a second connection to each node, its subscription, for a
 * channel of its own. It puts an entry, "name-of-the-engine:number", into the sorted set
 * "resource#waiters", ordered by time of arrival. A release takes the first entry out and publishes
 * the number on its channel. If nobody listens there any more, it takes the next. So a release
 * wakes one waiter, not all. A wake-up is never a grant. It only makes the next attempt begin
 * earlier.
 *
 * Periods (S18). A holder that marks a period does so by a question of no lock, EVAL, since
 * it is rare:
 *     EVAL mark 1 resource token mark life skew   :1 taken (life 0: would be)
 *                                                 :0 our lock is not there
 *                                                 $mark refused: there is another's of this period,
 *                                                 or one of a later
 *                                                 -AHEAD, -BEHIND: the mark's clock differs
 *                                                 from the node's by more than skew
 * A mark, "resource#done", is "period marker when who". Its words are the beginning of the period,
 * by the marker's wall clock, the first 16 digits of the marker's token, the time when it asked,
 * both times in milliseconds since 1970, and words for people. mark.c gives the reason why
 * that is enough.
 *
 * Every other answer is no grant (S3). An error is a vote with its own meaning. An answer of
 * another type ends the connection (S16). Keys and values are as every Redlock library has them, so
 * that they exclude each other. */
#ifndef REDLOCK_WIRE_H
#define REDLOCK_WIRE_H

#include "private.h"
#include "redlock.h"
#include "scripts.h"
#include "../resp/resp.h"

enum {
    WIRE_VALUE_MAX = REDLOCK_TOKEN_TEXT + 1, /* Bytes of a value that GETRANGE asks for. */
    /* 50 years. A server that claims more has a wrong clock. */
    WIRE_UPTIME_MAX = 50 * 365 * 86400,
    /* An entry among the waiters is renewed more often than that, or its waiter is gone. */
    WIRE_WAITERS_LIFE_MS = 60000,
    WIRE_WRITER_LIFE_MS = 20000, /* So is the hint that a writer waits. */
    WIRE_FAIR_LEASE_MS = 5000,   /* The same for a place in the queue. */
    WIRE_FAIR_RANK_MAX = 999999,
    /* The longest command of a lock, by EVALSHA or without the bytes of the script and
     * of the resource. */
    WIRE_COMMAND_MAX = sizeof "*10 $7 EVALSHA $40 $2 16 $512 $40 $10 2147483647 $16 "
                              "9007199254740991 $10 4294967295 $7 3600000 "
                              "$2 64 $2 64" +
                       23 + 40 + 40,
    /* The longest of all is a fair lock's. A lock that changes its role has 4 bytes less, one of
     * several permits 8. */
    WIRE_LONGEST_MAX = sizeof "*10 $7 EVALSHA $40 $1 1 $512 $40 $10 2147483647 $16 "
                              "9007199254740991 $10 4294967295 $7 3600000 "
                              "$51 4294967295 4294967295 1 0123456789abcdef:4294967295" +
                       24 + 40 + 40,
    /* Room for a holder's name, if there is one, a blank, a digit of the size. */
    WIRE_HOLDER_ROOM = REDLOCK_HOLDER_MAX + 2,
    /* Bytes that each resource but the first adds to its own. */
    WIRE_NAME_HEAD = sizeof "$512    " - 1
};

#define WIRE_TICKET_MAX ((uint64_t)9007199254740991)    /* 2^53 - 1: Lua counts in doubles. */

/* The parts of a whole reply that matter. */
struct wire_reply {
    enum resp_type type;
    int64_t integer;
    /* The beginning of a string, or of an array's first one. On a subscription it has all of them,
     * one after the other ("message", the channel, and the published text). */
    const char *text;
    size_t text_size;
    bool text_cut;                  /* There was more of it. */
};

/* The place of a fair lock in the order, while it is acquired. */
struct redlock_place {
    uint32_t turn;                  /* 0: it has none yet. */
    uint32_t poll;                  /* Number of the round of polls, from 1. */
    uint32_t entry;                 /* The entry by which it is woken; 0: none. */
    bool renew;                     /* The last round was answered by a quorum. */
};

/* The arguments of a lock's command. */
struct wire_subject {
    const struct redlock_name *names;
    unsigned name_count;
    /* REDLOCK_TOKEN_SIZE bytes each. token is the lock's, and placed belongs to the last */
    const uint8_t *token;
    const uint8_t *placed;          /* acquire that was sent there, which a release names. */
    const char *holder;             /* The text after the token in the key's value; NULL: none. */
    uint32_t ttl_ms;
    uint64_t ticket;                /* 0: without. */
    uint32_t life_ms, skew_ms;      /* The counter's life, and the wall clocks' skew. */
    /* REDLOCK_NAME_SIZE bytes, the first part of its entry among the waiters, */
    const uint8_t *engine;
    uint32_t wait_number;           /* and the second part; 0: it has none. */
    uint64_t arrived_at;
    struct redlock_permit permit;
    const struct redlock_place *place;      /* A fair lock's. */
    uint8_t phase;                  /* The lock's enum redlock_phase. */
};

/* A row is a command of a lock and its possible answers. An engine reaches the rows that its
 * features use, so that a linker drops all others. tests/world/decoder.c lists them. */
struct wire_row {
    const char *text;               /* The script's; NULL: it is no script. */
    /* Names it to a node that has run it or loaded it. NULL: it is only sent by text. */
    const char *sha1;
    /* The script's arguments, or the whole command. */
    void (*put)(struct resp_writer *w, const struct wire_subject *subject);
    /* NULL: no details. */
    bool (*read_refusal)(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl);
    uint8_t argument_count;         /* The script's, after its keys. */
    /* Range of a script's answer, if that is a number. From 1 on it is a grant. */
    int8_t lowest, highest;
};

REDLOCK_PRIVATE const struct wire_row *wire_pttl(void);
REDLOCK_PRIVATE const struct wire_row *wire_getrange(void);

/* The commands of a kind of locks (see kind.h). */
enum wire_kind_row {
    KIND_ACQUIRE, KIND_RESTORE, KIND_EXTEND, KIND_RELEASE,      /* Like enum redlock_command. */
    /* A release that wakes a waiter. If plain locks have NULL, nobody is woken. */
    KIND_WAKE,
    KIND_GIVE_BACK,                 /* One that gives back an entry among the waiters as well. */
    KIND_WAIT,
    KIND_ROWS
};

/* The commands of plain locks, in the form that suits the engine's features (see kinds/plain.h). */
struct redlock_scripts {
    const struct wire_row *rows[KIND_ROWS];
    /* NULL: none is loaded in the handshake, and all are sent by text. */
    const struct wire_loading *loading;
    /* NULL: it has no subscriptions. */
    void (*put_subscribe)(struct resp_writer *w, const uint8_t engine[REDLOCK_NAME_SIZE]);
    /* A line of INFO. */
    void (*read_info)(const char *line, size_t size, struct redlock_identity *identity);
    /* Called after the last line. NULL: a server without a run_id has no vote (see identity.h). */
    void (*identify)(struct redlock_node *node, const struct redlock_config *config,
                     uint64_t now_us);
};

/* The commands of the handshake from SCRIPT LOAD on, except SUBSCRIBE, and the meaning of any
 * answer, which makes sure that the loaded script is the one that we know. */
struct wire_loading {
    bool (*is_left_out)(enum redlock_command command, const struct redlock_node *node);
    void (*put)(struct resp_writer *w, enum redlock_command command,
                const struct redlock_node *node, const struct redlock_scripts *scripts);
    enum redlock_answer (*read)(struct redlock_node *node, const struct redlock_asked *asked,
                                const struct redlock_scripts *scripts,
                                const struct wire_reply *reply);
};

/* The form of a command, if a script that a node may know is to be sent in the form of_script. */
static inline enum redlock_form wire_form_of(const struct wire_row *row,
                                             enum redlock_form of_script)
{
    return !row->text ? REDLOCK_FORM_PLAIN : row->sha1 ? of_script : REDLOCK_FORM_BY_TEXT;
}

/* The meaning of the reply as the answer to asked, by its command, its form and its
 * range of numbers. */
REDLOCK_PRIVATE enum redlock_answer wire_read(const struct redlock_asked *asked,
                                              const struct wire_reply *reply);

/* True for a release that wakes a waiter, or gives an entry back. Only its answer may be 2. */
static inline bool wire_gives_back(const struct redlock_asked *asked)
{
    return asked->highest == 2;
}

/* The same, with the commands of the handshake that not all engines send
 * (LOAD_..., SUBSCRIBE, CANARY). */
REDLOCK_PRIVATE enum redlock_answer wire_read_any(const struct redlock_asked *asked,
                                                  const struct wire_reply *reply);

/* Reads the refusal of an acquire script. False: the reply is no such refusal. */
REDLOCK_PRIVATE bool wire_read_refusal(const struct wire_reply *reply, uint64_t *counter,
                                       int64_t *pttl);

/* The same of a poll, "counter ms turn rank"; and where the first two words of that end. 0: there
 * are no four. */
REDLOCK_PRIVATE bool wire_read_poll_refusal(const struct wire_reply *reply, uint64_t *counter,
                                            int64_t *pttl);
REDLOCK_PRIVATE size_t wire_first_two_words(const struct wire_reply *reply);

/* The number of bytes before the published text, if it was published on an engine's channel. 0: it
 * was not. */
REDLOCK_PRIVATE size_t wire_before_wake_up(const struct wire_reply *reply);

/* Reads the published text. It has the number of the entry whose turn it is, the slot (0: none),
 * and an s if it is a reader's, which is ignored. False: it is no such text. */
REDLOCK_PRIVATE bool wire_read_wake_up(const struct wire_reply *reply, uint32_t *wait_number,
                                       uint8_t *slot);

/* Takes the facts that matter from one line of INFO (without its end).
 *
 * S30: a second_repl_offset other than -1 means that the server has taken over a history from
 * before its present run, like a promoted replica, which may lack its master's last writes. Tried
 * with Redis 7.0.15, whose uptime does not change meanwhile:
 *
 *     a master, also one with replicas                    -1
 *     REPLICAOF NO ONE, also where the link never stood   the offset at which the old history ends
 *     FAILOVER                                            the same, on both sides
 *     REPLICAOF again, and a full synchronization         -1, until REPLICAOF NO ONE: then
 *                                                         the next offset
 *     a restart with the RDB file of SHUTDOWN SAVE        an offset
 *     a restart with an AOF, or with nothing              -1, but the uptime begins anew
 *     repl-backlog-ttl (3,600 s) without a replica        -1: by then any guard is over, unless
 *                                                         somebody set less; but the offset where
 *                                                         there is no backlog, as the
 *                                                         link never stood
 *
 * Plain INFO, since Redis before 7.0 takes one section at a time. A server that reports no offset
 * is treated as if it had taken over nothing. */
REDLOCK_PRIVATE void wire_read_info(const char *line, size_t size,
                                    struct redlock_identity *identity);

/* The kind of trouble that the text of an error reply reports. */
REDLOCK_PRIVATE enum redlock_trouble wire_trouble(const char *text, size_t size);

/* An answer as a vote. trouble is that of an error. */
REDLOCK_PRIVATE enum redlock_vote
wire_vote(enum redlock_command command, enum redlock_answer answer, enum redlock_trouble trouble);

/* Like wire_trouble, but only the classes that the engine acts on. They are NOSCRIPT, WRONGTYPE,
 * AHEAD, NOAUTH for any error that ends the session, and OTHER_ERROR. The other kinds are only
 * linked with redlock_view_node. */
REDLOCK_PRIVATE enum redlock_trouble wire_class(const char *text, size_t size);

/* True if the node will not vote on this connection any more, or may not, so that a new handshake
 * has to find out why. After MOVED it may have become a replica, as after READONLY. */
static inline bool wire_ends_session(enum redlock_trouble class_of_error)
{
    return class_of_error == REDLOCK_TROUBLE_NOAUTH || class_of_error == REDLOCK_TROUBLE_MOVED;
}

/* Writes the value of a lock's keys, the token, and after a blank the holder's name if the engine
 * has one. Without a NUL. Returns its size. */
REDLOCK_PRIVATE size_t wire_value_text(const uint8_t token[REDLOCK_TOKEN_SIZE], const char *holder,
                                       char text[REDLOCK_VALUE_TEXT]);

/* Writes the hex digits of a token, without a NUL. wire_token_read reads them. False: they are not
 * 40 of 0-9 a-f, and token may have any of them. */
REDLOCK_PRIVATE void wire_token_text(const uint8_t token[REDLOCK_TOKEN_SIZE],
                                     char text[REDLOCK_TOKEN_TEXT]);
REDLOCK_PRIVATE bool wire_token_read(const char *text, size_t size,
                                     uint8_t token[REDLOCK_TOKEN_SIZE]);

/* The size of expected if text begins with it, else 0. wire_text_is is true if the reply is that
 * text, whole, and wire_says if it has these words anywhere. */
REDLOCK_PRIVATE size_t wire_begins(const char *text, size_t size, const char *expected);
REDLOCK_PRIVATE bool wire_text_is(const struct wire_reply *reply, const char *text);
REDLOCK_PRIVATE bool wire_says(const struct wire_reply *reply, const char *words);

/* Reads decimal digits, and nothing else, of a number up to max < 2^60. */
REDLOCK_PRIVATE bool wire_read_decimal(const char *text, size_t size, uint64_t max,
                                       uint64_t *number);

/* ---- Parts of the commands of the kinds ---- */

/* These put the only resource, or the first of several, the value of its key, and the value that
 * was put there and that a release names (S6). */
REDLOCK_PRIVATE void wire_put_resource(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_value(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_placed(struct resp_writer *w, const struct wire_subject *s);

/* wire_put_grant puts value, TTL, ticket, its life and the skew, and wire_put_extend
 * value and TTL. */
REDLOCK_PRIVATE void wire_put_grant(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_extend(struct resp_writer *w, const struct wire_subject *s);

/* These put a lock's entry among the waiters, or "" if it has none, the placed value and that
 * entry, and the arguments to wait. */
REDLOCK_PRIVATE void wire_put_entry_if_any(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_wake(struct resp_writer *w, const struct wire_subject *s);
REDLOCK_PRIVATE void wire_put_wait(struct resp_writer *w, const struct wire_subject *s);

/* Puts a letter for each resource, s if the lock has it shared or asks for that, else x. */
REDLOCK_PRIVATE void wire_put_modes(struct resp_writer *w, const struct wire_subject *s);

/* The whole command PTTL resource. */
REDLOCK_PRIVATE void wire_put_pttl(struct resp_writer *w, const struct wire_subject *s);

/* Writes an entry that ends where text ends, and returns where it begins. */
enum { WIRE_ENTRY_ROOM = 2 * REDLOCK_NAME_SIZE + 1 + RESP_DIGITS_MAX };
REDLOCK_PRIVATE size_t wire_write_entry(char text[WIRE_ENTRY_ROOM],
                                        const uint8_t engine[REDLOCK_NAME_SIZE], uint32_t number);

/* Writes two hex digits for each byte. */
REDLOCK_PRIVATE void wire_write_hex(const uint8_t *bytes, size_t size, char *text);

/* EVALSHA, or EVAL, of a script with the resources as its keys. Its arguments follow them. */
REDLOCK_PRIVATE void wire_put_script(struct resp_writer *w, const struct wire_row *script,
                                     enum redlock_form form, const struct wire_subject *s);

/* A script's text is sent in one write with the bytes around it if the buffer has room for it and
 * for the rest of any command. Otherwise it is sent from its own place. */
REDLOCK_PRIVATE void wire_put_script_text(struct resp_writer *w, const char *text);

#endif
