#!/usr/bin/env python3
"""A suite's plans mean what its queries ask, skew or not: both run on DuckDB and must agree.

Usage: check_plans.py [--suite jcch|ssb] [--sf F] [--queries 1,5-9] [--class C,C...] --dump TG_DUMP | --duckdb FILE

A plan is translated operator by operator (tests/oracle), without Heddle. The query is the benchmark's own text in
exact decimals. Where JCC-H has a plan of its own, TPC-H's plan is compared too. Data comes from the
generator (TG_DUMP) or from FILE. Exit status 77 without the duckdb module.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for folder in ("tpch/compare/lib", "tests/tpch", "tests/oracle"):
    sys.path.insert(0, str(ROOT / folder))

try:
    import duckdb
except ImportError:
    print("skipped: no duckdb module")
    sys.exit(77)

import check  # noqa: E402
import results  # noqa: E402
import suite as suites  # noqa: E402
from plan_sql import Oracle  # noqa: E402

EXACT = ROOT / "tests" / "tpch" / "exact"
SCHEME = {"jcch": "-k", "ssb": "-b"}  # as TG_DUMP calls it


def words(text):
    return [w for w in text.split(",") if w]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", choices=("jcch", "ssb"), default="jcch")
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--queries", default="")
    parser.add_argument("--class", dest="classes", type=words)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dump")
    source.add_argument("--duckdb")
    return parser.parse_args()


def open_database(args, suite):
    if args.duckdb:
        return duckdb.connect(args.duckdb, read_only=True)
    connection = duckdb.connect()
    with tempfile.TemporaryDirectory(prefix="heddle-jcch-") as folder:
        subprocess.run([args.dump, SCHEME[args.suite], "-s", args.sf, "-t", "1", folder], check=True)
        suites.load_duckdb(connection, folder, suite.tables())
    return connection


def plan_rows(oracle, path, values):
    columns, rows = oracle.run(json.loads(path.read_text()), values)
    return ([name for name, _ in columns],
            [["" if v is None else results.value_text(v) for v in row] for row in rows])


def compare(connection, oracle, query, sql, path, values):
    cursor = connection.execute(re.sub(r"\nlimit \d+\s*\Z", "", sql))
    names, expected = [d[0] for d in cursor.description], cursor.fetchall()
    return check.differences(names, expected, *plan_rows(oracle, path, values),
                             order=query["order"], limit=query.get("limit"))


def main():
    args = parse_args()
    suite = suites.Suite(ROOT / args.suite)
    alike = (suite, suites.Suite()) if args.suite == "jcch" else (suite,)
    connection = open_database(args, suite)
    connection.execute("set threads = 1")
    oracle = Oracle(connection)
    wrong = count = 0
    for cls in args.classes or suite.classes():
        values = suite.parameters(cls, args.sf)
        for name in suite.select(args.queries):
            sql = suite.sql(name, values[name], (EXACT, suite.own_sql()))
            for path in sorted({s.plan_path(name).resolve() for s in alike}):
                problem = compare(connection, oracle, suite.queries[name], sql, path, values[name])
                if problem:
                    print(f"{path.relative_to(ROOT)}, class {cls}: {problem}")
                wrong += problem is not None
                count += 1
    print(f"{count} plans compared, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
