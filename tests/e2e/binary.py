#!/usr/bin/env python3
"""Columns of binary on disk, few different values (a dictionary) and many (texts), against Python's bytes: filters,
groups, joins, sorts, minima, windows, sets, functions, parameters, NULLs among them; and what is refused.

Usage: binary.py --heddle BIN [--backend cpu|cuda] [--rows N]
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

FEW = [b"", b"\0", b"\0\0", b"\x7f", b"\x80", b"\xff", b"\xff\0", b"\xc3\xa9", b"abc"]
failed = 0


def form(b):
    return None if b is None else "\\x" + b.hex()


def make(rng, n):
    """id, k (few), v (many), w (as v, a part of it)"""
    values = [bytes(rng.randrange(256) for _ in range(rng.choice((0, 1, 3, 9, 13, 40)))) for _ in range(n // 2 + 1)]
    return [(i, rng.choice([*FEW, None]), rng.choice([*values, None]), rng.choice([*values[: len(values) // 3 + 1], None]))
            for i in range(n)]


class Engine:
    def __init__(self, options, rows, scratch):
        self.options, self.dir = options, pathlib.Path(scratch)
        columns = [{"name": "id", "type": "int32"}] + [
            {"name": c, "type": "binary", "nullable": True} for c in "kvw"]
        (self.dir / "csv").mkdir()
        (self.dir / "schema.json").write_text(json.dumps({"format": {
            "delimiter": ",", "header": True, "quote": '"', "null": "NULL", "trailing_delimiter": False},
            "tables": [{"name": "t", "primary_key": ["id"], "columns": columns}]}))
        self.load(rows)

    def load(self, rows, expect=0):
        with open(self.dir / "csv" / "t.csv", "w") as f:
            f.write("id,k,v,w\n")
            for i, *values in rows:
                # \x or not, small or large digits, quoted or not: all the same
                texts = ["NULL" if b is None else f'"{b.hex()}"' if i % 3 == 0 else "\\x" + b.hex().upper() if i % 3 == 1
                         else "\\x" + b.hex() for b in values] if not isinstance(values[0], str) else values
                f.write(",".join([str(i), *texts]) + "\n")
        done = self.call("load", "--schema", self.dir / "schema.json", "--from", self.dir / "csv", "--out",
                         self.dir / ("bad" if expect else "db"), backend=False)
        assert done.returncode == expect, done.stderr
        return done.stderr

    def call(self, *args, backend=True):
        more = ["--backend", self.options.backend] if backend else []
        return subprocess.run([self.options.heddle, *map(str, args), *more], capture_output=True, text=True)

    def plan(self, root, params=None, given=()):
        (self.dir / "p.json").write_text(json.dumps({"heddle": 1, "params": params or {}, "root": root}))
        return self.call("run", self.dir / "p.json", "--db", self.dir / "db", "--format", "json", *given)

    def rows(self, root, params=None, given=()):
        done = self.plan(root, params, given)
        if done.returncode:
            return done.stderr
        return [tuple(r) for r in json.loads(done.stdout)["rows"]]


def check(what, found, expected, ordered=False):
    global failed
    if not ordered and isinstance(found, list):
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
    if found != expected:
        failed += 1
        print(f"{what}: expected {str(expected)[:300]}, found {str(found)[:300]}")


SCAN = {"op": "scan", "table": "t"}


def filters(e, rows):
    for column in (1, 2):
        name = "id k v w".split()[column]
        pick = rows[len(rows) // 2][column] or b"\x80"
        for op, holds in (("=", bytes.__eq__), ("<>", bytes.__ne__), ("<", bytes.__lt__), (">=", bytes.__ge__)):
            found = e.rows({"op": "project", "exprs": ["id"], "input": {
                "op": "filter", "input": SCAN, "pred": f"{name} {op} x'{pick.hex()}'"}})
            check(f"{name} {op}", found, [(r[0],) for r in rows if r[column] is not None and holds(r[column], pick)])
        root = {"op": "project", "exprs": ["id"], "input": {"op": "filter", "input": SCAN, "pred": f"{name} = :p"}}
        found = e.rows(root, {"p": {"type": "binary"}}, ["-p", f"p=\\x{pick.hex()}"])
        check(f"{name} = :p", found, [(r[0],) for r in rows if r[column] == pick])
        found = e.rows({"op": "project", "exprs": ["id"], "input": {
            "op": "filter", "input": SCAN, "pred": f"octet_length({name} || x'00') = 10 or hex({name}) = 'ABC'"}})
        check(f"octet_length({name})", found, [(r[0],) for r in rows if r[column] is not None and len(r[column]) == 9])
    found = e.rows({"op": "project", "exprs": ["id"], "input": {"op": "filter", "input": SCAN, "pred": "v = w"}})
    check("v = w", found, [(r[0],) for r in rows if r[2] is not None and r[2] == r[3]])


def groups(e, rows):
    for column, name in ((1, "k"), (2, "v")):
        found = e.rows({"op": "aggregate", "input": SCAN, "keys": [name], "aggs": [
            {"fn": "count", "as": "n"}, {"fn": "min", "arg": "w", "as": "least"}, {"fn": "max", "arg": "w", "as": "most"}]})
        by = collections.defaultdict(list)
        for r in rows:
            by[r[column]].append(r[3])
        expected = []
        for key, values in by.items():
            there = [v for v in values if v is not None]
            expected.append((form(key), len(values), form(min(there, default=None)), form(max(there, default=None))))
        check(f"group by {name}", found, expected)
    there = {r[2] for r in rows if r[2] is not None}
    found = e.rows({"op": "aggregate", "input": SCAN, "keys": [], "aggs": [
        {"fn": "count", "arg": "v", "distinct": True, "as": "n"}, {"fn": "min", "arg": "k", "as": "a"},
        {"fn": "max", "arg": "v", "as": "b"}]})
    check("aggregate", found, [(len(there), "\\x", form(max(there)))])


def joins(e, rows):
    right = {"op": "project", "input": SCAN, "exprs": [{"expr": "id", "as": "other"}, {"expr": "w", "as": "y"}]}
    for left, column in (("v", 2), ("k", 1)):
        found = e.rows({"op": "project", "exprs": ["id", "other"], "input": {
            "op": "join", "kind": "inner", "on": [[left, "y"]], "left": SCAN, "right": right}})
        by = collections.defaultdict(list)
        for r in rows:
            if r[3] is not None:
                by[r[3]].append(r[0])
        check(f"join {left} = w", found, [(r[0], i) for r in rows for i in by.get(r[column], ())])
    values = {"op": "values", "columns": [{"name": "z", "type": "binary"}], "rows": [["\\x80"], ["ff00"], ["\\x"], [None]]}
    found = e.rows({"op": "project", "exprs": ["id"], "input": {
        "op": "join", "kind": "semi", "on": [["k", "z"]], "left": SCAN, "right": values}})
    check("semi join", found, [(r[0],) for r in rows if r[1] in (b"\x80", b"\xff\0", b"")])


def orders(e, rows):
    found = e.rows({"op": "project", "exprs": ["id"], "input": {
        "op": "sort", "input": SCAN, "keys": [{"expr": "k", "desc": True, "nulls": "last"}, {"expr": "v", "nulls": "first"}, "id"]}})
    last = sorted(rows, key=lambda r: (r[2] is not None, r[2] or b"", r[0]))
    last.sort(key=lambda r: (r[1] is not None, r[1] or b""), reverse=True)
    check("sort", found, [(r[0],) for r in last], ordered=True)
    found = e.rows({"op": "project", "exprs": ["id", "first", "last"], "input": {
        "op": "window", "input": SCAN, "partition": ["k"], "order": ["id"], "functions": [
            {"fn": "first_value", "arg": "v", "as": "first"}, {"fn": "lag", "arg": "w", "as": "last"}]}})
    first, before, expected = {}, {}, []
    for r in rows:
        first.setdefault(r[1], r[2])
        expected.append((r[0], form(first[r[1]]), form(before.get(r[1]))))
        before[r[1]] = r[3]
    check("window", found, expected)


def least(values):
    return form(min((v for v in values if v is not None), default=None))


def aggregates(e, rows):
    found = e.rows({"op": "aggregate", "input": SCAN, "keys": ["k"], "aggs": [
        {"fn": "count", "arg": "v", "distinct": True, "as": "n"}, {"fn": "mode", "arg": "w", "as": "m"},
        {"fn": "first", "arg": "v", "order": ["id"], "as": "f"}, {"fn": "last", "arg": "v", "order": ["w", "id"], "as": "l"},
        {"fn": "arg_max", "arg": "v", "by": "id", "as": "a"}, {"fn": "quantile_disc", "arg": "w", "q": "0.5", "as": "q"},
        {"fn": "min", "arg": "v", "filter": "id % 2 = 0", "as": "e"}]})
    by, expected = collections.defaultdict(list), []
    for r in rows:
        by[r[1]].append(r)
    for key, group in by.items():
        w = sorted(r[3] for r in group if r[3] is not None)
        count = collections.Counter(w)
        last = max(group, key=lambda r: (r[3] is None, r[3] or b"", r[0]))  # NULLs come last
        expected.append((form(key), len({r[2] for r in group} - {None}), form(min(w, key=lambda x: (-count[x], x), default=None)),
                         form(group[0][2]), form(last[2]), form(next((r[2] for r in reversed(group) if r[2] is not None), None)),
                         form(w[(len(w) + 1) // 2 - 1] if w else None), least(r[2] for r in group if r[0] % 2 == 0)))
    check("aggregates", found, expected)


def frames(e, rows):
    found = e.rows({"op": "project", "exprs": ["id", "least", "rank"], "input": {
        "op": "window", "input": SCAN, "order": ["id"], "functions": [
            {"fn": "min", "arg": "v", "as": "least", "frame": {"unit": "rows", "start": {"preceding": "2"}, "end": {"following": "1"}}}]
        + [{"fn": "count", "arg": "k", "as": "rank"}]}})
    if isinstance(found, str):
        check("frames", found, [])
        return
    check("frames", [r[:2] for r in found],
          [(r[0], least(x[2] for x in rows[max(0, i - 2):i + 2])) for i, r in enumerate(rows)])


def sides(e, rows):
    few = [(b"\x80", b"of 80"), (b"\xff\0", None), (b"", b""), (b"nowhere", b"else")]
    right = {"op": "values", "columns": [{"name": "z", "type": "binary"}, {"name": "y", "type": "binary"}],
             "rows": [[form(z), form(y)] for z, y in few]}
    for kind in ("left", "full"):
        found = e.rows({"op": "project", "exprs": ["id", "z", "y"], "input": {
            "op": "join", "kind": kind, "on": [["k", "z"]], "left": SCAN, "right": right}})
        there = dict(few)
        expected = [(r[0], form(r[1]) if r[1] in there else None, form(there.get(r[1]))) for r in rows]
        if kind == "full":
            expected += [(None, form(z), form(y)) for z, y in few if all(r[1] != z for r in rows)]
        check(f"{kind} join", found, expected)
    found = e.rows({"op": "project", "exprs": ["id"], "input": {"op": "filter", "input": SCAN, "pred": "k in :p or v in (x'00', x'80ff')"}},
                   {"p": {"type": "list(binary)"}}, ["-p", 'p=["\\\\x80", "ff00", "\\\\x00"]'])
    check("in", found, [(r[0],) for r in rows if r[1] in (b"\x80", b"\xff\0", b"\0") or r[2] in (b"\0", b"\x80\xff")])
    found = e.rows({"op": "sort", "keys": ["v", "id"], "limit": 7, "input": {"op": "filter", "input": SCAN, "pred": "v > x'40'"}})
    first = sorted((r for r in rows if r[2] is not None and r[2] > b"\x40"), key=lambda r: (r[2], r[0]))[:7]
    check("top", found, [(r[0], *map(form, r[1:])) for r in first], ordered=True)


def others(e, rows):
    piece = {"op": "project", "input": SCAN, "exprs": [{"expr": "v", "as": "x"}]}
    found = e.rows({"op": "intersect", "inputs": [piece, {"op": "project", "input": SCAN, "exprs": [{"expr": "w", "as": "x"}]}]})
    check("intersect", found, [(form(x),) for x in {r[2] for r in rows} & {r[3] for r in rows}])
    exprs = ["id", "hex(k)", "unhex(hex(v))", "encode(w, 'hex')", "k || v", "greatest(v, w)"]
    found = e.rows({"op": "project", "input": SCAN, "exprs": [{"expr": x, "as": f"c{i}"} for i, x in enumerate(exprs)]})
    check("functions", found, [
        (i, None if k is None else k.hex().upper(), form(v), None if w is None else w.hex(),
         None if k is None or v is None else form(k + v), form(max((x for x in (v, w) if x is not None), default=None)))
        for i, k, v, w in rows])
    found = e.rows({"op": "project", "input": {"op": "filter", "input": SCAN, "pred": "k = x'c3a9' or k = x'616263'"},
                    "exprs": ["id", {"expr": "cast(k as string)", "as": "s"}]})
    check("cast", found, [(r[0], r[1].decode()) for r in rows if r[1] in (b"abc", b"\xc3\xa9")])


def refusals(e):
    def refused(what, root, *parts):
        done = e.plan(root)
        if done.returncode == 0 or any(p not in done.stderr for p in parts):
            check(what, done.stderr or done.stdout[:200], parts)

    def expr(text):
        return {"op": "project", "input": SCAN, "exprs": [{"expr": text, "as": "x"}]}

    refused("bad cast", expr("cast(k as string)"), "$.root.exprs[0]", "decode is not defined")
    refused("string and binary", expr("k = 'abc'"), "binary", "string")
    refused("no number", expr("cast(k as int32)"), "binary", "int32")
    refused("literal", expr("x'0'"), "hexadecimal")
    refused("literal", expr("x'zz'"), "hexadecimal")
    refused("like", expr("k like '%a'"), "two strings")
    refused("sum", {"op": "aggregate", "input": SCAN, "keys": [], "aggs": [{"fn": "sum", "arg": "k", "as": "s"}]}, "binary")
    refused("encode", expr("encode(k, 'base64')"), "'hex'")
    refused("values", {"op": "values", "columns": [{"name": "z", "type": "binary"}], "rows": [["x"]]}, "hexadecimal", "rows[0][0]")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--rows", type=int, default=3000)
    options = ap.parse_args()
    rows = make(random.Random(7), options.rows)
    with tempfile.TemporaryDirectory() as scratch:
        e = Engine(options, rows, scratch)
        check("scan", e.rows(SCAN), [(r[0], *map(form, r[1:])) for r in rows])
        for test in (filters, groups, aggregates, frames, joins, sides, orders, others):
            test(e, rows)
        refusals(e)
        if options.backend == "cpu":
            check("check", e.call("check", e.dir / "db", backend=False).returncode, 0)
            for bad in ("\\x0", "0g", "\\y00", "zz"):
                check("load", all(p in e.load([(1, "00", bad, "00")], 1) for p in ("t.csv:2", '"v"', "binary", bad)), True)
    print(f"{failed} failed")
    return bool(failed)


sys.exit(main())
