#include "stories.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MS = 1000,
    SECOND = 1000000,
    TTL_MS = 10000,
    SETTLE_US = 20 * MS,
    PATIENCE_US = 200 * SECOND
};

/* The event that a step waits for, and then reports. */
enum story_wait {
    WAIT_NONE,
    /* The client's operation has ended. Its votes, result and holding are told. */
    WAIT_DONE,
    /* Its lock could not be extended. The reason and the remaining holding are told. */
    WAIT_FAILURE,
    WAIT_END,           /* Its lock is lost. */
    WAIT_WINNER,        /* Anybody holds the lock. */
    TELL_HOLDS,         /* Nothing: tells whether the client holds it; */
    TELL_ATTEMPT,       /* how its last attempt ended; */
    TELL_TOKENS,        /* whose token each node has; */
    TELL_LATE,          /* how many releases and extensions have found no key of theirs; */
    TELL_BYTES,         /* from now on the bytes between the client and node 0; */
    TELL_HAND_OVER      /* how long it took from the release until now. */
};

/* First words are said, then an action is done, time passes, and something is waited for. */
struct story_step {
    const char *words;              /* NULL: none. */
    const char *action;             /* The syntax is a link's. NULL: none. */
    uint32_t pass_us;
    enum story_wait wait;
    unsigned client;                /* The client that is waited for. */
};

enum { A, B, C };

#define SAY(words)                 { words, NULL, 0, WAIT_NONE, 0 }
#define DO(words, action)          { words, action, 0, WAIT_NONE, 0 }
#define DO_FOR(words, action, us)  { words, action, us, WAIT_NONE, 0 }
#define PASS(us)                   { NULL, NULL, us, WAIT_NONE, 0 }
#define TELL(what, client)         { NULL, NULL, 0, what, client }
#define ASKS(name)                 name " asks all nodes for the lock, for 10000 ms"
#define A_ACQUIRES                 { ASKS("A"), "acquire.A", 0, WAIT_DONE, A }
#define B_ACQUIRES                 { ASKS("B"), "acquire.B", 0, WAIT_DONE, B }
#define A_IS_FAR_FROM_NODE_2 \
    DO_FOR("the link from A to node 2 is cut, so that A has nodes 0 and 1", "cut.A.2", SETTLE_US)

/* ---- What a lock is ---- */

static const struct story_step basics[] = {
    SAY("nodes 0 to 4 are Redis servers that know nothing of each other; a client has the lock if "
        "three of them have its key"),
    A_ACQUIRES,
    B_ACQUIRES,
    DO_FOR("A releases the lock: each node deletes the key, since it is A's", "release.A",
           SETTLE_US),
    B_ACQUIRES,
};

/* ---- The master that dies before it replicates ---- */

static const struct story_step master_hidden[] = {
    A_IS_FAR_FROM_NODE_2,
    DO("node 1 replicates for the last time: the lock is not there yet", "replicate.1"),
    A_ACQUIRES,
    DO("node 1 dies; its replica takes over behind the same connections, and a proxy hides that",
       "proxy.1"),
    B_ACQUIRES,
};

static const struct story_step master_seen[] = {
    A_IS_FAR_FROM_NODE_2,
    DO("node 1 replicates for the last time: the lock is not there yet", "replicate.1"),
    A_ACQUIRES,
    DO_FOR("node 1 dies; connections break, and its replica answers with another run_id",
           "failover.1", 500 * MS),
    SAY("a server with a new run_id has no vote for the guard, since it may have forgotten a lock"),
    B_ACQUIRES,
};

/* The accident that every text on the subject begins with, for a client that cannot know that it
 * was another server. */
static const struct story_step master_unseen[] = {
    A_IS_FAR_FROM_NODE_2,
    DO("B is not there yet", "crash.B"),
    DO("node 1 replicates for the last time: the lock is not there yet", "replicate.1"),
    A_ACQUIRES,
    DO("node 1 dies; its replica, which has been up for a day, answers under the same address",
       "failover.1"),
    DO_FOR("B begins, and knows no run_id of any node", "return.B", 500 * MS),
    SAY("a server that has taken over another's history has no vote for the guard, however long it "
        "has been up"),
    B_ACQUIRES,
};

/* ---- The node that restarts empty ---- */

static const struct story_step restart_unguarded[] = {
    A_IS_FAR_FROM_NODE_2,
    A_ACQUIRES,
    DO_FOR("node 1 crashes and restarts with an empty memory", "empty.1", 500 * MS),
    B_ACQUIRES,
};

static const struct story_step restart_guarded[] = {
    A_IS_FAR_FROM_NODE_2,
    A_ACQUIRES,
    DO_FOR("node 1 crashes and restarts with an empty memory: it has no vote for the guard, 30 s",
           "empty.1", 500 * MS),
    B_ACQUIRES,
    { "B goes on trying. When A's key on node 0 has run out, nodes 0 and 2 are a quorum: node 1 is "
      "not needed",
      "acquire.B.60000", 0, WAIT_DONE, B },
};

/* ---- The clock that jumps ---- */

static const struct story_step clock_forward[] = {
    A_IS_FAR_FROM_NODE_2,
    A_ACQUIRES,
    DO("the wall clock of node 1 is stepped forward by 11000 ms: A's key there has run out",
       "step.1.11000"),
    B_ACQUIRES,
};

static const struct story_step clock_back[] = {
    A_IS_FAR_FROM_NODE_2,
    A_ACQUIRES,
    DO("the wall clock of node 1 is stepped back by 10000 ms: A's key there stays for longer",
       "step.1.-10000"),
    B_ACQUIRES,
};

/* ---- The long pause ---- */

#define A_IS_STOPPED \
    DO_FOR("A is stopped, by a garbage collector or SIGSTOP, for longer than its lock", \
           "freeze.A", 11 * SECOND)
#define A_GOES_ON    DO("A goes on, and knows nothing of the pause", "wake.A")

static const struct story_step pause_blind[] = {
    A_ACQUIRES,
    A_IS_STOPPED,
    B_ACQUIRES,
    A_GOES_ON,
    DO("A writes as the holder that it was; only a ticket that the resource checks can stop it",
       "blind.A"),
};

static const struct story_step pause_asks[] = {
    A_ACQUIRES, A_IS_STOPPED, B_ACQUIRES, A_GOES_ON,
    DO("before it writes, A asks whether it still holds the lock", "write.A"),
    TELL(TELL_HOLDS, A),
    SAY("so A does not write"),
};

static const struct story_step pause_fence[] = {
    A_ACQUIRES,
    DO(NULL, "write.A"),
    A_IS_STOPPED, B_ACQUIRES,
    DO(NULL, "write.B"),
    A_GOES_ON,
    DO("A writes as the holder that it was", "blind.A"),
};

static const struct story_step pause_answers[] = {
    DO_FOR(ASKS("A"), "acquire.A", 50),
    DO_FOR("A is stopped while its commands are on their way", "freeze.A", 11 * SECOND),
    SAY("all nodes have granted, and their answers wait in A's kernel; A's keys have run out "
        "since"),
    B_ACQUIRES,
    { "A goes on. The clock is read after an answer: at the first one the TTL is over, so the "
      "other four change nothing",
      "wake.A", 0, WAIT_DONE, A },
};

/* ---- The suspended client ---- */

static const struct story_step suspended_still[] = {
    A_ACQUIRES,
    DO_FOR("A's machine is suspended, and its clock stands still meanwhile", "suspend.A.0",
           11 * SECOND),
    B_ACQUIRES,
    DO("A's machine resumes", "wake.A"),
    TELL(TELL_HOLDS, A),
};

static const struct story_step suspended_counted[] = {
    A_ACQUIRES,
    DO_FOR("A's machine is suspended, and its clock goes on", "suspend.A.1", 11 * SECOND),
    B_ACQUIRES,
    DO("A's machine resumes", "wake.A"),
    TELL(TELL_HOLDS, A),
};

/* ---- The split vote ---- */

#define FAR(action) DO(NULL, action ".5000")

static const struct story_step split_vote[] = {
    SAY("each client is next to one node and far from the other two"),
    FAR("far.A.1"), FAR("far.A.2"), FAR("far.B.0"), FAR("far.B.2"), FAR("far.C.0"), FAR("far.C.1"),
    DO(ASKS("A"), "acquire.A.5000"),
    DO(ASKS("B"), "acquire.B.5000"),
    DO_FOR(ASKS("C"), "acquire.C.5000", 2 * MS),
    TELL(TELL_TOKENS, A),
    PASS(25 * MS),
    TELL(TELL_ATTEMPT, A), TELL(TELL_ATTEMPT, B), TELL(TELL_ATTEMPT, C),
    TELL(WAIT_WINNER, A),
    PASS(5 * SECOND),
    TELL(TELL_HOLDS, A), TELL(TELL_HOLDS, B), TELL(TELL_HOLDS, C),
};

/* ---- The keeper, and the hand-over ---- */

static const struct story_step keeper[] = {
    A_ACQUIRES,
    DO_FOR("A keeps it: the lock is extended whenever a third of its TTL has passed", "keep.A",
           20 * SECOND),
    TELL(TELL_HOLDS, A),
    DO_FOR("the link from A to node 0 is cut", "cut.A.0", SETTLE_US),
    DO_FOR("the link from A to node 1 is cut", "cut.A.1", SETTLE_US),
    DO_FOR("the link from A to node 2 is cut", "cut.A.2", SETTLE_US),
    TELL(WAIT_FAILURE, A),
    TELL(WAIT_END, A),
    { ASKS("B") ", and waits for that long", "acquire.B.10000", 0, WAIT_DONE, B },
};

static const struct story_step hand_over[] = {
    A_ACQUIRES,
    DO_FOR(ASKS("B") ", and waits", "acquire.B.10000", SETTLE_US),
    TELL(TELL_ATTEMPT, B),
    SAY("B has taken an entry among the waiters of each node, and listens"),
    { "A releases the lock: each node tells the first client in its queue", "release.A", 0,
      WAIT_DONE, B },
    TELL(TELL_HAND_OVER, B),
};

/* ---- Why it is as it is: each rule, and what happens where it is broken ---- */

#define A_AND_B_SHARE_NODE_2 \
    SAY("A cannot reach nodes 3 and 4, nor B nodes 0 and 1: each has a majority, and any two " \
        "majorities have a node in common"), \
        DO(NULL, "cut.A.3"), DO(NULL, "cut.A.4"), DO(NULL, "cut.B.0"), \
        DO_FOR(NULL, "cut.B.1", SETTLE_US)

static const struct story_step majorities[] = {
    A_AND_B_SHARE_NODE_2,
    A_ACQUIRES, B_ACQUIRES,
};

static const struct story_step majorities_broken[] = {
    A_AND_B_SHARE_NODE_2,
    A_ACQUIRES,
    DO("node 2 evicts the key: the one node that both majorities have no longer knows of A",
       "evict.2"),
    B_ACQUIRES,
};

#define FROM_A(verb, value) \
    DO(NULL, verb ".A.0" value), DO(NULL, verb ".A.1" value), DO(NULL, verb ".A.2" value)

static const struct story_step late_release[] = {
    A_ACQUIRES,
    SAY("the network holds up for 11 s what A sends from now on"),
    FROM_A("delayto", ".11000000"),
    DO_FOR("A releases the lock", "release.A", 2 * SECOND),
    SAY("the network is fast again: A connects anew, and sends the release once more"),
    FROM_A("heal", ""),
    PASS(3 * SECOND),
    A_ACQUIRES,
    PASS(7 * SECOND),
    SAY("now the first release arrives. It names the token of the first attempt, and each attempt "
        "has a fresh one"),
    TELL(TELL_LATE, A),
    TELL(TELL_HOLDS, A),
    B_ACQUIRES,
};

static const struct story_step late_release_broken[] = {
    A_ACQUIRES,
    SAY("the late release of an earlier holder arrives, and it has no fresh token for each "
        "attempt: it is a DEL"),
    DO(NULL, "del.0"),
    DO(NULL, "del.1"),
    SAY("nodes 0 and 1 have deleted A's key"),
    B_ACQUIRES,
};

static const struct story_step late_extension[] = {
    A_ACQUIRES,
    DO_FOR("2 s later the network holds up for 9 s what A sends", NULL, 2 * SECOND),
    FROM_A("delayto", ".9000000"),
    DO_FOR("A extends the lock", "extend.A", 8100 * MS),
    SAY("A's keys have run out"),
    TELL(TELL_HOLDS, A),
    B_ACQUIRES,
    PASS(2 * SECOND),
    SAY("now the extension arrives. It names A's token, and the keys have B's"),
    TELL(TELL_LATE, A),
    TELL(TELL_HOLDS, A), TELL(TELL_HOLDS, B),
};

static const struct story_step late_extension_broken[] = {
    A_ACQUIRES,
    SAY("an earlier holder extends what it had by a bare PEXPIRE of 1000 ms, which compares no "
        "token"),
    DO(NULL, "pexpire.0.1000"),
    DO_FOR(NULL, "pexpire.1.1000", 1100 * MS),
    SAY("nodes 0 and 1 have confirmed it: the earlier holder believes that it has the lock. It was "
        "A's key, and has run out"),
    TELL(TELL_HOLDS, A),
    B_ACQUIRES,
};

#define NODE_1_IS_SHARED \
    SAY("A cannot reach node 2, nor B node 0: the two quorums have node 1 in common"), \
        DO(NULL, "cut.A.2"), DO_FOR(NULL, "cut.B.0", SETTLE_US), \
        DO("B's clock falls behind by 45 s", "pace.B.-900000"), PASS(50 * SECOND), \
        DO(NULL, "pace.B.0")

static const struct story_step last_ticket[] = {
    NODE_1_IS_SHARED,
    A_ACQUIRES,
    DO(NULL, "write.A"),
    A_IS_STOPPED,
    { "B proposes the time of its clock. Node 1 refuses that and says which ticket it granted "
      "last; B proposes one more",
      "acquire.B.5000", 0, WAIT_DONE, B },
    DO(NULL, "write.B"),
    A_GOES_ON,
    DO("A writes as the holder that it was", "blind.A"),
};

static const struct story_step last_ticket_broken[] = {
    NODE_1_IS_SHARED,
    A_ACQUIRES,
    DO(NULL, "write.A"),
    A_IS_STOPPED,
    DO("FLUSHALL on node 1: the one node that both quorums have no longer knows the last ticket",
       "flush.1"),
    { "B proposes the time of its clock, and nobody knows better", "acquire.B.5000", 0, WAIT_DONE,
      B },
    DO(NULL, "write.B"),
    A_GOES_ON,
    DO("A writes as the holder that it was", "blind.A"),
};

static const struct story_step bytes[] = {
    TELL(TELL_BYTES, A),
    A_ACQUIRES,
    TELL(TELL_BYTES, B),
    B_ACQUIRES,
    TELL(TELL_BYTES, A),
    DO_FOR("A releases the lock, by a script that compares the token, and is named by its SHA-1",
           "release.A", SETTLE_US),
    TELL(TELL_BYTES, B),
    SAY("from now on no answer comes back to B"),
    DO(NULL, "cutfrom.B.0"),
    DO(NULL, "cutfrom.B.1"),
    DO(NULL, "cutfrom.B.2"),
    B_ACQUIRES,
};

static const struct story_step drift[] = {
    A_IS_FAR_FROM_NODE_2,
    DO("the clock of node 1 runs 1 % fast, which is what the drift allows", "rate.1.10000"),
    A_ACQUIRES,
    DO_FOR("those 102 ms are the drift: 1 % of the TTL, and 2 ms since clocks count whole ms", NULL,
           9897 * MS),
    TELL(TELL_HOLDS, A),
    { "B asks all nodes for the lock, and goes on trying", "acquire.B.5000", 0, WAIT_DONE, B },
    TELL(TELL_HOLDS, A),
};

static const struct story_step drift_broken[] = {
    A_IS_FAR_FROM_NODE_2,
    DO("the clock of node 1 runs 2 % fast, and the drift allows 1 %", "rate.1.20000"),
    A_ACQUIRES,
    DO_FOR("for node 1 the 10000 ms are over after 9804 ms", NULL, 9850 * MS),
    TELL(TELL_HOLDS, A),
    B_ACQUIRES,
};

/* ---- All of them ---- */

#define STEPS(steps) steps, sizeof steps / sizeof *steps

const struct story stories[] = {
    { "basics", "A gets the lock, B is refused, A releases it, and B gets it", "n=5&c=2&seed=1",
      STEPS(basics), true, NULL,
      "One client at a time held the lock: B had it only when A had released it." },
    { "replica-hidden", "The master that dies before it replicates, behind a proxy that hides it",
      "n=3&c=2&seed=1", STEPS(master_hidden), false, NULL,
      "A replica that is behind is a node that forgets. No lock is safe if a proxy hides that "
      "another server answers." },
    { "replica", "The master that dies before it replicates, and everybody sees it",
      "n=3&c=2&seed=1", STEPS(master_seen), true, NULL,
      "The node that may have forgotten the lock had no vote, so A alone held it." },
    { "replica-new-client",
      "The master that dies before it replicates, and a client that begins then", "n=3&c=2&seed=1",
      STEPS(master_unseen), true, NULL,
      "The replica said that its history was another server's, so its uptime vouched for nothing, "
      "and A alone held the lock." },
    { "restart-unguarded", "The node that restarts empty, without the guard",
      "n=3&c=2&seed=1&guard=0", STEPS(restart_unguarded), false, NULL,
      "Without the guard, a node that has forgotten a lock makes a second quorum possible." },
    { "restart", "The node that restarts empty, with the guard", "n=3&c=2&seed=1",
      STEPS(restart_guarded), true, NULL,
      "The node that had forgotten the lock had no vote, and B got it only when A's had ended." },
    { "clock-forward", "The clock that jumps forward", "n=3&c=2&seed=1", STEPS(clock_forward),
      false, NULL,
      "The clock of a node must not be stepped: for node 1 the TTL was over, and for A it was "
      "not." },
    { "clock-back", "The clock that jumps back", "n=3&c=2&seed=1", STEPS(clock_back), true, NULL,
      "A clock that is stepped back makes a key live too long: that costs time, and does not give "
      "the lock to two." },
    { "pause", "The long pause, and the holder acts without asking", "n=5&c=2&seed=1",
      STEPS(pause_blind), false, NULL,
      "The lock alone does not keep a late write out: A must ask before it writes, or the resource "
      "must check tickets." },
    { "pause-asks", "The long pause, and the holder asks before it acts", "n=5&c=2&seed=1",
      STEPS(pause_asks), true, NULL,
      "A's clock went on while A was stopped, so A could tell by itself that its lock had ended." },
    { "pause-fence",
      "The long pause, and the holder acts without asking, on a resource that checks tickets",
      "n=5&c=2&seed=1&tickets=1", STEPS(pause_fence), true, "the late write is kept out",
      "The ticket kept the late write out, though A did not know that its lock had ended." },
    { "pause-answers", "The long pause, while the answers wait in the kernel", "n=5&c=2&seed=1",
      STEPS(pause_answers), true, NULL,
      "The TTL counts from before the first command is sent, so the pause used it up: A has no "
      "lock beside B's." },
    { "suspended", "The lid is closed, and the clock stands still (CLOCK_MONOTONIC)",
      "n=5&c=2&seed=1", STEPS(suspended_still), false, NULL,
      "A's clock did not count the suspension, so A and B held the lock at once: a machine that "
      "sleeps needs CLOCK_BOOTTIME." },
    { "suspended-boottime", "The lid is closed, and the clock goes on (CLOCK_BOOTTIME)",
      "n=5&c=2&seed=1", STEPS(suspended_counted), true, NULL,
      "A's clock counted the suspension, so A knew at once that its lock had ended, and B alone "
      "held it." },
    { "split-vote", "The split vote", "n=3&c=3&seed=1", STEPS(split_vote), true, NULL,
      "With one grant each nobody had the lock. All gave their keys back, and after pauses of "
      "random length one of them won." },
    { "keeper", "The keeper that loses its quorum, and says so before the end", "n=5&c=2&seed=1",
      STEPS(keeper), true, "A had time to stop its work before B began",
      "A was told that it could not extend while part of its validity was left: it had time to "
      "stop before B began." },
    { "hand-over", "The hand-over: a release wakes a waiting client", "n=5&c=2&seed=1&wakeups=1",
      STEPS(hand_over), true, "handed over within three round trips",
      "The nodes told B of the release, so B did not have to ask again and again." },
    { "majorities", "Two majorities, and the node that both have", "n=5&c=2&seed=1",
      STEPS(majorities), true, NULL,
      "Node 2 is in both majorities. It has a key, and sets none beside it (NX): so A and B cannot "
      "both have three of five." },
    { "majorities-broken", "Two majorities, and the node that both have forgets", "n=5&c=2&seed=1",
      STEPS(majorities_broken), false, NULL,
      "That two majorities share a node helps only if this node remembers: a server of locks must "
      "not evict keys." },
    { "late-release", "The release that comes late, and a fresh token for each attempt",
      "n=3&c=2&seed=1", STEPS(late_release), true, NULL,
      "The late release deleted nothing, since no key had its token any more: A kept its lock." },
    { "late-release-broken", "The release that comes late, of a client without fresh tokens",
      "n=3&c=2&seed=1", STEPS(late_release_broken), false, NULL,
      "A release that compares no token deletes the key of whoever has the lock then: here A's." },
    { "late-extension", "The extension that comes late, and compares the token", "n=3&c=2&seed=1",
      STEPS(late_extension), true, NULL,
      "The late extension changed nothing, since the keys had B's token; and A knew that its lock "
      "had ended." },
    { "late-extension-broken", "The extension that comes late, as a bare PEXPIRE", "n=3&c=2&seed=1",
      STEPS(late_extension_broken), false, NULL,
      "A PEXPIRE that compares no token changes the key of whoever has the lock then: here A's, "
      "which ended too early." },
    { "last-ticket", "The last ticket, and the node that knows it", "n=3&c=2&seed=1&tickets=1",
      STEPS(last_ticket), true, "the late write is kept out",
      "Node 1 is in both quorums, and knew the last ticket: so B's was larger than A's, though B's "
      "clock was behind." },
    { "last-ticket-broken", "The last ticket, and the node that knows it forgets",
      "n=3&c=2&seed=1&tickets=1", STEPS(last_ticket_broken), false, NULL,
      "Node 1 had forgotten the last ticket, so B's was smaller than A's, and the resource could "
      "not tell that A was late." },
    { "bytes", "The exact bytes, and answers that do not come", "n=3&c=2&seed=1", STEPS(bytes),
      true, NULL,
      "Node 0 has granted the key, and B cannot know that: where no answer comes the vote is "
      "unknown, and counts as no grant." },
    { "drift", "The clock that runs fast, within the drift", "n=3&c=2&seed=1", STEPS(drift), true,
      NULL,
      "A subtracted more than node 1's clock was fast by, so A's validity ended before its key "
      "did." },
    { "drift-broken", "The clock that runs fast, beyond the drift", "n=3&c=2&seed=1",
      STEPS(drift_broken), false, NULL,
      "Node 1's clock was fast by more than A subtracted, so A's key ended first: the drift must "
      "be set to what clocks do." },
};
const size_t story_count = sizeof stories / sizeof *stories;

const struct story *story_named(const char *name, size_t size)
{
    for (size_t i = 0; i < story_count; i++)
        if (strlen(stories[i].name) == size && memcmp(stories[i].name, name, size) == 0)
            return &stories[i];
    return NULL;
}

/* ---- Telling ---- */

struct telling {
    const struct story_listener *listener;
    struct stage *stage;
    size_t announced;               /* Actions that the words say, and that are not done yet. */
    uint64_t left_us;               /* The time left when the keeper reported a failure. */
    uint64_t released_us, handed_us;
    bool was_refused;               /* The last write. */
    /* Releases and extensions that a node did not heed, as the key had another token. */
    unsigned late;
    int seen;                       /* The client whose bytes are shown; -1: none. */
    bool has_accident;              /* An accident that is not told yet. */
};

__attribute__((format(printf, 2, 3)))
static void say(const struct telling *telling, const char *format, ...)
{
    char line[STORY_LINE + STAGE_WORDS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    telling->listener->heard(
        telling->listener->context,
        &(struct story_line){ stage_now_us(telling->stage), stage_moves(telling->stage),
                              telling->stage->action_count + telling->announced, line });
}

static struct redlock_lock *lock_of(const struct telling *telling, unsigned client)
{
    return cluster_lock(telling->stage->cluster, client, 0);
}

static void say_holds(const struct telling *telling, unsigned client)
{
    const uint64_t tenths = cluster_valid_us(telling->stage->cluster, client, 0) / 100;
    if (stage_holds(telling->stage, client))
        say(telling, "%c holds the lock, for another %llu.%llu ms", stage_client_name(client),
            (unsigned long long)tenths / 10, (unsigned long long)tenths % 10);
    else
        say(telling, "%c does not hold the lock", stage_client_name(client));
}

static void say_votes(const struct telling *telling, unsigned client)
{
    for (unsigned k = 0; k < telling->stage->settings.nodes; k++)
        say(telling, "    node %u: %s", k,
            redlock_vote_text(redlock_vote_of(lock_of(telling, client), k)));
}

static void say_verdict(const struct telling *telling, unsigned client)
{
    const enum redlock_status status = redlock_lock_status(lock_of(telling, client));
    char arithmetic[120];
    say_votes(telling, client);
    if (status == REDLOCK_OK) {
        stage_arithmetic(telling->stage, &telling->stage->verdict[client], arithmetic,
                         sizeof arithmetic);
        say(telling, "%c has the lock: %s", stage_client_name(client), arithmetic);
    } else {
        say(telling, "%c has not got it: %s", stage_client_name(client),
            redlock_status_text(status));
    }
}

static void say_attempt(const struct telling *telling, unsigned client)
{
    say(telling, "%c: %s; releases what it has, and waits", stage_client_name(client),
        redlock_status_text(redlock_attempt_status(lock_of(telling, client))));
}

static void say_tokens(const struct telling *telling)
{
    for (unsigned k = 0; k < telling->stage->settings.nodes; k++) {
        const char *token = cluster_key(telling->stage->cluster, k, STAGE_RESOURCE);
        const int owner = token ? stage_owner_of(telling->stage, token, strlen(token)) : -1;
        say(telling, owner >= 0 ? "node %u has granted the key to %c" : "node %u has no key", k,
            stage_client_name((unsigned)owner));
    }
}

static void say_hand_over(const struct telling *telling)
{
    const uint64_t tenths = (telling->handed_us - telling->released_us) / 100;
    say(telling, "that took %llu.%llu ms, and a round trip takes 0.2 ms",
        (unsigned long long)tenths / 10, (unsigned long long)tenths % 10);
}

static void say_write(void *context, const struct stage_write *write)
{
    struct telling *telling = context;
    const char who = stage_client_name(write->client);
    telling->was_refused = !write->admitted;
    if (write->ticket == 0)
        say(telling, "%c writes, and the resource admits it", who);
    else
        say(telling, "%c writes with the ticket %llu: %s", who, (unsigned long long)write->ticket,
            write->admitted ? "the resource admits it"
                            : "the resource refuses it, for it has seen a larger one");
}

static void note_late(void *context, const struct cluster_connection *connection,
                      const struct model_call *call)
{
    struct telling *telling = context;
    const bool compares = strcmp(call->name, "RELEASE") == 0 || strcmp(call->name, "EXTEND") == 0;
    if (compares && !call->did &&
        cluster_key(telling->stage->cluster, connection->node, STAGE_RESOURCE))
        telling->late++;
}

static void say_late(const struct telling *telling)
{
    say(telling, "%u nodes have compared it, and left the key alone", telling->late);
}

/* Writes them like a C string. */
static void say_bytes(void *context, const struct cluster_connection *connection,
                      const struct cluster_message *message)
{
    const struct telling *telling = context;
    char text[STORY_LINE] = "";
    size_t used = 0;
    if (telling->seen != (int)connection->client || connection->line != 0) return;
    for (size_t i = 0; i < message->size && used + 4 < sizeof text; i++) {
        const char byte = (char)message->data[i];
        const char *shown = byte == '\r'   ? "\\r"
                            : byte == '\n' ? "\\n"
                            : byte == '"'  ? "\\\""
                                           : (char[2]){ byte, '\0' };
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", shown);
    }
    say(telling, "    %s node 0: \"%s\"", message->to_node ? "to" : "from", text);
}

static void saw_accident(void *context)
{
    struct telling *telling = context;
    telling->has_accident = true;
}

static void say_accident(struct telling *telling)
{
    const struct stage_accident *accident = &telling->stage->accident;
    if (!telling->has_accident) return;
    telling->has_accident = false;
    if (!accident->is_late_write)
        say(telling, "%c and %c both hold the lock", stage_client_name(accident->first),
            stage_client_name(accident->second));
    say(telling, "%s", accident->words);
}

/* ---- Waiting ---- */

/* False: the awaited event does not come. */
static bool step_on(const struct telling *telling)
{
    (void)stage_step(telling->stage, stage_now_us(telling->stage) + SECOND);
    return stage_now_us(telling->stage) < PATIENCE_US &&
           !cluster_is_broken(telling->stage->cluster);
}

static void settle(const struct telling *telling)
{
    stage_run_until(telling->stage, stage_now_us(telling->stage));
}

static void wait_for_failure(struct telling *telling, unsigned client)
{
    while (redlock_lock_status(lock_of(telling, client)) == REDLOCK_OK && step_on(telling)) { }
    settle(telling);
    say(telling, "%c is told: %s", stage_client_name(client),
        redlock_status_text(redlock_lock_status(lock_of(telling, client))));
    telling->left_us = cluster_valid_us(telling->stage->cluster, client, 0);
    say_holds(telling, client);
}

static void wait_for_end(const struct telling *telling, unsigned client)
{
    while (redlock_lock_status(lock_of(telling, client)) != REDLOCK_LOST && step_on(telling)) { }
    settle(telling);
    say(telling, "%c is told that its lock has ended", stage_client_name(client));
}

static void wait_for_winner(const struct telling *telling)
{
    unsigned c = 0;
    while (!stage_holds(telling->stage, c)) {
        c = (c + 1) % telling->stage->settings.clients;
        if (c == 0 && !step_on(telling)) return;
    }
    settle(telling);
    say_verdict(telling, c);
}

static void wait_and_tell(struct telling *telling, const struct story_step *step)
{
    switch (step->wait) {
    case WAIT_NONE: break;
    case WAIT_DONE:
        stage_run_until_done(telling->stage, step->client);
        telling->handed_us = stage_now_us(telling->stage);
        say_verdict(telling, step->client);
        break;
    case WAIT_FAILURE:   wait_for_failure(telling, step->client); break;
    case WAIT_END:       wait_for_end(telling, step->client); break;
    case WAIT_WINNER:    wait_for_winner(telling); break;
    case TELL_HOLDS:     say_holds(telling, step->client); break;
    case TELL_ATTEMPT:   say_attempt(telling, step->client); break;
    case TELL_TOKENS:    say_tokens(telling); break;
    case TELL_LATE:      say_late(telling); break;
    case TELL_BYTES:     telling->seen = (int)step->client; break;
    case TELL_HAND_OVER: say_hand_over(telling); break;
    }
}

/* Actions of the step, and of later steps that have no words of their own and are done at
 * the same moment. */
static size_t actions_of(const struct story_step *step, const struct story_step *end)
{
    size_t count = 0;
    do {
        count += step->action != NULL;
        if (step->pass_us > 0 || step->wait != WAIT_NONE) break;
    } while (++step < end && !step->words && step->action);
    return count;
}

static void take_step(struct telling *telling, const struct story_step *step,
                      const struct story_step *end)
{
    struct stage_action action;
    settle(telling);
    telling->announced = actions_of(step, end);
    if (step->words) say(telling, "%s", step->words);
    telling->announced = 0;
    if (step->action && stage_read_action(step->action, strlen(step->action), &action)) {
        if (action.verb == STAGE_RELEASE) telling->released_us = stage_now_us(telling->stage);
        (void)stage_act(telling->stage, action);
    }
    if (step->pass_us > 0)
        stage_run_until(telling->stage, stage_now_us(telling->stage) + step->pass_us);
    wait_and_tell(telling, step);
    say_accident(telling);
}

/* ---- Its end ---- */

static bool is_what_it_says(const struct telling *telling, const struct story *story)
{
    const struct stage *stage = telling->stage;
    if (stage->accident.happened == story->keeps || cluster_is_broken(stage->cluster)) return false;
    if (story->steps == pause_fence || story->steps == last_ticket)
        return telling->was_refused && stage->admitted_count == 2;
    if (story->steps == keeper)
        return telling->left_us > (uint64_t)TTL_MS * MS / 4 && !stage_holds(stage, A) &&
               stage_holds(stage, B);
    if (story->steps == hand_over)
        return telling->handed_us - telling->released_us <= 6 * CLUSTER_DELAY_US &&
               stage_holds(stage, B);
    if (story->steps == late_release) return telling->late >= 2 && stage_holds(stage, A);
    if (story->steps == late_extension) return telling->late >= 2 && stage_holds(stage, B);
    if (story->steps == drift) return stage_holds(stage, B);
    if (story->steps == split_vote)
        return stage_holds(stage, A) + stage_holds(stage, B) + stage_holds(stage, C) == 1;
    return true;
}

struct stage *story_tell(const struct story *story, const struct story_listener *listener,
                         struct story_end *end)
{
    struct telling telling = { .listener = listener, .seen = -1 };
    const struct stage_observer observer = {
        .context = &telling, .saw_write = say_write, .saw_accident = saw_accident,
        .saw_command = note_late, .saw_message = say_bytes
    };
    struct stage_settings settings;
    char words[STAGE_WORDS];
    size_t none;
    (void)stage_read_link(story->settings, &settings, NULL, 0, &none, words);
    telling.stage = stage_new(&settings, &observer);
    for (size_t i = 0; i < story->step_count; i++)
        take_step(&telling, &story->steps[i], story->steps + story->step_count);
    settle(&telling);
    say(&telling, "%s", story->conclusion);
    const bool is_kept = !telling.stage->accident.happened;
    snprintf(end->verdict, sizeof end->verdict, "%s%s",
             story->verdict ? story->verdict : is_kept ? "exclusion kept" : "exclusion broken",
             story->keeps ? "" : ", a known limit");
    end->is_right = is_what_it_says(&telling, story);
    telling.stage->observer = (struct stage_observer){ .context = NULL };
    return telling.stage;
}
