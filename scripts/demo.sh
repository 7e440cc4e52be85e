#!/usr/bin/env bash
# Compiles the bundled example, records it and shows what tidemark says: scripts/demo.sh [BUILD]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
out=$build/demo
mkdir -p "$out"

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

g++ -O1 -g -std=c++17 examples/demo.cpp -o "$out/demo"
show "$build/tidemark" run -o "$out/demo.tide" -- "$out/demo"
show "$build/tidemark" findings "$out/demo.tide"
show "$build/tidemark" report "$out/demo.tide" --top 8
show "$build/tidemark" report "$out/demo.tide" --metric peak --top 5
show "$build/tidemark" leaks "$out/demo.tide" --top 1
"$build/tidemark" flame "$out/demo.tide" --metric peak -o "$out/peak.svg"
"$build/tidemark" flame "$out/demo.tide" --metric total -o "$out/total.svg"
"$build/tidemark" marks "$out/demo.tide" --plot "$out/time.svg"
page=$("$build/tidemark" view "$out/demo.tide" --no-open --with-source -o "$out/demo.html" 2>/dev/null) || page=""

cat <<END

The program is examples/demo.cpp, with a leak, a growing cache, a loop full of temporary blocks and a large peak.
${page:+Everything in one page, for any browser:
  $page
}Pictures, for any browser:
  $out/peak.svg   what made the peak, as a flame graph
  $out/total.svg  who allocated, as a flame graph
  $out/time.svg   heap, RSS and VM over time
The profile is $out/demo.tide; try on it
  $build/tidemark report $out/demo.tide --tree
  $build/tidemark report $out/demo.tide --by line --metric total
or record a program of your own: $build/tidemark run -- PROGRAM ARGUMENTS
END
