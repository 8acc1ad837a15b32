"""Exact arithmetic that DuckDB's own functions do not give, as scalar functions over text.

Values cross as VARCHAR: it holds every decimal exactly, and one signature serves all scales.
A function returns NULL where the operation raises; the caller turns NULL-from-non-NULL into an error.
"""

import math
from decimal import Decimal
from fractions import Fraction

import pyarrow

from hdhash import estimated, hash_texts
from hdmoments import moment, moment_error
from hdparams import from_bytes_form, to_bytes_form
from hdtypes import CTX, FLOAT32, FLOAT64, INT32, INT64, decimal_fits, nearest, parse_type, parse_value, round_half_away


def fixed(v, scale):
    q = round_half_away(v, scale)
    return format(q, "f") if decimal_fits(q, 38, scale) else None


def divide(a, b, scale):
    """Rounded once, half away from zero: through integers, so no context precision is involved."""
    if a is None or b is None:
        return None
    x, y = Decimal(a), Decimal(b)
    if y == 0:
        return None
    xs, ys = max(0, -x.as_tuple().exponent), max(0, -y.as_tuple().exponent)
    num = abs(int(x.scaleb(xs, CTX))) * 10 ** (scale + ys)
    den = abs(int(y.scaleb(ys, CTX))) * 10 ** xs
    q = (2 * num + den) // (2 * den)
    if q >= 10 ** 38:
        return None
    sign = "-" if (x < 0) != (y < 0) and q else ""
    text = str(q).rjust(scale + 1, "0")
    return sign + (text[:-scale] + "." + text[-scale:] if scale else text)


def add(a, b, scale):
    if a is None or b is None:
        return None
    return fixed(CTX.add(Decimal(a), Decimal(b)), scale)


def total(values):
    """The exact sum of decimals; NULL if there are none."""
    values = [Decimal(v) for v in values or [] if v is not None]
    if not values:
        return None
    whole = Decimal(0)
    for v in values:
        whole = CTX.add(whole, v)
    return format(whole, "f")


def subtract(a, b, scale):
    if a is None or b is None:
        return None
    return fixed(CTX.subtract(Decimal(a), Decimal(b)), scale)


def compare(a, b):
    if a is None or b is None:
        return None
    return int(CTX.compare(Decimal(a), Decimal(b)))


def float_to_decimal(x, scale):
    """The exact binary value rounded to `scale` digits."""
    if x is None or not math.isfinite(x):
        return None
    return fixed_any(Decimal(x), scale)


def fixed_any(v, scale):
    wide = CTX.copy()
    wide.prec = 800  # a double has up to 309 whole and 1074 fraction digits, rounded to 38 here
    q = v.quantize(Decimal(1).scaleb(-scale), rounding="ROUND_HALF_UP", context=wide)
    return format(q, "f") if decimal_fits(q, 38, scale) else None


def substring(s, start, length):
    """Characters start..start+length-1 that exist; a character is a byte in the oracle's databases."""
    if s is None or start is None or length is None or length < 0:
        return None
    return s[max(start, 1) - 1:max(start + length, 1) - 1]


def tail(s, start):
    return None if s is None or start is None else s[max(start, 1) - 1:]


def strict(f, n):
    """Of n arguments, which DuckDB counts; NULL where one is. Bytes, which are characters in DuckDB, become those of UTF-8."""
    def of(*args):
        if None in args:
            return None
        out = f(*[from_bytes_form(a) if isinstance(a, str) else a for a in args])
        return to_bytes_form(out) if isinstance(out, str) else out
    return [lambda a: of(a), lambda a, b: of(a, b), lambda a, b, c: of(a, b, c)][n - 1]


def left(s, n):
    return s[:n] if n >= 0 else s[:max(len(s) + n, 0)]


def right(s, n):
    return s[max(len(s) - n, 0):] if n >= 0 else s[min(-n, len(s)):]


def split_part(s, t, k):
    parts = s.split(t) if t else [s]
    if k < 0 and t:  # from the end, where separators overlap
        parts = [p[::-1] for p in s[::-1].split(t[::-1])][::-1]
    at = k - 1 if k > 0 else len(parts) + k
    return parts[at] if k and 0 <= at < len(parts) else ""


def cased(s, method):
    """Of letters below U+0180 whose other case is one, too, and has as many bytes."""
    def of(c):
        other = method(c)
        return other if len(other) == 1 and max(ord(other), ord(c)) < 0x180 and (ord(other) < 0x80) == (ord(c) < 0x80) else c
    return "".join(of(c) for c in s)


def pad(s, n, t, front):
    if n <= len(s) or not t:
        return s[:max(n, 0)]
    if n > 1 << 31:
        return None
    fill = (t * ((n - len(s)) // len(t) + 1))[:n - len(s)]
    return fill + s if front else s + fill


def translate(s, t, u):
    return "".join(c if c not in t else u[t.index(c):t.index(c) + 1] for c in s)


TEXT_FUNCTIONS = [
    ("concat", lambda s, t: s + t, ["VARCHAR", "VARCHAR"], "VARCHAR"),
    ("upper", lambda s: cased(s, str.upper), ["VARCHAR"], "VARCHAR"),
    ("lower", lambda s: cased(s, str.lower), ["VARCHAR"], "VARCHAR"),
    ("reverse", lambda s: s[::-1], ["VARCHAR"], "VARCHAR"),
    ("chr", lambda n: chr(n) if 0 < n < 0x110000 and not 0xd800 <= n < 0xe000 else None, ["BIGINT"], "VARCHAR"),
    ("repeat", lambda s, n: s * max(n, 0) if len(s) * n < 1 << 31 else None, ["VARCHAR", "BIGINT"], "VARCHAR"),
    ("replace", lambda s, t, u: s.replace(t, u) if t else s, ["VARCHAR", "VARCHAR", "VARCHAR"], "VARCHAR"),
    ("translate", translate, ["VARCHAR", "VARCHAR", "VARCHAR"], "VARCHAR"),
    ("lpad", lambda s, n, t: pad(s, n, t, True), ["VARCHAR", "BIGINT", "VARCHAR"], "VARCHAR"),
    ("rpad", lambda s, n, t: pad(s, n, t, False), ["VARCHAR", "BIGINT", "VARCHAR"], "VARCHAR"),
    ("length", len, ["VARCHAR"], "BIGINT"),
    ("octet_length", lambda s: len(s.encode()), ["VARCHAR"], "BIGINT"),
    ("ascii", lambda s: ord(s[0]) if s else 0, ["VARCHAR"], "BIGINT"),
    ("strpos", lambda s, t: s.find(t) + 1, ["VARCHAR", "VARCHAR"], "BIGINT"),
    ("starts_with", str.startswith, ["VARCHAR", "VARCHAR"], "BOOLEAN"),
    ("ends_with", str.endswith, ["VARCHAR", "VARCHAR"], "BOOLEAN"),
    ("contains", lambda s, t: t in s, ["VARCHAR", "VARCHAR"], "BOOLEAN"),
    ("left", left, ["VARCHAR", "BIGINT"], "VARCHAR"),
    ("right", right, ["VARCHAR", "BIGINT"], "VARCHAR"),
    ("trim", lambda s, t: s.strip(t) if t else s, ["VARCHAR", "VARCHAR"], "VARCHAR"),
    ("ltrim", lambda s, t: s.lstrip(t) if t else s, ["VARCHAR", "VARCHAR"], "VARCHAR"),
    ("rtrim", lambda s, t: s.rstrip(t) if t else s, ["VARCHAR", "VARCHAR"], "VARCHAR"),
    ("split_part", split_part, ["VARCHAR", "VARCHAR", "BIGINT"], "VARCHAR"),
]


def decimal_to_float(a):
    return None if a is None else float(a)


def short_float_text(x):
    """The shortest of %.6g … %.9g that reads back as the same float32."""
    return float_text(x, FLOAT32, range(6, 10))


def float_text(x, t=FLOAT64, lengths=range(15, 18)):
    """The shortest of %.15g … %.17g that reads back as the same number."""
    if x is None:
        return None
    if not math.isfinite(x):
        return "nan" if math.isnan(x) else ("inf" if x > 0 else "-inf")
    for digits in lengths:
        text = f"{x:.{digits}g}"
        if nearest(float(text), t) == x:
            return text
    return text


def timestamp_text(text):
    """DuckDB leaves out trailing zeros of the fraction; Heddle writes six digits or none."""
    if text is None or "." not in text:
        return text
    head, frac = text.split(".")
    return f"{head}.{frac:0<6}"


def decimal_text(text):
    """DuckDB writes no 0 before the point of a decimal without whole digits."""
    return text if text is None else text.replace("-.", "-0.") if text.startswith("-") else "0" * text.startswith(".") + text


def parse_text(text, type_name):
    """cast(string as T): the normal text form of the value, or NULL if the text is bad."""
    if text is None:
        return None
    t = parse_type(type_name)
    try:
        v = parse_value(text, t)
    except ValueError:
        return None
    if t in (INT32, INT64):
        return str(v)
    if t.kind == "decimal":
        return format(v, "f")
    if t.is_float:
        return repr(v)
    return text


def between(values, share, scale):
    """What lies at the share of the way from the first of sorted values to the last: a decimal, or scale -1 and a float64."""
    if not values:
        return None
    q = Fraction(share)
    at = (len(values) - 1) * q
    lo, over = values[math.floor(at)], at - math.floor(at)
    hi = values[math.floor(at) + (over > 0)]
    if scale >= 0:
        exact = Fraction(lo) + (Fraction(hi) - Fraction(lo)) * over
        whole = math.floor(abs(exact) * 10 ** scale + Fraction(1, 2))
        return format(CTX.scaleb(Decimal(whole if exact >= 0 else -whole), -scale), "f")
    lo, hi, f = float(lo), float(hi), over.numerator / over.denominator
    return repr(lo if over == 0 or lo == hi else lo * (1 - f) + hi * f)


FUNCTIONS = [
    ("hd_between", between, ["VARCHAR[]", "VARCHAR", "INTEGER"], "VARCHAR"),
    ("hd_div", divide, ["VARCHAR", "VARCHAR", "INTEGER"], "VARCHAR"),
    ("hd_add", add, ["VARCHAR", "VARCHAR", "INTEGER"], "VARCHAR"),
    ("hd_total", total, ["VARCHAR[]"], "VARCHAR"),
    ("hd_moment", moment, ["VARCHAR", "VARCHAR[]", "VARCHAR[]"], "DOUBLE"),
    ("hd_moment_error", moment_error, ["VARCHAR", "VARCHAR[]", "VARCHAR[]"], "DOUBLE"),
    ("hd_hash", hash_texts, ["VARCHAR[]", "VARCHAR"], "BIGINT"),
    ("hd_estimate", estimated, ["BIGINT[]"], "BIGINT"),
    ("hd_sub", subtract, ["VARCHAR", "VARCHAR", "INTEGER"], "VARCHAR"),
    ("hd_cmp", compare, ["VARCHAR", "VARCHAR"], "INTEGER"),
    ("hd_f2d", float_to_decimal, ["DOUBLE", "INTEGER"], "VARCHAR"),
    ("hd_substr", substring, ["VARCHAR", "BIGINT", "BIGINT"], "VARCHAR"),
    ("hd_tail", tail, ["VARCHAR", "BIGINT"], "VARCHAR"),
    ("hd_d2f", decimal_to_float, ["VARCHAR"], "DOUBLE"),
    ("hd_ftext", lambda x: float_text(x), ["DOUBLE"], "VARCHAR"),
    ("hd_f32text", short_float_text, ["FLOAT"], "VARCHAR"),
    ("hd_dtext", decimal_text, ["VARCHAR"], "VARCHAR"),
    ("hd_tstext", timestamp_text, ["VARCHAR"], "VARCHAR"),
    ("hd_parse", parse_text, ["VARCHAR", "VARCHAR"], "VARCHAR"),
    *[("hd_" + name, strict(f, len(args)), args, result) for name, f, args, result in TEXT_FUNCTIONS],
]


ARROW = {"VARCHAR": pyarrow.string(), "DOUBLE": pyarrow.float64(), "INTEGER": pyarrow.int32(), "BIGINT": pyarrow.int64(), "BOOLEAN": pyarrow.bool_()}


def of_columns(fn, args, result):
    """DuckDB takes 100 us for each call with values of Python, and about one for each of a column."""
    def call(*columns):
        return pyarrow.array([fn(*values) for values in zip(*[c.to_pylist() for c in columns])], ARROW[result])
    return {1: lambda a: call(a), 2: lambda a, b: call(a, b), 3: lambda a, b, c: call(a, b, c)}[len(args)]


def register(con):
    """Adds the functions to a connection, once."""
    known = {r[0] for r in con.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_name LIKE 'hd\\_%' ESCAPE '\\'").fetchall()}
    for name, fn, args, result in FUNCTIONS:
        if name not in known:
            inner = "udf_" + name if result == "VARCHAR" else name
            con.create_function(inner, of_columns(fn, args, result), args, result, null_handling="special", type="arrow")
            if inner != name:
                # DuckDB's coalesce reads strings of such a function after they are freed: it gets a copy
                taken = ", ".join(f"x{i}" for i in range(len(args)))
                con.execute(f"CREATE TEMP MACRO {name}({taken}) AS {inner}({taken}) || ''")
