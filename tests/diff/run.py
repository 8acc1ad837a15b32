#!/usr/bin/env python3
"""Differential test: random plans over random data, Heddle against the DuckDB oracle.

    run.py --heddle PATH/heddle --seed N --count N [--threads 1,2,3,7] [--keep DIR] [--backend B]
    run.py --heddle PATH/heddle --substrait ...  the same plans written as Substrait and read again
    run.py --oracle-only --seed N --count N      the generator and the oracle alone

Case n depends on n alone: `--seed n --count 1` replays it. One line per failure; the last line counts. A case is
skipped where docs/plan.md leaves the outcome free (see hderrors.py), never passed.
"""

import argparse
import copy
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), d) for d in ("../oracle", ".")]

try:
    import duckdb
    import pyarrow  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import dataset
import results
from cases import Database, empty, groups
from engine import Answer, Engine, LoadFailed
from gen_plan import as_json
from hdtypes import PlanError
from minimise import minimise
from seed import seed
from verdict import FAIL, PASS, SKIP, judge, types_of


class Runner:
    def __init__(self, args, workdir):
        self.args, self.workdir = args, workdir
        self.threads = [int(t) for t in args.threads.split(",")]
        options = ["--backend", args.backend] if args.backend else []
        options += ["--device", args.device] if args.device else []
        self.engine = Engine(args.heddle, os.path.join(workdir, "cache"), options, args.timeout) if args.heddle else None
        self.total, self.notes = Counter(), Counter()

    def run(self):
        for number, cases in groups(self.args.seed, self.args.count):
            db = Database(number)
            try:
                self.run_database(db, cases)
            finally:
                db.close()
                shutil.rmtree(self.home(db), ignore_errors=True)
        if self.notes:
            print("of these: " + ", ".join(f"{n} {what}" for what, n in sorted(self.notes.items())))
        print(", ".join(f"{self.total[v]} {v}" for v in (PASS, FAIL, SKIP)))
        return 1 if self.total[FAIL] else 0

    def home(self, db):
        return os.path.join(self.workdir, f"db{db.number}")

    def store(self, db):
        return os.path.join(self.home(db), "heddle")

    def run_database(self, db, numbers):
        cases = self.make_cases(db, numbers)
        if not self.engine:
            for case in cases:
                self.count(case, PASS, "" if hasattr(case.expected, "rows") else type(case.expected).__name__)
            return
        os.makedirs(self.home(db))
        dataset.write_files(db.tables, self.home(db))
        try:
            self.engine.load(self.home(db), self.store(db))
        except LoadFailed as wrong:
            self.load_failed(db, cases, wrong)
            return
        for case, answers in zip(cases, self.answers(db, cases)):
            self.judge(db, case, answers)

    def make_cases(self, db, numbers):
        cases = []
        for n in numbers:
            try:
                cases.append(db.case(n))
            except (PlanError, duckdb.Error) as wrong:
                # a mistake on this side: the generator's, the translation's or DuckDB's
                self.total[FAIL] += 1
                print(f"FAIL {n}: the oracle refuses the plan: {' '.join(str(wrong).split())[:300]}", flush=True)
        return cases

    def load_failed(self, db, cases, wrong):
        self.total[FAIL] += len(cases)
        print(f"FAIL {cases[0].number}: database {db.number} does not load: {wrong}", flush=True)
        if self.args.keep:
            dataset.write_files(db.tables, os.path.join(self.args.keep, f"database-{db.number}"))

    # ---- the engine's side

    def answers(self, db, cases):
        """For each case the answers of all thread counts, json and csv in turn."""
        jobs = []
        for case in cases:
            jobs += self.jobs(db, f"p{case.number}", case.plan, case.params, case.expected, self.threads)
        flat = self.engine.run(self.store(db), jobs, self.home(db))
        n = len(self.threads)
        return [flat[i * n:i * n + n] for i in range(len(cases))]

    def jobs(self, db, name, plan, params, expected, threads):
        path = os.path.join(self.home(db), name + ".json")
        if self.args.substrait:
            path, params = self.converted(db, path, plan, params)
        else:
            write(path, as_json(plan))
        return [{"plan": path, "params": params, "threads": t, "format": "csv" if i % 2 else "json",
                 "types": types_of(expected)} for i, t in enumerate(threads)]

    def converted(self, db, path, plan, params):
        """The plan as Substrait, where that has a form for it, by turns in JSON and in binary. Parameters have numbers there, and
        lists are what they are bound to."""
        names = list(plan.get("params", {}))
        plan = copy.deepcopy(plan)
        lists = {n for n in names if plan["params"][n]["type"].startswith("list(")}
        for n in lists & params.keys():
            value = params[n]
            plan["params"][n]["default"] = json.loads(value) if isinstance(value, str) else value
        write(path, as_json(plan))
        out, why = self.engine.convert(self.store(db), path, "substrait-json")
        if not out:
            self.notes[f"not Substrait: {why}"] += 1
            return path, params
        with open(out, encoding="utf-8") as f:
            used = set(re.findall(r'"parameterReference":\s*(\d+)', f.read()))
        if self.notes["as Substrait"] % 2:
            out, why = self.engine.convert(self.store(db), out, "substrait")
        self.notes["as Substrait"] += 1
        return out, {f"p{i + 1}": params[n] for i, n in enumerate(names) if n in params and str(i) in used}

    def judge(self, db, case, answers):
        """The worst of the answers counts, so a plan passes only with every number of threads."""
        if any(refused(a) for a in answers) and physical(case.plan):
            # a strategy or build side that cannot be used is an error by right: run without
            case.plan = stripped(case.plan)
            jobs = self.jobs(db, f"p{case.number}", case.plan, case.params, case.expected, self.threads)
            answers = self.engine.run(self.store(db), jobs, self.home(db))
            self.notes["strategy refused"] += 1
        found = [(judge(case.expected, a), t, a) for a, t in zip(answers, self.threads)]
        for verdict in (FAIL, SKIP, PASS):
            for (v, category, message), threads, answer in found:
                if v == verdict:
                    if v == FAIL:
                        self.report(db, case, category, message, threads, answer)
                    self.count(case, v, category)
                    return

    def count(self, case, verdict, category):
        self.total[verdict] += 1
        if verdict != FAIL and category not in ("", "rows"):
            self.notes[category] += 1
        if verdict == PASS and empty(case.expected):
            self.notes["without rows"] += 1

    # ---- failures

    def report(self, db, case, category, message, threads, answer):
        print(f"FAIL {case.number}: {category} with {threads} threads: {message[:300]}", flush=True)
        if not self.args.keep:
            return
        small = case.plan if self.args.no_minimise else minimise(
            case.plan, lambda plan: self.fails_alike(db, plan, case.params, category, threads))
        params = {k: v for k, v in case.params.items() if k in small.get("params", {})}
        expected = db.expect(small, params)
        answer = self.answer(db, small, params, expected, threads)
        self.keep(db, case, small, params, expected, answer, threads)

    def answer(self, db, plan, params, expected, threads):
        jobs = self.jobs(db, "small", plan, params, expected, [threads])
        return self.engine.run(self.store(db), jobs, self.home(db))[0]

    def fails_alike(self, db, plan, params, category, threads):
        params = {k: v for k, v in params.items() if k in plan.get("params", {})}
        try:
            expected = db.expect(plan, params)
        except Exception:  # a step of minimisation may make a plan that is none, in any way
            return False
        return judge(expected, self.answer(db, plan, params, expected, threads))[:2] == (FAIL, category)

    def keep(self, db, case, plan, params, expected, answer, threads):
        """plan.json, params.json, the tables, what was expected and what came."""
        out = os.path.join(self.args.keep, f"case-{case.number}")
        shutil.rmtree(out, ignore_errors=True)
        used = tables_of(plan, db.tables)
        dataset.write_files(used, out)
        write(os.path.join(out, "plan.json"), as_json(plan))
        write(os.path.join(out, "original.json"), as_json(case.plan))
        write(os.path.join(out, "params.json"), json.dumps(params, ensure_ascii=False))
        write(os.path.join(out, "expected"), text_of(expected))
        write(os.path.join(out, "found"), text_of(answer))
        write(os.path.join(out, "replay.sh"), REPLAY.format(threads=threads, number=case.number))


REPLAY = """#!/bin/sh
# The whole case: run.py --heddle HEDDLE --seed {number} --count 1
# Usage: replay.sh HEDDLE, in this folder. Compare its output with the file `expected`.
set -e
rm -rf db
"$1" load --schema schema.json --from data --out db
"$1" run plan.json --db db --threads {threads} --format csv -p @params.json
"""


def write(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)


def text_of(outcome):
    if isinstance(outcome, Answer) and outcome.rows is None:
        return f"{outcome.lost or outcome.error}\n"
    if hasattr(outcome, "rows"):
        return results.csv_text(outcome.columns, outcome.rows)
    return f"{type(outcome).__name__}: {outcome}\n"


def refused(answer):
    return bool(answer.error) and answer.error["class"] in ("user", "unsupported")


def physical(plan):
    return "\"strategy\"" in json.dumps(plan) or "\"build\"" in json.dumps(plan)


def stripped(plan):
    """The plan with every strategy and build side left to the engine."""
    plan = copy.deepcopy(plan)
    stack = [plan]
    while stack:
        x = stack.pop()
        if isinstance(x, dict):
            if x.get("op") == "join":
                x.pop("strategy", None)
                x.pop("build", None)
            stack += x.values()
        elif isinstance(x, list):
            stack += x
    return plan


def tables_of(plan, tables):
    """Tables that the plan scans, and those that their foreign keys need."""
    by_name = {t.name: t for t in tables}
    text = json.dumps(plan)
    need = [t.name for t in tables if f'"{t.name}"' in text]
    for name in need:
        need += [p for _, p, _ in by_name[name].foreign_keys if p not in need]
    return [t for t in tables if t.name in need]


def parse_args(argv):
    ap = argparse.ArgumentParser(description="random plans: Heddle against an oracle")
    ap.add_argument("--heddle", help="the heddle binary")
    ap.add_argument("--oracle-only", action="store_true", help="check the generator against the oracle alone")
    ap.add_argument("--seed", type=seed, default=0, help="number of the first case; \"commit\": drawn from the commit")
    ap.add_argument("--count", type=int, default=100)
    ap.add_argument("--threads", default="1,2,3,7", help="thread counts; every plan runs with each")
    ap.add_argument("--substrait", action="store_true", help="run what `heddle convert` makes of each plan as Substrait")
    ap.add_argument("--backend", help="passed on to heddle run")
    ap.add_argument("--device", help="likewise")
    ap.add_argument("--timeout", type=float, default=60, help="seconds that one run may take")
    ap.add_argument("--keep", metavar="DIR", help="write failing cases there, made smaller")
    ap.add_argument("--no-minimise", action="store_true", help="keep failing plans as they are")
    args = ap.parse_args(argv)
    if bool(args.heddle) == args.oracle_only:
        ap.error("one of --heddle and --oracle-only is needed")
    return args


def main(argv=None):
    args = parse_args(argv)
    if args.heddle:
        args.heddle = os.path.abspath(args.heddle)
    with tempfile.TemporaryDirectory(prefix="heddle-diff-") as workdir:
        return Runner(args, workdir).run()


if __name__ == "__main__":
    sys.exit(main())
