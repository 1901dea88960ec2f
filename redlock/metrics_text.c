/* Metrics as text, byte by byte. Only the bytes that belong to a page are kept. */
#include "metrics.h"

struct page {
    char *buffer;
    size_t size, from;
    size_t length;                      /* Size of the text so far. */
    const struct redlock_metrics *m;
};

/* One of several series of a metric. */
struct series {
    const char *name, *suffix;
    const char *label, *value;          /* NULL: none. */
    unsigned node;
};

enum { NO_NODE = REDLOCK_NODES_MAX, DIGITS_MAX = 20, DECIMALS = 6 };

static void put(struct page *page, char c)
{
    if (page->length >= page->from && page->length - page->from + 1 < page->size)
        page->buffer[page->length - page->from] = c;
    page->length++;
}

static void put_text(struct page *page, const char *text)
{
    while (*text != '\0') put(page, *text++);
}

/* The value of a label. */
static void put_escaped(struct page *page, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"' || *text == '\n') put(page, '\\');
        put(page, *text == '\n' ? 'n' : *text);
    }
}

/* Divides by ten, in pieces of 16 bits, and returns the last digit. */
static unsigned take_digit(uint64_t *number)
{
    uint64_t quotient = 0;
    uint32_t rest = 0;

    for (int shift = 48; shift >= 0; shift -= 16) {
        rest = rest << 16 | (uint32_t)(*number >> shift & 0xffff);
        quotient = quotient << 16 | rest / 10;
        rest %= 10;
    }
    *number = quotient;
    return rest;
}

/* Digits after the point, without zeros at the end. */
static void put_decimals(struct page *page, const uint8_t digits[DECIMALS])
{
    unsigned count = DECIMALS;

    while (count > 0 && digits[DECIMALS - count] == 0) count--;
    if (count > 0) put(page, '.');
    for (unsigned i = DECIMALS; count > 0; count--) put(page, (char)('0' + digits[--i]));
}

static void put_number(struct page *page, uint64_t number, bool is_in_millionths)
{
    uint8_t digits[DIGITS_MAX];
    unsigned count = 0, least = is_in_millionths ? DECIMALS : 0;

    while (number > 0 || count <= least) digits[count++] = (uint8_t)take_digit(&number);
    while (count > least) put(page, (char)('0' + digits[--count]));
    if (is_in_millionths) put_decimals(page, digits);
}

/* ---- Lines ---- */

static void begin_metric(struct page *page, const char *name, const char *type, const char *help)
{
    put_text(page, "# HELP ");
    put_text(page, name);
    put(page, ' ');
    put_text(page, help);
    put_text(page, "\n# TYPE ");
    put_text(page, name);
    put(page, ' ');
    put_text(page, type);
    put(page, '\n');
}

/* The bracket is open after the first of them. */
static void begin_label(struct page *page, bool *is_open, const char *name)
{
    put(page, *is_open ? ',' : '{');
    *is_open = true;
    put_text(page, name);
    put_text(page, "=\"");
}

static void put_label(struct page *page, bool *is_open, const char *name, const char *value)
{
    begin_label(page, is_open, name);
    put_escaped(page, value);
    put(page, '"');
}

static void put_node(struct page *page, bool *is_open, unsigned k)
{
    const char *const *names = page->m->node_names;

    begin_label(page, is_open, "node");
    if (names && names[k]) put_escaped(page, names[k]);
    else                   put_number(page, k, false);
    put(page, '"');
}

/* end is a bucket's, in millionths. NULL: the bucket for all. */
static void put_end(struct page *page, bool *is_open, const uint32_t *end)
{
    begin_label(page, is_open, "le");
    if (end) put_number(page, *end, true);
    else     put_text(page, "+Inf");
    put(page, '"');
}

static void put_labels(struct page *page, const struct series *series, bool *is_open)
{
    if (series->node != NO_NODE) put_node(page, is_open, series->node);
    if (series->label)           put_label(page, is_open, series->label, series->value);
    for (unsigned i = 0; i < page->m->label_count; i++)
        put_label(page, is_open, page->m->labels[i].name, page->m->labels[i].value);
}

static void end_line(struct page *page, bool is_open, uint64_t number, bool is_in_millionths)
{
    put_text(page, is_open ? "} " : " ");
    put_number(page, number, is_in_millionths);
    put(page, '\n');
}

static void put_line(struct page *page, const struct series *series, const char *suffix,
                     uint64_t number, bool is_in_millionths)
{
    bool is_open = false;

    put_text(page, series->name);
    put_text(page, suffix);
    put_labels(page, series, &is_open);
    end_line(page, is_open, number, is_in_millionths);
}

static void put_bucket(struct page *page, const struct series *series, const uint32_t *end,
                       uint64_t number)
{
    bool is_open = false;

    put_text(page, series->name);
    put_text(page, "_bucket");
    put_labels(page, series, &is_open);
    put_end(page, &is_open, end);
    end_line(page, is_open, number, false);
}

static void put_histogram(struct page *page, const struct series *series, const uint64_t *histogram,
                          const uint32_t *ends, unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i <= count; i++) {
        sum += histogram[i];
        put_bucket(page, series, i < count ? &ends[i] : NULL, sum);
    }
    put_line(page, series, "_sum", histogram[count + 1], true);
    put_line(page, series, "_count", sum, false);
}

/* A number by itself. */
static void put_metric(struct page *page, const char *name, const char *type, const char *help,
                       uint64_t number, bool is_in_millionths)
{
    const struct series series = { .name = name, .node = NO_NODE };

    begin_metric(page, name, type, help);
    put_line(page, &series, "", number, is_in_millionths);
}

static void put_counter(struct page *page, const char *name, const char *help, uint64_t number)
{
    put_metric(page, name, "counter", help, number, false);
}

static void put_gauge(struct page *page, const char *name, const char *help, uint64_t number)
{
    put_metric(page, name, "gauge", help, number, false);
}

/* Text i = 0.. of texts that stand each behind the NUL of the one before. */
static const char *text_at(const char *texts, unsigned i)
{
    for (; i > 0; i--) texts = next_text(texts, SIZE_MAX);
    return texts;
}

/* One counter for each value of a label, which are texts as for text_at. */
static void put_series(struct page *page, struct series series, const char *values, unsigned count,
                       const uint64_t *numbers)
{
    for (unsigned i = 0; i < count; i++) {
        series.value = text_at(values, i);
        put_line(page, &series, "", numbers[i], false);
    }
}

static void put_counters(struct page *page, const struct series *series, const char *help,
                         const char *values, unsigned count, const uint64_t *numbers)
{
    begin_metric(page, series->name, "counter", help);
    put_series(page, *series, values, count, numbers);
}

/* ---- Metrics ---- */

static const char outcomes[] =
    "ok\0taken\0no_quorum\0too_late\0lost\0timeout\0cancelled\0error";

static void put_build(struct page *page, uint64_t wall_us)
{
    const struct series series = {
        .name = "redlock_build_info", .label = "version", .value = redlock_version(),
        .node = NO_NODE
    };

    begin_metric(page, series.name, "gauge", "Version of redlock.");
    put_line(page, &series, "", 1, false);
    if (wall_us > 0)
        put_metric(page, "redlock_updated_timestamp_seconds", "gauge",
                   "When these metrics were written, since 1970.", wall_us, true);
}

static bool is_held_at(const struct redlock_metered *lock, uint64_t now_us)
{
    return lock->is_held && now_us < lock->valid_until;
}

static void put_state(struct page *page, uint64_t now_us)
{
    unsigned long held = 0, waiting = 0, debts = 0;

    for (uint32_t i = 0; i < page->m->slot_count; i++) {
        const struct redlock_metered *lock = &page->m->slots[i];
        if (!lock->lock) continue;
        held += is_held_at(lock, now_us);
        waiting += lock->is_acquiring;
        debts += metrics_count_of(lock->owed);
    }
    put_gauge(page, "redlock_held", "Locks that are held.", held);
    put_gauge(page, "redlock_waiting", "Locks that are being acquired.", waiting);
    put_gauge(page, "redlock_debts", "Releases that nodes have not confirmed.", debts);
    if (page->m->ticket > 0) put_gauge(page, "redlock_ticket", "The last ticket.", page->m->ticket);
}

static void put_acquires(struct page *page)
{
    struct series series = {
        .name = "redlock_acquire_seconds", .label = "outcome", .node = NO_NODE
    };

    begin_metric(page, series.name, "histogram", "Time to acquire a lock, with waiting.");
    for (unsigned i = 0; i < REDLOCK_METRICS_OUTCOMES; i++) {
        uint64_t count = i <= OUTCOME_NO_QUORUM || i == OUTCOME_TIMEOUT;
        for (unsigned j = 0; j <= REDLOCK_METRICS_TIMES; j++) count |= page->m->acquires[i][j];
        series.value = text_at(outcomes, i);
        if (count > 0)
            put_histogram(page, &series, page->m->acquires[i], metrics_times(),
                          REDLOCK_METRICS_TIMES);
    }
}

static void put_holds(struct page *page)
{
    const struct series hold = { .name = "redlock_hold_seconds", .node = NO_NODE };
    const struct series part = { .name = "redlock_validity_left_ratio", .node = NO_NODE };

    begin_metric(page, hold.name, "histogram",
                 "Time from the acquire to the release, or the loss.");
    put_histogram(page, &hold, page->m->holds, metrics_times(), REDLOCK_METRICS_TIMES);
    begin_metric(page, part.name, "histogram",
                 "Part of the TTL that was left when an extension was decided.");
    put_histogram(page, &part, page->m->parts_left, metrics_parts(), REDLOCK_METRICS_PARTS);
}

static void put_operations(struct page *page)
{
    const struct redlock_metrics *m = page->m;
    const struct series attempts = {
        .name = "redlock_attempts_total", .label = "outcome", .node = NO_NODE
    };
    const struct series extensions = {
        .name = "redlock_extensions_total", .label = "outcome", .node = NO_NODE
    };
    const struct series released = {
        .name = "redlock_releases_total", .label = "outcome", .node = NO_NODE
    };
    const struct series lost = { .name = "redlock_lost_total", .label = "reason", .node = NO_NODE };
    const struct series woken = {
        .name = "redlock_wake_ups_total", .label = "kind", .node = NO_NODE
    };

    put_counters(page, &attempts, "Rounds to acquire.", outcomes, OUTCOME_TOO_LATE + 1,
                 m->attempts);
    put_counters(page, &extensions, "Rounds to extend.", outcomes, OUTCOME_LOST + 1, m->extensions);
    put_counters(page, &released, "Releases.", "confirmed\0owed\0lost", RELEASE_LOST + 1,
                 m->releases);
    put_counters(page, &lost, "Locks that ended without a release.", "expired\0refused\0no_quorum",
                 LOSS_NO_QUORUM + 1, m->losses);
    put_counters(page, &woken, "Attempts behind a pause.", "heard\0timer",
                 WAKE_UP_TIMER + 1, m->wake_ups);
}

static void put_votes(struct page *page)
{
    static const char votes[] = "granted\0refused\0unknown\0not_asked\0late";
    struct series series = { .name = "redlock_votes_total", .label = "vote" };

    begin_metric(page, series.name, "counter", "Votes on rounds to acquire and to extend.");
    for (; series.node < page->m->node_count; series.node++)
        put_series(page, series, votes, REDLOCK_METRICS_VOTES, page->m->votes[series.node]);
}

static void put_trips(struct page *page)
{
    struct series series = { .name = "redlock_node_round_trip_seconds" };

    begin_metric(page, series.name, "histogram", "Time from a command to its answer.");
    for (; series.node < page->m->node_count; series.node++)
        put_histogram(page, &series, page->m->trips[series.node], metrics_trips(),
                      REDLOCK_METRICS_TRIPS);
}

/* In the order of enum redlock_trouble. */
static const char trouble_names[] =
    "\0new\0unreachable\0closed\0silent\0protocol\0restarted\0same_server\0replica\0cluster\0"
    "sentinel\0no_identity\0noauth\0wrongpass\0noperm\0loading\0readonly\0moved\0clusterdown\0"
    "oom\0misconf\0masterdown\0noreplicas\0busy\0noscript\0wrongtype\0max_clients\0denied\0"
    "ahead\0other_error";

static void put_troubles(struct page *page, const struct redlock *r, uint64_t now_us)
{
    struct series series = { .name = "redlock_node_trouble", .label = "trouble" };

    begin_metric(page, series.name, "gauge", "Why a node has no vote, or its last error.");
    for (; series.node < page->m->node_count; series.node++) {
        series.value = text_at(trouble_names, redlock_view_node(r, series.node, now_us).trouble);
        if (*series.value != '\0') put_line(page, &series, "", 1, false);
    }
}

static void put_nodes(struct page *page, const struct redlock *r, uint64_t now_us)
{
    struct series restarts = { .name = "redlock_node_restarts_total" },
                  up = { .name = "redlock_node_up" }, votes = { .name = "redlock_node_votes" };

    begin_metric(page, restarts.name, "counter", "Another server than before, or a restart.");
    for (; restarts.node < page->m->node_count; restarts.node++)
        put_line(page, &restarts, "", page->m->restarts[restarts.node], false);
    if (!r) return;
    begin_metric(page, up.name, "gauge", "Does the node answer?");
    for (; up.node < page->m->node_count; up.node++)
        put_line(page, &up, "", page->m->nodes[up.node].is_up, false);
    begin_metric(page, votes.name, "gauge", "Has the node a vote?");
    for (; votes.node < page->m->node_count; votes.node++)
        put_line(page, &votes, "", redlock_node_votes(r, votes.node, now_us), false);
    put_troubles(page, r, now_us);
}

size_t redlock_metrics_text(const struct redlock_metrics *m, const struct redlock *r,
                            uint64_t now_us, uint64_t wall_us, size_t from, char *buffer,
                            size_t size)
{
    struct page page = { .buffer = buffer, .size = size, .from = from, .m = m };
    size_t left;

    put_build(&page, wall_us);
    put_state(&page, now_us);
    put_acquires(&page);
    put_holds(&page);
    put_operations(&page);
    put_votes(&page);
    put_trips(&page);
    put_nodes(&page, r, now_us);
    put_counter(&page, "redlock_metrics_lost_events_total",
                "Events that are missing in these metrics.", m->lost_events);
    put_counter(&page, "redlock_metrics_untracked_rounds_total",
                "Rounds of locks that had no slot.", m->untracked_rounds);
    left = page.length > from ? page.length - from : 0;
    if (size > 0) buffer[left < size ? left : size - 1] = '\0';
    return left;
}

/* ---- Labels ---- */

static bool is_same_text(const char *a, const char *b)
{
    for (; *a == *b; a++, b++)
        if (*a == '\0') return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_label_name(const char *name)
{
    static const char ours[][sizeof "outcome"] = { "le",     "node", "vote",    "outcome",
                                                   "reason", "kind", "trouble", "version" };

    if (!is_letter(name[0]) || (name[0] == '_' && name[1] == '_')) return false;
    for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++)
        if (is_same_text(name, ours[i])) return false;
    for (; *name != '\0'; name++)
        if (!is_letter(*name) && (*name < '0' || *name > '9')) return false;
    return true;
}

enum redlock_status redlock_metrics_set_labels(struct redlock_metrics *m,
                                               const struct redlock_label *labels, unsigned count)
{
    if (count > REDLOCK_LABELS_MAX) return REDLOCK_BAD_CONFIG;
    for (unsigned i = 0; i < count; i++) {
        if (!is_label_name(labels[i].name)) return REDLOCK_BAD_CONFIG;
        for (unsigned j = 0; j < i; j++)
            if (is_same_text(labels[i].name, labels[j].name)) return REDLOCK_BAD_CONFIG;
    }
    m->labels = labels;
    m->label_count = (uint8_t)count;
    return REDLOCK_OK;
}
