/* redlock_transport: carries the bytes between the client and its nodes. A small table of
 * functions, which the client of redlock_client.h calls. They are sockets unless options say
 * otherwise (.transport; .secure_transport for nodes at a rediss:// address).
 *
 * Blocking   nothing here may, not for a byte, not for a handshake. A call that can do nothing now
 *            is repeated when the descriptor is ready for the events of events().
 * Memory     is the transport's, behind `context`, and has its state of session k, which is
 *            0 to REDLOCK_SESSIONS(nodes, wake_ups) - 1. Sentinels (redlock_sentinel.h) are the
 *            sessions behind these, below REDLOCK_FDS_MAX. The client holds a pointer to the table
 *            and one to the context, and both must stay until redlock_close. A call's arguments
 *            belong to the client and are good during the call alone.
 * Threads    are the client's; no call comes while another one is under way. Two clients
 *            need two contexts.
 * Errors     are negative: -E, where E is an errno, or a number of the transport's own from
 *            REDLOCK_TRANSPORT_ERROR on. Zero never means disconnect. After an error the connection
 *            is only asked for words and hang_up(); and, if it was send() that failed, for the
 *            bytes that have come, since a node that turns us away says why before it closes.
 * Order      connect, finish until it is no longer PENDING, send and receive in any order, hang_up,
 *            discard. Each connect that returned a descriptor is followed by one hang_up and one
 *            discard, whatever happened in between; session k may have its next connect between
 *            these two.
 * fork()     A context belongs to the process that opened the client. See `silently` at hang_up.
 *
 * Four traps:
 *
 * - A transport must REALLY HANG UP. Bytes that were sent before hang_up and are not yet read, and
 *   bytes that the far side is still going to send for the old connection, must not come up in the
 *   next connection of session k. The answer to an old command would be taken for that to a new
 *   one, or for no answer at all. Sockets do that by themselves. A raw serial line does not, and
 *   after a timeout in the middle of a reply the two ends never find back to each other. It needs a
 *   line of its own for it (DTR, a GPIO), or frames, one of which says "begin anew" and is honoured
 *   by the far side, with a number that tells the frames of the old connection from those of the
 *   new one.
 * - A library may hold bytes that the descriptor does not show, such as decrypted ones, or a whole
 *   frame after the one that was taken. receive() goes on until there are none or `size` is
 *   reached, and events() says REDLOCK_TRANSPORT_AT_HAND while there are more.
 * - After a send that took nothing, the next may begin with OTHER bytes, or with fewer. Bytes that
 *   were not taken stay the engine's, which may withdraw them. A library that insists on the same
 *   bytes again (TLS, once a record has begun) must take them, copy them, and answer that it took
 *   them; it sends the bytes that it still holds by and by, in later calls.
 * - Bytes that were taken and wait inside the transport have nobody to ask for them. events()
 *   therefore says REDLOCK_TRANSPORT_WRITE as long as there are any, and send(), receive() and
 *   finish() begin with them. (When that event comes the client calls receive(), and send() only if
 *   the engine has something to send.) */
#ifndef REDLOCK_TRANSPORT_H
#define REDLOCK_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    REDLOCK_TRANSPORT_READ = 1,         /* The descriptor is to be readable, */
    REDLOCK_TRANSPORT_WRITE = 2,        /* or writable. */
    /* No descriptor need be waited for, since there is something to be done now. */
    REDLOCK_TRANSPORT_AT_HAND = 4,

    REDLOCK_TRANSPORT_PENDING = -1,     /* finish does not know yet. */
    /* receive finds that the far side has closed, in the way that is proper here. */
    REDLOCK_TRANSPORT_END = -0x7fff,
    REDLOCK_TRANSPORT_ERROR = 0x1000    /* Up to 0x7ffe, since no errno is as large. */
};

/* Whom a connection is to reach. */
struct redlock_peer {
    /* The number of the entry in the list of nodes, from 0. It is session k modulo the
     * number of nodes. Sentinels are numbered on behind the nodes. */
    unsigned node;
    const char *host;           /* Its name or number as in the list, v6 without brackets, which a
                                 * certificate must be for. Empty for a unix socket. */
    /* "host:port" or "unix:/path", for messages. Never with a password. */
    const char *address;
    /* A struct sockaddr, aligned for any; NULL if the transport has no addresses. */
    const void *endpoint;
    size_t endpoint_size;
};

struct redlock_transport {
    /* True: names are looked up for each connection, and of several addresses of a node each is
     * connected to in turn until one works. False: the client looks nothing up, and the list's text
     * about a node is but a name (`uart0,uart1,uart2`). */
    bool has_addresses;

    /* Begins to connect session k. Returns a descriptor >= 0, which a loop can wait for; *connected
     * (false at the call) says whether the connection stands already, handshake and all. The
     * descriptor is the transport's. The client waits for it and shows it (redlock_fd) until
     * discard. It may be the same one in each connection of a session, if it is the same open file;
     * and anything that poll() takes, if only AT_HAND ever tells of bytes. Otherwise -E, with
     * nothing left open. */
    int (*connect)(void *context, unsigned k, const struct redlock_peer *peer, bool *connected);

    /* How far is it? Called whenever the descriptor is ready for the events of events(), and now
     * and then without. 0: it stands; REDLOCK_TRANSPORT_PENDING; or E (positive). A handshake goes
     * on here. How long it may take in all is not the transport's business: the client hangs up
     * when the node's timeout is over. */
    int (*finish)(void *context, unsigned k);

    /* Takes up to `size` >= 1 bytes to send. Returns how many, fewer than `size` if it can take no
     * more now; 0; or -E. Bytes that were taken leave without another call, or
     * events() says WRITE. */
    ptrdiff_t (*send)(void *context, unsigned k, const void *data, size_t size);

    /* Gives up to `size` >= 1 bytes that have come. Returns how many; fewer than `size` says that
     * there are no more now, and that the descriptor will tell of others (or AT_HAND does); 0:
     * none; REDLOCK_TRANSPORT_END; or -E. Called whenever the descriptor is ready, for
     * reading or writing. */
    ptrdiff_t (*receive)(void *context, unsigned k, void *data, size_t size);

    /* The events to wait for on the descriptor so that `wanted` can go on, as a set of _READ and
     * _WRITE. While the connection does not stand yet, `wanted` has _WRITE; then it has _READ
     * always and _WRITE if there is something to send. A transport adds and removes events if it
     * knows better.
     * TLS has to read before it can write, and to write before it can read. It adds _AT_HAND if
     * there is something to be done at once, because receive() would give bytes from its own
     * memory, or a handshake can go on. The client does not sleep then, so a transport that says it
     * must be able to go on. May be NULL, which means as wanted. */
    unsigned (*events)(void *context, unsigned k, unsigned wanted);

    /* The meaning of an error (E, positive) of the last call about session k, in words for a
     * person, of which some 60 bytes are kept. Say what is wrong, and not where, which the client
     * adds. The text is static, or the transport's own memory, which stays as it is until another
     * call about session k fails or connects; hang_up leaves it alone. If it is NULL, or there is
     * no such function, the client uses its own words for an errno. Not asked for END. */
    const char *(*error_text)(void *context, unsigned k, int error);

    /* Ends session k's connection, whether it stands or not, so that the far side notices (see the
     * first trap). Gives back the transport's memory for it, but leaves the descriptor open until
     * discard, since a loop that compares numbers must not see the old number again before the step
     * is over. Must succeed. It sends its last bytes (a frame, close_notify) without waiting, as
     * far as it gets. If silently, this is a child of fork(), and the connection is the parent's,
     * so give back memory and send nothing. (A child that opens the client anew without
     * redlock_close hangs nothing up, and needs a new context.) */
    void (*hang_up)(void *context, unsigned k, bool silently);

    /* Closes a descriptor that connect returned for session k, at the end of the step at the
     * latest. Nothing, if it stays open for the next connection. */
    void (*discard)(void *context, unsigned k, int fd);
};

#ifdef __cplusplus
}
#endif
#endif
