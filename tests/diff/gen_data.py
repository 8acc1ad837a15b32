"""Random schemas and rows, with the shapes that engines get wrong: nulls, duplicates, skew, extremes, odd sizes."""

import datetime
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from hdtypes import (BINARY, BOOL, DATE, FLOAT32, FLOAT64, INT32, INT64, INTERVAL, STRING, TIME, TIMESTAMP, Interval, Type, decimal)

SIZES = [0, 1, 2, 7, 31, 32, 33, 100, 1023, 1024, 1025, 3000, 5000, 20000]
SIZE_WEIGHTS = [2, 2, 2, 4, 2, 2, 2, 8, 3, 3, 3, 4, 2, 0.5]
DECIMALS = [(4, 2), (5, 0), (9, 4), (12, 2), (12, 2), (15, 3), (18, 6), (19, 0), (24, 4), (38, 0), (38, 6), (38, 10)]
WORDS = ["", "a", "A", "ab", "abc", "b", "Z", "zz", "green", "GREEN", "dark red", "1-URGENT", "x%y", "_", "%", "a_c",
         "back\\slash", "quo\"te", "it's", "com,ma", "pi|pe", " lead", "trail ", "0", "-1", "null", "NULL"]
FOREIGN = ["é", "né", "naïve", "ß", "日本", "日本語", "Ωmega", "zürich", "emoji 🙂", "a\u0301"]
EPOCH = datetime.date(1970, 1, 1)
FIRST_DAY, LAST_DAY = datetime.date(1, 1, 1).toordinal(), datetime.date(9999, 12, 31).toordinal()


@dataclass
class Column:
    name: str
    type: Type
    nullable: bool
    values: list = field(default_factory=list)
    unique: bool = False

    def known(self):
        return [v for v in self.values if v is not None]

    def multiplicity(self):
        """Rows of the most frequent value."""
        return max(Counter(self.known()).values(), default=0)


@dataclass
class Table:
    name: str
    columns: list
    rows: int
    primary_key: list = None
    foreign_keys: list = field(default_factory=list)  # (columns, table name, referenced columns)

    def column(self, name):
        return next(c for c in self.columns if c.name == name)


def skewed(rng, pool):
    """A chooser over pool: uniform, one hot value, or geometric."""
    shape = rng.random()
    if shape < 0.4:
        return lambda: rng.choice(pool)
    if shape < 0.7:
        hot, share = rng.choice(pool), rng.choice([0.5, 0.9, 0.99])
        return lambda: hot if rng.random() < share else rng.choice(pool)
    return lambda: pool[min(int(rng.expovariate(1.0) * max(1, len(pool) / 8)), len(pool) - 1)]


# ---- one pool of values per type: a function of (rng, type, rows) that returns a list to draw from


def int_pool(rng, t, rows):
    low, high = (-(1 << 31), (1 << 31) - 1) if t == INT32 else (-(1 << 63), (1 << 63) - 1)
    shape = rng.random()
    if shape < 0.5:
        base = rng.choice([0, 1, -5, 1000, -100000])
        return [base + i for i in range(rng.choice([1, 2, 5, 20, 100, 1000]))]
    if shape < 0.7:
        return [rng.randint(-1000, 1000) * rng.choice([1, 100]) for _ in range(50)]
    if shape < 0.85:
        return [low, low + 1, -1, 0, 1, high - 1, high] + [rng.randint(low, high) for _ in range(5)]
    return [rng.randint(low // 1000, high // 1000) for _ in range(rows + 1)]


def decimal_pool(rng, t, rows):
    most = 10 ** t.p - 1
    shape = rng.random()
    if shape < 0.5:
        reach = min(most, rng.choice([100, 10000, 10 ** 6]))
        raw = [rng.randint(-reach if rng.random() < 0.5 else 0, reach) for _ in range(rng.choice([3, 30, 300]))]
    elif shape < 0.75:
        raw = [rng.randint(-most, most) // rng.choice([1, 10, 1000]) for _ in range(40)]
    else:
        raw = [most, -most, most - 1, 0, 1, -1, most // 2, 5 * 10 ** max(0, t.s - 1)]
        raw = [v for v in raw if abs(v) <= most]
    return [Decimal(v).scaleb(-t.s) if v.bit_length() < 90 else Decimal(f"{v}E-{t.s}") for v in raw]


def float_pool(rng, t, rows):
    """Multiples of 1/16, so that sums are exact in any order; sometimes the special values."""
    reach = rng.choice([16, 1600, 1 << 20])  # within the digits of a float32
    pool = [rng.randint(-reach, reach) / 16 for _ in range(rng.choice([4, 40]))]
    if rng.random() < 0.25:
        pool += [float("nan"), float("inf"), float("-inf"), -0.0, 0.0]
    return pool


def day_pool(rng, t, rows):
    shape = rng.random()
    if shape < 0.6:
        base = datetime.date(rng.choice([1992, 1995, 2023]), 1, 1).toordinal()
        days = [base + rng.randint(0, 800) for _ in range(rng.choice([3, 60, 500]))]
    elif shape < 0.8:
        days = [datetime.date(y, m, d).toordinal() for y, m, d in
                [(1600, 2, 29), (1900, 2, 28), (1900, 3, 1), (1969, 12, 31), (1970, 1, 1), (2000, 2, 29), (2024, 2, 29), (2100, 2, 28)]]
    else:
        days = [FIRST_DAY, LAST_DAY, FIRST_DAY + 1, LAST_DAY - 1] + [rng.randint(FIRST_DAY, LAST_DAY) for _ in range(10)]
    return [datetime.date.fromordinal(d) for d in days]


def timestamp_pool(rng, t, rows):
    micros = [0, 1, 999999, 500000, rng.randint(0, 999999)]
    return [datetime.datetime(d.year, d.month, d.day, rng.randint(0, 23), rng.randint(0, 59), rng.choice([0, 59]), rng.choice(micros))
            for d in day_pool(rng, t, rows)]


def time_pool(rng, t, rows):
    return [datetime.time(0, 0), datetime.time(23, 59, 59, 999999)] + [v.time() for v in timestamp_pool(rng, t, rows)]


def string_pool(rng, t, rows):
    shape = rng.random()
    if shape < 0.35:
        return rng.sample(WORDS, rng.randint(1, len(WORDS)))
    if shape < 0.5:
        return rng.sample(WORDS, 5) + rng.sample(FOREIGN, rng.randint(1, len(FOREIGN)))
    if shape < 0.65:
        return [f"Customer#{i:09d}" for i in range(rng.choice([10, 300, rows + 1]))]
    if shape < 0.8:
        return [rng.choice(WORDS) * rng.choice([1, 40, 900]) + rng.choice(["", "x", "yy" * 70]) for _ in range(12)]
    alphabet = "ab %_" if rng.random() < 0.5 else "abcdefghij é,\"\n"
    return ["".join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 3, 8, 15, 16, 17, 40]))) for _ in range(rows + 1)]


def binary_pool(rng, t, rows):
    few = [b"", b"\0", b"\0\0", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"ab", b"\xc3\xa9"]
    if rng.random() < 0.5:
        return rng.sample(few, rng.randint(1, len(few)))
    return few + [rng.randbytes(rng.choice([1, 3, 8, 15, 16, 17, 40])) for _ in range(rng.choice([5, rows + 1]))]


def span_pool(rng, t, rows):
    """Intervals of which no two are equal and look different, and which DuckDB orders as Heddle does."""
    def one():
        sign = rng.choice([1, 1, -1])
        parts = (rng.choice([0, 1, 12, rng.randint(0, 60)]), rng.choice([0, rng.randint(0, 29)]),
                 rng.choice([0, 1, 43200000000, 86399999999, rng.randint(0, 86399999999)]))
        return Interval(*(sign * v for v in parts))
    return [Interval(0, 0, 0), Interval(1, 0, 0)] + [one() for _ in range(rng.choice([3, 30, rows + 1]))]


POOLS = {"interval": span_pool, "binary": binary_pool, "int32": int_pool, "int64": int_pool, "decimal": decimal_pool, "float32": float_pool, "float64": float_pool, "date": day_pool,
         "timestamp": timestamp_pool, "time": time_pool, "string": string_pool, "bool": lambda rng, t, rows: [True, False]}


def random_type(rng):
    kind = rng.choices(["int32", "int64", "decimal", "float32", "float64", "date", "timestamp", "time", "string", "bool", "binary", "interval"],
                       [5, 4, 5, 2, 2, 3, 1, 1, 5, 2, 1, 1])[0]
    simple = {"int32": INT32, "int64": INT64, "float32": FLOAT32, "float64": FLOAT64, "date": DATE, "timestamp": TIMESTAMP, "time": TIME,
              "string": STRING, "bool": BOOL, "binary": BINARY, "interval": INTERVAL}
    return simple.get(kind) or decimal(*rng.choice(DECIMALS))


def random_column(rng, name, rows):
    t = random_type(rng)
    choose = skewed(rng, POOLS[t.kind](rng, t, rows))
    values = [choose() for _ in range(rows)]
    if rng.random() < 0.25 and t.kind not in ("float32", "float64", "bool"):
        values.sort()  # sorted and clustered columns take other paths
    nulls = rng.choices([None, 0.0, 0.1, 0.5, 1.0], [50, 5, 25, 15, 5])[0]
    if nulls is None:
        return Column(name, t, False, values)
    return Column(name, t, True, [None if rng.random() < nulls else v for v in values])


def interval_columns(rng, name, rows):
    """Both ends of an interval per row: short ones, some that hold many others, some that hold nothing."""
    t = rng.choice([INT32, INT64, DATE, FLOAT32, FLOAT64, decimal(9, 2)])
    reach, edge = rng.choice([50, 1000]), rng.random() < 0.2 and t in (INT32, INT64)
    last = (1 << (31 if t == INT32 else 63)) - 1
    ends = []
    for _ in range(rows):
        low = rng.randint(-reach, reach)
        high = low + rng.choice([0, 1, 3, 10, 10, rng.randint(0, 2 * reach), -rng.randint(1, 5)])
        if edge and rng.random() < 0.3:
            low, high = rng.choice([(-last - 1, low), (low, last), (-last - 1, last), (last - 1, last)])
        ends.append((low, high))
    if rng.random() < 0.4:
        ends.sort()
    value = {"date": lambda v: datetime.date.fromordinal(728000 + v), "decimal": lambda v: Decimal(v).scaleb(-2),
             "float32": lambda v: v / 16, "float64": lambda v: v / 16}.get(t.kind, lambda v: v)
    nulls = rng.choice([0, 0, 0.1])
    return [Column(f"{name}_{end}", t, nulls > 0, [None if rng.random() < nulls else value(e[i]) for e in ends])
            for i, end in enumerate(("lo", "hi"))]


def key_column(rng, name, rows):
    """A dense, a gappy or a shuffled key."""
    t = rng.choice([INT32, INT32, INT64])
    step, base = rng.choice([1, 1, 1, 3, 1000]), rng.choice([0, 1, 1, -50])
    values = [base + i * step for i in range(rows)]
    if rng.random() < 0.3:
        rng.shuffle(values)
    return Column(name, t, False, values, unique=True)


def random_table(rng, name, rows):
    columns = [random_column(rng, f"{name}_{c}", rows) for c in "bcdefghij"[:rng.randint(2, 7)]]
    if rng.random() < 0.3:
        columns += interval_columns(rng, name, rows)
    table = Table(name, columns, rows)
    if rng.random() < 0.75:
        key = key_column(rng, name + "_k", rows)
        columns.insert(0, key)
        table.primary_key = [key.name]
    return table


def add_foreign_key(rng, table, parent):
    """A column that refers to the parent's key: all rows, some rows, or one hot parent."""
    key = parent.columns[0]
    if not key.values and table.rows:
        choose, nulls = (lambda: None), True
    else:
        choose, nulls = skewed(rng, key.values or [None]), rng.random() < 0.4
    values = [None if nulls and rng.random() < 0.2 else choose() for _ in range(table.rows)]
    if rng.random() < 0.3:
        values.sort(key=lambda v: (v is None, v or 0))
    column = Column(f"{table.name}_{parent.name}", key.type, nulls, values)
    table.columns.append(column)
    if rng.random() < 0.8:
        table.foreign_keys.append(([column.name], parent.name, [key.name]))


def random_pair_table(rng, name, left, right):
    """A table with a two-column primary key made of two foreign keys, like partsupp."""
    a, b = left.columns[0], right.columns[0]
    pairs = [(x, y) for x in a.values[:60] for y in b.values[:40] if rng.random() < 0.3]
    columns = [Column(f"{name}_{left.name}", a.type, False, [p[0] for p in pairs]),
               Column(f"{name}_{right.name}2", b.type, False, [p[1] for p in pairs])]
    columns += [random_column(rng, f"{name}_{c}", len(pairs)) for c in "xyz"[:rng.randint(1, 3)]]
    keys = [c.name for c in columns[:2]]
    foreign = [([keys[0]], left.name, [a.name]), ([keys[1]], right.name, [b.name])]
    return Table(name, columns, len(pairs), keys, foreign)


def random_child_table(rng, name, parent):
    """Some children of each parent, in the order of the parents' rows, and few enough to be folded, like lineitem."""
    key, most = parent.columns[0], rng.choice([1, 3, 7, 20])
    refers = [v for v in key.values[:3000] for _ in range(rng.randint(-1, most))]
    columns = [Column(f"{name}_{parent.name}", key.type, False, refers)]
    columns += [random_column(rng, f"{name}_{c}", len(refers)) for c in "uvwxyz"[:rng.randint(2, 6)]]
    return Table(name, columns, len(refers), None, [([columns[0].name], parent.name, [key.name])])


def random_database(rng):
    tables = []
    for i in range(rng.randint(2, 4)):
        table = random_table(rng, f"t{i}", rng.choices(SIZES, SIZE_WEIGHTS)[0])
        for parent in [p for p in tables if p.primary_key][:2]:
            if rng.random() < 0.6:
                add_foreign_key(rng, table, parent)
        tables.append(table)
    keyed = [t for t in tables if t.primary_key]
    if len(keyed) >= 2 and rng.random() < 0.5:
        tables.append(random_pair_table(rng, "pair", *rng.sample(keyed, 2)))
    if keyed and rng.random() < 0.4:
        tables.append(random_child_table(rng, "few", rng.choice(keyed)))
    return tables
