#!/usr/bin/env python3
"""What `heddle convert` writes as Substrait, over tables of values: each kind of operator and expression gives its rows again, and
what Substrait has no form for is one error with its place.

Usage: test_written.py HEDDLE
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEDDLE = sys.argv.pop(1) if len(sys.argv) > 1 else "heddle"

T = {"op": "values", "columns": [{"name": "a", "type": "int32"}, {"name": "s", "type": "string"}, {"name": "x", "type": "decimal(10,2)"}],
     "rows": [[1, "one", "1.50"], [2, "two", "2.25"], [2, None, "3.00"], [3, "three", None]]}
U = {"op": "values", "columns": [{"name": "k", "type": "int32"}, {"name": "v", "type": "string"}], "rows": [[2, "zwei"], [None, "nichts"]]}
EVERY = [("bool", True), ("int32", -7), ("int64", "9007199254740993"), ("decimal(38,10)", "-1234567890123456789012345678.0123456789"),
         ("float32", 0.1), ("float64", -1e300), ("date", "1994-02-28"), ("timestamp", "1969-12-31 23:59:59.999999"), ("time", "12:34:56.789"),
         ("string", "naïve \"text\""), ("binary", "\\x00ff10")]


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="heddle-written-")
        self.addCleanup(self.scratch.cleanup)

    def heddle(self, *args):
        return subprocess.run([HEDDLE, *map(str, args)], capture_output=True, check=False, timeout=120)

    def write(self, plan, name="p.json"):
        path = Path(self.scratch.name) / name
        path.write_bytes(plan if isinstance(plan, bytes) else json.dumps(plan).encode())
        return path

    def done(self, *args):
        done = self.heddle(*args)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def lines(self, path, *args):
        found = self.done("run", path, "--backend", "cpu", "--format", "csv", *args).decode().splitlines()
        return [found[0], *sorted(found[1:])]

    def again(self, root, *args, **more):
        """The plan as Substrait's JSON, which gives the same rows, as its binary form does."""
        path = self.write({"heddle": 1, "root": root, **more})
        want = self.lines(path, *args)
        text = self.done("convert", path, "--to", "substrait-json")
        args = [a.replace("n=", "p1=") for a in args]
        self.assertEqual(self.lines(self.write(text, "t.json"), *args), want)
        self.assertEqual(self.lines(self.write(self.done("convert", path, "--to", "substrait"), "t.pb"), *args), want)
        self.assertGreater(len(want), 1)
        return json.loads(text)

    def names(self, plan):
        return {e["extensionFunction"]["name"] for e in plan.get("extensions", [])}

    def fails(self, root, path, message, **more):
        done = self.heddle("convert", self.write({"heddle": 1, "root": root, **more}), "--to", "substrait")
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        text = done.stderr.decode()
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(f"heddle: error: {path}: ", text)
        self.assertIn(message, text)


class Written(Case):
    def test_values_and_literals_of_every_type(self):
        self.again({"op": "values", "columns": [{"name": f"c{i}", "type": t} for i, (t, _) in enumerate(EVERY)],
                    "rows": [[v for _, v in EVERY], [None] * len(EVERY)]})
        self.again({"op": "project", "input": T, "exprs": [{"expr": {"lit": v, "type": t}, "as": f"c{i}"} for i, (t, v) in enumerate(EVERY)]
                    + [{"expr": {"lit": None, "type": t}, "as": f"n{i}"} for i, (t, _) in enumerate(EVERY)]})

    def test_floats_that_are_no_numbers(self):
        self.again({"op": "values", "columns": [{"name": "f", "type": "float64"}, {"name": "g", "type": "float32"}],
                    "rows": [["nan", "inf"], ["-inf", "nan"]]})

    def test_expressions(self):
        texts = ["a + 1", "x * x / 3", "a % 2 = 0 and not (s is null)", "case when a = 1 then 'x' when a = 2 then 'y' end", "coalesce(s, '')",
                 "least(a, 2)", "s like 't%'", "s like '_wo'", "s like 't!%' escape '!'", "cast(x as int64)", "try_cast(s as int32)", "try_cast(a as decimal(1,0))", "a in (1, 3)", "s || '!'",
                 "substring(s, 2, 2)", "date '2024-01-31' + interval '1' month", "extract(dow from date '2024-01-31')",
                 "date_trunc('month', timestamp '2024-01-31 10:00:00')", "date_diff('day', date '2024-01-01', date '2024-03-01')",
                 "round(x, 1)", "hash(a, s)", "lpad(s, 7, '*')", "a is distinct from 2", "regexp_replace(s, 'e+', '<\\0>')",
                 "date '2024-01-31' + interval (a) day", "x > 2.123", "sqrt(a)"]
        plan = self.again({"op": "project", "input": T, "exprs": [{"expr": t, "as": f"c{i}"} for i, t in enumerate(texts)]})
        names = self.names(plan)
        for name in ("add:i64_i64", "multiply:dec_dec", "and:bool", "like:str_str", "concat:str", "lpad:str_i32_str", "least_skip_null:any",
                     "extract:req_req_date", "is_not_null:any", "round:dec_i64"):
            self.assertIn(name, names)
        self.assertIn("extension:io.heddle:functions", {u["urn"] for u in plan["extensionUrns"]})

    def test_intervals(self):
        texts = ["interval '1 year 2 months 3 days -04:05:06.789'", "make_interval(a, -a, 1)", "interval '1' month < make_interval(0, a, 0)",
                 "timestamp '2024-01-31 10:00:00' + make_interval(a, 0, 1)", "make_interval(a, 0, 0) + interval '2 days'", "cast('1 day' as interval)",
                 "make_interval(1, 2, 3) * a", "cast(make_interval(a, 1, 1) as string)", "interval_days(interval '3 days')", "case when a > 1 then interval '-1' month end",
                 "try_cast(s as interval)"]
        made = {"op": "project", "input": T, "exprs": [{"expr": t, "as": f"c{i}"} for i, t in enumerate(texts)]}
        self.again(made)
        self.again({"op": "values", "columns": [{"name": "v", "type": "interval"}], "rows": [["1 month -1 day"], [None], ["00:00:00.000001"], ["1 day 48:00:01"], ["-900000:00:00.5"]]})
        self.again({"op": "aggregate", "input": made, "keys": ["c1"], "aggs": [{"fn": "max", "arg": "c4", "as": "m"}, {"fn": "count", "as": "n"}]})
        self.again({"op": "sort", "input": made, "keys": ["c1", {"expr": "c9", "desc": True}]})

    def test_joins(self):
        for kind in ("inner", "left", "right", "full", "semi", "anti", "mark"):
            node = {"op": "join", "kind": kind, "left": T, "right": U, "on": [["a", "k"]]}
            if kind == "mark":
                node["mark"] = "m"
            self.again(node)
            self.again({**node, "residual": "s < v"})
            self.again({**node, "on": [["case when a = 3 then null else a end", "k", "null_equal"]]})
        self.again({"op": "join", "kind": "inner", "left": T, "right": U})

    def test_single_rows(self):
        one = {"op": "aggregate", "input": U, "aggs": [{"fn": "max", "arg": "k", "as": "most"}]}
        few = {"op": "filter", "input": U, "pred": "k = 2"}
        for kind in ("inner", "left"):
            for right in (one, few):
                self.again({"op": "join", "kind": kind, "single": True, "left": T, "right": right})
        none = {"op": "filter", "input": U, "pred": "k = 7"}
        node = {"op": "join", "kind": "inner", "single": True, "left": T, "right": none}
        self.again({"op": "aggregate", "input": node, "aggs": [{"fn": "count", "as": "n"}]})

    def test_conditions_about_subplans(self):
        keys = {"op": "project", "input": U, "exprs": ["k"]}
        member, exists = {"op": "in", "args": ["a"], "plan": keys}, {"op": "exists", "plan": U, "on": [["a", "k"]]}
        self.again({"op": "project", "input": T, "exprs": ["a", {"expr": member, "as": "m"}, {"expr": exists, "as": "e"}]})
        self.again({"op": "filter", "input": T, "pred": member})

    def test_groups(self):
        aggs = [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "x", "as": "t"}, {"fn": "count", "arg": "s", "distinct": True, "as": "d"},
                {"fn": "string_agg", "arg": "s", "separator": "+", "order": ["s"], "as": "l"}, {"fn": "min", "arg": "s", "as": "m"},
                {"fn": "first", "arg": "s", "order": [{"expr": "x", "desc": True}], "as": "f"}, {"fn": "arg_max", "arg": "s", "by": "x", "as": "b"},
                {"fn": "quantile_cont", "arg": "x", "q": "0.5", "as": "q"}, {"fn": "sum", "arg": "a", "filter": "a > 1", "as": "some"},
                {"fn": "count_if", "arg": "a = 2", "as": "c"}, {"fn": "var_pop", "arg": "a", "as": "v"},
                {"fn": "count", "arg": "'x'", "distinct": True, "as": "one"}, {"fn": "count", "arg": "7", "as": "all"}]
        self.again({"op": "aggregate", "input": T, "aggs": aggs})
        names = self.names(self.again({"op": "aggregate", "input": T, "keys": ["a"], "aggs": aggs}))
        self.assertLessEqual({"count:", "sum:dec", "count:any", "string_agg:str_str", "arg_max:str_dec", "sum:i32"}, names)
        levels = [{"fn": "grouping", "arg": ["a", "s"], "as": "g"}, {"fn": "count", "as": "n"}, {"fn": "grouping", "arg": "s", "as": "h"}]
        for sets in ({"rollup": True}, {"cube": True}, {"sets": [["s"], ["s"]]}, {"sets": [["a"]]}):
            self.again({"op": "aggregate", "input": T, "keys": ["a", "s"], "aggs": levels, **sets})
        self.again({"op": "distinct", "input": {"op": "project", "input": T, "exprs": ["a"]}})

    def test_windows_and_tops(self):
        frames = [{"unit": "rows", "start": {"preceding": 1}, "end": "current row"}, {"unit": "range", "start": "unbounded preceding",
                  "end": {"following": 1}}, {"unit": "range", "start": {"preceding": "1"}, "end": "unbounded following"}]
        functions = [{"fn": f, "as": f} for f in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")]
        functions += [{"fn": "lag", "arg": "s", "offset": 2, "default": "'none'", "as": "before"}, {"fn": "ntile", "n": 2, "as": "tile"},
                      {"fn": "nth_value", "arg": "s", "n": 2, "as": "second", "frame": frames[0]}, {"fn": "first_value", "arg": "s", "as": "f1"}]
        functions += [{"fn": "sum", "arg": "a", "frame": f, "as": f"w{i}", "filter": "s <> 'one'"} for i, f in enumerate(frames)]
        self.again({"op": "window", "input": T, "partition": [{"expr": "a > 1"}], "order": ["a"], "functions": functions})
        ranked = [{"fn": "median", "arg": "x", "as": "m"}, {"fn": "quantile_disc", "arg": "x", "q": "0.25", "as": "q"},
                  {"fn": "quantile_cont", "arg": "a", "q": "0.9", "as": "c", "frame": frames[0]}, {"fn": "sum", "arg": "a", "distinct": True, "as": "t"},
                  {"fn": "count", "arg": "s", "distinct": True, "as": "d", "frame": frames[1], "filter": "a > 1"},
                  {"fn": "approx_count_distinct", "arg": "s", "as": "e"}, {"fn": "rank", "as": "r"}]
        self.again({"op": "window", "input": T, "partition": [{"expr": "a > 1"}], "order": ["a"], "functions": ranked})
        self.again({"op": "window", "input": T, "functions": [{"fn": "max", "arg": "s", "as": "m"},
                    {"fn": "row_number", "order": [{"expr": "a", "desc": True}], "as": "r"}]})
        days = {"op": "project", "input": T, "exprs": ["a", {"expr": "date '2024-01-30' + interval (a) day", "as": "d"}]}
        back = {"unit": "range", "start": {"preceding": "interval '1' month"}, "end": {"following": "interval '1' day"}}
        self.again({"op": "window", "input": days, "order": ["d"], "frame": back, "functions": [{"fn": "count", "as": "n"}]})
        peers = [{"unit": "range", "start": start, "end": end} for start in ("unbounded preceding", "current row")
                 for end in ("current row", "unbounded following")]
        tied = [{"fn": f, "arg": "x", "as": f"{f}{i}", "frame": frame} for i, frame in enumerate(peers) for f in ("first_value", "last_value")]
        for order in (["a"], [{"expr": "a", "desc": True, "nulls": "first"}], [{"expr": "a > 1"}]):
            self.again({"op": "window", "input": T, "order": order, "functions": [{"fn": "last_value", "arg": "s", "as": "l"}, *tied]})
        whole = {"unit": "range", "start": "unbounded preceding", "end": "unbounded following"}
        joined = [{"fn": "string_agg", "arg": "s", "as": "j", "separator": "é", "frame": whole},
                  {"fn": "string_agg", "arg": "s", "as": "k", "frame": frames[0]}]
        text = self.again({"op": "window", "input": T, "order": ["a"], "functions": joined})
        self.assertIn("string_agg:str_str", self.names(text))
        for ties in ("cut", "keep"):
            self.again({"op": "top", "input": T, "keys": ["a"], "order": ["x"], "limit": 1, "ties": ties})
        self.again({"op": "top", "input": T, "order": ["x"], "limit": 2, "offset": 1})
        self.again({"op": "distinct", "input": T, "on": ["a"], "order": ["s"]})

    def test_sets_sorts_limits(self):
        other = {"op": "project", "input": T, "exprs": ["a", "s"]}
        for op in ("union_all", "union", "intersect", "except"):
            self.again({"op": op, "inputs": [other, U] if op != "intersect" else [other, other]})
        for op in ("intersect", "except"):
            self.again({"op": op, "all": True, "inputs": [{"op": "union_all", "inputs": [other, other]}, other]})
        ordered = {"op": "sort", "input": T, "keys": [{"expr": "s", "nulls": "first"}, {"expr": "x", "desc": True}]}
        self.again(ordered)
        self.again({**ordered, "limit": 2, "offset": 1})
        self.again({"op": "limit", "input": ordered, "limit": 3})

    def test_shared_subplans(self):
        joined = {"op": "join", "kind": "inner", "left": T, "right": U, "on": [["a", "k"]]}
        twice = {"op": "union_all", "inputs": [{"op": "ref", "name": "j"}, {"op": "ref", "name": "j"}]}
        plan = self.again(twice, shared={"j": joined})
        self.assertEqual([list(r) for r in plan["relations"]], [["rel"], ["root"]])
        plan = self.again(twice, shared={"j": {"op": "filter", "input": T, "pred": "a > 1"}})
        self.assertEqual(len(plan["relations"]), 1)
        self.again({"op": "filter", "pred": "n > 0", "input": {"op": "aggregate", "input": twice, "aggs": [{"fn": "count", "as": "n"}]}},
                   shared={"j": {"op": "sort", "keys": ["a"], "limit": 2, "input": {"op": "ref", "name": "i"}}, "i": joined})

    def test_parameters(self):
        params = {"n": {"type": "int64", "default": 2, "nullable": True}, "most": {"type": "int64", "default": 1},
                  "some": {"type": "list(int32)", "default": [1, 2]}}
        root = {"op": "limit", "limit": ":most", "input": {"op": "filter", "input": T, "pred": "a >= :n or :n is null"}}
        plan = self.again(root, params=params)
        self.assertEqual([b.get("parameterAnchor", 0) for b in plan["parameterBindings"]], [0, 1])
        self.again(root, "-p", "n=3", params=params)
        self.again({"op": "filter", "input": T, "pred": "a in :some"}, params=params)
        self.again({"op": "values", "columns": [{"name": "i", "type": "int32"}], "rows": ":some"}, params=params)
        params = {"spans": {"type": "list(interval)", "default": ["1 month", "90 days"]}}
        spans = {"op": "values", "columns": [{"name": "v", "type": "interval"}], "rows": [["30 days"], ["3 months"], ["1 year"], [None]]}
        self.again({"op": "filter", "input": spans, "pred": "v in :spans"}, params=params)
        self.again({"op": "filter", "input": T, "pred": "interval '30 days' in :spans"}, params=params)


class Errors(Case):
    def test_operators(self):
        self.fails({"op": "pairs", "input": T, "aliases": ["l", "r"]}, "$.root", "no relation for pairs")
        self.fails({"op": "limit", "limit": 1, "input": {"op": "repeat", "input": T, "count": "a"}}, "$.root.input", "no relation for repeat")
        near = {"op": "join", "kind": "left", "left": T, "right": U, "on": [], "asof": {"left": "a", "right": "k", "match": ">="}}
        self.fails(near, "$.root", "no as-of join")
        self.fails({"op": "top", "input": T, "order": ["a"], "limit": 1, "offset": 1, "ties": "keep"}, "$.root", "keeps ties")
        self.fails({"op": "top", "input": T, "order": ["a"], "limit": ":n", "offset": 1}, "$.root", "parameters for limit and offset",
                   params={"n": {"type": "int64", "default": 1}})

    def test_windows(self):
        def window(**f):
            return {"op": "window", "input": T, "order": ["a"], "functions": [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "a", "as": "t", **f}]}
        groups = {"unit": "groups", "start": {"preceding": 1}, "end": "current row"}
        where = "$.root.functions[1]"
        self.fails(window(frame=groups), where, "no frames of groups")
        self.fails(window(frame={**groups, "unit": "rows", "exclude": "current row"}), where, "exclude rows")
        self.fails(window(fn="lag", arg="s", nulls="ignore"), where, "ignores NULLs")
        for function in ({"fn": "nth_value", "n": 2}, {"fn": "string_agg"}):
            self.fails(window(arg="s", **function), where, "no %s of a frame of range in which rows that tie" % function["fn"])

    def test_lists_without_a_value(self):
        some = {"some": {"type": "list(int32)"}}
        self.fails({"op": "filter", "input": T, "pred": "a in :some"}, "$.root.pred", ":some", params=some)
        self.fails({"op": "values", "columns": [{"name": "i", "type": "int32"}], "rows": ":some"}, "$.root", ":some", params=some)

    def test_tables(self):
        self.fails({"op": "scan", "table": "t"}, "$.root.table", "no database was named (--db DIR)")


if __name__ == "__main__":
    unittest.main()
