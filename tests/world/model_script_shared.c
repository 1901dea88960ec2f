#include "model_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Readers and waiters ---- */

static const char marker[] = "~shared";

/* The names of the keys beside one. */
struct beside {
    struct slice readers, writer, waiters, flag, ticket;
};

static struct beside beside_of(struct slice name)
{
    const struct slice waiters = name_with(name, "#waiters");
    return (struct beside){ .readers = name_with(name, "#readers"),
                            .writer = name_with(name, "#writer"),
                            .waiters = waiters,
                            .flag = name_with(waiters, "#waiters"),
                            .ticket = name_with(name, "#ticket") };
}

static void beside_free(struct beside *beside)
{
    slice_free(beside->readers);
    slice_free(beside->writer);
    slice_free(beside->waiters);
    slice_free(beside->flag);
    slice_free(beside->ticket);
}

static bool is_reader_entry(const struct model_entry *entry)
{
    return entry->size > 0 && entry->member[entry->size - 1] == 's';
}

static void note_writer(struct run *run, const struct beside *beside,
                        const struct model_entry *entry, int64_t life_ms)
{
    char text[MODEL_ENTRY_MAX + 32];
    snprintf(text, sizeof text, "%llu %.*s", (unsigned long long)entry->score, (int)entry->size,
             (const char *)entry->member);
    (void)call_set(run, beside->writer, slice_of(text), life_ms);
}

/* wake.lua */
static unsigned shared_wakes(struct run *run, const struct beside *beside, bool is_free)
{
    struct model_entry first;
    unsigned count = 0;
    const char *error = run->error;
    if (is_free) (void)call_del(run, beside->writer);
    for (;;) {
        if (!call_zpopmin(run, beside->waiters, &first)) {
            if (!run->error) (void)call_del(run, beside->flag);
            break;
        }
        const bool is_reader = is_reader_entry(&first),
                   is_told = is_reader || (is_free && count == 0);
        const struct slice member = member_of(&first);
        const unsigned heard = is_told ? tell_waiter(run, &first, 0) : 0;
        if (!is_told || run->error) {
            if (call_pexpire(run, beside->waiters, WIRE_WAITERS_LIFE_MS))
                (void)call_zadd(run, beside->waiters, first.score, member);
            (void)call_pexpire(run, beside->waiters, WIRE_WAITERS_LIFE_MS);
            if (count > 0 && !is_reader) note_writer(run, beside, &first, WIRE_WRITER_LIFE_MS);
            break;
        }
        if (heard > 0) slice_text(member, run->scene->call->woken, sizeof run->scene->call->woken);
        count += heard > 0;
        if (heard == 0 || is_reader) continue;
        note_writer(run, beside, &first, 1000);
        break;
    }
    run->error = error;
    return count;
}

unsigned wake_in_order(struct run *run, struct slice name, bool is_free)
{
    struct beside beside = beside_of(name);
    const unsigned woken = shared_wakes(run, &beside, is_free);
    beside_free(&beside);
    return woken;
}

/* admit.lua */
static bool shared_reads(struct run *run, struct slice name, const struct beside *beside,
                         const char *script, uint64_t until_ms)
{
    uint64_t last_ms;
    if (!call_largest(run, beside->readers, &last_ms)) return false;
    if (last_ms < until_ms || !script_says(script, "tonumber(c('zrevrange'")) last_ms = until_ms;
    return call_pexpireat(run, beside->readers, last_ms) &&
           call_zadd(run, beside->readers, until_ms, run->arguments[0]) &&
           call_pexpireat(run, beside->readers, last_ms) &&
           call_set(run, name, slice_of(marker), 0) && call_pexpireat(run, name, last_ms);
}

static bool is_shared_mode(const struct run *run, unsigned argument, unsigned i)
{
    return i < run->arguments[argument].size && run->arguments[argument].data[i] == 's';
}

/* The number before the blank. */
static int64_t arrived_of(struct slice writer, int64_t otherwise)
{
    char text[64];
    slice_text(writer, text, sizeof text);
    return text[0] >= '0' && text[0] <= '9' ? strtoll(text, NULL, 10) : otherwise;
}

/* ---- Acquire ---- */

/* The obstacles to an acquire, over all of its resources. */
struct obstacles {
    bool is_busy, is_outdated;
    int64_t left_ms;            /* Time left of the longest one. */
    double counter;
    struct slice largest;       /* The largest counter, as the text that it is. */
};

/* Is the resource, or a writer that came before, in the way, and for how long? */
static bool shared_is_busy(struct run *run, unsigned i, const struct beside *beside,
                           struct obstacles *found)
{
    struct slice value = { NULL, 0 }, writer = { NULL, 0 }, busy = run->keys[i];
    int64_t arrived_at = 0, pttl;
    bool is_in_the_way;
    (void)slice_number(run->arguments[6], &arrived_at);
    if (!call_get(run, run->keys[i], &value)) return false;
    is_in_the_way =
        value.data != NULL && (script_says(WIRE_SHARED_ACQUIRE_SCRIPT, "elseif not v then g=nil") ||
                               !slice_is(value, marker));
    if (is_shared_mode(run, 5, i) && (!value.data || slice_is(value, marker))) {
        if (arrived_at != 0 && !call_get(run, beside->writer, &writer)) return false;
        is_in_the_way = writer.data && (arrived_of(writer, arrived_at) < arrived_at ||
                                        !script_says(WIRE_SHARED_ACQUIRE_SCRIPT, "<tonumber(a)"));
        busy = beside->writer;
    }
    if (is_in_the_way && !call_pttl(run, busy, &pttl)) return false;
    if (is_in_the_way) found->left_ms = found->is_busy ? longer_pttl(found->left_ms, pttl) : pttl;
    found->is_busy = found->is_busy || is_in_the_way;
    return true;
}

/* Readers may have the same ticket, a writer must have more. */
static bool note_counter(struct run *run, unsigned i, int64_t ticket, struct slice value,
                         struct obstacles *found)
{
    const bool strict =
        !is_shared_mode(run, 5, i) && script_says(WIRE_SHARED_ACQUIRE_SCRIPT, "(h and 0 or 1)");
    double number = 0;
    if (!value.data) return true;
    if (!read_counter(run, value, &number, "number with nil")) return false;
    found->is_outdated = found->is_outdated || (double)ticket < number + (strict ? 1 : 0);
    if (number > found->counter) found->largest = value;
    if (number > found->counter) found->counter = number;
    return true;
}

static bool shared_looks(struct run *run, unsigned i, int64_t ticket, struct obstacles *found)
{
    struct beside beside = beside_of(run->keys[i]);
    struct slice value = { NULL, 0 };
    const bool done = shared_is_busy(run, i, &beside, found) &&
                      (ticket == 0 || call_get(run, beside.ticket, &value)) &&
                      note_counter(run, i, ticket, value, found);
    beside_free(&beside);
    return done;
}

static bool shared_grants(struct run *run, unsigned i, const struct beside *beside,
                          const struct proposal *p)
{
    struct slice value = { NULL, 0 };
    uint64_t own_ms, until_ms = ms_of(run->scene->now_us) + (uint64_t)p->ttl_ms;
    if (p->ticket > 0 && !call_set(run, beside->ticket, run->arguments[2], p->life_ms))
        return false;
    if (!is_shared_mode(run, 5, i))
        return call_set(run, run->keys[i], run->arguments[0], p->ttl_ms);
    if (!call_get(run, run->keys[i], &value)) return false;
    if (!(value.data ? call_sweep(run, beside->readers) : call_del(run, beside->readers)))
        return false;
    if (!call_zscore(run, beside->readers, run->arguments[0], &own_ms)) return false;
    if (own_ms > until_ms) until_ms = own_ms;
    if (!shared_reads(run, run->keys[i], beside, WIRE_SHARED_ACQUIRE_SCRIPT, until_ms))
        return false;
    (void)shared_wakes(run, beside, false);
    return true;
}

/* WIRE_SHARED_ACQUIRE_SCRIPT */
void do_shared_acquire(struct run *run)
{
    const struct proposal p =
        read_proposal(run, "a shared acquire script with arguments out of range");
    struct obstacles found = { .left_ms = -2, .largest = slice_of("0") };
    bool is_done = may_call(run, "TIME", READS);
    if (run->arguments[5].size != run->key_count)
        model_breach(run->scene->node, "a shared acquire script with too few modes");
    for (unsigned i = 0; i < run->key_count && is_done; i++)
        is_done = shared_looks(run, i, p.ticket, &found);
    if (is_done && (found.is_busy || found.is_outdated)) {
        run->scene->call->outdated = !found.is_busy;
        answer_refusal(run, found.largest, found.is_busy ? found.left_ms : -2);
        return;
    }
    if (is_done && ticket_is_ahead(run, p.ticket, p.skew_ms)) return;
    for (unsigned i = 0; i < run->key_count && is_done; i++) {
        struct beside beside = beside_of(run->keys[i]);
        is_done = shared_grants(run, i, &beside, &p);
        beside_free(&beside);
    }
    if (is_done) answer_done(run);
    else         raise_error(run);
}

/* ---- Extend ---- */

/* The lock's value in its other role, made of the given digits and everything after the token. */
static struct slice other_value(const struct run *run, unsigned argument, char text[160])
{
    const struct slice value = run->arguments[0];
    const size_t tail = value.size > REDLOCK_TOKEN_TEXT ? value.size - REDLOCK_TOKEN_TEXT : 0;
    if (run->argument_count <= argument) return (struct slice){ NULL, 0 };
    memcpy(text, run->arguments[argument].data, REDLOCK_TOKEN_TEXT);
    memcpy(text + REDLOCK_TOKEN_TEXT, value.data + REDLOCK_TOKEN_TEXT, tail);
    return (struct slice){ (const uint8_t *)text, REDLOCK_TOKEN_TEXT + tail };
}

/* May a reader become a writer? 1: yes; 0 and less: no. run->error: nobody knows. */
static int may_upgrade(struct run *run, const struct beside *beside, struct slice other,
                       int64_t ticket)
{
    struct slice value = { NULL, 0 };
    uint64_t own_ms;
    size_t count;
    double counter = 0;
    if (!call_sweep(run, beside->readers) || !call_zscore(run, beside->readers, other, &own_ms) ||
        own_ms == 0)
        return 0;
    if (!call_zcard(run, beside->readers, &count)) return 0;
    if (count > 1 && script_says(WIRE_SHARED_EXTEND_SCRIPT, "c('zcard',r)>1")) return -1;
    if (ticket > 0 && !call_get(run, beside->ticket, &value)) return 0;
    if (value.data && !read_counter(run, value, &counter, "number with nil")) return 0;
    return value.data && (double)ticket <= counter ? -2 : 1;
}

/* 1: the key is as it must be; 0 and less: it is not. */
static int shared_may_extend(struct run *run, unsigned i, const struct beside *beside,
                             struct slice other, int64_t ticket)
{
    struct slice value = { NULL, 0 };
    uint64_t own_ms;
    if (!call_get(run, run->keys[i], &value)) return 0;
    const bool is_marked = value.data && slice_is(value, marker),
               is_reader = is_shared_mode(run, 2, i);
    if (is_reader && is_marked)
        return call_zscore(run, beside->readers, run->arguments[0], &own_ms) &&
               own_ms > ms_of(run->scene->now_us);
    if (is_marked && other.data) return may_upgrade(run, beside, other, ticket);
    return value.data && slices_equal(value, is_reader && other.data ? other : run->arguments[0]) &&
           (!is_reader || other.data);
}

static bool shared_extends_reader(struct run *run, unsigned i, const struct beside *beside,
                                  bool was_reader, uint64_t until_ms)
{
    uint64_t own_ms = 0;
    int64_t left_ms = 0;
    if (!(was_reader ? call_zscore(run, beside->readers, run->arguments[0], &own_ms)
                     : call_pttl(run, run->keys[i], &left_ms) && call_del(run, beside->readers)))
        return false;
    if (!was_reader) own_ms = ms_of(run->scene->now_us) + (uint64_t)left_ms;
    if (own_ms > until_ms) until_ms = own_ms;
    if (!script_says(WIRE_SHARED_EXTEND_SCRIPT, "b(y,r,math.max(u,tonumber(g and"))
        return call_pexpireat(run, run->keys[i], until_ms);
    if (!shared_reads(run, run->keys[i], beside, WIRE_SHARED_EXTEND_SCRIPT, until_ms)) return false;
    if (!was_reader) (void)shared_wakes(run, beside, false);
    return true;
}

static bool shared_upgrades(struct run *run, unsigned i, const struct beside *beside,
                            struct slice other, uint64_t until_ms)
{
    uint64_t own_ms;
    int64_t ticket = 0, life_ms = 0;
    (void)slice_number(run->arguments[4], &ticket);
    (void)slice_number(run->arguments[5], &life_ms);
    if (!call_zscore(run, beside->readers, other, &own_ms)) return false;
    if (own_ms > until_ms) until_ms = own_ms;
    return (ticket == 0 || call_set(run, beside->ticket, run->arguments[4], life_ms)) &&
           call_pexpireat(run, run->keys[i], until_ms) &&
           call_set(run, run->keys[i], run->arguments[0], 0) &&
           call_pexpireat(run, run->keys[i], until_ms) && call_del(run, beside->readers);
}

static bool shared_extends(struct run *run, unsigned i, const struct beside *beside,
                           struct slice other, int64_t ttl_ms)
{
    const uint64_t until_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    struct slice value = { NULL, 0 };
    int64_t left_ms;
    if (!call_get(run, run->keys[i], &value) || !call_pttl(run, run->keys[i], &left_ms))
        return false;
    const bool is_marked = value.data && slice_is(value, marker);
    if (is_shared_mode(run, 2, i))
        return shared_extends_reader(run, i, beside, is_marked, until_ms);
    if (is_marked) return shared_upgrades(run, i, beside, other, until_ms);
    return left_ms < 0 || left_ms >= ttl_ms || call_pexpire(run, run->keys[i], ttl_ms);
}

/* WIRE_SHARED_EXTEND_SCRIPT */
void do_shared_extend(struct run *run)
{
    char text[160];
    const struct slice other = other_value(run, 3, text);
    const int64_t ttl_ms = read_ttl(run);
    int64_t ticket = 0, skew_ms = 0;
    int may = 1;
    if (run->arguments[2].size != run->key_count)
        model_breach(run->scene->node, "a shared extend script with too few modes");
    if (run->argument_count > 4) (void)slice_number(run->arguments[4], &ticket);
    if (run->argument_count > 6) (void)slice_number(run->arguments[6], &skew_ms);
    if (!may_call(run, "TIME", READS)) may = 0;
    for (unsigned i = 0; i < run->key_count && may == 1; i++) {
        struct beside beside = beside_of(run->keys[i]);
        may = shared_may_extend(run, i, &beside, other, ticket);
        beside_free(&beside);
    }
    if (may == 1 && !is_shared_mode(run, 2, 0) && is_ahead(run, ticket, skew_ms)) {
        const struct model_key *key = run_key(run, run->keys[0]);
        if (key && slice_is((struct slice){ key->value, key->value_size }, marker)) {
            answer_ahead(run);
            return;
        }
    }
    for (unsigned i = 0; i < run->key_count && may == 1 && !run->error; i++) {
        struct beside beside = beside_of(run->keys[i]);
        (void)shared_extends(run, i, &beside, other, ttl_ms);
        beside_free(&beside);
    }
    if (run->error) {
        raise_error(run);
        return;
    }
    run->scene->call->did = may == 1;
    model_answer_number(run->scene, may);
}

/* ---- Release ---- */

/* Takes a reader out. *is_free: it was the last. False: run->error. */
static bool shared_leaves(struct run *run, struct slice name, const struct beside *beside,
                          struct slice other, unsigned *gone, bool *is_free)
{
    uint64_t last_ms;
    struct model_entry first;
    if (!script_says(WIRE_SHARED_RELEASE_SCRIPT, "c('zrem',a,t,h)>0"))
        *gone += call_zpopmin(run, beside->readers, &first);
    else if (!call_zrem_counted(run, beside->readers, run->arguments[0], gone)) return false;
    const bool has_other = other.data && !slices_equal(other, run->arguments[0]);
    if (has_other && !call_zrem_counted(run, beside->readers, other, gone)) return false;
    if (*gone == 0) return true;
    if (!may_call(run, "TIME", READS) || !call_sweep(run, beside->readers) ||
        !call_largest(run, beside->readers, &last_ms))
        return false;
    if (last_ms > 0)
        return call_pexpireat(run, name, last_ms) && call_pexpireat(run, beside->readers, last_ms);
    *is_free = true;
    return call_del(run, name) && call_del(run, beside->readers);
}

static void give_entry_back(struct run *run, const struct beside *beside, struct slice entry)
{
    char text[MODEL_ENTRY_MAX + 2];
    struct slice writer = { NULL, 0 };
    if (entry.size == 0 || entry.size > MODEL_ENTRY_MAX) return;
    slice_text(entry, text, sizeof text);
    strcat(text, "s");
    call_zrem(run, beside->waiters, entry);
    call_zrem(run, beside->waiters, slice_of(text));
    if (!call_get(run, beside->writer, &writer) || !writer.data || writer.size <= entry.size)
        return;
    const struct slice tail = { writer.data + writer.size - entry.size, entry.size };
    if (slices_equal(tail, entry) && writer.data[writer.size - entry.size - 1] == ' ')
        (void)call_del(run, beside->writer);
}

/* The effect on one key, as in enum release. */
static enum release shared_release_key(struct run *run, struct slice name,
                                       const struct beside *beside, struct slice other,
                                       unsigned *woken)
{
    const bool wakes = run->argument_count > 1 && !slice_is(run->arguments[1], "-");
    struct slice value = { NULL, 0 };
    const char *error = call_get(run, name, &value) ? NULL : run->error;
    bool is_free = false;
    unsigned gone = 0;
    if (wakes) give_entry_back(run, beside, run->arguments[1]);
    run->error = error;
    if (error) return RELEASE_ERROR;
    if (!value.data) return RELEASE_NOTHING;
    if (slice_is(value, marker)) {
        const bool done = shared_leaves(run, name, beside, other, &gone, &is_free);
        run->scene->call->did = run->scene->call->did || gone > 0;
        if (!done) return RELEASE_RAISED;
    } else if (slices_equal(value, run->arguments[0]) ||
               (other.data && slices_equal(value, other))) {
        if (!call_del(run, name)) return RELEASE_ERROR;
        is_free = true;
        gone = 1;
    } else {
        return RELEASE_OTHERS;
    }
    run->scene->call->did = run->scene->call->did || gone > 0;
    if (wakes) *woken += shared_wakes(run, beside, is_free);
    return gone > 0 ? RELEASE_DONE : RELEASE_OTHERS;
}

/* WIRE_SHARED_RELEASE_SCRIPT */
void do_shared_release(struct run *run)
{
    char text[160];
    const struct slice other = other_value(run, 2, text);
    const char *error = NULL;
    int number = 1;
    unsigned woken = 0;
    if (other.data)
        slice_text(run->arguments[2], run->scene->call->other, sizeof run->scene->call->other);
    for (unsigned i = 0; i < run->key_count; i++) {
        struct beside beside = beside_of(run->keys[i]);
        const enum release release = shared_release_key(run, run->keys[i], &beside, other, &woken);
        beside_free(&beside);
        if (release == RELEASE_RAISED) {
            raise_error(run);
            return;
        }
        if (release == RELEASE_ERROR)
            error = run->error;
        else if (release == RELEASE_OTHERS)
            number = -1;
        else if (release == RELEASE_NOTHING && number > 0)
            number = 0;
    }
    if (error)
        model_answer_error(run->scene, error);
    else
        model_answer_number(run->scene, number > 0 && woken > 0 ? 2 : number);
}

/* ---- Wait ---- */

/* Lines up for one key. *left_ms: how long it stays taken. */
static bool shared_lines_up(struct run *run, unsigned i, const struct beside *beside,
                            int64_t arrived_at, int64_t life_ms, int64_t *left_ms)
{
    const bool is_reader = is_shared_mode(run, 3, i);
    struct slice writer = { NULL, 0 }, value = { NULL, 0 };
    struct model_entry own = { .score = (uint64_t)arrived_at };
    snprintf((char *)own.member, sizeof own.member, "%.*s%s", (int)run->arguments[0].size,
             (const char *)run->arguments[0].data, is_reader ? "s" : "");
    own.size = strlen((char *)own.member);
    const bool raises_flag = script_says(WIRE_WAIT_SCRIPT, "c('set',t..'#waiters'");
    if (!call_pttl(run, run->keys[i], left_ms) ||
        !call_line_up(run, raises_flag, beside->waiters, own.score, member_of(&own), life_ms))
        return false;
    if (!call_get(run, beside->writer, &writer)) writer.data = NULL;
    if (!call_get(run, run->keys[i], &value)) value.data = NULL;    /* Uses redis.pcall(). */
    run->error = NULL;
    const bool is_shared = value.data && slice_is(value, marker);
    const bool is_behind = writer.data && arrived_of(writer, arrived_at) < arrived_at;
    if (is_reader && (*left_ms == -2 || is_shared)) {
        *left_ms = -2;
        return !is_behind || call_pttl(run, beside->writer, left_ms);
    }
    if (is_shared && !is_behind) note_writer(run, beside, &own, WIRE_WRITER_LIFE_MS);
    run->error = NULL;
    return true;
}

/* WIRE_WAIT_SCRIPT */
void do_wait(struct run *run)
{
    int64_t arrived_at = 0, life_ms = 0, longest_ms = -2, left_ms;
    if (!slice_number(run->arguments[1], &arrived_at) ||
        !slice_number(run->arguments[2], &life_ms) ||
        run->arguments[0].size + 1 > MODEL_ENTRY_MAX || run->arguments[3].size != run->key_count) {
        model_breach(run->scene->node, "a shared wait script with arguments out of range");
        return;
    }
    for (unsigned i = 0; i < run->key_count; i++) {
        struct beside beside = beside_of(run->keys[i]);
        const bool done = shared_lines_up(run, i, &beside, arrived_at, life_ms, &left_ms);
        beside_free(&beside);
        if (!done) {
            raise_error(run);
            return;
        }
        if (longest_ms != -1 && (left_ms == -1 || left_ms > longest_ms)) longest_ms = left_ms;
    }
    run->scene->call->did = true;
    model_answer_number(run->scene, longest_ms);
}
