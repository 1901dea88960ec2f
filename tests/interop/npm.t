#!/bin/sh
# Redlock libraries of the npm registry and ours, on the same three nodes, one at a time, step by step.
cd "$(dirname "$0")/../.." || exit 1
. tests/interop/exclusion.sh
need_packages

# Theirs is on a and b, ours on b and c.
sets_exclude_each_other() {
    at sets
    ab=$door-a,$door-b c=$door-c
    door=$ab they_try 0
    they_say held && is 124 acquire --guard 0 -r "$door-b" -r "$c" && [ -z "$(everywhere GET "$c" | sort -u)" ] &&
    tell_them TERM && over $them && they_say released &&
    within 10 is 0 acquire --guard 0 -t 60s -r "$door-b" -r "$c" || return 1
    door=$ab they_try 0
    over $them && they_say refused && [ -z "$(everywhere GET "$door-a" | sort -u)" ]
}

start_servers 3
for library in redlock-4 redlock-5 redis-semaphore; do
    use $library
    check_exclusion
done
for library in redlock-4 redlock-5; do
    use $library
    check "$library: its lock of several resources and ours exclude each other when they overlap" sets_exclude_each_other
done
finish
