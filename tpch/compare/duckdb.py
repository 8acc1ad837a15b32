#!/usr/bin/env python3
"""Compares Heddle with DuckDB on a suite: same data, same queries, same number of threads, hot, in turns.

Usage: duckdb.py --heddle BIN [--suite tpch|jcch|ssb] [--sf F] [--db DB] [--duckdb FILE] [--tbl DIR] [--threads N]
                 [--class C] [--queries 1,5-9] [--rounds N] [--repeat N] [--query-timeout S] [--out FILE.json]

A round runs every query first with Heddle, then with DuckDB, --repeat times each after one run that is
not counted, and once with Heddle in a new process with an empty cache of compiled objects ("cold"), where it
begins in code without optimisation. Times are medians in ms over all rounds:
  execute   Heddle, first morsel to last, in optimised code
  plan      Heddle, cold: plan and code generation, before the compiler
  compile   Heddle, cold: waiting for code
  cached    the same with a full cache
  start     plan + compile: from a plan's text to its first row
  total     start + execute + result, cold: what a query costs that Heddle never saw before
  duckdb    DuckDB, the whole statement with its result
  ratio     execute / duckdb;  total/d: total / duckdb
Memory is the largest resident size during the query in MB; mapped database files count in Heddle's,
cached table data and the Python interpreter in DuckDB's. state is Heddle's own account of query memory.
Needs the Python packages duckdb and numpy. What does not exist is made: DB by `heddle gen`, FILE from DIR or from `heddle gen --tbl`. DuckDB gets the queries'
own SQL; one that takes it longer than the timeout is given up, says so, and counts in no sum or ratio.
"""

import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# No DuckDB in this process: it would show in the memory figures of its children. It runs in lib/worker.py.
LIB = Path(__file__).resolve().parent / "lib"
sys.path.insert(0, str(LIB))

import needs  # noqa: E402
import suite as suites  # noqa: E402

COLUMNS = ("execute", "plan", "compile", "cached", "start", "total", "duckdb", "ratio", "total/d", "rss", "state", "duck rss")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--suite", choices=("tpch", "jcch", "ssb"), default="tpch")
    parser.add_argument("--sf", default="1")
    parser.add_argument("--db", type=Path, help="Heddle's database")
    parser.add_argument("--duckdb", type=Path, help="DuckDB's database file")
    parser.add_argument("--tbl", type=Path, help="the data as .tbl or .parquet")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--class", dest="cls", help="of parameters; the suite's default")
    parser.add_argument("--queries", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--query-timeout", type=float, help="seconds that DuckDB gets for a run")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


class Heddle:
    """Each call is a process of its own; its cache directory is ours, so cold and cached are known."""

    def __init__(self, binary, db, threads, scratch):
        self.base = [binary, "run"]
        self.options = ["--db", str(db), "--threads", str(threads), "--time", "--format", "csv"]
        self.scratch = scratch
        self.cache = scratch / "cache"

    def run(self, plan, values, repeat, tier="optimised"):
        """(one report per run, rows of the result, peak resident kB)"""
        parameters = self.scratch / "parameters.json"
        parameters.write_text(json.dumps(values))
        command = [*self.base, str(plan), *self.options, "-p", f"@{parameters}", "--repeat", str(repeat)]
        out, err = self.scratch / "out.csv", self.scratch / "err.txt"
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            child = subprocess.Popen(command, stdout=stdout, stderr=stderr,
                                     env={**os.environ, "HEDDLE_CACHE": str(self.cache), "HEDDLE_TIER": tier})
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        text = err.read_text(errors="replace")
        if child.returncode:
            raise RuntimeError(f"{plan.name}: exit status {child.returncode}: {text.strip()}")
        reports = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        if len(reports) != repeat:
            raise RuntimeError(f"{plan.name}: {len(reports)} reports of {repeat} runs: {text.strip()}")
        with open(out, newline="", encoding="utf-8") as file:
            rows = sum(1 for _ in csv.reader(file)) - 1
        return reports, rows, usage.ru_maxrss

    def run_cold(self, plan, values):
        kept, self.cache = self.cache, self.scratch / "cold"
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir()
        try:
            return self.run(plan, values, 1, "auto")
        finally:
            self.cache = kept


class DuckDB:
    def __init__(self, path, threads, timeout):
        self.timeout = timeout
        self.process = subprocess.Popen([sys.executable, str(LIB / "worker.py"), str(path), str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("DuckDB's process ended")
        return json.loads(line)

    def run(self, sql, repeat):
        self.process.stdin.write(json.dumps({"sql": sql, "repeat": repeat, "timeout": self.timeout}) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def prepare(args, scratch):
    """Paths of both databases, made where missing."""
    db, file = args.db or scratch / "db", args.duckdb or scratch / f"{args.suite}.duckdb"
    if not db.exists():
        subprocess.run([args.heddle, "gen", args.suite, "--sf", args.sf, "--out", str(db)], check=True)
    if not file.exists():
        source = args.tbl
        if source is None:
            source = scratch / "tbl"
            subprocess.run([args.heddle, "gen", args.suite, "--sf", args.sf, "--tbl", str(source)], check=True)
        partial = file.with_name(file.name + ".partial")
        partial.unlink(missing_ok=True)
        subprocess.run([sys.executable, str(LIB / "worker.py"), "--load", str(partial), str(source), args.suite], check=True)
        partial.rename(file)
        if args.tbl is None:
            shutil.rmtree(source)
    return db, file


class Query:
    """Everything measured of one query."""

    def __init__(self, name):
        self.name = name
        self.execute, self.result, self.cached, self.duckdb = [], [], [], []
        self.cold = []
        self.rss = self.state = self.duck_rss = 0
        self.rows = self.duck_rows = None
        self.timeout = None  # seconds after which DuckDB was given up

    def add_cold(self, reports, rows):
        self.cold += reports
        self.rows = rows

    def add_hot(self, reports, rss_kb):
        self.cached.append(reports[0]["compile_ms"])
        self.execute += [r["execute_ms"] for r in reports[1:]]
        self.result += [r["result_ms"] for r in reports[1:]]
        self.state = max(self.state, *(r["peak_bytes"] for r in reports))
        self.rss = max(self.rss, rss_kb)

    def add_duckdb(self, answer):
        self.timeout = answer.get("timeout")
        if self.timeout:
            return
        self.duckdb += answer["ms"][1:]
        self.duck_rows = answer["rows"]
        self.duck_rss = max(self.duck_rss, answer["rss_kb"])

    def figures(self):
        median = statistics.median

        def cold(*parts):
            return median(sum(r[f"{p}_ms"] for p in parts) for r in self.cold)

        execute, plan, compiled = median(self.execute), cold("plan", "codegen"), cold("compile")
        start = cold("plan", "codegen", "compile")
        total = cold("plan", "codegen", "compile", "execute", "result")
        duckdb = None if self.timeout else median(self.duckdb)
        ratios = (None, None) if self.timeout else (execute / duckdb, total / duckdb)
        return dict(zip(COLUMNS, (execute, plan, compiled, median(self.cached), start, total, duckdb, *ratios,
                                  self.rss / 1024, self.state / 2**20, self.duck_rss / 1024)))


def summary(rows):
    """Sums of the times, ratios of the sums, medians of the parts before execution, largest memory."""
    rows = [r for r in rows if r["duckdb"] is not None]
    total = {c: sum(r[c] for r in rows) for c in COLUMNS}
    total["ratio"], total["total/d"] = total["execute"] / total["duckdb"], total["total"] / total["duckdb"]
    largest = {c: max(r[c] for r in rows) for c in COLUMNS}
    for c in ("rss", "state", "duck rss"):
        total[c] = largest[c]
    return total, {c: statistics.median(r[c] for r in rows) for c in COLUMNS}, largest


def line(name, figures):
    cells = ["        -" if figures[c] is None else f"{figures[c]:>9.2f}" if c in ("ratio", "total/d") else f"{figures[c]:>9.1f}"
             for c in COLUMNS]
    return f"{name:<7}" + "".join(cells)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:<30}\r", end="", file=sys.stderr, flush=True)


def measure(args, heddle, duckdb, suite, queries):
    values = suite.parameters(args.cls, args.sf)
    measured = [Query(name) for name in queries]
    for q in measured:
        heddle.run(suite.plan_path(q.name), values[q.name], 1)
    for number in range(args.rounds):
        for q in measured:
            reports, _, rss = heddle.run(suite.plan_path(q.name), values[q.name], args.repeat + 1)
            q.add_hot(reports, rss)
            reports, rows, _ = heddle.run_cold(suite.plan_path(q.name), values[q.name])
            q.add_cold(reports, rows)
            if not q.timeout:
                q.add_duckdb(duckdb.run(suite.sql(q.name, values[q.name]), args.repeat + 1))
            progress(f"round {number + 1} of {args.rounds}: {q.name}")
    progress("")
    return measured


def show(args, suite, duckdb, measured, rows):
    print(f"{suite.data['title']} SF {args.sf}, {args.cls}, {args.threads} threads, median of {args.rounds} rounds of {args.repeat};"
          f" DuckDB {duckdb.about['version']} (its process starts at {duckdb.about['rss_kb'] / 1024:.0f} MB)")
    print(f"{'query':<7}" + "".join(f"{c:>9}" for c in COLUMNS))
    for q, figures in zip(measured, rows):
        print(line(q.name, figures))
    for name, figures in zip(("sum", "median", "largest"), summary(rows)):
        print(line(name, figures))
    print("(sum: ratios of the sums, largest memory)")
    for q in measured:
        if q.timeout:
            print(f"{q.name}: DuckDB given up after {q.timeout:g} s; in no sum")
    wrong = [q for q in measured if q.rows != q.duck_rows and not q.timeout]
    for q in wrong:
        print(f"{q.name}: Heddle gave {q.rows} rows, DuckDB {q.duck_rows}")
    return 1 if wrong else 0


def main():
    args = parse_args()
    needs.require("duckdb.py", "duckdb", "numpy")  # DuckDB hands its rows over as arrays of numpy
    suite = suites.Suite(suites.TPCH.parent / args.suite)
    args.cls = args.cls or suite.data["default_class"]
    queries = suite.select(args.queries)
    with tempfile.TemporaryDirectory(prefix="heddle-compare-") as scratch:
        scratch = Path(scratch)
        db, file = prepare(args, scratch)
        heddle, duckdb = Heddle(args.heddle, db, args.threads, scratch), DuckDB(file, args.threads, args.query_timeout)
        try:
            measured = measure(args, heddle, duckdb, suite, queries)
        finally:
            duckdb.close()
    rows = [q.figures() for q in measured]
    if args.out:
        args.out.write_text(json.dumps({
            "suite": args.suite, "sf": args.sf, "class": args.cls, "threads": args.threads, "duckdb": duckdb.about["version"],
            "queries": {q.name: {**f, "execute_runs": q.execute, "duckdb_runs": q.duckdb,
                                 "duckdb_timeout": q.timeout, "cold": q.cold}
                        for q, f in zip(measured, rows)}}, indent=1) + "\n")
    return show(args, suite, duckdb, measured, rows)


if __name__ == "__main__":
    sys.exit(main())
