#!/usr/bin/env python3
"""Sums that share words of a GPU's threads: rows against Python, and the words that the plan says.

    lane_words.py --heddle BIN [--random N] [--seed N]

Most values are the largest that their column has, and most rows have one group, so that sums soon leave their bits:
HEDDLE_LANE_ROOM=N leaves room for 2^N rows of a thread, behind which a warp brings its sums to the state. Few warps
(--gpu-warps) have many tiles each. Random plans come after those whose words are known.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROWS = 24000
FEW_WARPS = ["--gpu-warps", "4"]
# Environment, and options of the command line.
WAYS = [({}, []), ({"HEDDLE_LANE_ROOM": "3"}, FEW_WARPS), ({"HEDDLE_LANE_ROOM": "5"}, FEW_WARPS),
        ({"HEDDLE_LANE_ROOM": "3", "HEDDLE_FRAGMENTS": "3"}, []),
        ({"HEDDLE_LANE_ROOM": "4", "HEDDLE_TIER": "first"}, FEW_WARPS)]


def most(rng, largest):
    return largest if rng.random() < 0.8 else rng.randint(0, largest)


# name: (type, nullable, function of a random source)
COLUMNS = {
    "k": ("int32", False, lambda r: 3 if r.random() < 0.7 else r.randrange(6)),
    "k32": ("int32", False, lambda r: 7 if r.random() < 0.7 else r.randrange(32)),
    "kn": ("int32", True, lambda r: None if r.random() < 0.7 else r.randrange(5)),
    "nib": ("int64", False, lambda r: most(r, 15)),
    "six": ("int64", False, lambda r: most(r, 63)),
    "price": ("int64", False, lambda r: most(r, 2 ** 24 - 1)),
    "d30": ("int64", False, lambda r: most(r, 2 ** 30 - 1)),
    "e37": ("int64", False, lambda r: most(r, 2 ** 37 - 1)),
    "f45": ("int64", False, lambda r: most(r, 2 ** 45 - 1)),
    "g53": ("int64", False, lambda r: most(r, 2 ** 53 - 1)),
    "h58": ("int64", False, lambda r: most(r, 2 ** 58 - 1)),
    "neg": ("int64", False, lambda r: r.randint(-9, 100)),
    "low": ("int64", False, lambda r: r.randint(-100, -9)),
    "step": ("int64", False, lambda r: 100 * (1 + most(r, 49))),
    "maybe": ("int64", True, lambda r: None if r.random() < 0.3 else most(r, 200)),
    "ratio": ("float64", False, lambda r: r.randrange(-800, 800) / 8),
}

# name: (key, aggregates, filter in text and in Python, what the plan says)
PLANS = {
    "three": ("k", ["sum six", "sum price", "sum d30", "sum e37", "count", "sum nib"], None, "18 words per thread, for 8192 rows"),
    "counted": ("k32", ["count", "sum six"], None, "36 words per thread, for 268435456 rows"),
    "decoded": ("k", ["sum step", "sum nib", "count", "count maybe"], ("price > 9", lambda r: r["price"] > 9),
                "8 words per thread, for 2048 rows"),
    "nulls": ("kn", ["sum maybe", "max low", "count", "count maybe", "sum six"], None, "18 words per thread, for 262144 rows"),
    "unseen": ("k", ["sum six", "sum price"], ("maybe is not null", lambda r: r["maybe"] is not None),
               "8 words per thread, for 131072 rows"),
    "negative": ("kn", ["sum neg", "count", "sum ratio", "max d30", "sum nib"], None, "24 words per thread, for .* rows"),
    "wide": ("k", ["sum g53", "sum f45", "sum nib", "count", "sum h58"], None, "(24|36) words per thread, for .* rows"),
    "none": ("k", ["sum neg", "sum ratio"], None, "12 words per thread]"),
}
FILTERS = [None, ("price > 9", lambda r: r["price"] > 9), ("maybe is not null", lambda r: r["maybe"] is not None)]


def random_plan(rng):
    keys = [c for c in COLUMNS if c.startswith("k")]
    values = [c for c in COLUMNS if c not in keys]
    aggs = ["count", *(f"{f} {v}" for v in values for f in ("sum", "count", "min", "max"))]
    likely = [a for a in aggs if a.startswith("sum")] + ["count"]
    chosen = {rng.choice(likely if rng.random() < 0.7 else aggs) for _ in range(rng.randint(2, 7))}
    return rng.choice(keys), sorted(chosen), rng.choice(FILTERS), None


def value_of(agg, rows):
    if agg == "count":
        return len(rows)
    fn, column = agg.split()
    values = [r[column] for r in rows if r[column] is not None]
    if fn == "count":
        return len(values)
    if not values:
        return None
    return {"sum": sum, "min": min, "max": max}[fn](values)


def expected(rows, key, aggs, where):
    groups = {}
    for r in rows:
        if not where or where[1](r):
            groups.setdefault(r[key], []).append(r)
    return sorted(([k, *(value_of(a, g) for a in aggs)] for k, g in groups.items()), key=str)


def plan_of(key, aggs, where):
    scan = {"op": "scan", "table": "t", **({"filter": where[0]} if where else {})}
    listed = [{"fn": a.split()[0], "as": f"a{i}", **({"arg": a.split()[1]} if " " in a else {})} for i, a in enumerate(aggs)]
    return {"heddle": 1, "root": {"op": "aggregate", "keys": [key], "aggs": listed, "input": scan}}


def write(folder, rows):
    columns = [{"name": c, "type": t, "nullable": null} for c, (t, null, _) in COLUMNS.items()]
    schema = {"format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False},
              "tables": [{"name": "t", "columns": columns}]}
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / "t.tbl").write_text("".join("|".join("" if v is None else str(v) for v in r.values()) + "\n" for r in rows))


def run(command, env):
    r = subprocess.run(list(map(str, command)), env={**os.environ, **env}, capture_output=True, text=True)
    if r.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} {env}: {r.stderr}")
    return r.stdout


def number(text):
    return None if text == "" else float(text) if "." in text or "e" in text else int(text)


def check(heddle, db, plan, want, says):
    how = [plan, "--db", db, "--backend", "cuda"]
    dump = run([heddle, "explain", *how, "--dump", "pipelines"], {"HEDDLE_TIER": "optimised"}) if says else ""
    if says and not (re.search(r"\[gpu: in place\]", dump) and re.search(says, dump)):
        return [f"{plan.stem}: not \"{says}\" in\n{dump}"]
    bad = []
    for env, options in WAYS:
        for profile in ([], ["--profile", db.parent / "profile.json"])[:1 + (not env)]:
            out = run([heddle, "run", *how, "--format", "csv", *options, *profile], env)
            got = sorted(([number(v) for v in line.split(",")] for line in out.splitlines()[1:]), key=str)
            if got != want:
                bad.append(f"{plan.stem} {env} {options}: {got} in place of {want}")
    return bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--heddle", required=True)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--random", type=int, default=6)
    o = p.parse_args()
    rng, bad = random.Random(o.seed), []
    rows = [{c: f(rng) for c, (_, _, f) in COLUMNS.items()} for _ in range(ROWS)]
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        write(folder, rows)
        run([o.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], {})
        plans = {**PLANS, **{f"random{i}": random_plan(rng) for i in range(o.random)}}
        for name, (key, aggs, where, says) in plans.items():
            plan = folder / f"{name}.json"
            plan.write_text(json.dumps(plan_of(key, aggs, where)))
            bad += check(o.heddle, folder / "db", plan, expected(rows, key, aggs, where), says)
    if bad:
        sys.exit("\n".join(bad))
    print(f"{len(plans)} plans, {len(WAYS)} ways each")


if __name__ == "__main__":
    main()
