#!/usr/bin/env python3
"""Runs plans of Substrait on the GPU and on the CPU: rows must agree; then times, hot.

Usage: sql.py --heddle BIN --db DB --plans DIR [--jobs N] [--repeat N] [--out FILE]

DIR has NAME.pb files (tests/substrait/plans.py). --jobs: as many processes with as many parts of the plans compile
for the GPU side by side, before anything is timed. A row per plan: milliseconds of the GPU's and of the CPU's fastest
execution, with columns resident and code compiled. What a double prints may differ by its rounding. The last line counts plans that agree and adds up times.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agree import batch

LIMIT_S = 120


def same(a, b):
    """Of two cells: equal, or doubles (of which one prints 15 characters or more) within 10^-12 of each other, which n * 2^-52 is for groups of thousands."""
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return max(len(a), len(b)) >= 15 and abs(x - y) <= 1e-12 * max(abs(x), abs(y))


def equal(a, b):
    """Of two files of rows in any order."""
    a, b = (sorted(csv.reader(p.open(encoding="utf-8", newline=""))) for p in (a, b))
    return len(a) == len(b) and all(len(r) == len(s) and all(map(same, r, s)) for r, s in zip(a, b))


def compute(args, plans, backend, folder, jobs):
    """{name: error or None}; rows of each plan in folder/NAME.csv."""
    parts = [plans[i::jobs] for i in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        runs = pool.map(lambda part: batch(args, [(p.stem, p, {}) for p in part], folder, "--backend", backend, "--trust"), parts)
        return {name: error for found in runs for name, error in found.items()}


def fastest(args, plan, backend):
    """Milliseconds, or None."""
    try:
        done = subprocess.run([args.heddle, "run", plan, "--db", args.db, "--trust", "--backend", backend, "--repeat", args.repeat, "--time",
                               "--format", "csv"], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    times = [json.loads(line)["execute_ms"] for line in done.stderr.splitlines() if line.startswith("{")]
    return min(times) if times and not done.returncode else None


def compare(args, plans, scratch):
    """{name: what is wrong}"""
    errors = {b: compute(args, plans, b, scratch / b, jobs) for b, jobs in (("cpu", 1), ("cuda", args.jobs))}
    wrong = {}
    for plan in plans:
        name = plan.stem
        failed = next((f"{b}: {errors[b][name]}" for b in errors if errors[b][name]), None)
        if failed or not equal(scratch / "cpu" / f"{name}.csv", scratch / "cuda" / f"{name}.csv"):
            wrong[name] = failed or "rows differ"
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("heddle", None), ("db", None), ("plans", None), ("repeat", "3"), ("out", "")):
        parser.add_argument(f"--{name}", default=default, required=default is None)
    parser.add_argument("--jobs", type=int, default=4)
    args = parser.parse_args()
    plans = sorted(Path(args.plans).glob("*.pb"))
    with tempfile.TemporaryDirectory(prefix="heddle-sql-") as scratch:
        wrong = compare(args, plans, Path(scratch))
    for name, why in wrong.items():
        print(f"{name}: {why}", flush=True)
    times = {p.stem: {b: fastest(args, p, b) for b in ("cuda", "cpu")} for p in plans if p.stem not in wrong}
    for name, t in times.items():
        print(name, *(f"{b} {t[b]:.2f}" if t[b] else f"{b} -" for b in ("cuda", "cpu")))
    sums = [sum(t[b] for t in times.values() if all(t.values())) for b in ("cuda", "cpu")]
    if args.out:
        Path(args.out).write_text(json.dumps({"wrong": wrong, "ms": times}, indent=1), encoding="utf-8")
    print(f"{len(plans) - len(wrong)} of {len(plans)} agree; cuda {sums[0]:.1f} ms, cpu {sums[1]:.1f} ms")
    return 1 if wrong or not plans or not all(all(t.values()) for t in times.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
