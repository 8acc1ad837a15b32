#!/usr/bin/env python3
"""tpch/compare/space.py: what it says of a larger database is what that takes, and packed SF 100 takes no more than it did.

    space.py --heddle BIN
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tpch" / "compare" / "space.py"
LIMIT = 32.6  # GB of SF 100, where at most 34 are aimed at: docs/performance.md, "Packed columns". It goes down with what is saved


def run(*command, status=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != status:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--heddle", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small", Path(folder) / "large"
        for db, scale in ((small, "0.01"), (large, "0.1")):
            run(args.heddle, "gen", "tpch", "--sf", scale, "--columns", "used", "--pack", "--out", db)
        sums = [float(x) for x in re.findall(r": ([0-9.]+) GB", run(sys.executable, TOOL, large, "--smaller", small, "--times", "1000",
                                                                  "--limit", LIMIT))]
        assert len(sums) == 2, sums
        run(sys.executable, TOOL, large, "--limit", sums[0] / 2, status=1)
        smaller = Path(folder) / "smaller"
        run(args.heddle, "gen", "tpch", "--sf", "0.002", "--columns", "used", "--pack", "--out", smaller)
        told = float(re.search(r"10 times the scale: ([0-9.]+) GB",
                               run(sys.executable, TOOL, small, "--smaller", smaller, "--times", "10")).group(1))
        assert abs(told - sums[0]) < 0.02 * sums[0], (told, sums)
    print(f"packed SF 100: {sums[1]} GB by SF 0.1")


if __name__ == "__main__":
    main()
