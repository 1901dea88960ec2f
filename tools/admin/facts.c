#define _GNU_SOURCE
#include "facts.h"

#include <inttypes.h>
#include <string.h>

#include "../redlock/print.h"
#include "../redlock/rights.h"
#include "../redlock/text.h"

const char *const survey_words[QUESTION_COUNT][SURVEY_WORDS_MAX + 1] = {
#define WORDS(name, rule, ...) { __VA_ARGS__ },
    SURVEY_QUESTIONS(WORDS)
#undef WORDS
};

const struct survey_need survey_needs[] = {
    { "+set", { "SET", SURVEY_KEY, "x" } },
    { "+get", { "GET", SURVEY_KEY } },
    { "+del", { "DEL", SURVEY_KEY } },
    { "+pttl", { "PTTL", SURVEY_KEY } },
    { "+pexpire", { "PEXPIRE", SURVEY_KEY, "1" } },
    { "+eval", { "EVAL", "return 1", "0" } },
    { "+evalsha", { "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0" } },
    { "+time", { "TIME" } },
    { "+info", { "INFO" } },
    { "+get", { "GET", REDLOCK_CANARY } },
    { "+set", { "SET", REDLOCK_CANARY, "x", "NX" } },
    { "+get", { "GET", REDLOCK_PROMOTION_KEY } },
    { "+set", { "SET", REDLOCK_PROMOTION_KEY, "x" } },
    { "+zadd", { "ZADD", SURVEY_KEY, "1", "x" } },
    { "+zrem", { "ZREM", SURVEY_KEY, "x" } },
    { "+zpopmin", { "ZPOPMIN", SURVEY_KEY } },
    { "+publish", { "PUBLISH", SURVEY_CHANNEL, "x" } },
    { "+subscribe", { "SUBSCRIBE", SURVEY_CHANNEL } },
    { "+zscore", { "ZSCORE", SURVEY_KEY, "x" } },
    { "+zrevrange", { "ZREVRANGE", SURVEY_KEY, "0", "0" } },
    { "+zremrangebyscore", { "ZREMRANGEBYSCORE", SURVEY_KEY, "0", "0" } },
    { "+zcard", { "ZCARD", SURVEY_KEY } },
    { "+pexpireat", { "PEXPIREAT", SURVEY_KEY, "1" } },
    { "+zrange", { "ZRANGE", SURVEY_KEY, "0", "0" } },
    { "+zrank", { "ZRANK", SURVEY_KEY, "x" } },
    { "+zrangebyscore", { "ZRANGEBYSCORE", SURVEY_KEY, "0", "0" } },
    { "+hset", { "HSET", SURVEY_KEY, "x", "x" } },
    { "+hdel", { "HDEL", SURVEY_KEY, "x" } },
    { "+hexists", { "HEXISTS", SURVEY_KEY, "x" } },
    { "+type", { "TYPE", SURVEY_KEY } },
    { "+lrange", { "LRANGE", SURVEY_KEY, "0", "0" } },
    { "+unsubscribe", { "UNSUBSCRIBE", SURVEY_CHANNEL } },
    { NULL, { NULL } }
};
_Static_assert(sizeof survey_needs / sizeof survey_needs[0] <= (size_t)SURVEY_NEEDS_MAX,
               "each has a place");

static bool is_about(const struct survey_need *need, const char *key)
{
    return need->words[1] && strcmp(need->words[1], key) == 0;
}

enum survey_purpose survey_purpose(const struct survey_need *need, unsigned parts)
{
    const unsigned wake_ups = RIGHTS_PART('w') | RIGHTS_PART('z'),
                   of = rights_of(need->rule) & parts;

    if (is_about(need, REDLOCK_CANARY)) return FOR_MEMORY;
    if (is_about(need, REDLOCK_PROMOTION_KEY)) return FOR_FAILOVERS;
    if (strcmp(need->rule, "+evalsha") == 0) return FOR_SPEED;
    if (of & ~(wake_ups | RIGHTS_PART('v'))) return FOR_LOCKS;
    if (of & RIGHTS_PART('v')) return FOR_A_VOTE;
    return of ? FOR_WAKE_UPS : FOR_NOTHING;
}

static const char *const rules[] = {
#define RULE(name, rule, ...) rule,
    SURVEY_QUESTIONS(RULE)
#undef RULE
};

static const struct {
    enum question question;
    const char *key;
} sources[] = {
#define SOURCE(name, question, key) { QUESTION_##question, key },
    SURVEY_FACTS(SOURCE)
#undef SOURCE
};

/* What Valkey and Redict call a fact. */
static const struct {
    enum fact fact;
    const char *key;
} other_names[] = {
    { FACT_MODE, "server_mode" },
    { FACT_MODE, "valkey_mode" },
    { FACT_MODE, "redict_mode" },
    { FACT_REPLICAS, "connected_replicas" },
};

enum question survey_question(enum fact fact)
{
    return sources[fact].question;
}

enum survey_answer survey_asked(const struct survey_node *node, enum fact fact)
{
    return (enum survey_answer)node->answers[sources[fact].question];
}

const char *survey_rule(enum question question)
{
    return rules[question];
}

/* An error of any other kind comes from a server that has looked at the words; and MOVED or ASK
 * from a managed one, which has looked at the key. */
const char *survey_barrier(const struct survey_node *node)
{
    const char *words = node->errors[QUESTION_WRITE];

    if (node->answers[QUESTION_WRITE] != ANSWER_ERROR) return NULL;
    if (strncmp(words, "MOVED ", 6) == 0 || strncmp(words, "ASK ", 4) == 0) return NULL;
    return strncmp(words, "ERR ", 4) != 0 || text_lasting_advice(words) ? words : NULL;
}

bool survey_number(const struct survey_node *node, enum fact fact, uint64_t *number)
{
    const char *at = node->told[fact];
    uint64_t sum = 0;

    if (*at == '\0') return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (sum > (UINT64_MAX - 9) / 10) return false;
        sum = sum * 10 + (uint64_t)(*at - '0');
    }
    *number = sum;
    return *at == '\0';
}

/* ---- Facts ---- */

/* A text that is too long is no fact, since a cut one could be taken for another. */
static void tell(struct survey_node *node, enum fact fact, const char *text, size_t size)
{
    if (size >= SURVEY_TEXT_MAX || memchr(text, '\0', size)) return;
    memcpy(node->told[fact], text, size);
    node->told[fact][size] = '\0';
    node->has[fact] = true;
}

static void tell_number(struct survey_node *node, enum fact fact, uint64_t number)
{
    char text[24];

    tell(node, fact, text, (size_t)print_text(text, sizeof text, "%" PRIu64, number));
}

static bool is_text(const char *bytes, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(bytes, text, size) == 0;
}

/* FACT_COUNT: it is none. */
static enum fact find_fact(const char *key, size_t size)
{
    if (size == 0) return FACT_COUNT;
    for (unsigned i = 0; i < FACT_COUNT; i++)
        if (is_text(key, size, sources[i].key)) return (enum fact)i;
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        if (is_text(key, size, other_names[i].key)) return other_names[i].fact;
    return FACT_COUNT;
}

/* ---- INFO ---- */

/* The whole number after "name=" in "calls=1,usec=7,usec_per_call=7.00"; 0: it is not there. */
static uint64_t field_number(const char *fields, size_t size, const char *name)
{
    uint64_t number = 0;
    size_t name_size = strlen(name), i = 0;

    while (i + name_size <= size &&
           !(memcmp(fields + i, name, name_size) == 0 && (i == 0 || fields[i - 1] == ',')))
        i++;
    for (i += name_size;
         i < size && fields[i] >= '0' && fields[i] <= '9' && number < UINT64_MAX / 100; i++)
        number = number * 10 + (uint64_t)(fields[i] - '0');
    return number;
}

static bool forgets_keys(const char *command, size_t size)
{
    return is_text(command, size, "flushall") || is_text(command, size, "flushdb") ||
           is_text(command, size, "swapdb");
}

/* "cmdstat_flushall:calls=1,usec=7,usec_per_call=7.00,rejected_calls=0,failed_calls=0" is the line
 * of a command that was called. */
static void read_command(struct survey_node *node, const char *command, size_t size,
                         const char *fields, size_t fields_size)
{
    uint64_t flushes = 0, slowest = 0, mean = field_number(fields, fields_size, "usec_per_call=");
    uint64_t refused = field_number(fields, fields_size, "failed_calls="),
             calls = field_number(fields, fields_size, "calls=");

    (void)survey_number(node, FACT_FLUSHES, &flushes);
    (void)survey_number(node, FACT_SLOWEST_MEAN, &slowest);
    if (forgets_keys(command, size))
        tell_number(node, FACT_FLUSHES, flushes + (calls > refused ? calls - refused : 0));
    if (mean <= slowest) return;
    tell_number(node, FACT_SLOWEST_MEAN, mean);
    tell(node, FACT_SLOWEST_NAME, command, size);
}

/* "name:value" */
static void read_info_line(struct survey_node *node, const char *line, size_t size)
{
    static const char command[] = "cmdstat_";
    const char *colon = memchr(line, ':', size);
    size_t key_size = colon ? (size_t)(colon - line) : 0,
           value_size = colon ? size - key_size - 1 : 0;
    enum fact fact = find_fact(line, key_size);

    if (!colon || line[0] == '#') return;
    if (fact != FACT_COUNT) tell(node, fact, colon + 1, value_size);
    if (key_size > sizeof command - 1 && memcmp(line, command, sizeof command - 1) == 0)
        read_command(node, line + sizeof command - 1, key_size - (sizeof command - 1), colon + 1,
                     value_size);
}

void survey_read_info(struct survey_node *node, const char *text, size_t size)
{
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        size_t whole = end ? (size_t)(end - text) + 1 : size, line = end ? whole - 1 : whole;
        if (line > 0 && text[line - 1] == '\r') line--;
        read_info_line(node, text, line);
        text += whole;
        size -= whole;
    }
}

/* ---- Replies ---- */

/* The next value of the reply, and all of a string. Its pieces are moved together, over
 * the earlier ones. */
static bool next_value(struct redlock_question *reply, struct redlock_item *item)
{
    uint8_t *at;
    size_t size;

    if (!redlock_next_item(reply, item)) return false;
    at = (uint8_t *)item->bytes;
    size = item->size;
    while (!item->last && redlock_next_item(reply, item)) {
        memmove(at + size, item->bytes, item->size);
        size += item->size;
    }
    item->bytes = at;
    item->size = size;
    return item->last;
}

static bool is_string(const struct redlock_item *item)
{
    return item->type == REDLOCK_ITEM_BULK || item->type == REDLOCK_ITEM_SIMPLE;
}

static void tell_item(struct survey_node *node, enum fact fact, const struct redlock_item *item)
{
    if (is_string(item)) tell(node, fact, (const char *)item->bytes, item->size);
}

/* Commands that were never called have no line. */
static void read_info(struct survey_node *node, enum question question,
                      const struct redlock_item *item)
{
    static const char head[] = "# Commandstats";

    if (!is_string(item)) return;
    if (question == QUESTION_INFO_COMMANDS && item->size >= sizeof head - 1 &&
        memcmp(item->bytes, head, sizeof head - 1) == 0) {
        tell_number(node, FACT_FLUSHES, 0);
        tell_number(node, FACT_SLOWEST_MEAN, 0);
    }
    survey_read_info(node, (const char *)item->bytes, item->size);
}

/* [name, value] */
static void read_setting(struct survey_node *node, struct redlock_question *reply)
{
    struct redlock_item item;
    enum fact fact;

    if (!next_value(reply, &item) || !is_string(&item)) return;
    fact = find_fact((const char *)item.bytes, item.size);
    if (fact != FACT_COUNT && next_value(reply, &item)) tell_item(node, fact, &item);
}

/* Each entry is [id, time, us, [argument, ...], ...], for the longest call, and its command. */
static void read_slowlog(struct survey_node *node, const struct redlock_item *first,
                         struct redlock_question *reply)
{
    struct redlock_item item;
    int64_t longest = 0;
    unsigned at = 0;
    bool is_longest = false;

    if (first->type == REDLOCK_ITEM_ARRAY) tell_number(node, FACT_SLOW_CALL, 0);
    while (next_value(reply, &item)) {
        if (item.depth == 1) at = 0;
        if (item.depth == 2 && at++ == 2) {
            is_longest = item.type == REDLOCK_ITEM_INTEGER && item.integer > longest;
            if (is_longest) tell_number(node, FACT_SLOW_CALL, (uint64_t)(longest = item.integer));
        }
        if (item.depth != 3 || !is_longest) continue;
        tell_item(node, FACT_SLOW_NAME, &item);
        is_longest = false;
    }
}

/* A line is "id address flags ...". One that has just been met has an id that it does not keep. */
static void read_member(struct survey_node *node, const char *line, size_t size)
{
    enum { ID_SIZE = 40 };
    bool is_first = node->told[FACT_CLUSTER][0] == '\0';

    if (size <= ID_SIZE || line[ID_SIZE] != ' ' ||
        memmem(line, size, "handshake", strlen("handshake")))
        return;
    if (is_first || memcmp(line, node->told[FACT_CLUSTER], ID_SIZE) < 0)
        tell(node, FACT_CLUSTER, line, ID_SIZE);
}

void survey_read_members(struct survey_node *node, const char *text, size_t size)
{
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        size_t whole = end ? (size_t)(end - text) + 1 : size;
        read_member(node, text, end ? whole - 1 : whole);
        text += whole;
        size -= whole;
    }
}

static void read_refusal(struct survey_node *node, enum question question,
                         const struct redlock_item *item)
{
    bool is_forbidden = item->size > 6 && memcmp(item->bytes, "NOPERM", 6) == 0;

    node->answers[question] = is_forbidden ? ANSWER_REFUSED : ANSWER_ERROR;
    (void)text_printable(node->errors[question], SURVEY_ERROR_MAX, item->bytes, item->size);
}

static const enum fact single_facts[QUESTION_COUNT] = { [QUESTION_EVAL] = FACT_SCRIPT_ANSWER,
                                                        [QUESTION_SCRIPT] = FACT_SCRIPT_SHA,
                                                        [QUESTION_WHOAMI] = FACT_USER,
                                                        [QUESTION_CANARY] = FACT_CANARY };

void survey_read(struct survey_node *node, enum question question, struct redlock_question *reply)
{
    struct redlock_item item;

    if (!next_value(reply, &item)) return;
    if (item.type == REDLOCK_ITEM_ERROR) {
        read_refusal(node, question, &item);
        return;
    }
    node->answers[question] = ANSWER_GIVEN;
    if (question == QUESTION_SLOWLOG)           read_slowlog(node, &item, reply);
    else if (question <= QUESTION_INFO_COMMANDS) read_info(node, question, &item);
    else if (question == QUESTION_MEMBERS)
        survey_read_members(node, (const char *)item.bytes, is_string(&item) ? item.size : 0);
    else if (single_facts[question] == 0)       read_setting(node, reply);
    else if (item.type != REDLOCK_ITEM_ARRAY || next_value(reply, &item))
        tell_item(node, single_facts[question], &item);
}

/* ---- Permissions ---- */

static bool item_has(const struct redlock_item *item, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= item->size; i++)
        if (memcmp(item->bytes + i, text, strlen(text)) == 0) return true;
    return false;
}

/* "ERR Command 'evalsha' not found", "ERR User 'app' not found"; anything else is of a server that
 * has no ACL DRYRUN, or refuses it. One command's answer says nothing of the next. */
static void read_no_permission(struct survey_node *node, unsigned need,
                               const struct redlock_item *item)
{
    bool is_unknown = item_has(item, "' not found");

    if (is_unknown && item_has(item, "ERR Command '")) {
        node->permissions[need] = PERMISSION_NO_COMMAND;
        node->dry_run = ANSWER_GIVEN;
    } else if (is_unknown && item_has(item, "ERR User '")) {
        (void)text_printable(node->no_user, sizeof node->no_user, item->bytes, item->size);
    } else if (node->dry_run != ANSWER_GIVEN) {
        node->dry_run =
            item->size > 6 && memcmp(item->bytes, "NOPERM", 6) == 0 ? ANSWER_REFUSED : ANSWER_ERROR;
    }
}

/* "OK"; or in words that the user "has no permissions to run the 'set' command" or to access a key
 * or a channel. */
void survey_read_permission(struct survey_node *node, unsigned need, struct redlock_question *reply)
{
    struct redlock_item item;

    if (!next_value(reply, &item)) return;
    if (item.type == REDLOCK_ITEM_ERROR) {
        read_no_permission(node, need, &item);
        return;
    }
    node->dry_run = ANSWER_GIVEN;
    node->permissions[need] =
        (uint8_t)(is_text((const char *)item.bytes, item.size, "OK") ? PERMISSION_GIVEN
                  : item_has(&item, " to run ")                      ? PERMISSION_REFUSED
                                                                     : PERMISSION_KEY_REFUSED);
}
