/* Shared by the files with the checks. judge.c makes findings and has the table of checks; checks_*.c judge one
 * node each, named in judging. There is a function for each check, which finds something, even if all is well. */
#ifndef JUDGING_H
#define JUDGING_H

#include "judge.h"

struct judging {
    const struct survey *survey;
    const struct judge_limits *limits;
    const struct survey_node *node;     /* NULL: of all. */
    unsigned k, check;
    struct findings *findings;
};

#ifdef __GNUC__
#define LIKE_PRINTF(text, arguments) __attribute__((format(printf, text, arguments)))
#else
#define LIKE_PRINTF(text, arguments)
#endif

/* ---- What is found ---- */

/* fix: the remedy. */
void found(struct judging *j, enum severity severity, const char *fix, const char *format, ...) LIKE_PRINTF(4, 5);

/* All is well. */
void well(struct judging *j, const char *format, ...) LIKE_PRINTF(2, 3);

/* needs: the rule that an ACL must allow; NULL: it does not hide it. */
void unknown(struct judging *j, const char *needs, const char *format, ...) LIKE_PRINTF(3, 4);

/* Notes that nobody asked for it, and why. */
void left_out(struct judging *j, const char *why);

/* Has the node been found unsafe so far? */
bool is_unsafe(const struct findings *findings, unsigned k);

/* Why a fact is not known. */
void hidden(struct judging *j, enum fact fact);

/* ---- What the node told ---- */

/* False or NULL means that it is not known, and that was found. */
bool number_of(struct judging *j, enum fact fact, uint64_t *number);
const char *text_of(struct judging *j, enum fact fact);

/* Is it to remember locks over a restart, instead of waiting until they have ended? Then why, in words; else NULL. */
const char *why_remember(const struct judging *j);

/* ---- The checks ---- */

void judge_reach(struct judging *j);
void judge_version(struct judging *j);
void judge_role(struct judging *j);
void judge_mode(struct judging *j);
void judge_same_server(struct judging *j);
void judge_fingerprint(struct judging *j);
void judge_count(struct judging *j);
void judge_eviction(struct judging *j);
void judge_evicted(struct judging *j);
void judge_memory(struct judging *j);
void judge_aof(struct judging *j);
void judge_fsync(struct judging *j);
void judge_rewrite(struct judging *j);
void judge_save(struct judging *j);
void judge_up(struct judging *j);
void judge_clock(struct judging *j);
void judge_rate(struct judging *j);
void judge_step(struct judging *j);
void judge_latency(struct judging *j);
void judge_slow(struct judging *j);
void judge_connections(struct judging *j);
void judge_idle(struct judging *j);
void judge_flushes(struct judging *j);
void judge_access(struct judging *j);
void judge_scripts(struct judging *j);
void judge_ears(struct judging *j);
void judge_loading(struct judging *j);
void judge_certificate(struct judging *j);      /* Nothing, without TLS. */
void judge_canary(struct judging *j);           /* Nothing, unless it is declared durable. */
void judge_vote(struct judging *j);             /* Finds nothing if it has no vote for a reason that is
                                                 * reported. It runs after the checks that report. */

#endif
