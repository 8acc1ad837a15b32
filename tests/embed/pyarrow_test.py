#!/usr/bin/env python3
"""libheddle from Python by ctypes: pyarrow registers tables and imports results, both through the
Arrow C Data Interface.

Usage: pyarrow_test.py LIBRARY
"""

import ctypes
import datetime
import json
import sys
import unittest
from decimal import Decimal

try:
    import pyarrow as pa
except ImportError:
    print("skipped: no pyarrow")
    sys.exit(77)

LIBRARY = sys.argv.pop(1)


class Stream(ctypes.Structure):
    """struct ArrowArrayStream"""

    _fields_ = [(name, ctypes.c_void_p)
                for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class HeddleError(Exception):
    pass


def load(path):
    lib = ctypes.CDLL(path)
    for name in ("heddle_error_path", "heddle_error_message", "heddle_version"):
        getattr(lib, name).restype = ctypes.c_char_p
    for name in ("heddle_error_path", "heddle_error_message", "heddle_error_free",
                 "heddle_context_free", "heddle_database_free", "heddle_statement_free",
                 "heddle_free"):
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    return lib


lib = load(LIBRARY)


def call(function, *args):
    """Calls a fallible function, its error argument added."""
    error = ctypes.c_void_p()
    if function(*args, ctypes.byref(error)) != 0:
        path, message = lib.heddle_error_path(error), lib.heddle_error_message(error)
        lib.heddle_error_free(error)
        raise HeddleError(f"{path.decode()}: {message.decode()}")


class Database:
    """An empty database for registered tables."""

    def __init__(self):
        self.context, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        call(lib.heddle_context_new, None, ctypes.byref(self.context))
        call(lib.heddle_database_open, self.context, None, 0, ctypes.byref(self.handle))

    def close(self):
        lib.heddle_database_free(self.handle)
        lib.heddle_context_free(self.context)

    def register(self, name, table, facts=False, batch_rows=None):
        reader = pa.RecordBatchReader.from_batches(
            table.schema, table.to_batches(max_chunksize=batch_rows))
        stream = Stream()
        reader._export_to_c(ctypes.addressof(stream))
        call(lib.heddle_database_register, self.handle, name.encode(), ctypes.byref(stream),
             int(facts))

    def drop(self, name):
        call(lib.heddle_database_drop, self.handle, name.encode())

    def run(self, root):
        """Rows of a plan as a pyarrow table."""
        plan = json.dumps({"heddle": 1, "root": root}).encode()
        statement, stream = ctypes.c_void_p(), Stream()
        call(lib.heddle_prepare, self.handle, plan, None, ctypes.byref(statement))
        try:
            call(lib.heddle_execute, statement, ctypes.byref(stream))
        finally:
            lib.heddle_statement_free(statement)
        return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()


def scan(table, **more):
    return {"op": "scan", "table": table, **more}


def sort(by, plan):
    return {"op": "sort", "keys": by, "input": plan}


EVERY_TYPE = pa.table({
    "id": pa.array(range(6), pa.int64()),
    "flag": pa.array([True, False, None, True, False, None], pa.bool_()),
    "small": pa.array([1, -(2**31), 2**31 - 1, None, 0, 5], pa.int32()),
    "big": pa.array([2**62, None, -(2**63), 2**63 - 1, 0, 1], pa.int64()),
    "price": pa.array([Decimal("1.50"), Decimal("-99999999.99"), None, Decimal(0), Decimal("0.01"),
                       Decimal("10")], pa.decimal128(12, 2)),
    "ratio": pa.array([0.5, float("inf"), -0.0, None, 1e300, 1e-300], pa.float64()),
    "narrow": pa.array([0.1, float("-inf"), -0.0, None, 3.4028235e38, 1e-45], pa.float32()),
    "day": pa.array([datetime.date(1970, 1, 1), datetime.date(1, 1, 1), None,
                     datetime.date(9999, 12, 31), datetime.date(2024, 2, 29),
                     datetime.date(1969, 12, 31)], pa.date32()),
    "moment": pa.array([0, -1, None, 1_000_001, 10**15, 86_400_000_000], pa.timestamp("us")),
    "clock": pa.array([datetime.time(0), datetime.time(23, 59, 59, 999999), None, datetime.time(12, 34, 56, 789000), datetime.time(0, 0, 1),
                       datetime.time(7)], pa.time64("us")),
    "text": pa.array(["", "heddle", None, "ü€", "a,b", '"'], pa.string()),
})


class PyArrow(unittest.TestCase):
    def setUp(self):
        self.db = Database()
        self.addCleanup(self.db.close)

    def test_every_type_comes_back(self):
        for facts in (False, True):
            for batch_rows in (None, 2):
                with self.subTest(facts=facts, batch_rows=batch_rows):
                    self.db.register("t", EVERY_TYPE, facts, batch_rows)
                    found = self.db.run(sort(["id"], scan("t")))
                    self.assertEqual(found.schema.types, EVERY_TYPE.schema.types)
                    self.assertEqual(found.to_pydict(), EVERY_TYPE.to_pydict())
                    self.db.drop("t")

    def test_float32_keeps_its_bits(self):
        bits = [0x3DCCCCCD, 0x80000000, 0, 0x7F800000, 0xFF800000, 1, 0x807FFFFF, 0x7F7FFFFF, 0x7FC00000, 0x3F800001]
        values = pa.Array.from_buffers(pa.float32(), len(bits), [None, pa.array(bits, pa.uint32()).buffers()[1]])
        for facts in (False, True):
            with self.subTest(facts=facts):
                self.db.register("t", pa.table({"id": pa.array(range(len(bits)), pa.int32()), "v": values}), facts)
                found = self.db.run(sort(["id"], scan("t")))["v"].combine_chunks()
                self.assertEqual(found.type, pa.float32())
                self.assertEqual(found.view(pa.uint32()).to_pylist(), bits)
                self.db.drop("t")

    def test_float32_is_key_argument_and_result(self):
        """Values that meet as keys, -0 with 0 and NaN with NaN; sums are float64, of the float32 values."""
        narrow = pa.array([0.1, -0.0, 0.0, float("nan"), None, 0.1], pa.float32())
        self.db.register("t", pa.table({"v": narrow, "n": pa.array(range(6), pa.int32())}))
        found = self.db.run(sort(["n"], {"op": "aggregate", "keys": ["v"], "input": scan("t"), "aggs": [
            {"fn": "min", "arg": "n", "as": "n"}, {"fn": "sum", "arg": "v", "as": "s"}, {"fn": "max", "arg": "v", "as": "m"}]}))
        self.assertEqual([str(t) for t in found.schema.types], ["float", "int32", "double", "float"])
        self.assertEqual(found["n"].to_pylist(), [0, 1, 3, 4])
        self.assertEqual(found["s"].to_pylist()[0], 2 * narrow[0].as_py())
        joined = self.db.run({"op": "join", "kind": "semi", "on": [["v", "w"]], "left": scan("t"), "right": {
            "op": "values", "columns": [{"name": "w", "type": "float32"}], "rows": [["0.1"], [0], ["nan"]]}})
        self.assertEqual(sorted(joined["n"].to_pylist()), [0, 1, 2, 3, 5])
        with self.assertRaisesRegex(HeddleError, "does not fit float32"):
            self.db.run({"op": "project", "input": scan("t"), "exprs": [{"expr": "cast(n * 1e39 as float32)", "as": "x"}]})

    def test_dictionaries_and_large_strings_are_taken(self):
        words = ["x", "y", None, "x", "z", "y"]
        self.db.register("t", pa.table({
            "id": pa.array(range(6), pa.int64()),
            "coded": pa.array(words).dictionary_encode(),
            "tiny": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0, 2, 1], pa.int8()),
                                                   ["x", "y", "z"]),
            "large": pa.array(words, pa.large_string()),
        }))
        found = self.db.run(sort(["id"], scan("t")))
        for column in ("coded", "tiny", "large"):
            self.assertEqual(found[column].type, pa.string())
            self.assertEqual(found[column].to_pylist(), words)

    def test_other_integers_become_wider(self):
        values = {"int8": [-128, 127], "uint8": [0, 255], "int16": [-(2**15), 2**15 - 1], "uint16": [0, 2**16 - 1],
                  "uint32": [0, 2**32 - 1], "uint64": [0, 2**63 - 1]}
        table = pa.table({"id": pa.array(range(6), pa.int32()), **{
            name: pa.array([*v, None, *v, 1], getattr(pa, name)()) for name, v in values.items()}})
        for facts in (False, True):
            for given in (table, table.slice(1, 4)):
                self.db.register("t", given, facts)
                found = self.db.run(sort(["id"], scan("t")))
                self.assertEqual([str(t) for t in found.schema.types], ["int32"] * 5 + ["int64"] * 2)
                self.assertEqual(found.to_pydict(), given.to_pydict())
                self.db.drop("t")
        large = pa.table({"v": pa.array([1, None, 2**63], pa.uint64())})
        with self.assertRaisesRegex(HeddleError, 't: row 3: column "v": value 9223372036854775808 does not fit int64'):
            self.db.register("t", large)

    def test_other_units_become_microseconds(self):
        moments = [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59), None, datetime.datetime(1969, 12, 31, 23, 59, 59)]
        recent = [datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1, 0, 0, 0, 123456), None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)]
        clocks = [datetime.time(0), datetime.time(23, 59, 59), None, datetime.time(12, 34, 56)]
        given = pa.table({"s": pa.array(moments, pa.timestamp("s")), "m": pa.array(moments, pa.timestamp("ms", "UTC")),
                          "n": pa.array(recent, pa.timestamp("ns")), "ts": pa.array(clocks, pa.time32("s")),
                          "tm": pa.array(clocks, pa.time32("ms")), "tn": pa.array(clocks, pa.time64("ns"))})
        for facts in (False, True):
            for rows in (given, given.slice(1, 3)):
                self.db.register("t", rows, facts)
                found = self.db.run(scan("t"))
                self.assertEqual(found.schema.types, [pa.timestamp("us")] * 3 + [pa.time64("us")] * 3)
                for column in "s", "ts", "tm":
                    self.assertEqual(found[column].to_pylist(), rows[column].to_pylist())
                self.assertEqual(found["n"].to_pylist(), [v and v.to_pydatetime() if hasattr(v, "to_pydatetime") else v for v in
                                                          rows["n"].cast(pa.timestamp("us")).to_pylist()])
                self.assertEqual(found["m"].to_pylist(), found["s"].to_pylist())
                self.db.drop("t")

    def test_values_of_other_units_must_fit(self):
        for kind, bad, message in [(pa.timestamp("ns"), 1001, "nanosecond 1001 is no whole microsecond"),
                                   (pa.timestamp("s"), 1 << 50, "second 1125899906842624 is beyond the years 0001 to 9999"),
                                   (pa.timestamp("ms"), -(1 << 60), "millisecond -1152921504606846976 is beyond the years 0001 to 9999"),
                                   (pa.time32("s"), 86400, "second 86400 is not of a day"),
                                   (pa.time64("ns"), -1000, "nanosecond -1000 is not of a day")]:
            values = pa.array([0, None, bad], pa.int32() if kind == pa.time32("s") else pa.int64()).view(kind)
            with self.subTest(message=message), self.assertRaisesRegex(HeddleError, f't: row 3: column "v": {message}'):
                self.db.register("t", pa.table({"v": values}))

    def test_times_beyond_the_day_are_refused(self):
        for bad in (86_400_000_000, -1):
            values = pa.array([0, bad], pa.int64()).view(pa.time64("us"))
            with self.subTest(bad=bad), self.assertRaisesRegex(HeddleError, f't: row 2: column "v": microsecond {bad} is not of a day'):
                self.db.register("t", pa.table({"v": values}))

    def test_sliced_batches_are_taken(self):
        self.db.register("t", EVERY_TYPE.slice(1, 4))
        found = self.db.run(sort(["id"], scan("t")))
        self.assertEqual(found.to_pydict(), EVERY_TYPE.slice(1, 4).to_pydict())

    def test_tables_join_and_aggregate(self):
        self.db.register("item", pa.table({"k": pa.array([1, 2, 3], pa.int32()),
                                           "name": ["apple", "pear", "plum"]}))
        self.db.register("sale", pa.table({
            "item": pa.array([1, 1, 2, 1, 2], pa.int32()),
            "price": pa.array([Decimal("1.10")] * 5, pa.decimal128(9, 2))}))
        found = self.db.run(sort(["name"], {
            "op": "aggregate", "keys": ["name"],
            "aggs": [{"fn": "sum", "arg": "price", "as": "total"}, {"fn": "count", "as": "n"}],
            "input": {"op": "join", "kind": "inner", "left": scan("sale"), "right": scan("item"),
                      "on": [["item", "k"]]}}))
        self.assertEqual(found.to_pydict(), {"name": ["apple", "pear"],
                                             "total": [Decimal("3.30"), Decimal("2.20")],
                                             "n": [3, 2]})

    def test_empty_result_has_its_schema(self):
        self.db.register("t", EVERY_TYPE)
        found = self.db.run(scan("t", filter="id > 100"))
        self.assertEqual(found.num_rows, 0)
        self.assertEqual(found.schema.names, EVERY_TYPE.schema.names)

    def test_rows_outlive_the_statement(self):
        n = 300_000
        self.db.register("t", pa.table({"v": pa.array(range(n), pa.int64())}))
        found = self.db.run(scan("t"))
        self.assertEqual(sum(found["v"].to_pylist()), n * (n - 1) // 2)

    def test_errors_carry_path_and_message(self):
        with self.assertRaisesRegex(HeddleError, r"\$\.root.*nowhere"):
            self.db.run(scan("nowhere"))

    def test_unsupported_types_are_refused(self):
        with self.assertRaises(HeddleError):
            self.db.register("t", pa.table({"v": pa.array([[1], [2]])}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
