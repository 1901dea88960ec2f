/* Locks that their callers have parted from, while some node is still owed a release (S5). The
 * client keeps them in memory of its own. This file must not know any connection; the next step
 * sends what is owed. */
#include "client.h"

#include <string.h>

static void drop_if_idle(struct redlock_client *c, struct redlock_parted *parted)
{
    if (!parted->used || !redlock_idle(&parted->lock)) return;
    redlock_forget(&c->engine, &parted->lock);
    parted->used = false;
}

/* Copies the names of the lock to where they may stay. Returns one name, or a set. */
static const void *copy_names(struct redlock_parted *parted, const struct redlock_lock *lock)
{
    struct redlock_lock_view view = redlock_view_lock(lock);
    uint8_t *to = parted->bytes;

    REDLOCK_ASSERT(view.name_count > 0 && view.name_count <= REDLOCK_SET_MAX);
    for (unsigned i = 0; i < view.name_count; i++) {
        memcpy(to, view.names[i].bytes, view.names[i].size);
        parted->set[i] = view.names[i];
        parted->set[i].bytes = to;
        to += view.names[i].size;
    }
    REDLOCK_ASSERT(to <= parted->bytes + REDLOCK_RESOURCE_MAX);
    return view.name_count > 1 ? (const void *)parted->set : parted->bytes;
}

/* S5: the debts of the lock outlive it, in the client's own memory. If that is full, keys stay
 * until their TTL ends. For its caller the release ends here, since later on redlock_next_done
 * would name that memory. */
void redlock_part(struct redlock_client *c, struct redlock_lock *lock)
{
    bool owes;

    if (client_check_open(c) == REDLOCK_NOT_OPEN) {
        redlock_lock_init(lock);
        return;
    }
    owes = redlock_let_go(&c->engine, lock, redlock_now_us());
    redlock_cancel(&c->engine, lock, redlock_now_us());
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX; i++) {
        struct redlock_parted *parted = &c->parted[i];
        drop_if_idle(c, parted);
        if (!owes || parted->used) continue;
        REDLOCK_ASSERT(redlock_lock_status(lock) != REDLOCK_PENDING);
        redlock_move(&c->engine, &parted->lock, lock, copy_names(parted, lock));
        parted->used = true;
        return;
    }
    if (owes) c->given_up++;
    redlock_forget(&c->engine, lock);
}

void client_pay_parted(struct redlock_client *c)
{
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX; i++)
        if (c->parted[i].used) redlock_pay(&c->engine, &c->parted[i].lock, redlock_now_us());
}
