#!/usr/bin/env python3
"""Plans of Substrait that other producers wrote (plans/: Ibis and DuckDB, with the commands that made them) give the rows that
DuckDB has for the same queries as text.

Usage: stored.py --heddle BIN [--sf F]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tpch" / "compare" / "lib")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--sf", default="0.01")
    args = parser.parse_args()
    args.heddle = os.path.abspath(args.heddle)
    try:
        import duckdb  # noqa: F401
        import queries
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    failed, paths = 0, sorted(HERE.glob("plans/*/*.pb"))
    with tempfile.TemporaryDirectory(prefix="heddle-stored-") as scratch:
        connection, _, _ = queries.tpch(args, scratch)
        for path in paths:
            done = subprocess.run([args.heddle, "run", str(path), "--db", f"{scratch}/db", "--backend", "cpu", "--format", "csv"],
                                  capture_output=True, text=True, check=False)
            sql = path.with_suffix(".sql").read_text(encoding="utf-8")
            want = [tuple(map(queries.text, row)) for row in connection.execute(sql).fetchall()]
            wrong = done.stderr.strip() if done.returncode else queries.difference(queries.read_csv(done.stdout), want)
            if wrong or not want:
                failed += 1
                print(f"FAIL {path.parent.name}/{path.stem}: {wrong or 'no rows'}")
    print(f"{len(paths) - failed} of {len(paths)} plans of other producers give DuckDB's rows")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
