"""Heddle's logical types, as the oracle understands docs/plan.md section 2.2."""

import datetime
import math
import re
import struct
from dataclasses import dataclass
from decimal import Context, Decimal

MAX_DIGITS = 38
CTX = Context(prec=200)  # wide enough that no step of the oracle ever rounds by itself
FLOAT_EXACT_DIGITS = 15  # a decimal this short becomes a double in one correctly rounded step


class PlanError(Exception):
    """The plan is wrong before any row is read (Heddle's class user)."""

    def __init__(self, path, message):
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class ExecutionError(Exception):
    """Some row raises. `definite` is False where an engine that computes lazily may avoid it."""

    def __init__(self, path, definite):
        super().__init__(f"{path}: a row raises" + ("" if definite else " (lazily avoidable)"))
        self.path = path
        self.definite = definite


@dataclass(frozen=True, order=True)
class Interval:
    """Its order is that of lengths where no part has another sign than others, days are below 30 and the rest below a day."""
    months: int
    days: int
    micros: int

    def __str__(self):
        years, months = (abs(self.months) // 12, abs(self.months) % 12)
        sign = -1 if self.months < 0 else 1
        parts = [f"{n} {unit}{'' if abs(n) == 1 else 's'}"
                 for n, unit in ((sign * years, "year"), (sign * months, "month"), (self.days, "day")) if n]
        if self.micros or not parts:
            second, rest = divmod(abs(self.micros), 10 ** 6)
            clock = f"{'-' * (self.micros < 0)}{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
            parts.append(clock + (f".{rest:06d}".rstrip("0") if rest else ""))
        return " ".join(parts)


INTERVAL_PART = re.compile(r"([+-]?\d+) *(centuries|century|decade|year|quarter|month|week|day|hour|minute|second|millisecond|microsecond)s?"
                           r"|([+-]?)(\d{2,}):([0-5]\d):([0-5]\d)(?:\.(\d{1,6}))?")
INTERVAL_UNITS = {"century": (1200, 0, 0), "centuries": (1200, 0, 0), "decade": (120, 0, 0), "year": (12, 0, 0), "quarter": (3, 0, 0), "month": (1, 0, 0),
                  "week": (0, 7, 0), "day": (0, 1, 0), "hour": (0, 0, 3600000000), "minute": (0, 0, 60000000),
                  "second": (0, 0, 1000000), "millisecond": (0, 0, 1000), "microsecond": (0, 0, 1)}


def parse_interval(text, t):
    if not re.fullmatch(f"(?:{INTERVAL_PART.pattern})(?: +(?:{INTERVAL_PART.pattern}))*", text, re.I):
        bad(text, t)
    total = [0, 0, 0]
    for m in INTERVAL_PART.finditer(text.lower()):
        if m[2]:
            by = [int(m[1]) * u for u in INTERVAL_UNITS[m[2]]]
        else:
            micros = ((int(m[4]) * 60 + int(m[5])) * 60 + int(m[6])) * 10 ** 6 + int(((m[7] or "") + "000000")[:6])
            by = [0, 0, -micros if m[3] == "-" else micros]
        total = [a + b for a, b in zip(total, by)]
    months, days, micros = total
    fits = abs(months) < 1 << 25 and -(1 << 31) <= days < 1 << 31 and abs(micros) <= (1 << 63) // 1000
    return Interval(*total) if fits else bad(text, t)


@dataclass(frozen=True)
class Type:
    kind: str  # bool int32 int64 decimal float32 float64 date timestamp time string, null, interval, list
    p: int = 0
    s: int = 0
    element: "Type" = None

    def __str__(self):
        if self.kind == "decimal":
            return f"decimal({self.p},{self.s})"
        if self.kind == "list":
            return f"list({self.element})"
        return self.kind

    @property
    def is_int(self):
        return self.kind in ("int32", "int64")

    @property
    def is_number(self):
        return self.is_int or self.is_float or self.kind == "decimal"

    @property
    def is_float(self):
        return self.kind in ("float32", "float64")

    def sql(self):
        if self.kind == "decimal":
            return f"DECIMAL({self.p},{self.s})"
        return SQL_NAMES[self.kind]


SQL_NAMES = {"bool": "BOOLEAN", "int32": "INTEGER", "int64": "BIGINT", "float32": "FLOAT", "float64": "DOUBLE",
             "date": "DATE", "timestamp": "TIMESTAMP", "time": "TIME", "string": "VARCHAR", "binary": "BLOB", "interval": "INTERVAL", "null": "INTEGER"}
BOOL, INT32, INT64 = Type("bool"), Type("int32"), Type("int64")
FLOAT32, FLOAT64, DATE, TIMESTAMP, STRING = Type("float32"), Type("float64"), Type("date"), Type("timestamp"), Type("string")
TIME, BINARY, INTERVAL = Type("time"), Type("binary"), Type("interval")
NULL = Type("null")
SIMPLE = {t.kind: t for t in (BOOL, INT32, INT64, FLOAT32, FLOAT64, DATE, TIMESTAMP, TIME, STRING, BINARY, INTERVAL)}


def decimal(p, s):
    return Type("decimal", p, s)


def parse_type(text, path="", lists=False):
    """`decimal(12,2)`, `int64`, and for parameters `list(...)`."""
    text = text.strip()
    if text in SIMPLE:
        return SIMPLE[text]
    m = re.fullmatch(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", text)
    if m and 1 <= int(m[1]) <= MAX_DIGITS and int(m[2]) <= int(m[1]):
        return decimal(int(m[1]), int(m[2]))
    m = re.fullmatch(r"list\((.*)\)", text)
    if m and lists:
        return Type("list", element=parse_type(m[1], path))
    raise PlanError(path, f"not a type: {text}")


def parse_duckdb_type(text):
    for kind, name in SQL_NAMES.items():
        if text == name and kind != "null":
            return SIMPLE[kind]
    m = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", text)
    if m:
        return decimal(int(m[1]), int(m[2]))
    raise PlanError("", f"column type {text} has no Heddle type")


def as_decimal_type(t):
    """What an integer counts as beside a decimal."""
    if t.kind == "int32":
        return decimal(10, 0)
    if t.kind == "int64":
        return decimal(19, 0)
    return t


def add_type(a, b):
    a, b = as_decimal_type(a), as_decimal_type(b)
    s = max(a.s, b.s)
    full = max(a.p - a.s, b.p - b.s) + s + 1
    return decimal(min(MAX_DIGITS, full), s), full


def union_type(a, b):
    """The decimal that holds both; full is its width before the cap at 38."""
    a, b = as_decimal_type(a), as_decimal_type(b)
    s = max(a.s, b.s)
    full = max(a.p - a.s, b.p - b.s) + s
    return decimal(min(MAX_DIGITS, full), s), full


def unify(a, b, path):
    """The common type of two branches of case, coalesce or union_all."""
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    if not (a.is_number and b.is_number):
        raise PlanError(path, f"types {a} and {b} do not unify")
    if a.is_float or b.is_float:
        return FLOAT64
    if a.is_int and b.is_int:
        return INT64
    return union_type(a, b)[0]


def literal_decimal_type(text):
    """`1.50` is decimal(3,2), `0.05` decimal(2,2): digits written, leading zeros left out."""
    whole, _, frac = text.lstrip("+-").partition(".")
    whole = whole.lstrip("0")
    return decimal(max(1, len(whole) + len(frac)), len(frac))


DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d")
TIMESTAMP_TEXT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?")
TIME_TEXT = re.compile(r"\d\d:\d\d:\d\d(\.\d{1,6})?")
INT_TEXT = re.compile(r"[+-]?\d+")
DECIMAL_TEXT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
FLOAT_TEXT = re.compile(DECIMAL_TEXT.pattern + r"([eE][+-]?\d+)?")
FLOAT_WORD = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


def parse_value(text, t):
    """The text form of a value of type t, as a Python value; ValueError if it is none."""
    if t.kind == "string":
        return text
    if t.kind == "binary":
        return bytes.fromhex(text.removeprefix("\\x"))
    if t.kind == "interval":
        return parse_interval(text, t)
    if t.kind == "bool":
        return {"true": True, "false": False}[text] if text in ("true", "false") else bad(text, t)
    if t.is_int:
        return parse_int(text, t)
    if t.kind == "decimal":
        return parse_decimal(text, t)
    if t.is_float:
        return nearest(parse_float(text, t), t)
    if t.kind == "date":
        return datetime.date.fromisoformat(text) if DATE_TEXT.fullmatch(text) else bad(text, t)
    if t.kind == "timestamp":
        return parse_timestamp(text, t)
    if t.kind == "time":
        return parse_timestamp("1970-01-01 " + text, t).time() if TIME_TEXT.fullmatch(text) else bad(text, t)
    return bad(text, t)


def bad(text, t):
    raise ValueError(f"{text!r} is not a {t}")


def parse_int(text, t):
    if not INT_TEXT.fullmatch(text):
        bad(text, t)
    half = 1 << (31 if t.kind == "int32" else 63)
    v = int(text)
    return v if -half <= v < half else bad(text, t)


def nearest(v, t):
    """A float64 as a value of either float type; ValueError if it is finite and not in its range."""
    if t.kind == "float64" or not math.isfinite(v):
        return v
    try:
        return struct.unpack("f", struct.pack("f", v))[0]
    except OverflowError:
        return bad(str(v), t)


def parse_float(text, t):
    if FLOAT_WORD.fullmatch(text):
        return float(text)
    v = float(text) if FLOAT_TEXT.fullmatch(text) else math.inf
    return v if math.isfinite(v) else bad(text, t)


def parse_decimal(text, t):
    if not DECIMAL_TEXT.fullmatch(text):
        bad(text, t)
    v = Decimal(text)
    q = round_half_away(v, t.s)
    if q != v or not decimal_fits(q, t.p, t.s):
        bad(text, t)
    return q


def parse_timestamp(text, t):
    if DATE_TEXT.fullmatch(text):
        text += " 00:00:00"
    if not TIMESTAMP_TEXT.fullmatch(text):
        bad(text, t)
    head, _, frac = text.replace("T", " ").partition(".")
    base = datetime.datetime.strptime(head, "%Y-%m-%d %H:%M:%S")
    return base.replace(microsecond=int((frac + "000000")[:6]))


def round_half_away(v, scale):
    """An exact Decimal rounded to `scale` digits, ties away from zero."""
    return v.quantize(Decimal(1).scaleb(-scale), rounding="ROUND_HALF_UP", context=CTX)


def decimal_fits(v, p, s):
    return v.copy_abs() < Decimal(10) ** (p - s)  # abs() would round to the default context
