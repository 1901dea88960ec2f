#!/bin/sh
# shellcheck disable=SC2034,SC2154    # redisson.sh uses it; lib.sh defines it.
# Redisson and ours on one node. Its jar, with all that it needs, is not fetched. REDISSON_JAR names it
# (as redisson-all-4.7.0.jar).
cd "$(dirname "$0")/../.." || exit 1
. tests/live/redisson.sh

jar=${REDISSON_JAR:-/usr/share/java/redisson-all.jar}
if ! command -v javac >/dev/null 2>&1 || ! [ -f "$jar" ]; then
    echo "1..0 # SKIP there is no javac, or no Redisson: REDISSON_JAR names its jar"
    exit 0
fi
javac -cp "$jar" -d "$directory/java" tests/interop/Theirs.java || exit 1
# A program that starts 20 Java machines, one after the other, is slow; so is one of them while it starts.
limit_s=280
thread="java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp $jar:$directory/java Theirs" lease_s=10
check_java
finish
