#!/usr/bin/env bash
# Runs the linters that do not compile, the unit tests, the end-to-end tests and every fuzzer, for a short
# time, on a build: scripts/test.sh [BUILD] [--quick] [--junit FILE]
# --quick: the unit tests and the end-to-end tests of tests/e2e/runner.py --quick, without linters and fuzzers.
# The linters and fuzzers run beside the other two, with what these leave of the processors; what failed of them
# is printed at the end. Ends with one line, "N passed, N failed", over all of them.
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
told=$(mktemp)
beside=""
trap 'rm -f "$counts" "$told"; [ -z "$beside" ] || kill -- "-$beside" 2>/dev/null' EXIT
trap 'exit 130' INT TERM
failed=0

# Prints what failed; every line "ok" counts as passed.
count_lines() {
    local told status
    told=$(nice -n 5 "$@" 2>&1)
    status=$?
    [ "$status" = 0 ] || echo "$told" | grep -v '^ok'
    echo "$(echo "$told" | grep -c '^ok') $([ "$status" = 0 ] && echo 0 || echo 1)" >>"$counts"
    return "$status"
}

linters_and_fuzzers() {
    local failed=0
    count_lines scripts/lint.sh "$build" --quick || failed=1
    count_lines scripts/fuzz.sh --check "$build" || failed=1
    return "$failed"
}

if [ -z "$quick" ]; then
    set -m # a process group of its own, which ends with this script
    linters_and_fuzzers </dev/null >"$told" 2>&1 &
    beside=$!
    set +m
fi
"$python" scripts/unit_tests.py "$build" --counts "$counts" || failed=1
"$python" tests/e2e/runner.py --build "$build" --counts "$counts" "$@" || failed=1
if [ -n "$beside" ]; then
    wait "$beside" || failed=1
    beside=""
    cat "$told"
fi

awk '{ passed += $1; failed += $2 } END { printf "%d passed, %d failed\n", passed, failed }' "$counts"
exit "$failed"
