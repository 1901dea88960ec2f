/* The nodes' CPU time, as INFO reports it. */
#define _GNU_SOURCE
#include "bench.h"

#include "../../redlock/redlock_client.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS_TEXT = 2048 };

struct bench_servers {
    struct redlock_client client;
    struct redlock_question question;
    char buffer[SERVERS_TEXT], text[SERVERS_TEXT];
};

struct bench_servers *bench_servers_open(const struct bench_options *options)
{
    struct bench_servers *s = calloc(1, sizeof *s);
    struct redlock_options o;

    redlock_options_init(&o);
    o.engine.guard_ms = 0;
    o.engine.node_timeout_ms = BENCH_CONNECT_MS;
    if (!s || redlock_open(&s->client, options->nodes, &o, NULL) != REDLOCK_OK ||
        redlock_connect(&s->client, BENCH_CONNECT_MS) != REDLOCK_OK) {
        fprintf(stderr, "redlock-bench: a client that asks the servers does not connect\n");
        exit(1);
    }
    return s;
}

void bench_servers_close(struct bench_servers *s)
{
    redlock_close(&s->client, 0);
    free(s);
}

/* "used_cpu_user:0.012345" */
static double read_field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtod(at + strlen(name), NULL) : 0;
}

/* Reads the text of the reply, which comes in pieces. */
static void read_text(struct bench_servers *s)
{
    struct redlock_item item;
    size_t size = 0;

    while (redlock_next_item(&s->question, &item)) {
        if (item.type != REDLOCK_ITEM_BULK || item.size >= sizeof s->text - size) break;
        memcpy(s->text + size, item.bytes, item.size);
        size += item.size;
    }
    s->text[size] = '\0';
}

/* A node that is not there has spent nothing. */
static double ask(struct bench_servers *s, unsigned k)
{
    static const struct redlock_name words[] = {
        { .bytes = "INFO", .size = 4 }, { .bytes = "cpu", .size = 3 }
    };
    struct redlock *r = &s->client.engine;

    if (redlock_ask(r, &s->question, k, words, 2, s->buffer, sizeof s->buffer, redlock_now_us()) !=
        REDLOCK_OK)
        return 0;
    while (s->question.status == REDLOCK_PENDING && redlock_step(&s->client) == REDLOCK_OK)
        (void)poll(NULL, 0, 1);
    read_text(s);
    return read_field(s->text, "used_cpu_user:") + read_field(s->text, "used_cpu_sys:");
}

double bench_servers_cpu_us(struct bench_servers *s)
{
    double seconds = 0;

    (void)redlock_step(&s->client);
    for (unsigned k = 0; k < s->client.engine.node_count; k++) seconds += ask(s, k);
    return seconds * 1e6;
}
