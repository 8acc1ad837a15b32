#!/usr/bin/env python3
"""A state that overflows does so once: the next execution of the statement begins with the room that was needed, and so
does the next statement with that plan.

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


def launched_again(report):
    return sum(p["gpu"]["retries"] for p in report["pipelines"])


def bench(args, folder):
    """The same by a suite of this plan: a statement of its own for each execution."""
    (folder / "suite.json").write_text(json.dumps({
        "name": "room", "title": "Room", "queries": [{"name": "q1", "plan": "plan.json", "title": "rows", "order": []}],
        "classes": {"only": "only.json"}, "default_class": "only", "scale": {"table": "region", "rows": 5}}))
    (folder / "only.json").write_text("{}")
    done = subprocess.run([args.heddle, "bench", folder, "--db", args.db, "--backend", "cuda", "--memory", "64M",
                           "--repeat", "3", "--out", folder / "out.json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [launched_again(r) for r in json.loads((folder / "out.json").read_text())["queries"][0]["runs"]]


def check_once(retries):
    if retries[0] == 0 or any(retries[1:]):
        sys.exit(f"launches after an overflow: {retries}; expected some, 0, 0")


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
        retries = [launched_again(report) for report in reports]
        statements = bench(args, Path(folder))
    if rows != expected:
        sys.exit("the rows are not those of the CPU")
    check_once(retries)
    check_once(statements)
    print("launches after an overflow, by execution:", retries, "and by statement:", statements)


if __name__ == "__main__":
    main()
