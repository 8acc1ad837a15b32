#!/usr/bin/env python3
"""What a database takes on disk and in memory, by kind, and what one of another scale factor would.

Usage: space.py DB [--smaller DB --times N] [--largest N] [--limit GB]

Bytes are those of the catalog: all files but itself. With --smaller, a database of the same suite at a smaller scale, the sum is
also given for --times as many rows: parts of tables that are larger than there grow with their rows, and a packed column that has more
bits than there gets the bits of a range of values that grows as well. --limit fails if that is more.
"""

import argparse
import collections
import json
import math
import sys
from pathlib import Path

KINDS = {"data": "values", "validity": "NULLs", "text": "strings", "text_base": "strings", "zones": "zone maps",
         "dict_offsets": "dictionaries", "dict_bytes": "dictionaries"}
INDEXES = {"key_indexes": "key indexes", "foreign_keys": "foreign keys"}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("db", type=Path)
    parser.add_argument("--smaller", type=Path)
    parser.add_argument("--times", type=float, default=1)
    parser.add_argument("--largest", type=int, default=0, help="also so many of the largest parts")
    parser.add_argument("--limit", type=float, help="GB")
    return parser.parse_args()


def files(value):
    """(name, file) of an object's members, and those of objects in it."""
    for name, member in value.items():
        if isinstance(member, dict) and "file" in member:
            yield name, member
        elif isinstance(member, dict):
            yield from files(member)


def parts(db):
    """{(table, column or index, part): (kind, bytes, bits of a value, values that there could be)} and {table: rows}"""
    found, rows = {}, {}
    for table in json.loads((db / "catalog.json").read_text())["tables"]:
        rows[table["name"]] = table["rows"]
        for column in table["columns"]:
            facts = column["facts"]
            values = (int(facts["max"]) - int(facts["min"])) // int(column["factor"]) + 1 if column["storage"] == "int" else 0
            for name, file in files(column):
                if name not in KINDS:
                    sys.exit(f"{table['name']}.{column['name']}: unknown part {name}")
                kind = "dictionaries" if KINDS[name] == "values" and column["storage"] == "dict" else KINDS[name]
                kind = "codes" if kind == "dictionaries" and name == "data" else kind
                kind = "ends of strings" if name == "data" and column["storage"] == "text" else kind
                found[table["name"], column["name"], name] = (kind, file["size"], column.get("bits", 0), values)
        for member, kind in INDEXES.items():
            for number, index in enumerate(table.get(member, [])):
                for name, file in files(index):
                    found[table["name"], f"{kind} {number}", name] = (kind, file["size"], 0, 0)
    return found, rows


def grown(now, before, times):
    """Bytes of a part of a table that grows, in the larger database."""
    _, size, bits, values = now
    if bits and before and values and bits > before[2]:
        return size * times * math.ceil(math.log2(values * times)) / bits
    return size * times


def report(found, sizes, title):
    sums = collections.Counter()
    for key, size in sizes.items():
        sums[found[key][0]] += size
    print(f"{title}: {sum(sums.values()) / 1e9:.4f} GB")
    for kind, size in sums.most_common():
        print(f"  {kind:16}{size / 1e9:9.3f} GB{100 * size / sum(sums.values()):6.1f} %")
    return sum(sums.values())


def main():
    args = parse_args()
    found, rows = parts(args.db)
    sizes = {key: part[1] for key, part in found.items()}
    stored = sum(f.stat().st_size for f in args.db.iterdir() if not f.name.startswith("catalog."))
    total = report(found, sizes, str(args.db))
    if stored != total:
        sys.exit(f"files take {stored} bytes, the catalog says {total}")
    if args.smaller:
        before, rows_before = parts(args.smaller)
        sizes = {key: grown(part, before.get(key), args.times) if rows[key[0]] > rows_before[key[0]] else part[1]
                 for key, part in found.items()}
        total = report(found, sizes, f"{args.times:g} times the scale")
    for key in sorted(sizes, key=sizes.get, reverse=True)[:args.largest]:
        print(f"  {' '.join(key):40}{sizes[key] / 1e9:9.3f} GB")
    if args.limit is not None and total > args.limit * 1e9:
        sys.exit(f"{total / 1e9:.3f} GB are more than {args.limit:g}")


if __name__ == "__main__":
    main()
