#!/usr/bin/env python3
"""Filters on columns by which a table is sorted: rows and how many were visited, against Python. Values of both
ends lie in the table, between its values and beyond them; keys come once or often; decimals and dates, too.

Usage: ends.py --heddle BIN [--backend cpu|cuda] [--count N]
"""
import argparse
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROWS, DAY = 20000, datetime.date(2001, 1, 1)
OPS = {"=": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
       ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
SWAPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def make(rng):
    """id, k (often the same), d (days), m (cents), s (0 to 49): all ascend with id. v does not."""
    rows, k, d, m = [], 0, 0, -5000
    for i in range(ROWS):
        k, d, m = k + (rng.random() < 0.02), d + (rng.random() < 0.1), m + rng.randrange(3)
        rows.append((i * 3, k, d, m, i * 50 // ROWS, rng.randrange(1000)))
    return rows


def text(column, v):
    if column == "d":
        return (DAY + datetime.timedelta(v)).isoformat()
    return f"{v / 100:.2f}" if column == "m" else str(v)


def load(args, rows, directory):
    types = {"id": "int64", "k": "int32", "d": "date", "m": "decimal(9,2)", "s": "int32", "v": "int32"}
    (directory / "csv").mkdir()
    (directory / "schema.json").write_text(json.dumps({"format": {
        "delimiter": ",", "header": False, "quote": '"', "null": "NULL", "trailing_delimiter": False}, "tables": [
        {"name": "t", "primary_key": ["id"], "columns": [{"name": n, "type": t} for n, t in types.items()]}]}))
    with open(directory / "csv" / "t.csv", "w") as f:
        for row in rows:
            f.write(",".join(text(c, v) for c, v in zip(types, row)) + "\n")
    subprocess.run([args.heddle, "load", "--schema", directory / "schema.json", "--from", directory / "csv", "--out",
                    directory / "db"], check=True, capture_output=True)


def condition(rng, rows, column, at, params):
    """Text of a comparison, and itself."""
    values = [r[at] for r in rows]
    v = rng.choice([rng.choice(values), values[0] - 1, values[-1] + 1, rng.randint(values[0], values[-1])])
    if column in ("id", "k", "s") and rng.random() < 0.25:
        listed = [v, *rng.choices(values, k=rng.choice((0, 1, 3, 60)))]
        return f"{column} in ({', '.join(map(str, listed))})", (at, lambda a, b: a in b, set(listed))
    op, literal = rng.choice(list(OPS)), text(column, v)
    if column == "d":
        literal = f"date '{literal}'"
    elif rng.random() < 0.3 and column != "m":
        literal = f":p{len(params)}"
        params[literal[1:]] = v
    return (f"{column} {op} {literal}" if rng.random() < 0.7 else f"{literal} {SWAPPED[op]} {column}"), (at, OPS[op], v)


def call(args, directory, plan, params, threads, fragments):
    (directory / "p.json").write_text(json.dumps(plan))
    given = [x for name, v in params.items() for x in ("-p", f"{name}={v}")]
    environment = {**os.environ, **({"HEDDLE_FRAGMENTS": str(fragments)} if fragments else {})}
    done = subprocess.run([args.heddle, "run", directory / "p.json", "--db", directory / "db", "--backend", args.backend,
                           "--threads", str(threads), "--format", "csv", "--time", *given], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1], json.loads(done.stderr.splitlines()[-1])["pipelines"][0]["source_rows"]


def inside(value, op, v):
    """A list's rows lie between its smallest and its largest value."""
    return min(v) <= value <= max(v) if isinstance(v, set) else op(value, v)


def check(args, rng, rows, directory):
    params, tests = {}, []
    columns = rng.sample([("id", 0), ("k", 1), ("d", 2), ("m", 3), ("s", 4)], 2)
    for column, at in [columns[0], *rng.choices(columns, k=rng.randrange(3))]:
        tests.append(condition(rng, rows, column, at, params))
    filters = [t for t, _ in tests] + (["v < 900"] if rng.random() < 0.3 else [])
    rng.shuffle(filters)
    kept = [r for r in rows if all(op(r[at], v) for _, (at, op, v) in tests) and ("v < 900" not in filters or r[5] < 900)]
    between = sum(all(inside(r[at], op, v) for _, (at, op, v) in tests) for r in rows)
    plan = {"heddle": 1, "params": {n: {"type": "int64"} for n in params},
            "root": {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "v", "as": "s"}],
                     "input": {"op": "scan", "table": "t", "filter": " and ".join(filters)}}}
    want = f"{len(kept)},{sum(r[5] for r in kept) if kept else ''}"
    fragments = rng.choice([0, 0, 3])
    for threads in (1, 3):
        got, visited = call(args, directory, plan, params, threads, fragments)
        # rows in front of the first, up to a multiple of 256, are visited, too
        if got != want or not between <= visited <= between + 255:
            print(f"{filters} {params}, {fragments} fragments: {got}, want {want}; visited {visited} for {between} rows")
            return False
    return True


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--count", type=int, default=60)
    args = ap.parse_args()
    rng = random.Random(15)
    with tempfile.TemporaryDirectory() as scratch:
        rows = make(rng)
        load(args, rows, pathlib.Path(scratch))
        good = sum(check(args, rng, rows, pathlib.Path(scratch)) for _ in range(args.count))
    print(f"{good} of {args.count} filters as expected")
    sys.exit(good != args.count)


if __name__ == "__main__":
    main()
