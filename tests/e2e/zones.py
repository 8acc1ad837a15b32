#!/usr/bin/env python3
"""Zones that a filter rules out: random filters give the same rows, or the same error, with and without zone maps.

Usage: zones.py --heddle BIN [--run BIN] [--backend cpu|cuda] [--count N] [--seed N]

One table of five zones, the last one short, whose columns ascend roughly: ints with NULLs, dates, decimals with base and factor
and of 16 bytes, floats with NaN, strings by code, a column that is NULL in whole zones, strings that are read behind filters, and a
sorted column, at whose ends scans begin within a zone. It is stored plain, packed and in segments. Filters whose zones are known
are counted, and a damaged map is told. --run: who runs plans (the emulator), on --backend cuda with columns on the device, streamed
in chunks, and in a launch for each piece.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ZONE = 65536
ROWS = 4 * ZONE + 1000
TYPES = {"i": "int32", "d": "date", "m": "decimal(12,2)", "w": "decimal(38,2)", "x": "float64", "y": "float32", "c": "string",
         "e": "int64", "v": "int32", "u": "string", "k": "int32"}
NULLABLE = "iwxe"
STEP = 10 ** 24  # of w
MODES = {"cpu": [{}], "cuda": [{}, {"HEDDLE_CACHED_BYTES": "1000"},
                               {"HEDDLE_COLUMN_BYTES": "0", "HEDDLE_CHUNK_ROWS": "30000"}]}


def value(rng, column, r):
    zone = r // ZONE
    at = r + rng.randrange(-9000, 9000)
    if column in "iwx" and rng.random() < 0.05 or column == "e" and zone in (1, 4):
        return "NULL"
    return {"i": lambda: at // 10, "d": lambda: f"{1990 + max(at, 0) // 40000}-{1 + at % 12:02}-11",
            "m": lambda: f"{at // 50 * 5}.50", "w": lambda: f"{(at - 100000) * STEP}.25",
            "x": lambda: "nan" if zone == 2 and rng.random() < 0.01 else f"{at / 8 - 9000}", "y": lambda: f"{at / 16}",
            "c": lambda: "abcdefghij"[max(at, 0) // 30000], "e": lambda: r % 7,
            "v": lambda: rng.randrange(1000), "k": lambda: r, "u": lambda: f"row {r} {'.' * (r % 23)}"}[column]()


def make(args, rng, directory):
    (directory / "csv").mkdir()
    with open(directory / "csv" / "t.csv", "w", encoding="utf-8") as f:
        for r in range(ROWS):
            f.write(",".join(str(value(rng, c, r)) for c in TYPES) + "\n")
    for name, more, pack in (("plain", {}, False), ("packed", {}, True), ("segments", {"segment_rows": 100000}, False)):
        columns = [{"name": n, "type": t, "nullable": n in NULLABLE, **({"packed": True} if pack and n in "idmce" else {})}
                   for n, t in TYPES.items()]
        schema = {"format": {"delimiter": ",", "header": False, "null": "NULL", "trailing_delimiter": False}, **more,
                  "tables": [{"name": "t", "columns": columns}]}
        (directory / "schema.json").write_text(json.dumps(schema))
        subprocess.run([args.heddle, "load", "--schema", directory / "schema.json", "--from", directory / "csv", "--out",
                        directory / name], check=True, capture_output=True)
        subprocess.run([args.heddle, "check", directory / name], check=True, capture_output=True)


def literal(rng, column):
    at = rng.choice([-20000, 0, 300000, rng.randrange(ROWS), rng.randrange(ROWS), rng.randrange(ROWS)])
    return {"i": str(at // 10), "d": f"date '{1990 + max(at, 0) // 40000}-{1 + at % 12:02}-{10 + at % 3}'",
            "m": f"{at // 50 * 5}.{rng.choice(('50', '49'))}", "w": f"{(at - 100000) * STEP}.{rng.choice(('25', '26'))}",
            "x": rng.choice([f"{at / 8 - 9000:.3f}e0", "cast('nan' as float64)", "1e300"]), "y": f"cast({at / 16} as float32)",
            "c": "'" + rng.choice("abcdefghijz") + "'", "e": str(rng.randrange(9)), "k": str(at), "v": str(rng.randrange(1000))}[column]


def test(rng, column):
    kind = rng.random()
    if kind < 0.12 and column in NULLABLE:
        return f"{column} is {rng.choice(('', 'not '))}null"
    if kind < 0.25 and column not in "xy":
        return f"{column} in ({', '.join(literal(rng, column) for _ in range(rng.choice((1, 3, 40))))})"
    if kind < 0.4:
        return f"{column} between {literal(rng, column)} and {literal(rng, column)}"
    if kind < 0.5:
        return f"not ({column} = {literal(rng, column)})"
    op = rng.choice(("=", "<", "<=", ">", ">=", "<>", "<", ">"))
    sides = [column, literal(rng, column)]
    swapped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
    return f"{sides[0]} {op} {sides[1]}" if rng.random() < 0.7 else f"{sides[1]} {swapped} {sides[0]}"


def condition(rng):
    one = test(rng, rng.choice("iidmwxxycek"))
    return f"({one} or {test(rng, rng.choice('idmwxce'))})" if rng.random() < 0.3 else one


def plan_of(rng):
    """A filter, sometimes with a part that raises for some rows; sums, groups, first rows, or strings behind it."""
    filters = [condition(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    filters += rng.sample(["v < 900", "v = 77", "1000 / v < 500", "u like '%7%.%'"], rng.choice((0, 0, 1, 1, 2)))
    rng.shuffle(filters)
    scan = {"op": "scan", "table": "t", "filter": " and ".join(filters)}
    sums = [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "v", "as": "s"}, {"fn": "count", "arg": "x", "as": "nx"}]
    return {"heddle": 1, "root": rng.choice([
        {"op": "aggregate", "aggs": sums + [{"fn": "sum", "arg": "length(u)", "as": "l"}], "input": scan},
        {"op": "aggregate", "keys": ["c"], "aggs": sums + [{"fn": "max", "arg": "u", "as": "last"}], "input": scan},
        {"op": "aggregate", "keys": ["v"], "aggs": [{"fn": "count", "as": "n"}, {"fn": "min", "arg": "i", "as": "l"}], "input": scan},
        {"op": "sort", "keys": ["v", "u"], "limit": 20, "input": scan}])}


def run(args, directory, db, plan, threads, more=(), **environment):
    (directory / "p.json").write_text(json.dumps(plan))
    done = subprocess.run([args.run, "run", directory / "p.json", "--db", directory / db, "--backend", args.backend, "--threads",
                           str(threads), "--format", "csv", "--time", *more], capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        return done.returncode, [line for line in done.stderr.splitlines() if not line.startswith("{")], None
    report = json.loads(done.stderr.splitlines()[-1])
    return 0, sorted(done.stdout.splitlines()), report.get("pipelines")


def differs(args, rng, directory, n):
    """How many zones were skipped, or None where rows differ."""
    plan = plan_of(rng)
    db = rng.choice(("plain", "plain", "plain", "packed", "segments"))
    threads = rng.choice((1, 3))
    want = run(args, directory, db, plan, threads, HEDDLE_ZONES="off")
    mode = MODES[args.backend][n % len(MODES[args.backend])]
    got = run(args, directory, db, plan, threads, **mode)
    if got[:2] != want[:2]:
        print(f"{plan['root']} on {db}, {mode}: {got[:2]}, without zones {want[:2]}")
        return None
    return sum(p.get("zones_skipped", 0) for p in got[2] or [])


def known(args, directory):
    """Filters whose zones are known: all, none, NULLs and NaN, parameters of several values."""
    def skipped(filter_, *more, params=None):
        plan = {"heddle": 1, "params": params or {}, "root": {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "scan", "table": "t", "filter": filter_}}}
        # a launch for each piece, however small it is
        rc, rows, pipelines = run(args, directory, "plain", plan, 2, more, HEDDLE_CACHED_BYTES="1000")
        assert rc == 0, (filter_, rows)
        return pipelines[0].get("zones_skipped", 0), pipelines[0]["source_rows"], int(rows[0] if rows[0] != "n" else rows[1])

    assert skipped("i < 100000000 and v >= 0")[:2] == (0, ROWS)
    assert skipped("i > 100000000") == (5, 0, 0)
    assert skipped("e is not null")[:2] == (2, 3 * ZONE)
    assert skipped("e is null")[:2] == (3, ZONE + 1000)
    assert skipped("x > 1e100")[0] == 4 and skipped("x = cast('nan' as float64)")[0] == 4
    assert skipped("w < 0")[0] > 0 and skipped("w > 0")[0] > 0
    assert skipped("c = 'z'")[2] == 0 and skipped("c >= 'h'")[0] >= 3
    got = skipped("(i < -500 or i > 25500) and v > 1")
    assert got[0] == 2, got
    assert skipped("1000 / (v + 1) < 0 and i > 100000000")[0] == 5, "conjuncts that cannot raise go first"
    value_type = {"p": {"type": "int64", "default": "0"}}
    by_value = [skipped("i between :p and :p + 10", "-p", f"p={p}", params=value_type)[0] for p in (-5000, 0, 13000, 26000)]
    assert by_value == [5, 4, 3, 3] or by_value == [5, 4, 4, 3], by_value


def damaged(args, directory):
    """A map with another byte: an error with its path for whoever uses it, and for nobody else; `check` tells."""
    path = directory / "plain" / "t.i.zones"
    data = bytearray(path.read_bytes())
    data[9] ^= 1
    path.write_bytes(data)
    def plan(filter_):
        return {"heddle": 1, "root": {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "scan", "table": "t", "filter": filter_}}}
    rc, text, _ = run(args, directory, "plain", plan("i > 20000"), 1)
    assert rc != 0 and len(text) == 1 and str(path) in text[0] and "checksum" in text[0], text
    assert run(args, directory, "plain", plan("m > 20000 and v > 3"), 1)[0] == 0
    done = subprocess.run([args.heddle, "check", directory / "plain"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "t.i.zones" in done.stdout + done.stderr, done


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--run")
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--count", type=int, default=40)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    args.run = args.run or args.heddle
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="heddle-zones-") as scratch:
        directory = pathlib.Path(scratch)
        make(args, rng, directory)
        known(args, directory)
        found = [differs(args, rng, directory, n) for n in range(args.count)]
        damaged(args, directory)
    some = sum(n > 0 for n in found if n is not None)
    print(f"{args.count} filters, {some} with zones skipped, {found.count(None)} with other rows")
    assert some >= args.count // 4, "too few filters rule zones out"
    sys.exit(None in found)


if __name__ == "__main__":
    main()
