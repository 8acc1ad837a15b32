#!/usr/bin/env python3
"""`heddle run`: the three formats to the byte, parameters, times, profile, dumps."""

import json
import re

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

    def test_file_and_order(self):
        self.write("some.json", '{"least": "4", "some": ["4"]}')
        self.assertEqual(self.rows("-p", "@some.json"), ["4"])
        self.assertEqual(self.rows("-p", "@some.json", "-p", "some=[1,2]", "-p", "least=1"),
                         ["1", "2"])

    def test_errors(self):
        self.assertIn("most", self.fail_cli("run", "p.json", "-p", "most=1"))
        self.assertIn("least", self.fail_cli("run", "p.json", "-p", "least=x"))
        self.fail_cli("run", "p.json", "-p", "@nowhere.json")


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
    TIMES = ("plan_ms", "codegen_ms", "open_ms", "compile_ms", "transfer_ms", "execute_ms", "result_ms",
             "total_ms")

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

    def test_profile_is_written(self):
        self.run_cli("run", "p.json", "--profile", "profile.json")
        report = json.loads((self.dir / "profile.json").read_text())
        self.assertGreaterEqual(len(report["pipelines"]), 1)

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


if __name__ == "__main__":
    cli.main()
