/* The keeper for programs that block has a client of its own and a thread that runs its loop. Only
 * the thread uses the client, except while it waits. Meanwhile others begin operations on the
 * engine, or ask, and write to the client's self-pipe, so that the thread looks again. They never
 * touch a socket. */
#include "reentrant.h"

#include "../net/redlock_thread.h"

#ifndef REDLOCK_NO_THREADS

#include <string.h>

NET_STATIC_ASSERT(sizeof(struct net_monitor) == sizeof(((struct redlock_keeper *)0)->monitor),
                  "a monitor must fit");
NET_STATIC_ASSERT(sizeof(struct net_thread) == sizeof(((struct redlock_keeper *)0)->thread),
                  "a thread must fit");

/* Locks that are released at once when the keeper is stopped. */
enum { TOGETHER_MAX = REDLOCK_PARTED_MAX };

static struct net_monitor *monitor_of(struct redlock_keeper *keeper)
{
    return (struct net_monitor *)(void *)keeper->monitor;
}

static struct net_thread *thread_of(struct redlock_keeper *keeper)
{
    return (struct net_thread *)(void *)keeper->thread;
}

/* Refused in a child, whose copy of the monitor may be taken for ever, and in which
 * no keeper runs. */
static enum redlock_status enter_monitor(struct redlock_keeper *keeper)
{
    if (keeper->client.owner == 0)          return REDLOCK_NOT_OPEN;
    if (redlock_is_forked(&keeper->client)) return REDLOCK_FORKED;
    net_monitor_enter(monitor_of(keeper));
    return REDLOCK_OK;
}

static void leave_monitor(struct redlock_keeper *keeper)
{
    net_monitor_leave(monitor_of(keeper));
}

/* ---- The thread ---- */

/* Another thread may be waiting for any turn of the loop. */
static void around_wait(void *context, bool is_before)
{
    struct redlock_keeper *keeper = (struct redlock_keeper *)context;

    if (!is_before) {
        net_monitor_enter(monitor_of(keeper));
        return;
    }
    net_monitor_tell(monitor_of(keeper));
    leave_monitor(keeper);
}

static void *run_client(void *context)
{
    struct redlock_keeper *keeper = (struct redlock_keeper *)context;

    net_monitor_enter(monitor_of(keeper));
    while (!keeper->is_stopping) (void)redlock_run_for(&keeper->client, NULL, REDLOCK_FOREVER);
    leave_monitor(keeper);
    return NULL;
}

/* ---- Locks ---- */

static void list_lock(struct redlock_keeper *keeper, struct redlock_kept *kept)
{
    if (kept->is_listed) return;
    kept->is_listed = true;
    kept->previous = NULL;
    kept->next = keeper->first;
    if (kept->next) kept->next->previous = kept;
    keeper->first = kept;
}

static void unlist_lock(struct redlock_keeper *keeper, struct redlock_kept *kept)
{
    if (!kept->is_listed) return;
    kept->is_listed = false;
    if (kept->next) kept->next->previous = kept->previous;
    *(kept->previous ? &kept->previous->next : &keeper->first) = kept->next;
}

/* The lock's memory is the caller's again. */
static void part_from(struct redlock_keeper *keeper, struct redlock_kept *kept)
{
    redlock_part(&keeper->client, &kept->lock);
    unlist_lock(keeper, kept);
    redlock_interrupt(&keeper->client);
}

/* Waits until the operation that was just begun has ended. */
static enum redlock_status await_end(struct redlock_keeper *keeper, struct redlock_kept *kept)
{
    keeper->caller_count++;
    redlock_interrupt(&keeper->client);
    while (redlock_lock_status(&kept->lock) == REDLOCK_PENDING)
        net_monitor_wait(monitor_of(keeper));
    keeper->caller_count--;
    net_monitor_tell(monitor_of(keeper));
    return redlock_lock_status(&kept->lock);
}

/* True if some thread has begun an operation on it and has not yet seen its end. Until then its
 * memory belongs to that thread. */
static bool is_awaited(const struct redlock_kept *kept)
{
    return kept->is_acquiring || kept->is_releasing;
}

/* The keeper takes nothing new. Nothing else is hidden. Held locks stay, and the memory of ended
 * ones is given back. */
static enum redlock_status turn_away_lock(struct redlock_keeper *keeper, struct redlock_kept *kept)
{
    if (redlock_valid_us(&kept->lock, redlock_now_us()) > 0) return REDLOCK_BAD_STATE;
    part_from(keeper, kept);
    return REDLOCK_CANCELLED;
}

static enum redlock_status acquire_kept(struct redlock_keeper *keeper, struct redlock_kept *kept,
                                        const struct redlock_request *request, uint32_t hold_ms)
{
    struct redlock *engine = &keeper->client.engine;
    enum redlock_status status;

    if (is_awaited(kept)) return REDLOCK_BAD_STATE;
    if (keeper->is_closing) return turn_away_lock(keeper, kept);
    status = redlock_start_acquire(engine, &kept->lock, request, redlock_now_us());
    if (status != REDLOCK_OK) return status;
    (void)redlock_copy_name(&kept->lock);
    list_lock(keeper, kept);
    kept->is_acquiring = true;
    status = await_end(keeper, kept);
    kept->is_acquiring = false;
    /* It was won, but this thread learned that only when it was over. */
    if (status == REDLOCK_OK &&
        redlock_keep(engine, &kept->lock, hold_ms, redlock_now_us()) != REDLOCK_OK)
        status = REDLOCK_TOO_LATE;
    if (status != REDLOCK_OK) part_from(keeper, kept);
    else redlock_interrupt(&keeper->client);
    return status;
}

static enum redlock_status release_kept(struct redlock_keeper *keeper, struct redlock_kept *kept,
                                        unsigned *confirmed)
{
    enum redlock_status status;

    if (is_awaited(kept)) return REDLOCK_BAD_STATE;
    status = redlock_start_release(&keeper->client.engine, &kept->lock, redlock_now_us());
    if (status != REDLOCK_OK) return status;
    kept->is_releasing = true;
    status = await_end(keeper, kept);
    kept->is_releasing = false;
    if (confirmed) *confirmed = redlock_view_lock(&kept->lock).confirmed;
    part_from(keeper, kept);
    return status;
}

void redlock_kept_init(struct redlock_kept *kept)
{
    memset(kept, 0, sizeof *kept);
    redlock_lock_init(&kept->lock);
}

enum redlock_status redlock_keeper_acquire(struct redlock_keeper *keeper, struct redlock_kept *kept,
                                           const struct redlock_request *request, uint32_t hold_ms)
{
    struct redlock_request dated = *request;
    enum redlock_status status;

    if (dated.wall_us == 0) dated.wall_us = redlock_wall_us();
    status = enter_monitor(keeper);
    if (status != REDLOCK_OK) return status;
    status = acquire_kept(keeper, kept, &dated, hold_ms);
    leave_monitor(keeper);
    return status;
}

void redlock_keeper_cancel(struct redlock_keeper *keeper, struct redlock_kept *kept)
{
    if (enter_monitor(keeper) != REDLOCK_OK) return;
    if (kept->is_acquiring) redlock_cancel(&keeper->client.engine, &kept->lock, redlock_now_us());
    redlock_interrupt(&keeper->client);
    leave_monitor(keeper);
}

struct redlock_kept_view redlock_view_kept(struct redlock_keeper *keeper, struct redlock_kept *kept)
{
    struct redlock_kept_view view = { .status = enter_monitor(keeper) };
    uint64_t valid_us;

    if (view.status != REDLOCK_OK) return view;
    valid_us = redlock_valid_us(&kept->lock, redlock_now_us());
    view.status = redlock_lock_status(&kept->lock);
    if (view.status != REDLOCK_PENDING && valid_us == 0) view.status = REDLOCK_LOST;
    view.valid_ms = (uint32_t)(valid_us / 1000);
    view.ticket = redlock_ticket(&kept->lock);
    leave_monitor(keeper);
    return view;
}

enum redlock_status redlock_keeper_release(struct redlock_keeper *keeper, struct redlock_kept *kept,
                                           unsigned *confirmed)
{
    enum redlock_status status;

    if (confirmed) *confirmed = 0;
    status = enter_monitor(keeper);
    if (status != REDLOCK_OK) return status;
    status = release_kept(keeper, kept, confirmed);
    leave_monitor(keeper);
    return status;
}

/* ---- Locks that may be entered again ---- */

void redlock_reentrant_kept_init(struct redlock_reentrant_kept *reentrant)
{
    memset(reentrant, 0, sizeof *reentrant);
    redlock_kept_init(&reentrant->kept);
}

/* While it is acquired or released other threads are let into the monitor, but not its
 * owner, which waits. */
static enum redlock_status enter_lock(struct redlock_keeper *keeper,
                                      struct redlock_reentrant_kept *reentrant, uint64_t owner,
                                      const struct redlock_request *request, uint32_t hold_ms)
{
    enum redlock_status status;

    if (is_awaited(&reentrant->kept)) return REDLOCK_TAKEN;
    if (reentrant->inside.depth > 0)
        return inside_again(&reentrant->inside, owner, &reentrant->kept.lock, request);
    status = acquire_kept(keeper, &reentrant->kept, request, hold_ms);
    if (status == REDLOCK_OK) inside_begin(&reentrant->inside, owner);
    return status;
}

static enum redlock_status leave_lock(struct redlock_keeper *keeper,
                                      struct redlock_reentrant_kept *reentrant, uint64_t owner,
                                      unsigned *confirmed)
{
    enum redlock_status status;

    if (!inside_is(&reentrant->inside, owner)) return REDLOCK_BAD_STATE;
    if (reentrant->inside.depth > 1) return inside_less(&reentrant->inside, &reentrant->kept.lock);
    status = release_kept(keeper, &reentrant->kept, confirmed);
    inside_end(&reentrant->inside, status);
    return status;
}

enum redlock_status redlock_keeper_enter(struct redlock_keeper *keeper,
                                         struct redlock_reentrant_kept *reentrant, uint64_t owner,
                                         const struct redlock_request *request, uint32_t hold_ms)
{
    struct redlock_request dated = *request;
    enum redlock_status status;

    if (dated.wall_us == 0) dated.wall_us = redlock_wall_us();
    status = enter_monitor(keeper);
    if (status != REDLOCK_OK) return status;
    status = enter_lock(keeper, reentrant, owner, &dated, hold_ms);
    leave_monitor(keeper);
    return status;
}

enum redlock_status redlock_keeper_leave(struct redlock_keeper *keeper,
                                         struct redlock_reentrant_kept *reentrant, uint64_t owner,
                                         unsigned *confirmed)
{
    enum redlock_status status;

    if (confirmed) *confirmed = 0;
    status = enter_monitor(keeper);
    if (status != REDLOCK_OK) return status;
    status = leave_lock(keeper, reentrant, owner, confirmed);
    leave_monitor(keeper);
    return status;
}

/* ---- Starting and stopping ---- */

enum redlock_status redlock_keeper_start(struct redlock_keeper *keeper, const char *nodes,
                                         const struct redlock_options *options,
                                         struct redlock_mistake *mistake)
{
    struct redlock_options own;
    enum redlock_status status;

    if (keeper->client.owner != 0 && !redlock_is_forked(&keeper->client))
        return redlock_open(&keeper->client, nodes, options, mistake);      /* ALREADY_OPEN */
    redlock_options_init(&own);
    if (options) own = *options;
    own.interruptible = true;
    own.around_wait = around_wait;
    own.wait_context = keeper;
    memset(keeper, 0, sizeof *keeper);
    status = redlock_open(&keeper->client, nodes, &own, mistake);
    if (status != REDLOCK_OK) return status;
    if (net_monitor_open(monitor_of(keeper))) {
        if (net_thread_start(thread_of(keeper), run_client, keeper)) return REDLOCK_OK;
        net_monitor_close(monitor_of(keeper));
    }
    keeper->client.around_wait = NULL;
    redlock_close(&keeper->client, 0);
    return REDLOCK_SYSTEM;
}

/* Cancels the calls that wait, and ends the thread. */
static void end_thread(struct redlock_keeper *keeper)
{
    net_monitor_enter(monitor_of(keeper));
    keeper->is_closing = true;
    for (struct redlock_kept *kept = keeper->first; kept; kept = kept->next)
        if (kept->is_acquiring)
            redlock_cancel(&keeper->client.engine, &kept->lock, redlock_now_us());
    net_monitor_tell(monitor_of(keeper));
    while (keeper->caller_count > 0) net_monitor_wait(monitor_of(keeper));
    keeper->is_stopping = true;
    redlock_interrupt(&keeper->client);
    leave_monitor(keeper);
    net_thread_join(thread_of(keeper));
    net_monitor_close(monitor_of(keeper));
    keeper->client.around_wait = NULL;
}

/* Takes up to TOGETHER_MAX locks off the list. Returns how many. */
static size_t take_off(struct redlock_keeper *keeper, struct redlock_lock *locks[TOGETHER_MAX])
{
    size_t count = 0;

    while (keeper->first && count < TOGETHER_MAX) {
        locks[count++] = &keeper->first->lock;
        unlist_lock(keeper, keeper->first);
    }
    return count;
}

static enum redlock_status release_all(struct redlock_keeper *keeper, uint64_t until_us)
{
    struct redlock_lock *locks[TOGETHER_MAX];
    enum redlock_status status = REDLOCK_OK;
    size_t count;

    while ((count = take_off(keeper, locks)) > 0) {
        uint64_t now = redlock_now_us();
        uint32_t left_ms = now < until_us ? (uint32_t)((until_us - now) / 1000) : 0;
        enum redlock_status now_is = redlock_release_all(&keeper->client, locks, count, left_ms);
        if (now_is != REDLOCK_OK) status = now_is;
    }
    return status;
}

enum redlock_status redlock_keeper_stop(struct redlock_keeper *keeper, bool is_releasing,
                                        uint32_t wait_ms)
{
    uint64_t until = redlock_now_us() + (uint64_t)wait_ms * 1000, now;
    enum redlock_status status = REDLOCK_OK;

    if (keeper->client.owner == 0) return REDLOCK_NOT_OPEN;
    if (redlock_is_forked(&keeper->client)) {
        keeper->client.around_wait = NULL;
        redlock_close(&keeper->client, 0);
        return REDLOCK_FORKED;
    }
    end_thread(keeper);
    if (is_releasing) status = release_all(keeper, until);
    while (keeper->first) {
        redlock_forget(&keeper->client.engine, &keeper->first->lock);
        unlist_lock(keeper, keeper->first);
    }
    now = redlock_now_us();
    redlock_close(&keeper->client, now < until ? (uint32_t)((until - now) / 1000) : 0);
    return status;
}

#endif
