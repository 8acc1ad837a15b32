"""Facts of registered tables: when they are computed, and what explain and the profile say of them."""
import os
import threading
import unittest
from unittest import mock

import heddle
import pyarrow as pa

ROWS = 50_000
JOIN = {"heddle": 1, "root": {
    "op": "aggregate", "keys": ["kind"], "aggs": [{"fn": "sum", "arg": "price", "as": "total"}],
    "input": {"op": "join", "kind": "inner", "on": [["item", "id"]],
              "left": {"op": "scan", "table": "sale"}, "right": {"op": "scan", "table": "item"}}}}
SUM = {"heddle": 1, "root": {"op": "aggregate", "keys": [], "aggs": [{"fn": "sum", "arg": "price", "as": "total"}],
                             "input": {"op": "scan", "table": "sale"}}}


class Facts(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect(backend="cpu", threads=2)
        self.sale = pa.table({"item": pa.array([i * 7919 % 1009 for i in range(ROWS)], pa.int32()),
                              "price": pa.array([i % 100 for i in range(ROWS)], pa.int64())})
        self.item = pa.table({"id": pa.array([i * 31 % 1009 for i in range(1009)], pa.int32()),
                              "kind": [f"kind {i % 7}" for i in range(1009)]})

    def register(self, **options):
        self.con.register("sale", self.sale, **options)
        self.con.register("item", self.item, **options)

    def known(self, table="sale"):
        found = next(t for t in self.con.catalog()["tables"] if t["name"] == table)
        return {c["name"]: c["facts"]["known"] for c in found["columns"]}

    def test_lazy_is_the_default(self):
        self.register()
        self.assertEqual(self.known(), {"item": False, "price": False})
        self.con.run(SUM)
        self.assertEqual(self.known(), {"item": False, "price": False})
        text = self.con.explain(JOIN, "facts")
        self.assertRegex(text, r"sale\.item \(join key\): computed, estimated, [0-9.]+ ms")
        self.assertRegex(text, r"item\.id \(join key\): computed, counted, [0-9.]+ ms")
        self.assertTrue(self.known()["item"])
        self.assertIn("sale.item (join key): known", self.con.explain(JOIN, "facts"))
        self.assertIn("facts:\n", self.con.explain(JOIN, "physical"))

    def test_profile(self):
        self.register()
        statement = self.con.prepare(JOIN)
        first, second = statement.run().profile, statement.run().profile
        self.assertGreater(first.times["facts"], 0)
        self.assertEqual(second.times["facts"], 0)
        self.assertGreaterEqual(first.times["total"], first.times["facts"] + first.times["plan"])
        found = {f["column"]: f for f in first.report["facts"]}
        self.assertEqual(found["item"]["how"], "computed")
        self.assertEqual(found["item"]["uses"], ["join key"])
        self.assertFalse(found["item"]["exact"])
        self.assertTrue(found["id"]["exact"])
        self.assertEqual(self.con.run(JOIN).profile.report["facts"][0]["how"], "known")

    def test_rows_do_not_depend_on_facts(self):
        rows = []
        for facts in (False, None, True):
            self.register(facts=facts)
            rows.append(sorted(self.con.run(JOIN).fetchall()))
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[0], rows[2])

    def test_now_and_never(self):
        self.register(facts=True)
        self.assertEqual(self.known(), {"item": True, "price": True})
        self.assertIn("none", self.con.explain(JOIN, "facts"))
        self.register(facts=False)
        self.assertIn("registered without facts", self.con.explain(JOIN, "facts"))
        self.assertEqual(self.known(), {"item": False, "price": False})
        with self.assertRaisesRegex(heddle.UserError, "facts"):
            self.con.register("sale", self.sale, facts="later")

    def test_a_new_table_has_facts_of_its_own(self):
        self.register()
        self.con.run(JOIN)
        self.con.register("sale", self.sale.slice(0, 20_000))
        self.assertEqual(self.known(), {"item": False, "price": False})
        self.assertTrue(self.known("item")["id"])
        self.assertEqual(self.con.rows("sale"), 20_000)

    def test_sql_gains_too(self):
        try:
            import datafusion  # noqa: F401
        except ImportError:
            self.skipTest("no datafusion")
        self.register()
        query = "select kind, sum(price) from sale join item on item = id group by kind"
        self.assertIn("sale.item (join key): computed", self.con.explain(query, "facts"))

    def test_zones_come_with_facts(self):
        """Rows that come by time: of four zones of 65,536 rows two are left; without facts nobody knows."""
        n = 4 * 65536
        log = pa.table({"at": pa.array([i + i * 7919 % 1009 for i in range(n)], pa.int64()), "item": self.sale["item"].take(
            pa.array([i % 1000 for i in range(n)])), "price": pa.array([i % 100 for i in range(n)], pa.int64())})
        plan = {"heddle": 1, "params": {"from": {"type": "int64", "default": "70000"}}, "root": {
            "op": "aggregate", "keys": ["item"], "aggs": [{"fn": "sum", "arg": "price", "as": "total"}],
            "input": {"op": "scan", "table": "log", "filter": "at between :from and :from + 100000"}}}
        found = {}
        for facts in (False, None, True):
            self.con.register("log", log, facts=facts)
            with mock.patch.dict(os.environ, {"HEDDLE_FACTS_ALWAYS": "1"}):
                statement = self.con.prepare(plan)
                results = [statement.run({"from": at}) for at in (70000, 0, 10 ** 9)]
            found[facts] = ([r.profile.report["pipelines"][0].get("zones_skipped") for r in results],
                            [sorted(r.fetchall()) for r in results])
        self.assertEqual(found[False][0], [None, None, None])
        self.assertEqual(found[True][0], [2, 2, 4])
        self.assertEqual(found[None], found[True])
        self.assertEqual(found[False][1], found[True][1])

    def test_threads(self):
        self.register()
        texts = []
        threads = [threading.Thread(target=lambda: texts.append(self.con.explain(JOIN, "facts"))) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sum(t.count("sale.item (join key): computed") for t in texts), 1)


if __name__ == "__main__":
    unittest.main()
