#!/usr/bin/env python3
"""Tries hostile input by classes, and prints what was tried and what held. docs/reliability.md has the last long run.

    run.py --heddle BIN [--db DIR] [--seed N|commit] [--count K] [--seconds S] [--class NAME]...
    run.py --heddle BIN --only CLASS:SEED        repeats one trial

Every class is a file of classes/: trial(t) says with t.tell() what it tries, and returns judge.ROWS or judge.ERROR (a list
of them where it tries several plans at once), or raises judge.Broken. SHARE says how many of K trials a class takes where
one is dear (0: one). Trial i has seed N + i.
"""

import argparse
import importlib
import os
import platform
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parent / name) for name in ("cli", "diff", "e2e"))]

import judge  # noqa: E402
import seed as seeds  # noqa: E402
import world as worlds  # noqa: E402

CLASSES = ("kill", "full_disk", "flips", "crafted", "cancel", "capi", "readers", "wide", "plans", "batch", "like",
           "limits", "text")
FAILED = "failed"


class Tally:
    """What came of one class."""

    def __init__(self, name):
        self.name, self.counts, self.skipped = name, Counter(), None
        self.module = importlib.import_module(f"classes.{name}")

    def tried(self):
        return sum(self.counts.values())

    def wanted(self, count):
        return max(1, round(count * getattr(self.module, "SHARE", 1)))

    def cells(self):
        return [self.name, self.tried(), self.counts[judge.ROWS], self.counts[judge.ERROR], self.counts[FAILED]]

    def note(self):
        if self.skipped:
            return f"{self.name}: skipped, {self.skipped}"
        return getattr(self.module, "note", lambda: None)()


def try_one(world, tally, seed):
    """Runs one trial; its outcomes and what was tried, after a report if it failed."""
    trial = worlds.Trial(world, tally.name, seed)
    try:
        outcome = tally.module.trial(trial)
        return outcome if isinstance(outcome, list) else [outcome], trial.what
    except judge.Missing as missing:
        tally.skipped = str(missing)
        return [], trial.what
    except Exception as wrong:  # pylint: disable=broad-except
        reason = str(wrong) if isinstance(wrong, judge.Broken) else traceback.format_exc()
        print(f"FAIL {tally.name}:{seed}: {trial.what}\n    {reason}", flush=True)
        return [FAILED], trial.what
    finally:
        trial.close()


def try_all(world, tallies, args):
    """In turns, so that a limit of time cuts all classes alike."""
    begun = time.monotonic()
    for i in range(args.count):
        for tally in tallies:
            if tally.skipped or i >= tally.wanted(args.count):
                continue
            if args.seconds and time.monotonic() - begun > args.seconds:
                print(f"stopped after {args.seconds:g} s", flush=True)
                return
            outcomes, what = try_one(world, tally, args.seed + i)
            tally.counts.update(outcomes)
            if args.verbose:
                print(f"{tally.name}:{args.seed + i}: {what}: {', '.join(outcomes) or 'skipped'}", flush=True)


def table(tallies):
    """Markdown; docs/reliability.md has it as it is."""
    total = Counter()
    lines = ["| class | tried | rows | clean errors | failed |", "|---|---:|---:|---:|---:|"]
    for tally in tallies:
        total += tally.counts
        lines.append("| " + " | ".join(str(c) for c in tally.cells()) + " |")
    cells = ["all", sum(total.values()), total[judge.ROWS], total[judge.ERROR], total[FAILED]]
    lines.append("| " + " | ".join(str(c) for c in cells) + " |")
    return lines + [f"\n{note}" for note in (t.note() for t in tallies) if note]


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", help="a TPC-H database; by default one of scale factor 0.01 is made")
    ap.add_argument("--seed", type=seeds.seed, default=1)
    ap.add_argument("--count", type=int, default=20, help="trials of a class")
    ap.add_argument("--seconds", type=float, help="start no trial later")
    ap.add_argument("--class", dest="classes", action="append", choices=CLASSES)
    ap.add_argument("--only", metavar="CLASS:SEED")
    ap.add_argument("--slack", type=float, default=2, help="seconds that a busy machine may add to a time limit")
    ap.add_argument("--markdown", type=Path, help="write the table there, too")
    ap.add_argument("--verbose", action="store_true", help="print every trial")
    args = ap.parse_args()
    if args.only:
        name, _, number = args.only.partition(":")
        args.classes, args.seed, args.count, args.verbose = [name], int(number), 1, True
    return args


def main():
    args = arguments()
    tallies = [Tally(name) for name in args.classes or CLASSES]
    world = worlds.World(args.heddle, args.db, args.slack)
    try:
        try_all(world, tallies, args)
    finally:
        world.close()
    lines = table(tallies)
    print("\n".join(lines))
    if args.markdown:
        head = f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.machine()}: `{' '.join(sys.argv)}`\n"
        args.markdown.write_text("\n".join([head, *lines]) + "\n")
    failed = sum(t.counts[FAILED] for t in tallies)
    print(f"{sum(t.tried() for t in tallies) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
