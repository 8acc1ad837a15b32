#!/usr/bin/env python3
"""Distinct aggregates, quantiles, modes and joined strings over frames against DuckDB: rows of one partition and of many, each row's own frame of rows,
range and groups, empty ones, with rows excluded and filtered; values of every type, NULLs, NaN, few and many different ones. A mode
is that of the list that DuckDB makes of a frame, for its own takes any of several, and so are strings, for
rows that tie come in the order of their columns here.

Usage: frames_ranked.py --heddle BIN [--backend cpu|cuda] [--seed N] [--plans N] [--rows N] [--threads N,N...]
"""
import argparse
import csv
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal

try:
    import duckdb
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = {"id": "int32", "g": "int32", "h": "int32", "o": "int32", "i": "int32", "j": "int64", "d": "decimal(12,2)", "m": "decimal(38,3)",
         "f": "float64", "n": "float64", "e": "float32", "t": "string", "u": "string", "a": "date", "z": "timestamp", "b": "bool"}
NEVER_NULL = ("id", "g", "h", "o")
SQL = {"int32": "integer", "int64": "bigint", "float64": "double", "float32": "real", "string": "varchar"}
EXCLUDED = ["no others", "current row", "group", "ties"]


def value(rng, name):
    return {
        "i": lambda: rng.choice([rng.randint(-3, 3), rng.randint(-2**31, 2**31 - 1)]),
        "j": lambda: rng.choice([2**62, -2**62, 0, rng.randint(-5, 5)]),
        "d": lambda: Decimal(rng.randint(-500, 500)) / 100,
        "m": lambda: Decimal(rng.choice([10**36, -10**36, 1, rng.randint(-10**4, 10**4)])) / 1000,
        "f": lambda: rng.randint(-4000, 4000) / 8,
        "n": lambda: rng.choice([float("nan"), float("inf"), 0.5]),  # of which DuckDB's sliding quantiles raise
        "e": lambda: rng.randint(-6, 6) / 4 + 0.0,
        "t": lambda: "".join(rng.choice("ab~") for _ in range(rng.randint(1, 3))),
        "u": lambda: f"a text that is longer than a word {rng.randint(0, 400)}",
        "a": lambda: f"2001-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
        "z": lambda: f"2001-01-0{rng.randint(1, 9)} 10:0{rng.randint(0, 9)}:00",
        "b": lambda: rng.choice(["true", "false"]),
    }[name]()


def load(args, db, rng, name, rows):
    out = []
    for n in range(rows):
        row = {"id": n, "g": rng.choice([0, 1, 1, 1]), "h": rng.randint(0, max(1, rows // 6)), "o": rng.randint(0, 1 + rows // 8)}
        out.append([row[c] if c in row else None if rng.random() < 0.1 else value(rng, c) for c in TYPES])
    with open(args.folder / f"{name}.tbl", "w", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows([["" if v is None else format(v, "f") if isinstance(v, Decimal) else v for v in row] for row in out])
    columns = ", ".join(f"{c} {SQL.get(t, t)}" for c, t in TYPES.items())
    db.execute(f"create table {name} ({columns})")
    db.execute(f"copy {name} from '{args.folder / name}.tbl' (format csv, header false, delimiter ',', quote '\"', nullstr '', auto_detect false)")
    return {"name": name, "columns": [{"name": c, "type": t, "nullable": c not in NEVER_NULL} for c, t in TYPES.items()]}


class Function:
    """JSON, SQL, and how far the two may be apart."""

    def __init__(self, rng, number):
        self.fn = rng.choice(["count", "count", "sum", "avg", "bit_xor", "median", "quantile_cont", "quantile_disc", "quantile_disc", "mode", "mode", "string_agg", "string_agg"])
        self.name, self.filter = f"w{number}", rng.random() < 0.25
        self.distinct = self.fn in ("count", "sum", "avg", "bit_xor")
        self.real = self.fn in ("median", "quantile_cont")
        self.x = rng.choice({"string_agg": "tu", "sum": "ijdm", "avg": "ef", "bit_xor": "ij", "median": "ife", "quantile_cont": "ife"}.get(self.fn, "ijdmfetuazb" + "n" * (self.fn in ("count", "mode"))))
        self.real |= self.fn == "avg"
        self.order, self.separator = "id", rng.choice([",", "", " and "])
        self.q = rng.choice(["0.0", "0.1", "0.5", "0.9", "1.0"]) if self.fn.startswith("quantile") else None

    def json(self, frame):
        return {"fn": self.fn, "arg": self.x, "as": self.name, "frame": frame, **({"distinct": True} if self.distinct else {}),
                **({"q": self.q} if self.q else {}),
                **({"separator": self.separator} if self.fn == "string_agg" else {}), **({"filter": "i > 0"} if self.filter else {})}

    def sql(self, over):
        if self.fn == "string_agg":
            value = f"struct_pack(o := {self.order}, i := id, v := {self.x})"
            return f"list({value}) filter (where {self.x} is not null{' and i > 0' if self.filter else ''}) over ({over}) as {self.name}"
        if self.fn == "mode":
            return f"list({self.x}){' filter (where i > 0)' if self.filter else ''} over ({over}) as {self.name}"
        arg = f"cast({self.x} as hugeint)" if self.fn == "sum" and self.x in "ij" else f"cast({self.x} as double)" if self.real else self.x
        if self.fn == "bit_xor":
            arg = f"cast({self.x} as bigint)"
        call = f"{self.fn}({'distinct ' * self.distinct}{arg}{f', {self.q}' if self.q else ''})"
        return f"{call}{' filter (where i > 0)' if self.filter else ''} over ({over}) as {self.name}"

    def same(self, text, want):
        if self.fn == "string_agg" and want is not None:
            want = self.separator.join(v["v"] for v in sorted(want, key=lambda v: (v["o"], v["i"])))
        want = mode(want) if self.fn == "mode" else want
        if want is None or text == "":
            return (want is None) == (text == "")
        if self.real or isinstance(want, float):
            found = float(text)
            return (math.isnan(found) and math.isnan(want)) or math.isclose(found, want, rel_tol=1e-11, abs_tol=1e-9)
        if isinstance(want, (int, Decimal)) and not isinstance(want, bool):
            return Decimal(text) == want
        return text == (str(want).lower() if isinstance(want, bool) else str(want))


def in_order(v):
    """NaN is behind all other numbers."""
    return (v != v, 0 if v != v else v)


def mode(values):
    """The most frequent value, of several the smallest; None of none."""
    found = Counter(in_order(v) for v in values or [] if v is not None)
    if not found:
        return None
    first = min(found, key=lambda k: (-found[k], k))
    return math.nan if first[0] else first[1]


def bound(rng, side):
    n = rng.choice([0, 1, 2, 5, 40, 300])
    return ({side: n}, f"{n} {side}") if side in ("preceding", "following") else (side, side)


def draw(rng, tables):
    """(table, plan, SQL, functions)"""
    table = rng.choices(list(tables), [1, 3, 2, 4])[0]
    unit = rng.choice(["rows", "rows", "range", "groups"])
    sides = {"unbounded preceding": 0, "preceding": 1, "current row": 2, "following": 3, "unbounded following": 4}
    ends = sorted([rng.choice(list(sides)[:4]), rng.choice(list(sides)[1:])], key=sides.get)
    ends = [bound(rng, s) for s in ends]
    if all(isinstance(e[0], dict) for e in ends) and set(ends[0][0]) == set(ends[1][0]):  # of frames that end before they begin DuckDB has quantiles
        ends.sort(key=lambda e: int(e[1].split()[0]), reverse="preceding" in ends[0][1])
    frame = {"unit": unit, "start": ends[0][0], "end": ends[1][0]}
    over = f"{unit} between {ends[0][1]} and {ends[1][1]}"
    if rng.random() < 0.5 and table != "many":  # DuckDB takes long
        frame["exclude"] = rng.choice(EXCLUDED)
        over += f" exclude {frame['exclude']}"
    partition, order = rng.choice([[], ["g"], ["h"], ["g", "t"]]), "id" if unit == "rows" else "o"
    functions = [Function(rng, n) for n in range(rng.randint(1, 3))]
    for f in functions:
        f.order = order
    if table == "many" and any(f.fn in ("mode", "string_agg") for f in functions):  # of which there are lists
        table = "medium"
    over = f"{f'partition by {chr(44).join(partition)}' if partition else ''} order by {order} {over}"
    plan = {"op": "window", "order": [order], "functions": [f.json(frame) for f in functions], "input": {"op": "scan", "table": table},
            **({"partition": partition} if partition else {})}
    names = [f.name for f in functions]
    root = {"op": "project", "exprs": ["id"] + names, "input": plan}
    return {"heddle": 1, "root": root}, f"select id, {', '.join(f.sql(over) for f in functions)} from {table} order by id", functions


def around(exclude):
    """The groups of peers around each row's, some rows of which are left out: values repeat in and beside these."""
    frame = {"unit": "groups", "start": {"preceding": 1}, "end": {"following": 2}, "exclude": exclude}
    over = f"partition by g order by o groups between 1 preceding and 2 following exclude {exclude}"
    functions = [Function(random.Random(n), n) for n in range(3)]
    for f, (fn, x) in zip(functions, [("count", "t"), ("sum", "d"), ("count", "b")]):
        f.fn, f.x, f.q, f.real, f.distinct, f.filter = fn, x, None, False, True, False
    node = {"op": "window", "partition": ["g"], "order": ["o"], "functions": [f.json(frame) for f in functions], "input": {"op": "scan", "table": "few"}}
    root = {"op": "project", "exprs": ["id"] + [f.name for f in functions], "input": node}
    return {"heddle": 1, "root": root}, f"select id, {', '.join(f.sql(over) for f in functions)} from few order by id", functions


def growing(args, db):
    """Modes of frames of all sizes, of more rows than a thread takes at once: those up to a row, and from it on."""
    frames = [{"unit": "rows", "start": "unbounded preceding", "end": "current row"},
              {"unit": "rows", "start": "current row", "end": "unbounded following", "exclude": "current row"},
              {"unit": "rows", "start": {"preceding": args.rows // 3}, "end": {"following": args.rows // 4}}]
    functions = [{"fn": "mode", "arg": x, "as": f"{x}{n}", "frame": f} for n, f in enumerate(frames) for x in "dt"]
    root = {"op": "project", "exprs": ["id"] + [f["as"] for f in functions],
            "input": {"op": "window", "order": ["id"], "functions": functions, "input": {"op": "scan", "table": "many"}}}
    wanted = []
    for x in "dt":
        values = [v for v, in db.execute(f"select {x} from many order by id").fetchall()]
        n = len(values)
        wanted.append([sliding(values, [(0, i + 1) for i in range(n)]), sliding(values, [(i + 1, n) for i in range(n)]),
                       sliding(values, [(max(0, i - n // 3), min(n, i + n // 4 + 1)) for i in range(n)])])
    for threads in args.threads:
        for i, row in enumerate(run(args, {"heddle": 1, "root": root}, threads)):
            for n in range(len(frames)):
                for k, text in enumerate(row[1 + 2 * n:3 + 2 * n]):
                    want = wanted[k][n][i]
                    if want is None or text == "" or type(want)(text) != want:
                        if (want is None) != (text == "") or want is not None:
                            sys.exit(f"row {i}, {threads} threads: mode of {'dt'[k]} over {frames[n]} is {text}, not {want}")


def sliding(values, ends):
    """The mode of rows from .. to - 1, for each of ends that move forward."""
    counts, out, first, last = Counter(), [], 0, 0
    for begin, end in ends:
        for v in values[last:end]:
            counts[v] += 1
        for v in values[first:begin]:
            counts[v] -= 1
        first, last = begin, max(last, end)
        counts[None] = 0
        most = max(counts.values(), default=0)
        out.append(min(v for v, n in counts.items() if n == most) if most else None)
    return out


def run(args, plan, threads):
    (args.folder / "plan.json").write_text(json.dumps(plan))
    done = subprocess.run([args.heddle, "run", args.folder / "plan.json", "--db", args.folder / "db", "--backend", args.backend, "--threads",
                           str(threads), "--format", "csv"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{json.dumps(plan)}\n{done.stderr}")
    return sorted(list(csv.reader(done.stdout.splitlines()))[1:], key=lambda r: int(r[0]))


def check(args, db, plan, sql, functions):
    want = db.execute(sql).fetchall()
    for threads in args.threads:
        rows = run(args, plan, threads)
        if len(rows) != len(want):
            sys.exit(f"{len(rows)} rows, not {len(want)}: {json.dumps(plan)}")
        for row, other in zip(rows, want):
            for f, text, v in zip(functions, row[1:], other[1:]):
                if not f.same(text, v):
                    sys.exit(f"row {row[0]}, {threads} threads: {f.name} is {text}, not {v}\n{json.dumps(plan)}\n{sql}")


def main():
    ap = argparse.ArgumentParser(description="distinct aggregates and quantiles over frames")
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--plans", type=int, default=40)
    ap.add_argument("--rows", type=int, default=9000)
    ap.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 3])
    args = ap.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-ranked-") as folder, duckdb.connect() as db:
        args.folder = pathlib.Path(folder)
        os.environ.setdefault("HEDDLE_CACHE", str(args.folder / "cache"))
        sizes = {"nothing": 0, "few": min(200, args.rows), "medium": min(900, args.rows // 2), "many": args.rows}
        schema = {"tables": [load(args, db, rng, name, n) for name, n in sizes.items()],
                  "format": {"delimiter": ",", "header": False, "quote": '"', "null": "", "trailing_delimiter": False}}
        (args.folder / "schema.json").write_text(json.dumps(schema))
        subprocess.run([args.heddle, "load", "--schema", args.folder / "schema.json", "--from", folder, "--out", args.folder / "db"],
                       check=True)
        for exclude in EXCLUDED:
            check(args, db, *around(exclude))
        growing(args, db)
        for _ in range(args.plans):
            check(args, db, *draw(rng, sizes))
    print(f"{args.plans} plans")
    return 0


if __name__ == "__main__":
    sys.exit(main())
