# redlock: a distributed lock on N independent Redis servers. "make help" lists the targets. For GNU make, 3.81 or newer.
#
#   CC AR            the tools, for a cross build too: make CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
#   CFLAGS LDFLAGS   optimisation and the like; what the code needs is added to them
#   BUILD            where everything made goes: make BUILD=/tmp/redlock
#   PREFIX DESTDIR   where "install" puts things: $(DESTDIR)$(PREFIX)/include, lib, bin, share/man; or, below DESTDIR:
#   INCLUDEDIR LIBDIR BINDIR MANDIR SHAREDIR    for instance LIBDIR=/usr/lib64;  INSTALL: a program that takes the options of install
#   UNITDIR          where systemd looks for units, for instance /etc/systemd/system; empty: none is installed
#   NEED_INSTALL     yes: what a target needs and the system has not, tools/need installs;  no: never. Unless set, only the tests
#                    and the demo may install; all others say what to install.
#   TLS              openssl, mbedtls: library and commands take rediss:// addresses, and need that library; empty: neither
#   SANITIZE         for instance address,undefined
#   V=1              shows the commands;  QUICK=1: a benchmark of half a minute
#
# Tests, benchmarks and sources are found by their names, so a new file needs no line here.

# A BSD make ends here, with these words. For GNU make the line is a rule that is never used.
.DEFAULT_GOAL := all
.error ${:UThis Makefile is for GNU make, so say}: gmake

CFLAGS  ?= -O2 -g
BUILD   ?= build
PREFIX  ?= /usr/local
INSTALL ?= install
INCLUDEDIR ?= $(PREFIX)/include
LIBDIR     ?= $(PREFIX)/lib
BINDIR     ?= $(PREFIX)/bin
MANDIR     ?= $(PREFIX)/share/man
SHAREDIR   ?= $(PREFIX)/share
UNITDIR    ?= $(PREFIX)/lib/systemd/system

# Before 1.0 each minor version is an ABI of its own.
SOVERSION = $(basename $(VERSION))
VERSION  := $(shell sed -n 's/^.define REDLOCK_VERSION "\(.*\)"/\1/p' redlock/redlock.h)
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow
CHECKS   := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# The build thus does not depend on its folder; a compiler that does not know the option does without.
PREFIX_MAP := $(shell $(CC) -ffile-prefix-map=a=b -E -x c /dev/null >/dev/null 2>&1 && echo '"-ffile-prefix-map=$(CURDIR)=."')
# Files that say which headers an object depends on. If a compiler does not write them (tcc), each
# object depends on all headers.
DEPENDS  := $(shell $(CC) -MMD -MP -MF /dev/null -E -x c /dev/null >/dev/null 2>&1 && echo '-MMD -MP')
# Each function has a section of its own, so that a program's --gc-sections drops functions that it does
# not call. clang would turn memcmp into bcmp, which is one function more than the core may need.
COMPILE   = $(CC) -std=c11 $(WARNINGS) $(PREFIX_MAP) -ffunction-sections -fdata-sections -fno-builtin-bcmp $(CPPFLAGS) $(CFLAGS) $(CHECKS)
LINK      = $(CC) $(CFLAGS) $(CHECKS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS) $(TLS_LIBS)
Q         = $(if $(V),,@)

# ---- What there is ----

# The adapter for TLS, if it is asked for, and the libraries that are linked then. In a static program
# OpenSSL needs two more.
TLS_LIBS_openssl = -lssl -lcrypto $(if $(findstring -static,$(LDFLAGS)),-ldl -pthread)
TLS_LIBS_mbedtls = -lmbedtls -lmbedx509 -lmbedcrypto
TLS_ADAPTERS    := openssl mbedtls
ifneq ($(filter-out $(TLS_ADAPTERS),$(TLS))$(word 2,$(TLS)),)
$(error TLS=$(TLS): there are TLS=openssl and TLS=mbedtls, and without it a library that needs nothing)
endif
TLS_LIBS = $(TLS_LIBS_$(strip $(TLS)))

# The library is four objects. Each unity file includes the sources of its part and makes their functions static.
LIBRARY := redlock/unity_core.c redlock/unity_$(if $(TLS),tls_$(strip $(TLS)),client).c redlock/unity_keeper.c redlock/unity_metrics.c
PARTS   := $(wildcard resp/*.c) $(filter-out $(foreach tls,$(filter-out $(TLS),$(TLS_ADAPTERS)),net/net_$(tls).c),$(wildcard net/*.c)) \
           $(filter-out redlock/unity_%,$(wildcard redlock/*.c redlock/kinds/*.c))
COMMAND := $(if $(TLS),tools/tls/with_tls.c) $(filter-out $(if $(TLS),%/without_tls.c),$(wildcard tools/redlock/*.c)) $(wildcard resp/*.c)
ADMIN   := $(wildcard tools/admin/*.c)
FLOORED := $(sort $(wildcard tools/redlock/*.c) $(ADMIN))
BENCH   := $(filter-out $(foreach tls,$(filter-out $(TLS),$(TLS_ADAPTERS)),%/bench_$(tls).c),$(wildcard tools/bench/*.c))
MANUALS := $(wildcard tools/man/*.[1-8])
C_FILES := $(wildcard $(foreach folder,resp net net/* redlock redlock/* tools/* tools/*/* tests tests/* tests/unit/*,$(folder)/*.[ch]))
LUA     := $(wildcard redlock/kinds/*.lua tools/*/*.lua)
PROSE   := README.md CHANGELOG.md Makefile $(C_FILES) $(LUA) $(MANUALS) $(filter-out %/style.t,$(wildcard tests/*/*.t tests/unit/*/*.t tests/*/run))
# Files whose sentences are counted. The client and the command follow.
FOLDERS := $(patsubst %/,%,$(wildcard */*/ */*/*/ */*/*/*/))
COUNTED := README.md Makefile .ci/run $(filter-out $(FOLDERS) tools/man/% tools/redlock/%,\
    $(wildcard $(foreach folder,resp net net/* redlock redlock/* tests tests/* tests/unit/* tools tools/* tools/*/*,$(folder)/*)))
SCRIPTS  = $(shell grep -nE '^.!.*sh$$' .ci/run $(wildcard tests/* tests/*/* tests/unit/*/* tools/* tools/*/* tools/*/*/*) 2>/dev/null | sed -n 's/:1:.*//p')

# tests/unit/*/test_*.c look inside, so they are linked with the separately compiled parts; tests/live/test_*.c with the
# library. Other .c files beside them, and those of tests/world and tests/sim, are shared by the tests.
# *.t are test scripts.
UNIT_TESTS  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*/test_*.c)) $(wildcard tests/unit/*/*.t tests/history/*.t tests/proof/*.t tests/witness/*.t)
LIVE_TESTS  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/live/test_*.c)) $(wildcard tests/live/*.t)
UNIT_SHARED := $(filter-out $(wildcard tests/unit/*/test_*.c),$(wildcard tests/unit/*/*.c tests/world/*.c tests/sim/*.c))
LIVE_SHARED := $(filter-out tests/live/test_%,$(wildcard tests/live/*.c))
# Programs that the scripts run thousands of times.
LIVE_HELPERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/live/bin/*.c))

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

# ---- Library, command, test programs ----

.PHONY: all test test-unit test-live test-tls test-through-tls programs check-symbols check-floors compilers processors bare mutants faults sim soak stories witness explore \
        playground test-playground test-page guide test-guide chaos chaos-sentinel interop monitoring examples firmware fuzz coverage prove proof misra demo bench cost size amalgamation lint scripts \
        shared packages dist deb \
        install install-lib install-bin install-shared uninstall clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:

all: $(BUILD)/libredlock.a $(BUILD)/redlock $(BUILD)/redlock-admin

# Everything compiled depends on this file, which changes when the compiler or its flags do.
$(BUILD)/flags: FORCE
	@{ mkdir -p $(@D) && [ -w $(@D) ]; } || \
	    { echo 'make: nothing can be written to $(BUILD). Say where to build instead, for instance: make BUILD=/tmp/redlock' >&2; exit 1; }
	@echo '$(COMPILE) $(LDFLAGS) $(LDLIBS) $(TLS)' | cmp -s - $@ || echo '$(COMPILE) $(LDFLAGS) $(LDLIBS) $(TLS)' >$@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags $(if $(DEPENDS),,$(filter %.h,$(C_FILES)))
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(COMPILE) $(DEPENDS) -c -o $@ $<

# The parts check the engine's own books, see redlock/private.h; tests/world/invariants.c is one of them.
$(call object,$(filter redlock/%,$(PARTS))): override CPPFLAGS += -DREDLOCK_TEST_BUILD

# It has an example inside, which includes headers as users do.
$(BUILD)/obj/tests/live/test_serial.o: override CPPFLAGS += -Iredlock -Inet

# The tested code is optimised; a test program itself is compiled in a fifth of the time. (Fortifying needs optimisation.)
$(call object,$(wildcard tests/unit/*/test_*.c)) $(BUILD)/obj/tests/live/test_%.o: override CFLAGS += -O0 -U_FORTIFY_SOURCE

# A benchmark without TLS has no option for it.
$(if $(TLS),$(call object,$(BENCH)): override CPPFLAGS += -DBENCH_TLS)

# Tests that read directories do so on 32 bits, too, whatever numbers the files have.
$(call object,$(wildcard tests/unit/*/test_corpus_*.c)) $(BUILD)/obj/tests/live/test_torture.o: override CPPFLAGS += -D_FILE_OFFSET_BITS=64

$(BUILD)/%.a:
	@echo "  AR    $@"
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libredlock.a:       $(call object,$(LIBRARY))
$(BUILD)/libredlock_parts.a: $(call object,$(PARTS) tests/world/invariants.c)
$(BUILD)/libtests_unit.a:    $(call object,$(UNIT_SHARED))
$(BUILD)/libtests_live.a:    $(call object,$(LIVE_SHARED))

$(BUILD)/redlock:   $(call object,$(COMMAND)) $(BUILD)/libredlock.a
$(BUILD)/bench:     $(call object,$(BENCH))   $(BUILD)/libredlock.a
# The second command takes from the first the functions that it calls.
$(BUILD)/libcommand.a:  $(call object,$(filter-out tools/redlock/main.c tools/redlock/program.c,$(COMMAND)))
$(BUILD)/redlock-admin: $(call object,$(ADMIN)) $(BUILD)/libcommand.a $(BUILD)/libredlock.a
$(BUILD)/redlock $(BUILD)/redlock-admin $(BUILD)/bench:
	@echo "  LINK  $@"
	$(Q)$(LINK)

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libtests_unit.a $(BUILD)/libredlock_parts.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK)

# Nothing tests them, so they start without the work of sanitizers.
$(BUILD)/tests/live/bin/%: tests/live/bin/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(filter-out $(CHECKS),$(COMPILE)) $(LDFLAGS) -o $@ $<

# With TLS, the clients of the tests can be made to use it, see tests/tls/through.c.
ifneq ($(TLS),)
THROUGH_TLS = -Wl,--wrap=redlock_close,--wrap=$$(nm '$(BUILD)/libredlock.a' 2>/dev/null | sed -n 's/.* T \(redlock_open_[0-9_]*\)$$/\1/p')
endif
$(BUILD)/tests/tls/%: $(BUILD)/obj/tests/tls/%.o $(BUILD)/libtests_live.a $(BUILD)/libredlock.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -lssl -lcrypto
$(BUILD)/tests/live/%: $(BUILD)/obj/tests/live/%.o $(if $(TLS),$(call object,tests/tls/through.c)) $(BUILD)/libtests_live.a $(BUILD)/libredlock.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) $(THROUGH_TLS)

# Opt-in, since position-independent code is compiled by itself, so that the static library costs nothing for it.
SHARED := $(BUILD)/libredlock.so.$(SOVERSION)
shared: $(SHARED)
$(BUILD)/obj/shared/%.o: %.c $(BUILD)/flags $(if $(DEPENDS),,$(filter %.h,$(C_FILES)))
	@mkdir -p $(@D)
	@echo "  CC    $< (shared)"
	$(Q)$(COMPILE) -fPIC $(DEPENDS) -c -o $@ $<
$(SHARED): $(patsubst %.c,$(BUILD)/obj/shared/%.o,$(LIBRARY)) tools/packages/exports
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(CHECKS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=tools/packages/exports -Wl,-z,defs \
	    -o $@ $(filter %.o,$^) $(LDLIBS) $(TLS_LIBS) -pthread

-include $(shell find $(BUILD)/obj $(BUILD)/wasm -name '*.d' 2>/dev/null)

# ---- Tests. The last line is "N passed, N failed". ----

# Nothing else installs a package unasked.
test test-unit test-live test-tls test-through-tls check-symbols check-floors compilers processors bare chaos chaos-sentinel interop monitoring firmware examples demo: NEED_INSTALL ?= yes
NEED_INSTALL ?= no
export NEED_INSTALL

# The live tests use servers, and stores that refuse late writers.
LIVE_TOOLS = prove redis-server sqlite3 psql initdb script

RUN_TESTS = REDLOCK='$(abspath $(BUILD))/redlock' BUILD='$(abspath $(BUILD))' CC='$(CC)' AR='$(AR)' tests/run

programs: all $(LIVE_HELPERS) $(filter $(BUILD)/%,$(UNIT_TESTS) $(LIVE_TESTS)) $(if $(BENCH),$(BUILD)/bench)

# Without a number given to make, there are as many compilers as processors.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))

test:
	@tools/need $(LIVE_TOOLS)
	@$(MAKE) --no-print-directory $(JOBS) programs
	@$(RUN_TESTS) $(UNIT_TESTS) $(LIVE_TESTS)

test-unit: $(filter $(BUILD)/%,$(UNIT_TESTS))
	@tools/need prove
	@$(RUN_TESTS) $(UNIT_TESTS)

# Tests of a build with TLS, TLS=openssl or TLS=mbedtls. They cover the checks, severed handshakes, and key updates.
TLS_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/tls/test_*.c)) $(wildcard tests/tls/*.t)
test-tls: all $(LIVE_HELPERS) $(filter $(BUILD)/%,$(TLS_TESTS)) $(if $(BENCH),$(BUILD)/bench)
	@tools/need prove redis-server perl openssl
	@$(if $(TLS),,echo 'make test-tls: of which TLS? Say TLS=openssl or TLS=mbedtls' >&2; exit 1;) $(RUN_TESTS) $(TLS_TESTS)

# The live tests of the lock through TLS, unchanged. They are those that write no addresses of servers
# by themselves, or THROUGH="test_client".
THROUGH ?= $(addprefix test_,client events waiting keeper shared permits nodes reentrant rivals flapping interruptions model) \
           $(addprefix command_,run ticket set loss keep permits others sentinel)
THROUGH_TESTS := $(addprefix $(BUILD)/tests/live/,$(filter test_%,$(THROUGH))) $(patsubst %,tests/live/%.t,$(filter command_%,$(THROUGH)))
test-through-tls: all $(LIVE_HELPERS) $(filter $(BUILD)/%,$(THROUGH_TESTS))
	@tools/need prove redis-server perl openssl
	@$(if $(TLS),,echo 'make test-through-tls: through which? Say TLS=openssl or TLS=mbedtls' >&2; exit 1;) \
	    REDLOCK_TEST_TLS=1 $(RUN_TESTS) $(THROUGH_TESTS)

test-live: all $(LIVE_HELPERS) $(filter $(BUILD)/%,$(LIVE_TESTS)) $(if $(BENCH),$(BUILD)/bench)
	@tools/need $(LIVE_TOOLS)
	@$(RUN_TESTS) $(LIVE_TESTS)

check-symbols: all
	@tools/need prove
	@$(RUN_TESTS) tests/unit/tools/symbols.t

# Which file may know which? The tables of files in redlock/README.md and, for both commands, in
# tools/redlock/README.md are held against the includes and against the symbols of the objects.
check-floors: $(call object,$(PARTS) $(FLOORED))
	@tools/need perl nm
	@tests/floors/check redlock/README.md '$(BUILD)/obj' $(PARTS) $(sort $(wildcard resp/*.h net/*.h net/*/*.h redlock/*.h redlock/kinds/*.h))
	@tests/floors/check tools/redlock/README.md '$(BUILD)/obj' $(FLOORED) $(sort $(wildcard tools/redlock/*.h tools/admin/*.h))

# Tries the released files with every compiler that a vendor has.
compilers:
	@tests/compilers/run

# All unit tests, the simulator and locks on seven other processors, by qemu-user.
processors:
	@tests/processors/run

# A fresh machine's view, in a Debian with gcc, libc6-dev, make and git alone, and the last commit in it. It takes root.
bare:
	@tests/bare/run

# Builds in which one rule of safety is broken on purpose, and each must be caught.
mutants:
	@BUILD='$(abspath $(BUILD))' CC='$(CC)' tests/mutants/run

# Faults that are made of the code by rule; those that the unit tests do not find are listed.
faults:
	@tools/need python3 clang redis-server
	@tests/faults/run

# Thousands of faulty worlds in virtual time; for so many seconds; and the stories that the literature tells.
sim:
	@CC='$(CC)' tests/sim/run --ci

soak:
	@mkdir -p $(BUILD) && BUILD='$(BUILD)' CC='$(CC)' tests/sim/run --soak $(or $(SECONDS),60) $(RECORD)

stories:
	@CC='$(CC)' tests/sim/run --stories

# A specification that is not ours in C walks along what happens in worlds; WORLDS=100000 takes an hour.
witness: $(BUILD)/sim
	@tools/need python3
	@BUILD='$(BUILD)' tests/witness/run $(WORLDS)

# The playground is one HTML file, with the engine and the tests' model servers as WebAssembly; and the
# same world as a program. The module is an engine for real servers as well, since
# tools/examples/wasm/lock.mjs takes it as it takes its own.
ENGINE := $(filter-out redlock/client_% %/reentrant.c %/keeper_thread.c %/metrics.c %/metrics_text.c net/%,$(PARTS))
WORLD  := $(filter-out tools/playground/main.c,$(wildcard tools/playground/*.c)) $(wildcard tests/world/*.c) $(ENGINE)
FIELD  := tools/examples/wasm/lock.c
WASM_CC ?= clang --target=wasm32
WASM_LD ?= wasm-ld
playground: $(BUILD)/playground.html
	@echo 'open $<'
$(BUILD)/playground.html: $(BUILD)/world.wasm tools/playground/assemble $(ENGINE) \
                          $(wildcard $(addprefix tools/playground/*.,mjs js css html json))
	@echo "  MAKE  $@"
	$(Q)node tools/playground/assemble $< $@
$(BUILD)/world.wasm: $(patsubst %.c,$(BUILD)/wasm/%.o,$(WORLD) $(FIELD) tools/playground/wasm/libc.c)
	@echo "  LINK  $@"
	$(Q)$(WASM_LD) --no-entry --gc-sections --strip-all -z stack-size=65536 -o $@ $^
$(BUILD)/wasm/is-ready:
	@tools/need node clang wasm-ld
	@mkdir -p $(@D) && touch $@
$(BUILD)/wasm/%.o: %.c $(BUILD)/flags | $(BUILD)/wasm/is-ready
	@mkdir -p $(@D)
	@echo "  WASM  $<"
	$(Q)$(WASM_CC) -std=c11 $(WARNINGS) -Os -mbulk-memory -ffreestanding -fno-builtin-bcmp -ffunction-sections -fdata-sections \
	    -Itools/playground/wasm $(if $(filter $(FIELD),$<),-Iredlock) -MMD -MP -c -o $@ $<
$(BUILD)/replay: $(call object,tools/playground/main.c $(WORLD))
	@echo "  LINK  $@"
	$(Q)$(LINK)
test-playground: playground $(BUILD)/replay $(BUILD)/sim
	@node tools/playground/test $(BUILD)
# The page in Chromium; make test-page CLICKS=10000 presses more of its buttons at random.
CLICKS ?= 2000
test-page: playground $(BUILD)/replay
	@tools/need node npm chromium
	@tests/interop/fetch '$(abspath $(BUILD))/axe' tools/playground/browser
	@node tools/playground/test_page $(BUILD) $(CLICKS)

# The manuals as HTML, with figures that the playground draws; and a check that they are what it draws.
GUIDE := $(BUILD)/guide/redlock.7.html
guide: $(GUIDE)
	@echo 'open $<'
$(GUIDE): $(BUILD)/playground.html $(MANUALS) $(addprefix tools/playground/,guide guide.css browser/chromium.mjs)
	@tools/need mandoc node && { tools/need chromium || true; }
	@echo "  MAKE  $@"
	$(Q)node tools/playground/guide $(BUILD) $(MANUALS)
test-guide: guide $(BUILD)/replay
	@node tools/playground/test_guide $(BUILD) $(MANUALS)

# The simulator by itself; tests/sim/run and tests/mutants/run are how it is used.
$(BUILD)/sim: $(call object,$(wildcard tests/sim/*.c tests/world/*.c)) $(BUILD)/libredlock_parts.a
	@echo "  LINK  $@"
	$(Q)$(LINK)

# All states of small worlds, by the engine's own code. FULL=1: minutes, not half of one.
explore:
	@tools/need python3
	@CC='$(CC)' tests/explore/run $(if $(FULL),--full,--quick)

# Real servers and clients, killed, stopped, cut off, for so many seconds (20 or more); a checker reads everybody's notes.
$(BUILD)/chaos_client: $(call object,tests/chaos/client.c tests/chaos/counter.c) $(BUILD)/libredlock.a
$(BUILD)/chaos_driver: $(call object,$(addprefix tests/chaos/,driver.c faults.c world.c network.c) tests/live/servers.c)
$(BUILD)/chaos_failovers: $(call object,$(addprefix tests/chaos/,failovers.c world.c network.c) tests/live/servers.c)
$(BUILD)/chaos_client $(BUILD)/chaos_driver $(BUILD)/chaos_failovers:
	@echo "  LINK  $@"
	$(Q)$(LINK)

$(BUILD)/chaos_preload.so: tests/chaos/clock.c tests/chaos/death.c tests/chaos/clock.h $(BUILD)/flags
	@echo "  LINK  $@"
	$(Q)$(COMPILE) -fPIC -shared -o $@ $(filter %.c,$^)

chaos: $(BUILD)/chaos_client $(BUILD)/chaos_driver $(BUILD)/chaos_preload.so
	@tools/need redis-server perl python3
	@BUILD='$(abspath $(BUILD))' tests/chaos/run $(or $(SECONDS),60)

# A master behind three real sentinels, killed, stopped or cut off for so many failovers (20 or more), each of about six seconds.
# Without the guard, and without a majority of the sentinels, there must be overlaps.
chaos-sentinel: $(BUILD)/chaos_client $(BUILD)/chaos_failovers $(BUILD)/chaos_preload.so
	@tools/need redis-server python3
	@BUILD='$(abspath $(BUILD))' tests/chaos/run-sentinel $(or $(FAILOVERS),20)

# Redlock libraries of others and ours on the same servers. Those of the npm registry are fetched into $(BUILD)/interop.
$(BUILD)/interop_ours: $(call object,tests/interop/ours.c) $(BUILD)/libredlock.a
	@echo "  LINK  $@"
	$(Q)$(LINK)

interop: all $(LIVE_HELPERS) $(BUILD)/interop_ours
	@tools/need prove redis-server node npm python3-redis
	@tests/interop/fetch '$(abspath $(BUILD))/interop'
	@$(RUN_TESTS) $(wildcard tests/interop/*.t)

# Alert rules, dashboard and exporter, with the Prometheus that they are for.
monitoring: all $(LIVE_HELPERS)
	@tools/need prove promtool prometheus redis-server perl
	@$(RUN_TESTS) $(wildcard tests/monitoring/*.t)

# The files of tools/examples, built outside of the tree with the files that "make install" has
# installed, and run on real servers.
EXAMPLES = $(abspath $(BUILD))/examples
examples: all $(LIVE_HELPERS) $(BUILD)/libtests_live.a $(BUILD)/world.wasm
	@tools/need prove redis-server perl pkg-config
	@$(MAKE) -s --no-print-directory PREFIX='$(EXAMPLES)/installed' DESTDIR= INCLUDEDIR='$(EXAMPLES)/installed/include' \
	    LIBDIR='$(EXAMPLES)/installed/lib' MANDIR='$(EXAMPLES)/installed/share/man' install-lib
	@INSTALLED='$(EXAMPLES)/installed' WORLD='$(abspath $(BUILD)/world.wasm)' $(RUN_TESTS) $(wildcard tests/examples/*.t)

# The image for a Cortex-M3 without an operating system, in QEMU, on five real servers over five serial lines.
firmware: all
	@BUILD='$(abspath $(BUILD))' REDLOCK='$(abspath $(BUILD))/redlock' tools/examples/firmware/run

# Random inputs, guided by coverage, for so many seconds a target; KEEP=1 adds the finds to the corpus,
# which "make test" replays.
fuzz:
	@tests/fuzz/run $(or $(SECONDS_PER_TARGET),60)

# Prints which branches the unit tests take; SHOW=1 lists those that they do not.
coverage:
	@tests/coverage/run $(if $(SHOW),--show)

# For all inputs, not for many, Frama-C looks at parser, encoder, arithmetic, rounds, replies and addresses.
prove:
	@tests/prove/run
	@tests/prove/contracts

# The core beside MISRA C:2012: which rules it does not keep, how often, and why, is in tests/misra/list.
misra:
	@tests/misra/run

# The algorithm itself, for any number of nodes and clients and any schedule, has a proof that Coq checks.
proof:
	@tests/proof/run

# The headers with the Lua scripts of the nodes, from the .lua files. They are committed, so that no build needs Perl.
scripts:
	@tools/need prove
	tools/scripts

lint:
	@tools/need clang-format clang-tidy shellcheck mandoc prove luacheck
	tools/layout $(C_FILES)
	tools/wording $(PROSE)
	tools/wording --habits $(COUNTED)
	printf '%s\n' $(sort $(PARTS) $(COMMAND) $(ADMIN) $(BENCH)) | tests/by_turns | xargs -P 4 -I{} sh -c 'clang-tidy --quiet {} -- -std=c11 2>/dev/null'
	shellcheck -x $(SCRIPTS)
	rm -rf '$(BUILD)/lua' && mkdir -p '$(BUILD)/lua' && tools/scripts --expand '$(BUILD)/lua'
	luacheck --quiet --no-config --no-cache --std lua51 --read-globals redis KEYS ARGV --max-line-length 140 -- '$(BUILD)'/lua/*.lua
	mandoc -T lint -W warning $(MANUALS) </dev/null

# ---- Shown and measured ----

demo:
	@tools/need redis-server
	@$(MAKE) --no-print-directory $(JOBS) all
	@tools/demo $(BUILD)/redlock

bench: $(BUILD)/bench
	@tools/need redis-server
	@tools/bench/run $(if $(QUICK),--quick) $(BUILD)/bench

# The engine's cost without network and clock, in exact instructions, so two versions can be compared.
$(BUILD)/cost: $(call object,tests/cost/cost.c) $(BUILD)/libredlock.a
	@echo "  LINK  $@"
	$(Q)$(LINK)

cost: $(BUILD)/cost
	@BUILD='$(abspath $(BUILD))' tests/cost/run

size: all
	@BUILD='$(abspath $(BUILD))' tools/size

# ---- Handed out ----

# The library as .c and .h files to be copied into another project. There are two of each, two for the
# keeper, two for metrics, and headers for optional parts.
amalgamation:
	@tools/amalgamate '$(BUILD)/amalgamation' $(TLS)

# The whole last commit, as a file that is the same wherever and whenever it is made. It builds and
# passes its tests without network.
DIST = redlock-$(VERSION)
dist:
	@mkdir -p '$(BUILD)'
	git archive --format=tar --prefix='$(DIST)/' HEAD | gzip -9n >'$(BUILD)/$(DIST).tar.gz'
	cd '$(BUILD)' && sha256sum '$(DIST).tar.gz' >'$(DIST).tar.gz.sha256'

# Debian packages of that tar, in $(BUILD)/deb.
deb: dist
	@tools/need dh
	@tools/packages/deb '$(abspath $(BUILD))' '$(DIST)'

# All of these made, installed somewhere, and used from there.
packages: $(BUILD)/redlock
	@tools/need prove redis-server cmake meson ninja pkg-config dh lintian
	@$(RUN_TESTS) tests/packages/packages.t

# Folders below $(DESTDIR), which may have blanks, for section N of the manual and for the installed files.
man      = $(MANDIR)/man$(1)
HEADERS := redlock/redlock.h $(foreach part,client fence keeper metrics reentrant sentinel,redlock/redlock_$(part).h) redlock/redlock.hpp \
           net/redlock_transport.h $(if $(TLS),net/redlock_tls.h) $(sort $(wildcard net/loops/*.h))
# The completions of bash, zsh and fish, where each shell looks for them. All but zsh look by the name of the program.
COMPLETIONS := $(foreach program,redlock redlock-admin,bash-completion/completions/$(program) fish/vendor_completions.d/$(program).fish) \
               zsh/site-functions/_redlock
UNITS       := $(notdir $(wildcard tools/systemd/*))
# The files for a monitoring, in share/redlock/monitoring.
MONITORING  := redlock.rules.yml redlock.dashboard.json redlock.crontab
# Folders below the prefix are written so in the file for pkg-config, so that the tree can be moved.
below    = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))

# With TLS those files name the libraries that it needs, as " -lssl -lcrypto" and as ";ssl;crypto".
TLS_LINKED = $(addprefix $() ,$(filter -l%,$(TLS_LIBS)))
CMAKE = redlock-config.cmake redlock-config-version.cmake
# A file that names the command, with the path that it will have.
with_path = sed 's|/usr/local/bin/|$(BINDIR)/|' '$(1)' >'$(2)' && chmod 644 '$(2)'

install: install-lib install-bin

install-shared: $(SHARED)
	mkdir -p '$(DESTDIR)$(LIBDIR)'
	$(INSTALL) -m 755 '$(SHARED)' '$(DESTDIR)$(LIBDIR)'
	ln -sf '$(notdir $(SHARED))' '$(DESTDIR)$(LIBDIR)/libredlock.so'

install-lib: $(BUILD)/libredlock.a
	mkdir -p '$(DESTDIR)$(INCLUDEDIR)' '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(LIBDIR)/cmake/redlock' \
	    '$(DESTDIR)$(call man,3)' '$(DESTDIR)$(call man,7)'
	$(INSTALL) -m 644 $(HEADERS) '$(DESTDIR)$(INCLUDEDIR)'
	$(INSTALL) -m 644 '$(BUILD)/libredlock.a' '$(DESTDIR)$(LIBDIR)'
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@INCLUDEDIR@|$(call below,$(INCLUDEDIR))|' -e 's|@LIBDIR@|$(call below,$(LIBDIR))|' \
	    -e 's|@VERSION@|$(VERSION)|' -e 's|@TLS_LIBS@|$(TLS_LINKED)|' redlock/redlock.pc.in >'$(DESTDIR)$(LIBDIR)/pkgconfig/redlock.pc'
	for file in $(CMAKE); do \
	    sed -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@SOVERSION@|$(SOVERSION)|' \
	        -e 's|@TLS_LIBS@|$(subst $() ,,$(TLS_LINKED:-l%=;%))|' tools/packages/$$file.in >'$(DESTDIR)$(LIBDIR)/cmake/redlock/'$$file || exit 1; done
	$(INSTALL) -m 644 $(filter %.3,$(MANUALS)) '$(DESTDIR)$(call man,3)'
	$(INSTALL) -m 644 $(filter %.7,$(MANUALS)) '$(DESTDIR)$(call man,7)'

install-bin: $(BUILD)/redlock $(BUILD)/redlock-admin
	mkdir -p '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(call man,1)' '$(DESTDIR)$(call man,7)'
	$(INSTALL) -m 755 '$(BUILD)/redlock' '$(BUILD)/redlock-admin' '$(DESTDIR)$(BINDIR)'
	$(INSTALL) -m 644 $(filter %.1,$(MANUALS)) '$(DESTDIR)$(call man,1)'
	$(INSTALL) -m 644 $(filter %.7,$(MANUALS)) '$(DESTDIR)$(call man,7)'
	mkdir -p $(foreach c,$(COMPLETIONS),'$(DESTDIR)$(SHAREDIR)/$(dir $(c))')
	$(foreach c,$(COMPLETIONS),$(INSTALL) -m 644 \
	    tools/completions/$(if $(filter zsh/%,$(c)),_redlock,redlock.$(if $(filter fish/%,$(c)),fish,bash)) '$(DESTDIR)$(SHAREDIR)/$(c)' &&) :
	mkdir -p '$(DESTDIR)$(SHAREDIR)/redlock/monitoring'
	$(foreach m,$(MONITORING),$(call with_path,tools/monitoring/$(m),$(DESTDIR)$(SHAREDIR)/redlock/monitoring/$(m)) &&) :
ifneq ($(UNITDIR),)
	mkdir -p '$(DESTDIR)$(UNITDIR)'
	$(foreach u,$(UNITS),$(call with_path,tools/systemd/$(u),$(DESTDIR)$(UNITDIR)/$(u)) &&) :
endif

uninstall:
	rm -f $(foreach h,$(notdir $(HEADERS)),'$(DESTDIR)$(INCLUDEDIR)/$(h)') '$(DESTDIR)$(LIBDIR)/libredlock.a' \
	    '$(DESTDIR)$(LIBDIR)/$(notdir $(SHARED))' '$(DESTDIR)$(LIBDIR)/libredlock.so' \
	    $(foreach file,$(CMAKE),'$(DESTDIR)$(LIBDIR)/cmake/redlock/$(file)') \
	    '$(DESTDIR)$(LIBDIR)/pkgconfig/redlock.pc' '$(DESTDIR)$(BINDIR)/redlock' '$(DESTDIR)$(BINDIR)/redlock-admin' \
	    $(foreach m,$(MANUALS),'$(DESTDIR)$(call man,$(subst .,,$(suffix $(m))))/$(notdir $(m))') \
	    $(foreach c,$(COMPLETIONS),'$(DESTDIR)$(SHAREDIR)/$(c)') \
	    $(foreach m,$(MONITORING),'$(DESTDIR)$(SHAREDIR)/redlock/monitoring/$(m)') \
	    $(if $(UNITDIR),$(foreach u,$(UNITS),'$(DESTDIR)$(UNITDIR)/$(u)'))
	rmdir '$(DESTDIR)$(SHAREDIR)/redlock/monitoring' '$(DESTDIR)$(SHAREDIR)/redlock' 2>/dev/null || :

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                the library and both commands, in $(BUILD)'
	@echo 'make demo           a lock on five real servers, step by step, in half a minute'
	@echo 'make test           all tests; also test-unit, test-live, test-tls (with TLS=openssl), check-symbols, check-floors'
	@echo 'make compilers      what is handed out, by five compilers, in all standards, without a warning; as C++; with sanitizers'
	@echo 'make processors     unit tests, simulator and locks on s390x, powerpc, mips, armhf, riscv64, aarch64, i686, by qemu-user'
	@echo 'make bare           as root: make demo and make test in a Debian that has gcc, libc6-dev, make and git alone'
	@echo 'make mutants        each rule broken on purpose must be caught;  make faults: and faults made of the code by rule'
	@echo 'make sim            faulty worlds in virtual time; also soak, stories, explore;  make witness: each step is one of the specification'
	@echo 'make chaos          real servers and clients under real faults, for a minute'
	@echo 'make chaos-sentinel as root: failovers by real sentinels, under clients that hold locks;  FAILOVERS=200 for 20 minutes'
	@echo 'make interop        other Redlock libraries and this one exclude each other'
	@echo 'make examples       tools/examples, built as users do and run on real servers'
	@echo 'make monitoring     alert rules, dashboard and exporter, with a real Prometheus'
	@echo 'make firmware       a lock from a Cortex-M3 without an operating system, in QEMU, over five serial lines'
	@echo 'make fuzz           random inputs;  make coverage: the branches that the tests take'
	@echo 'make prove          all inputs of parser, encoder, arithmetic, replies and addresses, by Frama-C'
	@echo 'make proof          the algorithm, for any number of nodes and clients and any schedule, by Coq'
	@echo 'make playground     one HTML file with the engine and its model servers, to be opened in a browser;  make test-playground test-page'
	@echo 'make guide          the manuals as HTML, with figures that the playground draws;  make test-guide'
	@echo 'make bench          speed beside raw sockets (and through TLS);  make size: code and memory beside their budgets'
	@echo 'make misra          the core beside MISRA C:2012, by cppcheck'
	@echo 'make cost           instructions of a cycle and of a wake-up, counted by callgrind'
	@echo 'make lint           layout, wording, clang-tidy, shellcheck, luacheck, mandoc'
	@echo 'make scripts        the headers with the Lua scripts of the nodes, from the .lua files'
	@echo 'make install        headers, library, commands, manuals: PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo '                    also install-lib, install-bin, uninstall;  make shared, install-shared: the library as a shared one'
	@echo 'make dist           a tar of the last commit, with its checksum;  make deb: Debian packages;  make packages: all tried'
	@echo 'make amalgamation   the library as a few files to copy into a project'
	@echo 'make clean          away with $(BUILD)'
	@echo 'Variables: CC AR CFLAGS LDFLAGS BUILD PREFIX DESTDIR INCLUDEDIR LIBDIR BINDIR MANDIR SHAREDIR UNITDIR'
	@echo '           INSTALL NEED_INSTALL TLS SANITIZE V (see the head of the Makefile)'
