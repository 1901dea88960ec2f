/* leader: which leader proclaimed itself last. Reads only.
 *
 * A leader is the holder of a kept lock, and its epoch is its ticket. With each extension it writes
 * "epoch name" into the key NAME#leader of each node where its token holds NAME, and nowhere else;
 * see proclaim.c. So a leader whose proclamation reached a quorum is seen by each client to which a
 * quorum answers: two quorums have a node in common. Of several, the one with the largest epoch is
 * the latest. The answer says which leader there was; it is never a permission. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask_all.h"
#include "commands.h"
#include "exits.h"
#include "print.h"
#include "proclaim.h"
#include "report.h"
#include "text.h"

struct leader {
    uint64_t epoch;             /* 0: there is none. */
    char name[LEADER_NAME_MAX + 1];
    /* Of nodes that have a vote: one that restarted may have forgotten a proclamation. */
    unsigned answers;
};

/* "epoch name": the number has digits only, and one blank behind it. */
static bool read_proclamation(const struct redlock_item *item, uint64_t *epoch, const char **name)
{
    const char *text = (const char *)item->bytes;
    size_t digits = 0;

    *epoch = 0;
    while (digits < item->size && digits < 16 && text[digits] >= '0' && text[digits] <= '9')
        *epoch = *epoch * 10 + (uint64_t)(text[digits++] - '0');
    *name = text + digits + 1;
    return *epoch > 0 && digits < item->size && text[digits] == ' ' &&
           item->size - digits - 1 <= LEADER_NAME_MAX;
}

static void hear(struct leader *leader, const struct redlock_item *item)
{
    uint64_t epoch;
    const char *name;

    if (item->type != REDLOCK_ITEM_BULK || !read_proclamation(item, &epoch, &name) ||
        epoch <= leader->epoch)
        return;
    leader->epoch = epoch;
    (void)print_text(leader->name, sizeof leader->name, "%.*s",
                     (int)(item->size - (size_t)(name - (const char *)item->bytes)), name);
}

static void find_leader(struct leader *leader, struct session *session)
{
    static struct ask_all all;
    struct redlock_item item;
    char key[REDLOCK_RESOURCE_MAX + sizeof REDLOCK_LEADER_SUFFIX];
    uint64_t timeout_us = (uint64_t)session->settings->options.engine.node_timeout_ms * 1000;

    assert(session->settings->name_count == 1);
    (void)print_text(key, sizeof key, "%s%s", session->settings->names[0], REDLOCK_LEADER_SUFFIX);
    ask_all_argument(&all, "GET");
    ask_all_argument(&all, key);
    session_connect(session);
    ask_all_begin(&all, session);
    ask_all_wait(&all, session, redlock_now_us() + timeout_us);
    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        if (!ask_all_answer(&all, k, &item)) {
            if (item.type == REDLOCK_ITEM_ERROR)
                item_note_refusal(&item, &session->notes[k],
                                  "to read the leader takes ~RESOURCE#leader +get: ");
            continue;
        }
        leader->answers += redlock_node_votes(&session->client.engine, k, redlock_now_us());
        hear(leader, &item);
    }
    ask_all_end(&all, session);
}

/* That there is none is an answer, too. */
static void print_json(const struct leader *leader, struct session *session,
                       enum redlock_status status)
{
    unsigned quorum = redlock_quorum(session->client.engine.node_count);

    assert(leader->answers <= session->client.engine.node_count);
    if (session->signal)              status = REDLOCK_CANCELLED;
    else if (status == REDLOCK_TAKEN) status = REDLOCK_OK;
    output_json_begin(stdout, &session->settings->output, NULL, status, NULL);
    (void)print("\"verdict\":\"%s\",\"answers\":%u,\"epoch\":",
                leader->answers < quorum ? "no quorum"
                : leader->epoch > 0      ? "led"
                                         : "none",
                leader->answers);
    if (leader->epoch > 0) (void)print("%" PRIu64 ",\"leader\":", leader->epoch);
    else                   (void)print("null,\"leader\":");
    if (leader->epoch > 0) json_text(stdout, leader->name);
    else                   (void)print("null");
    (void)print(",");
    report_json_end(stdout, session);
}

int leader_command(struct session *session, struct settings *settings)
{
    struct leader leader = { 0 };
    enum redlock_status status = open_session(session, settings);
    char text[TEXT_MAX];
    unsigned count;
    int code;

    if (status != REDLOCK_OK) return EXIT_TROUBLE;
    status = session_check_name(session);
    if (status != REDLOCK_OK) {
        report_status(session, status);
        close_session(session);
        return EXIT_TROUBLE;
    }
    find_leader(&leader, session);
    count = session->client.engine.node_count;
    /* Others may know a later one. */
    if (leader.answers < redlock_quorum(count)) leader.epoch = 0;
    status = leader.answers < redlock_quorum(count) ? REDLOCK_NO_QUORUM
             : leader.epoch > 0                     ? REDLOCK_OK
                                                    : REDLOCK_TAKEN;
    if (settings->output.json) {
        print_json(&leader, session, status);
    } else if (status == REDLOCK_OK) {
        (void)text_printable(text, sizeof text, leader.name, strlen(leader.name));
        (void)print("%" PRIu64 " %s\n", leader.epoch, text);
    } else if (status == REDLOCK_NO_QUORUM && !session->signal) {
        say_of_resource("no quorum: %u of %u nodes can tell, quorum %u", leader.answers, count,
                        redlock_quorum(count));
        report_nodes(session);
    }
    if (!output_written("the leader")) status = REDLOCK_SYSTEM;
    code = status == REDLOCK_TAKEN ? EXIT_NO_LEADER : exit_of(session, status);
    close_session(session);
    return code;
}
