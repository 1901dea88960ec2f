#!/bin/sh
# shellcheck disable=SC1091    # tap.sh
# Tests the Makefile in a copy of the tree, in a folder with a blank in its name: the files that it
# makes, where it puts them, and the files that it leaves alone.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

: "${CC:=cc}" "${MAKE:=make}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD CPPFLAGS V PREFIX DESTDIR INCLUDEDIR LIBDIR BINDIR MANDIR SHAREDIR UNITDIR INSTALL NEED_INSTALL

tree="$scratch/a tree"
other="$scratch/another tree, of a longer name"
root="$scratch/dest dir"

copy_trees() {
    for copy in "$tree" "$other"; do
        mkdir "$copy" && cp -R Makefile redlock resp net "$copy" && mkdir "$copy/tests" "$copy/tools" &&
            cp -R tools/redlock tools/admin tools/man tools/bench tools/completions tools/systemd tools/monitoring tools/packages tools/size "$copy/tools" && cp -R tests/compilers "$copy/tests" || return 1
        # shellcheck disable=SC2016    # The script is to expand it.
        printf '#!/bin/sh\necho "need: ${NEED_INSTALL-}"\nexit 1\n' >"$copy/tools/need"
        chmod 755 "$copy/tools/need"
    done
}

makes() {
    "$MAKE" -s -C "$tree" CC="$CC" CFLAGS='-O0 -g' LDFLAGS= SANITIZE= "$@"
}

says_to_use_gnu_make() {
    said=$(cd "$tree" && bmake "$@" 2>&1) && return 1
    echo "$said"
    [ "$(echo "$said" | grep -c 'This Makefile is for GNU make, so say: gmake$')" = 1 ]
}

# installed FILE...: these files are below the root, and no others.
installed() {
    (cd "$root" && find . ! -type d | sort) >"$scratch/found"
    printf './%s\n' "$@" | sort | diff - "$scratch/found"
}

installs_all_below_a_blank() {
    makes DESTDIR="$root" PREFIX=/usr install &&
        installed usr/include/redlock.h usr/include/redlock_client.h usr/include/redlock_fence.h usr/include/redlock_keeper.h \
            usr/include/redlock_metrics.h usr/include/redlock_reentrant.h usr/include/redlock_sentinel.h usr/include/redlock_transport.h \
            usr/include/redlock_loop.h usr/include/redlock_loop_epoll.h usr/include/redlock_loop_glib.h usr/include/redlock_loop_libev.h usr/include/redlock_loop_libuv.h \
            usr/include/redlock.hpp usr/lib/libredlock.a usr/lib/pkgconfig/redlock.pc \
            usr/lib/cmake/redlock/redlock-config.cmake usr/lib/cmake/redlock/redlock-config-version.cmake \
            usr/bin/redlock usr/bin/redlock-admin \
            usr/share/man/man1/redlock.1 usr/share/man/man1/redlock-admin.1 usr/share/man/man3/redlock.3 usr/share/man/man7/redlock.7 \
            usr/share/bash-completion/completions/redlock usr/share/bash-completion/completions/redlock-admin \
            usr/share/zsh/site-functions/_redlock usr/share/fish/vendor_completions.d/redlock.fish \
            usr/share/fish/vendor_completions.d/redlock-admin.fish 'usr/lib/systemd/system/redlock-run@.service' \
            usr/lib/systemd/system/redlock-exporter.service usr/lib/systemd/system/redlock-exporter-file.service \
            usr/lib/systemd/system/redlock-exporter-file.timer usr/share/redlock/monitoring/redlock.rules.yml \
            usr/share/redlock/monitoring/redlock.dashboard.json usr/share/redlock/monitoring/redlock.crontab &&
        grep -q ' root /usr/bin/redlock exporter ' "$root/usr/share/redlock/monitoring/redlock.crontab" &&
        grep -q '^ExecStart=/usr/bin/redlock run ' "$root/usr/lib/systemd/system/redlock-run@.service"
}

# The files as make install leaves them can be used by its group and others too.
can_be_used_by_all() {
    [ "$(find "$root" ! -type d -perm -444 | wc -l)" -eq 36 ] &&
        [ "$(find "$root" ! -type d -perm -111 | sort | tr '\n' :)" = "$root/usr/bin/redlock:$root/usr/bin/redlock-admin:" ]
}

nothing_is_left() {
    makes DESTDIR="$root" "$@" uninstall && [ -z "$(find "$root" ! -type d)" ]
}

installs_the_library_alone() {
    makes DESTDIR="$root" INCLUDEDIR=/opt/inc LIBDIR=/usr/lib64 MANDIR=/opt/man PREFIX=/usr install-lib &&
        installed opt/inc/redlock.h opt/inc/redlock_client.h opt/inc/redlock_fence.h opt/inc/redlock_keeper.h \
            opt/inc/redlock_metrics.h opt/inc/redlock_reentrant.h opt/inc/redlock_sentinel.h opt/inc/redlock_transport.h \
            opt/inc/redlock_loop.h opt/inc/redlock_loop_epoll.h opt/inc/redlock_loop_glib.h opt/inc/redlock_loop_libev.h opt/inc/redlock_loop_libuv.h \
            opt/inc/redlock.hpp usr/lib64/libredlock.a usr/lib64/pkgconfig/redlock.pc \
            usr/lib64/cmake/redlock/redlock-config.cmake usr/lib64/cmake/redlock/redlock-config-version.cmake opt/man/man3/redlock.3 opt/man/man7/redlock.7
}

pkg_config_names_the_folders() {
    file="$root/usr/lib64/pkgconfig/redlock.pc"
    # shellcheck disable=SC2016    # That is for pkg-config.
    grep -qx 'prefix=/usr' "$file" && grep -qx 'includedir=/opt/inc' "$file" && grep -qx 'libdir=${prefix}/lib64' "$file" &&
        ! grep '@' "$file"
}

installs_the_command_alone() {
    makes DESTDIR="$root" PREFIX=/usr BINDIR=/usr/sbin SHAREDIR=/opt/share UNITDIR= install-bin &&
        installed usr/sbin/redlock usr/sbin/redlock-admin usr/share/man/man1/redlock.1 usr/share/man/man1/redlock-admin.1 \
            usr/share/man/man7/redlock.7 opt/share/bash-completion/completions/redlock \
            opt/share/bash-completion/completions/redlock-admin opt/share/zsh/site-functions/_redlock \
            opt/share/fish/vendor_completions.d/redlock.fish opt/share/fish/vendor_completions.d/redlock-admin.fish \
            opt/share/redlock/monitoring/redlock.rules.yml opt/share/redlock/monitoring/redlock.dashboard.json \
            opt/share/redlock/monitoring/redlock.crontab
}

installs_with_another_program() {
    printf '#!/bin/sh\necho "$@" >>"%s"\n' "$scratch/asked" >"$scratch/install"
    chmod 755 "$scratch/install"
    makes DESTDIR="$root" INSTALL="$scratch/install" install && [ "$(grep -c '^-m ' "$scratch/asked")" = 12 ]
}

# The debugging information that a compiler writes into objects would name the folder.
is_the_same_from_another_path() {
    "$MAKE" -s -C "$other" CC="$CC" CFLAGS='-O0 -g' LDFLAGS= SANITIZE= build/libredlock.a build/redlock >/dev/null || return 1
    for file in $(cd "$other/build" && find . -name '*.o') libredlock.a redlock; do
        cmp "$tree/build/$file" "$other/build/$file" || return 1
    done
}

# may_install YES-OR-NO TARGET [NAME=VALUE]: the target tells tools/need this.
may_install() {
    expected="need: $1"
    shift
    said=$(makes "$@" 2>&1)
    echo "$said"
    echo "$said" | grep -qxF "$expected"
}

# refuses_tls WHICH
refuses_tls() {
    said=$("$MAKE" -n -C "$tree" TLS="$1" 2>&1) && return 1
    echo "$said" | grep -q "TLS=$1: there are TLS=openssl and TLS=mbedtls"
}

# Builds as tcc does.
# shellcheck disable=SC2016    # That is for the compiler.
builds_without_dependency_files() {
    printf '#!/bin/sh\nfor word; do [ "$word" != -MMD ] || { echo "invalid option -- -MMD"; exit 1; }; done\nexec %s "$@"\n' "$CC" >"$scratch/simple"
    chmod 755 "$scratch/simple"
    made() { makes CC="$scratch/simple" BUILD=simply simply/libredlock.a; }
    made && [ -z "$(find "$tree/simply" -name '*.d')" ] || return 1
    : >"$scratch/built"
    made && [ -z "$(find "$tree/simply" -name '*.o' -newer "$scratch/built")" ] || return 1
    touch "$tree/redlock/private.h"
    made && [ -n "$(find "$tree/simply" -name unity_core.o -newer "$scratch/built")" ]
}

# Such as a CD, or the project of somebody else.
names_build() {
    : >"$tree/no-folder"
    said=$(makes BUILD=no-folder/build all 2>&1) && return 1
    echo "$said"
    echo "$said" | grep -q "^make: nothing can be written to no-folder/build. .* make BUILD=/tmp/redlock$"
}

check 'the tree can be copied' copy_trees
check 'where nothing can be written BUILD is named' names_build
check 'TLS by a library for which there is nothing is refused' refuses_tls gnutls
check 'TLS by two libraries at once is refused' refuses_tls 'openssl mbedtls'
if command -v bmake >/dev/null; then
    check 'BSD make makes nothing, and says to use GNU make' says_to_use_gnu_make
    check 'BSD make installs nothing either' says_to_use_gnu_make install
else
    skip 'BSD make makes nothing, and says to use GNU make' 'no bmake here'
    skip 'BSD make installs nothing either' 'no bmake here'
fi
check 'a compiler that writes no files of dependencies will do, and knows when a header has changed' builds_without_dependency_files
check 'all can be installed below a folder with a blank in its name' installs_all_below_a_blank
check 'everybody may read what was installed, and run the command' can_be_used_by_all
check 'uninstall removes all of it' nothing_is_left PREFIX=/usr
check 'the library can be installed alone, in other folders' installs_the_library_alone
check "pkg-config's file names these folders" pkg_config_names_the_folders
check 'uninstall finds them there' nothing_is_left INCLUDEDIR=/opt/inc LIBDIR=/usr/lib64 MANDIR=/opt/man PREFIX=/usr
check 'the command can be installed alone' installs_the_command_alone
check 'uninstall finds that, too' nothing_is_left PREFIX=/usr BINDIR=/usr/sbin SHAREDIR=/opt/share UNITDIR=
check 'another program can install' installs_with_another_program
if echo 'int x;' | $CC -ffile-prefix-map=a=b -E -x c - >/dev/null 2>&1; then
    check 'what is built does not depend on where' is_the_same_from_another_path
else
    skip 'what is built does not depend on where' "$CC does not know -ffile-prefix-map"
fi
for target in size bench lint; do
    check "make $target does not install a package unasked" may_install no $target
done
check 'make size does where it is asked to' may_install yes size NEED_INSTALL=yes
check 'the demo may install what it needs' may_install yes demo
check 'but not where that is forbidden' may_install no demo NEED_INSTALL=no
export NEED_INSTALL=no
check 'nor where the environment forbids it' may_install no demo
finish
