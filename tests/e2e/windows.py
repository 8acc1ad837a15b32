#!/usr/bin/env python3
"""The operator window against DuckDB: every function, default frames and others, partitions of one row and of all rows,
ties, NULLs, empty inputs, on several threads.

Usage: windows.py --heddle BIN [--backend cpu|cuda] [--seed N] [--plans N] [--rows N] [--threads N,N...]
"""
import argparse
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal, getcontext

try:
    import duckdb
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

getcontext().prec = 80
TYPES = {"id": "int32", "s": "int64", "g": "int32", "h": "string", "i": "int32", "j": "int64", "d": "decimal(12,2)", "f": "float64",
         "e": "float32", "a": "date", "z": "timestamp", "t": "string"}
SQL = {"int32": "integer", "int64": "bigint", "float64": "double", "float32": "real", "string": "varchar"}
SORTED = ("id", "s")  # tables come by these
NUMBERS, EXACT = ("i", "j", "d", "f", "e"), ("i", "j", "d")
# Whose sums are exact, whatever their order.
REALS = ("case when f < 1e299 or f > 1e301 then f end", "e")
TIED = ("row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value")


def random_value(rng, name, row):
    return {
        "id": lambda: row,
        "s": lambda: row // 6 if row < 5000 else 900 + row // 4000,
        "g": lambda: rng.randint(0, 6),
        "h": lambda: rng.choice(["north", "south", "x"]),
        "i": lambda: rng.randint(-5, 5),
        "j": lambda: rng.choice([2**63 - 1, -2**63, rng.randint(-10**6, 10**6)]),
        "d": lambda: Decimal(rng.randint(-99999, 99999)) / 100,
        "f": lambda: rng.choice([0.0, -0.0, 1.5, -2.25, 1e300, float("inf"), float("nan"), rng.randint(-50, 50) / 8]),
        "e": lambda: rng.choice([0.0, 1.5, -2.25, float("nan"), rng.randint(-50, 50) / 8]),
        "a": lambda: f"199{rng.randint(0, 9)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
        "z": lambda: f"2010-01-02 03:04:{rng.randint(10, 59)}",
        "t": lambda: "".join(rng.choice("ab~") for _ in range(rng.randint(0, 4))),
    }[name]()


def text(v):
    return "" if v is None else format(v, "f") if isinstance(v, Decimal) else '""' if v == "" else str(v)


def load(args, db, rng, name, rows):
    columns = [{"name": c, "type": t, "nullable": c not in SORTED} for c, t in TYPES.items()]
    table = [[None if c not in SORTED and rng.random() < 0.12 else random_value(rng, c, n) for c in TYPES] for n in range(rows)]
    db.execute(f"create table {name} ({', '.join(f'{c} {SQL.get(t, t)}' for c, t in TYPES.items())})")
    path = args.folder / f"{name}.csv"
    path.write_text("".join(",".join(map(text, r)) + "\n" for r in table))
    fields = ", ".join(f"'{c}': '{SQL.get(t, t)}'" for c, t in TYPES.items())
    db.execute(f"insert into {name} from read_csv('{path}', header = false, nullstr = '', columns = {{{fields}}}, auto_detect = false,"
               " allow_quoted_nulls = false, delim = ',', quote = '\"', escape = '\"')")
    return {"name": name, "columns": columns}


# ---- plans ------------------------------------------------------------------------------------------------------

class Plan:
    numbered = None

    def __init__(self, rng, table):
        self.rng, self.table = rng, table
        self.partition = rng.sample([c for c in TYPES if c != "id"], rng.choice([0, 1, 1, 1, 2]))
        if rng.random() < 0.15:
            self.partition = ["s"] + [c for c in self.partition if c != "s"]
        self.order = [(c, rng.random() < 0.4, rng.choice(["first", "last"]))
                      for c in rng.sample(list(TYPES), rng.choice([0, 1, 1, 2]))]
        self.functions = [self.function(n) for n in range(rng.randint(1, 5))]
        if rng.random() < 0.2:
            self.numbered = self.first_rows()

    def frame(self, args_exact):
        """(JSON, SQL, rows); None: the default one."""
        if self.rng.random() < 0.4:
            return None
        rows = self.rng.random() < 0.6
        starts, ends = ["unbounded preceding"] * 2, ["current row", "unbounded following"]
        if args_exact:
            starts.append("current row")
            if rows:
                starts += [{"preceding": self.rng.randint(0, 4)}, {"following": self.rng.randint(0, 3)}]
        if rows:
            ends += [{"preceding": self.rng.randint(0, 3)}, {"following": self.rng.randint(0, 4)}]
        start, end = self.rng.choice(starts), self.rng.choice(ends)
        if start == "current row" and isinstance(end, dict) and "preceding" in end:
            end = "current row"
        if isinstance(start, dict) and "following" in start and (end == "current row" or "preceding" in end):
            end = {"following": self.rng.randint(0, 5)}
        sql = [b if isinstance(b, str) else " ".join(f"{n} {side}" for side, n in b.items()) for b in (start, end)]
        unit = "rows" if rows else "range"
        return {"unit": unit, "start": start, "end": end}, f"{unit} between {sql[0]} and {sql[1]}", rows

    def function(self, n):
        rng = self.rng
        fn = rng.choice(["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value",
                         "last_value", "nth_value", "count", "sum", "avg", "min", "max", "count", "sum", "avg"])
        f = {"fn": fn, "as": f"w{n}"}
        if fn in ("sum", "avg"):
            f["arg"] = rng.choice(EXACT if rng.random() < 0.7 else REALS)
        elif fn in ("min", "max"):
            f["arg"] = rng.choice(NUMBERS + ("a", "z", "id", "t", "t", "h"))
        elif fn in ("lag", "lead", "first_value", "last_value", "nth_value") or (fn == "count" and rng.random() < 0.6):
            f["arg"] = rng.choice(list(TYPES))
        if fn in ("ntile", "nth_value"):
            f["n"] = rng.choice([1, 2, 3, 7])
        if fn in ("lag", "lead"):
            if rng.random() < 0.6:
                f["offset"] = rng.choice([0, 1, 2, 5])
            if rng.random() < 0.4 and f["arg"] in ("i", "j", "id"):
                f["default"] = rng.choice(["-7", "0"])
        if fn in ("first_value", "last_value", "nth_value", "count", "sum", "avg", "min", "max"):
            frame = self.frame(True)
            if frame:
                f["frame"], self_sql, rows = frame
                f["_sql"], f["_rows"] = self_sql, rows
        return f

    def first_rows(self):
        """A condition on the number of a row, which alone is asked of the window, and whether the number is read, too."""
        k = self.rng.choice([0, 1, 1, 2, 3, 40])
        self.functions = [{"fn": self.rng.choice(["row_number", "row_number", "rank"]), "as": "w0"}]
        conditions = [f"w0 <= {k}", f"w0 < {k}", f"{k} >= w0", f"w0 = {k}", f"w0 between 2 and {k}", f"w0 <= {k} and w0 > 1",
                      f"w0 <= {k} and i > 0", f"w0 <= {k} and w0 <> 2"]
        read = self.rng.random() < 0.4
        if read and self.rng.random() < 0.6:
            self.functions += [{"fn": "lag", "arg": "i", "as": "w1"}, {"fn": "dense_rank", "as": "w2"}]
        return self.rng.choice(conditions), [f["as"] for f in self.functions] if read else []

    def json(self):
        if not self.numbered:
            return {"heddle": 1, "root": self.node()}
        condition, read = self.numbered
        columns = [{"expr": c, "as": c} for c in list(TYPES) + read]
        return {"heddle": 1, "root": {"op": "project", "exprs": columns, "input": {"op": "filter", "pred": condition, "input": self.node()}}}

    def node(self):
        node = {"op": "window", "functions": [{k: v for k, v in f.items() if k[0] != "_"} for f in self.functions],
                "input": {"op": "scan", "table": self.table}}
        if self.partition:
            node["partition"] = self.partition
        if self.order:
            node["order"] = [{"expr": c, "desc": d, "nulls": n} for c, d, n in self.order]
        return node

    def sql(self):
        if not self.numbered:
            return self.window_sql()
        condition, read = self.numbered
        return f"select {', '.join(list(TYPES) + read)} from ({self.window_sql()}) where {condition}"

    def window_sql(self):
        partition = f"partition by {', '.join(self.partition)} " if self.partition else ""
        stated = [f"{c} {'desc' if d else 'asc'} nulls {n}" for c, d, n in self.order]
        named = [c for c, _, _ in self.order]
        whole = stated + [f"{c} asc nulls last" for c in TYPES if c not in named]
        by_stated = f"{partition}{'order by ' + ', '.join(stated) if stated else ''}"
        by_whole = f"{partition}order by {', '.join(whole)}"
        numbers = (f"select *, row_number() over ({by_whole}) as rn, count(*) over ({by_stated}"
                   f"{' range between unbounded preceding and current row' if stated else ''}) as pe, "
                   f"rank() over ({by_stated}) as rk, "
                   f"count(*) over ({partition}) as n from {self.table}")
        items = [f"{self.item(f, by_stated, by_whole, stated)} as {f['as']}" for f in self.functions]
        return f"select {', '.join(TYPES)}, {', '.join(items)} from ({numbers})"

    def item(self, f, by_stated, by_whole, stated):
        fn, arg = f["fn"], f.get("arg", "")
        every = f"over ({by_whole} rows between unbounded preceding and unbounded following)"
        if fn in ("row_number", "ntile"):
            return f"{fn}({f.get('n', '')}) over ({by_whole})"
        if fn in ("rank", "dense_rank", "percent_rank", "cume_dist"):
            return f"{fn}() over ({by_stated})"
        if fn in ("lag", "lead"):
            return f"{fn}({arg}, {f.get('offset', 1)}, {f.get('default', 'null')}) over ({by_whole})"
        if fn in ("first_value", "last_value", "nth_value"):
            first, last = self.ends(f, stated)
            at = {"first_value": first, "last_value": last, "nth_value": f"{first} + {f.get('n', 1)} - 1"}[fn]
            return f"case when {first} <= {last} and {at} <= {last} then nth_value({arg}, greatest({at}, 1)) {every} end"
        order = by_whole if f.get("_rows") else by_stated
        over = f"over ({order} {f.get('_sql', '')})"
        if not stated and f.get("_sql") and not f.get("_rows"):
            over = f"over ({order})"  # all rows are peers
        if fn == "avg" and arg in REALS:
            return f"sum(cast({arg} as double)) {over} / count({arg}) {over}"
        if fn == "sum" and arg in REALS:
            return f"sum(cast({arg} as double)) {over}"
        if fn == "avg":
            whole = {"j": "cast({} as hugeint)"}.get(arg, "{}").format(arg)
            return f"struct_pack(s := sum({whole}) {over}, n := count({arg}) {over})"
        return f"{fn}({arg}) {over}" if arg else f"greatest(count(*) {over}, 0)"  # DuckDB has frames of -1 rows

    def ends(self, f, stated):
        """Numbers of the frame's first and last row."""
        frame = f.get("frame", {"unit": "range", "start": "unbounded preceding",
                                "end": "current row" if stated else "unbounded following"})
        rows = frame["unit"] == "rows"

        def number(b, here):
            if isinstance(b, dict):
                return f"(rn - {b['preceding']})" if "preceding" in b else f"(rn + {b['following']})"
            return {"unbounded preceding": "1", "unbounded following": "n", "current row": here}[b]
        return (f"greatest({number(frame['start'], 'rn' if rows else 'rk')}, 1)",
                f"least({number(frame['end'], 'rn' if rows else 'pe')}, n)")


# ---- rows ---------------------------------------------------------------------------------------------------------

def cell(v):
    if v is None:
        return ""
    if isinstance(v, dict):
        if not v["n"]:
            return ""
        return format((Decimal(v["s"]) / v["n"]).quantize(Decimal("0.000001"), ROUND_HALF_UP), "f")
    if isinstance(v, float):
        return "nan" if v != v else repr(v + 0.0)
    return str(v)


def mine(path_cells, columns):
    out = []
    for name, c in zip(columns, path_cells):
        real = name in ("f", "e") or name in REAL
        out.append(cell(float(c)) if real and c else c)
    return tuple(out)


REAL = set()


def run(args, plan, threads):
    path = args.folder / "plan.json"
    path.write_text(json.dumps(plan))
    done = subprocess.run([args.heddle, "run", str(path), "--db", str(args.folder / "db"), "--backend", args.backend, "--format",
                           "csv", "--threads", str(threads)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{json.dumps(plan)}\n{done.stderr}")
    return list(csv.reader(done.stdout.splitlines()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plans", type=int, default=60)
    parser.add_argument("--rows", type=int, default=40000)
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 3])
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-windows-") as folder, duckdb.connect() as db:
        args.folder = pathlib.Path(folder)
        os.environ.setdefault("HEDDLE_CACHE", str(args.folder / "cache"))
        sizes = {"nothing": 0, "lone": 1, "few": 60, "several": 700, "many": args.rows}
        tables = [load(args, db, rng, n, rows) for n, rows in sizes.items()]
        schema = {"tables": tables, "format": {"delimiter": ",", "header": False, "quote": '"', "null": "", "trailing_delimiter": False}}
        (args.folder / "schema.json").write_text(json.dumps(schema))
        subprocess.run([args.heddle, "load", "--schema", str(args.folder / "schema.json"), "--from", folder, "--out",
                        str(args.folder / "db")], check=True)
        for number in range(args.plans):
            plan = Plan(rng, rng.choices(list(sizes), [1, 1, 8, 6, 3])[0])
            REAL.clear()
            for f in plan.functions:
                if f.get("arg") in ("f", "e") + REALS and f["fn"] != "count" or f["fn"] in ("percent_rank", "cume_dist"):
                    REAL.add(f["as"])
            want = Counter(tuple(map(cell, r)) for r in db.execute(plan.sql()).fetchall())
            for threads in args.threads:
                names, *rows = run(args, plan.json(), threads)
                found = Counter(mine(r, names) for r in rows)
                if found != want:
                    sys.exit(f"plan {number}, {threads} threads: rows differ\n{json.dumps(plan.json())}\n{plan.sql()}\n"
                             f"only here: {list((found - want).items())[:3]}\nmissing: {list((want - found).items())[:3]}")
    print(f"{args.plans} plans")
    return 0


if __name__ == "__main__":
    sys.exit(main())
