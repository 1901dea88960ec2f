#include "ask_all.h"

#include <assert.h>
#include <string.h>

#include "print.h"
#include "text.h"

void ask_all_bytes(struct ask_all *all, const void *bytes, size_t size)
{
    assert(all->argument_count < REDLOCK_ARGUMENTS_MAX);
    all->arguments[all->argument_count++] = (struct redlock_name){ .bytes = bytes, .size = size };
}

void ask_all_argument(struct ask_all *all, const char *text)
{
    ask_all_bytes(all, text, strlen(text));
}

static bool is_pending(const struct ask_all *all, unsigned k)
{
    assert(k < REDLOCK_NODES_MAX);
    return all->is_asked[k] && all->questions[k].status == REDLOCK_PENDING;
}

void ask_all_begin(struct ask_all *all, struct session *session)
{
    struct redlock *engine = &session->client.engine;

    assert(all->argument_count > 0);
    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        if (is_pending(all, k)) continue;
        all->is_asked[k] =
            redlock_ask(engine, &all->questions[k], k, all->arguments, all->argument_count,
                        all->answers[k], sizeof all->answers[k], redlock_now_us()) == REDLOCK_OK;
    }
    session_step(session);
}

void ask_all_wait(struct ask_all *all, struct session *session, uint64_t until_us)
{
    unsigned count = session->client.engine.node_count, k = 0;

    while (!session->fault && redlock_now_us() < until_us) {
        for (k = 0; k < count && !is_pending(all, k); k++) {
        }
        if (k == count || session_must_end(session)) return;
        session_wait(session, until_us);
    }
}

/* A string may have come in pieces: they are moved together, over what was said of
 * them in between. */
static bool join_pieces(struct redlock_question *question, struct redlock_item *item, uint8_t *at)
{
    size_t size = 0;

    do {
        memmove(at + size, item->bytes, item->size);
        size += item->size;
    } while (!item->last && redlock_next_item(question, item));
    item->bytes = at;
    item->size = size;
    return item->last;
}

bool ask_all_answer(struct ask_all *all, unsigned k, struct redlock_item *item)
{
    struct redlock_question *question = &all->questions[k];

    assert(k < REDLOCK_NODES_MAX);
    item->type = REDLOCK_ITEM_NULL_ARRAY;
    if (!all->is_asked[k] || question->status != REDLOCK_OK) return false;
    if (question->is_cut || !redlock_next_item(question, item)) return false;
    if (!join_pieces(question, item, all->answers[k])) return false;
    return item->type != REDLOCK_ITEM_ERROR && item->type != REDLOCK_ITEM_ARRAY &&
           item->type != REDLOCK_ITEM_NULL_ARRAY;
}

void ask_all_end(struct ask_all *all, struct session *session)
{
    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        if (is_pending(all, k))
            redlock_forget_question(&session->client.engine, &all->questions[k]);
    }
}

uint64_t item_number(const struct redlock_item *item)
{
    uint64_t number = 0;

    if (item->type != REDLOCK_ITEM_BULK || item->size > 16) return 0;
    for (size_t i = 0; i < item->size; i++) {
        if (item->bytes[i] < '0' || item->bytes[i] > '9') return 0;
        number = number * 10 + (uint64_t)(item->bytes[i] - '0');
    }
    return number;
}

static bool has(const struct redlock_item *item, const char *text)
{
    size_t size = strlen(text);

    assert(size > 0);
    for (size_t at = 0; at + size <= item->size; at++)
        if (memcmp(item->bytes + at, text, size) == 0) return true;
    return false;
}

/* The class of an error. What an ACL forbids to a script is told in words of each version's own:
 * "The user executing the script can't run this command" up to Redis 7.0 (up to 6.2 behind where in
 * the script), "ACL failure in script: User ... has no permissions" from 7.2 on and by Valkey. */
static enum redlock_trouble trouble_of(const struct redlock_item *item)
{
    static const struct {
        const char *begin;
        enum redlock_trouble trouble;
    } classes[] = {
        { "NOPERM ", REDLOCK_TROUBLE_NOPERM },
        { "ERR ACL failure in script: ", REDLOCK_TROUBLE_NOPERM },
        { "ASK ", REDLOCK_TROUBLE_CLUSTERDOWN },
        { "TRYAGAIN ", REDLOCK_TROUBLE_CLUSTERDOWN },
        { "CLUSTERDOWN ", REDLOCK_TROUBLE_CLUSTERDOWN },
        { "MOVED ", REDLOCK_TROUBLE_MOVED },
        { "WRONGTYPE ", REDLOCK_TROUBLE_WRONGTYPE },
    };

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        size_t size = strlen(classes[i].begin);
        if (item->size > size && memcmp(item->bytes, classes[i].begin, size) == 0)
            return classes[i].trouble;
    }
    return has(item, "The user executing the script ") ? REDLOCK_TROUBLE_NOPERM
                                                       : REDLOCK_TROUBLE_OTHER_ERROR;
}

bool item_is_forbidden(const struct redlock_item *item)
{
    return trouble_of(item) == REDLOCK_TROUBLE_NOPERM;
}

void item_note_refusal(const struct redlock_item *item, struct session_note *note,
                       const char *needs)
{
    char words[REDLOCK_ERROR_MAX];

    assert(item->type == REDLOCK_ITEM_ERROR);
    note->trouble = trouble_of(item);
    (void)text_printable(words, sizeof words, item->bytes, item->size);
    (void)print_text(note->text, sizeof note->text, "%s%s",
                     note->trouble == REDLOCK_TROUBLE_NOPERM ? needs : "", words);
}
