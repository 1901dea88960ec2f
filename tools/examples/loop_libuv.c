/* A service of which one instance leads, in a loop of libuv.
 *
 *     cc loop_libuv.c -o loop_libuv $(pkg-config --cflags --libs redlock libuv) -pthread
 *     ./loop_libuv host1,host2,host3
 *
 * Start it on several hosts. One leads, and works; the others wait, without asking again and again.
 * When the leader ends, by SIGTERM say, the next one leads at once; when it dies, after
 * TTL_MS at most.
 * While an instance does not lead, it says every LOOK_MS which servers have no vote. These include
 * servers that started less than 30 seconds ago, since they may have forgotten who leads.
 *
 * Shows: redlock_loop_libuv.h beside timers and signals of the program's own; a lock that is kept,
 * and how to stop the work first after its loss, and then stand for election again; and an end in
 * the order that libuv demands.
 *
 * To change: the name of the lock, TTL_MS, and do_work(). */
#include <stdio.h>

#include "redlock_loop_libuv.h"

/* STOP_MS: the time that the work needs to stop, at most. */
enum { TTL_MS = 10000, WORK_MS = 100, STOP_MS = 200, LOOK_MS = 5000 };

struct service {
    struct redlock_client client;
    struct redlock_loop_libuv adapter;
    struct redlock_lock lock;
    uv_timer_t work, look;
    uv_signal_t end;
    unsigned done;
};

/* A piece of work, which only the leader may do. The clock decides, not the last call
 * of the hook. */
static void do_work(uv_timer_t *timer)
{
    struct service *s = timer->data;

    if (redlock_valid_ms(&s->lock) > STOP_MS) printf("work %u\n", ++s->done);
}

/* While we do not lead, is that for want of servers? */
static void look_at_nodes(uv_timer_t *timer)
{
    struct service *s = timer->data;
    struct redlock *r = &s->client.engine;
    uint64_t now_us = redlock_now_us();
    char words[80];

    for (unsigned k = 0; k < r->node_count; k++) {
        if (redlock_valid_ms(&s->lock) > 0 || redlock_node_votes(r, k, now_us)) continue;
        redlock_describe_node(r, k, now_us, words, sizeof words);
        fprintf(stderr, "loop_libuv: node %u, %s, has no vote: %s\n", k,
                redlock_node_address(&s->client, k), words);
    }
}

static void stand(struct service *s)
{
    struct redlock_request request;
    enum redlock_status status;

    redlock_request_init(&request);
    request.resource = "leader";
    request.resource_size = 6;
    request.ttl_ms = TTL_MS;
    request.wait_ms = REDLOCK_FOREVER;
    status = redlock_begin_acquire(&s->client, &s->lock, &request);
    if (status != REDLOCK_OK)
        fprintf(stderr, "loop_libuv: cannot stand: %s\n", redlock_status_text(status));
}

/* Something was decided about the lock. It was won, an extension failed (which is tried again), or
 * it was lost. */
static void note(struct service *s)
{
    enum redlock_status status = redlock_lock_status(&s->lock);

    if (redlock_valid_ms(&s->lock) == 0) {
        uv_timer_stop(&s->work);
        printf("follows: %s\n", redlock_status_text(status));
        redlock_part(&s->client, &s->lock);         /* The rest of it on the nodes is removed. */
        stand(s);
    } else if (!uv_is_active((uv_handle_t *)&s->work)) {
        printf("leads\n");
        (void)!redlock_keep(&s->client.engine, &s->lock, 0, redlock_now_us());
        uv_timer_start(&s->work, do_work, 0, WORK_MS);
    } else if (status != REDLOCK_OK) {
        printf("leads for another %u ms: %s\n", (unsigned)redlock_valid_ms(&s->lock),
               redlock_status_text(status));
    }
}

/* Runs after each step of the client. Operations that it starts go out at once. */
static void hook(void *context, enum redlock_status status)
{
    struct service *s = context;

    if (status != REDLOCK_OK) fprintf(stderr, "loop_libuv: %s\n", redlock_status_text(status));
    while (redlock_next_done(&s->client.engine)) note(s);
}

/* Detach, then release, since a blocking call is for the time in which the loop no longer knows the
 * client. uv_run returns when all is closed. */
static void end(uv_signal_t *handle, int number)
{
    struct service *s = handle->data;
    struct redlock_lock *lock = &s->lock;

    (void)number;
    uv_timer_stop(&s->work);
    redlock_loop_libuv_detach(&s->adapter, NULL, NULL);
    redlock_release_all(&s->client, &lock, 1, 1000);
    redlock_close(&s->client, 1000);
    uv_close((uv_handle_t *)&s->work, NULL);
    uv_close((uv_handle_t *)&s->look, NULL);
    uv_close((uv_handle_t *)&s->end, NULL);
}

int main(int argc, char **argv)
{
    static struct service s;        /* Large, and must stay where it is. */
    struct redlock_mistake mistake;
    uv_loop_t *loop = uv_default_loop();
    enum redlock_status status;

    if (argc != 2) return fprintf(stderr, "usage: loop_libuv NODES\n"), 2;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    status = redlock_open(&s.client, argv[1], NULL, &mistake);
    if (status != REDLOCK_OK)
        return fprintf(stderr, "loop_libuv: %s: %s\n", redlock_status_text(status),
                       mistake.text[0] ? mistake.text : "NODES is a list such as h1,h2:7000"),
               1;
    redlock_lock_init(&s.lock);
    uv_timer_init(loop, &s.work);
    uv_timer_init(loop, &s.look);
    uv_signal_init(loop, &s.end);
    s.work.data = s.look.data = s.end.data = &s;
    uv_signal_start(&s.end, end, SIGTERM);
    uv_timer_start(&s.look, look_at_nodes, LOOK_MS, LOOK_MS);
    redlock_loop_libuv_attach(&s.adapter, loop, &s.client, hook, &s);
    stand(&s);
    redlock_loop_wake(&s.adapter.loop);         /* It was started outside of the hook. */
    uv_run(loop, UV_RUN_DEFAULT);
    printf("%u pieces of work\n", s.done);
    return uv_loop_close(loop) == 0 ? 0 : 1;
}
