#!/usr/bin/env python3
"""x in (subplan) and exists against Python, over NULLs and empty subplans, at every kind of place in a condition.

Usage: subplans.py --heddle BIN [--backend cpu] [--threads 1,2,7]
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

LEFT = [1, 2, 3, None, 7, 7, 12]
RIGHT = {"empty": [], "values": [1, 3, 3, 9, 12], "nulls": [None, None], "both": [None, 7, 2, 2]}


def rows_of(values, name):
    return {"op": "values", "columns": [{"name": name, "type": "int64"}], "rows": [[v] for v in values]}


def numbered(values):
    return {"op": "values", "columns": [{"name": "i", "type": "int64"}, {"name": "x", "type": "int32"}],
            "rows": [[i, v] for i, v in enumerate(values)]}


def member(x, values):
    if x is not None and x in values:
        return True
    return None if (x is None and values) or None in values else False


def negated(v):
    return None if v is None else not v


def both(a, b):
    return False if a is False or b is False else None if a is None or b is None else True


def either(a, b):
    return negated(both(negated(a), negated(b)))


def places(values):
    """name -> (tree, the value that it has of row (i, x))"""
    asked = {"op": "in", "args": ["x"], "plan": rows_of(values, "y")}
    there = {"op": "exists", "plan": rows_of(values, "y"), "on": [["x", "y"]]}
    any_row = {"op": "exists", "plan": rows_of(values, "y")}
    near = {"op": "exists", "plan": rows_of(values, "y"), "residual": "x < y"}

    def no(tree):
        return {"op": "not", "args": [tree]}

    def join(op, *args):
        return {"op": op, "args": list(args)}
    inside = lambda i, x: member(x, values)
    matches = lambda i, x: x is not None and x in values
    below = lambda i, x: x is not None and any(y is not None and x < y for y in values)
    out = {"in": (asked, inside), "not in": (no(asked), lambda i, x: negated(inside(i, x))),
           "not not in": (no(no(asked)), inside), "exists": (there, matches), "not exists": (no(there), lambda i, x: not matches(i, x)),
           "any": (any_row, lambda i, x: bool(values)), "none": (no(any_row), lambda i, x: not values), "near": (near, below),
           "in and i": (join("and", asked, "i > 1"), lambda i, x: both(inside(i, x), i > 1)),
           "i and not in": (join("and", "i > 1", no(asked), "i < 6"), lambda i, x: both(both(i > 1, negated(inside(i, x))), i < 6)),
           "in or i": (join("or", asked, "i = 1"), lambda i, x: either(inside(i, x), i == 1)),
           "not (in or x)": (no(join("or", asked, "x = 3")), lambda i, x: negated(either(inside(i, x), None if x is None else x == 3))),
           "not (in and x)": (no(join("and", asked, "x > 2")), lambda i, x: negated(both(inside(i, x), None if x is None else x > 2))),
           "in is null": ({"op": "is_null", "args": [asked]}, lambda i, x: inside(i, x) is None),
           "in and exists": (join("and", asked, no(near)), lambda i, x: both(inside(i, x), not below(i, x))),
           "in of in": ({"op": "in", "args": [{"op": "case", "args": [asked, "x", {"lit": 12}]}], "plan": rows_of(values, "z")},
                        lambda i, x: member(x if inside(i, x) else 12, values))}
    return out


def cases():
    for (name, right), nullable in itertools.product(RIGHT.items(), (True, False)):
        left = [(i, x) for i, x in enumerate(LEFT) if nullable or x is not None]
        source = {"op": "values", "columns": [{"name": "i", "type": "int64"}, {"name": "x", "type": "int32"}], "rows": [list(r) for r in left]}
        for place, (tree, value) in places(right).items():
            yield (f"filter, {place}, {name}, {nullable}", {"op": "filter", "input": source, "pred": tree},
                   [[i, x] for i, x in left if value(i, x)])
            yield (f"project, {place}, {name}, {nullable}",
                   {"op": "project", "input": source, "exprs": ["i", {"expr": tree, "as": "v"}]}, [[i, value(i, x)] for i, x in left])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--threads", default="2")
    args = ap.parse_args()
    listed = list(cases())
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "schema.json").write_text(json.dumps({"tables": [{"name": "t", "columns": [{"name": "k", "type": "int32"}]}]}))
        (folder / "t.tbl").write_text("1|\n")
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)
        for threads in args.threads.split(","):
            with open(folder / "batch", "w") as f:
                for n, (_, root, _) in enumerate(listed):
                    (folder / f"p{n}.json").write_text(json.dumps({"heddle": 1, "root": root}))
                    f.write(json.dumps({"plan": str(folder / f"p{n}.json"), "params": {}, "format": "json", "threads": int(threads),
                                        "id": n, "out": str(folder / f"out{n}")}) + "\n")
            command = [args.heddle, "run", "--batch", folder / "batch", "--db", folder / "db", "--backend", args.backend]
            answers = subprocess.run(command, capture_output=True, text=True)
            said = {a["id"]: a for a in map(json.loads, answers.stdout.splitlines())}
            for n, (name, _, want) in enumerate(listed):
                found = said.get(n, {"error": answers.stderr[-300:]}).get("error")
                found = found or sorted(json.loads((folder / f"out{n}").read_text())["rows"], key=str)
                if found != sorted(want, key=str):
                    wrong += 1
                    print(f"WRONG {name}, {threads} threads: expected {want}, found {found}")
    print(f"{len(listed)} conditions, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
