/* A worker that blocks. It does the jobs in a table, one worker at a time, on whichever
 * of several hosts.
 *
 *     cc worker.c -o worker $(pkg-config --cflags --libs redlock sqlite3) -pthread
 *     ./worker host1,host2,host3 jobs.db
 *
 * Shows: a thread that keeps the lock (redlock_keeper.h); the validity, asked before each piece of
 * work; and a ticket, with which the table itself refuses a worker that slept past the end of its
 * lock (redlock_fence.h). The table is in SQLite here, and may be in any database
 * that has transactions.
 *
 * To change: the name of the lock, TTL_MS (how long others wait for a worker that died), PIECE_MS
 * (how long a job takes at most), and do_job(). */
#include <sqlite3.h>
#include <stdio.h>

#include "redlock_fence.h"
#include "redlock_keeper.h"

enum {
    TTL_MS = 10000,     /* Not over the guard, 30 s. */
    WAIT_MS = 5000,     /* Waits for a worker that has the lock. */
    PIECE_MS = 1000     /* A job is begun only if the lock is valid for so long. */
};

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS job (id INTEGER PRIMARY KEY, input INTEGER, result INTEGER);"
    "CREATE TABLE IF NOT EXISTS fence (id INTEGER PRIMARY KEY CHECK (id = 1), largest INTEGER);"
    "INSERT OR IGNORE INTO fence VALUES (1, 0)";

/* Executes one statement with up to two numbers. *row (may be NULL) becomes the number
 * that it found;
 * else it is unchanged. */
static bool run(sqlite3 *db, const char *sql, sqlite3_int64 a, sqlite3_int64 b, sqlite3_int64 *row)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
        code = sqlite3_bind_int64(statement, 1, a);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 1)
        code = sqlite3_bind_int64(statement, 2, b);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    if (code == SQLITE_ROW && row) *row = sqlite3_column_int64(statement, 0);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        fprintf(stderr, "worker: %s: %s\n", sql, sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

/* The fence lies beside the data that it protects, and the caller is in the
 * transaction that writes. */
static bool is_admitted(sqlite3 *db, uint64_t ticket)
{
    struct redlock_fence fence = { 0, 0 };
    sqlite3_int64 largest = 0;

    if (!run(db, "SELECT largest FROM fence", 0, 0, &largest)) return false;
    fence.largest = (uint64_t)largest;
    if (redlock_fence_admit(&fence, ticket, false))
        return run(db, "UPDATE fence SET largest = ?1", (sqlite3_int64)ticket, 0, NULL);
    fprintf(stderr, "worker: refused: ticket %llu came after %llu\n", (unsigned long long)ticket,
            (unsigned long long)largest);
    return false;
}

/* The question and the write are one step. */
static bool write_result(sqlite3 *db, uint64_t ticket, sqlite3_int64 id, sqlite3_int64 result)
{
    bool good = run(db, "BEGIN IMMEDIATE", 0, 0, NULL);

    if (!good) return false;
    good = is_admitted(db, ticket) &&
           run(db, "UPDATE job SET result = ?2 WHERE id = ?1", id, result, NULL);
    return run(db, good ? "COMMIT" : "ROLLBACK", 0, 0, NULL) && good;
}

/* The work, which takes PIECE_MS at most. */
static sqlite3_int64 do_job(sqlite3_int64 input)
{
    return input * input;
}

/* Does the jobs, as long as the lock is held. Returns how many jobs were done. */
static unsigned work(struct redlock_keeper *keeper, struct redlock_kept *kept, sqlite3 *db)
{
    const uint64_t ticket = redlock_view_kept(keeper, kept).ticket;
    unsigned done = 0;

    for (;; done++) {
        sqlite3_int64 id = 0, input = 0;
        if (redlock_view_kept(keeper, kept).valid_ms < PIECE_MS) {
            fprintf(stderr, "worker: the lock is lost: %s\n",
                    redlock_status_text(redlock_view_kept(keeper, kept).status));
            return done;
        }
        if (!run(db, "SELECT id FROM job WHERE result IS NULL ORDER BY id LIMIT 1", 0, 0, &id) ||
            id == 0)
            return done;
        if (!run(db, "SELECT input FROM job WHERE id = ?1", id, 0, &input)) return done;
        if (!write_result(db, ticket, id, do_job(input))) return done;
    }
}

int main(int argc, char **argv)
{
    static struct redlock_keeper keeper;        /* Large, and must stay where it is. */
    static struct redlock_kept kept;
    struct redlock_request request;
    struct redlock_mistake mistake;
    enum redlock_status status;
    sqlite3 *db = NULL;

    if (argc != 3) return fprintf(stderr, "usage: worker NODES DATABASE\n"), 2;
    if (sqlite3_open(argv[2], &db) != SQLITE_OK || sqlite3_busy_timeout(db, 5000) != SQLITE_OK ||
        sqlite3_exec(db, tables, NULL, NULL, NULL) != SQLITE_OK)
        return fprintf(stderr, "worker: %s: %s\n", argv[2], sqlite3_errmsg(db)), 1;

    status = redlock_keeper_start(&keeper, argv[1], NULL, &mistake);
    if (status != REDLOCK_OK)
        return fprintf(stderr, "worker: %s: %s\n", redlock_status_text(status),
                       mistake.text[0] ? mistake.text : "NODES is a list such as h1,h2:7000"), 1;
    redlock_request_init(&request);
    request.resource = "jobs";
    request.resource_size = 4;
    request.ttl_ms = TTL_MS;
    request.wait_ms = WAIT_MS;
    request.ticket = true;
    redlock_kept_init(&kept);
    status = redlock_keeper_acquire(&keeper, &kept, &request, 0);
    if (status == REDLOCK_OK) {
        printf("%u jobs done\n", work(&keeper, &kept, db));
        status = redlock_keeper_release(&keeper, &kept, NULL);
    }
    if (status != REDLOCK_OK) fprintf(stderr, "worker: %s\n", redlock_status_text(status));
    redlock_keeper_stop(&keeper, true, 1000);       /* Slow nodes get the release, too. */
    sqlite3_close(db);
    return status == REDLOCK_OK ? 0 : 1;
}
