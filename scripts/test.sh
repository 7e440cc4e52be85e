#!/usr/bin/env bash
# Runs the unit tests, the end-to-end tests and every fuzzer, for a short time, on a build:
# scripts/test.sh [BUILD]
# Ends with one line, "N passed, N failed", over all of them.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
python=${PYTHON:-/usr/bin/python3}

counts=$(mktemp)
trap 'rm -f "$counts"' EXIT

"$python" scripts/unit_tests.py "$build" --counts "$counts"
unit=$?
"$python" tests/e2e/runner.py --build "$build" --counts "$counts"
e2e=$?
fuzzed=$(scripts/fuzz.sh --check "$build" 2>&1)
fuzz=$?
[ "$fuzz" = 0 ] || echo "$fuzzed" | grep -v '^ok'
echo "$(echo "$fuzzed" | grep -c '^ok') $([ "$fuzz" = 0 ] && echo 0 || echo 1)" >>"$counts"

awk '{ passed += $1; failed += $2 } END { printf "%d passed, %d failed\n", passed, failed }' "$counts"
[ "$unit" = 0 ] && [ "$e2e" = 0 ] && [ "$fuzz" = 0 ]
