/* The command of redlock run is known by a number, which the kernel gives to another process when
 * its whole group is gone. That process gets no signal, and its end is not the command's. The
 * kernel is made up here. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static int scripted_kill(pid_t pid, int number);
static pid_t scripted_waitpid(pid_t pid, int *status, int options);
#define kill scripted_kill
#define waitpid scripted_waitpid
#include "../../../tools/redlock/child.c"
#include "../../../tools/redlock/descriptors.c"
#include "../../../tools/redlock/print.c"
#undef kill
#undef waitpid

#include "../../tap.h"

enum { COMMAND = 100, ANOTHER = 200, EXIT_3 = 3 << 8, EXIT_7 = 7 << 8 };

static int group_errno;         /* 0: there is a group of that number, which may be signalled. */
static unsigned signals_sent;
/* The results of waitpid() one after the other. Each is a number, 0 or -1. */
static pid_t ended[4];
static int statuses[4];
static size_t told;

static int scripted_kill(pid_t pid, int number)
{
    errno = pid == -COMMAND ? group_errno : EINVAL;
    if (errno != 0) return -1;
    signals_sent += number != 0;
    return 0;
}

static pid_t scripted_waitpid(pid_t pid, int *status, int options)
{
    if (pid != -1 || options != (WNOHANG | WUNTRACED)) return -1;
    *status = statuses[told];
    return ended[told++];
}

void signals_block(void)
{
}

void signals_unblock(void)
{
}

void signals_restore(void)
{
}

static struct child begin(void)
{
    group_errno = 0;
    signals_sent = 0;
    return (struct child){ .pid = COMMAND };
}

static void look(struct child *child, pid_t pid, int status, pid_t then)
{
    ended[0] = pid;
    statuses[0] = status;
    ended[1] = then;
    told = 0;
    child_look(child);
}

TEST(a_group_lives_until_no_process_of_it_does)
{
    struct child child = begin();

    CHECK(child_group_lives(&child));
    look(&child, COMMAND, EXIT_3, 0);
    CHECK(child_group_lives(&child));
    group_errno = EPERM;                /* It belongs to another user, as by su. */
    CHECK(child_group_lives(&child));
    CHECK_INT(child_signal(&child, SIGTERM), EPERM);
    group_errno = ESRCH;
    CHECK_INT(child_signal(&child, SIGTERM), 0);
    CHECK(!child_group_lives(&child));
}

TEST(a_number_that_another_group_has_got_is_no_longer_the_commands)
{
    struct child child = begin();

    look(&child, COMMAND, EXIT_3, 0);
    CHECK_INT(child_signal(&child, SIGTERM), 0);
    CHECK_INT(signals_sent, 1);
    group_errno = ESRCH;
    CHECK(!child_group_lives(&child));
    group_errno = 0;
    CHECK(!child_group_lives(&child));
    CHECK_INT(child_signal(&child, SIGKILL), 0);
    CHECK_INT(signals_sent, 1);
    look(&child, COMMAND, EXIT_7, 0);
    CHECK_INT(child_exit_status(&child), 3);
}

TEST(what_is_below_besides_the_command_is_counted_without_a_list)
{
    struct child child = begin();

    look(&child, COMMAND, EXIT_3, 0);
    CHECK(child.has_siblings);
    look(&child, ANOTHER, EXIT_7, -1);
    CHECK(!child.has_siblings);
    CHECK(child.has_ended);
    CHECK_INT(child_exit_status(&child), 3);
}

TEST(a_stop_is_no_end)
{
    struct child child = begin();

    look(&child, COMMAND, SIGSTOP << 8 | 0x7f, 0);
    CHECK(!child.has_ended);
    CHECK_INT(child.stopped_by, SIGSTOP);
    look(&child, COMMAND, SIGKILL, -1);
    CHECK(child.has_ended);
    CHECK_INT(child.stopped_by, 0);
    CHECK_INT(child_exit_status(&child), 128 + SIGKILL);
}

/* The errno of execvp(3); 0: it ran. */
static int execs(const char *name)
{
    char words[][3] = { "sh", "-c", ":" };
    char *arguments[] = { words[0], words[1], words[2], NULL };
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        (void)execvp(name, arguments);
        _exit(errno);
    }
    if (pid <= 0 || waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* An empty part of PATH is the working directory. */
TEST(a_program_is_found_where_execvp_finds_it)
{
    static const char *const paths[] = {
        "/nowhere:/bin:/usr/bin", "/nowhere", "/nowhere:", ":/nowhere", "/etc:/nowhere", "/etc:/bin"
    };
    static const char *const names[] = {
        "sh", "no-such-program", "/bin/sh", "/bin/no-such-program", "./sh", "/", "profile",
        "/etc/profile"
    };

    CHECK_INT(chdir("/bin"), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            TAP_CONTEXT("%s in %s", names[j], paths[i]);
            CHECK_INT(setenv("PATH", paths[i], 1), 0);
            CHECK_INT(child_find(names[j]), execs(names[j]));
        }
    /* execvp(3) has a PATH of its own then. */
    CHECK_INT(unsetenv("PATH"), 0);
    CHECK_INT(child_find("no-such-program"), 0);
}

TAP_MAIN
