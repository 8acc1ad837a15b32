"""Random conditions of joins that are ranges: one inequality, two, bands, containment and overlap of intervals.

Each is a Val over columns of both sides, or None where the sides have no columns for it.
"""

import datetime
from decimal import Decimal

from gen_expr import ExprGen
from gen_value import lit
from hdtypes import BOOL, DATE, FLOAT64, INT64, decimal

ORDERED = ("<", "<=", ">", ">=")


class RangeGen:
    """sides: the Vals of the left and of the right columns; joinable: what may be compared."""

    def __init__(self, rng, sides, joinable, params, risk):
        self.rng, self.joinable = rng, joinable
        self.gen = ExprGen(rng, sides[0] + sides[1], params, risk)
        self.sides = [[v for v in side if not v.inexact and v.type != BOOL] for side in sides]
        if rng.random() < 0.5:
            self.sides.reverse()

    def condition(self):
        shapes = [self.one, self.two, self.band, self.band, self.distance, self.inside, self.inside, self.overlap]
        self.rng.shuffle(shapes)
        return next((c for c in (shape() for shape in shapes) if c), None)

    def make(self, op, *args):
        return self.gen.make(op, BOOL, list(args))

    def met(self, extra=lambda a, b: True):
        """A column of each side that can be compared, preferably within each other's values."""
        found = [(a, b) for a in self.sides[0] for b in self.sides[1] if self.joinable(a, b) and extra(a, b)]
        near = [(a, b) for a, b in found if a.type.is_number and a.lo <= b.hi and b.lo <= a.hi]
        return self.rng.choice(near if near and self.rng.random() < 0.8 else found) if found else None

    def one(self):
        both = self.met()
        return both and self.make(self.rng.choice(ORDERED), *both)

    def two(self):
        first, second = self.one(), self.one()
        return first and second and self.make("and", first, second)

    def width(self, t):
        n = self.rng.choice([0, 1, 3, 40, 1000])
        if t.is_float:
            return lit(n / 2, FLOAT64) if self.rng.random() < 0.5 else lit(n, INT64)
        return lit(Decimal(n).scaleb(-1), decimal(4, 1)) if t.kind == "decimal" and n and n < 1000 else lit(n, INT64)

    def moved(self, a, op):
        """a + d or a - d, where that is in range; a generator with risk makes others as well."""
        if a.type == DATE:
            n = self.rng.choice([0, 1, 30, 400])
            reach = n if op == "+" else -n
            if not datetime.date.min.toordinal() <= min(a.lo, a.lo + reach) <= max(a.hi, a.hi + reach) <= datetime.date.max.toordinal():
                return None
            return self.gen.make("add_days", DATE, [a, lit(reach, INT64)], a.lo + reach, a.hi + reach)
        if not a.type.is_number:
            return None
        d = self.width(a.type)
        if self.gen.meet([a, d]):
            return self.gen.float_arith(op, a, d)
        return (self.gen.int_arith if a.type.is_int and d.type.is_int else self.gen.decimal_arith)(op, a, d)

    def band(self):
        both = self.met()
        if not both:
            return None
        a, b = both
        low, high = self.moved(a, "-"), self.moved(a, "+")
        if not low or not high:
            return None
        if self.rng.random() < 0.6:
            return self.make("between", b, low, high)
        return self.make("and", self.make(self.rng.choice(["<", "<="]), low, b), self.make(self.rng.choice(["<", "<="]), b, high))

    def distance(self):
        both = self.met(lambda a, b: a.type == DATE == b.type or a.type.is_number)
        if not both:
            return None
        a, b = both
        if a.type == DATE:
            apart = self.gen.make("date_diff", INT64, [a, b], a.lo - b.hi, a.hi - b.lo)
        elif self.gen.meet(both):
            apart = self.gen.float_arith("-", a, b)
        else:
            apart = (self.gen.int_arith if a.type.is_int and b.type.is_int else self.gen.decimal_arith)("-", a, b)
        if not apart:
            return None
        size = self.gen.magnitude(apart)
        return self.make(self.rng.choice(["<=", "<=", "<"]), size, self.width(size.type)) if size is not apart else None

    def interval(self, side, x):
        """Two columns of a side that x can be compared with: those of an interval first."""
        usable = [b for b in side if self.joinable(x, b)]
        ends = [(a, b) for a in usable for b in usable if a.node.name.endswith("_lo") and b.node.name == a.node.name[:-3] + "_hi"]
        if ends and self.rng.random() < 0.8:
            return self.rng.choice(ends)
        return self.rng.sample(usable, 2) if len(usable) > 1 else None

    def inside(self):
        both = self.met(lambda a, b: self.interval(self.sides[1], a))
        if not both:
            return None
        low, high = self.interval(self.sides[1], both[0])
        if self.rng.random() < 0.5:
            return self.make("between", both[0], low, high)
        return self.make("and", self.make(self.rng.choice(["<", "<="]), low, both[0]), self.make(self.rng.choice(["<", "<="]), both[0], high))

    def overlap(self):
        both = self.met(lambda a, b: self.interval(self.sides[1], a) and self.interval(self.sides[0], b))
        if not both:
            return None
        (low, high), (from_, to) = self.interval(self.sides[0], both[1]), self.interval(self.sides[1], both[0])
        if not (self.joinable(low, to) and self.joinable(from_, high)):
            return None
        op = self.rng.choice(["<", "<="])
        return self.make("and", self.make(op, low, to), self.make(op, from_, high))
