/* Shared by the stand-ins for the Lua scripts; only the files model_script*.c include this. No Lua
 * is executed here, but a script with a broken rule behaves accordingly, since its text is searched
 * for the rules that mutants break. From the bottom up:
 *
 *   model_script_calls.c       redis.call(), and what the scripts have in common
 *   model_script_locks.c       acquire, restore, extend, release and wait, of one resource or
 *                              of a set
 *   model_script_permits.c     the same of a semaphore's slots
 *   model_script_marks.c       the mark of a period that is done
 *   model_script_shared.c      readers and writers
 *   model_script_fair.c        the queue of a fair lock
 *   model_script_redisson.c    Redisson's lock
 *   model_scripts.c            which script it is, loaded by which name, called with
 *                              how many arguments */
#ifndef MODEL_SCRIPT_H
#define MODEL_SCRIPT_H

#include "../../redlock/wire.h"
#include "model_inside.h"

/* A script that runs. It may be refused a write, but only before its first one, since it is not
 * stopped halfway. */
struct run {
    const struct scene *scene;
    const char *sha;
    unsigned line;              /* In which its calls stand: the last one. */
    const struct slice *keys, *arguments;
    unsigned key_count, argument_count;
    bool has_written;
    const char *error;          /* The outcome of its last call; NULL: no error. */
    char of_lua[80];            /* An error that names the line. */
};

enum effect { READS, FREES, ADDS }; /* FREES: or writes that need no memory. */

/* ---- model_script_calls.c ---- */

/* Does redis.call() or redis.pcall() of that command get as far as execution? */
bool may_call(struct run *run, const char *command, enum effect effect);
/* The same of a command with that key, which may be on its way to another shard. */
bool may_call_on(struct run *run, const char *command, struct slice name, enum effect effect);

/* An error that redis.call() met ends the script. */
void raise_error(const struct run *run);
struct model_key *run_key(const struct run *run, struct slice name);
void run_remove(const struct run *run, struct model_key *key);

/* If a call returns false, run->error is set. If the key is missing, call_get sets
 * value->data to NULL. */
bool call_get(struct run *run, struct slice name, struct slice *value);
bool call_pttl(struct run *run, struct slice name, int64_t *left_ms);
bool call_del(struct run *run, struct slice name);
bool call_del_both(struct run *run, struct slice name, struct slice other);
/* ttl_ms 0: it lives for ever. */
bool call_set(struct run *run, struct slice name, struct slice value, int64_t ttl_ms);
bool call_pexpire(struct run *run, struct slice name, int64_t ttl_ms);
bool call_pexpireat(struct run *run, struct slice name, uint64_t at_ms);

/* "resource#ticket", "resource#waiters". The bytes are the caller's to free. */
struct slice name_with(struct slice resource, const char *suffix);
void slice_free(struct slice slice);

struct slice member_of(const struct model_entry *entry);
struct model_entry *entry_find(struct model_key *key, struct slice member);

/* The first entry of a set after another one; after NULL: of all. NULL: there is none. */
const struct model_entry *entry_behind(const struct model_key *key,
                                       const struct model_entry *before);

/* The key of a sorted set, for a command that would be executed. NULL: there is
 * none, or run->error. */
struct model_key *sorted_set(struct run *run, struct slice name);
bool call_zadd(struct run *run, struct slice name, uint64_t score, struct slice member);
/* Raises the flag, if the script does so. Adds an entry to the waiters by PEXPIRE, which tests
 * whether the script may set a TTL, then ZADD and PEXPIRE. */
bool call_line_up(struct run *run, bool raises_flag, struct slice waiters, uint64_t score,
                  struct slice member, int64_t life_ms);
void call_zrem(struct run *run, struct slice name, struct slice member);
/* Adds how many have gone. */
bool call_zrem_counted(struct run *run, struct slice name, struct slice member, unsigned *count);
/* False: there was none, or run->error. */
bool call_zpopmin(struct run *run, struct slice name, struct model_entry *first);
/* 0: there is none. */
bool call_zscore(struct run *run, struct slice name, struct slice member, uint64_t *score);
bool call_zcard(struct run *run, struct slice name, size_t *count);
/* The largest score; 0: there is none. */
bool call_largest(struct run *run, struct slice name, uint64_t *score);
/* Takes out the entries whose time is over by a clock of the node. */
bool call_sweep(struct run *run, struct slice name);

/* How many have heard it. */
unsigned call_publish(struct run *run, struct slice channel, struct slice message);
unsigned tell_waiter(struct run *run, const struct model_entry *entry, unsigned slot);

/* Does the script's text have these words? If not, a mutant has broken the rule that they are. */
bool script_says(const char *script, const char *words);

/* The number as Lua compares it. False: it is no number. */
bool lua_number(struct slice text, double *number);

/* If the counter is no number, the error is that of a comparison. sides is "nil with number", or
 * the other way round. */
bool read_counter(struct run *run, struct slice value, double *number, const char *sides);

/* The larger of two PTTLs; none at all is the largest. */
int64_t longer_pttl(int64_t a, int64_t b);

/* The proposal of an acquire or a restore, after the token: "ttl ticket life skew". */
struct proposal {
    int64_t ttl_ms, ticket, life_ms, skew_ms;
};

/* breach: the text that is noted if one of them is out of range. */
struct proposal read_proposal(const struct run *run, const char *breach);
int64_t read_ttl(const struct run *run);    /* The TTL of an extend. */

/* Is the ticket ahead of the node's clock by more than the skew? */
bool is_ahead(const struct run *run, int64_t ticket, int64_t skew_ms);
void answer_ahead(const struct run *run);
/* Then that was the answer. */
bool ticket_is_ahead(const struct run *run, int64_t ticket, int64_t skew_ms);
void answer_refusal(const struct run *run, struct slice largest, int64_t left_ms);
void answer_done(const struct run *run);    /* "OK", and so it is logged. */

/* ---- model_script_locks.c ---- */

/* The effect of a release script on one key. */
enum release { RELEASE_DONE, RELEASE_NOTHING, RELEASE_OTHERS, RELEASE_ERROR, RELEASE_RAISED };

/* Wakes the longest waiting client that listens; slot 0: of no permit. False: nobody, or it may not
 * be published. */
bool release_wakes(struct run *run, struct slice waiters, struct slice flag, unsigned slot);
bool lower_flag(const struct run *run, struct slice flag);  /* True: it stood. */

/* False: not all of the keys hold the token, or run->error. */
bool extend_holds_all(struct run *run);
void do_acquire(struct run *run);
void do_restore(struct run *run);
void do_release(struct run *run);
void do_release_one(struct run *run);
void do_extend(struct run *run);

/* ---- model_script_permits.c ---- */

void do_permit_acquire(struct run *run);
void do_permit_restore(struct run *run);
void do_permit_extend(struct run *run);
void do_permit_release(struct run *run);
void do_permit_wait(struct run *run);

/* ---- model_script_marks.c ---- */

void do_mark(struct run *run);
void do_promotion(struct run *run);

/* ---- model_script_shared.c ---- */

/* wake.lua: how many have been told. is_free: a writer may come, too. */
unsigned wake_in_order(struct run *run, struct slice name, bool is_free);
void do_shared_acquire(struct run *run);
void do_shared_extend(struct run *run);
void do_shared_release(struct run *run);
void do_wait(struct run *run);

/* ---- model_script_fair.c ---- */

void do_fair_acquire(struct run *run);
void do_fair_restore(struct run *run);
void do_fair_extend(struct run *run);
void do_fair_release(struct run *run);

/* ---- model_script_redisson.c ---- */

void do_redisson_acquire(struct run *run);
void do_redisson_extend(struct run *run);
void do_redisson_release(struct run *run);

#endif
