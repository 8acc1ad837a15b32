#!/usr/bin/env python3
"""Columns of intervals on disk against a model in Python: filters, groups, joins, sorts, minima, windows, sets, aggregates,
dates that they move, parameters, NULLs among them. Intervals of equal lengths that look different are many, so what a
group shows, and how ties are broken, is part of each answer.

Usage: interval.py --heddle BIN [--backend cpu|cuda] [--rows N] [PART...]      parts: as PARTS below; default: all
"""
import argparse
import collections
import datetime
import fractions
import json
import pathlib
import random
import subprocess
import sys
import tempfile

DAY = 86400 * 10**6
EPOCH = datetime.datetime(1970, 1, 1)
failed = 0


def length(v):
    return (v[0] * 30 + v[1]) * DAY + v[2]


def order(v):
    return (length(v), v[0], v[1])


def form(v):
    """As docs/plan.md 2.2 has it."""
    if v is None:
        return None
    months, days, micros = v
    years, months = (abs(months) // 12, abs(months) % 12) if months >= 0 else (-(-months // 12), -(-months % 12))
    parts = [f"{n} {unit}{'' if abs(n) == 1 else 's'}" for n, unit in ((years, "year"), (months, "month"), (days, "day")) if n]
    if micros or not parts:
        second, rest = divmod(abs(micros), 10**6)
        clock = f"{'-' if micros < 0 else ''}{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        parts.append(clock + (f".{rest:06d}".rstrip("0") if rest else ""))
    return " ".join(parts)


def few(rng):
    """Of few lengths, each with several forms."""
    months, days = rng.choice([0, 1, 2, -1]), rng.choice([0, 1, 29, 30, 60, -30])
    return months, days - 30 * rng.choice([0, 0, 1]), rng.choice([0, DAY, -DAY, 1, 3600 * 10**6])


def many(rng):
    return (rng.choice([0, rng.randrange(-50, 50)]), rng.choice([0, rng.randrange(-400, 400)]),
            rng.choice([0, rng.randrange(-DAY, DAY), rng.randrange(-100, 100) * 10**6]))


def make(rng, n):
    """id, k (few), v (many), w (as v, a part of it), t (a timestamp)"""
    values = [many(rng) for _ in range(n // 2 + 1)]
    return [(i, rng.choice([few(rng), few(rng), few(rng), None]), rng.choice([*values, None]),
             rng.choice([*values[: len(values) // 3 + 1], None]), EPOCH + datetime.timedelta(days=rng.randrange(30000), seconds=rng.randrange(86400)))
            for i in range(n)]


class Engine:
    def __init__(self, options, rows, scratch):
        self.options, self.dir = options, pathlib.Path(scratch)
        columns = [{"name": "id", "type": "int32"}, *({"name": c, "type": "interval", "nullable": True} for c in "kvw"),
                   {"name": "t", "type": "timestamp"}]
        (self.dir / "csv").mkdir()
        (self.dir / "schema.json").write_text(json.dumps({"format": {
            "delimiter": ",", "header": True, "quote": '"', "null": "NULL", "trailing_delimiter": False},
            "tables": [{"name": "t", "primary_key": ["id"], "columns": columns}]}))
        with open(self.dir / "csv" / "t.csv", "w") as f:
            f.write("id,k,v,w,t\n")
            for i, *values, t in rows:
                f.write(",".join([str(i), *("NULL" if v is None else form(v) for v in values), str(t)]) + "\n")
        done = self.call("load", "--schema", self.dir / "schema.json", "--from", self.dir / "csv", "--out", self.dir / "db",
                         backend=False)
        assert done.returncode == 0, done.stderr

    def call(self, *args, backend=True):
        more = ["--backend", self.options.backend] if backend else []
        return subprocess.run([self.options.heddle, *map(str, args), *more], capture_output=True, text=True)

    def rows(self, root, params=None, given=()):
        (self.dir / "p.json").write_text(json.dumps({"heddle": 1, "params": params or {}, "root": root}))
        done = self.call("run", self.dir / "p.json", "--db", self.dir / "db", "--format", "json", *given)
        return [tuple(r) for r in json.loads(done.stdout)["rows"]] if done.returncode == 0 else done.stderr


def check(what, found, expected, ordered=False):
    global failed
    if not ordered and isinstance(found, list):
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
    if found == expected:
        return
    failed += 1
    if isinstance(found, list):  # what one has and the other has not
        found, expected = [r for r in found if r not in expected] or found, [r for r in expected if r not in found] or expected
    print(f"{what}: expected {str(expected)[:400]}, found {str(found)[:400]}")


SCAN = {"op": "scan", "table": "t"}
COLUMNS = {"k": 1, "v": 2, "w": 3}


def ids(root):
    return {"op": "project", "exprs": ["id"], "input": root}


def where(pred):
    return ids({"op": "filter", "input": SCAN, "pred": pred})


def smallest(values):
    return min((v for v in values if v is not None), key=order, default=None)


def largest(values):
    return max((v for v in values if v is not None), key=order, default=None)


def key(v):
    return None if v is None else length(v)


def grouped(rows, column):
    by = collections.defaultdict(list)
    for r in rows:
        by[key(r[column])].append(r)
    return by.values()


def filters(e, rows):
    for name, column in COLUMNS.items():
        pick = rows[len(rows) // 2][column] or (1, 0, 0)
        for op, holds in (("=", int.__eq__), ("<>", int.__ne__), ("<", int.__lt__), (">=", int.__ge__)):
            expected = [(r[0],) for r in rows if r[column] is not None and holds(length(r[column]), length(pick))]
            check(f"{name} {op}", e.rows(where(f"{name} {op} interval '{form(pick)}'")), expected)
            found = e.rows(where(f"{name} {op} :p"), {"p": {"type": "interval"}}, ["-p", f"p={form(pick)}"])
            check(f"{name} {op} :p", found, expected)
    check("v = w", e.rows(where("v = w")), [(r[0],) for r in rows if r[2] and r[3] and length(r[2]) == length(r[3])])
    check("null", e.rows(where("k is null")), [(r[0],) for r in rows if r[1] is None])
    wanted = {30 * DAY, DAY, 0}
    expected = [(r[0],) for r in rows if key(r[1]) in wanted]
    check("in", e.rows(where("k in (interval '1' month, interval '24:00:00', interval '0' day)")), expected)
    found = e.rows(where("k in :p"), {"p": {"type": "list(interval)"}}, ["-p", 'p=["1 month", "1 day", "00:00:00"]'])
    check("in a list", found, expected)
    check("between", e.rows(where("k between interval '-1' day and interval '31' day")),
          [(r[0],) for r in rows if r[1] and -DAY <= length(r[1]) <= 31 * DAY])


def groups(e, rows):
    for name, column in COLUMNS.items():
        found = e.rows({"op": "aggregate", "input": SCAN, "keys": [name], "aggs": [
            {"fn": "count", "as": "n"}, {"fn": "min", "arg": "w", "as": "least"}, {"fn": "max", "arg": "w", "as": "most"}]})
        expected = [(form(smallest(r[column] for r in g)), len(g), form(smallest(r[3] for r in g)), form(largest(r[3] for r in g)))
                    for g in grouped(rows, column)]
        check(f"group by {name}", found, expected)
        found = e.rows({"op": "distinct", "input": {"op": "project", "exprs": [name], "input": SCAN}})
        check(f"distinct {name}", found, [r[:1] for r in expected])
    found = e.rows({"op": "aggregate", "input": SCAN, "keys": ["k", {"expr": "id % 3", "as": "m"}], "rollup": True,
                    "aggs": [{"fn": "count", "as": "n"}]})
    expected = [(None, None, len(rows))] + [(form(smallest(r[1] for r in g)), None, len(g)) for g in grouped(rows, 1)]
    for g in grouped(rows, 1):
        for m in {r[0] % 3 for r in g}:
            part = [r for r in g if r[0] % 3 == m]
            expected.append((form(smallest(r[1] for r in part)), m, len(part)))
    check("rollup", found, expected)


def aggregates(e, rows):
    found = e.rows({"op": "aggregate", "input": SCAN, "keys": ["k"], "aggs": [
        {"fn": "count", "arg": "v", "distinct": True, "as": "n"}, {"fn": "mode", "arg": "w", "as": "m"},
        {"fn": "first", "arg": "v", "order": ["id"], "as": "f"}, {"fn": "last", "arg": "v", "order": ["w", "id"], "as": "l"},
        {"fn": "arg_max", "arg": "v", "by": "id", "as": "a"}, {"fn": "arg_min", "arg": "id", "by": "v", "as": "i"},
        {"fn": "sum", "arg": "v", "as": "s"}, {"fn": "sum", "arg": "w", "filter": "id % 2 = 0", "as": "e"},
        {"fn": "avg", "arg": "v", "as": "x"}, {"fn": "avg", "arg": "w", "filter": "id % 3 = 0", "as": "y"}]})
    expected = []
    for g in grouped(rows, 1):
        count = collections.Counter(length(r[3]) for r in g if r[3])
        mode = min((n for n in count), key=lambda n: (-count[n], n), default=None)
        last = max(g, key=lambda r: (r[3] is None, length(r[3] or (0, 0, 0)), r[0]))
        least = min((length(r[2]) for r in g if r[2]), default=None)
        expected.append((form(smallest(r[1] for r in g)), len({length(r[2]) for r in g if r[2]}),
                         form(smallest(r[3] for r in g if key(r[3]) == mode)) if count else None,
                         form(g[0][2]), form(last[2]), form(g[-1][2]),
                         min((r[0] for r in g if r[2] and length(r[2]) == least), default=None),
                         total([r[2] for r in g]), total([r[3] for r in g if r[0] % 2 == 0]),
                         mean([r[2] for r in g]), mean([r[3] for r in g if r[0] % 3 == 0])))
    check("aggregates", found, expected)
    found = e.rows({"op": "aggregate", "input": SCAN, "keys": [{"expr": "id % 3", "as": "m"}], "rollup": True,
                    "aggs": [{"fn": "avg", "arg": "v", "as": "x"}, {"fn": "avg", "arg": "w", "filter": "id < 0", "as": "none"}]})
    check("avg", found, [(None, mean([r[2] for r in rows]), None), *((m, mean([r[2] for r in rows[m::3]]), None) for m in range(3))])


def total(values):
    values = [v for v in values if v is not None]
    return form(tuple(map(sum, zip(*values)))) if values else None


def mean(values):
    """The whole months of the average, then days and what is left of months, then the rest, rounded half away from zero."""
    values = [v for v in values if v is not None]
    if not values:
        return None
    n, (months, days, micros) = len(values), (fractions.Fraction(sum(part)) for part in zip(*values))
    days = days / n + (months / n - int(months / n)) * 30
    micros = micros / n + (days - int(days)) * DAY
    rounded = int(abs(micros) + fractions.Fraction(1, 2)) * (-1 if micros < 0 else 1)
    return form((int(months / n), int(days), rounded))


def placed(values, num, den):
    """The first value such that the share num/den of all are not behind it."""
    values = sorted((v for v in values if v is not None), key=order)
    return form(values[max(-(-len(values) * num // den), 1) - 1]) if values else None


def quantiles(e, rows):
    aggs = [{"fn": "median", "arg": "v", "as": "m"}, {"fn": "quantile_disc", "arg": "v", "q": "0.9", "as": "q"},
            {"fn": "quantile_disc", "arg": "k", "q": "0", "as": "z"}, {"fn": "median", "arg": "w", "filter": "id % 3 = 0", "as": "f"}]
    for what, keys, groups in (("all", [], [rows]), ("groups", ["w"], grouped(rows, 3)), ("numbers", [{"expr": "id % 7", "as": "g"}], [rows[i::7] for i in range(7)])):
        found = e.rows({"op": "aggregate", "input": SCAN, "keys": keys, "aggs": aggs})
        expected = [(placed([r[2] for r in g], 1, 2), placed([r[2] for r in g], 9, 10), placed([r[1] for r in g], 0, 1),
                     placed([r[3] for r in g if r[0] % 3 == 0], 1, 2)) for g in groups]
        check(f"quantiles of {what}", [r[len(keys):] for r in found] if isinstance(found, list) else found, expected)
    frame = {"unit": "rows", "start": {"preceding": "5"}, "end": {"following": "2"}}
    found = e.rows({"op": "project", "exprs": ["id", "m", "q", "c", "n"], "input": {
        "op": "window", "input": SCAN, "partition": [{"expr": "id % 3"}], "order": ["id"], "frame": frame, "functions": [
            {"fn": "median", "arg": "k", "as": "m"}, {"fn": "quantile_disc", "arg": "k", "q": "0.25", "as": "q"},
            {"fn": "median", "arg": "v", "filter": "id % 2 = 0", "as": "c", "frame": {**frame, "exclude": "current row"}},
            {"fn": "count", "arg": "k", "distinct": True, "as": "n"}]}})
    expected = []
    for g in (rows[i::3] for i in range(3)):
        for i, r in enumerate(g):
            of = g[max(0, i - 5):i + 3]
            expected.append((r[0], placed([x[1] for x in of], 1, 2), placed([x[1] for x in of], 1, 4),
                             placed([x[2] for x in of if x is not r and x[0] % 2 == 0], 1, 2), len({length(x[1]) for x in of if x[1]})))
    check("quantiles of frames", found, expected)


def sums(e, rows):
    near = {"unit": "rows", "start": {"preceding": "6"}, "end": {"following": "1"}}
    empty = {"unit": "rows", "start": {"following": "1"}, "end": {"following": "2"}}
    running = {"unit": "rows", "start": "unbounded preceding", "end": "current row"}
    cases = [("v", near, None, lambda g, i: g[max(0, i - 6):i + 2]), ("k", empty, "id % 2 = 0", lambda g, i: [r for r in g[i + 1:i + 3] if r[0] % 2 == 0]),
             ("v", {**near, "exclude": "current row"}, None, lambda g, i: g[max(0, i - 6):i] + g[i + 1:i + 2]),
             ("w", running, None, lambda g, i: g[:i + 1])]
    functions = []
    for i, (column, frame, only, _) in enumerate(cases):
        functions += [{"fn": fn, "arg": column, "frame": frame, "as": f"{fn}{i}", **({"filter": only} if only else {})} for fn in ("sum", "avg")]
    found = e.rows({"op": "project", "exprs": ["id", *(f["as"] for f in functions)], "input": {
        "op": "window", "input": SCAN, "partition": [{"expr": "id % 5"}], "order": ["id"], "functions": functions}})
    expected = []
    for g in (rows[i::5] for i in range(5)):
        for i, r in enumerate(g):
            of = [[x[COLUMNS[column]] for x in rows_of(g, i)] for column, _, _, rows_of in cases]
            expected.append((r[0], *(f(values) for values in of for f in (total, mean))))
    check("sums of frames", found, expected)
    for n, micros in ((500001, 0), (500000, -1)):  # a millionth more or less than half a microsecond
        many = {"op": "repeat", "count": "n", "input": {
            "op": "values", "columns": [{"name": "v", "type": "interval"}, {"name": "n", "type": "int32"}],
            "rows": [["-00:00:00.000001", 500000], ["00:00:00", n]]}}
        window = {"op": "window", "functions": [{"fn": "avg", "arg": "v", "as": "a"}], "input": many}
        if len(rows) > 1000:
            check("rounding over frames", e.rows({"op": "distinct", "input": {"op": "project", "exprs": ["a"], "input": window}}), [(form((0, 0, micros)),)])
        check("rounding", e.rows({"op": "aggregate", "keys": [], "aggs": [{"fn": "avg", "arg": "v", "as": "a"}], "input": many}), [(form((0, 0, micros)),)])


def joins(e, rows):
    right = {"op": "project", "input": SCAN, "exprs": [{"expr": "id", "as": "other"}, {"expr": "w", "as": "y"}]}
    by = collections.defaultdict(list)
    for r in rows:
        if r[3]:
            by[length(r[3])].append(r[0])
    for name in "kv":
        for strategy in ("hash", "radix", "merge", "auto"):
            found = e.rows({"op": "project", "exprs": ["id", "other"], "input": {
                "op": "join", "kind": "inner", "on": [[name, "y"]], "strategy": strategy, "left": SCAN, "right": right}})
            check(f"{strategy} join {name} = w", found, [(r[0], i) for r in rows for i in by.get(key(r[COLUMNS[name]]), ())])
    values = {"op": "values", "columns": [{"name": "z", "type": "interval"}], "rows": [["30 days"], ["24:00:00"], [None]]}
    for kind, holds in (("semi", True), ("anti", False)):
        found = e.rows(ids({"op": "join", "kind": kind, "on": [["k", "z"]], "left": SCAN, "right": values}))
        check(f"{kind} join", found, [(r[0],) for r in rows if (key(r[1]) in (30 * DAY, DAY)) == holds])
    found = e.rows(ids({"op": "filter", "input": SCAN, "pred": {"op": "in", "args": ["k"], "plan": values}}))
    check("in a subplan", found, [(r[0],) for r in rows if key(r[1]) in (30 * DAY, DAY)])
    found = e.rows({"op": "project", "exprs": ["id", "y"], "input": {
        "op": "join", "kind": "left", "on": [], "asof": {"left": "k", "right": "z", "match": ">="}, "left": SCAN, "right": {
            "op": "values", "columns": [{"name": "z", "type": "interval"}, {"name": "y", "type": "int32"}],
            "rows": [["30 days", 1], ["1 month", 2], ["-1 days", 3]]}}})
    check("asof", found, [(r[0], None if r[1] is None or length(r[1]) < -DAY else 3 if length(r[1]) < 30 * DAY else 1) for r in rows])


def orders(e, rows):
    found = e.rows(ids({"op": "sort", "input": SCAN, "keys": [
        {"expr": "k", "desc": True, "nulls": "last"}, {"expr": "v", "nulls": "first"}, "id"]}))
    last = sorted(rows, key=lambda r: (r[2] is not None, key(r[2]) or 0, r[0]))
    last.sort(key=lambda r: (r[1] is not None, key(r[1]) or 0), reverse=True)
    check("sort", found, [(r[0],) for r in last], ordered=True)
    two = {"op": "project", "exprs": ["k", "id"], "input": SCAN}
    found = e.rows({"op": "sort", "keys": ["k"], "limit": 20, "input": two})
    first = sorted(rows, key=lambda r: (r[1] is None, order(r[1]) if r[1] else (), r[0]))[:20]
    check("ties", found, [(form(r[1]), r[0]) for r in first], ordered=True)
    found = e.rows({"op": "top", "keys": ["k"], "order": ["v"], "limit": 1, "input": {"op": "project", "exprs": ["k", "v", "id"], "input": SCAN}})
    expected = [min(g, key=lambda r: (r[2] is None, length(r[2]) if r[2] else 0, r[1] is None, order(r[1]) if r[1] else (), order(r[2]) if r[2] else (), r[0]))
                for g in grouped(rows, 1)]
    check("top", found, [(form(r[1]), form(r[2]), r[0]) for r in expected])


def windows(e, rows):
    found = e.rows({"op": "project", "exprs": ["id", "first", "last", "rank", "least"], "input": {
        "op": "window", "input": SCAN, "partition": ["k"], "order": ["id"], "functions": [
            {"fn": "first_value", "arg": "v", "as": "first"}, {"fn": "lag", "arg": "w", "as": "last"},
            {"fn": "rank", "as": "rank", "partition": [], "order": ["v"]},
            {"fn": "min", "arg": "v", "as": "least", "frame": {"unit": "rows", "start": {"preceding": "2"}, "end": "current row"}}]}})
    expected = []
    for g in grouped(rows, 1):
        for i, r in enumerate(g):
            rank = 1 + sum((x[2] is None, key(x[2]) or 0) < (r[2] is None, key(r[2]) or 0) for x in rows)
            expected.append((r[0], form(g[0][2]), form(g[i - 1][3]) if i else None, rank, form(smallest(x[2] for x in g[max(0, i - 2):i + 1]))))
    check("windows", found, expected)


def sets(e, rows):
    v, w = ({"op": "project", "input": SCAN, "exprs": [{"expr": c, "as": "x"}]} for c in "vw")
    mine, others = {key(r[2]) for r in rows}, {key(r[3]) for r in rows}
    shown = {k: smallest([r[2] for r in rows if key(r[2]) == k]) for k in mine}
    check("intersect", e.rows({"op": "intersect", "inputs": [v, w]}), [(form(shown[k]),) for k in mine & others])
    check("except", e.rows({"op": "except", "inputs": [v, w]}), [(form(shown[k]),) for k in mine - others])
    both = {k: smallest([x for r in rows for x in r[2:4] if key(x) == k]) for k in mine | others}
    check("union", e.rows({"op": "union", "inputs": [v, w]}), [(form(x),) for x in both.values()])
    count = collections.Counter(key(r[2]) for r in rows) & collections.Counter(key(r[3]) for r in rows)
    check("intersect all", e.rows({"op": "intersect", "all": True, "inputs": [v, w]}), [(form(shown[k]),) for k in count.elements()])


def month(t, n):
    k = t.year * 12 + t.month - 1 + n
    last = (datetime.date(k // 12 + (k % 12 == 11), (k + 1) % 12 + 1, 1) - datetime.timedelta(days=1)).day
    return t.replace(year=k // 12, month=k % 12 + 1, day=min(t.day, last))


def moves(e, rows):
    there = [r for r in rows if r[2]]
    move = lambda t, v, s: month(t, s * v[0]) + datetime.timedelta(days=s * v[1], microseconds=s * v[2])  # noqa: E731
    text = lambda t: str(t) if t.microsecond else str(t)  # noqa: E731
    found = e.rows({"op": "project", "input": {"op": "filter", "input": SCAN, "pred": "v is not null"}, "exprs": [
        "id", {"expr": "t + v", "as": "a"}, {"expr": "t - v", "as": "b"}, {"expr": "v + k", "as": "c"}, {"expr": "v - k * 3", "as": "d"},
        {"expr": "-v", "as": "e"}, {"expr": "cast(cast(v as string) as interval)", "as": "f"},
        {"expr": "extract(hour from v)", "as": "h"}]})
    expected = []
    for r in there:
        v, k = r[2], r[1]
        hour = (abs(v[2]) // 3600000000) * (-1 if v[2] < 0 else 1)
        expected.append((r[0], text(move(r[4], v, 1)), text(move(r[4], v, -1)),
                         form(tuple(a + b for a, b in zip(v, k))) if k else None,
                         form(tuple(a - 3 * b for a, b in zip(v, k))) if k else None,
                         form(tuple(-a for a in v)), form(v), hour))
    check("moves", [tuple(str(x) if i else x for i, x in enumerate(r)) for r in found] if isinstance(found, list) else found,
          [tuple(str(x) if i else x for i, x in enumerate(r)) for r in expected])


PARTS = {part.__name__: part for part in (filters, groups, aggregates, quantiles, sums, joins, orders, windows, sets, moves)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--heddle", required=True)
    p.add_argument("--backend", default="cpu")
    p.add_argument("--rows", type=int, default=1500)
    p.add_argument("parts", nargs="*", default=list(PARTS))
    options = p.parse_args()
    rng = random.Random(11)
    rows = make(rng, options.rows)
    with tempfile.TemporaryDirectory() as scratch:
        e = Engine(options, rows, scratch)
        for name in options.parts:
            PARTS[name](e, rows)
    print(f"{failed} wrong answers")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
