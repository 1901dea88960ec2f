#!/bin/sh
# shellcheck disable=SC2034    # redisson.sh uses it.
# A lock with Java. Threads lock as Redisson does, by scripts of our own, and the command does. "make
# interop" has Redisson itself, where there is one.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/redisson.sh

thread='perl tests/live/redisson.pl' lease_s=3
check_java
finish
