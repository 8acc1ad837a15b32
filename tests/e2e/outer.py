#!/usr/bin/env python3
"""Outer joins of two sorted tables by strategy merge, keys that occur never to three times on each side, with rows
enough for tiles on a GPU: rows are those that Python finds. Sizes end within a tile and within a byte of match bits.

Usage: outer.py --heddle BIN [--backend cpu|cuda]
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from collections import defaultdict

SIZES = ((5003, 4801), (4096, 5120))


def table(rng, rows):
    """Keys in order, some never there, with a number that may be anything."""
    out, k = [], 0
    while len(out) < rows:
        k += rng.choice((1, 1, 2, 40))
        out += [(k, rng.randint(-99, 99)) for _ in range(rng.choice((1, 1, 2, 3)))]
    return out[:rows]


def expected(kind, left, right):
    by_key = defaultdict(list)
    for k, w in right:
        by_key[k].append((k, w))
    rows = [(*x, *y) for x in left for y in by_key[x[0]]]
    there = {k for k, _ in left}
    if kind in ("left", "full"):
        rows += [(*x, None, None) for x in left if not by_key[x[0]]]
    if kind in ("right", "full"):
        rows += [(None, None, *y) for y in right if y[0] not in there]
    return sorted(rows, key=str)


def check(args, left, right):
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="heddle-outer-") as folder:
        folder = pathlib.Path(folder)
        form = {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}
        tables = [{"name": t, "columns": [{"name": c, "type": "int32"} for c in cs]} for t, cs in (("d", "kv"), ("e", "xw"))]
        for name, rows in (("d", left), ("e", right)):
            (folder / f"{name}.tbl").write_text("".join(f"{a}|{b}\n" for a, b in rows))
        (folder / "schema.json").write_text(json.dumps({"format": form, "tables": tables}))
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)
        for kind in ("left", "right", "full"):
            plan = {"op": "join", "kind": kind, "strategy": "merge", "on": [["k", "x"]],
                    "left": {"op": "scan", "table": "d"}, "right": {"op": "scan", "table": "e"}}
            done = subprocess.run([args.heddle, "run", "-", "--db", folder / "db", "--backend", args.backend, "--format", "csv",
                                   "--threads", "2"], input=json.dumps({"heddle": 1, "root": plan}), capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{done.stderr}\n{plan}")
            found = sorted((tuple(int(v) if v else None for v in line.split(",")) for line in done.stdout.splitlines()[1:]), key=str)
            if found != expected(kind, left, right):
                wrong += 1
                print(f"{kind}, {len(left)} x {len(right)} rows: {len(found)} found")
    return wrong


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    args = ap.parse_args()
    rng = random.Random(3)
    wrong = sum(check(args, table(rng, nl), table(rng, nr)) for nl, nr in SIZES)
    print(f"{wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
