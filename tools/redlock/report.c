#include "report.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "fingerprint.h"
#include "print.h"
#include "rights.h"
#include "text.h"
#include "tls.h"

/* An extension that began so shortly before the end is no sign that a node hangs. */
enum { ROUND_SHORT_US = 20000 };

/* ---- Nodes ---- */

/* What can be done against it, or NULL. */
static const char *trouble_advice(const struct output *output, enum redlock_trouble trouble)
{
    switch (trouble) {
    case REDLOCK_TROUBLE_NONE:
    case REDLOCK_TROUBLE_NEW:
    case REDLOCK_TROUBLE_NOSCRIPT:
    case REDLOCK_TROUBLE_OTHER_ERROR:  return NULL;
    case REDLOCK_TROUBLE_UNREACHABLE:
        return "is the server running there, and is the address right?";
    case REDLOCK_TROUBLE_CLOSED:       return "the server's log may say why";
    case REDLOCK_TROUBLE_SILENT:
        return "it hangs, or the network does; if it is only slow: --node-timeout";
    case REDLOCK_TROUBLE_PROTOCOL:     return "is it a Redis server, and without TLS?";
    case REDLOCK_TROUBLE_RESTARTED:    return "wait; or, for throw-away servers: --guard 0";
    case REDLOCK_TROUBLE_SAME_SERVER:  return "name each server once";
    case REDLOCK_TROUBLE_REPLICA:
    case REDLOCK_TROUBLE_READONLY:
        return "name servers that are no replicas, of a cluster the master: they must be "
               "independent";
    case REDLOCK_TROUBLE_CLUSTER:
        return "name a server of its own; or the one endpoint of a service: redis://HOST?managed=1";
    case REDLOCK_TROUBLE_MOVED: return "name the server of that address, which has this resource";
    case REDLOCK_TROUBLE_CLUSTERDOWN:  return "wait until one server has the slot of this resource";
    case REDLOCK_TROUBLE_SENTINEL:     return "name its master: sentinel://HOST,HOST,HOST/NAME";
    case REDLOCK_TROUBLE_NO_IDENTITY:
        return "without run_id (or process_id), redis_mode and role nobody sees a restart: name "
               "servers that tell them";
    case REDLOCK_TROUBLE_NOAUTH:       return "set REDLOCK_PASSWORD, or give --password-file";
    case REDLOCK_TROUBLE_WRONGPASS:    return "check the password and --user";
    case REDLOCK_TROUBLE_NOPERM:       return NULL;     /* See rights.h. */
    case REDLOCK_TROUBLE_AHEAD:
        return output->has_no_ticket_option
                   ? "set the clock that is wrong, by NTP"
                   : "set the clock that is wrong, by NTP; or, if no ticket is needed: --no-ticket";
    case REDLOCK_TROUBLE_LOADING:      return "wait until it has loaded its data";
    case REDLOCK_TROUBLE_OOM: return "raise its maxmemory; maxmemory-policy must be noeviction";
    case REDLOCK_TROUBLE_MISCONF:
        return "it cannot save its data: see its log, and whether its disk is full";
    case REDLOCK_TROUBLE_MASTERDOWN:   return "it is a replica: name servers that are independent";
    case REDLOCK_TROUBLE_NOREPLICAS:   return "its replicas are away: see min-replicas-to-write";
    case REDLOCK_TROUBLE_BUSY:         return "a script keeps it busy: SCRIPT KILL";
    case REDLOCK_TROUBLE_WRONGTYPE:
        return "held by a lock of another kind, or no lock at all: choose another RESOURCE";
    case REDLOCK_TROUBLE_MAX_CLIENTS:
        return "raise its maxclients, or find who keeps connections open";
    case REDLOCK_TROUBLE_DENIED:
        return "protected mode: set a password there (requirepass), or protected-mode no";
    }
    return NULL;
}

void report_with_advice(const struct session *session, unsigned k, const char *text,
                        const char *advice)
{
    assert(k < session->client.engine.node_count);
    say("node %u (%s): %s%s%s%s", k, redlock_node_address(&session->client, k), text,
        advice ? " (" : "", advice ? advice : "", advice ? ")" : "");
}

/* That no socket could be had is not the node's fault. */
static bool is_for_want_of_files(const char *text)
{
    return strstr(text, "too many open files");
}

static const char *advice_on(const struct session *session, const char *text,
                             enum redlock_trouble trouble)
{
    const char *advice = tls_advice(text);

    if (advice) return advice;
    if (trouble == REDLOCK_TROUBLE_NOPERM) return rights_advice(session->rights);
    advice = text_lasting_advice(text);
    if (advice) return advice;
    if (strstr(text, "has no run_id") == text)
        return "wait; or, if no node has a replica: --trust-unknown";
    if (strstr(text, "connection reset"))
        return "is the server running there, or does it want TLS: rediss://?";
    return is_for_want_of_files(text) ? "raise the limit of open files: ulimit -n"
                                      : trouble_advice(session->output, trouble);
}

const char *report_advice(const struct session *session, unsigned k, const char *text)
{
    assert(k < session->client.engine.node_count);
    return advice_on(session, text, session->notes[k].trouble);
}

static void say_node(struct session *session, unsigned k, const char *text,
                     enum redlock_trouble trouble)
{
    report_with_advice(session, k, text, advice_on(session, text, trouble));
}

/* That a node did not know a script is none: it got the text, or the round was over. */
static bool is_trouble(const struct session_note *note)
{
    return note->trouble != REDLOCK_TROUBLE_NONE && note->trouble != REDLOCK_TROUBLE_NOSCRIPT;
}

static bool report_trouble(struct session *session, unsigned k)
{
    const struct session_note *note = &session->notes[k];

    assert(k < session->client.engine.node_count);
    if (note->is_voting)
        report_with_advice(session, k, note->text,
                           session->output->has_no_ticket_option
                               ? trouble_advice(session->output, REDLOCK_TROUBLE_RESTARTED)
                               : "wait; or, if no ticket is needed: --no-ticket; for throw-away "
                                 "servers: --guard 0");
    else if (is_trouble(note))
        say_node(session, k, note->text, note->trouble);
    return is_trouble(note);
}

/* A node that would have got the script if the round had not been over has not voted yet. */
static enum redlock_vote vote_so_far(const struct session *session, unsigned k)
{
    assert(k < session->client.engine.node_count);
    if (session->lock.round.number == 0) return REDLOCK_VOTE_NOT_ASKED;
    return session->notes[k].came_late ? REDLOCK_VOTE_PENDING : redlock_vote_of(&session->lock, k);
}

static void report_node(struct session *session, unsigned k, bool owes_answer)
{
    if (redlock_vote_of(&session->lock, k) == REDLOCK_VOTE_GRANTED || report_trouble(session, k))
        return;
    if (owes_answer && session->notes[k].trouble == REDLOCK_TROUBLE_NONE)
        say_node(session, k, "no answer in time", REDLOCK_TROUBLE_SILENT);
}

void report_nodes(struct session *session)
{
    for (unsigned k = 0; k < session->client.engine.node_count; k++)
        report_node(session, k, redlock_vote_of(&session->lock, k) == REDLOCK_VOTE_UNKNOWN);
}

void report_unreleased(struct session *session)
{
    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        enum redlock_vote vote = redlock_vote_of(&session->lock, k);
        report_node(session, k, vote == REDLOCK_VOTE_UNKNOWN || vote == REDLOCK_VOTE_PENDING);
    }
}

/* Had the node time to answer a round that the end of the validity cut short? One that did not
 * grant the round before had that. */
static bool had_time(const struct session *session, unsigned k)
{
    const struct redlock_round *round = &session->lock.round;

    assert(k < session->client.engine.node_count);
    if (round->decided_at != 0) return false;
    return session->missing >> k & 1 || redlock_now_us() - round->started_at >= ROUND_SHORT_US;
}

void report_loss(struct session *session)
{
    const char *text, *advice;

    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        enum redlock_vote vote = vote_so_far(session, k);
        if (vote == REDLOCK_VOTE_GRANTED || report_trouble(session, k)) continue;
        if (vote == REDLOCK_VOTE_PENDING && !had_time(session, k)) continue;
        text = report_why_missing(session, k, &advice);
        report_with_advice(session, k, text, vote == REDLOCK_VOTE_REFUSED ? NULL : advice);
    }
}

void report_same_servers(struct session *session)
{
    for (unsigned k = 0; k < session->client.engine.node_count; k++)
        if (session->notes[k].trouble == REDLOCK_TROUBLE_SAME_SERVER)
            (void)report_trouble(session, k);
}

const char *report_why_missing(const struct session *session, unsigned k, const char **advice)
{
    const struct session_note *note = &session->notes[k];

    assert(k < session->client.engine.node_count);
    if (is_trouble(note)) {
        *advice = advice_on(session, note->text, note->trouble);
        return note->text;
    }
    if (redlock_vote_of(&session->lock, k) == REDLOCK_VOTE_REFUSED) {
        *advice = "was it flushed, or short of memory?";
        return "our token is gone";
    }
    if (redlock_vote_of(&session->lock, k) == REDLOCK_VOTE_NOT_ASKED) {
        *advice = NULL;
        return "it has not granted the lock, so it was not asked";
    }
    *advice = trouble_advice(session->output, REDLOCK_TROUBLE_SILENT);
    return "no answer in time";
}

void report_missing_vote(struct session *session, unsigned k)
{
    const char *advice, *text = report_why_missing(session, k, &advice);

    say_of_resource("kept without node %u (%s): %s%s%s%s", k,
                    redlock_node_address(&session->client, k), text, advice ? " (" : "",
                    advice ? advice : "", advice ? ")" : "");
}

/* ---- Results ---- */

/* " (free in 8.1 s, if its holder does not extend it)" */
static const char *describe_holder(struct session *session, char *text, size_t size)
{
    char duration[TEXT_DURATION_MAX];
    uint32_t ms = redlock_view_lock(&session->lock).free_in_ms;

    assert(size > 0);
    if (ms == REDLOCK_FOREVER)
        (void)print_text(
            text, size,
            " (its key has no TTL, so it is no lock: choose another RESOURCE, or delete the key)");
    else if (ms == REDLOCK_UNTOLD) text[0] = '\0';
    else
        (void)print_text(text, size, " (free in %s, if its holder does not extend it)",
                         text_duration(duration, ms));
    return text;
}

/* Nodes that can vote by now, and did not fail to answer the last round. */
static unsigned count_voters(struct session *session)
{
    struct redlock *engine = &session->client.engine;
    unsigned count = 0;
    uint64_t now = redlock_now_us();

    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        bool answers = redlock_vote_of(&session->lock, k) != REDLOCK_VOTE_UNKNOWN;
        bool votes = session->wants_ticket ? redlock_view_node(engine, k, now).gives_tickets
                                           : redlock_node_votes(engine, k, now);
        count += answers && votes && !session->notes[k].lacks_scripts &&
                 session->notes[k].trouble != REDLOCK_TROUBLE_AHEAD;
    }
    return count;
}

static unsigned quorum_of(struct session *session)
{
    return redlock_quorum(session->client.engine.node_count);
}

static const char *reserved_end(const char *name)
{
    static const char *const ends[] = { REDLOCK_TICKET_SUFFIX,  REDLOCK_WAITERS_SUFFIX,
                                        REDLOCK_LEADER_SUFFIX,  REDLOCK_DONE_SUFFIX,
                                        REDLOCK_READERS_SUFFIX, REDLOCK_WRITER_SUFFIX,
                                        REDLOCK_QUEUE_SUFFIX,   REDLOCK_LEASE_SUFFIX,
                                        REDLOCK_GRANT_SUFFIX };
    const char *end = strrchr(name, '#');

    assert(name);
    for (size_t i = 0; end && i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(end, ends[i]) == 0) return end;
    return NULL;
}

/* Of names that are refused. All together have at most REDLOCK_RESOURCE_MAX bytes, each but the
 * first with 8 bytes more. */
static const char *describe_mistake(const char *const *names, unsigned count, char *text,
                                    size_t size)
{
    size_t sum = 0;

    assert(size > 0);
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        const char *name = names[i], *end = reserved_end(name);
        if (*name == '\0') (void)print_text(text, size, ": it is empty");
        else if (end)      (void)print_text(text, size, ": it ends in %s", end);
        sum += strlen(name) + (i > 0 ? 8 : 0);
    }
    if (text[0] == '\0')
        (void)print_text(text, size,
                         count == 1 ? ": write {%s}"
                                    : ": write the same braces into each name, for instance {%s}",
                         names[0]);
    if (sum > REDLOCK_RESOURCE_MAX)
        (void)print_text(text, size, ": %zu bytes too long%s", sum - REDLOCK_RESOURCE_MAX,
                         count == 1 ? ""
                                    : ", all names together, each but the first with 8 bytes more");
    return text;
}

static const char *describe_detail(struct session *session, enum redlock_status status, char *text,
                                   size_t size)
{
    unsigned count = session->client.engine.node_count, voters = count_voters(session);

    text[0] = '\0';
    if (status == REDLOCK_TAKEN) return describe_holder(session, text, size);
    if (status == REDLOCK_BAD_RESOURCE)
        return describe_mistake(session->output->names, session->output->name_count, text, size);
    if (status == REDLOCK_BAD_CLOCK)
        (void)print_text(text, size, " (set this machine's clock%s)",
                         session->output->has_no_ticket_option
                             ? ""
                             : "; or, if no ticket is needed: --no-ticket");
    if (status == REDLOCK_NO_QUORUM && voters >= quorum_of(session))
        (void)print_text(text, size, ", but %u of %u can by now: try again", voters, count);
    else if (status == REDLOCK_NO_QUORUM)
        (void)print_text(text, size, " (%u of %u, quorum %u)", voters, count, quorum_of(session));
    return text;
}

static void json_status(struct session *session, enum redlock_status status)
{
    FILE *file = output_json_file(session->output);

    output_json_begin(file, session->output, NULL, status, NULL);
    report_json_end(file, session);
    output_json_end(session->output);
}

void report_status(struct session *session, enum redlock_status status)
{
    char detail[160];
    enum redlock_status why = status == REDLOCK_TIMEOUT ? notes_attempt_status(session) : status;
    bool is_two = why != status && why != REDLOCK_PENDING && why != REDLOCK_OK;

    assert(status != REDLOCK_OK);
    if (session->output->json) {
        json_status(session, status);
        return;
    }
    if (why == REDLOCK_TAKEN && session->output->quiet && !session->output->verbose) return;
    say_of_resource("%s%s%s%s", redlock_status_text(status), is_two ? ": " : "",
                    is_two ? redlock_status_text(why) : "",
                    describe_detail(session, why, detail, sizeof detail));
    report_nodes(session);
}

void report_blind(struct session *session, const char *resource, enum redlock_status status)
{
    char detail[160] = "";

    assert(status != REDLOCK_OK);
    if (session->output->json) {
        output_json_begin(stdout, session->output, resource, status, NULL);
        report_json_end(stdout, session);
    } else if (!session->signal) {
        if (status == REDLOCK_BAD_RESOURCE)
            (void)describe_mistake(&resource, 1, detail, sizeof detail);
        say("%s: %s%s", resource, redlock_status_text(status), detail);
    }
}

void report_validity(struct session *session, const char *what)
{
    char duration[TEXT_DURATION_MAX], ticket[48] = "";

    assert(what);
    if (redlock_ticket(&session->lock) > 0)
        (void)print_text(ticket, sizeof ticket, ", with ticket %" PRIu64,
                         redlock_ticket(&session->lock));
    say_of_resource("%s for %s, granted by %u of %u nodes so far%s", what,
                    text_duration(duration, redlock_valid_ms(&session->lock)),
                    redlock_view_lock(&session->lock).confirmed,
                        session->client.engine.node_count,
                    ticket);
    report_nodes(session);
}

void report_fingerprint(struct session *session)
{
    struct fingerprint fingerprint = fingerprint_take(&session->client);
    char text[FINGERPRINT_WORDS_MAX];

    say("%s", fingerprint_describe(&fingerprint, text));
}

/* ---- JSON ---- */

const char *report_vote_name(enum redlock_vote vote)
{
    return redlock_vote_text(vote == REDLOCK_VOTE_PENDING ? REDLOCK_VOTE_UNKNOWN : vote);
}

static void json_node(FILE *file, struct session *session, unsigned k)
{
    const struct session_note *note = &session->notes[k];
    enum redlock_vote vote = vote_so_far(session, k);
    const char *trouble = vote == REDLOCK_VOTE_GRANTED   ? NULL
                          : is_trouble(note)             ? note->text
                          : vote == REDLOCK_VOTE_UNKNOWN ? "no answer in time"
                          : vote == REDLOCK_VOTE_PENDING ? "no answer yet" : NULL;

    assert(k < session->client.engine.node_count);
    (void)print_to(file, "%s{\"node\":%u,\"address\":", k > 0 ? "," : "", k);
    json_text(file, redlock_node_address(&session->client, k));
    (void)print_to(file, ",\"vote\":\"%s\",\"trouble\":", report_vote_name(vote));
    if (trouble) json_text(file, trouble);
    else         (void)print_to(file, "null");
    (void)print_to(file, "}");
}

void report_json_end(FILE *file, struct session *session)
{
    (void)print_to(file, "\"quorum\":%u,\"nodes\":[", quorum_of(session));
    for (unsigned k = 0; k < session->client.engine.node_count; k++) json_node(file, session, k);
    (void)print_to(file, "]}\n");
}
