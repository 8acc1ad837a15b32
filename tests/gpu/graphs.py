#!/usr/bin/env python3
"""Graph patterns (examples/graphs) on random graphs: times, beside counts of the CPU backend on small ones.

Usage: graphs.py --heddle BIN --scratch DIR [--backend cuda|cpu] [--large V,E] [--small V,E] [--repeat N] [--out FILE.json]

Triangles of the large graph (10,000,000 vertices, 200,000,000 edges), all patterns of the small one (20,000, 200,000), whose
counts must be those of the CPU backend. Times are of the fastest of --repeat executions after the first, in ms: the
whole execution, and on a GPU the sum of its kernels. --scratch keeps the graphs for the next call. The table is Markdown.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

os.environ["HEDDLE_KERNEL_TIMES"] = "1"  # for reports of all runs

PLANS = Path(__file__).resolve().parents[2] / "examples" / "graphs"


def size(text):
    vertices, edges = map(int, text.split(","))
    return vertices, edges


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--heddle", required=True)
    p.add_argument("--scratch", type=Path, required=True)
    p.add_argument("--backend", default="cuda")
    p.add_argument("--large", type=size, default=(10_000_000, 200_000_000))
    p.add_argument("--small", type=size, default=(20_000, 200_000))
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--out", type=Path)
    return p.parse_args()


def graph(args, vertices, edges):
    db = args.scratch / f"graph-{vertices}-{edges}"
    if not (db / "catalog.json").exists():
        part = args.scratch / f"{db.name}.part"
        subprocess.run(["rm", "-rf", part], check=True)
        subprocess.run([args.heddle, "gen", "graph", "--vertices", str(vertices), "--edges", str(edges), "--out", part],
                       check=True, stdout=subprocess.DEVNULL)
        part.rename(db)
    return db


def run(args, pattern, db, backend, repeat):
    """(count, reports of the executions after the first, or of the only one)"""
    done = subprocess.run([args.heddle, "run", PLANS / f"{pattern}.json", "--db", db, "--trust", "--backend", backend,
                           "--repeat", str(repeat), "--time", "--format", "csv"], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{pattern}: {done.stderr.strip()}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return int(done.stdout.splitlines()[-1]), reports[1:] or reports


def kernels_ms(report):
    return sum(p["gpu"]["kernel_ms"] for p in report["pipelines"] if "gpu" in p)


def measured(args, pattern, vertices, edges):
    db = graph(args, vertices, edges)
    count, reports = run(args, pattern, db, args.backend, args.repeat + 1)
    best = min(reports, key=lambda r: r["execute_ms"])
    return {"pattern": pattern, "vertices": vertices, "edges": edges, "count": count, "execute_ms": best["execute_ms"],
            "kernels_ms": kernels_ms(best), "peak_bytes": best["peak_bytes"]}


def main():
    args = parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    found, wrong = [], 0
    for pattern in sorted(p.stem for p in PLANS.glob("*.json")):
        row = measured(args, pattern, *args.small)
        expected, _ = run(args, pattern, graph(args, *args.small), "cpu", 1)
        if row["count"] != expected:
            print(f"{pattern}: {row['count']} of {expected}")
            wrong += 1
        found.append(row)
    found.append(measured(args, "triangle", *args.large))
    print("| pattern | vertices | edges | found | execution, ms | kernels, ms | peak, MB |\n" + "|---|---|---|---|---|---|---|")
    for r in found:
        print(f"| {r['pattern']} | {r['vertices']:,} | {r['edges']:,} | {r['count']:,} | {r['execute_ms']:.2f} | "
              f"{r['kernels_ms']:.2f} | {r['peak_bytes'] / 1e6:.0f} |")
    if args.out:
        args.out.write_text(json.dumps(found, indent=1))
    return wrong != 0


sys.exit(main())
