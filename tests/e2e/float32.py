#!/usr/bin/env python3
"""float32 against numpy's: values read from text and written again, arithmetic and comparisons, groups, keys of joins,
orders, ranges and sums, all to the last bit. Values are random bits as well as few numbers that meet often, subnormals,
infinities, NaN and -0 among them.

Usage: float32.py --heddle BIN [--backend cpu] [--threads 1,3] [--rows 4000]
"""
import argparse
import csv
import io
import json
import math
import pathlib
import subprocess
import tempfile
from collections import Counter, defaultdict

import numpy as np

F = np.float32
FEW = np.array([0, -0.0, 1, -1, 0.1, 0.5, np.nan, np.inf, -np.inf, 1e-45, 3.4028235e38, 16777216, 1.1754944e-38], dtype=F)
SCAN = {"op": "scan", "table": "t"}


def same(a, b):
    """Equal bits, NaN equal to NaN."""
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def key(v):
    """Values that are one key have one of these, in their order."""
    return (1, 0.0) if v != v else (0, float(v) + 0.0)


def random_values(rng, rows):
    any_bits = rng.integers(0, 2**32, rows, dtype=np.uint32).view(F)
    near = (rng.integers(-999, 1000, rows) / rng.integers(1, 1000, rows)).astype(F)
    return np.choose(rng.integers(0, 3, rows), [any_bits, near, rng.choice(FEW, rows)])


class Test:
    def __init__(self, args, folder, rng):
        self.args, self.folder = args, folder
        self.x, self.y = random_values(rng, args.rows), random_values(rng, args.rows)
        self.null = rng.random(args.rows) < 0.1
        self.k = rng.choice(FEW, args.rows)
        self.bad = []

    def load(self):
        (self.folder / "csv").mkdir()
        with open(self.folder / "csv/t.csv", "w") as f:
            for i, (x, y, null, k) in enumerate(zip(self.x, self.y, self.null, self.k)):
                f.write(f"{i},{float(x)!r},{'' if null else repr(float(y))},{float(k)!r}\n")
        column = {"x": {}, "y": {"nullable": True}, "k": {}}
        schema = {"format": {"delimiter": ",", "trailing_delimiter": False}, "tables": [{"name": "t", "columns": [
            {"name": "i", "type": "int32"}] + [{"name": n, "type": "float32", **more} for n, more in column.items()]}]}
        (self.folder / "schema.json").write_text(json.dumps(schema))
        self.heddle("load", "--schema", self.folder / "schema.json", "--from", self.folder / "csv", "--out",
                    self.folder / "db")
        self.heddle("check", self.folder / "db")

    def heddle(self, *words):
        done = subprocess.run([self.args.heddle, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def run(self, root, threads):
        (self.folder / "plan.json").write_text(json.dumps({"heddle": 1, "root": root}))
        out = self.heddle("run", self.folder / "plan.json", "--db", self.folder / "db", "--backend", self.args.backend,
                          "--threads", threads, "--format", "csv")
        return list(csv.reader(io.StringIO(out)))[1:]

    def expect(self, what, found, wanted):
        if found != wanted:
            self.bad.append(f"{what}: found {found!r}, expected {wanted!r}")

    def expressions(self, threads):
        """A column per expression: (text, numpy's values)."""
        x, y, k = self.x, self.y, self.k
        with np.errstate(all="ignore"):
            cases = [("x", x), ("x + y", x + y), ("x - y", x - y), ("x * y", x * y), ("x * y + k", x * y + k),
                     ("case when y <> 0 then x / y end", np.where(y != 0, x / y, F(0))), ("x * 0.1", x * F(0.1)),
                     ("-x", -x), ("abs(x)", np.abs(x)), ("sqrt(abs(x))", np.sqrt(np.abs(x))), ("floor(x)", np.floor(x)),
                     ("ceil(x)", np.ceil(x)), ("trunc(x)", np.trunc(x)),
                     ("x + i", x.astype(float) + np.arange(len(x))), ("cast(x as float64)", x.astype(float))]
        order = {"=": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b}
        exprs = [t for t, _ in cases] + [f"x {op} k" for op in order]
        rows = self.run({"op": "sort", "keys": ["i"], "input": {"op": "project", "input": SCAN, "exprs": ["i"] + [
            {"expr": e, "as": f"c{n}"} for n, e in enumerate(exprs)]}}, threads)
        self.expect("rows", len(rows), len(x))
        for i, row in enumerate(rows):
            for (text, values), cell in zip(cases, row[1:]):
                reads_y = "y" in text
                null = reads_y and (self.null[i] or ("case" in text and y[i] == 0))
                kind = F if values.dtype == F else float
                ok = cell == "" if null else cell != "" and same(kind(cell), values[i])
                if not ok:
                    self.bad.append(f"row {i}: {text}: found {cell!r}, expected {values[i]!r}")
            for (op, f), cell in zip(order.items(), row[1 + len(cases):]):
                self.expect(f"row {i}: x {op} k", cell, "true" if f(key(x[i]), key(k[i])) else "false")

    def groups(self, threads):
        wanted = defaultdict(list)
        for i, k in enumerate(self.k):
            wanted[key(k)].append(i)
        rows = self.run({"op": "sort", "keys": ["k"], "input": {"op": "aggregate", "input": SCAN, "keys": ["k"], "aggs": [
            {"fn": "count", "as": "n"}, {"fn": "min", "arg": "x", "as": "low"}, {"fn": "max", "arg": "y", "as": "high"},
            {"fn": "count", "arg": "y", "distinct": True, "as": "d"},
            {"fn": "sum", "arg": "case when abs(x) < 1000 and abs(x) > 0.001 then x end", "as": "s"}]}}, threads)
        self.expect("keys", [key(F(r[0])) for r in rows], sorted(wanted))
        for r in rows:
            at = wanted[key(F(r[0]))]
            ys = [key(self.y[i]) for i in at if not self.null[i]]
            xs = [float(self.x[i]) for i in at if 0.001 < abs(self.x[i]) < 1000]
            self.expect(f"group {r[0]}", [int(r[1]), key(F(r[2])), key(F(r[3])), int(r[4])],
                        [len(at), min(key(self.x[i]) for i in at), max(ys), len(set(ys))])
            exact = math.fsum(xs)
            if abs(float(r[5]) - exact) > len(xs) * 2.0**-52 * math.fsum(map(abs, xs)):
                self.bad.append(f"group {r[0]}: sum {r[5]}, expected {exact!r}")

    def joins(self, threads):
        def side(alias, most):
            return {"op": "scan", "table": "t", "alias": alias, "filter": f"i < {most}", "columns": ["i", "x", "y", "k"]}

        def join(on, residual, **more):
            found = self.run({"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
                "op": "join", "kind": "inner", "left": side("a", 300), "right": side("b", 400), "on": on,
                **({"residual": residual} if residual else {}), **more}}, threads)
            return int(found[0][0])

        pairs = [(i, j) for i in range(min(300, len(self.x))) for j in range(min(400, len(self.x)))]
        counts = Counter(key(v) for v in self.k[:400])
        self.expect("join by k", join([["a.k", "b.k"]], None), sum(counts[key(v)] for v in self.k[:300]))
        self.expect("join by y and k", join([["a.k", "b.k"], ["a.y", "b.y"]], None),
                    sum(key(self.k[i]) == key(self.k[j]) and not self.null[i] and not self.null[j]
                        and key(self.y[i]) == key(self.y[j]) for i, j in pairs))
        with np.errstate(all="ignore"):
            near = sum(key(abs(self.x[i] - self.x[j])) <= key(F(0.1)) for i, j in pairs)
            below = sum(key(self.x[i] + self.k[i]) < key(self.x[j]) for i, j in pairs)
            between = sum(key(self.x[j] - F(0.5)) <= key(self.x[i]) <= key(self.x[j] + F(0.5)) for i, j in pairs)
        for strategy in ("auto", "loop", "band"):
            self.expect(f"near, {strategy}", join([], "abs(a.x - b.x) <= 0.1", strategy=strategy), near)
            self.expect(f"below, {strategy}", join([], "a.x + a.k < b.x", strategy=strategy), below)
            self.expect(f"between, {strategy}", join([], "a.x between b.x - 0.5 and b.x + 0.5", strategy=strategy), between)

    def orders(self, threads):
        for desc in (False, True):
            rows = self.run({"op": "sort", "keys": [{"expr": "x", "desc": desc}, "i"], "input": SCAN}, threads)
            wanted = sorted(range(len(self.x)), key=lambda i: (tuple(-v for v in key(self.x[i])) if desc
                                                               else key(self.x[i]), i))
            self.expect(f"order, desc {desc}", [int(r[0]) for r in rows], wanted)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--threads", default="1,3")
    ap.add_argument("--rows", type=int, default=4000)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        test = Test(args, pathlib.Path(folder), np.random.default_rng(32))
        test.load()
        for threads in args.threads.split(","):
            for part in (test.expressions, test.groups, test.joins, test.orders):
                part(threads)
    print("\n".join(test.bad[:20]))
    print(f"{len(test.bad)} differences")
    return bool(test.bad)


if __name__ == "__main__":
    raise SystemExit(main())
