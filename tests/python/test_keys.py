"""Keys that registered tables are declared with, in Python's words; what they do is tested in C (tests/facts/test_keys.c)."""
import unittest

import heddle

ITEM = {"id": [7, 8, 9], "shop": [1, 1, 2], "name": ["a", "b", "c"]}


class Keys(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect(backend="cpu")

    def keys(self, table):
        found = next(t for t in self.con.catalog()["tables"] if t["name"] == table)
        foreign = [(k["columns"], k["table"], k["references"]) for k in found.get("foreign_keys", [])]
        return found.get("primary_key"), foreign

    def test_forms(self):
        self.con.register("item", ITEM, primary_key="id")
        self.con.register("sale", {"item": [9, 7, 9]}, foreign_keys={"item": "item"})
        self.assertEqual(self.keys("item"), (["id"], []))
        self.assertEqual(self.keys("sale"), (None, [(["item"], "item", ["id"])]))
        self.con.register("pair", ITEM, primary_key=["id", "shop"])
        self.con.register("sale", {"a": [1, 2], "b": [8, 9]}, foreign_keys={("b", "a"): ("pair", "id, shop")}, facts=False)
        self.assertEqual(self.keys("sale"), (None, [(["b", "a"], "pair", ["id", "shop"])]))
        self.con.register("text", ITEM, primary_key="name", facts=True)
        self.con.register("sale", {"t": ["c", None, "a"]}, foreign_keys={"t": "text"})
        self.assertEqual(self.con.run({"heddle": 1, "root": {
            "op": "aggregate", "keys": [], "aggs": [{"fn": "sum", "arg": "id", "as": "n"}], "input": {
                "op": "join", "kind": "inner", "on": [["t", "name"]], "left": {"op": "scan", "table": "sale"},
                "right": {"op": "scan", "table": "text"}}}}).fetchall(), [(16,)])
        self.con.register("tree", {"id": [1, 2, 3], "up": [None, 1, 1]}, primary_key="id", foreign_keys={"up": "tree"})
        self.assertEqual(self.keys("tree"), (["id"], [(["up"], "tree", ["id"])]))

    def test_a_refused_table_leaves_the_old_one(self):
        self.con.register("item", ITEM, primary_key="id")
        for error, message, options in (
                (heddle.DataError, r'item: primary key \(shop\): rows 1 and 2 both have 1', {"primary_key": "shop"}),
                (heddle.UserError, r'no column "x"', {"primary_key": "x"}),
                (heddle.UserError, "refers to other, which has no primary key", {"foreign_keys": {"shop": "other"}})):
            with self.assertRaisesRegex(error, message):
                self.con.register("item", ITEM, **options)
        self.assertEqual(self.keys("item"), (["id"], []))

    def test_stored_parents(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            import pyarrow as pa
            heddle.create(f"{folder}/db", {"item": pa.table(ITEM)}, primary_keys={"item": "id"}, progress=False)
            with heddle.connect(f"{folder}/db", backend="cpu") as con:
                con.register("sale", {"item": [9, 7, 9]}, foreign_keys={"item": "item"})
                with self.assertRaisesRegex(heddle.DataError, r"foreign key \(item\): 6 in row 2 is not in item\(id\)"):
                    con.register("sale", {"item": [9, 6]}, foreign_keys={"item": "item"})


if __name__ == "__main__":
    unittest.main()
