#!/usr/bin/env python3
"""Sums and counts of dense groups in 1, 2, 4 and 8 bytes, at the last value that fits and one above it: rows against
Python, and the width that the plan says. A key column has one value in exactly so many rows, others in few.

Usage: narrow.py --heddle BIN [--backend cpu] [--threads 1,3]
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

GROUPS = 12000  # more than a block has in shared memory, at 4 bytes each
FEW = 300
ENVIRONMENTS = [{}, {"HEDDLE_FRAGMENTS": "3"}, {"HEDDLE_FRAME_WEIGHT": "1"}]

# key column: rows of its most frequent value
HEAVY = {"k255": 255, "k256": 256, "k65535": 65535, "k65536": 65536}
ROWS = 80000

# name: (key, aggregates, what the state's row looks like)
PLANS = {
    "count255": ("k255", ["n"], r"row 1 bytes \{count\(\*\):i32 in 1\}"),
    "count256": ("k256", ["n"], r"row 2 bytes \{count\(\*\):i32 in 2\}"),
    "count65535": ("k65535", ["n"], r"row 2 bytes \{count\(\*\):i32 in 2\}"),
    "count65536": ("k65536", ["n"], r"row 4 bytes \{count\(\*\):i32\}"),
    "few": ("few", ["n"], r"row 4 bytes \{count\(\*\):i32\}"),
    "mixed": ("k255", ["n", "values"], r"row 2 bytes \{count\(\*\):i32 in 1, count:i32 in 1\}"),
    "sum1": ("k255", ["n", "ones"], r"row 2 bytes \{count\(\*\):i32 in 1, sum:i32 in 1\}"),
    "sum2": ("k255", ["n", "smalls"], r"row 4 bytes \{count\(\*\):i32 in 1, sum:i32 in 2\}"),
    "odd": ("k255", ["n", "ones", "smalls", "signed"], r"row 8 bytes \{.*sum:i32 in 1, sum:i32 in 2, sum:i32\}"),
    "signed": ("k256", ["n", "signed"], r"row 8 bytes \{count\(\*\):i32 in 2, sum:i32\}"),
    "maybe": ("k255", ["n", "holes"], r"row 8 bytes \{count\(\*\):i32 in 1, sum:i32\?\}"),
    "extremes": ("k255", ["n", "lowest"], r"row 8 bytes \{count\(\*\):i32 in 1, min:i32\?\}"),
    "wide": ("k255", ["n", "large"], r"row 16 bytes \{count\(\*\):i64, sum:i64\}"),
}
AGGS = {
    "n": ({"fn": "count"}, len),
    "values": ({"fn": "count", "arg": "h"}, lambda rows: sum(r["h"] is not None for r in rows)),
    "ones": ({"fn": "sum", "arg": "one"}, lambda rows: sum(r["one"] for r in rows)),
    "smalls": ({"fn": "sum", "arg": "small"}, lambda rows: sum(r["small"] for r in rows)),
    "signed": ({"fn": "sum", "arg": "signed"}, lambda rows: sum(r["signed"] for r in rows)),
    "large": ({"fn": "sum", "arg": "large"}, lambda rows: sum(r["large"] for r in rows)),
    "holes": ({"fn": "sum", "arg": "h"}, lambda rows: sum(r["h"] or 0 for r in rows) if any(r["h"] is not None for r in rows) else None),
    "lowest": ({"fn": "min", "arg": "signed"}, lambda rows: min(r["signed"] for r in rows)),
}
COLUMNS = [(k, False) for k in HEAVY] + [("few", False), ("one", False), ("small", False), ("signed", False), ("large", False), ("h", True)]


def keys_of(rng, heavy):
    """One value in so many rows, the others once around: no more than seven of each, in any order."""
    rest = [1 + i % (GROUPS - 1) for i in range(ROWS - heavy)]
    keys = rest + [0] * heavy
    rng.shuffle(keys)
    return keys


def rows_of(rng):
    keys = {k: keys_of(rng, n) for k, n in HEAVY.items()}
    return [{**{k: keys[k][i] for k in HEAVY}, "few": i * 7 % FEW, "one": 1 if i % 3 else 0, "small": rng.randint(0, 257 - 1),
             "signed": rng.randint(-1000, 1000), "large": rng.randint(1, 2 ** 40), "h": None if i % 5 == 0 else i % 100}
            for i in range(ROWS)]


def write(folder, rows):
    columns = [{"name": c, "type": "int64", "nullable": null} for c, null in COLUMNS]
    schema = {"format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False},
              "tables": [{"name": "t", "columns": columns}]}
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / "t.tbl").write_text("".join("|".join("" if r[c] is None else str(r[c]) for c, _ in COLUMNS) + "\n" for r in rows))


def plan_of(key, aggs):
    return {"heddle": 1, "root": {"op": "sort", "keys": ["k"], "input": {
        "op": "aggregate", "keys": [{"expr": key, "as": "k"}],
        "aggs": [{**AGGS[a][0], "as": a} for a in aggs], "input": {"op": "scan", "table": "t"}}}}


def expected(rows, key, aggs):
    groups = {}
    for r in rows:
        groups.setdefault(r[key], []).append(r)
    return [[k] + [AGGS[a][1](g) for a in aggs] for k, g in sorted(groups.items())]


def run(args, env):
    r = subprocess.run(args, env={**os.environ, **env}, capture_output=True, text=True)
    if r.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))} {env}: {r.stderr}")
    return r.stdout


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--heddle", required=True)
    p.add_argument("--backend", default="cpu")
    p.add_argument("--threads", default="1,3")
    p.add_argument("--seed", type=int, default=7)
    o = p.parse_args()
    rows = rows_of(random.Random(o.seed))
    with tempfile.TemporaryDirectory() as tmp:
        folder, checks, bad = pathlib.Path(tmp), 0, []
        write(folder, rows)
        run([o.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], {})
        for name, (key, aggs, row) in PLANS.items():
            plan = folder / f"{name}.json"
            plan.write_text(json.dumps(plan_of(key, aggs)))
            dump = run([o.heddle, "explain", plan, "--db", folder / "db", "--backend", o.backend, "--dump", "pipelines"], {})
            if not re.search("agg dense range [0-9]+ " + row, dump):
                bad.append(f"{name}: {[line for line in dump.splitlines() if 'agg dense range' in line]}")
            want = expected(rows, key, aggs)
            for env in ENVIRONMENTS:
                for threads in o.threads.split(","):
                    out = run([o.heddle, "run", plan, "--db", folder / "db", "--backend", o.backend, "--threads", threads,
                               "--format", "csv"], env)
                    got = [[None if v == "" else int(v) for v in line.split(",")] for line in out.splitlines()[1:]]
                    checks += 1
                    if got != want:
                        differ = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
                        bad.append(f"{name} {env} threads {threads}: {len(got)} rows, {len(want)} expected; "
                                   f"{got[differ:differ + 1]}, {want[differ:differ + 1]} expected")
        print(*bad, f"{checks} checks, {len(bad)} failed", sep="\n")
        sys.exit(bool(bad))


if __name__ == "__main__":
    main()
