/* Addresses of nodes as people write them. Any text is an address or is refused with a place and a
 * sentence, and a written address is read as the same one. */
#include "fuzz.h"

#include "../../net/redlock_net.h"

/* True when there is a NUL within the first size bytes. */
static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static void check_address(const struct net_address *a)
{
    FUZZ_CHECK(a->kind == NET_TCP || a->kind == NET_UNIX);
    FUZZ_CHECK(is_text(a->host, sizeof a->host) && is_text(a->path, sizeof a->path));
    FUZZ_CHECK(is_text(a->user, sizeof a->user) && is_text(a->password, sizeof a->password));
    FUZZ_CHECK(a->database <= INT32_MAX);
    FUZZ_CHECK(a->kind == NET_TCP || !a->secure);
    if (a->kind == NET_TCP) FUZZ_CHECK(a->port > 0 && a->host[0] != '\0' && a->path[0] == '\0');
    else                    FUZZ_CHECK(a->port == 0 && a->host[0] == '\0' && a->path[0] == '/');
    if (!a->has_password)   FUZZ_CHECK(a->user[0] == '\0' && a->password[0] == '\0');
}

/* A URL can spell some names that no plain text can. They are a path with a space, and one that
 * begins with two slashes. */
static bool has_plain_text(const struct net_address *a)
{
    return strchr(a->path, ' ') == NULL && strncmp(a->path, "//", 2) != 0;
}

/* Written and read again it is the same place. */
static void check_round_trip(const struct net_address *a)
{
    char text[NET_ADDRESS_TEXT_SIZE], cut[8];
    struct net_address again;
    struct net_error error;
    size_t size = net_format_address(a, text, sizeof text);

    FUZZ_CHECK(size < sizeof text && strlen(text) == size);
    FUZZ_CHECK(net_format_address(a, cut, sizeof cut) < sizeof cut &&
               strncmp(cut, text, strlen(cut)) == 0);
    if (!has_plain_text(a)) return;
    FUZZ_CHECK(net_parse_address(text, size, 1, &again, &error));
    FUZZ_CHECK(again.kind == a->kind && again.port == a->port);
    FUZZ_CHECK(strcmp(again.host, a->host) == 0 && strcmp(again.path, a->path) == 0);
    FUZZ_CHECK(!again.has_password && again.database == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    struct net_address address, untouched;
    struct net_error error = { .at = SIZE_MAX, .text = NULL };

    memset(&address, 0xa5, sizeof address);
    untouched = address;
    if (net_parse_address(text, size, 6379, &address, &error)) {
        check_address(&address);
        check_round_trip(&address);
    } else {
        FUZZ_CHECK(error.at <= size && error.text != NULL && error.text[0] != '\0');
        FUZZ_CHECK(memcmp(&address, &untouched, sizeof address) == 0);
    }
    free(text);
    return 0;
}
