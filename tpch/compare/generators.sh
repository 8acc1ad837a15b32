#!/usr/bin/env bash
# Compares Heddle's TPC-H generator with tpchgen-cli (PyPI) in one run: .tbl text against .tbl text,
# a Heddle database (with facts, keys and indexes) against Parquet; in turns, same number of threads.
#
# Usage: generators.sh HEDDLE TPCHGEN [SF] [THREADS] [ROUNDS] [DIR]
#
# Needs GNU time as /usr/bin/time. DIR (default: a folder in /dev/shm, so that no disk is measured) is emptied before each run.
# Prints seconds of wall time, of processor time, and the largest resident memory in MB.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
for program in "$1" "$2" /usr/bin/time; do
    command -v "$program" >/dev/null || { echo "generators.sh: no program $program" >&2; exit 2; }
done
heddle=$1 tpchgen=$2 sf=${3:-1} threads=${4:-2} rounds=${5:-3}
dir=${6:-$(mktemp -d /dev/shm/heddle-generators.XXXXXX)}
trap 'rm -rf "$dir"' EXIT

# timed NAME COMMAND...
timed() {
    local name=$1
    shift
    rm -rf "$dir" && mkdir -p "$dir"
    /usr/bin/time -f "%e %U %S %M" -o "$dir.time" "$@" >/dev/null 2>&1
    awk -v n="$name" '{ printf "%-24s %6.2f s  %6.2f s cpu  %6.0f MB\n", n, $1, $2 + $3, $4 / 1024 }' "$dir.time"
    rm -f "$dir.time"
}

for _ in $(seq "$rounds"); do
    timed "heddle .tbl" "$heddle" gen tpch --sf "$sf" --tbl "$dir/out" --threads "$threads"
    timed "tpchgen-cli .tbl" "$tpchgen" tbl -s "$sf" -n "$threads" -o "$dir/out" --quiet
    timed "heddle database" "$heddle" gen tpch --sf "$sf" --out "$dir/out" --threads "$threads"
    timed "tpchgen-cli parquet" "$tpchgen" parquet -s "$sf" -n "$threads" -o "$dir/out" --quiet
done
