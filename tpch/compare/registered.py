#!/usr/bin/env python3
"""Compares TPC-H over tables in memory (Arrow) that have no facts, facts when plans gain, or all facts from the start, and
over the stored database: same data, same plans, same number of threads, in turns.

Usage: registered.py --db DB [--threads N] [--rounds N] [--queries 1,5-9] [--alone] [--backend cpu|cuda]
                     [--out FILE.json]

DB is a database of `heddle gen tpch`. Its tables are read into tables of pyarrow of one batch each, which are registered
without a copy of numbers. Times in ms, medians over rounds:
  register  all tables, facts=True reads all columns
  facts     computing facts before the first execution of a query, after the queries before it; with --alone on tables that
            were registered just before
  first     facts and the first execution in optimised code; without the compiler, whose time depends on its cache
  execute   a further execution
Environment: HEDDLE_LIBRARY names the library, PYTHONPATH the folder python/ of the tree.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import heddle

PLANS = Path(__file__).resolve().parents[1] / "plans"
MODES = {"never": False, "lazy": None, "now": True}


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--db", required=True)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--queries", default="1-22")
    p.add_argument("--alone", action="store_true", help="the first execution of each query on tables of its own")
    p.add_argument("--backend", default="cpu")
    p.add_argument("--out")
    return p.parse_args()


def numbers(text):
    for part in text.split(","):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)


def read_tables(db):
    """One thread leaves the rows in the order of the tables."""
    stored = heddle.connect(db, threads=1, backend="cpu")
    return {t: stored.run({"heddle": 1, "root": {"op": "scan", "table": t}}).arrow().combine_chunks()
            for t in stored.tables()}


def register(tables, facts, a):
    """A connection to the tables, and how long that took."""
    con = heddle.connect(threads=a.threads, backend=a.backend)
    begin = time.perf_counter()
    for name, table in tables.items():
        con.register(name, table, facts=facts)
    return con, (time.perf_counter() - begin) * 1e3


def times_of(statement):
    return statement.run().profile.times


def first(con, plan):
    """Times of facts and of an execution in optimised code, which a statement before it has left in the cache."""
    statement = con.prepare(plan)
    facts = times_of(statement)["facts"]
    for _ in range(2):
        times = times_of(statement)
    return statement, facts, times["execute"]


def main():
    a = arguments()
    stored = heddle.connect(a.db, threads=a.threads, backend=a.backend)
    tables = read_tables(a.db)
    cons, result = {"stored": stored}, {"register": {}, "queries": {}}
    for mode, facts in MODES.items():
        cons[mode], result["register"][mode] = register(tables, facts, a)
    print("register     " + "".join(f"{m} {t:.0f} ms  " for m, t in result["register"].items()))
    print(f"{'':4}" + "".join(f"{m:>10}" for m in cons) + f"{'facts':>10}{'first':>10}")
    for q in numbers(a.queries):
        plan = str(PLANS / f"q{q:02}.json")
        if a.alone:
            cons["lazy"], _ = register(tables, None, a)
        statements, once = {}, {}
        for mode, con in cons.items():
            statements[mode], facts, execute = first(con, plan)
            once[mode] = {"facts": facts, "first": facts + execute}
        runs = {mode: [] for mode in cons}
        for _ in range(a.rounds):
            for mode, s in statements.items():
                runs[mode].append(times_of(s)["execute"])
        row = {m: dict(once[m], execute=statistics.median(r)) for m, r in runs.items()}
        result["queries"][f"q{q:02}"] = row
        print(f"q{q:02} " + "".join(f"{row[m]['execute']:10.2f}" for m in cons)
              + f"{row['lazy']['facts']:10.2f}{row['lazy']['first']:10.2f}", flush=True)
    total = {m: {k: sum(r[m][k] for r in result["queries"].values()) for k in ("facts", "first", "execute")} for m in cons}
    result["sum"] = total
    print("sum " + "".join(f"{total[m]['execute']:10.1f}" for m in cons)
          + f"{total['lazy']['facts']:10.1f}{total['lazy']['first']:10.1f}")
    base = total["never"]["execute"]
    print("of never    " + "  ".join(f"{m} {total[m]['execute'] / base:.2f}" for m in cons if m != "never")
          + f"  first {total['lazy']['first'] / base:.2f}")
    if a.out:
        Path(a.out).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
