"""Random typed expressions over the columns of an operator's input.

Each value carries bounds taken from the data, so that most expressions provably do not raise; a generator with
`risk` leaves some guards out. Floats are kept to multiples of powers of two where their sums matter.
"""

import datetime
from decimal import Decimal
from fractions import Fraction

from gen_text import TextGen
from gen_times import TimeGen
from gen_value import FLOAT_REACH, RANGE, Val, corners, exact_literal, in_type, kept_bits, lit, narrowed, written
from hdexpr import COMPARE, CUT, DAY_FIELDS, TIME_FIELDS, UNITS, Node
from hdtypes import (BOOL, DATE, FLOAT32, FLOAT64, FLOAT_EXACT_DIGITS, INT32, INT64, NULL,
                     STRING, TIMESTAMP, Interval, PlanError, Type, add_type, as_decimal_type, decimal, literal_decimal_type, unify)


class ExprGen(TextGen, TimeGen):
    def __init__(self, rng, columns, params, risk=False):
        """columns: Vals whose nodes are column references; params: a function (value, Type) -> Node."""
        self.rng, self.columns, self.params, self.risk = rng, [c for c in columns if not c.inexact], params, risk
        self.took_risk = False

    def dare(self):
        if self.risk and self.rng.random() < 0.6:
            self.took_risk = True
            return True
        return False

    def pick(self, test):
        found = [c for c in self.columns if test(c.type)]
        return self.rng.choice(found) if found else None

    def constant(self, v, t):
        out = lit(v, t)
        if v is not None and self.rng.random() < 0.06:
            out.node = self.params(v, t)
        return out

    def make(self, op, t, args, lo=Fraction(0), hi=Fraction(0), **extra):
        node = Node(op, [a.node for a in args], **{k: extra.pop(k) for k in ("name", "escape") if k in extra})
        if op in ("cast", "try_cast"):
            node.type = t
        return Val(node, t, any(a.nullable for a in args), lo, hi, **extra)

    def daring(self):
        """An expression that raises for some values of a column, if the input has a fitting one."""
        self.took_risk = True
        n = self.pick(lambda t: t.is_int or t.kind == "decimal") or self.number_literal()
        s = self.pick(lambda t: t == STRING) or self.constant("12", STRING)
        one = lit(self.rng.choice([1, 7, 1 << 61]), INT64)
        big = lit(Decimal(9 * 10 ** 18), decimal(38, 0))
        shift = self.make("-", INT64, [lit(1, INT64), self.make("extract", INT64, [self.day(0)], name="day")])
        choices = [lambda: self.make("/", INT64, [one, n]), lambda: self.make("%", INT64, [one, shift]),
                   lambda: self.make("/", FLOAT64, [lit(1.5, FLOAT64), shift]), lambda: self.make("cast", INT64, [s]),
                   lambda: self.make("cast", DATE, [s]), lambda: self.make("cast", INT32, [n]),
                   lambda: self.make("*", INT64, [n, one]), lambda: self.make("*", decimal(38, 0), [n, big]),
                   lambda: self.make("cast", decimal(4, 2), [n]), lambda: self.make("substring", STRING, [s, lit(1, INT64), shift])]
        return self.rng.choice(choices)()

    # ---- any value

    def of_kind(self, kind, depth):
        if kind in ("int32", "int64", "decimal", "float32", "float64"):
            return self.number(depth)
        return {"bool": self.boolean, "string": self.string, "date": self.day, "timestamp": self.moment, "time": self.clock, "binary": self.binary, "interval": self.span}[kind](depth)

    def any(self, depth):
        return self.of_kind(self.kind({"int64": 6, "bool": 2, "string": 4, "date": 2, "timestamp": 1, "time": 1, "binary": 1, "interval": 1}), depth)

    def kind(self, weights):
        """A kind of value, of which the input has a column if possible."""
        have = {"int64" if c.type.is_number else c.type.kind for c in self.columns}
        found = {k: w for k, w in weights.items() if k in have}
        if found and self.rng.random() < 0.93:
            weights = found
        return self.rng.choices(list(weights), list(weights.values()))[0]

    # ---- numbers

    def number_leaf(self):
        c = self.pick(lambda t: t.is_number)
        if c and self.rng.random() < 0.85:
            return c
        return self.number_literal()

    def number_literal(self):
        shape = self.rng.random()
        if shape < 0.5:
            return self.constant(self.rng.choice([0, 1, 2, -1, 3, 7, 10, 100, -12, 1000]), INT64)
        if shape < 0.8:
            text = self.rng.choice(["0.5", "1.50", "0.05", "2.0", "-0.25", "100.00", "0.001", "12345.6789"])
            t = literal_decimal_type(text)
            return self.constant(Decimal(text), t)
        if shape < 0.9:
            return self.constant(self.rng.choice([0.5, -2.0, 1024.0, 0.0625]), FLOAT64)
        return self.constant(self.rng.choice([1, -5, 42]), INT32)

    def number(self, depth):
        if depth <= 0:
            return self.number_leaf()
        shape = self.rng.random()
        if shape < 0.5:
            return self.arith(depth)
        if shape < 0.55:
            return self.bits(depth)
        if shape < 0.62:
            return self.negative(self.number(depth - 1))
        if shape < 0.74:
            return self.cast_number(self.number(depth - 1))
        if shape < 0.86:
            return self.choice([self.number(depth - 1) for _ in range(self.rng.randint(1, 3))], depth)
        if shape < 0.91:
            return self.from_other(depth)
        if shape < 0.96:
            return self.function(self.number(depth - 1))
        if shape < 0.98:
            return self.try_cast(depth)
        return self.number_leaf()

    def bits(self, depth):
        """Of integers; amounts of shifts are literals, or columns where they may raise."""
        a, b = (v if v.type.is_int else self.constant(self.rng.choice([0, 1, -1, 7, 255, -256]), INT64)
                for v in (self.number(depth - 1), self.number_leaf()))
        op = self.rng.choice(["&", "|", "xor", "~", "<<", ">>", "bit_count"])
        if op == "~":
            return self.make(op, INT64, [a], -1 - a.hi, -1 - a.lo)
        if op == "bit_count":
            return self.make(op, INT32, [a], Fraction(0), Fraction(64))
        if op in ("<<", ">>"):
            return self.bit_shift(op, a, b)
        reach = Fraction(1 << max(int(v).bit_length() for v in (a.lo, a.hi, b.lo, b.hi)))
        return self.make(op, INT64, [a, b], -reach, reach - 1)

    def bit_shift(self, op, a, b):
        n = self.rng.choice([0, 1, 3, 17, 63, 64, 100] if op == ">>" else [0, 1, 3, 12, 40])
        if self.dare():
            return self.make(op, INT64, [a, b], -RANGE["int64"], RANGE["int64"] - 1)
        if op == ">>":
            ends = Fraction(int(a.lo) >> n), Fraction(int(a.hi) >> n)
        else:
            ends = a.lo * 2 ** n, a.hi * 2 ** n
        if not in_type(*ends, INT64):
            return a
        return self.make(op, INT64, [a, self.constant(n, INT64)], *ends)

    def function(self, a):
        """A function of one number; a itself where none can be told to succeed."""
        return self.rng.choice([self.magnitude, self.sign, self.root, self.rounding, self.bucket])(a)

    def bucket(self, a):
        if not a.type.is_int and not (a.type.kind == "decimal" and a.type.p <= 12):
            return self.sign(a)
        low = int(a.lo) + self.rng.choice([0, 0, -1, 3])
        high = max(low + 1, int(a.hi) + self.rng.choice([0, 1, -5]))
        if abs(low) >> 62 or abs(high) >> 62 or (a.type.kind == "decimal" and max(abs(low), abs(high)) >= 10 ** (a.type.p - a.type.s)):
            return self.sign(a)
        n = self.rng.choice([1, 2, 7, 1000])
        return self.make("width_bucket", INT32, [a] + [lit(v, INT64) for v in (low, high, n)], Fraction(0), Fraction(n + 1))

    def magnitude(self, a):
        t = INT64 if a.type.is_int else a.type
        if not in_type(Fraction(0), a.reach, t) and not self.dare():
            return a
        lo = Fraction(0) if a.lo <= 0 <= a.hi else min(abs(a.lo), abs(a.hi))
        return self.make("abs", t, [a], lo, a.reach, finite=a.finite, bits=a.bits)

    def sign(self, a):
        return self.make("sign", INT32, [a], Fraction(-1), Fraction(1))

    def rounding(self, a):
        if not a.type.kind == "decimal" or not a.type.s:
            return self.sign(a)
        op, args, digits = self.rng.choice(["floor", "ceil", "trunc", "round"]), [a], 0
        if op == "round" and self.rng.random() < 0.7:
            digits = self.rng.randrange(a.type.s)
            args = [a, lit(digits, INT64)]
            if self.rng.random() < 0.25:
                args[1].node = self.params(digits, INT64)
                return self.make(op, decimal(min(38, a.type.p + 1), a.type.s), args, a.lo - 1, a.hi + 1)
        t = decimal(min(38, a.type.p - a.type.s + digits + 1), digits)
        return self.make(op, t, args, a.lo - 1, a.hi + 1)

    def root(self, a):
        if self.as_float(a) is False or (a.lo < 0 and not self.dare()):
            return self.magnitude(a)
        t = FLOAT32 if a.type == FLOAT32 else FLOAT64
        return self.make("sqrt", t, [a], Fraction(0), max(a.hi, Fraction(1)), finite=a.finite, bits=None)

    def arith(self, depth):
        a, b = self.number(depth - 1), self.number(depth - 1)
        op = self.rng.choice(["+", "-", "*", "+", "-", "*", "/", "%"])
        if self.meet([a, b]):
            return self.float_arith(op, a, b) or a
        if a.type.is_int and b.type.is_int:
            return self.int_arith(op, a, b) or a
        return self.decimal_arith(op, a, b) or a

    def int_arith(self, op, a, b):
        if op in "/%":
            lo, hi = -a.reach, a.reach
            if op == "%":
                lo, hi = -b.reach, b.reach
            return self.divide(op, INT64, a, b, lo, hi)
        return self.bounded(op, INT64, a, b)

    def bounded(self, op, t, a, b):
        f = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}[op]
        lo, hi = corners(a, b, f)
        # a sum in decimal(38,s) may be computed on operands brought to its scale: they must fit as well
        operands = t.kind != "decimal" or op == "*" or (in_type(a.lo, a.hi, t) and in_type(b.lo, b.hi, t))
        if in_type(lo, hi, t) and operands:
            return self.make(op, t, [a, b], lo, hi)
        if operands and self.dare():
            reach = Fraction(RANGE.get(t.kind, 10 ** (t.p - t.s)))
            return self.make(op, t, [a, b], max(lo, -reach), min(hi, reach - 1))
        return None

    def decimal_arith(self, op, a, b):
        ta, tb = as_decimal_type(a.type), as_decimal_type(b.type)
        if op == "*":
            if ta.s + tb.s > 38:
                return None
            return self.bounded(op, decimal(min(38, ta.p + tb.p), ta.s + tb.s), a, b)
        if op in "+-":
            return self.bounded(op, add_type(ta, tb)[0], a, b)
        t = decimal(38, max(6, ta.s))
        reach = a.reach * 10 ** tb.s + 1
        # the scaled dividend has up to this many digits; engines with 128-bit steps are allowed to need them
        if op == "%" or not in_type(-reach, reach, t):
            return None
        return self.divide(op, t, a, b, -reach, reach)

    def divide(self, op, t, a, b, lo, hi, **extra):
        """Guarded unless the divisor cannot be zero."""
        if t == INT64 and a.lo == -RANGE["int64"] and b.lo <= -1 <= b.hi and op == "/" and not self.dare():
            return None
        if b.lo > 0 or b.hi < 0 or self.dare():
            return self.make(op, t, [a, b], lo, hi, **extra)
        zero = lit(0, INT64)
        if self.rng.random() < 0.5:
            test = self.make("<>", BOOL, [b, zero])
            out = self.make("case", t, [test, self.make(op, t, [a, b])], lo, hi, **extra)
        else:
            one = self.make("cast", b.type, [lit(1, INT64)])
            safe = self.make("case", b.type, [self.make("=", BOOL, [b, zero]), one, b])
            if b.type.kind == "decimal" and b.type.p == b.type.s:
                return None
            out = self.make(op, t, [a, safe], lo, hi, **extra)
        out.nullable = True
        return out

    def as_float(self, a):
        """Bits of the value as a double, or None if it is rounded; False if the conversion is not one step."""
        if a.type.is_float:
            return a.bits
        if a.type.kind == "decimal" and a.type.p > FLOAT_EXACT_DIGITS:
            return False
        if a.type.kind == "decimal":
            return None
        return 0 if a.reach < 1 << 53 else None

    def meet(self, values):
        """The type of floats that meet, other numbers among them; None without a float."""
        if not any(v.type.is_float for v in values):
            return None
        narrow = all(v.type in (FLOAT32, NULL) or written(v.node) for v in values)
        return FLOAT32 if narrow and any(v.type == FLOAT32 for v in values) else FLOAT64

    def common_type(self, values):
        t = self.meet(values) or values[0].type
        for v in values[1:]:
            t = t if t.is_float and v.type.is_number else unify(t, v.type, "")
        return t

    def float_arith(self, op, a, b):
        x, y = self.as_float(a), self.as_float(b)
        if x is False or y is False or op == "%":
            return None
        t, finite = self.meet([a, b]), a.finite and b.finite
        if op == "/":
            smallest = Fraction(1, 2 ** y) if y is not None else Fraction(1, 10 ** 6)
            reach = a.reach / smallest
            if y is None or reach >= FLOAT_REACH or not b.finite:
                return None
            return self.divide(op, t, a, b, -reach, reach, finite=finite, bits=None)
        out = self.bounded(op, t, a, b)
        if out:
            out.finite, out.bits = finite, self.bits_of(op, x, y, out)
        return out

    def bits_of(self, op, x, y, out):
        if x is None or y is None:
            return None
        return kept_bits(x + y if op == "*" else max(x, y), out.reach, out.type)

    def negative(self, a):
        t = INT64 if a.type.is_int else a.type
        if not in_type(-a.hi, -a.lo, t) and not self.dare():
            return a
        return self.make("neg", t, [a], -a.hi, -a.lo, finite=a.finite, bits=a.bits)

    def from_other(self, depth):
        if self.rng.random() < 0.3:
            return self.text_number(depth - 1)
        if self.rng.random() < 0.1:
            return self.make("extract", INT64, [self.clock(depth - 1)], Fraction(0), Fraction(1 << 26), name=self.rng.choice([*TIME_FIELDS, "epoch"]))
        if self.rng.random() < 0.1:
            return self.part_of_span(depth)
        if self.rng.random() < 0.5:
            d = self.day(depth - 1) if self.rng.random() < 0.6 else self.moment(depth - 1)
            field_name = self.rng.choice(UNITS + DAY_FIELDS + (TIME_FIELDS if d.type == TIMESTAMP else ()))
            reach = Fraction(1 << 40 if field_name == "epoch" else 1 << 26)
            return self.make("extract", INT64, [d], -reach if field_name == "epoch" else Fraction(0), reach, name=field_name)
        if self.rng.random() < 0.4:
            return self.units(depth)
        if self.rng.random() < 0.2:
            return self.make("cast", INT32, [self.boolean(depth - 1)], Fraction(0), Fraction(1))
        if self.rng.random() < 0.3:
            return self.hashed(depth)
        a, b = self.day(depth - 1), self.day(depth - 1)
        return self.make("date_diff", INT64, [a, b], a.lo - b.hi, a.hi - b.lo)

    def hashed(self, depth):
        """Of values that are the same to the last bit everywhere."""
        args = [self.any(depth - 1) for _ in range(self.rng.choice([1, 1, 2, 3]))]
        args = [self.constant(7, INT64) if a.inexact or a.type == NULL else a for a in args]
        return self.make("hash", INT64, args, -RANGE["int64"], RANGE["int64"] - 1)

    def units(self, depth):
        """How many units begin between two days or times."""
        a, b = (self.day(depth - 1) if self.rng.random() < 0.6 else self.moment(depth - 1) for _ in range(2))
        reach = Fraction(10 ** 18)
        return self.make("units_between", INT64, [a, b], -reach, reach, name=self.rng.choice(CUT))

    # ---- casts

    def cast_number(self, a):
        t = self.rng.choice([INT32, INT64, FLOAT32, FLOAT64, decimal(12, 2), decimal(9, 0), decimal(18, 6), decimal(38, 4),
                             decimal(30, 10)])
        if a.type.is_float and not t.is_float:
            return self.cast_float(a, t)
        if t.is_float:
            bits = self.as_float(a)
            if bits is False or a.type == t or a.reach >= FLOAT_REACH:
                return a
            return self.make("cast", t, [a], a.lo, a.hi, bits=kept_bits(bits, a.reach, t), finite=a.finite)
        lo, hi = a.lo - 1, a.hi + 1  # rounding may carry
        if not in_type(lo, hi, t) and not self.dare():
            return a
        out = self.make("cast", t, [a], lo, hi)
        if self.rng.random() < 0.2:
            text = self.make("cast", STRING, [out])
            return self.make("cast", t, [text], lo, hi)
        return out

    def cast_float(self, a, t):
        # x * 10^s must be exact in a double, so that every way of rounding gives the same
        exact = a.bits is not None and a.reach * 2 ** a.bits * 10 ** t.s < 1 << 52
        if not exact or not in_type(a.lo - 1, a.hi + 1, t) or not (a.finite or self.dare()):
            return a
        return self.make("cast", t, [a], a.lo - 1, a.hi + 1)

    def try_cast(self, depth):
        """Of a number or string that may not fit; of floats where every way of rounding gives the same."""
        t = self.rng.choice([INT32, INT32, INT64, decimal(4, 2), decimal(9, 2), decimal(18, 0)])
        limit = Fraction(1 << (31 if t == INT32 else 63)) if t.is_int else Fraction(10 ** (t.p - t.s))
        a = self.number(depth - 1) if self.rng.random() < 0.6 else self.pick(lambda t: t == STRING) or self.constant("12", STRING)
        if a.type.is_float and (a.bits is None or a.reach * 2 ** a.bits * 10 ** t.s >= 1 << 52):
            return a
        out = self.make("try_cast", t, [a], -limit, limit)
        out.nullable = True
        return out

    # ---- choices

    def choice(self, values, depth):
        """coalesce or case over values whose types unify without loss."""
        values = self.unifiable(values)
        t = self.common_type(values)
        lo, hi = min(v.lo for v in values), max(v.hi for v in values)
        extra = {"finite": all(v.finite for v in values), "bits": self.common_bits(values, t),
                 "ascii": all(v.ascii for v in values)}
        if self.rng.random() < 0.3 and len(values) > 1:
            out = self.make(self.rng.choice(["coalesce", "least", "greatest"]), t, values, lo, hi, **extra)
            out.nullable = all(v.nullable for v in values)
            return out
        if self.rng.random() < 0.15:
            return self.unless_equal(values[0], depth)
        if self.rng.random() < 0.2 and len(values) > 1:
            return self.make("iif", t, [self.boolean(depth - 1), *values[:2]], lo, hi, **extra)
        out = self.case_of(values, t, lo, hi, extra) if self.rng.random() < 0.3 else self.case_when(values, t, lo, hi, extra, depth)
        return out

    def case_when(self, values, t, lo, hi, extra, depth):
        args = []
        for v in values:
            args += [self.boolean(depth - 1), v]
        if self.rng.random() < 0.6:
            args.append(self.constant_of(values[-1]) if self.rng.random() < 0.3 else values[0])
        out = self.make("case", t, args, lo, hi, **extra)
        out.nullable = True
        return out

    def unless_equal(self, a, depth):
        out = self.make("nullif", a.type, [a, self.partner(a, depth)], a.lo, a.hi, finite=a.finite, bits=a.bits, ascii=a.ascii,
                        inexact=a.inexact)
        out.nullable = True
        return out

    def case_of(self, values, t, lo, hi, extra):
        subject = self.pick(lambda t: t.kind in ("int32", "int64", "string", "date", "bool"))
        if not subject or not subject.samples:
            return values[0]
        args = [subject]
        for v in values:
            args += [lit(self.rng.choice(subject.samples), subject.type), v]
        if self.rng.random() < 0.5:
            args.append(values[0])
        out = self.make("case_of", t, args, lo, hi, **extra)
        out.nullable = True
        return out

    def constant_of(self, v):
        return Val(Node("lit", value=None, type=NULL), v.type, True)

    def common_bits(self, values, t):
        if not t.is_float:
            return 0
        bits = [self.as_float(v) for v in values]
        if any(b is None or b is False for b in bits):
            return None
        return kept_bits(max(bits), max(v.reach for v in values), t)

    def unifiable(self, values):
        out = values[:1]
        for v in values[1:]:
            try:
                t = self.common_type([out[0], v])
            except PlanError:
                continue
            both = out + [v]
            if t.kind == "decimal" and not all(in_type(x.lo, x.hi, t) for x in both):
                continue
            if t.is_float and any(self.as_float(x) is False for x in both):
                continue
            if len(out) > 1 and v.type != out[0].type:
                continue
            out = both
        return out

    # ---- conditions

    def boolean(self, depth):
        shape = self.rng.random()
        if depth > 0 and shape < 0.35:
            op = self.rng.choice(["and", "or"])
            return self.make(op, BOOL, [self.boolean(depth - 1) for _ in range(self.rng.choice([2, 2, 3]))])
        if depth > 0 and shape < 0.45:
            return self.make("not", BOOL, [self.boolean(depth - 1)])
        if shape < 0.52:
            c = self.pick(lambda t: t == BOOL)
            if c:
                return c
        if shape < 0.6:
            return self.null_test(self.any(depth - 1))
        if shape < 0.62:
            return self.constant(self.rng.choice([True, False]), BOOL)
        return self.test(depth)

    def null_test(self, a):
        out = self.make("is_null", BOOL, [a])
        out.nullable = False
        return out if self.rng.random() < 0.5 else self.make("not", BOOL, [out])

    def test(self, depth):
        """A comparison of a column or an expression with something like it."""
        kind = self.kind({"int64": 6, "string": 4, "date": 3, "timestamp": 1, "time": 1, "bool": 1, "binary": 1, "interval": 1})
        a = self.of_kind(kind, depth - 1)
        shape = self.rng.random()
        if a.type == STRING and shape < 0.3:
            op = self.rng.choice(["like", "like", "starts_with", "ends_with", "contains"])
            return self.like(a) if op == "like" else self.make(op, BOOL, [a, self.string(0)])
        if shape < 0.15:
            return self.make("between", BOOL, [a, self.partner(a, depth), self.partner(a, depth)])
        if shape < 0.35:
            return self.membership(a)
        if shape < 0.42:
            return self.distinctness(a, depth)
        return self.make(self.rng.choice(sorted(COMPARE)), BOOL, [a, self.partner(a, depth)])

    def distinctness(self, a, depth):
        out = self.make("is_not_distinct_from", BOOL, [a, self.partner(a, depth)])
        out.nullable = False
        return out if self.rng.random() < 0.5 else self.make("not", BOOL, [out])

    def sample(self, a):
        """A literal of a's type, of a value that occurs if a is a column."""
        if a.samples and not a.type.is_float:
            return self.constant(self.rng.choice(a.samples), a.type)
        return None

    def partner(self, a, depth):
        """Something comparable with a."""
        found = self.sample(a) if self.rng.random() < 0.7 else None
        if found:
            return found
        if self.rng.random() < 0.03:
            return Val(Node("lit", value=None, type=NULL), a.type)
        b = self.of_kind(a.type.kind, depth - 1)
        if not a.type.is_number:
            return self.time_partner(a, b, depth)
        if self.meet([a, b]) and (self.as_float(a) is False or self.as_float(b) is False):
            return a
        return b

    def time_partner(self, a, b, depth):
        if a.type == DATE and self.rng.random() < 0.15:
            return self.moment(depth - 1)
        return b

    def membership(self, a):
        if a.type.is_float:
            return self.float_membership(a)
        pool = a.samples or [self.default_value(a.type)]
        values = [self.rng.choice(pool) for _ in range(self.rng.choice([1, 2, 3, 8]))]
        if self.rng.random() < 0.15:
            return self.make("in", BOOL, [a, Val(self.params(values, Type("list", element=a.type)), a.type)], name="list")
        items = [lit(v, a.type) for v in values]
        if self.rng.random() < 0.1:
            items.append(Val(Node("lit", value=None, type=NULL), a.type, True))
        if a.type.is_int and self.rng.random() < 0.2:
            items.append(self.number_leaf_exact())
        return self.make("in", BOOL, [a, *items])

    def float_membership(self, a):
        """Values as they are in a list that is a parameter; as exact literals those that have few digits, which a float
        rounds, as 0.1."""
        pool = (a.samples or [0.5, -2.0]) + [0.1, 16777217.0]
        values = [self.rng.choice(pool) for _ in range(self.rng.choice([1, 2, 3, 8]))]
        if self.rng.random() < 0.25:
            return self.make("in", BOOL, [a, Val(self.params(narrowed(values, a.type), Type("list", element=a.type)), a.type)], name="list")
        items = [exact_literal(v) for v in values if v == v and abs(v) < 1 << 30]
        if self.rng.random() < 0.2:
            items.append(lit(self.rng.choice([0.5, 1e300]), FLOAT64))  # beside it a float32 becomes a float64
        items = [i for i in items if i]
        return self.make("in", BOOL, [a, *items]) if items else self.null_test(a)

    def number_leaf_exact(self):
        v = self.number_leaf()
        return v if not v.type.is_float else lit(3, INT64)

    def default_value(self, t):
        return {"int32": 1, "int64": 2, "string": "a", "bool": True, "date": datetime.date(1995, 1, 1),
                "timestamp": datetime.datetime(1995, 1, 1), "time": datetime.time(12, 0), "binary": b"a\x80", "interval": Interval(0, 1, 0), "decimal": Decimal(1).scaleb(-t.s) if t.s < 20 else Decimal(0)}[t.kind]
