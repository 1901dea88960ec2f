/* A shared lock is "~shared" in the resource's own key, and its readers are in a sorted set beside
 * it, each with the time until which it reads, by the node's clock. */
#include "readers.h"

#include <string.h>

#include "ask_all.h"
#include "command_scripts.h"
#include "print.h"

/* Of nodes that were told of different ones. */
enum { CANDIDATES_MAX = 4 * READERS_SHOWN_MAX };

static const char marker[] = "~shared";

static const char script[] = READERS_SCRIPT;

/* All that any node has told of. */
struct told {
    struct reader readers[CANDIDATES_MAX];
    unsigned count;
    bool is_cut;
};

bool is_shared_marker(const struct redlock_sight *sight)
{
    return sight->exists && sight->is_string && sight->value_size == sizeof marker - 1 &&
           memcmp(sight->value, marker, sizeof marker - 1) == 0;
}

/* That of this value; a new one if there is none; NULL: there is no room. */
static struct reader *find(struct told *told, const char *value)
{
    struct reader *reader = told->readers;

    for (unsigned i = 0; i < told->count; i++, reader++)
        if (strcmp(reader->value, value) == 0) return reader;
    if (told->count == CANDIDATES_MAX) return NULL;
    told->count++;
    (void)print_text(reader->value, sizeof reader->value, "%s", value);
    return reader;
}

/* "arrived_us place" */
static void hear_writer(struct readers *readers, const struct redlock_item *item)
{
    uint64_t since = 0;

    for (size_t i = 0; i < item->size && i < 17 && item->bytes[i] >= '0' && item->bytes[i] <= '9';
         i++)
        since = since * 10 + (uint64_t)(item->bytes[i] - '0');
    if (since == 0) return;
    if (!readers->has_writer || since < readers->writer_wall_us) readers->writer_wall_us = since;
    readers->has_writer = true;
}

static void hear_reader(struct told *told, const char *value, int64_t ends_in_ms)
{
    struct reader *reader = find(told, value);

    if (!reader) {
        told->is_cut = true;
        return;
    }
    reader->nodes++;
    if (ends_in_ms > UINT32_MAX) ends_in_ms = UINT32_MAX;
    if (ends_in_ms > (int64_t)reader->ends_in_ms) reader->ends_in_ms = (uint32_t)ends_in_ms;
}

/* A node's answer, item by item; a member may come in pieces. */
static void hear_node(struct readers *readers, struct told *told, struct redlock_question *question)
{
    char value[REDLOCK_VALUE_TEXT + 1] = "";
    struct redlock_item item;
    unsigned at = 0;
    size_t size = 0;

    while (redlock_next_item(question, &item)) {
        if (item.type == REDLOCK_ITEM_ERROR) return;
        if (item.depth == 0) continue;
        if (item.type == REDLOCK_ITEM_BULK && at >= 2) {
            if (item.first) size = 0;
            size += (size_t)print_text(value + size, sizeof value - size, "%.*s", (int)item.size,
                                       (const char *)item.bytes);
            if (size >= sizeof value) size = sizeof value - 1;
        }
        if (at == 0) told->is_cut |= item.integer > READERS_SHOWN_MAX;
        if (at == 1 && item.first) hear_writer(readers, &item);
        if (at >= 3 && at % 2 == 1 && item.type == REDLOCK_ITEM_INTEGER)
            hear_reader(told, value, item.integer);
        at += item.last;
    }
    readers->answers += at >= 2;
}

/* A reader holds the lock where a quorum of nodes has it, as a plain lock is held. */
static void keep_holders(struct readers *readers, const struct told *told, unsigned quorum)
{
    readers->are_more = told->is_cut;
    for (unsigned i = 0; i < told->count; i++) {
        if (told->readers[i].nodes < quorum) continue;
        if (readers->count < READERS_SHOWN_MAX)
            readers->readers[readers->count++] = told->readers[i];
        else                                    readers->are_more = true;
    }
}

void readers_look(struct readers *readers, struct session *session, const char *resource)
{
    static struct ask_all all;
    static struct told told;
    char members[REDLOCK_RESOURCE_MAX + sizeof REDLOCK_READERS_SUFFIX];
    char writer[REDLOCK_RESOURCE_MAX + sizeof REDLOCK_WRITER_SUFFIX];
    char most[8];
    uint64_t until =
        redlock_now_us() + (uint64_t)session->settings->options.engine.node_timeout_ms * 1000;
    unsigned count = session->client.engine.node_count;

    *readers = (struct readers){ .count = 0 };
    told = (struct told){ .count = 0 };
    all = (struct ask_all){ .argument_count = 0 };
    (void)print_text(members, sizeof members, "%s%s", resource, REDLOCK_READERS_SUFFIX);
    (void)print_text(writer, sizeof writer, "%s%s", resource, REDLOCK_WRITER_SUFFIX);
    (void)print_text(most, sizeof most, "%d", READERS_SHOWN_MAX);
    ask_all_argument(&all, "EVAL");
    ask_all_argument(&all, script);
    ask_all_argument(&all, "2");
    ask_all_argument(&all, members);
    ask_all_argument(&all, writer);
    ask_all_argument(&all, most);
    ask_all_begin(&all, session);
    ask_all_wait(&all, session, until);
    for (unsigned k = 0; k < count; k++)
        if (all.is_asked[k] && all.questions[k].status == REDLOCK_OK)
            hear_node(readers, &told, &all.questions[k]);
    keep_holders(readers, &told, redlock_quorum(count));
    ask_all_end(&all, session);
}
