#!/usr/bin/env bash
# Builds and runs every fuzzer in tests/fuzz with sanitizers:
#   scripts/fuzz.sh [SECONDS] [FUZZER...]   each for SECONDS (60), on one core
#   scripts/fuzz.sh --check BUILD           each for a few thousand executions, always the same; and
#                                           recordings made with BUILD, damaged in every way (damage.c):
#                                           one of a program, one that was merged, one that was imported
# They begin from inputs made for them, those in tests/fuzz/corpus/FUZZER (each found something once)
# and what earlier runs found interesting (FUZZ_CORPUS, a folder that is kept; default:
# build-fuzz/corpus). Prints one line a fuzzer: executions, coverage, findings. Exits 1 on a finding
# and says where its input is.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${FUZZ_BUILD:-build-fuzz}
corpus=${FUZZ_CORPUS:-$dir/corpus}
cc=${CLANG:-clang}
check=""
seconds=60
failed=0
if [ "${1:-}" = --check ]; then
    check=${2:?--check needs a build}
    corpus=$dir/check
    rm -rf "$corpus"
    shift 2
elif [ $# -gt 0 ]; then
    seconds=$1
    shift
fi

if ! command -v "$cc" >/dev/null; then
    echo "fuzz: $cc is needed to build the fuzzers; scripts/install-deps.sh installs it" >&2
    exit 1
fi

build() {
    CC=$cc scripts/configure.sh "$dir" --buildtype=debugoptimized -Dfuzz=true -Dtests=false -Dviewer=disabled &&
        ninja -C "$dir" fuzzers >"$dir/build.log" 2>&1 || { grep -a -A2 -E ' error: |warning: ' "$dir/build.log"; return 1; }
}

# The ELF reader's inputs are files that a compiler makes.
compiled_seeds() {
    local folder=$1
    printf 'static inline int g(int x) { return x * 3; }\nint f(int x) { return g(x) + 1; }\n' >"$dir/seed.c"
    "$cc" -g -O2 -c "$dir/seed.c" -o "$folder/object" &&
        "$cc" -g -O2 -shared -nostdlib "$dir/seed.c" -o "$folder/library" &&
        "$cc" -gdwarf-4 -gz -O2 -shared -nostdlib "$dir/seed.c" -o "$folder/packed" &&
        gcc -g -O2 -shared -nostdlib "$dir/seed.c" -o "$folder/gcc" &&
        "$cc" -O2 -shared -nostdlib -s "$dir/seed.c" -o "$folder/stripped"
}

# How many executions a check makes: about a second's worth.
runs_of() {
    case $1 in
    fuzz_rings | fuzz_symbolizer) echo 2000 ;;
    fuzz_import_*) echo 8000 ;;
    fuzz_names | fuzz_proc | fuzz_maps | fuzz_python | fuzz_jit) echo 20000 ;;
    *) echo 6000 ;;
    esac
}

run_one() {
    local name=$1 log=$dir/$1.log limit=(-max_total_time="$seconds") folders=("$corpus/$1")
    [ -n "$check" ] && limit=(-runs="$(runs_of "$name")" -seed=1)
    mkdir -p "$corpus/$name" "$dir/findings"
    [ -d "tests/fuzz/corpus/$name" ] && folders+=("tests/fuzz/corpus/$name")
    if [ "$name" = fuzz_symbolizer ]; then
        compiled_seeds "$corpus/$name" || return 1
    else
        TIDEMARK_SEEDS=$corpus/$name "$dir/tests/fuzz/$name" 2>"$log" || { cat "$log"; return 1; }
    fi
    "$dir/tests/fuzz/$name" "${limit[@]}" -timeout=60 -rss_limit_mb=2048 -max_len=16384 \
        -print_final_stats=1 -artifact_prefix="$dir/findings/$name-" "${folders[@]}" >"$log" 2>&1
    local status=$? runs coverage
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
    if [ $status = 0 ]; then
        echo "ok    $name: ${runs:-0} executions, ${coverage:-cov: ?}"
    else
        echo "FAIL  $name: after ${runs:-$(grep -o '^#[0-9]*' "$log" | tail -1)} executions"
        grep -E '^look.h:|ERROR|runtime error|SUMMARY|Test unit written|^    #[0-9] ' "$log" | head -20
        return 1
    fi
}

record_little() {
    gcc -g -O1 -Itests/programs tests/programs/little.c -pthread -o "$dir/little" &&
        "$check/tidemark" run --quiet -o "$dir/little.tide" -- "$dir/little" &&
        printf 'main;f 10\nmain;f;g 5\nmain;h 3\n' >"$dir/little.folded" &&
        "$check/tidemark" import --quiet "$dir/little.folded" --metric live -o "$dir/imported.tide" &&
        gcc -O1 -Itests/programs tests/programs/rank.c -pthread -o "$dir/rank" &&
        for rank in 1 2; do
            RANK=$rank "$check/tidemark" run --quiet --no-scan -o "$dir/rank.$rank.tide" -- "$dir/rank" || return 1
        done &&
        "$check/tidemark" merge --quiet "$dir/merged.tide" "$dir/rank.1.tide" "$dir/rank.2.tide"
}

# damage RECORDING HOW...: what is done to it, on one core.
run_damage() {
    local name=$1 log=$dir/damage-$1-$2.log
    shift
    if "$dir/tests/fuzz/damage" "$dir/$name.tide" "$@" >"$log" 2>&1; then
        echo "ok    damage of $name: $(paste -s -d ';' "$log" | sed 's/;/; /g')"
    else
        echo "FAIL  damage of $name: $*"
        head -30 "$log"
        return 1
    fi
}

# The fuzzers, one after the other.
run_all() {
    local failed=0
    for name; do
        run_one "$name" || failed=1
    done
    return "$failed"
}

build || exit 1
if [ $# = 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        set -- "$@" "$(basename "$source" .c)"
    done
fi
if [ -z "$check" ]; then
    run_all "$@"
    exit
fi
# The two halves take about as long.
record_little >"$dir/little.log" 2>&1 || { cat "$dir/little.log"; exit 1; }
change_all() {
    local failed=0
    run_damage little change || failed=1
    run_damage merged change || failed=1
    return "$failed"
}
change_all &
change=$!
run_all "$@" || failed=1
run_damage little cut flip || failed=1
run_damage merged cut flip || failed=1
run_damage imported cut flip change || failed=1
wait "$change" || failed=1
exit "$failed"
