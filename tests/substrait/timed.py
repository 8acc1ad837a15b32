#!/usr/bin/env python3
"""Times of TPC-H's, JCC-H's and TPC-DS's queries from SQL (DataFusion, Substrait, Heddle) beside DuckDB's, hot, in turns; and beside those
of the plans by hand, which the suites TPC-H and JCC-H have.

Usage: timed.py --heddle BIN --suite tpch|jcch|tpcds --keep DIR [--sf F] [--threads N] [--repeat N] [--queries LIST] [--backend cpu|cuda]

Data are made in DIR, once. Rows are compared, too. A row per query: milliseconds of Heddle's fastest execution, of DuckDB's, of
the plan by hand, and the ratios.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import producer
import queries as suites


CLASSES = {"tpch": "validation", "jcch": "skewed"}  # of the parameters


def heddle_ms(command, *more):
    done = subprocess.run([*command, *more, "--time", "--format", "csv"], capture_output=True, text=True, check=True)
    return min(json.loads(line)["execute_ms"] for line in done.stderr.splitlines() if line.startswith("{"))


def duckdb_ms(connection, sql):
    begin = time.perf_counter()
    connection.execute(sql).fetchall()
    return (time.perf_counter() - begin) * 1e3


def by_hand(args, name):
    """The suite's plan with the same parameters, or None."""
    if args.suite not in CLASSES:
        return None
    out = Path(args.keep) / "by_hand.json"
    subprocess.run([args.heddle, "bench", args.suite, "--db", f"{args.keep}/db", "--queries", name, "--class", CLASSES[args.suite], "--backend", args.backend,
                    "--threads", args.threads, "--repeat", args.repeat, "--out", str(out)], check=False, stdout=subprocess.DEVNULL)
    return min(r["execute_ms"] for r in json.loads(out.read_text(encoding="utf-8"))["queries"][0]["runs"])


def measure(args, ctx, connection, name, sql):
    why, _ = suites.one(args, ctx, connection, args.keep, name, sql)
    if why:
        print(f"{name}: {why}", flush=True)
        return None
    command = [args.heddle, "run", f"{args.keep}/{name}.pb", "--db", f"{args.keep}/db", "--backend", args.backend, "--threads", args.threads]
    ours, theirs, hand = [], [], []
    for _ in range(2):
        ours.append(heddle_ms(command, "--repeat", args.repeat))
        theirs += [duckdb_ms(connection, sql) for _ in range(int(args.repeat))]
        hand.append(by_hand(args, name))
    times = min(ours), min(theirs), min(h for h in hand) if hand[0] else None
    print(f"{name} {times[0]:9.2f} {times[1]:9.2f} {times[0] / times[1]:6.2f}" +
          (f" {times[2]:9.2f} {times[0] / times[2]:6.2f}" if times[2] else ""), flush=True)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("heddle", None), ("keep", None), ("sf", "1"), ("threads", "2"), ("repeat", "3"), ("queries", ""), ("backend", "cpu")):
        parser.add_argument(f"--{name}", default=default, required=default is None)
    parser.add_argument("--suite", required=True, choices=("tpch", "jcch", "tpcds"))
    args = parser.parse_args()
    args.json = False
    Path(args.keep).mkdir(exist_ok=True)
    connection, tables, texts = {"tpch": suites.tpch, "jcch": suites.jcch, "tpcds": suites.tpcds}[args.suite](args, args.keep)
    connection.execute(f"set threads = {int(args.threads)}")
    ctx = producer.context(tables)
    names = args.queries.split(",") if args.queries else list(texts)
    print("query   heddle ms  duckdb ms  ratio" + ("   hand ms  ratio" if args.suite in CLASSES else ""))
    got = [t for t in (measure(args, ctx, connection, n, texts[n]) for n in names) if t]
    sums = [sum(t[i] for t in got) if got and got[0][i] else None for i in range(3)]
    print(f"{len(got)} of {len(names)}: {sums[0]:.1f} {sums[1]:.1f} {sums[0] / sums[1]:.3f}" +
          (f" {sums[2]:.1f} {sums[0] / sums[2]:.3f}" if sums[2] else ""))
    return 0 if len(got) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
