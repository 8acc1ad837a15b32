#!/usr/bin/env python3
"""A state that overflows does so once: the next execution of the statement begins with the room that was needed.

    test_room.py --heddle BIN --db DB

--db is TPC-H of any scale factor from 0.01 on. Memory is kept so short that no more than is expected has room.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# All rows pass; a third is expected to.
PLAN = {"heddle": 1, "root": {
    "op": "sort", "keys": [{"expr": "price", "desc": True}, {"expr": "l_orderkey"}, {"expr": "l_linenumber"}], "input": {
        "op": "project", "exprs": ["l_orderkey", "l_linenumber", {"expr": "l_extendedprice * l_quantity", "as": "price"}],
        "input": {"op": "scan", "table": "lineitem",
                  "filter": "l_extendedprice * l_quantity > l_discount * l_tax - l_quantity * 3"}}}}


def run(args, plan, *options):
    done = subprocess.run([args.heddle, "run", plan, "--db", args.db, "--format", "csv", *options],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout, [json.loads(line) for line in done.stderr.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-room-") as folder:
        plan = Path(folder) / "plan.json"
        plan.write_text(json.dumps(PLAN))
        expected, _ = run(args, plan, "--backend", "cpu")
        rows, reports = run(args, plan, "--backend", "cuda", "--memory", "64M", "--repeat", "3", "--time")
    retries = [sum(p["gpu"]["retries"] for p in report["pipelines"]) for report in reports]
    if rows != expected:
        sys.exit("the rows are not those of the CPU")
    if retries[0] == 0 or any(retries[1:]):
        sys.exit(f"launches after an overflow, by execution: {retries}; expected some, 0, 0")
    print("launches after an overflow, by execution:", retries)


if __name__ == "__main__":
    main()
