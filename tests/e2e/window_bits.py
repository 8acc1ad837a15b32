#!/usr/bin/env python3
"""bit_and, bit_or and bit_xor over frames against Python: whole partitions, running ones, frames that slide or are empty.

Usage: window_bits.py --heddle BIN [--rows 700] [--threads 1,3] [--backend B]
"""
import argparse
import functools
import json
import operator
import pathlib
import random
import subprocess
import sys
import tempfile

FOLDS = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}
FRAMES = [("unbounded preceding", "unbounded following"), ("unbounded preceding", "current row"), ("current row", "unbounded following"),
          ({"preceding": 3}, {"following": 2}), ({"preceding": 40}, {"preceding": 1}), ({"following": 5}, {"following": 300}),
          ({"preceding": 1}, {"preceding": 3})]


def number(bound, at, n):
    """Of the row, from 0, that a bound stands for."""
    if isinstance(bound, dict):
        return at - bound["preceding"] if "preceding" in bound else at + bound["following"]
    return {"unbounded preceding": 0, "unbounded following": n - 1, "current row": at}[bound]


def functions():
    for fn in FOLDS:
        for k, (start, end) in enumerate(FRAMES):
            for kind in ("", "filtered", "without"):
                f = {"fn": fn, "arg": "v", "frame": {"unit": "rows", "start": start, "end": end}, "as": f"{fn}{k}{kind}"}
                if kind == "without":
                    f["frame"]["exclude"] = "current row"
                yield {**f, "filter": "w > 0"} if kind == "filtered" else f


def expected(rows):
    out = {}
    for g in {r[1] for r in rows}:
        part = [r for r in rows if r[1] == g]
        for at, row in enumerate(part):
            cells = []
            for f in functions():
                first, last = (number(f["frame"][s], at, len(part)) for s in ("start", "end"))
                frame = part[max(first, 0):max(last + 1, 0)]
                left = "exclude" in f["frame"]
                values = [r[2] for r in frame if r[2] is not None and (r[3] > 0 or "filter" not in f) and not (left and r is row)]
                cells.append(functools.reduce(FOLDS[f["fn"]], values) if values else None)
            out[row[0]] = cells
    return out


def run(args, rows, threads, scratch):
    columns = [{"name": "k", "type": "int32"}, {"name": "g", "type": "int32"}, {"name": "v", "type": "int64"}, {"name": "w", "type": "int32"}]
    values = {"op": "values", "columns": columns, "rows": [[k, g, None if v is None else str(v), w] for k, g, v, w in rows]}
    plan = scratch / "plan.json"
    plan.write_text(json.dumps({"heddle": 1, "root": {"op": "window", "partition": ["g"], "order": ["k"], "functions": list(functions()),
                                                      "input": values}}))
    done = subprocess.run([args.heddle, "run", str(plan), "--backend", args.backend, "--threads", threads, "--format", "json"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return {r[0]: [None if v is None else int(v) for v in r[4:]] for r in json.loads(done.stdout)["rows"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rows", type=int, default=700)
    parser.add_argument("--threads", default="1,3")
    parser.add_argument("--backend", default="cpu")
    args = parser.parse_args()
    rng = random.Random(3)
    rows = [(k, rng.choice([1, 1, 1, 2, 3]), None if rng.random() < 0.2 else rng.randrange(-1 << 63, 1 << 63), rng.randrange(-2, 5))
            for k in range(args.rows)]
    want, bad = expected(rows), 0
    with tempfile.TemporaryDirectory() as scratch:
        for threads in args.threads.split(","):
            ok = run(args, rows, threads, pathlib.Path(scratch)) == want
            bad += not ok
            print(f"{len(list(functions()))} functions of {args.rows} rows, {threads} threads: {'ok' if ok else 'DIFFERENT'}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
