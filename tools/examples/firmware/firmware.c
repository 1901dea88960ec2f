/* A lock on five servers, from a Cortex-M3 with five serial lines, no operating system, no
 * allocation and no random source. It is the engine of redlock.h, and its surroundings. "make
 * firmware" runs it in QEMU on five real servers (see run); the far end of each line is bridge.c.
 * To begin with, copy this, board.h, line.h, counter.h and device_random.h, with redlock.h and
 * redlock.c of "make amalgamation", and write another board.c.
 *
 * Here it acquires, extends, keeps and releases the lock again and again. Its belief is compared
 * each time with the servers' keys, by commands on the host, which a device would not have; a run
 * counts if all was so. Between runs it hangs up, a server is killed and comes back, and once it
 * stands still until the watchdog resets it in the middle of a lock. */
#include "board.h"
#include "counter.h"
#include "device_random.h"
#include "line.h"
#include "redlock.h"

enum {
    NODES = BOARD_LINES,
    RESOURCE = 32, SEND = REDLOCK_SEND_MIN(RESOURCE), RECEIVE = REDLOCK_RECEIVE_MIN,
    TTL_MS = 2000, WAIT_MS = 60000, NODE_TIMEOUT_MS = 1500,
    /* It is small so that no run waits long for the keeper; a device takes the default, 33. */
    KEEP_PERCENT = 3,

    RUNS = 40,                      /* Runs of a boot. Among these runs, */
    HANG_UP_EVERY = 5, RIVAL_EVERY = 10,
    KILL_AT = 10, STAND_STILL_AT = 20, REVIVE_AT = 30,
    /* Runs that were too slow to say anything, on a host that is busy. */
    LATE_MAX = 40
};

/* The content of the flash. */
static struct {
    uint32_t secret[4];
    uint32_t boots, runs, late;
    uint32_t stands_still;          /* The watchdog is to end this life. */
} flash;

static struct redlock engine;
static struct redlock_node nodes[NODES];
static struct redlock_lock lock;
static uint64_t
    memory[REDLOCK_MEMORY(NODES, REDLOCK_PIPELINE_MIN, SEND, RECEIVE) / sizeof(uint64_t)];
static struct line lines[NODES];
static struct counter counter;
static struct device_random dice;

/* ---- What the engine needs: time, random bytes, and sessions over the lines ---- */

static uint64_t now_us(void)
{
    return counter_us(&counter, board_ticks());
}

static void give_entropy(void)
{
    while (redlock_entropy_wanted(&engine) > 0) {
        uint8_t bytes[8];
        device_random_next(&dice, bytes);
        redlock_add_entropy(&engine, bytes, sizeof bytes);
    }
}

static void take_byte(unsigned k)
{
    switch (line_take(&lines[k], board_receive(k))) {
    case LINE_OPENED: redlock_connected(&engine, k, now_us()); break;
    case LINE_LOST:   redlock_disconnected(&engine, k, line_why(&lines[k]), now_us()); break;
    default:          break;
    }
}

static void send_from_engine(unsigned k)
{
    size_t size;
    const uint8_t *bytes = redlock_output(&engine, k, &size);
    redlock_sent(&engine, k, line_write(&lines[k], bytes, size));
}

/* The clock is read behind the bytes (S2). */
static void receive_to_engine(unsigned k)
{
    size_t room;
    uint8_t *bytes = redlock_input(&engine, k, &room);
    const size_t size = line_read(&lines[k], bytes, room);
    redlock_received(&engine, k, size, now_us());
}

static void serve_engine(unsigned k)
{
    const unsigned wants = redlock_wants(&engine, k);

    if (wants & REDLOCK_WANT_CLOSE) {
        line_close(&lines[k], "hung up");
        redlock_disconnected(&engine, k, NULL, now_us());
    }
    if (wants & REDLOCK_WANT_CONNECT && lines[k].state == LINE_CLOSED) line_open(&lines[k]);
    if (wants & REDLOCK_WANT_SEND) send_from_engine(k);
    if (wants & REDLOCK_WANT_RECEIVE && line_unread(&lines[k]) > 0) receive_to_engine(k);
}

/* True: a byte was moved. */
static bool serve_line(unsigned k)
{
    size_t size;
    const uint8_t *bytes = line_output(&lines[k], &size);
    bool moved = false;

    for (size_t i = 0; i < size && board_can_send(k); i++, moved = true) {
        board_send(k, bytes[i]);
        line_sent(&lines[k], 1);
    }
    for (; line_unread(&lines[k]) == 0 && board_has_byte(k); moved = true) take_byte(k);
    return moved;
}

/* One turn of the program's loop, beside which it may do other things. */
static void turn(void)
{
    bool moved = false;

    give_entropy();
    for (unsigned k = 0; k < NODES; k++) {
        serve_engine(k);
        moved |= serve_line(k);
    }
    if (now_us() >= redlock_wake_at(&engine)) redlock_tick(&engine, now_us());
    board_feed_watchdog();
    if (!moved) board_rest();
}

static enum redlock_status until_done(void)
{
    while (redlock_lock_status(&lock) == REDLOCK_PENDING) turn();
    return redlock_lock_status(&lock);
}

/* ---- The lock ---- */

static enum redlock_status acquire(void)
{
    struct redlock_request request;

    redlock_request_init(&request);
    request.resource = "door";
    request.resource_size = 4;
    request.ttl_ms = TTL_MS;
    request.wait_ms = WAIT_MS;
    const enum redlock_status status = redlock_start_acquire(&engine, &lock, &request, now_us());
    return status == REDLOCK_OK ? until_done() : status;
}

/* One of the nodes that were in time to grant it may have died, and fewer than a quorum be left. It
 * then ends by itself. */
static enum redlock_status extend(void)
{
    enum redlock_status status = redlock_start_extend(&engine, &lock, TTL_MS, now_us());

    if (status == REDLOCK_OK) status = until_done();
    while (status == REDLOCK_NO_QUORUM && redlock_valid_us(&lock, now_us()) > 0) turn();
    return status;
}

static uint64_t valid_until(void)
{
    const uint64_t now = now_us();
    return now + redlock_valid_us(&lock, now);
}

/* Runs until the keeper has extended it once. */
static enum redlock_status keep(void)
{
    const uint64_t before = valid_until();
    const enum redlock_status status = redlock_keep(&engine, &lock, 0, now_us());

    if (status != REDLOCK_OK) return status;
    while (redlock_valid_us(&lock, now_us()) > 0 && valid_until() <= before) turn();
    return redlock_valid_us(&lock, now_us()) > 0 ? REDLOCK_OK : REDLOCK_LOST;
}

static enum redlock_status release(void)
{
    const enum redlock_status status = redlock_start_release(&engine, &lock, now_us());
    return status == REDLOCK_OK ? until_done() : status;
}

static bool init(void)
{
    struct redlock_config config;

    redlock_config_init(&config);
    /* Nobody else locks here. If others do, take their longest TTL, or the default. */
    config.guard_ms = TTL_MS;
    config.node_timeout_ms = NODE_TIMEOUT_MS;
    config.keep_percent = KEEP_PERCENT;
    config.resource_max = RESOURCE;
    config.pipeline = REDLOCK_PIPELINE_MIN;
    config.send_size = SEND;
    config.receive_size = RECEIVE;
    counter_init(&counter, BOARD_TICK_US_NUMERATOR, BOARD_TICK_US_DENOMINATOR, board_ticks());
    redlock_lock_init(&lock);
    return redlock_init(&engine, &config, nodes, NODES, memory, sizeof memory, now_us()) ==
           REDLOCK_OK;
}

/* A life of its own has other random bytes, and lines on which no session of an earlier
 * life goes on. */
static bool begin_life(void)
{
    uint8_t bytes[8];

    if (!board_read_flash(&flash, sizeof flash)) return false;
    flash.boots++;
    if (!board_write_flash(&flash, sizeof flash)) return false;
    dice = (struct device_random){ .boot = flash.boots };
    for (unsigned i = 0; i < 4; i++) dice.secret[i] = flash.secret[i];
    for (unsigned k = 0; k < NODES; k++) {
        device_random_next(&dice, bytes);
        line_init(&lines[k], false, (uint16_t)(bytes[0] | bytes[1] << 8));
    }
    return true;
}

/* ---- The test ---- */

static void print_number(const char *name, uint32_t number)
{
    char text[12], *digit = &text[sizeof text - 1];

    *digit = '\0';
    do *--digit = (char)('0' + number % 10); while ((number /= 10) > 0);
    board_print(name);
    board_print(digit);
}

/* True when the host says yes to "./host WORD ARGUMENT". */
static bool host(const char *word, const char *argument)
{
    char command[80];
    char *to = command;

    for (const char *from = "./host "; *from != '\0';) *to++ = *from++;
    while (*word != '\0') *to++ = *word++;
    *to++ = ' ';
    while (*argument != '\0') *to++ = *argument++;
    *to = '\0';
    return board_ask_host(command) == 0;
}

static bool has_token(const char *word)
{
    char token[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(&lock, token);
    return host(word, token);
}

/* Each run of a boot in which something befalls the world, and which node. */
static void befall(uint32_t run)
{
    char node[2] = { (char)('0' + flash.runs / RUNS % NODES), '\0' };

    if (run == KILL_AT) (void)host("kill", node);
    if (run == REVIVE_AT) (void)host("revive", node);
    if (run != STAND_STILL_AT || flash.stands_still) return;
    flash.stands_still = 1;
    if (board_write_flash(&flash, sizeof flash)) for (;;) { }
}

/* Hangs up like a line whose cable is pulled. */
static void hang_up(void)
{
    for (unsigned k = 0; k < NODES; k++) {
        if (lines[k].state == LINE_CLOSED) continue;
        line_close(&lines[k], "pulled");
        redlock_disconnected(&engine, k, "pulled", now_us());
    }
}

/* Nothing is to be sent to a node, or to be heard from one, that is there. */
static bool is_quiet(void)
{
    for (unsigned k = 0; k < NODES; k++)
        if (redlock_node_is_busy(&engine, k)) return false;
    return true;
}

static void complain(const char *step)
{
    print_number("run ", flash.runs + 1);
    print_number(": status ", (uint32_t)redlock_lock_status(&lock));
    print_number(", of the last attempt ", (uint32_t)redlock_attempt_status(&lock));
    board_print(": ");
    board_print(step);
    board_print("\n");
}

static bool is_wrong;       /* Something was not as it must be. */

static bool surely(bool is_so, const char *step)
{
    if (is_so) return true;
    complain(step);
    is_wrong = true;
    return false;
}

/* On a host that is too busy the validity may end meanwhile; while it has not, it must be so. */
static bool unless_late(bool is_so, const char *step)
{
    if (is_so) return true;
    complain(step);
    is_wrong |= redlock_valid_us(&lock, now_us()) > 0;
    return false;
}

static bool is_held(void)
{
    while (!is_quiet()) turn();
    return has_token("held");
}

/* False: it is to be made anew, unless something is wrong. */
static bool is_run(uint32_t run)
{
    if (run % HANG_UP_EVERY == 0) hang_up();
    if (!surely(acquire() == REDLOCK_OK, "acquire") ||
        !unless_late(is_held(), "held on the servers"))
        return false;
    befall(run);
    if (!unless_late(extend() == REDLOCK_OK, "extend") ||
        !unless_late(keep() == REDLOCK_OK, "keep"))
        return false;
    if (!unless_late(is_held(), "kept on the servers")) return false;
    if (run % RIVAL_EVERY == 0 && !unless_late(host("refused", ""), "a rival is refused"))
        return false;
    const bool is_valid = redlock_valid_us(&lock, now_us()) > 0;
    const enum redlock_status status = release();
    return surely(status == REDLOCK_OK || !is_valid || status == REDLOCK_LOST, "release") &&
           surely(has_token("gone"), "gone");
}

static bool count_run(void)
{
    if (is_run(flash.runs % RUNS + 1)) return flash.runs++, true;
    (void)redlock_start_release(&engine, &lock, now_us());
    (void)until_done();
    return !is_wrong && ++flash.late % LATE_MAX != 0;
}

int main(void)
{
    board_init();
    if (!begin_life() || !init()) return 1;
    do
        if (!count_run() || !board_write_flash(&flash, sizeof flash)) return 1;
    while (flash.runs % RUNS != 0);
    flash.stands_still = 0;
    print_number("runs ", flash.runs);
    print_number(", lives ", flash.boots);
    print_number(", too slow ", flash.late);
    print_number(", stack ", (uint32_t)board_stack_used());
    print_number(" of ", (uint32_t)board_stack_size());
    board_print("\n");
    return board_write_flash(&flash, sizeof flash) ? 0 : 1;
}
