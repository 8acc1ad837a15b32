#!/usr/bin/env python3
"""Writes the queries of TPC-DS as Substrait's binary plans, by DataFusion, for machines that have no DataFusion.

Usage: plans.py --out DIR

DIR/qNN.pb for each of the 99 queries, from the texts of DuckDB's extension and the types of tpcds/schema.json.
"""

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "substrait"), str(ROOT / "tpcds")]

import data  # noqa: E402
import producer  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, type=Path)
    args = parser.parse_args()
    if why := producer.why_not() or data.why_not():
        print(f"plans.py: {why}", file=sys.stderr)
        return 77
    args.out.mkdir(parents=True, exist_ok=True)
    ctx = producer.context(json.loads((data.HERE / "schema.json").read_text(encoding="utf-8"))["tables"])
    with data.connect() as connection:
        for number, sql in connection.execute("select query_nr, query from tpcds_queries() order by query_nr").fetchall():
            (args.out / f"q{number:02}.pb").write_bytes(producer.plan(ctx, sql.rstrip().rstrip(";")).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
