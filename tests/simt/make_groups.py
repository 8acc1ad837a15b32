#!/usr/bin/env python3
"""Writes a table whose columns group its rows in many ways, as CSV with a schema for `heddle load`, and a plan per way.

    make_groups.py DIR

Every place that a GPU has for accumulators is reached (planner/place.c): few groups, some hundred, many, hashed
ones; keys with a quarter of the rows and with all; keys in runs; NULLs among keys and values.
"""

import json
import random
import sys
from pathlib import Path

ROWS = 20000



def stretches():
    """Row number -> key: runs of one row to many tiles, in no order."""
    r, keys, run = random.Random(8), [], 0
    while len(keys) < ROWS:
        run += 1
        length = r.choice((1, 2, 3, 5, 8, 9, 31, 64, 255, 256, 257, 1500)) if r.randrange(3) == 0 else r.randrange(1, 7)
        keys += [run * 977 % 9973] * length
    return keys


STRETCHES = stretches()

# name: (type, function of row number and random source)
KEYS = {
    "one": ("int32", lambda r, i: 1),
    "two": ("int32", lambda r, i: r.randrange(2)),
    "six": ("int32", lambda r, i: r.randrange(6)),
    "hundreds": ("int32", lambda r, i: r.randrange(300)),
    "thousand": ("int32", lambda r, i: r.randrange(1000)),
    "many": ("int32", lambda r, i: r.randrange(100000)),
    "quarter": ("int32", lambda r, i: 4711 if r.randrange(4) == 0 else r.randrange(20000)),
    "all": ("int32", lambda r, i: 77777),
    "runs": ("int32", lambda r, i: i // 5),
    "alone": ("int32", lambda r, i: ROWS - i),
    "stretches": ("int32", lambda r, i: STRETCHES[i]),
    "hash_two": ("int64", lambda r, i: r.randrange(2) * 10 ** 15),
    "hash_thousand": ("int64", lambda r, i: r.randrange(1000) * 10 ** 14),
    "hash_many": ("int64", lambda r, i: r.randrange(100000) * 10 ** 13),
    "hash_quarter": ("int64", lambda r, i: r.randrange(2000) * 10 ** 14 if r.randrange(4) else 5),
    "hash_all": ("int64", lambda r, i: 10 ** 16),
    "hash_runs": ("int64", lambda r, i: i // 5 * 10 ** 13),
}

# Groups of every kind by one of these; the others exercise fewer accumulators.
AGGS = [("count", None), ("sum", "amount"), ("sum", "maybe"), ("min", "maybe"), ("max", "ratio"), ("count", "maybe")]
WIDE = [("count", None), ("min", "amount"), ("max", "amount"), ("sum", "wide"), ("min", "wide * wide"), ("avg", "ratio")]


def value(r, text, one_in=5):
    return "" if r.randrange(one_in) == 0 else text


def row(r, i):
    keys = [str(f(r, i)) for _, f in KEYS.values()]
    return [str(i), *keys, value(r, str(r.randrange(6))), f"{r.randrange(-9999, 9999) / 100:.2f}",
            value(r, str(r.randrange(-1000, 1000))), value(r, repr(r.randrange(-800, 800) / 8)),
            f"{r.randrange(10 ** 12)}.{r.randrange(100):02}"]


def plan(name, keys, aggs, where=None):
    scan = {"op": "scan", "table": "event"}
    if where:
        scan["filter"] = where
    root = {"op": "aggregate", "input": scan,
            "aggs": [{"fn": fn, "as": f"a{i}", **({"arg": arg} if arg else {})} for i, (fn, arg) in enumerate(aggs)]}
    if keys:
        root["keys"] = keys
    return {"heddle": 1, "name": name, "root": root}


def plans():
    for key in KEYS:
        yield plan(f"by_{key}", [key], AGGS)
        yield plan(f"some_by_{key}", [key], WIDE, "amount > 90 and maybe is not null")
    for key in ("runs", "stretches"):
        yield plan(f"most_by_{key}", [key], AGGS, "amount > -80")
        yield plan(f"most_wide_by_{key}", [key], WIDE, "maybe > -600")
    yield plan("any_by_alone", ["alone", "group", "ratio"], AGGS[:2])
    yield plan("by_null", ["group"], AGGS, "amount < 80")
    yield plan("by_pairs", ["group", "two"], WIDE)
    yield plan("by_nothing", [], AGGS + WIDE)
    yield plan("narrow", ["two"], [("sum", "wide * 90"), ("count", None)])  # 128 bits, a thread's part 64
    yield plan("of_nothing", ["six"], AGGS, "amount > 1000")


def main():
    out = Path(sys.argv[1])
    (out / "plans").mkdir(parents=True, exist_ok=True)
    r = random.Random(7)
    columns = [{"name": "id", "type": "int64"}, *({"name": k, "type": t} for k, (t, _) in KEYS.items()),
               {"name": "group", "type": "int32", "nullable": True}, {"name": "amount", "type": "decimal(12,2)"},
               {"name": "maybe", "type": "int32", "nullable": True}, {"name": "ratio", "type": "float64", "nullable": True},
               {"name": "wide", "type": "decimal(18,2)"}]
    schema = {"format": {"delimiter": ",", "header": True, "null": "", "trailing_delimiter": False},
              "tables": [{"name": "event", "columns": columns, "primary_key": ["id"]}]}
    (out / "schema.json").write_text(json.dumps(schema))
    rows = [[c["name"] for c in columns]] + [row(r, i) for i in range(ROWS)]
    (out / "event.csv").write_text("".join(",".join(cells) + "\n" for cells in rows))
    for p in plans():
        (out / "plans" / f"{p['name']}.json").write_text(json.dumps(p, indent=2) + "\n")


if __name__ == "__main__":
    main()
