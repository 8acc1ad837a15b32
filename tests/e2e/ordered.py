#!/usr/bin/env python3
"""Rows that come out of a sort stay in order on their way to the result: on a GPU, which visits them with all warps, as on
one thread of a CPU; whole, in fragments, in framed pipelines, through filters, limits and shared subplans.

Usage: ordered.py --heddle BIN --db DB [--backend cpu|cuda]     DB: TPC-H, of any size
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

COLUMNS = ["ps_partkey", "ps_suppkey", "ps_availqty", "ps_supplycost"]


def sort(keys, **more):
    return {"op": "sort", "keys": keys, "input": {"op": "scan", "table": "partsupp", "columns": COLUMNS}, **more}


def project(node):
    exprs = [{"expr": f"{c} + 1", "as": f"x{i}"} for i, c in enumerate(COLUMNS)]
    return {"op": "project", "exprs": exprs, "input": node}


def keep(node):
    return {"op": "filter", "pred": "ps_suppkey % 3 = 1", "input": node}


def orders(key, **more):
    """Of a table in the order of its unique key: nothing is sorted by the key itself, only by what computes it."""
    scan = {"op": "scan", "table": "orders", "columns": ["o_orderkey", "o_custkey", "o_totalprice"], **more}
    customers = {"op": "scan", "table": "customer", "columns": ["c_custkey", "c_nationkey"]}
    exprs = ["o_orderkey", "o_totalprice", {"expr": "c_nationkey * 2", "as": "x"}]
    return {"op": "sort", "keys": [key], "input": {"op": "project", "exprs": exprs, "input": {
        "op": "join", "kind": "left", "left": scan, "right": customers, "on": [["o_custkey", "c_custkey"]]}}}


def found(node, **join):
    """What joins find in rows that come in the order of their search words, o_orderkey; in one order."""
    lines = {"op": "scan", "table": "lineitem", "columns": ["l_orderkey", "l_linenumber", "l_quantity"]}
    pairs = {"op": "join", "kind": "inner", "build": "right", "left": lines, "right": node, **join}
    return {"op": "sort", "keys": ["l_orderkey", "l_linenumber"], "limit": 3000, "input": pairs}


def some(*keys, **more):
    """Orders with their key as k."""
    scan = {"op": "scan", "table": "orders", "columns": ["o_orderkey", "o_custkey"], **more}
    return {"op": "project", "exprs": [{"expr": "o_orderkey", "as": "k"}, *keys], "input": scan}


def before(keys):
    """For each quantity how many orders came before its lines: told by running fields."""
    return {"op": "sort", "keys": ["l_quantity"], "input": {
        "op": "aggregate", "keys": ["l_quantity"],
        "aggs": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "o_custkey", "as": "s"}],
        "input": {"op": "join", "kind": "inner", "build": "right", "residual": f"{keys} <= l_orderkey",
                  "left": {"op": "scan", "table": "lineitem"}, "right": {"op": "scan", "table": "orders"}}}}


MERGE = {"strategy": "merge", "on": [["l_orderkey", "k"]]}
BAND = {"strategy": "band", "residual": "k between l_orderkey - 1 and l_orderkey + 2"}
ORDERS = {"op": "scan", "table": "orders", "columns": ["o_orderkey", "o_custkey"]}
CAST = {"strategy": "merge", "on": [["cast(l_orderkey as int64)", "cast(o_orderkey as decimal(14,0))"]]}
CAST_TO = {"strategy": "merge", "on": [["cast(l_orderkey as int64)", "cast(k as decimal(14,0))"]]}
SAME = {"expr": "o_orderkey + 0"}
COST, BOTH = ["ps_supplycost"], ["ps_availqty", {"expr": "ps_supplycost", "desc": True}]
PLANS = {  # what the dump for a GPU has to say, the plan, and one that gives the same rows
    "projected": ("[gpu: row for row]", project(sort(COST))),
    "no rows": ("[gpu: row for row]", project(sort(COST, input={
        "op": "filter", "pred": "ps_suppkey < 0",
        "input": {"op": "scan", "table": "partsupp", "columns": COLUMNS}}))),
    "limited sort": ("[gpu: row for row]", project(sort(BOTH, limit=700, offset=9))),
    "limited": ("[gpu: row for row]", project({"op": "limit", "limit": 999, "offset": 300, "input": sort(BOTH)})),
    "filtered": ("sort position", project(keep(sort(BOTH)))),
    "filtered, limited": ("sort position limit 40 offset 3",
                          project({"op": "limit", "limit": 40, "offset": 3, "input": keep(sort(COST))})),
    "there": ("order: as it comes", orders("o_orderkey"), orders(SAME)),
    "there, row for row": ("[gpu: row for row]", orders("o_orderkey"), orders(SAME)),
    "there, filtered": ("sort position", orders("o_orderkey", filter="o_custkey % 5 > 1"),
                        orders(SAME, filter="o_custkey % 5 > 1")),
    "merged": ("sort word as it comes", found(some("o_custkey"), **MERGE),
               found(some("o_custkey"), **{**MERGE, "strategy": "hash"})),
    "merged, full": ("sort word as it comes", found(some("o_custkey"), **{**MERGE, "kind": "full"}),
                     found(some("o_custkey"), **{**MERGE, "kind": "full", "strategy": "hash"})),
    "a band": ("sort word as it comes", found(some("o_custkey"), **BAND),
               found(some("o_custkey"), **{**BAND, "strategy": "loop"})),
    "merged behind a sort": ("sort word as it comes", found(
        {"op": "sort", "limit": 5000, "keys": ["o_custkey", "k"], "input": some("o_custkey")},
        strategy="merge", on=[["l_orderkey", "o_custkey"]]), found(
        {"op": "sort", "limit": 5000, "keys": ["o_custkey", "k"], "input": some("o_custkey")},
        strategy="hash", on=[["l_orderkey", "o_custkey"]])),
    # Of a key that is cast to a wider type the column is searched all the same.
    "cast": ("probe column", found(ORDERS, **CAST), found(ORDERS, **{**CAST, "strategy": "hash"})),
    "cast, left": ("probe column", found(ORDERS, kind="left", **CAST),
                   found(ORDERS, kind="left", **{**CAST, "strategy": "hash"})),
    "cast in a projection": ("sort word as it comes", found(some("o_custkey"), **CAST_TO),
                             found(some("o_custkey"), **{**CAST_TO, "strategy": "hash"})),
    "running fields": ("sort word as it comes running", before("o_orderkey"), before("(o_orderkey + 0)")),
    "the other way": ("order: sort", orders({"expr": "o_orderkey", "desc": True})),
}


def run(args, plan, fragments, framed, *command):
    environment = dict(os.environ)
    if fragments:
        environment["HEDDLE_FRAGMENTS"] = str(fragments)
    if framed:
        environment["HEDDLE_FRAME_WEIGHT"] = "1"
    done = subprocess.run([args.heddle, command[0], plan, "--db", args.db, "--backend", *command[1:]],
                          capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{plan}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def write(path, root):
    path.write_text(json.dumps({"heddle": 1, "root": root}))


def check(args, name, path, expected, root, same=None):
    write(path, same or root)
    want = run(args, path, 0, False, "run", "cpu", "--threads", "1", "--format", "csv")
    write(path, root)
    if name != "no rows" and want.count("\n") < 30:
        raise SystemExit(f"{name}: {want.count(chr(10))} lines prove nothing")
    dump = run(args, path, 0, False, "explain", "cuda", "--dump", "physical,pipelines")
    if expected not in dump:
        raise SystemExit(f"{name}: no `{expected}` in\n{dump}")
    for fragments in (0, 3):
        for framed in (False, True):
            got = run(args, path, fragments, framed, "run", args.backend, "--threads", "2", "--format", "csv")
            if got != want:
                raise SystemExit(f"{name}: other rows, or in another order, in {fragments} fragments, framed: {framed}")


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--backend", default="cpu")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, (expected, *roots) in PLANS.items():
            check(args, name, pathlib.Path(folder) / "plan.json", expected, *roots)
    print(f"{len(PLANS)} plans")


if __name__ == "__main__":
    main()
