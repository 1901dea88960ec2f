#include "text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "outbox.h"
#include "print.h"

/* ---- UTF-8 ---- */

static bool is_tail(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Overlong forms, surrogates and what lies behind U+10FFFF: to be told from the first two bytes. */
static bool is_bad_pair(uint8_t first, uint8_t second)
{
    return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
           (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

/* How many bytes the valid UTF-8 character at the start of bytes has; 0 when there is none.
 * size > 0. */
static size_t utf8_size(const uint8_t *bytes, size_t size)
{
    uint8_t first = bytes[0];
    size_t wanted = first < 0x80                     ? 1
                    : first >= 0xc2 && first <= 0xdf ? 2
                    : (first & 0xf0) == 0xe0         ? 3
                    : first >= 0xf0 && first <= 0xf4 ? 4
                                                     : 0;

    assert(size > 0);
    if (wanted == 0 || wanted > size) return 0;
    for (size_t i = 1; i < wanted; i++) {
        if (!is_tail(bytes[i])) return 0;
    }
    return wanted > 2 && is_bad_pair(first, bytes[1]) ? 0 : wanted;
}

/* Control codes are what a terminal would obey: C0, DEL, and C1, which UTF-8 writes as C2 80
 * to C2 9F. */
static bool is_control(const uint8_t *character)
{
    return character[0] < 0x20 || character[0] == 0x7f ||
           (character[0] == 0xc2 && character[1] < 0xa0);
}

bool text_is_plain(const char *text)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
    size_t taken = 1;

    for (; at < end && taken > 0; at += taken)
        taken = is_control(at) ? 0 : utf8_size(at, (size_t)(end - at));
    return taken > 0;
}

/* ---- For people ---- */

const char *text_printable(char *text, size_t text_size, const void *bytes, size_t size)
{
    const uint8_t *from = bytes, *end = from + size;
    size_t used = 0;

    assert(text_size > 0);
    while (from < end) {
        size_t taken = utf8_size(from, (size_t)(end - from));
        bool is_plain = taken > 0 && !is_control(from);
        if (used + (is_plain ? taken : 4) >= text_size) break;
        if (is_plain) memcpy(text + used, from, taken);
        else          (void)print_text(text + used, 5, "\\x%02x", *from);
        used += is_plain ? taken : 4;
        from += is_plain ? taken : 1;
    }
    text[used] = '\0';
    return text;
}

/* So much of a long message is printed from each end: names and advice fit. */
enum { SAID_PART = 1024 };

static void cut_middle(char *text, size_t size)
{
    static const char gap[] = " ... ";

    if (size <= SAID_PART + SAID_PART) return;
    memmove(text + SAID_PART + sizeof gap - 1, text + size - SAID_PART, SAID_PART + 1);
    memcpy(text + SAID_PART, gap, sizeof gap - 1);
}

void text_say(const char *format, va_list arguments)
{
    char printable[4 * (2 * SAID_PART + 8)];
    va_list again;
    int size;
    char *text;

    assert(format);
    va_copy(again, arguments);
    size = print_text_list(NULL, 0, format, arguments);
    text = malloc((size_t)size + 8);
    if (text) {
        (void)print_text_list(text, (size_t)size + 1, format, again);
        cut_middle(text, (size_t)size);
    }
    va_end(again);
    text_printable(printable, sizeof printable, text ? text : "out of memory",
                   text ? strlen(text) : 13);
    (void)print_to(outbox_compose(), "redlock: %s\n", printable);
    (void)outbox_send(OUTLET_STDERR, 0);
    free(text);
}

/* The words of glibc for all that can happen to files, programs, processes and the sockets of
 * syslog and of HTTP. A libc has 100 more, and links all of them. */
#define SYSTEM_ERRORS(X) \
    X(EMFILE, "too many open files in this process (raise its limit: ulimit -n)") \
    X(ENFILE, "too many open files in the system (raise its limit, or close some)") \
    X(ENOENT, "No such file or directory") \
    X(EACCES, "Permission denied") \
    X(EPERM, "Operation not permitted") \
    X(ENOTDIR, "Not a directory") \
    X(EISDIR, "Is a directory") \
    X(EEXIST, "File exists") \
    X(ELOOP, "Too many levels of symbolic links") \
    X(ENAMETOOLONG, "File name too long") \
    X(EROFS, "Read-only file system") \
    X(ENOSPC, "No space left on device") \
    X(EDQUOT, "Disk quota exceeded") \
    X(EFBIG, "File too large") \
    X(EIO, "Input/output error") \
    X(ESTALE, "Stale file handle") \
    X(ETXTBSY, "Text file busy") \
    X(EBUSY, "Device or resource busy") \
    X(ENXIO, "No such device or address") \
    X(EPIPE, "Broken pipe") \
    X(EBADF, "Bad file descriptor") \
    X(EINVAL, "Invalid argument") \
    X(EAGAIN, "Resource temporarily unavailable") \
    X(ENOMEM, "Cannot allocate memory") \
    X(ENOBUFS, "No buffer space available") \
    X(ENOEXEC, "Exec format error") \
    X(E2BIG, "Argument list too long") \
    X(ESRCH, "No such process") \
    X(EINTR, "Interrupted system call") \
    X(ENOSYS, "Function not implemented") \
    X(ECONNREFUSED, "Connection refused") \
    X(EMSGSIZE, "Message too long") \
    X(EADDRINUSE, "Address already in use") \
    X(EADDRNOTAVAIL, "Cannot assign requested address") \
    X(EAFNOSUPPORT, "Address family not supported by protocol")

const char *text_system_error(int error)
{
#define SYSTEM_NUMBER(number, text) (int16_t)(number),
#define SYSTEM_TEXT(number, text) text "\0"
    static const int16_t numbers[] = { SYSTEM_ERRORS(SYSTEM_NUMBER) };
    static const char texts[] = SYSTEM_ERRORS(SYSTEM_TEXT);
#undef SYSTEM_NUMBER
#undef SYSTEM_TEXT
    static char other[32];
    const char *text = texts;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++, text += strlen(text) + 1)
        if (numbers[i] == error) return text;
    (void)print_text(other, sizeof other, "error %d of the system", error);
    return other;
}

const char *text_duration(char text[TEXT_DURATION_MAX], uint64_t ms)
{
    uint64_t s = ms / 1000;

    if (ms < 1000)     (void)print_text(text, TEXT_DURATION_MAX, "%" PRIu64 " ms", ms);
    else if (s < 120)
        (void)print_text(text, TEXT_DURATION_MAX, "%" PRIu64 ".%" PRIu64 " s", s, ms % 1000 / 100);
    else if (s < 7200)
        (void)print_text(text, TEXT_DURATION_MAX, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    else
        (void)print_text(text, TEXT_DURATION_MAX, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
                         s % 3600 / 60);
    return text;
}

const char *text_ms(char text[TEXT_DURATION_MAX], uint64_t us)
{
    if (us % 1000 == 0) (void)print_text(text, TEXT_DURATION_MAX, "%" PRIu64, us / 1000);
    else (void)print_text(text, TEXT_DURATION_MAX, "%" PRIu64 ".%03" PRIu64, us / 1000, us % 1000);
    return text;
}

/* By the days since March 1st of the year 0, so that a leap day is the last of its year. */
const char *text_time(char text[TEXT_TIME_MAX], uint64_t wall_us)
{
    uint64_t s = wall_us / 1000000;
    unsigned days = (unsigned)(s / 86400) + 719468, era = days / 146097, of_era = days % 146097;
    unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year + year / 4 - year / 100),
             month = (5 * of_year + 2) / 153;

    assert(month < 12);
    (void)print_text(text, TEXT_TIME_MAX, "%u-%02u-%02uT%02u:%02u:%02u.%03uZ",
                     year + era * 400 + (month > 9), month < 10 ? month + 3 : month - 9,
                     of_year - (153 * month + 2) / 5 + 1, (unsigned)(s / 3600 % 24),
                     (unsigned)(s / 60 % 60), (unsigned)(s % 60),
                     (unsigned)(wall_us / 1000 % 1000));
    return text;
}

void text_cut_echo(char *text)
{
    char *echo = strstr(text, ", with args");

    if (echo) *echo = '\0';
}

/* ---- For machines ---- */

void json_string(FILE *file, const void *bytes, size_t size)
{
    const uint8_t *from = bytes, *end = from + size;

    (void)print_to(file, "\"");
    while (from < end) {
        size_t taken = utf8_size(from, (size_t)(end - from));
        if (taken == 0 || *from < 0x20 || *from == 0x7f) {
            (void)print_to(file, "\\u%04x", *from++);
            continue;
        }
        if (*from == '"' || *from == '\\') (void)print_to(file, "\\");
        (void)print_to(file, "%.*s", (int)taken, (const char *)from);
        from += taken;
    }
    (void)print_to(file, "\"");
}

void json_text(FILE *file, const char *text)
{
    json_string(file, text, strlen(text));
}

void text_wipe(void *data, size_t size)
{
    volatile unsigned char *bytes = data;

    for (; size > 0; size--) bytes[size - 1] = 0;
}

#define LACKS_COMMAND \
    "it is disabled or renamed there, or the server lacks it: name servers that have it"

const char *text_lasting_advice(const char *error)
{
    static const struct { const char *words, *advice; } refusals[] = {
        { "ERR unknown command", LACKS_COMMAND },
        /* A script hears of an "Unknown Redis command" since Redis 7.0; Valkey omits "Redis". */
        { "command called from script", LACKS_COMMAND },
        /* Valkey 9.1 without its module lua */
        { "Could not find scripting engine", "load its module lua" },
        /* CmdStrings.cs at e508a416 */
        { "Lua scripting support disabled", "start Garnet with --lua" },
        { "runs no scripts, so it has no vote but",
          "lock one RESOURCE with --no-ticket, or let it run scripts" },
        /* Dragonfly before August 2024 */
        { "tried accessing undeclared", "only a plain lock works there, with --no-ticket" },
        /* Alibaba's proxy */
        { "passed using the KEYS array",
          "set script_check_enable to 0 there, or name its direct address" },
    };

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (strstr(error, refusals[i].words)) return refusals[i].advice;
    return NULL;
}
