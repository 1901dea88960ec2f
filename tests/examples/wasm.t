#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# wasm/: the engine as WebAssembly under Node.js, on real servers.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need clang wasm-ld node || exit 1
start_servers 3
addresses=$(echo "$nodes" | tr , ' ')

# Builds it by the command in its head, beside the files that it names.
builds_module() {
    tools/amalgamate "$directory/amalgamation" && cp tools/examples/wasm/* "$directory/amalgamation/redlock.h" "$directory/amalgamation/redlock.c" \
        "$directory/copy" && command=$(sed -n 's|^// *\(clang .*\)|\1|p' tools/examples/wasm/lock.mjs) && [ -n "$command" ] &&
        cd "$directory/copy" && sh -ec "$command -Wall -Wextra -Werror"
}
is_small() { [ "$(wc -c <"$directory/copy/lock.wasm")" -le 36864 ] || { wc -c "$directory/copy/lock.wasm"; return 1; }; }
# The servers began just now, so with the guard they have no vote.
has_no_guard() { sed -i.old 's/GUARD_MS = 30000/GUARD_MS = 0/' "$directory/copy/lock.mjs" && grep -q 'GUARD_MS = 0' "$directory/copy/lock.mjs"; }
asks_nobody() { node -e 'process.exit(WebAssembly.Module.imports(new WebAssembly.Module(require("fs").readFileSync(process.argv[1]))).length)' "$directory/copy/lock.wasm"; }

check 'it builds by its own command' builds_module
check 'the module has at most 36 KiB' is_small
check 'and imports nothing' asks_nobody
check 'the guard can be changed' has_no_guard
# shellcheck disable=SC2086    # Addresses are several words.
runs_it() { runs "$1" node lock.mjs $addresses; }
check 'it takes, extends and releases a lock' runs_it 0
check 'it was acquired' prints '^acquire: done, valid for [1-9][0-9]* ms$'
check 'it was extended' prints '^extend: done, valid for [1-9][0-9]* ms$'
check 'it was released' prints '^release: done$'
check 'nothing is left behind' nothing_is_left

# One engine in the page, in the simulator and in the field.
mv "$directory/copy/lock.wasm" "$directory/copy/own.wasm" && cp "${WORLD:-$top/build/world.wasm}" "$directory/copy/lock.wasm" || exit 1
check "the playground's module, with the same lock.mjs, takes, extends and releases a lock on real servers" runs_it 0
check 'and says so' prints '^acquire: done, valid for 9[0-9]* ms$'
check 'it too imports nothing' asks_nobody
check 'it too leaves nothing behind' nothing_is_left
mv "$directory/copy/own.wasm" "$directory/copy/lock.wasm" || exit 1
on 1 KILL
over "$pid_1"
check 'one of three servers may be away' runs_it 0
on 2 KILL
over "$pid_2"
sed -i.old 's/WAIT_MS = 5000/WAIT_MS = 100/' "$directory/copy/lock.mjs"
check 'two may not' runs_it 3
check 'and that is told' prints '^acquire: not acquired within the time to wait, valid for 0 ms$'
finish
