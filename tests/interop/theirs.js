#!/usr/bin/env node
// Redlock libraries of the npm registry, made to hold a lock for a test, or to fight for one.
//
//     theirs.js LIBRARY NODES hold RESOURCE TTL WAIT      RESOURCE: one, or several with commas between; TTL, WAIT: ms
//     theirs.js LIBRARY NODES fight RESOURCE DIRECTORY
//
// "hold" prints "held TOKEN" and stays, or "refused" and goes. SIGUSR1 makes it extend the lock ("extended" or "lost"), SIGTERM
// release it ("released" or "lost") and go. fight.t describes "fight".
'use strict';

const fs = require('fs');
const Redis = require('ioredis');

const RETRY_MS = 5;
const PATIENCE_MS = 10000;

// The times of a fight, see fight.t.
const TTL_MS = 20000, SHORT_TTL_MS = 100;
const LEFT_EVERY = 10, EXTENDED_EVERY = 5, PAUSE_MS = 10;

// ---- The libraries ----
//
// Each has a function that tries to take the lock, once or for wait_ms, by the library's own retries.
// It gives the lock, or null when it was refused. Any other failure ends the program.

async function unlessRefused(promise) {
    try {
        return await promise;
    } catch (error) {
        if (['LockError', 'ExecutionError'].includes(error.constructor.name)) return null;
        throw error;
    }
}

// acquire and release are the names in this version of node-redlock.
function nodeRedlock(Redlock, acquire, release, clients) {
    return async (resources, ttl, wait) => {
        const retries = { retryCount: Math.ceil(wait / RETRY_MS), retryDelay: RETRY_MS, retryJitter: RETRY_MS / 2 };
        const redlock = new Redlock(clients, retries).on('error', () => {});
        let lock = await unlessRefused(redlock[acquire](resources, ttl));
        return lock && {
            token: lock.value,
            async extend(more) {
                const extended = await unlessRefused(lock.extend(more));
                lock = extended || lock;
                return extended !== null;
            },
            // Version 5 is content with a quorum, so the others have not been told yet.
            release: () => unlessRefused(lock[release]().then((result) => Promise.all(result ? result.attempts : []))),
        };
    };
}

function redisSemaphore(RedlockMutex, clients) {
    return async ([resource], ttl, wait) => {
        const name = resource.replace(/^mutex:/, '');      // The library puts it before each name by itself.
        const options = { refreshInterval: 0, retryInterval: RETRY_MS, acquireTimeout: wait + PATIENCE_MS,
            acquireAttemptsLimit: 1 + Math.ceil(wait / RETRY_MS) };
        const mutex = new RedlockMutex(clients, name, { ...options, lockTimeout: ttl });
        return await mutex.tryAcquire() ? {
            token: mutex.identifier,
            extend: (more) => new RedlockMutex(clients, name,
                { ...options, lockTimeout: more, externallyAcquiredIdentifier: mutex.identifier }).tryAcquire(),
            release: () => mutex.release().then(() => true),   // It does not tell whether there was anything to release.
        } : null;
    };
}

const libraries = {
    'redlock-4': (clients) => nodeRedlock(require('redlock-4'), 'lock', 'unlock', clients),
    'redlock-5': (clients) => nodeRedlock(require('redlock-5').default, 'acquire', 'release', clients),
    'redis-semaphore': (clients) => redisSemaphore(require('redis-semaphore').RedlockMutex, clients),
};

// A node that is down is an error at once.
async function connect(nodes) {
    const clients = nodes.split(',').map((node) => new Redis(`redis://${node}`,
        { lazyConnect: true, enableOfflineQueue: false, maxRetriesPerRequest: 0 }).on('error', () => {}));
    await Promise.all(clients.map((client) => client.connect()));
    return clients;
}

// ---- What is done with them ----

async function hold(take, resource, ttl, wait) {
    const lock = await take(resource.split(','), +ttl, +wait);
    if (!lock) {
        console.log('refused');
        process.exit(0);
    }
    process.on('SIGUSR1', async () => console.log(await lock.extend(+ttl) ? 'extended' : 'lost'));
    process.on('SIGTERM', async () => {
        console.log(await lock.release() ? 'released' : 'lost');
        process.exit(0);
    });
    setInterval(() => {}, PATIENCE_MS);     // Or the program would be at its end.
    console.log('held', lock.token);
}

const nowUs = () => Number(process.hrtime.bigint() / 1000n);
const nap = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// The whole process sleeps between the read and the write.
function increment(directory) {
    const value = +fs.readFileSync(`${directory}/counter`, 'utf8');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    fs.writeFileSync(`${directory}/counter`, `${value + 1}\n`);
}

function writeDown(directory, ...words) {
    fs.appendFileSync(`${directory}/journal`, `${words.join(' ')}\n`);
}

async function holdOnce(take, who, number, resource, directory) {
    const isLeft = number % LEFT_EVERY === LEFT_EVERY - 1, isExtended = number % EXTENDED_EVERY === 0;
    const ttl = isLeft ? SHORT_TTL_MS : TTL_MS, begun = nowUs();
    const lock = await take([resource], ttl, 0);
    if (!lock) return false;
    const from = nowUs();
    if (isLeft) {
        writeDown(directory, who, from, begun + 990 * ttl - 2000, 0);   // Its drift is 1 % of the TTL and 2 ms.
        return true;
    }
    increment(directory);
    // A node that dies may take a bare quorum with it, and then neither this nor the release is confirmed.
    const isHeld = !isExtended || await lock.extend(ttl);
    if (isHeld) increment(directory);
    writeDown(directory, who, from, nowUs(), isHeld ? 2 : 1);
    await lock.release();
    return true;
}

async function fight(take, who, resource, directory) {
    let number = 0;
    while (!fs.existsSync(`${directory}/stop`)) {
        if (await holdOnce(take, who, number, resource, directory)) number++;
        await nap(Math.random() * PAUSE_MS);
    }
    process.exit(0);
}

async function main([library, nodes, verb, ...rest]) {
    const take = libraries[library](await connect(nodes));
    if (verb === 'hold') await hold(take, ...rest);
    if (verb === 'fight') await fight(take, library, ...rest);
}

main(process.argv.slice(2)).catch((error) => {
    console.log(error);
    process.exit(1);
});
