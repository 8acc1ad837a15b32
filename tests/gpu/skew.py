#!/usr/bin/env python3
"""What skew costs at each kind of sink: the same plan over as many rows with skewed and with even keys.

Usage: skew.py --heddle BIN --even DB --skewed DB [--backend cuda] [--out FILE.json]

EVEN is a TPC-H database, SKEWED a JCC-H one of the same scale factor: line items are as many (to 0.1 %), but in JCC-H a
quarter of them belongs to five orders and two fifths to twenty parts. Each plan feeds all line items to one sink, by a key. Times
are the fastest of five runs of the pipeline with the sink and of its state's finish (see sink_ms), in ms. `ratio` is skewed / even:
what rows cost, they cost either way, so at most 1.5 is asked for (exit status 1 otherwise).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HEDDLE_KERNEL_TIMES"] = "1"  # for reports of all runs

MAX = 1.5


def scan(table, **more):
    return {"op": "scan", "table": table, **more}


def count(of):
    return {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": of}


def grouped(*keys):
    groups = {"op": "aggregate", "keys": list(keys), "aggs": [{"fn": "sum", "arg": "l_quantity", "as": "s"}],
              "input": scan("lineitem")}
    return {"op": "aggregate", "aggs": [{"fn": "max", "arg": "s", "as": "m"}], "input": groups}


def built(kind, strategy, keys=(("p_partkey", "l_partkey"),)):
    return count({"op": "join", "kind": kind, "on": [list(k) for k in keys], "build": "right", "strategy": strategy,
                  "left": scan("part", filter="p_size = 1 and p_brand = 'Brand#11'"), "right": scan("lineitem")})


PLANS = {
    "dense groups by part": grouped("l_partkey"),
    "dense groups by order, clustered": grouped("l_orderkey"),
    "hashed groups by part and supplier": grouped("l_partkey", "l_suppkey"),
    "bitmap by part": built("semi", "direct"),
    "csr by part": built("inner", "direct"),
    "hash by part": built("inner", "hash"),
    "rows in order of part": {"op": "sort", "keys": [{"expr": "l_partkey"}], "limit": 10,
                              "input": {"op": "project", "exprs": ["l_partkey"], "input": scan("lineitem")}},
}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--even", required=True)
    parser.add_argument("--skewed", required=True)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def sink_ms(report):
    """Of the first pipeline, which reads all line items in each of the plans, and of the state that it feeds: all
    but the kernels of the other pipelines, since a state may be finished while the next pipeline waits for it."""
    return report["execute_ms"] - sum(p["gpu"]["kernel_ms"] for p in report["pipelines"][1:])


def measure(args, db, plan):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"heddle": 1, "root": plan}, f)
        f.flush()
        done = subprocess.run([args.heddle, "run", f.name, "--db", db, "--backend", args.backend, "--trust", "--time",
                               "--repeat", "6", "--format", "csv"], text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr)
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return min(sink_ms(r) for r in reports[1:])


def main():
    args = parse_args()
    rows, bad = [], 0
    print(f"{'sink':<36}{'even':>9}{'skewed':>9}{'ratio':>8}")
    for name, plan in PLANS.items():
        even, skewed = measure(args, args.even, plan), measure(args, args.skewed, plan)
        rows.append({"sink": name, "even_ms": even, "skewed_ms": skewed, "ratio": skewed / even})
        bad += skewed > MAX * even
        print(f"{name:<36}{even:>9.2f}{skewed:>9.2f}{skewed / even:>8.2f}", flush=True)
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"{len(rows) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
