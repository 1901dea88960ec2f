/* Random bytes for a device that has no source of them. Copy this file. Freestanding.
 *
 * The engine needs random bytes for tokens and for the pauses between attempts. Two tokens that are
 * alike break mutual exclusion, since each of two devices takes the other's key for its own, and
 * deletes or extends it. No two devices, and no two lives of one device, may therefore ever have
 * the same bytes. They need to be hard to guess only if somebody who can reach the
 * servers is hostile.
 *
 *     secret   16 bytes that no other device has: written at the factory, from a good source. A
 *              serial number is enough to be different from others, and not enough against somebody
 *              who guesses.
 *     boot     how often this device has begun: counted in flash, and WRITTEN THERE BEFORE THE
 *              FIRST BYTE IS USED, or a reset at the wrong moment repeats a life. If the memory
 *              cannot be written, use no lock.
 *
 * The bytes are the cipher XTEA, with the secret as its key, of the numbers (boot, 0), (boot, 1),
 * and so on, so no two blocks are alike. */
#ifndef DEVICE_RANDOM_H
#define DEVICE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct device_random {
    uint32_t secret[4];
    uint32_t boot, count;
};

/* XTEA, 64 rounds (Needham and Wheeler, 1997). */
static inline void device_random_encipher(const uint32_t key[4], uint32_t block[2])
{
    uint32_t a = block[0], b = block[1], sum = 0;

    for (int round = 0; round < 32; round++) {
        a += (((b << 4) ^ (b >> 5)) + b) ^ (sum + key[sum & 3]);
        sum += UINT32_C(0x9E3779B9);
        b += (((a << 4) ^ (a >> 5)) + a) ^ (sum + key[(sum >> 11) & 3]);
    }
    block[0] = a;
    block[1] = b;
}

/* The next 8 bytes. It lasts for 2^32 calls in one boot, and thus for more than 10^9 attempts. */
static inline void device_random_next(struct device_random *r, uint8_t bytes[8])
{
    uint32_t block[2] = { r->boot, r->count++ };

    device_random_encipher(r->secret, block);
    for (unsigned i = 0; i < 8; i++) bytes[i] = (uint8_t)(block[i / 4] >> i % 4 * 8);
}

#endif
