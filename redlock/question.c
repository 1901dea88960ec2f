/* Questions to a node that belong to no lock: those that are not answered, and what an answer
 * leaves in the caller's buffer. Knows no node: ask.c says how they are asked. */
#include "question.h"

#include <string.h>

REDLOCK_STATIC_ASSERT((int)REDLOCK_ITEM_SIMPLE == (int)RESP_SIMPLE &&
                          (int)REDLOCK_ITEM_ERROR == (int)RESP_ERROR &&
                          (int)REDLOCK_ITEM_INTEGER == (int)RESP_INTEGER &&
                          (int)REDLOCK_ITEM_BULK == (int)RESP_BULK &&
                          (int)REDLOCK_ITEM_NULL_BULK == (int)RESP_NULL_BULK &&
                          (int)REDLOCK_ITEM_ARRAY == (int)RESP_ARRAY &&
                          (int)REDLOCK_ITEM_NULL_ARRAY == (int)RESP_NULL_ARRAY,
                      "an item's type is that of RESP");

/* An item in the caller's buffer. Its bytes follow. */
struct record {
    int64_t integer;
    uint32_t size;
    uint8_t type, depth;
    bool first, last;
};

/* ---- Questions without an answer, of all nodes, in the order in which they were asked ---- */

/* NULL: there is none, since it was forgotten. */
static struct redlock_question *question_of(struct redlock_question *questions, uint32_t number)
{
    while (questions && questions->number != number) questions = questions->next;
    return questions;
}

void question_append(struct redlock *r, struct redlock_question *question)
{
    struct redlock_question **end = &r->questions;

    /* Otherwise it was asked again before it had ended. */
    for (; *end; end = &(*end)->next) REDLOCK_CHECK(*end != question);
    /* Once more after 2^32 of them: an answer to the first has come, or none will. */
    question->number = ++r->question_count;
    *end = question;
}

void question_end(struct redlock_question **questions, struct redlock_question *question,
                  enum redlock_status status)
{
    while (*questions != question) questions = &(*questions)->next;
    *questions = question->next;
    question->status = status;
}

/* ---- Answers ---- */

/* An item that does not fit is dropped, with all after it, so that the reply has no holes. */
static void keep_reply(struct redlock_question *question, const struct resp_item *item)
{
    struct record record = {
        .integer = item->integer, .size = (uint32_t)item->size, .type = (uint8_t)item->type,
        .depth = item->depth, .first = item->first, .last = item->last
    };

    if (question->read == question->written) question->read = question->written = 0;
    if (question->size - question->written < sizeof record + item->size) question->is_cut = true;
    if (question->is_cut) return;
    memcpy(question->buffer + question->written, &record, sizeof record);
    copy_bytes(question->buffer + question->written + sizeof record, item->data, item->size);
    question->written += sizeof record + item->size;
}

void question_read(struct redlock_question **questions, uint32_t number,
                   const struct resp_item *item)
{
    struct redlock_question *question = question_of(*questions, number);

    if (!question) return;
    keep_reply(question, item);
    if (item->ends_reply) question_end(questions, question, REDLOCK_OK);
}

/* ---- Calls ---- */

bool redlock_next_item(struct redlock_question *question, struct redlock_item *item)
{
    const uint8_t *at;
    struct record record;

    if (question->read == question->written) return false;
    at = question->buffer + question->read;
    memcpy(&record, at, sizeof record);
    question->read += sizeof record + record.size;
    *item = (struct redlock_item){
        .type = (enum redlock_item_type)record.type, .depth = record.depth, .first = record.first,
        .last = record.last, .bytes = at + sizeof record, .size = record.size,
        .integer = record.integer
    };
    return true;
}

void redlock_forget_question(struct redlock *r, struct redlock_question *question)
{
    if (question->status == REDLOCK_PENDING)
        question_end(&r->questions, question, REDLOCK_CANCELLED);
}
