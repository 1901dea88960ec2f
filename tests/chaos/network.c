/* See network.h. */
#define _GNU_SOURCE

#include "network.h"

#include "../live/servers.h"
#include "dice.h"
#include "moment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum {
    NETWORK = 0x0a4d0000,       /* 10.77.0.0/24; place p is number p + 1. */
    PACKET_MAX = 1600,          /* A device carries up to 1500. */
    /* Packets under way on a link. Packets that do not fit are lost, as on a real one. */
    QUEUE_MAX = 512,
    IDLE_MS = 1000
};

/* ---- Making places ---- */

static const char *reason(const char *what)
{
    static char text[128];
    snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
    return text;
}

static bool raise_device(int fd, const char *name)
{
    struct ifreq request = { 0 };
    snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
    if (ioctl(fd, SIOCGIFFLAGS, &request) < 0) return false;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    return ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

static bool set_address(int fd, const char *name, unsigned long which, uint32_t address)
{
    struct ifreq request = { 0 };
    struct sockaddr_in value = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
    memcpy(&request.ifr_addr, &value, sizeof value);
    return ioctl(fd, which, &request) == 0;
}

/* Gives the namespace that this process is in its loopback, and its device an address unless there
 * is none. */
static bool configure(const char *device, uint32_t address)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && raise_device(fd, "lo") &&
                (device == NULL ||
                 (set_address(fd, device, SIOCSIFADDR, address) &&
                  set_address(fd, device, SIOCSIFNETMASK, 0xffffff00) && raise_device(fd, device)));
    if (fd >= 0) close(fd);
    return good;
}

static int open_tun(const char *name)
{
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
    if (fd >= 0 && ioctl(fd, TUNSETIFF, &request) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static const char *open_place(struct network *n, unsigned place)
{
    if (unshare(CLONE_NEWNET) < 0) return reason("network namespaces");
    n->spaces[place] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    n->tuns[place] = open_tun("chaos");
    if (n->spaces[place] < 0) return reason("/proc/self/ns/net");
    if (n->tuns[place] < 0) return reason("/dev/net/tun");
    return configure("chaos", NETWORK + place + 1) ? NULL : reason("setting up a device");
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return good;
}

/* A user that is not root may make network namespaces in a user namespace, in which it is the same
 * user as before. */
static const char *become_able(void)
{
    char users[64], groups[64];
    if (geteuid() == 0) return NULL;
    snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    if (access("/dev/net/tun", R_OK | W_OK) < 0) return reason("/dev/net/tun");
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) return reason("user namespaces");
    bool good = write_text("/proc/self/setgroups", "deny") &&
                write_text("/proc/self/uid_map", users) &&
                write_text("/proc/self/gid_map", groups) && configure(NULL, 0);
    return good ? NULL : reason("setting up a user namespace");
}

static void close_all(struct network *n)
{
    for (unsigned p = 0; p < n->place_count; p++) {
        if (n->tuns[p] >= 0) close(n->tuns[p]);
        if (n->spaces[p] >= 0) close(n->spaces[p]);
    }
    close(n->home);
}

static const char *open_places(struct network *n, unsigned place_count)
{
    const char *trouble = NULL;
    n->home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (n->home < 0) return reason("/proc/self/ns/net");
    for (n->place_count = 0; n->place_count < place_count && trouble == NULL; n->place_count++) {
        n->spaces[n->place_count] = n->tuns[n->place_count] = -1;
        trouble = open_place(n, n->place_count);
    }
    bool is_home = setns(n->home, CLONE_NEWNET) == 0;
    if (trouble) close_all(n);      /* Without the right to leave, it never left. */
    else if (!is_home) bail_out("%s", reason("setns"));
    return trouble;
}

void network_enter(const struct network *n, unsigned place)
{
    if (setns(n->spaces[place], CLONE_NEWNET) < 0) bail_out("%s", reason("setns"));
}

void network_leave(const struct network *n)
{
    if (setns(n->home, CLONE_NEWNET) < 0) bail_out("%s", reason("setns"));
}

void network_address(unsigned place, char text[NETWORK_ADDRESS_SIZE])
{
    const struct in_addr address = { htonl(NETWORK + place + 1) };
    inet_ntop(AF_INET, &address, text, NETWORK_ADDRESS_SIZE);
}

void network_set(struct network *n, unsigned from, unsigned to, struct weather weather)
{
    atomic_store(&n->links->delay_us[from][to], weather.delay_us);
    atomic_store(&n->links->loss_ppm[from][to], weather.loss_ppm);
}

/* ---- The carrier ---- */

struct packet {
    uint64_t due_at;
    size_t size;
    uint8_t bytes[PACKET_MAX];
};

/* The packets under way on one link. They never overtake each other. */
struct queue {
    unsigned first, count;
    struct packet packets[QUEUE_MAX];
};

struct carrier {
    struct network *network;
    struct dice dice;
    struct queue queues[PLACES_MAX][PLACES_MAX];    /* Pages that no link uses cost nothing. */
};

/* The place that a packet is for, or PLACES_MAX for none here, such as a packet that is not IPv4,
 * or a group's address. */
static unsigned destination_of(const struct network *n, const uint8_t *bytes, size_t size)
{
    uint32_t address;
    if (size < 20 || bytes[0] >> 4 != 4) return PLACES_MAX;
    memcpy(&address, bytes + 16, sizeof address);
    uint32_t number = ntohl(address) - NETWORK;
    return number >= 1 && number <= n->place_count ? number - 1 : PLACES_MAX;
}

static void accept_packet(struct carrier *c, unsigned from, const uint8_t *bytes, size_t size)
{
    struct links *links = c->network->links;
    unsigned to = destination_of(c->network, bytes, size);
    if (to == PLACES_MAX) return;
    struct queue *q = &c->queues[from][to];
    if (dice_between(&c->dice, 1, EVERYTHING_PPM) <= atomic_load(&links->loss_ppm[from][to]) ||
        q->count == QUEUE_MAX) {
        atomic_fetch_add(&links->lost, 1);
        return;
    }
    uint32_t delay_us = atomic_load(&links->delay_us[from][to]);
    uint64_t due_at = moment_us() + delay_us;
    uint64_t last = q->count > 0 ? q->packets[(q->first + q->count - 1) % QUEUE_MAX].due_at : 0;
    struct packet *p = &q->packets[(q->first + q->count++) % QUEUE_MAX];
    p->due_at = due_at > last ? due_at : last;
    p->size = size;
    memcpy(p->bytes, bytes, size);
    if (delay_us > 0) atomic_fetch_add(&links->delayed, 1);
}

static void collect(struct carrier *c, unsigned from)
{
    uint8_t bytes[PACKET_MAX];
    ssize_t size;
    while ((size = read(c->network->tuns[from], bytes, sizeof bytes)) > 0)
        accept_packet(c, from, bytes, (size_t)size);
}

static void deliver(struct carrier *c, unsigned from, unsigned to, uint64_t now)
{
    struct queue *q = &c->queues[from][to];
    for (; q->count > 0 && q->packets[q->first].due_at <= now;
         q->first = (q->first + 1) % QUEUE_MAX, q->count--) {
        const struct packet *p = &q->packets[q->first];
        bool taken = write(c->network->tuns[to], p->bytes, p->size) == (ssize_t)p->size;
        atomic_fetch_add(taken ? &c->network->links->carried : &c->network->links->lost, 1);
    }
}

/* The time until the next packet is due. */
static struct timespec time_left(const struct carrier *c)
{
    uint64_t now = moment_us(), next = now + IDLE_MS * 1000;
    for (unsigned from = 0; from < c->network->place_count; from++)
        for (unsigned to = 0; to < c->network->place_count; to++) {
            const struct queue *q = &c->queues[from][to];
            if (q->count > 0 && q->packets[q->first].due_at < next)
                next = q->packets[q->first].due_at;
        }
    uint64_t left = next > now ? next - now : 0;
    return (struct timespec){ .tv_sec = (time_t)(left / 1000000),
                              .tv_nsec = (long)(left % 1000000) * 1000 };
}

__attribute__((noreturn))
static void carry(struct carrier *c)
{
    struct pollfd polls[PLACES_MAX];
    unsigned count = c->network->place_count;
    for (unsigned p = 0; p < count; p++)
        polls[p] = (struct pollfd){ .fd = c->network->tuns[p], .events = POLLIN };
    for (;;) {
        struct timespec wait = time_left(c);
        int ready = ppoll(polls, count, &wait, NULL);
        for (unsigned p = 0; p < count && ready > 0; p++)
            if (polls[p].revents) collect(c, p);
        uint64_t now = moment_us();
        for (unsigned from = 0; from < count; from++)
            for (unsigned to = 0; to < count; to++) deliver(c, from, to, now);
    }
}

const char *network_open(struct network *n, unsigned place_count, uint64_t seed)
{
    static struct carrier carrier;  /* Large. */
    const char *trouble = become_able();
    if (trouble == NULL) trouble = open_places(n, place_count);
    if (trouble) return trouble;
    n->links =
        mmap(NULL, sizeof *n->links, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n->links == MAP_FAILED) bail_out("%s", reason("mmap"));
    carrier.network = n;
    carrier.dice.state = seed;
    if (process_fork() == 0) carry(&carrier);
    return NULL;
}
