#include "model_inside.h"

#include "decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Scripts ---- */

enum model_script model_script_of(struct slice text)
{
    static const uint8_t scripts[ROW_COUNT] = {
        [ROW_ACQUIRE] = MODEL_SCRIPT_ACQUIRE, [ROW_RESTORE] = MODEL_SCRIPT_RESTORE,
        [ROW_EXTEND] = MODEL_SCRIPT_EXTEND, [ROW_EXTEND_ONE] = MODEL_SCRIPT_EXTEND_ONE,
        [ROW_RELEASE] = MODEL_SCRIPT_RELEASE, [ROW_RELEASE_ONE] = MODEL_SCRIPT_RELEASE_ONE, [ROW_WAIT] = MODEL_SCRIPT_WAIT,
        [ROW_PERMIT_ACQUIRE] = MODEL_SCRIPT_PERMIT_ACQUIRE, [ROW_PERMIT_RESTORE] = MODEL_SCRIPT_PERMIT_RESTORE,
        [ROW_PERMIT_EXTEND] = MODEL_SCRIPT_PERMIT_EXTEND,
        [ROW_PERMIT_RELEASE] = MODEL_SCRIPT_PERMIT_RELEASE, [ROW_PERMIT_WAIT] = MODEL_SCRIPT_PERMIT_WAIT,
        [ROW_SHARED_ACQUIRE] = MODEL_SCRIPT_SHARED_ACQUIRE, [ROW_SHARED_EXTEND] = MODEL_SCRIPT_SHARED_EXTEND,
        [ROW_SHARED_RELEASE] = MODEL_SCRIPT_SHARED_RELEASE, [ROW_SHARED_WAIT] = MODEL_SCRIPT_SHARED_WAIT,
        [ROW_FAIR_ACQUIRE] = MODEL_SCRIPT_FAIR_ACQUIRE, [ROW_FAIR_RESTORE] = MODEL_SCRIPT_FAIR_RESTORE,
        [ROW_FAIR_EXTEND] = MODEL_SCRIPT_FAIR_EXTEND, [ROW_FAIR_RELEASE] = MODEL_SCRIPT_FAIR_RELEASE,
        [ROW_REDISSON_ACQUIRE] = MODEL_SCRIPT_REDISSON_ACQUIRE, [ROW_REDISSON_EXTEND] = MODEL_SCRIPT_REDISSON_EXTEND,
        [ROW_REDISSON_RELEASE] = MODEL_SCRIPT_REDISSON_RELEASE,
    };
    if (text.size <= MODEL_SHA_TEXT) return MODEL_SCRIPT_NONE;
    if (slice_is(text, WIRE_MARK_SCRIPT)) return MODEL_SCRIPT_MARK;
    const enum row row = row_of(WIRE_BY_TEXT, text.data, text.size);
    return row == ROW_COUNT ? MODEL_SCRIPT_NONE : (enum model_script)scripts[row];
}

/* Knows by its text what it has: that is faster than its SHA-1. */
static void script_load(struct model_node *node, struct slice text, char sha[MODEL_SHA_TEXT + 1])
{
    const enum model_script kind = model_script_of(text);
    for (unsigned i = 0; i < node->script_count; i++)
        if (node->script_kinds[i] == kind) {
            memcpy(sha, node->script_shas[i], MODEL_SHA_TEXT + 1);
            return;
        }
    sha1_text(text, sha);
    if (kind == MODEL_SCRIPT_NONE || node->script_count == MODEL_SCRIPTS_MAX) {
        model_breach(node, "a script that the model does not know");
        return;
    }
    node->script_kinds[node->script_count] = (uint8_t)kind;
    memcpy(node->script_shas[node->script_count++], sha, MODEL_SHA_TEXT + 1);
}

enum model_script model_script_loaded(const struct model_node *node, const char *sha)
{
    for (unsigned i = 0; i < node->script_count; i++)
        if (strcmp(node->script_shas[i], sha) == 0) return node->script_kinds[i];
    return MODEL_SCRIPT_NONE;
}

void model_do_load(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    script_load(scene->node, scene->command->arguments[2], sha);
    model_answer_bulk(scene, slice_of(sha));
}

/* A script that runs. It may be refused a write, but not after it has done one: it is not stopped halfway. */
struct run {
    const struct scene *scene;
    const char *sha;
    const struct slice *keys, *arguments;
    unsigned key_count, argument_count;
    bool has_written;
    const char *error;          /* What its last call came to; NULL: no error. */
};

enum effect { READS, FREES, ADDS }; /* FREES: or writes what needs no memory. */

/* redis.call() or redis.pcall() of that command: does it get as far as to be executed? */
static bool may_call(struct run *run, const char *command, enum effect effect)
{
    const struct model_node *node = run->scene->node;
    const bool is_write = effect != READS;
    run->error = is_write && !run->has_written ? model_why_no_write(node, effect == FREES) : NULL;
    if (model_is_listed(node->noperm, command))
        run->error = "-ERR The user executing the script can't run this command or subcommand";
    run->has_written = run->has_written || (is_write && !run->error);
    return !run->error;
}

/* An error that redis.call() met ends the script. */
static void raise_error(const struct run *run)
{
    model_answer_error(run->scene, run->error, run->sha);
}

static struct model_key *run_key(const struct run *run, struct slice name)
{
    return key_find(run->scene->node, run->scene->session->database, name, run->scene->now_us);
}

static void run_remove(const struct run *run, struct model_key *key)
{
    key_remove(run->scene->node, key);
}

/* value->data NULL: there is none. */
static bool call_get(struct run *run, struct slice name, struct slice *value)
{
    const struct model_key *key = run_key(run, name);
    if (!may_call(run, "GET", READS)) return false;
    if (key && !key_is_string(key)) run->error = model_wrong_type;
    *value = key ? (struct slice){ key->value, key->value_size } : (struct slice){ NULL, 0 };
    return !run->error;
}

static bool call_pttl(struct run *run, struct slice name, int64_t *left_ms)
{
    const struct model_key *key = run_key(run, name);
    *left_ms = key ? key_pttl(key, run->scene->now_us) : -2;
    return may_call(run, "PTTL", READS);
}

static bool call_del(struct run *run, struct slice name)
{
    struct model_key *key = run_key(run, name);
    if (!may_call(run, "DEL", FREES)) return false;
    if (key) run_remove(run, key);
    return true;
}

static bool call_set(struct run *run, struct slice name, struct slice value, int64_t ttl_ms)
{
    struct model_key *key = run_key(run, name);
    if (!may_call(run, "SET", ADDS)) return false;
    if (key) run_remove(run, key);
    key = key_put(run->scene->node, run->scene->session->database, name, value);
    key->expires_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    return true;
}

static bool call_pexpire(struct run *run, struct slice name, int64_t ttl_ms)
{
    struct model_key *key = run_key(run, name);
    if (!may_call(run, "PEXPIRE", FREES)) return false;
    if (key) key->expires_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    return true;
}

/* ---- Scripts: the waiters ---- */

/* "resource#ticket", "resource#waiters". The bytes are the caller's to free. */
static struct slice name_with(struct slice resource, const char *suffix)
{
    uint8_t *bytes = model_grow(NULL, resource.size + strlen(suffix) + 1);
    memcpy(bytes, resource.data, resource.size);
    memcpy(bytes + resource.size, suffix, strlen(suffix) + 1);
    return (struct slice){ bytes, resource.size + strlen(suffix) };
}

static void slice_free(struct slice slice)
{
    free((void *)(uintptr_t)slice.data);
}

static struct model_entry *entry_find(struct model_key *key, struct slice member)
{
    for (size_t i = 0; i < key->entry_count; i++)
        if (slices_equal((struct slice){ key->entries[i].member, key->entries[i].size }, member))
            return &key->entries[i];
    return NULL;
}

/* A set without a member is none. */
static void entry_remove(const struct run *run, struct model_key *key, struct model_entry *entry)
{
    *entry = key->entries[--key->entry_count];
    if (key->entry_count == 0) run_remove(run, key);
}

static void entry_put(struct model_key *key, struct slice member, uint64_t score)
{
    struct model_entry *entry = entry_find(key, member);
    if (!entry) {
        key->entries = model_grow(key->entries, (key->entry_count + 1) * sizeof *key->entries);
        entry = &key->entries[key->entry_count++];
    }
    entry->score = score;
    entry->size = member.size;
    memcpy(entry->member, member.data, member.size);
}

/* By score, and then by the bytes. */
static bool entry_is_before(const struct model_entry *a, const struct model_entry *b)
{
    const int order = memcmp(a->member, b->member, a->size < b->size ? a->size : b->size);
    if (a->score != b->score) return a->score < b->score;
    return order != 0 ? order < 0 : a->size < b->size;
}

/* The key of a sorted set, for a command that would be executed. NULL: there is none, or run->error. */
static struct model_key *sorted_set(struct run *run, struct slice name)
{
    struct model_key *key = run_key(run, name);
    if (!key || key->is_sorted_set) return key;
    run->error = model_wrong_type;
    return NULL;
}

static bool call_zadd(struct run *run, struct slice name, uint64_t score, struct slice member)
{
    if (!may_call(run, "ZADD", ADDS)) return false;
    struct model_key *key = sorted_set(run, name);
    if (!key && !run->error) {
        key = key_put(run->scene->node, run->scene->session->database, name, slice_of(""));
        key->is_sorted_set = true;
    }
    if (key) entry_put(key, member, score);
    return key != NULL;
}

static void call_zrem(struct run *run, struct slice name, struct slice member)
{
    struct model_key *key = may_call(run, "ZREM", FREES) ? sorted_set(run, name) : NULL;
    struct model_entry *entry = key ? entry_find(key, member) : NULL;
    if (entry) entry_remove(run, key, entry);
}

/* False: there was none, or an error. */
static bool call_zpopmin(struct run *run, struct slice name, struct model_entry *first)
{
    struct model_key *key = may_call(run, "ZPOPMIN", FREES) ? sorted_set(run, name) : NULL;
    if (!key) return false;
    struct model_entry *least = &key->entries[0];
    for (size_t i = 1; i < key->entry_count; i++)
        if (entry_is_before(&key->entries[i], least)) least = &key->entries[i];
    *first = *least;
    entry_remove(run, key, least);
    return true;
}

/* How many have heard it. */
static unsigned publish(struct model_node *node, struct slice channel, struct slice message)
{
    unsigned heard = 0;
    char head[MODEL_CHANNEL_MAX + 64];
    for (struct model_session *subscriber = node->subscribers; subscriber; subscriber = subscriber->next_subscriber) {
        if (!model_channel(subscriber, channel)) continue;
        snprintf(head, sizeof head, "*3\r\n$7\r\nmessage\r\n$%zu\r\n%.*s\r\n$%zu\r\n", channel.size, (int)channel.size,
                 (const char *)channel.data, message.size);
        model_bytes_add(&subscriber->out, head, strlen(head));
        model_bytes_add(&subscriber->out, message.data, message.size);
        model_bytes_add(&subscriber->out, "\r\n", 2);
        heard++;
    }
    return heard;
}

unsigned model_publish(struct model_node *node, const char *channel, const char *message)
{
    return publish(node, slice_of(channel), slice_of(message));
}

/* What is published of an entry "0123456789abcdef:7" is "7", of a permit's slot 3 "7@3", to "redlock:0123456789abcdef".
 * Returns how many hear it; 0 also after an error. */
static unsigned call_publish(struct run *run, const struct model_entry *entry, unsigned slot)
{
    char text[MODEL_ENTRY_MAX + 1], channel[sizeof "redlock:" + 16], message[MODEL_ENTRY_MAX + 8];
    slice_text((struct slice){ entry->member, entry->size }, text, sizeof text);
    snprintf(channel, sizeof channel, "redlock:%.16s", text);
    snprintf(message, sizeof message, slot > 0 ? "%s@%u" : "%s", entry->size > 17 ? text + 17 : "", slot);
    return may_call(run, "PUBLISH", READS) ? publish(run->scene->node, slice_of(channel), slice_of(message)) : 0;
}

/* ---- Scripts: what they do ---- */

/* The larger of two PTTLs; none at all is the largest. */
static int64_t longer_pttl(int64_t a, int64_t b)
{
    const int64_t cut = b < UINT32_MAX ? b : UINT32_MAX;
    return a != -1 && (cut == -1 || cut > a) ? cut : a;
}

/* As Lua compares it. False: it is no number. */
static bool lua_number(struct slice text, double *number)
{
    char *end;
    *number = strtod((const char *)text.data, &end);
    return end != (const char *)text.data && end[strspn(end, " \t\r\n\v\f")] == '\0';
}

/* No Lua is executed here, but a script in which a rule is broken does as it says. */
static bool acquire_looks_at_each(void)
{
    return strstr(WIRE_ACQUIRE_SCRIPT, "if p~=-1 and (v==-1 or v>p) then p=v end") != NULL;
}

static bool acquire_wants_more(void)
{
    return strstr(WIRE_ACQUIRE_SCRIPT, "t<=tonumber(m)") != NULL;
}

static bool restore_leaves_anothers(void)
{
    return strstr(WIRE_RESTORE_SCRIPT, "if v and v~=ARGV[1] then") != NULL;
}

static bool restore_lowers_nothing(void)
{
    return strstr(WIRE_RESTORE_SCRIPT, "t>tonumber(c('get',q) or 0)") != NULL;
}

static bool restore_raises(void)
{
    return strstr(WIRE_RESTORE_SCRIPT, "r[#r+1]=q") != NULL;
}

static bool restore_heeds_clocks(void)
{
    return strstr(WIRE_RESTORE_SCRIPT, "if w and t>w[1]") != NULL;
}

static bool restore_only_lengthens(void)
{
    return strstr(WIRE_RESTORE_SCRIPT, "p~=-1 and p<tonumber(ARGV[2])") != NULL;
}

static bool release_raises_flag(void)
{
    return strstr(WIRE_RELEASE_SCRIPT, "c('set',f,") != NULL;
}

static bool wait_raises_flag(void)
{
    return strstr(WIRE_WAIT_SCRIPT, "c('set',q..w") != NULL;
}

static bool release_compares(void)
{
    return strstr(WIRE_RELEASE_SCRIPT, "if v==ARGV[1] then") != NULL;
}

static bool extend_only_lengthens(void)
{
    return strstr(WIRE_EXTEND_SCRIPT, "p<tonumber(ARGV[2])") != NULL;
}

/* What a script says that compares with a counter that is no number depends on which side that is. */
static bool read_counter(struct run *run, struct slice value, double *number, const char *error)
{
    if (!lua_number(value, number)) run->error = error;
    return !run->error;
}

/* Of all the keys: the largest counter, as the text that it is, and the longest PTTL. */
static bool acquire_looks(struct run *run, bool has_ticket, struct slice *largest, double *counter, int64_t *left_ms)
{
    for (unsigned i = 0; i < run->key_count; i++) {
        struct slice value = { NULL, 0 }, name = name_with(run->keys[i], "#ticket");
        int64_t pttl;
        double number = 0;
        const bool done = call_pttl(run, run->keys[i], &pttl) && (!has_ticket || call_get(run, name, &value));
        slice_free(name);
        if (!done) return false;
        *left_ms = acquire_looks_at_each() ? longer_pttl(*left_ms, pttl) : pttl;
        if (value.data && !read_counter(run, value, &number, "-ERR user_script:1: attempt to compare number with nil"))
            return false;
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

static void acquire_refuses(const struct run *run, struct slice largest, int64_t left_ms)
{
    char text[MODEL_TEXT_MAX];
    snprintf(text, sizeof text, "%.*s %lld", (int)largest.size, (const char *)largest.data, (long long)left_ms);
    model_answer_bulk(run->scene, slice_of(text));
}

/* Is the ticket too small for the counter? */
static bool is_outdated(int64_t ticket, double counter)
{
    return ticket > 0 && (acquire_wants_more() ? (double)ticket <= counter : (double)ticket < counter);
}

static void answer_ahead(const struct run *run)
{
    char text[80];
    const uint64_t wall_us = run->scene->now_us + (uint64_t)run->scene->node->wall_offset_us;
    snprintf(text, sizeof text, "-AHEAD of the clock of this node: %llu\r\n", (unsigned long long)(wall_us / 1000000));
    model_answer(run->scene, text);
}

/* By more than the skew. */
static bool is_ahead(const struct run *run, int64_t ticket, int64_t skew_ms)
{
    const uint64_t wall_us = run->scene->now_us + (uint64_t)run->scene->node->wall_offset_us;
    return ticket > 0 && (uint64_t)ticket > wall_us + (uint64_t)skew_ms * 1000;
}

/* Then that was the answer. */
static bool ticket_is_ahead(const struct run *run, int64_t ticket, int64_t skew_ms)
{
    if (!is_ahead(run, ticket, skew_ms)) return false;
    answer_ahead(run);
    return true;
}

/* WIRE_ACQUIRE_SCRIPT */
static void do_acquire(struct run *run)
{
    const struct scene *scene = run->scene;
    int64_t ttl_ms = 0, ticket = 0, life_ms = 0, skew_ms = 0, left_ms = -2;
    struct slice largest = slice_of("0");
    double counter = 0;
    if (!slice_number(run->arguments[1], &ttl_ms) || !slice_number(run->arguments[2], &ticket) || ttl_ms <= 0 ||
        !slice_number(run->arguments[3], &life_ms) || !slice_number(run->arguments[4], &skew_ms) || ticket < 0)
        model_breach(scene->node, "an acquire script with arguments out of range");
    if (!acquire_looks(run, ticket > 0, &largest, &counter, &left_ms)) {
        raise_error(run);
    } else if (left_ms != -2 || is_outdated(ticket, counter)) {
        scene->call->outdated = left_ms == -2;
        acquire_refuses(run, largest, left_ms);
    } else if (!may_call(run, "TIME", READS)) {
        raise_error(run);
    } else if (ticket_is_ahead(run, ticket, skew_ms)) {
        return;
    } else if (!acquire_sets(run, ticket > 0, ttl_ms, life_ms)) {
        raise_error(run);
    } else {
        scene->call->did = true;
        model_answer(scene, "+OK\r\n");
    }
}

/* A key that is another's is in its way: then *is_taken. Of the others, which counters are to be raised. */
static bool restore_looks(struct run *run, int64_t ticket, bool *is_taken, bool raises[MODEL_KEYS_MAX])
{
    static const char no_number[] = "-ERR user_script:1: attempt to compare nil with number";
    struct slice value;
    for (unsigned i = 0; i < run->key_count; i++) {
        if (!call_get(run, run->keys[i], &value)) return false;
        *is_taken = value.data && !slices_equal(value, run->arguments[0]) && restore_leaves_anothers();
        if (*is_taken) return true;
        double counter = 0;
        const struct slice name = name_with(run->keys[i], "#ticket");
        const bool done = ticket == 0 || (call_get(run, name, &value) &&
                                          (!value.data || read_counter(run, value, &counter, no_number)));
        slice_free(name);
        if (!done) return false;
        raises[i] = restore_raises() && ticket > 0 && ((double)ticket > counter || !restore_lowers_nothing());
    }
    return true;
}

static bool restore_sets(struct run *run, const bool raises[MODEL_KEYS_MAX], int64_t ttl_ms, int64_t life_ms)
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
static void do_restore(struct run *run)
{
    int64_t ttl_ms = 0, ticket = 0, life_ms = 0, skew_ms = 0;
    bool raises[MODEL_KEYS_MAX] = { false }, is_taken = false, raises_any = false;
    if (!slice_number(run->arguments[1], &ttl_ms) || !slice_number(run->arguments[2], &ticket) || ttl_ms <= 0 ||
        !slice_number(run->arguments[3], &life_ms) || !slice_number(run->arguments[4], &skew_ms) || ticket < 0)
        model_breach(run->scene->node, "a restore script with arguments out of range");
    if (!restore_looks(run, ticket, &is_taken, raises)) {
        raise_error(run);
        return;
    }
    if (is_taken) {
        model_answer_bulk(run->scene, slice_of("taken"));
        return;
    }
    for (unsigned i = 0; i < run->key_count; i++) raises_any = raises_any || raises[i];
    if (raises_any && !may_call(run, "TIME", READS)) raise_error(run);
    else if (raises_any && restore_heeds_clocks() && ticket_is_ahead(run, ticket, skew_ms)) return;
    else if (!restore_sets(run, raises, ttl_ms, life_ms)) raise_error(run);
    else {
        run->scene->call->did = true;
        model_answer(run->scene, "+OK\r\n");
    }
}

/* Takes the first entry out, and the next where nobody listens. What may not be published goes back. There may be more: then the
 * flag stands again. */
static bool release_wakes(struct run *run, struct slice waiters, struct slice flag, unsigned slot)
{
    struct model_entry first;
    while (call_zpopmin(run, waiters, &first)) {
        const struct slice member = { first.member, first.size };
        if (call_publish(run, &first, slot)) {
            slice_text(member, run->scene->call->woken, sizeof run->scene->call->woken);
            if (release_raises_flag())
                (void)call_set(run, flag, slice_of(""), WIRE_WAITERS_LIFE_MS);
            return true;
        }
        if (run->error) {
            if (call_pexpire(run, waiters, WIRE_WAITERS_LIFE_MS)) (void)call_zadd(run, waiters, first.score, member);
            (void)call_pexpire(run, waiters, WIRE_WAITERS_LIFE_MS);
            (void)call_set(run, flag, slice_of(""), WIRE_WAITERS_LIFE_MS);
            return false;
        }
    }
    return false;
}

/* What the release script does to one key. */
enum release { RELEASE_DONE, RELEASE_NOTHING, RELEASE_OTHERS, RELEASE_ERROR, RELEASE_RAISED };

/* The flag goes with the key, by the same command. */
static bool lower_flag(const struct run *run, struct slice flag)
{
    struct model_key *key = run_key(run, flag);
    if (key) run_remove(run, key);
    return key != NULL;
}

static enum release release_key(struct run *run, struct slice name, struct slice waiters, struct slice flag, bool *woke)
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
static void do_release(struct run *run)
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
    if (error) /* As it came from redis.pcall(). */
        model_answer_error(run->scene, error, NULL);
    else
        model_answer_number(run->scene, number > 0 && woke ? number + 1 : number);
}

/* WIRE_RELEASE_ONE_SCRIPT */
static void do_release_one(struct run *run)
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

/* False: not all of the keys hold the token, or run->error. */
static bool extend_holds_all(struct run *run)
{
    struct slice value;
    for (unsigned i = 0; i < run->key_count; i++)
        if (!call_get(run, run->keys[i], &value) || !value.data || !slices_equal(value, run->arguments[0]))
            return false;
    return true;
}

static bool extend_lengthens(struct run *run, int64_t ttl_ms)
{
    int64_t left_ms;
    for (unsigned i = 0; i < run->key_count; i++) {
        if (!call_pttl(run, run->keys[i], &left_ms)) return false;
        if (left_ms >= 0 && (left_ms < ttl_ms || !extend_only_lengthens()) && !call_pexpire(run, run->keys[i], ttl_ms))
            return false;
    }
    return true;
}

/* WIRE_EXTEND_SCRIPT */
static void do_extend(struct run *run)
{
    int64_t ttl_ms = 0;
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0)
        model_breach(run->scene->node, "a TTL of 0 or less in a script");
    const bool holds = extend_holds_all(run);
    if (run->error || (holds && !extend_lengthens(run, ttl_ms))) {
        raise_error(run);
        return;
    }
    run->scene->call->did = holds;
    model_answer_number(run->scene, holds);
}

/* WIRE_WAIT_SCRIPT */
static void do_wait(struct run *run)
{
    int64_t arrived_at = 0, life_ms = 0, longest_ms = -2, left_ms;
    if (!slice_number(run->arguments[1], &arrived_at) || !slice_number(run->arguments[2], &life_ms) ||
        run->arguments[0].size > MODEL_ENTRY_MAX) {
        model_breach(run->scene->node, "a wait script with arguments out of range");
        return;
    }
    for (unsigned i = 0; i < run->key_count; i++) {
        if (!call_pttl(run, run->keys[i], &left_ms)) {
            raise_error(run);
            return;
        }
        const struct slice waiters = name_with(run->keys[i], "#waiters"), flag = name_with(waiters, "#waiters");
        const bool is_flagged = !wait_raises_flag() || call_set(run, flag, slice_of(""), life_ms);
        slice_free(flag);
        const bool has_entry = is_flagged && call_pexpire(run, waiters, life_ms) &&
                               call_zadd(run, waiters, (uint64_t)arrived_at, run->arguments[0]) &&
                               call_pexpire(run, waiters, life_ms);
        slice_free(waiters);
        if (!has_entry) {
            raise_error(run);
            return;
        }
        if (longest_ms != -1 && (left_ms == -1 || left_ms > longest_ms)) longest_ms = left_ms;
    }
    run->scene->call->did = true;
    model_answer_number(run->scene, longest_ms);
}

/* ---- Scripts: permits ---- */

static bool permit_takes_what_is_free(void)
{
    return strstr(WIRE_PERMIT_ACQUIRE_SCRIPT, "if v==-2 then") != NULL;
}

static bool permit_orders_by_token(void)
{
    return strstr(WIRE_PERMIT_ACQUIRE_SCRIPT, "tonumber(a[1]:sub(1,8),16)") != NULL;
}

static bool permit_wants_more(void)
{
    return strstr(WIRE_PERMIT_ACQUIRE_SCRIPT, "t>tonumber(d)") != NULL;
}

static bool permit_takes_its_entry(void)
{
    return strstr(WIRE_PERMIT_ACQUIRE_SCRIPT, "redis.pcall('zrem',KEYS[1]..':#waiters',a[8])") != NULL;
}

static bool permit_release_looks_at_all(void)
{
    return strstr(WIRE_PERMIT_RELEASE_SCRIPT, "for i=1,a[3] do") != NULL;
}

static bool permit_release_compares(void)
{
    return strstr(WIRE_PERMIT_RELEASE_SCRIPT, "if v==a[1] then") != NULL;
}

static bool permit_release_wakes_for_what_was_held(void)
{
    return strstr(WIRE_PERMIT_RELEASE_SCRIPT, "local h=i==a[4]+0") != NULL;
}

static bool permit_restore_gives_up_others(void)
{
    return strstr(WIRE_PERMIT_RESTORE_SCRIPT, "==a[1] then c('del',b..i)") != NULL;
}

static bool permit_extend_only_lengthens(void)
{
    return strstr(WIRE_PERMIT_EXTEND_SCRIPT, "p<a[2]+0") != NULL;
}

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

/* The arguments from that one on: how many permits there are, and which slot is meant. */
static unsigned read_permits(const struct run *run, unsigned first, unsigned *slot)
{
    int64_t count = 0, number = 0;
    if (!slice_number(run->arguments[first], &count) || count < 1 || count > REDLOCK_PERMITS_MAX ||
        (slot && (!slice_number(run->arguments[first + 1], &number) || number < 0 || number > count))) {
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

/* What an acquire of a permit proposes, and what it has learned of the slots. */
struct proposal {
    int64_t ttl_ms, ticket, life_ms, skew_ms, free_in_ms;
    double counter;
    char largest[24];
};

enum try { TRY_GRANTED, TRY_REFUSED, TRY_ANSWERED };

static enum try raise_try(const struct run *run)
{
    raise_error(run);
    return TRY_ANSWERED;
}

static enum try grant_slot(struct run *run, const struct proposal *p, struct slice name, struct slice counter)
{
    const uint64_t wall_us = run->scene->now_us + (uint64_t)run->scene->node->wall_offset_us;
    char text[80];
    if (p->ticket > 0 && !may_call(run, "TIME", READS)) return raise_try(run);
    if (p->ticket > 0 && (uint64_t)p->ticket > wall_us + (uint64_t)p->skew_ms * 1000) {
        snprintf(text, sizeof text, "-AHEAD of the clock of this node: %llu\r\n", (unsigned long long)(wall_us / 1000000));
        model_answer(run->scene, text);
        return TRY_ANSWERED;
    }
    if (p->ticket > 0 && !call_set(run, counter, run->arguments[2], p->life_ms)) return raise_try(run);
    return call_set(run, name, run->arguments[0], p->ttl_ms) ? TRY_GRANTED : raise_try(run);
}

/* A slot that is free: is the ticket larger than its counter? */
static enum try try_free_slot(struct run *run, struct proposal *p, struct slice name, struct slice counter)
{
    struct slice value = { NULL, 0 };
    double number = 0;
    p->free_in_ms = -2;
    if (p->ticket > 0 && !call_get(run, counter, &value)) return raise_try(run);
    if (value.data && !lua_number(value, &number)) {
        run->error = "-ERR user_script:1: attempt to compare nil with number";
        return raise_try(run);
    }
    if (p->ticket == 0 || (permit_wants_more() ? (double)p->ticket > number : (double)p->ticket >= number))
        return grant_slot(run, p, name, counter);
    if (number > p->counter) {
        p->counter = number;
        slice_text(value, p->largest, sizeof p->largest);
    }
    return TRY_REFUSED;
}

static enum try try_slot(struct run *run, struct proposal *p, unsigned slot)
{
    const struct slice name = name_of_slot(run, slot), counter = name_with(name, "#ticket");
    int64_t left_ms;
    enum try try = TRY_REFUSED;
    if (!call_pttl(run, name, &left_ms)) try = raise_try(run);
    else if (left_ms == -2 || !permit_takes_what_is_free()) try = try_free_slot(run, p, name, counter);
    else if (left_ms >= 0 && p->free_in_ms != -2 && (p->free_in_ms < 0 || left_ms < p->free_in_ms))
        p->free_in_ms = left_ms < UINT32_MAX ? left_ms : UINT32_MAX;
    slice_free(counter);
    slice_free(name);
    return try;
}

static void permit_leaves_waiters(struct run *run)
{
    const struct slice waiters = name_of_permit_waiters(run);
    if (run->arguments[7].size > 0 && permit_takes_its_entry()) call_zrem(run, waiters, run->arguments[7]);
    slice_free(waiters);
}

/* WIRE_PERMIT_ACQUIRE_SCRIPT */
static void do_permit_acquire(struct run *run)
{
    struct proposal p = { .free_in_ms = -1, .largest = "0" };
    unsigned slots[REDLOCK_PERMITS_MAX], count = permit_order(run, slots);
    char text[64];
    if (!slice_number(run->arguments[1], &p.ttl_ms) || !slice_number(run->arguments[2], &p.ticket) || p.ttl_ms <= 0 ||
        !slice_number(run->arguments[3], &p.life_ms) || !slice_number(run->arguments[4], &p.skew_ms) || p.ticket < 0)
        model_breach(run->scene->node, "an acquire script with arguments out of range");
    for (unsigned i = 0; i < count; i++) {
        const enum try try = try_slot(run, &p, slots[i]);
        if (try == TRY_ANSWERED) return;
        if (try == TRY_REFUSED) continue;
        note_slot(run, slots[i]);
        permit_leaves_waiters(run);
        model_answer_number(run->scene, slots[i]);
        return;
    }
    run->scene->call->outdated = p.free_in_ms == -2;
    snprintf(text, sizeof text, "%s %lld", p.largest, (long long)p.free_in_ms);
    model_answer_bulk(run->scene, slice_of(text));
}

/* By redis.pcall(): another kind of key is not ours. */
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
static void do_permit_restore(struct run *run)
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
static void do_permit_extend(struct run *run)
{
    unsigned slot = 0;
    (void)read_permits(run, 2, &slot);
    const struct slice name = name_of_slot(run, slot);
    struct slice value = { NULL, 0 };
    int64_t ttl_ms = 0, left_ms = 0;
    bool is_ours = false, done;
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0) model_breach(run->scene->node, "a TTL of 0 or less in a script");
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

/* What a release does to one slot. */
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
        *woke = (wakes && lower_flag(run, flag) && release_wakes(run, waiters, flag, slot)) || *woke;
    slice_free(flag);
    slice_free(waiters);
    slice_free(name);
    return release;
}

/* WIRE_PERMIT_RELEASE_SCRIPT */
static void do_permit_release(struct run *run)
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
    if (run->scene->call->did || !error) model_answer_number(run->scene, run->scene->call->did ? 1 + woke : 0);
    else                                 model_answer_error(run->scene, error, NULL);
}

/* False: it was raised. free_in_ms: of the slot that is free first. */
static bool permit_wait_looks(struct run *run, unsigned count, int64_t *free_in_ms)
{
    for (unsigned i = 1; i <= count; i++) {
        const struct slice name = name_of_slot(run, i);
        int64_t left_ms;
        const bool done = call_pttl(run, name, &left_ms);
        slice_free(name);
        if (!done) return false;
        if (left_ms == -2) *free_in_ms = -2;
        else if (*free_in_ms != -2 && left_ms >= 0 && (*free_in_ms < 0 || left_ms < *free_in_ms)) *free_in_ms = left_ms;
    }
    return true;
}

/* WIRE_PERMIT_WAIT_SCRIPT */
static void do_permit_wait(struct run *run)
{
    const unsigned count = read_permits(run, 3, NULL);
    const struct slice waiters = name_of_permit_waiters(run), flag = name_with(waiters, "#waiters");
    int64_t arrived_at = 0, life_ms = 0, free_in_ms = -1;
    if (!slice_number(run->arguments[1], &arrived_at) || !slice_number(run->arguments[2], &life_ms) ||
        run->arguments[0].size > MODEL_ENTRY_MAX)
        model_breach(run->scene->node, "a wait script with arguments out of range");
    const bool done = permit_wait_looks(run, count, &free_in_ms) && call_set(run, flag, slice_of(""), life_ms) &&
                      call_pexpire(run, waiters, life_ms) &&
                      call_zadd(run, waiters, (uint64_t)arrived_at, run->arguments[0]) && call_pexpire(run, waiters, life_ms);
    slice_free(flag);
    slice_free(waiters);
    run->scene->call->did = done;
    if (done) model_answer_number(run->scene, free_in_ms);
    else      raise_error(run);
}

/* ---- Scripts: marks ---- */

static bool mark_needs_the_lock(void)
{
    return strstr(WIRE_MARK_SCRIPT, "if c('get',KEYS[1])~=ARGV[1] then return 0 end") != NULL;
}

static bool mark_refuses_anothers(void)
{
    return strstr(WIRE_MARK_SCRIPT, "or u+0==t+0") != NULL;
}

static bool mark_knows_its_own(void)
{
    return strstr(WIRE_MARK_SCRIPT, "and o~=m") != NULL;
}

static bool mark_refuses_earlier(void)
{
    return strstr(WIRE_MARK_SCRIPT, "u+0>t+0") != NULL;
}

static bool mark_sees_marks_when_it_looks(void)
{
    return strstr(WIRE_MARK_SCRIPT, "if d then") != NULL;
}

static bool mark_heeds_clocks(void)
{
    return strstr(WIRE_MARK_SCRIPT, "a>ARGV[4]+0") != NULL;
}

static bool mark_lives_no_shorter(void)
{
    return strstr(WIRE_MARK_SCRIPT, "math.max(ARGV[3],c('pttl',k))") != NULL;
}

/* "period marker when ..." */
struct marked {
    int64_t period, when_ms;
    struct slice marker;
};

/* The bytes up to a blank, and what is behind it. */
static struct slice take_word(struct slice *text)
{
    size_t size = 0;
    while (size < text->size && text->data[size] != ' ') size++;
    const struct slice word = { text->data, size };
    text->data += size < text->size ? size + 1 : size;
    text->size -= size < text->size ? size + 1 : size;
    return word;
}

/* As %d+ finds it; what is too large for the script to tell from others is cut. */
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
    const bool has_period = read_digits(take_word(&text), &marked->period);
    marked->marker = take_word(&text);
    return read_digits(take_word(&text), &marked->when_ms) && has_period;
}

/* How far the marker's clock is ahead of the node's; in words of the script when it is too far off. False: it is not. */
static bool mark_is_off(struct run *run, int64_t when_ms, int64_t skew_ms)
{
    const int64_t wall_us = (int64_t)run->scene->now_us + run->scene->node->wall_offset_us, ahead_us = when_ms * 1000 - wall_us;
    const bool is_ahead = ahead_us > skew_ms * 1000;
    char text[80];
    if (!mark_heeds_clocks() || (!is_ahead && -ahead_us <= skew_ms * 1000)) return false;
    snprintf(text, sizeof text, "-%s the clock of this node: %lld\r\n", is_ahead ? "AHEAD of" : "BEHIND",
             (long long)(wall_us / 1000000));
    model_answer(run->scene, text);
    return true;
}

/* What is there of that period is another's, or of a later one. */
static bool mark_is_refused(const struct marked *mine, const struct marked *there)
{
    const bool is_own = mark_knows_its_own() && slices_equal(mine->marker, there->marker);
    return (mark_refuses_earlier() && there->period > mine->period) ||
           (mark_refuses_anothers() && there->period == mine->period && !is_own);
}

/* What is there already: false, if that was the answer. */
static bool mark_may_be_set(struct run *run, struct slice name, const struct marked *mine, int64_t life_ms)
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
        snprintf(text, sizeof text, "-ERR %.*s is no mark of a period\r\n", (int)name.size, (const char *)name.data);
        model_answer(run->scene, text);
        return false;
    }
    if ((life_ms == 0 && !mark_sees_marks_when_it_looks()) || !mark_is_refused(mine, &other)) return true;
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
static void do_mark(struct run *run)
{
    const struct slice name = name_with(run->keys[0], "#done");
    struct marked mine;
    int64_t life_ms = 0, skew_ms = 0;
    if (!read_marked(run->arguments[1], &mine) || !slice_number(run->arguments[2], &life_ms) || life_ms < 0 ||
        !slice_number(run->arguments[3], &skew_ms))
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

/* ---- Scripts: shared locks ---- */

static bool script_says(const char *script, const char *words)
{
    return strstr(script, words) != NULL;
}

/* "resource#readers" and the like, freed by whoever asked. Its words in the script are those of a mutant's, too. */
static bool call_zscore(struct run *run, struct slice name, struct slice member, uint64_t *score)
{
    struct model_key *key = may_call(run, "ZSCORE", READS) ? sorted_set(run, name) : NULL;
    const struct model_entry *entry = key ? entry_find(key, member) : NULL;
    *score = entry ? entry->score : 0;
    return !run->error;
}

static bool call_zcard(struct run *run, struct slice name, size_t *count)
{
    struct model_key *key = may_call(run, "ZCARD", READS) ? sorted_set(run, name) : NULL;
    *count = key ? key->entry_count : 0;
    return !run->error;
}

/* The largest of the scores; 0: there is none. */
static bool call_largest(struct run *run, struct slice name, uint64_t *score)
{
    struct model_key *key = may_call(run, "ZREVRANGE", READS) ? sorted_set(run, name) : NULL;
    *score = 0;
    for (size_t i = 0; key && i < key->entry_count; i++)
        if (key->entries[i].score > *score) *score = key->entries[i].score;
    return !run->error;
}

static bool call_sweep(struct run *run, struct slice name)
{
    struct model_key *key = may_call(run, "ZREMRANGEBYSCORE", FREES) ? sorted_set(run, name) : NULL;
    size_t left = key ? key->entry_count : 0;
    for (size_t i = 0; i < left;) {
        if (key->entries[i].score > ms_of(run->scene->now_us)) {
            i++;
            continue;
        }
        left--;
        entry_remove(run, key, &key->entries[i]);   /* The last one takes its place; and with the last of all the key is gone. */
    }
    return !run->error;
}

/* How many have gone. */
static bool call_zrem_counted(struct run *run, struct slice name, struct slice member, unsigned *count)
{
    struct model_key *key = may_call(run, "ZREM", FREES) ? sorted_set(run, name) : NULL;
    struct model_entry *entry = key ? entry_find(key, member) : NULL;
    if (entry) entry_remove(run, key, entry);
    *count += entry != NULL;
    return !run->error;
}

static bool call_pexpireat(struct run *run, struct slice name, uint64_t at_ms)
{
    struct model_key *key = run_key(run, name);
    if (!may_call(run, "PEXPIREAT", FREES)) return false;
    if (key) key->expires_ms = at_ms;
    return true;
}

static const char marker[] = "~shared";

/* The names of the keys beside one. */
struct beside {
    struct slice readers, writer, waiters, flag, ticket;
};

static struct beside beside_of(struct slice name)
{
    const struct slice waiters = name_with(name, "#waiters");
    return (struct beside){ .readers = name_with(name, "#readers"), .writer = name_with(name, "#writer"), .waiters = waiters,
                            .flag = name_with(waiters, "#waiters"), .ticket = name_with(name, "#ticket") };
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

static void note_writer(struct run *run, const struct beside *beside, const struct model_entry *entry, int64_t life_ms)
{
    char text[MODEL_ENTRY_MAX + 32];
    snprintf(text, sizeof text, "%llu %.*s", (unsigned long long)entry->score, (int)entry->size, (const char *)entry->member);
    (void)call_set(run, beside->writer, slice_of(text), life_ms);
}

/* WIRE_LUA_WAKE */
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
        const bool is_reader = is_reader_entry(&first), is_told = is_reader || (is_free && count == 0);
        const struct slice member = { first.member, first.size };
        const unsigned heard = is_told ? call_publish(run, &first, 0) : 0;
        if (!is_told || run->error) {
            if (call_pexpire(run, beside->waiters, WIRE_WAITERS_LIFE_MS))
                (void)call_zadd(run, beside->waiters, first.score, member);
            (void)call_pexpire(run, beside->waiters, WIRE_WAITERS_LIFE_MS);
            if (count > 0 && !is_reader) note_writer(run, beside, &first, 6000);
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

/* WIRE_LUA_READ */
static bool shared_reads(struct run *run, struct slice name, const struct beside *beside, const char *script, uint64_t until_ms)
{
    uint64_t last_ms;
    if (!call_largest(run, beside->readers, &last_ms)) return false;
    if (last_ms < until_ms || !script_says(script, "math.max(e,tonumber(c('zrevrange'")) last_ms = until_ms;
    return call_pexpireat(run, beside->readers, last_ms) && call_zadd(run, beside->readers, until_ms, run->arguments[0]) &&
           call_pexpireat(run, beside->readers, last_ms) && call_set(run, name, slice_of(marker), 0) &&
           call_pexpireat(run, name, last_ms);
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

/* Whether the resource, or a writer that came before, is in the way, and for how long. */
static bool shared_looks(struct run *run, unsigned i, const struct beside *beside, bool *is_busy, int64_t *left_ms)
{
    struct slice value = { NULL, 0 }, writer = { NULL, 0 }, busy = run->keys[i];
    int64_t arrived_at = 0, pttl;
    bool is_in_the_way;
    (void)slice_number(run->arguments[6], &arrived_at);
    if (!call_get(run, run->keys[i], &value)) return false;
    is_in_the_way = value.data != NULL && (script_says(WIRE_SHARED_ACQUIRE_SCRIPT, "elseif not v then b=nil") ||
                                           !slice_is(value, marker));
    if (is_shared_mode(run, 5, i) && (!value.data || slice_is(value, marker))) {
        if (arrived_at != 0 && !call_get(run, beside->writer, &writer)) return false;
        is_in_the_way = writer.data && (arrived_of(writer, arrived_at) < arrived_at ||
                                        !script_says(WIRE_SHARED_ACQUIRE_SCRIPT, "<tonumber(a[7])"));
        busy = beside->writer;
    }
    if (is_in_the_way && !call_pttl(run, busy, &pttl)) return false;
    if (is_in_the_way) *left_ms = *is_busy ? longer_pttl(*left_ms, pttl) : pttl;
    *is_busy = *is_busy || is_in_the_way;
    return true;
}

static bool shared_grants(struct run *run, unsigned i, const struct beside *beside, int64_t ttl_ms, int64_t life_ms,
                          bool has_ticket)
{
    struct slice value = { NULL, 0 };
    uint64_t own_ms, until_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    if (has_ticket && !call_set(run, beside->ticket, run->arguments[2], life_ms)) return false;
    if (!is_shared_mode(run, 5, i)) return call_set(run, run->keys[i], run->arguments[0], ttl_ms);
    if (!call_get(run, run->keys[i], &value)) return false;
    if (!(value.data ? call_sweep(run, beside->readers) : call_del(run, beside->readers))) return false;
    if (!call_zscore(run, beside->readers, run->arguments[0], &own_ms)) return false;
    if (own_ms > until_ms) until_ms = own_ms;
    if (!shared_reads(run, run->keys[i], beside, WIRE_SHARED_ACQUIRE_SCRIPT, until_ms)) return false;
    (void)shared_wakes(run, beside, false);
    return true;
}

/* WIRE_SHARED_ACQUIRE_SCRIPT */
static void do_shared_acquire(struct run *run)
{
    int64_t ttl_ms = 0, ticket = 0, life_ms = 0, skew_ms = 0, left_ms = -2;
    struct slice largest = slice_of("0");
    double counter = 0;
    const bool strict = script_says(WIRE_SHARED_ACQUIRE_SCRIPT, "=='s' and 0 or 1)");
    bool is_busy = false, is_outdated = false, is_done = may_call(run, "TIME", READS);
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0 || !slice_number(run->arguments[2], &ticket) ||
        !slice_number(run->arguments[3], &life_ms) || !slice_number(run->arguments[4], &skew_ms) || ticket < 0 ||
        run->arguments[5].size != run->key_count)
        model_breach(run->scene->node, "a shared acquire script with arguments out of range");
    for (unsigned i = 0; i < run->key_count && is_done; i++) {
        struct beside beside = beside_of(run->keys[i]);
        struct slice value = { NULL, 0 };
        double number = 0;
        is_done = shared_looks(run, i, &beside, &is_busy, &left_ms) && (ticket == 0 || call_get(run, beside.ticket, &value));
        if (is_done && value.data && lua_number(value, &number)) {
            is_outdated = is_outdated || (double)ticket < number + (is_shared_mode(run, 5, i) || !strict ? 0 : 1);
            if (number > counter) counter = number, largest = value;
        }
        beside_free(&beside);
    }
    if (is_done && (is_busy || is_outdated)) {
        run->scene->call->outdated = !is_busy;
        acquire_refuses(run, ticket > 0 ? largest : slice_of("0"), is_busy ? left_ms : -2);
        return;
    }
    if (is_done && is_ahead(run, ticket, skew_ms)) {
        answer_ahead(run);
        return;
    }
    for (unsigned i = 0; i < run->key_count && is_done; i++) {
        struct beside beside = beside_of(run->keys[i]);
        is_done = shared_grants(run, i, &beside, ttl_ms, life_ms, ticket > 0);
        beside_free(&beside);
    }
    if (!is_done) {
        raise_error(run);
        return;
    }
    run->scene->call->did = true;
    model_answer(run->scene, "+OK\r\n");
}

/* The value that the lock has in its other role: the digits that are given, and whatever stands behind the token. */
static struct slice other_value(const struct run *run, unsigned argument, char text[160])
{
    const struct slice value = run->arguments[0];
    const size_t tail = value.size > REDLOCK_TOKEN_TEXT ? value.size - REDLOCK_TOKEN_TEXT : 0;
    if (run->argument_count <= argument) return (struct slice){ NULL, 0 };
    memcpy(text, run->arguments[argument].data, REDLOCK_TOKEN_TEXT);
    memcpy(text + REDLOCK_TOKEN_TEXT, value.data + REDLOCK_TOKEN_TEXT, tail);
    return (struct slice){ (const uint8_t *)text, REDLOCK_TOKEN_TEXT + tail };
}

/* May a reader become a writer? 1; 0 and less: no. run->error: nobody knows. */
static int may_upgrade(struct run *run, const struct beside *beside, struct slice other, int64_t ticket)
{
    struct slice value = { NULL, 0 };
    uint64_t own_ms;
    size_t count;
    double counter = 0;
    if (!call_sweep(run, beside->readers) || !call_zscore(run, beside->readers, other, &own_ms) || own_ms == 0) return 0;
    if (!call_zcard(run, beside->readers, &count)) return 0;
    if (count > 1 && script_says(WIRE_SHARED_EXTEND_SCRIPT, "c('zcard',r)>1")) return -1;
    if (ticket > 0 && !call_get(run, beside->ticket, &value)) return 0;
    return value.data && lua_number(value, &counter) && (double)ticket <= counter ? -2 : 1;
}

/* 1: the key is there as it must be; 0 and less: it is not. */
static int shared_may_extend(struct run *run, unsigned i, const struct beside *beside, struct slice other, int64_t ticket)
{
    struct slice value = { NULL, 0 };
    uint64_t own_ms;
    if (!call_get(run, run->keys[i], &value)) return 0;
    const bool is_marked = value.data && slice_is(value, marker), is_reader = is_shared_mode(run, 2, i);
    if (is_reader && is_marked)
        return call_zscore(run, beside->readers, run->arguments[0], &own_ms) && own_ms > ms_of(run->scene->now_us);
    if (is_marked && other.data) return may_upgrade(run, beside, other, ticket);
    return value.data && slices_equal(value, is_reader && other.data ? other : run->arguments[0]) && (!is_reader || other.data);
}

static bool shared_extends_reader(struct run *run, unsigned i, const struct beside *beside, bool was_reader, uint64_t until_ms)
{
    uint64_t own_ms = 0;
    int64_t left_ms = 0;
    if (!(was_reader ? call_zscore(run, beside->readers, run->arguments[0], &own_ms)
                     : call_pttl(run, run->keys[i], &left_ms) && call_del(run, beside->readers)))
        return false;
    if (!was_reader) own_ms = ms_of(run->scene->now_us) + (uint64_t)left_ms;
    if (own_ms > until_ms) until_ms = own_ms;
    if (!script_says(WIRE_SHARED_EXTEND_SCRIPT, "read(k,r,math.max(e,tonumber(w and"))
        return call_pexpireat(run, run->keys[i], until_ms);
    if (!shared_reads(run, run->keys[i], beside, WIRE_SHARED_EXTEND_SCRIPT, until_ms)) return false;
    if (!was_reader) (void)shared_wakes(run, beside, false);
    return true;
}

static bool shared_upgrades(struct run *run, unsigned i, const struct beside *beside, struct slice other, uint64_t until_ms)
{
    uint64_t own_ms;
    int64_t ticket = 0, life_ms = 0;
    (void)slice_number(run->arguments[4], &ticket);
    (void)slice_number(run->arguments[5], &life_ms);
    if (!call_zscore(run, beside->readers, other, &own_ms)) return false;
    if (own_ms > until_ms) until_ms = own_ms;
    return (ticket == 0 || call_set(run, beside->ticket, run->arguments[4], life_ms)) &&
           call_pexpireat(run, run->keys[i], until_ms) && call_set(run, run->keys[i], run->arguments[0], 0) &&
           call_pexpireat(run, run->keys[i], until_ms) && call_del(run, beside->readers);
}

static bool shared_extends(struct run *run, unsigned i, const struct beside *beside, struct slice other, int64_t ttl_ms)
{
    const uint64_t until_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    struct slice value = { NULL, 0 };
    int64_t left_ms;
    if (!call_get(run, run->keys[i], &value) || !call_pttl(run, run->keys[i], &left_ms)) return false;
    const bool is_marked = value.data && slice_is(value, marker);
    if (is_shared_mode(run, 2, i)) return shared_extends_reader(run, i, beside, is_marked, until_ms);
    if (is_marked) return shared_upgrades(run, i, beside, other, until_ms);
    return left_ms < 0 || left_ms >= ttl_ms || call_pexpire(run, run->keys[i], ttl_ms);
}

/* WIRE_SHARED_EXTEND_SCRIPT */
static void do_shared_extend(struct run *run)
{
    char text[160];
    const struct slice other = other_value(run, 3, text);
    int64_t ttl_ms = 0, ticket = 0, skew_ms = 0;
    int may = 1;
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0 || run->arguments[2].size != run->key_count)
        model_breach(run->scene->node, "a shared extend script with arguments out of range");
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

/* Takes a reader out. *is_free: it was the last. False: run->error. */
static bool shared_leaves(struct run *run, struct slice name, const struct beside *beside, struct slice other, unsigned *gone,
                          bool *is_free)
{
    uint64_t last_ms;
    struct model_entry first;
    if (!script_says(WIRE_SHARED_RELEASE_SCRIPT, "c('zrem',r,a[1],o)>0")) *gone += call_zpopmin(run, beside->readers, &first);
    else if (!call_zrem_counted(run, beside->readers, run->arguments[0], gone)) return false;
    const bool has_other = other.data && !slices_equal(other, run->arguments[0]);
    if (has_other && !call_zrem_counted(run, beside->readers, other, gone)) return false;
    if (*gone == 0) return true;
    if (!may_call(run, "TIME", READS) || !call_sweep(run, beside->readers) || !call_largest(run, beside->readers, &last_ms))
        return false;
    if (last_ms > 0) return call_pexpireat(run, name, last_ms) && call_pexpireat(run, beside->readers, last_ms);
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
    if (!call_get(run, beside->writer, &writer) || !writer.data || writer.size <= entry.size) return;
    const struct slice tail = { writer.data + writer.size - entry.size, entry.size };
    if (slices_equal(tail, entry) && writer.data[writer.size - entry.size - 1] == ' ') (void)call_del(run, beside->writer);
}

/* Of one key; as enum release says. */
static enum release shared_release_key(struct run *run, struct slice name, const struct beside *beside, struct slice other,
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
        if (!shared_leaves(run, name, beside, other, &gone, &is_free)) return RELEASE_RAISED;
    } else if (slices_equal(value, run->arguments[0]) || (other.data && slices_equal(value, other))) {
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
static void do_shared_release(struct run *run)
{
    char text[160];
    const struct slice other = other_value(run, 2, text);
    const char *error = NULL;
    int number = 1;
    unsigned woken = 0;
    if (other.data) slice_text(run->arguments[2], run->scene->call->other, sizeof run->scene->call->other);
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
        model_answer_error(run->scene, error, NULL);
    else
        model_answer_number(run->scene, number > 0 && woken > 0 ? 2 : number);
}

/* Lines up for one key; *left_ms: how long that is taken. */
static bool shared_lines_up(struct run *run, unsigned i, const struct beside *beside, int64_t arrived_at, int64_t life_ms,
                            int64_t *left_ms)
{
    const bool is_reader = is_shared_mode(run, 3, i);
    struct slice writer = { NULL, 0 }, value = { NULL, 0 };
    struct model_entry own = { .score = (uint64_t)arrived_at };
    snprintf((char *)own.member, sizeof own.member, "%.*s%s", (int)run->arguments[0].size, (const char *)run->arguments[0].data,
             is_reader ? "s" : "");
    own.size = strlen((char *)own.member);
    if (!call_pttl(run, run->keys[i], left_ms) || !call_set(run, beside->flag, slice_of(""), life_ms) ||
        !call_pexpire(run, beside->waiters, life_ms) ||
        !call_zadd(run, beside->waiters, own.score, (struct slice){ own.member, own.size }) ||
        !call_pexpire(run, beside->waiters, life_ms))
        return false;
    if (!call_get(run, beside->writer, &writer)) writer.data = NULL;
    if (!call_get(run, run->keys[i], &value)) value.data = NULL;    /* By redis.pcall(). */
    run->error = NULL;
    const bool is_shared = value.data && slice_is(value, marker);
    const bool is_behind = writer.data && arrived_of(writer, arrived_at) < arrived_at;
    if (is_reader && (*left_ms == -2 || is_shared)) {
        *left_ms = -2;
        return !is_behind || call_pttl(run, beside->writer, left_ms);
    }
    if (is_shared && !is_behind) note_writer(run, beside, &own, 6000);
    run->error = NULL;
    return true;
}

/* WIRE_SHARED_WAIT_SCRIPT */
static void do_shared_wait(struct run *run)
{
    int64_t arrived_at = 0, life_ms = 0, longest_ms = -2, left_ms;
    if (!slice_number(run->arguments[1], &arrived_at) || !slice_number(run->arguments[2], &life_ms) ||
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

/* ---- Scripts: fair locks ---- */

static bool fair_says(const char *words)
{
    return script_says(WIRE_FAIR_ACQUIRE_SCRIPT, words);
}

/* The names of the keys beside a fair lock's, freed by whoever asked; and what its commands have in common. */
struct fair {
    struct slice queue, lease, grant, ticket;
    struct model_entry member, first;   /* Its own; and the head of the queue, of size 0: nobody is queued. */
    struct slice value;                 /* Of the key; NULL: there is none. */
    bool is_ours;
};

static struct fair fair_of(struct slice name)
{
    return (struct fair){ .queue = name_with(name, "#queue"), .lease = name_with(name, "#lease"),
                          .grant = name_with(name, "#grant"), .ticket = name_with(name, "#ticket") };
}

static void fair_free(struct fair *fair)
{
    slice_free(fair->queue);
    slice_free(fair->lease);
    slice_free(fair->grant);
    slice_free(fair->ticket);
}

static struct slice member_of(const struct model_entry *entry)
{
    return (struct slice){ entry->member, entry->size };
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
    memcpy(fair->member.member, value.data, value.size < REDLOCK_TOKEN_TEXT ? value.size : REDLOCK_TOKEN_TEXT);
    fair->member.member[REDLOCK_TOKEN_TEXT] = ':';
    memcpy(fair->member.member + REDLOCK_TOKEN_TEXT + 1, entry.data, entry.size);
    fair->member.size = REDLOCK_TOKEN_TEXT + 1 + entry.size;
}

/* The one that comes first in a set behind another; behind NULL: of all. NULL: there is none. */
static const struct model_entry *entry_behind(const struct model_key *key, const struct model_entry *before)
{
    const struct model_entry *first = NULL;
    for (size_t i = 0; key && i < key->entry_count; i++)
        if ((!before || entry_is_before(before, &key->entries[i])) && (!first || entry_is_before(&key->entries[i], first)))
            first = &key->entries[i];
    return first;
}

/* ZRANGE of the first one alone. */
static bool call_first(struct run *run, struct fair *fair)
{
    const struct model_key *key = may_call(run, "ZRANGE", READS) ? sorted_set(run, fair->queue) : NULL;
    const struct model_entry *first = entry_behind(key, NULL);
    fair->first.size = 0;
    if (first) fair->first = *first;
    return !run->error;
}

/* What is in the queue without a lease, or longer than that. */
static bool fair_sweeps(struct run *run, struct fair *fair)
{
    unsigned count = 0;
    const struct model_key *lease = may_call(run, "ZRANGEBYSCORE", READS) ? sorted_set(run, fair->lease) : NULL;
    const struct model_entry *over = entry_behind(lease, NULL);
    for (unsigned i = 0; i < 64 && over && over->score <= ms_of(run->scene->now_us); i++) {
        const struct model_entry gone = *over;
        if (!call_zrem_counted(run, fair->queue, member_of(&gone), &count)) return false;
        if (!call_zrem_counted(run, fair->lease, member_of(&gone), &count)) return false;
        over = entry_behind(sorted_set(run, fair->lease), NULL);
    }
    while (!run->error && call_first(run, fair) && fair->first.size > 0) {
        uint64_t score;
        if (!call_zscore(run, fair->lease, member_of(&fair->first), &score) || score > 0) break;
        (void)call_zrem_counted(run, fair->queue, member_of(&fair->first), &count);
    }
    return !run->error;
}

/* WIRE_LUA_TELL. Its errors are nobody's. */
static bool fair_tells(struct run *run, struct slice queue)
{
    struct model_entry told = { .size = 0 }, heard;
    unsigned count = 0;
    const struct model_key *key = may_call(run, "ZRANGE", READS) ? sorted_set(run, queue) : NULL;
    const struct model_entry *next = entry_behind(key, NULL);
    for (unsigned i = 0; i < 16 && next && count == 0 && !run->error; i++) {
        told = *next;
        heard = (struct model_entry){ .size = told.size > 41 ? told.size - 41 : 0 };
        memcpy(heard.member, told.member + 41, heard.size);
        count = call_publish(run, &heard, 0);
        if (count > 0) slice_text(member_of(&heard), run->scene->call->woken, sizeof run->scene->call->woken);
        next = entry_behind(key, &told);
    }
    run->error = NULL;
    return count > 0;
}

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
    const bool is_good = slice_number(take_word(&text), &place.turn) && slice_number(take_word(&text), &place.poll) &&
                         slice_number(take_word(&text), &renews) && renews >= 0 && renews <= 1 && place.turn >= 0 &&
                         place.poll > 0 && (renews == 0 || place.turn > 0);
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
    if (!fair->is_ours || !fair_says("n+0>=tonumber(c('get',g) or 9007199254740991)")) return false;
    if (!call_get(run, fair->grant, &value)) return false;
    if (value.data && !read_counter(run, value, &round, "-ERR user_script:1: attempt to compare nil with number")) return false;
    return (double)place->poll < round;
}

static bool has_entry(const struct model_key *key, struct slice member)
{
    for (size_t i = 0; i < key->entry_count; i++)
        if (slices_equal((struct slice){ key->entries[i].member, key->entries[i].size }, member)) return true;
    return false;
}

static bool fair_queues(struct run *run, struct fair *fair, const struct place *place)
{
    const bool renews = fair_says("if w=='1' then") ? place->renews : place->turn > 0;
    if (!renews) return true;
    const struct model_key *queue = run_key(run, fair->queue);
    run->scene->call->queued = true;
    run->scene->call->joined = !queue || !queue->is_sorted_set || !has_entry(queue, member_of(&fair->member));
    return call_pexpire(run, fair->queue, WIRE_FAIR_LEASE_MS) &&
           call_zadd(run, fair->queue, (uint64_t)place->turn, member_of(&fair->member)) &&
           call_pexpire(run, fair->queue, WIRE_FAIR_LEASE_MS) &&
           call_zadd(run, fair->lease, ms_of(run->scene->now_us) + WIRE_FAIR_LEASE_MS, member_of(&fair->member)) &&
           call_pexpire(run, fair->lease, WIRE_FAIR_LEASE_MS) && call_first(run, fair);
}

static bool fair_may_have(const struct fair *fair, const struct place *place)
{
    if (place->turn == 0) return fair->first.size == 0 || !fair_says("if h==(T~='0' and m or nil) then");
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
    if (!call_set(run, fair->grant, slice_of(round), left_ms > ttl_ms ? left_ms : ttl_ms)) return false;
    if (fair_says("y~=-1 and y<a[2]+0") && (left_ms == -1 || left_ms >= ttl_ms)) return true;
    return call_set(run, run->keys[0], run->arguments[0], ttl_ms);
}

/* Deletes what it was granted and wakes the head. */
static bool fair_gives_way(struct run *run, struct fair *fair)
{
    struct model_key *grant;
    if (!call_del(run, run->keys[0])) return false;
    grant = run_key(run, fair->grant);
    if (grant) run_remove(run, grant);
    fair->value.data = NULL;
    (void)fair_tells(run, fair->queue);
    return true;
}

static bool call_rank(struct run *run, const struct fair *fair, int *rank)
{
    const struct model_key *key = may_call(run, "ZRANK", READS) ? sorted_set(run, fair->queue) : NULL;
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
        left_ms = until_ms > ms_of(run->scene->now_us) ? (int64_t)(until_ms - ms_of(run->scene->now_us)) : 0;
    }
    if (!call_largest(run, fair->queue, &largest)) return false;
    snprintf(text, sizeof text, "%.*s %lld %llu %d", (int)counter.size, (const char *)counter.data, (long long)left_ms,
             (unsigned long long)largest, rank);
    model_answer_bulk(run->scene, slice_of(text));
    return true;
}

/* Its place goes, and the key. False: run->error. */
static bool fair_loses_place(struct run *run, struct fair *fair)
{
    unsigned count = 0;
    if (!fair_says("c('zrem',q,m) c('zrem',l,m)")) return true;
    if (!call_zrem_counted(run, fair->queue, member_of(&fair->member), &count)) return false;
    if (!call_zrem_counted(run, fair->lease, member_of(&fair->member), &count)) return false;
    return !fair->is_ours || fair_gives_way(run, fair);
}

/* A poll that is not old. *granted, or else the rank; or -AHEAD was the answer: *ahead. False: run->error. */
static bool fair_polls(struct run *run, struct fair *fair, const struct place *place, struct slice counter, bool *done, int *rank)
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
            !read_counter(run, counter, &largest, "-ERR user_script:1: attempt to compare nil with number")) return false;
        const bool is_more = fair_says("d>tonumber(o)") ? (double)ticket > largest : (double)ticket >= largest;
        run->scene->call->outdated = is_free && ticket > 0 && !is_more;
        if (is_free && (ticket == 0 || is_more)) {
            *done = true;
            if (!fair_grants(run, fair, place)) return false;
            run->scene->call->did = true;
            model_answer(run->scene, "+OK\r\n");
            return true;
        }
    } else if (fair->is_ours && fair_says("elseif mine then c('del',k,g)") && !fair_gives_way(run, fair)) {
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
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0 || !slice_number(run->arguments[2], &ticket) || ticket < 0)
        model_breach(run->scene->node, "a poll with arguments out of range");
    if (!may_call(run, "TIME", READS) || !fair_sweeps(run, fair) || !call_get(run, run->keys[0], &fair->value)) return false;
    if (ticket > 0 && !call_get(run, fair->ticket, &counter)) return false;
    if (!counter.data) counter = slice_of("0");
    fair->is_ours = fair->value.data && slices_equal(fair->value, run->arguments[0]);
    const bool is_old = fair_is_old(run, fair, place);
    if (run->error || (!is_old && !fair_polls(run, fair, place, counter, &done, &rank))) return false;
    return done || fair_refuses(run, fair, counter, rank);
}

/* WIRE_FAIR_ACQUIRE_SCRIPT */
static void do_fair_acquire(struct run *run)
{
    struct fair fair = fair_of(run->keys[0]);
    const struct place place = read_place(run);
    name_member(run, &fair, place.entry);
    if (place.entry.size <= MODEL_PLACE_MAX) slice_text(place.entry, run->scene->call->entry, sizeof run->scene->call->entry);
    run->scene->call->turn = (uint32_t)place.turn;
    run->scene->call->poll = (uint32_t)place.poll;
    if (!fair_acquires(run, &fair, &place)) raise_error(run);
    fair_free(&fair);
}

/* From now on every poll is old. */
static bool fair_closes(struct run *run, const struct fair *fair, const char *script, int64_t ttl_ms, int64_t left_ms)
{
    if (!script_says(script, "c('set',k..'#grant','9007199254740991'")) return true;
    return call_set(run, fair->grant, slice_of("9007199254740991"), left_ms > ttl_ms ? left_ms : ttl_ms);
}

/* False: run->error. */
static bool fair_restores(struct run *run, const struct fair *fair)
{
    int64_t ttl_ms = 0, ticket = 0, life_ms = 0, skew_ms = 0, left_ms;
    struct slice value = { NULL, 0 }, counter = { NULL, 0 };
    double largest = 0;
    if (!slice_number(run->arguments[1], &ttl_ms) || !slice_number(run->arguments[2], &ticket) || ttl_ms <= 0 ||
        !slice_number(run->arguments[3], &life_ms) || !slice_number(run->arguments[4], &skew_ms) || ticket < 0)
        model_breach(run->scene->node, "a restore script with arguments out of range");
    if (!call_get(run, run->keys[0], &value)) return false;
    if (value.data && !slices_equal(value, run->arguments[0])) {
        model_answer_bulk(run->scene, slice_of("taken"));
        return true;
    }
    if (ticket > 0 && !call_get(run, fair->ticket, &counter)) return false;
    if (counter.data && !read_counter(run, counter, &largest, "-ERR user_script:1: attempt to compare nil with number"))
        return false;
    if ((double)ticket > largest) {
        if (!may_call(run, "TIME", READS)) return false;
        if (ticket_is_ahead(run, ticket, skew_ms)) return true;
        if (!call_set(run, fair->ticket, run->arguments[2], life_ms)) return false;
        run->scene->call->raised = true;
    }
    if (!call_pttl(run, run->keys[0], &left_ms) || !fair_closes(run, fair, WIRE_FAIR_RESTORE_SCRIPT, ttl_ms, left_ms)) return false;
    if (left_ms != -1 && left_ms < ttl_ms && !call_set(run, run->keys[0], run->arguments[0], ttl_ms)) return false;
    run->scene->call->did = true;
    model_answer(run->scene, "+OK\r\n");
    return true;
}

/* WIRE_FAIR_RESTORE_SCRIPT */
static void do_fair_restore(struct run *run)
{
    struct fair fair = fair_of(run->keys[0]);
    if (!fair_restores(run, &fair)) raise_error(run);
    fair_free(&fair);
}

static bool fair_extends(struct run *run, const struct fair *fair)
{
    int64_t ttl_ms = 0, left_ms;
    const bool holds = extend_holds_all(run);
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0) model_breach(run->scene->node, "a TTL of 0 or less in a script");
    if (run->error) return false;
    if (holds && (!call_pttl(run, run->keys[0], &left_ms) ||
                  !fair_closes(run, fair, WIRE_FAIR_EXTEND_SCRIPT, ttl_ms, left_ms))) return false;
    if (holds && left_ms >= 0 && (left_ms < ttl_ms || !script_says(WIRE_FAIR_EXTEND_SCRIPT, "p<a[2]+0")) &&
        !call_pexpire(run, run->keys[0], ttl_ms)) return false;
    run->scene->call->did = holds;
    model_answer_number(run->scene, holds);
    return true;
}

/* WIRE_FAIR_EXTEND_SCRIPT */
static void do_fair_extend(struct run *run)
{
    struct fair fair = fair_of(run->keys[0]);
    if (!fair_extends(run, &fair)) raise_error(run);
    fair_free(&fair);
}

static bool is_of_token(const struct run *run, const struct model_entry *entry)
{
    return entry->size > REDLOCK_TOKEN_TEXT && memcmp(entry->member, run->arguments[0].data, REDLOCK_TOKEN_TEXT) == 0 &&
           entry->member[REDLOCK_TOKEN_TEXT] == ':';
}

/* Takes out of the first in the queue those of the token. True: the very first was one. */
static bool fair_leaves_front(struct run *run, struct fair *fair)
{
    struct model_entry front[16];
    unsigned count = 0;
    bool was_first = false;
    const struct model_key *key = may_call(run, "ZRANGE", READS) ? sorted_set(run, fair->queue) : NULL;
    for (const struct model_entry *next = entry_behind(key, NULL); next && count < 16; next = entry_behind(key, &front[count - 1]))
        front[count++] = *next;
    for (unsigned i = 0; i < count; i++) {
        if (!is_of_token(run, &front[i])) continue;
        call_zrem(run, fair->queue, member_of(&front[i]));
        call_zrem(run, fair->lease, member_of(&front[i]));
        was_first = was_first || i == 0;
    }
    return was_first;
}

/* By redis.pcall(): what goes wrong of the queue's business is let be. */
static bool fair_leaves_queue(struct run *run, struct fair *fair)
{
    const bool does = script_says(WIRE_FAIR_RELEASE_SCRIPT, "p('zrem',q,t..a[2])");
    const bool was_first = does && fair_leaves_front(run, fair);
    if (does) call_zrem(run, fair->queue, member_of(&fair->member));
    call_zrem(run, fair->lease, member_of(&fair->member));
    run->error = NULL;
    return was_first;
}

static unsigned fair_wakes(struct run *run, struct fair *fair)
{
    struct beside beside = beside_of(run->keys[0]);
    unsigned woken = fair_tells(run, fair->queue);
    (void)call_first(run, fair);
    run->error = NULL;
    if (fair->first.size == 0) woken = shared_wakes(run, &beside, true);
    run->error = NULL;
    beside_free(&beside);
    return woken;
}

/* The key. False: an error was the answer. */
static bool fair_leaves(struct run *run, struct fair *fair, int *number)
{
    struct model_key *grant;
    if (!call_get(run, run->keys[0], &fair->value)) {
        model_answer_error(run->scene, run->error, NULL);
        return false;
    }
    fair->is_ours = fair->value.data && (slices_equal(fair->value, run->arguments[0]) ||
                                         !script_says(WIRE_FAIR_RELEASE_SCRIPT, "if v==a[1] then"));
    *number = fair->is_ours ? 1 : fair->value.data ? -1 : 0;
    if (!fair->is_ours) return true;
    if (!call_del(run, run->keys[0])) {
        raise_error(run);
        return false;
    }
    grant = run_key(run, fair->grant);
    if (grant && script_says(WIRE_FAIR_RELEASE_SCRIPT, "c('del',k,k..'#grant')")) run_remove(run, grant);
    run->scene->call->did = true;
    return true;
}

/* WIRE_FAIR_RELEASE_SCRIPT */
static void do_fair_release(struct run *run)
{
    struct fair fair = fair_of(run->keys[0]);
    int number = 0;
    unsigned woken = 0;
    name_member(run, &fair, run->arguments[1]);
    const bool was_first = fair_leaves_queue(run, &fair);
    if (fair_leaves(run, &fair, &number)) {
        if (run->argument_count > 2 && (number == 1 || (number == 0 && was_first))) woken = fair_wakes(run, &fair);
        model_answer_number(run->scene, number > 0 && woken > 0 ? 2 : number);
    }
    fair_free(&fair);
}

/* ---- Scripts: Redisson's ---- */

/* WIRE_REDISSON_ACQUIRE_SCRIPT */
static void do_redisson_acquire(struct run *run)
{
    int64_t ttl_ms = 0, left_ms;
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0)
        model_breach(run->scene->node, "a TTL of 0 or less in a script");
    if (!call_pttl(run, run->keys[0], &left_ms)) {
        raise_error(run);
        return;
    }
    if (left_ms != -2 && script_says(WIRE_REDISSON_ACQUIRE_SCRIPT, "if p~=-2 then")) {
        acquire_refuses(run, slice_of("0"), left_ms < UINT32_MAX ? left_ms : UINT32_MAX);
        return;
    }
    if (!call_pexpire(run, run->keys[0], ttl_ms) || !may_call(run, "HSET", ADDS)) {
        raise_error(run);
        return;
    }
    struct model_key *key = run_key(run, run->keys[0]);
    if (key) run_remove(run, key);
    key = key_put(run->scene->node, run->scene->session->database, run->keys[0], run->arguments[0]);
    key->is_hash = true;
    (void)call_pexpire(run, run->keys[0], ttl_ms);
    run->scene->call->did = true;
    model_answer(run->scene, "+OK\r\n");
}

/* Is there a hash with our field? A call that is refused is in run->error. */
static bool redisson_is_ours(struct run *run, const struct model_key *key, const char *command, enum effect effect)
{
    if (!may_call(run, "TYPE", READS) || !key || !key->is_hash || !may_call(run, command, effect)) return false;
    return slices_equal((struct slice){ key->value, key->value_size }, run->arguments[0]);
}

/* WIRE_REDISSON_EXTEND_SCRIPT */
static void do_redisson_extend(struct run *run)
{
    int64_t ttl_ms = 0, left_ms = -1;
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0)
        model_breach(run->scene->node, "a TTL of 0 or less in a script");
    const bool is_ours = redisson_is_ours(run, run_key(run, run->keys[0]), "HEXISTS", READS);
    const bool lengthens = script_says(WIRE_REDISSON_EXTEND_SCRIPT, "p<tonumber(ARGV[2])");
    if (is_ours && call_pttl(run, run->keys[0], &left_ms) && left_ms >= 0 && (left_ms < ttl_ms || !lengthens))
        (void)call_pexpire(run, run->keys[0], ttl_ms);
    run->scene->call->did = is_ours && !run->error;
    if (run->error) raise_error(run);
    else            model_answer_number(run->scene, is_ours);
}

/* "prefix:{door}", or "prefix:do{o}r", with more behind it. */
static struct slice redisson_name(const char *prefix, struct slice resource, struct slice more)
{
    const bool has_brace = memchr(resource.data, '{', resource.size) != NULL;
    const size_t size = strlen(prefix) + resource.size + more.size + sizeof ":{}:";
    char *text = model_grow(NULL, size + 1);
    snprintf(text, size + 1, "%s:%s%.*s%s%s%.*s", prefix, has_brace ? "" : "{", (int)resource.size, (const char *)resource.data,
             has_brace ? "" : "}", more.size > 0 ? ":" : "", (int)more.size, (const char *)more.data);
    return slice_of(text);
}

/* How many have heard of it. */
static unsigned redisson_tells(struct run *run, struct slice more)
{
    const struct slice channel = redisson_name("redisson_lock__channel", run->keys[0], more);
    const unsigned heard = may_call(run, "PUBLISH", READS) ? publish(run->scene->node, channel, slice_of("0")) : 0;
    slice_free(channel);
    return heard;
}

static unsigned redisson_tells_first(struct run *run)
{
    const struct slice name = redisson_name("redisson_lock_queue", run->keys[0], slice_of(""));
    const struct model_key *queue = may_call(run, "LINDEX", READS) ? run_key(run, name) : NULL;
    slice_free(name);
    if (!queue || !queue->is_list) return 0;
    return redisson_tells(run, (struct slice){ queue->value, queue->value_size });
}

/* WIRE_REDISSON_RELEASE_SCRIPT */
static void do_redisson_release(struct run *run)
{
    struct model_key *key = run_key(run, run->keys[0]);
    bool is_ours = redisson_is_ours(run, key, "HDEL", FREES);
    unsigned heard = 0;
    if (run->error) {
        raise_error(run);
        return;
    }
    if (key && key->is_hash && !script_says(WIRE_REDISSON_RELEASE_SCRIPT, "c('hdel',k,ARGV[1])==0")) is_ours = true;
    if (!is_ours) {
        model_answer_number(run->scene, key ? -1 : 0);
        return;
    }
    run_remove(run, key);
    if (script_says(WIRE_REDISSON_RELEASE_SCRIPT, "tell(b) ")) heard += redisson_tells(run, slice_of(""));
    heard += redisson_tells_first(run);
    run->scene->call->did = true;
    model_answer_number(run->scene, heard > 0 ? 2 : 1);
}

static const struct {
    unsigned least, most;       /* Arguments behind the keys. */
    void (*run)(struct run *run);
} known_scripts[] = {
    [MODEL_SCRIPT_ACQUIRE] = { 5, 5, do_acquire },
    [MODEL_SCRIPT_RESTORE] = { 5, 5, do_restore },
    [MODEL_SCRIPT_EXTEND] = { 2, 2, do_extend },
    [MODEL_SCRIPT_EXTEND_ONE] = { 2, 2, do_extend },
    [MODEL_SCRIPT_RELEASE] = { 1, 2, do_release },
    [MODEL_SCRIPT_RELEASE_ONE] = { 1, 1, do_release_one },
    [MODEL_SCRIPT_WAIT] = { 3, 3, do_wait },
    [MODEL_SCRIPT_MARK] = { 4, 4, do_mark },
    [MODEL_SCRIPT_PERMIT_ACQUIRE] = { 8, 8, do_permit_acquire },
    [MODEL_SCRIPT_PERMIT_RESTORE] = { 7, 7, do_permit_restore },
    [MODEL_SCRIPT_PERMIT_EXTEND] = { 4, 4, do_permit_extend },
    [MODEL_SCRIPT_PERMIT_RELEASE] = { 4, 4, do_permit_release },
    [MODEL_SCRIPT_PERMIT_WAIT] = { 4, 4, do_permit_wait },
    [MODEL_SCRIPT_SHARED_ACQUIRE] = { 7, 7, do_shared_acquire },
    [MODEL_SCRIPT_SHARED_EXTEND] = { 3, 7, do_shared_extend },
    [MODEL_SCRIPT_SHARED_RELEASE] = { 1, 3, do_shared_release },
    [MODEL_SCRIPT_SHARED_WAIT] = { 4, 4, do_shared_wait },
    [MODEL_SCRIPT_FAIR_ACQUIRE] = { 6, 6, do_fair_acquire },
    [MODEL_SCRIPT_FAIR_RESTORE] = { 5, 5, do_fair_restore },
    [MODEL_SCRIPT_FAIR_EXTEND] = { 2, 2, do_fair_extend },
    [MODEL_SCRIPT_FAIR_RELEASE] = { 2, 3, do_fair_release },
    [MODEL_SCRIPT_REDISSON_ACQUIRE] = { 2, 2, do_redisson_acquire },
    [MODEL_SCRIPT_REDISSON_EXTEND] = { 2, 2, do_redisson_extend },
    [MODEL_SCRIPT_REDISSON_RELEASE] = { 1, 1, do_redisson_release },
};

/* That no stale data will do is found out as late as here: EVAL has loaded the script, EVALSHA may not have found it. */
static void run_script(const struct scene *scene, enum model_script script, const char *sha)
{
    const struct command *command = scene->command;
    struct run run = { .scene = scene, .sha = sha, .keys = command->arguments + 3 };
    int64_t key_count = 0;
    const bool is_number = slice_number(command->arguments[2], &key_count);
    if (script != MODEL_SCRIPT_NONE && is_number && key_count >= 1 && key_count + 3 <= (int64_t)command->count) {
        run.key_count = (unsigned)key_count;
        run.arguments = run.keys + key_count;
        run.argument_count = command->count - 3 - run.key_count;
    }
    if (run.key_count == 0 || run.key_count > MODEL_KEYS_MAX || run.argument_count < known_scripts[script].least ||
        run.argument_count > known_scripts[script].most) {
        model_breach(scene->node, "a script with the wrong arguments");
        model_answer(scene, "-ERR wrong arguments\r\n");
    } else if (scene->node->condition == MODEL_MASTER_DOWN) {
        model_answer(scene, model_master_down);
    } else {
        known_scripts[script].run(&run);
    }
}

void model_do_eval(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    script_load(scene->node, scene->command->arguments[1], sha);
    run_script(scene, model_script_of(scene->command->arguments[1]), sha);
}

void model_do_evalsha(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    slice_text(scene->command->arguments[1], sha, sizeof sha);
    const enum model_script script = model_script_loaded(scene->node, sha);
    if (script == MODEL_SCRIPT_NONE)
        model_answer(scene, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    else
        run_script(scene, script, sha);
}
