#!/usr/bin/env python3
"""Runs plans on the CPU backend and, as emitted CUDA source, on the SIMT emulator; both must agree.

    check.py --heddle BIN --query BIN --db DB [--seeds N] [--modes auto|counted|all] [--params CLASS.json] [--framed]
             [--block N] PLAN...

Each plan runs on the emulator with the kernels that the planner would choose, and unless --modes is auto with
those that have every strategy in every balance mode. Where work is shared, all of it begins in one warp, so that
the others live on what is given to them, and states begin with so little room that most of them overflow. Rows
are counted per step there, and the counts must be the CPU's too: every node of the evaluation tree is visited
exactly once. (Where a CPU leaves a row's children at the first match, it may count fewer; so may a loop over pairs.)
--modes counted: kernels as chosen, and their counts. --block: warps of a block. --params: values by query, for the plan of the same name.
--framed: as if every pipeline were too large for one function, on both; the answers are still those of the others.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


class Failure(Exception):
    pass


class RowError(Exception):
    """The plan fails in some row: path and message."""


def run(command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        error = re.search(r"(\$\S*: (division by zero|numeric overflow))", done.stderr)
        if error:
            raise RowError(error.group(1))
        raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return done


def cpu_result(args, plan):
    """(csv, {(pipeline, step): rows}, those of them that are less than all, the most nodes of any expansion)"""
    params = ["-p", f"@{args.values}"] if args.values else []
    command = [args.heddle, "run", plan, "--db", args.db, "--backend", "cpu", "--threads", 1, "--format", "csv", *params]
    with tempfile.TemporaryDirectory() as scratch:
        profile = Path(scratch) / "profile.json"
        done = run(command + ["--profile", profile])
        if args.framed:
            framed = run(command + ["--profile", profile], HEDDLE_FRAME_WEIGHT="1")
            compare_rows(plan, done.stdout, framed.stdout, "framed, on the CPU")
        pipelines = json.loads(profile.read_text())["pipelines"]
    nodes = [after["rows"] for p in pipelines for s, after in zip(p["steps"], p["steps"][1:])
             if s["name"].startswith("expand")]
    rows = {(p["name"], k): s["rows"] for p in pipelines for k, s in enumerate(p["steps"])}
    return done.stdout, rows, early_steps(args, plan, params, pipelines), max(nodes, default=0)


def early_steps(args, plan, params, pipelines):
    """Steps below a level whose rows the CPU leaves at the first match, and whether a loop over pairs does so, too."""
    dump = run([args.heddle, "explain", plan, "--db", args.db, "--backend", "cpu", "--threads", 1, "--dump", "pipelines",
                *params]).stdout
    early = {p: not cpu for p, cpu in re.findall(r"^(p\d+): .*\[(cpu: )?first match\]", dump, re.MULTILINE)}
    opens = {p["name"]: next(k for k, s in enumerate(p["steps"]) if s["name"].startswith("expand"))
             for p in pipelines if p["name"] in early}
    return {(p["name"], k): early[p["name"]] for p in pipelines if p["name"] in early
            for k in range(opens[p["name"]] + 1, len(p["steps"]))}


def simt_result(args, plan, *options):
    params = ["--params", args.values] if args.values else []
    form = ["--frame-weight", 1] if args.framed else []
    form += ["--gpu-block", args.block] if args.block else []
    done = run([args.query, plan, "--db", args.db, "--seeds", args.seeds, *form, *params, *options])
    counters = re.findall(r"^(p\d+) (\d+) .*: (\d+)$", done.stderr, re.MULTILINE)
    return done.stdout, {(p, int(k)): int(rows) for p, k, rows in counters}


def is_ordered(plan):
    return json.loads(Path(plan).read_text())["root"]["op"] == "sort"


def compare_rows(plan, cpu, simt, how):
    want, got = cpu.splitlines(), simt.splitlines()
    if not is_ordered(plan):
        want, got = want[:1] + sorted(want[1:]), got[:1] + sorted(got[1:])
    if want == got:
        return
    at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
    raise Failure(f"{plan}, {how}: {len(want)} lines expected, {len(got)} found; line {at + 1}: "
                  f"expected {want[at:at + 1]}, found {got[at:at + 1]}")


def compare_counters(plan, cpu, early, simt):
    for key in sorted(cpu.keys() | simt.keys()):
        if cpu.get(key) != simt.get(key) and not (key in early and (early[key] or cpu[key] <= simt[key])):
            raise Failure(f"{plan}: {key[0]} step {key[1]}: {cpu.get(key)} rows on the CPU, {simt.get(key)} emulated")


def has_levels(args, plan):
    """Only pipelines with levels share work."""
    params = ["--params", args.values] if args.values else []
    source = run([args.query, plan, "--db", args.db, "--dump", "--balance", "nifs+aws", *params]).stdout
    return "hdd_any_balance(pipe);" in source


ALONE = ["none", "nifs"]
PUSHED = ["pp", "pp+lr", "shuffle", "shuffle+ibr"]  # of pipelines with levels
FIRST_ROWS = 40  # so little room that most states overflow
WORTH_SHARING = 4 * 64  # nodes; 64 are the least that can be divided
SHARED = ["nifs+fws", "nifs+fws-local", "nifs+aws"] # of pipelines with levels


def check_error(args, plan, expected):
    for options in ([], ["--first-tier"], ["--balance", "nifs+aws", "--scan-warps", 1]):
        try:
            simt_result(args, plan, *options)
        except RowError as error:
            if str(error) != expected:
                raise Failure(f"{plan}: expected \"{expected}\", found \"{error}\"") from None
            continue
        raise Failure(f"{plan}: the CPU finds \"{expected}\", the emulator does not")


def check(args, plan):
    try:
        check_rows(args, plan)
    except RowError as error:
        check_error(args, plan, str(error))


def check_rows(args, plan):
    expected, rows, early, nodes = cpu_result(args, plan)
    alone, _ = simt_result(args, plan)
    compare_rows(plan, expected, alone, "auto")
    if args.modes == "counted":
        compare_counters(plan, rows, early, simt_result(args, plan, "--profile")[1])
    if args.modes != "all":
        return
    if not args.framed:  # framed pipelines have none
        first, _ = simt_result(args, plan, "--first-tier", "--first-rows", FIRST_ROWS)
        compare_rows(plan, expected, first, "first tier")
    for mode in ALONE + (PUSHED + SHARED if has_levels(args, plan) else []):
        shares = mode in SHARED
        moved = 1 if mode == "nifs+aws" and args.seeds > 1 and nodes >= WORTH_SHARING else 0
        result, counted = simt_result(args, plan, "--balance", mode, "--scan-warps", int(shares), "--min-donations", moved,
                                      "--first-rows", FIRST_ROWS, "--profile")
        compare_rows(plan, expected, result, mode)
        compare_counters(plan, rows, early, counted)
    if has_levels(args, plan):  # every warp has a part of each row's children, where the source is small
        result, counted = simt_result(args, plan, "--balance", "nifs+aws", "--first-rows", FIRST_ROWS, "--profile")
        compare_rows(plan, expected, result, "parts")
        compare_counters(plan, rows, early, counted)


def write_values(args, plan, folder):
    """The file with the plan's parameters; None: it keeps its defaults."""
    if not args.params:
        return None
    values = json.loads(Path(args.params).read_text())[Path(plan).stem]
    path = Path(folder) / "params.json"
    path.write_text(json.dumps(values))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--query", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--modes", choices=["auto", "counted", "all"], default="all")
    parser.add_argument("--params")
    parser.add_argument("--framed", action="store_true")
    parser.add_argument("--block", default=0)
    parser.add_argument("plans", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for plan in args.plans:
            args.values = write_values(args, plan, folder)
            try:
                check(args, plan)
            except Failure as failure:
                sys.exit(str(failure))
            print(f"{Path(plan).name}: ok", flush=True)


if __name__ == "__main__":
    main()
