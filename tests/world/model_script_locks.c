#include "model_script.h"

/* ---- The rules ---- */

static bool acquire_looks_at_each(void)
{
    return script_says(WIRE_ACQUIRE_SCRIPT, "if e~=-1 and(p==-1 or p>e)then e=p end");
}

static bool acquire_wants_more(void)
{
    return script_says(WIRE_ACQUIRE_SCRIPT, "k<=tonumber(a)");
}

static bool restore_leaves_anothers(void)
{
    return script_says(WIRE_RESTORE_SCRIPT, "if v and v~=t then");
}

static bool restore_lowers_nothing(void)
{
    return script_says(WIRE_RESTORE_SCRIPT, "k>tonumber(c('get',o)or 0)");
}

static bool restore_raises(void)
{
    return script_says(WIRE_RESTORE_SCRIPT, "a[#a+1]=o");
}

static bool restore_heeds_clocks(void)
{
    return script_says(WIRE_RESTORE_SCRIPT, "if k>o[1]");
}

static bool restore_only_lengthens(void)
{
    return script_says(WIRE_RESTORE_SCRIPT, "f~=-1 and f<m+0");
}

static bool release_raises_flag(void)
{
    return script_says(WIRE_RELEASE_SCRIPT, "c('set',f,");
}

static bool release_compares(void)
{
    return script_says(WIRE_RELEASE_SCRIPT, "if v==t then");
}

static bool extend_only_lengthens(void)
{
    return script_says(WIRE_EXTEND_SCRIPT, "l<m+0");
}

/* ---- Acquire ---- */

/* Finds the largest counter of all keys, as the original text, and the longest PTTL. */
static bool acquire_looks(struct run *run, bool has_ticket, struct slice *largest, double *counter,
                          int64_t *left_ms)
{
    for (unsigned i = 0; i < run->key_count; i++) {
        struct slice value = { NULL, 0 }, name = name_with(run->keys[i], "#ticket");
        int64_t pttl;
        double number = 0;
        const bool done =
            call_pttl(run, run->keys[i], &pttl) && (!has_ticket || call_get(run, name, &value));
        slice_free(name);
        if (!done) return false;
        *left_ms = acquire_looks_at_each() ? longer_pttl(*left_ms, pttl) : pttl;
        if (value.data && !read_counter(run, value, &number, "number with nil")) return false;
        if (value.data && number > *counter) {
            *counter = number;
            *largest = value;
        }
    }
    return true;
}

static bool acquire_sets(struct run *run, bool has_ticket, int64_t ttl_ms, int64_t life_ms)
{
    for (unsigned i = 0; i < run->key_count; i++) {
        const struct slice name = name_with(run->keys[i], "#ticket");
        const bool done = (!has_ticket || call_set(run, name, run->arguments[2], life_ms)) &&
                          call_set(run, run->keys[i], run->arguments[0], ttl_ms);
        slice_free(name);
        if (!done) return false;
    }
    return true;
}

/* Is the ticket too small for the counter? */
static bool is_outdated(int64_t ticket, double counter)
{
    return ticket > 0 &&
           (acquire_wants_more() ? (double)ticket <= counter : (double)ticket < counter);
}

/* WIRE_ACQUIRE_SCRIPT */
void do_acquire(struct run *run)
{
    const struct proposal p = read_proposal(run, "an acquire script with arguments out of range");
    int64_t left_ms = -2;
    struct slice largest = slice_of("0");
    double counter = 0;
    if (!acquire_looks(run, p.ticket > 0, &largest, &counter, &left_ms)) {
        raise_error(run);
    } else if (left_ms != -2 || is_outdated(p.ticket, counter)) {
        run->scene->call->outdated = left_ms == -2;
        answer_refusal(run, largest, left_ms);
    } else if (!may_call(run, "TIME", READS)) {
        raise_error(run);
    } else if (ticket_is_ahead(run, p.ticket, p.skew_ms)) {
        return;
    } else if (!acquire_sets(run, p.ticket > 0, p.ttl_ms, p.life_ms)) {
        raise_error(run);
    } else {
        answer_done(run);
    }
}

/* ---- Restore ---- */

/* Sets *is_taken if another's key is in its way. Marks the other keys whose counters are
 * to be raised. */
static bool restore_looks(struct run *run, int64_t ticket, bool *is_taken,
                          bool raises[MODEL_KEYS_MAX])
{
    static const char sides[] = "nil with number";
    struct slice value;
    for (unsigned i = 0; i < run->key_count; i++) {
        if (!call_get(run, run->keys[i], &value)) return false;
        *is_taken =
            value.data && !slices_equal(value, run->arguments[0]) && restore_leaves_anothers();
        if (*is_taken) return true;
        double counter = 0;
        const struct slice name = name_with(run->keys[i], "#ticket");
        const bool done =
            ticket == 0 || (call_get(run, name, &value) &&
                            (!value.data || read_counter(run, value, &counter, sides)));
        slice_free(name);
        if (!done) return false;
        raises[i] = restore_raises() && ticket > 0 &&
                    ((double)ticket > counter || !restore_lowers_nothing());
    }
    return true;
}

static bool restore_sets(struct run *run, const bool raises[MODEL_KEYS_MAX], int64_t ttl_ms,
                         int64_t life_ms)
{
    int64_t left_ms;
    bool done = true;
    for (unsigned i = 0; i < run->key_count && done; i++) {
        const struct slice name = name_with(run->keys[i], "#ticket");
        if (raises[i]) done = call_set(run, name, run->arguments[2], life_ms);
        run->scene->call->raised = run->scene->call->raised || raises[i];
        slice_free(name);
    }
    for (unsigned i = 0; i < run->key_count && done; i++) {
        done = call_pttl(run, run->keys[i], &left_ms);
        if (done && ((left_ms != -1 && left_ms < ttl_ms) || !restore_only_lengthens()))
            done = call_set(run, run->keys[i], run->arguments[0], ttl_ms);
    }
    return done;
}

/* WIRE_RESTORE_SCRIPT */
void do_restore(struct run *run)
{
    const struct proposal p = read_proposal(run, "a restore script with arguments out of range");
    bool raises[MODEL_KEYS_MAX] = { false }, is_taken = false, raises_any = false;
    if (!restore_looks(run, p.ticket, &is_taken, raises)) {
        raise_error(run);
        return;
    }
    if (is_taken) {
        model_answer_bulk(run->scene, slice_of("taken"));
        return;
    }
    for (unsigned i = 0; i < run->key_count; i++) raises_any = raises_any || raises[i];
    if (raises_any && !may_call(run, "TIME", READS)) raise_error(run);
    else if (raises_any && restore_heeds_clocks() && ticket_is_ahead(run, p.ticket, p.skew_ms))
        return;
    else if (!restore_sets(run, raises, p.ttl_ms, p.life_ms)) raise_error(run);
    else answer_done(run);
}

/* ---- Release ---- */

/* Takes the first entry out, and the next where nobody listens. An entry that may not be published
 * goes back. There may be more entries, so the flag is set again. */
bool release_wakes(struct run *run, struct slice waiters, struct slice flag, unsigned slot)
{
    struct model_entry first;
    while (call_zpopmin(run, waiters, &first)) {
        const struct slice member = member_of(&first);
        if (tell_waiter(run, &first, slot)) {
            slice_text(member, run->scene->call->woken, sizeof run->scene->call->woken);
            if (release_raises_flag())
                (void)call_set(run, flag, slice_of(""), WIRE_WAITERS_LIFE_MS);
            return true;
        }
        if (run->error) {
            if (call_pexpire(run, waiters, WIRE_WAITERS_LIFE_MS))
                (void)call_zadd(run, waiters, first.score, member);
            (void)call_pexpire(run, waiters, WIRE_WAITERS_LIFE_MS);
            (void)call_set(run, flag, slice_of(""), WIRE_WAITERS_LIFE_MS);
            return false;
        }
    }
    return false;
}

/* The flag goes with the key, by the same command. If that may not be done to both, somebody may
 * wait. */
bool lower_flag(const struct run *run, struct slice flag)
{
    struct model_key *key = run_key(run, flag);
    if (key) run_remove(run, key);
    return key || model_why_not_local(run->scene, flag);
}

static enum release release_key(struct run *run, struct slice name, struct slice waiters,
                                struct slice flag, bool *woke)
{
    struct slice value = { NULL, 0 };
    const bool wakes = run->argument_count == 2;
    const char *error = call_get(run, name, &value) ? NULL : run->error;
    if (wakes && run->arguments[1].size > 0) call_zrem(run, waiters, run->arguments[1]);
    run->error = error;
    if (error) return RELEASE_ERROR;
    if (!value.data) return RELEASE_NOTHING;
    if (release_compares() && !slices_equal(value, run->arguments[0])) return RELEASE_OTHERS;
    if (!call_del(run, name)) return RELEASE_ERROR;
    run->scene->call->did = true;
    *woke = (wakes && lower_flag(run, flag) && release_wakes(run, waiters, flag, 0)) || *woke;
    return RELEASE_DONE;
}

/* WIRE_RELEASE_SCRIPT */
void do_release(struct run *run)
{
    const char *error = NULL;
    int number = 1;
    bool woke = false;
    for (unsigned i = 0; i < run->key_count; i++) {
        const struct slice waiters = name_with(run->keys[i], "#waiters");
        const struct slice flag = name_with(waiters, "#waiters");
        const enum release release = release_key(run, run->keys[i], waiters, flag, &woke);
        slice_free(flag);
        slice_free(waiters);
        if (release == RELEASE_ERROR)
            error = run->error;
        else if (release == RELEASE_OTHERS)
            number = -1;
        else if (release == RELEASE_NOTHING && number > 0)
            number = 0;
    }
    if (error) /* The error as redis.pcall() returned it. */
        model_answer_error(run->scene, error);
    else
        model_answer_number(run->scene, number > 0 && woke ? number + 1 : number);
}

/* WIRE_RELEASE_ONE_SCRIPT */
void do_release_one(struct run *run)
{
    struct slice value = { NULL, 0 };
    if (!call_get(run, run->keys[0], &value)) {
        raise_error(run);
        return;
    }
    if (!value.data || !slices_equal(value, run->arguments[0])) {
        model_answer_number(run->scene, value.data ? -1 : 0);
        return;
    }
    if (!call_del(run, run->keys[0])) {
        raise_error(run);
        return;
    }
    run->scene->call->did = true;
    model_answer_number(run->scene, 1);
}

/* ---- Extend and wait ---- */

/* False: not all of the keys hold the token, or run->error. */
bool extend_holds_all(struct run *run)
{
    struct slice value;
    for (unsigned i = 0; i < run->key_count; i++)
        if (!call_get(run, run->keys[i], &value) || !value.data ||
            !slices_equal(value, run->arguments[0]))
            return false;
    return true;
}

static bool extend_lengthens(struct run *run, int64_t ttl_ms)
{
    int64_t left_ms;
    for (unsigned i = 0; i < run->key_count; i++) {
        if (!call_pttl(run, run->keys[i], &left_ms)) return false;
        if (left_ms >= 0 && (left_ms < ttl_ms || !extend_only_lengthens()) &&
            !call_pexpire(run, run->keys[i], ttl_ms))
            return false;
    }
    return true;
}

/* WIRE_EXTEND_SCRIPT */
void do_extend(struct run *run)
{
    const int64_t ttl_ms = read_ttl(run);
    const bool holds = extend_holds_all(run);
    if (run->error || (holds && !extend_lengthens(run, ttl_ms))) {
        raise_error(run);
        return;
    }
    run->scene->call->did = holds;
    model_answer_number(run->scene, holds);
}
