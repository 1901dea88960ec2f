/* A network of the test's own. Its places (network namespaces) know each other by one address each,
 * and between any two of them a link in each direction can be cut, made slow or made lossy.
 *
 * Every place has one TUN device. Packets of IP that are sent there arrive at a file descriptor
 * here, and a process, the carrier, takes them to the descriptor of the place they are for. A lost
 * packet is therefore one that TCP really misses, and nothing is needed of the machine's firewall
 * or traffic control, nor of the commands that set them up. The namespaces have no names. They are
 * gone when the last process in them is and the descriptors are closed, whatever ends the test.
 *
 * Linux only; needs root, or user namespaces and a /dev/net/tun that everybody may open. Knows
 * nothing of servers or locks. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    PLACES_MAX = 8,
    NETWORK_ADDRESS_SIZE = sizeof "10.77.0.255",
    EVERYTHING_PPM = 1000000    /* A loss that cuts a link. */
};

/* The fate of the packets of one link. */
struct weather {
    uint32_t delay_us;
    uint32_t loss_ppm;
};

/* Shared with the carrier. */
struct links {
    /* [from][to] */
    _Atomic uint32_t delay_us[PLACES_MAX][PLACES_MAX], loss_ppm[PLACES_MAX][PLACES_MAX];
    /* Packets. */
    _Atomic uint64_t carried, delayed, lost;
};

struct network {
    unsigned place_count;
    int home;                   /* The namespace from which it was made. */
    int spaces[PLACES_MAX];
    int tuns[PLACES_MAX];
    struct links *links;
};

/* Makes place_count places and starts the carrier, a child as in process_fork(). seed is
 * for its dice.
 * Returns NULL, or the thing that the machine does not allow. Nothing is there then, but the
 * process may be in a namespace of its own with a loopback. */
const char *network_open(struct network *n, unsigned place_count, uint64_t seed);

/* Processes and files that are made between these two are in that place. */
void network_enter(const struct network *n, unsigned place);
void network_leave(const struct network *n);

void network_address(unsigned place, char text[NETWORK_ADDRESS_SIZE]);

/* Sets the weather from now on, for packets from one place to the other. */
void network_set(struct network *n, unsigned from, unsigned to, struct weather weather);

#endif
