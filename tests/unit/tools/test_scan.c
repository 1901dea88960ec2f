/* scan: the state that the keys of one name on all nodes make up, and the keys that
 * may be removed. */
#include "../../../tools/admin/classes.c"

#include "../../../redlock/quorum.h"
#include "../../tap.h"

#define A "5f3a0c6e1b7d42988a3b6d1fe0472c95b1a8e34d"
#define B "0123456789abcdef0123456789abcdef01234567"
#define NEVER (-1)

enum { GUARD_MS = 30000 };

static struct scan_sight string_of(const char *value, int64_t ttl_ms)
{
    struct scan_sight sight = { .type = SIGHT_STRING, .ttl_ms = ttl_ms };

    sight.value_size = (uint8_t)(strlen(value) < SCAN_VALUE_KEPT ? strlen(value) : SCAN_VALUE_KEPT);
    memcpy(sight.value, value, sight.value_size);
    return sight;
}

static struct scan_sight sight_of(enum scan_type type, int64_t ttl_ms, uint32_t readers)
{
    return (struct scan_sight){ .type = type, .ttl_ms = ttl_ms, .readers = readers };
}

#define HAS(value, ttl) string_of(value, ttl)
#define NOTHING         sight_of(SIGHT_ABSENT, 0, 0)
#define SILENT          sight_of(SIGHT_UNKNOWN, 0, 0)
#define FORGOT          sight_of(SIGHT_FORGOTTEN, 0, 0)
#define MARK(ttl, of)   sight_of(SIGHT_SHARED, ttl, of)

static struct scan_judgement judgement;

static struct scan_sight queue_of(const char *first, int64_t lease_ms, uint32_t queued)
{
    struct scan_sight sight = string_of(first, lease_ms);

    sight.type = SIGHT_QUEUE;
    sight.queued = queued;
    return sight;
}

#define JUDGE(...) \
    do { \
        struct scan_sight sights_[] = { __VA_ARGS__ }; \
        scan_judge(&judgement, sights_, sizeof sights_ / sizeof sights_[0], false, GUARD_MS); \
    } while (0)

#define CHECK_CLASSES(expected) CHECK_INT(judgement.classes, expected)
#define CHECK_LEFT_ALONE()      CHECK_INT(judgement.removable | judgement.endless, 0)

TEST(one_value_on_a_quorum_is_held_and_on_all_nodes_no_more_than_that)
{
    JUDGE(HAS(A, 9000), HAS(A, 9001), HAS(A, 9002));
    CHECK_CLASSES(BIT(HELD));
    CHECK_INT(judgement.agreeing, 3);
    CHECK(judgement.has_end);
    CHECK_INT(judgement.ends_in_ms, 9001);
    CHECK_LEFT_ALONE();
    CHECK_INT(scan_level_of(scan_gravest(judgement.classes)), SCAN_COUNTED);
}

TEST(a_queue_is_told_by_its_first_on_most_nodes_and_ends_with_its_lease)
{
    struct scan_sight sights[] = {
        queue_of(A ":0123456789abcdef:7 1000", 900, 3),
        queue_of(B ":0123456789abcdef:8 1001", 4000, 1),
        queue_of(A ":0123456789abcdef:7 1007", 1200, 3), sight_of(SIGHT_ABSENT, 0, 0)
    };

    scan_judge(&judgement, sights, 4, true, GUARD_MS);
    CHECK_CLASSES(BIT(QUEUE_IDLE));
    CHECK_INT(judgement.agreeing, 2);
    CHECK_INT(judgement.best, 0);
    CHECK(judgement.has_end);
    CHECK_INT(judgement.ends_in_ms, 1200);
    CHECK_LEFT_ALONE();
    CHECK_INT(scan_level_of(scan_gravest(judgement.classes)), SCAN_TOLD);
    sights[0].ttl_ms = NEVER;
    scan_judge(&judgement, sights, 1, true, GUARD_MS);
    CHECK_CLASSES(BIT(BESIDE_NO_TTL));
    CHECK_INT(judgement.agreeing, 0);
    sights[0] = queue_of("short", 900, 1);      /* It belongs to another program. */
    scan_judge(&judgement, sights, 1, true, GUARD_MS);
    CHECK_CLASSES(BIT(QUEUE_IDLE));
    CHECK_INT(judgement.agreeing, 0);
}

TEST(held_but_not_on_all_that_answered_is_degraded_and_a_silent_node_is_no_evidence)
{
    JUDGE(HAS(A, 9000), NOTHING, HAS(A, 9000));
    CHECK_CLASSES(BIT(HELD) | BIT(DEGRADED));
    CHECK_LEFT_ALONE();
    JUDGE(HAS(A, 9000), FORGOT, HAS(A, 9000));
    CHECK_CLASSES(BIT(HELD) | BIT(DEGRADED));
    JUDGE(HAS(A, 9000), SILENT, HAS(A, 9000));
    CHECK_CLASSES(BIT(HELD));
}

TEST(s7_what_nodes_that_cannot_tell_would_make_a_quorum_of_may_be_held_and_is_left_alone)
{
    JUDGE(HAS(A, 9000), SILENT, NOTHING);
    CHECK_CLASSES(BIT(MAYBE_HELD));
    CHECK_LEFT_ALONE();
    JUDGE(HAS(A, 9000), NOTHING, NOTHING);
    CHECK_CLASSES(BIT(LEFTOVER));
    CHECK_INT(judgement.removable, 1);
    JUDGE(HAS(A, 9000), NOTHING, NOTHING, SILENT, NOTHING);
    CHECK_CLASSES(BIT(LEFTOVER));
    JUDGE(HAS(A, 9000), HAS(A, 9000), NOTHING, SILENT, NOTHING);
    CHECK_CLASSES(BIT(MAYBE_HELD));
    CHECK_LEFT_ALONE();
}

TEST(s7_a_node_that_has_restarted_may_have_forgotten_a_lock_that_is_held)
{
    JUDGE(HAS(A, 9000), FORGOT, NOTHING);
    CHECK_CLASSES(BIT(MAYBE_HELD));
    CHECK_LEFT_ALONE();
}

/* Each node has one of: nothing, A, A without a TTL, B, silent, forgot; on up to five nodes. */
TEST(s7_nothing_is_removed_that_with_all_nodes_that_cannot_tell_would_be_on_a_quorum)
{
    const struct scan_sight choices[] = {
        NOTHING, HAS(A, 9000), HAS(A, NEVER), HAS(B, 8000), SILENT, FORGOT
    };

    for (unsigned count = 1; count <= 5; count++) {
        unsigned worlds = 1;
        for (unsigned k = 0; k < count; k++) worlds *= 6;
        for (unsigned world = 0; world < worlds; world++) {
            struct scan_sight sights[5];
            unsigned of[6] = { 0 };
            for (unsigned k = 0, rest = world; k < count; k++, rest /= 6) {
                sights[k] = choices[rest % 6];
                of[rest % 6]++;
            }
            scan_judge(&judgement, sights, count, false, GUARD_MS);
            for (unsigned k = 0; k < count; k++) {
                bool is_a = scan_is_same(&sights[k], &choices[1]);
                if (!((judgement.removable | judgement.endless) >> k & 1)) continue;
                CHECK((is_a ? of[1] : of[3]) + of[4] + of[5] < quorum_of(count));
                CHECK_INT(judgement.endless >> k & 1, is_a && of[2] > 0);
            }
            if (of[1] + of[2] >= quorum_of(count) || of[3] >= quorum_of(count))
                CHECK(judgement.classes & BIT(HELD));
        }
    }
}

TEST(two_values_and_none_on_a_quorum_are_a_split_and_each_may_go)
{
    JUDGE(HAS(A, 9000), HAS(B, 9000), NOTHING);
    CHECK_CLASSES(BIT(SPLIT));
    CHECK_INT(judgement.removable, 3);
    JUDGE(HAS(A, 9000), HAS(B, 9000), SILENT);
    CHECK_CLASSES(BIT(MAYBE_HELD));
    CHECK_LEFT_ALONE();
}

TEST(a_loser_beside_a_holder_may_go_and_the_holder_stays)
{
    JUDGE(HAS(B, 9000), HAS(A, 9000), HAS(A, 9000));
    CHECK_CLASSES(BIT(HELD) | BIT(DEGRADED));
    CHECK_INT(judgement.removable, 1);
    CHECK_INT(judgement.best, 1);
}

TEST(a_value_without_a_ttl_is_a_leak_that_goes_only_if_that_is_asked_for)
{
    JUDGE(HAS(A, NEVER), NOTHING, NOTHING);
    CHECK_CLASSES(BIT(NO_TTL));
    CHECK_INT(judgement.removable, 0);
    CHECK_INT(judgement.endless, 1);
    CHECK(!judgement.has_end);
    JUDGE(HAS(A, NEVER), HAS(A, NEVER), HAS(A, NEVER));
    CHECK_CLASSES(BIT(NO_TTL) | BIT(HELD));
    CHECK_INT(judgement.endless, 1);
    CHECK(!judgement.has_end);
    CHECK_INT(scan_gravest(judgement.classes), SCAN_NO_TTL);
}

TEST(s7_a_holder_whose_key_has_lost_its_ttl_on_one_node_keeps_it)
{
    JUDGE(HAS(A, NEVER), HAS(A, 9000), HAS(A, 9000));
    CHECK_CLASSES(BIT(NO_TTL) | BIT(HELD));
    CHECK_LEFT_ALONE();
}

TEST(a_mark_of_a_shared_lock_goes_with_its_readers_and_is_never_removed)
{
    JUDGE(MARK(9000, 2), MARK(5000, 1), MARK(9000, 2));
    CHECK_CLASSES(BIT(SHARED));
    JUDGE(MARK(9000, 0), MARK(9000, 2), MARK(9000, 2));
    CHECK_CLASSES(BIT(SHARED) | BIT(SHARED_ODD));
    JUDGE(MARK(9000, 1), NOTHING, NOTHING);
    CHECK_CLASSES(BIT(LEFTOVER));
    CHECK_LEFT_ALONE();
    JUDGE(MARK(9000, 1), HAS(A, 9000), NOTHING);
    CHECK_CLASSES(BIT(SPLIT));
    CHECK_INT(judgement.removable, 2);
}

TEST(a_ttl_over_the_guard_is_told_unless_there_is_no_guard)
{
    struct scan_sight sights[] = { HAS(A, GUARD_MS + 1), HAS(A, GUARD_MS + 1), HAS(A, GUARD_MS) };

    scan_judge(&judgement, sights, 3, false, GUARD_MS);
    CHECK_CLASSES(BIT(HELD) | BIT(TTL_OVER_GUARD));
    scan_judge(&judgement, sights, 3, false, 0);
    CHECK_CLASSES(BIT(HELD));
    JUDGE(HAS(A, GUARD_MS), HAS(A, GUARD_MS), HAS(A, GUARD_MS));
    CHECK_CLASSES(BIT(HELD));
}

TEST(ttls_of_one_value_that_are_apart_are_told)
{
    JUDGE(HAS(A, 10000), HAS(A, 8900), HAS(A, 10000));
    CHECK_CLASSES(BIT(HELD));
    JUDGE(HAS(A, 10000), HAS(A, 8899), HAS(A, 10000));
    CHECK_CLASSES(BIT(HELD) | BIT(TTL_UNLIKE));
}

TEST(other_data_is_counted_and_is_in_the_way_where_the_name_is_a_locks)
{
    struct scan_sight list = sight_of(SIGHT_OTHER, NEVER, 0), beside = list;

    beside.has_ticket = true;
    JUDGE(list, list, NOTHING);
    CHECK_CLASSES(BIT(DATA));
    JUDGE(HAS("{\"user\":17}", 9000), NOTHING, NOTHING);
    CHECK_CLASSES(BIT(DATA));
    JUDGE(HAS(A, 9000), HAS(A, 9000), list);
    CHECK_CLASSES(BIT(HELD) | BIT(DEGRADED) | BIT(IN_THE_WAY));
    JUDGE(beside, NOTHING, NOTHING);
    CHECK_CLASSES(BIT(IN_THE_WAY));
    CHECK_LEFT_ALONE();
}

TEST(a_lock_of_redissons_is_counted_and_a_leak_without_a_ttl_and_stays)
{
    JUDGE(sight_of(SIGHT_REDISSON, 9000, 0), NOTHING, NOTHING);
    CHECK_CLASSES(BIT(REDISSON));
    JUDGE(sight_of(SIGHT_REDISSON, NEVER, 0), NOTHING, NOTHING);
    CHECK_CLASSES(BIT(REDISSON) | BIT(NO_TTL));
    CHECK_LEFT_ALONE();
    JUDGE(sight_of(SIGHT_REDISSON, 9000, 0), HAS(A, 9000), HAS(A, 9000));
    CHECK_CLASSES(BIT(REDISSON) | BIT(HELD) | BIT(DEGRADED) | BIT(IN_THE_WAY));
}

TEST(a_key_beside_a_lock_is_no_lock)
{
    struct scan_sight sights[] = { HAS("1795262400000000", NEVER), NOTHING, NOTHING };

    scan_judge(&judgement, sights, 3, true, GUARD_MS);
    CHECK_CLASSES(BIT(BESIDE_NO_TTL));
    CHECK_LEFT_ALONE();
    sights[0] = sight_of(SIGHT_OTHER, 9000, 0);
    scan_judge(&judgement, sights, 3, true, GUARD_MS);
    CHECK_CLASSES(BIT(SHARED_ODD));
    sights[0] = NOTHING;
    scan_judge(&judgement, sights, 3, true, GUARD_MS);
    CHECK_CLASSES(0);
}

TEST(nothing_anywhere_is_of_no_class)
{
    JUDGE(NOTHING, SILENT, FORGOT);
    CHECK_CLASSES(0);
    CHECK_INT(scan_gravest(0), SCAN_CLASS_COUNT);
    CHECK_STR(scan_label(SCAN_CLASS_COUNT), "none");
    CHECK_STR(scan_words(SCAN_CLASS_COUNT), "nothing");
    CHECK_INT(scan_level_of(SCAN_CLASS_COUNT), SCAN_COUNTED);
    CHECK_STR(scan_label(SCAN_LEFTOVER), "leftover");
    CHECK(strstr(scan_words(SCAN_LEFTOVER), "left over"));
}

static bool is_token(const char *value)
{
    return scan_is_token((const uint8_t *)value, strlen(value));
}

TEST(tokens_are_those_of_redlock_libraries_and_words_are_none)
{
    CHECK(is_token(A));
    CHECK(is_token(A " web2:4711 backup.sh"));
    CHECK(is_token("0123456789abcdef0123456789ABCDEF"));
    CHECK(is_token("9b2e6f1a-3c4d-4e5f-8a9b-0c1d2e3f4a5b"));
    CHECK(is_token("q83vEjRWeJq83vEjRWeJqw=="));
    CHECK(is_token("abcdefghij1234567890ab"));
    CHECK(!is_token(""));
    CHECK(!is_token("~shared"));
    CHECK(!is_token("internationalization"));           /* 20 letters. */
    CHECK(!is_token("12345678901234567890"));
    CHECK(!is_token("abcdefghij 1234567890a"));
    CHECK(!is_token("abcdefghij1234567890abcde"));      /* 25. */
    CHECK(!is_token("9b2e6f1a03c4d-4e5f-8a9b-0c1d2e3f4a5b"));
    CHECK(!is_token("9b2e6f1a-3c4d-4e5f-8a9b-0c1d2e3f4a5g"));
    CHECK(!is_token("0123456789abcdef0123456789abcdeg"));
    CHECK(!is_token(A "7"));
    CHECK(!is_token(A " 123456789 123456789 123456789 123456789 123456789 123456789 1234"));
}

TEST(a_value_that_is_longer_than_any_locks_is_data)
{
    static const char name[] = " 123456789 123456789 123456789 123456789 123456789 123456789 123";

    JUDGE(HAS(A " 123456789 123456789 123456789 123456789 123456789 123456789 123", 9000), NOTHING,
          NOTHING);
    CHECK_CLASSES(BIT(LEFTOVER));
    CHECK_INT(sizeof A + sizeof name - 2, REDLOCK_VALUE_TEXT);
    JUDGE(HAS(A " 123456789 123456789 123456789 123456789 123456789 123456789 1234", 9000), NOTHING,
          NOTHING);
    CHECK_CLASSES(BIT(DATA));
}

TAP_MAIN
