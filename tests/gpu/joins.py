#!/usr/bin/env python3
"""Joins without keys on a GPU: times, and answers that are worked out here.

Usage: joins.py --heddle BIN --scratch DIR [--backend cuda|cpu] [--left N] [--right N] [--repeat N] [--out FILE.json]

Table r has N rows (500,000) and s (250,000), with random integers `a` below 1,000,000 and `v` below 1,000. Works look
at all pairs, but those called `auto`: these leave it to the planner, for the same tables and for others with four times
and a fifth of the rows. Sums and counts are those of sorted arrays, by Python's own integers. Times are the fastest of
--repeat executions after the first, in ms; --scratch keeps the data for the next call.
"""

import argparse
import bisect
import itertools
import json
import random
import subprocess
import sys
from pathlib import Path

BELOW = 1_000_000
# Shares of pairs, with what to add to the left side for them.
SHIFTS = {"0.1 %": -955_279, "10 %": -552_786, "50 %": 0, "90 %": 552_786}


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--heddle", required=True)
    p.add_argument("--scratch", type=Path, required=True)
    p.add_argument("--backend", default="cuda")
    p.add_argument("--left", type=int, default=500_000)
    p.add_argument("--right", type=int, default=250_000)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--out", type=Path)
    return p.parse_args()


def make(args, left, right):
    """Rows of both tables, and a database of them."""
    draw = random.Random(7)
    sides = {name: [(draw.randrange(BELOW), draw.randrange(1000)) for _ in range(n)]
             for name, n in (("r", left), ("s", right))}
    db = args.scratch / f"pairs-{left}-{right}"
    if not (db / "catalog.json").exists():
        csv = args.scratch / f"{db.name}.csv"
        csv.mkdir(parents=True, exist_ok=True)
        columns = [{"name": c, "type": "int32"} for c in ("id", "a", "v")]
        schema = {"format": {"delimiter": ",", "header": True, "null": "", "trailing_delimiter": False},
                  "tables": [{"name": name, "columns": columns} for name in sides]}
        (csv / "schema.json").write_text(json.dumps(schema))
        for name, rows in sides.items():
            with open(csv / f"{name}.csv", "w") as f:
                f.write("id,a,v\n")
                f.writelines(f"{i},{a},{v}\n" for i, (a, v) in enumerate(rows))
        subprocess.run([args.heddle, "load", "--schema", csv / "schema.json", "--from", csv, "--out", db], check=True,
                       stdout=subprocess.DEVNULL)
    return sides, db


def pairs(shift, strategy="loop"):
    right = {"op": "project", "input": {"op": "scan", "table": "s"},
             "exprs": [{"expr": "a", "as": "b"}, {"expr": "v", "as": "w"}, {"expr": "id", "as": "sid"}]}
    return {"op": "join", "kind": "inner", "left": {"op": "scan", "table": "r"}, "right": right,
            "strategy": strategy, "residual": f"a + {shift} > b"}


def aggregate(source, *aggs, keys=()):
    return {"op": "aggregate", "keys": list(keys), "aggs": [dict(zip(("fn", "as", "arg"), a)) for a in aggs],
            "input": source}


def works(sides):
    """(name, plan, the row that it must give)"""
    order = sorted(b for b, _ in sides["s"])
    by_b = sorted(sides["s"])
    below = [0, *itertools.accumulate(w for _, w in by_b)]
    for share, shift in SHIFTS.items():
        places = [bisect.bisect_left(order, a + shift) for a, _ in sides["r"]]
        n = sum(places)
        yield f"count, {share}", aggregate(pairs(shift), ("count", "n")), [n]
        if share == "0.1 %":
            kept = {"op": "limit", "limit": 1 << 40, "input":
                    {"op": "project", "exprs": ["id", "sid", "v", "w"], "input": pairs(shift)}}
            yield f"rows, {share}", aggregate(kept, ("count", "n"), ("sum", "s", "w")), [n, sum(below[i] for i in places)]
            continue
        total = sum(v * i for (_, v), i in zip(sides["r"], places))
        yield f"sum, {share}", aggregate(pairs(shift), ("sum", "s", "v")), [total]
        if share == "50 %":
            bins = {"op": "project", "exprs": [{"expr": "(v + w) % 1000", "as": "g"}], "input": pairs(shift)}
            grouped = aggregate(bins, ("count", "n"), keys=["g"])
            yield f"histogram of 1000, {share}", aggregate(grouped, ("sum", "s", "n")), [n]


def works_without_pairs(sides):
    """The same, of aggregates over a range that nobody asks a loop for."""
    by_b = sorted(sides["s"])
    order = [b for b, _ in by_b]
    below = [0, *itertools.accumulate(w for _, w in by_b)]
    largest = [None, *itertools.accumulate((w for _, w in by_b), max)]
    for share, shift in list(SHIFTS.items())[1:]:
        places = [bisect.bisect_left(order, a + shift) for a, _ in sides["r"]]
        total = sum(v * i for (_, v), i in zip(sides["r"], places))
        yield f"auto: sum, {share}", aggregate(pairs(shift, "auto"), ("sum", "s", "v")), [total]
        aggs = [("count", "n"), ("sum", "w", "w"), ("max", "m", "w")]
        want = [sum(places), sum(below[i] for i in places), max(largest[i] for i in places if i)]
        yield f"auto: of the other side, {share}", aggregate(pairs(shift, "auto"), *aggs), want


def measure(args, db, name, plan, want):
    file = args.scratch / "pairs.json"
    file.write_text(json.dumps({"heddle": 1, "root": plan}))
    done = subprocess.run([args.heddle, "run", file, "--db", db, "--backend", args.backend, "--time", "--repeat",
                           str(args.repeat + 1), "--format", "csv"], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    found = [int(x) for x in done.stdout.splitlines()[-1].split(",")]
    if found != want:
        sys.exit(f"{name}: expected {want}, found {found}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    best = min(reports[1:], key=lambda r: r["execute_ms"])
    return {"work": name, "execute_ms": best["execute_ms"], "peak_bytes": best["peak_bytes"],
            "compile_ms": reports[0]["compile_ms"]}


def main():
    args = parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    found = []
    for left, right in ((args.left, args.right), (4 * args.left, args.right // 5)):
        sides, db = make(args, left, right)
        print(f"{left} x {right} rows\n{'work':<30}{'ms':>10}{'G pairs/s':>12}{'peak MB':>10}")
        looped = works(sides) if left == args.left else ()
        for name, plan, want in itertools.chain(looped, works_without_pairs(sides)):
            r = measure(args, db, name, plan, want)
            found.append({"rows": [left, right], **r})
            speed = left * right / r["execute_ms"] / 1e6
            print(f"{name:<30}{r['execute_ms']:>10.2f}{speed:>12.0f}{r['peak_bytes'] / 1e6:>10.1f}", flush=True)
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} passed, 0 failed")


if __name__ == "__main__":
    main()
