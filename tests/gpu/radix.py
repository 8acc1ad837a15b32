#!/usr/bin/env python3
"""Joins, groupings and sorts of many rows on a GPU: where the time goes, and answers that are worked out here.

Usage: radix.py --heddle BIN --scratch DIR [--backend cuda|cpu] [--millions N] [--giant [BITS]] [--repeat N] [--only TEXT]
                [--parts BITS,...] [--duckdb] [--out FILE.json]

N (64) million rows a table: a(k, v) and b(k, w) have the same N million keys, one of a kind and at random; z(k) has as
many keys of a by Zipf's law with exponent 1.25; g(g, v) has keys out of 5/8 as many. Written as text with numpy and pyarrow and
loaded once; --scratch keeps the data. --giant joins 2^BITS (30) with as many rows, which the plan makes itself: a permutation
of such numbers by rounds of a Feistel network, over all pairs of 2^(BITS / 2) numbers; --only hash, --only radix: by one
strategy.

Times are of the fastest of --repeat executions after the first, in ms: of pipelines their kernels, of states their
finish, as another execution with --profile has it, and of that every fixed kernel (HEDDLE_FINISH_TIMES, one more
execution). --duckdb runs the same in DuckDB, on two threads as Heddle's CPU backend then does, in turns, with the
data in its own tables (a sort becomes another table). --parts repeats joins in parts with so many bits on the GPU (HEDDLE_GPU_PARTS).
"""

import argparse
import json
import os
import subprocess
import sys
import time
from multiprocessing import Process
from pathlib import Path

TABLES = {"a": ("k", "v"), "b": ("k", "w"), "z": ("k",), "g": ("g", "v")}
STEP = 37_000_003  # rows of b are those of a, in steps of so many


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--heddle", required=True)
    p.add_argument("--scratch", type=Path, required=True)
    p.add_argument("--backend", default="cuda")
    p.add_argument("--millions", type=float, default=64)
    p.add_argument("--giant", type=int, nargs="?", const=30, metavar="BITS")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--only", default="")
    p.add_argument("--parts", default="")
    p.add_argument("--duckdb", action="store_true")
    p.add_argument("--out", type=Path)
    return p.parse_args()


# ---- data ------------------------------------------------------------------------------------


def mix(np, x):
    """A permutation of 32 bits, of a uint32 array."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    return x ^ x >> np.uint32(16)


def columns(name, n):
    import numpy as np
    rng = np.random.default_rng({"a": 1, "b": 2, "z": 3, "g": 4}[name])
    number = np.arange(n, dtype=np.uint64)
    if name == "b":
        number = number * np.uint64(STEP) % np.uint64(n)
    if name == "z":
        number = np.minimum(rng.random(n) ** -4.0, 1e18).astype(np.uint64) % np.uint64(n)
    if name == "g":
        number = rng.integers(0, n * 5 // 8, n, dtype=np.uint64)
    key = mix(np, number.astype(np.uint32)).view(np.int32)
    return [key] if name == "z" else [key, rng.integers(-1000, 1001, n, dtype=np.int32)]


def write(name, n, folder):
    import pyarrow
    from pyarrow import csv
    table = pyarrow.table(dict(zip(TABLES[name], columns(name, n))))
    csv.write_csv(table, folder / f"{name}.csv", csv.WriteOptions(include_header=False))


def load(args, folder, tables, db):
    schema = {"format": {"delimiter": ",", "header": False, "null": "", "trailing_delimiter": False},
              "tables": [{"name": t, "columns": [{"name": c, "type": k} for c, k in cs.items()]} for t, cs in tables.items()]}
    (folder / "schema.json").write_text(json.dumps(schema))
    subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", db], check=True,
                   stdout=subprocess.DEVNULL)
    for name in tables:
        (folder / f"{name}.csv").unlink()


def database(args, n):
    db = args.scratch / f"radix-{n}"
    if (db / "catalog.json").exists():
        return db
    folder = args.scratch / f"{db.name}.csv"
    folder.mkdir(parents=True, exist_ok=True)
    writers = [Process(target=write, args=(name, n, folder)) for name in TABLES]
    for w in writers:
        w.start()
    for w in writers:
        w.join()
    load(args, folder, {t: {c: "int32" for c in cs} for t, cs in TABLES.items()}, db)
    return db


# ---- plans -----------------------------------------------------------------------------------


def scan(table, **names):
    node = {"op": "scan", "table": table}
    return {"op": "project", "input": node, "exprs": [{"expr": e, "as": n} for n, e in names.items()]} if names else node


def total(source, *aggs):
    return {"op": "aggregate", "aggs": [dict(zip(("fn", "as", "arg"), a)) for a in aggs], "input": source}


def join(left, right, strategy, on=("pk", "bk"), **more):
    return {"op": "join", "kind": "inner", "on": [list(on)], "build": "right", "strategy": strategy, "left": left,
            "right": right, **more}


def count_and_sum(probe, strategy):
    return total(join(scan(probe, pk="k"), scan("a", bk="k", v="v"), strategy), ("count", "n"), ("sum", "s", "v"))


def joins(n):
    import numpy as np
    (ak, av), (zk,) = (columns(t, n) for t in "az")
    order = np.argsort(ak)
    zipf = av[order[np.searchsorted(ak[order], zk)]]
    def joined(t):
        return f"select count(*), sum(a.v) from {t} join a on {t}.k = a.k"
    for strategy in ("hash", "radix", "auto"):
        yield joined("b"), f"join, {strategy}", count_and_sum("b", strategy), [n, int(av.sum(dtype=np.int64))]
        yield joined("z"), f"join, Zipf 1.25, {strategy}", count_and_sum("z", strategy), [n, int(zipf.sum(dtype=np.int64))]


def groups(n):
    import numpy as np
    gk, gv = columns("g", n)
    keys, counts = np.unique(gk, return_counts=True)
    by_key = {"op": "aggregate", "keys": ["g"], "aggs": [{"fn": "count", "as": "c"}, {"fn": "sum", "as": "s", "arg": "v"}],
              "input": scan("g")}
    yield "select count(*), max(c), sum(s) from (select count(*) c, sum(v) s from g group by g)", "groups", \
        total(by_key, ("count", "n"), ("max", "m", "c"), ("sum", "s", "s")), [len(keys), int(counts.max()), int(gv.sum(dtype=np.int64))]


def sorts(n):
    import numpy as np
    by_key = {"op": "sort", "keys": [{"expr": "k"}], "input": scan("b")}
    bk, bw = columns("b", n)
    first = np.argmin(bk)
    yield "create or replace temp table sorted as select k, w from b order by k, w", "sort", \
        {"op": "limit", "limit": 1, "input": {"op": "limit", "limit": n, "input": by_key}}, [int(bk[first]), int(bw[first])]


def works(n, only):
    """(SQL, name, plan, what it must give), of those whose names have `only` in them: answers take a while."""
    for prefix, some in (("join", joins), ("groups", groups), ("sort", sorts)):
        if only in prefix or prefix in only:
            yield from (w for w in some(n) if only in w[1])


def feistel(half, rounds):
    """All pairs of numbers of `half` bits, as one number of twice as many after so many rounds."""
    node = {"op": "join", "kind": "inner", "on": [], "left": scan("numbers", x="i"), "right": scan("numbers", y="i")}
    for i in range(rounds):
        turned = {"x": "y", "y": f"(x + y * y * {2 * i + 3} + y * {1021 + 2 * i} + {31 * i}) % {1 << half}"}
        node = {"op": "project", "input": node, "exprs": [{"expr": e, "as": c} for c, e in turned.items()]}
    return node


def giant(half, strategy):
    """Keys of both sides are all numbers of 2 * half bits."""
    sides = [{"op": "project", "input": feistel(half, rounds),
              "exprs": [{"expr": f"cast(x * {1 << half} + y as int32)", "as": key}, {"expr": "cast(x as int32)", "as": pay}]}
             for rounds, key, pay in ((4, "pk", "pv"), (5, "bk", "v"))]
    n = 1 << 2 * half
    every = n // 2 * ((1 << half) - 1)
    return total(join(*sides, strategy), ("count", "n"), ("sum", "s", "v"), ("sum", "t", "pv")), [n, every, every]


def numbers(args, half):
    db = args.scratch / f"radix-numbers-{half}"
    if not (db / "catalog.json").exists():
        folder = args.scratch / f"{db.name}.csv"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "numbers.csv").write_text("".join(f"{i}\n" for i in range(1 << half)))
        load(args, folder, {"numbers": {"i": "int64"}}, db)
    return db


# ---- measuring -------------------------------------------------------------------------------


def run(args, db, plan, *options, **environment):
    file = args.scratch / "radix.json"
    file.write_text(json.dumps({"heddle": 1, "root": plan}))
    done = subprocess.run([args.heddle, "run", file, "--db", db, "--trust", "--backend", args.backend, "--format", "csv",
                           *(["--threads", "2"] if args.duckdb else []), *options], text=True, capture_output=True, env={**os.environ, **environment})
    return (done.stdout, done.stderr) if done.returncode == 0 else sys.exit(done.stderr)


def told(pipelines, states, kernel):
    for p in pipelines:
        ms = p["gpu"]["kernel_ms"] if "gpu" in p else p["ms"]
        floor = f", floor {p['floor_ms']:.2f}" if "floor_ms" in p else ""
        retries = f", {p['gpu']['retries']} retries" if p.get("gpu", {}).get("retries") else ""
        print(f"    {p['name']} -> {p['state']:<22}{ms:>9.3f} ms{floor}{retries}")
    for s in states:
        if s["finish_ms"] >= 0.01:
            print(f"    finish {s['name']:<20}{s['finish_ms']:>9.3f} ms, {s['rows']} rows")
    for name, times in kernel.items():
        print(f"        {name:<25}{sum(times):>9.3f} ms" + (f" in {len(times)}" if len(times) > 1 else ""))


def kernels(args, db, plan, environment):
    """Of the second execution in a process: the first one compiles and makes room."""
    _, err = run(args, db, plan, "--time", "--repeat", "2", HEDDLE_FINISH_TIMES="1", **environment)
    found = {}
    for line in err.splitlines():
        if line.startswith("{"):
            last, found = found, {}
        if line.startswith("kernel "):
            found.setdefault(line.split()[1], []).append(float(line.split()[2]))
    return last


def measure(args, db, name, plan, want, **environment):
    out, err = run(args, db, plan, "--time", "--repeat", str(args.repeat + 1), **environment)
    found = [int(x) for x in out.splitlines()[-1].split(",")]
    if found != want:
        sys.exit(f"{name}: expected {want}, found {found}")
    reports = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    best = min(reports[1:], key=lambda r: r["execute_ms"])
    print(f"{name:<36}{best['execute_ms']:>9.2f} ms   peak {best['peak_bytes'] / 1e6:.0f} MB, first run "
          f"{reports[0]['execute_ms']:.1f} ms, compiled in {reports[0]['compile_ms']:.0f}", flush=True)
    profile = args.scratch / "radix-profile.json"
    run(args, db, plan, "--profile", str(profile), "--repeat", "2", **environment)
    report = json.loads(profile.read_text())
    told(report["pipelines"], report["states"], kernels(args, db, plan, environment) if args.backend == "cuda" else {})
    sys.stdout.flush()
    return {"work": name, "execute_ms": best["execute_ms"], "peak_bytes": best["peak_bytes"],
            "pipelines": {p["name"]: p.get("gpu", {}).get("kernel_ms", p["ms"]) for p in report["pipelines"]},
            "finish": {s["name"]: s["finish_ms"] for s in report["states"]}}


class Duck:
    """The same data and queries in DuckDB."""

    def __init__(self, n):
        import duckdb
        import pyarrow
        self.db = duckdb.connect(config={"threads": 2})
        for name, names in TABLES.items():
            arrays = pyarrow.table(dict(zip(names, columns(name, n))))
            self.db.execute(f"create table {name} as select * from arrays")
            del arrays

    def ms(self, sql, repeat):
        best = float("inf")
        for _ in range(repeat + 1):
            start = time.perf_counter()
            self.db.execute(sql).fetchall()
            best = min(best, time.perf_counter() - start)
        return best * 1e3


def main():
    args = parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    n, found = int(args.millions * 1e6), []
    if args.giant:
        for strategy in ("hash", "radix"):
            if args.only in strategy:
                plan, want = giant(args.giant // 2, strategy)
                found.append(measure(args, numbers(args, args.giant // 2),
                                     f"2^{args.giant} with 2^{args.giant}, {strategy}", plan, want))
    else:
        db = database(args, n)
        duck = Duck(n) if args.duckdb else None
        for sql, name, plan, want in works(n, args.only):
            before = duck.ms(sql, args.repeat) if duck else 0
            found.append(measure(args, db, name, plan, want))
            if duck:
                ms = min(before, duck.ms(sql, args.repeat))
                print(f"    DuckDB {ms:.1f} ms, ratio {found[-1]['execute_ms'] / ms:.2f}", flush=True)
            for bits in args.parts.split(",") if args.parts and name == "join, radix" else []:
                found.append(measure(args, db, f"{name}, {bits} bits", plan, want, HEDDLE_GPU_PARTS=bits))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} passed, 0 failed")


if __name__ == "__main__":
    main()
