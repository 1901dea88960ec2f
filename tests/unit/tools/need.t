#!/bin/sh
# shellcheck disable=SC1091    # tap.sh
# Tests tools/need on made-up machines. A folder is all of PATH, and contains a package manager and a user.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

unset REDIS_SERVER
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# machine MANAGER USER-ID: makes one with the commands that every system has, without a sudo. The
# manager installs nothing but a command "sqlite3".
machine() {
    rm -rf "${scratch:?}/bin"
    mkdir "$scratch/bin"
    for tool in sh grep mktemp rm cat chmod env; do ln -s "$(command -v $tool)" "$scratch/bin/$tool"; done
    put id "echo $2"
    [ "$1" = none ] || put "$1" "echo $1 \"\$@\" >>$scratch/installed
        case \"\$*\" in *sqlite*) printf '#!/bin/sh\n' >$scratch/bin/sqlite3; chmod 755 $scratch/bin/sqlite3; exit ;; esac
        echo 'E: no such package'; exit 1"
    : >"$scratch/installed"
}

put() {
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
    chmod 755 "$scratch/bin/$1"
}

allowed=yes
# says STATUS TEXT COMMAND...: tools/need ends with this status, and with these words on stderr and nothing else.
says() {
    expected="$1: $2"
    shift 2
    said=$(PATH="$scratch/bin" NEED_INSTALL=$allowed tools/need "$@" 2>&1)
    said="$?: $said"
    [ "$said" = "$expected" ] || { printf 'said      %s\nexpected  %s\n' "$said" "$expected"; return 1; }
}

installed() { [ "$(cat "$scratch/installed")" = "$1" ] || { cat "$scratch/installed"; return 1; }; }

machine apt-get 1000
check 'nothing is said when nothing is missing' says 0 '' sh grep
check 'without leave to install a person reads one line, with one command for all that is missing' says 1 \
    'tools/need: missing: redis-server psql arm-none-eabi-gcc; to install them, say as root: apt-get install redis-server postgresql-client gcc-arm-none-eabi libnewlib-arm-none-eabi' \
    sh redis-server psql grep arm-none-eabi-gcc
check 'and nothing was tried' installed ''

check 'a library is named by its header, and missing by its package' says 1 \
    'tools/need: missing: uv.h ev.h glib.h sqlite3.h; to install them, say as root: apt-get install libuv1-dev libev-dev libglib2.0-dev libsqlite3-dev' \
    uv.h ev.h glib.h sqlite3.h

machine apk 1000
check "the command is the manager's own: apk" says 1 \
    'tools/need: missing: sqlite3; to install them, say as root: apk add sqlite' sqlite3
machine pacman 1000
check "the command is the manager's own: pacman, and it names a package once" says 1 \
    'tools/need: missing: nm strip; to install them, say as root: pacman -S binutils' nm strip

machine apt-get 1000
check 'one package has both tools of Prometheus, and is named once' says 1 \
    'tools/need: missing: promtool prometheus; to install them, say as root: apt-get install prometheus' promtool prometheus

machine apt-get 1000
check 'compilers for other processors come with their C libraries, and all emulators of programs in one package' says 1 \
    'tools/need: missing: s390x-linux-gnu-gcc arm-linux-gnueabihf-gcc qemu-ppc qemu-s390x; to install them, say as root: apt-get install gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user' \
    s390x-linux-gnu-gcc arm-linux-gnueabihf-gcc qemu-ppc qemu-s390x

machine apt-get 1000
put valkey-server ''
check 'where Valkey alone is installed it is the server' says 0 valkey-server --print redis-server
put redis-server ''
check 'of both Redis is the server' says 0 redis-server --print redis-server
export REDIS_SERVER=valkey-server
check 'unless REDIS_SERVER names the other' says 0 "$scratch/bin/valkey-server" --print redis-server
export REDIS_SERVER=/nowhere/redis-server
check 'what it names must be there, and nothing is installed instead' says 1 \
    "tools/need: REDIS_SERVER names '/nowhere/redis-server', which is no command here" redis-server
unset REDIS_SERVER

machine none 0
check 'without a package manager it says what to install' says 1 \
    'tools/need: missing: psql sqlite3, and a package manager that is known here: please install them' psql sqlite3

machine apk 0
for allowed in no ''; do
    check "nobody gets what is missing unasked (NEED_INSTALL=$allowed), not even root" says 1 \
        'tools/need: missing: sqlite3; to install them, say as root: apk add sqlite (or set NEED_INSTALL=yes)' sqlite3
done
check 'and nothing was tried' installed ''
allowed=yes
check 'root gets what is missing' says 0 'tools/need: missing: sqlite3; so this is done now, unless NEED_INSTALL=no: apk add sqlite' sh sqlite3
check 'with one call of the manager' installed 'apk add --no-cache sqlite'
check 'and once' says 0 '' sqlite3
check 'it tells the name of what it found' says 0 sqlite3 --print sqlite3
check 'what cannot be installed is named, with the reason' says 1 'tools/need: missing: shellcheck; so this is done now, unless NEED_INSTALL=no: apk add shellcheck
tools/need: missing: shellcheck, and apk could not install it (E: no such package); please try: apk add shellcheck' shellcheck
finish
