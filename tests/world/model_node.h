/* A model of redis-server, with bytes in and bytes out, in virtual time.
 *
 * Knows what a server does with the commands that locks need, and nothing else (no network, no
 * engine, no test). It executes no Lua, but knows the scripts of redlock by their text and does
 * what they say.
 * Everything that a server can be or suffer is a field that a test may set. Integers only; the same
 * inputs give the same outputs. */
#ifndef MODEL_NODE_H
#define MODEL_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_ARGUMENTS_MAX = 32,   /* Arguments of one command. */
    MODEL_KEYS_MAX = 16,        /* Keys of one script. */
    MODEL_ENTRY_MAX = 112,      /* Bytes of a member of a sorted set, */
    MODEL_PLACE_MAX = 32,       /* of one that is a waiter's, */
    MODEL_CHANNEL_MAX = 600,     /* and of the name of a channel. */
    MODEL_CHANNELS_MAX = 64,     /* Channels of one session. */
    MODEL_ANSWERS_MAX = 8,      /* Planned answers of one node. */
    MODEL_SCRIPTS_MAX = 32,
    MODEL_TOKENS_MAX = 256,     /* Tokens that a node remembers. */
    MODEL_SHA_TEXT = 40,
    MODEL_RUN_ID_TEXT = 40,
    MODEL_CALL_KEY_MAX = 24     /* Bytes of a key's name that the log keeps. */
};

/* Bytes that grow. All zero: none yet. */
struct model_bytes {
    uint8_t *data;
    size_t size, capacity;
};

void model_bytes_add(struct model_bytes *bytes, const void *data, size_t size);
void model_bytes_drop(struct model_bytes *bytes, size_t size); /* Drops bytes from the front. */
void model_bytes_free(struct model_bytes *bytes);

/* A member of a sorted set. */
struct model_entry {
    uint64_t score;
    size_t size;
    uint8_t member[MODEL_ENTRY_MAX];
};

struct model_key {
    uint32_t hash, database;
    size_t name_size, value_size;
    uint64_t expires_ms;        /* A time of the node's clock; 0: never. */
    uint64_t longest_ms;        /* The longest TTL that a SET gave it. */
    /* Not a string but another kind of lock's key, or a queue of Redisson's, whose lines
     * are the value. */
    bool is_list;
    bool is_sorted_set;         /* A set of entries, in no order. */
    bool is_hash;               /* A hash of one field, whose value is the key's (Redisson's). */
    uint8_t *name, *value;
    struct model_entry *entries;
    size_t entry_count;
    uint8_t shard;              /* That has it; see model_slots.c. */
};

/* One command as the node got it, for tests that look at the sent commands. */
struct model_call {
    /* Upper case; of a script "ACQUIRE", "RESTORE", "EXTEND", and so on. */
    char name[12];
    char key[MODEL_CALL_KEY_MAX + 1];   /* The first of them. */
    unsigned key_count;         /* The keys of a script, */
    char keys[MODEL_KEYS_MAX][MODEL_CALL_KEY_MAX + 1];  /* all of them. */
    char token[41];             /* The value of a SET, the first argument of a script. */
    char other[41];             /* The second token of a RELEASE by two; "": there is none. */
    uint64_t ticket;            /* The ticket of an ACQUIRE or a RESTORE. */
    /* The permit's slot that was granted, extended or removed; key is then the slot's. 0: none. */
    unsigned slot;
    /* Among the waiters, that a RELEASE gives back; "": none. */
    char entry[MODEL_PLACE_MAX + 1];
    char woken[MODEL_PLACE_MAX + 1];    /* The last one that a RELEASE has woken. */
    int64_t ttl_ms;
    uint64_t at_us;             /* A time of the node's clock. */
    bool did;                   /* It set, removed, extended. */
    bool raised;                /* A RESTORE that made a counter larger. */
    bool outdated;              /* An ACQUIRE that was refused because of a counter alone. */
    /* The turn of a fair lock's ACQUIRE (0: none yet) and the number of its round. */
    uint32_t turn, poll;
    bool queued, joined;        /* Its place was taken or renewed; taken. */
    bool fair;                  /* A script of a fair lock. */
    bool eval;                  /* A script with its text. */
    const char *redirect;       /* The answer of a shard that does not execute it; NULL: it does. */
    bool stopped;               /* A script that has written, and then a key was not there. */
};

/* A planned answer, sent for a command of that name instead of executing it. */
struct model_answer {
    /* In upper case, EVAL or EVALSHA for a script; "*": any. NULL: no plan. */
    const char *command;
    const void *bytes;
    size_t size;
    unsigned times;             /* Uses left; UINT32_MAX: always. */
    bool executes;              /* Does it nevertheless, and answers this. */
    bool closes;                /* Closes the connection after it. */
    bool used;                  /* At least once. */
};

/* The numbers of the sessions with a client in which a token arrived; 0: none. An engine has one
 * connection to a node at a time, so commands of a session with a smaller number were sent before,
 * whenever they came. */
struct model_past {
    uint64_t token;             /* As many bits of it as distinguish it. */
    unsigned polled_in;         /* The last in which it was to acquire, or to be set again; */
    unsigned released_in;       /* the first in which it was released. */
};

enum model_role { MODEL_MASTER, MODEL_REPLICA, MODEL_SENTINEL };

/* Why a server answers with errors. */
enum model_condition {
    MODEL_WELL,
    MODEL_LOADING,
    /* With noeviction, SET fails, but scripts that free or expire do not. */
    MODEL_OUT_OF_MEMORY,
    MODEL_MISCONF,              /* The last snapshot failed, so there are no writes. */
    MODEL_NO_REPLICAS,          /* min-replicas-to-write */
    MODEL_BUSY,                 /* Some client's long script runs. */
    MODEL_CLUSTER_DOWN,
    MODEL_MASTER_DOWN           /* A replica with replica-serve-stale-data no. */
};

struct model_node {
    /* Its identity. That of shard 0, see model_shard_name. */
    char run_id[MODEL_RUN_ID_TEXT + 1];
    /* 0: INFO names a run_id. Else it names none, but this process_id, and */
    unsigned process_id;
    /* if it is false, a master_replid, which has the digits of run_id. */
    bool hides_replid;
    const char *mode;           /* redis_mode: standalone, cluster, sentinel */
    enum model_role role;
    unsigned replica_count;     /* Replicas of a master. */
    bool hides_role;            /* INFO tells no role. */
    /* Offset in the history that it took over when it was promoted; 0: none. */
    uint64_t second_offset;
    const char *user;           /* NULL: default. */
    const char *password;       /* NULL: none needed. */
    uint64_t started_us;        /* A time of its own clock. */
    /* Added to the clock, it gives TIME, the microseconds since 1970. */
    int64_t wall_offset_us;
    /* A sentinel's: the host of the master "mymaster", at port 6379. NULL: it knows none. */
    const char *master;
    unsigned epoch;             /* The number of the failover that made it one; 0: none did. */
    /* INFO's text instead of the truth; NULL: the truth. "": the line is missing. */
    const char *uptime_text;

    /* Its present fault. */
    enum model_condition condition;
    /* Commands that the ACL refuses, in upper case, such as "INFO EVAL". NULL: none. */
    const char *noperm;
    /* Commands of newer servers that it knows, in upper case: "DELEX IFEQ", "DELIFEQ IFEQ", where
     * IFEQ is SET's option. NULL: none. */
    const char *newer;
    /* Sent to a new connection before any request, which is then closed. NULL: none. */
    const char *banner;
    bool hung;                  /* Takes bytes and executes nothing, as after SIGSTOP. */

    /* Two shards of a cluster are behind its address; see model_slots.c. */
    bool is_cluster;
    uint8_t owner;              /* The shard that has the slot of names with braces. */
    bool migrates;              /* The keys of that slot are on their way to the other shard. */
    bool is_unserved;           /* No shard has that slot. */
    bool executes;              /* A command, and */
    uint8_t shard;              /* that shard does. */
    struct model_answer answers[MODEL_ANSWERS_MAX];

    /* Its keys. */
    struct model_key *keys;
    size_t key_count, key_capacity;
    struct model_key *saved;    /* A copy of the keys as they once were, see model_node_save. */
    size_t saved_count;
    char script_shas[MODEL_SCRIPTS_MAX][MODEL_SHA_TEXT + 1];
    uint8_t script_kinds[MODEL_SCRIPTS_MAX];
    uint8_t script_shards[MODEL_SCRIPTS_MAX];   /* The set of shards that have loaded it. */
    unsigned script_count;
    struct model_session *subscribers; /* Sessions that have subscribed. */
    unsigned session_count;     /* Sessions so far. */

    /* The calls that it saw. */
    struct model_call *calls;
    size_t call_count, call_capacity;
    struct model_past pasts[MODEL_TOKENS_MAX];
    bool by_hand;               /* A client may use a token again, and that is no breach. */
    char breach[160];           /* The first thing that no client of ours may do; "": nothing. */
};

/* A connection as the server sees it. */
struct model_session {
    struct model_bytes in;      /* Received, not executed. */
    struct model_bytes out;     /* Answers, for the transport to take. */
    uint32_t database;
    unsigned number;            /* From 1, among the node's sessions. */
    unsigned client;            /* The client at its other end. */
    uint8_t shard;              /* The shard to which it leads. */
    bool logged_in;
    bool closing;               /* The server closes when out has left. */
    /* Its subscriptions. Messages published there are added to out */
    char (*channels)[MODEL_CHANNEL_MAX + 1];
    unsigned channel_count;
    /* while the node executes commands of another session. */
    struct model_node *subscriber_of;
    struct model_session *next_subscriber;
};

/* number makes the run_id. */
void model_node_init(struct model_node *node, uint64_t number, uint64_t now_us);
void model_node_free(struct model_node *node);

/* A new process starts at the same address. Its run_id changes, its keys are there only if kept,
 * and scripts are not. */
void model_node_restart(struct model_node *node, uint64_t number, bool keeps_keys, uint64_t now_us);

/* It has been a replica for a day, and takes over its master's history, which ended at the offset,
 * from 1 on. Call it after a restart, for it is another server. */
void model_node_promote(struct model_node *node, uint64_t offset);

/* Plans an answer. The bytes must stay. */
void model_node_plan(struct model_node *node, struct model_answer answer);
void model_node_forget_plans(struct model_node *node);

/* The command of a plan that nothing has asked for, or not as often as planned; NULL: none. */
const char *model_node_idle_plan(const struct model_node *node);

void model_session_begin(struct model_node *node, struct model_session *session);
void model_session_end(struct model_session *session);

/* Takes bytes and executes every whole command, unless the node hangs. size may be 0, to go on
 * after a hang. */
void model_session_receive(struct model_node *node, struct model_session *session, const void *data,
                           size_t size, uint64_t now_us);

/* Functions for the test to look at keys and change them. value is a text; an expired key
 * is not there. */
const struct model_key *model_find(struct model_node *node, uint32_t database, const void *name,
                                   size_t name_size, uint64_t now_us);
struct model_key *model_put(struct model_node *node, const char *name, const char *value,
                            uint64_t ttl_ms, uint64_t now_us);
void model_put_entry(struct model_node *node, const char *name, const char *member, uint64_t score,
                     uint64_t now_us);
void model_flush(struct model_node *node);
void model_flush_scripts(struct model_node *node);
void model_evict(struct model_node *node, size_t index);    /* Index among the keys. */
void model_remove(struct model_node *node, const char *name);

/* Writes the keys to disk, or to a replica; and makes these the keys again. */
void model_node_save(struct model_node *node);
void model_node_load(struct model_node *node);

/* ---- model_slots.c: a node that is a cluster of two shards ---- */

/* CLUSTER SETSLOT MIGRATING and IMPORTING. */
void model_slot_leaves(struct model_node *node);
/* MIGRATE of one key, which of them the number says; its TTL ends so much later. False: the owner
 * has none left. */
bool model_slot_sends(struct model_node *node, uint64_t number, uint64_t late_ms);
/* CLUSTER SETSLOT NODE: all keys have moved, and the other shard is the owner. Without
 * model_slot_leaves before it, it is an atomic slot migration. */
void model_slot_arrives(struct model_node *node);
/* All keys have moved back, and CLUSTER SETSLOT STABLE ended it. */
void model_slot_returns(struct model_node *node);
/* The run_id of a shard. */
void model_shard_name(const struct model_node *node, unsigned shard,
                      char text[MODEL_RUN_ID_TEXT + 1]);

/* How many have heard it. */
unsigned model_publish(struct model_node *node, const char *channel, const char *message);
unsigned model_count_calls(const struct model_node *node, const char *name);

#endif
