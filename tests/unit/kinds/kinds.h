/* The kinds of lock that differ on the wire, for tests that try each operation with each of them.
 * All are about "door". */
#ifndef KINDS_H
#define KINDS_H

#include "../../world/story.h"

#include "../../../redlock/private.h"
#include "../../../redlock/wire.h"

enum kind {
    KIND_PLAIN,         /* Acquired by SET. */
    KIND_TICKET,        /* A lock with a ticket, by a script. */
    KIND_SET,           /* The set with "gate", by the same script. */
    KIND_PERMIT,        /* The only permit, a lock of "door:1". */
    KIND_FAIR,          /* A lock in strict order. */
    KIND_COUNT
};

static const char *const kind_names[] = {
    "a plain lock", "a lock with a ticket", "a set", "a permit", "a fair lock"
};

/* The key that all nodes have of it. */
static inline const char *kind_key(enum kind kind)
{
    return kind == KIND_PERMIT ? "door:1" : "door";
}

static inline enum redlock_status kind_acquire(struct cluster *cluster, unsigned client,
                                               enum kind kind, uint32_t ttl_ms, uint32_t wait_ms)
{
    struct redlock_name set[] = { { .bytes = "door", .size = 4 }, { .bytes = "gate", .size = 4 } };
    struct redlock_request request = story_request("door", ttl_ms, wait_ms);

    request.ticket = kind == KIND_TICKET;
    request.set = kind == KIND_SET ? set : NULL;
    request.set_count = kind == KIND_SET ? 2 : 0;
    request.permits = kind == KIND_PERMIT;
    request.kind = kind == KIND_PERMIT ? &redlock_permits
                   : kind == KIND_FAIR ? &redlock_fair
                                       : NULL;
    return cluster_acquire(cluster, client, 0, &request);
}

#define ACQUIRE_KIND(client, kind, ttl_ms) \
    do { \
        CHECK_INT(kind_acquire(cluster, (client), (kind), (ttl_ms), 0), REDLOCK_OK); \
        UNTIL_DONE(client); \
    } while (0)

/* Some client has used every script on every node, so none is answered with NOSCRIPT. */
static inline void kind_teach_scripts(struct cluster *cluster)
{
    static const char *const scripts[] = { WIRE_ACQUIRE_SCRIPT,        WIRE_RESTORE_SCRIPT,
                                           WIRE_RELEASE_SCRIPT,        WIRE_EXTEND_SCRIPT,
                                           WIRE_WAIT_SCRIPT,           WIRE_PERMIT_ACQUIRE_SCRIPT,
                                           WIRE_PERMIT_RESTORE_SCRIPT, WIRE_PERMIT_EXTEND_SCRIPT,
                                           WIRE_PERMIT_RELEASE_SCRIPT, WIRE_PERMIT_WAIT_SCRIPT,
                                           WIRE_FAIR_ACQUIRE_SCRIPT,   WIRE_FAIR_RESTORE_SCRIPT,
                                           WIRE_FAIR_EXTEND_SCRIPT,    WIRE_FAIR_RELEASE_SCRIPT };
    struct model_session session = { .closing = false };
    char command[2048];

    model_session_begin(NODE(0), &session);
    for (unsigned i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        const int size =
            snprintf(command, sizeof command, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                     strlen(scripts[i]), scripts[i]);
        model_session_receive(NODE(0), &session, command, (size_t)size,
                              cluster_node_now(cluster, 0));
    }
    model_session_end(&session);
    for (unsigned k = 1; k < cluster->node_count; k++) {
        memcpy(NODE(k)->script_shas, NODE(0)->script_shas, sizeof NODE(k)->script_shas);
        memcpy(NODE(k)->script_kinds, NODE(0)->script_kinds, sizeof NODE(k)->script_kinds);
        memcpy(NODE(k)->script_shards, NODE(0)->script_shards, sizeof NODE(k)->script_shards);
        NODE(k)->script_count = NODE(0)->script_count;
    }
}

static inline void kind_flush_scripts(struct cluster *cluster)
{
    for (unsigned k = 0; k < cluster->node_count; k++) model_flush_scripts(NODE(k));
}

#endif
