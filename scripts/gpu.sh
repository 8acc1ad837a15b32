#!/usr/bin/env bash
# On a machine with a GPU: what CI cannot run.
#
#   scripts/gpu.sh STAGE [PART]
#
#   smoke      the tests of label gpu: every query of the suites at scale factor 0.01 against the CPU
#              backend in every balance mode, cancelling, memory limits, the cache
#   sanitize I/N   the I-th of N parts of the suites' queries at SF 0.01 in every balance mode under
#              compute-sanitizer: memcheck with every buffer an allocation of its own, then racecheck; parts
#              may run side by side
#   answers    SF 1: TPC-H validation, JCC-H normal and skewed against the stored answers; SF 10: both
#              suites against the CPU backend
#   first      SF 1 and 10: the first execution of each query of TPC-H in a new process with an empty cache under cpu,
#              cuda and auto, and where auto goes on
#   overhead   TPC-H at SF 1 and 10: what each execution takes beside its kernels, as CUPTI sees them (libcupti.so of the CUDA toolkit or of PyPI)
#   cancel     TPC-H and JCC-H at SF 1 cancelled at random times, and the executions behind that
#   bench10    times at SF 10: TPC-H validation, JCC-H with the published figures' parameters
#   bench100   times of TPC-H at SF 100 (40 GB of disk), and its rows against the CPU backend
#   floors [SUITE]  SF 100 (GPU_LARGE): each query's time beside the floors of its pipelines, and the pipelines that are far from
#              theirs, as the tables of docs/performance.md; SUITE is tpch, jcch or ssb (default: all; 40 GB of disk each)
#   ssb        the Star Schema Benchmark: SF 1 against the stored answers; times at SF 100 (25 GB of disk), and its
#              rows against the CPU backend
#   states     the device interface on one GPU, or two: streams, events, page-locked memory, peers; the fixed
#              kernels: tests of states on the GPU, then how long states of up to 600 million rows take to
#              finish (GPU_MILLIONS: fewer)
#   fragments  both suites at SF 0.01 and 1, every pipeline in two fragments that two GPUs take in turns (one GPU
#              takes both): the rows that they have in one piece; a part of them under memcheck and racecheck
#   multi [N]  TPC-H at SF 10 on N GPUs (default: all; on a machine with one, two workers on it): rows of one GPU, and
#              times of both, spread always and where the planner would
#   stream     TPC-H with less memory than data: bytes a second of Q1 and Q6 with nothing resident, rows and times of
#              all queries at SF 10 with 1 GB and at SF 100 (40 GB of disk) with 8 GB of the GPU; scans of a table by date
#              with and without zones (numpy, pyarrow)
#   passes     SF 10 with 512 MB of the GPU: large groups, joins, windows, and all queries of TPC-H: rows, times, the most memory
#              that was in use
#   skew       SF 10: each kind of sink fed by even and by skewed keys
#   joins      joins without keys: every pair of 500,000 and 250,000 rows, counted, added up, kept; the nearest of
#              100,000 points, by all pairs; every kind of join under conditions without an equality; as-of joins;
#              joins, groups and sorts of 64 million rows,
#              with the time of every kernel (GPU_PARTS: other numbers of bits for parts), and of 2^30 rows
#   operators  single operators at SF 10: windows, grouping sets, set operations, first rows; rows of the CPU
#   sql [SUITE]  the 99 queries of TPC-DS from SQL at SF 10 (GPU_TPCDS: another), rows of the CPU, times beside the CPU's; it needs
#              the Python packages duckdb and duckdb-extension-tpcds, and GPU_PLANS, a folder that tests/substrait/plans.py
#              wrote, or datafusion. SUITE tpch or jcch: at SF 10 beside the plans by hand
#   device     results that stay on the GPU and tables that are there already, with CuPy or PyTorch, whichever Python has
#              (GPU_LIBRARY: libheddle.so, default: build/release/api/libheddle.so)
#   graphs     patterns of random graphs: triangles of 10 M vertices and 200 M edges (7 GB of disk), all of a small one
#              against the CPU backend
#   ablate [PART]  each balancing strategy, those that Themis is compared with among them, as the paper's section 8
#              has it; a part is times (JCC-H skewed at SF 10), shares (SF 1: IIR, ILIF, waits), even (SF 10, as
#              planned), ssb, graphs, warps, block or scale (sweeps); default: all
#
# HEDDLE names a binary (default: build/release/bin/heddle, built if it is not there; heddle-nvrtc lies beside it), GPU_TOOLS the folder of
# the test programs (default: build/release/tests/simt, built likewise); GPU_DATA a folder for
# databases (default: build/gpu/data), which are generated once; GPU_REPORT a folder for reports (default:
# build/gpu/report); GPU_LARGE another scale factor for bench100 and ssb. A stage ends within 8 minutes on 16 cores; what it
# found already it does not do again.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

heddle=${HEDDLE:-build/release/bin/heddle}
data=${GPU_DATA:-build/gpu/data}
report=${GPU_REPORT:-build/gpu/report}
tools=${GPU_TOOLS:-build/release/tests/simt}
large=${GPU_LARGE:-100}
mkdir -p "$data" "$report"
status=0

need_binary() {
    if [ ! -x "$heddle" ] && [ -z "${HEDDLE:-}" ]; then
        configure release
        build release heddle_cli
    fi
    heddle=$(realpath "$heddle")
    export HEDDLE_BINARY=$heddle GPU_SCRATCH=$data
}

# database SUITE SF [all]: its path. Generated under another name first, by one of those that want it; columns that no query
# of the suite reads are left out, unless all are wanted.
database() {
    local db=$data/$1-sf$2${3:+-$3}
    (
        flock 9
        if [ ! -e "$db/catalog.json" ]; then
            rm -rf "$db.part"
            "$heddle" gen "$1" --sf "$2" --columns "${3:-used}" --out "$db.part" >&2
            mv "$db.part" "$db"
        fi
    ) 9>"$db.lock"
    echo "$db"
}

# step NAME COMMAND...: its output to a report; done ones are not repeated.
step() {
    local name=$1 out=$report/$1.txt
    shift
    if [ -e "$out" ]; then
        say "$name: done before"
        return
    fi
    say "$name"
    if "$@" >"$out.part" 2>&1; then
        mv "$out.part" "$out"
    else
        status=1
        mv "$out.part" "$out.failed"
        tail -20 "$out.failed"
    fi
}

stored() { # SUITE CLASS: against the stored answers at SF 1
    "$heddle" bench "$1" --db "$(database "$1" 1)" --class "$2" --backend cuda --repeat 3 \
        --query-timeout 60 --out "$report/answers-$1-$2.json"
}

compared() { # SUITE SF CLASSES OPTION...: against the CPU backend, whose rows are kept query by query
    python3 tests/gpu/agree.py --heddle "$heddle" --db "$(database "$1" "$2")" --sf "$2" --suite "$1" --class "$3" \
        --keep "$data" "${@:4}"
}

stage_smoke() {
    step smoke python3 tests/gpu/test_gpu.py
}

checked() { # SUITE CLASS SLICE COMMAND...: under a checker, which must find nothing
    local suite=$1 class=$2 slice=$3
    shift 3
    HEDDLE_POOL=direct python3 tests/gpu/agree.py --heddle "$heddle" --db "$(database "$suite" 0.01)" --sf 0.01 \
        --suite "$suite" --class "$class" --slice "$slice" --wrap "$*" \
        --balance auto,none,nifs,nifs+fws,nifs+fws-local,nifs+aws,pp,pp+lr,shuffle,shuffle+ibr
}

stage_sanitize() {
    local slice=${1:?the stage sanitize needs a part such as 1/4} part
    part=${slice/\//of}
    for tool in memcheck racecheck; do
        local command=(compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5)
        [ "$tool" = memcheck ] && command+=(--padding 4096)
        step "$tool-tpch-$part" checked tpch validation "$slice" "${command[@]}"
        step "$tool-jcch-$part" checked jcch skewed "$slice" "${command[@]}"
        step "$tool-ssb-$part" checked ssb standard "$slice" "${command[@]}"
    done
}

stage_answers() {
    step answers-tpch-sf1 stored tpch validation
    step answers-jcch-sf1-normal stored jcch normal
    step answers-jcch-sf1-skewed stored jcch skewed
    step answers-tpch-sf10 compared tpch 10 validation
    step answers-jcch-sf10 compared jcch 10 normal,skewed
}

stage_first() {
    for sf in 1 10; do
        step "first-tpch-sf$sf" python3 tests/gpu/first.py --heddle "$heddle" --db "$(database tpch "$sf")" \
            --out "$report/first-tpch-sf$sf.json"
    done
}

timed() { # SUITE SF CLASS
    "$heddle" bench "$1" --db "$(database "$1" "$2")" --trust --class "$3" --backend cuda --repeat 7 \
        --query-timeout 60 --out "$report/bench-$1-sf$2-$3.json"
}

stage_overhead() {
    local library=${GPU_LIBRARY:-build/release/api/libheddle.so} sf
    [ -e "$library" ] || build release heddle_shared
    for sf in 1 10; do
        step "overhead-tpch-sf$sf" python3 tests/gpu/overhead.py --library "$library" --db "$(database tpch "$sf")" --sf "$sf" \
            --out "$report/overhead-tpch-sf$sf.json"
    done
}

stage_cancel() {
    local library=${GPU_LIBRARY:-build/release/api/libheddle.so} suite
    [ -e "$library" ] || build release heddle_shared
    for suite in tpch jcch; do
        step "cancel-$suite" python3 tests/gpu/cancel.py --library "$library" --db "$(database "$suite" 1)" --sf 1 --suite "$suite" \
            --seconds 40
    done
}

stage_bench10() {
    step bench-tpch-sf10 timed tpch 10 validation
    step bench-jcch-sf10-paper timed jcch 10 paper
}

stage_bench100() {
    step "bench-tpch-sf$large" timed tpch "$large" validation
    step "answers-tpch-sf$large" compared tpch "$large" validation --trust
}

stage_floors() {
    local library=${GPU_LIBRARY:-build/release/api/libheddle.so} suite
    [ -e "$library" ] || build release heddle_shared
    for suite in ${1:-tpch jcch ssb}; do
        step "floors-$suite-sf$large" python3 tests/gpu/floors.py --library "$library" --db "$(database "$suite" "$large")" \
            --sf "$large" --suite "$suite"
    done
}

stage_ssb() {
    step answers-ssb-sf1 stored ssb standard
    step "bench-ssb-sf$large" timed ssb "$large" standard
    step "answers-ssb-sf$large" compared ssb "$large" standard --trust
}

stage_states() {
    if [ -z "${GPU_TOOLS:-}" ]; then
        configure release
        build release simt_test_devices simt_test_order simt_test_states simt_test_partition bench_states
    fi
    step devices "$tools/simt_test_devices" cuda
    step order "$tools/simt_test_order" cuda
    step states "$tools/simt_test_states" cuda
    step partition "$tools/simt_test_partition" cuda
    step states-bench "$tools/bench_states" "${GPU_MILLIONS:-600}"
}

split() { # SUITE SF OPTION|PLAN...: in fragments and in one piece
    python3 tests/e2e/fragments.py --heddle "$heddle" --db "$(database "$1" "$2")" --backend cuda "${@:3}"
}

# What gathers states, under a checker, which must find nothing.
checked_split() { # TOOL
    HEDDLE_POOL=direct HEDDLE_FRAGMENTS=2 compute-sanitizer --tool "$1" --error-exitcode 9 --print-limit 5 \
        "$heddle" bench tpch --db "$(database tpch 0.01)" --queries 1,3,5,9,13,15,18,21 --backend cuda \
        --repeat 1
}

stage_fragments() {
    local jcch=(--params jcch/params/skewed-1.json) plan sf tool
    for plan in tpch/plans/q*.json; do
        if [ -e "jcch/plans/${plan##*/}" ]; then jcch+=("jcch/plans/${plan##*/}"); else jcch+=("$plan"); fi
    done
    for sf in 0.01 1; do
        step "fragments-tpch-sf$sf" split tpch "$sf" tpch/plans/q*.json
        step "fragments-jcch-sf$sf" split jcch "$sf" "${jcch[@]}"
    done
    for tool in memcheck racecheck; do
        step "fragments-$tool" checked_split "$tool"
    done
}

several() { # DEVICES SPREAD
    HEDDLE_SAME_DEVICE=1 python3 tests/gpu/several.py --heddle "$heddle" --library "$library" --db "$(database tpch 10)" --sf 10 \
        --devices "$1" --spread "$2" --out "$report/multi-$2.json"
}

stage_multi() {
    local there list library=${GPU_LIBRARY:-build/release/api/libheddle.so}
    [ -e "$library" ] || build release heddle_shared
    there=$(nvidia-smi --query-gpu=index --format=csv,noheader | head -n "${1:-8}" | paste -sd,)
    list=$there
    [ "$there" = 0 ] && list=0,0
    step "multi-$list" several "$list" always
    step "multi-auto-$list" several "$list" auto
}

stage_stream() {
    local sf memory
    for sf in 10 100; do
        memory=$((sf == 10 ? 1 : 8))G
        step "stream-sf$sf" python3 tests/gpu/stream.py --heddle "$heddle" --db "$(database tpch "$sf")" \
            --memory "$memory" tpch/plans/q*.json
    done
    local library=${GPU_LIBRARY:-build/release/api/libheddle.so}
    [ -e "$library" ] || build release heddle_shared
    if ! python3 -c 'import numpy, pyarrow' 2>/dev/null; then
        say "zones: skipped, numpy or pyarrow is not there"
        return
    fi
    step zones env HEDDLE_LIBRARY="$PWD/$library" PYTHONPATH="$PWD/python" python3 tests/gpu/zones.py --heddle "$heddle" \
        --db "$data/zones-log"
}

stage_passes() {
    step "passes-sf10" python3 tests/gpu/passes.py --heddle "$heddle" --db "$(database tpch 10 all)" --memory 512M \
        tests/gpu/passes/*.json tpch/plans/q*.json
}

# graph VERTICES EDGES: its path.
graph() {
    local db=$data/graph-$1-$2
    if [ ! -e "$db/catalog.json" ]; then
        rm -rf "$db.part"
        "$heddle" gen graph --vertices "$1" --edges "$2" --out "$db.part" >&2
        mv "$db.part" "$db"
    fi
    echo "$db"
}

ablated() { # NAME WHAT DB SF OPTION...
    step "ablate-$1" python3 tests/gpu/ablate.py "$2" --heddle "$heddle" --db "$3" --sf "$4" \
        --out "$report/ablate-$1.json" "${@:5}"
}

# Queries whose pipelines have most skew, in the paper's section 8.2, and one for each other kind.
swept=4,5,7,9,10,16,18,20,21

stage_ablate() {
    local sf part plans
    for part in ${1:-times shares even ssb graphs warps block scale}; do
        case $part in
            times) ablated times times "$(database jcch 10)" 10 ;;
            shares) ablated shares shares "$(database jcch 1)" 1 ;;
            even) ablated even even "$(database jcch 10)" 10 ;;
            ssb)
                ablated ssb-times times "$(database ssb 10)" 10 --suite ssb --class standard
                ablated ssb-shares shares "$(database ssb 1)" 1 --suite ssb --class standard
                ;;
            graphs)
                plans=$(printf ',%s' examples/graphs/*.json)
                ablated graphs shares "$(graph 20000 200000)" 0 --plans "${plans:1}"
                ;;
            warps) ablated warps sweep "$(database jcch 1)" 1 --queries $swept --warps 4,32,256,2048,16384 ;;
            block) ablated block sweep "$(database jcch 1)" 1 --queries $swept --block 1,2,4,8 ;;
            scale)
                for sf in 1 3 10; do
                    ablated "scale-$sf" sweep "$(database jcch "$sf")" "$sf" --queries $swept
                done
                ;;
            *)
                say "ablate has no part $part"
                status=1
                ;;
        esac
    done
}

stage_joins() {
    step joins python3 tests/gpu/joins.py --heddle "$heddle" --scratch "$data" --out "$report/joins.json"
    step nearest python3 tests/gpu/nearest.py --heddle "$heddle" --scratch "$data" --out "$report/nearest.json"
    step pairs python3 tests/gpu/pairs.py --heddle "$heddle" --scratch "$data" --out "$report/pairs.json"
    step pairs-all-sizes python3 tests/e2e/pairs.py --heddle "$heddle" --backend cuda --sizes 0:201:25
    step pairs-examples python3 tests/e2e/pairs_examples.py --heddle "$heddle" --backend cuda
    step theta python3 tests/e2e/theta.py --heddle "$heddle" --backend cuda
    step asof python3 tests/e2e/asof.py --heddle "$heddle" --backend cuda --plans 24
    step quotes python3 tests/gpu/asof.py --heddle "$heddle" --scratch "$data" --out "$report/asof.json"
    step search python3 tests/e2e/search.py --heddle "$heddle" --backend cuda --count 3
    step ranges python3 tests/gpu/ranges.py --heddle "$heddle" --scratch "$data" --out "$report/ranges.json"
    step radix python3 tests/gpu/radix.py --heddle "$heddle" --scratch "$data" --parts "${GPU_PARTS:-6,7,9}" \
        --out "$report/radix.json"
    step giant python3 tests/gpu/radix.py --heddle "$heddle" --scratch "$data" --giant --repeat 2 --out "$report/giant.json"
}

stage_operators() {
    step operators-sf10 python3 tests/gpu/operators.py --heddle "$heddle" --db "$(database tpch 10 all)" \
        --out "$report/operators.json"
    step first-rows python3 tests/e2e/first_rows.py --heddle "$heddle" --backend cuda --threads 1 --plans 10
    step moments python3 tests/e2e/moments.py --heddle "$heddle" --backend cuda --plans 20
}

stage_sql() {
    local suite=${1:-tpcds}
    if [ "$suite" != tpcds ]; then
        local hand=${GPU_PLANS:-$data/$suite-plans}
        [ -e "$hand/q22.pb" ] || python3 tests/substrait/plans.py --suite "$suite" --db "$(database "$suite" 10)" --sf 10 --out "$hand"
        step "sql-$suite-sf10" python3 tests/gpu/by_hand.py --heddle "$heddle" --suite "$suite" --db "$(database "$suite" 10)" --plans "$hand"
        return
    fi
    local sf=${GPU_TPCDS:-10} plans=${GPU_PLANS:-$data/tpcds-plans}
    local db=$data/tpcds-sf$sf
    [ -e "$db/catalog.json" ] || TMPDIR=$data python3 tpcds/make.py --sf "$sf" --out "$db" --heddle "$heddle"
    [ -e "$plans/q99.pb" ] || python3 tests/substrait/plans.py --out "$plans"
    step "sql-tpcds-sf$sf" python3 tests/gpu/sql.py --heddle "$heddle" --db "$db" --plans "$plans" \
        --out "$report/sql-tpcds-sf$sf.json"
}

stage_device() {
    local library=${GPU_LIBRARY:-build/release/api/libheddle.so}
    [ -e "$library" ] || build release heddle_shared
    if ! python3 -c 'import cupy' 2>/dev/null && ! python3 -c 'import torch' 2>/dev/null; then
        say "device: skipped, neither CuPy nor PyTorch is there"
        return
    fi
    step device python3 tests/gpu/device.py --library "$library" --db "$(database tpch 1)"
}

stage_graphs() {
    step graphs python3 tests/gpu/graphs.py --heddle "$heddle" --scratch "$data" --out "$report/graphs.json"
}

stage_skew() {
    step skew-sf10 python3 tests/gpu/skew.py --heddle "$heddle" --even "$(database tpch 10)" \
        --skewed "$(database jcch 10)" --out "$report/skew-sf10.json"
}

case ${1:-} in
    smoke | skew | sanitize | answers | first | overhead | cancel | bench10 | bench100 | floors | ssb | states | fragments | multi | stream | passes | joins | operators | sql | device | graphs | ablate)
        need_binary
        # One execution of a query would stay in the first tier; HEDDLE_TIER=first tries just that.
        [ "$1" = first ] || export HEDDLE_TIER=${HEDDLE_TIER:-optimised}
        "$heddle" info >"$report/info.txt"
        "stage_$1" "${@:2}"
        ;;
    *)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
esac
[ "$status" -eq 0 ] && say "$1: all right"
exit "$status"
