#define _GNU_SOURCE
#include "log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/ioctl.h>
#endif

#include "outbox.h"
#include "print.h"
#include "report.h"
#include "text.h"

enum {
    HOST_MAX = 256,
    NO_NODE = REDLOCK_NODES_MAX,
    SYSLOG_USER = 1 << 3        /* The facility; a priority is added. */
};

/* enum log_transition. The digit is the priority for syslog: 3, an error; 4, a
 * warning; 6, information. */
static const char transitions[][sizeof "4restarted"] = {
    "6acquired", "6kept", "4degraded", "6restored", "4restarted", "3lost", "6left", "6released"
};

/* ---- Where it goes ---- */

static int open_syslog(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

    assert(path);
    (void)print_text(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

/* stderr is others' as well, so it cannot be told not to wait. */
static int open_log(const struct output *output)
{
    assert(output->log != LOG_NOWHERE);
    if (output->log == LOG_SYSLOG) return open_syslog(output->log_file);
    if (!output->log_file)         return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    return open(output->log_file, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
                0666);
}

static bool can_be_written(int fd)
{
    struct pollfd pollfd = { .fd = fd, .events = POLLOUT };

    return poll(&pollfd, 1, 0) == 1 && (pollfd.revents & POLLOUT);
}

/* Does it take so many bytes at once? A pipe that can be written has room for PIPE_BUF bytes. For
 * more, count what nobody has read yet: it is in pages, half full at least, but for the first and
 * the last; and the line begins another. What else can be written has room for a line. */
static bool has_room(int fd, size_t size)
{
#ifdef __linux__
    long capacity = fcntl(fd, F_GETPIPE_SZ);
    int unread = 0;

    if (size > PIPE_BUF && capacity >= 0)
        return ioctl(fd, FIONREAD, &unread) == 0 &&
               capacity >= 2 * (long)unread + 3 * (long)getpagesize() + (long)size;
#else
    (void)size;
#endif
    return can_be_written(fd);
}

/* The line, and in it how many were dropped before it. */
static bool write_line(const struct output *output, char *line, size_t size, size_t at,
                       uint32_t dropped)
{
    int fd = open_log(output), error;
    char told[32] = "";
    struct iovec parts[] = { { line, at }, { told, 0 }, { line + at, size - at } };
    ssize_t written = -1;

    assert(at <= size);
    if (fd < 0) return false;
    if (dropped > 0)
        parts[1].iov_len = (size_t)print_text(
            told, sizeof told, output->log == LOG_JSON ? "\"dropped\":%u," : "dropped=%u ",
            (unsigned)dropped);
    size += parts[1].iov_len;
    if (has_room(fd, size)) written = writev(fd, parts, 3);
    else                    errno = EAGAIN;
    error = written < 0 ? errno : ENOSPC;
    (void)close(fd);
    errno = error;
    return written == (ssize_t)size;
}

void log_deliver(const struct output *output, char *line, size_t size, size_t at, uint32_t dropped)
{
    static uint32_t lost;
    static bool is_broken;

    lost += dropped;
    if (write_line(output, line, size, at, lost)) {
        lost = 0;
        return;
    }
    lost++;
    if (!is_broken && output->log_file)
        say("the log %s cannot be written: %s", output->log_file, text_system_error(errno));
    is_broken = true;
}

/* ---- A line ---- */

struct line {
    const struct output *output;
    bool is_json;
    FILE *file;
};

static struct line begin_line(const struct output *output)
{
    assert(output->log != LOG_NOWHERE);
    return (struct line){ .output = output,
                          .is_json = output->log == LOG_JSON,
                          .file = outbox_compose() };
}

static void put_name(const struct line *line, const char *name)
{
    assert(name[0] != '\0');
    (void)print_to(line->file, line->is_json ? "\"%s\":" : "%s=", name);
}

static void put_end(const struct line *line)
{
    (void)print_to(line->file, line->is_json ? "," : " ");
}

static void put_text(const struct line *line, const char *name, const char *text)
{
    if (!text) return;
    put_name(line, name);
    json_text(line->file, text);
    put_end(line);
}

static void put_number(const struct line *line, const char *name, uint64_t number)
{
    put_name(line, name);
    (void)print_to(line->file, "%" PRIu64, number);
    put_end(line);
}

/* As libc's syslog() sends it: "<14>Nov 22 11:02:03 redlock[4711]: " */
static void put_syslog_head(const struct line *line, enum log_transition what)
{
    char time[TEXT_TIME_MAX];
    const char *now = text_time(time, redlock_wall_us());       /* Of "2026-11-22T11:02:03.456Z". */
    size_t month = (size_t)(now[5] - '0') * 10 + (size_t)(now[6] - '0');

    assert(month >= 1 && month <= 12);
    (void)print_to(line->file,
                   "<%d>%.3s %c%c %.8s redlock[%ld]: ", SYSLOG_USER | (transitions[what][0] - '0'),
                   &"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * (month - 1)],
                   now[8] == '0' ? ' ' : now[8], now[9], now + 11, (long)getpid());
}

/* Syslog says itself when, where and by which process. */
static void put_head(const struct line *line, enum log_transition what)
{
    const struct output *output = line->output;
    char host[HOST_MAX] = "", time[TEXT_TIME_MAX];

    if (line->is_json) output_json_head(line->file, output, NULL);
    if (output->log == LOG_SYSLOG) {
        put_syslog_head(line, what);
    } else {
        (void)gethostname(host, sizeof host - 1);
        put_text(line, "time", text_time(time, redlock_wall_us()));
        put_text(line, "host", host);
        put_number(line, "pid", (uint64_t)getpid());
    }
    put_text(line, "event", transitions[what] + 1);
    if (line->is_json) return;
    put_text(line, "command", output->command);
    put_text(line, "resource", output->resource);
}

static void put_lock(const struct line *line, const struct session *session)
{
    struct redlock_lock_view view = redlock_view_lock(&session->lock);

    put_text(line, "holder", line->output->holder);
    if (session->ticket > 0) put_number(line, "ticket", session->ticket);
    if (view.slot > 0)       put_number(line, "slot", view.slot);
    put_number(line, "valid_ms", redlock_valid_ms(&session->lock));
    put_number(line, "confirmed", view.confirmed);
}

static void put_line(const struct line *line, struct session *session, enum log_transition what,
                     unsigned k, const char *text)
{
    struct redlock_client *client = &session->client;
    size_t at;

    put_head(line, what);
    put_lock(line, session);
    if (k < NO_NODE) {
        put_number(line, "node", k);
        put_text(line, "address", redlock_node_address(client, k));
    }
    put_text(line, k < NO_NODE ? "trouble" : "text", text);
    at = print_page_used();
    if (line->is_json) {
        report_json_end(line->file, session);
    } else {
        put_number(line, "quorum", redlock_quorum(client->engine.node_count));
        (void)print_to(line->file, "nodes=%u\n", client->engine.node_count);
    }
    (void)outbox_send(OUTLET_LOG, (uint32_t)at);
}

/* ---- What is told ---- */

void log_node(struct session *session, enum log_transition what, unsigned k, const char *text)
{
    struct line line;

    assert(k <= NO_NODE);
    if (redlock_ticket(&session->lock) > 0) session->ticket = redlock_ticket(&session->lock);
    if (!session->output->log) return;
    line = begin_line(session->output);
    put_line(&line, session, what, k, text);
}

void log_transition(struct session *session, enum log_transition what, const char *text)
{
    log_node(session, what, NO_NODE, text);
}

void log_killed(const struct output *output, uint32_t valid_ms)
{
    const char *ticket = getenv("REDLOCK_TICKET");
    struct line line;
    size_t at;

    if (!output->log) return;
    line = begin_line(output);
    put_head(&line, LOG_LEFT);
    put_text(&line, "holder", output->holder);
    if (ticket) put_number(&line, "ticket", strtoull(ticket, NULL, 10));
    put_number(&line, "valid_ms", valid_ms);
    put_text(&line, "text", "redlock was killed; the command is ended");
    at = print_page_used();
    (void)print_to(line.file, line.is_json ? "\"nodes\":[]}\n" : "nodes=0\n");
    (void)outbox_send(OUTLET_LOG, (uint32_t)at);
}

void log_restarts(struct session *session)
{
    unsigned restarted = session->news.restarted;

    session->news.restarted = 0;
    for (unsigned k = 0; k < session->client.engine.node_count && restarted >> k; k++)
        if (restarted >> k & 1) log_node(session, LOG_RESTARTED, k, NULL);
}
