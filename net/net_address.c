/* Addresses as people write them. Knows text and its limits; looks nothing up and opens nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "redlock_net.h"

#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* The text that is read. '%' and two hex digits stand for a byte in a URL; elsewhere
 * '%' is itself. */
struct address_text {
    const char *bytes;
    size_t size;
    bool is_url;
    struct net_error *error;
};

/* A part of it, from the byte at `at` up to, not including, `end`. */
struct address_span {
    size_t at;
    size_t end;
};

enum address_scheme {
    ADDRESS_SCHEME_UNKNOWN,
    ADDRESS_SCHEME_TCP,
    ADDRESS_SCHEME_UNIX,
    ADDRESS_SCHEME_TLS
};

static const struct {
    char name[15];
    unsigned char scheme;
} ADDRESS_SCHEMES[] = {
    { "redis", ADDRESS_SCHEME_TCP },
    { "redis+unix", ADDRESS_SCHEME_UNIX },
    { "rediss", ADDRESS_SCHEME_TLS },
    { "valkey", ADDRESS_SCHEME_TCP },
    { "valkey+unix", ADDRESS_SCHEME_UNIX },
    { "valkeys", ADDRESS_SCHEME_TLS },
    { "unix", ADDRESS_SCHEME_UNIX },
};

NET_STATIC_ASSERT(NET_HOST_MAX == 255 && NET_PATH_MAX == 103 && NET_USER_MAX == 128 &&
                      NET_PASSWORD_MAX == 256,
                  "the sentences below name these numbers");

/* Always false, so that the finder of a mistake can say so and return in one. */
static bool address_fail(const struct address_text *text, size_t at, const char *sentence)
{
    *text->error = (struct net_error){ .at = at, .text = sentence };
    return false;
}

/* The first place of any of `bytes` in the span, or its end. */
static size_t address_find(const struct address_text *text, struct address_span span,
                           const char *bytes)
{
    size_t at = span.at;
    //@ loop invariant at <= text->size;
    while (at < span.end && strchr(bytes, text->bytes[at]) == NULL) at++;
    return at;
}

static bool address_begins(const struct address_text *text, size_t at, const char *start)
{
    size_t size = strlen(start);
    return at + size <= text->size && memcmp(text->bytes + at, start, size) == 0;
}

/* --- Bytes and numbers --- */

static bool address_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* It is not isalnum, since the locale must not decide what a host is. */
static bool address_is_name_byte(char c)
{
    return address_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
}

static bool address_is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/* The value of a hex digit, or -1. */
static int address_hex_value(char c)
{
    if (address_is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The whole span as a number from `min` to `max`. */
static bool address_read_number(const struct address_text *text, struct address_span span,
                                uint32_t min, uint32_t max, const char *sentence, uint32_t *number)
{
    uint64_t sum = 0;
    //@ loop invariant sum <= max;
    for (size_t at = span.at; at < span.end; at++) {
        unsigned char digit = (unsigned char)(text->bytes[at] - '0');
        if (digit > 9) return address_fail(text, at, sentence);
        sum = sum * 10 + digit;
        if (sum > max) return address_fail(text, span.at, sentence);
    }
    if (span.at >= span.end || sum < min) return address_fail(text, span.at, sentence);
    *number = (uint32_t)sum;
    return true;
}

static bool address_read_database(const struct address_text *text, struct address_span span,
                                  uint32_t *database)
{
    return address_read_number(text, span, 0, NET_DATABASE_MAX,
                               "a database is a number from 0 to 536870911", database);
}

/* The byte that the three bytes of an escape at `at` stand for, or -1. */
static int address_escaped_byte(const struct address_text *text, size_t at, size_t end)
{
    if (at + 2 >= end) return -1;
    int high = address_hex_value(text->bytes[at + 1]);
    int low = address_hex_value(text->bytes[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Copies the span to `copy`, which holds `max` bytes and a NUL, and decodes it in a URL. */
static bool address_copy(const struct address_text *text, struct address_span span, char *copy,
                         size_t max, const char *too_long)
{
    size_t size = 0;
    //@ loop invariant size <= max;
    for (size_t at = span.at; at < span.end; at++) {
        int byte = (unsigned char)text->bytes[at];
        if (size >= max) return address_fail(text, at, too_long);
        if (byte == '%' && text->is_url) {
            byte = address_escaped_byte(text, at, span.end);
            if (byte < 0)
                return address_fail(text, at,
                                    "'%' comes before two hex digits; write %25 for '%' itself");
            if (byte == 0)
                return address_fail(text, at, "a zero byte (%00) has no place in an address");
            at += 2;
        }
        copy[size++] = (char)byte;
    }
    copy[size] = '\0';
    return true;
}

/* The place in the text of the byte of number `index` of a copy. */
static size_t address_origin(const struct address_text *text, struct address_span span,
                             size_t index)
{
    size_t at = span.at;
    //@ loop invariant at <= text->size + 2;
    for (; index > 0 && at < span.end; index--)
        at += text->is_url && text->bytes[at] == '%' ? 3 : 1;
    return at;
}

/* --- Hosts and ports --- */

/* A text of digits and dots is meant as a number; a resolver might read 10.1 as 10.0.0.1, and 6379
 * as 0.0.24.235. */
static bool address_check_v4(const struct address_text *text, struct address_span span,
                             const char *host)
{
    struct in_addr number;
    if (strspn(host, "0123456789.") < strlen(host) || inet_pton(AF_INET, host, &number) == 1)
        return true;
    return address_fail(text, span.at,
                        "an IPv4 address is four numbers from 0 to 255, as in 127.0.0.1");
}

static bool address_check_name_bytes(const struct address_text *text, struct address_span span,
                                     const char *host, size_t index)
{
    while (address_is_name_byte(host[index])) index++;
    if (host[index] == '\0') return true;
    return address_fail(
        text, address_origin(text, span, index),
        "a host has letters, digits, '.', '-' and '_'; an IPv6 address goes in brackets");
}

static bool address_copy_host(const struct address_text *text, struct address_span span, char *host)
{
    return address_copy(text, span, host, NET_HOST_MAX, "the host is too long: 255 bytes at most");
}

static bool address_read_name(const struct address_text *text, struct address_span span, char *host)
{
    if (span.at >= span.end) return address_fail(text, span.at, "the host is missing");
    return address_copy_host(text, span, host)
        && address_check_name_bytes(text, span, host, 0)
        && address_check_v4(text, span, host);
}

/* Reads the text between the brackets. It is an address and, after a '%', the scope (interface) of
 * a link-local one. */
static bool address_read_v6(const struct address_text *text, struct address_span span, char *host)
{
    if (!address_copy_host(text, span, host)) return false;
    char number_text[INET6_ADDRSTRLEN] = "";
    size_t size = strcspn(host, "%");
    if (size < sizeof number_text) memcpy(number_text, host, size);
    struct in6_addr number;
    if (inet_pton(AF_INET6, number_text, &number) != 1)
        return address_fail(text, span.at,
                            "this is no IPv6 address; one looks like [::1] or [fe80::1%eth0]");
    if (host[size] == '\0') return true;
    if (host[size + 1] == '\0')
        return address_fail(text, span.end, "the interface after '%' is missing");
    return address_check_name_bytes(text, span, host, size + 1);
}

/* Nothing, or a colon and a port. */
static bool address_read_port(const struct address_text *text, struct address_span span,
                              uint16_t *port)
{
    if (span.at >= span.end) return true;
    if (text->bytes[span.at] != ':')
        return address_fail(text, span.at, "after ']' comes ':' and the port, or nothing");
    struct address_span digits = { span.at + 1, span.end };
    uint32_t number;
    if (!address_read_number(text, digits, 1, UINT16_MAX, "a port is a number from 1 to 65535",
                             &number))
        return false;
    *port = (uint16_t)number;
    return true;
}

static bool address_read_bracketed(const struct address_text *text, struct address_span span,
                                   struct net_address *address)
{
    size_t bracket = address_find(text, span, "]");
    if (bracket >= span.end) return address_fail(text, bracket, "the closing ']' is missing");
    return address_read_v6(text, (struct address_span){ span.at + 1, bracket }, address->host)
        && address_read_port(text, (struct address_span){ bracket + 1, span.end }, &address->port);
}

static bool address_read_host(const struct address_text *text, struct address_span span,
                              struct net_address *address)
{
    size_t sign = address_find(text, span, "@");
    if (sign < span.end)
        return address_fail(
            text, sign,
            "no '@' here: write redis://user:password@host, and an '@' in these as %40");
    size_t mark = address_find(text, span, "/?");    /* A URL has it behind the host. */
    if (mark < span.end)
        return address_fail(text, mark, "a database and options need redis:// in front");
    if (span.at < span.end && text->bytes[span.at] == '[')
        return address_read_bracketed(text, span, address);
    struct address_span host = { span.at, address_find(text, span, ":") };
    struct address_span port = { host.end, span.end };
    struct address_span digits = { port.at < port.end ? port.at + 1 : port.at, port.end };
    size_t second_colon = address_find(text, digits, ":");
    if (second_colon < span.end)
        return address_fail(text, second_colon,
                            "a second ':': an IPv6 address goes in brackets, as in [::1]:6379");
    return address_read_name(text, host, address->host) &&
           address_read_port(text, port, &address->port);
}

/* --- Paths --- */

static bool address_read_path(const struct address_text *text, struct address_span span,
                              struct net_address *address)
{
    address->kind = NET_UNIX;
    address->port = 0;
    if (span.at >= span.end || text->bytes[span.at] != '/')
        return address_fail(text, span.at, "the path of a unix socket begins with '/'");
    if (!address_copy(text, span, address->path, NET_PATH_MAX,
                      "the path is too long: a unix socket's may have 103 bytes on every system"))
        return false;
    /* It is refused however it is written, since "unix:" and such a path would be a URL. */
    if (address->path[1] == '/')
        return address_fail(text, address_origin(text, span, 1),
                            "the path of a unix socket begins with one '/' only");
    size_t index = 0;
    while (address->path[index] != '\0' && !address_is_control(address->path[index])) index++;
    if (address->path[index] == '\0') return true;
    return address_fail(text, address_origin(text, span, index),
                        "a control byte has no place in a path");
}

/* --- URLs --- */

/* "user:password" or ":password". A lone word is refused, since some programs take it for the user,
 * some for the password. */
static bool address_read_login(const struct address_text *text, struct address_span span,
                               struct net_address *address)
{
    size_t colon = address_find(text, span, ":");
    if (colon >= span.end)
        return address_fail(text, span.at,
                            "before '@' goes user:password, or :password for the default user");
    if (span.at + 1 == span.end) return address_fail(text, span.end, "the password is missing");
    address->has_password = true;
    return address_copy(text, (struct address_span){ span.at, colon }, address->user, NET_USER_MAX,
                        "the user is too long: 128 bytes at most") &&
           address_copy(text, (struct address_span){ colon + 1, span.end }, address->password,
                        NET_PASSWORD_MAX, "the password is too long: 256 bytes at most");
}

/* Reads the login, where there is one, and takes it off the front of the span. */
static bool address_take_login(const struct address_text *text, struct address_span *span,
                               struct net_address *address)
{
    size_t sign = address_find(text, *span, "@");
    if (sign >= span->end) return true;
    struct address_span login = { span->at, sign };
    span->at = sign + 1;
    return address_read_login(text, login, address);
}

/* Reads "name=1" or "name=0" as a flag. False: the word is none of them. */
static bool address_read_flag(const struct address_text *text, struct address_span word,
                              const char *name, bool *flag)
{
    size_t end = word.at + strlen(name);
    char digit =
        word.end == end + 1 && address_begins(text, word.at, name) ? text->bytes[end] : '\0';
    if (digit != '0' && digit != '1') return false;
    *flag = digit == '1';
    return true;
}

/* ?word[&word] with the flags durable and managed, and db=database where that has
 * no other place. */
static bool address_read_query(const struct address_text *text, struct address_span span,
                               bool has_database, struct net_address *address)
{
    const char *wrong =
        has_database ? "after the path come ?db=database and &durable=1, or ?managed=1, or nothing"
                     : "after the host come /database and ?durable=1, or ?managed=1, or nothing";
    bool is_query = address_begins(text, span.at, "?");
    for (struct address_span word = span; word.at < span.end; word.at = word.end) {
        size_t sign = word.at++;
        word.end = address_find(text, (struct address_span){ word.at, span.end }, "&");
        if (has_database && address_begins(text, word.at, "db=") && is_query) {
            struct address_span number = { word.at + sizeof "db=" - 1, word.end };
            if (!address_read_database(text, number, &address->database)) return false;
        } else if (!is_query || (!address_read_flag(text, word, "durable=", &address->durable) &&
                                 !address_read_flag(text, word, "managed=", &address->managed))) {
            return address_fail(text, sign, wrong);
        }
    }
    if (address->managed && (address->durable || address->database > 0))
        return address_fail(
            text, span.at, "a managed node has database 0, and is not durable: its slots may move");
    return true;
}

/* [login@]host[:port][/database][?query] */
static bool address_read_tcp_url(const struct address_text *text, struct address_span span,
                                 struct net_address *address)
{
    struct address_span host = { span.at, address_find(text, span, "/?#") };
    struct address_span rest = { host.end, span.end };
    bool has_login = address_find(text, host, "@") < host.end;
    if (!has_login && address_find(text, rest, "@") < rest.end)
        return address_fail(text, rest.at,
                            "in a user or password '/', '?' and '#' are written %2F, %3F and %23");
    if (!address_take_login(text, &host, address) || !address_read_host(text, host, address))
        return false;
    /* It is empty where no '/' is in front of it. */
    struct address_span database = { rest.at + 1, address_find(text, rest, "?#") };
    struct address_span query = { database.end, rest.end };
    if (database.at < database.end && !address_read_database(text, database, &address->database))
        return false;
    return address_read_query(text, query, false, address);
}

/* [login@]/path[?query] */
static bool address_read_unix_url(const struct address_text *text, struct address_span span,
                                  struct net_address *address)
{
    struct address_span login = { span.at, address_find(text, span, "/?#") };
    if (!address_take_login(text, &login, address)) return false;
    struct address_span path = { login.at, address_find(text, span, "?#") };
    struct address_span query = { path.end, span.end };
    if (!address_read_path(text, path, address)) return false;
    return address_read_query(text, query, true, address);
}

/* RFC 3986, 3.1: "schemes are case-insensitive" */
static bool address_same_scheme(const char *name, const char *bytes, size_t size)
{
    if (strlen(name) != size) return false;
    for (size_t i = 0; i < size; i++) {
        char lower = bytes[i] >= 'A' && bytes[i] <= 'Z' ? (char)(bytes[i] - 'A' + 'a') : bytes[i];
        if (lower != name[i]) return false;
    }
    return true;
}

static enum address_scheme address_find_scheme(const char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof ADDRESS_SCHEMES / sizeof *ADDRESS_SCHEMES; i++)
        if (address_same_scheme(ADDRESS_SCHEMES[i].name, bytes, size))
            return (enum address_scheme)ADDRESS_SCHEMES[i].scheme;
    return ADDRESS_SCHEME_UNKNOWN;
}

static bool address_read_url(struct address_text *text, size_t scheme_size,
                             struct net_address *address)
{
    struct address_span rest = { scheme_size + 3, text->size };
    text->is_url = true;
    switch (address_find_scheme(text->bytes, scheme_size)) {
    case ADDRESS_SCHEME_TCP:
        return address_read_tcp_url(text, rest, address);
    case ADDRESS_SCHEME_UNIX:
        return address_read_unix_url(text, rest, address);
    case ADDRESS_SCHEME_TLS:
        address->secure = true;
        return address_read_tcp_url(text, rest, address);
    case ADDRESS_SCHEME_UNKNOWN:
        break;
    }
    return address_fail(text, 0,
                        "unknown scheme: there are redis://, rediss://, redis+unix://, valkey://, "
                        "valkeys://, valkey+unix:// and unix:");
}

/* --- The whole --- */

/* It comes first, so the code that reads the text after this meets no NUL. */
static bool address_check_bytes(const struct address_text *text)
{
    for (size_t at = 0; at < text->size; at++)
        if (text->bytes[at] == ' ' || address_is_control(text->bytes[at]))
            return address_fail(text, at,
                                "no spaces and control bytes; in a URL a space is written %20");
    return true;
}

static bool address_begins_option(const struct address_text *text, size_t at)
{
    return address_begins(text, at, "?durable=") || address_begins(text, at, "?managed=") ||
           address_begins(text, at, "?db=");
}

/* "unix:/path" is read as it stands, and a '?' belongs to the path, unless a word follows that is
 * an option of a URL. */
static bool address_read_plain_path(const struct address_text *text, struct address_span span,
                                    struct net_address *address)
{
    for (size_t at = span.at; at < span.end; at++)
        if (address_begins_option(text, at))
            return address_fail(text, at, "options need redis+unix:// in front");
    return address_read_path(text, span, address);
}

static bool address_read(struct address_text *text, struct net_address *address)
{
    struct address_span whole = { 0, text->size };
    if (text->size == 0)
        return address_fail(
            text, 0,
            "the address is empty (a variable that is not set, or a comma too many?): "
            "write host, host:port or unix:/path");
    if (!address_check_bytes(text)) return false;
    size_t colon = address_find(text, whole, ":");
    if (address_begins(text, colon, "://")) return address_read_url(text, colon, address);
    if (address_begins(text, 0, "/")) return address_fail(text, 0, "a path is written unix:/path");
    struct address_span path = { colon + 1, text->size };
    /* unix:6379 is a host. */
    bool is_number = path.at < path.end && address_is_digit(text->bytes[path.at]);
    if (address_begins(text, 0, "unix:") && !is_number)
        return address_read_plain_path(text, path, address);
    return address_read_host(text, whole, address);
}

NET_API bool net_parse_address(const char *text, size_t size, uint16_t default_port,
                               struct net_address *address, struct net_error *error)
{
    NET_CHECK(default_port != 0);
    struct net_address parsed = { .kind = NET_TCP, .port = default_port };
    struct address_text all = { .bytes = text, .size = size, .error = error };
    bool is_good = address_read(&all, &parsed);
    if (is_good) *address = parsed;
    net_wipe(&parsed, sizeof parsed);
    return is_good;
}

/* --- Back to text --- */

/* Appends as much of `more` as leaves room for the NUL. Returns the new length. */
static size_t address_append(char *text, size_t size, size_t length, const char *more)
{
    while (*more != '\0' && length + 1 < size) text[length++] = *more++;
    text[length] = '\0';
    return length;
}

/* Writes ":65535" into `text`, which holds 7 bytes. */
static void address_write_port(uint16_t port, char *text)
{
    char reversed[5];
    size_t count = 0;
    do reversed[count++] = (char)('0' + port % 10);
    while ((port /= 10) > 0);
    *text++ = ':';
    while (count > 0) *text++ = reversed[--count];
    *text = '\0';
}

NET_API size_t net_format_address(const struct net_address *address, char *text, size_t size)
{
    NET_CHECK(size >= 1);
    if (address->kind == NET_UNIX) {
        size_t length = address_append(text, size, 0, "unix:");
        return address_append(text, size, length, address->path);
    }
    bool is_v6 = strchr(address->host, ':') != NULL;
    char port[sizeof ":65535"];
    address_write_port(address->port, port);
    size_t length = address_append(text, size, 0, is_v6 ? "[" : "");
    length = address_append(text, size, length, address->host);
    length = address_append(text, size, length, is_v6 ? "]" : "");
    return address_append(text, size, length, port);
}

NET_API void net_wipe(void *data, size_t size)
{
    volatile unsigned char *bytes = (unsigned char *)data;
    for (size_t i = 0; i < size; i++) bytes[i] = 0;
}
