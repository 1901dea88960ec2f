/* Every kind of answer that shows a node's trouble. Tests its vote, its name, and the engine's
 * response. The texts are those of redis-server 7.0. */
#include "../kinds/kinds.h"

enum { DOOR_TTL = 10000, RECOVERY_MS = 6000 };

/* Errors that a server may answer to any command. */
static const struct {
    const char *reply;
    enum redlock_trouble trouble;
    const char *words;
} errors[] = {
    { "-NOAUTH Authentication required.\r\n", REDLOCK_TROUBLE_NOAUTH,
      "NOAUTH Authentication required." },
    { "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
      REDLOCK_TROUBLE_WRONGPASS, "WRONGPASS invalid username" },
    { "-NOPERM this user has no permissions to run the 'set' command\r\n", REDLOCK_TROUBLE_NOPERM,
      "NOPERM this user has no permissions to run the 'set'" },
    { "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n",
      REDLOCK_TROUBLE_NOPERM, "NOPERM this user has no permissions to access one of the keys" },
    { "-LOADING Redis is loading the dataset in memory\r\n", REDLOCK_TROUBLE_LOADING,
      "LOADING Redis is loading" },
    { "-READONLY You can't write against a read only replica.\r\n", REDLOCK_TROUBLE_READONLY,
      "READONLY You can't write" },
    { "-READONLY You can't write against a read only replica. script: "
      "42d2860ed2467036b548ac930461d308bbbcebea, on "
      "@user_script:1.\r\n",
      REDLOCK_TROUBLE_READONLY, "READONLY You can't write" },
    { "-MOVED 866 127.0.0.1:6381\r\n", REDLOCK_TROUBLE_MOVED, "MOVED 866 127.0.0.1:6381" },
    { "-CLUSTERDOWN Hash slot not served\r\n", REDLOCK_TROUBLE_CLUSTERDOWN,
      "CLUSTERDOWN Hash slot not served" },
    { "-OOM command not allowed when used memory > 'maxmemory'.\r\n", REDLOCK_TROUBLE_OOM,
      "OOM command not allowed" },
    { "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
      "disk. Commands that may "
      "modify the data set are disabled, because this instance is configured to report errors "
      "during writes if RDB "
      "snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for "
      "details about the RDB "
      "error.\r\n",
      REDLOCK_TROUBLE_MISCONF, "MISCONF Redis is configured to save RDB snapshots" },
    { "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
      REDLOCK_TROUBLE_MASTERDOWN, "MASTERDOWN Link with MASTER is down" },
    { "-NOREPLICAS Not enough good replicas to write.\r\n", REDLOCK_TROUBLE_NOREPLICAS,
      "NOREPLICAS Not enough good replicas" },
    { "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n",
      REDLOCK_TROUBLE_BUSY, "BUSY Redis is busy running a script." },
    { "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
      REDLOCK_TROUBLE_WRONGTYPE, "WRONGTYPE Operation against a key" },
    { "-ERR max number of clients reached\r\n", REDLOCK_TROUBLE_MAX_CLIENTS,
      "ERR max number of clients reached" },
    { "-DENIED Redis is running in protected mode because protected mode is enabled and no "
      "password is set for the default "
      "user.\r\n",
      REDLOCK_TROUBLE_DENIED, "DENIED Redis is running in protected mode" },
    { "-ERR value is not an integer or out of range\r\n", REDLOCK_TROUBLE_OTHER_ERROR,
      "ERR value is not an integer or out of range" },
    { "-ERR unknown command 'SET', with args beginning with: 'door'\r\n",
      REDLOCK_TROUBLE_OTHER_ERROR, "ERR unknown command 'SET'" },
    { "-UNKILLABLE Sorry the script already executed write commands\r\n",
      REDLOCK_TROUBLE_OTHER_ERROR, "UNKILLABLE Sorry" },
    { "-EXECABORT Transaction discarded because of previous errors.\r\n",
      REDLOCK_TROUBLE_OTHER_ERROR, "EXECABORT" },
    { "-OOMPH is no word of Redis\r\n", REDLOCK_TROUBLE_OTHER_ERROR, "OOMPH is no word of Redis" },
    { "-noauth in lower case\r\n", REDLOCK_TROUBLE_OTHER_ERROR, "noauth in lower case" },
    { "-ERR\r\n", REDLOCK_TROUBLE_OTHER_ERROR, "ERR" },
    { "-\r\n", REDLOCK_TROUBLE_OTHER_ERROR, "an error reply without a word" },
};

enum { ERROR_COUNT = sizeof errors / sizeof errors[0] };

/* ---- Acquire ---- */

/* The harshest case, in which the node has done it, and says that it has not. */
static void answer_acquire_with(size_t i)
{
    CLUSTER(3);
    TAP_CONTEXT("%.60s", errors[i].reply);
    for (unsigned k = 1; k < 3; k++) DOES_BUT_ANSWERS(k, "SET", errors[i].reply);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_NOT_HELD(0);
    for (unsigned k = 1; k < 3; k++) {
        EXPECT_VOTE(0, k, REDLOCK_VOTE_UNKNOWN);
        EXPECT_TROUBLE(0, k, errors[i].trouble);
        EXPECT_WORDS(0, k, errors[i].words);
    }
    RUN_MS(RECOVERY_MS);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
}

TEST(s4_every_error_in_answer_to_an_acquire_is_unknown_named_and_released)
{
    for (size_t i = 0; i < ERROR_COUNT; i++) answer_acquire_with(i);
}

static void answer_one_with(size_t i)
{
    CLUSTER(3);
    TAP_CONTEXT("%.60s", errors[i].reply);
    ANSWERS_ONCE(2, "SET", errors[i].reply);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1000);
    EXPECT_HELD(0);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(an_error_of_one_node_of_three_costs_no_lock)
{
    for (size_t i = 0; i < ERROR_COUNT; i++) answer_one_with(i);
}

/* Another server has that key, and this one has those of other locks. READONLY is of
 * the whole server. */
TEST(a_node_that_answers_moved_again_and_again_is_back_soon_each_time)
{
    static const struct {
        const char *reply;
        bool is_back;
    } cases[] = { { "-MOVED 866 127.0.0.1:6381\r\n", true },
                  { "-READONLY You can't write\r\n", false } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLUSTER(1);
        TAP_CONTEXT("%s", cases[i].reply);
        ANSWERS(0, "SET", cases[i].reply);
        ANSWERS(0, "EVALSHA", cases[i].reply);
        unsigned back = 0;
        for (unsigned round = 0; round < 20; round++) {
            ACQUIRE(0, "door", DOOR_TTL);
            EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
            RUN_MS(100);
            back += VOTES(0, 0);
        }
        CHECK_INT(back == 20, cases[i].is_back);
    }
}

/* The session is no judge of what its node may do later, so the next lock is asked for again. */
static void recover_from(size_t i)
{
    CLUSTER(1);
    TAP_CONTEXT("%.60s", errors[i].reply);
    ANSWERS_ONCE(0, "SET", errors[i].reply);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 30000);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_NONE);
    EXPECT_WORDS(0, 0, "ok");
}

TEST(a_node_whose_trouble_is_over_votes_again)
{
    for (size_t i = 0; i < ERROR_COUNT; i++) recover_from(i);
}

/* ---- Extend ---- */

static void answer_extend_with(size_t i)
{
    CLUSTER(3);
    TAP_CONTEXT("%.60s", errors[i].reply);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(100);
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    for (unsigned k = 1; k < 3; k++) ANSWERS_ONCE(k, "EVALSHA", errors[i].reply);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    for (unsigned k = 1; k < 3; k++) {
        EXPECT_VOTE(0, k, REDLOCK_VOTE_UNKNOWN);
        EXPECT_TROUBLE(0, k, errors[i].trouble);
    }
    RUN_MS(RECOVERY_MS);
    /* An error neither shortens nor releases a held lock. */
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
    EXPECT_KEYS("door", 3);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(every_error_in_answer_to_an_extension_is_unknown_and_leaves_the_lock_as_it_was)
{
    for (size_t i = 0; i < ERROR_COUNT; i++) answer_extend_with(i);
}

/* ---- Release ---- */

static void answer_release_with(size_t i)
{
    CLUSTER(3);
    TAP_CONTEXT("%.60s", errors[i].reply);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    for (unsigned k = 1; k < 3; k++) ANSWERS_ONCE(k, "EVALSHA", errors[i].reply);
    RELEASE(0);
    EXPECT_NOT_HELD(0);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 1);
    EXPECT_TROUBLE(0, 1, errors[i].trouble);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed,
              errors[i].trouble == REDLOCK_TROUBLE_WRONGTYPE ? 0 : 2);
    RUN_MS(RECOVERY_MS);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    /* Then the key is not ours, and nothing is owed. */
    if (errors[i].trouble != REDLOCK_TROUBLE_WRONGTYPE) EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(every_error_in_answer_to_a_release_leaves_it_owed_and_paid_later)
{
    for (size_t i = 0; i < ERROR_COUNT; i++) answer_release_with(i);
}

TEST(noscript_is_answered_by_the_script_itself_in_the_same_round)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    for (unsigned k = 0; k < 3; k++) model_flush_scripts(NODE(k));
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    /* Two round trips from one start. */
    CHECK_INT(VALID_US(0), 10000000 - 4 * CLUSTER_DELAY_US - 100000 - 2000);
    for (unsigned k = 0; k < 3; k++) model_flush_scripts(NODE(k));
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(a_server_that_forbids_loading_scripts_is_sent_them_each_time)
{
    CLUSTER_COLD(3, 1, (void)0);
    for (unsigned k = 0; k < 3; k++) NODE(k)->noperm = "SCRIPT";
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* The release after a lost attempt asks for another script, and succeeds. Neither is news
 * about the acquire. */
TEST(noscript_in_answer_to_a_release_hides_no_trouble_of_the_acquire)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        CLUSTER(3);
        TAP_CONTEXT("%s", kind_names[kind]);
        kind_teach_scripts(cluster);
        for (unsigned k = 0; k < 3; k++)
            ANSWERS_ONCE(k, kind == KIND_PLAIN ? "SET" : "EVALSHA", "-NOPERM no\r\n");
        CHECK_INT(kind_acquire(cluster, 0, kind, DOOR_TTL, 0), REDLOCK_OK);
        for (unsigned k = 0; k < 3; k++)
            ANSWERS_ONCE(k, "EVALSHA", "-NOSCRIPT No matching script.\r\n");
        RUN_MS(1000);
        EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
        CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
        for (unsigned k = 0; k < 3; k++) EXPECT_TROUBLE(0, k, REDLOCK_TROUBLE_NOPERM);
        CHECK_INT(kind_acquire(cluster, 0, kind, DOOR_TTL, 0), REDLOCK_OK);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(10);
        for (unsigned k = 0; k < 3; k++) EXPECT_TROUBLE(0, k, REDLOCK_TROUBLE_NONE);
    }
}

/* ---- Handshake ---- */

static void shake_hands_with(size_t i, const char *command, bool tolerated)
{
    CLUSTER_COLD(3, 1, (void)0);
    TAP_CONTEXT("%s answered %.60s", command, errors[i].reply);
    ANSWERS(2, command, errors[i].reply);
    RUN_MS(STORY_SETTLE_MS);
    CHECK_INT(VOTES(0, 2), tolerated);
    if (!tolerated) {
        EXPECT_TROUBLE(0, 2, errors[i].trouble);
        EXPECT_WORDS(0, 2, errors[i].words);
    }
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(cluster_key(cluster, 2, "door") != NULL, tolerated);
    ANSWERS_AS_EVER(2);
    RUN_MS(RECOVERY_MS);
    CHECK(VOTES(0, 2));
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_NONE);
}

TEST(every_error_in_answer_to_who_are_you_means_no_vote_and_is_named)
{
    for (size_t i = 0; i < ERROR_COUNT; i++) {
        shake_hands_with(i, "INFO", false);
        shake_hands_with(i, "EVAL", false);
    }
}

/* A name in the server's list of clients is a courtesy, a loaded script saves bytes. */
TEST(a_refused_courtesy_costs_no_vote)
{
    for (size_t i = 0; i < ERROR_COUNT; i++) {
        if (errors[i].trouble != REDLOCK_TROUBLE_NOPERM &&
            errors[i].trouble != REDLOCK_TROUBLE_OTHER_ERROR)
            continue;
        shake_hands_with(i, "CLIENT", true);
        shake_hands_with(i, "SCRIPT", true);
    }
}

static void log_in_to(const char *user, const char *password, enum redlock_trouble trouble,
                      const char *words)
{
    CLUSTER_COLD(1, 1, (void)0);
    const struct redlock_login login = { .user = user, .password = password };
    TAP_CONTEXT("user %s, password %s", user ? user : "(none)", password ? password : "(none)");
    NODE(0)->user = user ? "alice" : NULL;
    NODE(0)->password = "secret";
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_OK);
    RUN_MS(STORY_SETTLE_MS);
    EXPECT_TROUBLE(0, 0, trouble);
    EXPECT_WORDS(0, 0, words);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, trouble == REDLOCK_TROUBLE_NONE ? REDLOCK_OK : REDLOCK_NO_QUORUM);
}

TEST(a_login_is_accepted_or_the_reason_is_named)
{
    log_in_to(NULL, "secret", REDLOCK_TROUBLE_NONE, "ok");
    log_in_to("alice", "secret", REDLOCK_TROUBLE_NONE, "ok");
    log_in_to(NULL, "guess", REDLOCK_TROUBLE_WRONGPASS, "WRONGPASS");
    log_in_to("alice", "guess", REDLOCK_TROUBLE_WRONGPASS, "WRONGPASS");
    log_in_to("bob", "secret", REDLOCK_TROUBLE_WRONGPASS, "WRONGPASS");
    log_in_to(NULL, NULL, REDLOCK_TROUBLE_NOAUTH, "NOAUTH Authentication required.");
}

TEST(a_password_for_a_server_that_wants_none_is_named)
{
    CLUSTER_COLD(1, 1, (void)0);
    const struct redlock_login login = { .password = "secret" };
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_OK);
    RUN_MS(STORY_SETTLE_MS);
    CHECK(!VOTES(0, 0));
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_OTHER_ERROR);
    EXPECT_WORDS(0, 0, "ERR AUTH <password> called without any password configured");
}

TEST(the_database_of_the_login_is_the_one_that_is_used)
{
    CLUSTER_COLD(1, 1, (void)0);
    const struct redlock_login login = { .database = 7 };
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(model_find(NODE(0), 7, "door", 4, cluster_node_now(cluster, 0)) != NULL);
    EXPECT_KEY_ABSENT(0, "door");
    RELEASE(0);
    CHECK(model_find(NODE(0), 7, "door", 4, cluster_node_now(cluster, 0)) == NULL);
}

TEST(a_subscription_needs_no_database)
{
    CLUSTER_COLD(1, 2, config.wake_ups = true);
    const struct redlock_login login = { .database = 7 };
    for (unsigned c = 0; c < 2; c++) CHECK_INT(redlock_set_login(ENGINE(c), 0, &login), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    START_ACQUIRE(1, "door", DOOR_TTL, DOOR_TTL);
    RUN_MS(100);
    CHECK_INT(CALLS(0, "SUBSCRIBE"), 1);
    CHECK_INT(CALLS(0, "SELECT"), 2);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

TEST(a_database_that_does_not_exist_means_no_vote_and_is_named)
{
    CLUSTER_COLD(1, 1, (void)0);
    const struct redlock_login login = { .database = 99 };
    CHECK_INT(redlock_set_login(ENGINE(0), 0, &login), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_OTHER_ERROR);
    EXPECT_WORDS(0, 0, "ERR DB index is out of range");
}

/* ---- Turned away before the first request ---- */

static void turned_away_with(const char *banner, enum redlock_trouble trouble, const char *words,
                             uint32_t receive_size)
{
    CLUSTER_COLD(3, 1, config.receive_size = receive_size);
    const struct redlock_login login = { .password = "secret" };
    TAP_CONTEXT("%.40s, %u bytes of buffer", banner, (unsigned)receive_size);
    NODE(2)->banner = banner;
    NODE(2)->password = "secret";
    CHECK_INT(redlock_set_login(ENGINE(0), 2, &login), REDLOCK_OK);
    RUN_MS(STORY_SETTLE_MS);
    CHECK(!VOTES(0, 2));
    EXPECT_TROUBLE(0, 2, trouble); /* It is not "wrong password". */
    EXPECT_WORDS(0, 2, words);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    NODE(2)->banner = NULL;
    RUN_MS(RECOVERY_MS);
    CHECK(VOTES(0, 2));
}

TEST(a_server_that_turns_us_away_before_any_request_is_understood)
{
    static char denied[1068];
    memset(denied, 'x', sizeof denied - 1);
    memcpy(denied, "-DENIED Redis is running in protected mode because", 50);
    memcpy(denied + sizeof denied - 3, "\r\n", 2);
    for (uint32_t size = REDLOCK_RECEIVE_MIN; size <= 4096; size *= 2) {
        turned_away_with("-ERR max number of clients reached\r\n", REDLOCK_TROUBLE_MAX_CLIENTS,
                         "ERR max number of clients reached", size);
        turned_away_with(denied, REDLOCK_TROUBLE_DENIED,
                         "DENIED Redis is running in protected mode", size);
    }
}

/* ---- Conditions that last ---- */

TEST(without_memory_a_node_grants_nothing_and_still_releases)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    NODE(1)->condition = NODE(2)->condition = MODEL_OUT_OF_MEMORY;
    START_ACQUIRE_LOCK(0, 1, "gate", DOOR_TTL, 0);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_NO_QUORUM);
    EXPECT_TROUBLE(0, 1, REDLOCK_TROUBLE_OOM);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_view_lock(LOCK(0)).confirmed >= 2);
}

TEST(a_release_refused_for_misconf_is_owed_until_it_is_taken_or_the_ttl_ends)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    NODE(0)->condition = NODE(1)->condition = NODE(2)->condition = MODEL_MISCONF;
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 0);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 3);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_MISCONF);
    EXPECT_KEYS("door", 3);
    RUN_MS(3000);
    /* It is sent again, without haste. */
    CHECK(CALLS(2, "RELEASE") >= 2 && CALLS(2, "RELEASE") <= 20);
    NODE(0)->condition = MODEL_WELL;
    RUN_MS(3000);
    EXPECT_KEYS("door", 2);
    RUN_MS(DOOR_TTL);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    CHECK(IDLE(0));
}

TEST(a_confirmation_of_nothing_by_a_replica_confirms_nothing)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    for (unsigned k = 1; k < 3; k++) {
        NODE(k)->role = MODEL_REPLICA;
        REMOVE_KEYS(k);
    }
    RELEASE(0);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 1);
}

static void live_in(enum model_condition condition, enum redlock_trouble trouble)
{
    CLUSTER(3);
    TAP_CONTEXT("condition %d", condition);
    NODE(1)->condition = NODE(2)->condition = condition;
    if (condition == MODEL_MASTER_DOWN) NODE(1)->role = NODE(2)->role = MODEL_REPLICA;
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    for (unsigned k = 1; k < 3; k++) {
        EXPECT_VOTE(0, k, REDLOCK_VOTE_UNKNOWN);
        EXPECT_TROUBLE(0, k, trouble);
    }
    RUN_MS(1000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    NODE(1)->condition = NODE(2)->condition = MODEL_WELL;
    NODE(1)->role = NODE(2)->role = MODEL_MASTER;
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 30000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_quorum_in_trouble_is_no_quorum_until_the_trouble_ends)
{
    live_in(MODEL_LOADING, REDLOCK_TROUBLE_LOADING);
    live_in(MODEL_OUT_OF_MEMORY, REDLOCK_TROUBLE_OOM);
    live_in(MODEL_MISCONF, REDLOCK_TROUBLE_MISCONF);
    live_in(MODEL_NO_REPLICAS, REDLOCK_TROUBLE_NOREPLICAS);
    live_in(MODEL_BUSY, REDLOCK_TROUBLE_BUSY);
    live_in(MODEL_CLUSTER_DOWN, REDLOCK_TROUBLE_CLUSTERDOWN);
    live_in(MODEL_MASTER_DOWN, REDLOCK_TROUBLE_READONLY);
}

/* Nobody is asked more often because it is in trouble. */
TEST(a_node_in_lasting_trouble_is_not_besieged)
{
    static const enum model_condition conditions[] = {
        MODEL_LOADING, MODEL_BUSY, MODEL_MISCONF, MODEL_CLUSTER_DOWN
    };
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        CLUSTER(1);
        NODE(0)->condition = conditions[i];
        TAP_CONTEXT("condition %d", conditions[i]);
        ACQUIRE_WAIT(0, "door", DOOR_TTL, 10000);
        EXPECT_STATUS(0, REDLOCK_TIMEOUT);
        CHECK(NODE(0)->call_count < 1000);
        CHECK(LINK(0, 0)->connect_count < 100);
    }
}

/* ---- Keys that are not ours ---- */

TEST(a_refusal_tells_when_the_holder_runs_out)
{
    CLUSTER(5);
    RIVAL(0, "door", 2000);
    RIVAL(1, "door", 3000);
    RIVAL(2, "door", 4000);
    RIVAL(3, "door", 5000);
    RIVAL(4, "door", 6000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    /* The third makes the quorum. */
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms <= 4000 &&
          redlock_view_lock(LOCK(0)).free_in_ms > 3900);
}

TEST(a_refusal_that_comes_when_all_is_lost_tells_when_the_holder_runs_out_as_well)
{
    CLUSTER(5);
    RIVAL(0, "door", 6000);
    RIVAL(1, "door", 5000);
    RIVAL(2, "door", 4000);
    RIVAL(3, "door", 3000);
    RIVAL(4, "door", 2000);
    DELAY_US(3, CLUSTER_DELAY_US + 1); DELAY_US(4, CLUSTER_DELAY_US + 1);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms <= 4000 &&
          redlock_view_lock(LOCK(0)).free_in_ms > 3900);
}

/* Node 0's refusal and the answer to the release that was sent after it are read at once, with
 * "reply" for the release. */
static void refuse_late(const char *reply)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 5000);
    if (reply) ANSWERS_ONCE(0, "EVALSHA", reply);
    DELAY_US(0, 2 * CLUSTER_DELAY_US);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    RUN_US(3 * CLUSTER_DELAY_US);
    /* They have refused, and do not say yet how long the holder has left. */
    HANG(1); HANG(2);
    FREEZE(0); RUN_MS(5); THAW(0);
    RUN_MS(5);
    RESUME(1); RESUME(2);
    RUN_MS(5);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms <= 5000 &&
          redlock_view_lock(LOCK(0)).free_in_ms > 4900);
}

TEST(a_question_that_gives_way_to_a_release_is_not_waited_for)
{
    refuse_late(NULL);
    refuse_late("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    refuse_late("-MISCONF no\r\n");
}

TEST(nodes_that_granted_are_free_at_once)
{
    CLUSTER(5);
    RIVAL(0, "door", 2000); RIVAL(1, "door", 3000); RIVAL(2, "door", 4000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms <= 2000 &&
          redlock_view_lock(LOCK(0)).free_in_ms > 1900);
}

TEST(keys_without_a_ttl_are_never_free)
{
    CLUSTER(3);
    RIVAL(0, "door", 0); RIVAL(1, "door", 0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(redlock_view_lock(LOCK(0)).free_in_ms, REDLOCK_FOREVER);
}

TEST(when_too_few_nodes_tell_nothing_is_told)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 2000);
    for (unsigned k = 0; k < 3; k++)
        ANSWERS(k, "PTTL", "-NOPERM this user has no permissions to run the 'pttl' command\r\n");
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(redlock_view_lock(LOCK(0)).free_in_ms, REDLOCK_UNTOLD);
}

TEST(the_time_to_a_free_lock_is_told_after_waiting_in_vain_as_well)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 20000);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 2000);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    CHECK_INT(redlock_attempt_status(LOCK(0)), REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms <= 19000 &&
          redlock_view_lock(LOCK(0)).free_in_ms > 17000);
}

TEST(the_attempt_that_won_is_the_last_one)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 1000);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 20000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_attempt_status(LOCK(0)), REDLOCK_OK);
}

TEST(a_lock_of_another_kind_refuses_and_does_not_look_like_a_dead_node)
{
    CLUSTER(3);
    for (unsigned k = 0; k < 3; k++)
        model_put(NODE(k), "door", "", 0, cluster_node_now(cluster, k))->is_list = true;
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    for (unsigned k = 0; k < 2; k++) EXPECT_VOTE(0, k, REDLOCK_VOTE_REFUSED);
    CHECK_INT(redlock_view_lock(LOCK(0)).free_in_ms, REDLOCK_FOREVER);
    RUN_MS(10);
    CHECK(IDLE(0));
}

TEST(a_release_that_meets_a_lock_of_another_kind_owes_nothing)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    model_put(NODE(2), "door", "", 0, cluster_node_now(cluster, 2))->is_list = true;
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 2);
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_WRONGTYPE);
    RUN_MS(2000);
    CHECK(IDLE(0));
}

#define RUN_ID(client, k) redlock_view_node(ENGINE(client), (k), CLIENT_NOW(client)).run_id

/* Compare these to know whether two clients name the same servers. */
TEST(the_run_id_of_each_server_is_told_and_changes_when_it_restarts)
{
    CLUSTER_COLD(3, 2, (void)0);
    uint8_t before[REDLOCK_RUN_ID_SIZE];
    CHECK(RUN_ID(0, 0) == NULL);
    RUN_MS(STORY_SETTLE_MS);
    for (unsigned k = 0; k < 3; k++) {
        const uint8_t *id = RUN_ID(0, k), *next = RUN_ID(0, (k + 1) % 3);
        CHECK(id != NULL && next != NULL && memcmp(id, next, REDLOCK_RUN_ID_SIZE) != 0);
        CHECK(memcmp(id, RUN_ID(1, k), REDLOCK_RUN_ID_SIZE) == 0);
    }
    memcpy(before, RUN_ID(0, 1), sizeof before);
    RESET(0, 1); RUN_MS(RECOVERY_MS);
    CHECK(memcmp(before, RUN_ID(0, 1), sizeof before) == 0);
    DOWN(1); RUN_MS(100);
    CHECK(memcmp(before, RUN_ID(0, 1), sizeof before) == 0);
    UP(1); RUN_MS(RECOVERY_MS);
    CHECK(memcmp(before, RUN_ID(0, 1), sizeof before) != 0);
}

TEST(each_vote_has_its_text)
{
    static const char *const texts[] = {
        "pending", "granted", "refused", "unknown", "not asked", "unknown vote"
    };

    for (unsigned vote = 0; vote < sizeof texts / sizeof texts[0]; vote++)
        CHECK_STR(redlock_vote_text((enum redlock_vote)vote), texts[vote]);
}

TAP_MAIN
