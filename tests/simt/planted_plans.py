#!/usr/bin/env python3
"""Plants bugs in the templates of loops over pairs, lookups and finishes, and sees each caught by the test that claims
to: a script, or a program that lies beside the emulated heddle.

    planted_plans.py --heddle SIMT --root SOURCE [--only TEXT]

A bug is a piece of a template's text and what stands in its place; the emulator compiles it (HEDDLE_SIMT_PLANTED).
The tests must pass without a bug.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PAIRS = ["tests/e2e/pairs.py", "--threads", "1", "--sizes", "70:71:1", "--large", "300"]
RANGES = ["tests/e2e/ranges.py", "--count", "12"]
LOOPS = ["tests/e2e/ranked.py", "--plans", "0", "--loops", "5"]
BOUNDS = ["tests/e2e/looped.py", "--rows", "1300", "--only", "ln"]
GROUPS = ["tests/e2e/radix.py", "--rows", "300", "--groups"]
OUTER = ["tests/e2e/outer.py"]
SORTED = ["tests/diff/sweep.py", "--threads", "1", "--only"]
STATES = ["simt_test_states"]
PARTITION = ["simt_test_partition"]
RUNNING = ["simt_test_running"]
FRAMES = ["tests/e2e/frames.py", "--plans", "14", "--rows", "700", "--threads", "1"]
RANKED = ["tests/e2e/frames_ranked.py", "--plans", "16", "--rows", "500", "--threads", "1"]
TIES = ["tests/e2e/frames_ranked.py", "--plans", "12", "--rows", "120", "--threads", "1", "--seed", "2"]

# name, the test that catches it, template, text and replacement
BUGS = [
    ("a row makes a pair with itself", PAIRS, "loop.cuh", "(at - lane + HDD_LANES - 1)", "(at - lane + HDD_LANES)"),
    ("pairs within a tile come twice", PAIRS, "loop.cuh", "begin = own ? inside :", "begin = own ? first :"),
    ("the last place of the triangle is lost", PAIRS, "loop.cuh", "- slanted) * tiles;", "- slanted) * tiles - 1;"),
    ("lanes count in the copy behind theirs", PAIRS, "histogram.cuh", "hdd_lane() % copies)", "hdd_lane() % copies + 1)"),
    ("counts of a block are taken for one", PAIRS, "histogram.cuh", "add_count(i / copies, counted)",
     "add_count(i / copies, 1u)"),
    ("a lane's running value lacks its neighbour's", RUNNING, "finish_running.cu", "hdd_lane() >= from + by", "hdd_lane() > from + by"),
    ("a segment goes on where the next one begins", RUNNING, "finish_running.cu", "if (b.starts)\n", "if (false)\n"),
    ("groups end with the 32 rows that they begin in", RUNNING, "finish_running.cu", "~((2u << step) - 1)", "~((1u << step) - 1)"),
    ("groups of later chunks are not seen", RUNNING, "finish_running.cu", "&hdd_chunk_groups::first, (i32)p.n, true", "&hdd_chunk_groups::first, (i32)p.n, false"),
    # the first rows of each group, kept in registers
    ("a list forgets the keys behind a new one", LOOPS, "loop_top.cuh", "later(key[i - 1], earlier(k, key[i]))", "earlier(k, key[i])"),
    ("the bound is the last key but one", LOOPS, "loop_top.cuh", "bound.set(key[n - 1]);", "bound.set(key[n > 1 ? n - 2 : 0]);"),
    ("what equals the bound is dropped", LOOPS, "loop_top.cuh", "rank(v) <= key;", "rank(v) < key;"),
    ("largest values are compared as smallest ones", LOOPS, "loop_top.cuh", "return desc ? v < last : v > last;", "return v > last;"),
    ("negative floats order the other way round", LOOPS, "loop_top.cuh", "bits < 0 ? ~(u64)bits", "bits < 0 ? (u64)bits"),
    ("NULLs come last in every order", LOOPS, "loop_top.cuh", "nulls_first ? (Key)0 : ~(Key)0", "~(Key)0"),
    # bounds, and rows that are done with their first match
    ("bounds are those of half a warp", BOUNDS, "loop_bound.cuh", "u32 by = HDD_LANES / 2;", "u32 by = HDD_LANES / 4;"),
    ("rows of the state are lost behind a few that may pass", BOUNDS, "loop_bound.cuh", "hdd_min(many ? blind : HDD_LANES, end - at)", "hdd_min(many ? blind : 2 * HDD_LANES, end - at)"),
    ("a pair that waits alone is tested with its neighbours", BOUNDS, "loop.cuh", "        passed = live;\n        live = false;\n", ""),
    ("a row that waits takes the place of one that is done", BOUNDS, "loop_first.cuh", "        if (!(open >> j & 1))\n            mine[j] = other;", "        if (open >> j & 1)\n            mine[j] = other;"),
    ("rows without a match are not begun again", BOUNDS, "loop_first.cuh", "live = !p.settled((u32)row);", "live = p.settled((u32)row);"),
    # PARTITION
    ("rows of a warp lie where those of the warps before do", PARTITION, "finish_partition.cu",
     " + s.tile.counts.warp[hdd_warp()][d]);", ");"),
    ("digits stay where the rows were", PARTITION, "finish_partition.cu", "s.digit_at(s.place[i]) = s.digit[i];",
     "s.digit_at(i) = s.digit[i];"),
    ("NULL has the hash of no value", PARTITION, "finish_partition.cu", "hdd_mix(h ^ HDD_HASH_NULL)", "hdd_mix(h)"),
    ("what lies behind the last row is counted", PARTITION, "finish_partition.cu", "start + j * step < p.n);", "true);"),
    # ranges of columns by which tables are sorted
    ("a range ends where a long step does", [*SORTED, "merge inner int32 sorted alone"], "probe.cuh",
     "end = hdd_partition_point(end, beyond, [&](u32 r) { return c.at(r) == c.wanted; });", "(void)c;\n        end = beyond;"),
    ("a search that goes on passes what it looks for", [*SORTED, "merge inner int32 sorted alone"], "probe.cuh",
     "hdd_partition_point_near(rows, [&](u32 r) { return c.at(r) < c.wanted; }", "hdd_partition_point_near(rows, [&](u32 r) { return c.at(r) <= c.wanted; }"),
    ("the row behind is taken for one with the value", [*SORTED, "merge anti int32 right_sorted alone"], "probe.cuh",
     "return row < rows && at(row) == wanted ?", "return row < rows ?"),
    ("a tile reads the bits of the eight rows behind", OUTER, "tile.cuh",
     "hdd_load_const(reinterpret_cast<const u8 *>(bits) + first / 8);", "hdd_load_const(reinterpret_cast<const u8 *>(bits) + first / 8 + 1);"),
    # groups in slots of their own
    ("a group is that of the next slot", GROUPS, "aggregate.cuh", "place = (u32)at + 1;\n            }\n            if (fresh)\n                init(at);",
     "place = (u32)at + 2;\n            }\n            if (fresh)\n                init(at);"),
    ("a new group keeps what lay in its slot", GROUPS, "aggregate.cuh", "            if (fresh)\n                init(at);\n            uncounted.add",
     "            if (fresh)\n                (void)init;\n            uncounted.add"),
    ("lanes behind the first one have their own place", GROUPS, "aggregate.cuh",
     "return hdd_found{hdd_shuffle(place, ahead), group_lanes};\n    }\n\n  private:\n    // The key of a row, which",
     "return hdd_found{place, group_lanes};\n    }\n\n  private:\n    // The key of a row, which"),
    ("a lane without a row makes a group", GROUPS, "aggregate.cuh",
     "bool looks = live && ahead == hdd_lane();\n        u64 at = hdd_word_place", "bool looks = ahead == hdd_lane();\n        u64 at = hdd_word_place"),
    # limits of frames
    ("an end of a frame leaves its limit's own rows out", FRAMES, "finish_search.cu", "return p.behind ? c <= 0 : c < 0;", "return c < 0;"),
    ("a frame's limit is looked for as if keys ascended", FRAMES, "finish_search.cu", "return p.key.desc ? -c : c;", "return c;"),
    ("a frame's limit beyond its type is in front of all keys", FRAMES, "finish_search.cu", "return p.following ? -1 : 1;", "return 1;"),
    ("a frame's limit a step away is passed over", FRAMES, "finish_search.cu", "lo += step + 1;", "lo += step + 2;"),
    ("a frame's limit is looked for from a step too far", FRAMES, "finish_search.cu", "hi -= step;", "hi -= step + 1;"),
    # ranks
    ("a value's last row in front of a frame counts as one in it", RANKED, "finish_frames_distinct.cu", "(u32)(last - begin + 1)", "(u32)(last - begin)"),
    ("each row of a gap stands for its value", TIES, "finish_frames_distinct.cu", "there && next >= to ?", "there && next >= 0 ?"),
    ("a value is alone although it comes again behind the peers", TIES, "finish_frames_distinct.cu", "behind >= b);", "behind >= 0);"),
    ("of equally frequent values the largest is the mode", RANKED, "mode.cuh", "(u64)(u32)~place", "(u64)(u32)place"),
    ("the rows behind the core are no fringe", RANKED, "mode.cuh", "(whole && behind))", "behind)"),
    ("a frame's string lacks its last piece", RANKED, "finish_frame_text.cu", "n + b < bytes; b", "n + b < bytes && k == 0; b"),
    ("strings that are not there have a separator", RANKED, "finish_frame_text.cu", ".n + p.nseparator : 0", ".n + p.nseparator : p.nseparator"),
    ("values in front of the k-th are not left behind", RANKED, "finish_frames_ranked.cu", "want -= zeros ? 0 : n;", "want -= 0;"),
    ("the share of a quantile is passed by one", RANKED, "ranked.cuh", "(n * num - 1) / den", "n * num / den"),
    ("places of ones begin where those of zeros do", RANKED, "finish_ranked.cuh", "from = zeros ? lo : all + from - lo;", "from = zeros ? lo : from - lo;"),
    ("the first of a partition's values has no place", FRAMES, "finish_search.cu", "i > first ?", "i >= first ?"),
    # windows of hash tables
    ("a word without room in its window is lost", STATES, "finish_window.cu", "    hdd_window_spill(p, word);\n", ""),
    ("a window begins where the one before it does", STATES, "finish_window.cu", "window_of(i - 1) + 1 : 0; w <= last", "window_of(i - 1) + 1 : 0; w < last"),
    ("half of a window keeps the slots of the one before", STATES, "finish_window.cu", "s.word[k] = s.word[k + 1] = 0;", "s.word[k] = 0;"),
    ("equal keys of a window are not seen", STATES, "finish_window.cu", "if (there >> 32 == word >> 32 && hdd_window_equal(p, there, word)) {",
     "if (there == word) {"),
    ("a slot keeps a bit of the hash that says it has many rows", STATES, "finish_window.cu", "return word & ~HDD_SLOT_MANY;", "return word;"),
]


def outcome(args, test, folder, planted):
    """Runs the test: (whether it fails, its last line)."""
    script = test[0].endswith(".py")
    start = [sys.executable, "-B", args.root / test[0], "--heddle", args.heddle, "--backend", "cuda"]
    command = [*(start if script else [args.heddle.resolve().parent / test[0]]), *test[1:]]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "HEDDLE_SIMT_PLANTED": str(planted), "HEDDLE_CACHE": str(folder)})
    if "refused an emitted kernel" in done.stdout + done.stderr:
        sys.exit(f"{planted} does not compile\n{done.stdout}{done.stderr}")
    said = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode != 0, said[-1] if said else "nothing"


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
    failed, said = outcome(args, test, cache, folder)
    return said if failed else None


def check_sound(args, bugs):
    """A test that fails in any case catches nothing."""
    for test in {tuple(bug[1]): bug[1] for bug in bugs}.values():
        with tempfile.TemporaryDirectory() as scratch:
            failed, said = outcome(args, test, scratch, scratch)
        if failed:
            sys.exit(f"without a bug {' '.join(test)} fails: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--only", default="", help="bugs with this text in their names")
    args = parser.parse_args()
    missed, bugs = [], [b for b in BUGS if args.only in b[0]]
    check_sound(args, bugs)
    for bug in bugs:
        with tempfile.TemporaryDirectory() as scratch:
            said = caught(args, bug, scratch)
        print(f"{bug[0]}: {'MISSED' if said is None else 'caught: ' + said[:150]}", flush=True)
        missed += [bug[0]] if said is None else []
    return f"{len(missed)} of the planted bugs were not caught" if missed else 0


sys.exit(main())
