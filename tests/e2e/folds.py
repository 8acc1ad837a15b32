#!/usr/bin/env python3
"""Groups by a foreign key whose children lie together, against Python: sums, counts and extremes per parent with NULLs,
parents without children, keys in any order, filters in the loop and behind it, joins above; what an argument raises; and
which tables are folded, which are not and why.

Usage: folds.py --heddle BIN [--backend cpu] [--threads 1,3] [--parents 3000]
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from decimal import Decimal, InvalidOperation

COLUMNS = [("q", "int32", True), ("p", "decimal(12,2)", False), ("b", "int64", False), ("f", "float64", True),
           ("t", "string", True), ("d", "date", True), ("w", "decimal(38,0)", True)]
ENVIRONMENTS = [{}, {"HEDDLE_FRAGMENTS": "3"}, {"HEDDLE_FRAME_WEIGHT": "1"}]


def children_of(rng, keys, most):
    """Rows, in the order of the keys; about one parent in four has none."""
    def maybe(v):
        return None if rng.randrange(5) == 0 else v
    rows = []
    for k in keys:
        for _ in range(max(0, rng.randint(-most // 3, most))):
            rows.append({"k": k, "q": maybe(rng.randint(1, 90)), "p": Decimal(rng.randint(1, 10 ** 6)) / 100,
                         "b": rng.randint(-2 ** 62, 2 ** 62), "f": maybe(rng.randint(-400, 400) / 16),
                         "t": maybe(rng.choice(["red", "green", "blue"])), "d": maybe(f"{rng.randint(1970, 2030)}-01-0{rng.randint(1, 9)}"),
                         "w": maybe(rng.randint(-10 ** 38 + 1, 10 ** 38 - 1))})
    return rows


def tables_of(rng, parents):
    keys = [3 * i - 100 for i in range(parents)]
    rng.shuffle(keys)
    few = children_of(rng, keys, 7)
    most = [{**few[0], "k": k} for k in keys[:50] for _ in range(64)]
    heaps = {k: n for k, n in zip(keys[10::7], (700, 65, 1, 513, 1600))}
    long = [dict(r, k=k) for k in keys[:300] for r in rng.choices(few, k=heaps.get(k, rng.randrange(4)))]
    crowd = [{**few[0], "k": k} for k in keys[:17] for _ in range(65)]
    loose = [dict(r, k=None if i % 7 == 0 else r["k"]) for i, r in enumerate(few)]
    scattered = sorted(few, key=lambda r: (r["q"] or 0, r["k"]))
    return keys, {"few": few, "most": most, "many": most + [most[-1]], "none": [], "long": long, "crowd": crowd, "loose": loose, "scattered": scattered}


def write(folder, keys, tables):
    def cell(v):
        return "" if v is None else str(v)
    children = [{"name": n, "columns": [{"name": "k", "type": "int64", "nullable": n == "loose"}] +
                 [{"name": c, "type": t, "nullable": null} for c, t, null in COLUMNS],
                 "foreign_keys": [{"columns": ["k"], "table": "parent", "references": ["id"]}]} for n in tables]
    schema = {"format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False},
              "tables": [{"name": "parent", "primary_key": ["id"],
                          "columns": [{"name": "id", "type": "int64"}, {"name": "name", "type": "string"}]}] + children}
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / "parent.tbl").write_text("".join(f"{k}|name {k}\n" for k in keys))
    for name, rows in tables.items():
        (folder / f"{name}.tbl").write_text(
            "".join("|".join(cell(r[c]) for c in ["k"] + [c for c, _, _ in COLUMNS]) + "\n" for r in rows))


# ---- what is expected ----------------------------------------------------------------------------------------

def known(rows, column):
    return [r[column] for r in rows if r[column] is not None]


def xor(values):
    v = 0
    for x in values:
        v ^= x
    return v


AGGS = {  # column: (plan's aggregate, rows of a group -> value)
    "n": ({"fn": "count"}, len),
    "tags": ({"fn": "count", "arg": "t"}, lambda r: len(known(r, "t"))),
    "total": ({"fn": "sum", "arg": "q"}, lambda r: sum(known(r, "q")) if known(r, "q") else None),
    "price": ({"fn": "sum", "arg": "p * 2 + 1"}, lambda r: sum(2 * x["p"] + 1 for x in r)),
    "wide": ({"fn": "sum", "arg": "b"}, lambda r: sum(x["b"] for x in r)),
    "mean": ({"fn": "avg", "arg": "q"}, lambda r: average(known(r, "q"))),
    "ratio": ({"fn": "sum", "arg": "f"}, lambda r: sum(known(r, "f")) if known(r, "f") else None),
    "least": ({"fn": "min", "arg": "f"}, lambda r: min(known(r, "f"), default=None)),
    "most": ({"fn": "max", "arg": "b"}, lambda r: max(x["b"] for x in r)),
    "first": ({"fn": "min", "arg": "d"}, lambda r: min(known(r, "d"), default=None)),
    "last": ({"fn": "max", "arg": "t"}, lambda r: max(known(r, "t"), default=None)),
    "bits": ({"fn": "bit_or", "arg": "q"}, lambda r: bits(known(r, "q"), int.__or__)),
    "odd": ({"fn": "bit_xor", "arg": "b"}, lambda r: xor(x["b"] for x in r)),
}


def bits(values, op):
    v = None
    for x in values:
        v = x if v is None else op(v, x)
    return v


def average(values):
    if not values:
        return None
    n, d = sum(values) * 10 ** 6, len(values)
    q, r = divmod(abs(n), d)
    return Decimal((q + (2 * r >= d)) * (1 if n >= 0 else -1)).scaleb(-6)


def groups(rows, passes):
    out = {}
    for r in rows:
        if passes(r):
            out.setdefault(r["k"], []).append(r)
    return out


FILTERS = {  # condition in the plan, on a row
    None: lambda r: True,
    "q <= 80": lambda r: r["q"] is not None and r["q"] <= 80,
    "q > 3 and t <> 'red'": lambda r: r["q"] is not None and r["q"] > 3 and r["t"] is not None and r["t"] != "red",
    "p < 0": lambda r: False,
    # on the key: the parent's, before its children are gone through
    "k >= 35": lambda r: r["k"] is not None and r["k"] >= 35,
    "k > -40 and q <= 80 and k <= 260": lambda r: r["k"] is not None and -40 < r["k"] <= 260 and r["q"] is not None and r["q"] <= 80,
    "k = 50": lambda r: r["k"] == 50,
}


def plain(v):
    """A number by its value, however it is written."""
    if v is None:
        return None
    try:
        return Decimal(str(v))
    except InvalidOperation:
        return str(v)


# ---- plans -----------------------------------------------------------------------------------------------------

def aggregate(table, names, condition, projected=False):
    scan = {"op": "scan", "table": table}
    if condition:
        scan = {"op": "filter", "pred": condition, "input": scan} if projected else {**scan, "filter": condition}
    if projected:
        scan = {"op": "project", "exprs": ["k", "q", "p", "b", "f", "t", "d", "w"], "input": scan}
    return {"op": "aggregate", "keys": ["k"], "input": scan, "aggs": [{**AGGS[n][0], "as": n} for n in names]}


class Checker:
    def __init__(self, args, folder):
        self.args, self.folder, self.failures, self.done = args, folder, [], 0

    def command(self, what, root, env, more):
        (self.folder / "plan.json").write_text(json.dumps({"heddle": 1, "root": root}))
        return subprocess.run([self.args.heddle, what, str(self.folder / "plan.json"), "--db", str(self.folder / "db"),
                               "--backend", self.args.backend, *more], capture_output=True, text=True,
                              env={**os.environ, **env})

    def rows(self, root, env, threads):
        done = self.command("run", root, env, ["--threads", threads, "--format", "json"])
        if done.returncode:
            return done.stderr.strip()
        return [[plain(v) for v in r] for r in json.loads(done.stdout)["rows"]]

    def want(self, where, root, rows):
        """The rows, on all threads and in every environment."""
        rows = [[plain(v) for v in r] for r in rows]
        for env in ENVIRONMENTS:
            for threads in self.args.threads.split(","):
                found = self.rows(root, env, threads)
                self.done += 1
                if found != rows:
                    self.failures.append(f"{where} {env} on {threads} threads: {difference(found, rows)}")

    def want_choice(self, table, root, text):
        dump = self.command("explain", root, {}, ["--dump", "physical"]).stdout
        self.done += 1
        if text not in dump:
            self.failures.append(f"{table}: no \"{text}\" in\n{dump}")


def difference(found, rows):
    if isinstance(found, str):
        return found
    for i, (a, b) in enumerate(zip(found, rows)):
        if a != b:
            return f"row {i} is {a}, not {b}"
    return f"{len(found)} rows, not {len(rows)}"


def ordered(root, keys=("k",)):
    return {"op": "sort", "keys": list(keys), "input": root}


def check_groups(check, tables):
    names = list(AGGS)
    for table, rows in tables.items():
        for i, (condition, passes) in enumerate(FILTERS.items()):
            some = names if table in ("few", "most", "long") else names[i::4]
            if table == "most":  # a sum of 64 of them is what facts must allow for
                some = [n for n in some if n != "odd"]
            found = sorted(groups(rows, passes).items(), key=lambda g: (g[0] is None, g[0] or 0))
            check.want(f"{table} where {condition}", ordered(aggregate(table, some, condition, projected=i == 2)),
                       [[k] + [AGGS[n][1](g) for n in some] for k, g in found])


def check_above(check, keys, few):
    """Conditions on groups, joins with the parent and with the children, order, limits."""
    big = {k: sum(known(g, "q")) for k, g in groups(few, lambda r: True).items()}
    big = {k: v for k, v in big.items() if v > 150}
    having = {"op": "filter", "pred": "total > 150", "input": aggregate("few", ["total"], None)}
    join = {"op": "join", "kind": "inner", "on": [["k", "id"]], "left": having, "right": {"op": "scan", "table": "parent"}}
    check.want("joined with the parent", ordered({"op": "project", "exprs": ["k", "total", "name"], "input": join}),
               [[k, v, f"name {k}"] for k, v in sorted(big.items())])
    again = {"op": "join", "kind": "inner", "on": [["parent", "k"]], "right": {"op": "scan", "table": "few"},
             "left": {"op": "project", "exprs": [{"expr": "k", "as": "parent"}, "total"], "input": having}}
    check.want("joined with the children", {"op": "aggregate", "keys": [], "aggs": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "total", "as": "s"}], "input": again},
               [[sum(r["k"] in big for r in few), sum(big.get(r["k"], 0) for r in few)]])
    for kind, keep in (("semi", True), ("anti", False)):
        found = {"op": "join", "kind": kind, "on": [["id", "k"]], "left": {"op": "scan", "table": "parent", "columns": ["id"]}, "right": having}
        check.want(f"{kind} join", ordered(found, ["id"]), [[k] for k in sorted(keys) if (k in big) == keep])
    top = {**ordered(having, [{"expr": "total", "desc": True}, "k"]), "limit": 20}
    check.want("first ones", top, [[k, v] for k, v in sorted(big.items(), key=lambda x: (-x[1], x[0]))[:20]])


def check_joins(check, table, few):
    """Groups of children that a join finds from their parents, with values of both. Those of long parents are added up
    whether a parent is there or not, so nothing may fail."""
    fails = table != "long"
    def join(left, right):
        return {"op": "join", "kind": "inner", "strategy": "index", "build": "right", "on": [["id", "k"]], "left": left, "right": right}
    parents = {"op": "scan", "table": "parent", "filter": "id > 100"}
    children = {"op": "scan", "table": table, "filter": "q <= 80"}
    aggs = [{"fn": "sum", "arg": "q + id" if fails else "q", "as": "s"}, {"fn": "count", "as": "n"}, {"fn": "max", "arg": "p", "as": "m"},
            {"fn": "avg", "arg": "f", "as": "a"}, {"fn": "min", "arg": "id * 2" if fails else "id", "as": "twice"}]
    found = [(k, g) for k, g in sorted(groups(few, FILTERS["q <= 80"]).items()) if k > 100]
    rows = [[k, f"name {k}", sum(r["q"] + k * fails for r in g), len(g), max(r["p"] for r in g), mean_of(known(g, "f")), k * (1 + fails)] for k, g in found]
    by = {"op": "aggregate", "keys": ["name", "id"], "aggs": aggs, "input": join(parents, children)}
    columns = ["id", "name", "s", "n", "m", "a", "twice"]
    check.want(f"{table}: children of a join", ordered({"op": "project", "exprs": columns, "input": by}, ["id"]), rows)
    check.want_choice("children of a join", by, "groups: fold, without a state")
    keyed = {**children, "filter": "k > 100 and q <= 80"}  # as the parent's key, which may have been compared before
    for left in (parents, {"op": "scan", "table": "parent"}):
        check.want(f"{table}: children by their key", ordered({"op": "project", "exprs": columns, "input": {**by, "input": join(left, keyed)}}, ["id"]), rows)
    raises = {**by, "aggs": [{"fn": "sum", "arg": "q + id", "as": "s"}]}
    check.want_choice("a sum that may fail", raises, "groups: fold" if fails else "not fold, without a state (a parent has many children")
    by = {**by, "keys": ["k"], "input": join(parents, children)}
    check.want(f"{table}: groups by the child's key", ordered({"op": "project", "exprs": ["k", "s", "twice"], "input": by}),
               [[r[0], r[2], r[6]] for r in rows])
    twice = {"op": "union_all", "inputs": [{**parents, "columns": ["id"]}] * 2}
    by = {"op": "aggregate", "keys": ["id"], "aggs": aggs[1:2], "input": join(twice, children)}
    check.want(f"{table}: parents that come twice", ordered(by, ["id"]), [[r[0], 2 * r[3]] for r in rows])
    name = {"op": "aggregate", "keys": ["name"], "aggs": aggs[1:2], "input": join(parents, children)}
    check.want(f"{table}: keys that do not say which parent", ordered(name, ["name"]), sorted([[r[1], r[3]] for r in rows]))


def mean_of(values):
    return sum(values) / len(values) if values else None


def check_errors(check):
    """What an argument, a filter and a sum raise names its place; rows that a filter drops raise nothing."""
    for what, condition, agg, place, message in (
            ("an argument", None, {"fn": "max", "arg": "b * 1000"}, ".aggs[0].arg", "numeric overflow"),
            ("a filter", "b * 1000 > 0", {"fn": "count"}, ".input.filter", "numeric overflow"),
            ("nothing", "b between -9 and 9", {"fn": "max", "arg": "b * 1000"}, None, None)):
        root = aggregate("few", [], condition)
        root["aggs"] = [{**agg, "as": "x"}]
        for threads in check.args.threads.split(","):
            found = check.rows(root, {}, threads)
            check.done += 1
            ok = found == [] if place is None else isinstance(found, str) and place in found and message in found
            if not ok:
                check.failures.append(f"{what} raises: {str(found)[:200]}")


def check_choices(check):
    folded, plain = "groups: fold, without a state", "not fold, without a state ("
    for table, text in (("few", folded), ("most", folded), ("none", folded), ("many", folded), ("long", folded),
                        ("crowd", plain + "a parent has up to 65 children)"),
                        ("loose", plain), ("scattered", plain + "children do not lie in the order of their parents)")):
        check.want_choice(table, aggregate(table, ["n"], None), text)
    wide = aggregate("few", [], None)
    wide["aggs"] = [{"fn": "sum", "arg": "w", "as": "s"}]
    check.want_choice("a sum of 38 digits", wide, plain + "a sum may be too wide)")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--threads", default="1,3")
    ap.add_argument("--parents", type=int, default=3000)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as t:
        folder = pathlib.Path(t)
        keys, tables = tables_of(random.Random(7), args.parents)
        write(folder, keys, tables)
        subprocess.run([args.heddle, "load", "--schema", str(folder / "schema.json"), "--from", t, "--out", str(folder / "db")], check=True)
        check = Checker(args, folder)
        check_choices(check)
        check_groups(check, tables)
        check_above(check, keys, tables["few"])
        check_joins(check, "few", tables["few"])
        check_joins(check, "long", tables["long"])
        check_errors(check)
    print("\n".join(check.failures[:20] + [f"{check.done} checks, {len(check.failures)} failed"]))
    sys.exit(1 if check.failures or not check.done else 0)


if __name__ == "__main__":
    main()
