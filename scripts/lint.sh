#!/usr/bin/env bash
# Formatting, static checks and a second compiler: scripts/lint.sh [BUILD] [--quick]
# Every check runs, also when one before it has failed; exits 1 if any did. --quick leaves out those that
# compile; the fuzzers of `make test` are built by the second compiler too.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
quick=${2:-}
failed=0

step() {
    local name=$1
    shift
    local log
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        echo "ok    $name"
    else
        echo "FAIL  $name"
        cat "$log"
        failed=1
    fi
    rm -f "$log"
}

# Tracked or not yet: a new file is to be linted before its first commit.
sources() {
    git ls-files --cached --others --exclude-standard -- "$@"
}

clang_build() {
    # ninja prints nothing of a command that succeeds in silence; any warning is an error here.
    CC=clang scripts/configure.sh "$build-clang" --buildtype=debugoptimized && ninja -C "$build-clang" --quiet
}

tidy() {
    # Headers are seen through the files that include them; programs for tests are odd on purpose. Of the
    # architectures, this machine's has headers.
    { sources 'src/*.c' ':!src/arch'; sources "src/arch/$(uname -m)/*.c"; } |
        xargs -P 2 -n 8 clang-tidy --quiet -p "$build-clang" --warnings-as-errors='*'
}

format() {
    sources '*.c' '*.h' '*.cpp' | xargs clang-format --dry-run -Werror
}

scripts_check() {
    sources '*.sh' .ci/run | xargs shellcheck -S warning
}

python_check() {
    # Compiled in memory: nothing is left behind in the tree.
    sources '*.py' | xargs /usr/bin/python3 -c \
        'import sys; [compile(open(p).read(), p, "exec") for p in sys.argv[1:]]'
}

step "format (clang-format)" format
step "shell scripts (shellcheck)" scripts_check
step "python scripts" python_check
step "length of files, duplicates" scripts/check_sources.py
if [ "$quick" != --quick ]; then
    step "second compiler (clang)" clang_build
    step "static checks (clang-tidy)" tidy
fi
exit "$failed"
