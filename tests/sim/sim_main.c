/* The program runs worlds on all processors and reports what happened. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS of mmap needs it. */

#include "sim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: sim [--seed S] [--worlds N] [--class CLASS] [--jobs J]    worlds of the promised "
    "classes, or of one class\n"
    "       sim --seed S --tell [--class CLASS]                       one world: options, and its "
    "end as a story\n"
    "       sim --hashes [--seed S] [--worlds N]                      the trace hash of each "
    "world, and of one of each class\n"
    "       sim --witness [--seed S] [--worlds N] [--class CLASS]     what happens in each world, "
    "for tests/witness/check\n"
    "       sim --classes [--worlds N]                                the table of all classes, "
    "each with N worlds\n"
    "       sim --ci [--jobs J]                                       all of it, with every rare "
    "path reached\n"
    "       sim --soak SECONDS [--jobs J]                             fresh worlds for so long\n"
    "       sim --canary                                              succeeds when a world breaks "
    "a rule; tells it\n"
    "       sim --mutant SECONDS [--seed S]                           the same, with so much CPU "
    "time; tells the rule only\n"
    "       sim --stories                                             the stories that are told "
    "about locks\n";

enum {
    JOBS_MAX = 256,
    WORLDS = 200,               /* The default. */
    CLASS_WORLDS = 60,          /* Worlds for a line of the table. */
    CI_PINNED = 560, CI_FRESH = 280, CI_CLASS_WORLDS = 20,
    /* Waiters that are queued on a quorum when another comes are rare. */
    FAIR_TIMES = 2,
    SLOTS_TIMES = 4,            /* So are releases that meet a slot just as it moves. */
    SOAK_MIXED = 120, SOAK_CLASS = 16,
    CANARY_CPU_S = 60,
    SHRINK_CPU_S = 15,
    /* CPU time of one world, many times as much as the longest needs. Only a call that never
     * returns takes it. */
    WORLD_CPU_S = 20,
    CANARY_WORLD_CPU_S = 15,    /* The longest of the first hundreds takes 5. */
    /* In CI each rare path is reached at least so often, or the worlds have become poor. */
    PATH_MIN = 50,
    JUDGED_MIN = 100,           /* The same for each rule, */
    FAULT_MIN = 100,            /* and each fault. */
    /* Faults of each kind in a line of the table, however few worlds it has. */
    CLASS_FAULT_MIN = 10,
    WON_PER_WORLD_MIN = 20
};

#define FOR_EVER UINT64_MAX
#define FRESH_SEEDS 1000000u    /* Fresh seeds begin above the pinned ones. */

/* A worker's report to its parent, in shared memory. It shows how far the worker got even
 * if it crashes. */
struct worker {
    struct sim_totals totals;
    uint64_t seed;
    enum sim_class class;
    bool is_done;
    char broken[200];           /* The first violation, in words. */
};

struct batch {
    enum sim_class class;       /* SIM_CLASS_COUNT: all of the promised. */
    uint64_t first, count;
    time_t until;               /* 0: no end but count. */
    bool stops;                 /* At the first violation. */
    unsigned cpu_s;             /* CPU time of a worker; 0: no limit. */
    unsigned world_cpu_s;       /* The limit for one world; 0: WORLD_CPU_S. */
};

static unsigned jobs;
static unsigned passed, failed;     /* Checks. */
static char broken[200];            /* The first violation of the last batch, in words. */

__attribute__((format(printf, 2, 3)))
static void check(bool holds, const char *format, ...)
{
    va_list arguments;
    printf("%s %u - ", holds ? "ok" : "not ok", passed + failed + 1);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    *(holds ? &passed : &failed) += 1;
}

/* ---- Worlds on all processors ---- */

/* A world that takes longer than that ends its process, by the signal of the timer. */
static void limit_cpu(unsigned seconds)
{
    const struct itimerval limit = { .it_value = { .tv_sec = (time_t)seconds } };
    (void)setitimer(ITIMER_PROF, &limit, NULL);
}

static bool has_time(const struct batch *batch)
{
    if (batch->cpu_s > 0 && clock() / CLOCKS_PER_SEC >= (clock_t)batch->cpu_s) return false;
    return batch->until == 0 || time(NULL) < batch->until;
}

static void work(struct worker *worker, const struct batch *batch, unsigned index)
{
    static struct sim_outcome outcome;
    for (uint64_t i = index; i < batch->count && has_time(batch); i += jobs) {
        const struct sim_plan plan = { .seed = batch->first + i, .class = batch->class };
        worker->seed = plan.seed;
        limit_cpu(batch->world_cpu_s > 0 ? batch->world_cpu_s : WORLD_CPU_S);
        sim_run(&plan, &worker->totals, &outcome);
        if (worker->totals.violations > 0 && worker->broken[0] == '\0')
            memcpy(worker->broken, outcome.broken, sizeof worker->broken);
        if (worker->totals.violations > 0 && batch->stops) break;
    }
    worker->is_done = true;
}

static pid_t start_worker(struct worker *worker, const struct batch *batch, unsigned index)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        work(worker, batch, index);
        _exit(0);
    }
    if (pid < 0) {
        perror("sim: fork");
        exit(2);
    }
    return pid;
}

static void wait_for(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) { }
}

static struct worker *share_workers(void)
{
    struct worker *workers = mmap(NULL, JOBS_MAX * sizeof *workers, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (workers == MAP_FAILED) {
        perror("sim: mmap");
        exit(2);
    }
    return workers;
}

static void note_death(struct worker *worker)
{
    printf("the engine or the simulator crashed or hung in the world of seed %llu\n",
           (unsigned long long)worker->seed);
    if (worker->totals.violations++ > 0) return;
    worker->totals.first_seed = worker->seed;
    snprintf(worker->broken, sizeof worker->broken, "the engine or the simulator crashed or hung");
}

/* Each worker has every jobs-th seed. One that does not come to its end is a violation, of the seed
 * it was at. */
static struct sim_totals run_batch(const struct batch *batch)
{
    struct worker *workers = share_workers();
    struct sim_totals sum = { 0 };
    pid_t pids[JOBS_MAX];
    broken[0] = '\0';
    for (unsigned i = 0; i < jobs; i++) pids[i] = start_worker(&workers[i], batch, i);
    for (unsigned i = 0; i < jobs; i++) {
        wait_for(pids[i]);
        if (!workers[i].is_done) note_death(&workers[i]);
        if (broken[0] == '\0') memcpy(broken, workers[i].broken, sizeof broken);
        sim_totals_add(&sum, &workers[i].totals);
    }
    munmap(workers, JOBS_MAX * sizeof *workers);
    return sum;
}

/* ---- One world ---- */

static bool tell_world(struct sim_plan *plan)
{
    static struct sim_outcome outcome;
    struct sim_totals totals = { 0 };
    plan->tells = true;
    sim_run(plan, &totals, &outcome);
    sim_print_options(&outcome.options);
    sim_print_story(&outcome);
    return outcome.broken[0] != '\0';
}

/* Runs the failing world again in a child, since the engine may stop dead in it; shrinks it, and
 * prints the rest. */
static void explain(uint64_t seed, enum sim_class class)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        struct sim_plan plan = { .seed = seed, .class = class };
        limit_cpu(SHRINK_CPU_S + 2 * WORLD_CPU_S);
        const unsigned runs = sim_shrink(&plan, SHRINK_CPU_S);
        printf("shrunk in %u runs; all of it: sim --tell --seed %llu --class %u\n", runs,
               (unsigned long long)seed, class);
        (void)tell_world(&plan);
        fflush(stdout);
        _exit(0);
    }
    if (pid > 0) wait_for(pid);
}

static void print_hash(uint64_t seed, enum sim_class class)
{
    static struct sim_outcome outcome;
    struct sim_totals totals = { 0 };
    const struct sim_plan plan = { .seed = seed, .class = class };
    sim_run(&plan, &totals, &outcome);
    printf("%llu %u %016llx\n", (unsigned long long)seed, (unsigned)class,
           (unsigned long long)outcome.hash);
}

static int print_hashes(const struct batch *batch)
{
    for (uint64_t i = 0; i < batch->count; i++) print_hash(batch->first + i, batch->class);
    for (unsigned class = 0; class < SIM_CLASS_COUNT && batch->class == SIM_CLASS_COUNT;
         class++)
        print_hash(batch->first, (enum sim_class)class);
    return 0;
}

static int call_witness(const struct batch *batch)
{
    static struct sim_outcome outcome;
    for (uint64_t i = 0; i < batch->count; i++) {
        struct sim_totals totals = { 0 };
        const struct sim_plan plan = {
            .seed = batch->first + i, .class = batch->class, .has_witness = true
        };
        limit_cpu(WORLD_CPU_S);
        sim_run(&plan, &totals, &outcome);
        /* The engine is stuck; no witness says so. */
        if (outcome.broken[0] != '\0') printf("%s\n", outcome.broken);
    }
    return 0;
}

/* ---- What happened, in numbers ---- */

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void print_totals(const struct sim_totals *totals, double seconds)
{
    const double hours = (double)totals->simulated_us / 3.6e9, cpu = cpu_seconds();
    printf("%llu worlds, %llu rounds (%llu attempts, %llu extensions, %llu releases), %llu "
           "acquisitions won, "
           "%llu commands executed, %llu steps\n",
           (unsigned long long)totals->worlds,
           (unsigned long long)(totals->attempts + totals->extended + totals->released),
           (unsigned long long)totals->attempts, (unsigned long long)totals->extended,
           (unsigned long long)totals->released, (unsigned long long)totals->won,
           (unsigned long long)totals->commands, (unsigned long long)totals->steps);
    printf("%.1f simulated hours in %.0f s, with %.0f s of CPU time: %.1f worlds a second; %.0f "
           "simulated hours per CPU hour\n",
           hours, seconds, cpu, (double)totals->worlds / (seconds > 0 ? seconds : 1),
           cpu > 0 ? hours * 3600 / cpu : 0);
}

static void print_counts(const struct sim_totals *totals)
{
    puts("faults injected:");
    for (unsigned i = 0; i < SIM_FAULT_COUNT; i++)
        printf("%10llu  %s\n", (unsigned long long)totals->faults[i],
               sim_fault_text((enum sim_fault_kind)i));
    puts("cases judged:");
    for (unsigned i = 0; i < SIM_RULE_COUNT; i++)
        printf("%10llu  %s\n", (unsigned long long)totals->judged[i],
               sim_rule_text((enum sim_rule)i));
    puts("rare paths:");
    for (unsigned i = 0; i < SIM_PATH_COUNT; i++)
        printf("%10llu  %s\n", (unsigned long long)totals->paths[i],
               sim_path_text((enum sim_path)i));
}

static void check_paths(const struct sim_totals *totals)
{
    for (unsigned i = 0; i < SIM_PATH_COUNT; i++)
        check(totals->paths[i] >= PATH_MIN, "reached %llu times: %s",
              (unsigned long long)totals->paths[i], sim_path_text((enum sim_path)i));
}

/* A rule that has no case holds in any engine. */
static void check_rules(const struct sim_totals *totals)
{
    for (unsigned i = 0; i < SIM_RULE_COUNT; i++)
        check(totals->judged[i] >= JUDGED_MIN, "judged %llu times: %s",
              (unsigned long long)totals->judged[i], sim_rule_text((enum sim_rule)i));
}

/* A run in which little happens means nothing. */
static void check_traffic(const struct sim_totals *totals)
{
    unsigned rare = 0;
    for (unsigned i = 0; i < SIM_FAULT_COUNT; i++)
        rare +=
            sim_fault_is_in((enum sim_fault_kind)i, SIM_CLASS_ALL) && totals->faults[i] < FAULT_MIN;
    check(totals->won >= WON_PER_WORLD_MIN * totals->worlds,
          "%llu acquisitions were won in %llu worlds", (unsigned long long)totals->won,
          (unsigned long long)totals->worlds);
    check(rare == 0, "each kind of fault was injected %d times or more", FAULT_MIN);
}

static void check_unbroken(const char *which, uint64_t first, const struct sim_totals *totals)
{
    check(totals->violations == 0 && totals->worlds > 0,
          "%s: no rule was broken in %llu worlds from seed %llu on", which,
          (unsigned long long)totals->worlds, (unsigned long long)first);
}

static void explain_violations(const struct sim_totals *totals, enum sim_class class)
{
    if (totals->violations == 0) return;
    printf("%llu violations, the first with seed %llu\n", (unsigned long long)totals->violations,
           (unsigned long long)totals->first_seed);
    explain(totals->first_seed, class);
}

static struct sim_totals run_promised(const char *which, const struct batch *batch)
{
    const struct sim_totals totals = run_batch(batch);
    check_unbroken(which, batch->first, &totals);
    explain_violations(&totals, batch->class);
    return totals;
}

/* ---- Modes ---- */

/* Was there nothing in the worlds of a class that could have broken a rule? A world without the
 * promise ends with the first rule that is broken. */
static void check_class_traffic(enum sim_class class, const struct sim_totals *totals)
{
    if (sim_class_is_promised(class) && totals->won < WON_PER_WORLD_MIN * totals->worlds)
        check(false, "faults \"%s\": only %llu acquisitions were won", sim_class_text(class),
              (unsigned long long)totals->won);
    for (unsigned i = 0; i < SIM_FAULT_COUNT; i++)
        if (sim_fault_is_in((enum sim_fault_kind)i, class) && totals->faults[i] < CLASS_FAULT_MIN)
            check(false, "faults \"%s\": only %llu times: %s", sim_class_text(class),
                  (unsigned long long)totals->faults[i], sim_fault_text((enum sim_fault_kind)i));
}

/* A line of the table; the totals are added to the sum. */
static void run_class(enum sim_class class, uint64_t worlds, struct sim_totals *sum)
{
    const struct batch batch = { .class = class, .first = 1, .count = worlds };
    const struct sim_totals totals = run_batch(&batch);
    char seed[24] = "";
    if (totals.violations > 0)
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)totals.first_seed);
    printf("| %s | %s | %llu | %llu | %s |\n", sim_class_text(class),
           sim_class_is_promised(class) ? "yes" : "no", (unsigned long long)totals.worlds,
           (unsigned long long)totals.violations, seed);
    if (sim_class_is_promised(class) != (totals.violations == 0)) {
        check(false, "faults \"%s\": %s", sim_class_text(class),
              totals.violations > 0 ? "promised, and yet a rule was broken"
                                    : "not promised, but no violation was found");
        if (totals.violations > 0) explain(totals.first_seed, class);
    }
    if (totals.unexpected > 0)
        check(false, "faults \"%s\": %llu worlds broke another rule than it does",
              sim_class_text(class), (unsigned long long)totals.unexpected);
    check_class_traffic(class, &totals);
    sim_totals_add(sum, &totals);
}

static uint64_t worlds_of(enum sim_class class, uint64_t worlds)
{
    if (sim_class_has_slots(class)) return SLOTS_TIMES * worlds;
    return sim_class_is_fair(class) ? FAIR_TIMES * worlds : worlds;
}

static void run_classes(uint64_t worlds, struct sim_totals *sum)
{
    const unsigned before = failed;
    puts("| faults | promised | worlds | violations | example seed |\n|---|---|---|---|---|");
    for (unsigned class = 0; class < SIM_CLASS_COUNT; class++)
        run_class((enum sim_class)class, worlds_of((enum sim_class)class, worlds), sum);
    check(failed == before, "every class of faults has the verdict that is expected of it");
}

static void run_ci(struct sim_totals *sum)
{
    const struct batch pinned = { .class = SIM_CLASS_COUNT, .first = 1, .count = CI_PINNED };
    const struct batch fresh = {
        .class = SIM_CLASS_COUNT, .first = (uint64_t)time(NULL) * FRESH_SEEDS, .count = CI_FRESH
    };
    struct sim_totals totals = run_promised("pinned seeds", &pinned);
    sim_totals_add(sum, &totals);
    totals = run_promised("fresh seeds", &fresh);
    sim_totals_add(sum, &totals);
    check_traffic(sum);
    run_classes(CI_CLASS_WORLDS, sum);
    check_paths(sum);
    check_rules(sum);
}

/* Turns of all faults at once, and of each promised class that is not among them. */
static void run_soak(unsigned seconds, struct sim_totals *sum)
{
    const time_t now = time(NULL);
    const uint64_t first = (uint64_t)now * FRESH_SEEDS;
    struct batch batch = { .first = first, .until = now + (time_t)seconds };
    for (unsigned turn = SIM_CLASS_COUNT; has_time(&batch); turn++) {
        if (turn > SIM_CLASS_COUNT) turn = SIM_CLASS_ALL + 1;
        if (turn < SIM_CLASS_COUNT && !sim_class_is_promised((enum sim_class)turn)) continue;
        batch.class = (enum sim_class)turn;
        batch.count = turn == SIM_CLASS_COUNT ? SOAK_MIXED : SOAK_CLASS;
        const struct sim_totals totals = run_batch(&batch);
        explain_violations(&totals, batch.class);
        sim_totals_add(sum, &totals);
        batch.first += batch.count;
    }
    check_unbroken("fresh seeds", first, sum);
    /* Some faults do not occur, and some rules have no cases, within a few seconds. */
    if (sum->worlds < CI_PINNED) return;
    check_traffic(sum);
    check_rules(sum);
}

/* Runs worlds in a broken build, one after the other, until one breaks a rule. */
static void run_canary(const struct batch *of, unsigned cpu_s, bool tells)
{
    const struct batch batch = {
        .class = of->class, .first = of->first, .count = FOR_EVER, .stops = true, .cpu_s = cpu_s,
        .world_cpu_s = CANARY_WORLD_CPU_S
    };
    jobs = 1;
    const struct sim_totals totals = run_batch(&batch);
    check(totals.violations > 0, "%s after %llu worlds and %.1f s: %s",
          totals.violations > 0 ? "caught" : "not caught", (unsigned long long)totals.worlds,
          cpu_seconds(), broken);
    if (totals.violations > 0 && tells) explain(totals.first_seed, of->class);
}

/* ---- The command line ---- */

struct wishes {
    const char *mode;
    unsigned seconds;
    bool has_worlds;
    struct batch batch;
};

static bool read_number(const char *text, uint64_t *number)
{
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    *number = strtoull(text, &end, 10);
    return *end == '\0';
}

/* A class by its name, or by its number, as worlds are told with; as many as there are for all. */
static bool read_class(struct wishes *wishes, const char *value)
{
    uint64_t number;
    if (!value) return false;
    if (!read_number(value, &number)) {
        wishes->batch.class = sim_class_of_name(value);
        return wishes->batch.class != SIM_CLASS_COUNT;
    }
    if (number <= SIM_CLASS_COUNT) wishes->batch.class = (enum sim_class)number;
    return number <= SIM_CLASS_COUNT;
}

static bool read_wish(struct wishes *wishes, const char *name, const char *value)
{
    uint64_t number;
    if (strcmp(name, "--class") == 0) return read_class(wishes, value);
    if (!read_number(value, &number)) return false;
    if (strcmp(name, "--seed") == 0)
        wishes->batch.first = number;
    else if (strcmp(name, "--worlds") == 0)
        wishes->batch.count = number, wishes->has_worlds = true;
    else if (strcmp(name, "--jobs") == 0 && number > 0 && number <= JOBS_MAX)
        jobs = (unsigned)number;
    else if (strcmp(name, "--soak") == 0 || strcmp(name, "--mutant") == 0)
        wishes->mode = name, wishes->seconds = (unsigned)number;
    else
        return false;
    return true;
}

static bool is_mode(const char *name)
{
    static const char *const modes[] = {
        "--tell", "--hashes", "--witness", "--classes", "--ci", "--canary", "--stories"
    };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(name, modes[i]) == 0) return true;
    return false;
}

static bool read_wishes(struct wishes *wishes, char **arguments)
{
    for (char **next = arguments; *next; next++) {
        if (is_mode(*next))
            wishes->mode = *next;
        else if (read_wish(wishes, next[0], next[1]))
            next++;
        else
            return false;
    }
    return true;
}

static void run_mode(const struct wishes *wishes)
{
    const time_t begun = time(NULL);
    struct sim_totals sum = { 0 };
    if (strcmp(wishes->mode, "--soak") != 0)
        printf("seeds from %llu on, %u at a time\n", (unsigned long long)wishes->batch.first, jobs);
    if (strcmp(wishes->mode, "--classes") == 0)
        run_classes(wishes->has_worlds ? wishes->batch.count : CLASS_WORLDS, &sum);
    else if (strcmp(wishes->mode, "--ci") == 0)
        run_ci(&sum);
    else if (strcmp(wishes->mode, "--soak") == 0)
        run_soak(wishes->seconds, &sum);
    else
        sum = run_promised("worlds", &wishes->batch);
    print_counts(&sum);
    print_totals(&sum, difftime(time(NULL), begun));
}

int main(int argc, char **argv)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct wishes wishes = {
        .mode = "", .batch = { .class = SIM_CLASS_COUNT, .first = 1, .count = WORLDS }
    };
    jobs = processors < 1 ? 1 : processors > JOBS_MAX ? JOBS_MAX : (unsigned)processors;
    if (argc < 1 || !read_wishes(&wishes, argv + 1)) {
        fputs(usage, stderr);
        return 2;
    }
    if (strcmp(wishes.mode, "--hashes") == 0) return print_hashes(&wishes.batch);
    if (strcmp(wishes.mode, "--witness") == 0) return call_witness(&wishes.batch);
    if (strcmp(wishes.mode, "--tell") == 0)
        return tell_world(
                   &(struct sim_plan){ .seed = wishes.batch.first, .class = wishes.batch.class })
                   ? 1
                   : 0;
    if (strcmp(wishes.mode, "--stories") == 0)
        check(sim_tell_stories() == 0, "every story ends as it must");
    else if (strcmp(wishes.mode, "--canary") == 0)
        run_canary(&wishes.batch, CANARY_CPU_S, true);
    else if (strcmp(wishes.mode, "--mutant") == 0)
        run_canary(&wishes.batch, wishes.seconds, false);
    else
        run_mode(&wishes);
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0 ? 1 : 0;
}
