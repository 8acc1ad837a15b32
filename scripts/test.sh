#!/usr/bin/env bash
# Builds Heddle and runs its tests.
#
#   scripts/test.sh [quick|full|slow]
#
# quick  the release build and the tests labelled quick
# full   the default, what CI runs: builds release, the same without LLVM and without CUDA, dev (address and undefined
#        behaviour sanitizers) and tsan, fuzzes with a seed drawn from the commit, and runs all tests but the slow ones
#        sanitized, but for half of those labelled full, which the commit draws: they run in the release build, as does
#        the other half of those labelled quick, and what is labelled so and is not in dev
# slow   the release build and the tests labelled slow or full
#
# Installs what is missing first (scripts/setup.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

level=${1:-full}
case "$level" in
quick | full | slow) ;;
*)
    echo "usage: scripts/test.sh [quick|full|slow]" >&2
    exit 2
    ;;
esac

scripts/setup.sh test

# Compiled plans of tests stay in the build folder, not in the home directory.
export HEDDLE_CACHE="$PWD/build/test-cache"
nvrtc=$(find build/venv/lib/ -name 'libnvrtc.so.*' 2>/dev/null | head -n 1)
if [ -n "$nvrtc" ]; then
    export HEDDLE_NVRTC="$PWD/$nvrtc"
    # It looks for its own built-in headers by name alone.
    LD_LIBRARY_PATH="$PWD/$(dirname "$nvrtc")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export LD_LIBRARY_PATH
fi

failed=()

# run_tests PRESET [CTEST ARGUMENT]...: one more at a time than there are processors, since some tests wait.
run_tests() {
    local preset=$1
    shift
    say "testing build/$preset"
    ctest --test-dir "build/$preset" -j "$((jobs + 1))" --output-on-failure --no-tests=error "$@" ||
        failed+=("$preset")
}

has_tests() {
    ! ctest --test-dir "build/$1" -N -L "$2" | grep -q '^Total Tests: 0$'
}

# drawn_tests PRESET LABEL: a regular expression of the half of the tests with the label that the commit draws, by their names,
# so that one build runs what the other leaves out. What makes data for other tests is in neither half.
drawn_tests() {
    ctest --test-dir "build/$1" --show-only=json-v1 -L "^$2\$" -LE '^(slow|tsan)$' | python3 -c '
import json, sys, zlib
names = []
for test in json.load(sys.stdin)["tests"]:
    makes_data = any(p["name"] == "FIXTURES_SETUP" for p in test["properties"])
    if not makes_data and zlib.crc32(test["name"].encode()) % 2 == int(sys.argv[1]) % 2:
        names.append(test["name"])
print("^(" + "|".join(names) + ")$")' "$(commit_number)"
}

# The thread sanitizer's build runs only the tests made for it.
run_tsan() {
    configure tsan
    if has_tests tsan '^tsan$'; then
        build tsan
        run_tests tsan -L '^tsan$'
    fi
}

configure release
build release
case "$level" in
quick) run_tests release -L quick ;;
slow) run_tests release -L '^(slow|full)$' ;;
full)
    # Without one of the backends: built, and the little that can be tested then.
    for preset in no-llvm no-cuda; do
        configure "$preset"
        build "$preset"
        run_tests "$preset" -R '^(backends_of_build|frontend_|structure_)'
    done
    configure dev
    build dev
    run_tsan
    scripts/fuzz.sh --commit 300 || failed+=(fuzz)
    run_tests dev -LE '^(slow|tsan)$' -E "$(drawn_tests dev full)"
    run_tests release -LE '^(slow|tsan|full)$' -E "$(drawn_tests dev quick)"
    run_tests release -L '^full$' -LE '^(slow|tsan)$' -R "$(drawn_tests release full)"
    ;;
esac

if [ "${#failed[@]}" -gt 0 ]; then
    say "FAILED: ${failed[*]}"
    exit 1
fi
