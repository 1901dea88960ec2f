#include "random.h"

/* xorshift32 (Marsaglia 2003). Its state is never 0. */
REDLOCK_WRAPS uint32_t throw_dice(struct redlock *r, uint32_t range)
{
    uint32_t x = r->dice;

    REDLOCK_CHECK(x != 0);
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    r->dice = x;
    return (uint32_t)((uint64_t)x * range >> 32);
}

/* S6: bytes that are given away are overwritten. */
bool draw_random(struct redlock *r, uint8_t *bytes, size_t size)
{
    if (r->entropy_size < size) return false;
    r->entropy_size = (uint8_t)(r->entropy_size - size);
    copy_bytes(bytes, r->entropy + r->entropy_size, size);
    clear_bytes(r->entropy + r->entropy_size, size);
    return true;
}

bool draw_token(struct redlock *r, uint8_t token[REDLOCK_TOKEN_SIZE])
{
    if (r->entropy_size < REDLOCK_TOKEN_SIZE) return false;
    r->entropy_size = (uint8_t)(r->entropy_size - REDLOCK_TOKEN_SIZE);
    for (unsigned i = 0; i < REDLOCK_TOKEN_SIZE; i++) {
        token[i] = r->entropy[r->entropy_size + i];
        r->entropy[r->entropy_size + i] = 0;
    }
    return true;
}

REDLOCK_WRAPS void store_random(struct redlock *r, const uint8_t *bytes, size_t size)
{
    size_t room = (size_t)REDLOCK_ENTROPY_MAX - r->entropy_size;
    size_t kept = size < room ? size : room;
    uint32_t dice = r->dice;

    copy_bytes(r->entropy + r->entropy_size, bytes, kept);
    r->entropy_size = (uint8_t)(r->entropy_size + kept);
    /* FNV-1a, so that delays reveal no byte. */
    for (size_t i = 0; i < kept; i++) dice = (dice ^ bytes[i]) * 16777619u;
    r->dice = dice != 0 ? dice : 1;
}
