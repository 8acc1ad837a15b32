"""Connections, tables, plans, results, errors, threads, forks, Ctrl-C.

Usage: test_connection.py DATABASE (TPC-H at scale factor 0.01)
"""
import datetime
import gc
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from decimal import Decimal

try:
    import pyarrow as pa
except ImportError:
    print("skipped: no pyarrow")
    sys.exit(77)
import heddle

DATABASE = sys.argv.pop(1) if __name__ == "__main__" else None
PLANS = pathlib.Path(__file__).resolve().parents[2] / "tpch" / "plans"


def plan(root, **params):
    return {"heddle": 1, "params": params, "root": root}


def scan(table, **more):
    return {"op": "scan", "table": table, **more}


def endless(n=3_000_000):
    """Takes minutes: no two rows meet, and all pairs are looked at."""
    return plan({"op": "aggregate", "keys": [], "aggs": [{"fn": "count", "as": "n"}], "input": {
        "op": "join", "kind": "inner", "on": [], "residual": "sin(a * b) > 2", "left": scan("l"), "right": scan("r")}})


def large_tables(con, n=3_000_000):
    con.register("l", {"a": pa.array(range(n), pa.int64()).cast(pa.float64())})
    con.register("r", {"b": pa.array(range(n), pa.int64()).cast(pa.float64())})


TYPES = pa.table({
    "i": pa.array([1, None, 3], pa.int64()),
    "f": pa.array([math.nan, None, math.inf], pa.float64()),
    "d": pa.array([Decimal("1.10"), None, Decimal("-99999999999999999999.99")], pa.decimal128(38, 2)),
    "t": pa.array([datetime.datetime(1, 1, 1), None, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)],
                  pa.timestamp("us")),
    "day": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)]),
    "s": pa.array(["ü", None, ""]),
    "b": pa.array([True, None, False]),
})


class Tables(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect()

    def test_stored_tables(self):
        con = heddle.connect(DATABASE)
        self.assertEqual(con.tables(), ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"])
        self.assertEqual(con.rows("nation"), 25)
        field = con.schema("lineitem").field("l_extendedprice")
        self.assertEqual((field.type, field.nullable), (pa.decimal128(12, 2), False))
        with self.assertRaisesRegex(heddle.UserError, "no such table"):
            con.schema("nowhere")
        self.assertIn("tables", con.catalog())

    def test_two_connections_and_two_processes_open_one_database(self):
        here = heddle.connect(DATABASE)
        other = heddle.connect(DATABASE)
        code = f"import heddle; print(heddle.connect({DATABASE!r}).run({str(PLANS / 'q06.json')!r}).fetchall())"
        there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        self.assertEqual(here.run(PLANS / "q06.json").fetchall(), other.run(PLANS / "q06.json").fetchall())
        self.assertEqual(there.strip(), str(here.run(PLANS / "q06.json").fetchall()))

    def test_a_deterministic_statement_keeps_its_backend(self):
        con = heddle.connect(DATABASE)
        statement = con.prepare(PLANS / "q06.json", deterministic=True)
        reports = [statement.run().profile.report for _ in range(3)]
        self.assertEqual(len({r["backend"] for r in reports}), 1)
        self.assertRegex(reports[2]["why"], "deterministic: the first execution ran there|this build has no other backend")

    def test_tables_are_registered_replaced_and_dropped(self):
        self.con.register("t", {"a": [1, 2]})
        before = self.con.prepare(plan(scan("t")))
        self.con.register("t", pa.table({"b": ["x"]}))
        self.assertEqual(self.con.run(plan(scan("t"))).fetchall(), [("x",)])
        self.assertEqual(before.run().fetchall(), [(1,), (2,)])  # it keeps the tables of its time
        with self.assertRaisesRegex(heddle.UserError, "already"):
            self.con.register("t", {"a": [1]}, replace=False)
        self.con.drop("t")
        self.assertEqual(self.con.tables(), [])
        with self.assertRaisesRegex(heddle.UserError, "no such table"):
            self.con.drop("t")

    def test_stored_tables_stay(self):
        con = heddle.connect(DATABASE)
        for change in (lambda: con.register("nation", {"a": [1]}), lambda: con.drop("nation")):
            with self.assertRaises(heddle.UserError):
                change()
        self.assertEqual(con.rows("nation"), 25)

    def test_bools_in_order_are_compared(self):
        con = heddle.connect()
        con.register("t", {"b": [False, False, True], "x": [1, 2, 3]})
        for condition, rows in [("b = true", [3]), ("b < true", [1, 2]), ("b between false and false", [1, 2]), ("b >= false", [1, 2, 3])]:
            self.assertEqual(sorted(x for _, x in con.run(plan(scan("t", filter=condition)))), rows, condition)

    def test_a_table_that_is_refused_leaves_the_old_one(self):
        self.con.register("t", {"a": [1]})
        with self.assertRaises(heddle.Error):
            self.con.register("t", pa.table({"a": [[1]]}))
        self.assertEqual(self.con.run(plan(scan("t"))).fetchall(), [(1,)])

    def test_everything_arrow_is_taken(self):
        batch = pa.record_batch({"a": [1, 2]})

        class OnlyArray:
            def __arrow_c_array__(self, requested_schema=None):
                return batch.__arrow_c_array__(requested_schema)

        import pyarrow.dataset
        sources = [batch, pa.table({"a": [1, 2]}), pyarrow.dataset.dataset(pa.table({"a": [1, 2]})), pa.RecordBatchReader.from_batches(batch.schema, [batch]), OnlyArray(),
                   {"a": [1, 2]}]
        for source in sources:
            with self.subTest(source=type(source).__name__):
                self.con.register("t", source)
                self.assertEqual(self.con.run(plan(scan("t"))).fetchall(), [(1,), (2,)])
        self.con.register("u", self.con.run(plan(scan("t"))))
        self.assertEqual(self.con.rows("u"), 2)
        with self.assertRaisesRegex(heddle.UserError, "__arrow_c_stream__"):
            self.con.register("v", 5)

    def test_data_frames(self):
        try:
            import pandas
            import polars
        except ImportError as e:
            self.skipTest(str(e))
        self.con.register("p", pandas.DataFrame({"a": [1, 2], "b": ["x", None]}))
        self.con.register("q", polars.DataFrame({"a": [1, 2], "b": ["x", None]}))
        for table in "p", "q":
            self.assertEqual(self.con.run(plan(scan(table))).fetchall(), [(1, "x"), (2, None)])


class Results(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect()
        self.con.register("t", TYPES)
        self.result = self.con.run(plan(scan("t")))

    def test_types_come_back(self):
        self.assertEqual(self.result.schema.types, TYPES.schema.types)
        found, want = self.result.arrow().to_pydict(), TYPES.to_pydict()
        self.assertTrue(math.isnan(found["f"][0]))
        found["f"][0] = want["f"][0] = 0
        self.assertEqual(found, want)

    def test_pandas_keeps_types(self):
        try:
            import pandas
        except ImportError as e:
            self.skipTest(str(e))
        frame = self.result.df()
        self.assertEqual([t.pyarrow_dtype for t in frame.dtypes], TYPES.schema.types)
        self.assertIs(frame["i"][1], pandas.NA)
        self.assertIs(frame["f"][1], pandas.NA)
        self.assertTrue(math.isnan(pa.array(frame["f"])[0].as_py()))
        self.assertEqual(frame["d"][2], Decimal("-99999999999999999999.99"))
        self.assertEqual(self.result.df("numpy")["s"][0], "ü")

    def test_intervals(self):
        spans = [pa.MonthDayNano((14, -3, 5000)), None, pa.MonthDayNano((0, 30, 0))]
        con = heddle.connect()
        con.register("v", {"v": pa.array(spans, pa.month_day_nano_interval())})
        result = con.run({"heddle": 1, "root": {"op": "scan", "table": "v"}})
        self.assertEqual(con.schema("v").field("v").type, pa.month_day_nano_interval())
        self.assertEqual(result.fetchall(), [(v,) for v in spans])
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        for frame in (result.df(), result.df("numpy")):
            self.assertEqual(frame["v"][0], pandas.DateOffset(months=14, days=-3, nanoseconds=5000))
            self.assertTrue(pandas.isna(frame["v"][1]))

    def test_polars_has_no_intervals(self):
        try:
            import polars  # noqa: F401
        except ImportError:
            self.skipTest("no polars")
        con = heddle.connect()
        con.register("v", {"v": pa.array([None], pa.month_day_nano_interval())})
        with self.assertRaisesRegex(heddle.UnsupportedError, 'column "v" is an interval'):
            con.run({"heddle": 1, "root": {"op": "scan", "table": "v"}}).pl()

    def test_polars_keeps_types(self):
        try:
            import polars
        except ImportError as e:
            self.skipTest(str(e))
        frame = self.result.pl()
        self.assertEqual(frame.dtypes, [polars.Int64, polars.Float64, polars.Decimal(38, 2), polars.Datetime("us"),
                                        polars.Date, polars.String, polars.Boolean])
        self.assertEqual(frame["f"].is_null().to_list(), [False, True, False])
        self.assertTrue(math.isnan(frame["f"][0]))
        self.assertEqual(frame["d"][2], Decimal("-99999999999999999999.99"))
        self.assertEqual(polars.DataFrame(self.result).shape, (3, 7))

    def test_rows(self):
        self.assertEqual(len(self.result), 3)
        self.assertEqual([r[0] for r in self.result], [1, None, 3])
        self.assertEqual(self.result.fetchone()[5], "ü")
        self.assertEqual(pa.table(self.result).num_rows, 3)
        self.assertEqual(pa.table(self.result).num_rows, 3)  # again
        empty = self.con.run(plan(scan("t", filter="i > 9")))
        self.assertEqual((empty.fetchall(), empty.fetchone(), empty.columns), ([], None, list(TYPES.schema.names)))
        self.assertIn("(0 rows)", repr(empty))

    def test_arrow_gets_the_values_where_they_are(self):
        def places(table):
            return [b.address for c in table.columns for chunk in c.chunks for b in chunk.buffers() if b and b.size]

        first = self.result.arrow()
        for other in self.result.arrow(), pa.table(self.result), self.result.reader().read_all():
            self.assertEqual(places(other), places(first))
        self.con.register("n", pa.table({"v": pa.array(range(1_000_000), pa.int64())}))
        before, found = pa.total_allocated_bytes(), self.con.run(plan(scan("n"))).arrow()
        self.assertEqual(found.nbytes, 8_000_000)
        self.assertLess(pa.total_allocated_bytes() - before, 1_000_000)  # the library's memory is what it reads

    def test_html_is_escaped(self):
        self.con.register("h", {"<b>": ["<script>"]})
        page = self.con.run(plan(scan("h")))._repr_html_()
        self.assertIn("&lt;script&gt;", page)
        self.assertIn("&lt;b&gt;", page)

    def test_rows_outlive_everything(self):
        con = heddle.connect()
        con.register("t", {"a": pa.array(range(100_000)), "s": [str(i) for i in range(100_000)]})
        taken, later = con.run(plan(scan("t"))), con.run(plan(scan("t")))
        table = taken.arrow()
        con.close()
        del con, taken
        gc.collect()
        for found in table, later.arrow():
            self.assertEqual([str(a) for a in found["a"].to_pylist()], found["s"].to_pylist())

    def test_parquet(self):
        import pyarrow.parquet
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.parquet"
            self.result.write_parquet(path, compression="zstd")
            self.assertEqual(pyarrow.parquet.read_table(path).schema.types, TYPES.schema.types)

    def test_profiles(self):
        con = heddle.connect(DATABASE)
        profile = con.run(PLANS / "q03.json", profile=True).profile
        self.assertGreater(profile.times["total"], 0)
        self.assertIn("steps", json.dumps(profile.report))
        self.assertIn("srcdoc", profile._repr_html_())
        page = profile.html("<a>")
        self.assertNotIn("@REPORT@", page)
        self.assertNotIn("<a>", page)
        self.assertIn("lineitem", page)


class Plans(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect()
        self.con.register("t", {"a": [1, 2, 3]})

    def test_forms_of_a_plan(self):
        text = json.dumps(plan(scan("t")))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p.json"
            path.write_text(text)
            for form in plan(scan("t")), text, text.encode(), path, str(path):
                self.assertEqual(len(self.con.run(form)), 3)
            with self.assertRaisesRegex(heddle.IoError, "nowhere.json"):
                self.con.run(path.with_name("nowhere.json"))
        for form in 7, "select 1":
            with self.assertRaisesRegex(heddle.UserError, "a plan is"):
                self.con.run(form)

    def test_parameters(self):
        values = {"b": ("bool", True), "i": ("int64", 2**62), "d": ("decimal(20,2)", Decimal("1E+3")), "f": ("float64", -math.inf),
                  "x": ("float64", 0.1), "s": ("string", "a'b\"\n"), "day": ("date", datetime.date(2024, 2, 29)),
                  "t": ("timestamp", datetime.datetime(2024, 2, 29, 1, 2, 3, 4)), "c": ("time", datetime.time(1, 2, 3))}
        query = {"heddle": 1, "params": {k: {"type": t} for k, (t, _) in values.items()}, "root": {
            "op": "project", "exprs": [{"expr": f":{k}", "as": k} for k in values],
            "input": {"op": "values", "columns": [{"name": "one", "type": "int32"}], "rows": [[1]]}}}
        row = self.con.run(query, {k: v for k, (_, v) in values.items()}).fetchone()
        self.assertEqual(row, tuple(v for _, v in values.values()))
        several = self.con.prepare(plan(scan("t", filter="a in :l"), l={"type": "list(int64)"}))
        self.assertEqual([len(several.run(l=l)) for l in ([1, 2], (), [3])], [2, 0, 1])
        with self.assertRaises(heddle.UserError) as e:
            several.run(m=1)
        self.assertIn("m", str(e.exception))
        with self.assertRaisesRegex(heddle.UserError, "cannot be of type object"):
            several.run(l=object())
        self.assertEqual(len(several.run()), 1)  # what was bound stays

    def test_errors_have_class_path_and_detail(self):
        cases = [(plan(scan("nowhere")), heddle.UserError, "$.root.table"), ('{"heddle": 1', heddle.UserError, ""),
                 (plan(scan("t", filter="a / (a - 1) > 1")), heddle.ExecutionError, "$.root.filter")]
        for query, cls, path in cases:
            with self.assertRaises(cls) as e:
                self.con.run(query)
            self.assertEqual(e.exception.path[:len(path)], path)
            self.assertTrue(e.exception.message)
        self.assertIsNone(e.exception.detail)
        with self.assertRaises(heddle.IoError):
            heddle.connect("/nowhere")

    def test_temporary_files(self):
        groups = plan({"op": "aggregate", "keys": [], "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "distinct", "input": {"op": "project", "exprs": ["l_orderkey", "l_partkey"], "input": scan("lineitem")}}})
        wanted = heddle.connect(DATABASE).run(groups).arrow()
        with tempfile.TemporaryDirectory() as folder:
            con = heddle.connect(DATABASE, backend="cpu", threads=2, memory_limit=1_000_000, temp_dir=folder)
            got = con.run(groups)
            self.assertEqual(got.arrow(), wanted)
            self.assertGreater(got.profile.report["spilled_bytes"], 0)
            self.assertEqual(os.listdir(folder), [])
            with self.assertRaises(heddle.ResourceError):
                heddle.connect(DATABASE, backend="cpu", memory_limit=1_000_000, temp_dir=folder, temp_limit=1).run(groups)
            with self.assertRaises(heddle.IoError):
                heddle.connect(temp_dir=folder + "/missing")
        with self.assertRaises(heddle.ResourceError):
            heddle.connect(DATABASE, backend="cpu", memory_limit=1_000_000, temp_dir="").run(groups)

    def test_executions_wait_for_their_share_of_the_memory(self):
        groups = plan({"op": "aggregate", "keys": [], "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "distinct", "input": {"op": "project", "exprs": ["l_orderkey", "l_partkey"], "input": scan("lineitem")}}})
        con = heddle.connect(DATABASE, backend="cpu", threads=1, memory_limit=1_000_000)
        wanted, waits, wrong = con.run(groups).arrow(), [], []

        def work():
            for _ in range(4):
                got = con.run(groups)
                waits.append(got.profile.report["wait_ms"])
                if got.arrow() != wanted:
                    wrong.append(got)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual((len(waits), wrong), (16, []))
        self.assertGreater(max(waits), 1)  # each wants all of it, so they run one after the other

    def test_explain(self):
        self.assertIn("scan t", self.con.explain(plan(scan("t"))))
        self.assertIn("define", self.con.explain(plan(scan("t")), "llvm"))
        with self.assertRaises(heddle.UserError):
            self.con.explain(plan(scan("t")), "nothing")


class Processes(unittest.TestCase):
    def test_threads_share_a_connection(self):
        con = heddle.connect(DATABASE)
        want = {q: con.run(PLANS / q).fetchall() for q in ("q01.json", "q03.json", "q06.json", "q13.json")}
        shared = con.prepare(PLANS / "q06.json")
        bad = []

        def work(i):
            for k in range(6):
                q = sorted(want)[(i + k) % len(want)]
                name = f"t{i}"
                con.register(name, {"a": [i]})
                if (con.run(PLANS / q).fetchall() != want[q] or shared.run().fetchall() != want["q06.json"]
                        or con.run(plan(scan(name))).fetchall() != [(i,)]):
                    bad.append(q)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(bad, [])

    def test_other_threads_go_on_while_a_query_runs(self):
        con = heddle.connect()
        large_tables(con)
        statement = con.prepare(endless())
        outcome = []

        def wait():
            try:
                statement.run()
            except heddle.Cancelled as e:
                outcome.append(e)

        thread = threading.Thread(target=wait)
        thread.start()
        steps = 0
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            steps += 1
        statement.cancel()
        thread.join(10)
        self.assertEqual(len(outcome), 1)
        self.assertGreater(steps, 1000)

    def test_interrupt_cancels(self):
        con = heddle.connect()
        large_tables(con)
        statement = con.prepare(endless())
        for _ in range(2):  # and the statement can be used again
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            begin = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                statement.run()
                time.sleep(5)
            timer.join()
            self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(len(con.run(plan(scan("l", filter="a < 1")))), 1)
        self.assertEqual(signal.set_wakeup_fd(-1), -1)  # as it was

    def test_use_after_fork_is_refused(self):
        con = heddle.connect(DATABASE)
        statement = con.prepare(PLANS / "q06.json")
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            said = []
            for use in (con.tables, statement.run, lambda: con.run(PLANS / "q06.json"), lambda: con.sql("select 1")):
                try:
                    use()
                    said.append("it worked")
                except heddle.InterfaceError as e:
                    said.append(str(e))
            del con, statement, use
            gc.collect()
            again = heddle.connect(DATABASE).run(PLANS / "q06.json").fetchall()
            os.write(write, json.dumps([said, str(again)]).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as f:
            said, again = json.loads(f.read())
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        for text in said:
            self.assertIn("before a fork", text)
        self.assertEqual(again, str(statement.run().fetchall()))

    def test_closed(self):
        con = heddle.connect(DATABASE)
        statement = con.prepare(PLANS / "q06.json")
        con.close()
        con.close()
        with self.assertRaisesRegex(heddle.InterfaceError, "closed"):
            con.tables()
        self.assertEqual(len(statement.run()), 1)
        statement.close()
        with self.assertRaisesRegex(heddle.InterfaceError, "closed"):
            statement.run()


if __name__ == "__main__":
    unittest.main()
