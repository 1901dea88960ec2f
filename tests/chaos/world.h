/* The world of a chaos run has five redis-servers, each in a place of its own, and a crew of client
 * processes that live in two houses. A server can thus be out of reach for some clients and
 * not for others.
 * If the machine allows no network of our own, all are on the loopback instead and there
 * are no links.
 *
 * Does as it is told, when it is told; faults.c decides what to do when. */
#ifndef WORLD_H
#define WORLD_H

#include "../live/servers.h"
#include "clock.h"
#include "dice.h"
#include "network.h"

#include <stdbool.h>
#include <stdio.h>

enum {
    NODES = 5,
    MINORITY = 2,
    HOUSES = 2,
    CREW = 18,
    GUARD_MS = 2000,        /* Longer than the longest TTL of chaos_client. */
    /* The wall clocks of the clients are slow, each by another amount, up to this. */
    BEHIND_MS_MAX = 50,
    /* No two wall clocks therefore differ by more. After a restart no ticket for the guard and
     * twice this. */
    SKEW_MS = 250,
    /* Speed of the servers' clocks. The library allows for 10,000 unless told otherwise. */
    FAST_PPM_MAX = 9000,
    FAST_PPM_STEP = 500,    /* The step from each server to the next. */
    CONFIG_SIZE = 512,
    LIST_SIZE = NODES * (NETWORK_ADDRESS_SIZE + sizeof ":65535,"),
    /* The time that a client may take to end, for a wait, a round and a close, or a
     * server. Far more. */
    GOODBYE_MS = 15000
};

_Static_assert(NODES + HOUSES <= PLACES_MAX, "each has a place");
_Static_assert(SKEW_MS * 1000 > CLOCK_AHEAD_US(FAST_PPM_MAX) + BEHIND_MS_MAX * 1000,
               "two clocks differ by less");

struct node {
    struct server server;
    pid_t recorder;         /* Writes down what it executes. */
    unsigned life;          /* Counts how often it began with nothing. */
    char config[CONFIG_SIZE];
};

struct member {
    pid_t pid;              /* 0: there is none. */
    unsigned number;        /* The client's number. */
    unsigned house;
};

struct world {
    const char *client, *recorder;  /* The programs. */
    /* Into servers; it makes their clocks run fast, and has them die in time (clock.c, death.c). */
    const char *preload;
    uint64_t clock_origin_us;
    const char *directory;  /* The folder in which everybody writes. */
    uint32_t guard_ms;
    const char *manner;     /* The manner of the clients, see client.c. */
    const char *no_network; /* NULL, or why there are no links. */
    FILE *events;
    struct dice dice;
    struct network network;
    struct node nodes[NODES];
    struct member crew[CREW];
    unsigned client_count;  /* Ever started. */
    char list[LIST_SIZE];   /* The nodes' addresses. */
};

/* Writes a line into DIRECTORY/events.log, with the time. */
__attribute__((format(printf, 2, 3)))
void world_note(struct world *w, const char *format, ...);

/* Makes the network, and starts the servers and their recorders. client, recorder, preload,
 * directory, guard_ms, manner and dice are set. */
void world_open(struct world *w);

/* The first of it alone. Servers are then for the caller to start, and list for the
 * caller to write. */
void world_open_places(struct world *w);

/* Writes the configuration of a server that keeps what it knows in a file; starts the server that
 * its configuration is for. */
void node_configure(struct world *w, unsigned k);
void node_start(struct world *w, unsigned k);

/* The place of node k is k. */
static inline unsigned place_of_house(unsigned house)
{
    return NODES + house;
}

/* Starts a client in the place of a member that has ended or was never started. */
void member_start(struct world *w, struct member *m);

void member_kill(struct world *w, struct member *m);

/* True once when it has ended without an order, which is noted. */
bool member_has_ended(struct world *w, struct member *m);

/* Tells all to end, awaits it, and notes which did not end well; then the same
 * for the recorders. */
void crew_end(struct world *w);
void recorders_end(struct world *w);

/* Kills a server; starts it, and kills it before if it runs, without its memory if it is to be
 * empty, otherwise with its append-only file. */
void node_crash(struct world *w, unsigned k);
void node_restart(struct world *w, unsigned k, bool empty);

/* How fast the clock of a server really runs, which is noted. A failure unless it was told
 * to be so.
 * Call it seconds after the beginning, but before the clock goes back. */
void clock_measure(struct world *w, unsigned k);

/* Sets the weather of packets between node k and a house, to the node and back. Nothing
 * without a network. */
void link_set(struct world *w, unsigned k, unsigned house, struct weather there,
              struct weather back);

#endif
