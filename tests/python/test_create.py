"""heddle.create from Parquet, CSV and Arrow, and heddle.gen."""
import datetime
import os
import pathlib
import signal
import sys
import tempfile
import threading
import unittest
from decimal import Decimal

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print("skipped: no pyarrow")
    sys.exit(77)
import heddle


def rows(db, table):
    return heddle.connect(db).run({"heddle": 1, "root": {"op": "sort", "keys": ["id"],
                                                         "input": {"op": "scan", "table": table}}})


class Create(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.db = self.folder / "db"

    def parquet(self, name, table, **options):
        pq.write_table(table, self.folder / name, **options)
        return self.folder / name

    def test_parquet_keeps_rows_and_types(self):
        n = 10_000
        table = pa.table({
            "id": pa.array(range(n), pa.int64()),
            "small": pa.array([i % 100 if i % 7 else None for i in range(n)], pa.int16()),
            "price": pa.array([Decimal(i) / 100 for i in range(n)], pa.decimal128(12, 2)),
            "day": pa.array([datetime.date(2000, 1, 1) + datetime.timedelta(i) for i in range(n)]),
            "when": pa.array([datetime.datetime(2000, 1, 1, 0, 0, i % 60, i) for i in range(n)], pa.timestamp("us")),
            "word": pa.array([["ab", "c", None][i % 3] for i in range(n)]),
            "text": pa.array([f"row {i * 7919}" for i in range(n)]),
            "ratio": pa.array([i / 7 for i in range(n)]),
            "flag": pa.array([i % 2 == 0 for i in range(n)]),
        })
        want = table.set_column(1, "small", table["small"].cast(pa.int32()))
        half = n // 2
        self.parquet("a.parquet", table.slice(0, half), row_group_size=700)
        self.parquet("b.parquet", table.slice(half), row_group_size=900)
        forms = [self.folder, str(self.folder / "*.parquet"), [self.folder / "a.parquet", self.folder / "b.parquet"]]
        for i, form in enumerate(forms):
            db = self.folder / f"db{i}"
            heddle.create(db, {"t": form}, primary_keys={"t": "id"}, threads=3, packed=i == 1)
            self.assertEqual('"bits"' in (db / "catalog.json").read_text(encoding="utf-8"), i == 1)
            found = rows(db, "t").arrow()
            self.assertEqual(found.schema.types, want.schema.types)
            self.assertEqual(found.to_pydict(), want.to_pydict())
        schema = heddle.connect(db).schema("t")  # what may be NULL is what the files' statistics say
        self.assertEqual([f.name for f in schema if f.nullable], ["small", "word"])

    def test_dictionaries_stay_dictionaries(self):
        from heddle._create import _Parquet
        table = pa.table({"word": [f"word {i % 50}" for i in range(20_000)], "text": [f"text {i}" for i in range(20_000)]})
        source = _Parquet("t", [self.parquet("t.parquet", table)])
        types = next(iter(source.pieces()))[1]()[0].schema.types
        self.assertEqual([pa.types.is_dictionary(t) for t in types], [True, False])

    def test_tables_of_segments(self):
        from heddle import _fragments
        city = pa.table({"id": list(range(100)), "name": [f"city {i % 9}" for i in range(100)]})
        visit = pa.table({"city": [i // 4 for i in range(400)], "days": [i % 13 for i in range(400)]})
        keys = dict(primary_keys={"city": "id"}, foreign_keys={"visit": {"city": "city"}})
        heddle.create(self.db, {"city": city, "visit": visit}, segment_rows=150, **keys)
        heddle.create(self.folder / "whole", {"city": city, "visit": visit}, **keys)
        con, whole = heddle.connect(self.db), heddle.connect(self.folder / "whole")
        table = next(t for t in con.catalog()["tables"] if t["name"] == "visit")
        self.assertEqual((table["rows"], table["cut_by"], len(table["segments"])), (400, "city", 3))
        self.assertEqual([c["name"] for c in table["columns"]], ["city", "days"])
        self.assertEqual(table["columns"][0]["facts"]["distinct"], 100)
        self.assertEqual((con.rows("visit"), con.schema("visit").names), (400, ["city", "days"]))
        plan = {"heddle": 1, "root": {"op": "sort", "keys": ["name"], "input": {
            "op": "aggregate", "keys": ["name"], "aggs": [{"fn": "sum", "arg": "days * f", "as": "s"}], "input": {
                "op": "join", "kind": "inner", "on": [["name", "n"]], "right": {"op": "scan", "table": "factor"}, "left": {
                    "op": "join", "kind": "inner", "on": [["city", "id"]], "left": {"op": "scan", "table": "visit"},
                    "right": {"op": "scan", "table": "city"}}}}}}
        for c in con, whole:
            c.register("factor", {"n": [f"city {i}" for i in range(9)], "f": list(range(9))})
        want = whole.run(plan).arrow()
        self.assertEqual(con.run(plan).arrow(), want)
        document = con.prepare(plan).fragments(2)  # each of them over segments
        self.assertEqual(_fragments.run_here(con, document).to_pydict(), want.to_pydict())
        self.assertTrue(con.explain(plan, "devices").startswith("1 of 1: tables of 3 segments"))

    def test_keys_are_kept_and_checked(self):
        city = pa.table({"id": [1, 2], "name": ["Ulm", "Jena"]})
        visit = pa.table({"id": [1, 2, 3], "city": [2, 2, 1]})
        keys = dict(primary_keys={"city": "id", "visit": ["id"]}, foreign_keys={"visit": {"city": "city"}})
        heddle.create(self.db, {"city": city, "visit": visit}, **keys)
        tables = {t["name"]: t for t in heddle.connect(self.db).catalog()["tables"]}
        self.assertEqual(tables["city"]["primary_key"], ["id"])
        self.assertEqual(len(tables["visit"]["foreign_keys"]), 1)
        for bad in ({"id": [1, 1], "name": ["a", "b"]}, {"id": [1], "name": ["a"]}):
            with self.assertRaises(heddle.DataError):
                heddle.create(self.folder / "bad", {"city": pa.table(bad), "visit": visit}, **keys)
            self.assertEqual(os.listdir(self.folder), ["db"])  # nothing half made
        for wrong in ({"primary_keys": {"nowhere": "id"}}, {"foreign_keys": {"visit": {"city": "city"}}},
                      {"primary_keys": {"city": "nothing"}}):
            with self.assertRaises(heddle.UserError):
                heddle.create(self.folder / "bad", {"city": city, "visit": visit}, **wrong)
        with self.assertRaises(heddle.Error):
            heddle.create(self.db, {"city": city})  # it is there
        self.assertEqual(os.listdir(self.folder), ["db"])

    def test_composite_keys(self):
        pair = pa.table({"id": [1, 1, 2], "n": [1, 2, 1]})
        use = pa.table({"id": [1, 2], "a": [1, 2], "b": [2, 1]})
        heddle.create(self.db, {"pair": pair, "use": use}, primary_keys={"pair": ["id", "n"]},
                      foreign_keys={"use": {("a", "b"): "pair"}})
        self.assertEqual(len(rows(self.db, "use")), 2)

    def test_csv(self):
        (self.folder / "t.csv").write_text('id,day,price,name\n1,2024-02-29,1.50,"a,b"\n2,,2.25,""\n')
        heddle.create(self.db, {"t": self.folder / "t.csv"}, types={"t": {"price": "decimal(8,2)"}})
        self.assertEqual(rows(self.db, "t").fetchall(), [(1, datetime.date(2024, 2, 29), Decimal("1.50"), "a,b"),
                                                         (2, None, Decimal("2.25"), "")])
        (self.folder / "u.tbl").write_text("1|x\n2|y\n")
        heddle.create(self.folder / "db2", {"u": self.folder / "u.tbl"}, csv={"delimiter": "|", "header": ["id", "s"]})
        self.assertEqual(rows(self.folder / "db2", "u").fetchall(), [(1, "x"), (2, "y")])
        (self.folder / "bad.csv").write_text("id\n1\nx,y\n")
        with self.assertRaises(heddle.DataError):
            heddle.create(self.folder / "db3", {"t": self.folder / "bad.csv"})
        with self.assertRaisesRegex(heddle.UserError, "quotes"):
            heddle.create(self.folder / "db3", {"t": self.folder / "t.csv"}, csv={"quotes": "x"})
        self.assertFalse((self.folder / "db3").exists())

    def test_arrow(self):
        table = pa.table({"id": [1, 2], "s": ["x", None]})
        import pyarrow.dataset
        forms = {"dataset": pyarrow.dataset.dataset(table), "table": table, "reader": table.to_reader(), "dict": {"id": [1, 2], "s": ["x", None]}}
        try:
            import polars
            forms["polars"] = polars.from_arrow(table)
        except ImportError:
            pass
        for name, form in forms.items():
            heddle.create(self.folder / name, {"t": form})
            self.assertEqual(rows(self.folder / name, "t").fetchall(), [(1, "x"), (2, None)])
        self.assertFalse(heddle.connect(self.folder / "table").schema("t").field("id").nullable)

    def test_what_is_refused_is_named(self):
        for bad in pa.array([[1]]), pa.array([{"a": 1}]):
            file = self.parquet("t.parquet", pa.table({"id": [1], "x": bad}))
            for form in file, pa.table({"id": [1], "x": bad}):
                with self.assertRaisesRegex(heddle.UnsupportedError, 't: column "x".*nested') as e:
                    heddle.create(self.db, {"t": form})
                self.assertEqual(e.exception.path, "t")
        (self.folder / "broken.parquet").write_bytes(b"PAR1")
        other = self.parquet("other.parquet", pa.table({"id": [1], "y": [2]}))
        cases = [(self.folder / "broken.parquet", heddle.DataError, "broken.parquet"), (self.folder / "none.parquet", heddle.IoError, "none"),
                 ([self.parquet("t.parquet", pa.table({"id": [1]})), other], heddle.DataError, "other.parquet"),
                 (5, heddle.UserError, "t"), ([], heddle.UserError, "empty"), (__file__, heddle.UserError, "t")]
        for form, cls, text in cases:
            with self.assertRaisesRegex(cls, text):
                heddle.create(self.db, {"t": form})
        self.assertFalse(self.db.exists())

    def test_progress_goes_up_to_the_end(self):
        seen = []
        heddle.create(self.db, {"t": pa.table({"id": range(1000)})}, progress=lambda f, what: seen.append(f))
        self.assertEqual(seen, sorted(seen))
        self.assertGreater(seen[-1], 0.9)

    def test_interrupt_leaves_nothing(self):
        def endless():
            batch = pa.record_batch({"id": pa.array(range(1000))})
            while True:
                yield batch

        reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), endless())
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            heddle.create(self.db, {"t": reader})
        timer.join()
        self.assertEqual(os.listdir(self.folder), [])

    def test_gen(self):
        heddle.gen("tpch", 0.001, self.db)
        self.assertEqual(heddle.connect(self.db).rows("region"), 5)
        with self.assertRaisesRegex(heddle.Error, "nothing"):
            heddle.gen("nothing", 1, self.folder / "x")


if __name__ == "__main__":
    unittest.main()
