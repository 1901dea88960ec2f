/* Tests redlock/reentrant.c over the scripted net, and the same calls of the keeper
 * over scripted threads.
 * An inner scope gets its promise, and nothing passes between the process and the nodes
 * because of it. */
#include "scripted_thread.h"

#include "../../../redlock/redlock_reentrant.h"

enum { ME = 1, ANOTHER = 2 };

static struct redlock_reentrant home;

static struct redlock_request request_for(const char *name, uint32_t wait_ms)
{
    struct redlock_request request;
    redlock_request_init(&request);
    request.resource = name;
    request.resource_size = strlen(name);
    request.ttl_ms = 10000;
    request.wait_ms = wait_ms;
    return request;
}

static enum redlock_status enter_home(uint64_t owner)
{
    const struct redlock_request request = request_for("door", 0);
    return redlock_enter(&client, &home, owner, &request);
}

static enum redlock_status leave_home(uint64_t owner)
{
    return redlock_leave(&client, &home, owner, NULL);
}

#define HOME(nodes)                     \
    CLIENT(nodes);                      \
    redlock_reentrant_init(&home)

static void rival_has_it(unsigned k)
{
    model_put(&net.hosts[k].node, "door", "rival", 60000, net.now_us);
}

static void rival_is_gone(unsigned k)
{
    model_flush(&net.hosts[k].node);
}

/* ---- Over a client ---- */

TEST(an_inner_scope_costs_no_byte_and_only_the_outermost_one_releases)
{
    HOME(3);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    CHECK_INT(held_on(&home.lock, "door"), 3);
    const unsigned sent = net.sent_count;
    const uint64_t valid_us = redlock_valid_us(&home.lock, net.now_us);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    unsigned confirmed = 7;
    CHECK_INT(redlock_leave(&client, &home, ME, &confirmed), REDLOCK_OK);
    CHECK_INT(confirmed, 0);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(net.sent_count, sent);
    CHECK_INT(held_on(&home.lock, "door"), 3);
    CHECK(redlock_valid_us(&home.lock, net.now_us) <= valid_us);
    CHECK_INT(redlock_leave(&client, &home, ME, &confirmed), REDLOCK_OK);
    CHECK(confirmed >= 2);
    CHECK(net.sent_count > sent);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CLOSE(1000);
    CHECK_INT(keys(), 0);
}

TEST(an_inner_scope_of_a_lock_whose_validity_is_over_is_lost_and_acquires_nothing)
{
    HOME(3);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    net.now_us += 10000 * MS;
    const unsigned sent = net.sent_count;
    for (unsigned i = 0; i < 3; i++) CHECK_INT(enter_home(ME), REDLOCK_LOST);
    CHECK_INT(keys(), 0);
    CHECK_INT(leave_home(ME), REDLOCK_LOST);
    CHECK_INT(enter_home(ME), REDLOCK_LOST);
    CHECK_INT(net.sent_count, sent);
    CHECK_INT(leave_home(ME), REDLOCK_LOST);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CHECK_INT(enter_home(ME), REDLOCK_OK);      /* Anew, since nobody is inside. */
    CHECK_INT(held_on(&home.lock, "door"), 3);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CLOSE(1000);
}

TEST(a_lock_that_an_extension_found_lost_is_lost_to_inner_scopes)
{
    HOME(3);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    for_all(node_hang);
    net.now_us += 9800 * MS;
    CHECK_INT(redlock_extend(&client, &home.lock, 10000), REDLOCK_LOST);
    const unsigned sent = net.sent_count;
    CHECK_INT(enter_home(ME), REDLOCK_LOST);
    CHECK_INT(net.sent_count, sent);
    CHECK_INT(leave_home(ME), REDLOCK_LOST);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CLOSE(0);
}

TEST(another_owner_neither_enters_nor_leaves)
{
    HOME(3);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    const struct redlock_request patient = request_for("door", REDLOCK_FOREVER);
    const uint64_t since = net.now_us;
    const unsigned sent = net.sent_count;
    CHECK_INT(redlock_enter(&client, &home, ANOTHER, &patient), REDLOCK_TAKEN);
    CHECK_INT(taken_ms(since), 0);
    CHECK_INT(leave_home(ANOTHER), REDLOCK_BAD_STATE);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ANOTHER), REDLOCK_BAD_STATE);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(held_on(&home.lock, "door"), 3);
    CHECK_INT(net.sent_count, sent);
    net.now_us += 10000 * MS;
    /* Until the one inside, which does not know yet, has left. */
    CHECK_INT(enter_home(ANOTHER), REDLOCK_TAKEN);
    CHECK_INT(leave_home(ME), REDLOCK_LOST);
    CHECK_INT(enter_home(ANOTHER), REDLOCK_OK);
    CHECK_INT(enter_home(ME), REDLOCK_TAKEN);
    CHECK_INT(leave_home(ANOTHER), REDLOCK_OK);
    CLOSE(1000);
}

TEST(nobody_is_inside_after_an_acquire_that_failed)
{
    HOME(3);
    for_all(rival_has_it);
    CHECK_INT(enter_home(ME), REDLOCK_TAKEN);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CHECK_INT(enter_home(ME), REDLOCK_TAKEN);
    for_all(rival_is_gone);
    CHECK_INT(enter_home(ANOTHER), REDLOCK_OK);
    CHECK_INT(held_on(&home.lock, "door"), 3);
    CHECK_INT(leave_home(ANOTHER), REDLOCK_OK);
    CLOSE(1000);
    CHECK_INT(keys(), 0);
}

TEST(an_inner_scope_gets_no_more_than_the_lock_has)
{
    const struct redlock_name name = { .bytes = "door", .size = 4 },
                              next = { .bytes = "gate", .size = 4 };
    const struct redlock_name last = { .bytes = "wall", .size = 4 };
    struct redlock_name both[] = { name, next }, one[] = { next }, other[] = { next, last };
    struct redlock_request request = request_for("door", 0);
    HOME(3);
    request.set = both;
    request.set_count = 2;
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_OK);
    const unsigned sent = net.sent_count;
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_OK);
    request.set = one;
    request.set_count = 1;
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_OK);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    request.set = other;
    request.set_count = 2;
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_BAD_STATE);
    request = request_for("doors", 0);
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_BAD_STATE);
    request = request_for("wall", 0);
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_BAD_STATE);
    request = request_for("door", 0);
    request.ticket = true;
    request.wall_us = 1;
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_BAD_STATE);
    for (unsigned i = 0; i < 3; i++) CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(net.sent_count, sent);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CLOSE(1000);
}

TEST(a_reader_becomes_no_writer_by_an_inner_scope)
{
    struct redlock_request reads = request_for("door", 0), writes = request_for("door", 0);
    HOME(3);
    reads.kind = &redlock_shared;
    CHECK_INT(redlock_enter(&client, &home, ME, &reads), REDLOCK_OK);
    CHECK_INT(redlock_enter(&client, &home, ME, &writes), REDLOCK_BAD_STATE);
    CHECK_INT(redlock_enter(&client, &home, ME, &reads), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(redlock_enter(&client, &home, ME, &writes), REDLOCK_OK);
    /* Nobody else reads, and that is no harm. */
    CHECK_INT(redlock_enter(&client, &home, ME, &reads), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CLOSE(1000);
}

TEST(a_permit_is_no_lock_to_an_inner_scope)
{
    struct redlock_request permit = request_for("door", 0), lock = request_for("door", 0);
    HOME(3);
    permit.kind = &redlock_permits;
    permit.permits = 4;
    CHECK_INT(redlock_enter(&client, &home, ME, &permit), REDLOCK_OK);
    const unsigned slot = redlock_view_lock(&home.lock).slot;
    CHECK(slot >= 1 && slot <= 4);
    CHECK_INT(redlock_enter(&client, &home, ME, &lock), REDLOCK_BAD_STATE);
    CHECK_INT(redlock_enter(&client, &home, ME, &permit), REDLOCK_OK);
    CHECK_INT(redlock_view_lock(&home.lock).slot, slot);
    home.lock.permit.slot = 3;
    permit.kind = &redlock_permits;
    permit.permits = 2;
    CHECK_INT(redlock_enter(&client, &home, ME, &permit), REDLOCK_BAD_STATE);
    home.lock.permit.slot = (uint8_t)slot;
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(redlock_enter(&client, &home, ME, &lock), REDLOCK_OK);
    CHECK_INT(redlock_enter(&client, &home, ME, &permit), REDLOCK_BAD_STATE);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CLOSE(1000);
}

TEST(an_inner_scope_has_the_ticket_of_the_outer_one)
{
    struct redlock_request request = request_for("door", 0);
    HOME(3);
    request.ticket = true;
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_OK);
    const uint64_t ticket = redlock_ticket(&home.lock);
    CHECK(ticket > 0);
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_OK);
    CHECK(redlock_ticket(&home.lock) == ticket);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK(redlock_ticket(&home.lock) == ticket);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CLOSE(1000);
}

TEST(an_inner_scope_that_needs_more_time_than_is_left_is_refused)
{
    struct redlock_request request = request_for("door", 0);
    HOME(3);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    net.now_us += 5000 * MS;
    request.min_validity_ms = 5000;
    const unsigned sent = net.sent_count;
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_TOO_LATE);
    CHECK_INT(net.sent_count, sent);
    request.min_validity_ms = redlock_valid_ms(&home.lock);
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_OK);
    CHECK_INT(redlock_extend(&client, &home.lock, 10000), REDLOCK_OK);
    request.min_validity_ms = 5000;
    CHECK_INT(redlock_enter(&client, &home, ME, &request), REDLOCK_OK);
    for (unsigned i = 0; i < 3; i++) CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CLOSE(1000);
}

TEST(the_depth_does_not_wrap_around)
{
    HOME(3);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    home.inside.depth = UINT32_MAX - 1;
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    CHECK_INT(enter_home(ME), REDLOCK_BAD_STATE);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    home.inside.depth = 1;
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CLOSE(1000);
}

TEST(a_release_that_cannot_begin_leaves_its_owner_inside)
{
    HOME(3);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    for_all(node_hang);
    CHECK_INT(redlock_start_extend(&client.engine, &home.lock, 10000, net.now_us), REDLOCK_OK);
    struct loop loop = { .zeros = 0 };
    CHECK_INT(redlock_start_release(&client.engine, &home.lock, net.now_us), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);       /* Another client releases it unnoticed. */
    CHECK_INT(enter_home(ANOTHER), REDLOCK_TAKEN);
    loop_until(&loop, &home.lock, net.now_us + 2000 * MS);
    CHECK_INT(enter_home(ME), REDLOCK_LOST);
    CHECK_INT(leave_home(ME), REDLOCK_LOST);
    CHECK_INT(leave_home(ME), REDLOCK_BAD_STATE);
    CLOSE(0);
}

TEST(the_child_of_a_fork_is_inside_nothing)
{
    HOME(3);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    CHECK_INT(enter_home(ME), REDLOCK_OK);
    net.process++;
    const unsigned sent = net.sent_count;
    CHECK_INT(enter_home(ME), REDLOCK_FORKED);
    CHECK_INT(leave_home(ME), REDLOCK_FORKED);
    CHECK_INT(leave_home(ME), REDLOCK_FORKED);
    CHECK_INT(net.sent_count, sent);
    net.process--;
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CHECK_INT(leave_home(ME), REDLOCK_OK);
    CLOSE(1000);
    redlock_reentrant_init(&home);
    CHECK_INT(enter_home(ME), REDLOCK_NOT_OPEN);
    CHECK_INT(leave_home(ME), REDLOCK_NOT_OPEN);
}

/* ---- Scopes ---- */

#ifdef REDLOCK_SCOPED

static unsigned depth_in_scope;

static enum redlock_status inner_function(unsigned more)
{
    const struct redlock_request request = request_for("door", 0);
    REDLOCK_SCOPED(scope, &client, &home, ME, &request);
    if (scope.status != REDLOCK_OK) return scope.status;
    depth_in_scope = home.inside.depth;
    if (more > 0) return inner_function(more - 1);
    return REDLOCK_OK;
}

TEST(a_scope_ends_where_its_block_does)
{
    HOME(3);
    CHECK_INT(inner_function(0), REDLOCK_OK);
    CHECK_INT(depth_in_scope, 1);
    CHECK_INT(home.inside.depth, 0);
    CHECK_INT(inner_function(4), REDLOCK_OK);
    CHECK_INT(depth_in_scope, 5);
    CHECK_INT(home.inside.depth, 0);
    for_all(rival_has_it);
    CHECK_INT(inner_function(4), REDLOCK_TAKEN);
    CHECK_INT(home.inside.depth, 0);
    for_all(rival_is_gone);
    const struct redlock_request request = request_for("door", 0);
    for (unsigned i = 0; i < 3; i++) {
        REDLOCK_SCOPED(scope, &client, &home, ME, &request);
        CHECK_INT(scope.status, REDLOCK_OK);
        if (i == 1) continue;
        if (i == 2) break;
    }
    CHECK_INT(home.inside.depth, 0);
    CLOSE(1000);
    CHECK_INT(keys(), 0);
}

TEST(how_a_scope_ended_is_written_where_the_caller_says)
{
    const struct redlock_request request = request_for("door", 0);
    enum redlock_status ended = REDLOCK_PENDING;
    HOME(3);
    {
        REDLOCK_SCOPED(scope, &client, &home, ME, &request);
        scope.ended = &ended;
        CHECK_INT(ended, REDLOCK_PENDING);
    }
    CHECK_INT(ended, REDLOCK_OK);
    {
        REDLOCK_SCOPED(scope, &client, &home, ME, &request);
        scope.ended = &ended;
        net.now_us += 10000 * MS;
    }
    CHECK_INT(ended, REDLOCK_LOST);
    for_all(rival_has_it);
    ended = REDLOCK_PENDING;
    {
        REDLOCK_SCOPED(scope, &client, &home, ME, &request);
        scope.ended = &ended;
        CHECK_INT(scope.status, REDLOCK_TAKEN);
    }
    CHECK_INT(ended, REDLOCK_PENDING);
    CLOSE(1000);
}

#endif

TEST(a_scope_that_was_ended_by_hand_ends_once)
{
    const struct redlock_request request = request_for("door", 0);
    HOME(3);
    struct redlock_scope scope = redlock_scope_begin(&client, &home, ME, &request);
    struct redlock_scope inner = redlock_scope_begin(&client, &home, ME, &request);
    struct redlock_scope others = redlock_scope_begin(&client, &home, ANOTHER, &request);
    CHECK_INT(scope.status, REDLOCK_OK);
    CHECK_INT(inner.status, REDLOCK_OK);
    CHECK_INT(others.status, REDLOCK_TAKEN);
    CHECK_INT(redlock_scope_end(&others), REDLOCK_BAD_STATE);
    CHECK_INT(redlock_scope_end(&inner), REDLOCK_OK);
    CHECK_INT(redlock_scope_end(&inner), REDLOCK_BAD_STATE);
    CHECK_INT(home.inside.depth, 1);
    net.process++;
    CHECK_INT(redlock_scope_end(&scope), REDLOCK_FORKED);
    net.process--;
    CHECK_INT(redlock_scope_end(&scope), REDLOCK_OK);
    CHECK_INT(home.inside.depth, 0);
    CLOSE(1000);
    CHECK_INT(keys(), 0);
}

/* ---- Over a keeper, by threads ---- */

#ifdef HAS_COROUTINES

static struct redlock_keeper keeper;
static struct redlock_reentrant_kept shared;

static void need(bool condition, const char *what)
{
    if (!condition) net_break("%s", what);
}

static enum redlock_status enter_shared(uint64_t owner)
{
    const struct redlock_request request = request_for("door", 0);
    return redlock_keeper_enter(&keeper, &shared, owner, &request, 0);
}

static enum redlock_status leave_shared(uint64_t owner)
{
    return redlock_keeper_leave(&keeper, &shared, owner, NULL);
}

static void start_keeper(void)
{
    net.connected_sessions = 0;
    need(redlock_keeper_start(&keeper, net.node_count == 1 ? "n0" : "n0,n1,n2", &options, NULL) ==
             REDLOCK_OK,
         "not started");
    redlock_reentrant_kept_init(&shared);
}

static void stop_keeper(void)
{
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    need(keys() == 0, "a key is left");
}

static void begin_crew(unsigned node_count, uint64_t seed)
{
    net_begin_world(node_count, seed);
    take_options();
    crew_begin();
}

#define CHECK_END                                   \
    CHECK_STR(net.breach, "");                      \
    CHECK_INT(net.open_count, 0);                   \
    CHECK_INT(crew.monitors, 0)

static unsigned sent_inside;

static void *goes_deep(void *unused)
{
    unsigned confirmed = 7;
    start_keeper();
    need(leave_shared(ME) == REDLOCK_BAD_STATE, "left what nobody is in");
    need(enter_shared(ME) == REDLOCK_OK, "not entered");
    crew_sleep_ms(5);
    const unsigned sent = net.sent_count;
    need(enter_shared(ME) == REDLOCK_OK && enter_shared(ME) == REDLOCK_OK, "not entered again");
    need(enter_shared(ANOTHER) == REDLOCK_TAKEN && leave_shared(ANOTHER) == REDLOCK_BAD_STATE,
         "another is inside");
    need(redlock_keeper_leave(&keeper, &shared, ME, &confirmed) == REDLOCK_OK && confirmed == 0,
         "not left");
    need(leave_shared(ME) == REDLOCK_OK, "not left");
    crew_sleep_ms(5);
    sent_inside = net.sent_count - sent;
    crew_sleep_ms(60000);       /* It is kept. */
    need(enter_shared(ME) == REDLOCK_OK && leave_shared(ME) == REDLOCK_OK, "not kept");
    need(redlock_keeper_leave(&keeper, &shared, ME, &confirmed) == REDLOCK_OK && confirmed >= 2,
         "not released");
    need(leave_shared(ME) == REDLOCK_BAD_STATE, "left twice");
    need(enter_shared(ANOTHER) == REDLOCK_OK && leave_shared(ANOTHER) == REDLOCK_OK,
         "nobody is inside, and it cannot be entered");
    stop_keeper();
    need(enter_shared(ME) == REDLOCK_NOT_OPEN && leave_shared(ME) == REDLOCK_NOT_OPEN,
         "stopped, and entered");
    return unused;
}

TEST(inner_scopes_of_a_lock_that_is_kept_cost_no_byte)
{
    begin_crew(3, 1);
    crew_run(goes_deep);
    CHECK_END;
    CHECK_INT(sent_inside, 0);
}

/* Uses the wall clock, or else the time of the caller's, which makes the ticket. */
static void *has_a_ticket(void *unused)
{
    struct redlock_request request = request_for("door", 0);
    start_keeper();
    request.ticket = true;
    const uint64_t wall_us = net_wall_us();
    need(redlock_keeper_enter(&keeper, &shared, ME, &request, 0) == REDLOCK_OK &&
             redlock_view_kept(&keeper, &shared.kept).ticket >= wall_us,
         "not entered by the keeper's own look at the wall clock");
    need(leave_shared(ME) == REDLOCK_OK, "not left");
    request.wall_us = wall_us + 5000 * MS;
    need(redlock_keeper_enter(&keeper, &shared, ME, &request, 0) == REDLOCK_OK, "not entered");
    const uint64_t ticket = redlock_view_kept(&keeper, &shared.kept).ticket;
    need(ticket >= request.wall_us, "the ticket is not by the wall clock that was given");
    need(redlock_keeper_enter(&keeper, &shared, ME, &request, 0) == REDLOCK_OK,
         "not entered again");
    need(redlock_view_kept(&keeper, &shared.kept).ticket == ticket,
         "an inner scope has another ticket");
    need(leave_shared(ME) == REDLOCK_OK && leave_shared(ME) == REDLOCK_OK, "not left");
    need(redlock_keeper_stop(&keeper, true, 1000) == REDLOCK_OK, "not stopped");
    return unused;
}

TEST(an_inner_scope_of_a_kept_lock_has_the_ticket_of_the_outer_one)
{
    begin_crew(3, 1);
    crew_run(has_a_ticket);
    CHECK_END;
}

static void *loses_it(void *unused)
{
    start_keeper();
    need(enter_shared(ME) == REDLOCK_OK, "not entered");
    need(enter_shared(ME) == REDLOCK_OK, "not entered again");
    for_all(node_hang);
    crew_sleep_ms(10000);
    need(enter_shared(ME) == REDLOCK_LOST, "lost, and entered");
    for_all(node_wake);
    crew_sleep_ms(5000);
    need(enter_shared(ME) == REDLOCK_LOST, "lost, and acquired anew");
    need(leave_shared(ME) == REDLOCK_LOST, "lost, and the inner scope does not learn");
    need(leave_shared(ME) == REDLOCK_LOST, "lost, and the outer scope does not learn");
    need(enter_shared(ME) == REDLOCK_OK, "cannot be entered anew");
    need(leave_shared(ME) == REDLOCK_OK, "not left");
    stop_keeper();
    return unused;
}

TEST(an_inner_scope_of_a_kept_lock_that_is_lost_acquires_nothing)
{
    begin_crew(3, 1);
    crew_run(loses_it);
    CHECK_END;
}

static unsigned inside_by, turns;

static void *goes_in_and_out(void *context)
{
    const uint64_t owner = *(uint64_t *)context;
    for (unsigned i = 0; i < 2;) {
        const enum redlock_status status = enter_shared(owner);
        need(status == REDLOCK_OK || status == REDLOCK_TAKEN,
             "neither inside nor told that another is");
        if (status == REDLOCK_OK) {
            need(inside_by == 0, "two owners are inside");
            inside_by++;
            need(enter_shared(owner) == REDLOCK_OK, "not entered again");
            crew_sleep_ms(1);
            need(leave_shared(owner) == REDLOCK_OK, "not left");
            need(shared.inside.depth == 1 && shared.inside.owner == owner,
                 "the depth is another's");
            inside_by--;
            turns++;
            i++;
            need(leave_shared(owner) == REDLOCK_OK, "not released");
        }
        crew_sleep_ms(1 + net_below(3));
    }
    return context;
}

static void *two_owners(void *unused)
{
    static uint64_t owners[] = { ME, ANOTHER };
    inside_by = turns = 0;
    start_keeper();
    const unsigned a = crew_add(goes_in_and_out, &owners[0]),
                   b = crew_add(goes_in_and_out, &owners[1]);
    crew_join(a);
    crew_join(b);
    need(turns == 4, "somebody did not get in");
    stop_keeper();
    return unused;
}

TEST(two_threads_are_never_inside_one_lock_together)
{
    for (uint64_t seed = 1; seed <= 300 && tap.complaints == 0; seed += tap_sample()) {
        begin_crew(3, seed);
        TAP_CONTEXT("seed %ju", (uintmax_t)seed);
        crew.switches = (unsigned)net_below(700);
        crew.spurious = (unsigned)net_below(300);
        crew_run(two_owners);
        CHECK_END;
    }
}

static void *forks_inside(void *unused)
{
    start_keeper();
    need(enter_shared(ME) == REDLOCK_OK, "not entered");
    net.process++;
    need(enter_shared(ME) == REDLOCK_FORKED && leave_shared(ME) == REDLOCK_FORKED,
         "a child is inside");
    net.process--;
    need(leave_shared(ME) == REDLOCK_OK, "not left");
    stop_keeper();
    return unused;
}

TEST(the_child_of_a_fork_is_inside_no_kept_lock)
{
    begin_crew(3, 1);
    crew_run(forks_inside);
    CHECK_END;
}

static void *fails_to_enter(void *unused)
{
    start_keeper();
    for_all(rival_has_it);
    need(enter_shared(ME) == REDLOCK_TAKEN, "entered what a rival has");
    need(leave_shared(ME) == REDLOCK_BAD_STATE, "left what nobody is in");
    for_all(rival_is_gone);
    need(enter_shared(ANOTHER) == REDLOCK_OK && leave_shared(ANOTHER) == REDLOCK_OK,
         "it cannot be entered");
    stop_keeper();
    return unused;
}

TEST(nobody_is_inside_after_an_acquire_of_the_keeper_that_failed)
{
    begin_crew(3, 1);
    crew_run(fails_to_enter);
    CHECK_END;
}

#ifdef REDLOCK_KEEPER_SCOPED

static void *has_scopes(void *unused)
{
    const struct redlock_request request = request_for("door", 0);
    enum redlock_status ended = REDLOCK_PENDING;
    start_keeper();
    {
        REDLOCK_KEEPER_SCOPED(outer, &keeper, &shared, ME, &request, 0);
        REDLOCK_KEEPER_SCOPED(inner, &keeper, &shared, ME, &request, 0);
        REDLOCK_KEEPER_SCOPED(others, &keeper, &shared, ANOTHER, &request, 0);
        outer.ended = &ended;
        need(outer.status == REDLOCK_OK && inner.status == REDLOCK_OK &&
                 others.status == REDLOCK_TAKEN,
             "not as it should be");
        need(redlock_scope_end(&inner) == REDLOCK_OK && shared.inside.depth == 1,
             "the inner scope has not ended");
    }
    need(ended == REDLOCK_OK && shared.inside.depth == 0, "the scopes have not ended");
    stop_keeper();
    return unused;
}

TEST(scopes_of_a_kept_lock_end_where_their_block_does)
{
    begin_crew(3, 1);
    crew_run(has_scopes);
    CHECK_END;
}

#endif

#else

TEST(the_keeper_is_judged_where_there_are_coroutines)
{
    TAP_SKIP("no coroutines here");
}

#endif

TAP_MAIN
