/* The wire: every command that redlock sends and every answer that it understands, byte for byte. The only file that knows
 * both RESP and locks.
 *
 * Handshake, pipelined, on each new connection (left out where not needed: AUTH, SELECT):
 *     AUTH [user] password            +OK
 *     SELECT database                 +OK
 *     CLIENT SETNAME redlock          +OK                 or an error, ignored
 *     INFO server                     $run_id, uptime_in_seconds, redis_mode
 *     ROLE                            *"master" ...
 *     SCRIPT LOAD release-script      $its SHA-1          or -NOPERM, ignored: EVAL will do
 *     SCRIPT LOAD extend-script       $its SHA-1
 *
 * Acquire:
 *     SET resource token NX PX ttl    +OK granted         $-1 refused
 *     PTTL resource                   :ms                 behind a refusal: when will it be free? -1: no TTL, -2: it is
 * Extend, release:
 *     EVALSHA extend 1 resource token ttl     :1 granted  :0 refused, the key is not ours
 *     EVALSHA release 1 resource token        :1 granted  :0 refused, no key there   :-1 refused, another's
 *     EVAL in place of EVALSHA when the answer was -NOSCRIPT
 * Inspect:
 *     GETRANGE resource 0 40          $value              41 bytes: longer than a token
 *     PTTL resource
 *
 * Every other answer is no grant (S3). An error is a vote of its own meaning; an answer of another type ends the
 * connection (S16). Keys and values are the plain ones of every Redlock library, so that they exclude each other. */
#ifndef REDLOCK_WIRE_H
#define REDLOCK_WIRE_H

#include "private.h"
#include "redlock.h"
#include "../resp/resp.h"

enum wire_command {
    WIRE_NONE,
    WIRE_AUTH, WIRE_SELECT, WIRE_SETNAME, WIRE_INFO, WIRE_ROLE, WIRE_LOAD_RELEASE, WIRE_LOAD_EXTEND,
    WIRE_READY,             /* No command: the end of the handshake. */
    WIRE_ACQUIRE, WIRE_EXTEND, WIRE_RELEASE, WIRE_PTTL, WIRE_GETRANGE
};

#define WIRE_RELEASE_SCRIPT                                             \
    "local v=redis.call('get',KEYS[1]) "                                \
    "if v==ARGV[1] then return redis.call('del',KEYS[1]) end "          \
    "return v and -1 or 0"
#define WIRE_RELEASE_SHA1 "42d2860ed2467036b548ac930461d308bbbcebea"

/* S7: it never shortens, or a short extension that reaches a minority would take from the holder what it was promised. */
#define WIRE_EXTEND_SCRIPT                                              \
    "local c,k=redis.call,KEYS[1] "                                     \
    "if c('get',k)~=ARGV[1] then return 0 end "                         \
    "local p=c('pttl',k) "                                              \
    "if p>=0 and p<tonumber(ARGV[2]) then c('pexpire',k,ARGV[2]) end "  \
    "return 1"
#define WIRE_EXTEND_SHA1 "b23328c4e97b99c926354be9709aa6718b638504"

enum {
    WIRE_VALUE_MAX = REDLOCK_TOKEN_TEXT + 1,    /* Bytes of a value that GETRANGE asks for. */
    WIRE_UPTIME_MAX = 50 * 365 * 86400,    /* 50 years: a server that claims more has a wrong clock. */
    /* EVAL of the extend script is the longest command of a lock: so much without the resource. */
    WIRE_COMMAND_MAX = sizeof WIRE_EXTEND_SCRIPT - 1 + sizeof "*6 $4 EVAL $162 $1 1 $512 $40 $10 2147483647" + 16 + 40
};

/* What a command of a lock is about. */
struct wire_subject {
    const uint8_t *resource;
    size_t resource_size;
    const uint8_t *token;           /* REDLOCK_TOKEN_SIZE bytes */
    uint32_t ttl_ms;
    bool eval;                      /* Send the script, not its SHA-1. */
};

/* Appends a command of a lock, or of the handshake, whole or not at all: then false. */
REDLOCK_PRIVATE bool wire_put(struct resp_writer *w, enum wire_command command, const struct wire_subject *subject);
REDLOCK_PRIVATE bool wire_put_greeting(struct resp_writer *w, enum wire_command command, const struct redlock_login *login);

/* True when this step of the handshake has nothing to say with this login. */
REDLOCK_PRIVATE bool wire_is_left_out(enum wire_command command, const struct redlock_login *login);

/* A whole reply, as far as it matters. */
struct wire_reply {
    enum resp_type type;
    int64_t integer;
    const char *text;               /* The beginning of a string, or of the first string of an array. */
    size_t text_size;
    bool text_cut;                  /* There was more of it. */
};

enum wire_answer {
    WIRE_GRANTED,
    WIRE_REFUSED,
    WIRE_ERROR,                     /* An error reply: see wire_trouble. */
    WIRE_WRONG                      /* Of a type or a value that this command never answers (S16). */
};

/* What the reply means as the answer to that command. */
REDLOCK_PRIVATE enum wire_answer wire_read(enum wire_command command, const struct wire_reply *reply);

/* Takes what matters from one line of INFO (without its end), and from the answer to ROLE. */
REDLOCK_PRIVATE void wire_read_info(const char *line, size_t size, struct redlock_identity *identity);
REDLOCK_PRIVATE void wire_read_role(const struct wire_reply *reply, struct redlock_identity *identity);

/* What kind of trouble the text of an error reply tells of. */
REDLOCK_PRIVATE enum redlock_trouble wire_trouble(const char *text, size_t size);

/* True when the node will not vote on this connection any more, so that a new handshake has to find out why. */
REDLOCK_PRIVATE bool wire_ends_session(enum redlock_trouble trouble);

/* The hex digits of a token, without a NUL; and the way back: false when they are not 40 of 0-9 a-f. */
REDLOCK_PRIVATE void wire_token_text(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDLOCK_TOKEN_TEXT]);
REDLOCK_PRIVATE bool wire_token_read(const char *text, size_t size, uint8_t token[REDLOCK_TOKEN_SIZE]);

/* How many bytes of text are those of expected: all of expected, or 0. */
REDLOCK_PRIVATE size_t wire_begins(const char *text, size_t size, const char *expected);

#endif
