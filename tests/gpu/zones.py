#!/usr/bin/env python3
"""What zone maps gain: scans of a table that ascends roughly by date, resident and streamed, with and without zones.

    zones.py --heddle BIN --db DB [--rows N] [--repeat N] [PLAN...]

DB is made if it is not there, with the Python package (HEDDLE_LIBRARY, PYTHONPATH as for python/), numpy and pyarrow. Rows must be
those without zones (HEDDLE_ZONES=off). Of each way the fastest execution, rows that were read, and bytes that crossed the link.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SUMS = [{"fn": "sum", "arg": "price * disc", "as": "r"}, {"fn": "count", "as": "n"}]
PLANS = {  # Q6 over one of six years, a week of it, both ends, a filter that no zone helps, groups, few rows that read late columns
    "year": ("ts >= date '1997-01-01' and ts < date '1998-01-01' and disc between 5 and 7 and qty < 24", SUMS, []),
    "week": ("ts >= date '1997-01-01' and ts < date '1997-01-08' and disc between 5 and 7 and qty < 24", SUMS, []),
    "ends": ("(ts < date '1994-10-01' or ts > date '2000-12-01') and qty < 24", SUMS, []),
    "all": ("disc between 5 and 7 and qty < 24", SUMS, []),
    "groups": ("ts between date '1996-01-01' and date '1996-03-31'", [{"fn": "sum", "arg": "price", "as": "r"}], ["k"]),
    "late": ("k = 77777 and ts > date '1995-01-01'", SUMS, []),
    "text": ("note not like '%9%9%'", SUMS, []),
}
WAYS = {"resident": ((), {}), "staged": ((), {"HEDDLE_COLUMN_BYTES": "0"}),
        "pinned": (("--pin", "64G"), {"HEDDLE_COLUMN_BYTES": "0"})}


def make(db, rows):
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import heddle
    rng = np.random.default_rng(3)
    day = np.arange(rows, dtype=np.int64) * 2400 // rows + rng.integers(-20, 20, rows) + 9000
    k = rng.integers(0, 10**6, rows).astype("int32")
    heddle.create(db, {"log": pa.table({
        "ts": pa.array(day.astype("int32")).cast(pa.date32()), "price": rng.integers(0, 10**7, rows).astype("int32"),
        "disc": rng.integers(0, 11, rows).astype("int32"), "qty": rng.integers(1, 51, rows).astype("int32"), "k": k,
        "note": pc.binary_join_element_wise("note", pc.cast(k, pa.string()), pc.cast(pa.array(day), pa.string()), "-")})})


def run(args, plan, options, environment):
    command = [args.heddle, "run", plan, "--db", args.db, "--trust", "--backend", "cuda", "--format", "csv", "--time", "--repeat",
               str(args.repeat), *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return sorted(done.stdout.splitlines()), min(reports, key=lambda r: r["execute_ms"])


def show(name, way, zones, report):
    p, ms = report["pipelines"][0], report["execute_ms"]
    n = p["gpu"].get("streamed_bytes", 0)
    print(f"{name} {way}, zones {zones}: {ms:.3f} ms, {p['source_rows']} rows read, {n / 1e6:.1f} MB streamed, "
          f"{n / ms / 1e6:.1f} GB/s, {report.get('link_bytes', 0) / 1e6:.1f} MB expected over the link", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("plans", nargs="*", default=list(PLANS))
    args = parser.parse_args()
    if not Path(args.db).exists():
        make(args.db, args.rows)
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.plans:
            filter_, aggs, keys = PLANS[name]
            plan = Path(scratch, name + ".json")
            plan.write_text(json.dumps({"heddle": 1, "name": name, "root": {"op": "aggregate", "keys": keys, "aggs": aggs,
                                        "input": {"op": "scan", "table": "log", "filter": filter_}}}))
            for way, (options, environment) in WAYS.items():
                want, without = run(args, str(plan), options, {**environment, "HEDDLE_ZONES": "off"})
                rows, report = run(args, str(plan), options, environment)
                if rows != want:
                    sys.exit(f"{name}, {way}: other rows with zones")
                show(name, way, "on", report)
                show(name, way, "off", without)


if __name__ == "__main__":
    main()
