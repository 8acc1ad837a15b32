#!/usr/bin/env python3
"""Cancels queries on a GPU at random times: an execution ends with its rows or as cancelled, and the next one is right.

Usage: cancel.py --library FILE --db DB --sf F [--suite tpch|jcch|ssb] [--class C] [--queries 1,5-9] [--seconds 20] [--seed 1]

Another thread cancels between the beginning of heddle_execute and twice as long as the query takes, so that it meets the host before a launch,
kernels that are queued and not waited for, the wait, and the end. Rows are those of an execution before, sorted. It ends when each
query had its share of --seconds; at least one of ten executions must have been cancelled.
"""

import argparse
import ctypes
import json
import os
import random
import sys
import threading
import time
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
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


class Query:
    """A prepared plan, and its rows."""

    def __init__(self, con, native, plan, values):
        self.native, self.statement = native, con.prepare(plan)
        self.handle = self.statement._bind(values, {})
        for _ in range(4):  # the last ones as all that follow: compiled, with columns resident
            start = time.perf_counter()
            self.rows = self.execute()
            self.seconds = time.perf_counter() - start

    def execute(self):
        """Rows, or None: cancelled."""
        import pyarrow
        stream, error = self.native.Stream(), ctypes.c_void_p()
        if self.native.lib.heddle_execute(self.handle, ctypes.byref(stream), ctypes.byref(error)) == 0:
            table = pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
            return sorted(map(repr, table.to_pylist()))
        raised = self.native.take_error(error)
        if "cancelled" in str(raised):
            return None
        raise raised

    def cancel_after(self, seconds):
        def wait():
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:  # a sleep takes longer than a query
                pass
            self.statement.cancel()
        return threading.Thread(target=wait)


def harass(query, seconds, rng):
    """Executions, and those that were cancelled."""
    done = cancelled = 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or done < 10:
        thread = query.cancel_after(rng.uniform(0, 2 * query.seconds + 1e-4))
        thread.start()
        rows = query.execute()
        thread.join()
        if rows is not None and rows != query.rows:
            raise AssertionError("rows of an execution that somebody wanted to cancel")
        done += 1
        cancelled += rows is None
        while (rows := query.execute()) is None:  # a cancel that came late meets the next one
            pass
        if rows != query.rows:
            raise AssertionError("rows of the execution behind a cancelled one")
    return done, cancelled


def main():
    args = parse_args()
    os.environ["HEDDLE_LIBRARY"] = args.library
    sys.setswitchinterval(1e-5)
    import heddle
    from heddle import _native as native
    suite, rng, wrong, total, all_cancelled = Suite(ROOT / args.suite), random.Random(args.seed), 0, 0, 0
    values, names = suite.parameters(args.cls or suite.data["default_class"], args.sf), suite.select(args.queries)
    with heddle.connect(args.db, trust=True, backend="cuda") as con:
        for name in names:
            query = Query(con, native, json.loads(suite.plan_path(name).read_text()), values.get(name, {}))
            try:
                done, cancelled = harass(query, args.seconds / len(names), rng)
            except AssertionError as e:
                print(f"{name}: wrong {e}")
                wrong += 1
                continue
            total, all_cancelled = total + done, all_cancelled + cancelled
            print(f"{name}: {done} executions, {cancelled} cancelled, of {query.seconds * 1e3:.2f} ms", flush=True)
    print(f"{total} executions, {all_cancelled} cancelled, {wrong} queries wrong")
    return wrong > 0 or all_cancelled * 10 < total


if __name__ == "__main__":
    sys.exit(main())
