#!/usr/bin/env python3
"""How far a cut divides the work of plans: processor time of a plan in one process, and of the longest part of each of its fragments,
one after the other.

    path_times.py [--workers 2] [--repeat 5] DB PLAN...

All runs on one thread of this process (HEDDLE_LIBRARY, PYTHONPATH=python), ms, the shortest of --repeat executions behind one that
is not counted; what is sent takes no time.
"""
import argparse
import contextlib
import json
import pathlib
import time

import pyarrow

import heddle
from heddle import _fragments as fragments


def shortest(run, repeat):
    """Milliseconds, and the rows."""
    best, rows = None, run()
    for _ in range(repeat):
        began = time.process_time()
        rows = run()
        took = 1e3 * (time.process_time() - began)
        best = took if best is None else min(best, took)
    return best, rows


def part_of(con, fragment, worker, inputs, repeat):
    for name, table in inputs.items():
        con.register(name, table)
    with contextlib.closing(con.prepare(fragment["plan"])) as statement:
        took = shortest(lambda: statement.run(fragments.binds(fragment, worker)).arrow(), repeat)
    for name in inputs:
        con.drop(name)
    return took


def path_of(con, document, repeat):
    """The longest part of each fragment."""
    workers, done, longest = document["workers"], [], []
    for f in document["fragments"]:
        parts, took = [], []
        for worker in fragments.workers_of(f, workers):
            inputs = {i["table"]: pyarrow.concat_tables(fragments.parts_of(document["fragments"][i["fragment"]],
                                                                           done[i["fragment"]], worker))
                      for i in f["inputs"]}
            ms, rows = part_of(con, f, worker, inputs, repeat)
            took.append(ms)
            parts.append(fragments.spread(rows, f["column"], workers) if f["exchange"] == "shuffle" else rows)
        done.append(parts)
        longest.append(max(took))
    return longest


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--repeat", type=int, default=5)
    ap.add_argument("db")
    ap.add_argument("plans", nargs="+")
    args = ap.parse_args()
    con, sums = heddle.connect(args.db, threads=1, backend="cpu"), [0.0, 0.0]
    print("plan, one process, longest path, of its fragments")
    for path in args.plans:
        with contextlib.closing(con.prepare(json.loads(pathlib.Path(path).read_text()))) as statement:
            whole, _ = shortest(lambda: statement.run().arrow(), args.repeat)
            longest = path_of(con, statement.fragments(args.workers), args.repeat)
        sums = [sums[0] + whole, sums[1] + sum(longest)]
        print(f"{pathlib.Path(path).stem} {whole:.1f} {sum(longest):.1f}  {' '.join(f'{ms:.1f}' for ms in longest)}", flush=True)
    print(f"sum {sums[0]:.1f} {sums[1]:.1f}")


main()
