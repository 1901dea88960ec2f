#!/usr/bin/env python3
"""The lock of redis-py, which is one of a single server, made to do what theirs.js does.

    theirs.py redis-py NODE hold RESOURCE TTL WAIT
    theirs.py redis-py NODE fight RESOURCE DIRECTORY
"""
import os
import random
import signal
import sys
import time

import redis
from redis.exceptions import LockError
from redis.lock import Lock

RETRY_S = 0.005

# The times of a fight, see fight.t.
TTL_MS, SHORT_TTL_MS = 20000, 100
LEFT_EVERY, EXTENDED_EVERY, PAUSE_S = 10, 5, 0.01


def succeeds(call, *arguments):
    try:
        return call(*arguments) is not False
    except LockError:
        return False


def hold(client, resource, ttl_ms, wait_ms):
    lock = Lock(client, resource, timeout=int(ttl_ms) / 1000, sleep=RETRY_S)
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGUSR1, signal.SIGTERM))
    if not lock.acquire(blocking_timeout=int(wait_ms) / 1000):
        print("refused", flush=True)
        return
    print("held", lock.local.token.decode(), flush=True)
    while signal.sigwait((signal.SIGUSR1, signal.SIGTERM)) == signal.SIGUSR1:
        print("extended" if succeeds(lock.extend, int(ttl_ms) / 1000, True) else "lost", flush=True)
    print("released" if succeeds(lock.release) else "lost", flush=True)


def now_us():
    return time.monotonic_ns() // 1000


def increment(directory):
    with open(f"{directory}/counter") as file:
        value = int(file.read())
    time.sleep(0.001)
    with open(f"{directory}/counter", "w") as file:
        file.write(f"{value + 1}\n")


def write_down(directory, *words):
    with open(f"{directory}/journal", "a") as file:
        file.write(" ".join(map(str, words)) + "\n")


def hold_once(client, number, resource, directory):
    is_left, is_extended = number % LEFT_EVERY == LEFT_EVERY - 1, number % EXTENDED_EVERY == 0
    ttl_ms, begun = SHORT_TTL_MS if is_left else TTL_MS, now_us()
    lock = Lock(client, resource, timeout=ttl_ms / 1000)
    if not lock.acquire(blocking=False):
        return False
    since = now_us()
    if is_left:
        write_down(directory, "redis-py", since, begun + 990 * ttl_ms - 2000, 0)
        return True
    increment(directory)
    if is_extended:
        lock.extend(ttl_ms / 1000, True)
    increment(directory)
    write_down(directory, "redis-py", since, now_us(), 2)
    lock.release()
    return True


def fight(client, resource, directory):
    number = 0
    while not os.path.exists(f"{directory}/stop"):
        number += hold_once(client, number, resource, directory)
        time.sleep(random.uniform(0, PAUSE_S))


def main(node, verb, *rest):
    {"hold": hold, "fight": fight}[verb](redis.Redis.from_url(f"redis://{node}"), *rest)


main(*sys.argv[2:])
