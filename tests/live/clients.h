/* Shared by the live tests, which open clients of the library and look at them. Knows the public
 * headers only. */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <stdio.h>
#include <string.h>

#include "../../redlock/redlock_client.h"
#include "../tap.h"
#include "servers.h"

enum {
    TTL_MS = 30000,         /* Longer than SOON_MS, so a missing key has not just run out. */
    /* A node timeout that only a node in trouble meets, however busy the machine. */
    PATIENCE_MS = 10000,
    /* Returns as soon as the nodes that answer have confirmed all releases. */
    CLOSE_MS = 10000
};

/* No guard, since the servers were started a moment ago and all is thrown away. */
static inline struct redlock_options throw_away_options(void)
{
    struct redlock_options options;
    redlock_options_init(&options);
    options.engine.guard_ms = 0;
    options.engine.node_timeout_ms = PATIENCE_MS;
    options.engine.retry_ms = 20;
    return options;
}

/* Connects to nothing yet, since the first operation does. */
static inline bool open_client(struct redlock_client *c, const char *nodes)
{
    const struct redlock_options options = throw_away_options();
    return redlock_open(c, nodes, &options, NULL) == REDLOCK_OK;
}

/* Opens, and returns when every node has a vote, so that later requests go to all of them. */
static inline bool join(struct redlock_client *c, const char *nodes)
{
    bool all_vote = open_client(c, nodes) && redlock_connect(c, PATIENCE_MS) == REDLOCK_OK;
    for (unsigned k = 0; k < c->engine.node_count; k++)
        all_vote &= redlock_node_votes(&c->engine, k, redlock_now_us());
    return all_vote;
}

/* Like open_client with another node timeout, for tests in which a node meets it. */
static inline bool open_hasty_client(struct redlock_client *c, const char *nodes,
                                     uint32_t node_timeout_ms)
{
    struct redlock_options options = throw_away_options();
    options.engine.node_timeout_ms = node_timeout_ms;
    return redlock_open(c, nodes, &options, NULL) == REDLOCK_OK;
}

static inline bool votes(struct redlock_client *c, unsigned k)
{
    return redlock_node_votes(&c->engine, k, redlock_now_us());
}

static inline enum redlock_trouble trouble(struct redlock_client *c, unsigned k)
{
    return redlock_view_node(&c->engine, k, redlock_now_us()).trouble;
}

/* The library's words about node k. The buffer is static, and valid until the next call. */
static inline const char *words(struct redlock_client *c, unsigned k)
{
    static char text[256];
    redlock_describe_node(&c->engine, k, redlock_now_us(), text, sizeof text);
    return text;
}

static inline const char *token_of(const struct redlock_lock *lock)
{
    static char text[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(lock, text);
    return text;
}

static inline bool key_is(const struct server *s, const char *key, const char *value)
{
    return strcmp(ASK(s, "GET", key), value) == 0;
}

static inline bool key_is_on_all(const struct server *servers, unsigned count, const char *key,
                                 const char *value)
{
    for (unsigned k = 0; k < count; k++)
        if (!key_is(&servers[k], key, value)) return false;
    return true;
}

static inline bool key_is_gone(const struct server *servers, unsigned count, const char *key)
{
    for (unsigned k = 0; k < count; k++)
        if (strcmp(ASK(&servers[k], "EXISTS", key), "0") != 0) return false;
    return true;
}

/* The node's own time left of a key, as PTTL gives it. */
static inline long pttl(const struct server *s, const char *key)
{
    long ms = -3;
    (void)sscanf(ASK(s, "PTTL", key), "%ld", &ms);
    return ms;
}

/* How often a server has executed a command since CONFIG RESETSTAT. */
static inline unsigned executed(const struct server *s, const char *command)
{
    char name[64];
    unsigned calls = 0;
    snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    const char *line = strstr(ASK(s, "INFO", "commandstats"), name);
    if (line) (void)sscanf(line + strlen(name), "%u", &calls);
    return calls;
}

#define CHECK_STATUS(actual, expected) \
    do { \
        const enum redlock_status status_is = (actual), status_should = (expected); \
        TAP_CHECK(status_is == status_should, "%s is %d (%s), not %s", #actual, (int)status_is, \
                  redlock_status_text(status_is), #expected); \
    } while (0)

#define CHECK_WORDS(c, k, part) \
    do { \
        const char *words_are = words((c), (k)); \
        TAP_CHECK(strstr(words_are, (part)), "of node %u it says \"%s\", not \"%s\"", \
                  (unsigned)(k), words_are, (part)); \
    } while (0)

#endif
