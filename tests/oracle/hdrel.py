"""Turns the operators of a plan into common table expressions."""

from dataclasses import dataclass, replace

import hdwindow
from hdagg import Aggregate
from hderrors import Check, named
from hdexpr import json_value, parse
from hdask import columns_of, conjuncts
from hdsql import Compiler
from hdsubplan import Subplans
from hdtable import Column, Rel
from hdtypes import INT32, INT64, NULL, PlanError, parse_type, unify
from hdvalue import Expr, guarded, literal_sql

KEYS = {"scan": ({"table"}, {"alias", "columns", "filter"}), "ref": ({"name"}, {"alias"}),
        "pairs": ({"input", "aliases"}, {"pred"}), "top": ({"input", "order", "limit"}, {"keys", "offset", "ties"}),
        "filter": ({"input", "pred"}, set()), "project": ({"input", "exprs"}, {"keep"}),
        "join": ({"kind", "left", "right"}, {"on", "asof", "residual", "build", "strategy", "mark", "single"}),
        "aggregate": ({"input", "aggs"}, {"keys", "sets", "rollup", "cube"}), "distinct": ({"input"}, {"on", "order"}),
        "sort": ({"input", "keys"}, {"limit", "offset"}), "limit": ({"input", "limit"}, {"offset"}),
        "union_all": ({"inputs"}, set()), "union": ({"inputs"}, set()), "intersect": ({"inputs"}, {"all"}),
        "except": ({"inputs"}, {"all"}), "repeat": ({"input", "count"}, set()), "values": ({"columns", "rows"}, {"input"}),
        "window": ({"input", "functions"}, {"partition", "order", "frame"})}
KINDS = ("inner", "left", "right", "full", "semi", "anti", "mark")


@dataclass
class Compiled:
    ctes: list
    checks: list
    root: Rel = None
    plan: dict = None

    def with_ctes(self, sql):
        return "WITH " + ",\n".join(self.ctes) + "\n" + sql

    def query(self, cte=None):
        order = f" ORDER BY {', '.join(self.root.order)}" if self.root.order and cte is None else ""
        return self.with_ctes(f"SELECT {self.values()} FROM {cte or self.root.cte}{order}")

    def values(self):
        """All columns; intervals as texts, because DuckDB's Python gives them as a timedelta, which knows no months."""
        if not any(c.type.kind == "interval" for c in self.root.columns):
            return "*"
        return ", ".join(f"CAST(c{i} AS VARCHAR) AS t{i}" if c.type.kind == "interval" else f"c{i}"
                         for i, c in enumerate(self.root.columns))


class PlanCompiler:
    def __init__(self, plan, catalog, params, encode):
        self.plan, self.catalog, self.params, self.encode = plan, catalog, params, encode
        self.out = Compiled([], [], plan=plan)
        self.shared = {}
        self.busy = set()

    def compile(self):
        unknown = set(self.plan) - {"heddle", "name", "comment", "order", "params", "shared", "root"}
        if unknown or self.plan.get("heddle") != 1 or "root" not in self.plan:
            raise PlanError("$", "not a plan of version 1")
        self.out.root = self.rel(self.plan["root"], "$.root")
        return self.out

    def rel(self, node, path):
        op = node.get("op")
        if op not in KEYS:
            raise PlanError(path, f"no operator {op!r}")
        need, may = KEYS[op]
        keys = set(node) - {"op", "comment"}
        if need - keys or keys - need - may:
            raise PlanError(path, f"keys missing or unknown: {sorted(need - keys) or sorted(keys - need - may)}")
        rel = getattr(self, "op_" + op)(node, path)
        names = [c.name for c in rel.columns]
        if len(set(names)) < len(names):
            raise PlanError(path, "duplicate column name")
        return rel

    # ---- helpers

    def cte(self, sql, materialized=False):
        name = f"n{len(self.out.ctes)}"
        self.out.ctes.append(f"{name} AS {'' if materialized else 'NOT '}MATERIALIZED ({sql})")
        return name

    def check(self, node, path, sql, **extra):
        self.out.checks.append(Check(f"EXISTS ({sql})", path, node, **extra))

    def compiler(self, scope):
        return Compiler(scope, self.params, self.encode)

    def value(self, expr, scope, path):
        e = self.compiler(scope).compile(parse(expr, path))
        if e.type == NULL:
            raise PlanError(path, "null needs a type here")
        return e

    def predicate(self, expr, scope, path):
        c = self.compiler(scope)
        return c.need_bool(c.compile(parse(expr, path)), path)

    def check_predicate(self, node, path, expr, scope, source, free=False, pairs=False):
        """source: what stands after FROM; pairs: it gives those of a join. A filter may drop a row at the first conjunct that is not true, NULL
        included, so only a conjunct after true ones surely raises; `and` by itself goes on after NULL."""
        c, reached, sure = self.compiler(scope), ["TRUE"], []
        parts = [c.need_bool(c.compile(part), path) for part in conjuncts(parse(expr, path))]
        for e in parts:
            # pairs that a bound excludes are not looked at, wherever in the condition it stands
            held = [f"{other.sql} IS TRUE" for other in parts if other is not e] if pairs else reached
            if e.err:
                sure.append((guarded(" AND ".join(["TRUE"] + held), e.err), e.lax))
            reached.append(f"{e.sql} IS TRUE")
        for err, lax in sure:
            self.check(node, path, f"SELECT 1 FROM {source} WHERE {err}", free=free or lax)
        whole = c.compile(parse(expr, path))
        if whole.err:
            self.check(node, path, f"SELECT 1 FROM {source} WHERE {whole.err}", free=True)

    def same(self, rel, sql, **extra):
        return Rel(self.cte(sql), rel.columns, **extra)

    def column_of(self, expr, name, e, rel):
        """An output column; a plain copy of an inexact column keeps what its tolerance comes from."""
        tree = parse(expr, "")
        source = next((c for c in rel.columns if tree.op == "col" and c.name == tree.name), None)
        return Column(name, e.type, e.nullable, e.inexact, source.sums if source else ())

    # ---- leaves

    def op_scan(self, node, path):
        table = self.catalog.get(node["table"])
        if table is None:
            raise PlanError(path + ".table", f"no table {node['table']!r}")
        prefix = node["alias"] + "." if node.get("alias") else ""
        whole = {n: Expr('t."' + n.replace('"', '""') + '"', t, null) for n, t, null in table}
        names = node.get("columns", list(whole))
        for n in names:
            if n not in whole:
                raise PlanError(path + ".columns", f"no column {n!r}")
        source = f'"{node["table"]}" t' + self.scan_filter(node, path, whole, prefix)
        columns = [Column(prefix + n, whole[n].type, whole[n].nullable) for n in names]
        return Rel(self.cte(f"SELECT {self.list(whole[n].sql for n in names)} FROM {source}"), columns)

    def scan_filter(self, node, path, whole, prefix):
        if "filter" not in node:
            return ""
        scope = {**whole, **{prefix + n: e for n, e in whole.items()}}
        e = self.predicate(node["filter"], scope, path + ".filter")
        self.check_predicate(node, path + ".filter", node["filter"], scope, f'"{node["table"]}" t')
        return f" WHERE {e.sql}"

    def list(self, items):
        return ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(items))

    def op_ref(self, node, path):
        name = node["name"]
        if name not in self.plan.get("shared", {}) or name in self.busy:
            raise PlanError(path, f"no shared subplan {name!r}, or a cycle through it")
        if name not in self.shared:
            self.busy.add(name)
            rel = self.rel(self.plan["shared"][name], f"$.shared.{name}")
            self.busy.discard(name)
            self.shared[name] = Rel(self.cte(f"SELECT * FROM {rel.cte}", materialized=True), rel.columns)
        rel = self.shared[name]
        prefix = node["alias"] + "." if node.get("alias") else ""
        columns = [Column(prefix + c.name, c.type, c.nullable, c.inexact, c.sums) for c in rel.columns]
        return Rel(rel.cte, columns)

    def op_values(self, node, path):
        types = [parse_type(c["type"], path) for c in node["columns"]]
        if "input" in node or any(isinstance(v, dict) for row in node["rows"] for v in row):
            return self.values_beside(node, path, types)
        rows = []
        for i, row in enumerate(node["rows"]):
            if len(row) != len(types):
                raise PlanError(f"{path}.rows[{i}]", "wrong number of values")
            rows.append([literal_sql(json_value(v, t, f"{path}.rows[{i}]"), t, self.encode) for v, t in zip(row, types)])
        columns = [Column(c["name"], t, any(r[i] is None for r in node["rows"]))
                   for i, (c, t) in enumerate(zip(node["columns"], types))]
        empty = self.list(f"CAST(NULL AS {t.sql()})" for t in types)
        parts = [f"SELECT {empty} WHERE FALSE"] + [f"SELECT {self.list(r)}" for r in rows]
        return Rel(self.cte(" UNION ALL ".join(parts)), columns)

    def values_beside(self, node, path, types):
        """Each row of values beside the rows of the input, one after the other."""
        rel = self.rel(node["input"], path + ".input") if "input" in node else Rel(self.cte("SELECT 1 AS one"), [])
        kept = [f"c{i}" for i in range(len(rel.columns))]
        parts = [f"SELECT {self.list(kept + [f'CAST(NULL AS {t.sql()})' for t in types])} FROM {rel.cte} WHERE FALSE"]
        columns = [Column(c["name"], t, False) for c, t in zip(node["columns"], types)]
        for i, row in enumerate(node["rows"]):
            if len(row) != len(types):
                raise PlanError(f"{path}.rows[{i}]", "wrong number of values")
            cells = [self.cell(node, f"{path}.rows[{i}][{k}]", rel, v, c) for k, (v, c) in enumerate(zip(row, columns))]
            parts.append(f"SELECT {self.list(kept + cells)} FROM {rel.cte}")
        return Rel(self.cte(" UNION ALL ".join(parts)), rel.columns + columns)

    def cell(self, node, path, rel, value, column):
        if not isinstance(value, dict):
            column.nullable |= value is None
            return literal_sql(json_value(value, column.type, path), column.type, self.encode)
        e = self.value(value["expr"], rel.scope(), path)
        e = self.compiler({}).coerce(e, column.type, path)
        if e.err:
            self.check(node, path, f"SELECT 1 FROM {rel.cte} WHERE {e.err}", columns={column.name}, free=e.lax)
        column.nullable |= e.nullable
        column.inexact |= e.inexact
        return e.sql

    # ---- one input

    def op_filter(self, node, path):
        rel = self.rel(node["input"], path + ".input")
        subplans = Subplans(self, node, rel)
        pred = subplans.replaced(node["pred"], path + ".pred")
        wide = subplans.rel
        e = self.predicate(pred, wide.scope(), path + ".pred")
        self.check_predicate(node, path + ".pred", pred, wide.scope(), wide.cte, free=bool(subplans.count))
        names = ", ".join(f"c{i}" for i in range(len(rel.columns)))
        return self.same(rel, f"SELECT {names} FROM {wide.cte} WHERE {e.sql}")

    def named_values(self, node, path, key, rel, check_all, owner=None):
        """(expression, SQL, Column) of each entry of exprs or keys, with their error checks."""
        out = []
        for i, item in enumerate(node.get(key, [])):
            here = f"{path}.{key}[{i}]"
            expr, name = named(item)
            e = self.value(expr, rel.scope(), here)
            if e.err:
                self.check(owner or node, here, f"SELECT 1 FROM {rel.cte} WHERE {e.err}", columns=None if check_all else {name},
                           free=e.lax)
            out.append((e, self.column_of(expr, name, e, rel)))
        return out

    def op_project(self, node, path):
        rel = self.rel(node["input"], path + ".input")
        subplans = Subplans(self, node, rel)
        exprs = [item if isinstance(item, str) else {**item, "expr": subplans.replaced(item["expr"], f"{path}.exprs[{i}]")}
                 for i, item in enumerate(node["exprs"])]
        made = self.named_values({**node, "exprs": exprs}, path, "exprs", subplans.rel, False, node)
        kept = list(enumerate(rel.columns)) if node.get("keep") else []
        items = [f"c{i}" for i, _ in kept] + [e.sql for e, _ in made]
        columns = [c for _, c in kept] + [c for _, c in made]
        return Rel(self.cte(f"SELECT {self.list(items)} FROM {subplans.rel.cte}"), columns)

    def op_distinct(self, node, path):
        rel = self.rel(node["input"], path + ".input")
        if "on" in node:
            return self.first_rows(node, path, rel, "on", (0, 1), False)
        if "order" in node:
            raise PlanError(path, "order belongs to distinct on")
        return self.same(rel, f"SELECT DISTINCT * FROM {rel.cte}")

    def order_terms(self, node, path, rel, field="keys"):
        terms = []
        for i, key in enumerate(node[field]):
            here = f"{path}.{field}[{i}]"
            key = {"expr": {"col": key}} if isinstance(key, str) else key
            e = self.value(key["expr"], rel.scope(), here)
            if e.err:
                self.check(node, here, f"SELECT 1 FROM {rel.cte} WHERE {e.err}", free=e.lax)
            if not columns_of(parse(key["expr"], here)):
                continue  # DuckDB refuses to order by a constant
            terms.append(f"{e.sql} {'DESC' if key.get('desc') else 'ASC'} NULLS {key.get('nulls', 'last').upper()}")
        return terms

    def tie_terms(self, rel):
        return [f"c{i} ASC NULLS LAST" for i in range(len(rel.columns))]

    def op_sort(self, node, path):
        rel = self.rel(node["input"], path + ".input")
        terms = self.order_terms(node, path, rel) + self.tie_terms(rel)
        cut = self.cut(node)
        sql = f"SELECT * FROM {rel.cte}" + (f" ORDER BY {', '.join(terms)}{cut}" if cut else "")
        return self.same(rel, sql, order=terms)

    def op_top(self, node, path):
        rel = self.rel(node["input"], path + ".input")
        if node.get("ties", "cut") not in ("cut", "keep"):
            raise PlanError(path, "bad ties")
        offset, limit = int(node.get("offset", 0)), int(node["limit"])
        return self.first_rows(node, path, rel, "keys", (offset, limit), node.get("ties") == "keep" and limit > 0)

    def first_rows(self, node, path, rel, field, cut, ties):
        """Numbers the rows of each group in the whole order, and ranks them in the one that is written."""
        keys = []
        for i, key in enumerate(node.get(field, [])):
            here = f"{path}.{field}[{i}]"
            e = self.value({"col": key} if isinstance(key, str) else key["expr"], rel.scope(), here)
            if e.err:
                self.check(node, here, f"SELECT 1 FROM {rel.cte} WHERE {e.err}", free=e.lax)
            keys.append(e.sql)
        terms = self.order_terms(node, path, rel, "order") if "order" in node else []
        group = f"PARTITION BY {', '.join(keys)} " if keys else ""
        peers = f" ORDER BY {', '.join(terms)}" if terms else ""
        offset, last = cut[0], cut[0] + cut[1]
        stays = f"rank <= {last}" if ties else f"place <= {last}"
        numbered = (f"SELECT *, row_number() OVER ({group}ORDER BY {', '.join(terms + self.tie_terms(rel))}) AS place, "
                    f"rank() OVER ({group}{peers}) AS rank FROM {rel.cte}")
        return self.same(rel, f"SELECT * EXCLUDE (place, rank) FROM ({numbered}) WHERE place > {offset} AND {stays}")

    def op_pairs(self, node, path):
        """Rows are numbered by all they hold: of equal ones it does not matter which is which."""
        rel = self.rel(node["input"], path + ".input")
        first, second = node["aliases"]
        order = ", ".join(self.tie_terms(rel))
        numbered = self.cte(f"SELECT *, row_number() OVER (ORDER BY {order}) AS number FROM {rel.cte}", materialized=True)
        columns = [Column(f"{alias}.{c.name}", c.type, c.nullable, c.inexact, c.sums)
                   for alias in (first, second) for c in rel.columns]
        names = [f"{side}.c{i}" for side in "lr" for i in range(len(rel.columns))]
        scope = {c.name: Expr(sql, c.type, c.nullable, None, c.inexact) for c, sql in zip(columns, names)}
        source, condition = f"{numbered} l JOIN {numbered} r ON l.number < r.number", "TRUE"
        if "pred" in node:
            condition = self.predicate(node["pred"], scope, path + ".pred").sql
            self.check_predicate(node, path + ".pred", node["pred"], scope, source)
        # the condition may call Python for each pair: once
        return Rel(self.cte(f"SELECT {self.list(names)} FROM {source} WHERE {condition}", materialized=True), columns)

    def cut(self, node):
        limit = f" LIMIT {int(node['limit'])}" if "limit" in node else ""
        return limit + (f" OFFSET {int(node['offset'])}" if node.get("offset") else "")

    def op_limit(self, node, path):
        rel = self.rel(node["input"], path + ".input")
        if rel.order:
            sql = f"SELECT * FROM {rel.cte} ORDER BY {', '.join(rel.order)}{self.cut(node)}"
            return self.same(rel, sql, order=rel.order)
        sql = f"SELECT * FROM {rel.cte}{self.cut(node)}"
        return self.same(rel, sql, free_limit=(int(node["limit"]), int(node.get("offset", 0))), unlimited=rel.cte)

    def op_repeat(self, node, path):
        rel = self.rel(node["input"], path + ".input")
        e = self.compiler({}).coerce(self.value(node["count"], rel.scope(), path + ".count"), INT32, path + ".count")
        if e.err:
            self.check(node, path + ".count", f"SELECT 1 FROM {rel.cte} WHERE {e.err}", free=e.lax)
        names = ", ".join(f"c{i}" for i in range(len(rel.columns)))
        return self.same(rel, f"SELECT {names} FROM (SELECT *, unnest(range({e.sql})) AS copy FROM {rel.cte})")

    def op_window(self, node, path):
        return hdwindow.window(self, node, path)

    # ---- aggregate

    def op_aggregate(self, node, path):
        rel = self.rel(node["input"], path + ".input")
        keys = self.named_values(node, path, "keys", rel, True)
        if not keys and not node["aggs"]:
            raise PlanError(path, "no output columns")
        sets = self.grouping_sets(node, path, [c.name for _, c in keys])
        groupings = [self.grouping(node, path, rel, keys, of) for of in sets]
        columns = groupings[0][1]
        for _, more in groupings[1:]:
            columns = [replace(c, nullable=c.nullable or m.nullable, sums=tuple(dict.fromkeys(c.sums + m.sums)))
                       for c, m in zip(columns, more)]
        return Rel(self.cte(" UNION ALL ".join(sql for sql, _ in groupings)), columns)

    def grouping_sets(self, node, path, names):
        """[numbers of keys]"""
        said = [k for k in ("sets", "rollup", "cube") if node.get(k)]
        if len(said) > 1:
            raise PlanError(path, "one of sets, rollup and cube")
        if said == ["rollup"]:
            return [range(n) for n in range(len(names), -1, -1)]
        if said == ["cube"]:
            return [[i for i in range(len(names)) if not number >> i & 1] for number in range(1 << len(names))]
        if "sets" not in node:
            return [range(len(names))]
        if not node["sets"] or any(len(set(of)) < len(of) or set(of) - set(names) for of in node["sets"]):
            raise PlanError(path + ".sets", "not sets of keys")
        return [[names.index(n) for n in of] for of in node["sets"]]

    def grouping(self, node, path, rel, keys, of):
        """Rows of one grouping set, by itself."""
        items = [e.sql if i in of else f"CAST(NULL AS {e.type.sql()})" for i, (e, _) in enumerate(keys)]
        columns = [c if i in of else replace(c, nullable=True) for i, (_, c) in enumerate(keys)]
        group, source = f" GROUP BY {', '.join(str(i + 1) for i in of)}" if of else "", rel.cte
        if not of and all(agg["fn"] == "grouping" for agg in node["aggs"]):
            source = f"(SELECT count(*) FROM {rel.cte})"
        for i, agg in enumerate(node["aggs"]):
            here = f"{path}.aggs[{i}]"
            if agg["fn"] == "grouping":
                sql, column = self.which_keys(agg, here, [c.name for _, c in keys], of)
            else:
                sql, column = Aggregate(self, node, agg, here, rel, [keys[k][0].sql for k in of]).compile()
            items.append(sql)
            columns.append(column)
        return f"SELECT {self.list(items)} FROM {source}{group}", columns

    def which_keys(self, agg, path, names, of):
        asked = [agg["arg"]] if isinstance(agg["arg"], str) else agg["arg"]
        if set(agg) != {"fn", "arg", "as"} or not asked or set(asked) - set(names):
            raise PlanError(path, "grouping is of keys")
        bits = "".join("01"[names.index(n) not in of] for n in asked)
        return f"CAST({int(bits, 2)} AS BIGINT)", Column(agg["as"], INT64, False)

    # ---- several inputs

    def op_union_all(self, node, path):
        return self.set_operation(node, path, "UNION ALL")

    def op_union(self, node, path):
        return self.set_operation(node, path, "UNION")

    def op_intersect(self, node, path):
        return self.set_operation(node, path, "INTERSECT ALL" if node.get("all") else "INTERSECT", free=True)

    def op_except(self, node, path):
        return self.set_operation(node, path, "EXCEPT ALL" if node.get("all") else "EXCEPT", free=True)

    def set_operation(self, node, path, word, free=False):
        """The operations group from the left; free: a join may drop a row before it is cast."""
        rels = [self.rel(n, f"{path}.inputs[{i}]") for i, n in enumerate(node["inputs"])]
        if len(rels) < 2 or len({len(r.columns) for r in rels}) > 1:
            raise PlanError(path, f"{node['op']} takes two or more inputs with as many columns")
        columns = []
        for group in zip(*[r.columns for r in rels]):
            t = group[0].type
            for c in group[1:]:
                t = unify(t, c.type, path)
            columns.append(Column(group[0].name, t, any(c.nullable for c in group), any(c.inexact for c in group),
                                  sum((c.sums for c in group), ())))
        if node["op"] == "except":
            columns = [replace(c, nullable=first.nullable) for c, first in zip(columns, rels[0].columns)]
        parts = [self.union_part(r, columns, node, path, free) for r in rels]
        if word == "UNION ALL":
            return Rel(self.cte(f" {word} ".join(parts)), columns)
        whole = parts[0]
        for part in parts[1:]:
            whole = f"SELECT * FROM {self.cte(whole)} {word} SELECT * FROM {self.cte(part)}"
        return Rel(self.cte(whole), columns)

    def union_part(self, rel, columns, node, path, free):
        comp, items = self.compiler({}), []
        for e, c in zip(rel.scope().values(), columns):
            e = comp.coerce(e, c.type, path)
            if e.err:
                self.check(node, path, f"SELECT 1 FROM {rel.cte} WHERE {e.err}", columns=None if node["op"] == "union" else {c.name},
                           free=free)
            items.append(e.sql)
        return f"SELECT {self.list(items)} FROM {rel.cte}"

    def op_join(self, node, path):
        left, right = self.rel(node["left"], path + ".left"), self.rel(node["right"], path + ".right")
        if node["kind"] not in KINDS or node.get("build", "auto") not in ("auto", "left", "right") \
                or node.get("strategy", "auto") not in ("auto", "hash", "direct", "index", "loop", "radix", "merge", "band") \
                or ("mark" in node) != (node["kind"] == "mark"):
            raise PlanError(path, "bad join kind, build, strategy or mark")
        keys = self.join_keys(node, path, left, right)
        if "asof" in node:
            return self.join_nearest(node, path, left, right, keys)
        condition = self.join_condition(node, path, left, right, keys)
        if node.get("single"):
            if node["kind"] not in ("left", "inner") or node.get("on"):
                raise PlanError(path, "single takes kind left or inner and no keys")
            self.out.checks.append(Check(f"(SELECT count(*) FROM {right.cte}) > 1", path, node))
        return JOINS[node["kind"]](self, node, left, right, condition)

    def join_keys(self, node, path, left, right):
        tests = []
        for i, pair in enumerate(node.get("on", [])):
            here = f"{path}.on[{i}]"
            if pair[2:] not in ([], ["null_equal"]):
                raise PlanError(here, "bad pair of keys")
            a, b = self.join_sides(node, here, left, right, (pair[0], here + "[0]"), (pair[1], here + "[1]"))
            same = self.compiler({}).compare_values("=", a, b, here).sql
            tests.append(f"({same} OR ({a.sql} IS NULL AND {b.sql} IS NULL))" if pair[2:] else same)
        return tests

    def join_sides(self, node, here, left, right, of_left, of_right, free=False):
        """What the join compares of both sides: expressions, each with its path."""
        a = self.compiler(left.scope("l.")).compile(parse(*of_left))
        b = self.compiler(right.scope("r.")).compile(parse(*of_right))
        for e, rel, other, side in ((a, left, right, "l"), (b, right, left, "r")):
            if e.err:
                # with nothing on the other side the keys need not be computed
                empty = f"NOT EXISTS (SELECT 1 FROM {other.cte})"
                # and a loop looks at one only where those before it are equal
                self.check(node, here, f"SELECT 1 FROM {rel.cte} {side} WHERE {e.err} AND NOT {empty}",
                           free=free or node.get("strategy") == "loop")
                self.check(node, here, f"SELECT 1 FROM {rel.cte} {side} WHERE {e.err} AND {empty}", free=True)
        return a, b

    def join_nearest(self, node, path, left, right, keys):
        """Numbers the matches of each left row by their distance and their columns; the first one stays."""
        asof, here = node["asof"], path + ".asof"
        if node["kind"] not in ("inner", "left") or "residual" in node or asof["match"] not in (">=", ">", "<=", "<"):
            raise PlanError(path, "bad as-of join")
        a, b = self.join_sides(node, here, left, right, (asof["left"], here + ".left"), (asof["right"], here + ".right"))
        condition = " AND ".join(keys + [self.compiler({}).compare_values(asof["match"], a, b, here).sql])
        ties = "".join(f", r.c{i} ASC NULLS LAST" for i in range(len(right.columns)))
        order = f"{b.sql} {'DESC' if asof['match'][0] == '>' else 'ASC'} NULLS LAST{ties}"
        columns = left.columns + [self.extended(c, node["kind"] == "left") for c in right.columns]
        items = [f"l.c{i}" for i in range(len(left.columns))] + [f"r.c{i}" for i in range(len(right.columns))]
        numbered = (f"SELECT {self.list(items)}, row_number() OVER (PARTITION BY l.number ORDER BY {order}) AS place "
                    f"FROM (SELECT *, row_number() OVER () AS number FROM {left.cte}) l {node['kind'].upper()} JOIN "
                    f"{right.cte} r ON {condition}")
        return Rel(self.cte(f"SELECT * EXCLUDE (place) FROM ({numbered}) WHERE place = 1"), columns)

    def join_condition(self, node, path, left, right, keys):
        if "residual" not in node:
            return " AND ".join(keys) or "TRUE"
        scope, other = left.scope("l."), right.scope("r.")
        shared = scope.keys() & other.keys()
        scope = {n: e for n, e in {**scope, **other}.items() if n not in shared}
        e = self.predicate(node["residual"], scope, path + ".residual")
        # existence may be settled by an earlier match
        self.check_predicate(node, path + ".residual", node["residual"], scope,
                             f"{left.cte} l JOIN {right.cte} r ON {' AND '.join(keys) or 'TRUE'}",
                             free=node["kind"] in ("semi", "anti", "mark"), pairs=True)
        # as a comparison of an EXISTS that has keys, too, DuckDB 1.5 finds NULL <> x true
        return " AND ".join(keys + [f"({e.sql}) IS TRUE"])

    def join_both(self, node, left, right, condition):
        kind = node["kind"]
        columns = [self.extended(c, kind in ("right", "full")) for c in left.columns]
        columns += [self.extended(c, kind in ("left", "full")) for c in right.columns]
        items = [f"l.c{i}" for i in range(len(left.columns))] + [f"r.c{i}" for i in range(len(right.columns))]
        sql = f"SELECT {self.list(items)} FROM {left.cte} l {kind.upper()} JOIN {right.cte} r ON {condition}"
        return Rel(self.cte(sql), columns)

    def extended(self, c, null):
        return Column(c.name, c.type, c.nullable or null, c.inexact, c.sums)

    def join_exists(self, node, left, right, condition):
        word = "NOT EXISTS" if node["kind"] == "anti" else "EXISTS"
        return self.same(left, f"SELECT * FROM {left.cte} l WHERE {word} (SELECT 1 FROM {right.cte} r WHERE {condition})")

    def join_mark(self, node, left, right, condition):
        columns = left.columns + [Column(node["mark"], parse_type("bool"), False)]
        items = [f"l.c{i}" for i in range(len(left.columns))]
        items.append(f"EXISTS (SELECT 1 FROM {right.cte} r WHERE {condition})")
        return Rel(self.cte(f"SELECT {self.list(items)} FROM {left.cte} l"), columns)


JOINS = {"semi": PlanCompiler.join_exists, "anti": PlanCompiler.join_exists, "mark": PlanCompiler.join_mark,
         **{kind: PlanCompiler.join_both for kind in ("inner", "left", "right", "full")}}
