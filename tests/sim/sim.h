/* The simulator runs worlds of clients, nodes and faults, each made from one number.
 *
 *     seed -> options (how many nodes, clients, locks; TTLs, guard, drift, network; the class of
 *     faults; how long)
 *          -> schedule of faults      drawn from dice of its own, so that leaving one out changes
 *                                     none of the others
 *          -> what the clients do     drawn from dice of each actor's own
 *
 * Knows the engine by its public header, through the cluster, which watches exclusion and promise
 * after every event. Adds what only a whole world can show: whose tokens are whose, that everything
 * ends when the faults are over, and how often the rare paths were taken. It uses integers only, so
 * a seed gives the same trace, hashed, on every machine. */
#ifndef SIM_H
#define SIM_H

#include "../world/cluster.h"

enum {
    SIM_NODES_MAX = 7,
    SIM_CLIENTS_MAX = 5,
    /* Locks of one client, and resources. Lock i is about resource i, alone or with others. */
    SIM_LOCKS_MAX = 4,
    SIM_PERMITS_MAX = 4,        /* Permits of one resource. */
    /* An actor is one client's work with one lock. */
    SIM_ACTORS_MAX = SIM_CLIENTS_MAX * SIM_LOCKS_MAX,
    SIM_FAULTS_MAX = 64,
    SIM_CLOCK_BACK_US = 2000000, /* How far a node's clock is stepped back in all. */
    /* Steps of one world. The busiest of many thousands needs a quarter of it. */
    SIM_STEPS_MAX = 20000000
};

/* ---- Classes of faults ---- */

/* X(name, promised, text): promised means that no fault of this class may ever break the exclusion,
 * or the order of tickets. Wall clocks differ in all of them, by no more than the configured skew
 * unless the class says so. Only the tickets are looked at from TICKETS_SKEWED on, and from
 * PERIODS_NO_GUARD on only that no period has two runs; so in PERIODS. There are shared locks,
 * semaphores and fair locks only in the worlds of READERS, PERMITS and FAIR, and in half of the
 * worlds of SLOTS. */
#define SIM_CLASSES(X) \
    X(NONE, true, "none") \
    X(DELAYS, true, "messages delayed, in pieces") \
    X(LOSS, true, "connections reset, cut, stalled, partitioned; nodes hang") \
    X(CRASH_KEPT, true, "node crashes, memory kept") \
    X(CRASH_LOST, true, "node restarts empty, with the guard") \
    X(CRASH_BACK, true, "node restarts with an old memory, with the guard") \
    X(DRIFT_WITHIN, true, "clock rates differ, within the drift factor") \
    X(CLOCK_BACK, true, "node's clock stepped back") \
    X(PAUSE, true, "client paused, asks before it acts") \
    X(SUSPEND, true, "client suspended, clock goes on") \
    X(CLIENT_CRASH, true, "client crashes and returns") \
    X(SCRIPTS_FLUSHED, true, "SCRIPT FLUSH") \
    X(NODE_TROUBLE, true, "nodes refuse (replica, loading, out of memory, same server, ...)") \
    X(NONSENSE, true, "answers that are none, or errors although it was done") \
    X(WALL_AHEAD, true, "client's wall clock ahead by more than the skew") \
    X(FENCED, true, "holder paused past its validity acts without asking, with a ticket") \
    X(ALL, true, "all of the above at once") \
    X(PERIODS, true, "once per period: all of the above at once") \
    X(READERS, true, "shared locks: all of the above at once") \
    X(PERMITS, true, "permits: all of the above at once") \
    X(DURABLE, true, "durable node restarts with its memory, or empty; connections reset") \
    X(FAIR, true, "strict order: all of the above at once") \
    X(NATIVE, true, "nodes that run no scripts: all of the above at once") \
    X(CLOCK_FORWARD, false, "node's clock stepped forward") \
    X(NO_GUARD, false, "node restarts empty, without the guard") \
    X(ACTS_WITHOUT_ASKING, false, "holder paused past its validity acts without asking") \
    X(HIDDEN_FAILOVER, false, "failover to a stale replica behind the same connection") \
    X(EVICTION, false, "eviction") \
    X(FLUSHALL, false, "FLUSHALL") \
    X(SUSPEND_UNCOUNTED, false, "client suspended, clock stands still") \
    X(DRIFT_BEYOND, false, "clock rates differ beyond the drift factor") \
    X(READERS_NO_GUARD, false, "shared locks: node restarts empty, without the guard") \
    X(READERS_FLUSHALL, false, "shared locks: FLUSHALL") \
    X(PERMITS_NO_GUARD, false, "permits: node restarts empty, without the guard") \
    X(DURABLE_BACK, false, "durable node restarts with an old memory, or without its last writes") \
    X(TICKETS_SKEWED, false, \
      "tickets: nodes restart empty, wall clocks differ by more than the skew") \
    X(TICKETS_NO_GUARD, false, "tickets: nodes restart empty, without the guard") \
    X(TICKETS_FAILOVER, false, "tickets: failover to stale replicas behind the same connections") \
    X(TICKETS_FLUSHALL, false, "tickets: FLUSHALL") \
    X(PERIODS_NO_GUARD, false, "once per period: nodes restart empty and take part") \
    X(PERIODS_FLUSHALL, false, "once per period: FLUSHALL") \
    X(PROMOTED, true, "failover to a stale replica that has been up for long, and new clients") \
    X(NAMELESS, true, \
      "servers without a run_id restart, or fail over if they have a master_replid") \
    X(SLOTS, true, "slots move between two shards: all of the above that keeps its memory")

enum sim_class {
#define SIM_CLASS_ENUM(name, promised, text) SIM_CLASS_##name,
    SIM_CLASSES(SIM_CLASS_ENUM)
#undef SIM_CLASS_ENUM
    SIM_CLASS_COUNT
};

const char *sim_class_text(enum sim_class class);
/* The class of a name in the table above, such as "crash_lost". SIM_CLASS_COUNT: none has it. */
enum sim_class sim_class_of_name(const char *given);
bool sim_class_is_promised(enum sim_class class);
bool sim_class_is_about_tickets(enum sim_class class);  /* The other is about nothing else. */
bool sim_class_is_about_periods(enum sim_class class);
bool sim_class_has_periods(enum sim_class class);
bool sim_class_has_readers(enum sim_class class);
bool sim_class_has_permits(enum sim_class class);
bool sim_class_is_fair(enum sim_class class);
bool sim_class_is_native(enum sim_class class);
bool sim_class_has_slots(enum sim_class class);
bool sim_class_has_no_guard(enum sim_class class);
bool sim_class_is_durable(enum sim_class class);

/* X(name, classes it belongs to, text) */
#define SIM_FAULTS(X) \
    X(DELAY, IN(DELAYS), "link slow") \
    X(PIECES, IN(DELAYS), "link in pieces of a few bytes") \
    X(RESET, IN(LOSS) | IN(DURABLE) | IN(NAMELESS), "connection reset") \
    X(LATE, IN(LOSS), "connection reset, what it carries arrives late") \
    X(CUT, IN(LOSS), "link cut") \
    X(STALL, IN(LOSS), "link stalled") \
    X(DEAF, IN(LOSS), "answers stalled") \
    X(PARTITION, IN(LOSS), "client parted from several nodes") \
    X(HANG, IN(LOSS), "node hangs") \
    X(SEVER, IN(LOSS), "connection severed within the next bytes") \
    X(SUBSCRIPTION_CUT, IN(LOSS), "link for wake-ups cut") \
    X(RESTART_KEPT, IN(CRASH_KEPT) | IN(DURABLE) | IN(NAMELESS), "node down, memory kept") \
    X(RESTART_EMPTY, \
      IN(CRASH_LOST) | IN(NO_GUARD) | IN(TICKETS_SKEWED) | IN(TICKETS_NO_GUARD) | \
          IN(PERIODS_NO_GUARD) | IN(READERS_NO_GUARD) | IN(PERMITS_NO_GUARD) | IN(DURABLE) | \
          IN(NAMELESS), \
      "node down, memory lost") \
    X(RESTART_BACK, IN(CRASH_BACK) | IN(DURABLE_BACK) | IN(PROMOTED) | IN(NAMELESS), \
      "node down, memory rolled back") \
    X(RATE, IN(DRIFT_WITHIN) | IN(DRIFT_BEYOND), "node's clock has another rate") \
    X(CLIENT_RATE, IN(DRIFT_WITHIN), "client's clock has another rate") \
    X(STEP_BACK, IN(CLOCK_BACK), "node's clock stepped back") \
    X(STEP_FORWARD, IN(CLOCK_FORWARD), "node's clock stepped forward") \
    X(PAUSE, IN(PAUSE) | IN(FENCED) | IN(ACTS_WITHOUT_ASKING), "client paused") \
    X(SUSPEND, IN(SUSPEND) | IN(SUSPEND_UNCOUNTED), "client suspended") \
    X(CLIENT_CRASH, IN(CLIENT_CRASH) | IN(PROMOTED) | IN(NAMELESS), "client crashes") \
    X(SCRIPT_FLUSH, IN(SCRIPTS_FLUSHED), "SCRIPT FLUSH") \
    X(TROUBLE, IN(NODE_TROUBLE), "node refuses") \
    X(TWIN, IN(NODE_TROUBLE), "node's address leads to another node's server") \
    X(NONSENSE, IN(NONSENSE), "node answers nonsense") \
    X(WALL_AHEAD, IN(WALL_AHEAD), "client's wall clock far ahead") \
    X(WALL_WRONG, IN(TICKETS_SKEWED), "client's wall clock wrong") \
    X(FAILOVER, IN(HIDDEN_FAILOVER) | IN(TICKETS_FAILOVER), \
      "node replaced by its stale replica, unseen") \
    X(EVICTION, IN(EVICTION), "a key is evicted") \
    X(FLUSHALL, IN(FLUSHALL) | IN(TICKETS_FLUSHALL) | IN(PERIODS_FLUSHALL) | IN(READERS_FLUSHALL), \
      "FLUSHALL") \
    /* No other class has those from here on. */ \
    X(SLOT_MOVES, IN(SLOTS), "slot moves, key by key") \
    X(SLOT_JUMPS, IN(SLOTS), "slot moves at once") \
    X(SLOT_UNSERVED, IN(SLOTS), "no shard has the slot") \
    X(ADDRESS, IN(SLOTS), "node's address leads to the wrong shard")

enum sim_fault_kind {
#define SIM_FAULT_ENUM(name, classes, text) SIM_FAULT_##name,
    SIM_FAULTS(SIM_FAULT_ENUM)
#undef SIM_FAULT_ENUM
    SIM_FAULT_COUNT
};

const char *sim_fault_text(enum sim_fault_kind kind);
bool sim_fault_is_in(enum sim_fault_kind kind, enum sim_class class);

struct sim_fault {
    uint64_t at_us, lasts_us;   /* Time from the beginning of the world. */
    enum sim_fault_kind kind;
    unsigned client, node;
    uint64_t amount;            /* Its meaning depends on the kind. */
    bool is_on, is_past;        /* It has begun; it has ended, or something was in its way. */
};

/* ---- Rare paths, by what can be seen from outside ---- */

#define SIM_PATHS(X) \
    X(WON_BY_ALL, "won with the votes of all nodes") \
    X(WON_EXACTLY, "won with not one vote more than a quorum") \
    X(WON_WITHOUT_NODE, "won although a node was not asked or did not answer") \
    X(WON_AFTER_RETRY, "won at a later attempt") \
    X(WON_EXPIRED, "won after the holder had died or gone silent") \
    X(TAKEN, "TAKEN") \
    X(NO_QUORUM, "NO_QUORUM") \
    X(TIMEOUT, "TIMEOUT") \
    X(TOO_LATE, "TOO_LATE") \
    X(SPLIT_VOTE, "split vote: several have tokens out, nobody a quorum") \
    X(CANCEL_WITH_GRANTS, "cancelled with grants out") \
    X(CANCEL_BETWEEN, "cancelled between two attempts") \
    X(EXTENDED, "extended") \
    X(EXTENSION_NO_QUORUM, "extension without a quorum; the old validity stands") \
    X(EXTENSION_TAKEN, "extension refused: the token is gone from some nodes") \
    X(EXTENSION_TOO_LATE, "extension confirmed only after the old validity had ended") \
    X(EXTENSION_AFTER_FAIL, "an extension wins after one that failed") \
    X(EXTENSION_LIMIT, "EXTENSION_LIMIT") \
    X(RELEASE_IN_EXTENSION, "released while an extension was under way") \
    X(RELEASED_PARTLY, "released with debts left") \
    X(RELEASED_LOST, "release found nothing any more") \
    X(RAN_OUT, "a lock ran out in its holder's hands") \
    X(WOKE_TOO_LATE, "a client awoke past the end of its validity") \
    X(LATE_GRANT, "a node granted after the verdict") \
    X(LATE_GRANT_RELEASED, "a late grant released") \
    X(STALE_COMMAND, "a command of a closed connection was executed") \
    X(STALE_SET, "a SET of a closed connection set a key") \
    X(DEBT_AFTER_RECONNECT, "a debt paid after a reconnect") \
    X(RELEASED_TWICE, "a second release removed what the first had not found") \
    X(DEBTS_GONE, "all debts of a lock paid") \
    X(NOSCRIPT, "NOSCRIPT") \
    X(NOSCRIPT_EVAL, "NOSCRIPT answered by EVAL in the same round") \
    X(GUARDED, "a node without a vote because of its restart") \
    X(GUARD_ENDS_IN_WAIT, "a guard ended in the middle of a wait, and the node's vote counted") \
    X(TWIN_REFUSED, "the same server twice: refused") \
    X(REPLICA_REFUSED, "a replica: no vote") \
    X(READONLY, "READONLY") \
    X(LOADING, "LOADING") \
    X(OUT_OF_MEMORY, "OOM") \
    X(MISCONF, "MISCONF") \
    X(BUSY, "BUSY") \
    X(UNREACHABLE, "a node unreachable") \
    X(SILENT, "a node silent") \
    X(TOLD_WHEN_FREE, "a loser was told when the lock will be free") \
    X(NONSENSE, "a connection closed because of nonsense") \
    X(ADOPTED, "an adopted lock confirmed by an extension") \
    X(ADOPTED_IN_VAIN, "an adopted lock that was gone") \
    X(MOVED_IN_FLIGHT, "a lock moved in memory while an operation was under way") \
    X(FORGOTTEN_IN_FLIGHT, "a lock forgotten while an operation was under way") \
    X(REUSED_WITH_DEBTS, "acquired again while debts of the last time were left") \
    X(WON_WITH_TICKET, "won with a ticket") \
    X(TICKET_OUTDATED, "a ticket refused because of a node's counter alone") \
    X(TICKET_CORRECTED, "a ticket that was too small, corrected at once") \
    X(WON_CORRECTED, "won with a ticket that was corrected at once") \
    X(AHEAD, "AHEAD: a ticket too far ahead of a node's clock") \
    X(TICKET_GUARDED, "a node that votes again, but gives no ticket yet") \
    X(ACQUIRE_BY_EVAL, "NOSCRIPT to the acquire script answered by EVAL in the same round") \
    X(LATE_WRITE_REFUSED, "a late write refused by the resource") \
    X(WON_SET, "won several resources at once") \
    X(SET_LOST_BY_ONE, "a set refused because of one of its resources") \
    X(RESTORED, "a key restored") \
    X(RESTORED_TICKET, "a key restored beside a counter that was kept") \
    X(RESTORED_COUNTS, "a restored key counted in a later extension") \
    X(KEPT, "extended by the keeper") \
    X(KEEPER_FAILED, "the keeper told of an extension that failed") \
    X(KEEPER_RECOVERED, "the keeper told that an extension has succeeded again") \
    X(KEEPER_LIMIT, "keeping ended by its limit") \
    X(KEEPER_LOST, "the keeper told of a lock that was lost") \
    X(LINED_UP, "an entry among the waiters taken") \
    X(ENTRY_GIVEN_BACK, "an entry given back") \
    X(WOKEN, "a waiter woken") \
    X(WOKEN_IN_ATTEMPT, "a wake-up that came while the attempt was under way") \
    X(WON_WOKEN, "won after a wake-up") \
    X(WOKEN_IN_VAIN, "an attempt lost after a wake-up") \
    X(YIELDED, "stood back behind those whom the last release woke") \
    X(MARKED, "a period marked") \
    X(MARKED_ALREADY, "a period that another has marked") \
    X(MARK_NO_QUORUM, "a period that no quorum of nodes would mark") \
    X(MARK_FORGETFUL, "a node that voted took no part in a mark") \
    X(SHARED_TOGETHER, "several readers hold one resource") \
    X(WON_SHARED, "won as a reader") \
    X(WON_MIXED, "won a set of which a part is shared") \
    X(UPGRADED, "a reader became a writer") \
    X(UPGRADE_REFUSED, "an upgrade refused, and still a reader") \
    X(DOWNGRADED, "a writer became a reader") \
    X(PERMITS_TOGETHER, "several permits of one resource held") \
    X(PERMITS_FULL, "all permits of a resource held") \
    X(WON_FAIR, "won by a fair lock") \
    X(WON_IN_TURN, "won by a fair lock from the queue") \
    X(REDIRECT_MOVED, "MOVED: another shard has the slot") \
    X(REDIRECT_ASK, "ASK: the slot moves, and no key is there") \
    X(REDIRECT_TRYAGAIN, "TRYAGAIN: the slot moves, and some keys are there") \
    X(STOPPED_HALFWAY, "a script was stopped behind a write, since a key was not there") \
    X(WON_IN_MOVE, "won while the slot moved at a node that was asked") \
    X(RELEASED_ELSEWHERE, "released by another shard than the one that had granted it")

enum sim_path {
#define SIM_PATH_ENUM(name, text) SIM_PATH_##name,
    SIM_PATHS(SIM_PATH_ENUM)
#undef SIM_PATH_ENUM
    SIM_PATH_COUNT
};

const char *sim_path_text(enum sim_path path);

/* ---- What must hold ---- */

/* Each case that is judged is counted, since a rule that never has one would keep silent for the
 * wrong reason. */
#define SIM_RULES(X) \
    X(EXCLUSION, "two clients do not hold one resource") \
    X(EXCLUSION_ALONE, "nor does one client with two locks") \
    X(PERMITS, "S20: no more permits are held than there are") \
    X(UPGRADE_KEEPS, "S22: an upgrade or downgrade that fails takes nothing from the holder") \
    X(PROMISE, "a quorum keeps the token for as long as the holder believes") \
    X(INVARIANTS, "the engine's own books agree with what is under way") \
    X(S1, "S1: a win or an extension has a quorum of all nodes") \
    X(S2_CLOCK, "S2: the clock is read before the first byte leaves") \
    X(S2_LEFT, "S2: what is won has validity left, and as much as was asked for") \
    X(S2_WON, "S2: validity of a win: TTL without elapsed time and drift at most") \
    X(S2_EXTENDED, "S2: the same for an extension") \
    X(S3, "S3: a node that is counted has done it") \
    X(S5, "S5: a client that forgets a lock has left no token behind") \
    X(S6_OWN, "S6: a token that is seen again is the same client's") \
    X(S6_ONCE, "S6: a node that gets a token again has lost one that was won") \
    X(S6_OLDER, "S6: a SET that is refused was not refused because of the lock's own token") \
    X(S6_ROLE, "S6: a lock that changes its role has a token that was never used") \
    X(S7, "S7: a client releases and extends tokens of its own alone") \
    X(S8, "S8: no node is counted twice in a round") \
    X(S9_HELD, "S9: what is extended was held until then") \
    X(S9_KEEPS, "S9: no extension takes away what was promised") \
    X(S9_LEAVES, "S9: a holder that releases something else leaves the lock's token") \
    X(S9_ENDED, "S9: what has ended cannot be extended") \
    X(S9_RESTORES, "S9: no counter keeps a node from getting back a key that it has lost") \
    X(S10_ENDS, "S10: nothing is held before the beginning or from the end on") \
    X(S10_RELEASED, "S10: nothing is held once it is released") \
    X(S11_GUARD, "S11: of nodes that have ever restarted, none is asked within the guard") \
    X(S11_VOTE, "S11: a node that is taken for restarted is so no longer than the guard") \
    X(S11_TTL, "S11: a TTL over the guard is refused") \
    X(S12_UNFIT, "S12: a node that is asked has said that it is a master of its own") \
    X(S12_TWIN, "S12: two addresses of one server have one vote") \
    X(S13_TTL, "S13: the keeper asks for no longer TTL than the lock's") \
    X(S13_LIMIT, "S13: a limited lock is extended no more often than that") \
    X(S13_TOLD, "S13: what is extended by itself was to be kept") \
    X(S13_TIME, "S13: what is kept for a time is kept no longer") \
    X(S14_PAUSE, "S14: the pause after a lost attempt is as long as the round") \
    X(S14_DICE, "S14: and not always the same") \
    X(S15_ORDER, "S15: a ticket is larger than the last one") \
    X(S15_GIVEN, "S15: a client that asks for a ticket gets one, and nobody else") \
    X(S15_AHEAD, "S15: no node takes a ticket that is too far ahead") \
    X(S15_REFUSED, "S15: a client that the resource refuses does not hold it") \
    X(S15_ADMITTED, "S15: a client that is admitted after another is no earlier holder") \
    X(S18, "S18: who runs in a period is the first who does") \
    X(S18_DONE, "S18: nobody begins in a period that is done") \
    X(S24_ONCE, "S24: a node gets each round of polls of a fair lock once, in their order") \
    X(S24_ROUND, "S24: a node that is counted has granted it in that round") \
    X(S25, "S25: nobody passes a waiter that was queued on a quorum before it began") \
    X(S16, "S16: a connection by which nonsense came is closed") \
    X(TOLD, "what has ended is named") \
    X(KEEPER_KEEPS, "what is kept stays while all nodes answer in time") \
    X(KEEPER_TELLS, "the loss of what is kept is told") \
    X(KEEPER_WAKES, "a keeper wants to be called before the end") \
    X(EXTENDS_FIRST, "no extension is sent behind the release") \
    X(ENTRY_GIVEN_BACK, "where nothing is lost, an idle lock has no entry among the waiters") \
    X(LIVENESS, "when the faults are over everything ends") \
    X(IDLE, "and the engine knows of no lock") \
    X(NO_KEY_LEFT, "and no key is left") \
    X(NO_ENTRY_LEFT, "nor an entry among the waiters") \
    X(FEW_CONNECTIONS, "nor too many connections") \
    X(WORKS_AGAIN, "and each client can acquire")

enum sim_rule {
#define SIM_RULE_ENUM(name, text) SIM_RULE_##name,
    SIM_RULES(SIM_RULE_ENUM)
#undef SIM_RULE_ENUM
    SIM_RULE_COUNT
};

const char *sim_rule_text(enum sim_rule rule);

/* ---- Options ---- */

struct sim_options {
    uint64_t seed;
    enum sim_class class;
    unsigned node_count, client_count, lock_count;
    unsigned pace;              /* All times of the world are multiples of this. */
    uint32_t ttl_max_ms, guard_ms, drift_ppm, node_timeout_ms, retry_ms, receive_size;
    uint32_t think_us;          /* Mean time between two deeds of an actor. */
    uint64_t delay_us, jitter_us;
    uint64_t duration_us;
    unsigned fault_count;
    uint32_t save_every_us;     /* A node's memory goes to its disk or replica. */
    /* Clients wake so much too late, as those do that have more to do. */
    uint32_t lag_us;
    /* Wall clocks differ by as much as the spread from the beginning. */
    uint32_t skew_ms, wall_spread_ms, ticket_life_ms;
    /* One in so many has a ticket, is a set, is kept; 0: none. */
    unsigned ticket_share, set_share, keep_share;
    unsigned keep_percent;
    uint32_t period_ms;         /* Period of marks; 0: there are none. */
    bool until_done;            /* A period is marked when a run has ended, not before it begins. */
    /* No node loses or shortens its grants, so each promise can be watched. */
    bool keeps_memory;
    unsigned fair_share;        /* One in so many locks is fair; 0: none. */
    unsigned shared_share;      /* One in so many names of a lock is shared; 0: none. */
    unsigned permits;           /* Permits of each resource; 0: they are locks. */
    bool wake_ups, silent;
    const char *noperm;         /* The commands that all nodes refuse to waiters; NULL: nothing. */
    unsigned native;            /* The set of nodes that run no scripts. */
    bool restless, in_pieces, ticks_first;
    bool hides_replid;          /* Of nodes without a run_id. */
    /* When the slots have come to rest the wrong shards are switched off; else their connections
     * stay until they are used. */
    bool cuts_wrong_shards;
};

/* ---- Running ---- */

/* The world to run; masks leave out parts of the schedule or actors. */
struct sim_plan {
    uint64_t seed;
    enum sim_class class;       /* SIM_CLASS_COUNT: one of the promised, as the seed says. */
    bool fault_masked[SIM_FAULTS_MAX], actor_masked[SIM_ACTORS_MAX];
    uint64_t quiet_us;          /* The actors do nothing before that. */
    uint64_t salt;              /* Other dice for jitter and turns, the same schedule and actors. */
    bool tells;                 /* Keeps the end of the story, see sim_outcome. */
    /* Prints what happens, and judges nothing itself (see witness.h). */
    bool has_witness;
};

/* Sums over worlds. All are uint64_t, so that they can be added. */
struct sim_totals {
    uint64_t worlds, attempts, won, extended, released, commands, steps, simulated_us, violations,
        first_seed;
    /* Violations of other rules than those that the class is known to break. */
    uint64_t unexpected;
    uint64_t faults[SIM_FAULT_COUNT];
    uint64_t paths[SIM_PATH_COUNT];
    uint64_t judged[SIM_RULE_COUNT];
};

void sim_totals_add(struct sim_totals *sum, const struct sim_totals *part);

enum { SIM_STORY_LINES = 400, SIM_STORY_LINE = 160, SIM_STORY_TOLD = 60 };

struct sim_outcome {
    struct sim_options options;
    uint64_t hash;              /* FNV-1a over everything that happened. */
    uint64_t ended_us;          /* Time since the world's beginning. */
    unsigned fault_count, actor_count;
    char broken[200];           /* "": no rule was broken. */
    /* A ring of the last lines; line i at i % SIM_STORY_LINES. */
    char story[SIM_STORY_LINES][SIM_STORY_LINE];
    unsigned line_count;        /* Also when they are not kept. */
};

/* Adds its counts to the totals. */
void sim_run(const struct sim_plan *plan, struct sim_totals *totals, struct sim_outcome *outcome);

/* The commands that node k refuses, and those of newer servers that it knows. */
const char *sim_noperm(const struct sim_options *options, unsigned k);
const char *sim_newer(const struct sim_options *options, unsigned k);

void sim_print_options(const struct sim_options *options);
void sim_print_story(const struct sim_outcome *outcome);

/* Makes the story shorter, for so many seconds of CPU time at most and one world more; returns how
 * often the world was run. The plan must break a rule, and breaks the same one afterwards. */
unsigned sim_shrink(struct sim_plan *plan, unsigned cpu_s);

/* The known stories about distributed locks, each with its verdict; returns how many
 * came out otherwise. */
unsigned sim_tell_stories(void);

#endif
