#!/usr/bin/env python3
"""Semi, anti and mark joins with a comparison as residual, where one key is heavy on both sides, against a direct
count in Python. Such a comparison must become smallest and largest value of a key; a text or two comparisons must not.

Usage: existence.py --heddle BIN [--db DB --plans A.json B.json]    plans that must give the same rows of DB; both
get the parameters' defaults of A
"""
import argparse
import itertools
import json
import operator
import pathlib
import random
import subprocess
import sys
import tempfile

COMPARE = {"<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
TYPES = {"i": "int32", "d": "decimal(9,2)", "f": "float64", "s": "string"}
NOTE = "compares with smallest and largest value of a key"


def table(rng, prefix, rows, heavy):
    """Rows (key, key, int, decimal, float, string) with NULLs; `heavy` of them have key 7."""
    def one(k):
        null = lambda v: None if rng.random() < 0.15 else v  # noqa: E731
        n = rng.randint(-3, 3)
        return {"k": null(k), "j": null(rng.randint(0, 2)), "i": null(n), "d": null(n * 25 / 100), "f": null(float(rng.choice([n, "nan", "-inf"]))),
                "s": null(rng.choice("abc"))}
    out = [one(7) for _ in range(heavy)] + [one(rng.randint(0, 3000)) for _ in range(rows - heavy)]
    rng.shuffle(out)
    return [{prefix + name: v for name, v in row.items()} for row in out]


def text(v):
    return "" if v is None else f"{v:.2f}" if isinstance(v, float) and v == v and abs(v) != float("inf") else str(v)


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for name, rows in tables.items():
        columns = [{"name": c, "type": TYPES.get(c[1:], "int32"), "nullable": True} for c in rows[0]]
        schema["tables"].append({"name": name, "columns": columns})
        lines = ["|".join(text(v) for v in row.values()) for row in rows]
        (folder / f"{name}.tbl").write_text("".join(line + "\n" for line in lines))
    (folder / "schema.json").write_text(json.dumps(schema))


def key(v):
    """NaN equals itself and is larger than everything else."""
    return (v != v, 0 if v != v else v) if isinstance(v, float) else v


def matches(left, right, keys, conditions):
    index = {}
    for r in right:
        index.setdefault(tuple(r["r" + k] for k in keys), []).append(r)
    for row in left:
        values = tuple(row["l" + k] for k in keys)
        found = [] if None in values else index.get(values, [])
        yield row, any(all(c(row, r) for c in conditions) for r in found)


def compared(op, a, b):
    def test(row, r):
        x, y = {**row, **r}[a], {**row, **r}[b]
        return x is not None and y is not None and COMPARE[op](key(x), key(y))
    return f"{a} {op} {b}", test


def cases():
    build_only = ("rj < 2", lambda row, r: r["rj"] is not None and r["rj"] < 2)
    probe_only = ("lj is null", lambda row, r: row["lj"] is None)
    for op, c in [*itertools.product(COMPARE, "i"), ("<>", "d"), ("<>", "f"), (">", "f")]:
        yield "k", [compared(op, "r" + c, "l" + c)], True
        yield "kj", [compared(op, "l" + c, "r" + c)], True
    yield "k", [compared("<>", "ri", "li"), build_only], True
    yield "k", [compared("<", "ri", "li"), probe_only], True
    yield "kj", [probe_only, compared(">=", "ld", "rd"), build_only], True
    yield "k", [compared("<>", "rs", "ls")], False
    yield "k", [compared("<", "ri", "li"), compared(">", "rd", "ld")], False


class Engine:
    def __init__(self, heddle, db):
        self.heddle, self.db = heddle, db

    def call(self, command, plan, *options):
        done = subprocess.run([self.heddle, command, "-", "--db", self.db, "--backend", "cpu", *options], input=json.dumps(plan),
                              capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{done.stderr}\n{json.dumps(plan)}")
        return done.stdout

    def rows(self, plan, threads):
        return self.call("run", plan, "--format", "csv", "--threads", str(threads)).splitlines()[1:]


def join(kind, keys, residual):
    node = {"op": "join", "kind": kind, "on": [["l" + k, "r" + k] for k in keys], "residual": residual,
            "left": {"op": "scan", "table": "l"}, "right": {"op": "scan", "table": "r"}}
    out = {"op": "project", "exprs": ["lrow"] + (["m"] if kind == "mark" else []), "input": node}
    if kind == "mark":
        node["mark"] = "m"
    return {"heddle": 1, "root": {"op": "sort", "keys": ["lrow"], "input": out}}


def check(heddle, probe, build, heavy, seed):
    rng, wrong = random.Random(seed), 0
    left, right = table(rng, "l", probe, heavy), table(rng, "r", build, heavy)
    for n, row in enumerate(left):
        row["lrow"] = n
    with tempfile.TemporaryDirectory(prefix="heddle-existence-") as folder:
        folder = pathlib.Path(folder)
        write(folder, {"l": left, "r": right})
        subprocess.run([heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)
        engine = Engine(heddle, str(folder / "db"))
        for keys, conditions, extremes in cases():
            found = list(matches(left, right, keys, [c for _, c in conditions]))
            for kind in ("semi", "anti", "mark"):
                plan = join(kind, keys, " and ".join(t for t, _ in conditions))
                want = [str(row["lrow"]) + (("," + str(hit).lower()) if kind == "mark" else "")
                        for row, hit in found if kind == "mark" or hit == (kind == "semi")]
                noted = NOTE in engine.call("explain", plan, "--dump", "pipelines")
                if engine.rows(plan, 3) != want or noted != extremes:
                    wrong += 1
                    print(f"{probe} x {build} rows, note {noted}: {json.dumps(plan)}")
    return wrong


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db")
    ap.add_argument("--plans", nargs=2)
    args = ap.parse_args()
    wrong = check(args.heddle, 40, 4000, 30, 1) + check(args.heddle, 3000, 600, 300, 2)
    if args.plans:
        engine = Engine(args.heddle, args.db)
        plans = [json.loads(pathlib.Path(p).read_text()) for p in args.plans]
        plans[1]["params"] = plans[0]["params"]
        a, b = (engine.rows(p, 2) for p in plans)
        if a != b or not a:
            wrong += 1
            print(f"{args.plans}: {len(a)} and {len(b)} rows, not the same")
    print(f"{wrong} wrong")
    return wrong != 0


sys.exit(main())
