#!/usr/bin/env python3
"""Random plans whose seed is drawn from the commit, so that every push tries other ones.

Usage: diff_sample.py --heddle BIN --count N [--seed N]. Prints the seed; replay with
tests/diff/run.py --seed.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commit_seed():
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
        return int(done.stdout[:8], 16) % 1_000_000_000
    except (OSError, ValueError):
        return 1  # not a checkout: an unpacked release


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--count", default="60")
    ap.add_argument("--seed", type=int)
    args = ap.parse_args()
    try:
        import duckdb  # noqa: F401  the oracle
    except ImportError:
        print("skipped: no duckdb module")
        return 77
    seed = args.seed if args.seed is not None else commit_seed()
    print(f"seed {seed}", flush=True)
    return subprocess.run([sys.executable, str(ROOT / "tests/diff/run.py"), "--heddle", args.heddle,
                           "--seed", str(seed), "--count", args.count, "--threads", "1,3"]).returncode


sys.exit(main())
