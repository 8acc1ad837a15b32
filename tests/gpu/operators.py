#!/usr/bin/env python3
"""Single operators on a GPU: windows, grouping sets, medians, first rows, and the pairs of tpch/compare/operators; rows are those of
the CPU backend.

Usage: operators.py --heddle BIN --db DB [--repeat N] [--only TEXT] [--no-check] [--out FILE.json]

DB is a TPC-H database (`heddle gen tpch --sf 10`). Times are the fastest of --repeat executions after the first, in ms.
"""

import argparse
import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

PAIRS = Path(__file__).resolve().parents[2] / "tpch" / "compare" / "operators"
LINES = {"op": "scan", "table": "lineitem", "columns": ["l_orderkey", "l_linenumber", "l_quantity"]}


def total(node, *names):
    aggs = [{"fn": "count", "as": "n"}] + [{"fn": fn, "arg": n, "as": f"{fn}_{n}"} for n in names for fn in ("sum", "max")]
    return {"op": "aggregate", "aggs": aggs, "input": node}


def window(node, functions, **fields):
    return {"op": "window", **fields, "functions": functions, "input": node}


def works():
    """(name, plan, most ms on one H200 at scale factor 10)"""
    number = window(LINES, [{"fn": "row_number", "as": "r"}], partition=["l_orderkey"], order=["l_linenumber"])
    running = window(LINES, [{"fn": "sum", "arg": "l_quantity", "as": "r",
                              "frame": {"unit": "rows", "start": "unbounded preceding", "end": "current row"}}],
                     order=["l_orderkey", "l_linenumber"])
    share = window(LINES, [{"fn": "sum", "arg": "l_quantity", "as": "r"}], partition=["l_orderkey"])
    near = window(LINES, [{"fn": "lag", "arg": "l_quantity", "as": "r"}], partition=["l_orderkey"], order=["l_linenumber"])
    rollup = {"op": "aggregate", "keys": ["l_returnflag", "l_linestatus", "l_shipmode", "l_shipinstruct"], "rollup": True,
              "aggs": [{"fn": "sum", "arg": "l_quantity", "as": "q"}], "input": {"op": "scan", "table": "lineitem"}}
    top = {"op": "sort", "keys": [{"expr": "l_extendedprice", "desc": True}, "l_orderkey", "l_linenumber"], "limit": 10,
           "input": {"op": "scan", "table": "lineitem", "columns": ["l_extendedprice", "l_orderkey", "l_linenumber"]}}
    scan = {"op": "aggregate", "aggs": [{"fn": "max", "arg": "l_extendedprice", "as": "m"}],
            "input": {"op": "scan", "table": "lineitem"}}
    median = {"op": "aggregate", "keys": [{"expr": "l_suppkey % 100", "as": "g"}],
              "aggs": [{"fn": "median", "arg": "l_extendedprice", "as": "m"}], "input": {"op": "scan", "table": "lineitem"}}
    own = [("row_number, a partition per order", total(number, "r"), 12), ("running sum, one partition", total(running, "r"), 6),
           ("sum per partition", total(share, "r"), None), ("lag", total(near, "r"), None), ("rollup of four columns", rollup, 8),
           ("median of 100 groups", median, 12), ("top 10", top, None), ("a scan as of top 10", scan, None)]
    return own + [(p.stem, json.loads(p.read_text())["root"], None) for p in sorted(PAIRS.glob("*.json"))]


def run(args, plan, backend, repeat):
    done = subprocess.run([args.heddle, "run", "-", "--db", args.db, "--trust", "--backend", backend, "--time", "--format", "csv",
                           "--repeat", str(repeat + 1)], input=json.dumps({"heddle": 1, "root": plan}), capture_output=True,
                          text=True, check=False)
    if done.returncode:
        return None, None, done.stderr.strip().splitlines()[-1]
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    rows = Counter(tuple(r) for r in csv.reader(done.stdout.splitlines()[1:]))
    return min(r["execute_ms"] for r in reports[min(1, repeat):]), rows, max(r["peak_bytes"] for r in reports)


def about(rows):
    """Sums of floats may differ in their last bits."""
    return Counter(tuple(f"{float(c):.9g}" if c.replace(".", "", 1).replace("-", "", 1).isdigit() else c for c in r)
                   for r in rows.elements())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    found, wrong = {}, 0
    print(f"{'operator':36} {'ms':>9} {'at most':>8} {'peak MB':>9}")
    for name, plan, most in works():
        if args.only not in name:
            continue
        ms, rows, more = run(args, plan, "cuda", args.repeat)
        if ms is None:
            wrong += 1
            print(f"{name:36} {more}", flush=True)
            continue
        word = ""
        if not args.no_check and name != "limit_join":
            same = about(rows) == about(run(args, plan, "cpu", 0)[1] or Counter())
            wrong += not same
            word = "" if same else "  ROWS DIFFER"
        found[name] = ms
        print(f"{name:36} {ms:9.2f} {most or '':>8} {more / 1e6:9.1f}{word}", flush=True)
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
