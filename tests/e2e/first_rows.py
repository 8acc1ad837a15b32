#!/usr/bin/env python3
"""The first rows of a sort of many, which leaves out what comes too late before it looks at whole rows: for every type
of number as the first key, with NULLs, NaN, -0 and ties, both ways, behind filters, over rows that come in order and
others, against Python's sort.

Usage: first_rows.py --heddle BIN [--backend cpu|cuda] [--seed N] [--plans N] [--rows N] [--threads N,N...]
"""
import argparse
import csv
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from decimal import Decimal, getcontext

TYPES = {"row": "int32", "run": "int64", "i": "int32", "j": "int64", "d": "decimal(12,2)", "w": "decimal(38,4)",
         "f": "float64", "e": "float32", "a": "date", "z": "timestamp", "c": "string", "t": "string"}
getcontext().prec = 60

NEVER_NULL = ("row", "run")
REAL = [math.nan, math.inf, -math.inf, 0.0, -0.0]


def random_value(rng, name, row):
    return {
        "row": lambda: row + 1,
        "run": lambda: row // 5000 - 3,
        "i": lambda: rng.randint(-2000, 2000),
        "j": lambda: rng.choice([-2**63, 2**63 - 1]) if rng.random() < 0.001 else rng.randint(-2**50, 2**50),
        "d": lambda: Decimal(rng.randint(-500000, 500000)) / 100,
        "w": lambda: Decimal(rng.choice([10**38 - 1, 1 - 10**38, rng.randint(-10**25, 10**25)])).scaleb(-4),
        "f": lambda: rng.choice(REAL) if rng.random() < 0.01 else rng.uniform(-1e3, 1e3),
        "e": lambda: rng.choice(REAL) if rng.random() < 0.01 else rng.randint(-4000, 4000) / 8,
        "a": lambda: f"19{rng.randint(70, 99)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        "z": lambda: f"20{rng.randint(10, 12)}-01-02 03:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}",
        "c": lambda: rng.choice(["north", "south", "x"]),
        "t": lambda: "".join(rng.choice("ab~") for _ in range(rng.randint(1, 12))),
    }[name]()


def text(v):
    if v is None:
        return ""
    return format(v, "f") if isinstance(v, Decimal) else str(v)


def order(v):
    """Sorts as Heddle does among values: NaN last, -0 as 0."""
    if isinstance(v, float):
        return (1, 0) if math.isnan(v) else (0, v)
    return v.encode() if isinstance(v, str) else v


def ranks(rows, column):
    """[row] the place of its value among the distinct ones, None for NULL: quick to sort by."""
    distinct = sorted({order(r[column]) for r in rows if r[column] is not None})
    place = {v: n for n, v in enumerate(distinct)}
    return [None if r[column] is None else place[order(r[column])] for r in rows]


class Key:
    def __init__(self, rng, column):
        self.column, self.desc, self.nulls = column, rng.random() < 0.5, rng.choice(["first", "last"])

    def json(self):
        return {"expr": self.column, "desc": self.desc, "nulls": self.nulls}

    def of(self, rank):
        if rank is None:
            return (0 if self.nulls == "first" else 2, 0)
        return (1, -rank if self.desc else rank)


def random_plan(rng, names):
    columns = rng.sample(names, rng.randint(2, len(names)))
    keys = [Key(rng, c) for c in rng.sample(columns, rng.randint(1, min(3, len(columns))))]
    limit, offset = rng.choice([1, 7, 100, 1000, 4000]), rng.choice([0, 0, 3, 300])
    keep = rng.choice([None, None, *KEEP])
    scan = {"op": "scan", "table": "t", "columns": columns}
    if keep:
        scan["filter"] = keep
    return columns, keys, limit, offset, keep, {
        "op": "sort", "keys": [k.json() for k in keys], "limit": limit, "offset": offset, "input": scan}


KEEP = {None: lambda r: True, "i > -1500": lambda r: r["i"] is not None and r["i"] > -1500,
        "i % 50 <> 7": lambda r: r["i"] is not None and math.fmod(r["i"], 50) != 7,
        "row >= 400": lambda r: r["row"] >= 400, "run < 10": lambda r: r["run"] < 10,
        "i > 1990": lambda r: r["i"] is not None and r["i"] > 1990}


def expected(rows, rank, columns, keys, limit, offset, keep):
    others = [c for c in columns if c not in [k.column for k in keys]]

    def place(n):
        tie = [(1, 0) if rank[c][n] is None else (0, rank[c][n]) for c in others]
        return [k.of(rank[k.column][n]) for k in keys], tie
    kept = [n for n, r in enumerate(rows) if KEEP[keep](r)]
    return [tuple(rank[c][n] for c in columns) for n in sorted(kept, key=place)[offset:offset + limit]]


def read(name, cell):
    if cell == "":
        return None
    if name in ("f", "e"):
        return float(cell)
    if name in ("d", "w"):
        return Decimal(cell)
    return int(cell) if name in ("row", "run", "i", "j") else cell


def run(args, plan, threads):
    path = args.folder / "plan.json"
    path.write_text(json.dumps({"heddle": 1, "root": plan}))
    command = [args.heddle, "run", str(path), "--db", str(args.folder / "db"), "--backend", args.backend, "--format", "csv",
               "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{json.dumps(plan)}\n{done.stderr}")
    return list(csv.reader(done.stdout.splitlines()))[1:]


def load(args, rows):
    columns = [{"name": c, "type": t, "nullable": c not in NEVER_NULL} for c, t in TYPES.items()]
    schema = {"tables": [{"name": "t", "columns": columns}],
              "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    (args.folder / "schema.json").write_text(json.dumps(schema))
    (args.folder / "t.tbl").write_text("".join("|".join(map(text, r.values())) + "\n" for r in rows))
    subprocess.run([args.heddle, "load", "--schema", str(args.folder / "schema.json"), "--from", str(args.folder), "--out",
                    str(args.folder / "db")], check=True)


def is_bounded(args, plan):
    (args.folder / "plan.json").write_text(json.dumps({"heddle": 1, "root": plan}))
    dump = subprocess.run([args.heddle, "explain", str(args.folder / "plan.json"), "--db", str(args.folder / "db"),
                           "--backend", args.backend, "--dump", "spec"], capture_output=True, text=True, check=True).stdout
    return " bounded" in dump


def check_effect(args):
    """Of rows in no order few get as far as the state."""
    plan = {"op": "sort", "keys": ["j"], "limit": 7, "input": {"op": "scan", "table": "t"}}
    profile = args.folder / "profile.json"
    (args.folder / "plan.json").write_text(json.dumps({"heddle": 1, "root": plan}))
    subprocess.run([args.heddle, "run", str(args.folder / "plan.json"), "--db", str(args.folder / "db"), "--backend", args.backend,
                    "--profile", str(profile)], check=True, stdout=subprocess.DEVNULL)
    sink = json.loads(profile.read_text())["pipelines"][0]["steps"][-1]
    if sink["name"] != "sink" or sink["rows"] > 0.6 * args.rows:
        sys.exit(f"{sink['rows']} of {args.rows} rows passed the bound")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plans", type=int, default=20)
    parser.add_argument("--rows", type=int, default=90000)
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 3])
    args = parser.parse_args()
    rng = random.Random(args.seed)
    bounded = 0
    with tempfile.TemporaryDirectory(prefix="heddle-first-") as folder:
        args.folder = pathlib.Path(folder)
        os.environ.setdefault("HEDDLE_CACHE", str(args.folder / "cache"))
        rows = [{c: None if c not in NEVER_NULL and rng.random() < 0.05 else random_value(rng, c, n) for c in TYPES}
                for n in range(args.rows)]
        load(args, rows)
        rank = {c: ranks(rows, c) for c in TYPES}
        back = {c: {order(r[c]): k for r, k in zip(rows, rank[c]) if k is not None} for c in TYPES}
        for number in range(args.plans):
            columns, keys, limit, offset, keep, plan = random_plan(rng, list(TYPES))
            want = expected(rows, rank, columns, keys, limit, offset, keep)
            bounded += is_bounded(args, plan)
            for threads in args.threads:
                found = [tuple(None if cell == "" else back[c][order(read(c, cell))] for c, cell in zip(columns, r))
                         for r in run(args, plan, threads)]
                if found != want:
                    at = next((n for n, (a, b) in enumerate(zip(found, want)) if a != b), min(len(found), len(want)))
                    sys.exit(f"plan {number}, {threads} threads: {len(found)} rows, expected {len(want)}; row {at} differs\n"
                             f"{json.dumps(plan)}")
        check_effect(args)
    if not bounded:
        sys.exit("no plan was bounded")
    print(f"{args.plans} plans, {bounded} of them bounded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
