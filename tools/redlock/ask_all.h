/* One question to all nodes at once, on the connections that the lock uses. */
#ifndef ASK_ALL_H
#define ASK_ALL_H

#include "session.h"

/* Bytes that are kept of a node's answer: of the longest, 16 readers with names and times. */
enum { ASK_ANSWER_MAX = 3072 };

struct ask_all {
    /* The command's name first. Their bytes are the caller's. */
    struct redlock_name arguments[REDLOCK_ARGUMENTS_MAX];
    unsigned argument_count;
    struct redlock_question questions[REDLOCK_NODES_MAX];
    bool is_asked[REDLOCK_NODES_MAX];
    uint8_t answers[REDLOCK_NODES_MAX][ASK_ANSWER_MAX];
};

/* Appends an argument: it, and all, must stay where they are until ask_all_end(). */
void ask_all_argument(struct ask_all *all, const char *text);
void ask_all_bytes(struct ask_all *all, const void *bytes, size_t size);

/* Asks each node that is connected and has answered the last time that this was asked. What is not
 * asked has no answer. */
void ask_all_begin(struct ask_all *all, struct session *session);

/* Waits until each has answered, or until_us. Signals end the waiting if they end the program. */
void ask_all_wait(struct ask_all *all, struct session *session, uint64_t until_us);

/* The answer of node k, if it has come, is no array and no error, and was not cut off. If false,
 * *item is of type ERROR where the node refused. */
bool ask_all_answer(struct ask_all *all, unsigned k, struct redlock_item *item);

/* The number that a string of up to 16 digits is; 0: it is none. */
uint64_t item_number(const struct redlock_item *item);

/* Does an error say that an ACL forbids a command, or one that a script calls? */
bool item_is_forbidden(const struct redlock_item *item);

/* The engine notes what nodes say to a lock; what one refuses of a question is noted so. needs:
 * what an ACL must allow, with ": " behind it. item: of type ERROR. */
void item_note_refusal(const struct redlock_item *item, struct session_note *note,
                       const char *needs);

/* Gives back what is not answered. */
void ask_all_end(struct ask_all *all, struct session *session);

#endif
