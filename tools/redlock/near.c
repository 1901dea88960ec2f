#include "near.h"

#include <assert.h>
#include <string.h>

enum { NEAR_SIZE_MAX = 31 };    /* Longer words are near to none. */

struct near near_begin(const char *wrong, unsigned size)
{
    return (struct near){ .wrong = wrong, .wrong_size = size };
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* One row of the table of distances between the beginnings of both words: how far the first i
 * letters of a are from those of b. */
static void fill_row(const char *a, unsigned i, const char *b, unsigned b_size,
                     unsigned rows[3][NEAR_SIZE_MAX + 1])
{
    unsigned *row = rows[i % 3];
    const unsigned *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

    assert(i > 0 && b_size <= NEAR_SIZE_MAX);
    row[0] = i;
    for (unsigned j = 1; j <= b_size; j++) {
        bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
        row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
        if (is_swapped) row[j] = least(row[j], two_above[j - 2] + 1);
    }
}

static unsigned distance(const char *a, unsigned a_size, const char *b, unsigned b_size)
{
    unsigned rows[3][NEAR_SIZE_MAX + 1] = { { 0 } };

    assert(a_size <= NEAR_SIZE_MAX && b_size <= NEAR_SIZE_MAX);
    for (unsigned j = 0; j <= b_size; j++) rows[0][j] = j;
    for (unsigned i = 1; i <= a_size; i++) fill_row(a, i, b, b_size, rows);
    return rows[a_size % 3][b_size];
}

/* One letter may be wrong; two of a long word. */
void near_try(struct near *near, const char *right)
{
    unsigned size = (unsigned)strlen(right), far;

    if (near->wrong_size < 2 || near->wrong_size > NEAR_SIZE_MAX || size > NEAR_SIZE_MAX) return;
    far = distance(near->wrong, near->wrong_size, right, size);
    if (far > (near->wrong_size > 5 ? 2 : 1) || (near->right && far >= near->distance)) return;
    near->right = right;
    near->distance = far;
}
