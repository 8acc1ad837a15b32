#!/usr/bin/env python3
"""Makes a TPC-DS database: the data by DuckDB's extension, loaded by Heddle with the keys of schema.json.

Usage: make.py --sf F --out DB [--heddle BIN] [--duckdb FILE] [--threads N]

The DuckDB file, if one is named, is used as it is, or made and kept. Text files of about the size of the
database, and the DuckDB file if it is not kept, lie in a temporary folder (TMPDIR) meanwhile.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import data


def main():
    parser = argparse.ArgumentParser(description="Makes a TPC-DS database.")
    parser.add_argument("--sf", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--heddle", default="heddle")
    parser.add_argument("--duckdb", type=Path)
    parser.add_argument("--threads", type=int)
    args = parser.parse_args()
    if data.why_not():
        print(f"make.py: {data.why_not()}", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory(prefix="heddle-tpcds-") as scratch:
        text = Path(scratch) / "csv"
        text.mkdir()
        with data.database(args.duckdb or Path(scratch) / "tpcds.duckdb", args.sf, args.threads) as connection:
            data.export(connection, text)
        load = [args.heddle, "load", "--schema", str(data.HERE / "schema.json"), "--from", str(text), "--out", args.out]
        return subprocess.run(load + (["--threads", str(args.threads)] if args.threads else []), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
