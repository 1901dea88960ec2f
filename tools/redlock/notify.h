/* What the supervisor is told, by the protocol of sd_notify(3): datagrams to the socket that
 * NOTIFY_SOCKET names. */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

struct notifier {
    struct sockaddr_un address;
    socklen_t size;         /* 0: nobody wants to know. */
};

/* Reads NOTIFY_SOCKET, and takes it out of the environment: the command of run is not what the
 * supervisor waits for. */
void notify_open(struct notifier *notifier);

/* Tells state, such as "READY=1" (or NULL), and a status for people: what, and a resource, which is
 * made printable. If nobody reads it nothing is lost. */
void notify(const struct notifier *notifier, const char *state, const char *what,
            const char *resource);

#endif
