# SPDX-License-Identifier: BSD-3-Clause
# Builds and tests Evenkeel. `make help` lists what there is to do.
#
# A variant (release, debug, address, undefined, thread, fuzz) has its own folder under build/:
#   build/<variant>/obj/<folder>/x.o   from src/<folder>/x.c
#   build/<variant>/libevenkeel.a      every object but the programs' own main files
#   build/<variant>/bin/<program>      build/bin/<program> leads to the release one
#   build/<variant>/tests/<folder>/test_x   one program for each tests/c/<folder>/test_x.c
#   build/<variant>/measure/load   the load of bench and lab, from tests/measure/
# Two builds of one variant at once disturb each other: give the second BUILD=/some/folder.

BUILD ?= build
PREFIX ?= /usr/local
# Where its configuration and init script go.
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),,$(PREFIX))/etc
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
OPT ?= -O2
LTO ?= 1
WERROR ?= 1
FUZZ_SECONDS ?= 60
FUZZ_CC ?= clang

# A program is its name and the file that has its main().
PROGRAMS := redis-server redis-cli redis-benchmark redis-lab
# Links to redis-server: the path it is called by chooses its mode (src/server/modes.c).
NAMES := redis-check-rdb redis-check-aof redis-sentinel
main_redis-server := src/server/main.c
main_redis-cli := src/cli/cli.c
main_redis-lab := src/lab/lab.c
main_redis-benchmark := src/benchmark/benchmark.c
libs_redis-cli := -ledit

# --- variants -----------------------------------------------------------------------------------

ifneq (,$(filter-out address undefined thread,$(SANITIZER)))
$(error SANITIZER is address, undefined or thread, not "$(SANITIZER)")
endif
VARIANT := $(or $(VARIANT),$(SANITIZER),$(if $(filter 1,$(DEBUG)),debug,release))
OUT := $(BUILD)/$(VARIANT)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wno-unused-parameter -Wno-missing-field-initializers $(if $(filter 1,$(WERROR)),-Werror)
BASE_FLAGS := -std=gnu11 -g -fno-omit-frame-pointer $(WARNINGS) \
              -include src/base/forbidden.h -Isrc
# Another Lua 5.1 than the system's, as one built with sanitizers: LUA=/some/folder/liblua.a
LUA ?= -llua5.1
LIBS := $(LUA) -lssl -lcrypto -lm -lpthread -ldl
ALLOCATOR := -ljemalloc

ifeq ($(VARIANT),fuzz)
  CC := $(FUZZ_CC)
endif
IS_GCC := $(shell $(CC) --version 2>/dev/null | grep -q 'Free Software Foundation' && echo 1)
AR := ar

ifeq ($(VARIANT),release)
  MODE_FLAGS := $(OPT)
  ifeq ($(LTO)$(IS_GCC),11)
    # Fat objects: the unit tests link without LTO, and nm sees every symbol.
    MODE_FLAGS += -flto=auto -ffat-lto-objects
    NO_LTO := -fno-lto
    AR := gcc-ar
  endif
else ifeq ($(VARIANT),debug)
  MODE_FLAGS := -Og -DEVENKEEL_DEBUG -DMEMORY_CHECKED
else ifeq ($(VARIANT),coverage)
  MODE_FLAGS := -O0 -DEVENKEEL_COVERAGE --coverage -fprofile-update=atomic
else
  MODE_FLAGS := -O1 -DEVENKEEL_SANITIZER -DEVENKEEL_DEBUG
  ALLOCATOR :=
  ifeq ($(VARIANT),address)
    MODE_FLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all
  else ifeq ($(VARIANT),undefined)
    MODE_FLAGS += -fsanitize=undefined -fno-sanitize-recover=all
  else ifeq ($(VARIANT),thread)
    MODE_FLAGS += -fsanitize=thread
  else ifeq ($(VARIANT),fuzz)
    MODE_FLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
                  -fprofile-instr-generate -fcoverage-mapping
  endif
  # The instrumented code confuses gcc's flow analysis; the release build has these warnings.
  ifeq ($(IS_GCC),1)
    MODE_FLAGS += -Wno-maybe-uninitialized -Wno-stringop-overflow
  endif
endif

# Headers that name what src/base/forbidden.h forbids come before it.
$(OUT)/obj/io/tls.o $(OUT)/analysed/io/tls.checked $(OUT)/obj-tests/io/test_tls.o: FOREIGN := -D_GNU_SOURCE=1 -include openssl/ssl.h
COMPILE = $(CC) $(FOREIGN) $(BASE_FLAGS) $(MODE_FLAGS) $(CFLAGS) -MMD -MP
LINK = $(CC) $(BASE_FLAGS) $(MODE_FLAGS) $(CFLAGS) $(LDFLAGS) -rdynamic -Wl,--build-id=sha1

# --- files --------------------------------------------------------------------------------------

SOURCES := $(sort $(wildcard src/*/*.c))
OBJECTS := $(SOURCES:src/%.c=$(OUT)/obj/%.o)
HEADERS := $(sort $(wildcard src/*/*.h))
MAIN_OBJECTS := $(foreach p,$(PROGRAMS),$(main_$(p):src/%.c=$(OUT)/obj/%.o))
LIBRARY := $(OUT)/libevenkeel.a
# A program whose main file is not written yet is left out.
BUILT_PROGRAMS := $(foreach p,$(PROGRAMS),$(if $(wildcard $(main_$(p))),$(p)))
BINARIES := $(BUILT_PROGRAMS:%=$(OUT)/bin/%)
LINKS := $(NAMES:%=$(OUT)/bin/%)

UNIT_SOURCES := $(sort $(wildcard tests/c/*/test_*.c))
UNIT ?=
UNIT_CHOSEN := $(if $(UNIT),$(foreach u,$(UNIT_SOURCES),$(if $(findstring $(UNIT),$(u:tests/c/%.c=%) \
    $(subst test_,,$(u:tests/c/%.c=%))),$(u))),$(UNIT_SOURCES))
UNITS := $(UNIT_CHOSEN:tests/c/%.c=$(OUT)/tests/%)
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

# As many jobs as there are processors, unless JOBS= says otherwise; a make within a make shares
# those of the outer one.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifeq ($(MAKELEVEL),0)
  MAKEFLAGS += -j$(JOBS)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON := $(if $(wildcard build/venv/bin/python3),build/venv/bin/python3,python3)
# What the suites are told: where the programs, objects and unit tests of this variant are.
SUITE_ENV = EVENKEEL_VARIANT=$(VARIANT) EVENKEEL_OUT=$(abspath $(OUT)) \
            EVENKEEL_BIN=$(abspath $(OUT)/bin) PYTHON=$(abspath $(PYTHON)) CC="$(CC)"

.PHONY: all deps run test check analyse lint unit coverage coverage-run tcl bench check-cost lab lab-check fuzz fuzz-corpus fuzz-keep generated \
        format where help install deb test-package clean distclean units headers FORCE
.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:

# --- what there is to do ------------------------------------------------------------------------

all: $(BINARIES) $(LINKS) $(LIBRARY) ## build the programs (DEBUG=1, SANITIZER=address|undefined|thread, LTO=0)

deps: ## install what the build and the tests need (root or sudo; apt)
	sh deps/install.sh build test

run: all ## build and start the server (ARGS="--port 7000 ...")
	$(OUT)/bin/redis-server $(ARGS)

test: all faulty units headers ## every check and test; last line "N passed, N failed"
	$(SUITE_ENV) python3 tests/lint/total.py lint units tcl clients

check: all units headers ## under a minute: layers, circles, headers, style, format, generated files, C units
	$(SUITE_ENV) python3 tests/lint/total.py lint units

lint: all headers ## the part of check that only reads the source
	$(SUITE_ENV) python3 tests/lint/total.py lint

analyse: $(SOURCES:src/%.c=$(OUT)/analysed/%.checked) ## clang's static analyser over src/: it finds nothing (sh deps/install.sh fuzz)

unit: units ## C unit tests (UNIT=base/memory picks by part of the name, SEED= repeats a run)
	$(if $(UNITS),,$(error no test in tests/c fits UNIT=$(UNIT)))
	$(SUITE_ENV) UNITS="$(UNITS)" python3 tests/lint/units.py

units: $(UNITS)

headers: $(HEADERS:src/%.h=$(OUT)/headers/%.checked)

coverage: ## lines and branches by folder that the C units run; with TCL=1 the Tcl suite, too (ARGS)
	@find $(BUILD)/coverage -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) VARIANT=coverage CC=gcc LTO=0 coverage-run

coverage-run: units $(if $(filter 1,$(TCL)),all faulty)
	$(SUITE_ENV) python3 tests/lint/units.py
	$(if $(filter 1,$(TCL)),tests/run --server $(OUT)/bin/redis-server $(ARGS))
	@python3 tests/lint/coverage.py $(OUT)/obj

tcl: all faulty ## Tcl suite (ARGS="--single unit/x --only name ...")
	tests/run --server $(OUT)/bin/redis-server $(ARGS)

bench: all ## against a stock Redis 6.2 (QUICK=1, BASELINE=path of redis-server)
	sh deps/install.sh bench
	$(if $(filter release,$(VARIANT)),,OURS=$(OUT)/bin/redis-server) CC="$(CC)" tests/measure/bench $(ARGS)

check-cost: all ## instructions a command against the recorded ones (RECORD=1 writes them; valgrind)
	$(if $(filter release,$(VARIANT)),,$(error only the release build is counted))
	@CC="$(CC)" python3 tests/measure/cost.py --ours $(OUT)/bin/redis-server \
	    $(if $(filter 1,$(RECORD)),--record) $(ARGS)

generated: all ## write redis.conf and docs/ reference pages from the tables
	sh tests/lint/generated.sh --write $(OUT)/bin/redis-server

format: ## lay out the C files (.clang-format)
	sh tests/lint/format.sh --write

where: ## where a command's row and handler stand (CMD=get)
	@python3 tests/lint/where.py "$(CMD)"

install: all ## programs, man pages, completion, service to PREFIX (/usr/local), below DESTDIR
	packaging/install.sh $(OUT)/bin "$(PREFIX)" "$(SYSCONFDIR)"

deb: all ## a package for the Debian or Ubuntu at hand, in build/packages
	@packaging/deb.sh $(OUT)/bin $(BUILD)/packages

test-package: all ## installs the package in a fresh Debian 12 and uses it (root, debootstrap)
	packaging/test.sh "$$(packaging/deb.sh $(OUT)/bin $(BUILD)/packages)" $(ARGS)

clean: ## remove what was built, but not the Python environment
	find "$(BUILD)" -mindepth 1 -maxdepth 1 ! -name venv -exec rm -rf {} +

distclean: ## remove all of build/
	rm -rf "$(BUILD)"

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

# --- how things are built -----------------------------------------------------------------------

# The headers of other packages, each with the package that brings it; asked for once a variant.
NEEDED := $(if $(ALLOCATOR),jemalloc/jemalloc.h:libjemalloc-dev) stdio.h:libc6-dev \
          lua5.1/lua.h:liblua5.1-0-dev openssl/ssl.h:libssl-dev histedit.h:libedit-dev
UNIT_NEEDED := cmocka.h:libcmocka-dev liblzf/lzf.h:liblzf-dev

# Says which package is missing and how to get it. $(1): header:package words.
define require
	@command -v $(firstword $(CC)) >/dev/null || { \
	    echo "The compiler $(firstword $(CC)) is missing: sh deps/install.sh $(2)" >&2; exit 1; }
	@for need in $(1); do \
	    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <%s>\n' \
	        "$${need%%:*}" | $(CC) -E -x c - >/dev/null 2>&1 || { \
	        echo "$${need%%:*} is missing. It comes with the package $${need##*:};" >&2; \
	        echo "'make deps' (or: apt-get install $${need##*:}) gets it." >&2; exit 1; }; \
	done
	@mkdir -p $(@D) && touch $@
endef

$(OUT)/needed: deps/packages.txt
	$(call require,$(NEEDED),build)
$(OUT)/needed-units: deps/packages.txt $(OUT)/needed
	$(call require,$(UNIT_NEEDED),test)

# Changes when the flags change, so that all is then built again.
FLAGS_NOW := $(COMPILE) $(LDFLAGS) $(LIBS) $(ALLOCATOR)
$(OUT)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' >$@

$(OUT)/obj/%.o: src/%.c $(OUT)/flags | $(OUT)/needed
	@mkdir -p $(@D)
	$(QUIET_CC)$(COMPILE) -c $< -o $@

# The members are written anew each time, so that a source that is gone leaves nothing behind.
$(LIBRARY): $(filter-out $(MAIN_OBJECTS),$(OBJECTS)) $(OUT)/flags $(OUT)/members
	@rm -f $@
	$(QUIET_AR)$(AR) rcs $@ $(filter %.o,$^)

MEMBERS_NOW := $(filter-out $(MAIN_OBJECTS),$(OBJECTS))
$(OUT)/members: FORCE
	@mkdir -p $(@D)
	@echo '$(MEMBERS_NOW)' | cmp -s - $@ || echo '$(MEMBERS_NOW)' >$@

define program_rule
$(OUT)/bin/$(1): $(main_$(1):src/%.c=$(OUT)/obj/%.o) $(LIBRARY)
	@mkdir -p $$(@D)
	$$(QUIET_LINK)$$(LINK) $$< $(LIBRARY) -o $$@ $$(ALLOCATOR) $$(LIBS) $$(libs_$(1))
	$$(if $$(filter release,$(VARIANT)),@mkdir -p $(BUILD)/bin && \
	    ln -sfn ../release/bin/$(1) $(BUILD)/bin/$(1))
endef
$(foreach p,$(BUILT_PROGRAMS),$(eval $(call program_rule,$(p))))

$(LINKS): | $(OUT)/bin/redis-server
	@ln -sfn redis-server $@
	$(if $(filter release,$(VARIANT)),@ln -sfn ../release/bin/$(@F) $(BUILD)/bin/$(@F))

$(OUT)/obj-tests/%.o: tests/c/%.c $(OUT)/flags | $(OUT)/needed-units
	@mkdir -p $(@D)
	$(QUIET_CC)$(COMPILE) $(NO_LTO) -Itests/c -c $< -o $@

$(OUT)/tests/%: $(OUT)/obj-tests/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(QUIET_LINK)$(LINK) $(NO_LTO) $< $(LIBRARY) -o $@ -lcmocka -llzf $(ALLOCATOR) $(LIBS)

# What clang's analyser finds in a source is an error. A source is analysed again when its object is
# newer, with the slow assertions, because these tell the analyser what is always true.
ANALYSE = $(FUZZ_CC) --analyze --analyzer-output text -Xclang -analyzer-werror $(FOREIGN) \
          $(BASE_FLAGS) -DEVENKEEL_DEBUG
$(OUT)/analysed/%.checked: $(OUT)/obj/%.o
	@mkdir -p $(@D)
	$(QUIET_ANALYSE)$(ANALYSE) src/$*.c && touch $@

# A header compiles alone and can be included twice; it is compiled again when it, or a header that
# it includes, has changed.
$(OUT)/headers/%.checked: src/%.h $(OUT)/flags | $(OUT)/needed
	@mkdir -p $(@D)
	$(QUIET_HEADER)$(COMPILE) -Wno-unused-function -fsyntax-only -MF $(@:.checked=.d) -MT $@ \
	    -include $< -include $< -x c /dev/null && touch $@

# The server with faults of the system, which a file tells it (tests/c/server/faulty.c).
.PHONY: faulty
faulty: $(OUT)/faulty/redis-server ## the server with faults that a file tells it: tests/README.md
$(OUT)/faulty/redis-server: $(main_redis-server:src/%.c=$(OUT)/obj/%.o) \
        $(OUT)/obj-tests/server/faulty.o $(LIBRARY)
	@mkdir -p $(@D)
	$(QUIET_LINK)$(LINK) $(NO_LTO) $(filter %.o,$^) $(LIBRARY) -o $@ $(ALLOCATOR) $(LIBS)

# The load of bench and lab (tests/measure/README.md).
LOAD_OBJECTS := $(patsubst %,$(OUT)/obj-measure/%.o,load load_count load_record load_options output \
                  trace wire draw)
.PHONY: measure
measure: $(OUT)/measure/load $(OUT)/measure/bus_peers ## the load of bench and lab, and the nodes that bench plays
$(OUT)/obj-measure/%.o: tests/measure/%.c $(OUT)/flags | $(OUT)/needed
	@mkdir -p $(@D)
	$(QUIET_CC)$(COMPILE) -c $< -o $@
$(OUT)/measure/load: $(LOAD_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	$(QUIET_LINK)$(LINK) $(LOAD_OBJECTS) $(LIBRARY) -o $@ $(ALLOCATOR) $(LIBS)
$(OUT)/measure/bus_peers: $(OUT)/obj-measure/bus_peers.o $(LIBRARY)
	@mkdir -p $(@D)
	$(QUIET_LINK)$(LINK) $< $(LIBRARY) -o $@ $(ALLOCATOR) $(LIBS)

# The simulation: whole servers with another system below them (tests/sim/README.md).
SIM_WRAPPED := -Wl,--wrap=clock_calibrate,--wrap=walk_begin,--wrap=aof_switch_begin
SIM_OBJECTS := $(patsubst tests/sim/%.c,$(OUT)/obj-sim/%.o,$(wildcard tests/sim/*.c))
.PHONY: sim
sim: $(OUT)/sim/evenkeel-sim ## the simulation of several servers: tests/sim/README.md
$(OUT)/obj-sim/%.o: tests/sim/%.c $(OUT)/flags | $(OUT)/needed
	@mkdir -p $(@D)
	$(QUIET_CC)$(COMPILE) $(NO_LTO) -Itests -Itests/c -c $< -o $@
$(OUT)/obj-sim/server/main.o: $(main_redis-server) $(OUT)/flags | $(OUT)/needed
	@mkdir -p $(@D)
	$(QUIET_CC)$(COMPILE) $(NO_LTO) -Wno-missing-prototypes -Dmain=server_main -c $< -o $@
$(OUT)/sim/evenkeel-sim: $(SIM_OBJECTS) $(OUT)/obj-sim/server/main.o $(LIBRARY)
	@mkdir -p $(@D)
	$(QUIET_LINK)$(LINK) $(NO_LTO) $(SIM_WRAPPED) $(filter %.o,$^) $(LIBRARY) -o $@ \
	    $(ALLOCATOR) $(LIBS)

# The same with another source in place of one of ours, for tests/sim/plants.
$(OUT)/sim/plants/%: $(OUT)/sim/plants/%.c $(SIM_OBJECTS) $(OUT)/obj-sim/server/main.o $(LIBRARY)
	$(QUIET_LINK)$(COMPILE) $(NO_LTO) -c $< -o $@.o && $(LINK) $(NO_LTO) \
	    $(SIM_WRAPPED) $(filter %.o,$^) $@.o $(LIBRARY) -o $@ $(ALLOCATOR) $(LIBS)

# One short line for each step; V=1 shows the commands.
ifneq ($(V),1)
  QUIET_CC = @echo "  CC    $<";
  QUIET_ANALYSE = @echo "  SCAN  src/$*.c";
  QUIET_HEADER = @echo "  HEAD  $<";
  QUIET_AR = @echo "  AR    $@";
  QUIET_LINK = @echo "  LINK  $@";
endif

# --- fuzzing ------------------------------------------------------------------------------------

lab: all ## the field pathologies (SCENARIO=x or x/case, QUICK=1, CLUSTER=1, BASELINE=path, MARKDOWN=file)
	sh deps/install.sh bench
	OURS=$(abspath $(OUT)/bin/redis-server) CC="$(CC)" tests/measure/lab $(SCENARIO) \
	    $(if $(MARKDOWN),--markdown $(MARKDOWN)) $(ARGS)

lab-check: ## the load against a server that stalls on purpose (seconds)
	CC="$(CC)" $(PYTHON) tests/measure/check.py

.PHONY: experiment-check
experiment-check: all ## redis-lab experiment on servers whose best value is known, and on equal ones (an hour)
	$(PYTHON) tests/measure/experiments.py --bin $(abspath $(OUT)/bin) $(ARGS)

fuzz: ## libFuzzer over tests/fuzz/fuzz_*.c (FUZZ=name picks one, FUZZ_SECONDS=60 each), coverage
	@sh deps/install.sh --check fuzz
	@$(MAKE) VARIANT=fuzz fuzzers
	sh tests/lint/fuzz.sh "$(BUILD)/fuzz" "$(FUZZ_SECONDS)" $(or $(FUZZ),$(FUZZERS))

fuzz-corpus: ## each fuzzer once over its corpus, without fuzzing; last line "N passed, N failed"
	@sh deps/install.sh --check fuzz
	@$(MAKE) VARIANT=fuzz fuzzers
	@sh tests/lint/fuzz.sh --corpus "$(BUILD)/fuzz" $(or $(FUZZ),$(FUZZERS))

fuzz-keep: ## merge what fuzzing found to be new into tests/fuzz/corpus
	sh tests/lint/fuzz.sh --keep "$(BUILD)/fuzz" $(or $(FUZZ),$(FUZZERS))

.PHONY: fuzzers
fuzzers: $(FUZZERS:%=$(OUT)/fuzzers/%)

$(OUT)/obj-fuzz/%.o: tests/fuzz/fuzz_%.c $(OUT)/flags | $(OUT)/needed
	@mkdir -p $(@D)
	$(QUIET_CC)$(COMPILE) -c $< -o $@

$(OUT)/fuzzers/%: $(OUT)/obj-fuzz/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(QUIET_LINK)$(LINK) -fsanitize=fuzzer $< $(LIBRARY) -o $@ $(LIBS)

-include $(OBJECTS:.o=.d) $(HEADERS:src/%.h=$(OUT)/headers/%.d) $(OUT)/obj-tests/server/faulty.d $(SIM_OBJECTS:.o=.d) $(LOAD_OBJECTS:.o=.d) $(OUT)/obj-sim/server/main.d $(UNIT_SOURCES:tests/c/%.c=$(OUT)/obj-tests/%.d)
-include $(FUZZERS:%=$(OUT)/obj-fuzz/%.d)
