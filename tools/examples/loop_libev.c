/* Jobs of which three may run at once on all hosts together, in a loop of libev.
 *
 *     cc loop_libev.c -o loop_libev $(pkg-config --cflags --libs redlock) -lev -pthread
 *     ./loop_libev host1,host2,host3 5
 *
 * Takes permits for five jobs, of which there are three, so three run, and two wait until others
 * are done. Each job has a ticket, by which the store that it writes to can refuse it when it comes
 * too late.
 *
 * Shows: redlock_loop_libev.h beside a timer for each job; permits; locks that wait for no longer
 * than WAIT_MS; a release that wakes the next; and an end by itself, when nothing is left
 * to be done.
 *
 * To change: the name, PERMITS, and the job. */
#include <stdio.h>
#include <stdlib.h>

#include "redlock_loop_libev.h"

enum { JOBS_MAX = 20, PERMITS = 3, TTL_MS = 10000, WAIT_MS = 20000, JOB_MS = 100 };

struct job {
    struct redlock_lock lock;       /* It comes first, since a lock leads to its job. */
    ev_timer timer;
    unsigned number;
    bool is_over;
};

static struct redlock_client client;
static struct redlock_loop_libev adapter;
static struct job jobs[JOBS_MAX];
static unsigned left, running, failed;

/* The job is done. Its permit is given back; that it was is not waited for here, but at the end. */
static void finish(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct job *job = timer->data;

    (void)loop, (void)events;
    printf("job %u: %s\n", job->number,
           redlock_valid_ms(&job->lock) > 0 ? "done" : "done too late");
    job->is_over = true;
    running--;
    redlock_start_release(&client.engine, &job->lock, redlock_now_us());
    redlock_loop_wake(&adapter.loop);           /* This is not the hook. */
}

static void run(struct job *job)
{
    running++;
    printf("job %u: runs with permit %u, %u at once\n", job->number,
           redlock_view_lock(&job->lock).slot,
           running);
    ev_timer_init(&job->timer, finish, JOB_MS / 1000.0, 0.0);
    job->timer.data = job;
    ev_timer_start(adapter.ev, &job->timer);
}

/* Something was decided about the job's permit, which was acquired, or was not, or
 * was given back. */
static void note(struct job *job)
{
    enum redlock_status status = redlock_lock_status(&job->lock);

    if (status == REDLOCK_OK && !job->is_over) {
        run(job);
        return;
    }
    if (!job->is_over) {
        printf("job %u: %s\n", job->number, redlock_status_text(status));
        failed++;
    }
    /* Then nothing keeps the loop going. */
    if (--left == 0) redlock_loop_libev_detach(&adapter);
}

/* Runs after each step of the client. */
static void hook(void *context, enum redlock_status status)
{
    struct redlock_lock *lock;

    (void)context;
    if (status != REDLOCK_OK) fprintf(stderr, "loop_libev: %s\n", redlock_status_text(status));
    while ((lock = redlock_next_done(&client.engine)) != NULL) note((struct job *)lock);
}

static void begin(struct job *job, unsigned number)
{
    struct redlock_request request;
    enum redlock_status status;

    job->number = number;
    redlock_lock_init(&job->lock);
    redlock_request_init(&request);
    request.resource = "crane";
    request.resource_size = 5;
    request.kind = &redlock_permits;
    request.permits = PERMITS;
    request.ttl_ms = TTL_MS;
    request.wait_ms = WAIT_MS;
    request.ticket = true;
    status = redlock_begin_acquire(&client, &job->lock, &request);
    if (status == REDLOCK_OK) left++;
    else fprintf(stderr, "loop_libev: job %u: %s\n", number, redlock_status_text(status));
}

int main(int argc, char **argv)
{
    struct redlock_mistake mistake;
    unsigned count = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    enum redlock_status status;

    if (count == 0 || count > JOBS_MAX)
        return fprintf(stderr, "usage: loop_libev NODES JOBS (up to %d)\n", JOBS_MAX), 2;
    status = redlock_open(&client, argv[1], NULL, &mistake);
    if (status != REDLOCK_OK)
        return fprintf(stderr, "loop_libev: %s: %s\n", redlock_status_text(status),
                       mistake.text[0] ? mistake.text : "NODES is a list such as h1,h2:7000"),
               1;
    redlock_loop_libev_attach(&adapter, EV_DEFAULT, &client, hook, NULL);
    for (unsigned i = 0; i < count; i++) begin(&jobs[i], i + 1);
    redlock_loop_wake(&adapter.loop);           /* They were started outside of the hook. */
    if (left > 0) ev_run(EV_DEFAULT, 0);
    redlock_loop_libev_detach(&adapter);        /* Does nothing if the hook has done it. */
    redlock_close(&client, 1000);
    return failed == 0 && left == 0 ? 0 : 1;
}
