#!/usr/bin/env python3
"""Queries on several GPUs: their rows must be those of one GPU; times of both side by side.

Usage: several.py --heddle BIN --library FILE --db DB --sf F --devices 0,1 [--suite tpch|jcch|ssb] [--queries 1,5-9] [--repeat 20]
                  [--spread always|auto] [--rows yes|no] [--out FILE.json]

One GPU is the first of the list. With --spread always (default) each query that can be is spread over all; with auto those
that the planner expects to gain. A repeated device (0,0) needs HEDDLE_SAME_DEVICE=1: two contexts on one GPU. Times are the
shortest of --repeat executions of a prepared statement (heddle_execute of libheddle.so, FILE), columns resident, behind as many as it
takes until several GPUs were tried and their code is optimised. `beside` is what fragments take beside their kernels. The last line
counts queries: N agree, N differ.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from agree import batch, difference
from common import ROOT, Suite, parser


sys.path.insert(0, str(ROOT / "python"))

WARM = 28  # executions before those that count: trials are 24 at most, beside a first tier's


def parse_args():
    p = parser(__doc__)
    p.add_argument("--library", required=True)
    p.add_argument("--devices", required=True)
    p.add_argument("--repeat", type=int, default=20)
    p.add_argument("--spread", choices=("always", "auto"), default="always")
    p.add_argument("--rows", choices=("yes", "no"), default="yes")
    p.add_argument("--out", type=Path)
    p.add_argument("--part", help=argparse.SUPPRESS)  # devices of a process of its own
    return p.parse_args()


def options(devices):
    return ["--backend", "cuda", "--device", devices, "--trust"]


def run_part(args):
    """In this process: {query: [milliseconds, report]} of the fastest execution."""
    os.environ["HEDDLE_LIBRARY"] = args.library
    import heddle
    from heddle import _native as native
    from overhead import execute
    suite, out = Suite(ROOT / args.suite), {}
    values = suite.parameters(suite.data["default_class"], args.sf)
    devices = [int(d) for d in args.part.split(",")]
    with heddle.connect(args.db, trust=True, backend="cuda", device=devices if len(devices) > 1 else devices[0]) as con:
        for name in suite.select(args.queries):
            statement = con.prepare(json.loads(suite.plan_path(name).read_text()))
            handle, best = statement._bind(values.get(name, {}), {}), [float("inf"), None]
            for i in range(WARM + args.repeat):
                ms = execute(native, handle) / 1e3
                if i >= WARM and ms < best[0]:
                    best = [ms, json.loads(native.text(native.lib.heddle_statement_report, handle))]
            out[name] = best
            statement.close()
    return out


def times(devices):
    own = [sys.executable, __file__, *sys.argv[1:], "--part", devices]
    return json.loads(subprocess.run(own, check=True, stdout=subprocess.PIPE).stdout)


def spans(report):
    """A fragment each: exchange, when it began, how long it took, its kernels, on the slowest GPU."""
    fragments, lanes = report["devices"]["fragments"], {}
    for span in report.get("timeline", []):
        lanes.setdefault(span["fragment"], []).append(span)
    return [(f["exchange"], min(s["start_ms"] for s in lanes[f["id"]]), max(s["ms"] for s in lanes[f["id"]]),
             max(p["execute_ms"] for p in f["parts"]), f["bytes"]) for f in fragments if f["id"] in lanes]


def print_times(one, several):
    print(f"{'query':6} {'one ms':>9} {'all ms':>9} {'ratio':>6} {'beside':>7}  fragments: exchange at + ms (execution) bytes; why")
    sums = [0.0, 0.0]
    for name in sorted(set(one) & set(several)):
        (a, _), (b, report) = one[name], several[name]
        parts = spans(report)
        beside = f"{b - sum(p[3] for p in parts):7.3f}" if parts else 7 * " "
        sums = [sums[0] + a, sums[1] + b]
        print(f"{name:6} {a:9.3f} {b:9.3f} {b / a:6.2f} {beside}  " +
              ", ".join(f"{x} {at:.2f}+{ms:.2f} ({ran:.2f}) {n}" for x, at, ms, ran, n in parts) +
              f"; {report['devices']['why'] if parts else ''}")
    print(f"sum    {sums[0]:9.3f} {sums[1]:9.3f} {sums[1] / sums[0]:6.2f}")


def compare(args, one, scratch):
    """(number of queries, of differences)"""
    suite = Suite(ROOT / args.suite)
    values = suite.parameters(suite.data["default_class"], args.sf)
    jobs = [(q, suite.plan_path(q), values.get(q, {})) for q in suite.select(args.queries)]
    failed = [batch(args, jobs, scratch / d.replace(",", "-"), *options(d)) for d in (one, args.devices)]
    bad = 0
    for name, plan, _ in jobs:
        files = [scratch / d.replace(",", "-") / f"{name}.csv" for d in (one, args.devices)]
        why = failed[0][name] or failed[1][name] or difference(plan, *files)
        bad += why is not None
        if why:
            print(f"{name}: {why.replace('the CPU', 'one GPU')}")
    return len(jobs), bad


def main():
    args = parse_args()
    if args.spread == "always":
        os.environ["HEDDLE_SPREAD"] = "always"
    if args.part:
        print(json.dumps(run_part(args)))
        return 0
    one = args.devices.split(",")[0]
    count = bad = 0
    if args.rows == "yes":
        with tempfile.TemporaryDirectory(prefix="heddle-several-") as folder:
            count, bad = compare(args, one, Path(folder))
    runs = times(one), times(args.devices)
    if args.out:
        args.out.write_text(json.dumps({"one": runs[0], "several": runs[1]}))
    print_times(*runs)
    if args.rows == "yes":
        print(f"{count - bad} agree, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
