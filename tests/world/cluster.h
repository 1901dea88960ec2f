/* A cluster in virtual time, with N model nodes, C clients with an engine each, and the links
 * between them.
 *
 * One step is one event. Events are the arrival of some bytes, an engine call that a client owes,
 * or a deadline. Time stands still during a step and jumps from one to the next. Everything random
 * comes from one seed, so a run can be repeated. Knows the engine by its public header only, and
 * watches after every call that both sides keep the contract of that header:
 *
 *   - an engine that calls for attention without end while time stands still is
 *   stuck ("busy loop");
 *   - one that goes on for ever while time passes runs into step_max ("livelock");
 *   - two clients never hold one resource at once (exclusion);
 *   - a holder has a quorum of nodes with its token on them for as long as it believes (promise);
 *   - nothing is done to a node that a lock may not do (see model_node's breach);
 *   - one that sleeps wakes in time for its tasks (alarm);
 *   - the engine's own books agree with the commands under way (see invariants.h, which
 *   alone looks inside).
 *
 * The first of these that is broken is written into cluster->broken. Promise and exclusion can be
 * switched off by tests of faults that no client can survive (a node that loses its memory, a clock
 * beyond the drift). */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "../../redlock/redlock.h"
#include "model_node.h"

enum {
    CLUSTER_DELAY_US = 100,         /* One way. */
    CLUSTER_CLIENTS_MAX = 16,
    CLUSTER_CONNECTS_MAX = 32,
    CLUSTER_IDLE_STEPS_MAX = 200,   /* Steps in a row that move nothing while time stands still. */
    CLUSTER_PATIENCE_MS = 120000    /* cluster_run_until_done gives up after this. */
};

/* A clock that may be stepped and may run fast or slow. */
struct cluster_clock {
    uint64_t true_us, local_us;     /* Read local_us at true_us... */
    int32_t fast_ppm;               /* ...and runs this much faster since. */
};

struct cluster_lock {
    struct redlock_lock lock;
    uint8_t resource[REDLOCK_RESOURCE_MAX + 8]; /* All names of a set, */
    size_t resource_size;                       /* one after the other. */
    /* Size of the held slot, whose number follows the name; 0: none. */
    size_t slot_size;
    struct redlock_name set[REDLOCK_SET_MAX];
    unsigned set_count;                         /* 0: one resource. */
    bool in_use;
    /* The end of validity that was last seen, by the client's clock. */
    uint64_t believed_until;
    uint64_t waits_until;           /* When its last acquire has waited for as long as it may. */
    bool is_kept;                   /* The engine keeps it, until it says that this is over. */
};

struct cluster_client {
    struct redlock engine;
    struct redlock_durable durable;
    struct redlock_node nodes[REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true)];
    void *memory;
    struct cluster_clock clock;
    int64_t wall_offset_us;         /* Wall clock minus that one. */
    struct cluster_lock *locks;
    unsigned lock_count;
    bool frozen;                    /* SIGSTOP: does nothing, bytes wait in its sockets. */
    bool dead;                      /* Ended: its connections are closed, its locks are nobody's. */
    bool plain;                     /* Uses no feature of the engine (tickets, sets, wake-ups). */
    bool starved;                   /* Gets no random bytes. */
    bool ticks_first;               /* Prefers the clock to the bytes when both are due. */
    bool keeps_done;                /* The test calls redlock_next_done itself. */
    uint64_t lag_us;                /* Its alarms ring so much too late. */
    /* By its clock, when it last had no random bytes left or was frozen. Deadlines of that time
     * were late. */
    uint64_t hindered_at;
    uint64_t tick_count, call_count;
};

/* A break of a connection, armed for the next connection or the current one. */
struct cluster_sever {
    bool armed;
    size_t after;                   /* The bytes that still pass. */
};

/* Between one client and one node, subscriptions included. */
struct cluster_link {
    uint64_t delay_us, jitter_us;   /* One way; up to jitter_us more, in order. */
    uint64_t to_node_us, to_client_us;  /* More of that, in one direction only. */
    bool stalled;                   /* Nothing passes, nothing is lost. */
    bool deaf;                      /* The same, from the node to the client only; */
    bool mute;                      /* from the client to the node only. */
    bool cut;                       /* Connections are refused. */
    bool subscriptions_cut;         /* Those of subscriptions. */
    size_t send_max, receive_max;   /* Bytes that one send or receive moves; 0: any number. */
    size_t window;                  /* Bytes on their way to the node at most; 0: any number. */
    struct cluster_sever to_node, to_client;
    uint8_t shard;                  /* Of a node that is a cluster; new connections lead there. */
    unsigned connect_count;         /* How often the client has tried to connect, */
    uint64_t connected_at[CLUSTER_CONNECTS_MAX]; /* and when, the first times. */
};

struct cluster_segment {
    uint64_t at;                    /* When it arrives, if nothing holds it up. */
    uint64_t number;                /* The message's number, for observers. */
    size_t size;
    /* The message has no bytes; the other side has closed or is gone. */
    bool end;
};

struct cluster_pipe {
    struct model_bytes bytes;
    struct cluster_segment *segments;
    size_t count, capacity;
};

/* A connection; it outlives its client's end, since bytes may still be on their way to the node. */
struct cluster_connection {
    unsigned client, node;
    /* The engine's session. It is the node, or node + node_count for its subscription. */
    unsigned line;
    uint64_t number;                /* No other connection has it. */
    bool open;                      /* Stands; before that connect_at is when it will. */
    bool client_left, node_left;    /* Has closed its end, or never had it. */
    uint64_t left_at;               /* When the client did, by its clock. */
    uint64_t connect_at;
    struct cluster_pipe to_node, to_client;
    struct model_bytes arrived;     /* Bytes in the client's socket. */
    bool ended;                     /* The end comes after them. */
    /* The reason in words; NULL: closed by the node in good order. */
    const char *why;
    struct model_session session;
};

struct cluster_host {
    struct model_node node;
    struct cluster_clock clock;
    uint64_t slow_us;               /* Its answers leave so much later. */
    bool down;
};

/* Bytes that one side has sent at once. They are the other's when the call ends. */
struct cluster_message {
    uint64_t number;                /* From 1, in the order of sending. */
    uint64_t arrives_at;            /* If nothing holds them up. */
    bool to_node;
    const uint8_t *data;
    size_t size;
};

struct cluster;
struct witness;

/* An observer of the cluster's events. Any of the functions may be NULL. */
struct cluster_observer {
    void *context;
    /* The node has executed a command that came by the connection; the log of the node is emptied
     * after it. */
    void (*saw_command)(void *context, const struct cluster_connection *connection,
                        const struct model_call *call);
    /* The client has called its engine. */
    void (*saw_call)(void *context, unsigned client);
    /* Bytes are on their way. The commands that a node answers are seen before its answers. */
    void (*saw_message)(void *context, const struct cluster_connection *connection,
                        const struct cluster_message *message);
    /* They are there, and nothing has come of them yet. It is never called for a message that a
     * broken connection swallowed. */
    void (*saw_arrival)(void *context, uint64_t message);
};

struct cluster {
    uint64_t now_us;
    uint64_t dice;
    unsigned node_count, client_count;
    unsigned line_count;            /* Sessions of an engine. */
    struct cluster_host hosts[REDLOCK_NODES_MAX];
    struct cluster_client clients[CLUSTER_CLIENTS_MAX];
    struct cluster_link links[CLUSTER_CLIENTS_MAX][REDLOCK_NODES_MAX];
    struct cluster_connection **connections;
    /* Those that clients have. */
    struct cluster_connection
        *lines[CLUSTER_CLIENTS_MAX][REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true)];
    size_t connection_count, connection_capacity;
    uint64_t connect_count;         /* Numbers the connections, */
    uint64_t message_count;         /* and the bytes that pass on them. */
    uint64_t process_count;         /* Numbers the run_ids. */
    unsigned idle_steps;
    uint64_t step_count, step_max;  /* Steps so far, and their maximum (0: any number). */
    /* The nodes that are declared durable, see cluster_declare_durable. */
    uint16_t durables;
    /* All nodes are managed, see cluster_declare_managed. */
    bool managed;
    bool no_promise, no_exclusion;  /* Do not watch these. */
    uint64_t promise_count;         /* How often there was one to watch; */
    /* and a lock of another client about the same resource, held or not. */
    uint64_t exclusion_count;
    uint64_t invariant_count;       /* How often a lock's books were looked at. */
    bool restless;                  /* Calls redlock_tick also when nothing is due. */
    struct redlock_config config;   /* The configuration of all clients. */
    struct cluster_observer observer;
    /* Prints what happens, for others to judge, and no rule of locks is watched (witness.h). */
    struct witness *witness;
    bool talks;                     /* Prints every step as a TAP comment. */
    char broken[200];               /* The first rule that was broken; "": none. */
};

/* ---- Setting up ---- */

/* All nodes have run for 1000 s; config NULL: the defaults. Ends the program when there
 * is no memory. */
struct cluster *cluster_new(unsigned node_count, unsigned client_count,
                            const struct redlock_config *config, uint64_t seed);
void cluster_free(struct cluster *cluster);

uint64_t cluster_random(struct cluster *cluster);               /* 64 random bits. */
uint64_t cluster_below(struct cluster *cluster, uint64_t limit); /* 0..limit-1 */

/* ---- Time ---- */

/* Runs the next event if there is one until then. Otherwise moves the clock there
 * and returns false. */
bool cluster_step(struct cluster *cluster, uint64_t until_us);
void cluster_run_us(struct cluster *cluster, uint64_t us);
void cluster_run_ms(struct cluster *cluster, uint64_t ms);

/* Runs until the operation on the lock has ended; false: it has not within CLUSTER_PATIENCE_MS. */
bool cluster_run_until_done(struct cluster *cluster, unsigned client, unsigned lock);

uint64_t cluster_client_now(const struct cluster *cluster, unsigned client);
uint64_t cluster_node_now(const struct cluster *cluster, unsigned node);
void cluster_step_client_clock(struct cluster *cluster, unsigned client, int64_t us);
void cluster_step_node_clock(struct cluster *cluster, unsigned node, int64_t us);
void cluster_set_node_rate(struct cluster *cluster, unsigned node, int32_t fast_ppm);

/* Wall clocks, in microseconds since 1970. All nodes and clients share one until their clocks are
 * stepped. From now on the client's is skew_us ahead of its first state. */
uint64_t cluster_client_wall(const struct cluster *cluster, unsigned client);
void cluster_set_client_wall(struct cluster *cluster, unsigned client, int64_t skew_us);
/* -1000000: it stands still. */
void cluster_set_client_rate(struct cluster *cluster, unsigned client, int32_t fast_ppm);

/* ---- Locks. They are made as they are named: lock 0, 1, ... of a client, up to
 * cluster_need_locks. ---- */

/* Before any is in use. Default: 4. */
void cluster_need_locks(struct cluster *cluster, unsigned client, unsigned count);
struct redlock_lock *cluster_lock(struct cluster *cluster, unsigned client, unsigned lock);

/* The names are copied, those of a set too. wall_us 0: the client's wall clock, with a ticket or
 * when its waiters listen. */
enum redlock_status cluster_acquire(struct cluster *cluster, unsigned client, unsigned lock,
                                    const struct redlock_request *request);
enum redlock_status cluster_extend(struct cluster *cluster, unsigned client, unsigned lock,
                                   uint32_t ttl_ms);
enum redlock_status cluster_keep(struct cluster *cluster, unsigned client, unsigned lock,
                                 uint32_t hold_ms);
enum redlock_status cluster_release(struct cluster *cluster, unsigned client, unsigned lock);
enum redlock_status cluster_upgrade(struct cluster *cluster, unsigned client, unsigned lock);
enum redlock_status cluster_downgrade(struct cluster *cluster, unsigned client, unsigned lock);
enum redlock_status cluster_inspect(struct cluster *cluster, unsigned client, unsigned lock,
                                    const char *resource, struct redlock_sight *sights);
enum redlock_status cluster_adopt(struct cluster *cluster, unsigned client, unsigned lock,
                                  const char *resource, const char *token);
enum redlock_status cluster_adopt_as(struct cluster *cluster, unsigned client, unsigned lock,
                                     const struct redlock_kind *kind, const char *resource,
                                     const char *token);
enum redlock_status cluster_adopt_set(struct cluster *cluster, unsigned client, unsigned lock,
                                      const struct redlock_kind *kind, struct redlock_name *set,
                                      unsigned count, const char *token);
void cluster_cancel(struct cluster *cluster, unsigned client, unsigned lock);
void cluster_forget(struct cluster *cluster, unsigned client, unsigned lock);
void cluster_move(struct cluster *cluster, unsigned client, unsigned to, unsigned from);
uint64_t cluster_valid_us(const struct cluster *cluster, unsigned client, unsigned lock);

/* When its validity will end, by true time; REDLOCK_NEVER: the lock is not held, or the client's
 * clock stands still. */
uint64_t cluster_valid_until(const struct cluster *cluster, unsigned client, unsigned lock);

/* The resources of a lock, which slot 3 of one follows as ":3", and whether it reads
 * that one only. */
unsigned cluster_name_count(const struct cluster_lock *lock);
struct redlock_name cluster_name(const struct cluster_lock *lock, unsigned number);
bool cluster_reads(const struct cluster_lock *lock, unsigned number);

/* A key of a node as it lies there, ended or not; NULL: there is none. A reader ends with the key
 * that it shares. */
const struct model_key *cluster_key_beside(const struct cluster_host *host,
                                           struct redlock_name name, const char *suffix);
bool cluster_is_shared_key(const struct model_key *key);
uint64_t cluster_reader_ends_ms(const struct model_key *key, const struct model_entry *reader);

/* ---- Faults ---- */

/* Killed: connections are reset, new ones refused. */
void cluster_node_down(struct cluster *cluster, unsigned node);
void cluster_node_up(struct cluster *cluster, unsigned node, bool keeps_keys);
/* It has the keys of model_node_save. */
void cluster_node_up_from_disk(struct cluster *cluster, unsigned node);
void cluster_node_hang(struct cluster *cluster, unsigned node);
void cluster_node_resume(struct cluster *cluster, unsigned node);
/* For a stranger. */
void cluster_publish(struct cluster *cluster, unsigned node, const char *channel,
                     const char *message);
/* Nobody has asked for them. The first sends them on one connection, the second on all. */
void cluster_push_to(struct cluster *cluster, struct cluster_connection *connection,
                     const void *bytes, size_t size);
void cluster_push(struct cluster *cluster, unsigned node, const void *bytes, size_t size);

/* Breaks the connection now. Bytes on their way to the node arrive nevertheless, or do not. */
void cluster_reset(struct cluster *cluster, unsigned client, unsigned node, bool arrives);
/* It also refuses new ones. */
void cluster_cut(struct cluster *cluster, unsigned client, unsigned node, bool arrives);
/* The client's subscription alone. */
void cluster_cut_subscription(struct cluster *cluster, unsigned client, unsigned node);
void cluster_stall(struct cluster *cluster, unsigned client, unsigned node);
void cluster_heal(struct cluster *cluster, unsigned client, unsigned node);
/* Links, hung nodes and dead nodes (empty). */
void cluster_heal_all(struct cluster *cluster);

/* The client's process ends. Only the kernel says farewell. */
void cluster_client_dies(struct cluster *cluster, unsigned client);

/* It is started again, with a new engine that knows no lock. */
void cluster_client_returns(struct cluster *cluster, unsigned client);

/* It begins anew, as firmware would: without tickets, sets and wake-ups. */
void cluster_client_is_plain(struct cluster *cluster, unsigned client);

/* Call before any connection. All clients then take these nodes, a set, for durable ones. */
void cluster_declare_durable(struct cluster *cluster, uint16_t nodes);

/* The same for managed nodes. Each is a cluster of two shards (model_slots.c). */
void cluster_declare_managed(struct cluster *cluster);

/* ---- Questions ---- */

/* The key as a text; NULL: it is not there. */
const char *cluster_key(struct cluster *cluster, unsigned node, const char *name);
unsigned cluster_count_keys(struct cluster *cluster, const char *name);

/* True when cluster->broken, or a node's breach, says something; which is then in broken. */
bool cluster_is_broken(struct cluster *cluster);

#endif
