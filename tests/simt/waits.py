#!/usr/bin/env python3
"""How often the host waits for a GPU in an execution, what it launches, how much memory it clears by itself, and in how
many batches (one call of the driver each, once they are graphs) all of it is queued.

    waits.py --query BIN --db DB --plans DIR

Each of these takes a host 1 to 4 us, a wait 13 to 34, and most kernels of small queries take less. One wait is for the result, the last kernel
brings it to the host; others are for counts of rows that nobody can do without. Counted is an execution behind another one, which
leaves it how many rows come; where more come it begins anew, with the rows that it would have given."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

# query: waits, launches, clears, batches, of plans at scale factor 0.01. What raises a number belongs into docs/performance.md.
MOST = {
    1: (1, 4, 1, 1),  # groups by index, then few rows in order
    5: (1, 7, 1, 1),  # five pipelines one behind the other
    6: (1, 4, 1, 1),  # a row as it is
    9: (1, 9, 2, 1),  # rows that others read
    11: (1, 9, 1, 1),  # rows of groups that are slots, a scalar subquery
    15: (1, 8, 1, 1),  # a shared subplan
    16: (1, 8, 1, 1),  # groups of which the execution before brought as many as have room
    18: (1, 3, 1, 1),  # an order with a limit
    20: (1, 9, 1, 1),  # groups behind three levels, likewise
    21: (1, 9, 1, 1),  # rows that two states are made of
    22: (2, 11, 1, 2),  # a scalar subquery that may fail
}
# Of these, more groups come than the execution was told of: it begins anew.
ANEW = (9, 11, 15, 16, 22)


def begins_anew(args, query):
    """As if an execution before had brought one row to every state, with room for 64: the rows are the same."""
    plain = [str(c) for c in (args.query, args.plans / f"q{query:02d}.json", "--db", args.db, "--stats")]
    expected, done = (subprocess.run([*plain, *more], capture_output=True, text=True)
                      for more in ([], ["--first-rows", "64", "--seen", "1"]))
    if done.returncode == 0 and "begun anew" in done.stderr and done.stdout == expected.stdout:
        return True
    print(f"q{query}: expected the same rows of an execution that begins anew; {done.stderr}")
    return False


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--query", required=True)
    p.add_argument("--db", required=True)
    p.add_argument("--plans", type=Path, required=True)
    args = p.parse_args()
    wrong = 0
    for query, most in MOST.items():
        command = [args.query, args.plans / f"q{query:02d}.json", "--db", args.db, "--stats", "--pooled", "--seeds", "2"]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        told = re.search(r"seed 1: (\d+) launches, .* (\d+) waits, (\d+) clears, (\d+) batches", done.stderr)
        if done.returncode != 0 or not told:
            sys.exit(f"q{query}: {done.stderr}")
        launches, waits, clears, batches = map(int, told.groups())
        print(f"q{query}: {waits} waits, {launches} launches, {clears} clears, {batches} batches")
        if (waits, launches, clears, batches) != most:
            print(f"  expected {most[0]} waits, {most[1]} launches, {most[2]} clears, {most[3]} batches")
            wrong += 1
    for query in ANEW:
        wrong += not begins_anew(args, query)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
