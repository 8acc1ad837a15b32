#!/usr/bin/env python3
"""Checks that gen_columns.def marks as used exactly the columns that the plans read.

usage: check_used.py GEN_COLUMNS_DEF PLAN.json...
Only the columns that the file itself lists are looked at.
"""
import re
import sys

COLUMN = re.compile(r'^T_COL\(\w+,\s*\w+,\s*"(\w+)".*,\s*([01])\)$', re.M)


def main():
    with open(sys.argv[1]) as f:
        text = f.read()
    marks = {name: flag == "1" for name, flag in COLUMN.findall(text)}
    words = set()
    for path in sys.argv[2:]:
        with open(path) as f:
            words.update(re.findall(r"\w+", f.read()))
    wrong = [name for name, used in marks.items() if used != (name in words)]
    print(f"{len(marks)} columns, wrongly marked: {wrong}")
    return 1 if wrong or not marks or len(marks) != len(re.findall(r"^T_COL\(", text, re.M)) else 0


if __name__ == "__main__":
    sys.exit(main())
