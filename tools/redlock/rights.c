#include "rights.h"

#include <string.h>

enum { TEXT_MAX = 1400 };

static const char table[] = RIGHTS;

_Static_assert(sizeof table + 11 * sizeof "RESOURCE" < TEXT_MAX * 3 / 4, "all rights fit, and again those that options do without");

unsigned rights_parts(const struct settings *settings)
{
    bool is_permit = settings->permits > 0, is_any_shared = false;
    unsigned parts = RIGHTS_PART('l') | (settings->redisson ? RIGHTS_PART('j') : RIGHTS_PART('k'));

    for (unsigned i = 0; i < settings->name_count; i++) is_any_shared |= settings->is_shared[i];
    if (is_permit)                                  parts |= RIGHTS_PART('n');
    if (is_any_shared)                              parts |= RIGHTS_PART('s');
    if (settings->fair)                             parts |= RIGHTS_PART('f');
    if (settings->once_per_ms > 0)                  parts |= RIGHTS_PART('o');
    if (settings->command == COMMAND_LEAD)          parts |= RIGHTS_PART('e');
    if (!settings->options.engine.trust_unknown)    parts |= RIGHTS_PART('v');
    if (settings->ticket)                           parts |= is_permit ? RIGHTS_PART('y') : RIGHTS_PART('t');
    if (settings->options.engine.wake_ups && !settings->redisson) parts |= is_permit ? RIGHTS_PART('z') : RIGHTS_PART('w');
    return parts;
}

static char *add(char *to, const char *text)
{
    size_t size = strlen(text);

    memcpy(to, text, size + 1);
    return to + size;
}

char *rights_list(char *to, unsigned parts, unsigned others)
{
    for (const char *at = table; *at; at++) {
        unsigned of = 0;
        bool is_told;
        for (; *at >= 'a' && *at <= 'z'; at++) of |= RIGHTS_PART(*at);
        is_told = (of & parts) != 0 && (of & others) == 0;
        if (is_told) *to++ = ' ';
        for (; *at != ' '; at++) {
            if (is_told && *at == '@') to = add(to, "RESOURCE");
            else if (is_told)          *to++ = *at;
        }
    }
    *to = '\0';
    return to;
}

static char *add_option(char *to, unsigned parts, unsigned without, const char *option)
{
    without &= parts;
    if (without == 0) return to;
    to = rights_list(add(to, "; without"), without, parts & ~without);
    return add(to, option);
}

const char *rights_advice(const struct settings *settings)
{
    static char text[TEXT_MAX];
    unsigned parts = rights_parts(settings);
    char *to = rights_list(add(text, "allow it: ACL SETUSER <user>"), parts, 0);

    to = add_option(to, parts, RIGHTS_PART('v'), ": --trust-unknown");
    if (settings->command != COMMAND_LEAD) to = add_option(to, parts, RIGHTS_PART('t') | RIGHTS_PART('y'), ": --no-ticket");
    (void)add_option(to, parts, RIGHTS_PART('w') | RIGHTS_PART('z'), ": --no-wake-ups");
    return text;
}
