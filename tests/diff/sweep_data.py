"""Tables for the sweep of joins: a pair of them for each kind of keys and each shape of data, a few dozen rows each."""

import datetime
import random
import zlib
from decimal import Decimal

from gen_data import Column, Table
from hdtypes import BOOL, DATE, FLOAT32, FLOAT64, INT32, INT64, STRING, TIMESTAMP, decimal

TYPES = {"i": INT32, "l": INT64, "m": decimal(11, 2), "q": decimal(14, 4), "h": decimal(30, 2), "t": DATE, "z": TIMESTAMP, "s": STRING,
         "d": FLOAT64, "f": FLOAT32, "b": BOOL}

# name: pairs of left and right column, by type; `=` behind them: NULL matches NULL; `+`: computed
KEYS = {
    "none": (), "int32": ("ii",), "int64": ("ll",), "decimal": ("mm",), "wide_decimal": ("hh",), "date": ("tt",), "timestamp": ("zz",),
    "string": ("ss",), "float64": ("dd",), "float32": ("ff",), "bool": ("bb",),
    "two_ints": ("ii", "ll"), "int_and_string": ("ii", "ss"), "date_string_float": ("tt", "ss", "dd"), "bool_and_float32": ("bb", "ff"),
    "int32_int64": ("il",), "int64_decimal": ("lm",), "int32_wide_decimal": ("ih",), "two_scales": ("mq",), "int32_float64": ("id",),
    "float32_float64": ("fd",), "float32_int32": ("fi",),
    "null_int32": ("ii=",), "null_string": ("ss=",), "null_float32": ("ff=",), "null_and_not": ("ii=", "tt"), "not_and_null": ("ss", "bb="),
    "computed": ("ii+",),
}
VALUES = 12  # of a key column, but where they are unique
LEFT, RIGHT = 45, 33  # rows, more than a warp has lanes


def plain(letter, n):
    """The n-th value of a type; numbers with an even n are whole and the same in all types, one of them is 0."""
    whole, half = n * 3 - 6, Decimal(n % 2) / 2
    if letter in "il":
        return whole
    if letter in "mq":
        return (whole + half).quantize(Decimal("0.01" if letter == "m" else "0.0001"))
    if letter == "h":
        return Decimal(f"{whole}.00") if n % 2 == 0 else Decimal(f"{whole}{'0' * 20}.25")
    if letter in "df":
        return float(whole + half)
    if letter == "t":
        return datetime.date(1995, 1, 1) + datetime.timedelta(days=whole)
    if letter == "z":
        return datetime.datetime(1995, 1, 1) + datetime.timedelta(days=whole, microseconds=n % 2 * 1500001)
    if letter == "s":
        return "" if n == 0 else "é" * (n % 3) + "ab" * (n % 5) + str(n)
    return n % 2 == 1


NAN, INF = float("nan"), float("inf")
ENDS = {
    "i": [-(1 << 31), (1 << 31) - 1], "l": [-(1 << 63), (1 << 63) - 1, -(1 << 31) - 1], "m": [Decimal("-999999999.99"), Decimal("999999999.99")],
    "q": [Decimal("-9999999999.9999"), Decimal("999999999.9900")], "h": [Decimal("9" * 28 + ".99"), Decimal("-" + "9" * 28 + ".99")],
    "t": [datetime.date.min, datetime.date.max], "z": [datetime.datetime.min, datetime.datetime.max],
    "s": ["x" * 300, "x" * 299 + "y", " ", "é"], "d": [NAN, -0.0, 0.0, INF, -INF, 1e308, 5e-324],
    "f": [NAN, -0.0, 0.0, INF, -INF, 3.4028234663852886e38, 1.401298464324817e-45], "b": [],
}


class Shape:
    """How many rows, and which values: `unique` and `pk` name sides, "l" or "r"."""

    def __init__(self, rows=(LEFT, RIGHT), nulls=0.0, heavy=0.0, unique="", ordered="", ends=False, pk="", fk="", nullable=""):
        self.rows, self.nulls, self.heavy, self.unique, self.ordered = rows, nulls, heavy, unique, ordered
        self.ends, self.pk, self.fk, self.nullable = ends, pk, fk, nullable or ("lr" if nulls else "")


SHAPES = {
    "nulls": Shape(nulls=0.2), "heavy": Shape(heavy=0.7), "left_empty": Shape((0, RIGHT), nulls=0.1), "right_empty": Shape((LEFT, 0), nulls=0.1),
    "both_empty": Shape((0, 0), nulls=0.1), "unique": Shape((20, RIGHT), unique="lr"), "all_null": Shape((14, 9), nulls=1.0),
    "right_null": Shape((20, 9), nulls=0.1), "ends": Shape(nulls=0.1, ends=True), "sorted": Shape(ordered="lr"),
    "right_sorted": Shape(ordered="r", nullable="l", nulls=0.1),
    # the right table is the parent of the left one, and the other way round; a key that refers to the parent may be NULL
    "parent": Shape(unique="r", pk="r", fk="l", ordered="r"), "parent_of_sorted": Shape(unique="r", pk="r", fk="l", ordered="l", heavy=0.3),
    "child": Shape(unique="l", pk="l", fk="r", nulls=0.2, nullable="r"), "child_sorted": Shape(unique="l", pk="l", fk="r", ordered="lr"),
    # children in the order of both keys, which are their primary key
    "family": Shape(unique="l", pk="l", fk="r", ordered="lr"),
}


def names(keys, shape):
    return [f"{side}_{keys}_{shape}" for side in "lr"]


def makes_sense(keys, shape):
    """There are two bools; a computed key overflows at the ends; keys are what NULLs, orders and references are about."""
    s, first = SHAPES[shape], KEYS[keys][:1]
    if keys == "none":
        return shape in ("nulls", "heavy", "left_empty", "right_empty", "both_empty")
    if s.unique and first[0][0] == "b":
        return False
    if s.pk and first[0][0] != first[0][1] or shape == "family" and keys != "two_ints":
        return False
    return not (s.ends and keys == "computed")


class Maker:
    def __init__(self, keys, shape):
        self.keys, self.name, self.shape = keys, shape, SHAPES[shape]
        self.rng = random.Random(f"sweep {keys} {shape}")

    def numbers(self, side, rows):
        """For each row which of the values it has; those of all its key columns follow from it but for a few."""
        if side in self.shape.unique:
            found = self.rng.sample(range(rows + 8), rows)
        else:
            found = [5 if self.rng.random() < self.shape.heavy else self.rng.randrange(VALUES) for _ in range(rows)]
        return sorted(found) if side in self.shape.ordered else found

    def value(self, letter, n):
        if self.shape.ends and n % 3 == 0 and ENDS[letter]:
            return ENDS[letter][n // 3 % len(ENDS[letter])] if self.rng.random() < 0.8 else self.rng.choice(ENDS[letter])
        # a key's index is an array, so its values must not lie far apart
        return Decimal(n - 5).scaleb(-2) if letter == "m" and self.shape.pk else plain(letter, n)

    def is_null(self, side, key):
        share = 1.0 if self.name == "right_null" and side == "r" else self.shape.nulls
        return side in self.shape.nullable and self.rng.random() < share

    def key_columns(self, side, numbers):
        out = []
        for k, pair in enumerate(KEYS[self.keys]):
            letter = pair["lr".index(side)]
            off = [self.rng.random() < 0.1 if k else False for _ in numbers]
            values = [self.value(letter, n + o) for n, o in zip(numbers, off)]
            values = sorted(values) if side in self.shape.ordered and k == 0 else values
            values = [None if self.is_null(side, k) else v for v in values]
            out.append(Column(f"{side}k{k}", TYPES[letter], side in self.shape.nullable, values, unique=k == 0 and side in self.shape.unique))
        return out

    def small(self, n, nulls, high=9):
        return [None if self.rng.random() < nulls else self.rng.randrange(high) for _ in range(n)]

    def table(self, side):
        rows = self.shape.rows["lr".index(side)]
        numbers = self.numbers(side, rows)
        keys = self.key_columns(side, numbers)
        kinds = "ilmhtzsdfb"
        letter = kinds[zlib.crc32(f"{self.keys} {self.name}".encode()) % len(kinds)]
        at = [None if n is None else self.value(letter, n) for n in self.small(rows, 0.1, VALUES)]
        low = self.small(rows, 0.0)
        columns = [Column(f"{side}row", INT32, False, list(range(rows)))] + keys + [
            Column(f"{side}x", INT32, True, self.small(rows, 0.1)), Column(f"{side}lo", INT32, False, low),
            Column(f"{side}hi", INT32, False, [v + self.rng.randrange(-1, 3) for v in low]), Column(f"{side}at", TYPES[letter], True, at),
            Column(f"{side}w", STRING, True, [None if n is None else plain("s", n) for n in self.small(rows, 0.1)])]
        table = Table(names(self.keys, self.name)["lr".index(side)], columns, rows)
        if side == self.shape.pk:
            table.primary_key = [f"{side}k0"]
        return table

    def order_by_both(self, child):
        first, second = child.columns[1:3]
        pairs = sorted({(a, plain("l", self.rng.randrange(VALUES))) for a in first.values for _ in range(2)})[:child.rows]
        child.columns = [Column(c.name, c.type, c.nullable, c.values[:len(pairs)]) for c in child.columns]
        child.columns[1].values, child.columns[2].values = (list(v) for v in zip(*pairs))
        child.rows, child.primary_key = len(pairs), [first.name, second.name]

    def tables(self):
        """Both, the parent first."""
        left, right = self.table("l"), self.table("r")
        if not self.shape.fk:
            return [left, right]
        child, parent = (left, right) if self.shape.fk == "l" else (right, left)
        known, column = parent.columns[1].values, child.columns[1]
        column.values = [None if v is None else v if v in known else self.rng.choice(known) for v in column.values]
        if self.shape.fk in self.shape.ordered:
            column.values.sort()
        child.foreign_keys.append(([column.name], parent.name, [parent.columns[1].name]))
        if self.name == "family":
            self.order_by_both(child)
        return [parent, child]
