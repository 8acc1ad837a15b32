"""Functions of float64 (templates/math.cuh, through the runtime's entries) against decimals of many digits.

Each result must lie within 2 units in the last place of the exact value; the largest error of each function is printed.
Arguments: powers of two and of ten, whole numbers, neighbours of 1, of multiples of pi / 2 and of the ends, and random
bits.

Usage: test_math.py LIBRARY [NUMBER OF RANDOM ARGUMENTS [SEED]]
"""
import ctypes
import math
import random
import struct
import sys
from decimal import Context, Decimal, ROUND_HALF_EVEN, localcontext

LIMIT = 2  # units in the last place
DIGITS = 60
WIDE = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emax=99999, Emin=-99999)
library = None


def arctan_of_inverse(n, digits):
    """atan(1 / n) in units of 10^-digits."""
    unit = 10 ** digits
    term, total, k = unit // n, unit // n, 1
    while term:
        term = -term // (n * n)
        k += 2
        total += term // k
    return total


PI_DIGITS = 1200
PI = 4 * (4 * arctan_of_inverse(5, PI_DIGITS + 10) - arctan_of_inverse(239, PI_DIGITS + 10)) // 10 ** 10


def pi():
    return +Decimal(PI).scaleb(-PI_DIGITS)


def turned(x):
    """(quadrant, rest) of a float: x - quadrant * pi / 2, |rest| <= pi / 4."""
    n, d = x.as_integer_ratio()
    scaled = n * 10 ** PI_DIGITS // d
    quadrant = (2 * scaled + PI // 2) // PI
    with localcontext() as c:
        c.prec = PI_DIGITS
        rest = Decimal(2 * scaled - quadrant * PI).scaleb(-PI_DIGITS) / 2
    return quadrant % 4, +rest


def series(first, ratio):
    """first * (1 + ratio(1) + ratio(1) ratio(2) + ...)"""
    total, term, k = first, first, 1
    while term and abs(term) > abs(total).scaleb(-DIGITS - 2):
        term = term * ratio(k)
        total += term
        k += 1
    return total


def sine(r):
    return series(r, lambda k: -r * r / (2 * k * (2 * k + 1)))


def cosine(r):
    return series(Decimal(1), lambda k: -r * r / (2 * k * (2 * k - 1)))


def sin(x):
    quadrant, r = turned(x)
    v = cosine(r) if quadrant % 2 else sine(r)
    return -v if quadrant > 1 else v


def cos(x):
    quadrant, r = turned(x)
    v = sine(r) if quadrant % 2 else cosine(r)
    return -v if quadrant in (1, 2) else v


def tan(x):
    quadrant, r = turned(x)
    return -cosine(r) / sine(r) if quadrant % 2 else sine(r) / cosine(r)


def arctan(v):
    """By halving the angle three times, then Taylor's series."""
    if abs(v) > 1:
        return (pi() / 2).copy_sign(v) - arctan(1 / v)
    for _ in range(4):
        v = v / (1 + (1 + v * v).sqrt())
    return 16 * series_of_arctan(v)


def series_of_arctan(v):
    total, power, k = v, v, 1
    while power and abs(power) > abs(total).scaleb(-DIGITS - 2):
        power = -power * v * v
        k += 2
        total += power / k
    return total


def side(x):
    return (1 - x * x).sqrt()


def asin(x):
    x = Decimal(x)
    return (pi() / 2).copy_sign(x) if abs(x) == 1 else arctan(x / side(x))


def acos(x):
    x = Decimal(x)
    if x == 0:
        return pi() / 2
    return arctan(side(x) / x) + (pi() if x < 0 else 0)


def atan2(y, x):
    y, x = Decimal(y), Decimal(x)
    if x == 0:
        return (pi() / 2).copy_sign(y)
    return arctan(y / x) + (pi().copy_sign(y) if x < 0 else 0)


def cbrt(x):
    v = Decimal(x)
    return (abs(v).ln() / 3).exp().copy_sign(v) if v else v


def power(x, y):
    v = (abs(Decimal(x)).ln() * Decimal(y)).exp()
    return -v if x < 0 and y % 2 else v


EXACT = {"exp": lambda x: Decimal(x).exp(), "ln": lambda x: Decimal(x).ln(), "log10": lambda x: Decimal(x).log10(),
         "cbrt": cbrt, "sin": sin, "cos": cos, "tan": tan, "asin": asin, "acos": acos,
         "atan": lambda x: arctan(Decimal(x)), "power": power, "atan2": atan2,
         "degrees": lambda x: Decimal(x) * 180 / pi(), "radians": lambda x: Decimal(x) * pi() / 180}
TWO = ("power", "atan2")


def bits(v):
    return struct.unpack("<q", struct.pack("<d", v))[0]


def from_bits(b):
    return struct.unpack("<d", struct.pack("<Q", b & (1 << 64) - 1))[0]


def near(v, steps=2):
    """Neighbours of a number that is not 0."""
    return [from_bits(bits(v) + k) for k in range(-steps, steps + 1)]


def call(name, *args):
    f = library["hdr_" + name]
    f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double] * len(args)
    return f(*args)


def error(got, want):
    """In units of the last place of the nearest float64; infinite and zero results are those of the nearest."""
    nearest = float(want)
    if math.isinf(nearest) or math.isinf(got):
        return 0 if got == nearest or (abs(want) > Decimal(sys.float_info.max) and abs(got) == sys.float_info.max) else math.inf
    return float(abs(Decimal(got) - want) / Decimal(math.ulp(nearest)))


def plain():
    """Numbers worth a look whatever the function."""
    out = [2.0 ** k for k in range(-1074, 1024, 7)] + [10.0 ** k for k in range(-300, 301, 20)]
    out += [float(k) for k in range(1, 60)] + [k / 8 for k in range(1, 40)] + near(1.0, 8) + near(sys.float_info.max, 1)[:2]
    out += [v for k in range(1, 40) for v in near(k * math.pi / 2)]
    # the float64 nearest to a multiple of pi / 2, for its size (Muller, Elementary Functions, chapter 11)
    out += near(6381956970095103.0 * 2.0 ** 797) + near(709.782712893384) + near(-745.1332191019411)
    return out + [-v for v in out]


def random_number(rng):
    shape = rng.random()
    if shape < 0.4:
        return rng.uniform(-2, 2)
    if shape < 0.7:
        return rng.choice((-1, 1)) * 2.0 ** rng.uniform(-30, 30)
    v = from_bits(rng.getrandbits(64))
    return v if math.isfinite(v) else 1.0


DEFINED = {"ln": lambda x: x > 0, "log10": lambda x: x > 0, "asin": lambda x: abs(x) <= 1,
           "acos": lambda x: abs(x) <= 1, "exp": lambda x: abs(x) < 800,
           "power": lambda x, y: x != 0 and (x > 0 or y == int(y)) and abs(math.log(abs(x)) * y) < 800}


def arguments(name, rng, count):
    if name in TWO:
        pairs = [(float(x), float(y)) for x in range(-12, 13) for y in range(-12, 13) if (x, y) != (0, 0)]
        pairs += [(10.0, float(k)) for k in range(-330, 309)] + [(random_number(rng), random_number(rng)) for _ in range(count)]
        if name == "power":
            pairs += [(rng.uniform(0, 4), rng.uniform(-300, 300)) for _ in range(count)]
            pairs += [(x, 2.0 ** k) for k in range(40, 52) for x in near(1.0, 3)]
        return [p for p in pairs if 0 not in p]
    inside = [rng.uniform(-1, 1) for _ in range(count)] if name in ("asin", "acos") else []
    spread = [rng.uniform(-750, 750) for _ in range(count)] if name == "exp" else []
    return [(x,) for x in plain() + inside + spread + [random_number(rng) for _ in range(count)]]


def check(name, rng, count):
    worst, where, n = 0, None, 0
    for args in arguments(name, rng, count):
        if name in DEFINED and not DEFINED[name](*args):
            continue
        want = EXACT[name](*args)
        e = error(call(name, *args), want)
        n += 1
        if e > worst:
            worst, where = e, args
    print(f"{name}: {n} arguments, at most {worst:.3f} units, at {where}")
    return worst <= LIMIT and n > 0


NAN, INF = math.nan, math.inf
SPECIAL = [  # what C's functions of these names give, but that 0 to a negative power is not defined, and neither is ln 0
    ("exp", INF, INF), ("exp", -INF, 0.0), ("exp", NAN, NAN),
    ("exp", 710.0, INF), ("exp", -746.0, 0.0), ("exp", 0.0, 1.0), ("ln", 0.0, NAN), ("ln", -0.0, NAN), ("ln", -1.0, NAN),
    ("ln", INF, INF), ("ln", NAN, NAN), ("ln", 1.0, 0.0), ("log10", 0.0, NAN), ("log10", INF, INF), ("log10", NAN, NAN),
    *[("log10", 10.0 ** k, float(k)) for k in range(0, 23)], ("cbrt", -0.0, -0.0), ("cbrt", INF, INF), ("cbrt", -INF, -INF),
    ("cbrt", NAN, NAN), *[("cbrt", float(k ** 3), float(k)) for k in range(-50, 51) if k], ("sin", -0.0, -0.0), ("sin", INF, NAN),
    ("sin", NAN, NAN), ("cos", 0.0, 1.0), ("cos", INF, NAN), ("tan", -0.0, -0.0), ("tan", -INF, NAN), ("asin", -0.0, -0.0),
    ("asin", 1.5, NAN), ("asin", -1.0, -math.pi / 2), ("acos", 1.0, 0.0), ("acos", -1.0, math.pi), ("acos", -2.0, NAN),
    ("acos", NAN, NAN), ("atan", -0.0, -0.0), ("atan", INF, math.pi / 2), ("atan", -INF, -math.pi / 2), ("atan", NAN, NAN),
    ("power", 0.0, 0.0, 1.0), ("power", NAN, 0.0, 1.0), ("power", 1.0, NAN, 1.0), ("power", 0.0, -1.0, NAN),
    ("power", -0.0, 3.0, -0.0), ("power", -0.0, 2.0, 0.0), ("power", 0.0, 0.5, 0.0), ("power", -8.0, 1 / 3, NAN),
    ("power", -2.0, 3.0, -8.0), ("power", INF, -1.0, 0.0), ("power", -INF, 3.0, -INF), ("power", -INF, -3.0, -0.0),
    ("power", -INF, 2.0, INF), ("power", -INF, 0.5, INF), ("power", -INF, -0.5, 0.0), ("power", 2.0, INF, INF),
    ("power", 2.0, -INF, 0.0), ("power", 0.5, INF, 0.0), ("power", 0.5, -INF, INF), ("power", -1.0, INF, 1.0),
    ("power", 0.0, INF, 0.0), ("power", 0.0, -INF, NAN), ("power", 1e300, 2.0, INF), ("power", -1e300, 3.0, -INF),
    ("power", 1e-300, 2.0, 0.0), ("power", 2.0, -1074.0, 5e-324), ("power", -2.0, 9007199254740993.0, INF),
    ("power", NAN, 1.0, NAN), ("power", 2.0, NAN, NAN), *[("power", 10.0, float(k), 10.0 ** k) for k in range(0, 23)],
    ("atan2", 0.0, 1.0, 0.0), ("atan2", -0.0, 1.0, -0.0), ("atan2", 0.0, -1.0, math.pi), ("atan2", -0.0, -1.0, -math.pi),
    ("atan2", 0.0, 0.0, 0.0), ("atan2", 0.0, -0.0, math.pi), ("atan2", 1.0, 0.0, math.pi / 2), ("atan2", -1.0, -0.0, -math.pi / 2),
    ("atan2", INF, INF, math.pi / 4), ("atan2", INF, -INF, 3 * math.pi / 4), ("atan2", -INF, INF, -math.pi / 4),
    ("atan2", 1.0, INF, 0.0), ("atan2", 1.0, -INF, math.pi), ("atan2", INF, 1.0, math.pi / 2), ("atan2", NAN, 1.0, NAN),
    ("atan2", 1.0, NAN, NAN), ("atan2", 5e-324, 5e-324, math.pi / 4), ("atan2", 1e308, -1e308, 3 * math.pi / 4)]


def check_special():
    good = True
    for name, *args, want in SPECIAL:
        got = call(name, *args)
        if not (got != got if want != want else bits(got) == bits(want)):
            print(f"{name}{tuple(args)}: {got!r}, not {want!r}")
            good = False
    return good


def main():
    global library
    library = ctypes.CDLL(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with localcontext(WIDE):
        results = [check(name, rng, count) for name in EXACT]
    results.append(check_special())
    sys.exit(not all(results))


main()
