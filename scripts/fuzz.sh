#!/usr/bin/env bash
# Builds and runs every fuzzer in tests/fuzz: scripts/fuzz.sh [SECONDS] [FUZZER...]
# Each runs for SECONDS (60) on one core, from a few inputs made for it and what earlier runs found
# interesting (FUZZ_CORPUS, a folder that is kept; default: build-fuzz/corpus). Prints one line a
# fuzzer: executions, coverage, findings. Exits 1 on a finding and says where its input is.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-60}
[ $# -gt 0 ] && shift
dir=${FUZZ_BUILD:-build-fuzz}
corpus=${FUZZ_CORPUS:-$dir/corpus}
cc=${CLANG:-clang}
flags=(-g -O1 -std=gnu17 -D_GNU_SOURCE -DTIDEMARK_VERSION='"fuzz"' -Isrc -Iinclude -Wall -Wextra -Werror
    -Wno-missing-field-initializers -fno-omit-frame-pointer -fno-sanitize-recover=all)
libs=(-ldw -lelf -lzstd -lxxhash -liberty -lm -lpthread)
failed=0

if ! command -v "$cc" >/dev/null; then
    echo "fuzz: $cc is needed to build the fuzzers; scripts/install-deps.sh lint installs it" >&2
    exit 1
fi

# The parts under test are compiled once, for all fuzzers.
build_library() {
    mkdir -p "$dir/objects" || return 1
    local source object objects=()
    for source in src/{base,store,symbol,collect,model,report,unwind}/*.c; do
        object=$dir/objects/$(echo "${source#src/}" | tr / _).o
        objects+=("$object")
        # Headers are not tracked: anything newer than the object means compiling it again.
        if [ -n "$(find "$source" src -name '*.h' -newer "$object" 2>/dev/null | head -1)" ] ||
            [ ! -f "$object" ] || [ "$source" -nt "$object" ]; then
            "$cc" "${flags[@]}" -fsanitize=fuzzer-no-link,address,undefined -c "$source" -o "$object" ||
                return 1
        fi
    done
    rm -f "$dir/libunder.a"
    ar rcs "$dir/libunder.a" "${objects[@]}"
}

# The ELF reader's inputs are files that a compiler makes.
compiled_seeds() {
    local folder=$1
    printf 'static inline int g(int x) { return x * 3; }\nint f(int x) { return g(x) + 1; }\n' >"$dir/seed.c"
    "$cc" -g -O2 -c "$dir/seed.c" -o "$folder/object" &&
        "$cc" -g -O2 -shared -nostdlib "$dir/seed.c" -o "$folder/library" &&
        "$cc" -O2 -shared -nostdlib -s "$dir/seed.c" -o "$folder/stripped"
}

run_one() {
    local name=$1 source=tests/fuzz/$1.c log=$dir/$1.log
    mkdir -p "$corpus/$name" "$dir/findings"
    "$cc" "${flags[@]}" -fsanitize=fuzzer,address,undefined "$source" "$dir/libunder.a" "${libs[@]}" \
        -o "$dir/$name" || return 1
    if [ "$name" = fuzz_symbolizer ]; then
        compiled_seeds "$corpus/$name" || return 1
    else
        TIDEMARK_SEEDS=$corpus/$name "$dir/$name" 2>"$log" || { cat "$log"; return 1; }
    fi
    "$dir/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
        -print_final_stats=1 -artifact_prefix="$dir/findings/$name-" "$corpus/$name" >"$log" 2>&1
    local status=$? runs coverage
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
    if [ $status = 0 ]; then
        echo "ok    $name: ${runs:-0} executions, ${coverage:-cov: ?}"
    else
        echo "FAIL  $name: after ${runs:-$(grep -o '^#[0-9]*' "$log" | tail -1)} executions"
        grep -E 'ERROR|runtime error|SUMMARY|Test unit written|^    #[0-9] ' "$log" | head -20
        return 1
    fi
}

build_library || exit 1
if [ $# = 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        set -- "$@" "$(basename "$source" .c)"
    done
fi
for name; do
    run_one "$name" || failed=1
done
exit "$failed"
