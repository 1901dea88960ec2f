#include "fingerprint.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "print.h"

/* FNV-1a. It tells mistakes, not forgeries. */
static uint32_t hash_bytes(uint32_t hash, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

/* Into ids[0..known), which are sorted. */
static void insert(const uint8_t *ids[], unsigned known, const uint8_t *id)
{
    assert(known < REDLOCK_NODES_MAX);
    for (; known > 0 && memcmp(ids[known - 1], id, REDLOCK_RUN_ID_SIZE) > 0; known--)
        ids[known] = ids[known - 1];
    ids[known] = id;
}

struct fingerprint fingerprint_take(struct redlock_client *client)
{
    struct fingerprint fingerprint = { .count = client->engine.node_count };
    const uint8_t *ids[REDLOCK_NODES_MAX];
    uint8_t count = (uint8_t)fingerprint.count;
    uint32_t hash = hash_bytes(2166136261u, &count, 1);

    for (unsigned k = 0; k < fingerprint.count; k++) {
        const uint8_t *id = redlock_view_node(&client->engine, k, redlock_now_us()).run_id;
        if (id) insert(ids, fingerprint.known++, id);
    }
    for (unsigned i = 0; i < fingerprint.known; i++)
        hash = hash_bytes(hash, ids[i], REDLOCK_RUN_ID_SIZE);
    (void)print_text(fingerprint.text, sizeof fingerprint.text, "%08" PRIx32, hash);
    return fingerprint;
}

const char *fingerprint_describe(const struct fingerprint *fingerprint,
                                 char text[FINGERPRINT_WORDS_MAX])
{
    bool is_whole = fingerprint->known == fingerprint->count;

    assert(fingerprint->known <= fingerprint->count);
    (void)print_text(text, FINGERPRINT_WORDS_MAX, "fingerprint of the nodes: %s (%u of %u%s)",
                     fingerprint->known > 0 ? fingerprint->text : "none", fingerprint->known,
                     fingerprint->count, is_whole ? "" : "; the others have not said who they are");
    return text;
}
