"""Random typed plans over a random database: every operator, every kind of join, every aggregate function.

A Rel carries upper bounds for its rows and for the multiplicity of each column's values, so that joins stay small.
"""

import datetime
import json
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from gen_data import Column
from gen_expr import ExprGen, Val, lit
from gen_range import RangeGen
from gen_render import Writer, value_text
from gen_window import WindowGen
from hdexpr import Node
from hdtypes import BOOL, DATE, FLOAT32, FLOAT64, INT64, STRING, decimal, literal_decimal_type, unify

MAX_ROWS = 60000
MAX_PAIRS = 1500000  # pairs a theta join may look at


@dataclass
class Out:
    """An output column."""
    name: str
    val: Val  # its node is a reference to the column
    mult: float  # rows per value, at most


@dataclass
class Rel:
    node: dict
    columns: list
    rows: float

    def names(self):
        return {c.name for c in self.columns}


def column_val(name, c):
    """Bounds and samples of a stored column."""
    known = c.known()
    samples = list({repr(v): v for v in known[:200]}.values())[:24]
    out = Val(Node("col", name=name), c.type, c.nullable, samples=samples)
    if c.type.is_number:
        finite = [Fraction(v) for v in known if v == v and abs(v) != float("inf")]
        out.lo, out.hi = min(finite, default=Fraction(0)), max(finite, default=Fraction(0))
        out.finite = len(finite) == len(known)
        out.bits = 4 if c.type.is_float else 0
    if c.type == DATE:
        days = [Fraction(v.toordinal()) for v in known]
        out.lo, out.hi = min(days, default=Fraction(719163)), max(days, default=Fraction(719163))
    if c.type == STRING:
        out.ascii = all(v.isascii() for v in known)
    return out


def renamed(val, name):
    return replace(val, node=Node("col", name=name))


class PlanGen:
    def __init__(self, rng, tables, risk=False):
        self.rng, self.tables, self.risk = rng, tables, risk
        self.writer = Writer(rng)
        self.params, self.given, self.shared, self.shared_rels = {}, {}, {}, {}
        self.used, self.serial = set(), 0
        self.budget = rng.choice([1, 2, 3, 4, 5, 6, 8])

    def plan(self):
        """(plan, parameter values given beside it)"""
        if self.rng.random() < 0.15:
            self.make_shared()
        rel = self.rel(self.budget)
        if self.risk and self.rng.random() < 0.7:
            rel = self.risky(rel)
        rel = self.finish(rel)
        for node in (rel.node, *self.shared.values()):
            self.parameterise(node)
        plan = {"heddle": 1, "name": "random"}
        if self.params:
            plan["params"] = self.params
        if self.shared:
            plan["shared"] = self.shared
        plan["root"] = rel.node
        return plan, self.given

    def risky(self, rel):
        """A projection, aggregate or filter near the root with an expression that may well raise."""
        gen, name = self.exprs(rel), self.fresh("r")
        val = gen.daring()
        shape = self.rng.random()
        if shape < 0.6:
            node = {"op": "project", "input": rel.node, "keep": True, "exprs": [{"expr": self.write(val), "as": name}]}
            return Rel(node, rel.columns, rel.rows)
        partner = {"date": lit(datetime.date(2000, 1, 1), DATE), "string": lit("a", STRING)}.get(val.type.kind, lit(3, INT64))
        test = gen.make("<>", BOOL, [val, partner])
        if self.rng.random() < 0.5:
            test = gen.make(self.rng.choice(["and", "or"]), BOOL, [gen.boolean(1), test])
        if shape < 0.85:
            return Rel({"op": "filter", "input": rel.node, "pred": self.write(test)}, rel.columns, rel.rows)
        node = {"op": "aggregate", "input": rel.node, "aggs": [{"fn": "max", "arg": self.write(val), "as": name}]}
        return Rel(node, [Out(name, Val(Node("col", name=name), val.type), 1)], 1)

    # ---- names, parameters, expressions

    def fresh(self, stem):
        self.serial += 1
        return f"{stem}{self.serial}"

    def param(self, value, t):
        name = self.fresh("p")
        to_json = lambda v, t: None if v is None else v if t == BOOL else value_text(v, t)
        form = [to_json(v, t.element) for v in value] if t.kind == "list" else to_json(value, t)
        self.params[name] = {"type": str(t)}
        if self.rng.random() < 0.6:
            self.params[name]["default"] = form
        else:
            self.given[name] = form
        return Node("param", name=name, type=t)

    def parameterise(self, node):
        """A share of the constants beside expressions become parameters."""
        if isinstance(node, list):
            for v in node:
                self.parameterise(v)
        if not isinstance(node, dict):
            return
        for key in [k for k in PARAMETERS if k in node and self.rng.random() < 0.3]:
            v, written = node[key], None
            if isinstance(v, int) and not isinstance(v, bool):
                written = self.rng.choice([{"param": self.param(v, INT64).name}, f":{self.param(v, INT64).name}"])
            elif isinstance(v, str) and v.startswith("interval '"):
                _, n, unit = v.split()
                written = f"interval :{self.param(int(n.strip(chr(39))), INT64).name} {unit}"
            elif isinstance(v, str) and key == "separator":
                written = {"param": self.param(v, STRING).name}
            elif key == "rows" and node.get("op") == "values" and isinstance(v, list):
                written = self.listed(node)
            node[key] = written or v
        for v in node.values():
            self.parameterise(v)

    def listed(self, node):
        """Rows of one column, without NULLs and expressions, as a list; None if they are none."""
        cells = [row[0] for row in node["rows"]]
        if len(node["columns"]) != 1 or any(v is None or isinstance(v, dict) for v in cells):
            return None
        name = self.fresh("p")
        self.params[name] = {"type": f"list({node['columns'][0]['type']})", "default": cells}
        return f":{name}"

    def exprs(self, rel, risk=None):
        return ExprGen(self.rng, [c.val for c in rel.columns], self.param, self.risk if risk is None else risk)

    def depth(self):
        return self.rng.choice([0, 1, 1, 2, 2, 3])

    def write(self, val):
        return self.writer.expression(val.node)

    def decorate(self, node):
        if self.rng.random() < 0.03:
            node["comment"] = "made by a generator"
        return node

    # ---- operators

    def rel(self, budget):
        if budget <= 0:
            return self.leaf()
        makers = [(self.filter, 4), (self.project, 4), (self.join, 9), (self.aggregate, 4), (self.distinct, 1),
                  (self.top_k, 1), (self.top, 1.2), (self.pairs, 0.8), (self.union, 1.5), (self.repeat, 0.5), (self.unnest, 0.6), (self.window, 1.5), (self.numbered, 0.6),
                  (self.leaf, 1), (self.scalar, 1.2), (self.counted_limit, 0.3)]
        make = self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
        rel = make(budget - 1)
        self.decorate(rel.node)
        return rel

    def leaf(self, budget=0):
        if self.shared_rels and self.rng.random() < 0.5:
            return self.ref()
        return self.values() if self.rng.random() < 0.06 else self.scan()

    def alias(self, names, always=False):
        """A prefix that keeps column names unique in the whole plan."""
        if not always and not (names & self.used) and self.rng.random() < 0.6:
            return ""
        return self.fresh("a") + "."

    def scan(self):
        table = self.rng.choice(self.tables)
        columns = list(table.columns)
        node = {"op": "scan", "table": table.name}
        if self.rng.random() < 0.3:
            columns = self.rng.sample(columns, self.rng.randint(1, len(columns)))
            node["columns"] = [c.name for c in columns]
        prefix = self.alias({c.name for c in table.columns})
        if prefix:
            node["alias"] = prefix[:-1]
        out = [Out(prefix + c.name, column_val(prefix + c.name, c), c.multiplicity()) for c in columns]
        rel = Rel(node, out, table.rows)
        self.used |= rel.names()
        if self.rng.random() < 0.4:
            node["filter"] = self.write(self.exprs(rel).boolean(self.depth()))
        return rel

    def values(self):
        gen = ExprGen(self.rng, [], self.param)
        kinds = [self.rng.choice([INT64, STRING, DATE, BOOL, FLOAT32, FLOAT64, decimal(9, 2)]) for _ in range(self.rng.randint(1, 3))]
        rows = []
        for _ in range(self.rng.choice([0, 1, 3, 40])):
            rows.append([None if self.rng.random() < 0.15 else self.rng.choice(self.pool(t)) for t in kinds])
        names = [self.fresh("v") for _ in kinds]
        node = {"op": "values", "columns": [{"name": n, "type": str(t)} for n, t in zip(names, kinds)],
                "rows": [[self.json_literal(v, t) for v, t in zip(row, kinds)] for row in rows]}
        out = [Out(n, self.values_column(n, t, [r[i] for r in rows]), len(rows)) for i, (n, t) in enumerate(zip(names, kinds))]
        for row in node["rows"]:
            for i, t in enumerate(kinds):
                if self.rng.random() < 0.05:
                    row[i] = {"expr": self.write(self.param_of(row[i], rows, i, t))}
        return Rel(node, out, len(rows))

    def param_of(self, cell, rows, i, t):
        """A parameter with a value that the column has, so that its bounds stay true."""
        known = [r[i] for r in rows if r[i] is not None]
        return Val(self.param(self.rng.choice(known), t), t) if known else lit(None, t)

    def unnest(self, budget):
        """Rows of values beside each row of an input: some of its columns, one below the other."""
        rel = self.rel(budget)
        usable = [c for c in rel.columns if not c.val.inexact]
        if not usable or rel.rows > MAX_ROWS / 4:
            return rel
        first, names = self.rng.choice(usable), [self.fresh("v"), self.fresh("v")]
        t = first.val.type
        same = [c for c in usable if c.val.type == t]
        picked = [self.rng.choice(same) for _ in range(self.rng.randint(1, 3))]
        node = {"op": "values", "input": rel.node, "columns": [{"name": names[0], "type": "int64"}, {"name": names[1], "type": str(t)}],
                "rows": [[i, {"expr": self.write(c.val)}] for i, c in enumerate(picked)]}
        number = Val(Node("col", name=names[0]), INT64, False, Fraction(0), Fraction(len(picked) - 1), samples=list(range(len(picked))))
        value = self.unified(picked)
        rows = rel.rows * len(picked)
        out = [replace(c, mult=c.mult * len(picked)) for c in rel.columns]
        return Rel(node, out + [Out(names[0], number, rel.rows), Out(names[1], renamed(value.val, names[1]), rows)], rows)

    def pool(self, t):
        date = datetime.date
        return {"int64": [0, 1, 2, 3, -7, 100, (1 << 63) - 1], "string": ["a", "", "é", "green"], "bool": [True, False],
                "date": [date(1995, 3, 15), date(1992, 1, 1)], "float32": [0.5, -0.0, 3.0], "float64": [0.5, -1.0, 3.0],
                "decimal": [Decimal("1.50"), Decimal("0.00"), Decimal("-99.99")]}[t.kind]

    def json_literal(self, v, t):
        if v is None or t == BOOL or t.is_float:
            return v
        return v if t == INT64 and abs(v) < 1 << 50 else value_text(v, t)

    def values_column(self, name, t, values):
        return column_val(name, Column(name, t, any(v is None for v in values), values))

    def ref(self):
        name = self.rng.choice(sorted(self.shared_rels))
        base, count = self.shared_rels[name]
        self.shared_rels[name] = (base, count + 1)
        node = {"op": "ref", "name": name}
        prefix = self.alias(base.names(), always=count > 0)
        if prefix:
            node["alias"] = prefix[:-1]
        return Rel(node, [Out(prefix + c.name, renamed(c.val, prefix + c.name), c.mult) for c in base.columns], base.rows)

    def make_shared(self):
        name = self.fresh("s")
        rel = self.rel(self.rng.choice([1, 2]))
        self.shared[name] = rel.node
        self.shared_rels[name] = (rel, 0)

    def filter(self, budget):
        rel = self.rel(budget)
        pred = self.write(self.exprs(rel).boolean(self.depth()))
        if self.rng.random() < 0.15:
            pred = self.about_subplan(rel, pred)
        return Rel({"op": "filter", "input": rel.node, "pred": pred}, rel.columns, rel.rows)

    def about_subplan(self, rel, pred=None):
        """x in (subplan) or exists (subplan), maybe negated and beside another condition."""
        out = self.subplan(rel)
        if out and self.rng.random() < 0.4:
            out = {"op": "not", "args": [out]}
        if not out or not pred or self.rng.random() < 0.2:
            return out or pred
        more = self.subplan(rel) if self.rng.random() < 0.2 else None
        args = [pred, out] + ([more] if more else [])
        self.rng.shuffle(args)
        out = {"op": self.rng.choice(["and", "and", "or"]), "args": args}
        return {"op": "not", "args": [out]} if self.rng.random() < 0.15 else out

    def subplan(self, rel):
        """None if nothing can be compared."""
        right = self.rel(self.rng.choice([0, 0, 1]))
        keys, _, _ = self.keys(rel, right)
        if not keys or rel.rows * right.rows > MAX_PAIRS or rel.names() & right.names():
            return None
        if self.rng.random() < 0.4:
            return {"op": "exists", "plan": right.node, "on": [[self.write(a), self.write(b)] + self.null_equal(a, b) for a, b in keys]}
        a, b = keys[0]
        node = {"op": "project", "input": right.node, "exprs": [{"expr": self.write(b), "as": self.fresh("u")}]}
        return {"op": "in", "args": [self.write(a)], "plan": node}

    def project(self, budget):
        rel = self.rel(budget)
        gen = self.exprs(rel)
        keep = self.rng.random() < 0.25
        node = {"op": "project", "input": rel.node, "exprs": []}
        out = list(rel.columns) if keep else []
        for c in self.rng.sample(rel.columns, self.rng.randint(0, len(rel.columns)) if not keep else 0):
            node["exprs"].append(self.passed(c))
            out.append(c)
        for _ in range(self.rng.randint(0 if out else 1, 3)):
            val, name = gen.any(self.depth()), self.fresh("e")
            node["exprs"].append({"expr": self.write(val), "as": name})
            out.append(Out(name, renamed(replace(val, samples=[]), name), rel.rows))
        asked = self.about_subplan(rel) if self.rng.random() < 0.06 else None
        if asked:
            name = self.fresh("e")
            node["exprs"].append({"expr": asked, "as": name})
            out.append(Out(name, Val(Node("col", name=name), BOOL, True), rel.rows))
        if keep:
            node["keep"] = True
        elif self.rng.random() < 0.2:
            node["keep"] = False
        return Rel(node, out, rel.rows)

    def passed(self, c):
        return c.name if self.rng.random() < 0.8 else {"expr": self.write(c.val), "as": c.name}

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

    def scalar(self, budget):
        """A one-row subquery joined to everything."""
        left = self.rel(budget)
        right = self.aggregate(min(budget, 1), grouped=False)
        if left.names() & right.names():
            return left
        kind = self.rng.choice(["left", "inner"])
        node = {"op": "join", "kind": kind, "left": left.node, "right": right.node, "single": True}
        if self.rng.random() < 0.3:
            node["right"] = {"op": "filter", "input": right.node, "pred": self.write(self.exprs(right).boolean(1))}
        out = left.columns + [self.extended(c, kind == "left", left.rows) for c in right.columns]
        return Rel(node, out, left.rows)

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

    # ---- aggregates

    def aggregate(self, budget, grouped=None):
        rel = self.rel(budget)
        gen = self.exprs(rel)
        node = {"op": "aggregate", "input": rel.node, "aggs": []}
        out = []
        if grouped is not False and self.rng.random() < 0.8:
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
            out = replace(out, val=replace(out.val, nullable=node["aggs"][-1]["fn"] not in ("count", "count_if")))
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
        if fn == "ordered":
            return self.of_order(agg, gen, rel)
        if fn == "arg":
            agg["fn"] = self.rng.choice(["arg_min", "arg_max"])
            arg, by = gen.any(self.depth()), gen.any(self.rng.choice([0, 0, 1]))
            agg["arg"], agg["by"] = self.write(arg), self.write(by)
            return Out(name, renamed(same_result(arg, rel.rows), name), rel.rows)
        if fn == "count" and self.rng.random() < 0.5:
            return Out(name, Val(Node("col", name=name), INT64, False, Fraction(0), Fraction(int(rel.rows))), rel.rows)
        arg = self.agg_argument(fn, gen)
        if fn in ("sum", "avg") and not self.sum_fits(arg, rel.rows) and not gen.dare():
            agg["fn"] = fn = "count"
        agg["arg"] = self.write(arg)
        if fn in ("count", "sum", "avg") and self.rng.random() < 0.2:
            agg["distinct"] = True
        return Out(name, renamed(AGG_RESULT[fn](arg, rel.rows), name), rel.rows)

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

    def of_order(self, agg, gen, rel):
        """An aggregate of rows in an order."""
        fns = ["median", "quantile_cont", "quantile_disc", "quantile_disc", "mode"]
        fns += ["first", "last"] * (not any(c.val.inexact for c in rel.columns)) + ["string_agg"] * 2 * (rel.rows <= 2000)
        fn = agg["fn"] = self.rng.choice(fns)
        arg = gen.string(1) if fn == "string_agg" else gen.number(self.depth()) if fn in ("median", "quantile_cont") else gen.any(self.depth())
        if fn in ("median", "quantile_cont") and arg.type.kind == "decimal" and arg.type.p > 24:
            fn = agg["fn"] = "quantile_disc"
        agg["arg"] = self.write(arg)
        if fn in ("quantile_cont", "quantile_disc"):
            q = self.rng.choice(["0.0", "1.0", "0.5", "0.25", "0.90", "0.333"])
            agg["q"] = self.write(gen.constant(Decimal(q), literal_decimal_type(q)))
        if fn == "string_agg":
            self.joined_text(agg, rel)
        if fn in ("first", "last"):
            agg["order"] = self.named_order(rel)
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

    def distinct(self, budget):
        rel = self.rel(budget)
        if any(c.val.inexact for c in rel.columns):
            return rel
        node = {"op": "distinct", "input": rel.node}
        if self.rng.random() < 0.4:
            keys = self.rng.sample(rel.columns, min(len(rel.columns), self.rng.choice([1, 1, 2])))
            node["on"] = [c.name if self.rng.random() < 0.7 else {"expr": self.write(c.val)} for c in keys]
            if self.rng.random() < 0.7:
                node["order"] = self.sort_keys(rel)
        return Rel(node, rel.columns, rel.rows)

    # ---- order and size

    def sort_keys(self, rel):
        keys = []
        for c in self.rng.sample(rel.columns, min(len(rel.columns), self.rng.choice([1, 1, 2, 3]))):
            if self.rng.random() < 0.3:
                keys.append(c.name)
                continue
            val = c.val if self.rng.random() < 0.8 else self.exprs(rel).any(1)
            key = {"expr": self.write(val)}
            if self.rng.random() < 0.5:
                key["desc"] = self.rng.random() < 0.8
            if self.rng.random() < 0.4:
                key["nulls"] = self.rng.choice(["first", "last"])
            keys.append(key)
        return keys

    def sort(self, rel, limited):
        node = {"op": "sort", "input": rel.node, "keys": self.sort_keys(rel)}
        rows = rel.rows
        if limited:
            node["limit"] = self.rng.choices([0, 1, 5, 10, 100, 1000000], [1, 4, 4, 6, 4, 4])[0]
            rows = min(rows, node["limit"])
            if self.rng.random() < 0.3:
                node["offset"] = self.rng.choice([0, 1, 7, 5000])
        return Rel(node, rel.columns, rows)

    def top_k(self, budget):
        rel = self.rel(budget)
        if any(c.val.inexact for c in rel.columns):
            return rel
        return self.sort(rel, True)

    def top(self, budget):
        """The first rows of each group."""
        rel = self.rel(budget)
        if any(c.val.inexact for c in rel.columns):
            return rel
        node = {"op": "top", "input": rel.node, "order": self.sort_keys(rel)}
        keys = self.rng.sample(rel.columns, min(len(rel.columns), self.rng.choice([0, 1, 1, 2])))
        if keys or self.rng.random() < 0.5:
            node["keys"] = [c.name if self.rng.random() < 0.7 else {"expr": self.write(c.val)} for c in keys]
        node["limit"] = self.rng.choices([0, 1, 2, 5, 32, 33, 1000], [0.5, 5, 4, 4, 2, 2, 2])[0]
        if self.rng.random() < 0.3:
            node["offset"] = self.rng.choice([0, 1, 3, 500])
        if self.rng.random() < 0.5:
            node["ties"] = self.rng.choice(["cut", "keep", "keep"])
        return Rel(node, rel.columns, rel.rows)

    def window(self, budget):
        rel = self.rel(budget)
        windows = WindowGen(self, rel, AGG_RESULT)
        if not windows.small() or any(c.val.inexact for c in rel.columns):
            return rel
        node, made = windows.node()
        return Rel(node, rel.columns + [Out(name, renamed(val, name), rel.rows) for name, val in made], rel.rows)

    def numbered(self, budget):
        """The first rows of each partition, by a filter on their numbers, which may be all that is asked of these."""
        rel = self.rel(budget)
        if any(c.val.inexact for c in rel.columns):
            return rel
        keys = self.rng.sample(rel.columns, min(len(rel.columns), self.rng.choice([0, 1, 1, 2])))
        name, k = self.fresh("w"), self.rng.choice([0, 1, 1, 2, 5, 33])
        node = {"op": "window", "input": rel.node, "order": self.sort_keys(rel), "partition": [c.name for c in keys],
                "functions": [{"fn": self.rng.choice(["row_number", "row_number", "rank"]), "as": name}]}
        pred = self.rng.choice([f"{name} <= {k}", f"{name} < {k}", f"{name} = {k}", f"{k} >= {name}", f"{name} between 2 and {k}"])
        if self.rng.random() < 0.3:
            pred = {"op": "and", "args": [pred, self.write(self.exprs(rel).boolean(1))]}
        node = {"op": "filter", "input": node, "pred": pred}
        if self.rng.random() < 0.2:
            return Rel(node, rel.columns + [Out(name, Val(Node("col", name=name), INT64, False, Fraction(0), Fraction(int(rel.rows))), rel.rows)], rel.rows)
        return Rel({"op": "project", "input": node, "exprs": [self.passed(c) for c in rel.columns]}, rel.columns, rel.rows)

    def counted_limit(self, budget):
        """Inside a plan a free limit may only be counted: which rows it gives is the engine's choice."""
        rel = self.rel(budget)
        node = {"op": "limit", "input": rel.node, "limit": self.rng.choice([0, 3, 40, 2000])}
        if self.rng.random() < 0.4:
            node["offset"] = self.rng.choice([0, 2, 30])
        name = self.fresh("g")
        count = {"op": "aggregate", "input": node, "aggs": [{"fn": "count", "as": name}]}
        return Rel(count, [Out(name, Val(Node("col", name=name), INT64, False, Fraction(0), Fraction(int(rel.rows))), 1)], 1)

    def union(self, budget):
        """Of union, intersect and except, too; what shares no rows with the first input says little about those."""
        first = self.rel(budget // 2)
        parts, op = [first], self.rng.choice(["union_all", "union", "intersect", "except"])
        if op != "union_all" and any(c.val.inexact for c in first.columns):
            op = "union_all"
        for _ in range(self.rng.choice([1, 1, 2])):
            other = self.part_of(first) if op != "union_all" and self.rng.random() < 0.7 else self.rel(budget // 2)
            parts.append(self.matching(first, other))
        columns = [self.unified([p.columns[i] for p in parts]) for i in range(len(first.columns))]
        rows = sum(p.rows for p in parts)
        if rows > MAX_ROWS:
            return first
        node = {"op": op, "inputs": [p.node for p in parts]}
        if op in ("intersect", "except") and self.rng.random() < 0.5:
            node["all"] = self.rng.random() < 0.9
        return Rel(node, columns, rows)

    def repeat(self, budget):
        rel = self.rel(budget)
        if rel.rows > MAX_ROWS / 8 or any(c.val.inexact for c in rel.columns):
            return rel
        ints, count = [c.val for c in rel.columns if c.val.type.is_int], lit(self.rng.choice([0, 1, 3]), INT64)
        if ints and self.rng.random() < 0.9:
            by = lit(self.rng.choice([2, 3, 7]), INT64)
            count = self.exprs(rel).make("%", INT64, [self.rng.choice(ints), by], Fraction(-6), Fraction(6))
        out = [replace(c, mult=c.mult * 6) for c in rel.columns]
        return Rel({"op": "repeat", "input": rel.node, "count": self.write(count)}, out, rel.rows * 6)

    def part_of(self, rel):
        """Some of the same rows; a plan may say a thing twice."""
        return Rel({"op": "filter", "input": rel.node, "pred": self.write(self.exprs(rel, risk=False).boolean(1))}, rel.columns, rel.rows)

    def matching(self, first, rel):
        """rel projected to columns that unify with first's."""
        gen, node, out = self.exprs(rel, risk=False), {"op": "project", "input": rel.node, "exprs": []}, []
        for c in first.columns:
            val, name = self.like_column(c.val, rel, gen), self.fresh("u")
            node["exprs"].append({"expr": self.write(val), "as": name})
            out.append(Out(name, val, rel.rows))
        return Rel(node, out, rel.rows)

    def like_column(self, want, rel, gen):
        null = lit(None, want.type)
        null.lo = null.hi = want.lo
        if want.inexact:
            return null
        for _ in range(3):
            found = gen.of_kind(want.type.kind, self.rng.choice([0, 0, 1]))
            if found.type == want.type or (found.type.is_number and len(gen.unifiable([want, found])) == 2):
                return found
        return null

    def unified(self, columns):
        vals = [c.val for c in columns]
        t = vals[0].type
        for v in vals[1:]:
            t = unify(t, v.type, "")
        val = replace(vals[0], type=t, nullable=any(v.nullable for v in vals), lo=min(v.lo for v in vals),
                      hi=max(v.hi for v in vals), finite=all(v.finite for v in vals), ascii=all(v.ascii for v in vals),
                      bits=self.exprs(Rel(None, [], 0)).common_bits(vals, t), samples=[] if t != vals[0].type else vals[0].samples)
        return Out(columns[0].name, renamed(val, columns[0].name), sum(c.mult for c in columns))

    def finish(self, rel):
        """Often a sort at the root, sometimes a limit."""
        exact = not any(c.val.inexact for c in rel.columns)
        shape = self.rng.random()
        if exact and shape < 0.3:
            return self.sort(rel, self.rng.random() < 0.4)
        if exact and shape < 0.34:
            rel = self.sort(rel, self.rng.random() < 0.3)
        if shape < 0.4:
            node = {"op": "limit", "input": rel.node, "limit": self.rng.choices([0, 1, 10, 1000], [1, 4, 6, 4])[0]}
            if self.rng.random() < 0.3:
                node["offset"] = self.rng.choice([0, 3, 2000])
            return Rel(node, rel.columns, rel.rows)
        return rel


PARAMETERS = ("limit", "offset", "n", "preceding", "following", "separator", "rows")
MOMENTS = ("stddev_pop", "stddev_samp", "var_pop", "var_samp", "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept",
           "regr_count", "regr_r2", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")


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
    if fn not in ("median", "quantile_cont"):
        return same_result(a, 0)
    if a.type.kind == "decimal":
        return Val(None, decimal(38, max(6, a.type.s)), True, a.lo - 1, a.hi + 1)
    return Val(None, FLOAT64, True, a.lo - 1, a.hi + 1, finite=a.finite, bits=None)


AGG_RESULT = {"count": count_result, "sum": sum_result, "avg": avg_result, "min": same_result, "max": same_result}


def as_json(plan):
    return json.dumps(plan, ensure_ascii=False, indent=1)
