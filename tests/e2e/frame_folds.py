#!/usr/bin/env python3
"""What folds of frames tell beside sums and extremes: variances, covariances, correlation and regression against exact
rationals, arg_min and arg_max, and sums and means of 38 digits, which raise if and only if a frame's own leaves the type.
Frames of rows, range and groups, with rows excluded and filtered, whole partitions and empty ones.

Usage: frame_folds.py --heddle BIN [--backend cpu|cuda] [--seed N] [--plans N] [--rows N] [--threads N,N...]
"""
import argparse
import csv
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
from decimal import ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction
from functools import cmp_to_key

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from hdmoments import ONE, TWO, Moments, as_float  # noqa: E402

getcontext().prec = 100
TYPES = {"id": "int32", "g": "int32", "o": "int32", "i": "int32", "d": "decimal(12,2)", "j": "int64", "k": "int64", "w": "decimal(30,4)",
         "f": "float64", "e": "float32", "s": "float64", "m": "decimal(38,3)", "t": "string", "b": "bool", "a": "date"}
NEVER_NULL = ("id", "g")
EXACT = ("id", "i", "d", "k")  # by types and facts
U = 2.0**-53
MOMENTS = ["id", "i", "d", "j", "k", "w", "f", "e", "s"]


def number(rng, name, group):
    base = [0, 10**3, 10**9, -10**6][group % 4]
    return {
        "o": lambda: str(rng.randint(0, 12)),
        "i": lambda: str(base + rng.randint(-3, 3)),
        "d": lambda: f"{base + rng.randint(-200, 200) / 100:.2f}",
        "j": lambda: str(rng.choice([base, 2**53]) + rng.randint(0, 9)),
        "k": lambda: str(base + rng.randint(0, 9)),
        "w": lambda: f"{10**12 * base + rng.randint(0, 10**6)}.{rng.randint(0, 9999):04d}",
        "f": lambda: repr(base * 1000.0 + rng.choice([rng.uniform(-1, 1), 0.5])),
        "e": lambda: repr(rng.randint(-40, 40) / 8 + 0.0),
        "s": lambda: rng.choice(["inf", "-inf", "nan", "1.5"]) if rng.random() < 0.05 else repr(rng.uniform(-1, 1)),
        "m": lambda: str(Decimal(rng.choice([10**38 - 1, 1 - 10**38, rng.randint(-9, 9) * 10**37, rng.randint(-10**4, 10**4)])) / 1000),
        "t": lambda: "".join(rng.choice("ab~") for _ in range(rng.randint(1, 3))),
        "b": lambda: rng.choice(["true", "false"]),
        "a": lambda: f"2001-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
    }[name]()


def table(rng, rows):
    out = []
    for n in range(rows):
        g = rng.choice([0, 1, 2, 3, 3, 3])
        row = {"id": str(n), "g": str(g)}
        out.append({**row, **{c: None if rng.random() < 0.1 else number(rng, c, g) for c in TYPES if c not in NEVER_NULL}})
    return out


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for name, rows in tables.items():
        columns = [{"name": c, "type": t, "nullable": c not in NEVER_NULL} for c, t in TYPES.items()]
        schema["tables"].append({"name": name, "columns": columns})
        (folder / f"{name}.tbl").write_text("".join("|".join(row[c] or "" for c in TYPES) + "\n" for row in rows))
    (folder / "schema.json").write_text(json.dumps(schema))


# ---- frames, by their definition -------------------------------------------------------------------------------------

def draw_frame(rng, ordered):
    unit = rng.choice(["rows", "rows", "groups", "range"] if ordered else ["rows"])
    far = rng.choice([1, 2, 5, 30, 400])
    start = rng.choice(["unbounded preceding", "current row", {"preceding": rng.randint(0, far)}, {"following": rng.randint(0, 4)}])
    end = rng.choice(["unbounded following", "current row", {"following": rng.randint(0, far)}, {"preceding": rng.randint(0, 4)}])
    frame = {"unit": unit, "start": start, "end": end}
    if rng.random() < 0.4:
        frame["exclude"] = rng.choice(["no others", "current row", "group", "ties"])
    return frame


def edge(bound):
    if isinstance(bound, dict):
        return -bound["preceding"] if "preceding" in bound else bound["following"]
    return {"unbounded preceding": -math.inf, "current row": 0, "unbounded following": math.inf}[bound]


def inside(frame, p, q, rows, groups):
    """Whether row q of the sorted partition is of the frame of row p."""
    lo, hi = edge(frame["start"]), edge(frame["end"])
    peers = groups[p] == groups[q]
    if frame["unit"] == "rows":
        found = lo <= q - p <= hi
    elif frame["unit"] == "groups":
        found = lo <= groups[q] - groups[p] <= hi
    else:
        a, b = rows[p]["o"], rows[q]["o"]
        if a is None or b is None:  # NULLs are behind all keys: in reach of unbounded ends, and of their peers
            below = lo == -math.inf or (a is None and b is None) or (b is None and lo <= 0) or (b is None and a is not None)
            above = hi == math.inf or (a is None)
            found = below and above
        else:
            found = lo <= int(b) - int(a) <= hi
    out = frame.get("exclude", "no others")
    return found and not (out == "current row" and p == q) and not (out == "group" and peers) and not (out == "ties" and peers and p != q)


def frames(rows, plan):
    """(row, rows of its frame)"""
    parts = {}
    for row in rows:
        parts.setdefault(row["g"] if plan["partition"] else None, []).append(row)
    for part in parts.values():
        part.sort(key=lambda r: ((r["o"] is None, int(r["o"] or 0)) if plan["ordered"] else 0, int(r["id"])))
        keys = [r["o"] if plan["ordered"] else 0 for r in part]
        groups = [0] * len(part)
        for n in range(1, len(part)):
            groups[n] = groups[n - 1] + (keys[n] != keys[n - 1])
        for p, row in enumerate(part):
            yield row, [part[q] for q in range(len(part)) if inside(plan["frame"], p, q, part, groups)]


# ---- functions ---------------------------------------------------------------------------------------------------------

def value(name, text):
    kind = TYPES[name]
    if text is None:
        return None
    return float(text) if kind.startswith("float") else Decimal(text) if kind.startswith(("int", "dec")) else text


def compare(a, b):
    """NULLs last, NaN the largest number."""
    ka, kb = [(v is None, isinstance(v, float) and v != v, 0 if v is None or v != v else v) for v in (a, b)]
    return (ka > kb) - (ka < kb)


class Moment:
    def __init__(self, rng):
        self.fn, self.y, self.x = rng.choice(ONE + TWO + ("regr_count",)), rng.choice(MOMENTS), rng.choice(MOMENTS)
        self.two = self.fn not in ONE
        self.x = self.x if self.two else self.y

    def json(self):
        return {"fn": self.fn, "arg": self.y, **({"by": self.x} if self.two else {})}

    def wrong(self, field, rows):
        pairs = [(r[self.y], r[self.x]) for r in rows if r[self.y] is not None and r[self.x] is not None]
        if self.fn == "regr_count":
            return field != str(len(pairs))
        exact = self.y in EXACT and self.x in EXACT  # others count as float64, which may round them
        texts = [[t if exact or not math.isfinite(float(t)) else format(Decimal(float(t)), "f") for t in side]
                 for side in zip(*pairs)] if pairs else [[], []]
        m = Moments(*texts)
        want = m.result(self.fn)
        if want is None or field == "":
            return (want is None) != (field == "")
        want, got = as_float(want), float(field)
        if not math.isfinite(want):
            return repr(got) != repr(want)
        bound = m.error(self.fn)
        if self.fn in ("var_pop", "var_samp", "regr_sxx", "regr_syy"):
            largest = m.largest("y" if self.fn == "regr_syy" else "x")
            n = m.n * (m.n - 1 if self.fn == "var_samp" else m.n if self.fn == "var_pop" else 1) / m.n
            bound = 8 * U * want if exact else 128 * (1 + math.log2(m.n)) * U * want + 2.0**20 * m.n / max(n, 1) * U**3 * largest**2
        return abs(got - want) > bound


class Arg:
    def __init__(self, rng):
        names = [t for t in TYPES if t != "g"]
        self.fn, self.x, self.by = rng.choice(["arg_min", "arg_max"]), rng.choice(names), rng.choice(names)

    def json(self):
        return {"fn": self.fn, "arg": self.x, "by": self.by}

    def wrong(self, field, rows):
        pairs = [(value(self.by, r[self.by]), value(self.x, r[self.x])) for r in rows if r[self.by] is not None]
        if not pairs:
            return field != ""
        sign = 1 if self.fn == "arg_min" else -1
        want = min(pairs, key=cmp_to_key(lambda a, b: sign * compare(a[0], b[0]) or compare(a[1], b[1])))[1]
        return compare(want, value(self.x, field or None)) != 0


class Sum:
    def __init__(self, rng):
        self.fn, self.x = rng.choice(["sum", "avg"]), rng.choice("mmw")

    def json(self):
        return {"fn": self.fn, "arg": self.x}

    def scale(self):
        return 6 if self.fn == "avg" else 3 if self.x == "m" else 4

    def want(self, rows):
        values = [Decimal(r[self.x]) for r in rows if r[self.x] is not None]
        if not values:
            return None
        total = sum(values) / (len(values) if self.fn == "avg" else 1)
        return total.quantize(Decimal(1).scaleb(-self.scale()), ROUND_HALF_UP)

    def overflows(self, rows):
        want = self.want(rows)
        return want is not None and abs(want.scaleb(self.scale())) >= 10**38

    def wrong(self, field, rows):
        want = self.want(rows)
        return field != ("" if want is None else format(want, "f"))


def canonical(v):
    """Equal values alike: NaN is one, -0 is 0."""
    return "nan" if isinstance(v, float) and v != v else v + 0.0 if isinstance(v, float) else v


class Distinct:
    def __init__(self, rng):
        self.fn = rng.choice(["count", "count", "sum", "avg", "bit_xor", "approx_count_distinct"])
        names = {"sum": "idjkwfesmm", "avg": "idjkwfesmm", "bit_xor": "ijk"}.get(self.fn, "idjkwfesmtbao")
        self.x = rng.choice(names)

    def json(self):
        return {"fn": self.fn, "arg": self.x, **({} if self.fn.startswith("approx") else {"distinct": True})}

    def values(self, rows):
        return list({canonical(value(self.x, r[self.x])): value(self.x, r[self.x]) for r in rows if r[self.x] is not None}.values())

    def scale(self):
        own = {"d": 2, "w": 4, "m": 3}.get(self.x, 0)
        return max(6, own) if self.fn == "avg" else own

    def total(self, rows):
        v = self.values(rows)
        if not v or TYPES[self.x].startswith("float"):
            return None
        total = sum(v) / (len(v) if self.fn == "avg" else 1)
        return total.quantize(Decimal(1).scaleb(-self.scale()), ROUND_HALF_UP)

    def overflows(self, rows):
        total = self.total(rows) if self.fn in ("sum", "avg") else None
        return total is not None and abs(total.scaleb(self.scale())) >= 10**38

    def wrong(self, field, rows):
        v = self.values(rows)
        if self.fn in ("count", "approx_count_distinct"):
            return field != str(len(v))
        if not v or field == "":
            return (not v) != (field == "")
        if self.fn == "bit_xor":
            bits = 0
            for x in v:
                bits ^= int(x)
            return int(field) != bits
        if not TYPES[self.x].startswith("float"):
            return field != format(self.total(rows), "f")
        got, want, n = float(field), math.fsum(v) if all(map(math.isfinite, v)) else sum(v), len(v)
        if not math.isfinite(want):
            return repr(got) != repr(want / n)
        bound = n * 2 * U * sum(map(abs, v))
        return abs(got - want) > bound if self.fn == "sum" else abs(got - want / n) > bound / n + U * abs(want / n)


class Quantile:
    def __init__(self, rng):
        self.fn = rng.choice(["median", "quantile_cont", "quantile_disc", "quantile_disc"])
        self.x = rng.choice("idjkwfesm" if self.fn != "quantile_disc" else "idjkwfesmtbao")
        self.q = "0.5" if self.fn == "median" else rng.choice(["0", "1", "0.5", "0.25", "0.9", "0.333333333", "0.01"])

    def json(self):
        return {"fn": self.fn, "arg": self.x, **({} if self.fn == "median" else {"q": self.q})}

    def result(self, rows):
        v = sorted((value(self.x, r[self.x]) for r in rows if r[self.x] is not None), key=cmp_to_key(compare))
        if not v:
            return None
        q = Fraction(self.q)
        if self.fn == "quantile_disc":
            return v[max(math.ceil(len(v) * q) - 1, 0)]
        at = (len(v) - 1) * q
        lo, over = v[math.floor(at)], at - math.floor(at)
        if over == 0:
            return lo
        return lo, v[math.floor(at) + 1], over

    def overflows(self, rows):
        """Sums of the two values by whole numbers have 38 digits."""
        r = self.result(rows)
        kind = TYPES[self.x]
        if not kind.startswith("decimal") or r is None or self.fn == "quantile_disc":
            return False
        scale, to = int(kind[:-1].split(",")[1]), max(6, int(kind[:-1].split(",")[1]))
        if not isinstance(r, tuple):
            return abs(r.scaleb(to)) >= 10**38
        lo, hi, over = r
        num, den = (over.numerator, over.denominator)
        full = Fraction(self.q).denominator
        num *= full // den
        parts = [abs(lo.scaleb(scale) * (full - num)), abs(hi.scaleb(scale) * num), abs((lo * (full - num) + hi * num).scaleb(scale))]
        return max(parts) >= 10**38 or abs(((lo * (full - num) + hi * num) / full).scaleb(to)) >= 10**38

    def wrong(self, field, rows):
        r = self.result(rows)
        if r is None or field == "":
            return (r is None) != (field == "")
        exact = TYPES[self.x].startswith("decimal") and self.fn != "quantile_disc"
        if isinstance(r, tuple):
            lo, hi, over = r
            if exact:
                scale = max(6, int(TYPES[self.x][:-1].split(",")[1]))
                want = (lo * (over.denominator - over.numerator) + hi * over.numerator) / Decimal(over.denominator)
                return field != format(want.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP), "f")
            x, y, k = float(lo), float(hi), over.numerator / over.denominator
            want = x if x == y else x * (1 - k) + y * k
            return repr(float(field)) != repr(want + 0.0)
        if exact:
            return Decimal(field) != r
        if self.fn == "quantile_disc":
            return field != str(r) if isinstance(r, str) else compare(r, value(self.x, field)) != 0 or field in ("-0", "-0.0")
        return repr(float(field)) != repr(float(r) + 0.0)


# ---- plans ---------------------------------------------------------------------------------------------------------------

def draw(rng):
    ordered = rng.random() < 0.8
    plan = {"partition": rng.random() < 0.7, "ordered": ordered, "frame": draw_frame(rng, ordered), "filter": rng.choice([None, None, "i > 0"])}
    kinds = rng.choices([Moment, Arg, Sum, Distinct, Quantile], [5, 2, 2, 5, 4], k=rng.randint(1, 4))
    return {**plan, "functions": [kind(rng) for kind in kinds]}


def node(plan, name):
    """Ordered by id behind o, which is left out where peers matter: ties are in the order of the input's first column."""
    functions = [{**f.json(), "as": f"w{n}", **({"filter": plan["filter"]} if plan["filter"] else {})} for n, f in enumerate(plan["functions"])]
    return {"op": "window", "functions": functions, "frame": plan["frame"], "input": {"op": "scan", "table": name},
            **({"partition": ["g"]} if plan["partition"] else {}), **({"order": ["o"]} if plan["ordered"] else {})}


def run(args, folder, plan, threads):
    (folder / "plan.json").write_text(json.dumps(plan))
    return subprocess.run([args.heddle, "run", folder / "plan.json", "--db", folder / "db", "--backend", args.backend, "--threads",
                           str(threads), "--format", "csv"], capture_output=True, text=True, check=False)


def check(args, folder, tables, plan):
    name = plan["table"]
    kept = (lambda r: r["i"] is not None and int(r["i"]) > 0) if plan["filter"] else lambda r: True
    expected = {row["id"]: [r for r in found if kept(r)] for row, found in frames(tables[name], plan)}
    raises = any(f.overflows(found) for f in plan["functions"] if hasattr(f, "overflows") for found in expected.values())
    root = {"heddle": 1, "root": node(plan, name)}
    for threads in args.threads:
        done = run(args, folder, root, threads)
        if raises:
            if done.returncode == 0 or "overflow" not in done.stderr:
                return f"no overflow: {json.dumps(root)}\n{done.stderr}"
            continue
        if done.returncode:
            return f"{json.dumps(root)}\n{done.stderr}"
        rows = list(csv.DictReader(done.stdout.splitlines()))
        if len(rows) != len(expected):
            return f"{len(rows)} rows: {json.dumps(root)}"
        for row in rows if len(rows) < 50 else rows[::3]:
            for n, f in enumerate(plan["functions"]):
                if f.wrong(row[f"w{n}"], expected[row["id"]]):
                    return f"row {row['id']}, {threads} threads: {f.json()} is {row[f'w{n}']}: {json.dumps(root)}"
    return None


def main():
    ap = argparse.ArgumentParser(description="folds of frames")
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--plans", type=int, default=40)
    ap.add_argument("--rows", type=int, default=90)
    ap.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 3])
    args = ap.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-folds-") as folder:
        folder = pathlib.Path(folder)
        tables = {"nothing": [], "lone": table(rng, 1), "few": table(rng, 40), "many": table(rng, args.rows)}
        write(folder, tables)
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)
        for _ in range(args.plans):
            plan = {**draw(rng), "table": rng.choices(list(tables), [1, 1, 6, 8])[0]}
            wrong = check(args, folder, tables, plan)
            if wrong:
                sys.exit(wrong)
    print(f"{args.plans} plans")
    return 0


if __name__ == "__main__":
    sys.exit(main())
