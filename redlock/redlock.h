/* redlock: a distributed lock on N independent Redis or Valkey servers, by the Redlock algorithm.
 * The engine.
 *
 * Memory:  all of it is the caller's. Nothing is allocated, nothing is global. Sizes of structures
 *          are public. The fields of those at the end of this header are private, unless they are
 *          said to be read, and the functions before them read them.
 * Threads: one engine with its locks belongs to one thread at a time. Different engines know
 *          nothing of each other.
 * Time:    a point in time is a uint64_t of microseconds of one monotonic clock that goes on during
 *          suspend (_us, _at). A duration that a user gives is in milliseconds (_ms), like PX. The
 *          clock, the random bytes and the bytes of the network are arguments, since the engine
 *          does no I/O and calls nothing back.
 * Errors:  a status, defined once below. A caller's bug that has no status of its own is refused
 *          with BAD_STATE or BAD_LOCK, or traps. NULL is not checked for where it makes no sense.
 *
 * Size:    functions that a program does not call are not linked, if sections are dropped
 *          (-ffunction-sections, --gc-sections). Tickets, sets and wake-ups are linked by a
 *          program that names them (see redlock_use).
 *
 * This header is for an event loop, a transport or a simulator of your own. The client for sockets
 * is in redlock_client.h.
 *
 * Driving the engine. Do again and again, for each session k < r->session_count, what
 * redlock_wants(r, k) says. Session k is a connection to node k % N. A node is one server. Sessions
 * from N on are there for wake-ups only.
 *
 *     REDLOCK_WANT_CONNECT   begin a connection; then redlock_connected() or redlock_disconnected()
 *     REDLOCK_WANT_SEND      send the bytes that redlock_output() gives, tell redlock_sent()
 *     REDLOCK_WANT_RECEIVE   receive into the room that redlock_input() gives, read the clock AFTER
 *                            that, tell redlock_received()
 *     REDLOCK_WANT_CLOSE     close the connection, tell redlock_disconnected()
 *
 * Give redlock_add_entropy() the bytes that redlock_entropy_wanted() asks for, and call
 * redlock_tick() at redlock_wake_at() at the latest. Each time that the caller gives must have been
 * read just now, since a stale time costs safety. The clock must not go back. While a clock has
 * gone back, no lock is held, but when it has caught up, a lock that ran out meanwhile may seem to
 * be held. */
#ifndef REDLOCK_H
#define REDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REDLOCK_VERSION "0.2.0"
#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 2
#define REDLOCK_VERSION_PATCH 0
#define REDLOCK_VERSION_NUMBER \
    (REDLOCK_VERSION_MAJOR * 10000 + REDLOCK_VERSION_MINOR * 100 + REDLOCK_VERSION_PATCH)

/* The result of a call marked so must be looked at, and the compiler warns if it is not. May be
 * defined as nothing. */
#ifndef REDLOCK_MUST_CHECK
#if (defined(__cplusplus) && __cplusplus >= 201703L) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define REDLOCK_MUST_CHECK [[nodiscard]]
#elif defined(__GNUC__)
#define REDLOCK_MUST_CHECK __attribute__((warn_unused_result))
#else
#define REDLOCK_MUST_CHECK
#endif
#endif

/* ---- Limits and defaults ---- */

#ifndef REDLOCK_NODES_MAX
/* Seven of fifteen may be lost. More nodes buy latency, not safety. May be set lower, 1..15, to
 * save memory, but alike for every file that includes this header. */
#define REDLOCK_NODES_MAX 15
#endif
#ifndef REDLOCK_ERROR_MAX
/* Bytes kept of an error's text, with its NUL, for each session. May be set likewise, 32..255. */
#define REDLOCK_ERROR_MAX 128
#endif
#ifndef REDLOCK_NAME_COPY_MAX
/* Names up to this size can be copied (redlock_copy_name). May be set likewise, 0..512. */
#define REDLOCK_NAME_COPY_MAX 64
#endif

/* ABI: the caller places the structures, so header and library must agree on them. They may change
 * whenever MAJOR or MINOR do, and with the three numbers above. PATCH changes none. The calls that
 * a program must make first carry all five numbers in their linker names, so that a program and a
 * library that do not agree fail to link, instead of overwriting memory.
 *     undefined reference to `redlock_init_0_2_3_128_0'
 * is a call of 0.2 with REDLOCK_NODES_MAX 3, REDLOCK_ERROR_MAX 128 and REDLOCK_NAME_COPY_MAX 0, and
 * the library was built with other numbers. (So the three are plain decimal numbers.) dlsym() and
 * debuggers know these functions by the long names. The other functions have no long names. */
#define REDLOCK_NAMED(name, a, b, c, d, e) name##_##a##_##b##_##c##_##d##_##e
#define REDLOCK_NAME(name, a, b, c, d, e) REDLOCK_NAMED(name, a, b, c, d, e)
#define REDLOCK_WITH_LAYOUT(name) \
    REDLOCK_NAME(name, REDLOCK_VERSION_MAJOR, REDLOCK_VERSION_MINOR, REDLOCK_NODES_MAX, \
                 REDLOCK_ERROR_MAX, REDLOCK_NAME_COPY_MAX)
#define redlock_init REDLOCK_WITH_LAYOUT(redlock_init)
#define redlock_lock_init REDLOCK_WITH_LAYOUT(redlock_lock_init)

enum {
    /* Bytes of a lock's resource names together. A configuration may set less. */
    REDLOCK_RESOURCE_MAX = 512,
    REDLOCK_SET_MAX = 16,               /* Resources of one lock. */
    REDLOCK_PERMITS_MAX = 64,           /* Permits of one resource. */
    /* 24.8 days. A lock is not a lease for ever, and 32 bits hold it on every system. */
    REDLOCK_TTL_MS_MAX = 2147483647,
    REDLOCK_TOKEN_SIZE = 20,            /* Random bytes that sign one attempt (S6). */
    REDLOCK_TOKEN_TEXT = 40,            /* The same in hex digits, as nodes store it. */
    REDLOCK_HOLDER_MAX = 63,            /* Bytes of a holder's name (see redlock_use_holder). */
    /* Most bytes of the value of a lock's keys (token, blank, holder). */
    REDLOCK_VALUE_TEXT = 40 + 1 + 63,
    /* Arguments of a question to a node, with the command's name. */
    REDLOCK_ARGUMENTS_MAX = 8,
    REDLOCK_LOGIN_MAX = 512,            /* Bytes of user and password together. */
    /* Random bytes kept, enough for the tokens of four attempts. */
    REDLOCK_ENTROPY_MAX = 4 * 20,
    REDLOCK_NAME_SIZE = 8,              /* Random bytes that name an engine to the nodes. */
    REDLOCK_RUN_ID_SIZE = 20,           /* A server's run_id is 40 hex digits. */

    /* S11: delayed restart. A node that restarted less than this ago has no vote. */
    REDLOCK_GUARD_MS = 30000,
    /* S2: 1 % of the TTL. Clocks that chrony slews by its default limit need 84,000. */
    REDLOCK_DRIFT_PPM = 10000,
    REDLOCK_DRIFT_PPM_MAX = 500000,
    /* Time for one node to connect, or to answer, before a round goes on without it. */
    REDLOCK_NODE_TIMEOUT_MS = 500,
    /* Mean pause between attempts, beyond the time that the last one took (S14). */
    REDLOCK_RETRY_MS = 100,
    REDLOCK_RETRY_MS_MAX = 3600000,     /* An hour. */
    REDLOCK_KEEP_PERCENT = 33,          /* The keeper extends a lock after this part of its TTL. */
    REDLOCK_KEEP_PERCENT_MAX = 90,
    /* S15: how far any two wall clocks, of clients and nodes, may differ. */
    REDLOCK_SKEW_MS = 10000,
    REDLOCK_SKEW_MS_MAX = 3600000,
    REDLOCK_PERIOD_MS_MIN = 1000,
    /* A period begins so long before the full minute, hour, day, at most a quarter of it. */
    REDLOCK_PERIOD_SLACK_MS = 10000,
    REDLOCK_WHO_MAX = 63,               /* Bytes of the name of the client that marks a period. */
    /* A node remembers the last ticket of a resource for a day. */
    REDLOCK_TICKET_LIFE_MS = 86400000,
    REDLOCK_PIPELINE = 32,              /* Commands of one node that may be unanswered. */
    REDLOCK_PIPELINE_MIN = 4,
    REDLOCK_SEND_SIZE = 2048,           /* Bytes of one node's send buffer. */
    REDLOCK_RECEIVE_SIZE = 512,         /* Bytes of one node's receive buffer. */
    /* The parser needs 23 bytes to get through any reply, however large. */
    REDLOCK_RECEIVE_MIN = 32,
    /* Bytes of one buffer. No more could be used, and 32 bits count those of all sessions. */
    REDLOCK_BUFFER_MAX = 16777216
};

/* 31 days, which is more than an int of 32 bits holds. */
#define REDLOCK_PERIOD_MS_MAX 2678400000u
/* Suffixes that follow a resource's name in the names of the keys beside it. No resource may
 * end so (BAD_RESOURCE). */
#define REDLOCK_TICKET_SUFFIX "#ticket"
#define REDLOCK_WAITERS_SUFFIX "#waiters"
#define REDLOCK_LEADER_SUFFIX "#leader"     /* The command uses it (see redlock(1)). */
#define REDLOCK_DONE_SUFFIX "#done"
#define REDLOCK_READERS_SUFFIX "#readers"
#define REDLOCK_WRITER_SUFFIX "#writer"
#define REDLOCK_QUEUE_SUFFIX "#queue"
#define REDLOCK_LEASE_SUFFIX "#lease"
#define REDLOCK_GRANT_SUFFIX "#grant"

/* A key that each durable node has. It ends in two suffixes, so that no lock may have it, nor keep
 * it beside its own key. */
#define REDLOCK_CANARY "redlock:canary" REDLOCK_DONE_SUFFIX REDLOCK_DONE_SUFFIX

/* The same of each promoted master behind sentinels: when a client met it first. */
#define REDLOCK_PROMOTION_KEY "redlock:promoted" REDLOCK_DONE_SUFFIX REDLOCK_DONE_SUFFIX

#define REDLOCK_FOREVER UINT32_MAX      /* A time to wait without an end. */
#define REDLOCK_NEVER UINT64_MAX        /* A point in time that never comes. */

/* ---- Statuses ---- */

/* Number, name and text of each. The numbers never change, and no number is used again; the command
 * reports them with --json. */
#define REDLOCK_STATUSES(X) \
    X(0, OK, "done") \
    X(1, TAKEN, "held by somebody else") \
    X(2, NO_QUORUM, "no quorum: too few nodes can vote") \
    X(3, TIMEOUT, "not acquired within the time to wait") \
    X(4, TOO_LATE, "the answers came so late that nothing of the TTL was left") \
    X(5, LOST, "not held: its validity has ended, or it was never acquired") \
    X(6, EXTENSION_LIMIT, "the limit of extensions, or of the time it may be held, is reached") \
    X(7, CANCELLED, "cancelled by the caller") \
    X(8, ALREADY, "somebody has begun in this period already") \
    X(10, BAD_RESOURCE, \
      "the resource must have 1 to 512 bytes (or the configured limit) and not end in #ticket, " \
      "#waiters, #leader, #done, #readers, #writer, #queue, #lease or #grant; for a managed node " \
      "it needs {braces}") \
    X(11, BAD_TTL, "the TTL must be 1 to 2147483647 ms and leave something after the drift") \
    X(12, TTL_OVER_GUARD, \
      "the TTL must not exceed the guard (--guard), or a restarted node could vote twice") \
    X(13, BAD_NODE_COUNT, "the number of nodes must be 1 to 15") \
    X(14, BAD_ADDRESS, "a node's address is wrong") \
    X(15, BAD_CONFIG, "a value of the configuration is out of its range") \
    X(16, BAD_MEMORY, "the memory given to the engine is too small or misaligned") \
    X(17, BAD_STATE, "the lock is in use: it is held, or an operation on it has not ended") \
    X(18, BAD_TOKEN, "a token is 40 lower-case hex digits") \
    X(19, BAD_SET, "a lock takes 1 to 16 resources, no one of them twice") \
    X(20, NO_ENTROPY, "the system gives no random bytes") \
    X(21, NO_NAME, \
      "a node's host name could not be resolved") /* 0.1 had it. Nothing returns it now. */ \
    X(22, SYSTEM, "the operating system refused a call") \
    X(23, FORKED, "the client was opened by another process (open one after fork)") \
    X(24, BAD_CLOCK, "a ticket needs the wall clock (microseconds since 1970), and that is wrong") \
    X(25, NOT_OPEN, "the client is not open") \
    X(26, ALREADY_OPEN, "the client is open already") \
    X(27, BAD_LOCK, "the lock is a copy, or another client's, or was not made ready") \
    X(28, NO_ANSWER, "the node gives no answer") \
    X(29, BAD_QUESTION, \
      "a question has 1 to 8 arguments that fit in the send buffer, and does not change the " \
      "connection") \
    X(30, PENDING, "not decided yet") \
    X(34, BAD_KIND, \
      "this kind of lock does not go with that: permits (1 to 64), fair locks and Redisson's are " \
      "of one resource; Redisson's is on one node, without a ticket; only shared locks have " \
      "shared resources, and upgrades")

enum redlock_status {
#define REDLOCK_STATUS_ENUM(number, name, text) REDLOCK_##name = (number),
    REDLOCK_STATUSES(REDLOCK_STATUS_ENUM)
#undef REDLOCK_STATUS_ENUM
};

/* The text above, of static lifetime. A number that is no status gives "unknown status". */
const char *redlock_status_text(enum redlock_status status);

/* ---- Votes and troubles ---- */

/* A node's answer in a round. */
enum redlock_vote {
    REDLOCK_VOTE_PENDING,   /* Asked or about to be, not answered. */
    REDLOCK_VOTE_GRANTED,   /* It obeyed, so our token is set, extended or removed. */
    /* It did not obey, since another token holds the key, or ours is gone. */
    REDLOCK_VOTE_REFUSED,
    /* After a timeout, a reset or an error our token may be there. It is released like
     * a grant (S4). */
    REDLOCK_VOTE_UNKNOWN,
    /* It has no vote now (see redlock_view_node). Counts like UNKNOWN. Nothing is there. */
    REDLOCK_VOTE_NOT_ASKED
};

/* One of the static texts "pending", "granted", "refused", "unknown" and "not asked". */
const char *redlock_vote_text(enum redlock_vote vote);

/* Why a node has no vote, or what went wrong with it last. Kinds of error reply
 * begin with NOAUTH. */
enum redlock_trouble {
    REDLOCK_TROUBLE_NONE,
    REDLOCK_TROUBLE_NEW,            /* Not connected yet, or the handshake is under way. */
    REDLOCK_TROUBLE_UNREACHABLE,    /* The transport says why. */
    REDLOCK_TROUBLE_CLOSED,         /* The node closed the connection. */
    REDLOCK_TROUBLE_SILENT,         /* No answer in time. */
    /* It sends something that is not RESP2, or that answers no question (S16). */
    REDLOCK_TROUBLE_PROTOCOL,
    REDLOCK_TROUBLE_RESTARTED,      /* Restarted within the guard (S11). */
    REDLOCK_TROUBLE_SAME_SERVER,    /* Another node is the same server (S12). */
    REDLOCK_TROUBLE_REPLICA,
    REDLOCK_TROUBLE_CLUSTER,
    REDLOCK_TROUBLE_SENTINEL,
    /* INFO names no run_id, nor what can stand in for it, no mode, or no role. */
    REDLOCK_TROUBLE_NO_IDENTITY,
    REDLOCK_TROUBLE_NOAUTH,
    REDLOCK_TROUBLE_WRONGPASS,
    REDLOCK_TROUBLE_NOPERM,
    REDLOCK_TROUBLE_LOADING,
    REDLOCK_TROUBLE_READONLY,
    REDLOCK_TROUBLE_MOVED,
    REDLOCK_TROUBLE_CLUSTERDOWN,
    REDLOCK_TROUBLE_OOM,
    REDLOCK_TROUBLE_MISCONF,
    REDLOCK_TROUBLE_MASTERDOWN,
    REDLOCK_TROUBLE_NOREPLICAS,
    REDLOCK_TROUBLE_BUSY,
    REDLOCK_TROUBLE_NOSCRIPT,
    REDLOCK_TROUBLE_WRONGTYPE,
    REDLOCK_TROUBLE_MAX_CLIENTS,
    REDLOCK_TROUBLE_DENIED,         /* Protected mode. */
    /* The ticket is further ahead of the node's clock than allowed, so a wall clock is wrong. */
    REDLOCK_TROUBLE_AHEAD,
    REDLOCK_TROUBLE_OTHER_ERROR
};

/* ---- Objects of the calls ---- */

/* The caller places these, and this header completes them, most in its last part. Their fields are
 * private, but for those that are said to be read or set. */
/* An engine serves one set of nodes, and any number of locks. Its now_us, node_count
 * and session_count may be read. */
struct redlock;
struct redlock_node;        /* The engine's knowledge about one node. */
struct redlock_lock;
struct redlock_question;    /* A command to one node (see redlock_ask). */
struct redlock_mark;        /* Once in a period (see redlock_start_mark). */
struct redlock_durable;     /* For an engine with durable nodes (see redlock_use_durable). */
struct redlock_promotions;  /* For an engine with watched nodes (see redlock_use_promotions). */
struct redlock_event_ring;

/* The name of a resource may have any bytes. They are the caller's. */
struct redlock_name {
    const void *bytes;
    size_t size;
    bool shared;                /* A lock of the kind redlock_shared takes this resource shared. */
};

/* ---- Setting up ---- */

/* redlock_config_init sets the defaults. */
struct redlock_config {
    /* S11: delayed restart, also called the guard. It must be longer than the longest TTL that
     * anybody uses on these nodes. 0: off, for servers with appendfsync always, or if losing every
     * lock does not matter. */
    uint32_t guard_ms;
    /* S2: a node's clock may run this much faster, in millionths, up to DRIFT_PPM_MAX. */
    uint32_t drift_ppm;
    uint32_t node_timeout_ms;   /* 1 or more. */
    uint32_t retry_ms;          /* 1..REDLOCK_RETRY_MS_MAX */
    uint16_t resource_max;      /* 1..REDLOCK_RESOURCE_MAX */
    /* PIPELINE_MIN or more, about 3 for each lock that is in flight at once. */
    uint16_t pipeline;
    /* REDLOCK_SEND_MIN(resource_max), so that the longest command fits, to BUFFER_MAX. */
    uint32_t send_size;
    uint32_t receive_size;      /* RECEIVE_MIN to BUFFER_MAX. */
    /* S15: the largest difference between any two wall clocks of clients and nodes. A node that has
     * restarted gives no ticket for twice that time beyond the guard, and refuses a ticket that is
     * further ahead of its own clock than that. 1..REDLOCK_SKEW_MS_MAX */
    uint32_t ticket_skew_ms;
    /* A node remembers a resource's last ticket this long after it was given. From then on only the
     * wall clock makes the next one larger. At least the guard, the TTL and twice the skew. */
    uint32_t ticket_life_ms;
    uint8_t keep_percent;       /* 1..REDLOCK_KEEP_PERCENT_MAX (see redlock_keep). */
    /* Waiters listen for releases on a second connection to each node, which takes 2 x node_count
     * nodes and memory for them. Needs the wall clock in redlock_request. */
    bool wake_ups;
    /* Releases wake no waiter. This is for nodes whose ACL forbids it. */
    bool silent : 1;
    /* S12: nodes that refuse INFO vote nevertheless. Then the engine sees no restart, no replica
     * and no server that it has met as another node. Of nodes that have no run_id, it sees no
     * server that it has met as another node, and believes that they were no replicas (S30). */
    bool trust_unknown : 1;
    /* Set by redlock_set_login if a node is managed. Names need braces, the same in all names of a
     * lock, so that its keys have one slot. The engine needs redlock_sets, which
     * checks that. */
    bool managed : 1;
    /* For an engine that acquires nothing: nodes that refuse EVAL are ready for its questions. */
    bool asks_only : 1;
};

/* How to log in to a node. The texts are the caller's and must stay. NULL: none. */
struct redlock_login {
    const char *user;           /* NULL with a password: AUTH password, for servers without ACLs. */
    const char *password;
    uint32_t database : 29;     /* 0: no SELECT. */
    /* S12: it votes in cluster mode, as the one endpoint of a service. A cluster has one master for
     * each slot, and its other nodes answer MOVED, so it has one vote however often it is named. */
    uint32_t managed : 1;
    /* The server forgets nothing when it restarts (see redlock_use_durable). */
    uint32_t durable : 1;
    /* A majority of sentinels names the server (see redlock_use_promotions). */
    uint32_t watched : 1;
};

#define REDLOCK_SEND_MIN(resource_max) ((resource_max) + 256u)

/* Sessions of an engine, and as many struct redlock_node. With wake-ups each node has two. */
#define REDLOCK_SESSIONS(node_count, wake_ups) ((node_count) + ((wake_ups) ? (node_count) : 0u))

/* Bytes of memory that redlock_init needs for so many sessions, as a constant expression. */
#define REDLOCK_MEMORY(node_count, pipeline, send_size, receive_size)                          \
    ((node_count) * (REDLOCK_ALIGNED((pipeline) * sizeof(struct redlock_asked)) +              \
                     REDLOCK_ALIGNED(send_size) + REDLOCK_ALIGNED(receive_size)))
/* A size_t, without a cast for C++. */
#define REDLOCK_ALIGNED(size) (((size) + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1))
#define REDLOCK_MEMORY_DEFAULT(node_count) \
    REDLOCK_MEMORY(node_count, REDLOCK_PIPELINE, REDLOCK_SEND_SIZE, REDLOCK_RECEIVE_SIZE)

/* REDLOCK_VERSION of the library, a static text. Compare it with the header's. */
const char *redlock_version(void);

/* Sets every field to its default. */
void redlock_config_init(struct redlock_config *config);

/* Makes an engine for node_count nodes (1..REDLOCK_NODES_MAX, numbered from 0). r,
 * nodes[0..REDLOCK_SESSIONS) and memory (aligned for a uint64_t, REDLOCK_MEMORY bytes or more for
 * all sessions) belong to the engine until the caller stops using it. There is nothing to destroy.
 * config is copied, and NULL means the defaults. After BAD_NODE_COUNT, BAD_CONFIG and BAD_MEMORY
 * nothing was touched. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_init(struct redlock *r, const struct redlock_config *config,
                                 struct redlock_node *nodes, unsigned node_count, void *memory,
                                 size_t memory_size, uint64_t now_us);

/* A feature is what a lock can do beyond the plain one. A program links those that it names, as it
 * does kinds of locks (see redlock_plain). To keep or to inspect a lock needs none of them. */
struct redlock_feature;

/* request.ticket, which is refused with BAD_CONFIG without it. */
extern const struct redlock_feature redlock_tickets;
/* request.set, of several resources, which is refused with BAD_SET without it. */
extern const struct redlock_feature redlock_sets;
/* config.wake_ups. Without it nobody listens, and releases wake nobody unless sets are in use. */
extern const struct redlock_feature redlock_wake_ups;
/* free_in_ms of redlock_view_lock. Without it: UNTOLD, and nodes that refuse are not asked. The
 * three above bring it. */
extern const struct redlock_feature redlock_free_in;
/* A node that has lost the key gets it again behind an extension. Without it a lock that is held
 * while one node after another restarts is lost with the last of its quorum. */
extern const struct redlock_feature redlock_restore;
/* The scripts that extend and release are loaded by each new connection and then named by their
 * SHA-1s, in 40 bytes in place of 162 and 110, and a little less work for the node. Without it they
 * go out with their texts each time, which needs less code. Sets and wake-ups load theirs
 * anyway. */
extern const struct redlock_feature redlock_loaded_scripts;
/* Changes nothing but the time it takes. What goes to several nodes in the same bytes is encoded
 * once, by redlock_output of the first of them, and copied to those that have nothing
 * else to send. */
extern const struct redlock_feature redlock_copies;
/* All of these, as the client (redlock_client.h) uses them. */
extern const struct redlock_feature redlock_all_features;

/* Lets the engine use the feature, between redlock_init and the first redlock_tick, and before
 * redlock_use_durable and redlock_use_promotions. A later call is not noticed, and may undo these.
 * Twice is as good as once. The client's engine has all of them. */
void redlock_use(struct redlock *r, const struct redlock_feature *feature);

/* Makes the value of each key that this engine sets the token, a blank and this text, so that a
 * person who looks at a node sees which program holds the lock. The lock is the same otherwise,
 * since nodes compare whole values, and other libraries only compare a value with their own. holder
 * is 1..REDLOCK_HOLDER_MAX bytes without control characters, and a NUL. It must stay as long as the
 * engine is used. Call it when redlock_use may be called. A lock that is adopted must have been
 * acquired with the same holder, or with none by an engine that has none. BAD_CONFIG: it is empty,
 * too long or has a control character, or the send buffer is not at least 65 bytes larger than it
 * must be. Nothing was changed. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_use_holder(struct redlock *r, const char *holder);

/* How to log in to node k from its next connection on. The texts are not copied. BAD_CONFIG: there
 * is no node k, or the login is longer than LOGIN_MAX, or does not fit in the send buffer. Nothing
 * was changed. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_set_login(struct redlock *r, unsigned k,
                                      const struct redlock_login *login);

/* Durable nodes. A server is durable if it writes everything to its disk before it answers
 * (appendonly yes, appendfsync always, no-appendfsync-on-rewrite no) and never comes back with
 * less. It forgets no lock when it restarts, so nobody need wait for the guard after that.
 * login.durable declares that a node is such a server. The engine believes it as long as a key that
 * clients set there without a TTL, REDLOCK_CANARY, stays. While the key is there, the node votes at
 * once after a restart. If it is gone, or another, the node has lost its memory, by a restart
 * without its data or by FLUSHALL. Such a node begins the full guard, and the engine reports that.
 *
 * The canary does not detect a server that comes back with an old copy of its data, from a backup
 * or a snapshot of its disk, or one that loses the last writes, for instance by appendfsync
 * everysec. The canary is there, and locks are not. Declaring such a server durable breaks mutual
 * exclusion. Nor does the canary help if the server's wall clock is ahead when it loads its data,
 * since keys expire by that clock. The user of the login must be allowed ~redlock:canary* +get
 * +set, else the node is like any other (REDLOCK_MEMORY_HIDDEN). The canary is set by the first
 * client for which the node has a full vote, and helps from then on. With config.guard_ms 0 nothing
 * depends on it.
 *
 * Call it after all features. It uses redlock_loaded_scripts. durable is the
 * caller's memory, and belongs to the engine as long as the engine is used. Nodes whose login is
 * not durable are as before. */
void redlock_use_durable(struct redlock *r, struct redlock_durable *durable);

/* Sets canaries where they are due. Call it now and then, after redlock_tick for instance. Its
 * questions go out by redlock_output. */
void redlock_tend_durable(struct redlock_durable *durable);

/* S31: nodes whose master sentinels name, behind a transport that passes an answer on only if a
 * majority of them has named the server since the command was sent. The client of redlock_client.h
 * is one; login.watched declares such a node. A master that reigns since a failover has no vote for
 * the guard from the first contact on. The handshake leaves that time in a key there,
 * REDLOCK_PROMOTION_KEY, so that later engines count the guard from it. If that is refused, each
 * engine waits for the guard. The ACL needs +eval, +info, +get, +set and +time, and the key.
 *
 * Call it after all features. It uses redlock_loaded_scripts. p is the
 * caller's memory, and belongs to the engine as long as that is used. */
void redlock_use_promotions(struct redlock *r, struct redlock_promotions *p);

/* To be called before the session of watched node k connects, with the config-epoch of the master
 * that a majority has named, which is 0 before the first failover. If it changes, the connection is
 * to be closed, and made anew. Below 2^63. */
void redlock_set_epoch(struct redlock_promotions *p, unsigned k, uint64_t epoch);

/* Knowledge about the memory of a durable node. canaries[k].memory of struct redlock_durable may be
 * read. */
enum redlock_memory {
    REDLOCK_MEMORY_UNKNOWN,     /* It is not declared durable, or has not been connected yet. */
    REDLOCK_MEMORY_NONE,        /* It has no canary yet. */
    REDLOCK_MEMORY_KEPT,        /* Its canary is there. */
    /* It came back from a restart without its canary, or as another server. */
    REDLOCK_MEMORY_LOST,
    REDLOCK_MEMORY_FLUSHED,     /* Its canary is gone, or another, though it did not restart. */
    /* It refuses GET or SET, because of an ACL or a key of another type. */
    REDLOCK_MEMORY_HIDDEN
};

/* ---- Random bytes and time ---- */

/* The number of random bytes that the engine can take now, or 0 when it has enough. They must be
 * unpredictable and never be repeated, by this process or another (after a fork!), since tokens are
 * made of them. Without them no attempt begins. */
size_t redlock_entropy_wanted(const struct redlock *r);

/* Gives size bytes, at most as many as wanted (the rest is ignored). */
void redlock_add_entropy(struct redlock *r, const void *bytes, size_t size);

/* When redlock_tick must be called at the latest; REDLOCK_NEVER when nothing waits for time. */
uint64_t redlock_wake_at(const struct redlock *r);

/* Does everything that has become due, such as deadlines, retries, reconnects and debts. May be
 * called at any time. */
void redlock_tick(struct redlock *r, uint64_t now_us);

/* ---- The transport of session k, which leads to node k % N ---- */

enum {
    REDLOCK_WANT_CONNECT = 1,
    REDLOCK_WANT_SEND = 2,
    REDLOCK_WANT_RECEIVE = 4,
    REDLOCK_WANT_CLOSE = 8
};

/* A set of REDLOCK_WANT_ bits for session k now. CONNECT lasts until it is answered. */
unsigned redlock_wants(const struct redlock *r, unsigned k);

/* A connection to node k is established. Only after WANT_CONNECT. */
void redlock_connected(struct redlock *r, unsigned k, uint64_t now_us);

/* The connection to node k is gone, or could not be made. why gives the reason in words for a
 * person. It is copied, and is NULL after WANT_CLOSE, when the engine knows better, or when the
 * node closed the connection. The next one is wanted at once if this one had lasted for 10 ms, or
 * those before had, else after a jittered delay, which grows with each failure to connect or
 * of the handshake. */
void redlock_disconnected(struct redlock *r, unsigned k, const char *why, uint64_t now_us);

/* The bytes to be sent to node k. Encodes as many commands as fit. *size may be 0. Valid until the
 * next call for k. */
const uint8_t *redlock_output(struct redlock *r, unsigned k, size_t *size);

/* True while commands or answers of node k < N are outstanding and it can be expected to take and
 * to answer them soon, because it is connected, or nobody can tell yet whether it is there. False
 * also while debts to a node that is away wait for its return (S5). Such a node is worth waiting
 * for before the connections are closed. */
bool redlock_node_is_busy(const struct redlock *r, unsigned k);

/* The first size bytes of the output have been sent. */
void redlock_sent(struct redlock *r, unsigned k, size_t size);

/* Room for received bytes, *room > 0 of them at most. Valid until the next call for k. */
uint8_t *redlock_input(struct redlock *r, unsigned k, size_t *room);

/* size bytes have been put there. now_us must have been read after that, since it is the end of the
 * elapsed time (S2). */
void redlock_received(struct redlock *r, unsigned k, size_t size, uint64_t now_us);

/* ---- Locks ---- */

/* The kinds of locks. A program links those that it names. Each is described below. The first three
 * exclude each other. Permits exclude only locks of "resource:slot". A lock of Redisson's kind and
 * the others never hold a resource together, but to a shared or a fair lock its key is an error of
 * the node (WRONGTYPE, so NO_QUORUM) and no refusal.
 *
 *     redlock_plain      one client holds it
 *     redlock_shared     any number of readers hold it (see redlock_start_upgrade); a writer is a
 *                        plain lock, or one of a set whose names say so
 *     redlock_fair       one client holds it, in strict order
 *     redlock_permits    one of request.permits permits (see redlock_view_lock)
 *     redlock_redisson   a lock that Java services share, by Redisson, on one node */
struct redlock_kind;
extern const struct redlock_kind redlock_plain, redlock_shared, redlock_fair, redlock_permits,
    redlock_redisson;

/* A request to acquire. */
struct redlock_request {
    const struct redlock_kind *kind;    /* NULL: redlock_plain. */
    /* Any bytes, but not "#ticket", "#waiters", "#leader", "#done", "#readers", "#writer",
     * "#queue", "#lease" or "#grant" at the end, since such keys are the engine's own. The engine
     * does not copy them, so they must stay until the lock is idle or forgotten,
     * or until redlock_copy_name(). */
    const void *resource;
    size_t resource_size;
    uint32_t ttl_ms;            /* 1..REDLOCK_TTL_MS_MAX, not over the guard. */
    /* 0: one attempt. An attempt is begun within this time, and may end after it, by a node timeout
     * at most. REDLOCK_FOREVER: no limit. An attempt that fails only because the last holder's wall
     * clock is ahead, so that our ticket was too small, is followed by another one at once, even if
     * there is no time to wait. If the only node's connection breaks, its command may still be
     * executed, and a second goes by before the next. */
    uint32_t wait_ms;
    /* A lock with less left when it is won counts as lost. 0: any validity is enough. */
    uint32_t min_validity_ms;
    /* S13: how often the lock may be extended; 0: no limit. Without a limit a holder that never
     * stops keeps all others out for ever. */
    uint32_t extension_limit;
    bool ticket;                /* With a fencing token, here called ticket (see redlock_ticket). */
    /* The wall clock at now_us, in microseconds since 1970, for tickets, and for an entry among the
     * waiters. 0: neither. It is taken once, so begin the acquire anew after the
     * clock was stepped. */
    uint64_t wall_us;
    /* Several resources, all or nothing, instead of the one above. set[0..set_count) has up to
     * REDLOCK_SET_MAX of them, each once. Their names together are not longer than one may be, when
     * each but one counts 8 bytes more. They are sorted, and must stay like the
     * names. NULL: one. */
    struct redlock_name *set;
    unsigned set_count;
    /* For redlock_permits, the number of the resource's permits, 1..REDLOCK_PERMITS_MAX. Each has
     * one holder. 0 for any other kind. */
    uint8_t permits;
};

/* Sets every field to its default, which is one attempt, no limit and no ticket. resource or set,
 * and ttl_ms, have no default. */
void redlock_request_init(struct redlock_request *request);

/* Makes a lock ready for its first use. The lock must not be in use, since the engine would go on
 * writing to it, and trap when it finds that out. Nor may a lock be copied (redlock_move moves
 * one), freed before it is idle and forgotten, or used with another engine before that. Calls that
 * begin an operation on such a lock are refused with BAD_LOCK, where the engine can see it. Other
 * calls trap. Calls that only ask a lock (redlock_valid_us, redlock_lock_status and their kind) do
 * not recognize a copy, and report the state when it was made. */
void redlock_lock_init(struct redlock_lock *lock);

/* Begins to acquire, to extend, to release. OK: it has begun; it is under way until
 * redlock_lock_status is not PENDING. Any other status: it has not begun, nothing has changed.
 * From its first operation on the lock belongs to the engine and must stay where it is, until
 * redlock_forget(): which loses nothing once redlock_idle() is true.
 *
 * Acquire: BAD_LOCK, BAD_RESOURCE, BAD_SET, BAD_KIND, BAD_TTL, TTL_OVER_GUARD, BAD_CLOCK,
 * BAD_CONFIG (ticket_life_ms, or no redlock_tickets); BAD_STATE while an operation is under way
 * or it is held, or when it is not idle and this is another resource, another kind than it may owe
 * something as, or another number of permits. Then OK, TAKEN, NO_QUORUM, TOO_LATE, NO_ENTROPY (no
 * random bytes for a node timeout), CANCELLED, or, when it could wait, TIMEOUT (see
 * redlock_attempt_status).
 *
 * Extend: the TTL begins anew with ttl_ms; what is left is never shortened (S7, S9). LOST when the
 * validity has ended: refused, not tried. EXTENSION_LIMIT. Then OK, NO_QUORUM, TAKEN (enough nodes
 * answer, but our token is gone from some), LOST (the validity ended meanwhile). Unless OK the old
 * validity still stands until it ends. With redlock_restore, after OK, a node that has lost our
 * token gets it again, if nobody else has the key there and the node votes, for locks with a ticket
 * on tickets.
 *
 * Release: removes our token wherever it may be. Held no longer from the call on. Then OK:
 * confirmed by a quorum, or by fewer (confirmed of redlock_view_lock) while the rest is owed and
 * paid later (S5); or LOST: it was not held any more, at once when the own clock says so. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_start_acquire(struct redlock *r, struct redlock_lock *lock,
                                          const struct redlock_request *request, uint64_t now_us);
REDLOCK_MUST_CHECK
enum redlock_status redlock_start_extend(struct redlock *r, struct redlock_lock *lock,
                                         uint32_t ttl_ms, uint64_t now_us);
enum redlock_status redlock_start_release(struct redlock *r, struct redlock_lock *lock,
                                          uint64_t now_us);

/* The keeper. From now on the engine extends the lock, which must be held, by its TTL when
 * config.keep_percent of the TTL has passed since the last extension began (spread, somewhat
 * earlier, so that many locks do not act at the same time). If an extension fails, it tries again
 * and again within the validity left. It stops if the lock is released, lost, kept for hold_ms (0:
 * no limit), or at the limit of extensions (S13). BAD_STATE, LOST: nothing has changed.
 * redlock_lock_status stays OK while all is well. It reports the first extension that fails, while
 * redlock_valid_us() gives the validity left, one that succeeds after it (OK), the end of keeping
 * (EXTENSION_LIMIT), and the end of validity (LOST). Each time redlock_next_done()
 * names the lock. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_keep(struct redlock *r, struct redlock_lock *lock, uint32_t hold_ms,
                                 uint64_t now_us);

/* Shared locks. Any number of clients that ask for a resource shared ("readers") hold it at once. A
 * client that does not ask for it shared ("a writer") holds it alone. Every plain lock, of this
 * library or another, is a writer. A reader that waits lets writers pass that came before it, and
 * only those. It does not know of writers without wake-ups, or of other libraries, and not always
 * of one whose retry_ms is above 13000. Each resource of a set is shared or not. A reader's ticket
 * is no smaller than any earlier writer's, and smaller than every later writer's. Most clients that
 * read at once have the same one. A set has one, which is shown to each resource as a reader's or a
 * writer's (redlock_fence.h).
 *
 * Upgrade: a reader becomes a writer, and no other writer was in between. An upgrade never waits.
 * It is TAKEN while others read, since two that wait for each other would wait for ever. After
 * that, and after each other status but LOST, it is the reader that it was. The writer has another
 * token, and another ticket if it had one. Until then it is a reader. Downgrade: a writer becomes a
 * reader, at once and whatever the status. OK means that a quorum lets other readers in. Both
 * extend the lock by its TTL and count as an extension. The lock must have one resource (BAD_SET),
 * be held (LOST), and be in the other role (BAD_STATE). Other refusals are EXTENSION_LIMIT,
 * NO_ENTROPY and BAD_CLOCK. BAD_STATE also refuses a change after one that was cancelled, or that
 * no quorum has granted, until an extension has succeeded, or, if the connections to a quorum broke
 * meanwhile, until the lock is released. It also refuses to acquire the lock, or a set with one of
 * its resources, in another role while anything of it may be on a node, which means until it is
 * idle, or its TTL has run out everywhere. A node that has missed a change is let go at the next
 * one. If a change is lost with its connection, and another follows, the role before both may stay
 * on that node until its TTL ends. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_start_upgrade(struct redlock *r, struct redlock_lock *lock,
                                          uint64_t now_us);
REDLOCK_MUST_CHECK
enum redlock_status redlock_start_downgrade(struct redlock *r, struct redlock_lock *lock,
                                            uint64_t now_us);

/* Fair locks. If clients ask for a resource by redlock_fair, nobody whose first poll began after a
 * waiter was queued on a quorum gets in before that waiter (S25). Without it waiters are woken in
 * the order in which they arrived, by their own clocks, and any client that arrives while the
 * resource is free may take it. This is mostly enough, and costs less. For everybody else a fair
 * lock is a plain lock. Both exclude each other, and a client that is not fair may come in between
 * while the resource is free, from a release until the next waiter has polled, about a round trip.
 * (The key is not handed to that waiter at the release, since nobody has proved that this
 * would be safe.)
 *   The first poll is the doorway. A client that is refused there and can wait is queued on all
 * nodes and polls again, by the same token. It polls when it is woken, if config.wake_ups is set,
 * otherwise after pauses that grow with the number of waiters before it, and at the latest five
 * thirds of a second after the last poll was decided. A place in the queue lives for five seconds
 * without being renewed, so a waiter that dies at the head costs the others that time at most. So
 * does a poll that a node executes after its client has released the lock or given up. If it finds
 * the resource free and nobody queued, it costs its TTL on that node. A client that sleeps for
 * longer is passed until it goes on, and if the queue was empty meanwhile, its place is behind
 * those that are queued since. A node that restarts without its data forgets its queue.
 *   It may have a ticket. Another process adopts it as a fair lock, not as a plain one, since a
 * poll that is still on its way could give away a node that the extension of a plain lock has
 * counted. Releases wake nobody unless wake-ups or sets are used. */

/* A key as one node shows it (see redlock_start_inspect). */
struct redlock_sight {
    bool seen;                          /* The node answered. */
    bool exists;
    /* False: the key has another type, so it is no lock of this kind. */
    bool is_string;
    /* False: it is no string, or the node does not let us read it (ACL +getrange). */
    bool is_readable;
    bool has_ttl;
    /* Left, if has_ttl. More than UINT32_MAX - 2 is cut to that. */
    uint32_t ttl_ms;
    /* Size of the value, up to one more than a token has, so 41 stands for any longer one. */
    uint32_t value_size;
    /* Its first 40 bytes, and a NUL. Any bytes, since somebody else wrote them. */
    char value[REDLOCK_TOKEN_TEXT + 1];
};

/* Asks every node that answers, with a vote or without, for the key. sights[0..node_count) is
 * filled until the operation ends, with OK. The lock must be idle and is used for nothing else
 * meanwhile. Reads only. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_start_inspect(struct redlock *r, struct redlock_lock *lock,
                                          const void *resource, size_t resource_size,
                                          struct redlock_sight *sights, uint64_t now_us);

/* Takes over a lock that another process acquired, by its token (40 hex digits), so that it can be
 * extended or released here. what is the request that acquired it. Only its resource or set and its
 * kind are used, which is redlock_plain for a reader that has become a writer, and redlock_shared
 * for a writer that has become a reader. One of several permits is adopted as a plain lock of
 * "resource:slot", which the longest names leave no room for. The engine does not know whether it
 * is still held, so redlock_valid_us() is 0 until an extension, begun within one node timeout, is
 * confirmed. This is no weaker than S9, since a quorum that still holds our token shares a node
 * with every quorum that a rival could have won since, so nobody has. S17: only
 * redlock_start_release() removes its keys. However its extensions end, to forget it, to part from
 * it, to close the client or to acquire with the same lock again leaves every key as it is, since
 * the process that handed the token over may still hold the lock. It must not extend it,
 * since a node without scripts might make a longer TTL shorter (see native.c). BAD_RESOURCE,
 * BAD_SET, BAD_KIND, BAD_TOKEN; BAD_STATE unless the lock is idle, so a lock that was adopted in
 * vain must be forgotten first. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_adopt(struct redlock *r, struct redlock_lock *lock,
                                  const struct redlock_request *what, const char *token,
                                  uint64_t now_us);

/* Locks of Redisson's kind (S26), for programs that share a lock with Java services, on an engine
 * of one node. The key is a hash like those that Redisson's RLock, its fenced and its spin lock
 * make. It has one field, the first 32 hex digits of the token as a UUID, a colon, and the last 8
 * as a decimal number. So both sides refuse each other, the release publishes on the channel on
 * which waiting Java threads listen, and with wake-ups a waiting lock hears theirs. BAD_KIND: more
 * than one node, or a ticket, permits, a set. The holder's name (redlock_use_holder) is not stored.
 * Java promises less. It has no delayed restart, so after a restart of the node without its data a
 * Java client may take a lock that is still held here. Its own extension may shorten a lock, though
 * only its own. There is no ticket, since a fenced lock's token is Java's. */

/* Copies the lock's name into the lock, so that the caller's bytes may be reused. An operation on
 * the lock must have begun, or it must have been adopted, and it must not be idle. Otherwise the
 * result is false and nothing has changed. The copy serves until the next redlock_start_acquire,
 * redlock_start_inspect or redlock_adopt. If the lock is a set, or the name is longer than
 * REDLOCK_NAME_COPY_MAX, the result is false, too, and a hash of the names (FNV-1a, 32 bits) is
 * noted in place of the copy, for the present attempt. redlock_has_its_names then reports, until
 * the lock is idle, whether the caller's bytes are still the same, as far as a hash can. It is also
 * true if nothing was noted, or if REDLOCK_NAME_COPY_MAX is under 23, which leaves no room for
 * the hash. */
bool redlock_copy_name(struct redlock_lock *lock);
bool redlock_has_its_names(const struct redlock_lock *lock);

/* Ends the operation under way with CANCELLED. A waiting acquire is given up, and every key that it
 * may have set is released. Nothing else changes. Without an operation under way
 * it does nothing. */
void redlock_cancel(struct redlock *r, struct redlock_lock *lock, uint64_t now_us);

/* Ends the caller's use of the lock, without waiting. An operation is cancelled, and an acquired
 * lock is released, unless it was adopted and no release of it has begun (S17). True: it owes
 * something now, so it must stay, with its name, until redlock_idle(), or be moved to a place where
 * both may stay (redlock_move, redlock_view_lock). False: redlock_forget() loses nothing. */
REDLOCK_MUST_CHECK
bool redlock_let_go(struct redlock *r, struct redlock_lock *lock, uint64_t now_us);

/* Tries at once to pay debts that a node did not accept at the last try, instead of waiting until
 * they are due (once a second). */
void redlock_pay(struct redlock *r, struct redlock_lock *lock, uint64_t now_us);

/* Unlinks the lock from the engine at any moment, without a byte sent. Answers to it are dropped,
 * debts are given up, and keys stay on the nodes until their TTL ends. Its memory is the caller's
 * again. The functions below still answer from it about its last operation. NULL stands for all
 * locks, before the engine is made anew: what is under way is cancelled, but a lock that is held
 * stays so, and is kept no longer. */
void redlock_forget(struct redlock *r, struct redlock_lock *lock);

/* Moves a lock, with everything the engine knows about it, to other memory. to is not in use, and
 * from is then as after redlock_forget. redlock_next_done does not report it. resource is the new
 * place of its name (the same bytes), or, for several resources, the new place of the set, with
 * their names. A name that was copied into the lock (redlock_copy_name) moves with it, whatever
 * resource says. */
void redlock_move(struct redlock *r, struct redlock_lock *to, struct redlock_lock *from,
                  const void *resource);

/* The next lock whose operation has ended since the last call, or NULL. Need not be used. */
struct redlock_lock *redlock_next_done(struct redlock *r);

/* ---- Questions about a lock ---- */

/* PENDING, or how the last operation ended. */
enum redlock_status redlock_lock_status(const struct redlock_lock *lock);

/* How the last attempt ended. It gives the reason of a TIMEOUT, or what a pending
 * acquire waits for. */
enum redlock_status redlock_attempt_status(const struct redlock_lock *lock);

/* Mutual exclusion is promised for this time from now_us on; 0: not held (S10). */
uint64_t redlock_valid_us(const struct redlock_lock *lock, uint64_t now_us);

/* True if the engine needs the lock no longer, since nothing is under way, nothing is owed, and no
 * answer is outstanding. A lock that was acquired is not idle before it is released, even if its
 * validity has ended. This function, not redlock_lock_status(), decides when the memory may be
 * freed, after redlock_forget(). */
bool redlock_idle(const struct redlock_lock *lock);

/* One command to all nodes at once, with the votes on it, as sets of node numbers. The last one is
 * lock->round, until the lock's next operation. */
struct redlock_round {
    /* Number among this lock's rounds. A vote counts only for its own round (S8), */
    uint32_t number;
    uint8_t command;            /* and only as the answer to the command that the round is about. */
    uint8_t node_count;
    uint16_t granted, refused, unknown, not_asked;
    uint32_t ttl_ms;
    uint64_t started_at;        /* Before the first byte was sent (S2). */
    uint64_t decided_at;        /* When the round was decided; 0 until then. */
    uint64_t deadline_at;       /* Votes are waited for until then. */
    uint64_t drift_us;          /* The configured part of the TTL, rounded up, and 2 ms. */
};

/* The vote of node k < N in the last round. */
enum redlock_vote redlock_vote_of(const struct redlock_lock *lock, unsigned k);

#define REDLOCK_UNTOLD (UINT32_MAX - 1)     /* See free_in_ms. */

/* What else there is to ask of a lock, as it is now. */
struct redlock_lock_view {
    /* Its names (one, or those of the set, sorted). They are the caller's, in its memory or the
     * lock's (redlock_copy_name), and no longer there when the lock is idle and that memory
     * was reused. */
    const struct redlock_name *names;
    unsigned name_count;        /* 0: none yet, or none any longer. */
    /* Nodes that may have something of ours and still owe the answer to a release. */
    unsigned owed;
    unsigned confirmed;         /* Nodes that obeyed in the last round, as by removing it. */
    /* After TAKEN (or TIMEOUT because of it), the number of ms until enough nodes are free for a
     * quorum if the holder does nothing, by the nodes' own answers (PTTL). FOREVER: a quorum of
     * keys has no TTL, so it is no lock. UNTOLD: too few nodes answered, or none was
     * asked (see redlock_free_in). After any other status it means nothing. */
    uint32_t free_in_ms;
    /* Of a lock of the kind redlock_permits that is held, 1..permits, else 0. On the nodes it is a
     * plain lock of the resource "name:slot", so any client that acquires "name:slot" takes a
     * permit. It is inspected, and adopted, by that name. Clients with different numbers of permits
     * share the slots that both have, so at most as many clients as the largest number hold one. A
     * ticket belongs to the slot, and the resource must compare it only with tickets of the
     * same slot. */
    unsigned slot;
    bool is_shared;             /* It is a reader of any of its resources, and not idle. */
};

struct redlock_lock_view redlock_view_lock(const struct redlock_lock *lock);

/* The fencing token, or ticket, of a lock that was acquired with one. It is larger than the ticket
 * of every holder of any of its resources whose acquire had ended before this one began (S15; see
 * wire.h for the protocol and its limits). While a reader asks to be a writer, it is the reader's.
 * 0: none. Give it to the resource, which must refuse smaller ones (see redlock_fence.h). */
uint64_t redlock_ticket(const struct redlock_lock *lock);

/* Writes the 40 hex digits of the token of the current or last attempt, and a NUL. */
void redlock_token(const struct redlock_lock *lock, char text[REDLOCK_TOKEN_TEXT + 1]);

/* Writes the value of its keys, and a NUL. The value is the token, and after a blank the holder's
 * name if the engine has one. A reader's key has "~shared" instead, and one of Redisson's kind
 * is a hash. */
void redlock_value(const struct redlock *r, const struct redlock_lock *lock,
                   char text[REDLOCK_VALUE_TEXT + 1]);

/* ---- Events: the engine's actions and findings, as they happen ---- */

/* Each kind names the fields that it has in front of the union of struct redlock_event, beside
 * at_us and, for a lock, round. */
enum redlock_event_kind {
    REDLOCK_EVENT_CONNECTED,    /* A connection is established: session. */
    REDLOCK_EVENT_READY,        /* The handshake is over: session. */
    REDLOCK_EVENT_DISCONNECTED, /* The connection is lost, or could not be made: session. */
    /* A command went into the send buffer: session, lock, command, the votes. */
    REDLOCK_EVENT_SENT,
    REDLOCK_EVENT_HEARD,        /* An answer: session, lock, command, the votes. */
    /* The connection was lost before the answer came: session, lock, command, the votes. */
    REDLOCK_EVENT_UNANSWERED,
    /* lock has entered a phase. ACQUIRING, EXTENDING, RELEASING and INSPECTING begin a round, and
     * have its command. */
    REDLOCK_EVENT_PHASE,
    /* A round to acquire or to extend is decided: lock, command, the votes. */
    REDLOCK_EVENT_VERDICT,
    REDLOCK_EVENT_OWED,         /* A release is to be sent: lock, session. */
    REDLOCK_EVENT_CLEARED,      /* Nothing of the lock is on the node any longer: lock, session. */
    /* A node reports that it is the lock's turn: lock, session (not the subscription's). */
    REDLOCK_EVENT_WOKEN,
    /* The status of the lock is known: lock, and its last round's command and votes. */
    REDLOCK_EVENT_ENDED,
    /* lock has this address from now on. redlock_move, redlock_part and redlock_release move it. */
    REDLOCK_EVENT_MOVED,
    REDLOCK_EVENT_FORGOTTEN,    /* After redlock_forget: lock. Another may soon have its address. */
    /* A durable node has lost its memory (see enum redlock_memory): session. */
    REDLOCK_EVENT_EMPTIED
};

enum redlock_command {
    REDLOCK_COMMAND_NONE, /* On a subscription: the published message. */
    REDLOCK_COMMAND_AUTH,
    REDLOCK_COMMAND_SELECT,
    REDLOCK_COMMAND_SETNAME,
    REDLOCK_COMMAND_INFO,
    /* EVAL of nothing. A node that runs no scripts could release nothing, so it has no vote. */
    REDLOCK_COMMAND_EVAL,
    /* EVAL of a release that finds nothing of its own, to a managed node. Its proxy may run
     * scripts, but not ours. */
    REDLOCK_COMMAND_TRIAL,
    REDLOCK_COMMAND_SUBSCRIBE,
    REDLOCK_COMMAND_LOAD_RELEASE,
    REDLOCK_COMMAND_LOAD_EXTEND,
    /* GET REDLOCK_CANARY to a durable node. GRANTED: it is there. REFUSED: it is not. */
    REDLOCK_COMMAND_CANARY,
    /* EVAL of a script that tells the age of a watched node's master. GRANTED,
     * whatever it answers. */
    REDLOCK_COMMAND_PROMOTION,
    /* DELEX or DELIFEQ to a node that refuses to run scripts: which does it know? */
    REDLOCK_COMMAND_NATIVE,
    REDLOCK_COMMAND_READY, /* No command, but the end of the handshake. No event has it. */
    REDLOCK_COMMAND_ACQUIRE,
    REDLOCK_COMMAND_RESTORE, /* The holder sets the key again on a node that has lost it. */
    REDLOCK_COMMAND_EXTEND,
    REDLOCK_COMMAND_RELEASE,
    REDLOCK_COMMAND_WAIT,
    REDLOCK_COMMAND_PTTL,
    REDLOCK_COMMAND_GETRANGE,
    REDLOCK_COMMAND_QUESTION /* redlock_ask. */
};

/* How a command is sent. */
enum redlock_form {
    REDLOCK_FORM_PLAIN,         /* A command of the server's own. */
    REDLOCK_FORM_BY_SHA1,       /* A script by EVALSHA, for a node that is believed to know it. */
    REDLOCK_FORM_BY_TEXT        /* A script by EVAL. */
};

enum redlock_answer {
    /* Done. Any answer to a question, and any message of a subscription. */
    REDLOCK_ANSWER_GRANTED,
    REDLOCK_ANSWER_REFUSED,
    REDLOCK_ANSWER_ERROR,       /* An error reply, with its trouble. */
    REDLOCK_ANSWER_WRONG        /* No answer that this command may get (S16). */
};

enum redlock_phase {
    REDLOCK_PHASE_IDLE,         /* Nothing is under way; something may be owed. */
    REDLOCK_PHASE_WAITING,      /* For the next attempt, or for a wake-up. */
    REDLOCK_PHASE_NEEDS_ENTROPY,  /* For random bytes. */
    REDLOCK_PHASE_ACQUIRING,
    /* The last attempt is lost, and nodes are asked how long the holder has left. */
    REDLOCK_PHASE_ENDING,
    REDLOCK_PHASE_HELD,         /* Won. Only the clock shows whether it is still held (S10). */
    REDLOCK_PHASE_EXTENDING,
    REDLOCK_PHASE_RELEASING,
    REDLOCK_PHASE_INSPECTING
};

enum { REDLOCK_NO_SESSION = 255 };

/* A command and its answer. SENT has form and to_come, and UNANSWERED has vote as well. Their other
 * fields are 0. */
struct redlock_event_message {
    enum redlock_form form;
    enum redlock_answer answer;
    enum redlock_trouble trouble;       /* NONE unless the answer is an ERROR. */
    /* PENDING: it was no vote on the last round, or arrived after its end. */
    enum redlock_vote vote;
    uint16_t to_come;       /* Answers that the session still owes, with that to a new command. */
    /* An integer reply. If a script that acquires refuses, this is the holder's remaining time in
     * ms, like PTTL's answer; -1: for ever; -2: there is none. */
    int64_t number;
    /* With such a refusal, the largest ticket that the node has seen. 0: none. */
    uint64_t ticket;
};

struct redlock_event_phase {
    enum redlock_phase phase;
    /* ACQUIRING and EXTENDING have those of the round that they begin. */
    uint32_t ttl_ms;
    uint64_t drift_us;
};

/* The round's arithmetic is validity = ttl - elapsed - drift. */
struct redlock_event_verdict {
    enum redlock_status status;
    uint32_t ttl_ms;
    uint64_t elapsed_us;                /* Huge if the clock went back. */
    uint64_t drift_us, validity_us;
    uint64_t ticket;                    /* 0 unless the lock was won with one. */
};

/* A field in front of the union that is not named with its kind above is 0, and session is
 * NO_SESSION if the event is only about a lock. The union has the member of the event's kind, if
 * there is one. No other member may be read. */
struct redlock_event {
    uint64_t at_us;                     /* The time of the call in which it happened. */
    /* Only to tell locks apart, since it may be gone by now. NULL: it is about none. */
    const struct redlock_lock *lock;
    enum redlock_event_kind kind;
    enum redlock_command command;
    uint32_t round;                     /* Number of the lock's round. */
    /* The votes so far, with this one, as sets of nodes. */
    uint16_t granted, refused, unknown, not_asked;
    uint8_t session;
    union {
        /* READY: it is another server than the last one there, or has restarted. Its
         * guard begins. */
        bool is_new_server;
        enum redlock_trouble trouble;               /* DISCONNECTED. */
        struct redlock_event_message message;       /* SENT, HEARD, UNANSWERED. */
        struct redlock_event_phase phase;           /* PHASE. */
        struct redlock_event_verdict verdict;       /* VERDICT. */
        enum redlock_status status;                 /* ENDED. */
        const struct redlock_lock *was;             /* MOVED: its address in earlier events. */
    } as;
};

struct redlock_eventing;

/* A ring of events. */
struct redlock_event_ring {
    /* So many events were lost because the ring was full. The newest are lost. To be read. */
    uint64_t lost;
    /* To be set after redlock_use_events, which sets EVENTS_ALL. Kinds of events that are written
     * from then on, by REDLOCK_EVENT_BIT of each or'ed together (REDLOCK_METRICS_EVENTS in
     * redlock_metrics.h, for instance). An event that is not wanted costs the test of a bit. */
    uint32_t kinds;
    const struct redlock_eventing *feature;     /* Private, from here on. */
    struct redlock_event *ring;
    size_t size, first, count;
};

/* From now on the engine writes events into a ring of count > 0. events and ring are the caller's
 * memory, and belong to the engine until this is called with NULL for events, which ends the
 * writing. It changes nothing else. */
void redlock_use_events(struct redlock *r, struct redlock_event_ring *events,
                        struct redlock_event *ring, size_t count);

/* The bit of a kind of events, for kinds of the ring. */
#define REDLOCK_EVENT_BIT(kind) (UINT32_C(1) << (kind))
#define REDLOCK_EVENTS_ALL UINT32_MAX

/* Takes the oldest event out. False: there is none. */
bool redlock_next_event(struct redlock_event_ring *events, struct redlock_event *event);

/* Names for people, static texts. redlock_script_name is a command's script, if its form is not
 * PLAIN ("acquire"), and redlock_argument_name its argument number i = 0.. after the keys ("token",
 * "ttl"). NULL: there is none. */
const char *redlock_script_name(enum redlock_command command);
const char *redlock_argument_name(enum redlock_command command, unsigned i);

/* ---- Questions to a node, which belong to no lock ---- */

enum redlock_item_type {
    REDLOCK_ITEM_SIMPLE,        /* +text */
    REDLOCK_ITEM_ERROR,         /* -text */
    REDLOCK_ITEM_INTEGER,
    REDLOCK_ITEM_BULK,          /* A string of any bytes. */
    REDLOCK_ITEM_NULL_BULK,     /* None. */
    REDLOCK_ITEM_ARRAY,         /* Its elements follow as items of their own. */
    REDLOCK_ITEM_NULL_ARRAY
};

/* One value of a reply, or a piece of one. */
struct redlock_item {
    enum redlock_item_type type;
    /* 0: the reply itself; 1: an element of it; 2: an element of such an element; ... */
    uint8_t depth;
    /* The first piece of a string, or the last. Both: the whole. Any other value has both. */
    bool first, last;
    /* SIMPLE, ERROR, BULK: size bytes in the buffer of the question, without a NUL. */
    const uint8_t *bytes;
    size_t size;
    /* INTEGER: its value. ARRAY: its number of elements. BULK: the whole string's
     * size. Nulls: -1. */
    int64_t integer;
};

struct redlock_asking;

/* A question, and how it stands. */
struct redlock_question {
    /* To be read. PENDING, or how it ended. OK: the reply is complete, though it may be an error.
     * NO_ANSWER: the connection is gone, and the node may have executed the command. CANCELLED: it
     * was forgotten. */
    enum redlock_status status;
    /* To be read. The reply did not fit in the buffer. The items before the cut are complete, those
     * after it are lost. */
    bool is_cut;
    bool is_sent;                               /* Private, from here on. */
    uint8_t argument_count, node;
    /* Different from every other question's that is not answered. */
    uint32_t number;
    struct redlock_question *next;
    const struct redlock_asking *feature;
    const struct redlock_name *arguments;
    uint8_t *buffer;
    size_t size, read, written;                 /* Bytes of the buffer. */
};

/* Asks node k < N any command of count arguments (1..REDLOCK_ARGUMENTS_MAX), the command's name
 * first, on the connection that locks use, after their commands. It has no vote and no part in any
 * lock. But a command that keeps the node busy keeps it from voting, and a node that does not
 * answer within four node timeouts loses its connection, like after any command. The reply is
 * parsed into buffer (size bytes, any alignment) as it arrives. Fetch it by redlock_next_item, all
 * of it at the end, or in between so that long replies pass through a small buffer. Each item takes
 * its own bytes and 24 at most. The limits of a lock's answer hold here, too (S16), which are 64
 * KiB in a string, 64 elements in an array, and arrays three deep. A longer reply ends the
 * connection, so there is no answer, and the node is said to be no Redis server. question is
 * memory that no other question uses. It, arguments, their bytes and the buffer belong to the
 * engine until question->status is not PENDING, or redlock_forget_question. OK: it has been asked.
 * BAD_QUESTION: no such node, too many or too large arguments, or one of SELECT, AUTH, HELLO,
 * RESET, QUIT, MULTI, EXEC, DISCARD, MONITOR, SYNC, PSYNC, REPLCONF, CLIENT REPLY, SUBSCRIBE and
 * its kind, which would change the locks' connection. NO_ANSWER: there is no connection to the
 * node now (see redlock_view_node). After an error nothing has changed. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_ask(struct redlock *r, struct redlock_question *question, unsigned k,
                                const struct redlock_name *arguments, unsigned count, void *buffer,
                                size_t size, uint64_t now_us);

/* The next item of the reply, as far as it has arrived. False: there is none now. *item is valid
 * until the next call for this engine. */
bool redlock_next_item(struct redlock_question *question, struct redlock_item *item);

/* Gives up the answer, which is dropped when it arrives. The command may be executed. The memory is
 * the caller's again. Does nothing when the question has ended. */
void redlock_forget_question(struct redlock *r, struct redlock_question *question);

/* ---- Once per period: a mark that the holder of a lock sets before it begins (S18) ---- */

/* A job that runs once in each period. Periods are cut from the time since 1970 (UTC). A period of
 * a day begins at midnight, less the slack, and one of a week on a Thursday. Clients agree on a
 * period if they have the same period_ms. */
struct redlock_period {
    uint32_t period_ms;         /* REDLOCK_PERIOD_MS_MIN..MAX */
    /* The wall clock, in microseconds since 1970, when the job was due. It names the period. */
    uint64_t wall_us;
    uint64_t at_us;             /* The engine's clock at the same moment. */
    /* The marker's name for people, up to REDLOCK_WHO_MAX bytes, copied. NULL: none. */
    const char *who;
    /* Nodes that restarted within the period take part. The job then may run twice,
     * but not never. */
    bool takes_forgetful;
    /* Sets no mark, and only looks whether anybody has marked the period. */
    bool looks_only;
};

/* The beginning of the wall clock's period, in milliseconds since 1970, which is the period's name.
 * period_ms > 0. */
uint64_t redlock_period_begins_ms(uint64_t wall_us, uint32_t period_ms);

enum { REDLOCK_MARK_MAX = 20 + 1 + 16 + 1 + 20 + 1 + REDLOCK_WHO_MAX };   /* "T marker when who" */

/* One node's answer to a mark. */
struct redlock_marker {
    /* To be read, of nodes 0..N-1. PENDING: it has not answered. GRANTED: it has taken the mark.
     * REFUSED: it has another's. UNKNOWN: no answer, an error, or our lock is not there. NOT_ASKED:
     * it takes no part. */
    enum redlock_vote vote;
    /* To be read. The reason, or "" if there is no other than its vote, or that it had none
     * (redlock_describe_node). The text is in this structure until that is used again. NULL:
     * redlock_start_mark was refused. */
    const char *words;
    struct redlock_question question;           /* Private, from here on. */
    /* The node's when it was asked, which shows whether it is the same server. */
    uint64_t met_at;
    char error[REDLOCK_ERROR_MAX];
    /* When another's mark was set (0: none), and by whom. */
    uint64_t seen_ms;
    char seen_who[REDLOCK_WHO_MAX + 1];
    uint8_t reply[256];                         /* A mark, in a few pieces. */
};

/* A mark of a period, as redlock_start_mark, redlock_mark_status and redlock_forget_mark leave
 * it. */
struct redlock_mark {
    struct redlock_marker nodes[REDLOCK_NODES_MAX];
    /* To be read, like vote and words of each node. redlock_mark_status must be called then at the
     * latest. NEVER: it is decided. */
    uint64_t until_us;
    /* To be read once it is decided. The client that set another's mark, and the time when it did,
     * by its own wall clock (microseconds since 1970). This mark is the one on most of the nodes
     * that reported any, or of several the earliest. The text may have any bytes but NUL, since
     * somebody else wrote it. It is in this structure until that is used again. NULL: no node
     * reported any. */
    const char *seen_who;
    uint64_t seen_wall_us;
    struct redlock_lock *lock;                  /* Private, from here on. */
    uint64_t period_begins_ms;
    uint64_t wall_offset_us;                    /* Wall clock minus the engine's. */
    uint32_t period_ms;
    uint8_t status;
    bool takes_forgetful;
    struct redlock_round round;
    struct redlock_name words[REDLOCK_ARGUMENTS_MAX];
    char token[REDLOCK_VALUE_TEXT], value[REDLOCK_MARK_MAX], life[20], skew[20];
};

/* Asks all nodes that take part to take a mark of the period, "resource#done", while the lock is
 * held. The lock must be held, have one resource whose key has its token (so it is no reader,
 * permit or lock of Redisson's kind), and be kept or not. A node takes one mark for a period, and
 * then none for an earlier one, but takes the mark of the same acquire again. A node takes no part
 * while it has no vote, nor (unless config.guard_ms is 0) if it may have restarted since the period
 * began. It takes no mark from a client whose wall clock is further off than config.ticket_skew_ms.
 * mark is memory that no other mark uses. It and the lock belong to the engine until
 * redlock_mark_status is not PENDING, or redlock_forget_mark. *period is copied. OK: it has begun.
 * BAD_CONFIG (period_ms), BAD_CLOCK, BAD_LOCK, BAD_SET, BAD_KIND, BAD_QUESTION (the send buffer is
 * too small), LOST. TOO_LATE: one period has passed since its end, so its marks
 * may be forgotten. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_start_mark(struct redlock *r, struct redlock_mark *mark,
                                       struct redlock_lock *lock,
                                       const struct redlock_period *period, uint64_t now_us);

/* Call it after each call of the engine, and at mark->until_us. OK: a quorum has taken the
 * mark, so nobody else has begun in this period or will, and the caller may begin, while it holds
 * the lock. With looks_only, a quorum has no mark. ALREADY: so many nodes have another's mark that
 * no quorum can take ours. Its job has begun, and may have run or not. NO_QUORUM: neither is
 * certain, so ask again, as long as the lock is held. LOST, TOO_LATE. CANCELLED: it was forgotten.
 * After any status but OK nothing was decided, and our mark may be on some nodes. With the same
 * lock the same period is OK again, so a caller that keeps a lock must count the periods itself. */
enum redlock_status redlock_mark_status(struct redlock *r, struct redlock_mark *mark,
                                        uint64_t now_us);

/* Gives up the answers. The memory is the caller's again. */
void redlock_forget_mark(struct redlock *r, struct redlock_mark *mark);

/* ---- Questions about the nodes ---- */

/* N/2 + 1 (S1). */
unsigned redlock_quorum(unsigned node_count);

/* True if node k < N has a vote now on locks without a ticket. */
bool redlock_node_votes(const struct redlock *r, unsigned k, uint64_t now_us);

/* What else there is to ask of a node. k < N, or session_count with wake-ups, where the sessions
 * from N on are subscriptions, which have no vote. */
struct redlock_node_view {
    /* The run_id of the server that votes there, was the last to vote, or will vote when its guard
     * is over. It has REDLOCK_RUN_ID_SIZE bytes, in memory of the engine, and changes with each
     * restart of the server. NULL: none is known, or it has none and is trusted. */
    const uint8_t *run_id;
    /* Why it has no vote, or what its last error was. */
    enum redlock_trouble trouble;
    /* It has a vote on locks with a ticket, which it gets later after a restart
     * (see ticket_skew_ms). */
    bool gives_tickets;
    /* It runs no scripts, and works by commands of its own. It has a vote on plain locks of one
     * resource without a ticket, for extensions by the TTL of the acquire, and for nothing else. */
    bool lacks_scripts;
    /* False while nobody can tell whether it is there, which is before the first connection has
     * succeeded or failed, and while a good one that broke is made anew. A round waits for
     * such a node. */
    bool is_settled;
};

struct redlock_node_view redlock_view_node(const struct redlock *r, unsigned k, uint64_t now_us);

/* The trouble in words, such as "connection refused", "NOAUTH Authentication required.", "restarted
 * 4 s ago, no vote for another 27 s, no ticket for another 47 s", "same server as node 2"; "ok".
 * Cut to size, always NUL-terminated. size > 0. */
void redlock_describe_node(const struct redlock *r, unsigned k, uint64_t now_us, char *text,
                           size_t size);

/* ---- Private from here on. The structures are complete so that the caller can place them. Their
 * fields may change ---- */

struct redlock_scripts;     /* Parts that features add to the engine. */
struct redlock_ticketing;
struct redlock_sets;
struct redlock_waking;
struct redlock_keeping;
struct redlock_inspecting;
struct redlock_restoring;
struct redlock_hashing;
struct redlock_holding;
struct wire_reply;
struct answer;

/* A place in a doubly linked queue of locks. */
struct redlock_link {
    struct redlock_lock *next, *previous;
};

struct redlock_queue {
    struct redlock_lock *first, *last;
};

/* The keys and entries that one lock has, or may have, on one node. */
struct redlock_stake {
    /* Whether something of ours is there (enum stake in lock_state.h). */
    uint8_t state;
    uint8_t want;                       /* The command to be sent next (enum redlock_command). */
    uint8_t form;                       /* Its form, if it is a script (enum redlock_form). */
    /* Commands that may still be executed there (enum strays in lock_state.h). */
    uint8_t strays;
    /* PTTL of the key that refused us (see free_in_ms). */
    uint32_t holder_ms;
    /* Token of the last SET that was sent there. A release must name it (S6). */
    uint8_t token[REDLOCK_TOKEN_SIZE];
};

/* One of several permits. */
struct redlock_permit {
    uint8_t count;                      /* Number of permits; 0: it is a lock. */
    /* The slot held, or, while it is acquired, the only one that is asked for. 0: any. */
    uint8_t slot;
    /* While waiting, how many more nodes have named it than others. */
    uint8_t named;
};

/* The way of a fair lock to its turn. */
struct redlock_turn {
    /* Its turn, or at the doorway its turn to be. 0: the lock has let go. */
    uint32_t number;
    uint16_t rank;                      /* Number of waiters before it, by the last round. */
    bool is_at_doorway;                 /* It has no turn yet. */
    bool renews;                        /* A quorum has answered the round before this one. */
};

/* Its place among the waiters. */
union redlock_line {
    uint64_t arrived_at;                /* Wall clock at the operation's begin. 0: it has none. */
    struct redlock_turn turn;           /* A fair lock's. */
};

/* Fields that a lock needs in only one phase. */
union redlock_use {
    uint8_t slots[REDLOCK_NODES_MAX];           /* Acquiring: slots that nodes have granted. */
    /* Kept: when the keeper extends it, and when it stops. */
    struct { uint64_t at, until; } keep;
    /* Waiting: subtrees of the locks that listen (see queue.h). */
    struct redlock_lock *below[2];
    struct redlock_sight *sights;               /* Inspecting: the caller's, to be filled. */
};

/* Fields that are used most come first. Short instructions of small processors reach bytes below
 * offset 32, halves below 64 and words below 128, and no 64 bits. The same holds for nodes and for
 * the engine. */
struct redlock_lock {
    uint8_t phase;                      /* enum redlock_phase in lock_state.h. */
    /* Status of the operation under way, or of the last one (enum redlock_status). */
    uint8_t status;
    /* Status of the last attempt, when waiting longer than that. */
    uint8_t attempt_status;
    bool in_heap;
    bool is_unconfirmed;                /* Adopted, and no node has reported yet that it is held. */
    bool has_ticket;                    /* Each attempt is made with one. */
    /* Stands aside for waiters that its release has woken (see yields_to). */
    bool is_yielding;
    /* This attempt began at once, since the last one's ticket was too small. */
    bool is_corrected;
    /* A node found the ticket too far ahead, after others had reported it. */
    bool is_ahead;
    /* The keeper extends it; the operation under way is the keeper's, not the caller's. */
    bool is_kept, is_quiet;
    bool wakes;                         /* Its release wakes a waiter, since it was held. */
    uint8_t name_count;
    /* Number since it last won without being woken. The pause grows with it. */
    uint8_t refusals;
    uint16_t queued;                    /* The links[] in use. */
    /* Sets of nodes: a release is still to be sent to them; it is to be tried at debt_at; PTTL or a
     * sight is still to arrive from them. */
    uint16_t owed, deferred, asking;
    /* Nodes that refused because a resource is taken, not because of the ticket. */
    uint16_t taken;
    /* Sets of nodes: it has an entry among the waiters there; they have woken it. */
    uint16_t entries, woken;
    /* Another process acquired it, and it has not been released here (S17). */
    bool is_adopted;
    /* Progress of listening to Redisson's channel of its name. */
    uint8_t listening : 2;
    uint8_t has_other_ttl : 1;          /* More than one TTL was sent with its token (native.c). */
    bool has_timed_out;                 /* A tick found that the time of its round was over. */
    uint32_t outstanding;               /* Commands that are not answered yet, on all nodes. */
    uint32_t ttl_ms, min_validity_ms;
    /* The longest TTL that was sent and may be running on some node. */
    uint32_t owed_ttl_ms;
    /* Tells its entries among the waiters from those of other locks. 0: it waits for none. */
    uint32_t wait_number;
    const struct redlock_kind *kind;    /* redlock_plain until it is used. */
    struct redlock_lock *heap_child, *heap_next, *heap_previous;
    uint32_t extension_limit, extension_count;
    /* A hash of the name whose release has woken somebody. 0: nobody was woken. */
    uint32_t yields_to;
    struct redlock_round round;         /* To be read, the last one. */
    /* Name of the only resource. For several, bytes is the caller's set, sorted. */
    struct redlock_name name;
    /* The addresses of lock and engine, combined, so that a copy's differ. 0: no engine's. */
    uintptr_t bond;
    uint64_t valid_from, valid_until;   /* Compared with the clock, not believed (S10). */
    uint64_t wait_until;                /* No attempt begins later; 0: none but the first. */
    uint64_t retry_at;
    /* When the last TTL has run out on every node, and when debts are tried again. */
    uint64_t owed_until, debt_at;
    struct redlock_permit permit;
    /* Copy of the name, on request. C has no empty array, so it has one byte more. */
    uint8_t copy[REDLOCK_NAME_COPY_MAX + 1];
    uint64_t wake_at;                   /* Heap of locks by time. */
    /* Ticket of the current attempt or the lock, and the largest reported by nodes. */
    uint64_t ticket, ticket_seen;
    uint64_t wall_offset_us;            /* Wall clock minus this clock when the operation began. */
    union redlock_line line;
    union redlock_use use;
    uint8_t token[REDLOCK_TOKEN_SIZE];  /* Token of the current attempt, or of the held lock. */
    struct redlock_stake stakes[REDLOCK_NODES_MAX];
    /* One for each node, and one for the engine's own queues. */
    struct redlock_link links[REDLOCK_NODES_MAX + 1];
};

/* A command that was put to a node and is not answered yet. */
struct redlock_asked {
    struct redlock_lock *lock;  /* NULL: it belongs to the handshake, or its lock was forgotten. */
    uint32_t round;
    uint8_t command;            /* enum redlock_command. */
    uint8_t form;               /* enum redlock_form. */
    int8_t lowest, highest;     /* The range of a script's answer, if that is a number. */
};

enum {
    REDLOCK_PARSER_WORDS = 14,
    REDLOCK_LINE_MAX = REDLOCK_ERROR_MAX > 48 ? REDLOCK_ERROR_MAX : 48
};

/* The reply that is being read, or the parts that matter of a long one. */
struct redlock_reply {
    int64_t integer;
    uint8_t type;               /* enum resp_type of its outermost value */
    bool begun;
    bool text_cut;              /* Its strings were longer than the room for them. */
    uint8_t text_size;
    char text[REDLOCK_LINE_MAX + 1];
};

/* A server's statements about itself during the handshake. */
struct redlock_identity {
    bool has_run_id, has_mode, has_role;
    bool unknown : 1;           /* It refused to answer, and is trusted. */
    bool is_derived : 1;        /* run_id is made of other lines (see identity.c). */
    uint8_t native;             /* How it works without scripts (enum native in native.h). */
    uint8_t trouble;            /* Why its mode or role rules out a vote (enum redlock_trouble). */
    uint8_t memory;             /* A durable node's (enum redlock_memory). */
    /* S30: 0, or a mark of the end of the history that it has taken over. */
    uint8_t history;
    uint32_t uptime_s;
    uint8_t run_id[REDLOCK_RUN_ID_SIZE];
};

struct redlock_node {
    uint8_t state;              /* enum node_state in node.h */
    uint8_t trouble;            /* enum redlock_trouble, or for error replies wire_class. */
    /* The command that got the error reply, if there was one (enum redlock_command). */
    uint8_t noted;
    uint8_t step;               /* The next command of the handshake (enum redlock_command). */
    /* Detail of the trouble. SAME_SERVER: the node. SILENT and PROTOCOL: enum node_reason. */
    uint8_t detail;
    /* Failed connections in a row, the exponent of the reconnect delay. */
    uint8_t failures;
    bool is_subscription;       /* A session for wake-ups only subscribes, and asks nothing. */
    /* False while nobody can tell whether it is there, which is before the first connection has
     * succeeded or failed, and after the loss of a good one. Nobody waits for a subscription. For
     * it, true only means that it is connected again after a pause, not at once. */
    bool settled;
    /* 0: none yet. Otherwise the history of that run_id's server, or 1 (S30). */
    uint8_t has_run_id;
    bool is_bereft;             /* Another node has led to its server since (S12). */
    uint16_t asked_first, asked_count;
    uint16_t apart_left;                        /* See apart. */
    struct redlock_identity identity;           /* By the connection that is being made. */
    /* A ring, since answers arrive in the order of the questions. */
    struct redlock_asked *asked;
    uint8_t *send, *receive;
    uint32_t send_start, send_end, receive_start, receive_end;
    /* A script that is sent from its own place, between the bytes of send. */
    const char *apart;
    /* So many of them go before it. apart_left bytes of it are unsent. */
    uint32_t apart_at;
    /* When the handshake was over, in units of 1024 us, the lower 32 bits. */
    uint32_t ready_at;
    struct redlock_queue queue;                 /* Locks that want to send to this node. */
    struct redlock_login login;
    /* The last server's that had a vote there, or will have one. */
    uint8_t run_id[REDLOCK_RUN_ID_SIZE];
    /* If disconnected, when to connect. During connection and handshake, when to give up. If ready,
     * when an answer is overdue. */
    uint64_t alarm_at;
    uint64_t met_at;            /* When this server was seen for the first time, */
    uint64_t uptime_us;         /* and how long it was believed to have been up then (S11). */
    struct redlock_reply reply;
    char error[REDLOCK_ERROR_MAX];
    size_t parser[REDLOCK_PARSER_WORDS];        /* struct resp_parser */
};

/* The canary of a durable node. */
struct redlock_canary {
    struct redlock_question question;
    struct redlock_name words[4];
    uint8_t step;                               /* Which question it was, on this connection. */
    uint8_t memory;                             /* To be read (enum redlock_memory). */
    bool is_known;                              /* The token is its canary's. */
    uint8_t token[REDLOCK_TOKEN_SIZE];
    char value[REDLOCK_TOKEN_TEXT];             /* To be set, or that was read. */
    uint8_t reply[128];
};

enum { REDLOCK_DURABLE_WORDS = 12 };

struct redlock_durable {
    /* The first field, by which the handshake finds the rest. */
    uintptr_t scripts[REDLOCK_DURABLE_WORDS];
    struct redlock_durable *self;
    struct redlock *r;
    struct redlock_canary canaries[REDLOCK_NODES_MAX];      /* To be read: memory of each. */
};

/* The reign of a watched node's master. */
struct redlock_reign {
    /* Of the master that a majority has named; 0: no failover yet. */
    uint64_t epoch;
    uint64_t met_epoch;                         /* That in which it was met. */
};

struct redlock_promotions {
    /* The first field, by which the handshake finds the rest. */
    uintptr_t scripts[REDLOCK_DURABLE_WORDS];
    struct redlock_promotions *self;
    struct redlock *r;
    const struct redlock_scripts *before;       /* The scripts without it. */
    struct redlock_reign reigns[REDLOCK_NODES_MAX];
};

struct redlock {
    /* To be read. The last time that the engine was given. A loop that has just received need not
     * read the clock again for redlock_tick. */
    uint64_t now_us;
    uint8_t node_count;                 /* To be read. N. 0: r is zeroed memory. */
    uint8_t session_count;              /* To be read. N, or 2 N with wake-ups. */
    uint8_t entropy_size;
    /* node_count nodes, and after them their subscriptions, if any. */
    struct redlock_node *nodes;
    /* Their form suits the features in use, which are those that */
    const struct redlock_scripts *scripts;
    const struct redlock_ticketing *ticketing;          /* follow. */
    const struct redlock_sets *sets;
    /* For plain locks that are sent by a script. NULL: there are none. */
    const struct redlock_kind *scripted;
    const struct redlock_waking *waking;
    const struct redlock_keeping *keeping;
    const struct redlock_inspecting *inspecting;
    const struct redlock_restoring *restoring;
    const struct redlock_holding *holding;
    /* Makes copies for other nodes. NULL: no copies. */
    void (*fill_send_buffer)(struct redlock *r, unsigned k);
    const struct redlock_hashing *hashing;  /* Scripts may go out by their SHA-1s. NULL: none do. */
    struct redlock_config config;
    struct redlock_lock *heap;          /* The lock that must be looked at first is on top. */
    /* Those without an answer, to any node (see redlock_ask). */
    struct redlock_question *questions;
    struct redlock_event_ring *events;      /* The caller's. NULL: none. */
    const char *holder;                 /* The caller's (see redlock_use_holder). NULL: none. */
    /* For delays, which need no secrecy. Tokens come from entropy alone. */
    uint32_t dice;
    /* Locks whose attempt cannot begin without random bytes. */
    struct redlock_queue needs_entropy;
    /* Locks whose operation has ended, for redlock_next_done. */
    struct redlock_queue done;
    struct redlock_queue waiting;       /* Locks between two attempts. */
    /* A kind's own, or NULL. */
    bool (*hear_channel)(struct redlock *r, unsigned k, const struct wire_reply *reply);
    /* Ends the last use of a lock that was adopted. */
    void (*leave_adopted)(struct redlock *r, struct redlock_lock *lock);
    struct redlock_lock *listening;     /* Those of them that listen, found by number; */
    uint32_t wait_count;                /* the last number that was given. */
    uint64_t listen_until;              /* How long subscriptions stay open when nobody waits. */
    uint8_t name[REDLOCK_NAME_SIZE];    /* Random, the name of its subscriptions. */
    uint8_t entropy[REDLOCK_ENTROPY_MAX];
    uint32_t question_count;            /* The last number of a question. */
};

#ifdef __cplusplus
}
#endif
#endif
