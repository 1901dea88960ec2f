/* A small world for the explorer. Two or three clients, each the real engine with one lock, and a
 * few model nodes all want the same resource. Everything that can change lies in one struct world,
 * at one address, so that a copy of its bytes is a snapshot. Nothing happens by itself. The next
 * possible steps are a list of events, and the explorer tries each.
 *
 * Time goes in ticks, which are so long that every delay of the engine that is not set here
 * (reconnecting, debts) ends within one. It has no end, and only things that are finite by
 * themselves, or by struct bounds, are counted. */
#ifndef EXPLORE_WORLD_H
#define EXPLORE_WORLD_H

#include "../../redlock/node.h"
#include "../../redlock/redlock.h"

enum {
    CLIENTS = 3,                /* The maximum, see clients_of. */
    /* REDLOCK_NODES_MAX is the same for this build, since smaller locks are copied faster. */
    NODES_MAX = 4,
    WORLD_FIRST_TICK = 1000,    /* Far from 0. */
    /* Over NODE_DELAY_LAST_MS and the engine's pause between tries of a debt. */
    TICK_MS = 4000,
    PIPELINE = 6,
    PERMITS_MAX = 2,
    QUEUE_MAX = 5,              /* Places on one node, including leftovers of a late poll. */
    /* It replaces the round in which a key was granted, so every poll is an old one. */
    POLL_CLOSED = UINT8_MAX,
    /* Readers on one node, including leftovers of clients that have changed their role. */
    READERS_MAX = 5,
    COMMANDS_MAX = PIPELINE,    /* On one connection, in one direction. */
    /* Commands of broken connections between one client and one node. */
    STALE_MAX = 6,
    ATTEMPTS_MAX = REDLOCK_ENTROPY_MAX / REDLOCK_TOKEN_SIZE,
    EVENTS_MAX = 96             /* Events that may be possible in one state. */
};

_Static_assert(REDLOCK_NODES_MAX == NODES_MAX, "to be compiled with -DREDLOCK_NODES_MAX=4");
_Static_assert(16 * (CLIENTS + 1) + ATTEMPTS_MAX < UINT8_MAX, "a token is a byte");
_Static_assert((int)TICK_MS > (int)NODE_DELAY_LAST_MS, "a reconnect delay must end within a tick");

/* The possible events, and how often. Durations in ticks where no unit is named. */
struct bounds {
    unsigned nodes;
    /* No attempt of the third client means that there are two. */
    unsigned attempts[CLIENTS], extensions[CLIENTS];
    bool reads[CLIENTS];        /* It shares the resource with others that do. */
    /* Upgrades of a reader that holds it, and downgrades of a writer. */
    unsigned upgrades[CLIENTS], downgrades[CLIENTS];
    /* The lock is in strict order. Then each attempt is an acquisition, that waits. */
    bool fair;
    unsigned lease;             /* The lease of a place in the queue. */
    /* Clients that are gone at any time, with their sent commands still on their way. */
    unsigned deaths;
    unsigned permits;           /* 0: it is a lock. */
    /* The slot that each node tries first for that client, which is made by its token;
     * 0: the first. */
    unsigned slots[CLIENTS];
    unsigned losses;            /* Connections that break without a reason. */
    unsigned crashes;           /* Crashes of a node, which loses its memory and is back at once. */
    unsigned cancels;
    unsigned gains;             /* Ticks that the clock of each node may gain. */
    unsigned ttl, extend_ttl, guard;
    /* 0: each attempt is an act of its own; otherwise the engine tries again that long. */
    unsigned wait;
    unsigned timeout_ms;        /* The node timeout. */
    unsigned drift_ppm;
    /* How far wall clocks are ahead of the slowest one. */
    unsigned walls[CLIENTS], node_walls[NODES_MAX];
    unsigned skew;              /* How far the engine believes that they differ at most. */
    /* 1: commands sent on a connection that broke may still be executed at any time, in any order;
     * 2: also on one that a client has given up because it was silent. */
    unsigned late;
    bool pauses;                /* A client need not look at the clock when something is due. */
    bool tickets;               /* Clients acquire with tickets (S15). */
    bool keeps;                 /* A crash loses no memory, as with appendfsync always. */
    /* Once all is calm each client that asks holds within so many ticks (see progress.h); 0: that
     * is not looked at. */
    unsigned calm;
    bool only_exclusion;        /* Nothing else is a breach. */
    bool only_order;            /* Only overtaking is a breach. */
    bool only_tickets;          /* Nothing but a ticket that is not larger is. */
    /* Worlds that differ in the order of nodes count as different, since an engine goes through
     * them by their numbers, and may do one thing or the other when several are given up
     * in one moment. */
    bool ordered;
    /* A token may be used again, by engines that are broken on purpose. */
    bool distrust;
    /* A client that can never hold the lock again is taken out of the world, and replaced by the
     * most that it could still do to others. Its keys vanish at any time (it releases with a script
     * that compares), and its sent commands arrive at any time. Fewer worlds, no fewer breaches of
     * exclusion; but its tidying up is not looked at. */
    bool brief;
};

/* ---- What a world is made of ---- */

/* A token is known by its client and by how many attempts that client has behind it, as 16 *
 * (client + 1) + those; 0 is none. */
static inline unsigned token_client(unsigned token)
{
    return (token >> 4) - 1;
}

/* The bit in a set of a client's tokens. */
static inline unsigned token_bit(unsigned token)
{
    return token != 0 ? 1u << (token & 15) : 0;
}

enum role {
    ROLE_PLAIN,                 /* A command as of a plain lock, which is a writer. */
    /* The lock's role, or its next one, by a script for shared locks. */
    ROLE_READER, ROLE_WRITER,
    ROLE_PERMIT,
    ROLE_FAIR
};

struct command {
    uint8_t kind;               /* enum redlock_command */
    uint8_t token, ttl;
    uint8_t role;
    /* The token that the lock had, or may have, in another role; 0: none. */
    uint8_t other;
    uint8_t slot;               /* A permit's slot. */
    /* The turn of a fair lock (0: it is at the doorway) and the number of the round. */
    uint8_t turn, poll;
    bool renews;
    uint16_t ticket;            /* See ticket.h. */
    uint16_t sent_at;
};

struct reply {
    uint8_t kind, role;         /* The command (enum redlock_command) */
    /* 1: OK, or the script's 1. 0: nil, or the script's 0; its -1 of a release says the same. */
    uint8_t done;
    bool others;                /* Reason for -1 of an upgrade, if others read. */
    uint8_t slot;               /* The granted slot. */
    uint8_t turn;               /* The largest turn in a fair lock's queue, */
    /* and the number of locks before it; -1: it is not queued, -2: the poll was an old one. */
    int8_t rank;
    bool is_taken, is_ahead;    /* Why a ticket was refused; if neither is set, it is too small. */
    uint16_t counter;           /* The largest ticket that the node knows, if one was refused. */
};

/* Between one client and one node. */
struct link {
    bool is_open;               /* As the client sees it. */
    /* The node has crashed after it. Answers that have left may still arrive. */
    bool is_broken;
    uint8_t command_count, answer_count, stale_count;
    uint16_t released;          /* Tokens whose release has been sent, as a set (token_bit). */
    struct command commands[COMMANDS_MAX], stale[STALE_MAX];
    struct reply answers[COMMANDS_MAX];
};

enum { TOKEN_SHARED = UINT8_MAX };      /* It replaces a token if readers have the key. */

struct key {
    uint8_t token;              /* 0: there is none. */
    /* It was set, and extended, in the tick in which that was sent, by a live connection. */
    bool is_prompt;
    uint16_t expires_at;
};

struct place {
    uint8_t token, turn;        /* 0: there is none. */
    uint16_t until;
};

struct model {
    struct place queue[QUEUE_MAX];      /* The places, in order. */
    uint8_t grant;              /* The round in which the key was granted, if it was. */
    struct key keys[PERMITS_MAX];       /* The key of the lock, or of each slot. */
    /* The readers by their tokens. They are gone with the key at the latest. */
    struct key readers[READERS_MAX];
    uint8_t crashes, gains;     /* Their number so far; and left. */
    uint16_t counter;           /* The largest ticket that it has given and not forgotten. */
};

struct client {
    struct redlock engine;
    struct redlock_node nodes[NODES_MAX];
    struct redlock_lock lock;
    uint64_t memory[REDLOCK_MEMORY(NODES_MAX, PIPELINE, REDLOCK_SEND_MIN(8), REDLOCK_RECEIVE_MIN) /
                        sizeof(uint64_t) +
                    1];
    uint8_t attempts, extensions, upgrades, downgrades;     /* Left. */
    bool is_out;                /* See brief. */
    bool is_upgrading;
    bool is_acquiring;          /* It acquires with a ticket. Then: */
    uint8_t proposed_by;        /* The token of the last attempt; */
    uint8_t proposed_in;        /* of a fair lock, the number of its round; */
    uint16_t proposed;          /* its ticket; */
    uint16_t known;             /* the largest ticket that it proposed, or heard of; */
    /* A node refused that as too far ahead, so the next one may be smaller; */
    bool was_ahead;
    uint16_t floor;             /* the largest with which somebody had acquired when it began; */
    uint16_t rivals[ATTEMPTS_MAX];  /* with which somebody has since. */
    /* The tokens of those that were queued on a quorum when it began, and still are; 0: none. */
    uint8_t behind[CLIENTS];
    uint16_t promised_until;    /* The end of its validity when its extension began, in ticks. */
    uint16_t lost;              /* Nodes that forgot the key of the current attempt in a crash. */
};

struct world {
    uint16_t now;               /* The time in ticks. */
    uint8_t losses, crashes, cancels, deaths;   /* Left. */
    /* Something of fixed size overflowed, and worlds after that are not explored. */
    bool is_full;
    uint16_t last_ticket;       /* The largest with which somebody has acquired. */
    const char *breach, *ticket_breach, *order_breach;      /* The broken rule; NULL: nothing. */
    struct model nodes[NODES_MAX];
    struct link links[CLIENTS][NODES_MAX];
    /* The last field, since clients that do not exist are not looked at. */
    struct client clients[CLIENTS];
};

/* ---- What happens ---- */

enum event_kind {
    EVENT_TIME,                 /* A tick passes. */
    EVENT_WAKE,                 /* A client does its due work. */
    EVENT_ACQUIRE, EVENT_EXTEND, EVENT_UPGRADE, EVENT_DOWNGRADE, EVENT_RELEASE, EVENT_CANCEL,
    EVENT_EXECUTE,              /* A node executes the next command of a connection. */
    EVENT_STALE,                /* ... of one that is broken. */
    EVENT_ANSWER,               /* A client reads the next answer. */
    EVENT_LOSE,                 /* A client's connection breaks. */
    EVENT_CONNECT,              /* A client connects, with its handshake. */
    EVENT_CRASH,                /* A node loses its memory, unless it keeps it. */
    EVENT_GAIN,                 /* A node's clock gains a tick. */
    EVENT_DIE,                  /* A client is out, and has not released. */
    EVENT_VANISH                /* A key on a node of a client that is out vanishes. */
};

struct event {
    uint8_t kind, client, node;
    uint8_t which;              /* STALE: the index of the command. VANISH: the token. */
};

/* All are connected, after the handshake, and nothing is asked. */
void world_init(struct world *w, const struct bounds *bounds);

/* Writes the events that may happen next; returns how many. */
unsigned world_events(const struct world *w, const struct bounds *bounds,
                      struct event events[EVENTS_MAX]);

/* Lets it happen, and everything that follows at once. Commands are sent, and questions for the
 * time left (PTTL) answered. */
void world_apply(struct world *w, const struct bounds *bounds, struct event event);

static inline uint64_t world_now_us(const struct world *w)
{
    return (WORLD_FIRST_TICK + (uint64_t)w->now) * TICK_MS * 1000;
}

/* A client is within its validity for so many ticks, the one under way counted. */
static inline unsigned world_valid_ticks(const struct world *w, unsigned c)
{
    uint64_t tick_us = TICK_MS * 1000;

    return (unsigned)((redlock_valid_us(&w->clients[c].lock, world_now_us(w)) + tick_us - 1) /
                      tick_us);
}

/* Has node k what client c is held to have there by its role? A reader keeps writers out by
 * whatever it has there. */
bool world_protects(const struct world *w, unsigned c, unsigned k);

/* The i-th question that node k has not answered yet. */
static inline const struct redlock_asked *ring_at(const struct client *client, unsigned k,
                                                  unsigned i)
{
    return &client->nodes[k].asked[(client->nodes[k].asked_first + i) % PIPELINE];
}

static inline unsigned clients_of(const struct bounds *bounds)
{
    return bounds->attempts[2] > 0 ? 3 : 2;
}

/* Is there anything but plain locks? */
static inline bool has_readers(const struct bounds *bounds)
{
    return bounds->reads[0] || bounds->reads[1] || bounds->reads[2];
}

/* Is the client at it, and its place in the queues of a quorum? */
bool world_is_queued(const struct world *w, const struct bounds *bounds, unsigned c);

/* The number of attempts that a client's engine may make. With a ticket one that was too small is
 * corrected once at once. */
static inline unsigned attempts_of(const struct bounds *bounds, unsigned c)
{
    return bounds->attempts[c] * (bounds->tickets ? 2 : 1);
}

/* The other one is the number of tokens that it may need. */
static inline unsigned tokens_of(const struct bounds *bounds, unsigned c)
{
    return attempts_of(bounds, c) + bounds->upgrades[c] + bounds->downgrades[c];
}

/* The number of a token of 20 bytes, or of the 40 digits on the wire. */
unsigned token_number(const uint8_t *token);

#endif
