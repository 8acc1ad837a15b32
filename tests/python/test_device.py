"""Arrow's PyCapsule interface of devices, here of the host: a GPU's memory is in tests/simt/test_arrow_layouts.c and
tests/gpu/device.py.
"""
import ctypes
import gc
import sys
import unittest
import unittest.mock
import weakref

try:
    import pyarrow as pa
except ImportError:
    print("skipped: no pyarrow")
    sys.exit(77)
import heddle
from heddle import _device, _native

SCAN = {"heddle": 1, "root": {"op": "scan", "table": "t"}}


def only(name, function):
    """What has this one way of the interface, and no other."""
    return type("Foreign", (), {name: lambda self, requested_schema=None, **options: function()})()


class Stream:
    """A stream of the device interface over batches of the host; pyarrow has none in Python."""

    def __init__(self, schema, batches):
        self.schema, self.batches, self.error = schema, iter(batches), b""
        fields = dict(_device.DeviceStream._fields_)
        self.stream = _device.DeviceStream(1, *(fields[n](getattr(self, n)) for n in (
            "get_schema", "get_next", "get_last_error", "release")))

    def get_schema(self, _, out):
        self.schema._export_to_c(out)
        return 0

    def get_next(self, _, out):
        try:
            batch = next(self.batches, None)
        except ValueError as e:
            self.error = str(e).encode()
            return 5
        ctypes.memset(out, 0, ctypes.sizeof(_device.DeviceArray))
        if batch is not None:
            batch._export_to_c_device(out)
        return 0

    def get_last_error(self, _):
        return self.error

    def release(self, stream):
        stream.contents.release = type(stream.contents.release)()

    def __arrow_c_device_stream__(self, requested_schema=None, **_):
        return _device._capsule(self.stream, _device.STREAM)


def batches_of(capsule):
    """Each with what it was before it was taken."""
    stream = _device._struct(_device.DeviceStream, capsule, _device.STREAM)
    while (array := _device._next(stream)).array.release:
        schema = _device._schema(stream)
        yield pa.RecordBatch._import_from_c_device(ctypes.addressof(array), ctypes.addressof(schema))


class Registering(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect(backend="cpu")
        self.batch = pa.record_batch({"a": [1, 2, None], "s": ["x", None, "é"], "b": [True, False, None],
                                      "d": pa.array(["u", "v", "u"]).dictionary_encode()})
        self.rows = [(1, "x", True, "u"), (2, None, False, "v"), (None, "é", None, "u")]

    def test_arrays_of_the_host(self):
        self.con.register("t", only("__arrow_c_device_array__", self.batch.__arrow_c_device_array__))
        self.assertEqual(self.con.run(SCAN).fetchall(), self.rows)

    def test_the_host_goes_first(self):
        self.con.register("t", self.batch, facts=True)  # has both
        facts = next(t for t in self.con.catalog()["tables"] if t["name"] == "t")
        self.assertEqual(self.con.run(SCAN).fetchall(), self.rows)
        self.assertIn("distinct", str(facts))

    def test_streams_of_the_host(self):
        table = pa.Table.from_batches([self.batch, self.batch.slice(1)])
        self.con.register("t", Stream(table.schema, table.to_batches()))
        self.assertEqual(self.con.run(SCAN).fetchall(), self.rows + self.rows[1:])
        self.con.register("t", Stream(table.schema, []))
        self.assertEqual(self.con.rows("t"), 0)

    def test_streams_that_fail(self):
        def batches():
            yield self.batch
            raise ValueError("no more")
        with self.assertRaisesRegex(heddle.DataError, "the Arrow stream failed: .*no more"):
            self.con.register("t", Stream(self.batch.schema, batches()))
        self.assertEqual(self.con.tables(), [])

    def test_replaces(self):
        self.con.register("t", {"a": [1]})
        array = only("__arrow_c_device_array__", self.batch.__arrow_c_device_array__)
        with self.assertRaisesRegex(heddle.UserError, "already"):
            self.con.register("t", array, replace=False)
        self.con.register("t", array)
        self.assertEqual(self.con.rows("t"), 3)

    def test_other_devices(self):
        def elsewhere(**_):
            capsules = self.batch.__arrow_c_device_array__()
            _device._struct(_device.DeviceArray, capsules[1], _device.ARRAY).device_type = 10
            return capsules
        with self.assertRaisesRegex(heddle.UnsupportedError, "device type 10"):
            self.con.register("t", only("__arrow_c_device_array__", elsewhere))
        self.assertEqual(self.con.tables(), [])

    def test_bad_values_are_errors(self):
        bad = pa.RecordBatch.from_arrays([pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"),
                                                                                 pa.py_buffer(b"\xff")])], ["s"])
        with self.assertRaisesRegex(heddle.DataError, "UTF-8"):
            self.con.register("t", only("__arrow_c_device_array__", bad.__arrow_c_device_array__))


class Results(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect(backend="cpu")
        self.con.register("t", {"a": list(range(100_000)), "s": [f"n{i}" for i in range(100_000)]})

    def test_batches_become_one(self):
        r = self.con.prepare(SCAN).run_on_device()
        self.assertEqual(r.device_type, 1)
        self.assertGreater(r.profile.times["total"], 0)
        batch = pa.record_batch(r)
        self.assertEqual(batch.num_rows, 100_000)
        self.assertEqual(batch.sort_by("a").column(1)[99_999].as_py(), "n99999")
        with self.assertRaisesRegex(heddle.UserError, "taken before"):
            pa.record_batch(r)

    def test_as_a_stream(self):
        capsule = self.con.prepare(SCAN).run_on_device().__arrow_c_device_stream__()
        batches = list(batches_of(capsule))
        self.assertGreater(len(batches), 1)
        self.assertEqual(sum(b.num_rows for b in batches), 100_000)

    def test_streams_hold_what_they_need(self):
        r = self.con.prepare(SCAN).run_on_device()
        keeper = unittest.mock.Mock()
        gone = weakref.ref(keeper)
        capsule = _device._capsule(_device._holding(r._take(), keeper), _device.STREAM)
        del keeper
        first = next(batches_of(capsule))
        del capsule
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(first.num_columns, 2)
        del first
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual((_device._streams, _device._held), ({}, {}))

    def test_no_rows(self):
        r = self.con.prepare({"heddle": 1, "root": {"op": "scan", "table": "t", "filter": "a < 0"}}).run_on_device()
        self.assertEqual(pa.record_batch(r).num_rows, 0)

    def test_is_registered(self):
        self.con.register("u", self.con.prepare(SCAN).run_on_device())
        self.assertEqual(self.con.rows("u"), 100_000)

    def test_capsules_that_nobody_takes(self):
        r = self.con.prepare(SCAN).run_on_device()
        capsules = r.__arrow_c_device_array__()
        del capsules, r
        gc.collect()
        r = self.con.prepare(SCAN).run_on_device()  # nor the result
        del r
        gc.collect()
        self.assertEqual(_device._lent, {})

    def test_parameters_and_sql(self):
        s = self.con.prepare({"heddle": 1, "params": {"n": {"type": "int64"}},
                              "root": {"op": "scan", "table": "t", "filter": "a < :n"}})
        self.assertEqual([pa.record_batch(s.run_on_device(n=n)).num_rows for n in (1, 5)], [1, 5])


class Capsules(unittest.TestCase):
    """Those that this package makes of structures, as of a GPU's."""

    def taken(self):
        capsules = pa.record_batch({"a": [7, 8]}).__arrow_c_device_array__()
        made = []
        for kind, capsule, name in zip((_native.Schema, _device.DeviceArray), capsules, (_device.SCHEMA, _device.ARRAY)):
            of, to = _device._struct(kind, capsule, name), kind()
            ctypes.memmove(ctypes.addressof(to), ctypes.addressof(of), ctypes.sizeof(kind))
            base = of.array if kind is _device.DeviceArray else of
            ctypes.memset(ctypes.addressof(base) + type(base).release.offset, 0, ctypes.sizeof(ctypes.c_void_p))
            made.append(to)
        return made

    def test_are_read(self):
        schema, array = self.taken()
        schema, array = _device._capsule(schema, _device.SCHEMA), _device._capsule(array, _device.ARRAY)
        batch = pa.record_batch(only("__arrow_c_device_array__", lambda **_: (schema, array)))
        self.assertEqual(batch.to_pydict(), {"a": [7, 8]})
        del schema, array
        self.assertEqual(_device._lent, {})

    def test_hold_what_they_need(self):
        schema, array = self.taken()
        keeper = unittest.mock.Mock()
        _device._hold(array, keeper)
        gone = weakref.ref(keeper)
        del keeper
        self.assertIsNotNone(gone())
        capsules = _device._capsule(schema, _device.SCHEMA), _device._capsule(array, _device.ARRAY)
        batch = pa.record_batch(only("__arrow_c_device_array__", lambda **_: capsules))
        del capsules, array
        self.assertIsNotNone(gone())
        self.assertEqual(batch.num_rows, 2)
        del batch
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
