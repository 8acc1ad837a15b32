"""Random windows: partitions and orders with ties, frames that may be empty or reach beyond the ends."""

from dataclasses import replace
from fractions import Fraction

from gen_value import Val
from hdexpr import Node
from hdtypes import BOOL, DATE, FLOAT64, INT64, STRING

NUMBERS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
MAX_ROWS = 1200  # the oracle looks at all rows of all frames
MAX_JOINED = 300  # frames' strings are as long as all frames together


class WindowGen:
    """plan: the PlanGen; rel: the input; results: {aggregate: bounds of its result}."""

    def __init__(self, plan, rel, results):
        self.plan, self.rng, self.rel, self.results = plan, plan.rng, rel, results
        self.gen = plan.exprs(rel)

    def small(self):
        return self.rel.rows <= MAX_ROWS

    def node(self):
        """The operator, and (name, Val) of each function."""
        node = {"op": "window", "input": self.rel.node}
        keys = self.rng.sample(self.rel.columns, min(len(self.rel.columns), self.rng.choice([0, 1, 1, 1, 2])))
        if keys or self.rng.random() < 0.3:
            node["partition"] = [c.name if self.rng.random() < 0.7 else {"expr": self.plan.write(c.val)} for c in keys]
        if self.rng.random() < 0.85:
            node["order"] = self.plan.sort_keys(self.rel)
        if self.rng.random() < 0.25:
            node["frame"] = self.frame(node)
        functions, out = [], []
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            function, val = self.function(node)
            function["as"] = self.plan.fresh("w")
            if "frame" not in function and self.rng.random() < 0.15:
                self.own_window(function, node)
            functions.append(function)
            out.append((function["as"], val))
        node["functions"] = functions
        return node, out

    def own_window(self, function, node):
        if self.rng.random() < 0.5:
            function["partition"] = [self.rng.choice(self.rel.columns).name]
        if self.rng.random() < 0.6 or "partition" not in function:
            function["order"] = self.plan.sort_keys(self.rel)

    def frame(self, node):
        unit = self.rng.choice(["rows", "rows", "range", "groups"])
        start = self.rng.choice(["unbounded preceding", "current row"] + [self.offset] * 3)
        end = self.rng.choice(["unbounded following", "current row"] + [self.offset] * 2)
        plain = [b if isinstance(b, str) else b(node, unit) for b in (start, end)]
        out = {"unit": unit, "start": plain[0], "end": plain[1]}
        if self.rng.random() < 0.3:
            out["exclude"] = self.rng.choice(["no others", "current row", "group", "ties"])
        return out

    def offset(self, node, unit):
        if unit == "range":
            return self.distance(node)
        return {self.rng.choice(["preceding", "following"]): self.rng.choice([0, 1, 1, 2, 3, 10, 5000, 2147483647])}

    def distance(self, node):
        """From the key of an order of one column that is an int or a date; else there is none."""
        key = node.get("order", [])
        name = key[0] if len(key) == 1 and isinstance(key[0], str) else None
        val = next((c.val for c in self.rel.columns if c.name == name), None)
        if not val or not (val.type.is_int or val.type == DATE):
            return "current row"
        n = self.rng.choice([0, 1, 2, 7, 100, 40000])
        return {self.rng.choice(["preceding", "following"]): f"interval '{n}' day" if val.type == DATE else n}

    def number(self, hi, lo=0):
        return Val(Node("col", name=""), INT64, False, Fraction(lo), Fraction(hi))

    def function(self, node):
        rows = int(self.rel.rows)
        shape = self.rng.random()
        if shape < 0.35:
            fn = self.rng.choice(NUMBERS)
            if fn == "ntile":
                return {"fn": fn, "n": self.rng.choice([1, 2, 3, 7, 100000])}, self.number(max(1, rows), 1)
            if fn in ("percent_rank", "cume_dist"):
                return {"fn": fn}, Val(Node("col", name=""), FLOAT64, False, Fraction(0), Fraction(1))
            return {"fn": fn}, self.number(max(1, rows), 1)
        return self.shifted() if shape < 0.5 else self.placed(node) if shape < 0.65 else self.aggregate(node)

    def value(self, val):
        return replace(val, nullable=True, samples=[])

    def shifted(self):
        arg = self.gen.any(self.plan.depth())
        out = {"fn": self.rng.choice(["lag", "lead"]), "arg": self.plan.write(arg)}
        if self.rng.random() < 0.6:
            out["offset"] = self.rng.choice([0, 1, 2, 3, 50, 2147483647])
        if self.rng.random() < 0.4:
            other = self.gen.of_kind(arg.type.kind, 0)
            if other.type == arg.type:
                out["default"] = self.plan.write(other)
                arg = self.both(arg, other)
        return out, self.value(arg)

    def both(self, a, b):
        return replace(a, lo=min(a.lo, b.lo), hi=max(a.hi, b.hi), finite=a.finite and b.finite, ascii=a.ascii and b.ascii,
                       bits=None if a.bits is None or b.bits is None else max(a.bits, b.bits))

    def placed(self, node):
        arg = self.gen.any(self.plan.depth())
        out = {"fn": self.rng.choice(["first_value", "last_value", "nth_value"]), "arg": self.plan.write(arg)}
        if out["fn"] == "nth_value":
            out["n"] = self.rng.choice([1, 2, 3, 40])
        if self.rng.random() < 0.6:
            out["frame"] = self.frame(node)
        return out, self.value(arg)

    def aggregate(self, node):
        fn = self.rng.choice(["count", "sum", "avg", "min", "max", "bool", "bits", "moment", "arg", "quantile", "ranked", "count", "sum"])
        if fn == "quantile":
            return self.quantile(node)
        if fn == "ranked":
            return self.ranked(node)
        if fn == "moment":
            return self.of_two(node, self.plan.moment)
        if fn == "arg":
            return self.of_two(node, self.plan.arg)
        if fn == "bool":
            return self.of_condition(node)
        if fn == "bits":
            return self.of_bits(node)
        if fn == "count" and self.rng.random() < 0.4:
            arg = None
        elif fn == "count":
            arg = self.gen.any(self.plan.depth())
        elif fn in ("sum", "avg"):
            arg = self.gen.number(self.plan.depth())
        else:
            arg = self.gen.of_kind(self.rng.choice(["int64", "date", "timestamp", "time", "decimal"]), self.plan.depth())
        if fn in ("sum", "avg") and not self.plan.sum_fits(arg, self.rel.rows) and not self.gen.dare():
            fn = "count"
        out = {"fn": fn}
        if arg:
            out["arg"] = self.plan.write(arg)
        if arg and fn in ("count", "sum", "avg") and self.rng.random() < 0.5:
            out["distinct"] = True
        if self.rng.random() < 0.2:
            out["filter"] = self.plan.write(self.gen.boolean(1))
        if self.rng.random() < 0.6:
            out["frame"] = self.frame(node)
        return out, self.results[fn](arg, self.rel.rows)

    def quantile(self, node):
        """An aggregate of values in their order, as groups have it."""
        out = {"fn": None, "as": self.plan.fresh("w")}
        val = self.plan.quantile(out, self.gen, self.rel).val
        if self.rng.random() < 0.2:
            out["filter"] = self.plan.write(self.gen.boolean(1))
        if self.rng.random() < 0.6:
            out["frame"] = self.frame(node)
        return out, self.value(val)

    def ranked(self, node):
        """The most frequent value, or the strings of all rows, whose order exact columns tell."""
        arg, out = self.gen.any(self.plan.depth()), {"fn": "mode"}
        if arg.type.kind == "interval" or (self.rel.rows <= MAX_JOINED and self.rng.random() < 0.5 and not any(c.val.inexact for c in self.rel.columns)):
            arg, out = self.gen.string(1), {"fn": "string_agg" if self.rel.rows <= MAX_JOINED else "mode"}
        out["arg"] = self.plan.write(arg)
        if out["fn"] == "string_agg" and self.rng.random() < 0.6:
            out["separator"] = self.rng.choice(["", "; ", "é"])
        if self.rng.random() < 0.2:
            out["filter"] = self.plan.write(self.gen.boolean(1))
        if self.rng.random() < 0.7:
            out["frame"] = self.frame(node)
        return out, Val(None, STRING, True, ascii=arg.ascii) if out["fn"] == "string_agg" else self.value(arg)

    def of_two(self, node, drawn):
        """An aggregate of up to two arguments, as groups have it."""
        out = {"fn": None, "as": self.plan.fresh("w")}
        val = drawn(out, self.gen, self.rel).val
        if self.rng.random() < 0.2:
            out["filter"] = self.plan.write(self.gen.boolean(1))
        if self.rng.random() < 0.6:
            out["frame"] = self.frame(node)
        return out, val

    def of_bits(self, node):
        arg = self.gen.bits(self.plan.depth() + 1)
        out = {"fn": self.rng.choice(["bit_and", "bit_or", "bit_xor"]), "arg": self.plan.write(arg if arg.type.is_int else self.gen.constant(6, INT64))}
        if self.rng.random() < 0.2:
            out["filter"] = self.plan.write(self.gen.boolean(1))
        if self.rng.random() < 0.6:
            out["frame"] = self.frame(node)
        most = Fraction(1 << 63)
        return out, Val(Node("col", name=""), INT64, True, -most, most - 1)

    def of_condition(self, node):
        fn = self.rng.choice(["count_if", "bool_and", "bool_or"])
        out = {"fn": fn, "arg": self.plan.write(self.gen.boolean(self.plan.depth()))}
        if self.rng.random() < 0.5:
            out["frame"] = self.frame(node)
        return out, self.number(int(self.rel.rows)) if fn == "count_if" else Val(Node("col", name=""), BOOL)
