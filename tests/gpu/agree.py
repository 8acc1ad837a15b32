#!/usr/bin/env python3
"""Runs a suite's queries on the GPU and on the CPU; rows must agree to the last digit.

Usage: agree.py --heddle BIN --db DB --sf F [--suite tpch|jcch|ssb] [--class C,C...] [--queries 1,5-9]
                [--balance MODE,MODE...] [--memory BYTES] [--keep DIR] [--slice I/N] [--wrap COMMAND] [--trust]

--slice: the I-th of N parts of the queries. --wrap: COMMAND, a checker of memory or races, runs the GPU's process,
and fails where it finds something. Ordered plans are compared in order. --keep DIR keeps the CPU's rows there for the
next call with the same data. --trust: the database's checksums are not verified. The last line counts the
comparisons: N agree, N differ.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, Suite, parser, words

TIMEOUT_S = 450


def parse_args():
    p = parser(__doc__)
    p.add_argument("--class", dest="classes", type=words)
    p.add_argument("--balance", type=words, default=["auto"])
    p.add_argument("--memory")
    p.add_argument("--keep", type=Path)
    p.add_argument("--slice", default="1/1")
    p.add_argument("--wrap", type=str.split, default=[])
    p.add_argument("--trust", action="store_true")
    return p.parse_args()


def run(command, lines):
    """(exit status, standard output, what went wrong); what was answered until time ran out counts."""
    try:
        done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        return done.returncode, done.stdout, done.stderr.strip()
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(), f"not within {TIMEOUT_S} s"


def batch(args, jobs, folder, *options, wrap=()):
    """Runs (name, plan, parameters) in one process; {name: error or None}."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"plan": str(plan), "params": values, "out": str(folder / f"{name}.csv"), "id": name})
             for name, plan, values in jobs]
    status, answers, wrong = run([*wrap, args.heddle, "run", "--batch", "-", "--db", args.db, *options], lines)
    found = {}
    other = []
    for line in answers.splitlines():
        if not line.startswith("{"):
            other.append(line)  # of the checker
            continue
        answer = json.loads(line)
        found[answer["id"]] = answer["error"]["message"] if "error" in answer else None
    for name, _, _ in jobs:
        found.setdefault(name, f"no answer: {wrong}")
    if status != 0 and not any(found.values()):
        found[jobs[-1][0]] = "\n".join([f"exit status {status}", *other, wrong])
    return found


def sliced(names, part):
    i, n = map(int, part.split("/"))
    return names[i - 1::n]


def is_ordered(plan):
    return json.loads(plan.read_text())["root"]["op"] == "sort"


def difference(plan, want, got):
    """None, or a line that tells."""
    want, got = want.read_text().splitlines(), got.read_text().splitlines()
    if not is_ordered(plan):
        want, got = sorted(want), sorted(got)
    if want == got:
        return None
    if len(want) != len(got):
        return f"{len(got) - 1} rows, the CPU has {len(want) - 1}"
    row = next(i for i, (a, b) in enumerate(zip(want, got)) if a != b)
    return f"row {row}: {got[row]}, the CPU has {want[row]}"


def run_class(args, suite, cls, scratch):
    """(number of comparisons, of differences)"""
    values = suite.parameters(cls, args.sf)
    jobs = [(q, suite.plan_path(q), values.get(q, {})) for q in sliced(suite.select(args.queries), args.slice)]
    plans = {name: plan for name, plan, _ in jobs}
    cpu = (args.keep or scratch) / f"{args.suite}-{args.sf}-{cls}-cpu"
    missing = [j for j in jobs if not (cpu / f"{j[0]}.csv").exists()]
    trust = ["--trust"] if args.trust else []
    failed = {q: e for q, e in batch(args, missing, cpu, "--backend", "cpu", *trust).items() if e} if missing else {}
    count = bad = 0
    for mode in args.balance:
        options = ["--backend", "cuda", "--balance", mode, *trust] + (["--memory", args.memory] if args.memory else [])
        gpu = scratch / f"{cls}-{mode}"
        for name, error in batch(args, jobs, gpu, *options, wrap=args.wrap).items():
            why = failed.get(name) or error or difference(plans[name], cpu / f"{name}.csv", gpu / f"{name}.csv")
            count += 1
            bad += why is not None
            if why:
                print(f"{args.suite} {cls} {name} balance {mode}: {why}")
    return count, bad


def main():
    args = parse_args()
    suite = Suite(ROOT / args.suite)
    count = bad = 0
    with tempfile.TemporaryDirectory(prefix="heddle-agree-") as folder:
        for cls in args.classes or [suite.data["default_class"]]:
            n, wrong = run_class(args, suite, cls, Path(folder))
            count += n
            bad += wrong
    print(f"{count - bad} agree, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
