#!/usr/bin/env python3
"""Joins with strategy radix, whose tables are built and looked at part by part: every kind with keys of every type,
NULLs on both sides, one value for most rows, empty sides, keys that are computed, residuals, against a direct count in
Python; and groupings of many keys.

Usage: radix.py --heddle BIN [--backend cpu|cuda] [--rows N] [--every K] [--seed N|commit] [--groups]

--every takes one in K of the joins and groupings, drawn by the seed.
"""
import argparse
import itertools
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from collections import defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "diff"))
import seed as seeds  # noqa: E402

KINDS = ("inner", "left", "right", "full", "semi", "anti", "mark")
TYPES = {"i": "int32", "l": "int64", "h": "decimal(30,2)", "d": "float64", "t": "date", "s": "string"}
FORMAT = {"delimiter": "|", "header": False, "null": "NULL", "trailing_delimiter": False}


def value(kind, n):
    """As the text of a value: numbers of rows beyond what 32 or 64 bits hold, NaN and zeros of both signs, empty text."""
    if kind == "i":
        return str(n * 7919 - 2_000_000_000)
    if kind == "l":
        return str(n * 10 ** 15 - 5 * 10 ** 17)
    if kind == "h":
        return f"{n * 10 ** 22 - 5 * 10 ** 24}.{n % 100:02}"
    if kind == "d":
        return ("NaN", "0", "-0", "1e300")[n] if n < 4 else str(n / 8)
    if kind == "t":
        return f"{1992 + n // 336}-{1 + n // 28 % 12:02}-{1 + n % 28:02}"
    return "" if n == 0 else "a" * (n % 40) + str(n)


def table(rng, prefix, rows, values, heavy):
    """heavy: share of the rows that have one value."""
    def draw(kind):
        if rng.random() < 0.1:
            return None
        return value(kind, 5 if rng.random() < heavy else rng.randrange(values))
    return [{prefix + "row": str(n), **{prefix + k: draw(k) for k in TYPES}} for n in range(rows)]


def write(folder, tables):
    types = {"row": "int32", **TYPES}
    schema = {"format": FORMAT, "tables": [
        {"name": name, "columns": [{"name": name + c, "type": t, "nullable": c != "row"} for c, t in types.items()]}
        for name in tables]}
    for name, rows in tables.items():
        text = ["|".join("NULL" if v is None else v for v in row.values()) for row in rows]
        (folder / f"{name}.tbl").write_text("".join(line + "\n" for line in text))
    (folder / "schema.json").write_text(json.dumps(schema))


def same_float(v):
    """-0 is 0; a NaN is one value."""
    return "0" if v == "-0" else v


def key_of(row, prefix, kinds):
    parts = [same_float(row[prefix + k]) if k == "d" and row[prefix + k] else row[prefix + k] for k in kinds]
    return None if None in parts else tuple(parts)


def expected(kind, left, right, kinds, residual):
    by_key = defaultdict(list)
    for y in right:
        by_key[key_of(y, "r", kinds)].append(int(y["rrow"]))
    pairs = []
    for x in left:
        key, a = key_of(x, "l", kinds), int(x["lrow"])
        pairs += [(a, b) for b in (by_key[key] if key else []) if not residual or a % 7 <= b % 5]
    matched, reached = {a for a, _ in pairs}, {b for _, b in pairs}
    lrows, rrows = [int(x["lrow"]) for x in left], [int(y["rrow"]) for y in right]
    if kind == "mark":
        return sorted((a, a in matched) for a in lrows)
    if kind in ("semi", "anti"):
        return sorted((a,) for a in lrows if (a in matched) == (kind == "semi"))
    if kind in ("left", "full"):
        pairs += [(a, None) for a in lrows if a not in matched]
    if kind in ("right", "full"):
        pairs += [(None, b) for b in rrows if b not in reached]
    return sorted(pairs, key=str)


def join(kind, kinds, residual, computed):
    keys = [["l" + k, "r" + k] for k in kinds]
    if computed:
        keys[0] = ["li + 1", "ri + 1"]
    node = {"op": "join", "kind": kind, "on": keys, "strategy": "radix",
            "left": {"op": "scan", "table": "l"}, "right": {"op": "scan", "table": "r"}}
    if residual:
        node["residual"] = "lrow % 7 <= rrow % 5"
    if kind == "mark":
        node["mark"] = "m"
    return node


class Engine:
    def __init__(self, args, db):
        self.heddle, self.backend, self.db, self.wrong, self.done = args.heddle, args.backend, db, 0, 0
        self.every, self.seed = args.every, args.seed

    def some(self, cases, what):
        cases = list(cases)
        drawn = random.Random(f"{self.seed} {what}").sample(range(len(cases)), math.ceil(len(cases) / self.every))
        return [cases[i] for i in sorted(drawn)]

    def run(self, root, *options, command="run", **environment):
        plan = json.dumps({"heddle": 1, "root": root})
        done = subprocess.run([self.heddle, command, "-", "--db", self.db, *options], input=plan, capture_output=True,
                              text=True, env={**os.environ, **environment})
        if done.returncode:
            raise SystemExit(f"{done.stderr}\n{plan}")
        return done.stdout

    def rows(self, root, threads, **environment):
        text = self.run(root, "--backend", self.backend, "--threads", str(threads), "--format", "csv", **environment)
        return sorted((tuple(read(v) for v in line.split(",")) for line in text.splitlines()[1:]), key=str)

    def expect(self, found, want, what):
        self.done += 1
        if found != want:
            self.wrong += 1
            print(f"{what}\n  found {str(found)[:200]}\n  not   {str(want)[:200]}")


def read(text):
    return {"": None, "true": True, "false": False}[text] if text in ("", "true", "false") else int(text)


def check_joins(engine, left, right, what, every):
    columns = {"semi": ["lrow"], "anti": ["lrow"], "mark": ["lrow", "m"]}
    cases = [(k, False) for k in (*TYPES, "is", "hdl")] + [("i", True)] if every else [("i", False), ("sl", False)]
    for (kinds, computed), residual, kind in engine.some(itertools.product(cases, (False, True), KINDS), what):
        root = {"op": "project", "exprs": columns.get(kind, ["lrow", "rrow"]), "input": join(kind, kinds, residual, computed)}
        want = sorted(expected(kind, left, right, kinds, residual), key=str)
        engine.expect(engine.rows(root, 3 if residual else 1), want,
                      f"{what}: {kind} on {kinds}{' computed' if computed else ''}{' residual' if residual else ''}")


def check_groups(engine, left, what):
    """Groupings of every type of key, with aggregates of every kind, whose tables are taken for ones beyond the cache."""
    for kinds in engine.some(("i", "l", "h", "d", "t", "s", "is"), f"groups of {what}"):
        groups = defaultdict(list)
        for x in left:
            groups[tuple(same_float(x["l" + k]) if x["l" + k] else x["l" + k] for k in kinds)].append(x)
        want = []
        for rows in groups.values():
            numbers = [int(x["lrow"]) for x in rows]
            values = [int(x["li"]) for x in rows if x["li"]]
            texts = {x["ls"] for x in rows if x["ls"] is not None}
            want.append((len(rows), sum(numbers), min(numbers), max(values, default=None), len(values), len(texts)))
        aggs = [("count", "n", None), ("sum", "s", "lrow"), ("min", "low", "lrow"), ("max", "high", "li"), ("count", "c", "li")]
        node = {"op": "aggregate", "keys": ["l" + k for k in kinds], "input": {"op": "scan", "table": "l"},
                "aggs": [{"fn": f, "as": n, **({"arg": a} if a else {})} for f, n, a in aggs]
                + [{"fn": "count", "as": "d", "arg": "ls", "distinct": True}]}
        root = {"op": "project", "exprs": ["n", "s", "low", "high", "c", "d"], "input": node}
        engine.expect(engine.rows(root, 2, HEDDLE_CACHED_BYTES="1"), sorted(want, key=str), f"groups by {kinds}")


def check_auto(engine, left, right):
    """Joins that the planner puts into parts because their tables are taken for ones beyond the cache."""
    root = {"op": "project", "exprs": ["lrow", "rrow"], "input": {**join("full", "is", True, False), "strategy": "auto"}}
    engine.expect(engine.rows(root, 2, HEDDLE_CACHED_BYTES="1"), expected("full", left, right, "is", True), "auto")
    text = engine.run(root, "--dump", "physical", command="explain", HEDDLE_CACHED_BYTES="1")
    engine.expect(["parts: both sides" in text, "not none" in text], [True, True], f"what explain says\n{text}")


def check_parts(engine):
    """The plan has parts on both sides."""
    text = engine.run(join("inner", "i", False, False), "--dump", "physical,spec", command="explain")
    engine.expect(("parts: both sides" in text, text.count("finish: compact, partition")), (True, 2), "parts of an inner join")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--heddle", required=True)
    p.add_argument("--backend", default="cpu")
    p.add_argument("--rows", type=int, default=3000)
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--groups", action="store_true", help="groupings alone")
    p.add_argument("--seed", type=seeds.seed, default=1)
    args = p.parse_args()
    rng = random.Random(12)
    wrong = done = 0
    shapes = [("many", args.rows, args.rows // 2, 2000, 0.0), ("heavy", args.rows // 4, args.rows // 30, 500, 0.6),
              ("one part", args.rows // 8, args.rows // 30, 1, 0.0), ("left is empty", 0, 40, 20, 0.0),
              ("right is empty", 40, 0, 20, 0.0)]
    for what, nleft, nright, values, heavy in shapes:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            left, right = (table(rng, prefix, n, values, heavy) for prefix, n in (("l", nleft), ("r", nright)))
            write(folder, {"l": left, "r": right})
            subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out",
                            folder / "db"], check=True, stdout=subprocess.DEVNULL)
            engine = Engine(args, folder / "db")
            if not args.groups:
                check_joins(engine, left, right, what, what in ("many", "heavy"))
            if what in ("many", "heavy", "left is empty"):
                check_groups(engine, left, what)
            if what == "many" and not args.groups:
                check_parts(engine)
                check_auto(engine, left, right)
            wrong, done = wrong + engine.wrong, done + engine.done
    print(f"{done - wrong} passed, {wrong} failed")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
