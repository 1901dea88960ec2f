/* watch: shows the holder of each lock, as it changes. On a terminal a table that is drawn again
 * and again in place; elsewhere a line for each change. It looks as redlock status does,
 * and reads only. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../redlock/ask_all.h"
#include "../redlock/descriptors.h"
#include "../redlock/exits.h"
#include "../redlock/print.h"
#include "../redlock/report.h"
#include "../redlock/status.h"
#include "../redlock/text.h"
#include "admin.h"

enum {
    CELL_WIDTH = 9,             /* Width of a node's column. */
    NAME_WIDTH_MAX = 32,
    STATE_WIDTH = 12,
    LINE_COLUMNS = 80, SCREEN_LINES = 24    /* Size of a terminal that does not say. */
};

/* One resource. */
struct lock {
    const char *resource;
    struct permits permits;     /* Without permits the first view is all. */
    bool has_waiters;           /* A node has reported how many there are: */
    uint64_t waiters;
    uint64_t digest;            /* Digest of the last report. */
};

struct watching {
    struct session *session;
    const struct settings *settings;
    uint32_t interval_ms;           /* From one look to the next. */
    struct lock *locks;
    unsigned count;
    bool is_screen;
};

/* ---- Looking ---- */

/* The number of clients that stand in line, as far as any node knows. One that has gone without a
 * word is among them for a while. */
static void count_waiters(struct lock *lock, struct session *session)
{
    static struct ask_all all;
    struct redlock_item item;
    char key[REDLOCK_RESOURCE_MAX + 1 + sizeof REDLOCK_WAITERS_SUFFIX];

    all = (struct ask_all){ 0 };
    lock->has_waiters = false;
    lock->waiters = 0;
    (void)print_text(key, sizeof key, "%s%s%s", lock->resource,
                     session->settings->permits > 0 ? ":" : "", REDLOCK_WAITERS_SUFFIX);
    ask_all_argument(&all, "ZCARD");
    ask_all_argument(&all, key);
    ask_all_begin(&all, session);
    ask_all_wait(&all, session,
                 redlock_now_us() +
                     (uint64_t)session->settings->options.engine.node_timeout_ms * 1000);
    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        if (!ask_all_answer(&all, k, &item) || item.type != REDLOCK_ITEM_INTEGER) continue;
        lock->has_waiters = true;
        if (item.integer > 0 && (uint64_t)item.integer > lock->waiters)
            lock->waiters = (uint64_t)item.integer;
    }
    ask_all_end(&all, session);
}

static enum redlock_status look(struct watching *w, struct lock *lock)
{
    enum redlock_status status;

    if (w->settings->permits > 0) {
        status = permits_look(&lock->permits, w->session, lock->resource);
    } else {
        lock->permits.count = 1;
        status = view_look(&lock->permits.views[0], w->session, lock->resource);
    }
    if (status == REDLOCK_OK) count_waiters(lock, w->session);
    return w->session->signal ? REDLOCK_CANCELLED : status;
}

/* ---- What is a change ---- */

static uint64_t digest_of(uint64_t digest, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ ((const uint8_t *)data)[i]) * UINT64_C(1099511628211);
    return digest;
}

/* Not the time that is left. */
static uint64_t digest_view(uint64_t digest, const struct view *view)
{
    const struct redlock_sight *sight = &view->sights[view->holder];
    unsigned numbers[] = {
        (unsigned)view->verdict, view->agreeing,  view->voters,        view->givers,
        view->has_end,           view->is_shared, view->readers.count, view->readers.has_writer
    };

    digest = digest_of(digest, numbers, sizeof numbers);
    if (view->verdict == VERDICT_HELD) digest = digest_of(digest, sight->value, sight_kept(sight));
    for (unsigned i = 0; view->is_shared && i < view->readers.count; i++)
        digest = digest_of(digest, view->readers.readers[i].value,
                           strlen(view->readers.readers[i].value));
    return digest;
}

static bool has_changed(struct lock *lock)
{
    uint64_t digest =
        digest_of(UINT64_C(14695981039346656037), &lock->waiters, sizeof lock->waiters);
    bool is_new;

    for (unsigned i = 0; i < lock->permits.count; i++)
        digest = digest_view(digest, &lock->permits.views[i]);
    is_new = digest != lock->digest;
    lock->digest = digest;
    return is_new;
}

/* ---- A line for each change ---- */

static const char *holder_text(const struct view *view, char *text, size_t size)
{
    if (view->held.name[0] != '\0')
        return text_printable(text, size, view->held.name, strlen(view->held.name));
    return status_value_text(&view->sights[view->holder], text, size);
}

/* "hut: 2 of 4 permits taken: 1 by web1:4711 backup.sh, 3 by ..." */
static void print_permits(const struct lock *lock)
{
    const struct permits *permits = &lock->permits;
    char name[TEXT_MAX], holder[4 * REDLOCK_HOLDER_MAX + 8];
    unsigned told = 0;

    (void)print("%s: %u of %u permits taken",
                text_printable(name, sizeof name, lock->resource, strlen(lock->resource)),
                permits->taken, permits->count);
    for (unsigned i = 0; i < permits->count; i++) {
        const struct view *view = &permits->views[i];
        if (view->verdict != VERDICT_HELD) continue;
        (void)print("%s %u by %s", told++ == 0 ? ":" : ",", i + 1,
                    holder_text(view, holder, sizeof holder));
    }
    if (permits->known < permits->count)
        (void)print("; of %u too few nodes can tell", permits->count - permits->known);
}

/* "; node 0: MOVED 15495 10.0.0.7:6379 (name the server of that address, which
 * has this resource)" */
static void print_troubles(const struct view *view)
{
    for (unsigned k = 0; view->verdict == VERDICT_NO_QUORUM && k < view->count; k++) {
        const char *trouble = view->sights[k].seen ? NULL : view_trouble(view, k);
        const char *advice = trouble ? report_advice(view->session, k, trouble) : NULL;
        if (trouble)
            (void)print("; node %u: %s%s%s%s", k, trouble, advice ? " (" : "", advice ? advice : "",
                        advice ? ")" : "");
    }
}

static bool is_writer_waiting(const struct view *view)
{
    return view->is_shared && view->readers.has_writer;
}

static void print_change(const struct watching *w, const struct lock *lock)
{
    char time[TEXT_TIME_MAX];

    (void)print("%s ", text_time(time, redlock_wall_us()));
    if (w->settings->permits > 0) print_permits(lock);
    else                          status_print_verdict(&lock->permits.views[0]);
    if (is_writer_waiting(&lock->permits.views[0])) (void)print("; one waits to have it alone");
    if (lock->waiters > 0) (void)print("; %" PRIu64 " in line", lock->waiters);
    print_troubles(&lock->permits.views[0]);
    (void)print("\n");
}

static void print_json(const struct watching *w, const struct lock *lock)
{
    bool is_of_permits = w->settings->permits > 0;
    enum redlock_status status =
        is_of_permits ? permits_status(&lock->permits) : view_status(&lock->permits.views[0]);
    char time[TEXT_TIME_MAX];

    output_json_begin(stdout, &w->settings->output, lock->resource, status, NULL);
    (void)print("\"time\":\"%s\",\"waiters\":", text_time(time, redlock_wall_us()));
    if (lock->has_waiters) (void)print("%" PRIu64 ",", lock->waiters);
    else                   (void)print("null,");
    if (is_of_permits) status_json_permits(&lock->permits);
    else               status_json(&lock->permits.views[0]);
    (void)print("\n");
}

static void tell_changes(struct watching *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        if (!has_changed(&w->locks[i])) continue;
        if (w->settings->output.json) print_json(w, &w->locks[i]);
        else                          print_change(w, &w->locks[i]);
    }
}

/* ---- The screen ---- */

static const char screen_begin[] = "\033[?1049h\033[?25l", screen_end[] = "\033[?25h\033[?1049l";

/* A signal handler has no argument of ours. */
static volatile sig_atomic_t was_disturbed;     /* The terminal has another size, or the program was
                                                 * stopped, so the table is to be drawn anew. */

/* A terminal that has gone is noticed elsewhere. */
static void show(const char *text, size_t size)
{
    (void)write_all(STDOUT_FILENO, text, size);
}

static void catch_stop(void);

/* Leaves the terminal as it was while it is stopped. */
static void stop(int number)
{
    int error = errno;

    show(screen_end, sizeof screen_end - 1);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
    catch_stop();
    show(screen_begin, sizeof screen_begin - 1);
    was_disturbed = 1;
    errno = error;
}

static void note_disturbance(int number)
{
    (void)number;
    was_disturbed = 1;
}

static void catch_stop(void)
{
    struct sigaction action = { .sa_handler = stop, .sa_flags = SA_NODEFER };

    (void)sigaction(SIGTSTP, &action, NULL);
}

static void begin_screen(void)
{
    struct sigaction action = { .sa_handler = note_disturbance };

    (void)sigaction(SIGWINCH, &action, NULL);
    catch_stop();
    show(screen_begin, sizeof screen_begin - 1);
}

/* How wide the names are. */
static int name_width(const struct watching *w)
{
    size_t width = sizeof "resource" - 1;

    for (unsigned i = 0; i < w->count; i++) {
        size_t size = strlen(w->locks[i].resource) + (w->settings->permits > 0 ? 4 : 0);
        if (size > width) width = size;
    }
    return (int)(width < NAME_WIDTH_MAX ? width : NAME_WIDTH_MAX);
}

static const char *state_text(const struct view *view, char *text, size_t size)
{
    if (view->is_shared)
        (void)print_text(text, size, "shared by %s%u", view->readers.are_more ? ">" : "",
                         view->readers.count);
    else
        (void)print_text(text, size, "%s %u/%u", view_verdict_name(view), view->agreeing,
                         view->count);
    return text;
}

/* A node's cell shows for how long it keeps most nodes' value, with a star if it is another's. */
static const char *cell_text(const struct view *view, unsigned k, char *text, size_t size)
{
    const struct redlock_sight *sight = &view->sights[k];
    bool is_odd = view->verdict == VERDICT_HELD && !view_is_same(view, k, view->holder);
    char duration[TEXT_DURATION_MAX];

    if (!sight->seen)           return "?";
    if (!sight->exists)         return "-";
    if (!sight->is_string)      return "no lock";
    (void)print_text(text, size, "%s%s",
                     sight->has_ttl ? text_duration(duration, sight->ttl_ms) : "no TTL",
                     is_odd ? "*" : "");
    return text;
}

static void draw_view(FILE *file, const struct view *view, const char *waiters, int width)
{
    char name[4 * NAME_WIDTH_MAX + 1], state[32], cell[TEXT_DURATION_MAX + 8],
        left[TEXT_DURATION_MAX];
    char holder[4 * REDLOCK_HOLDER_MAX + 8];

    (void)print_to(file, "%-*.*s  %-*s %*s", width, width,
                   text_printable(name, sizeof name, view->resource, strlen(view->resource)),
                   STATE_WIDTH, state_text(view, state, sizeof state), CELL_WIDTH,
                   view->verdict != VERDICT_HELD ? ""
                   : view->has_end               ? text_duration(left, view->ends_in_ms)
                                                 : "no TTL");
    (void)print_to(file, "%8s", waiters);
    for (unsigned k = 0; k < view->count; k++)
        (void)print_to(file, " %*s", CELL_WIDTH, cell_text(view, k, cell, sizeof cell));
    if (view->verdict == VERDICT_HELD && !view->is_shared)
        (void)print_to(file, "  %s", holder_text(view, holder, sizeof holder));
    (void)fputc('\n', file);
}

static void draw_readers(FILE *file, const struct view *view)
{
    char value[4 * REDLOCK_VALUE_TEXT + 1], duration[TEXT_DURATION_MAX];

    for (unsigned i = 0; i < view->readers.count; i++) {
        const struct reader *reader = &view->readers.readers[i];
        (void)print_to(file, "  shared by %s, %s left, on %u of %u nodes\n",
                       text_printable(value, sizeof value, reader->value, strlen(reader->value)),
                       text_duration(duration, reader->ends_in_ms), reader->nodes, view->count);
    }
    if (view->readers.has_writer) (void)fputs("  somebody waits to have it alone\n", file);
}

static void draw_lock(FILE *file, const struct watching *w, const struct lock *lock, int width)
{
    char waiters[24] = "?", name[TEXT_MAX];

    if (lock->has_waiters) (void)print_text(waiters, sizeof waiters, "%" PRIu64, lock->waiters);
    if (w->settings->permits > 0)
        (void)print_to(file, "%s: %u of %u permits taken, %s in line\n",
                       text_printable(name, sizeof name, lock->resource, strlen(lock->resource)),
                       lock->permits.taken, lock->permits.count, waiters);
    for (unsigned i = 0; i < lock->permits.count; i++) {
        draw_view(file, &lock->permits.views[i], w->settings->permits > 0 ? "" : waiters, width);
        if (lock->permits.views[i].is_shared) draw_readers(file, &lock->permits.views[i]);
    }
}

/* Draws the common facts of all nodes, as far as the last look tells. */
static void draw_nodes(FILE *file, const struct watching *w)
{
    const struct view *view = &w->locks[w->count - 1].permits.views[0];

    (void)fputc('\n', file);
    for (unsigned k = 0; k < view->count; k++) {
        const char *trouble = view_trouble(view, k);
        (void)print_to(file, "node %-2u %s  %s%s%s\n", k,
                       redlock_node_address(&w->session->client, k),
                       view_may_vote(view, k) ? "votes" : "no vote", trouble ? ": " : "",
                       trouble ? trouble : "");
    }
}

static void draw_all(FILE *file, const struct watching *w)
{
    int width = name_width(w);
    char time[TEXT_TIME_MAX], interval[TEXT_DURATION_MAX];

    (void)print_to(file, "redlock watch   %.19sZ   every %s   Ctrl-C ends it\n\n",
                   text_time(time, redlock_wall_us()), text_duration(interval, w->interval_ms));
    (void)print_to(file, "%-*s  %-*s %*s%8s", width, "resource", STATE_WIDTH, "state", CELL_WIDTH,
                   "left", "in line");
    for (unsigned k = 0; k < w->session->client.engine.node_count; k++)
        (void)print_to(file, "    node %-2u", k);
    (void)fputs("  holder\n", file);
    for (unsigned i = 0; i < w->count; i++) draw_lock(file, w, &w->locks[i], width);
    draw_nodes(file, w);
}

/* The end of a line of so many columns, where a character of UTF-8 takes one. */
static size_t cut_line(const char *line, size_t size, unsigned columns)
{
    size_t at = 0;

    for (unsigned seen = 0; at < size; at++) {
        if (((unsigned char)line[at] & 0xc0) == 0x80) continue;
        if (seen++ == columns) break;
    }
    return at;
}

/* Each line in the place of the one before; the last one of the screen gets no line feed, which
 * would move it up. */
static void show_lines(const char *text, const struct winsize *size)
{
    unsigned line = 0;

    show("\033[H", 3);
    for (const char *end; *text != '\0' && line < size->ws_row; text = end + 1, line++) {
        end = strchr(text, '\n');
        if (line > 0) show("\r\n", 2);
        show(text, cut_line(text, (size_t)(end - text), size->ws_col));
        show("\033[K", 3);
    }
    show("\033[J", 3);
}

static void draw(const struct watching *w)
{
    struct winsize size;
    char *text = NULL;
    size_t used = 0;
    FILE *file = open_memstream(&text, &used);

    was_disturbed = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        size = (struct winsize){ .ws_row = SCREEN_LINES, .ws_col = LINE_COLUMNS };
    if (!file) return;
    draw_all(file, w);
    if (fclose(file) == 0) show_lines(text, &size);
    free(text);
}

/* ---- All of it ---- */

/* Waits until the next look. */
static void wait_until(struct watching *w, uint64_t until)
{
    while (redlock_now_us() < until && !session_must_end(w->session) && !w->session->fault) {
        session_wait(w->session, until);
        if (w->is_screen && was_disturbed) draw(w);
    }
}

/* OK: the lines could be written, and it goes on. */
static enum redlock_status look_once(struct watching *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        enum redlock_status status = look(w, &w->locks[i]);
        if (status == REDLOCK_BAD_RESOURCE) report_blind(w->session, w->locks[i].resource, status);
        if (status != REDLOCK_OK) return status;
    }
    if (w->is_screen) {
        draw(w);
        return REDLOCK_OK;
    }
    tell_changes(w);
    return output_written("the changes") ? REDLOCK_OK : REDLOCK_SYSTEM;
}

static enum redlock_status watch(struct watching *w)
{
    uint64_t begun;
    enum redlock_status status;

    do {
        begun = redlock_now_us();
        status = look_once(w);
        if (status == REDLOCK_OK) wait_until(w, begun + (uint64_t)w->interval_ms * 1000);
        if (w->session->fault) status = w->session->fault;
    } while (status == REDLOCK_OK && !w->session->signal);
    return status;
}

static int watch_in_session(struct session *session, const struct settings *settings,
                            uint32_t interval_ms)
{
    struct watching w = {
        .session = session, .settings = settings, .interval_ms = interval_ms,
        .count = settings->name_count
    };
    enum redlock_status status = REDLOCK_SYSTEM;

    w.locks = calloc(w.count, sizeof *w.locks);
    for (unsigned i = 0; w.locks && i < w.count; i++) w.locks[i].resource = settings->names[i];
    w.is_screen = !settings->output.json && isatty(STDOUT_FILENO);
    if (w.locks) {
        if (w.is_screen) begin_screen();
        status = watch(&w);
        if (w.is_screen) show(screen_end, sizeof screen_end - 1);
    }
    if (!session->signal &&
        (!w.locks || (status != REDLOCK_SYSTEM && status != REDLOCK_BAD_RESOURCE)))
        report_status(session, status);
    free(w.locks);
    return exit_of(session, status);
}

int watch_command(struct session *session, struct settings *settings, uint32_t interval_ms)
{
    int code;

    if (open_session(session, settings) != REDLOCK_OK) return EXIT_TROUBLE;
    code = watch_in_session(session, settings, interval_ms);
    close_session(session);
    return code;
}
