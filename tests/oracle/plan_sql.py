#!/usr/bin/env python3
"""The oracle: runs a Heddle plan (docs/plan.md) on DuckDB, by a translation that shares no code with Heddle.

    plan_sql.py PLAN.json --db FILE.duckdb | --tbl DIR  [-p k=v | -p @FILE]... [--sql] [--format csv|json]

As a module: Oracle(con).run(plan, params) -> ([(name, type)], rows). Each operator becomes one common table
expression with columns c0, c1, …; shared subplans are AS MATERIALIZED. Errors of rows are found by separate
queries (see hdsql.py) in plan order.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field

import duckdb

import hdparams
import hdudf
import results
from hderrors import is_definite
from hdrel import PlanCompiler
from hdtypes import ExecutionError, PlanError, parse_duckdb_type, parse_value


@dataclass
class Result:
    columns: list  # (name, type text)
    rows: list
    ordered: bool = False  # the root is a sort (or a limit over one)
    limit: tuple = None  # (limit, offset) if the root is a limit that is free to choose its rows
    unlimited: list = None  # the rows it may choose from
    tolerance: dict = field(default_factory=dict)  # column index -> allowed absolute difference
    tainted: set = field(default_factory=set)  # columns computed from inexact floats: not comparable


def read_catalog(con):
    """table -> [(column, Type, nullable)] of everything in the database."""
    catalog = {}
    for table, column, kind, null in con.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = 'main' ORDER BY table_name, ordinal_position").fetchall():
        catalog.setdefault(table, []).append((column, parse_duckdb_type(kind), null == "YES"))
    return catalog


# DuckDB 2.0 forgets a LIMIT over a left join whose right side it proves to be empty, and with it answers EXISTS,
# which it counts with a limit of 1, with false.
WRONG_OPTIMIZER = "projection_pullup"


def avoid_wrong_optimizer(con):
    if con.execute("SELECT 1 FROM duckdb_optimizers() WHERE name = ?", [WRONG_OPTIMIZER]).fetchall():
        con.execute(f"SET disabled_optimizers = '{WRONG_OPTIMIZER}'")


class Oracle:
    """byte_strings: the database holds each string as its UTF-8 bytes read as Latin-1, so that DuckDB's
    characters are Heddle's bytes (see hdparams.to_bytes_form). Without it only ASCII data is exact."""

    def __init__(self, con, byte_strings=False, check_errors=True):
        self.con = con
        self.check_errors = check_errors
        self.encode = hdparams.to_bytes_form if byte_strings else lambda s: s
        self.decode = hdparams.from_bytes_form if byte_strings else lambda s: s
        self.catalog = read_catalog(con)
        hdudf.register(con)
        avoid_wrong_optimizer(con)

    def compile(self, plan, params=None):
        values = hdparams.resolve(plan, params or {})
        return PlanCompiler(hdparams.substituted(plan, values), self.catalog, values, self.encode).compile()

    def run(self, plan, params=None):
        r = self.run_full(plan, params)
        return r.columns, r.rows

    def run_full(self, plan, params=None):
        compiled = self.compile(plan, params)
        if self.check_errors:
            self.raise_errors(compiled)
        rel = compiled.root
        result = Result([(c.name, str(c.type)) for c in rel.columns], self.fetch(compiled.query(), rel.columns),
                        ordered=bool(rel.order))
        if rel.free_limit:
            result.limit, result.unlimited = rel.free_limit, self.fetch(compiled.query(rel.unlimited), rel.columns)
        self.add_tolerances(compiled, result)
        return result

    def query(self, sql):
        """DuckDB's optimizer refuses some valid queries with an internal error; those run without it."""
        try:
            return self.con.execute(sql).fetchall()
        except duckdb.Error:
            self.con.execute("PRAGMA disable_optimizer")
            try:
                return self.con.execute(sql).fetchall()
            finally:
                self.con.execute("PRAGMA enable_optimizer")

    def fetch(self, sql, columns):
        def value(v, t):
            if not isinstance(v, str):
                return v
            return parse_value(v, t) if t.kind == "interval" else self.decode(v)
        return [tuple(value(v, c.type) for v, c in zip(row, columns)) for row in self.query(sql)]

    def raise_errors(self, compiled):
        tests = compiled.checks
        if not tests:
            return
        hits = self.query(compiled.with_ctes("SELECT " + ", ".join(f"({c.sql})" for c in tests)))[0]
        found = [c for c, hit in zip(tests, hits) if hit]
        if found:
            definite = any(is_definite(compiled.plan, c) for c in found)
            raise ExecutionError(found[0].path, definite)

    def add_tolerances(self, compiled, result):
        for i, c in enumerate(compiled.root.columns):
            if c.inexact and not c.sums:
                result.tainted.add(i)
            elif c.sums:
                result.tolerance[i] = max(self.float_sum_error(compiled, s) for s in c.sums)

    def float_sum_error(self, compiled, sql):
        n, total = self.query(compiled.with_ctes(sql))[0]
        return n * 2.0 ** -52 * (total or 0.0)


def open_database(args):
    if args.db:
        return duckdb.connect(args.db, read_only=True)
    import tpch_duckdb
    con = duckdb.connect()
    tpch_duckdb.load(con, args.tbl)
    return con


def parse_args(argv):
    ap = argparse.ArgumentParser(description="runs a Heddle plan on DuckDB")
    ap.add_argument("plan")
    source = ap.add_mutually_exclusive_group(required=True)
    source.add_argument("--db", help="a DuckDB file")
    source.add_argument("--tbl", help="a directory of TPC-H .tbl files")
    ap.add_argument("-p", action="append", default=[], metavar="NAME=VALUE|@FILE")
    ap.add_argument("--sql", action="store_true", help="print the SQL instead of rows")
    ap.add_argument("--format", choices=["csv", "json"], default="csv")
    return ap.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    with open(args.plan, encoding="utf-8") as f:
        plan = json.load(f)
    con = open_database(args)
    try:
        oracle = Oracle(con)
        params = hdparams.from_command_line(args.p)
        if args.sql:
            print(oracle.compile(plan, params).query())
            return 0
        columns, rows = oracle.run(plan, params)
        write = results.write_csv if args.format == "csv" else results.write_json
        write(sys.stdout, columns, rows)
        return 0
    except (PlanError, ExecutionError) as wrong:
        print(f"{type(wrong).__name__}: {wrong}", file=sys.stderr)
        return 2 if isinstance(wrong, PlanError) else 1
    finally:
        con.close()


if __name__ == "__main__":
    sys.exit(main())
