#!/usr/bin/env python3
"""As-of joins: random plans over random tables with NULLs, ties, NaN, -0, heavy keys and empty sides, against the rule
of docs/plan.md 1.1 as it is written there, in Python.

Usage: asof.py --heddle BIN [--backend cpu|cuda] [--plans N] [--seed S]
"""
import argparse
import csv
import datetime
import decimal
import json
import operator
import pathlib
import random
import subprocess
import sys
import tempfile

import theta

decimal.getcontext().prec = 60
ROOT = pathlib.Path(__file__).resolve().parents[2]
MATCHES = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
# The columns of both tables: name, type, values. Few values, so that there are ties; and the ends of each type.
COLUMNS = [("a", "int32", (1, 2, 3)), ("k", "int32", (1, 2, 3, 4, 5)), ("s", "string", ("a", "ab", "b", "ä", "zz")),
           ("i", "int32", (*range(-9, 10), 2**31 - 1, -2**31)), ("j", "int64", (*range(-9, 10), 2**63 - 1, -2**63)),
           ("d", "decimal(12,2)", [decimal.Decimal(n) / 4 for n in range(-20, 20)]),
           ("w", "decimal(38,3)", [decimal.Decimal(n) / 8 for n in range(-20, 20)]
            + [decimal.Decimal(n) * 10**30 for n in (-3, -2, 2, 3)] + [decimal.Decimal(10**30) * 2 + 1]),
           ("f", "float64", (0.0, -0.0, 0.25, 0.5, 1.0, 2.0, -1.0, -3.5, float("nan"), float("inf"), float("-inf"))),
           ("g", "float32", (0.0, -0.0, 0.25, 1.0, 2.0, -3.5, float("nan"), float("inf"), float("-inf"))),
           ("t", "date", [datetime.date(1999, 12, 25) + datetime.timedelta(n) for n in range(14)]),
           ("m", "timestamp", [datetime.datetime(1999, 12, 25) + datetime.timedelta(hours=9 * n) for n in range(30)]),
           ("b", "int64", (7, 8)), ("row", "int32", None)]
# Pairs of columns that an as-of join compares.
PAIRS = ["ii", "ij", "ji", "id", "dw", "wd", "ww", "wi", "ff", "fi", "if", "fd", "tt", "tm", "mt", "mm", "ss", "jj",
         "gg", "gf", "fg", "gi", "dg"]
KEYS = ["k", "s", "kj", "d", "f", "g", "t"]  # columns that are compared by =; "kj": k of the left, j of the right side
OUTPUTS = [["rrow"], ["rrow"], ["ra"], ["rb"], ["rb", "ra"], ["rs"], ["rk", "rj"], []]


def rows(rng, prefix, n):
    skewed = rng.random() < 0.3
    nulls = rng.choice((0, 0.1, 0.3))
    out = []
    for row in range(n):
        values = {}
        for name, _, pool in COLUMNS:
            heavy = pool and skewed and name in "ks" and rng.random() < 0.8
            values[prefix + name] = row if pool is None else pool[0] if heavy else rng.choice(pool)
            if pool and name != "b" and rng.random() < nulls:
                values[prefix + name] = None
        out.append(values)
    return out


def text(v):
    if isinstance(v, decimal.Decimal):
        return f"{v:f}"
    return "" if v is None else v.isoformat(" ") if isinstance(v, datetime.datetime) else str(v)


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for name, data in tables.items():
        columns = [{"name": name + c, "type": t, "nullable": c not in ("row", "b")} for c, t, _ in COLUMNS]
        schema["tables"].append({"name": name, "columns": columns})
        lines = ["|".join(text(v) for v in row.values()) for row in data]
        (folder / f"{name}.tbl").write_text("".join(line + "\n" for line in lines))
    (folder / "schema.json").write_text(json.dumps(schema))


def rank(v):
    """Values as the engine orders them: NaN is the largest one, strings order by bytes, a date is its midnight."""
    if isinstance(v, float):
        return (1, 0) if v != v else (0, v)
    if isinstance(v, str):
        return v.encode()
    if isinstance(v, datetime.date) and not isinstance(v, datetime.datetime):
        return datetime.datetime(v.year, v.month, v.day)
    return (0, v) if isinstance(v, (int, decimal.Decimal)) else v


def same(a, b, null_equal):
    return (a is None and b is None and null_equal) or (None not in (a, b) and rank(a) == rank(b))


def nearest(x, right, on, compared, match):
    """The right row of left row x, None if there is none."""
    bound = x[compared[0]]
    found = [y for y in right if all(same(x[a], y[b], null) for a, b, null in on)
             and None not in (bound, y[compared[1]]) and MATCHES[match](rank(bound), rank(y[compared[1]]))]
    if not found:
        return None
    end = (max if match[0] == ">" else min)(rank(y[compared[1]]) for y in found)
    return min((y for y in found if rank(y[compared[1]]) == end),
               key=lambda y: [(1, 0) if v is None else (0, rank(v)) for v in y.values()])


class Case:
    def __init__(self, rng, sides):
        self.kind, self.match = rng.choice(("inner", "left")), rng.choice(list(MATCHES))
        pair = rng.choice(PAIRS)
        self.compared = ("l" + pair[0], "r" + pair[1])
        keys = rng.sample(KEYS, rng.choice((0, 1, 1, 1, 2)))
        self.on = [("l" + k[0], "r" + k[-1], rng.random() < 0.3) for k in keys]
        self.columns = rng.choice(OUTPUTS)
        self.cut = {"l": rng.choice((None, None, None, "a", "nothing")), "r": rng.choice((None, None, None, "a", "nothing"))}
        self.grouped = rng.random() < 0.25
        self.sides = {p: [x for x in sides[p] if self.stays(p, x)] for p in "lr"}

    def stays(self, p, x):
        return not self.cut[p] or (self.cut[p] == "a" and x[p + "a"] is not None and x[p + "a"] > 1)

    def scan(self, p):
        node = {"op": "scan", "table": p}
        if self.cut[p]:
            node["filter"] = p + "a > 1" if self.cut[p] == "a" else "false"
        return node

    def plan(self):
        node = {"op": "join", "kind": self.kind, "left": self.scan("l"), "right": self.scan("r"),
                "on": [[a, b, "null_equal"] if null else [a, b] for a, b, null in self.on],
                "asof": {"left": self.compared[0], "right": self.compared[1], "match": self.match}}
        if self.grouped:
            return {"op": "aggregate", "keys": self.columns, "aggs": [
                {"fn": "count", "as": "n"}, {"fn": "sum", "arg": "lrow", "as": "s"}], "input": node}
        return {"op": "project", "exprs": ["lrow", *self.columns], "input": node}

    def expected(self):
        out = []
        for x in self.sides["l"]:
            y = nearest(x, self.sides["r"], self.on, self.compared, self.match)
            if y or self.kind == "left":
                out.append((x["lrow"], *(y[c] if y else None for c in self.columns)))
        if not self.grouped:
            return out
        groups = {} if self.columns else {(): []}
        for row in out:
            groups.setdefault(row[1:], []).append(row[0])
        return [(*key, len(of), sum(of) if of else None) for key, of in groups.items()]


def check(engine, case, options):
    lines, _ = engine.run(case.plan(), *options)
    found = sorted(",".join(row) for row in csv.reader(lines))
    want = sorted(",".join(text(v) for v in row) for row in case.expected())
    engine.expect(found, want, json.dumps(case.plan()))


def run(args, rng, number, sizes):
    with tempfile.TemporaryDirectory(prefix="heddle-asof-") as folder:
        folder = pathlib.Path(folder)
        sides = {p: rows(rng, p, n) for p, n in zip("lr", sizes)}
        write(folder, sides)
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                       check=True)
        engine = theta.Engine(args, str(folder / "db"))
        for _ in range(number):
            case = Case(rng, sides)
            check(engine, case, ["--threads", str(rng.choice((1, 3)))])
        return engine.wrong


def check_example(args):
    """The plan of examples/asof with the data of its script."""
    example = ROOT / "examples" / "asof"
    with tempfile.TemporaryDirectory(prefix="heddle-asof-") as folder:
        folder = pathlib.Path(folder)
        subprocess.run([sys.executable, "-B", example / "make.py", folder], check=True)
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                       check=True)
        found = subprocess.run([args.heddle, "run", example / "trades.json", "--db", folder / "db", "--backend",
                                args.backend], check=True, capture_output=True, text=True).stdout
    want = (ROOT / "tests" / "e2e" / "trades.txt").read_text()
    if found != want:
        print(f"example: found\n{found}not\n{want}")
    return found != want


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--plans", type=int, default=120)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    rng, wrong = random.Random(args.seed), check_example(args)
    sizes = [(60, 80), (200, 7), (5, 300), (0, 20), (20, 0), (700, 700)]
    for size in sizes:
        share = args.plans // 4 if size[0] and size[1] else 2
        wrong += run(args, rng, share, size)
    print(f"{wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
