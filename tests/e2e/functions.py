#!/usr/bin/env python3
"""Functions of strings, dates and timestamps against DuckDB's: random Unicode, dates and times of the years 1 to 9999,
NULLs among them; on one thread and on several.

Usage: functions.py --heddle BIN [--backend cpu|cuda] [--seed N] [--rows N]
"""
import argparse
import datetime
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import duckdb
except ImportError:
    print("duckdb is missing; skipped")
    sys.exit(77)

MICROS = datetime.timedelta(microseconds=1)
EPOCH = datetime.datetime(1970, 1, 1)
FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
COLUMNS = {"n": ("int32", "INTEGER"), "s": ("string", "VARCHAR"), "t": ("string", "VARCHAR"), "k": ("int32", "INTEGER"),
           "code": ("int32", "INTEGER"), "a": ("date", "DATE"), "b": ("date", "DATE"), "x": ("timestamp", "TIMESTAMP"),
           "y": ("timestamp", "TIMESTAMP"), "u": ("int64", "BIGINT"), "near": ("date", "DATE"),
           "soon": ("timestamp", "TIMESTAMP")}
ALPHABETS = ("ab", "aäöé", "xyzÄßŸ", "日本語", "🙂🚀a", " \t%_", "αβγ", "e\u0301o\u0308")
DAYS = ("century", "decade", "year", "quarter", "month", "week", "day")
TIMES = ("hour", "minute", "second", "millisecond", "microsecond")
PARTS = ("year", "month", "day", "quarter", "week", "isoyear", "dow", "isodow", "doy", "decade", "century")


def micros(v):
    return (v - EPOCH) // MICROS


def random_time(rng):
    special = [FIRST, LAST, EPOCH, EPOCH - MICROS, EPOCH + MICROS, datetime.datetime(2000, 2, 29, 23, 59, 59, 999999)]
    if rng.random() < 0.2:
        return rng.choice(special)
    if rng.random() < 0.3:
        return EPOCH + rng.randint(-4 * 10**13, 4 * 10**13) * MICROS
    return FIRST + rng.randint(0, micros(LAST) - micros(FIRST)) * MICROS


def random_text(rng):
    return "".join(rng.choice(rng.choice(ALPHABETS)) for _ in range(rng.choice((0, 1, 2, 5, 12))))


def random_code(rng):
    code = rng.choice((rng.randint(1, 127), rng.randint(128, 0x7ff), rng.randint(0x800, 0xffff), rng.randint(0x10000, 0x10ffff)))
    return 0x41 if 0xd800 <= code <= 0xdfff else code


def random_row(rng, n):
    s, soon = random_text(rng), EPOCH + rng.randint(-10**16, 10**16) * MICROS
    t = s[len(s) // 3:len(s) // 2 + 1] if rng.random() < 0.5 else random_text(rng)[:2]
    row = {"s": s, "t": t, "k": rng.randint(-40, 40), "code": random_code(rng), "a": random_time(rng).date(),
           "b": random_time(rng).date(), "x": random_time(rng), "y": random_time(rng), "u": micros(random_time(rng)),
           "near": soon.date(), "soon": soon}
    return {"n": n, **{c: None if rng.random() < 0.05 else v for c, v in row.items()}}


def random_format(rng):
    pieces = ["%" + c for c in "YmdHMSfjybBaApIuw%"] + ["-", ":", " ", "T", "''", "ä", "日", "Y", '"']
    return "".join(rng.choice(pieces) for _ in range(rng.randint(1, 12)))


def cases(rng):
    """Pairs: an expression, DuckDB's words for it."""
    for form in [random_format(rng) for _ in range(30)]:
        yield f"strftime(x, '{form}')", f"strftime(x, '{form}')"
    yield "chr(code)", "chr(code)"
    yield "position(t in s)", "position(t in s)"
    for same in ("length(s)", "left(s, k)", "right(s, k)", "strpos(s, t)", "starts_with(s, t)", "ends_with(s, t)",
                 "contains(s, t)", "repeat(t, k / 8)", "ltrim(s, 'aä🙂')", "rtrim(s, 'aä🙂')", "trim(s, t || ' ')",
                 "replace(s, t, 'ß')", "translate(s, 'aäx日🙂', 'ä🚀y')", "split_part(s || 'ä' || t, 'ä', 2)"):
        yield same, same.replace("k / 8", "k // 8")
    yield "octet_length(s)", "strlen(s)"
    yield "ascii(s)", "CASE WHEN s = '' THEN 0 ELSE ascii(s) END"
    yield "lpad(s, abs(k), 'äb')", "lpad(s, abs(k), 'äb')"
    yield "rpad(s, abs(k), '🙂')", "rpad(s, abs(k), '🙂')"
    yield "make_date(extract(year from a), extract(month from a), extract(day from a))", "a"
    yield "make_timestamp(u)", "make_timestamp(u)"
    yield "epoch(x)", floored("epoch_us(x)", 1000000)
    yield "epoch(a)", "CAST(epoch(a) AS BIGINT)"
    yield "to_timestamp(epoch(x))", "date_trunc('second', x)"
    for what in "YmdHMSfjybBaApIuw%":
        yield f"strftime(x, '%{what}')", f"strftime(x, '%{what}')"
    yield "strftime(a, '<%d.%m.%Y>ä %A')", "strftime(a, '<%d.%m.%Y>ä %A')"
    yield "strftime(x, '%e')", "lpad(CAST(day(x) AS VARCHAR), 2, ' ')"
    for text in ("%Y-%m-%d %H:%M:%S.%f", "%d %B %Y%%, %I:%M:%S.%f %p", "%A %j %Y %H:%M:%S.%f", "%a %u%w %j %d %m %Y %H:%M:%S.%f"):
        yield f"strptime(strftime(x, '{text}'), '{text}')", f"strptime(strftime(x, '{text}'), '{text}')"
    yield "strptime(strftime(soon, '%b %m%Y %H'), '%b %m%Y %H')", "strptime(strftime(soon, '%b %m%Y %H'), '%b %m%Y %H')"
    for part in PARTS:
        yield f"date_part('{part}', a)", f"date_part('{part}', a)"
        yield f"date_part('{part}', x)", f"date_part('{part}', x)"
    for unit in DAYS + TIMES:
        yield f"date_diff('{unit}', x, y)", duckdb_units(unit, "x", "y")
        yield f"date_diff('{unit}', a, b)", duckdb_units(unit, "CAST(a AS TIMESTAMP)", "CAST(b AS TIMESTAMP)")
        yield f"date_diff('{unit}', a, y)", duckdb_units(unit, "CAST(a AS TIMESTAMP)", "y")
        k = "sign(k)" if unit == "century" else "k"  # within the years that there are
        yield f"date_add(soon, {k}, '{unit}')", f"soon + {interval(unit)}"
        as_date = "DATE" if unit in DAYS else "TIMESTAMP"
        yield f"date_add(near, {k}, '{unit}')", f"CAST(near + {interval(unit)} AS {as_date})"
        yield f"soon - interval ({k}) {unit}", f"soon - {interval(unit)}"


def interval(unit):
    names = {"century": "to_centuries", "millisecond": "to_milliseconds"}
    return f"{names.get(unit, 'to_' + unit + 's')}({'sign(k)::INTEGER' if unit == 'century' else 'k'})"


def floored(v, size):
    """DuckDB's // cuts off towards 0."""
    return f"({v} // {size} - (CASE WHEN {v} % {size} < 0 THEN 1 ELSE 0 END))"


def duckdb_units(unit, a, b):
    """Boundaries between both. DuckDB's own date_diff divides times and weeks towards 1970, and its centuries begin with
    the years 1900 and 2000."""
    if unit in TIMES:
        size = {"hour": 3600000000, "minute": 60000000, "second": 1000000, "millisecond": 1000, "microsecond": 1}[unit]
        return f"{floored(f'epoch_us({b})', size)} - {floored(f'epoch_us({a})', size)}"
    if unit == "week":
        return f"date_diff('day', date_trunc('week', {a}), date_trunc('week', {b})) // 7"
    if unit == "century":
        return f"(year({b}) - 1) // 100 - (year({a}) - 1) // 100"
    return f"date_diff('{unit}', {a}, {b})"


def shown(v):
    if isinstance(v, datetime.datetime):
        text = v.isoformat(sep=" ")
        return text.rjust(26 if v.microsecond else 19, "0")
    return str(v) if isinstance(v, datetime.date) or (isinstance(v, int) and abs(v) >= 2**53) else v


def heddle_rows(args, rows, exprs, threads):
    source = {"op": "values", "columns": [{"name": c, "type": t} for c, (t, _) in COLUMNS.items()],
              "rows": [[shown(v) for v in row.values()] for row in rows]}
    root = {"op": "sort", "keys": ["n"], "input": {"op": "project", "input": source, "exprs": [
        {"expr": "n", "as": "n"}, *({"expr": e, "as": f"c{i}"} for i, e in enumerate(exprs))]}}
    return [row[1:] for row in run_plan(args, root, threads)]


def duckdb_rows(rows, sqls):
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    db.execute(f"CREATE TABLE v ({', '.join(f'{c} {t}' for c, (_, t) in COLUMNS.items())})")
    db.executemany(f"INSERT INTO v VALUES ({', '.join('?' * len(COLUMNS))})", [list(row.values()) for row in rows])
    found = db.execute(f"SELECT {', '.join(sqls)} FROM v ORDER BY n").fetchall()
    return [[shown(v) for v in row] for row in found]


def same(a, b):
    return a == b or (isinstance(a, (int, str)) and isinstance(b, (int, str)) and str(a) == str(b))


def run_plan(args, root, threads):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.json"
        file.write_text(json.dumps({"heddle": 1, "root": root}))
        run = subprocess.run([args.heddle, "run", str(file), "--backend", args.backend, "--threads", str(threads),
                              "--format", "json"], capture_output=True)
    if run.returncode:
        sys.exit(f"heddle failed: {run.stderr.decode()}")
    return json.loads(run.stdout)["rows"]


def check_bands(args, rng):
    """Times near others: found by a search as well as by a loop over all pairs."""
    times = [[EPOCH + rng.randint(0, 10**11) * MICROS for _ in range(300)] for _ in range(2)]
    a, b = ({"op": "values", "columns": [{"name": name, "type": "timestamp"}], "rows": [[shown(v)] for v in side]}
            for name, side in zip("ab", times))
    before, behind = datetime.timedelta(minutes=7), datetime.timedelta(microseconds=90000001)
    pairs = sum(x - before <= y < x + behind for x in times[0] for y in times[1])
    wrong = 0
    for strategy in ("band", "loop", "auto"):
        root = {"op": "aggregate", "keys": [], "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "join", "kind": "inner", "on": [], "strategy": strategy, "left": a, "right": b,
            "residual": "b >= a - interval '7' minutes and b < a + interval '90000001' microsecond"}}
        found = int(run_plan(args, root, 2)[0][0])
        wrong += found != pairs
        print(f"{strategy}: {found} pairs, expected {pairs}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=2000)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    rows = [random_row(rng, n) for n in range(args.rows)]
    pairs = list(cases(rng))
    expected = duckdb_rows(rows, [sql for _, sql in pairs])
    wrong = 0
    for threads in (1, 3):
        got = heddle_rows(args, rows, [e for e, _ in pairs], threads)
        if len(got) != len(rows):
            sys.exit(f"{len(got)} rows instead of {len(rows)}")
        for i, (expr, _) in enumerate(pairs):
            bad = [n for n in range(len(rows)) if not same(got[n][i], expected[n][i])]
            wrong += bool(bad)
            for n in bad[:2]:
                print(f"{expr} of {[shown(v) for v in rows[n].values()]}: {got[n][i]!r}, DuckDB {expected[n][i]!r}")
    print(f"{len(pairs)} expressions over {len(rows)} rows, {wrong} wrong")
    sys.exit(1 if wrong + check_bands(args, rng) else 0)


if __name__ == "__main__":
    main()
