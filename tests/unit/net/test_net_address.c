/* Addresses: each form, each mistake and where it is, each limit and one past it, and a
 * storm of mutations. */
#include "../../../net/redlock_net.h"
#include "../../tap.h"

#include <stdlib.h>

enum { DEFAULT_PORT = 6379, TEXT_MAX = 2048 };

/* Good: the address as describe() writes it. Bad (NULL): the place, and words of the sentence. */
struct row {
    const char *text;
    const char *is;
    size_t at;
    const char *words;
};

static const struct row ROWS[] = {
    /* Hosts and ports */
    { "localhost", "tcp localhost 6379 db 0", 0, NULL },
    { "localhost:1", "tcp localhost 1 db 0", 0, NULL },
    { "localhost:65535", "tcp localhost 65535 db 0", 0, NULL },
    { "localhost:06379", "tcp localhost 6379 db 0", 0, NULL },
    { "127.0.0.1:7000", "tcp 127.0.0.1 7000 db 0", 0, NULL },
    { "redis-1.example_x.org.:7000", "tcp redis-1.example_x.org. 7000 db 0", 0, NULL },
    { "Redis", "tcp Redis 6379 db 0", 0, NULL },
    { "unix", "tcp unix 6379 db 0", 0, NULL },
    { "unix:7000", "tcp unix 7000 db 0", 0, NULL },
    { "redis:7000", "tcp redis 7000 db 0", 0, NULL },
    { "1e100.net", "tcp 1e100.net 6379 db 0", 0, NULL },
    { "", NULL, 0, "empty" },
    { ":6379", NULL, 0, "host is missing" },
    { ":", NULL, 0, "host is missing" },
    { "host:", NULL, 5, "1 to 65535" },
    { "host:0", NULL, 5, "1 to 65535" },
    { "host:65536", NULL, 5, "1 to 65535" },
    { "host:18446744073709551617", NULL, 5, "1 to 65535" },
    { "host:63x9", NULL, 7, "1 to 65535" },
    { "host:-1", NULL, 5, "1 to 65535" },
    { "host:+1", NULL, 5, "1 to 65535" },
    { "host:6379/0", NULL, 9, "need redis:// in front" },
    { "host/0", NULL, 4, "need redis:// in front" },
    { "host:6379?managed=1", NULL, 9, "need redis:// in front" },
    { "127.0.0.1?durable=1", NULL, 9, "need redis:// in front" },
    { "[::1]?managed=1", NULL, 5, "need redis:// in front" },
    { "[::1]:6379?durable=1", NULL, 10, "need redis:// in front" },
    { "redis:/host", NULL, 6, "need redis:// in front" },
    { "host:1:2", NULL, 6, "second ':'" },
    { "host::", NULL, 5, "second ':'" },
    { "ho st", NULL, 2, "spaces" },
    { " host", NULL, 0, "spaces" },
    { "host ", NULL, 4, "spaces" },
    { "host\n", NULL, 4, "control" },
    { "host\x7f", NULL, 4, "control" },
    { "h\xc3\xb6st", NULL, 1, "letters, digits" },
    { "host,host", NULL, 4, "letters, digits" },
    { "ho%73t", NULL, 2, "letters, digits" },
    { "fe80%eth0", NULL, 4, "letters, digits" },
    { "user:pw@host", NULL, 7, "redis://user:password@host" },
    { "user@host", NULL, 4, "redis://user:password@host" },
    { "6379", NULL, 0, "four numbers" },
    { "10.1:6379", NULL, 0, "four numbers" },
    { "127.0.0.256", NULL, 0, "four numbers" },
    { "127.0.0.1.", NULL, 0, "four numbers" },
    { "0x7f.0.0.1", "tcp 0x7f.0.0.1 6379 db 0", 0, NULL },

    /* IPv6 */
    { "[::1]", "tcp ::1 6379 db 0", 0, NULL },
    { "[::1]:7000", "tcp ::1 7000 db 0", 0, NULL },
    { "[::]:7000", "tcp :: 7000 db 0", 0, NULL },
    { "[2001:DB8::7]:7000", "tcp 2001:DB8::7 7000 db 0", 0, NULL },
    { "[::ffff:127.0.0.1]:7000", "tcp ::ffff:127.0.0.1 7000 db 0", 0, NULL },
    { "[1111:2222:3333:4444:5555:6666:123.123.123.123]",
      "tcp 1111:2222:3333:4444:5555:6666:123.123.123.123 6379 db 0", 0, NULL },
    { "[fe80::1%eth0]:7000", "tcp fe80::1%eth0 7000 db 0", 0, NULL },
    { "[fe80::1%br-lan.2]", "tcp fe80::1%br-lan.2 6379 db 0", 0, NULL },
    { "::1", NULL, 1, "as in [::1]:6379" },
    { "fe80::1:6379", NULL, 5, "as in [::1]:6379" },
    { "[::1", NULL, 4, "closing ']'" },
    { "[", NULL, 1, "closing ']'" },
    { "[]", NULL, 1, "no IPv6" },
    { "[]:6379", NULL, 1, "no IPv6" },
    { "[127.0.0.1]", NULL, 1, "no IPv6" },
    { "[host]:1", NULL, 1, "no IPv6" },
    { "[:1]", NULL, 1, "no IPv6" },
    { "[1:2:3:4:5:6:7:8:9]", NULL, 1, "no IPv6" },
    { "[12345::]", NULL, 1, "no IPv6" },
    { "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]", NULL, 1, "no IPv6" },
    /* 250 bytes, which a host may have, and an IPv6 address not. */
    { "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:"
      "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:"
      "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]",
      NULL, 1, "no IPv6" },
    { "[::1]x", NULL, 5, "after ']'" },
    { "[::1]6379", NULL, 5, "after ']'" },
    { "[::1]]", NULL, 5, "after ']'" },
    { "[::1]:", NULL, 6, "1 to 65535" },
    { "[::1]:0", NULL, 6, "1 to 65535" },
    { "[fe80::1%]:1", NULL, 9, "interface" },
    { "[fe80::1%e th]", NULL, 10, "spaces" },
    { "[fe80::1%a%b]", NULL, 10, "letters, digits" },

    /* Paths */
    { "unix:/run/redis.sock", "unix /run/redis.sock db 0", 0, NULL },
    { "unix:/a:b@c?d#e%41", "unix /a:b@c?d#e%41 db 0", 0, NULL },
    { "unix:/a?", "unix /a? db 0", 0, NULL },
    { "unix:/a?durable=1", NULL, 7, "need redis+unix:// in front" },
    { "unix:/a?b?managed=1", NULL, 9, "need redis+unix:// in front" },
    { "unix:/a?db=3", NULL, 7, "need redis+unix:// in front" },
    { "unix:/a://b", "unix /a://b db 0", 0, NULL },
    { "unix:/", "unix / db 0", 0, NULL },
    { "unix:/\xc3\xb6", "unix /\xc3\xb6 db 0", 0, NULL },
    { "/run/redis.sock", NULL, 0, "unix:/path" },
    { "/", NULL, 0, "unix:/path" },
    { "unix:", NULL, 5, "begins with '/'" },
    { "unix:run/redis.sock", NULL, 5, "begins with '/'" },
    { "unix:/run/redis sock", NULL, 15, "spaces" },
    { "unix:/run/redis.sock\t", NULL, 20, "control" },

    /* TCP URLs */
    { "redis://localhost", "tcp localhost 6379 db 0", 0, NULL },
    { "redis://localhost/", "tcp localhost 6379 db 0", 0, NULL },
    { "redis://localhost:7000/3", "tcp localhost 7000 db 3", 0, NULL },
    { "redis://localhost/536870911", "tcp localhost 6379 db 536870911", 0, NULL },
    { "valkey://localhost:7000/3", "tcp localhost 7000 db 3", 0, NULL },
    { "REDIS://localhost", "tcp localhost 6379 db 0", 0, NULL },
    { "VALKEY://localhost", "tcp localhost 6379 db 0", 0, NULL },
    { "redis://:secret@localhost", "tcp localhost 6379 db 0 login :secret", 0, NULL },
    { "redis://ann:secret@localhost:7000", "tcp localhost 7000 db 0 login ann:secret", 0, NULL },
    { "redis://ann:@localhost", "tcp localhost 6379 db 0 login ann:", 0, NULL },
    { "redis://ann:a:b:c@localhost", "tcp localhost 6379 db 0 login ann:a:b:c", 0, NULL },
    { "redis://a%6en:%40%2f%3A%25%ff%01@localhost",
      "tcp localhost 6379 db 0 login ann:@/:%\xff\x01", 0, NULL },
    { "redis://:a+b://c@localhost", NULL, 13, "%2F" },
    { "redis://l%6fc%61lhost:7000", "tcp localhost 7000 db 0", 0, NULL },
    { "redis://[::1]/3", "tcp ::1 6379 db 3", 0, NULL },
    { "redis://[fe80::1%25eth0]:7000/3", "tcp fe80::1%eth0 7000 db 3", 0, NULL },
    { "redis://u:p@[::1]:7000/3", "tcp ::1 7000 db 3 login u:p", 0, NULL },
    { "redis://", NULL, 8, "host is missing" },
    { "redis:///3", NULL, 8, "host is missing" },
    { "redis://:6379", NULL, 8, "host is missing" },
    { "redis://:secret@", NULL, 16, "host is missing" },
    { "redis://:secret@/3", NULL, 16, "host is missing" },
    { "redis://ann@localhost", NULL, 8, ":password for the default user" },
    { "redis://@localhost", NULL, 8, ":password for the default user" },
    { "redis://:@localhost", NULL, 9, "password is missing" },
    { "redis://:a@b@localhost", NULL, 12, "%40" },
    { "redis://local%40host", NULL, 13, "letters, digits" },
    { "redis://:a/b@localhost", NULL, 10, "%2F" },
    { "redis://:a?b@localhost", NULL, 10, "%3F" },
    { "redis://:a#b@localhost", NULL, 10, "%23" },
    { "redis://:%@localhost", NULL, 9, "two hex digits" },
    { "redis://:%4@localhost", NULL, 9, "two hex digits" },
    { "redis://:ab%4g@localhost", NULL, 11, "two hex digits" },
    { "redis://:ab%g4@localhost", NULL, 11, "two hex digits" },
    { "redis://:ab%00@localhost", NULL, 11, "zero byte" },
    { "redis://:a b@localhost", NULL, 10, "%20" },
    { "redis://[fe80::1%eth0]:7000", NULL, 16, "%25" },
    { "redis://local%20host", NULL, 13, "letters, digits" },
    { "redis://%6c%6fcal%2fhost", NULL, 17, "letters, digits" },
    { "redis://[fe80::1%25e%20h]", NULL, 20, "letters, digits" },
    { "redis://localhost:0", NULL, 18, "1 to 65535" },
    { "redis://localhost:70000/3", NULL, 18, "1 to 65535" },
    { "redis://localhost:%37", NULL, 18, "1 to 65535" },
    { "redis://localhost:1:2", NULL, 19, "second ':'" },
    { "redis://::1", NULL, 9, "as in [::1]:6379" },
    { "redis://localhost/x", NULL, 18, "536870911" },
    { "redis://localhost/-1", NULL, 18, "536870911" },
    { "redis://localhost/536870912", NULL, 18, "536870911" },
    { "redis://localhost/99999999999999999999999", NULL, 18, "536870911" },
    { "redis://localhost/3/", NULL, 19, "536870911" },
    { "redis://u:p@localhost/3@4", NULL, 23, "536870911" },
    { "redis://localhost?db=3", NULL, 17, "/database" },
    { "redis://localhost/?db=3", NULL, 18, "?durable=1" },
    { "redis://localhost?durable=1", "tcp localhost 6379 db 0 durable", 0, NULL },
    { "redis://localhost?durable=0", "tcp localhost 6379 db 0", 0, NULL },
    { "redis://localhost/?durable=1", "tcp localhost 6379 db 0 durable", 0, NULL },
    { "redis://u:p@[::1]:7000/3?durable=1", "tcp ::1 7000 db 3 login u:p durable", 0, NULL },
    { "redis://localhost?durable=1&durable=0", "tcp localhost 6379 db 0", 0, NULL },
    { "redis://localhost?managed=1", "tcp localhost 6379 db 0 managed", 0, NULL },
    { "redis://localhost?managed=1&managed=0", "tcp localhost 6379 db 0", 0, NULL },
    { "rediss://localhost/0?durable=1&managed=1&durable=0",
      "tcp localhost 6379 db 0 managed secure", 0, NULL },
    { "redis+unix:///a?db=0&managed=1", "unix /a db 0 managed", 0, NULL },
    { "redis://localhost/3?managed=1", NULL, 19, "database 0" },
    { "redis+unix:///a?managed=1&db=1", NULL, 15, "database 0" },
    { "redis://localhost?durable=1&managed=1", NULL, 17, "not durable" },
    { "redis://localhost?managed=2", NULL, 17, "?managed=1" },
    { "redis://localhost?managed=/", NULL, 17, "?managed=1" },
    { "redis://localhost?managed=11", NULL, 17, "?managed=1" },
    { "redis://localhost?managed=", NULL, 17, "?managed=1" },
    { "redis://localhost?durable", NULL, 17, "?durable=1" },
    { "redis://localhost?durable=", NULL, 17, "?durable=1" },
    { "redis://localhost?durable=2", NULL, 17, "?durable=1" },
    { "redis://localhost?durable=11", NULL, 17, "?durable=1" },
    { "redis://localhost?durable=1&", NULL, 27, "?durable=1" },
    { "redis://localhost?", NULL, 17, "?durable=1" },
    { "redis://localhost/3?db=3", NULL, 19, "?durable=1" },
    { "redis://localhost/3/?durable=1", NULL, 19, "536870911" },
    { "redis://localhost#durable=1", NULL, 17, "?durable=1" },
    { "localhost?durable=1", NULL, 9, "need redis:// in front" },
    { "redis+unix:///a?db=1&durable=1", "unix /a db 1 durable", 0, NULL },
    { "redis+unix:///a?durable=1&db=1", "unix /a db 1 durable", 0, NULL },
    { "redis+unix:///a?durable=1", "unix /a db 0 durable", 0, NULL },
    { "redis+unix:///a?db=1&durable=x", NULL, 20, "?db=database" },
    { "redis://localhost#3", NULL, 17, "/database" },

    /* Unix URLs */
    { "redis+unix:///run/redis.sock", "unix /run/redis.sock db 0", 0, NULL },
    { "valkey+unix:///run/redis.sock?db=3", "unix /run/redis.sock db 3", 0, NULL },
    { "unix:///run/redis.sock?db=3", "unix /run/redis.sock db 3", 0, NULL },
    { "redis+unix://:secret@/run/a@b", "unix /run/a@b db 0 login :secret", 0, NULL },
    { "redis+unix://ann:secret@/r?db=12", "unix /r db 12 login ann:secret", 0, NULL },
    { "redis+unix:///a%20b%3f", "unix /a b? db 0", 0, NULL },
    { "redis+unix://", NULL, 13, "begins with '/'" },
    { "redis+unix://run/redis.sock", NULL, 13, "begins with '/'" },
    { "unix://run/redis.sock", NULL, 7, "begins with '/'" },
    { "redis+unix:////run", NULL, 14, "one '/'" },
    { "redis+unix:///%2Frun", NULL, 14, "one '/'" },
    { "redis+unix:///run/%2Fx", "unix /run//x db 0", 0, NULL },
    { "redis+unix://:secret@", NULL, 21, "begins with '/'" },
    { "redis+unix://:secret@?db=1", NULL, 21, "begins with '/'" },
    { "redis+unix://ann@/run", NULL, 13, ":password for the default user" },
    { "redis+unix:///a%", NULL, 15, "two hex digits" },
    { "redis+unix:///a%0ab", NULL, 15, "control byte" },
    { "redis+unix:///a%00", NULL, 15, "zero byte" },
    { "redis+unix:///a?", NULL, 15, "?db=database" },
    { "redis+unix:///a?db", NULL, 15, "?db=database" },
    { "redis+unix:///a?password=x", NULL, 15, "?db=database" },
    { "redis+unix:///a?db=", NULL, 19, "536870911" },
    { "redis+unix:///a?db=536870912", NULL, 19, "536870911" },
    { "redis+unix:///a?db=1&x=2", NULL, 20, "?db=database" },
    { "redis+unix:///a#1", NULL, 15, "?db=database" },
    { "redis+unix:///a#db=1", NULL, 15, "?db=database" },

    /* Schemes */
    { "rediss://localhost", "tcp localhost 6379 db 0 secure", 0, NULL },
    { "valkeys://localhost", "tcp localhost 6379 db 0 secure", 0, NULL },
    { "Rediss://u:p@[::1]:7000/3?durable=1", "tcp ::1 7000 db 3 login u:p durable secure", 0,
      NULL },
    { "rediss://[fe80::1%25eth0]", "tcp fe80::1%eth0 6379 db 0 secure", 0, NULL },
    { "Rediss://", NULL, 9, "host is missing" },
    { "rediss:///run/redis.sock", NULL, 9, "host is missing" },
    { "rediss+unix:///run/redis.sock", NULL, 0, "unknown scheme" },
    { "rediss:7000", "tcp rediss 7000 db 0", 0, NULL },
    { "http://localhost", NULL, 0, "rediss://, redis+unix://" },
    { "redi://localhost", NULL, 0, "unknown scheme" },
    { "redis+tcp://localhost", NULL, 0, "unknown scheme" },
    { "://localhost", NULL, 0, "unknown scheme" },
};

enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

/* Parses a copy that ends where the text does, so that a sanitizer sees every step too far. */
static bool parse_bytes(const char *text, size_t size, struct net_address *address,
                        struct net_error *error)
{
    char *exact = malloc(size > 0 ? size : 1);
    if (exact == NULL) abort();
    if (size > 0) memcpy(exact, text, size);
    bool is_good = net_parse_address(exact, size, DEFAULT_PORT, address, error);
    free(exact);
    return is_good;
}

static bool parse(const char *text, struct net_address *address, struct net_error *error)
{
    return parse_bytes(text, strlen(text), address, error);
}

static void describe(const struct net_address *address, char *text)
{
    int length = address->kind == NET_TCP
        ? snprintf(text, TEXT_MAX, "tcp %s %u", address->host, (unsigned)address->port)
        : snprintf(text, TEXT_MAX, "unix %s", address->path);
    length +=
        snprintf(text + length, TEXT_MAX - (size_t)length, " db %u", (unsigned)address->database);
    if (address->has_password)
        length += snprintf(text + length, TEXT_MAX - (size_t)length, " login %s:%s", address->user,
                           address->password);
    if (address->durable) length += snprintf(text + length, TEXT_MAX - (size_t)length, " durable");
    if (address->managed) length += snprintf(text + length, TEXT_MAX - (size_t)length, " managed");
    if (address->secure) snprintf(text + length, TEXT_MAX - (size_t)length, " secure");
}

TEST(a_good_address_is_read_into_its_parts)
{
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++) {
        if (row->is == NULL) continue;
        struct net_address address;
        struct net_error error = { 0, "" };
        char is[TEXT_MAX];
        TAP_CONTEXT("%s", row->text);
        if (!parse(row->text, &address, &error)) CHECK_STR(error.text, "");
        describe(&address, is);
        CHECK_STR(is, row->is);
    }
}

TEST(a_mistake_is_named_with_its_place)
{
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++) {
        if (row->is != NULL) continue;
        struct net_address address;
        struct net_error error;
        TAP_CONTEXT("%s", row->text);
        CHECK(!parse(row->text, &address, &error));
        if (strstr(error.text, row->words) == NULL) CHECK_STR(error.text, row->words);
        CHECK_INT(error.at, row->at);
    }
}

TEST(a_mistake_leaves_the_address_untouched)
{
    struct net_address before, address;
    struct net_error error;
    memset(&before, 0xa5, sizeof before);
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++) {
        TAP_CONTEXT("%s", row->text);
        memcpy(&address, &before, sizeof before);
        if (!parse(row->text, &address, &error))
            CHECK_MEM(&address, sizeof address, &before, sizeof before);
    }
}

TEST(a_zero_byte_in_the_text_is_a_control_byte)
{
    struct net_address address;
    struct net_error error;
    CHECK(!parse_bytes("host\0:1", 7, &address, &error));
    CHECK_INT(error.at, 4);
    CHECK(strstr(error.text, "control") != NULL);
}

TEST(the_default_port_is_the_callers)
{
    struct net_address address;
    struct net_error error;
    CHECK(net_parse_address("host", 4, 26379, &address, &error));
    CHECK_INT(address.port, 26379);
    CHECK(net_parse_address("unix:/x", 7, 26379, &address, &error));
    CHECK_INT(address.port, 0);
}

TEST(what_is_not_named_is_empty)
{
    struct net_address address;
    struct net_error error;
    memset(&address, 0xa5, sizeof address);
    CHECK(parse("host", &address, &error));
    CHECK(!address.has_password);
    CHECK_STR(address.user, "");
    CHECK_STR(address.password, "");
    CHECK_STR(address.path, "");
    CHECK(parse("unix:/x", &address, &error));
    CHECK_STR(address.host, "");
}

/* --- Bytes --- */

static bool is_address(const char *before, char byte, const char *after)
{
    char text[32];
    struct net_address address;
    struct net_error error;
    snprintf(text, sizeof text, "%s%c%s", before, byte, after);
    return parse(text, &address, &error);
}

TEST(a_host_has_letters_digits_and_three_signs_alone)
{
    static const char GOOD[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    for (int byte = 1; byte < 256; byte++) {
        TAP_CONTEXT("byte %d", byte);
        CHECK_INT(is_address("h", (char)byte, "st"), strchr(GOOD, byte) != NULL);
    }
}

TEST(a_percent_sign_of_a_url_comes_before_two_hex_digits_alone)
{
    for (int byte = 1; byte < 256; byte++) {
        const bool is_hex = strchr("0123456789abcdefABCDEF", byte) != NULL;
        TAP_CONTEXT("byte %d", byte);
        CHECK_INT(is_address("redis://:%", (char)byte, "4@host"), is_hex);
        CHECK_INT(is_address("redis://:%4", (char)byte, "@host"), is_hex);
    }
}

/* The text with other bytes behind its end, which must not decide anything. */
static void check_that_nothing_behind_is_read(const char *text, size_t size, const char *behind)
{
    char longer[TEXT_MAX], is[TEXT_MAX] = "", expected[TEXT_MAX] = "";
    struct net_address address;
    struct net_error error = { 0, "" }, expected_error = { 0, "" };
    memcpy(longer, text, size);
    strcpy(longer + size, behind);
    if (net_parse_address(longer, size, DEFAULT_PORT, &address, &error)) describe(&address, is);
    if (parse_bytes(text, size, &address, &expected_error)) describe(&address, expected);
    CHECK_STR(is, expected);
    CHECK_STR(error.text, expected_error.text);
    CHECK_INT(error.at, expected_error.at);
}

TEST(bytes_behind_the_text_decide_nothing)
{
    static const char *const BEHIND[] = { "41", "[::1]", "/3", ":7000", "1&durable=1" };
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++)
        for (size_t size = 0; size <= strlen(row->text); size++)
            for (size_t i = 0; i < sizeof BEHIND / sizeof *BEHIND; i++) {
                TAP_CONTEXT("%zu bytes of %s, and %s", size, row->text, BEHIND[i]);
                check_that_nothing_behind_is_read(row->text, size, BEHIND[i]);
            }
}

/* --- Limits --- */

/* `unit`, `count` times, between two texts. */
static void write_repeated(char *text, const char *before, const char *unit, size_t count,
                           const char *after)
{
    strcpy(text, before);
    while (count-- > 0) strcat(text, unit);
    strcat(text, after);
}

struct limit {
    const char *before, *unit, *after;
    size_t max;
    const char *words;
};

static const struct limit LIMITS[] = {
    { "", "h", "", NET_HOST_MAX, "255 bytes" },
    { "", "h", ":6379", NET_HOST_MAX, "255 bytes" },
    { "redis://", "%68", ":6379/1", NET_HOST_MAX, "255 bytes" },
    { "[::1%", "e", "]:6379", NET_HOST_MAX - 4, "255 bytes" },
    { "unix:/", "p", "", NET_PATH_MAX - 1, "103 bytes" },
    { "redis+unix:///", "%70", "?db=1", NET_PATH_MAX - 1, "103 bytes" },
    { "redis://", "u", ":p@host", NET_USER_MAX, "128 bytes" },
    { "redis://", "%75", ":p@host", NET_USER_MAX, "128 bytes" },
    { "redis://:", "p", "@host", NET_PASSWORD_MAX, "256 bytes" },
    { "redis+unix://u:", "%01", "@/path", NET_PASSWORD_MAX, "256 bytes" },
};

TEST(a_part_may_be_as_long_as_its_limit_and_no_longer)
{
    for (const struct limit *limit = LIMITS; limit < LIMITS + sizeof LIMITS / sizeof *LIMITS;
         limit++) {
        char text[TEXT_MAX];
        struct net_address address;
        struct net_error error;
        TAP_CONTEXT("%s%s...%s", limit->before, limit->unit, limit->after);
        write_repeated(text, limit->before, limit->unit, limit->max, limit->after);
        CHECK(parse(text, &address, &error));
        write_repeated(text, limit->before, limit->unit, limit->max + 1, limit->after);
        CHECK(!parse(text, &address, &error));
        CHECK(strstr(error.text, limit->words) != NULL);
        CHECK_INT(error.at, strlen(limit->before) + limit->max * strlen(limit->unit));
    }
}

/* --- Back to text --- */

static void format(const char *text, char *formatted)
{
    struct net_address address;
    struct net_error error;
    formatted[0] = '\0';
    if (parse(text, &address, &error))
        net_format_address(&address, formatted, NET_ADDRESS_TEXT_SIZE);
}

TEST(an_address_is_written_without_its_login_and_database)
{
    char text[NET_ADDRESS_TEXT_SIZE];
    format("redis://ann:secret@localhost:7000/3", text);
    CHECK_STR(text, "localhost:7000");
    format("redis://:secret@[fe80::1%25eth0]:1", text);
    CHECK_STR(text, "[fe80::1%eth0]:1");
    format("redis+unix://ann:secret@/run/a%20b?db=3", text);
    CHECK_STR(text, "unix:/run/a b");
    format("host", text);
    CHECK_STR(text, "host:6379");
    format("10.0.0.1:65535", text);
    CHECK_STR(text, "10.0.0.1:65535");
}

TEST(a_written_address_ends_where_the_buffer_does)
{
    struct net_address address;
    struct net_error error;
    const char *whole = "[::1]:7000";
    CHECK(parse(whole, &address, &error));
    for (size_t size = 1; size <= strlen(whole) + 3; size++) {
        char *text = malloc(size);
        char expected[16];
        snprintf(expected, size < sizeof expected ? size : sizeof expected, "%s", whole);
        size_t length = text == NULL ? 0 : net_format_address(&address, text, size);
        bool is_same = text != NULL && strcmp(text, expected) == 0;
        free(text);
        CHECK(is_same);
        CHECK_INT(length, strlen(expected));
    }
}

TEST(the_longest_address_fits_the_text_size)
{
    char text[TEXT_MAX], formatted[NET_ADDRESS_TEXT_SIZE];
    struct net_address address;
    struct net_error error;
    write_repeated(text, "[::1%", "e", NET_HOST_MAX - 4, "]:65535");
    CHECK(parse(text, &address, &error));
    CHECK_INT(net_format_address(&address, formatted, sizeof formatted), NET_ADDRESS_TEXT_SIZE - 1);
    CHECK_STR(formatted, text);
}

TEST(wiping_leaves_zeros_and_the_neighbours)
{
    unsigned char bytes[8];
    memset(bytes, 7, sizeof bytes);
    net_wipe(bytes + 1, 6);
    CHECK_MEM(bytes, sizeof bytes, "\7\0\0\0\0\0\0\7", 8);
    net_wipe(bytes, 0);
    CHECK_INT(bytes[0], 7);
}

/* --- Storms --- */

/* Holds for any text. A good address, written and read again, is the same. */
static void check_any_text(const char *text, size_t size)
{
    struct net_address address, again;
    struct net_error error = { SIZE_MAX, NULL };
    if (!parse_bytes(text, size, &address, &error)) {
        CHECK(error.text != NULL);
        CHECK(error.at <= size);
        return;
    }
    char formatted[NET_ADDRESS_TEXT_SIZE];
    CHECK(memchr(address.host, 0, sizeof address.host) != NULL &&
          memchr(address.path, 0, sizeof address.path) != NULL);
    CHECK(memchr(address.user, 0, sizeof address.user) != NULL);
    CHECK(memchr(address.password, 0, sizeof address.password) != NULL);
    CHECK(address.kind == NET_TCP ? address.port > 0 && address.host[0] != '\0'
                                  : address.path[0] == '/');
    net_format_address(&address, formatted, sizeof formatted);
    if (strchr(formatted, ' ') != NULL) return;    /* Only a URL can say this path. */
    CHECK(parse(formatted, &again, &error));
    CHECK_INT(again.kind, address.kind);
    CHECK_INT(again.port, address.port);
    CHECK_STR(again.host, address.host);
    CHECK_STR(again.path, address.path);
}

TEST(every_beginning_of_every_text_is_an_address_or_a_mistake)
{
    for (size_t row = 0; row < ROW_COUNT; row++) {
        TAP_CONTEXT("a beginning of %s", ROWS[row].text);
        for (size_t size = 0; size <= strlen(ROWS[row].text); size++)
            check_any_text(ROWS[row].text, size);
    }
}

static uint32_t dice(uint32_t *seed, uint32_t sides)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed % sides;
}

/* Takes out, puts in, or changes one byte. Returns the new size. */
static size_t mutate(char *text, size_t size, uint32_t *seed)
{
    static const char LIKELY[] = ":/@[]%?#.0123456789abcdefrsunix =&-_+";
    size_t at = dice(seed, (uint32_t)size + 1);
    char byte = dice(seed, 8) == 0 ? (char)dice(seed, 256) : LIKELY[dice(seed, sizeof LIKELY)];
    switch (dice(seed, 3)) {
    case 0:
        memmove(text + at + 1, text + at, size - at);
        text[at] = byte;
        return size + 1;
    case 1:
        if (at == size) return size;
        memmove(text + at, text + at + 1, size - at - 1);
        return size - 1;
    default:
        if (at < size) text[at] = byte;
        return size;
    }
}

TEST(whatever_is_mutated_is_an_address_or_a_mistake)
{
    uint32_t seed = 20240229;
    for (int round = 0; round < 200000; round++) {
        char text[512];
        const char *start = ROWS[dice(&seed, ROW_COUNT)].text;
        size_t size = strlen(start);
        memcpy(text, start, size);
        for (uint32_t steps = 1 + dice(&seed, 5); steps > 0; steps--)
            size = mutate(text, size, &seed);
        TAP_CONTEXT("%.*s (round %d)", (int)size, text, round);
        check_any_text(text, size);
    }
}

TAP_MAIN
