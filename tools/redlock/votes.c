#include "votes.h"

#include <assert.h>

#include "log.h"
#include "report.h"

_Static_assert(REDLOCK_NODES_MAX <= 16, "nodes that were told are kept in a uint16_t");

void votes_begin(struct votes *votes, struct session *session)
{
    session->missing = 0;
    *votes = (struct votes){ .first_round = session->lock.round.number };
}

/* A node that came late is not asked by the first extension, and is well all the same: behind that
 * it gets the key. */
static bool is_without(struct session *session, unsigned k)
{
    enum redlock_vote vote = redlock_vote_of(&session->lock, k);

    assert(k < session->client.engine.node_count);
    if (vote != REDLOCK_VOTE_NOT_ASKED)
        return vote == REDLOCK_VOTE_UNKNOWN || vote == REDLOCK_VOTE_REFUSED;
    return session->notes[k].trouble != REDLOCK_TROUBLE_NONE;
}

/* Each extension is told elsewhere with --verbose, and nothing with --json. */
static bool is_told(const struct session *session)
{
    return !session->output->verbose && !session->output->json;
}

/* A round that is lost as it begins asks nobody. */
static bool asks_nobody(const struct redlock_round *round)
{
    return round->decided_at == round->started_at;
}

/* late: it has not answered before the next extension began. */
static void watch_node(struct votes *votes, struct session *session, unsigned k, bool late)
{
    enum redlock_vote vote = redlock_vote_of(&session->lock, k);
    uint16_t bit = (uint16_t)(1u << k);
    const char *advice;

    assert(k < session->client.engine.node_count);
    if (vote == REDLOCK_VOTE_PENDING && !asks_nobody(&session->lock.round)) votes->pending |= bit;
    if (vote == REDLOCK_VOTE_GRANTED) session->missing &= (uint16_t)~bit;
    if ((session->missing & bit) || !(late || is_without(session, k))) return;
    session->missing |= bit;
    if (is_told(session)) report_missing_vote(session, k);
    log_node(session, LOG_DEGRADED, k, report_why_missing(session, k, &advice));
}

void votes_watch(struct votes *votes, struct session *session)
{
    const struct redlock_round *round = &session->lock.round;
    uint16_t before = session->missing, late = round->number != votes->round ? votes->pending : 0;

    if (round->number == votes->first_round || (late == 0 && round->decided_at == 0)) return;
    votes->round = round->number;
    votes->pending = 0;
    for (unsigned k = 0; k < session->client.engine.node_count; k++)
        watch_node(votes, session, k, late >> k & 1);
    if (!before || session->missing) return;
    log_transition(session, LOG_RESTORED, NULL);
    if (is_told(session))
        say_of_resource("kept with all %u nodes again", session->client.engine.node_count);
}
