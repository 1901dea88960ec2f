/* Versions and defaults, and every limit of redlock.h, at the limit and one past it. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

/* ---- Versions and defaults ---- */

TEST(the_numbers_of_the_version_are_those_of_its_text)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", REDLOCK_VERSION_MAJOR, REDLOCK_VERSION_MINOR,
             REDLOCK_VERSION_PATCH);
    CHECK_STR(REDLOCK_VERSION, text);
    CHECK_STR(redlock_version(), REDLOCK_VERSION);
    CHECK_INT(REDLOCK_VERSION_NUMBER,
              REDLOCK_VERSION_MAJOR * 10000 + REDLOCK_VERSION_MINOR * 100 + REDLOCK_VERSION_PATCH);
}

TEST(a_request_begins_as_one_attempt_without_limit_and_ticket)
{
    struct redlock_request request;
    memset(&request, 0xa5, sizeof request);
    redlock_request_init(&request);
    CHECK(!request.resource && request.resource_size == 0 && !request.set &&
          request.set_count == 0);
    CHECK(request.ttl_ms == 0 && request.wait_ms == 0 && request.min_validity_ms == 0 &&
          request.extension_limit == 0);
    CHECK(!request.ticket && request.wall_us == 0);
}

/* ---- Limits, at the limit and one past ---- */

static void acquire_name_of(size_t size, enum redlock_status expected)
{
    CLUSTER(1);
    char name[REDLOCK_RESOURCE_MAX + 2];
    memset(name, '\n', sizeof name);
    const struct redlock_request request = {
        .resource = name, .resource_size = size, .ttl_ms = DOOR_TTL
    };
    TAP_CONTEXT("%zu bytes", size);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), expected);
    if (expected != REDLOCK_OK) {
        EXPECT_STATUS(0, REDLOCK_LOST);
        return;
    }
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(model_find(NODE(0), 0, name, size, cluster_node_now(cluster, 0)) != NULL);
}

TEST(a_resource_has_1_to_512_bytes)
{
    acquire_name_of(0, REDLOCK_BAD_RESOURCE);
    acquire_name_of(1, REDLOCK_OK);
    acquire_name_of(REDLOCK_RESOURCE_MAX, REDLOCK_OK);
    acquire_name_of(REDLOCK_RESOURCE_MAX + 1, REDLOCK_BAD_RESOURCE);
}

static void use_name(const char *name, enum redlock_status expected)
{
    CLUSTER(1);
    struct redlock_sight sights[1];
    const struct redlock_request request = story_request(name, DOOR_TTL, 0);
    TAP_CONTEXT("%s", name);
    CHECK_INT(cluster_adopt(cluster, 0, 0, name, "0123456789abcdef0123456789abcdef01234567"),
              expected);
    CHECK_INT(cluster_inspect(cluster, 0, 1, name, sights), expected);
    CHECK_INT(cluster_acquire(cluster, 0, 2, &request), expected);
}

TEST(no_resource_has_the_name_of_a_key_that_lies_beside_another)
{
    use_name("door#ticket", REDLOCK_BAD_RESOURCE);
    use_name("door#waiters", REDLOCK_BAD_RESOURCE);
    use_name("#ticket", REDLOCK_BAD_RESOURCE);
    use_name("door#tickets", REDLOCK_OK);
    use_name("ticket", REDLOCK_OK);
    use_name("door#waiter", REDLOCK_OK);
    use_name("door:ticket", REDLOCK_OK);
}

TEST(a_resource_may_hold_any_bytes)
{
    CLUSTER(1);
    uint8_t name[256];
    for (unsigned i = 0; i < 256; i++) name[i] = (uint8_t)i;
    const struct redlock_request request = {
        .resource = name, .resource_size = sizeof name, .ttl_ms = DOOR_TTL
    };
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(model_find(NODE(0), 0, name, sizeof name, cluster_node_now(cluster, 0)) != NULL);
    RELEASE(0);
    CHECK_INT(NODE(0)->key_count, 0);
}

TEST(no_resource_is_none_for_every_operation)
{
    CLUSTER(1);
    struct redlock_sight sights[1];
    const struct redlock_request request = {
        .resource = NULL, .resource_size = 4, .ttl_ms = DOOR_TTL
    };
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)),
              REDLOCK_BAD_RESOURCE);
    CHECK_INT(cluster_inspect(cluster, 0, 0, "", sights), REDLOCK_BAD_RESOURCE);
    CHECK(IDLE(0));
}

TEST(the_configured_limit_of_a_resource_holds)
{
    CLUSTER_OF(1, 1, config.resource_max = 4; config.send_size = REDLOCK_SEND_MIN(4));
    struct redlock_request request = story_request("doors", DOOR_TTL, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_RESOURCE);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_ttl_has_1_to_2147483647_milliseconds_and_leaves_something)
{
    CLUSTER_OF(1, 1, config.guard_ms = 0);
    struct redlock_request request = story_request("door", 0, 0);
    static const uint32_t bad[] = { 0, 1, 2, 2147483648u, UINT32_MAX };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        request.ttl_ms = bad[i];
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_TTL);
    }
    ACQUIRE(0, "door", 3); /* Two milliseconds and 30 us are drift. */
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(10);
    ACQUIRE(0, "door", REDLOCK_TTL_MS_MAX);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(VALID_US(0) > UINT64_C(2100000000000));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(cluster_extend(cluster, 0, 0, bad[i]), REDLOCK_BAD_TTL);
    EXTEND(0, REDLOCK_TTL_MS_MAX);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_ttl_that_does_not_leave_the_minimum_is_refused)
{
    CLUSTER(1);
    struct redlock_request request = story_request("door", 1000, 0);
    request.min_validity_ms = 988;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_TTL);
    request.min_validity_ms = 987;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

static enum redlock_status init_with(unsigned n, const struct redlock_config *config,
                                     size_t missing, size_t shift)
{
    static struct redlock r;
    static struct redlock_node nodes[REDLOCK_NODES_MAX];
    const size_t size =
        REDLOCK_MEMORY(n, config->pipeline, config->send_size, config->receive_size);
    uint8_t *memory = calloc(1, n <= REDLOCK_NODES_MAX ? size + 16 : 16);
    const enum redlock_status status =
        redlock_init(&r, config, nodes, n, memory + shift, size - missing, 1000);
    free(memory);
    return status;
}

TEST(there_are_1_to_15_nodes)
{
    struct redlock_config config;
    redlock_config_init(&config);
    CHECK_INT(init_with(0, &config, 0, 0), REDLOCK_BAD_NODE_COUNT);
    CHECK_INT(init_with(1, &config, 0, 0), REDLOCK_OK);
    CHECK_INT(init_with(15, &config, 0, 0), REDLOCK_OK);
    CHECK_INT(init_with(16, &config, 0, 0), REDLOCK_BAD_NODE_COUNT);
    CHECK_INT(init_with(UINT32_MAX, &config, 0, 0), REDLOCK_BAD_NODE_COUNT);
}

TEST(memory_that_is_a_byte_short_or_misaligned_is_refused)
{
    struct redlock_config config;
    /* 4 on 32 bits of x86. */
    const size_t alignment = offsetof(struct { char c; uint64_t member; }, member);
    redlock_config_init(&config);
    for (unsigned n = 1; n <= 15; n++) {
        CHECK_INT(init_with(n, &config, 0, 0), REDLOCK_OK);
        CHECK_INT(init_with(n, &config, 1, 0), REDLOCK_BAD_MEMORY);
        for (size_t shift = 1; shift <= sizeof(uint64_t); shift++)
            CHECK_INT(init_with(n, &config, 0, shift),
                      shift % alignment == 0 ? REDLOCK_OK : REDLOCK_BAD_MEMORY);
    }
}

TEST(no_memory_is_refused)
{
    struct redlock r;
    struct redlock_node nodes[1];
    CHECK_INT(redlock_init(&r, NULL, nodes, 1, NULL, 100000, 0), REDLOCK_BAD_MEMORY);
}

TEST(a_value_of_the_configuration_out_of_its_range_is_refused)
{
    struct redlock_config good, bad;
    redlock_config_init(&good);
#define EXPECT_BAD(change) \
    do { \
        bad = good; \
        bad.change; \
        CHECK_INT(init_with(3, &bad, 0, 0), REDLOCK_BAD_CONFIG); \
    } while (0)
#define EXPECT_GOOD(change) \
    do { \
        bad = good; \
        bad.change; \
        CHECK_INT(init_with(3, &bad, 0, 0), REDLOCK_OK); \
    } while (0)
    EXPECT_GOOD(drift_ppm = 0);
    EXPECT_GOOD(drift_ppm = REDLOCK_DRIFT_PPM_MAX);
    EXPECT_BAD(drift_ppm = REDLOCK_DRIFT_PPM_MAX + 1);
    EXPECT_BAD(drift_ppm = UINT32_MAX);
    EXPECT_BAD(node_timeout_ms = 0);
    EXPECT_GOOD(node_timeout_ms = 1);
    EXPECT_BAD(retry_ms = 0);
    EXPECT_GOOD(retry_ms = 1);
    EXPECT_GOOD(retry_ms = REDLOCK_RETRY_MS_MAX);
    EXPECT_BAD(retry_ms = REDLOCK_RETRY_MS_MAX + 1);
    EXPECT_BAD(resource_max = 0);
    EXPECT_GOOD(resource_max = 1);
    EXPECT_GOOD(resource_max = REDLOCK_RESOURCE_MAX);
    EXPECT_BAD(resource_max = REDLOCK_RESOURCE_MAX + 1);
    EXPECT_BAD(pipeline = REDLOCK_PIPELINE_MIN - 1);
    EXPECT_GOOD(pipeline = REDLOCK_PIPELINE_MIN);
    EXPECT_GOOD(pipeline = UINT16_MAX);
    EXPECT_BAD(receive_size = REDLOCK_RECEIVE_MIN - 1);
    EXPECT_GOOD(receive_size = REDLOCK_RECEIVE_MIN);
    EXPECT_BAD(send_size = REDLOCK_SEND_MIN(REDLOCK_RESOURCE_MAX) - 1);
    EXPECT_GOOD(send_size = REDLOCK_SEND_MIN(REDLOCK_RESOURCE_MAX));
    EXPECT_BAD(send_size = REDLOCK_BUFFER_MAX + 1);
    EXPECT_BAD(send_size = UINT32_MAX);
    EXPECT_GOOD(send_size = REDLOCK_BUFFER_MAX);
    EXPECT_BAD(receive_size = REDLOCK_BUFFER_MAX + 1);
    EXPECT_BAD(receive_size = UINT32_MAX);
    EXPECT_GOOD(receive_size = REDLOCK_BUFFER_MAX);
    EXPECT_GOOD(guard_ms = 0);
    EXPECT_GOOD(guard_ms = UINT32_MAX);
    EXPECT_BAD(keep_percent = 0);
    EXPECT_GOOD(keep_percent = 1);
    EXPECT_GOOD(keep_percent = REDLOCK_KEEP_PERCENT_MAX);
    EXPECT_BAD(keep_percent = REDLOCK_KEEP_PERCENT_MAX + 1);
    EXPECT_BAD(ticket_skew_ms = 0);
    EXPECT_GOOD(ticket_skew_ms = 1);
    EXPECT_GOOD(ticket_skew_ms = REDLOCK_SKEW_MS_MAX);
    EXPECT_BAD(ticket_skew_ms = REDLOCK_SKEW_MS_MAX + 1);
    EXPECT_BAD(ticket_life_ms = 0);
    EXPECT_GOOD(ticket_life_ms = 1);
    EXPECT_GOOD(ticket_life_ms = UINT32_MAX);
}

TEST(the_largest_values_of_the_configuration_make_no_time_wrap)
{
    CLUSTER_OF(3, 1, config.guard_ms = UINT32_MAX; config.node_timeout_ms = UINT32_MAX;
               config.retry_ms = REDLOCK_RETRY_MS_MAX;
               config.drift_ppm = REDLOCK_DRIFT_PPM_MAX);
    for (unsigned k = 0; k < 3; k++)
        CHECK(!VOTES(0, k)); /* They have not been up for 49 days. */
    DOWN(0); UP(0);
    RUN_MS(86400000);
    CHECK(!VOTES(0, 0));
}

TEST(a_user_and_a_password_have_512_bytes_together)
{
    CLUSTER_COLD(1, 1, (void)0);
    static char user[REDLOCK_LOGIN_MAX], password[REDLOCK_LOGIN_MAX];
    const struct redlock_login login = { .user = user, .password = password };
    memset(user, 'u', 200);
    memset(password, 'p', REDLOCK_LOGIN_MAX - 200 + 1);
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_BAD_CONFIG);
    password[REDLOCK_LOGIN_MAX - 200] = '\0';
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_OK);
    NODE(0)->user = user;
    NODE(0)->password = password;
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_login_is_for_a_node_that_there_is)
{
    CLUSTER_COLD(3, 1, (void)0);
    const struct redlock_login login = { .password = "secret" };
    CHECK_INT(redlock_set_login(ENGINE(0), 3, &login), REDLOCK_BAD_CONFIG);
    CHECK_INT(redlock_set_login(ENGINE(0), 2, &login), REDLOCK_OK);
}

TEST(a_user_without_a_password_is_no_login)
{
    CLUSTER_COLD(1, 1, (void)0);
    const struct redlock_login login = { .user = "joe" };
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_BAD_CONFIG);
}

TEST(a_login_that_does_not_fit_in_the_send_buffer_is_refused)
{
    CLUSTER_COLD(1, 1, config.resource_max = 10; config.send_size = REDLOCK_SEND_MIN(10));
    static char password[REDLOCK_LOGIN_MAX];
    memset(password, 'p', REDLOCK_LOGIN_MAX - 1);
    const struct redlock_login login = { .password = password };
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_BAD_CONFIG);
    password[200] = '\0';
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_OK);
    NODE(0)->password = password;
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(every_status_has_a_text_of_its_own_and_every_other_number_none)
{
    unsigned known = 0;
    for (int a = -5; a < 300; a++) {
        const char *text = redlock_status_text((enum redlock_status)a);
        CHECK(text && text[0] != '\0');
        if (strcmp(text, "unknown status") == 0) continue;
        known++;
        for (int b = 0; b < a; b++)
            CHECK(strcmp(text, redlock_status_text((enum redlock_status)b)) != 0);
    }
#define COUNT_ONE(number, name, text) +1
    CHECK_INT(known, 0 REDLOCK_STATUSES(COUNT_ONE));
}

TEST(a_description_is_cut_to_its_size_and_always_terminated)
{
    CLUSTER_COLD(3, 1, (void)0);
    DOWN(0);
    NODE(1)->started_us = cluster_node_now(cluster, 1);
    NODE(2)->role = MODEL_REPLICA;
    RUN_MS(STORY_SETTLE_MS);
    for (unsigned k = 0; k < 3; k++) {
        char whole[200], cut[200];
        redlock_describe_node(ENGINE(0), k, CLIENT_NOW(0), whole, sizeof whole);
        for (size_t size = 1; size < sizeof cut; size++) {
            memset(cut, 'X', sizeof cut);
            redlock_describe_node(ENGINE(0), k, CLIENT_NOW(0), cut, size);
            const size_t expected = strlen(whole) < size ? strlen(whole) : size - 1;
            CHECK(cut[expected] == '\0');
            CHECK_INT(memcmp(cut, whole, expected), 0);
            CHECK(cut[size] == 'X');
        }
    }
}

TAP_MAIN
