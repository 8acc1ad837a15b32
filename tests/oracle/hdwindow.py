"""Windows by their definition: a row's frame is the rows of its partition for which a predicate over both holds.

Rows are numbered in the order of the window; every function over frames is an aggregate of the pairs (row, row of its
frame). That takes as many pairs as frames have rows, and shares no idea with what it checks.
"""

from dataclasses import replace

from hdagg import QUANTILES, Aggregate
from hderrors import named
from hdexpr import parse
from hdmoments import ONE, TWO
from hdask import columns_of
from hdtable import Column, Rel
from hdtypes import FLOAT64, INT64, PlanError

NUMBERS = {"row_number": "n.p", "rank": "n.pb", "dense_rank": "n.g",
           "percent_rank": "CASE WHEN n.np = 1 THEN 0e0 ELSE CAST(n.pb - 1 AS DOUBLE) / CAST(n.np - 1 AS DOUBLE) END",
           "cume_dist": "CAST(n.pe AS DOUBLE) / CAST(n.np AS DOUBLE)"}
FIELDS = {**{fn: set() for fn in NUMBERS}, "ntile": {"n"}, "lag": {"arg", "offset", "default"}, "lead": {"arg", "offset", "default"},
          "first_value": {"arg", "frame"}, "last_value": {"arg", "frame"}, "nth_value": {"arg", "n", "frame"},
          **{fn: {"arg", "by", "filter", "frame"} for fn in TWO + ("regr_count", "arg_min", "arg_max")},
          **{fn: {"arg", "distinct", "filter", "frame"} for fn in ("count", "sum", "avg", "bit_xor")}, "median": {"arg", "filter", "frame"}, "mode": {"arg", "filter", "frame"},
          "string_agg": {"arg", "separator", "filter", "frame"},
          **{fn: {"arg", "q", "filter", "frame"} for fn in QUANTILES},
          **{fn: {"arg", "filter", "frame"} for fn in ONE + ("min", "max", "count_if", "bool_and", "bool_or", "bit_and", "bit_or")}}
OWN = ("partition", "order")


def kind_of(node, f):
    """(the function's partition and order, the frame it has without one of its own)"""
    own = {k: f[k] for k in OWN if k in f}
    return own or {k: node[k] for k in OWN if k in node}, None if own else node.get("frame")


def window(owner, node, path):
    """One window after the other: a function with a partition or an order of its own has its own."""
    kinds = [kind_of(node, f) for f in node["functions"]]
    rel, names = owner.rel(node["input"], path + ".input"), []
    width = len(rel.columns)
    for n, (keys, frame) in enumerate(kinds):
        if (keys, frame) in kinds[:n]:
            continue
        mine = [(i, {k: v for k, v in f.items() if k not in OWN}) for i, f in enumerate(node["functions"]) if kinds[i] == (keys, frame)]
        one = {**{k: v for k, v in node.items() if k not in OWN + ("frame",)}, **keys, **({"frame": frame} if frame else {})}
        rel = Window(owner, one, path, rel, mine, node).compile()
        names += [f["as"] for _, f in mine]
    order = list(range(width)) + [width + names.index(f["as"]) for f in node["functions"]]
    sql = f"SELECT {owner.list(f'c{i}' for i in order)} FROM {rel.cte}"
    return Rel(owner.cte(sql), [rel.columns[i] for i in order])


class Joined(Aggregate):
    """Strings of a frame's rows, in the order of these."""

    def order(self):
        return ["place"]


class Window:
    """Functions of one partition and order; whole: the operator."""

    def __init__(self, owner, node, path, rel, functions, whole):
        self.owner, self.node, self.path, self.rel, self.functions, self.whole = owner, node, path, rel, functions, whole
        self.ordered = bool(node.get("order"))
        self.rows = self.numbered()

    def compile(self):
        items, columns, joins = [f"n.c{i}" for i in range(len(self.rel.columns))], list(self.rel.columns), []
        for i, f in self.functions:
            sql, source, column = self.function(f, f"{self.path}.functions[{i}]")
            if source:
                joins.append(f"LEFT JOIN ({source}) w{i} ON w{i}.part = n.part AND w{i}.p = n.p")
            items.append(sql.replace("$", f"w{i}."))
            columns.append(column)
        sql = f"SELECT {self.owner.list(items)} FROM {self.rows} n {' '.join(joins)}"
        return Rel(self.owner.cte(sql), columns)

    # ---- rows

    def numbered(self):
        """p: a row's number in its partition; pb, pe: those of its first and last peer; g: its peers' number; np: rows."""
        keys = []
        for i, key in enumerate(self.node.get("partition", [])):
            expr, here = (named(key)[0] if isinstance(key, str) else key["expr"]), f"{self.path}.partition[{i}]"
            e = self.owner.value(expr, self.rel.scope(), here)
            self.check(e, here, self.outputs())
            if columns_of(parse(expr, here)):
                keys.append(e.sql)
        terms = self.owner.order_terms(self.node, self.path, self.rel, "order") if self.ordered else []
        part = f"PARTITION BY {', '.join(keys)}" if keys else ""
        peers = f"{part} ORDER BY {', '.join(terms)}" if terms else part
        whole = f"{part} ORDER BY {', '.join(terms + self.owner.tie_terms(self.rel))}"
        last = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" if terms else ""
        numbers = {"part": f"dense_rank() OVER (ORDER BY {', '.join(keys)})" if keys else "1", "p": f"row_number() OVER ({whole})",
                   "pb": f"rank() OVER ({peers})" if terms else "1::BIGINT", "pe": f"count(*) OVER ({peers} {last})",
                   "g": f"dense_rank() OVER ({peers})" if terms else "1::BIGINT", "np": f"count(*) OVER ({part})"}
        if len(self.node.get("order", [])) == 1:
            numbers["k"] = self.wide_key(self.node["order"][0])
        items = ", ".join(f"{sql} AS {name}" for name, sql in numbers.items())
        return self.owner.cte(f"SELECT *, {items} FROM {self.rel.cte}", materialized=True)

    def wide_key(self, key):
        e = self.owner.value({"col": key} if isinstance(key, str) else key["expr"], self.rel.scope(), self.path + ".order[0]")
        return f"CAST({e.sql} AS HUGEINT)" if e.type.is_int else e.sql

    def outputs(self):
        return {f["as"] for _, f in self.functions}

    def check(self, e, path, columns, free=False):
        if e.err:
            self.owner.check(self.whole, path, f"SELECT 1 FROM {self.rel.cte} WHERE {e.err}", columns=columns, free=free or e.lax)

    # ---- frames

    def bound(self, said, unit, sign):
        """A condition on m for one end of n's frame: 1 its start, -1 its end."""
        if said in ("unbounded preceding", "unbounded following"):
            return "TRUE"
        way = ">=" if sign > 0 else "<="
        if said == "current row":
            return f"m.p {way} n.{'p' if unit == 'rows' else 'pb' if sign > 0 else 'pe'}"
        if unit == "range":
            return self.reach(said, sign)
        by = -said["preceding"] if "preceding" in said else said["following"]
        return f"m.{'p' if unit == 'rows' else 'g'} {way} n.{'p' if unit == 'rows' else 'g'} + ({by})"

    def reach(self, said, sign):
        """An offset from the order's key. A NULL has its peers; other rows have none that is NULL, unless it lies on their side."""
        key = self.node["order"][0]
        key = key if isinstance(key, dict) else {}
        by = said["preceding"] if "preceding" in said else said["following"]
        by = f"INTERVAL {by.split()[1]} DAY" if isinstance(by, str) else by
        back = ("preceding" in said) != bool(key.get("desc"))
        way = "<=" if (sign < 0) != bool(key.get("desc")) else ">="
        inside = (key.get("nulls", "last") == "last") == (sign > 0)
        own = "m.p >= n.pb" if sign > 0 else "m.p <= n.pe"
        return f"CASE WHEN n.k IS NULL THEN {own} WHEN m.k IS NULL THEN {inside} ELSE m.k {way} n.k {'-' if back else '+'} {by} END"

    def frame(self, f):
        said = f.get("frame", self.node.get("frame"))
        if said is None:
            return "m.p <= n.pe" if self.ordered else "TRUE"
        peers = "m.p BETWEEN n.pb AND n.pe"
        out = {"no others": "TRUE", "current row": "m.p <> n.p", "group": f"NOT {peers}", "ties": f"(m.p = n.p OR NOT {peers})"}
        return f"{self.bound(said['start'], said['unit'], 1)} AND {self.bound(said['end'], said['unit'], -1)} AND {out[said.get('exclude', 'no others')]}"

    def pairs(self, f):
        """The rows of each frame, as rows of the input with the number of the row whose frame it is."""
        items = ", ".join([f"m.c{i} AS c{i}" for i in range(len(self.rel.columns))] + ["m.p AS place", "n.part AS part", "n.p AS p"])
        return self.owner.cte(f"SELECT {items} FROM {self.rows} n JOIN {self.rows} m ON m.part = n.part AND {self.frame(f)}")

    # ---- functions

    def function(self, f, path):
        """(SQL over n and, as $, the source; the source or None; the column)"""
        fn = f["fn"]
        if fn not in FIELDS or set(f) - {"fn", "as"} - FIELDS[fn]:
            raise PlanError(path, "not a window function")
        if fn in NUMBERS:
            return NUMBERS[fn], None, Column(f["as"], FLOAT64 if fn in ("percent_rank", "cume_dist") else INT64, False)
        if fn == "ntile":
            return "$v", self.tiles(f["n"]), Column(f["as"], INT64, False)
        if fn in ("lag", "lead"):
            return self.shifted(f, path)
        if "value" in fn:
            return self.placed(f, path)
        return self.aggregate(f, path)

    def tiles(self, count):
        """Which of the parts: those before it, each of size or one more, hold fewer rows than lie before the row."""
        size, more = f"(n.np // {count})", f"(n.np % {count})"
        begins = f"list_transform(range(least({count}, n.np)), k -> k * {size} + least(k, {more}))"
        return f"SELECT part, p, len(list_filter({begins}, b -> b < n.p)) AS v FROM {self.rows} n"

    def argument(self, f, path):
        e = self.owner.value(f["arg"], self.rel.scope(), path + ".arg")
        self.check(e, path + ".arg", {f["as"]}, free=True)  # a frame may leave the row out
        return e

    def shifted(self, f, path):
        arg, by = self.argument(f, path), f.get("offset", 1)
        at = f"m.p = n.p {'-' if f['fn'] == 'lag' else '+'} {by}"
        items, value = "n.part AS part, n.p AS p", "m.v"
        values = f"SELECT *, {arg.sql} AS v FROM {self.rows}"
        if "default" in f:
            other = self.owner.value(f["default"], self.rel.scope(), path + ".default")
            other = self.owner.compiler({}).coerce(other, arg.type, path + ".default")
            self.check(other, path + ".default", {f["as"]}, free=True)
            values, value = f"SELECT *, {arg.sql} AS v, {other.sql} AS d FROM {self.rows}", "CASE WHEN m.p IS NULL THEN n.d ELSE m.v END"
        source = f"SELECT {items}, {value} AS v FROM ({values}) n LEFT JOIN ({values}) m ON m.part = n.part AND {at}"
        return "$v", source, Column(f["as"], arg.type, True, arg.inexact)

    def placed(self, f, path):
        arg = self.argument(f, path)
        at = {"first_value": 1, "last_value": -1}.get(f["fn"], f.get("n"))
        source = f"SELECT part, p, list({arg.sql} ORDER BY place)[{at}] AS v FROM {self.pairs(f)} GROUP BY part, p"
        return "$v", source, Column(f["as"], arg.type, True, arg.inexact)

    def aggregate(self, f, path):
        pairs = Rel(self.pairs(f), self.rel.columns)
        for key in ("arg", "by", "filter"):
            if key in f:
                self.check(self.owner.value(f[key], self.rel.scope(), path), path, {f["as"]}, free=True)
        agg = {k: v for k, v in f.items() if k != "frame"}
        made = Joined if f["fn"] == "string_agg" else Aggregate
        sql, column = made(self.owner, self.whole, agg, path, pairs, ["part", "p"]).compile()
        source = f"SELECT part, p, {sql} AS v FROM {pairs.cte} GROUP BY part, p"
        if f["fn"] in ("count", "count_if", "regr_count"):
            return "coalesce($v, 0)", source, column
        return "$v", source, replace(column, nullable=True)
