/* The trace of the command, a printer of events and of raw bytes. Each line is right however the
 * bytes are cut, and lost events of a full ring are reported. */
#include "../../../tools/redlock/descriptors.c"
#include "../../../tools/redlock/outbox.c"
#include "../../../tools/redlock/print.c"
#include "../../../tools/redlock/news.c"
#include "../../../tools/redlock/text.c"
#include "../../../tools/redlock/trace.c"

#include "../client/scripted_client.h"

static struct trace trace;
static char text[TRACE_OUT_MAX + 1];    /* The text printed so far, by look(). */

static void look_on(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what,
                    const void *data, size_t size)
{
    net_trace(NULL, now_us, k, what, data, size);
    trace_traffic(context, now_us, k, what, data, size);
}

static void look(void)
{
    print_events(&trace);
    memcpy(text, trace.out, trace.out_used);
    text[trace.out_used] = '\0';
    trace.out_used = 0;
}

static unsigned times(const char *word)
{
    unsigned count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) count++;
    return count;
}

#define TRACED(nodes, mode)                              \
    WORLD(nodes);                                        \
    options.trace = look_on;                             \
    options.trace_context = &trace;                      \
    OPEN;                                                \
    trace_begin(&trace, &client, (mode))

TEST(each_vote_and_the_arithmetic_of_the_verdict_are_shown)
{
    TRACED(3, TRACE_ALL);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    look();
    CHECK_INT(times("  >  CLIENT SETNAME redlock"), 3);
    CHECK_INT(times("  =  ready: ok, run_id "), 3);
    CHECK_INT(times("  >  SET door "), 3);
    CHECK_INT(times("acquire, round 1: to 3 nodes, quorum 2, TTL 10000 ms\n"), 1);
    CHECK_INT(times("granted, 1/3\n"), 1);
    CHECK_INT(times("granted, 2/3\n"), 1);
    CHECK_INT(times("  =  won 2/3: 10000 - "), 1);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    look();
    CHECK_INT(times("  =  released 2/3\n"), 1);
    CLOSE(1000);
    CHECK_INT(trace.lost, 0);
}

TEST(a_token_is_shown_by_its_two_ends_and_its_holder_behind_it)
{
    char token[REDLOCK_TOKEN_TEXT + 1], expected[128];
    TRACED(1, TRACE_VOTES);
    CHECK_INT(redlock_use_holder(&client.engine, "web2:4711 backup.sh"), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    look();
    redlock_token(&door, token);
    snprintf(expected, sizeof expected, "  >  SET door %.6s..%s web2:4711 backup.sh NX PX 10000 ",
             token, token + REDLOCK_TOKEN_TEXT - 2);
    CHECK_INT(times(expected), 1);
    CLOSE(0);
}

TEST(the_votes_alone_are_shown_without_any_handshake)
{
    TRACED(3, TRACE_VOTES);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, &door, 100), REDLOCK_OK);
    look();
    CHECK_INT(times("\n"), 1 + 1 + 3 + 3 + 1);
    CHECK_INT(times("  >  SET door "), 3);
    CHECK_INT(times("  <  +OK "), 3);
    CLOSE(1000);
}

/* The lines after the times, for a life with handshake, refusals, scripts and releases. Any answer
 * may come first. */
static void tell_life(size_t bytes)
{
    TRACED(1, TRACE_ALL);
    net.receive_max = net.send_max = bytes;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CLOSE(1000);
    look();
}

static void cut_times(char *lines)
{
    char *to = lines;
    for (char *line = lines; *line != '\0'; line = strchr(line, '\n') + 1) {
        const size_t size = strcspn(line, "\n") + 1;
        const size_t skipped =
            strstr(line, "won ") && strstr(line, "won ") < line + size ? size : 10;
        memmove(to, line + skipped, size - skipped);
        to += size - skipped;
    }
    *to = '\0';
}

TEST(the_lines_are_the_same_however_the_bytes_are_cut)
{
    static char whole[sizeof text];
    tell_life(0);
    cut_times(text);
    memcpy(whole, text, sizeof whole);
    CHECK(strlen(whole) > 800);
    for (size_t bytes = 1; bytes <= 40; bytes += bytes < 8 ? 1 : 8) {
        tell_life(bytes);
        cut_times(text);
        CHECK_STR(text, whole);
    }
}

TEST(a_password_is_not_shown)
{
    WORLD(2);
    options.trace = look_on;
    options.trace_context = &trace;
    options.user = "alice";
    options.password = "opensesame";
    OPEN;
    trace_begin(&trace, &client, TRACE_ALL);
    (void)redlock_connect(&client, 100);
    look();
    CHECK(times("  >  AUTH ***\n") >= 2);
    CHECK(!strstr(text, "opensesame") && !strstr(text, "alice"));
    CLOSE(0);
}

TEST(events_that_are_lost_are_counted_and_no_byte_is_shown_whose_event_is)
{
    WORLD(2);
    options.trace = look_on;
    options.trace_context = &trace;
    options.user = "alice";
    options.password = "opensesame";
    OPEN;
    trace_begin(&trace, &client, TRACE_ALL);
    redlock_use_events(&client.engine, &trace.events, trace.ring, 1);
    (void)redlock_connect(&client, 100);
    look();
    CHECK(times(" events lost: what passes is not shown until the next connection\n") >= 2);
    CHECK(!strstr(text, "  >  ") && !strstr(text, "  <  "));
    CHECK(!strstr(text, "opensesame") && !strstr(text, "alice"));
    CLOSE(0);
}

TEST(behind_a_loss_of_events_the_next_connection_is_shown_again)
{
    TRACED(1, TRACE_ALL);
    redlock_use_events(&client.engine, &trace.events, trace.ring, 1);
    CHECK_INT(redlock_connect(&client, 100), REDLOCK_OK);
    look();
    CHECK(times(" events lost") > 0 && trace.lost > 0);
    trace.lost = 0;
    redlock_use_events(&client.engine, &trace.events, trace.ring, TRACE_EVENTS);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    look();
    CHECK_INT(times("  >  "), 0);
    CHECK_INT(times("  =  won 1/1: 10000 - "), 1);
    node_cut(0);
    CHECK_INT(redlock_run_for(&client, NULL, 2000), REDLOCK_OK);
    look();
    CHECK_INT(times("  >  INFO"), 1);
    CHECK_INT(times("ready: ok, run_id "), 1);
    CHECK_INT(trace.lost, 0);
    CLOSE(0);
}

TEST(a_node_that_is_not_asked_is_shown_once_with_the_reason)
{
    TRACED(3, TRACE_VOTES);
    net.hosts[2].welcome = NET_REFUSES_AT_ONCE;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_OK);
    look();
    CHECK_INT(times("   2  =  not asked: connection refused\n"), 2);
    CLOSE(0);
}

TEST(what_happens_when_the_client_closes_is_shown_without_looking_into_it)
{
    TRACED(3, TRACE_ALL);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    look();
    for_all(node_hang);
    redlock_part(&client, &door);
    CLOSE(10);
    trace.client = NULL;
    look();
    CHECK(times("release it, if it is ours") > 0);
}

TAP_MAIN
