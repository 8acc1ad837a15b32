#!/usr/bin/env python3
"""Times of the day as join conditions, in windows and aggregates, against DuckDB.

Usage: times.py --heddle BIN [--backend B] [--rows 300] [--seed N]
"""
import argparse
import datetime
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb
import pyarrow

RANGES = ["lt <= rt and rt < time '12:00:00'", "rt between lt and lt + interval '45' minute", "rt between lt - interval '3' hour and lt", "lt = rt"]


class Engine:
    def __init__(self, args, folder, rows):
        self.args, self.file, self.rows = args, pathlib.Path(folder) / "plan.json", rows
        self.con = duckdb.connect()
        for name, values in rows.items():
            self.con.register(name, pyarrow.table({name + "i": pyarrow.array(range(len(values)), pyarrow.int32()),
                                                   name + "t": pyarrow.array(values, pyarrow.time64("us"))}))

    def table(self, name):
        return {"op": "values", "columns": [{"name": name + "i", "type": "int32"}, {"name": name + "t", "type": "time"}],
                "rows": [[i, v and v.isoformat()] for i, v in enumerate(self.rows[name])]}

    def run(self, root):
        self.file.write_text(json.dumps({"heddle": 1, "root": root}))
        done = subprocess.run([self.args.heddle, "run", self.file, "--format", "json"] + (["--backend", self.args.backend] if self.args.backend else []),
                              capture_output=True, text=True)
        return sorted(map(tuple, json.loads(done.stdout)["rows"]), key=str) if done.returncode == 0 else done.stderr

    def sql(self, text):
        shown = [tuple(v.isoformat() if isinstance(v, datetime.time) else v for v in row) for row in self.con.execute(text).fetchall()]
        return sorted(shown, key=str)


def cases(e):
    """(what, plan, SQL)"""
    join = {"op": "join", "kind": "inner", "left": e.table("l"), "right": e.table("r")}
    for condition in RANGES:
        for strategy in ("band", "loop", "auto"):
            yield f"{condition}: {strategy}", {**join, "residual": condition, "strategy": strategy}, f"SELECT * FROM l JOIN r ON {condition}"
    for strategy in ("hash", "radix", "merge"):
        yield strategy, {**join, "on": [["lt", "rt"]], "strategy": strategy}, "SELECT * FROM l JOIN r ON lt = rt"
    yield "asof", {**join, "asof": {"left": "lt", "right": "rt", "match": ">="}}, \
        "SELECT * FROM l ASOF JOIN (SELECT min(ri) AS ri, rt FROM r WHERE rt IS NOT NULL GROUP BY rt) ON lt >= rt"
    yield "window", {"op": "window", "order": ["lt", "li"], "functions": [{"fn": "lag", "arg": "lt", "as": "b"}, {"fn": "max", "arg": "lt", "as": "m"}],
                     "input": e.table("l")}, \
        "SELECT *, lag(lt) OVER w, max(lt) OVER w FROM l WINDOW w AS (ORDER BY lt NULLS LAST, li)"
    yield "aggregate", {"op": "aggregate", "keys": [{"expr": "extract(hour from lt)", "as": "h"}],
                        "aggs": [{"fn": "min", "arg": "lt", "as": "a"}, {"fn": "max", "arg": "lt", "as": "b"}, {"fn": "count", "arg": "lt", "distinct": True, "as": "c"}],
                        "input": {"op": "filter", "pred": "lt is not null", "input": e.table("l")}}, \
        "SELECT hour(lt), min(lt), max(lt), count(DISTINCT lt) FROM l WHERE lt IS NOT NULL GROUP BY 1"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend")
    ap.add_argument("--rows", type=int, default=300)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    rng, wrong, n = random.Random(args.seed), 0, 0
    values = {name: [None if rng.random() < 0.1 else datetime.time(rng.randint(0, 23), rng.choice([0, 30, 59]), rng.choice([0, 59]), rng.choice([0, 0, 500000]))
                     for _ in range(args.rows)] for name in "lr"}
    with tempfile.TemporaryDirectory() as folder:
        e = Engine(args, folder, values)
        for what, plan, sql in cases(e):
            n += 1
            found, want = e.run(plan), e.sql(sql)
            if found != want:
                wrong += 1
                print(f"WRONG {what}: {found[:300] if isinstance(found, str) else [r for r in found if r not in want][:3]} expected {want[:3]}")
    print(f"{n} plans, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
