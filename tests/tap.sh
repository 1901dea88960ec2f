# shellcheck shell=sh
# TAP for test scripts in sh. Use: . tests/tap.sh; check "what must be so" COMMAND...; skip "what" "why not"; finish
tap_count=0
tap_failed=0

# The point is good when the command succeeds. Its output is shown if it does not.
check() {
    tap_name=$1
    shift
    tap_count=$((tap_count + 1))
    if tap_said=$("$@" 2>&1); then
        echo "ok $tap_count - $tap_name"
    else
        tap_failed=$((tap_failed + 1))
        [ -z "$tap_said" ] || echo "$tap_said" | sed 's/^/# /'
        echo "not ok $tap_count - $tap_name"
    fi
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

finish() {
    echo "1..$tap_count"
    [ "$tap_failed" = 0 ]
}
