#!/usr/bin/env python3
"""Queries whose pipelines are split into fragments give the rows that they give in one piece.

    fragments.py --heddle BIN --db DB [--backend cpu|cuda] [--threads N] [--fragments K] [--params CLASS.json] PLAN...

HEDDLE_FRAGMENTS=K splits the source of every pipeline into K fragments, which two devices take in turns: states
are gathered and broadcast between them. On the CPU the devices are one memory. --params: values by query, for the
plan of the same name.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(args, fragments, *command):
    environment = {k: v for k, v in os.environ.items() if k != "HEDDLE_FRAGMENTS"}
    if fragments:
        environment["HEDDLE_FRAGMENTS"] = str(fragments)
    command = [args.heddle, *command, "--db", args.db, "--backend", args.backend]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def rows(args, plan, params, fragments):
    lines = run(args, fragments, "run", plan, *params, "--threads", args.threads, "--format", "csv").splitlines()
    ordered = json.loads(pathlib.Path(plan).read_text())["root"]["op"] == "sort"
    return lines if ordered else lines[:1] + sorted(lines[1:])


def schedule(args, plan, params):
    spec = run(args, args.fragments, "explain", plan, *params, "--dump", "spec")
    lines = spec[spec.index("\nschedule\n"):].splitlines()
    return [line for line in lines if line.startswith("  ")]


def check(args, plan, params):
    """The number of exchanges."""
    actions = schedule(args, plan, params)
    runs = [line for line in actions if " run " in line]
    whole = [line for line in runs if f" of {args.fragments} on device " not in line]
    if whole or not runs:
        raise SystemExit(f"{plan}: not split: {whole}")
    want, got = rows(args, plan, params, 0), rows(args, plan, params, args.fragments)
    if want != got:
        at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
        raise SystemExit(f"{plan}: {len(want)} lines in one piece, {len(got)} in fragments; line {at + 1}: "
                         f"{want[at:at + 1]}, {got[at:at + 1]}")
    return sum(" exchange " in line for line in actions)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--threads", default="3")
    ap.add_argument("--fragments", type=int, default=3)
    ap.add_argument("--params")
    ap.add_argument("plans", nargs="+")
    args = ap.parse_args()
    values = json.loads(pathlib.Path(args.params).read_text()) if args.params else {}
    exchanges = 0
    with tempfile.TemporaryDirectory() as scratch:
        for plan in args.plans:
            name, params = pathlib.Path(plan).stem, []
            if name in values:
                path = pathlib.Path(scratch) / f"{name}.json"
                path.write_text(json.dumps(values[name]))
                params = ["-p", f"@{path}"]
            exchanges += check(args, plan, params)
    print(f"{len(args.plans)} plans in {args.fragments} fragments, {exchanges} exchanges")
    return 0 if exchanges else "nothing was exchanged"


sys.exit(main())
