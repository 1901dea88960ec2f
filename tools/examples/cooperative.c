/* The engine alone under a cooperative scheduler, as in Zephyr or FreeRTOS with one stack. There is
 * one task for each node, which moves bytes between two queues and the network, and one for the
 * lock, which never sees a socket.
 *
 *     cc cooperative.c -o cooperative $(pkg-config --cflags --libs redlock)
 *     ./cooperative 7001 7002 7003
 *
 * Shows: all that an engine needs of its surroundings, namely bytes in, bytes out, a clock that
 * runs evenly, and random bytes. No client, no callbacks, no threads, no allocation. Between two
 * calls of a task any other may run.
 *
 * To change: the part "port", with its sockets and clocks of POSIX, so that it runs on a desk; and
 * lock_task(). The clock must not be made of counted interrupts, since some get lost. Take a
 * counter that runs by itself. The random bytes are from a generator for keys, since rand() gives
 * two devices the same token. A device that restarts begins anew; its earlier lock is over
 * by its TTL. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "redlock.h"

enum { NODES_MAX = 5, QUEUE = 512, TTL_MS = 10000, WORK_MS = 50 };

/* ---- Port: all that is not the same on another system. Nothing here waits. ---- */

static uint64_t port_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);      /* Goes on while the system sleeps. */
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static bool port_random(void *bytes, size_t size)
{
    return getrandom(bytes, size, GRND_NONBLOCK) == (ssize_t)size;
}

static int port_connect(const char *where)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    to.sin_port = htons((uint16_t)atoi(where));
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS)
        close(fd), fd = -1;
    return fd;
}

/* How many bytes went; 0: none now; -1: the connection is gone. */
static long port_result(ssize_t count)
{
    return count >= 0                                                     ? (long)count
           : errno == EAGAIN || errno == EINPROGRESS || errno == ENOTCONN ? 0
                                                                          : -1;
}

static long port_send(int fd, const void *data, size_t size)
{
    return port_result(send(fd, data, size, MSG_NOSIGNAL));
}

static long port_receive(int fd, void *data, size_t size)
{
    ssize_t count = recv(fd, data, size, 0);
    return count == 0 ? -1 : port_result(count);
}

/* ---- Tasks ---- */

struct queue {
    uint8_t bytes[QUEUE];
    size_t size;
};

/* Between a node's task and the lock's. The lock's task says WANTED and UNWANTED, the
 * node's all others. */
enum line { CLOSED, WANTED, OPEN, UNWANTED, BROKEN };

static struct node {
    const char *where;
    int fd;
    enum line line;
    struct queue out, in;
} nodes[NODES_MAX];

static unsigned node_count;
static struct redlock engine;
static struct redlock_node sessions[NODES_MAX];
static uint64_t memory[REDLOCK_MEMORY(NODES_MAX, REDLOCK_PIPELINE_MIN, REDLOCK_SEND_MIN(64), 64) /
                           sizeof(uint64_t) +
                       1];
static struct redlock_lock lock;

static void take(struct queue *q, size_t size)
{
    q->size -= size;
    memmove(q->bytes, q->bytes + size, q->size);
}

/* Moves bytes between the queues and the network. Bytes that were not sent when the line ended
 * never are, and a new connection begins empty. */
static void node_task(struct node *n)
{
    long sent = 0, received = 0;

    if (n->line == WANTED) {
        n->out.size = n->in.size = 0;
        n->fd = port_connect(n->where);
        n->line = n->fd >= 0 ? OPEN : BROKEN;
    }
    if (n->line == OPEN && n->out.size > 0) sent = port_send(n->fd, n->out.bytes, n->out.size);
    if (sent > 0) take(&n->out, (size_t)sent);
    if (n->line == OPEN && n->in.size < QUEUE)
        received = port_receive(n->fd, n->in.bytes + n->in.size, QUEUE - n->in.size);
    if (received > 0) n->in.size += (size_t)received;
    if (n->line != UNWANTED && sent >= 0 && received >= 0) return;
    close(n->fd);
    n->line = n->line == UNWANTED ? CLOSED : BROKEN;
}

/* The engine's bytes for node k go into its queue, */
static void fill(unsigned k, struct queue *q)
{
    size_t size;
    const uint8_t *data = redlock_output(&engine, k, &size);

    if (size > QUEUE - q->size) size = QUEUE - q->size;
    memcpy(q->bytes + q->size, data, size);
    q->size += size;
    redlock_sent(&engine, k, size);
}

/* and the queue's bytes to the engine. The clock is read now, not when the bytes came, and that is
 * on the safe side. */
static void drain(unsigned k, struct queue *q)
{
    size_t room;
    uint8_t *to = redlock_input(&engine, k, &room);

    if (room > q->size) room = q->size;
    memcpy(to, q->bytes, room);
    take(q, room);
    redlock_received(&engine, k, room, port_now_us());
}

static void serve(unsigned k)
{
    struct node *n = &nodes[k];

    if ((redlock_wants(&engine, k) & REDLOCK_WANT_CONNECT) && n->line == CLOSED) n->line = WANTED;
    if ((redlock_wants(&engine, k) & REDLOCK_WANT_CONNECT) && n->line == OPEN)
        redlock_connected(&engine, k, port_now_us());
    while ((redlock_wants(&engine, k) & REDLOCK_WANT_RECEIVE) && n->in.size > 0) drain(k, &n->in);
    if ((redlock_wants(&engine, k) & REDLOCK_WANT_SEND) && n->line == OPEN) fill(k, &n->out);
    if (n->line == BROKEN) {
        n->line = CLOSED;
        redlock_disconnected(&engine, k, "the line is broken", port_now_us());
    } else if (redlock_wants(&engine, k) & REDLOCK_WANT_CLOSE) {
        n->line = n->line == CLOSED || n->line == WANTED ? CLOSED : UNWANTED;
        redlock_disconnected(&engine, k, NULL, port_now_us());
    }
}

/* The device's work with its lock. It takes it, works, extends it, works, gives it
 * back. False: done. */
static bool program(uint64_t now_us)
{
    static enum { BEGIN, ACQUIRING, WORKING, EXTENDING, FINISHING, RELEASING } step;
    static uint64_t work_until;
    struct redlock_request request = {
        .resource = "valve", .resource_size = 5, .ttl_ms = TTL_MS, .wait_ms = 5000
    };
    enum redlock_status status = redlock_lock_status(&lock);

    if (step == BEGIN) status = redlock_start_acquire(&engine, &lock, &request, now_us);
    else if (status == REDLOCK_PENDING ||
             ((step == WORKING || step == FINISHING) && now_us < work_until))
        return true;
    if (step == RELEASING) return !redlock_idle(&lock);     /* Slow nodes get the release, too. */
    printf("step %d: %s, valid for %u ms\n", step, redlock_status_text(status),
           (unsigned)(redlock_valid_us(&lock, now_us) / 1000));
    if (status != REDLOCK_OK) exit(1);                      /* Here: into the safe state. */
    if (step == ACQUIRING || step == EXTENDING) work_until = now_us + WORK_MS * 1000u;
    if (step == WORKING && redlock_start_extend(&engine, &lock, TTL_MS, now_us) != REDLOCK_OK)
        exit(1);
    if (step == FINISHING) redlock_start_release(&engine, &lock, now_us);
    step++;
    return true;
}

static bool lock_task(void)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];
    size_t wanted = redlock_entropy_wanted(&engine);

    if (wanted > 0 && port_random(bytes, wanted)) redlock_add_entropy(&engine, bytes, wanted);
    for (unsigned k = 0; k < node_count; k++) serve(k);
    redlock_tick(&engine, port_now_us());
    return program(port_now_us());
}

int main(int argc, char **argv)
{
    struct redlock_config config;

    node_count = argc - 1 <= NODES_MAX ? (unsigned)(argc - 1) : 0;
    for (unsigned k = 0; k < node_count; k++) nodes[k].where = argv[k + 1];
    redlock_config_init(&config);
    config.resource_max = 64;
    config.receive_size = 64;
    config.pipeline = REDLOCK_PIPELINE_MIN;
    config.send_size = REDLOCK_SEND_MIN(64);
    if (redlock_init(&engine, &config, sessions, node_count, memory, sizeof memory,
                     port_now_us()) != REDLOCK_OK)
        return fprintf(stderr, "usage: cooperative PORT... (up to %d)\n", NODES_MAX), 2;
    redlock_lock_init(&lock);
    while (lock_task()) {
        for (unsigned k = 0; k < node_count; k++) node_task(&nodes[k]);
        /* A scheduler would run the tasks of others, until redlock_wake_at() or
         * until bytes come. */
        usleep(500);
    }
    printf("%u nodes, %u bytes of memory\n", node_count,
           (unsigned)(sizeof engine + sizeof sessions + sizeof memory + sizeof lock));
    return 0;
}
