/* Nodes whose master Redis Sentinel names (S31). Each sentinel is a session of the client behind
 * those of the engine, connected and served like them. This file asks the questions, reads the
 * answers, and opens a session's gate once a majority has answered. It reads and writes buffers,
 * and must not touch a descriptor. */
#include "client.h"
#include "redlock_sentinel.h"

#include <string.h>

enum {
    /* The pause before a sentinel that could not be reached is tried again. */
    RETRY_US = 250000,
    FIELDS_MAX = 400        /* Names and values, of which Redis 7.0 has 40. */
};

#define UNCONNECTED "no connection within the node timeout"

/* SENTINEL_AWAY -> _CONNECTING -> _OPEN. The last two may lead to _CLOSING, which leads
 * back to _AWAY. */
enum sentinel_state { SENTINEL_AWAY, SENTINEL_CONNECTING, SENTINEL_OPEN, SENTINEL_CLOSING };

static unsigned sentinel_number(const struct redlock_client *c, unsigned k)
{
    REDLOCK_ASSERT(k >= c->engine.session_count &&
                   k - c->engine.session_count < c->sentinels->count);
    return k - c->engine.session_count;
}

static struct redlock_sentinel *sentinel_of(const struct redlock_client *c, unsigned k)
{
    return &c->sentinels->list[sentinel_number(c, k)];
}

/* NULL: the session's node is a server like any other. */
static struct redlock_watched *watched_of(const struct redlock_client *c, unsigned k)
{
    struct redlock_watched *watched = &c->sentinels->watched[k % c->engine.node_count];

    return watched->count > 0 ? watched : NULL;
}

/* As much of the text as fits. */
static void sentinel_copy(char *to, size_t room, const char *text)
{
    size_t size = strlen(text);

    REDLOCK_ASSERT(room > 0);
    if (size >= room) size = room - 1;
    memcpy(to, text, size);
    to[size] = '\0';
}

static void sentinel_append(char *to, size_t room, const char *text)
{
    size_t used = strlen(to);

    REDLOCK_ASSERT(used < room);
    sentinel_copy(to + used, room - used, text);
}

static void sentinel_append_number(char *to, size_t room, unsigned number)
{
    char digits[11] = "", *first = digits + sizeof digits - 1;

    do *--first = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    sentinel_append(to, room, first);
}

/* ---- Addresses ---- */

static bool sentinel_fail(struct net_error *error, size_t at, const char *text)
{
    *error = (struct net_error){ .at = at, .text = text };
    return false;
}

/* One of the sentinels, host[:port], which stands at that place of the entry. It is read as a URL,
 * with the login in front. */
static bool add_sentinel(struct redlock_client *c, unsigned node, const struct list_entry *entry,
                         size_t login_size, size_t host_at, size_t size, struct net_error *error)
{
    static const char scheme[] = "redis://";
    struct redlock_sentinels *all = c->sentinels;
    struct redlock_sentinel *sentinel = &all->list[all->count];
    size_t login_at = sizeof scheme - 1, head = login_at + login_size;
    char url[NET_ADDRESS_TEXT_SIZE + 3 * (NET_USER_MAX + NET_PASSWORD_MAX) + sizeof scheme];
    struct net_address read;
    bool is_good;

    if (all->count == REDLOCK_SENTINELS_MAX)
        return sentinel_fail(error, host_at, "too many sentinels: a client has at most 16");
    if (size == 0)
        return sentinel_fail(error, host_at,
                             "a comma too many, or no sentinel: sentinel://host,host,host/name");
    if (head + size > sizeof url)
        return sentinel_fail(error, host_at, "a sentinel's host or login is too long");
    memcpy(url, scheme, login_at);
    memcpy(url + login_at, entry->text + entry->head, login_size);
    memcpy(url + head, entry->text + host_at, size);
    is_good = net_parse_address(url, head + size, REDLOCK_SENTINEL_PORT, &read, error);
    net_wipe(url, sizeof url);
    /* A login that is wrong is so for the first, which stands right behind it. */
    if (!is_good) return sentinel_fail(error, host_at + error->at - head, error->text);
    *sentinel = (struct redlock_sentinel){ .node = (uint8_t)node };
    sentinel->target.is_secure = entry->is_secure;
    net_format_address(&read, sentinel->target.address, sizeof sentinel->target.address);
    memcpy(sentinel->target.user, read.user, sizeof read.user);
    memcpy(sentinel->target.password, read.password, sizeof read.password);
    net_wipe(&read, sizeof read);
    all->count++;
    return true;
}

static bool is_name_of_master(const char *name, size_t size)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

    for (size_t i = 0; i < size; i++)
        if (!strchr(allowed, name[i])) return false;
    return size >= 1 && size <= REDLOCK_MASTER_NAME_MAX;
}

/* Reads a node's address, [login@]host[:port],.../name behind the scheme. */
static bool sentinel_add(struct redlock_client *c, unsigned node, const struct list_entry *entry,
                         struct net_error *error)
{
    struct redlock_watched *watched = &c->sentinels->watched[node];
    struct redlock_target *target = &c->targets[node];
    const char *text = entry->text, *begin = text + entry->head, *end = text + entry->size;
    const char *mark, *slash, *hosts = begin, *comma;

    REDLOCK_ASSERT(begin <= end);
    mark = (const char *)memchr(begin, '?', (size_t)(end - begin));
    if (mark)
        return sentinel_fail(error, (size_t)(mark - text),
                             "a master behind sentinels has no options");
    slash = (const char *)memchr(begin, '/', (size_t)(end - begin));
    if (!slash || !is_name_of_master(slash + 1, (size_t)(end - slash - 1)))
        return sentinel_fail(
            error, slash ? (size_t)(slash + 1 - text) : entry->size,
            "the master's name is missing, or not 1 to 64 letters, digits, '.', '-' or '_': "
            "sentinel://host,host,host/name");
    for (const char *at = begin; at < slash; at++)
        if (*at == '@') hosts = at + 1;
    *watched = (struct redlock_watched){ .first = (uint8_t)c->sentinels->count };
    for (const char *host = hosts; host <= slash; host = comma + 1) {
        comma = (const char *)memchr(host, ',', (size_t)(slash - host));
        if (!comma) comma = slash;
        if (!add_sentinel(c, node, entry, (size_t)(hosts - begin), (size_t)(host - text),
                          (size_t)(comma - host), error))
            return false;
        watched->count++;
    }
    memcpy(watched->name, slash + 1, (size_t)(end - slash - 1));
    target->is_secure = entry->is_secure;
    sentinel_append(target->address, sizeof target->address, "sentinel:");
    sentinel_append(target->address, sizeof target->address, watched->name);
    return true;
}

/* ---- Questions ---- */

static void put_text(struct redlock_sentinel *sentinel, const char *text)
{
    size_t room = sizeof sentinel->send;

    REDLOCK_ASSERT(strlen(sentinel->send) + strlen(text) < room);
    sentinel_append(sentinel->send, room, text);
}

static void put_argument(struct redlock_sentinel *sentinel, const char *text)
{
    put_text(sentinel, "$");
    sentinel_append_number(sentinel->send, sizeof sentinel->send, (unsigned)strlen(text));
    put_text(sentinel, "\r\n");
    put_text(sentinel, text);
    put_text(sentinel, "\r\n");
}

/* AUTH goes before the first question of a connection. */
static void put_login(struct redlock_sentinel *sentinel)
{
    const struct redlock_target *target = &sentinel->target;
    bool has_user = target->user[0] != '\0';

    if (target->password[0] == '\0') return;
    put_text(sentinel, has_user ? "*3\r\n" : "*2\r\n");
    put_argument(sentinel, "AUTH");
    if (has_user) put_argument(sentinel, target->user);
    put_argument(sentinel, target->password);
    sentinel->skipped = 1;
}

static uint64_t sentinel_timeout_us(const struct redlock_client *c)
{
    return c->name_wait_us;
}

/* S31: a question counts for all turns that were taken before it was written. */
static void put_question(const struct redlock_client *c, struct redlock_sentinel *sentinel,
                         uint64_t now_us)
{
    const struct redlock_watched *watched = &c->sentinels->watched[sentinel->node];

    sentinel->send_start = 0;
    sentinel->send[0] = '\0';
    if (!sentinel->has_asked) put_login(sentinel);
    put_text(sentinel, "*3\r\n");
    put_argument(sentinel, "SENTINEL");
    put_argument(sentinel, "MASTER");
    put_argument(sentinel, watched->name);
    sentinel->send_end = (uint16_t)strlen(sentinel->send);
    sentinel->has_asked = true;
    sentinel->asked_turn = watched->turn;
    sentinel->alarm_at = now_us + sentinel_timeout_us(c);
}

/* ---- Answers ---- */

static void give_up(struct redlock_sentinel *sentinel, const char *why)
{
    sentinel_copy(sentinel->error, sizeof sentinel->error, why);
    sentinel->state = SENTINEL_CLOSING;
}

static bool is_asked(const struct redlock_sentinel *sentinel)
{
    return sentinel->has_asked && sentinel->asked_turn > sentinel->answered_turn;
}

/* The address that it has named, as the client writes addresses. False: it is none. */
static bool take_master(struct redlock_sentinel *sentinel)
{
    const struct redlock_sentinel_answer *answer = &sentinel->answer;
    char text[REDLOCK_ADDRESS_MAX] = "";
    bool is_v6 = strchr(answer->host, ':') != NULL;
    struct net_address address;
    struct net_error error;

    sentinel_append(text, sizeof text, is_v6 ? "[" : "");
    sentinel_append(text, sizeof text, answer->host);
    sentinel_append(text, sizeof text, is_v6 ? "]:" : ":");
    sentinel_append(text, sizeof text, answer->port);
    if (!net_parse_address(text, strlen(text), REDLOCK_PORT, &address, &error) ||
        address.kind != NET_TCP)
        return false;
    net_format_address(&address, sentinel->master, sizeof sentinel->master);
    return true;
}

/* A number of digits alone, below 2^63. False: it is none. */
static bool take_epoch(struct redlock_sentinel *sentinel)
{
    const char *text = sentinel->answer.epoch;

    sentinel->epoch = 0;
    for (; *text >= '0' && *text <= '9' && sentinel->epoch < UINT64_MAX / 32; text++)
        sentinel->epoch = sentinel->epoch * 10 + (uint64_t)(*text - '0');
    return *text == '\0' && sentinel->answer.epoch[0] != '\0';
}

/* The answer is complete: without a host it knows no such master. */
static void end_answer(struct redlock_sentinel *sentinel)
{
    sentinel->master[0] = sentinel->error[0] = '\0';
    if (sentinel->answer.host[0] == '\0')
        sentinel_copy(sentinel->error, sizeof sentinel->error, "it knows no master of that name");
    else if (!take_master(sentinel) || !take_epoch(sentinel))
        give_up(sentinel, "its answer has no address, or no epoch");
    if (sentinel->state != SENTINEL_OPEN) return;
    sentinel->answered_turn = sentinel->asked_turn;
    sentinel->has_answered = true;
}

/* The first line of an answer. "-ERR No such master with that name" is sentinel.c of Redis 7.0. */
static void begin_answer(struct redlock_sentinel *sentinel, const char *line)
{
    unsigned count = 0;

    sentinel->answer = (struct redlock_sentinel_answer){ .lines_left = 0 };
    if (strncmp(line, "-ERR No such master", 19) == 0) {
        end_answer(sentinel);
    } else if (line[0] != '*') {
        give_up(sentinel, line[0] != '\0' ? line + 1 : "an empty answer");
    } else {
        while (*++line >= '0' && *line <= '9' && count < FIELDS_MAX)
            count = count * 10 + (unsigned)(*line - '0');
        if (count == 0 || count >= FIELDS_MAX)
            give_up(sentinel, "its answer has no fields, or too many");
        sentinel->answer.lines_left = (uint16_t)(2 * count);
    }
}

/* A further line: "$size" before each name of a field, and before its value. */
static void read_field(struct redlock_sentinel *sentinel, const char *line)
{
    static const char *const names[] = { "ip", "port", "config-epoch" };
    struct redlock_sentinel_answer *answer = &sentinel->answer;
    const struct { char *text; size_t room; } places[] = {
        { answer->host, sizeof answer->host }, { answer->port, sizeof answer->port },
        { answer->epoch, sizeof answer->epoch }
    };

    answer->lines_left--;
    if (answer->lines_left % 4 == 2) {
        for (answer->field = 0; answer->field < 3 && strcmp(names[answer->field], line) != 0;)
            answer->field++;
    } else if (answer->lines_left % 4 == 0 && answer->field < 3) {
        sentinel_copy(places[answer->field].text, places[answer->field].room, line);
    }
    if (answer->lines_left == 0) end_answer(sentinel);
}

static void read_login(struct redlock_sentinel *sentinel, const char *line)
{
    sentinel->skipped--;
    if (line[0] != '+') give_up(sentinel, line[0] != '\0' ? line + 1 : "an empty answer");
}

static void read_line(struct redlock_sentinel *sentinel, const char *line)
{
    if (sentinel->skipped > 0)                 read_login(sentinel, line);
    else if (sentinel->answer.lines_left > 0)  read_field(sentinel, line);
    else if (is_asked(sentinel))               begin_answer(sentinel, line);
    else                                       give_up(sentinel, "an answer that nobody asked for");
}

static void sentinel_received(struct redlock_client *c, unsigned k, size_t size)
{
    struct redlock_sentinel *sentinel = sentinel_of(c, k);
    const size_t room = sizeof sentinel->receive;
    size_t used = 0;

    sentinel->receive_end = (uint16_t)(sentinel->receive_end + size);
    REDLOCK_ASSERT(sentinel->receive_end <= room);
    while (sentinel->state == SENTINEL_OPEN) {
        char *line = sentinel->receive + used,
             *end = (char *)memchr(line, '\n', sentinel->receive_end - used);
        if (!end) break;
        used += (size_t)(end - line) + 1;
        if (end > line && end[-1] == '\r') end--;
        *end = '\0';
        read_line(sentinel, line);
    }
    sentinel->receive_end = (uint16_t)(sentinel->receive_end - used);
    memmove(sentinel->receive, sentinel->receive + used, sentinel->receive_end);
    if (sentinel->receive_end == room) give_up(sentinel, "its answer is too long");
}

/* ---- As a session of the client ---- */

/* Does a session wait for its answer to a question that was not asked yet? */
static bool is_wanted(const struct redlock_client *c, const struct redlock_sentinel *sentinel)
{
    unsigned nodes = c->engine.node_count;

    if (is_asked(sentinel)) return false;
    for (unsigned k = sentinel->node; k < c->engine.session_count; k += nodes)
        if (sentinel->answered_turn < c->sentinels->gates[k].turn) return true;
    return false;
}

static unsigned sentinel_wants(const struct redlock_client *c, unsigned k)
{
    const struct redlock_sentinel *sentinel = sentinel_of(c, k);

    switch (sentinel->state) {
    case SENTINEL_CONNECTING: return REDLOCK_WANT_CONNECT;
    case SENTINEL_OPEN:
        return REDLOCK_WANT_RECEIVE |
               (sentinel->send_start < sentinel->send_end ? REDLOCK_WANT_SEND : 0u);
    case SENTINEL_CLOSING:    return REDLOCK_WANT_CLOSE;
    default:                  return 0;
    }
}

static void sentinel_connected(struct redlock_client *c, unsigned k, uint64_t now_us)
{
    struct redlock_sentinel *sentinel = sentinel_of(c, k);

    REDLOCK_ASSERT(sentinel->state == SENTINEL_CONNECTING);
    sentinel->state = SENTINEL_OPEN;
    sentinel->has_asked = sentinel->has_answered = false;
    sentinel->send_start = sentinel->send_end = sentinel->receive_end = 0;
    sentinel->answer.lines_left = 0;
    if (is_wanted(c, sentinel)) put_question(c, sentinel, now_us);
}

static void sentinel_disconnected(struct redlock_client *c, unsigned k, const char *why,
                                  uint64_t now_us)
{
    struct redlock_sentinel *sentinel = sentinel_of(c, k);

    if (sentinel->state != SENTINEL_CLOSING)
        sentinel_copy(sentinel->error, sizeof sentinel->error,
                      why ? why : "it closed the connection");
    /* A good one may be back at once. */
    sentinel->alarm_at = sentinel->has_answered ? now_us : now_us + RETRY_US;
    sentinel->state = SENTINEL_AWAY;
    sentinel->has_asked = sentinel->has_answered = false;
}

static uint8_t *sentinel_input(struct redlock_client *c, unsigned k, size_t *room)
{
    struct redlock_sentinel *sentinel = sentinel_of(c, k);

    *room = sizeof sentinel->receive - sentinel->receive_end;
    return (uint8_t *)sentinel->receive + sentinel->receive_end;
}

static const uint8_t *sentinel_output(const struct redlock_client *c, unsigned k, size_t *size)
{
    const struct redlock_sentinel *sentinel = sentinel_of(c, k);

    *size = (size_t)(sentinel->send_end - sentinel->send_start);
    return (const uint8_t *)sentinel->send + sentinel->send_start;
}

static void sentinel_sent(struct redlock_client *c, unsigned k, size_t size)
{
    struct redlock_sentinel *sentinel = sentinel_of(c, k);

    sentinel->send_start = (uint16_t)(sentinel->send_start + size);
    REDLOCK_ASSERT(sentinel->send_start <= sentinel->send_end);
}

/* ---- Time ---- */

static bool has_alarm(const struct redlock_client *c, const struct redlock_sentinel *sentinel)
{
    return sentinel->state == SENTINEL_CONNECTING ||
           (sentinel->state == SENTINEL_OPEN && is_asked(sentinel)) ||
           (sentinel->state == SENTINEL_AWAY && is_wanted(c, sentinel));
}

static void sentinel_tick(struct redlock_client *c, uint64_t now_us)
{
    for (unsigned i = 0; i < c->sentinels->count; i++) {
        struct redlock_sentinel *sentinel = &c->sentinels->list[i];
        bool is_due = has_alarm(c, sentinel) && now_us >= sentinel->alarm_at;

        if (sentinel->state == SENTINEL_AWAY && is_due) {
            sentinel->state = SENTINEL_CONNECTING;
            sentinel->alarm_at = now_us + sentinel_timeout_us(c);
        } else if (is_due) {
            give_up(sentinel, sentinel->state == SENTINEL_OPEN
                                  ? "it does not answer"
                                  : UNCONNECTED);
        } else if (sentinel->state == SENTINEL_OPEN && is_wanted(c, sentinel)) {
            put_question(c, sentinel, now_us);
        }
    }
}

static uint64_t sentinel_wake_at(const struct redlock_client *c)
{
    uint64_t at = REDLOCK_NEVER;

    for (unsigned i = 0; i < c->sentinels->count; i++)
        if (has_alarm(c, &c->sentinels->list[i])) at = sooner(at, c->sentinels->list[i].alarm_at);
    for (unsigned k = 0; k < c->engine.session_count; k++)
        if (c->sentinels->gates[k].turn > 0) at = sooner(at, c->sentinels->gates[k].late_at);
    return at;
}

/* ---- Gates ---- */

/* Its answer is to a question of this turn or later. */
static bool has_named(const struct redlock_sentinel *sentinel, uint64_t turn)
{
    return sentinel->answered_turn >= turn && sentinel->master[0] != '\0';
}

/* S31: one of the majority that has named the same master, by the same failover, in answers to
 * questions of this turn or later. NULL: there is none so far. */
static const struct redlock_sentinel *named_by_majority(const struct redlock_client *c,
                                                        const struct redlock_watched *watched,
                                                        uint64_t turn)
{
    const struct redlock_sentinel *list = &c->sentinels->list[watched->first];

    REDLOCK_ASSERT(watched->count > 0 && turn > 0);
    for (unsigned i = 0; i < watched->count; i++) {
        unsigned votes = 0;
        for (unsigned j = 0; j < watched->count; j++)
            votes += has_named(&list[j], turn) && list[j].epoch == list[i].epoch &&
                     strcmp(list[j].master, list[i].master) == 0;
        if (votes >= redlock_quorum(watched->count)) return &list[i];
    }
    return NULL;
}

static const char *words_about(const struct redlock_sentinel *sentinel)
{
    if (sentinel->error[0] != '\0') return sentinel->error;
    return sentinel->state == SENTINEL_CONNECTING ? UNCONNECTED : "no answer";
}

/* Why there is no majority, with the trouble that most sentinels have; of as many, an error
 * rather than silence. One may need somebody to mend it, while the others are only restarting. */
static void explain_no_majority(const struct redlock_client *c,
                                const struct redlock_watched *watched, uint64_t turn, char *text,
                                size_t room)
{
    const struct redlock_sentinel *list = &c->sentinels->list[watched->first], *trouble = NULL;
    unsigned naming = 0, most = 0;

    for (unsigned i = 0; i < watched->count; i++) {
        unsigned weight = list[i].error[0] != '\0';
        if (has_named(&list[i], turn)) {
            naming++;
            continue;
        }
        for (unsigned j = i; j < watched->count; j++)
            if (!has_named(&list[j], turn) && strcmp(list[j].error, list[i].error) == 0)
                weight += 2;
        if (weight <= most) continue;
        trouble = &list[i];
        most = weight;
    }
    text[0] = '\0';
    sentinel_append_number(text, room, naming);
    sentinel_append(text, room, " of ");
    sentinel_append_number(text, room, watched->count);
    sentinel_append(text, room,
                    trouble ? " sentinels name a master; "
                            : " sentinels name masters, but no quorum the same");
    if (!trouble) return;
    sentinel_append(text, room, trouble->target.address);
    sentinel_append(text, room, ": ");
    sentinel_append(text, room, words_about(trouble));
}

static void note_master(struct redlock_client *c, unsigned node, struct redlock_watched *watched,
                        const struct redlock_sentinel *named)
{
    if (watched->epoch == named->epoch && strcmp(watched->master, named->master) == 0) return;
    sentinel_copy(watched->master, sizeof watched->master, named->master);
    watched->epoch = named->epoch;
    watched->number++;
    redlock_set_epoch(&c->sentinels->promotions, node, named->epoch);
}

static void close_gate(struct redlock_client *c, unsigned k, uint64_t now_us)
{
    struct redlock_gate *gate = &c->sentinels->gates[k];

    gate->late_at = now_us + sentinel_timeout_us(c);
    gate->turn = ++watched_of(c, k)->turn;
}

/* S31: answers of the master are read when the gate is open, and commands go out then. */
static void sentinel_wrote(struct redlock_client *c, unsigned k)
{
    if (watched_of(c, k)) close_gate(c, k, redlock_now_us());
}

/* Session k is to be connected. */
static bool sentinel_asks_first(struct redlock_client *c, unsigned k, uint64_t now_us)
{
    if (!watched_of(c, k)) return false;
    close_gate(c, k, now_us);
    return true;
}

static enum sentinel_verdict end_because(char *why, size_t room, const char *text)
{
    sentinel_copy(why, room, text);
    return SENTINELS_END;
}

static enum sentinel_verdict judge_gate(struct redlock_client *c, unsigned k, bool is_connected,
                                        uint64_t now_us, char *why, size_t room)
{
    struct redlock_watched *watched = watched_of(c, k);
    struct redlock_gate *gate = &c->sentinels->gates[k];
    const struct redlock_sentinel *named =
        gate->turn > 0 ? named_by_majority(c, watched, gate->turn) : NULL;

    if (named) note_master(c, k % c->engine.node_count, watched, named);
    if (is_connected && gate->number != watched->number)
        return end_because(why, room, "the sentinels name another master");
    if (named) {
        gate->turn = 0;
        gate->number = watched->number;
        return is_connected ? SENTINELS_READ : SENTINELS_GO_ON;
    }
    if (gate->turn == 0 || now_us < gate->late_at) return SENTINELS_NOTHING;
    explain_no_majority(c, watched, gate->turn, why, room);
    return SENTINELS_END;
}

static enum sentinel_verdict sentinel_judge(struct redlock_client *c, unsigned k, bool is_connected,
                                            bool asks, uint64_t now_us, char *why, size_t room)
{
    REDLOCK_ASSERT(!(is_connected && asks));
    if (!watched_of(c, k)) return SENTINELS_NOTHING;
    if (is_connected || asks) return judge_gate(c, k, is_connected, now_us, why, room);
    c->sentinels->gates[k].turn = 0;    /* The engine has given the connection up. */
    return SENTINELS_NOTHING;
}

static const char *sentinel_blame(const struct redlock_client *c, unsigned k, const char *why,
                                  char *text, size_t room)
{
    const struct redlock_watched *watched = watched_of(c, k);

    if (!watched || !why) return why;
    sentinel_copy(text, room, "its master ");
    sentinel_append(text, room, watched->master);
    sentinel_append(text, room, ": ");
    sentinel_append(text, room, why);
    return text;
}

static void sentinel_begin(struct redlock_client *c)
{
    const struct redlock_sentinel_calls *calls = c->sentinels->calls;

    memset(c->sentinels, 0, sizeof *c->sentinels);
    c->sentinels->calls = calls;
}

static const struct redlock_sentinel_calls sentinel_calls = {
    .begin = sentinel_begin, .add = sentinel_add, .wants = sentinel_wants,
    .connected = sentinel_connected, .disconnected = sentinel_disconnected, .input = sentinel_input,
    .received = sentinel_received, .output = sentinel_output, .sent = sentinel_sent,
    .tick = sentinel_tick, .wake_at = sentinel_wake_at, .asks_first = sentinel_asks_first,
    .wrote = sentinel_wrote, .judge = sentinel_judge, .blame = sentinel_blame
};

void redlock_use_sentinels(struct redlock_options *options, struct redlock_sentinels *sentinels)
{
    sentinels->calls = &sentinel_calls;
    options->sentinels = sentinels;
}
