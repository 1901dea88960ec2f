/* Puts TLS under tests that know nothing of it. It is linked with --wrap before redlock_open and
 * redlock_close, in builds with TLS. With REDLOCK_TEST_TLS=1 servers on the loopback speak TLS
 * (servers.c), so their addresses become rediss:// here, and each client that is opened gets a
 * transport of its own. Fake servers are left alone, since they speak plain text. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../redlock/redlock_client.h"
#include "../live/servers.h"
#include "open_tls.h"

#define JOIN(a, b) a##b
#define NAMED(prefix, name) JOIN(prefix, name)
#define REAL_OPEN NAMED(__real_, redlock_open)
#define WRAP_OPEN NAMED(__wrap_, redlock_open)

enum redlock_status REAL_OPEN(struct redlock_client *c, const char *nodes,
                              const struct redlock_options *options,
                              struct redlock_mistake *mistake);
enum redlock_status WRAP_OPEN(struct redlock_client *c, const char *nodes,
                              const struct redlock_options *options,
                              struct redlock_mistake *mistake);
void __real_redlock_close(struct redlock_client *c, uint32_t wait_ms);
void __wrap_redlock_close(struct redlock_client *c, uint32_t wait_ms);

enum { CLIENTS_MAX = 256, LIST_MAX = 16 * 1024 };

/* The transport of each client. */
static struct {
    const struct redlock_client *client;
    struct redlock_tls *tls;
} users[CLIENTS_MAX];
static pthread_mutex_t users_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Takes the client's old one, or gives it another one. */
static struct redlock_tls *exchange(const struct redlock_client *c, struct redlock_tls *tls)
{
    struct redlock_tls *before = NULL;
    unsigned i = 0;

    pthread_mutex_lock(&users_mutex);
    while (i < CLIENTS_MAX && users[i].client != c) i++;
    if (i == CLIENTS_MAX) for (i = 0; i < CLIENTS_MAX && users[i].client; i++) {}
    if (i == CLIENTS_MAX) bail_out("more than %d clients", CLIENTS_MAX);
    before = users[i].tls;
    users[i].client = tls ? c : NULL;
    users[i].tls = tls;
    pthread_mutex_unlock(&users_mutex);
    return before;
}

/* The place in these bytes where the loopback and a port begin; NULL: nowhere. */
static const char *find_host(const char *from, size_t size)
{
    static const char *const hosts[] = { "127.0.0.1:", "localhost:", "[::1]:" };

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        const char *host = strstr(from, hosts[i]);
        if (host && host < from + size) return host;
    }
    return NULL;
}

/* "127.0.0.1:1" and "redis://127.0.0.1:1" become "rediss://127.0.0.1:1" where that is a server;
 * anything else stays. */
static void rewrite(const char *from, char *to, size_t size)
{
    size_t used = 0;

    while (*from != '\0' && used + 16 < size) {
        size_t length = strcspn(from, ", \t\r\n");
        const char *host = find_host(from, length);
        bool is_ours = host && servers_have_port(strtoul(strchr(host + 5, ':') + 1, NULL, 10));
        if (is_ours && strncmp(from, "redis://", 8) == 0)
            from += 8, length -= 8, used += (size_t)sprintf(to + used, "rediss://");
        else if (is_ours && host == from) used += (size_t)sprintf(to + used, "rediss://");
        if (length == 0) length = 1;
        if (used + length >= size) break;
        memcpy(to + used, from, length);
        used += length;
        from += length;
    }
    to[used] = '\0';
}

enum redlock_status WRAP_OPEN(struct redlock_client *c, const char *nodes,
                              const struct redlock_options *options,
                              struct redlock_mistake *mistake)
{
    static _Thread_local char list[LIST_MAX];
    struct redlock_options secure;
    enum redlock_status status;

    if (!servers_speak_tls()) return REAL_OPEN(c, nodes, options, mistake);
    redlock_options_init(&secure);
    if (options) secure = *options;
    secure.secure_transport = redlock_tls_transport();
    secure.secure_context = open_tls();
    rewrite(nodes, list, sizeof list);
    status = REAL_OPEN(c, list, &secure, mistake);
    if (status != REDLOCK_OK) redlock_tls_close(secure.secure_context);
    else                      redlock_tls_close(exchange(c, secure.secure_context));
    return status;
}

void __wrap_redlock_close(struct redlock_client *c, uint32_t wait_ms)
{
    __real_redlock_close(c, wait_ms);
    if (servers_speak_tls()) redlock_tls_close(exchange(c, NULL));
}
