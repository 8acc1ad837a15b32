#!/usr/bin/env python3
"""Joins whose condition tells NULLs alike, in the words of SQL: rows against DuckDB for every kind, by keys and by a loop,
and whether keys were found.

Usage: null_safe.py --heddle BIN [--backend B] [--seed N] [--every K] [--first N|commit]
"""
import argparse
import csv
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../diff"))
import seed as seeds  # noqa: E402

try:
    import duckdb
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

KINDS = ("inner", "left", "right", "full", "semi", "anti", "mark")
TYPES = {"id": ("int32", "integer"), "s": ("string", "varchar"), "d": ("decimal(9,2)", "decimal(9,2)"), "w": ("decimal(14,2)", "decimal(14,2)"),
         "f": ("float64", "double"), "b": ("bool", "boolean"), "k": ("int32", "integer")}
CONDITIONS = {  # whether it has keys
    "ls is not distinct from rs": True, "rs is not distinct from ls and lid < rid": True, "ld is not distinct from rw": True,
    "lf is not distinct from rf and ls is not distinct from rs": True, "lb is not distinct from rb": True,
    "ls = rs or (ls is null and rs is null)": True, "ls = rs or (rs is null and ls is null)": True,
    "ls is not distinct from coalesce(rs, 'a')": True, "lk + 1 is not distinct from rk": False,  # it may raise
    "ls is distinct from rs": False, "not (ld is not distinct from rd)": False, "ls = rs or (ls is null and rd is null)": False,
    "ls is not distinct from rs and (ld is not distinct from rd or lid = 3)": True, "lk is not distinct from rk and lid + rid > 20": True,
    "ls is not distinct from 'a' and rs is not distinct from ls": True, "case when lid > 5 then ls is not distinct from rs else false end": False}


def value(rng, name, n):
    return {"id": n, "s": rng.choice([None, "a", "b", "c"]), "d": rng.choice([None, "1.50", "2.00"]), "w": rng.choice([None, "1.50", "2.00", "99.00"]),
            "f": rng.choice([None, 0.0, -0.0, "nan"]), "b": rng.choice([None, True, False]), "k": rng.choice([None, 1, 2, 3])}[name]


def table(rng, db, side, rows):
    cells = [[value(rng, c, n) if n or c == "id" else None for c in TYPES] for n in range(rows)]  # every column has a NULL
    db.execute(f"create or replace table {side} ({', '.join(f'{side}{c} {t}' for c, (_, t) in TYPES.items())})")
    if cells:
        db.executemany(f"insert into {side} values ({', '.join('?' * len(TYPES))})", cells)
    return {"op": "values", "columns": [{"name": side + c, "type": t} for c, (t, _) in TYPES.items()], "rows": cells}


def sql_of(kind, condition):
    if kind in ("semi", "anti"):
        return f"select * from l where {'not ' * (kind == 'anti')}exists (select 1 from r where {condition})"
    if kind == "mark":
        return f"select *, exists (select 1 from r where {condition}) from l"
    return f"select * from l {kind} join r on {condition}"


def cell(v):
    if v is None:
        return ""
    return str(v).lower() if isinstance(v, bool) else str(float(v) + 0.0) if isinstance(v, float) else str(v)


def run(args, plan, verb, *options):
    path = os.path.join(args.folder, "plan.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(plan, f)
    done = subprocess.run([args.heddle, verb, path, "--backend", args.backend, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{json.dumps(plan)}\n{done.stderr}")
    return done.stdout


def rows_of(text):
    head, *rows = csv.reader(text.splitlines())
    real = [n in ("lf", "rf") for n in head]
    return Counter(tuple(cell(float(c)) if x and c else c for c, x in zip(row, real)) for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="of the joins, one in so many")
    parser.add_argument("--first", type=seeds.seed, default=0, help="of those; or drawn from the commit")
    args = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory(prefix="heddle-null-safe-") as args.folder, duckdb.connect() as db:
        for number, (kind, condition) in enumerate(itertools.product(KINDS, CONDITIONS)):
            if (number - args.first) % args.every:
                continue
            rng = random.Random(f"{args.seed} {number}")
            left, right = (table(rng, db, side, rng.choice([0, 1, 30, 60, 60])) for side in "lr")
            want = Counter(tuple(map(cell, row)) for row in db.execute(sql_of(kind, condition)).fetchall())
            for strategy in ("auto", "loop"):
                join = {"op": "join", "kind": kind, "left": left, "right": right, "residual": condition, "strategy": strategy}
                plan = {"heddle": 1, "root": {**join, "mark": "m"} if kind == "mark" else join}
                found = rows_of(run(args, plan, "run", "--format", "csv"))
                if found != want:
                    sys.exit(f"{kind} by {strategy}: rows differ\n{json.dumps(plan)}\nonly here: {list(found - want)[:3]}\nmissing: {list(want - found)[:3]}")
                tabled = "table: " in run(args, plan, "explain", "--dump", "physical")
                if left["rows"] and right["rows"] and tabled != (CONDITIONS[condition] and strategy == "auto"):
                    sys.exit(f"{kind} by {strategy}: {'a' if tabled else 'no'} table of keys\n{json.dumps(plan)}")
                count += 1
    print(f"{count} joins")
    return 0


if __name__ == "__main__":
    sys.exit(main())
