#!/usr/bin/env python3
"""The suite's files fit together. Needs neither Heddle nor DuckDB."""

import csv
import json
import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SSB = ROOT / "ssb"
sys.path.insert(0, str(ROOT / "tpch" / "compare" / "lib"))

import suite as suites  # noqa: E402

SUITE = suites.Suite(SSB)
FLIGHTS = {1: ("lineorder", "date"),
           2: ("lineorder", "date", "part", "supplier"),
           3: ("lineorder", "date", "customer", "supplier"),
           4: ("lineorder", "date", "customer", "part", "supplier")}


def unique_keys(pairs):
    keys = [k for k, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"duplicate key among {keys}")
    return dict(pairs)


def load(path):
    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique_keys)


def operators(node):
    """All operators of a plan."""
    yield node
    for key in ("input", "left", "right"):
        if key in node:
            yield from operators(node[key])


class Files(unittest.TestCase):
    def test_there_are_thirteen(self):
        self.assertEqual(list(SUITE.queries), [f"q{f}.{n}" for f, last in ((1, 3), (2, 3), (3, 4), (4, 3))
                                               for n in range(1, last + 1)])

    def test_plans_join_the_tables_of_their_flight(self):
        for name in SUITE.queries:
            plan = load(SUITE.plan_path(name))
            self.assertEqual((plan["heddle"], plan["name"]), (1, name))
            found = list(operators(plan["root"]))
            tables = [op["table"] for op in found if op["op"] == "scan"]
            self.assertEqual(sorted(tables), sorted(FLIGHTS[int(name[1])]), name)
            joins = [op for op in found if op["op"] == "join"]
            self.assertEqual(len(joins), len(tables) - 1, name)
            for join in joins:
                self.assertNotIn("strategy", join, name)

    def test_standard_values_are_the_defaults(self):
        values = load(SSB / "params" / "standard.json")
        self.assertEqual(list(values), list(SUITE.queries))
        for name in SUITE.queries:
            params = load(SUITE.plan_path(name))["params"]
            self.assertEqual({p: spec["default"] for p, spec in params.items()}, values[name], name)

    def test_sql_uses_exactly_the_parameters(self):
        for name in SUITE.queries:
            used = set(re.findall(r"(?<!:):([a-z_]\w*)", (SSB / "sql" / f"{name}.sql").read_text()))
            self.assertEqual(used, set(SUITE.parameter_types(name)), name)

    def test_answers(self):
        for name, query in SUITE.queries.items():
            with open(SUITE.answer_path(name, "standard", "1.0"), newline="", encoding="utf-8") as file:
                names, *rows = csv.reader(file)
            self.assertTrue(rows and all(len(r) == len(names) for r in rows), name)
            self.assertLessEqual({c.lstrip("-") for c in query["order"]}, set(names), name)

    def test_columns_are_those_of_the_generator(self):
        listed = re.findall(r'^T_COL\(SSB_(\w+),\s*\w+,\s*"(\w+)"', (SSB / "gen_columns.def").read_text(), re.M)
        named = [(table.upper(), column.split()[0]) for table, columns in SUITE.tables().items()
                 for column in columns.split(", ")]
        self.assertEqual(listed, named)

    def test_selection(self):
        self.assertEqual(SUITE.select("1,q2.3,12-13"), ["q1.1", "q2.3", "q4.2", "q4.3"])
        for wrong in ("14", "q5.1", "3-2", "0", "q1", "1-"):
            with self.assertRaises(SystemExit):
                SUITE.select(wrong)


if __name__ == "__main__":
    unittest.main()
