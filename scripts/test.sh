#!/usr/bin/env bash
# Runs the unit tests and the end-to-end tests on a build: scripts/test.sh [BUILD]
# Ends with one line, "N passed, N failed", over both kinds.
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

awk '{ passed += $1; failed += $2 } END { printf "%d passed, %d failed\n", passed, failed }' "$counts"
[ "$unit" = 0 ] && [ "$e2e" = 0 ]
