#!/usr/bin/env python3
"""`heddle bench` over suites of one's own: what is misspelt in them is an error, never a comparison
that is quietly left out."""

import json

import cli

QUERY = {"name": "q", "plan": "q.json", "order": ["-n"], "limit": 9}
SUITE = {"name": "own", "title": "Own", "comment": "none", "queries": [QUERY],
         "classes": {"small": "small.json", "none": "none.json"}, "default_class": "small",
         "answers": {"small": {"0.5": "answers"}}, "scale": {"table": "t", "rows": 6},
         "divide_by_scale": [{"query": "q", "param": "share", "decimals": 2, "classes": ["small"]}],
         "not_comparable": {"small": {"q": "it is small"}}}
DELETE = object()


def changed(path, value):
    """The suite with one value changed, added or deleted; path: keys and indexes."""
    suite = json.loads(json.dumps(SUITE))
    at = suite
    for key in path[:-1]:
        at = at[key]
    if value is DELETE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return suite


class Suites(cli.CliTest):
    def setUp(self):
        super().setUp()
        for folder in ("csv", "own", "own/answers"):
            (self.dir / folder).mkdir()
        self.write("csv/t.csv", "1\n2\n3\n")
        self.write("schema.json", json.dumps(
            {"format": {"delimiter": ",", "trailing_delimiter": False},
             "tables": [{"name": "t", "columns": [{"name": "n", "type": "int64"}]}]}))
        self.run_cli("load", "--schema", "schema.json", "--from", "csv", "--out", "db")
        params = {"big": {"type": "int64", "default": "0"},
                  "share": {"type": "decimal(12,2)", "default": "1"}}
        self.write("own/q.json", cli.plan(
            {"op": "sort", "keys": [{"expr": "n", "desc": True}],
             "input": {"op": "project", "input": {"op": "scan", "table": "t"},
                       "exprs": ["n", {"expr": ":big", "as": "big"}, {"expr": ":share", "as": "share"}]}},
            params=params))
        self.write("own/small.json", '{"q": {"big": 8999999999999999, "share": "0.25"}}')
        self.write("own/none.json", "{}")
        self.write("own/answers/q.csv", "n,big,share\n" +
                   "".join(f"{n},8999999999999999,0.50\n" for n in (3, 2, 1)))

    def suite(self, suite):
        self.write("own/suite.json", suite if isinstance(suite, str) else json.dumps(suite))

    def bench(self, *args, status=0):
        return self.run_cli("bench", "own", "--db", "db", "--repeat", "1", *args, status=status)

    def test_parameters_reach_the_plan_as_written(self):
        """The answer holds what the files say, the share divided by the scale factor."""
        self.suite(SUITE)
        out, _ = self.bench("--out", "b.json")
        self.assertIn("Own, scale factor 0.5, parameters small\n", out)
        self.assertIn("\nAnswers: 1 of 1 compared, all equal.\n", out)
        self.assertIn("\nq: not comparable: it is small\n", out)
        report = json.loads((self.dir / "b.json").read_text())
        self.assertEqual(report["answers"], {"compared": 1, "differ": 0})

    def test_no_answers_is_said(self):
        self.suite(SUITE)
        out, _ = self.bench("--class", "none", "--out", "b.json")
        why = "the suite has none for class none at scale factor 0.5"
        self.assertIn(f"\nAnswers: 0 of 1 compared: {why}.\n", out)
        report = json.loads((self.dir / "b.json").read_text())
        self.assertEqual(report["answers"], {"compared": 0, "differ": 0, "none_because": why})
        self.suite(changed(["answers"], DELETE))
        self.assertIn("\nAnswers: 0 of 1 compared: the suite has none.\n", self.bench()[0])

    def test_mistakes_in_the_suite(self):
        text = json.dumps(SUITE)
        cases = (
            (["weft"], 1, "own/suite.json: weft: unknown key; expected one of: name, title"),
            (["queries", 0, "ordre"], [], 'queries[0]: unknown key "ordre" (did you mean "order"?)'),
            (["queries", 0, "limit"], 1.5, "queries[0].limit: expected a number of rows"),
            (["queries", 0, "order"], "n", "queries[0].order: expected a list of columns"),
            (["queries", 0, "order"], [1], "queries[0].order: expected a list of columns"),
            (["queries", 0, "title"], 1, "queries[0].title: expected a text"),
            (["queries", 0, "plan"], DELETE, "queries[0]: every query needs a name and a plan"),
            (["queries"], [QUERY, QUERY], 'queries[1]: another query is called "q"'),
            (["queries"], [], 'expected a list "queries"'),
            (["queries"], [1], "queries[0]: expected an object"),
            (["default_class"], "smal", 'default_class: unknown class "smal" (did you mean "small"?)'),
            (["default_class"], 1, "default_class: expected a text"),
            (["classes", "small"], 1, "classes.small: expected a file name"),
            (["classes"], [], "classes: expected an object"),
            (["answers", "smal"], {}, 'answers: unknown class "smal" (did you mean "small"?)'),
            (["answers", "small"], "x", "answers.small: expected an object"),
            (["answers", "small", "1.0"], "x", 'answers.small: expected a scale factor such as 0.1 or 10, found "1.0"'),
            (["answers", "small", "1"], 1, "answers.small.1: expected a folder"),
            (["scale", "table"], "tt", 'scale: the database has no table "tt"'),
            (["scale", "table"], DELETE, 'scale: expected the name of a "table"'),
            (["scale", "rows"], "6", 'scale: expected the table\'s "rows"'),
            (["scale", "rows"], 0, 'scale: expected the table\'s "rows"'),
            (["scale", "row"], 6, 'scale: unknown key "row" (did you mean "rows"?)'),
            (["scale"], DELETE, 'divide_by_scale: the suite has no "scale"'),
            (["divide_by_scale", 0, "query"], "p", 'divide_by_scale: unknown query "p"'),
            (["divide_by_scale", 0, "classes"], ["smal"], 'divide_by_scale: unknown class "smal"'),
            (["divide_by_scale", 0, "decimals"], 18, "divide_by_scale: expected query, param, decimals"),
            (["divide_by_scale", 0, "digits"], 2, 'divide_by_scale: unknown key "digits"'),
            (["not_comparable", "small", "p"], "x", 'not_comparable: unknown query "p"'),
            (["not_comparable", "smal"], {}, 'not_comparable: unknown class "smal"'),
        )
        cases = [(changed(path, value), message) for path, value, message in cases]
        cases += [
            ("{", "own/suite.json: not valid JSON: column 2: expected a string, found the end of the text"),
            (text + "x", "expected the end of the text, found 'x'"),
            (text.replace('"name": "own"', '"name": "own", "name": "two"'), "name: duplicate key"),
            (text.replace('"limit": 9', '"limit": 9, "limit": 8'), 'queries[0]: duplicate key "limit"'),
            (text.replace('"small": "small.json"', '"small": "small.json", "small": "x"'),
             'classes: duplicate class "small"'),
        ]
        for suite, message in cases:
            with self.subTest(message=message):
                self.suite(suite)
                found = self.fail_cli("bench", "own", "--db", "db")
                self.assertTrue(found.startswith("own/suite.json: "), found)
                self.assertIn(message, found)

    def test_mistakes_in_parameters(self):
        cases = (
            ('{"p": {}}', "own/small.json: p: unknown key; expected one of: q"),
            ('{"q": {}, "q": {}}', "own/small.json: q: duplicate key"),
            ('{"q": [1]}', "own/small.json: q: expected an object of parameters"),
            ('{"q": {"big": 01}}', "own/small.json: not valid JSON: column 16: a number may not start with 0"),
            ('{"q": {}}\n}', "own/small.json: not valid JSON: line 2, column 1: expected the end of the text"),
        )
        self.suite(SUITE)
        for text, message in cases:
            with self.subTest(text=text):
                self.write("own/small.json", text)
                self.assertIn(message, self.fail_cli("bench", "own", "--db", "db"))

    def test_mistakes_that_a_run_finds(self):
        """They are errors of their query: the exit status is 1, and the table says which."""
        share = '{"q": {"share": "0.25", %s}}'
        cases = (
            (changed(["queries", 0, "order"], ["-m"]), None,
             'own/suite.json: order: the result of q has no column "m"'),
            (changed(["answers", "small", "0.5"], "nowhere"), None,
             "own/nowhere/q.csv: cannot open: No such file or directory"),
            (SUITE, share % '"bgi": 1', 'parameters:$.bgi: the plan has no parameter "bgi" (did you mean "big"?)'),
            (SUITE, share % '"big": 1, "big": 2', 'parameters:$: duplicate key "big"'),
            (SUITE, '{"q": {"big": 1}}', "divide_by_scale: class small gives q no such parameter"),
            (SUITE, '{"q": {"share": 0.25}}', "divide_by_scale: expected a plain number in a text"),
            (SUITE, share % '"big": 1e400', "parameters:$.big: an integer of 2^53 or more must be written as a string"),
        )
        for suite, params, message in cases:
            with self.subTest(message=message):
                self.suite(suite)
                if params:
                    self.write("own/small.json", params)
                out, err = self.bench(status=1)
                self.assertIn(message, out)
                self.assertIn("Answers: 0 of 1 compared; 1 gave no result.", out)
                self.assertEqual(err, "heddle: error: 1 of 1 queries failed or gave another answer\n")

    def test_unknown_class(self):
        self.suite(SUITE)
        self.assertEqual(self.fail_cli("bench", "own", "--db", "db", "--class", "smal"),
                         '--class: expected one of small, none, found "smal" (did you mean "small"?)')


if __name__ == "__main__":
    cli.main()
