#!/usr/bin/env python3
"""Writes ibis/*.pb, plans of Substrait by Ibis, and ibis/*.sql, the same queries as text.

python3 -m venv v && v/bin/pip install ibis-framework==9.5.0 ibis-substrait==4.0.1 substrait==0.21.0 && v/bin/python make_ibis.py
"""

from pathlib import Path

import ibis
from ibis import _
from ibis_substrait.compiler.core import SubstraitCompiler

HERE = Path(__file__).parent / "ibis"
MONEY = "!decimal(12,2)"

lineitem = ibis.table({"l_orderkey": "!int32", "l_partkey": "!int32", "l_suppkey": "!int32", "l_linenumber": "!int32", "l_quantity": MONEY,
                       "l_extendedprice": MONEY, "l_discount": MONEY, "l_tax": MONEY, "l_returnflag": "!string", "l_linestatus": "!string",
                       "l_shipdate": "!date", "l_commitdate": "!date", "l_receiptdate": "!date", "l_shipinstruct": "!string",
                       "l_shipmode": "!string", "l_comment": "!string"}, name="lineitem")
orders = ibis.table({"o_orderkey": "!int32", "o_custkey": "!int32", "o_orderstatus": "!string", "o_totalprice": MONEY, "o_orderdate": "!date",
                     "o_orderpriority": "!string", "o_clerk": "!string", "o_shippriority": "!int32", "o_comment": "!string"}, name="orders")
nation = ibis.table({"n_nationkey": "!int32", "n_name": "!string", "n_regionkey": "!int32", "n_comment": "!string"}, name="nation")
region = ibis.table({"r_regionkey": "!int32", "r_name": "!string", "r_comment": "!string"}, name="region")

QUERIES = {
    "revenue": lineitem.filter((_.l_shipdate >= ibis.date("1994-01-01")) & (_.l_shipdate < ibis.date("1995-01-01")) & (_.l_quantity < 24))
    .mutate(value=_.l_extendedprice * _.l_discount).aggregate(revenue=_.value.sum(), n=_.count()),
    "modes": lineitem.group_by(["l_shipmode", "l_returnflag"]).aggregate(n=_.count(), most=_.l_extendedprice.max(), first=_.l_shipdate.min())
    .filter(_.n > 100).order_by([ibis.desc("n"), "l_shipmode", "l_returnflag"]).limit(7),
    "joined": orders.join(lineitem, orders.o_orderkey == lineitem.l_orderkey).filter(_.l_shipmode.isin(["AIR", "MAIL"]))
    .group_by("o_orderpriority").aggregate(n=_.count(), late=(_.l_receiptdate > _.l_commitdate).ifelse(1, 0).sum()).order_by("o_orderpriority"),
    "names": nation.filter(_.n_name.like("%AN%")).select(name=_.n_name.lower(), size=_.n_name.length()),
    "sums": orders.filter(_.o_orderkey < 2000).select("o_orderkey", "o_clerk", "o_totalprice", before=_.o_totalprice.sum().over(
        ibis.window(group_by="o_orderpriority", order_by="o_orderkey", preceding=(None, 0)))),
    "apart": nation.select(key="n_nationkey").union(region.select(key="r_regionkey"), distinct=True),
    "large": orders.mutate(kind=(_.o_totalprice > 200000).ifelse("large", _.o_totalprice.between(50000, 100000).ifelse("medium", "other")))
    .group_by("kind").aggregate(n=_.count(), customers=_.o_custkey.nunique()),
}

for name, query in QUERIES.items():
    (HERE / f"{name}.pb").write_bytes(SubstraitCompiler().compile(query).SerializeToString(deterministic=True))
    (HERE / f"{name}.sql").write_text(str(ibis.to_sql(query, dialect="duckdb")) + "\n", encoding="utf-8")
