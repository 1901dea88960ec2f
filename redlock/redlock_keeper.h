/* redlock_keeper: locks that are kept while the program does something else, by one thread for any
 * number of them. It is for programs that block, since an event loop needs no thread to keep a lock
 * (redlock_keep). It is optional. A program that does not call it links no threads, and with
 * REDLOCK_NO_THREADS the library is built without it.
 *
 *     redlock_keeper_start(&keeper, nodes, NULL, NULL);
 *     redlock_keeper_acquire(&keeper, &kept, &request, 0);      in any thread, and so is the rest
 *     while (there is work and redlock_view_kept(&keeper, &kept).valid_ms > enough for a piece)
 *         do that piece;
 *     redlock_keeper_release(&keeper, &kept, NULL);
 *     redlock_keeper_stop(&keeper, true, 1000);
 *
 * A lock that is kept can still be lost, since nodes go away, the program is stopped, or the
 * machine sleeps. There are no callbacks. Ask for the validity before every step that two clients
 * must not take.
 *
 * Memory:  all of it is the caller's. A struct redlock_kept must stay from the acquire until it is
 *          released (or the acquire has failed), or the keeper is stopped. So must the names of its
 *          request, except a name of up to REDLOCK_NAME_COPY_MAX bytes, which is copied.
 * Threads: any may call at any time, also about the same lock. The keeper's own thread takes no
 *          signals. It has its own connections. No call but acquire, release and stop waits for
 *          the network.
 * Forks:   a child has no keeper's thread, and holds no lock of the parent's. Calls are refused
 *          with FORKED, or return 0. redlock_keeper_stop() there closes the child's copies of the
 *          descriptors. After it calls return NOT_OPEN. */
#ifndef REDLOCK_KEEPER_H
#define REDLOCK_KEEPER_H

#include "redlock_client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* See ABI in redlock.h. */
#define redlock_keeper_start REDLOCK_WITH_LAYOUT(redlock_keeper_start)
#define redlock_kept_init REDLOCK_WITH_LAYOUT(redlock_kept_init)

/* A lock and its place in the keeper's list. Fields are private, and no call of redlock.h or
 * redlock_client.h may touch it. */
struct redlock_kept {
    struct redlock_lock lock;
    struct redlock_kept *next, *previous;
    bool is_listed;
    bool is_acquiring, is_releasing;    /* Until its thread has learned how it ended. */
};

/* It is a little larger than a client. Must stay where it was started. Private. */
struct redlock_keeper {
    struct redlock_client client;
    struct redlock_kept *first;
    bool is_closing, is_stopping;
    unsigned caller_count;      /* Threads that wait for an operation to end. */
    uint64_t monitor[16];       /* struct net_monitor, which guards all of the above. */
    uint64_t thread[2];         /* struct net_thread */
};

/* Starts a keeper for a list of nodes, like redlock_open, with a thread. The keeper sets the
 * options interruptible and around_wait itself, and its thread calls trace. SYSTEM: no thread, or
 * no descriptors. ALREADY_OPEN: it runs. After any other error there is nothing to stop. keeper is
 * zeroed memory, or one that was stopped. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_keeper_start(struct redlock_keeper *keeper, const char *nodes,
                                         const struct redlock_options *options,
                                         struct redlock_mistake *mistake);

/* Makes a lock ready for its first use. */
void redlock_kept_init(struct redlock_kept *kept);

/* Acquires like redlock_acquire_request, and keeps like redlock_keep, for hold_ms at most (0: no
 * limit), and not beyond the limit of extensions of the request. OK: held and kept. Other statuses
 * are those of redlock_acquire_request. CANCELLED is also returned if the keeper is being stopped.
 * NO_ENTROPY ends this acquire, while the keeper goes on with held locks, and asks for
 * random bytes again. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_keeper_acquire(struct redlock_keeper *keeper, struct redlock_kept *kept,
                                           const struct redlock_request *request, uint32_t hold_ms);

/* Ends an acquire that another thread waits for, with CANCELLED. Without one it does nothing. */
void redlock_keeper_cancel(struct redlock_keeper *keeper, struct redlock_kept *kept);

/* A lock as it is now. */
struct redlock_kept_view {
    /* The state of keeping. OK: all is well. NO_QUORUM, TAKEN: the last extension failed, and the
     * next is tried within the validity left. EXTENSION_LIMIT: it is no longer kept, and held for
     * the validity left. LOST: it is not held. PENDING: an operation is under way. NOT_OPEN,
     * FORKED: the rest is 0. */
    enum redlock_status status;
    /* Validity left, in ms, rounded down. 0: not held, or for less than a millisecond. */
    uint32_t valid_ms;
    uint64_t ticket;            /* Like redlock_ticket. */
};

/* The calling thread reads the clock, so the answer is right even if the keeper's thread was
 * stopped or gets no processor (S10). */
struct redlock_kept_view redlock_view_kept(struct redlock_keeper *keeper,
                                           struct redlock_kept *kept);

/* Like redlock_release. Unless FORKED, or BAD_STATE (another thread acquires or releases it, and
 * has not learned yet how that ended), its memory is the caller's again. */
enum redlock_status redlock_keeper_release(struct redlock_keeper *keeper, struct redlock_kept *kept,
                                           unsigned *confirmed);

/* Ends the keeper. Acquires that other threads wait for are cancelled, releases are finished, and
 * the thread ends. The locks that it still has are released (is_releasing), or abandoned, out of
 * reach for everybody until their TTL ends, like by redlock_close. wait_ms is the longest wait for
 * nodes. No other call may follow it, or begin meanwhile. Returns OK, or the
 * status of redlock_release_all. */
enum redlock_status redlock_keeper_stop(struct redlock_keeper *keeper, bool is_releasing,
                                        uint32_t wait_ms);

#ifdef __cplusplus
}
#endif
#endif
