"""Types an expression tree and turns it into DuckDB SQL.

Every value expression is total: where Heddle raises, it yields NULL. A second expression, `err`, says for a
row whether evaluation raises, with the guards of and, or, case, coalesce and in. So DuckDB may move value
expressions as it likes, and reachability of errors is asked of the rows an operator really receives.
"""

from hdask import has_test
from hdexpr import COMPARE, TIME_FIELDS, Node
from hdtypes import (BINARY, BOOL, DATE, FLOAT32, FLOAT64, FLOAT_EXACT_DIGITS, INT32, INT64, INTERVAL, MAX_DIGITS, NULL, STRING, TIME, TIMESTAMP,
                     PlanError, Type, add_type, as_decimal_type, decimal, unify, union_type)
from hdvalue import Conversions, Expr, any_of, fallible, guarded, is_exact, literal_sql, sql_string

INTERVAL_FIELDS = ("century", "decade", "year", "month", "day", *TIME_FIELDS)


def interval_length(sql):
    """Microseconds, with months of 30 days."""
    part = lambda name: f"CAST(extract({name} FROM {sql}) AS HUGEINT)"  # noqa: E731
    return (f"((({part('year')} * 12 + {part('month')}) * 30 + {part('day')}) * 86400000000 + {part('hour')} * 3600000000"
            f" + {part('minute')} * 60000000 + {part('microsecond')})")


class Compiler(Conversions):
    """scope: column name -> Expr; params: name -> (Type, value); encode: string -> its form in the database."""

    def __init__(self, scope, params, encode):
        self.scope, self.params, self.encode = scope, params, encode

    def compile(self, e):
        method = METHODS.get(e.op)
        if not method:
            raise PlanError(e.path, f"{e.op} cannot stand here")
        out = method(self, e)
        if e.op != "col":
            out.inexact = self.is_inexact(e)
        out.lax = bool(out.err) and has_test(e)
        return out

    def is_inexact(self, e):
        if e.op == "col":
            return self.scope[e.name].inexact
        return e.op in INEXACT or any(self.is_inexact(a) for a in e.args)

    def args(self, e):
        return [self.compile(a) for a in e.args]

    # ---- leaves

    def col(self, e):
        found = self.scope.get(e.name)
        if found is None:
            raise PlanError(e.path, f"column {e.name!r} not found; inputs are {', '.join(self.scope)}")
        return Expr(found.sql, found.type, found.nullable, None, found.inexact)

    def lit(self, e):
        if e.type == INT64 and e.value is not None and not -(1 << 63) <= e.value < 1 << 63:
            raise PlanError(e.path, f"{e.value} does not fit int64")
        return Expr(literal_sql(e.value, e.type, self.encode), e.type, e.value is None, exact=is_exact(e.type))

    def param(self, e):
        if e.name not in self.params:
            raise PlanError(e.path, f"parameter {e.name!r} is not declared")
        t, value = self.params[e.name]
        if t.kind == "list":
            raise PlanError(e.path, "a list parameter stands only right of in")
        return Expr(literal_sql(value, t, self.encode), t, True, exact=is_exact(t))

    # ---- arithmetic

    def numbers(self, e):
        a, b = self.args(e)
        a, b = self.adopt(a, b.type), self.adopt(b, a.type)
        if not (a.type.is_number and b.type.is_number):
            raise PlanError(e.path, f"{e.op} does not take {a.type} and {b.type}")
        return a, b

    def made(self, sql, t, args, may_fail):
        err = fallible(sql, args) if may_fail else None
        return Expr(sql, t, any(a.nullable for a in args), any_of(*[a.err for a in args], err))

    def arith(self, e):
        a, b = self.args(e)
        if INTERVAL in (a.type, b.type):
            return self.interval_arith(e, self.adopt(a, INT64 if e.op == "*" else INTERVAL), self.adopt(b, INT64 if e.op == "*" else INTERVAL))
        if e.op == "+" and {a.type, b.type} == {DATE, TIME}:
            sql = f"TRY({a.sql} + {b.sql})"
            return self.made(sql, TIMESTAMP, [a, b], False)
        if e.op == "date_diff" or (e.op == "-" and DATE in (a.type, b.type)):
            return self.date_difference(e, a, b)
        a, b = self.numbers(e)
        if self.meet([a, b]):
            return self.float_arith(e, a, b)
        if a.type.is_int and b.type.is_int:
            return self.int_arith(e, a, b)
        return self.decimal_arith(e, a, b)

    def interval_arith(self, e, a, b):
        if e.op == "*" and (a.type.is_int or b.type.is_int):
            n, v = (a, b) if a.type.is_int else (b, a)
            return self.made(f"({v.sql} * CAST({n.sql} AS BIGINT))", INTERVAL, [a, b], False)
        if e.op not in "+-" or (e.op == "-" and b.type != INTERVAL):
            raise PlanError(e.path, f"{e.op} does not take {a.type} and {b.type}")
        v, date = (a, b) if b.type != INTERVAL else (b, a)
        if date.type == INTERVAL:
            return self.made(f"({a.sql} {e.op} {b.sql})", INTERVAL, [a, b], False)
        if date.type == TIME:
            return self.made(f"({date.sql} {e.op} {v.sql})", TIME, [a, b], False)
        if date.type not in (DATE, TIMESTAMP):
            raise PlanError(e.path, f"{e.op} does not take {a.type} and {b.type}")
        sql = f"TRY(CAST({date.sql} AS TIMESTAMP) {e.op} {v.sql})"
        return self.made(f"CASE WHEN year({sql}) BETWEEN 1 AND 9999 THEN {sql} END", TIMESTAMP, [a, b], True)

    def float_arith(self, e, a, b):
        t = self.meet([a, b])
        x, y = self.to_float_type(a, t), self.to_float_type(b, t)
        if e.op == "%":
            raise PlanError(e.path, "% takes integers")
        if e.op == "/":
            return self.made(f"CAST({x} / nullif({y}, 0) AS {t.sql()})", t, [a, b], True)
        return self.made(f"CAST({x} {e.op} {y} AS {t.sql()})", t, [a, b], False)

    def int_arith(self, e, a, b):
        if e.op == "%":
            # HUGEINT: the remainder of the smallest int64 by -1 is 0, where DuckDB's BIGINT raises
            sql = f"CAST(TRY(CAST({a.sql} AS HUGEINT) % CAST({b.sql} AS HUGEINT)) AS BIGINT)"
        else:
            sql = f"TRY(CAST({a.sql} AS BIGINT) {'//' if e.op == '/' else e.op} CAST({b.sql} AS BIGINT))"
        return self.made(sql, INT64, [a, b], True)

    def decimal_arith(self, e, a, b):
        ta, tb = as_decimal_type(a.type), as_decimal_type(b.type)
        # 19 digits at least: on two shorter operands DuckDB computes in 18 digits, and raises beyond
        x, y = f"CAST({a.sql} AS {decimal(max(19, ta.p), ta.s).sql()})", f"CAST({b.sql} AS {tb.sql()})"
        if e.op == "*":
            return self.decimal_product(e, a, b, ta, tb, f"{x} * {y}")
        if e.op in ("+", "-"):
            t, full = add_type(ta, tb)
            if full <= MAX_DIGITS:
                return self.made(f"CAST({x} {e.op} {y} AS {t.sql()})", t, [a, b], False)
            fn = "hd_add" if e.op == "+" else "hd_sub"
            return self.made(self.by_text(fn, x, y, t), t, [a, b], True)
        if e.op == "/":
            t = decimal(MAX_DIGITS, max(6, ta.s))
            return self.made(self.by_text("hd_div", x, y, t), t, [a, b], True)
        raise PlanError(e.path, "% takes integers")

    def decimal_product(self, e, a, b, ta, tb, sql):
        s = ta.s + tb.s
        if s > MAX_DIGITS:
            raise PlanError(e.path, f"product has scale {s}, more than {MAX_DIGITS}")
        t = decimal(min(MAX_DIGITS, ta.p + tb.p), s)
        may_fail = ta.p + tb.p > MAX_DIGITS
        return self.made(f"CAST({f'TRY({sql})' if may_fail else sql} AS {t.sql()})", t, [a, b], may_fail)

    def by_text(self, fn, x, y, t):
        return f"CAST({fn}(CAST({x} AS VARCHAR), CAST({y} AS VARCHAR), {t.s}) AS {t.sql()})"

    def negate(self, e):
        a = self.compile(e.args[0])
        if a.type == INTERVAL:
            return self.made(f"(-({a.sql}))", INTERVAL, [a], False)
        if not a.type.is_number:
            raise PlanError(e.path, f"- does not take {a.type}")
        if a.type.is_int:
            out = self.made(f"TRY(CAST(0 AS BIGINT) - CAST({a.sql} AS BIGINT))", INT64, [a], True)
        else:
            out = self.made(f"CAST(-({a.sql}) AS {a.type.sql()})", a.type, [a], False)
        out.exact = a.exact
        return out

    def number(self, e):
        """The one argument of a function of numbers."""
        a = self.adopt(self.compile(e.args[0]), INT64)
        if not a.type.is_number:
            raise PlanError(e.path, f"{e.op} does not take {a.type}")
        return a

    def magnitude(self, e):
        a = self.number(e)
        if a.type.is_int:
            return self.made(f"TRY(abs(CAST({a.sql} AS BIGINT)))", INT64, [a], True)
        return self.made(f"CAST(abs({a.sql}) AS {a.type.sql()})", a.type, [a], False)

    def rounding(self, e):
        """Digits behind the point alone: what stands before it is rounded in tests/expr."""
        if len(e.args) > 1 and e.args[1].op == "param":
            return self.rounded_later(e)
        a, digits = self.number(e), e.args[1].value if len(e.args) > 1 else 0
        if not isinstance(digits, int) or digits < 0 or (digits and a.type.is_float):
            raise PlanError(e.path, f"no translation of {e.op} to these digits")
        if a.type.is_float:
            return self.made(f"CAST({e.op}({a.sql}) AS {a.type.sql()})", a.type, [a], False)
        if a.type.is_int or digits >= a.type.s:
            return a
        t = decimal(min(MAX_DIGITS, a.type.p - a.type.s + digits + 1), digits)
        place = f", {digits}" if e.op == "round" else ""
        return self.made(f"CAST({e.op}({a.sql}{place}) AS {t.sql()})", t, [a], False)

    def bits(self, e):
        """Shifts are products and quotients: DuckDB's raise for negative numbers, or give 0 where Heddle raises."""
        args = [self.adopt(a, INT64) for a in self.args(e)]
        if not all(a.type.is_int for a in args):
            raise PlanError(e.path, f"{e.op} takes integers")
        a, n = f"CAST({args[0].sql} AS BIGINT)", f"CAST({args[-1].sql} AS BIGINT)"
        if e.op == "bit_count":
            return self.made(f"CAST(bit_count({args[0].sql}) AS INTEGER)", INT32, args, False)
        if e.op in ("~", "xor"):
            return self.made(f"(~{a})" if e.op == "~" else f"xor({a}, {n})", INT64, args, False)
        if e.op in ("&", "|"):
            return self.made(f"({a} {e.op} {n})", INT64, args, False)
        by = f"CAST(least({n}, 63) AS INTEGER)"
        if e.op == ">>":
            return self.made(f"(CASE WHEN {n} >= 0 THEN {a} >> {by} END)", INT64, args, True)
        product = f"TRY_CAST(CAST({a} AS HUGEINT) * (CAST(1 AS HUGEINT) << {by}) AS BIGINT)"
        return self.made(f"(CASE WHEN {n} >= 0 AND ({n} < 64 OR {a} = 0) THEN {product} END)", INT64, args, True)

    def rounded_later(self, e):
        """Digits that a parameter says leave a decimal its type, but for the carry."""
        a, digits = self.number(e), self.params[e.args[1].name][1]
        if a.type.kind != "decimal" or digits is None or digits < 0:
            raise PlanError(e.path, f"no translation of {e.op} to these digits")
        t = decimal(min(MAX_DIGITS, a.type.p + 1), a.type.s)
        return self.made(f"CAST(round({a.sql}, {min(digits, a.type.s)}) AS {t.sql()})", t, [a], False)

    def sign(self, e):
        a = self.number(e)
        sql = f"(CASE WHEN {a.sql} > 0 THEN 1 WHEN {a.sql} < 0 THEN -1 WHEN {a.sql} = 0 THEN 0 END)"
        return self.made(f"CAST({sql} AS INTEGER)", INT32, [a], False)

    def width_bucket(self, e):
        """Of integers and decimals, in units of their last digit."""
        x, (low, high, n) = self.number(e), (-a.args[0].value if a.op == "neg" else a.value for a in e.args[1:])
        if x.type.is_float or (x.type.kind == "decimal" and x.type.p > FLOAT_EXACT_DIGITS):
            raise PlanError(e.path, f"no translation of {e.op} of {x.type}")
        s = x.type.s if x.type.kind == "decimal" else 0
        low, high = int(low * 10 ** s), int(high * 10 ** s)
        if low >= high or n < 1:
            raise PlanError(e.path, "bad buckets")
        units = f"CAST(CAST({x.sql} AS DECIMAL(38,{s})) * {10 ** s} AS HUGEINT)" if s else f"CAST({x.sql} AS HUGEINT)"
        inside = f"least({n}, 1 + ({units} - {low}) * {n} // {high - low})"
        sql = f"(CASE WHEN {units} < {low} THEN 0 WHEN {units} >= {high} THEN {n + 1} WHEN {units} >= {low} THEN {inside} END)"
        return self.made(f"CAST({sql} AS INTEGER)", INT32, [x], False)

    def float_function(self, e):
        """x of the templates is a float64; where they hold the function raises."""
        a = self.args(e)
        a = [self.adopt(x, FLOAT64) for x in a]
        if not all(x.type.is_number for x in a):
            raise PlanError(e.path, f"{e.op} does not take {', '.join(str(x.type) for x in a)}")
        sql, fails = FLOAT_FUNCTIONS[e.op]
        names = dict(zip("yx" if e.op == "atan2" else "xy", [self.to_float(x) for x in a]))
        value = f"CASE WHEN {fails.format(**names)} THEN NULL ELSE {sql.format(**names)} END"
        t = self.meet(a) or FLOAT64
        if e.op in ("degrees", "radians") and t == FLOAT32:
            raise PlanError(e.path, f"no translation of {e.op} of {t}")
        return self.made(f"CAST({value} AS {t.sql()})", t, a, True)

    # ---- dates

    def date_difference(self, e, a, b):
        a, b = self.adopt(a, DATE), self.adopt(b, DATE)
        if a.type != DATE or b.type != DATE:
            raise PlanError(e.path, f"- does not take {a.type} and {b.type}")
        return self.made(f"CAST({a.sql} - {b.sql} AS BIGINT)", INT64, [a, b], False)

    def add_interval(self, e):
        a, n = self.args(e)
        a, n = self.adopt(a, DATE), self.adopt(n, INT64)
        if e.op == "add_micros" and a.type == TIME and n.type.is_int:
            return self.made(f"({a.sql} + to_microseconds(CAST({n.sql} AS BIGINT)))", TIME, [a, n], False)
        if a.type == INTERVAL and n.type.is_int:
            unit = {"add_days": "to_days(CAST({} AS INTEGER))", "add_months": "to_months(CAST({} AS INTEGER))", "add_micros": "to_microseconds(CAST({} AS BIGINT))"}[e.op]
            return self.made(f"({a.sql} + {unit.format(n.sql)})", INTERVAL, [a, n], False)
        if a.type not in (DATE, TIMESTAMP) or not n.type.is_int:
            raise PlanError(e.path, f"{e.op} does not take {a.type} and {n.type}")
        t = TIMESTAMP if e.op == "add_micros" else a.type
        if t == TIMESTAMP:
            a = Expr(f"CAST({a.sql} AS TIMESTAMP)", t, a.nullable, a.err)
        unit, whole = {"add_days": ("to_days", "INTEGER"), "add_months": ("to_months", "INTEGER"),
                       "add_micros": ("to_microseconds", "BIGINT")}[e.op]
        sql = f"TRY(CAST({a.sql} + {unit}(CAST({n.sql} AS {whole})) AS {t.sql()}))"
        if t == TIMESTAMP:
            sql = f"CASE WHEN year({sql}) BETWEEN 1 AND 9999 THEN {sql} END"
        return self.made(sql, t, [a, n], True)

    def units_between(self, e):
        a, b = (self.on_first_day(self.adopt(v, DATE)) for v in self.args(e))
        if not {a.type, b.type} <= {DATE, TIMESTAMP}:
            raise PlanError(e.path, f"date_diff does not take {a.type} and {b.type}")
        return self.made(f"({self.unit_number(e.name, b)} - {self.unit_number(e.name, a)})", INT64, [a, b], False)

    def on_first_day(self, a):
        """A time as the timestamp that has its fields."""
        return self.made(f"(DATE '1970-01-01' + {a.sql})", TIMESTAMP, [a], False) if a.type == TIME else a

    def unit_number(self, unit, v):
        """DuckDB's own date_diff rounds weeks and times towards 1970."""
        micros = f"epoch_us(CAST({v.sql} AS TIMESTAMP))"
        size = {"century": 1200, "decade": 120, "year": 12, "quarter": 3, "month": 1}.get(unit)
        if size:
            shift = 12 if unit == "century" else 0
            return f"((year({v.sql}) * 12 + month({v.sql}) - 1 - {shift}) // {size})"
        size = {"week": 604800000000, "day": 86400000000, "hour": 3600000000, "minute": 60000000, "second": 1000000,
                "millisecond": 1000, "microsecond": 1}[unit]
        shift = 259200000000 if unit == "week" else 0  # 1970-01-01 was a Thursday
        v = f"({micros} + {shift})"
        return f"({v} // {size} - CASE WHEN {v} % {size} < 0 THEN 1 ELSE 0 END)"

    def make_date(self, e):
        args = [self.adopt(v, INT64) for v in self.args(e)]
        if not all(v.type.is_int for v in args):
            raise PlanError(e.path, "make_date takes integers")
        y, m, d = (v.sql for v in args)
        return self.made(f"CASE WHEN {y} BETWEEN 1 AND 9999 THEN TRY(make_date({y}, {m}, {d})) END", DATE, args, True)

    def strftime(self, e):
        a = self.adopt(self.compile(e.args[0]), TIMESTAMP)
        if a.type not in (DATE, TIMESTAMP) or e.args[1].op != "lit" or "%e" in (e.args[1].value or ""):
            raise PlanError(e.path, f"no translation of strftime of {a.type}")
        f = self.adopt(self.compile(e.args[1]), STRING)
        return self.made(f"strftime({a.sql}, {f.sql})", STRING, [a, f], False)

    def extract(self, e):
        a = self.adopt(self.compile(e.args[0]), DATE)
        if a.type == INTERVAL and e.op == "extract" and e.name in INTERVAL_FIELDS:
            return self.made(f"CAST(extract({e.name} FROM {a.sql}) AS BIGINT)", INT64, [a], False)
        if a.type == TIME and e.op != "date_trunc" and e.name in (*TIME_FIELDS, "epoch"):
            a = self.on_first_day(a)
        if a.type not in (DATE, TIMESTAMP):
            raise PlanError(e.path, f"{e.op} does not take {a.type}")
        if a.type == DATE and e.name in TIME_FIELDS:
            raise PlanError(e.path, f"a date has no {e.name}")
        if e.op == "date_trunc" and e.name == "century":  # DuckDB's begin with the years 1900 and 2000
            first = f"CAST((year({a.sql}) - 1) // 100 * 100 + 1 AS INTEGER)"
            return self.made(f"CAST(make_date({first}, 1, 1) AS {a.type.sql()})", a.type, [a], False)
        if e.op == "date_trunc":
            return self.made(f"CAST(date_trunc('{e.name}', {a.sql}) AS {a.type.sql()})", a.type, [a], False)
        value = f"floor(epoch_us({a.sql}) / 1000000.0)" if e.name == "epoch" else f"extract({e.name} FROM {a.sql})"
        return self.made(f"CAST({value} AS BIGINT)", INT64, [a], False)

    def last_day(self, e):
        a = self.adopt(self.compile(e.args[0]), DATE)
        if a.type != DATE:
            raise PlanError(e.path, f"last_day does not take {a.type}")
        return self.made(f"last_day({a.sql})", DATE, [a], False)

    # ---- predicates

    def compare(self, e):
        a, b = self.args(e)
        return self.compare_values(e.op, a, b, e.path)

    def compare_values(self, op, a, b, path):
        x, y = self.common(self.adopt(a, b.type), self.adopt(b, a.type), path)
        err = any_of(a.err, b.err)
        if x is None:
            sql = f"(hd_cmp(CAST({a.sql} AS VARCHAR), CAST({b.sql} AS VARCHAR)) {op} 0)"
        else:
            sql = f"({x} {op} {y})"
        return Expr(sql, BOOL, a.nullable or b.nullable, err)

    def not_distinct(self, e):
        a, b = self.args(e)
        if NULL in (a.type, b.type):
            a, b = (b, a) if a.type == NULL else (a, b)
            return Expr(f"({a.sql} IS NULL)", BOOL, False, a.err)
        equal = self.compare_values("=", a, b, e.path)
        return Expr(f"coalesce({equal.sql}, {a.sql} IS NULL AND {b.sql} IS NULL)", BOOL, False, equal.err)

    def nullif(self, e):
        a, b = self.args(e)
        equal, a = self.compare_values("=", a, b, e.path), self.adopt(a, b.type)
        return Expr(f"(CASE WHEN {equal.sql} THEN NULL ELSE {a.sql} END)", a.type, True, equal.err)

    def common(self, a, b, path):
        """Both sides in one SQL type; (None, None) if no DECIMAL holds both exactly."""
        if a.type == b.type:
            return a.sql, b.sql
        if a.type.is_number and b.type.is_number:
            return self.common_number(a, b)
        if {a.type, b.type} == {DATE, TIMESTAMP}:
            return f"CAST({a.sql} AS TIMESTAMP)", f"CAST({b.sql} AS TIMESTAMP)"
        raise PlanError(path, f"cannot compare {a.type} with {b.type}")

    def common_number(self, a, b):
        t = self.meet([a, b])
        if t:
            return self.to_float_type(a, t), self.to_float_type(b, t)
        if a.type.is_int and b.type.is_int:
            return f"CAST({a.sql} AS BIGINT)", f"CAST({b.sql} AS BIGINT)"
        t, full = union_type(a.type, b.type)
        if full > MAX_DIGITS:
            return None, None
        return f"CAST({a.sql} AS {t.sql()})", f"CAST({b.sql} AS {t.sql()})"

    def need_bool(self, a, path):
        a = self.adopt(a, BOOL)
        if a.type != BOOL:
            raise PlanError(path, f"expected bool, found {a.type}")
        return a

    def logic(self, e):
        """A later argument is evaluated unless an earlier one decides (FALSE for and, TRUE for or)."""
        args = [self.need_bool(a, e.path) for a in self.args(e)]
        decides = "FALSE" if e.op == "and" else "TRUE"
        err, reached = [args[0].err], []
        for before, a in zip(args, args[1:]):
            reached.append(f"{before.sql} IS DISTINCT FROM {decides}")
            err.append(guarded(" AND ".join(reached), a.err))
        sql = "(" + f" {e.op.upper()} ".join(a.sql for a in args) + ")"
        return Expr(sql, BOOL, any(a.nullable for a in args), any_of(*err))

    def logical_not(self, e):
        a = self.need_bool(self.compile(e.args[0]), e.path)
        return Expr(f"(NOT {a.sql})", BOOL, a.nullable, a.err)

    def is_null(self, e):
        a = self.compile(e.args[0])
        return Expr(f"({a.sql} IS NULL)", BOOL, False, a.err)

    def in_list(self, e):
        x = self.compile(e.args[0])
        items = self.list_items(e.args[1:])
        if not items:
            return Expr("FALSE", BOOL, False, x.err)
        if x.type == FLOAT32 and self.meet([x, *items]) == FLOAT64:  # all items meet
            x = Expr(self.to_float(x), FLOAT64, x.nullable, x.err, x.inexact)
        tests = [self.compare_values("=", x, i, e.path) for i in items]
        err, reached = [x.err], []
        for item, test in zip(items, tests):
            err.append(guarded(" AND ".join(["TRUE"] + reached), item.err))
            reached.append(f"{test.sql} IS DISTINCT FROM TRUE")
        sql = "(" + " OR ".join(t.sql for t in tests) + ")"
        return Expr(sql, BOOL, any(t.nullable for t in tests), any_of(*err))

    def list_items(self, nodes):
        if len(nodes) == 1 and nodes[0].op == "param" and self.params.get(nodes[0].name, (NULL,))[0].kind == "list":
            t, values = self.params[nodes[0].name]
            return [self.lit(Node("lit", value=v, type=t.element)) for v in values]
        return [self.compile(n) for n in nodes]

    def like(self, e):
        a = self.adopt(self.compile(e.args[0]), STRING)
        pattern = e.args[1]
        if a.type != STRING or pattern.op not in ("lit", "param"):
            raise PlanError(e.path, f"{e.op} takes a string and a constant pattern")
        b = self.adopt(self.compile(pattern), STRING)
        escape = f" ESCAPE {sql_string(self.encode(e.escape))}" if e.escape else ""
        if e.op == "ilike":  # its folding is that of lower, the escape character has no case
            return Expr(f"(hd_lower({a.sql}) LIKE hd_lower({b.sql}){escape})", BOOL, a.nullable or b.nullable, a.err)
        return Expr(f"({a.sql} LIKE {b.sql}{escape})", BOOL, a.nullable or b.nullable, a.err)

    # ---- choices

    def case(self, e):
        pairs = list(zip(e.args[0:-1:2], e.args[1::2]))
        values = [self.compile(v) for _, v in pairs]
        values.append(self.compile(e.args[-1]) if len(e.args) % 2 else Expr("NULL", NULL))
        t = self.branch_type(values, e.path)
        values = [self.coerce(v, t, e.path) for v in values]
        err, reached, parts = [], ["TRUE"], []
        for (c, _), v in zip(pairs, values):
            c = self.need_bool(self.compile(c), e.path)
            err += [guarded(" AND ".join(reached), c.err), guarded(" AND ".join(reached + [f"{c.sql} IS TRUE"]), v.err)]
            reached.append(f"{c.sql} IS NOT TRUE")
            parts.append(f"WHEN {c.sql} THEN {v.sql}")
        err.append(guarded(" AND ".join(reached), values[-1].err))
        sql = f"(CASE {' '.join(parts)} ELSE {values[-1].sql} END)"
        return Expr(sql, t, any(v.nullable for v in values), any_of(*err))

    def branch_type(self, values, path):
        if self.meet(values):
            return self.meet(values)
        t = NULL
        for v in values:
            t = unify(t, v.type, path)
        return t

    def coalesce(self, e):
        values = self.args(e)
        t = self.branch_type(values, e.path)
        values = [self.coerce(v, t, e.path) for v in values]
        err, reached = [], ["TRUE"]
        for v in values:
            err.append(guarded(" AND ".join(reached), v.err))
            reached.append(f"{v.sql} IS NULL")
        sql = f"coalesce({', '.join(v.sql for v in values)})"
        return Expr(sql, t, all(v.nullable for v in values), any_of(*err))

    def extreme(self, e):
        values = self.args(e)
        t = self.branch_type(values, e.path)
        values = [self.coerce(v, t, e.path) for v in values]
        sql = f"{e.op}({', '.join(v.sql for v in values)})"
        return Expr(sql, t, all(v.nullable for v in values), any_of(*[v.err for v in values]))

    # ---- strings

    def substring(self, e):
        args = self.args(e)
        s, ints = self.adopt(args[0], STRING), [self.adopt(a, INT64) for a in args[1:]]
        if s.type != STRING or not all(i.type.is_int for i in ints):
            raise PlanError(e.path, "substring takes a string and integers")
        if all(n.op == "lit" and n.value is not None and 1 <= n.value < 1 << 30 for n in e.args[1:]):
            return self.made(f"substring({', '.join(a.sql for a in [s] + ints)})", STRING, [s], False)
        sql = f"hd_substr({s.sql}, {ints[0].sql}, {ints[1].sql})" if len(ints) == 2 else f"hd_tail({s.sql}, {ints[0].sql})"
        return self.made(sql, STRING, [s] + ints, len(ints) == 2)

    def text_function(self, e):
        form, result = TEXT_FUNCTIONS[e.op]
        args = self.args(e)
        if e.op == "hex" or (e.op in BINARY_FUNCTIONS and any(a.type == BINARY for a in args)):
            return self.made(BINARY_FUNCTIONS[e.op].format(*[a.sql for a in args]), BINARY if e.op == "||" else result, args, False)
        args = [self.adopt(a, STRING if letter == "s" else INT64) for a, letter in zip(args, form)]
        if not all(a.type == STRING if letter == "s" else a.type.is_int for a, letter in zip(args, form)):
            raise PlanError(e.path, f"{e.op} takes strings and integers")
        missing = ["' '"] * (len(form) - len(args))
        name = "concat" if e.op == "||" else e.op
        return self.made(f"hd_{name}({', '.join([a.sql for a in args] + missing)})", result, args, e.op in MAKERS)

    def hash(self, e):
        """Of texts: a number's digits behind the point, or the kind of what is none."""
        args = self.args(e)
        texts, kinds = [], []
        for a in args:
            t = a.type
            if t == NULL:
                raise PlanError(e.path, "a hash of no type")
            kinds.append("float" if t.is_float else str(t.s) if t.kind == "decimal" else t.kind if t.kind in ("string", "binary", "date", "timestamp") else "0")
            sql = f"CAST({a.sql} AS DOUBLE)" if t.is_float else f"CAST({a.sql} AS INTEGER)" if t == BOOL else \
                f"date_diff('microsecond', TIME '00:00:00', {a.sql})" if t == TIME else interval_length(a.sql) if t == INTERVAL else a.sql
            texts.append(sql if t == STRING else f"hex({sql})" if t.kind == "binary" else f"CAST({sql} AS VARCHAR)")
        out = self.made(f"hd_hash([{', '.join(texts)}], '{','.join(kinds)}')", INT64, args, False)
        return Expr(out.sql, INT64, False, out.err)

    # ---- cast

    def cast(self, e):
        a, t = self.compile(e.args[0]), e.type
        if a.type in (NULL, t):
            return self.adopt(a, t)
        if t == STRING:
            return self.made(self.text_of(a), STRING, [a], False)
        if a.type == STRING:
            out = self.made(f"CAST(hd_parse({a.sql}, '{t}') AS {t.sql()})", t, [a], True)
            out.exact = e.args[0].op == "lit" and is_exact(t)
            return out
        if a.type.is_number and t.is_number:
            out = self.cast_number(a, t)
            out.exact = a.exact and is_exact(t)
            return out
        if a.type == BOOL and t.is_number:
            return self.made(f"TRY_CAST(CAST({a.sql} AS INTEGER) AS {t.sql()})", t, [a], t.kind == "decimal" and t.p == t.s)
        if a.type.is_number and t == BOOL:
            return self.made(f"({a.sql} <> 0)", BOOL, [a], False)
        if a.type == TIME and t == TIMESTAMP:
            return self.on_first_day(a)
        if {a.type, t} == {DATE, TIMESTAMP} or (a.type == TIMESTAMP and t == TIME):
            return self.made(f"CAST({a.sql} AS {t.sql()})", t, [a], False)
        raise PlanError(e.path, f"cannot cast {a.type} to {t}")

    def try_cast(self, e):
        """NULL where the cast fails; what its argument raises it still does."""
        out = self.cast(e)
        a = self.compile(e.args[0])
        return Expr(out.sql, out.type, True, a.err)

    def cast_number(self, a, t):
        if t == FLOAT32 and a.type == FLOAT64:
            return self.made(f"TRY_CAST({a.sql} AS FLOAT)", t, [a], True)
        if t.is_float:
            return self.made(self.to_float_type(a, t), t, [a], False)
        if a.type.is_float:
            return self.made(f"TRY_CAST(hd_f2d({self.to_float(a)}, {t.s}) AS {t.sql()})", t, [a], True)
        if t.kind == "decimal":
            return self.to_decimal(a, t)
        safe = a.type == INT32 or (a.type.kind == "decimal" and a.type.p - a.type.s < (9 if t == INT32 else 18))
        return self.made(f"TRY_CAST({a.sql} AS {t.sql()})", t, [a], not safe)

    def text_of(self, a):
        if a.type == FLOAT64:
            return f"hd_ftext({a.sql})"
        if a.type == FLOAT32:
            return f"hd_f32text({a.sql})"
        if a.type.kind == "decimal" and a.type.p == a.type.s:
            return f"hd_dtext(CAST({a.sql} AS VARCHAR))"
        if a.type in (TIME, TIMESTAMP):
            return f"hd_tstext(CAST({a.sql} AS VARCHAR))"
        return f"CAST({a.sql} AS VARCHAR)"


# SQL of the value, and of where it raises. Engines differ in the last bits of those in INEXACT.
FLOAT_FUNCTIONS = {"sqrt": ("sqrt({x})", "{x} < 0"),
                   "exp": ("exp({x})", "{x} > 709.782712893384 AND {x} < CAST('inf' AS DOUBLE)"),
                   "ln": ("ln({x})", "{x} <= 0"), "log10": ("log10({x})", "{x} <= 0"), "cbrt": ("cbrt({x})", "FALSE"),
                   "sin": ("sin({x})", "FALSE"), "cos": ("cos({x})", "FALSE"), "tan": ("tan({x})", "FALSE"),
                   "asin": ("asin({x})", "abs({x}) > 1 AND NOT isnan({x})"),
                   "acos": ("acos({x})", "abs({x}) > 1 AND NOT isnan({x})"),
                   "atan": ("atan({x})", "FALSE"), "atan2": ("atan2({y}, {x})", "FALSE"),
                   "power": ("pow({x}, {y})", "({x} = 0 AND {y} < 0) OR ({x} < 0 AND {y} <> floor({y}) AND NOT isnan({y})) OR"
                             " (isinf(pow({x}, {y})) AND NOT isinf({x}) AND NOT isinf({y}))"),
                   "degrees": ("({x} * 57.29577951308232::DOUBLE)", "FALSE"),
                   "radians": ("({x} * 0.017453292519943295::DOUBLE)", "FALSE")}
INEXACT = set(FLOAT_FUNCTIONS) - {"sqrt", "degrees", "radians"}

# Arguments (s: string, w: integer) and result of functions of strings.
TEXT_FUNCTIONS = {"||": ("ss", STRING), "hex": ("s", STRING), "chr": ("w", STRING), "upper": ("s", STRING), "lower": ("s", STRING), "reverse": ("s", STRING), "repeat": ("sw", STRING),
                  "replace": ("sss", STRING), "translate": ("sss", STRING), "lpad": ("sws", STRING), "rpad": ("sws", STRING),
                  "length": ("s", INT64), "octet_length": ("s", INT64), "ascii": ("s", INT64), "strpos": ("ss", INT64), "starts_with": ("ss", BOOL),
                  "ends_with": ("ss", BOOL), "contains": ("ss", BOOL), "left": ("sw", STRING), "right": ("sw", STRING), "trim": ("ss", STRING),
                  "ltrim": ("ss", STRING), "rtrim": ("ss", STRING), "split_part": ("ssw", STRING)}

# The same of binary.
BINARY_FUNCTIONS = {"||": "({0} || {1})", "octet_length": "octet_length({0})", "hex": "hex({0})"}

MAKERS = {"chr", "||", "repeat", "replace", "translate", "lpad", "rpad"}  # NULL: the result is too long

METHODS = {**{op: Compiler.bits for op in ("&", "|", "~", "<<", ">>", "xor", "bit_count")}, **{op: Compiler.rounding for op in ("floor", "ceil", "trunc", "round")}, "least": Compiler.extreme, "greatest": Compiler.extreme, "abs": Compiler.magnitude, "sign": Compiler.sign, "width_bucket": Compiler.width_bucket, "col": Compiler.col, "lit": Compiler.lit, "param": Compiler.param, "neg": Compiler.negate,
           "not": Compiler.logical_not, "and": Compiler.logic, "or": Compiler.logic, "is_null": Compiler.is_null,
           "in": Compiler.in_list, "like": Compiler.like, "ilike": Compiler.like, "substring": Compiler.substring,
           "extract": Compiler.extract, "date_trunc": Compiler.extract, "last_day": Compiler.last_day, "add_days": Compiler.add_interval, "add_months": Compiler.add_interval, "add_micros": Compiler.add_interval, "units_between": Compiler.units_between,
           "hash": Compiler.hash, "make_date": Compiler.make_date, "strftime": Compiler.strftime,
           "case": Compiler.case, "iif": Compiler.case, "nullif": Compiler.nullif, "is_not_distinct_from": Compiler.not_distinct, "coalesce": Compiler.coalesce, "cast": Compiler.cast, "try_cast": Compiler.try_cast,
           **{op: Compiler.float_function for op in FLOAT_FUNCTIONS}, **{op: Compiler.text_function for op in TEXT_FUNCTIONS},
           "date_diff": Compiler.arith, **{op: Compiler.arith for op in "+-*/%"},
           **{op: Compiler.compare for op in COMPARE}}
