#!/usr/bin/env python3
"""The fragments of a plan that is cut for several workers give the rows of the plan in one piece.

    fragments.py [--workers 1,2,4] [--params FILE.json] [--whole DB] DB PLAN...

With 0 workers there is one for each segment of DB's tables. All run in this process, one after the other. Values are the same with their types, those of floats within the bound of
docs/plan.md. --params: values by query, for the plan of the same name.
"""
import argparse
import json
import pathlib
import sys

try:
    import pyarrow  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import heddle
from heddle import _fragments as fragments
from rows import differences


def check(con, whole, path, values, workers):
    """The number of fragments of each cut; for 0 workers it is one for each segment."""
    plan = json.loads(pathlib.Path(path).read_text())
    statement = con.prepare(plan)
    want, counts = whole.prepare(plan).run(values).arrow(), []
    for n in workers:
        document = statement.fragments(n, values)
        counts.append(len(document["fragments"]))
        wrong = differences(plan, want, fragments.run_here(con, document, n == 0))
        if wrong:
            raise SystemExit(f"{path}, {n} workers: {wrong}\n{json.dumps(document)[:20000]}")
    return counts


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--workers", default="1,2,4")
    ap.add_argument("--params")
    ap.add_argument("--whole", help="database with the rows that are expected (default: DB)")
    ap.add_argument("db")
    ap.add_argument("plans", nargs="+")
    args = ap.parse_args()
    values = json.loads(pathlib.Path(args.params).read_text()) if args.params else {}
    workers = [int(n) for n in args.workers.split(",")]
    con = heddle.connect(args.db, threads=2)
    whole = heddle.connect(args.whole, threads=2) if args.whole else con
    counts = [check(con, whole, p, values.get(pathlib.Path(p).stem, {}), workers) for p in args.plans]
    print(f"{len(args.plans)} plans; " + ", ".join(f"{n} workers: {sum(c[i] for c in counts)} fragments"
                                                  for i, n in enumerate(workers)))
    if any(c[i] < 2 for c in counts for i, n in enumerate(workers) if n > 1):
        sys.exit("a plan was not cut")
    if 0 in workers and all(c[workers.index(0)] < 2 for c in counts):
        sys.exit("no plan reads a table of segments")


main()
