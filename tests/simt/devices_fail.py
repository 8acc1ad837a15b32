#!/usr/bin/env python3
"""Several devices where something goes wrong, or is bounded.

    devices_fail.py --heddle BIN --db DB [--allocations N]

--db is TPC-H of any scale factor. Bad lists of devices are refused; of two devices one that is lost ends its query, whose
error names it, and the next query runs on the other; a query that is cancelled ends on both; refused memory and threads are
errors (--allocations: so many places, spread over all), after which a sanitized build has lost nothing; LIMIT takes so many
rows of those that there are; and what is too much for the memory of one device is not for that of four.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUERIES = (3, 6, 3, 6)
LIMITED = {"heddle": 1, "root": {"op": "limit", "limit": 1000, "offset": 10, "input": {
    "op": "scan", "table": "orders", "columns": ["o_orderkey", "o_custkey"], "filter": "o_orderkey % 3 = 0"}}}


def expect(truth, *what):
    if not truth:
        sys.exit(" ".join(map(str, what)))


def run(args, *command, devices="0,1", stdin=None, **env):
    env = {**os.environ, "HEDDLE_SPREAD": "always", **env}
    return subprocess.run([args.heddle, "run", *command, "--db", args.db, "--backend", "cuda", "--device", devices],
                          env=env, input=stdin, capture_output=True, text=True, timeout=300, check=False)


def plan(q):
    return str(ROOT / "tpch" / "plans" / f"q{q:02}.json")


def batch(args, **env):
    lines = "".join(json.dumps({"plan": plan(q)}) + "\n" for q in QUERIES)
    done = run(args, "--batch", "-", stdin=lines, **env)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    expect(len(answers) == len(QUERIES), env, answers, done.stderr)
    return answers, done


def check_lists(args):
    for devices, what in (("0,0", "named twice"), ("0,,1", "expected a number"), ("0,", "expected a number"),
                          ("some", "expected a number"), ("0,99999", "expected a number"), ("-1", "expected a number"),
                          ("0,1,2,3,4,5,6,7,8", "at most"), ("0,4", "there is no GPU 4")):
        done = run(args, plan(6), devices=devices)
        expect(done.returncode in (2, 3) and what in done.stderr, devices, done.returncode, done.stderr)
        expect(len(done.stderr.splitlines()) == 1 and not done.stdout, devices, done.stderr)
    for devices in ("all", "3", "3,1", "0,1,2,3"):
        expect(run(args, plan(6), devices=devices).returncode == 0, devices)


def check_lost(args):
    """Launch after launch on the second device is broken; the first query that has one fails, and no other."""
    want, _ = batch(args)
    expect(not any("error" in a for a in want), want)
    launch = lost = 0
    while True:
        launch += 1
        answers, done = batch(args, HEDDLE_FAULT=f"device1:{launch}")
        broken = [a["error"] for a in answers if "error" in a]
        if not broken:
            break
        lost += 1
        expect(len(broken) == 1 and broken[0]["class"] == "execution", launch, answers, done.stderr)
        expect(broken[0]["message"].startswith("GPU 1: ") and broken[0]["path"].startswith("$"), broken)
        for a, b in zip(answers, want):
            expect("error" in a or a["rows"] == b["rows"], launch, a, b)
    expect(lost >= 2, "only", lost, "launches were lost")
    answers, _ = batch(args, HEDDLE_FAULT="device:1+")
    expect(all("error" in a and a["error"]["message"].startswith("GPU") for a in answers[:1]), answers)
    expect(all("error" in a for a in answers), answers)
    return lost


def check_cancel(args):
    begun = time.monotonic()
    done = run(args, plan(3), "--no-cache", "--query-timeout", "0.3", HEDDLE_SIMT_COMPILE_MS="1500")
    expect(done.returncode == 4 and "timed out" in done.stderr, done.returncode, done.stderr)
    expect(time.monotonic() - begun < 60, "not within a minute")


def check_refusals(args):
    answers, _ = batch(args, HEDDLE_FAULT="thread:1+")
    expect(all(a["error"]["class"] == "resource" for a in answers), answers)
    failed = 0
    for k in range(args.allocations):
        at = 40 + int(1000 * (k / args.allocations) ** 1.5)
        done = run(args, plan(3), HEDDLE_FAULT=f"alloc:{at}")
        expect(done.returncode in (0, 3) or "memory" in done.stderr, "allocation", at, done.returncode, done.stderr)
        expect("Sanitizer" not in done.stderr, "allocation", at, done.stderr)
        failed += done.returncode != 0
    expect(failed or not args.allocations, "no allocation was refused")
    return failed


def check_limit(args):
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"heddle-limit-{os.getpid()}.json"
    rows = {}
    for name, tree in (("some", LIMITED), ("all", {**LIMITED, "root": LIMITED["root"]["input"]})):
        path.write_text(json.dumps(tree))
        done = run(args, str(path), "--format", "csv", devices="0,1,2")
        expect(done.returncode == 0, done.stderr)
        rows[name] = [tuple(r) for r in csv.reader(done.stdout.splitlines()[1:])]
    path.unlink()
    expect(len(rows["some"]) == 1000 and len(set(rows["some"])) == 1000, len(rows["some"]))
    expect(set(rows["some"]) <= set(rows["all"]), "rows that there are not")


def check_memory(args):
    """Of a query that goes through lineitem each device has a part."""
    def fits(devices, kilobytes):
        return run(args, plan(1), "--memory", f"{kilobytes}K", devices=devices, HEDDLE_POOL="direct").returncode == 0
    least = next(k for k in range(100, 4000, 100) if fits("0", k))
    expect(fits("0,1,2,3", least * 6 // 10), "four devices need more than 60 % of", least, "KiB")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--allocations", type=int, default=12)
    args = ap.parse_args()
    check_lists(args)
    lost = check_lost(args)
    check_cancel(args)
    failed = check_refusals(args)
    check_limit(args)
    check_memory(args)
    print(f"{lost} launches lost, {failed} refused allocations")


main()
