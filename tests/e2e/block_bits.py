#!/usr/bin/env python3
"""Lookups in copies of bitmaps that a GPU's blocks have in shared memory, whole and folded, give the rows of the CPU backend.

    block_bits.py --heddle BIN --db DB

DB is one of the Star Schema Benchmark, however small: HEDDLE_BLOCK_BITS=N makes copies of N bytes at most for any scan. Plans of
semi, anti and inner joins, of keys that are NULL or in no table among them.
"""
import argparse
import json
import os
import subprocess

# More bytes than any bitmap has; fewer than some have.
BYTES = (1 << 16, 24, 8)


def join(kind, key, table, column, filter_, left):
    return {"op": "join", "kind": kind, "on": [[key, column]], "left": left,
            "right": {"op": "scan", "table": table, "filter": filter_}}


def plan(keys, node):
    aggs = [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "lo_revenue", "as": "s"}]
    aggregate = {"op": "aggregate", "keys": keys, "aggs": aggs, "input": node}
    return {"heddle": 1, "root": {"op": "sort", "keys": keys, "input": aggregate} if keys else aggregate}


def plans():
    lines = {"op": "scan", "table": "lineorder"}
    # Keys 1 .. n of customers: a third of them NULL, others beyond all customers.
    moved = {"op": "project", "input": lines, "exprs": [
        "lo_suppkey", "lo_revenue", {"as": "k", "expr": "case when lo_quantity < 17 then cast(null as int32) else lo_custkey * 2 - 50 end"}]}
    some = "s_region = 'ASIA' or s_region = 'EUROPE'"
    yield "semi", plan([], join("semi", "lo_suppkey", "supplier", "s_suppkey", some, lines))
    yield "anti", plan([], join("anti", "lo_suppkey", "supplier", "s_suppkey", some, lines))
    yield "inner", plan(["c_nation"], join("inner", "lo_custkey", "customer", "c_custkey", "c_region = 'ASIA'", lines))
    two = join("semi", "lo_suppkey", "supplier", "s_suppkey", some, lines)
    yield "two", plan(["c_nation"], join("inner", "lo_custkey", "customer", "c_custkey", "c_region = 'ASIA'", two))
    yield "anti of NULLs", plan([], join("anti", "k", "customer", "c_custkey", "c_region <> 'ASIA'", moved))
    yield "inner of NULLs", plan(["c_region"], join("inner", "k", "customer", "c_custkey", "c_region = 'ASIA'", moved))


def run(args, command, text, backend, size=0):
    environment = {k: v for k, v in os.environ.items() if k != "HEDDLE_BLOCK_BITS"}
    if size:
        environment["HEDDLE_BLOCK_BITS"] = str(size)
    command = [args.heddle, command[0], "-", "--db", args.db, "--backend", backend, *command[1:]]
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    args = ap.parse_args()
    whole = folded = 0
    for name, p in plans():
        text = json.dumps(p)
        want = run(args, ("run", "--format", "csv"), text, "cpu")
        for size in BYTES:
            pipelines = run(args, ("explain", "--dump", "pipelines"), text, "cuda", size)
            whole += "[gpu: bits in" in pipelines
            folded += "[gpu: folded first in" in pipelines
            got = run(args, ("run", "--format", "csv"), text, "cuda", size)
            if got != want:
                raise SystemExit(f"{name}, copies of {size} bytes: {got!r} in place of {want!r}")
    print(f"rows of the CPU; {whole} plans with whole copies, {folded} with folded ones")
    if not whole or not folded:
        raise SystemExit("no plan has a copy of one of these kinds")


if __name__ == "__main__":
    main()
