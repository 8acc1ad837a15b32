#!/usr/bin/env python3
"""Aggregates of rows in an order against exact Python: values of every type with ties, NULLs, NaN and -0, one group,
few groups, nearly as many as rows, no rows; filters, parameters, grouping sets, other aggregates beside them, on several
threads.

Usage: ordered_aggs.py --heddle BIN [--backend cpu|cuda] [--seed N] [--plans N] [--rows N] [--threads N,N...]
       [--tables NAME,...]
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
from fractions import Fraction

getcontext().prec = 90
TYPES = {"id": "int32", "g": "int32", "h": "string", "k": "int64", "u": "float64", "b": "bool", "i": "int32", "n": "int32",
         "j": "int64", "d": "decimal(12,2)", "w": "decimal(28,3)", "f": "float64", "e": "float32", "a": "date", "z": "timestamp",
         "t": "string"}
NULLABLE = set(TYPES) - {"id", "n"}
NUMBERS = ("i", "n", "j", "d", "w", "f", "e", "id")
EVERY = tuple(c for c in TYPES if c != "u")
FILTERS = {"i > 0": lambda r: r["i"] is not None and r["i"] > 0, "b": lambda r: r["b"] is True, "id < 0": lambda r: False,
           "t is null": lambda r: r["t"] is None, "id % 7 < 5": lambda r: r["id"] % 7 < 5}


def random_value(rng, name, row, rows):
    return {
        "id": lambda: row,
        "g": lambda: rng.randint(0, 5),
        "h": lambda: rng.choice(["north", "south", "", "x"]),
        "k": lambda: rng.randint(0, rows // 3) * 2**40,
        "u": lambda: rng.choice([0.0, -0.0, 1.5, math.nan]),
        "b": lambda: rng.random() < 0.6,
        "i": lambda: rng.randint(-5, 5),
        "n": lambda: rng.randint(-10**6, 10**6),
        "j": lambda: rng.choice([2**63 - 1, -2**63, rng.randint(-10**6, 10**6), rng.randint(-2**62, 2**62)]),
        "d": lambda: Decimal(rng.randint(-99999, 99999)) / 100,
        "w": lambda: Decimal(rng.randint(-10**27, 10**27)) / 1000,
        "f": lambda: rng.choice([0.0, -0.0, 1.5, 1e300, math.inf, -math.inf, math.nan, rng.randint(-50, 50) / 8, rng.uniform(-9, 9)]),
        "e": lambda: rng.choice([0.0, -0.0, 1.5, -2.25, math.nan, rng.randint(-50, 50) / 8]),
        "a": lambda: f"199{rng.randint(0, 9)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
        "z": lambda: f"2010-01-02 03:04:{rng.randint(10, 59)}",
        "t": lambda: "".join(rng.choice("ab~") for _ in range(rng.randint(0, 4))),
    }[name]()


def text(v):
    if v is None or v == "":
        return "" if v is None else '""'
    return format(v, "f") if isinstance(v, Decimal) else str(v).lower() if isinstance(v, bool) else str(v)


def make(args, rng, name, rows):
    table = [{c: None if c in NULLABLE and rng.random() < 0.15 else random_value(rng, c, n, rows) for c in TYPES} for n in range(rows)]
    for row in table:
        if row["g"] == 3:
            row["t"] = row["d"] = row["f"] = None
    (args.folder / f"{name}.csv").write_text("".join(",".join(text(r[c]) for c in TYPES) + "\n" for r in table))
    return table


# ---- what is expected ------------------------------------------------------------------------------------------------

def place(v):
    """NaN is above all numbers, and -0 is 0."""
    return (v != v, 0.0 if v != v else v) if isinstance(v, float) else v.encode() if isinstance(v, str) else v


def in_order(rows, order):
    for column, down, first in reversed(order):
        there = sorted((r for r in rows if r[column] is not None), key=lambda r: place(r[column]), reverse=down)
        none = [r for r in rows if r[column] is None]
        rows = none + there if first else there + none
    return rows


def runs(rows, column):
    parts = []
    for r in rows:
        if parts and place(parts[-1][0][column]) == place(r[column]):
            parts[-1].append(r)
        else:
            parts.append([r])
    return parts


def rounded(exact, scale):
    scaled = abs(exact) * 10**scale
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Decimal(whole if exact >= 0 else -whole).scaleb(-scale)


def continuous(values, q, column):
    at = (len(values) - 1) * q
    lo = values[math.floor(at)]
    over = at - math.floor(at)
    hi = values[math.floor(at) + (over > 0)]
    if column in ("d", "w"):
        return rounded(Fraction(lo) + (Fraction(hi) - Fraction(lo)) * over, 6)
    lo, hi = float(lo), float(hi)
    share = over.numerator / over.denominator
    return lo if over == 0 or lo == hi else lo * (1 - share) + hi * share


def expected(agg, rows):
    fn, column = agg["fn"], agg.get("_cast") or agg.get("arg")
    if "filter" in agg:
        rows = [r for r in rows if FILTERS[agg["filter"]](r)]
    if fn == "count":
        return len(rows)
    if fn in ("first", "last"):
        named = [c for c, _, _ in agg["_order"]]
        rows = in_order(rows, agg["_order"] + [(c, False, False) for c in TYPES if c not in named])
        return rows[0 if fn == "first" else -1][column] if rows else None
    if fn == "string_agg":
        rows = in_order([r for r in rows if r[column] is not None], agg.get("_order", []) + [(column, False, False)])
        if agg.get("distinct"):
            rows = [part[0] for part in runs(rows, column)]
        return agg.get("separator", ",").join(r[column] for r in rows) if rows else None
    there = in_order([r for r in rows if r[column] is not None], [(column, False, False)])
    values = [r[column] for r in there]
    if agg.get("_cast"):
        column, values = "f", [float(v) for v in values]
    if fn == "max":
        return values[-1] if values else None
    if fn == "sum":
        return sum(values) if values else None
    if not values:
        return None
    if fn == "median":
        return continuous(values, Fraction(1, 2), column)
    if fn == "quantile_cont":
        return continuous(values, Fraction(agg["_q"]), column)
    if fn == "quantile_disc":
        return values[max(math.ceil(len(values) * Fraction(agg["_q"])), 1) - 1]
    if fn == "mode":
        return max(runs(there, column), key=len)[0][column]
    raise ValueError(fn)


# ---- plans --------------------------------------------------------------------------------------------------------------

class Plan:
    def __init__(self, rng, table):
        self.rng, self.table = rng, table
        self.keys = rng.sample(["g", "h", "k", "u", "b"], rng.choice([0, 1, 1, 1, 2]))
        self.sets = rng.random() < 0.15 and len(self.keys) > 0
        self.param = rng.choice(["0", "0.25", "0.9", "1", "0.123456789", "0.50"])
        self.orders = []
        used = rng.sample(EVERY, rng.choice([1, 1, 2, 3]))
        self.unread = rng.random() < 0.15  # the last result
        self.aggs = [self.agg(n, used) for n in range(rng.choice([1, 1, 2, 3, 5]))]

    def agg(self, n, used):
        rng = self.rng
        fn = rng.choice(["median", "quantile_cont", "quantile_disc", "quantile_disc", "count", "sum", "max", "mode",
                         "mode", "first", "last", "string_agg", "string_agg"])
        numbers = [c for c in used if c in NUMBERS] or ["n"]
        a = {"fn": fn, "as": f"x{n}"}
        if fn == "sum":
            a["arg"] = rng.choice(["i", "n", "d"])
        elif fn in ("median", "quantile_cont"):
            a["arg"] = rng.choice(numbers)
        elif fn == "max":
            a["arg"] = rng.choice(["i", "t", "d", "a"])
        elif fn == "string_agg":
            a["arg"] = rng.choice(["t", "h"])
            if rng.random() < 0.7:
                a["separator"] = rng.choice(["", "; ", "é", "-" * 100])
            if rng.random() < 0.3:
                a["distinct"] = True
        elif fn != "count":
            a["arg"] = rng.choice(used)
        if fn in ("median", "quantile_cont", "quantile_disc") and a["arg"] in ("i", "n", "j", "d", "w") and rng.random() < 0.4:
            a["_cast"] = a["arg"]
            a["arg"] = f"cast({a['arg']} as float64)"
        if fn in ("quantile_cont", "quantile_disc"):
            a["_q"] = rng.choice(["0", "1", "0.5", "0.25", "0.99", "0.001", "0.333333333", self.param])
            a["q"] = ":q" if a["_q"] == self.param and rng.random() < 0.7 else a["_q"]
        if fn in ("first", "last") or (fn == "string_agg" and "distinct" not in a and rng.random() < 0.6):
            a["_order"] = self.order()
            a["order"] = [{"expr": c, "desc": d, "nulls": "first" if n else "last"} for c, d, n in a["_order"]]
        if rng.random() < 0.3:
            a["filter"] = rng.choice(list(FILTERS))
        return a

    def order(self):
        """Often one that some other function has."""
        if self.orders and self.rng.random() < 0.5:
            return self.rng.choice(self.orders)
        columns = self.rng.sample(EVERY, self.rng.choice([1, 1, 2]))
        self.orders.append([(c, self.rng.random() < 0.4, self.rng.random() < 0.4) for c in columns])
        return self.orders[-1]

    def json(self):
        node = {"op": "aggregate", "keys": self.keys, "aggs": [{k: v for k, v in a.items() if k[0] != "_"} for a in self.aggs],
                "input": {"op": "scan", "table": self.table}}
        if self.sets:
            node["rollup"] = True
        if self.unread and len(self.keys + self.aggs) > 1:
            names = self.keys + [a["as"] for a in self.aggs]
            node = {"op": "project", "exprs": names[:-1], "input": node}
        return {"heddle": 1, "params": {"q": {"type": "decimal(10,9)", "default": self.param}}, "root": node}

    def rows(self, table):
        out = []
        for size in range(len(self.keys), -1, -1) if self.sets else [len(self.keys)]:
            groups = {} if size else {(): []}
            for r in table:
                groups.setdefault(tuple((r[k] is None, place(r[k]) if r[k] is not None else 0) for k in self.keys[:size]), []).append(r)
            for rows in groups.values():
                keys = [rows[0][k] for k in self.keys[:size]] + [None] * (len(self.keys) - size)
                out.append([cell(v) for v in keys + [expected(a, rows) for a in self.aggs]])
        if self.unread and len(self.keys + self.aggs) > 1:
            out = [r[:-1] for r in out]
        return sorted(out, key=str)


def cell(v):
    """Of what is expected and of what comes: floats by their bits, but for the sign of 0."""
    if isinstance(v, float):
        return "nan" if v != v else ("inf" if v > 0 else "-inf") if math.isinf(v) else repr(v + 0.0)
    if isinstance(v, Decimal):
        return Fraction(v)
    return v


def found_cell(v, column):
    kind = column["type"]
    if v is None or kind in ("bool", "string", "date", "timestamp"):
        return v
    if kind.startswith("float"):
        return cell(float(v))
    return Fraction(v) if kind.startswith("decimal") else int(v)


def run(args, plan, threads):
    path = args.folder / "plan.json"
    path.write_text(json.dumps(plan))
    done = subprocess.run([args.heddle, "run", str(path), "--db", str(args.folder / "db"), "--backend", args.backend, "--format",
                           "json", "--threads", str(threads)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{json.dumps(plan)}\n{done.returncode} {done.stderr}")
    result = json.loads(done.stdout)
    return [[found_cell(v, c) for v, c in zip(row, result["columns"])] for row in result["rows"]]


def check_too_long(args):
    """A string beyond 2^31 - 1 bytes, most of them of the separator, is refused before there is room for it."""
    agg = {"fn": "string_agg", "arg": "cast(id as string)", "separator": "-" * (2**31 // 600), "as": "x"}
    plan = {"heddle": 1, "root": {"op": "aggregate", "aggs": [agg], "input": {"op": "scan", "table": "several"}}}
    path = args.folder / "plan.json"
    path.write_text(json.dumps(plan))
    done = subprocess.run([args.heddle, "run", str(path), "--db", str(args.folder / "db")], capture_output=True, text=True, check=False)
    if done.returncode == 0 or "a string of more than 2147483647 bytes" not in done.stderr:
        sys.exit(f"a string that is too long: {done.returncode} {done.stderr[:500]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plans", type=int, default=60)
    parser.add_argument("--rows", type=int, default=60000)
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 3])
    parser.add_argument("--tables", type=lambda s: s.split(","), default=["nothing", "lone"] + ["few"] * 8 + ["several"] * 6 + ["many"] * 4)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-ordered-") as folder:
        args.folder = pathlib.Path(folder)
        os.environ.setdefault("HEDDLE_CACHE", str(args.folder / "cache"))
        sizes = {"nothing": 0, "lone": 1, "few": 60, "several": 700, "many": args.rows}
        tables = {name: make(args, rng, name, rows) for name, rows in sizes.items()}
        columns = [{"name": c, "type": t, "nullable": c in NULLABLE} for c, t in TYPES.items()]
        schema = {"tables": [{"name": name, "columns": columns} for name in tables],
                  "format": {"delimiter": ",", "header": False, "quote": '"', "null": "", "trailing_delimiter": False}}
        (args.folder / "schema.json").write_text(json.dumps(schema))
        subprocess.run([args.heddle, "load", "--schema", str(args.folder / "schema.json"), "--from", folder, "--out",
                        str(args.folder / "db")], check=True)
        for number in range(args.plans):
            plan = Plan(rng, rng.choice(args.tables))
            want = plan.rows(tables[plan.table])
            for threads in args.threads:
                found = sorted(run(args, plan.json(), threads), key=str)
                if found != want:
                    sys.exit(f"plan {number}, {threads} threads: rows differ\n{json.dumps(plan.json())}\n"
                             f"only here: {[r for r in found if r not in want][:3]}\nmissing: {[r for r in want if r not in found][:3]}")
        if args.backend == "cpu":
            check_too_long(args)
    print(f"{args.plans} plans")
    return 0


if __name__ == "__main__":
    sys.exit(main())
