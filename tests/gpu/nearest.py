#!/usr/bin/env python3
"""The k nearest neighbours of every point, by looking at all pairs: times, and the neighbours that a search through the
cells of a grid finds here.

Usage: nearest.py --heddle BIN --scratch DIR [--backend cuda|cpu] [--points N] [--k K,...] [--repeat N] [--out FILE.json]

N points (100,000) lie at random in a square. Distances are squared, in float64; ties go to the smaller number. Times are
the fastest of --repeat executions after the first, in ms; --scratch keeps the data for the next call.
"""

import argparse
import heapq
import json
import random
import subprocess
import sys
from pathlib import Path

CELL_POINTS = 2


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--heddle", required=True)
    p.add_argument("--scratch", type=Path, required=True)
    p.add_argument("--backend", default="cuda")
    p.add_argument("--points", type=int, default=100_000)
    p.add_argument("--k", default="1,10,32")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--out", type=Path)
    return p.parse_args()


def make(args):
    draw = random.Random(11)
    points = [(draw.random(), draw.random()) for _ in range(args.points)]
    db = args.scratch / f"points-{args.points}"
    if not (db / "catalog.json").exists():
        csv = args.scratch / f"{db.name}.csv"
        csv.mkdir(parents=True, exist_ok=True)
        columns = [{"name": "id", "type": "int32"}, *({"name": c, "type": "float64"} for c in "xy")]
        schema = {"format": {"delimiter": ",", "header": True, "null": "", "trailing_delimiter": False},
                  "tables": [{"name": "p", "columns": columns, "primary_key": ["id"]}]}
        (csv / "schema.json").write_text(json.dumps(schema))
        with open(csv / "p.csv", "w") as f:
            f.write("id,x,y\n")
            f.writelines(f"{i},{x!r},{y!r}\n" for i, (x, y) in enumerate(points))
        subprocess.run([args.heddle, "load", "--schema", csv / "schema.json", "--from", csv, "--out", db], check=True,
                       stdout=subprocess.DEVNULL)
    return points, db


class Grid:
    def __init__(self, points):
        self.points, self.n = points, max(1, int((len(points) / CELL_POINTS) ** 0.5))
        self.cells = {}
        for i, (x, y) in enumerate(points):
            self.cells.setdefault(self.cell(x, y), []).append(i)

    def cell(self, x, y):
        return min(int(x * self.n), self.n - 1), min(int(y * self.n), self.n - 1)

    def nearest(self, i, k):
        """Rings of cells outward, until no cell of the next one can be near enough."""
        x, y = self.points[i]
        cx, cy = self.cell(x, y)
        found, ring = [], 0
        while ring <= self.n and not (len(found) >= k and heapq.nsmallest(k, found)[-1][0] < ((ring - 1) / self.n) ** 2):
            for a in range(cx - ring, cx + ring + 1):
                step = 1 if abs(a - cx) == ring else 2 * ring
                for b in range(cy - ring, cy + ring + 1, step or 1):
                    for j in self.cells.get((a, b), ()):
                        if j != i:
                            u, v = self.points[j]
                            found.append(((x - u) * (x - u) + (y - v) * (y - v), j))
            ring += 1
        return heapq.nsmallest(k, found)


def plan(k):
    square = "(l.x - r.x) * (l.x - r.x) + (l.y - r.y) * (l.y - r.y)"
    pairs = {"op": "join", "kind": "inner", "strategy": "loop", "residual": "l.id <> r.id",
             "left": {"op": "scan", "table": "p", "alias": "l"}, "right": {"op": "scan", "table": "p", "alias": "r"}}
    near = {"op": "project", "input": pairs, "exprs": ["l.id", "r.id", {"expr": square, "as": "d"}]}
    top = {"op": "top", "keys": ["l.id"], "order": ["d"], "limit": k, "input": near}
    mixed = {"op": "project", "input": top, "exprs": ["r.id", {"expr": "(l.id % 97) * r.id", "as": "m"}]}
    return {"op": "aggregate", "input": mixed, "aggs": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "r.id", "as": "s"},
                                                        {"fn": "sum", "arg": "m", "as": "m"}]}


def measure(args, db, k, want):
    file = args.scratch / "nearest.json"
    file.write_text(json.dumps({"heddle": 1, "root": plan(k)}))
    done = subprocess.run([args.heddle, "run", file, "--db", db, "--backend", args.backend, "--time", "--repeat",
                           str(args.repeat + 1), "--format", "csv"], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"k = {k}: {done.stderr}")
    found = [int(x) for x in done.stdout.splitlines()[-1].split(",")]
    if found != want:
        sys.exit(f"k = {k}: expected {want}, found {found}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    best = min(reports[1:], key=lambda r: r["execute_ms"])
    return {"work": f"{k} nearest", "execute_ms": best["execute_ms"], "peak_bytes": best["peak_bytes"],
            "compile_ms": reports[0]["compile_ms"]}


def main():
    args = parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    points, db = make(args)
    grid, found, numbers = Grid(points), [], [int(k) for k in args.k.split(",")]
    near = [grid.nearest(i, max(numbers)) for i in range(len(points))]
    print(f"{args.points} points\n{'work':<28}{'ms':>10}{'G pairs/s':>12}{'peak MB':>10}")
    for k in numbers:
        kept = [(i, j) for i, row in enumerate(near) for _, j in row[:k]]
        r = measure(args, db, k, [len(kept), sum(j for _, j in kept), sum(i % 97 * j for i, j in kept)])
        found.append(r)
        speed = args.points ** 2 / r["execute_ms"] / 1e6
        print(f"{r['work']:<28}{r['execute_ms']:>10.2f}{speed:>12.1f}{r['peak_bytes'] / 1e6:>10.1f}", flush=True)
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} passed, 0 failed")


if __name__ == "__main__":
    main()
