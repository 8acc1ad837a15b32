#!/usr/bin/env python3
"""Plans of hundreds of expressions, aggregates, keys, columns and joins: their rows are computed here
as well, in plain Python, and compared. Each is as large as takes a compiler seconds where code is one
function (planner/parts.c); CI's time limit and tests/bench_compile_growth look at the time."""
import argparse
import csv
import io
import json
import os
import subprocess
import sys

ROWS = [(i % 7, i) for i in range(20)] + [(None, None), (3, 40)]


def values(columns, rows):
    return {"op": "values", "columns": [{"name": c, "type": "int64"} for c in columns],
            "rows": [[None if v is None else str(v) for v in r] for r in rows]}


def unbounded(node):
    """The same rows from an input of which no small bound is known: a join that facts do not settle."""
    many = values(["u"], [[0]] * 40)
    pair = {"op": "join", "kind": "inner", "on": [["a0", "u"]], "right": many, "build": "right",
            "left": {"op": "project", "input": node, "keep": True, "exprs": [{"expr": "0 * coalesce(b, 0)", "as": "a0"}]}}
    keys = ["a", "b"]
    return {"op": "aggregate", "input": pair, "keys": keys, "aggs": [{"fn": "count", "as": "copies"}]}


def inputs():
    small = values(["a", "b"], ROWS)
    return {"few": small, "many": unbounded(small)}


def sums(n, source):
    aggs = [{"fn": "sum", "arg": f"a + {i}", "as": f"s{i}"} for i in range(n)]
    plan = {"op": "aggregate", "input": source, "keys": ["a"], "aggs": aggs}
    groups = {}
    for a, b in ROWS:
        groups.setdefault(a, []).append(a)
    rows = [[k] + [None if k is None else sum(x + i for x in v) for i in range(n)] for k, v in groups.items()]
    return plan, rows


def scalar_aggregates(n, source):
    fns = ["sum", "min", "max", "count"]
    aggs = [{"fn": fns[i % 4], "arg": f"b * {i + 1}", "as": f"s{i}"} for i in range(n)]
    b = [r[1] for r in ROWS if r[1] is not None]
    of = {"sum": sum, "min": min, "max": max, "count": len}
    return {"op": "aggregate", "input": source, "aggs": aggs}, \
        [[of[fns[i % 4]]([x * (i + 1) for x in b]) for i in range(n)]]


def conjunction(n, source):
    pred = " and ".join(f"a + {i + 100} <> b" for i in range(n)) + " and b % 3 = 0"
    return {"op": "filter", "input": source, "pred": pred}, [r for r in ROWS if r[1] is not None and r[1] % 3 == 0]


def disjunction(n, source):
    pred = " or ".join(f"a * 1000 + {i * 3} = b + 3000" for i in range(n))
    keep = [r for r in ROWS if r[0] is not None and any(r[0] * 1000 + i * 3 == r[1] + 3000 for i in range(n))]
    return {"op": "filter", "input": source, "pred": pred}, keep


def membership(n, source):
    pred = "b in (" + ", ".join(f"a + {2 * i}" for i in range(n)) + ")"
    keep = [r for r in ROWS if r[0] is not None and any(r[1] == r[0] + 2 * i for i in range(n))]
    return {"op": "filter", "input": source, "pred": pred}, keep


def choice(n, source):
    """Values that may be NULL, and values that may not; the first true condition decides."""
    whens = " ".join(f"when b = {i} then {i * i}" for i in range(n))
    nulls = " ".join(f"when b = {i} then a + {i}" for i in range(n))
    plan = {"op": "project", "input": source,
            "exprs": [{"expr": f"case {whens} else -1 end", "as": "x"}, {"expr": f"case {nulls} end", "as": "y"},
                      {"expr": "coalesce(" + ", ".join(f"case when b = {i} then a end" for i in range(n)) + ", 77)",
                       "as": "z"}]}
    rows = []
    for a, b in ROWS:
        hit = b is not None and b < n
        rows.append([b * b if hit else -1, a + b if hit else None, a if hit else 77])
    return plan, rows


def columns(n, source):
    plan = {"op": "project", "input": source, "exprs": [{"expr": f"a * {i} + b", "as": f"c{i}"} for i in range(n)]}
    return plan, [[None if a is None else a * i + b for i in range(n)] for a, b in ROWS]


def keys(n, source):
    plan = {"op": "aggregate", "input": source, "keys": [{"expr": f"a % {i + 2}", "as": f"k{i}"} for i in range(n)],
            "aggs": [{"fn": "sum", "arg": "b", "as": "s"}]}
    groups = {}
    for a, b in ROWS:
        groups.setdefault(tuple(None if a is None else a % (i + 2) for i in range(n)), []).append(b)
    return plan, [list(k) + [None if v == [None] else sum(x for x in v if x is not None)] for k, v in groups.items()]


def key_pairs(n, source):
    """A join on many columns."""
    other = {"op": "project", "input": values(["c", "d"], [(a, b) for a, b in ROWS if b is not None and b % 2]),
             "exprs": [{"expr": f"c * {i} + d", "as": f"r{i}"} for i in range(n)]}
    pairs = [[f"a * {i} + b", f"r{i}"] for i in range(n)]
    plan = {"op": "project", "exprs": ["b", "r0"], "input":
            {"op": "join", "kind": "inner", "left": source, "right": other, "on": pairs, "build": "right"}}
    return plan, [[b, b] for a, b in ROWS if b is not None and b % 2]


def full_joins(n, source):
    plan = {"op": "project", "input": source, "exprs": [{"expr": "b", "as": "k"}]}
    rows = [[r[1]] for r in ROWS]
    for i in range(n):
        right = [(i + j) % 23 for j in range(4)]
        plan = {"op": "join", "kind": "full", "left": plan, "right": values([f"k{i}"], [[v] for v in right]),
                "on": [["k", f"k{i}"]]}
        matched = {r[0] for r in rows}
        rows = [r + [r[0] if r[0] in right else None] for r in rows] + \
            [[None] * (i + 1) + [v] for v in right if v not in matched]
    return plan, rows


SHAPES = [(sums, 120), (scalar_aggregates, 160), (conjunction, 600), (disjunction, 400), (membership, 300),
          (choice, 120), (columns, 300), (keys, 100), (key_pairs, 60), (full_joins, 40)]


def document(root):
    return json.dumps({"heddle": 1, "root": root})


def parse(output):
    return sorted(tuple(r) for r in list(csv.reader(io.StringIO(output)))[1:])


def run(heddle, root, backend, env):
    p = subprocess.run([heddle, "run", "-", "--backend", backend, "--format", "csv", "--no-cache", "-t", "2"],
                       input=document(root), capture_output=True, text=True, env=env)
    return p.stderr.strip() if p.returncode else parse(p.stdout)


def text(rows):
    return sorted(tuple("" if v is None else str(v) for v in r) for r in rows)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--scale", type=float, default=1, help="of the numbers of expressions")
    ap.add_argument("--frame-weight", help="HEDDLE_FRAME_WEIGHT: cut smaller")
    args = ap.parse_args()
    env = dict(os.environ)
    if args.frame_weight:
        env["HEDDLE_FRAME_WEIGHT"] = args.frame_weight
    failed = passed = 0
    for shape, n in SHAPES:
        for name, source in inputs().items():
            plan, rows = shape(max(int(n * args.scale), 2), source)
            if name == "many" and shape in (conjunction, disjunction, membership):
                plan = {"op": "project", "input": plan, "exprs": ["a", "b"]}
            got, want = run(args.heddle, plan, args.backend, env), text(rows)
            if got == want:
                passed += 1
                continue
            failed += 1
            print(f"FAIL {shape.__name__}, {name}: {str(got)[:300]} instead of {str(want)[:300]}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
