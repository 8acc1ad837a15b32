"""2-body statistics on a CPU beside other programs: pairs.py --compare.

The same points, in turns, two threads each where the program has threads (cKDTree has one): DuckDB (a join of all rows with
those behind them, float32), Corrfunc (theory.DD, max_cells_per_dim=1, float32; it sorts points by z and leaves pairs out
that are too far apart there) and scipy's cKDTree (float64; its tree is built anew each time). Heddle's times are those of
execution, compiled, the others' of a call. Of each the best of two calls in a turn, and the median of --repeat turns.
Counts are compared: DuckDB's with none to differ, the others' up to pairs whose distance rounds to the other side of an edge.
"""
import statistics
import time

import numpy as np

EDGES = np.linspace(0, 174, 1001)
AT_EDGES = 1e-3  # of the pairs of a histogram
RADII = (1, 50)


def duckdb_runner(place, threads):
    import duckdb
    con = duckdb.connect()
    con.execute(f"SET threads = {threads}")
    ids, (x, y, z) = np.arange(len(place), dtype=np.int32), place.T.copy()
    con.register("points", {"id": ids, "x": x, "y": y, "z": z})
    con.execute("CREATE TABLE point AS FROM points")
    squares = " + ".join(f"(a.{c} - b.{c}) * (a.{c} - b.{c})" for c in "xyz")
    pairs = "FROM point a JOIN point b ON a.id < b.id"

    def within(radius):
        return con.execute(f"SELECT count(*) {pairs} AND {squares} < {radius * radius}::FLOAT").fetchone()[0]

    def histogram():
        rows = con.execute(f"SELECT least(999, floor(sqrt({squares}) * {1000 / 174}))::INT k, count(*) {pairs} GROUP BY k").fetchall()
        counts = np.zeros(1000, np.int64)
        for bucket, n in rows:
            counts[bucket] = n
        return counts
    return within, histogram


def corrfunc_runner(place, threads):
    from Corrfunc.theory.DD import DD
    axes = [np.ascontiguousarray(place[:, i]) for i in range(3)]

    def count(edges):
        found = DD(1, threads, edges, *axes, periodic=False, max_cells_per_dim=1)
        return found["npairs"].astype(np.int64)
    # Each pair is there twice; the first edge leaves the pairs of a point with itself out.
    first = 1e-6
    return (lambda radius: int(count(np.array([first, radius]))[0]) // 2,
            lambda: count(np.concatenate([[first], EDGES[1:]])) // 2)


def tree_runner(place, _threads):
    from scipy.spatial import cKDTree
    n, wide = len(place), place.astype(np.float64)

    def within(radius):
        tree = cKDTree(wide)
        return (int(tree.count_neighbors(tree, radius)) - n) // 2

    def histogram():
        tree = cKDTree(wide)
        within = tree.count_neighbors(tree, EDGES)  # those within 0 are the points themselves
        return np.diff(within) // 2
    return within, histogram


OTHERS = {"DuckDB": duckdb_runner, "Corrfunc": corrfunc_runner, "cKDTree": tree_runner}


def available(place, threads):
    found = {}
    for name, make in OTHERS.items():
        try:
            found[name] = make(place, threads)
        except ImportError:
            print(f"{name}: not installed (scripts/requirements-compare.txt)")
    return found


def timed(call):
    best, answer = float("inf"), None
    for _ in range(2):
        began = time.monotonic()
        answer = call()
        best = min(best, (time.monotonic() - began) * 1e3)
    return answer, best


def differ(exact, want, found):
    apart = int(np.abs(np.asarray(want) - np.asarray(found)).sum())
    return apart > 0 if exact else apart > AT_EDGES * max(np.sum(want), 2 / AT_EDGES)


def work(name, heddle, calls, exact, turns):
    """heddle() and each of calls give an answer and ms; true where one is wrong."""
    times, wrong = {"Heddle": []}, []
    for _ in range(turns):
        want, ms = heddle()
        times["Heddle"].append(ms)
        for other, call in calls.items():
            found, ms = timed(call)
            times.setdefault(other, []).append(ms)
            if differ(exact and other == "DuckDB", want, found):
                wrong.append(other)
    ours = statistics.median(times["Heddle"])
    print(f"{name:<22}Heddle {ours:.1f} ms" + "".join(
        f", {other} {statistics.median(ms):.1f} ms ({statistics.median(ms) / ours:.2f} of ours"
        f"{', WRONG' if other in wrong else ''})" for other, ms in times.items() if other != "Heddle"), flush=True)
    return {"work": name, "ms": {k: statistics.median(v) for k, v in times.items()}}, bool(wrong)


def compare(place, run_within, run_histogram, threads, turns):
    others = available(place, threads)
    found, wrong = [], 0
    for radius in RADII:
        calls = {name: (lambda f=within: f(radius)) for name, (within, _) in others.items()}
        row, bad = work(f"2-PCF within {radius}", lambda: run_within(radius), calls, True, turns)
        found.append(row)
        wrong += bad
    calls = {name: histogram for name, (_, histogram) in others.items()}
    row, bad = work("SDH, 1,000 buckets", run_histogram, calls, False, turns)
    found.append(row)
    return found, wrong + bad
