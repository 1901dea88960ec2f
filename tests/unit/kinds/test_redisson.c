/* A lock that Java services share (S26), as this side does it. Redisson's side is in
 * tests/live/test_redisson.c. */
#include "../../world/story.h"

#include "../../../redlock/node.h"
#include "../../../redlock/stake.h"
#include "../../../redlock/kinds/redisson.h"
#include "../../../redlock/wire.h"

enum { TTL = 10000 };

#define JAVA "6ba7b810-9dad-11d1-80b4-00c04fd430c8:47"

static struct redlock_request java_request(uint32_t wait_ms)
{
    struct redlock_request request = story_request("door", TTL, wait_ms);

    request.kind = &redlock_redisson;
    return request;
}

static enum redlock_status start_java(struct cluster *cluster, unsigned client, uint32_t wait_ms)
{
    const struct redlock_request request = java_request(wait_ms);

    return cluster_acquire(cluster, client, 0, &request);
}

#define START_JAVA(client, wait_ms) CHECK_INT(start_java(cluster, (client), (wait_ms)), REDLOCK_OK)
#define TAKE(client) do { START_JAVA(client, 0); UNTIL_DONE(client); } while (0)

static const struct model_key *key_of(struct cluster *cluster, const char *name)
{
    return model_find(NODE(0), 0, name, strlen(name), cluster_node_now(cluster, 0));
}

/* A Java holder, however often it has entered. */
static void java_holds(struct cluster *cluster, uint64_t ttl_ms)
{
    model_put(NODE(0), "door", JAVA, ttl_ms, cluster_node_now(cluster, 0))->is_hash = true;
}

static int64_t key_ttl(struct cluster *cluster)
{
    return (int64_t)(key_of(cluster, "door")->expires_ms - cluster_node_now(cluster, 0) / 1000);
}

/* Somebody on the node listens to a channel. */
static void listen_to(struct cluster *cluster, struct model_session *session, const char *channel)
{
    char command[160];
    const int size = snprintf(command, sizeof command, "*2\r\n$9\r\nSUBSCRIBE\r\n$%zu\r\n%s\r\n",
                              strlen(channel), channel);

    model_session_begin(NODE(0), session);
    model_session_receive(NODE(0), session, command, (size_t)size, cluster_node_now(cluster, 0));
    session->out.size = 0;
}

/* Joins a fair lock's queue, and sets how long the first of them waits from now, in ms. */
static void line_up(struct cluster *cluster, const char *members, const char *first,
                    uint64_t waits_ms)
{
    const uint64_t now_us = cluster_node_now(cluster, 0);

    model_put(NODE(0), "redisson_lock_queue:{door}", members, 0, now_us)->is_list = true;
    model_put_entry(NODE(0), "redisson_lock_timeout:{door}", first, now_us / 1000 + waits_ms,
                    now_us);
}

static bool has_heard(const struct model_session *session, const char *message)
{
    return session->out.size == strlen(message) &&
           memcmp(session->out.data, message, session->out.size) == 0;
}

TEST(s26_with_Java_a_lock_is_one_resource_without_a_ticket_or_permits)
{
    CLUSTER(1);
    struct redlock_name set[] = { { .bytes = "door", .size = 4 } };
    struct redlock_request request = java_request(0);

    request.permits = 1;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request = java_request(0);
    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request = java_request(0);
    request.set = set;
    request.set_count = 1;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    CHECK(IDLE(0));
}

TEST(with_Java_the_key_is_a_hash_whose_field_is_the_token_as_a_UUID_and_a_number)
{
    CLUSTER(1);
    char token[REDLOCK_TOKEN_TEXT + 1], field[REDISSON_FIELD + 1], expected[REDISSON_FIELD + 1];

    TAKE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
    CHECK(key_of(cluster, "door")->is_hash);
    redlock_token(LOCK(0), token);
    field[redisson_field(LOCK(0)->token, field)] = '\0';
    snprintf(expected, sizeof expected, "%.8s-%.4s-%.4s-%.4s-%.12s:%lu", token, token + 8,
             token + 12, token + 16, token + 20, strtoul(token + 32, NULL, 16));
    CHECK_STR(field, expected);
    CHECK_STR((const char *)key_of(cluster, "door")->value, field);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

/* S6 */
TEST(with_Java_each_attempt_has_a_field_of_its_own)
{
    CLUSTER(1);
    char first[REDISSON_FIELD + 1], second[REDISSON_FIELD + 1];

    TAKE(0);
    first[redisson_field(LOCK(0)->token, first)] = '\0';
    RELEASE(0);
    TAKE(0);
    second[redisson_field(LOCK(0)->token, second)] = '\0';
    CHECK(strcmp(first, second) != 0);
}

TEST(with_Java_a_lock_is_refused_whatever_key_is_there_and_told_for_how_long)
{
    CLUSTER(1);

    java_holds(cluster, 7000);
    TAKE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(redlock_view_lock(LOCK(0)).free_in_ms, 7000);
    CHECK_STR((const char *)key_of(cluster, "door")->value, JAVA);
    RIVAL(0, "door", 5000);
    TAKE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    EXPECT_RIVAL_KEY(0, "door");
    RIVAL(0, "door", 0);
    TAKE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms == REDLOCK_FOREVER);
    CHECK(IDLE(0));
}

TEST(with_Java_a_lock_keeps_plain_locks_out)
{
    CLUSTER_OF(1, 2, (void)0);

    TAKE(0);
    ACQUIRE(1, "door", TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RELEASE(0);
    ACQUIRE(1, "door", TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    TAKE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
}

/* Redisson's own extension does shorten. */
TEST(s7_with_Java_an_extension_lengthens_and_never_shortens)
{
    CLUSTER(1);

    TAKE(0);
    EXTEND(0, 20000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(key_ttl(cluster) > 19000);
    EXTEND(0, 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(key_ttl(cluster) > 19000);
    CHECK(VALID_US(0) > 19000000);
}

TEST(s7_with_Java_an_extension_leaves_anothers_lock_alone)
{
    CLUSTER(1);

    TAKE(0);
    cluster->no_promise = true;
    java_holds(cluster, 5000);      /* A restart has lost ours, and Java keeps no guard. */
    EXTEND(0, 20000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(key_ttl(cluster) <= 5000);
    RIVAL(0, "door", 5000);
    EXTEND(0, 20000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    REMOVE_KEYS(0);
    EXTEND(0, 20000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s7_with_Java_a_release_leaves_anothers_field_alone_and_tells_nobody)
{
    CLUSTER(1);
    struct model_session thread;

    listen_to(cluster, &thread, "redisson_lock__channel:{door}");
    TAKE(0);
    cluster->no_promise = true;
    java_holds(cluster, 5000);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    CHECK_STR((const char *)key_of(cluster, "door")->value, JAVA);
    CHECK_INT(thread.out.size, 0);
    CHECK(IDLE(0));
    REMOVE_KEYS(0);
    TAKE(0);
    RIVAL(0, "door", 5000);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_RIVAL_KEY(0, "door");
    model_session_end(&thread);
}

TEST(with_Java_a_release_tells_the_channel_on_which_its_threads_wait)
{
    CLUSTER(1);
    struct model_session thread;

    listen_to(cluster, &thread, "redisson_lock__channel:{door}");
    TAKE(0);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(has_heard(&thread,
                    "*3\r\n$7\r\nmessage\r\n$29\r\nredisson_lock__channel:{door}\r\n$1\r\n0\r\n"));
    model_session_end(&thread);
}

/* It is not in braces twice. */
TEST(with_Java_the_channel_of_a_name_with_a_brace_has_that_name)
{
    CLUSTER(1);
    struct redlock_request request = story_request("a{b}", TTL, 0);
    struct model_session thread;

    listen_to(cluster, &thread, "redisson_lock__channel:a{b}");
    request.kind = &redlock_redisson;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RELEASE(0);
    CHECK(has_heard(&thread,
                    "*3\r\n$7\r\nmessage\r\n$27\r\nredisson_lock__channel:a{b}\r\n$1\r\n0\r\n"));
    model_session_end(&thread);
}

TEST(with_Java_a_release_tells_the_first_in_a_fair_locks_queue_as_well)
{
    CLUSTER(1);
    struct model_session thread;

    listen_to(cluster, &thread, "redisson_lock__channel:{door}:" JAVA);
    TAKE(0);
    model_put(NODE(0), "redisson_lock_queue:{door}", JAVA, 0, cluster_node_now(cluster, 0))
        ->is_list = true;
    RELEASE(0);
    CHECK(has_heard(&thread, "*3\r\n$7\r\nmessage\r\n$69\r\nredisson_lock__channel:{door}:" JAVA
                             "\r\n$1\r\n0\r\n"));
    model_session_end(&thread);
}

/* Redisson drops them from the queue at a release of its own, when their times are over by the
 * clocks that set them. */
TEST(with_Java_a_release_passes_over_those_in_a_fair_locks_queue_that_died)
{
    CLUSTER(1);
    struct model_session dead, next, last;

    listen_to(cluster, &dead, "redisson_lock__channel:{door}:dead");
    listen_to(cluster, &next, "redisson_lock__channel:{door}:next");
    listen_to(cluster, &last, "redisson_lock__channel:{door}:last");
    TAKE(0);
    line_up(cluster, "dead\nnext\nlast", "dead", 0);
    RELEASE(0);
    CHECK_INT(dead.out.size, 0);
    CHECK(has_heard(
        &next, "*3\r\n$7\r\nmessage\r\n$34\r\nredisson_lock__channel:{door}:next\r\n$1\r\n0\r\n"));
    CHECK_INT(last.out.size, 0);
    model_session_end(&dead);
    model_session_end(&next);
    model_session_end(&last);
}

/* Without the right to look at the times the first is called, whether it lives or not. */
TEST(with_Java_a_release_that_may_not_ask_for_the_time_tells_the_first_in_a_fair_locks_queue)
{
    static const char *const refused[] = { "TIME", "ZSCORE" };

    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CLUSTER(1);
        struct model_session dead;

        listen_to(cluster, &dead, "redisson_lock__channel:{door}:dead");
        NODE(0)->noperm = refused[i];
        TAKE(0);
        line_up(cluster, "dead\nnext", "dead", 0);
        RELEASE(0);
        CHECK(dead.out.size > 0);
        model_session_end(&dead);
    }
}

/* S5: an attempt whose outcome is unknown is undone, and Java threads hear of that, too. */
TEST(s5_with_Java_an_attempt_whose_answer_is_lost_is_released)
{
    CLUSTER(1);
    struct model_session thread;

    listen_to(cluster, &thread, "redisson_lock__channel:{door}");
    TAKE(0);
    RELEASE(0);
    thread.out.size = 0;
    DEAFEN(0);
    TAKE(0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    HEAL_ALL;
    RUN_MS(3000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(thread.out.size > 0);
    CHECK(IDLE(0));
    model_session_end(&thread);
}

/* If an ACL lets no script expire, no hash may stay for ever. */
TEST(s5_with_Java_a_release_that_is_lost_is_owed_without_wake_ups_as_well)
{
    CLUSTER_COLD(1, 1, (void)0);
    cluster_client_is_plain(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    TAKE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    DEAFEN(0);
    START_RELEASE(0);
    RUN_MS(5);
    RESET(0, 0);
    UNTIL_DONE(0);
    HEAL(0);
    RUN_MS(2000);
    CHECK(IDLE(0));
    EXPECT_KEY_ABSENT(0, "door");
}

TEST(with_Java_a_node_that_refuses_a_part_of_the_script_keeps_nothing_for_ever)
{
    static const char *const refused[] = { "PTTL", "PEXPIRE", "HSET" };

    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CLUSTER(1);
        NODE(0)->noperm = refused[i];
        TAKE(0);
        EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
        EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_NOPERM);
        EXPECT_KEY_ABSENT_ON_ALL("door");
    }
}

TEST(with_Java_a_node_that_refuses_to_publish_releases_nevertheless)
{
    CLUSTER(1);
    struct model_session thread;

    listen_to(cluster, &thread, "redisson_lock__channel:{door}");
    NODE(0)->noperm = "PUBLISH LRANGE";
    TAKE(0);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK_INT(thread.out.size, 0);
    model_session_end(&thread);
}

/* It stays until the TTL has run out, since a release that is refused is owed. */
TEST(with_Java_a_node_that_refuses_to_release_or_to_extend_says_so)
{
    static const char *const refused[] = { "TYPE", "HDEL", "HEXISTS", "PEXPIRE" };

    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CLUSTER(1);
        TAKE(0);
        NODE(0)->noperm = refused[i];
        EXTEND(0, 20000);
        EXPECT_STATUS(0, strcmp(refused[i], "HDEL") == 0 ? REDLOCK_OK : REDLOCK_NO_QUORUM);
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(5);
        CHECK_INT(redlock_view_lock(LOCK(0)).owed,
                  strcmp(refused[i], "TYPE") == 0 || strcmp(refused[i], "HDEL") == 0);
        NODE(0)->noperm = NULL;
        RUN_MS(2000);
        EXPECT_KEY_ABSENT_ON_ALL("door");
        CHECK(IDLE(0));
    }
}

/* Its release would be one by another script. */
TEST(with_Java_a_lock_that_owes_is_not_used_as_a_plain_one)
{
    CLUSTER(1);
    struct redlock_request plain = story_request("door", TTL, 0);

    TAKE(0);
    cluster_stall(cluster, 0, 0);
    RELEASE(0);
    CHECK(!IDLE(0));
    CHECK_INT(cluster_acquire(cluster, 0, 0, &plain), REDLOCK_BAD_STATE);
    HEAL_ALL;
    RUN_MS(3000);
    CHECK(IDLE(0));
    CHECK_INT(cluster_acquire(cluster, 0, 0, &plain), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(!key_of(cluster, "door")->is_hash);
    cluster_stall(cluster, 0, 0);
    RELEASE(0);
    CHECK_INT(start_java(cluster, 0, 0), REDLOCK_BAD_STATE);
}

TEST(with_Java_a_lock_is_adopted_by_its_token)
{
    CLUSTER_OF(1, 2, (void)0);
    char token[REDLOCK_TOKEN_TEXT + 1];

    cluster->no_exclusion = true;
    TAKE(0);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt_as(cluster, 1, 0, &redlock_redisson, "door", token), REDLOCK_OK);
    EXTEND(1, 20000);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(key_ttl(cluster) > 19000);
    RELEASE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* The key would be looked at as a string. */
TEST(with_Java_a_lock_is_not_marked_shared_or_adopted_as_a_plain_one)
{
    CLUSTER_COLD(1, 1, (void)0);
    static struct redlock_mark mark;
    const struct redlock_period period = { .period_ms = 60000, .wall_us = 1, .at_us = 0 };

    RUN_MS(STORY_SETTLE_MS);
    TAKE(0);
    CHECK_INT(redlock_start_downgrade(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_BAD_KIND);
    CHECK_INT(redlock_start_upgrade(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_BAD_KIND);
    CHECK_INT(redlock_start_mark(ENGINE(0), &mark, LOCK(0), &period, CLIENT_NOW(0)),
              REDLOCK_BAD_KIND);
    EXPECT_HELD(0);
}

TEST(a_permit_changes_no_role)
{
    CLUSTER_COLD(1, 1, (void)0);
    struct redlock_request request = story_request("door", TTL, 0);

    RUN_MS(STORY_SETTLE_MS);
    request.kind = &redlock_permits;
    request.permits = 2;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK_INT(redlock_start_downgrade(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_BAD_KIND);
}

/* ---- Waiting ---- */

#define CHANNEL "redisson_lock__channel:{door}"

/* Clients that wait seldom ask by themselves. */
#define CLUSTER_OF_WAITERS(clients) \
    CLUSTER_OF(1, clients, config.wake_ups = true; config.retry_ms = 20000)

/* How many sessions listen to it. */
static unsigned listeners(struct cluster *cluster, const char *channel)
{
    unsigned count = 0;

    for (struct model_session *session = NODE(0)->subscribers; session;
         session = session->next_subscriber)
        for (unsigned i = 0; i < session->channel_count; i++)
            count += strcmp(session->channels[i], channel) == 0;
    return count;
}

/* Each subscription hears these bytes at once. */
static void tell_subscriptions(struct cluster *cluster, const char *bytes)
{
    for (size_t c = 0; c < cluster->connection_count; c++)
        if (cluster->connections[c]->session.subscriber_of)
            model_bytes_add(&cluster->connections[c]->session.out, bytes, strlen(bytes));
    cluster_publish(cluster, 0, "nobody", "");
}

/* Java lets go of it. */
static void java_leaves(struct cluster *cluster)
{
    REMOVE_KEY(0, "door");
    cluster_publish(cluster, 0, CHANNEL, "0");
}

TEST(with_Java_a_lock_that_waits_is_woken_by_the_channel_and_then_listens_no_longer)
{
    CLUSTER_OF_WAITERS(1);

    java_holds(cluster, 600000);
    START_JAVA(0, 600000);
    RUN_MS(100);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    java_leaves(cluster);
    RUN_MS(2);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(2);
    CHECK_INT(listeners(cluster, CHANNEL), 0);
    CHECK_INT(CALLS(0, "UNSUBSCRIBE"), 1);
    RELEASE(0);
    CHECK(IDLE(0));
    CHECK_INT(CALLS(0, "UNSUBSCRIBE"), 1);
}

TEST(with_Java_whatever_is_said_on_the_channel_is_a_reason_to_try_and_never_a_grant)
{
    CLUSTER_OF_WAITERS(1);

    java_holds(cluster, 600000);
    START_JAVA(0, 600000);
    RUN_MS(100);
    const unsigned before = CALLS(0, "ACQUIRE");
    cluster_publish(cluster, 0, CHANNEL, "1 and more");
    RUN_MS(5);
    CHECK_INT(CALLS(0, "ACQUIRE"), before + 1);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    cluster_publish(cluster, 0, "redisson_lock__channel:{floor}", "0");
    RUN_MS(5);
    CHECK_INT(CALLS(0, "ACQUIRE"), before + 1);
}

/* Between the refusal and the subscription nobody would hear it. */
TEST(with_Java_what_was_released_before_the_subscription_stood_is_found_out_by_asking)
{
    CLUSTER_OF_WAITERS(1);

    java_holds(cluster, 600000);
    START_JAVA(0, 600000);
    RUN_US(250);            /* It is refused, and the subscription opens. */
    java_leaves(cluster);
    RUN_MS(10);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* A spin lock's release tells nobody; nor does the end of a TTL. */
TEST(with_Java_a_lock_that_waits_tries_when_the_key_ends)
{
    CLUSTER_OF(1, 1, config.wake_ups = true; config.retry_ms = 1000);

    cluster->no_promise = false;
    java_holds(cluster, 300);
    START_JAVA(0, 600000);
    RUN_MS(299);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    RUN_MS(1100);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(with_Java_clients_wake_each_other)
{
    CLUSTER_OF_WAITERS(3);

    TAKE(0);
    START_JAVA(1, 600000);
    START_JAVA(2, 600000);
    RUN_MS(100);
    RELEASE(0);
    RUN_MS(5);
    CHECK((VALID_US(1) > 0) != (VALID_US(2) > 0));
    const unsigned first = VALID_US(1) > 0 ? 1 : 2;
    RUN_MS(100);
    RELEASE(first);
    RUN_MS(5);
    CHECK(VALID_US(3 - first) > 0);
}

/* It would take it again before they have heard of it. */
TEST(with_Java_a_client_stands_aside_for_those_that_its_release_told)
{
    CLUSTER_OF_WAITERS(2);

    TAKE(0);
    START_JAVA(1, 600000);
    RUN_MS(100);
    START_RELEASE(0);
    UNTIL_DONE(0);
    START_JAVA(0, 600000);
    RUN_MS(5);
    EXPECT_HELD(1);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    RUN_MS(1000);
    RELEASE(1);
    RUN_MS(5);
    EXPECT_HELD(0);
}

/* S14 is about attempts, and it has made none. */
TEST(with_Java_a_client_that_stands_aside_tries_as_soon_as_it_is_told)
{
    CLUSTER_OF_WAITERS(2);

    DELAY_ALL_US(20);
    java_holds(cluster, 600000);
    START_JAVA(0, 600000);
    RUN_MS(20);
    java_leaves(cluster);
    RUN_MS(5);
    EXPECT_HELD(0);
    START_JAVA(1, 600000);
    RUN_MS(20);
    FREEZE(1);
    START_RELEASE(0);
    UNTIL_DONE(0);
    const unsigned before = CALLS(0, "ACQUIRE");
    START_JAVA(0, 600000);
    RUN_US(100);
    CHECK_INT(listeners(cluster, CHANNEL), 2);
    cluster_publish(cluster, 0, CHANNEL, "0");
    RUN_US(60);
    CHECK_INT(CALLS(0, "ACQUIRE"), before + 1);
}

/* One lock of an engine tries at once, and the others too if that one does not. */
TEST(with_Java_of_the_locks_of_one_client_that_wait_one_tries_at_once_and_the_others_later)
{
    CLUSTER_OF(1, 1, config.wake_ups = true; config.retry_ms = 1000);
    const struct redlock_request request = java_request(600000);

    java_holds(cluster, 600000);
    for (unsigned i = 0; i < 3; i++)
        CHECK_INT(cluster_acquire(cluster, 0, i, &request), REDLOCK_OK);
    RUN_MS(10);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    const unsigned before = CALLS(0, "ACQUIRE");
    cluster_publish(cluster, 0, CHANNEL, "0");
    RUN_MS(1);
    CHECK_INT(CALLS(0, "ACQUIRE"), before + 1);
    RUN_MS(1100);
    CHECK(CALLS(0, "ACQUIRE") >= before + 3);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    for (unsigned i = 0; i < 3; i++) cluster_cancel(cluster, 0, i);
    RUN_MS(5);
    CHECK_INT(listeners(cluster, CHANNEL), 0);
    for (unsigned i = 0; i < 3; i++) CHECK(redlock_idle(cluster_lock(cluster, 0, i)));
}

/* One without a wall clock listens for nothing, and a plain one not to this channel. */
TEST(with_Java_only_those_that_listen_for_the_name_are_told)
{
    CLUSTER_OF_WAITERS(1);
    struct redlock_request plain = story_request("door", TTL, 600000),
                           other = story_request("doors", TTL, 600000);
    struct redlock_request deaf = java_request(600000), request = deaf;
    uint32_t rounds[4];

    other.kind = &redlock_redisson;
    deaf.wall_us = UINT64_MAX;
    java_holds(cluster, 600000);
    RIVAL(0, "doors", 600000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &plain), REDLOCK_OK);
    CHECK_INT(cluster_acquire(cluster, 0, 1, &other), REDLOCK_OK);
    CHECK_INT(cluster_acquire(cluster, 0, 2, &deaf), REDLOCK_OK);
    CHECK_INT(cluster_acquire(cluster, 0, 3, &request), REDLOCK_OK);
    RUN_MS(10);
    for (unsigned i = 0; i < 4; i++) rounds[i] = cluster_lock(cluster, 0, i)->round.number;
    cluster_publish(cluster, 0, CHANNEL, "0");
    RUN_MS(5);
    for (unsigned i = 0; i < 4; i++)
        CHECK_INT(cluster_lock(cluster, 0, i)->round.number - rounds[i], i == 3);
    const unsigned before = CALLS(0, "UNSUBSCRIBE");
    for (unsigned i = 4; i > 0; i--) cluster_cancel(cluster, 0, i - 1);
    RUN_MS(5);
    CHECK_INT(CALLS(0, "UNSUBSCRIBE"), before + 2);
    CHECK_INT(listeners(cluster, CHANNEL) + listeners(cluster, "redisson_lock__channel:{doors}"),
              0);
}

#define MESSAGE "*3\r\n$7\r\nmessage\r\n$29\r\n" CHANNEL "\r\n$1\r\n0\r\n"

/* More of them are no news until the locks have tried, and do not move the time that was drawn for
 * the second. */
TEST(with_Java_several_messages_at_once_are_one)
{
    static const char *const messages[] = {
        MESSAGE, MESSAGE MESSAGE MESSAGE MESSAGE MESSAGE MESSAGE
    };
    static struct redlock_event ring[100], event;
    struct redlock_event_ring events;
    const struct redlock_request request = java_request(600000);
    uint64_t planned[2];

    for (unsigned i = 0; i < 2; i++) {
        CLUSTER_OF_WAITERS(1);
        unsigned woken = 0;
        java_holds(cluster, 600000);
        for (unsigned l = 0; l < 2; l++)
            CHECK_INT(cluster_acquire(cluster, 0, l, &request), REDLOCK_OK);
        RUN_MS(10);
        redlock_use_events(ENGINE(0), &events, ring, 100);
        tell_subscriptions(cluster, messages[i]);
        RUN_MS(1);
        planned[i] = cluster_lock(cluster, 0, 1)->retry_at - CLIENT_NOW(0);
        while (redlock_next_event(&events, &event))
            woken += event.kind == REDLOCK_EVENT_WOKEN && event.lock == LOCK(0);
        CHECK_INT(woken, 1);
    }
    CHECK_INT(planned[0], planned[1]);
}

/* The node may still have its token, so the release must go first. A lock that waits beside it is
 * confirmed its subscription meanwhile. */
TEST(with_Java_a_lock_that_owes_a_release_does_not_ask_how_long_the_key_has_left)
{
    CLUSTER_OF_WAITERS(1);
    const struct redlock_request request = java_request(600000);

    java_holds(cluster, 600000);
    NODE(0)->noperm = "TYPE";
    ANSWERS_ONCE(0, "EVALSHA", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    CHECK_INT(cluster_acquire(cluster, 0, 1, &request), REDLOCK_OK);
    RUN_MS(10);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    CHECK_INT(CALLS(0, "PTTL"), 1);
    NODE(0)->noperm = NULL;
    const unsigned subscribes = CALLS(0, "SUBSCRIBE");
    RUN_MS(2000);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    CHECK(CALLS(0, "PTTL") > 1);
    CHECK_INT(CALLS(0, "SUBSCRIBE"), subscribes + 1);
}

/* When the second lock has asked, a third begins to listen and gives up, so that one of the others
 * asks in its place. */
TEST(with_Java_a_lock_that_owes_a_release_does_not_ask_for_another_if_it_has_listened_before)
{
    CLUSTER_OF_WAITERS(1);
    const struct redlock_request request = java_request(600000);

    java_holds(cluster, 600000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_MS(10);
    NODE(0)->noperm = "TYPE";
    ANSWERS_ONCE(0, "EVALSHA", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    cluster_publish(cluster, 0, CHANNEL, "0");
    RUN_MS(10);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    CHECK_INT(cluster_acquire(cluster, 0, 1, &request), REDLOCK_OK);
    RUN_MS(10);
    java_holds(cluster, 5000);
    CHECK_INT(cluster_acquire(cluster, 0, 2, &request), REDLOCK_OK);
    RUN_US(250);
    cluster_cancel(cluster, 0, 2);
    RUN_MS(5);
    CHECK(redlock_view_lock(cluster_lock(cluster, 0, 1)).free_in_ms <= 5000);
}

/* Before the handshake an UNSUBSCRIBE would be taken for a part of it. */
TEST(with_Java_a_lock_that_ends_without_a_subscription_tells_nobody_so)
{
    for (unsigned state = NODE_DISCONNECTED; state < NODE_READY; state++) {
        TAP_CONTEXT("state %u", state);
        CLUSTER_OF_WAITERS(1);
        java_holds(cluster, 600000);
        START_JAVA(0, 600000);
        RUN_MS(10);
        cluster_cut_subscription(cluster, 0, 0);
        if (state != NODE_DISCONNECTED) HEAL_ALL;
        for (unsigned us = 0; us < 1000000 && ENGINE(0)->nodes[1].state != state; us += 10)
            RUN_US(10);
        CHECK_INT(ENGINE(0)->nodes[1].state, state);
        cluster_cancel(cluster, 0, 0);
        EXPECT_STATUS(0, REDLOCK_CANCELLED);
        CHECK(IDLE(0));
        RUN_MS(10);
        HEAL_ALL;
        START_JAVA(0, 600000);
        RUN_MS(1000);
        CHECK_INT(listeners(cluster, CHANNEL), 1);
        CHECK_INT(CALLS(0, "UNSUBSCRIBE"), 0);
    }
}

TEST(with_Java_a_lock_that_gives_up_listens_no_longer_and_owes_nothing)
{
    CLUSTER_OF_WAITERS(1);

    java_holds(cluster, 600000);
    START_JAVA(0, 1000);
    RUN_MS(100);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    const unsigned before = CALLS(0, "RELEASE");
    RUN_MS(2000);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    CHECK_INT(listeners(cluster, CHANNEL), 0);
    CHECK_INT(CALLS(0, "RELEASE"), before);
    CHECK(IDLE(0));
}

TEST(with_Java_a_lock_that_is_moved_while_it_waits_goes_on_to_listen)
{
    CLUSTER_OF_WAITERS(1);

    java_holds(cluster, 600000);
    START_JAVA(0, 600000);
    RUN_MS(100);
    cluster_move(cluster, 0, 1, 0);
    RUN_MS(5);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    java_leaves(cluster);
    RUN_MS(5);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
}

/* It has a number, and the subscription stands for a while. */
TEST(with_Java_a_lock_that_is_moved_when_it_has_ended_does_not_listen)
{
    CLUSTER_OF_WAITERS(1);

    java_holds(cluster, 600000);
    START_JAVA(0, 600000);
    RUN_MS(100);
    cluster_cancel(cluster, 0, 0);
    RUN_MS(5);
    cluster_move(cluster, 0, 1, 0);
    CHECK_INT(cluster_lock(cluster, 0, 1)->listening, 0);
    RUN_MS(5);
    CHECK_INT(listeners(cluster, CHANNEL), 0);
}

TEST(with_Java_a_subscription_that_breaks_is_made_anew)
{
    CLUSTER_OF_WAITERS(1);

    java_holds(cluster, 600000);
    START_JAVA(0, 600000);
    RUN_MS(100);
    cluster_reset(cluster, 0, 0, false);
    RUN_MS(6000);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    java_leaves(cluster);
    RUN_MS(5);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* Both lines break, and the node says on the one for commands, which asks more of it, that it is
 * not ready, so the subscription is back first. If anything was published before the lock listens
 * again, it finds out by asking. */
TEST(with_Java_a_lock_listens_again_also_if_the_subscription_is_back_first)
{
    for (unsigned leaves_meanwhile = 0; leaves_meanwhile < 2; leaves_meanwhile++) {
        TAP_CONTEXT("%u", leaves_meanwhile);
        CLUSTER_OF_WAITERS(1);
        java_holds(cluster, 600000);
        START_JAVA(0, 600000);
        RUN_MS(100);
        ANSWERS_ONCE(0, "INFO", "-LOADING Redis is loading the dataset in memory\r\n");
        cluster_reset(cluster, 0, 0, false);
        if (leaves_meanwhile) java_leaves(cluster);
        RUN_MS(6000);
        if (!leaves_meanwhile) CHECK_INT(listeners(cluster, CHANNEL), 1);
        if (!leaves_meanwhile) java_leaves(cluster);
        RUN_MS(5);
        EXPECT_STATUS(0, REDLOCK_OK);
    }
}

/* An ACL refuses the channel. The subscription stays, for the entries of other locks, and the lock
 * asks now and then. */
TEST(with_Java_a_lock_that_may_not_listen_polls)
{
    CLUSTER_OF(1, 2, config.wake_ups = true);
    struct redlock_request plain = story_request("gate", TTL, 60000);

    java_holds(cluster, 60000);
    RIVAL(0, "gate", 60000);
    CHECK_INT(cluster_acquire(cluster, 0, 1, &plain), REDLOCK_OK);
    RUN_MS(100);
    story_plan(
        NODE(0), "SUBSCRIBE",
        "-NOPERM this user has no permissions to access one of the channels used as arguments\r\n",
        86, UINT32_MAX, false);
    START_JAVA(0, 60000);
    RUN_MS(1000);
    CHECK_INT(listeners(cluster, CHANNEL), 0);
    CHECK(NODE(0)->subscribers && NODE(0)->subscribers->channel_count == 1);
    REMOVE_KEYS(0);
    RUN_MS(300);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(LINK(0, 0)->connect_count, 2);
}

/* Names that do not fit the subscription's buffer are sent the next time. */
TEST(with_Java_more_names_than_the_buffer_takes_are_all_woken_in_the_end)
{
    enum { LOCKS = 7, SIZE = 200 };
    CLUSTER_OF(1, 1, config.wake_ups = true;
               config.send_size = REDLOCK_SEND_MIN(REDLOCK_RESOURCE_MAX));
    static char names[LOCKS][SIZE];

    cluster_need_locks(cluster, 0, LOCKS);
    for (unsigned i = 0; i < LOCKS; i++) {
        snprintf(names[i], SIZE, "%u-and-a-name-of-sixty-bytes-that-fills-the-buffer-of-a-session",
                 i);
        struct redlock_request request = story_request(names[i], TTL, 60000);
        request.kind = &redlock_redisson;
        RIVAL(0, names[i], 60000);
        CHECK_INT(cluster_acquire(cluster, 0, i, &request), REDLOCK_OK);
    }
    RUN_MS(5000);
    REMOVE_KEYS(0);
    RUN_MS(6000);
    for (unsigned i = 0; i < LOCKS; i++) EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
}

/* This holds for names of any length. A name that found no room goes out when there is some, and
 * sent bytes make room. */
TEST(with_Java_a_lock_that_waits_ends_up_subscribed_whatever_else_the_buffer_has_held)
{
    enum { LOCKS = 50, NAME = 400 };
    CLUSTER_OF_WAITERS(1);
    static char names[LOCKS][NAME + 1];
    char channel[NAME + 40];

    cluster_need_locks(cluster, 0, LOCKS);
    for (unsigned i = 0; i < LOCKS; i++) {
        snprintf(names[i], sizeof names[i], "%0*u", NAME, i);
        struct redlock_request request = story_request(names[i], TTL, 600000);
        request.kind = &redlock_redisson;
        RIVAL(0, names[i], 600000);
        CHECK_INT(cluster_acquire(cluster, 0, i, &request), REDLOCK_OK);
    }
    RUN_MS(100);
    for (unsigned i = 0; i < LOCKS; i++) {
        snprintf(channel, sizeof channel, "redisson_lock__channel:{%0*u}", NAME, i);
        CHECK_INT(listeners(cluster, channel), 1);
    }
    CHECK_INT(CALLS(0, "PTTL"), LOCKS);
}

/* Not once for each other lock of that name. */
TEST(with_Java_locks_that_wait_for_one_name_ask_once_each_time_that_they_begin_to_wait)
{
    enum { LOCKS = 200 };
    CLUSTER_OF_WAITERS(1);
    const struct redlock_request request = java_request(600000);

    java_holds(cluster, 600000);
    cluster_need_locks(cluster, 0, LOCKS);
    for (unsigned i = 0; i < LOCKS; i++)
        CHECK_INT(cluster_acquire(cluster, 0, i, &request), REDLOCK_OK);
    RUN_MS(1000);
    CHECK_INT(listeners(cluster, CHANNEL), 1);
    CHECK_INT(CALLS(0, "PTTL"), LOCKS);
}

/* The second begins to listen before the first one's subscription is confirmed. */
TEST(with_Java_each_lock_that_begins_to_listen_asks_how_long_the_key_has_left)
{
    CLUSTER_OF_WAITERS(1);
    const struct redlock_request request = java_request(600000);

    java_holds(cluster, 600000);
    START_JAVA(0, 600000);          /* The subscription opens. */
    RUN_MS(20);
    cluster_cancel(cluster, 0, 0);
    RUN_MS(20);
    DELAY_ALL_US(500);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_US(50);
    CHECK_INT(cluster_acquire(cluster, 0, 1, &request), REDLOCK_OK);
    RUN_US(1000);
    java_holds(cluster, 5000);
    RUN_MS(5);
    for (unsigned i = 0; i < 2; i++)
        CHECK(redlock_view_lock(cluster_lock(cluster, 0, i)).free_in_ms <= 5000);
}

/* It gave up before it was confirmed. */
TEST(with_Java_no_lock_asks_when_a_subscription_to_another_name_is_confirmed)
{
    CLUSTER_OF_WAITERS(1);
    const struct redlock_request request = java_request(600000);
    struct redlock_request other = story_request("doors", TTL, 600000);

    other.kind = &redlock_redisson;
    java_holds(cluster, 600000);
    RIVAL(0, "doors", 600000);
    CHECK_INT(cluster_acquire(cluster, 0, 2, &other), REDLOCK_OK);
    RUN_MS(20);
    DELAY_ALL_US(500);
    const unsigned before = CALLS(0, "PTTL");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &other), REDLOCK_OK);
    RUN_US(100);
    CHECK_INT(cluster_acquire(cluster, 0, 1, &request), REDLOCK_OK);
    RUN_US(1050);
    cluster_cancel(cluster, 0, 2);
    cluster_cancel(cluster, 0, 0);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "PTTL"), before + 1);
}

/* Anybody may publish there, as often as he likes. */
TEST(s14_with_Java_a_flood_of_messages_makes_attempts_that_keep_their_distance)
{
    enum { MESSAGES = 10000, EVERY_US = 100 };
    CLUSTER_OF_WAITERS(1);
    const struct redlock_request request = java_request(600000);

    java_holds(cluster, 600000);
    for (unsigned i = 0; i < 2; i++)
        CHECK_INT(cluster_acquire(cluster, 0, i, &request), REDLOCK_OK);
    RUN_MS(100);
    const unsigned before = CALLS(0, "ACQUIRE");
    for (unsigned i = 0; i < MESSAGES; i++) {
        cluster_publish(cluster, 0, CHANNEL, "0");
        RUN_US(EVERY_US);
    }
    const unsigned attempts = CALLS(0, "ACQUIRE") - before;
    TAP_CHECK(attempts > 10 && attempts < 2 * 260, "%u attempts of two locks in a second",
              attempts);
    java_leaves(cluster);
    RUN_MS(5);
    CHECK(VALID_US(0) > 0 || cluster_valid_us(cluster, 0, 1) > 0);
}

/* S16 */
TEST(s16_with_Java_a_subscription_that_hears_something_else_is_given_up)
{
    static const char *const others[] = {
        "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\n0\r\n", "+OK\r\n",
        "*2\r\n$7\r\nmessage\r\n$29\r\n" CHANNEL "\r\n",
        "*3\r\n$4\r\npong\r\n$29\r\n" CHANNEL "\r\n$1\r\n0\r\n",
        "*2\r\n$9\r\nsubscribe\r\n$29\r\n" CHANNEL "\r\n"
    };

    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        CLUSTER_OF_WAITERS(1);
        java_holds(cluster, 600000);
        START_JAVA(0, 600000);
        RUN_MS(100);
        TAP_CONTEXT("%u", i);
        CHECK_INT(listeners(cluster, CHANNEL), 1);
        const unsigned before = CALLS(0, "ACQUIRE") + CALLS(0, "PTTL");
        tell_subscriptions(cluster, others[i]);
        RUN_US(150);
        CHECK_INT(redlock_wants(ENGINE(0), 1) & REDLOCK_WANT_SEND, 0);
        RUN_US(200);
        CHECK_INT(CALLS(0, "ACQUIRE") + CALLS(0, "PTTL"), before);
        RUN_MS(5000);
        CHECK(LINK(0, 0)->connect_count >= 3);
        EXPECT_STATUS(0, REDLOCK_PENDING);
    }
}

/* ---- Many worlds ---- */

enum { WORLDS = 1000, DEEDS = 60, CLIENTS = 3, LOCKS_EACH = 2 };

static bool java_has_it(struct cluster *cluster)
{
    const struct model_key *key = key_of(cluster, "door");

    return key && key->is_hash && key->value_size == strlen(JAVA) &&
           memcmp(key->value, JAVA, key->value_size) == 0;
}

/* It does as Redisson does. It takes a free lock, enters again and so renews its lease, which may
 * become shorter, or leaves and publishes that. */
static void java_does_something(struct cluster *cluster)
{
    const bool is_free = !key_of(cluster, "door");

    if (is_free || (java_has_it(cluster) && cluster_below(cluster, 3) > 0))
        java_holds(cluster, 1 + cluster_below(cluster, 3000));
    else if (java_has_it(cluster)) java_leaves(cluster);
}

/* A call that is refused, since the lock is in use or not held, changes nothing. */
static void lock_does_something(struct cluster *cluster, unsigned client, unsigned lock)
{
    struct redlock_request request = java_request((uint32_t)cluster_below(cluster, 3) * 2000);

    request.ttl_ms = 200 + (uint32_t)cluster_below(cluster, 3000);
    switch (cluster_below(cluster, 6)) {
    case 0:  (void)cluster_extend(cluster, client, lock, request.ttl_ms); break;
    case 1:  (void)cluster_release(cluster, client, lock); break;
    case 2:  cluster_cancel(cluster, client, lock); break;
    default: (void)cluster_acquire(cluster, client, lock, &request); break;
    }
}

static void network_does_something(struct cluster *cluster, unsigned client)
{
    switch (cluster_below(cluster, 6)) {
    case 0:  cluster_reset(cluster, client, 0, cluster_below(cluster, 2) == 0); break;
    case 1:  cluster_stall(cluster, client, 0); break;
    case 2:  LINK(client, 0)->deaf = true; break;
    case 3:  cluster_cut_subscription(cluster, client, 0); break;
    case 4:  model_flush_scripts(NODE(0)); break;
    default: cluster_heal_all(cluster); break;
    }
}

static void something_happens(struct cluster *cluster)
{
    const unsigned client = (unsigned)cluster_below(cluster, CLIENTS),
                   lock = (unsigned)cluster_below(cluster, LOCKS_EACH);

    switch (cluster_below(cluster, 8)) {
    case 0: case 1: case 2: java_does_something(cluster); break;
    case 3:                 network_does_something(cluster, client); break;
    default:                lock_does_something(cluster, client, lock); break;
    }
    cluster_run_us(cluster, cluster_below(cluster, 2) == 0 ? cluster_below(cluster, 1000)
                                                           : cluster_below(cluster, 1000000));
}

/* How many believe to hold the lock. */
static unsigned believers(struct cluster *cluster)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CLIENTS * LOCKS_EACH; i++)
        count += cluster_valid_us(cluster, i / LOCKS_EACH, i % LOCKS_EACH) > 0;
    return count;
}

/* Everything mends. Held locks are released, waiting ones get it, nothing is owed,
 * and nobody listens. */
static void end_well(struct cluster *cluster)
{
    cluster_heal_all(cluster);
    for (unsigned i = 0; i < CLIENTS * LOCKS_EACH; i++)
        cluster_cancel(cluster, i / LOCKS_EACH, i % LOCKS_EACH);
    for (unsigned i = 0; i < CLIENTS * LOCKS_EACH; i++)
        (void)cluster_release(cluster, i / LOCKS_EACH, i % LOCKS_EACH);
    RUN_MS(10000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK_INT(listeners(cluster, CHANNEL), 0);
    for (unsigned i = 0; i < CLIENTS * LOCKS_EACH; i++)
        CHECK(redlock_idle(cluster_lock(cluster, i / LOCKS_EACH, i % LOCKS_EACH)));
    TAKE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* At most one of all threads and clients has it, whatever becomes of connections and scripts, and
 * in the end nothing is left. */
TEST(with_Java_one_has_the_lock_at_most_in_many_worlds)
{
    unsigned held = 0, java = 0;

    for (unsigned world = 1; world <= WORLDS; world++) {
        struct redlock_config config;
        redlock_config_init(&config);
        config.wake_ups = true;
        struct cluster *cluster __attribute__((cleanup(story_end))) =
            cluster_new(1, CLIENTS, &config, world);
        TAP_CONTEXT("world %u", world);
        RUN_MS(STORY_SETTLE_MS);
        for (unsigned i = 0; i < DEEDS && tap.complaints == 0; i++) {
            something_happens(cluster);
            STORY_GOES_ON;
            TAP_CHECK(believers(cluster) + java_has_it(cluster) <= 1,
                      "%u believe to have it, and Java %s", believers(cluster),
                      java_has_it(cluster) ? "has it" : "has not");
            held += believers(cluster);
            java += java_has_it(cluster);
        }
        end_well(cluster);
    }
    CHECK(held > WORLDS && java > WORLDS);
}

TAP_MAIN
