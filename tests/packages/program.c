/* A newcomer's first program, a lock on the servers of the command line. */
#include "redlock_client.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    static struct redlock_client client;
    struct redlock_lock lock;
    struct redlock_options options;
    enum redlock_status status;

    redlock_options_init(&options);
    options.engine.guard_ms = 0;            /* The servers have just begun. */
    options.engine.node_timeout_ms = 10000;
    if (argc != 2 || redlock_open(&client, argv[1], &options, NULL) != REDLOCK_OK)
        return REDLOCK_BAD_ADDRESS;
    redlock_lock_init(&lock);
    status = redlock_acquire(&client, &lock, "door", 10000, 2000);
    printf("%s with %s\n", redlock_status_text(status), redlock_version());
    if (status == REDLOCK_OK) status = redlock_release(&client, &lock, NULL);
    redlock_close(&client, 500);
    return status;
}
