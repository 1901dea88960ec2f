// A lock taken from Node.js, with the engine as WebAssembly, and the sockets in JavaScript. Any host of
// WebAssembly can do the same.
//
//     make amalgamation                                       (in redlock's tree: redlock.h and redlock.c; copy them here)
//     clang --target=wasm32 -Os -mbulk-memory -ffreestanding -nostdlib -fno-builtin-bcmp -I. -Wl,--no-entry -Wl,--strip-all -Wl,--gc-sections -ffunction-sections -o lock.wasm lock.c redlock.c
//     node lock.mjs 127.0.0.1:6379 127.0.0.1:6380 127.0.0.1:6381
//
// Shows: the engine asks nobody for anything. JavaScript moves bytes, reads the clock and brings random
// bytes, and lock.c beside this file passes them to the engine. A module of 32 KB, without imports. The
// module of the playground has this engine, too. If build/world.wasm of "make playground" is copied
// here as lock.wasm, it takes the same lock on the same servers.
//
// To change: GUARD_MS, which must be longer than the longest TTL of any client; and main(). The clock
// of Node.js stands still while the machine sleeps, so a lock may seem valid after that. On machines
// that sleep, extend the lock before you rely on it.
import { readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { randomFillSync } from 'node:crypto';

const GUARD_MS = 30000, TTL_MS = 10000, WAIT_MS = 5000;
const WANT = { CONNECT: 1, SEND: 2, RECEIVE: 4, CLOSE: 8 };
const OK = 0, PENDING = 30;

const addresses = process.argv.slice(2).map((address) => {
    const colon = address.lastIndexOf(':');
    return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
});
const { instance } = await WebAssembly.instantiate(await readFile(new URL('lock.wasm', import.meta.url)), {});
const engine = instance.exports;
const now = () => performance.now() * 1000;
const bytes = (at, size) => new Uint8Array(engine.memory.buffer, at, size);

const sockets = addresses.map(() => null);
let waiting = [];               // Waits for something to become true, as [question, answer].
let timer = null;

// ---- Bytes ----

function connect(k) {
    const socket = createConnection(addresses[k]);
    const isCurrent = () => sockets[k] === socket;

    sockets[k] = socket;
    socket.setNoDelay(true);
    socket.on('connect', () => { if (isCurrent()) { engine.connected(k, now()); turn(); } });
    socket.on('data', (data) => { if (isCurrent()) { receive(k, data); turn(); } });
    socket.on('error', () => {});           // 'close' follows.
    socket.on('close', () => { if (isCurrent()) { sockets[k] = null; engine.disconnected(k, now()); turn(); } });
}

// The clock is read after the bytes (S2), so the validity counts until then.
function receive(k, data) {
    while (data.length > 0 && engine.wants(k) & WANT.RECEIVE) {
        const at = engine.input(k), size = Math.min(engine.returned_size(), data.length);
        bytes(at, size).set(data.subarray(0, size));
        engine.received(k, size, now());
        data = data.subarray(size);
    }
}

// Node.js takes everything at once; bytes that the network has not taken wait there.
function send(k) {
    for (;;) {
        const at = engine.output(k), size = engine.returned_size();
        if (size === 0) return;
        sockets[k].write(bytes(at, size).slice());
        engine.sent(k, size);
    }
}

function hangUp(k) {
    const socket = sockets[k];

    sockets[k] = null;
    socket?.destroy();
    engine.disconnected(k, now());
}

function serve(k) {
    if (engine.wants(k) & WANT.CLOSE) hangUp(k);
    if (engine.wants(k) & WANT.CONNECT && !sockets[k]) connect(k);
    if (engine.wants(k) & WANT.SEND) send(k);
}

// ---- Time: a turn whenever something has happened, and when the engine wants one ----

function turn() {
    const wanted = engine.entropy_wanted();

    if (wanted > 0) {
        randomFillSync(bytes(engine.entropy_buffer(), wanted));
        engine.add_entropy(wanted);
    }
    engine.tick(now());
    for (let k = 0; k < addresses.length; k++) serve(k);
    clearTimeout(timer);
    timer = setTimeout(turn, Math.min(Math.max(Math.ceil((engine.wake_at() - now()) / 1000), 0), 1000));
    waiting = waiting.filter(([question, answer]) => !question() || answer());
}

const until = (question) => new Promise((resolve) => { waiting.push([question, () => { resolve(); return false; }]); turn(); });

// ---- The lock, with promises ----

async function finished(status) {
    if (status === OK) await until(() => engine.status() !== PENDING);
    return status === OK ? engine.status() : status;
}

function text(status) {
    const at = engine.status_text(status), all = bytes(at, 200);
    return new TextDecoder().decode(all.slice(0, all.indexOf(0)));
}

function acquire(name) {
    const { written } = new TextEncoder().encodeInto(name, bytes(engine.name_buffer(), 64));
    return finished(engine.acquire(written, TTL_MS, WAIT_MS, now()));
}

const validMs = () => Math.floor(engine.valid_us(now()) / 1000);

async function main() {
    const opened = engine.open(addresses.length, GUARD_MS, now());
    let status = opened === OK ? await acquire('door') : opened;

    console.log(`acquire: ${text(status)}, valid for ${validMs()} ms`);
    if (status !== OK) return status;
    status = await finished(engine.extend(TTL_MS, now()));
    console.log(`extend: ${text(status)}, valid for ${validMs()} ms`);
    status = await finished(engine.release(now()));
    console.log(`release: ${text(status)}`);
    await until(() => engine.is_idle());        // Slow nodes get the release, too.
    return status;
}

process.exit(await main());
