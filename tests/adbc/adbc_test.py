#!/usr/bin/env python3
"""The ADBC driver through adbc_driver_manager, with pyarrow, pandas and polars.

Usage: adbc_test.py DRIVER [unittest arguments]
"""

import ctypes
import datetime
import json
import math
import sys
import tempfile
import threading
import time
import unittest
from decimal import Decimal
from pathlib import Path

try:
    import adbc_driver_manager
    import pandas
    import polars
    import pyarrow as pa
    from adbc_driver_manager import dbapi
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

DRIVER = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]


def plan(root, **params):
    return json.dumps({"heddle": 1, "params": {k: {"type": t, "nullable": True} for k, t in params.items()}, "root": root})


def scan(table, **more):
    return {"op": "scan", "table": table, **more}


def connect(**options):
    return dbapi.connect(driver=DRIVER, db_kwargs={"cache_dir": "", "threads": "2", "backend": "cpu", **options}, autocommit=True)


ONE_ROW = {"op": "values", "columns": [{"name": "one", "type": "int32"}], "rows": [[1]]}
SALES = pa.table({"id": pa.array([1, 2, 3, 4], pa.int32()),
                  "price": pa.array([Decimal("1.50"), None, Decimal("2.25"), Decimal("0.25")], pa.decimal128(9, 2)),
                  "shop": ["north", "south", None, "north"]})


class Case(unittest.TestCase):
    options = {}

    def setUp(self):
        self.con = connect(**self.options)
        self.addCleanup(self.con.close)
        self.cur = self.con.cursor()
        self.addCleanup(self.cur.close)

    def rows(self, *args, **kwargs):
        self.cur.execute(*args, **kwargs)
        return self.cur.fetchall()


class Queries(Case):
    def setUp(self):
        super().setUp()
        self.cur.adbc_ingest("sales", SALES)

    def test_rows_come_back_with_their_types(self):
        self.cur.execute(plan({"op": "sort", "keys": ["id"], "input": scan("sales")}))
        found = self.cur.fetch_arrow_table()
        self.assertEqual(found.schema.types, SALES.schema.types)
        self.assertEqual(found.to_pydict(), SALES.to_pydict())

    def test_a_parameter_of_each_type(self):
        values = {"bool": True, "int32": -5, "int64": 2**62, "decimal(12,2)": Decimal("-0.05"), "float32": 0.1, "float64": math.pi,
                  "date": datetime.date(1, 2, 3), "timestamp": datetime.datetime(1969, 12, 31, 23, 59, 59, 250000),
                  "time": datetime.time(1, 2, 3, 4), "string": "x'ü"}
        for kind, value in values.items():
            for given in (value, None):
                with self.subTest(kind=kind, given=given):
                    text = plan({"op": "project", "input": ONE_ROW, "exprs": [{"expr": ":p", "as": "p"}]}, p=kind)
                    typed = pa.table({"p": pa.array([given], pa.float32() if kind == "float32" else None if given is not None else pa.null())})
                    self.cur.execute(text, typed)
                    (found,), = self.cur.fetchall()
                    self.assertEqual(found if kind != "float32" or given is None else round(found, 6), given)

    def test_other_arrow_types_are_bound(self):
        text = plan({"op": "project", "input": ONE_ROW, "exprs": [{"expr": ":p", "as": "p"}]}, p="string")
        for array in (pa.array(["a"], pa.large_string()), pa.array(["a"], pa.string_view()), pa.array(["a much longer text"], pa.string_view()),
                      pa.array(["b", "a"]).dictionary_encode().slice(1)):
            self.assertEqual(self.rows(text, pa.table({"p": array})), [(array[0].as_py(),)])
        text = plan({"op": "project", "input": ONE_ROW, "exprs": [{"expr": ":p", "as": "p"}]}, p="int64")
        for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.uint32(), pa.uint64()):
            self.assertEqual(self.rows(text, pa.table({"p": pa.array([9, 100], kind).slice(1)})), [(100,)])
        with self.assertRaisesRegex(dbapi.ProgrammingError, 'format "\\+l" cannot be bound'):
            self.cur.execute(text, pa.table({"p": [[1]]}))
        with self.assertRaisesRegex(dbapi.ProgrammingError, "NUL"):
            self.cur.execute(text, pa.table({"p": ["a\0b"]}))

    def test_parameters_by_name_and_by_position(self):
        text = plan({"op": "project", "input": ONE_ROW, "exprs": [{"expr": ":a - :b", "as": "d"}]}, a="int64", b="int64")
        self.assertEqual(self.rows(text, (7, 2)), [(5,)])
        self.assertEqual(self.rows(text, pa.table({"b": [2], "a": [7]})), [(5,)])
        self.cur.adbc_statement.set_options(**{"adbc.statement.bind_by_name": "false"})
        self.assertEqual(self.rows(text, pa.table({"b": [7], "a": [2]})), [(5,)])
        self.cur.adbc_statement.set_options(**{"adbc.statement.bind_by_name": "true"})
        with self.assertRaisesRegex(dbapi.ProgrammingError, 'no parameter "c"'):
            self.cur.execute(text, pa.table({"c": [7]}))

    def test_each_bound_row_is_an_execution(self):
        text = plan(scan("sales", columns=["id"], filter="id <= :n"), n="int32")
        self.cur.adbc_prepare(text)
        self.cur.execute(text, pa.table({"n": [1, 3, 0, 2]}))
        self.assertEqual([r[0] for r in self.cur.fetchall()], [1, 1, 2, 3, 1, 2])
        self.cur.execute(text, pa.table({"n": pa.array([], pa.int32())}))
        self.assertEqual(self.cur.fetch_arrow_table(), pa.table({"id": pa.array([], pa.int32())}))

    def test_a_prepared_plan_tells_its_parameters(self):
        schema = self.cur.adbc_prepare(plan(scan("sales", filter="id < :n and shop = :s"), n="int32", s="string"))
        self.assertEqual([(f.name, f.type) for f in schema], [("n", pa.int32()), ("s", pa.string())])
        self.assertEqual(self.cur.adbc_execute_schema(plan(scan("sales"))).types, SALES.schema.types)

    def test_values_that_are_not_bound_are_missed(self):
        with self.assertRaisesRegex(dbapi.ProgrammingError, "n.*(value|default)"):
            self.cur.execute(plan(scan("sales", filter="id < :n"), n="int32"))
        with self.assertRaisesRegex(dbapi.ProgrammingError, "2 values are bound to 1"):
            self.cur.execute(plan(scan("sales", filter="id < :n"), n="int32"), (1, 2))

    def test_errors_have_state_and_details(self):
        with self.assertRaises(dbapi.ProgrammingError) as caught:
            self.cur.execute(plan(scan("nowhere")))
        self.assertEqual(caught.exception.sqlstate, "42000")
        self.assertEqual(dict(caught.exception.details)[b"heddle.path"], b"$.root.table")
        with self.assertRaises(dbapi.DataError) as caught:
            self.cur.execute(plan({"op": "project", "input": scan("sales"), "exprs": [{"expr": "1 / (id - 2)", "as": "x"}]}))
        self.assertEqual(caught.exception.sqlstate, "22000")
        self.assertEqual(dict(caught.exception.details)[b"heddle.class"], b"execution")

    def test_the_same_statement_goes_on_after_an_error(self):
        text = plan({"op": "project", "input": ONE_ROW, "exprs": [{"expr": "10 / :n", "as": "x"}]}, n="int32")
        self.cur.adbc_prepare(text)
        with self.assertRaises(dbapi.DataError):
            self.cur.execute(text, (0,))
        self.assertEqual(self.rows(text, (5,)), [(2,)])

    def test_reports_and_plans_are_options(self):
        self.cur.execute(plan(scan("sales")))
        statement = self.cur.adbc_statement
        self.assertGreater(json.loads(statement.get_option("heddle.report"))["total_ms"], 0)
        self.assertIn("#0 scan sales", statement.get_option("heddle.explain"))

    def test_results_outlive_everything(self):
        con = connect()
        cur = con.cursor()
        cur.adbc_ingest("sales", SALES)
        cur.execute(plan(scan("sales", columns=["id"])))
        found = cur.fetch_arrow_table()
        cur.close()
        con.close()
        self.assertEqual(found["id"].to_pylist(), [1, 2, 3, 4])

    def test_a_cancel_ends_an_execution(self):
        n = 60_000
        self.cur.adbc_ingest("many", pa.table({"v": pa.array(range(n), pa.int64())}))
        text = plan({"op": "aggregate", "keys": [], "aggs": [{"fn": "sum", "arg": "(v * w) % 7", "as": "s"}], "input": {
            "op": "join", "kind": "inner", "strategy": "loop", "on": [], "residual": "v + w <> 1", "left": scan("many"),
            "right": {"op": "project", "input": scan("many"), "exprs": [{"expr": "v", "as": "w"}]}}})
        canceller = threading.Timer(0.3, self.cur.adbc_cancel)
        canceller.start()
        begin = time.monotonic()
        with self.assertRaisesRegex(adbc_driver_manager.Error, "CANCELLED"):
            self.cur.execute(text)
        self.assertLess(time.monotonic() - begin, 5)
        canceller.join()
        self.assertEqual(self.rows(plan(scan("sales", columns=["id"], filter="id = 1"))), [(1,)])

    def test_nothing_to_cancel(self):
        with self.assertRaisesRegex(adbc_driver_manager.Error, "not running"):
            self.cur.adbc_cancel()


class Substrait(Case):
    def setUp(self):
        super().setUp()
        self.cur.adbc_ingest("sales", SALES)

    def test_plans_in_json(self):
        types = [{"i32": {}}, {"decimal": {"precision": 9, "scale": 2}}, {"string": {}}]
        for t in types:
            next(iter(t.values()))["nullability"] = "NULLABILITY_NULLABLE"
        plan_ = {"version": {"minorNumber": 54}, "relations": [{"root": {"names": ["id", "price", "shop"], "input": {"read": {
            "baseSchema": {"names": ["id", "price", "shop"], "struct": {"types": types}}, "namedTable": {"names": ["sales"]}}}}}]}
        self.cur.execute(json.dumps(plan_).encode())
        self.assertEqual(self.cur.fetch_arrow_table().to_pydict(), SALES.to_pydict())

    def test_bytes_that_are_no_plan(self):
        for bad in (b"\xff\xff\xff", b"{", b"\x00"):
            with self.assertRaises(adbc_driver_manager.Error):
                self.cur.execute(bad)
        self.assertTrue(self.con.adbc_get_info()[4])

    def test_sql_by_datafusion(self):
        """The binary form, and a translator that a host would install."""
        try:
            import datafusion
            from datafusion import substrait
        except ImportError as missing:
            self.skipTest(str(missing))
        context = datafusion.SessionContext()
        context.register_record_batches("sales", [SALES.slice(0, 0).to_batches() or [pa.RecordBatch.from_pylist([], SALES.schema)]])

        def translate(_user, sql, _catalog, emit, to):
            logical = context.sql(sql.decode()).optimized_logical_plan()
            plan_ = substrait.Producer.to_substrait_plan(logical, context).encode()
            emit(to, plan_, len(plan_))
            return 0
        function = Translators.TRANSLATE(translate)
        with connect(translator=str(ctypes.cast(function, ctypes.c_void_p).value)) as con, con.cursor() as cur:
            cur.adbc_ingest("sales", SALES)
            cur.execute("select shop, sum(price) as total from sales where shop is not null group by shop order by shop")
            self.assertEqual(cur.fetchall(), [("north", Decimal("1.75")), ("south", None)])


class Ingest(Case):
    def count(self):
        return self.rows(plan({"op": "aggregate", "keys": [], "aggs": [{"fn": "count", "as": "n"}], "input": scan("sales")}))[0][0]

    def test_modes(self):
        self.assertEqual(self.cur.adbc_ingest("sales", SALES, mode="create"), 4)
        with self.assertRaisesRegex(adbc_driver_manager.Error, "ALREADY_EXISTS"):
            self.cur.adbc_ingest("sales", SALES, mode="create")
        self.assertEqual(self.cur.adbc_ingest("sales", SALES.slice(1, 2), mode="append"), 2)
        self.assertEqual(self.count(), 6)
        self.assertEqual(self.cur.adbc_ingest("sales", SALES, mode="replace"), 4)
        self.assertEqual(self.count(), 4)
        self.assertEqual(self.cur.adbc_ingest("sales", SALES, mode="create_append"), 4)
        self.assertEqual(self.count(), 8)
        with self.assertRaisesRegex(adbc_driver_manager.Error, "NOT_FOUND"):
            self.cur.adbc_ingest("other", SALES, mode="append")
        self.assertEqual(self.cur.adbc_ingest("other", SALES, mode="create_append"), 4)

    def test_what_is_appended_has_the_same_columns(self):
        self.cur.adbc_ingest("sales", SALES)
        for other in (SALES.select(["id", "shop"]), SALES.rename_columns(["id", "cost", "shop"]),
                      SALES.set_column(0, "id", pa.array([1, 2, 3, 4], pa.int64()))):
            with self.assertRaisesRegex(adbc_driver_manager.Error, "ALREADY_EXISTS"):
                self.cur.adbc_ingest("sales", other, mode="append")
        self.assertEqual(self.count(), 4)

    def test_appended_nulls_make_a_column_nullable(self):
        fixed = pa.schema([pa.field("v", pa.int64(), nullable=False)])
        self.cur.adbc_ingest("t", pa.table({"v": [1]}, fixed))
        self.cur.adbc_ingest("t", pa.table({"v": [None, 2]}), mode="append")
        self.assertTrue(self.con.adbc_get_table_schema("t").field("v").nullable)
        self.assertEqual(self.rows(plan(scan("t"))), [(1,), (None,), (2,)])

    def test_batches_of_a_stream(self):
        reader = pa.RecordBatchReader.from_batches(SALES.schema, SALES.to_batches(max_chunksize=1))
        self.assertEqual(self.cur.adbc_ingest("sales", reader), 4)
        self.assertEqual(self.count(), 4)

    def test_bad_rows_leave_nothing(self):
        def batches():
            yield SALES.to_batches()[0]
            raise ValueError("no more")
        with self.assertRaisesRegex(Exception, "no more"):
            self.cur.adbc_ingest("sales", pa.RecordBatchReader.from_batches(SALES.schema, batches()))
        with self.assertRaises(adbc_driver_manager.Error):
            self.cur.adbc_ingest("sales", pa.table({"v": [[1]]}))
        self.assertEqual(self.con.adbc_get_objects(depth="tables").read_all().to_pylist()[0]["catalog_db_schemas"][0]["db_schema_tables"], [])

    def test_a_prepared_plan_keeps_the_tables_that_it_was_made_for(self):
        self.cur.adbc_ingest("sales", SALES)
        text = plan(scan("sales", columns=["id"]))
        other = self.con.cursor()
        other.adbc_prepare(text)
        self.cur.adbc_ingest("sales", SALES.slice(0, 1), mode="replace")
        other.execute(text)
        self.assertEqual(len(other.fetchall()), 4)
        other.close()
        self.assertEqual(len(self.rows(text)), 1)

    def test_drop_table(self):
        self.cur.adbc_ingest("sales", SALES)
        self.cur.execute('DROP TABLE "sales";')
        self.cur.execute("drop table if exists sales")
        with self.assertRaisesRegex(adbc_driver_manager.Error, "NOT_FOUND"):
            self.cur.execute("drop table sales")

    def test_pandas_writes_and_reads(self):
        frame = pandas.DataFrame({"k": [1, 2, 3], "w": [0.5, float("nan"), 2.0], "t": ["a", "b", None]})
        for mode, n in (("fail", 3), ("append", 6), ("replace", 3)):
            frame.to_sql("frame", self.con, if_exists=mode, index=False)
            found = pandas.read_sql(plan({"op": "sort", "keys": ["k"], "input": scan("frame")}), self.con)
            self.assertEqual(len(found), n)
        self.assertEqual(found["k"].tolist(), [1, 2, 3])
        with self.assertRaisesRegex(ValueError, "exists"):
            frame.to_sql("frame", self.con, if_exists="fail", index=False)

    def test_polars_writes_and_reads(self):
        frame = polars.DataFrame({"k": [1, 2, 3], "x": [0.5, None, 2.0], "d": [datetime.date(2024, 2, 29)] * 3})
        frame.write_database("frame", self.con, engine="adbc")
        frame.write_database("frame", self.con, engine="adbc", if_table_exists="append")
        found = polars.read_database(plan({"op": "sort", "keys": ["k"], "input": scan("frame")}), self.con)
        self.assertTrue(found[::2].equals(frame) and found[1::2].equals(frame))

    def test_texts_of_polars(self):
        frame = polars.DataFrame({"t": ["a", None, "a text that is longer"]})
        self.cur.adbc_ingest("frame", frame.to_arrow(compat_level=polars.CompatLevel.oldest()))
        self.assertTrue(polars.read_database(plan(scan("frame")), self.con).equals(frame))


class Catalog(Case):
    """A stored table with keys, and one of the process."""

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.options = {"path": cls.dir.name + "/db"}
        make_database(cls.options["path"])

    def setUp(self):
        super().setUp()
        self.cur.adbc_ingest("memory", SALES)

    def objects(self, **filters):
        return self.con.adbc_get_objects(**filters).read_all().to_pylist()

    def tables(self, **filters):
        return {t["table_name"]: t for t in self.objects(**filters)[0]["catalog_db_schemas"][0]["db_schema_tables"]}

    def test_depths(self):
        self.assertEqual(self.objects(depth="catalogs"), [{"catalog_name": "", "catalog_db_schemas": None}])
        self.assertEqual(self.objects(depth="db_schemas")[0]["catalog_db_schemas"], [{"db_schema_name": "", "db_schema_tables": None}])
        self.assertEqual(self.tables(depth="tables")["shop"],
                         {"table_name": "shop", "table_type": "TABLE", "table_columns": None, "table_constraints": None})
        self.assertEqual([c["column_name"] for c in self.tables()["memory"]["table_columns"]], ["id", "price", "shop"])

    def test_filters(self):
        self.assertEqual(list(self.tables(table_name_filter="s%")), ["shop", "sale"])
        self.assertEqual(list(self.tables(table_name_filter="%o_")), ["shop"])
        self.assertEqual(list(self.tables(table_name_filter="%m%r%")), ["memory"])
        self.assertEqual(list(self.tables(table_types_filter=["LOCAL TEMPORARY"])), ["memory"])
        self.assertEqual([c["column_name"] for c in self.tables(column_name_filter="i_")["memory"]["table_columns"]], ["id"])
        self.assertEqual(self.objects(catalog_filter="other"), [])
        self.assertEqual(self.objects(db_schema_filter="other")[0]["catalog_db_schemas"], [])
        self.assertEqual(self.con.adbc_get_table_types(), ["TABLE", "LOCAL TEMPORARY"])

    def test_columns_and_constraints(self):
        sale = self.tables()["sale"]
        amount = sale["table_columns"][1]
        self.assertEqual([amount[k] for k in ("xdbc_type_name", "xdbc_column_size", "xdbc_decimal_digits", "xdbc_is_nullable", "ordinal_position")],
                         ["decimal(9,2)", 9, 2, "YES", 2])
        self.assertEqual(sale["table_constraints"], [
            {"constraint_name": None, "constraint_type": "FOREIGN KEY", "constraint_column_names": ["shop"],
             "constraint_column_usage": [{"fk_catalog": "", "fk_db_schema": "", "fk_table": "shop", "fk_column_name": "id"}]}])
        self.assertEqual(self.tables()["shop"]["table_constraints"][0]["constraint_type"], "PRIMARY KEY")

    def test_table_schema(self):
        self.assertEqual(self.con.adbc_get_table_schema("sale"), pa.schema([
            pa.field("shop", pa.int32(), False), pa.field("amount", pa.decimal128(9, 2)), pa.field("note", pa.string())]))
        for filters in ({}, {"db_schema_filter": "other"}):
            with self.assertRaisesRegex(adbc_driver_manager.Error, "NOT_FOUND"):
                self.con.adbc_get_table_schema("sale" if filters else "nowhere", **filters)

    def test_statistics(self):
        names = {r["statistic_key"]: r["statistic_name"] for r in self.con.adbc_get_statistic_names().read_all().to_pylist()}
        rows = self.con.adbc_get_statistics(table_name_filter="s%").read_all().to_pylist()
        found = {(s["table_name"], s["column_name"], names[s["statistic_key"]]): s["statistic_value"]
                 for s in rows[0]["catalog_db_schemas"][0]["db_schema_statistics"]}
        self.assertEqual(found["sale", None, "adbc.statistic.row_count"], 3)
        self.assertEqual(found["sale", "amount", "adbc.statistic.null_count"], 1)
        self.assertEqual(found["sale", "amount", "adbc.statistic.max_value"], 2.5)
        self.assertEqual(found["shop", "id", "adbc.statistic.distinct_count"], 2)
        self.assertEqual(found["shop", "id", "heddle.statistic.unique"], 1)
        self.assertNotIn("memory", {k[0] for k in found})

    def test_stored_tables_stay_as_they_are(self):
        for mode in ("append", "replace", "create_append"):
            with self.assertRaisesRegex(adbc_driver_manager.Error, "NOT_IMPLEMENTED.*stored"):
                self.cur.adbc_ingest("sale", SALES, mode=mode)
        with self.assertRaisesRegex(dbapi.ProgrammingError, "stored"):
            self.cur.execute("drop table sale")

    def test_info(self):
        info = self.con.adbc_get_info()
        self.assertTrue({"threads", "devices", "memory_limit"} <= set(json.loads(info[10000])))
        self.assertEqual((info["vendor_name"], info["driver_adbc_version"]), ("Heddle", 1_001_000))

    def test_a_database_by_uri(self):
        for uri in ("heddle:", "heddle://", "file:", ""):
            with connect(uri=uri + self.options["path"]) as con, con.cursor() as cur:
                cur.execute(plan(scan("shop", columns=["id"])))
                self.assertEqual(cur.fetchall(), [(10,), (20,)])

    def test_no_database(self):
        with self.assertRaisesRegex(adbc_driver_manager.Error, "nowhere"):
            connect(path=self.options["path"] + "/nowhere")


def make_database(path):
    """Through the command line, which reads text files and a schema."""
    import os
    import subprocess
    with tempfile.TemporaryDirectory() as d:
        Path(d, "shop.csv").write_text("10,north\n20,south\n")
        Path(d, "sale.csv").write_text("10,2.50,a\n20,,b\n10,1.00,\n")
        schema = {"format": {"delimiter": ",", "null": "", "trailing_delimiter": False}, "tables": [
            {"name": "shop", "columns": [{"name": "id", "type": "int32"}, {"name": "name", "type": "string"}], "primary_key": ["id"]},
            {"name": "sale", "columns": [{"name": "shop", "type": "int32"}, {"name": "amount", "type": "decimal(9,2)", "nullable": True},
                                         {"name": "note", "type": "string", "nullable": True}],
             "foreign_keys": [{"columns": ["shop"], "table": "shop", "references": ["id"]}]}]}
        Path(d, "schema.json").write_text(json.dumps(schema))
        subprocess.run([os.environ["HEDDLE"], "load", "--schema", d + "/schema.json", "--from", d, "--out", path], check=True, stdout=subprocess.DEVNULL)


class Options(Case):
    def test_typed(self):
        db = adbc_driver_manager.AdbcDatabase(driver=DRIVER, path="", threads="3")
        self.addCleanup(db.close)
        self.assertEqual(db.get_option_int("threads"), 3)
        self.assertEqual(db.get_option("heddle.threads"), "3")
        self.assertEqual(db.get_option_bytes("heddle.threads"), b"3")
        self.assertEqual(db.get_option_float("heddle.threads"), 3.0)
        with self.assertRaisesRegex(adbc_driver_manager.Error, "NOT_FOUND"):
            db.get_option("colour")
        statement = self.cur.adbc_statement
        statement.set_options(**{"heddle.memory_limit": 1 << 20, "heddle.threads": 1.0, "heddle.profile": b"true"})
        self.assertEqual(statement.get_option_int("heddle.memory_limit"), 1 << 20)
        self.assertEqual(statement.get_option("heddle.profile"), "true")

    def test_devices_and_memory(self):
        values = {"heddle.device": "0,1", "heddle.device_memory": 1 << 30, "pin": "1048576", "heddle.temp_dir": tempfile.gettempdir(),
                  "temp_limit": 1 << 20, "backend": "cpu"}
        db = adbc_driver_manager.AdbcDatabase(driver=DRIVER, path="", **{k: str(v) for k, v in values.items()})
        self.addCleanup(db.close)
        for name, value in values.items():
            self.assertEqual(db.get_option(name), str(value))
        self.assertEqual(db.get_option_int("device_memory"), 1 << 30)
        with self.assertRaisesRegex(adbc_driver_manager.Error, "NOT_FOUND.*no integer"):
            db.get_option_int("device")
        for devices in ("all", "0", "3"):
            connect(device=devices).close()
        with self.assertRaisesRegex(adbc_driver_manager.Error, "named twice"):
            connect(device="0,0")
        self.cur.adbc_ingest("sales", SALES)
        statement = self.cur.adbc_statement
        statement.set_options(**{"heddle.gpu_block": "2", "heddle.gpu_warps": 64, "heddle.fws_threshold": 10})
        self.assertEqual(statement.get_option_int("gpu_warps"), 64)
        self.cur.execute(plan(scan("sales", columns=["id"])))
        self.assertEqual(len(self.cur.fetchall()), SALES.num_rows)

    def test_memory_limits_hold(self):
        """State beyond the limit goes to a temporary file, or, without one, ends the query."""
        n = 200_000
        table = pa.table({"k": pa.array(range(n), pa.int64())})
        groups = plan({"op": "aggregate", "keys": [], "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "aggregate", "keys": [{"expr": "k * 7919 % 1000003", "as": "g"}], "aggs": [{"fn": "count", "as": "n"}], "input": scan("t")}})
        for temp, expected in (({}, None), ({"temp_dir": ""}, "memory")):
            with self.subTest(**temp), connect(memory_limit=str(4 << 20), backend="cpu", **temp) as con, con.cursor() as cur:
                cur.adbc_ingest("t", table)
                if expected:
                    with self.assertRaisesRegex(adbc_driver_manager.Error, expected):
                        cur.execute(groups)
                        cur.fetchall()
                else:
                    cur.execute(groups)
                    self.assertEqual(cur.fetchall(), [(n,)])

    def test_bad_values(self):
        for name, value in (("threads", "-1"), ("threads", "many"), ("threads", "3000000000"), ("no_mmap", "perhaps"), ("backend", "abacus"), ("device", "1x"), ("device_memory", "1G"), ("pin", "-1")):
            with self.subTest(name=name, value=value), self.assertRaisesRegex(adbc_driver_manager.Error, name):
                connect(**{name: value})
        with self.assertRaisesRegex(adbc_driver_manager.Error, "NOT_IMPLEMENTED.*colour"):
            connect(colour="red")
        with self.assertRaisesRegex(adbc_driver_manager.Error, "cannot be set"):
            self.cur.adbc_statement.set_options(**{"heddle.report": "x"})
        with self.assertRaisesRegex(adbc_driver_manager.Error, "create, append, replace"):
            self.cur.adbc_statement.set_options(**{"adbc.ingest.mode": "adbc.ingest.mode.upsert"})
            self.cur.adbc_statement.set_options(**{"adbc.ingest.target_table": "t"})
            self.cur.adbc_statement.bind_stream(SALES.to_reader())
            self.cur.adbc_statement.execute_update()

    def test_autocommit_only(self):
        with self.assertWarnsRegex(Warning, "autocommit"):
            con = dbapi.connect(driver=DRIVER)
        con.close()
        with self.assertRaisesRegex(adbc_driver_manager.Error, "INVALID_STATE.*autocommit"):
            self.con.adbc_connection.commit()
        with self.assertRaisesRegex(adbc_driver_manager.Error, "INVALID_STATE.*autocommit"):
            self.con.adbc_connection.rollback()

    def test_read_only(self):
        self.con.adbc_connection.set_options(**{"adbc.connection.readonly": "true"})
        with self.con.cursor() as cur:
            with self.assertRaisesRegex(adbc_driver_manager.Error, "read-only"):
                cur.adbc_ingest("sales", SALES)
            with self.assertRaisesRegex(adbc_driver_manager.Error, "read-only"):
                cur.execute("drop table sales")


class Documentation(unittest.TestCase):
    def test_the_example(self):
        """The first one of docs/adbc.md, over a database of its name."""
        import os
        import subprocess
        text = (ROOT / "docs" / "adbc.md").read_text().split("```python\n")[1].split("```")[0]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.environ["HEDDLE"], "gen", "tpch", "--sf", "0.001", "--out", folder + "/tpch1"], check=True, stdout=subprocess.DEVNULL)
            code = text.replace('"heddle"', repr(DRIVER), 1).replace('"tpch1"', repr(folder + "/tpch1"))
            said = []
            exec(code, {"arrow_table": SALES, "print": said.append})
        self.assertEqual(said[0].num_rows, 5)


class Translators(Case):
    """SQL through what a host installs, here a table of known texts."""

    EMIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
    TRANSLATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, EMIT, ctypes.c_void_p)

    def translator(self):
        def translate(_user, sql, catalog, emit, to):
            tables = [t["name"] for t in json.loads(catalog)["tables"]]
            said = plan(scan(tables[0], columns=["id"])) if sql == b"select id from sales" else "what is that?"
            emit(to, said.encode(), len(said))
            return said == "what is that?"
        return self.TRANSLATE(translate)

    def check(self, cur):
        cur.adbc_ingest("sales", SALES)
        cur.execute("select id from sales")
        self.assertEqual(len(cur.fetchall()), 4)
        with self.assertRaisesRegex(dbapi.ProgrammingError, "what is that"):
            cur.execute("select")

    def test_none(self):
        with self.assertRaisesRegex(dbapi.NotSupportedError, "AdbcHeddleSetTranslator"):
            self.cur.execute("select id from sales")
        self.assertFalse(self.con.adbc_get_info()[3])

    def test_of_the_process(self):
        install = ctypes.CDLL(DRIVER).AdbcHeddleSetTranslator
        install.argtypes = [self.TRANSLATE, ctypes.c_void_p]
        function = self.translator()
        install(function, None)
        try:
            self.assertTrue(self.con.adbc_get_info()[3])
            self.check(self.cur)
        finally:
            install(self.TRANSLATE(), None)

    def test_of_a_database(self):
        function = self.translator()
        with connect(translator=str(ctypes.cast(function, ctypes.c_void_p).value)) as con, con.cursor() as cur:
            self.check(cur)


if __name__ == "__main__":
    unittest.main(verbosity=2)
