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
JCCH = ROOT / "jcch"
sys.path.insert(0, str(ROOT / "tpch" / "compare" / "lib"))

import suite as suites  # noqa: E402

SUITE = suites.Suite(JCCH)
TPCH = suites.Suite()


def unique_keys(pairs):
    keys = [k for k, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"duplicate key among {keys}")
    return dict(pairs)


def load(path):
    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique_keys)


class Files(unittest.TestCase):
    def test_queries_are_those_of_tpch(self):
        self.assertEqual(list(SUITE.queries), list(TPCH.queries))
        for name, query in SUITE.queries.items():
            other = TPCH.queries[name]
            for key in ("title", "order", "limit"):
                self.assertEqual(query.get(key), other.get(key), name)

    def test_plans(self):
        own = {p.stem for p in (JCCH / "plans").glob("*.json")}
        for name in SUITE.queries:
            path = SUITE.plan_path(name)
            self.assertEqual(path.parent.resolve(), (JCCH if name in own else TPCH.folder) / "plans", name)
            plan, other = load(path), load(TPCH.plan_path(name))
            self.assertEqual((plan["heddle"], plan["name"], plan["params"]), (1, name, other["params"]))
        self.assertLessEqual(own, set(SUITE.queries))

    def test_every_own_plan_says_why(self):
        for path in (JCCH / "plans").glob("*.json"):
            self.assertIn('"comment":', path.read_text(), path)

    def test_every_class_gives_every_parameter(self):
        for cls, file in SUITE.data["classes"].items():
            values = load(JCCH / file)
            self.assertEqual(list(values), list(SUITE.queries), cls)
            for name in SUITE.queries:
                self.assertEqual(set(values[name]), set(SUITE.parameter_types(name)), f"{cls} {name}")

    def test_keys_name_what_exists(self):
        self.assertIn(SUITE.data["default_class"], SUITE.classes())
        for rule in SUITE.data["divide_by_scale"]:
            self.assertIn(rule["param"], SUITE.parameter_types(rule["query"]))
            self.assertLessEqual(set(rule["classes"]), set(SUITE.classes()))
        for cls, queries in SUITE.data["not_comparable"].items():
            self.assertIn(cls, SUITE.classes())
            self.assertLessEqual(set(queries), set(SUITE.queries))

    def test_sql_uses_exactly_the_parameters(self):
        for path in (JCCH / "sql").glob("*.sql"):
            used = set(re.findall(r"(?<!:):([a-z_]\w*)", path.read_text()))
            self.assertEqual(used, set(SUITE.parameter_types(path.stem)), path)


class Answers(unittest.TestCase):
    def each(self):
        for cls in ("normal", "skewed", "paper"):
            for sf in ("0.1", "1"):
                for name, query in SUITE.queries.items():
                    with open(SUITE.answer_path(name, cls, sf), newline="", encoding="utf-8") as file:
                        header, *rows = csv.reader(file)
                    yield f"{name} {cls} {sf}", query, header, [row or [""] for row in rows]

    def test_shape(self):
        for where, query, header, rows in self.each():
            self.assertTrue(all(len(row) == len(header) for row in rows), where)
            self.assertLessEqual({c.lstrip("-") for c in query["order"]}, set(header), where)
            self.assertLessEqual(len(rows), query.get("limit", len(rows)), where)

    def test_order(self):
        for where, query, header, rows in self.each():
            keys = [[self.key(row[header.index(c.lstrip("-"))]) for c in query["order"]] for row in rows]
            for a, b in zip(keys, keys[1:]):
                differing = next((i for i in range(len(a)) if a[i] != b[i]), None)
                if differing is not None:
                    down = query["order"][differing].startswith("-")
                    self.assertEqual(a[differing] > b[differing], down, where)

    @staticmethod
    def key(text):
        return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text

    def test_nothing_else_is_there(self):
        found = {p.relative_to(JCCH / "answers") for p in (JCCH / "answers").rglob("*.csv")}
        self.assertEqual(len(found), 3 * 2 * len(SUITE.queries))


if __name__ == "__main__":
    unittest.main()
