#!/usr/bin/env python3
"""Checks that gen_columns.def marks as used exactly the columns that the plans read.

usage: check_used.py GEN_COLUMNS_DEF PLAN.json...
"""
import re
import sys

COLUMN = re.compile(r'^T_COL\(\w+,\s*\w+,\s*"(\w+)".*,\s*([01])\)$', re.M)


def main():
    with open(sys.argv[1]) as f:
        marks = {name: flag == "1" for name, flag in COLUMN.findall(f.read())}
    words = set()
    for path in sys.argv[2:]:
        with open(path) as f:
            words.update(re.findall(r"\w+", f.read()))
    wrong = [name for name, used in marks.items() if used != (name in words)]
    print(f"{len(marks)} columns, wrongly marked: {wrong}")
    return 1 if wrong or len(marks) != 61 else 0


if __name__ == "__main__":
    sys.exit(main())
