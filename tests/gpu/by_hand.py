#!/usr/bin/env python3
"""Times of a suite's queries from SQL beside those of its plans by hand, hot, in turns, on one backend; rows are compared.

Usage: by_hand.py --heddle BIN --suite tpch|jcch --db DB --plans DIR [--backend cuda] [--rounds N] [--repeat N]

DIR is what tests/substrait/plans.py --suite wrote for DB's scale factor. A row per query: milliseconds of the fastest execution of
either plan, columns resident and code compiled, and their ratio; then the sums. Exit status 1 if rows differ or a plan fails.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "substrait"), str(ROOT / "tpch" / "compare" / "lib")]

import queries  # noqa: E402
import suite as suites  # noqa: E402


def run(args, plan, rows, *more):
    """Milliseconds of the fastest execution; writes its rows."""
    with rows.open("w", encoding="utf-8") as out:
        done = subprocess.run([args.heddle, "run", plan, "--db", args.db, "--trust", "--backend", args.backend, "--repeat", args.repeat, "--time",
                               "--format", "csv", *more], stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    return min(json.loads(line)["execute_ms"] for line in done.stderr.splitlines() if line.startswith("{"))


def difference(a, b):
    """What is wrong, or None: rows but for what SQL's quotients and averages leave free (docs/substrait.md)."""
    return queries.difference(*(queries.read_csv(path.read_text(encoding="utf-8")) for path in (a, b)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("heddle", None), ("suite", None), ("db", None), ("plans", None), ("backend", "cuda"), ("rounds", "3"), ("repeat", "7")):
        parser.add_argument(f"--{name}", default=default, required=default is None)
    args = parser.parse_args()
    plans, sums, wrong = Path(args.plans), [0.0, 0.0], 0
    print("query    sql ms   hand ms  ratio")
    for path in sorted(plans.glob("q*.pb")):
        name, ours, hand = path.stem, [], []
        rows = plans / f"{name}.sql.csv", plans / f"{name}.hand.csv"
        by_hand = suites.Suite(ROOT / args.suite).plan_path(name)
        try:
            for _ in range(int(args.rounds)):
                ours.append(run(args, str(path), rows[0]))
                hand.append(run(args, str(by_hand), rows[1], "--param", f"@{plans / name}.json"))
        except RuntimeError as error:
            print(f"{name}: {error}")
            wrong += 1
            continue
        a, b = min(ours), min(hand)
        why = difference(*rows)
        wrong += why is not None
        sums[0], sums[1] = sums[0] + a, sums[1] + b
        print(f"{name} {a:10.3f} {b:9.3f} {a / b:6.2f}{f'  {why}' if why else ''}", flush=True)
    print(f"sum {sums[0]:10.3f} {sums[1]:9.3f} {sums[0] / sums[1]:6.3f}; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
