#!/usr/bin/env bash
# Runs queries under valgrind: no invalid access, no leak, nothing undefined used, also in compiled plans, whose code of
# both tiers takes turns, after a run as costs say.
#
#   run.sh HEDDLE DB PLAN...          exit status 77: no valgrind
set -euo pipefail
command -v valgrind >/dev/null || { echo "skipped: no valgrind"; exit 77; }
heddle=$1 db=$2
shift 2
passed=0 failed=0
for plan in "$@"; do
    checked=(valgrind -q --error-exitcode=9 --leak-check=full "$heddle" run "$plan" --db "$db"
        --no-cache --threads 2 --format csv)
    if "${checked[@]}" >/dev/null && HEDDLE_TIER_TURNS=1 "${checked[@]}" >/dev/null; then
        passed=$((passed + 1))
    else
        echo "FAILED: $plan"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
