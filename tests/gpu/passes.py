#!/usr/bin/env python3
"""Queries on a GPU that is smaller than what they keep: passes over it.

    passes.py --heddle BIN --db DB [--memory BYTES] [--repeat N] PLAN...

Each plan runs with all of the GPU's memory and with --memory of it: the rows must be the same, and no more memory in use at
any time. Printed are the fastest execution of either, from the plan on, the passes, what was streamed, and what went
through the host's memory.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def run(args, plan, *options):
    """Rows as text, the report of the fastest execution, all reports."""
    command = [args.heddle, "run", plan, "--db", args.db, "--trust", "--backend", "cuda", "--format", "csv", "--time",
               "--repeat", str(args.repeat), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    ordered = json.loads(Path(plan).read_text())["root"]["op"] == "sort"
    rows = done.stdout.splitlines()
    return rows if ordered else sorted(rows), min(reports, key=lambda r: r["execute_ms"] + r["result_ms"])


def describe(report):
    devices = report.get("devices", {})
    text = f"{report['execute_ms'] + report['result_ms']:.1f} ms"
    if devices.get("passes", 1) > 1:
        text += f" in {devices['passes']} passes of {len(devices['fragments'])} fragments"
    if report.get("spilled_bytes"):
        text += f", {report['spilled_bytes'] / 1e6:.1f} MB through the host"
    return text + f", peak {report['peak_bytes'] / 1e6:.0f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("plans", nargs="+")
    args = parser.parse_args()
    budget = int(args.memory[:-1]) * UNITS[args.memory[-1]]
    failed, sums = 0, [0.0, 0.0]
    for plan in args.plans:
        want, all_of_it = run(args, plan)
        rows, part = run(args, plan, "--device-memory", args.memory)
        if want is None or rows is None:
            failed += 1
            print(f"{Path(plan).stem}: {all_of_it if want is None else part}", flush=True)
            continue
        good = rows == want and part["peak_bytes"] <= budget
        failed += not good
        sums[0] += all_of_it["execute_ms"] + all_of_it["result_ms"]
        sums[1] += part["execute_ms"] + part["result_ms"]
        print(f"{Path(plan).stem}: {'' if good else 'WRONG '}{describe(all_of_it)}; with {args.memory} {describe(part)}",
              flush=True)
    print(f"{len(args.plans)} plans: {sums[0]:.1f} ms, with {args.memory} {sums[1]:.1f} ms; {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
