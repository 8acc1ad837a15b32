#!/usr/bin/env python3
"""Parameters everywhere a literal may stand: each statement is prepared once and executed with one set of values after the
other, against DuckDB with these values as literals. With --library by ctypes, which also asks whether code was compiled
again; with --heddle by lines of a batch, on any backend.

Usage: parameters.py --heddle BIN [--library LIB] [--backend cpu|cuda] [--rows N]
"""
import argparse
import ctypes
import datetime
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal, getcontext

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../diff"))
import seed as seeds  # noqa: E402

try:
    import duckdb
    import pyarrow as pa
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = {"id": "int32", "g": "int32", "i": "int32", "j": "int64", "d": "decimal(12,2)", "w": "decimal(30,4)", "f": "float64",
         "e": "float32", "a": "date", "z": "timestamp", "s": "string", "b": "bool"}
SQL_TYPES = {"int32": "integer", "int64": "bigint", "float64": "double", "float32": "real", "string": "varchar", "bool": "boolean"}
getcontext().prec = 60
SCAN = {"op": "scan", "table": "t"}


def random_row(rng, n):
    row = {"id": n, "g": rng.randint(0, 6), "i": rng.randint(-9, 9), "j": rng.choice([2**63 - 1, -2**63, rng.randint(-99, 99)]),
           "d": Decimal(rng.randint(-9999, 9999)) / 100, "w": Decimal(rng.randint(-10**20, 10**20)) / 10000,
           "f": rng.choice([0.0, 0.5, -2.25, 1e300, rng.randint(-99, 99) / 8]), "e": rng.randint(-99, 99) / 8,
           "a": datetime.date(2020, 1, 1) + datetime.timedelta(rng.randint(0, 900)),
           "z": datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=rng.randint(0, 10**6)),
           "s": rng.choice(["north", "south", "east", "axe", "a%b", "No"]), "b": rng.random() < 0.5}
    return {c: None if c not in ("id", "g") and rng.random() < 0.1 else v for c, v in row.items()}


# ---- statements: parameters, root, SQL with {p}, values, and whether one code serves all of them ----------------------

class Case:
    def __init__(self, name, params, root, sql, values, same_code=True):
        self.name, self.params, self.root, self.sql, self.values, self.same_code = name, params, root, sql, values, same_code

    def plan(self):
        return {"heddle": 1, "name": self.name, "params": self.params, "root": self.root}


def project(*exprs, node=SCAN):
    """The id, and expressions x0, x1, ..."""
    return {"op": "project", "input": node, "exprs": ["id"] + [{"expr": e, "as": f"x{n}"} for n, e in enumerate(exprs)]}


def counted(pred):
    return {"op": "aggregate", "input": {"op": "filter", "input": SCAN, "pred": pred},
            "aggs": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "id", "as": "s"}]}


def comparisons():
    """A parameter of each type, NULL among its values, compared and given back."""
    values = {"i": [3, -9, None, 100], "j": [2**63 - 1, -5, None], "d": [Decimal("1.50"), Decimal("-99.99"), None, Decimal("0.00")],
              "w": [Decimal("123456.7890"), None, Decimal("-1.0000")], "f": [0.5, 1e300, None, -3.125], "e": [0.5, -1.25, None],
              "a": [datetime.date(2020, 5, 5), None, datetime.date(1999, 1, 1)], "z": [datetime.datetime(2021, 3, 4, 5, 6), None],
              "s": ["north", "o'x", None, ""], "b": [True, False, None]}
    for c, some in values.items():
        declared = {"p": {"type": TYPES[c], "nullable": True}}
        yield Case(f"compared with {c}", declared, counted(f"{c} >= :p or {c} = :p"), f"select count(*), sum(id) from t where {c} >= {{p}}",
                   [{"p": v} for v in some], c != "s")
        exprs = [":p", f"coalesce({c}, :p)", f"{c} is distinct from :p", f"case when g > 2 then :p else {c} end", f"{c} in (:p, {c})", f"nullif({c}, :p)"]
        sql = f"select id, {{p}}, coalesce({c}, {{p}}), {c} is distinct from {{p}}, case when g > 2 then {{p}} else {c} end, {c} in ({{p}}, {c}), nullif({c}, {{p}}) from t"
        yield Case(f"projected, {c}", declared, project(*exprs), sql, [{"p": v} for v in some], False)
        if c == "e":
            continue
        yield Case(f"list of {c}", {"p": {"type": f"list({TYPES[c]})"}}, counted(f"{c} in :p"), f"select count(*), sum(id) from t where {c} in {{p}}",
                   [{"p": []}, {"p": [v for v in some if v is not None]}, {"p": [some[0]] * 3}, {"p": [some[0], some[1 if some[1] is not None else 0]]}], False)


def integers(*names):
    return {n: {"type": "int64"} for n in names}


def ordered():
    sort = {"op": "sort", "input": SCAN, "keys": [{"expr": "d", "desc": True}, "id"], "limit": ":n", "offset": {"param": "m"}}
    some = [{"n": 5, "m": 0}, {"n": 0, "m": 0}, {"n": 40, "m": 3}, {"n": 2**62, "m": 10}, {"n": 7, "m": 10**9}, {"n": 1, "m": 1}, {"n": 5, "m": 2}]
    keys = "d desc nulls last, id"
    yield Case("sort", integers("n", "m"), sort, f"select * from t order by {keys} limit {{n}} offset {{m}}", some, False)
    yield Case("limit", {"n": {"type": "int32"}}, {"op": "limit", "limit": ":n", "input": {"op": "sort", "input": SCAN, "keys": ["id"]}},
               "select * from t order by id limit {n}", [{"n": 3}, {"n": 0}, {"n": 100000}, {"n": 4}], False)
    for ties in ("cut", "keep"):
        top = {"op": "top", "input": SCAN, "keys": ["g"], "order": [{"expr": "i", "nulls": "first"}], "limit": ":n", "offset": ":m", "ties": ties}
        stays = "rk" if ties == "keep" else "place"
        whole = ", ".join(f"{c} nulls last" for c in TYPES if c != "i")
        sql = (f"select * exclude (place, rk) from (select *, row_number() over (partition by g order by i nulls first, {whole}) as place, "
               f"rank() over (partition by g order by i nulls first) as rk from t) where place > {{m}} and {stays} <= {{n}} + {{m}}")
        yield Case(f"top, ties {ties}", integers("n", "m"), top, sql, [{"n": 1, "m": 0}, {"n": 1, "m": 1}, {"n": 3, "m": 0}, {"n": 50, "m": 7}, {"n": 4, "m": 0}], False)
    for fn, stays in (("row_number", "place"), ("rank", "rk")):
        numbers = {"op": "window", "input": SCAN, "partition": ["g"], "order": [{"expr": "i", "nulls": "first"}], "functions": [{"fn": fn, "as": "n_"}]}
        first = {"op": "project", "exprs": list(TYPES), "input": {"op": "filter", "pred": "n_ <= :n", "input": numbers}}
        whole = ", ".join(f"{c} nulls last" for c in TYPES if c != "i")
        sql = (f"select * exclude (place, rk) from (select *, row_number() over (partition by g order by i nulls first, {whole}) as place, "
               f"rank() over (partition by g order by i nulls first) as rk from t) where {stays} <= {{n}}")
        yield Case(f"first by {fn}", integers("n"), first, sql, [{"n": 1}, {"n": 3}, {"n": 0}, {"n": 2**40}], False)
    listed = {"op": "join", "kind": "inner", "on": [["id", "x"]], "left": SCAN, "right": {"op": "values", "columns": [{"name": "x", "type": "int32"}], "rows": ":p"}}
    lists = [{"p": [1, 5, 9]}, {"p": []}, {"p": [7, 7, -1]}, {"p": list(range(0, 3000, 3))}]
    yield Case("values of a list", {"p": {"type": "list(int32)"}}, listed, "select t.*, x from t join (select unnest({p}) as x) on id = x", lists, False)
    texts = {"op": "values", "columns": [{"name": "x", "type": "string"}], "rows": {"param": "p"}, "input": {"op": "filter", "input": SCAN, "pred": "id < 20"}}
    yield Case("a list beside rows", {"p": {"type": "list(string)"}}, texts, "select t.*, x from t, (select unnest({p}) as x) where id < 20",
               [{"p": ["x"]}, {"p": []}, {"p": ["ab", "", "o'c"]}], False)


def window(fn, **more):
    return {"op": "project", "exprs": ["id", "out"], "input": {"op": "window", "input": SCAN, "partition": ["g"], "order": ["id"], "functions": [{"fn": fn, "as": "out", **more}]}}


def over(call, frame="", order="order by id"):
    return f"select id, {call} over (partition by g {order} {frame}) from t"


def windows():
    n = integers("n")
    steps = [{"n": v} for v in (1, 2, 0, 7, 100000, 3)]
    for fn in ("lag", "lead"):
        yield Case(fn, n, window(fn, arg="s", offset=":n"), over(f"{fn}(s, {{n}})"), steps)
        yield Case(f"{fn} with a default", {**n, "p": {"type": "int32", "nullable": True}}, window(fn, arg="i", offset=":n", default=":p"),
                   over(f"{fn}(i, {{n}}, {{p}})"), [{"n": 1, "p": 5}, {"n": 4, "p": None}, {"n": 0, "p": 7}])
        far = "unbounded preceding and 1 preceding" if fn == "lag" else "1 following and unbounded following"
        there = f"list_filter(list(i) over (partition by g order by id rows between {far}), lambda v: v is not null)"
        sql = f"select id, case when {{n}} = 0 then i else ({there})[{{n}} * {-1 if fn == 'lag' else 1}] end from t"
        yield Case(f"{fn} past NULLs", n, window(fn, arg="i", offset=":n", nulls="ignore"), sql, steps)
    many = [{"n": v} for v in (1, 2, 7, 100000, 2**31 - 1, 3)]
    yield Case("ntile", n, window("ntile", n=":n"), over("ntile({n})"), many, False)
    yield Case("nth_value", n, window("nth_value", arg="s", n=":n"), over("nth_value(s, {n})"), many, False)
    frames = [{"n": a, "m": b} for a, b in ((0, 0), (1, 0), (0, 2), (3, 3), (100000, 1), (2, 5))]
    for start, end in (("preceding", "following"), ("preceding", "preceding"), ("following", "following")):
        for unit in ("rows", "groups"):
            frame = {"unit": unit, "start": {start: ":n"}, "end": {end: {"param": "m"}}}
            said = f"{unit} between {{n}} {start} and {{m}} {end}"
            for fn, arg in (("sum", "i"), ("count", "i"), ("min", "d"), ("max", "s"), ("avg", "e"), ("first_value", "s"), ("last_value", "s"), ("sum", "f")):
                call = "sum(i::hugeint)" if (fn, arg) == ("sum", "i") else f"{fn}({arg}::double)" if fn == "avg" else f"{fn}({arg})"
                if fn in ("avg",) or arg == "f":
                    call = f"{fn}(case when id % 2 = 0 then e::double end)"
                    node = window(fn, arg="case when id % 2 = 0 then e end", frame=frame)
                else:
                    node = window(fn, arg=arg, frame=frame)
                yield Case(f"{fn} of {arg}, {unit}, {start}, {end}", integers("n", "m"), node, over(call, said), frames)
            yield Case(f"second of {unit}, {start}, {end}", integers("n", "m", "k"), window("nth_value", arg="s", n=":k", frame=frame),
                       over("nth_value(s, {k})", said), [{**v, "k": k} for v in frames for k in (1, 2)])
    frame = {"unit": "rows", "start": {"preceding": ":n"}, "end": {"following": ":m"}, "exclude": "current row"}
    yield Case("excluded", integers("n", "m"), window("sum", arg="i", frame=frame), over("sum(i::hugeint)", "rows between {n} preceding and {m} following exclude current row"), frames)
    for key, unit, param in (("d", "", "decimal(12,2)"), ("i", "", "int64"), ("a", "day", "int32"), ("z", "hour", "int64"), ("a", "month", "int64")):
        by = f"interval :p {unit}" if unit else ":p"
        said = f"range between {'interval ({p}) ' + unit if unit else '{p}'} preceding and current row"
        node = {"op": "project", "exprs": ["id", "out"], "input": {"op": "window", "input": SCAN, "partition": ["g"], "order": [{"expr": key, "nulls": "first"}], "functions": [
            {"fn": "count", "as": "out", "frame": {"unit": "range", "start": {"preceding": by}, "end": "current row"}}]}}
        some = [Decimal("0.00"), Decimal("5.25"), Decimal("9999999.99")] if "decimal" in param else [0, 1, 30, 5000]
        yield Case(f"range by {key} {unit}", {"p": {"type": param}}, node, over("count(*)", said, f"order by {key} nulls first"), [{"p": v} for v in some])
    # beyond what a year can be, where DuckDB fails
    for unit, farthest in (("month", 119987), ("day", 3652058), ("microsecond", 315537897599999999)):
        node = {"op": "project", "exprs": ["id", "out"], "input": {"op": "window", "input": SCAN, "order": ["z"], "functions": [
            {"fn": "count", "as": "out", "frame": {"unit": "range", "start": {"preceding": f"interval :p {unit}"}, "end": "current row"}}]}}
        yield Case(f"far, {unit}", {"p": {"type": "int64"}}, node, "select id, rank() over (order by z) + count(*) over (partition by z) - 1 - case when z is null then count(z) over () else 0 end from t",
                   [{"p": farthest + k} for k in (0, 1, -1)] + [{"p": 2**63 - 1}], False)


def aggregates():
    def grouped(**agg):
        return {"op": "aggregate", "input": SCAN, "keys": ["g"], "aggs": [{**agg, "as": "x"}]}
    yield Case("separator", {"p": {"type": "string"}}, grouped(fn="string_agg", arg="s", order=["id"], separator={"param": "p"}),
               "select g, string_agg(s, {p} order by id) from t group by g", [{"p": v} for v in (",", "", "; ", "é'")], False)
    yield Case("quantile", {"p": {"type": "decimal(5,4)"}}, grouped(fn="quantile_disc", arg="i", q=":p"), "select g, quantile_disc(i, {p}) from t group by g",
               [{"p": Decimal(v)} for v in ("0.5000", "0.0000", "1.0000", "0.1250")], False)
    yield Case("filter", {"p": {"type": "int32", "nullable": True}}, grouped(fn="sum", arg="id", filter="i > :p"),
               "select g, sum(id) filter (where i > {p}) from t group by g", [{"p": v} for v in (0, 5, None, 100, -3)])
    yield Case("argument", {"p": {"type": "int64", "nullable": True}}, grouped(fn="sum", arg="id * :p"), "select g, sum(id * {p}) from t group by g", [{"p": v} for v in (2, -1, 0, None)], False)
    yield Case("key", {"p": {"type": "int32"}}, {"op": "aggregate", "input": SCAN, "keys": [{"expr": "id % :p", "as": "k"}], "aggs": [{"fn": "count", "as": "n"}]},
               "select id % {p} as k, count(*) from t group by k", [{"p": v} for v in (2, 7, 1000)], False)
    yield Case("repeat", {"p": {"type": "int32", "nullable": True}}, {"op": "repeat", "input": {"op": "project", "input": SCAN, "exprs": ["id"]}, "count": ":p"},
               "select id from t, range(coalesce({p}, 0))", [{"p": v} for v in (0, 1, 3, None, -2)], False)
    values = {"op": "values", "columns": [{"name": "x", "type": "int32"}, {"name": "y", "type": "string"}], "rows": [[{"expr": ":p"}, {"expr": ":q"}], [1, "one"]]}
    yield Case("values", {"p": {"type": "int32", "nullable": True}, "q": {"type": "string", "nullable": True}}, values, "values ({p}, {q}), (1, 'one')",
               [{"p": 5, "q": "five"}, {"p": None, "q": None}, {"p": 1, "q": "one"}], False)


def functions():
    texts = [{"p": v} for v in ("%o%", "n_rth", "", "%", None, "a\\%b", "south")]
    string = {"p": {"type": "string", "nullable": True}}
    yield Case("like", string, project("s like :p", "s not like :p"), "select id, s like {p}, s not like {p} from t", texts)
    yield Case("like, escaped", string, project("s like :p escape '!'"), "select id, s like {p} escape '!' from t", [{"p": v} for v in ("a!%b", "a%", None)])
    patterns = [{"p": v} for v in ("o", "^[ns]o", "(?i)n.", "$", "a|e")]
    yield Case("regexp", {"p": {"type": "string"}}, project("regexp_like(s, :p)", "regexp_replace_all(s, :p, '<>')"),
               "select id, regexp_matches(s, {p}), regexp_replace(s, {p}, '<>', 'g') from t", patterns[:3] + patterns[4:])
    escaped = {"p": {"type": "string"}, "e": {"type": "string"}}
    yield Case("escape", escaped, project("s like :p escape :e", "s ilike :p escape :e", "s like 'o!_%' escape :e"),
               "select id, s like {p} escape {e}, s ilike {p} escape {e}, s like 'o!_%' escape {e} from t",
               [{"p": "o%", "e": "!"}, {"p": "N#%%", "e": "#"}, {"p": "%o!_%", "e": "!"}], False)
    flagged = {"p": {"type": "string"}, "f": {"type": "string"}}
    yield Case("flags", flagged, project("regexp_like(s, 'No|X', :f)", "regexp_like(s, :p, :f)", "regexp_like(s, :p, 'i')", "regexp_extract(s, '(N)(o)', 2, :f)",
                                         "regexp_replace(s, :p, '<>', 'g')"),
               "select id, regexp_matches(s, 'No|X', {f} || 's'), regexp_matches(s, {p}, {f} || 's'), regexp_matches(s, {p}, 'is'), regexp_extract(s, '(N)(o)', 2, {f} || 's'), "
               "regexp_replace(s, {p}, '<>', 'g') from t", [{"p": "O", "f": "i"}, {"p": "o", "f": ""}, {"p": "[a-z]+T", "f": "i"}], False)
    # DuckDB gives an empty text for a group that is NULL; here NULL gives NULL
    grouped = {"p": {"type": "string"}, "k": {"type": "int32"}, "m": {"type": "int64", "nullable": True}}
    yield Case("groups", grouped, project("regexp_extract(s, '(.)(.)?(t)?', :k)", "regexp_extract(s, :p, :k, 'i')", "coalesce(regexp_extract(s, '(o)(.)', :m), '-')"),
               "select id, regexp_extract(s, '(.)(.)?(t)?', {k}, 's'), regexp_extract(s, {p}, {k}, 'is'), case when {m} is null then '-' else coalesce(regexp_extract(s, '(o)(.)', {m}::integer, 's'), '-') end from t",
               [{"p": "(N|S)(O)", "k": 2, "m": 1}, {"p": "o", "k": 0, "m": 0}, {"p": "(a(.))", "k": 1, "m": None}, {"p": "(s)(.)(.)", "k": 3, "m": 2}], False)
    yield Case("flags of a replacement", {"f": {"type": "string"}}, project("regexp_replace(s, 'O', '<>', :f)"),
               "select id, regexp_replace(s, 'O', '<>', {f} || 's') from t", [{"f": v} for v in ("", "g", "i", "gi")], False)
    yield Case("width_bucket", {"p": {"type": "int64"}, "n": {"type": "int32"}}, project("width_bucket(i, -5, :p, :n)"),
               "select id, case when i < -5 then 0 when i >= {p} then {n} + 1 else 1 + (i + 5) * {n} // ({p} + 5) end from t", [{"p": 5, "n": 3}, {"p": -4, "n": 1}, {"p": 9, "n": 100}], False)
    yield Case("substring", {"p": {"type": "int64", "nullable": True}, "n": {"type": "int64"}}, project("substring(s, :p, :n)", "left(s, :n)", "split_part(s, 'o', :n)", "lpad(s, :n, 'xy')"),
               "select id, s[{p}:{p} + {n} - 1], left(s, {n}), split_part(s, 'o', {n}), lpad(s, {n}::int, 'xy') from t", [{"p": 1, "n": 2}, {"p": 3, "n": 7}, {"p": None, "n": 1}], False)
    shifted = [f"{c} {sign} interval :n {unit}" for c, sign, unit in (("a", "+", "day"), ("a", "-", "month"), ("z", "+", "hour"), ("z", "-", "year"), ("z", "+", "second"))]
    yield Case("intervals", {"n": {"type": "int32", "nullable": True}}, project(*shifted), "select id, cast(a + interval ({n}) day as date), cast(a - interval ({n}) month as date), "
               "z + interval ({n}) hour, z - interval ({n}) year, z + interval ({n}) second from t", [{"n": v} for v in (0, 1, -3, None, 40)])
    for c in ("d", "w", "i", "j"):
        yield Case(f"round {c}", {"n": {"type": "int32", "nullable": True}}, project(f"round({c}, :n)" if c != "j" else "round(j / 1000, :n)"),
                   rounding_of(c), [{"n": v} for v in (0, 1, 2, 3, 38, -1, -2, -7, None)], False)
    yield Case("round f", {"n": {"type": "int64"}}, project("round(e, :n)", "round(f / 1e290, :n)"), "select id, round(e::double, {n})::real, round(f / 1e290, {n}) from t",
               [{"n": v} for v in (0, 1, -1)], False)
    yield Case("formats", {"p": {"type": "string", "nullable": True}}, project("strftime(z, :p)"), "select id, strftime(z, {p}) from t",
               [{"p": v} for v in ("%Y-%m", "%d.%m.%y %H:%M", "100%%", None)])
    yield Case("read", {"p": {"type": "string"}}, project("strptime('05/04/2021', :p)"), "select id, strptime('05/04/2021', {p}) from t", [{"p": "%d/%m/%Y"}, {"p": "%m/%d/%Y"}])
    yield Case("join", {"p": {"type": "int32", "nullable": True}}, {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
        "op": "join", "kind": "left", "on": [["i + :p", "r.i"]], "residual": "r.id < id + :p", "left": SCAN, "right": {**SCAN, "alias": "r"}}},
               "select count(*) from t left join t r on t.i + {p} = r.i and r.id < t.id + {p}", [{"p": v} for v in (0, 3, None, -2)], False)


def cases():
    for make in (comparisons, ordered, windows, aggregates, functions):
        yield from make()


# ---- values in JSON and SQL -------------------------------------------------------------------------------------------

def in_json(v):
    if isinstance(v, list):
        return [in_json(x) for x in v]
    return v if v is None or isinstance(v, (bool, float)) or (isinstance(v, int) and abs(v) < 2**53) else str(v)


def in_sql(v, kind):
    if isinstance(v, list):
        return f"cast([{', '.join(in_sql(x, kind) for x in v)}] as {SQL_TYPES.get(kind, kind)}[])"
    text = "null" if v is None else "'" + str(v).replace("'", "''") + "'"
    return f"cast({text} as {SQL_TYPES.get(kind, kind)})"


def sql_of(case, values):
    sql = case.sql
    for name, v in values.items():
        kind = case.params[name]["type"]
        element = kind[5:-1] if kind.startswith("list(") else kind
        text = in_sql(v, element)
        plain = any(word in sql for word in ("limit {", "preceding", "following", "ntile(", "nth_value", "string_agg", "quantile_disc", "round(e"))
        if plain and v is not None and not isinstance(v, list):
            text = "'" + v.replace("'", "''") + "'" if isinstance(v, str) else str(v)
        sql = sql.replace(f"{{{name}}}", text)
    return sql


def cell(v):
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, float):
        return "nan" if v != v else str(v + 0.0)
    if isinstance(v, (int, Decimal)):
        v = Decimal(v) + 0
        return format(v.quantize(1) if v == v.to_integral_value() else v.normalize(), "f")
    return None if v is None else str(v)


# ---- Heddle -----------------------------------------------------------------------------------------------------------

class Stream(ctypes.Structure):
    """struct ArrowArrayStream"""

    _fields_ = [(name, ctypes.c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class Library:
    def __init__(self, path, db):
        self.lib = ctypes.CDLL(path)
        for name in ("heddle_error_path", "heddle_error_message"):
            getattr(self.lib, name).restype = ctypes.c_char_p
        for name in ("heddle_error_path", "heddle_error_message", "heddle_error_free", "heddle_statement_free", "heddle_free",
                     "heddle_database_free", "heddle_context_free"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
        self.context, self.db = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("heddle_context_new", None, ctypes.byref(self.context))
        self.call("heddle_database_open", self.context, str(db).encode(), 0, ctypes.byref(self.db))
        self.executions = self.compilations = 0

    def call(self, name, *args):
        error = ctypes.c_void_p()
        if getattr(self.lib, name)(*args, ctypes.byref(error)):
            text = f"{self.lib.heddle_error_path(error).decode()}: {self.lib.heddle_error_message(error).decode()}"
            self.lib.heddle_error_free(error)
            raise RuntimeError(text)

    def compiled(self, statement):
        text = ctypes.c_char_p()
        self.call("heddle_statement_report", statement, ctypes.byref(text))
        report = json.loads(text.value)
        self.lib.heddle_free(text)
        return not report["compile_cached"]

    def run(self, case):
        """One statement for all values: the rows of each, and whether code was compiled for it."""
        statement = ctypes.c_void_p()
        self.call("heddle_prepare", self.db, json.dumps(case.plan()).encode(), None, ctypes.byref(statement))
        try:
            for values in case.values:
                stream = Stream()
                self.call("heddle_bind_json", statement, json.dumps({n: in_json(v) for n, v in values.items()}).encode())
                self.call("heddle_execute", statement, ctypes.byref(stream))
                table = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
                compiled = self.compiled(statement)
                self.executions += 1
                self.compilations += compiled
                yield [tuple(map(cell, row)) for row in zip(*(c.to_pylist() for c in table.columns))], compiled
        finally:
            self.lib.heddle_statement_free(statement)

    def close(self):
        self.lib.heddle_database_free(self.db)
        self.lib.heddle_context_free(self.context)


class Batch:
    """All lines in one process; their rows in files."""

    def __init__(self, args, some):
        self.args, self.at = args, {}
        lines = []
        for case in some:
            for values in case.values:
                out = args.folder / f"{len(lines)}.json"
                self.at.setdefault(case.name, []).append(out)
                lines.append({"plan": case.plan(), "params": {n: in_json(v) for n, v in values.items()}, "out": str(out), "format": "json"})
        (args.folder / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = subprocess.run([args.heddle, "run", "--batch", str(args.folder / "lines"), "--db", str(args.folder / "db"), "--backend", args.backend],
                              capture_output=True, text=True, check=False)
        bad = [line for line in done.stdout.splitlines() if "error" in json.loads(line)]
        if done.returncode or bad:
            sys.exit(f"{bad[:3]}\n{done.stderr}")

    def run(self, case):
        for path in self.at[case.name]:
            answer = json.loads(path.read_text())
            kinds = [c["type"] for c in answer["columns"]]
            yield [tuple(self.value(v, t) for v, t in zip(row, kinds)) for row in answer["rows"]], None

    def value(self, v, kind):
        if v is None or isinstance(v, bool):
            return cell(v)
        if kind == "float32":
            return cell(struct.unpack("f", struct.pack("f", float(v)))[0])
        if kind == "float64":
            return cell(float(v))
        if kind.startswith(("int", "decimal")):
            return cell(Decimal(str(v)))
        if kind == "timestamp":
            return str(datetime.datetime.fromisoformat(v))
        return str(v)

    def close(self):
        pass


# ---- data, comparison -------------------------------------------------------------------------------------------------

def load(args, db, rng):
    rows = [random_row(rng, n) for n in range(args.rows)]
    columns = ", ".join(f"{c} {SQL_TYPES.get(t, t)}" for c, t in TYPES.items())
    db.execute(f"create table t ({columns})")
    db.executemany(f"insert into t values ({', '.join('?' * len(TYPES))})", [tuple(r.values()) for r in rows])
    (args.folder / "t.csv").write_text("".join(",".join(text_of(r[c]) for c in TYPES) + "\n" for r in rows))
    schema = {"tables": [{"name": "t", "columns": [{"name": c, "type": t, **({"nullable": True} if c not in ("id", "g") else {})} for c, t in TYPES.items()], "primary_key": ["id"]}],
              "format": {"delimiter": ",", "header": False, "quote": '"', "null": "", "trailing_delimiter": False}}
    (args.folder / "schema.json").write_text(json.dumps(schema))
    subprocess.run([args.heddle, "load", "--schema", str(args.folder / "schema.json"), "--from", str(args.folder), "--out", str(args.folder / "db")], check=True)


def text_of(v):
    return "" if v is None else str(v).lower() if isinstance(v, bool) else format(v, "f") if isinstance(v, Decimal) else str(v)


def rounded(v, n):
    """Half away from zero; DuckDB rounds decimals to constants alone."""
    if v is None or n is None:
        return None
    unit = Decimal(1).scaleb(-n)
    whole = math.floor(abs(v) / unit + Decimal("0.5")) if n < 8 else abs(v) / unit
    return whole * unit * (-1 if v < 0 else 1)


def rounding_of(column):
    """Ints are divided by 1000, truncated, before."""
    def rows(db, values):
        some = db.execute(f"select id, {column} from t").fetchall()
        part = lambda v: Decimal(v) if v is not None and column != "j" else v if v is None else Decimal(int(Decimal(v) / 1000))
        return [(k, rounded(part(v), values["n"])) for k, v in some]
    return rows


def wanted(db, case, values):
    rows = case.sql(db, values) if callable(case.sql) else db.execute(sql_of(case, values)).fetchall()
    return [tuple(map(cell, row)) for row in rows]


def compare(args, db, some, engine):
    for case in some:
        seen = set()
        for values, (found, compiled) in zip(case.values, engine.run(case)):
            want = wanted(db, case, values)
            same = found == want if case.root["op"] == "sort" else Counter(found) == Counter(want)
            if not same:
                more, less = Counter(found) - Counter(want), Counter(want) - Counter(found)
                sys.exit(f"{case.name} with {values}: rows differ\n{json.dumps(case.plan())}\nonly here: {list(more)[:3]}\nmissing: {list(less)[:3]}")
            nulls = tuple(n for n, v in values.items() if v is None)  # which are constants of the code
            if compiled and nulls in seen and case.same_code:
                sys.exit(f"{case.name} with {values}: compiled again\n{json.dumps(case.plan())}")
            seen.add(nulls)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--library")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--every", type=int, default=1, help="of the statements, one in so many")
    parser.add_argument("--first", type=seeds.seed, default=0, help="of those; or drawn from the commit")
    args = parser.parse_args()
    some = list(cases())[args.first % args.every::args.every]
    with tempfile.TemporaryDirectory(prefix="heddle-parameters-") as folder, duckdb.connect() as db:
        args.folder = pathlib.Path(folder)
        if args.library or "HEDDLE_CACHE" not in os.environ:
            os.environ["HEDDLE_CACHE"] = str(args.folder / "cache")  # an empty one: what is compiled is told
        load(args, db, random.Random(5))
        engine = Library(args.library, args.folder / "db") if args.library else Batch(args, some)
        try:
            compare(args, db, some, engine)
        finally:
            engine.close()
    print(f"{len(some)} statements")
    if args.library:
        print(f"{engine.executions} executions, compiled {engine.compilations} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
