/* scan and status: what locks there are on the nodes, what is left of some, and what stands in the
 * way. show.c tells of each. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../redlock/exits.h"
#include "../redlock/print.h"
#include "../redlock/report.h"
#include "../redlock/text.h"
#include "admin.h"
#include "scan.h"
#include "show.h"

enum {
    EXIT_NEEDED = 1,                /* Something needs somebody. */
    EXIT_TOO_FEW = 3                /* Nodes to say anything. */
};

/* ---- At the end ---- */

static struct { const char *label; size_t offset; } const numbers[] = {
    { "names", offsetof(struct scan_counts, names) },
    { "hidden", offsetof(struct scan_counts, hidden) },
    { "moving", offsetof(struct scan_counts, moving) },
    { "changing", offsetof(struct scan_counts, changing) },
    { "not_looked_at_again", offsetof(struct scan_counts, kept) },
    { "keys_beside_locks", offsetof(struct scan_counts, beside) },
    { "tickets", offsetof(struct scan_counts, tickets) },
    { "orphan_tickets", offsetof(struct scan_counts, orphans) },
    { "long_names", offsetof(struct scan_counts, long_names) }
};

static uint64_t number_at(const struct scan_counts *counts, size_t offset)
{
    uint64_t number;

    memcpy(&number, (const char *)counts + offset, sizeof number);
    return number;
}

static void print_counts(const struct show *show)
{
    for (unsigned class = 0; class < SCAN_CLASS_COUNT; class++)
        (void)print("%s %" PRIu64 "\n", scan_label((enum scan_class)class),
                    show->counts.classes[class]);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)print("%s %" PRIu64 "\n", numbers[i].label,
                    number_at(&show->counts, numbers[i].offset));
    (void)print("nodes %u\nscanned %u\n", show->counts.nodes, show->counts.scanned);
}

static const char no_answer[] = "no answer in time, so it was not gone through";

static bool has_been_scanned(const struct show *show, unsigned k)
{
    return show->counts.done >> k & 1;
}

static void json_summary(struct show *show, enum redlock_status status)
{
    output_json_begin(stdout, &show->settings->output, NULL, status, NULL);
    (void)print("\"counts\":{");
    for (unsigned class = 0; class < SCAN_CLASS_COUNT; class++)
        (void)print("%s\"%s\":%" PRIu64, class > 0 ? "," : "", scan_label((enum scan_class)class),
                    show->counts.classes[class]);
    (void)print("}");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)print(",\"%s\":%" PRIu64, numbers[i].label,
                    number_at(&show->counts, numbers[i].offset));
    (void)print(",\"found\":%" PRIu64 ",\"removed\":%" PRIu64
                ",\"may_repeat\":%s,\"quorum\":%u,\"nodes\":[",
                show->told, show->removed, show->counts.may_repeat ? "true" : "false",
                redlock_quorum(show->count));
    for (unsigned k = 0; k < show->count; k++) {
        const struct session_note *note = &show->session->notes[k];
        (void)print("%s{\"node\":%u,\"address\":", k > 0 ? "," : "", k);
        json_text(stdout, redlock_node_address(&show->session->client, k));
        (void)print(",\"scanned\":%s,\"trouble\":", has_been_scanned(show, k) ? "true" : "false");
        if (has_been_scanned(show, k)) (void)print("null");
        else json_text(stdout, note->trouble == REDLOCK_TROUBLE_NONE ? no_answer : note->text);
        (void)print("}");
    }
    (void)print("]}\n");
}

/* "3 of 3 nodes, 12 names: 3 held, 1 leftover" */
static void print_summary(struct show *show)
{
    const struct scan_counts *counts = &show->counts;
    bool is_first = true;

    if (counts->scanned == 0 && counts->names == 0) {
        (void)print("none of %u nodes could be gone through\n", counts->nodes);
        return;
    }
    (void)print("%u of %u nodes, %" PRIu64 " names:", counts->scanned, counts->nodes,
                counts->names);
    for (unsigned class = 0; class < SCAN_CLASS_COUNT; class++) {
        if (counts->classes[class] == 0) continue;
        (void)print("%s %" PRIu64 " %s", is_first ? "" : ",", counts->classes[class],
                    scan_label((enum scan_class)class));
        is_first = false;
    }
    (void)print("%s\n", is_first ? " no locks" : "");
    if (counts->beside > 0)
        (void)print("%" PRIu64 " keys beside locks, %" PRIu64 " counters of tickets, %" PRIu64
                    " of which without a lock\n",
                    counts->beside, counts->tickets, counts->orphans);
    if (show->removed > 0)   (void)print("%" PRIu64 " removed\n", show->removed);
    if (show->removable > 0) (void)print("%" PRIu64 " can be removed: --fix\n", show->removable);
    if (show->endless > 0)
        (void)print("%" PRIu64
                    " without a TTL can be removed, if their owners are gone: --fix --no-ttl\n",
                    show->endless);
}

/* A node that was gone through has nothing to be reported, unless it refused to remove
 * what it should. */
static bool is_worth_telling(const struct show *show, unsigned k)
{
    enum redlock_trouble trouble = show->session->notes[k].trouble;
    bool is_of_slot = trouble == REDLOCK_TROUBLE_MOVED || trouble == REDLOCK_TROUBLE_CLUSTERDOWN;
    bool has_refused = show->wishes->fix && (is_of_slot || trouble == REDLOCK_TROUBLE_OTHER_ERROR);

    return !has_been_scanned(show, k) || has_refused;
}

/* Reports the limits of its knowledge. */
static void say_limits(struct show *show)
{
    const struct scan_counts *counts = &show->counts;

    if (counts->kept > 0)
        say("%" PRIu64 " that may be worth a line were not looked at again", counts->kept);
    if (counts->hidden > 0)
        say("%" PRIu64 " keys must not be read by this user: name a PATTERN that it may read",
            counts->hidden);
    if (counts->moving > 0)
        say("%" PRIu64 " keys were not seen, since their slot moves, or another server has it: "
                       "scan again when it has moved",
            counts->moving);
    if (counts->long_names > 0)
        say("%" PRIu64 " keys with a name of more than %d bytes were left out", counts->long_names,
            SCAN_NAME_MAX);
    if (counts->may_repeat) say("there were so many findings that some may stand here twice");
    for (unsigned k = 0; k < show->count; k++) {
        struct session_note *note = &show->session->notes[k];
        if (!is_worth_telling(show, k)) note->trouble = REDLOCK_TROUBLE_NONE;
        else if (note->trouble == REDLOCK_TROUBLE_NONE && !show->session->signal)
            say("node %u (%s): %s (it hangs, or the network does; if it is only slow: "
                "--node-timeout)",
                k, redlock_node_address(&show->session->client, k), no_answer);
    }
    if (!show->session->signal) report_nodes(show->session);
}

static int exit_code(const struct show *show, enum redlock_status status)
{
    uint64_t unseen;

    if (show->session->signal) return exit_of(show->session, REDLOCK_CANCELLED);
    if (status == REDLOCK_NO_QUORUM) return EXIT_TOO_FEW;
    if (status != REDLOCK_OK)        return EXIT_TROUBLE;
    if (show->wishes->only_held) return EXIT_SUCCESS;
    unseen = show->counts.hidden + show->counts.moving;
    return show->needed > 0 || unseen > 0 || show->counts.scanned < show->count ? EXIT_NEEDED
                                                                                : EXIT_SUCCESS;
}

static int scan_in_session(struct session *session, const struct settings *settings,
                           const struct scan_wishes *asked)
{
    struct show show = {
        .session = session, .settings = settings, .wishes = asked,
        .count = session->client.engine.node_count, .began_at = redlock_now_us(),
        .shows_progress = !settings->output.json && isatty(STDERR_FILENO)
    };
    struct scan_order order = {
        .pattern = asked->pattern, .rate = asked->rate, .apart_ms = asked->apart_ms,
        .guard_ms = settings->options.engine.guard_ms, .looks_once = asked->only_held,
        .context = &show, .found = asked->only_held ? show_found_held : show_found,
        .goes_on = show_progress
    };
    enum redlock_status status = scan_nodes(session, &order, &show.counts);

    show_hide_progress(&show);
    if (settings->output.json)   json_summary(&show, status);
    else if (asked->only_counts) print_counts(&show);
    else                         print_summary(&show);
    if (!settings->output.json) say_limits(&show);
    if (!output_written("the result")) status = REDLOCK_SYSTEM;
    return exit_code(&show, status);
}

int scan_command(struct session *session, struct settings *settings,
                 const struct scan_wishes *wishes)
{
    int code;

    scan_prepare(settings);
    if (open_session(session, settings) != REDLOCK_OK) return EXIT_TROUBLE;
    code = scan_in_session(session, settings, wishes);
    close_session(session);
    return code;
}
