"""Random aggregates, and values that they have."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from gen_rel import MAX_ROWS, Out, Rel, renamed
from gen_value import Val
from hdexpr import Node
from hdtypes import FLOAT64, INT64, STRING, decimal, literal_decimal_type

MOMENTS = ("stddev_pop", "stddev_samp", "var_pop", "var_samp", "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept",
           "regr_count", "regr_r2", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")


class AggGen:
    """A part of PlanGen."""

    def aggregate(self, budget, grouped=None):
        rel, parent = self.children() if grouped is None else (None, None)
        rel = rel or self.rel(budget)
        gen = self.exprs(rel)
        node = {"op": "aggregate", "input": rel.node, "aggs": []}
        out = []
        if parent:
            node["keys"] = [self.passed(parent)]
            out.append(Out(parent.name, parent.val, rel.rows))
        elif grouped is not False and self.rng.random() < 0.8:
            node["keys"] = []
            usable = [c for c in rel.columns if not c.val.inexact]
            for c in self.rng.sample(usable, min(len(usable), self.rng.choice([0, 1, 1, 2, 3]))):
                node["keys"].append(self.passed(c))
                out.append(Out(c.name, c.val, rel.rows))
            if self.rng.random() < 0.3:
                val, name = gen.any(self.depth()), self.fresh("k")
                node["keys"].append({"expr": self.write(val), "as": name})
                out.append(Out(name, renamed(replace(val, samples=[]), name), rel.rows))
        rows = rel.rows if out else 1
        if not out:
            node.pop("keys", None)
        for _ in range(self.rng.randint(0 if out else 1, 3)):
            out.append(self.agg(node, gen, rel))
        if len(out) == 1 and node.get("keys"):
            out[0] = replace(out[0], mult=1)
        keys = out[:len(node.get("keys", []))]
        if keys and rows < MAX_ROWS / 16 and self.rng.random() < 0.3:
            return self.grouping_sets(node, keys, out[len(keys):], rows)
        return Rel(node, out, rows)

    def children(self):
        """Sometimes a scan of a table of children, and the column that says whose they are."""
        few = [t for t in self.tables if t.name == "few"]
        if not few or self.rng.random() < 0.6:
            return None, None
        rel = self.scan(few[0])
        if self.rng.random() < 0.3:
            rel = Rel({"op": "filter", "input": rel.node, "pred": self.write(self.exprs(rel).boolean(self.depth()))}, rel.columns, rel.rows)
        refers = [c for c in rel.columns if c.name.split(".")[-1] == few[0].columns[0].name]
        if refers and self.rng.random() < 0.5:
            return self.with_parents(few[0], rel, refers[0])
        return rel, refers[0] if refers else None

    def with_parents(self, few, rel, refers):
        """Each child beside its parent, found from there or the other way round, and the parent's key."""
        _, parent, key = few.foreign_keys[0]
        left = self.scan(next(t for t in self.tables if t.name == parent))
        keys = [c for c in left.columns if c.name.split(".")[-1] == key[0]]
        if not keys:
            return rel, refers
        node = {"op": "join", "kind": "inner", "on": [[keys[0].name, refers.name]], "left": left.node, "right": rel.node}
        if self.rng.random() < 0.6:
            node.update({"strategy": "index", "build": "right"})
        out = [replace(c, mult=c.mult * few.columns[0].multiplicity()) for c in left.columns] + rel.columns
        return Rel(node, out, rel.rows), keys[0]

    def grouping_sets(self, node, keys, aggs, rows):
        names, shape = [k.name for k in keys], self.rng.random()
        if shape < 0.35:
            node["rollup"], count = True, len(names) + 1
        elif shape < 0.6 and len(names) <= 3:
            node["cube"], count = True, 1 << len(names)
        else:
            sets = [self.rng.sample(names, self.rng.randint(0, len(names))) for _ in range(self.rng.randint(1, 4))]
            if set(names) - {n for of in sets for n in of}:
                sets.append(list(names))  # a key in no set raises nothing
            node["sets"], count = sets, len(sets)
        out = [replace(k, val=replace(k.val, nullable=True), mult=k.mult * count) for k in keys]
        out += [replace(a, val=replace(a.val, nullable=True), mult=a.mult * count) for a in aggs]
        if self.rng.random() < 0.6:
            name, of = self.fresh("g"), self.rng.sample(names, self.rng.randint(1, len(names)))
            node["aggs"].append({"fn": "grouping", "arg": of[0] if len(of) == 1 else of, "as": name})
            bits = Fraction(2 ** len(of) - 1)
            out.append(Out(name, Val(Node("col", name=name), INT64, False, Fraction(0), bits), rows * count))
        return Rel(node, out, rows * count)

    def agg(self, node, gen, rel):
        """An aggregate, often of some rows only."""
        out = self.agg_of_rows(node, gen, rel)
        if self.rng.random() < 0.25:
            node["aggs"][-1]["filter"] = self.write(gen.boolean(self.rng.choice([0, 1, 1, 2])))
            out = replace(out, val=replace(out.val, nullable=node["aggs"][-1]["fn"] not in ("count", "count_if", "approx_count_distinct")))
        return out

    def agg_of_rows(self, node, gen, rel):
        fn, name = self.rng.choice(["count", "count", "sum", "sum", "avg", "min", "max", "arg", "bool", "bits", "moment", "ordered", "ordered"]), self.fresh("g")
        agg = {"fn": fn, "as": name}
        node["aggs"].append(agg)
        if fn == "bool":
            agg["fn"] = self.rng.choice(["count_if", "bool_and", "bool_or"])
            arg = gen.boolean(self.depth())
            agg["arg"] = self.write(arg)
            return Out(name, renamed((count_result if agg["fn"] == "count_if" else same_result)(arg, rel.rows), name), rel.rows)
        if fn == "bits":
            return self.bits(agg, gen, rel)
        if fn == "moment":
            return self.moment(agg, gen, rel)
        if fn == "ordered" and "keys" not in node and self.rng.random() < 0.4:
            return self.estimate(agg, gen, rel)
        if fn == "ordered":
            return self.of_order(agg, gen, rel)
        if fn == "arg":
            return self.arg(agg, gen, rel)
        if fn == "count" and self.rng.random() < 0.5:
            return Out(name, Val(Node("col", name=name), INT64, False, Fraction(0), Fraction(int(rel.rows))), rel.rows)
        arg = self.agg_argument(fn, gen)
        if fn in ("sum", "avg") and not self.sum_fits(arg, rel.rows) and not gen.dare():
            agg["fn"] = fn = "count"
        agg["arg"] = self.write(arg)
        if fn in ("count", "sum", "avg") and self.rng.random() < 0.2:
            agg["distinct"] = True
        return Out(name, renamed(AGG_RESULT[fn](arg, rel.rows), name), rel.rows)

    def arg(self, agg, gen, rel):
        agg["fn"] = self.rng.choice(["arg_min", "arg_max"])
        arg, by = gen.any(self.depth()), gen.any(self.rng.choice([0, 0, 1]))
        agg["arg"], agg["by"] = self.write(arg), self.write(by)
        return Out(agg["as"], renamed(same_result(arg, rel.rows), agg["as"]), rel.rows)

    def bits(self, agg, gen, rel):
        agg["fn"] = self.rng.choice(["bit_and", "bit_or", "bit_xor"])
        arg = gen.bits(self.depth() + 1)
        if not arg.type.is_int:
            arg = gen.constant(6, INT64)
        agg["arg"] = self.write(arg)
        if agg["fn"] == "bit_xor" and self.rng.random() < 0.3:
            agg["distinct"] = True
        most = Fraction(1 << max(int(v).bit_length() for v in (arg.lo, arg.hi)))
        return Out(agg["as"], renamed(Val(None, INT64, True, -most, most - 1), agg["as"]), rel.rows)

    def moment(self, agg, gen, rel):
        agg["fn"] = self.rng.choice(MOMENTS)
        args = [gen.number(self.depth())] + ([] if agg["fn"] in MOMENTS[:4] else [gen.number(self.rng.choice([0, 0, 1]))])
        for key, arg in zip(("arg", "by"), args):
            agg[key] = self.write(arg)
        if agg["fn"] == "regr_count":
            return Out(agg["as"], renamed(count_result(args[0], rel.rows), agg["as"]), rel.rows)
        most = Fraction(10) ** 100
        val = Val(None, FLOAT64, True, -most, most, finite=all(a.finite for a in args), inexact=True)
        return Out(agg["as"], renamed(val, agg["as"]), rel.rows)

    def estimate(self, agg, gen, rel):
        """Distinct values, of all rows: with keys facts say whether it is exact."""
        arg = gen.any(self.depth())
        if arg.inexact:
            arg = gen.constant(6, INT64)
        agg["fn"], agg["arg"] = "approx_count_distinct", self.write(arg)
        return Out(agg["as"], Val(Node("col", name=agg["as"]), INT64, False, Fraction(0), Fraction(2 * int(rel.rows) + 1)), rel.rows)

    def of_order(self, agg, gen, rel):
        """An aggregate of rows in an order."""
        fns = ["median", "quantile_cont", "quantile_disc", "quantile_disc", "mode"]
        fns += ["first", "last"] * (not any(c.val.inexact for c in rel.columns)) + ["string_agg"] * 2 * (rel.rows <= 2000)
        fn = self.rng.choice(fns)
        if fn == "median" or fn.startswith("quantile"):
            return self.quantile(agg, gen, rel, fn)
        agg["fn"] = fn
        arg = gen.string(1) if fn == "string_agg" else gen.any(self.depth())
        agg["arg"] = self.write(arg)
        if fn == "string_agg":
            self.joined_text(agg, rel)
        if fn in ("first", "last"):
            agg["order"] = self.named_order(rel)
        return Out(agg["as"], renamed(ordered_result(fn, arg), agg["as"]), rel.rows)

    def quantile(self, agg, gen, rel, fn=None):
        fn = agg["fn"] = fn or self.rng.choice(["median", "quantile_cont", "quantile_disc", "quantile_disc"])
        spans = fn == "median" and self.rng.random() < 0.2
        arg = gen.any(self.depth()) if fn == "quantile_disc" else gen.span(self.depth()) if spans else gen.number(self.depth())
        if fn != "quantile_disc" and arg.type.kind == "decimal" and arg.type.p > 24:
            fn = agg["fn"] = "quantile_disc"
        agg["arg"] = self.write(arg)
        if fn != "median":
            q = self.rng.choice(["0.0", "1.0", "0.5", "0.25", "0.90", "0.333"])
            agg["q"] = self.write(gen.constant(Decimal(q), literal_decimal_type(q)))
        return Out(agg["as"], renamed(ordered_result(fn, arg), agg["as"]), rel.rows)

    def joined_text(self, agg, rel):
        if self.rng.random() < 0.6:
            agg["separator"] = self.rng.choice(["", "; ", "é", "--"])
        if self.rng.random() < 0.3:
            agg["distinct"] = True
        elif self.rng.random() < 0.6 and not any(c.val.inexact for c in rel.columns):
            agg["order"] = self.named_order(rel)

    def named_order(self, rel):
        """By columns; they raise nothing."""
        keys = [{"expr": self.write(c.val)} for c in self.rng.sample(rel.columns, min(len(rel.columns), self.rng.choice([1, 1, 2])))]
        for key in keys:
            key.update({k: v for k, v in (("desc", self.rng.random() < 0.5), ("nulls", self.rng.choice(["first", "last"]))) if self.rng.random() < 0.5})
        return keys

    def sum_fits(self, arg, rows):
        s = arg.type.s if arg.type.kind == "decimal" else 0
        total = arg.reach * max(1, int(rows))
        return arg.type.is_float or (total < 10 ** (37 - s) and arg.reach < 10 ** (37 - max(6, s)))

    def agg_argument(self, fn, gen):
        if fn == "count":
            return gen.any(self.depth())
        if fn in ("sum", "avg"):
            return gen.number(self.depth())
        return gen.of_kind(self.rng.choice(["int64", "string", "date", "timestamp", "time", "int64"]), self.depth())



# ---- bounds of aggregate results: functions of (argument, rows)


def count_result(a, rows):
    return Val(None, INT64, False, Fraction(0), Fraction(int(rows)))


def sum_result(a, rows):
    n = max(1, int(rows))
    t = {"int32": INT64, "int64": decimal(38, 0), "float32": FLOAT64, "float64": FLOAT64}.get(a.type.kind) or decimal(38, a.type.s)
    exact = a.bits is not None and a.reach * n * 2 ** a.bits < 1 << 53 and a.finite
    return Val(None, t, True, min(a.lo, a.lo * n, Fraction(0)), max(a.hi, a.hi * n, Fraction(0)), finite=a.finite, bits=a.bits,
               inexact=t == FLOAT64 and not exact)


def avg_result(a, rows):
    t = FLOAT64 if a.type.is_float else decimal(38, max(6, a.type.s if a.type.kind == "decimal" else 0))
    exact = a.bits is not None and a.reach * max(1, int(rows)) * 2 ** (a.bits or 0) < 1 << 53 and a.finite
    return Val(None, t, True, a.lo - 1, a.hi + 1, finite=a.finite, bits=None, inexact=t == FLOAT64 and not exact)


def same_result(a, rows):
    return replace(a, nullable=True, samples=[])


def ordered_result(fn, a):
    if fn == "string_agg":
        return Val(None, STRING, True, ascii=a.ascii)
    if fn not in ("median", "quantile_cont") or a.type.kind == "interval":
        return same_result(a, 0)
    if a.type.kind == "decimal":
        return Val(None, decimal(38, max(6, a.type.s)), True, a.lo - 1, a.hi + 1)
    return Val(None, FLOAT64, True, a.lo - 1, a.hi + 1, finite=a.finite, bits=None)


AGG_RESULT = {"count": count_result, "sum": sum_result, "avg": avg_result, "min": same_result, "max": same_result}
