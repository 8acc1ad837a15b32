#!/usr/bin/env python3
"""Runs the queries of a suite with Heddle and checks every row.

Usage: run.py --heddle BIN --sf F [--suite tpch|jcch|ssb] [--db DB] [--class C,C...] [--threads N,N...]
              [--queries 1,5-9] [--against auto|answers|duckdb] [--duckdb FILE] [--tbl DIR] [--backend B]

DB is made by `heddle gen` where it does not exist; without --db it is a temporary one. Classes are those that
the suite has answers for, unless said.

What is expected comes from the stored answers where the suite has them for the class and the scale
factor, and otherwise from DuckDB over the same data: the official query, with averages and divisions
given as exact sums and counts (exact/), or what the suite has in its folder sql where DuckDB would take too
long. The data is DIR, or else what `heddle gen --tbl` writes;
with --duckdb it is kept in FILE for the next time. Without the duckdb module those cases are skipped.
The last line counts the cases: N passed, N failed, N skipped.
"""

import argparse
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "tpch" / "compare" / "lib"))

import check  # noqa: E402
import suite as suites  # noqa: E402

TIMEOUT_S = 600


class Skip(Exception):
    pass


def words(text):
    return [w for w in text.split(",") if w]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--suite", choices=("tpch", "jcch", "ssb"), default="tpch")
    parser.add_argument("--db", type=Path)
    parser.add_argument("--sf", required=True, help="the scale factor of DB")
    parser.add_argument("--class", dest="classes", type=words)
    parser.add_argument("--threads", type=words, default=[""], help="default: Heddle's own")
    parser.add_argument("--queries", default="")
    parser.add_argument("--against", choices=("auto", "answers", "duckdb"), default="auto")
    parser.add_argument("--duckdb", type=Path, help="a DuckDB file with the data; made if it does not exist")
    parser.add_argument("--tbl", type=Path, help="the data as .tbl or .parquet")
    parser.add_argument("--backend")
    parser.add_argument("-v", "--verbose", action="store_true", help="also name what passed")
    return parser.parse_args()


def generate(args, *where):
    subprocess.run([args.heddle, "gen", args.suite, "--sf", args.sf, *map(str, where)], check=True,
                   stdout=subprocess.DEVNULL)


class Database:
    """DuckDB over the same data, opened when first needed."""

    def __init__(self, args, scratch, suite):
        self.args, self.scratch, self.suite, self.connection, self.missing = args, scratch, suite, None, None

    def open(self):
        try:
            import duckdb
        except ImportError:
            raise Skip("no duckdb module") from None
        path = self.args.duckdb or self.scratch / "suite.duckdb"
        if not path.exists():
            self.fill(duckdb, path)
        self.connection = duckdb.connect(str(path), read_only=True)

    def fill(self, duckdb, path):
        source = self.args.tbl
        if source is None:
            source = self.scratch / "tbl"
            generate(self.args, "--tbl", source)
        partial = path.with_name(path.name + ".partial")
        partial.unlink(missing_ok=True)
        connection = duckdb.connect(str(partial))
        suites.load_duckdb(connection, source, self.suite.tables())
        connection.close()
        partial.rename(path)

    def rows(self, sql):
        if self.missing:
            raise Skip(self.missing)
        if self.connection is None:
            try:
                self.open()
            except Skip as reason:
                self.missing = str(reason)
                raise
        cursor = self.connection.execute(sql)
        return [d[0] for d in cursor.description], cursor.fetchall()


class Runner:
    def __init__(self, args, scratch):
        self.args, self.scratch = args, scratch
        self.suite = suites.Suite(HERE.parents[1] / args.suite)
        self.database = Database(args, scratch, self.suite)
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def expected(self, cls, query, values):
        """(column names, all rows, row limit that a result is subject to)"""
        answer = self.suite.answer_path(query, cls, self.args.sf)
        if self.args.against == "answers" and answer is None:
            raise Skip("no stored answer")
        if self.args.against != "duckdb" and answer is not None:
            with open(answer, newline="", encoding="utf-8") as file:
                return *check.read_csv(file), None
        sql = self.suite.sql(query, values, (self.suite.folder / "sql", HERE / "exact", suites.SQL))
        # Without its limit: rows that tie at the border may be chosen freely.
        return *self.database.rows(re.sub(r"\nlimit \d+\s*$", "", sql)), self.suite.queries[query].get("limit")

    def found(self, query, values, threads):
        parameters = self.scratch / "parameters.json"
        parameters.write_text(json.dumps(values))
        command = [self.args.heddle, "run", str(self.suite.plan_path(query)), "--db", str(self.args.db),
                   "-p", f"@{parameters}", "--format", "csv"]
        command += ["--threads", threads] if threads else []
        command += ["--backend", self.args.backend] if self.args.backend else []
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        return check.read_csv(io.StringIO(done.stdout.decode(), newline=""))

    def report(self, verdict, cls, query, threads, text=""):
        self.counts[verdict] += 1
        if verdict != "passed" or self.args.verbose:
            where = f"{query} {cls}" + (f" threads {threads}" if threads else "")
            print(f"{verdict}: {where}" + (f": {text}" if text else ""), flush=True)

    def case(self, cls, query, values):
        try:
            names, rows, limit = self.expected(cls, query, values)
        except Skip as reason:
            for threads in self.args.threads:
                self.report("skipped", cls, query, threads, str(reason))
            return
        for threads in self.args.threads:
            try:
                problem = check.differences(names, rows, *self.found(query, values, threads),
                                            order=self.suite.queries[query]["order"], limit=limit)
            except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
                problem = str(error)
            self.report("failed" if problem else "passed", cls, query, threads, problem or "")

    def run(self):
        for cls in self.args.classes or self.suite.data["answers"]:
            if cls not in self.suite.classes():
                raise SystemExit(f"run.py: no class {cls}; the suite has {', '.join(self.suite.classes())}")
            values = self.suite.parameters(cls, self.args.sf)
            for query in self.suite.select(self.args.queries):
                self.case(cls, query, values[query])
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**self.counts))
        if self.counts["skipped"] and not self.counts["passed"] + self.counts["failed"]:
            return 77  # nothing was checked: for ctest that is skipped, not passed
        return 1 if self.counts["failed"] else 0


def main():
    args = parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-suite-") as scratch:
        args.db = args.db or Path(scratch) / "db"
        if not args.db.exists():
            generate(args, "--out", args.db)
        return Runner(args, Path(scratch)).run()


if __name__ == "__main__":
    sys.exit(main())
