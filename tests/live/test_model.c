/* The model of redis-server that the tests in virtual time believe, held against a real one. Both
 * get the same random commands, whatever the engine can send and more, in every trouble that the
 * model knows, and must give the same replies, byte for byte.
 *
 * The exceptions:
 *   PTTL           The two read their clocks one after the other: the same within "blur", the
 *                  slowest exchange of the round.
 *   INFO           As the engine reads it: run_id is there; the uptime, the mode and the history
 *                  that was taken over are the same.
 *   PROMOTION      The age of the reign, likewise.
 *   ACQUIRE, WAIT  The PTTL that they tell, likewise; and of an AHEAD or BEHIND, the seconds of the
 *                  clock. So of a poll.
 *   errors         Of a server that is not of version 7.0: the code, and what the engine reads in
 *                  it. Later versions, and Valkey, have other words for the rest.
 *   DEL, FLUSHALL, SCRIPT FLUSH, and other commands of strangers: the model takes them for a bug of
 *   the engine. They are sent
 *                  to the server only, and done to the model by hand.
 * These are left out: an ACL that hides keys or channels by name; a command of more than ten words
 * before the login, at which a server hangs up; commands other than SUBSCRIBE on a connection that
 * has subscribed; scripts and options of SET that the engine does not send.
 *
 * Keys run out by the server's clock and by the model's, so the model is told what the clock was
 * when the command was sent. No command about a key is sent while that key is about to end. If a
 * slow machine makes it uncertain all the same, the round is cut short and another one begins.
 *
 * When a round ends, the messages are compared that subscriptions of both have heard, and, if it
 * was without trouble, all keys: their types, values, members, scores and ends. (A command may
 * answer right and leave something wrong.)
 *
 * Each test names the kinds of replies that it must have seen, and how often, since two that are
 * silent agree as well. */
#define _XOPEN_SOURCE 700

#include "../../redlock/unity_core.c"
#include "../world/decoder.c"
#include "../world/model_bytes.c"
#include "../world/model_commands.c"
#include "../world/model_keys.c"
#include "../world/model_script_calls.c"
#include "../world/model_script_fair.c"
#include "../world/model_script_locks.c"
#include "../world/model_script_marks.c"
#include "../world/model_script_permits.c"
#include "../world/model_script_redisson.c"
#include "../world/model_script_shared.c"
#include "../world/model_scripts.c"
#include "../world/model_session.c"
#include "../world/model_slots.c"
#include "../tap.h"
#include "servers.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

enum {
    PLAIN_COMMANDS = 5000,      /* Commands of each seed, to a server without trouble. */
    TROUBLE_COMMANDS = 2500,    /* Commands in each trouble. */
    ROUND_COMMANDS = 130,       /* Then the keys are others and the connections new. */
    LINES = 3,
    SUBSCRIPTIONS = 2,
    NAMES = 16,
    PERMITS = 3,
    SET_MAX = 4,                /* Names of one command, */
    /* and keys. Each name has the resource's, its counter, its waiters, their flag and its mark. */
    TOUCHED_MAX = 5 * SET_MAX,
    FAIR_NAMES = 2,             /* Names of fair locks, */
    SHARED_NAMES = 3,           /* and of those that are read and written. */
    TOKENS = 4,
    REQUEST_MAX = 4096,
    REPLY_MAX = 8192,
    KIND_MAX = 96,
    ANSWER_S = 20,
    /* Blur of the quickest exchange, for two clocks in whole milliseconds, and a margin. */
    BLUR_MS = 3,
    SHORT_MS = 60,              /* Keys that run out within a round. */
    LONG_MS = 100000            /* Keys that do not, up to twice as long. */
};

/* A kind of reply, "what was sent, how the reply begins", and how often it must be seen. */
struct kind {
    const char *begins;
    unsigned least, times;
};

/* A connection to each of the two. */
struct line {
    int fd;
    struct model_session session;
};

struct request {
    uint8_t bytes[REQUEST_MAX];
    size_t size;
    const char *label;
    struct slice keys[TOUCHED_MAX]; /* The keys that it is about. */
    unsigned key_count;
    int64_t extends_ms;         /* 0: it does not. */
    bool has_leases;            /* Some of the keys are sets with members that end. */
};

/* The fault of both of them during a round. NULL: nothing has to be done. */
struct trouble {
    void (*begin)(void);
    void (*end)(void);
    const char *config;
    bool logs_in;               /* At the beginning of a connection. */
    bool keyless;               /* It would take no keys, nor give them up. */
    bool listens_first;         /* Redis 8.6 refuses a subscription while it is out of memory. */
    unsigned commands, round_commands;  /* 0: as many as of others. */
};

static struct server server;
static struct model_node node;
static struct line lines[LINES], subscriptions[SUBSCRIPTIONS], admin;
static struct redlock_login login;      /* The one that is right. */
static const struct trouble *trouble;
static struct kind *wanted;
static uint64_t blur_ms, dice_state;
static unsigned sent, cut_rounds;
static bool round_over;

/* ---- Dice ---- */

static uint32_t dice(uint32_t sides)
{
    dice_state ^= dice_state << 13;     /* xorshift64 */
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return (uint32_t)(dice_state >> 32) % sides;
}

static void begin_seed(uint64_t seed)
{
    printf("# seed %llu\n", (unsigned long long)seed);
    dice_state = seed * 0x9E3779B97F4A7C15u | 1;
    for (unsigned i = 0; i < 8; i++) dice(2);
}

/* $MODEL_SEED, to see a failure again; or one that nobody has seen. */
static uint64_t fresh_seed(void)
{
    const char *given = getenv("MODEL_SEED");
    return given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 100000 + (uint64_t)getpid();
}

/* ---- What there is to talk about ---- */

static struct slice name_of(uint32_t number)
{
    static const char *const texts[] = {
        "a", "", "b c", "{door}:1", "'quoted'", "*3\r\n$3\r\n", "\xff\xfe\x80", "%s%n", "a#ticket",
        "a#waiters", "a:1", "a:2"
    };
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    static uint8_t longest[NAMES][REDLOCK_RESOURCE_MAX];
    if (number < TEXTS) return slice_of(texts[number]);
    memset(longest[number], 'x', REDLOCK_RESOURCE_MAX);
    /* Zeros among them. */
    for (uint32_t i = 0; i <= number; i++) longest[number][i * 17] = (uint8_t)i;
    return (struct slice){ longest[number], number == TEXTS ? REDLOCK_RESOURCE_MAX : number * 9 };
}

static struct slice any_name(void)
{
    return name_of(dice(NAMES));
}

/* The name and the suffix. Static, one for each number below TOUCHED_MAX. */
static struct slice name_with_suffix(struct slice name, const char *suffix, unsigned number)
{
    static uint8_t bytes[TOUCHED_MAX][REDLOCK_RESOURCE_MAX + 24];
    memcpy(bytes[number], name.data, name.size);
    memcpy(bytes[number] + name.size, suffix, strlen(suffix));
    return (struct slice){ bytes[number], name.size + strlen(suffix) };
}

static const uint8_t *any_token(void)
{
    static uint8_t tokens[TOKENS][REDLOCK_TOKEN_SIZE];
    const uint32_t number = dice(TOKENS);
    memset(tokens[number], (int)(0x1f + 0x33 * number), REDLOCK_TOKEN_SIZE);
    return tokens[number];
}

/* The value of a key that somebody put there. It may be ours, nearly ours, or others'. */
static struct slice any_value(char text[64])
{
    static const char *const others[] = {
        "", "x", "0123456789", "NX\r\n\xff", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
    };
    const uint32_t number = dice(20);
    if (number < 5) return slice_of(others[number]);
    memset(text, 'f', 64);
    wire_token_text(any_token(), text);
    return (struct slice){ (uint8_t *)text, number == 5   ? 41
                                            : number == 6 ? 39
                                            : number == 7 ? 64
                                                          : 40 };
}

static uint32_t any_ttl_ms(void)
{
    switch (dice(8)) {
    case 0:  return 1 + dice(5);
    case 1:
    case 2:  return SHORT_MS / 2 + dice(SHORT_MS);
    case 3:  return REDLOCK_TTL_MS_MAX;
    default: return LONG_MS + dice(LONG_MS);
    }
}

/* Far from the time that a key has left, where it matters whether it is more, see put_key. */
static uint32_t any_extension_ms(void)
{
    switch (dice(4)) {
    case 0:  return 1 + dice(1000);
    case 1:  return SHORT_MS;
    case 2:  return REDLOCK_TTL_MS_MAX;
    default: return 3 * LONG_MS + dice(LONG_MS);
    }
}

/* ---- Clocks and ends ---- */

/* The clock by which a server lets keys end. */
static uint64_t server_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void note_duration(uint64_t from_us, uint64_t to_us)
{
    const uint64_t blur = BLUR_MS + (to_us - from_us) / 1000;
    if (blur > blur_ms) blur_ms = blur;
}

/* A key of the model, also one that has ended. */
static const struct model_key *key_seen(uint32_t database, struct slice name)
{
    const uint32_t hash = hash_of(database, name.data, name.size);
    for (size_t i = 0; i < node.key_count; i++) {
        const struct model_key *key = &node.keys[i];
        if (key->hash == hash && key->database == database && key->name_size == name.size &&
            memcmp(key->name, name.data, name.size) == 0)
            return key;
    }
    return NULL;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Does the key end between two moments, or so near to them that the server and the model may
 * rightly differ? */
static bool ends_about(const struct model_key *key, uint64_t from_us, uint64_t to_us)
{
    return key && key->expires_ms > 0 && ms_of(from_us) <= key->expires_ms + blur_ms &&
           key->expires_ms <= ms_of(to_us) + blur_ms;
}

/* Has the key just as much left as it is to get? If only one of the two may write, they
 * may rightly differ. */
static bool is_close_call(const struct model_key *key, int64_t extends_ms, uint64_t now_us)
{
    return key && key->expires_ms > 0 && trouble && extends_ms > 0 &&
           distance(key->expires_ms, ms_of(now_us) + (uint64_t)extends_ms) <= blur_ms;
}

static void touch(struct request *request, struct slice key)
{
    request->keys[request->key_count++] = key;
}

/* Do any of a set of leases end about that time? No key does. */
static bool leases_end_about(const struct model_key *key, uint64_t now_us)
{
    for (size_t i = 0; key && i < key->entry_count; i++)
        if (distance(key->entries[i].score, ms_of(now_us)) <= 2 * blur_ms + 1) return true;
    return false;
}

/* Does any of the request's keys end about that time? *awaited: one that does. */
static bool any_ends_about(const struct line *line, const struct request *request, uint64_t from_us,
                           uint64_t to_us, const struct model_key **awaited)
{
    for (unsigned i = 0; i < request->key_count; i++) {
        *awaited = key_seen(line->session.database, request->keys[i]);
        if (ends_about(*awaited, from_us, to_us)) return true;
    }
    return false;
}

static bool any_is_close_call(const struct line *line, const struct request *request,
                              uint64_t now_us)
{
    for (unsigned i = 0; i < request->key_count; i++)
        if (is_close_call(key_seen(line->session.database, request->keys[i]), request->extends_ms,
                          now_us))
            return true;
    for (unsigned i = 0; i < request->key_count && request->has_leases; i++)
        if (leases_end_about(key_seen(line->session.database, request->keys[i]), now_us))
            return true;
    return false;
}

static void await_end(const struct model_key *key)
{
    const uint64_t until = key->expires_ms + 2 * blur_ms + 1, now = ms_of(server_us());
    if (until > now) nap_ms((unsigned)(until - now));
}

/* ---- Connections ---- */

static int connect_server(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval limit = { .tv_sec = ANSWER_S };
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(address.sun_path, server.socket, sizeof server.socket);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        bail_out("no connection to the server");
    return fd;
}

/* Bytes of the first reply, or 0 while there is no whole one. */
static size_t reply_size(const uint8_t *data, size_t size)
{
    static const struct resp_limits reply_limits = {
        .line_max = 1024, .bulk_max = REPLY_MAX, .elements_max = 16, .depth_max = 3
    };
    struct resp_parser parser;
    struct resp_item item = { .ends_reply = false };
    size_t at = 0, consumed;
    resp_parser_init(&parser, &reply_limits);
    while (!item.ends_reply) {
        if (resp_parse(&parser, data + at, size - at, false, &consumed, &item) != RESP_OK) return 0;
        at += consumed;
    }
    return at;
}

static struct slice ask_server(int fd, const struct request *request)
{
    static uint8_t reply[REPLY_MAX];
    size_t have = 0;
    if (send(fd, request->bytes, request->size, MSG_NOSIGNAL) != (ssize_t)request->size)
        bail_out("cannot send");
    while (have == 0 || reply_size(reply, have) != have) {
        const ssize_t got = recv(fd, reply + have, sizeof reply - have, 0);
        if (got <= 0) bail_out("no answer to %s", request->label);
        have += (size_t)got;
    }
    return (struct slice){ reply, have };
}

/* The request arrives in two pieces, cut anywhere. */
static struct slice ask_model(struct line *line, const struct request *request, uint64_t now_us)
{
    const size_t first = dice((uint32_t)request->size + 1);
    line->session.out.size = 0;
    model_session_receive(&node, &line->session, request->bytes, first, now_us);
    model_session_receive(&node, &line->session, request->bytes + first, request->size - first,
                          now_us);
    return (struct slice){ line->session.out.data, line->session.out.size };
}

/* ---- Comparing ---- */

/* The server is not of the version whose errors the model has word for word, 7.0. */
static bool other_words;

/* The beginning, up to the end of so many lines. */
static struct slice first_lines(struct slice reply, unsigned count)
{
    size_t at = 0;
    while (at < reply.size && count > 0) count -= reply.data[at++] == '\n';
    return (struct slice){ reply.data, at };
}

static bool same_ttl(struct slice a, struct slice b)
{
    const int64_t left_a = strtoll((const char *)a.data + 1, NULL, 10);
    const int64_t left_b = strtoll((const char *)b.data + 1, NULL, 10);
    return a.data[0] == b.data[0] && left_a >= 0 && left_b >= 0 &&
           distance((uint64_t)left_a, (uint64_t)left_b) <= blur_ms;
}

static struct redlock_identity identity_of(struct slice info)
{
    struct redlock_identity identity = { 0 };
    for (size_t at = 0, end; at < info.size; at = end + 1) {
        for (end = at; end < info.size && info.data[end] != '\n';) end++;
        if (end > at) wire_read_info((const char *)info.data + at, end - at - 1, &identity);
    }
    return identity;
}

static bool same_identity(struct slice a, struct slice b)
{
    const struct redlock_identity one = identity_of(a), other = identity_of(b);
    return one.has_run_id && other.has_run_id && one.history == other.history && one.has_mode &&
           other.has_mode && one.trouble == other.trouble &&
           distance(one.uptime_s, other.uptime_s) <= 2 + blur_ms / 1000;
}

static const uint8_t *last_blank(const uint8_t *data, size_t size)
{
    while (size > 0 && data[size - 1] != ' ') size--;
    return size > 0 ? data + size - 1 : NULL;
}

/* "$11\r\n1234 99999\r\n": the same counter; the PTTL may differ. */
static bool same_refusal(struct slice a, struct slice b)
{
    const size_t head_a = first_lines(a, 1).size, head_b = first_lines(b, 1).size;
    const uint8_t *blank_a = last_blank(a.data + head_a, a.size - head_a);
    const uint8_t *blank_b = last_blank(b.data + head_b, b.size - head_b);
    if (!blank_a || !blank_b) return false;
    const struct slice counter_a = { a.data + head_a, (size_t)(blank_a - a.data) - head_a };
    const struct slice counter_b = { b.data + head_b, (size_t)(blank_b - b.data) - head_b };
    return slices_equal(counter_a, counter_b) &&
           same_ttl((struct slice){ blank_a, (size_t)(a.data + a.size - blank_a) },
                    (struct slice){ blank_b, (size_t)(b.data + b.size - blank_b) });
}

/* "$16\r\n1234 99999 12 0\r\n" has the same last two words, after a refusal. */
static bool same_poll(struct slice a, struct slice b)
{
    const uint8_t *place_a = last_blank(a.data, a.size), *place_b = last_blank(b.data, b.size);
    if (place_a) place_a = last_blank(a.data, (size_t)(place_a - a.data));
    if (place_b) place_b = last_blank(b.data, (size_t)(place_b - b.data));
    if (!place_a || !place_b) return false;
    const struct slice refusal_a = { a.data, (size_t)(place_a - a.data) },
                       refusal_b = { b.data, (size_t)(place_b - b.data) };
    return slices_equal((struct slice){ place_a, a.size - refusal_a.size },
                        (struct slice){ place_b, b.size - refusal_b.size }) &&
           same_refusal(refusal_a, refusal_b);
}

static bool same_off_clock(struct slice a, struct slice b)
{
    static const char *const begins[] = {
        "-AHEAD of the clock of this node: ", "-BEHIND the clock of this node: "
    };
    for (unsigned i = 0; i < 2; i++) {
        const size_t size = strlen(begins[i]);
        if (a.size < size || b.size < size) continue;
        if (memcmp(a.data, begins[i], size) != 0 || memcmp(b.data, begins[i], size) != 0) continue;
        return distance(strtoull((const char *)a.data + size, NULL, 10),
                        strtoull((const char *)b.data + size, NULL, 10)) <= 1 + blur_ms / 1000;
    }
    return false;
}

/* Compares two replies that are no errors. */
static bool same_but_for_exceptions(const char *label, struct slice a, struct slice b)
{
    if (strstr(label, "acquire")) return same_refusal(a, b);
    if (strstr(label, "poll")) return same_poll(a, b);
    if (strstr(label, "wait") || strstr(label, "reign")) return same_ttl(a, b);
    if (strcmp(label, "PTTL") == 0) return same_ttl(a, b);
    if (strcmp(label, "INFO") == 0) return same_identity(a, b);
    return false;
}

/* Up to the first blank. */
static struct slice first_word(struct slice reply)
{
    const uint8_t *blank = memchr(reply.data, ' ', reply.size);
    return (struct slice){ reply.data, blank ? (size_t)(blank - reply.data) : reply.size };
}

static bool slice_begins(struct slice text, const char *with)
{
    return text.size >= strlen(with) && memcmp(text.data, with, strlen(with)) == 0;
}

/* Of two things that are wrong Valkey 9.1 finds the login before an unknown command, and it and
 * Redis 8.6 the slots of keys before a cluster that is down. While a script runs, Valkey lets
 * CLIENT and SELECT through. */
static bool same_but_for_order(const char *label, struct slice real, struct slice model)
{
    if (slice_begins(real, "-NOAUTH "))    return slice_begins(model, "-ERR ");
    if (slice_begins(real, "-CROSSSLOT ")) return slice_begins(model, "-CLUSTERDOWN ");
    return slice_begins(model, "-BUSY ") &&
           (strcmp(label, "CLIENT") == 0 || strcmp(label, "SELECT") == 0);
}

/* Other versions word their errors differently. The code is the same, and so is the engine's
 * reading of it; the words of our own scripts are nobody else's. */
static bool same_trouble(struct slice a, struct slice b)
{
    if (!other_words || a.data[0] != '-' || b.size < 1 ||
        !slices_equal(first_word(a), first_word(b)))
        return false;
    const enum redlock_trouble read = wire_trouble((const char *)a.data + 1, a.size - 1);
    return read == wire_trouble((const char *)b.data + 1, b.size - 1) &&
           read != REDLOCK_TROUBLE_AHEAD;
}

static bool same_reply(const char *label, struct slice real, struct slice model)
{
    if (slices_equal(real, model) || same_off_clock(real, model) || same_trouble(real, model))
        return true;
    if (other_words && same_but_for_order(label, real, model)) return true;
    return model.size > 0 && reply_size(model.data, model.size) == model.size &&
           real.data[0] != '-' && model.data[0] == real.data[0] &&
           same_but_for_exceptions(label, real, model);
}

/* The kind of a reply is its first line without any time that nobody can foretell. */
static void count_kind(const char *label, struct slice reply, bool ended)
{
    char text[KIND_MAX];
    const bool is_time = (strcmp(label, "PTTL") == 0 || strstr(label, "wait")) &&
                         reply.data[0] == ':' && reply.data[1] != '-';
    const int line = (int)first_lines(reply, 1).size - 2;
    snprintf(text, sizeof text, "%s%s %.*s", ended ? "ended: " : "", label, is_time ? 3 : line,
             is_time ? ":ms" : (const char *)reply.data);
    for (struct kind *kind = wanted; kind->begins; kind++)
        kind->times += strncmp(text, kind->begins, strlen(kind->begins)) == 0;
}

/* If it is uncertain which reply is right, nothing is compared, and the round is over, since the
 * two may have different keys now. */
static void exchange(struct line *line, const struct request *request)
{
    const struct model_key *key;
    while (any_ends_about(line, request, server_us(), server_us(), &key)) await_end(key);
    const uint64_t from_us = server_us();
    const struct slice real = ask_server(line->fd, request);
    const uint64_t to_us = server_us();
    note_duration(from_us, to_us);
    round_over = any_ends_about(line, request, from_us, to_us, &key) ||
                 any_is_close_call(line, request, from_us);
    if (round_over) return;
    key = request->key_count > 0 ? key_seen(line->session.database, request->keys[0]) : NULL;
    const bool ended = key && key->expires_ms > 0 && key->expires_ms < ms_of(from_us);
    const struct slice model = ask_model(line, request, from_us);
    sent++;
    TAP_CONTEXT("%s, command %u: the model's reply, not the server's", request->label, sent);
    if (!same_reply(request->label, real, model))
        CHECK_MEM(model.data, model.size, real.data, real.size);
    count_kind(request->label, model, ended);
}

/* ---- What is sent ---- */

static struct resp_writer begin_request(struct request *request, const char *label)
{
    struct resp_writer writer;
    *request = (struct request){ .label = label };
    resp_write_begin(&writer, request->bytes, sizeof request->bytes, 0);
    return writer;
}

/* A script that lies apart is put between the bytes where it belongs. */
static void end_request(struct request *request, const struct resp_writer *writer)
{
    request->size = writer->used + (writer->apart ? writer->apart_size : 0);
    if (request->size == 0 || request->size > sizeof request->bytes)
        bail_out("%s does not fit", request->label);
    if (!writer->apart) return;
    memmove(request->bytes + writer->apart_at + writer->apart_size,
            request->bytes + writer->apart_at, writer->used - writer->apart_at);
    memcpy(request->bytes + writer->apart_at, writer->apart, writer->apart_size);
}

/* Two have subscriptions, the third has gone. */
static const uint8_t engines[SUBSCRIPTIONS + 1][REDLOCK_NAME_SIZE] = {
    { 1, 2, 3, 4, 5, 6, 7, 8 }, { 0xff, 0, 0xaa, 9, 9, 9, 9, 0x10 }, { 7, 7, 7, 7, 7, 7, 7, 7 }
};

/* Some names, each once, and the keys that a command about them may touch. */
static unsigned draw_names(struct request *request, struct redlock_name names[SET_MAX],
                           unsigned count)
{
    const uint32_t first = dice(NAMES);
    for (unsigned i = 0; i < count; i++) {
        const struct slice name = name_of((first + i) % NAMES);
        names[i] = (struct redlock_name){ .bytes = name.data, .size = name.size };
        touch(request, name);
        touch(request, name_with_suffix(name, "#ticket", request->key_count));
        touch(request, name_with_suffix(name, "#waiters", request->key_count));
        touch(request, name_with_suffix(name, "#waiters#waiters", request->key_count));
        touch(request, name_with_suffix(name, "#done", request->key_count));
    }
    return count;
}

/* None; small ones; and some that are well before, within and beyond the range that a
 * node's clock allows. */
static uint64_t any_ticket(uint32_t skew_ms)
{
    const uint64_t now_us = server_us(), skew_us = (uint64_t)skew_ms * 1000;
    switch (dice(6)) {
    case 0:  return 0;
    case 1:  return 1 + dice(9);
    case 2:  return now_us - dice(1000000);
    case 3:  return now_us + skew_us + 60000000;
    case 4:  return WIRE_TICKET_MAX - dice(3);
    default: return now_us + skew_us - 60000000;
    }
}

/* One of the rows for a command; those for one resource alone where there is one. */
static enum row any_row(enum redlock_command command, bool is_script, bool is_one)
{
    switch (command) {
    case REDLOCK_COMMAND_ACQUIRE:  return is_script ? ROW_ACQUIRE : ROW_SET;
    case REDLOCK_COMMAND_RESTORE:  return ROW_RESTORE;
    case REDLOCK_COMMAND_EXTEND:   return is_one && dice(4) == 0 ? ROW_EXTEND_ONE : ROW_EXTEND;
    case REDLOCK_COMMAND_RELEASE:
        return dice(2) == 0 ? ROW_WAKE : is_one && dice(3) == 0 ? ROW_RELEASE_ONE : ROW_RELEASE;
    case REDLOCK_COMMAND_WAIT:     return ROW_WAIT;
    case REDLOCK_COMMAND_GETRANGE: return ROW_GETRANGE;
    default:            return ROW_PTTL;
    }
}

/* A command of a lock, as the engine writes it; every other time with the token that is there. */
static void lock_request(struct request *request, enum redlock_command command, const char *label,
                         const struct line *line)
{
    static const uint32_t skews_ms[] = { 1, REDLOCK_SKEW_MS, REDLOCK_SKEW_MS_MAX };
    const bool is_script = strncmp(label, "EVAL", 4) == 0;
    uint8_t token[REDLOCK_TOKEN_SIZE];
    struct redlock_name names[SET_MAX];
    struct wire_subject subject = { .names = names, .token = token, .placed = token };
    struct resp_writer writer = begin_request(request, label);
    const bool is_set = is_script && line->session.logged_in && dice(3) == 0;
    subject.name_count = draw_names(request, names, is_set ? 1 + dice(SET_MAX) : 1);
    const struct model_key *key = key_seen(line->session.database, request->keys[0]);
    if (!key || dice(2) == 0 || !wire_token_read((const char *)key->value, key->value_size, token))
        memcpy(token, any_token(), sizeof token);
    subject.ttl_ms = command == REDLOCK_COMMAND_EXTEND ? any_extension_ms() : any_ttl_ms();
    subject.skew_ms = skews_ms[dice(3)];
    subject.ticket = any_ticket(subject.skew_ms);
    subject.life_ms = any_ttl_ms();
    subject.engine = engines[dice(SUBSCRIPTIONS + 1)];
    subject.wait_number = command == REDLOCK_COMMAND_WAIT || dice(4) == 0 ? 1 + dice(12) : 0;
    subject.arrived_at = dice(2) == 0 ? dice(3) : server_us();
    const struct wire_row *row = row_at(any_row(command, is_script, subject.name_count == 1)).row;
    (void)send_encode(&writer, row,
                      wire_form_of(row, strncmp(label, "EVAL ", 5) == 0 ? REDLOCK_FORM_BY_TEXT
                                                                        : REDLOCK_FORM_BY_SHA1),
                      &subject);
    request->extends_ms = command == REDLOCK_COMMAND_EXTEND ? subject.ttl_ms : 0;
    end_request(request, &writer);
}

/* Permits of "a", whose first slots others lock as well. */
static struct redlock_name draw_permits(struct request *request)
{
    static const char *const suffixes[] = {
        ":1", ":1#ticket", ":2", ":2#ticket", ":3", ":3#ticket", ":#waiters", ":#waiters#waiters"
    };
    const struct slice name = slice_of("a");
    for (unsigned i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        touch(request, name_with_suffix(name, suffixes[i], request->key_count));
    return (struct redlock_name){ .bytes = name.data, .size = name.size };
}

/* A command about one of several permits. */
static void permit_request(struct request *request)
{
    static const struct { const char *name; enum row row; } commands[] = {
        { "permit acquire", ROW_PERMIT_ACQUIRE }, { "permit acquire", ROW_PERMIT_ACQUIRE },
        { "permit restore", ROW_PERMIT_RESTORE }, { "permit extend", ROW_PERMIT_EXTEND },
        { "permit release", ROW_PERMIT_WAKE }, { "permit release", ROW_PERMIT_RELEASE },
        { "permit wait", ROW_PERMIT_WAIT },
    };
    static char label[32];
    const unsigned number = dice(sizeof commands / sizeof commands[0]), is_text = dice(2);
    const struct wire_row *row = row_at(commands[number].row).row;
    snprintf(label, sizeof label, "%s %s", is_text ? "EVAL" : "EVALSHA", commands[number].name);
    struct resp_writer writer = begin_request(request, label);
    const struct redlock_name name = draw_permits(request);
    const bool needs_slot =
        commands[number].row == ROW_PERMIT_RESTORE || commands[number].row == ROW_PERMIT_EXTEND;
    const uint8_t *const token = any_token();
    struct wire_subject subject = {
        .names = &name, .name_count = 1, .token = token, .placed = token, .life_ms = any_ttl_ms(),
        .skew_ms = REDLOCK_SKEW_MS, .engine = engines[dice(SUBSCRIPTIONS + 1)],
        .wait_number = 1 + dice(12), .arrived_at = dice(2) == 0 ? dice(3) : server_us()
    };
    subject.placed = subject.token;
    subject.placed = subject.token;
    subject.ttl_ms = commands[number].row == ROW_PERMIT_EXTEND ? any_extension_ms() : any_ttl_ms();
    subject.ticket = dice(2) == 0 ? 0 : any_ticket(subject.skew_ms);
    subject.permit.count = (uint8_t)(1 + dice(PERMITS));
    if (needs_slot || dice(3) == 0) subject.permit.slot = (uint8_t)(1 + dice(subject.permit.count));
    (void)send_encode(&writer, row, is_text ? REDLOCK_FORM_BY_TEXT : REDLOCK_FORM_BY_SHA1,
                      &subject);
    request->extends_ms = commands[number].row == ROW_PERMIT_EXTEND ? subject.ttl_ms : 0;
    end_request(request, &writer);
}

static struct slice fair_name(unsigned number)
{
    return slice_of(number == 0 ? "a" : "f");
}

static struct redlock_name draw_fair(struct request *request)
{
    static const char *const suffixes[] = {
        "", "#lease", "#ticket", "#queue", "#grant", "#waiters", "#waiters#waiters", "#writer"
    };
    const struct slice name = fair_name(dice(FAIR_NAMES));
    for (unsigned i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        touch(request, name_with_suffix(name, suffixes[i], request->key_count));
    request->has_leases = true;
    return (struct redlock_name){ .bytes = name.data, .size = name.size };
}

/* A command about a fair lock, of few clients, each with one entry, so that they meet. */
static void fair_request(struct request *request)
{
    static const struct { const char *name; enum row row; } commands[] = {
        { "poll", ROW_FAIR_ACQUIRE }, { "poll", ROW_FAIR_ACQUIRE }, { "poll", ROW_FAIR_ACQUIRE },
        { "poll", ROW_FAIR_ACQUIRE },
        { "fair restore", ROW_FAIR_RESTORE }, { "fair extend", ROW_FAIR_EXTEND },
        { "leave", ROW_FAIR_RELEASE }, { "leave", ROW_FAIR_WAKE },
    };
    static char label[32];
    const unsigned number = dice(sizeof commands / sizeof commands[0]), is_text = dice(2),
                   client = dice(3);
    const struct wire_row *row = row_at(commands[number].row).row;
    uint8_t token[REDLOCK_TOKEN_SIZE];
    snprintf(label, sizeof label, "%s %s", is_text ? "EVAL" : "EVALSHA", commands[number].name);
    struct resp_writer writer = begin_request(request, label);
    const struct redlock_name name = draw_fair(request);
    struct redlock_place place = {
        .turn = dice(4), .poll = 1 + dice(4), .entry = dice(8) == 0 ? 7 : client
    };
    struct wire_subject subject = {
        .names = &name, .name_count = 1, .token = token, .placed = token, .life_ms = any_ttl_ms(),
        .skew_ms = REDLOCK_SKEW_MS, .engine = engines[client], .place = &place
    };
    memset(token, (int)(0x40 + client), sizeof token);
    place.renew = place.turn > 0 && dice(4) > 0;
    subject.ttl_ms = commands[number].row == ROW_FAIR_EXTEND ? any_extension_ms() : any_ttl_ms();
    subject.ticket = dice(3) > 0 ? 0 : any_ticket(subject.skew_ms);
    (void)send_encode(&writer, row, is_text ? REDLOCK_FORM_BY_TEXT : REDLOCK_FORM_BY_SHA1,
                      &subject);
    request->extends_ms = commands[number].row == ROW_FAIR_EXTEND ? subject.ttl_ms : 0;
    end_request(request, &writer);
}

static struct slice shared_name(unsigned number)
{
    return slice_of(number == 0 ? "a" : number == 1 ? "r" : "s");
}

static void touch_shared(struct request *request, struct slice name)
{
    static const char *const suffixes[] = {
        "", "#readers", "#ticket", "#writer", "#waiters", "#waiters#waiters"
    };
    for (unsigned i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        touch(request, name_with_suffix(name, suffixes[i], request->key_count));
    request->has_leases = true;
}

/* One resource or two, each to be read or to be written. */
static unsigned draw_shared(struct request *request, struct redlock_name names[2], bool is_one)
{
    const unsigned count = is_one || dice(3) > 0 ? 1 : 2, first = dice(SHARED_NAMES);
    for (unsigned i = 0; i < count; i++) {
        const struct slice name = shared_name((first + i) % SHARED_NAMES);
        names[i] = (struct redlock_name){
            .bytes = name.data, .size = name.size, .shared = dice(4) > 0
        };
        touch_shared(request, name);
    }
    return count;
}

/* A command about readers and writers, of few tokens, so that they meet. */
static void shared_request(struct request *request)
{
    static const struct { const char *name; enum row row; } commands[] = {
        { "shared acquire", ROW_SHARED_ACQUIRE }, { "shared acquire", ROW_SHARED_ACQUIRE },
        { "shared acquire", ROW_SHARED_ACQUIRE },
        { "shared acquire", ROW_SHARED_RESTORE }, { "shared extend", ROW_SHARED_EXTEND },
        { "shared extend", ROW_SHARED_EXTEND },
        { "role", ROW_SHARED_ROLE }, { "role", ROW_SHARED_ROLE }, { "role", ROW_SHARED_ROLE },
        { "shared release", ROW_SHARED_RELEASE }, { "shared release", ROW_SHARED_WAKE },
        { "both release", ROW_SHARED_RELEASE_BOTH }, { "both release", ROW_SHARED_WAKE_BOTH },
        { "shared wait", ROW_WAIT }, { "shared wait", ROW_WAIT }, { "shared wait", ROW_WAIT },
    };
    static char label[32];
    const unsigned number = dice(sizeof commands / sizeof commands[0]), is_text = dice(2);
    const enum row kind = commands[number].row;
    const bool is_of_one =
        kind == ROW_SHARED_ROLE || kind == ROW_SHARED_RELEASE_BOTH || kind == ROW_SHARED_WAKE_BOTH;
    const bool extends = kind == ROW_SHARED_EXTEND || kind == ROW_SHARED_ROLE;
    struct redlock_name names[2];
    uint8_t token[REDLOCK_TOKEN_SIZE], placed[REDLOCK_TOKEN_SIZE];
    snprintf(label, sizeof label, "%s %s", is_text ? "EVAL" : "EVALSHA", commands[number].name);
    struct resp_writer writer = begin_request(request, label);
    struct wire_subject subject = {
        .names = names, .name_count = draw_shared(request, names, is_of_one), .token = token,
        .placed = placed, .life_ms = any_ttl_ms(), .skew_ms = REDLOCK_SKEW_MS,
        .engine = engines[dice(SUBSCRIPTIONS + 1)],
        .wait_number = kind == ROW_WAIT || dice(3) == 0 ? 1 + dice(12) : 0, .arrived_at = dice(3),
        .phase = dice(2) == 0 ? REDLOCK_PHASE_HELD : REDLOCK_PHASE_IDLE
    };
    memcpy(token, any_token(), sizeof token);
    memcpy(placed, is_of_one ? any_token() : token, sizeof placed);
    subject.ttl_ms = extends ? any_extension_ms() : any_ttl_ms();
    subject.ticket = dice(3) > 0 ? 0 : any_ticket(subject.skew_ms);
    (void)send_encode(&writer, row_at(kind).row,
                      is_text ? REDLOCK_FORM_BY_TEXT : REDLOCK_FORM_BY_SHA1, &subject);
    request->extends_ms = extends ? subject.ttl_ms : 0;
    end_request(request, &writer);
}

/* A command about a lock of Redisson's, of few clients; on a name of its own, or where others have
 * keys of other types. */
static void redisson_request(struct request *request)
{
    static const struct { const char *name; enum row row; } commands[] = {
        { "java acquire", ROW_REDISSON_ACQUIRE }, { "java acquire", ROW_REDISSON_ACQUIRE },
        { "java extend", ROW_REDISSON_EXTEND }, { "java release", ROW_REDISSON_RELEASE },
    };
    static char label[32];
    const unsigned number = dice(sizeof commands / sizeof commands[0]), is_text = dice(2);
    const struct wire_row *row = row_at(commands[number].row).row;
    const struct slice resource = dice(4) == 0 ? slice_of("a") : slice_of("j");
    const struct redlock_name name = { .bytes = resource.data, .size = resource.size };
    uint8_t token[REDLOCK_TOKEN_SIZE];
    struct wire_subject subject = {
        .names = &name, .name_count = 1, .token = token, .placed = token
    };
    snprintf(label, sizeof label, "%s %s", is_text ? "EVAL" : "EVALSHA", commands[number].name);
    struct resp_writer writer = begin_request(request, label);
    touch(request, resource);
    memset(token, (int)(0x40 + dice(3)), sizeof token);
    subject.ttl_ms =
        commands[number].row == ROW_REDISSON_EXTEND ? any_extension_ms() : any_ttl_ms();
    (void)send_encode(&writer, row, is_text ? REDLOCK_FORM_BY_TEXT : REDLOCK_FORM_BY_SHA1,
                      &subject);
    request->extends_ms = commands[number].row == ROW_REDISSON_EXTEND ? subject.ttl_ms : 0;
    end_request(request, &writer);
}

/* The marking client's clock may be right, or within or beyond the error that a node allows. */
static uint64_t any_marking_ms(uint32_t skew_ms)
{
    const uint64_t now_ms = server_us() / 1000;
    switch (dice(8)) {
    case 0:  return now_ms + skew_ms + 60000;
    case 1:  return now_ms - skew_ms - 60000;
    case 2:  return now_ms + skew_ms - 5000;
    case 3:  return now_ms - skew_ms + 5000;
    default: return now_ms;
    }
}

/* A mark of a period. There are few periods and few markers, so that they meet; one in many
 * is no mark. */
static void mark_request(struct request *request, const struct line *line)
{
    static const uint64_t periods[] = { 9, 10, 10, 10, 11, 9007199254740991 };
    static const char *const markers[] = {
        "0123456789abcdef", "0123456789abcdef", "fedcba9876543210"
    };
    const uint32_t skew_ms = dice(2) == 0 ? REDLOCK_SKEW_MS : REDLOCK_SKEW_MS_MAX;
    struct redlock_name names[SET_MAX];
    char token[REDLOCK_TOKEN_TEXT], mark[128];
    struct resp_writer writer = begin_request(request, "EVAL mark");
    (void)draw_names(request, names, 1);
    const struct model_key *key = key_seen(line->session.database, request->keys[0]);
    const bool is_held = key && key->value_size == sizeof token;
    if (is_held && dice(8) > 0) memcpy(token, key->value, sizeof token);
    else                        wire_token_text(any_token(), token);
    snprintf(mark, sizeof mark, "%llu %s %llu who", (unsigned long long)periods[dice(6)],
             markers[dice(3)], (unsigned long long)any_marking_ms(skew_ms));
    resp_command(&writer, 8);
    resp_text(&writer, "EVAL");
    resp_text(&writer, WIRE_MARK_SCRIPT);
    resp_text(&writer, "1");
    resp_bytes(&writer, names[0].bytes, names[0].size);
    resp_bytes(&writer, token, sizeof token);
    resp_text(&writer, mark);
    resp_size(&writer, dice(4) == 0 ? 0 : any_ttl_ms());
    resp_size(&writer, skew_ms);
    (void)resp_end(&writer);
    end_request(request, &writer);
}

static void handshake_request(struct request *request, enum redlock_command command,
                              const char *label, const struct redlock_login *with)
{
    const struct redlock_node asked = { .login = with ? *with : (struct redlock_login){ 0 } };
    struct resp_writer writer = begin_request(request, label);
    (void)handshake_put(&writer, command, &asked,
                        dice(4) == 0 ? plain_scripts_for_one_loaded() : plain_scripts_for_all(),
                        engines[0]);
    end_request(request, &writer);
}

static void words_request(struct request *request, const char *label, const char *const *words,
                          unsigned count)
{
    struct resp_writer writer = begin_request(request, label);
    resp_command(&writer, count);
    for (unsigned i = 0; i < count; i++) resp_text(&writer, words[i]);
    (void)resp_end(&writer);
    end_request(request, &writer);
}

/* The right login, or one of the wrong ones. */
static void auth_request(struct request *request)
{
    static const struct redlock_login wrong[] = {
        { .password = "wrong" }, { .user = "nobody", .password = "secret" },
        { .user = "default", .password = "wrong" },
        { .user = "joe", .password = "" }
    };
    const bool right = login.password && dice(2) == 0;
    handshake_request(request, REDLOCK_COMMAND_AUTH, "AUTH",
                      right ? &login : &wrong[dice(sizeof wrong / sizeof wrong[0])]);
}

static void select_request(struct request *request)
{
    static const uint32_t databases[] = { 0, 0, 0, 0, 1, 15, 15, 16, 2147483647 };
    const struct redlock_login with = {
        .database = databases[dice(sizeof databases / sizeof databases[0])] & 0xffff
    };
    handshake_request(request, REDLOCK_COMMAND_SELECT, "SELECT", &with);
}

/* SET with a TTL that the engine's checks would have caught. */
static void ttl_request(struct request *request)
{
    static const char *const ttls[] = {
        "0", "-1", "-9223372036854775808", "9223372036854775808", "07", "+7", "x", "", "1.5"
    };
    const char *const words[] = {
        "SET", "a", "x", "NX", "PX", ttls[dice(sizeof ttls / sizeof ttls[0])]
    };
    words_request(request, "SET with a wrong TTL", words, 6);
    touch(request, slice_of("a"));
}

/* Commands with too few or too many words, and such as there are none. */
static void odd_request(struct request *request)
{
    static const char long_word[] =
        "01234567890123456789012345678901234567890123456789012345678901234567890123456789"
        "01234567890123456789012345678901234567890123456789012345678901234567890123456789";
    static const struct {
        const char *words[6];
    } odd[] = {
        { { "SET" } }, { { "SET", "a" } }, { { "GETRANGE", "a", "0" } },
        { { "GETRANGE", "a", "0", "40", "x" } },
        { { "PTTL" } }, { { "PTTL", "a", "b" } }, { { "EVAL" } }, { { "EVAL", "return 1" } },
        { { "EVALSHA", "x" } },
        { { "SELECT" } }, { { "SELECT", "0", "1" } }, { { "AUTH" } }, { { "GET", "a", "b" } },
        { { "STRLEN" } }, { { "SCRIPT", "LOAD" } }, { { "SCRIPT", "LOAD", "x", "y" } },
        { { "CLIENT", "SETNAME" } },
        { { "CLIENT", "SETNAME", "x", "y" } },
        { { "DELL" } }, { { "INFO2", "a", "bb" } },
        { { "SETT", "a\r\nb", "", "\xff", long_word, "c" } },
        { { long_word, "a" } }, { { "S\r\nT", long_word, "a" } },
    };
    const uint32_t number = dice(sizeof odd / sizeof odd[0]);
    unsigned count = 0;
    while (count < 6 && odd[number].words[count]) count++;
    words_request(request, "odd", odd[number].words, count);
}

/* A script that is not loaded, under a name that none has. */
static void unknown_sha_request(struct request *request)
{
    static const char *const words[] = {
        "EVALSHA", "0123456789012345678901234567890123456789", "1", "a", "x"
    };
    words_request(request, "EVALSHA unknown", words, 5);
    touch(request, slice_of("a"));
}

static void draw_handshake(struct request *request)
{
    switch (dice(8)) {
    case 0:  auth_request(request); break;
    case 1:  select_request(request); break;
    case 2:  handshake_request(request, REDLOCK_COMMAND_SETNAME, "CLIENT", NULL); break;
    case 3:  handshake_request(request, REDLOCK_COMMAND_INFO, "INFO", NULL); break;
    case 4:  handshake_request(request, REDLOCK_COMMAND_EVAL, "EVAL nothing", NULL); break;
    case 5:  handshake_request(request, REDLOCK_COMMAND_LOAD_RELEASE, "SCRIPT", NULL); break;
    case 6:  handshake_request(request, REDLOCK_COMMAND_LOAD_EXTEND, "SCRIPT", NULL); break;
    default: odd_request(request); break;
    }
}

static void draw_request(struct request *request, const struct line *line)
{
    switch (dice(69)) {
    case 57: case 58: case 59: case 60: case 61: case 62: case 63: case 64: case 65: case 66:
    case 67: case 68:
        if (line->session.logged_in) shared_request(request);
        else                         odd_request(request);
        break;
    case 52: case 53: case 54: case 55: case 56: redisson_request(request); break;
    case 43: case 44: case 45: case 46: case 47: case 48: case 49: case 50: case 51:
        if (line->session.logged_in) fair_request(request);
        else                         odd_request(request);
        break;
    case 35: case 36: case 37: case 38: case 39: case 40: case 41: case 42:
        /* Otherwise it has too many words. */
        if (line->session.logged_in) permit_request(request);
        else                         odd_request(request);
        break;
    case 32:
    case 33: lock_request(request, REDLOCK_COMMAND_RESTORE, "EVALSHA restore", line); break;
    case 34:        lock_request(request, REDLOCK_COMMAND_RESTORE, "EVAL restore", line); break;
    case 28: case 29: case 30: case 31: mark_request(request, line); break;
    case 20:
    case 21: lock_request(request, REDLOCK_COMMAND_ACQUIRE, "EVALSHA acquire", line); break;
    case 22: case 23: lock_request(request, REDLOCK_COMMAND_ACQUIRE, "EVAL acquire", line); break;
    case 24: case 25: lock_request(request, REDLOCK_COMMAND_WAIT, "EVALSHA wait", line); break;
    case 26: case 27: lock_request(request, REDLOCK_COMMAND_WAIT, "EVAL wait", line); break;
    case 0:
    case 1:
    case 2:
    case 3: lock_request(request, REDLOCK_COMMAND_ACQUIRE, "SET", line); break;
    case 4: case 5: lock_request(request, REDLOCK_COMMAND_RELEASE, "EVALSHA release", line); break;
    case 6:         lock_request(request, REDLOCK_COMMAND_RELEASE, "EVAL release", line); break;
    case 7: case 8: lock_request(request, REDLOCK_COMMAND_EXTEND, "EVALSHA extend", line); break;
    case 9:         lock_request(request, REDLOCK_COMMAND_EXTEND, "EVAL extend", line); break;
    case 10: case 11: lock_request(request, REDLOCK_COMMAND_PTTL, "PTTL", line); break;
    case 12: case 13: lock_request(request, REDLOCK_COMMAND_GETRANGE, "GETRANGE", line); break;
    case 14:        ttl_request(request); break;
    case 15:        unknown_sha_request(request); break;
    default:        draw_handshake(request); break;
    }
}

/* ---- What others do, to both ---- */

static void administer(const struct request *request)
{
    const uint64_t from_us = server_us();
    const struct slice reply = ask_server(admin.fd, request);
    if (reply.data[0] == '-') bail_out("%.*s", (int)reply.size, (const char *)reply.data);
    note_duration(from_us, server_us());
}

static void administer_words(const char *first, const char *second, const char *third)
{
    const char *const words[] = { first, second, third };
    struct request request;
    words_request(&request, first, words, third ? 3 : second ? 2 : 1);
    administer(&request);
}

static void administer_key(const char *command, struct slice name, struct slice value,
                           uint32_t ttl_ms)
{
    struct request request;
    struct resp_writer writer = begin_request(&request, command);
    resp_command(&writer, value.data ? ttl_ms > 0 ? 5 : 3 : 2);
    resp_text(&writer, command);
    resp_bytes(&writer, name.data, name.size);
    if (value.data) resp_bytes(&writer, value.data, value.size);
    if (ttl_ms > 0) {
        resp_text(&writer, "PX");
        resp_number(&writer, ttl_ms);
    }
    (void)resp_end(&writer);
    end_request(&request, &writer);
    administer(&request);
}

static void select_as_admin(uint32_t database)
{
    char number[12];
    snprintf(number, sizeof number, "%u", (unsigned)database);
    administer_words("SELECT", number, NULL);
}

static void remove_key(uint32_t database, struct slice name)
{
    administer_key("DEL", name, (struct slice){ NULL, 0 }, 0);
    struct model_key *key = key_find(&node, database, name, 0);
    if (key) key_remove(&node, key);
}

/* The value of an earlier ticket, or something that is none. */
static struct slice any_counter(char text[64])
{
    static const char *const others[] = { "", "x", "12 ", "0x10", "1e3", "-5", "9007199254740993" };
    if (dice(8) == 0) return slice_of(others[dice(sizeof others / sizeof others[0])]);
    snprintf(text, 64, "%llu", (unsigned long long)any_ticket(REDLOCK_SKEW_MS));
    return slice_of(text);
}

/* Somebody's string or list. No key runs out in trouble, since nobody could put it back. */
static void put_key(void)
{
    static const uint32_t databases[] = { 0, 0, 0, 1, 15 };
    char text[64];
    const bool is_counter = dice(6) == 0;
    const struct slice resource = any_name();
    const struct slice name = is_counter ? name_with_suffix(resource, "#ticket", 0) : resource;
    const struct slice value = is_counter ? any_counter(text) : any_value(text);
    const uint32_t database = databases[dice(5)], kind = dice(8);
    const uint32_t ttl_ms = kind < 2               ? 0
                            : kind < 5 && !trouble ? SHORT_MS / 2 + dice(SHORT_MS)
                                                   : LONG_MS + dice(LONG_MS);
    select_as_admin(database);
    remove_key(database, name);
    const uint64_t now_us = server_us();
    struct model_key *key = key_put(&node, database, name, value);
    key->is_list = kind == 0;
    key->expires_ms = ttl_ms == 0 ? 0 : ms_of(now_us) + ttl_ms;
    administer_key(key->is_list ? "RPUSH" : "SET", name, value, ttl_ms);
    note_duration(now_us, server_us());
}

/* Ends the lease of somebody's place in a queue, or a reader's time. Or it ends much later, as if
 * the clock had stepped back. */
static void end_lease(void)
{
    char text[32];
    const struct slice name =
        dice(2) == 0 ? name_with_suffix(fair_name(dice(FAIR_NAMES)), "#lease", 0)
                     : name_with_suffix(shared_name(dice(SHARED_NAMES)), "#readers", 0);
    struct model_key *key = key_find(&node, 0, name, server_us());
    struct request request;
    if (!key || !key->is_sorted_set || key->expires_ms < ms_of(server_us()) + 1000) return;
    struct model_entry *entry = &key->entries[dice((uint32_t)key->entry_count)];
    entry->score = dice(2) == 0 ? ms_of(server_us()) - 1000 : ms_of(server_us()) + 60000;
    select_as_admin(0);
    struct resp_writer writer = begin_request(&request, "ZADD");
    resp_command(&writer, 4);
    resp_text(&writer, "ZADD");
    resp_bytes(&writer, name.data, name.size);
    snprintf(text, sizeof text, "%llu", (unsigned long long)entry->score);
    resp_text(&writer, text);
    resp_bytes(&writer, entry->member, entry->size);
    (void)resp_end(&writer);
    end_request(&request, &writer);
    administer(&request);
}

static void flush_scripts(void)
{
    administer_words("SCRIPT", "FLUSH", NULL);
    model_flush_scripts(&node);
}

static void flush_all(void)
{
    administer_words("FLUSHALL", NULL, NULL);
    model_flush(&node);
}

/* Waits for the end of a key that soon ends. */
static void let_one_end(void)
{
    const uint64_t now_ms = ms_of(server_us());
    for (size_t i = 0; i < node.key_count; i++)
        if (node.keys[i].expires_ms > now_ms && node.keys[i].expires_ms < now_ms + 2 * SHORT_MS) {
            await_end(&node.keys[i]);
            return;
        }
}

static void draw_deed(void)
{
    switch (dice(40)) {
    case 0:  flush_scripts(); break;
    case 1:  let_one_end(); break;
    case 3: case 4: end_lease(); break;
    case 2:
        select_as_admin(0);
        remove_key(0, any_name());
        break;
    default: put_key(); break;
    }
}

/* ---- Rounds ---- */

static void open_admin(void)
{
    struct request request;
    const struct redlock_login tester = { .user = "tester", .password = "x" };
    admin.fd = connect_server();
    handshake_request(&request, REDLOCK_COMMAND_AUTH, "AUTH", &tester);
    administer(&request);
}

static void open_lines(void)
{
    struct request request;
    for (unsigned i = 0; i < LINES; i++) {
        lines[i].fd = connect_server();
        model_session_begin(&node, &lines[i].session);
        if (!trouble || !trouble->logs_in) continue;
        handshake_request(&request, REDLOCK_COMMAND_AUTH, "AUTH", &login);
        exchange(&lines[i], &request);
    }
}

static void subscribe(struct line *subscription, const uint8_t engine[REDLOCK_NAME_SIZE])
{
    struct request request;
    struct resp_writer writer = begin_request(&request, "SUBSCRIBE");
    subscription->fd = connect_server();
    model_session_begin(&node, &subscription->session);
    if (trouble && trouble->logs_in) {
        struct request log_in;
        handshake_request(&log_in, REDLOCK_COMMAND_AUTH, "AUTH", &login);
        exchange(subscription, &log_in);
    }
    (void)handshake_put(&writer, REDLOCK_COMMAND_SUBSCRIBE, NULL, plain_scripts_for_all(), engine);
    end_request(&request, &writer);
    exchange(subscription, &request);
    subscription->session.out.size = 0;
}

/* The server's subscription must have heard, up to a PING, the same as the model's. */
static void check_heard(struct line *subscription)
{
    static const char *const ping[] = { "PING" };
    static uint8_t heard[REPLY_MAX * 4];
    struct request request;
    size_t have = 0, at = 0, size;
    bool is_answer = false;
    words_request(&request, "PING", ping, 1);
    if (send(subscription->fd, request.bytes, request.size, MSG_NOSIGNAL) != (ssize_t)request.size)
        bail_out("cannot send");
    while (!is_answer) {
        const ssize_t got = recv(subscription->fd, heard + have, sizeof heard - have, 0);
        if (got <= 0) bail_out("no answer to a subscription's PING");
        have += (size_t)got;
        while (!is_answer && (size = reply_size(heard + at, have - at)) > 0) {
            is_answer = memcmp(heard + at, "*3", 2) != 0;
            at += is_answer ? 0 : size;
        }
    }
    TAP_CONTEXT("%s", "what a subscription has heard");
    CHECK_MEM(subscription->session.out.data, subscription->session.out.size, heard, at);
    for (size_t done = 0; done < at; done += reply_size(heard + done, at - done))
        count_kind("heard", (struct slice){ heard + done, at - done }, false);
}

static void open_subscriptions(void)
{
    for (unsigned i = 0; i < SUBSCRIPTIONS; i++) subscribe(&subscriptions[i], engines[i]);
}

static void close_subscriptions(void)
{
    for (unsigned i = 0; i < SUBSCRIPTIONS; i++) {
        if (!round_over && tap.complaints == 0) check_heard(&subscriptions[i]);
        close(subscriptions[i].fd);
        model_session_end(&subscriptions[i].session);
    }
}

static void close_lines(void)
{
    for (unsigned i = 0; i < LINES; i++) {
        close(lines[i].fd);
        model_session_end(&lines[i].session);
    }
}

/* ---- What is left on both ---- */

/* KEYS: one; ARGV: its type, its end by the clock in ms (0: none), how far ends and scores may
 * differ, its value, or members and scores. The server compares, since only there is the clock that
 * of its keys. */
static const char same_key_script[] =
    "local kind,ends,blur=redis.call('type',KEYS[1]).ok,ARGV[2]+0,ARGV[3]+0\n"
    "if kind~=ARGV[1] then return 'it is: '..kind end\n"
    "local clock,left=redis.call('time'),redis.call('pttl',KEYS[1])\n"
    "local off=clock[1]*1000+math.floor(clock[2]/1000)+left-ends\n"
    "if (left<0)~=(ends==0) or left>=0 and math.abs(off)>blur then return 'it ends in '..left..' "
    "ms' end\n"
    "if kind=='string' and redis.call('get',KEYS[1])~=ARGV[4] then return 'it is "
    "'..redis.call('get',KEYS[1]) end\n"
    "if kind~='zset' then return 'the same' end\n"
    "local count=redis.call('zcard',KEYS[1])\n"
    "if count*2~=#ARGV-3 then return 'it has '..count..' members' end\n"
    "for i=4,#ARGV,2 do\n"
    "local score=redis.call('zscore',KEYS[1],ARGV[i])\n"
    "if not score or math.abs(score-ARGV[i+1])>blur then return ARGV[i]..' has '..tostring(score) "
    "end\n"
    "end\n"
    "return 'the same'";

static const char *type_of(const struct model_key *key)
{
    return key->is_list ? "list" : key->is_sorted_set ? "zset" : key->is_hash ? "hash" : "string";
}

/* Of lists and hashes the value is not compared, since the model does not keep it as a server does.
 * Nor is a key that ends now. */
static void check_key(const struct model_key *key)
{
    struct request request;
    struct resp_writer writer = begin_request(&request, "EVAL same key");
    resp_command(&writer, 7 + (key->is_sorted_set ? 2 * (unsigned)key->entry_count : 1));
    resp_text(&writer, "EVAL");
    resp_text(&writer, same_key_script);
    resp_text(&writer, "1");
    resp_bytes(&writer, key->name, key->name_size);
    resp_text(&writer, type_of(key));
    resp_number(&writer, (int64_t)key->expires_ms);
    resp_number(&writer, (int64_t)(2 * blur_ms + BLUR_MS));
    if (!key->is_sorted_set) resp_bytes(&writer, key->value, key->value_size);
    for (size_t i = 0; key->is_sorted_set && i < key->entry_count; i++) {
        resp_bytes(&writer, key->entries[i].member, key->entries[i].size);
        resp_number(&writer, (int64_t)key->entries[i].score);
    }
    (void)resp_end(&writer);
    end_request(&request, &writer);
    const struct slice reply = ask_server(admin.fd, &request);
    if (ends_about(key, 0, server_us())) return;
    TAP_CONTEXT("%.*s (%s, with %u members) at the end of a round", (int)key->name_size,
                (const char *)key->name, type_of(key), (unsigned)key->entry_count);
    CHECK_MEM("$8\r\nthe same\r\n", 14, reply.data, reply.size);
}

/* Those that end soon are compared now, and go from both. Otherwise all would wait for them. */
static void check_keys_that_end(uint32_t database)
{
    for (size_t i = node.key_count; i-- > 0 && tap.complaints == 0;) {
        const struct model_key *key = &node.keys[i];
        const uint64_t now_us = server_us();
        if (key->database != database || !ends_about(key, now_us, now_us + 1000000)) continue;
        check_key(key);
        remove_key(database, (struct slice){ key->name, key->name_size });
    }
}

static bool is_there(const struct model_key *key, uint32_t database)
{
    return key->database == database &&
           (key->expires_ms == 0 || key->expires_ms > ms_of(server_us()));
}

static void check_keys(void)
{
    static const uint32_t databases[] = { 0, 1, 15 };
    static const char *const all[] = { "EVAL", "return #redis.call('keys','*')", "0" };
    struct request request;
    for (unsigned i = 0; i < sizeof databases / sizeof databases[0]; i++) {
        char text[32];
        unsigned count = 0;
        select_as_admin(databases[i]);
        check_keys_that_end(databases[i]);
        for (size_t j = 0; j < node.key_count; j++) count += is_there(&node.keys[j], databases[i]);
        snprintf(text, sizeof text, ":%u\r\n", count);
        words_request(&request, "EVAL keys", all, 3);
        const struct slice reply = ask_server(admin.fd, &request);
        TAP_CONTEXT("keys of database %u at the end of a round", (unsigned)databases[i]);
        CHECK_MEM(text, strlen(text), reply.data, reply.size);
        for (size_t j = 0; j < node.key_count && tap.complaints == 0; j++)
            if (is_there(&node.keys[j], databases[i])) check_key(&node.keys[j]);
    }
}

static void prepare_round(void)
{
    round_over = false;
    blur_ms = BLUR_MS;
    if (trouble && trouble->keyless) return;
    flush_all();
    flush_scripts();
    for (unsigned i = 0; i < 2 * NAMES; i++) put_key();
}

/* Most commands find the scripts loaded, as after a handshake. */
static void load_scripts(void)
{
    static const enum redlock_command loads[] = {
        REDLOCK_COMMAND_LOAD_RELEASE, REDLOCK_COMMAND_LOAD_EXTEND
    };
    struct request request;
    for (unsigned i = 0; i < 2 && dice(4) > 0; i++) {
        handshake_request(&request, loads[i], "SCRIPT", NULL);
        exchange(&lines[0], &request);
    }
}

static void run_round(unsigned commands)
{
    struct request request;
    prepare_round();
    const bool listens_first = trouble && trouble->listens_first;
    if (listens_first) open_subscriptions();
    if (trouble && trouble->begin) trouble->begin();
    open_lines();
    if (!listens_first) open_subscriptions();
    load_scripts();
    for (unsigned i = 0; i < commands && !round_over && tap.complaints == 0; i++) {
        struct line *line = &lines[dice(LINES)];
        draw_request(&request, line);
        exchange(line, &request);
        if (!trouble && dice(12) == 0) draw_deed();
    }
    cut_rounds += round_over;
    if ((!trouble || trouble->logs_in) && !round_over && tap.complaints == 0) check_keys();
    close_subscriptions();
    close_lines();
    if (trouble && trouble->end) trouble->end();
}

static void run_commands(unsigned commands)
{
    const unsigned until = sent + commands;
    const unsigned of_round =
        trouble && trouble->round_commands > 0 ? trouble->round_commands : ROUND_COMMANDS;
    while (sent < until && tap.complaints == 0) run_round(of_round);
}

/* Starts both, in no trouble yet. */
static void begin_pair(const char *config)
{
    servers_start(&server, 1, config);
    model_node_init(&node, 1, server_us());
    login = (struct redlock_login){ 0 };
    sent = cut_rounds = 0;
    open_admin();
    other_words = !strstr(ASK(&server, "INFO", "server"), "redis_version:7.0.");
}

static void end_pair(void)
{
    close(admin.fd);
    servers_end(&server, 1);
    model_node_free(&node);
}

static bool is_all_seen(void)
{
    for (const struct kind *kind = wanted; kind->begins; kind++)
        if (kind->times < kind->least) return false;
    return true;
}

/* Kinds that the dice bring too rarely get more tries. */
static void run_until_seen(void)
{
    const unsigned most = sent * 5;
    while (!is_all_seen() && sent < most && tap.complaints == 0) run_commands(ROUND_COMMANDS);
}

static void check_kinds(void)
{
    if (tap.complaints > 0) return;     /* The first difference ended it. */
    printf("# %u commands, %u rounds cut short\n", sent, cut_rounds);
    for (const struct kind *kind = wanted; kind->begins; kind++) {
        TAP_CONTEXT("%s", kind->begins);
        if (kind->times < kind->least)
            tap_complain(__FILE__, __LINE__, "seen %u times, not %u", kind->times, kind->least);
    }
}

static void compare_in(const struct trouble *what, struct kind *kinds)
{
    trouble = what;
    wanted = kinds;
    begin_pair(what->config ? what->config : "");
    begin_seed(fresh_seed());
    run_commands(what->commands > 0 ? what->commands : TROUBLE_COMMANDS);
    run_until_seen();
    check_kinds();
    end_pair();
}

/* ---- The comparison itself ---- */

/* A counter that somebody has set by hand may end in a blank. */
TEST(two_answers_to_a_poll_are_the_same_but_for_the_time)
{
    static const char *const others[] = {
        "$14\r\n12  194840 3 0\r\n", "$14\r\n12  194848 3 1\r\n", "$14\r\n12  194848 4 0\r\n",
        "$14\r\n13  194848 3 0\r\n"
    };
    const struct slice reply = slice_of("$14\r\n12  194848 3 0\r\n");
    blur_ms = 2;
    CHECK(same_reply("EVAL poll", reply, slice_of("$14\r\n12  194847 3 0\r\n")));
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        TAP_CONTEXT("the other is %s", others[i]);
        CHECK(!same_reply("EVAL poll", reply, slice_of(others[i])));
    }
    CHECK(!same_reply("EVAL poll", reply, slice_of("$2\r\n12\r\n")));
}

TEST(errors_of_other_versions_are_the_same_by_what_the_engine_reads_in_them)
{
    static const char *const pairs[][2] = {
        { "-NOSCRIPT No matching script.\r\n",
          "-NOSCRIPT No matching script. Please use EVAL.\r\n" },
        { "-BUSY Valkey is busy\r\n", "-BUSY Redis is busy\r\n" },
        { "-ERR ACL failure in script: x\r\n",
          "-ERR The user executing the script can't run this command\r\n" },
        { "-ERR ACL failure in script: x\r\n", "-ERR unknown command\r\n" },
        { "-NOPERM x\r\n", "-ERR The user executing the script can't run this command\r\n" },
        { "-AHEAD of the clock of this node: 12\r\n", "-AHEAD of the clock of this node: 99\r\n" },
        { ":1\r\n", ":0\r\n" },
        { "-NOSCRIPT No matching script.\r\n", "+OK\r\n" },
    };
    blur_ms = 2;
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct slice real = slice_of(pairs[i][0]), model = slice_of(pairs[i][1]);
        TAP_CONTEXT("%s", pairs[i][0]);
        other_words = true;
        CHECK_INT(same_reply("EVALSHA extend", real, model), i < 3);
        other_words = false;
        CHECK(!same_reply("EVALSHA extend", real, model));
    }
}

/* ---- What the dice bring too rarely ---- */

#define TOKEN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void begin_by_hand(void)
{
    static struct kind none[] = { { NULL, 0, 0 } };
    trouble = NULL;
    wanted = none;
    round_over = false;
    blur_ms = BLUR_MS;
    begin_pair("");
    open_lines();
}

static void end_by_hand(void)
{
    check_keys();
    close_lines();
    end_pair();
}

static void put_by_hand(const char *name, const char *value, uint32_t ttl_ms)
{
    administer_key("SET", slice_of(name), slice_of(value), ttl_ms);
    (void)model_put(&node, name, value, ttl_ms, server_us());
}

static void poll_by_hand(const char *token, const char *place)
{
    const char *const words[] = {
        "EVAL", WIRE_FAIR_ACQUIRE_SCRIPT, "1", "f", token, "10000", "0", "100000", "1", place
    };
    struct request request;
    words_request(&request, "EVAL poll", words, sizeof words / sizeof words[0]);
    exchange(&lines[0], &request);
}

/* Whichever of the slots the node looks at last. */
TEST(a_permit_that_is_refused_tells_the_largest_ticket_of_all_slots_like_a_server)
{
    static const char *const tickets[][3] = {
        { "7", "5", "6" }, { "5", "7", "6" }, { "5", "6", "7" }
    };
    const char *const words[] = {
        "EVAL", WIRE_PERMIT_ACQUIRE_SCRIPT, "1", "a", TOKEN, "10000", "4", "100000", "1", "3", "0",
        ""
    };
    struct request request;
    begin_by_hand();
    for (unsigned i = 0; i < 3; i++) {
        put_by_hand("a:1#ticket", tickets[i][0], LONG_MS);
        put_by_hand("a:2#ticket", tickets[i][1], LONG_MS);
        put_by_hand("a:3#ticket", tickets[i][2], LONG_MS);
        words_request(&request, "EVAL permit acquire", words, sizeof words / sizeof words[0]);
        exchange(&lines[0], &request);
    }
    end_by_hand();
}

/* S7: one that somebody else has prolonged, or made to stay for ever. */
TEST(s7_a_poll_shortens_no_key_like_a_server)
{
    static const uint32_t ttls_ms[] = { 0, LONG_MS, 5000 };
    for (unsigned i = 0; i < 3; i++) {
        begin_by_hand();
        put_by_hand("f", TOKEN, ttls_ms[i]);
        put_by_hand("f#grant", "1", LONG_MS);
        poll_by_hand(TOKEN, "0 2 0 ");
        end_by_hand();
    }
}

static void leave_by_hand(const char *token, const char *entry)
{
    const char *const words[] = { "EVAL", WIRE_FAIR_RELEASE_SCRIPT, "1", "f", token, entry, "1" };
    struct request request;
    words_request(&request, "EVAL leave", words, sizeof words / sizeof words[0]);
    exchange(&lines[0], &request);
}

/* A release looks through the first sixteen places for its token. */
TEST(a_place_behind_others_goes_by_its_entry_like_on_a_server)
{
    char token[] = TOKEN, place[16];
    begin_by_hand();
    for (unsigned i = 0; i <= 16; i++) {
        token[0] = (char)('a' + i);
        snprintf(place, sizeof place, "%u 1 1 9", 1 + i);
        poll_by_hand(token, place);
    }
    leave_by_hand(token, "9");
    end_by_hand();
}

/* The key of the first has run out. */
TEST(the_first_in_the_queue_leaves_without_a_key_like_on_a_server)
{
    begin_by_hand();
    open_subscriptions();
    poll_by_hand(TOKEN, "1 1 1 9");
    poll_by_hand("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "2 1 1 0102030405060708:5");
    remove_key(0, slice_of("f"));
    leave_by_hand(TOKEN, "9");
    CHECK(subscriptions[0].session.out.size > 0);
    close_subscriptions();
    end_by_hand();
}

static void say_by_hand(struct line *line, const char *label, const char *const *words,
                        unsigned count)
{
    struct request request;
    words_request(&request, label, words, count);
    exchange(line, &request);
}

/* One whose time is over, and one whose time nobody knows. */
static void line_up_java_threads(const char *braced)
{
    char queue[64], timeout[64];
    struct request request;
    snprintf(queue, sizeof queue, "redisson_lock_queue:%s", braced);
    snprintf(timeout, sizeof timeout, "redisson_lock_timeout:%s", braced);
    const char *const lines_up[] = { "RPUSH", queue, "dead", "next" }, *const ends[] = {
        "ZADD", timeout, "1", "dead"
    };
    words_request(&request, "RPUSH", lines_up, 4);
    administer(&request);
    words_request(&request, "ZADD", ends, 4);
    administer(&request);
    model_put(&node, queue, "dead\nnext", 0, server_us())->is_list = true;
    model_put_entry(&node, timeout, "dead", 1, server_us());
}

static void allow(bool is_allowed, const char *command)
{
    char rule[16];
    snprintf(rule, sizeof rule, "%c%s", is_allowed ? '+' : '-', command);
    ASK(&server, "ACL", "SETUSER", "default", rule);
    node.noperm = is_allowed ? NULL : command;
}

TEST(threads_of_java_that_wait_are_told_like_on_a_server)
{
    static const struct { const char *name, *braced, *listens, *refused; } cases[] = {
        { "j", "{j}", "", "EXISTS" }, { "a{b}", "a{b}", "", "EXISTS" },
        { "j", "{j}", "", "PUBLISH" },
        { "j", "{j}", ":next", "EXISTS" }, { "j", "{j}", ":dead", "TIME" },
        { "j", "{j}", ":dead", "ZSCORE" },
    };
    begin_by_hand();
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char channel[64];
        snprintf(channel, sizeof channel, "redisson_lock__channel:%s%s", cases[i].braced,
                 cases[i].listens);
        const char *const listen[] = { "SUBSCRIBE", channel };
        const char *const take[] = {
            "EVAL", WIRE_REDISSON_ACQUIRE_SCRIPT, "1", cases[i].name, "field", "100000"
        };
        const char *const leave[] = {
            "EVAL", WIRE_REDISSON_RELEASE_SCRIPT, "1", cases[i].name, "field"
        };
        flush_all();
        select_as_admin(0);
        subscriptions[0].fd = connect_server();
        model_session_begin(&node, &subscriptions[0].session);
        say_by_hand(&subscriptions[0], "SUBSCRIBE", listen, 2);
        subscriptions[0].session.out.size = 0;
        say_by_hand(&lines[0], "java acquire", take, 6);
        if (*cases[i].listens) line_up_java_threads(cases[i].braced);
        allow(false, cases[i].refused);
        say_by_hand(&lines[0], "java release", leave, 5);
        allow(true, cases[i].refused);
        check_heard(&subscriptions[0]);
        check_keys();
        close(subscriptions[0].fd);
        model_session_end(&subscriptions[0].session);
    }
    end_by_hand();
}

TEST(what_is_no_mark_is_reported_like_on_a_server)
{
    const char *const words[] = {
        "EVAL", WIRE_MARK_SCRIPT, "1", "f", TOKEN, "10 0123456789abcdef 1 who", "1000", "1000"
    };
    struct request request;
    begin_by_hand();
    put_by_hand("f#done", "x", LONG_MS);
    words_request(&request, "EVAL mark", words, sizeof words / sizeof words[0]);
    exchange(&lines[0], &request);
    end_by_hand();
}

/* The value has the server's history in it, which is not the model's. What is left shows in later
 * answers, its end in PTTL. */
TEST(s31_a_reign_is_as_old_as_on_a_server)
{
    static const struct { const char *value, *epoch, *refused; } steps[] = {
        { NULL, "5", "TIME" }, { NULL, "5", "INFO" }, { NULL, "5", "GET" }, { NULL, "5", "SET" },
        { NULL, "5", NULL }, { NULL, "5", NULL }, { NULL, "4", NULL }, { NULL, "5", "INFO" },
        { NULL, "5", "SET" }, { NULL, "6", NULL }, { NULL, "5", NULL }, { NULL, "6", NULL },
        { "abc 6 1", "6", NULL }, { NULL, "6", NULL }, { "abc 7 1", "6", NULL },
        { NULL, "7", NULL }, { NULL, "7", NULL }, { "no time", "7", NULL }, { NULL, "7", NULL },
    };
    const char *const left[] = { "PTTL", "f" };
    struct request request;
    begin_by_hand();
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0] && tap.complaints == 0; i++) {
        const char *const words[] = { "EVAL", WIRE_PROMOTION_SCRIPT, "1", "f", steps[i].epoch };
        if (steps[i].value) put_by_hand("f", steps[i].value, 0);
        words_request(&request, "EVAL reign", words, sizeof words / sizeof words[0]);
        if (steps[i].refused) allow(false, steps[i].refused);
        exchange(&lines[0], &request);
        if (steps[i].refused) allow(true, steps[i].refused);
        words_request(&request, "PTTL", left, sizeof left / sizeof left[0]);
        exchange(&lines[0], &request);
        nap_ms(4 * BLUR_MS);
    }
    remove_key(0, slice_of("f"));
    end_by_hand();
}

/* All leases end at that time. */
static void move_leases(uint64_t until_ms)
{
    char score[24];
    const char *const words[] = { "EVAL",
                                  "for _, m in ipairs(redis.call('zrange', 'f#lease', 0, -1)) do "
                                  "redis.call('zadd', 'f#lease', ARGV[1], m) end return 1",
                                  "0", score };
    struct model_key *lease = key_find(&node, 0, slice_of("f#lease"), server_us());
    struct request request;
    snprintf(score, sizeof score, "%llu", (unsigned long long)until_ms);
    words_request(&request, "EVAL", words, sizeof words / sizeof words[0]);
    administer(&request);
    for (size_t i = 0; i < lease->entry_count; i++) lease->entries[i].score = until_ms;
}

/* A poll takes out as many as it has tries. */
TEST(a_poll_sees_to_so_many_leases_that_are_over_or_from_before_a_step_like_a_server)
{
    char place[16];
    for (unsigned is_over = 0; is_over < 2; is_over++) {
        begin_by_hand();
        for (unsigned i = 0; i < 70; i++) {
            snprintf(place, sizeof place, "1 2 1 %u", 10 + i);
            poll_by_hand(TOKEN, place);
        }
        move_leases(is_over ? ms_of(server_us()) - 1000 : ms_of(server_us()) + LONG_MS);
        poll_by_hand(TOKEN, "0 3 0 ");
        CHECK_INT(key_find(&node, 0, slice_of("f#queue"), server_us())->entry_count, 6);
        end_by_hand();
    }
}

/* ---- States of readers and writers that dice seldom bring ---- */

struct step {
    enum row row;
    const char *label, *names;  /* A capital letter is the small one's name, which is written. */
    uint8_t token, placed;      /* All of their bytes. */
    uint64_t ticket;            /* After the clock's at the beginning; 0: none. */
    uint32_t ttl_ms, entry;
};

static void take_step(const struct step *step, uint64_t begun_us)
{
    struct redlock_name names[2];
    char letters[2];
    uint8_t token[REDLOCK_TOKEN_SIZE], placed[REDLOCK_TOKEN_SIZE];
    struct request request;
    struct resp_writer writer = begin_request(&request, step->label);
    const struct wire_subject subject = {
        .names = names, .name_count = (unsigned)strlen(step->names), .token = token,
        .placed = placed, .ttl_ms = step->ttl_ms,
        .ticket = step->ticket > 0 ? begun_us + step->ticket : 0, .life_ms = LONG_MS,
        .skew_ms = REDLOCK_SKEW_MS, .engine = engines[0], .wait_number = step->entry,
        .arrived_at = 1
    };
    memset(token, step->token, sizeof token);
    memset(placed, step->placed, sizeof placed);
    for (unsigned i = 0; i < subject.name_count; i++) {
        letters[i] = (char)(step->names[i] | ' ');
        names[i] = (struct redlock_name){
            .bytes = &letters[i], .size = 1, .shared = letters[i] == step->names[i]
        };
        touch_shared(&request, (struct slice){ (const uint8_t *)&letters[i], 1 });
    }
    (void)send_encode(&writer, row_at(step->row).row, REDLOCK_FORM_BY_TEXT, &subject);
    end_request(&request, &writer);
    exchange(&lines[0], &request);
}

TEST(in_rare_states_of_readers_and_writers_the_model_answers_like_a_server)
{
    static const struct step refused = {
        ROW_SHARED_ROLE, "refused role", "R", 2, 1, 2, LONG_MS, 0
    };
    static const struct step steps[] = {
        { ROW_SHARED_ACQUIRE, "shared acquire", "r", 1, 1, 1, LONG_MS, 0 },
        { ROW_SHARED_ROLE, "role with the same ticket", "R", 2, 1, 1, LONG_MS, 0 },
        { ROW_SHARED_ACQUIRE, "shared acquire", "S", 1, 1, 0, LONG_MS, 0 },
        { ROW_WAIT, "wait", "S", 2, 2, 0, LONG_MS, 5 },
        { ROW_SHARED_WAKE, "release of one that is there", "TS", 1, 1, 0, 0, 0 },
        { ROW_SHARED_ACQUIRE, "shared acquire", "v", 1, 1, 0, LONG_MS, 0 },
        { ROW_SHARED_ACQUIRE, "shared acquire", "v", 2, 2, 0, LONG_MS, 0 },
        { ROW_SHARED_ROLE, "role beside another", "V", 3, 1, 0, LONG_MS, 0 },
        { ROW_SHARED_ACQUIRE, "shared acquire", "u", 1, 1, 0, LONG_MS, 0 },
        { ROW_SHARED_ACQUIRE, "shared acquire", "u", 2, 2, 0, SHORT_MS, 0 },
        { ROW_WAIT, "wait", "U", 3, 3, 0, LONG_MS, 6 },
        { ROW_SHARED_ACQUIRE, "shared acquire", "w", 4, 4, 0, LONG_MS, 0 },
    };
    /* The readers of w are there without its key, and one more waits. */
    static const struct step more[] = {
        { ROW_SHARED_ACQUIRE, "shared acquire", "W", 1, 1, 0, LONG_MS, 0 },
        { ROW_WAIT, "wait", "w", 3, 3, 0, LONG_MS, 7 },
        { ROW_SHARED_ROLE, "role of a reader", "w", 2, 1, 0, LONG_MS, 0 },
        { ROW_SHARED_ACQUIRE, "shared acquire", "y", 1, 1, 0, LONG_MS, 0 },
        { ROW_WAIT, "wait", "Y", 5, 5, 0, LONG_MS, 8 },
        { ROW_SHARED_WAKE, "leave the queue", "Y", 5, 5, 0, 0, 8 },
    };
    static const struct step last[] = {
        /* The refused one has left its own. */
        { ROW_SHARED_ROLE, "role with a larger ticket", "R", 2, 1, 3, LONG_MS, 0 },
        { ROW_SHARED_WAKE, "release beside one whose time is over", "u", 1, 1, 0, 0, 0 },
    };
    static struct kind kinds[] = {
        { "shared acquire +OK", 9, 0 }, { "role beside another :-1", 1, 0 },
        { "role with the same ticket :-2", 1, 0 },
        { "wait :ms", 4, 0 }, { "role of a reader :1", 1, 0 }, { "leave the queue :-1", 1, 0 },
        { "release of one that is there :0", 1, 0 },
        { "refused role -ERR The user executing", 1, 0 },
        { "role with a larger ticket :1", 1, 0 },
        { "release beside one whose time is over :2", 1, 0 },
        { NULL, 0, 0 }
    };
    trouble = NULL;
    wanted = kinds;
    begin_pair("");
    do {
        const uint64_t begun_us = server_us();
        round_over = false;
        blur_ms = BLUR_MS;
        flush_all();
        open_lines();
        open_subscriptions();
        for (unsigned i = 0; i < sizeof steps / sizeof steps[0] && !round_over; i++)
            take_step(&steps[i], begun_us);
        if (!round_over) remove_key(0, (struct slice){ (const uint8_t *)"w", 1 });
        for (unsigned i = 0; i < sizeof more / sizeof more[0] && !round_over; i++)
            take_step(&more[i], begun_us);
        allow(false, "PEXPIREAT");
        if (!round_over) take_step(&refused, begun_us);
        allow(true, "PEXPIREAT");
        if (!round_over) check_keys();
        nap_ms(2 * SHORT_MS);
        for (unsigned i = 0; i < sizeof last / sizeof last[0] && !round_over; i++)
            take_step(&last[i], begun_us);
        if (!round_over) check_keys();
        close_subscriptions();
        close_lines();
    } while (round_over && tap.complaints == 0);
    check_kinds();
    end_pair();
}

/* ---- No trouble ---- */

TEST(without_trouble_the_model_answers_like_a_server)
{
    static struct kind kinds[] = {
        { "SET +OK", 300, 0 }, { "SET $-1", 500, 0 }, { "ended: SET +OK", 10, 0 },
        { "SET with a wrong TTL -ERR invalid expire time", 50, 0 },
        { "SET with a wrong TTL -ERR value is not an", 50, 0 },
        { "EVALSHA release :1", 20, 0 }, { "EVALSHA release :0", 50, 0 },
        { "EVALSHA release :-1", 200, 0 },
        { "ended: EVALSHA release :0", 2, 0 }, { "EVALSHA release -NOSCRIPT", 20, 0 },
        { "EVALSHA release -WRONGTYPE", 20, 0 },
        { "EVAL release :1", 20, 0 }, { "EVAL release :0", 20, 0 }, { "EVAL release :-1", 100, 0 },
        { "EVAL release -WRONGTYPE", 10, 0 },
        { "EVALSHA extend :1", 20, 0 }, { "EVALSHA extend :0", 200, 0 },
        { "ended: EVALSHA extend :0", 2, 0 },
        { "EVALSHA extend -NOSCRIPT", 20, 0 }, { "EVALSHA extend -WRONGTYPE", 20, 0 },
        { "EVAL extend :1", 20, 0 }, { "EVAL extend :0", 100, 0 },
        { "EVAL extend -WRONGTYPE", 10, 0 },
        { "EVALSHA unknown -NOSCRIPT", 200, 0 },
        { "EVALSHA release :2", 5, 0 }, { "EVAL release :2", 5, 0 }, { "heard *3", 10, 0 },
        { "SUBSCRIBE *3", 20, 0 },
        { "EVALSHA acquire +OK", 50, 0 }, { "EVAL acquire +OK", 50, 0 },
        { "EVALSHA acquire $", 200, 0 },
        { "EVAL acquire $", 200, 0 }, { "EVALSHA acquire -AHEAD", 20, 0 },
        { "EVAL acquire -AHEAD", 20, 0 },
        { "EVALSHA acquire -WRONGTYPE", 1, 0 }, { "EVALSHA acquire -NOSCRIPT", 5, 0 },
        { "EVAL acquire -ERR user_script:2: attempt to compare", 1, 0 },
        { "EVALSHA restore +OK", 50, 0 }, { "EVAL restore +OK", 50, 0 },
        { "EVALSHA restore $", 100, 0 },
        { "EVAL restore $", 100, 0 }, { "EVALSHA restore -AHEAD", 10, 0 },
        { "EVALSHA restore -WRONGTYPE", 1, 0 },
        { "EVALSHA restore -NOSCRIPT", 5, 0 },
        { "EVAL restore -ERR user_script:2: attempt to compare", 1, 0 },
        { "EVALSHA wait :ms", 50, 0 }, { "EVALSHA wait :-1", 20, 0 }, { "EVALSHA wait :-2", 20, 0 },
        { "EVAL wait :ms", 50, 0 },
        { "EVALSHA wait -NOSCRIPT", 5, 0 },
        { "EVALSHA permit acquire :", 20, 0 }, { "EVAL permit acquire :", 20, 0 },
        { "EVALSHA permit acquire $", 20, 0 },
        { "EVAL permit acquire $", 20, 0 }, { "EVALSHA permit acquire -AHEAD", 2, 0 },
        { "EVALSHA permit acquire -NOSCRIPT", 2, 0 },
        { "EVALSHA permit restore +OK", 5, 0 }, { "EVAL permit restore $5", 5, 0 },
        { "EVALSHA permit restore -AHEAD", 1, 0 },
        { "EVALSHA permit extend :1", 5, 0 }, { "EVAL permit extend :0", 5, 0 },
        { "EVAL permit extend -WRONGTYPE", 1, 0 },
        { "EVALSHA permit release :1", 10, 0 }, { "EVAL permit release :0", 10, 0 },
        { "EVAL permit release :2", 1, 0 },
        { "EVAL permit release -WRONGTYPE", 1, 0 }, { "EVALSHA permit wait :ms", 5, 0 },
        { "EVAL permit wait :-2", 20, 0 },
        { "EVALSHA poll +OK", 20, 0 }, { "EVAL poll +OK", 20, 0 }, { "EVALSHA poll $", 50, 0 },
        { "EVAL poll $", 50, 0 },
        { "EVALSHA poll -AHEAD", 1, 0 }, { "EVALSHA poll -NOSCRIPT", 1, 0 },
        { "EVAL poll -WRONGTYPE", 1, 0 },
        { "EVALSHA leave :1", 5, 0 }, { "EVAL leave :1", 5, 0 }, { "EVALSHA leave :0", 5, 0 },
        { "EVAL leave :-1", 5, 0 },
        { "EVAL leave :2", 1, 0 }, { "EVALSHA leave -WRONGTYPE", 1, 0 },
        { "EVALSHA fair extend :1", 5, 0 },
        { "EVAL fair extend :0", 5, 0 }, { "EVALSHA fair restore +OK", 5, 0 },
        { "EVAL fair restore $5", 5, 0 },
        { "EVALSHA shared acquire +OK", 20, 0 }, { "EVAL shared acquire +OK", 20, 0 },
        { "EVALSHA shared acquire $", 20, 0 },
        { "EVAL shared acquire $", 20, 0 }, { "EVALSHA shared acquire -AHEAD", 1, 0 },
        { "EVALSHA shared acquire -NOSCRIPT", 1, 0 },
        { "EVALSHA shared extend :1", 2, 0 }, { "EVAL shared extend :0", 5, 0 },
        { "EVALSHA role :1", 2, 0 },
        { "EVAL role :1", 2, 0 }, { "EVAL role :0", 5, 0 }, { "EVAL role :-1", 1, 0 },
        { "EVALSHA shared release :1", 2, 0 }, { "EVAL shared release :0", 5, 0 },
        { "EVALSHA both release :1", 2, 0 }, { "EVAL both release :0", 5, 0 },
        { "EVALSHA shared wait :ms", 5, 0 },
        { "EVALSHA java acquire +OK", 5, 0 }, { "EVAL java acquire $", 5, 0 },
        { "EVALSHA java acquire -NOSCRIPT", 1, 0 },
        { "EVALSHA java extend :1", 1, 0 }, { "EVAL java extend :0", 5, 0 },
        { "EVALSHA java release :1", 2, 0 },
        { "EVAL java release :0", 1, 0 }, { "EVAL java release :-1", 2, 0 },
        { "EVAL mark :1", 20, 0 }, { "EVAL mark :0", 50, 0 }, { "EVAL mark $", 20, 0 },
        { "EVAL mark -AHEAD", 10, 0 },
        { "EVAL mark -BEHIND", 10, 0 }, { "EVAL mark -WRONGTYPE", 5, 0 },
        { "PTTL :ms", 200, 0 }, { "PTTL :-1", 50, 0 }, { "PTTL :-2", 50, 0 },
        { "ended: PTTL :-2", 2, 0 },
        { "GETRANGE $40", 200, 0 }, { "GETRANGE $41", 20, 0 }, { "GETRANGE $0", 50, 0 },
        { "GETRANGE $1", 10, 0 },
        { "GETRANGE -WRONGTYPE", 20, 0 }, { "ended: GETRANGE $0", 2, 0 },
        { "AUTH -ERR AUTH <password> called without any password", 20, 0 },
        { "AUTH -WRONGPASS", 20, 0 },
        { "AUTH +OK", 10, 0 },
        { "SELECT +OK", 50, 0 }, { "SELECT -ERR DB index", 20, 0 },
        { "CLIENT +OK", 50, 0 }, { "INFO $", 50, 0 }, { "EVAL nothing $-1", 50, 0 },
        { "SCRIPT $40", 100, 0 },
        { "odd -ERR unknown command", 20, 0 }, { "odd -ERR wrong number of arguments", 50, 0 },
        { NULL, 0, 0 }
    };
    const uint64_t seeds[] = { 1, 2, fresh_seed() };
    trouble = NULL;
    wanted = kinds;
    begin_pair("");
    for (unsigned i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        begin_seed(seeds[i]);
        run_commands(PLAIN_COMMANDS);
    }
    run_until_seen();
    check_kinds();
    end_pair();
}

/* ---- Passwords and permissions ---- */

static void ask_for_password(void)
{
    ASK(&server, "CONFIG", "SET", "requirepass", "secret");
    node.password = "secret";
    login = (struct redlock_login){ .password = "secret" };
}

TEST(before_the_password_the_model_answers_like_a_server)
{
    static const struct trouble password = { .begin = ask_for_password };
    static struct kind kinds[] = {
        { "SET -NOAUTH", 20, 0 }, { "EVALSHA release -NOAUTH", 10, 0 },
        { "EVAL extend -NOAUTH", 5, 0 },
        { "PTTL -NOAUTH", 10, 0 }, { "GETRANGE -NOAUTH", 10, 0 }, { "AUTH +OK", 3, 0 },
        { "AUTH -WRONGPASS", 3, 0 },
        { "odd -ERR wrong number", 3, 0 },
        { "SET +OK", 1, 0 }, { "SCRIPT -NOAUTH", 3, 0 }, { NULL, 0, 0 }
    };
    compare_in(&password, kinds);
}

static void ask_for_user(void)
{
    ASK(&server, "ACL", "SETUSER", "default", "off", ">another");
    ASK(&server, "ACL", "SETUSER", "joe", "reset", "on", ">secret", "~*", "&*", "+@all");
    node.noperm = NULL;
    node.user = "joe";
    node.password = "secret";
    login = (struct redlock_login){ .user = "joe", .password = "secret" };
}

TEST(before_the_login_of_a_user_the_model_answers_like_a_server)
{
    static const struct trouble user = { .begin = ask_for_user };
    static struct kind kinds[] = {
        { "SET -NOAUTH", 20, 0 }, { "EVALSHA release -NOAUTH", 10, 0 }, { "INFO -NOAUTH", 1, 0 },
        { "EVAL nothing -NOAUTH", 1, 0 },
        { "AUTH +OK", 3, 0 }, { "AUTH -WRONGPASS", 3, 0 }, { "SET +OK", 1, 0 }, { NULL, 0, 0 }
    };
    compare_in(&user, kinds);
}

/* Takes some commands from joe, others each time. */
static void forbid_some(void)
{
    static const char *const commands[] = {
        "INFO", "SELECT", "SET", "PTTL", "GETRANGE", "EVAL", "EVALSHA", "SCRIPT", "CLIENT", "GET",
        "DEL", "PEXPIRE", "TIME", "PUBLISH", "ZADD", "ZREM", "ZPOPMIN", "ZRANGE", "ZRANGEBYSCORE",
        "ZSCORE", "ZRANK", "ZREVRANGE", "SUBSCRIBE", "HSET", "HDEL", "HEXISTS", "TYPE"
    };
    enum { COUNT = sizeof commands / sizeof commands[0] };
    static char forbidden[256];
    static unsigned turn;
    ask_for_user();
    forbidden[0] = '\0';
    turn = (turn + 1) % COUNT;
    for (unsigned i = 0; i < COUNT; i++) {
        char rule[16];
        if (i != turn && dice(5) > 0) continue;
        snprintf(rule, sizeof rule, "-%s", commands[i]);
        ASK(&server, "ACL", "SETUSER", "joe", rule);
        snprintf(forbidden + strlen(forbidden), sizeof forbidden - strlen(forbidden), " %s",
                 commands[i]);
    }
    node.noperm = forbidden;
}

TEST(where_an_acl_forbids_commands_the_model_answers_like_a_server)
{
    static const struct trouble acl = {
        .begin = forbid_some, .logs_in = true, .commands = 4000, .round_commands = 25
    };
    static struct kind kinds[] = {
        { "AUTH +OK", 10, 0 },
        { "SET -NOPERM this user has no permissions to run the 'set' command", 5, 0 },
        { "SCRIPT -NOPERM this user has no permissions to run the 'script|load' command", 1, 0 },
        { "CLIENT -NOPERM this user has no permissions to run the 'client|setname' command", 1, 0 },
        { "INFO -NOPERM", 1, 0 }, { "EVAL nothing -NOPERM", 1, 0 }, { "SELECT -NOPERM", 1, 0 },
        { "PTTL -NOPERM", 1, 0 },
        { "GETRANGE -NOPERM", 1, 0 }, { "EVALSHA release -NOPERM", 1, 0 },
        { "EVAL release -NOPERM", 1, 0 },
        { "EVALSHA release -ERR The user executing the script", 1, 0 },
        { "EVALSHA extend -ERR The user executing", 1, 0 },
        { "EVAL acquire -ERR The user executing the script", 1, 0 },
        { "EVAL wait -ERR The user executing", 1, 0 },
        { "EVAL poll -ERR The user executing", 5, 0 }, { "EVAL leave :", 1, 0 },
        { "EVAL poll +OK", 1, 0 },
        { "SUBSCRIBE -NOPERM", 1, 0 }, { "EVAL java acquire -ERR The user executing", 1, 0 },
        { NULL, 0, 0 }
    };
    compare_in(&acl, kinds);
}

static void forbid_publish(void)
{
    ASK(&server, "ACL", "SETUSER", "joe", "-publish");
    node.noperm = "PUBLISH";
}

static void ask_for_user_that_may_not_publish(void)
{
    ask_for_user();
    forbid_publish();
}

/* The script puts the entry back. */
TEST(where_an_acl_forbids_to_publish_the_model_answers_like_a_server)
{
    static const struct trouble acl = {
        .begin = ask_for_user_that_may_not_publish, .logs_in = true
    };
    static struct kind kinds[] = {
        { "EVALSHA release :1", 1, 0 }, { "EVALSHA wait :ms", 20, 0 }, { NULL, 0, 0 }
    };
    compare_in(&acl, kinds);
}

/* ---- Stories in which the dice seldom bring one step after the other ---- */

/* How a client takes a lock, others wait for it, the holder prolongs it, and it is left to them. */
struct manner {
    enum row take, wait, extend, restore, leave;
    bool is_shared;
};

/* A client's command about "r". Nobody listens to the first that waits. */
static struct request story_request(const char *label, enum row row, unsigned client,
                                    bool is_shared, uint32_t ttl_ms)
{
    const struct redlock_place place = {
        .turn = 1 + client, .poll = 1 + client, .renew = true, .entry = client
    };
    struct request request;
    struct resp_writer writer = begin_request(&request, label);
    const struct redlock_name name = { .bytes = "r", .size = 1, .shared = is_shared };
    uint8_t token[REDLOCK_TOKEN_SIZE];
    const struct wire_subject subject = {
        .names = &name, .name_count = 1, .token = token, .placed = token, .ttl_ms = ttl_ms,
        .life_ms = LONG_MS, .skew_ms = REDLOCK_SKEW_MS,
        .engine = engines[(SUBSCRIPTIONS + client - 1) % (SUBSCRIPTIONS + 1)],
        .wait_number = client, .arrived_at = 1 + client, .permit = { .count = 1, .slot = 1 },
        .place = &place
    };
    memset(token, (int)(0x50 + client), sizeof token);
    (void)send_encode(&writer, row_at(row).row, REDLOCK_FORM_BY_TEXT, &subject);
    end_request(&request, &writer);
    return request;
}

static void story_step(const char *label, enum row row, unsigned client, bool is_shared,
                       uint32_t ttl_ms)
{
    const struct request request = story_request(label, row, client, is_shared, ttl_ms);
    exchange(&lines[0], &request);
}

/* Some wait until the holder leaves. What they hear and the keys that are left then are the same,
 * whatever is forbidden before that. */
static void leave_to_waiters(const struct manner *manner, unsigned count, void (*forbid)(void))
{
    const bool is_fair = manner->take == ROW_FAIR_ACQUIRE;
    const char *const take = is_fair ? "poll" : "acquire";
    flush_all();
    if (trouble->begin) trouble->begin();
    open_lines();
    open_subscriptions();
    story_step(take, manner->take, 0, manner->is_shared, LONG_MS);
    for (unsigned i = 1; i <= count; i++)
        story_step(is_fair ? take : "wait", manner->wait, i, false, LONG_MS);
    for (unsigned i = 0; i < 2; i++) {
        story_step("extend", manner->extend, i, manner->is_shared, 2 * LONG_MS);
        story_step("acquire again", manner->restore, i, manner->is_shared, 3 * LONG_MS);
    }
    check_keys();
    if (forbid) forbid();
    for (unsigned i = 0; i < 2; i++)
        story_step("leave", manner->leave, 0, manner->is_shared, LONG_MS);
    check_keys();
    story_step(take, manner->take, 1, false, LONG_MS);
    check_keys();
    close_subscriptions();
    close_lines();
}

static void leave_in_each_manner(const struct trouble *what, void (*forbid)(void))
{
    static const struct manner manners[] = {
        { ROW_ACQUIRE, ROW_WAIT, ROW_EXTEND, ROW_RESTORE, ROW_WAKE, false },
        { ROW_SHARED_ACQUIRE, ROW_WAIT, ROW_SHARED_EXTEND, ROW_SHARED_RESTORE, ROW_SHARED_WAKE,
          true },
        { ROW_SHARED_ACQUIRE, ROW_WAIT, ROW_SHARED_EXTEND, ROW_SHARED_RESTORE, ROW_SHARED_WAKE,
          false },
        { ROW_PERMIT_ACQUIRE, ROW_PERMIT_WAIT, ROW_PERMIT_EXTEND, ROW_PERMIT_RESTORE,
          ROW_PERMIT_WAKE, false },
        { ROW_FAIR_ACQUIRE, ROW_FAIR_ACQUIRE, ROW_FAIR_EXTEND, ROW_FAIR_RESTORE, ROW_FAIR_WAKE,
          false },
    };
    enum { MANNERS = sizeof manners / sizeof manners[0] };
    static struct kind kinds[] = {
        { "acquire +OK", 2 * (MANNERS - 2), 0 }, { "acquire :1", 2, 0 }, { "poll +OK", 2, 0 },
        { "wait :ms", 4 * (MANNERS - 1), 0 }, { "poll $", 4, 0 },
        { "extend :1", 2 * MANNERS, 0 }, { "extend :0", 2 * MANNERS, 0 },
        { "acquire again +OK", 2 * MANNERS, 0 },
        { "leave :", 4 * MANNERS, 0 }, { NULL, 0, 0 }
    };
    for (struct kind *kind = kinds; kind->begins; kind++) kind->times = 0;
    trouble = what;
    wanted = kinds;
    round_over = false;
    begin_pair("");
    for (unsigned i = 0; i < MANNERS; i++) {
        leave_to_waiters(&manners[i], 1, forbid);
        leave_to_waiters(&manners[i], SUBSCRIPTIONS + 1, forbid);
    }
    check_kinds();
    end_pair();
}

/* The hint of a writer that no longer listens goes with the last reader, or readers would step back
 * for nobody. */
TEST(a_lock_is_left_to_those_that_listen_like_on_a_server)
{
    static const struct trouble none = { .begin = NULL };
    leave_in_each_manner(&none, NULL);
}

TEST(an_entry_is_put_back_if_nobody_may_be_told_like_on_a_server)
{
    static const struct trouble acl = { .begin = ask_for_user, .logs_in = true };
    leave_in_each_manner(&acl, forbid_publish);
}

static void forbid_publish_and_pexpire(void)
{
    ASK(&server, "ACL", "SETUSER", "joe", "-publish", "-pexpire");
    node.noperm = "PUBLISH PEXPIRE";
}

/* It would stay for ever. */
TEST(no_entry_is_put_back_into_a_set_that_can_have_no_life)
{
    static const struct trouble acl = { .begin = ask_for_user, .logs_in = true };
    leave_in_each_manner(&acl, forbid_publish_and_pexpire);
}

/* The model knows no keys that are hidden, so only the server is asked. */
TEST(a_release_wakes_a_waiter_though_an_acl_hides_the_flag)
{
    static const struct manner manners[] = {
        { .take = ROW_ACQUIRE, .wait = ROW_WAIT, .leave = ROW_WAKE },
        { .take = ROW_PERMIT_ACQUIRE, .wait = ROW_PERMIT_WAIT, .leave = ROW_PERMIT_WAKE },
    };
    static const struct trouble acl = { .begin = ask_for_user, .logs_in = true };
    static struct kind none[] = { { NULL, 0, 0 } };
    trouble = &acl;
    wanted = none;
    begin_pair("");
    for (unsigned i = 0; i < sizeof manners / sizeof manners[0]; i++) {
        ask_for_user();
        open_lines();
        open_subscriptions();
        story_step("acquire", manners[i].take, 0, false, LONG_MS);
        story_step("wait", manners[i].wait, 2, false, LONG_MS);
        ASK(&server, "ACL", "SETUSER", "joe", "resetkeys", "~r", "~r#waiters", "~r:1",
            "~r:#waiters");
        const struct request request = story_request("leave", manners[i].leave, 0, false, LONG_MS);
        const struct slice reply = ask_server(lines[0].fd, &request);
        CHECK_MEM(reply.data, reply.size, ":2\r\n", 4);
        round_over = true;      /* The two have different keys now. */
        close_subscriptions();
        close_lines();
        round_over = false;
    }
    end_pair();
}

/* ---- Writes refused ---- */

static void fill_memory(void)
{
    ASK(&server, "CONFIG", "SET", "maxmemory", "1");
    node.condition = MODEL_OUT_OF_MEMORY;
}

static void free_memory(void)
{
    ASK(&server, "CONFIG", "SET", "maxmemory", "0");
    node.condition = MODEL_WELL;
}

TEST(out_of_memory_the_model_answers_like_a_server)
{
    static const struct trouble memory = { .begin = fill_memory, .end = free_memory,
                                           .listens_first = true };
    static struct kind kinds[] = {
        { "SET -OOM", 50, 0 }, { "EVAL acquire -OOM", 1, 0 }, { "EVAL wait -OOM", 10, 0 },
        { "EVALSHA release :1", 1, 0 },
        { "EVALSHA release :-1", 5, 0 }, { "EVALSHA extend :1", 1, 0 },
        { "EVALSHA release -WRONGTYPE", 1, 0 }, { "PTTL :ms", 10, 0 }, { "GETRANGE $40", 5, 0 },
        { "EVAL fair extend :1", 1, 0 }, { "EVAL poll -OOM", 1, 0 }, { "EVAL poll $", 1, 0 },
        { "EVAL leave :", 1, 0 },
        { NULL, 0, 0 }
    };
    compare_in(&memory, kinds);
}

static void lose_replicas(void)
{
    ASK(&server, "CONFIG", "SET", "min-replicas-to-write", "1");
    node.condition = MODEL_NO_REPLICAS;
}

static void need_no_replicas(void)
{
    ASK(&server, "CONFIG", "SET", "min-replicas-to-write", "0");
    node.condition = MODEL_WELL;
}

TEST(without_its_replicas_the_model_answers_like_a_server)
{
    static const struct trouble replicas = { .begin = lose_replicas, .end = need_no_replicas };
    static struct kind kinds[] = {
        { "SET -NOREPLICAS", 50, 0 }, { "EVAL acquire -NOREPLICAS", 1, 0 },
        { "EVALSHA release -NOREPLICAS", 1, 0 },
        { "EVALSHA extend -NOREPLICAS", 1, 0 },
        { "EVALSHA release :-1", 5, 0 }, { "EVALSHA extend :0", 5, 0 }, { NULL, 0, 0 }
    };
    compare_in(&replicas, kinds);
}

/* A directory stands where the snapshot should go, so not even root can write it. */
static void fail_snapshot(void)
{
    char path[SERVER_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/dump.rdb", server.directory);
    if (mkdir(path, 0700) == 0) {
        snprintf(path, sizeof path, "%s/dump.rdb/x", server.directory);
        (void)mkdir(path, 0700);
        ASK(&server, "BGSAVE");
        CHECK_SOON(strstr(ASK(&server, "INFO", "persistence"), "rdb_last_bgsave_status:err"));
    }
    ASK(&server, "CONFIG", "SET", "save", "3600 1000000");
    node.condition = MODEL_MISCONF;
}

static void need_no_snapshot(void)
{
    ASK(&server, "CONFIG", "SET", "save", "");
    node.condition = MODEL_WELL;
}

TEST(after_a_snapshot_that_failed_the_model_answers_like_a_server)
{
    static const struct trouble snapshot = { .begin = fail_snapshot, .end = need_no_snapshot };
    static struct kind kinds[] = {
        { "SET -MISCONF", 50, 0 }, { "EVAL acquire -MISCONF", 1, 0 },
        { "EVALSHA release -MISCONF", 1, 0 },
        { "EVALSHA extend -MISCONF", 1, 0 },
        { "EVALSHA release :-1", 5, 0 }, { "EVALSHA extend :0", 5, 0 }, { NULL, 0, 0 }
    };
    compare_in(&snapshot, kinds);
}

/* It becomes a replica of a master that nobody can reach. */
static void become_replica(void)
{
    ASK(&server, "REPLICAOF", "127.0.0.1", "1");
    node.role = MODEL_REPLICA;
}

/* S30: it has taken over a history from then on. The model cannot know where that ends, so the test
 * sets it. */
static void become_master(void)
{
    static const char key[] = "second_repl_offset:";
    const char *line;

    ASK(&server, "REPLICAOF", "NO", "ONE");
    line = strstr(ASK(&server, "INFO", "replication"), key);
    CHECK(line && line[strlen(key)] != '-');
    node.second_offset = line ? strtoull(line + strlen(key), NULL, 10) : 0;
    node.role = MODEL_MASTER;
    node.condition = MODEL_WELL;
}

TEST(as_a_replica_the_model_answers_like_a_server)
{
    static const struct trouble replica = { .begin = become_replica, .end = become_master };
    static struct kind kinds[] = {
        { "SET -READONLY", 50, 0 }, { "EVAL acquire -READONLY", 1, 0 },
        { "EVAL wait -READONLY", 10, 0 },
        { "EVALSHA release -READONLY", 1, 0 }, { "EVALSHA extend -READONLY", 1, 0 },
        { "EVALSHA release :-1", 5, 0 }, { "EVALSHA extend :0", 5, 0 },
        { "EVAL nothing $-1", 2, 0 }, { "PTTL :ms", 10, 0 },
        { NULL, 0, 0 }
    };
    compare_in(&replica, kinds);
}

static void lose_master(void)
{
    become_replica();
    node.condition = MODEL_MASTER_DOWN;
}

TEST(as_a_replica_that_will_not_serve_stale_data_the_model_answers_like_a_server)
{
    static const struct trouble stale = {
        .begin = lose_master, .end = become_master, .config = "replica-serve-stale-data no\n"
    };
    static struct kind kinds[] = {
        { "SET -READONLY", 50, 0 }, { "EVALSHA release -MASTERDOWN", 5, 0 },
        { "EVALSHA unknown -NOSCRIPT", 20, 0 },
        { "EVAL extend -MASTERDOWN", 5, 0 }, { "PTTL -MASTERDOWN", 20, 0 },
        { "GETRANGE -MASTERDOWN", 20, 0 },
        { "SCRIPT $40", 2, 0 }, { "INFO $", 2, 0 }, { "EVAL nothing -MASTERDOWN", 2, 0 },
        { NULL, 0, 0 }
    };
    compare_in(&stale, kinds);
}

/* ---- Nothing but errors ---- */

static int busy_fd;

static void become_busy(void)
{
    busy_fd = TELL(&server, "EVAL", "while true do end", "0");
    CHECK_SOON(strncmp(ASK(&server, "PING"), "-BUSY", 5) == 0);
    node.condition = MODEL_BUSY;
}

static void end_busy(void)
{
    ASK(&server, "SCRIPT", "KILL");
    close(busy_fd);
    CHECK_SOON(strcmp(ASK(&server, "PING"), "PONG") == 0);
    node.condition = MODEL_WELL;
}

TEST(in_a_long_script_the_model_answers_like_a_server)
{
    static const struct trouble busy = {
        .begin = become_busy, .end = end_busy, .config = "busy-reply-threshold 1\n"
    };
    static struct kind kinds[] = {
        { "SET -BUSY", 50, 0 }, { "EVALSHA release -BUSY", 20, 0 }, { "PTTL -BUSY", 20, 0 },
        { "INFO -BUSY", 2, 0 },
        { "AUTH -", 2, 0 }, { "odd -ERR wrong number", 2, 0 }, { NULL, 0, 0 }
    };
    compare_in(&busy, kinds);
}

/* A restart with so much to load, and so slowly, that it takes 20 s. */
static void begin_loading(void)
{
    ASK(&server, "EVAL", "for i = 1, 20000 do redis.call('set', i, string.rep('x', 1100)) end",
        "0");
    ASK(&server, "SAVE");
    server_crash(&server);
    server_launch(&server);
    CHECK_SOON(strncmp(ASK(&server, "PING"), "-LOADING", 8) == 0);
    node.condition = MODEL_LOADING;
    node.started_us = server_us();
}

TEST(while_loading_the_model_answers_like_a_server)
{
    static const struct trouble loading = {
        .begin = begin_loading,
        .keyless = true,
        .commands = 900,
        .round_commands = 900,
        .config =
            "rdbcompression no\nloading-process-events-interval-bytes 1024\nkey-load-delay 1000\n"
    };
    static struct kind kinds[] = {
        { "SET -LOADING", 50, 0 }, { "EVALSHA release -LOADING", 20, 0 },
        { "PTTL -LOADING", 20, 0 },
        { "SCRIPT -LOADING", 3, 0 },
        { "SELECT +OK", 1, 0 }, { "INFO $", 2, 0 }, { "EVAL nothing -LOADING", 2, 0 },
        { "AUTH ", 2, 0 }, { NULL, 0, 0 }
    };
    compare_in(&loading, kinds);
}

static void become_cluster(void)
{
    node.mode = "cluster";
    node.condition = MODEL_CLUSTER_DOWN;
}

TEST(as_a_node_of_a_cluster_without_slots_the_model_answers_like_a_server)
{
    static const struct trouble cluster = {
        .begin = become_cluster, .keyless = true, .config = "cluster-enabled yes\n"
    };
    static struct kind kinds[] = {
        { "SET -CLUSTERDOWN", 50, 0 }, { "EVALSHA release -CLUSTERDOWN", 20, 0 },
        { "PTTL -CLUSTERDOWN", 20, 0 },
        { "SCRIPT $40", 3, 0 }, { "INFO $", 2, 0 }, { "EVAL nothing $-1", 2, 0 },
        { "SELECT -ERR SELECT is not allowed", 1, 0 },
        { NULL, 0, 0 }
    };
    compare_in(&cluster, kinds);
}

static void become_sentinel(void)
{
    node.mode = "sentinel";
    node.role = MODEL_SENTINEL;
}

TEST(as_a_sentinel_the_model_answers_like_a_server)
{
    static const struct trouble sentinel = {
        .begin = become_sentinel, .keyless = true,
        .config = "sentinel resolve-hostnames no\nsentinel monitor mymaster 127.0.0.1 1 1\n"
    };
    static struct kind kinds[] = {
        { "SET -ERR unknown command 'SET'", 50, 0 }, { "EVALSHA release -ERR unknown", 20, 0 },
        { "INFO $", 2, 0 },
        { "EVAL extend -ERR unknown", 5, 0 }, { "SCRIPT -ERR unknown", 3, 0 },
        { "SELECT -ERR unknown", 1, 0 },
        { "EVAL nothing -ERR unknown", 2, 0 }, { NULL, 0, 0 }
    };
    compare_in(&sentinel, kinds);
}

TAP_MAIN
