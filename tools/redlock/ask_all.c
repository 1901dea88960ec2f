#include "ask_all.h"

#include <string.h>

void ask_all_argument(struct ask_all *all, const char *text)
{
    all->arguments[all->argument_count++] = (struct redlock_name){ text, strlen(text) };
}

static bool is_pending(const struct ask_all *all, unsigned k)
{
    return all->is_asked[k] && redlock_question_status(&all->questions[k]) == REDLOCK_PENDING;
}

void ask_all_begin(struct ask_all *all, struct session *session)
{
    struct redlock *engine = redlock_engine(&session->client);

    for (unsigned k = 0; k < redlock_node_count(&session->client); k++) {
        if (is_pending(all, k)) continue;
        all->is_asked[k] = redlock_ask(engine, &all->questions[k], k, all->arguments, all->argument_count, all->answers[k],
                                       sizeof all->answers[k], redlock_now_us()) == REDLOCK_OK;
    }
    session_step(session);
}

void ask_all_wait(struct ask_all *all, struct session *session, uint64_t until_us)
{
    unsigned count = redlock_node_count(&session->client), k = 0;

    while (!session->fault && redlock_now_us() < until_us) {
        for (k = 0; k < count && !is_pending(all, k); k++) {
        }
        if (k == count || session_must_end(session)) return;
        session_wait(session, until_us);
    }
}

bool ask_all_answer(struct ask_all *all, unsigned k, struct redlock_item *item)
{
    struct redlock_question *question = &all->questions[k];

    item->type = REDLOCK_ITEM_NULL_ARRAY;
    if (!all->is_asked[k] || redlock_question_status(question) != REDLOCK_OK) return false;
    if (redlock_question_is_cut(question) || !redlock_next_item(question, item) || !item->last) return false;
    return item->type != REDLOCK_ITEM_ERROR && item->type != REDLOCK_ITEM_ARRAY && item->type != REDLOCK_ITEM_NULL_ARRAY;
}

void ask_all_end(struct ask_all *all, struct session *session)
{
    for (unsigned k = 0; k < redlock_node_count(&session->client); k++) {
        if (is_pending(all, k)) redlock_forget_question(redlock_engine(&session->client), &all->questions[k]);
    }
}
