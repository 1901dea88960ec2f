/* Words that are nearly right. */
#ifndef NEAR_H
#define NEAR_H

#include <stdbool.h>

/* The right word that is nearest to a wrong one; right NULL: none is near enough. */
struct near {
    const char *wrong;
    unsigned wrong_size;
    const char *right;
    /* How many letters are too many, missing, wrong, or in the wrong order. */
    unsigned distance;
};

/* wrong: so many bytes of it. */
struct near near_begin(const char *wrong, unsigned size);

/* Is this the word that was meant? Of several that are as near the first is. */
void near_try(struct near *near, const char *right);

#endif
