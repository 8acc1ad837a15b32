#!/usr/bin/env bash
# From nothing to rows: builds Heddle, generates TPC-H data, runs all 22 queries.
#
#   scripts/demo.sh            HEDDLE_SF=0.1 scripts/demo.sh for another scale factor (default 1)
#
# Installs what the build needs first (scripts/setup.sh); all else stays below build/.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

scripts/setup.sh build
configure release
build release heddle_cli

heddle=build/release/bin/heddle
sf=${HEDDLE_SF:-1}
db=build/demo/tpch-sf$sf
mkdir -p build/demo

if [ ! -e "$db/catalog.json" ]; then
    say "generating TPC-H at scale factor $sf into $db"
    time "$heddle" gen tpch --sf "$sf" --out "$db"
fi

for query in q01 q03 q13; do
    printf '\n$ %s run tpch/plans/%s.json --db %s\n' "$heddle" "$query" "$db"
    "$heddle" run "tpch/plans/$query.json" --db "$db" | sed -n 1,14p
done

printf '\n$ %s bench tpch --db %s\n' "$heddle" "$db"
"$heddle" bench tpch --db "$db" --out build/demo/bench.json
