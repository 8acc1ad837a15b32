#!/usr/bin/env python3
"""Joins that search sorted rows: merge joins, points in intervals, inequalities; answers are worked out here.

Usage: ranges.py --heddle BIN --scratch DIR [--backend cuda|cpu] [--percent P] [--repeat N] [--only TEXT] [--duckdb]
                 [--out FILE.json]

At 100 percent: m(k, v) and n(k, w) with 64 M rows, sorted by the same unique keys; d(k, v) and e(k, w) with 20 M rows,
sorted, each key twice, every second key of one side lacking on the other; p(x) with 288 M points, and i(lo, hi), j(lo, hi)
with 204 K intervals, 1 and 10 of which a point is in on average; t(a) with 2 M rows and u(b, w) with 50 K. Written as text
with numpy and pyarrow and loaded once; --scratch keeps the data. Times are the fastest of --repeat executions after the
first, in ms. --duckdb runs the same queries there on the same rows, with 2 threads.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

COLUMNS = {"m": ("k", "v"), "n": ("k", "w"), "d": ("k", "v"), "e": ("k", "w"), "p": ("x",), "i": ("lo", "hi"),
           "j": ("lo", "hi"), "t": ("a",), "u": ("b", "w")}
SPACE = 2_000_000_000
KEPT, BANDWIDTH = 24, 4.5e12  # bytes of a row of four integers that may be NULL; bytes that a GPU's memory moves in a second


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--heddle", required=True)
    p.add_argument("--scratch", type=Path, required=True)
    p.add_argument("--backend", default="cuda")
    p.add_argument("--percent", type=float, default=100)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--only", default="")
    p.add_argument("--duckdb", action="store_true")
    p.add_argument("--out", type=Path)
    return p.parse_args()


# ---- data ------------------------------------------------------------------------------------

def make(np, percent):
    """Arrays by table."""
    rng = np.random.default_rng(3)
    rows = lambda n: max(16, int(n * percent / 100))  # noqa: E731
    small = lambda n: rng.integers(-1000, 1001, n, dtype=np.int32)  # noqa: E731
    unique, twice, points = rows(64_000_000), rows(20_000_000), rows(288_000_000)
    intervals, left, right = rows(204_000), rows(2_000_000), rows(50_000)
    keys = np.arange(unique, dtype=np.int32) * 3
    data = {"m": (keys, small(unique)), "n": (keys, small(unique))}
    half = np.arange(twice, dtype=np.int32) // 2
    data["d"] = (half * 2, small(twice))
    data["e"] = (half * 4, small(twice))
    data["p"] = (rng.integers(0, SPACE, points, dtype=np.int32),)
    for name, overlap in (("i", 1), ("j", 10)):
        lo = rng.integers(0, SPACE, intervals, dtype=np.int32)
        data[name] = (lo, lo + rng.integers(0, 2 * overlap * SPACE // intervals, intervals).astype(np.int32) % (2**31 - SPACE))
    data["t"] = (rng.integers(0, SPACE, left, dtype=np.int32),)
    data["u"] = (rng.integers(0, SPACE, right, dtype=np.int32), small(right))
    return data


def database(args, data):
    from pyarrow import csv, table
    db = args.scratch / f"ranges-{args.percent:g}"
    if (db / "catalog.json").exists():
        return db
    folder = args.scratch / f"{db.name}.csv"
    folder.mkdir(parents=True, exist_ok=True)
    for name, arrays in data.items():
        csv.write_csv(table(dict(zip(COLUMNS[name], arrays))), folder / f"{name}.csv", csv.WriteOptions(include_header=False))
    tables = [{"name": t, "columns": [{"name": c, "type": "int32"} for c in cs]} for t, cs in COLUMNS.items()]
    form = {"delimiter": ",", "header": False, "null": "", "trailing_delimiter": False}
    (folder / "schema.json").write_text(json.dumps({"format": form, "tables": tables}))
    subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", db], check=True,
                   stdout=subprocess.DEVNULL)
    for name in COLUMNS:
        (folder / f"{name}.csv").unlink()
    return db


# ---- works -----------------------------------------------------------------------------------

def scan(table):
    return {"op": "scan", "table": table, "alias": table}


def total(source, *aggs):
    return {"op": "aggregate", "aggs": [dict(zip(("fn", "as", "arg"), a)) for a in aggs], "input": source}


def join(left, right, strategy, **more):
    return {"op": "join", "kind": "inner", "strategy": strategy, "left": scan(left), "right": scan(right), **more}


def keys(left, right):
    return {"on": [[f"{left}.k", f"{right}.k"]], "build": "right"}


def works(np, data):
    """(name, plan, what it must give, SQL, and bytes read and written at least where rows are kept)"""
    mv, nw = (data[t][1].astype(np.int64) for t in "mn")
    for strategy in ("merge", "hash", "auto"):
        yield f"unique keys, {strategy}", total(join("m", "n", strategy, **keys("m", "n")), ("count", "c"), ("sum", "s", "n.w")), \
            [len(mv), int(nw.sum())], "select count(*), sum(w) from m join n on m.k = n.k"
    (dk, dv), (ek, ew) = data["d"], data["e"]
    shared = int(np.isin(dk, ek).sum())
    alone = int((~np.isin(ek, dk)).sum())
    outer = {**join("d", "e", "merge", on=[["d.k", "e.k"]]), "kind": "full"}
    yield "full outer, rows", {"op": "aggregate", "aggs": [{"fn": "count", "as": "c"}, {"fn": "count", "as": "x", "arg": "d.k"},
                                                            {"fn": "count", "as": "y", "arg": "e.k"}], "input": outer}, \
        [2 * shared + len(dk) - shared + alone, len(dk) + shared, 2 * shared + alone], \
        "select count(*), count(d.k), count(e.k) from d full join e on d.k = e.k"
    kept = {"op": "limit", "limit": 1 << 40, "input": {"op": "project", "exprs": [{"expr": c, "as": c.replace(".", "")} for c in ("d.k", "d.v", "e.k", "e.w")],
                                                       "input": outer}}
    n = 2 * shared + len(dk) - shared + alone
    # inputs once, rows out once, and once more by the aggregate above
    yield "full outer, rows kept", total(kept, ("count", "c"), ("count", "x", "dv"), ("count", "y", "ew")), \
        [n, len(dk) + shared, 2 * shared + alone], \
        "with o as materialized (select d.k, v, e.k as f, w from d full join e on d.k = e.k) " \
        "select count(*), count(v), count(w) from o", 8 * (len(dk) + len(ek)) + 2 * KEPT * n
    x = data["p"][0]
    for name, overlap in (("i", 1), ("j", 10)):
        lo, hi = data[name]
        inside = int((np.searchsorted(np.sort(lo), x, side="right") - np.searchsorted(np.sort(hi), x, side="left")).sum())
        yield f"points in intervals, overlap {overlap}", \
            total(join("p", name, "band", residual=f"p.x between {name}.lo and {name}.hi", build="right"), ("count", "c")), \
            [inside], f"select count(*) from p join {name} on x between {name}.lo and {name}.hi"
    a, (b, w) = data["t"][0], data["u"]
    order = np.argsort(b)
    below = np.searchsorted(b[order], a, side="left")
    sums = np.concatenate(([0], np.cumsum(w[order].astype(np.int64))))[below]
    for strategy in ("auto", "band", "loop"):
        yield f"inequality, {strategy}", total(join("t", "u", strategy, residual="t.a > u.b"), ("count", "c"), ("sum", "s", "u.w")), \
            [int(below.sum()), int(sums.sum())], "select count(*), sum(w) from t join u on a > b"


# ---- runs ------------------------------------------------------------------------------------

def execute(args, db, plan):
    file = args.scratch / "ranges-plan.json"
    file.write_text(json.dumps({"heddle": 1, "root": plan}))
    done = subprocess.run([args.heddle, "run", file, "--db", db, "--backend", args.backend, "--threads", "2", "--format", "csv",
                           "--repeat", str(args.repeat + 1), "--time"], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    times = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return [int(v) for v in done.stdout.splitlines()[-1].split(",")], times


def duck(data, sql, repeat, connection=[]):
    import duckdb
    import pyarrow
    if not connection:
        connection.append(duckdb.connect(config={"threads": 2}))
        for name, arrays in data.items():
            arrow = pyarrow.table(dict(zip(COLUMNS[name], arrays)))  # noqa: F841
            connection[0].execute(f"create table {name} as select * from arrow")
    best = 1e9
    for _ in range(repeat):
        began = time.monotonic()
        found = connection[0].execute(sql).fetchone()
        best = min(best, time.monotonic() - began)
    return list(found), best * 1000


def main():
    import numpy as np
    args = parse_args()
    data = make(np, args.percent)
    db = database(args, data)
    wrong, report = 0, {}
    for name, plan, want, sql, *moved in works(np, data):
        if args.only not in name:
            continue
        found, times = execute(args, db, plan)
        ms = min(t["execute_ms"] for t in times[1:]) if found else None
        report[name] = {"ms": ms, "right": found == want}
        wrong += found != want
        line = f"{name:34} {ms:10.2f} ms" if found else f"{name:34} {times}"
        if moved:
            report[name]["floor_ms"] = moved[0] / BANDWIDTH * 1000
            line += f"   floor {report[name]['floor_ms']:10.2f} ms"
        if args.duckdb and found:
            theirs, duck_ms = duck(data, sql, args.repeat)
            report[name]["duckdb_ms"] = duck_ms
            line += f"   DuckDB {duck_ms:10.2f} ms" + ("" if [int(v) for v in theirs] == want else "   DIFFERS")
        print(line + ("" if found == want else f"   WRONG: {found}, not {want}"), flush=True)
    if args.out:
        args.out.write_text(json.dumps(report, indent=2))
    return wrong != 0


sys.exit(main())
