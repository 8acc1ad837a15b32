#!/usr/bin/env python3
"""The plans of the suite tpcds against DuckDB's own texts of the queries, on data made for the test.

Usage: run.py --heddle BIN [--sf F] [--backend cpu|cuda] [--threads N,N...] [--queries LIST]
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tpcds"), str(ROOT / "tpch" / "compare" / "lib")]

import data  # noqa: E402
import recompute  # noqa: E402
import suite as suites  # noqa: E402


def rows(text):
    return Counter(tuple(c.rstrip(" ") for c in row) for row in csv.reader(text.splitlines()))


def check(args, suite, db, connection, name):
    """What is wrong, or None."""
    want = rows(recompute.answer(connection, name))
    for threads in args.threads:
        done = subprocess.run([args.heddle, "run", str(suite.plan_path(name)), "--db", db, "--backend", args.backend, "--format",
                               "csv", "--threads", str(threads)], capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip()
        found = rows(done.stdout)
        if found != want:
            return f"{threads} threads: {list((found - want).items())[:2]} in place of {list((want - found).items())[:2]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--sf", default="0.1")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 3])
    parser.add_argument("--queries", default="")
    args = parser.parse_args()
    if data.why_not():
        print(f"skipped: {data.why_not()}")
        return 77
    suite, wrong, some = suites.Suite(data.HERE), 0, 0
    with tempfile.TemporaryDirectory(prefix="heddle-tpcds-") as scratch:
        os.environ.setdefault("HEDDLE_CACHE", f"{scratch}/cache")
        made = [sys.executable, str(data.HERE / "make.py"), "--sf", args.sf, "--out", f"{scratch}/db", "--heddle", args.heddle,
                "--duckdb", f"{scratch}/tpcds.duckdb"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        with data.database(f"{scratch}/tpcds.duckdb", args.sf) as connection:
            names = suite.select(args.queries)
            for name in names:
                why = check(args, suite, f"{scratch}/db", connection, name)
                wrong += why is not None
                some += sum(rows(recompute.answer(connection, name)).values()) > 1
                if why:
                    print(f"{name}: {why}")
    print(f"{len(names)} queries, {some} with rows, {wrong} wrong")
    return 1 if wrong or not some else 0


if __name__ == "__main__":
    sys.exit(main())
