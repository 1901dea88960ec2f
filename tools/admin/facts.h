/* The questions to a node, and the reading of its answers: INFO, CONFIG GET, SLOWLOG GET. Asks
 * nothing itself, and judges nothing. */
#ifndef FACTS_H
#define FACTS_H

#include <netinet/in.h>

#include "../redlock/fingerprint.h"
#include "../redlock/notes.h"

/* A question, with the command, and the rule that an ACL must allow for it. A SET with NX and XX is
 * refused by all servers, as the syntax error that it is, and changes nothing; but a server that
 * cannot be written to reports that first, see survey_barrier. */
#define SURVEY_QUESTIONS(X) \
    X(INFO_SERVER, "+info", "INFO", "server") \
    X(INFO_PERSISTENCE, "+info", "INFO", "persistence") \
    X(INFO_MEMORY, "+info", "INFO", "memory") \
    X(INFO_STATS, "+info", "INFO", "stats") \
    X(INFO_REPLICATION, "+info", "INFO", "replication") \
    X(INFO_CLIENTS, "+info", "INFO", "clients") \
    X(INFO_COMMANDS, "+info", "INFO", "commandstats") \
    X(APPENDFSYNC, "+config|get", "CONFIG", "GET", "appendfsync") \
    X(FSYNC_ON_REWRITE, "+config|get", "CONFIG", "GET", "no-appendfsync-on-rewrite") \
    X(SAVE, "+config|get", "CONFIG", "GET", "save") \
    X(STOP_WRITES, "+config|get", "CONFIG", "GET", "stop-writes-on-bgsave-error") \
    X(TIMEOUT, "+config|get", "CONFIG", "GET", "timeout") \
    X(OUTPUT_LIMIT, "+config|get", "CONFIG", "GET", "client-output-buffer-limit") \
    X(CLIENTS_MEMORY, "+config|get", "CONFIG", "GET", "maxmemory-clients") \
    X(MAX_CLIENTS, "+config|get", "CONFIG", "GET", \
      "maxclients") /* Before 6.2 INFO does not tell it. */ \
    X(SLOWLOG, "+slowlog|get", "SLOWLOG", "GET", "16") \
    X(EVAL, "+eval", "EVAL", "return 'yes'", "0") \
    /* Only managed nodes are asked. */ \
    X(TRIAL, "+eval ~redlock:doctor:*", "EVAL", "local k=KEYS[1]return redis.call('exists',k)", \
      "1", SURVEY_KEY) \
    X(SCRIPT, "+script|load", "SCRIPT", "LOAD", "return 1") \
    X(WRITE, "+set ~redlock:doctor:*", "SET", SURVEY_KEY, "-", "NX", "XX") \
    X(CANARY, "+get ~redlock:canary*", "GET", REDLOCK_CANARY) /* Only durable nodes are asked. */ \
    X(MEMBERS, "+cluster|nodes", "CLUSTER", "NODES") /* Only if several nodes are managed. */ \
    X(WHOAMI, "+acl|whoami", "ACL", "WHOAMI")

/* A fact's question, and its name in INFO or CONFIG GET. */
#define SURVEY_FACTS(X) \
    X(RUN_ID, INFO_SERVER, "run_id") \
    X(PROCESS_ID, INFO_SERVER, "process_id") \
    X(VERSION, INFO_SERVER, "redis_version") \
    X(VALKEY_VERSION, INFO_SERVER, "valkey_version") \
    X(MODE, INFO_SERVER, "redis_mode") \
    X(UPTIME, INFO_SERVER, "uptime_in_seconds") \
    X(LOADING, INFO_PERSISTENCE, "loading") \
    X(ASYNC_LOADING, INFO_PERSISTENCE, "async_loading") \
    X(AOF, INFO_PERSISTENCE, "aof_enabled") \
    X(AOF_WRITE, INFO_PERSISTENCE, "aof_last_write_status") \
    X(AOF_DELAYED, INFO_PERSISTENCE, "aof_delayed_fsync") \
    X(RDB_SAVE, INFO_PERSISTENCE, "rdb_last_bgsave_status") \
    X(USED_MEMORY, INFO_MEMORY, "used_memory") \
    X(MAX_MEMORY, INFO_MEMORY, "maxmemory") \
    X(POLICY, INFO_MEMORY, "maxmemory_policy") \
    X(EVICTED, INFO_STATS, "evicted_keys") \
    X(REJECTED, INFO_STATS, "rejected_connections") \
    X(ROLE, INFO_REPLICATION, "role") /* "master", "slave" */ \
    X(REPLICAS, INFO_REPLICATION, "connected_slaves") \
    X(REPLID, INFO_REPLICATION, "master_replid") \
    X(SECOND_OFFSET, INFO_REPLICATION, "second_repl_offset") \
    X(CLIENTS, INFO_CLIENTS, "connected_clients") \
    X(MAX_CLIENTS, INFO_CLIENTS, "maxclients") \
    X(APPENDFSYNC, APPENDFSYNC, "appendfsync") \
    X(FSYNC_ON_REWRITE, FSYNC_ON_REWRITE, "no-appendfsync-on-rewrite") \
    X(SAVE, SAVE, "save") \
    X(STOP_WRITES, STOP_WRITES, "stop-writes-on-bgsave-error") \
    X(TIMEOUT, TIMEOUT, "timeout") \
    X(OUTPUT_LIMIT, OUTPUT_LIMIT, "client-output-buffer-limit") \
    X(CLIENTS_MEMORY, CLIENTS_MEMORY, "maxmemory-clients") \
    X(FLUSHES, INFO_COMMANDS, "")      /* Calls of FLUSHALL, FLUSHDB and SWAPDB. */ \
    X(SLOWEST_MEAN, INFO_COMMANDS, "") /* The largest usec_per_call, in whole us. */ \
    X(SLOWEST_NAME, INFO_COMMANDS, "") /* The command that it is of. */ \
    X(SLOW_CALL, SLOWLOG, "")          /* The longest of the last calls, in us; 0: none. */ \
    X(SLOW_NAME, SLOWLOG, "") \
    X(SCRIPT_ANSWER, EVAL, "") \
    X(SCRIPT_SHA, SCRIPT, "") \
    X(CANARY, CANARY, "") \
    X(CLUSTER, MEMBERS, "") /* The least of its members' ids, the same for all of them. */ \
    X(USER, WHOAMI, "")

enum question {
#define SURVEY_QUESTION_ENUM(name, ...) QUESTION_##name,
    SURVEY_QUESTIONS(SURVEY_QUESTION_ENUM)
#undef SURVEY_QUESTION_ENUM
    QUESTION_COUNT
};

enum fact {
#define SURVEY_FACT_ENUM(name, question, key) FACT_##name,
    SURVEY_FACTS(SURVEY_FACT_ENUM)
#undef SURVEY_FACT_ENUM
    FACT_COUNT
};

enum {
    /* Bytes of a fact, with its NUL; client-output-buffer-limit has some 80. */
    SURVEY_TEXT_MAX = 104,
    SURVEY_ERROR_MAX = 128,
    SURVEY_WORDS_MAX = 5,       /* Words of a question. */
    SURVEY_SAMPLES = 5,         /* Samples of TIME, in a look at a clock. */
    SURVEY_NEEDS_MAX = 34
};

/* The fate of a question to a node. */
enum survey_answer {
    ANSWER_NONE,        /* It was not asked, or did not answer. */
    ANSWER_REFUSED,     /* The ACL does not allow it. */
    /* Any other error, as of a command that the server does not know or that was renamed. */
    ANSWER_ERROR,
    ANSWER_GIVEN
};

/* A look at a node's clock, by the quickest of some TIMEs. The answer was made in the middle of the
 * round trip, give or take half of it. */
struct survey_clock {
    bool is_known;
    enum survey_answer answer;  /* The answer to the last TIME. */
    uint64_t at_us;             /* redlock_now_us() in that middle. */
    int64_t ahead_us;           /* Ahead of our wall clock. Less than 0: it is late. */
    /* The node's wall clock less redlock_now_us(). It changes if the clock is stepped or runs at
     * another rate. */
    int64_t since_boot_us;
    uint64_t give_or_take_us;
    uint64_t worst_us;          /* The longest of the round trips. */
};

/* May a user do what locks need? */
enum survey_permission {
    PERMISSION_UNKNOWN,
    PERMISSION_GIVEN,
    PERMISSION_REFUSED,
    PERMISSION_KEY_REFUSED,     /* The command yes, but not with this key or channel. */
    /* The server has no command of this name, because it was renamed, or disabled. */
    PERMISSION_NO_COMMAND
};

enum survey_purpose {
    FOR_NOTHING,        /* Locks of this kind do without; */
    FOR_LOCKS,          /* or without it there is no lock; */
    FOR_A_VOTE,         /* or none without --trust-unknown; */
    FOR_MEMORY,         /* or a durable node is taken for any other; */
    FOR_FAILOVERS,      /* or each new client waits for the guard after a failover; */
    FOR_SPEED,          /* or scripts go out in full, at the second try; */
    FOR_WAKE_UPS        /* or clients that wait are woken late. */
};

/* One need of locks, as ACL DRYRUN is asked, and the rule that allows it, by which rights.h knows
 * its users. */
struct survey_need {
    const char *rule;
    /* SURVEY_KEY and SURVEY_CHANNEL stand for the key and the channel of the wishes. */
    const char *words[4];
};
#define SURVEY_KEY "%key"
#define SURVEY_CHANNEL "%channel"
extern const struct survey_need survey_needs[];     /* Ends with a row whose rule is NULL. */

/* The purpose for which locks of these parts (rights.h) need it. */
enum survey_purpose survey_purpose(const struct survey_need *need, unsigned parts);

struct survey_node {
    const char *address;
    /* The IP address that the last connection led to. "": there was none, or it is a socket's. */
    char host[INET6_ADDRSTRLEN];
    bool is_reached;            /* It answers, though it may refuse a question, see trouble. */
    bool was_asked;             /* All questions were put to it. */
    bool votes, gives_tickets, lacks_scripts;
    enum redlock_trouble trouble;
    char trouble_text[TROUBLE_TEXT_MAX];
    const char *tls_fix;        /* The remedy for a trouble of TLS; NULL: it is none. */
    bool is_tls_refused;        /* One that waiting does not mend. */
    uint64_t certificate_ends;  /* Seconds since 1970; 0: it is not talked to by TLS. */
    uint8_t answers[QUESTION_COUNT];            /* enum survey_answer */
    char errors[QUESTION_COUNT][SURVEY_ERROR_MAX];
    char told[FACT_COUNT][SURVEY_TEXT_MAX];     /* "": not reported. */
    bool has[FACT_COUNT];
    uint8_t permissions[SURVEY_NEEDS_MAX];      /* enum survey_permission, of survey_needs[]. */
    /* Could ACL DRYRUN be asked? GIVEN: of one command at least. */
    enum survey_answer dry_run;
    /* "": the node knows the user whose permissions are looked at. */
    char no_user[SURVEY_ERROR_MAX];
    /* The vote on a lock that was tried there (doctor --write); PENDING: none was. */
    enum redlock_vote trial;
    char trial_text[TROUBLE_TEXT_MAX];          /* The reason, unless it is GRANTED. */
    struct survey_clock clock, later;           /* later: at least wishes.rate_us after it. */
};

struct survey {
    unsigned count, quorum;
    unsigned reached;
    uint64_t wall_us;           /* Our wall clock, when all had been asked. */
    bool is_quick;              /* No clock was looked at twice. */
    bool has_permissions;       /* They were asked for by wishes.key. */
    struct fingerprint fingerprint;
    struct survey_node nodes[REDLOCK_NODES_MAX];
};

/* The question that a fact comes from, the node's answer to that, and the rule that an ACL must
 * allow for it, such as "+info". */
enum question survey_question(enum fact fact);
enum survey_answer survey_asked(const struct survey_node *node, enum fact fact);
const char *survey_rule(enum question question);

/* The node's words when it refuses all writes, such as "NOREPLICAS ...". NULL: it does not, or
 * nobody knows. */
const char *survey_barrier(const struct survey_node *node);

/* The number that a fact is. False: it was not reported, or is none. */
bool survey_number(const struct survey_node *node, enum fact fact, uint64_t *number);

/* ---- How answers are read ---- */

/* The words of a question's command, of which SURVEY_KEY stands for the probe of the
 * wishes, and NULL. */
extern const char *const survey_words[QUESTION_COUNT][SURVEY_WORDS_MAX + 1];

/* The answer of ACL DRYRUN about a need. */
void survey_read_permission(struct survey_node *node, unsigned need,
                            struct redlock_question *reply);

/* Reads a node's answer to a question, as items of the reply, until none is left. */
void survey_read(struct survey_node *node, enum question question, struct redlock_question *reply);

/* The same of the text of an INFO section. */
void survey_read_info(struct survey_node *node, const char *text, size_t size);

/* The same of the lines of CLUSTER NODES. */
void survey_read_members(struct survey_node *node, const char *text, size_t size);

#endif
