/* The effect of redlock_part on a lock, seen without a network. Nothing is ever connected. */
#include <string.h>

#include "../../../redlock/redlock_client.h"
#include "../../tap.h"

enum { TTL_MS = 10000 };

static struct redlock_client client;

static void open_client(void)
{
    CHECK_INT(redlock_open(&client, "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", NULL, NULL), REDLOCK_OK);
}

static void adopt(struct redlock_lock *lock)
{
    static const char token[] = "0123456789abcdef0123456789abcdef01234567";
    redlock_lock_init(lock);
    CHECK_INT(redlock_adopt(&client.engine, lock,
                            &(struct redlock_request){ .resource = "door", .resource_size = 4 },
                            token, redlock_now_us()), REDLOCK_OK);
}

/* Locks that the client has taken over, and pays for. */
static unsigned parted(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX; i++) count += client.parted[i].used;
    return count;
}

TEST(s17_nothing_is_owed_for_an_adopted_lock_that_is_parted_from)
{
    struct redlock_lock lock;
    open_client();
    adopt(&lock);
    CHECK_INT(redlock_start_extend(&client.engine, &lock, 1, redlock_now_us()), REDLOCK_BAD_TTL);
    redlock_part(&client, &lock);
    CHECK(redlock_idle(&lock));
    CHECK_INT(parted(), 0);
    CHECK_INT((int)client.given_up, 0);

    adopt(&lock);
    CHECK_INT(redlock_start_extend(&client.engine, &lock, TTL_MS, redlock_now_us()), REDLOCK_OK);
    redlock_cancel(&client.engine, &lock, redlock_now_us());
    redlock_part(&client, &lock);
    CHECK(redlock_idle(&lock));
    CHECK_INT(parted(), 0);
    redlock_close(&client, 0);
}

TEST(s5_the_release_of_an_adopted_lock_is_owed_also_when_it_is_parted_from)
{
    struct redlock_lock lock;
    open_client();
    adopt(&lock);
    CHECK_INT(redlock_start_release(&client.engine, &lock, redlock_now_us()), REDLOCK_OK);
    redlock_cancel(&client.engine, &lock, redlock_now_us());
    redlock_part(&client, &lock);
    CHECK(redlock_idle(&lock));
    CHECK_INT(parted(), 1);
    CHECK_INT(redlock_view_lock(&client.parted[0].lock).owed, 3);
    redlock_close(&client, 0);
}

TAP_MAIN
