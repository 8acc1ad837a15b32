"""Variances, covariances, correlation and regression of exact rationals, and how far float64 may be from them.

Values cross as text. A function returns NULL as the plan's does: docs/plan.md 1.2.
"""

import math
from fractions import Fraction

ONE = ("stddev_pop", "stddev_samp", "var_pop", "var_samp")
TWO = ("covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy", "regr_sxx",
       "regr_syy", "regr_sxy")
U = 2.0 ** -53


def numbers(texts):
    """Rationals, or None if some value is infinite or NaN."""
    values = [float(t) if t.lower().strip("+-") in ("inf", "nan", "infinity") else Fraction(t) for t in texts]
    return None if any(isinstance(v, float) for v in values) else values


def as_float(v):
    try:
        return float(v)
    except OverflowError:
        return math.inf if v > 0 else -math.inf


class Moments:
    def __init__(self, ys, xs):
        self.n, self.found = len(xs), {}
        self.texts = {"x": xs, "y": ys}
        self.values = {"x": numbers(xs), "y": numbers(ys)}

    def products(self, a, b):
        """The sum of products of deviations from the means, exact."""
        if (a, b) not in self.found:
            self.found[a, b] = self.add_products(a, b)
        return self.found[a, b]

    def add_products(self, a, b):
        x, y = self.values[a], self.values[b]
        if x is None or y is None:
            return math.nan
        mx, my = sum(x) / Fraction(self.n), sum(y) / Fraction(self.n)
        return sum((p - mx) * (q - my) for p, q in zip(x, y))

    def mean(self, a):
        if self.values[a] is None:
            return sum(float(t) for t in self.texts[a]) / self.n
        return sum(self.values[a]) / Fraction(self.n)

    def largest(self, a):
        return as_float(max(abs(v) for v in self.values[a]))

    # ---- results

    def varies(self, a):
        p = self.products(a, a)
        return p != p or p > 0

    def result(self, fn):
        if not self.n or (fn.endswith("_samp") and self.n < 2):
            return None
        rows = self.n - 1 if fn.endswith("_samp") else self.n
        if fn.startswith("var") or fn.startswith("stddev"):
            v = self.products("x", "x") / rows
            return math.sqrt(v) if fn.startswith("stddev") else v
        if fn.startswith("covar"):
            return self.products("x", "y") / rows
        if fn in ("regr_avgx", "regr_avgy"):
            return self.mean(fn[-1])
        if fn in ("regr_sxx", "regr_syy", "regr_sxy"):
            return self.products(*fn[-2:])
        return self.of_line(fn)

    def of_line(self, fn):
        if not self.varies("x") or (fn == "corr" and not self.varies("y")):
            return None
        if fn == "regr_r2" and not self.varies("y"):
            return 1.0
        xy, xx = self.products("x", "y"), self.products("x", "x")
        if xx != xx or xy != xy:
            return math.nan
        if fn == "regr_slope":
            return xy / xx
        if fn == "regr_intercept":
            return self.mean("y") - xy / xx * self.mean("x")
        r2 = xy * xy / (xx * self.products("y", "y"))
        return r2 if fn == "regr_r2" else math.copysign(math.sqrt(r2), xy)

    # ---- errors

    def error_of_products(self, a, b):
        """Rounded means and sums, and arguments that were rounded to float64 before (see docs/plan.md 1.2)."""
        n, x, y = self.n, self.largest(a), self.largest(b)
        xx, yy = (math.sqrt(as_float(self.products(v, v))) for v in (a, b))
        return 8 * (n + 8) * U * xx * yy + n * (4 * (n + 8) * U) ** 2 * x * y + 8 * U * math.sqrt(n) * (x * yy + y * xx)

    def error_of_mean(self, a):
        return 4 * (self.n + 8) * U * self.largest(a)

    def error(self, fn):
        value = self.result(fn)
        if value is None or not math.isfinite(as_float(value)) or (fn == "regr_r2" and not self.varies("y")):
            return 0.0
        value, rows = as_float(value), self.n - 1 if fn.endswith("_samp") else self.n
        if fn.startswith("var"):
            return self.error_of_products("x", "x") / rows
        if fn.startswith("stddev"):
            e = self.error_of_products("x", "x") / rows
            return min(math.sqrt(e), e / value if value else math.inf) + 4 * U * value
        if fn.startswith("covar"):
            return self.error_of_products("x", "y") / rows
        if fn in ("regr_avgx", "regr_avgy"):
            return self.error_of_mean(fn[-1])
        if fn in ("regr_sxx", "regr_syy", "regr_sxy"):
            return self.error_of_products(*fn[-2:])
        return self.error_of_line(fn, value)

    def error_of_line(self, fn, value):
        xx, exx, exy = as_float(self.products("x", "x")), self.error_of_products("x", "x"), self.error_of_products("x", "y")
        if exx > xx / 2:
            return math.inf
        if fn in ("regr_slope", "regr_intercept"):
            b = abs(as_float(self.products("x", "y"))) / xx
            e = 2 * (exy + b * exx) / xx + 4 * U * b
            if fn == "regr_slope":
                return e
            mx, my = abs(as_float(self.mean("x"))), abs(as_float(self.mean("y")))
            return e * (mx + self.error_of_mean("x")) + b * self.error_of_mean("x") + self.error_of_mean("y") + 4 * U * (my + b * mx)
        yy, eyy = as_float(self.products("y", "y")), self.error_of_products("y", "y")
        if yy == 0:
            return 0.0
        if eyy > yy / 2:
            return math.inf
        return 8 * (exy / math.sqrt(xx) / math.sqrt(yy) + exx / xx + eyy / yy) + 8 * U


def moment(fn, ys, xs):
    value = Moments(ys or [], xs or []).result(fn)
    return None if value is None else as_float(value)


def moment_error(fn, ys, xs):
    return Moments(ys or [], xs or []).error(fn)
