#!/usr/bin/env python3
"""2-body statistics on a GPU: times, and answers found in another way.

Usage: pairs.py --heddle BIN --scratch DIR [--backend cuda|cpu] [--points N] [--near N] [--repeat N] [--out FILE.json]
       pairs.py --heddle BIN --scratch DIR --compare [--points N] [--repeat N] [--threads N]

N points (1,000,000) of three float32 in a box of 100. The 2-point correlation within 1 is also counted by a grid of
cells; the distance histogram of 1,000 buckets must add up to all pairs; of the ten nearest of --near points (100,000)
fifty are looked for by NumPy. Times are the fastest of --repeat executions after the first, in ms. With --compare the
CPU's times of the first two stand beside those of DuckDB, Corrfunc and scipy's cKDTree (pairs_compare.py; 10,000 points,
two threads).
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import pairs_compare

PLANS = Path(__file__).resolve().parents[2] / "examples" / "pairs"


def database(args, points):
    folder, db = args.scratch / f"points-{points}.csv", args.scratch / f"points-{points}"
    place = (np.random.default_rng(5).random((points, 3)) * 100).astype(np.float32)
    if not (db / "catalog.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, PLANS / "make_data.py", folder, "--points", "1"], check=True)
        with open(folder / "point.csv", "w") as f:
            f.write("id,x,y,z,mass\n")
            f.writelines(f"{i},{x!r},{y!r},{z!r},1\n" for i, (x, y, z) in enumerate(place.tolist()))
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", db], check=True,
                       stdout=subprocess.DEVNULL)
    return place, db


def run(args, db, plan, *options, repeat):
    done = subprocess.run([args.heddle, "run", plan, "--db", db, "--backend", args.backend, "--time", "--repeat",
                           str(repeat), "--format", "json", *options], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{plan}: {done.stderr}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    best = min((r["execute_ms"] for r in reports[1:]), default=reports[0]["execute_ms"])
    return json.loads(done.stdout)["rows"], best, max(r["peak_bytes"] for r in reports)


def compare_with_others(args):
    args.backend = "cpu"
    place, db = database(args, args.points)
    threads = ("--threads", str(args.threads))

    def within(radius):
        rows, ms, _ = run(args, db, PLANS / "correlation.json", "-p", f"radius={radius}", *threads, repeat=3)
        return int(rows[0][0]), ms

    def histogram():
        rows, ms, _ = run(args, db, PLANS / "histogram.json", *threads, repeat=3)
        counts = np.zeros(1002, np.int64)
        for bucket, n in rows:
            counts[int(bucket)] = int(n)
        return counts[1:-1], ms
    found, wrong = pairs_compare.compare(place, within, histogram, args.threads, args.repeat)
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    return wrong > 0


def nearest(place, i):
    d = place - place[i]
    d2 = d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1] + d[:, 2] * d[:, 2]
    d2[i] = np.inf
    return np.argsort(d2, kind="stable")[:10].tolist()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--heddle", required=True)
    p.add_argument("--scratch", type=Path, required=True)
    p.add_argument("--backend", default="cuda")
    p.add_argument("--compare", action="store_true")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--points", type=int)
    p.add_argument("--near", type=int, default=100_000)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--out", type=Path)
    args = p.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    args.points = args.points or (10_000 if args.compare else 1_000_000)
    if args.compare:
        return compare_with_others(args)
    found, wrong = [], 0

    def tell(name, pairs, ms, peak, right):
        nonlocal wrong
        wrong += not right
        found.append({"work": name, "pairs": pairs, "execute_ms": ms, "peak_bytes": peak})
        print(f"{name:<34}{ms:>10.1f} ms{pairs / ms / 1e6:>8.2f} G pairs/s{peak / 1e6:>9.1f} MB{'' if right else '  WRONG'}",
              flush=True)

    n, (place, db) = args.points, database(args, args.points)
    all_pairs, radius = n * (n - 1) // 2, ("-p", "radius=1")
    cells, ms, peak = run(args, db, PLANS / "cells.json", *radius, repeat=args.repeat + 1)
    tell("2-PCF by cells", all_pairs, ms, peak, True)
    rows, ms, peak = run(args, db, PLANS / "correlation.json", *radius, repeat=args.repeat + 1)
    tell("2-PCF", all_pairs, ms, peak, rows == cells)
    rows, ms, peak = run(args, db, PLANS / "histogram.json", repeat=args.repeat + 1)
    tell("SDH, 1,000 buckets", all_pairs, ms, peak, sum(int(r[1]) for r in rows) == all_pairs)
    place, db = database(args, args.near)
    rows, ms, peak = run(args, db, PLANS / "neighbours.json", repeat=args.repeat + 1)
    by = {i: [r[1] for r in rows[10 * i:10 * i + 10]] for i in range(0, args.near, max(1, args.near // 50))}
    tell("kNN, k = 10", args.near * (args.near - 1), ms, peak,
         len(rows) == 10 * args.near and all(nearest(place, i) == b for i, b in by.items()))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found) - wrong} passed, {wrong} failed")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
