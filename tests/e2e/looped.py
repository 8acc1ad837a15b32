#!/usr/bin/env python3
"""Joins by strategy loop of enough rows for a loop over pairs, whose conditions compare a value of each side: NULLs,
NaNs and infinities in most columns, few and many pairs that match, rows of the source that leave first. Rows, counts
and matches are those that Python finds, and what `explain` says of bounds is what each condition is listed with.

Usage: looped.py --heddle BIN [--backend cpu|cuda] [--rows N] [--only TEXT]
"""
import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

OTHERS = 330
TYPES = {"row": "int32", "i": "int32", "b": "int64", "f": "float32", "d": "float64", "c": "decimal(9,2)", "n": "int32", "g": "int32"}
KNOWN = ("row", "n", "g")
ODD = {"f": ("nan", "inf", "-inf"), "d": ("nan", "inf", "-inf")}


def table(rng, prefix, rows, low):
    """Most values of the right side are beyond those of the left one; NULLs stand alone and in runs."""
    def number(name, n):
        if rng.random() < 0.1 or 100 < n % 600 < 400 and name in "id":
            return None
        if name in ODD and rng.random() < 0.004:
            return float(rng.choice(ODD[name]))
        v = rng.randint(low, low + 999)
        return v / 4 if name in "fdc" else v
    out = []
    for n in range(rows):
        row = {name: number(name, n) for name in "ibfdc"}
        row |= {"n": rng.randint(low, low + 999), "g": rng.randint(0, 9)}
        out.append({prefix + name: v for name, v in {"row": n, **row}.items()})
    return out


def text(v):
    return "" if v is None else repr(v) if isinstance(v, float) else str(v)


def write(folder, tables):
    schema = {"tables": [], "format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}}
    for name, rows in tables.items():
        columns = [{"name": c, "type": TYPES[c[1:]], "nullable": c[1:] not in KNOWN} for c in rows[0]]
        schema["tables"].append({"name": name, "columns": columns})
        lines = ["|".join(text(v) for v in row.values()) for row in rows]
        (folder / f"{name}.tbl").write_text("".join(line + "\n" for line in lines))
    (folder / "schema.json").write_text(json.dumps(schema))


def key(v):
    """NaN equals itself and is larger than everything else."""
    return (True, 0) if math.isnan(v) else (False, v)


def known(test):
    """NULL is no match."""
    return lambda *v: None not in v and test(*v)


gt, le = known(lambda a, b: key(a) > key(b)), known(lambda a, b: key(a) <= key(b))
ne = known(lambda a, b: a != b)

# residual, whether a row of the source is compared by a bound, test
CONDITIONS = [
    ("li > ri", True, lambda x, y: gt(x["li"], y["ri"])),
    ("li + 700 > ri", True, lambda x, y: known(lambda a, b: a + 700 > b)(x["li"], y["ri"])),
    ("ln > rn", True, lambda x, y: x["ln"] > y["rn"]),
    ("ln + 600 > rn", True, lambda x, y: x["ln"] + 600 > y["rn"]),
    ("ln = rn", False, lambda x, y: x["ln"] == y["rn"]),
    ("rb < li", True, lambda x, y: gt(x["li"], y["rb"])),
    ("lb > ri", True, lambda x, y: gt(x["lb"], y["ri"])),
    ("lf > rf", True, lambda x, y: gt(x["lf"], y["rf"])),
    ("ld > rd", True, lambda x, y: gt(x["ld"], y["rd"])),
    ("ld <= rd", True, lambda x, y: le(x["ld"], y["rd"])),
    ("rf <= lf", True, lambda x, y: le(y["rf"], x["lf"])),
    ("lc > rc", True, lambda x, y: gt(x["lc"], y["rc"])),
    ("ri - li < 10", True, lambda x, y: known(lambda a, b: b - a < 10)(x["li"], y["ri"])),
    ("ld - rd > 0", False, lambda x, y: known(lambda a, b: key(a - b) > key(0))(x["ld"], y["rd"])),
    ("li >= ri and li < ri + 8 and lg <> rg", True,
     lambda x, y: known(lambda a, b: b <= a < b + 8)(x["li"], y["ri"]) and x["lg"] != y["rg"]),
    ("li > ri or lf > rf", True, lambda x, y: gt(x["li"], y["ri"]) or gt(x["lf"], y["rf"])),
    ("li > ri or lg > rg", True, lambda x, y: gt(x["li"], y["ri"]) or x["lg"] > y["rg"]),
    ("li <> ri", False, lambda x, y: ne(x["li"], y["ri"])),
]
FILTER = "lg < 9"


def is_filtered(residual):
    """Rows of conditions with ln all come."""
    return "ln" not in residual


class Engine:
    def __init__(self, args, db):
        self.heddle, self.backend, self.db, self.wrong, self.seen = args.heddle, args.backend, db, 0, 0

    def call(self, command, root, *options):
        plan = json.dumps({"heddle": 1, "root": root})
        done = subprocess.run([self.heddle, command, "-", "--db", self.db, "--backend", self.backend, *options],
                              input=plan, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{done.stderr}\n{plan}")
        return done.stdout

    def rows(self, root):
        lines = self.call("run", root, "--format", "csv", "--threads", "2").splitlines()[1:]
        return sorted(tuple(int(v) if v not in ("true", "false") else v == "true" for v in line.split(",")) for line in lines)

    def expect(self, found, want, what):
        self.seen += 1
        if found != want:
            self.wrong += 1
            print(f"{what}\n  found {len(found)}: {str(found)[:200]}\n  not   {len(want)}: {str(want)[:200]}")


def join(kind, residual):
    node = {"op": "join", "kind": kind, "on": [], "strategy": "loop", "residual": residual,
            "left": {"op": "scan", "table": "l"}, "right": {"op": "scan", "table": "r"}}
    if is_filtered(residual):
        node["left"]["filter"] = FILTER
    if kind == "mark":
        node["mark"] = "m"
    return node


def check(engine, left, right, condition):
    residual, bounded, test = condition
    left = [x for x in left if x["lg"] < 9 or not is_filtered(residual)]
    pairs = [(x["lrow"], y["rrow"]) for x in left for y in right if test(x, y)]
    matched = {a for a, _ in pairs}
    rows = {"op": "project", "exprs": ["lrow", "rrow"], "input": join("inner", residual)}
    engine.expect(engine.rows(rows), sorted(pairs), f"{residual}: inner")
    said = engine.call("explain", rows, "--dump", "pipelines")
    if "rows a thread" not in said or (", bounded]" in said) != bounded:
        engine.expect(said, "", f"{residual}: a loop, bounded: {bounded}")
    total = {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "lg", "as": "g"}],
             "input": join("inner", residual)}
    by_row = {x["lrow"]: x["lg"] for x in left}
    engine.expect(engine.rows(total), [(len(pairs), sum(by_row[a] for a, _ in pairs))], f"{residual}: aggregate")
    grouped = {"op": "aggregate", "keys": ["lg"], "aggs": [{"fn": "count", "as": "n"}], "input": join("inner", residual)}
    counts = [sum(by_row[a] == g for a, _ in pairs) for g in range(10)]
    engine.expect(engine.rows(grouped), [(g, n) for g, n in enumerate(counts) if n], f"{residual}: groups")
    for kind in ("semi", "anti", "mark"):
        root = {"op": "project", "exprs": ["lrow"] + ["m"] * (kind == "mark"), "input": join(kind, residual)}
        want = [(x["lrow"], x["lrow"] in matched) if kind == "mark" else (x["lrow"],) for x in left
                if kind == "mark" or (x["lrow"] in matched) == (kind == "semi")]
        engine.expect(engine.rows(root), want, f"{residual}: {kind}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--rows", type=int, default=2200)
    ap.add_argument("--only", default="", help="conditions with this text")
    args = ap.parse_args()
    rng = random.Random(11)
    with tempfile.TemporaryDirectory(prefix="heddle-looped-") as folder:
        folder = pathlib.Path(folder)
        left, right = table(rng, "l", args.rows, 0), table(rng, "r", OTHERS, 820)
        write(folder, {"l": left, "r": right})
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"],
                       check=True)
        engine = Engine(args, str(folder / "db"))
        for condition in CONDITIONS:
            if args.only in condition[0]:
                check(engine, left, right, condition)
    print(f"{engine.seen} answers, {engine.wrong} wrong")
    return engine.wrong != 0


if __name__ == "__main__":
    sys.exit(main())
