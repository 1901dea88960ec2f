/* An editor that lets one person at a time change a document, in a main loop of GLib, as programs
 * with GTK have it.
 *
 *     cc loop_glib.c -o loop_glib $(pkg-config --cflags --libs redlock glib-2.0) -pthread
 *     ./loop_glib host1,host2,host3
 *
 * A person says "edit NAME", "save" or "quit"; in a program with windows these are clicks. While
 * the document is open its lock is kept. When somebody else has it, the person is told at once, and
 * for how long that is at most, if the other one does nothing more.
 *
 * Shows: redlock_loop_glib.h; an attempt that does not wait; the time that another holder has left;
 * a lock that is kept for as long as a person thinks, and the document after its loss, which can be
 * read, and not saved; and SAVE_MS, the validity that must be left for a step that takes so long.
 *
 * To change: TTL_MS, SAVE_MS, and save_document(). */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "redlock_loop_glib.h"

enum { TTL_MS = 10000, SAVE_MS = 500 };

struct editor {
    struct redlock_client client;
    struct redlock_loop_glib adapter;
    struct redlock_lock lock;
    GMainLoop *loop;
    char *document;             /* The document that is open, or is being opened. NULL: none. */
    gboolean is_kept;           /* It may be saved, if the lock is valid. */
};

static void save_document(struct editor *e)
{
    printf("saved %s\n", e->document);
}

/* The lock may be in any state, since the client pays its debts. */
static void close_document(struct editor *e)
{
    if (!e->document) return;
    redlock_part(&e->client, &e->lock);
    redlock_loop_wake(&e->adapter.loop);
    g_free(e->document);        /* The client has its own copy of the name. */
    e->document = NULL;
    e->is_kept = FALSE;
}

static void open_document(struct editor *e, const char *name)
{
    struct redlock_request request;
    enum redlock_status status;

    close_document(e);
    e->document = g_strdup(name);
    redlock_request_init(&request);
    request.resource = e->document;
    request.resource_size = strlen(e->document);
    request.ttl_ms = TTL_MS;
    status = redlock_begin_acquire(&e->client, &e->lock, &request);
    redlock_loop_wake(&e->adapter.loop);
    if (status == REDLOCK_OK) return;
    printf("cannot open %s: %s\n", name, redlock_status_text(status));
    close_document(e);
}

/* A person may have been away for a day. The clock says whether the lock is held, and not the
 * earlier state. */
static void save(struct editor *e)
{
    if (e->is_kept && redlock_valid_ms(&e->lock) > SAVE_MS) save_document(e);
    else printf("cannot save: it is not open, or no longer ours\n");
    close_document(e);
}

/* Something was decided about the lock. */
static void note(struct editor *e)
{
    enum redlock_status status = redlock_lock_status(&e->lock);
    uint32_t free_in_ms = redlock_view_lock(&e->lock).free_in_ms;

    if (redlock_valid_ms(&e->lock) > 0) {
        if (!e->is_kept) printf("editing %s\n", e->document);
        if (!e->is_kept)
            e->is_kept = redlock_keep(&e->client.engine, &e->lock, 0, redlock_now_us()) ==
                         REDLOCK_OK;
        return;                 /* An extension that failed is tried again. */
    }
    printf("%s %s: %s", e->is_kept ? "lost" : "cannot edit", e->document,
           redlock_status_text(status));
    if (status == REDLOCK_TAKEN && free_in_ms < REDLOCK_UNTOLD)
        printf(", for %u s at most", (unsigned)(free_in_ms / 1000 + 1));
    printf("\n");
    close_document(e);
}

/* Runs after each step of the client. */
static void hook(void *context, enum redlock_status status)
{
    struct editor *e = context;

    if (status != REDLOCK_OK) fprintf(stderr, "loop_glib: %s\n", redlock_status_text(status));
    while (redlock_next_done(&e->client.engine))
        if (e->document) note(e);
}

static void obey(struct editor *e, const char *line)
{
    if (strncmp(line, "edit ", 5) == 0) open_document(e, line + 5);
    else if (strcmp(line, "save") == 0) save(e);
    else if (strcmp(line, "quit") == 0) g_main_loop_quit(e->loop);
    else printf("edit NAME, save, or quit\n");
}

/* Takes a person's words. The end of the input is like "quit". */
static gboolean listen_to_person(GIOChannel *in, GIOCondition condition, gpointer data)
{
    struct editor *e = data;
    char *line = NULL;
    gsize end;
    GIOStatus status;

    (void)condition;
    while ((status = g_io_channel_read_line(in, &line, NULL, &end, NULL)) == G_IO_STATUS_NORMAL) {
        line[end] = '\0';
        obey(e, line);
        g_free(line);
    }
    if (status != G_IO_STATUS_AGAIN) g_main_loop_quit(e->loop);
    return status == G_IO_STATUS_AGAIN ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
    static struct editor e;             /* Large, and must stay where it is. */
    struct redlock_mistake mistake;
    GIOChannel *in = g_io_channel_unix_new(0);
    enum redlock_status status;

    if (argc != 2) return fprintf(stderr, "usage: loop_glib NODES\n"), 2;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    status = redlock_open(&e.client, argv[1], NULL, &mistake);
    if (status != REDLOCK_OK)
        return fprintf(stderr, "loop_glib: %s: %s\n", redlock_status_text(status),
                       mistake.text[0] ? mistake.text : "NODES is a list such as h1,h2:7000"), 1;
    redlock_lock_init(&e.lock);
    e.loop = g_main_loop_new(NULL, FALSE);
    redlock_loop_glib_attach(&e.adapter, NULL, &e.client, hook, &e);
    g_io_channel_set_flags(in, G_IO_FLAG_NONBLOCK, NULL);
    g_io_add_watch(in, G_IO_IN | G_IO_HUP, listen_to_person, &e);
    g_main_loop_run(e.loop);
    close_document(&e);
    redlock_loop_glib_detach(&e.adapter);
    redlock_close(&e.client, 1000);     /* Sees to it that the nodes hear of the release. */
    g_main_loop_unref(e.loop);
    g_io_channel_unref(in);
    return 0;
}
