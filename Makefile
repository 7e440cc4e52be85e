# Two commands: `make demo` and `make test`. Both install what is missing, build, and go.
# `make` alone installs and builds only what users run; `make check` is the quick half of `make test`.
BUILD ?= build
PYTHON ?= /usr/bin/python3

.PHONY: all demo test check with-tests test-programs test-large test-exchange test-python test-gpu test-new-pythons test-leaks test-growth deps format lint fuzz soak kills attaches bench bench-python bench-check tarball wheel deb test-distros test-builds test-arm64 install clean

all: deps
	@scripts/configure.sh $(BUILD) --buildtype=release $(if $(wildcard $(BUILD)/build.ninja),,-Dtests=false)
	@ninja -C $(BUILD) --quiet

with-tests:
	@scripts/install-deps.sh base test
	@scripts/configure.sh $(BUILD) --buildtype=release -Dtests=true
	@ninja -C $(BUILD) --quiet

deps:
	@scripts/install-deps.sh base

demo: all
	@scripts/demo.sh $(BUILD)

# JUNIT=FILE also writes the results of the end-to-end tests as JUnit XML; meson has written those of the unit
# tests to BUILD/meson-logs/testlog.junit.xml.
test: with-tests
	@scripts/test.sh $(BUILD) $(if $(JUNIT),--junit $(JUNIT))

# The unit tests, and those end-to-end tests that say most in the least time: under two minutes.
check: with-tests
	@scripts/test.sh $(BUILD) --quick $(if $(JUNIT),--junit $(JUNIT))

# Real programs with and without tidemark; installs those that are missing. PROGRAM=NAME picks some.
test-programs: with-tests
	@$(PYTHON) tests/real/run.py --build $(BUILD) -k "$(PROGRAM)"

# Giants with and without tidemark (docs/large.md): installs some GB below BUILD/large. LARGE=NAME picks some,
# WRITE=docs/large.md puts their rows into the table there.
test-large: all
	@scripts/install-deps.sh large || true
	@$(PYTHON) tests/large/run.py --build $(BUILD) -k "$(LARGE)" $(if $(WRITE),--write $(WRITE))

# Exported files in speedscope's importer, DuckDB and OpenTelemetry's decoder, which it installs below BUILD/exchange
# from npm and PyPI. TEST=NAME picks some.
test-exchange: with-tests
	@scripts/install-deps.sh exchange
	@$(PYTHON) tests/exchange/run.py --build $(BUILD) -k "$(TEST)"

# CPython's own tests with and without tidemark, on every interpreter: PYTHONS=3.12 and MODULE=gc pick some.
test-python: with-tests
	@$(PYTHON) tests/python/run.py --build $(BUILD) --python "$(PYTHONS)" -k "$(MODULE)"

# Memory of a graphics processor against what CUDA's runtime and PyTorch count: needs one, nvcc, and PyTorch in
# GPU_PYTHON.
GPU_PYTHON ?= python3
test-gpu: all
	@$(PYTHON) tests/gpu/run.py --build $(BUILD) --python $(GPU_PYTHON)

# The tests of Python on 3.14 and 3.15, which are fetched from Debian's newest suite into BUILD/pythons.
test-new-pythons: with-tests
	@scripts/install-deps.sh new-pythons
	@scripts/new-pythons.sh $(BUILD)/pythons
	@for v in 3.14 3.15; do TIDEMARK_PYTHONS=$(abspath $(BUILD))/pythons $(PYTHON) tests/e2e/runner.py --build $(BUILD) -k "[$$v]" || exit 1; done

# What is called lost, compared with valgrind and LeakSanitizer (docs/leaks.md). PROGRAM=NAME picks some.
test-leaks: with-tests
	@scripts/install-deps.sh bench
	@$(PYTHON) tests/leaks/agree.py --build $(BUILD) -k "$(PROGRAM)"

# Every way to grow, each with GROWTH_SEEDS seeds from GROWTH_FIRST on.
GROWTH_SEEDS ?= 20
GROWTH_FIRST ?= 1
test-growth: with-tests
	@GROWTH_SEEDS=$(GROWTH_SEEDS) GROWTH_FIRST=$(GROWTH_FIRST) $(PYTHON) tests/e2e/runner.py --build $(BUILD) -k growth

bench: all
	@scripts/install-deps.sh bench
	@$(PYTHON) bench/run.py --tidemark $(BUILD)/tidemark

# Python scripts, with memray and tracemalloc beside; PYTHON=PATH picks the interpreter.
bench-python: all
	@$(PYTHON) bench/python.py --tidemark $(BUILD)/tidemark

bench-check: all
	@scripts/install-deps.sh bench
	@$(PYTHON) bench/check_stacks.py --build $(BUILD)

# Each fuzzer for FUZZ_SECONDS; needs clang.
FUZZ_SECONDS ?= 60
fuzz:
	@scripts/install-deps.sh base test
	@scripts/fuzz.sh $(FUZZ_SECONDS)

# Everything at once, at random, for SOAK_SECONDS; and a program killed KILLS times.
SOAK_SECONDS ?= 180
soak: with-tests
	@$(PYTHON) tests/soak/soak.py --build $(BUILD) --seconds $(SOAK_SECONDS)

KILLS ?= 1000
kills: with-tests
	@$(PYTHON) tests/soak/kills.py --build $(BUILD) --runs $(KILLS)

# Attaching to programs and detaching at random moments (docs/SAFETY.md). PROGRAM=NAME picks some.
CYCLES ?= 500
attaches: with-tests
	@$(PYTHON) tests/soak/attach.py --build $(BUILD) --cycles $(CYCLES) -k "$(PROGRAM)"

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint:
	@scripts/install-deps.sh base lint
	@scripts/lint.sh $(BUILD)

# What users install (docs/install.md), in BUILD/dist. The first two run wherever glibc is 2.27 or later.
tarball wheel: deps
	@scripts/install-deps.sh packages
	@scripts/portable.sh $(BUILD) $@

deb: deps
	@scripts/install-deps.sh packages
	@scripts/make_deb.sh $(BUILD)

# All of these in systems of other distributions, which are made below BUILD/chroots: needs root and network.
SUITES ?= bionic bullseye jammy bookworm noble trixie sid
test-distros: deps
	@scripts/install-deps.sh packages
	@scripts/portable.sh $(BUILD) tarball wheel
	@scripts/make_deb.sh $(BUILD)
	@$(PYTHON) tests/packages/run.py --build $(BUILD) --suites "$(SUITES)"

# `make` and `make demo` in such systems, with their compilers; BUILDS="noble sid" picks some.
BUILDS ?= bookworm noble trixie sid
test-builds:
	@scripts/install-deps.sh packages
	@$(PYTHON) tests/packages/from_source.py --build $(BUILD) --suites "$(BUILDS)"

# Cross-builds for aarch64 and tests that under qemu, in BUILD-arm64; TEST=NAME picks tests.
test-arm64: deps
	@scripts/install-deps.sh arm64 packages
	@TEST="$(TEST)" scripts/arm64.sh $(BUILD)-arm64

install: all
	@ninja -C $(BUILD) install

clean:
	rm -rf $(BUILD) $(BUILD).log build-fuzz
