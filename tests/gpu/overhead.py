#!/usr/bin/env python3
"""What an execution takes beside its kernels: wall time of a prepared statement's heddle_execute, less the sum of its kernels.

Usage: overhead.py --library FILE --db DB --sf F [--suite tpch|jcch|ssb] [--class C] [--queries 1,5-9] [--repeat 40]
                   [--base 30 --each 5] [--nsys PATH] [--out FILE.json]

FILE is libheddle.so, DB a database of the suite. Wall times are medians of --repeat executions with columns resident, after
three that are not counted. Kernels are those that Nsight Systems sees in a second run of the same executions; their time is
the device's own clock. A line says whether what is left is within --base us and --each us per kernel. Without nsys (--nsys '')
kernels are the pipelines' alone, by events around each, whose times have 1 to 3 us of the events in them.
"""

import argparse
import ctypes
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, Suite

sys.path.insert(0, str(ROOT / "python"))

WARM = 3  # executions before those that count
APART_S = 0.02  # between the windows of two queries, far more than two clocks differ by


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--library", required=True)
    p.add_argument("--db", required=True)
    p.add_argument("--sf", required=True, help="the scale factor of DB")
    p.add_argument("--suite", choices=("tpch", "jcch", "ssb"), default="tpch")
    p.add_argument("--class", dest="cls", help="of parameters; default: the suite's")
    p.add_argument("--queries", default="")
    p.add_argument("--repeat", type=int, default=40)
    p.add_argument("--base", type=float, default=30, metavar="US")
    p.add_argument("--each", type=float, default=5, metavar="US")
    p.add_argument("--nsys", default="nsys")
    p.add_argument("--out", type=Path)
    p.add_argument("--windows", type=Path, help=argparse.SUPPRESS)  # what the run under nsys leaves
    return p.parse_args()


def execute(native, statement):
    """Microseconds of heddle_execute, which ends with the rows in the stream."""
    stream, error = native.Stream(), ctypes.c_void_p()
    start = time.perf_counter_ns()
    rc = native.lib.heddle_execute(statement, ctypes.byref(stream), ctypes.byref(error))
    us = (time.perf_counter_ns() - start) / 1e3
    if rc != 0:
        raise native.take_error(error)
    ctypes.CFUNCTYPE(None, ctypes.POINTER(native.Stream))(stream.release)(stream)
    return us


def run(args, repeat):
    """{query: wall times, report of the last execution, when the executions were, in ns since 1970}"""
    os.environ["HEDDLE_LIBRARY"] = args.library
    import heddle
    from heddle import _native as native
    suite, out = Suite(ROOT / args.suite), {}
    values = suite.parameters(args.cls or suite.data["default_class"], args.sf)
    with heddle.connect(args.db, trust=True, backend="cuda") as con:
        for name in suite.select(args.queries):
            statement = con.prepare(json.loads(suite.plan_path(name).read_text()))
            handle = statement._bind(values.get(name, {}), {})
            for _ in range(WARM):
                execute(native, handle)
            time.sleep(APART_S)
            begin = time.time_ns()
            times = [execute(native, handle) for _ in range(repeat)]
            end = time.time_ns()
            time.sleep(APART_S)
            report = json.loads(native.text(native.lib.heddle_statement_report, handle))
            out[name] = {"us": times, "report": report, "begin": begin, "end": end}
            statement.close()
    return out


def traced(args, repeat):
    """{query: kernels and their microseconds, copies and clears, of one execution}"""
    with tempfile.TemporaryDirectory() as folder:
        windows, trace = Path(folder) / "windows.json", Path(folder) / "trace"
        own = [sys.executable, __file__, *sys.argv[1:], "--windows", windows, "--repeat", repeat]
        subprocess.run([str(c) for c in [args.nsys, "profile", "--trace", "cuda", "--cuda-graph-trace", "node", "--sample",
                                         "none", "--cpuctxsw", "none", "--export", "sqlite", "--output", trace, *own]],
                       check=True, stdout=subprocess.DEVNULL, env={**os.environ, "NSYS_NVTX_PROFILER_REGISTER_ONLY": "0"})
        db = sqlite3.connect(f"{trace}.sqlite")
        (epoch,) = db.execute("select utcEpochNs from TARGET_INFO_SESSION_START_TIME").fetchone()
        out = {}
        for name, w in json.loads(windows.read_text()).items():
            span = (w["begin"] - epoch - 5_000_000, w["end"] - epoch + 5_000_000)
            out[name] = {kind: (n / repeat, (ns or 0) / 1e3 / repeat) for kind, (n, ns) in count(db, span).items()}
        return out


def count(db, span):
    tables = {"kernel": "KERNEL", "copy": "MEMCPY", "clear": "MEMSET"}
    there = {name for (name,) in db.execute("select name from sqlite_master")}
    return {kind: db.execute(f"select count(*), sum(end - start) from CUPTI_ACTIVITY_KIND_{table} where start between ? and ?",
                             span).fetchone() if f"CUPTI_ACTIVITY_KIND_{table}" in there else (0, 0)
            for kind, table in tables.items()}


def by_events(args):
    os.environ["HEDDLE_KERNEL_TIMES"] = "1"
    out = {}
    for name, r in run(args, 5).items():
        kernels = [p["gpu"]["kernel_ms"] * 1e3 for p in r["report"]["pipelines"] if p.get("gpu", {}).get("kernel_ms")]
        out[name] = {"kernel": (len(kernels), sum(kernels)), "copy": (0, 0), "clear": (0, 0)}
    del os.environ["HEDDLE_KERNEL_TIMES"]
    return out


def main():
    args = parse_args()
    if args.windows:
        args.windows.write_text(json.dumps(run(args, args.repeat)))
        return 0
    kernels = traced(args, 20) if args.nsys else by_events(args)
    walls, lines, all_of, missed = run(args, args.repeat), [], [], 0
    print("| query | wall us | fastest | device us | kernels | their us | copies, clears | beside them us | allowed |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, r in walls.items():
        k, wall = kernels[name], statistics.median(r["us"])
        n, us = k["kernel"]
        beside, allowed = wall - us, args.base + args.each * n
        missed += beside > allowed
        all_of.append((wall, min(r["us"]), r["report"]["execute_ms"] * 1e3, n, us, beside, allowed))
        print(f"| {name} | {wall:.1f} | {min(r['us']):.1f} | {r['report']['execute_ms'] * 1e3:.1f} | {n:.4g} | {us:.1f} |"
              f" {k['copy'][0]:.4g}, {k['clear'][0]:.4g} | {beside:.1f} | {allowed:.0f}{'' if beside <= allowed else ' **missed**'} |")
        lines.append({"query": name, "wall_us": wall, "kernels": n, "kernels_us": us})
    print("| sum |" + " {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | | {:.0f} | {:.0f} |".format(*map(sum, zip(*all_of))))
    print(f"{missed} of {len(walls)} queries miss {args.base:.0f} + {args.each:.0f} n us")
    if args.out:
        args.out.write_text(json.dumps(lines, indent=1))
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
