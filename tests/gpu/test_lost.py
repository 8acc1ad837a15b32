#!/usr/bin/env python3
"""A kernel that uses wrong addresses takes the GPU with it; the queries after it in the same process go on.

    test_lost.py --heddle BIN --db DB [--may-stay-lost]

--db is TPC-H of any scale factor. Fault injection breaks the first launch of a batch of queries, then the second,
and so on: the query that launched it fails and names a plan node, all others answer as without. --may-stay-lost: a
driver may refuse the process a new context; then what follows must say so. And on a real GPU a launch whose arguments
hold no address that it uses breaks nothing; after three of those in a row there are no more launches. Without the
option every launch must be lost.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUERIES = (6, 3, 6, 1, 3)


def batch(args, folder, fault):
    lines = [{"plan": str(ROOT / "tpch" / "plans" / f"q{q:02}.json"), "out": f"{folder}/{i}.csv"}
             for i, q in enumerate(QUERIES)]
    env = {**os.environ, "HEDDLE_FAULT": fault}
    done = subprocess.run([args.heddle, "run", "--batch", "-", "--db", args.db, "--backend", "cuda"], env=env,
                          input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True,
                          timeout=300, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def rows_of(folder, i):
    return (Path(folder) / f"{i}.csv").read_text(encoding="utf-8")


def check(args, launch, folder, want):
    """True: the launch took place, and what followed is as it must be."""
    answers, stderr = batch(args, folder, f"device:{launch}")
    if len(answers) != len(QUERIES):
        sys.exit(f"launch {launch}: {len(answers)} answers\n{stderr}")
    broken = [i for i, a in enumerate(answers) if "error" in a]
    if not broken:
        return False
    error = answers[broken[0]]["error"]
    if error["class"] != "execution" or not (error["path"] or "").startswith("$"):
        sys.exit(f"launch {launch}: {error}")
    after = [answers[i]["error"] for i in broken[1:]]
    stayed = args.may_stay_lost and broken == list(range(broken[0], len(QUERIES))) and all(
        e["status"] == 3 and "the GPU was lost" in e["message"] for e in after)
    if after and not stayed:
        sys.exit(f"launch {launch}: {after}")
    for i in range(len(QUERIES)):
        if i not in broken and rows_of(folder, i) != want[i]:
            sys.exit(f"launch {launch}: query {i} of the batch answers otherwise")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--may-stay-lost", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-lost-") as folder:
        answers, stderr = batch(args, folder, "")
        if any("error" in a for a in answers) or len(answers) != len(QUERIES):
            sys.exit(f"without a fault: {answers}\n{stderr}")
        want = [rows_of(folder, i) for i in range(len(QUERIES))]
        launch, lost, harmless = 1, 0, 0
        while harmless < (3 if args.may_stay_lost else 1):
            broke = check(args, launch, folder, want)
            lost += broke
            harmless = 0 if broke else harmless + 1
            launch += 1
    if lost < (5 if args.may_stay_lost else 10):
        sys.exit(f"only {lost} launches were lost")
    print(f"{lost} launches, each lost once")


if __name__ == "__main__":
    main()
