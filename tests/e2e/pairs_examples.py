#!/usr/bin/env python3
"""The plans of examples/pairs on generated points against NumPy, which computes in float32 as well.

Usage: pairs_examples.py --heddle BIN [--backend cuda] [--points N]     Exit status 77: there is no NumPy.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "pairs"


def distances(p):
    """Squares of all distances, added up in the order of the plans."""
    d = [p[c][:, None] - p[c][None, :] for c in "xyz"]
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]


def buckets(v, hi, n):
    inside = np.minimum(n, 1 + np.floor(v * (np.float32(n) / np.float32(hi))).astype(np.int64))
    return np.where(v >= np.float32(hi), n + 1, inside)


def answers(p):
    n, d2 = len(p["x"]), distances(p)
    upper = np.triu_indices(n, 1)
    one = d2[upper]
    near = np.float32(5) * np.float32(5)
    close = int((one < near).sum())
    yield "correlation", [[close]]
    yield "cells", [[close]]
    k, c = np.unique(buckets(np.sqrt(one), 174, 1000), return_counts=True)
    yield "histogram", [list(map(int, r)) for r in zip(k, c)]
    shells = buckets(np.sqrt(one[one < np.float32(20) * np.float32(20)]), 20, 50)
    k, c = np.unique(shells, return_counts=True)
    share = 4.1887902047863905 * (20 / 50) ** 3 / 1e6 * n * (n - 1) / 2
    yield "radial", [[int(s), (s - 0.5) * 20 / 50, int(m), m / (share * (float(s) ** 3 - (s - 1.0) ** 3))] for s, m in zip(k, c)]
    weights = np.exp(-d2.astype(np.float64) / 8)
    np.fill_diagonal(weights, 0)
    yield "density", [[i, float(w)] for i, w in enumerate(weights.sum(axis=1))]
    alike = (np.abs(p["mass"][upper[0]] - p["mass"][upper[1]]) <= 20) & (one < near)
    yield "similarity", sorted([int(a), int(b)] for a, b in zip(upper[0][alike], upper[1][alike]))
    more = (p["mass"][:, None] > p["mass"][None, :]) & (p["x"][:, None] < p["x"][None, :])
    yield "theta", [[int(more.sum()), int((p["mass"][:, None] - p["mass"][None, :])[more].sum())]]
    np.fill_diagonal(d2, np.float32(np.inf))
    order = np.argsort(d2, axis=1, kind="stable")[:, :10]
    yield "neighbours", [[i, int(j), float(d2[i, j])] for i in range(n) for j in order[i]]


def same(a, b):
    return math.isclose(a, b, rel_tol=1e-5) if isinstance(b, float) else int(a) == b


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--points", type=int, default=1500)
    args = ap.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        csv, db = f"{scratch}/csv", f"{scratch}/db"
        subprocess.run([sys.executable, EXAMPLES / "make_data.py", csv, "--points", str(args.points)], check=True)
        subprocess.run([args.heddle, "load", "--schema", f"{csv}/schema.json", "--from", csv, "--out", db], check=True,
                       stdout=subprocess.DEVNULL)
        rows = np.genfromtxt(f"{csv}/point.csv", delimiter=",", names=True, dtype=None, encoding=None)
        points = {c: rows[c].astype(np.float32) for c in "xyz"} | {"mass": rows["mass"].astype(np.int64)}
        for name, want in answers(points):
            done = subprocess.run([args.heddle, "run", EXAMPLES / f"{name}.json", "--db", db, "--backend", args.backend,
                                   "--threads", "2", "--format", "json"], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{name}: {done.stderr}")
            got = json.loads(done.stdout)["rows"]
            ok = len(got) == len(want) and all(all(map(same, a, b)) for a, b in zip(got, want))
            wrong += not ok
            print(f"{name}: {len(got)} rows{'' if ok else f', not {len(want)}: {got[:3]}, not {want[:3]}'}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
