#!/usr/bin/env python3
"""Times of queries on workers of Ray over partitions, beside one process over the whole database.

    ray_times.py DB [--params FILE] [--workers N] [--partitions N] [--repeat N] [--threads N] PLAN...

Of each plan in milliseconds: one process, its statement prepared before (median); the first execution on the workers, which
compiles; further executions of the prepared plan there (median and longest); the difference of the medians. Both take turns, so that
what else the machine does falls on both. --split: the times of each fragment below.
"""
import argparse
import json
import pathlib
import statistics
import tempfile
import time

import heddle
import heddle.ray


def timed(run):
    began = time.perf_counter()
    result = run()
    result.arrow()
    return 1e3 * (time.perf_counter() - began), result


def measure(con, cluster, plan, values, repeat):
    """Milliseconds: alone, first, again, longest; and the last report."""
    here, there = con.prepare(plan), cluster.prepare(plan)
    here.run(values).arrow()
    first, _ = timed(lambda: there.run(values))
    alone, again = [], []
    for _ in range(repeat):
        alone.append(timed(lambda: here.run(values))[0])
        ms, result = timed(lambda: there.run(values))
        again.append(ms)
    return statistics.median(alone), first, statistics.median(again), max(again), result


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("db")
    parser.add_argument("plans", nargs="+", type=pathlib.Path)
    parser.add_argument("--params", type=pathlib.Path, help="values of parameters by plan, as JSON")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=0, help="default: one for each worker")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1, help="of a worker, and of the one process")
    parser.add_argument("--split", action="store_true")
    parser.add_argument("--limit", type=float, help="fails if a query takes so many ms more than in one process")
    return parser.parse_args()


def main():
    o = parse()
    values = json.loads(o.params.read_text()) if o.params else {}
    sums, most = [0.0, 0.0, 0.0], (0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        heddle.ray.place(o.db, folder, o.workers, count=o.partitions)
        paths = [f"{folder}/node-{i}" for i in range(o.workers)]
        with heddle.connect(o.db, threads=o.threads, backend="cpu") as con, \
                heddle.ray.Cluster(paths, threads=o.threads, backend="cpu") as cluster:
            print(f"{'plan':8} {'alone':>8} {'first':>8} {'again':>8} {'longest':>8} {'more':>8}")
            for plan in sorted(o.plans):
                alone, first, again, longest, result = measure(con, cluster, plan, values.get(plan.stem, {}), o.repeat)
                print(f"{plan.stem:8} {alone:8.1f} {first:8.1f} {again:8.1f} {longest:8.1f} {again - alone:8.1f}", flush=True)
                if o.split:
                    print(result.profile, flush=True)
                sums = [a + b for a, b in zip(sums, (alone, first, again))]
                most = max(most, (again - alone, plan.stem))
    print(f"{'sum':8} {sums[0]:8.1f} {sums[1]:8.1f} {sums[2]:8.1f} {'':8} {sums[2] - sums[0]:8.1f}, at most {most[0]:.1f} ({most[1]})")
    if o.limit and most[0] > o.limit:
        raise SystemExit(f"{most[1]} takes {most[0]:.0f} ms more than in one process, {o.limit:.0f} are allowed")


main()
