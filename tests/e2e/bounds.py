#!/usr/bin/env python3
"""How many rows a join can give is proven, not estimated, before a sum of them is kept in 64 bits: the
filter of this plan drops nothing and is estimated to drop nearly all."""
import argparse
import os
import subprocess
import sys

PLAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plans", "underestimated.json")
WANT = "n,s\n3621030625,21757113700000000000\n"  # 60,175 lines squared; their numbers add up to 180,782


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    args = ap.parse_args()
    p = subprocess.run([args.heddle, "run", PLAN, "--db", args.db, "--backend", "cpu", "--format", "csv"],
                       capture_output=True, text=True)
    if p.stdout == WANT:
        print("1 passed, 0 failed")
        return 0
    print(f"found {p.stdout!r} {p.stderr!r}, expected {WANT!r}\n0 passed, 1 failed")
    return 1


if __name__ == "__main__":
    sys.exit(main())
