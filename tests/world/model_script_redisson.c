#include "model_script.h"

#include <stdio.h>
#include <string.h>

/* WIRE_REDISSON_ACQUIRE_SCRIPT */
void do_redisson_acquire(struct run *run)
{
    const int64_t ttl_ms = read_ttl(run);
    int64_t left_ms;
    if (!call_pttl(run, run->keys[0], &left_ms)) {
        raise_error(run);
        return;
    }
    if (left_ms != -2 && script_says(WIRE_REDISSON_ACQUIRE_SCRIPT, "if l~=-2 then")) {
        answer_refusal(run, slice_of("0"), left_ms < UINT32_MAX ? left_ms : UINT32_MAX);
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
    answer_done(run);
}

/* Is there a hash with our field? A call that is refused is in run->error. */
static bool redisson_is_ours(struct run *run, const struct model_key *key, const char *command,
                             enum effect effect)
{
    if (!may_call(run, "TYPE", READS) || !key || !key->is_hash || !may_call(run, command, effect))
        return false;
    return slices_equal((struct slice){ key->value, key->value_size }, run->arguments[0]);
}

/* WIRE_REDISSON_EXTEND_SCRIPT */
void do_redisson_extend(struct run *run)
{
    const int64_t ttl_ms = read_ttl(run);
    int64_t left_ms = -1;
    const bool is_ours = redisson_is_ours(run, run_key(run, run->keys[0]), "HEXISTS", READS);
    const bool lengthens = script_says(WIRE_REDISSON_EXTEND_SCRIPT, "l<t+0");
    if (is_ours && call_pttl(run, run->keys[0], &left_ms) && left_ms >= 0 &&
        (left_ms < ttl_ms || !lengthens))
        (void)call_pexpire(run, run->keys[0], ttl_ms);
    run->scene->call->did = is_ours && !run->error;
    if (run->error) raise_error(run);
    else            model_answer_number(run->scene, is_ours);
}

/* "prefix:{door}", or "prefix:do{o}r", with more after it. */
static struct slice redisson_name(const char *prefix, struct slice resource, struct slice more)
{
    const bool has_brace = memchr(resource.data, '{', resource.size) != NULL;
    const size_t size = strlen(prefix) + resource.size + more.size + sizeof ":{}:";
    char *text = model_grow(NULL, size + 1);
    snprintf(text, size + 1, "%s:%s%.*s%s%s%.*s", prefix, has_brace ? "" : "{", (int)resource.size,
             (const char *)resource.data, has_brace ? "" : "}", more.size > 0 ? ":" : "",
             (int)more.size, (const char *)more.data);
    return slice_of(text);
}

/* How many have heard of it. */
static unsigned redisson_tells(struct run *run, struct slice more)
{
    const struct slice channel = redisson_name("redisson_lock__channel", run->keys[0], more);
    const unsigned heard = call_publish(run, channel, slice_of("0"));
    slice_free(channel);
    return heard;
}

/* The end of its wait is in a sorted set, in ms, by the clock that set it. */
static bool redisson_lives(struct run *run, struct slice member, uint64_t wall_ms)
{
    const struct slice name = redisson_name("redisson_lock_timeout", run->keys[0], slice_of(""));
    struct model_key *key = run_key(run, name);
    uint64_t until_ms = 0;
    const bool is_known =
        key && entry_find(key, member) && call_zscore(run, name, member, &until_ms);
    slice_free(name);
    return !is_known || until_ms > wall_ms ||
           !script_says(WIRE_REDISSON_RELEASE_SCRIPT, "tonumber(u)>m then");
}

static unsigned redisson_tells_first(struct run *run)
{
    const struct scene *scene = run->scene;
    const uint64_t wall_ms = may_call(run, "TIME", READS)
                                 ? (scene->now_us + (uint64_t)scene->node->wall_offset_us) / 1000
                                 : 0;
    const struct slice name = redisson_name("redisson_lock_queue", run->keys[0], slice_of(""));
    const struct model_key *queue = may_call(run, "LRANGE", READS) ? run_key(run, name) : NULL;
    slice_free(name);
    if (!queue || !queue->is_list) return 0;
    for (size_t at = 0, size; at < queue->value_size; at += size + 1) {
        const uint8_t *end = memchr(queue->value + at, '\n', queue->value_size - at);
        size = end ? (size_t)(end - queue->value) - at : queue->value_size - at;
        const struct slice member = { queue->value + at, size };
        if (redisson_lives(run, member, wall_ms)) return redisson_tells(run, member);
    }
    return 0;
}

/* WIRE_REDISSON_RELEASE_SCRIPT */
void do_redisson_release(struct run *run)
{
    struct model_key *key = run_key(run, run->keys[0]);
    bool is_ours = redisson_is_ours(run, key, "HDEL", FREES);
    unsigned heard = 0;
    if (run->error) {
        raise_error(run);
        return;
    }
    if (key && key->is_hash && !script_says(WIRE_REDISSON_RELEASE_SCRIPT, "c('hdel',k,ARGV[1])==0"))
        is_ours = true;
    if (!is_ours) {
        model_answer_number(run->scene, key ? -1 : 0);
        return;
    }
    run_remove(run, key);
    if (script_says(WIRE_REDISSON_RELEASE_SCRIPT, "t(n)"))
        heard += redisson_tells(run, slice_of(""));
    heard += redisson_tells_first(run);
    run->scene->call->did = true;
    model_answer_number(run->scene, heard > 0 ? 2 : 1);
}
