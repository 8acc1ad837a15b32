#!/usr/bin/env python3
"""Relations, expressions and errors of Substrait, each in a small plan, in JSON and in binary, and as Heddle's JSON.

Usage: test_cases.py HEDDLE
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import build as b

HEDDLE = sys.argv.pop(1) if len(sys.argv) > 1 else "heddle"
I32, STRING = b.typ("i32"), b.typ("string")

T = b.values({"a": I32, "s": STRING}, [b.i32(1), b.text("x")], [b.i32(2), b.text("y")], [b.i32(2), b.lit(null=STRING)])
U = b.values({"k": I32, "v": STRING}, [b.i32(2), b.text("two")], [b.i32(3), b.text("three")])


class Case(unittest.TestCase):
    def setUp(self):
        self.f = b.Functions()
        self.scratch = tempfile.TemporaryDirectory(prefix="heddle-substrait-")
        self.addCleanup(self.scratch.cleanup)

    def heddle(self, *args):
        return subprocess.run([HEDDLE, *args], capture_output=True, check=False, timeout=120)

    def run_plan(self, path, *args):
        done = self.heddle("run", str(path), "--backend", "cpu", "--format", "csv", *args)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode().splitlines()

    def write(self, plan, name="p.json"):
        path = Path(self.scratch.name) / name
        path.write_bytes(plan if isinstance(plan, bytes) else json.dumps(plan).encode())
        return path

    def rows(self, names, root, want, *args, ordered=False, **more):
        """The rows are these; the binary form is the same plan, and so is what is printed as Heddle's."""
        path = self.write(b.plan(self.f, names.split(), root, **more))
        found = self.run_plan(path, *args)
        self.assertEqual(found[0], names.replace(" ", ","))
        self.assertEqual(found[1:] if ordered else sorted(found[1:]), want if ordered else sorted(want))
        binary = self.write(self.convert(path, "substrait"), "p.pb")
        plan = self.convert(path, "json")
        self.assertEqual(self.convert(binary, "json"), plan)
        self.assertEqual(self.convert(self.write(self.convert(binary, "substrait-json"), "q.json"), "json"), plan)
        self.assertEqual(self.convert(self.write(plan, "h.json"), "json"), plan)

    def convert(self, path, to):
        done = self.heddle("convert", str(path), "--to", to)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def fails(self, root, path, message, names="a", **more):
        done = self.heddle("run", str(self.write(b.plan(self.f, names.split(), root, **more))), "--backend", "cpu")
        self.assertEqual(done.returncode, 2, done.stdout)
        text = done.stderr.decode()
        self.assertIn(f": $.relations[0].root.{path}: ", text)
        self.assertIn(message, text)

    def project(self, *expressions, input=T):
        return b.rel("project", emit=[2 + i for i in range(len(expressions))], input=input, expressions=list(expressions))


class Relations(Case):
    def test_values(self):
        self.rows("a s", T, ["1,x", "2,y", "2,"])

    def test_filter(self):
        self.rows("a s", b.rel("filter", input=T, condition=self.f.call("gt:any_any", b.field(0), b.i32(1))), ["2,y", "2,"])

    def test_project_and_emit(self):
        sum_of = self.f.call("add:i32_i32", b.field(0), b.i32(1))
        self.rows("a s sum", b.rel("project", input=T, expressions=[sum_of]), ["1,x,2", "2,y,3", "2,,3"])
        self.rows("sum a", b.rel("project", emit=[2, 0], input=T, expressions=[sum_of]), ["2,1", "3,2", "3,2"])
        self.rows("x y", b.rel("filter", emit=[0, 0], input=T, condition=b.lit(boolean=True)), ["1,1", "2,2", "2,2"])

    def test_sort_and_fetch(self):
        ordered = b.rel("sort", input=T, sorts=[b.key(b.field(0), "DESC_NULLS_FIRST"), b.key(b.field(1), "ASC_NULLS_FIRST")])
        self.rows("a s", ordered, ["2,", "2,y", "1,x"], ordered=True)
        self.rows("a s", b.rel("fetch", input=ordered, offset="1", count="1"), ["2,y"])
        self.rows("a s", b.rel("fetch", input=ordered, offsetExpr=b.lit(i64="2")), ["1,x"])
        through = b.rel("project", emit=[2], input=ordered, expressions=[self.f.call("multiply", b.field(0), b.i32(10))])
        self.rows("a", b.rel("fetch", input=through, countExpr=b.lit(i64="2")), ["20", "20"])

    def test_equal_aggregates_are_shared(self):
        def counts():
            return b.rel("aggregate", emit=[1, 0, 1], input=T, groupings=[{"groupingExpressions": [b.field(0)]}],
                         measures=[self.f.measure("count")])
        equal = self.f.call("equal", b.field(0), b.field(3))
        joined = b.rel("join", left=counts(), right=counts(), expression=equal, type="JOIN_TYPE_INNER")
        self.rows("n a m n2 a2 m2", joined, ["1,1,1,1,1,1", "2,2,2,2,2,2"])
        plan = json.loads(self.convert(self.write(b.plan(self.f, "n a m n2 a2 m2".split(), joined)), "json"))
        self.assertEqual(len(plan["shared"]), 1)
        self.assertEqual(json.dumps(plan).count('"ref"'), 2)
        other = b.rel("aggregate", emit=[1, 0, 1], input=U, groupings=[{"groupingExpressions": [b.field(0)]}],
                      measures=[self.f.measure("count")])
        joined = b.rel("join", left=counts(), right=other, expression=equal, type="JOIN_TYPE_INNER")
        plan = json.loads(self.convert(self.write(b.plan(self.f, "n a m n2 a2 m2".split(), joined)), "json"))
        self.assertNotIn("shared", plan)

    def test_an_error_in_what_is_shared_names_the_relation(self):
        def wrong():
            return b.rel("aggregate", input=T, groupings=[{}], measures=[self.f.measure("sum", b.field(1))])
        joined = b.rel("cross", left=wrong(), right=wrong())
        self.fails(joined, "input.cross.left.aggregate", "sum", names="a b")

    def test_aggregate(self):
        measures = [self.f.measure("sum:i32", b.field(0)), self.f.measure("count:any", b.field(1)), self.f.measure("count:"),
                    self.f.measure("sum:i32", b.field(0), filter=self.f.call("is_null:any", b.field(1)))]
        self.rows("sum n all some", b.rel("aggregate", input=T, groupings=[{}], measures=measures), ["5,2,3,2"])
        self.rows("a n", b.rel("aggregate", input=T, groupings=[{"groupingExpressions": [b.field(0)]}], measures=measures[1:2]),
                  ["1,1", "2,1"])
        self.rows("a", b.rel("aggregate", input=T, groupingExpressions=[b.field(0)], groupings=[{"expressionReferences": [0]}]),
                  ["1", "2"])
        distinct = self.f.measure("count:any", b.field(0), invocation="AGGREGATION_INVOCATION_DISTINCT")
        self.rows("n", b.rel("aggregate", input=T, groupings=[], measures=[distinct]), ["2"])

    def test_grouping_sets(self):
        root = b.rel("aggregate", input=T, groupingExpressions=[b.field(0), b.field(1)], measures=[self.f.measure("count")],
                     groupings=[{"expressionReferences": [0, 1]}, {"expressionReferences": [0]}, {}])
        self.rows("a s n grouping_set", root, ["1,x,1,0", "2,y,1,0", "2,,1,0", "1,,1,1", "2,,2,1", ",,3,2"])

    def join(self, kind, **more):
        return b.rel("join", left=T, right=U, type=f"JOIN_TYPE_{kind}",
                     expression=self.f.call("equal:any_any", b.field(0), b.field(2)), **more)

    def test_joins(self):
        matched = ["2,y,2,two", "2,,2,two"]
        self.rows("a s k v", self.join("INNER"), matched)
        self.rows("a s k v", self.join("LEFT"), [*matched, "1,x,,"])
        self.rows("a s k v", self.join("RIGHT"), [*matched, ",,3,three"])
        self.rows("a s k v", self.join("OUTER"), [*matched, "1,x,,", ",,3,three"])
        self.rows("a s", self.join("LEFT_SEMI"), ["2,y", "2,"])
        self.rows("a s", self.join("LEFT_ANTI"), ["1,x"])
        self.rows("k v", self.join("RIGHT_SEMI"), ["2,two"])
        self.rows("k v", self.join("RIGHT_ANTI"), ["3,three"])
        self.rows("a s m", self.join("LEFT_MARK"), ["1,x,false", "2,y,true", "2,,true"], producer="datafusion")
        self.rows("k v m", self.join("RIGHT_MARK"), ["2,two,true", "3,three,false"], producer="datafusion")
        self.rows("a s k v", self.join("INNER", postJoinFilter=self.f.call("is_null", b.field(1))), matched[1:])
        self.rows("a s k v", b.rel("cross", left=T, right=U), [f"{t},{u}" for t in ("1,x", "2,y", "2,") for u in ("2,two", "3,three")])

    def test_not_in(self):
        """As NOT EXISTS unless the relation says that it is NOT IN: then NULLs count."""
        def anti(right, aware, left=T, on=(1, 3)):
            join = b.rel("join", left=left, right=right, type="JOIN_TYPE_LEFT_ANTI",
                         expression=self.f.call("equal", *map(b.field, on)))
            if aware:
                join["join"]["common"]["hint"] = {"alias": "null_aware"}
            return join
        empty = b.values({"a": I32, "s": STRING})
        self.rows("a s", anti(U, False), ["1,x", "2,y", "2,"])
        self.rows("a s", anti(U, True), ["1,x", "2,y"])
        self.rows("a s", anti(empty, True), ["1,x", "2,y", "2,"])
        self.rows("k v", anti(T, False, left=U), ["2,two", "3,three"])
        self.rows("k v", anti(T, True, left=U), [])
        self.rows("k v", anti(T, True, left=U, on=(0, 2)), ["3,three"])
        wide = anti(U, True)
        wide["join"]["expression"] = self.f.call("lt", b.field(0), b.field(2))
        self.fails(wide, "input.join", "NOT IN", names="a s")

    def test_join_conditions(self):
        condition = self.f.call("and:bool", self.f.call("equal", b.field(2), b.field(0)), self.f.call("lt", b.field(1), b.field(3)))
        self.rows("a s k v", b.rel("join", left=T, right=U, type="JOIN_TYPE_INNER", expression=condition), [])
        same = self.f.call("is_not_distinct_from", b.field(1), b.field(3))
        self.rows("a s b r", b.rel("join", left=T, right=T, type="JOIN_TYPE_INNER", expression=same), ["1,x,1,x", "2,y,2,y", "2,,2,"])

    def test_sets(self):
        def sets(op, *inputs):
            return b.rel("set", op=f"SET_OP_{op}", inputs=list(inputs or (one, other)))
        one = b.rel("project", emit=[2], input=T, expressions=[b.field(0)])
        other = b.rel("project", emit=[2], input=U, expressions=[b.field(0)])
        self.rows("a", sets("UNION_ALL"), ["1", "2", "2", "2", "3"])
        self.rows("a", sets("UNION_DISTINCT"), ["1", "2", "3"])
        self.rows("a", sets("INTERSECTION_PRIMARY"), ["2"])
        self.rows("a", sets("INTERSECTION_MULTISET_ALL", one, one), ["1", "2", "2"])
        self.rows("a", sets("MINUS_PRIMARY"), ["1"])
        self.rows("a", sets("MINUS_PRIMARY_ALL"), ["1", "2"])

    def test_windows(self):
        number = {"functionReference": self.f.anchor("row_number:"), "boundsType": "BOUNDS_TYPE_ROWS"}
        root = b.rel("window", input=T, windowFunctions=[number], partitionExpressions=[b.field(0)],
                     sorts=[b.key(b.field(1), "DESC_NULLS_LAST")])
        self.rows("a s n", root, ["1,x,1", "2,y,1", "2,,2"])
        order = [b.key(b.field(0)), b.key(b.field(1))]
        running = self.f.window("sum:i32", b.field(0), sorts=order, upper={"currentRow": {}})
        before = self.f.window("lag", b.field(0), b.lit(i64="1"), b.i32(0), sorts=order)
        self.rows("s sum b", b.rel("project", emit=[1, 2, 3], input=T, expressions=[running, before]), ["x,1,0", "y,3,1", ",5,2"])
        near = self.f.window("count", b.field(0), sorts=order, lower={"preceding": {"offset": "1"}}, upper={"following": {"offset": "1"}})
        self.rows("n", b.rel("project", emit=[2], input=T, expressions=[near]), ["2", "3", "2"])

    def test_reference(self):
        plan = b.plan(self.f, ["a", "s"], b.rel("set", op="SET_OP_UNION_ALL", inputs=[b.rel("reference", subtreeOrdinal=1)] * 2))
        plan["relations"].append({"rel": T})
        self.assertEqual(sorted(self.run_plan(self.write(plan))), sorted(["a,s", *["1,x", "2,y", "2,"] * 2]))

    def test_all_forms_run(self):
        path = self.write(b.plan(self.f, ["a", "s", "k", "v"], self.join("LEFT")))
        want = self.run_plan(path)
        for to in ("json", "substrait", "substrait-json"):
            self.assertEqual(self.run_plan(self.write(self.convert(path, to), "again")), want)

    def test_no_columns(self):
        nothing = {"read": {"baseSchema": {"struct": {}}, "virtualTable": {"expressions": [{}]}}}
        self.rows("one", b.rel("project", emit=[0], input=nothing, expressions=[b.i32(1)]), ["1"])
        self.rows("n", b.rel("aggregate", input=b.rel("filter", emit=[], input=T, condition=b.lit(boolean=True)), groupings=[],
                             measures=[self.f.measure("count")]), ["3"])


class Expressions(Case):
    def one(self, want, *expressions, **more):
        root = b.rel("project", emit=[2 + i for i in range(len(expressions))],
                     input=b.rel("fetch", input=T, count="1"), expressions=list(expressions))
        self.rows(" ".join(f"e{i}" for i in range(len(expressions))), root, [want], **more)

    def test_literals(self):
        def dec(n, scale):
            import base64
            return b.lit(decimal={"value": base64.b64encode(n.to_bytes(16, "little", signed=True)).decode(), "precision": 12, "scale": scale})
        self.one("true,-5,9007199254740993,1.5,0.1,text,chars", b.lit(boolean=True), b.i32(-5), b.lit(i64="9007199254740993"),
                 b.lit(fp64=1.5), b.lit(fp32=0.1), b.text("text"), b.lit(varChar={"value": "chars", "length": 9}))
        self.one("-1.50,0,1970-01-02,1970-01-01 00:00:01,1970-01-01 00:00:00.000005,00:00:02", dec(-150, 2), dec(0, 0), b.lit(date=1),
                 b.lit(timestamp="1000000"), b.lit(precisionTimestamp={"precision": 9, "value": "5000"}), b.lit(time="2000000"))
        self.one("nan,inf,-inf,,", b.lit(fp64="NaN"), b.lit(fp64="Infinity"), b.lit(fp64="-Infinity"), b.lit(null=b.typ("date")),
                 b.lit(null=b.typ("decimal", precision=5, scale=2)))

    def test_intervals(self):
        day = b.lit(date=30)
        self.one("1970-02-28,1970-01-28,1970-03-03", self.f.call("add:date_iyear", day, b.lit(intervalYearToMonth={"months": 1})),
                 self.f.call("subtract:date_iday", day, b.lit(intervalDayToSecond={"days": 2, "seconds": 86400})),
                 self.f.call("add", b.lit(intervalCompound={"intervalYearToMonth": {"months": 1},
                                                            "intervalDayToSecond": {"days": 3}}), day))
        moved = self.f.call("add", day, b.lit(intervalCompound={"intervalYearToMonth": {}, "intervalDayToSecond": {"seconds": 432000, "precision": 9}}))
        moved["scalarFunction"]["outputType"] = b.typ("date")  # so DataFusion writes a date and five days
        self.one("1970-02-05", moved)
        month, days = b.lit(intervalYearToMonth={"years": 1, "months": 2}), b.lit(intervalDayToSecond={"days": 30, "seconds": 7205, "precision": 6, "subseconds": "500000"})
        both = b.lit(intervalCompound={"intervalYearToMonth": {"months": -1}, "intervalDayToSecond": {"days": 3, "seconds": -1}})
        self.one("1 year 2 months,30 days 02:00:05.5,-1 month 3 days -00:00:01,,1 year 2 months 30 days 02:00:05.5,true", month, days, both,
                 b.lit(null=b.typ("intervalDay", precision=6)), self.f.call("add", month, days), self.f.call("gt", month, days))
        self.one("1 year 3 months,true", self.f.call("add", b.cast(month, b.typ("intervalYear")), b.lit(intervalYearToMonth={"months": 1})),
                 {"singularOrList": {"value": b.lit(intervalYearToMonth={"months": 1}), "options": [b.lit(intervalDayToSecond={"days": 30})]}})

    def test_forms(self):
        a = b.field(0)
        clauses = [{"if": self.f.call("gt", a, b.i32(5)), "then": b.text("big")}]
        self.one("small,,one", {"ifThen": {"ifs": clauses, "else": b.text("small")}}, {"ifThen": {"ifs": clauses}},
                 {"switchExpression": {"match": a, "ifs": [{"if": {"i32": 1}, "then": b.text("one")}], "else": b.text("other")}})
        self.one("true,false,false", {"singularOrList": {"value": a, "options": [b.i32(1), b.i32(2)]}},
                 {"singularOrList": {"value": a, "options": [b.i32(7)]}}, {"singularOrList": {"value": a}})
        self.one("7,,true", b.cast(b.text("7"), I32, "RETURN_NULL"), b.cast(b.text("7x"), I32, "RETURN_NULL"),
                 self.f.call("is_null", b.cast(b.lit(fp64=1e300), b.typ("i64"), "RETURN_NULL")))
        self.one("1.00,1,1", b.cast(a, b.typ("decimal", precision=5, scale=2)), b.cast(a, STRING), b.cast(b.lit(fp64=1.4), b.typ("i64")))
        base = [{"if": a}, {"if": b.i32(1), "then": b.text("one")}]
        self.one("one", {"ifThen": {"ifs": base, "else": b.text("other")}}, producer="datafusion")

    def test_functions(self):
        call, s = self.f.call, b.text("Öxy")
        self.one("true,false,true,true,false", call("between:any", b.field(0), b.i32(0), b.i32(2)), call("is_not_null", b.lit(null=I32)),
                 call("is_not_true", b.lit(null=b.typ("bool"))), call("is_distinct_from", b.field(0), b.lit(null=I32)),
                 call("not_equal", b.i32(1), b.i32(1)))
        self.one("Öx,xy,x,y,aÖxy", call("substring:str_i32_i32", s, b.i32(1), b.i32(2)), call("substring", s, b.i32(2)),
                 call("substring", s, b.i32(2), b.i32(1)), call("substring", s, b.i32(3), b.i32(9)), call("concat:str", b.text("a"), s))
        self.one("1970,1", call("extract:req_date", {"enum": "YEAR"}, b.lit(date=3)), call("extract", {"enum": "MONTH"}, b.lit(date=3)))
        self.one("true,true", call("like", s, b.text("%x_")), call("like", s, b.text("%x_"), b.text("")))

    def test_producers(self):
        missing = self.f.call("concat", b.text("a"), b.lit(null=STRING))
        self.one(",a", missing, self.f.call("concat", b.text("a"), b.text("")))
        self.one("a", self.f.call("concat", b.text("a"), b.cast(b.lit(null=STRING), STRING)), producer="datafusion")
        self.one("1970", self.f.call("year", b.lit(date=3)), producer="DuckDB")

    def test_subqueries(self):
        best = b.rel("aggregate", input=T, groupings=[], measures=[self.f.measure("max", b.field(0))])
        scalar = {"subquery": {"scalar": {"input": best}}}
        self.rows("a s", b.rel("filter", input=T, condition=self.f.call("equal", b.field(0), scalar)), ["2,y", "2,"])
        keys = b.rel("project", emit=[2], input=U, expressions=[b.field(0)])
        within = {"subquery": {"inPredicate": {"needles": [b.field(0)], "haystack": keys}}}
        self.rows("a s", b.rel("filter", input=T, condition=within), ["2,y", "2,"])
        self.rows("a s", b.rel("filter", input=T, condition=self.f.call("not", within)), ["1,x"])
        there = {"subquery": {"setPredicate": {"predicateOp": "PREDICATE_OP_EXISTS", "tuples": U}}}
        self.rows("a s", b.rel("filter", input=T, condition=there), ["1,x", "2,y", "2,"])
        none = {"subquery": {"setComparison": {"reductionOp": "REDUCTION_OP_ALL", "comparisonOp": "COMPARISON_OP_NE",
                                               "left": b.field(0), "right": keys}}}
        self.rows("a s", b.rel("filter", input=T, condition=none), ["1,x"])

    def test_parameters(self):
        wanted = {"dynamicParameter": {"type": I32}}
        root = b.rel("filter", input=T, condition=self.f.call("equal", b.field(0), wanted))
        self.rows("a s", root, ["1,x"], "-p", "p1=1")
        most = {"dynamicParameter": {"type": b.typ("i64"), "parameterReference": 1}}
        self.rows("a s", b.rel("fetch", input=T, countExpr=most), [], "-p", "p2=0")
        bound = [{"parameterAnchor": 0, "value": {"i32": 1}}, {"parameterAnchor": 4, "value": {"i32": 1}}]
        self.rows("a s", root, ["1,x"], parameterBindings=bound)
        self.rows("a s", root, ["2,y", "2,"], "-p", "p1=2", parameterBindings=bound)

    def test_functions_of_heddles_own_extension(self):
        truncated = self.f.own("date_trunc:date", {"enum": "month"}, b.lit(date=40))
        self.rows("x y z", self.project(self.f.own("chr:i64", b.lit(i64="65")), truncated, self.f.own("length:str", b.text("abc"))),
                  ["A,1970-02-01,3"] * 3)
        ordered = self.f.measure("own first:str", b.field(1), sorts=[b.key(b.field(0), "DESC_NULLS_LAST"), b.key(b.field(1))])
        self.rows("s m", b.rel("aggregate", input=T, groupings=[], measures=[ordered, self.f.measure("own arg_min:str_i32", b.field(1), b.field(0))]),
                  ["y,x"])

    def test_least_is_null_where_an_argument_is(self):
        pair = [b.field(1), b.text("xx")]
        self.rows("a b", self.project(self.f.call("least:any", *pair), self.f.call("least_skip_null:any", *pair)),
                  ["x,x", "xx,xx", ",xx"])

    def test_parts_of_texts(self):
        def part(*numbers):
            return self.f.call("substring:str_i32_i32", b.text("abcd"), *numbers)
        self.rows("a b", self.project(part(b.i32(2), b.i32(2)), part(b.cast(b.lit(i8=3), I32))), ["bc,cd"] * 3)
        self.fails(self.project(part(b.i32(0), b.i32(2))), "input.project.expressions[0].scalarFunction", "a start of 1 or more")

    def test_components(self):
        day = b.lit(date=3)  # a Sunday
        def part(*names):
            return self.f.call("extract:req_req_date", *({"enum": n} for n in names), day)
        self.rows("y m d w w2", self.project(part("YEAR"), part("MONTH", "ONE"), part("DAY", "ZERO"), part("SUNDAY_DAY_OF_WEEK", "ONE"),
                                             part("MONDAY_DAY_OF_WEEK", "ONE")), ["1970,1,3,1,7"] * 3)

    def test_binary(self):
        self.rows("b", self.project(b.lit(binary="AP8=")), ["\\x00ff"] * 3)
        self.rows("b", b.values({"b": b.typ("binary")}, [b.lit(binary="YQ==")], [b.lit(fixedBinary="")]), ["\\x61", "\\x"])


class Subqueries(Case):
    """IN of several columns, marks, joins that give one row, relations that are used again."""

    L = b.values({"i": I32, "a": I32, "s": STRING}, *([b.i32(i), b.i32(a) if a else b.lit(null=I32), b.text(s) if s else b.lit(null=STRING)]
                 for i, (a, s) in enumerate([(1, "x"), (1, "y"), (2, "y"), (0, "x"), (0, "z"), (3, "")])))
    R = b.values({"k": I32, "v": STRING}, [b.i32(1), b.text("x")], [b.i32(2), b.lit(null=STRING)], [b.i32(4), b.text("x")])
    # by Python: None is NULL
    WANT = {0: True, 1: False, 2: None, 3: None, 4: None, 5: False}

    def member(self, right):
        return {"subquery": {"inPredicate": {"needles": [b.field(1), b.field(2)], "haystack": right}}}

    def test_in_of_several_columns(self):
        found = self.member(self.R)
        text = {True: "true", False: "false", None: ""}
        self.rows("i in", b.rel("project", emit=[0, 3], input=self.L, expressions=[found]), [f"{i},{text[x]}" for i, x in self.WANT.items()])
        self.rows("i", b.rel("filter", emit=[0], input=self.L, condition=found), ["0"])
        self.rows("i", b.rel("filter", emit=[0], input=self.L, condition=self.f.call("not:bool", found)), ["1", "5"])
        both = self.f.call("and:bool", found, self.f.call("lt:any_any", b.field(0), b.i32(9)))
        self.rows("i", b.rel("filter", emit=[0], input=self.L, condition=both), ["0"])
        either = self.f.call("or:bool", self.f.call("is_null:any", found), self.f.call("equal:any_any", b.field(0), b.i32(0)))
        self.rows("i", b.rel("filter", emit=[0], input=self.L, condition=either), ["0", "2", "3", "4"])

    def test_in_of_several_columns_of_nothing(self):
        none = b.rel("filter", input=self.R, condition=b.lit(boolean=False))
        self.rows("i in", b.rel("project", emit=[0, 3], input=self.L, expressions=[self.member(none)]), [f"{i},false" for i in range(6)])
        self.fails(b.rel("filter", input=self.L, condition=self.member(b.rel("filter", emit=[0], input=self.R, condition=b.lit(boolean=True)))),
                   "input.filter.condition.subquery.inPredicate", "expected a subquery of 2 columns, found 1", names="i a s")

    def test_marks(self):
        equal = self.f.call("equal:any_any", b.field(0), b.field(2))
        never = self.f.call("coalesce:any", equal, b.lit(boolean=False))
        mark = b.rel("join", left=T, right=U, type="JOIN_TYPE_LEFT_MARK", expression=never)
        self.rows("a s m", mark, ["1,x,false", "2,y,true", "2,,true"])

    def single(self, right, condition):
        return b.rel("join", left=T, right=right, type="JOIN_TYPE_LEFT_SINGLE", expression=condition)

    def test_single_joins(self):
        equal = self.f.call("equal:any_any", b.field(0), b.field(2))
        self.rows("a s k v", self.single(U, equal), ["1,x,,", "2,y,2,two", "2,,2,two"])
        twice = b.values({"k": I32, "v": STRING}, *([b.i32(k), b.text("t")] for k in (2, 3, 3)))
        self.rows("a s k v", self.single(twice, equal), ["1,x,,", "2,y,2,t", "2,,2,t"])  # nobody asks for 3
        twice = b.values({"k": I32, "v": STRING}, *([b.i32(2), b.text("t")] for _ in range(2)))
        done = self.heddle("run", str(self.write(b.plan(self.f, "a s k v".split(), self.single(twice, equal)))), "--backend", "cpu")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("more than one row of a subquery", done.stderr.decode())
        groups = b.rel("aggregate", input=U, groupingExpressions=[b.field(0)], groupings=[{"expressionReferences": [0]}],
                       measures=[self.f.measure("count:")])
        root = self.single(groups, equal)
        self.rows("a s k n", root, ["1,x,,", "2,y,2,1", "2,,2,1"])
        self.assertNotIn(b"window", self.convert(self.write(b.plan(self.f, "a s k n".split(), root)), "json"))
        self.fails(self.single(U, self.f.call("lt:any_any", b.field(0), b.field(2))), "input.join", "SINGLE", names="a s k v")

    def test_a_relation_that_is_used_again_is_shared(self):
        used = {"reference": {"subtreeOrdinal": 0}}
        lower = b.rel("filter", input=used, condition=self.f.call("lt:any_any", b.field(0), b.i32(2)))
        root = b.rel("set", op="SET_OP_UNION_ALL", inputs=[lower, b.rel("fetch", input=used, count="2"), used])
        self.rows("a s", root, ["1,x", "1,x", "1,x", "2,", "2,y", "2,y"], relations=[{"rel": b.rel("sort", input=T, sorts=[b.key(b.field(0)), b.key(b.field(1))])}])
        plan = json.loads(self.convert(self.write(b.plan(self.f, ["a", "s"], root, relations=[{"rel": T}])), "json"))
        self.assertEqual((len(plan["shared"]), json.dumps(plan).count('"ref"')), (1, 3))
        plan = json.loads(self.convert(self.write(b.plan(self.f, ["a", "s"], lower, relations=[{"rel": T}])), "json"))
        self.assertNotIn("shared", plan)
        circle = b.rel("set", op="SET_OP_UNION_ALL", inputs=[used, used])
        done = self.heddle("convert", str(self.write(b.plan(self.f, ["a", "s"], used, relations=[{"rel": circle}]))))
        self.assertIn("nested deeper", done.stderr.decode())

    def test_one_grouping_set_without_all_keys(self):
        root = b.rel("aggregate", input=T, groupingExpressions=[b.field(0), b.field(1)], groupings=[{"expressionReferences": [0]}],
                     measures=[self.f.measure("count:")])
        self.rows("a s n", root, ["1,,1", "2,,2"])

    def test_equal_keys_of_grouping_sets(self):
        root = b.rel("aggregate", input=T, groupingExpressions=[b.field(0), b.field(0)], measures=[self.f.measure("count:")],
                     groupings=[{"expressionReferences": [0]}, {"expressionReferences": [0, 1]}])
        self.rows("a a_1 n g", root, ["1,,1,0", "2,,2,0", "1,1,1,1", "2,2,2,1"])

    def test_offsets_of_frames_that_are_expressions(self):
        days = b.values({"d": b.typ("date"), "x": I32}, *([b.lit(date=d), b.i32(d)] for d in (1, 2, 4)))
        def summed(offset, bounds, key):
            return b.rel("project", input=days, expressions=[self.f.window("sum:i32", b.field(1), sorts=[b.key(b.field(key))], bounds=bounds,
                         lower={"preceding": {"offsetExpr": offset}}, upper={"currentRow": {}})])
        day = b.lit(intervalDayToSecond={"days": 2, "precision": 6})
        self.rows("d x sum", summed(day, "RANGE", 0), ["1970-01-02,1,1", "1970-01-03,2,3", "1970-01-05,4,6"])
        self.rows("d x sum", summed(b.lit(i64="1"), "ROWS", 0), ["1970-01-02,1,1", "1970-01-03,2,3", "1970-01-05,4,6"])
        self.rows("d x sum", summed(b.lit(i32=1), "RANGE", 1), ["1970-01-02,1,1", "1970-01-03,2,3", "1970-01-05,4,4"])


class Errors(Case):
    def test_relations(self):
        self.fails(b.rel("exchange", input=T), "input.exchange", "expected a relation that is supported")
        self.fails(b.rel("filter", input=T), "input.filter", 'missing key "condition"')
        self.fails(b.rel("filter", emit=[7], input=T, condition=b.lit(boolean=True)), "input.filter.common.emit.outputMapping[0]",
                   "expected a field below 2, found 7")
        self.fails(b.rel("join", left=T, right=U, type="JOIN_TYPE_SIDEWAYS"), "input.join", '"JOIN_TYPE_SIDEWAYS"')
        self.fails(b.rel("join", left=T, right=U, type="JOIN_TYPE_LEFT_MARK",
                         expression=self.f.call("equal", b.field(0), b.field(2))), "input.join", "mark")
        self.fails(b.rel("set", op="SET_OP_UNION_ALL", inputs=[T]), "input.set.inputs", "two inputs or more")
        self.fails(b.rel("sort", input=T, sorts=[{"expr": b.field(0)}]), "input.sort.sorts[0]", "direction")
        self.fails(b.rel("reference", subtreeOrdinal=5), "input.reference", "relation without a root")
        self.fails(T, "names", "expected a name for each of 2 fields")

    def test_tables(self):
        read = {"read": {"baseSchema": b.schema({"a": I32}), "namedTable": {"names": ["nowhere"]}}}
        self.fails(read, "input.read", 'table "nowhere" not found')
        read["read"]["localFiles"] = read["read"].pop("namedTable")
        self.fails(read, "input.read.baseSchema", "expected a table that is supported")
        self.fails(b.values({"u": b.typ("uuid")}), "input.read.baseSchema.struct.types[0].uuid", "found uuid")

    def test_expressions(self):
        where = "input.project.expressions[0]"
        self.fails(self.project(b.field(9)), f"{where}.selection.directReference.structField", "expected a field below 2, found 9")
        self.fails(self.project(self.f.call("frobnicate:i32", b.field(0))), f"{where}.scalarFunction", 'function "frobnicate" is not known')
        self.fails(self.project({"scalarFunction": {"functionReference": 77}}), f"{where}.scalarFunction.functionReference",
                   "function 77 is not among")
        self.fails(self.project({"nested": {}}), f"{where}.nested", "found nested")
        self.fails(self.project(b.lit(binary="A!")), f"{where}.literal.binary", "base64")
        self.fails(self.project(self.f.own("frobnicate:i32", b.field(0))), "input.project", "frobnicate")
        self.fails(self.project(b.lit(decimal={"value": "AA==", "precision": 3})), f"{where}.literal.decimal", "16 bytes")
        self.fails(self.project({"dynamicParameter": {}}), f"{where}.dynamicParameter", "parameter $1 has no type")
        outer = {"selection": {"directReference": {"structField": {}}, "outerReference": {"stepsOut": 1}}}
        self.fails(self.project(outer), f"{where}.selection.outerReference", "correlated")

    def test_types_are_heddles(self):
        """What its own reader finds has the relation's path, and its own behind."""
        bad = self.f.call("add", b.field(1), b.i32(1))
        self.fails(self.project(bad), "input.project", "(of Heddle's plan: $.root.input.exprs[0].expr")

    def test_aggregates(self):
        def agg(*measures):
            return b.rel("aggregate", input=T, groupings=[], measures=list(measures))
        self.fails(agg(self.f.measure("rank")), "input.aggregate.measures[0].measure", "function of windows")
        self.fails(agg(self.f.measure("sum")), "input.aggregate.measures[0].measure", "expected 1 to 1 arguments")
        self.fails(agg(self.f.measure("sum", b.field(0), phase="AGGREGATION_PHASE_INITIAL_TO_INTERMEDIATE")),
                   "input.aggregate.measures[0].measure", "in parts")

    def test_documents(self):
        def said(data):
            return self.heddle("run", str(self.write(data, "x"))).stderr.decode()
        self.assertIn("expected a relation with a root", said({"relations": []}))
        self.assertIn("expected one root, found 2", said({"relations": [{"root": {}}, {"root": {}}]}))
        self.assertIn("a value is longer than what holds it", said(b"\x1a\x7f\x0a\x01"))
        self.assertIn("byte 3", said(b"\x1a\x01\x0a"))
        self.assertIn("found a NUL byte", said(b"text\0"))
        deep = T
        for _ in range(300):
            deep = b.rel("fetch", input=deep, count="5")
        self.assertIn("nested deeper", said(b.plan(self.f, ["a", "s"], deep)))
        done = self.heddle("convert", str(self.write({"heddle": 1, "root": {}})), "--to", "substrait")
        self.assertIn("heddle: error: $.root: ", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
