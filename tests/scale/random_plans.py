#!/usr/bin/env python3
"""Random plans of tests/diff, cut for several workers, give the rows of the plan in one piece, or its error; and so they do
over tables of small segments.

    random_plans.py --heddle BIN [--seed N] [--count N] [--workers 2,3] [--segment-rows N]

Case n depends on n alone: `--seed n --count 1` replays it. --seed commit: drawn from the commit.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "oracle"), str(HERE.parent / "diff")]

try:
    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import cases
import dataset
import heddle
from heddle import _fragments as fragments
from rows import differences
from seed import seed


def outcome(run):
    try:
        return run()
    except heddle.Error as e:
        return e


def any_rows(op):
    """The plan takes any rows of many: a limit of what is in no order."""
    if isinstance(op, list):
        return any(map(any_rows, op))
    if not isinstance(op, dict):
        return False
    free = op.get("op") == "limit" and op["input"]["op"] != "sort"
    return free or any(map(any_rows, op.values()))


def compare(plan, want, got):
    """What is wrong, or None."""
    if isinstance(want, heddle.Error) or isinstance(got, heddle.Error):
        return None if type(want) is type(got) else f"{want!r} and {got!r}"
    return differences(plan, want, got)


def check(con, segmented, case, workers, total):
    """What is wrong, or None."""
    try:
        statement = con.prepare(case.plan)
    except heddle.UserError:
        total["refused"] += 1  # a strategy that cannot be used
        return None
    if any_rows(case.plan) or getattr(case.expected, "definite", True) is False:
        total["of free outcome"] += 1  # docs/plan.md: which rows a limit takes, whether a value is computed that nobody reads
        return None
    want = outcome(lambda: statement.run(case.params).arrow())
    if isinstance(want, heddle.UserError):
        total["refused"] += 1  # likewise, known when it runs; fragments have no strategies
        return None
    for n in workers:
        document = statement.fragments(n, case.params)
        wrong = compare(case.plan, want, outcome(lambda: fragments.run_here(con, document)))
        if wrong:
            return f"{n} workers: {wrong}"
        total["fragments"] += len(document["fragments"])
    over = segmented.prepare(case.plan)
    wrong = compare(case.plan, want, outcome(lambda: over.run(case.params).arrow()))
    if wrong:
        return f"segments: {wrong}"
    total["over segments"] += "segments" in str(outcome(lambda: over.explain("devices")))
    total["errors" if isinstance(want, heddle.Error) else "plans"] += 1
    return None


def load(program, home, name, **more):
    path = pathlib.Path(home) / f"{name}.json"
    path.write_text(json.dumps({**json.loads((pathlib.Path(home) / "schema.json").read_text()), **more}))
    subprocess.run([program, "load", "--schema", path, "--from", f"{home}/data", "--out", f"{home}/{name}"], check=True,
                   capture_output=True)
    return heddle.connect(f"{home}/{name}", threads=2)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--seed", default="1")
    ap.add_argument("--count", type=int, default=50)
    ap.add_argument("--workers", default="2,3")
    ap.add_argument("--segment-rows", type=int, default=150)
    ap.add_argument("--verbose", action="store_true", help="print each plan before it runs")
    args = ap.parse_args()
    workers, failed, total = [int(n) for n in args.workers.split(",")], 0, collections.Counter()
    for number, numbers in cases.groups(seed(args.seed), args.count):
        db = cases.Database(number)
        with tempfile.TemporaryDirectory() as home:
            dataset.write_files(db.tables, home)
            con = load(args.heddle, home, "whole")
            segmented = load(args.heddle, home, "segmented", segment_rows=args.segment_rows)
            for n in numbers:
                case = db.case(n)
                if args.verbose:
                    print(n, json.dumps(case.plan), flush=True)
                wrong = check(con, segmented, case, workers, total)
                if wrong:
                    failed += 1
                    print(f"FAIL {n}: {wrong[:600]}\n{json.dumps(case.plan)[:3000]}", flush=True)
            con.close()
            segmented.close()
        db.close()
    total["failed"] = failed
    print(", ".join(f"{n} {what}" for what, n in sorted(total.items())))
    return 1 if failed else 0


sys.exit(main())
