#!/usr/bin/env python3
"""Groupings that are joined with few rows, in joins of every kind: with "order": "auto" they come after joins, get only rows that count, or come
before a left join; rows are those of the plan as it is written.

Usage: group_reduced.py --heddle BIN [--backend cpu|cuda] [--count N] [--seed S]

Keys are NULL in some rows, filters leave nothing, little or all, groupings have no keys, and aggregates count rows that are not there. Of all plans some
must be changed, and some must not.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

# table: (rows, primary key, {column: number of values, or the table that it refers to, or "key", "text"}, columns with NULLs)
TABLES = {
    "nat": (6, ["n_id"], {"n_id": "key", "n_name": "text"}, ()),
    "supp": (30, ["s_id"], {"s_id": "key", "s_nat": "nat", "s_name": "text"}, ()),
    "part": (80, ["p_id"], {"p_id": "key", "p_kind": 12, "p_name": "text"}, ()),
    "offer": (400, ["of_part", "of_supp"], {"of_part": "part", "of_supp": "supp", "of_qty": 60}, ()),
    "fact": (4000, ["f_id"], {"f_id": "key", "f_part": "part", "f_supp": "supp", "f_qty": 40, "f_day": 9, "f_any": 30}, ("f_part", "f_qty", "f_any")),
}


def rows_of(name, rng):
    """Half of the references of a fact lead to two parts: their keys are frequent."""
    count, keys, columns, nullable = TABLES[name]
    seen, out = set(), []
    for i in range(count):
        row = {}
        for c, of in columns.items():
            size = TABLES[of][0] if of in TABLES else of
            value = i if of == "key" else f"{name}{i % 7}" if of == "text" else rng.randrange(size)
            if c == "f_part" and rng.random() < 0.5:
                value = rng.choice([3, 4])
            row[c] = "" if c in nullable and rng.random() < 0.15 else str(value)
        key = tuple(row[k] for k in keys)
        if key not in seen:
            out.append("|".join(row.values()) + "\n")
        seen.add(key)
    return "".join(out)


def load(heddle, folder, rng):
    tables = []
    for name, (_, keys, columns, nullable) in TABLES.items():
        tables.append({"name": name, "primary_key": keys,
                       "columns": [{"name": c, "type": "string" if of == "text" else "int32", **({"nullable": True} if c in nullable else {})} for c, of in columns.items()],
                       "foreign_keys": [{"columns": [c], "table": of, "references": [TABLES[of][1][0]]} for c, of in columns.items() if of in TABLES]})
        (folder / f"{name}.tbl").write_text(rows_of(name, rng))
    form = {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}
    (folder / "schema.json").write_text(json.dumps({"format": form, "tables": tables}))
    subprocess.run([heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)


# ---- plans ----

FILTERS = {"nat": ["n_name = 'nat1'", "n_id < 0", "n_id >= 0", "n_name like 'nat%2'"], "supp": ["s_id < 3", "s_name in ('supp1', 'supp2')", "s_id > 100"],
           "part": ["p_kind = 3", "p_kind in (1, 2) and not p_name like '%3'", "p_id < 0", "p_id = 3", "p_name >= 'part1'"], "offer": ["of_qty > 50"],
           "fact": ["f_day = 2", "f_any is null", "f_qty < 3 or f_qty > 30"]}


def scan(rng, table, often=0.5, alias=None):
    node = {"op": "scan", "table": table, **({"alias": alias} if alias else {})}
    if rng.random() < often:
        node["filter"] = rng.choice(FILTERS[table])
    return node


def join(kind, left, right, on, **more):
    return {"op": "join", "kind": kind, "left": left, "right": right, "on": on, **more}


def grouping(rng, keys):
    """Columns: the keys with a g in front, and aggregates."""
    aggs = [{"fn": "count", "as": "g_n"}, {"fn": "sum", "arg": "f_qty", "as": "g_sum"}, {"fn": rng.choice(["min", "max"]), "arg": "f_supp", "as": "g_one"},
            {"fn": rng.choice(["min", "max"]), "arg": "case when f_qty > 35 then f_supp end", "as": "g_case"}, {"fn": "count", "arg": "f_any", "as": "g_any"}]
    if rng.random() < 0.2:
        aggs.append({"fn": "count", "arg": "f_any", "distinct": True, "as": "g_distinct"})
    node = {"op": "aggregate", "keys": [{"expr": k, "as": f"g{k}"} for k in keys], "aggs": aggs, "input": scan(rng, "fact", 0.3)}
    if rng.random() < 0.4:
        node = {"op": "filter", "pred": rng.choice(["g_n > 1", "g_sum is not null", "g_any < 20"]), "input": node}
    if rng.random() < 0.4:
        node = {"op": "project", "exprs": [*[{"expr": f"g{k}", "as": f"g{k}"} for k in keys], *[{"expr": x, "as": x} for x in ("g_n", "g_one", "g_case", "g_any")],
                                           {"expr": "g_sum + 1", "as": "g_sum"}], "input": node}
    return node


def block(rng):
    """A grouping with what it is joined with, and the columns there are."""
    keys = rng.choice([["f_part"], ["f_supp"], ["f_part", "f_supp"], ["f_part", "f_supp"], ["f_part", "f_day"], ["f_any"], []])
    node, names = grouping(rng, keys), ["g_n", "g_sum", "g_one", "g_case", *[f"g{k}" for k in keys]]
    kinds = ["inner", "inner", "inner", "semi", "left"]
    if not keys:
        return join("inner", scan(rng, "part"), node, [], residual="p_id <= g_n"), [*names, "p_id"]
    if "f_part" in keys and "f_supp" in keys and rng.random() < 0.7:
        kind = rng.choice(kinds)
        more = {"residual": "of_qty < g_sum"} if rng.random() < 0.4 else {}
        left = scan(rng, "offer", 0.2)
        if rng.random() < 0.6:
            left = join(rng.choice(["semi", "inner"]), left, scan(rng, "part", 0.9), [["of_part", "p_id"]])
        node = join(kind, left, node, [["of_part", "gf_part"], ["of_supp", "gf_supp"]], **more)
        names = ["of_part", "of_supp", "of_qty", *(names if kind != "semi" else [])]
    elif "f_part" in keys:
        node = join(rng.choice(["inner", "semi"]), node, scan(rng, "part", 0.9), [["gf_part", "p_id"]])
    by = [c for c in ("gf_supp", "of_supp", "g_one", "g_case", "gf_any") if c in names]
    if by and rng.random() < 0.7:
        right = scan(rng, "supp", 0.4)
        if rng.random() < 0.7:
            right = join("inner", right, scan(rng, "nat", 0.9), [["s_nat", "n_id"]])
        node = join(rng.choice(["inner", "semi"]), node, right, [[rng.choice(by), "s_id"]])
    return node, names


def within(rng):
    """The block as the right side of a join."""
    node, names = block(rng)
    by = [c for c in ("of_supp", "gf_supp", "g_one", "gf_any") if c in names]
    if not by:
        return node, names
    left = scan(rng, "supp", 0.5, "o") if rng.random() < 0.5 else join("inner", scan(rng, "supp", 0.2, "o"), scan(rng, "nat", 0.8, "m"), [["o.s_nat", "m.n_id"]])
    left = json.loads(re.sub(r'("filter": ")([^"]*)"', lambda m: m[1] + re.sub(r"\b([sn]_\w+)", lambda c: ("o." if c[1][0] == "s" else "m.") + c[1], m[2]) + '"', json.dumps(left)))
    kind = rng.choice(["semi", "anti", "left", "inner", "mark"])
    more = {"mark": "marked"} if kind == "mark" else {}
    return join(kind, left, node, [["o.s_id", rng.choice(by)]], **more), ["o.s_id", "o.s_name", *(names if kind in ("left", "inner") else []), *(["marked"] if more else [])]


def eager(rng):
    left, key, by = rng.choice([("part", "p_id", "f_part"), ("supp", "s_id", "f_supp")])
    node = join("left", scan(rng, left, 0.1), scan(rng, "fact", 0.5), [[key, by]])
    aggs = [{"fn": "count", "as": "n"}, {"fn": "count", "arg": "f_any", "as": "c"}]
    for i in range(rng.randint(0, 3)):
        fn = rng.choice(["sum", "min", "max", "avg", "count"])
        aggs.append({"fn": fn, "arg": rng.choice(["f_qty", "f_any", "f_id", key]), "as": f"v{i}", **({"distinct": True} if fn == "count" and rng.random() < 0.5 else {})})
    keys = rng.choice([[key], [key, f"{left[0]}_name"], [key, by], [f"{left[0]}_name"]])
    return {"op": "aggregate", "keys": [{"expr": k, "as": f"k{i}"} for i, k in enumerate(keys)], "aggs": aggs, "input": node}, [f"k{i}" for i in range(len(keys))] + ["n", "c"]


def plan(rng):
    node, names = rng.choice([block, within, within, eager])(rng)
    node = {"op": "project", "exprs": [{"expr": c, "as": f"x{i}"} for i, c in enumerate(dict.fromkeys(names))], "input": node}
    return {"heddle": 1, "root": node}


# ---- the test ----

def run(args, folder, plans):
    lines = [json.dumps({"plan": p, "out": str(folder / f"{i}.csv"), "format": "csv"}) for i, p in enumerate(plans)]
    (folder / "batch").write_text("\n".join(lines) + "\n")
    done = subprocess.run([args.heddle, "run", "--batch", folder / "batch", "--db", folder / "db", "--threads", "2", "--backend", args.backend], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    texts = [(folder / f"{i}.csv").read_text().splitlines() for i in range(len(plans))]
    return [(t[0], sorted(t[1:])) for t in texts]


def below(args, folder, p):
    """Tables below the first grouping of the physical plan."""
    (folder / "plan.json").write_text(json.dumps(p))
    done = subprocess.run([args.heddle, "explain", folder / "plan.json", "--db", folder / "db", "--dump", "physical"], capture_output=True, text=True, check=True)
    lines, inside = done.stdout.splitlines(), []
    first = next(i for i, line in enumerate(lines) if line.strip().startswith("aggregate "))
    for line in lines[first + 1:]:
        if len(line) - len(line.lstrip()) <= len(lines[first]) - len(lines[first].lstrip()):
            break
        inside += re.findall(r"^ *(?:scan|index) (\w+)", line)
    return sorted(inside)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--count", type=int, default=60)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    rng, wrong, changed = random.Random(args.seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="heddle-group-reduced-") as name:
        folder = pathlib.Path(name)
        load(args.heddle, folder, rng)
        plans = [plan(rng) for _ in range(args.count)]
        written, auto = run(args, folder, plans), run(args, folder, [{**p, "order": "auto"} for p in plans])
        some = sum(len(w[1]) > 0 for w in written)
        for i, p in enumerate(plans):
            if written[i] != auto[i]:
                wrong += 1
                print(f"plan {i} of seed {args.seed} has other rows:\n{json.dumps(p)}")
        looked = plans[:60]
        for p in looked:
            changed += below(args, folder, p) != below(args, folder, {**p, "order": "auto"})
    print(f"{args.count} plans, {some} with rows, {wrong} wrong; {changed} of {len(looked)} have other tables below the grouping")
    return 1 if wrong or not len(looked) / 10 < changed < len(looked) * 0.9 or some < args.count / 3 else 0


if __name__ == "__main__":
    sys.exit(main())
