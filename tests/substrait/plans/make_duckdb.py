#!/usr/bin/env python3
"""Writes duckdb/*.pb, plans of Substrait by DuckDB's extension, of duckdb/*.sql (queries of TPC-H).

heddle gen tpch --sf 0.01 --tbl tbl
python3 -m venv v && v/bin/pip install duckdb==1.1.3 duckdb-extension-substrait==1.1.3 && v/bin/python make_duckdb.py tbl
"""

import importlib.util
import sys
from pathlib import Path

import duckdb

HERE = Path(__file__).parent / "duckdb"
EXTENSION = next(Path(list(importlib.util.find_spec("duckdb_extension_substrait").submodule_search_locations)[0]).glob("**/*.duckdb_extension"))
TABLES = {
    "region": "r_regionkey int, r_name text, r_comment text",
    "nation": "n_nationkey int, n_name text, n_regionkey int, n_comment text",
    "supplier": "s_suppkey int, s_name text, s_address text, s_nationkey int, s_phone text, s_acctbal decimal(12,2), s_comment text",
    "part": "p_partkey int, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, p_container text, p_retailprice decimal(12,2), p_comment text",
    "partsupp": "ps_partkey int, ps_suppkey int, ps_availqty int, ps_supplycost decimal(12,2), ps_comment text",
    "customer": "c_custkey int, c_name text, c_address text, c_nationkey int, c_phone text, c_acctbal decimal(12,2), c_mktsegment text, c_comment text",
    "orders": "o_orderkey int, o_custkey int, o_orderstatus text, o_totalprice decimal(12,2), o_orderdate date, o_orderpriority text, o_clerk text, o_shippriority int, o_comment text",
    "lineitem": "l_orderkey int, l_partkey int, l_suppkey int, l_linenumber int, l_quantity decimal(12,2), l_extendedprice decimal(12,2), l_discount decimal(12,2), l_tax decimal(12,2), l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text",
}

for path in sorted(HERE.glob("*.sql")):
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"load '{EXTENSION}'")
    for name, columns in TABLES.items():  # with rows: of an empty table it plans nothing
        connection.execute(f"create table {name} ({', '.join(c + ' not null' for c in columns.replace('(12,2)', '(12;2)').split(', '))})".replace(";", ","))
        connection.execute(f"copy {name} from '{sys.argv[1]}/{name}.tbl' (delimiter '|', header false, quote '')")
    path.with_suffix(".pb").write_bytes(connection.execute("call get_substrait(?)", [path.read_text(encoding="utf-8")]).fetchone()[0])
