/* The files of the simulator share one world while it runs. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim.h"

#include "../../redlock/redlock_fence.h"

enum { SIM_ENTRIES = 256 };  /* Numbers of entries, modulo this. */

struct sim_dice {
    uint64_t state;
};

uint64_t sim_random(struct sim_dice *dice);
uint64_t sim_below(struct sim_dice *dice, uint64_t limit);
bool sim_one_in(struct sim_dice *dice, uint64_t count);

/* One client's work with one lock. */
struct sim_actor {
    unsigned client, lock;
    struct sim_dice dice;
    uint64_t next_at;           /* True time of the next deed. */
    bool masked;

    /* The last answers of redlock.h to questions about it. */
    enum redlock_status status;
    enum sim_deed { SIM_ACQUIRES, SIM_EXTENDS, SIM_RELEASES, SIM_UPGRADES, SIM_DOWNGRADES } deed;
    unsigned attempts;          /* Attempts of the acquire under way. */
    uint64_t round_at;          /* When its last round began. */
    uint16_t guarded;           /* Nodes that had no vote because of a restart, in this acquire. */
    unsigned owed;
    unsigned names;             /* Its lock's resources, as a set of numbers. */
    unsigned shared;            /* Those of them that it shares. */
    bool fair;                  /* It is, and */
    /* it has come back so often at once, to take its place in the queue, or with another ticket. */
    unsigned hurries;
    uint64_t begun_at;          /* True time. */
    /* It was upgraded or downgraded, so it is acquired again only when it is idle. */
    bool has_changed;
    unsigned permits;           /* It is for one of so many permits; 0: for a lock. */
    bool was_valid, failed_to_extend, adopted, slept_valid;
    bool maybe_held;            /* Adopted, and nobody has confirmed it. */

    /* State against which sim_rules.c holds the rules. Times by the client's clock. */
    /* How often its lock was forgotten. Tokens of an earlier life are nobody's. */
    unsigned life;
    uint32_t ttl_ms, min_validity_ms, extension_limit, extension_count;
    uint64_t valid_until;       /* The last known value; 0: not held. */
    uint64_t round_decided_at, pause_us;
    unsigned same_pauses;       /* Equal pauses in a row. */
    bool was_idle;
    /* The lock's token when it was last held, which a client finds again after a crash. */
    char token[REDLOCK_TOKEN_TEXT + 1];
    unsigned token_names, token_shared;
    /* The lock's tokens before and after its last change of role. */
    char role_tokens[2][REDLOCK_TOKEN_TEXT + 1];
    char attempt[REDLOCK_TOKEN_TEXT + 1];   /* The token of the last attempt. */

    /* Tickets, keeper and waiters belong to sim_holding.c. */
    bool has_ticket, is_corrected, is_named;
    bool is_woken, came_woken;          /* Woken since its last attempt began; or before that. */
    /* The lock's ticket when it was last held, and the ordinal of that holding. */
    uint64_t ticket, holding;
    bool is_kept, keep_is_safe;
    uint64_t keep_until;                /* The end by the client's clock; 0: no limit. */
    /* Periods: see sim_periods.c. */
    struct redlock_mark mark;
    struct redlock_period period;
    bool is_marking, has_begun;
    uint64_t asked_at;                  /* True time. */
    uint64_t due_wall_us, due_at;       /* When its acquire began. */
    /* How often the client had ticked when a kept lock was first seen to have ended. */
    uint64_t ended_tick;
};

/* One attempt's token and its fate on each node. */
struct sim_token {
    uint64_t key;               /* 0: this place is free. */
    unsigned client, lock, life;
    /* Sets of nodes: SET arrived; set; set after the verdict; release found nothing. */
    uint8_t seen, did, late, missed;
    /* Set by a closed connection; set again; refused because of the counter alone. */
    uint8_t stale, restored, outdated;
    uint64_t extended_at[SIM_NODES_MAX];    /* A time of the client's clock. */
    uint64_t released_on[SIM_NODES_MAX];    /* The connection that brought the release. */
    bool is_adopted;
    /* Its lock has changed its role twice since. Where the answer to the first change was
     * lost, it may stay until its TTL ends. */
    bool is_superseded;
    uint8_t misses[SIM_NODES_MAX];          /* How many releases found nothing. */
    uint64_t connection[SIM_NODES_MAX];     /* The connection that brought the SET, */
    uint8_t shard[SIM_NODES_MAX];           /* and the shard to which it led. */
    uint64_t set_at[SIM_NODES_MAX];         /* True time. */
    /* A fair lock's last round of polls, and its last granted round. */
    uint32_t polled[SIM_NODES_MAX], granted[SIM_NODES_MAX];
    /* True time since when its place is in the queue, if it is. */
    uint64_t queued_at[SIM_NODES_MAX];
    /* By the client's clock, when the first SET arrived and when the attempt began; 0: unknown. */
    uint64_t first_at, started_at;
    /* By the client's clock, when it closed the connection that brought the SET; 0: it had not. */
    uint64_t left_at[SIM_NODES_MAX];
    uint32_t ttl_ms;
};

/* A node's report about itself to a client. */
struct sim_said {
    uint64_t connection;        /* On which one, the last time. */
    char run_id[MODEL_RUN_ID_TEXT + 1];
    bool is_unfit;              /* No master of its own, or it would not say. */
    bool is_known;              /* The client has heard it. */
    bool is_young;              /* It need not be known at the next connection. */
    /* The client may not have known this run_id until then, by its clock. */
    uint64_t changed_at;
};

/* The clients that ran in a period. */
struct sim_period_run {
    unsigned client, lock;
    uint64_t period_ms, known_at;       /* True time. */
    char token[REDLOCK_TOKEN_TEXT + 1];
};

struct sim_world {
    struct sim_options options;
    struct cluster *cluster;
    uint64_t begun_us;
    struct sim_fault faults[SIM_FAULTS_MAX];
    bool fault_masked[SIM_FAULTS_MAX];
    struct sim_actor actors[SIM_ACTORS_MAX];
    unsigned actor_count;
    struct sim_token *tokens;   /* Open addressing. */
    size_t token_count, token_capacity;
    uint8_t unknown_script[SIM_CLIENTS_MAX][SIM_NODES_MAX];
    /* The last one, so that each is counted once. */
    uint8_t troubles[SIM_CLIENTS_MAX][SIM_NODES_MAX];
    bool abandoned[SIM_LOCKS_MAX];      /* The last holder did not release it. */
    struct sim_said said[SIM_CLIENTS_MAX][SIM_NODES_MAX];
    /* A time of the client's clock; 0: never. */
    uint64_t restarted_at[SIM_CLIENTS_MAX][SIM_NODES_MAX];
    uint64_t reborn_at[SIM_NODES_MAX];  /* The same in true time. */
    /* The connection on which it came, subscriptions included; 0: none. */
    uint64_t nonsense[SIM_CLIENTS_MAX][2 * SIM_NODES_MAX];
    bool plans_nonsense[SIM_NODES_MAX]; /* The node will send some. */
    uint64_t win_count;
    struct sim_store {          /* A resource's memory of its writers. */
        struct redlock_fence fence;
        /* The last ticket that a writer has won, the largest of a reader; */
        uint64_t ticket, reader;
        uint64_t holding, reading;      /* the latest holding that has written, that has read. */
    } stores[SIM_LOCKS_MAX]
            [1 + SIM_PERMITS_MAX]; /* One for each slot of its permits; 0: of the lock. */
    struct sim_period_run *runs;
    size_t run_count;
    char subscriptions[SIM_CLIENTS_MAX][17];  /* The name of a client's subscriptions, */
    uint8_t entries[SIM_CLIENTS_MAX][SIM_ENTRIES];  /* and which lock has the entry of a number. */
    bool gives_no_tickets[SIM_CLIENTS_MAX][SIM_NODES_MAX];
    bool has_wild_wall[SIM_CLIENTS_MAX];
    int64_t wall_skew_us[SIM_CLIENTS_MAX];
    uint64_t saved_at;          /* When the nodes' memories went to their disks. */
    /* Which key of a slot that moves is next, and when. */
    struct sim_dice slot_dice[SIM_NODES_MAX];
    unsigned slot_pace[SIM_NODES_MAX];  /* One command in so many is followed by one key. */
    uint64_t hash;
    bool tells;
    struct sim_totals *totals;
    struct sim_outcome *outcome;
};

/* sim_options.c */
struct sim_options sim_options_of(uint64_t seed, enum sim_class class);
void sim_schedule(struct sim_world *world);

/* sim_faults.c: begins or ends fault i. */
void sim_fault_begin(struct sim_world *world, unsigned i);
void sim_fault_end(struct sim_world *world, unsigned i);
bool sim_is_unfit(const struct model_node *node);    /* Would it have no vote in a new handshake? */
void sim_slot_goes_on(struct sim_world *world, unsigned node);      /* If it moves. */
/* Slots have come to rest, and all addresses lead to the shards that have them. */
void sim_slots_rest(struct sim_world *world);
/* Was the nonsense sent? */
void sim_saw_plan(struct sim_world *world, const struct cluster_connection *connection,
                  const struct model_call *call);
void sim_save_memories(struct sim_world *world);

/* sim_paths.c: the observer's two eyes. */
void sim_saw_command(void *context, const struct cluster_connection *connection,
                     const struct model_call *call);
void sim_saw_call(void *context, unsigned client);
void sim_look_at(struct sim_world *world, unsigned client);
/* Its lock is as new. */
void sim_actor_forgets(struct sim_world *world, struct sim_actor *actor);

/* Made when it is new. */
struct sim_token *sim_token_of(struct sim_world *world, const char *text, unsigned client);
/* NULL: there is none. */
struct sim_token *sim_find_token(struct sim_world *world, const char *text);

/* sim_rules.c: the rules of safety, as far as they can be seen from outside. */
void sim_rules_saw_handshake(struct sim_world *world, const struct cluster_connection *connection,
                             const struct model_call *call);
void sim_rules_saw_set(struct sim_world *world, const struct cluster_connection *connection,
                       const struct model_call *call, struct sim_token *token);
void sim_rules_saw_extend(struct sim_world *world, const struct cluster_connection *connection,
                          const struct model_call *call);
void sim_rules_saw_release(struct sim_world *world, const struct cluster_connection *connection,
                           const struct model_call *call, struct sim_token *token);
void sim_rules_saw_won(struct sim_world *world, const struct sim_actor *actor);
void sim_rules_saw_extended(struct sim_world *world, struct sim_actor *actor, bool by_keeper);
void sim_rules_saw_attempt(struct sim_world *world, struct sim_actor *actor);
void sim_rules_look_at_lock(struct sim_world *world, struct sim_actor *actor);
void sim_rules_look_at_node(struct sim_world *world, unsigned client, unsigned node);
void sim_rules_saw_restart(struct sim_world *world, unsigned node);

/* sim_holding.c: tickets, sets, the keeper, waiters. */
void sim_holding_saw_acquire(struct sim_world *world, const struct cluster_connection *connection,
                             const struct model_call *call, struct sim_token *token);
void sim_holding_saw_restore(struct sim_world *world, const struct cluster_connection *connection,
                             const struct model_call *call);
void sim_holding_saw_extend(struct sim_world *world, const struct cluster_connection *connection,
                            const struct model_call *call, struct sim_token *token);
void sim_holding_saw_release(struct sim_world *world, const struct cluster_connection *connection,
                             const struct model_call *call, struct sim_token *token);
/* The entry that wakes a lock. */
void sim_holding_saw_entry(struct sim_world *world, unsigned client, const char *entry);
void sim_holding_saw_wait(struct sim_world *world, const struct cluster_connection *connection,
                          const struct model_call *call);
void sim_holding_saw_won(struct sim_world *world, struct sim_actor *actor);
void sim_holding_saw_attempt(struct sim_world *world, struct sim_actor *actor);
void sim_holding_saw_loss(struct sim_world *world, struct sim_actor *actor);
void sim_holding_saw_extended(struct sim_world *world, const struct sim_actor *actor,
                              uint64_t before, uint64_t until);
/* Before its status is noted. */
void sim_holding_look_at_lock(struct sim_world *world, struct sim_actor *actor);
void sim_holding_look_at_node(struct sim_world *world, unsigned client, unsigned node);
void sim_holding_saw_idle(struct sim_world *world, unsigned client);
/* It begins to be kept. */
void sim_holding_begins(struct sim_world *world, struct sim_actor *actor, uint32_t hold_ms);
void sim_holding_ends(struct sim_actor *actor);
void sim_holding_forgets(struct sim_world *world, const struct sim_actor *actor);
/* Writes to its resources, even if it no longer holds them. */
void sim_holding_writes(struct sim_world *world, struct sim_actor *actor);
void sim_holding_must_leave_no_key(struct sim_world *world);

/* The key of a resource with that suffix, or of a slot of its permits (0: of the resource itself).
 * NULL: it is not there. */
const struct model_key *sim_key_beside(struct sim_world *world, unsigned node, unsigned resource,
                                       const char *suffix);
const struct model_key *sim_slot_key(struct sim_world *world, unsigned node, unsigned resource,
                                     unsigned slot);

/* sim_periods.c: marks of periods, and the runs that follow them. */
/* True: that was its deed. The lock is held. */
bool sim_periods_act(struct sim_world *world, struct sim_actor *actor);
void sim_periods_note_due(struct sim_world *world, struct sim_actor *actor);
/* Its lock is going to be another one. */
void sim_periods_forget(struct sim_world *world, struct sim_actor *actor);

/* sim_kinds.c: readers, and permits. */
struct sim_store *sim_store_of(struct sim_world *world, const struct sim_actor *actor,
                               unsigned resource);
/* Won by a reader, */
void sim_kinds_saw_reader(struct sim_world *world, const struct sim_actor *actor);
/* as one of several permits. */
void sim_kinds_saw_permit(struct sim_world *world, const struct sim_actor *actor);
/* The token changes. */
void sim_kinds_begins_change(struct sim_world *world, struct sim_actor *actor, bool has_begun);
/* Notes a change that ended within its call. */
void sim_kinds_note_role(struct sim_world *world, struct sim_actor *actor);
/* The end of an upgrade or downgrade. */
void sim_kinds_saw_change(struct sim_world *world, struct sim_actor *actor);

void sim_kinds_saw_poll(struct sim_world *world, const struct cluster_connection *connection,
                        const struct model_call *call, struct sim_token *token);
/* Won, by a fair lock or beside some. */
void sim_kinds_saw_order(struct sim_world *world, const struct sim_actor *actor);
/* The nodes that have granted it in that round. */
unsigned sim_kinds_granted_in(const struct sim_world *world, const struct sim_token *token,
                              uint32_t round);

/* sim_world.c */
void sim_count(struct sim_world *world, enum sim_path path);
void sim_mix(struct sim_world *world, uint64_t number);         /* Into the hash. */
void sim_mix_text(struct sim_world *world, const char *text);
void sim_break(struct sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same unless it holds; that there was a case is counted. */
void sim_demand(struct sim_world *world, enum sim_rule rule, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void sim_tell(struct sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct sim_actor *sim_actor_of(struct sim_world *world, unsigned client, unsigned lock);
bool sim_clash(const struct sim_actor *a, const struct sim_actor *b);
/* One of its resources. */
bool sim_others_hold(const struct sim_world *world, const struct sim_actor *actor);
const char *sim_resource(unsigned lock);

#endif
