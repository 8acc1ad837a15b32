"""TPC-DS data and queries, as DuckDB's extension has them (PyPI: duckdb-extension-tpcds, a build of TPC's own dsdgen)."""

import importlib.util
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "duckdb_extension_tpcds"

# What a quotient of two exact numbers is in Heddle (docs/plan.md, 2.2): rounded half away from zero to six decimals.
RATIO = """
create or replace temp macro millionths(x) as cast(cast(x as decimal(30,6)) * 1000000 as hugeint);
create or replace temp macro ratio(a, b) as cast(
    (case when (a < 0) = (b < 0) then 1 else -1 end)
    * ((2 * abs(millionths(a)) * 1000000 + abs(millionths(b))) // (2 * abs(millionths(b)))) as decimal(30,0))
    * cast(0.000001 as decimal(6,6));
"""


def why_not():
    """What is missing, or None."""
    for name in ("duckdb", PACKAGE):
        if importlib.util.find_spec(name) is None:
            return f"no Python package {name} (scripts/requirements.txt)"
    return None if extension() else "duckdb-extension-tpcds is not of duckdb's version (scripts/requirements.txt)"


def extension():
    import duckdb
    folder = Path(importlib.util.find_spec(PACKAGE).origin).parent / "extensions"
    path = folder / f"v{duckdb.__version__}" / "tpcds.duckdb_extension"
    return path if path.exists() else None


def connect(path=":memory:", threads=None):
    import duckdb
    connection = duckdb.connect(str(path))
    connection.execute(f"load '{extension()}'")
    connection.execute(RATIO)
    if threads:
        connection.execute(f"set threads = {threads}")
    return connection


def database(path, sf, threads=None):
    """A connection to the DuckDB file with the data of a scale factor, which is made if it is not there."""
    path = Path(path)
    if not path.exists():
        partial = path.with_name(path.name + ".partial")
        partial.unlink(missing_ok=True)
        with connect(partial, threads) as connection:
            connection.execute(f"call dsdgen(sf={float(sf)})")
        partial.rename(path)
    return connect(path, threads)


def export(connection, folder):
    """TABLE.csv of every table, as schema.json describes them."""
    for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall():
        connection.execute(f"copy {name} to '{folder}/{name}.csv' (header, delimiter ',', quote '\"')")


# ---- the queries' SQL ----

# Columns that the texts leave without a name.
NAMES = {"q38": ["customers"], "q87": ["customers"], "q96": ["sales"]}


def closing(text, start):
    """The place of the parenthesis that closes the one at start."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return at
    raise ValueError("no closing parenthesis")


def exact_averages(sql):
    """avg(x), also over a window, as ratio(sum(x), count(x)): DuckDB's are floats."""
    while found := re.search(r"\bavg\(", sql, re.IGNORECASE):
        end = closing(sql, found.end() - 1) + 1
        argument = sql[found.end():end - 1]
        window = re.match(r"\s*over\s*(?=\()", sql[end:], re.IGNORECASE)
        over = ""
        if window:
            last = closing(sql, end + window.end()) + 1
            over, end = " " + sql[end:last].strip(), last
        sql = f"{sql[:found.start()]}ratio(sum({argument}){over}, count({argument}){over}){sql[end:]}"
    return sql


def exact_quotients(sql):
    """The two forms of quotients in the suite's queries."""
    over = r"sum\(sum\(\w+\)\) OVER \([^)]*\)"
    sql = re.sub(rf"(sum\(\w+\)\*100\.0000)/({over})", r"ratio(\1, \2)", sql)
    sql = re.sub(r"\(sum\((\w+)\)\*1\.0000\)/sum\((\w+)\)", r"ratio(sum(\1) * 1.0000, sum(\2))", sql)
    sql = re.sub(r"abs\s*\((\w+ - \w+)\) / (\w+)", r"ratio(abs(\1), \2)", sql, flags=re.IGNORECASE)
    return re.sub(r"\((cast\(sum\(coalesce\([\w.]+,0\)\) AS decimal\(15,4\)\))/ ?(cast\(sum\(coalesce\([\w.]+,0\)\) AS"
                  r" decimal\(15,4\)\))\)", r"ratio(\1, \2)", sql)


def query(connection, name):
    """(names of columns, SQL) of a query such as "q07": exact, and ordered by its other columns in the end."""
    sql = connection.execute("select query from tpcds_queries() where query_nr = ?", [int(name[1:])]).fetchone()[0]
    limit = re.search(r"\s*(\bLIMIT\s+(\d+))?\s*;?\s*\Z", sql)
    sql = exact_quotients(exact_averages(sql[:limit.start()]))
    names = NAMES.get(name) or [row[0] for row in connection.execute(f"describe {sql}").fetchall()]
    ordered = re.search(r"\border\s+by\b[^()]*(\([^()]*\)[^()]*)*\Z", sql, re.IGNORECASE)
    if ordered:
        sql += "".join(f", {place} asc nulls last" for place in range(1, len(names) + 1))
    return names, sql + (f"\nlimit {limit[2]}" if limit[2] else "")
