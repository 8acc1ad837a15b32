#!/usr/bin/env python3
"""Searches that are made for all rows of a tile at once: as-of joins, joins by a range and aggregates over ranges whose
left rows come at random, in the order of the right side, against it, and in runs with rows from elsewhere between them,
against bisection in Python. Every plan has to say that a CPU searches ahead.

Usage: ahead.py --heddle BIN [--backend cpu|cuda]
"""
import argparse
import bisect
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile

LEFT, RIGHT, KEYS, SPAN = 9001, 6007, 40, 3000
WORDS = ("", "a", "ab", "b", "long enough to lie elsewhere, not in the row", "zz")
COLUMNS = {"row": "int32", "k": "int32", "s": "string", "t": "int64", "p": "int32"}
ORDERS = ("random", "ascending", "descending", "runs")


def make(rng, n, order):
    rows = [[rng.randrange(KEYS), rng.choice(WORDS), rng.randrange(SPAN)] for _ in range(n)]
    if order != "random":
        rows.sort(reverse=order == "descending")
    if order == "runs":
        for i in range(0, n, 23):
            rows[i] = [rng.randrange(KEYS), rng.choice(WORDS), rng.randrange(-9, SPAN + 9)]
    for row in rows:
        for i in range(3):
            if rng.random() < 0.02:
                row[i] = None
    return [(i, *row, rng.randrange(100)) for i, row in enumerate(rows)]


def load(heddle, folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "null", "trailing_delimiter": False}}
    for name, rows in tables.items():
        columns = [{"name": name[0] + c, "type": t, "nullable": c in "kst"} for c, t in COLUMNS.items()]
        schema["tables"].append({"name": name, "columns": columns})
        lines = ["|".join("null" if v is None else str(v) for v in row) + "\n" for row in rows]
        (folder / f"{name}.tbl").write_text("".join(lines))
    (folder / "schema.json").write_text(json.dumps(schema))
    subprocess.run([heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                   check=True, stdout=subprocess.DEVNULL)


def run(args, folder, plan):
    file = folder / "plan.json"
    file.write_text(json.dumps({"heddle": 1, "root": plan}))
    common = [file, "--db", folder / "db", "--backend", args.backend]
    done = subprocess.run([args.heddle, "run", *common, "--format", "csv", "--threads", "2"], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{plan}: {done.stderr}")
    told = subprocess.run([args.heddle, "explain", *common, "--dump", "pipelines"], text=True, capture_output=True)
    if "searches ahead" not in told.stdout + told.stderr:
        sys.exit(f"{plan}: nothing is searched ahead\n{told.stdout}{told.stderr}")
    rows = list(csv.reader(done.stdout.splitlines()))[1:]
    return sorted(tuple(int(v) if v else None for v in row) for row in rows)


def scan(left, part):
    node = {"op": "scan", "table": left}
    if part < 100:
        node["filter"] = f"lp < {part}"
    return node


class Right:
    """Rows of the right side by key: values in order, and rows of one value in theirs."""

    def __init__(self, rows, key, null_equal):
        self.key, self.null_equal, self.of = key, null_equal, {}
        for row in rows:
            if row[3] is not None and self.counts(row):
                self.of.setdefault(row[key] if key else 0, []).append((row[3], row[0]))
        for values in self.of.values():
            values.sort()

    def counts(self, row):
        return not self.key or self.null_equal or row[self.key] is not None

    def nearest(self, row, match):
        values = self.of.get(row[self.key] if self.key else 0, []) if self.counts(row) else []
        if row[3] is None:
            return None
        if match[0] == ">":
            at = bisect.bisect_left(values, (row[3] + (match == ">="),)) - 1
            at = bisect.bisect_left(values, (values[at][0],)) if at >= 0 else -1
        else:
            at = bisect.bisect_left(values, (row[3] + (match == "<"),))
        return values[at][1] if 0 <= at < len(values) else None

    def between(self, row, below, above):
        values = self.of.get(row[self.key] if self.key else 0, []) if self.counts(row) else []
        if row[3] is None:
            return []
        return [y for _, y in values[bisect.bisect_left(values, (row[3] - below,)):
                                     bisect.bisect_left(values, (row[3] + above + 1,))]]


def asof_cases(rng, left, rows, right):
    for key, null_equal, match, kind in ((1, False, ">=", "inner"), (1, True, "<", "left"), (2, True, "<=", "inner"),
                                         (2, False, ">", "left"), (0, False, ">=", "left"), (0, False, "<", "inner")):
        part = rng.choice((100, 60, 2))
        name = ["", "k", "s"][key]
        on = [[f"l{name}", f"r{name}", *["null_equal"] * null_equal]] if key else []
        plan = {"op": "project", "exprs": ["lrow", "rrow"], "input": {
            "op": "join", "kind": kind, "on": on, "asof": {"left": "lt", "right": "rt", "match": match},
            "left": scan(left, part), "right": {"op": "scan", "table": "r"}}}
        by = Right(right, key, null_equal)
        found = [(x[0], by.nearest(x, match)) for x in rows if x[4] < part]
        yield plan, [f for f in found if kind == "left" or f[1] is not None]


def range_cases(rng, left, rows, right):
    for key, kind, strategy in ((1, "inner", "band"), (1, "left", "band"), (0, "inner", "band"), (0, "left", "band"),
                                (0, "inner", "auto")):  # the last one is told by running fields, from two positions
        part = rng.choice((100, 60, 2))
        plan = {"op": "aggregate", "keys": ["lrow"], "aggs": [{"fn": "count", "arg": "rrow", "as": "n"},
                                                              {"fn": "sum", "arg": "rrow", "as": "s"}], "input": {
            "op": "join", "kind": kind, "on": [["lk", "rk"]] if key else [], "strategy": strategy,
            "residual": "rt >= lt - 7 and rt <= lt + 5",
            "build": "right", "left": scan(left, part), "right": {"op": "scan", "table": "r"}}}
        by = Right(right, key, False)
        found = [(x[0], by.between(x, 7, 5)) for x in rows if x[4] < part]
        yield plan, [(x, len(y), sum(y) if y else None) for x, y in found if y or kind == "left"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--backend", default="cpu")
    args = parser.parse_args()
    rng, passed = random.Random(12), 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        right = make(rng, RIGHT, "random")
        lefts = {f"l{order}": make(rng, LEFT, order) for order in ORDERS}
        load(args.heddle, folder, {**lefts, "r": right})
        for left, rows in lefts.items():
            for plan, want in (*asof_cases(rng, left, rows, right), *range_cases(rng, left, rows, right)):
                found, want = run(args, folder, plan), sorted(want, key=lambda row: row[0])
                if found != want:
                    wrong = [pair for pair in zip(found, want) if pair[0] != pair[1]][:3]
                    sys.exit(f"{json.dumps(plan)}: {len(found)} rows for {len(want)}; found, expected: {wrong}")
                passed += 1
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
