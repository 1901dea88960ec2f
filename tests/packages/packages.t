#!/bin/sh
# shellcheck disable=SC2016,SC2086    # Variables of make and of CMake; CC may be several words.
# Every form in which the library is handed out, made and then used from where it was put, with a lock
# on real servers each time.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

: "${CC:=cc}" "${MAKE:=make}"
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD CFLAGS CPPFLAGS LDFLAGS V PREFIX DESTDIR INCLUDEDIR LIBDIR BINDIR MANDIR SHAREDIR UNITDIR
start_servers 3

top=$PWD
made=$directory/made
installed=$directory/installed
version=$(sed -n 's/^.define REDLOCK_VERSION "\(.*\)"/\1/p' redlock/redlock.h)
makes() { "$MAKE" -s CC="$CC" BUILD="$made" "$@"; }

# locks PROGRAM...: it says that it had the lock, and its version.
locks() {
    said=$("$@" "$nodes") || return 1
    echo "$said"
    [ "$said" = "done with $version" ]
}

# ---- A shared library ----

exports_are_those_listed() {
    makes shared && nm -D --defined-only "$made/libredlock.so.${version%.*}" >"$directory/exported" &&
        awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' "$directory/exported" | LC_ALL=C sort | diff tests/packages/symbols -
}
has_its_name() {
    readelf -d "$made/libredlock.so.${version%.*}" | grep -q "soname: \[libredlock.so.${version%.*}\]"
}
check 'the shared library exports what tests/packages/symbols lists, and nothing else' exports_are_those_listed
check 'its soname is that of the minor version' has_its_name

# ---- Installed, and moved away ----

is_moved() {
    makes PREFIX=/opt/redlock DESTDIR="$directory/root" install >/dev/null && mv "$directory/root/opt/redlock" "$installed"
}
shared_is_installed_beside_it() {
    makes PREFIX="$installed" install-shared
}
pkg_config_finds_it() {
    flags=$(PKG_CONFIG_PATH=$installed/lib/pkgconfig pkg-config --define-variable=prefix="$installed" --static --cflags --libs redlock) &&
        $CC -o "$directory/by-pkg-config" tests/packages/program.c $flags && locks "$directory/by-pkg-config"
}
cmake_finds_it() {
    cp -R tests/packages "$directory/newcomer" &&
        cmake -S "$directory/newcomer" -B "$directory/cmake" -DCMAKE_PREFIX_PATH="$installed" &&
        cmake --build "$directory/cmake" && locks "$directory/cmake/newcomer" && locks "$directory/cmake/newcomer-shared"
}
another_minor_version_is_refused() {
    sed "s/find_package(redlock 0.2/find_package(redlock $1/" tests/packages/CMakeLists.txt >"$directory/newcomer/CMakeLists.txt"
    ! cmake -S "$directory/newcomer" -B "$directory/cmake-$1" -DCMAKE_PREFIX_PATH="$installed" >"$directory/out" 2>&1 &&
        grep -q "version: $version" "$directory/out"
}
check 'it is installed, and its tree moved' is_moved
check 'pkg-config --static finds it' pkg_config_finds_it
check 'the shared library is installed beside it' shared_is_installed_beside_it
check 'find_package of CMake finds both libraries' cmake_finds_it
check 'find_package refuses an older minor version' another_minor_version_is_refused 0.1
check 'find_package refuses a later one' another_minor_version_is_refused 0.99

# ---- A tar ----

# A vendor has it so, with no repository around it.
tar_is_always_the_same() {
    makes dist && (cd "$made" && sha256sum --check --quiet "redlock-$version.tar.gz.sha256") && cp "$made/redlock-$version.tar.gz" "$directory/first" &&
        git clone -q --no-local . "$directory/clone" && "$MAKE" -s -C "$directory/clone" BUILD="$directory/other" dist &&
        cmp "$directory/first" "$directory/other/redlock-$version.tar.gz" && tar -C "$directory" -xzf "$directory/first"
}
# Three commands from the tar to a lock in a project of one's own; the tests of the tar are those of the tree.
# If a namespace without network may not be made, nothing asks the network either; only nobody sees that.
offline=
if unshare --net --map-root-user true 2>/dev/null; then offline='unshare --net --map-root-user'; fi
tar_builds_offline() {
    cd "$directory/redlock-$version" && $offline "$MAKE" -s NEED_INSTALL=no CC="$CC" BUILD=build all &&
        [ "$(build/redlock --version)" = "redlock $version" ] && build/redlock run --guard 0 --node-timeout 10s door -- true
}
check 'the tar is the same from two clones, and its checksum is right' tar_is_always_the_same
check 'the tar builds without network, and locks' tar_builds_offline

# Only the program, the tar, and the guide's words are used.
newcomer_needs_three_commands() {
    mkdir "$directory/three" && cp "$directory/first" "$directory/three/redlock-$version.tar.gz" && cp tests/packages/program.c "$directory/three" &&
        block 'newcomer: CMakeLists.txt' >"$directory/three/CMakeLists.txt" &&
        block 'newcomer: commands' | sed "s/host1,host2,host3/$nodes/" >"$directory/three/commands" &&
        [ "$(grep -c . "$directory/three/commands")" = 3 ] && cd "$directory/three" && sh -e ./commands >out && cat out &&
        grep -qx "done with $version" out
}
check 'from the tar to a lock in a CMake project of their own newcomers need three commands' newcomer_needs_three_commands

# ---- Others' ways of building ----

meson_takes_it_as_a_subproject() {
    cp -R tests/packages "$directory/meson" && mkdir "$directory/meson/subprojects" &&
        cp -R "$directory/redlock-$version" "$directory/meson/subprojects/redlock" &&
        cp tools/packages/meson/meson.build "$directory/meson/subprojects/redlock" &&
        meson setup "$directory/meson/build" "$directory/meson" && ninja -C "$directory/meson/build" && locks "$directory/meson/build/newcomer"
}
check 'meson takes it as a subproject' meson_takes_it_as_a_subproject

# Does what Buildroot does with a package of that kind, by its commands, in the unpacked tar.
buildroot_calls_are_right() {
    mkdir -p "$directory/target" "$directory/staging" &&
        cp -R "$directory/redlock-$version" "$directory/buildroot" && rm -rf "$directory/buildroot/build" &&
        sed 's/\$(@D)/./g; s/^\$(eval \$(generic-package))$/all:\n\t$(REDLOCK_BUILD_CMDS)\n\t$(REDLOCK_INSTALL_STAGING_CMDS)\n\t$(REDLOCK_INSTALL_TARGET_CMDS)/' \
            tools/packages/buildroot/redlock.mk >"$directory/buildroot/package.mk" &&
        printf "TARGET_CONFIGURE_OPTS = CC='%s'\nINSTALL = install\nSTAGING_DIR = %s\nTARGET_DIR = %s\ninclude package.mk\n" \
            "$CC" "$directory/staging" "$directory/target" >"$directory/buildroot/buildroot.mk" &&
        "$MAKE" -s -C "$directory/buildroot" -f buildroot.mk all && [ -f "$directory/staging/usr/include/redlock.h" ] &&
        "$directory/target/usr/bin/redlock" run --guard 0 --node-timeout 10s door -- true
}
check 'what Buildroot calls builds and installs it' buildroot_calls_are_right

# OpenWrt's, with stand-ins for the files that it includes.
openwrt_calls_are_right() {
    mkdir -p "$directory/openwrt/include" && : >"$directory/openwrt/rules.mk" && : >"$directory/openwrt/include/package.mk" &&
        cp -R "$directory/redlock-$version" "$directory/openwrt/tree" && rm -rf "$directory/openwrt/tree/build" &&
        { sed '$d' tools/packages/openwrt/Makefile; printf 'all:\n\t$(Build/Compile)\n\t$(call Package/redlock/install,$(ROOT))\n'; } >"$directory/openwrt/Makefile" &&
        "$MAKE" -s -C "$directory/openwrt" TOPDIR="$directory/openwrt" INCLUDE_DIR="$directory/openwrt/include" PKG_BUILD_DIR=tree \
            TARGET_CC="$CC" TARGET_AR=ar TARGET_CFLAGS=-Os INSTALL_DIR='install -d' INSTALL_BIN='install -m 755' ROOT="$directory/openwrt/root" all &&
        "$directory/openwrt/root/usr/bin/redlock" run --guard 0 --node-timeout 10s door -- true
}
check 'what OpenWrt calls builds and installs it' openwrt_calls_are_right

versions_agree() {
    grep -qx "REDLOCK_VERSION = $version" tools/packages/buildroot/redlock.mk && grep -qx "PKG_VERSION:=$version" tools/packages/openwrt/Makefile &&
        grep -qx "REDLOCK_${version%.*} {" tools/packages/exports
}
check 'all of them name the version of the header' versions_agree

# ---- Debian ----

deb_is_clean() {
    makes deb && lintian --allow-root --fail-on error,warning "$made"/deb/*.changes
}
deb_locks() {
    for package in redlock libredlock-dev; do
        dpkg-deb -x "$made"/deb/${package}_*.deb "$directory/debian" || return 1
    done
    "$directory/debian/usr/bin/redlock" run --guard 0 --node-timeout 10s door -- true &&
        $CC -o "$directory/by-deb" -I"$directory/debian/usr/include" tests/packages/program.c "$directory"/debian/usr/lib/*/libredlock.a -pthread &&
        locks "$directory/by-deb"
}
check 'lintian finds nothing in the Debian packages' deb_is_clean
check 'what is in them locks' deb_locks

cd "$top" || exit 1
finish
