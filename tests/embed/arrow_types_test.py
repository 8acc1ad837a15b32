#!/usr/bin/env python3
"""Every type and layout of Arrow that is taken: as it is, sliced, in several batches, with NULLs, behind dictionaries
and as runs; and what is refused.

Usage: arrow_types_test.py LIBRARY
"""

import datetime
import struct
import unittest
from decimal import Decimal

from pyarrow_test import Database, HeddleError, pa, scan, sort

DAY = datetime.date
MOMENT = datetime.datetime

# type as it is given: values, type as it comes back
TYPES = {
    "bool": (pa.bool_(), [True, False], pa.bool_()),
    "int8": (pa.int8(), [-128, 127], pa.int32()),
    "uint8": (pa.uint8(), [0, 255], pa.int32()),
    "int16": (pa.int16(), [-(2**15), 2**15 - 1], pa.int32()),
    "uint16": (pa.uint16(), [0, 2**16 - 1], pa.int32()),
    "int32": (pa.int32(), [-(2**31), 2**31 - 1], pa.int32()),
    "uint32": (pa.uint32(), [0, 2**32 - 1], pa.int64()),
    "int64": (pa.int64(), [-(2**63), 2**63 - 1], pa.int64()),
    "uint64": (pa.uint64(), [0, 2**63 - 1], pa.int64()),
    "float16": (pa.float16(), [1.5, -65504.0, 2.0**-24, float("inf"), -0.0, 0.333251953125], pa.float32()),
    "float32": (pa.float32(), [0.5, -(2.0**-149), 2.0**127], pa.float32()),
    "float64": (pa.float64(), [0.1, -1e300], pa.float64()),
    "decimal32": (pa.decimal32(9, 2), [Decimal("9999999.99"), Decimal("-9999999.99")], pa.decimal128(9, 2)),
    "decimal64": (pa.decimal64(18, 3), [Decimal("999999999999999.999"), Decimal("-0.001")], pa.decimal128(18, 3)),
    "decimal128": (pa.decimal128(38, 4), [Decimal("-9" * 1 + "9" * 33 + ".9999"), Decimal("0.0001")],
                   pa.decimal128(38, 4)),
    "decimal256": (pa.decimal256(20, 4), [Decimal("9" * 16 + ".9999"), Decimal("-" + "9" * 16 + ".9999")],
                   pa.decimal128(20, 4)),
    "decimal256 of 76 digits": (pa.decimal256(76, 4), [Decimal("9" * 34 + ".9999"), Decimal("-" + "9" * 34 + ".9999")],
                                pa.decimal128(38, 4)),
    "date32": (pa.date32(), [DAY(1, 1, 1), DAY(9999, 12, 31)], pa.date32()),
    "date64": (pa.date64(), [DAY(1, 1, 1), DAY(9999, 12, 31), DAY(1969, 12, 31)], pa.date32()),
    "time32": (pa.time32("s"), [datetime.time(23, 59, 59)], pa.time64("us")),
    "time64": (pa.time64("ns"), [datetime.time(23, 59, 59, 999999)], pa.time64("us")),
    "timestamp": (pa.timestamp("us"), [MOMENT(1, 1, 1), MOMENT(9999, 12, 31, 23, 59, 59, 999999)], pa.timestamp("us")),
    "string": (pa.string(), ["", "ü€", "a string of more than twelve bytes"], pa.string()),
    "large_string": (pa.large_string(), ["", "ü€", "a string of more than twelve bytes"], pa.string()),
    "string_view": (pa.string_view(), ["", "twelve bytes", "more, thirteen", "a string of more than twelve bytes, ü€"],
                    pa.string()),
}
SPANS = [pa.MonthDayNano(v) for v in ((14, 3, 14706789000000), (0, -(2**31), -(2**63) + 775808), (2**25 - 1, 2**31 - 1, 0), (0, 0, 1000))]
BYTES = [b"", b"\0", b"twelve bytes", b"\xff\xc3 and more than twelve bytes"]
TYPES |= {
    "binary": (pa.binary(), BYTES, pa.binary()),
    "large_binary": (pa.large_binary(), BYTES, pa.binary()),
    "binary_view": (pa.binary_view(), BYTES, pa.binary()),
    "interval": (pa.month_day_nano_interval(), SPANS, pa.month_day_nano_interval()),
    "fixed_size_binary": (pa.binary(4), [b"\0\xff\xc3\0", b"four"], pa.binary()),
}
NO_DICTIONARY = {"float16"}  # pyarrow makes none


class Types(unittest.TestCase):
    def setUp(self):
        self.db = Database()
        self.addCleanup(self.db.close)

    def back(self, column, facts=False, batch_rows=None):
        """The column after a round trip in the order of its rows."""
        rows = pa.array(range(len(column)), pa.int32())
        self.db.register("t", pa.table({"id": rows, "v": column}), facts, batch_rows)
        found = self.db.run(sort(["id"], scan("t")))["v"].combine_chunks()
        self.db.drop("t")
        return found

    def check(self, column, values, kind):
        for facts in (False, True):
            for batch_rows in (None, 2, 5):
                found = self.back(column, facts, batch_rows)
                self.assertEqual(found.type, kind)
                self.assertEqual(found.to_pylist(), values)
        sliced = self.back(column.slice(1, len(column) - 2))
        self.assertEqual(sliced.to_pylist(), values[1:-1])

    def rows(self, values):
        return [values[0], None, *values, None, None, *values, values[0], values[0]]

    def test_plain(self):
        for name, (given, values, kind) in TYPES.items():
            with self.subTest(name):
                self.check(pa.array(self.rows(values), given), self.rows(values), kind)
                self.check(pa.array(values * 3, given), values * 3, kind)

    def test_behind_dictionaries(self):
        for name, (given, values, kind) in TYPES.items():
            if name in NO_DICTIONARY:
                continue
            for index in (pa.int8(), pa.uint16(), pa.int64()):
                with self.subTest(name, index=index):
                    n = len(values)
                    codes = [0, None, n, *range(n), 0, None]
                    entries = pa.array([*values, None], given)  # one of them NULL
                    column = pa.DictionaryArray.from_arrays(pa.array(codes, index), entries)
                    self.check(column, [None if c is None else entries[c].as_py() for c in codes], kind)

    def test_sliced_dictionary(self):
        entries = pa.array(["x", "y", None, "zebra", "y"]).slice(1)
        column = pa.DictionaryArray.from_arrays(pa.array([3, 0, 1, None, 2, 0]), entries)
        self.check(column, ["y", "y", None, None, "zebra", "y"], pa.string())

    def test_runs(self):
        for name, (given, values, kind) in TYPES.items():
            for width in (pa.int16(), pa.int32(), pa.int64()):
                with self.subTest(name, width=width):
                    runs = [*values, None, values[-1]]
                    ends = pa.array([2 + 3 * k for k in range(len(runs))], width)
                    column = pa.RunEndEncodedArray.from_arrays(ends, pa.array(runs, given))
                    rows = [v for k, v in enumerate(runs) for _ in range(3 if k else 2)]
                    self.check(column, rows, kind)

    def test_runs_of_a_dictionary(self):
        words = pa.array(["x", None, "y", "x"]).dictionary_encode()
        numbers = pa.array([7, None, 9, 7]).dictionary_encode()
        for values in (words, numbers):
            column = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4, 8], pa.int32()), values)
            rows = [values[k].as_py() for k in (0, 1, 1, 2, 3, 3, 3, 3)]
            self.check(column, rows, pa.string() if values is words else pa.int64())

    def test_nothing_but_nulls(self):
        self.check(pa.nulls(9), [None] * 9, pa.int32())

    def test_zones_are_the_instant(self):
        for unit in ("s", "ms", "us", "ns"):
            for zone in ("UTC", "Europe/Berlin", "+05:30"):
                with self.subTest(unit=unit, zone=zone):
                    instants = pa.array([0, None, -1, 1_700_000_000], pa.int64())
                    found = self.back(instants.cast(pa.timestamp("s", zone)).cast(pa.timestamp(unit, zone)))
                    self.assertEqual(found.type, pa.timestamp("us"))
                    self.assertEqual(found.cast(pa.int64()).to_pylist(), [0, None, -1_000_000, 1_700_000_000_000_000])

    def test_a_dictionary_may_change_from_batch_to_batch(self):
        kind = pa.dictionary(pa.int8(), pa.int32())
        batches = [pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(entries, pa.int32()))
                   for codes, entries in (([0, 1, 0], [5, 6]), ([2, 0, None], [7, 8, 9]))]
        self.check(pa.chunked_array(batches, kind), [5, 6, 5, 9, 7, None], pa.int32())

    def test_groups_and_joins(self):
        """A column that came in another layout is a column like any other."""
        words = pa.array(["a long word indeed", None, "short", "a long word indeed"] * 50, pa.string_view())
        self.db.register("t", pa.table({"w": words, "h": pa.array([1.5, None, 2.5, 1.5] * 50, pa.float16())}))
        found = self.db.run(sort(["w"], {"op": "aggregate", "keys": ["w"], "input": scan("t"), "aggs": [
            {"fn": "sum", "arg": "h", "as": "s"}, {"fn": "count", "as": "n"}]}))
        self.assertEqual(found.to_pylist(), [{"w": "a long word indeed", "s": 150.0, "n": 100},
                                             {"w": "short", "s": 125.0, "n": 50}, {"w": None, "s": None, "n": 50}])

    def refused(self, column, message):
        with self.assertRaisesRegex(HeddleError, message):
            self.db.register("t", pa.table({"v": column}))

    def test_values_that_do_not_fit(self):
        self.refused(pa.array([1, None, 2**63], pa.uint64()), "^t: row 3: column \"v\": value .* does not fit int64")
        self.refused(pa.array([Decimal(1), Decimal(10**38)], pa.decimal256(76, 0)), "row 2: .* does not fit decimal\\(38,0\\)")
        self.refused(pa.array([0, 1], pa.int64()).cast(pa.int64()).view(pa.date64()), "row 2: .* no whole day")
        self.refused(pa.array([1], pa.timestamp("ns")), "row 1: .* no whole microsecond")
        self.refused(pa.DictionaryArray.from_arrays([0], pa.array([2**63], pa.uint64())), "entry 1 of its dictionary: value")
        self.refused(pa.DictionaryArray.from_arrays(pa.array([3], pa.int8()), pa.array([1]), safe=False),
                     "row 1: .* outside the dictionary")

    def test_null_entries_are_null_rows(self):
        column = pa.DictionaryArray.from_arrays([0, 0, 1], pa.array(["x", None]))
        schema = pa.schema([pa.field("v", column.type, nullable=False)])
        with self.assertRaisesRegex(HeddleError, '^t: row 3: column "v" is not nullable, found NULL'):
            self.db.register("t", pa.table([column], schema))

    def test_strings_are_no_binary(self):
        self.refused(pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(struct.pack("<ii", 0, 1)),
                                                            pa.py_buffer(b"\xff")]), "byte 1 is not UTF-8")
        self.db.register("t", pa.table({"v": pa.array([b"\xff"], pa.binary())}))
        with self.assertRaisesRegex(HeddleError, "binary"):
            self.db.run({"op": "filter", "input": scan("t"), "pred": "v = 'a'"})

    def test_intervals_out_of_range(self):
        for value, message in (((0, 0, 1), "nanosecond 1 of an interval is no whole microsecond"),
                               ((2**25, 0, 0), "month 33554432 is beyond those of an interval"),
                               ((-(2**25), 0, 0), "month -33554432 is beyond those of an interval")):
            self.refused(pa.array([None, pa.MonthDayNano(value)], pa.month_day_nano_interval()), f"row 2: .*{message}")

    def test_formats_that_are_not_taken(self):
        for kind, text in ((pa.list_(pa.int32()), "\\+l"), (pa.decimal128(5, -2), "d:5,-2"),
                           (pa.decimal256(76, 39), "d:76,39,256"), (pa.struct([("a", pa.int32())]), "\\+s"),
                           (pa.duration("us"), "tDu"),
                           (pa.map_(pa.int32(), pa.int32()), "\\+m")):
            with self.subTest(kind):
                self.refused(pa.array([None], kind), f'^t: column "v": Arrow format "{text}.*" is not accepted')

    def view(self, length, rest, data=b"a string of more than twelve bytes"):
        views = struct.pack("<i12s", 0, b"") + struct.pack("<i", length) + rest
        return pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(views), pa.py_buffer(data)])

    def test_views_that_lie(self):
        good = self.view(20, struct.pack("<4sii", b"stri", 0, 2))
        self.assertEqual(self.back(good).to_pylist(), ["", "string of more than "])
        for length, rest, message in (
                (-1, b"\0" * 12, "a view of -1 bytes"),
                (20, struct.pack("<4sii", b"a st", 1, 0), "a view into buffer 2 of 1"),
                (20, struct.pack("<4sii", b"a st", -1, 0), "a view into buffer 0 of 1"),
                (20, struct.pack("<4sii", b"a st", 0, 15), "a view of 20 bytes at 15 of a buffer of 34"),
                (20, struct.pack("<4sii", b"a st", 0, -1), "a view of 20 bytes at -1"),
                (20, struct.pack("<4sii", b"b st", 0, 0), "a view whose prefix"),
                (3, b"abcd" + b"\0" * 8, "a view of 3 bytes with more behind"),
                (3, b"ab\xff" + b"\0" * 9, "byte 3 is not UTF-8")):
            with self.subTest(message):
                self.refused(self.view(length, rest), f'^t: row 2: column "v": {message}')

    def test_runs_that_lie(self):
        def runs(ends, n, values=(1, 2)):
            kind = pa.run_end_encoded(pa.int32(), pa.int32())
            children = [pa.array(ends, pa.int32()), pa.array(values, pa.int32())]
            return pa.Array.from_buffers(kind, n, [None], null_count=0, children=children)

        self.assertEqual(self.back(runs([2, 3], 3)).to_pylist(), [1, 1, 2])
        self.refused(runs([2, 2], 2), "run 2: its end is not behind")
        self.refused(runs([0, 2], 2), "run 1: its end is not behind")


if __name__ == "__main__":
    unittest.main()
