#define _GNU_SOURCE
#include "ward.h"

#include <assert.h>
#include <signal.h>
#include <unistd.h>

#include "tree.h"

enum {
    LOOK_US = 5 * 1000,     /* How often to look whether the rest is gone: nothing reports it. */
    /* Processes that one look finds; those beyond are found when these are gone. */
    TREE_MAX = 4096
};

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t earlier(uint64_t at_us, uint32_t ms)
{
    uint64_t us = (uint64_t)ms * 1000;

    return at_us > us ? at_us - us : 0;
}

/* The group at once, so that a shell whose command dies cannot begin the next one; then what has
 * left it. The list is made first: of a process that has ended it would not tell the children. */
static int signal_all(const struct ward *ward, int number)
{
    static pid_t pids[TREE_MAX];
    size_t count = ward->is_all_below ? tree_list(pids, TREE_MAX) : 0;
    int error = child_signal(&ward->child, number);

    assert(number > 0);
    for (size_t i = 0; i < count; i++)
        if (getpgid(pids[i]) != ward->child.pid) (void)kill(pids[i], number);
    return error;
}

/* A stopped process takes SIGTERM when it goes on, not before. */
int ward_end(struct ward *ward, uint64_t now_us)
{
    int error;

    assert(!ward->is_ending);
    ward->is_ending = true;
    ward->kill_at = sooner(now_us + (uint64_t)ward->grace_ms * 1000,
                           earlier(ward->valid_until, ward->margin_ms));
    error = signal_all(ward, SIGTERM);
    (void)signal_all(ward, SIGCONT);
    return error;
}

static uint64_t term_at(const struct ward *ward)
{
    return earlier(ward->valid_until, ward->grace_ms + ward->margin_ms);
}

/* S19: by the last end that was reported, whatever has happened since. */
void ward_judge(struct ward *ward, uint64_t now_us)
{
    assert(ward->is_ending || !ward->is_killed);
    if (!ward->is_ending && now_us >= term_at(ward)) (void)ward_end(ward, now_us);
    if (!ward->is_ending || now_us < ward->kill_at) return;
    ward->is_killed = true;
    (void)signal_all(ward, SIGKILL);        /* Each time: what was begun meanwhile is found then. */
}

uint64_t ward_next(const struct ward *ward, uint64_t now_us)
{
    if (!ward->is_ending) return term_at(ward);
    if (ward->is_killed)  return now_us + LOOK_US;
    return ward->child.has_ended ? sooner(now_us + LOOK_US, ward->kill_at) : ward->kill_at;
}

static bool is_empty(struct ward *ward)
{
    pid_t pid;

    if (child_group_lives(&ward->child)) return false;
    return !ward->is_all_below || (!ward->child.has_siblings && tree_list(&pid, 1) == 0);
}

bool ward_is_gone(struct ward *ward, uint64_t now_us)
{
    if (!ward->child.has_ended || !ward->is_ending) return ward->child.has_ended;
    return is_empty(ward) || (ward->is_killed && now_us >= ward->valid_until);
}
