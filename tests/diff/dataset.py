"""A random database in its two homes: CSV files with a schema for `heddle load`, and DuckDB for the oracle."""

import json
import os
import zlib

import duckdb
import pyarrow as pa

import hdparams
import results

ARROW = {"bool": pa.bool_(), "int32": pa.int32(), "int64": pa.int64(), "float32": pa.float32(), "float64": pa.float64(), "date": pa.date32(),
         "timestamp": pa.timestamp("us"), "time": pa.time64("us"), "string": pa.string(), "binary": pa.binary(),
         "interval": pa.month_day_nano_interval()}


def is_packed(table, column):
    """Half of the columns, by their names."""
    return zlib.crc32(f"{table.name}.{column.name}".encode()) % 2 == 0


def schema_json(tables):
    out = []
    for t in tables:
        entry = {"name": t.name, "columns": [{"name": c.name, "type": str(c.type), "nullable": c.nullable, "packed": is_packed(t, c)}
                                             for c in t.columns]}
        if t.primary_key:
            entry["primary_key"] = t.primary_key
        if t.foreign_keys:
            entry["foreign_keys"] = [{"columns": c, "table": p, "references": r} for c, p, r in t.foreign_keys]
        out.append(entry)
    return {"tables": out, "format": {"delimiter": ",", "header": True, "quote": '"', "null": "", "trailing_delimiter": False}}


def write_files(tables, directory):
    """schema.json and data/TABLE.csv."""
    data = os.path.join(directory, "data")
    os.makedirs(data, exist_ok=True)
    with open(os.path.join(directory, "schema.json"), "w", encoding="utf-8") as f:
        json.dump(schema_json(tables), f, indent=1)
    for t in tables:
        with open(os.path.join(data, t.name + ".csv"), "w", encoding="utf-8", newline="") as f:
            columns = [(c.name, str(c.type)) for c in t.columns]
            results.write_csv(f, columns, zip(*[c.values for c in t.columns]))


def arrow_column(c):
    t = pa.decimal128(c.type.p, c.type.s) if c.type.kind == "decimal" else ARROW[c.type.kind]
    values = c.values
    if c.type.kind == "string":
        values = [None if v is None else hdparams.to_bytes_form(v) for v in values]
    if c.type.kind == "interval":
        values = [None if v is None else pa.MonthDayNano((v.months, v.days, v.micros * 1000)) for v in values]
    return pa.array(values, type=t)


def load_duckdb(tables):
    con = duckdb.connect()
    con.execute("SET threads = 1")  # the tables are small and the machine is shared
    for t in tables:
        columns = ", ".join(f'"{c.name}" {c.type.sql()}{"" if c.nullable else " NOT NULL"}' for c in t.columns)
        con.execute(f'CREATE TABLE "{t.name}" ({columns})')
        con.register("incoming", pa.table([arrow_column(c) for c in t.columns], names=[c.name for c in t.columns]))
        con.execute(f'INSERT INTO "{t.name}" SELECT * FROM incoming')
        con.unregister("incoming")
    return con
