#!/usr/bin/env python3
"""Where the time from SQL to a plan goes: medians over the queries of TPC-H and TPC-DS, in milliseconds of one thread.

Usage: PYTHONPATH=python build/venv/bin/python tests/substrait/planning.py --suite tpch|tpcds --db DB [--rounds N] [--each]

Stages: DataFusion's reading of the query, its optimiser, its writing of Substrait; what the package does around these; Substrait
to a typed plan (heddle_statement_prepare_plan); typed plan to pipelines. The fastest of each query's rounds
counts, with every context warm and nothing kept from the round before. `again` is a query that was planned before.
"""

import argparse
import gc
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "substrait"), str(ROOT / "tpcds"), str(ROOT / "tpch" / "compare" / "lib")]

import heddle  # noqa: E402
from heddle import _sql  # noqa: E402

STAGES = ("read", "optimise", "write", "package", "typed", "plan", "sum", "again")


def tpch(_):
    import suite as suites
    suite = suites.Suite(ROOT / "tpch")
    values = suite.parameters("validation", "1")
    return {q: suite.sql(q, values.get(q, {}), (ROOT / "tpch" / "sql", suites.SQL)).strip().rstrip(";") for q in suite.queries}


def tpcds(_):
    import data
    with data.connect() as connection:
        rows = connection.execute("select query_nr, query from tpcds_queries() order by query_nr").fetchall()
    return {f"q{n:02}": sql.rstrip().rstrip(";") for n, sql in rows}


class Clock:
    """Milliseconds since the last look."""

    def __init__(self):
        self.last = time.perf_counter()

    def __call__(self):
        was, self.last = self.last, time.perf_counter()
        return (self.last - was) * 1e3


def stages(con, planner, sql):
    """Milliseconds of each stage, once."""
    clock, got = Clock(), {}
    frame = planner._plain.sql_with_options(sql, planner._allowed)
    got["read"] = clock()
    optimized = frame.optimized_logical_plan()
    got["optimise"] = clock()
    planner._df.substrait.Producer.to_substrait_plan(optimized, planner._plain).encode()
    got["write"] = clock()
    printed = optimized.display_indent()
    _sql.number_parameters(sql)
    _sql.lost_null(frame.logical_plan().display_indent(), printed)
    _sql.has_lost(printed)
    got["package"] = clock()
    plan, _ = planner.plan(sql)
    clock()
    planner.plan(sql)
    got["again"] = clock()
    statement = con.prepare(plan)
    got["typed"] = clock()
    got["plan"] = statement.run().profile.report["plan_ms"]  # with the reading of Substrait
    statement.close()
    return got


def finish(got):
    got["plan"] = max(0.0, got["plan"] - got["typed"])
    got["sum"] = sum(got[s] for s in STAGES[:6])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", required=True, choices=("tpch", "tpcds"))
    parser.add_argument("--db", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--each", action="store_true")
    args = parser.parse_args()
    con = heddle.connect(args.db, backend="cpu", threads=1)
    queries = {"tpch": tpch, "tpcds": tpcds}[args.suite](args)
    planner = con._planner()
    planner.plan("select 1 as one")
    best = {}
    gc.disable()
    for _ in range(args.rounds):
        for name, sql in queries.items():
            got = stages(con, planner, sql)
            best[name] = {s: min(got[s], best[name][s]) for s in got} if name in best else got
    for got in best.values():
        finish(got)
    print("query " + " ".join(f"{s:>9}" for s in STAGES))
    for name in best if args.each else ():
        print(f"{name:5} " + " ".join(f"{best[name][s]:9.3f}" for s in STAGES))
    for what, of in (("median", statistics.median), ("largest", max)):
        print(f"{what:7}" + " ".join(f"{of([b[s] for b in best.values()]):8.3f} " for s in STAGES))


if __name__ == "__main__":
    main()
