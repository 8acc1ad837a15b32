#!/usr/bin/env python3
"""`heddle run --batch`: many plans in one process."""

import json
import os
import random
import resource
import signal
import subprocess
import time

import cli
from strict_json import is_strict_object

ONE = {"op": "values", "columns": [{"name": "n", "type": "int32"}], "rows": [[1]]}


class Batch(cli.CliTest):
    def batch(self, lines, status, *args):
        self.write("lines", "".join(line if isinstance(line, str) else json.dumps(line) + "\n"
                                    for line in lines))
        out, err = self.run_cli("run", "--batch", "lines", *args, status=status)
        return [json.loads(line) for line in out.splitlines()], err

    def test_lines_are_answered_in_order(self):
        self.write("one.json", cli.plan(ONE))
        inline = json.loads(cli.plan(cli.EVERY_TYPE))
        answers, err = self.batch([{"plan": "one.json", "out": "1.csv", "id": "first"},
                                   {"plan": inline, "out": "2.json", "format": "json",
                                    "threads": 2},
                                   {"plan": "one.json"}], 0)
        self.assertEqual(err, "")
        self.assertEqual(answers, [{"line": 1, "id": "first", "rows": 1}, {"line": 2, "rows": 5},
                                   {"line": 3, "rows": 1}])
        self.assertEqual((self.dir / "1.csv").read_text(), "n\n1\n")
        self.assertEqual(len(json.loads((self.dir / "2.json").read_text())["rows"]), 5)

    def test_format_option_is_the_default(self):
        self.write("one.json", cli.plan(ONE))
        self.batch([{"plan": "one.json", "out": "1"}], 0, "--format", "json")
        self.assertEqual(json.loads((self.dir / "1").read_text())["rows"], [[1]])

    def test_params(self):
        plan = json.loads(cli.plan({"op": "filter", "pred": "n = :x", "input": ONE},
                                   params={"x": {"type": "int32"}}))
        answers, _ = self.batch([{"plan": plan, "params": {"x": "1"}},
                                 {"plan": plan, "params": {"x": "2"}}, {"plan": plan}], 1)
        self.assertEqual([a.get("rows") for a in answers], [1, 0, None])
        self.assertEqual(answers[2]["error"]["status"], 2)

    def test_errors_do_not_end_the_batch(self):
        self.write("one.json", cli.plan(ONE))
        answers, err = self.batch(
            ["no json\n", "\n", {"plan": "nowhere.json"}, {"plan": {"heddle": 1}},
             {"plan": "one.json", "weft": 1}, {"plan": "one.json", "out": "no/where"},
             {"plan": "one.json"}], 1)
        self.assertEqual([a["line"] for a in answers], [1, 3, 4, 5, 6, 7])
        self.assertEqual([a.get("error", {}).get("status") for a in answers],
                         [2, 2, 2, 2, 1, None])
        for answer in answers[:-1]:
            self.assertEqual(set(answer["error"]), {"status", "class", "path", "message"})
        self.assertEqual(err, "heddle: error: lines: 5 of 7 lines failed\n")

    def test_texts_reach_the_reader_as_written(self):
        """Numbers keep their digits, ids their spelling."""
        plan = cli.plan({**ONE, "columns": [{"name": "n", "type": "int64"}], "rows": [[8999999999999999]]})
        bound = cli.plan({"op": "project", "exprs": [{"expr": ":x", "as": "x"}], "input": ONE},
                         params={"x": {"type": "int64"}})
        out, _ = self.run_cli("run", "--batch", "-", stdin=(
            f'{{"plan": {plan}, "out": "1.csv", "id": 9007199254740993}}\n'
            f'{{"plan": {bound}, "params": {{"x": 8999999999999999}}, "out": "2.csv",'
            ' "id": {"a": 1.50, "b": [1e5, "\\u00e9"]}}\n'))
        self.assertEqual(out, '{"line":1,"id":9007199254740993,"rows":1}\n'
                              '{"line":2,"id":{"a": 1.50, "b": [1e5, "\\u00e9"]},"rows":1}\n')
        for name in ("1.csv", "2.csv"):
            self.assertEqual((self.dir / name).read_text().splitlines()[1], "8999999999999999")

    def test_hostile_lines(self):
        plan = cli.plan(ONE)
        deep = "[" * 5000
        cases = (
            (plan.replace("[[1]]", "[[1e400]]").replace("int32", "float64"),
             "$.root.rows[0][0]", "expected a number within the range of float64"),
            (plan + ', "plan": "x"', "plan", "duplicate key"),
            (plan + ', "pl\\u0061n": "x"', "plan", "duplicate key"),
            (plan + ', "weft": 1', "weft",
             "unknown key; expected one of: plan, params, out, format, threads, id"),
            (plan + ', "params": [1]', "parameters:$", "expected an object, found a list"),
            (plan + ', "params": {"x": 1, "x": 2}', "parameters:$", 'duplicate key "x"'),
            (plan + ', "threads": 1.5', "threads", "expected an integer from 1 to 1024, found 1.5"),
            (plan + ', "threads": 0', "threads", "expected an integer from 1 to 1024, found 0"),
            (plan + ', "threads": "2"', "threads", 'expected an integer from 1 to 1024, found "2"'),
            (plan + ', "threads": 1e400', "threads",
             "expected an integer from 1 to 1024, found 1e400"),
            (plan + ', "format": "xml"', "format", 'expected table, csv or json, found "xml"'),
            (plan + ', "out": 1', "out", "expected a string"),
            (plan + ', "out": ""', "out", "expected a text, found an empty one"),
            (plan + ', "out": "x\\u0000y"', "", "a string may not contain the character NUL"),
            (plan + ', "out": "x\0y"', "", "found byte 0x00"),
            (plan + ', "id": 01', "", "a number may not start with 0"),
            (plan + ', "id": 1.', "", "expected a digit, found '}'"),
            (plan + ', "id": +1', "", "expected a value, found '+'"),
            (plan + ', "id": "\\ud800"', "", "an unpaired surrogate"),
            (plan + ', "id": "\t"', "", "found byte 0x09"),
            (plan + ', "id": nul', "", "expected a value, found 'n'"),
            (plan + ', "id": "\\x"', "", "after \\, found 'x'"),
            (plan + ', "id": ' + deep, "", "nested too deep"),
            (plan + ', "id": [1,]', "", "expected a value, found ']'"),
            (plan + ",", "", "expected a string, found '}'"),
            ("1", "plan", "expected a file name or an object"),
            ('"no\\u001b[31m"', "no\x1b[31m", "cannot open: No such file or directory"),
        )
        lines = [f'{{"plan": {tail}}}' for tail, _, _ in cases]
        whole = (("[1]", "expected an object, found '['"), ("{}", "expected a file name or an object"),
                 (f'{{"plan": {plan}}} x', "expected the end of the text, found 'x'"),
                 (f'{{"plan": {plan}}}\0', "expected the end of the text, found byte 0x00"),
                 ("\0", "expected an object, found byte 0x00"), (deep, "expected an object"),
                 ('{"plan"', "expected ':', found the end of the text"))
        lines += [line for line, _ in whole]
        out, err = self.run_cli("run", "--batch", "-", stdin="\n".join(lines), status=1)
        answers = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(answers), len(lines))
        for answer, line, (_, path, message) in zip(answers, lines, cases):
            with self.subTest(line=line[:300]):
                self.assertEqual(answer["error"]["status"], 2)
                self.assertEqual(answer["error"]["path"], path)
                self.assertIn(message, answer["error"]["message"])
        for answer, (line, message) in zip(answers[len(cases):], whole):
            with self.subTest(line=line[:300]):
                self.assertIn(message, answer["error"]["message"])
        self.assertIn(f"{len(lines)} of {len(lines)} lines failed", err)
        self.assertEqual(os.listdir(self.dir), [])

    def test_mutated_lines(self):
        """A line is refused as JSON exactly if another strict reader refuses it."""
        start = (b'{"plan": 1, "id": [-0.5e+3, "a\\u00e9\\ud83d\\ude00\\n\xc3\xa9", true, {"k": null}], '
                 b'"params": {"x": 12}, "out": "o\\/p"}')
        pieces = (b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"1", b"-", b".", b"e", b"+", b" ", b"\t",
                  b"u", b"\\u0000", b"\\ud800", b"\\udc00", b"null", b"tru", b"\xff", b"\xc3", b"\x00", b"\x1f", b"NaN", b"/")
        draw = random.Random(10)
        lines = []
        for _ in range(3000):
            line = start
            for _ in range(draw.randint(1, 3)):
                at, cut = draw.randrange(len(line)), draw.randint(0, 2)
                line = line[:at] + draw.choice((b"", draw.choice(pieces))) + line[at + cut:]
            lines.append(line)
        done = subprocess.run([cli.BINARY, "run", "--batch", "-"], cwd=self.dir, input=b"\n".join(lines),
                              capture_output=True, timeout=cli.TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        answers = done.stdout.splitlines()
        self.assertEqual(len(answers), len(lines))
        refused = 0
        for line, text in zip(lines, answers):
            error = json.loads(text)["error"]
            about_json = error["message"].startswith("not valid JSON")
            # A key that is wrong is reported before what comes behind it is looked at.
            if error["message"].startswith(("unknown key", "duplicate key")):
                continue
            self.assertEqual(about_json, not is_strict_object(line), (line, error))
            refused += about_json
        self.assertGreater(refused, 1000)
        self.assertGreater(len(lines) - refused, 300)

    def test_bytes_that_are_no_utf8(self):
        line = b'{"plan": "one.json", "id": "\xff"}\n'
        done = subprocess.run([cli.BINARY, "run", "--batch", "-"], cwd=self.dir, input=line,
                              capture_output=True, timeout=cli.TIMEOUT_S, check=False)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["error"]["message"],
                         "not valid JSON: column 29: the text is not UTF-8")

    def test_standard_input(self):
        line = json.dumps({"plan": json.loads(cli.plan(ONE))})
        out, _ = self.run_cli("run", "--batch", "-", stdin=line)
        self.assertEqual(json.loads(out), {"line": 1, "rows": 1})


class Outputs(cli.CliTest):
    """What a line names as "out" is written whole or not at all."""

    FAILING = {"op": "project", "input": {**ONE, "rows": [[1], [0]]}, "exprs": [{"expr": "1 / n", "as": "q"}]}

    def batch(self, *lines, status=0, **more):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return self.run_cli("run", "--batch", "-", stdin=text, status=status, **more)[0]

    def line(self, out, root=ONE, **more):
        return {"plan": json.loads(cli.plan(root)), "out": str(out), **more}

    def test_failures_leave_the_old_file(self):
        self.write("out.csv", "old\n")
        self.batch(self.line("out.csv", self.FAILING), self.line("new.csv", self.FAILING), status=1)
        self.assertEqual((self.dir / "out.csv").read_text(), "old\n")
        self.assertEqual(os.listdir(self.dir), ["out.csv"])

    def test_full_disk_leaves_the_old_file(self):
        """A limit of a file's size fails as a full disk does, in the middle of writing."""
        self.write("out.csv", "old\n")
        rows = {**ONE, "rows": [[i] for i in range(20000)]}
        text = json.dumps(self.line("out.csv", rows))
        done = subprocess.run(
            [cli.BINARY, "run", "--batch", "-"], cwd=self.dir, input=text.encode(), check=False,
            capture_output=True, timeout=cli.TIMEOUT_S, env={**os.environ, "HEDDLE_CACHE": ""},
            preexec_fn=lambda: limit_files(16384))
        self.assertIn("cannot write: File too large", json.loads(done.stdout)["error"]["message"])
        self.assertEqual((self.dir / "out.csv").read_text(), "old\n")
        self.assertEqual(os.listdir(self.dir), ["out.csv"])

    def test_every_file_of_a_command(self):
        """--out and --profile are written as the rows of a batch are."""
        self.write("p.json", cli.plan(ONE))
        self.write("old", "old\n")
        for args in (("params", "tpch", "--out", "old"), ("run", "p.json", "--profile", "old")):
            done = subprocess.run([cli.BINARY, *args], cwd=self.dir, capture_output=True, check=False,
                                  timeout=cli.TIMEOUT_S, env={**os.environ, "HEDDLE_CACHE": ""},
                                  preexec_fn=lambda: limit_files(64))
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, b"heddle: error: old: cannot write: File too large\n")
            self.assertEqual((self.dir / "old").read_text(), "old\n")
            self.run_cli(*args[:-1], "new")
            self.assertIn(b"{", (self.dir / "new").read_bytes())
        self.assertEqual(sorted(os.listdir(self.dir)), ["new", "old", "p.json"])

    def test_killed_command_leaves_nothing(self):
        def numbers(name, n):
            return {"op": "values", "columns": [{"name": name, "type": "int32"}], "rows": [[i] for i in range(n)]}
        cross = {"op": "join", "kind": "inner", "left": numbers("a", 1000), "right": numbers("b", 3000)}
        self.write("out.csv", "old\n")
        self.write("lines", json.dumps(self.line("out.csv", cross)))
        with subprocess.Popen([cli.BINARY, "run", "--batch", "lines"], cwd=self.dir,
                              stdout=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + cli.TIMEOUT_S
            while not self.written(process.pid):
                self.assertIsNone(process.poll(), "it ended before it could be killed")
                self.assertLess(time.monotonic(), deadline)
            process.kill()
            process.wait()
        self.assertEqual((self.dir / "out.csv").read_text(), "old\n")
        if self.named:
            self.skipTest("no files without names in this file system")
        self.assertEqual(sorted(os.listdir(self.dir)), ["lines", "out.csv"])

    def written(self, pid):
        """Bytes of the process's unfinished output. self.named: whether it has a name."""
        for fd in cli.Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(fd)
                if target.startswith(f"{self.dir.resolve()}/") and not target.endswith("/lines"):
                    self.named = not target.endswith(" (deleted)")
                    return fd.stat().st_size
            except OSError:
                pass  # closed meanwhile
        return 0

    def test_replaced_file_keeps_its_mode_and_links(self):
        self.write("out.csv", "old\n").chmod(0o640)
        (self.dir / "link.csv").symlink_to("out.csv")
        self.batch(self.line("link.csv"), self.line("n" * 255))
        self.assertTrue((self.dir / "link.csv").is_symlink())
        self.assertEqual((self.dir / "out.csv").read_text(), "n\n1\n")
        self.assertEqual((self.dir / "out.csv").stat().st_mode & 0o777, 0o640)
        self.assertEqual((self.dir / ("n" * 255)).read_text(), "n\n1\n")

    def test_devices_and_fifos_are_written_directly(self):
        os.mkfifo(self.dir / "fifo")
        with subprocess.Popen(["cat", "fifo"], cwd=self.dir, stdout=subprocess.PIPE) as reader:
            out = self.batch(self.line("/dev/stdout"), self.line("fifo"), self.line("/dev/full"),
                             self.line("/dev/null"), status=1)
            self.assertEqual(reader.communicate(timeout=cli.TIMEOUT_S)[0], b"n\n1\n")
        lines = out.splitlines()
        self.assertEqual(lines[:4], ["n", "1", '{"line":1,"rows":1}', '{"line":2,"rows":1}'])
        self.assertIn("No space left on device", lines[4])
        self.assertEqual(lines[5:], ['{"line":4,"rows":1}'])

    def test_standard_output_may_be_a_file(self):
        with open(self.dir / "all", "wb") as f:
            subprocess.run([cli.BINARY, "run", "--batch", "-"], cwd=self.dir, stdout=f, check=True,
                           input=json.dumps(self.line("/dev/stdout")).encode(), timeout=cli.TIMEOUT_S)
        self.assertEqual((self.dir / "all").read_text(), 'n\n1\n{"line":1,"rows":1}\n')


def limit_files(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


if __name__ == "__main__":
    cli.main()
