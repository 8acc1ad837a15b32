#!/usr/bin/env python3
"""Sums and averages of 38-digit decimals against Python's integers: a sum raises if and only if its exact whole
leaves 10^38 - 1, whatever its partial sums do on the way, and an average if and only if it does not fit its type.
Also sums whose width must not follow from an estimate.

Usage: sums.py --heddle BIN [--backend cpu] [--threads 1,2,7] [--rows 40000]
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from collections import defaultdict

MAX = 10**38 - 1
SCALE = 6


def text(v):
    sign, digits = "-" if v < 0 else "", str(abs(v)).rjust(SCALE + 1, "0")
    return f"{sign}{digits[:-SCALE]}.{digits[-SCALE:]}"


def rounded(n, d):
    """n / d, half away from zero."""
    q, r = divmod(abs(n), d)
    return (q + (2 * r >= d)) * (-1 if n < 0 else 1)


def groups(rng, rows):
    """key -> values whose sum fits, though most of their partial sums do not."""
    out = {
        1: [MAX, MAX, -MAX, -MAX, 5],
        2: [MAX] * 9 + [-MAX] * 9 + [-7],            # past 2^127 and back, several times over
        3: [MAX - 1, 1],                              # the last number that fits
        4: [-MAX, MAX, -MAX],
        5: [None, None],
        6: [None, 3, -3],
        7: [2**64, -1, 2**64 - 1, -(2**64), -(2**63)],
    }
    noise = [rng.randint(-MAX, MAX) for _ in range(rows // 2)]
    out[8] = noise + [-v for v in noise] + [12345678]
    return out


def write(folder, rng, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for name, table in tables.items():
        rows = [(k, v) for k, values in table.items() for v in values]
        rng.shuffle(rows)
        schema["tables"].append({"name": name, "columns": [
            {"name": "k", "type": "int32"}, {"name": "h", "type": "int64"},
            {"name": "x", "type": f"decimal(38,{SCALE})", "nullable": True}]})
        (folder / f"{name}.tbl").write_text("".join(
            f"{k}|{k * 10**15}|{'' if v is None else text(v)}\n" for k, v in rows))
    (folder / "schema.json").write_text(json.dumps(schema))


def fold(values, fn):
    """What the function gives, "error" if that leaves the type."""
    values = [v for v in values if v is not None]
    if fn.endswith("distinct"):
        values = list(set(values))
    if fn == "count":
        return str(len(values))
    if not values:
        return None
    r = sum(values) if fn.startswith("sum") else rounded(sum(values), len(values))
    return "error" if abs(r) > MAX else text(r)


def plan_of(table, keys, fns, shape):
    scan = {"op": "scan", "table": table}
    aggs = [{"fn": f.split()[0], "arg": "x", "as": f"a{i}", **({"distinct": True} if "distinct" in f else {})}
            for i, f in enumerate(fns)]
    node = {"op": "aggregate", "keys": keys, "aggs": aggs, "input": scan}
    plan = {"heddle": 1, "root": node}
    names = keys + [a["as"] for a in aggs]
    if shape == "stored":  # computed once, read twice
        plan["shared"] = {"sums": node}
        both = [{"op": "filter", "pred": p, "input": {"op": "ref", "name": "sums"}} for p in ("1 = 1", "1 = 0")]
        plan["root"] = {"op": "union_all", "inputs": both}
    elif shape == "again":  # sums of sums
        plan["root"] = {"op": "aggregate", "keys": keys, "input": {
            "op": "aggregate", "keys": keys + ["x"], "aggs": [{"fn": "sum", "arg": "x", "as": "part"}], "input": scan},
            "aggs": [{"fn": f, "arg": "part", "as": f"a{i}"} for i, f in enumerate(fns)]}
    if keys:
        plan["root"] = {"op": "sort", "keys": names, "input": plan["root"]}
    return plan


def wanted(table, keys, fns):
    found = defaultdict(list)
    for k, values in table.items():
        found[k if keys else 0] += values
    rows = []
    for k, values in sorted(found.items()):
        key = [k if n == "k" else str(k * 10**15) for n in keys]
        rows.append(key + [fold(values, f) for f in fns])
    return "error" if any("error" in r for r in rows) else rows


CASES = [  # functions, shape
    (["sum"], ""), (["avg"], ""), (["sum", "avg", "count"], ""), (["sum distinct"], ""), (["avg distinct"], ""),
    (["sum", "avg", "count", "sum distinct"], ""), (["sum"], "stored"), (["avg", "sum"], "stored"), (["sum"], "again"),
]


def run(args, folder, table, keys, fns, shape, threads):
    file = folder / "plan.json"
    file.write_text(json.dumps(plan_of(table, keys, fns, shape)))
    return subprocess.run([args.heddle, "run", str(file), "--db", str(folder / "db"), "--backend", args.backend,
                           "--threads", threads, "--format", "json"], capture_output=True, text=True)


def check(args, folder, name, table, keys, fns, shape, threads):
    done = run(args, folder, name, keys, fns, shape, threads)
    want = wanted(table, keys, fns)
    where = f"{name} by {keys} {fns} {shape} on {threads} threads"
    if want == "error":
        ok = done.returncode == 1 and "numeric overflow" in done.stderr and ".aggs[" in done.stderr
        return [] if ok else [f"{where}: no overflow: exit {done.returncode} {done.stdout[:300]}{done.stderr}"]
    if done.returncode:
        return [f"{where}: {done.stderr.strip()}"]
    rows = [[str(v) if isinstance(v, int) and not n.startswith("k") else v for n, v in zip(keys + fns, r)]
            for r in json.loads(done.stdout)["rows"]]
    return [] if rows == want else [f"{where}: found {rows}, expected {want}"]


def values(rows, **types):
    return {"op": "values", "columns": [{"name": n, "type": t} for n, t in types.items()], "rows": rows}


def join(left, right, on):
    return {"op": "join", "kind": "inner", "left": left, "right": right, "on": on, "build": "right"}


def bound_plans():
    """(plan, its one row) where the width of a sum must not follow from how many rows are expected."""
    few = {"op": "filter", "pred": "a = 1 and b = 1 and c = 1",  # far more than the estimate
           "input": values([[1, 1, 1, 1]] * 40, k2="int32", a="int32", b="int32", c="int32")}
    x = values([[1, "9" * 18]], k="int32", x="decimal(18,0)")
    yield {"op": "aggregate", "input": join(x, few, [["k", "k2"]]), "aggs": [{"fn": "sum", "arg": "x", "as": "s"}]}, \
        [str(int("9" * 18) * 40)]
    sides = [values([[7, -5 - i]] * 3000, **{f"k{i}": "int32", f"x{i}": "int32"}) for i in range(3)]
    few = [{"op": "aggregate", "input": s, "keys": [f"k{i}", f"x{i}"], "aggs": [{"fn": "count", "as": f"n{i}"}]}
           for i, s in enumerate(sides)]
    node = join(join(few[0], few[1], [["k0 + 0", "k1 + 0"]]), few[2], [["k1 + 0", "k2 + 0"]])
    yield {"op": "aggregate", "input": node, "aggs": [{"fn": "sum", "arg": "x0", "as": "s"},
                                                      {"fn": "avg", "arg": "x2", "as": "a"}]}, [-5, "-7.000000"]


def check_bounds(args, folder):
    bad = []
    for root, want in bound_plans():
        (folder / "plan.json").write_text(json.dumps({"heddle": 1, "root": root}))
        done = subprocess.run([args.heddle, "run", str(folder / "plan.json"), "--backend", args.backend, "--format",
                               "json"], capture_output=True, text=True)
        found = json.loads(done.stdout)["rows"] if done.returncode == 0 else done.stderr.strip()
        bad += [] if found == [want] else [f"bounds: found {found}, expected {[want]}"]
    return bad


def tables_of(rng, rows):
    fits = groups(rng, rows)
    one_over = {**fits, 3: [MAX, 1]}                    # a group over by one, all rows together are not
    below = {**fits, 4: [-MAX, -1]}
    all_over = {1: [MAX, -4], 2: [MAX - 1, 4, -1]}     # each group fits, together they do not
    wraps = {1: [MAX] * 4 + [-MAX], 2: [2**126] * 4}   # 3 * 10^38 and 2^128: 0 in 128 bits
    return {"fits": fits, "one_over": one_over, "below": below, "all_over": all_over, "wraps": wraps}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--threads", default="1,2,7")
    ap.add_argument("--rows", type=int, default=40000)
    args = ap.parse_args()
    rng = random.Random(38)
    tables = tables_of(rng, args.rows)
    n = len(list(bound_plans()))
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        write(folder, rng, tables)
        subprocess.run([args.heddle, "load", "--schema", str(folder / "schema.json"), "--from", scratch, "--out",
                        str(folder / "db")], check=True, capture_output=True)
        bad = check_bounds(args, folder)
        for name, table in tables.items():
            for keys in ([], ["k"], ["h"], ["k", "h"]):
                for fns, shape in CASES:
                    if shape == "again" and any(abs(v * table[k].count(v)) > MAX for k in table for v in table[k] if v):
                        continue  # the partial sums themselves leave the type
                    for threads in args.threads.split(","):
                        bad += check(args, folder, name, table, keys, fns, shape, threads)
                        n += 1
    print("\n".join(bad))
    print(f"{n - len(bad)} passed, {len(bad)} failed")
    return bool(bad)


sys.exit(main())
