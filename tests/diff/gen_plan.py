"""Random typed plans over a random database: every operator, every kind of join, every aggregate function.

A Rel carries upper bounds for its rows and for the multiplicity of each column's values, so that joins stay small.
"""

import datetime
import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from gen_aggs import AGG_RESULT, AggGen
from gen_data import Column
from gen_expr import ExprGen
from gen_joins import JoinGen
from gen_rel import MAX_PAIRS, MAX_ROWS, Out, Rel, column_val, renamed
from gen_render import Writer, value_text
from gen_value import Val, lit
from gen_window import WindowGen
from hdexpr import Node
from hdtypes import BOOL, DATE, FLOAT32, FLOAT64, INT64, STRING, decimal, unify


class PlanGen(AggGen, JoinGen):
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

    def scan(self, table=None):
        table = table or self.rng.choice(self.tables)
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


def as_json(plan):
    return json.dumps(plan, ensure_ascii=False, indent=1)
