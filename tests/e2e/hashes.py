#!/usr/bin/env python3
"""The function hash against its definition (tests/oracle/hdhash.py), of columns of every type, alone and several at a time;
approx_count_distinct against HyperLogLog of these hashes, to the last digit, and within its error of many values.

The columns are loaded, so that facts make them narrow, sorted texts a dictionary, and some of them NULL.
Usage: hashes.py --heddle BIN [--rows 2000] [--threads 1,3] [--backend B]
"""
import argparse
import datetime
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from hdhash import estimate, hash_of  # noqa: E402

COLUMNS = [("tiny", "int32", False), ("i", "int32", True), ("j", "int64", True), ("small", "decimal(12,2)", True),
           ("wide", "decimal(38,3)", True), ("x", "float64", True), ("y", "float32", True), ("day", "date", True),
           ("at", "timestamp", True), ("word", "string", True), ("text", "string", False), ("ok", "bool", True)]
PAIRS = [("i", "j"), ("word", "tiny"), ("text", "word", "x"), ("wide", "small", "at", "day"), ("ok", "y"), ("j", "i")]


def value(rng, name, kind):
    single = struct.unpack("<f", struct.pack("<f", rng.uniform(-9, 9)))[0]
    return {"tiny": lambda: rng.randrange(5), "i": lambda: rng.randrange(-1 << 31, 1 << 31), "ok": lambda: rng.random() < 0.5,
            "j": lambda: rng.choice([rng.randrange(-1 << 63, 1 << 63), rng.randrange(9)]),
            "small": lambda: rng.randrange(-10 ** 12 + 1, 10 ** 12),
            "wide": lambda: rng.choice([rng.randrange(-10 ** 38 + 1, 10 ** 38), rng.randrange(-999, 999), 1 << 63, -(1 << 63)]),
            "x": lambda: rng.choice([0.0, -0.0, float("nan"), float("inf"), rng.gauss(0, 1e9)]),
            "y": lambda: rng.choice([0.0, -0.0, float("nan"), single]),
            "day": lambda: datetime.date(1900, 1, 1) + datetime.timedelta(days=rng.randrange(90000)),
            "at": lambda: datetime.datetime(1900, 1, 1) + datetime.timedelta(microseconds=rng.randrange(10 ** 16)),
            "word": lambda: rng.choice(["a", "seven..", "eight...", "nine.....", "Zürich"]),
            "text": lambda: "".join(rng.choice("abcdé ") for _ in range(rng.randrange(1, 30)))}[name]()


def cell(v, kind):
    if v is None:
        return ""
    if kind.startswith("decimal"):
        scale = int(kind[:-1].split(",")[1])
        digits = str(abs(v)).rjust(scale + 1, "0")
        return ("-" if v < 0 else "") + digits[:-scale] + "." + digits[-scale:]
    if kind == "bool":
        return "true" if v else "false"
    return repr(v) if kind.startswith("float") else str(v)


def load(args, scratch, rows):
    columns = [{"name": n, "type": k, "nullable": null} for n, k, null in COLUMNS]
    schema = {"format": {"delimiter": ",", "header": True, "null": "", "trailing_delimiter": False},
              "tables": [{"name": "t", "columns": columns}]}
    (scratch / "schema.json").write_text(json.dumps(schema))
    lines = [",".join(n for n, _, _ in COLUMNS)]
    lines += [",".join(cell(v, k) for v, (_, k, _) in zip(row, COLUMNS)) for row in rows]
    (scratch / "t.csv").write_text("\n".join(lines) + "\n")
    done = subprocess.run([args.heddle, "load", "--schema", str(scratch / "schema.json"), "--from", str(scratch), "--out",
                           str(scratch / "db")], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def run(args, scratch, root, threads):
    plan = scratch / "plan.json"
    plan.write_text(json.dumps({"heddle": 1, "root": root}))
    done = subprocess.run([args.heddle, "run", str(plan), "--db", str(scratch / "db"), "--backend", args.backend, "--threads", threads,
                           "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{root}\n{done.stderr}")
    return json.loads(done.stdout)["rows"]


def check_hashes(args, scratch, rows, threads):
    tests = [(n,) for n, _, _ in COLUMNS] + PAIRS
    root = {"op": "project", "exprs": [{"expr": f"hash({', '.join(t)})", "as": f"h{k}"} for k, t in enumerate(tests)],
            "input": {"op": "scan", "table": "t"}}
    at = {n: k for k, (n, _, _) in enumerate(COLUMNS)}
    got = sorted([int(v) for v in row] for row in run(args, scratch, root, threads))
    want = sorted([hash_of([row[at[n]] for n in t], [COLUMNS[at[n]][1] for n in t]) for t in tests] for row in rows)
    return got == want


def check_estimates(args, scratch, rows, threads, key):
    """All columns at once, one with a filter; by a key with many values they are exact."""
    at = {n: k for k, (n, _, _) in enumerate(COLUMNS)}
    aggs = [{"fn": "approx_count_distinct", "arg": n, "as": n} for n, _, _ in COLUMNS if n != key]
    aggs.append({"fn": "approx_count_distinct", "arg": "j", "filter": "tiny = 1 and i > 0", "as": "filtered"})
    aggs.append({"fn": "count", "as": "rows"})
    root = {"op": "aggregate", "keys": [key] if key else [], "aggs": aggs, "input": {"op": "scan", "table": "t"}}
    groups = {}
    for row in rows:
        groups.setdefault(row[at[key]] if key else (), []).append(row)
    exact, want = key == "i", []
    for group in groups.values():
        some = [r for r in group if r[at["tiny"]] == 1 and r[at["i"]] is not None and r[at["i"]] > 0]
        columns = [(n, group) for n, _, _ in COLUMNS if n != key] + [("j", some)]
        hashes = [[hash_of([r[at[n]]], [COLUMNS[at[n]][1]]) for r in of if r[at[n]] is not None] for n, of in columns]
        want.append([len(set(h)) if exact else estimate(h) for h in hashes] + [len(group)])
    got = [[int(v) for v in row[1 if key else 0:]] for row in run(args, scratch, root, threads)]
    return sorted(got) == sorted(want)


def check_errors(args, scratch, threads):
    """The first n integers: six standard deviations would be 9.8 %."""
    ok = True
    for n in (1, 10, 100, 1000, 5000, 20000, 200000) if args.rows >= 2000 else (1, 10, 100, 1000):
        numbers = {"op": "repeat", "input": {"op": "values", "columns": [{"name": "n", "type": "int64"}], "rows": [[str(n)]]}, "count": "n"}
        numbered = {"op": "window", "input": numbers, "functions": [{"fn": "row_number", "as": "k"}]}
        root = {"op": "aggregate", "aggs": [{"fn": "approx_count_distinct", "arg": "k", "as": "d"}], "input": numbered}
        got = int(run(args, scratch, root, threads)[0][0])
        ok &= abs(got - n) <= (0.098 * n if n > 500 else 0.02 * n) and got == estimate(hash_of([k + 1], ["int64"]) for k in range(n))
    return ok


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--threads", default="1,3")
    parser.add_argument("--backend", default="cpu")
    args = parser.parse_args()
    rng = random.Random(11)
    rows = [[None if null and rng.random() < 0.1 else value(rng, n, k) for n, k, null in COLUMNS] for _ in range(args.rows)]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        load(args, scratch, rows)
        for threads in args.threads.split(","):
            results = {"hash": check_hashes(args, scratch, rows, threads), "errors": check_errors(args, scratch, threads)}
            for key in (None, "tiny", "word", "i"):
                results[f"estimates by {key}"] = check_estimates(args, scratch, rows, threads, key)
            bad += not all(results.values())
            print(f"{threads} threads: " + ", ".join(f"{what} {'ok' if ok else 'DIFFERENT'}" for what, ok in results.items()))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
