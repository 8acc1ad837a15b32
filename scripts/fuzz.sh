#!/usr/bin/env bash
# Builds the libFuzzer programs of tests/fuzz with sanitizers and runs each for some seconds
# from its corpus.
#
#   scripts/fuzz.sh [--commit] [SECONDS [NAME]...]     default: 60 seconds each, all of them
#
# --commit: the same inputs whenever one commit is tried: the seed is drawn from the commit, and the number
# of inputs is fixed (SECONDS are then the most that they may take). So a finding is repeated by the
# same command. Without it every run tries others.
#
# Inputs that a program fails on are left in build/fuzz/found; new inputs that reach new code
# in build/fuzz/new/NAME.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

seed=
if [ "${1:-}" = --commit ]; then
    seed=$(commit_number)
    shift
fi
seconds=${1:-60}
shift || true

clang=$(compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -t- -k2 -n | tail -n 1)
launcher=()
if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
mkdir -p build/fuzz/found
cmake -S . -B build/fuzz -G Ninja "-DCMAKE_C_COMPILER=${clang:-clang}" "${launcher[@]}" \
    -DCMAKE_BUILD_TYPE=Debug '-DCMAKE_C_FLAGS_DEBUG=-O1 -g1' \
    -DHEDDLE_FUZZ=ON -DHEDDLE_SANITIZE=ON >build/fuzz/configure.log 2>&1 || {
    cat build/fuzz/configure.log
    exit 1
}
if [ "$#" -gt 0 ]; then
    names=("$@")
else
    mapfile -t names < <(ninja -C build/fuzz -t targets all |
        sed -n 's/^fuzz_\([a-z0-9_]*\): phony$/\1/p' | sort)
fi
say "building build/fuzz"
ninja -C build/fuzz --quiet "${names[@]/#/fuzz_}"

# What makes a run repeatable: inputs for some 15 s (of Substrait for 60, of patterns and formats for some 5), and addresses that do not vary, since libFuzzer learns from
# operands of comparisons, pointers among them. Threads compare in any order: nothing is learnt from those.
repeatable() {
    case $1 in
    planner) echo "-runs=15000" ;;
    arrow) echo "-runs=23000 -use_cmp=0" ;;
    csv) echo "-runs=45000" ;;
    pattern) echo "-runs=1500" ;;
    format) echo "-runs=8000" ;;
    substrait) echo "-runs=700000" ;;
    *) echo "-runs=93000" ;;
    esac
}

# One program; its output is shown only if it fails.
fuzz_one() {
    local name=$1 seconds=$2 seed=$3 log=build/fuzz/$1.log
    local options=() wrapper=()
    local new=build/fuzz/new/$1 corpus=tests/fuzz/corpus/$1
    if [ -n "$seed" ]; then
        read -r -a options <<<"-seed=$seed $(repeatable "$name")"
        new=build/fuzz/repeated/$1 # what earlier runs found would change what this one tries
        rm -rf "$new"
        if setarch -R true 2>/dev/null; then
            wrapper=(setarch -R)
        fi
    fi
    mkdir -p "$new" "$corpus"
    if "${wrapper[@]}" "$(find build/fuzz -type f -name "fuzz_$name" -perm -u+x)" "${options[@]}" \
        "-max_total_time=$seconds" "-artifact_prefix=build/fuzz/found/$name-" -rss_limit_mb=4096 "$new" "$corpus" \
        >"$log" 2>&1; then
        printf '   fuzz_%s: ok, %s\n' "$name" "$(grep -oE 'Done [0-9]+ runs' "$log" || echo 'the time is over')"
    else
        tail -n 60 "$log"
        printf '   fuzz_%s: FAILED, see %s\n' "$name" "$log"
        return 1
    fi
}
export -f fuzz_one repeatable

say "fuzzing ${names[*]}${seed:+, seed $seed}, at most $seconds s each"
# shellcheck disable=SC2016 # the inner shell expands
printf '%s\n' "${names[@]}" |
    xargs -P "$jobs" -I NAME bash -c 'fuzz_one "$1" "$2" "$3"' fuzz NAME "$seconds" "$seed"
