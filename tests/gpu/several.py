#!/usr/bin/env python3
"""Queries on several GPUs: their rows must be those of one GPU; times of both side by side.

Usage: several.py --heddle BIN --db DB --sf F --devices 0,1 [--suite tpch|jcch|ssb] [--queries 1,5-9] [--repeat 5]
                  [--spread always|auto] [--memory BYTES] [--out FILE.json]

One GPU is the first of the list. With --spread always (default) each query that can be is spread over all; with auto those
that the planner expects to gain. A repeated device (0,0) needs HEDDLE_SAME_DEVICE=1: two contexts on one GPU. The last line
counts queries: N agree, N differ.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from agree import batch, difference
from common import ROOT, Suite, parser


def parse_args():
    p = parser(__doc__)
    p.add_argument("--devices", required=True)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--spread", choices=("always", "auto"), default="always")
    p.add_argument("--memory")
    p.add_argument("--out", type=Path)
    return p.parse_args()


def options(args, devices):
    return ["--backend", "cuda", "--device", devices, "--trust"] + (["--memory", args.memory] if args.memory else [])


def times(args, devices, scratch):
    """The runs of each query."""
    out = scratch / f"bench-{devices}.json"
    command = [args.heddle, "bench", args.suite, "--db", args.db, "--repeat", str(args.repeat), "--query-timeout", "60",
               "--out", str(out), *options(args, devices)]
    if args.queries:
        command += ["--queries", args.queries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not out.exists():
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return {q["name"]: q["runs"] for q in json.loads(out.read_text())["queries"] if q["status"] == "ok"}


def fastest(runs):
    return min(r["execute_ms"] + r["result_ms"] for r in runs)


def print_times(one, several):
    print(f"{'query':6} {'one ms':>9} {'all ms':>9} {'ratio':>6} {'fragments':>9} {'exchanged':>12}  first transfers ms, why")
    for name in sorted(set(one) & set(several)):
        last, a, b = several[name][-1]["devices"], fastest(one[name]), fastest(several[name])
        sent = sum(f["bytes"] for f in last["fragments"][:-1])
        print(f"{name:6} {a:9.3f} {b:9.3f} {a / b if b else 0:6.2f} {len(last['fragments']):9} {sent:12}"
              f"  {one[name][0]['transfer_ms']:.1f}, {several[name][0]['transfer_ms']:.1f}  {last['why']}")


def compare(args, one, scratch):
    """(number of queries, of differences)"""
    suite = Suite(ROOT / args.suite)
    values = suite.parameters(suite.data["default_class"], args.sf)
    jobs = [(q, suite.plan_path(q), values.get(q, {})) for q in suite.select(args.queries)]
    failed = [batch(args, jobs, scratch / d.replace(",", "-"), *options(args, d)) for d in (one, args.devices)]
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
    one = args.devices.split(",")[0]
    with tempfile.TemporaryDirectory(prefix="heddle-several-") as folder:
        scratch = Path(folder)
        count, bad = compare(args, one, scratch)
        runs = times(args, one, scratch), times(args, args.devices, scratch)
    if args.out:
        args.out.write_text(json.dumps({"one": runs[0], "several": runs[1]}))
    print_times(*runs)
    print(f"{count - bad} agree, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
