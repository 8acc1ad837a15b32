#!/usr/bin/env python3
"""Golden dumps: what `heddle explain` says of plans, compared with files. Data is bit-exact, so estimates and ranges are stable.

The folder of goldens has a text NAME.txt for each NAME.json of the folder of plans, and no others. `options.json` there,
if it is there, gives a plan options of the command line and variables of the environment.

    run.py --heddle BIN --db DB --plans DIR --golden DIR [--only NAMES] [--dump STAGES] [--kinds PROGRAM] [--update]

--only: not all plans of the folder, but those of these names (a,b,c).

--kinds: a program that prints the kinds of steps, sinks and others that there are; each must be met in one of the dumps.
"""
import argparse
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys

import dump_parts

EVERY_KERNEL = "every_kernel.txt"  # lines that all kernels have, once


def explain(args, plan, options):
    # Code of both backends is emitted without a device.
    command = [args.heddle, "explain", str(plan), "--db", args.db, "--backend", "cpu", "--threads", "2", "--dump",
               args.dump, *options.get("args", [])]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **options.get("env", {})})
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}\n{done.stderr}"


def wanted(args, name):
    return not args.only or name in args.only.split(",")


def goldens(args):
    """Name of the golden -> text."""
    plans = pathlib.Path(args.plans)
    options = plans / "options.json"
    options = json.loads(options.read_text()) if options.exists() else {}
    dumps = {plan.stem: explain(args, plan, options.pop(plan.stem, {}))
             for plan in sorted(plans.glob("*.json")) if plan.name != "options.json" and wanted(args, plan.stem)}
    if args.only and set(args.only.split(",")) != set(dumps):
        sys.exit(f"--only names plans that are not there: {args.only}")
    if options:
        sys.exit(f"options.json names plans that are not there: {', '.join(options)}")
    shared = dump_parts.shared_lines(dumps.values())
    texts = {name + ".txt": dump_parts.trim(dump, set(shared)) for name, dump in dumps.items()}
    return {**texts, EVERY_KERNEL: "".join(shared)} if shared else texts


def compare(golden, got, update):
    """Whether they are equal; says how they differ."""
    if update:
        golden.write_text(got)
        return True
    want = golden.read_text() if golden.exists() else ""
    sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(
        want.splitlines(), got.splitlines(), str(golden), "now", lineterm="", n=1))
    return want == got


def unmet_kinds(program, texts):
    """Kinds that no dump shows, as lines `category name`."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = [tuple(line.split(" ", 1)) for line in lines]
    return [f"{what} {name}" for what, name in kinds if not re.search(dump_parts.pattern(what, name), texts, re.M)]


def main():
    ap = argparse.ArgumentParser()
    for name in ("heddle", "db", "plans", "golden"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--dump", default="plan,physical,pipelines")
    ap.add_argument("--only")
    ap.add_argument("--kinds")
    ap.add_argument("--update", action="store_true")
    args = ap.parse_args()
    folder = pathlib.Path(args.golden)
    met = goldens(args)
    failed = sum(not compare(folder / name, text, args.update) for name, text in met.items())
    stale = [p for p in folder.glob("*.txt") if p.name not in met]
    for path in stale:
        print(f"{path}: no plan has this golden")
    unmet = unmet_kinds(args.kinds, "".join(met.values())) if args.kinds else []
    for kind in unmet:
        print(f"no plan has the {kind}")
    print(f"{len(met) - failed} passed, {failed} failed")
    if not met:
        print(f"no plan is in {args.plans}")
    return bool(failed or stale or unmet or not met)


if __name__ == "__main__":
    sys.exit(main())
