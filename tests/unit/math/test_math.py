"""Functions of float64 (templates/math.cuh, through the runtime's entries) against decimals of many digits.

Each result must lie within 2 units in the last place of the exact value; the largest error of each function is printed.
Arguments: powers of two and of ten, whole numbers, neighbours of 1 and of the ends, and random bits.

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


EXACT = {"exp": lambda x: Decimal(x).exp(), "sqrt": lambda x: Decimal(x).sqrt()}


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
    out += near(709.782712893384) + near(-745.1332191019411)
    return out + [-v for v in out]


def random_number(rng):
    shape = rng.random()
    if shape < 0.4:
        return rng.uniform(-2, 2)
    if shape < 0.7:
        return rng.choice((-1, 1)) * 2.0 ** rng.uniform(-30, 30)
    v = from_bits(rng.getrandbits(64))
    return v if math.isfinite(v) else 1.0


DEFINED = {"sqrt": lambda x: x >= 0, "exp": lambda x: abs(x) < 800}


def arguments(name, rng, count):
    spread = [rng.uniform(-750, 750) for _ in range(count)] if name == "exp" else []
    return [(x,) for x in plain() + spread + [random_number(rng) for _ in range(count)]]


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
SPECIAL = [  # what C's functions of these names give
    ("sqrt", -0.0, -0.0), ("sqrt", INF, INF), ("sqrt", -1.0, NAN), ("exp", INF, INF), ("exp", -INF, 0.0), ("exp", NAN, NAN),
    ("exp", 710.0, INF), ("exp", -746.0, 0.0), ("exp", 0.0, 1.0)]


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
