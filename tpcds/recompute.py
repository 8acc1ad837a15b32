#!/usr/bin/env python3
"""Computes the answers of the suite anew, with DuckDB and its texts of the queries.

Usage: recompute.py --sf F [--check] [--queries LIST] [--duckdb FILE] [--threads N]

Averages and quotients are exact, rounded half away from zero to six decimals as Heddle's results are; rows that
a query's order leaves equal are ordered by all columns, as docs/plan.md says. With --check the answers are
compared with those in the tree, and the exit status is 1 if one differs.
"""

import argparse
import io
import sys
import tempfile
from pathlib import Path

import data

sys.path.insert(0, str(data.HERE.parent / "tpch" / "compare" / "lib"))

import answers  # noqa: E402
import suite as suites  # noqa: E402


def answer(connection, name):
    names, sql = data.query(connection, name)
    rows = connection.execute(sql).fetchall()
    out = io.StringIO()
    for row in [names, *rows]:
        out.write(",".join(map(answers.text_of, row)) + "\n")
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser(description="Computes the answers of TPC-DS anew, with DuckDB.")
    parser.add_argument("--sf", required=True)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--queries", default="")
    parser.add_argument("--duckdb", type=Path)
    parser.add_argument("--threads", type=int)
    args = parser.parse_args()
    if data.why_not():
        print(f"recompute.py: {data.why_not()}", file=sys.stderr)
        return 77
    suite = suites.Suite(data.HERE)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="heddle-answers-") as scratch:
        with data.database(args.duckdb or Path(scratch) / "tpcds.duckdb", args.sf, args.threads) as connection:
            chosen = suite.select(args.queries)
            for name in chosen:
                path = suite.answer_path(name, "qualification", args.sf)
                text = answer(connection, name)
                wrong += not answers.settle(path, text, args.check, suite.folder)
    print(f"{len(chosen)} answers, {wrong} wrong" if args.check else f"{len(chosen)} answers written")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
