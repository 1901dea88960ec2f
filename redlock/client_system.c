/* The clocks, and sockets as a transport for a client that is given no other one. This file knows
 * the descriptor of a session, and must know nothing else of the client. */
#include "client.h"

#include <string.h>

NET_STATIC_ASSERT((int)REDLOCK_READ == (int)REDLOCK_TRANSPORT_READ &&
                      (int)REDLOCK_WRITE == (int)REDLOCK_TRANSPORT_WRITE &&
                      (int)NET_READ == (int)REDLOCK_READ && (int)NET_WRITE == (int)REDLOCK_WRITE,
                  "one set of bits for all floors");
NET_STATIC_ASSERT((int)NET_END == (int)REDLOCK_TRANSPORT_END &&
                      (int)NET_PENDING == (int)REDLOCK_TRANSPORT_PENDING,
                  "sockets answer as any transport does");

uint64_t redlock_now_us(void)
{
    return net_now_us();
}

uint64_t redlock_wall_us(void)
{
    return net_wall_us();
}

/* ---- Sockets, as a transport whose context is the client ---- */

static int begin_socket(void *context, unsigned k, const struct redlock_peer *peer, bool *connected)
{
    struct net_endpoint endpoint = { .size = (uint32_t)peer->endpoint_size };

    REDLOCK_ASSERT(peer->endpoint && peer->endpoint_size > 0);
    (void)context, (void)k;
    memcpy(endpoint.words, peer->endpoint, peer->endpoint_size);
    return net_connect(&endpoint, connected);
}

static int finish_socket(void *context, unsigned k)
{
    return net_connect_result(((const struct redlock_client *)context)->sockets[k].fd);
}

static ptrdiff_t send_to_socket(void *context, unsigned k, const void *data, size_t size)
{
    return net_send(((const struct redlock_client *)context)->sockets[k].fd, data, size);
}

static ptrdiff_t receive_from_socket(void *context, unsigned k, void *data, size_t size)
{
    return net_receive(((const struct redlock_client *)context)->sockets[k].fd, data, size);
}

/* Closing a socket is enough to end a connection. */
static void hang_up_socket(void *context, unsigned k, bool silently)
{
    (void)context, (void)k, (void)silently;
}

static void close_socket(void *context, unsigned k, int fd)
{
    (void)context, (void)k;
    REDLOCK_ASSERT(fd >= 0);
    net_close(fd);
}

static const struct redlock_transport SOCKETS = {
    .has_addresses = true, .connect = begin_socket, .finish = finish_socket, .send = send_to_socket,
    .receive = receive_from_socket, .hang_up = hang_up_socket, .discard = close_socket
};

const struct redlock_transport *client_sockets(void)
{
    return &SOCKETS;
}
