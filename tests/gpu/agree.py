#!/usr/bin/env python3
"""Runs a suite's queries on the GPU and on the CPU; rows must agree to the last digit.

Usage: agree.py --heddle BIN --db DB --sf F [--suite tpch|jcch] [--class C,C...] [--queries 1,5-9]
                [--balance MODE,MODE...] [--memory BYTES] [--keep DIR] [--slice I/N] [--wrap COMMAND]

--slice: the I-th of N parts of the queries. --wrap: COMMAND, a checker of memory or races, runs the GPU's
process, and fails where it finds something. Ordered plans are compared in order. --keep DIR keeps the CPU's rows there for the next call with the same
data. The last line counts the comparisons: N agree, N differ.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tpch" / "compare" / "lib"))

import suite as suites  # noqa: E402

TIMEOUT_S = 450


def words(text):
    return text.split(",")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--sf", required=True, help="the scale factor of DB")
    parser.add_argument("--suite", choices=("tpch", "jcch"), default="tpch")
    parser.add_argument("--class", dest="classes", type=words)
    parser.add_argument("--queries", default="")
    parser.add_argument("--balance", type=words, default=["auto"])
    parser.add_argument("--memory")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--slice", default="1/1")
    parser.add_argument("--wrap", type=str.split, default=[])
    return parser.parse_args()


def batch(args, jobs, folder, *options, wrap=()):
    """Runs (name, plan, parameters) in one process; {name: error or None}."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"plan": str(plan), "params": values, "out": str(folder / f"{name}.csv"), "id": name})
             for name, plan, values in jobs]
    done = subprocess.run([*wrap, args.heddle, "run", "--batch", "-", "--db", args.db, *options], text=True,
                          input="\n".join(lines) + "\n", capture_output=True, timeout=TIMEOUT_S, check=False)
    found = {}
    other = []
    for line in done.stdout.splitlines():
        if not line.startswith("{"):
            other.append(line)  # of the checker
            continue
        answer = json.loads(line)
        found[answer["id"]] = answer["error"]["message"] if "error" in answer else None
    for name, _, _ in jobs:
        found.setdefault(name, f"no answer: {done.stderr.strip()}")
    if done.returncode != 0 and not any(found.values()):
        found[jobs[-1][0]] = "\n".join(["exit status %d" % done.returncode, *other, done.stderr.strip()])
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
    failed = {q: e for q, e in batch(args, missing, cpu, "--backend", "cpu").items() if e} if missing else {}
    count = bad = 0
    for mode in args.balance:
        options = ["--backend", "cuda", "--balance", mode] + (["--memory", args.memory] if args.memory else [])
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
    suite = suites.Suite(ROOT / args.suite)
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
