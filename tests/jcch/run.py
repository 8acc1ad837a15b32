#!/usr/bin/env python3
"""Runs the queries of JCC-H with Heddle and checks every row: tests/tpch/run.py over the other suite.

Usage: run.py --heddle BIN --sf F [--db DB] [--class C,C...] [--threads N,N...] [--queries 1,5-9]
              [--against auto|answers|duckdb] [--duckdb FILE] [--tbl DIR] [--backend B] [-v]

Classes are normal, skewed and paper unless said. DB is made by `BIN gen jcch` where it does not exist; without
--db it is a temporary one. What DuckDB is asked is in jcch/sql where TPC-H's own text would take it too long.
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

spec = importlib.util.spec_from_file_location("tpch_run", ROOT / "tests" / "tpch" / "run.py")
tpch_run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tpch_run)


class Suite(tpch_run.suites.Suite):
    def __init__(self):
        super().__init__(ROOT / "jcch")

    def sql(self, name, values, folders):
        return super().sql(name, values, (ROOT / "jcch" / "sql", *folders))


def generate(heddle, sf, *where):
    subprocess.run([heddle, "gen", "jcch", "--sf", sf, *map(str, where)], check=True, stdout=subprocess.DEVNULL)


class Database(tpch_run.Database):
    def fill(self, duckdb, path):
        if self.args.tbl is None:
            self.args.tbl = self.scratch / "tbl"
            self.args.tbl.mkdir()
            generate(self.args.heddle, self.args.sf, "--tbl", self.args.tbl)
        super().fill(duckdb, path)


class Runner(tpch_run.Runner):
    def __init__(self, args, scratch):
        super().__init__(args, scratch)
        self.suite = Suite()
        self.database = Database(args, scratch)


def with_defaults(argv, scratch):
    given = {a.split("=")[0] for a in argv}
    argv = argv + ([] if "--class" in given else ["--class", "normal,skewed,paper"])
    return argv + ([] if "--db" in given else ["--db", str(scratch / "db")])


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    with tempfile.TemporaryDirectory(prefix="heddle-jcch-") as folder:
        scratch = Path(folder)
        sys.argv[1:] = with_defaults(sys.argv[1:], scratch)
        args = tpch_run.parse_args()
        if not Path(args.db).exists():
            generate(args.heddle, args.sf, "--out", args.db)
        return Runner(args, scratch).run()


if __name__ == "__main__":
    sys.exit(main())
