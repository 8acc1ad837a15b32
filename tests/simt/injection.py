#!/usr/bin/env python3
"""Names and texts of plans and tables that try to break out of the emitted source.

    injection.py --heddle BIN [--run BIN]

Every plan comes twice over equal data, once with hostile names and texts and once with harmless ones: the CUDA
source must be the same to the last byte. Identifiers carry the letters of names, so the harmless name is that. A pattern
with `_` is searched by other code than one without, so both have one.
With --run the hostile plan also runs, on the binary that emulates a device, and gives the rows of the CPU.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HOSTILE = [
    'x"; } evil(); {"', "*/ evil(); /*", "a\n#error evil", "#define live false", "evil\\", "evil\\\n", "??/\nevil",
    "'evil'", "@NAME@", "%s%n%d", "evil\r\n#pragma evil", "u\u202eevil\u2028x", "\u00fcml\u00e4ut \u540d\u524d", "int", "a5_l",
    "__LINE__", "R\"(evil)\"", "\\u000aevil", "\t//evil", "`evil`$(evil)", "x::y<z>", "_", "*/",
]
LETTERS = re.compile("[A-Za-z0-9]+")


def harmless(name):
    """What an identifier takes of it."""
    return "_".join(LETTERS.findall(name)).lower() or "_"


def with_names(give):
    """Schema, rows, plan with the names that give(k) makes."""
    table, key, text, day, amount = (give(k) for k in range(5))
    schema = {"format": {"delimiter": ",", "header": False, "null": "", "quote": '"', "trailing_delimiter": False},
              "tables": [{"name": table, "primary_key": [key], "columns": [
                  {"name": key, "type": "int64"}, {"name": text, "type": "string", "nullable": True},
                  {"name": day, "type": "date"}, {"name": amount, "type": "decimal(12,2)"}]}]}
    shared, alias, out, group, total, mark, most, value, other = (give(k) for k in range(5, 14))
    col = lambda name, of=alias: {"col": f"{of}.{name}" if of else name}
    scan = {"op": "scan", "table": table, "alias": alias, "comment": give(14),
            "filter": {"op": "or", "args": [{"op": "like", "args": [col(text, ""), {"lit": "_" + give(20)}]},
                                            {"op": "in", "args": [col(text, ""), {"param": "list"}]},
                                            {"op": "<>", "args": [col(text, ""), {"lit": give(21)}]},
                                            {"op": "is_null", "args": [col(text, "")]}]}}
    marked = {"op": "join", "kind": "mark", "mark": mark, "left": {"op": "ref", "name": shared, "alias": out},
              "right": {"op": "scan", "table": table, "alias": other,
                        "filter": {"op": ">", "args": [col(day, ""), {"lit": "2000-01-01", "type": "date"}]}},
              "on": [[col(f"{alias}.{key}", out), {"op": "+", "args": [col(key, other), {"lit": 1}]}]]}
    grouped = {"op": "aggregate", "input": marked,
               "keys": [{"expr": col(mark, ""), "as": group},
                        {"expr": {"op": "coalesce", "args": [col(f"{alias}.{text}", out), {"lit": give(22)}]}, "as": value}],
               "aggs": [{"fn": "sum", "arg": col(f"{alias}.{amount}", out), "as": total},
                        {"fn": "max", "arg": col(f"{alias}.{text}", out), "as": most}]}
    plan = {"heddle": 1, "name": give(15), "comment": give(16),
            "params": {"list": {"type": "list(string)", "default": [give(23), "x", give(24)]}},
            "shared": {shared: scan},
            "root": {"op": "sort", "input": grouped, "keys": [{"expr": col(value, "")}, {"expr": col(group, "")}]}}
    return schema, plan


def write_rows(directory, table, texts):
    quoted = lambda t: '"' + t.replace('"', '""') + '"'
    rows = [f"{i},{'' if i % 9 == 0 else quoted(texts[i % len(texts)])},{1995 + i % 12}-0{1 + i % 9}-17,{i * 7 % 1000}.25\n"
            for i in range(300)]
    (directory / f"{table}.csv").write_text("".join(rows), encoding="utf-8", newline="")


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def prepare(args, where, give, texts):
    """A database and a plan over it."""
    where.mkdir()
    schema, plan = with_names(give)
    (where / "schema.json").write_text(json.dumps(schema))
    (where / "plan.json").write_text(json.dumps(plan))
    write_rows(where, schema["tables"][0]["name"], texts)
    run(args.heddle, "load", "--schema", where / "schema.json", "--from", where, "--out", where / "db")
    return where / "plan.json", where / "db"


def source(args, plan, db):
    """Sources alone, without what explain prints of names above them."""
    return run(args.heddle, "explain", plan, "--db", db, "--backend", "cuda", "--dump", "cuda")


def check(args, scratch, number, name):
    # a file is named as its table: no slash
    give = lambda k: f"{name}{k}" if k else f"{name}{k}".replace("/", "|")
    plain = lambda k: harmless(give(k)) if k < 20 else f"text {k}"
    texts = [give(k) for k in range(20, 25)] + ["x", "other"]
    hostile = prepare(args, scratch / f"hostile{number}", give, texts)
    tame = prepare(args, scratch / f"tame{number}", plain, texts)
    if "HDD_KERNEL(p0)" not in source(args, *tame):
        sys.exit(f"no kernel in the dump:\n{source(args, *tame)}")
    if source(args, *hostile) != source(args, *tame):
        sys.exit(f"{name!r} changes the source:\n{source(args, *hostile)}\nagainst\n{source(args, *tame)}")
    if args.run:
        rows = [run(binary, "run", hostile[0], "--db", hostile[1], "--backend", backend, "--format", "csv")
                for binary, backend in ((args.heddle, "cpu"), (args.run, "cuda"))]
        if rows[0] != rows[1]:
            sys.exit(f"{name!r}: the CPU gives\n{rows[0]}\nthe device\n{rows[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--run")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for number, name in enumerate(HOSTILE):
            check(args, Path(scratch), number, name)
    print(f"{len(HOSTILE)} names: no source changed")


if __name__ == "__main__":
    main()
