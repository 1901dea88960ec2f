/* TLS, by whichever library it was built with. The only file of the commands that knows TLS. */
#include "../redlock/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../redlock/print.h"

#include "../../net/redlock_tls.h"

/* The option's value or, without it, a variable that is not empty. NULL: neither. */
static const char *choose(const char *option, const char *variable)
{
    const char *value = option ? option : getenv(variable);

    return value && (option || *value != '\0') ? value : NULL;
}

/* Does one of them begin with a scheme that asks for TLS? redlock_open reads them again. */
static bool is_wanted(const char *nodes)
{
    static const char blanks[] = ", \t\r\n";
    static const char *const schemes[] = { "rediss://", "valkeys://", "sentinels://" };

    for (const char *node = nodes + strspn(nodes, blanks); *node != '\0';
         node += strspn(node, blanks)) {
        for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
            if (strncasecmp(node, schemes[i], strlen(schemes[i])) == 0) return true;
        node += strcspn(node, blanks);
    }
    return false;
}

/* The strings are those of argv and of the environment. */
static struct redlock_tls_options files;
/* True if an option named them. Otherwise it was the environment. */
static bool is_option[3];
static struct redlock_tls *tls;             /* NULL: no session is open, or no node asks for it. */

void tls_read(struct settings *settings, const char *const given[TLS_FILES])
{
    const char *option = given[0]   ? "--tls-ca"
                         : given[1] ? "--tls-cert"
                         : given[2] ? "--tls-key"
                                    : NULL;

    for (unsigned i = 0; i < 3; i++) is_option[i] = given[i];
    if (is_wanted(settings->nodes)) {
        files = (struct redlock_tls_options){ .ca = choose(given[0], "REDLOCK_TLS_CA"),
                                              .cert = choose(given[1], "REDLOCK_TLS_CERT"),
                                              .key = choose(given[2], "REDLOCK_TLS_KEY") };
        settings->options.secure_transport = redlock_tls_transport();
    } else if (option) {
        refuse(settings, "%s: none of the nodes is talked to by TLS: write rediss://HOST:PORT",
               option);
    }
}

/* The origin of the file that these words are about. */
static const char *name_of_file(const char *words)
{
    static const char *const begins[] = { "the CA", "the client", "the key" };
    static const char *const names[][2] = {
        { "REDLOCK_TLS_CA", "--tls-ca" }, { "REDLOCK_TLS_CERT", "--tls-cert" },
        { "REDLOCK_TLS_KEY", "--tls-key" }
    };

    for (unsigned i = 0; i < 3; i++) {
        if (strncmp(words, begins[i], strlen(begins[i])) != 0) continue;
        return i == 2 && !files.key ? "--tls-key names its file" : names[i][is_option[i]];
    }
    return NULL;
}

static void tell(const char *words)
{
    char text[REDLOCK_TLS_WORDS + 64];
    const char *name = name_of_file(words);

    (void)print_text(text, sizeof text, "TLS: %s%s%s%s", words, name ? " (" : "", name ? name : "",
                     name ? ")" : "");
    output_mistake(text);
}

bool tls_open(struct settings *settings)
{
    char words[REDLOCK_TLS_WORDS];

    if (!settings->options.secure_transport) return true;
    tls = redlock_tls_open(&files, words, sizeof words);
    if (!tls) tell(words);
    settings->options.secure_context = tls;
    return tls;
}

void tls_close(void)
{
    redlock_tls_close(tls);
    tls = NULL;
}

uint64_t tls_certificate_ends(unsigned k)
{
    return tls ? redlock_tls_certificate_ends(tls, k) : 0;
}

const char *tls_version(void)
{
    static char text[96];

    (void)print_text(text, sizeof text, ", with TLS by %s", redlock_tls_library());
    return text;
}

/* Both adapters say these words, and others about which there is nothing to be said. */
static const struct row {
    const char *words, *advice;
    bool is_lasting;
} rows[] = {
    { "another host",
      "name the node in the list as its certificate does, or give it one for this name", true },
    { "this IP address",
      "name the node in the list as its certificate does (sentinels: announce-hostnames), or give "
      "it one for this address",
      true },
    { "not trusted here", "--tls-ca FILE names the CA that signed it", true },
    { "its certificate has expired", "give the node a new one; or is this machine's clock wrong?",
      true },
    { "not valid yet", "is a clock wrong: this machine's, or that of the CA?", false },
    { "its certificate", "give the node another one", true },
    { "shows no certificate", "its tls-cert-file must name one", true },
    { "asks for a client certificate",
      "give --tls-cert and --tls-key, or set its tls-auth-clients to no", true },
    { "or no certificate", "does it ask for one? --tls-cert and --tls-key; its log may say more",
      true },
    { "no certificate can be", "name the node by its host name or its IP address", true },
    { "CA of our certificate", "its tls-ca-cert-file must have the CA of --tls-cert", true },
    { "our certificate has expired", "get a new one for --tls-cert", true },
    { "refuses our certificate",
      "its log may say why; its tls-ca-cert-file must have the CA of --tls-cert", true },
    { "no version in common", "its tls-protocols must have TLSv1.2 or TLSv1.3", true },
    { "does not speak TLS", "is it the node's tls-port? redis:// if it is to be plain text", true },
    { "during the handshake", "is it the node's tls-port? its log may say why", false },
};

/* A node behind sentinels says what is wrong with one of them, or with its master, behind an
 * address. */
static bool is_about_tls(const char *text)
{
    const char *words = strstr(text, "TLS: ");

    return words && (words == text || strncmp(text, "its master ", 11) == 0 ||
                     strstr(text, " sentinels name a master; "));
}

/* NULL: none, or it is not about TLS. */
static const struct row *find_row(const char *text)
{
    if (!is_about_tls(text)) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(text, rows[i].words)) return &rows[i];
    return NULL;
}

const char *tls_advice(const char *text)
{
    const struct row *row = find_row(text);

    if (tls && strstr(text, "no connection within the node timeout"))
        return "it hangs, or the network does, or it does not speak TLS there; if it is only slow: "
               "--node-timeout";
    if (row) return row->advice;
    return is_about_tls(text) ? "the node's log may say more" : NULL;
}

bool tls_is_lasting(const char *text)
{
    const struct row *row = find_row(text);

    return row && row->is_lasting;
}
