/* redlock_sentinel: a master that Redis Sentinel watches, as one node. Optional. A program that
 * does not call redlock_use_sentinels links none of it, and an address of this form is
 * then a BAD_ADDRESS.
 *
 *     static struct redlock_sentinels sentinels;
 *     redlock_options_init(&options);
 *     redlock_use_sentinels(&options, &sentinels);
 *     redlock_open(&client, "sentinel://10.0.0.1,10.0.0.2,10.0.0.3/mymaster", &options, &mistake);
 *
 *     sentinel://[[user]:password@]host[:port],host[:port],.../name
 *     sentinels://...             the same with TLS (redlock_tls.h), also to the master
 *
 * The login is for the sentinels. The master's is that of the options. All clients name the same
 * sentinels, and all of them (S1).
 *
 * The rule is S31. A majority of these sentinels has to name the master, asked anew with each batch
 * of commands, before an answer of the master counts. Two majorities have a sentinel in common, and
 * a sentinel never goes back to an earlier master without another failover. So once a majority has
 * named a new master, no answer of an old one counts that was asked for later, although it may live
 * on behind a partition. A master that reigns since a failover has no vote for the guard, and by
 * then all locks of the one before have ended. Nothing is asked of the servers' configuration.
 *
 * Each client leaves the time of its first contact on a new master, unless it is there, and counts
 * the guard from that time. So commands that run shortly wait for the guard once, not
 * each time (redlock_use_promotions).
 *
 * It costs one more message to each sentinel for each batch, at the same time as the batch itself.
 * Without a majority of the sentinels nobody acquires or extends.
 *
 * It relies on sentinels that remember across a restart, as they do by their file; and on SENTINEL
 * RESET, REMOVE and MONITOR being left alone while there are locks. It needs a transport that has
 * addresses. With TLS the certificate of the master is for the host as the sentinels name it, which
 * is its IP address unless their "sentinel announce-hostnames" is yes.
 *
 * Memory:  the caller's; it stays as long as the client is open, and belongs to one client. Fields
 *          are private.
 * Threads: the client's. */
#ifndef REDLOCK_SENTINEL_H
#define REDLOCK_SENTINEL_H

#include "redlock_client.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* Of all nodes together. A client waits for REDLOCK_FDS_MAX descriptors at most, too. */
    REDLOCK_SENTINELS_MAX = 16,
    /* Bytes of the name that the sentinels have for the master. */
    REDLOCK_MASTER_NAME_MAX = 64,
    REDLOCK_SENTINEL_PORT = 26379
};

/* The answer that is being read. Private. */
struct redlock_sentinel_answer {
    uint16_t lines_left;                /* 0: none is. */
    uint8_t field;                      /* Whose value comes next. */
    char host[256], port[8], epoch[24];
};

/* One sentinel. Private. */
struct redlock_sentinel {
    struct redlock_target target;
    uint8_t state;                      /* enum sentinel_state in client_sentinel.c */
    uint8_t node;                       /* The node whose master it is asked for. */
    uint8_t skipped;                    /* Answers before the one to the question. */
    bool has_asked, has_answered;       /* On this connection. */
    uint16_t send_start, send_end, receive_end;
    uint64_t asked_turn, answered_turn; /* See redlock_watched.turn. 0: none. */
    uint64_t alarm_at;
    uint64_t epoch;
    /* Its last answer; empty: it knows no master of that name. */
    char master[REDLOCK_ADDRESS_MAX];
    struct redlock_sentinel_answer answer;
    char error[80];
    char send[1200], receive[512];
};

/* A node whose master sentinels name. Private. */
struct redlock_watched {
    uint8_t first, count;               /* Its sentinels. 0: it is a server like any other. */
    /* The number of the last question that somebody wants to be asked. */
    uint64_t turn;
    uint32_t number;                    /* Of its masters, so far. */
    uint64_t epoch;                     /* Of the failover that made it one; 0: none did. */
    char name[REDLOCK_MASTER_NAME_MAX + 1];
    char master[REDLOCK_ADDRESS_MAX];
};

/* What a session waits for. Private. */
struct redlock_gate {
    /* A majority must have answered a question of this turn. 0: for nothing. */
    uint64_t turn;
    uint64_t late_at;
    uint32_t number;                    /* The master to which it is connected. */
};

struct redlock_sentinels {
    const struct redlock_sentinel_calls *calls;
    struct redlock_promotions promotions;
    unsigned count;
    struct redlock_sentinel list[REDLOCK_SENTINELS_MAX];
    struct redlock_watched watched[REDLOCK_NODES_MAX];
    struct redlock_gate gates[REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true)];
};

/* Nodes at sentinel:// and sentinels:// addresses are taken from now on. */
void redlock_use_sentinels(struct redlock_options *options, struct redlock_sentinels *sentinels);

#ifdef __cplusplus
}
#endif
#endif
