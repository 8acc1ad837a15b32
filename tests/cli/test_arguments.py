#!/usr/bin/env python3
"""Help, options and exit statuses."""

import subprocess

import cli


class Help(cli.CliTest):
    COMMANDS = ("gen", "load", "run", "explain", "convert", "bench", "params", "check", "info", "warm")

    def test_help_lists_every_command(self):
        out, err = self.run_cli("--help")
        self.assertEqual(err, "")
        for command in self.COMMANDS:
            self.assertRegex(out, rf"(?m)^  {command} +\S")

    def test_every_command_has_help(self):
        for command in self.COMMANDS:
            for option in ("--help", "-h"):
                out, err = self.run_cli(command, option)
                self.assertEqual(err, "")
                self.assertTrue(out.startswith(f"usage: heddle {command}"), out)
                self.assertIn("--help", out)

    def test_help_lines_fit_a_terminal(self):
        for command in self.COMMANDS:
            for line in self.run_cli(command, "--help")[0].splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_version(self):
        self.assertRegex(self.run_cli("--version")[0], r"\Aheddle \d+\.\d+\.\d+\n\Z")


class BadArguments(cli.CliTest):
    def test_messages(self):
        cases = (
            ([], "expected a command (see heddle --help)"),
            (["weave"], 'unknown command "weave" (see heddle --help)'),
            (["runn"], 'unknown command "runn" (did you mean "run"?) (see heddle --help)'),
            (["Bench"], 'unknown command "Bench" (did you mean "bench"?) (see heddle --help)'),
            (["run", "a", "--treads", "1"],
             'unknown option "--treads" (did you mean "--threads"?) (see heddle run --help)'),
            (["run", "a", "--fromat=csv"],
             'unknown option "--fromat=csv" (did you mean "--format"?) (see heddle run --help)'),
            (["--weave"], 'unknown option "--weave" (see heddle --help)'),
            (["run"], "expected PLAN or --batch FILE (see heddle run --help)"),
            (["run", "a", "b"], 'unexpected argument "b" (see heddle run --help)'),
            (["run", "a", "--weave"], 'unknown option "--weave" (see heddle run --help)'),
            (["run", "a", "-W"], 'unknown option "-W" (see heddle run --help)'),
            (["run", "a", "--threads"], "--threads: expected N, found nothing"),
            (["run", "a", "--gpu-block", "9"], '--gpu-block: expected an integer from 1 to 8, found "9"'),
            (["bench", "tpch", "--gpu-warps", "0"], '--gpu-warps: expected an integer from 1 to 1000000000, found "0"'),
            (["run", "a", "--threads", "0"],
             '--threads: expected an integer from 1 to 1024, found "0"'),
            (["run", "a", "--threads", "2x"],
             '--threads: expected an integer from 1 to 1024, found "2x"'),
            (["run", "a", "--memory", "1Q"],
             '--memory: expected a number of bytes such as 4096, 512M or 1.5G, found "1Q"'),
            (["run", "a", "--memory", "-1"],
             '--memory: expected a number of bytes such as 4096, 512M or 1.5G, found "-1"'),
            (["run", "a", "--format", "xml"], '--format: expected table|csv|json, found "xml"'),
            (["run", "a", "--backend", "gpu"], '--backend: expected auto|cpu|cuda, found "gpu"'),
            (["run", "a", "--time=1"], '--time takes no value, found "--time=1"'),
            (["run", "a", "--batch", "b"], '--batch and a plan "a" exclude each other'),
            (["run", "--batch", "b", "--time"], "--batch and --time exclude each other"),
            (["gen"], "expected tpch|jcch|ssb|graph (see heddle gen --help)"),
            (["gen", "tpcx", "--sf", "1", "--out", "x"],
             'expected tpch, jcch, ssb or graph, found "tpcx"'),
            (["gen", "graph", "--vertices", "100", "--out", "x"], "--edges M is missing"),
            (["gen", "graph", "--vertices", "100", "--edges", "9", "--sf", "1", "--out", "x"],
             "--sf means nothing for graph"),
            (["gen", "tpch", "--sf", "1", "--seed", "9", "--out", "x"], "--seed means nothing for tpch"),
            (["gen", "graph", "--vertices", "100", "--edges", "313", "--out", "x"],
             "expected at most 312 edges for 100 vertices"),
            (["gen", "graph", "--vertices", "15", "--edges", "9", "--out", "x"],
             '--vertices: expected an integer from 16 to 2147483647, found "15"'),
            (["gen", "tpch", "--out", "x"], "--sf F is missing"),
            (["gen", "tpch", "--sf", "0", "--out", "x"],
             '--sf: expected a number from 0.001 to 29999, found "0"'),
            *((["gen", "tpch", "--sf", number, "--out", "x"],
               f'--sf: expected a number from 0.001 to 29999, found "{number}"')
              for number in ("0x10", "nan", "inf", "1e999", "-inf", " 1", "1 ", "+1", "1e", "", "1,5", "0x1p3")),
            *((["run", "a", "--memory", number],
               f'--memory: expected a number of bytes such as 4096, 512M or 1.5G, found "{number}"')
              for number in ("0x10K", "nan", "infM", "1e999", " 1K", "1KB", "1e30", "K")),
            *((["run", "a", "--threads", number],
               f'--threads: expected an integer from 1 to 1024, found "{number}"')
              for number in ("0x10", "+5", " 5", "5.0", "1e1", "-", "99999999999999999999")),
            (["params", "tpch", "--seed", "0x7"],
             '--seed: expected an integer from 0 to 9007199254740992, found "0x7"'),
            (["bench", "tpch", "--db", "x", "--query-timeout", "0x1"],
             '--query-timeout: expected a number from 0.001 to 1e+06, found "0x1"'),
            (["gen", "tpch", "--sf", "1"], "expected --out DB or --tbl DIR"),
            (["gen", "tpch", "--sf", "1", "--out", "x", "--tbl", "y"],
             "--out and --tbl exclude each other"),
            (["gen", "tpch", "--sf", "0.01", "--tbl", "x", "--chunk", "3/2"],
             '--chunk: expected I/N with 1 <= I <= N <= 1000000, found "3/2"'),
            (["load", "--from", "x", "--out", "y"], "--schema FILE is missing"),
            (["bench", "tpch"], "--db DIR is missing"),
            (["bench", "nowhere", "--db", "x"],
             "nowhere: expected tpch, jcch, ssb or a directory with suite.json"),
            (["bench", "tpch", "--db", "x", "--queries", "1-30"],
             '--queries: expected numbers from 1 to 22, ranges or names, found "1-30"'),
            (["check"], "expected DB (see heddle check --help)"),
        )
        for args, message in cases:
            with self.subTest(args=args):
                self.assertEqual(self.fail_cli(*args), message)

    def test_missing_plan(self):
        self.assertEqual(self.fail_cli("run", "nowhere.json"),
                         "nowhere.json: cannot open: No such file or directory")

    def test_plan_with_nul(self):
        self.write("nul.json", "{}\0")
        self.assertEqual(self.fail_cli("run", "nul.json"),
                         "$: expected a plan of Heddle (JSON) or of Substrait (JSON or binary), found a NUL byte in a text")

    def test_parameter_without_value(self):
        self.write("p.json", cli.plan(cli.EVERY_TYPE))
        self.assertEqual(self.fail_cli("run", "p.json", "-p", "x"),
                         '-p: expected NAME=VALUE or @FILE, found "x"')


class ExitStatus(cli.CliTest):
    def test_bad_plan_is_2(self):
        self.write("bad.json", cli.plan({"op": "weave"}))
        self.assertRegex(self.fail_cli("run", "bad.json"), r"\A\$\.root")
        self.write("cut.json", '{"heddle": 1,')
        self.fail_cli("run", "cut.json")

    def test_failing_row_is_1(self):
        self.write("zero.json", cli.plan({
            "op": "project", "exprs": [{"expr": "1 / n", "as": "x"}],
            "input": {"op": "values", "columns": [{"name": "n", "type": "int64"}],
                      "rows": [["1"], ["0"]]}}))
        out, err = self.run_cli("run", "zero.json", status=1)
        self.assertRegex(err, r"\Aheddle: error: \$\.root\.exprs\[0\]\S*: [^\n]*zero[^\n]*\n\Z")

    def test_missing_database_is_1(self):
        self.write("p.json", cli.plan({"op": "scan", "table": "t"}))
        self.assertIn("nowhere", self.fail_cli("run", "p.json", "--db", "nowhere", status=1))

    def test_table_without_database(self):
        self.write("p.json", cli.plan({"op": "scan", "table": "t"}))
        for command in ("run", "explain"):
            self.assertEqual(self.fail_cli(command, "p.json"),
                             '$.root.table: table "t" not found; there are no tables; no database '
                             "was named (--db DIR)")

    def test_full_disk_is_1(self):
        self.write("p.json", cli.plan(cli.EVERY_TYPE))
        for fmt in ("table", "csv", "json"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([cli.BINARY, "run", "p.json", "-f", fmt], cwd=self.dir,
                                      stdout=full, stderr=subprocess.PIPE, timeout=cli.TIMEOUT_S,
                                      check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"No space left", done.stderr)


if __name__ == "__main__":
    cli.main()
