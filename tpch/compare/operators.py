#!/usr/bin/env python3
"""Compares single operators of Heddle and DuckDB: same data, same number of threads, hot, in turns, rows checked.

Usage: operators.py --heddle BIN [--sf F] [--db DB] [--duckdb FILE] [--threads N] [--only PREFIX,...] [--rounds N]
                    [--repeat N] [--backend cpu|cuda] [--out FILE.json]

Each operator is a pair of files over TPC-H's tables, operators/NAME.json and NAME.sql. A round runs every pair first
with Heddle, then with DuckDB, --repeat times each after one run that is not counted. Times are medians in ms: Heddle's
from the first morsel to the last, DuckDB's of the whole statement with its result. The exit status is 1 if rows differ.
What does not exist is made: DB by `heddle gen tpch`, FILE from `heddle gen tpch --tbl`.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "lib"))

import needs  # noqa: E402
import suite as suites  # noqa: E402

# Which rows come is free.
ANY_ROWS = {"limit_join"}
# Both engines estimate; of DuckDB's 64 registers the error has a standard deviation of 13 %.
ESTIMATES = ("approx_",)
ESTIMATE_REACH = 0.4


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--sf", default="1")
    parser.add_argument("--db", type=Path)
    parser.add_argument("--duckdb", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="names that begin with one of these")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def connect(args, scratch):
    """DuckDB's connection; this folder has a duckdb.py that is not the package."""
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != HERE]
    import duckdb
    path = args.duckdb or scratch / "tpch.duckdb"
    if not path.exists():
        text = scratch / "tbl"
        text.mkdir()
        subprocess.run([args.heddle, "gen", "tpch", "--sf", args.sf, "--tbl", str(text)], check=True)
        with duckdb.connect(str(path)) as connection:
            suites.load_duckdb(connection, text)
    return duckdb.connect(str(path), read_only=True, config={"threads": args.threads})


def heddle(args, db, name):
    """(times, rows)"""
    command = [args.heddle, "run", str(HERE / "operators" / f"{name}.json"), "--db", str(db), "--backend", args.backend,
               "--threads", str(args.threads), "--time", "--format", "csv", "--repeat", str(args.repeat + 1)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip()}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return [r["execute_ms"] for r in reports[1:]], list(csv.reader(done.stdout.splitlines()))[1:]


def duckdb_runs(args, connection, name):
    sql = (HERE / "operators" / f"{name}.sql").read_text()
    times = []
    for _ in range(args.repeat + 1):
        start = time.perf_counter()
        rows = connection.execute(sql).fetchall()
        times.append((time.perf_counter() - start) * 1e3)
    return times[1:], rows


def cell(value):
    """Numbers as far as both engines compute them: DuckDB's averages and quotients are float64."""
    if value is None:
        return ""
    try:
        return f"{float(value):.9g}"
    except (TypeError, ValueError):
        return str(value)


def close(a, b):
    """Cells of estimates."""
    try:
        return abs(float(a) - float(b)) <= ESTIMATE_REACH * max(abs(float(a)), abs(float(b)))
    except ValueError:
        return a == b


def same(name, mine, theirs):
    if name in ANY_ROWS:
        return len(mine) == len(theirs)
    if name.startswith(ESTIMATES):
        rows = [sorted([cell(v) for v in r] for r in side) for side in (mine, theirs)]
        return len(mine) == len(theirs) and all(close(a, b) for m, t in zip(*rows) for a, b in zip(m, t))
    return Counter(tuple(map(cell, r)) for r in mine) == Counter(tuple(map(cell, r)) for r in theirs)


def chosen(only):
    names = sorted(p.stem for p in (HERE / "operators").glob("*.json"))
    prefixes = tuple(w for w in only.split(",") if w)
    names = [n for n in names if not prefixes or n.startswith(prefixes)]
    if not names:
        raise SystemExit(f"no such operator: {only}")
    return names


def main():
    args = parse_args()
    needs.require("operators.py", "duckdb")
    names = chosen(args.only)
    times = {n: ([], []) for n in names}
    wrong = set()
    with tempfile.TemporaryDirectory(prefix="heddle-operators-") as scratch:
        db = args.db or Path(scratch) / "tpch"
        if not db.exists():
            subprocess.run([args.heddle, "gen", "tpch", "--sf", args.sf, "--out", str(db)], check=True)
        connection = connect(args, Path(scratch))
        for _ in range(args.rounds):
            for name in names:
                mine, rows = heddle(args, db, name)
                theirs, expected = duckdb_runs(args, connection, name)
                times[name][0].extend(mine)
                times[name][1].extend(theirs)
                if not same(name, rows, expected):
                    wrong.add(name)
    found = {n: [statistics.median(t) for t in both] for n, both in times.items()}
    print(f"{'operator':28} {'heddle':>9} {'duckdb':>9} {'ratio':>7}")
    for name, (mine, theirs) in found.items():
        print(f"{name:28} {mine:9.2f} {theirs:9.2f} {mine / theirs:7.2f}{'  ROWS DIFFER' if name in wrong else ''}")
    if args.out:
        args.out.write_text(json.dumps({n: {"heddle_ms": m, "duckdb_ms": d, "ratio": m / d} for n, (m, d) in found.items()},
                                       indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
