/* All nodes are asked at once. Each goes through the same questions, one after the other, at its
 * own pace. The time is first, while nothing else keeps the node busy; then the node's report about
 * itself; then the user's rights. */
#include "survey.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../redlock/text.h"
#include "../redlock/tls.h"

enum {
    /* A string may have 64 KiB, and comes in pieces, of which each has a header. */
    REPLY_MAX = 80 * 1024,
    SECONDS_MAX = INT32_MAX,    /* Seconds since 1970, until 2038, so no sum of times overflows. */
    STEP_CLOCK = 0,
    STEP_QUESTIONS = SURVEY_SAMPLES,
    STEP_NEEDS = STEP_QUESTIONS + QUESTION_COUNT
};

/* One node, on its way through the steps. */
struct course {
    struct redlock_question question;
    struct redlock_name words[REDLOCK_ARGUMENTS_MAX];
    unsigned word_count;
    unsigned step;
    bool is_pending, is_over;
    uint64_t asked_at;
    uint8_t reply[REPLY_MAX];
};

struct asking {
    struct session *session;
    const struct survey_wishes *wishes;
    struct survey *survey;
    unsigned last_step;         /* All of these are over then. */
    bool is_later;              /* The second look at the clocks. */
};

static struct course courses[REDLOCK_NODES_MAX];

/* ---- Clocks ---- */

static bool read_integer(struct redlock_question *question, uint64_t *number)
{
    struct redlock_item item;

    *number = 0;
    if (!redlock_next_item(question, &item) || item.type != REDLOCK_ITEM_BULK || !item.last ||
        item.size > 16)
        return false;
    for (size_t i = 0; i < item.size; i++) {
        if (item.bytes[i] < '0' || item.bytes[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(item.bytes[i] - '0');
    }
    return item.size > 0;
}

static bool begins_with(const struct redlock_item *item, const char *text)
{
    return item->size >= strlen(text) && memcmp(item->bytes, text, strlen(text)) == 0;
}

/* TIME: [seconds, microseconds]. */
static bool read_time(struct redlock_question *question, enum survey_answer *answer, uint64_t *us)
{
    struct redlock_item item;
    uint64_t seconds, rest;

    *answer = ANSWER_ERROR;
    if (!redlock_next_item(question, &item)) return false;
    if (item.type == REDLOCK_ITEM_ERROR && begins_with(&item, "NOPERM")) *answer = ANSWER_REFUSED;
    if (item.type != REDLOCK_ITEM_ARRAY) return false;
    *answer = ANSWER_GIVEN;
    if (!read_integer(question, &seconds) || !read_integer(question, &rest)) return false;
    *us = seconds * 1000000 + rest;
    return seconds < SECONDS_MAX && rest < 1000000;
}

bool survey_take_time(struct survey_clock *clock, struct redlock_question *question,
                      uint64_t asked_at, uint64_t now_us)
{
    uint64_t wall = redlock_wall_us(), since_asked = redlock_now_us() - asked_at,
             trip = now_us - asked_at, theirs;
    bool is_quickest = !clock->is_known || trip / 2 < clock->give_or_take_us;

    if (!read_time(question, &clock->answer, &theirs)) return false;
    if (trip > clock->worst_us) clock->worst_us = trip;
    if (!is_quickest) return true;
    clock->is_known = true;
    clock->at_us = asked_at + trip / 2;
    clock->give_or_take_us = trip / 2 + 1;
    clock->ahead_us = (int64_t)(theirs - (wall - since_asked + trip / 2));
    clock->since_boot_us = (int64_t)(theirs - clock->at_us);
    return true;
}

/* ---- Putting a question ---- */

static void add_word(struct course *course, const char *word)
{
    course->words[course->word_count++] = (struct redlock_name){
        .bytes = word, .size = strlen(word)
    };
}

/* The user whose permissions are asked about; NULL: nobody knows who we are. */
static const char *user_of(const struct asking *asking, unsigned k)
{
    const struct survey_node *node = &asking->survey->nodes[k];

    if (asking->wishes->user) return asking->wishes->user;
    return node->has[FACT_USER] ? node->told[FACT_USER] : NULL;
}

static void add_need(const struct asking *asking, unsigned k, const struct survey_need *need)
{
    struct course *course = &courses[k];

    add_word(course, "ACL");
    add_word(course, "DRYRUN");
    add_word(course, user_of(asking, k));
    for (unsigned i = 0; i < 4 && need->words[i]; i++) {
        const char *word = need->words[i];
        add_word(course, strcmp(word, SURVEY_KEY) == 0       ? asking->wishes->key
                         : strcmp(word, SURVEY_CHANNEL) == 0 ? asking->wishes->channel : word);
    }
}

static bool is_left_out(const struct survey_wishes *wishes, unsigned question, unsigned k)
{
    bool is_managed = wishes->managed >> k & 1, has_others = (wishes->managed & ~(1u << k)) != 0;

    return (question == QUESTION_CANARY && !(wishes->durable >> k & 1)) ||
           (question == QUESTION_TRIAL && !is_managed) ||
           (question == QUESTION_MEMBERS && !(is_managed && has_others));
}

/* False: the step is left out. */
static bool choose_words(const struct asking *asking, unsigned k)
{
    struct course *course = &courses[k];

    course->word_count = 0;
    if (course->step < STEP_QUESTIONS) {
        add_word(course, "TIME");
    } else if (course->step < STEP_NEEDS) {
        if (is_left_out(asking->wishes, course->step - STEP_QUESTIONS, k)) return false;
        for (const char *const *word = survey_words[course->step - STEP_QUESTIONS]; *word; word++)
            add_word(course, strcmp(*word, SURVEY_KEY) == 0 ? asking->wishes->probe : *word);
    } else {
        if (!asking->wishes->key || !user_of(asking, k) ||
            asking->survey->nodes[k].dry_run == ANSWER_REFUSED ||
            asking->survey->nodes[k].no_user[0] != '\0')
            return false;
        if (survey_purpose(&survey_needs[course->step - STEP_NEEDS], asking->wishes->parts) ==
            FOR_NOTHING)
            return false;
        add_need(asking, k, &survey_needs[course->step - STEP_NEEDS]);
    }
    return true;
}

static void ask(struct asking *asking, unsigned k)
{
    struct course *course = &courses[k];
    struct redlock *engine = &asking->session->client.engine;

    while (course->step < asking->last_step && !choose_words(asking, k)) course->step++;
    if (course->step == asking->last_step) {
        course->is_over = true;
        asking->survey->nodes[k].was_asked |= !asking->is_later;
        return;
    }
    course->asked_at = redlock_now_us();
    course->is_pending =
        redlock_ask(engine, &course->question, k, course->words, course->word_count, course->reply,
                    sizeof course->reply, course->asked_at) == REDLOCK_OK;
    course->is_over = !course->is_pending;
}

/* ---- Taking an answer ---- */

static void take_answer(struct asking *asking, unsigned k)
{
    struct course *course = &courses[k];
    struct survey_node *node = &asking->survey->nodes[k];
    struct survey_clock *clock = asking->is_later ? &node->later : &node->clock;

    if (course->step < STEP_QUESTIONS)
        (void)survey_take_time(clock, &course->question, course->asked_at, redlock_now_us());
    else if (course->step < STEP_NEEDS)
        survey_read(node, (enum question)(course->step - STEP_QUESTIONS), &course->question);
    else
        survey_read_permission(node, course->step - STEP_NEEDS, &course->question);
    node->is_reached = true;
    course->step++;
}

/* Reads one node's answer, as far as it has come. False: it is over. */
static bool advance(struct asking *asking, unsigned k)
{
    struct course *course = &courses[k];
    uint64_t until = course->asked_at + (uint64_t)asking->wishes->patience_ms * 1000;

    if (course->is_over) return false;
    if (course->is_pending) {
        enum redlock_status status = course->question.status;
        if (status == REDLOCK_PENDING && redlock_now_us() < until) return true;
        course->is_pending = false;
        course->is_over = status != REDLOCK_OK;
        if (status == REDLOCK_PENDING)
            redlock_forget_question(&asking->session->client.engine, &course->question);
        if (course->is_over) return false;
        take_answer(asking, k);
    }
    ask(asking, k);
    return !course->is_over;
}

/* ---- All of them ---- */

static bool must_end(struct asking *asking)
{
    return asking->session->fault || session_must_end(asking->session);
}

static void forget_all(struct asking *asking)
{
    for (unsigned k = 0; k < asking->survey->count; k++) {
        if (courses[k].is_pending)
            redlock_forget_question(&asking->session->client.engine, &courses[k].question);
        courses[k].is_pending = false;
    }
}

/* The steps from first up to last, of each node. */
static void take_steps(struct asking *asking, unsigned first, unsigned last)
{
    bool is_any = true;

    asking->last_step = last;
    for (unsigned k = 0; k < asking->survey->count; k++) {
        courses[k].step = first;
        courses[k].is_over = courses[k].is_pending = false;
    }
    while (is_any && !must_end(asking)) {
        is_any = false;
        for (unsigned k = 0; k < asking->survey->count; k++) is_any |= advance(asking, k);
        /* It sends the questions. Nothing may be received before it waits, or it would wait for
         * bytes that have come. */
        if (is_any)
            session_wait(asking->session,
                         redlock_now_us() + (uint64_t)asking->wishes->patience_ms * 1000 / 4 + 1);
    }
    forget_all(asking);
}

/* Clocks are looked at again when so much time has passed. */
static void look_again(struct asking *asking, uint64_t first_at)
{
    uint64_t until = first_at + asking->wishes->rate_us;

    while (redlock_now_us() < until && !must_end(asking)) session_wait(asking->session, until);
    asking->is_later = true;
    take_steps(asking, STEP_CLOCK, STEP_QUESTIONS);
}

/* A node that gives its identity, and so has no vote, or refuses us, is there. */
static bool is_there(enum redlock_trouble trouble)
{
    return trouble == REDLOCK_TROUBLE_NONE ||
           (trouble >= REDLOCK_TROUBLE_RESTARTED && trouble != REDLOCK_TROUBLE_DENIED &&
            trouble != REDLOCK_TROUBLE_NOAUTH && trouble != REDLOCK_TROUBLE_WRONGPASS);
}

/* It is the same however the list names the host, by one name or by another. */
static void note_host(struct survey_node *node, int fd)
{
    union { struct sockaddr any; struct sockaddr_in ip4; struct sockaddr_in6 ip6; } peer;
    socklen_t size = sizeof peer;

    if (fd < 0 || getpeername(fd, &peer.any, &size) != 0) return;
    if (peer.any.sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &peer.ip4.sin_addr, node->host, sizeof node->host);
    if (peer.any.sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &peer.ip6.sin6_addr, node->host, sizeof node->host);
}

static void note_node(struct asking *asking, unsigned k)
{
    struct redlock *engine = &asking->session->client.engine;
    struct survey_node *node = &asking->survey->nodes[k];
    uint64_t now = redlock_now_us();
    struct redlock_node_view view = redlock_view_node(engine, k, now);

    node->address = redlock_node_address(&asking->session->client, k);
    note_host(node, redlock_fd(&asking->session->client, k));
    node->votes = redlock_node_votes(engine, k, now);
    node->gives_tickets = view.gives_tickets;
    node->lacks_scripts = view.lacks_scripts;
    node->trouble = view.trouble;
    redlock_describe_node(engine, k, now, node->trouble_text, sizeof node->trouble_text);
    text_cut_echo(node->trouble_text);
    node->tls_fix = tls_advice(node->trouble_text);
    node->is_tls_refused = tls_is_lasting(node->trouble_text);
    node->certificate_ends = tls_certificate_ends(k);
    node->is_reached |= is_there(node->trouble);
    asking->survey->reached += node->is_reached;
}

static unsigned count_needs(void)
{
    unsigned count = 0;

    while (survey_needs[count].rule) count++;
    return count;
}

enum redlock_status survey_nodes(struct session *session, const struct survey_wishes *wishes,
                                 struct survey *survey)
{
    struct asking asking = { .session = session, .wishes = wishes, .survey = survey };
    uint64_t began_at;

    memset(survey, 0, sizeof *survey);
    survey->count = session->client.engine.node_count;
    survey->quorum = redlock_quorum(survey->count);
    survey->is_quick = wishes->rate_us == 0;
    survey->has_permissions = wishes->key != NULL;
    session_connect_all(session);
    began_at = redlock_now_us();
    take_steps(&asking, STEP_CLOCK, STEP_NEEDS + (wishes->key ? count_needs() : 0));
    if (wishes->rate_us > 0) look_again(&asking, began_at);
    for (unsigned k = 0; k < survey->count; k++) note_node(&asking, k);
    survey->wall_us = redlock_wall_us();
    survey->fingerprint = fingerprint_take(&session->client);
    return session->signal ? REDLOCK_CANCELLED : session->fault;
}
