/* The calls of redlock.h about questions to a node that belong to no lock. A question has its entry among those of the
 * node, like a lock's command, so that the order alone tells its answer from theirs. It has no vote. Nothing of this is linked if
 * redlock_ask is not called. */
#include "node.h"

#include <string.h>

REDLOCK_STATIC_ASSERT((int)REDLOCK_ITEM_SIMPLE == (int)RESP_SIMPLE && (int)REDLOCK_ITEM_ERROR == (int)RESP_ERROR &&
                      (int)REDLOCK_ITEM_INTEGER == (int)RESP_INTEGER && (int)REDLOCK_ITEM_BULK == (int)RESP_BULK &&
                      (int)REDLOCK_ITEM_NULL_BULK == (int)RESP_NULL_BULK && (int)REDLOCK_ITEM_ARRAY == (int)RESP_ARRAY &&
                      (int)REDLOCK_ITEM_NULL_ARRAY == (int)RESP_NULL_ARRAY, "an item's type is that of RESP");

enum {
    ARGUMENT_HEAD_MAX = sizeof "$16777216" - 1 + 4,     /* Bytes around those of an argument. Each end is CR LF. */
    QUESTION_HEAD = sizeof "*8" - 1 + 2
};

/* An item in the caller's buffer. Its bytes follow. */
struct record {
    int64_t integer;
    uint32_t size;
    uint8_t type, depth;
    bool first, last;
};

/* ---- Questions that are refused ---- */

static uint8_t upper_case(uint8_t byte)
{
    return byte >= 'a' && byte <= 'z' ? (uint8_t)(byte - ('a' - 'A')) : byte;
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

/* S16: a command that changes the connection would change the meaning of the locks' commands there, or the order of answers.
 * Another database has other keys, and with CLIENT REPLY SKIP the next answer would be taken for this one. */
static bool changes_connection(const struct redlock_name *arguments, unsigned count)
{
    static const char words[][13] = {
        "SELECT", "AUTH", "HELLO", "RESET", "QUIT", "MULTI", "EXEC", "DISCARD", "MONITOR", "SYNC", "PSYNC", "REPLCONF", "SUBSCRIBE",
        "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is_word(&arguments[0], words[i])) return true;
    return count > 1 && is_word(&arguments[0], "CLIENT") && is_word(&arguments[1], "REPLY");
}

/* True if it fits in an empty send buffer. */
static bool question_fits(const struct redlock *r, const struct redlock_name *arguments, unsigned count)
{
    size_t room = r->config.send_size - QUESTION_HEAD;

    for (unsigned i = 0; i < count; i++) {
        if (room < ARGUMENT_HEAD_MAX || arguments[i].size > room - ARGUMENT_HEAD_MAX) return false;
        room -= arguments[i].size + ARGUMENT_HEAD_MAX;
    }
    return true;
}

/* ---- Questions without an answer, of all nodes, in the order in which they were asked ---- */

/* NULL: there is none, since it was forgotten. */
static struct redlock_question *question_of(struct redlock_question *questions, uint32_t number)
{
    while (questions && questions->number != number) questions = questions->next;
    return questions;
}

/* The first that is to be sent to node k. NULL: there is none. */
static struct redlock_question *first_unsent(struct redlock_question *questions, unsigned k)
{
    while (questions && (questions->is_sent || questions->node != k)) questions = questions->next;
    return questions;
}

static void append_question(struct redlock_question **questions, struct redlock_question *question)
{
    question->number = 1;
    for (; *questions; questions = &(*questions)->next) {
        REDLOCK_CHECK(*questions != question);      /* Otherwise it was asked again before it had ended. */
        question->number = (*questions)->number + 1;
    }
    if (question->number == 0) question->number = 1;    /* Once more after 2^32 of them without a pause. */
    *questions = question;
}

static void end_question(struct redlock_question **questions, struct redlock_question *question, enum redlock_status status)
{
    while (*questions != question) questions = &(*questions)->next;
    *questions = question->next;
    question->status = (uint8_t)status;
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

/* A script that lies apart must have been sent first, since only one can be between the bytes of the buffer. */
static void ask_put(struct redlock *r, unsigned k)
{
    struct redlock_node *node = &r->nodes[k];
    struct redlock_question *question;
    struct resp_writer w;

    if (node->apart) return;
    node_begin_writing(node, &r->config, &w);
    while ((question = first_unsent(r->questions, k)) != NULL && node_can_ask(node, &r->config) && put_question(&w, question)) {
        struct redlock_asked asked = { .command = WIRE_QUESTION, .round = question->number };
        node_asked(node, &r->config, r->now_us, &asked);
        question->is_sent = true;
    }
    node_written(node, &w);
}

/* An item that does not fit is dropped, with all after it, so that the reply has no holes. */
static void keep_reply(struct redlock_question *question, const struct resp_item *item)
{
    struct record record = { .integer = item->integer, .size = (uint32_t)item->size, .type = (uint8_t)item->type,
                             .depth = item->depth, .first = item->first, .last = item->last };

    if (question->read == question->written) question->read = question->written = 0;
    if (question->size - question->written < sizeof record + item->size) question->is_cut = true;
    if (question->is_cut) return;
    memcpy(question->buffer + question->written, &record, sizeof record);
    if (item->size > 0) memcpy(question->buffer + question->written + sizeof record, item->data, item->size);
    question->written += sizeof record + item->size;
}

static void ask_read(struct redlock_question **questions, uint32_t number, const struct resp_item *item)
{
    struct redlock_question *question = question_of(*questions, number);

    if (!question) return;
    keep_reply(question, item);
    if (item->ends_reply) end_question(questions, question, REDLOCK_OK);
}

/* Questions that were not sent may still be sent if the node may be back at once. */
static void ask_disconnected(struct redlock *r, unsigned k)
{
    struct redlock_question *question, *next;

    for (question = r->questions; question; question = next) {
        next = question->next;
        if (question->node != k || (!question->is_sent && !r->nodes[k].settled)) continue;
        end_question(&r->questions, question, REDLOCK_NO_ANSWER);
    }
}

/* ---- Calls ---- */

/* True if it has a connection, or one is expected. */
static bool may_answer(const struct redlock_node *node)
{
    return !node->settled || node->state != NODE_DISCONNECTED;
}

enum redlock_status redlock_ask(struct redlock *r, struct redlock_question *question, unsigned k,
                                const struct redlock_name *arguments, unsigned count, void *buffer, size_t size, uint64_t now_us)
{
    static const struct redlock_asking feature = {
        .waits = ask_waits, .put = ask_put, .read = ask_read, .disconnected = ask_disconnected
    };

    r->now_us = now_us;
    if (k >= r->node_count || count < 1 || count > REDLOCK_ARGUMENTS_MAX) return REDLOCK_BAD_QUESTION;
    if (!question_fits(r, arguments, count) || changes_connection(arguments, count)) return REDLOCK_BAD_QUESTION;
    if (!may_answer(&r->nodes[k])) return REDLOCK_NO_ANSWER;
    *question = (struct redlock_question){
        .feature = &feature, .arguments = arguments, .argument_count = (uint8_t)count, .buffer = (uint8_t *)buffer, .size = size,
        .node = (uint8_t)k, .status = REDLOCK_PENDING
    };
    append_question(&r->questions, question);
    return REDLOCK_OK;
}

enum redlock_status redlock_question_status(const struct redlock_question *question)
{
    return (enum redlock_status)question->status;
}

bool redlock_question_is_cut(const struct redlock_question *question)
{
    return question->is_cut;
}

bool redlock_next_item(struct redlock_question *question, struct redlock_item *item)
{
    const uint8_t *at = question->buffer + question->read;
    struct record record;

    if (question->read == question->written) return false;
    memcpy(&record, at, sizeof record);
    question->read += sizeof record + record.size;
    *item = (struct redlock_item){ .type = (enum redlock_item_type)record.type, .depth = record.depth, .first = record.first,
                                   .last = record.last, .bytes = at + sizeof record, .size = record.size,
                                   .integer = record.integer };
    return true;
}

void redlock_forget_question(struct redlock *r, struct redlock_question *question)
{
    struct redlock_node *node = &r->nodes[question->node];

    if (question->status != REDLOCK_PENDING) return;
    for (unsigned i = 0; i < node->asked_count; i++) {
        struct redlock_asked *asked = node_asked_at(node, &r->config, i);
        if (asked->command == WIRE_QUESTION && asked->round == question->number) asked->round = 0;
    }
    end_question(&r->questions, question, REDLOCK_CANCELLED);
}
