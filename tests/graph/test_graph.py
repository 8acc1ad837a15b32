#!/usr/bin/env python3
"""Random graphs: what the generator promises of them, and examples/graphs against counts of another kind.

Usage: test_graph.py --heddle BIN
"""

import argparse
import csv
import io
import json
import random
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from itertools import combinations
from math import comb
from pathlib import Path

PLANS = Path(__file__).resolve().parents[2] / "examples" / "graphs"
HEDDLE = None


def heddle(*args):
    return subprocess.run([HEDDLE, *map(str, args)], check=True, capture_output=True, text=True).stdout


def rows_of(plan, db, *options):
    """Rows of a plan (a file, or the plan itself), as numbers."""
    if not isinstance(plan, Path):
        path = Path(db).with_suffix(".json")
        path.write_text(json.dumps(plan))
        plan = path
    names, *rows = csv.reader(io.StringIO(heddle("run", plan, "--db", db, "--format", "csv", *options)))
    return names, [tuple(map(int, row)) for row in rows]


class Graph:
    def __init__(self, folder, name, vertices, edges, *options):
        self.path = Path(folder) / name
        heddle("gen", "graph", "--vertices", vertices, "--edges", edges, "--out", self.path, *options)
        self.vertex, self.edge, self.edge_up = (
            rows_of({"heddle": 1, "root": {"op": "scan", "table": table}}, self.path, "--threads", 1)[1]  # in order
            for table in ("vertex", "edge", "edge_up"))
        self.neighbours = {v: set() for v, _ in self.vertex}
        for a, b in self.edge:
            self.neighbours[a].add(b)

    def tables(self):
        return self.vertex, self.edge, self.edge_up


class Generator(unittest.TestCase):
    """Long lists are compared by assertTrue: unittest would take minutes to show how they differ."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="heddle-graph-")
        cls.graph = Graph(cls.folder.name, "graph", 20000, 200000, "--threads", 1)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_edge_is_there_once_in_both_directions(self):
        edges = set(self.graph.edge)
        self.assertEqual(len(self.graph.edge), 400000)
        self.assertEqual(len(edges), 400000)
        self.assertTrue(all(a != b and (b, a) in edges for a, b in edges))

    def test_tables_are_ordered(self):
        for table in self.graph.tables():
            self.assertTrue(table == sorted(table))

    def test_degrees_are_those_of_the_edges(self):
        self.assertTrue(self.graph.vertex == [(v, len(self.graph.neighbours[v])) for v in range(20000)])

    def test_edges_go_up(self):
        degree = dict(self.graph.vertex)
        self.assertTrue(self.graph.edge_up ==
                        [(a, b) for a, b in self.graph.edge if (degree[a], a) < (degree[b], b)])
        self.assertEqual(len(self.graph.edge_up), 200000)

    def test_degrees_follow_the_power_law(self):
        degrees = [d for _, d in self.graph.vertex]
        # A quarter of the vertices, less what was drawn twice.
        self.assertTrue(2500 < max(degrees) < 5000, max(degrees))
        for least in (20, 40, 80, 160):
            share = sum(d >= 2 * least for d in degrees) / sum(d >= least for d in degrees)
            self.assertAlmostEqual(share, 2 ** -1.5, delta=0.05, msg=f"degree {least}")

    def test_numbers_tell_nothing_of_degrees(self):
        total = sum(d for v, d in self.graph.vertex if v < 10000)
        self.assertAlmostEqual(total / 400000, 0.5, delta=0.05)

    def test_threads_do_not_matter_but_the_seed_does(self):
        with tempfile.TemporaryDirectory(prefix="heddle-graph-") as folder:
            same = Graph(folder, "same", 20000, 200000, "--threads", 3, "--seed", 1)
            other = Graph(folder, "other", 20000, 200000, "--threads", 3, "--seed", 2)
        self.assertTrue(same.tables() == self.graph.tables())
        self.assertFalse(other.edge == self.graph.edge)


class Patterns(unittest.TestCase):
    """The patterns counted from common neighbours; the plans join edge by edge."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="heddle-graph-")
        cls.graph = Graph(cls.folder.name, "graph", 400, 3000, "--seed", 5)
        near = cls.graph.neighbours
        cls.common = {(a, b): near[a] & near[b] for a, b in combinations(range(400), 2)}
        cls.edges = [(a, b) for a, b in cls.graph.edge if a < b]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def count(self, name):
        counts = [rows_of(PLANS / f"{name}.json", self.graph.path, "--threads", n)[1] for n in (1, 3)]
        self.assertEqual(counts[0], counts[1])
        self.assertEqual(len(counts[0]), 1)
        return counts[0][0][0]

    def corners(self, name, columns):
        """The plan's rows, without its aggregate, as a count of sets of corners."""
        plan = json.loads((PLANS / f"{name}.json").read_text())
        plan["root"] = {"op": "project", "exprs": columns, "input": plan["root"]["input"]}
        _, rows = rows_of(plan, self.graph.path)
        self.assertTrue(all(len(set(row)) == len(columns) for row in rows))
        return Counter(frozenset(row) for row in rows)

    def triangles(self):
        return {frozenset((a, b, c)) for a, b in self.edges for c in self.common[a, b]}

    def cliques(self):
        return {t | {d} for t in self.triangles() for d in set.intersection(*(self.graph.neighbours[v] for v in t))}

    def test_triangles(self):
        expected = self.triangles()
        self.assertGreater(len(expected), 1000)
        self.assertEqual(self.count("triangle"), len(expected))
        self.assertEqual(self.corners("triangle", ["ab.src", "ab.dst", "ac.dst"]), Counter(expected))

    def test_cliques(self):
        expected = self.cliques()
        self.assertGreater(len(expected), 500)
        self.assertEqual(self.count("clique4"), len(expected))
        self.assertEqual(self.corners("clique4", ["ab.src", "ab.dst", "ac.dst", "ad.dst"]), Counter(expected))

    def test_squares(self):
        """Two opposite corners and two of their common neighbours: each square is seen from both diagonals."""
        expected = Counter(frozenset((a, b, c, d)) for (a, b), near in self.common.items()
                           for c, d in combinations(near, 2))
        self.assertEqual(self.count("square"), sum(expected.values()) // 2)
        self.assertEqual(self.corners("square", ["ba.dst", "ba.src", "bc.dst", "cd.dst"]),
                         Counter({corners: n // 2 for corners, n in expected.items()}))

    def test_diamonds(self):
        expected = sum(comb(len(self.common[edge]), 2) for edge in self.edges)
        self.assertGreater(expected, 1000)
        self.assertEqual(self.count("diamond"), expected)
        self.assertEqual(sum(self.corners("diamond", ["ab.src", "ab.dst", "ac.dst", "ad.dst"]).values()), expected)


class Multigraph(unittest.TestCase):
    """Edges that are there several times, in any order: no primary key says that lists are sorted, or sets."""

    def load(self, folder, name, edges, key):
        path = Path(folder) / name
        path.mkdir()
        table = {"name": "edge_up", "columns": [{"name": "src", "type": "int32"}, {"name": "dst", "type": "int32"}],
                 "foreign_keys": [{"columns": ["src"], "table": "vertex", "references": ["id"]}]}
        vertex = {"name": "vertex", "columns": [{"name": "id", "type": "int32"}], "primary_key": ["id"]}
        schema = {"format": {"delimiter": ",", "header": True, "null": "", "trailing_delimiter": False},
                  "tables": [vertex, table | ({"primary_key": ["src", "dst"]} if key else {})]}
        (path / "schema.json").write_text(json.dumps(schema))
        (path / "vertex.csv").write_text("id\n" + "".join(f"{v}\n" for v in range(40)))
        (path / "edge_up.csv").write_text("src,dst\n" + "".join(f"{a},{b}\n" for a, b in edges))
        heddle("load", "--schema", path / "schema.json", "--from", path, "--out", path / "db")
        return path / "db"

    def test_triangles_count_with_their_edges(self):
        draw = random.Random(3)
        many = [tuple(sorted(draw.sample(range(40), 2))) for _ in range(900)]
        once = sorted(set(many))
        mixed = draw.sample(once, len(once))
        with tempfile.TemporaryDirectory(prefix="heddle-graph-") as folder:
            for name, edges, key, sorted_ in (("many", many, False, False), ("ordered", sorted(many), False, False),
                                              ("once", once, True, True), ("mixed", mixed, True, False)):
                times, down = Counter(edges), {v: [b for a, b in edges if a == v] for v in range(40)}
                expected = sum(times[b, c] for a, b in edges for c in down[a])
                db = self.load(folder, name, edges, key)
                self.assertEqual(rows_of(PLANS / "triangle.json", db)[1], [(expected,)], name)
                self.assertEqual("probe child" in heddle("explain", PLANS / "triangle.json", "--db", db, "--dump",
                                                          "pipelines"), sorted_, name)
                self.assertIn('"ok": true', heddle("check", db, "--json"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    args, rest = parser.parse_known_args()
    HEDDLE = args.heddle
    unittest.main(argv=[sys.argv[0], *rest])
