#!/usr/bin/env python3
"""A suite's plans over a database of packed columns, and over the same data in whole bytes: equal rows, in order.

Usage: packed.py --heddle BIN --db DB --sf F PLAN...

DB was generated for TPC-H at scale factor F. Packed columns must be there, be what `heddle check` finds, and take less.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def columns(db):
    catalog = json.loads((Path(db) / "catalog.json").read_text(encoding="utf-8"))
    return [(f"{t['name']}.{c['name']}", c) for t in catalog["tables"] for c in t["columns"]]


def compare_sizes(plain, packed):
    """How many columns are packed."""
    count = 0
    for (name, a), (_, b) in zip(columns(plain), columns(packed)):
        bits = b.get("bits")
        assert "bits" not in a, name
        if bits:
            count += 1
            assert b["data"]["size"] <= a["data"]["size"] + 24, (name, bits)
            assert b["facts"] == a["facts"], name
    return count


def rows(heddle, db, plans, folder, threads):
    lines = [json.dumps({"plan": p, "out": f"{folder}/{i}.csv", "threads": threads}) for i, p in enumerate(plans)]
    done = subprocess.run([heddle, "run", "--batch", "-", "--db", db, "--backend", "cpu"], input="\n".join(lines) + "\n", capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [Path(folder, f"{i}.csv").read_text(encoding="utf-8") for i in range(len(plans))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("heddle", "db", "sf"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("plans", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-packed-") as scratch:
        packed = f"{scratch}/db"
        subprocess.run([args.heddle, "gen", "tpch", "--sf", args.sf, "--pack", "--out", packed], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([args.heddle, "check", packed], check=True, stdout=subprocess.DEVNULL)
        count = compare_sizes(args.db, packed)
        assert count > 20, count
        for threads in (1, 3):
            want, found = (rows(args.heddle, db, args.plans, scratch, threads) for db in (args.db, packed))
            for plan, a, b in zip(args.plans, want, found):
                assert a == b, f"{plan}: rows differ, {threads} threads"
    print(f"{count} packed columns, {len(args.plans)} plans")
    return 0


if __name__ == "__main__":
    sys.exit(main())
