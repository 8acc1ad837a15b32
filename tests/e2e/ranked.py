#!/usr/bin/env python3
"""Rows by rank: aggregates arg_min and arg_max, and the operator top, against a direct count in Python, for every type
of what is asked for and of what it is ranked by, with NULLs, NaN, -0 and ties, with and without keys; on several threads
and in fragments. And nearest neighbours, of which no more memory is used than for the neighbours that stay.

Usage: ranked.py --heddle BIN [--backend cpu|cuda] [--seed N] [--plans N] [--rows N]
"""
import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from decimal import Decimal, getcontext

getcontext().prec = 60

TYPES = {"row": "int32", "g": "int32", "h": "string", "i": "int32", "j": "int64", "d": "decimal(12,2)",
         "w": "decimal(38,4)", "f": "float64", "s": "string", "t": "string", "a": "date", "b": "bool",
         "z": "timestamp"}
KEYS = ([], ["g"], ["h"], ["g", "h"], ["b"], ["f"], ["g", "i", "a"])


def random_value(rng, name):
    pick = rng.choice
    return {
        "g": lambda: rng.randint(-2, 5),
        "h": lambda: pick(["north", "south", "x"]),
        "i": lambda: rng.randint(-3, 3),
        "j": lambda: pick([-2**63, 2**63 - 1, 0, 1, rng.randint(-2**40, 2**40)]),
        "d": lambda: Decimal(rng.randint(-500, 500)) / 100,
        "w": lambda: Decimal(pick([10**38 - 1, 1 - 10**38, 0, rng.randint(-10**20, 10**20)])).scaleb(-4),
        "f": lambda: pick([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5, -1.5, 1e300, 5e-324]),
        "s": lambda: pick(["alpha", "beta", "gamma", "alphabet"]),
        "t": lambda: "".join(pick("ab\u00e9~") for _ in range(rng.randint(1, 30))),
        "a": lambda: f"19{rng.randint(70, 72)}-0{rng.randint(1, 3)}-1{rng.randint(0, 9)}",
        "b": lambda: rng.random() < 0.5,
        "z": lambda: f"20{rng.randint(10, 12)}-01-02 03:04:0{rng.randint(0, 9)}",
    }[name]()


def table(rng, rows):
    return [{"row": n, **{c: None if rng.random() < 0.15 else random_value(rng, c) for c in TYPES if c != "row"}}
            for n in range(rows)]


def text(v):
    if v is None:
        return ""
    if isinstance(v, bool):
        return "true" if v else "false"
    return format(v, "f") if isinstance(v, Decimal) else str(v)


POINTS = {"id": "int32", "x": "float64", "y": "float32", "n": "int32", "t": "string"}


def points(rng, rows):
    """What a thread of a GPU ranks pairs by, with many ties."""
    null = lambda v: None if rng.random() < 0.05 else v  # noqa: E731
    special = [float("nan"), float("inf"), -0.0, 0.0]
    place = lambda: null(rng.choice(special) if rng.random() < 0.02 else rng.randint(-200, 200) / 8)  # noqa: E731
    return [{"id": n, "x": place(), "y": place(),
             "n": null(rng.randint(-30, 30)), "t": rng.choice("abc")} for n in range(rows)]


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for name, types, rows in tables:
        columns = [{"name": c, "type": t, "nullable": c not in ("row", "id")} for c, t in types.items()]
        schema["tables"].append({"name": name, "columns": columns})
        (folder / f"{name}.tbl").write_text("".join("|".join(text(v) for v in row.values()) + "\n" for row in rows))
    (folder / "schema.json").write_text(json.dumps(schema))


def order(v):
    """Sorts like Heddle, NULLs last and NaN before them."""
    if v is None:
        return (2,)
    if isinstance(v, float):
        return (1,) if math.isnan(v) else (0, v)
    return (0, v.encode() if isinstance(v, str) else v)


def same(v):
    """Equal values are equal under this: all NaN are one, and so are -0 and 0."""
    return order(v)


def read(name, field):
    if field == "":
        return None
    t = TYPES[name]
    if t == "bool":
        return field == "true"
    return int(field) if t.startswith("int") else Decimal(field) if t.startswith("dec") else \
        float(field) if t == "float64" else field


def groups(rows, keys):
    found = {} if keys else {(): []}
    for row in rows:
        found.setdefault(tuple(same(row[k]) for k in keys), []).append(row)
    return found


def ranked(rows, fn, x, by):
    """The sort order of what the aggregate gives. -0 sorts before 0 where both are smallest."""
    rows = [row for row in rows if row[by] is not None]
    if not rows:
        return order(None)
    best = (min if fn == "arg_min" else max)(order(row[by]) for row in rows)
    return min(order(row[x]) for row in rows if order(row[by]) == best)


class Engine:
    def __init__(self, args, db):
        self.args, self.db, self.wrong = args, db, 0

    def run(self, root, threads=1, fragments=0):
        environment = dict(os.environ, **({"HEDDLE_FRAGMENTS": str(fragments)} if fragments else {}))
        plan = json.dumps({"heddle": 1, "root": root})
        done = subprocess.run([self.args.heddle, "run", "-", "--db", self.db, "--backend", self.args.backend, "--format",
                               "csv", "--threads", str(threads)], input=plan, capture_output=True, text=True,
                              env=environment)
        if done.returncode:
            raise SystemExit(f"{done.stderr}\n{plan}")
        return [line.split(",") for line in done.stdout.splitlines()[1:]]

    def expect(self, found, want, what):
        if found != want:
            self.wrong += 1
            extra = [v for v in found if v not in want][:3]
            missing = [v for v in want if v not in found][:3]
            print(f"{json.dumps(what)}\n  {len(found)} rows, not {len(want)}; too many {extra}\n  missing {missing}")


def source(rng, rows):
    """A plan of some rows of the table, and these rows."""
    scan = {"op": "scan", "table": "r"}
    kind = rng.randrange(4)
    if kind == 0:
        return {"op": "filter", "input": scan, "pred": "row < 0"}, []
    if kind == 1:
        return {**scan, "filter": "i > 0 or i is null"}, [r for r in rows if r["i"] is None or r["i"] > 0]
    if kind == 2:  # rows that cost more than a scan
        return {"op": "union_all", "inputs": [scan, {**scan, "filter": "row < 20"}]}, rows + rows[:20]
    return scan, rows


def check_aggregate(rng, engine, rows):
    keys, (node, chosen) = rng.choice(KEYS), source(rng, rows)
    names = [c for c in TYPES]
    asked = [(rng.choice(["arg_min", "arg_max"]), rng.choice(names), rng.choice(names)) for _ in range(rng.randint(1, 4))]
    aggs = [{"fn": fn, "arg": x, "by": by, "as": f"a{n}"} for n, (fn, x, by) in enumerate(asked)]
    root = {"op": "aggregate", "input": node, "keys": keys, "aggs": aggs + [{"fn": "count", "as": "n"}]}
    want = sorted([*key, *(ranked(group, *a) for a in asked), len(group)] for key, group in groups(chosen, keys).items())
    columns = keys + [x for _, x, _ in asked] + ["row"]
    for threads, fragments in engine.args.ways:
        found = engine.run(root, threads, fragments)
        engine.expect(sorted([order(read(c, v)) for c, v in zip(columns[:-1], row)] + [int(row[-1])] for row in found),
                      want, root)


def gap(op, a, b):
    """a - b, or the magnitude of the difference, as float64 has it."""
    if a is None or b is None:
        return None
    if math.isinf(a) and math.isinf(b) and a == b:
        return float("nan")
    return abs(a - b) if op == "abs" else a - b


def check_loop(rng, engine, all_points):
    """Enough rows on one side for a loop over pairs that keeps the best pairs of each row in registers."""
    op, column = rng.choice(["abs", "diff"]), rng.choice(["x", "y", "n"])
    every = rng.choice([7, 11])
    scan = lambda alias, **more: {"op": "scan", "table": "p", "alias": alias, **more}  # noqa: E731
    join = {"op": "join", "kind": "inner", "strategy": "loop", "left": scan("l"),
            "right": scan("r", filter=f"id % {every} = 0"), "residual": "l.id <> r.id and l.t <> 'c'"}
    difference = f"l.{column} - r.{column}"
    near = {"op": "project", "input": join, "exprs": ["l.id", "r.id", "r.t", {
        "expr": f"abs({difference})" if op == "abs" else difference, "as": "gap"}]}
    keys = rng.choice([["l.id"], [{"expr": "l.id % 1000"}], ["l.id", "l.id"]])
    top = {"op": "top", "input": near, "keys": keys, "limit": rng.choice([1, 2, 10, 29]), "offset": rng.choice([0, 0, 3]),
           "ties": rng.choice(["cut", "keep"]),
           "order": [{"expr": "gap", "desc": rng.random() < 0.5, "nulls": rng.choice(["first", "last"])},
                     *rng.choice([[], ["r.t"]])]}
    pairs = [{"l.id": a["id"], "r.id": b["id"], "r.t": b["t"], "gap": gap(op, a[column], b[column]), "key": a["id"] % 1000}
             for a in all_points if a["t"] != "c" for b in all_points[::every] if a is not b]
    named = {**top, "keys": ["key" if isinstance(k, dict) else k for k in keys]}
    want = sorted((row["l.id"], row["r.id"]) for row in
                  first_rows(pairs, ["l.id", "r.id", "r.t", "gap"], named, lambda row, e: row[e]))
    for threads, fragments in engine.args.ways:
        found = engine.run(top, threads, fragments)
        engine.expect(sorted((int(row[0]), int(row[1])) for row in found), want, top)


class Last:
    """Turns the order around."""

    def __init__(self, key):
        self.key = key

    def __lt__(self, other):
        return other.key < self.key

    def __eq__(self, other):
        return other.key == self.key


def sort_key(v, desc, nulls):
    """NULLs last or first in both directions."""
    return ((v is None) != (nulls == "first"), () if v is None else Last(order(v)) if desc else order(v))


def first_rows(rows, names, node, value):
    """Of each group; value(row, expression)."""
    stated = [(k, False, "last") if isinstance(k, str) else (k["expr"], k.get("desc", False), k.get("nulls", "last"))
              for k in node["order"]]
    offset, end = node.get("offset", 0), node.get("offset", 0) + node["limit"]
    found = []
    for group in groups(rows, node.get("keys", [])).values():
        by = lambda row: [sort_key(value(row, e), d, n) for e, d, n in stated]  # noqa: E731
        group = sorted(group, key=lambda row: (by(row), [order(row[c]) for c in names]))
        kept = group[offset:end]
        if kept and node.get("ties") == "keep":
            kept += [row for row in group[end:] if by(row) == by(kept[-1])]
        found += kept
    return found


def check_top(rng, engine, rows):
    keys, (node, chosen) = rng.choice(KEYS), source(rng, rows)
    names = rng.sample([c for c in TYPES if c != "row"], 4) + ["row"]
    names += [k for k in keys if k not in names]
    order_by = [k if rng.random() < 0.3 else {"expr": k, "desc": rng.random() < 0.5, "nulls": rng.choice(["first", "last"])}
                for k in rng.sample(names[:4], rng.randint(1, 2))]
    top = {"op": "top", "input": {"op": "project", "input": node, "exprs": names}, "order": order_by,
           "limit": rng.choice([0, 1, 1, 2, 5, 130, 2**52])}
    for option, value in (("keys", keys), ("offset", rng.choice([0, 1, 3, 2**52])), ("ties", rng.choice(["cut", "keep"]))):
        if rng.random() < 0.7:
            top[option] = value
    want = sorted([order(row[c]) for c in names] for row in first_rows(chosen, names, top, lambda row, e: row[e]))
    root = rng.choice([top, {"op": "filter", "input": top, "pred": "row >= 0"}])
    for threads, fragments in engine.args.ways:
        found = engine.run(root, threads, fragments)
        engine.expect(sorted([order(read(c, v)) for c, v in zip(names, row)] for row in found), want, root)


def check_neighbours(rng, engine, rows):
    """The k nearest other rows of each row, by the difference of a column."""
    k, ties = rng.choice([1, 3, 10, 40]), rng.choice(["cut", "keep"])
    left = {"op": "scan", "table": "r", "alias": "l", "columns": ["row", "d", "b"], "filter": "row % 7 = 0"}
    right = {"op": "scan", "table": "r", "alias": "r", "columns": ["row", "d"]}
    join = {"op": "join", "kind": "inner", "strategy": "loop", "left": left, "right": right, "residual": "l.row <> r.row"}
    top = {"op": "top", "keys": ["l.row"], "order": ["gap"], "limit": k, "ties": ties,
           "input": {"op": "project", "input": join, "exprs": ["l.row", {"expr": "r.row", "as": "to"},
                                                               {"expr": "abs(l.d - r.d)", "as": "gap"}]}}
    want = []
    for x in rows[::7]:
        near = [{"l.row": x["row"], "to": y["row"], "gap": None if None in (x["d"], y["d"]) else abs(x["d"] - y["d"])}
                for y in rows if y is not x]
        want += first_rows(near, ["l.row", "to", "gap"], top, lambda row, e: row[e])
    want = sorted((row["l.row"], row["to"]) for row in want)
    for threads, fragments in engine.args.ways:
        found = engine.run(top, threads, fragments)
        engine.expect(sorted((int(row[0]), int(row[1])) for row in found), want, top)


def check_memory(engine):
    """All pairs of some thousand rows would take a hundred times as much."""
    many = lambda alias: {"op": "project", "input": {"op": "join", "kind": "inner", "left": {  # noqa: E731
        "op": "scan", "table": "r", "alias": "a", "columns": ["row"]}, "right": {
            "op": "scan", "table": "r", "alias": "b", "columns": ["row"], "filter": "row < 5"}},
        "exprs": [{"expr": "a.row * 5 + b.row", "as": alias}]}
    pairs = {"op": "join", "kind": "inner", "strategy": "loop", "left": many("x"), "right": many("y"),
             "residual": "x <> y"}
    top = {"op": "top", "keys": ["x"], "order": [{"expr": "abs(x - y)"}], "limit": 2, "input": pairs}
    root = {"op": "aggregate", "input": top, "aggs": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "abs(x - y)", "as": "s"}]}
    plan = json.dumps({"heddle": 1, "root": root})
    done = subprocess.run([engine.args.heddle, "run", "-", "--db", engine.db, "--backend", engine.args.backend, "--format",
                           "csv", "--threads", "2", "--time"], input=plan, capture_output=True, text=True, check=True)
    n = 5 * engine.args.rows
    engine.expect(done.stdout.splitlines()[1:], [f"{2 * n},{2 * n + 2}"], root)
    peak = json.loads(done.stderr.splitlines()[-1])["peak_bytes"]
    if peak > n * n * 16 / 8:
        engine.expect(f"{peak} bytes", f"at most {n * n * 2} for {n * n} pairs", root)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--plans", type=int, default=60)
    ap.add_argument("--loops", type=int, help="loops over pairs; default: a tenth of the plans")
    ap.add_argument("--rows", type=int, default=700)
    args = ap.parse_args()
    args.ways = ((1, 0), (3, 0), (2, 2)) if args.backend == "cpu" else ((1, 0),)
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-ranked-") as folder:
        folder, rows, dots = pathlib.Path(folder), table(rng, args.rows), points(rng, 1100)
        write(folder, [("r", TYPES, rows), ("p", POINTS, dots)])
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                       check=True)
        engine = Engine(args, str(folder / "db"))
        for _ in range(args.plans):
            check_aggregate(rng, engine, rows)
            check_top(rng, engine, rows)
        for _ in range(args.plans // 10 if args.loops is None else args.loops):
            check_neighbours(rng, engine, rows)
            check_loop(rng, engine, dots)
        if args.backend == "cpu":
            check_memory(engine)
    print(f"{engine.wrong} wrong")
    return engine.wrong != 0


sys.exit(main())
