#!/usr/bin/env python3
"""Loads TPC-H .tbl files into DuckDB with Heddle's types.

    tpch_duckdb.py DIR OUT.duckdb [--sf F]

Every column is NOT NULL. Integers are int32; keys of orders and lineitem are int64 above SF 300.
"""

import argparse
import glob
import os
import sys

import duckdb

BIG = "$key"  # int32, or int64 where order keys pass 2^31
TABLES = {
    "region": "r_regionkey INTEGER, r_name VARCHAR, r_comment VARCHAR",
    "nation": "n_nationkey INTEGER, n_name VARCHAR, n_regionkey INTEGER, n_comment VARCHAR",
    "supplier": "s_suppkey INTEGER, s_name VARCHAR, s_address VARCHAR, s_nationkey INTEGER, s_phone VARCHAR, "
                "s_acctbal DECIMAL(12,2), s_comment VARCHAR",
    "customer": "c_custkey INTEGER, c_name VARCHAR, c_address VARCHAR, c_nationkey INTEGER, c_phone VARCHAR, "
                "c_acctbal DECIMAL(12,2), c_mktsegment VARCHAR, c_comment VARCHAR",
    "part": "p_partkey INTEGER, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR, p_size INTEGER, "
            "p_container VARCHAR, p_retailprice DECIMAL(12,2), p_comment VARCHAR",
    "partsupp": "ps_partkey INTEGER, ps_suppkey INTEGER, ps_availqty INTEGER, ps_supplycost DECIMAL(12,2), "
                "ps_comment VARCHAR",
    "orders": f"o_orderkey {BIG}, o_custkey INTEGER, o_orderstatus VARCHAR, o_totalprice DECIMAL(12,2), "
              "o_orderdate DATE, o_orderpriority VARCHAR, o_clerk VARCHAR, o_shippriority INTEGER, o_comment VARCHAR",
    "lineitem": f"l_orderkey {BIG}, l_partkey INTEGER, l_suppkey INTEGER, l_linenumber INTEGER, "
                "l_quantity DECIMAL(12,2), l_extendedprice DECIMAL(12,2), l_discount DECIMAL(12,2), "
                "l_tax DECIMAL(12,2), l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, "
                "l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, l_shipmode VARCHAR, l_comment VARCHAR",
}


def columns_of(table, sf):
    text = TABLES[table].replace(BIG, "BIGINT" if sf > 300 else "INTEGER")
    parts = text.replace("(12,2)", "(12;2)").split(", ")
    return [tuple(p.replace(";", ",").split(" ", 1)) for p in parts]


def load_table(con, table, files, sf):
    columns = columns_of(table, sf)
    con.execute(f"CREATE TABLE {table} ({', '.join(f'{n} {t} NOT NULL' for n, t in columns)})")
    # every line ends with a delimiter, so the reader sees one more, empty, column
    types = "{" + ", ".join(f"'{n}': '{t}'" for n, t in columns + [("_end", "VARCHAR")]) + "}"
    names = ", ".join(n for n, _ in columns)
    for f in files:
        con.execute(f"INSERT INTO {table} SELECT {names} FROM read_csv('{f}', delim='|', header=false, quote='', "
                    f"escape='', nullstr='\\N', auto_detect=false, columns={types})")


def load(con, directory, sf=1.0):
    """Every table that has TABLE.tbl or TABLE.tbl.N files in the directory."""
    loaded = 0
    for table in TABLES:
        files = sorted(glob.glob(os.path.join(directory, table + ".tbl")) +
                       glob.glob(os.path.join(directory, table + ".tbl.[0-9]*")))
        if files:
            load_table(con, table, files, sf)
            loaded += 1
    if not loaded:
        raise FileNotFoundError(f"no TPC-H .tbl file in {directory}")


def main():
    ap = argparse.ArgumentParser(description="loads TPC-H .tbl files into a DuckDB file")
    ap.add_argument("directory")
    ap.add_argument("out")
    ap.add_argument("--sf", type=float, default=1.0)
    args = ap.parse_args()
    con = duckdb.connect(args.out)
    load(con, args.directory, args.sf)
    con.close()


if __name__ == "__main__":
    sys.exit(main())
