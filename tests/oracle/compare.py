#!/usr/bin/env python3
"""Compares two results.

Rows compare as multisets, in order only where the plan's root is a sort. A limit over anything else may give any
rows: then their number and their membership in the unlimited result count. Values compare exactly, NaN equal
to NaN and -0 to 0; float64 sums and averages within n * 2^-52 * sum|x|, n and sum|x| taken over all rows that
were added, since the order of addition is free.

    compare.py A.csv B.csv [--ordered]      exit 0 if equal, 1 if not (cells compared as text)
"""

import argparse
import math
import sys
from collections import Counter

import results


def float_tolerance(n, sum_abs):
    return n * 2.0 ** -52 * sum_abs


def key(v):
    """A hashable stand-in under which equal values are equal."""
    if isinstance(v, float):
        return "nan" if math.isnan(v) else v + 0.0
    return v


def row_key(row, loose):
    return tuple(key(v) for i, v in enumerate(row) if i not in loose)


def close(a, b, tolerance):
    if a is None or b is None:
        return a is b
    if not (math.isfinite(a) and math.isfinite(b)):
        return key(a) == key(b)
    return abs(a - b) <= tolerance


def rows_match(a, b, tolerance):
    loose = tolerance.keys()
    return row_key(a, loose) == row_key(b, loose) and all(close(a[i], b[i], t) for i, t in tolerance.items())


def diff_ordered(want, got, tolerance):
    for i, (a, b) in enumerate(zip(want, got)):
        if not rows_match(a, b, tolerance):
            return f"row {i}: expected {show(a)}, found {show(b)}"
    return None


def diff_exact(want, got):
    a, b = Counter(row_key(r, ()) for r in want), Counter(row_key(r, ()) for r in got)
    missing, extra = a - b, b - a
    if missing or extra:
        return f"missing {sample(missing)}, unexpected {sample(extra)}"
    return None


def diff_loose(want, got, tolerance):
    """Each row found needs one expected that agrees outside the tolerant columns and is close in them."""
    loose = tolerance.keys()
    pool = {}
    for row in want:
        pool.setdefault(row_key(row, loose), []).append(row)
    for row in got:
        candidates = pool.get(row_key(row, loose), [])
        match = next((c for c in candidates if rows_match(c, row, tolerance)), None)
        if match is None:
            return f"unexpected row {show(row)}; expected one of {[show(c) for c in candidates[:2]]}"
        candidates.remove(match)
    return None


def diff_rows(want, got, ordered=False, tolerance=None):
    """None if equal, else one line."""
    tolerance = tolerance or {}
    if len(want) != len(got):
        exact = diff_exact(want, got) if not tolerance else None
        return f"expected {len(want)} rows, found {len(got)}" + (f": {exact}" if exact else "")
    if ordered:
        return diff_ordered(want, got, tolerance)
    if tolerance:
        return diff_loose(want, got, tolerance)
    return diff_exact(want, got)


def diff_limited(result, got):
    """Any `limit` rows of the unlimited result are right."""
    limit, offset = result.limit
    count = min(limit, max(0, len(result.unlimited) - offset))
    if len(got) != count:
        return f"expected {count} rows, found {len(got)}"
    return diff_loose(result.unlimited, got, result.tolerance)


def diff_result(result, columns, rows, nullable=None):
    """An oracle's Result against columns [(name, type)] and rows; None if equal, else one line."""
    if columns != result.columns:
        return f"columns: expected {result.columns}, found {columns}"
    for i, null in enumerate(nullable or []):
        if not null and any(row[i] is None for row in rows):
            return f"column {columns[i][0]} holds NULL but says it does not"
    if result.limit:
        return diff_limited(result, rows)
    return diff_rows(result.rows, rows, result.ordered, result.tolerance)


def show(row):
    return "(" + ", ".join("NULL" if v is None else results.value_text(v) for v in row) + ")"


def sample(counter):
    return "nothing" if not counter else " ".join(str(r) for r in list(counter)[:2]) + (" …" if len(counter) > 2 else "")


def main():
    ap = argparse.ArgumentParser(description="compares two csv results")
    ap.add_argument("a")
    ap.add_argument("b")
    ap.add_argument("--ordered", action="store_true")
    args = ap.parse_args()
    tables = [results.split_csv(open(f, encoding="utf-8", newline="").read()) for f in (args.a, args.b)]
    problem = None if tables[0][:1] == tables[1][:1] else "headers differ"
    problem = problem or diff_rows(tables[0][1:], tables[1][1:], args.ordered)
    print(problem or f"equal, {len(tables[0]) - 1} rows")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
