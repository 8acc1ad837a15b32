#!/usr/bin/env python3
"""Sweeps joins: each strategy with each kind, type of keys, shape of data, with and without a residual, against the
oracle. A strategy that cannot serve a case must refuse it with its error (sweep_cases.py has the table), and no other.

    sweep.py --heddle BIN [--backend B] [--count N] [--seed N|commit] [--only TEXT]

--count takes so many of the cases, as many of each strategy with each kind, drawn by the seed.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter, defaultdict

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), d) for d in ("../oracle", ".")]

try:
    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import dataset
import sweep_cases
from engine import Engine
from gen_plan import as_json
from hdtypes import ExecutionError
from plan_sql import Oracle
from seed import seed
from sweep_data import Maker
from verdict import PASS, judge, types_of

CHUNK = 500  # cases of one process
MANY = 10000  # cases among which each strategy and kind gives rows


def sample(cases, count, number):
    """`count` cases, spread over strategies and kinds."""
    groups = defaultdict(list)
    for case in cases:
        groups[case.strategy, case.kind].append(case)
    rng, out = random.Random(number), []
    for group in groups.values():
        rng.shuffle(group)
    order = list(groups.values())
    rng.shuffle(order)
    while len(out) < count and any(order):
        out += [group.pop() for group in order if group]
    return out[:count]


class Sweep:
    def __init__(self, args, folder, cases):
        self.folder, self.cases, self.threads = folder, cases, args.threads
        options = ["--backend", args.backend] if args.backend else []
        self.engine = Engine(args.heddle, os.path.join(folder, "cache"), options, args.timeout)
        tables = []
        for keys, shape in sorted({(c.keys, c.shape) for c in cases}):
            tables += Maker(keys, shape).tables()
        dataset.write_files(tables, folder)
        self.engine.load(folder, os.path.join(folder, "db"))
        self.con = dataset.load_duckdb(tables)
        self.oracle = Oracle(self.con, byte_strings=True)
        self.known, self.total, self.with_rows = {}, Counter(), set()
        self.wrong = 0

    def expect(self, case):
        if case.same() not in self.known:
            try:
                self.known[case.same()] = self.oracle.run_full(sweep_cases.plan(case))
            except ExecutionError as raised:
                self.known[case.same()] = raised
        return self.known[case.same()]

    def job(self, i, case, reason):
        path = os.path.join(self.folder, f"plan{i}.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(as_json(sweep_cases.plan(case)))
        return {"plan": path, "params": {}, "threads": self.threads[i % len(self.threads)], "format": "csv" if i % 3 == 0 else "json",
                "types": [] if reason else types_of(self.expect(case))}

    def run(self):
        for at in range(0, len(self.cases), CHUNK):
            some = [(c, sweep_cases.refused(c)) for c in self.cases[at:at + CHUNK]]
            jobs = [self.job(i, case, reason) for i, (case, reason) in enumerate(some)]
            for (case, reason), answer in zip(some, self.engine.run(os.path.join(self.folder, "db"), jobs, self.folder)):
                self.judge(case, reason, answer)

    def judge(self, case, reason, answer):
        """Every case has an outcome: none is free."""
        if reason:
            self.total["refused"] += 1
            if not sweep_cases.is_refusal(answer.error, reason):
                self.fail(case, f"expected to be refused ({reason}), found {answer.error or answer.lost or 'rows'}")
            return
        verdict, category, message = judge(self.expect(case), answer)
        self.total["served"] += 1
        if verdict != PASS:
            self.fail(case, f"{category}: {message}")
        elif self.expect(case).rows:
            self.with_rows.add((case.strategy, case.kind))

    def fail(self, case, message):
        self.wrong += 1
        print(f"FAIL {case}: {message[:300]}\n     {json.dumps(sweep_cases.plan(case)['root'])}", flush=True)

    def check_coverage(self):
        """Strategies that serve a kind have given rows."""
        for strategy in sweep_cases.STRATEGIES:
            for kind in sweep_cases.KINDS:
                served = any(not sweep_cases.refused(c) for c in self.cases if (c.strategy, c.kind) == (strategy, kind))
                if served and (strategy, kind) not in self.with_rows:
                    self.wrong += 1
                    print(f"FAIL no case of {strategy} {kind} gave rows")


def parse_args(argv):
    ap = argparse.ArgumentParser(description="every join, against an oracle")
    ap.add_argument("--heddle", required=True, help="the heddle binary")
    ap.add_argument("--backend", help="passed on to heddle run")
    ap.add_argument("--count", type=int, default=0, help="cases to take; 0: all")
    ap.add_argument("--seed", type=seed, default=1, help="which; \"commit\": drawn from the commit")
    ap.add_argument("--only", default="", help="cases with this text in their names")
    ap.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 3])
    ap.add_argument("--timeout", type=float, default=60)
    args = ap.parse_args(argv)
    args.heddle = os.path.abspath(args.heddle)
    return args


def main(argv=None):
    args = parse_args(argv)
    cases = [c for c in sweep_cases.all_cases() if args.only in str(c)]
    if args.count:
        cases = sample(cases, args.count, args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-sweep-") as folder:
        sweep = Sweep(args, folder, cases)
        sweep.run()
        if len(cases) > MANY:
            sweep.check_coverage()
    print(f"{len(cases)} cases: {sweep.total['served']} served, {sweep.total['refused']} refused, {sweep.wrong} failed")
    return 1 if sweep.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
