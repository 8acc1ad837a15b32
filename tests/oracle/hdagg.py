"""Turns aggregate functions into SQL."""

from dataclasses import replace
from fractions import Fraction

from hdexpr import Node, parse
from hdmoments import ONE, TWO
from hdask import columns_of
from hdtable import Column
from hdtypes import FLOAT64, INT64, INTERVAL, MAX_DIGITS, STRING, PlanError, decimal
from hdvalue import guarded, literal_sql

BOOLS = ("count_if", "bool_and", "bool_or")
BITS = ("bit_and", "bit_or", "bit_xor")
QUANTILES = ("quantile_cont", "quantile_disc")
ORDERED = {"median": set(), "mode": set(), "first": {"order"}, "last": {"order"}, "string_agg": {"order", "separator"}, "approx_count_distinct": set(),
           **{fn: {"q"} for fn in QUANTILES}}  # what they take beside an argument
SAFE_SUM_DIGITS = 28  # 10^10 rows of this many digits cannot reach 10^38


class Aggregate:
    """One aggregate function of one aggregate operator."""

    def __init__(self, owner, node, agg, path, rel, keys):
        self.owner, self.node, self.agg, self.path = owner, node, agg, path
        self.rel, self.keys = rel, keys

    def compile(self):
        agg = self.agg
        nearest = agg["fn"] in ("arg_min", "arg_max")
        two = nearest or agg["fn"] in TWO + ("regr_count",)
        known = {"fn", "arg", "by", "filter", "as", "distinct"} | ORDERED.get(agg["fn"], set())
        if set(agg) - known or ("by" in agg) != two or \
                not (two or agg["fn"] in ("count", "sum", "avg", "min", "max") + BOOLS + BITS + ONE or agg["fn"] in ORDERED):
            raise PlanError(self.path, "not an aggregate")
        if agg.get("distinct") and ("arg" not in agg or agg["fn"] not in ("count", "sum", "avg", "bit_xor", "string_agg")):
            raise PlanError(self.path, "distinct goes with the argument of count, sum, avg, bit_xor or string_agg")
        self.filter = self.condition("filter") if "filter" in agg else None
        if self.filter and self.filter.err:
            self.owner.check(self.node, self.path + ".filter", f"SELECT 1 FROM {self.rel.cte} WHERE {self.filter.err}",
                             columns={agg["as"]}, free=self.filter.lax)
        if "arg" not in agg:
            if agg["fn"] != "count":
                raise PlanError(self.path, "argument missing")
            return f"count({self.filtered('1')})" if self.filter else "count(*)", Column(agg["as"], INT64, False)
        self.arg = self.counted(self.condition("arg") if agg["fn"] in BOOLS else
                                self.owner.value(agg["arg"], self.rel.scope(), self.path + ".arg"))
        if self.arg.err:
            # counting, like `is null`, asks only whether there is a value
            self.owner.check(self.node, self.path + ".arg", f"SELECT 1 FROM {self.rel.cte} WHERE {self.arg.err}",
                             columns={agg["as"]}, free=self.arg.lax or agg["fn"] in ("count", "first", "last"))
        if agg["fn"] in ONE + TWO + ("regr_count",):
            return self.moment()
        self.unique = "DISTINCT " if agg.get("distinct") else ""
        sql, t = getattr(self, agg["fn"])()
        return sql, self.column(t)

    def condition(self, key):
        here = f"{self.path}.{key}"
        c = self.owner.compiler(self.rel.scope())
        return c.need_bool(c.compile(parse(self.agg[key], here)), here)

    def filtered(self, sql):
        return f"CASE WHEN {self.filter.sql} THEN {sql} END"

    def counted(self, e):
        """An argument in the rows that count: NULL and no error elsewhere."""
        if not self.filter:
            return e
        err = guarded(f"{self.filter.sql} IS TRUE", e.err) if e.err else None
        return replace(e, sql=self.filtered(e.sql), nullable=True, err=err)

    def count_if(self):
        return f"count(CASE WHEN {self.arg.sql} THEN 1 END)", INT64

    def bool_and(self):
        return f"{self.agg['fn']}({self.arg.sql})", self.arg.type

    bool_or = bool_and

    def bit_xor(self):
        if not self.arg.type.is_int:
            raise PlanError(self.path, f"{self.agg['fn']} takes integers")
        return f"{self.agg['fn']}({self.unique}CAST({self.arg.sql} AS BIGINT))", INT64

    bit_and = bit_or = bit_xor

    def moment(self):
        fn, by = self.agg["fn"], self.arg
        self.number()
        if "by" in self.agg:
            by = self.counted(self.owner.value(self.agg["by"], self.rel.scope(), self.path + ".by"))
            if not by.type.is_number:
                raise PlanError(self.path, f"{fn} does not take {by.type}")
            if by.err:
                self.owner.check(self.node, self.path + ".by", f"SELECT 1 FROM {self.rel.cte} WHERE {by.err}",
                                 columns={self.agg["as"]}, free=by.lax or fn == "regr_count")
        there = f"{self.arg.sql} IS NOT NULL AND {by.sql} IS NOT NULL"
        if fn == "regr_count":
            return f"count(CASE WHEN {there} THEN 1 END)", Column(self.agg["as"], INT64, False)
        text = [f"CAST({f'CAST({e.sql} AS DOUBLE)' if e.type.is_float else e.sql} AS VARCHAR)" for e in (self.arg, by)]
        args = "'{}', {}".format(fn, ", ".join(f"list({t}) FILTER ({there})" for t in text))
        keys = "".join(f"{k} AS k{i}, " for i, k in enumerate(self.keys))
        group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(self.keys)))}" if self.keys else ""
        errors = f"SELECT {keys}hd_moment_error({args}) AS e FROM {self.rel.cte}{group}"
        inexact = self.arg.inexact or by.inexact
        sums = () if inexact else (f"SELECT 1, max(e) * {2 ** 52} FROM ({errors})",)
        return f"hd_moment({args})", Column(self.agg["as"], FLOAT64, True, True, sums)

    def column(self, t):
        fn = self.agg["fn"]
        nullable = fn not in ("count", "count_if", "approx_count_distinct") and (self.arg.nullable or not self.keys)
        sums = ()
        if t == FLOAT64 and fn in ("sum", "avg") and not self.arg.inexact:
            sums = (f"SELECT count(x), sum(abs(x)) FROM (SELECT {self.summand()} AS x FROM {self.rel.cte}) "
                    "WHERE isfinite(x)",)
        return Column(self.agg["as"], t, nullable, bool(sums) or self.arg.inexact, sums)

    def number(self):
        t = self.arg.type
        if not t.is_number:
            raise PlanError(self.path, f"{self.agg['fn']} does not take {t}")
        return t

    def approx_count_distinct(self):
        """Without keys: with keys facts decide whether it is exact."""
        if self.keys:
            raise PlanError(self.path, "the oracle knows no facts")
        hashed = self.owner.compiler(self.rel.scope()).hash(Node("hash", args=[parse(self.agg["arg"], self.path)], path=self.path)).sql
        there = f"{self.arg.sql} IS NOT NULL"
        return f"hd_estimate(list({hashed}) FILTER ({there}))", INT64

    def count(self):
        return f"count({self.unique}{self.arg.sql})", INT64

    def min(self):
        if self.arg.type.kind == "bool":
            raise PlanError(self.path, "min and max do not take bool")
        return f"{self.agg['fn']}({self.arg.sql})", self.arg.type

    max = min

    def arg_min(self):
        by = self.counted(self.owner.value(self.agg["by"], self.rel.scope(), self.path + ".by"))
        if by.err:
            self.owner.check(self.node, self.path + ".by", f"SELECT 1 FROM {self.rel.cte} WHERE {by.err}",
                             columns={self.agg["as"]}, free=by.lax)
        self.arg.nullable = True
        way = "DESC" if self.agg["fn"] == "arg_max" else "ASC"
        order = [term for key, term in ((self.agg["by"], f"{by.sql} {way}"), (self.agg["arg"], f"{self.arg.sql} ASC NULLS LAST"))
                 if self.filter or columns_of(parse(key, self.path))]  # DuckDB refuses to order by a constant
        chosen = self.arg.sql + (f" ORDER BY {', '.join(order)}" if order else "")
        return f"first({chosen}) FILTER (WHERE {by.sql} IS NOT NULL)", self.arg.type

    arg_max = arg_min

    # ---- of rows in an order

    def share(self):
        """q as a fraction."""
        if self.agg["fn"] == "median":
            return Fraction(1, 2)
        e = parse(self.agg["q"], self.path + ".q")
        return Fraction(e.value if e.op == "lit" else self.owner.params[e.name][1])

    def plain(self):
        """The argument, with 0 for -0."""
        return f"({self.arg.sql} + 0)" if self.arg.type.is_float else self.arg.sql

    def ordered_by(self, terms):
        """DuckDB refuses to order by a constant."""
        terms = terms if self.filter or columns_of(parse(self.agg["arg"], self.path)) else terms[:-1]
        return f" ORDER BY {', '.join(terms)}" if terms else ""

    def values(self, of):
        return f"list({of}{self.ordered_by([self.plain()])}) FILTER ({self.arg.sql} IS NOT NULL)"

    def quantile_cont(self):
        t, q = self.number(), self.share()
        out = decimal(MAX_DIGITS, max(6, t.s)) if t.kind == "decimal" else FLOAT64
        text = f"CAST({f'CAST({self.plain()} AS DOUBLE)' if t.is_float else self.arg.sql} AS VARCHAR)"
        scale = out.s if t.kind == "decimal" else -1
        return f"CAST(hd_between({self.values(text)}, '{q}', {scale}) AS {out.sql()})", out

    def median(self):
        """Of intervals, which have none between two of them, the discrete one."""
        return self.quantile_disc() if self.arg.type == INTERVAL else self.quantile_cont()

    def quantile_disc(self):
        q, rows = self.share(), f"count({self.arg.sql})"
        place = f"greatest(({rows} * {q.numerator} + {q.denominator - 1}) // {q.denominator}, 1)"
        return f"({self.values(self.plain())})[{place}]", self.arg.type

    def mode(self):
        """In lists: histogram takes a float for NaN where there is one."""
        counts = f"map_entries(histogram(CASE WHEN {self.arg.sql} IS NOT NULL THEN [{self.plain()}] END))"
        return f"list_sort(list_transform({counts}, lambda e: {{'n': -CAST(e.value AS BIGINT), 'k': e.key[1]}}))[1].k", self.arg.type

    def order(self):
        """Terms of "order"."""
        terms = []
        for i, key in enumerate(self.agg.get("order", [])):
            key = {"expr": {"col": key}} if isinstance(key, str) else key
            e = self.owner.value(key["expr"], self.rel.scope(), f"{self.path}.order[{i}]")
            terms.append(f"{e.sql} {'DESC' if key.get('desc') else 'ASC'} NULLS {key.get('nulls', 'last').upper()}")
        return terms

    def first(self):
        there = f" FILTER ({self.filter.sql})" if self.filter else ""
        rows = f"list({self.arg.sql} ORDER BY {', '.join(self.order() + self.owner.tie_terms(self.rel))}){there}"
        return f"({rows})[{1 if self.agg['fn'] == 'first' else -1}]", self.arg.type

    last = first

    def string_agg(self):
        if self.arg.type != STRING:
            raise PlanError(self.path, f"string_agg does not take {self.arg.type}")
        separator = literal_sql(self.agg.get("separator", ","), STRING, self.owner.encode)
        return f"string_agg({self.unique}{self.arg.sql}, {separator}{self.ordered_by(self.order() + [self.arg.sql])})", STRING

    # ---- sums

    def sum_type(self):
        t = self.number()
        return {"int32": INT64, "int64": decimal(MAX_DIGITS, 0), "float32": FLOAT64, "float64": FLOAT64}.get(t.kind) \
            or decimal(MAX_DIGITS, t.s)

    def sum(self):
        t = self.sum_type()
        if not self.is_wide():
            return f"CAST(sum({self.unique}{self.summand()}) AS {t.sql()})", t
        sql = f"CAST(hd_add({self.total()}, '0', {t.s}) AS {t.sql()})"
        self.check_fits(sql)
        return sql, t

    def summand(self):
        """Sums of either float are those of float64."""
        return f"CAST({self.arg.sql} AS DOUBLE)" if self.arg.type.is_float else self.arg.sql

    def is_wide(self):
        t = self.arg.type
        return t.kind == "decimal" and t.p > SAFE_SUM_DIGITS

    def total(self):
        """The exact sum as text, however many digits it has."""
        if self.is_wide():
            return f"hd_total(list({self.unique}CAST({self.arg.sql} AS VARCHAR)))"
        return f"CAST(CAST(sum({self.unique}{self.arg.sql}) AS {self.sum_type().sql()}) AS VARCHAR)"

    def avg(self):
        t = self.number()
        if t.is_float:
            x = self.unique + self.summand()
            return f"(sum({x}) / nullif(count({x}), 0))", FLOAT64
        out = decimal(MAX_DIGITS, max(6, t.s if t.kind == "decimal" else 0))
        count = f"CAST(count({self.unique}{self.arg.sql}) AS VARCHAR)"
        sql = f"CAST(hd_div({self.total()}, {count}, {out.s}) AS {out.sql()})"
        if t.kind == "decimal" and t.p - t.s > out.p - out.s:  # else it fits as the argument does
            self.check_fits(sql)
        return sql, out

    def check_fits(self, sql):
        """NULL of values that are not stands for what does not fit."""
        keys = "".join(f"{k} AS k{i}, " for i, k in enumerate(self.keys))
        group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(self.keys)))}" if self.keys else ""
        rows = f"SELECT {keys}{sql} AS q, count({self.arg.sql}) AS n FROM {self.rel.cte}{group}"
        self.owner.check(self.node, self.path, f"SELECT 1 FROM ({rows}) WHERE n > 0 AND q IS NULL",
                         columns={self.agg["as"]})
