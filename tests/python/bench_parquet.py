#!/usr/bin/env python3
"""Parquet into a database: heddle.create against DuckDB's `create table as`, from the same files, in turns.

Usage: PYTHONPATH=python build/venv/bin/python tests/python/bench_parquet.py --db tpch1 [--threads 2] [--rounds 3]

The files are written from a database of TPC-H: row groups of 122,880 rows, Snappy. Heddle checks keys, computes facts and
builds indexes; DuckDB's tables have no keys.
"""
import argparse
import pathlib
import shutil
import statistics
import tempfile
import time

import duckdb
import heddle


def keys(catalog):
    """Primary and foreign keys of a catalog, as heddle.create takes them."""
    primary = {t["name"]: t["primary_key"] for t in catalog["tables"] if t.get("primary_key")}
    foreign = {t["name"]: {tuple(k["columns"]): (k["table"], k["references"]) for k in t.get("foreign_keys", ())}
               for t in catalog["tables"]}
    return {"primary_keys": primary, "foreign_keys": foreign}


def time_duckdb(files, path, threads):
    begin = time.perf_counter()
    with duckdb.connect(str(path), config={"threads": threads}) as con:
        for table, file in files.items():
            con.execute(f"create table {table} as select * from '{file}'")
    return time.perf_counter() - begin


def time_heddle(files, path, threads, constraints):
    begin = time.perf_counter()
    heddle.create(path, files, threads=threads, progress=False, **constraints)
    return time.perf_counter() - begin


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--db", required=True)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    con = heddle.connect(options.db)
    with tempfile.TemporaryDirectory() as folder:
        folder, files = pathlib.Path(folder), {}
        for table in con.tables():
            files[table] = str(folder / f"{table}.parquet")
            con.run({"heddle": 1, "root": {"op": "scan", "table": table}}).write_parquet(
                files[table], row_group_size=122_880, compression="snappy")
        times = {"duckdb, in memory": [], "duckdb, a file": [], "heddle, no keys": [], "heddle, keys": []}
        for _ in range(options.rounds):
            times["duckdb, in memory"].append(time_duckdb(files, ":memory:", options.threads))
            times["duckdb, a file"].append(time_duckdb(files, folder / "file", options.threads))
            (folder / "file").unlink()
            for name, constraints in ("heddle, no keys", {}), ("heddle, keys", keys(con.catalog())):
                times[name].append(time_heddle(files, folder / "db", options.threads, constraints))
                shutil.rmtree(folder / "db")
    for name, seconds in times.items():
        print(f"{name:18} {statistics.median(seconds):6.2f} s   {' '.join(f'{s:.2f}' for s in seconds)}")


if __name__ == "__main__":
    main()
