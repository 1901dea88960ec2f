/* One node's session, with its connection, handshake, guard, and questions without an answer. Knows
 * no lock's state, but hands out answers with their questions. Writes and reads the buffers, and
 * does no I/O. */
#ifndef REDLOCK_NODE_H
#define REDLOCK_NODE_H

#include "private.h"
#include "redlock.h"
#include "wire.h"

/* NODE_DISCONNECTED -> NODE_CONNECTING -> NODE_HANDSHAKE -> NODE_READY. Each but the first may lead
 * to NODE_CLOSING, which lasts until the transport has closed, and back to NODE_DISCONNECTED. */
enum node_state {
    NODE_DISCONNECTED,  /* No connection. The next one begins at alarm_at. */
    NODE_CONNECTING,    /* The transport is connecting. */
    NODE_HANDSHAKE,     /* The handshake is under way. */
    NODE_READY,         /* Commands of locks are sent. Votes once the guard is over. */
    NODE_CLOSING        /* Given up by us, but the transport has not confirmed yet. */
};

enum {
    /* A node that has answered nothing for so many node timeouts is given up. */
    NODE_HANG_FACTOR = 4,
    /* Reconnect delay, doubled after each failure, but no more often than */
    NODE_DELAY_FIRST_MS = 20,
    NODE_FAILURES_MAX = 7,          /* to 2560 ms where a quorum is connected, */
    NODE_FAILURES_HURRIED = 4,      /* to 320 ms where none is, and a node is away. */
    NODE_DELAY_LAST_MS = NODE_DELAY_FIRST_MS << NODE_FAILURES_MAX,
    /* A connection that is closed sooner is made anew at once, but not twice in a row. */
    NODE_YOUNG_MS = 10
};

/* Why a node is given up, if no text says it: one of enum resp_status, or of these. The words are
 * linked with node_describe. */
enum node_reason {
    REASON_NOT_CONNECTED = RESP_TOO_DEEP + 1,
    REASON_NO_HANDSHAKE,
    REASON_NOT_ANSWERED,
    REASON_NOT_ASKED,
    REASON_WRONG_TYPE,
    REASON_WRONG_HANDSHAKE,
    REASON_NO_WAKE_UP
};

/* The part that questions of no lock add, once one has been asked (see ask.c). */
struct redlock_asking {
    /* True if one is to be sent to node k. */
    bool (*waits)(struct redlock_question *questions, unsigned k);
    void (*put)(struct redlock *r, unsigned k);
    void (*read)(struct redlock_question **questions, uint32_t number,
                 const struct resp_item *item);
    void (*disconnected)(struct redlock *r, unsigned k);  /* Its session has ended. */
};

/* Everything but the memory and the login is reset. */
REDLOCK_PRIVATE void node_init(struct redlock_node *node, bool is_subscription);

/* Begins to connect when it is time and the session is needed, and gives up a connection or an
 * answer that takes too long. True: the session was given up, and the owner cleans up after it, as
 * after node_give_up. */
REDLOCK_PRIVATE bool node_tick(struct redlock_node *node, const struct redlock_config *config,
                               bool is_needed, uint64_t now_us);
REDLOCK_PRIVATE uint64_t node_wake_at(const struct redlock_node *node, bool is_needed);

REDLOCK_PRIVATE void node_connected(struct redlock_node *node, const struct redlock_config *config,
                                    uint64_t now_us);

/* Gives the session up, so that the transport has to close. text (of any length, or NULL) is kept
 * for the description. */
REDLOCK_PRIVATE void node_give_up(struct redlock_node *node, enum redlock_trouble trouble,
                                  const char *text);

/* The same for a trouble with a detail (see struct redlock_node). */
REDLOCK_PRIVATE void node_give_up_for(struct redlock_node *node, enum redlock_trouble trouble,
                                      unsigned detail);

/* A connection was closed, by the node or on the way. If it was established, this is no failure,
 * and it is made again at once. But a short one after another short one is a failure. A server that
 * closes after each handshake is asked some 15 times a second. */
REDLOCK_PRIVATE void node_forgive(struct redlock_node *node, uint64_t now_us);

/* The transport has lost its connection. delay_us is the pause before the next
 * one (see node_half_delay_us). */
REDLOCK_PRIVATE void node_disconnected(struct redlock_node *node, uint64_t now_us,
                                       uint64_t delay_us);

/* The shortest pause before the next connection, doubled after each failure up to failures_max.
 * Chance adds as much at most. */
REDLOCK_PRIVATE uint32_t node_half_delay_us(const struct redlock_node *node, unsigned failures_max);

/* True if it has a vote, because it is connected, past the handshake, and not within the guard
 * (S11, S12). The guard for tickets lasts longer (S15). */
REDLOCK_PRIVATE bool node_votes(const struct redlock_node *node,
                                const struct redlock_config *config, bool for_ticket,
                                uint64_t now_us);

/* When it will have a vote, if nothing happens to it. REDLOCK_NEVER: it is not connected. */
REDLOCK_PRIVATE uint64_t node_votes_at(const struct redlock_node *node,
                                       const struct redlock_config *config, bool for_ticket,
                                       uint64_t now_us);

/* Appends as many commands of the handshake as fit. */
REDLOCK_PRIVATE void node_put_handshake(struct redlock_node *node,
                                        const struct redlock_config *config,
                                        const struct redlock_scripts *scripts,
                                        const uint8_t engine[REDLOCK_NAME_SIZE], uint64_t now_us);

/* Makes a writer that goes on in the send buffer. node_written takes over the bytes that it has put
 * there. A script that it left apart is sent in between. */
REDLOCK_PRIVATE void node_begin_writing(const struct redlock_node *node,
                                        const struct redlock_config *config, struct resp_writer *w);
REDLOCK_PRIVATE void node_written(struct redlock_node *node, const struct resp_writer *w);

/* The next bytes to be sent, which are in one piece. *size may be 0. node_sent drops the bytes that
 * were sent. */
REDLOCK_PRIVATE const uint8_t *node_output(const struct redlock_node *node, size_t *size);
REDLOCK_PRIVATE void node_sent(struct redlock_node *node, size_t size);

/* True if there is room for one more question. node_asked notes one that was put into
 * the send buffer. */
REDLOCK_PRIVATE bool node_can_ask(const struct redlock_node *node,
                                  const struct redlock_config *config);
REDLOCK_PRIVATE void node_asked(struct redlock_node *node, const struct redlock_config *config,
                                uint64_t now_us, const struct redlock_asked *asked);

/* Takes out the oldest question without an answer. False: there is none. */
REDLOCK_PRIVATE bool node_take_asked(struct redlock_node *node, const struct redlock_config *config,
                                     struct redlock_asked *asked);
/* The i-th of them, in place. */
REDLOCK_PRIVATE struct redlock_asked *
node_asked_at(struct redlock_node *node, const struct redlock_config *config, unsigned i);

/* Reads on in the received bytes. True: a reply is complete, in *reply (until the next call) and
 * *asked. A message that a subscription hears has the command NONE. An answer to a QUESTION went to
 * the question, and *reply is not set. False: more bytes are needed, or the bytes break rule S16
 * and the session is lost. */
REDLOCK_PRIVATE bool node_next_reply(struct redlock_node *node, const struct redlock_config *config,
                                     const struct redlock_scripts *scripts, uint64_t now_us,
                                     struct redlock_question **questions,
                                     struct redlock_asked *asked, struct wire_reply *reply);

/* Reads an answer to a command of the handshake. False: the session is lost. */
REDLOCK_PRIVATE bool node_read_handshake(struct redlock_node *node,
                                         const struct redlock_config *config,
                                         const struct redlock_scripts *scripts, uint64_t now_us,
                                         const struct redlock_asked *asked,
                                         const struct wire_reply *reply);

/* True if all of the handshake is answered and node_end_handshake can be called. */
REDLOCK_PRIVATE bool node_handshake_is_over(const struct redlock_node *node);

/* The handshake is over and the server is no other node's. Computes when it will have
 * a vote (S11). */
REDLOCK_PRIVATE void node_end_handshake(struct redlock_node *node, uint64_t now_us);

/* Remembers an error reply, for the description, and its command, until that is answered better. */
REDLOCK_PRIVATE void node_note(struct redlock_node *node, enum redlock_command command,
                               enum redlock_trouble trouble, const char *text);

/* See redlock_view_node and redlock_describe_node. */
REDLOCK_PRIVATE enum redlock_trouble
node_trouble(const struct redlock_node *node, const struct redlock_config *config, uint64_t now_us);
REDLOCK_PRIVATE void node_describe(const struct redlock_node *node,
                                   const struct redlock_config *config, uint64_t now_us, char *text,
                                   size_t size);

#endif
