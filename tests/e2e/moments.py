#!/usr/bin/env python3
"""Variances, covariances, correlation and regression against exact rationals, of values whose mean is up to 10^12 times
their deviation, of values that are all the same, of NULLs, infinities and NaN, with and without keys and filters, with
the rows in several orders and on several threads. Results stay within the bounds of docs/plan.md 1.2, and those of ints
and decimals within a few units in the last place, whatever the mean.

Usage: moments.py --heddle BIN [--backend cpu|cuda] [--seed N] [--plans N] [--rows N]
"""
import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from hdmoments import ONE, TWO, Moments, as_float  # noqa: E402

TYPES = {"g": "int32", "i": "int32", "d": "decimal(12,2)", "j": "int64", "w": "decimal(30,4)", "f": "float64", "h": "float64",
         "s": "float64"}
EXACT = "id"


def number(rng, name, group):
    base = [0, 10**3, 10**9, -10**6][group % 4]
    if name == "i":
        return str(base + rng.randint(-3, 3))
    if name == "d":
        return f"{base + rng.randint(-200, 200) / 100:.2f}"
    if name == "j":
        return str(rng.choice([base, 2**53]) + rng.randint(0, 9))
    if name == "w":
        return f"{10**12 * base + rng.randint(0, 10**6)}.{rng.randint(0, 9999):04d}"
    if name == "f":
        return repr(base * 1000.0 + rng.uniform(-1, 1))
    if name == "h":
        return repr([0.1, 1e9 / 3, -2.7, 1e-9][group % 4])
    return repr(rng.choice([math.inf, -math.inf, math.nan, 1.5])) if rng.random() < 0.02 else repr(rng.uniform(-1, 1))


def table(rng, rows):
    out = []
    for _ in range(rows):
        g = rng.randint(0, 7)
        out.append({"g": str(g), **{c: None if rng.random() < 0.1 else number(rng, c, g) for c in TYPES if c != "g"}})
    return out


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for name, rows in tables.items():
        columns = [{"name": c, "type": t, "nullable": c != "g"} for c, t in TYPES.items()]
        schema["tables"].append({"name": name, "columns": columns})
        (folder / f"{name}.tbl").write_text("".join("|".join(row[c] or "" for c in TYPES) + "\n" for row in rows))
    (folder / "schema.json").write_text(json.dumps(schema))


def run(args, folder, plan, threads):
    (folder / "plan.json").write_text(json.dumps(plan))
    done = subprocess.run([args.heddle, "run", folder / "plan.json", "--db", folder / "db", "--backend", args.backend, "--threads",
                           str(threads), "--format", "csv"], capture_output=True, text=True, check=True)
    return [line.split(",") for line in done.stdout.splitlines()[1:]]


def expected(rows, asked, keys, kept):
    groups = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in keys), []).append(row)
    out = {}
    for key, members in groups.items():
        found = []
        for fn, y, x in asked:
            pairs = [(r[y], r[x]) for r in members if kept(r) and r[y] is not None and r[x] is not None]
            texts = [[t if TYPES[c] != "float64" else format(Decimal(float(t)), "f") if math.isfinite(float(t)) else t for t in side]
                     for c, side in zip((y, x), zip(*pairs))] if pairs else [[], []]
            found.append((Moments(*texts), fn, y in EXACT and x in EXACT))
        out[key] = found
    return out


def differs(field, moments, fn, exact):
    want = moments.result(fn)
    if want is None or field == "":
        return (want is None) != (field == "")
    want, got = as_float(want), float(field)
    if not math.isfinite(want):
        return repr(got) != repr(want)
    bound = moments.error(fn)
    if exact and fn in ("var_pop", "var_samp", "regr_sxx", "regr_syy"):
        bound = 8 * 2.0 ** -53 * want
    return abs(got - want) > bound


def check(rng, args, folder, tables):
    fns = [(rng.choice(ONE + TWO), rng.choice(list(TYPES)[1:]), rng.choice(list(TYPES)[1:])) for _ in range(rng.randint(1, 4))]
    asked = [(fn, y, y if fn in ONE else x) for fn, y, x in fns]
    keys = rng.choice([[], ["g"]])
    limit = rng.choice([None, 3])
    aggs = [{"fn": fn, "arg": y, "as": f"a{n}", **({} if fn in ONE else {"by": x}), **({"filter": f"g > {limit}"} if limit else {})}
            for n, (fn, y, x) in enumerate(asked)]
    want = expected(tables["a"], asked, keys, lambda row: limit is None or int(row["g"]) > limit)
    wrong = 0
    for name, threads in (("a", 1), ("a", 3), ("b", 2)):
        plan = {"heddle": 1, "root": {"op": "aggregate", "keys": keys, "aggs": aggs, "input": {"op": "scan", "table": name}}}
        got = run(args, folder, plan, threads)
        bad = len(got) != len(want)
        for row in got:
            known = want.get(tuple(row[:len(keys)]), [])
            bad |= len(known) != len(asked) or any(differs(f, *k) for f, k in zip(row[len(keys):], known))
        if bad:
            wrong += 1
            print(f"wrong on {threads} threads: {json.dumps(plan)}\n{got}")
    return wrong


def main():
    ap = argparse.ArgumentParser(description="variances and their kin")
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--plans", type=int, default=40)
    ap.add_argument("--rows", type=int, default=400)
    args = ap.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-moments-") as folder:
        folder, rows = pathlib.Path(folder), table(rng, args.rows)
        tables = {"a": rows, "b": rng.sample(rows, len(rows))}
        write(folder, tables)
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)
        wrong = sum(check(rng, args, folder, tables) for _ in range(args.plans))
    print(f"{wrong} wrong")
    return wrong != 0


sys.exit(main())
