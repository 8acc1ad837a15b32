#!/usr/bin/env python3
"""Plants bugs in the headers that balance warps, one of each kind, and sees each caught.

    planted.py --proof explore|threads --cxx BIN --flags FLAGS --root SOURCE --scratch DIR LIBRARY...

A bug is a piece of a header's text and what stands in its place. The program must be right as it is and fail with
every bug.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

# name, proof and scenarios that catch it, header, text and replacement
BUGS = [
    ("the count is lowered after the mailbox is filled", "explore 3 warps, a tree", "aws.cuh",
     [("        if (to >= 0)\n            hdd_send_one(run);\n", ""),
      ("        hdd_atomic_add(&run.progress->donations, (u64)1);\n",
       "        hdd_atomic_add(&run.progress->donations, (u64)1);\n        hdd_send_one(run);\n")]),
    ("the mailbox is emptied after the bit is set", "explore 2 warps", "aws.cuh",
     [("    hdd_bitmap(run).set(run.warp());\n",
       "    hdd_bitmap(run).set(run.warp());\n    hdd_store_relaxed(box, (u32)HDD_MAIL_EMPTY);\n")]),
    ("a warp that is not the last one ends all", "explore 3 warps, rows", "share.cuh",
     [("hdd_shuffle(before, 0) + 1 != run.launch.warps", "hdd_shuffle(before, 0) + 2 < run.launch.warps")]),
    ("two donors claim one warp", "explore 3 warps, two donors", "bitmap.cuh",
     [("const u64 old = hdd_atomic_and_acquire(words + i / 64, ~bit);",
       "const u64 old = hdd_load_relaxed(words + i / 64);\n        hdd_atomic_and_acquire(words + i / 64, ~bit);")]),
    ("a range is lost on its way", "explore 2 warps", "nifs.cuh",
     [("hdd_range{r.begin + rest, part};", "hdd_range{r.begin + rest + 1, part - 1};")]),
    ("a range is given and kept", "explore 2 warps", "nifs.cuh",
     [("hdd_range{r.begin, rest};", "hdd_range{r.begin, r.n};"),
      ("        q.nodes = was.nodes - lost;\n", "")]),
    ("rows that wait are lost on their way", "explore 2 warps", "scan.cuh",
     [("        donation.alive[lane] = odd;", "        donation.alive[lane] = 0;")]),
    ("the last warp tells nobody", "explore 2 warps", "share.cuh",
     [("        hdd_store_relaxed(hdd_mailbox(run, w), (u32)HDD_MAIL_END);", "        (void)w;")]),
    ("a piece that found no room stays on its way", "explore fws, 2 warps, full", "fws.cuh",
     [("            hdd_send_none(run);\n", "")]),
    ("a bit is cleared and not looked at again", "explore fws local, 2 warps, full", "fws.cuh",
     [("        s = ring.pop();\n        if (s)\n            filled.set(warp);\n", "")]),
    ("a waiting warp does not look at the abort word", "explore cancelled", "share.cuh",
     [("== 0 && run.aborted()", "== HDD_POLLS && run.aborted()")]),
    ("the buffers between blocks are left full", "explore ibr, 2 warps", "shuffle.cuh",
     [("refills ? empty_buffers(p) : -1", "-1")]),
    ("a node is sent and kept", "explore ibr, 2 warps", "shuffle.cuh",
     [("        hdd_ring::hand_over(s);\n        r.begin++;\n        r.n--;\n", "        hdd_ring::hand_over(s);\n")]),
    ("a node that found no room is taken for sent", "explore ibr, 2 warps, full", "shuffle.cuh",
     [("ask(p, level, has && !sent, hdd_any(many))", "ask(p, level, false, hdd_any(many))"),
      ("        if (!s)\n            return false;\n        hdd_range &r = q.ranges()[hdd_lane()];\n",
       "        hdd_range &r = q.ranges()[hdd_lane()];\n        if (!s) {\n            r.n--;\n            return false;\n        }\n")]),
    ("the mailbox is filled without a release", "threads", "aws.cuh",
     [("hdd_store_release(hdd_mailbox(run, to)", "hdd_store_relaxed(hdd_mailbox(run, to)")]),
    ("the mailbox is read without an acquire", "threads", "aws.cuh",
     [("hdd_load_acquire(box)", "hdd_load_relaxed(box)")]),
    ("a warp is claimed without an acquire", "threads", "bitmap.cuh",
     [("const u64 old = hdd_atomic_and_acquire(words + i / 64, ~bit);",
       "const u64 old = hdd_atomic_or_release(words + i / 64, 0) & ~(u64)0;\n"
       "        __atomic_fetch_and(words + i / 64, ~bit, __ATOMIC_RELAXED);")]),
    ("a slot is handed over without a release", "threads", "ring.cuh",
     [("hdd_store_release(&s->turn, s->turn + 1)", "hdd_store_relaxed(&s->turn, s->turn + 1)")]),
]


def headers(args, folder, bug):
    target = folder / "hd"
    shutil.rmtree(folder, ignore_errors=True)
    target.mkdir(parents=True)
    for header in (args.root / "templates").glob("*.cuh"):
        shutil.copy(header, target)
    shutil.copy(args.root / "tests/simt/solo.cuh", target / "machine.cuh")
    path = target / bug[2]
    text = path.read_text()
    for old, new in bug[3]:
        if text.count(old) != 1:
            sys.exit(f"\"{bug[0]}\": {text.count(old)} places in {bug[2]} for\n{old}")
        text = text.replace(old, new)
    path.write_text(text)


def run(args, bug, options):
    folder = args.scratch / bug[0].replace(" ", "_")
    headers(args, folder, bug)
    program = folder / args.proof
    source = args.root / f"tests/simt/{args.proof}.cc"
    built = subprocess.run([args.cxx, *args.flags.split(), f"-I{folder}", f"-I{args.root}", source, *args.libraries,
                            "-lpthread", "-lm", "-o", program], capture_output=True, text=True)
    if built.returncode != 0:
        sys.exit(f"{folder.name} does not compile\n{built.stderr}")
    return subprocess.run([program, *options], capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--proof", choices=["explore", "threads"], required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--flags", required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("libraries", nargs="+")
    args = parser.parse_args()
    missed = []
    for bug in [b for b in BUGS if b[1].startswith(args.proof)]:
        _, _, scenario = bug[1].partition(" ")
        done = run(args, bug, ["--only", scenario] if scenario else ["--rounds", "200"])
        first = next((line for line in done.stderr.splitlines() if line.strip("= ")), "nothing")
        caught = done.returncode != 0
        print(f"{bug[0]}: {'caught: ' if caught else 'MISSED: '}{first}", flush=True)
        missed += [] if caught else [bug[0]]
    return f"{len(missed)} of the planted bugs were not caught" if missed else 0


sys.exit(main())
