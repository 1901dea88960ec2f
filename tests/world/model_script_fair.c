#include "model_script.h"

#include <stdio.h>
#include <string.h>

static bool fair_says(const char *words)
{
    return script_says(WIRE_FAIR_ACQUIRE_SCRIPT, words);
}

/* ---- The queue ---- */

/* The names of the keys beside a fair lock's, freed by the caller; and the common data
 * of its commands. */
struct fair {
    struct slice queue, lease, grant, ticket;
    /* Its own entry, and the head of the queue, of size 0 if the queue is empty. */
    struct model_entry member, first;
    struct slice value;                 /* The key's value; NULL: there is none. */
    bool is_ours;
};

static struct fair fair_of(struct slice name)
{
    return (struct fair){ .queue = name_with(name, "#queue"),
                          .lease = name_with(name, "#lease"),
                          .grant = name_with(name, "#grant"),
                          .ticket = name_with(name, "#ticket") };
}

static void fair_free(struct fair *fair)
{
    slice_free(fair->queue);
    slice_free(fair->lease);
    slice_free(fair->grant);
    slice_free(fair->ticket);
}

static bool is_first(const struct fair *fair)
{
    return slices_equal(member_of(&fair->first), member_of(&fair->member));
}

/* "token:entry" */
static void name_member(struct run *run, struct fair *fair, struct slice entry)
{
    const struct slice value = run->arguments[0];
    if (value.size < REDLOCK_TOKEN_TEXT || entry.size > MODEL_ENTRY_MAX - REDLOCK_TOKEN_TEXT - 1) {
        model_breach(run->scene->node, "a fair script with arguments out of range");
        entry.size = 0;
    }
    memcpy(fair->member.member, value.data,
           value.size < REDLOCK_TOKEN_TEXT ? value.size : REDLOCK_TOKEN_TEXT);
    fair->member.member[REDLOCK_TOKEN_TEXT] = ':';
    memcpy(fair->member.member + REDLOCK_TOKEN_TEXT + 1, entry.data, entry.size);
    fair->member.size = REDLOCK_TOKEN_TEXT + 1 + entry.size;
}

/* ZRANGE of the first one alone. */
static bool call_first(struct run *run, struct fair *fair)
{
    const struct model_key *key =
        may_call_on(run, "ZRANGE", fair->queue, READS) ? sorted_set(run, fair->queue) : NULL;
    const struct model_entry *first = entry_behind(key, NULL);
    fair->first.size = 0;
    if (first) fair->first = *first;
    return !run->error;
}

/* There is none, or the clock has stepped back since. */
static bool is_no_lease(const struct run *run, uint64_t score)
{
    return score == 0 ||
           (score > ms_of(run->scene->now_us) + 2 * WIRE_FAIR_LEASE_MS && fair_says("-w>10000"));
}

/* Removes the entries that have no lease, or are longer in the queue than theirs. */
static bool fair_sweeps(struct run *run, struct fair *fair)
{
    uint64_t score;
    unsigned count = 0;
    const struct model_key *lease =
        may_call_on(run, "ZRANGEBYSCORE", fair->lease, READS) ? sorted_set(run, fair->lease) : NULL;
    const struct model_entry *over = entry_behind(lease, NULL);
    for (unsigned i = 0; i < 64 && over && over->score <= ms_of(run->scene->now_us); i++) {
        const struct model_entry gone = *over;
        if (!call_zrem_counted(run, fair->queue, member_of(&gone), &count)) return false;
        if (!call_zrem_counted(run, fair->lease, member_of(&gone), &count)) return false;
        over = entry_behind(sorted_set(run, fair->lease), NULL);
    }
    for (unsigned i = 0; !run->error && call_first(run, fair) && fair->first.size > 0 && i < 64;
         i++) {
        if (!call_zscore(run, fair->lease, member_of(&fair->first), &score) ||
            !is_no_lease(run, score))
            break;
        if (!call_zrem_counted(run, fair->queue, member_of(&fair->first), &count)) break;
        (void)call_zrem_counted(run, fair->lease, member_of(&fair->first), &count);
    }
    return !run->error;
}

/* tell.lua. Its errors are nobody's. */
static bool fair_tells(struct run *run, struct slice queue)
{
    struct model_entry told = { .size = 0 }, heard;
    unsigned count = 0;
    const struct model_key *key =
        may_call_on(run, "ZRANGE", queue, READS) ? sorted_set(run, queue) : NULL;
    const struct model_entry *next = entry_behind(key, NULL);
    for (unsigned i = 0; i < 16 && next && count == 0 && !run->error; i++) {
        told = *next;
        heard = (struct model_entry){ .size = told.size > 41 ? told.size - 41 : 0 };
        memcpy(heard.member, told.member + 41, heard.size);
        count = tell_waiter(run, &heard, 0);
        if (count > 0)
            slice_text(member_of(&heard), run->scene->call->woken, sizeof run->scene->call->woken);
        next = entry_behind(key, &told);
    }
    run->error = NULL;
    return count > 0;
}

/* ---- Acquire: a poll ---- */

/* "turn round renew entry" */
struct place {
    int64_t turn, poll;
    bool renews;
    struct slice entry;
};

static struct place read_place(const struct run *run)
{
    struct slice text = run->arguments[5];
    struct place place = { 0 };
    int64_t renews = 0;
    const bool is_good = slice_number(slice_word(&text), &place.turn) &&
                         slice_number(slice_word(&text), &place.poll) &&
                         slice_number(slice_word(&text), &renews) && renews >= 0 && renews <= 1 &&
                         place.turn >= 0 && place.poll > 0 && (renews == 0 || place.turn > 0);
    if (!is_good) model_breach(run->scene->node, "a poll with a place out of range");
    place.renews = renews == 1;
    place.entry = text;
    return place;
}

/* S24: of an older round than the one in which the key was granted. */
static bool fair_is_old(struct run *run, const struct fair *fair, const struct place *place)
{
    struct slice value = { NULL, 0 };
    double round = (double)WIRE_TICKET_MAX;
    if (!fair->is_ours || !fair_says("r+0>=tonumber(c('get',g)or 9007199254740991)")) return false;
    if (!call_get(run, fair->grant, &value)) return false;
    if (value.data && !read_counter(run, value, &round, "nil with number")) return false;
    return (double)place->poll < round;
}

static bool fair_queues(struct run *run, struct fair *fair, const struct place *place)
{
    const bool renews = fair_says("if n=='1'then") ? place->renews : place->turn > 0;
    if (!renews) return true;
    struct model_key *queue = run_key(run, fair->queue);
    const bool is_new =
        !queue || !queue->is_sorted_set || !entry_find(queue, member_of(&fair->member));
    const bool done =
        call_pexpire(run, fair->queue, WIRE_FAIR_LEASE_MS) &&
        call_zadd(run, fair->queue, (uint64_t)place->turn, member_of(&fair->member)) &&
        call_pexpire(run, fair->queue, WIRE_FAIR_LEASE_MS) &&
        call_zadd(run, fair->lease, ms_of(run->scene->now_us) + WIRE_FAIR_LEASE_MS,
                  member_of(&fair->member)) &&
        call_pexpire(run, fair->lease, WIRE_FAIR_LEASE_MS) && call_first(run, fair);
    run->scene->call->queued = done;
    run->scene->call->joined = done && is_new;
    return done;
}

static bool fair_may_have(const struct fair *fair, const struct place *place)
{
    if (place->turn == 0)
        return fair->first.size == 0 || !fair_says("if h==(u~='0'and b or nil)then");
    return is_first(fair);
}

static bool fair_grants(struct run *run, const struct fair *fair, const struct place *place)
{
    char round[24];
    int64_t ttl_ms = 0, ticket = 0, life_ms = 0, left_ms;
    snprintf(round, sizeof round, "%lld", (long long)place->poll);
    (void)slice_number(run->arguments[1], &ttl_ms);
    (void)slice_number(run->arguments[2], &ticket);
    (void)slice_number(run->arguments[3], &life_ms);
    if (ticket > 0 && !call_set(run, fair->ticket, run->arguments[2], life_ms)) return false;
    if (!call_pttl(run, run->keys[0], &left_ms)) return false;
    if (!call_set(run, fair->grant, slice_of(round), left_ms > ttl_ms ? left_ms : ttl_ms))
        return false;
    if (fair_says("B~=-1 and B<m+0") && (left_ms == -1 || left_ms >= ttl_ms)) return true;
    return call_set(run, run->keys[0], run->arguments[0], ttl_ms);
}

/* Deletes its grant and wakes the head. */
static bool fair_gives_way(struct run *run, struct fair *fair)
{
    if (!call_del_both(run, run->keys[0], fair->grant)) return false;
    fair->value.data = NULL;
    (void)fair_tells(run, fair->queue);
    return true;
}

static bool call_rank(struct run *run, const struct fair *fair, int *rank)
{
    const struct model_key *key =
        may_call_on(run, "ZRANK", fair->queue, READS) ? sorted_set(run, fair->queue) : NULL;
    const struct model_entry *entry = entry_behind(key, NULL);
    *rank = 0;
    while (entry && !slices_equal(member_of(entry), member_of(&fair->member))) {
        entry = entry_behind(key, entry);
        ++*rank;
    }
    if (!entry) *rank = -1;
    return !run->error;
}

static bool fair_refuses(struct run *run, const struct fair *fair, struct slice counter, int rank)
{
    char text[MODEL_TEXT_MAX];
    int64_t left_ms = -2;
    uint64_t until_ms, largest;
    if (fair->value.data && !fair->is_ours) {
        if (!call_pttl(run, run->keys[0], &left_ms)) return false;
        if (left_ms > UINT32_MAX) left_ms = UINT32_MAX;
    } else if (fair->first.size > 0 && !is_first(fair)) {
        if (!call_zscore(run, fair->lease, member_of(&fair->first), &until_ms)) return false;
        left_ms = until_ms > ms_of(run->scene->now_us)
                      ? (int64_t)(until_ms - ms_of(run->scene->now_us))
                      : 0;
    }
    if (!call_largest(run, fair->queue, &largest)) return false;
    snprintf(text, sizeof text, "%.*s %lld %llu %d", (int)counter.size, (const char *)counter.data,
             (long long)left_ms, (unsigned long long)largest, rank);
    model_answer_bulk(run->scene, slice_of(text));
    return true;
}

/* Its place goes, and the key. False: run->error. */
static bool fair_loses_place(struct run *run, struct fair *fair)
{
    unsigned count = 0;
    if (!fair_says("c('zrem',q,b)c('zrem',e,b)")) return true;
    if (!call_zrem_counted(run, fair->queue, member_of(&fair->member), &count)) return false;
    if (!call_zrem_counted(run, fair->lease, member_of(&fair->member), &count)) return false;
    return !fair->is_ours || fair_gives_way(run, fair);
}

/* A poll that is not old. It sets *granted, or the rank, or after the answer -AHEAD
 * *ahead. False: run->error. */
static bool fair_polls(struct run *run, struct fair *fair, const struct place *place,
                       struct slice counter, bool *done, int *rank)
{
    int64_t ticket = 0, skew_ms = 0;
    double largest = 0;
    (void)slice_number(run->arguments[2], &ticket);
    (void)slice_number(run->arguments[4], &skew_ms);
    if (is_ahead(run, ticket, skew_ms)) {
        *done = fair_loses_place(run, fair);
        if (*done) answer_ahead(run);
        return *done;
    }
    if (!fair_queues(run, fair, place)) return false;
    if (fair_may_have(fair, place)) {
        const bool is_free = !fair->value.data || fair->is_ours;
        if (is_free && ticket > 0 &&
            !read_counter(run, counter, &largest, "nil with number")) return false;
        const bool is_more =
            fair_says("f>tonumber(z)") ? (double)ticket > largest : (double)ticket >= largest;
        run->scene->call->outdated = is_free && ticket > 0 && !is_more;
        if (is_free && (ticket == 0 || is_more)) {
            *done = true;
            if (!fair_grants(run, fair, place)) return false;
            answer_done(run);
            return true;
        }
    } else if (fair->is_ours && fair_says("elseif A then c('del',k,g)") &&
               !fair_gives_way(run, fair)) {
        return false;
    }
    return call_rank(run, fair, rank);
}

static bool fair_acquires(struct run *run, struct fair *fair, const struct place *place)
{
    struct slice counter = slice_of("0");
    int64_t ticket = 0, ttl_ms = 0;
    bool done = false;
    int rank = -2;
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0 ||
        !slice_number(run->arguments[2], &ticket) || ticket < 0)
        model_breach(run->scene->node, "a poll with arguments out of range");
    if (!may_call(run, "TIME", READS) || !fair_sweeps(run, fair) ||
        !call_get(run, run->keys[0], &fair->value))
        return false;
    if (ticket > 0 && !call_get(run, fair->ticket, &counter)) return false;
    if (!counter.data) counter = slice_of("0");
    fair->is_ours = fair->value.data && slices_equal(fair->value, run->arguments[0]);
    const bool is_old = fair_is_old(run, fair, place);
    if (run->error || (!is_old && !fair_polls(run, fair, place, counter, &done, &rank)))
        return false;
    return done || fair_refuses(run, fair, counter, rank);
}

/* WIRE_FAIR_ACQUIRE_SCRIPT */
void do_fair_acquire(struct run *run)
{
    struct fair fair = fair_of(run->keys[0]);
    const struct place place = read_place(run);
    name_member(run, &fair, place.entry);
    if (place.entry.size <= MODEL_PLACE_MAX)
        slice_text(place.entry, run->scene->call->entry, sizeof run->scene->call->entry);
    run->scene->call->turn = (uint32_t)place.turn;
    run->scene->call->poll = (uint32_t)place.poll;
    if (!fair_acquires(run, &fair, &place)) raise_error(run);
    fair_free(&fair);
}

/* ---- Restore and extend ---- */

/* Every poll is old from now on. */
static bool fair_closes(struct run *run, const struct fair *fair, const char *script,
                        int64_t ttl_ms, int64_t left_ms)
{
    if (!script_says(script, "'9007199254740991','px'")) return true;
    return call_set(run, fair->grant, slice_of("9007199254740991"),
                    left_ms > ttl_ms ? left_ms : ttl_ms);
}

/* False: run->error. */
static bool fair_restores(struct run *run, const struct fair *fair)
{
    const struct proposal p = read_proposal(run, "a restore script with arguments out of range");
    struct slice value = { NULL, 0 }, counter = { NULL, 0 };
    double largest = 0;
    int64_t left_ms;
    if (!call_get(run, run->keys[0], &value)) return false;
    if (value.data && !slices_equal(value, run->arguments[0])) {
        model_answer_bulk(run->scene, slice_of("taken"));
        return true;
    }
    if (p.ticket > 0 && !call_get(run, fair->ticket, &counter)) return false;
    if (counter.data && !read_counter(run, counter, &largest, "nil with number")) return false;
    if ((double)p.ticket > largest) {
        if (!may_call(run, "TIME", READS)) return false;
        if (ticket_is_ahead(run, p.ticket, p.skew_ms)) return true;
        if (!call_set(run, fair->ticket, run->arguments[2], p.life_ms)) return false;
        run->scene->call->raised = true;
    }
    if (!call_pttl(run, run->keys[0], &left_ms) ||
        !fair_closes(run, fair, WIRE_FAIR_RESTORE_SCRIPT, p.ttl_ms, left_ms)) return false;
    if (left_ms != -1 && left_ms < p.ttl_ms &&
        !call_set(run, run->keys[0], run->arguments[0], p.ttl_ms))
        return false;
    answer_done(run);
    return true;
}

/* WIRE_FAIR_RESTORE_SCRIPT */
void do_fair_restore(struct run *run)
{
    struct fair fair = fair_of(run->keys[0]);
    if (!fair_restores(run, &fair)) raise_error(run);
    fair_free(&fair);
}

/* It writes first, so that a node which is out of memory lets the rest pass; and to see whether it
 * is a fair lock's. */
static bool fair_writes_first(struct run *run, const struct fair *fair, int64_t ttl_ms, bool *holds)
{
    if (script_says(WIRE_FAIR_EXTEND_SCRIPT, "==0 then return 0 end") && !run_key(run, fair->grant))
        *holds = false;
    return !script_says(WIRE_FAIR_EXTEND_SCRIPT, "c('pexpire',g,m)") ||
           call_pexpire(run, fair->grant, ttl_ms);
}

static bool fair_extends(struct run *run, const struct fair *fair)
{
    const int64_t ttl_ms = read_ttl(run);
    int64_t left_ms;
    bool holds = extend_holds_all(run);
    if (run->error) return false;
    if (holds &&
        (!call_pttl(run, run->keys[0], &left_ms) || !fair_writes_first(run, fair, ttl_ms, &holds)))
        return false;
    if (holds && (!fair_closes(run, fair, WIRE_FAIR_EXTEND_SCRIPT, ttl_ms, left_ms))) return false;
    if (holds && left_ms >= 0 &&
        (left_ms < ttl_ms || !script_says(WIRE_FAIR_EXTEND_SCRIPT, "l<m+0")) &&
        !call_pexpire(run, run->keys[0], ttl_ms))
        return false;
    run->scene->call->did = holds;
    model_answer_number(run->scene, holds);
    return true;
}

/* WIRE_FAIR_EXTEND_SCRIPT */
void do_fair_extend(struct run *run)
{
    struct fair fair = fair_of(run->keys[0]);
    if (!fair_extends(run, &fair)) raise_error(run);
    fair_free(&fair);
}

/* ---- Release ---- */

static bool is_of_token(const struct run *run, const struct model_entry *entry)
{
    return entry->size > REDLOCK_TOKEN_TEXT &&
           memcmp(entry->member, run->arguments[0].data, REDLOCK_TOKEN_TEXT) == 0 &&
           entry->member[REDLOCK_TOKEN_TEXT] == ':';
}

/* Takes the token's entries out of the front of the queue. True: the very first was one. */
static bool fair_leaves_front(struct run *run, struct fair *fair)
{
    struct model_entry front[16];
    unsigned count = 0;
    bool was_first = false;
    const struct model_key *key =
        may_call_on(run, "ZRANGE", fair->queue, READS) ? sorted_set(run, fair->queue) : NULL;
    for (const struct model_entry *next = entry_behind(key, NULL); next && count < 16;
         next = entry_behind(key, &front[count - 1]))
        front[count++] = *next;
    for (unsigned i = 0; i < count; i++) {
        if (!is_of_token(run, &front[i])) continue;
        call_zrem(run, fair->queue, member_of(&front[i]));
        call_zrem(run, fair->lease, member_of(&front[i]));
        was_first = was_first || i == 0;
    }
    return was_first;
}

/* Uses redis.pcall(), so errors about the queue are ignored. */
static bool fair_leaves_queue(struct run *run, struct fair *fair)
{
    const bool does = script_says(WIRE_FAIR_RELEASE_SCRIPT, "p('zrem',q,u..e)");
    const bool was_first = does && fair_leaves_front(run, fair);
    if (does) call_zrem(run, fair->queue, member_of(&fair->member));
    call_zrem(run, fair->lease, member_of(&fair->member));
    run->error = NULL;
    return was_first;
}

static unsigned fair_wakes(struct run *run, struct fair *fair)
{
    unsigned woken = fair_tells(run, fair->queue);
    (void)call_first(run, fair);
    run->error = NULL;
    if (fair->first.size == 0) woken = wake_in_order(run, run->keys[0], true);
    run->error = NULL;
    return woken;
}

/* The key. False: an error was the answer. */
static bool fair_leaves(struct run *run, struct fair *fair, int *number)
{
    if (!call_get(run, run->keys[0], &fair->value)) {
        model_answer_error(run->scene, run->error);
        return false;
    }
    fair->is_ours = fair->value.data && (slices_equal(fair->value, run->arguments[0]) ||
                                         !script_says(WIRE_FAIR_RELEASE_SCRIPT, "if v==o then"));
    *number = fair->is_ours ? 1 : fair->value.data ? -1 : 0;
    if (!fair->is_ours) return true;
    const bool does_both =
        script_says(WIRE_FAIR_RELEASE_SCRIPT, "redis.call('del',k,k..'#grant')");
    if (!(does_both ? call_del_both(run, run->keys[0], fair->grant)
                    : call_del(run, run->keys[0]))) {
        raise_error(run);
        return false;
    }
    run->scene->call->did = true;
    return true;
}

/* WIRE_FAIR_RELEASE_SCRIPT */
void do_fair_release(struct run *run)
{
    struct fair fair = fair_of(run->keys[0]);
    int number = 0;
    unsigned woken = 0;
    name_member(run, &fair, run->arguments[1]);
    const bool was_first = fair_leaves_queue(run, &fair);
    if (fair_leaves(run, &fair, &number)) {
        if (run->argument_count > 2 && (number == 1 || (number == 0 && was_first)))
            woken = fair_wakes(run, &fair);
        model_answer_number(run->scene, number > 0 && woken > 0 ? 2 : number);
    }
    fair_free(&fair);
}
