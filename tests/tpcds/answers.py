#!/usr/bin/env python3
"""The suite tpcds at scale factor 1 against its stored answers.

Usage: answers.py --heddle BIN
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tpcds"))

import data  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    args = parser.parse_args()
    if data.why_not():
        print(f"skipped: {data.why_not()}")
        return 77
    with tempfile.TemporaryDirectory(prefix="heddle-tpcds-") as scratch:
        subprocess.run([sys.executable, str(data.HERE / "make.py"), "--sf", "1", "--out", f"{scratch}/db", "--heddle", args.heddle],
                       check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([args.heddle, "bench", str(data.HERE), "--db", f"{scratch}/db", "--backend", "cpu", "--repeat", "1"],
                              capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr)
    return 0 if done.returncode == 0 and "30 of 30 compared, all equal" in done.stdout else 1


if __name__ == "__main__":
    sys.exit(main())
