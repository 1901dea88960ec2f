/* Endpoints: the targets of an address. A name is looked up in a thread of its own, since the
 * system's resolver waits.
 *
 * Such a thread and the client share no memory, only a pair of sockets. The name goes in at one
 * end, the answer comes out of it, and each side closes its own end. A client that is closed, or a
 * program that forks, therefore waits for no name server and leaves the thread nothing to write to
 * but a socket that nobody reads.
 *
 *   client                                       thread
 *     socketpair, sends the name, begins it   ->   reads the name, looks it up, for as long
 *                                                  as that takes
 *     waits until its end is readable         <-   sends the answer, closes its end, ends
 *
 * With REDLOCK_NO_THREADS defined there are none, and the caller waits. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "redlock_net.h"

#include <errno.h>
#include <string.h>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#ifndef REDLOCK_NO_THREADS
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#endif

NET_STATIC_ASSERT(sizeof(struct sockaddr_un) <= NET_ENDPOINT_SIZE,
                  "an endpoint holds a unix address");
NET_STATIC_ASSERT(sizeof(struct sockaddr_in6) <= NET_ENDPOINT_SIZE,
                  "an endpoint holds an IPv6 address");
NET_STATIC_ASSERT(sizeof((struct sockaddr_un *)0)->sun_path > NET_PATH_MAX,
                  "a path and its NUL fit");
NET_STATIC_ASSERT(offsetof(struct sockaddr_in, sin_port) ==
                      offsetof(struct sockaddr_in6, sin6_port),
                  "the port is in the same place for both");

/* --- Endpoints --- */

static void endpoint_from_path(const char *path, struct net_endpoint *endpoint)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t size = strlen(path) + 1;
    NET_CHECK(size <= sizeof address.sun_path);
    memcpy(address.sun_path, path, size);
    memcpy(endpoint->words, &address, sizeof address);
    endpoint->size = (uint32_t)(offsetof(struct sockaddr_un, sun_path) + size);
}

/* False for an address of a family that has no ports. `port` in network order. */
static bool endpoint_from_result(const struct addrinfo *result, uint16_t port,
                                 struct net_endpoint *endpoint)
{
    if (result->ai_family != AF_INET && result->ai_family != AF_INET6) return false;
    NET_CHECK(result->ai_addrlen <= sizeof endpoint->words);
    memcpy(endpoint->words, result->ai_addr, result->ai_addrlen);
    memcpy((unsigned char *)endpoint->words + offsetof(struct sockaddr_in, sin_port), &port,
           sizeof port);
    endpoint->size = (uint32_t)result->ai_addrlen;
    return true;
}

/* --- Codes --- */

/* Beyond all codes of <netdb.h>, which are small, and negative or not, come an errno and this. */
enum { RESOLVE_NO_THREAD = 1000, RESOLVE_ERRNO };

/* Some resolvers report any trouble of the system as a host that does not exist. glibc does if it
 * has no descriptor left to read its configuration with. */
static int resolve_error(int code, int error)
{
    bool is_systems = code == EAI_SYSTEM || error == EMFILE || error == ENFILE;
    return is_systems && error > 0 ? RESOLVE_ERRNO + error : code;
}

NET_API const char *net_resolve_text(int code)
{
    if (code > RESOLVE_ERRNO) return net_error_text(code - RESOLVE_ERRNO);
    switch (code) {
    case 0:          return "resolved";
    case EAI_AGAIN:  return "the name server does not answer now";
    case EAI_NONAME: return "no such host";
#if defined(EAI_NODATA) && EAI_NODATA != EAI_NONAME
    case EAI_NODATA: return "the host has no address";
#endif
    case EAI_FAMILY: return "the host has no IPv4 or IPv6 address";
    case EAI_FAIL:   return "the name server failed";
    case EAI_MEMORY: return "out of memory in the resolver";
    case EAI_SYSTEM: return "system error in the resolver";
    case RESOLVE_NO_THREAD: return "no thread can be started to look up its name";
    default:         return "the host name cannot be resolved";
    }
}

NET_API bool net_resolve_denies(int code)
{
#if defined(EAI_NODATA) && EAI_NODATA != EAI_NONAME
    if (code == EAI_NODATA) return true;
#endif
    return code == EAI_NONAME || code == EAI_FAMILY;
}

/* --- Looking up --- */

/* Waits for the resolver, unless `flags` has AI_NUMERICHOST. */
static void resolve_host(const char *host, uint16_t port, int flags, struct net_resolved *resolved)
{
    struct addrinfo wanted = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP,
        .ai_flags = flags
    };
    struct addrinfo *results;
    memset(resolved, 0, sizeof *resolved);
    errno = 0;
    int code = getaddrinfo(host, NULL, &wanted, &results);
    resolved->code = code != 0 ? resolve_error(code, errno) : EAI_FAMILY;
    if (code != 0) return;
    for (const struct addrinfo *result = results;
         result != NULL && resolved->count < NET_ENDPOINTS_MAX; result = result->ai_next)
        if (endpoint_from_result(result, htons(port), &resolved->endpoints[resolved->count]))
            resolved->count++;
    freeaddrinfo(results);
    if (resolved->count > 0) resolved->code = 0;
}

NET_API bool net_resolve_now(const struct net_address *address, struct net_resolved *resolved)
{
    if (address->kind == NET_TCP) {
        resolve_host(address->host, address->port, AI_NUMERICHOST, resolved);
        return resolved->code == 0;
    }
    memset(resolved, 0, sizeof *resolved);
    endpoint_from_path(address->path, &resolved->endpoints[resolved->count++]);
    return true;
}

#ifdef REDLOCK_NO_THREADS

NET_API int net_resolve_begin(const struct net_address *address, struct net_resolved *resolved)
{
    resolve_host(address->host, address->port, 0, resolved);
    return -1;
}

NET_API bool net_resolve_end(int fd, struct net_resolved *resolved)
{
    (void)fd;
    (void)resolved;
    return false;
}

#else

/* The most that a resolver needs; those that load modules need more than they say. Memory is taken
 * as it is touched. */
enum { RESOLVE_STACK_SIZE = 512 * 1024 };

#ifdef MSG_NOSIGNAL
enum { RESOLVE_SEND_FLAGS = MSG_NOSIGNAL };
#else
/* The thread takes no signals, and one that it raised ends with it. */
enum { RESOLVE_SEND_FLAGS = 0 };
#endif

struct resolve_question {
    char host[NET_HOST_MAX + 1];
    uint16_t port;
};

/* The thread's body. The question is there already. It does not matter whether somebody still reads
 * the answer. */
static void *resolve_answer(void *context)
{
    int fd = (int)(intptr_t)context;
    struct resolve_question question = { .port = 0 };
    struct net_resolved resolved;
    (void)recv(fd, &question, sizeof question, 0);
    resolve_host(question.host, question.port, 0, &resolved);
    (void)send(fd, &resolved, sizeof resolved, RESOLVE_SEND_FLAGS);
    net_close(fd);
    return NULL;
}

/* Returns 0, or an errno. */
static int resolve_pair(int ends[2])
{
#ifdef SOCK_CLOEXEC
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0 ? 0
                                                                                         : errno;
#else
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
#endif
}

/* Nobody joins it, and it ends when its resolver does, whether the client is still there or not.
 * All signals are for the program's own threads. */
static bool resolve_start(int fd)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t id;
    if (pthread_attr_init(&attributes) != 0) return false;
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, RESOLVE_STACK_SIZE);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    /* The number is all that it needs to know, and there is no memory that would
     * outlive the caller. */
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    int error = pthread_create(&id, &attributes, resolve_answer, (void *)(intptr_t)fd);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return error == 0;
}

/* Its answer is there when ends[0] is readable. Returns 0, or a code. */
static int resolve_ask(const struct net_address *address, const int ends[2])
{
    struct resolve_question question = { .port = address->port };
    memcpy(question.host, address->host, sizeof question.host);
    /* Into an empty buffer. */
    (void)send(ends[0], &question, sizeof question, RESOLVE_SEND_FLAGS);
    return resolve_start(ends[1]) ? 0 : RESOLVE_NO_THREAD;
}

NET_API int net_resolve_begin(const struct net_address *address, struct net_resolved *resolved)
{
    int ends[2], error = resolve_pair(ends);
    memset(resolved, 0, sizeof *resolved);
    resolved->code = error != 0 ? RESOLVE_ERRNO + error : resolve_ask(address, ends);
    if (resolved->code == 0) return ends[0];
    if (error != 0) return -1;
    net_close(ends[0]);
    net_close(ends[1]);
    return -1;
}

NET_API bool net_resolve_end(int fd, struct net_resolved *resolved)
{
    ssize_t taken = recv(fd, resolved, sizeof *resolved, 0);
    if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
    if (taken == (ssize_t)sizeof *resolved) return true;
    memset(resolved, 0, sizeof *resolved);
    resolved->code = EAI_FAIL;
    return true;
}

#endif
