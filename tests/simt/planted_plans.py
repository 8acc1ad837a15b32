#!/usr/bin/env python3
"""Plants bugs in the templates of loops over pairs and of finishes, and sees each caught by the test that claims to.

    planted_plans.py --heddle SIMT --root SOURCE [--only TEXT]

A bug is a piece of a template's text and what stands in its place; the emulator compiles it (HEDDLE_SIMT_PLANTED). That
the tests pass without a bug is for the tests themselves to say.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PAIRS = ["tests/e2e/pairs.py", "--threads", "1", "--sizes", "70:71:1", "--large", "300"]
RANGES = ["tests/e2e/ranges.py", "--count", "12"]

# name, the test that catches it, template, text and replacement
BUGS = [
    ("a row makes a pair with itself", PAIRS, "loop.cuh", "(at - lane + HDD_LANES - 1)", "(at - lane + HDD_LANES)"),
    ("pairs within a tile come twice", PAIRS, "loop.cuh", "begin = own ? inside :", "begin = own ? first :"),
    ("the last place of the triangle is lost", PAIRS, "loop.cuh", "- slanted) * tiles;", "- slanted) * tiles - 1;"),
    ("lanes count in the copy behind theirs", PAIRS, "histogram.cuh", "hdd_lane() % copies)", "hdd_lane() % copies + 1)"),
    ("counts of a block are taken for one", PAIRS, "histogram.cuh", "add_count(i / copies, counted)",
     "add_count(i / copies, 1u)"),
    ("a lane's running value lacks its neighbour's", RANGES, "finish_running.cu",
     "        if (hdd_lane() >= by)\n", "        if (hdd_lane() > by)\n"),
]


def caught(args, bug, scratch):
    """What the test says about the bug; None if it passes."""
    name, test, template, old, new = bug
    folder, cache = Path(scratch) / "templates", Path(scratch) / "cache"
    for path in (folder, cache):
        path.mkdir()
    source = next(p for p in (args.root / "templates" / template, args.root / "templates/finish" / template) if p.exists())
    text = source.read_text()
    if text.count(old) != 1:
        sys.exit(f"\"{name}\": {text.count(old)} places in {template} for\n{old}")
    (folder / template).write_text(text.replace(old, new))
    command = [sys.executable, "-B", args.root / test[0], "--heddle", args.heddle, "--backend", "cuda", *test[1:]]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "HEDDLE_SIMT_PLANTED": str(folder), "HEDDLE_CACHE": str(cache)})
    if "refused an emitted kernel" in done.stdout + done.stderr:
        sys.exit(f"\"{name}\" does not compile\n{done.stdout}{done.stderr}")
    said = (done.stdout + done.stderr).strip().splitlines()
    return (said[-1] if said else "nothing") if done.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--only", default="", help="bugs with this text in their names")
    args = parser.parse_args()
    missed = []
    for bug in [b for b in BUGS if args.only in b[0]]:
        with tempfile.TemporaryDirectory() as scratch:
            said = caught(args, bug, scratch)
        print(f"{bug[0]}: {'MISSED' if said is None else 'caught: ' + said[:150]}", flush=True)
        missed += [bug[0]] if said is None else []
    return f"{len(missed)} of the planted bugs were not caught" if missed else 0


sys.exit(main())
