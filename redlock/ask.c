/* The calls of redlock.h about questions to a node that belong to no lock. A question has its entry
 * among those of the node, like a lock's command, so that the order alone tells its answer from
 * theirs. It has no vote. Nothing of this is linked if redlock_ask is not called. */
#include "node.h"
#include "question.h"

enum {
    /* Bytes around those of an argument. Each end is CR LF. */
    ARGUMENT_HEAD_MAX = sizeof "$16777216" - 1 + 4,
    QUESTION_HEAD = sizeof "*8" - 1 + 2
};

/* ---- Questions that are refused ---- */

/* Bytes behind the z become no letters. */
static uint8_t upper_case(uint8_t byte)
{
    return byte >= 'a' ? (uint8_t)(byte - ('a' - 'A')) : byte;
}

static bool is_word(const struct redlock_name *argument, const char *word)
{
    const uint8_t *bytes = (const uint8_t *)argument->bytes;
    size_t size = length_of(word, argument->size + 1);

    if (size != argument->size) return false;
    for (size_t i = 0; i < size; i++)
        if (upper_case(bytes[i]) != (uint8_t)word[i]) return false;
    return true;
}

/* S16: a command that changes the connection would change the meaning of the locks' commands there,
 * or the order of answers. Another database has other keys, and with CLIENT REPLY SKIP the next
 * answer would be taken for this one. */
static bool changes_connection(const struct redlock_name *arguments, unsigned count)
{
    static const char words[] =
        "SELECT\0AUTH\0HELLO\0RESET\0QUIT\0MULTI\0EXEC\0DISCARD\0MONITOR\0SYNC\0PSYNC\0"
        "REPLCONF\0SUBSCRIBE\0PSUBSCRIBE\0SSUBSCRIBE\0UNSUBSCRIBE\0PUNSUBSCRIBE\0SUNSUBSCRIBE\0";

    for (const char *word = words; *word != '\0'; word = next_text(word, sizeof words))
        if (is_word(&arguments[0], word)) return true;
    return count > 1 && is_word(&arguments[0], "CLIENT") && is_word(&arguments[1], "REPLY");
}

/* True if it fits in an empty send buffer. */
static bool question_fits(const struct redlock *r, const struct redlock_name *arguments,
                          unsigned count)
{
    size_t room = r->config.send_size - QUESTION_HEAD;

    for (unsigned i = 0; i < count; i++) {
        if (room < ARGUMENT_HEAD_MAX || arguments[i].size > room - ARGUMENT_HEAD_MAX) return false;
        room -= arguments[i].size + ARGUMENT_HEAD_MAX;
    }
    return true;
}

/* ---- What is asked ---- */

/* The first that is to be sent to node k. NULL: there is none. */
static struct redlock_question *first_unsent(struct redlock_question *questions, unsigned k)
{
    while (questions && (questions->is_sent || questions->node != k)) questions = questions->next;
    return questions;
}

static bool ask_waits(struct redlock_question *questions, unsigned k)
{
    return first_unsent(questions, k) != NULL;
}

static bool put_question(struct resp_writer *w, const struct redlock_question *question)
{
    resp_command(w, question->argument_count);
    for (unsigned i = 0; i < question->argument_count; i++)
        resp_bytes(w, question->arguments[i].bytes, question->arguments[i].size);
    return resp_end(w);
}

/* A script that lies apart must have been sent first, since only one can be between the bytes of
 * the buffer. */
static void ask_put(struct redlock *r, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];
    struct redlock_question *question;
    struct resp_writer w;

    if (node->apart) return;
    node_begin_writing(node, &r->config, &w);
    while ((question = first_unsent(r->questions, k)) != NULL && node_can_ask(node, &r->config) &&
           put_question(&w, question)) {
        struct redlock_asked asked = {
            .command = REDLOCK_COMMAND_QUESTION, .round = question->number
        };
        node_asked(node, &r->config, r->now_us, &asked);
        question->is_sent = true;
    }
    node_written(node, &w);
}

/* Questions that were not sent may still be sent if the node may be back at once. */
static void ask_disconnected(struct redlock *r, unsigned k)
{
    struct redlock_question *question, *next;

    for (question = r->questions; question; question = next) {
        next = question->next;
        if (question->node != k || (!question->is_sent && !r->nodes[k].settled)) continue;
        question_end(&r->questions, question, REDLOCK_NO_ANSWER);
    }
}

/* ---- Calls ---- */

/* True if it has a connection, or one is expected. */
static bool may_answer(const struct redlock_node *node)
{
    return !node->settled || node->state != NODE_DISCONNECTED;
}

enum redlock_status redlock_ask(struct redlock *r, struct redlock_question *question, unsigned k,
                                const struct redlock_name *arguments, unsigned count, void *buffer,
                                size_t size, uint64_t now_us)
{
    static const struct redlock_asking feature = {
        .waits = ask_waits, .put = ask_put, .read = question_read, .disconnected = ask_disconnected
    };

    r->now_us = now_us;
    if (k >= r->node_count || count < 1 || count > REDLOCK_ARGUMENTS_MAX)
        return REDLOCK_BAD_QUESTION;
    if (!question_fits(r, arguments, count) || changes_connection(arguments, count))
        return REDLOCK_BAD_QUESTION;
    if (!may_answer(&r->nodes[k])) return REDLOCK_NO_ANSWER;
    *question = (struct redlock_question){
        .feature = &feature, .arguments = arguments, .argument_count = (uint8_t)count,
        .buffer = (uint8_t *)buffer, .size = size, .node = (uint8_t)k, .status = REDLOCK_PENDING
    };
    question_append(r, question);
    return REDLOCK_OK;
}
