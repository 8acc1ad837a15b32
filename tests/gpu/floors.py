#!/usr/bin/env python3
"""Floors of a suite's queries on a GPU beside their times, as tables for docs/performance.md.

Usage: floors.py --library FILE --db DB --sf F [--suite tpch|jcch|ssb] [--class C] [--queries 1,5-9] [--repeat 5]
                 [--least 0.2] [--far 3] [--all] [--out FILE.json]

FILE is libheddle.so, DB a database of the suite. A first table has a line for each query: its time (columns resident, the
fastest of --repeat executions that count nothing), the sum of its pipelines' floors, the time as a multiple of it, and what bounds the
pipeline with the highest floor. A second one has the pipelines that take --least ms and --far times their floor; with --all,
all that take --least ms. A floor is `random_floor_ms` of a profile (docs/performance.md, "What a profile computes"): the longest of what
memory takes for the bytes, and a GPU for the lookups and for the atomic additions.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from common import ROOT, Suite

sys.path.insert(0, str(ROOT / "python"))


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--library", required=True)
    p.add_argument("--db", required=True)
    p.add_argument("--sf", required=True, help="the scale factor of DB")
    p.add_argument("--suite", choices=("tpch", "jcch", "ssb"), default="tpch")
    p.add_argument("--class", dest="cls", help="of parameters; default: the suite's")
    p.add_argument("--queries", default="")
    p.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--least", type=float, default=0.2, metavar="MS")
    p.add_argument("--far", type=float, default=3)
    p.add_argument("--all", action="store_true")
    p.add_argument("--out", type=Path)
    return p.parse_args()


def time_of(pipeline):
    return pipeline["gpu"]["kernel_ms"] if "gpu" in pipeline else pipeline["ms"]


def measure(con, plan, values, repeat):
    """The report of the fastest execution."""
    statement = con.prepare(plan, profile=True)
    try:
        reports = []
        for _ in range(repeat):
            reports.append(statement.run(values).profile.report)
        return min(reports, key=lambda r: r["execute_ms"])
    finally:
        statement.close()


def times(ms, floor):
    return f"{ms / floor:.1f}" if floor > 0 else ""


def query_line(name, report):
    pipelines = [p for p in report["pipelines"] if "random_floor_ms" in p]
    floor = sum(p["random_floor_ms"] for p in pipelines)
    longest = max(pipelines, key=lambda p: p["random_floor_ms"], default=None)
    finishes = sum(s["finish_ms"] for s in report["states"])
    return (f"| {name} | {report['execute_ms']:.3f} | {sum(map(time_of, pipelines)):.3f} | {finishes:.3f} | {floor:.3f} |"
            f" {times(report['execute_ms'], floor)} | {longest['bound'] if longest else ''} |")


def pipeline_lines(name, report, args):
    for p in report["pipelines"]:
        ms, floor = time_of(p), p.get("random_floor_ms", 0)
        if ms >= args.least and (args.all or ms >= args.far * floor):
            yield (f"| {name} {p['name']} | {p['path'].removeprefix('$.root')} | {p['state']} | {ms:.3f} | {p.get('floor_ms', 0):.3f} |"
                   f" {floor:.3f} | {times(ms, floor)} | {p.get('bound', '')} |")


def main():
    args = parse_args()
    os.environ["HEDDLE_LIBRARY"] = args.library
    import heddle
    suite = Suite(ROOT / args.suite)
    values = suite.parameters(args.cls or suite.data["default_class"], args.sf)
    reports = {}
    print("| query | ms | pipelines ms | finishes ms | floor ms | × | bound by |\n|---|---|---|---|---|---|---|")
    with heddle.connect(args.db, trust=True, backend=args.backend) as con:
        for name in suite.select(args.queries):
            plan = json.loads(suite.plan_path(name).read_text())
            reports[name] = measure(con, plan, values.get(name, {}), args.repeat)
            print(query_line(name, reports[name]), flush=True)
    total = sum(r["execute_ms"] for r in reports.values())
    floor = sum(p.get("random_floor_ms", 0) for r in reports.values() for p in r["pipelines"])
    print(f"| sum | {total:.2f} | | | {floor:.2f} | {times(total, floor)} | |\n")
    print("| pipeline | of the plan | fills | ms | every byte once | floor ms | × | bound by |\n|---|---|---|---|---|---|---|---|")
    for name, report in reports.items():
        for line in pipeline_lines(name, report, args):
            print(line)
    if args.out:
        args.out.write_text(json.dumps(reports))
    return 0


if __name__ == "__main__":
    sys.exit(main())
