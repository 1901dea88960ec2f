/* The blocking face. Each call begins an operation on the engine, and then waits and steps until
 * the operation has ended. No other file of the client waits or heeds interrupts; this one must not
 * touch a connection by itself. */
#include "client.h"

#include <string.h>

NET_STATIC_ASSERT((int)REDLOCK_FDS_MAX + 1 <= (int)NET_WAIT_MAX,
                  "all sessions and the self-pipe are waited for at once");

/* After so long without a step, connections are looked at before they are used. */
enum { QUIET_US = 100000 };

enum attention { HEEDS_NOTHING, HEEDS_INTERRUPTS };

void redlock_interrupt(struct redlock_client *c)
{
    if (client_check_open(c) == REDLOCK_OK) net_self_pipe_write(c->self_pipe[1]);
}

/* Was the client interrupted? True once per interrupt. */
static bool is_interrupted(const struct redlock_client *c)
{
    return net_self_pipe_drain(c->self_pipe[0]);
}

static uint64_t end_of(uint32_t wait_ms)
{
    return wait_ms == REDLOCK_FOREVER ? REDLOCK_NEVER : redlock_now_us() + (uint64_t)wait_ms * 1000;
}

/* Waits for something to do until a time, or for an interrupt. Returns which sessions are ready. A
 * signal ends the wait, which does no harm. */
static unsigned wait_for(struct redlock_client *c, uint64_t until_us, enum attention attention)
{
    struct net_wait waits[REDLOCK_FDS_MAX + 1];
    unsigned count = redlock_fd_count(c), ready = 0;

    REDLOCK_ASSERT(count <= REDLOCK_FDS_MAX);
    for (unsigned k = 0; k < count; k++) {
        unsigned events = redlock_events(c, k);
        waits[k] = (struct net_wait){
            .fd = redlock_fd(c, k),
            .events = (uint8_t)events,
        };
    }
    waits[count] = (struct net_wait){
        .fd = attention == HEEDS_INTERRUPTS ? c->self_pipe[0] : -1, .events = NET_READ
    };
    if (c->around_wait) c->around_wait(c->wait_context, true);
    net_wait(waits, count + 1, until_us);
    if (c->around_wait) c->around_wait(c->wait_context, false);
    for (unsigned k = 0; k < count; k++)
        if (waits[k].ready) ready |= 1u << k;
    return ready;
}

/* One turn of a loop waits until there is something to do, or until that time, and does it. */
static enum redlock_status run_turn(struct redlock_client *c, uint64_t until_us,
                                    enum attention attention)
{
    REDLOCK_ASSERT(c->owner != 0);
    return client_step(c, wait_for(c, sooner(until_us, client_wake_at(c)), attention));
}

/* Missing random bytes are reported by the lock that needs them. Everything else goes on. */
static enum redlock_status without_entropy(enum redlock_status status)
{
    return status == REDLOCK_NO_ENTROPY ? REDLOCK_OK : status;
}

/* Called before an operation begins. Connections that were closed in a long silence are found now,
 * not by its first command. *now_us is the time after that. An operation may need random bytes at
 * once, which begun ones have used up. */
static enum redlock_status catch_up(struct redlock_client *c, uint64_t *now_us)
{
    enum redlock_status status = client_check_open(c);

    *now_us = redlock_now_us();
    if (status != REDLOCK_OK) return status;
    (void)client_add_entropy(c);
    if (*now_us - c->stepped_at < QUIET_US) return REDLOCK_OK;
    (void)run_turn(c, 0, HEEDS_NOTHING);
    *now_us = c->engine.now_us;
    return REDLOCK_OK;
}

/* Steps and waits until the operation on the lock, which has just begun, has ended. After an
 * earlier interrupt nothing is sent. */
static enum redlock_status run_operation(struct redlock_client *c, struct redlock_lock *lock,
                                         enum attention attention)
{
    bool is_over = attention == HEEDS_INTERRUPTS && is_interrupted(c);
    enum redlock_status status =
        is_over ? REDLOCK_CANCELLED
                : without_entropy(client_act_on_time(c, c->engine.now_us));

    while (status == REDLOCK_OK && redlock_lock_status(lock) == REDLOCK_PENDING) {
        if (attention == HEEDS_INTERRUPTS && is_interrupted(c)) status = REDLOCK_CANCELLED;
        else status = without_entropy(run_turn(c, REDLOCK_NEVER, attention));
    }
    if (redlock_lock_status(lock) != REDLOCK_PENDING) return redlock_lock_status(lock);
    REDLOCK_ASSERT(status != REDLOCK_OK);
    redlock_cancel(&c->engine, lock, redlock_now_us());
    REDLOCK_ASSERT(redlock_lock_status(lock) != REDLOCK_PENDING);
    (void)client_step(c, 0);  /* Keys that may be there are released at once. */
    return status;
}

/* Lets time pass. Returns OK, or the reason to stop. */
static enum redlock_status pass_time(struct redlock_client *c, uint64_t until_us)
{
    enum redlock_status status = REDLOCK_OK;

    while (status == REDLOCK_OK && redlock_now_us() < until_us)
        status = is_interrupted(c) ? REDLOCK_CANCELLED
                                   : without_entropy(run_turn(c, until_us, HEEDS_INTERRUPTS));
    return status;
}

/* ---- One lock ---- */

enum redlock_status redlock_acquire_request(struct redlock_client *c, struct redlock_lock *lock,
                                            const struct redlock_request *request)
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    if (status == REDLOCK_OK) status = client_start_acquire(c, lock, request, now);
    if (status != REDLOCK_OK) return status;
    status = run_operation(c, lock, HEEDS_INTERRUPTS);
    REDLOCK_ASSERT(status != REDLOCK_PENDING);
    if (status == REDLOCK_OK) (void)redlock_copy_name(lock);
    else                      redlock_part(c, lock);
    return status;
}

enum redlock_status redlock_acquire(struct redlock_client *c, struct redlock_lock *lock,
                                    const char *resource, uint32_t ttl_ms, uint32_t wait_ms)
{
    struct redlock_request request = {
        .resource = resource, .resource_size = strlen(resource), .ttl_ms = ttl_ms,
        .wait_ms = wait_ms
    };

    return redlock_acquire_request(c, lock, &request);
}

/* A lock that is to be extended or released has its names. */
static enum redlock_status catch_up_with(struct redlock_client *c, const struct redlock_lock *lock,
                                         uint64_t *now)
{
    enum redlock_status status = catch_up(c, now);

    return status == REDLOCK_OK && !redlock_has_its_names(lock) ? REDLOCK_BAD_RESOURCE : status;
}

/* Waits for an extension or a change of the role, if it was started. A lock that was adopted, or
 * acquired in an event loop, has no names yet. */
static enum redlock_status end_extension(struct redlock_client *c, struct redlock_lock *lock,
                                         enum redlock_status status)
{
    if (status == REDLOCK_OK) {
        (void)redlock_copy_name(lock);
        status = run_operation(c, lock, HEEDS_NOTHING);
    }
    REDLOCK_ASSERT(status != REDLOCK_PENDING);
    if (status == REDLOCK_LOST) redlock_part(c, lock);
    return status;
}

enum redlock_status redlock_extend(struct redlock_client *c, struct redlock_lock *lock,
                                   uint32_t ttl_ms)
{
    uint64_t now;
    enum redlock_status status = catch_up_with(c, lock, &now);

    if (status == REDLOCK_OK) status = redlock_start_extend(&c->engine, lock, ttl_ms, now);
    return end_extension(c, lock, status);
}

enum redlock_status redlock_upgrade(struct redlock_client *c, struct redlock_lock *lock)
{
    uint64_t now;
    enum redlock_status status = catch_up_with(c, lock, &now);

    if (status == REDLOCK_OK) status = redlock_start_upgrade(&c->engine, lock, now);
    return end_extension(c, lock, status);
}

enum redlock_status redlock_downgrade(struct redlock_client *c, struct redlock_lock *lock)
{
    uint64_t now;
    enum redlock_status status = catch_up_with(c, lock, &now);

    if (status == REDLOCK_OK) status = redlock_start_downgrade(&c->engine, lock, now);
    return end_extension(c, lock, status);
}

enum redlock_status redlock_release(struct redlock_client *c, struct redlock_lock *lock,
                                    unsigned *confirmed)
{
    uint64_t now;
    enum redlock_status status = catch_up_with(c, lock, &now);

    if (confirmed) *confirmed = 0;
    if (status == REDLOCK_OK) status = redlock_start_release(&c->engine, lock, now);
    if (status == REDLOCK_OK) {
        status = run_operation(c, lock, HEEDS_NOTHING);
        REDLOCK_ASSERT(redlock_view_lock(lock).confirmed <= c->engine.node_count);
        if (confirmed) *confirmed = redlock_view_lock(lock).confirmed;
    } else if (status != REDLOCK_LOST) {
        return status;
    }
    redlock_part(c, lock);      /* It may owe something even if it was never held. */
    return status;
}

/* ---- Several locks, and none ---- */

enum redlock_status redlock_connect(struct redlock_client *c, uint32_t wait_ms)
{
    uint64_t until = end_of(wait_ms);
    unsigned n = c->engine.node_count;
    enum redlock_status status = without_entropy(redlock_step(c));

    if (status != REDLOCK_OK) return status;
    for (;;) {
        unsigned settled = 0, votes = 0;
        for (unsigned k = 0; k < n; k++) {
            settled += redlock_view_node(&c->engine, k, c->engine.now_us).is_settled;
            votes += redlock_node_votes(&c->engine, k, redlock_now_us());
        }
        REDLOCK_ASSERT(votes <= n);
        if (settled == n || redlock_now_us() >= until)
            return votes >= redlock_quorum(n) ? REDLOCK_OK : REDLOCK_NO_QUORUM;
        if (is_interrupted(c)) return REDLOCK_CANCELLED;
        (void)run_turn(c, until, HEEDS_INTERRUPTS);
    }
}

/* S5: a debt to a node that is away is not waited for, since it may be away for good. */
static bool is_busy(const struct redlock_client *c)
{
    for (unsigned k = 0; k < c->engine.node_count; k++)
        if (redlock_node_is_busy(&c->engine, k)) return true;
    return false;
}

/* Parts from a lock whose release was begun, however far it has got. True if nothing is left that
 * would keep others out. */
static bool part_released(struct redlock_client *c, struct redlock_lock *lock)
{
    bool is_confirmed = redlock_lock_status(lock) == REDLOCK_OK &&
                        redlock_view_lock(lock).confirmed >= redlock_quorum(c->engine.node_count);
    bool is_gone = redlock_idle(lock) || is_confirmed || redlock_lock_status(lock) == REDLOCK_LOST;

    redlock_part(c, lock);
    return is_gone;
}

enum redlock_status redlock_release_all(struct redlock_client *c, struct redlock_lock *const *locks,
                                        size_t count, uint32_t wait_ms)
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);
    uint64_t until = end_of(wait_ms);
    bool are_gone = true;

    if (status != REDLOCK_OK) return status;
    for (size_t i = 0; i < count; i++) {
        redlock_cancel(&c->engine, locks[i], now);
        (void)redlock_start_release(&c->engine, locks[i], now);
    }
    (void)client_step(c, 0);
    while (is_busy(c) && redlock_now_us() < until) (void)run_turn(c, until, HEEDS_NOTHING);
    for (size_t i = 0; i < count; i++) are_gone &= part_released(c, locks[i]);
    return are_gone ? REDLOCK_OK : REDLOCK_NO_QUORUM;
}

/* Reports news of a kept lock; others have none. */
static enum redlock_status news_of(const struct redlock_lock *lock)
{
    enum redlock_status status = lock ? redlock_lock_status(lock) : REDLOCK_OK;

    if (!lock || status == REDLOCK_PENDING) return status;
    return redlock_valid_us(lock, redlock_now_us()) > 0 ? status : REDLOCK_LOST;
}

enum redlock_status redlock_run_for(struct redlock_client *c, const struct redlock_lock *lock,
                                    uint32_t for_ms)
{
    uint64_t until = end_of(for_ms);
    enum redlock_status before = news_of(lock), status = without_entropy(redlock_step(c));

    if (status != REDLOCK_OK) return status;
    while (news_of(lock) == before && before != REDLOCK_LOST && redlock_now_us() < until) {
        uint64_t now = redlock_now_us();
        uint64_t valid_us = lock ? redlock_valid_us(lock, now) : 0;
        if (is_interrupted(c)) return REDLOCK_CANCELLED;
        (void)run_turn(c, valid_us > 0 ? sooner(until, now + valid_us) : until, HEEDS_INTERRUPTS);
    }
    return news_of(lock);
}

/* S5: pays in that time whatever can be paid. */
void redlock_close(struct redlock_client *c, uint32_t wait_ms)
{
    uint64_t until = end_of(wait_ms);
    enum redlock_status status = redlock_step(c);

    if (status == REDLOCK_NOT_OPEN) return;
    client_pay_parted(c);
    while (status != REDLOCK_FORKED && is_busy(c) && redlock_now_us() < until)
        status = run_turn(c, until, HEEDS_NOTHING);
    client_shut(c, status);
    REDLOCK_ASSERT(client_check_open(c) == REDLOCK_NOT_OPEN);
}

/* ---- Questions ---- */

enum redlock_status redlock_inspect(struct redlock_client *c, const char *resource,
                                    struct redlock_sight *sights)
{
    struct redlock_lock lock;
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    redlock_lock_init(&lock);
    if (status == REDLOCK_OK)
        status = redlock_start_inspect(&c->engine, &lock, resource, strlen(resource), sights, now);
    if (status != REDLOCK_OK) return status;
    status = run_operation(c, &lock, HEEDS_NOTHING);
    REDLOCK_ASSERT(redlock_lock_status(&lock) == status);
    redlock_forget(&c->engine, &lock);
    return status;
}

enum redlock_status redlock_ask_node(struct redlock_client *c, struct redlock_question *question,
                                     unsigned k, const struct redlock_name *arguments,
                                     unsigned count, void *buffer, size_t size)
{
    uint64_t now;
    enum redlock_status status = catch_up(c, &now);

    if (status == REDLOCK_OK)
        status = redlock_ask(&c->engine, question, k, arguments, count, buffer, size, now);
    if (status != REDLOCK_OK) return status;
    status = without_entropy(client_step(c, 0));
    while (status == REDLOCK_OK && question->status == REDLOCK_PENDING)
        status = is_interrupted(c) ? REDLOCK_CANCELLED
                                   : without_entropy(run_turn(c, REDLOCK_NEVER, HEEDS_INTERRUPTS));
    redlock_forget_question(&c->engine, question);
    REDLOCK_ASSERT(question->status != REDLOCK_PENDING);
    return question->status;
}

/* Runs one round of marks. After an earlier interrupt nothing is sent. */
static enum redlock_status ask_for_marks(struct redlock_client *c, struct redlock_mark *mark,
                                         struct redlock_lock *lock,
                                         const struct redlock_period *period)
{
    struct redlock *r = &c->engine;
    enum redlock_status status = redlock_start_mark(r, mark, lock, period, redlock_now_us());

    while (status == REDLOCK_OK &&
           redlock_mark_status(r, mark, redlock_now_us()) == REDLOCK_PENDING)
        status = is_interrupted(c)
                     ? REDLOCK_CANCELLED
                     : without_entropy(run_turn(c, mark->until_us, HEEDS_INTERRUPTS));
    redlock_forget_mark(r, mark);
    return redlock_mark_status(r, mark, redlock_now_us());
}

enum redlock_status redlock_mark_period(struct redlock_client *c, struct redlock_mark *mark,
                                        struct redlock_lock *lock,
                                        const struct redlock_period *period, uint32_t wait_ms)
{
    struct redlock_period dated = *period;
    uint64_t until = end_of(wait_ms), now;
    enum redlock_status status = catch_up(c, &now);

    if (dated.wall_us == 0) {
        dated.wall_us = redlock_wall_us();
        dated.at_us = redlock_now_us();
    }
    if (status == REDLOCK_OK) status = ask_for_marks(c, mark, lock, &dated);
    while (status == REDLOCK_NO_QUORUM && redlock_now_us() < until) {
        status = pass_time(c, sooner(until, redlock_now_us() + (uint64_t)REDLOCK_RETRY_MS * 1000));
        if (status == REDLOCK_OK) status = ask_for_marks(c, mark, lock, &dated);
    }
    return status;
}
