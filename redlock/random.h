/* Random numbers that may be guessed, for delays, and random bytes that may not, for tokens. Knows
 * no lock. */
#ifndef REDLOCK_RANDOM_H
#define REDLOCK_RANDOM_H

#include "private.h"
#include "redlock.h"

/* A number from 0 to less than range, for delays. It need not be secret. */
REDLOCK_PRIVATE uint32_t throw_dice(struct redlock *r, uint32_t range);

/* Takes random bytes, which are used once and gone (S6). False: there are not so many. */
REDLOCK_PRIVATE bool draw_random(struct redlock *r, uint8_t *bytes, size_t size);

/* The same for a token. It has a body of its own, since with one more call of draw_random compilers
 * would no longer merge that with its callers, which costs programs that need no other. */
REDLOCK_PRIVATE bool draw_token(struct redlock *r, uint8_t token[REDLOCK_TOKEN_SIZE]);

/* Puts bytes in store, as many as there is room for. */
REDLOCK_PRIVATE void store_random(struct redlock *r, const uint8_t *bytes, size_t size);

#endif
