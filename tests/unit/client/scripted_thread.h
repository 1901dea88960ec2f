/* The functions of net/redlock_thread.h, played by coroutines over the scripted net. One thread
 * runs at a time. At each entry of a monitor, each leaving and each wait, a seed or a list of
 * preemptions chooses the thread that goes on, so that all interleavings with so many preemptions
 * can be gone through. Time passes when every thread waits.
 *
 * These are breaches, reported by net.breach: a monitor that is left, signalled or waited for by a
 * thread that has not entered it, entered twice, or closed while somebody is in it; threads that
 * wait for each other for ever; a descriptor that is touched, while the keeper's thread runs, by
 * another thread, or outside the monitor. */
#ifndef SCRIPTED_THREAD_H
#define SCRIPTED_THREAD_H

#include "scripted_client.h"

#include "../../../net/redlock_thread.h"
#include "../../../redlock/redlock_keeper.h"

#if defined(__has_include)
#if __has_include(<ucontext.h>) && defined(__GLIBC__)
#define HAS_COROUTINES 1
#include <ucontext.h>
#endif
#endif

enum {
    CREW_MAX = 4,
    /* Far enough apart for valgrind to see that one stack is left for another. */
    CREW_STACK = 4 * 1024 * 1024,
    CREW_PREEMPTIONS_MAX = 2,
    CREW_STEPS_MAX = 20000
};

#ifdef HAS_COROUTINES

/* The reason why a thread does not run. */
enum crew_state { CREW_RUNS, CREW_ENTERS, CREW_WAITS, CREW_SLEEPS, CREW_JOINS, CREW_ENDED };

struct crew_member {
    ucontext_t context;
    enum crew_state state;
    bool is_told;
    struct net_wait *waits;         /* The waits of a sleeping thread. */
    size_t wait_count;
    uint64_t until_us;
    unsigned joins;                 /* The thread whose end it waits for. */
    void *(*body)(void *context);
    void *argument;
    uint64_t stack[CREW_STACK / sizeof(uint64_t)];
};

struct crew_preemption {
    unsigned step, pick;
};

static struct crew_member crew_members[CREW_MAX];

static struct {
    ucontext_t home;
    unsigned count, current, finished;
    int owner;                      /* The monitor's owner; -1: nobody. */
    int keeper;                     /* Its thread, while it has one; -1: none. */
    unsigned monitors;              /* Open monitors. */
    bool is_without_monitor, is_without_thread;
    unsigned spurious;              /* Wakes for no reason, of 1000 waits. */
    unsigned switches;              /* Choices by chance, of 1000. */
    struct crew_preemption preemptions[CREW_PREEMPTIONS_MAX];
    unsigned preemption_count;
    unsigned steps;                 /* Choices so far. */
} crew;

/* ---- Which thread goes on ---- */

static inline bool crew_can_run(const struct crew_member *member)
{
    switch (member->state) {
    case CREW_RUNS:   return true;
    case CREW_ENTERS: return crew.owner < 0;
    case CREW_WAITS:  return crew.owner < 0 && member->is_told;
    case CREW_SLEEPS:
        return net.now_us >= member->until_us || waits_ready(member->waits, member->wait_count) > 0;
    case CREW_JOINS:  return crew_members[member->joins].state == CREW_ENDED;
    case CREW_ENDED:  break;
    }
    return false;
}

static inline unsigned crew_candidates(unsigned candidates[CREW_MAX])
{
    unsigned count = 0;
    for (unsigned i = 0; i < crew.count; i++)
        if (crew_can_run(&crew_members[i])) candidates[count++] = i;
    return count;
}

static inline void crew_go_home(void)
{
    setcontext(&crew.home);
}

/* If everybody waits, time passes until something happens, or somebody has slept enough. */
static inline void crew_let_time_pass(void)
{
    uint64_t at = net_next_event();
    for (unsigned i = 0; i < crew.count; i++)
        if (crew_members[i].state == CREW_SLEEPS) at = net_sooner(at, crew_members[i].until_us);
    if (at == UINT64_MAX) net_escape("threads wait for each other, or for nothing");
    if (at > net.now_us) net.now_us = at;
    net_happen();
}

/* The one that runs goes on if it can, unless the script has it otherwise. */
static inline unsigned crew_choose(const unsigned candidates[CREW_MAX], unsigned count)
{
    const unsigned step = crew.steps++;
    if (step > CREW_STEPS_MAX) net_escape("threads go on for ever");
    for (unsigned i = 0; i < crew.preemption_count; i++)
        if (crew.preemptions[i].step == step) return candidates[crew.preemptions[i].pick % count];
    if (net_happens(crew.switches)) return candidates[net_below(count)];
    for (unsigned i = 0; i < count; i++)
        if (candidates[i] == crew.current) return crew.current;
    return candidates[0];
}

static inline void crew_yield(void)
{
    struct crew_member *before = &crew_members[crew.current];
    unsigned candidates[CREW_MAX], count;
    while ((count = crew_candidates(candidates)) == 0) crew_let_time_pass();
    const unsigned next = crew_choose(candidates, count);
    struct crew_member *member = &crew_members[next];
    if (member->state == CREW_ENTERS || member->state == CREW_WAITS) crew.owner = (int)next;
    member->state = CREW_RUNS;
    if (next == crew.current) return;
    crew.current = next;
    swapcontext(&before->context, &member->context);
}

static inline void crew_body(void)
{
    struct crew_member *member = &crew_members[crew.current];
    (void)member->body(member->argument);
    member->state = CREW_ENDED;
    if (crew.owner == (int)crew.current) net_break("a thread ended within the monitor");
    if (++crew.finished == crew.count) crew_go_home();
    crew_yield();
}

static inline unsigned crew_add(void *(*body)(void *context), void *argument)
{
    const unsigned index = crew.count++;
    struct crew_member *member = &crew_members[index];
    member->body = body;
    member->argument = argument;
    member->state = CREW_RUNS;
    getcontext(&member->context);
    member->context.uc_stack.ss_sp = member->stack;
    member->context.uc_stack.ss_size = sizeof member->stack;
    member->context.uc_link = NULL;
    makecontext(&member->context, crew_body, 0);
    return index;
}

/* ---- What a thread of a test does ---- */

static inline void crew_sleep_in(struct net_wait *waits, size_t count, uint64_t until_us)
{
    struct crew_member *member = &crew_members[crew.current];
    if (crew.owner == (int)crew.current) net_break("a thread sleeps within the monitor");
    member->waits = waits;
    member->wait_count = count;
    member->until_us = until_us;
    member->state = CREW_SLEEPS;
    crew_yield();
}

static inline void crew_sleep_ms(uint64_t ms)
{
    crew_sleep_in(NULL, 0, net.now_us + ms * 1000);
}

static inline void crew_join(unsigned index)
{
    crew_members[crew.current].joins = index;
    crew_members[crew.current].state = CREW_JOINS;
    crew_yield();
}

/* The keeper's thread alone touches descriptors, while there is one. */
static inline void crew_watch(const char *what)
{
    if (crew.keeper < 0) return;
    if (crew.current != (unsigned)crew.keeper)
        net_break("%s by another thread than the keeper's", what);
    if (crew.owner != crew.keeper) net_break("%s outside the monitor", what);
}

static inline void crew_begin(void)
{
    memset(&crew, 0, sizeof crew);
    crew.owner = crew.keeper = -1;
    net.sleeps = crew_sleep_in;
    net.watches = crew_watch;
    net.leaves = crew_go_home;
    net.has_around_wait = false;
}

/* Runs until all threads have ended, or something is broken for good. */
static inline void crew_run(void *(*body)(void *context))
{
    static volatile bool is_back;
    is_back = false;
    (void)crew_add(body, NULL);
    getcontext(&crew.home);
    if (is_back) return;
    is_back = true;
    setcontext(&crew_members[0].context);
}

/* ---- net/redlock_thread.h ---- */

enum { CREW_MAGIC = 0x6d6f6e69 };

static inline void monitor_check(const struct net_monitor *monitor, bool is_inside,
                                 const char *what)
{
    if (monitor->words[0] != CREW_MAGIC) net_break("%s of a monitor that is not open", what);
    if (is_inside != (crew.owner == (int)crew.current)) net_break("%s from the wrong side", what);
    if (net.breach[0] != '\0') crew_go_home();     /* Nothing good can come of it. */
}

bool net_monitor_open(struct net_monitor *monitor)
{
    if (crew.is_without_monitor) return false;
    monitor->words[0] = CREW_MAGIC;
    crew.monitors++;
    return true;
}

void net_monitor_close(struct net_monitor *monitor)
{
    monitor_check(monitor, false, "close");
    for (unsigned i = 0; i < crew.count; i++)
        if (crew_members[i].state == CREW_ENTERS || crew_members[i].state == CREW_WAITS)
            net_break("a monitor is closed, and thread %u is in it", i);
    if (crew.owner >= 0) net_break("a monitor is closed that somebody has entered");
    monitor_check(monitor, false, "close");
    monitor->words[0] = 0;
    crew.monitors--;
}

void net_monitor_enter(struct net_monitor *monitor)
{
    monitor_check(monitor, false, "enter");
    crew_members[crew.current].state = CREW_ENTERS;
    crew_yield();
}

void net_monitor_leave(struct net_monitor *monitor)
{
    monitor_check(monitor, true, "leave");
    crew.owner = -1;
    crew_yield();
}

void net_monitor_wait(struct net_monitor *monitor)
{
    monitor_check(monitor, true, "wait");
    crew.owner = -1;
    crew_members[crew.current].is_told = net_happens(crew.spurious);
    crew_members[crew.current].state = CREW_WAITS;
    crew_yield();
}

void net_monitor_tell(struct net_monitor *monitor)
{
    monitor_check(monitor, true, "tell");
    for (unsigned i = 0; i < crew.count; i++)
        if (crew_members[i].state == CREW_WAITS) crew_members[i].is_told = true;
}

bool net_thread_start(struct net_thread *thread, void *(*body)(void *context), void *context)
{
    if (crew.is_without_thread) return false;
    thread->words[0] = crew_add(body, context);
    crew.keeper = (int)thread->words[0];
    return true;
}

void net_thread_join(struct net_thread *thread)
{
    if (crew.owner == (int)crew.current) net_break("a join within the monitor");
    if (crew.keeper != (int)thread->words[0]) net_break("a join of no thread, or a second one");
    crew_join((unsigned)thread->words[0]);
    crew.keeper = -1;
}

#endif
#endif
