/* tools/examples/serial.c on real servers. Sessions over serial lines are given up in the middle of
 * a reply, and the next one of the same line must be as good as new. The lines are socket pairs,
 * whose bytes the test carries by itself, or keeps for as long as it likes. */
#define main serial_main
#include "../../tools/examples/serial.c"
#undef main

#include "../tap.h"
#include "servers.h"

enum { LINES = 5, ROUNDS = 40, NODE_TIMEOUT_MS = 10000, KEPT_MAX = 65536 };

/* Between the two ends. */
struct cable {
    int near, far;
    bool is_cut;                    /* The far end's bytes are kept, once so many have passed. */
    size_t passes;
    uint8_t kept[KEPT_MAX];
    size_t kept_size;
};

static struct server servers[LINES];
static struct redlock_client client;
static struct redlock_lock door;
static struct end ends[LINES];
static struct bridge bridges[LINES];
static struct cable cables[LINES];
static bool is_raw;                 /* No frames, as one would do it at first. */
static unsigned hang_ups;

/* ---- Raw bytes: to hang up is not possible ---- */

static int raw_connect(void *context, unsigned k, const struct redlock_peer *peer, bool *connected)
{
    (void)peer;
    ends[k].is_lost = false;
    *connected = true;
    return ((struct end *)context)[k].fd;
}

static ptrdiff_t raw_send(void *context, unsigned k, const void *data, size_t size)
{
    ssize_t taken = write(((struct end *)context)[k].fd, data, size);
    return taken < 0 ? 0 : taken;
}

static ptrdiff_t raw_receive(void *context, unsigned k, void *data, size_t size)
{
    ssize_t got = read(((struct end *)context)[k].fd, data, size);
    if (ends[k].is_lost) return -LOST;
    return got < 0 ? 0 : got;
}

static void count_hang_up(void *context, unsigned k, bool silently)
{
    hang_ups |= 1u << k;
    if (!is_raw) serial_hang_up(context, k, silently);
}

static void raw_discard(void *context, unsigned k, int fd)
{
    (void)context, (void)k, (void)fd;
}

static struct redlock_transport transport;

static void choose_transport(void)
{
    static const struct redlock_transport raw = {
        .connect = raw_connect, .send = raw_send, .receive = raw_receive, .discard = raw_discard
    };
    hang_ups = 0;
    transport = is_raw ? raw : serial_transport;
    transport.hang_up = count_hang_up;
}

/* ---- The world ---- */

static void make_pair(int *a, int *b)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) abort();
    *a = pair[0];
    *b = pair[1];
}

/* A bridge without frames has one connection, for ever. */
static void make_line(unsigned k)
{
    static struct sockaddr_in addresses[LINES];
    static struct addrinfo found[LINES];
    int near, far;

    addresses[k] = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(servers[k].port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    found[k] = (struct addrinfo){
        .ai_family = AF_INET, .ai_addr = (struct sockaddr *)&addresses[k]
    };
    found[k].ai_addrlen = sizeof addresses[k];
    cables[k] = (struct cable){ .passes = 0 };
    make_pair(&near, &cables[k].near);
    make_pair(&far, &cables[k].far);
    init_end(&ends[k], near, NULL, false, (uint16_t)(100 * k));
    bridges[k] = (struct bridge){ .server_address = &found[k], .server = -1 };
    init_end(&bridges[k].end, far, NULL, true, 0);
    if (is_raw) connect_server(&bridges[k]);
}

static void open_world(void)
{
    struct redlock_options options;

    servers_start(servers, LINES, "");
    for (unsigned k = 0; k < LINES; k++) make_line(k);
    choose_transport();
    redlock_options_init(&options);
    options.transport = &transport;
    options.transport_context = ends;
    options.engine.wake_ups = false;
    options.engine.guard_ms = 0;
    options.engine.node_timeout_ms = NODE_TIMEOUT_MS;
    CHECK_INT(redlock_open(&client, "line0,line1,line2,line3,line4", &options, NULL), REDLOCK_OK);
    redlock_lock_init(&door);
}

static void close_world(void)
{
    redlock_close(&client, 0);
    for (unsigned k = 0; k < LINES; k++) {
        close_server(&bridges[k]);
        (void)close(ends[k].fd);
        (void)close(bridges[k].end.fd);
        (void)close(cables[k].near);
        (void)close(cables[k].far);
    }
    servers_end(servers, LINES);
}

/* ---- The cable ---- */

static void copy(int from, int to)
{
    uint8_t bytes[4096];
    ssize_t size = read(from, bytes, sizeof bytes);
    if (size > 0 && write(to, bytes, (size_t)size) != size) abort();
}

static void pass_answers(struct cable *c)
{
    ssize_t size = read(c->far, c->kept + c->kept_size, sizeof c->kept - c->kept_size);
    size_t passing = size > 0 ? (size_t)size : 0;

    c->kept_size += passing;
    passing = !c->is_cut || c->passes > c->kept_size ? c->kept_size : c->passes;
    if (passing == 0) return;
    if (write(c->near, c->kept, passing) != (ssize_t)passing) abort();
    c->kept_size -= passing;
    c->passes -= c->is_cut ? passing : 0;
    memmove(c->kept, c->kept + passing, c->kept_size);
}

static void turn_raw_bridge(struct bridge *b)
{
    copy(b->end.fd, b->server);
    copy(b->server, b->end.fd);
}

/* ---- The loop ---- */

static void turn(void)
{
    struct pollfd polled[4 * LINES], sides[2];
    int wait_ms;

    (void)redlock_step(&client);
    for (unsigned k = 0; k < LINES; k++) {
        unsigned events = redlock_events(&client, k);
        polled[k] = (struct pollfd){ .fd = redlock_fd(&client, k) };
        polled[k].events =
            (short)((events & REDLOCK_READ ? POLLIN : 0) | (events & REDLOCK_WRITE ? POLLOUT : 0));
        polled[LINES + k] = (struct pollfd){ .fd = cables[k].near, .events = POLLIN };
        watch_bridge(&bridges[k], &polled[2 * LINES + 2 * k]);
        if (is_raw)
            polled[2 * LINES + 2 * k].events = polled[2 * LINES + 2 * k + 1].events = POLLIN;
    }
    wait_ms = redlock_poll_ms(&client);
    (void)poll(polled, 4 * LINES, wait_ms < 0 || wait_ms > 5 ? 5 : wait_ms);
    for (unsigned k = 0; k < LINES; k++) {
        copy(cables[k].near, cables[k].far);
        memcpy(sides, &polled[2 * LINES + 2 * k], sizeof sides);
        if (is_raw) turn_raw_bridge(&bridges[k]);
        else        turn_bridge(&bridges[k], sides);
        pass_answers(&cables[k]);
    }
}

static unsigned votes(void)
{
    unsigned count = 0;
    for (unsigned k = 0; k < LINES; k++)
        count += redlock_node_votes(&client.engine, k, redlock_now_us());
    return count;
}

static enum redlock_status acquire(uint32_t wait_ms)
{
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000, .wait_ms = wait_ms
    };
    const enum redlock_status status =
        redlock_start_acquire(&client.engine, &door, &request, redlock_now_us());
    if (status != REDLOCK_OK) return status;
    while (redlock_lock_status(&door) == REDLOCK_PENDING) turn();
    return redlock_lock_status(&door);
}

static void release(void)
{
    (void)redlock_start_release(&client.engine, &door, redlock_now_us());
    while (redlock_lock_status(&door) == REDLOCK_PENDING) turn();
    redlock_part(&client, &door);
}

static bool are_all_cut(void)
{
    for (unsigned k = 0; k < LINES; k++)
        if (cables[k].passes > 0 || cables[k].kept_size == 0) return false;
    return true;
}

/* All lines go silent in the middle of the answer to a SET, and each session is given up then, as
 * after a timeout; the rest of the answer comes when the next session has begun. */
static void kill_sessions(size_t at)
{
    const uint64_t until = redlock_now_us() + 10000000;
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000
    };

    for (unsigned k = 0; k < LINES; k++) {
        cables[k].is_cut = true;
        cables[k].passes = at;
    }
    CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, redlock_now_us()), REDLOCK_OK);
    while (!are_all_cut() && redlock_now_us() < until) turn();
    CHECK(are_all_cut());
    hang_ups = 0;
    for (unsigned k = 0; k < LINES; k++) lose(&ends[k], "killed");
    while (hang_ups != (1u << LINES) - 1 && redlock_now_us() < until) turn();
    CHECK_INT(hang_ups, (1u << LINES) - 1);
    redlock_part(&client, &door);
    for (unsigned i = 0; i < 3; i++) turn();
    for (unsigned k = 0; k < LINES; k++) cables[k].is_cut = false;
}

/* How many sessions stand again, in that time? */
static unsigned found_back(uint32_t within_ms)
{
    const uint64_t until = redlock_now_us() + (uint64_t)within_ms * 1000;
    while (votes() < LINES && redlock_now_us() < until) turn();
    return votes();
}

/* ---- Tests ---- */

TEST(a_session_that_is_given_up_in_the_middle_of_a_reply_finds_back_each_time)
{
    unsigned found = 0;

    is_raw = false;
    open_world();
    for (unsigned i = 0; i < ROUNDS; i++) {
        TAP_CONTEXT("round %u", i);
        CHECK_INT(acquire(10000), REDLOCK_OK);
        release();
        CHECK_INT(found_back(10000), LINES);
        kill_sessions(i % 15);      /* The frame of +OK has 15 bytes. */
        found += found_back(10000);
    }
    CHECK_INT(found, ROUNDS * LINES);
    close_world();
}

/* The trap is that each session reads the answers to the one before it. (If a session throws away
 * its old bytes when it begins, as tcflush does, that helps as often as the rest has
 * come by then.) */
TEST(without_frames_it_does_not)
{
    unsigned found;

    is_raw = true;
    open_world();
    CHECK_INT(acquire(10000), REDLOCK_OK);
    release();
    CHECK_INT(found_back(10000), LINES);
    kill_sessions(3);
    found = found_back(500);
    printf("# %u of %d found back\n", found, LINES);
    CHECK(found < LINES);
    close_world();
}

TAP_MAIN
