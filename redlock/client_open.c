/* Opening and shutting a client. This file knows the list of nodes, the options and the descriptors
 * that are to be closed. Nothing is connected here, and nothing waits; it must not know
 * of any lock. */
#include "client.h"

#include <string.h>

NET_STATIC_ASSERT((int)REDLOCK_ADDRESS_MAX >= (int)NET_ADDRESS_TEXT_SIZE,
                  "an address in words must fit");
NET_STATIC_ASSERT(sizeof(((struct redlock_target *)0)->user) > NET_USER_MAX &&
                      sizeof(((struct redlock_target *)0)->password) > NET_PASSWORD_MAX,
                  "user and password must fit");

/* A connection waits for its name until a tenth of the node's timeout is left, to report why. */
enum { NAME_PART = 10 };

void redlock_options_init(struct redlock_options *options)
{
    *options = (struct redlock_options){ 0 };
    redlock_config_init(&options->engine);
    options->engine.wake_ups = true;
}

const char *redlock_node_address(const struct redlock_client *c, unsigned k)
{
    return c->targets[k].address;
}

/* ---- The list of nodes ---- */

static size_t skip_blanks(const char *list, size_t at)
{
    return at + strspn(list + at, " \t\n\r");
}

/* Does it begin with this scheme, in either case? */
static bool has_scheme(const char *text, const char *scheme)
{
    while (*scheme != '\0' && (*scheme < 'a' ? *text : *text | 0x20) == *scheme) {
        text++;
        scheme++;
    }
    return *scheme == '\0';
}

/* Commas between the hosts of sentinels end no entry. */
static struct list_entry read_entry(const char *text)
{
    static const char plain[] = "sentinel://", secure[] = "sentinels://";
    struct list_entry entry = { .text = text, .is_secure = has_scheme(text, secure) };

    if (entry.is_secure)              entry.head = sizeof secure - 1;
    else if (has_scheme(text, plain)) entry.head = sizeof plain - 1;
    entry.size = entry.head;
    if (entry.head > 0) entry.size += strcspn(text + entry.size, "/ \t\n\r");
    entry.size += strcspn(text + entry.size, ", \t\n\r");
    return entry;
}

/* Finds the next entry of a list, after the one that ended at *at (0 for the first). False at the
 * end of the list. Its size is 0 where a comma has nothing before or after it, since a lost entry
 * would make the quorum smaller (S1). */
static bool next_entry(const char *list, size_t *at, struct list_entry *entry)
{
    size_t begin = skip_blanks(list, *at);
    bool has_comma = *at > 0 && list[begin] == ',';

    REDLOCK_ASSERT(begin >= *at);
    *at = has_comma ? skip_blanks(list, begin + 1) : begin;
    *entry = read_entry(list + *at);
    return entry->size > 0 || has_comma || list[*at] == ',';
}

static enum redlock_status explain_mistake(struct redlock_mistake *mistake,
                                           enum redlock_status status, unsigned k, size_t at,
                                           const char *text)
{
    size_t size = strlen(text);

    if (!mistake) return status;
    REDLOCK_CHECK(size < sizeof mistake->text);
    REDLOCK_ASSERT(status != REDLOCK_OK);
    *mistake = (struct redlock_mistake){ .node = k, .at = at };
    memcpy(mistake->text, text, size);
    return status;
}

/* A transport without addresses gets one empty endpoint to connect to. */
static void note_endpoints(struct redlock_target *target, const struct net_address *address,
                           const struct redlock_transport *transport)
{
    struct net_resolved resolved = { .count = 1 };

    target->is_name = transport->has_addresses && !net_resolve_now(address, &resolved);
    if (!target->is_name) client_note_addresses(target, &resolved);
}

/* Notes the address of a node. Returns the login from there, or from the options if the address has
 * none. */
static struct redlock_login note_target(struct redlock_target *target,
                                        const struct net_address *address,
                                        const struct redlock_transport *transport,
                                        const struct redlock_options *options)
{
    struct redlock_login login = {
        .user = options->user, .password = options->password,
        .database = address->database & NET_DATABASE_MAX, .durable = address->durable,
        .managed = address->managed
    };

    net_format_address(address, target->address, sizeof target->address);
    REDLOCK_ASSERT(target->address[0] != '\0');
    target->is_secure = address->secure;
    note_endpoints(target, address, transport);
    if (address->has_password) {
        memcpy(target->user, address->user, sizeof address->user);
        memcpy(target->password, address->password, sizeof address->password);
        login.user = target->user[0] != '\0' ? target->user : NULL;
        login.password = target->password;
    }
    return login;
}

/* An address that asks for TLS never gets anything else. (The commands have the same literal, so
 * that it is there once.) */
#define WITHOUT_TLS "there is no TLS here: 'make TLS=openssl' or TLS=mbedtls builds it in"

/* Reads one entry of the list as node k, and its login. False: *error says why not, or has no text
 * if it is one node too many. */
static bool read_node(struct redlock_client *c, unsigned k, const struct list_entry *entry,
                      const struct redlock_options *options, struct redlock_login *login,
                      struct net_error *error)
{
    const struct redlock_transport *transport;
    struct net_address address;

    if (!net_parse_address(entry->text, entry->size, REDLOCK_PORT, &address, error)) return false;
    transport = k < REDLOCK_NODES_MAX ? c->transports[address.secure] : NULL;
    if (transport) *login = note_target(&c->targets[k], &address, transport, options);
    else           *error = (struct net_error){
        .text = k < REDLOCK_NODES_MAX ? WITHOUT_TLS : NULL
    };
    net_wipe(&address, sizeof address);
    return transport;
}

/* The same of an entry that names sentinels. The login of their master is that of the options. */
static bool read_sentinels(struct redlock_client *c, unsigned k, const struct list_entry *entry,
                           const struct redlock_options *options, struct redlock_login *login,
                           struct net_error *error)
{
    const struct redlock_transport *transport = c->transports[entry->is_secure];

    *error = (struct net_error){ .text = NULL };
    if (k == REDLOCK_NODES_MAX) return false;
    *login = (struct redlock_login){
        .user = options->user, .password = options->password, .watched = true
    };
    if (!c->sentinels)
        error->text = "this program takes no sentinels: it does without redlock_use_sentinels";
    else if (!transport)
        error->text = WITHOUT_TLS;
    else if (!transport->has_addresses)
        error->text = "sentinels need a transport with addresses, and the options set another one";
    return !error->text && c->sentinels->calls->add(c, k, entry, error);
}

static enum redlock_status read_nodes(struct redlock_client *c, const char *nodes,
                                      const struct redlock_options *options,
                                      struct redlock_login *logins, size_t *places,
                                      unsigned *count, struct redlock_mistake *mistake)
{
    struct list_entry entry;

    for (size_t at = 0; next_entry(nodes, &at, &entry); at += entry.size) {
        struct net_error error;

        if (!(entry.head > 0 ? read_sentinels : read_node)(c, *count, &entry, options,
                                                           &logins[*count], &error)) {
            if (!error.text) return REDLOCK_BAD_NODE_COUNT;
            return explain_mistake(mistake, REDLOCK_BAD_ADDRESS, *count, at + error.at, error.text);
        }
        places[(*count)++] = at;
    }
    return REDLOCK_OK;
}

/* ---- Opening and shutting ---- */

static enum redlock_status set_logins(struct redlock_client *c, const struct redlock_login *logins,
                                      const size_t *places, struct redlock_mistake *mistake)
{
    for (unsigned k = 0; k < c->engine.node_count; k++)
        if (redlock_set_login(&c->engine, k, &logins[k]) != REDLOCK_OK)
            return explain_mistake(mistake, REDLOCK_BAD_CONFIG, k, places[k],
                                   "a user needs a password, and both together have at most 512 "
                                   "bytes and fit in the send buffer");
    return REDLOCK_OK;
}

/* A client that is not open has no descriptors; 0 would be one. */
static void clear_client(struct redlock_client *c)
{
    memset(c, 0, sizeof *c);
    for (unsigned k = 0; k < REDLOCK_FDS_MAX; k++)
        c->sockets[k].fd = c->sockets[k].dropped = c->sockets[k].lookup = -1;
    c->self_pipe[0] = c->self_pipe[1] = -1;
}

/* Needed if at least one login is durable. */
static void use_durable(struct redlock_client *c, const struct redlock_login *logins)
{
    bool is_any = false;

    for (unsigned k = 0; k < c->engine.node_count; k++) is_any |= logins[k].durable;
    if (is_any) redlock_use_durable(&c->engine, &c->durable);
}

static void use_transports(struct redlock_client *c, const struct redlock_options *options)
{
    c->transports[0] = options->transport ? options->transport : client_sockets();
    c->transport_contexts[0] = options->transport ? options->transport_context : c;
    c->transports[1] = options->secure_transport;
    c->transport_contexts[1] = options->secure_context;
}

/* A list without sentinels needs nothing of them. */
static enum redlock_status use_sentinels(struct redlock_client *c, struct redlock_mistake *mistake)
{
    if (c->sentinels && c->sentinels->count == 0) c->sentinels = NULL;
    if (client_fd_count(c) <= REDLOCK_FDS_MAX) return REDLOCK_OK;
    return explain_mistake(mistake, REDLOCK_BAD_CONFIG, REDLOCK_NO_NODE, 0,
                           "more than 32 descriptors: a client has one or two for each node, and "
                           "one for each sentinel");
}

/* Too long a name is an empty one here, since the client was cleared. */
static enum redlock_status use_holder(struct redlock_client *c, const char *holder,
                                      struct redlock_mistake *mistake)
{
    size_t size = strlen(holder);

    if (size <= REDLOCK_HOLDER_MAX) memcpy(c->holder, holder, size);
    if (redlock_use_holder(&c->engine, c->holder) == REDLOCK_OK) return REDLOCK_OK;
    return explain_mistake(mistake, REDLOCK_BAD_CONFIG, REDLOCK_NO_NODE, 0,
                           "a holder's name has 1 to 63 bytes, no control character, and room in "
                           "the send buffer");
}

static void wipe_passwords(struct redlock_client *c)
{
    net_wipe(c->targets, sizeof c->targets);
    if (c->sentinels) net_wipe(c->sentinels->list, sizeof c->sentinels->list);
}

enum redlock_status redlock_open(struct redlock_client *c, const char *nodes,
                                 const struct redlock_options *options,
                                 struct redlock_mistake *mistake)
{
    struct redlock_login logins[REDLOCK_NODES_MAX] = { { .user = NULL } };
    size_t places[REDLOCK_NODES_MAX] = { 0 };
    struct redlock_options defaults;
    enum redlock_status status;
    unsigned count = 0;

    redlock_options_init(&defaults);
    if (!options) options = &defaults;
    if (mistake) *mistake = (struct redlock_mistake){ .node = REDLOCK_NO_NODE };
    if (c->owner != 0 && !redlock_is_forked(c)) return REDLOCK_ALREADY_OPEN;
    clear_client(c);
    c->owner = net_process();
    c->trace = options->trace;
    c->trace_context = options->trace_context;
    c->around_wait = options->around_wait;
    c->wait_context = options->wait_context;
    use_transports(c, options);
    c->sentinels = options->sentinels;
    if (c->sentinels) c->sentinels->calls->begin(c);
    c->name_wait_us = (uint64_t)options->engine.node_timeout_ms * (1000 - 1000 / NAME_PART);
    status = read_nodes(c, nodes ? nodes : "", options, logins, places, &count, mistake);
    if (status == REDLOCK_OK)
        status = redlock_init(&c->engine, &options->engine, c->nodes, count,
                              options->memory ? options->memory : c->memory,
                              options->memory ? options->memory_size : sizeof c->memory,
                              redlock_now_us());
    REDLOCK_ASSERT(status != REDLOCK_OK || c->engine.node_count == count);
    if (status == REDLOCK_OK) status = use_sentinels(c, mistake);
    if (status == REDLOCK_OK) redlock_use(&c->engine, &redlock_all_features);
    if (status == REDLOCK_OK && options->holder) status = use_holder(c, options->holder, mistake);
    if (status == REDLOCK_OK) status = set_logins(c, logins, places, mistake);
    if (status == REDLOCK_OK) use_durable(c, logins);
    if (status == REDLOCK_OK && c->sentinels)
        redlock_use_promotions(&c->engine, &c->sentinels->promotions);
    if (status == REDLOCK_OK) status = client_add_entropy(c);
    if (status == REDLOCK_OK && options->interruptible && net_self_pipe_open(c->self_pipe) != 0)
        status = REDLOCK_SYSTEM;
    if (status != REDLOCK_OK) {
        wipe_passwords(c);
        c->owner = 0;
    }
    return status;
}

/* A child of fork() is silent, since its parent goes on using the connection. */
static void close_connection(struct redlock_client *c, unsigned k, bool silently)
{
    if (c->sockets[k].fd < 0) return;
    transport_of(c, k)->hang_up(context_of(c, k), k, silently);
    transport_of(c, k)->discard(context_of(c, k), k, c->sockets[k].fd);
}

/* The owner goes first, so that a signal handler's redlock_interrupt finds a client that
 * is not open. */
void client_shut(struct redlock_client *c, enum redlock_status status)
{
    REDLOCK_ASSERT(c->owner != 0);
    c->owner = 0;
    /* A child of fork() has the parent's, wherever their memory is. */
    if (status != REDLOCK_FORKED) redlock_forget(&c->engine, NULL);
    for (unsigned k = 0; k < client_fd_count(c); k++) {
        close_connection(c, k, status == REDLOCK_FORKED);
        net_close(c->sockets[k].lookup);
    }
    net_close(c->self_pipe[1]);  /* It goes first, since a pipe without a reader is a broken one. */
    net_close(c->self_pipe[0]);
    wipe_passwords(c);
    clear_client(c);
}
