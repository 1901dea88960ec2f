#include "model_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Calls ---- */

bool may_call(struct run *run, const char *command, enum effect effect)
{
    const struct model_node *node = run->scene->node;
    const bool is_write = effect != READS;
    run->error = is_write && !run->has_written ? model_why_no_write(node, effect == FREES) : NULL;
    if (model_is_listed(node->noperm, command))
        run->error = "-ERR The user executing the script can't run this command or subcommand";
    run->has_written = run->has_written || (is_write && !run->error);
    return !run->error;
}

bool may_call_on(struct run *run, const char *command, struct slice name, enum effect effect)
{
    const char *error = model_why_not_local(run->scene, name);
    if (!error) return may_call(run, command, effect);
    run->error = error;
    run->scene->call->stopped = run->scene->call->stopped || run->has_written;
    return false;
}

void raise_error(const struct run *run)
{
    char text[600];     /* The longest is that of MISCONF. */
    snprintf(text, sizeof text, "%s script: %s, on @user_script:%u.", run->error, run->sha,
             run->line);
    model_answer_error(run->scene, text);
}

struct model_key *run_key(const struct run *run, struct slice name)
{
    return key_find(run->scene->node, run->scene->session->database, name, run->scene->now_us);
}

void run_remove(const struct run *run, struct model_key *key)
{
    key_remove(run->scene->node, key);
}

bool call_get(struct run *run, struct slice name, struct slice *value)
{
    const struct model_key *key = run_key(run, name);
    if (!may_call_on(run, "GET", name, READS)) return false;
    if (key && !key_is_string(key)) run->error = model_wrong_type;
    *value = key ? (struct slice){ key->value, key->value_size } : (struct slice){ NULL, 0 };
    return !run->error;
}

bool call_pttl(struct run *run, struct slice name, int64_t *left_ms)
{
    const struct model_key *key = run_key(run, name);
    *left_ms = key ? key_pttl(key, run->scene->now_us) : -2;
    return may_call_on(run, "PTTL", name, READS);
}

static void remove_if_there(const struct run *run, struct slice name)
{
    struct model_key *key = run_key(run, name);
    if (key) run_remove(run, key);
}

bool call_del(struct run *run, struct slice name)
{
    if (!may_call_on(run, "DEL", name, FREES)) return false;
    remove_if_there(run, name);
    return true;
}

bool call_del_both(struct run *run, struct slice name, struct slice other)
{
    if (!may_call_on(run, "DEL", name, FREES) || !may_call_on(run, "DEL", other, FREES))
        return false;
    remove_if_there(run, name);
    remove_if_there(run, other);
    return true;
}

bool call_set(struct run *run, struct slice name, struct slice value, int64_t ttl_ms)
{
    if (!may_call_on(run, "SET", name, ADDS)) return false;
    remove_if_there(run, name);
    struct model_key *key = key_put(run->scene->node, run->scene->session->database, name, value);
    if (ttl_ms != 0) key->expires_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    return true;
}

bool call_pexpire(struct run *run, struct slice name, int64_t ttl_ms)
{
    struct model_key *key = run_key(run, name);
    if (!may_call_on(run, "PEXPIRE", name, FREES)) return false;
    if (key) key->expires_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    return true;
}

bool call_pexpireat(struct run *run, struct slice name, uint64_t at_ms)
{
    struct model_key *key = run_key(run, name);
    if (!may_call_on(run, "PEXPIREAT", name, FREES)) return false;
    if (key) key->expires_ms = at_ms;
    return true;
}

struct slice name_with(struct slice resource, const char *suffix)
{
    uint8_t *bytes = model_grow(NULL, resource.size + strlen(suffix) + 1);
    memcpy(bytes, resource.data, resource.size);
    memcpy(bytes + resource.size, suffix, strlen(suffix) + 1);
    return (struct slice){ bytes, resource.size + strlen(suffix) };
}

void slice_free(struct slice slice)
{
    free((void *)(uintptr_t)slice.data);
}

/* ---- Sorted sets ---- */

struct model_entry *entry_find(struct model_key *key, struct slice member)
{
    for (size_t i = 0; i < key->entry_count; i++)
        if (slices_equal(member_of(&key->entries[i]), member)) return &key->entries[i];
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

/* Order by score, and then by the bytes. */
static bool entry_is_before(const struct model_entry *a, const struct model_entry *b)
{
    const int order = memcmp(a->member, b->member, a->size < b->size ? a->size : b->size);
    if (a->score != b->score) return a->score < b->score;
    return order != 0 ? order < 0 : a->size < b->size;
}

struct slice member_of(const struct model_entry *entry)
{
    return (struct slice){ entry->member, entry->size };
}

const struct model_entry *entry_behind(const struct model_key *key,
                                       const struct model_entry *before)
{
    const struct model_entry *first = NULL;
    for (size_t i = 0; key && i < key->entry_count; i++)
        if ((!before || entry_is_before(before, &key->entries[i])) &&
            (!first || entry_is_before(&key->entries[i], first)))
            first = &key->entries[i];
    return first;
}

struct model_key *sorted_set(struct run *run, struct slice name)
{
    struct model_key *key = run_key(run, name);
    if (!key || key->is_sorted_set) return key;
    run->error = model_wrong_type;
    return NULL;
}

void model_put_entry(struct model_node *node, const char *name, const char *member, uint64_t score,
                     uint64_t now_us)
{
    struct model_key *key = key_find(node, 0, slice_of(name), now_us);
    if (!key) key = key_put(node, 0, slice_of(name), slice_of(""));
    key->is_sorted_set = true;
    entry_put(key, slice_of(member), score);
}

bool call_zadd(struct run *run, struct slice name, uint64_t score, struct slice member)
{
    if (!may_call_on(run, "ZADD", name, ADDS)) return false;
    struct model_key *key = sorted_set(run, name);
    if (!key && !run->error) {
        key = key_put(run->scene->node, run->scene->session->database, name, slice_of(""));
        key->is_sorted_set = true;
    }
    if (key) entry_put(key, member, score);
    return key != NULL;
}

static bool call_raise_flag(struct run *run, struct slice waiters, int64_t life_ms)
{
    const struct slice flag = name_with(waiters, "#waiters");
    const bool done = call_set(run, flag, slice_of(""), life_ms);
    slice_free(flag);
    return done;
}

bool call_line_up(struct run *run, bool raises_flag, struct slice waiters, uint64_t score,
                  struct slice member, int64_t life_ms)
{
    if (raises_flag && !call_raise_flag(run, waiters, life_ms)) return false;
    return call_pexpire(run, waiters, life_ms) && call_zadd(run, waiters, score, member) &&
           call_pexpire(run, waiters, life_ms);
}

bool call_zrem_counted(struct run *run, struct slice name, struct slice member, unsigned *count)
{
    struct model_key *key =
        may_call_on(run, "ZREM", name, FREES) ? sorted_set(run, name) : NULL;
    struct model_entry *entry = key ? entry_find(key, member) : NULL;
    if (entry) entry_remove(run, key, entry);
    *count += entry != NULL;
    return !run->error;
}

void call_zrem(struct run *run, struct slice name, struct slice member)
{
    unsigned count = 0;
    (void)call_zrem_counted(run, name, member, &count);
}

bool call_zpopmin(struct run *run, struct slice name, struct model_entry *first)
{
    struct model_key *key =
        may_call_on(run, "ZPOPMIN", name, FREES) ? sorted_set(run, name) : NULL;
    if (!key) return false;
    struct model_entry *least = &key->entries[0];
    for (size_t i = 1; i < key->entry_count; i++)
        if (entry_is_before(&key->entries[i], least)) least = &key->entries[i];
    *first = *least;
    entry_remove(run, key, least);
    return true;
}

bool call_zscore(struct run *run, struct slice name, struct slice member, uint64_t *score)
{
    struct model_key *key =
        may_call_on(run, "ZSCORE", name, READS) ? sorted_set(run, name) : NULL;
    const struct model_entry *entry = key ? entry_find(key, member) : NULL;
    *score = entry ? entry->score : 0;
    return !run->error;
}

bool call_zcard(struct run *run, struct slice name, size_t *count)
{
    struct model_key *key =
        may_call_on(run, "ZCARD", name, READS) ? sorted_set(run, name) : NULL;
    *count = key ? key->entry_count : 0;
    return !run->error;
}

bool call_largest(struct run *run, struct slice name, uint64_t *score)
{
    struct model_key *key =
        may_call_on(run, "ZREVRANGE", name, READS) ? sorted_set(run, name) : NULL;
    *score = 0;
    for (size_t i = 0; key && i < key->entry_count; i++)
        if (key->entries[i].score > *score) *score = key->entries[i].score;
    return !run->error;
}

bool call_sweep(struct run *run, struct slice name)
{
    struct model_key *key =
        may_call_on(run, "ZREMRANGEBYSCORE", name, FREES) ? sorted_set(run, name) : NULL;
    size_t left = key ? key->entry_count : 0;
    for (size_t i = 0; i < left;) {
        if (key->entries[i].score > ms_of(run->scene->now_us)) {
            i++;
            continue;
        }
        left--;
        /* The last one takes its place; and with the last of all the key is gone. */
        entry_remove(run, key, &key->entries[i]);
    }
    return !run->error;
}

/* ---- What is published ---- */

/* All shards of a cluster tell their subscribers, but the answer counts those of one (PUBLISH). How
 * many of that one have heard it. */
static unsigned publish(struct model_node *node, struct slice channel, struct slice message)
{
    unsigned heard = 0;
    char head[MODEL_CHANNEL_MAX + 64];
    for (struct model_session *subscriber = node->subscribers; subscriber;
         subscriber = subscriber->next_subscriber) {
        if (!model_channel(subscriber, channel)) continue;
        snprintf(head, sizeof head, "*3\r\n$7\r\nmessage\r\n$%zu\r\n%.*s\r\n$%zu\r\n", channel.size,
                 (int)channel.size, (const char *)channel.data, message.size);
        model_bytes_add(&subscriber->out, head, strlen(head));
        model_bytes_add(&subscriber->out, message.data, message.size);
        model_bytes_add(&subscriber->out, "\r\n", 2);
        heard += subscriber->shard == node->shard;
    }
    return heard;
}

unsigned model_publish(struct model_node *node, const char *channel, const char *message)
{
    return publish(node, slice_of(channel), slice_of(message));
}

unsigned call_publish(struct run *run, struct slice channel, struct slice message)
{
    return may_call(run, "PUBLISH", READS) ? publish(run->scene->node, channel, message) : 0;
}

/* An entry "0123456789abcdef:7" gets "7", or "7@3" for a permit's slot 3, published to
 * "redlock:0123456789abcdef". Returns how many hear it; 0 also after an error. */
unsigned tell_waiter(struct run *run, const struct model_entry *entry, unsigned slot)
{
    char text[MODEL_ENTRY_MAX + 1], channel[sizeof "redlock:" + 16], message[MODEL_ENTRY_MAX + 8];
    slice_text(member_of(entry), text, sizeof text);
    snprintf(channel, sizeof channel, "redlock:%.16s", text);
    snprintf(message, sizeof message, slot > 0 ? "%s@%u" : "%s", entry->size > 17 ? text + 17 : "",
             slot);
    return call_publish(run, slice_of(channel), slice_of(message));
}

/* ---- What the scripts have in common ---- */

bool script_says(const char *script, const char *words)
{
    return strstr(script, words) != NULL;
}

bool lua_number(struct slice text, double *number)
{
    char *end;
    *number = strtod((const char *)text.data, &end);
    return end != (const char *)text.data && end[strspn(end, " \t\r\n\v\f")] == '\0';
}

bool read_counter(struct run *run, struct slice value, double *number, const char *sides)
{
    if (lua_number(value, number)) return true;
    snprintf(run->of_lua, sizeof run->of_lua, "-ERR user_script:%u: attempt to compare %s",
             run->line, sides);
    run->error = run->of_lua;
    return false;
}

int64_t longer_pttl(int64_t a, int64_t b)
{
    const int64_t cut = b < UINT32_MAX ? b : UINT32_MAX;
    return a != -1 && (cut == -1 || cut > a) ? cut : a;
}

struct proposal read_proposal(const struct run *run, const char *breach)
{
    struct proposal p = { 0 };
    if (!slice_number(run->arguments[1], &p.ttl_ms) ||
        !slice_number(run->arguments[2], &p.ticket) || p.ttl_ms <= 0 ||
        !slice_number(run->arguments[3], &p.life_ms) ||
        !slice_number(run->arguments[4], &p.skew_ms) || p.ticket < 0)
        model_breach(run->scene->node, breach);
    return p;
}

int64_t read_ttl(const struct run *run)
{
    int64_t ttl_ms = 0;
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0)
        model_breach(run->scene->node, "a TTL of 0 or less in a script");
    return ttl_ms;
}

static uint64_t wall_clock(const struct run *run)
{
    return run->scene->now_us + (uint64_t)run->scene->node->wall_offset_us;
}

bool is_ahead(const struct run *run, int64_t ticket, int64_t skew_ms)
{
    return ticket > 0 && (uint64_t)ticket > wall_clock(run) + (uint64_t)skew_ms * 1000;
}

void answer_ahead(const struct run *run)
{
    char text[80];
    snprintf(text, sizeof text, "-AHEAD of the clock of this node: %llu\r\n",
             (unsigned long long)(wall_clock(run) / 1000000));
    model_answer(run->scene, text);
}

bool ticket_is_ahead(const struct run *run, int64_t ticket, int64_t skew_ms)
{
    if (!is_ahead(run, ticket, skew_ms)) return false;
    answer_ahead(run);
    return true;
}

void answer_refusal(const struct run *run, struct slice largest, int64_t left_ms)
{
    char text[MODEL_TEXT_MAX];
    snprintf(text, sizeof text, "%.*s %lld", (int)largest.size, (const char *)largest.data,
             (long long)left_ms);
    model_answer_bulk(run->scene, slice_of(text));
}

void answer_done(const struct run *run)
{
    run->scene->call->did = true;
    model_answer(run->scene, "+OK\r\n");
}
