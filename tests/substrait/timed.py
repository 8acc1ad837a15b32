#!/usr/bin/env python3
"""Times of TPC-H's, JCC-H's and TPC-DS's queries from SQL (DataFusion, Substrait, Heddle) beside DuckDB's, hot, in turns; and beside those
of the plans by hand, which the suites TPC-H and JCC-H have.

Usage: timed.py --heddle BIN --suite tpch|jcch|tpcds --keep DIR [--sf F] [--threads N] [--repeat N] [--queries LIST] [--backend cpu|cuda] [--user]

Data are made in DIR, once. Rows are compared, too. A row per query: milliseconds of Heddle's fastest execution, of DuckDB's, of
the plan by hand, and the ratios. With --user, for a machine that does other things as well: user time of an execution, which is
that of --repeat of them less that of one, by their number.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import producer
import queries
import suite as suites

ROOT = Path(__file__).resolve().parents[2]

CLASSES = {"tpch": "validation", "jcch": "skewed"}  # of the parameters


def user_of(who):
    return resource.getrusage(who).ru_utime * 1e3


def run(command):
    """Milliseconds of each execution, and the process's user time."""
    begin = user_of(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, "--time", "--format", "csv"], capture_output=True, text=True, check=True)
    times = [json.loads(line)["execute_ms"] for line in done.stderr.splitlines() if line.startswith("{")]
    return times, user_of(resource.RUSAGE_CHILDREN) - begin


def heddle_ms(args, command):
    if not args.user:
        return min(run([*command, "--repeat", args.repeat])[0])
    count = max(3, min(100, int(300 / min(run([*command, "--repeat", "3"])[0]))))
    one, all_of_them = (min(run([*command, "--repeat", str(n)])[1] for _ in range(2)) for n in (1, count))
    return max(0.01, (all_of_them - one) / (count - 1))


def duckdb_ms(args, connection, sql):
    begin = user_of(resource.RUSAGE_SELF) if args.user else time.perf_counter() * 1e3
    connection.execute(sql).fetchall()
    return (user_of(resource.RUSAGE_SELF) if args.user else time.perf_counter() * 1e3) - begin


def by_hand(args, name, command):
    """The suite's plan with the same parameters, or None."""
    if args.suite not in CLASSES:
        return None
    suite = suites.Suite(ROOT / args.suite)
    values = Path(args.keep) / "by_hand.json"
    values.write_text(json.dumps(suite.parameters(CLASSES[args.suite], args.sf).get(name, {})), encoding="utf-8")
    return heddle_ms(args, [*command[:2], str(suite.plan_path(name)), *command[3:], "--param", f"@{values}"])


def measure(args, ctx, connection, name, sql):
    why, _ = queries.one(args, ctx, connection, args.keep, name, sql)
    if why:
        print(f"{name}: {why}", flush=True)
        return None
    command = [args.heddle, "run", f"{args.keep}/{name}.pb", "--db", f"{args.keep}/db", "--backend", args.backend, "--threads", args.threads,
               "--tier", "optimised"]
    ours, theirs, hand = [], [], []
    for _ in range(2):
        ours.append(heddle_ms(args, command))
        theirs += [duckdb_ms(args, connection, sql) for _ in range(int(args.repeat))]
        hand.append(by_hand(args, name, command))
    times = min(ours), min(theirs), min(hand) if hand[0] is not None else None
    print(f"{name} {times[0]:9.2f} {times[1]:9.2f} {times[0] / times[1]:6.2f}" +
          (f" {times[2]:9.2f} {times[0] / times[2]:6.2f}" if times[2] else ""), flush=True)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("heddle", None), ("keep", None), ("sf", "1"), ("threads", "2"), ("repeat", "3"), ("queries", ""), ("backend", "cpu")):
        parser.add_argument(f"--{name}", default=default, required=default is None)
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--suite", required=True, choices=("tpch", "jcch", "tpcds"))
    args = parser.parse_args()
    args.json = False
    Path(args.keep).mkdir(exist_ok=True)
    connection, tables, texts = {"tpch": queries.tpch, "jcch": queries.jcch, "tpcds": queries.tpcds}[args.suite](args, args.keep)
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
