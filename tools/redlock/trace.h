/* The wire as it happens, on stderr: time, node, direction, command or reply, the vote it means, and how the verdict is
 * reckoned. Passwords are left out. Looks on and changes nothing. */
#ifndef TRACE_H
#define TRACE_H

#include "../../redlock/redlock_client.h"
#include "../../resp/resp.h"

enum {
    TRACE_WINDOW = 256,     /* Bytes of one direction of one node that are looked at together. */
    TRACE_TEXT_MAX = 128,   /* A command or reply in words; what is longer is cut. */
    TRACE_LINE_MAX = 64,    /* "run_id:" and 40 digits, and more; longer lines of INFO are not shown. */
    TRACE_OUT_MAX = 64 * 1024,
    TRACE_ASKED_MAX = 256,  /* Commands of one node without an answer that are remembered; a power of two. */
    TRACE_SESSIONS_MAX = REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true)
};

/* One direction of one node: what has been read of it and not been printed. */
struct trace_stream {
    struct resp_parser parser;
    uint8_t window[TRACE_WINDOW];
    size_t have;
    unsigned items;         /* How many items of the command or reply under way have been read. */
    bool is_secret;         /* The rest of it is not shown. */
    uint8_t kind;           /* Of a command: enum kind in trace.c. */
    int64_t integer;        /* Of a reply that is a number. */
    size_t line_used;       /* Of INFO's reply: the line that is being read. */
    char line[TRACE_LINE_MAX];
    size_t used;
    char text[TRACE_TEXT_MAX];
};

/* A command that was sent and is not answered. */
struct trace_asked {
    uint8_t kind;
    uint32_t round;         /* In which round of the lock. */
};

/* One connection: to a node, or its ear. */
struct trace_node {
    struct trace_stream sent, received;
    struct trace_asked asked[TRACE_ASKED_MAX];
    unsigned first, end;    /* Of asked; counted on without end. */
};

struct trace {
    struct redlock_client *client;
    const struct redlock_lock *lock;
    const char *operation;  /* "acquire", "extend", "release", "status" */
    uint64_t began_at;      /* 0: nothing has happened. */
    uint64_t last_at;       /* Of the line printed last. */
    uint32_t begun, judged; /* The rounds whose beginning, and whose verdict, were printed last. */
    const char *begun_operation;    /* What the first of them is about. */
    size_t out_used;
    char out[TRACE_OUT_MAX];    /* Lines that are written when the step is over: writing takes a round's time. */
    struct trace_node nodes[TRACE_SESSIONS_MAX];
};

/* Begins. Both are looked at while there is traffic, and must stay. */
void trace_init(struct trace *trace, struct redlock_client *client, const struct redlock_lock *lock);

/* For struct redlock_options; context is the trace. */
void trace_traffic(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what, const void *data, size_t size);

/* Writes what has happened, and been decided by the clock alone. To be called after each step. */
void trace_flush(struct trace *trace);

#endif
