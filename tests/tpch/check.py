#!/usr/bin/env python3
"""Compares a result with what is expected of it.

Usage: check.py ANSWER.csv RESULT.csv [--order=COLUMN,-COLUMN...]

An answer prints fewer digits than a result has: the exact result, rounded half away from zero to the
printed digits, must equal the answer. Expected cells may also come from a database: a number must
then be equal, a quotient {'over': n, 'under': d} must be equal after rounding to the result's digits.
Rows stand in the order of the answer, except that rows equal in the order columns may be exchanged.
"""

import argparse
import csv
import re
import sys
from decimal import ROUND_HALF_UP, Context, Decimal

NUMBER = re.compile(r"-?\d+(\.\d+)?")
EXACT = Context(prec=100, rounding=ROUND_HALF_UP)  # the decimal module's "half up" is away from zero


def read_csv(file):
    rows = [row or [""] for row in csv.reader(file)]  # an empty line is a row of one NULL
    if not rows:
        raise ValueError("no header")
    return rows[0], rows[1:]


def scale_of(text):
    return len(text.partition(".")[2])


def rounded(value, scale):
    return value.quantize(Decimal(1).scaleb(-scale), context=EXACT)


def cell_matches(expected, found):
    """expected: text as an answer prints it, or a value from a database; found: text of a CSV cell."""
    if expected is None:
        return found == ""
    if isinstance(expected, dict):
        if expected["over"] is None or not expected["under"]:
            return found == ""
        quotient = EXACT.divide(Decimal(expected["over"]), Decimal(expected["under"]))
        return bool(NUMBER.fullmatch(found)) and Decimal(found) == rounded(quotient, scale_of(found))
    if isinstance(expected, (int, Decimal)):
        return bool(NUMBER.fullmatch(found)) and Decimal(found) == expected
    if not isinstance(expected, str):
        return found == str(expected)
    if found == expected:
        return True
    if NUMBER.fullmatch(expected) and NUMBER.fullmatch(found):
        return rounded(Decimal(found), scale_of(expected)) == Decimal(expected)
    return found.rstrip() == expected  # an answer does not show blanks at the end


def row_matches(expected, found):
    return len(expected) == len(found) and all(map(cell_matches, expected, found))


def groups(rows, columns):
    """Ranges of rows that are equal in the columns and therefore may be exchanged."""
    start = 0
    for i in range(1, len(rows) + 1):
        if i == len(rows) or any(rows[i][c] != rows[start][c] for c in columns):
            yield start, i
            start = i


def differences(names, expected, found_names, found, order=(), limit=None):
    """What is wrong, as text, or None. expected holds all rows; only `limit` of them are wanted."""
    if list(names) != list(found_names):
        return f"columns are {', '.join(found_names)}; expected {', '.join(names)}"
    wanted = len(expected) if limit is None else min(limit, len(expected))
    if len(found) != wanted:
        return f"{len(found)} rows; expected {wanted}"
    columns = [names.index(c.lstrip("-")) for c in order]
    for start, end in groups(expected, columns):
        left = list(expected[start:end])
        for i in range(start, min(end, wanted)):
            match = next((k for k, row in enumerate(left) if row_matches(row, found[i])), None)
            if match is None:
                return f"row {i + 1} is {found[i]}; expected {'one of ' if len(left) > 1 else ''}{left[:3]}"
            del left[match]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("answer")
    parser.add_argument("result")
    parser.add_argument("--order", default="")
    args = parser.parse_args()
    with open(args.answer, newline="") as a, open(args.result, newline="") as r:
        problem = differences(*read_csv(a), *read_csv(r), order=[c for c in args.order.split(",") if c])
    if problem:
        sys.exit(f"check: {problem}")


if __name__ == "__main__":
    main()
