#!/usr/bin/env python3
"""Plans over tables of several segments give the rows of tables in one piece.

    segments.py --heddle BIN --db DB --segmented DB [--params CLASS.json] [--segments N] [--repeat 1] [--run "OPTIONS"] PLAN...

Both databases have the same tables. --run: how the plans run over segments, such as "--backend cuda --device 0,1"; in one
piece they do on the CPU.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile


def run(args, db, plan, params, *options):
    """Rows, and the report of the last execution."""
    command = [args.heddle, "run", plan, "--db", db, *params, "--format", "csv", "--time", "--threads", "2", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    ordered = json.loads(pathlib.Path(plan).read_text())["root"]["op"] == "sort"
    lines = done.stdout.splitlines()
    return lines if ordered else lines[:1] + sorted(lines[1:]), json.loads(done.stderr.splitlines()[-1])


def check(args, plan, params):
    """Fragments; 0: the plan reads no table of segments."""
    want, _ = run(args, args.db, plan, params, "--backend", "cpu")
    got, report = run(args, args.segmented, plan, params, "--repeat", str(args.repeat), *shlex.split(args.run))
    if want != got:
        at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
        raise SystemExit(f"{plan}: {len(want)} lines in one piece, {len(got)} over segments; line {at + 1}: "
                         f"{want[at:at + 1]}, {got[at:at + 1]}")
    if "segments" not in report.get("devices", {}).get("why", ""):
        return 0
    parts = [len(f["parts"]) for f in report["devices"]["fragments"]]
    if not set(parts) <= {1, args.segments} or args.segments not in parts:
        raise SystemExit(f"{plan}: parts {parts} of {args.segments} segments")
    return len(parts)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--segmented", required=True)
    ap.add_argument("--segments", type=int, default=3)
    ap.add_argument("--repeat", type=int, default=1)
    ap.add_argument("--params")
    ap.add_argument("--run", default="")
    ap.add_argument("plans", nargs="+")
    args = ap.parse_args()
    values = json.loads(pathlib.Path(args.params).read_text()) if args.params else {}
    fragments = []
    with tempfile.TemporaryDirectory() as scratch:
        for plan in args.plans:
            name, params = pathlib.Path(plan).stem, []
            if name in values:
                path = pathlib.Path(scratch) / f"{name}.json"
                path.write_text(json.dumps(values[name]))
                params = ["-p", f"@{path}"]
            fragments.append(check(args, plan, params))
    over = sum(n > 0 for n in fragments)
    print(f"{len(fragments)} plans, {over} of them over {args.segments} segments, {sum(fragments)} fragments")
    return 0 if over else "no plan read a table of segments"


sys.exit(main())
