"""Computes the answers of a suite anew, with DuckDB: what the recompute.py of each suite runs.

Usage: recompute.py --sf F [--check] [--class C,C...] [--queries 1,5-9]
                    [--duckdb FILE] [--tbl DIR] [--heddle BIN] [--threads N]

Every answer that suite.json has a place for at scale factor F is written there; with --check it is
compared with what is there, and the exit status is 1 if one differs. The data is the DuckDB file;
where that does not exist it is made from the .tbl files in DIR, and those by `BIN gen SUITE`.

Everything is exact: sums as they are, averages and quotients from exact sums and counts, rounded half away
from zero to 6 decimals as Heddle's results are. Rows that a query's order leaves equal are ordered by their
other columns, as docs/plan.md says.
"""

import argparse
import io
import re
import subprocess
import tempfile
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path

import needs
import suite as suites

EXACT = Context(prec=100, rounding=ROUND_HALF_UP)  # the decimal module's "half up" is away from zero
QUOTIENT = Decimal("0.000001")


def words(text):
    return [w for w in text.split(",") if w]


def parse_args(suite):
    parser = argparse.ArgumentParser(description=f"Computes the answers of {suite.data['title']} anew, with DuckDB.")
    parser.add_argument("--sf", required=True)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--class", dest="classes", type=words, default=list(suite.data["answers"]))
    parser.add_argument("--queries", default="")
    parser.add_argument("--duckdb", type=Path)
    parser.add_argument("--tbl", type=Path)
    parser.add_argument("--heddle")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def fill(connection, suite, args, scratch):
    source = args.tbl
    if source is None:
        if args.heddle is None:
            raise SystemExit("recompute.py: expected --duckdb, --tbl or --heddle")
        source = scratch / "tbl"
        source.mkdir()
        subprocess.run([args.heddle, "gen", suite.data["name"], "--sf", args.sf, "--tbl", str(source)], check=True)
    suites.load_duckdb(connection, source, suite.tables())


def open_database(suite, args, scratch):
    import duckdb
    path = args.duckdb or scratch / "answers.duckdb"
    if not path.exists():
        partial = path.with_name(path.name + ".partial")
        partial.unlink(missing_ok=True)
        with duckdb.connect(str(partial)) as connection:
            fill(connection, suite, args, scratch)
        partial.rename(path)
    return duckdb.connect(str(path), read_only=True, config={"threads": args.threads})


def order_of(query, columns):
    """The query's own order, then the other columns."""
    own = [c.lstrip("-") for c in query["order"]]
    terms = [f'"{c.lstrip("-")}"' + (" desc" if c.startswith("-") else "") for c in query["order"]]
    # A quotient comes as a pair; the queries that have one do not need it to order their rows.
    return terms + [f'"{name}"' for name, kind in columns if name not in own and "STRUCT" not in kind]


def ordered(connection, query, sql):
    sql = re.sub(r"\norder by [^()]*\Z", "", sql)
    columns = [(row[0], row[1]) for row in connection.execute(f"describe {sql}").fetchall()]
    terms = order_of(query, columns)
    sql = f"select * from (\n{sql}\n)" + (f"\norder by {', '.join(terms)}" if terms else "")
    return [name for name, _ in columns], sql + (f"\nlimit {query['limit']}" if "limit" in query else "")


def text_of(value):
    """A cell of CSV: no blanks at the end, as in published answers; the empty string is quoted, to differ
    from NULL."""
    if value is None:
        return ""
    if isinstance(value, dict):
        if value["over"] is None or not value["under"]:
            return ""
        value = EXACT.divide(Decimal(value["over"]), Decimal(value["under"])).quantize(QUOTIENT, context=EXACT)
    text = f"{value:f}" if isinstance(value, Decimal) else str(value).rstrip(" ")
    quoted = not text or any(c in text for c in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted else text


def answer(connection, query, sql):
    names, sql = ordered(connection, query, sql)
    out = io.StringIO()
    for row in [names, *connection.execute(sql).fetchall()]:
        out.write(",".join(map(text_of, row)) + "\n")
    return out.getvalue()


def settle(path, text, check, folder):
    """True if nothing is wrong."""
    where = path.relative_to(folder)
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{where}: {text.count(chr(10)) - 1} rows", flush=True)
    elif not path.exists():
        print(f"{where}: missing", flush=True)
        return False
    elif path.read_bytes().decode() != text:
        print(f"{where}: differs", flush=True)
        return False
    return True


def recompute(folder, sql):
    """For the suite in folder, each query's SQL from the first folder of sql that has it; the exit status."""
    suite = suites.Suite(folder)
    args = parse_args(suite)
    needs.require("recompute.py", "duckdb")
    wrong = count = 0
    with tempfile.TemporaryDirectory(prefix="heddle-answers-") as scratch:
        connection = open_database(suite, args, Path(scratch))
        for cls in args.classes:
            values = suite.parameters(cls, args.sf)
            for name in suite.select(args.queries):
                path = suite.answer_path(name, cls, args.sf)
                if path is None:
                    raise SystemExit(f"recompute.py: no answers of class {cls} at scale factor {args.sf}")
                text = answer(connection, suite.queries[name], suite.sql(name, values[name], sql))
                wrong += not settle(path, text, args.check, suite.folder)
                count += 1
        connection.close()
    print(f"{count} answers, {wrong} wrong" if args.check else f"{count} answers written")
    return 1 if wrong else 0
