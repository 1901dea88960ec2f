/* Tests redlock/keeper_thread.c over threads and a net/ that a script plays, see scripted_thread.h.
 * In each test crew_run() runs the program's first thread, which starts the keeper and may start
 * two more that call it. */
#include "scripted_thread.h"

#ifdef HAS_COROUTINES

enum { POISON = 0xa5 };

static struct redlock_keeper keeper;
static struct redlock_kept kept, other;

static void begin_crew(unsigned node_count, uint64_t seed)
{
    net_begin_world(node_count, seed);
    take_options();
    crew_begin();
}

static void need(bool condition, const char *what)
{
    if (!condition) net_break("%s", what);
}

static void start_keeper(void)
{
    net.connected_sessions = 0;
    need(redlock_keeper_start(&keeper, net.node_count == 1 ? "n0" : "n0,n1,n2", &options, NULL) ==
             REDLOCK_OK,
         "not started");
    redlock_kept_init(&kept);
    redlock_kept_init(&other);
}

static enum redlock_status acquire_for(struct redlock_kept *lock, const char *name, uint32_t ttl_ms,
                                       uint32_t wait_ms)
{
    const struct redlock_request request = {
        .resource = name, .resource_size = strlen(name), .ttl_ms = ttl_ms, .wait_ms = wait_ms
    };
    return redlock_keeper_acquire(&keeper, lock, &request, 0);
}

static void poison(struct redlock_kept *lock)
{
    memset(lock, POISON, sizeof *lock);
}

static bool is_poison(const struct redlock_kept *lock)
{
    for (size_t i = 0; i < sizeof *lock; i++)
        if (((const uint8_t *)lock)[i] != POISON) return false;
    return true;
}

static unsigned tokens(void)
{
    unsigned count = 0;
    for (unsigned k = 0; k < net.node_count; k++) {
        for (size_t i = 0; i < net.hosts[k].node.key_count; i++) {
            const struct model_key *key = &net.hosts[k].node.keys[i];
            count += key->value_size == REDLOCK_TOKEN_TEXT && key->expires_ms * MS > net.now_us;
        }
    }
    return count;
}

static void put_rival(void)
{
    for (unsigned k = 0; k < net.node_count; k++)
        model_put(&net.hosts[k].node, "door", "rival", 60000, net.now_us);
}

/* Every end of a keeper must leave this state. */
#define CHECK_END                                   \
    CHECK_STR(net.breach, "");                      \
    CHECK_INT(net.open_count, 0);                   \
    CHECK_INT(crew.monitors, 0)

/* A story on three nodes, without a preemption. */
static void run_once(void *(*body)(void *))
{
    begin_crew(3, 1);
    crew_run(body);
    CHECK_END;
}

/* A story in all interleavings with a preemption at any choice and one more among the next few,
 * each to any thread. */
enum { NEAR = 8 };

struct interleaving {
    unsigned step, pick, gap, next_pick;    /* A gap of 0 means that there is no second one. */
};

static bool next_interleaving(struct interleaving *i, unsigned steps)
{
    if (i->gap > 0 && ++i->next_pick < CREW_MAX - 1) return true;
    i->next_pick = 0;
    i->gap += tap_sample();
    if (i->gap <= NEAR) return true;
    i->gap = 0;
    if (++i->pick < CREW_MAX - 1) return true;
    i->pick = 0;
    return ++i->step < steps;
}

static void for_all_interleavings(void *(*body)(void *), void (*check)(void))
{
    struct interleaving i = { 0, 0, 0, 0 };
    unsigned steps = 0;
    do {
        begin_crew(1, 1);
        net.hosts[0].welcome = NET_AT_ONCE;
        crew.preemptions[0] = (struct crew_preemption){ i.step, i.pick };
        crew.preemptions[1] = (struct crew_preemption){ i.step + i.gap, i.next_pick };
        crew.preemption_count = i.gap > 0 ? 2 : 1;
        TAP_CONTEXT("preemptions at %u to %u, %u later to %u", i.step, i.pick, i.gap, i.next_pick);
        crew_run(body);
        check();
        if (crew.steps > steps) steps = crew.steps;
    } while (tap.complaints == 0 && next_interleaving(&i, steps));
}

/* ---- Starting and stopping ---- */

static void *fails_to_start(void *unused)
{
    for (unsigned i = 0; i < 2; i++) {
        crew.is_without_monitor = i == 0;
        crew.is_without_thread = i == 1;
        need(redlock_keeper_start(&keeper, "n0,n1,n2", &options, NULL) == REDLOCK_SYSTEM,
             "started without a thread");
        need(net.open_count == 0 && crew.monitors == 0, "something is left of a start that failed");
    }
    return unused;
}

TEST(a_start_that_fails_leaves_nothing_to_stop)
{
    run_once(fails_to_start);
}

static void *starts_and_stops(void *unused)
{
    start_keeper();
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    return unused;
}

static void check_end(void)
{
    CHECK_END;
}

TEST(a_keeper_that_is_stopped_at_once_ends_in_every_order)
{
    for_all_interleavings(starts_and_stops, check_end);
}

static void *is_refused(void *unused)
{
    static struct redlock_keeper never_started;
    struct redlock_mistake mistake = { .node = 99 };
    need(redlock_keeper_stop(&never_started, true, 1000) == REDLOCK_NOT_OPEN,
         "stopped, and never started");
    start_keeper();
    need(redlock_keeper_start(&keeper, "n0", NULL, &mistake) == REDLOCK_ALREADY_OPEN,
         "started twice");
    need(mistake.node == REDLOCK_NO_NODE && mistake.text[0] == '\0', "the mistake is not set");
    need(redlock_keeper_release(&keeper, &kept, NULL) == REDLOCK_LOST, "released, and not held");
    need(acquire_for(&kept, "door", 0, 0) == REDLOCK_BAD_TTL, "acquired without a TTL");
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK, "not acquired after a mistake");
    need(acquire_for(&kept, "gate", 10000, 0) == REDLOCK_BAD_STATE, "acquired while it is held");
    other = kept;
    need(redlock_keeper_release(&keeper, &other, NULL) == REDLOCK_BAD_LOCK, "released by a copy");
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_OK, "not held after a mistake");
    need(redlock_keeper_release(&keeper, &kept, NULL) == REDLOCK_OK, "not released");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(tokens() == 0, "a key is left");
    return unused;
}

TEST(a_mistake_of_the_caller_is_told_and_changes_nothing)
{
    run_once(is_refused);
}

/* The keeper looks at the wall clock itself if the caller gives no time. */
static void *has_tickets(void *unused)
{
    struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000, .ticket = true
    };
    start_keeper();
    const uint64_t wall_us = net_wall_us(), later_us = wall_us + 5000 * MS;
    need(redlock_keeper_acquire(&keeper, &kept, &request, 0) == REDLOCK_OK, "not acquired");
    const uint64_t ticket = redlock_view_kept(&keeper, &kept).ticket;
    need(ticket >= wall_us && ticket < later_us, "the ticket is not by the wall clock");
    request.resource = "gate";
    request.wall_us = later_us;
    need(redlock_keeper_acquire(&keeper, &other, &request, 0) == REDLOCK_OK, "not acquired");
    need(redlock_view_kept(&keeper, &other).ticket >= later_us,
         "the ticket is not by the time that was given");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    return unused;
}

TEST(a_ticket_is_by_the_time_of_the_request_or_else_by_the_wall_clock)
{
    run_once(has_tickets);
}

static void *acquires_anew(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 1000, 0) == REDLOCK_OK, "not held");
    for_all(node_hang);
    crew_sleep_ms(1100);
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_LOST, "not lost");
    for_all(node_wake);
    crew_sleep_ms(3000);
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK, "not held anew");
    need(acquire_for(&other, "gate", 10000, 0) == REDLOCK_OK, "the other is not held");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(tokens() == 0, "a key is left");
    return unused;
}

TEST(a_lock_that_was_lost_may_be_acquired_anew_without_a_release)
{
    run_once(acquires_anew);
}

/* The keeper's thread has noticed the loss itself. */
static void *releases_what_is_lost(void *unused)
{
    start_keeper();
    need(acquire_for(&other, "gate", 10000, 0) == REDLOCK_OK &&
             acquire_for(&kept, "door", 1000, 0) == REDLOCK_OK,
         "not held");
    node_hang(0);
    node_hang(1);
    crew_sleep_ms(3000);
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_LOST, "not lost");
    need(redlock_keeper_release(&keeper, &kept, NULL) == REDLOCK_LOST, "released what is lost");
    poison(&kept);
    for_all(node_wake);
    crew_sleep_ms(3000);
    need(is_poison(&kept), "memory that was given back was written to");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(is_poison(&kept), "memory that was given back was written to by the stop");
    need(tokens() == 0, "a key is left");
    return unused;
}

TEST(the_memory_of_a_lock_that_was_lost_is_given_back_by_its_release)
{
    run_once(releases_what_is_lost);
}

/* ---- One lock and two threads ---- */

static bool has_returned, was_released;
static enum redlock_status acquired;

static void *acquires(void *unused)
{
    acquired = acquire_for(&kept, "door", 10000, 1000);
    has_returned = true;
    return unused;
}

/* Releases the lock that another thread has acquired as soon as it can, and its memory is somebody
 * else's at once. */
static void *releases_what_is_held(void *unused)
{
    enum redlock_status status = REDLOCK_BAD_STATE;
    while (redlock_view_kept(&keeper, &kept).valid_ms == 0 && !has_returned)
        crew_sleep_in(NULL, 0, net.now_us + 10);
    while (status == REDLOCK_BAD_STATE) {
        status = redlock_keeper_release(&keeper, &kept, NULL);
        if (status == REDLOCK_BAD_STATE) crew_sleep_in(NULL, 0, net.now_us + 10);
    }
    need(status == REDLOCK_OK || status == REDLOCK_LOST, "not released");
    poison(&kept);
    was_released = true;
    return unused;
}

/* If nothing is preempted, the first of two that can goes on. */
static bool is_releaser_first;

static void *two_threads_and_one_lock(void *unused)
{
    has_returned = was_released = false;
    start_keeper();
    const unsigned a = crew_add(is_releaser_first ? releases_what_is_held : acquires, NULL);
    const unsigned b = crew_add(is_releaser_first ? acquires : releases_what_is_held, NULL);
    crew_join(a);
    crew_join(b);
    need(acquired == REDLOCK_OK, "not acquired");
    need(is_poison(&kept), "memory that was released was written to");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(is_poison(&kept), "memory that was released was written to by the stop");
    need(tokens() == 0, "a key is left");
    return unused;
}

static void check_two_threads(void)
{
    CHECK_END;
    CHECK(was_released);
}

TEST(whoever_has_released_a_lock_has_its_memory_in_every_order)
{
    for (unsigned i = 0; i < 2; i++) {
        is_releaser_first = i == 1;
        for_all_interleavings(two_threads_and_one_lock, check_two_threads);
    }
}

static enum redlock_status released;

static void *releases(void *unused)
{
    released = redlock_keeper_release(&keeper, &kept, NULL);
    return unused;
}

static void *acquires_what_is_released(void *unused)
{
    enum redlock_status status;
    while ((status = acquire_for(&kept, "door", 10000, 0)) == REDLOCK_BAD_STATE)
        crew_sleep_in(NULL, 0, net.now_us + 100);
    need(status == REDLOCK_OK, "not acquired");
    crew_sleep_ms(1);
    need(redlock_view_kept(&keeper, &kept).valid_ms > 0, "acquired, and another parts from it");
    need(redlock_keeper_release(&keeper, &kept, NULL) == REDLOCK_OK, "not released");
    return unused;
}

/* The one that acquires goes on first where both can, so that it comes between the end of the
 * release and the return of the other. */
static void *one_acquires_and_one_releases(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 10000, 1000) == REDLOCK_OK, "not held");
    const unsigned a = crew_add(acquires_what_is_released, NULL), b = crew_add(releases, NULL);
    crew_join(a);
    crew_join(b);
    need(released == REDLOCK_OK, "not released");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(tokens() == 0, "a key is left");
    return unused;
}

TEST(a_lock_is_acquired_again_after_its_release_has_returned_in_every_order)
{
    for_all_interleavings(one_acquires_and_one_releases, check_end);
}

static unsigned late_count;

/* The machine sleeps between the moment when the lock is won and the one when its thread learns
 * that. The keys are there still, for the time that is left for the drift of clocks. */
static void *learns_too_late(void *unused)
{
    has_returned = false;
    start_keeper();
    const unsigned a = crew_add(acquires, NULL);
    struct redlock_kept_view view;
    do {
        crew_sleep_in(NULL, 0, net.now_us + 100);
        view = redlock_view_kept(&keeper, &kept);
    } while (view.valid_ms == 0 && !has_returned);
    if (!has_returned) net_pass((view.valid_ms + 1) * MS);
    crew_join(a);
    need(acquired == REDLOCK_OK || acquired == REDLOCK_TOO_LATE, "neither acquired nor too late");
    if (acquired == REDLOCK_TOO_LATE) {
        late_count++;
        poison(&kept);
        crew_sleep_ms(5);
        need(tokens() == 0, "what was won too late is not released at once");
    }
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(acquired == REDLOCK_OK || is_poison(&kept), "memory that was given back was written to");
    return unused;
}

TEST(a_lock_that_is_over_when_its_thread_learns_of_it_is_not_acquired)
{
    late_count = 0;
    for_all_interleavings(learns_too_late, check_end);
    CHECK(late_count > 0);
}

/* ---- Two locks on one resource ---- */

static unsigned inside, entries;

static void *enters_the_door(void *context)
{
    struct redlock_kept *mine = context;
    for (unsigned i = 0; i < 2; i++) {
        if (acquire_for(mine, "door", 10000, 5000) != REDLOCK_OK) continue;
        need(++inside == 1, "two are inside");
        entries++;
        need(redlock_view_kept(&keeper, mine).status == REDLOCK_OK, "held, and not well");
        crew_sleep_ms(1);
        need(redlock_view_kept(&keeper, mine).valid_ms > 0, "held, and not valid");
        inside--;
        need(redlock_keeper_release(&keeper, mine, NULL) == REDLOCK_OK, "not released");
        poison(mine);
        crew_sleep_ms(1);
        need(is_poison(mine), "memory that was released was written to");
        redlock_kept_init(mine);
    }
    return NULL;
}

static void *two_rivals(void *unused)
{
    inside = entries = 0;
    start_keeper();
    const unsigned a = crew_add(enters_the_door, &kept), b = crew_add(enters_the_door, &other);
    crew_join(a);
    crew_join(b);
    need(entries == 4, "somebody did not get in");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(tokens() == 0, "a key is left");
    return unused;
}

TEST(two_threads_that_want_one_resource_are_never_inside_together)
{
    for (uint64_t seed = 1; seed <= 400 && tap.complaints == 0; seed += tap_sample()) {
        begin_crew(3, seed);
        TAP_CONTEXT("seed %ju", (uintmax_t)seed);
        crew.switches = (unsigned)net_below(700);
        crew.spurious = (unsigned)net_below(300);
        crew_run(two_rivals);
        CHECK_END;
    }
}

/* ---- Ending a wait ---- */

static void *acquires_for_ever(void *unused)
{
    acquired = acquire_for(&kept, "door", 10000, REDLOCK_FOREVER);
    has_returned = true;
    return unused;
}

static void *cancels(void *unused)
{
    while (!has_returned) {
        redlock_keeper_cancel(&keeper, &kept);
        crew_sleep_ms(1);
    }
    return unused;
}

static void *one_is_cancelled(void *unused)
{
    has_returned = false;
    start_keeper();
    put_rival();
    const unsigned a = crew_add(acquires_for_ever, NULL), b = crew_add(cancels, NULL);
    crew_join(a);
    crew_join(b);
    need(acquired == REDLOCK_CANCELLED, "not cancelled");
    poison(&kept);
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(is_poison(&kept), "memory that was given back was written to");
    return unused;
}

TEST(a_cancel_ends_the_acquire_of_another_thread_in_every_order)
{
    for_all_interleavings(one_is_cancelled, check_end);
}

/* The keeper's thread would sleep for long while no node answers. */
static void *one_is_cancelled_at_once(void *unused)
{
    has_returned = false;
    start_keeper();
    need(acquire_for(&other, "gate", 10000, 0) == REDLOCK_OK, "the gate is not held");
    for_all(node_hang);
    const unsigned a = crew_add(acquires_for_ever, NULL);
    crew_sleep_ms(5);
    const struct redlock_kept_view view = redlock_view_kept(&keeper, &kept);
    need(view.status == REDLOCK_PENDING && view.valid_ms == 0, "it is not under way");
    const uint64_t since = net.now_us;
    redlock_keeper_cancel(&keeper, &kept);
    crew_join(a);
    need(acquired == REDLOCK_CANCELLED && net.now_us - since < MS, "not cancelled at once");
    for_all(node_wake);
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    return unused;
}

TEST(a_cancel_needs_no_answer_of_a_node)
{
    run_once(one_is_cancelled_at_once);
}

static void *cancels_no_acquire(void *unused)
{
    start_keeper();
    redlock_keeper_cancel(&keeper, &kept);
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK, "not held");
    redlock_keeper_cancel(&keeper, &kept);
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_OK, "held, and cancelled");
    for (unsigned k = 0; k < net.node_count; k++) net.hosts[k].delay_us = 20 * MS;
    const unsigned a = crew_add(releases, NULL);
    crew_sleep_ms(5);
    redlock_keeper_cancel(&keeper, &kept);
    crew_join(a);
    need(released == REDLOCK_OK, "a release was cancelled");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    return unused;
}

TEST(a_cancel_without_an_acquire_does_nothing)
{
    run_once(cancels_no_acquire);
}

static void *is_stopped_at_once(void *unused)
{
    has_returned = false;
    start_keeper();
    need(acquire_for(&other, "gate", 10000, 0) == REDLOCK_OK, "the gate is not held");
    for_all(node_hang);
    (void)crew_add(acquires_for_ever, NULL);
    crew_sleep_ms(5);
    const uint64_t since = net.now_us;
    need(redlock_keeper_stop(&keeper, false, 0) == REDLOCK_OK, "not stopped");
    need(net.now_us - since < MS, "the stop has waited for the nodes");
    return unused;
}

TEST(a_stop_sends_away_those_that_wait_without_an_answer_of_a_node)
{
    begin_crew(3, 1);
    crew_run(is_stopped_at_once);
    CHECK_END;
    CHECK(has_returned);
    CHECK_INT(acquired, REDLOCK_CANCELLED);
}

static void *is_stopped_while_one_waits(void *unused)
{
    has_returned = false;
    start_keeper();
    put_rival();
    need(acquire_for(&other, "gate", 10000, 0) == REDLOCK_OK, "the gate is not held");
    const unsigned a = crew_add(acquires_for_ever, NULL);
    crew_sleep_ms(5);
    need(!has_returned, "it did not wait");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    poison(&other);
    crew_join(a);
    need(acquired == REDLOCK_CANCELLED, "not cancelled");
    need(tokens() == 0, "a key is left");
    return unused;
}

TEST(a_stop_sends_away_those_that_wait_and_releases_what_is_held_in_every_order)
{
    for_all_interleavings(is_stopped_while_one_waits, check_end);
}

static void *is_abandoned(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK, "not held");
    crew_sleep_ms(5);
    need(redlock_keeper_stop(&keeper, false, 1000) == REDLOCK_OK, "not stopped");
    need(redlock_valid_ms(&kept.lock) == 0, "abandoned, and held");
    poison(&kept);
    return unused;
}

TEST(a_stop_that_does_not_release_leaves_the_keys)
{
    begin_crew(3, 1);
    crew_run(is_abandoned);
    CHECK_END;
    CHECK_INT(tokens(), 3);
}

static enum redlock_status acquired_late;

static void *releases_slowly(void *unused)
{
    (void)redlock_keeper_release(&keeper, &kept, NULL);
    return unused;
}

static void *acquires_late(void *unused)
{
    crew_sleep_ms(200);
    acquired_late = acquire_for(&other, "gate", 10000, REDLOCK_FOREVER);
    return unused;
}

/* The stop waits for a release, and meanwhile somebody comes. */
static void *is_stopped_while_one_comes(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK, "not held");
    crew_sleep_ms(5);
    for_all(node_hang);
    (void)crew_add(releases_slowly, NULL);
    (void)crew_add(acquires_late, NULL);
    crew_sleep_ms(5);
    (void)redlock_keeper_stop(&keeper, true, 100);
    return unused;
}

TEST(a_keeper_that_is_being_stopped_takes_nothing_new)
{
    begin_crew(3, 1);
    crew_run(is_stopped_while_one_comes);
    CHECK_END;
    CHECK_INT(acquired_late, REDLOCK_CANCELLED);
}

/* The lock has never been in the keeper's list, which is whole after it was turned away. */
static void *acquires_soon(void *unused)
{
    crew_sleep_ms(10);
    acquired_late = acquire_for(&other, "gate", 10000, 0);
    return unused;
}

static void *is_stopped_with_another(void *unused)
{
    static struct redlock_kept third;
    start_keeper();
    redlock_kept_init(&third);
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK &&
             acquire_for(&third, "wall", 10000, 0) == REDLOCK_OK,
         "not held");
    for (unsigned k = 0; k < net.node_count; k++) net.hosts[k].delay_us = 50 * MS;
    (void)crew_add(releases_slowly, NULL);
    (void)crew_add(acquires_soon, NULL);
    crew_sleep_ms(5);
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(tokens() == 0, "a key is left");
    return unused;
}

TEST(a_lock_that_is_turned_away_leaves_the_others_to_the_stop)
{
    begin_crew(3, 1);
    crew_run(is_stopped_with_another);
    CHECK_END;
    CHECK_INT(acquired_late, REDLOCK_CANCELLED);
}

static void *releases_the_other_slowly(void *unused)
{
    (void)redlock_keeper_release(&keeper, &other, NULL);
    return unused;
}

static void *acquires_what_has_ended(void *unused)
{
    crew_sleep_ms(10);
    acquired_late = acquire_for(&kept, "door", 10000, REDLOCK_FOREVER);
    poison(&kept);
    return unused;
}

/* Its validity has ended without notice, and the keeper still has it in its list. */
static void *is_stopped_while_one_tries_anew(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 300, 0) == REDLOCK_OK &&
             acquire_for(&other, "gate", 10000, 0) == REDLOCK_OK,
         "not held");
    for_all(node_hang);
    crew_sleep_ms(350);
    need(redlock_view_kept(&keeper, &kept).valid_ms == 0, "held for longer than its TTL");
    (void)crew_add(releases_the_other_slowly, NULL);
    (void)crew_add(acquires_what_has_ended, NULL);
    crew_sleep_ms(5);
    (void)redlock_keeper_stop(&keeper, true, 100);
    need(is_poison(&kept), "the keeper wrote to memory that it had given back");
    return unused;
}

TEST(an_acquire_that_a_stop_cancels_gives_the_memory_of_a_lock_that_has_ended_back)
{
    begin_crew(3, 1);
    crew_run(is_stopped_while_one_tries_anew);
    CHECK_END;
    CHECK_INT(acquired_late, REDLOCK_CANCELLED);
}

static void *acquires_what_is_held(void *unused)
{
    crew_sleep_ms(10);
    acquired_late = acquire_for(&kept, "door", 10000, 0);
    return unused;
}

static void *is_stopped_while_one_takes_twice(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK &&
             acquire_for(&other, "gate", 10000, 0) == REDLOCK_OK,
         "not held");
    for_all(node_hang);
    (void)crew_add(releases_the_other_slowly, NULL);
    (void)crew_add(acquires_what_is_held, NULL);
    crew_sleep_ms(5);
    (void)redlock_keeper_stop(&keeper, true, 1000);
    return unused;
}

TEST(a_stop_does_not_hide_that_a_lock_is_held)
{
    begin_crew(3, 1);
    crew_run(is_stopped_while_one_takes_twice);
    CHECK_END;
    CHECK_INT(acquired_late, REDLOCK_BAD_STATE);
}

/* Node 1 is slow, and has forgotten the script, which is to be sent once more when the release has
 * long returned. */
static void *stops_with_a_debt(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK, "not held");
    crew_sleep_ms(5);
    net.hosts[1].delay_us = 100 * MS;
    model_flush_scripts(&net.hosts[1].node);
    need(redlock_keeper_release(&keeper, &kept, NULL) == REDLOCK_OK, "not released");
    need(redlock_keeper_stop(&keeper, false, 1000) == REDLOCK_OK, "not stopped");
    return unused;
}

TEST(a_stop_pays_what_is_owed_within_its_wait)
{
    begin_crew(3, 1);
    crew_run(stops_with_a_debt);
    CHECK_END;
    CHECK_INT(tokens(), 0);
}

/* Node 1 does not answer at all. */
static void *stops_with_a_debt_that_cannot_be_paid(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK, "not held");
    crew_sleep_ms(5);
    node_hang(1);
    need(redlock_keeper_release(&keeper, &kept, NULL) == REDLOCK_OK, "not released");
    const uint64_t since = net.now_us;
    need(redlock_keeper_stop(&keeper, false, 300) == REDLOCK_OK, "not stopped");
    need(taken_ms(since) == 300, "the stop has not taken the time that it was given");
    return unused;
}

TEST(a_stop_that_cannot_pay_what_is_owed_ends_after_its_wait)
{
    run_once(stops_with_a_debt_that_cannot_be_paid);
}

/* ---- Time ---- */

static void *keeps(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 1000, 0) == REDLOCK_OK, "not held");
    for (unsigned i = 0; i < 100; i++) {
        crew_sleep_ms(97);
        need(redlock_view_kept(&keeper, &kept).status == REDLOCK_OK, "not well");
        need(redlock_view_kept(&keeper, &kept).valid_ms > 300, "hardly valid");
        net.is_starved = i % 20 > 10;
    }
    for_all(node_kill);
    crew_sleep_ms(500);
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_NO_QUORUM,
         "an extension in vain is not told");
    need(redlock_view_kept(&keeper, &kept).valid_ms > 0, "lost too early");
    crew_sleep_ms(500);
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_LOST, "lost, and not told");
    need(redlock_view_kept(&keeper, &kept).valid_ms == 0, "lost, and valid");
    (void)redlock_keeper_stop(&keeper, true, 100);
    return unused;
}

TEST(a_kept_lock_is_extended_without_random_bytes_and_its_loss_is_told)
{
    run_once(keeps);
}

/* The keeper's thread does nothing meanwhile, but queries look at the clock themselves. */
static void *sleeps_too_long(void *unused)
{
    start_keeper();
    need(acquire_for(&kept, "door", 1000, 0) == REDLOCK_OK, "not held");
    net_pass(1500 * MS);
    need(redlock_view_kept(&keeper, &kept).valid_ms == 0, "valid after its end");
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_LOST, "not lost after its end");
    need(redlock_keeper_release(&keeper, &kept, NULL) == REDLOCK_LOST, "released after its end");
    (void)redlock_keeper_stop(&keeper, true, 100);
    return unused;
}

static void *reuses_the_name(void *unused)
{
    char name[] = "door";
    unsigned confirmed = 0;
    start_keeper();
    need(acquire_for(&kept, name, 3000, 0) == REDLOCK_OK, "not held");
    memset(name, 'x', 4);
    crew_sleep_ms(6000);
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_OK, "not kept");
    need(redlock_keeper_release(&keeper, &kept, &confirmed) == REDLOCK_OK && confirmed >= 2,
         "not released");
    need(redlock_keeper_stop(&keeper, false, 1000) == REDLOCK_OK && tokens() == 0, "a key is left");
    return unused;
}

TEST(the_bytes_of_a_short_name_may_be_reused_while_it_is_kept)
{
    run_once(reuses_the_name);
}

TEST(the_end_of_validity_is_told_by_the_clock_of_the_thread_that_asks)
{
    run_once(sleeps_too_long);
}

enum { MANY = REDLOCK_PARTED_MAX + 5 };

static void *stops_with_many(void *unused)
{
    static struct redlock_kept many[MANY];
    static char names[MANY][8];
    start_keeper();
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "d%u", i);
        redlock_kept_init(&many[i]);
        need(acquire_for(&many[i], names[i], 20000, 0) == REDLOCK_OK, "one of many is not held");
    }
    need(redlock_keeper_release(&keeper, &many[MANY / 2], NULL) == REDLOCK_OK,
         "one of many is not released");
    need(redlock_keeper_release(&keeper, &many[MANY - 1], NULL) == REDLOCK_OK,
         "the last is not released");
    need(redlock_keeper_release(&keeper, &many[0], NULL) == REDLOCK_OK,
         "the first is not released");
    if (net.hosts[0].delay_us > 100) for_all(node_hang);
    net.creep_us = net.hosts[0].delay_us > 101 ? 50 : 0;
    const uint64_t began = net.now_us;
    const enum redlock_status status = redlock_keeper_stop(&keeper, true, 700);
    memset(many, POISON, sizeof many);
    need((status == REDLOCK_OK) == (net.hosts[0].delay_us == 100),
         "the stop does not say what is so");
    need(taken_ms(began) <= (net.creep_us > 0 ? 750 : 700), "the stop takes too long");
    return unused;
}

/* The lock that is released last is long over, so nothing keeps others out any more, but those
 * before it are not released. */
static void *stops_in_vain(void *unused)
{
    const struct redlock_request brief = { .resource = "gate", .resource_size = 4, .ttl_ms = 500 };
    static struct redlock_kept many[REDLOCK_PARTED_MAX];
    static char names[REDLOCK_PARTED_MAX][8];
    start_keeper();
    need(redlock_keeper_acquire(&keeper, &other, &brief, 1) == REDLOCK_OK, "not held");
    crew_sleep_ms(1000);
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX; i++) {
        snprintf(names[i], sizeof names[i], "d%u", i);
        redlock_kept_init(&many[i]);
        need(acquire_for(&many[i], names[i], 20000, 0) == REDLOCK_OK, "one of many is not held");
    }
    for_all(node_hang);
    need(redlock_keeper_stop(&keeper, true, 100) == REDLOCK_NO_QUORUM,
         "the stop does not say that it was in vain");
    return unused;
}

TEST(a_stop_tells_of_any_lock_that_it_has_not_released)
{
    run_once(stops_in_vain);
}

TEST(a_stop_releases_any_number_within_its_wait)
{
    begin_crew(3, 1);
    crew_run(stops_with_many);
    CHECK_END;
    CHECK_INT(tokens(), 0);
    for (unsigned more_us = 1; more_us <= 2; more_us++) {       /* 2: each look takes time. */
        begin_crew(3, 1);
        net.hosts[0].delay_us = 100 + more_us;
        crew_run(stops_with_many);
        CHECK_END;
    }
}

/* ---- Forks ---- */

static void *forks(void *unused)
{
    unsigned confirmed = 99;
    start_keeper();
    need(acquire_for(&kept, "door", 10000, 0) == REDLOCK_OK, "not held");
    crew_sleep_ms(5);
    const unsigned sent = net.sent_count;
    net.process++;
    need(acquire_for(&other, "gate", 10000, 0) == REDLOCK_FORKED, "acquired in a child");
    need(redlock_view_kept(&keeper, &kept).status == REDLOCK_FORKED, "a status in a child");
    need(redlock_view_kept(&keeper, &kept).valid_ms == 0, "valid in a child");
    need(redlock_view_kept(&keeper, &kept).ticket == 0, "a ticket in a child");
    need(redlock_keeper_release(&keeper, &kept, &confirmed) == REDLOCK_FORKED && confirmed == 0,
         "released in a child");
    redlock_keeper_cancel(&keeper, &kept);
    crew.keeper = -1;       /* There is none in the child. */
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_FORKED, "stopped in a child");
    need(net.sent_count == sent, "a child has sent something");
    need(net.open_count == 0, "a child's descriptors are open");
    crew_go_home();
    return unused;
}

TEST(in_a_child_nothing_is_sent_and_the_stop_closes_its_copies)
{
    begin_crew(3, 1);
    crew_run(forks);
    CHECK_STR(net.breach, "");
    CHECK_INT(tokens(), 3);
}

/* ---- Random worlds ---- */

enum { WORLDS = 1500 };

static uint64_t held_count;
/* The first thread cancels the operations that the others wait for, so nothing is poisoned when
 * they return. */
static bool is_cancelling;

static void some_fault(void)
{
    const unsigned k = (unsigned)net_below(net.node_count);
    switch (net_below(6)) {
    case 0:  node_hang(k); break;
    case 1:  node_wake(k); break;
    case 2:  node_cut(k); break;
    case 3:  net.is_starved = net_below(3) == 0; break;
    case 4:  net.hosts[k].delay_us = net_below(2) == 0 ? 100 : 30000; break;
    default: for_all(node_wake); break;
    }
}

static void enter_for_a_while(struct redlock_kept *mine)
{
    need(++inside == 1, "two are inside");
    entries++;
    crew_sleep_ms(net_below(800));
    held_count += redlock_view_kept(&keeper, mine).status == REDLOCK_OK;
    /* A holder that found the lock lost is out by then, and the other may have come in at
     * the very moment. */
    inside--;
}

static void *lives(void *context)
{
    struct redlock_kept *mine = context;
    for (unsigned i = 0; i < 4; i++) {
        const enum redlock_status status =
            acquire_for(mine, "door", 20000, (uint32_t)net_below(1500));
        if (status == REDLOCK_OK) enter_for_a_while(mine);
        if (net_below(2) == 0) some_fault();
        if (status == REDLOCK_OK) (void)redlock_keeper_release(&keeper, mine, NULL);
        if (status == REDLOCK_BAD_STATE) net_break("a bad state");
        if (!is_cancelling) poison(mine);
        crew_sleep_ms(net_below(300));
        need(is_cancelling || is_poison(mine), "memory that was given back was written to");
        if (!is_cancelling) redlock_kept_init(mine);
    }
    return NULL;
}

static void *random_world(void *unused)
{
    inside = 0;
    start_keeper();
    const unsigned a = crew_add(lives, &kept), b = crew_add(lives, &other);
    for (unsigned i = 0; i < 6; i++) {
        crew_sleep_ms(net_below(400));
        if (is_cancelling) redlock_keeper_cancel(&keeper, net_below(2) == 0 ? &kept : &other);
    }
    crew_join(a);
    crew_join(b);
    for_all(node_wake);
    net.is_starved = false;
    for (unsigned k = 0; k < net.node_count; k++) net.hosts[k].delay_us = 100;
    crew_sleep_ms(4000);
    need(tokens() == 0, "a key is left");
    (void)redlock_keeper_stop(&keeper, net_below(2) == 0, (uint32_t)net_below(500));
    return unused;
}

TEST(no_random_world_breaks_what_the_keeper_promises)
{
    for (uint64_t seed = 1; seed <= WORLDS && tap.complaints == 0; seed += tap_sample()) {
        begin_crew(3, seed);
        options.engine.wake_ups = net_below(2) == 0;
        is_cancelling = net_below(2) == 0;
        TAP_CONTEXT("seed %ju", (uintmax_t)seed);
        crew.switches = (unsigned)net_below(500);
        crew.spurious = (unsigned)net_below(200);
        crew_run(random_world);
        CHECK_END;
    }
    CHECK(held_count > WORLDS / tap_sample());
}

#else

TEST(the_keeper_is_judged_where_there_are_coroutines)
{
    TAP_SKIP("no coroutines here");
}

#endif

TAP_MAIN
