#!/usr/bin/env python3
"""How fast columns stream to a GPU, and queries on a GPU smaller than the data.

    stream.py --heddle BIN --db DB [--memory BYTES] [--repeat N] PLAN...

First Q1 and Q6 with nothing resident: bytes that crossed by the time of the execution, staged by the host's threads and from
page-locked copies (--pin). Then each plan with all of the GPU's memory and with --memory of it: the rows must be the same;
the fastest execution of either, what was streamed, and what must cross the link: streamed parts after zones, for each pipeline that
scans them, and reads over the link, whose bytes are those of copies that take as long.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path


def run(args, plan, *options, **environment):
    """Rows as text, and the report of the fastest execution."""
    command = [args.heddle, "run", plan, "--db", args.db, "--trust", "--backend", "cuda", "--format", "csv", "--time",
               "--repeat", str(args.repeat), *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return sorted(done.stdout.splitlines()), min(reports, key=lambda r: r["execute_ms"])


def streamed(report):
    return sum(p["gpu"].get("streamed_bytes", 0) for p in report["pipelines"])


def speed(args, plan):
    want, resident = run(args, plan)
    for name, options in (("staged", ()), ("pinned", ("--pin", "64G"))):
        rows, report = run(args, plan, *options, HEDDLE_COLUMN_BYTES="0")
        if rows != want:
            sys.exit(f"{plan}, {name}: other rows")
        n, ms = streamed(report), report["execute_ms"]
        print(f"{Path(plan).stem} {name}: {n / 1e9:.2f} GB in {ms:.1f} ms, {n / ms / 1e6:.1f} GB/s; "
              f"resident {resident['execute_ms']:.2f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--memory", default="8G")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("plans", nargs="+")
    args = parser.parse_args()
    for plan in args.plans:
        if Path(plan).stem in ("q01", "q06"):
            speed(args, plan)
    must = took = 0
    for plan in args.plans:
        want, all_of_it = run(args, plan)
        rows, part = run(args, plan, "--device-memory", args.memory)
        if rows != want:
            sys.exit(f"{plan}: other rows with {args.memory}")
        print(f"{Path(plan).stem}: {all_of_it['execute_ms']:.1f} ms, with {args.memory} {part['execute_ms']:.1f} ms, "
              f"{streamed(part) / 1e9:.2f} GB streamed, {part.get('link_bytes', 0) / 1e9:.2f} GB must cross the link", flush=True)
        must += part.get("link_bytes", 0)
        took += part["execute_ms"]
    print(f"all: {took:.1f} ms, {must / 1e9:.2f} GB must cross the link: {must / 56e6:.1f} ms at 56 GB/s")


if __name__ == "__main__":
    main()
