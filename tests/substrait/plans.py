#!/usr/bin/env python3
"""Writes the queries of a suite as Substrait's binary plans, by DataFusion, for machines that have no DataFusion.

Usage: plans.py --out DIR [--suite tpcds]
       plans.py --out DIR --suite tpch|jcch --db DB [--sf F]

DIR/qNN.pb for each query. TPC-DS: from the texts of DuckDB's extension and the types of tpcds/schema.json. TPC-H and JCC-H (skewed):
with the parameters of scale factor F (default 1) in the texts, and DIR/qNN.json, which has them for the plans by hand; the
types are those of the database DB, of any scale factor.
"""

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "substrait"), str(ROOT / "tpcds"), str(ROOT / "tpch" / "compare" / "lib")]

import producer  # noqa: E402

CLASSES = {"tpch": "validation", "jcch": "skewed"}  # of the parameters


def tpcds():
    """Tables, {name: (text, parameters)}; or what is missing."""
    import data
    if why := data.why_not():
        return why, {}
    with data.connect() as connection:
        texts = connection.execute("select query_nr, query from tpcds_queries() order by query_nr").fetchall()
    tables = json.loads((data.HERE / "schema.json").read_text(encoding="utf-8"))["tables"]
    return tables, {f"q{n:02}": (sql, None) for n, sql in texts}


def generated(name, db, sf):
    import suite as suites
    suite = suites.Suite(ROOT / name)
    values = suite.parameters(CLASSES[name], sf)
    folders = ROOT / name / "sql", suites.SQL
    tables = json.loads((Path(db) / "catalog.json").read_text(encoding="utf-8"))["tables"]
    return tables, {q: (suite.sql(q, values.get(q, {}), folders), values.get(q, {})) for q in suite.queries}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--suite", default="tpcds", choices=("tpcds", *CLASSES))
    parser.add_argument("--db")
    parser.add_argument("--sf", default="1")
    args = parser.parse_args()
    if args.suite in CLASSES and not args.db:
        parser.error(f"--suite {args.suite} needs --db")
    if why := producer.why_not():
        print(f"plans.py: {why}", file=sys.stderr)
        return 77
    tables, texts = tpcds() if args.suite == "tpcds" else generated(args.suite, args.db, args.sf)
    if isinstance(tables, str):
        print(f"plans.py: {tables}", file=sys.stderr)
        return 77
    args.out.mkdir(parents=True, exist_ok=True)
    ctx = producer.context(tables)
    for name, (sql, values) in texts.items():
        (args.out / f"{name}.pb").write_bytes(producer.plan(ctx, sql.strip().rstrip(";")).encode())
        if values is not None:
            (args.out / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
