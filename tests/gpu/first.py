#!/usr/bin/env python3
"""What a first execution takes under each backend, and what `auto` makes of the following ones.

Usage: first.py --heddle BIN --db DB [--queries q01,q06,...] [--out FILE.json]

Each query of TPC-H runs in a new process with an empty cache, once under cpu, cuda and auto: the time until its rows are
there, and until the process has ended. Then many times in one process under auto: where the first execution ran, how long
it took until one ran on the GPU, and the fastest of either. Rows must be those of the CPU; the first execution under auto
may not take much longer than under the faster of the others, nor may later ones end on the slower backend.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 1.5  # of executions on a CPU in a row, in which a GPU gets ready


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--heddle", required=True)
    p.add_argument("--db", required=True)
    p.add_argument("--queries", default=",".join(f"q{i:02}" for i in range(1, 23)))
    p.add_argument("--out")
    return p.parse_args()


def run(args, query, backend, repeat=1):
    """Rows, reports, and seconds of the process."""
    with tempfile.TemporaryDirectory() as cache:
        start = time.monotonic()
        done = subprocess.run([args.heddle, "run", ROOT / "tpch" / "plans" / f"{query}.json", "--db", args.db, "--trust",
                               "--backend", backend, "--format", "csv", "--time", "--repeat", str(repeat)],
                              env={**os.environ, "HEDDLE_CACHE": cache}, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{query} {backend}: {done.stderr[-500:]}")
    return done.stdout, [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")], seconds


def same_cell(a, b):
    try:
        return a == b or math.isclose(float(a), float(b), rel_tol=1e-12)
    except ValueError:
        return False


def same(a, b):
    """Apart from the last digits of floats, and from an order that the plan leaves open."""
    a, b = sorted(a.splitlines()), sorted(b.splitlines())
    return len(a) == len(b) and all(
        x == y or all(map(same_cell, x.split(","), y.split(","))) for x, y in zip(a, b))


def fastest(reports, backend):
    times = [r["execute_ms"] + r["result_ms"] for r in reports if r["backend"] == backend]
    return min(times) if times else None


def shown(ms):
    return "-" if ms is None else f"{ms:.2f}"


def measure(args, query):
    rows, (cpu,), cpu_s = run(args, query, "cpu")
    gpu_rows, (gpu,), gpu_s = run(args, query, "cuda")
    first_rows, (first,), first_s = run(args, query, "auto")
    repeat = round(min(max(SECONDS * 1e3 / max(cpu["execute_ms"] / 4, 0.5), 60), 3000))
    last_rows, reports, _ = run(args, query, "auto", repeat)
    to_gpu = next((i for i, r in enumerate(reports) if r["backend"] == "cuda"), None)
    return {"query": query, "rows": all(same(rows, r) for r in (gpu_rows, first_rows, last_rows)),
            "total_ms": {"cpu": cpu["total_ms"], "cuda": gpu["total_ms"], "auto": first["total_ms"]},
            "process_ms": {"cpu": cpu_s * 1e3, "cuda": gpu_s * 1e3, "auto": first_s * 1e3},
            "first": first["backend"], "why": first["why"], "runs": len(reports), "to_gpu": to_gpu,
            "on_cpu_ms": None if to_gpu is None else sum(r["total_ms"] for r in reports[:to_gpu]),
            "cpu_ms": fastest(reports, "cpu"), "cuda_ms": fastest(reports, "cuda"), "last": reports[-1]["backend"],
            "changes": sum(a["backend"] != b["backend"] for a, b in zip(reports, reports[1:])),
            "last_why": reports[-1]["why"]}


def faults(m):
    """What must hold of a query."""
    best = min(m["total_ms"]["cpu"], m["total_ms"]["cuda"])
    if not m["rows"]:
        yield "rows differ"
    if m["total_ms"]["auto"] > 1.5 * best + 20:
        yield "the first execution waits"
    if m["changes"] > 3:
        yield f"{m['changes']} changes of the backend"
    if m["cpu_ms"] and m["cuda_ms"] and m[f"{m['last']}_ms"] > 1.6 * min(m["cpu_ms"], m["cuda_ms"]) + 0.05:
        yield "the last execution is on the slower backend"


def main():
    args = arguments()
    print("first execution, ms until its rows (process)                    | auto, many executions, ms")
    print("query     cpu            cuda           auto           on    |  GPU after  cpu     cuda    last  changes")
    all_of, bad = [], 0
    for query in args.queries.split(","):
        m = measure(args, query)
        all_of.append(m)
        t, p = m["total_ms"], m["process_ms"]
        cells = "".join(f" {t[b]:6.1f} ({p[b]:4.0f}) " for b in ("cpu", "cuda", "auto"))
        print(f"{query}   {cells}  {m['first']:4}  |  {shown(m['on_cpu_ms']):>8}  {shown(m['cpu_ms']):>6}  "
              f"{shown(m['cuda_ms']):>6}  {m['last']:4}  {m['changes']}", flush=True)
        for fault in faults(m):
            bad += 1
            print(f"  {fault}: {m['why'] if 'waits' in fault else m['last_why']}")
    for backend in ("cpu", "cuda", "auto"):
        print(f"sum of first executions, {backend}: {sum(m['total_ms'][backend] for m in all_of):.0f} ms, "
              f"of their processes {sum(m['process_ms'][backend] for m in all_of):.0f} ms")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(all_of, indent=1))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
