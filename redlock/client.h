/* The client is a transport under the engine, with sockets if it is given no other one, and two
 * faces over both. Its files share what is declared here, in the order in which a file knows the
 * ones before it. Each can be read alone; none of them uses anything of the engine but the
 * calls of redlock.h. */
#ifndef REDLOCK_CLIENT_PARTS_H
#define REDLOCK_CLIENT_PARTS_H

#include "private.h"
#include "redlock_client.h"
#include "redlock_sentinel.h"

#include "../net/redlock_net.h"
#include "../net/redlock_transport.h"

enum { SESSIONS_MAX = REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true) };

/* The look-up of the name to which a session connects. */
enum name_state {
    NAME_IDLE,          /* Nobody looks it up. */
    NAME_ASKED,         /* The sentinels are asked for it first. */
    NAME_AWAITED,       /* The connection waits for its address, */
    /* or did so in vain; the look-up goes on, and the next connection may use an older address. */
    NAME_LATE,
    /* It was looked up when no connection waited any longer. The next one uses it, if
     * that begins soon. */
    NAME_KNOWN
};

REDLOCK_INLINE uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What becomes of a session, after what its node's sentinels have answered. */
enum sentinel_verdict {
    SENTINELS_NOTHING,
    SENTINELS_GO_ON,        /* Its node's master is known, so it can connect. */
    SENTINELS_READ,         /* They name the master that it is connected to. */
    SENTINELS_END           /* They name another master, or nobody. */
};

/* One entry of the list of nodes. */
struct list_entry {
    const char *text;
    size_t size;
    size_t head;        /* Bytes of sentinel:// or sentinels:// at its beginning, or 0. */
    bool is_secure;     /* It is sentinels://. */
};

/* The calls about nodes whose master sentinels name, once a program has used them (see
 * client_sentinel.c). Session k is a sentinel's, except in asks_first, wrote and judge, and the
 * calls about it are those that the engine has for its own sessions. */
struct redlock_sentinel_calls {
    void (*begin)(struct redlock_client *c);
    bool (*add)(struct redlock_client *c, unsigned node, const struct list_entry *entry,
                struct net_error *error);
    unsigned (*wants)(const struct redlock_client *c, unsigned k);
    void (*connected)(struct redlock_client *c, unsigned k, uint64_t now_us);
    void (*disconnected)(struct redlock_client *c, unsigned k, const char *why, uint64_t now_us);
    uint8_t *(*input)(struct redlock_client *c, unsigned k, size_t *room);
    void (*received)(struct redlock_client *c, unsigned k, size_t size);
    const uint8_t *(*output)(const struct redlock_client *c, unsigned k, size_t *size);
    void (*sent)(struct redlock_client *c, unsigned k, size_t size);
    void (*tick)(struct redlock_client *c, uint64_t now_us);
    uint64_t (*wake_at)(const struct redlock_client *c);
    /* True: the master is asked for, then connected. */
    bool (*asks_first)(struct redlock_client *c, unsigned k, uint64_t now_us);
    /* Bytes of the engine's have left. */
    void (*wrote)(struct redlock_client *c, unsigned k);
    enum sentinel_verdict (*judge)(struct redlock_client *c, unsigned k, bool is_connected,
                                   bool asks, uint64_t now_us, char *why, size_t room);
    /* Why a node cannot be connected to, and which master that is about. */
    const char *(*blame)(const struct redlock_client *c, unsigned k, const char *why, char *text,
                         size_t room);
};

REDLOCK_INLINE unsigned client_fd_count(const struct redlock_client *c)
{
    return c->engine.session_count + (c->sentinels ? c->sentinels->count : 0);
}

/* Is session k a sentinel's, not the engine's? */
REDLOCK_INLINE bool is_of_sentinel(const struct redlock_client *c, unsigned k)
{
    return k >= c->engine.session_count;
}

/* S31: session k neither reads nor sends until a majority of sentinels has named the master that it
 * is connected to. */
REDLOCK_INLINE bool is_gated(const struct redlock_client *c, unsigned k)
{
    return c->sentinels && !is_of_sentinel(c, k) && c->sentinels->gates[k].turn > 0;
}

/* Session k leads to this server. */
REDLOCK_INLINE struct redlock_target *target_of(const struct redlock_client *c, unsigned k)
{
    REDLOCK_ASSERT(k < client_fd_count(c));
    if (is_of_sentinel(c, k)) return &c->sentinels->list[k - c->engine.session_count].target;
    return (struct redlock_target *)&c->targets[k % c->engine.node_count];
}

/* The transport of session k, and the context of its calls. */
REDLOCK_INLINE const struct redlock_transport *transport_of(const struct redlock_client *c,
                                                            unsigned k)
{
    return c->transports[target_of(c, k)->is_secure];
}

REDLOCK_INLINE unsigned session_wants(const struct redlock_client *c, unsigned k)
{
    return is_of_sentinel(c, k) ? c->sentinels->calls->wants(c, k) : redlock_wants(&c->engine, k);
}

REDLOCK_INLINE void *context_of(const struct redlock_client *c, unsigned k)
{
    return c->transport_contexts[target_of(c, k)->is_secure];
}

/* ---- client_system.c ---- */

/* Sockets as a transport. Its context is the client. */
REDLOCK_PRIVATE const struct redlock_transport *client_sockets(void);

/* ---- client_connect.c ---- */

/* Is there something to do on session k that no descriptor reports? */
REDLOCK_PRIVATE bool client_is_at_hand(const struct redlock_client *c, unsigned k);

REDLOCK_PRIVATE void client_trace(struct redlock_client *c, unsigned k, enum redlock_traffic what,
                                  const void *data, size_t size);

/* S11: begins to connect session k, which has no connection. The name of its node, if it has one,
 * is looked up first. */
REDLOCK_PRIVATE void client_begin_connecting(struct redlock_client *c, unsigned k);

/* Goes on with a connection that has waited for the sentinels, which have named
 * its node's master. */
REDLOCK_PRIVATE void client_go_on_connecting(struct redlock_client *c, unsigned k);

/* Does a connection wait for its name, and is it still wanted? The engine may have given it up in a
 * tick of the caller's. */
REDLOCK_PRIVATE bool client_awaits_name(const struct redlock_client *c, unsigned k);

/* Goes on if the name of session k, which is being looked up, is known by now, or has
 * taken too long. */
REDLOCK_PRIVATE void client_finish_lookup(struct redlock_client *c, unsigned k);

/* Goes on if the connection of session k, which was begun, is there by now, or has failed. It does
 * nothing if the engine has given the connection up meanwhile, in a tick of the caller's. */
REDLOCK_PRIVATE void client_finish_connecting(struct redlock_client *c, unsigned k);

/* Reports to the engine and to the trace that session k has no connection. why may be NULL,
 * as in redlock_disconnected. */
REDLOCK_PRIVATE void client_end_connection(struct redlock_client *c, unsigned k, const char *why);

/* Closes the descriptors that session k has lost in this step. */
REDLOCK_PRIVATE void client_close_dropped(struct redlock_client *c, unsigned k);

/* An error of session k in words. NULL if the node closed the connection, as it may. */
REDLOCK_PRIVATE const char *client_error_text(const struct redlock_client *c, unsigned k,
                                              int error);

/* Notes the answer to a look-up. An older address stays if the answer does not deny the name, since
 * a name server that is down must not cost a node that is up. */
REDLOCK_PRIVATE void client_note_addresses(struct redlock_target *target,
                                           const struct net_resolved *resolved);

/* ---- client_loop.c ---- */

/* NOT_OPEN, FORKED, or OK. */
REDLOCK_PRIVATE enum redlock_status client_check_open(const struct redlock_client *c);

/* Gives the engine the random bytes that it wants. OK, or NO_ENTROPY. */
REDLOCK_PRIVATE enum redlock_status client_add_entropy(struct redlock_client *c);

/* Does all that was due at that time, which the engine knows, or has become due since.
 * OK, or NO_ENTROPY. */
REDLOCK_PRIVATE enum redlock_status client_act_on_time(struct redlock_client *c, uint64_t now_us);

/* One step of an open client. Bit k of ready is set if there may be something to do for the
 * descriptor of session k. OK, or NO_ENTROPY. */
REDLOCK_PRIVATE enum redlock_status client_step(struct redlock_client *c, unsigned ready);

/* The time at which there is something to do that no descriptor will report. */
REDLOCK_PRIVATE uint64_t client_wake_at(const struct redlock_client *c);

/* Begins to acquire. The wall clock is added if the request has none, since tickets and wake-ups
 * need one. */
REDLOCK_PRIVATE enum redlock_status client_start_acquire(struct redlock_client *c,
                                                         struct redlock_lock *lock,
                                                         const struct redlock_request *request,
                                                         uint64_t now_us);

/* ---- client_open.c ---- */

/* Closes all descriptors, wipes the passwords, and leaves a client that is not open. status is that
 * of its last step. After FORKED the connections are the parent's, so they are not
 * hung up aloud. */
REDLOCK_PRIVATE void client_shut(struct redlock_client *c, enum redlock_status status);

/* ---- client_parted.c ---- */

/* Makes the engine try once more to release all parted locks. */
REDLOCK_PRIVATE void client_pay_parted(struct redlock_client *c);

#endif
