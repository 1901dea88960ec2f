#include "notes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "settings.h"
#include "text.h"

static bool is_worth_a_note(enum redlock_trouble trouble)
{
    return trouble != REDLOCK_TROUBLE_NONE && trouble != REDLOCK_TROUBLE_NEW;
}

int64_t notes_ahead_ms(const char *words)
{
    const char *colon = strrchr(words, ':');

    return colon ? (int64_t)(redlock_wall_us() / 1000) - strtoll(colon + 1, NULL, 10) * 1000 : 0;
}

/* "AHEAD of the clock of this node: 1795262400", in seconds. By how much ours is ahead, or the
 * ticket that others were given? */
static void describe_ahead(struct session_note *note, uint32_t skew_ms)
{
    int64_t ahead_ms = notes_ahead_ms(note->text);
    char duration[TEXT_DURATION_MAX];

    if (ahead_ms > (int64_t)skew_ms)
        (void)print_text(note->text, sizeof note->text,
                         "our wall clock is %s ahead of its, so it gives no ticket",
                         text_duration(duration, (uint64_t)ahead_ms));
    else
        (void)print_text(
            note->text, sizeof note->text,
            "the last ticket is too far ahead of its wall clock, so it gives no ticket");
}

static void note_trouble(struct session *session, unsigned k, enum redlock_trouble trouble,
                         uint64_t now_us)
{
    struct session_note *note = &session->notes[k];
    bool is_known = note->trouble == trouble;

    assert(k < REDLOCK_NODES_MAX && trouble != REDLOCK_TROUBLE_NONE);
    /* Its answer is of when it came. */
    if (is_known && trouble == REDLOCK_TROUBLE_AHEAD) return;
    if (!is_known)
        note->came_late = trouble == REDLOCK_TROUBLE_NOSCRIPT &&
                          redlock_vote_of(&session->lock, k) == REDLOCK_VOTE_UNKNOWN;
    note->trouble = trouble;
    redlock_describe_node(&session->client.engine, k, now_us, note->text, sizeof note->text);
    text_cut_echo(note->text);
    if (trouble == REDLOCK_TROUBLE_AHEAD)
        describe_ahead(note, session->settings->options.engine.ticket_skew_ms);
}

/* So many that the others are no quorum. */
static bool are_too_many(const struct session *session, enum redlock_trouble trouble)
{
    unsigned count = session->client.engine.node_count, with = 0;

    assert(count > 0);
    for (unsigned k = 0; k < count; k++) with += session->notes[k].trouble == trouble;
    return with > count - redlock_quorum(count);
}

enum redlock_status notes_attempt_status(const struct session *session)
{
    enum redlock_status status = redlock_attempt_status(&session->lock);

    if (status == REDLOCK_NO_QUORUM && are_too_many(session, REDLOCK_TROUBLE_WRONGTYPE))
        return REDLOCK_TAKEN;
    if (status != REDLOCK_TAKEN || redlock_view_lock(&session->lock).free_in_ms != 0) return status;
    return are_too_many(session, REDLOCK_TROUBLE_AHEAD) ? REDLOCK_NO_QUORUM : status;
}

static bool needs_scripts(const struct settings *settings)
{
    return settings->ticket || settings->name_count > 1 ||
           settings_kind(settings) != &redlock_plain;
}

/* It has a vote, but not on this lock, or not on this extension. */
static bool lacks_scripts(const struct session *session, unsigned k,
                          const struct redlock_node_view *node)
{
    bool is_extension = session->lock.round.command == REDLOCK_COMMAND_EXTEND;

    return node->lacks_scripts && node->trouble == REDLOCK_TROUBLE_NONE &&
           redlock_vote_of(&session->lock, k) == REDLOCK_VOTE_NOT_ASKED &&
           (is_extension || needs_scripts(session->settings));
}

/* A node that has restarted votes on plain locks earlier than on those with a ticket. */
void notes_take(struct session *session)
{
    struct redlock *engine = &session->client.engine;
    uint64_t now = redlock_now_us();

    if (session->lock.round.number != session->noted_round)
        memset(session->notes, 0, sizeof session->notes);
    session->noted_round = session->lock.round.number;
    for (unsigned k = 0; k < engine->node_count; k++) {
        struct redlock_node_view node = redlock_view_node(engine, k, now);
        bool is_voting = node.trouble == REDLOCK_TROUBLE_NONE && session->wants_ticket &&
                         !node.gives_tickets && !node.lacks_scripts;
        session->notes[k].lacks_scripts = lacks_scripts(session, k, &node);
        if (session->notes[k].lacks_scripts) node.trouble = REDLOCK_TROUBLE_OTHER_ERROR;
        if (!is_worth_a_note(node.trouble) && !is_voting) continue;
        note_trouble(session, k, is_voting ? REDLOCK_TROUBLE_RESTARTED : node.trouble, now);
        session->notes[k].is_voting = is_voting;
    }
}
