#!/usr/bin/env python3
"""Golden dumps: the plan and the pipelines of each TPC-H query on the SF 0.01 database (or of other plans).

The data is bit-exact, so estimates and ranges in the dump are stable.
Usage: run.py --heddle BIN --db DB --plans DIR --golden DIR [--update]
"""
import argparse
import difflib
import pathlib
import subprocess
import sys


def explain(heddle, db, plan):
    done = subprocess.run([heddle, "explain", str(plan), "--db", db, "--backend", "cpu",
                           "--dump", "plan,pipelines"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}\n{done.stderr}"


def main():
    ap = argparse.ArgumentParser()
    for name in ("heddle", "db", "plans", "golden"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--update", action="store_true")
    args = ap.parse_args()
    passed = failed = 0
    for plan in sorted(pathlib.Path(args.plans).glob("q*.json")):
        got = explain(args.heddle, args.db, plan)
        want = pathlib.Path(args.golden) / (plan.stem + ".txt")
        if args.update:
            want.write_text(got)
        elif not want.exists() or want.read_text() != got:
            failed += 1
            old = want.read_text().splitlines() if want.exists() else []
            sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(
                old, got.splitlines(), str(want), "now", lineterm="", n=1))
            continue
        passed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
