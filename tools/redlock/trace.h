/* What the engine does, on stderr as it happens: time, node, direction, command or reply, the vote
 * it means, and how the verdict is reckoned. A printer of the engine's events, and of the bytes
 * that pass, which it takes apart into words and does not understand: what they mean, and which of
 * them are secret, the events say. Looks on and changes nothing. */
#ifndef TRACE_H
#define TRACE_H

#include "../../redlock/redlock_client.h"
#include "../../resp/resp.h"
#include "news.h"

#ifndef TRACE_EVENTS
/* Between two looks: of each session that is lost the commands that were under way, and more. */
#define TRACE_EVENTS 1024
#endif

enum {
    TRACE_WINDOW = 256,     /* Bytes of one direction of one node that are looked at together. */
    TRACE_TEXT_MAX = 192,   /* A command or reply in words; what is longer is cut. */
    TRACE_OUT_MAX = 64 * 1024,
    /* Commands of one node that are in the send buffer; more than its pipeline, a power of two. */
    TRACE_SENT_MAX = 64,
    TRACE_SESSIONS_MAX = REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true)
};

enum trace_mode {
    TRACE_NOTHING,
    TRACE_VOTES,            /* Without the handshakes. */
    TRACE_ALL
};

/* One direction of one session: the words of the command or reply under way. */
struct trace_stream {
    struct resp_parser parser;
    uint8_t window[TRACE_WINDOW];
    size_t have;
    unsigned words, keys;       /* That have been read; of a script, how many keys it has. */
    unsigned count;             /* How many words there are. */
    /* The script is one of such locks: its arguments have other names. */
    bool is_of_shared, is_of_fair;
    enum redlock_command command;
    enum redlock_form form;
    size_t used;
    char text[TRACE_TEXT_MAX];
};

struct trace_sent {
    uint8_t command, form;      /* enum redlock_command, enum redlock_form */
};

/* One connection: to a node, or its subscription. */
struct trace_session {
    struct trace_stream sent, received;
    /* Commands whose bytes have not left yet; counted on without end: */
    struct trace_sent asked[TRACE_SENT_MAX];
    unsigned first, end;
    /* Events were lost: which bytes are whose is not known until the next connection. */
    bool is_blind;
};

struct trace {
    struct redlock_client *client;      /* NULL: it is closed. */
    unsigned node_count;
    enum trace_mode mode;
    uint64_t began_at;      /* 0: nothing has happened. */
    uint64_t last_at;       /* Of the line printed last. */
    uint32_t round;         /* Which began last, */
    uint16_t not_asked;     /* and the nodes of which it was told that they have no vote in it, */
    uint16_t unknown;       /* and whose vote is unknown. */
    bool extends;           /* It is a round of extensions. */
    enum redlock_status verdict;        /* Of the last round to acquire. */
    uint64_t lost;          /* Events, as far as it was told. */
    unsigned receiving;     /* Which session the bytes below are of, */
    const uint8_t *bytes;   /* that have been received and were not looked at. */
    size_t size;
    size_t out_used;
    /* Lines that are written when the step is over: writing takes a round's time. */
    char out[TRACE_OUT_MAX];
    struct news *news;                  /* What others take from each event. NULL: nobody does. */
    struct redlock_event_ring events;
    struct redlock_event ring[TRACE_EVENTS];
    struct trace_session sessions[TRACE_SESSIONS_MAX];
};

/* Begins: client is open, and has not done a step. It is looked at while there is traffic, and must
 * stay until trace_end. */
void trace_begin(struct trace *trace, struct redlock_client *client, enum trace_mode mode);

/* For struct redlock_options; context is the trace. */
void trace_traffic(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what,
                   const void *data, size_t size);

/* Writes what has happened. To be called after each step. */
void trace_flush(struct trace *trace);

/* The same behind redlock_close. */
void trace_end(struct trace *trace);

#endif
