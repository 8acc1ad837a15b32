#!/usr/bin/env python3
"""The suite's files fit together, and check.py tells right from wrong. Needs neither Heddle nor DuckDB."""

import json
import re
import subprocess
import sys
import unittest
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "tpch" / "compare" / "lib"))

import check  # noqa: E402
import suite as suites  # noqa: E402

SUITE = suites.Suite()


def unique_keys(pairs):
    keys = [k for k, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"duplicate key among {keys}")
    return dict(pairs)


def load(path):
    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique_keys)


class Files(unittest.TestCase):
    def test_plans(self):
        for name in SUITE.queries:
            plan = load(SUITE.plan_path(name))
            self.assertEqual((plan["heddle"], plan["name"]), (1, name))

    def test_validation_values_are_the_defaults(self):
        values = load(SUITE.folder / "params" / "validation.json")
        for name in SUITE.queries:
            params = load(SUITE.plan_path(name))["params"]
            self.assertEqual({p: spec["default"] for p, spec in params.items()}, values[name], name)

    def test_every_class_gives_every_parameter(self):
        for cls, file in SUITE.data["classes"].items():
            values = load(SUITE.folder / file)
            self.assertEqual(list(values), list(SUITE.queries), cls)
            for name in SUITE.queries:
                self.assertEqual(set(values[name]), set(SUITE.parameter_types(name)), f"{cls} {name}")

    def test_sql_uses_exactly_the_parameters(self):
        for folder in (suites.SQL, HERE / "exact"):
            for path in folder.glob("*.sql"):
                used = set(re.findall(r"(?<!:):([a-z_]\w*)", path.read_text()))
                self.assertEqual(used, set(SUITE.parameter_types(path.stem)), path)
        for name in SUITE.queries:
            text = SUITE.sql(name, SUITE.parameters("validation", 1)[name])
            limit = re.search(r"\nlimit (\d+)\s*$", text)
            self.assertEqual(int(limit[1]) if limit else None, SUITE.queries[name].get("limit"), name)

    def test_answers(self):
        for name, query in SUITE.queries.items():
            with open(SUITE.answer_path(name, "validation", "1.0"), newline="", encoding="utf-8") as file:
                names, rows = check.read_csv(file)
            self.assertTrue(rows and all(len(r) == len(names) for r in rows), name)
            self.assertLessEqual({c.lstrip("-") for c in query["order"]}, set(names), name)
            self.assertIsNone(check.differences(names, rows, names, rows, query["order"]), name)

    def test_errata_are_in_the_answers(self):
        for item in load(SUITE.folder / "answers" / "errata.json")["sf1"]:
            with open(SUITE.answer_path(item["query"], "validation", 1), newline="", encoding="utf-8") as file:
                names, rows = check.read_csv(file)
            cell = rows[item["row"] - 1][names.index(item["column"])]
            self.assertEqual(cell, item["here"])
            self.assertTrue(check.cell_matches(cell, item["exact"]))
            self.assertFalse(check.cell_matches(item["published"], item["exact"]))

    def test_fraction_shrinks_with_the_scale_factor(self):
        for sf, text in (("0.01", "0.0100000000"), (1, "0.0001000000"), (30, "0.0000033333"), (100, "0.0000010000")):
            self.assertEqual(SUITE.parameters("validation", sf)["q11"]["fraction"], text)


class Literals(unittest.TestCase):
    def test_literals(self):
        self.assertEqual(suites.literal("a'b", "string"), "'a''b'")
        self.assertEqual(suites.literal("1995-01-01", "date"), "date '1995-01-01'")
        self.assertEqual(suites.literal(["1", "2"], "list(int32)"), "(1, 2)")
        with self.assertRaises(ValueError):
            suites.literal("1 or true", "int32")

    def test_selection(self):
        self.assertEqual(SUITE.select("1,5-7,q21"), ["q01", "q05", "q06", "q07", "q21"])


class Cells(unittest.TestCase):
    def test_printed_digits(self):
        for expected, found in (("0.03", "0.034436"), ("0.01", "0.005"), ("-0.01", "-0.005"), ("1.00", "0.995000"),
                                ("12", "12"), ("7.50", "7.5"), ("MAIL", "MAIL"), ("ends", "ends  ")):
            self.assertTrue(check.cell_matches(expected, found), (expected, found))
        for expected, found in (("0.03", "0.035000"), ("12", "13"), ("0.00", "-0.005"), ("MAIL", "SHIP"),
                                ("starts", " starts"), ("1.00", ""), ("1.00", "NaN")):
            self.assertFalse(check.cell_matches(expected, found), (expected, found))

    def test_values_of_a_database(self):
        self.assertTrue(check.cell_matches(Decimal("1.50"), "1.5"))
        self.assertFalse(check.cell_matches(Decimal("1.504"), "1.50"))
        self.assertTrue(check.cell_matches(None, ""))
        self.assertFalse(check.cell_matches(None, "0"))
        self.assertFalse(check.cell_matches(3, "x"))

    def test_quotients(self):
        third = {"over": Decimal(1), "under": 3}
        self.assertTrue(check.cell_matches(third, "0.333333"))
        self.assertFalse(check.cell_matches(third, "0.333334"))
        self.assertTrue(check.cell_matches({"over": Decimal("-0.000001"), "under": 2}, "-0.000001"))
        self.assertTrue(check.cell_matches({"over": None, "under": 7}, ""))


class Rows(unittest.TestCase):
    NAMES = ["k", "v"]
    ROWS = [["1", "a"], ["1", "b"], ["2", "c"]]

    def compare(self, found, order=("k",), limit=None, names=None):
        return check.differences(self.NAMES, self.ROWS, names or self.NAMES, found, order, limit)

    def test_order(self):
        self.assertIsNone(self.compare(self.ROWS))
        self.assertIsNone(self.compare([["1", "b"], ["1", "a"], ["2", "c"]]))
        self.assertIsNotNone(self.compare([["1", "a"], ["2", "c"], ["1", "b"]]))
        self.assertIsNone(self.compare([["1", "a"], ["2", "c"], ["1", "b"]], order=()))

    def test_an_empty_line_is_a_null(self):
        self.assertEqual(check.read_csv(["sum\n", "\n"]), (["sum"], [[""]]))

    def test_rows_are_counted(self):
        self.assertIsNotNone(self.compare(self.ROWS[:2]))
        self.assertIsNotNone(self.compare([["1", "a"], ["1", "a"], ["2", "c"]]))
        self.assertIsNotNone(self.compare(self.ROWS, names=["k", "w"]))

    def test_a_limit_may_cut_among_equals(self):
        self.assertIsNone(self.compare([["1", "b"]], limit=1))
        self.assertIsNotNone(self.compare([["2", "c"]], limit=1))
        self.assertIsNone(self.compare(self.ROWS, limit=9))


class Comparisons(unittest.TestCase):
    """They name what they need before they generate anything."""

    def run_bare(self, *args):
        """In an interpreter that sees no installed packages."""
        return subprocess.run([sys.executable, "-S", *map(str, args)], capture_output=True, text=True)

    def test_missing_packages_are_named(self):
        root = HERE.parents[1]
        for script, args, packages in (("tpch/compare/duckdb.py", ("--heddle", "nowhere"), "duckdb and numpy"),
                                       ("jcch/recompute.py", ("--sf", "0.1"), "duckdb")):
            done = self.run_bare(root / script, *args)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{Path(script).name} needs {packages}: no package {packages} for ", done.stderr)

    def test_missing_programs_are_named(self):
        done = subprocess.run([HERE.parents[1] / "tpch/compare/generators.sh", "nowhere", "true"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "generators.sh: no program nowhere\n"))


if __name__ == "__main__":
    unittest.main()
