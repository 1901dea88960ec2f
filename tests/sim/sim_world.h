/* What the files of the simulator share: one world while it runs. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim.h"

struct sim_dice {
    uint64_t state;
};

uint64_t sim_random(struct sim_dice *dice);
uint64_t sim_below(struct sim_dice *dice, uint64_t limit);
bool sim_one_in(struct sim_dice *dice, uint64_t count);

/* What one client does with one lock. */
struct sim_actor {
    unsigned client, lock;
    struct sim_dice dice;
    uint64_t next_at;           /* True time of the next deed. */
    bool masked;

    /* What was last seen of it, by the questions of redlock.h. */
    enum redlock_status status;
    enum sim_deed { SIM_ACQUIRES, SIM_EXTENDS, SIM_RELEASES } deed;
    unsigned attempts;          /* Of the acquire under way. */
    uint64_t round_at;          /* When its last round began. */
    uint16_t guarded;           /* Nodes that had no vote because of a restart, in this acquire. */
    unsigned owed;
    bool was_valid, failed_to_extend, adopted, slept_valid;
    bool maybe_held;            /* Adopted, and nobody has confirmed it. */
    char token[REDLOCK_TOKEN_TEXT + 1]; /* Of the lock when it was last held, which a client finds again after a crash. */
};

/* One attempt's token and what became of it on each node. */
struct sim_token {
    uint64_t key;               /* 0: this place is free. */
    unsigned client;
    uint8_t seen, did, late, missed;        /* Sets of nodes: SET arrived; set; set after the verdict; release found nothing. */
    uint64_t connection[SIM_NODES_MAX];     /* Which one brought the SET. */
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
    uint8_t troubles[SIM_CLIENTS_MAX][SIM_NODES_MAX];       /* The last one, so that each is counted once. */
    bool abandoned[SIM_LOCKS_MAX];      /* The last holder did not release it. */
    uint64_t saved_at;          /* When the nodes' memories went to their disks. */
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
void sim_save_memories(struct sim_world *world);

/* sim_paths.c: the observer's two eyes. */
void sim_saw_command(void *context, const struct cluster_connection *connection, const struct model_call *call);
void sim_saw_call(void *context, unsigned client);
void sim_look_at(struct sim_world *world, unsigned client);
void sim_actor_forgets(struct sim_world *world, struct sim_actor *actor);    /* Its lock is as new. */

/* sim_world.c */
void sim_count(struct sim_world *world, enum sim_path path);
void sim_mix(struct sim_world *world, uint64_t number);         /* Into the hash. */
void sim_mix_text(struct sim_world *world, const char *text);
void sim_break(struct sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_tell(struct sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct sim_actor *sim_actor_of(struct sim_world *world, unsigned client, unsigned lock);
bool sim_others_hold(const struct sim_world *world, unsigned client, unsigned lock);
const char *sim_resource(unsigned lock);

#endif
