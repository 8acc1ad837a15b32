#!/usr/bin/env bash
# Builds the libFuzzer programs of tests/fuzz with sanitizers and runs each for some seconds
# from its corpus.
#
#   scripts/fuzz.sh [SECONDS [NAME]...]     default: 60 seconds each, all of them
#
# Inputs that a program fails on are left in build/fuzz/found; new inputs that reach new code
# in build/fuzz/new/NAME.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

seconds=${1:-60}
shift || true

clang=$(compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -t- -k2 -n | tail -n 1)
launcher=()
if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
mkdir -p build/fuzz/found
cmake -S . -B build/fuzz -G Ninja "-DCMAKE_C_COMPILER=${clang:-clang}" "${launcher[@]}" \
    -DCMAKE_BUILD_TYPE=Debug '-DCMAKE_C_FLAGS_DEBUG=-O1 -g' \
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

# One program; its output is shown only if it fails.
fuzz_one() {
    local name=$1 seconds=$2 log=build/fuzz/$1.log
    local new=build/fuzz/new/$1 corpus=tests/fuzz/corpus/$1
    mkdir -p "$new" "$corpus"
    if "$(find build/fuzz -type f -name "fuzz_$name" -perm -u+x)" "-max_total_time=$seconds" \
        "-artifact_prefix=build/fuzz/found/$name-" -rss_limit_mb=4096 "$new" "$corpus" \
        >"$log" 2>&1; then
        printf '   fuzz_%s: ok, %s\n' "$name" "$(grep -oE 'Done [0-9]+ runs' "$log" || echo 'the time is over')"
    else
        tail -n 60 "$log"
        printf '   fuzz_%s: FAILED, see %s\n' "$name" "$log"
        return 1
    fi
}
export -f fuzz_one

say "fuzzing ${names[*]}, $seconds s each"
# shellcheck disable=SC2016 # the inner shell expands
printf '%s\n' "${names[@]}" |
    xargs -P "$jobs" -I NAME bash -c 'fuzz_one "$1" "$2"' fuzz NAME "$seconds"
