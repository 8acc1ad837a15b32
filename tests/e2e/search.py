#!/usr/bin/env python3
"""Joins that search a sorted side (strategies merge and band): random conditions, kinds, key types, NULLs, skew and empty
sides against a direct count in Python; and cases that are known: runs of equal keys, intervals that nest, bands at the ends
of their type.

Usage: search.py --heddle BIN [--backend cpu|cuda] [--threads N] [--seed N] [--count N]
"""
import argparse
import datetime
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

import theta

SIZES = ((60, 90), (1, 40), (40, 1), (0, 30), (30, 0), (150, 150))
INT64 = (-2**63, 2**63 - 1)
EPOCH = datetime.date(1970, 1, 1)
DAY = 86400 * 10**6

# Columns of both tables, without the prefix: type on the left, on the right, and values that may occur.
COLUMNS = {
    "k": ("int32", "int32", lambda r: min(r.randint(0, 6), r.randint(0, 6))),
    "i": ("int32", "int64", lambda r: r.randint(-40, 40)),
    "w": ("int64", "int64", lambda r: r.choice((INT64[0], INT64[0] + 3, INT64[1] - 3, INT64[1], r.randint(-9, 9)))),
    "d": ("decimal(12,2)", "decimal(9,4)", lambda r: Fraction(r.randint(-4000, 4000), 100)),
    "x": ("decimal(38,3)", "decimal(38,3)", lambda r: Fraction(r.choice((0, 10**32, -10**30)) + r.randint(-9, 9), 1000)),
    "f": ("float64", "float64", lambda r: r.choice((math.nan, -0.0, 0.0, math.inf, -math.inf, 1e300, 0.1 * r.randint(-40, 40)))),
    "g": ("float32", "float32", lambda r: r.choice((math.nan, -0.0, math.inf, float(r.randint(-30, 30)), r.randint(-99, 99) / 8))),
    "t": ("date", "date", lambda r: r.randint(18000, 18040)),
    "u": ("timestamp", "timestamp", lambda r: r.randint(18000 * 8, 18040 * 8) * (DAY // 8)),
    "s": ("string", "string", lambda r: r.choice(("", "a", "b", "bb", "a longer text than others"))),
}


def text(column, v):
    if v is None:
        return ""
    if column == "d" or column == "x":
        scale = 2 if column == "d" else 3
        n = abs(v) * 10**scale
        return ("-" if v < 0 else "") + f"{n // 10**scale}.{int(n % 10**scale):0{scale}d}"
    if column == "t":
        return str(EPOCH + datetime.timedelta(v))
    if column == "u":
        return str(datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=v))
    return repr(v) if column in "fg" else str(v)


def table(rng, prefix, rows, nulls):
    def one(column):
        v = None if rng.random() < nulls else COLUMNS[column][2](rng)
        return None if column == "s" and v == "" else v  # an empty field is NULL
    return [{prefix + "row": n, **{prefix + c: one(c) for c in COLUMNS}} for n in range(rows)]


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for side, (name, rows) in enumerate(tables.items()):
        columns = [{"name": name + "row", "type": "int32"}]
        columns += [{"name": name + c, "type": COLUMNS[c][side], "nullable": True} for c in COLUMNS]
        schema["tables"].append({"name": name, "columns": columns})
        lines = ["|".join(text(c[1:], v) for c, v in row.items()) for row in rows]
        (folder / f"{name}.tbl").write_text("".join(line + "\n" for line in lines))
    (folder / "schema.json").write_text(json.dumps(schema))


# ---- conditions: text of the plan, and what it says of two rows ------------------------------------------------

def number(v):
    return float(v) if isinstance(v, Fraction) else v


def order(a, b):
    """-1, 0, 1; NaN is the largest value."""
    if isinstance(a, float) or isinstance(b, float):
        a, b = number(a), number(b)
        an, bn = isinstance(a, float) and math.isnan(a), isinstance(b, float) and math.isnan(b)
        if an or bn:
            return an - bn
    return (a > b) - (a < b)


TESTS = {"<": lambda o: o < 0, "<=": lambda o: o <= 0, ">": lambda o: o > 0, ">=": lambda o: o >= 0, "=": lambda o: o == 0,
         "<>": lambda o: o != 0}


class Expr:
    def __init__(self, text, value):
        self.text, self.value = text, value

    def joined(self, op, other, function):
        def value(row):
            a, b = self.value(row), other.value(row)
            if a is None or b is None:
                return None
            if isinstance(a, float) or isinstance(b, float):
                a, b = number(a), number(b)
            return function(a, b)
        return Expr(f"({self.text} {op} {other.text})", value)

    def __add__(self, other):
        return self.joined("+", other, lambda a, b: a + b)

    def __sub__(self, other):
        return self.joined("-", other, lambda a, b: a - b)

    def compared(self, op, other):
        return self.joined(op, other, lambda a, b: TESTS[op](order(a, b)))


def absolute(e):
    return Expr(f"abs({e.text})", lambda row: None if e.value(row) is None else abs(e.value(row)))


def both(a, b):
    def value(row):
        x, y = a.value(row), b.value(row)
        return False if x is False or y is False else None if x is None or y is None else True
    return Expr(f"{a.text} and {b.text}", value)


def between(x, low, high):
    return Expr(f"{x.text} between {low.text} and {high.text}",
                both(x.compared(">=", low), x.compared("<=", high)).value)


def column(name):
    return Expr(name, lambda row: row[name])


def constant(text, v):
    return Expr(text, lambda row: v)


def distance(rng, c):
    """A literal that can be added to values of the column."""
    n = rng.choice((0, 1, 3, 7, -2))
    if c in "fg":  # a literal of float64 would make float32 one
        return constant(f"{n}.5" + "e0" * (c == "f"), n + math.copysign(0.5, n))
    if c == "d" or c == "x":
        return constant(f"{n}.25", Fraction(f"{n}.25"))
    if c == "t":
        return constant(f"interval '{n}' day", n)
    return constant(str(n), n)


def arithmetic_is_safe(c):
    return c in "idfgt"


def range_condition(rng):
    """A condition in which a range can be found."""
    c = rng.choice("iiwdxffggtu")
    a, b, d = column("l" + c), column("r" + c), distance(rng, c)
    if rng.random() < 0.5:
        a, b = b, a
    op = rng.choice(("<", "<=", ">", ">="))
    forms = [lambda: a.compared(op, b), lambda: both(a.compared(op, b), b.compared(op, a))]
    if c == "w" or c == "x":  # a sum may leave the type: only where the pair is far from the ends
        other = column(a.text[0] + "i")
        forms = [lambda: a.compared(op, b), lambda: both(a.compared(op, b), other.compared(op, column(b.text[0] + "i")))]
    if c == "i" or c == "d":
        forms += [lambda: (a - b).compared(op, d), lambda: a.compared(op, column(b.text[0] + ("d" if c == "i" else "i"))),
                  lambda: a.compared(op, column(b.text[0] + "f")), lambda: (a + b).compared(op, d)]
    if c == "f":
        forms += [lambda: (a - b).compared(op[0], d) if op[0] == "<" else a.compared(op, b + d), lambda: both((a - b).compared("<=", d), (b - a).compared("<=", d)),
                  lambda: both((a - b).compared("<=", d), (a - b).compared(">=", d - constant("9e0", 9.0)))]
    if c in "idfg":
        forms += [lambda: absolute(a - b).compared(rng.choice(("<", "<=")), d)]
    if c in "id":  # the build side may have two of the terms; float64 sums of these are no range
        forms += [lambda: absolute(a - b).compared("<=", column(a.text[0] + c)),
                  lambda: absolute(a - b).compared("<=", column(b.text[0] + c))]
    if c == "t":
        forms += [lambda: (a - b).compared(op, constant("3", 3)), lambda: absolute(a - b).compared("<", constant("3", 3))]
    if arithmetic_is_safe(c):
        forms += [lambda: between(a, b - d, b + d), lambda: a.compared(op, b + d),
                  lambda: between(column("li"), column("ri"), column("rd")),
                  lambda: both(column("li").compared("<=", column("rd")), column("ri").compared("<=", column("ld")))]
    return rng.choice(forms)()


def key_pairs(rng):
    cs = rng.choice(("k", "k", "i", "w", "d", "x", "f", "g", "t", "u", "s", "ks", "kt", "kd", "kif", "s"))
    return [(c, rng.random() < 0.25) for c in cs]


def keys_match(pairs, x, y):
    for c, null_equal in pairs:
        a, b = x["l" + c], y["r" + c]
        if a is None or b is None:
            if not (null_equal and a is None and b is None):
                return False
        elif order(a, b) != 0:
            return False
    return True


def conditions(rng):
    """(pairs of `on`, residual or None, strategies that can serve it)."""
    shape = rng.choice(("range", "range", "keys", "both", "both", "rest"))
    pairs = [] if shape == "range" else key_pairs(rng)
    residual = None if shape == "keys" else range_condition(rng)
    if shape == "rest":
        residual = column("lk").compared("<>", column("ri"))
    strategies = ["auto"] + ["merge"] * bool(pairs) + ["band"] * (shape in ("range", "both"))
    return pairs, residual, strategies


# ---- runs ------------------------------------------------------------------------------------------------------

def rows_of(engine, kind, on, residual, strategy, threads):
    columns = {"semi": ["lrow"], "anti": ["lrow"], "mark": ["lrow", "m"]}.get(kind, ["lrow", "rrow"])
    root = {"op": "project", "exprs": columns, "input": theta.join(kind, on, residual, strategy)}
    rows, _ = engine.run(root, "--threads", str(threads))
    return sorted((tuple(theta.value(v) for v in row.split(",")) for row in rows), key=str)


def check_random(engine, rng, left, right, count):
    for _ in range(count):
        pairs, residual, strategies = conditions(rng)
        kind, strategy = rng.choice(theta.KINDS), rng.choice(strategies[1:] if rng.random() < 0.8 else strategies)
        on = [["l" + c, "r" + c, "null_equal"] if null_equal else ["l" + c, "r" + c] for c, null_equal in pairs]
        want = theta.expected(kind, left, right, lambda x, y: keys_match(pairs, x, y) and (
            not residual or residual.value({**x, **y}) is True))
        threads = rng.choice((1, 2, 3)) if engine.backend == "cpu" else 1
        found = rows_of(engine, kind, on, residual and residual.text, strategy, threads)
        engine.expect(found, sorted(want, key=str),
                      f"{len(left)} x {len(right)} rows, {kind}, {strategy}, {on}, {residual and residual.text}")


def sorted_tables(rng, rows, mixed):
    """Tables in the order of the same column, which has no NULL; of one of the two sometimes something else. mixed: of
    the left one in any case."""
    tables = table(rng, "l", rows, 0.15), table(rng, "r", rng.randint(rows // 2, rows), 0.15)
    c = rng.choice("kwtu" if mixed else "kiwtu")
    for prefix, rows in zip("lr", tables):
        mine = ("i" if prefix == "l" else c) if mixed else c if rng.random() < 0.8 else "i"
        for row in rows:
            row[prefix + mine] = COLUMNS[mine][2](rng)
        rows.sort(key=lambda row: row[prefix + mine])
        for n, row in enumerate(rows):
            row[prefix + "row"] = n
    return c, *tables


def sorted_conditions(rng, c):
    """Pairs of columns, those of the order and of unique row numbers among them, and a residual of one or both sides."""
    lead = rng.choice(((c, c), (c, c), ("i", "row"), ("row", "i"), ("w", "row"), ("row", "row")))
    pairs = [lead] + [(x, x) for x in rng.choice(("", "", "", "k", "s"))]
    rng.shuffle(pairs)
    sides = [constant("1", 1).compared("<", column("ri")), column("li").compared("<>", constant("3", 3)),
             column("lk").compared("<>", column("ri")), column("lk").compared("<=", column("rk"))]
    return [(*p, rng.random() < 0.2) for p in pairs], rng.choice([None, None, None, *sides])


def check_sorted(engine, rng, left, right, c, count):
    """Columns by which tables are sorted are searched where they are. Which steps were seen."""
    seen = set()
    for _ in range(count):
        pairs, residual = sorted_conditions(rng, c)
        kind, strategy = rng.choice(theta.KINDS), rng.choice(("merge", "merge", "auto"))
        on = [["l" + a, "r" + b] + ["null_equal"] * null_equal for a, b, null_equal in pairs]

        def match(x, y):
            keys = [(x["l" + a], y["r" + b], null_equal) for a, b, null_equal in pairs]
            return all((a is None and b is None and ne) if None in (a, b) else a == b for a, b, ne in keys) and \
                (not residual or residual.value({**x, **y}) is True)
        want = sorted(theta.expected(kind, left, right, match), key=str)
        found = rows_of(engine, kind, on, residual and residual.text, strategy, rng.choice((1, 3)))
        engine.expect(found, want, f"sorted by {c}: {len(left)} x {len(right)} rows, {kind}, {strategy}, {on}, "
                      f"{residual and residual.text}")
        plan = {"heddle": 1, "root": theta.join(kind, on, residual and residual.text, strategy)}
        dump = subprocess.run([engine.heddle, "explain", "-", "--db", engine.db, "--dump", "pipelines"],
                              input=json.dumps(plan), capture_output=True, text=True, check=True).stdout
        seen |= {" ".join(line.split(" column ")[1].split()[:1]) + (" in order" if "[in order]" in line else "") + step
                 for line in dump.splitlines() for step in (" probe", " expand") if step + " column " in line}
    return seen


def check_bands(engine, rng, left, right, c, count):
    """A range of a column by which a table is sorted is searched there. Whether such a step was seen."""
    seen = set()
    for _ in range(count):
        near = [both(column("l" + c).compared("<=", column("r" + c)), column("r" + c).compared("<=", column("l" + c)))]
        if c in "ki":
            near += [absolute(column("l" + c) - column("r" + c)).compared("<=", constant("3", 3)),
                     between(column("r" + c), column("l" + c) - constant("5", 5), column("l" + c)),
                     column("r" + c).compared(">", column("l" + c) + constant("2", 2))]
        residual, kind = rng.choice(near), rng.choice(theta.KINDS)
        if rng.random() < 0.4:
            residual = both(residual, column("lk").compared("<>", column("ri")))
        if rng.random() < 0.3:
            residual = both(residual, column("ri").compared("<", constant("20", 20)))
        want = theta.expected(kind, left, right, lambda x, y: residual.value({**x, **y}) is True)
        strategy = rng.choice(("band", "band", "auto"))
        found = rows_of(engine, kind, [], residual.text, strategy, rng.choice((1, 3)))
        engine.expect(found, sorted(want, key=str), f"band, sorted by {c}: {len(left)} x {len(right)} rows, {kind}, {residual.text}")
        plan = {"heddle": 1, "root": theta.join(kind, [], residual.text, strategy)}
        dump = subprocess.run([engine.heddle, "explain", "-", "--db", engine.db, "--dump", "pipelines"],
                              input=json.dumps(plan), capture_output=True, text=True, check=True).stdout
        if "expand band" in dump:
            seen.add(f"{kind} band")
    return seen


def check_runs(engine):
    """Runs of equal keys: 13 inner rows, then those of either side that match nothing."""
    inner = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3), (2, 4), (7, 7), (8, 7), (9, 8), (9, 9), (10, 10), (11, 10)]
    want = inner + [(a, None) for a in (3, 4, 5, 6, 12, 13, 14, 15)] + [(None, b) for b in (5, 6, 11, 12, 13)]
    for strategy in ("merge", "hash", "auto"):
        engine.expect(rows_of(engine, "full", [["ls", "rs"]], None, strategy, 2), sorted(want, key=str), f"runs, {strategy}")


def check_ends(engine, left, right):
    """Differences that leave int64 where the pair is far away: the range ends at the type's ends and has no such pair."""
    test = lambda x, y: None not in (x["lw"], y["rw"]) and abs(x["lw"] - y["rw"]) <= 5  # noqa: E731
    for kind in theta.KINDS:
        found = rows_of(engine, kind, [], "abs(lw - rw) <= 5", "band", 2)
        engine.expect(found, sorted(theta.expected(kind, left, right, test), key=str), f"ends of int64, {kind}")


def check_refused(engine):
    """A strategy that cannot serve a condition says why."""
    for residual in ("ls <> rs", "li * ri > 5", "lf - rf > 1e0 and li <> ri"):
        plan = {"heddle": 1, "root": theta.join("left", [], residual, "band")}
        done = subprocess.run([engine.heddle, "run", "-", "--db", engine.db], input=json.dumps(plan), capture_output=True, text=True)
        engine.expect((done.returncode != 0, "strategy band needs a range" in done.stderr), (True, True), f"refused: {residual}")


def nested(rng, rows):
    """Intervals ri .. rw that nest, and points li."""
    points = [{"lrow": n, **{"l" + c: None for c in COLUMNS}, "li": rng.randint(-50, 50), "ld": None} for n in range(rows)]
    intervals = [{"rrow": n, **{"r" + c: None for c in COLUMNS}, "ri": (n % 7) - 40 + n // 7, "rw": 40 - n // 5} for n in range(rows)]
    return points, intervals


def check_intervals(engine, left, right):
    test = lambda x, y: y["ri"] <= x["li"] <= y["rw"]  # noqa: E731
    for kind, build in itertools.product(theta.KINDS, ("auto", "left")):
        if build == "left" and kind not in ("inner", "right"):
            continue
        found = rows_of(engine, kind, [], "li between ri and rw", "band", 2)
        engine.expect(found, sorted(theta.expected(kind, left, right, test), key=str), f"intervals that nest, {kind}")


def sparse(rng, rows):
    """Tables in the order of the keys lrow and rrow, far apart, some of them several times."""
    def side(prefix, count):
        keys = sorted(rng.randrange(rows) * 2_000_000 for _ in range(count))
        return [{prefix + "row": k, **{prefix + c: None for c in COLUMNS}, prefix + "i": n % 9} for n, k in enumerate(keys)]
    return side("l", rows), side("r", rows // 2)


def check_merge(engine, left, right):
    """Two projections in the order of a key that no table can be addressed by: `auto` merges them, and one that is in no
    order it does not."""
    for kind, side, merges in itertools.product(("inner", "left"), ("auto", "left"), (True, False)):
        key = "rrow" if merges else "rrow + 0"
        sides = [{"op": "project", "exprs": ["lrow"], "input": {"op": "scan", "table": "l"}},
                 {"op": "project", "exprs": ["rrow", {"expr": key, "as": "key"}], "input": {"op": "scan", "table": "r"}}]
        root = {"op": "join", "kind": kind, "on": [["lrow", "key"]], "left": sides[0], "right": sides[1]}
        if kind == "inner":
            root["build"] = side
        want = theta.expected(kind, left, right, lambda x, y: x["lrow"] == y["rrow"])
        root = {"op": "project", "exprs": ["lrow", "rrow"], "input": root}
        found = sorted((tuple(theta.value(v) for v in row.split(",")) for row in engine.run(root)[0]), key=str)
        engine.expect(found, sorted(want, key=str), f"merge by key, {kind}")
        dump = subprocess.run([engine.heddle, "explain", "-", "--db", engine.db, "--backend", engine.backend, "--dump", "physical"], capture_output=True,
                              input=json.dumps({"heddle": 1, "root": root}), text=True, check=True).stdout
        engine.expect("way: sorted search" in dump, merges and engine.backend == "cpu", f"way of a join by {key}, {kind}")


def letters(prefix, keys):
    return [{prefix + "row": n, **{prefix + c: None for c in COLUMNS}, prefix + "s": k} for n, k in enumerate(keys.split())]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--seed", type=int, default=11)
    ap.add_argument("--count", type=int, default=30, help="random joins for each pair of tables")
    args = ap.parse_args()
    rng, wrong = random.Random(args.seed), 0
    data = [("random", table(rng, "l", nl, 0.15), table(rng, "r", nr, 0.15)) for nl, nr in SIZES]
    data.append(("runs", letters("l", "A A B E E E E F F G H H J J M M"), letters("r", "A A B B B C C F G G H I L L")))
    data.append(("intervals", *nested(rng, 60)))
    data.append(("sparse", *sparse(rng, 900)))
    for rows, mixed in ((0, False), (1, False), (30, False), (90, False), (90, False), (90, True)):
        c, *tables = sorted_tables(rng, rows, mixed)
        data.append(("sorted " + c, *tables))
    seen = set()
    for what, left, right in data:
        with tempfile.TemporaryDirectory(prefix="heddle-search-") as folder:
            folder = pathlib.Path(folder)
            write(folder, {"l": left, "r": right})
            subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                           check=True)
            engine = theta.Engine(args, str(folder / "db"))
            if what == "random":
                check_random(engine, rng, left, right, args.count)
            if what == "random" and len(left) == SIZES[0][0]:
                check_ends(engine, left, right)
                check_refused(engine)
            if what.startswith("sorted"):
                seen |= check_sorted(engine, rng, left, right, what[-1], args.count)
                seen |= check_bands(engine, rng, left, right, what[-1], args.count)
            if what == "runs":
                check_runs(engine)
            if what == "sparse":
                check_merge(engine, left, right)
            if what == "intervals":
                check_intervals(engine, left, right)
            wrong += engine.wrong
    wanted = {"inner probe", "inner in order probe", "inner expand", "inner in order expand"}
    wanted |= {f"{kind} band" for kind in theta.KINDS}
    wanted |= {f"{kind} probe" for kind in ("left", "semi", "anti", "mark")}
    seen |= {s.replace(" in order", "") for s in seen if "inner" not in s}
    if args.count >= 30 and wanted - seen:
        print(f"no plan has {wanted - seen}")
        wrong += 1
    print(f"{wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
