/* The calls of redlock.h about marks, for jobs that run once per period (S18). The holder of a lock
 * marks the period on all nodes before it begins, and begins when a quorum has taken its mark.
 * kinds/period_mark.lua is the script.
 *
 *     T = floor((wall clock + slack) / period) x period       the period's name, the same for all
 *                                                             clients whose clocks agree
 *
 * Two marks of one T that are confirmed would have a node in common, and a node takes one mark of a
 * T and none of an earlier one. So at most one client begins, even if locks fail, as long as nodes
 * do not forget.
 *
 *   - A node that restarted within the period may have forgotten a mark of it, so it takes no part.
 *     It must have been up since before any client could call the period T. A clock may be ahead of
 *     ours by the skew, and an uptime, which is the difference of two readings of the node's wall
 *     clock, may be too long by twice that.
 *   - A mark lives for LIFE_PERIODS, and nobody sets one later than SPAN_PERIODS after the
 *     beginning of the period. A node's clock may be fast by half at most (REDLOCK_DRIFT_PPM_MAX),
 *     and SPAN + half of it is LIFE. The difference of clocks lies in the LIFE_SKEWS.
 *   - Nodes take no mark from a client whose wall clock differs from theirs by more than the skew.
 *
 * A round of marks is a question to each node, so the engine knows nothing of it. An answer counts
 * if the server is the one that was asked, all of which are different servers (S12). */
#include "lock_state.h"
#include "names.h"
#include "node.h"
#include "quorum.h"
#include "stake.h"

enum {
    SPAN_PERIODS = 2,
    LIFE_PERIODS = 3,
    LIFE_SKEWS = 2,
    UPTIME_SKEWS = 3,
    SLACK_PART = 4,
    MARKER_TEXT = 16
};

REDLOCK_STATIC_ASSERT(LIFE_PERIODS * 1000000 >= SPAN_PERIODS * (1000000 + REDLOCK_DRIFT_PPM_MAX),
                      "a mark outlives its users");
REDLOCK_STATIC_ASSERT(LIFE_SKEWS * 1000000 >= 1000000 + REDLOCK_DRIFT_PPM_MAX,
                      "by the skew of a node with a fast clock");
REDLOCK_STATIC_ASSERT(UPTIME_SKEWS == 1 + 2,
                      "the marker's clock; and both readings of the uptime's");

/* ---- Periods ---- */

/* Cron begins a job at the full minute of its own clock, so the border of two periods lies well
 * before that. */
static uint64_t slack_ms(uint32_t period_ms)
{
    uint32_t part_ms = period_ms / SLACK_PART;

    return part_ms < REDLOCK_PERIOD_SLACK_MS ? part_ms : REDLOCK_PERIOD_SLACK_MS;
}

uint64_t redlock_period_begins_ms(uint64_t wall_us, uint32_t period_ms)
{
    uint64_t ms = wall_us / 1000 + slack_ms(period_ms);

    return ms - ms % period_ms;
}

/* The wall clock advances like this clock, from the time when the job was due. A clock that went
 * back gives an enormous time, which is too late. */
REDLOCK_WRAPS static uint64_t wall_us_at(const struct redlock_mark *mark, uint64_t now_us)
{
    return now_us + mark->wall_offset_us;
}

/* The time since the period's begin for a client with the same clock as ours. */
REDLOCK_WRAPS static uint64_t age_us(const struct redlock_mark *mark, uint64_t now_us)
{
    return wall_us_at(mark, now_us) - (mark->period_begins_ms - slack_ms(mark->period_ms)) * 1000;
}

static bool is_too_late(const struct redlock_mark *mark, uint64_t now_us)
{
    return age_us(mark, now_us) >= (uint64_t)SPAN_PERIODS * mark->period_ms * 1000;
}

/* ---- Nodes that take part ---- */

/* The time for which a node that has a vote is known to have been up. A node that need not give its
 * identity (S12: trust_unknown) counts as always up. */
static uint64_t up_us(const struct redlock_node *node, uint64_t now_us)
{
    REDLOCK_CHECK(now_us >= node->met_at);
    return node->has_run_id ? now_us - node->met_at + node->uptime_us : UINT64_MAX;
}

/* True if it may have forgotten a mark of the period. */
static bool is_forgetful(const struct redlock *r, const struct redlock_mark *mark, unsigned k,
                         uint64_t now_us)
{
    uint64_t needed_us =
        age_us(mark, now_us) + (uint64_t)UPTIME_SKEWS * r->config.ticket_skew_ms * 1000;
    bool is_guarded = r->config.guard_ms > 0 && !mark->takes_forgetful;

    return is_guarded && up_us(&r->nodes[k], now_us) < needed_us;
}

/* ---- Facts about a mark ---- */

/* The number of nodes that have the same client's mark as node k. */
static unsigned count_alike(const struct redlock_mark *mark, unsigned k)
{
    unsigned count = 0;

    for (unsigned j = 0; j < mark->round.node_count; j++)
        count += mark->nodes[j].seen_ms > 0 &&
                 are_same_bytes(mark->nodes[j].seen_who, mark->nodes[k].seen_who, REDLOCK_WHO_MAX);
    return count;
}

/* A client that asked in vain may have left its mark on a node, too. The mark of the one that has
 * run is on most nodes. */
static void show_seen(struct redlock_mark *mark)
{
    const struct redlock_marker *best = NULL;
    unsigned most = 0;

    for (unsigned k = 0; k < mark->round.node_count; k++) {
        const struct redlock_marker *marker = &mark->nodes[k];
        unsigned count = marker->seen_ms > 0 ? count_alike(mark, k) : 0;
        if (count < most || count == 0 || (count == most && marker->seen_ms >= best->seen_ms))
            continue;
        best = marker;
        most = count;
    }
    if (!best) return;
    mark->seen_who = best->seen_who;
    mark->seen_wall_us = best->seen_ms * 1000;
}

/* Sets the fields that the caller reads. */
static void show(struct redlock_mark *mark)
{
    mark->until_us = mark->status == REDLOCK_PENDING ? mark->round.deadline_at : REDLOCK_NEVER;
    for (unsigned k = 0; k < mark->round.node_count; k++)
        mark->nodes[k].vote = round_vote_of(&mark->round, k);
    show_seen(mark);
}

/* ---- The question ---- */

/* Token, mark, life, skew (see kinds/period_mark.lua). */
enum { ARGUMENT_TOKEN = 4, ARGUMENT_VALUE, ARGUMENT_LIFE, ARGUMENT_SKEW, ARGUMENT_COUNT };

REDLOCK_STATIC_ASSERT((int)ARGUMENT_COUNT <= (int)REDLOCK_ARGUMENTS_MAX, "a mark is a question");

static struct redlock_name number_word(char text[RESP_DIGITS_MAX], uint64_t number)
{
    size_t at = resp_decimal(text, number);

    return (struct redlock_name){ .bytes = text + at, .size = RESP_DIGITS_MAX - at };
}

static size_t append_number(char *text, size_t used, uint64_t number)
{
    char digits[RESP_DIGITS_MAX];
    struct redlock_name word = number_word(digits, number);

    copy_bytes(text + used, word.bytes, word.size);
    text[used + word.size] = ' ';
    return used + word.size + 1;
}

/* "T marker when who". The marker is the beginning of the token, by which it knows its own mark
 * when it asks again. */
static struct redlock_name write_mark(struct redlock_mark *mark, const char *who, uint64_t now_us)
{
    size_t size = length_of(who, REDLOCK_WHO_MAX),
           used = append_number(mark->value, 0, mark->period_begins_ms);

    copy_bytes(mark->value + used, mark->token, MARKER_TEXT);
    used += MARKER_TEXT;
    mark->value[used++] = ' ';
    used = append_number(mark->value, used, wall_us_at(mark, now_us) / 1000);
    for (size_t i = 0; i < size; i++)
        mark->value[used++] = who[i] >= ' ' && who[i] <= '~' ? who[i] : '?';
    return (struct redlock_name){ .bytes = mark->value, .size = used };
}

/* A question that only looks has no life. */
static uint64_t life_ms(const struct redlock *r, const struct redlock_mark *mark,
                        const struct redlock_period *period)
{
    if (period->looks_only) return 0;
    return (uint64_t)LIFE_PERIODS * mark->period_ms +
           (uint64_t)LIFE_SKEWS * r->config.ticket_skew_ms;
}

static void write_question(const struct redlock *r, struct redlock_mark *mark,
                           const struct redlock_period *period, uint64_t now_us)
{
    static const char eval[] = "EVAL", script[] = WIRE_MARK_SCRIPT, one[] = "1";
    struct redlock_name *words = mark->words;

    words[0] = (struct redlock_name){ .bytes = eval, .size = sizeof eval - 1 };
    words[1] = (struct redlock_name){ .bytes = script, .size = sizeof script - 1 };
    words[2] = (struct redlock_name){ .bytes = one, .size = sizeof one - 1 };
    words[3] = mark->lock->name;
    words[ARGUMENT_TOKEN].bytes = mark->token;
    words[ARGUMENT_TOKEN].size = wire_value_text(mark->lock->token, r->holder, mark->token);
    words[ARGUMENT_VALUE] = write_mark(mark, period->who, now_us);
    words[ARGUMENT_LIFE] = number_word(mark->life, life_ms(r, mark, period));
    words[ARGUMENT_SKEW] = number_word(mark->skew, r->config.ticket_skew_ms);
}

/* OK also if the node is not asked, since that is its vote. */
static enum redlock_status ask_for_mark(struct redlock *r, struct redlock_mark *mark, unsigned k,
                                        uint64_t now_us)
{
    static const char forgetful[] =
        "it restarted within the period, so it may have forgotten a mark";
    struct redlock_marker *marker = &mark->nodes[k];
    enum redlock_status status = REDLOCK_NO_ANSWER;
    bool votes = node_votes(&r->nodes[k], &r->config, false, now_us),
         has_forgotten = votes && is_forgetful(r, mark, k, now_us);

    marker->words = has_forgotten ? forgetful : marker->error;
    marker->met_at = r->nodes[k].met_at;
    if (votes && !has_forgotten)
        status = redlock_ask(r, &marker->question, k, mark->words, ARGUMENT_COUNT, marker->reply,
                             sizeof marker->reply, now_us);
    if (status != REDLOCK_OK) round_vote(&mark->round, k, REDLOCK_VOTE_NOT_ASKED);
    return status == REDLOCK_BAD_QUESTION ? status : REDLOCK_OK;
}

static enum redlock_status check_mark(const struct redlock *r, const struct redlock_lock *lock,
                                      const struct redlock_period *period, uint64_t now_us)
{
    bool is_in_range =
        period->period_ms >= REDLOCK_PERIOD_MS_MIN && period->period_ms <= REDLOCK_PERIOD_MS_MAX;

    if (!is_in_range)                                                   return REDLOCK_BAD_CONFIG;
    if (period->wall_us == 0 || period->wall_us > WIRE_TICKET_MAX)      return REDLOCK_BAD_CLOCK;
    if (!lock->kind || !is_ours(r, lock))                               return REDLOCK_BAD_LOCK;
    if (lock->name_count > 1)                                           return REDLOCK_BAD_SET;
    if (lock->kind->hides_token)                                        return REDLOCK_BAD_KIND;
    return lock_valid_us(lock, now_us) > 0 ? REDLOCK_OK : REDLOCK_LOST;
}

REDLOCK_WRAPS static void note_period(struct redlock_mark *mark, struct redlock_lock *lock,
                                      const struct redlock_period *period)
{
    *mark = (struct redlock_mark){
        .lock = lock, .status = REDLOCK_PENDING, .period_ms = period->period_ms,
        .takes_forgetful = period->takes_forgetful
    };
    mark->period_begins_ms = redlock_period_begins_ms(period->wall_us, period->period_ms);
    mark->wall_offset_us = period->wall_us - period->at_us;
}

static void end_mark(struct redlock *r, struct redlock_mark *mark, enum redlock_status status)
{
    for (unsigned k = 0; k < r->node_count; k++)
        redlock_forget_question(r, &mark->nodes[k].question);
    round_close(&mark->round);
    mark->status = (uint8_t)status;
}

/* A question that is refused is so for the first node that is asked, so none is open then. */
static enum redlock_status ask_all_for_marks(struct redlock *r, struct redlock_mark *mark,
                                             const struct redlock_period *period, uint64_t now_us)
{
    enum redlock_status status = REDLOCK_OK;

    write_question(r, mark, period, now_us);
    round_begin(&mark->round, REDLOCK_COMMAND_QUESTION, r->node_count, now_us, timeout_at(r));
    for (unsigned k = 0; k < r->node_count && status == REDLOCK_OK; k++)
        status = ask_for_mark(r, mark, k, now_us);
    return status;
}

/* A caller that asks after a refusal what has become of the mark is told of that. */
enum redlock_status redlock_start_mark(struct redlock *r, struct redlock_mark *mark,
                                       struct redlock_lock *lock,
                                       const struct redlock_period *period, uint64_t now_us)
{
    enum redlock_status status = check_mark(r, lock, period, now_us);

    r->now_us = now_us;
    if (status == REDLOCK_OK) {
        note_period(mark, lock, period);
        status = is_too_late(mark, now_us) ? REDLOCK_TOO_LATE
                                           : ask_all_for_marks(r, mark, period, now_us);
    }
    if (status != REDLOCK_OK) {
        clear_bytes(mark, sizeof *mark);
        mark->status = (uint8_t)status;
        mark->until_us = REDLOCK_NEVER;
    } else {
        show(mark);
    }
    return status;
}

/* ---- Answers ---- */

/* A string may have arrived in pieces. */
static size_t join_pieces(struct redlock_question *question, struct redlock_item *item,
                          char text[REDLOCK_MARK_MAX])
{
    size_t used = 0;

    do {
        for (size_t i = 0; i < item->size && used < REDLOCK_MARK_MAX; i++)
            text[used++] = (char)item->bytes[i];
    } while (redlock_next_item(question, item));
    return used;
}

/* "T marker when who" gives the time when it was set, and its client. */
static void read_seen(struct redlock_marker *marker, const char *text, size_t size)
{
    size_t at = 0, used = 0;
    uint64_t when_ms = 0;

    for (unsigned blanks = 0; blanks < 3; at++) {
        uint8_t digit = at < size ? (uint8_t)(text[at] - '0') : 0;
        if (at == size || when_ms > WIRE_TICKET_MAX) return;
        if (text[at] == ' ') blanks++;
        else if (blanks == 2 && digit > 9) return;
        else if (blanks == 2) when_ms = when_ms * 10 + digit;
    }
    marker->seen_ms = when_ms;
    /* A zero is behind it. */
    while (at < size && used < REDLOCK_WHO_MAX) marker->seen_who[used++] = text[at++];
}

/* An error is the node's reason. */
static void read_words(struct redlock_marker *marker, const struct redlock_item *item)
{
    size_t size = item->size < sizeof marker->error - 1 ? item->size : sizeof marker->error - 1;

    copy_bytes(marker->error, item->bytes, size);   /* A zero is behind it. */
}

/* Only 1 is a mark that was taken, and only a string is one that was there. 0: our lock
 * is not there. */
static enum redlock_vote read_mark(struct redlock_mark *mark, unsigned k)
{
    char text[REDLOCK_MARK_MAX];
    struct redlock_item item;

    if (!redlock_next_item(&mark->nodes[k].question, &item)) return REDLOCK_VOTE_UNKNOWN;
    if (item.type == REDLOCK_ITEM_INTEGER && item.integer == 1) return REDLOCK_VOTE_GRANTED;
    if (item.type == REDLOCK_ITEM_ERROR) read_words(&mark->nodes[k], &item);
    if (item.type != REDLOCK_ITEM_BULK) return REDLOCK_VOTE_UNKNOWN;
    read_seen(&mark->nodes[k], text, join_pieces(&mark->nodes[k].question, &item, text));
    return REDLOCK_VOTE_REFUSED;
}

/* S12: a question that was not sent when the connection was lost may have been answered
 * by another server. */
static void collect_vote(const struct redlock *r, struct redlock_mark *mark, unsigned k)
{
    struct redlock_marker *marker = &mark->nodes[k];
    enum redlock_status status = marker->question.status;
    bool is_same_server = r->nodes[k].met_at == marker->met_at;

    if (status == REDLOCK_PENDING) return;
    round_vote(&mark->round, k,
               status == REDLOCK_OK && is_same_server ? read_mark(mark, k) : REDLOCK_VOTE_UNKNOWN);
}

/* S18: a quorum of marks, while the lock is held. The period is certainly another's when no quorum
 * is left. */
static enum redlock_status judge_mark(const struct redlock *r, const struct redlock_mark *mark,
                                      uint64_t now_us)
{
    const struct redlock_round *round = &mark->round;
    unsigned quorum = quorum_of(r->node_count);

    if (round_count(round->refused) > r->node_count - quorum)        return REDLOCK_ALREADY;
    if (lock_valid_us(mark->lock, now_us) == 0)                      return REDLOCK_LOST;
    if (is_too_late(mark, now_us))                                   return REDLOCK_TOO_LATE;
    if (round_count(round->granted) >= quorum)                       return REDLOCK_OK;
    if (round_pending(round) == 0 || now_us >= round->deadline_at)   return REDLOCK_NO_QUORUM;
    return REDLOCK_PENDING;
}

enum redlock_status redlock_mark_status(struct redlock *r, struct redlock_mark *mark,
                                        uint64_t now_us)
{
    enum redlock_status status;

    if (mark->status != REDLOCK_PENDING) return (enum redlock_status)mark->status;
    for (unsigned k = 0; k < r->node_count; k++) collect_vote(r, mark, k);
    status = judge_mark(r, mark, now_us);
    if (status != REDLOCK_PENDING) end_mark(r, mark, status);
    show(mark);
    return status;
}

void redlock_forget_mark(struct redlock *r, struct redlock_mark *mark)
{
    if (mark->status == REDLOCK_PENDING) {
        end_mark(r, mark, REDLOCK_CANCELLED);
        show(mark);
    }
}
