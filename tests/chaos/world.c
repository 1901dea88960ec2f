/* See world.h. */
#define _XOPEN_SOURCE 700

#include "world.h"

#include "moment.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

void world_note(struct world *w, const char *format, ...)
{
    va_list arguments;
    fprintf(w->events, "%" PRIu64 " ", moment_us());
    va_start(arguments, format);
    vfprintf(w->events, format, arguments);
    va_end(arguments);
    fputc('\n', w->events);
    fflush(w->events);
}

/* ---- Places ---- */

static void enter(const struct world *w, unsigned place)
{
    if (w->no_network == NULL) network_enter(&w->network, place);
}

static void leave(const struct world *w)
{
    if (w->no_network == NULL) network_leave(&w->network);
}

void link_set(struct world *w, unsigned k, unsigned house, struct weather there,
              struct weather back)
{
    if (w->no_network) return;
    network_set(&w->network, place_of_house(house), k, there);
    network_set(&w->network, k, place_of_house(house), back);
}

/* ---- Processes ---- */

/* Looks without taking the news away from process_wait(). */
static bool is_over(pid_t pid)
{
    siginfo_t info = { 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static bool is_over_by(pid_t pid, uint64_t until_ms)
{
    while (!is_over(pid) && clock_ms() < until_ms) nap_ms(1);
    return is_over(pid);
}

/* ---- Servers ---- */

static uint64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void address_of(const struct world *w, unsigned k, char text[NETWORK_ADDRESS_SIZE])
{
    if (w->no_network)
        snprintf(text, NETWORK_ADDRESS_SIZE, "127.0.0.1");
    else
        network_address(k, text);
}

/* An append-only file of another name is the quickest way to forget. */
void node_configure(struct world *w, unsigned k)
{
    struct node *n = &w->nodes[k];
    char address[NETWORK_ADDRESS_SIZE];
    address_of(w, k, address);
    snprintf(n->config, sizeof n->config,
             "bind %s\nprotected-mode no\nappendonly yes\nappendfsync "
             "everysec\nauto-aof-rewrite-percentage 0\n"
             "appenddirname life-%u\nrepl-diskless-sync-delay 0\n",
             address, n->life);
}

static unsigned fast_ppm_of(unsigned k)
{
    return FAST_PPM_MAX - k * FAST_PPM_STEP;
}

/* Processes that are started between these two run in the place of node k, by its clock. */
static void enter_node(const struct world *w, unsigned k)
{
    char setting[48];
    snprintf(setting, sizeof setting, "%" PRIu64 ":%u", w->clock_origin_us, fast_ppm_of(k));
    setenv("CHAOS_CLOCK", setting, 1);
    setenv("LD_PRELOAD", w->preload, 1);
    enter(w, k);
}

static void leave_node(const struct world *w)
{
    leave(w);
    unsetenv("LD_PRELOAD");
}

void clock_measure(struct world *w, unsigned k)
{
    const char *answer = ASK(&w->nodes[k].server, "TIME");
    double passed_us = (double)(wall_us() - w->clock_origin_us);
    char *end;
    double there_us = strtod(answer, &end) * 1e6;
    there_us += strtod(end, NULL) - (double)w->clock_origin_us;
    double fast_ppm = (there_us / passed_us - 1) * 1e6, meant = fast_ppm_of(k);
    world_note(w, "clocks: the clock of server %u runs %.0f ppm fast", k, fast_ppm);
    if (fast_ppm < meant / 2 || fast_ppm > FAST_PPM_MAX * 1.05)
        world_note(w, "failure: the clock of server %u should be %.0f ppm fast", k, meant);
}

void node_start(struct world *w, unsigned k)
{
    enter_node(w, k);
    servers_start(&w->nodes[k].server, 1, w->nodes[k].config);
    leave_node(w);
}

/* Writes down what the server executes (record), from its own
 * place, to DIRECTORY/server.NUMBER.log. */
static void watch_node(struct world *w, unsigned k)
{
    char address[NETWORK_ADDRESS_SIZE], port[8], path[256], head[48];
    address_of(w, k, address);
    snprintf(port, sizeof port, "%u", (unsigned)w->nodes[k].server.port);
    snprintf(path, sizeof path, "%s/server.%u.log", w->directory, k);
    snprintf(head, sizeof head, "%" PRIu64 " %u", w->clock_origin_us, fast_ppm_of(k));
    enter(w, k);
    w->nodes[k].recorder = process_fork();
    if (w->nodes[k].recorder == 0) {
        execl(w->recorder, "record", address, port, path, head, (char *)NULL);
        perror(w->recorder);
        _exit(127);
    }
    leave(w);
}

static void list_node(struct world *w, unsigned k)
{
    const struct node *n = &w->nodes[k];
    char address[NETWORK_ADDRESS_SIZE];
    address_of(w, k, address);
    size_t size = strlen(w->list);
    snprintf(w->list + size, sizeof w->list - size, "%s%s:%u", k > 0 ? "," : "", address,
             (unsigned)n->server.port);
}

/* It dies when it has told its recorder (death.c). */
void node_crash(struct world *w, unsigned k)
{
    struct server *s = &w->nodes[k].server;
    if (s->pid == 0) return;
    kill(s->pid, SIGPWR);
    if (!is_over_by(s->pid, clock_ms() + GOODBYE_MS))
        world_note(w, "failure: server %u did not die when it was told to", k);
    server_crash(s);
}

void node_restart(struct world *w, unsigned k, bool empty)
{
    struct node *n = &w->nodes[k];
    node_crash(w, k);
    if (empty) n->life++;
    node_configure(w, k);
    enter_node(w, k);
    server_restart(&n->server);
    leave_node(w);
}

void world_open_places(struct world *w)
{
    char path[256];
    snprintf(path, sizeof path, "%s/events.log", w->directory);
    w->events = fopen(path, "w");
    if (w->events == NULL) bail_out("%s: %s", path, strerror(errno));
    w->no_network = network_open(&w->network, NODES + HOUSES, dice_roll(&w->dice));
    w->clock_origin_us = wall_us();
}

void world_open(struct world *w)
{
    world_open_places(w);
    for (unsigned k = 0; k < NODES; k++) {
        node_configure(w, k);
        node_start(w, k);
        watch_node(w, k);
        list_node(w, k);
    }
}

/* ---- Clients ---- */

static void become_client(const struct world *w, uint64_t seed)
{
    char number[16], seed_text[24], guard[16], skew[16], behind[16];
    snprintf(number, sizeof number, "%u", w->client_count);
    snprintf(seed_text, sizeof seed_text, "%" PRIu64, seed);
    snprintf(guard, sizeof guard, "%" PRIu32, w->guard_ms);
    snprintf(skew, sizeof skew, "%d", (int)SKEW_MS);
    snprintf(behind, sizeof behind, "%u", (unsigned)(seed % (BEHIND_MS_MAX + 1)));
    execl(w->client, "chaos_client", w->list, w->directory, number, seed_text, guard, skew, behind,
          w->manner, (char *)NULL);
    perror(w->client);
    _exit(127);
}

void member_start(struct world *w, struct member *m)
{
    uint64_t seed = dice_roll(&w->dice);
    m->number = ++w->client_count;
    enter(w, place_of_house(m->house));
    m->pid = process_fork();
    if (m->pid == 0) become_client(w, seed);
    leave(w);
}

void member_kill(struct world *w, struct member *m)
{
    kill(m->pid, SIGKILL);
    int status = process_wait(m->pid);
    if (status != 128 + SIGKILL)
        world_note(w, "failure: a client had ended by itself with status %d", status);
    m->pid = 0;
}

bool member_has_ended(struct world *w, struct member *m)
{
    if (m->pid == 0 || !is_over(m->pid)) return false;
    world_note(w, "failure: a client ended by itself with status %d", process_wait(m->pid));
    m->pid = 0;
    return true;
}

static void await_end(struct world *w, struct member *m, uint64_t until_ms)
{
    if (!is_over_by(m->pid, until_ms)) {
        world_note(w, "failure: a client did not end when it was told to");
        kill(m->pid, SIGKILL);
    }
    int status = process_wait(m->pid);
    if (status != 0) world_note(w, "failure: a client ended with status %d", status);
}

void crew_end(struct world *w)
{
    uint64_t until_ms = clock_ms() + GOODBYE_MS;
    for (unsigned i = 0; i < CREW; i++)
        if (w->crew[i].pid != 0) kill(w->crew[i].pid, SIGTERM);
    for (unsigned i = 0; i < CREW; i++)
        if (w->crew[i].pid != 0) await_end(w, &w->crew[i], until_ms);
}

void recorders_end(struct world *w)
{
    for (unsigned k = 0; k < NODES; k++) {
        kill(w->nodes[k].recorder, SIGTERM);
        int status = process_wait(w->nodes[k].recorder);
        if (status != 0)
            world_note(w, "failure: the recorder of server %u ended with status %d", k, status);
    }
}
