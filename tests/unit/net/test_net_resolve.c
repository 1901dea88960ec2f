/* Endpoints of addresses, and the thread that looks names up. The system's resolver is one of this
 * test's own, so that it may be slow, hang, fail, and report the signals that reach it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../../net/redlock_net.h"
#include "../../tap.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SOON_US = 10 * 1000 * 1000, RESULTS = 6 };

/* ---- The resolver ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool hangs;                 /* It hangs until it no longer does. */
    int code, error;            /* The code returned for every name, and the errno with it. */
    unsigned asked, inside;
    int chains;                 /* Given, and not yet freed. */
    bool is_other_thread, has_no_signals;
    pthread_t tests;
} resolver = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void count_chain(int change)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    resolver.chains += change;
    (void)pthread_mutex_unlock(&resolver.mutex);
}

/* A chain of addresses for names that begin with "six.", of IPv4, or with "other.", of no family
 * that has ports. */
static void make_results(const char *node, struct addrinfo **results)
{
    const unsigned count = strncmp(node, "six.", 4) == 0 ? RESULTS : 1;
    struct sockaddr_in *addresses = calloc(count, sizeof *addresses);
    struct addrinfo *made = calloc(count, sizeof *made);
    if (!addresses || !made) abort();
    for (unsigned i = 0; i < count; i++) {
        addresses[i].sin_family = AF_INET;
        addresses[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK + i);
        made[i].ai_family = strncmp(node, "other.", 6) == 0 ? AF_UNIX : AF_INET;
        made[i].ai_addr = (struct sockaddr *)&addresses[i];
        made[i].ai_addrlen = sizeof addresses[i];
        made[i].ai_next = i + 1 < count ? &made[i + 1] : NULL;
    }
    *results = made;
    count_chain(1);
}

static void note_caller(void)
{
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    resolver.has_no_signals = sigismember(&mask, SIGUSR1) == 1 &&
                              sigismember(&mask, SIGPIPE) == 1 && sigismember(&mask, SIGTERM) == 1;
    resolver.is_other_thread = !pthread_equal(pthread_self(), resolver.tests);
    resolver.asked++;
}

static int answer(const char *node, struct addrinfo **results)
{
    int code;
    (void)pthread_mutex_lock(&resolver.mutex);
    note_caller();
    resolver.inside++;
    (void)pthread_cond_broadcast(&resolver.changed);
    while (resolver.hangs) (void)pthread_cond_wait(&resolver.changed, &resolver.mutex);
    resolver.inside--;
    (void)pthread_cond_broadcast(&resolver.changed);
    code = resolver.code;
    errno = resolver.error;
    (void)pthread_mutex_unlock(&resolver.mutex);
    if (code == 0) make_results(node, results);
    return code;
}

/* It replaces libc's. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **results)
{
    struct in_addr v4;
    struct in6_addr v6;
    const bool is_v4 = inet_pton(AF_INET, node, &v4) == 1,
               is_v6 = inet_pton(AF_INET6, node, &v6) == 1;
    (void)service;
    if (!is_v4 && !is_v6)
        return hints->ai_flags & AI_NUMERICHOST ? EAI_NONAME : answer(node, results);
    make_results(node, results);
    if (is_v4) ((struct sockaddr_in *)(void *)(*results)->ai_addr)->sin_addr = v4;
    return 0;
}

void freeaddrinfo(struct addrinfo *results)
{
    free(results->ai_addr);
    free(results);
    count_chain(-1);
}

static void let_resolver(bool hang)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    resolver.hangs = hang;
    (void)pthread_cond_broadcast(&resolver.changed);
    (void)pthread_mutex_unlock(&resolver.mutex);
}

/* Waits until so many threads are in the resolver. */
static void await_inside(unsigned count)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    while (resolver.inside != count) (void)pthread_cond_wait(&resolver.changed, &resolver.mutex);
    (void)pthread_mutex_unlock(&resolver.mutex);
}

static void reset(void)
{
    resolver.tests = pthread_self();
    resolver.code = resolver.error = 0;
    resolver.asked = 0;
    resolver.chains = 0;
    let_resolver(false);
    (void)alarm(60);
}

/* ---- What the tests say ---- */

static struct net_address address_of(const char *text)
{
    struct net_address address;
    struct net_error error;
    if (!net_parse_address(text, strlen(text), 6379, &address, &error)) abort();
    return address;
}

static bool resolve_now(const char *text, struct net_resolved *resolved)
{
    const struct net_address address = address_of(text);
    return net_resolve_now(&address, resolved);
}

static int begin(const char *text, struct net_resolved *resolved)
{
    const struct net_address address = address_of(text);
    return net_resolve_begin(&address, resolved);
}

static bool is_readable(int fd, uint64_t us)
{
    struct net_wait wait = { .fd = fd, .events = NET_READ };
    return net_wait(&wait, 1, net_now_us() + us) == 1;
}

/* Waits for the end of a look-up and of its thread's descriptor, and closes. */
static struct net_resolved finish(int fd)
{
    struct net_resolved resolved = { .code = -9999 };
    char more;
    if (is_readable(fd, SOON_US) && !net_resolve_end(fd, &resolved)) resolved.code = -9998;
    if (!is_readable(fd, SOON_US) || recv(fd, &more, 1, 0) != 0) resolved.code = -9997;
    net_close(fd);
    return resolved;
}

static struct net_resolved look_up(const char *text)
{
    struct net_resolved resolved;
    const int fd = begin(text, &resolved);
    return fd < 0 ? resolved : finish(fd);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static struct sockaddr_in endpoint_of(const struct net_resolved *resolved, unsigned i)
{
    struct sockaddr_in address;
    memcpy(&address, resolved->endpoints[i].words, sizeof address);
    return address;
}

/* ---- Numbers and paths ---- */

TEST(numbers_and_paths_have_one_endpoint_and_ask_nobody)
{
    const char *texts[] = { "127.0.0.1", "[::1]", "unix:/not/there" };
    reset();
    for (size_t i = 0; i < 3; i++) {
        struct net_resolved resolved;
        TAP_CONTEXT("%s", texts[i]);
        CHECK(resolve_now(texts[i], &resolved));
        CHECK_INT(resolved.code, 0);
        CHECK_INT(resolved.count, 1);
    }
    CHECK_INT(resolver.asked, 0);
}

TEST(a_name_is_known_to_be_one_without_a_question)
{
    struct net_resolved resolved;
    reset();
    CHECK(!resolve_now("redis.example", &resolved));
    CHECK_INT(resolver.asked, 0);
}

TEST(the_longest_path_fits_an_endpoint)
{
    struct net_address address = { .kind = NET_UNIX };
    struct net_resolved resolved;
    memset(address.path, 'p', NET_PATH_MAX);
    address.path[0] = '/';
    CHECK(net_resolve_now(&address, &resolved));
    CHECK_INT(resolved.endpoints[0].size,
              offsetof(struct sockaddr_un, sun_path) + NET_PATH_MAX + 1);
    CHECK(resolved.endpoints[0].size <= NET_ENDPOINT_SIZE);
}

/* Threads of this process, on Linux; 1 elsewhere. */
static unsigned count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;
    for (const struct dirent *task = tasks ? readdir(tasks) : NULL; task; task = readdir(tasks))
        count += task->d_name[0] != '.';
    if (tasks) closedir(tasks);
    return tasks ? count : 1;
}

/* An emulator has some of its own. */
static unsigned threads_at_first;

__attribute__((constructor)) static void count_threads_at_first(void)
{
    threads_at_first = count_threads();
}

/* ---- Names ---- */

TEST(a_name_is_looked_up_by_a_thread_that_takes_no_signals)
{
    struct net_resolved resolved;
    reset();
    resolved = look_up("redis.example:7000");
    CHECK_INT(resolved.code, 0);
    CHECK_INT(resolved.count, 1);
    CHECK_INT(ntohs(endpoint_of(&resolved, 0).sin_port), 7000);
    CHECK_INT(ntohl(endpoint_of(&resolved, 0).sin_addr.s_addr), INADDR_LOOPBACK);
    CHECK(resolver.is_other_thread);
    CHECK(resolver.has_no_signals);
    CHECK_INT(resolver.asked, 1);
    CHECK_INT(resolver.chains, 0);
}

TEST(of_a_name_with_many_addresses_the_first_four_are_taken)
{
    struct net_resolved resolved;
    reset();
    resolved = look_up("six.example");
    CHECK_INT(resolved.code, 0);
    CHECK_INT(resolved.count, NET_ENDPOINTS_MAX);
    for (unsigned i = 0; i < NET_ENDPOINTS_MAX; i++)
        CHECK_INT(ntohl(endpoint_of(&resolved, i).sin_addr.s_addr), INADDR_LOOPBACK + i);
}

TEST(who_began_a_look_up_goes_on_while_the_resolver_waits)
{
    struct net_resolved resolved;
    reset();
    let_resolver(true);
    const int fd = begin("redis.example", &resolved);
    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK(!net_resolve_end(fd, &resolved));
    await_inside(1);
    CHECK(!is_readable(fd, 1000));
    CHECK(!net_resolve_end(fd, &resolved));
    let_resolver(false);
    resolved = finish(fd);
    CHECK_INT(resolved.code, 0);
}

TEST(a_look_up_whose_asker_has_gone_harms_nobody)
{
    struct net_resolved resolved;
    reset();
    const unsigned before = open_descriptors();
    let_resolver(true);
    for (unsigned i = 0; i < 8; i++) net_close(begin("redis.example", &resolved));
    await_inside(8);
    CHECK_INT(open_descriptors(), before + 8);      /* The threads' ends. */
    let_resolver(false);
    await_inside(0);
    for (unsigned tries = 0; tries < 1000 && open_descriptors() > before; tries++)
        (void)usleep(10000);
    CHECK_INT(open_descriptors(), before);
}

TEST(what_the_resolver_says_comes_as_a_code_with_a_text)
{
    struct net_resolved resolved;
    reset();
    resolver.code = EAI_NONAME;
    resolved = look_up("redis.example");
    CHECK_INT(resolved.count, 0);
    CHECK_STR(net_resolve_text(resolved.code), "no such host");
    CHECK(net_resolve_denies(resolved.code));
    resolver.code = EAI_AGAIN;
    resolved = look_up("redis.example");
    CHECK_STR(net_resolve_text(resolved.code), "the name server does not answer now");
    CHECK(!net_resolve_denies(resolved.code));
    resolver.code = 0;
    resolved = look_up("other.example");
    CHECK_INT(resolved.count, 0);
    CHECK_STR(net_resolve_text(resolved.code), "the host has no IPv4 or IPv6 address");
    CHECK(net_resolve_denies(resolved.code));
}

TEST(every_code_has_a_text)
{
    for (int code = -300; code < 1200; code++) {
        CHECK(net_resolve_text(code)[0] != '\0');
        CHECK(strcmp(net_resolve_text(code), net_error_text(0)) != 0);
    }
    CHECK_STR(net_resolve_text(0), "resolved");
#if defined(EAI_NODATA) && EAI_NODATA != EAI_NONAME
    CHECK(net_resolve_denies(EAI_NODATA));
#endif
}

/* A host that does not exist is given up for good; a name that the name server may know later is
 * asked again. */
TEST(each_code_of_the_resolver_has_its_own_text_and_those_alone_deny_that_say_so)
{
    static const struct {
        int code;
        const char *text;
        bool denies;
    } codes[] = {
        { EAI_AGAIN, "the name server does not answer now", false },
        { EAI_NONAME, "no such host", true },
#if defined(EAI_NODATA) && EAI_NODATA != EAI_NONAME
        { EAI_NODATA, "the host has no address", true },
#endif
        { EAI_FAMILY, "the host has no IPv4 or IPv6 address", true },
        { EAI_FAIL, "the name server failed", false },
        { EAI_MEMORY, "out of memory in the resolver", false },
        { EAI_SYSTEM, "system error in the resolver", false },
        { EAI_SERVICE, "the host name cannot be resolved", false },
    };

    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct net_resolved resolved;
        reset();
        resolver.code = codes[i].code;
        resolved = look_up("redis.example");
        TAP_CONTEXT("%s", codes[i].text);
        CHECK_INT(resolved.count, 0);
        CHECK_STR(net_resolve_text(resolved.code), codes[i].text);
        CHECK_INT(net_resolve_denies(resolved.code), codes[i].denies);
    }
}

TEST(a_name_that_is_not_resolved_for_want_of_descriptors_is_not_called_unknown)
{
    reset();
    resolver.code = EAI_NONAME;
    resolver.error = EMFILE;
    CHECK_STR(net_resolve_text(look_up("redis.example").code), net_error_text(EMFILE));
    resolver.code = EAI_SYSTEM;
    resolver.error = ENFILE;
    CHECK_STR(net_resolve_text(look_up("redis.example").code), net_error_text(ENFILE));
    resolver.code = EAI_NONAME;
    resolver.error = ENOENT;    /* A resolver may lack the file that it looked for. */
    CHECK_STR(net_resolve_text(look_up("redis.example").code), "no such host");
}

/* ---- Where no look-up can be begun ---- */

TEST(without_descriptors_no_look_up_begins_and_the_code_says_why)
{
    struct net_resolved resolved;
    struct rlimit before, none;
    int ends[2] = { -1, -1 };
    reset();
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    /* Under valgrind the limit holds for open, and not for socketpair. */
    const bool is_forbidden = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0;
    const int fd = begin("redis.example", &resolved);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    net_close(ends[0]);
    net_close(ends[1]);
    if (!is_forbidden) net_close(fd);
    if (!is_forbidden) TAP_SKIP("socket pairs cannot be forbidden here");
    CHECK_INT(fd, -1);
    CHECK_STR(net_resolve_text(resolved.code), net_error_text(EMFILE));
    CHECK_INT(resolver.asked, 0);
}

static void *do_nothing(void *context)
{
    return context;
}

/* Runs in a child, since the limit is for all processes of a user, and another user has to be
 * taken. If qemu-user starts a thread all the same, it may stop dead in it, and its last words
 * would end the test. */
static int begin_without_threads(void)
{
    (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    const struct rlimit none = { .rlim_cur = 0, .rlim_max = 0 };
    struct net_resolved resolved;
    const unsigned before = open_descriptors();
    pthread_t id;
    if (setgid(65534) != 0 || setuid(65534) != 0 || setrlimit(RLIMIT_NPROC, &none) != 0) return 77;
    if (pthread_create(&id, NULL, do_nothing, NULL) == 0) return 77;
    if (begin("redis.example", &resolved) != -1) return 3;
    if (open_descriptors() != before) return 1;
    return strcmp(net_resolve_text(resolved.code),
                  "no thread can be started to look up its name") == 0
               ? 0
               : 2;
}

TEST(without_threads_no_look_up_begins_and_nothing_is_left_open)
{
    int status = 0;
    reset();
    (void)fflush(NULL);
    /* One child in ten ends with 127 by qemu-mips 7.2, and none by the code here. */
    for (unsigned tries = 0; tries == 0 || (WEXITSTATUS(status) == 127 && tries < 5); tries++) {
        const pid_t child = fork();
        if (child == 0) _exit(begin_without_threads());
        CHECK(waitpid(child, &status, 0) == child);
    }
    if (WEXITSTATUS(status) == 77) TAP_SKIP("threads cannot be forbidden here");
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
}

/* ---- Processes ---- */

TEST(a_child_of_a_fork_has_the_descriptors_and_no_thread)
{
    struct net_resolved resolved;
    int status = 0;
    reset();
    let_resolver(true);
    const int fd = begin("redis.example", &resolved);
    await_inside(1);
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const bool is_over = net_resolve_end(fd, &resolved);
        net_close(fd);
        _exit(is_over ? 1 : 0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    let_resolver(false);
    resolved = finish(fd);      /* The child's death has changed nothing. */
    CHECK_INT(resolved.code, 0);
}

/* Its thread cannot have died; but bytes that are no answer must not be taken for one. */
TEST(an_end_without_an_answer_is_a_failure)
{
    struct net_resolved resolved;
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    net_close(ends[1]);
    CHECK(net_resolve_end(ends[0], &resolved));
    CHECK(resolved.code != 0);
    CHECK_INT(resolved.count, 0);
    net_close(ends[0]);
}

/* This is the last test, since a program that ends while a thread does would seem to lose that
 * thread's memory. */
TEST(a_resolver_ends_when_it_has_told_its_answer)
{
    const struct timespec moment = { .tv_nsec = 1000000 };
    unsigned threads = 0;
    for (unsigned i = 0; i < 5000 && (threads = count_threads()) > threads_at_first; i++)
        nanosleep(&moment, NULL);
    CHECK_INT(threads, threads_at_first);
}

TAP_MAIN
