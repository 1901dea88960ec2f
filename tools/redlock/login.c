#define _GNU_SOURCE
#include "login.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "environment.h"
#include "text.h"

void login_hide(char *word)
{
    char *begin = strstr(word, "://"), *end = strrchr(word, '@');

    if (begin && end && end > begin + 3) memset(begin + 3, '*', (size_t)(end - begin - 3));
}

void login_forget_variable(const char *name, char *value)
{
    assert(value);
    text_wipe(value, strlen(value));
    environment_take(name);
}

/* Copies a text that a variable or an option gave, whose room is size bytes. */
static void copy_text(const struct settings *settings, char *to, size_t size, const char *from,
                      const char *what)
{
    size_t length = strlen(from);

    assert(size > 0);
    if (length >= size) refuse(settings, "%s is too long", what);
    memcpy(to, from, length + 1);
}

size_t login_read_file(const struct settings *settings, const char *what, const char *path,
                       char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t taken = 1;
    size_t used = 0;

    assert(size > 0);
    if (fd < 0) refuse(settings, "cannot read %s %s: %s", what, path, text_system_error(errno));
    while (taken > 0 && used < size) {
        do taken = read(fd, text + used, size - used);
        while (taken < 0 && errno == EINTR);
        if (taken < 0)
            refuse(settings, "cannot read %s %s: %s", what, path, text_system_error(errno));
        used += (size_t)taken;
    }
    (void)close(fd);
    return used;
}

/* The password is the first line, without its end. */
static void read_password_file(struct settings *settings, const char *path)
{
    size_t size =
        login_read_file(settings, "the password file", path, settings->password, REDLOCK_LOGIN_MAX);

    settings->password[size] = '\0';
    settings->password[strcspn(settings->password, "\r\n")] = '\0';
    if (settings->password[0] == '\0')
        refuse(settings, "the password file %s begins with an empty line", path);
    if (strlen(settings->password) == REDLOCK_LOGIN_MAX)
        refuse(settings, "the password in %s is too long", path);
}

static void read_password_variable(struct settings *settings, bool is_wanted)
{
    char *value = getenv("REDLOCK_PASSWORD");

    if (!value) return;
    if (is_wanted)
        copy_text(settings, settings->password, sizeof settings->password, value,
                  "REDLOCK_PASSWORD");
    login_forget_variable("REDLOCK_PASSWORD", value);
}

static void set_user(struct settings *settings, const char *user)
{
    assert(user[0] != '\0');
    copy_text(settings, settings->user, sizeof settings->user, user, "the user's name");
    settings->options.user = settings->user;
    if (!settings->options.password && !strchr(settings->nodes, '@'))
        refuse(settings, "user %s has no password: set REDLOCK_PASSWORD or give --password-file",
               user);
}

/* A core file would have the password, and another program of this user could read it (prctl(2),
 * PR_SET_DUMPABLE). What is executed later is not concerned. */
static void leave_no_core(void)
{
#ifdef __linux__
    (void)prctl(PR_SET_DUMPABLE, 0);
#endif
}

void login_read(struct settings *settings, const char *user, const char *password_file)
{
    if (!user) user = getenv("REDLOCK_USER");
    if (!password_file) password_file = getenv("REDLOCK_PASSWORD_FILE");
    read_password_variable(settings, !password_file);
    if (password_file) read_password_file(settings, password_file);
    if (settings->password[0] != '\0') settings->options.password = settings->password;
    if (user && *user != '\0') set_user(settings, user);
    if (settings->options.password || strchr(settings->nodes, '@')) leave_no_core();
}
