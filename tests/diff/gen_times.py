"""Random expressions of dates, times and timestamps."""

import datetime
from fractions import Fraction

from gen_data import FIRST_DAY, LAST_DAY
from gen_value import corners
from hdexpr import CUT, TIME_FIELDS
from hdtypes import DATE, INT64, INTERVAL, STRING, TIME, TIMESTAMP, Interval


class TimeGen:
    """A part of ExprGen."""

    def day(self, depth):
        c = self.pick(lambda t: t == DATE)
        if depth > 0 and self.rng.random() < 0.4:
            return self.shifted(self.day(depth - 1), depth)
        if depth > 0 and self.rng.random() < 0.25:
            return self.day_from_other(depth)
        if c and self.rng.random() < 0.8:
            return c
        v = datetime.date(self.rng.choice([1992, 1995, 2000]), self.rng.randint(1, 12), self.rng.randint(1, 28))
        return self.constant(v, DATE)

    def shifted(self, d, depth):
        unit, per = self.rng.choice([("add_days", 1), ("add_months", 31)])
        n = self.constant(self.rng.choice([0, 1, -1, 3, 12, -12, 90, 365]), INT64)
        if self.rng.random() < 0.2:
            n = self.number_leaf()
            if not n.type.is_int or n.reach > 100000:
                return d
        lo, hi = corners(d, n, lambda x, y: x + y * per)
        lo, hi = min(lo, d.lo - 31), max(hi, d.hi + 31)
        if lo < FIRST_DAY or hi > LAST_DAY:
            return d
        return self.make(unit, DATE, [d, n], lo, hi)

    def day_from_other(self, depth):
        shape = self.rng.random()
        if shape < 0.4:
            m = self.moment(depth - 1)
            return self.make("cast", DATE, [m], Fraction(FIRST_DAY), Fraction(LAST_DAY))
        if shape < 0.6:
            d = self.day(depth - 1)
            return self.make("cast", DATE, [self.make("cast", STRING, [d])], d.lo, d.hi)
        if shape < 0.8:
            return self.cut(self.day(depth - 1))
        return self.choice([self.day(depth - 1), self.day(depth - 1)], depth)

    def cut(self, x):
        """The beginning of its year, month ..., or the end of its month."""
        if x.type == DATE and x.hi + 31 <= LAST_DAY and self.rng.random() < 0.2:
            return self.make("last_day", DATE, [x], x.lo, x.hi + 31)
        unit = self.rng.choice([u for u in CUT if x.type == TIMESTAMP or u not in TIME_FIELDS])
        reach = 366 * {"decade": 10, "century": 100}.get(unit, 1)
        if x.type == DATE and x.lo - reach < FIRST_DAY:
            return x
        return self.make("date_trunc", x.type, [x], x.lo - reach if x.type == DATE else x.lo, x.hi, name=unit)

    def moment(self, depth):
        c = self.pick(lambda t: t == TIMESTAMP)
        if c and self.rng.random() < 0.85:
            return c
        if depth > 0 and self.rng.random() < 0.4:
            return self.cut(self.moment(depth - 1))
        if depth > 0:
            day = self.day(depth - 1)
            begin = self.make("cast", TIMESTAMP, [day])
            inside = day.lo - 500 >= FIRST_DAY and day.hi + 500 <= LAST_DAY
            if self.rng.random() < 0.2 and day.lo - 9000 >= FIRST_DAY and day.hi + 9000 <= LAST_DAY:
                return self.make(self.rng.choice("+-"), TIMESTAMP, [self.rng.choice([day, begin]), self.span(0)])
            return self.later(begin) if self.rng.random() < 0.6 and (inside or self.dare()) else begin
        return self.constant(datetime.datetime(1995, 6, 17, self.rng.randint(0, 23), 59, 58), TIMESTAMP)

    def clock(self, depth):
        """A time of the day."""
        c, shape = self.pick(lambda t: t == TIME), self.rng.random()
        if depth > 0 and shape < 0.2:
            return self.make("cast", TIME, [self.moment(depth - 1)])
        if depth > 0 and shape < 0.5:
            amount = self.constant(self.rng.choice([0, 1, -1, 3600000000, self.rng.randint(-10 ** 12, 10 ** 12)]), INT64)
            return self.make("add_micros", TIME, [self.clock(depth - 1), amount])
        if c and shape < 0.9:
            return c
        return self.constant(datetime.time(self.rng.randint(0, 23), self.rng.choice([0, 30, 59]), self.rng.choice([0, 59])), TIME)

    def span(self, depth):
        """An interval that is told from equal ones by its length (gen_data.span_pool): no sum."""
        c, shape = self.pick(lambda t: t == INTERVAL), self.rng.random()
        if depth > 0 and shape < 0.2:
            return self.make("neg", INTERVAL, [self.span(depth - 1)])
        if depth > 0 and shape < 0.35:
            return self.choice([self.span(depth - 1) for _ in range(2)], depth)
        if c and shape < 0.9:
            return c
        return self.constant(Interval(self.rng.choice([0, 1, 25]), self.rng.choice([0, 29]), self.rng.choice([0, 3600000000, 86399999999])), INTERVAL)

    def part_of_span(self, depth):
        """A field of an interval, maybe of a sum."""
        v = self.span(depth - 1)
        if self.rng.random() < 0.5:
            v = self.make(self.rng.choice("+-"), INTERVAL, [v, self.span(0)])
        reach = Fraction(1 << 30)
        return self.make("extract", INT64, [v], -reach, reach, name=self.rng.choice(["century", "decade", "year", "month", "day", *TIME_FIELDS]))

    def later(self, moment):
        op, n = self.rng.choice([("add_days", 40), ("add_months", 14), ("add_micros", 10 ** 10)])
        amount = self.constant(self.rng.choice([0, 1, -1, self.rng.randint(-n, n)]), INT64)
        return self.make(op, TIMESTAMP, [moment, amount])
