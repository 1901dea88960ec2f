#!/bin/sh
# shellcheck disable=SC2034    # lib.sh uses it.
# The lock of redis-py, which is one of a single server, and ours on one node.
cd "$(dirname "$0")/../.." || exit 1
. tests/interop/exclusion.sh
python=$(tools/need --print python3-redis) || exit 1

start_servers 1
use redis-py
check_exclusion
finish
