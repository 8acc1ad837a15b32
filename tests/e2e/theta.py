#!/usr/bin/env python3
"""Joins that look at pairs: every kind under conditions without an equality, under null_equal keys, and with strategy
loop, against a direct count in Python; and what they need: a join of any kind peaks at no more than twice the memory
of the inner join of the same rows, and a timeout ends a loop.

Usage: theta.py --heddle BIN [--backend cpu|cuda]

On a GPU, which takes most of a second to begin, rows are compared for one pair of tables, and memory is not.
"""
import argparse
import bisect
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

KINDS = ("inner", "left", "right", "full", "semi", "anti", "mark")
SLACK = 1 << 14  # bytes: bits of the rows of both sides
LARGE = 5000  # rows a side whose pairs, stored, would take hundreds of times the memory of the rows


def table(rng, prefix, rows):
    null = lambda v: None if rng.random() < 0.2 else v  # noqa: E731
    return [{prefix + "row": n, prefix + "k": null(rng.randint(0, 5)), prefix + "i": null(rng.randint(-40, 40)),
             prefix + "s": null(rng.choice("abc"))} for n in range(rows)]


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for name, rows in tables.items():
        columns = [{"name": c, "type": "string" if c[1:] == "s" else "int32", "nullable": c[1:] != "row"} for c in rows[0]]
        schema["tables"].append({"name": name, "columns": columns})
        lines = ["|".join("" if v is None else str(v) for v in row.values()) for row in rows]
        (folder / f"{name}.tbl").write_text("".join(line + "\n" for line in lines))
    (folder / "schema.json").write_text(json.dumps(schema))


def known(test):
    """NULL is no match."""
    return lambda a, b: None not in (a, b) and test(a, b)


def conditions():
    """(pairs in `on`, residual, test of two rows)."""
    less, other = known(lambda a, b: a < b), known(lambda a, b: a != b)
    same, alike = known(lambda a, b: a == b), lambda a, b: a == b
    yield [], None, lambda x, y: True
    yield [], "false", lambda x, y: False
    yield [], "li < ri", lambda x, y: less(x["li"], y["ri"])
    yield [], "ls <> rs", lambda x, y: other(x["ls"], y["rs"])
    yield [], "li < ri and lk = 2 and rk < 4", lambda x, y: less(x["li"], y["ri"]) and x["lk"] == 2 and less(y["rk"], 4)
    yield [["lk", "rk", "null_equal"]], None, lambda x, y: alike(x["lk"], y["rk"])
    yield [["ls", "rs", "null_equal"], ["lk", "rk"]], "li <> ri", \
        lambda x, y: alike(x["ls"], y["rs"]) and same(x["lk"], y["rk"]) and other(x["li"], y["ri"])
    yield [["lk", "rk", "null_equal"], ["li", "ri", "null_equal"]], None, \
        lambda x, y: alike(x["lk"], y["rk"]) and alike(x["li"], y["ri"])
    yield [["lk", "rk"]], "li < ri", lambda x, y: same(x["lk"], y["rk"]) and less(x["li"], y["ri"])


def expected(kind, left, right, test):
    pairs = [(x["lrow"], y["rrow"]) for x, y in itertools.product(left, right) if test(x, y)]
    matched, reached = {a for a, _ in pairs}, {b for _, b in pairs}
    if kind == "mark":
        return sorted((x["lrow"], x["lrow"] in matched) for x in left)
    if kind in ("semi", "anti"):
        return sorted((x["lrow"],) for x in left if (x["lrow"] in matched) == (kind == "semi"))
    rows = list(pairs)
    if kind in ("left", "full"):
        rows += [(x["lrow"], None) for x in left if x["lrow"] not in matched]
    if kind in ("right", "full"):
        rows += [(None, y["rrow"]) for y in right if y["rrow"] not in reached]
    return sorted(rows, key=str)


def join(kind, on, residual, strategy="auto"):
    node = {"op": "join", "kind": kind, "on": on, "strategy": strategy,
            "left": {"op": "scan", "table": "l"}, "right": {"op": "scan", "table": "r"}}
    if residual:
        node["residual"] = residual
    if kind == "mark":
        node["mark"] = "m"
    return node


class Engine:
    def __init__(self, args, db):
        self.heddle, self.backend, self.db, self.wrong = args.heddle, args.backend, db, 0

    def run(self, root, *options):
        plan = json.dumps({"heddle": 1, "root": root})
        done = subprocess.run([self.heddle, "run", "-", "--db", self.db, "--backend", self.backend, "--format", "csv",
                               *options],
                              input=plan, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{done.stderr}\n{plan}")
        return done.stdout.splitlines()[1:], done.stderr

    def expect(self, found, want, what):
        if found != want:
            self.wrong += 1
            print(f"{what}\n  found {str(found)[:200]}\n  not   {str(want)[:200]}")


def value(text):
    return {"": None, "true": True, "false": False}[text] if text in ("", "true", "false") else int(text)


def check_rows(engine, left, right):
    columns = {"semi": ["lrow"], "anti": ["lrow"], "mark": ["lrow", "m"]}
    for (on, residual, test), kind in itertools.product(conditions(), KINDS):
        want = expected(kind, left, right, test)
        ways = (("auto", 1), ("auto", 3), ("loop", 3)) if on and engine.backend == "cpu" else (("auto", 1), ("loop", 3))
        for strategy, threads in ways:
            root = {"op": "project", "exprs": columns.get(kind, ["lrow", "rrow"]), "input": join(kind, on, residual, strategy)}
            rows, _ = engine.run(root, "--threads", str(threads))
            found = sorted((tuple(value(v) for v in row.split(",")) for row in rows), key=str)
            engine.expect(found, sorted(want, key=str), f"{len(left)} x {len(right)} rows, {kind}, {strategy}, {on}, {residual}")


def counted(kind):
    return {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "lk", "as": "k"}],
            "input": join(kind, [], "li < ri")}


def check_memory(engine, left, right):
    values = sorted(y["ri"] for y in right if y["ri"] is not None)
    pairs = sum(len(values) - bisect.bisect_right(values, x["li"]) for x in left if x["li"] is not None)
    peaks = {}
    for kind in KINDS:
        rows, report = engine.run(counted(kind), "--threads", "2", "--time")
        peaks[kind] = json.loads(report.splitlines()[-1])["peak_bytes"]
        if kind == "inner":
            engine.expect(int(rows[0].split(",")[0]), pairs, "pairs of the large join")
        if peaks[kind] > 2 * peaks["inner"] + SLACK:
            engine.expect(peaks, "at most twice as much as inner", f"{pairs} pairs, {kind}")


def check_stop(engine):
    """All pairs with all pairs of LARGE rows would take minutes."""
    every = join("inner", [], None)
    root = {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
        "op": "join", "kind": "anti", "strategy": "loop", "residual": "li + ri = x.li + 1000", "left": every,
        "right": {"op": "scan", "table": "l", "alias": "x"}}}
    began = time.monotonic()
    done = subprocess.run([engine.heddle, "run", "-", "--db", engine.db, "--backend", engine.backend, "--query-timeout",
                           "0.5"], input=json.dumps({"heddle": 1, "root": root}), capture_output=True, text=True)
    engine.expect((done.returncode, time.monotonic() - began < 5), (4, True), "a loop is stopped by a timeout")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    args = ap.parse_args()
    rng, wrong = random.Random(5), 0
    small = ((60, 90), (1, 40), (40, 1)) if args.backend == "cpu" else ((60, 90),)
    for nl, nr in (*small, (LARGE, LARGE)):
        with tempfile.TemporaryDirectory(prefix="heddle-theta-") as folder:
            folder = pathlib.Path(folder)
            left, right = table(rng, "l", nl), table(rng, "r", nr)
            write(folder, {"l": left, "r": right})
            subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                           check=True)
            engine = Engine(args, str(folder / "db"))
            if nl == LARGE:
                if args.backend == "cpu":
                    check_memory(engine, left, right)
                check_stop(engine)
            else:
                check_rows(engine, left, right)
            wrong += engine.wrong
    print(f"{wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
