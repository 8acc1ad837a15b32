"""`python -m heddle`: SQL, a prompt, databases from files; and the commands of the program that comes with it."""
from __future__ import annotations

import argparse
import os
import sys

import heddle

from ._create import program

DESCRIPTION = """Heddle: SQL and plans over Arrow, Parquet and databases.

  python -m heddle sql "select count(*) from lineitem" --db tpch1
  python -m heddle shell --db tpch1
  python -m heddle create db orders=orders.parquet "lineitem=parts/*.parquet" --primary-key orders=o_orderkey \\
      --foreign-key lineitem.l_orderkey=orders
  python -m heddle bench tpch --db tpch1

gen, load, run, explain, bench, params, check, info, convert and warm are the commands of the program heddle: see --help of each.
"""
PROGRAM = ("gen", "load", "run", "explain", "bench", "params", "check", "info", "convert", "warm")


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line; the exit status is that of the program heddle for the same error."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] and arguments[0] in PROGRAM:
        os.execv(program(), ["heddle", *arguments])
    options = _parser().parse_args(arguments)
    return guarded(options.run, options)


def guarded(run, options) -> int:
    """The exit status of run(options), whose error is printed."""
    try:
        return run(options) or 0
    except heddle.Error as e:
        print(f"heddle: error: {e}", file=sys.stderr)
        return 2 if isinstance(e, (heddle.UserError, heddle.UnsupportedError)) else 3 if isinstance(e, heddle.ResourceError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered goes nowhere
        return 1


def _parser():
    parser = argparse.ArgumentParser(prog="python -m heddle", description=DESCRIPTION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"heddle {heddle.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    sql = commands.add_parser("sql", help="run a query and print its rows")
    sql.add_argument("query", help="- reads it from standard input")
    sql.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE", help="value of $NAME")
    sql.add_argument("--format", choices=("table", "csv", "json"), default="table")
    sql.add_argument("-o", "--out", metavar="FILE.parquet", help="write the rows there")
    sql.add_argument("--rows", type=int, default=100, help="at most so many in a table (default: 100)")
    sql.add_argument("--explain", metavar="STAGES", nargs="?", const="plan", help="print what is made of it instead")
    sql.add_argument("--time", action="store_true", help="times to standard error")
    sql.set_defaults(run=_sql)

    shell = commands.add_parser("shell", help="a prompt for queries")
    shell.set_defaults(run=_shell)
    for command in sql, shell:
        command.add_argument("--db", metavar="DIR", help="database (default: an empty one)")
        command.add_argument("-t", "--table", action="append", default=[], metavar="NAME=FILE.parquet",
                             help="a table in memory, of a file")
        command.add_argument("--backend", choices=("auto", "cpu", "cuda"))
        command.add_argument("--threads", type=int, default=0)

    create = commands.add_parser("create", help="make a database of Parquet or CSV")
    create.add_argument("out", metavar="DIR")
    create.add_argument("tables", nargs="+", metavar="TABLE=FILES")
    create.add_argument("--primary-key", action="append", default=[], metavar="TABLE=COLUMN,...")
    create.add_argument("--foreign-key", action="append", default=[], metavar="TABLE.COLUMN,...=TABLE")
    create.add_argument("--threads", type=int, default=0)
    create.set_defaults(run=_create)

    for name in PROGRAM:
        commands.add_parser(name, add_help=False, help="of the program heddle")
    return parser


def _split(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise heddle.UserError(f"expected {what}, not {text}")
    return name, value


def connection(options) -> heddle.Connection:
    """The database, with the tables of --table."""
    con = heddle.connect(options.db, backend=options.backend, threads=options.threads)
    for text in options.table:
        import pyarrow.dataset
        name, path = _split(text, "NAME=FILE")
        if not os.path.exists(path):
            raise heddle.IoError("no such file", path)
        con.register(name, pyarrow.dataset.dataset(path).to_table())
    return con


def _sql(options):
    query = sys.stdin.read() if options.query == "-" else options.query
    con = connection(options)
    params = dict(_split(p, "NAME=VALUE") for p in options.param)
    if options.explain:
        print(con.prepare_sql(query).explain(options.explain, params))
        return
    result = con.sql(query, _positions(params))
    if options.out:
        result.write_parquet(options.out)
    else:
        write(result, options.format, options.rows)
    if options.time:
        print(result.profile, file=sys.stderr)


def _positions(params):
    """-p 1=x -p 2=y: a list."""
    if params and all(k.isdigit() for k in params):
        return [params[k] for k in sorted(params, key=int)]
    return params or None


def write(result: heddle.Result, form: str, rows: int) -> None:
    """Prints rows as a table, CSV, or a line of JSON each."""
    if form == "table":
        result.show(rows)
    elif form == "csv":
        import csv
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(result.columns)
        out.writerows(result)
    else:
        import json
        for row in result:
            print(json.dumps(dict(zip(result.columns, row)), default=str, ensure_ascii=False))


def _shell(options):
    from ._shell import run
    run(connection(options))


def _create(options):
    tables = dict(_split(t, "TABLE=FILES") for t in options.tables)
    foreign: dict[str, dict[str, str]] = {}
    for key in options.foreign_key:
        columns, to = _split(key, "TABLE.COLUMN=TABLE")
        table, _, columns = columns.partition(".")
        foreign.setdefault(table, {})[columns] = to
    heddle.create(options.out, tables, primary_keys=dict(_split(k, "TABLE=COLUMN") for k in options.primary_key),
                  foreign_keys=foreign, threads=options.threads)


if __name__ == "__main__":
    sys.exit(main())
