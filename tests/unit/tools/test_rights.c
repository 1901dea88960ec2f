/* The rights that the command names where an ACL refuses something, held against the scripts of
 * each kind. */
#include "../../../tools/redlock/rights.c"

#include "../../../redlock/wire.h"
#include "../../tap.h"

enum { WORD_MAX = 40 };

/* A user's commands with locks of one kind, with and without a ticket and wake-ups. */
static const struct {
    const char *name;
    struct settings settings;
    char letter;
    const char *scripts[6];     /* Up to NULL. */
} kinds[] = {
#define ALL .ticket = true, .options.engine.wake_ups = true
    { "a plain lock",
      { .name_count = 1, ALL },
      'k',
      { WIRE_ACQUIRE_SCRIPT, WIRE_RESTORE_SCRIPT, WIRE_EXTEND_SCRIPT, WIRE_RELEASE_SCRIPT,
        WIRE_WAIT_SCRIPT } },
    { "a permit",
      { .name_count = 1, .permits = 3, ALL },
      'n',
      { WIRE_PERMIT_ACQUIRE_SCRIPT, WIRE_PERMIT_RESTORE_SCRIPT, WIRE_PERMIT_EXTEND_SCRIPT,
        WIRE_PERMIT_RELEASE_SCRIPT, WIRE_PERMIT_WAIT_SCRIPT } },
    { "a shared lock",
      { .name_count = 1, .is_shared = { true }, ALL },
      's',
      { WIRE_SHARED_ACQUIRE_SCRIPT, WIRE_RESTORE_SCRIPT, WIRE_SHARED_EXTEND_SCRIPT,
        WIRE_SHARED_RELEASE_SCRIPT, WIRE_WAIT_SCRIPT } },
    { "a fair lock",
      { .name_count = 1, .fair = true, ALL },
      'f',
      { WIRE_FAIR_ACQUIRE_SCRIPT, WIRE_FAIR_RESTORE_SCRIPT, WIRE_FAIR_EXTEND_SCRIPT,
        WIRE_FAIR_RELEASE_SCRIPT } },
    { "a lock with Java",
      { .name_count = 1, .redisson = true, .options.engine.wake_ups = true },
      'j',
      { WIRE_REDISSON_ACQUIRE_SCRIPT, WIRE_REDISSON_EXTEND_SCRIPT, WIRE_REDISSON_RELEASE_SCRIPT } },
    { "a lock once per period",
      { .name_count = 1, .once_per_ms = 1000, ALL },
      'o',
      { WIRE_MARK_SCRIPT } },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Is the word, as a whole, in the list? */
static bool has_word(const char *list, const char *word)
{
    const size_t size = strlen(word);

    for (const char *at = list; (at = strstr(at, word)) != NULL; at++)
        if ((at == list || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0')) return true;
    return false;
}

/* A word in quotes after "(", such as 'zadd', is a command; after "#" it is the end of
 * a key's name. */
static void expect_right_for(const char *list, const char *quoted, bool is_permit)
{
    char word[WORD_MAX] = "", right[WORD_MAX + 12];
    const bool is_key = *quoted == '#';

    for (unsigned i = 0; i + 1 < sizeof word && quoted[i] != '\''; i++) word[i] = quoted[i];
    if (strchr(word + 1, '#')) return;      /* The flag of a queue, which begins like the queue. */
    (void)snprintf(right, sizeof right, is_key ? "~RESOURCE%s" : "+%s", word);
    if (is_key && is_permit) (void)snprintf(right, sizeof right, "~RESOURCE:*");
    TAP_CONTEXT("%s", right);
    if (strcmp(word, "#waiters") == 0 && !is_permit) CHECK(has_word(list, "~RESOURCE#waiters*"));
    else CHECK(has_word(list, right));
}

static unsigned expect_rights_for(const char *list, const char *script, bool is_permit)
{
    unsigned found = 0;

    for (const char *at = script; (at = strchr(at, '\'')) != NULL; at = strchr(at, '\'') + 1) {
        at++;
        if (!(at[-2] == '(' && *at >= 'a' && *at <= 'z') && *at != '#') continue;
        expect_right_for(list, at, is_permit);
        found++;
    }
    return found;
}

TEST(each_command_and_key_of_a_kinds_scripts_is_among_the_rights_that_the_advice_names)
{
    for (unsigned i = 0; i < KINDS; i++) {
        char list[ADVICE_MAX];
        (void)rights_list(list, rights_parts(&kinds[i].settings), 0);
        for (unsigned n = 0; kinds[i].scripts[n]; n++)
            CHECK(expect_rights_for(list, kinds[i].scripts[n], kinds[i].settings.permits > 0) >= 3);
    }
}

static bool is_in_scripts(unsigned kind, const char *quoted)
{
    for (unsigned n = 0; kinds[kind].scripts[n]; n++)
        if (strstr(kinds[kind].scripts[n], quoted)) return true;
    return false;
}

/* The others are there for commands that are no scripts, and for parts that several kinds have. */
TEST(each_right_that_one_kind_alone_needs_is_for_something_in_its_scripts)
{
    for (unsigned i = 0; i < KINDS; i++) {
        char list[ADVICE_MAX], quoted[WORD_MAX];
        (void)rights_list(list, RIGHTS_PART(kinds[i].letter), RIGHTS_PART('l') | RIGHTS_PART('k'));
        for (char *word = strtok(list, " "); word; word = strtok(NULL, " ")) {
            const char *hash = strchr(word, '#');
            (void)snprintf(quoted, sizeof quoted, "'%s'",
                           *word == '+' ? word + 1
                           : hash       ? hash
                                        : "");
            if (strcmp(quoted, "''") == 0 || strstr(word, "subscribe")) continue;
            TAP_CONTEXT("%s: %s", kinds[i].name, word);
            CHECK(is_in_scripts(i, quoted));
        }
    }
}

static void expect_advice(const struct settings *settings, const char *is_told,
                          const char *is_not_told)
{
    const char *advice = rights_advice(rights_parts(settings));

    TAP_CONTEXT("%.150s", strstr(advice, "; without") ? strstr(advice, "; without") : advice);
    CHECK(strncmp(advice, "allow it: ACL SETUSER <user> ~RESOURCE ", 39) == 0 &&
          strlen(advice) < ADVICE_MAX);
    CHECK(strstr(advice, is_told) != NULL);
    CHECK(!is_not_told || !strstr(advice, is_not_told));
}

TEST(no_advice_names_an_option_that_changes_nothing_or_a_right_that_is_needed_without_it)
{
    struct settings settings = { .name_count = 1, ALL };

    expect_advice(
        &settings,
        "; without +info: --trust-unknown; without ~RESOURCE#ticket +time: --no-ticket; without ",
        NULL);
    settings.options.engine.trust_unknown = true;
    expect_advice(&settings, "; without ~RESOURCE#ticket +time: --no-ticket", "trust-unknown");
    settings.ticket = false;
    expect_advice(&settings,
                  "; without ~RESOURCE#waiters* ~RESOURCE#writer &redlock:* +zadd +zrem +zpopmin "
                  "+publish +subscribe: --no-wake-ups",
                  "+time");
    settings.options.engine.wake_ups = false;
    expect_advice(&settings, "+evalsha", "; without");
    settings.fair = settings.ticket = settings.options.engine.wake_ups = true;
    expect_advice(&settings,
                  "; without ~RESOURCE#ticket: --no-ticket; without ~RESOURCE#waiters* "
                  "~RESOURCE#writer &redlock:* +zpopmin +publish +subscribe: --no-wake-ups",
                  "; without ~RESOURCE#ticket +time");
    settings.fair = settings.ticket = false;
    settings.redisson = true;
    expect_advice(&settings, "+hset", "wake-ups");
    settings = (struct settings){ .command = COMMAND_LEAD, .name_count = 1, .permits = 2, ALL };
    expect_advice(&settings, "~RESOURCE:* ~RESOURCE#leader", "~RESOURCE#ticket");
    expect_advice(&settings, "--no-wake-ups", "--no-ticket");       /* It is none of its options. */
}

TAP_MAIN
