#include "model_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The rules ---- */

static bool permit_takes_what_is_free(void)
{
    return script_says(WIRE_PERMIT_ACQUIRE_SCRIPT, "if j==-2 then");
}

static bool permit_orders_by_token(void)
{
    return script_says(WIRE_PERMIT_ACQUIRE_SCRIPT, "tonumber(t:sub(1,8),16)");
}

static bool permit_wants_more(void)
{
    return script_says(WIRE_PERMIT_ACQUIRE_SCRIPT, "k>tonumber(u)");
}

static bool permit_takes_its_entry(void)
{
    return script_says(WIRE_PERMIT_ACQUIRE_SCRIPT, "redis.pcall('zrem',KEYS[1]..':#waiters',e)");
}

static bool permit_release_looks_at_all(void)
{
    return script_says(WIRE_PERMIT_RELEASE_SCRIPT, "for s=1,c do");
}

static bool permit_release_compares(void)
{
    return script_says(WIRE_PERMIT_RELEASE_SCRIPT, "if v==t then");
}

static bool permit_release_wakes_for_what_was_held(void)
{
    return script_says(WIRE_PERMIT_RELEASE_SCRIPT, "local l=s==h+0");
}

static bool permit_restore_gives_up_others(void)
{
    return script_says(WIRE_PERMIT_RESTORE_SCRIPT, "==t then a('del',b..o)");
}

static bool permit_wait_raises_flag(void)
{
    return script_says(WIRE_PERMIT_WAIT_SCRIPT, "b('set',w..'#waiters'");
}

static bool permit_extend_only_lengthens(void)
{
    return script_says(WIRE_PERMIT_EXTEND_SCRIPT, "l<m+0");
}

/* ---- Slots ---- */

/* "resource:3". The bytes are the caller's to free. */
static struct slice name_of_slot(const struct run *run, unsigned slot)
{
    char suffix[16];
    snprintf(suffix, sizeof suffix, ":%u", slot);
    return name_with(run->keys[0], suffix);
}

/* The log has the key of the slot that it was done to. */
static void note_slot(const struct run *run, unsigned slot)
{
    struct model_call *call = run->scene->call;
    const struct slice name = name_of_slot(run, slot);
    call->did = true;
    call->slot = slot;
    slice_text(name, call->key, sizeof call->key);
    memcpy(call->keys[0], call->key, sizeof call->key);
    slice_free(name);
}

/* "resource:#waiters" */
static struct slice name_of_permit_waiters(const struct run *run)
{
    return name_with(run->keys[0], ":#waiters");
}

/* The arguments from that one on give the number of permits and the slot. */
static unsigned read_permits(const struct run *run, unsigned first, unsigned *slot)
{
    int64_t count = 0, number = 0;
    if (!slice_number(run->arguments[first], &count) || count < 1 || count > REDLOCK_PERMITS_MAX ||
        (slot &&
         (!slice_number(run->arguments[first + 1], &number) || number < 0 || number > count))) {
        model_breach(run->scene->node, "permits out of range");
        count = number = 0;
    }
    if (slot) *slot = (unsigned)number;
    return (unsigned)count;
}

/* The slots in the order in which the token shuffles them; how many. */
static unsigned permit_order(const struct run *run, unsigned slots[REDLOCK_PERMITS_MAX])
{
    char text[9] = "";
    unsigned only = 0, count = read_permits(run, 5, &only);
    uint64_t dice;
    if (only > 0) {
        slots[0] = only;
        return 1;
    }
    slice_text(run->arguments[0], text, sizeof text);
    dice = permit_orders_by_token() ? strtoul(text, NULL, 16) : 0;
    unsigned left[REDLOCK_PERMITS_MAX];
    for (unsigned i = 0; i < count; i++) left[i] = i + 1;
    for (unsigned i = count; i > 0; i--) {
        dice = dice * 16807 % 2147483647;
        slots[count - i] = left[dice % i];
        left[dice % i] = left[i - 1];
    }
    return count;
}

/* ---- Acquire ---- */

/* The proposal of an acquire of a permit, and the known state of the slots. */
struct search {
    struct proposal proposal;
    int64_t free_in_ms;
    double counter;
    char largest[24];
};

enum try { TRY_GRANTED, TRY_REFUSED, TRY_ANSWERED };

static enum try raise_try(const struct run *run)
{
    raise_error(run);
    return TRY_ANSWERED;
}

static enum try grant_slot(struct run *run, const struct proposal *p, struct slice name,
                           struct slice counter)
{
    if (p->ticket > 0 && !may_call(run, "TIME", READS)) return raise_try(run);
    if (ticket_is_ahead(run, p->ticket, p->skew_ms)) return TRY_ANSWERED;
    if (p->ticket > 0 && !call_set(run, counter, run->arguments[2], p->life_ms))
        return raise_try(run);
    return call_set(run, name, run->arguments[0], p->ttl_ms) ? TRY_GRANTED : raise_try(run);
}

/* Is the ticket larger than the counter of this free slot? */
static enum try try_free_slot(struct run *run, struct search *search, struct slice name,
                              struct slice counter)
{
    const struct proposal *p = &search->proposal;
    struct slice value = { NULL, 0 };
    double number = 0;
    search->free_in_ms = -2;
    if (p->ticket > 0 && !call_get(run, counter, &value)) return raise_try(run);
    if (value.data && !read_counter(run, value, &number, "nil with number")) return raise_try(run);
    if (p->ticket == 0 ||
        (permit_wants_more() ? (double)p->ticket > number : (double)p->ticket >= number))
        return grant_slot(run, p, name, counter);
    if (number > search->counter) {
        search->counter = number;
        slice_text(value, search->largest, sizeof search->largest);
    }
    return TRY_REFUSED;
}

static enum try try_slot(struct run *run, struct search *search, unsigned slot)
{
    const struct slice name = name_of_slot(run, slot), counter = name_with(name, "#ticket");
    int64_t left_ms;
    enum try try = TRY_REFUSED;
    if (!call_pttl(run, name, &left_ms)) try = raise_try(run);
    else if (left_ms == -2 || !permit_takes_what_is_free())
        try = try_free_slot(run, search, name, counter);
    else if (left_ms >= 0 && search->free_in_ms != -2 &&
             (search->free_in_ms < 0 || left_ms < search->free_in_ms))
        search->free_in_ms = left_ms < UINT32_MAX ? left_ms : UINT32_MAX;
    slice_free(counter);
    slice_free(name);
    return try;
}

static void permit_leaves_waiters(struct run *run)
{
    const struct slice waiters = name_of_permit_waiters(run);
    if (run->arguments[7].size > 0 && permit_takes_its_entry())
        call_zrem(run, waiters, run->arguments[7]);
    slice_free(waiters);
}

/* WIRE_PERMIT_ACQUIRE_SCRIPT */
void do_permit_acquire(struct run *run)
{
    unsigned slots[REDLOCK_PERMITS_MAX], count = permit_order(run, slots);
    struct search search = { .free_in_ms = -1, .largest = "0" };
    search.proposal = read_proposal(run, "an acquire script with arguments out of range");
    for (unsigned i = 0; i < count; i++) {
        const enum try try = try_slot(run, &search, slots[i]);
        if (try == TRY_ANSWERED) return;
        if (try == TRY_REFUSED) continue;
        note_slot(run, slots[i]);
        permit_leaves_waiters(run);
        model_answer_number(run->scene, slots[i]);
        return;
    }
    run->scene->call->outdated = search.free_in_ms == -2;
    answer_refusal(run, slice_of(search.largest), search.free_in_ms);
}

/* ---- Restore and extend ---- */

/* Uses redis.pcall(), since another kind of key is not ours. */
static bool slot_is_ours(struct run *run, struct slice name)
{
    struct slice value = { NULL, 0 };
    return call_get(run, name, &value) && value.data && slices_equal(value, run->arguments[0]);
}

/* False: it was raised. */
static bool permit_gives_up_others(struct run *run, unsigned count, unsigned slot)
{
    for (unsigned i = 1; i <= count; i++) {
        if (i == slot) continue;
        const struct slice name = name_of_slot(run, i);
        const bool done = !slot_is_ours(run, name) || call_del(run, name);
        slice_free(name);
        if (!done) return false;
    }
    return true;
}

/* WIRE_PERMIT_RESTORE_SCRIPT: the restore of one resource, the slot. */
void do_permit_restore(struct run *run)
{
    unsigned slot = 0, count = read_permits(run, 5, &slot);
    const struct slice name = name_of_slot(run, slot);
    struct run of_slot = *run;
    of_slot.keys = &name;
    if (slot == 0) model_breach(run->scene->node, "a slot is restored that is none");
    if (permit_restore_gives_up_others() && !permit_gives_up_others(run, count, slot)) {
        raise_error(run);
    } else {
        of_slot.has_written = run->has_written;
        do_restore(&of_slot);
        if (run->scene->call->did) note_slot(run, slot);
    }
    slice_free(name);
}

/* WIRE_PERMIT_EXTEND_SCRIPT */
void do_permit_extend(struct run *run)
{
    unsigned slot = 0;
    (void)read_permits(run, 2, &slot);
    const struct slice name = name_of_slot(run, slot);
    struct slice value = { NULL, 0 };
    const int64_t ttl_ms = read_ttl(run);
    int64_t left_ms = 0;
    bool is_ours = false, done;
    done = call_get(run, name, &value);
    is_ours = done && value.data && slices_equal(value, run->arguments[0]);
    if (done && is_ours) done = call_pttl(run, name, &left_ms);
    if (done && is_ours && left_ms >= 0 && (left_ms < ttl_ms || !permit_extend_only_lengthens()))
        done = call_pexpire(run, name, ttl_ms);
    slice_free(name);
    if (done && is_ours) note_slot(run, slot);
    if (done) model_answer_number(run->scene, is_ours);
    else      raise_error(run);
}

/* ---- Release ---- */

/* The effect of a release on one slot. */
static enum release release_slot(struct run *run, unsigned slot, unsigned held, bool *woke)
{
    const struct slice name = name_of_slot(run, slot), waiters = name_of_permit_waiters(run);
    const struct slice flag = name_with(waiters, "#waiters");
    const bool wakes = slot == held || !permit_release_wakes_for_what_was_held();
    struct slice value = { NULL, 0 };
    enum release release = RELEASE_NOTHING;
    if (!call_get(run, name, &value)) release = RELEASE_ERROR;
    else if (value.data && (slices_equal(value, run->arguments[0]) || !permit_release_compares()))
        release = call_del(run, name) ? RELEASE_DONE : RELEASE_RAISED;
    if (release == RELEASE_DONE)
        *woke =
            (wakes && lower_flag(run, flag) && release_wakes(run, waiters, flag, slot)) || *woke;
    slice_free(flag);
    slice_free(waiters);
    slice_free(name);
    return release;
}

/* WIRE_PERMIT_RELEASE_SCRIPT */
void do_permit_release(struct run *run)
{
    unsigned held = 0, count = read_permits(run, 2, &held);
    const struct slice waiters = name_of_permit_waiters(run);
    const char *error = NULL;
    bool woke = false;
    if (run->arguments[1].size > 0) call_zrem(run, waiters, run->arguments[1]);
    slice_free(waiters);
    if (!permit_release_looks_at_all()) count = count > 0 ? 1 : 0;
    for (unsigned i = 1; i <= count; i++) {
        const enum release release = release_slot(run, i, held, &woke);
        if (release == RELEASE_RAISED) {
            raise_error(run);
            return;
        }
        if (release == RELEASE_ERROR) error = run->error;
        if (release == RELEASE_DONE) note_slot(run, i);
    }
    if (run->scene->call->did || !error)
        model_answer_number(run->scene, run->scene->call->did ? 1 + woke : 0);
    else                                 model_answer_error(run->scene, error);
}

/* ---- Wait ---- */

/* False: it was raised. free_in_ms: the time until the first slot is free. */
static bool permit_wait_looks(struct run *run, unsigned count, int64_t *free_in_ms)
{
    for (unsigned i = 1; i <= count; i++) {
        const struct slice name = name_of_slot(run, i);
        int64_t left_ms;
        const bool done = call_pttl(run, name, &left_ms);
        slice_free(name);
        if (!done) return false;
        if (left_ms == -2) *free_in_ms = -2;
        else if (*free_in_ms != -2 && left_ms >= 0 && (*free_in_ms < 0 || left_ms < *free_in_ms))
            *free_in_ms = left_ms;
    }
    return true;
}

/* WIRE_PERMIT_WAIT_SCRIPT */
void do_permit_wait(struct run *run)
{
    const unsigned count = read_permits(run, 3, NULL);
    const struct slice waiters = name_of_permit_waiters(run);
    int64_t arrived_at = 0, life_ms = 0, free_in_ms = -1;
    if (!slice_number(run->arguments[1], &arrived_at) ||
        !slice_number(run->arguments[2], &life_ms) || run->arguments[0].size > MODEL_ENTRY_MAX)
        model_breach(run->scene->node, "a wait script with arguments out of range");
    const bool done = permit_wait_looks(run, count, &free_in_ms) &&
                      call_line_up(run, permit_wait_raises_flag(), waiters, (uint64_t)arrived_at,
                                   run->arguments[0], life_ms);
    slice_free(waiters);
    run->scene->call->did = done;
    if (done) model_answer_number(run->scene, free_in_ms);
    else      raise_error(run);
}
