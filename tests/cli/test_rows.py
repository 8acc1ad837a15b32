#!/usr/bin/env python3
"""`heddle run`: the three formats to the byte, parameters, times, profile, dumps."""

import json
import re
import subprocess

import cli

CSV = '''\
b,i,l,d,f,day,ts,s
true,1,9007199254740992,1.50,0.1,1998-09-02,1998-09-02 12:34:56,plain
false,-2147483648,9007199254740993,-0.05,1e+22,0001-01-01,1969-12-31 23:59:59.999999,""
,,,,,,,
true,0,-9223372036854775808,9999999999.99,-2.5e-300,9999-12-31,2000-01-01 00:00:00,"comma, ""quote"""
true,7,0,0.00,3,1970-01-01,1970-01-01 00:00:00.500000,"two
lines é"
'''

JSON = r'''{"columns":[{"name":"b","type":"bool","nullable":true},{"name":"i","type":"int32","nullable":true},{"name":"l","type":"int64","nullable":true},{"name":"d","type":"decimal(12,2)","nullable":true},{"name":"f","type":"float64","nullable":true},{"name":"day","type":"date","nullable":true},{"name":"ts","type":"timestamp","nullable":true},{"name":"s","type":"string","nullable":true}],
"rows":[
[true,1,9007199254740992,"1.50",0.1,"1998-09-02","1998-09-02 12:34:56","plain"],
[false,-2147483648,"9007199254740993","-0.05",1e+22,"0001-01-01","1969-12-31 23:59:59.999999",""],
[null,null,null,null,null,null,null,null],
[true,0,"-9223372036854775808","9999999999.99",-2.5e-300,"9999-12-31","2000-01-01 00:00:00","comma, \"quote\""],
[true,7,0,"0.00",3,"1970-01-01","1970-01-01 00:00:00.500000","two\u000alines é"]
]}
'''

TABLE = r''' b     |           i |                    l |             d |         f | day        | ts                         | s
-------+-------------+----------------------+---------------+-----------+------------+----------------------------+----------------
 true  |           1 |     9007199254740992 |          1.50 |       0.1 | 1998-09-02 | 1998-09-02 12:34:56        | plain
 false | -2147483648 |     9007199254740993 |         -0.05 |     1e+22 | 0001-01-01 | 1969-12-31 23:59:59.999999 | 
 NULL  |        NULL |                 NULL |          NULL |      NULL | NULL       | NULL                       | NULL
 true  |           0 | -9223372036854775808 | 9999999999.99 | -2.5e-300 | 9999-12-31 | 2000-01-01 00:00:00        | comma, "quote"
 true  |           7 |                    0 |          0.00 |         3 | 1970-01-01 | 1970-01-01 00:00:00.500000 | two\nlines é
(5 rows)
'''


class Formats(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("p.json", cli.plan(cli.EVERY_TYPE))
        self.maxDiff = None

    def test_csv(self):
        self.assertEqual(self.run_cli("run", "p.json", "--format", "csv"), (CSV, ""))

    def test_json(self):
        out, err = self.run_cli("run", "p.json", "--format", "json")
        self.assertEqual((out, err), (JSON, ""))
        self.assertEqual(len(json.loads(out)["rows"]), 5)

    def test_table_is_the_default(self):
        self.assertEqual(self.run_cli("run", "p.json"), (TABLE, ""))
        self.assertEqual(self.run_cli("run", "p.json", "--format", "table"), (TABLE, ""))

    def test_plan_from_standard_input(self):
        out, _ = self.run_cli("run", "-", "-f", "csv", stdin=cli.plan(cli.EVERY_TYPE))
        self.assertEqual(out, CSV)

    def test_no_rows(self):
        none = cli.plan({"op": "values", "columns": [{"name": "a,b", "type": "int32"}],
                         "rows": []})
        self.write("none.json", none)
        self.assertEqual(self.run_cli("run", "none.json", "-f", "csv")[0], '"a,b"\n')
        self.assertEqual(json.loads(self.run_cli("run", "none.json", "-f", "json")[0])["rows"], [])
        self.assertEqual(self.run_cli("run", "none.json")[0], " a,b\n-----\n(0 rows)\n")

    def test_numbers_beyond_json_are_strings(self):
        self.write("odd.json", cli.plan({
            "op": "project", "input": {"op": "values", "columns": [{"name": "s", "type": "string"}],
                                       "rows": [["nan"], ["inf"], ["-inf"], ["-0"]]},
            "exprs": [{"expr": "cast(s as float64)", "as": "f"}]}))
        rows = json.loads(self.run_cli("run", "odd.json", "-f", "json")[0])["rows"]
        self.assertEqual(rows, [["nan"], ["inf"], ["-inf"], [-0.0]])
        self.assertEqual(self.run_cli("run", "odd.json", "-f", "csv")[0],
                         "f\nnan\ninf\n-inf\n-0\n")

    def test_bytes_that_are_no_text_do_not_break_json(self):
        self.write("cut.json", cli.plan({
            "op": "project", "input": {"op": "values", "columns": [{"name": "s", "type": "string"}],
                                       "rows": [["aé"]]},
            "exprs": [{"expr": "substring(s, 1, 2)", "as": "cut"}]}))
        rows = json.loads(self.run_cli("run", "cut.json", "-f", "json")[0])["rows"]
        self.assertEqual(rows, [["a\ufffd"]])

    def test_many_rows(self):
        n = 12345
        self.write("many.json", cli.plan({
            "op": "values", "columns": [{"name": "n", "type": "int32"}],
            "rows": [[i] for i in range(n)]}))
        out, _ = self.run_cli("run", "many.json", "-f", "csv")
        self.assertEqual(sorted(map(int, out.split()[1:])), list(range(n)))
        out, _ = self.run_cli("run", "many.json")
        self.assertEqual(out.count("\n"), n + 3)
        self.assertTrue(out.endswith(f"({n} rows)\n"))


class Failures(cli.CliTest):
    """A row that fails tells its values; the parts that a device tells, too, are in tests/expr."""

    COLUMNS = [("i", "int32", 123456), ("j", "int64", "9223372036854775807"), ("k", "int64", "-9223372036854775808"),
               ("d", "decimal(12,2)", "-1234.50"), ("m", "decimal(38,0)", "9" * 38), ("s", "string", "K\u00f6ln\t\u0085'\\")]

    def test_values(self):
        source = {"op": "values", "columns": [{"name": n, "type": t} for n, t, _ in self.COLUMNS],
                  "rows": [[v for _, _, v in self.COLUMNS]]}
        most, wide = "9223372036854775807", "9" * 38
        for expr, message in (
                ("cast(i as decimal(5,2))", "numeric overflow: 123456 does not fit decimal(5,2)"),
                ("j + i", f"numeric overflow: {most} + 123456 does not fit int64"),
                ("k - i", "numeric overflow: -9223372036854775808 - 123456 does not fit int64"),
                ("j * i", f"numeric overflow: {most} * 123456 does not fit int64"),
                ("k / (i - 123457)", "numeric overflow: -9223372036854775808 / -1 does not fit int64"),
                ("-k", "numeric overflow: -(-9223372036854775808) does not fit int64"),
                ("m + 1", f"numeric overflow: {wide} + 1 does not fit decimal(38,0)"),
                ("m * d", f"numeric overflow: {wide} * -1234.50 does not fit decimal(38,2)"),
                ("m / d", f"numeric overflow: {wide} / -1234.50 does not fit decimal(38,6)"),
                ("m - 1.5", f"numeric overflow: {wide} does not fit decimal(38,1)"),
                ("cast(s as int64)", "'K\u00f6ln\\x09\\xc2\\x85'\\' is not a value of type int64")):
            self.write("v.json", cli.plan({"op": "project", "input": source, "exprs": [{"expr": expr, "as": "x"}]}))
            err = self.fail_cli("run", "v.json", "--backend", "cpu", status=1)
            self.assertEqual(err, f"$.root.exprs[0].expr: {message}")

    def test_sums(self):
        source = {"op": "values", "columns": [{"name": "m", "type": "decimal(38,6)"}], "rows": [["9" * 32]] * 2}
        self.write("s.json", cli.plan({"op": "aggregate", "input": source, "aggs": [{"fn": "sum", "arg": "m", "as": "x"}]}))
        err = self.fail_cli("run", "s.json", status=1)
        self.assertEqual(err, "$.root.aggs[0]: numeric overflow: the sum does not fit decimal(38,6)")


class Parameters(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("p.json", cli.plan(
            {"op": "filter", "pred": "n >= :least and n in :some",
             "input": {"op": "values", "columns": [{"name": "n", "type": "int64"}],
                       "rows": [["1"], ["2"], ["3"], ["4"]]}},
            params={"least": {"type": "int64", "default": "2"},
                    "some": {"type": "list(int64)", "default": ["1", "2", "3"]}}))

    def rows(self, *args):
        out, _ = self.run_cli("run", "p.json", "-f", "csv", *args)
        return sorted(out.split()[1:])

    def test_default_and_given(self):
        self.assertEqual(self.rows(), ["2", "3"])
        self.assertEqual(self.rows("-p", "least=3"), ["3"])
        self.assertEqual(self.rows("--param", "least=3", "-p", "some=[3,4]"), ["3", "4"])

    def test_decimal_becomes_the_nearest_float(self):
        """As the value of a column does: 35953516500184090.42 and 10^2 are no exact doubles both."""
        value = "35953516500184090.42"
        self.write("f.json", cli.plan(
            {"op": "project", "input": {"op": "values", "columns": [{"name": "d", "type": "decimal(19,2)"}], "rows": [[value]]},
             "exprs": [{"expr": "cast(:v as float64)", "as": "p"}, {"expr": "cast(d as float64)", "as": "c"}]},
            params={"v": {"type": "decimal(19,2)", "default": value}}))
        out, _ = self.run_cli("run", "f.json", "-f", "csv")
        self.assertEqual(out, "p,c\n35953516500184092,35953516500184092\n")

    def test_file_and_order(self):
        self.write("some.json", '{"least": "4", "some": ["4"]}')
        self.assertEqual(self.rows("-p", "@some.json"), ["4"])
        self.assertEqual(self.rows("-p", "@some.json", "-p", "some=[1,2]", "-p", "least=1"),
                         ["1", "2"])

    def test_errors(self):
        self.assertIn("most", self.fail_cli("run", "p.json", "-p", "most=1"))
        self.assertIn("least", self.fail_cli("run", "p.json", "-p", "least=x"))
        self.fail_cli("run", "p.json", "-p", "@nowhere.json")


    def test_group_that_the_pattern_lacks(self):
        """Known once both are: when the plan is made with their values."""
        self.write("g.json", cli.plan(
            {"op": "project", "exprs": [{"expr": "regexp_extract(s, :p, :k)", "as": "x"}],
             "input": {"op": "values", "columns": [{"name": "s", "type": "string"}], "rows": [["no 17"]]}},
            params={"p": {"type": "string", "default": "([a-z]+) ([0-9]+)"}, "k": {"type": "int32"}}))
        self.assertEqual(self.run_cli("run", "g.json", "-f", "csv", "-p", "k=2")[0], "x\n17\n")
        for bound in (["k=3"], ["k=1", "-p", "p=[a-z]+"]):
            err = self.fail_cli("run", "g.json", "-p", *bound)
            self.assertEqual(err, "$.root.exprs[0].expr: regular expression, byte 1: the pattern has no group of that number")

    def test_params_prints_what_a_plan_takes(self):
        out, err = self.run_cli("params", "tpch", "--class", "normal", "--seed", "7")
        self.assertEqual(err, "")
        self.assertEqual(list(json.loads(out)), [f"q{q:02d}" for q in range(1, 23)])
        one, _ = self.run_cli("params", "tpch", "--class", "normal", "--seed", "7", "-q", "6")
        self.assertEqual(json.loads(one), json.loads(out)["q06"])
        self.run_cli("params", "tpch", "--class", "normal", "--seed", "7", "--out", "p7.json")
        self.assertEqual((self.dir / "p7.json").read_text(), out)
        plan = json.loads((cli.SOURCE / "tpch" / "plans" / "q06.json").read_text())
        self.assertLessEqual(set(json.loads(one)), set(plan["params"]))


class Reports(cli.CliTest):
    TIMES = ("facts_ms", "plan_ms", "codegen_ms", "open_ms", "compile_ms", "wait_ms", "transfer_ms", "execute_ms",
             "result_ms", "total_ms")

    def setUp(self):
        super().setUp()
        self.write("p.json", cli.plan(cli.EVERY_TYPE))

    def test_time_prints_a_line_for_every_run(self):
        out, err = self.run_cli("run", "p.json", "-f", "csv", "--time", "--repeat", "3")
        self.assertEqual(out, CSV)
        reports = [json.loads(line) for line in err.splitlines()]
        self.assertEqual(len(reports), 3)
        for report in reports:
            self.assertEqual(report["backend"], "cpu")
            for key in self.TIMES:
                self.assertGreaterEqual(report[key], 0)
            self.assertIn("compile_cached", report)
            self.assertIn("peak_bytes", report)
            self.assertTrue(report["why"])

    def test_a_backend_that_was_asked_for_is_told_as_the_reason(self):
        _, err = self.run_cli("run", "p.json", "-f", "csv", "--time", "--backend", "cpu", "--deterministic")
        self.assertEqual(json.loads(err)["why"], "asked for")
        out, _ = self.run_cli("explain", "p.json", "--dump", "backend", "--backend", "cpu")
        self.assertEqual(out, "cpu: asked for\n")

    def test_profile_is_written(self):
        self.run_cli("run", "p.json", "--profile", "profile.json")
        report = json.loads((self.dir / "profile.json").read_text())
        self.assertGreaterEqual(len(report["pipelines"]), 1)

    def profile(self, *options):
        out, err = self.run_cli("run", "sorted.json", "-f", "csv", "--profile", "profile.json", *options)
        return out, err, json.loads((self.dir / "profile.json").read_text())

    def test_profile_counts_in_an_execution_of_its_own(self):
        self.write("sorted.json", cli.plan({"op": "sort", "keys": [{"expr": "i"}], "input": {
            "op": "filter", "pred": "i is not null", "input": cli.EVERY_TYPE}}))
        plain, _ = self.run_cli("run", "sorted.json", "-f", "csv", "--time")
        out, err, report = self.profile("--repeat", "3", "--time")
        self.assertEqual(out, plain)
        timed = [json.loads(line) for line in err.splitlines()]
        self.assertEqual(len(timed), 3)
        self.assertEqual([t["counted"] for t in timed], [report["counted"]] * 3)  # it counts once
        self.assertEqual(timed[-1]["execute_ms"], report["execute_ms"])           # and tells the last one's times
        steps = [s["rows"] for p in report["pipelines"] for s in p["steps"]]
        self.assertIn(5, steps)
        self.assertIn(4, steps)
        self.assertNotIn('"steps"', self.run_cli("run", "sorted.json", "--time")[1])

    def test_profile_has_a_time_line(self):
        self.write("sorted.json", cli.plan({"op": "sort", "keys": [{"expr": "i"}], "input": cli.EVERY_TYPE}))
        _, _, report = self.profile()
        end = gaps = 0
        for span in report["timeline"]:
            self.assertAlmostEqual(span["start_ms"] - end, span["gap_ms"], delta=0.001)
            self.assertGreaterEqual(span["gap_ms"], 0)
            end = span["start_ms"] + span["ms"]
            gaps += span["gap_ms"]
        self.assertLessEqual(end, report["execute_ms"] + 0.002)
        self.assertAlmostEqual(report["gaps_ms"], gaps, delta=0.001 * len(report["timeline"]))
        for what, key, named in (("run", "pipeline", report["pipelines"]), ("finish", "state", report["states"]),
                                 ("clear", "state", report["states"])):
            found = [span[key] for span in report["timeline"] if span["what"] == what]
            self.assertEqual(sorted(found), sorted(x["name"] for x in named))
        for p in report["pipelines"]:
            self.assertGreater(p["bytes"]["all"], 0)
            self.assertIn(p["state"], [s["name"] for s in report["states"]])
            self.assertGreater(p["floor_ms"] + 1e-4, 0)

    def test_profile_of_a_failure_leaves_the_old_one(self):
        self.write("sorted.json", cli.plan({"op": "project", "exprs": [{"expr": "1 / (i - 1)", "as": "x"}],
                                            "input": cli.EVERY_TYPE}))
        self.write("profile.json", "old")
        plain = self.fail_cli("run", "sorted.json", status=1)
        self.assertEqual(self.fail_cli("run", "sorted.json", "--profile", "profile.json", status=1), plain)
        self.assertEqual((self.dir / "profile.json").read_text(), "old")

    def test_dump_after_a_profile_shows_counted_rows(self):
        _, plain = self.run_cli("run", "p.json", "--dump", "pipelines")
        _, counted = self.run_cli("run", "p.json", "--dump", "pipelines", "--profile", "profile.json")
        self.assertNotRegex(plain, r"  ~5 =")
        self.assertRegex(counted, r"(?m)^    -> rows \S+ .*  ~5 =5$")
        self.assertRegex(counted, r"(?m)^  s\d+_\w+: rows .*  ~5 =5$")

    def test_profile_page_holds_report_and_texts(self):
        evil = "</script><!-- ]]> \\ \" @TEXTS@"
        self.write("evil.json", json.dumps({"heddle": 1, "root": {
            "op": "values", "columns": [{"name": "</script>", "type": "string"}],
            "rows": [[evil]]}}))
        self.run_cli("run", "evil.json", "--profile", "page.html")
        page = (self.dir / "page.html").read_text()
        found = re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', page, re.S)
        self.assertEqual([name for name, _ in found], ["report", "texts"])
        report, texts = (json.loads(text) for _, text in found)
        self.assertGreaterEqual(len(report["pipelines"]), 1)
        self.assertEqual(texts["title"], "evil.json")
        for name in [p["name"] for p in report["pipelines"]]:
            self.assertIn(f"{name}:", texts["pipelines"])
            self.assertIn(f"hd_{name}", texts["code"])
        self.assertIn("</script>", texts["plan"])

    def test_dump_goes_to_standard_error(self):
        out, err = self.run_cli("run", "p.json", "-f", "csv", "--dump", "plan")
        self.assertEqual(out, CSV)
        self.assertIn("values", err)

    def test_explain(self):
        for stages in (["plan"], ["pipelines"], ["plan", "llvm"]):
            out, err = self.run_cli("explain", "p.json", "--dump", ",".join(stages))
            self.assertEqual(err, "")
            self.assertTrue(out)
        cuda, _ = self.run_cli("explain", "p.json", "--dump", "cuda")
        self.assertTrue(cuda.startswith("// p0: "), cuda[:80])  # the profile's page splits it there
        self.fail_cli("explain", "p.json", "--dump", "weft")

    def test_constant_conditions_vanish(self):
        rows = {"op": "values", "columns": [{"name": "k", "type": "int32"}], "rows": [[1], [2], [3]]}
        for condition, filters, answer in (
                ("not (k is null)", 0, "1\n2\n3\n"),  # no row is NULL
                ("k < 3 and not (k is null)", 1, "1\n2\n"),
                ("k < 3 or not (k is not null)", 1, "1\n2\n"),
                ("not cast(null as bool)", 1, "")):
            self.write("c.json", cli.plan({"op": "filter", "pred": condition, "input": rows}))
            text, _ = self.run_cli("explain", "c.json", "--dump", "pipelines")
            self.assertEqual(text.count("filter "), filters, text)
            self.assertNotIn("not.bool", text)
            self.assertEqual(self.run_cli("run", "c.json", "-f", "csv")[0], "k\n" + answer)

    def test_info(self):
        json.loads(self.run_cli("info", "--json")[0])
        self.assertIn("LLVM", self.run_cli("info")[0].upper())


class Joins(cli.CliTest):
    """docs/plan.md 1.1: which kinds accept which side as "build"."""

    def test_build_sides(self):
        def values(name):
            return {"op": "values", "columns": [{"name": name, "type": "int64"}], "rows": [[1], [2]]}
        for kind in ("inner", "left", "right", "full", "semi", "anti", "mark"):
            for pairs in ([["a", "b"]], []):
                if not pairs and kind not in ("inner", "left"):
                    continue
                for side in ("auto", "left", "right"):
                    self.write("p.json", cli.plan(
                        {"op": "join", "kind": kind, "on": pairs, "build": side, "left": values("a"),
                         "right": values("b"), **({"mark": "m"} if kind == "mark" else {})}))
                    good = (side == "auto" or (side == "right") == (kind != "right") or
                            (side == "left" and kind == "inner"))
                    with self.subTest(kind=kind, pairs=pairs, side=side):
                        if good:
                            self.run_cli("run", "p.json")
                        else:
                            self.assertIn(f'$.root: "build": "{side}" is not possible', self.fail_cli("run", "p.json"))


class ControlCharacters(cli.CliTest):
    """Names and texts cannot steer a terminal; as data they stay what they are."""

    NAME = "a\x1b[31m\n\x7f\u009b\u00e9"
    SHOWN = r"a\x1b[31m\n\x7f\u009b\u00e9".replace(r"\u00e9", "\u00e9")

    def setUp(self):
        super().setUp()
        values = {"op": "values", "columns": [{"name": self.NAME, "type": "string"}], "rows": [[self.NAME]]}
        self.write("p.json", cli.plan({"op": "filter", "pred": f"\"{self.NAME}\" <> 'x\x1b[0m'",
                                       "input": values}))

    def assert_harmless(self, text):
        self.assertNotRegex(text, "[\\x00-\\x09\\x0b-\\x1f\\x7f\\x80-\\x9f]")

    def test_tables(self):
        out, _ = self.run_cli("run", "p.json")
        line = "-" * (len(self.SHOWN) + 2)
        self.assertEqual(out, f" {self.SHOWN}\n{line}\n {self.SHOWN}\n(1 row)\n")

    def test_data_stay_exact(self):
        out, _ = self.run_cli("run", "p.json", "-f", "csv")
        self.assertEqual(out, f'"{self.NAME}"\n"{self.NAME}"\n')
        rows = json.loads(self.run_cli("run", "p.json", "-f", "json")[0])
        self.assertEqual((rows["columns"][0]["name"], rows["rows"]), (self.NAME, [[self.NAME]]))

    def test_dumps(self):
        out, _ = self.run_cli("explain", "p.json", "--dump", "plan,pipelines,spec,llvm,cuda")
        self.assert_harmless(out)
        self.assertIn(f"\"{self.SHOWN}\" <> 'x\\x1b[0m'\n", out)
        self.assertIn(f"s0_union.{self.SHOWN} at", out)
        self.assert_harmless(self.run_cli("run", "p.json", "--dump", "plan,pipelines", "-f", "json")[1])

    def test_errors(self):
        self.write("bad.json", cli.plan({"op": "scan", self.NAME: 1}))
        for args in (("run", "bad.json"), (self.NAME,), ("run", f"--{self.NAME}"),
                     ("run", self.NAME), ("bench", "tpch", "--db", "x", "--class", self.NAME)):
            with self.subTest(args=args):
                message = self.fail_cli(*args)
                self.assertIn(self.SHOWN, message)
                self.assert_harmless(message)

    def test_bytes_that_are_no_utf8(self):
        done = subprocess.run([cli.BINARY, "run", b"no\xff\x9b31m"], capture_output=True, check=False,
                              timeout=cli.TIMEOUT_S, cwd=self.dir)
        self.assertEqual(done.stderr, b"heddle: error: no\\xff\\x9b31m: cannot open: "
                                      b"No such file or directory\n")


if __name__ == "__main__":
    cli.main()
