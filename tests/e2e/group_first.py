#!/usr/bin/env python3
"""Groupings by columns of tables that rows look up, in a snowflake of foreign keys: with "order": "auto" lookups that all rows of a group
share come after the grouping, or not at all; rows are those of the plan as it is written.

Usage: group_first.py --heddle BIN [--backend cpu|cuda] [--count N] [--seed S]

Foreign keys are NULL in some tables, tables are filtered, and aggregates and conditions read them, so that in some plans a table has to stay
where it is. Of all plans some must be changed, and some must not.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

# table: (rows, {column: values, or the table that it refers to; None: a key; "text": a text of its own}), columns with NULLs
TABLES = {
    "region": (3, {"r_id": None, "r_name": "text"}, ()),
    "nation": (8, {"n_id": None, "n_region": "region", "n_name": "text"}, ()),
    "cust": (40, {"c_id": None, "c_nation": "nation", "c_name": "text", "c_seg": 3}, ()),
    "agent": (9, {"a_id": None, "a_nation": "nation", "a_name": "text"}, ("a_nation",)),
    "ord": (150, {"o_id": None, "o_cust": "cust", "o_agent": "agent", "o_day": 12}, ("o_agent",)),
    "item": (600, {"i_id": None, "i_ord": "ord", "i_qty": 50, "i_kind": 4}, ()),
}
KEY = {"region": "r_id", "nation": "n_id", "cust": "c_id", "agent": "a_id", "ord": "o_id", "item": "i_id"}
# joins: a table, what it is joined to, by which columns
JOINS = {"ord": ("item", "i_ord", "o_id"), "cust": ("ord", "o_cust", "c_id"), "nation": ("cust", "c_nation", "n_id"), "region": ("nation", "n_region", "r_id"),
         "agent": ("ord", "o_agent", "a_id")}


def load(heddle, folder, rng):
    tables = []
    for name, (rows, columns, nullable) in TABLES.items():
        tables.append({"name": name, "primary_key": [KEY[name]],
                       "columns": [{"name": c, "type": "string" if of == "text" else "int32", **({"nullable": True} if c in nullable else {})} for c, of in columns.items()],
                       "foreign_keys": [{"columns": [c], "table": of, "references": [KEY[of]]} for c, of in columns.items() if of in TABLES]})
        lines = []
        for i in range(rows):
            row = []
            for c, of in columns.items():
                value = i if of is None else f"{name}{i}" if of == "text" else rng.randrange(TABLES[of][0] if of in TABLES else of)
                row.append("" if c in nullable and rng.random() < 0.2 else str(value))
            lines.append("|".join(row) + "\n")
        (folder / f"{name}.tbl").write_text("".join(lines))
    form = {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}
    (folder / "schema.json").write_text(json.dumps({"format": form, "tables": tables}))
    subprocess.run([heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)


def tree(rng, tables):
    """Inner joins of the tables in an order that is connected; sides at random, some as filters above cross joins."""
    there, node = ["item"], scan(rng, "item")
    left = [t for t in tables if t != "item"]
    while left:
        t = rng.choice([t for t in left if JOINS[t][0] in there])
        left.remove(t)
        there.append(t)
        _, x, y = JOINS[t]
        sides = [("left", node, x), ("right", scan(rng, t), y)]
        if rng.random() < 0.5:
            sides = [("left", sides[1][1], y), ("right", node, x)]
        node = {"op": "join", "kind": "inner", "on": [[sides[0][2], sides[1][2]]], "left": sides[0][1], "right": sides[1][1]}
        if rng.random() < 0.1:
            node["residual"] = f"{rng.choice(columns(there))} is not null"
        if rng.random() < 0.1:
            node = {"op": "join", "kind": rng.choice(["semi", "anti"]), "left": node, "on": [[rng.choice(numbers(there)), "s.i_id"]],
                    "right": {"op": "scan", "table": "item", "alias": "s", "filter": "s.i_kind = 1"}}
    return node


def scan(rng, table):
    node = {"op": "scan", "table": table}
    if rng.random() < 0.15:
        c = rng.choice([c for c, of in TABLES[table][1].items() if of != "text"])
        node["filter"] = f"{c} > {rng.randrange(4)}"
    return node


def columns(tables):
    return [c for t in tables for c in TABLES[t][1]]


def numbers(tables):
    return [c for t in tables for c, of in TABLES[t][1].items() if of != "text"]


def plan(rng):
    tables = ["item", "ord"] + [t for t in ("cust", "agent") if rng.random() < 0.8]
    if "cust" in tables:
        tables += ["nation"] * (rng.random() < 0.7)
    if "nation" in tables:
        tables += ["region"] * (rng.random() < 0.5)
    asked = rng.sample(columns(tables), rng.randint(1, 4))
    if "cust" in tables and rng.random() < 0.6:
        asked = list(dict.fromkeys([rng.choice(["c_id", "o_cust", "o_id"]), *rng.sample([c for c in columns(tables) if c[0] in "cnra"], rng.randint(1, 3)), *asked[:1]]))
    keys = [{"expr": f"{c} || '!'" if c.endswith("name") and rng.random() < 0.1 else c, "as": f"k{i}"} for i, c in enumerate(asked)]
    rng.shuffle(keys)
    args = ["i_qty"] * 6 + numbers(tables)
    aggs = [{"fn": "count", "as": "n"}] + [{"fn": rng.choice(["sum", "min", "max", "avg", "count"]), "arg": rng.choice(args), "as": f"v{i}",
                                            **({"distinct": True} if rng.random() < 0.15 else {})} for i in range(rng.randint(0, 3))]
    for a in aggs:
        if a["fn"] in ("min", "max"):
            a.pop("distinct", None)
    node = tree(rng, tables)
    if rng.random() < 0.3:
        node = {"op": "project", "exprs": [{"expr": c, "as": c} for c in columns(tables)], "input": node}
    return {"heddle": 1, "root": {"op": "aggregate", "keys": keys, "aggs": aggs, "input": node}}


def run(args, folder, plans):
    lines = [json.dumps({"plan": p, "out": str(folder / f"{i}.csv"), "format": "csv"}) for i, p in enumerate(plans)]
    (folder / "batch").write_text("\n".join(lines) + "\n")
    done = subprocess.run([args.heddle, "run", "--batch", folder / "batch", "--db", folder / "db", "--threads", "2", "--backend", args.backend], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    out = []
    for i in range(len(plans)):
        text = (folder / f"{i}.csv").read_text().splitlines()
        out.append((text[0], sorted(text[1:])))
    return out


def below(args, folder, p):
    """Tables below the grouping in the physical plan."""
    (folder / "plan.json").write_text(json.dumps(p))
    done = subprocess.run([args.heddle, "explain", folder / "plan.json", "--db", folder / "db", "--dump", "physical"], capture_output=True, text=True, check=True)
    text = done.stdout[done.stdout.index("aggregate"):]
    first = re.search(r"^( *)aggregate", done.stdout, re.M).group(1)
    inside = []
    for line in text.splitlines()[1:]:
        if line.strip() and len(line) - len(line.lstrip()) <= len(first):
            break
        inside.append(line)
    return set(re.findall(r"^ *(?:scan|index) (\w+)", "\n".join(inside), re.M))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--count", type=int, default=60)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    rng, wrong, changed = random.Random(args.seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="heddle-group-first-") as name:
        folder = pathlib.Path(name)
        load(args.heddle, folder, rng)
        plans = [plan(rng) for _ in range(args.count)]
        written = run(args, folder, plans)
        auto = run(args, folder, [{**p, "order": "auto"} for p in plans])
        for i, p in enumerate(plans):
            if written[i] != auto[i]:
                wrong += 1
                print(f"plan {i} of seed {args.seed} has other rows:\n{json.dumps(p)}")
        for p in plans[:60]:
            changed += below(args, folder, p) != below(args, folder, {**p, "order": "auto"})
    looked = min(args.count, 60)
    print(f"{args.count} plans, {wrong} wrong; {changed} of {looked} changed")
    return 1 if wrong or not looked / 10 < changed < looked * 0.9 else 0


if __name__ == "__main__":
    sys.exit(main())
