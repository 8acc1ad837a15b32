#!/usr/bin/env python3
"""Aggregates over joins by a range, of which the planner visits no pairs, against all pairs in Python: random plans over
integers, dates, decimals of two scales and float64 with NULLs, ties, NaN, -0 and values at the ends of their types,
one bound or two, either side grouped. Exact results must be equal, sums of float64 nearly so; plans that ask for
a loop must give the same, and errors are those of the loop. Nine of ten plans must do without pairs.

Usage: ranges.py --heddle BIN [--backend cpu|cuda] [--count N] [--seed N]
"""
import argparse
import datetime
import fractions
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

F = fractions.Fraction
TYPES = {"i": "int32", "l": "int64", "d": "decimal(9,2)", "e": "decimal(12,4)", "w": "decimal(28,2)", "t": "date",
         "f": "float64", "g": "int32", "s": "string"}
SCALE = {"d": 2, "e": 4, "w": 2}
# Columns that may be compared: both sides' letters.
COMPARED = ["ii", "il", "li", "ll", "dd", "de", "ed", "ee", "tt", "ff", "fi", "if"]
NO_PAIRS = "told by running fields"


def values(rng):
    """A row's values by letter, few of a kind; some at the ends of their types."""
    end = rng.random() < 0.03
    side = rng.choice([-1, 1])
    return {"i": (2**31 - 1) * side if end else rng.randint(-20, 20),
            "l": (2**63 - 1 if side > 0 else -2**63) if end else rng.randint(-30, 30),
            "d": F(999999999 * side, 100) if end else F(rng.randint(-300, 300), 100),
            "e": F(99999999 * side) if end else F(rng.randint(-30000, 30000), 10000),
            "w": F(side * (10**28 - 1), 100) if end else F(rng.randint(-500, 500), 100),
            "t": datetime.date(1, 1, 1) if end else datetime.date(2000, 1, 1) + datetime.timedelta(rng.randint(0, 40)),
            "f": rng.choice([math.nan, math.inf, -math.inf, -0.0]) if rng.random() < 0.1 else rng.randint(-40, 40) / 4,
            "g": rng.randint(0, 4), "s": rng.choice(["ab", "b", "", "zz"])}


def table(rng, prefix, rows):
    out = []
    for _ in range(rows):
        out.append({prefix + k: None if rng.random() < 0.1 else v for k, v in values(rng).items()})
    return out


def text(letter, v):
    if v is None:
        return "~"
    if letter in SCALE:
        n, s = int(v * 10**SCALE[letter]), SCALE[letter]
        return f"{'-' if n < 0 else ''}{abs(n) // 10**s}.{abs(n) % 10**s:0{s}}"
    return str(v)


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "~", "trailing_delimiter": False}}
    for name, rows in tables.items():
        schema["tables"].append({"name": name, "columns": [{"name": c, "type": TYPES[c[1]], "nullable": True} for c in rows[0]]})
        lines = ["|".join(text(c[1], v) for c, v in row.items()) for row in rows]
        (folder / f"{name}.tbl").write_text("".join(line + "\n" for line in lines))
    (folder / "schema.json").write_text(json.dumps(schema))


# ---- what a plan gives --------------------------------------------------------------------------------------------

def order(v):
    """NaN equals itself and is larger than everything else."""
    return (v != v, 0 if v != v else v) if isinstance(v, float) else v


def holds(a, op, b):
    if a is None or b is None:
        return False
    if isinstance(a, float) != isinstance(b, float):
        a, b = float(a), float(b)
    a, b = order(a), order(b)
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def half_away(x, scale):
    n = abs(x) * 10**scale
    return (1 if x >= 0 else -1) * F(math.floor(n + F(1, 2)), 10**scale)


class Agg:
    """An aggregate of a column, perhaps of twice the column."""

    def __init__(self, rng, prefix, name):
        fns = ["count", "sum", "avg", "min", "max"]
        self.fn, self.name, self.arg = rng.choice(fns), name, None
        if rng.random() < 0.2:
            self.fn = "count"
            return
        letters = {"count": "ildewtfs", "sum": "ildewf", "avg": "ildewf"}.get(self.fn, "ildewtfs")
        self.arg = prefix + rng.choice(letters)
        self.float = self.arg[1] == "f"

    def node(self):
        return {"fn": self.fn, "as": self.name, **({"arg": self.arg} if self.arg else {})}

    def of(self, pairs):
        if not self.arg:
            return len(pairs)
        v = [row[self.arg] for row in pairs if row[self.arg] is not None]
        if self.fn == "count":
            return len(v)
        if not v:
            return None
        if self.fn in ("min", "max"):
            return {"min": min, "max": max}[self.fn](v, key=order)
        if self.float:
            finite = [x for x in v if math.isfinite(x)]
            rest = [x for x in v if not math.isfinite(x)]
            total = sum(rest) if rest else math.fsum(finite)
            return total / len(v) if self.fn == "avg" else total
        total = sum(map(F, v))
        return half_away(total / len(v), max(6, SCALE.get(self.arg[1], 0))) if self.fn == "avg" else total


def shown(v):
    """As CSV: NULL is nothing, an empty text is not."""
    return "" if v is None else str(v) if v != "" else '""'


def same(found, want, agg, pairs):
    if want is None or found == "":
        return want is None and found == ""
    if isinstance(want, float):
        x = float(found)
        size = sum(abs(r[agg.arg]) for r in pairs if r[agg.arg] is not None and math.isfinite(r[agg.arg])) if agg else 0
        near = max(len(pairs), 1) * 2.0**-52 * size
        return x == want or (x != x and want != want) or abs(x - want) <= near
    if isinstance(want, (datetime.date, str)):
        return found == shown(want)
    return F(found) == want


# ---- plans --------------------------------------------------------------------------------------------------------

def bound(rng, probe, build, letters, op):
    """(text, test of a probe and a build row): `build op probe`, whichever is written first."""
    p, b = probe + letters[0], build + letters[1]
    shift = rng.choice([0, 0, 3, -7]) if letters[0] in "ide" and letters[1] != "f" else 0
    value = f"{p} + {shift}" if shift else p
    flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    words = f"{b} {op} {value}" if rng.random() < 0.5 else f"{value} {flipped[op]} {b}"
    plus = lambda x: x if x is None or not shift else x + shift  # noqa: E731
    return words, lambda x, y: holds(y[b], op, plus(x[p]))


def band(rng, probe, build):
    """Like condition, by a comparison that has to be taken apart."""
    letters = rng.choice(["ii", "dd", "de", "ed", "ee", "tt"])
    p, b, d = probe + letters[0], build + letters[1], rng.choice([0, 2, 5])
    gap = lambda x, y: None if x[p] is None or y[b] is None else getattr(y[b] - x[p], "days", y[b] - x[p])  # noqa: E731
    forms = [(f"abs({b} - {p}) <= {d}", lambda g: abs(g) <= d), (f"{d} > abs({p} - {b})", lambda g: abs(g) < d),
             (f"{p} = {b}", lambda g: g == 0), (f"{p} - {b} < {d}", lambda g: -g < d),
             (f"{b} - {p} between -{d} and {d}", lambda g: -d <= g <= d),
             (f"{b} - {p} >= -{d} and {b} - {p} >= -1", lambda g: g >= max(-d, -1))]
    k = rng.randrange(len(forms))
    words, test = forms[k]
    return [(words, lambda x, y: gap(x, y) is not None and test(gap(x, y)))], k in (3, 5)


def condition(rng, probe, build):
    """A range of one build column: conjuncts, and whether it has one end."""
    if rng.random() < 0.3:
        return band(rng, probe, build)
    letters = rng.choice(COMPARED)
    low, high = rng.choice([">", ">="]), rng.choice(["<", "<="])
    if rng.random() < 0.5:
        return [bound(rng, probe, build, letters, rng.choice([low, high]))], True
    # The other bound has the same types, so that the build column is compared as it is.
    return [bound(rng, probe, build, letters, low), bound(rng, probe, build, letters, high)], False


class Plan:
    def __init__(self, rng):
        self.probe, self.build = rng.choice([("a", "b"), ("b", "a")])
        self.tests, one_sided = condition(rng, self.probe, self.build)
        self.filters = {}
        for side in "ab":
            if rng.random() < 0.3:
                c, v = side + "g", rng.choice([0, 2, 3, 9])
                self.filters[side] = (f"{c} >= {v}", lambda row, c=c, v=v: holds(row[c], ">=", v))
        self.keys = rng.choice([[], [], [self.probe + "g"], [self.probe + "s"], [self.probe + "g", self.probe + "s"]])
        self.aggs = []
        for i in range(rng.randint(1, 4)):
            side = rng.choice([self.probe, self.build]) if self.keys else rng.choice("ab")
            agg = Agg(rng, side, f"x{i}")
            while agg.arg and side == self.build and ((agg.fn in ("min", "max") and (not one_sided or agg.arg[1] in "s"))
                                                      or (agg.fn in ("sum", "avg") and agg.float)):
                agg = Agg(rng, side, f"x{i}")
            self.aggs.append(agg)
        self.at = rng.choice(["residual", "filter", "mixed"])
        self.projected = rng.random() < 0.5

    def root(self, strategy="auto"):
        sides = [{"op": "scan", "table": "a"}, {"op": "scan", "table": "b"}]
        words = [t for t, _ in self.tests]
        above = [f for f, _ in self.filters.values()] if self.at != "residual" else []
        if self.at == "residual":
            words += [f for f, _ in self.filters.values()]
        if self.at == "filter":
            above, words = above + words, []
        node = {"op": "join", "kind": "inner", "strategy": strategy, "left": sides[0], "right": sides[1]}
        if words:
            node["residual"] = " and ".join(words)
        if above:
            node = {"op": "filter", "input": node, "pred": " and ".join(above)}
        aggs = [a.node() for a in self.aggs]
        if self.projected:
            used = sorted({a.arg for a in self.aggs if a.arg} | set(self.keys))
            node = {"op": "project", "input": node, "exprs": [{"expr": c, "as": "p" + c} for c in used] or [{"expr": "1", "as": "p"}]}
            aggs = [{**a, **({"arg": "p" + a["arg"]} if "arg" in a else {})} for a in aggs]
        keys = [{"expr": "p" + k, "as": k} for k in self.keys] if self.projected else self.keys
        return {"op": "aggregate", "input": node, "keys": keys, "aggs": aggs}

    def expected(self, tables):
        rows = {s: [r for r in tables[s] if s not in self.filters or self.filters[s][1](r)] for s in "ab"}
        groups = {} if self.keys else {(): []}
        for x, y in itertools.product(rows[self.probe], rows[self.build]):
            if all(test(x, y) for _, test in self.tests):
                groups.setdefault(tuple(x[k] for k in self.keys), []).append({**x, **y})
        return groups


class Engine:
    def __init__(self, args, db):
        self.args, self.db = args, db

    def call(self, command, root, *options):
        plan = json.dumps({"heddle": 1, "root": root})
        return subprocess.run([self.args.heddle, command, "-", "--db", self.db, "--backend", self.args.backend, *options],
                              input=plan, capture_output=True, text=True)

    def rows(self, root, threads):
        done = self.call("run", root, "--format", "csv", "--threads", str(threads))
        if done.returncode:
            raise SystemExit(f"{done.stderr}\n{json.dumps(root)}")
        return [line.split(",") for line in done.stdout.splitlines()[1:]]


def check(engine, plan, strategy, threads, want):
    """Whether the rows are those of the groups."""
    root = plan.root(strategy)
    found = {tuple(row[:len(plan.keys)]): row[len(plan.keys):] for row in engine.rows(root, threads)}
    named = {tuple(map(shown, key)): pairs for key, pairs in want.items()}
    bad = [f"groups {sorted(found)} for {sorted(named)}"] if set(found) != set(named) else []
    for key in set(found) & set(named):
        for agg, value in zip(plan.aggs, found[key]):
            expected = agg.of(named[key])
            if not same(value, expected, agg if agg.arg and agg.arg[1] == "f" else None, named[key]):
                bad.append(f"{key} {agg.fn}({agg.arg}): {value} for {expected}")
    if bad:
        print(f"{strategy}, {threads} threads: {json.dumps(root)}\n  " + "\n  ".join(bad[:5]))
    return not bad


def check_random(args, engine, tables, rng):
    wrong = without = 0
    for _ in range(args.count):
        plan = Plan(rng)
        want = plan.expected(tables)
        told = engine.call("explain", plan.root(), "--dump", "physical")
        if args.verbose and f"not {NO_PAIRS}" in told.stdout:
            print(json.dumps(plan.root()["input"]), [a.node() for a in plan.aggs], told.stdout.split("pairs: ")[1].split("\n")[0])
        without += NO_PAIRS in told.stdout and f"not {NO_PAIRS}" not in told.stdout
        ways = [("auto", 1), ("auto", 3)] + ([("loop", 2)] if rng.random() < 0.3 else [])
        for strategy, threads in ways if args.backend == "cpu" else [("auto", 1)]:
            wrong += not check(engine, plan, strategy, threads, want)
    print(f"{without} of {args.count} plans without pairs")
    return wrong + (without < args.count * 9 // 10)


def check_errors(args, engine):
    """A row without pairs raises nothing, one with a pair does; a plan that asks for a loop visits its pairs."""
    wrong = 0
    for residual, status in (("ai + 100 < bi and ai > -1000", 0), ("ai < bi", 3)):
        root = {"op": "aggregate", "keys": [], "aggs": [{"fn": "sum", "arg": "10 / (ai - ai)", "as": "s"}],
                "input": {"op": "join", "kind": "inner", "left": {"op": "scan", "table": "a"},
                          "right": {"op": "scan", "table": "b", "filter": "bi < 50 or bi is null"}, "residual": residual}}
        for strategy in ("auto", "loop"):
            root["input"]["strategy"] = strategy
            done = engine.call("run", root)
            told = engine.call("explain", root, "--dump", "physical").stdout
            skipped = f"not {NO_PAIRS}" not in told
            if (done.returncode != 0) != (status != 0) or skipped != (strategy == "auto"):
                print(f"{residual}, {strategy}: status {done.returncode}, {done.stderr}\n{told}")
                wrong += 1
    return wrong


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--count", type=int, default=80)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--verbose", action="store_true", help="tell why pairs are visited")
    args = ap.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-ranges-") as folder:
        folder = pathlib.Path(folder)
        tables = {"a": table(rng, "a", 320), "b": table(rng, "b", 400)}
        write(folder, tables)
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                       check=True, stdout=subprocess.DEVNULL)
        engine = Engine(args, str(folder / "db"))
        wrong = check_random(args, engine, tables, rng)
        wrong += check_errors(args, engine)
    print(f"{wrong} wrong")
    return wrong != 0


sys.exit(main())
