#!/usr/bin/env python3
"""A pipeline with levels that must keep the order of its source does: rows of a row stay together, and in order.

    in_order.py --heddle BIN --query BIN --db DB PLAN

Today's planner asks this of pipelines without levels alone, so simt_query marks the plan's (--in-order). The first
column of the plan is the source's, ascending; the second a child's, unique.
"""

import argparse
import itertools
import subprocess
import sys


def rows(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return [tuple(line.split(",")) for line in done.stdout.splitlines()[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("--heddle", "--query", "--db"):
        parser.add_argument(name, required=True)
    parser.add_argument("plan")
    args = parser.parse_args()
    want = rows(args.heddle, "run", args.plan, "--db", args.db, "--backend", "cpu", "--format", "csv")
    for seed in range(3):
        got = rows(args.query, args.plan, "--db", args.db, "--balance", "nifs", "--in-order", "--seed", seed)
        if sorted(got) != sorted(want):
            sys.exit(f"seed {seed}: {len(got)} rows, not those of the CPU, {len(want)}")
        sources = [int(r[0]) for r in got]
        if sources != sorted(sources):
            sys.exit(f"seed {seed}: the source's order is lost")
        runs = [key for key, _ in itertools.groupby(r[:2] for r in got)]
        if len(runs) != len(set(runs)):
            sys.exit(f"seed {seed}: rows of one child are apart")
    print(f"{len(want)} rows in order")


if __name__ == "__main__":
    main()
