#!/usr/bin/env python3
"""Writes small tables with NULLs, skew and wide numbers, as CSV with a schema for `heddle load`.

    make_small.py DIR

One parent has most of the children; names repeat, so that joins on them have many matches on both sides. Items lie in
the order of their parents, of which some have none and none has many; table void is like them, and empty, and in table pile
four parents have many. The keys of table deal have gaps and are in no order.
"""

import json
import random
import sys
from pathlib import Path

PARENTS, CHILDREN, EDGES, ITEMS = 700, 5000, 3000, 7  # items of a parent, at most
PILES = {0: 65, 33: 700, 34: 512, 699: 1100}

ITEM = {
    "name": "item",
    "columns": [
        {"name": "pid", "type": "int64"},
        {"name": "qty", "type": "int32", "nullable": True},
        {"name": "price", "type": "decimal(12,2)"},
        {"name": "big", "type": "int64"},
        {"name": "ratio", "type": "float64", "nullable": True},
        {"name": "tag", "type": "string", "nullable": True},
    ],
    "foreign_keys": [{"columns": ["pid"], "table": "parent", "references": ["id"]}],
}

SCHEMA = {
    "format": {"delimiter": ",", "header": True, "null": "", "trailing_delimiter": False},
    "tables": [
        {
            "name": "parent",
            "columns": [
                {"name": "id", "type": "int64"},
                {"name": "grp", "type": "int32", "nullable": True},
                {"name": "name", "type": "string"},
                {"name": "note", "type": "string", "nullable": True},
                {"name": "amount", "type": "decimal(12,2)", "nullable": True},
                {"name": "ratio", "type": "float64", "nullable": True},
                {"name": "day", "type": "date", "nullable": True},
            ],
            "primary_key": ["id"],
        },
        {
            "name": "child",
            "columns": [
                {"name": "cid", "type": "int64"},
                {"name": "pid", "type": "int64"},
                {"name": "pname", "type": "string", "nullable": True},
                {"name": "qty", "type": "int32", "nullable": True},
                {"name": "tag", "type": "string", "nullable": True},
                {"name": "wide", "type": "decimal(18,4)", "nullable": True},
            ],
            "primary_key": ["cid"],
            "foreign_keys": [{"columns": ["pid"], "table": "parent", "references": ["id"]}],
        },
        {
            "name": "edge",
            "columns": [{"name": "src", "type": "int64"}, {"name": "dst", "type": "int64"}, {"name": "weight", "type": "int32"}],
            "primary_key": ["src", "dst"],
            "foreign_keys": [{"columns": ["src"], "table": "parent", "references": ["id"]}],
        },
        ITEM,
        {**ITEM, "name": "void"},
        {**ITEM, "name": "pile"},
        {
            "name": "deal",
            "columns": [{"name": "did", "type": "int64"}, {"name": "lot", "type": "int32"}],
            "primary_key": ["did"],
        },
    ]
}


def maybe(r, text, one_in=6):
    return "" if r.randrange(one_in) == 0 else text


def name_of(k):
    return f"name {k % 150} of the {'long ' * (k % 3)}kind"


def parent(r, i):
    return [str(3 * i), maybe(r, str(r.randrange(-3, 9))), name_of(i), maybe(r, f"note {r.random():.9f}"),
            maybe(r, f"{r.randrange(-99999, 99999) / 100:.2f}"), maybe(r, repr(r.randrange(-50, 50) / 8)),
            maybe(r, f"{r.randrange(1970, 2030)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}")]


def child(r, i):
    heavy = r.randrange(3) > 0
    pid = 3 * (7 if heavy else r.randrange(PARENTS))
    sign = "-" if r.randrange(2) else ""
    return [str(i), str(pid), maybe(r, name_of(r.randrange(400))), maybe(r, str(r.randrange(100))),
            maybe(r, r.choice(["red", "green", "blue", "a%b"])),
            maybe(r, f"{sign}{r.randrange(10 ** 13)}.{r.randrange(10 ** 4):04}")]


def edges(r):
    """In the order of their primary key."""
    keys = {(3 * (7 if r.randrange(3) == 0 else r.randrange(PARENTS)), 1000000 + 3 * r.randrange(PARENTS)) for _ in range(EDGES)}
    return [[str(src), str(dst), str(r.randrange(100))] for src, dst in sorted(keys)]


def items(r, many):
    return [[str(3 * i), maybe(r, str(r.randrange(1, 100))), f"{r.randrange(1, 99999) / 100:.2f}", str(r.randrange(10 ** 12)),
             maybe(r, repr(r.randrange(-50, 50) / 8)), maybe(r, r.choice(["red", "green", "blue"]))]
            for i in range(PARENTS) for _ in range(many.get(i, 0) or r.randrange(-2, ITEMS + 1))]


def deals():
    return [[str(2 * (i * 37 % 500) - 301), str(i % 11)] for i in range(500)]


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    r = random.Random(1)
    (out / "schema.json").write_text(json.dumps(SCHEMA))
    tables = {"parent": [parent(r, i) for i in range(PARENTS)], "child": [child(r, i) for i in range(CHILDREN)],
              "edge": edges(r), "item": items(random.Random(2), {}), "void": [],
              "pile": items(random.Random(3), PILES), "deal": deals()}
    for table, rows in tables.items():
        columns = [c["name"] for t in SCHEMA["tables"] if t["name"] == table for c in t["columns"]]
        (out / f"{table}.csv").write_text("".join(",".join(cells) + "\n" for cells in [columns] + rows))


if __name__ == "__main__":
    main()
