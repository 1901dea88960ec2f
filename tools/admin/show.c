#include "show.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../redlock/output.h"
#include "../redlock/print.h"
#include "../redlock/text.h"
#include "removal.h"

enum {
    SHOWN_EVERY_US = 250 * 1000,    /* How far it is. */
    VALUE_TEXT = 4 * SCAN_VALUE_KEPT + 1,
    NAME_TEXT = 4 * SCAN_NAME_MAX + 1
};

/* ---- How far it is ---- */

void show_hide_progress(struct show *show)
{
    if (show->has_progress) (void)fputs("\r\033[K", stderr);
    show->has_progress = false;
}

bool show_progress(void *context, const struct scan_counts *so_far)
{
    struct show *show = context;
    uint64_t now = redlock_now_us();
    unsigned node = so_far->scanned < so_far->nodes ? so_far->scanned + 1 : so_far->nodes;

    if (!show->shows_progress || now - show->shown_at < SHOWN_EVERY_US) return true;
    show->shown_at = now;
    show->has_progress = true;
    (void)print_to(stderr,
                   "\r\033[Knode %u of %u, %" PRIu64 " names, %" PRIu64 " a second, %" PRIu64
                   " to look at again",
                   node, so_far->nodes, so_far->names,
                   so_far->names * 1000000 / (now - show->began_at + 1), so_far->kept);
    (void)fflush(stderr);
    return true;
}

/* ---- A finding, for people ---- */

/* A queue's value shows the token of its first. */
static size_t shown_size(const struct scan_sight *sight)
{
    return sight->type == SIGHT_QUEUE && sight->value_size > REDLOCK_TOKEN_TEXT ? REDLOCK_TOKEN_TEXT
                                                                                : sight->value_size;
}

static const char *value_text(const struct scan_sight *sight, char text[VALUE_TEXT])
{
    if (sight->type == SIGHT_SHARED) return "shared";
    return text_printable(text, VALUE_TEXT, sight->value, shown_size(sight));
}

static void print_ttl(int64_t ttl_ms)
{
    char duration[TEXT_DURATION_MAX];

    if (ttl_ms < 0) (void)print(", no TTL");
    else            (void)print(", %s left", text_duration(duration, (uint64_t)ttl_ms));
}

static void print_sight(const struct scan_sight *sight)
{
    char text[VALUE_TEXT];

    switch (sight->type) {
    case SIGHT_UNKNOWN:   (void)print("unknown"); return;
    case SIGHT_FORGOTTEN: (void)print("nothing, but it has restarted"); return;
    case SIGHT_ABSENT:    (void)print("nothing"); return;
    case SIGHT_STRING:    (void)print("%s", value_text(sight, text)); break;
    case SIGHT_SHARED:    (void)print("shared by %" PRIu32, sight->readers); break;
    case SIGHT_REDISSON:  (void)print("a lock of Redisson's"); break;
    case SIGHT_QUEUE:
        (void)print("%" PRIu32 " queued, the first is %s", sight->queued, value_text(sight, text));
        break;
    case SIGHT_OTHER:     (void)print("a key of another type"); break;
    }
    print_ttl(sight->ttl_ms);
}

static void print_nodes(struct show *show, const struct scan_finding *finding)
{
    for (unsigned k = 0; k < show->count; k++) {
        (void)print("  node %u (%s): ", k, redlock_node_address(&show->session->client, k));
        print_sight(&finding->sights[k]);
        (void)print("\n");
    }
}

/* The number after the last colon, if such a name is that of a permit as well, like "door:3"; 0: it
 * is none. */
static unsigned permit_of(const uint8_t *name, size_t size, size_t *stem_size)
{
    unsigned digits = size > 0 && name[size - 1] >= '0' && name[size - 1] <= '9' ? 1 : 0, number;

    if (digits > 0 && size > 1 && name[size - 2] >= '1' && name[size - 2] <= '9') digits = 2;
    if (digits == 0 || size < digits + 2 || name[size - digits - 1] != ':') return 0;
    number = (digits == 2 ? (unsigned)(name[size - 2] - '0') * 10 : 0) +
             (unsigned)(name[size - 1] - '0');
    *stem_size = size - digits - 1;
    return number <= REDLOCK_PERMITS_MAX ? number : 0;
}

/* "door", or "door:3 (or permit 3 of door)", since nobody can tell which was meant. */
static void print_name(const struct scan_finding *finding)
{
    size_t stem_size = 0;
    unsigned permit = permit_of(finding->name, finding->name_size, &stem_size);
    char name[NAME_TEXT];

    (void)print("%s", text_printable(name, sizeof name, finding->name, finding->name_size));
    if (permit > 0)
        (void)print(" (or permit %u of %s)", permit,
                    text_printable(name, sizeof name, finding->name, stem_size));
}

enum { WORDS_MAX = 600 };      /* Words of all classes. */

/* "its TTL is longer than the guard; held" */
static const char *describe(uint32_t classes, char text[WORDS_MAX])
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned class = 0; class < SCAN_CLASS_COUNT && used < WORDS_MAX; class++)
        if (classes >> class & 1)
            used += (size_t)print_text(text + used, WORDS_MAX - used, "%s%s", used > 0 ? "; " : "",
                                       scan_words((enum scan_class)class));
    return text;
}

/* "door: left over: nobody holds it ...: 5f3a... on 1 of 3 nodes, for another 8.1 s" */
static void print_finding(struct show *show, const struct scan_finding *finding)
{
    const struct scan_judgement *j = finding->judgement;
    char text[VALUE_TEXT], words[WORDS_MAX], duration[TEXT_DURATION_MAX];

    print_name(finding);
    (void)print(": %s", describe(j->classes, words));
    if (j->agreeing > 0) {
        const struct scan_sight *best = &finding->sights[j->best];
        (void)print(": %s on %u of %u nodes", value_text(best, text), j->agreeing, show->count);
        if (j->has_end) (void)print(", for another %s", text_duration(duration, j->ends_in_ms));
        if (best->queued > 0) (void)print(", %" PRIu32 " queued", best->queued);
    }
    (void)print("\n");
    if (scan_level_of(scan_gravest(j->classes)) == SCAN_NEEDED || show->settings->output.verbose)
        print_nodes(show, finding);
}

/* ---- For machines ---- */

static const char *const type_names[] = {
    [SIGHT_UNKNOWN] = "unknown", [SIGHT_FORGOTTEN] = "restarted", [SIGHT_ABSENT] = "free",
    [SIGHT_STRING] = "string",   [SIGHT_SHARED] = "shared",       [SIGHT_REDISSON] = "redisson",
    [SIGHT_QUEUE] = "queue",     [SIGHT_OTHER] = "other type"
};

static const char *const severity_names[] = {
    [SCAN_COUNTED] = "none", [SCAN_TOLD] = "info", [SCAN_NEEDED] = "warning"
};

static void json_ttl(bool has_ttl, uint64_t ttl_ms)
{
    if (has_ttl) (void)print(",\"ttl_ms\":%" PRIu64, ttl_ms);
    else         (void)print(",\"ttl_ms\":null");
}

static void json_value(const struct scan_sight *sight)
{
    (void)print(",\"value\":");
    if (sight->type == SIGHT_STRING || sight->type == SIGHT_QUEUE)
        json_string(stdout, sight->value, shown_size(sight));
    else                                                           (void)print("null");
}

static void json_sight(struct show *show, const struct scan_sight *sight, unsigned k)
{
    (void)print("%s{\"node\":%u,\"address\":", k > 0 ? "," : "", k);
    json_text(stdout, redlock_node_address(&show->session->client, k));
    (void)print(",\"state\":\"%s\"", type_names[sight->type]);
    if (sight->type > SIGHT_ABSENT) {
        json_value(sight);
        json_ttl(sight->ttl_ms >= 0, (uint64_t)sight->ttl_ms);
    }
    if (sight->type == SIGHT_SHARED) (void)print(",\"readers\":%" PRIu32, sight->readers);
    if (sight->queued > 0) (void)print(",\"queued\":%" PRIu32, sight->queued);
    (void)print("}");
}

static void json_finding(struct show *show, const struct scan_finding *finding, int removed)
{
    const struct scan_judgement *j = finding->judgement;
    char words[WORDS_MAX];
    bool is_first = true;

    output_json_begin_bytes(stdout, &show->settings->output, finding->name, finding->name_size,
                            describe(j->classes, words));
    (void)print("\"class\":\"%s\",\"severity\":\"%s\",\"classes\":[",
                scan_label(scan_gravest(j->classes)),
                severity_names[scan_level_of(scan_gravest(j->classes))]);
    for (unsigned class = 0; class < SCAN_CLASS_COUNT; class++) {
        if (!(j->classes >> class & 1)) continue;
        (void)print("%s\"%s\"", is_first ? "" : ",", scan_label((enum scan_class)class));
        is_first = false;
    }
    (void)print("],\"agreeing\":%u,\"quorum\":%u", j->agreeing, redlock_quorum(show->count));
    if (j->agreeing > 0) {
        json_value(&finding->sights[j->best]);
        json_ttl(j->has_end, j->ends_in_ms);
    }
    if (removed >= 0) (void)print(",\"removed\":%d", removed);
    (void)print(",\"nodes\":[");
    for (unsigned k = 0; k < show->count; k++) json_sight(show, &finding->sights[k], k);
    (void)print("]}\n");
}

/* ---- Removing ---- */

/* Is a line of stdin "y" or "yes"? It is read to its end and no further, so that nothing of it
 * answers the next question. */
static bool reads_yes(void)
{
    char answer[8] = "", c;
    size_t size = 0;

    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') {
        if (size < sizeof answer - 1) answer[size] = c;
        size++;
    }
    return size < sizeof answer && (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0);
}

/* A signal is no answer, and ends the program. */
static bool is_confirmed(struct show *show, const struct scan_finding *finding,
                         const struct scan_sight *sight)
{
    struct session *session = show->session;
    struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
    char text[VALUE_TEXT], name[NAME_TEXT];

    if (show->wishes->yes) return true;
    (void)print_to(stderr, "%s: remove %s, which has no TTL and whose owner may live? [y/N] ",
                   text_printable(name, sizeof name, finding->name, finding->name_size),
                   value_text(sight, text));
    (void)fflush(stderr);
    session->watched = STDIN_FILENO;
    while (poll(&terminal, 1, 0) == 0 && !session->fault && !session_must_end(session))
        session_wait(session, REDLOCK_NEVER);
    session->watched = -1;
    return !session->signal && reads_yes();
}

/* Nodes it was removed from; -1: removal not requested. */
static int fix(struct show *show, const struct scan_finding *finding)
{
    const struct scan_judgement *j = finding->judgement;
    int removed = -1;

    for (unsigned k = 0; k < show->count && show->wishes->fix; k++) {
        const struct scan_sight *sight = &finding->sights[k];
        bool may_go = j->removable >> k & 1;
        if (j->endless >> k & 1 && show->wishes->no_ttl)
            may_go = is_confirmed(show, finding, sight);
        if (!may_go) continue;
        if (removed < 0) removed = 0;
        removed += (int)removal_of(show->session, finding->name, finding->name_size, sight->value,
                                   sight->value_size);
    }
    return removed;
}

/* ---- Findings ---- */

/* Somebody must know of the rest, unless everything was removed that made it grave. */
static void take_account(struct show *show, const struct scan_judgement *j, int removed)
{
    bool is_gone = removed > 0 && !(j->classes & (1u << SCAN_IN_THE_WAY | 1u << SCAN_SHARED_ODD)) &&
                   (j->endless == 0 || show->wishes->no_ttl);

    show->told++;
    show->removed += is_gone;
    show->needed += !is_gone && scan_level_of(scan_gravest(j->classes)) == SCAN_NEEDED;
    if (removed >= 0) return;
    show->removable += j->removable != 0;
    show->endless += j->endless != 0;
}

void show_found(void *context, const struct scan_finding *finding)
{
    struct show *show = context;
    int removed;

    if (show->wishes->only_counts) {
        take_account(show, finding->judgement, -1);
        return;
    }
    show_hide_progress(show);
    if (!show->settings->output.json) print_finding(show, finding);
    removed = fix(show, finding);
    take_account(show, finding->judgement, removed);
    if (show->settings->output.json) json_finding(show, finding, removed);
    else if (removed >= 0) (void)print("  removed from %d of %u nodes\n", removed, show->count);
    (void)fflush(stdout);
}

#define HOLDING (1u << SCAN_HELD | 1u << SCAN_SHARED | 1u << SCAN_MAYBE_HELD | 1u << SCAN_REDISSON)

/* status: a line for each lock that somebody has. */
void show_found_held(void *context, const struct scan_finding *finding)
{
    struct show *show = context;

    if (!(finding->judgement->classes & HOLDING)) return;
    show_hide_progress(show);
    show->told++;
    if (show->settings->output.json) json_finding(show, finding, -1);
    else                             print_finding(show, finding);
}
