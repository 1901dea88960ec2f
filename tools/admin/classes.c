#include "classes.h"

#include <string.h>

#define BIT(class) (1u << SCAN_##class)

enum {
    UNLIKE_MS = 1000,       /* They differ by more than this, */
    UNLIKE_PART = 100       /* and such a part, TTLs of one value differ. */
};

/* ---- Names ---- */

static const struct {
    const char *label, *words;
    enum scan_level level;
} rows[] = {
#define SCAN_ROW(name, label, level, words) { label, words, SCAN_##level },
    SCAN_CLASSES(SCAN_ROW)
#undef SCAN_ROW
};

enum scan_class scan_gravest(uint32_t classes)
{
    unsigned class = 0;

    while (class < SCAN_CLASS_COUNT && !(classes >> class & 1)) class++;
    return (enum scan_class)class;
}

enum scan_level scan_level_of(enum scan_class class)
{
    return class < SCAN_CLASS_COUNT ? rows[class].level : SCAN_COUNTED;
}

const char *scan_label(enum scan_class class)
{
    return class < SCAN_CLASS_COUNT ? rows[class].label : "none";
}

const char *scan_words(enum scan_class class)
{
    return class < SCAN_CLASS_COUNT ? rows[class].words : "nothing";
}

/* ---- What a value is ---- */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool are_hex(const uint8_t *value, size_t size)
{
    size_t i = 0;

    while (i < size && is_hex(value[i])) i++;
    return i == size;
}

/* 8-4-4-4-12 */
static bool is_uuid(const uint8_t *value, size_t size)
{
    if (size != 36) return false;
    for (size_t i = 0; i < size; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? value[i] != '-' : !is_hex(value[i])) return false;
    }
    return true;
}

/* 20 to 24 letters and digits, or such as base64 has. Words have only the one, and
 * chance has both. */
static bool is_random_text(const uint8_t *value, size_t size)
{
    static const char others[] = { '+', '/', '=', '-', '_' };
    bool has_digit = false, has_letter = false;

    if (size < 20 || size > 24) return false;
    for (size_t i = 0; i < size; i++) {
        has_digit |= is_digit(value[i]);
        has_letter |= is_letter(value[i]);
        if (!is_digit(value[i]) && !is_letter(value[i]) && !memchr(others, value[i], sizeof others))
            return false;
    }
    return has_digit && has_letter;
}

bool scan_is_token(const uint8_t *value, size_t size)
{
    if (size >= REDLOCK_TOKEN_TEXT && are_hex(value, REDLOCK_TOKEN_TEXT))
        return size == REDLOCK_TOKEN_TEXT ||
               (size <= REDLOCK_VALUE_TEXT && value[REDLOCK_TOKEN_TEXT] == ' ');
    return (size == 32 && are_hex(value, size)) || is_uuid(value, size) ||
           is_random_text(value, size);
}

static bool is_locked(const struct scan_sight *sight)
{
    if (sight->type == SIGHT_SHARED) return true;
    return sight->type == SIGHT_STRING && scan_is_token(sight->value, sight->value_size);
}

static bool is_data(const struct scan_sight *sight)
{
    return sight->type == SIGHT_OTHER || (sight->type == SIGHT_STRING && !is_locked(sight));
}

bool scan_is_same(const struct scan_sight *a, const struct scan_sight *b)
{
    if (a->type != b->type) return false;
    if (a->type == SIGHT_SHARED) return true;
    if (a->type == SIGHT_QUEUE)
        return a->value_size >= REDLOCK_TOKEN_TEXT && b->value_size >= REDLOCK_TOKEN_TEXT &&
               memcmp(a->value, b->value, REDLOCK_TOKEN_TEXT) == 0;
    return a->type == SIGHT_STRING && a->value_size == b->value_size &&
           memcmp(a->value, b->value, a->value_size) == 0;
}

/* ---- One value ---- */

/* A value that is a lock's, and the nodes that have it. */
struct group {
    unsigned on, with_ttl;      /* The number of nodes, and of those with a TTL. */
    int64_t shortest, longest;  /* TTLs of those nodes. */
};

static struct group group_of(const struct scan_sight sights[], unsigned count, unsigned as)
{
    struct group group = { .shortest = INT64_MAX };

    for (unsigned k = 0; k < count; k++) {
        int64_t ttl = sights[k].ttl_ms;
        if (!scan_is_same(&sights[k], &sights[as])) continue;
        group.on++;
        if (ttl < 0) continue;
        group.with_ttl++;
        if (ttl < group.shortest) group.shortest = ttl;
        if (ttl > group.longest) group.longest = ttl;
    }
    return group;
}

static bool is_first_of_its_value(const struct scan_sight sights[], unsigned k)
{
    for (unsigned i = 0; i < k; i++)
        if (scan_is_same(&sights[i], &sights[k])) return false;
    return is_locked(&sights[k]);
}

/* Nodes that may have it, or may have had it, since they did not answer, or may have forgotten. */
static unsigned count_unknown(const struct scan_sight sights[], unsigned count)
{
    unsigned unknown = 0;

    for (unsigned k = 0; k < count; k++)
        unknown += sights[k].type == SIGHT_UNKNOWN || sights[k].type == SIGHT_FORGOTTEN;
    return unknown;
}

/* S7: a held value is not removed, and one that may be held is not. A holder with those nodes that
 * cannot tell would have a quorum. */
static void judge_value(struct scan_judgement *j, const struct scan_sight sights[], unsigned count,
                        unsigned k)
{
    struct group group = group_of(sights, count, k);
    unsigned may_hold = group.with_ttl + count_unknown(sights, count);

    if (group.on > j->agreeing) {
        j->best = k;
        j->agreeing = group.on;
    }
    if (group.with_ttl < group.on) j->classes |= BIT(NO_TTL);
    if (sights[k].type == SIGHT_SHARED || may_hold >= redlock_quorum(count)) return;
    if (group.with_ttl < group.on) j->endless |= (uint16_t)(1u << k);
    else                           j->removable |= (uint16_t)(1u << k);
}

/* ---- All of them ---- */

/* The longest time after which a quorum of the best value's keys is still there; of a value on
 * fewer nodes, until the last ends. */
static void find_end(struct scan_judgement *j, const struct scan_sight sights[], unsigned count)
{
    unsigned wanted = j->agreeing >= redlock_quorum(count) ? redlock_quorum(count) : 1;

    for (unsigned k = 0; k < count; k++) {
        unsigned longer = 0;
        uint64_t ttl = (uint64_t)sights[k].ttl_ms;
        if (!scan_is_same(&sights[k], &sights[j->best]) || sights[k].ttl_ms < 0) continue;
        for (unsigned i = 0; i < count; i++)
            longer += scan_is_same(&sights[i], &sights[j->best]) &&
                      (sights[i].ttl_ms < 0 || sights[i].ttl_ms >= sights[k].ttl_ms);
        if (longer < wanted || (j->has_end && ttl < j->ends_in_ms)) continue;
        j->has_end = true;
        j->ends_in_ms = ttl < UINT32_MAX ? (uint32_t)ttl : UINT32_MAX;
    }
    if (wanted == 1 && j->classes & BIT(NO_TTL)) j->has_end = false;
}

static uint32_t classes_of_best(const struct scan_judgement *j, const struct scan_sight sights[],
                                unsigned count, unsigned values)
{
    unsigned quorum = redlock_quorum(count), unknown = count_unknown(sights, count);
    bool is_shared = sights[j->best].type == SIGHT_SHARED;

    if (j->agreeing >= quorum) {
        uint32_t held = is_shared ? BIT(SHARED) : BIT(HELD);
        return j->agreeing < j->answers ? held | BIT(DEGRADED) : held;
    }
    if (j->agreeing + unknown >= quorum) return BIT(MAYBE_HELD);
    if (values > 1)                      return BIT(SPLIT);
    return j->classes & BIT(NO_TTL) ? 0 : BIT(LEFTOVER);
}

static uint32_t classes_of_ttls(const struct scan_judgement *j, const struct scan_sight sights[],
                                unsigned count, uint32_t guard_ms)
{
    struct group group = group_of(sights, count, j->best);
    uint32_t classes = 0;

    for (unsigned k = 0; k < count; k++)
        if (guard_ms > 0 && is_locked(&sights[k]) && sights[k].ttl_ms > (int64_t)guard_ms)
            classes |= BIT(TTL_OVER_GUARD);
    if (sights[j->best].type == SIGHT_SHARED || group.with_ttl < 2) return classes;
    return group.longest - group.shortest > UNLIKE_MS + group.longest / UNLIKE_PART
               ? classes | BIT(TTL_UNLIKE)
               : classes;
}

static void judge_locks(struct scan_judgement *j, const struct scan_sight sights[], unsigned count,
                        uint32_t guard_ms)
{
    unsigned values = 0;

    for (unsigned k = 0; k < count; k++) {
        if (sights[k].type == SIGHT_SHARED && sights[k].readers == 0) j->classes |= BIT(SHARED_ODD);
        if (!is_first_of_its_value(sights, k)) continue;
        values++;
        judge_value(j, sights, count, k);
    }
    if (values == 0) return;
    j->classes |= classes_of_best(j, sights, count, values);
    find_end(j, sights, count);
    j->classes |= classes_of_ttls(j, sights, count, guard_ms);
}

/* Redisson excludes, and is excluded by, whatever key is there; but its locks are no strings, so
 * nobody else can tell them. */
static void judge_others(struct scan_judgement *j, const struct scan_sight sights[], unsigned count)
{
    bool has_data = false, has_ticket = false, has_redisson = false;

    for (unsigned k = 0; k < count; k++) {
        has_data |= is_data(&sights[k]);
        has_ticket |= is_data(&sights[k]) && sights[k].has_ticket;
        has_redisson |= sights[k].type == SIGHT_REDISSON;
        if (sights[k].type == SIGHT_REDISSON && sights[k].ttl_ms < 0) j->classes |= BIT(NO_TTL);
    }
    if (has_redisson) j->classes |= BIT(REDISSON);
    if (has_ticket || has_data + has_redisson + (j->agreeing > 0) > 1)
        j->classes |= BIT(IN_THE_WAY);
    else if (has_data)                                                 j->classes |= BIT(DATA);
}

static void judge_queue(struct scan_judgement *j, const struct scan_sight sights[], unsigned count,
                        unsigned k)
{
    struct group group = group_of(sights, count, k);

    j->classes |= BIT(QUEUE_IDLE);
    if (group.on <= j->agreeing) return;
    j->best = k;
    j->agreeing = group.on;
    j->has_end = true;
    j->ends_in_ms = group.longest < UINT32_MAX ? (uint32_t)group.longest : UINT32_MAX;
}

/* Such a key is only looked at for a reason. There are readers without a mark, or a queue, or there
 * is no TTL. If the first of a queue asks for the lock now and then the second look
 * sees something else. */
static void judge_beside(struct scan_judgement *j, const struct scan_sight sights[], unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        if (sights[k].type <= SIGHT_ABSENT) continue;
        if (sights[k].ttl_ms < 0)               j->classes |= BIT(BESIDE_NO_TTL);
        else if (sights[k].type == SIGHT_QUEUE) judge_queue(j, sights, count, k);
        else                                    j->classes |= BIT(SHARED_ODD);
    }
}

void scan_judge(struct scan_judgement *judgement, const struct scan_sight sights[], unsigned count,
                bool is_beside, uint32_t guard_ms)
{
    *judgement = (struct scan_judgement){ 0 };
    for (unsigned k = 0; k < count; k++) judgement->answers += sights[k].type != SIGHT_UNKNOWN;
    if (is_beside) {
        judge_beside(judgement, sights, count);
        return;
    }
    judge_locks(judgement, sights, count, guard_ms);
    judge_others(judgement, sights, count);
}
