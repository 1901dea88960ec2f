#include "rights.h"

#include <assert.h>
#include <string.h>

#include "settings.h"

enum { ADVICE_MAX = 1400 };

static const char table[] = RIGHTS;

_Static_assert(sizeof table + 11 * sizeof "RESOURCE" < ADVICE_MAX * 3 / 4,
               "all rights fit, and again those that options do without");

unsigned rights_parts(const struct settings *settings)
{
    bool is_permit = settings->permits > 0,
         is_any_shared = settings->shared || settings_is_any_shared(settings);
    unsigned parts = RIGHTS_PART('l') | (settings->redisson ? RIGHTS_PART('j') : RIGHTS_PART('k'));

    if (is_permit)                                  parts |= RIGHTS_PART('n');
    if (is_any_shared)                              parts |= RIGHTS_PART('s');
    if (settings->fair)                             parts |= RIGHTS_PART('f');
    if (settings->once_per_ms > 0)                  parts |= RIGHTS_PART('o');
    if (settings->command == COMMAND_LEAD)          parts |= RIGHTS_PART('e');
    if (!settings->options.engine.trust_unknown)    parts |= RIGHTS_PART('v');
    if (settings->ticket) parts |= is_permit ? RIGHTS_PART('y') : RIGHTS_PART('t');
    if (settings->options.engine.wake_ups && !settings->redisson)
        parts |= is_permit ? RIGHTS_PART('z') : RIGHTS_PART('w');
    return parts;
}

/* The letters at the beginning of a row. Returns what is behind them. */
static const char *read_parts(const char *at, unsigned *parts)
{
    *parts = 0;
    for (; *at >= 'a' && *at <= 'z'; at++) *parts |= RIGHTS_PART(*at);
    return at;
}

unsigned rights_of(const char *right)
{
    size_t size = strlen(right);
    unsigned parts;

    assert(size > 0);
    for (const char *at = table; *at; at = strchr(at, ' ') + 1) {
        at = read_parts(at, &parts);
        if (strncmp(at, right, size) == 0 && at[size] == ' ') return parts;
    }
    return 0;
}

static char *put(char *to, const char *text)
{
    size_t size = strlen(text);

    memcpy(to, text, size + 1);
    return to + size;
}

char *rights_list(char *to, unsigned parts, unsigned others)
{
    assert(to);
    for (const char *at = table; *at; at++) {
        unsigned of;
        bool is_told;
        at = read_parts(at, &of);
        is_told = (of & parts) != 0 && (of & others) == 0;
        if (is_told) *to++ = ' ';
        for (; *at != ' '; at++) {
            if (is_told && *at == '@') to = put(to, "RESOURCE");
            else if (is_told)          *to++ = *at;
        }
    }
    *to = '\0';
    return to;
}

static char *put_option(char *to, unsigned parts, unsigned without, const char *option)
{
    without &= parts;
    if (without == 0) return to;
    to = rights_list(put(to, "; without"), without, parts & ~without);
    return put(to, option);
}

const char *rights_advice(unsigned parts)
{
    static char text[ADVICE_MAX];
    char *to = rights_list(put(text, "allow it: ACL SETUSER <user>"), parts, 0);

    assert(parts != 0);
    to = put_option(to, parts, RIGHTS_PART('v'), ": --trust-unknown");
    if (!(parts & RIGHTS_PART('e')))
        to = put_option(to, parts, RIGHTS_PART('t') | RIGHTS_PART('y'), ": --no-ticket");
    (void)put_option(to, parts, RIGHTS_PART('w') | RIGHTS_PART('z'), ": --no-wake-ups");
    return text;
}
