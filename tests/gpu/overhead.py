#!/usr/bin/env python3
"""What an execution takes beside its kernels: wall time of a prepared statement's heddle_execute, less the sum of its kernels.

Usage: overhead.py --library FILE --db DB --sf F [--suite tpch|jcch|ssb] [--class C] [--queries 1,5-9] [--repeat 40]
                   [--base 30 --each 5] [--cupti FILE] [--beside FILE] [--out FILE.json]

FILE is libheddle.so, DB a database of the suite. Wall times are medians of --repeat executions with columns resident, after
three that are not counted; with --beside, another libheddle.so, both in turns. Kernels are those that CUPTI sees in a
second run of the same executions; their time is the device's own clock. A line says whether what is left is within --base us and
--each us per kernel; it counts where the result has at most 100 rows. libcupti.so is looked for beside the CUDA toolkit and
among Python's packages.
"""

import argparse
import ctypes
import glob
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, Suite

sys.path.insert(0, str(ROOT / "python"))

WARM = 3  # executions before those that count
TRACED = 20  # executions that CUPTI sees
SMALL = 100  # rows of a result, some 4 KB
KINDS = {1: "copy", 2: "clear", 10: "kernel"}  # CUpti_ActivityKind


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
    p.add_argument("--cupti")
    p.add_argument("--beside", metavar="FILE")
    p.add_argument("--out", type=Path)
    p.add_argument("--part", choices=("walls", "kernels"), help=argparse.SUPPRESS)  # a process of its own
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


def result_rows(native, statement):
    stream, array, error, rows = native.Stream(), native.Array(), ctypes.c_void_p(), 0
    if native.lib.heddle_execute(statement, ctypes.byref(stream), ctypes.byref(error)) != 0:
        raise native.take_error(error)
    get_next = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(stream.get_next)
    while get_next(ctypes.addressof(stream), ctypes.addressof(array)) == 0 and array.release:
        rows += array.length
        array.release(array)
    ctypes.CFUNCTYPE(None, ctypes.POINTER(native.Stream))(stream.release)(stream)
    return rows


class Cupti:
    """Counts and adds up what the device did, by kind; before the driver is opened."""

    def __init__(self, path):
        self.lib, self.seen, self.buffers = ctypes.CDLL(path), {}, {}
        self.request = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(self._request)
        self.complete = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t,
                                         ctypes.c_size_t)(self._complete)
        self.check(self.lib.cuptiActivityRegisterCallbacks(self.request, self.complete))
        for kind in KINDS:
            self.check(self.lib.cuptiActivityEnable(kind))

    @staticmethod
    def check(status):
        if status != 0:
            sys.exit(f"CUPTI: error {status}")

    def _request(self, buffer, size, records):
        made = ctypes.create_string_buffer(1 << 20)
        self.buffers[ctypes.addressof(made)] = made
        ctypes.c_void_p.from_address(buffer).value = ctypes.addressof(made)
        ctypes.c_size_t.from_address(size).value = 1 << 20
        ctypes.c_size_t.from_address(records).value = 0

    def _complete(self, _context, _stream, buffer, _size, valid):
        record = ctypes.c_void_p()
        while self.lib.cuptiActivityGetNextRecord(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record)) == 0:
            kind = ctypes.c_uint32.from_address(record.value).value
            begin, end = (ctypes.c_uint64.from_address(record.value + at).value for at in (16, 24))  # of each of KINDS
            n, ns = self.seen.get(kind, (0, 0))
            self.seen[kind] = (n + 1, ns + end - begin)
        del self.buffers[buffer]

    def take(self):
        """{kind: (number, ns)} since the last time."""
        self.check(self.lib.cuptiActivityFlushAll(1))
        seen, self.seen = self.seen, {}
        return {name: seen.get(kind, (0, 0)) for kind, name in KINDS.items()}


def find_cupti(args):
    places = [args.cupti] if args.cupti else [
        *glob.glob("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"), *glob.glob("/usr/local/cuda/lib64/libcupti.so"),
        *(f for p in sys.path for f in glob.glob(f"{p}/nvidia/*/lib/libcupti.so.*"))]
    if not places:
        sys.exit("libcupti.so is not there: --cupti names it")
    return places[0]


def run_part(args):
    """In this process: {query: wall times, or what CUPTI saw of an execution; rows of the result}"""
    cupti = Cupti(find_cupti(args)) if args.part == "kernels" else None
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
            if cupti:
                cupti.take()
            times = [execute(native, handle) for _ in range(TRACED if cupti else args.repeat)]
            seen = {k: (n / TRACED, ns / 1e3 / TRACED) for k, (n, ns) in cupti.take().items()} if cupti else None
            report = json.loads(native.text(native.lib.heddle_statement_report, handle))
            out[name] = {"us": times, "seen": seen, "device_us": report["execute_ms"] * 1e3, "rows": result_rows(native, handle)}
            statement.close()
    return out


def part(args, what, library):
    own = [sys.executable, __file__, *sys.argv[1:], "--library", library, "--part", what]
    return json.loads(subprocess.run(own, check=True, stdout=subprocess.PIPE).stdout)


def walls(args, library, runs):
    """Of several processes: the times of all, the shortest time on the device."""
    out = {}
    for run in runs:
        for name, r in run.items():
            before = out.get(name, {"us": [], "device_us": r["device_us"]})
            out[name] = {**r, "us": before["us"] + r["us"], "device_us": min(before["device_us"], r["device_us"])}
    return out


def main():
    args = parse_args()
    if args.part:
        print(json.dumps(run_part(args)))
        return 0
    seen = part(args, "kernels", args.library)
    libraries, runs = [args.library, *([args.beside] if args.beside else [])], {}
    for turn in range(2 if args.beside else 1):
        for library in libraries if turn % 2 == 0 else libraries[::-1]:
            runs.setdefault(library, []).append(part(args, "walls", library))
    own, other = (walls(args, l, runs[l]) if l else None for l in (args.library, args.beside))
    lines, sums, missed, counted = [], [], 0, 0
    print("| query | wall us | device us | kernels | their us | copies, clears | beside them us | allowed |" +
          (" beside: wall us | device us |" if other else ""))
    print("|---|---|---|---|---|---|---|---|" + ("---|---|" if other else ""))
    for name, r in own.items():
        k, wall = seen[name]["seen"], statistics.median(r["us"])
        (n, us), small = k["kernel"], r["rows"] <= SMALL
        beside, allowed = wall - us, args.base + args.each * n
        counted += small
        missed += small and beside > allowed
        said = "" if beside <= allowed else " **missed**" if small else " (large result)"
        also = (statistics.median(other[name]["us"]), other[name]["device_us"]) if other else ()
        print(f"| {name} | {wall:.1f} | {r['device_us']:.1f} | {n:.4g} | {us:.1f} | {k['copy'][0]:.3g}, {k['clear'][0]:.3g} |"
              f" {beside:.1f} | {allowed:.0f}{said} |" + "".join(f" {x:.1f} |" for x in also))
        sums.append((wall, r["device_us"], n, us, beside, allowed, *also))
        lines.append({"query": name, "wall_us": wall, "device_us": r["device_us"], "kernels": n, "kernels_us": us})
    t = [sum(x) for x in zip(*sums)]
    print("| sum | {:.0f} | {:.0f} | {:.0f} | {:.0f} | | {:.0f} | {:.0f} |".format(*t) + "".join(f" {x:.0f} |" for x in t[6:]))
    print(f"{missed} of {counted} queries with a result of at most {SMALL} rows miss {args.base:.0f} + {args.each:.0f} n us")
    if args.out:
        args.out.write_text(json.dumps(lines, indent=1))
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
