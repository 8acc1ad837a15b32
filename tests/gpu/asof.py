#!/usr/bin/env python3
"""As-of joins of many rows: times, and answers that are worked out here; beside DuckDB's on the CPU.

Usage: asof.py --heddle BIN --scratch DIR [--backend cuda|cpu] [--trades N] [--quotes N] [--symbols N] [--repeat N]
               [--threads N] [--duckdb] [--out FILE.json]

Tables trade(symbol, at, shares) and quote(symbol, at, bid) have N million rows (64 and 16) of N symbols (10,000), at
random times; the tables of the same names with _sorted have them in the order of symbol and time. Each trade is joined
with the last quote of its symbol at that time or before. Times are the fastest of --repeat executions after the first,
in ms. With --duckdb the same is asked of DuckDB with as many threads, on the same rows as its own tables. Written as
text with numpy and pyarrow and loaded once; --scratch keeps the data.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

TABLES = {"trade": ("symbol", "at", "shares"), "quote": ("q_symbol", "q_at", "bid")}
TYPES = {"at": "int64", "q_at": "int64"}
DAY = 1 << 35  # a time is less; two of a symbol are rarely one


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--heddle", required=True)
    p.add_argument("--scratch", type=Path, required=True)
    p.add_argument("--backend", default="cuda")
    p.add_argument("--trades", type=float, default=64)
    p.add_argument("--quotes", type=float, default=16)
    p.add_argument("--symbols", type=int, default=10_000)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--threads", type=int)
    p.add_argument("--duckdb", action="store_true")
    p.add_argument("--out", type=Path)
    return p.parse_args()


def make(np, rows, seed, args):
    """symbol and time as one number, and a value."""
    draw = np.random.default_rng(seed)
    return (draw.integers(0, args.symbols, rows) * DAY + draw.integers(0, DAY, rows),
            draw.integers(0, 1000, rows, dtype=np.int32))


def write(np, folder, name, places, values):
    import pyarrow
    from pyarrow import csv
    columns = [(places // DAY).astype(np.int32), places % DAY, values]
    csv.write_csv(pyarrow.table(dict(zip(TABLES[name.split("_")[0]], columns))), folder / f"{name}.csv",
                  csv.WriteOptions(include_header=False))


def load(args, folder, db):
    tables = [{"name": t + s, "columns": [{"name": c, "type": TYPES.get(c, "int32")} for c in columns]}
              for t, columns in TABLES.items() for s in ("", "_sorted")]
    schema = {"format": {"delimiter": ",", "header": False, "null": "", "trailing_delimiter": False}, "tables": tables}
    (folder / "schema.json").write_text(json.dumps(schema))
    subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", db], check=True,
                   stdout=subprocess.DEVNULL)


def prepare(args):
    """The database, the text, and the row that every work gives: matches, shares and bids of them."""
    import numpy as np
    trades, quotes = int(args.trades * 1e6), int(args.quotes * 1e6)
    db = args.scratch / f"asof-{trades}-{quotes}-{args.symbols}"
    folder = args.scratch / f"{db.name}.csv"
    at, shares = make(np, trades, 1, args)
    quoted, bid = make(np, quotes, 2, args)
    by_place = np.lexsort((bid, quoted))  # of several quotes of one time the smallest bid counts
    order, bids = quoted[by_place], bid[by_place]
    if not (db / "catalog.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        by_time = np.argsort(at, kind="stable")
        for name, places, values in (("trade", at, shares), ("quote", quoted, bid),
                                     ("trade_sorted", at[by_time], shares[by_time]), ("quote_sorted", order, bids)):
            write(np, folder, name, places, values)
        load(args, folder, db)
    found = np.searchsorted(order, at, side="right") - 1
    hit = found >= 0
    hit[hit] = order[found[hit]] // DAY == at[hit] // DAY
    found = np.searchsorted(order, order[found[hit]], side="left")  # the first of its place
    return db, folder, [int(hit.sum()), int(shares[hit].sum(dtype=np.int64)), int(bids[found].sum(dtype=np.int64))]


def plan(suffix):
    aggs = [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "shares", "as": "s"}, {"fn": "sum", "arg": "bid", "as": "b"}]
    return {"op": "aggregate", "aggs": aggs, "input": {
        "op": "join", "kind": "inner", "on": [["symbol", "q_symbol"]],
        "asof": {"left": "at", "right": "q_at", "match": ">="},
        "left": {"op": "scan", "table": "trade" + suffix}, "right": {"op": "scan", "table": "quote" + suffix}}}


def measure(args, db, name, suffix, want):
    file = args.scratch / "asof.json"
    file.write_text(json.dumps({"heddle": 1, "root": plan(suffix)}))
    threads = ["--threads", str(args.threads)] if args.threads else []
    done = subprocess.run([args.heddle, "run", file, "--db", db, "--backend", args.backend, "--time", "--repeat",
                           str(args.repeat + 1), "--format", "csv", *threads], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    found = [int(x) for x in done.stdout.splitlines()[-1].split(",")]
    if found != want:
        sys.exit(f"{name}: expected {want}, found {found}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    best = min(reports[1:], key=lambda r: r["execute_ms"])
    return {"work": name, "execute_ms": best["execute_ms"], "peak_bytes": best["peak_bytes"]}


def duckdb_times(args, folder, suffix, want):
    import duckdb
    con = duckdb.connect()
    con.execute(f"SET threads = {args.threads or 2}")
    for table, names in TABLES.items():
        columns = ", ".join(f"'{c}': '{'BIGINT' if TYPES.get(c) == 'int64' else 'INTEGER'}'" for c in names)
        con.execute(f"CREATE TABLE {table} AS FROM read_csv('{folder}/{table}{suffix}.csv', header = false, "
                    f"columns = {{{columns}}})")
    times = []
    for _ in range(args.repeat + 1):
        began = time.monotonic()
        row = con.execute("SELECT count(*), sum(shares), sum(bid) FROM trade ASOF JOIN quote "
                          'ON symbol = q_symbol AND "at" >= q_at').fetchone()
        times.append((time.monotonic() - began) * 1e3)
    if row[:2] != (want[0], want[1]):  # of quotes of one time it may take any
        sys.exit(f"DuckDB: expected {want}, found {row}")
    return min(times[1:])


def main():
    args = parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    db, folder, want = prepare(args)
    results = []
    print(f"{args.trades:g} M trades, {args.quotes:g} M quotes, {args.symbols} symbols\n{'rows':<12}{'ms':>10}{'peak MB':>10}")
    for name, suffix in (("at random", ""), ("sorted", "_sorted")):
        r = measure(args, db, name, suffix, want)
        more = ""
        if args.duckdb:
            r["duckdb_ms"] = duckdb_times(args, folder, suffix, want)
            more = f"   DuckDB {r['duckdb_ms']:.0f} ms"
        results.append(r)
        print(f"{name:<12}{r['execute_ms']:>10.2f}{r['peak_bytes'] / 1e6:>10.1f}{more}", flush=True)
    if args.out:
        args.out.write_text(json.dumps(results, indent=1) + "\n")
    print(f"{len(results)} passed, 0 failed")


if __name__ == "__main__":
    main()
