#!/usr/bin/env python3
"""The queries of TPC-H, JCC-H and TPC-DS, and those of forms.sql, from SQL: planned by DataFusion, run from Substrait, compared with DuckDB's rows.

Usage: queries.py --heddle BIN --suite tpch|jcch|tpcds|forms [--sf F] [--queries LIST] [--json] [--keep DIR]

With --json plans go through Substrait's JSON form, else the binary one. Numbers are equal within what the standard leaves
free: digits of quotients and averages (docs/substrait.md).
"""

import argparse
import csv
import decimal
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "substrait"), str(ROOT / "tpcds"), str(ROOT / "tpch" / "compare" / "lib")]

import producer  # noqa: E402

ABSOLUTE, RELATIVE = decimal.Decimal("0.0001"), decimal.Decimal("0.000001")

# ---- rows ----

def number(text):
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None


def equal(a, b):
    if a == b:
        return True
    x, y = number(a), number(b)
    if x is None or y is None or not x.is_finite() or not y.is_finite():
        return False
    return abs(x - y) <= max(ABSOLUTE, RELATIVE * max(abs(x), abs(y)))


def order(row):
    """Texts first: numbers may differ in their last digits."""
    parts = [(number(c), c) for c in row]
    return [c for x, c in parts if x is None], [float(x) for x, _ in parts if x is not None]


def difference(found, want):
    """What is wrong, or None."""
    if len(found) != len(want):
        return f"{len(found)} rows in place of {len(want)}"
    for a, b in zip(sorted(found, key=order), sorted(want, key=order)):
        if len(a) != len(b) or not all(map(equal, a, b)):
            return f"{a} in place of {b}"
    return None


def text(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return (f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)).rstrip(" ")


def read_csv(out):
    """NULL alone in a row is an empty line."""
    return [tuple(c.rstrip(" ") for c in row or [""]) for row in csv.reader(out.splitlines())][1:]


# ---- suites: a Heddle database, a DuckDB connection, tables, queries ----

def tpcds(args, scratch):
    import data
    if data.why_not():
        return data.why_not()
    made = [sys.executable, str(data.HERE / "make.py"), "--sf", args.sf, "--out", f"{scratch}/db", "--heddle", args.heddle,
            "--duckdb", f"{scratch}/tpcds.duckdb"]
    if not os.path.exists(f"{scratch}/db"):
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    connection = data.database(f"{scratch}/tpcds.duckdb", args.sf)
    texts = connection.execute("select query_nr, query from tpcds_queries() order by query_nr").fetchall()
    tables = json.loads((data.HERE / "schema.json").read_text(encoding="utf-8"))["tables"]
    return connection, tables, {f"q{n:02}": sql.rstrip().rstrip(";") for n, sql in texts}


def generated(args, scratch, name, parameters):
    """A suite whose data Heddle generates, with a class of parameters."""
    import duckdb
    import suite as suites
    if not os.path.exists(f"{scratch}/db"):
        for what in (["--out", f"{scratch}/db"], ["--tbl", f"{scratch}/tbl"]):
            subprocess.run([args.heddle, "gen", name, "--sf", args.sf, *what], check=True, stdout=subprocess.DEVNULL)
    connection = duckdb.connect()
    suites.load_duckdb(connection, f"{scratch}/tbl")
    tables = json.loads(Path(f"{scratch}/db/catalog.json").read_text(encoding="utf-8"))["tables"]
    suite = suites.Suite(ROOT / name)
    values = suite.parameters(parameters, args.sf)
    folders = ROOT / name / "sql", suites.SQL
    return connection, tables, {q: suite.sql(q, values.get(q, {}), folders).strip().rstrip(";") for q in suite.queries}


def tpch(args, scratch):
    return generated(args, scratch, "tpch", "validation")


def jcch(args, scratch):
    return generated(args, scratch, "jcch", "skewed")


def forms(args, scratch):
    made = tpch(args, scratch)
    text = re.sub(r"(?m)^--.*\n", "", (ROOT / "tests" / "substrait" / "forms.sql").read_text(encoding="utf-8"))
    return *made[:2], {f"f{i:02}": sql.strip() for i, sql in enumerate(text.split(";\n")) if sql.strip()}


# ---- the test ----

def one(args, ctx, connection, scratch, name, sql):
    """What is wrong, or None; how many rows there are."""
    try:
        plan = producer.plan(ctx, sql)
    except Exception as error:  # whatever DataFusion has to say
        return f"DataFusion: {str(error)[:200]}", 0
    path = Path(scratch) / f"{name}.{'substrait.json' if args.json else 'pb'}"
    path.write_bytes(plan.to_json().encode() if args.json else plan.encode())
    done = subprocess.run([args.heddle, "run", str(path), "--db", f"{scratch}/db", "--backend", "cpu", "--format", "csv"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip(), 0
    want = [tuple(map(text, row)) for row in connection.execute(sql).fetchall()]
    return difference(read_csv(done.stdout), want), len(want)


def run(args, scratch):
    made = {"tpch": tpch, "jcch": jcch, "tpcds": tpcds, "forms": forms}[args.suite](args, scratch)
    if isinstance(made, str):
        print(f"skipped: {made}")
        return 77
    connection, tables, queries = made
    ctx, wrong, some = producer.context(tables), 0, 0
    names = args.queries.split(",") if args.queries else list(queries)
    for name in names:
        why, rows = one(args, ctx, connection, scratch, name, queries[name])
        some += rows > 1
        if why:
            wrong += 1
            print(f"{name}: {why}", flush=True)
    print(f"{len(names)} queries, {some} with rows, {wrong} wrong")
    return 1 if wrong or not some else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--suite", required=True, choices=("tpch", "jcch", "tpcds", "forms"))
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--queries", default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", help="a folder for data and plans, used again")
    args = parser.parse_args()
    if producer.why_not():
        print(f"skipped: {producer.why_not()}")
        return 77
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
        return run(args, args.keep)
    with tempfile.TemporaryDirectory(prefix="heddle-substrait-") as scratch:
        os.environ.setdefault("HEDDLE_CACHE", f"{scratch}/cache")
        return run(args, scratch)


if __name__ == "__main__":
    sys.exit(main())
