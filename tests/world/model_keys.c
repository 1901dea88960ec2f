#include "model_inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- Keys ---- */

static uint32_t hash_of(uint32_t database, const uint8_t *name, size_t size)
{
    uint32_t hash = 2166136261u ^ database; /* FNV-1a */
    for (size_t i = 0; i < size; i++) hash = (hash ^ name[i]) * 16777619u;
    return hash;
}

void key_remove(struct model_node *node, struct model_key *key)
{
    free(key->name);
    free(key->value);
    free(key->entries);
    *key = node->keys[--node->key_count];
}

struct model_key *key_find(struct model_node *node, uint32_t database, struct slice name,
                           uint64_t now_us)
{
    const uint32_t hash = hash_of(database, name.data, name.size);
    for (size_t i = 0; i < node->key_count; i++) {
        struct model_key *key = &node->keys[i];
        if (key->hash != hash || key->database != database || key->name_size != name.size ||
            memcmp(key->name, name.data, name.size) != 0)
            continue;
        if (node->executes && key->shard != node->shard) continue;
        if (key->expires_ms == 0 || ms_of(now_us) <= key->expires_ms) return key;
        key_remove(node, key);
        return NULL;
    }
    return NULL;
}

struct model_key *key_put(struct model_node *node, uint32_t database, struct slice name,
                          struct slice value)
{
    if (node->key_count == node->key_capacity) {
        node->key_capacity = 2 * node->key_capacity + 8;
        node->keys = model_grow(node->keys, node->key_capacity * sizeof *node->keys);
    }
    struct model_key *key = &node->keys[node->key_count++];
    *key = (struct model_key){
        .hash = hash_of(database, name.data, name.size), .database = database,
        .name_size = name.size, .name = slice_copy(name), .value_size = value.size,
        .value = slice_copy(value), .shard = node->executes ? node->shard : node->owner
    };
    return key;
}

bool key_is_string(const struct model_key *key)
{
    return !key->is_list && !key->is_sorted_set && !key->is_hash;
}

int64_t key_pttl(const struct model_key *key, uint64_t now_us)
{
    return key->expires_ms == 0 ? -1 : (int64_t)(key->expires_ms - ms_of(now_us));
}

const struct model_key *model_find(struct model_node *node, uint32_t database, const void *name,
                                   size_t name_size, uint64_t now_us)
{
    return key_find(node, database, (struct slice){ name, name_size }, now_us);
}

struct model_key *model_put(struct model_node *node, const char *name, const char *value,
                            uint64_t ttl_ms, uint64_t now_us)
{
    struct model_key *key = key_find(node, 0, slice_of(name), now_us);
    if (key) key_remove(node, key);
    key = key_put(node, 0, slice_of(name), slice_of(value));
    key->expires_ms = ttl_ms == 0 ? 0 : ms_of(now_us) + ttl_ms;
    return key;
}

void model_flush(struct model_node *node)
{
    while (node->key_count > 0) key_remove(node, &node->keys[0]);
}

void model_flush_scripts(struct model_node *node)
{
    node->script_count = 0;
}

void model_evict(struct model_node *node, size_t index)
{
    key_remove(node, &node->keys[index]);
}

void model_remove(struct model_node *node, const char *name)
{
    struct model_key *key = key_find(node, 0, slice_of(name), 0);
    if (key) key_remove(node, key);
}

void model_forget_saved(struct model_node *node)
{
    for (size_t i = 0; i < node->saved_count; i++) {
        free(node->saved[i].name);
        free(node->saved[i].value);
        free(node->saved[i].entries);
    }
    free(node->saved);
    node->saved = NULL;
    node->saved_count = 0;
}

static struct model_key key_copy(const struct model_key *key)
{
    struct model_key copy = *key;
    copy.name = slice_copy((struct slice){ key->name, key->name_size });
    copy.value = slice_copy((struct slice){ key->value, key->value_size });
    copy.entries = model_grow(NULL, (key->entry_count + 1) * sizeof *copy.entries);
    if (key->entry_count > 0)
        memcpy(copy.entries, key->entries, key->entry_count * sizeof *copy.entries);
    return copy;
}

void model_node_save(struct model_node *node)
{
    model_forget_saved(node);
    node->saved = model_grow(NULL, (node->key_count + 1) * sizeof *node->saved);
    node->saved_count = node->key_count;
    for (size_t i = 0; i < node->key_count; i++) node->saved[i] = key_copy(&node->keys[i]);
}

void model_node_load(struct model_node *node)
{
    model_flush(node);
    if (node->key_capacity < node->saved_count) {
        node->key_capacity = node->saved_count;
        node->keys = model_grow(node->keys, node->key_capacity * sizeof *node->keys);
    }
    node->key_count = node->saved_count;
    for (size_t i = 0; i < node->saved_count; i++) node->keys[i] = key_copy(&node->saved[i]);
}
