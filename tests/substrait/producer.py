"""Queries as plans of Substrait, by DataFusion over empty tables (PyPI: datafusion)."""

import importlib.util
import re


def why_not():
    """What is missing, or None."""
    for name in ("datafusion", "pyarrow"):
        if importlib.util.find_spec(name) is None:
            return f"no Python package {name} (scripts/requirements.txt)"
    return None


def arrow_type(name):
    import pyarrow as pa
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", name)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return {"bool": pa.bool_(), "int32": pa.int32(), "int64": pa.int64(), "float32": pa.float32(), "float64": pa.float64(),
            "string": pa.string(), "date": pa.date32(), "timestamp": pa.timestamp("us"), "time": pa.time64("us")}[name]


def context(tables):
    """A context with the tables of a Heddle catalog or schema (parsed JSON), without rows."""
    import pyarrow as pa
    from datafusion import SessionConfig, SessionContext
    made = SessionContext(SessionConfig().set("datafusion.sql_parser.parse_float_as_decimal", "true"))  # as in SQL, and as con.sql does
    for table in tables:
        schema = pa.schema([pa.field(c["name"], arrow_type(c["type"]), nullable=c.get("nullable", False))
                            for c in table["columns"]])
        made.register_record_batches(table["name"], [[pa.RecordBatch.from_pylist([], schema=schema)]])
    return made


def plan(ctx, sql):
    """The plan of a query: encode() gives its bytes, to_json() its text."""
    from datafusion import substrait
    return substrait.Producer.to_substrait_plan(ctx.sql(sql).optimized_logical_plan(), ctx)
