/* S12: some servers have no run_id. Dragonfly's INFO names process_id, tcp_port, uptime_in_seconds,
 * and a master_replid which is random for each start (server_family.cc at f8eca6d0). That of
 * Kvrocks has the first three (server.cc at 5fccd57c). A digest of these lines stands in for the
 * run_id, and the uptime shows a restart that changes none of them, as in a container, where a
 * process has the same number each time. Neither server tells whether it was a replica (S30), so at
 * the first contact its uptime is not believed.
 *
 * With config.trust_unknown it is believed, and two nodes with the same lines are taken
 * for two servers. */
#include "identity.h"

#include "wire.h"

static bool is_telling(const char *line, size_t size)
{
    return wire_begins(line, size, "process_id:") || wire_begins(line, size, "master_replid:");
}

/* FNV-1a, of 64 bits, which stand in front of zeros. */
REDLOCK_WRAPS static void mix(struct redlock_identity *identity, const void *data, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)data;
    uint64_t hash;

    copy_bytes(&hash, identity->run_id, sizeof hash);
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001B3;
    copy_bytes(identity->run_id, &hash, sizeof hash);
}

void identity_read_info(const char *line, size_t size, struct redlock_identity *identity)
{
    bool tells = is_telling(line, size);

    wire_read_info(line, size, identity);
    if (identity->has_run_id) return;
    if (tells || wire_begins(line, size, "tcp_port:")) mix(identity, line, size);
    identity->is_derived |= tells;
}

/* True if it may have been up for less time than we have known it. Its uptime counts whole seconds
 * of a wall clock. */
static bool may_have_restarted(const struct redlock_node *node, uint64_t now_us)
{
    return node->met_at + (uint64_t)node->identity.uptime_s * 1000000 < now_us + 1000000;
}

void identity_conclude(struct redlock_node *node, const struct redlock_config *config,
                       uint64_t now_us)
{
    struct redlock_identity *identity = &node->identity;
    uintptr_t place = (uintptr_t)node;
    bool is_seen;

    identity->is_derived = identity->is_derived && !identity->has_run_id;
    if (!identity->is_derived) return;
    identity->has_run_id = true;
    if (config->trust_unknown) mix(identity, &place, sizeof place);
    is_seen = are_same_bytes(node->run_id, identity->run_id, sizeof node->run_id);
    /* S11: after a restart it is treated as another server than before. */
    if (is_seen && may_have_restarted(node, now_us))
        node->run_id[0] = (uint8_t)~identity->run_id[0];
    if (!config->trust_unknown)                      identity->uptime_s = 0;
}
