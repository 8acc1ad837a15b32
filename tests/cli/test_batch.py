#!/usr/bin/env python3
"""`heddle run --batch`: many plans in one process."""

import json

import cli

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

    def test_standard_input(self):
        line = json.dumps({"plan": json.loads(cli.plan(ONE))})
        out, _ = self.run_cli("run", "--batch", "-", stdin=line)
        self.assertEqual(json.loads(out), {"line": 1, "rows": 1})


if __name__ == "__main__":
    cli.main()
