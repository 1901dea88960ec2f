#!/bin/sh
# The alert rules in tools/monitoring, by Prometheus's opinion of them, and by series that must and must
# not make each of them fire.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

rules=tools/monitoring/redlock.rules.yml
tests=tools/monitoring/redlock.rules.test.yml
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM

sed -n 's/^ *- alert: //p' $rules >"$made/alerts"
# Prints for each test of an alert its name, and whether it must fire.
awk '/alertname: / { tell(); name = $0; sub(/.*alertname: /, "", name); sub(/,.*/, "", name) }
    /exp_alerts:/ { fires = "fires" }
    function tell() { if (name != "") print name, fires; fires = "silent" }
    END { tell() }' $tests >"$made/tested"

check 'Prometheus accepts the rules' promtool check rules $rules
check 'each alert fires where it must, and nowhere else' promtool test rules $tests

each_is_tested() {
    [ "$(wc -l <"$made/alerts")" -gt 15 ] || return 1
    while read -r alert; do
        grep -qx "$alert fires" "$made/tested" || { echo "no test lets $alert fire"; return 1; }
        grep -qx "$alert silent" "$made/tested" || { echo "no test shows $alert silent before it fires"; return 1; }
    done <"$made/alerts"
}
check 'each alert is seen to fire, and seen not to' each_is_tested

# changed SCRIPT: prints the tests' opinion of the rules changed so. They must fail.
changed() {
    sed "$1" $rules >"$made/redlock.rules.yml"
    cp $tests "$made/tests.yml"
    ! cmp -s $rules "$made/redlock.rules.yml" && promtool check rules "$made/redlock.rules.yml" >/dev/null &&
    ! promtool test rules "$made/tests.yml" >"$made/said" 2>&1
}
each_matters() {
    changed 's/alert: .*/&X/' || return 1
    while read -r alert; do
        grep -q "alertname: $alert," "$made/said" || { echo "nobody misses $alert"; return 1; }
    done <"$made/alerts"
}
check 'an alert that is missing is missed' each_matters
check 'the tests notice a quorum that is rounded up' changed 's|/ 2) + 1|/ 2) + 2|'
check 'the tests notice clusters that are taken together' changed 's/without (node) (redlock_node_votes)/without (node, cluster) (redlock_node_votes)/'
check 'the tests notice that old figures count' changed 's/timestamp_seconds < 300/timestamp_seconds < 3000/'
check 'the tests notice a rate over all outcomes' changed 's/,\{0,1\}outcome="ok"//'
check 'the tests notice a node without a limit of memory' changed 's/(redlock_node_memory_max_bytes > 0)/redlock_node_memory_max_bytes/'
check 'the tests notice a clock of which only one side counts' changed 's/abs(redlock_node_clock_offset_seconds)/redlock_node_clock_offset_seconds/'

redlock=${REDLOCK:-build/redlock}
options_are_known() {
    { "$redlock" run --help=all && "$redlock" exporter --help; } >"$made/options" || return 1
    # shellcheck disable=SC2013    # Options are words.
    for option in $(grep -oE -- '--[a-z]+(-[a-z]+)*' $rules | sort -u); do
        grep -qE -- "^ +(-., )?$option\\b" "$made/options" || { echo "there is no $option"; return 1; }
    done
}
check 'each option that the rules name is one' options_are_known

finish
