#!/usr/bin/env python3
"""How a plan is cut for several devices depends on the link between them, where somebody knows it.

    link.py --heddle BIN --db DB PLAN...

With a link of 1 MB/s each plan is cut in another way than with 40 GB/s, which are expected where nobody knows it.
"""
import argparse
import os
import subprocess
import sys


def cut(args, plan, link):
    env = {**os.environ, "HEDDLE_SPREAD": "always", **({"HEDDLE_SIMT_LINK": link} if link else {})}
    command = [args.heddle, "explain", plan, "--db", args.db, "--backend", "cuda", "--device", "0,1", "--dump", "devices"]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("plans", nargs="+")
    args = ap.parse_args()
    for plan in args.plans:
        unknown, pcie, slow = (cut(args, plan, link) for link in (None, "40e9", "1e6"))
        if unknown != pcie or slow == pcie:
            raise SystemExit(f"{plan}: unknown\n{unknown}\n40 GB/s\n{pcie}\n1 MB/s\n{slow}")
    print(f"{len(args.plans)} plans are cut in another way for a slow link")
    return 0


sys.exit(main())
