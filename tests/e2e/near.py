#!/usr/bin/env python3
"""Pairs that a sum of squares bounds: of `pairs` and of joins, counted in the order of a coordinate, beside NumPy's counts of
all pairs in the same precision. Coordinates with NaN, infinities, NULL, ties, and of sizes whose squares vanish or leave
their type; radii that are 0, negative, NaN, infinite; all forms of the condition that are taken apart, and some that are not.

Usage: near.py --heddle BIN [--backend cpu|cuda] [--seed N] [--count N] [--rows N]
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import theta

ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0)
SIZES = (100.0, 1.0, 1e-25, 1e-40, 1e-165, 1e18, 1e30, 1e155)  # widths of boxes


def coordinates(rng, rows, width, dtype):
    """A column, and where it is NULL."""
    with np.errstate(all="ignore"):
        v = (rng.random(rows) * width - width / 3).astype(dtype)
    if rng.random() < 0.5:
        v[rng.random(rows) < 0.02] = rng.choice(ODD)
    if rng.random() < 0.3:
        with np.errstate(all="ignore"):
            v = np.where(np.isfinite(v), v - np.fmod(v, dtype(width / 8)), v)  # ties
    return v.astype(dtype), rng.random(rows) < (0.05 if rng.random() < 0.5 else 0)


def load(args, folder, tables, dtype):
    kind = "float32" if dtype is np.float32 else "float64"
    schema = {"format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}, "tables": []}
    for name, (columns, null) in tables.items():
        names = [{"name": name + "id", "type": "int32"}] + [{"name": name + c, "type": kind, "nullable": True} for c in "xyz"]
        schema["tables"].append({"name": name, "columns": names})
        text = ["|".join([str(i)] + ["" if null[c][i] else repr(float(columns[c][i])) for c in range(3)])
                for i in range(len(columns[0]))]
        (folder / f"{name}.tbl").write_text("".join(line + "\n" for line in text))
    (folder / "schema.json").write_text(json.dumps(schema))
    subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                   check=True)


def condition(rng, dtype):
    """Text of the condition over columns of two sides, the number of coordinates, its comparison, whether roots are compared."""
    n, op, root = int(rng.integers(1, 4)), rng.choice(("<", "<=")), bool(rng.random() < 0.3)
    if dtype is np.float32 and root:
        root = False  # a root of float32 is computed in float32 by both, but NumPy need not round it so
    sides = [(f"({{a}}.{{p}}{c} - {{b}}.{{q}}{c})" if rng.random() < 0.5 else f"({{b}}.{{q}}{c} - {{a}}.{{p}}{c})") for c in "xyz"[:n]]
    total = " + ".join(f"{s} * {s}" for s in sides)
    total = f"sqrt({total})" if root else total
    text = f"{total} {op} :r" if rng.random() < 0.6 else f":r {'>' if op == '<' else '>='} {total}"
    return text, n, op, root


def holds(op, s, r):
    """NaN is the largest value, and equal to itself."""
    nan = np.isnan(s)
    if np.isnan(r):
        return ~nan if op == "<" else np.ones_like(nan)
    return ~nan & ((s < r) if op == "<" else (s <= r))


def expected(left, right, n, op, root, r, dtype):
    """A matrix: which pairs are near."""
    with np.errstate(all="ignore"):
        total, known = None, True
        for c in range(n):
            d = np.subtract.outer(left[0][c], right[0][c]).astype(dtype)
            total = d * d if total is None else (total + d * d).astype(dtype)
            known = known & ~np.logical_or.outer(left[1][c], right[1][c])
        return holds(op, np.sqrt(total) if root else total, r) & known


def radius(rng, width, n, root, dtype):
    r = width * rng.choice((0.001, 0.03, 0.1, 0.4, 2.0))
    with np.errstate(all="ignore"):
        r = dtype(r if root else dtype(r) * dtype(r))
    return dtype(rng.choice(ODD + (-1.0,))) if rng.random() < 0.15 else r


def ways_of(engine, root, parameters, *options):
    done = subprocess.run([engine.heddle, "explain", "-", "--db", engine.db, "--dump", "physical", *options],
                          input=json.dumps({"heddle": 1, "params": parameters, "root": root}), text=True,
                          capture_output=True, check=True)
    return "way: loop in order" in done.stdout


def run(engine, root, parameters, *options):
    plan = json.dumps({"heddle": 1, "params": parameters, "root": root})
    done = subprocess.run([engine.heddle, "run", "-", "--db", engine.db, "--backend", engine.backend, "--format", "csv",
                           *options], input=plan, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{done.stderr}\n{plan}")
    return tuple(int(v or 0) for v in done.stdout.splitlines()[1].split(","))


def plans(rng, dtype, tables, width):
    """(plan, its parameters, what is to come out)."""
    text, n, op, root = condition(rng, dtype)
    r = radius(rng, width, n, root, dtype)
    parameters = {"r": {"type": "float32" if dtype is np.float32 else "float64", "default": repr(float(r)) if not np.isfinite(r) else float(r)}}
    aggs = [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "a.{p}id + b.{q}id", "as": "s"}]

    def aggregate(p, q, below):
        return {"op": "aggregate", "aggs": json.loads(json.dumps(aggs).replace("{p}", p).replace("{q}", q)), "input": below}

    near = np.triu(expected(tables["l"], tables["l"], n, op, root, r, dtype), 1)
    i, j = np.nonzero(near)
    pairs = {"op": "pairs", "aliases": ["a", "b"], "input": {"op": "scan", "table": "l"},
             "pred": text.format(a="a", b="b", p="l", q="l")}
    yield aggregate("l", "l", pairs), parameters, (len(i), int((i + j).sum()))
    near = expected(tables["l"], tables["r"], n, op, root, r, dtype)
    i, j = np.nonzero(near)
    join = {"op": "join", "kind": "inner", "on": [], "residual": text.format(a="a", b="b", p="l", q="r"),
            "left": {"op": "scan", "table": "l", "alias": "a"}, "right": {"op": "scan", "table": "r", "alias": "b"}}
    for strategy in ("auto", "band", "loop"):
        yield aggregate("l", "r", join | {"strategy": strategy}), parameters, (len(i), int((i + j).sum()))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--count", type=int, default=12, help="boxes")
    ap.add_argument("--rows", type=int, default=3000)
    args = ap.parse_args()
    rng, wrong, seen = np.random.default_rng(args.seed), 0, {}
    for number in range(args.count):
        dtype, width = (np.float32, np.float64)[number % 2], rng.choice(SIZES)
        rows = args.rows if number % 3 else int(rng.integers(0, args.rows // 2))
        with tempfile.TemporaryDirectory(prefix="heddle-near-") as folder:
            tables = {}
            for name, count in (("l", rows), ("r", int(rng.integers(1, args.rows)))):
                made = [coordinates(rng, count, width, dtype) for _ in "xyz"]
                tables[name] = [v for v, _ in made], [null for _, null in made]
            load(args, pathlib.Path(folder), tables, dtype)
            engine = theta.Engine(args, folder + "/db")
            for _ in range(3):
                for root, parameters, want in plans(rng, dtype, tables, width):
                    options = ("--threads", str(random.Random(number).choice((1, 3)))) if args.backend == "cpu" else ()
                    engine.expect(run(engine, root, parameters, *options), want,
                                  f"{rows} rows of {dtype.__name__} in {width}: {json.dumps(root)} {parameters}")
                    kind = root["input"]["op"] + " " + root["input"].get("strategy", "")
                    seen[kind] = seen.get(kind, False) or ways_of(engine, root, parameters)
            wrong += engine.wrong
    if args.count >= 12 and seen != {"pairs ": True, "join auto": True, "join band": False, "join loop": False}:
        print(f"loops in order: {seen}")
        wrong += 1
    print(f"{wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
