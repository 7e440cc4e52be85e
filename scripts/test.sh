#!/usr/bin/env bash
# Runs the linters that do not compile, the unit tests, the end-to-end tests and every fuzzer, for a short
# time, on a build: scripts/test.sh [BUILD] [--quick] [--junit FILE]
# --quick: the unit tests and the end-to-end tests of tests/e2e/runner.py --quick, without linters and fuzzers.
# Ends with one line, "N passed, N failed", over all of them.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
shift
python=${PYTHON:-/usr/bin/python3}
quick=""
for word; do
    [ "$word" = --quick ] && quick=yes
done

counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
failed=0

# Prints what failed; every line "ok" counts as passed.
count_lines() {
    local told status
    told=$("$@" 2>&1)
    status=$?
    if [ "$status" != 0 ]; then
        echo "$told" | grep -v '^ok'
        failed=1
    fi
    echo "$(echo "$told" | grep -c '^ok') $([ "$status" = 0 ] && echo 0 || echo 1)" >>"$counts"
}

[ -n "$quick" ] || count_lines scripts/lint.sh "$build" --quick
"$python" scripts/unit_tests.py "$build" --counts "$counts" || failed=1
"$python" tests/e2e/runner.py --build "$build" --counts "$counts" "$@" || failed=1
[ -n "$quick" ] || count_lines scripts/fuzz.sh --check "$build"

awk '{ passed += $1; failed += $2 } END { printf "%d passed, %d failed\n", passed, failed }' "$counts"
exit "$failed"
