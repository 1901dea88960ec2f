# shellcheck shell=sh disable=SC2016,SC2034,SC2086,SC2154    # What lib.sh defines. $program is several words.
# Shared by these tests, for another library and ours on the same nodes. For each of the libraries a
# test sets $library and $program, with which theirs.js or theirs.py begins, and starts $count servers.
. tests/live/lib.sh

build=${BUILD:-build}
NODE_PATH=$build/interop/node_modules
export NODE_PATH

# If the packages are not available, the test ends, and says why.
need_packages() {
    [ ! -e "$build/interop/unreachable" ] || { echo "1..0 # SKIP $(cat "$build/interop/unreachable")"; exit 0; }
    [ -d "$NODE_PATH" ] || { echo "Bail out! there is no $NODE_PATH: run make interop"; exit 1; }
}

# use LIBRARY: plain, ticket and set are ours.
use() {
    library=$1
    case $library in
    plain | ticket | set) program="$build/interop_ours $library" ;;
    redis-py) program="$python tests/interop/theirs.py $library" ;;
    *)        program="node tests/interop/theirs.js $library" ;;
    esac
}
