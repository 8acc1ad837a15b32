#!/usr/bin/env python3
"""Times of queries on workers of Ray over partitions, beside one process over the whole database.

    ray_times.py DB [--params FILE] [--workers N] [--partitions N] [--repeat N] [--threads N] PLAN...

Of each plan in milliseconds: one process, its statement prepared before (shortest); the first execution on the workers, which
compiles; further executions of the prepared plan there (shortest and median); the difference of the shortest. Both take turns, so
that what else the machine does falls on both. Then processor time, which other processes disturb less: of the one process, and on the
workers of the longest parts of the fragments, one after the other, which is what cores of their own would take beside Ray. --split:
the times of each fragment below.
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
    """Milliseconds, those of the processor, and the result."""
    began, cpu = time.perf_counter(), time.process_time()
    result = run()
    result.arrow()
    return 1e3 * (time.perf_counter() - began), 1e3 * (time.process_time() - cpu), result


def longest_path(report):
    """Milliseconds of the processor: a worker's parts of a fragment take turns."""
    total = 0.0
    for f in report["fragments"]:
        workers = [0.0] * report["workers"]
        for p in f["parts"]:
            workers[p["worker"]] += p["cpu_ms"] + p["send_ms"]
        total += max(workers)
    return total


def measure(con, cluster, plan, values, repeat):
    """Milliseconds: alone, first, again, median, CPU alone, CPU there; and the last profile."""
    here, there = con.prepare(plan), cluster.prepare(plan)
    here.run(values).arrow()
    first = timed(lambda: there.run(values))[0]
    alone, again, paths = [], [], []
    for _ in range(repeat):
        alone.append(timed(lambda: here.run(values)))
        again.append(timed(lambda: there.run(values)))
        paths.append(longest_path(again[-1][2].profile.report))
    times = [a[0] for a in again]
    return (min(a[0] for a in alone), first, min(times), statistics.median(times), min(a[1] for a in alone), min(paths),
            again[-1][2].profile)


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
    sums, most = [0.0] * 6, (0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        heddle.ray.place(o.db, folder, o.workers, count=o.partitions)
        paths = [f"{folder}/node-{i}" for i in range(o.workers)]
        with heddle.connect(o.db, threads=o.threads, backend="cpu") as con, \
                heddle.ray.Cluster(paths, address="local", threads=o.threads, backend="cpu") as cluster:
            print("plan    " + "".join(f"{c:>10}" for c in ("alone", "first", "again", "median", "more", "CPU alone", "CPU path")))
            for plan in sorted(o.plans):
                alone, first, again, median, cpu, path, profile = measure(con, cluster, plan, values.get(plan.stem, {}), o.repeat)
                show(plan.stem, alone, first, again, median, again - alone, cpu, path)
                if o.split:
                    print(profile, flush=True)
                sums = [a + b for a, b in zip(sums, (alone, first, again, median, cpu, path))]
                most = max(most, (again - alone, plan.stem))
    show("sum", *sums[:4], sums[2] - sums[0], *sums[4:])
    print(f"at most {most[0]:.1f} more ({most[1]})")
    if o.limit and most[0] > o.limit:
        raise SystemExit(f"{most[1]} takes {most[0]:.0f} ms more than in one process, {o.limit:.0f} are allowed")


def show(name, *ms):
    print(f"{name:8}" + "".join(f"{m:10.1f}" for m in ms), flush=True)


main()
