#define _GNU_SOURCE
#include "notify.h"

#include <assert.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "print.h"
#include "text.h"

/* "/run/x", or "@x" for a name in no file system, which begins with a NUL. Other kinds are not
 * known here. */
void notify_open(struct notifier *notifier)
{
    const char *name = getenv("NOTIFY_SOCKET");
    size_t size = name ? strlen(name) : 0;

    *notifier = (struct notifier){ .address.sun_family = AF_UNIX };
    if (size > 1 && size < sizeof notifier->address.sun_path &&
        (name[0] == '/' || name[0] == '@')) {
        memcpy(notifier->address.sun_path, name, size);
        if (name[0] == '@') notifier->address.sun_path[0] = '\0';
        notifier->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    }
    environment_take("NOTIFY_SOCKET");
}

static void send_text(const struct notifier *notifier, const char *text)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (fd < 0) return;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)sendto(fd, text, strlen(text), 0, (const struct sockaddr *)&notifier->address,
                 notifier->size);
    (void)close(fd);
}

void notify(const struct notifier *notifier, const char *state, const char *what,
            const char *resource)
{
    char name[TEXT_MAX], text[TEXT_MAX + 128];

    assert(what && resource);
    if (notifier->size == 0) return;
    (void)print_text(text, sizeof text, "%s%sSTATUS=%s %s\n", state ? state : "", state ? "\n" : "",
                     what, text_printable(name, sizeof name, resource, strlen(resource)));
    send_text(notifier, text);
}
