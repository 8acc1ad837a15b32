#!/usr/bin/env python3
"""Pairs of distinct rows: each comes once, for every number of rows up to 200 and for some beyond the tiles of a GPU's
loop, as rows, counted, and in a histogram. A parameter says how many rows there are, so each plan compiles once.
Usage: pairs.py --heddle BIN [--backend cuda] [--threads N] [--sizes FROM:TO:STEP] [--large N,N]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROWS = 12000  # of which a tenth is expected: enough for a loop, however few there are


def value(i):
    return i * 7919 % 101  # many are equal


def plan(above):
    values = {"op": "values", "columns": [{"name": "id", "type": "int32"}, {"name": "v", "type": "int32"}],
              "rows": [[i, value(i)] for i in range(ROWS)]}
    pairs = {"op": "pairs", "aliases": ["a", "b"], "input": {"op": "filter", "pred": "id < :n", "input": values}}
    return {"heddle": 1, "params": {"n": {"type": "int32", "default": ROWS}}, "root": above(pairs)}


def counted(pairs):
    return {"op": "aggregate", "input": pairs, "aggs": [
        {"fn": "count", "as": "n"}, {"fn": "sum", "arg": "a.id + b.id", "as": "ids"},
        {"fn": "sum", "arg": "abs(a.v - b.v)", "as": "distance"}]}


def histogram(pairs):
    return {"op": "aggregate", "input": pairs, "keys": [{"expr": "width_bucket(abs(a.v - b.v), 0, 90, 45)", "as": "k"}],
            "aggs": [{"fn": "count", "as": "n"}]}


def selected(pairs):
    """Few pairs pass; the condition reads both rows and does not care which is which."""
    pairs["pred"] = "a.v + b.v = 100 and abs(a.id - b.id) <> 7"
    return {"op": "project", "input": pairs, "exprs": ["a.id", "b.id"]}


def run(engine, name, above, n):
    file = pathlib.Path(engine.scratch) / f"{name}.json"
    if not file.exists():
        file.write_text(json.dumps(plan(above)))
    done = subprocess.run([engine.heddle, "run", str(file), "--backend", engine.backend, "--threads", engine.threads,
                           "-p", f"n={n}", "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name}, {n} rows: {done.stderr}")
    return [[None if x is None else int(x) for x in r] for r in json.loads(done.stdout)["rows"]]


def unordered(rows):
    return sorted((min(r), max(r)) for r in rows)


def answers(n):
    """By values, of which there are few, so that many rows take no time either."""
    rows = {}
    for i in range(n):
        rows.setdefault(value(i), []).append(i)
    distances, few = {}, []
    for u in rows:
        for v in rows:
            pairs = len(rows[u]) * (len(rows[u]) - 1) // 2 if u == v else len(rows[u]) * len(rows[v]) if u < v else 0
            distances[abs(u - v)] = distances.get(abs(u - v), 0) + pairs
            if u + v == 100 and u <= v:
                few += [(min(i, j), max(i, j)) for i in rows[u] for j in rows[v] if (u < v or i < j) and abs(i - j) != 7]
    bins = {}
    for d, pairs in distances.items():
        k = 46 if d >= 90 else 1 + d * 45 // 90
        bins[k] = bins.get(k, 0) + pairs
    sums = [n * (n - 1) // 2, (n - 1) * sum(range(n)), sum(d * k for d, k in distances.items())]
    return sums if n > 1 else [0, None, None], sorted([k, v] for k, v in bins.items() if v), sorted(few)


def check(engine, n, rows_out):
    sums, bins, few = answers(n)
    wanted = {"counted": (counted, [sums]), "histogram": (histogram, bins), "selected": (selected, few)}
    if rows_out:
        both = [(i, j) for i in range(n) for j in range(i + 1, n)]
        wanted["rows"] = (lambda p: {"op": "project", "input": p, "exprs": ["a.id", "b.id"]}, both)
    bad = []
    for name, (above, want) in wanted.items():
        got = run(engine, name, above, n)
        got = unordered(got) if name in ("rows", "selected") else sorted(got)
        if got != want:
            bad.append(f"{n} rows, {name}: expected {len(want)} rows {want[:3]}..., found {len(got)} {got[:3]}...")
    return bad


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--threads", default="2")
    ap.add_argument("--sizes", default="0:201:1")
    ap.add_argument("--large", default="255,256,257,511,513,1000,1300,3100")
    engine = ap.parse_args()
    sizes = [(n, True) for n in range(*map(int, engine.sizes.split(":")))]
    sizes += [(int(n), False) for n in engine.large.split(",") if n]
    bad = []
    with tempfile.TemporaryDirectory() as engine.scratch:
        for n, rows_out in sizes:
            bad += check(engine, n, rows_out)
    print("\n".join(bad) or f"{len(sizes)} sizes")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
