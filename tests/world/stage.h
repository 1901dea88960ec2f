/* A cluster to play with, made of settings, a seed, and actions, each at a moment. The three
 * together are a link, a text that replays every event, one for one, on every machine. The hash of
 * the trace shows that.
 * Stories (stories.h), the playground (tools/playground) and its search for accidents are
 * made of it.
 *
 * A stage begins when all clients are connected. Its times are microseconds since then,
 * of true time.
 * Nodes and clients may lose the exclusion here, since players want to see that. The stage reports
 * when two hold the resource, and why. */
#ifndef STAGE_H
#define STAGE_H

#include "../../redlock/redlock_fence.h"
#include "cluster.h"

enum {
    STAGE_NODES_MAX = 7,
    STAGE_CLIENTS_MAX = 5,
    STAGE_WORDS = 240,          /* Bytes of an explanation. */
    STAGE_TOKENS = 64           /* The number of last tokens that are remembered. */
};

#define STAGE_RESOURCE "door"

struct stage_settings {
    uint64_t seed;
    unsigned nodes, clients;
    uint32_t ttl_ms, wait_ms;   /* Times of each acquire. */
    uint32_t drift_ppm, guard_ms;
    uint32_t latency_us, jitter_us;     /* One way; up to so much more. */
    bool tickets;               /* Acquires use tickets, until that is changed. */
    /* The resource refuses a ticket smaller than one that it has seen. */
    bool fence;
    bool wake_ups;
};

/* The actions. Each has a name in a link, and after it, with dots, its client (A..E), its node
 * (0..6) and its numbers. */
enum stage_verb {
    STAGE_ACQUIRE,              /* acquire.A[.wait_ms] */
    STAGE_EXTEND,               /* extend.A */
    STAGE_KEEP,                 /* keep.A: extends it by itself, until it is released. */
    STAGE_RELEASE,              /* release.A */
    /* write.A: asks whether it holds the lock, and if so writes to the resource. */
    STAGE_WRITE,
    STAGE_WRITE_BLINDLY,        /* blind.A: writes as the holder that it was. */
    STAGE_FREEZE,               /* freeze.A: SIGSTOP, or a garbage collector. */
    /* suspend.A.1: the machine sleeps, and the clock goes on (CLOCK_BOOTTIME); */
    STAGE_SUSPEND,
                                /* suspend.A.0: the clock stands still (CLOCK_MONOTONIC). */
    STAGE_WAKE,                 /* wake.A: from either. */
    STAGE_CRASH,                /* crash.A: the process ends. */
    STAGE_RETURN,               /* return.A: is started again. */
    STAGE_CLIENT_RATE,          /* pace.A.ppm: its clock runs so much faster. */
    STAGE_KILL,                 /* kill.0 */
    /* empty.0: restarts, or is killed and restarts, with an empty memory; */
    STAGE_EMPTY,
    STAGE_RESTART,              /* restart.0: with its memory. */
    STAGE_PAUSE,                /* pause.0: takes bytes, executes nothing. */
    STAGE_RESUME,               /* resume.0 */
    STAGE_SLOW,                 /* slow.0.us: its answers leave so much later. 0: no longer. */
    STAGE_STEP_CLOCK,           /* step.0.ms: its clock, forward or back. */
    STAGE_NODE_RATE,            /* rate.0.ppm: its clock runs so much faster. */
    STAGE_FLUSH,                /* flush.0: FLUSHALL */
    STAGE_EVICT,                /* evict.0: the key of the lock is evicted. */
    STAGE_REPLICATE,            /* replicate.0: its replica gets the node's present keys. */
    /* failover.0: the replica takes over at the same address, connections break; */
    STAGE_FAIL_OVER,
    STAGE_HIDE_FAIL_OVER,       /* proxy.0: it is hidden by a proxy. */
    STAGE_CUT,                  /* cut.A.0: connections break, new ones are refused. */
    STAGE_CUT_TO,               /* cutto.A.0: nothing passes to the node, */
    STAGE_CUT_FROM,             /* cutfrom.A.0: nothing from the node. */
    STAGE_DELAY_TO,             /* delayto.A.0.us: so much later, to the node, */
    STAGE_DELAY_FROM,           /* delayfrom.A.0.us: and from it. */
    STAGE_DISTANCE,             /* far.A.0.us: both, in place of the latency. */
    STAGE_HEAL,                 /* heal.A.0: the link is as it was in the beginning. */
    STAGE_TICKETS,              /* tickets.1, tickets.0: for acquires from now on. */
    STAGE_FENCE,                /* fence.1, fence.0 */
    STAGE_DELETE,               /* del.0: a client without tokens "releases" the lock by DEL; */
    STAGE_PROLONG,              /* pexpire.0.ms: it "extends" the lock by PEXPIRE. */
    STAGE_VERBS
};

struct stage_action {
    uint64_t at_us;
    enum stage_verb verb;
    unsigned client, node;
    int64_t value;
};

struct stage_write {
    uint64_t at_us, ticket;
    unsigned client;
    bool admitted;
    bool held;                  /* The client held the lock then. */
};

/* The events that the stage reports to an observer. Any of the functions may be NULL. */
struct stage_observer {
    void *context;
    void (*saw_event)(void *context, unsigned client, const struct redlock_event *event);
    void (*saw_command)(void *context, const struct cluster_connection *connection,
                        const struct model_call *call);
    void (*saw_message)(void *context, const struct cluster_connection *connection,
                        const struct cluster_message *message);
    /* Is about to be done. */
    void (*saw_action)(void *context, const struct stage_action *action);
    /* Why it was not done. */
    void (*saw_refusal)(void *context, const struct stage_action *action, const char *words);
    void (*saw_write)(void *context, const struct stage_write *write);
    /* Its validity has ended, and it did not release the lock (S10). */
    void (*saw_end)(void *context, unsigned client);
    void (*saw_accident)(void *context);
    /* The message with that number is there. */
    void (*saw_arrival)(void *context, uint64_t message);
};

/* Two held the resource, for the first time. */
struct stage_accident {
    bool happened;
    uint64_t at_us;
    unsigned first, second;     /* Clients. */
    bool is_late_write;         /* The first had held it, and wrote when it no longer did. */
    char words[STAGE_WORDS];    /* The assumption that was broken. */
};

struct stage {
    struct stage_settings settings;
    struct cluster *cluster;
    uint64_t begun_us;          /* The start, in the cluster's time. */
    uint64_t step_count;        /* Events since then. */
    uint64_t hash;
    struct stage_action *actions;
    size_t action_count, action_capacity;
    struct stage_observer observer;
    struct stage_accident accident;
    bool gives_tickets, checks_tickets;         /* Now. */
    struct redlock_fence fence;
    struct stage_write last_write;
    unsigned admitted_count, refused_count;
    bool held[STAGE_CLIENTS_MAX];               /* When it was last looked at. */
    const char *slept[STAGE_CLIENTS_MAX];       /* The fault of its clock. NULL: nothing. */
    struct redlock_event won[STAGE_CLIENTS_MAX];    /* The last verdict that gave it the lock; */
    /* and the last one of all. ttl_ms 0: none yet. */
    struct redlock_event verdict[STAGE_CLIENTS_MAX];
    uint64_t won_at_us[STAGE_CLIENTS_MAX];
    /* How far its clock was ahead of the true time in the beginning. */
    uint64_t node_offset_us[STAGE_NODES_MAX];
    /* The reason why its former keys are gone. NULL: it has. */
    const char *forgot[STAGE_NODES_MAX];
    struct {
        char text[REDLOCK_TOKEN_TEXT + 1];
        unsigned client;
    } tokens[STAGE_TOKENS];
    unsigned token_count;
    struct redlock_event_ring rings[STAGE_CLIENTS_MAX];
    struct redlock_event *events;
};

/* Five nodes, two clients, a TTL of 10 s, and the engine's defaults. */
struct stage_settings stage_defaults(void);

/* Settings out of range are brought into it. */
struct stage *stage_new(const struct stage_settings *settings,
                        const struct stage_observer *observer);
void stage_free(struct stage *stage);

/* ---- Time ---- */

uint64_t stage_now_us(const struct stage *stage);

/* Runs the next event if there is one until then. Otherwise moves the clock there and returns
 * false. A call in which nothing happens changes nothing. */
bool stage_step(struct stage *stage, uint64_t until_us);
void stage_run_until(struct stage *stage, uint64_t until_us);

/* Events and actions so far. One moment may have many, and this counts how many have happened. */
uint64_t stage_moves(const struct stage *stage);

/* Runs until the client's operation has ended, and all else at that moment. */
void stage_run_until_done(struct stage *stage, unsigned client);

/* ---- Actions ---- */

/* Does it now, whatever its at_us, after everything else of this moment, and remembers it. Returns
 * "", or in words why not. */
const char *stage_act(struct stage *stage, struct stage_action action);

/* ---- Questions ---- */

bool stage_holds(const struct stage *stage, unsigned client);
char stage_client_name(unsigned client);            /* 'A', ... */
/* The client that made it; -1: not known. */
int stage_owner_of(const struct stage *stage, const char *token, size_t size);

/* A verdict's: "10000 - 0.4 - 102.0 = 9897.6 ms valid, 3 of 5" */
void stage_arithmetic(const struct stage *stage, const struct redlock_event *event, char *text,
                      size_t size);

/* ---- Links ---- */

/* "n=5&c=2&seed=1&ttl=10000&do=0:acquire.A,120000:kill.3". Settings that are not named have their
 * defaults. False: it is no link, and words (STAGE_WORDS bytes) says where. Up to max actions. */
bool stage_read_link(const char *link, struct stage_settings *settings,
                     struct stage_action *actions, size_t max, size_t *count,
                     char words[STAGE_WORDS]);
/* "kill.3" */
bool stage_read_action(const char *text, size_t size, struct stage_action *action);
bool stage_read_verb(const char *text, size_t size, enum stage_verb *verb);            /* "kill" */
void stage_write_action(const struct stage_action *action, char *text, size_t size);

/* Bytes that the link needs, beyond size too; as snprintf. */
size_t stage_write_link(const struct stage_settings *settings, const struct stage_action *actions,
                        size_t count, char *text, size_t size);

#endif
