/* Wrong ways to put the engine on a device, and the right ones. They are the notes of redlock(7),
 * section PORTING, as tests. */
#include "../../world/story.h"
#include "../../../tools/examples/firmware/counter.h"
#include "../../../tools/examples/firmware/device_random.h"

enum { TTL_MS = 3000, LONG_TTL_MS = 10000 };

/* ---- A clock ---- */

/* A SysTick loses interrupts while they are masked. A case was seen with 1.0 s counted of 3.3 s. */
TEST(a_clock_of_counted_ticks_that_loses_some_says_valid_when_the_keys_are_gone)
{
    CLUSTER_OF(5, 2, (void)0);
    cluster->no_promise = cluster->no_exclusion = true;
    ACQUIRE(0, "door", TTL_MS);
    cluster_set_client_rate(cluster, 0, -1000000 + 1000000 * 10 / 33);
    RUN_MS(3300);
    EXPECT_HELD(0);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_HELD(0);
    EXPECT_HELD(1);
}

TEST(a_counter_that_is_read_late_has_lost_nothing)
{
    struct counter counter;
    CLUSTER(5);
    ACQUIRE(0, "door", TTL_MS);
    const uint64_t acquired_at = CLIENT_NOW(0);
    counter_init(&counter, 256, 25, 0);                         /* A tick takes 10.24 us. */
    /* Read for the first time 3.3 s later. */
    const uint64_t later_us = counter_us(&counter, 3300000 * 25 / 256);
    CHECK(later_us > 3299980 && later_us <= 3300000);
    CHECK_INT(redlock_valid_us(LOCK(0), acquired_at + later_us), 0);
}

TEST(a_counter_of_32_bits_goes_on_when_it_wraps_and_rounds_nothing_away_however_often_it_is_read)
{
    struct counter counter;
    const uint32_t first = UINT32_MAX - 1000;
    uint64_t ticks = 0;
    counter_init(&counter, 256, 25, first);
    for (uint32_t step = 0; step < 100000; step++) {
        ticks += step % 7 == 0 ? step * 40000 : step % 1000;
        CHECK(counter_us(&counter, first + (uint32_t)ticks) == ticks * 256 / 25);
    }
}

TEST(a_counter_of_whole_microseconds_is_taken_as_it_is)
{
    struct counter counter;
    counter_init(&counter, 1, 1, 5);
    CHECK_INT(counter_us(&counter, 4), UINT32_MAX);
    CHECK(counter_us(&counter, 4) == UINT32_MAX);
}

/* A wrap that is not seen is time that did not pass, so it must be read more often than that. */
TEST(a_counter_that_wrapped_between_two_reads_has_lost_a_whole_turn)
{
    struct counter counter;
    counter_init(&counter, 1, 1, 0);
    CHECK_INT(counter_us(&counter, (uint32_t)(UINT64_C(0x100000000) + 7)), 7);
}

/* ---- Random bytes ---- */

TEST(the_cipher_of_a_device_without_a_random_source_is_xtea)
{
    const uint32_t zero[4] = { 0 }, key[4] = { 0x00010203, 0x04050607, 0x08090A0B, 0x0C0D0E0F };
    uint32_t block[2] = { 0 }, other[2] = { 0x41424344, 0x45464748 };
    device_random_encipher(zero, block);
    CHECK_INT(block[0], 0xDEE9D4D8);
    CHECK_INT(block[1], 0xF7131ED9);
    device_random_encipher(key, other);
    CHECK_INT(other[0], 0x497DF3D0);
    CHECK_INT(other[1], 0x72612CB5);
}

/* The random bytes of this client are the device's from now on. */
static void become(struct cluster *cluster, unsigned client, uint32_t secret, uint32_t boot)
{
    struct device_random device = { .secret = { secret, 2, 3, 4 }, .boot = boot };
    cluster->clients[client].starved = true;
    ENGINE(client)->entropy_size = 0;       /* The cluster's are thrown away. */
    while (redlock_entropy_wanted(ENGINE(client)) > 0) {
        uint8_t bytes[8];
        device_random_next(&device, bytes);
        redlock_add_entropy(ENGINE(client), bytes, sizeof bytes);
    }
}

static void token_of(struct cluster *cluster, unsigned client, char text[REDLOCK_TOKEN_TEXT + 1])
{
    redlock_token(LOCK(client), text);
}

TEST(another_device_and_another_life_of_the_same_have_other_tokens)
{
    char tokens[3][REDLOCK_TOKEN_TEXT + 1];
    CLUSTER_OF(3, 3, (void)0);
    become(cluster, 0, 1, 1);
    become(cluster, 1, 2, 1);
    become(cluster, 2, 1, 2);
    for (unsigned c = 0; c < 3; c++) {
        ACQUIRE(c, "door", TTL_MS);
        token_of(cluster, c, tokens[c]);
        if (redlock_lock_status(LOCK(c)) == REDLOCK_OK) RELEASE(c);
        RUN_MS(10);
    }
    CHECK(strcmp(tokens[0], tokens[1]) != 0);
    CHECK(strcmp(tokens[0], tokens[2]) != 0);
    CHECK(strcmp(tokens[1], tokens[2]) != 0);
}

/* The second device hears nothing from three nodes, so it releases its possible keys there as soon
 * as it can. */
static void try_in_vain(struct cluster *cluster, uint32_t secret)
{
    become(cluster, 0, 1, 1);
    become(cluster, 1, secret, 1);
    ACQUIRE(0, "door", LONG_TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++) LINK(1, k)->deaf = true;
    ACQUIRE(1, "door", LONG_TTL_MS);
    EXPECT_STATUS(1, REDLOCK_NO_QUORUM);
    HEAL_ALL;
    RUN_MS(3000);
    EXPECT_HELD(0);
}

TEST(of_two_devices_with_the_same_random_bytes_one_deletes_the_lock_of_the_other)
{
    CLUSTER_OF(5, 3, (void)0);
    cluster->no_promise = cluster->no_exclusion = true;
    try_in_vain(cluster, 1);
    EXPECT_KEYS("door", 2);
    ACQUIRE(2, "door", LONG_TTL_MS);
    EXPECT_STATUS(2, REDLOCK_OK);
    EXPECT_HELD(0);
    EXPECT_HELD(2);
}

TEST(of_two_devices_with_random_bytes_of_their_own_neither_touches_the_lock_of_the_other)
{
    CLUSTER_OF(5, 3, (void)0);
    try_in_vain(cluster, 2);
    EXPECT_KEYS("door", 5);
}

/* ---- The engine is made ready by a request ---- */

/* Nothing else was switched on. Every other story uses engines in which all is. */
TEST(a_request_switches_on_what_its_kind_needs)
{
    static const struct redlock_kind *const kinds[] = {
        &redlock_shared, &redlock_fair, &redlock_permits, &redlock_redisson
    };
    static struct redlock_node nodes[1];
    static uint64_t memory[REDLOCK_MEMORY_DEFAULT(1) / 8 + 1];

    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct redlock r;
        struct redlock_lock lock;
        struct redlock_request request = story_request("door", TTL_MS, 0);

        TAP_CONTEXT("kind %u", i);
        request.kind = kinds[i];
        request.permits = kinds[i] == &redlock_permits;
        CHECK_INT(redlock_init(&r, NULL, nodes, 1, memory, sizeof memory, 1), REDLOCK_OK);
        CHECK(!r.holding && !r.hashing && !r.restoring);
        redlock_lock_init(&lock);
        CHECK_INT(redlock_start_acquire(&r, &lock, &request, 1), REDLOCK_OK);
        CHECK(r.holding && r.hashing);
        CHECK_INT(r.restoring != NULL, kinds[i] == &redlock_permits);
    }
}

/* ---- A wall clock ---- */

static enum redlock_status start(bool ticket)
{
    static struct redlock r;
    static struct redlock_node nodes[3];
    static uint64_t memory[REDLOCK_MEMORY_DEFAULT(3) / 8 + 1];
    static struct redlock_lock lock;
    struct redlock_request request = story_request("door", TTL_MS, 0);

    request.ticket = ticket;
    if (redlock_init(&r, NULL, nodes, 3, memory, sizeof memory, 1) != REDLOCK_OK)
        return REDLOCK_BAD_MEMORY;
    redlock_use(&r, &redlock_tickets);
    redlock_lock_init(&lock);
    return redlock_start_acquire(&r, &lock, &request, 1);
}

TEST(without_a_wall_clock_there_are_locks_and_no_tickets)
{
    CHECK_INT(start(false), REDLOCK_OK);
    CHECK_INT(start(true), REDLOCK_BAD_CLOCK);
}

/* ---- Resets and power failures ---- */

TEST(after_a_reset_the_lock_of_the_former_life_is_taken_until_its_ttl_ends_and_no_longer)
{
    CLUSTER(5);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(1000);
    cluster_client_dies(cluster, 0);
    cluster_client_returns(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    const uint64_t began_at = CLIENT_NOW(0);
    ACQUIRE_WAIT(0, "door", TTL_MS, REDLOCK_FOREVER);
    EXPECT_STATUS(0, REDLOCK_OK);
    const uint64_t waited_us = CLIENT_NOW(0) - began_at;
    CHECK(waited_us > 1900000 && waited_us < 2400000);
}

TEST(after_a_reset_what_the_former_life_did_not_hold_is_there_at_once)
{
    CLUSTER(5);
    ACQUIRE(0, "door", TTL_MS);
    cluster_client_dies(cluster, 0);
    cluster_client_returns(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "gate", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* Returns with a token that was kept in flash, written there before the first step that
 * the lock protects. */
static void return_with_token(struct cluster *cluster)
{
    char token[REDLOCK_TOKEN_TEXT + 1];

    ACQUIRE(0, "door", TTL_MS);
    token_of(cluster, 0, token);
    cluster_client_dies(cluster, 0);
    cluster_client_returns(cluster, 0);
    CHECK_INT(cluster_adopt(cluster, 0, 0, "door", token), REDLOCK_OK);
}

TEST(after_a_reset_a_token_that_was_kept_releases_the_lock_of_the_former_life)
{
    CLUSTER(5);
    return_with_token(cluster);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(STORY_SETTLE_MS);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* It may be extended as well, if the protected work can be gone on with. */
TEST(after_a_reset_a_token_that_was_kept_takes_the_lock_up_again)
{
    CLUSTER(5);
    return_with_token(cluster);
    EXPECT_NOT_HELD(0);
    EXTEND(0, TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
}

TAP_MAIN
