# Makes tables of the results of tools/bench/run, from lines "row round client json".
#
# A client's figure is the median of its rounds. A ratio is the median of the ratios within each round, whose two
# runs were neighbours; after it, in brackets, the smallest and the largest of them tell how much to believe it.

{
    row = $1; round = $2; client = $3
    rounds = round > rounds ? round : rounds
    take("acq_p50_us"); take("acq_p99_us"); take("rel_p50_us"); take("rel_p99_us"); take("cycles_per_s"); take("fail")
    value[row, round, client, "cpu"] = field("cpu_user_us") + field("cpu_sys_us")
    if (row ~ /^(waiters|shares|order)/) take_waiters()
    if (row ~ /^keeper/) keeper = $0
    has_row[row] = 1
    if (row ~ /^(kinds|permits)/) kind[row] = $0
}

function field(name,    at) {
    at = index($0, "\"" name "\":")
    return at ? substr($0, at + length(name) + 3) + 0 : 0
}

function take(name) { value[row, round, client, name] = field(name) }

# The time in round trips, too, by those of the same run.
function take_waiters(    trip) {
    trip = field("round_trip_us")
    value[row, round, client, "trip"] = trip
    value[row, round, client, "handover"] = field("handover_p50_us")
    value[row, round, client, "attempt"] = field("attempt_p50_us")
    value[row, round, client, "trips"] = field("handover_p50_us") / trip
    value[row, round, client, "trips_p99"] = field("handover_p99_us") / trip
    take("rounds"); take("least_share"); take("cycles"); take("cpu_us")
    take("wait_p99_ms"); take("wait_longest_ms"); take("passed_most"); take("starved"); take("commands"); take("server_cpu_us")
    has_kind[row, client] = 1
    runs[row] = round
}

function sort(a, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = a[i]
        for (j = i - 1; j >= 1 && a[j] > x; j--) a[j + 1] = a[j]
        a[j + 1] = x
    }
}

function middle(a, n) {
    sort(a, n)
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}

# Median over the rounds.
function median(row, client, name,    i, a) {
    for (i = 1; i <= rounds; i++) a[i] = value[row, i, client, name]
    return middle(a, rounds)
}

# Median, over the rounds, of one row's and client's value to another's. Sets low and high.
function ratio(row, client, row2, client2, name,    i, a, below, middling) {
    for (i = 1; i <= rounds; i++) {
        below = value[row2, i, client2, name]
        a[i] = below > 0 ? value[row, i, client, name] / below : 0
    }
    middling = middle(a, rounds)
    low = a[1]; high = a[rounds]
    return middling
}

function spread(r) { return sprintf("%.2f [%.2f %.2f]", r, low, high) }

# A ratio that should not be above 1 + percent, and one that should not be below 1 - percent.
function at_most(r, percent,    allowed) {
    allowed = 1 + percent / 100
    return r <= allowed ? "ok" : sprintf("missed by %.0f %%", (r / allowed - 1) * 100)
}

function at_least(r, percent,    allowed) {
    allowed = 1 - percent / 100
    return r >= allowed ? "ok" : sprintf("missed by %.0f %%", (1 - r / allowed) * 100)
}

function latency_row(label, row, client, kind,    p50, p99, r50, r99, text) {
    p50 = kind "_p50_us"; p99 = kind "_p99_us"
    r50 = ratio(row, client, row, "raw", p50); text = spread(r50)
    r99 = ratio(row, client, row, "raw", p99)
    printf "  %-22s %8.1f %8.1f  %-18s %8.1f %8.1f  %-18s %s\n", label, median(row, "raw", p50), median(row, client, p50),
           text, median(row, "raw", p99), median(row, client, p99), spread(r99), at_most(r50, LATENCY_PERCENT)
}

function latency_table(    n, i, nodes) {
    printf "\nOne lock at a time, microseconds. Budget: the median within %d %% of raw.\n", LATENCY_PERCENT
    printf "  %-22s %8s %8s  %-18s %8s %8s  %-18s %s\n", "", "raw", "redlock", "ratio", "raw p99", "redlock", "ratio", "median"
    n = split("1 3 5", nodes, " ")
    for (i = 1; i <= n; i++) latency_row("acquire, N=" nodes[i], "latency/" nodes[i], "redlock", "acq")
    for (i = 1; i <= n; i++) latency_row("release, N=" nodes[i], "latency/" nodes[i], "redlock", "rel")
    latency_row("acquire, N=5, blocking", "latency/5", "redlock-blocking", "acq")
    latency_row("release, N=5, blocking", "latency/5", "redlock-blocking", "rel")
}

function ticket_table(    n, i, nodes) {
    printf "\nThe same with a ticket, beside raw sockets that send the same. Budget: the median within %d %% of raw.\n", LATENCY_PERCENT
    printf "  %-22s %8s %8s  %-18s %8s %8s  %-18s %s\n", "", "raw", "redlock", "ratio", "raw p99", "redlock", "ratio", "median"
    n = split("1 3 5", nodes, " ")
    for (i = 1; i <= n; i++) latency_row("acquire, N=" nodes[i], "ticket/" nodes[i], "redlock", "acq")
    for (i = 1; i <= n; i++) latency_row("release, N=" nodes[i], "ticket/" nodes[i], "redlock", "rel")
    printf "  What a ticket costs, redlock with it to redlock without:"
    for (i = 1; i <= n; i++)
        printf "%s acquire, N=%d: %s", (i > 1 ? ";" : ""), nodes[i],
               spread(ratio("ticket/" nodes[i], "redlock", "latency/" nodes[i], "redlock", "acq_p50_us"))
    print ""
}

function tls_table() {
    printf "\nThe same through TLS, N=5, beside the same bytes through the same library by hand. Budget: the median within %d %%.\n",
           LATENCY_PERCENT
    printf "  %-22s %8s %8s  %-18s %8s %8s  %-18s %s\n", "", "by hand", "redlock", "ratio", "hand p99", "redlock", "ratio", "median"
    latency_row("acquire, TLS", "tls/5", "redlock", "acq")
    latency_row("release, TLS", "tls/5", "redlock", "rel")
    printf "  What TLS costs, with it to without: acquire by hand: %s;", spread(ratio("tls/5", "raw", "latency/5", "raw", "acq_p50_us"))
    printf " by redlock: %s\n", spread(ratio("tls/5", "redlock", "latency/5", "redlock", "acq_p50_us"))
}

function throughput_row(locks,    row, r) {
    row = "throughput/" locks
    r = ratio(row, "redlock", row, "raw", "cycles_per_s")
    printf "  %22d %8.0f %8.0f  %-18s %8.2f %8.2f  %-18s %s\n", locks, median(row, "raw", "cycles_per_s"),
           median(row, "redlock", "cycles_per_s"), spread(r), median(row, "raw", "cpu"), median(row, "redlock", "cpu"), "",
           at_least(r, THROUGHPUT_PERCENT)
}

function throughput_table(    n, i, locks) {
    printf "\nLocks in flight in one engine, N=5, cycles of acquire and release a second. Budget: within %d %% of raw.\n",
           THROUGHPUT_PERCENT
    printf "  %22s %8s %8s  %-18s %8s %8s  %-18s %s\n", "locks", "raw", "redlock", "ratio", "raw CPU", "redlock", "(us a cycle)", ""
    n = split("1 16 64 256", locks, " ")
    for (i = 1; i <= n; i++) throughput_row(locks[i])
}

# A row beside the same client without events.
function events_row(label, row, name, client,    r) {
    r = ratio(row, client, row, "redlock", name)
    printf "  %-30s %8.1f %8.1f  %-18s %s\n", label, median(row, "redlock", name), median(row, client, name), spread(r),
           name == "cycles_per_s" ? at_least(r, EVENTS_PERCENT) : at_most(r, EVENTS_PERCENT)
}

function events_table() {
    printf "\nWith a ring of events that is read after each step, N=5. Budget: within %d %% of redlock without.\n", EVENTS_PERCENT
    printf "  %-30s %8s %8s  %s\n", "", "without", "with", "ratio"
    events_row("acquire, us", "latency/5", "acq_p50_us", "redlock-events")
    events_row("release, us", "latency/5", "rel_p50_us", "redlock-events")
    events_row("64 locks, cycles/s", "throughput/64", "cycles_per_s", "redlock-events")
    events_row("64 locks, us of CPU", "throughput/64", "cpu", "redlock-events")
    events_row("the kinds that metrics need", "throughput/64", "cpu", "redlock-metrics")
}

# redlock with that trouble to redlock without; and the same for raw, which shows the effect of fewer,
# or busier, servers by themselves.
function trouble_row(label, row, well, name,    r, text, raw, raw_text) {
    r = ratio(row, "redlock", well, "redlock", name); text = spread(r)
    raw = ratio(row, "raw", well, "raw", name); raw_text = spread(raw)
    printf "  %-30s %9.1f %9.1f  %-18s  %-18s %s\n", label, median(well, "redlock", name), median(row, "redlock", name), text,
           raw_text, row ~ /^again/ ? "(what equals differ by)" : trouble_verdict(name, r, raw)
}

function trouble_verdict(name, r, raw,    verdict, of_raw) {
    verdict = name == "cycles_per_s" ? at_least(r, SAME_PERCENT) : at_most(r, SAME_PERCENT)
    of_raw = name == "cycles_per_s" ? at_least(raw, SAME_PERCENT) : at_most(raw, SAME_PERCENT)
    return verdict == "ok" || of_raw == "ok" ? verdict : verdict " (raw " of_raw ")"
}

function trouble_rows(label, row) {
    row = row "/1"
    trouble_row(label ", acquire median", row, "latency/5", "acq_p50_us")
    trouble_row(label ", acquire p99", row, "latency/5", "acq_p99_us")
    trouble_row(label ", release median", row, "latency/5", "rel_p50_us")
    trouble_row(label ", release p99", row, "latency/5", "rel_p99_us")
}

function trouble_table() {
    printf "\nOne node of five in trouble, microseconds. Budget: no difference, that is within %d %%.\n", SAME_PERCENT
    printf "  %-30s %9s %9s  %-18s  %-18s\n", "", "all well", "trouble", "ratio", "ratio of raw"
    trouble_rows("none", "again")
    trouble_rows("refused", "refused")
    trouble_rows("hung", "hung")
    trouble_rows("begins to hang", "hangs")
    trouble_rows("slow", "slow")
    trouble_row("refused, 64 locks, cycles/s", "refused/64", "throughput/64", "cycles_per_s")
    trouble_row("begins to hang, 64 locks", "hangs/64", "throughput/64", "cycles_per_s")
    trouble_row("slow, 64 locks", "slow/64", "throughput/64", "cycles_per_s")
    print "  (hung: stopped before it is connected to. slow: stopped for 20 ms, again and again.)"
}

# The median of so many rounds as there were of this row.
function run_median(row, client, name,    all, m) {
    all = rounds
    rounds = runs[row]
    m = median(row, client, name)
    rounds = all
    return m
}

function goal(is_met) { return is_met ? "ok" : "missed" }

function waiters_row(count, kind,    row, trips, spent) {
    row = "waiters/" count
    trips = run_median(row, kind, "trips")
    spent = run_median(row, kind, "rounds")
    printf "  %7s  %-9s %10.0f %10.0f %10.0f %10.2f %8.2f %8.2f %7.2f %8.0f  %s\n", count, kind, run_median(row, kind, "trip"),
           run_median(row, kind, "attempt"), run_median(row, kind, "handover"), trips, run_median(row, kind, "trips_p99"), spent,
           run_median(row, kind, "least_share"), run_median(row, kind, "cpu_us"),
           kind == "polling" ? "" : (count ~ /^8/ ? "hand-over " goal(trips <= 3) ", " : "") "attempts " goal(spent <= 2)
}

function waiters_table(    n, i, counts) {
    print "\nWaiters on one resource, N=3, held for 5 ms, all but one waiting. Goals, when they listen: 3 round trips at the median"
    print "with 8 waiters from the call that releases to the next holder, 2 attempts an acquisition."
    printf "  %7s  %-9s %10s %10s %10s %10s %8s %8s %7s %8s\n", "waiters", "", "round trip", "last round", "hand-over", "in trips",
           "p99", "attempts", "least", "CPU"
    n = split("2 8 8-in-1 64 512", counts, " ")
    for (i = 1; i <= n; i++) {
        waiters_row(counts[i], "listening")
        waiters_row(counts[i], "polling")
    }
    print "  (microseconds. 8-in-1: in one process. round trip: an acquire of one client alone, before and after. last round: of"
    print "  those who won. least: the smallest part that one got of a fair share. CPU: of all waiters, for one acquisition.)"
    printf "  Of %d acquisitions by 8 waiters the smallest share is %.2f of a fair one when they listen (goal: 0.50), %s;\n",
           value["shares/8", 1, "listening", "cycles"], value["shares/8", 1, "listening", "least_share"],
           goal(value["shares/8", 1, "listening", "least_share"] >= 0.5)
    printf "  %.2f when they poll.\n", value["shares/8", 1, "polling", "least_share"]
}

# The most of all rounds.
function most(row, client, name,    i, m) {
    for (i = 1; i <= runs[row]; i++) m = value[row, i, client, name] > m ? value[row, i, client, name] : m
    return m + 0
}

# A row beside wake-ups, in the same round.
function beside(row, client, name,    all, r) {
    all = rounds
    rounds = runs[row]
    r = ratio(row, client, row, "listening", name)
    rounds = all
    return spread(r)
}

function order_row(row, label, kind) {
    if (!has_kind[row, kind]) return
    printf "  %7s  %-9s %8.1f  %-16s %9.0f %9.0f %7d %7d %9.1f %9.0f  %-16s\n", label, kind, run_median(row, kind, "cycles_per_s"),
           kind == "listening" ? "" : beside(row, kind, "cycles_per_s"), run_median(row, kind, "wait_p99_ms"),
           most(row, kind, "wait_longest_ms"), most(row, kind, "passed_most"), most(row, kind, "starved"),
           run_median(row, kind, "commands"), run_median(row, kind, "server_cpu_us"),
           kind == "listening" ? "" : beside(row, kind, "server_cpu_us")
}

function order_table(    n, m, i, k, counts, kinds) {
    print "\nWaiters on one resource, N=3, held for 5 ms, one of them five times as far away as the others: wake-ups in order of arrival"
    print "(listening), strict order (fair), and polling."
    printf "  %7s  %-9s %8s  %-16s %9s %9s %7s %7s %9s %9s  %-16s\n", "waiters", "", "a second", "to listening", "p99 wait",
           "longest", "passed", "nothing", "commands", "CPU", "to listening"
    n = split("2 8 64 512", counts, " ")
    m = split("listening fair polling", kinds, " ")
    for (i = 1; i <= n; i++)
        for (k = 1; k <= m; k++) order_row("order/" counts[i], counts[i], kinds[k])
    printf "  %d acquisitions by 8:\n", value["shares/8", 1, "listening", "cycles"]
    for (k = 1; k <= m; k++) order_row("shares/8", 8, kinds[k])
    print "  (a second: acquisitions. Waits are milliseconds, with those that had no end yet. passed: how many got in, at most, before"
    print "  one that was queued when they began to wait. nothing: so many waiters got. commands, and microseconds of CPU of the three"
    print "  servers: for one acquisition.)"
}

function kind_row(label, row) {
    $0 = kind[row]
    printf "  %-24s %10.1f", label, field("cycles_per_s")
    if (field("readers") > 0) printf " %8d %12.1f %12.1f", field("most_at_once"), field("reader_longest_ms"), field("writer_longest_ms")
    print ""
}

function permits_row(pair,    part, share) {
    $0 = kind["permits/" pair]
    split(pair, part, "/")
    share = 100 * field("held_share") * (part[1] > part[2] ? part[1] / part[2] : 1)
    printf "  %7d %7d %8.2f %8.0f %%  attempts %s, rate %s\n", part[1], part[2], field("rounds"), share, goal(field("rounds") <= 1.5),
           goal(share >= 85)
}

function kinds_table(    n, i, pairs) {
    print "\nTen clients that hold a lock for 5 ms and wait for it again, N=3: acquisitions a second, holders at once, the longest wait"
    print "of a reader and of a writer in milliseconds."
    kind_row("ten writers", "kinds/plain")
    kind_row("8 readers, 2 writers", "kinds/shared")
    print "\nPermits, held for 50 ms, N=3. Goals: 1.5 attempts an acquisition, 85 % of the rate at which all are always held."
    printf "  %7s %7s %8s %10s\n", "permits", "clients", "attempts", "rate"
    n = split("4/2 4/4 4/32 10/10 10/30", pairs, " ")
    for (i = 1; i <= n; i++) permits_row(pairs[i])
}

function keeper_row() {
    $0 = keeper
    printf "\n%d locks with a TTL of %d ms kept by one engine, N=5: %.0f extensions a second, %.1f %% of one core, at most %d of\n",
           field("concurrency"), field("ttl_ms"), field("extensions_per_s"), 100 * field("cpu_share"), field("most_in_10_ms")
    printf "them begun within 10 ms (evenly it would be %.0f); %d lost.\n", field("extensions_per_s") / 100, field("lost")
}

function failures(    key, part, sum) {
    for (key in value) {
        split(key, part, SUBSEP)
        if (part[4] == "fail") sum[part[3]] += value[key]
    }
    printf "\nAcquisitions that failed, in all rounds: raw %d, redlock %d.\n", sum["raw"], sum["redlock"]
}

END {
    LATENCY_PERCENT = 15        # Percent of raw, above.
    THROUGHPUT_PERCENT = 25     # Percent of raw, below.
    EVENTS_PERCENT = 2          # Percent of the same without them.
    SAME_PERCENT = 10           # The worst difference between two runs of the same.
    if (has_row["latency/1"])  all_tables()
    else if (has_row["tls/5"]) tls_table()
    else                       order_table()
    if (!has_row["order/8"] || has_row["latency/1"]) failures()
}

function all_tables() {
    latency_table()
    ticket_table()
    if (has_row["tls/5"]) tls_table()
    throughput_table()
    events_table()
    trouble_table()
    waiters_table()
    order_table()
    kinds_table()
    keeper_row()
}
