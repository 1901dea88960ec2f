#include "model_script.h"

#include <stdio.h>

/* ---- The rules ---- */

static bool mark_needs_the_lock(void)
{
    return script_says(WIRE_MARK_SCRIPT, "if c('get',KEYS[1])~=t then return 0 end");
}

static bool mark_refuses_anothers(void)
{
    return script_says(WIRE_MARK_SCRIPT, "or i+0==p+0");
}

static bool mark_knows_its_own(void)
{
    return script_says(WIRE_MARK_SCRIPT, "and r~=a");
}

static bool mark_refuses_earlier(void)
{
    return script_says(WIRE_MARK_SCRIPT, "i+0>p+0");
}

static bool mark_sees_marks_when_it_looks(void)
{
    return script_says(WIRE_MARK_SCRIPT, "if h then");
}

static bool mark_heeds_clocks(void)
{
    return script_says(WIRE_MARK_SCRIPT, "e>s+0");
}

static bool mark_lives_no_shorter(void)
{
    return script_says(WIRE_MARK_SCRIPT, "math.max(l+0,c('pttl',n))");
}

/* ---- A mark ---- */

/* "period marker when ..." */
struct marked {
    int64_t period, when_ms;
    struct slice marker;
};

/* Reads what %d+ finds; a number too large for the script to distinguish is cut. */
static bool read_digits(struct slice word, int64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9') return false;
        *number = *number < (int64_t)WIRE_TICKET_MAX ? *number * 10 + word.data[i] - '0' : *number;
    }
    return word.size > 0;
}

static bool read_marked(struct slice text, struct marked *marked)
{
    const bool has_period = read_digits(slice_word(&text), &marked->period);
    marked->marker = slice_word(&text);
    return read_digits(slice_word(&text), &marked->when_ms) && has_period;
}

/* How far the marker's clock is ahead of the node's; in words of the script when it is too far off.
 * False: it is not. */
static bool mark_is_off(struct run *run, int64_t when_ms, int64_t skew_ms)
{
    const int64_t wall_us = (int64_t)run->scene->now_us + run->scene->node->wall_offset_us,
                  ahead_us = when_ms * 1000 - wall_us;
    const bool is_ahead = ahead_us > skew_ms * 1000;
    char text[80];
    if (!mark_heeds_clocks() || (!is_ahead && -ahead_us <= skew_ms * 1000)) return false;
    snprintf(text, sizeof text, "-%s the clock of this node: %lld\r\n",
             is_ahead ? "AHEAD of" : "BEHIND", (long long)(wall_us / 1000000));
    model_answer(run->scene, text);
    return true;
}

/* True if another client marked that period, or anybody a later one. */
static bool mark_is_refused(const struct marked *mine, const struct marked *there)
{
    const bool is_own = mark_knows_its_own() && slices_equal(mine->marker, there->marker);
    return (mark_refuses_earlier() && there->period > mine->period) ||
           (mark_refuses_anothers() && there->period == mine->period && !is_own);
}

/* Reads the present mark, and returns false if that was the answer. */
static bool mark_may_be_set(struct run *run, struct slice name, const struct marked *mine,
                            int64_t life_ms)
{
    struct slice there = { NULL, 0 };
    struct marked other;
    char text[MODEL_TEXT_MAX];
    if (!call_get(run, name, &there)) {
        raise_error(run);
        return false;
    }
    if (!there.data) return true;
    if (!read_marked(there, &other)) {
        snprintf(text, sizeof text, "-ERR %.*s is no mark of a period\r\n", (int)name.size,
                 (const char *)name.data);
        model_answer(run->scene, text);
        return false;
    }
    if ((life_ms == 0 && !mark_sees_marks_when_it_looks()) || !mark_is_refused(mine, &other))
        return true;
    model_answer_bulk(run->scene, there);
    return false;
}

/* Is it the holder's, and its clock right? False: that was the answer. */
static bool mark_may_come(struct run *run, const struct marked *mine, int64_t skew_ms)
{
    struct slice value = { NULL, 0 };
    if (!call_get(run, run->keys[0], &value)) {
        raise_error(run);
        return false;
    }
    if (mark_needs_the_lock() && (!value.data || !slices_equal(value, run->arguments[0]))) {
        model_answer_number(run->scene, 0);
        return false;
    }
    if (may_call(run, "TIME", READS)) return !mark_is_off(run, mine->when_ms, skew_ms);
    raise_error(run);
    return false;
}

static bool set_mark(struct run *run, struct slice name, int64_t life_ms)
{
    int64_t left_ms = 0;
    if (mark_lives_no_shorter() && !call_pttl(run, name, &left_ms)) return false;
    return call_set(run, name, run->arguments[1], left_ms > life_ms ? left_ms : life_ms);
}

/* WIRE_MARK_SCRIPT */
void do_mark(struct run *run)
{
    const struct slice name = name_with(run->keys[0], "#done");
    struct marked mine;
    int64_t life_ms = 0, skew_ms = 0;
    if (!read_marked(run->arguments[1], &mine) || !slice_number(run->arguments[2], &life_ms) ||
        life_ms < 0 || !slice_number(run->arguments[3], &skew_ms))
        model_breach(run->scene->node, "a mark script with arguments out of range");
    if (mark_may_be_set(run, name, &mine, life_ms) && mark_may_come(run, &mine, skew_ms)) {
        if (life_ms > 0 && !set_mark(run, name, life_ms)) {
            raise_error(run);
        } else {
            run->scene->call->did = life_ms > 0;
            model_answer_number(run->scene, 1);
        }
    }
    slice_free(name);
}

/* ---- The age of a master ---- */

static bool time_is_of_its_history(void)
{
    return script_says(WIRE_PROMOTION_SCRIPT, "if i==h and");
}

static bool time_is_of_its_epoch(void)
{
    return script_says(WIRE_PROMOTION_SCRIPT, "and t==e then");
}

/* WIRE_PROMOTION_SCRIPT. Each promotion begins a new history. */
void do_promotion(struct run *run)
{
    const struct model_node *node = run->scene->node;
    const int64_t now_ms = ((int64_t)run->scene->now_us + node->wall_offset_us) / 1000;
    struct slice value = { NULL, 0 }, its_id, its_epoch;
    int64_t since_ms = 0, epoch = 0, other = 0;
    char mine[120], id[64];
    snprintf(id, sizeof id, "%.30s%010llx", node->run_id, (unsigned long long)node->second_offset);
    if (!slice_number(run->arguments[0], &epoch) || !may_call(run, "TIME", READS) ||
        !may_call(run, "INFO", READS) || !call_get(run, run->keys[0], &value)) {
        raise_error(run);
        return;
    }
    snprintf(mine, sizeof mine, "%s %lld %lld", id, (long long)epoch, (long long)now_ms);
    its_id = value.data ? slice_word(&value) : value;
    its_epoch = value.data ? slice_word(&value) : value;
    const bool is_same = its_id.data && slice_is(its_id, id),
               is_read = its_epoch.data && slice_number(its_epoch, &other);
    const bool counts = (is_same || !time_is_of_its_history()) && is_read &&
                        (other == epoch || !time_is_of_its_epoch());
    if (counts && slice_number(value, &since_ms))
        model_answer_number(run->scene, now_ms > since_ms ? now_ms - since_ms : 0);
    else if ((is_read && other > epoch) || call_set(run, run->keys[0], slice_of(mine), 0))
        model_answer_number(run->scene, 0);
    else
        raise_error(run);
}
