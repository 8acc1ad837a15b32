#!/usr/bin/env python3
"""Joins whose keys are brought to one scale of decimals: every kind and strategy, casts on either side and on both, several
deep, kept by what is below, two keys, NULLs alike; rows against Python, and at which scale keys were compared.

Usage: decimal_keys.py --heddle BIN [--backend B] [--seed N] [--kinds N: of each pair of keys]
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal

KINDS = ("inner", "left", "right", "full", "semi", "anti", "mark")
# Key of the left side, of the right side, and the scale at which they can be compared, None: at their own. Columns a and b
# have two digits, i and j none, x four, which count, and z two, of a range that leaves no room in decimal(6,4).
KEYS = [("cast(a as decimal(14,4))", "b", 2), ("cast(a as decimal(14,4))", "cast(b as decimal(14,4))", 2),
        ("cast(a as decimal(16,5))", "cast(b as decimal(20,5))", 2), ("cast(i as decimal(12,3))", "cast(b as decimal(12,3))", 2),
        ("cast(i as decimal(12,3))", "cast(j as decimal(14,3))", 0), ("cast(cast(i as decimal(12,1)) as decimal(14,4))", "cast(b as decimal(14,4))", 2),
        ("cast(cast(a as decimal(13,3)) as decimal(14,4))", "cast(cast(b as decimal(15,3)) as decimal(14,4))", 2),
        ("x", "cast(b as decimal(14,4))", None), ("cast(x as decimal(16,6))", "cast(b as decimal(14,6))", 4),
        ("cast(a as decimal(14,4)) + 0.0000", "cast(b as decimal(14,4))", None), ("cast(-a as decimal(14,4))", "cast(b as decimal(14,4))", 2),
        ("a", "b", None), ("cast(i as decimal(9,2))", "b", None)]


def tables(rng, folder, rows):
    def number(digits):
        return None if rng.random() < 0.1 else Decimal(rng.randint(-300, 300)) * (10 ** (2 - min(digits, 2))) / 100
    out = {}
    for side, names in (("l", "aix"), ("r", "bjz")):
        digits = {"a": 2, "b": 2, "i": 0, "j": 0, "x": 4, "z": 2}
        out[side] = [{"id": n, **{c: number(digits[c]) if c not in "xz" else
                                  None if rng.random() < 0.1 else Decimal(rng.choice([5, 50, 100, 12345, 20000])) / 10000 if c == "x"
                                  else Decimal(rng.randint(0, 99999)) / 100 for c in names}} for n in range(rows)]
        with open(os.path.join(folder, f"{side}.tbl"), "w", encoding="utf-8") as f:
            for row in out[side]:
                f.write(",".join("" if v is None else f"{v:f}" if isinstance(v, Decimal) else str(v) for v in (
                    int(v) if v is not None and c in "ij" else v for c, v in row.items())) + "\n")
    types = {"id": "int32", "a": "decimal(12,2)", "b": "decimal(10,2)", "i": "int32", "j": "int32", "x": "decimal(9,4)", "z": "decimal(8,2)"}
    schema = {"format": {"delimiter": ",", "header": False, "null": "", "trailing_delimiter": False},
              "tables": [{"name": s, "columns": [{"name": c, "type": types[c], "nullable": c != "id"} for c in out[s][0]]} for s in out]}
    with open(os.path.join(folder, "schema.json"), "w", encoding="utf-8") as f:
        json.dump(schema, f)
    return out


def value(expr, row):
    """Of the few forms above: casts keep what a number is."""
    name = next(c for c in "abijxz" if f"({c} " in expr or expr == c or f"(-{c} " in expr)
    v = row[name]
    return -v if v is not None and "-" in expr else v


def expected(kind, left, right, keys, null_equal):
    def is_pair(a, b):
        for x, y in keys:
            u, v = value(x, a), value(y, b)
            if not (u == v if u is not None and v is not None else null_equal and u is None and v is None):
                return False
        return True
    pairs = [(a["id"], b["id"]) for a in left for b in right if is_pair(a, b)]
    ls, rs = {a for a, _ in pairs}, {b for _, b in pairs}
    if kind in ("semi", "anti"):
        return Counter((str(a["id"]),) for a in left if (a["id"] in ls) == (kind == "semi"))
    if kind == "mark":
        return Counter((str(a["id"]), str(a["id"] in ls).lower()) for a in left)
    rows = [(str(a), str(b)) for a, b in pairs]
    if kind in ("left", "full"):
        rows += [(str(a["id"]), "") for a in left if a["id"] not in ls]
    if kind in ("right", "full"):
        rows += [("", str(b["id"])) for b in right if b["id"] not in rs]
    return Counter(rows)


def plan_of(kind, keys, null_equal, strategy, below):
    def side(name, exprs):
        scan = {"op": "scan", "table": name}
        p = {"op": "project", "input": scan, "exprs": [{"expr": "id", "as": f"{name}id"}] + [{"expr": e, "as": f"{name}k{n}"} for n, e in enumerate(exprs)]}
        return {"op": "sort", "keys": [f"{name}id"], "limit": 100000, "input": p} if below else p
    join = {"op": "join", "kind": kind, "left": side("l", [k[0] for k in keys]), "right": side("r", [k[1] for k in keys]),
            "on": [[f"lk{n}", f"rk{n}"] + ["null_equal"] * null_equal for n in range(len(keys))]}
    if strategy != "auto":
        join["strategy"] = strategy
    if kind == "mark":
        join["mark"] = "m"
    columns = ["lid"] + (["m"] if kind == "mark" else [] if kind in ("semi", "anti") else ["rid"])
    return {"heddle": 1, "root": {"op": "project", "input": join, "exprs": columns}}


def run(args, plan, verb, *options):
    path = os.path.join(args.folder, "plan.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(plan, f)
    done = subprocess.run([args.heddle, verb, path, "--db", os.path.join(args.folder, "db"), "--backend", args.backend, *options],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def check(args, tabs, kind, keys, null_equal, strategy, below):
    plan = plan_of(kind, keys, null_equal, strategy, below)
    status, out, err = run(args, plan, "run", "--format", "csv")
    if status and strategy == "direct" and "strategy direct" in err:
        return 0
    rows = Counter(tuple(line.split(",")) for line in out.splitlines()[1:])
    want = expected(kind, tabs["l"], tabs["r"], [(k[0], k[1]) for k in keys], null_equal)
    if status or rows != want:
        sys.exit(f"{json.dumps(plan)}\n{err}\nmissing {list(want - rows)[:3]}\nbesides {list(rows - want)[:3]}")
    return 1


def scale_in(args, keys, kind="inner"):
    _, out, _ = run(args, plan_of(kind, keys, False, "auto", False), "explain", "--dump", "physical")
    told = [line.split(":")[1].split()[0] for line in out.splitlines() if "scale of keys" in line]
    return int(told[0]) if told else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", type=int, default=2)
    args = parser.parse_args()
    args.heddle = os.path.abspath(args.heddle)
    rng = random.Random(args.seed)
    done = 0
    with tempfile.TemporaryDirectory(prefix="heddle-decimal-keys-") as args.folder:
        tabs = tables(rng, args.folder, 300)
        subprocess.run([args.heddle, "load", "--schema", os.path.join(args.folder, "schema.json"), "--from", args.folder,
                        "--out", os.path.join(args.folder, "db")], check=True, capture_output=True)
        for k in KEYS:
            if (found := scale_in(args, [k])) != k[2]:
                sys.exit(f"{k[0]} = {k[1]}: compared at scale {found}, not {k[2]}")
            for kind in rng.sample(KINDS, args.kinds):
                done += check(args, tabs, kind, [k], False, "auto", False)
                done += check(args, tabs, kind, [k], rng.random() < 0.5, rng.choice(["auto", "hash", "direct"]), rng.random() < 0.5)
        for _ in range(2 * args.kinds):
            done += check(args, tabs, rng.choice(KINDS), rng.sample(KEYS, 2), rng.random() < 0.3, "auto", rng.random() < 0.3)
        # Digits that a narrower type has no room for are an error, whatever scale keys could be compared at.
        status, _, err = run(args, plan_of("inner", [("cast(a as decimal(14,4))", "cast(z as decimal(6,4))", None)], False, "auto", False), "run")
        if not status or "decimal(6,4)" not in err:
            sys.exit(f"a value beyond decimal(6,4) is no error: {err}")
    print(f"{done} joins as in Python")


if __name__ == "__main__":
    main()
