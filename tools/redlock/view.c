#include "view.h"

#include <assert.h>
#include <string.h>

#include "ask_all.h"
#include "print.h"

const char *view_verdict_name(const struct view *view)
{
    static const char *const names[] = { "free", "held", "other type", "split", "no quorum" };

    return names[view->verdict];
}

/* ---- The verdict ---- */

size_t sight_kept(const struct redlock_sight *sight)
{
    return sight->value_size < REDLOCK_TOKEN_TEXT ? sight->value_size : REDLOCK_TOKEN_TEXT;
}

static bool is_same(const struct redlock_sight *a, const struct redlock_sight *b)
{
    return a->exists && b->exists && a->is_string && b->is_string &&
           a->value_size == b->value_size && memcmp(a->value, b->value, sight_kept(a)) == 0;
}

static unsigned count_same(const struct view *view, unsigned as)
{
    unsigned count = 0;

    assert(as < view->count);
    for (unsigned k = 0; k < view->count; k++)
        count += is_same(&view->sights[k], &view->sights[as]);
    return count;
}

/* The longest time after which a quorum of its keys is still there: the quorum-th longest TTL. */
static void find_end(struct view *view)
{
    assert(view->quorum > 0);
    view->has_end = false;
    view->ends_in_ms = 0;
    for (unsigned k = 0; k < view->count; k++) {
        unsigned longer = 0;
        if (!is_same(&view->sights[k], &view->sights[view->holder]) || !view->sights[k].has_ttl)
            continue;
        for (unsigned j = 0; j < view->count; j++) {
            if (!is_same(&view->sights[j], &view->sights[view->holder])) continue;
            longer += !view->sights[j].has_ttl || view->sights[j].ttl_ms >= view->sights[k].ttl_ms;
        }
        if (longer < view->quorum || view->sights[k].ttl_ms < view->ends_in_ms) continue;
        view->has_end = true;
        view->ends_in_ms = view->sights[k].ttl_ms;
    }
}

bool view_may_vote(const struct view *view, unsigned k)
{
    assert(k < view->count);
    return redlock_node_votes(&view->session->client.engine, k, redlock_now_us()) &&
           !(view->barred >> k & 1);
}

static void count_votes(struct view *view)
{
    const struct redlock *engine = &view->session->client.engine;

    for (unsigned k = 0; k < view->count; k++) {
        bool votes = view_may_vote(view, k);
        bool gives = votes && (!view->session->settings->ticket ||
                               redlock_view_node(engine, k, redlock_now_us()).gives_tickets);
        view->voters += votes;
        view->givers += gives;
        view->grantors += gives && view->sights[k].seen && !view->sights[k].exists;
    }
}

static void judge(struct view *view)
{
    unsigned seen = 0, absent = 0, others = 0;

    count_votes(view);
    for (unsigned k = 0; k < view->count; k++) {
        seen += view->sights[k].seen;
        absent += view->sights[k].seen && !view->sights[k].exists;
        others += view->sights[k].exists && !view->sights[k].is_string;
        if (count_same(view, k) > view->agreeing) {
            view->agreeing = count_same(view, k);
            view->holder = k;
        }
    }
    if (view->agreeing >= view->quorum) {
        view->verdict = VERDICT_HELD;
        find_end(view);
        return;
    }
    view->verdict = absent >= view->quorum   ? VERDICT_FREE
                    : others >= view->quorum ? VERDICT_OTHER_TYPE
                    : seen >= view->quorum   ? VERDICT_SPLIT
                                             : VERDICT_NO_QUORUM;
    view->agreeing = view->verdict == VERDICT_FREE         ? absent
                     : view->verdict == VERDICT_OTHER_TYPE ? others
                                                           : seen;
}

enum redlock_status view_status(const struct view *view)
{
    switch (view->verdict) {
    case VERDICT_FREE:
        return view->givers < view->quorum     ? REDLOCK_NO_QUORUM
               : view->grantors < view->quorum ? REDLOCK_TAKEN
                                               : REDLOCK_OK;
    case VERDICT_NO_QUORUM: return REDLOCK_NO_QUORUM;
    default:                return REDLOCK_TAKEN;
    }
}

const char *view_trouble(const struct view *view, unsigned k)
{
    enum redlock_trouble now =
        redlock_view_node(&view->session->client.engine, k, redlock_now_us()).trouble;
    bool is_well = now == REDLOCK_TROUBLE_NONE || now == REDLOCK_TROUBLE_WRONGTYPE;

    assert(k < view->count);
    if ((view->refused | view->barred) >> k & 1) return view->session->notes[k].text;
    if (view->sights[k].seen && is_well)
        return view->session->notes[k].is_voting ? view->session->notes[k].text : NULL;
    return is_well || now == REDLOCK_TROUBLE_NEW ? "no answer in time"
                                                 : view->session->notes[k].text;
}

/* ---- Looking ---- */

/* Asks all nodes, and notes what they refuse and is_refusal() takes for one. Returns the set of
 * these nodes. */
static uint16_t note_refusals(struct view *view, const char *const *words, unsigned count,
                              bool (*is_refusal)(const struct view *view, unsigned k,
                                                 const struct redlock_item *item))
{
    static struct ask_all all;
    struct session *session = view->session;
    struct redlock_item item;
    uint16_t set = 0;

    all = (struct ask_all){ 0 };
    for (unsigned i = 0; i < count; i++) ask_all_argument(&all, words[i]);
    ask_all_begin(&all, session);
    ask_all_wait(&all, session,
                 redlock_now_us() +
                     (uint64_t)session->settings->options.engine.node_timeout_ms * 1000);
    for (unsigned k = 0; k < view->count; k++) {
        if (ask_all_answer(&all, k, &item) || item.type != REDLOCK_ITEM_ERROR ||
            !is_refusal(view, k, &item))
            continue;
        item_note_refusal(&item, &session->notes[k], "");
        set |= (uint16_t)(1u << k);
    }
    ask_all_end(&all, session);
    return set;
}

static bool is_unseen(const struct view *view, unsigned k, const struct redlock_item *item)
{
    (void)item;
    return !view->sights[k].seen;
}

/* Of a node that restarted within the guard the engine tells that, and not what it answered: it is
 * asked again. */
static void find_refusals(struct view *view)
{
    const char *words[] = { "PTTL", view->resource };
    bool is_hidden = false;

    for (unsigned k = 0; k < view->count; k++)
        is_hidden |=
            !view->sights[k].seen && view->session->notes[k].trouble == REDLOCK_TROUBLE_RESTARTED;
    if (is_hidden) view->refused |= note_refusals(view, words, 2, is_unseen);
}

static bool item_begins(const struct redlock_item *item, const char *text)
{
    return item->size >= strlen(text) && memcmp(item->bytes, text, strlen(text)) == 0;
}

/* As OOM, NOREPLICAS, MISCONF; or the command has another name there. A node without a vote has
 * said why. */
static bool is_barrier(const struct view *view, unsigned k, const struct redlock_item *item)
{
    return view_may_vote(view, k) &&
           (!item_begins(item, "ERR ") || item_begins(item, "ERR unknown command"));
}

/* A SET with NX and XX is refused by all servers, as the syntax error that it is, and changes
 * nothing. But a server that cannot write says that first; or that this user may not, which is
 * told, and bars no other. */
static void find_barriers(struct view *view)
{
    const char *words[] = { "SET", view->resource, "-", "NX", "XX" };
    uint16_t set = note_refusals(view, words, 5, is_barrier);

    for (unsigned k = 0; k < view->count; k++) {
        if (view->session->notes[k].trouble == REDLOCK_TROUBLE_NOPERM)
            view->refused |= (uint16_t)(set & 1u << k);
        else view->barred |= (uint16_t)(set & 1u << k);
    }
}

static enum redlock_status look(struct session *session, struct view *view)
{
    enum redlock_status status;

    status = redlock_start_inspect(&session->client.engine, &session->lock, view->resource,
                                   strlen(view->resource), view->sights, redlock_now_us());
    if (status == REDLOCK_OK) status = session_finish(session);
    /* The round is over a moment before it is certain that a node hangs. */
    session_connect_all(session);
    if (status != REDLOCK_OK) return status;
    find_barriers(view);
    /* The last: while it is waited the engine's words of the guard would come in place of them. */
    find_refusals(view);
    return status;
}

/* Only behind a token there can be a name. */
static void look_at_holder(struct view *view)
{
    const struct redlock_sight *sight = &view->sights[view->holder];

    view->is_shared = view->verdict == VERDICT_HELD && is_shared_marker(sight);
    if (view->is_shared) readers_look(&view->readers, view->session, view->resource);
    if (view->verdict == VERDICT_HELD && sight->value_size > REDLOCK_TOKEN_TEXT)
        held_look(&view->held, view->session, view->resource, sight->value);
}

enum redlock_status view_look(struct view *view, struct session *session, const char *resource)
{
    unsigned count = session->client.engine.node_count;
    enum redlock_status status;

    assert(resource);
    *view = (struct view){
        .session = session, .resource = resource, .count = count, .quorum = redlock_quorum(count)
    };
    status = look(session, view);
    if (status == REDLOCK_OK) {
        judge(view);
        look_at_holder(view);
    }
    redlock_forget(&session->client.engine, &session->lock);
    return status;
}

bool view_is_same(const struct view *view, unsigned k, unsigned j)
{
    assert(k < view->count && j < view->count);
    return is_same(&view->sights[k], &view->sights[j]);
}

/* ---- Permits ---- */

enum redlock_status permits_look(struct permits *permits, struct session *session,
                                 const char *resource)
{
    enum redlock_status status = REDLOCK_OK;

    assert(session->settings->permits > 0 && session->settings->permits <= REDLOCK_PERMITS_MAX);
    *permits = (struct permits){ .count = session->settings->permits };
    for (unsigned i = 0; i < permits->count && status == REDLOCK_OK; i++) {
        struct view *view = &permits->views[i];
        (void)print_text(permits->names[i], sizeof permits->names[i], "%s:%u", resource, i + 1);
        status = view_look(view, session, permits->names[i]);
        if (status != REDLOCK_OK) break;
        permits->taken += view->verdict != VERDICT_FREE && view->verdict != VERDICT_NO_QUORUM;
        permits->known += view->verdict != VERDICT_NO_QUORUM;
    }
    return status;
}

enum redlock_status permits_status(const struct permits *permits)
{
    enum redlock_status status =
        permits->known < permits->count ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN;

    assert(permits->count > 0);
    for (unsigned i = 0; i < permits->count; i++)
        if (view_status(&permits->views[i]) == REDLOCK_OK) return REDLOCK_OK;
    return permits->taken < permits->known ? REDLOCK_NO_QUORUM : status;
}

