/* Two shards of a cluster, behind one address. Each session leads to one of them. The names with
 * braces are of one slot, and all others of a slot that shard 0 has and keeps.
 *
 * A shard answers as getNodeByQuery() in cluster.c of Redis 7.0 and Valkey 9.0 says:
 *
 *   - no shard has the slot: -CLUSTERDOWN Hash slot not served;
 *   - another has it: -MOVED, also while this one imports it, since no client of ours says ASKING;
 *   - it has the slot, which migrates: it serves a command all of whose keys are there, and answers
 *     -ASK if none is, -TRYAGAIN if some are. A key that has expired is not there
 *     (lookupKeyReadWithFlags). So nothing is set that was not there before.
 *
 * That is looked at after the rights of the user and before all else, for the keys that a command
 * declares (processCommand in server.c). A call in a script is looked at by the same function, for
 * its own keys (scriptVerifyClusterState in script.c), and also where it is none of the declared
 * ones, or where the script itself has just removed it. So a script may be stopped after any of
 * its writes.
 *
 * MIGRATE sends PTTL, at least 1, and the target counts from the moment when it has the key, so a
 * TTL ends later by the time under way, and has nothing to do with the target's clock. The source
 * serves nobody until the target has answered (migrateCommand in cluster.c). The scores of a sorted
 * set stay as they are. CLUSTER SETSLOT NODE is refused while the source has keys of the slot.
 *
 * The atomic migration of Valkey 9.0 (CLUSTER MIGRATESLOTS, cluster_migrateslots.c) and Redis 8.4
 * (CLUSTER MIGRATION IMPORT) hides the copies until all clients are paused, and then the other
 * shard has it all. Valkey's snapshot is an AOF, which gives the absolute time of each key's end
 * (childSnapshotForSyncSlot, PEXPIREAT). Both shards have one clock here, so that is the same.
 *
 * A redis-server 7.0.15 whose slot moved has given the same answers to each of these. */
#include "model_inside.h"

#include <string.h>

static const char *const moved[] = {
    "-MOVED 15495 10.0.0.1:6379\r\n", "-MOVED 15495 10.0.0.2:6379\r\n"
};

static bool is_of_slot(struct slice name)
{
    return memchr(name.data, '{', name.size) != NULL;
}

static bool has_key(const struct scene *scene, struct slice name)
{
    return key_find(scene->node, scene->session->database, name, scene->now_us) != NULL;
}

/* The slot is here, and on its way to the other shard. */
static bool is_leaving(const struct model_node *node)
{
    return node->is_cluster && node->migrates && node->shard == node->owner;
}

const char *model_redirect(const struct scene *scene, const struct slice *names, unsigned count)
{
    const struct model_node *node = scene->node;
    unsigned present = 0;
    if (!node->is_cluster || count == 0) return NULL;
    if (!is_of_slot(names[0])) return node->shard == 0 ? NULL : moved[0];
    if (node->is_unserved) return "-CLUSTERDOWN Hash slot not served\r\n";
    if (node->shard != node->owner) return moved[node->owner];
    if (!is_leaving(node)) return NULL;
    for (unsigned i = 0; i < count; i++) present += has_key(scene, names[i]);
    if (present == count) return NULL;
    if (present > 0) return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
    return node->owner == 0 ? "-ASK 15495 10.0.0.2:6379\r\n" : "-ASK 15495 10.0.0.1:6379\r\n";
}

const char *model_why_not_local(const struct scene *scene, struct slice name)
{
    return is_leaving(scene->node) && is_of_slot(name) && !has_key(scene, name)
               ? "-ERR Script attempted to access a non local key in a cluster node"
               : NULL;
}

/* ---- What an operator does ---- */

static bool is_with(const struct model_key *key, unsigned shard)
{
    return key->shard == shard && is_of_slot((struct slice){ key->name, key->name_size });
}

static void move_all(struct model_node *node, unsigned from)
{
    for (size_t i = 0; i < node->key_count; i++)
        if (is_with(&node->keys[i], from)) node->keys[i].shard = (uint8_t)(1 - from);
}

void model_slot_leaves(struct model_node *node)
{
    node->migrates = true;
}

bool model_slot_sends(struct model_node *node, uint64_t number, uint64_t late_ms)
{
    for (size_t i = 0; i < node->key_count; i++) {
        struct model_key *key = &node->keys[(number + i) % node->key_count];
        if (!is_with(key, node->owner)) continue;
        key->shard = 1 - node->owner;
        if (key->expires_ms > 0) key->expires_ms += late_ms;
        return true;
    }
    return false;
}

void model_slot_arrives(struct model_node *node)
{
    move_all(node, node->owner);
    node->owner = 1 - node->owner;
    node->migrates = false;
}

void model_slot_returns(struct model_node *node)
{
    move_all(node, 1u - node->owner);
    node->migrates = false;
}

/* Processes are numbered by few digits, so that one in the middle is free. */
void model_shard_name(const struct model_node *node, unsigned shard,
                      char text[MODEL_RUN_ID_TEXT + 1])
{
    memcpy(text, node->run_id, MODEL_RUN_ID_TEXT + 1);
    if (shard > 0) text[MODEL_RUN_ID_TEXT / 2] = 'f';
}
