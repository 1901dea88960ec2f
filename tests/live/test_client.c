/* The blocking face against real servers. Tests its promises when all is well, logins and
 * addresses, other clients, threads and processes. Nodes in trouble are in test_nodes.c. */
#define _XOPEN_SOURCE 700

#include "clients.h"
#include "../../redlock/wire.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { NODES = 3 };

static struct server nodes[NODES];
static struct server locked;                /* Its default user has a password. */
static struct redlock_client alice, bob;
static char node_list[128];

/* ---- Won, refused, released ---- */

TEST(a_free_resource_is_won_and_its_token_stands_on_every_node)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "won", TTL_MS, 0), REDLOCK_OK);
    CHECK_INT(strlen(token_of(&lock)), REDLOCK_TOKEN_TEXT);
    CHECK_SOON(key_is_on_all(nodes, NODES, "won", token_of(&lock)));
    for (unsigned k = 0; k < NODES; k++)
        CHECK_SOON(pttl(&nodes[k], "won") > 0 && pttl(&nodes[k], "won") <= TTL_MS);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

TEST(validity_is_the_TTL_less_drift_and_the_time_it_took)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "validity", TTL_MS, 0), REDLOCK_OK);
    uint32_t left = redlock_valid_ms(&lock);
    CHECK(left <= TTL_MS - TTL_MS / 100 - 2);
    CHECK(left > TTL_MS / 2);
    nap_ms(20);
    CHECK(redlock_valid_ms(&lock) <= left - 19);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_rival_is_refused_and_told_when_the_holder_runs_out)
{
    struct redlock_lock held, wanted;
    redlock_lock_init(&held);
    redlock_lock_init(&wanted);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &held, "refused", TTL_MS, 0), REDLOCK_OK);
    CHECK_SOON(key_is_on_all(nodes, NODES, "refused", token_of(&held)));
    CHECK_STATUS(redlock_acquire(&bob, &wanted, "refused", TTL_MS, 0), REDLOCK_TAKEN);
    CHECK(redlock_view_lock(&wanted).free_in_ms > TTL_MS / 2 &&
          redlock_view_lock(&wanted).free_in_ms <= TTL_MS);
    CHECK_INT(redlock_valid_ms(&wanted), 0);
    CHECK_SOON(key_is_on_all(nodes, NODES, "refused", token_of(&held)));
    redlock_release(&alice, &held, NULL);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

TEST(a_released_resource_can_be_won_at_once_and_nothing_is_left_on_any_node)
{
    struct redlock_lock lock;
    unsigned confirmed = 0;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "released", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, &confirmed), REDLOCK_OK);
    CHECK(confirmed >= redlock_quorum(NODES) && confirmed <= NODES);
    CHECK_STATUS(redlock_acquire(&bob, &lock, "released", TTL_MS, 0), REDLOCK_OK);
    redlock_release(&bob, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "released"));
}

TEST(the_first_operation_connects_by_itself)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "first", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "first"));
}

TEST(every_attempt_has_a_token_of_its_own)
{
    struct redlock_lock lock;
    char first[REDLOCK_TOKEN_TEXT + 1];
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "token", TTL_MS, 0), REDLOCK_OK);
    redlock_token(&lock, first);
    redlock_release(&alice, &lock, NULL);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "token", TTL_MS, 0), REDLOCK_OK);
    CHECK(strcmp(first, token_of(&lock)) != 0);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_released_lock_cannot_be_released_or_extended_again)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_LOST);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "twice", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_LOST);
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_LOST);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_validity_is_asked_for_that_the_TTL_can_give)
{
    struct redlock_lock lock;
    struct redlock_request request = {
        .resource = "minimum", .resource_size = strlen("minimum"), .ttl_ms = TTL_MS,
        .min_validity_ms = TTL_MS - 50
    };
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    /* Drift alone takes 102 ms. */
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_BAD_TTL);
    request.min_validity_ms = TTL_MS / 2;
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_OK);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

/* ---- Extended, expired ---- */

TEST(an_extension_begins_the_TTL_anew_on_every_node)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "extended", 3000, 0), REDLOCK_OK);
    CHECK(redlock_valid_ms(&lock) < 3000);
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_OK);
    CHECK(redlock_valid_ms(&lock) > 3000);
    for (unsigned k = 0; k < NODES; k++) CHECK_SOON(pttl(&nodes[k], "extended") > 3000);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

TEST(an_extension_never_shortens)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "short", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, 1000), REDLOCK_OK);
    CHECK(redlock_valid_ms(&lock) > TTL_MS / 2);
    for (unsigned k = 0; k < NODES; k++) CHECK_SOON(pttl(&nodes[k], "short") > TTL_MS / 2);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

TEST(extensions_end_at_their_limit)
{
    struct redlock_lock lock;
    const struct redlock_request request = {
        .resource = "limit", .resource_size = strlen("limit"), .ttl_ms = TTL_MS,
        .extension_limit = 2
    };
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_EXTENSION_LIMIT);
    CHECK(redlock_valid_ms(&lock) > 0);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(an_expired_lock_is_not_held_not_extended_not_released_and_free_for_others)
{
    struct redlock_lock lock, next;
    unsigned confirmed = 99;
    redlock_lock_init(&lock);
    redlock_lock_init(&next);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "expired", 2000, 0), REDLOCK_OK);
    CHECK_SOON(redlock_valid_us(&lock, redlock_now_us()) == 0);
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_LOST);
    CHECK_STATUS(redlock_release(&alice, &lock, &confirmed), REDLOCK_LOST);
    CHECK_INT(confirmed, 0);
    CHECK_SOON(key_is_gone(nodes, NODES, "expired"));
    CHECK_STATUS(redlock_acquire(&bob, &next, "expired", TTL_MS, 0), REDLOCK_OK);
    redlock_release(&bob, &next, NULL);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

static void give_to_stranger(const char *key)
{
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "SET", key, "stranger", "PX", "20000");
}

TEST(a_release_never_touches_the_key_of_another)
{
    struct redlock_lock lock;
    unsigned confirmed = 99;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "cas", TTL_MS, 0), REDLOCK_OK);
    give_to_stranger("cas");
    CHECK_STATUS(redlock_release(&alice, &lock, &confirmed), REDLOCK_LOST);
    CHECK_INT(confirmed, 0);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_on_all(nodes, NODES, "cas", "stranger"));
}

TEST(an_extension_never_touches_the_key_of_another_and_says_that_it_is_taken)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "stolen", TTL_MS, 0), REDLOCK_OK);
    give_to_stranger("stolen");
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_TAKEN);
    for (unsigned k = 0; k < NODES; k++) CHECK(pttl(&nodes[k], "stolen") <= 20000);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_on_all(nodes, NODES, "stolen", "stranger"));
}

/* ---- Waiting ---- */

TEST(no_time_to_wait_means_one_attempt)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    give_to_stranger("no-wait");
    ASK(&nodes[0], "CONFIG", "RESETSTAT");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "no-wait", TTL_MS, 0), REDLOCK_TAKEN);
    CHECK_SOON(executed(&nodes[0], "set") == 1);
    redlock_close(&alice, CLOSE_MS);
    CHECK_INT(executed(&nodes[0], "set"), 1);
}

TEST(some_time_to_wait_ends_in_a_timeout_that_tells_why)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    give_to_stranger("some-wait");
    ASK(&nodes[0], "CONFIG", "RESETSTAT");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "some-wait", TTL_MS, 2000), REDLOCK_TIMEOUT);
    CHECK_STATUS(redlock_attempt_status(&lock), REDLOCK_TAKEN);
    CHECK(redlock_view_lock(&lock).free_in_ms <= 20000);
    CHECK(executed(&nodes[0], "set") > 1);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_waiting_client_gets_the_lock_when_the_holder_runs_out)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "SET", "runs-out", "stranger", "PX", "300");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "runs-out", TTL_MS, REDLOCK_FOREVER), REDLOCK_OK);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

static struct redlock_lock bobs_lock;

static void *release_a_little_later(void *unused)
{
    nap_ms(200);
    redlock_release(&bob, &bobs_lock, NULL);
    return unused;
}

TEST(a_waiting_client_gets_the_lock_when_the_holder_releases_it)
{
    struct redlock_lock lock;
    pthread_t thread;
    redlock_lock_init(&lock);
    redlock_lock_init(&bobs_lock);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire(&bob, &bobs_lock, "handed-over", TTL_MS, 0), REDLOCK_OK);
    CHECK_INT(pthread_create(&thread, NULL, release_a_little_later, NULL), 0);
    enum redlock_status status = redlock_acquire(&alice, &lock, "handed-over", TTL_MS, TTL_MS / 2);
    pthread_join(thread, NULL);
    CHECK_STATUS(status, REDLOCK_OK);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

static void ignore_alarm(int number) { (void)number; }

/* Signals that arrive faster than the wait must neither cut it short nor stretch it. */
static void set_alarms_every_us(long us)
{
    struct sigaction action = { .sa_handler = ignore_alarm };   /* Without SA_RESTART. */
    struct itimerval timer = { { 0, us }, { 0, us } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

TEST(a_storm_of_signals_neither_cuts_nor_stretches_the_wait)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    give_to_stranger("alarms");
    uint64_t begun_at = clock_ms();
    set_alarms_every_us(1000);
    enum redlock_status status = redlock_acquire(&alice, &lock, "alarms", TTL_MS, 1000);
    set_alarms_every_us(0);
    uint64_t took_ms = clock_ms() - begun_at;
    CHECK_STATUS(status, REDLOCK_TIMEOUT);
    CHECK(took_ms > 500 && took_ms < 3000);
    redlock_close(&alice, CLOSE_MS);
}

static void count_wait(void *count, bool is_before)
{
    *(unsigned *)count += is_before;
}

/* poll() takes no more descriptors than a process may open, whatever it has open. */
TEST(a_client_that_may_open_no_more_descriptors_still_gets_locks_and_does_not_spin)
{
    enum { WAIT_MS = 500 };
    struct redlock_options options = throw_away_options();
    struct redlock_lock held, wanted;
    struct rlimit before;
    unsigned wait_count = 0;
    redlock_lock_init(&held);
    redlock_lock_init(&wanted);
    options.around_wait = count_wait;
    options.wait_context = &wait_count;
    CHECK_STATUS(redlock_open(&alice, node_list, &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    struct rlimit few = { .rlim_cur = 3, .rlim_max = before.rlim_max };
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    const enum redlock_status won = redlock_acquire(&alice, &held, "crowded", TTL_MS, 0);
    const unsigned before_wait = wait_count;
    const enum redlock_status refused =
        redlock_acquire(&alice, &wanted, "crowded", TTL_MS, WAIT_MS);
    const unsigned waits = wait_count - before_wait;
    redlock_release(&alice, &held, NULL);
    redlock_close(&alice, CLOSE_MS);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_STATUS(won, REDLOCK_OK);
    CHECK_STATUS(refused, REDLOCK_TIMEOUT);
    CHECK(waits > 1 && waits < 2 * WAIT_MS);
    CHECK_SOON(key_is_gone(nodes, NODES, "crowded"));
}

/* ---- Names and limits ---- */

TEST(a_resource_may_have_any_bytes)
{
    static const char name[] = "a\0b\r\n$5\r\n*\xff";
    struct redlock_lock lock;
    const struct redlock_request request = {
        .resource = name, .resource_size = sizeof name - 1, .ttl_ms = TTL_MS
    };
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_SOON(strcmp(ASK(&nodes[k], "EVAL",
                              "return redis.call('GET', 'a\\0b\\r\\n$5\\r\\n*\\255')", "0"),
                          token_of(&lock)) == 0);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_resource_has_1_to_512_bytes)
{
    static char name[REDLOCK_RESOURCE_MAX + 1];
    struct redlock_lock lock;
    struct redlock_request request = {
        .resource = name, .resource_size = sizeof name, .ttl_ms = TTL_MS
    };
    memset(name, 'n', sizeof name);
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_BAD_RESOURCE);
    request.resource_size = 0;
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_BAD_RESOURCE);
    request.resource_size = REDLOCK_RESOURCE_MAX;
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_TTL_that_cannot_work_is_refused)
{
    struct redlock_lock lock;
    struct redlock_options options = throw_away_options();
    redlock_lock_init(&lock);
    options.engine.guard_ms = 5000;
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_open(&bob, node_list, &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "ttl", 0, 0), REDLOCK_BAD_TTL);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "ttl", 1, 0), REDLOCK_BAD_TTL);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "ttl", (uint32_t)REDLOCK_TTL_MS_MAX + 1, 0),
                 REDLOCK_BAD_TTL);
    CHECK_STATUS(redlock_acquire(&bob, &lock, "ttl", 5001, 0), REDLOCK_TTL_OVER_GUARD);
    CHECK_SOON(key_is_gone(nodes, NODES, "ttl"));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "ttl", REDLOCK_TTL_MS_MAX, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

/* ---- Addresses ---- */

/* Runs in a process of its own, with three locks in flight, of which one is made new. */
static void make_new_in_flight(const char *list, uint32_t wait_ms, unsigned which)
{
    struct redlock_lock locks[3];
    struct redlock_request request;
    static struct redlock_client own;
    struct redlock_options options = throw_away_options();
    uint64_t until = clock_ms() + TTL_MS;

    redlock_request_init(&request);
    request.resource = "in flight";
    request.resource_size = strlen(request.resource);
    request.ttl_ms = TTL_MS;
    request.wait_ms = wait_ms;
    if (redlock_open(&own, list, &options, NULL) != REDLOCK_OK) _exit(1);
    if (list == node_list) (void)redlock_connect(&own, TTL_MS);
    for (unsigned i = 0; i < 3; i++) {
        redlock_lock_init(&locks[i]);
        if (redlock_begin_acquire(&own, &locks[i], &request) != REDLOCK_OK) _exit(2);
    }
    (void)redlock_step(&own);
    redlock_lock_init(&locks[which]);
    if (redlock_begin_acquire(&own, &locks[which], &request) != REDLOCK_OK) _exit(4);
    while (clock_ms() < until) (void)redlock_run_for(&own, NULL, 10);
    _exit(3);
}

/* It neither goes on nor hangs, see redlock_lock_init. */
TEST(a_lock_that_is_made_new_while_it_is_in_use_ends_the_program)
{
    static const uint32_t waits[] = { 0, TTL_MS };
    const char *lists[] = { node_list, "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3" };

    for (unsigned i = 0; i < 2 * 2 * 3; i++) {
        pid_t child = process_fork();
        if (child == 0) {
            alarm(30);
            make_new_in_flight(lists[i / 6], waits[i / 3 % 2], i % 3);
        }
        int status = process_wait(child);
        TAP_CHECK(status == 128 + SIGILL || status == 128 + SIGTRAP,
                  "lock %u of 3, a wait of %u ms, %s: it ends with %d", i % 3,
                  (unsigned)waits[i / 3 % 2], lists[i / 6], status);
    }
}

TEST(a_bad_address_is_named_with_its_place_in_the_list)
{
    static const struct {
        const char *list;
        unsigned node;
        size_t at;
        const char *part;
    } cases[] = {
        { "127.0.0.1:70000", 0, 10, "65535" },
        { "127.0.0.1,127.0.0.1:7x", 1, 21, "port" },
        { "127.0.0.1:6379 127.0.0.1:6380 127.0.0.256", 2, 30, "IPv4" },
        { "a,b,redis://u:hush@h:1/x", 2, 23, "database" },
        { "a,rediss://:hush@h", 1, 2, "TLS" },
        { "unix:relative", 0, 5, "'/'" },
        { "::1", 0, 1, "brackets" },
        { "a,http://b", 1, 2, "scheme" },
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct redlock_mistake mistake = { .node = 99 };
        /* There it is good. */
        if (servers_speak_tls() && strstr(cases[i].list, "rediss")) continue;
        TAP_CONTEXT("%s", cases[i].list);
        CHECK_STATUS(redlock_open(&alice, cases[i].list, NULL, &mistake), REDLOCK_BAD_ADDRESS);
        CHECK_INT(mistake.node, cases[i].node);
        CHECK_INT(mistake.at, cases[i].at);
        CHECK(strstr(mistake.text, cases[i].part));
        CHECK(!strstr(mistake.text, "hush"));
    }
}

TEST(what_is_wrong_with_an_address_need_not_be_told_and_is_cut_when_it_is_long)
{
    struct redlock_mistake mistake;
    char list[2 * sizeof mistake.text + 8] = "unix:";
    CHECK_STATUS(redlock_open(&alice, "a,127.0.0.1:70000", NULL, NULL), REDLOCK_BAD_ADDRESS);
    memset(list + 5, 'x', sizeof list - 6);
    memset(&mistake, 'x', sizeof mistake);
    CHECK_STATUS(redlock_open(&alice, list, NULL, &mistake), REDLOCK_BAD_ADDRESS);
    CHECK(memchr(mistake.text, '\0', sizeof mistake.text) != NULL);
}

TEST(the_nodes_of_a_list_are_parted_by_commas_and_white_space_of_any_kind)
{
    char list[128];
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    snprintf(list, sizeof list, "\r\n\t127.0.0.1:%d,\n\t 127.0.0.1:%d\r\n127.0.0.1:%d\n",
             nodes[0].port, nodes[1].port, nodes[2].port);
    CHECK(join(&alice, list));
    CHECK_INT(alice.engine.node_count, 3);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "parted", TTL_MS, 0), REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++) CHECK(key_is(&nodes[k], "parted", token_of(&lock)));
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_list_has_1_to_15_nodes)
{
    CHECK_STATUS(redlock_open(&alice, "", NULL, NULL), REDLOCK_BAD_NODE_COUNT);
    CHECK_STATUS(redlock_open(&alice, " , ", NULL, NULL), REDLOCK_BAD_ADDRESS);
    CHECK_STATUS(redlock_open(&alice, "h,h,h,h,h,h,h,h,h,h,h,h,h,h,h,h", NULL, NULL),
                 REDLOCK_BAD_NODE_COUNT);
}

/* A part of a name has at most 63 bytes, so that no resolver has to ask anybody. */
#define NO_NAME "an-impossible-name-of-more-than-sixty-three-bytes-between-its-two-dots.example"

TEST(a_name_that_cannot_be_resolved_costs_one_vote)
{
    char list[256];
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    snprintf(list, sizeof list, "127.0.0.1:%d,%s,127.0.0.1:%d", nodes[0].port, NO_NAME,
             nodes[1].port);
    CHECK(open_client(&alice, list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "one-name", TTL_MS, 0), REDLOCK_OK);
    for (unsigned i = 0; i < 500 && redlock_vote_of(&lock, 1) == REDLOCK_VOTE_PENDING; i++)
        (void)redlock_run_for(&alice, NULL, 10);
    CHECK_INT(redlock_vote_of(&lock, 1), REDLOCK_VOTE_NOT_ASKED);
    CHECK_INT(trouble(&alice, 1), REDLOCK_TROUBLE_UNREACHABLE);
    CHECK(strcmp(words(&alice, 1), "ok") != 0);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(names_that_leave_no_quorum_are_no_error_but_give_no_vote)
{
    char list[256];
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    snprintf(list, sizeof list, "127.0.0.1:%d,%s,%s", nodes[0].port, NO_NAME, NO_NAME);
    CHECK(open_client(&alice, list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "one-name", TTL_MS, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(trouble(&alice, 1), REDLOCK_TROUBLE_UNREACHABLE);
    redlock_close(&alice, CLOSE_MS);
}

/* Acquires and releases through one node at this address. */
static void check_node_works(const char *address)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    TAP_CONTEXT("%s", address);
    CHECK(open_client(&alice, address));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "one", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

/* The only node there is has no vote, and the library says why. */
static void check_node_is_named(const char *address, enum redlock_trouble expected,
                                const char *part)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    TAP_CONTEXT("%s", address);
    CHECK(open_client(&alice, address));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "one", TTL_MS, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(trouble(&alice, 0), expected);
    CHECK_WORDS(&alice, 0, part);
    CHECK(!strstr(words(&alice, 0), "guessed"));
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_unix_socket_is_a_node)
{
    char address[160];
    snprintf(address, sizeof address, "unix:%s", nodes[0].socket);
    check_node_works(address);
    snprintf(address, sizeof address, "redis+unix://%s", nodes[0].socket);
    check_node_works(address);
}

TEST(a_name_is_a_node)
{
    char address[64];
    snprintf(address, sizeof address, "localhost:%d", nodes[0].port);
    check_node_works(address);
}

TEST(IPv6_is_spoken)
{
    struct server v6;
    char address[64];
    if (!servers_have_ipv6()) TAP_SKIP("this machine has no ::1");
    servers_start(&v6, 1, "bind ::1\n");
    snprintf(address, sizeof address, "[::1]:%d", v6.port);
    check_node_works(address);
    servers_end(&v6, 1);
}

TEST(a_name_leads_to_its_node)
{
    char address[64];
    struct addrinfo *found;
    if (getaddrinfo("localhost", NULL, NULL, &found) != 0)
        TAP_SKIP("localhost has no address here");
    freeaddrinfo(found);
    snprintf(address, sizeof address, "localhost:%d", nodes[0].port);
    check_node_works(address);
}

TEST(the_database_is_the_one_in_the_address)
{
    char address[64];
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    snprintf(address, sizeof address, "redis://127.0.0.1:%d/3", nodes[0].port);
    CHECK(open_client(&alice, address));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "database", TTL_MS, 0), REDLOCK_OK);
    CHECK_STR(ASK(&nodes[0], "GET", "database"), "(nil)");
    CHECK_STR(ASK(&nodes[0], "EVAL", "redis.call('SELECT', 3) return redis.call('GET', KEYS[1])",
                  "1", "database"),
              token_of(&lock));
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_database_that_the_server_does_not_have_is_named)
{
    char address[64];
    snprintf(address, sizeof address, "redis://127.0.0.1:%d/9999", nodes[0].port);
    check_node_is_named(address, REDLOCK_TROUBLE_OTHER_ERROR, "DB index");
}

/* ---- Passwords and ACLs ---- */

TEST(without_the_password_there_is_no_vote_and_the_reason_is_named)
{
    check_node_is_named(servers_list(&locked, 1), REDLOCK_TROUBLE_NOAUTH, "NOAUTH");
}

TEST(with_a_wrong_password_there_is_no_vote_and_the_reason_is_named)
{
    char address[64];
    snprintf(address, sizeof address, "redis://:guessed@127.0.0.1:%d", locked.port);
    check_node_is_named(address, REDLOCK_TROUBLE_WRONGPASS, "WRONGPASS");
}

TEST(a_login_in_the_address_opens_the_node)
{
    char address[160];
    snprintf(address, sizeof address, "redis://:sesame@127.0.0.1:%d", locked.port);
    check_node_works(address);
    snprintf(address, sizeof address, "redis://worker:h%%40sh%%2C%%25@127.0.0.1:%d/0", locked.port);
    check_node_works(address);
    snprintf(address, sizeof address, "redis+unix://worker:h%%40sh%%2C%%25@%s?db=2", locked.socket);
    check_node_works(address);
}

TEST(a_node_is_named_without_its_login)
{
    char address[160], expected[64];
    snprintf(address, sizeof address, "redis://worker:hush@127.0.0.1:%d/2 unix:%s", locked.port,
             nodes[0].socket);
    CHECK(open_client(&alice, address));
    snprintf(expected, sizeof expected, "127.0.0.1:%d", locked.port);
    CHECK_STR(redlock_node_address(&alice, 0), expected);
    snprintf(address, sizeof address, "unix:%s", nodes[0].socket);
    CHECK_STR(redlock_node_address(&alice, 1), address);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_login_in_the_options_is_for_nodes_whose_address_has_none)
{
    struct redlock_lock lock;
    struct redlock_options options = throw_away_options();
    redlock_lock_init(&lock);
    options.password = "sesame";
    CHECK_STATUS(redlock_open(&alice, servers_list(&locked, 1), &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "one", TTL_MS, 0), REDLOCK_OK);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
    options.user = "worker";
    options.password = "h@sh,%";
    CHECK_STATUS(redlock_open(&alice, servers_list(&locked, 1), &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "one", TTL_MS, 0), REDLOCK_OK);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_password_for_a_server_that_has_none_is_named)
{
    char address[64];
    snprintf(address, sizeof address, "redis://:sesame@127.0.0.1:%d", nodes[0].port);
    check_node_is_named(address, REDLOCK_TROUBLE_OTHER_ERROR, "password");
}

/* The rights that a user of the server needs, on keys ~lock:* alone, for everything redlock does.
 * Commands that the scripts call are checked like those of the user. (CLIENT SETNAME is tried and
 * may be refused; AUTH needs no rule.) */
static const char *const rules[] = {
    /* Is it a server of its own, and since when? Without them no vote, or trust_unknown. */
    "+info",
    "+set",                     /* Acquire. */
    "+pttl",                    /* When will the holder run out? The extend script needs it, too. */
    "+eval",                    /* Release and extend. Without it no vote. */
    "+get", "+del", "+pexpire", /* Commands of the scripts. */
    "+getrange",                /* Status alone. */
    "+select",                  /* Database other than 0 alone. */
};

enum { RULES = sizeof rules / sizeof *rules };

/* Makes the user anew, with all rules but one. */
static void allow_all_but(const char *missing)
{
    const char *words[RULES + 12] = {
        "ACL", "SETUSER", "least", "reset", "on", ">secret", "~lock:*"
    };
    unsigned count = 7;
    for (unsigned i = 0; i < RULES; i++)
        if (missing == NULL || strcmp(rules[i], missing) != 0) words[count++] = rules[i];
    if (strcmp(server_ask(&locked, words), "OK") != 0) bail_out("ACL SETUSER failed");
}

static const char *least_address(unsigned database)
{
    static char address[96];
    snprintf(address, sizeof address, "redis://least:secret@127.0.0.1:%d/%u", locked.port,
             database);
    return address;
}

TEST(nine_ACL_rules_are_enough_for_everything)
{
    struct redlock_lock lock;
    struct redlock_sight sight;
    redlock_lock_init(&lock);
    allow_all_but(NULL);
    CHECK(open_client(&alice, least_address(1)));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "lock:least", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_inspect(&alice, "lock:least", &sight), REDLOCK_OK);
    CHECK(sight.seen && sight.exists && sight.ttl_ms > TTL_MS);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    CHECK(strstr(ASK(&locked, "ACL", "DRYRUN", "least", "SCRIPT", "LOAD", "return 1"),
                 "no permissions"));
    ASK(&locked, "SCRIPT", "FLUSH");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "lock:least", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

/* How far a user comes without one of the rules. */
enum { NOT_WON, NOT_TOLD, NOT_EXTENDED, NOT_SEEN, NOT_RELEASED, ALL_DONE };

static int come_far_without(const char *missing, unsigned database)
{
    static struct redlock_lock lock, rival;
    static struct redlock_sight sight;
    int came = NOT_WON;
    redlock_lock_init(&lock);
    redlock_lock_init(&rival);
    ASK(&locked, "FLUSHALL");
    ASK(&locked, "SCRIPT", "FLUSH");
    allow_all_but(missing);
    if (!open_client(&alice, least_address(database))) return NOT_WON;
    if (redlock_acquire(&alice, &lock, "lock:least", TTL_MS, 0) == REDLOCK_OK) {
        came = NOT_TOLD;
        if (redlock_acquire(&alice, &rival, "lock:least", TTL_MS, 0) == REDLOCK_TAKEN
            && redlock_view_lock(&rival).free_in_ms <= TTL_MS)
            came = NOT_EXTENDED;
        if (came == NOT_EXTENDED && redlock_extend(&alice, &lock, 2 * TTL_MS) == REDLOCK_OK)
            came = NOT_SEEN;
        if (came == NOT_SEEN && redlock_inspect(&alice, "lock:least", &sight) == REDLOCK_OK &&
            sight.is_readable)
            came = NOT_RELEASED;
        unsigned confirmed = 0;
        redlock_release(&alice, &lock, &confirmed);
        if (came == NOT_RELEASED && confirmed == 1) came = ALL_DONE;
    }
    redlock_close(&alice, 0);
    return came;
}

TEST(each_of_the_ACL_rules_is_needed)
{
    static const struct {
        const char *missing;
        int comes;
    } cases[] = {
        { NULL, ALL_DONE }, { "+info", NOT_WON }, { "+set", NOT_WON }, { "+select", NOT_WON },
        { "+pttl", NOT_TOLD }, { "+eval", NOT_WON }, { "+get", NOT_EXTENDED },
        { "+pexpire", NOT_EXTENDED }, { "+getrange", NOT_SEEN }, { "+del", NOT_RELEASED },
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAP_CONTEXT("%s missing", cases[i].missing ? cases[i].missing : "nothing");
        CHECK_INT(come_far_without(cases[i].missing, 1), cases[i].comes);
    }
}

static void check_needs_trust(const char *missing)
{
    struct redlock_lock lock;
    struct redlock_options options = throw_away_options();
    redlock_lock_init(&lock);
    TAP_CONTEXT("%s missing", missing);
    allow_all_but(missing);
    CHECK(open_client(&alice, least_address(0)));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "lock:trust", TTL_MS, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(trouble(&alice, 0), REDLOCK_TROUBLE_NOPERM);
    CHECK_WORDS(&alice, 0, missing + 1);
    redlock_close(&alice, CLOSE_MS);
    options.engine.trust_unknown = true;
    CHECK_STATUS(redlock_open(&alice, least_address(0), &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "lock:trust", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_node_that_refuses_INFO_votes_only_when_trusted)
{
    check_needs_trust("+info");
}

TEST(a_key_outside_the_users_pattern_is_no_grant)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    allow_all_but(NULL);
    CHECK(open_client(&alice, least_address(0)));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "other:key", TTL_MS, 0), REDLOCK_NO_QUORUM);
    CHECK_WORDS(&alice, 0, "NOPERM");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "lock:key", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

/* ---- Scripts and connections that go away ---- */

static void check_sha1(const char *script, const char *sha1)
{
    CHECK_STR(ASK(&nodes[0], "SCRIPT", "LOAD", script), sha1);
}

TEST(the_SHA_1_constants_are_what_the_server_says)
{
    check_sha1(WIRE_RELEASE_SCRIPT, WIRE_RELEASE_SHA1);
    check_sha1(WIRE_EXTEND_SCRIPT, WIRE_EXTEND_SHA1);
    check_sha1(WIRE_RELEASE_ONE_SCRIPT, WIRE_RELEASE_ONE_SHA1);
    check_sha1(WIRE_EXTEND_ONE_SCRIPT, WIRE_EXTEND_ONE_SHA1);
    check_sha1(WIRE_ACQUIRE_SCRIPT, WIRE_ACQUIRE_SHA1);
    check_sha1(WIRE_RESTORE_SCRIPT, WIRE_RESTORE_SHA1);
    check_sha1(WIRE_WAIT_SCRIPT, WIRE_WAIT_SHA1);
}

/* The client does its work for a moment, and so on until the key is on all nodes. */
static bool is_back_on_all(const char *resource, const char *token)
{
    bool is_there = false;
    for (unsigned i = 0; i < 50 && !is_there; i++) {
        if (redlock_run_for(&alice, NULL, 100) != REDLOCK_OK) return false;
        is_there = key_is_on_all(nodes, NODES, resource, token);
    }
    return is_there;
}

/* One after the other, more of them than may be lost at once. */
TEST(a_lock_with_a_ticket_gets_its_key_back_from_each_node_that_has_lost_the_key_alone)
{
    const struct redlock_request request = {
        .resource = "led", .resource_size = 3, .ttl_ms = TTL_MS, .ticket = true
    };
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_OK);
    CHECK(is_back_on_all("led", token_of(&lock)));
    for (unsigned k = 0; k < NODES; k++) {
        char ticket[32];
        snprintf(ticket, sizeof ticket, "%s", ASK(&nodes[k], "GET", "led#ticket"));
        CHECK_STR(ASK(&nodes[k], "DEL", "led"), "1");
        CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_OK);
        CHECK(is_back_on_all("led", token_of(&lock)));
        CHECK(pttl(&nodes[k], "led") > 0);
        CHECK_STR(ASK(&nodes[k], "GET", "led#ticket"), ticket);
    }
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "led"));
}

TEST(after_SCRIPT_FLUSH_extend_and_release_still_work_in_the_same_round)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "flushed", TTL_MS, 0), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "SCRIPT", "FLUSH");
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    unsigned extended = 0;
    for (unsigned k = 0; k < NODES; k++) extended += pttl(&nodes[k], "flushed") > TTL_MS;
    CHECK(extended >= redlock_quorum(NODES));
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "SCRIPT", "FLUSH");
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "flushed"));
}

static void kill_connections(void)
{
    for (unsigned k = 0; k < NODES; k++)
        ASK(&nodes[k], "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
}

TEST(after_CLIENT_KILL_the_client_reconnects_and_the_lock_is_still_its_own)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "killed", TTL_MS, 0), REDLOCK_OK);
    kill_connections();
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    kill_connections();
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "killed"));
}

TEST(a_release_into_killed_connections_is_owed_and_paid)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "owed", TTL_MS, 0), REDLOCK_OK);
    kill_connections();
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "owed"));
}

/* The new connection takes a second, and until then the queue of the server, which is
 * frozen, is full. */
TEST(a_client_that_is_closed_waits_for_a_new_connection_to_pay_what_it_owes)
{
    enum { FILLERS = 2 };
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct server slow;
    struct redlock_lock lock;
    int fillers[FILLERS];
    redlock_lock_init(&lock);
    servers_start(&slow, 1, "tcp-backlog 1\n");
    address.sin_port = htons(slow.port);
    CHECK(open_hasty_client(&alice, servers_list(&slow, 1), PATIENCE_MS));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "owed", TTL_MS, 0), REDLOCK_OK);
    ASK(&slow, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    server_freeze(&slow);
    for (unsigned i = 0; i < FILLERS; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM, 0);
        fcntl(fillers[i], F_SETFL, O_NONBLOCK);
        (void)connect(fillers[i], (struct sockaddr *)&address, sizeof address);
    }
    CHECK_STATUS(redlock_start_release(&alice.engine, &lock, redlock_now_us()), REDLOCK_OK);
    redlock_cancel(&alice.engine, &lock, redlock_now_us());
    redlock_part(&alice, &lock);
    CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
    CHECK_INT(redlock_events(&alice, 0), REDLOCK_WRITE);
    server_thaw(&slow);
    redlock_close(&alice, PATIENCE_MS);
    CHECK(key_is_gone(&slow, 1, "owed"));
    for (unsigned i = 0; i < FILLERS; i++) close(fillers[i]);
    servers_end(&slow, 1);
}

/* A node that would not release is asked again a second later; but redlock_close() does not
 * wait so long. */
TEST(s5_a_client_that_is_closed_pays_what_was_put_off)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "put off", TTL_MS, 0), REDLOCK_OK);
    CHECK_SOON(redlock_step(&alice) == REDLOCK_OK && redlock_view_lock(&lock).confirmed == NODES);
    CHECK_STR(ASK(&nodes[2], "ACL", "SETUSER", "default", "-evalsha", "-eval"), "OK");
    enum redlock_status status = redlock_release(&alice, &lock, NULL);
    (void)redlock_run_for(&alice, NULL, 200);
    CHECK_STR(ASK(&nodes[2], "ACL", "SETUSER", "default", "+evalsha", "+eval"), "OK");
    redlock_close(&alice, CLOSE_MS);
    CHECK_STATUS(status, REDLOCK_OK);
    CHECK(key_is_gone(nodes, NODES, "put off"));
}

/* S5: a debt there may be owed for good. */
TEST(neither_release_nor_close_waits_for_a_node_that_is_away)
{
    enum { FOR_EVER_MS = 60000 };
    struct server own[NODES];
    struct redlock_lock locks[2], *both[2] = { &locks[0], &locks[1] };
    servers_start(own, NODES, "");
    CHECK(join(&alice, servers_list(own, NODES)));
    for (unsigned i = 0; i < 2; i++) {
        redlock_lock_init(&locks[i]);
        CHECK_STATUS(redlock_acquire(&alice, &locks[i], i == 0 ? "one" : "two", TTL_MS, 0),
                     REDLOCK_OK);
    }
    server_crash(&own[2]);
    uint64_t begun_at = clock_ms();
    CHECK_STATUS(redlock_release_all(&alice, both, 2, FOR_EVER_MS), REDLOCK_OK);
    redlock_close(&alice, FOR_EVER_MS);
    CHECK(clock_ms() - begun_at < FOR_EVER_MS / 2);
    CHECK(key_is_gone(own, 2, "one") && key_is_gone(own, 2, "two"));
    servers_end(own, 2);
}

/* A process that slept finds the vote that was missing before the deadline that it was meant for,
 * however late it is. */
TEST(what_has_come_counts_before_the_time_that_has_passed)
{
    enum { TIMEOUT_MS = 3000 };
    struct redlock_request request = { .resource = "slept", .resource_size = 5, .ttl_ms = TTL_MS };
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(open_hasty_client(&alice, node_list, TIMEOUT_MS));
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    server_freeze(&nodes[1]);
    server_freeze(&nodes[2]);
    enum redlock_status begun =
        redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us());
    while (redlock_step(&alice) == REDLOCK_OK && redlock_view_lock(&lock).confirmed == 0 &&
           redlock_lock_status(&lock) == REDLOCK_PENDING) nap_ms(1);
    const unsigned confirmed = redlock_view_lock(&lock).confirmed;
    server_thaw(&nodes[1]);
    server_thaw(&nodes[2]);
    CHECK_STATUS(begun, REDLOCK_OK);
    CHECK_INT(confirmed, 1);
    CHECK_SOON(!key_is_gone(nodes + 1, 1, "slept") && !key_is_gone(nodes + 2, 1, "slept"));
    nap_ms(TIMEOUT_MS);
    CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
    CHECK_STATUS(redlock_lock_status(&lock), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(an_acquire_into_killed_connections_that_may_wait_succeeds)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    kill_connections();
    CHECK_STATUS(redlock_acquire(&alice, &lock, "again", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(connecting_ahead_tells_whether_a_quorum_has_a_vote)
{
    char list[96];
    CHECK(join(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++) CHECK(votes(&alice, k));
    CHECK_INT(alice.engine.node_count, NODES);
    redlock_close(&alice, CLOSE_MS);
    snprintf(list, sizeof list, "127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", nodes[0].port,
             refused_port(), refused_port());
    CHECK(open_client(&alice, list));
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_NO_QUORUM);
    redlock_close(&alice, CLOSE_MS);
}

TEST(connecting_ahead_ends_in_its_time_where_nodes_hang)
{
    CHECK(open_client(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++) server_freeze(&nodes[k]);
    uint64_t begun_at = clock_ms();
    enum redlock_status status = redlock_connect(&alice, 300);
    uint64_t took_ms = clock_ms() - begun_at;
    for (unsigned k = 0; k < NODES; k++) server_thaw(&nodes[k]);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);
    CHECK(took_ms >= 300 && took_ms < PATIENCE_MS);
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

/* ---- Other clients ---- */

TEST(a_plain_SET_of_another_client_is_respected_and_ours_by_it)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++)
        CHECK_STR(ASK(&nodes[k], "SET", "plain", "theirs", "NX", "PX", "5000"), "OK");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "plain", TTL_MS, 0), REDLOCK_TAKEN);
    CHECK(key_is_on_all(nodes, NODES, "plain", "theirs"));
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "DEL", "plain");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "plain", TTL_MS, 0), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_SOON(strcmp(ASK(&nodes[k], "SET", "plain", "theirs", "NX", "PX", "5000"), "(nil)") ==
                   0);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_split_of_two_rivals_leaves_no_winner_and_nothing_behind)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    ASK(&nodes[0], "SET", "split", "theirs", "PX", "5000");
    ASK(&nodes[1], "SET", "split", "theirs", "PX", "5000");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "split", TTL_MS, 0), REDLOCK_TAKEN);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(&nodes[2], 1, "split"));
    CHECK(key_is_on_all(nodes, 2, "split", "theirs"));
}

TEST(a_minority_of_foreign_keys_does_not_keep_us_out)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    ASK(&nodes[0], "SET", "minority", "theirs", "PX", "5000");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "minority", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK_STR(ASK(&nodes[0], "GET", "minority"), "theirs");
}

TEST(a_key_without_a_TTL_is_taken_for_ever)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "SET", "for-ever", "data");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "for-ever", TTL_MS, 0), REDLOCK_TAKEN);
    CHECK_INT(redlock_view_lock(&lock).free_in_ms, REDLOCK_FOREVER);
    CHECK(key_is_on_all(nodes, NODES, "for-ever", "data"));
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_list_in_place_of_a_lock_is_taken_for_ever_and_inspect_says_what_it_is)
{
    struct redlock_lock lock;
    struct redlock_sight sights[NODES];
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "RPUSH", "list", "a", "b");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "list", TTL_MS, 0), REDLOCK_TAKEN);
    CHECK_INT(redlock_view_lock(&lock).free_in_ms, REDLOCK_FOREVER);
    CHECK_STATUS(redlock_inspect(&alice, "list", sights), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++)
        CHECK(sights[k].seen && sights[k].exists && !sights[k].is_string && !sights[k].has_ttl);
    CHECK_STR(ASK(&nodes[0], "LLEN", "list"), "2");
    redlock_close(&alice, CLOSE_MS);
}

TEST(inspect_shows_the_key_of_every_node_and_changes_none)
{
    struct redlock_lock lock;
    struct redlock_sight sights[NODES];
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    ASK(&nodes[0], "SET", "seen", "one", "PX", "5000");
    ASK(&nodes[1], "SET", "seen", "a value that is much longer than the forty digits of a token");
    CHECK_STATUS(redlock_inspect(&alice, "seen", sights), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++) CHECK(sights[k].seen);
    CHECK(sights[0].exists && sights[0].is_string && sights[0].has_ttl);
    CHECK(sights[0].ttl_ms > 0 && sights[0].ttl_ms <= 5000);
    CHECK_STR(sights[0].value, "one");
    CHECK_INT(sights[0].value_size, 3);
    CHECK(sights[1].exists && sights[1].is_string && !sights[1].has_ttl);
    CHECK(strncmp(sights[1].value, "a value that is much longer", 27) == 0);
    CHECK(sights[1].value_size > REDLOCK_TOKEN_TEXT);
    CHECK(!sights[2].exists);
    CHECK_SOON(pttl(&nodes[0], "seen") > 0);
    redlock_close(&alice, CLOSE_MS);
}

TEST(an_empty_value_is_a_key_that_exists)
{
    struct redlock_sight sights[NODES];
    CHECK(join(&alice, node_list));
    ASK(&nodes[0], "SET", "empty", "", "PX", "5000");
    CHECK_STATUS(redlock_inspect(&alice, "empty", sights), REDLOCK_OK);
    CHECK(sights[0].seen && sights[0].exists && sights[0].is_string);
    CHECK_INT(sights[0].value_size, 0);
    CHECK(sights[1].seen && !sights[1].exists);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_lock_goes_over_to_another_client_by_its_token)
{
    struct redlock_lock lock, adopted;
    redlock_lock_init(&lock);
    redlock_lock_init(&adopted);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "adopted", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_adopt(&bob.engine, &adopted,
                               &(struct redlock_request){ .resource = "adopted",
                                                          .resource_size = strlen("adopted") },
                               token_of(&lock), redlock_now_us()),
                 REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&bob, &adopted, 2 * TTL_MS), REDLOCK_OK);
    CHECK(redlock_valid_ms(&adopted) > TTL_MS);
    CHECK_STATUS(redlock_release(&bob, &adopted, NULL), REDLOCK_OK);
    redlock_close(&bob, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "adopted"));
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_TAKEN);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

TEST(s17_a_lock_that_was_adopted_and_not_extended_is_there_when_it_was_parted_from)
{
    struct redlock_lock lock, adopted;
    redlock_lock_init(&lock);
    redlock_lock_init(&adopted);
    CHECK(join(&alice, node_list) && open_hasty_client(&bob, node_list, 2000));
    CHECK_STATUS(redlock_connect(&bob, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "left", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_adopt(&bob.engine, &adopted,
                               &(struct redlock_request){ .resource = "left",
                                                          .resource_size = strlen("left") },
                               token_of(&lock), redlock_now_us()),
                 REDLOCK_OK);
    for (unsigned k = 0; k <= NODES / 2; k++) server_freeze(&nodes[k]);
    enum redlock_status extended = redlock_extend(&bob, &adopted, TTL_MS);
    for (unsigned k = 0; k <= NODES / 2; k++) server_thaw(&nodes[k]);
    CHECK(extended != REDLOCK_OK);
    redlock_part(&bob, &adopted);
    redlock_close(&bob, CLOSE_MS);
    CHECK(redlock_valid_ms(&lock) > 0);
    CHECK_SOON(key_is_on_all(nodes, NODES, "left", token_of(&lock)));
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_wrong_token_adopts_nothing_that_is_there)
{
    struct redlock_lock adopted;
    redlock_lock_init(&adopted);
    CHECK(join(&bob, node_list));
    give_to_stranger("not-adopted");
    CHECK_STATUS(redlock_adopt(&bob.engine, &adopted,
                               &(struct redlock_request){ .resource = "not-adopted",
                                                          .resource_size = strlen("not-adopted") },
                               "stranger", redlock_now_us()),
                 REDLOCK_BAD_TOKEN);
    CHECK_STATUS(redlock_adopt(&bob.engine, &adopted,
                               &(struct redlock_request){ .resource = "not-adopted",
                                                          .resource_size = strlen("not-adopted") },
                               "0123456789012345678901234567890123456789", redlock_now_us()),
                 REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&bob, &adopted, TTL_MS), REDLOCK_TAKEN);
    CHECK_INT(redlock_release(&bob, &adopted, NULL), REDLOCK_LOST);
    redlock_close(&bob, CLOSE_MS);
    CHECK(key_is_on_all(nodes, NODES, "not-adopted", "stranger"));
}

/* ---- Threads and processes ---- */

enum { THREAD_ROUNDS = 200 };

struct thread_work {
    struct redlock_client *client;
    const char *resource;
    unsigned won;
};

static void *take_turns(void *argument)
{
    struct thread_work *work = argument;
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    for (unsigned i = 0; i < THREAD_ROUNDS; i++) {
        work->won +=
            redlock_acquire(work->client, &lock, work->resource, TTL_MS, PATIENCE_MS) == REDLOCK_OK;
        redlock_release(work->client, &lock, NULL);
    }
    return NULL;
}

TEST(two_clients_in_two_threads_know_nothing_of_each_other)
{
    struct thread_work works[2] = { { &alice, "thread-a", 0 }, { &bob, "thread-b", 0 } };
    pthread_t threads[2];
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    for (unsigned i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, take_turns, &works[i]), 0);
    for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK_INT(works[0].won, THREAD_ROUNDS);
    CHECK_INT(works[1].won, THREAD_ROUNDS);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

/* Runs in a child of the process that opened alice. Returns the number of the first call that did
 * not say so, or 0. */
static int use_as_child(struct redlock_lock *lock)
{
    struct redlock_lock other;
    redlock_lock_init(&other);
    if (redlock_acquire(&alice, &other, "child", TTL_MS, 0) != REDLOCK_FORKED) return 1;
    if (redlock_extend(&alice, lock, TTL_MS) != REDLOCK_FORKED) return 2;
    if (redlock_release(&alice, lock, NULL) != REDLOCK_FORKED) return 3;
    if (redlock_connect(&alice, 0) != REDLOCK_FORKED) return 4;
    if (redlock_step(&alice) != REDLOCK_FORKED) return 5;
    if (redlock_run_for(&alice, lock, 0) != REDLOCK_FORKED) return 8;
    if (redlock_release_all(&alice, &lock, 1, 0) != REDLOCK_FORKED) return 9;
    if (!redlock_is_forked(&alice)) return 10;
    redlock_interrupt(&alice);      /* Would be heard by the parent. */
    redlock_close(&alice, CLOSE_MS);
    if (!open_client(&bob, node_list)) return 6;
    if (redlock_acquire(&bob, &other, "forked", TTL_MS, 0) != REDLOCK_TAKEN) return 7;
    redlock_close(&bob, CLOSE_MS);
    return 0;
}

/* Nothing is left of it, but not descriptor 0, which is standard input. */
TEST(a_client_that_is_closed_twice_closes_nobody_elses_descriptor)
{
    int fd = fcntl(0, F_GETFD) >= 0 ? -1 : open("/dev/null", O_RDONLY);
    CHECK(open_client(&alice, node_list));
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&alice, CLOSE_MS);
    CHECK(fcntl(0, F_GETFD) >= 0);
    CHECK_INT(redlock_fd(&alice, 0), -1);
    if (fd >= 0) close(fd);
}

TEST(a_child_cannot_use_its_parents_client_and_does_it_no_harm)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "forked", TTL_MS, 0), REDLOCK_OK);
    CHECK_SOON(key_is_on_all(nodes, NODES, "forked", token_of(&lock)));
    pid_t child = process_fork();
    if (child == 0) _exit(use_as_child(&lock));
    CHECK_INT(process_wait(child), 0);
    CHECK_SOON(key_is_on_all(nodes, NODES, "forked", token_of(&lock)));
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "forked"));
}

TEST(parent_and_child_never_draw_the_same_token)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "dice", TTL_MS, 0), REDLOCK_OK);
    redlock_release(&alice, &lock, NULL);
    pid_t child = process_fork();
    if (child == 0) {
        redlock_close(&alice, 0);
        bool good = open_client(&alice, node_list)
            && redlock_acquire(&alice, &lock, "dice-child", TTL_MS, 0) == REDLOCK_OK;
        /* The child exits while it holds the lock, whose key is looked at below. */
        _exit(!good);
    }
    CHECK_INT(process_wait(child), 0);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "dice", TTL_MS, 0), REDLOCK_OK);
    CHECK(strcmp(ASK(&nodes[0], "GET", "dice-child"), token_of(&lock)) != 0);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

/* Returns the number of the first call that did not go as it should, or 0. */
static int hold_asleep(void)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    if (!join(&alice, node_list)) return 1;
    if (redlock_acquire(&alice, &lock, "asleep", 1000, 0) != REDLOCK_OK) return 2;
    raise(SIGSTOP);
    if (redlock_valid_us(&lock, redlock_now_us()) != 0) return 3;
    if (redlock_extend(&alice, &lock, TTL_MS) != REDLOCK_LOST) return 4;
    if (redlock_release(&alice, &lock, NULL) != REDLOCK_LOST) return 5;
    redlock_close(&alice, CLOSE_MS);
    return 0;
}

TEST(a_client_that_was_stopped_past_its_validity_knows_that_it_holds_nothing)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    pid_t sleeper = process_fork();
    if (sleeper == 0) _exit(hold_asleep());
    process_await_stop(sleeper);
    /* It goes from two nodes first, and Bob would have it on these alone. */
    CHECK_SOON(key_is_gone(nodes, NODES, "asleep"));
    CHECK(join(&bob, node_list));
    enum redlock_status status = redlock_acquire(&bob, &lock, "asleep", TTL_MS, PATIENCE_MS);
    CHECK_SOON(key_is_on_all(nodes, NODES, "asleep", token_of(&lock)));
    process_continue(sleeper);
    CHECK_INT(process_wait(sleeper), 0);
    CHECK_STATUS(status, REDLOCK_OK);
    CHECK_SOON(key_is_on_all(nodes, NODES, "asleep", token_of(&lock)));
    redlock_release(&bob, &lock, NULL);
    redlock_close(&bob, CLOSE_MS);
}

static enum redlock_status acquire_when_continued(void)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    if (!join(&alice, node_list)) return REDLOCK_PENDING;
    raise(SIGSTOP);
    enum redlock_status status = redlock_acquire(&alice, &lock, "late", 1000, 0);
    redlock_close(&alice, CLOSE_MS);
    return status;
}

/* The nodes grant, and the answers lie in the client's kernel until nothing is left of the TTL. */
TEST(answers_that_are_read_after_the_TTL_are_no_lock)
{
    pid_t sleeper = process_fork();
    if (sleeper == 0) _exit((int)acquire_when_continued());
    process_await_stop(sleeper);
    for (unsigned k = 0; k < NODES; k++) server_freeze(&nodes[k]);
    process_continue(sleeper);
    nap_ms(300);                /* It sends, and waits for answers. */
    process_stop(sleeper);
    for (unsigned k = 0; k < NODES; k++) server_thaw(&nodes[k]);
    for (unsigned k = 0; k < NODES; k++) CHECK_SOON(pttl(&nodes[k], "late") > 0);
    CHECK_SOON(key_is_gone(nodes, NODES, "late"));
    process_continue(sleeper);
    CHECK_INT(process_wait(sleeper), REDLOCK_TOO_LATE);
}

/* ---- Questions of no lock ---- */

TEST(a_node_is_asked_any_command_and_its_reply_comes_piece_by_piece)
{
    static uint8_t buffer[65536];
    const struct redlock_name script = {
        .bytes = "return {1,'two',{'three'},redis.error_reply('four')}", .size = 52
    };
    const struct redlock_name eval[] = {
        { .bytes = "EVAL", .size = 4 }, script, { .bytes = "0", .size = 1 }
    };
    const struct redlock_name list[] = { { .bytes = "COMMAND", .size = 7 } };
    struct redlock_question question;
    struct redlock_item item;
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_ask_node(&alice, &question, 1, eval, 3, buffer, sizeof buffer),
                 REDLOCK_OK);
    CHECK(redlock_next_item(&question, &item) && item.type == REDLOCK_ITEM_ARRAY &&
          item.integer == 4);
    CHECK(redlock_next_item(&question, &item) && item.type == REDLOCK_ITEM_INTEGER &&
          item.integer == 1 && item.depth == 1);
    CHECK(redlock_next_item(&question, &item) && item.size == 3 &&
          memcmp(item.bytes, "two", 3) == 0);
    CHECK(redlock_next_item(&question, &item) && item.type == REDLOCK_ITEM_ARRAY &&
          item.integer == 1);
    CHECK(redlock_next_item(&question, &item) && item.type == REDLOCK_ITEM_BULK && item.depth == 2);
    CHECK(redlock_next_item(&question, &item) && item.type == REDLOCK_ITEM_ERROR);
    CHECK(!redlock_next_item(&question, &item));
    /* S16 */
    CHECK_STATUS(redlock_ask_node(&alice, &question, 1, list, 1, buffer, sizeof buffer),
                 REDLOCK_NO_ANSWER);
    CHECK_STATUS(redlock_ask_node(&alice, &question, NODES, eval, 3, buffer, sizeof buffer),
                 REDLOCK_BAD_QUESTION);
    redlock_close(&alice, CLOSE_MS);
    CHECK_STATUS(redlock_ask_node(&alice, &question, 1, eval, 3, buffer, sizeof buffer),
                 REDLOCK_NOT_OPEN);
}

/* Its memory may be another's by then, and the copy is in the client's own. */
TEST(redlock_next_done_never_names_a_lock_that_was_handed_over)
{
    struct redlock_lock lock;
    CHECK(join(&alice, node_list));
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "handed over", TTL_MS, 0), REDLOCK_OK);
    while (redlock_next_done(&alice.engine)) { }
    redlock_part(&alice, &lock);
    while (!key_is_gone(nodes, NODES, "handed over")) {
        CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
        CHECK(redlock_next_done(&alice.engine) == NULL);
    }
    for (const uint64_t until = clock_ms() + 100; clock_ms() < until; nap_ms(2)) {
        CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
        CHECK(redlock_next_done(&alice.engine) == NULL);
    }
    redlock_close(&alice, CLOSE_MS);
}

/* ---- Once per period ---- */

TEST(s18_one_of_two_clients_marks_a_period_and_the_other_is_told_who_did)
{
    static struct redlock_mark mark;
    const struct redlock_period of_alice = { .period_ms = REDLOCK_PERIOD_MS_MAX, .who = "alice" };
    const struct redlock_period of_bob = { .period_ms = REDLOCK_PERIOD_MS_MAX };
    struct redlock_lock lock;
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "job", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_mark_period(&alice, &mark, &lock, &of_alice, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_mark_period(&alice, &mark, &lock, &of_alice, 0), REDLOCK_LOST);
    CHECK_STATUS(redlock_acquire(&bob, &lock, "job", TTL_MS, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_mark_period(&bob, &mark, &lock, &of_bob, TTL_MS), REDLOCK_ALREADY);
    CHECK_STR(mark.seen_who, "alice");
    CHECK(mark.seen_wall_us <= redlock_wall_us());
    CHECK_STATUS(redlock_release(&bob, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
    CHECK_STATUS(redlock_mark_period(&bob, &mark, &lock, &of_bob, 0), REDLOCK_NOT_OPEN);
}

/* While they hang there is no quorum of marks; the same holder finds marks that were sent then as
 * its own. */
TEST(s18_a_holder_asks_again_for_marks_for_as_long_as_it_says)
{
    static struct redlock_mark mark;
    const struct redlock_period period = { .period_ms = REDLOCK_PERIOD_MS_MAX };
    struct redlock_lock lock;
    CHECK(join(&alice, node_list));
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "long job", 60000, 0), REDLOCK_OK);
    for (unsigned k = 0; k < NODES / 2 + 1; k++) server_freeze(&nodes[k]);
    CHECK_STATUS(redlock_mark_period(&alice, &mark, &lock, &period, 700), REDLOCK_NO_QUORUM);
    for (unsigned k = 0; k < NODES / 2 + 1; k++) server_thaw(&nodes[k]);
    CHECK_STATUS(redlock_mark_period(&alice, &mark, &lock, &period, 20000), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    servers_start(&locked, 1, "requirepass sesame\nuser worker on >h@sh,% ~* +@all\n");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    return tap_run_all(argc, argv);
}
