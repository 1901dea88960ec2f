/* redlock_client: the lock over sockets, or another transport (redlock_transport.h). Two faces over
 * one engine.
 *
 * Blocking:    redlock_open, redlock_acquire, redlock_extend,
 *              redlock_run_for, redlock_release, redlock_close.
 * Event loop:  redlock_open, then redlock_begin_acquire, redlock_start_extend and its kind on
 *              c->engine. For each of redlock_fd_count() wait for redlock_events() on
 *              redlock_fd(), for redlock_poll_ms(), then call redlock_step(). There are no
 *              callbacks. redlock_loop_epoll.h and its kind do that for epoll, libuv,
 *              libev and GLib.
 *
 * Memory, threads, time and errors are those of redlock.h. The only calls that block are those of
 * the blocking face.
 *
 * Names of nodes are looked up anew for each connection, so that a server that was replaced is
 * found at its new address. It has no vote until its guard is over (S11). The system's resolver
 * blocks, so each look-up has a thread of its own, which takes no signals and ends by itself,
 * whether the client is still open or not. Addresses that are numbers or paths need none. If there
 * are no threads, define REDLOCK_NO_THREADS. Connecting to a name then blocks for as long as the
 * resolver does. */
#ifndef REDLOCK_CLIENT_H
#define REDLOCK_CLIENT_H

#include "redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct redlock_transport;

#define redlock_open REDLOCK_WITH_LAYOUT(redlock_open)      /* See ABI in redlock.h. */

struct redlock_sentinels;

enum {
    /* Descriptors of a client, which are one for each session and each sentinel. */
    REDLOCK_FDS_MAX = 32,
    REDLOCK_ENDPOINTS_MAX = 4,                  /* Addresses of one name that are tried in turn. */
    /* Released locks that still owe something. Each has at least one command in the pipeline of a
     * slow node, and more than two are rarely slow at once. */
    REDLOCK_PARTED_MAX = 2 * REDLOCK_PIPELINE,
    /* Bytes of a node's address in words, with its NUL. */
    REDLOCK_ADDRESS_MAX = 300,
    REDLOCK_PORT = 6379,
    REDLOCK_NO_NODE = 255               /* It is no node's mistake. */
};

enum redlock_traffic {
    REDLOCK_CONNECTED,          /* data: none */
    REDLOCK_DISCONNECTED,       /* data: why, in words */
    REDLOCK_SENT,               /* data: the bytes */
    /* data: the bytes; reported after the engine has read them, so votes are counted */
    REDLOCK_RECEIVED
};

/* redlock_options_init sets the defaults. */
struct redlock_options {
    struct redlock_config engine;
    /* For nodes without one in their address. Not copied. NULL: none. */
    const char *user;
    const char *password;
    const char *holder;         /* A holder for redlock_use_holder; copied. NULL: none. */
    /* For the engine, REDLOCK_MEMORY(REDLOCK_SESSIONS(nodes, wake_ups), ...) bytes; NULL: memory in
     * the client, which is enough for the default sizes (about 10 locks in flight). */
    void *memory;
    size_t memory_size;

    /* Sees the traffic of session k, in order, for a trace. From the number of nodes, N, on k is
     * the subscription of node k - N. Must not call the client. The bytes include AUTH with its
     * password. NULL: no trace. */
    void (*trace)(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what,
                  const void *data, size_t size);
    void *trace_context;

    /* Called before (true) and after (false) each wait of the blocking face, between which the
     * client is not touched. A program whose threads share it by a mutex may give that up meanwhile
     * (redlock_keeper.h does). NULL: nothing is called. */
    void (*around_wait)(void *context, bool is_before);
    void *wait_context;

    bool interruptible;         /* redlock_interrupt() may be called. Costs two descriptors. */

    /* The transport that carries the bytes (see redlock_transport.h). Table and context must stay
     * until redlock_close. NULL: sockets. */
    const struct redlock_transport *transport;
    void *transport_context;
    /* The same for the nodes at rediss://, valkeys:// and sentinels:// addresses. NULL: such an
     * address is a BAD_ADDRESS, and nothing is sent there in plain text. */
    const struct redlock_transport *secure_transport;
    void *secure_context;

    /* See redlock_use_sentinels in redlock_sentinel.h. NULL: an address of
     * sentinels is a BAD_ADDRESS. */
    struct redlock_sentinels *sentinels;
};

/* The place of a node. Private. */
struct redlock_target {
    uint8_t endpoint_count;
    bool is_name;                                   /* It is looked up for each connection. */
    bool is_secure;                                 /* Chooses one of the two transports. */
    uint64_t endpoints[REDLOCK_ENDPOINTS_MAX][15];  /* struct net_endpoint */
    const char *unresolved;                         /* The reason if there is no endpoint. */
    /* The address as text, without user and password. */
    char address[REDLOCK_ADDRESS_MAX];
    char user[129], password[257];
};

/* The socket of one session with a node. Private. */
struct redlock_socket {
    int fd;                     /* -1: none. */
    int dropped;                /* The descriptor before, within a step; -1: none. */
    bool dropped_lookup;        /* It belonged to a look-up. */
    /* Readable when the node's name has been looked up; -1: no look-up. */
    int lookup;
    uint8_t name_state;         /* enum name_state in client.h */
    bool connecting;
    uint64_t late_at;           /* The connection waits for its name until then. */
    uint8_t endpoint_next, endpoints_failed;
};

/* A released lock that is still owed to some node, with its names. Private. */
struct redlock_parted {
    struct redlock_lock lock;
    bool used;
    struct redlock_name set[REDLOCK_SET_MAX];
    uint8_t bytes[REDLOCK_RESOURCE_MAX];
};

/* It has some 260 KB, so it is better static or in a structure of yours than on a small stack. Must
 * stay where it was opened. Private, but for engine and given_up. */
struct redlock_client {
    /* To start operations on and to ask, while the client is open. Its node_count is 0 if it is
     * not. The engine does not notice a fork (redlock_is_forked). */
    struct redlock engine;
    struct redlock_node nodes[REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true)];
    struct redlock_socket sockets[REDLOCK_FDS_MAX];
    struct redlock_sentinels *sentinels;
    struct redlock_target targets[REDLOCK_NODES_MAX];
    struct redlock_parted parted[REDLOCK_PARTED_MAX];
    void (*trace)(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what,
                  const void *data, size_t size);
    void *trace_context;
    void (*around_wait)(void *context, bool is_before);
    void *wait_context;
    /* For plain and for secure addresses; NULL: there is none. */
    const struct redlock_transport *transports[2];
    void *transport_contexts[2];
    struct redlock_durable durable;
    char holder[REDLOCK_HOLDER_MAX + 1];
    int self_pipe[2];           /* For redlock_interrupt, or -1. */
    int64_t owner;              /* The process that opened it. */
    uint64_t name_wait_us;      /* A connection waits this long for its name. */
    uint64_t stepped_at;
    /* The system is asked for random bytes again then, after it gave none. */
    uint64_t feed_at;
    /* To be read. So many released locks have been given up, because more than REDLOCK_PARTED_MAX
     * owed something at once. Their keys may have stayed on slow nodes until their TTL ended. */
    uint64_t given_up;
    uint64_t memory[REDLOCK_MEMORY_DEFAULT(REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true)) /
                        sizeof(uint64_t) +
                    1];
};

/* The mistake in a list of nodes, or in options. */
struct redlock_mistake {
    unsigned node;              /* The entry of the list, from 0, or REDLOCK_NO_NODE. */
    /* The byte of the list, from 0, or the place of an empty entry; of a node's BAD_CONFIG that at
     * which its entry begins. */
    size_t at;
    /* The mistake, and its correction. Never contains a password. Empty: the status says all. */
    char text[160];
};

/* Sets every field to its default. The default of engine.wake_ups is true here, since a client has
 * the memory for it. */
void redlock_options_init(struct redlock_options *options);

/* Opens a client for a list of nodes, separated by commas, with white space around them or without,
 * or by white space alone. An empty entry (a comma at either end, or two in a row) is a
 * BAD_ADDRESS, since a list that lost one has a smaller quorum.
 *   host  host:port  [v6]:port  unix:/path
 *   redis://[[user]:password@]host[:port][/db][?durable=1 or ?managed=1]
 *   redis+unix://[[user]:password@]/path[?db=N]
 *   sentinel://[[user]:password@]host[:port],host[:port],.../name (see redlock_sentinel.h)
 * rediss://, valkeys:// and sentinels://, which ask for TLS, use options->secure_transport. Without
 * one they are BAD_ADDRESS, since nothing falls back to plain text. A comma within a user name,
 * password or path is written %2C. NULL is an empty list. Looks nothing up and connects to nothing
 * yet, since the first step does. c is zeroed memory, or a client that was closed. ALREADY_OPEN: it
 * is open, and nothing has changed. If options is NULL, the defaults apply. mistake (may be NULL)
 * is always set. Other errors are BAD_CONFIG (options->engine, or what mistake says),
 * BAD_NODE_COUNT, BAD_MEMORY, NO_ENTROPY and SYSTEM (no descriptors for interrupts). After any
 * error there is nothing to close. A name that has no address is no error here. Its node is
 * unreachable until it has one, and gives the reason (redlock_describe_node). */
REDLOCK_MUST_CHECK
enum redlock_status redlock_open(struct redlock_client *c, const char *nodes,
                                 const struct redlock_options *options,
                                 struct redlock_mistake *mistake);

/* Sends the releases that are still owed to nodes that answer, for up to wait_ms, and closes the
 * connections. Locks that are held are abandoned, not released. They stay held until their TTL
 * ends (redlock_release_all releases them), and are kept no longer. Operations under way are
 * cancelled. So every lock that was not released must still be where it was. It may then be made
 * ready anew, or used with this client when that is open again, with the same nodes. A child of
 * fork() closes only its copies of the descriptors, and sends nothing, so the parent's locks and
 * connections stay as they are. No descriptor outlives exec(). A client that is not open is left
 * alone. Other calls about one return NOT_OPEN, if they return a status. It has no descriptors,
 * and nothing may be asked of its engine. */
void redlock_close(struct redlock_client *c, uint32_t wait_ms);

/* True in a child of fork(), whose parent opened the client, and may hold locks that are not the
 * child's, even if the copies seem held. Calls that do anything are refused with FORKED. The child
 * can only close it. */
bool redlock_is_forked(const struct redlock_client *c);

/* ---- Blocking face ---- */

/* Connects ahead of need. Returns when every node has a vote, or an error, and after wait_ms at the
 * latest. OK: a quorum has a vote. Need not be called, since acquire connects by itself. */
enum redlock_status redlock_connect(struct redlock_client *c, uint32_t wait_ms);

/* Acquires resource (a NUL-terminated text) for ttl_ms, trying for up to wait_ms (0: once;
 * REDLOCK_FOREVER). lock is made ready by redlock_lock_init or the end of an earlier use. It must
 * stay where it is until it is released. redlock_acquire_request is for binary names and more
 * settings, and fills in wall_us if that is 0. A name of up to REDLOCK_NAME_COPY_MAX bytes (64) is
 * copied into the lock, so its bytes may be reused on return. A longer one, and a set with its
 * names, are not copied, so they must stay, unchanged, until the release. If they have changed, the
 * calls below that go on with the lock return BAD_RESOURCE, do nothing, and work again when the
 * names are as they were. A lock that was adopted, or acquired by redlock_start_acquire, has its
 * name copied likewise by redlock_extend, if not by redlock_copy_name before. OK: held, for
 * redlock_valid_us(). After any other status it is not acquired, and the lock's memory is the
 * caller's again. But after BAD_STATE and the other BAD_... nothing has changed, so a lock that was
 * held still is. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_acquire(struct redlock_client *c, struct redlock_lock *lock,
                                    const char *resource, uint32_t ttl_ms, uint32_t wait_ms);
REDLOCK_MUST_CHECK
enum redlock_status redlock_acquire_request(struct redlock_client *c, struct redlock_lock *lock,
                                            const struct redlock_request *request);

/* Like redlock_start_extend. LOST: it is not held, and the lock's memory is the caller's again. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_extend(struct redlock_client *c, struct redlock_lock *lock,
                                   uint32_t ttl_ms);

/* Like redlock_start_upgrade and redlock_start_downgrade. LOST: it is not held, and the lock's
 * memory is the caller's again. After any other status it is still held, in the role that
 * redlock_view_lock() shows. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_upgrade(struct redlock_client *c, struct redlock_lock *lock);
REDLOCK_MUST_CHECK
enum redlock_status redlock_downgrade(struct redlock_client *c, struct redlock_lock *lock);

/* Like redlock_start_release. *confirmed (may be NULL) gets the number of nodes that have confirmed
 * it. On return, unless with BAD_STATE, FORKED or NOT_OPEN, the lock's memory is the caller's
 * again, and so is its name. A lock whose validity has ended still belongs to the client, which
 * writes to it, until this call. Debts are kept in the client and paid during later calls,
 * redlock_close the last of them. */
enum redlock_status redlock_release(struct redlock_client *c, struct redlock_lock *lock,
                                    unsigned *confirmed);

/* Releases locks[0..count), all at once, in about the time of one release and at most wait_ms.
 * Returns when the nodes that answer have confirmed it. Operations under way on a lock are
 * cancelled first, and a lock that is not held is skipped. The memory of all of them is the
 * caller's again. Debts are then paid as after redlock_release. OK: each is gone from a quorum, or
 * was no longer held. NO_QUORUM: some may stay until their TTL ends. FORKED. */
enum redlock_status redlock_release_all(struct redlock_client *c, struct redlock_lock *const *locks,
                                        size_t count, uint32_t wait_ms);

/* Lets the client do its work for for_ms (0: all that can be done at once; REDLOCK_FOREVER). It
 * extends locks that are kept (redlock_keep), and pays debts. A program that works in pieces
 * shorter than the TTL calls it between them, with 0. A program that sleeps, or waits for something
 * else, sleeps in it. Returns early if the status of lock (NULL: of none) changes, or its validity
 * ends. LOST: it is not held. Otherwise the result is redlock_lock_status(lock), OK while all is
 * well, CANCELLED (redlock_interrupt), or FORKED. */
enum redlock_status redlock_run_for(struct redlock_client *c, const struct redlock_lock *lock,
                                    uint32_t for_ms);

/* Ends the redlock_acquire, redlock_connect or redlock_run_for that waits, or else the next one,
 * with CANCELLED, within a moment. Keys that an acquire may have set are released. May be called by
 * a signal handler or another thread, while the client is open (and was opened with interruptible,
 * otherwise it does nothing). It does nothing in a child of fork(). */
void redlock_interrupt(struct redlock_client *c);

/* Like redlock_start_inspect. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_inspect(struct redlock_client *c, const char *resource,
                                    struct redlock_sight *sights);

/* Like redlock_start_mark, and waits until it is decided. After NO_QUORUM it asks again, for up to
 * wait_ms (0: once) while the lock is held, which the caller ensures (redlock_extend, a keeper). If
 * period->wall_us is 0, it is filled in, and so is at_us, so that the job is due now. On return the
 * client no longer uses mark. OK: nobody else has begun in this period or will; begin. ALREADY,
 * NO_QUORUM, LOST, TOO_LATE, CANCELLED (redlock_interrupt), FORKED, NOT_OPEN, and the
 * BAD_... of redlock_start_mark. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_mark_period(struct redlock_client *c, struct redlock_mark *mark,
                                        struct redlock_lock *lock,
                                        const struct redlock_period *period, uint32_t wait_ms);

/* Like redlock_ask, and waits until the question has ended. On return the client no longer uses it,
 * and redlock_next_item gives the reply. Returns its status. NO_ANSWER: no answer will arrive,
 * which is known after four node timeouts at the latest. Also CANCELLED (redlock_interrupt),
 * FORKED, NOT_OPEN, BAD_QUESTION. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_ask_node(struct redlock_client *c, struct redlock_question *question,
                                     unsigned k, const struct redlock_name *arguments,
                                     unsigned count, void *buffer, size_t size);

/* Validity left now, in ms, rounded down. 0: not held, or for less than a millisecond. */
uint32_t redlock_valid_ms(const struct redlock_lock *lock);

/* ---- Event-loop face ---- */

enum { REDLOCK_READ = 1, REDLOCK_WRITE = 2 };

/* The number of descriptors that a loop goes over, up to REDLOCK_FDS_MAX. They are one for each
 * node, with engine.wake_ups as many after them that are used only while a lock waits that was
 * started with wall_us, and one for each sentinel. Without sentinels they are the engine's
 * sessions. (A loop over engine.node_count that never gives wall_us misses nothing then.) */
unsigned redlock_fd_count(const struct redlock_client *c);

/* redlock_start_acquire on the client's engine, at this moment, with the wall clock if
 * request->wall_us is 0. Without the wall clock a ticket is BAD_CLOCK, and a lock that waits is not
 * woken, but asks again. Also NOT_OPEN, FORKED. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_begin_acquire(struct redlock_client *c, struct redlock_lock *lock,
                                          const struct redlock_request *request);

/* Session k's descriptor, or -1. It belongs to its connection or, before that, to the look-up of
 * its name. It changes in steps and nowhere else, and a new connection has another number than the
 * one before the step. So a loop that remembers descriptors compares them after each step. epoll
 * forgets closed ones by itself. With libuv and libev stop their watchers before you start those of
 * new ones, which may have the number of another session's closed one. */
int redlock_fd(const struct redlock_client *c, unsigned k);

/* The events to wait for on it, REDLOCK_READ, REDLOCK_WRITE or both. */
unsigned redlock_events(const struct redlock_client *c, unsigned k);

/* Does everything that can be done without waiting, in all sessions, and everything that is due.
 * Call it when a descriptor is ready and when redlock_poll_ms() are over. Call it also after
 * redlock_start_..., in a loop that is not about to wait, so that the operation begins at once.
 * Returns OK, FORKED or NO_ENTROPY. NO_ENTROPY: the system gave no random bytes, so that soon no
 * attempt can begin, but all else has been done. It is asked again after a tenth of a second. */
enum redlock_status redlock_step(struct redlock_client *c);

/* The same for a loop that knows which descriptors are ready. Bit k of ready stands for session k,
 * and only these sessions receive. */
enum redlock_status redlock_step_ready(struct redlock_client *c, unsigned ready);

/* The clock of all times above, in microseconds, monotonic, counting suspend if the system can
 * (Linux has CLOCK_BOOTTIME). */
uint64_t redlock_now_us(void);

/* The wall clock for redlock_request, in microseconds since 1970, or 0 if the system has none. */
uint64_t redlock_wall_us(void);

/* The time that a poll() or epoll_wait() may wait from now on, in ms, rounded up; 0: step at once;
 * -1: for ever. It is a second at most if time matters, since those calls do not count the time for
 * which the machine sleeps, and after that a held lock may be near its end. */
int redlock_poll_ms(const struct redlock_client *c);

/* Hands a lock over to the client, which pays its debts. Its memory and its name are the caller's
 * again, as when redlock_release returns. An operation under way is cancelled, and a lock that is
 * held is released, without waiting for that. But the keys of an adopted lock are left (S17).
 * redlock_next_done does not name it any longer. If the client is not open, the lock is only made
 * ready anew. */
void redlock_part(struct redlock_client *c, struct redlock_lock *lock);

/* ---- Questions ---- */

/* Node k's address as text, without user and password. Valid as long as the client is open. */
const char *redlock_node_address(const struct redlock_client *c, unsigned k);

#ifdef __cplusplus
}
#endif
#endif
