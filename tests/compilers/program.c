/* A program with all three parts of the library, which finds no server. tests/compilers/run links
 * and runs it. */
#include "redlock_keeper.h"

#include "macros.h"
#include "redlock_fence.h"

static struct redlock_client client;
static struct redlock_keeper keeper;

int main(void)
{
    static struct redlock_lock lock;

    if (redlock_open(&client, "unix:/nonexistent/redlock", NULL, NULL) != REDLOCK_OK) return 1;
    redlock_lock_init(&lock);
    if (redlock_acquire(&client, &lock, "door", 10000, 0) != REDLOCK_NO_QUORUM) return 2;
    redlock_close(&client, 0);
    if (redlock_keeper_start(&keeper, "unix:/nonexistent/redlock", NULL, NULL) != REDLOCK_OK)
        return 3;
    return redlock_keeper_stop(&keeper, true, 0) == REDLOCK_OK ? 0 : 4;
}
