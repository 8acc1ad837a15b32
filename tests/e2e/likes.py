#!/usr/bin/env python3
"""LIKE with pieces that stand anywhere, over the strings of a scanned table, against Python's re.

Usage: likes.py --heddle BIN [--run BIN] [--backend cpu|cuda] [--patterns 8] [--seed N]

Rows are as many as end a tile of a GPU early or late, or begin a block of strings. Strings are empty, as long as a load of a GPU
and a byte less or more, and longer than what a warp reads at a time; pieces of 1 to 12 bytes stand at their begins and ends, across
every border of 16 bytes, and half in one row and half in the next. Python tells which rows match. --run: who runs plans (the
emulator), on --backend cuda with columns on the device, in a launch for each piece, streamed in chunks, and on three devices.
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

BLOCK = 65536
SIZES = (4096 + 1, 4096 + 7, 4096 + 8, 4096 + 255, 4096 + 256, BLOCK + 1)
LENGTHS = (0, 0, 1, 15, 16, 17, 31, 33, 48, 48, 48, 48, 90)
LONG = (600, 5000, 70000)
MODES = {"cpu": [{}], "cuda": [{}, {"HEDDLE_CACHED_BYTES": "1000"}, {"HEDDLE_COLUMN_BYTES": "0", "HEDDLE_CHUNK_ROWS": "66000"},
                               {"HEDDLE_SPREAD": "always", "devices": "0,1,2"}]}
PIECES = ("special", "requests", "green", "abc_def", "s_ec_al", "a_c_e_g_i", "abcdefghijkl", "aaaa", "aaaaaaaa", "xyz", "q", "qu", "spec",
          "ecials", "100%!", "under_score")


def filler(rng, n, letters):
    return "".join(rng.choices(letters, k=n))


def strings(rng, rows):
    """NULL where there is none. Some are cut where a piece is: its other half begins the next one. The first of the second block and
    a long one have all pieces."""
    out, rest = [], ""
    for r in range(rows):
        n = rng.choice(LENGTHS) if rng.random() < 0.995 or rows > BLOCK else rng.choice(LONG)
        s = rest + filler(rng, n, rng.choice(("abcdefgh xyz", "a", "ab", "specialrqut ")))
        rest = ""
        if rng.random() < 0.3:
            for _ in range(rng.choice((1, 1, 2))):
                at = rng.choice((0, len(s), rng.randint(0, len(s)), rng.randint(0, len(s))))
                s = s[:at] + rng.choice(PIECES) + s[at:]
        if rng.random() < 0.05 and r < rows - 1:
            piece = rng.choice(PIECES)
            cut = rng.randint(1, len(piece))
            s, rest = s + piece[:cut], piece[cut:]
        out.append(None if rng.random() < 0.1 and not rest else s)
    for r, before in ((BLOCK, ""), (rows // 2, filler(rng, 3000, "ab"))):
        if r < rows:
            out[r] = before + " ".join(PIECES)
    return out


def make(args, rng, directory, rows):
    """Columns: row number, strings with NULLs, the same ones without."""
    name = f"t{rows}"
    texts = strings(rng, rows)
    (directory / name).mkdir()
    with open(directory / name / "t.csv", "w", encoding="utf-8") as f:
        for k, s in enumerate(texts):
            f.write(f"{k}|{'NULL' if s is None else s}|{s or ''}\n")
    columns = [{"name": "k", "type": "int32"}, {"name": "s", "type": "string", "nullable": True}, {"name": "z", "type": "string"}]
    schema = {"format": {"delimiter": "|", "header": False, "null": "NULL", "trailing_delimiter": False},
              "tables": [{"name": "t", "columns": columns}]}
    (directory / "schema.json").write_text(json.dumps(schema))
    subprocess.run([args.heddle, "load", "--schema", directory / "schema.json", "--from", directory / name, "--out",
                    directory / f"db{rows}"], check=True, capture_output=True)
    return directory / f"db{rows}", texts


def pattern(rng):
    """(as LIKE has it, a regular expression)"""
    pieces = [rng.choice(PIECES) if rng.random() < 0.8 else filler(rng, rng.randint(1, 12), "abc") for _ in range(rng.choice((1, 1, 2, 3)))]
    if rng.random() < 0.2:
        pieces[0] = rng.choice(("sp", "a")) + "_" * rng.randint(1, 3) + pieces[0]
    begin, end = ("%", rng.choice(("%", "%", "%", "")))
    text = begin + "%".join(p.replace("!", "!!").replace("%", "!%") for p in pieces) + end
    literal = [re.escape(p).replace("_", ".") for p in pieces]
    return text, re.compile(".*" + ".*".join(literal) + (".*" if end else ""), re.DOTALL)


def conditions(rng):
    """(text, what Python says of a string or NULL: None, too); the first ones go by tile on a GPU."""
    (a, x), (b, y) = pattern(rng), pattern(rng)
    def like(r, s):
        return None if s is None else r.fullmatch(s) is not None
    def either(p, q):
        return True if p or q else None if p is None or q is None else False
    one = f"s like '{a}' escape '!'"
    return rng.choice((
        (one, lambda s: like(x, s)), (f"not ({one})", lambda s: None if s is None else not like(x, s)),
        (f"z like '{a}' escape '!'", lambda s: like(x, s or "")), (f"z not like '{a}' escape '!'", lambda s: not like(x, s or "")),
        (f"{one} or z like '{b}' escape '!'", lambda s: either(like(x, s), like(y, s or ""))),
        (f"s is null or {one}", lambda s: s is None or like(x, s)),
        (f"({one}) is null", lambda s: s is None)))


def run(args, db, plan, devices=None, **environment):
    command = [args.run, "run", "-", "--db", db, "--backend", args.backend, "--threads", "2", "--format", "csv"]
    command += ["--tier", "optimised"] + (["--device", devices] if devices else [])
    done = subprocess.run(command, input=json.dumps(plan), capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()[1:]


def plans(condition):
    """Rows that match, counted and as they are: what survives a tile is loaded again."""
    scan = {"op": "scan", "table": "t", "filter": condition}
    sums = [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "k", "as": "a"}, {"fn": "sum", "arg": "k * cast(k as int64)", "as": "b"},
            {"fn": "sum", "arg": "length(z)", "as": "c"}]
    yield {"heddle": 1, "root": {"op": "aggregate", "aggs": sums, "input": scan}}
    yield {"heddle": 1, "root": {"op": "sort", "keys": ["k"], "limit": 300, "input": {
        "op": "project", "exprs": ["k", {"expr": "length(s)", "as": "l"}], "input": scan}}}


def expected(texts, condition):
    rows = [(k, s) for k, s in enumerate(texts) if condition(s)]
    some = [",".join(str(sum(v)) for v in zip(*((1, k, k * k, len(s or "")) for k, s in rows)))] if rows else ["0,,,"]
    return some, [f"{k},{'' if s is None else len(s)}" for k, s in rows[:300]]


def searched(args, db):
    """How many of a few LIKEs go by tile, as the planner tells."""
    n = 0
    for condition in ("z like '%special%'", "s not like '%abc_def%' or z like '%xyzw'", "z like '%abc%'", "z like 'special%'",
                      "z like '%_a_b_c%'", "z like '%!%!%!%!%%' escape '!'", "k + k = 14 and z like '%special%'"):
        plan = {"heddle": 1, "root": {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "scan", "table": "t", "filter": condition}}}
        dump = subprocess.run([args.heddle, "explain", "-", "--db", db, "--dump", "pipelines", "--backend", args.backend],
                              input=json.dumps(plan), capture_output=True, text=True, check=True).stdout
        n += "[gpu: searched by tile]" in dump
    return n


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--run")
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--patterns", type=int, default=8)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    args.run = args.run or args.heddle
    rng = random.Random(args.seed)
    some = wrong = n = 0
    with tempfile.TemporaryDirectory(prefix="heddle-likes-") as scratch:
        for rows in SIZES:
            db, texts = make(args, rng, pathlib.Path(scratch), rows)
            assert searched(args, db) == 3, "which LIKEs go by tile"
            for i in range(args.patterns if rows < BLOCK else (args.patterns + 1) // 2):
                text, condition = conditions(rng) if i else ("z like '%special%'", lambda s: "special" in (s or ""))
                mode = MODES[args.backend][n % len(MODES[args.backend])]
                n += 1
                want = expected(texts, condition)
                got = [run(args, db, plan, **mode) for plan in plans(text)]
                some += want[1] != []
                if got != list(want):
                    wrong += 1
                    print(f"{rows} rows where {text}, {mode}: {got[0]}, not {want[0]}")
    print(f"{n} filters, {some} that some rows pass, {wrong} with other rows")
    assert some > n // 2, "too few patterns match"
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
