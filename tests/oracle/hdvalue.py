"""A value as DuckDB SQL, and the same value in another type."""

from dataclasses import dataclass

from hdtypes import FLOAT32, FLOAT64, FLOAT_EXACT_DIGITS, NULL, Type, as_decimal_type


@dataclass
class Expr:
    sql: str
    type: Type
    nullable: bool = True
    err: str = None  # a boolean that is never NULL, or None if the expression cannot raise
    lax: bool = False  # an error is under `is null`, which may be decided without the value
    exact: bool = False  # an int or decimal that the plan writes: beside a float32 it becomes one
    inexact: bool = False  # depends on a float64 sum or average, whose last bits are free


def any_of(*errs):
    errs = [e for e in errs if e]
    return "(" + " OR ".join(errs) + ")" if errs else None


def guarded(condition, err):
    return f"({condition} AND {err})" if err else None


def sql_string(text):
    return "'" + text.replace("'", "''") + "'"


def is_exact(t):
    return t.is_int or t.kind == "decimal"


def literal_sql(value, t, encode):
    if value is None:
        return f"CAST(NULL AS {t.sql()})"
    if t.kind == "bool":
        return "TRUE" if value else "FALSE"
    if t.kind == "string":
        return sql_string(encode(value))
    if t.kind == "binary":
        return f"unhex('{value.hex()}')"
    if t.is_float:
        return f"CAST('{value!r}' AS {t.sql()})"
    text = format(value, "f") if t.kind == "decimal" else str(value)
    return f"CAST('{text}' AS {t.sql()})"


def fallible(sql, args):
    """The error test of an operator whose SQL is NULL exactly if an argument is NULL or it raises."""
    known = "".join(f" AND {a.sql} IS NOT NULL" for a in args)
    return f"({sql} IS NULL{known})"


class Conversions:
    """Of values, whatever computes them."""

    def adopt(self, a, t):
        """An untyped null takes the type of its neighbour."""
        return Expr(f"CAST(NULL AS {t.sql()})", t) if a.type == NULL and t != NULL else a

    def to_float(self, a):
        if a.type == FLOAT64:
            return a.sql
        if a.type.kind == "decimal" and a.type.p > FLOAT_EXACT_DIGITS:
            return f"hd_d2f(CAST({a.sql} AS VARCHAR))"
        return f"CAST({a.sql} AS DOUBLE)"

    def to_float32(self, a):
        """By the text of an exact number, so that it is rounded once."""
        return f"CAST(CAST({a.sql} AS VARCHAR) AS FLOAT)" if is_exact(a.type) else f"CAST({a.sql} AS FLOAT)"

    def to_float_type(self, a, t):
        return self.to_float32(a) if t == FLOAT32 else self.to_float(a)

    def meet(self, args):
        """The type of floats that meet, other numbers among them; None without a float."""
        if not any(a.type.is_float for a in args):
            return None
        narrow = all(a.type in (FLOAT32, NULL) or a.exact for a in args)
        return FLOAT32 if narrow and any(a.type == FLOAT32 for a in args) else FLOAT64

    def coerce(self, a, t, path):
        """Implicit conversion to a unified type."""
        if a.type == t or a.type == NULL:
            return self.adopt(a, t)
        if t.is_float:
            return Expr(self.to_float_type(a, t), t, a.nullable, a.err)
        if t.kind == "decimal":
            return self.to_decimal(a, t)
        return Expr(f"CAST({a.sql} AS {t.sql()})", t, a.nullable, a.err)

    def to_decimal(self, a, t):
        source = as_decimal_type(a.type)
        sql = f"TRY_CAST({a.sql} AS {t.sql()})"
        # one more whole digit where rounding may carry: 9.99 to one fraction digit is 10.0
        whole = source.p - source.s + (1 if source.s > t.s else 0)
        err = fallible(sql, [a]) if whole > t.p - t.s else None
        return Expr(sql, t, a.nullable, any_of(a.err, err))
