"""Random joins, and pairs of the rows of one input."""

from dataclasses import replace
from fractions import Fraction

from gen_aggs import same_result
from gen_expr import ExprGen
from gen_range import RangeGen
from gen_rel import MAX_PAIRS, MAX_ROWS, Out, Rel, renamed
from gen_value import Val, lit
from hdexpr import Node
from hdtypes import BOOL, DATE, INT64, STRING


class JoinGen:
    """A part of PlanGen."""

    # ---- joins

    def join(self, budget):
        left_budget = self.rng.randint(0, budget)
        left, right = self.rel(left_budget), self.rel(budget - left_budget)
        if left.names() & right.names():
            return left
        kind = self.rng.choice(["inner", "inner", "inner", "left", "left", "right", "full", "semi", "semi", "anti", "anti", "mark"])
        keys, fan_right, fan_left = self.keys(left, right)
        ranged = self.ranged(left, right) if self.rng.random() < 0.3 else None
        if ranged and self.rng.random() < 0.6:
            keys = []
        if not keys:
            fan_right, fan_left = right.rows, left.rows
            if left.rows * right.rows > MAX_PAIRS:
                return left
        rows = min(left.rows * right.rows, left.rows * fan_right, right.rows * fan_left)
        if kind in ("inner", "left") and self.rng.random() < 0.25 and rows <= MAX_PAIRS:
            nearest = self.nearest(left, right, kind, keys)
            if nearest:
                return nearest
        if ranged and kind in ("inner", "left") and rows <= MAX_PAIRS and self.rng.random() < 0.4:
            return self.told(self.joined(left, right, kind, keys, rows, fan_right, fan_left, ranged), left, right)
        if rows > MAX_ROWS and (kind not in ("semi", "anti", "mark") or rows > MAX_PAIRS):
            return left
        return self.joined(left, right, kind, keys, rows, fan_right, fan_left, ranged)

    def ranged(self, left, right):
        sides = [[c.val for c in side.columns] for side in (left, right)]
        return RangeGen(self.rng, sides, self.joinable, self.param, self.risk).condition()

    def told(self, joined, left, right):
        """Aggregates of a join by a range, per row of one side or of all, which need no pairs."""
        side, other = self.rng.choice([(left, right), (right, left)])
        node = {"op": "aggregate", "input": joined.node, "aggs": []}
        columns = {c.name: c for c in joined.columns}
        keys = [columns[c.name] for c in side.columns if not c.val.inexact]
        keys = self.rng.choice([[], keys, self.rng.sample(keys, min(1, len(keys)))])
        if keys:
            node["keys"] = [c.name for c in keys]
        of_other = Rel(None, [columns[c.name] for c in other.columns], joined.rows)
        out = list(keys)
        for _ in range(self.rng.randint(1, 3)):
            out.append(self.agg(node, self.exprs(self.rng.choice([of_other, of_other, joined])), joined))
        return Rel(node, out, min(side.rows, joined.rows) if keys else 1)

    def joined(self, left, right, kind, keys, rows, fan_right, fan_left, ranged=None):
        node = {"op": "join", "kind": kind, "left": left.node, "right": right.node}
        if keys or self.rng.random() < 0.5:
            node["on"] = [[self.write(a), self.write(b)] + self.null_equal(a, b) for a, b in keys]
        if ranged:
            more = self.exprs(Rel(None, left.columns + right.columns, 0)).boolean(1) if self.rng.random() < 0.2 else None
            node["residual"] = self.write(self.exprs(left).make("and", BOOL, [ranged, more]) if more else ranged)
        elif self.rng.random() < (0.6 if not keys else 0.5 if kind in ("semi", "anti", "mark") else 0.3):
            both = Rel(None, left.columns + right.columns, 0)
            node["residual"] = self.write(self.residual(both, left, right, kind))
        self.physical(node, bool(keys), left.rows * right.rows <= MAX_PAIRS, bool(ranged))
        if kind in ("semi", "anti"):
            return Rel(node, left.columns, left.rows)
        if kind == "mark":
            name = self.fresh("m")
            node["mark"] = name
            mark = Out(name, Val(Node("col", name=name), BOOL, False), left.rows)
            return Rel(node, left.columns + [mark], left.rows)
        extra = {"inner": 0, "left": left.rows, "right": right.rows, "full": left.rows + right.rows}[kind]
        out = [self.extended(c, kind in ("right", "full"), fan_right) for c in left.columns]
        out += [self.extended(c, kind in ("left", "full"), fan_left) for c in right.columns]
        return Rel(node, out, rows + extra)

    def nearest(self, left, right, kind, keys):
        """An as-of join; None if no columns can be compared."""
        pairs = [(a.val, b.val) for a in left.columns for b in right.columns if self.joinable(a.val, b.val)]
        if not pairs or any(c.val.inexact for c in right.columns):
            return None
        a, b = self.rng.choice([(a, b) for a, b in pairs if self.overlap(a, b)] or pairs)
        node = {"op": "join", "kind": kind, "left": left.node, "right": right.node,
                "asof": {"left": self.write(self.key_side(a)), "right": self.write(self.key_side(b)),
                         "match": self.rng.choice([">=", ">=", ">", "<=", "<"])}}
        if keys:
            node["on"] = [[self.write(x), self.write(y)] + self.null_equal(x, y) for x, y in keys]
        out = left.columns + [self.extended(c, kind == "left", left.rows) for c in right.columns]
        return Rel(node, out, left.rows)

    def extended(self, c, null, fan):
        val = replace(c.val, nullable=c.val.nullable or null)
        return Out(c.name, val, c.mult * max(1, fan))

    def null_equal(self, a, b):
        return ["null_equal"] if self.rng.random() < (0.25 if a.nullable and b.nullable else 0.05) else []

    def physical(self, node, keyed, few, ranged):
        if self.rng.random() < 0.3:
            node["build"] = self.rng.choice(["auto", "left", "right"])
        if self.rng.random() < 0.3:
            keyed_ways = ["hash", "direct", "index", "radix", "merge"] * keyed
            node["strategy"] = self.rng.choice(["auto"] + keyed_ways + ["loop"] * few + ["band"] * 3 * ranged)

    def keys(self, left, right):
        """Pairs of key expressions, and how many right rows a left row meets at most, and the reverse."""
        pairs, fan_right, fan_left = [], right.rows, left.rows
        candidates = [(a, b) for a in left.columns for b in right.columns if self.joinable(a.val, b.val)]
        if not candidates or self.rng.random() < 0.08:
            return [], fan_right, fan_left
        related = [(a, b) for a, b in candidates if self.overlap(a.val, b.val)]
        keyed = [(a, b) for a, b in related if a.val.type == b.val.type and min(a.mult, b.mult) == 1]
        related = keyed if keyed and self.rng.random() < 0.6 else related
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3])):
            a, b = self.rng.choice(related if related and self.rng.random() < 0.8 else candidates)
            left_key, right_key = self.key_side(a.val), self.key_side(b.val)
            if left_key is a.val and right_key is b.val:
                fan_right, fan_left = min(fan_right, b.mult), min(fan_left, a.mult)
            pairs.append((left_key, right_key))
        return pairs, fan_right, fan_left

    def joinable(self, a, b):
        if a.inexact or b.inexact:
            return False
        if a.type.is_float or b.type.is_float:
            return a.type.is_float and b.type.is_float
        if a.type.is_number and b.type.is_number:
            return True
        return a.type == b.type or {a.type.kind, b.type.kind} == {"date", "timestamp"}

    def overlap(self, a, b):
        if a.type.is_number or a.type == DATE:
            return a.type.kind == b.type.kind and a.lo <= b.hi and b.lo <= a.hi and a.type != BOOL
        return a.type == STRING and bool(set(a.samples) & set(b.samples))

    def key_side(self, val):
        """The column itself mostly; an expression over it now and then."""
        if self.rng.random() < 0.9:
            return val
        if val.type.is_int and val.reach < 1 << 40:
            return ExprGen(self.rng, [], self.param).make("+", INT64, [val, lit(self.rng.choice([0, 1]), INT64)], val.lo, val.hi + 1)
        return val

    def residual(self, both, left, right, kind):
        """Mostly a comparison of the sides; existence often has conjuncts of one side beside it."""
        pairs = [(a.val, b.val) for a in left.columns for b in right.columns
                 if self.joinable(a.val, b.val) and a.val.type.kind == b.val.type.kind]
        gen = self.exprs(both)
        if pairs and self.rng.random() < 0.7:
            a, b = self.rng.choice(pairs)
            op = self.rng.choice(["<>", "<>", "<", ">", "<=", ">=", "=", "is_not_distinct_from"])
            out = gen.make(op, BOOL, [a, b] if self.rng.random() < 0.5 else [b, a])
            if op == "is_not_distinct_from" and self.rng.random() < 0.2:
                out = gen.make("not", BOOL, [out])
            if kind in ("semi", "anti", "mark") and self.rng.random() < 0.5:
                side = self.exprs(Rel(None, self.rng.choice([left, right]).columns, 0))
                out = gen.make("and", BOOL, [out, side.boolean(1)])
            return gen.make("and", BOOL, [out, gen.boolean(1)]) if self.rng.random() < 0.2 else out
        return gen.boolean(self.depth())

    # ---- pairs

    def pairs(self, budget):
        """Pairs of one input's rows under a condition, and above them what does not care which row comes first."""
        rel = self.rel(budget)
        usable = [c for c in rel.columns if c.val.type != BOOL and not c.val.inexact]
        pairs = rel.rows * rel.rows / 2
        if not usable or pairs > MAX_PAIRS:
            return rel
        first, second = self.fresh("l"), self.fresh("r")
        node = {"op": "pairs", "input": rel.node, "aliases": [first, second]}
        gen = self.exprs(Rel(None, [], 0))
        sides = [[renamed(c.val, f"{side}.{c.name}") for side in (first, second)] for c in usable]
        ends = [(c, self.ends(gen, both)) for c, both in zip(usable, sides)]
        ends = [(c, both) for c, both in ends if both]
        if not ends:
            return rel
        if self.rng.random() < 0.8:
            node["pred"] = self.write(self.of_both(gen, sides, ends))
        picked = self.rng.sample(ends, min(len(ends), 2))
        if pairs > MAX_ROWS or self.rng.random() < 0.3:
            return self.pairs_told(node, gen, picked, pairs)
        out = [Out(self.fresh("e"), val, pairs) for _, both in picked for val in both]
        node = {"op": "project", "input": node, "exprs": [{"expr": self.write(o.val), "as": o.name} for o in out]}
        return Rel(node, [replace(o, val=renamed(replace(o.val, samples=[]), o.name)) for o in out], pairs)

    def ends(self, gen, both):
        """Two values that do not depend on which row comes first. Of -0 and 0 a smaller one does, so floats have magnitudes."""
        a = both[0]
        if a.type.is_float:
            found = [gen.float_arith(op, *both) for op in "-+"]
            return [gen.make("abs", v.type, [v], Fraction(0), v.reach, finite=v.finite, bits=v.bits) for v in found] if all(found) else None
        return [gen.make(op, a.type, both, a.lo, a.hi, ascii=a.ascii) for op in ("least", "greatest")]

    def of_both(self, gen, sides, ends):
        """A condition that is true of both orders of a pair, or of none."""
        if self.rng.random() < 0.5:
            return gen.make(self.rng.choice(["=", "<>", "<>"]), BOOL, self.rng.choice(sides))
        over = Rel(None, [Out("", val, 0) for _, both in ends for val in both], 0)
        return self.exprs(over).boolean(1)

    def pairs_told(self, node, gen, picked, pairs):
        count, out = self.fresh("g"), []
        aggs = [{"fn": "count", "as": count}]
        for _, both in picked:
            for fn, val in zip(self.rng.sample(["min", "max"], 2), both):
                name = self.fresh("g")
                aggs.append({"fn": fn, "arg": self.write(val), "as": name})
                out.append(Out(name, renamed(same_result(val, pairs), name), 1))
        number = Out(count, Val(Node("col", name=count), INT64, False, Fraction(0), Fraction(int(pairs) + 1)), 1)
        return Rel({"op": "aggregate", "input": node, "aggs": aggs}, [number] + out, 1)
