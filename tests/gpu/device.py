#!/usr/bin/env python3
"""Results that stay on a GPU, and tables that are there already, with CuPy or PyTorch on the other side of the Arrow C
Device Interface.

Usage: device.py --library libheddle.so --db DIR [--repeat N] [--only Cupy|Torch] [--layouts ROWS]

DB is TPC-H. Of each query the columns on the device are compared with those on the host, and the time of both ways is
told; then arrays of CuPy or PyTorch are registered, and sums over them compared, and a result with strings and bools, and what
it says compared; then every layout that pyarrow makes, whole, sliced and in chunks, against the same from the host. Exit status
77: neither library is there.
"""

import argparse
import ctypes
import datetime
import decimal
import functools
import json
import sys
import time

P = ctypes.c_void_p


class Schema(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", P), ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", P), ("release", P), ("private_data", P)]


class Array(ctypes.Structure):
    pass


Array._fields_ = [(n, ctypes.c_int64) for n in ("length", "null_count", "offset", "n_buffers", "n_children")] + [
    ("buffers", ctypes.POINTER(P)), ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", P), ("release", P), ("private_data", P)]


class DeviceArray(ctypes.Structure):
    _fields_ = [("array", Array), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32), ("sync_event", P), ("reserved", ctypes.c_int64 * 3)]


class DeviceStream(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32)] + [(n, P) for n in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class Stream(ctypes.Structure):
    _fields_ = [(n, P) for n in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


CUDA, MANAGED = 2, 13
TYPES = {"i": ("int32", 4), "l": ("int64", 8), "f": ("float32", 4), "g": ("float64", 8), "tdD": ("int32", 4), "tsu:": ("int64", 8), "ttu": ("int64", 8)}


class Options(ctypes.Structure):
    """heddle_options as far as needed: a GPU is asked for, where `auto` might take the CPU."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int), ("memory_limit", ctypes.c_uint64), ("cache_dir", ctypes.c_char_p),
                ("cache_limit", ctypes.c_uint64), ("backend", ctypes.c_char_p), ("device", ctypes.c_int)]


class Heddle:
    def __init__(self, library, db):
        self.lib = ctypes.CDLL(library)
        self.lib.heddle_error_message.restype = ctypes.c_char_p
        self.context, self.db = P(), P()
        options = Options(struct_size=ctypes.sizeof(Options), backend=b"cuda")
        self.call("heddle_context_new", ctypes.byref(options), ctypes.byref(self.context))
        self.call("heddle_database_open", self.context, db.encode(), 0, ctypes.byref(self.db))

    def call(self, name, *args):
        error = P()
        if getattr(self.lib, name)(*args, ctypes.byref(error)) != 0:
            raise RuntimeError(f"{name}: {self.lib.heddle_error_message(error).decode()}")

    def prepare(self, root):
        s = P()
        self.call("heddle_prepare", self.db, json.dumps({"heddle": 1, "root": root}).encode(), None, ctypes.byref(s))
        return s

    def free(self, s):
        self.lib.heddle_statement_free(s)


def method(thing, name, *types):
    return ctypes.CFUNCTYPE(ctypes.c_int, P, *types)(getattr(thing, name))


def release(thing):
    if thing.release:
        ctypes.CFUNCTYPE(None, P)(thing.release)(ctypes.addressof(thing))


def pull(stream, item, kind):
    """Schema and batches of a stream of either kind."""
    schema, batches = Schema(), []
    assert method(stream, "get_schema", P)(ctypes.addressof(stream), ctypes.addressof(schema)) == 0
    while True:
        batch = item()
        assert method(stream, "get_next", P)(ctypes.addressof(stream), ctypes.addressof(batch)) == 0
        if not kind(batch).release:
            return schema, batches
        batches.append(batch)


class Cupy:
    def __init__(self):
        import cupy
        self.xp = cupy

    def host(self, address, n, dtype, size):
        """A copy on the host of memory of the device."""
        memory = self.xp.cuda.UnownedMemory(address, n * size, None)
        return self.xp.asnumpy(self.xp.ndarray((n,), dtype, self.xp.cuda.MemoryPointer(memory, 0)))

    def make(self, n):
        self.xp.cuda.runtime.deviceSynchronize()
        a = self.xp.arange(n, dtype="int64")
        f = a.astype("float64") / 3
        self.xp.cuda.runtime.deviceSynchronize()
        return [("l", a, a.data.ptr), ("g", f, f.data.ptr)]


    def copy(self, data):
        """Bytes on the device: what holds them, and their address."""
        import numpy
        a = self.xp.asarray(numpy.frombuffer(data, dtype="uint8"))
        self.xp.cuda.runtime.deviceSynchronize()
        return a, a.data.ptr

    def late(self, n):
        """Numbers that another stream writes, and the event behind that."""
        stream, event = self.xp.cuda.Stream(non_blocking=True), self.xp.cuda.Event()
        with stream:
            a = self.xp.zeros(n, dtype="int64")
            for _ in range(100):
                a += 1
            event.record(stream)
        return a, a.data.ptr, event.ptr, event

    def managed(self, n):
        memory = self.xp.cuda.malloc_managed(n * 8)
        a = self.xp.ndarray((n,), "int64", memory)
        a[:] = self.xp.arange(n)
        self.xp.cuda.runtime.deviceSynchronize()
        return a, memory.ptr


class Torch:
    def __init__(self):
        import torch
        self.torch = torch
        if not torch.cuda.is_available():
            raise ImportError("PyTorch without CUDA")

    def host(self, address, n, dtype, size):
        class Foreign:
            __cuda_array_interface__ = {"shape": (n,), "typestr": f"<{'f' if dtype[0] == 'f' else 'i'}{size}", "data": (address, False), "version": 2}
        return self.torch.as_tensor(Foreign(), device="cuda").cpu().numpy()

    def copy(self, data):
        a = self.torch.frombuffer(bytearray(data), dtype=self.torch.uint8).cuda()
        self.torch.cuda.synchronize()
        return a, a.data_ptr()

    def make(self, n):
        a = self.torch.arange(n, dtype=self.torch.int64, device="cuda")
        f = a.double() / 3
        self.torch.cuda.synchronize()
        return [("l", a, a.data_ptr()), ("g", f, f.data_ptr())]


def compare(library, schema, far, near):
    """Columns of numbers, in the order of both; NULL rows are those of the bitmaps."""
    import numpy
    compared = 0
    for c in range(schema.n_children):
        kind = TYPES.get(schema.children[c].contents.format.decode())
        if not kind:
            continue
        a = far.array.children[c].contents
        found = library.host(a.buffers[1], a.length, *kind)
        wanted = numpy.concatenate([numpy.ctypeslib.as_array((ctypes.c_byte * (b.children[c].contents.length * kind[1])).from_address(
            b.children[c].contents.buffers[1])).view(kind[0]) for b in near])
        nulls = sum(max(b.children[c].contents.null_count, 0) for b in near)
        assert a.null_count == nulls and (nulls or numpy.array_equal(found, wanted)), f"column {c} differs"
        compared += 1
    return compared


def run_both(h, library, name, root, repeat):
    s = h.prepare(root)
    times = {"device": [], "host": []}
    for _ in range(repeat):
        far, near = DeviceStream(), Stream()
        begin = time.perf_counter()
        h.call("heddle_statement_execute_device", s, ctypes.byref(far))
        times["device"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        h.call("heddle_execute", s, ctypes.byref(near))
        times["host"].append(time.perf_counter() - begin)
        assert far.device_type == CUDA, "the plan did not run on a GPU"
        schema, far_batches = pull(far, DeviceArray, lambda b: b.array)
        near_schema, near_batches = pull(near, Array, lambda b: b)
        rows = sum(b.length for b in near_batches)
        assert sum(b.array.length for b in far_batches) == rows
        n = compare(library, schema, far_batches[0], near_batches) if rows else 0
        for thing in [schema, near_schema, far, near, *near_batches, *(b.array for b in far_batches)]:
            release(thing)
    h.free(s)
    print(f"{name}: {rows} rows, {n} columns of numbers alike; device {min(times['device']) * 1e3:.3f} ms, host {min(times['host']) * 1e3:.3f} ms")


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))


@RELEASE_SCHEMA
def release_schema(s):
    s.contents.release = None


@RELEASE_ARRAY
def release_array(a):
    a.contents.release = None


def register(h, table, columns, rows, event=None, device_type=CUDA):
    """What must live as long as the table is what this returns."""
    kinds, arrays = [], []
    for i, (form, _, address) in enumerate(columns):
        kinds.append(Schema(format=form.encode(), name=f"c{i}".encode(), release=ctypes.cast(release_schema, P)))
        buffers = (P * 2)(None, address)
        arrays.append(Array(length=rows, n_buffers=2, buffers=buffers, release=ctypes.cast(release_array, P)))
    n = len(columns)
    all_kinds = (ctypes.POINTER(Schema) * n)(*map(ctypes.pointer, kinds))
    all_arrays = (ctypes.POINTER(Array) * n)(*map(ctypes.pointer, arrays))
    schema = Schema(format=b"+s", n_children=n, children=all_kinds, release=ctypes.cast(release_schema, P))
    batch = DeviceArray(array=Array(length=rows, n_buffers=1, buffers=(P * 1)(None), n_children=n, children=all_arrays,
                                    release=ctypes.cast(release_array, P)), device_type=device_type, sync_event=event)
    h.call("heddle_database_register_device", h.db, table.encode(), ctypes.byref(schema), ctypes.byref(batch))
    return columns, kinds, arrays, all_kinds, all_arrays


def register_and_sum(h, library, rows):
    kept = register(h, "far", library.make(rows), rows)
    s = h.prepare({"op": "aggregate", "keys": [], "aggs": [{"fn": "sum", "arg": "c0", "as": "s"}, {"fn": "max", "arg": "c1", "as": "m"}],
                   "input": {"op": "scan", "table": "far", "filter": "c0 % 2 = 1"}})
    stream = Stream()
    h.call("heddle_execute", s, ctypes.byref(stream))
    schema, (batch,) = pull(stream, Array, lambda b: b)
    wanted = sum(range(1, rows, 2))
    found = int.from_bytes(ctypes.string_at(batch.children[0].contents.buffers[1], 8), "little")
    most = ctypes.c_double.from_address(batch.children[1].contents.buffers[1]).value
    assert found == wanted, (found, wanted)
    last = rows - 1 if rows % 2 == 0 else rows - 2
    assert most == last / 3, (most, last / 3)
    for thing in (schema, batch, stream):
        release(thing)
    h.free(s)
    h.call("heddle_database_drop", h.db, b"far")
    print(f"a table of {rows} rows on the device, without a copy: sum and largest value right ({len(kept[0])} columns)")


def same(h, plan):
    """The rows of a plan of one batch, as bytes of each column's last buffer."""
    s, stream = h.prepare(plan), Stream()
    h.call("heddle_execute", s, ctypes.byref(stream))
    schema, (batch,) = pull(stream, Array, lambda b: b)
    rows = []
    for c in range(batch.n_children):
        a = batch.children[c].contents
        if schema.children[c].contents.format == b"u":
            ends = ctypes.cast(a.buffers[1], ctypes.POINTER(ctypes.c_int32))[:a.length + 1]
            rows.append([ctypes.string_at(a.buffers[2] + ends[i], ends[i + 1] - ends[i]) for i in range(a.length)])
        else:
            rows.append(ctypes.string_at(a.buffers[1], 8 * a.length))
    for thing in (schema, batch, stream):
        release(thing)
    h.free(s)
    return rows


def register_result(h):
    """Strings and bools of a result that lies on the device, as a table."""
    s, far = h.prepare({"op": "project", "input": {"op": "scan", "table": "orders"}, "exprs": [
        "o_orderkey", "o_comment", "o_orderpriority", {"expr": "o_totalprice > 150000", "as": "large"},
        {"expr": "case when o_orderkey % 3 = 0 then o_comment end", "as": "clerk"}]}), DeviceStream()
    h.call("heddle_statement_execute_device", s, ctypes.byref(far))
    schema, (batch,) = pull(far, DeviceArray, lambda b: b.array)
    rows = batch.array.length
    begin = time.perf_counter()
    h.call("heddle_database_register_device", h.db, b"again", ctypes.byref(schema), ctypes.byref(batch))
    ms = (time.perf_counter() - begin) * 1e3
    release(far)
    h.free(s)

    def summary(table, large, clerk):
        return {"op": "sort", "keys": ["o_orderpriority"], "input": {"op": "aggregate", "keys": ["o_orderpriority"], "aggs": [
            {"fn": "max", "arg": "o_comment", "as": "m"}, {"fn": "sum", "arg": "octet_length(o_comment)", "as": "bytes"},
            {"fn": "count_if", "arg": large, "as": "n"}, {"fn": "min", "arg": clerk, "as": "c"}], "input": {"op": "scan", "table": table}}}
    found = same(h, summary("again", "large", "clerk"))
    wanted = same(h, summary("orders", "o_totalprice > 150000", "case when o_orderkey % 3 = 0 then o_comment end"))
    assert found == wanted, (found, wanted)
    h.call("heddle_database_drop", h.db, b"again")
    print(f"a result of {rows} rows as a table of the device: strings, bools alike; registered in {ms:.3f} ms")


# ---- every layout ---------------------------------------------------------------------------------

@functools.cache
def columns(pa, n):
    """Of every type of pyarrow that Heddle accepts, without NULLs and with, and dictionaries."""
    numbers = [(i * 2654435761) % 1000003 for i in range(n)]
    day = datetime.date(1970, 1, 1)
    texts = [("", "é", "twelve bytes", "thirteen bytes", "a somewhat longer one, €")[k % 5] + str(k % 13) for k in numbers]
    made = {"k": pa.array(range(n), pa.int64())}
    for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        kind = getattr(pa, kind)()
        wrap = 1 << (kind.bit_width - (not str(kind).startswith("u")))
        made[str(kind)] = pa.array([k * k % min(wrap, 1 << 62) for k in numbers], kind)
    import numpy
    made["half"] = pa.array(numpy.array([k % 2000 / 8 for k in numbers], "float16"))
    made["float"], made["double"] = (pa.array([k / 3 for k in numbers], t) for t in (pa.float32(), pa.float64()))
    made["bool"] = pa.array([k % 3 == 0 for k in numbers])
    for kind in (t for t in ("decimal32", "decimal64", "decimal128", "decimal256") if hasattr(pa, t)):
        made[kind] = pa.array([decimal.Decimal(k).scaleb(-2) for k in numbers], getattr(pa, kind)(9, 2))
    made["date32"], made["date64"] = (pa.array([day + datetime.timedelta(k % 20000) for k in numbers], t) for t in (pa.date32(), pa.date64()))
    for unit in ("s", "ms", "us", "ns"):
        step = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[unit]
        made[f"stamp {unit}"] = pa.array([k * step for k in numbers], pa.timestamp(unit))
        time = (pa.time32 if unit in ("s", "ms") else pa.time64)(unit)
        made[f"time {unit}"] = pa.array([k % 86400 * step for k in numbers], time)
    made["interval"] = pa.array([pa.MonthDayNano([k % 12, k % 31, k * 1000]) for k in numbers])
    for name in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view"):
        if hasattr(pa, name):
            kind = getattr(pa, name)()
            made[name] = pa.array([t if "string" in name else t.encode() for t in texts], kind)
    made["fixed"] = pa.array([b"%05d" % (k % 100000) for k in numbers], pa.binary(5))
    made["codes"] = pa.array(texts).dictionary_encode()
    made["codes of numbers"] = pa.array([k % 50 for k in numbers]).dictionary_encode()
    for name in list(made)[1:]:
        a = made[name]
        nulls = pa.array([k % 4 == 1 for k in numbers])
        if pa.types.is_dictionary(a.type):
            made[name + " null"] = pa.DictionaryArray.from_arrays(
                pa.array([None if k % 4 == 1 else c for k, c in zip(numbers, a.indices.to_pylist())], pa.int16()), a.dictionary)
        else:
            values = [None if null else v for null, v in zip(nulls.to_pylist(), a.to_pylist())]
            made[name + " null"] = pa.array(values, a.type)
    made["nothing"] = pa.nulls(n)
    return made


def move(library, a, column, kept):
    """The buffers of an exported column become copies on the device."""
    for k, b in enumerate(column.buffers()[:a.n_buffers]):
        if b is not None and b.size:
            memory, a.buffers[k] = library.copy(b)
            kept.append(memory)
    if a.dictionary:
        move(library, Array.from_address(a.dictionary), column.dictionary, kept)


GET = ctypes.CFUNCTYPE(ctypes.c_int, P, P)


def device_stream(library, schema, batches):
    """And what must live as long as the table."""
    kept, rest = [], list(batches)

    def get_schema(_, out):
        schema._export_to_c(out)
        return 0

    def get_next(_, out):
        ctypes.memset(out, 0, ctypes.sizeof(DeviceArray))
        if not rest:
            return 0
        batch, to = rest.pop(0), DeviceArray.from_address(out)
        batch._export_to_c(ctypes.addressof(to.array))
        to.device_type = CUDA
        for i, column in enumerate(batch.columns):
            move(library, to.array.children[i].contents, column, kept)
        return 0

    stream = DeviceStream(device_type=CUDA)
    functions = {"get_schema": GET(get_schema), "get_next": GET(get_next), "get_last_error": ctypes.CFUNCTYPE(P, P)(lambda _: None),
                 "release": ctypes.CFUNCTYPE(None, P)(lambda s: setattr(DeviceStream.from_address(s), "release", None))}
    for name, function in functions.items():
        setattr(stream, name, ctypes.cast(function, P))
    kept.append(functions)
    return stream, kept


def rows_of(h, pa, table):
    s, stream = h.prepare({"op": "sort", "keys": ["k"], "input": {"op": "scan", "table": table}}), Stream()
    h.call("heddle_execute", s, ctypes.byref(stream))
    h.free(s)
    return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()


def same_rows(h, library, pa, name, batches):
    far, kept = device_stream(library, batches[0].schema, batches)
    begin = time.perf_counter()
    h.call("heddle_database_replace_device_stream", h.db, b"far", ctypes.byref(far))
    ms = (time.perf_counter() - begin) * 1e3
    near = Stream()
    pa.RecordBatchReader.from_batches(batches[0].schema, batches)._export_to_c(ctypes.addressof(near))
    h.call("heddle_database_replace", h.db, b"near", ctypes.byref(near), 0)
    found, wanted = rows_of(h, pa, "far"), rows_of(h, pa, "near")
    for column in wanted.column_names:
        assert found[column].equals(wanted[column]), f"{name}: column {column} differs"
    h.call("heddle_database_drop", h.db, b"far")
    h.call("heddle_database_drop", h.db, b"near")
    print(f"{name}: {wanted.num_rows} rows of {wanted.num_columns} columns alike; put there and registered in {ms:.1f} ms")
    return kept


def every_layout(h, library, n):
    import pyarrow as pa
    made = columns(pa, n)
    whole = pa.RecordBatch.from_arrays(list(made.values()), list(made))
    same_rows(h, library, pa, "whole", [whole])
    same_rows(h, library, pa, "from row 13 on", [whole.slice(13)])
    same_rows(h, library, pa, "from row 64 on", [whole.slice(64, n // 2)])
    same_rows(h, library, pa, "in chunks", [whole.slice(n // 2), whole.slice(3, n // 3), whole.slice(0, 3)])


def timed(h, library, rows):
    """What registering takes: dates that are checked where they lie, narrow numbers that are widened, strings in two chunks."""
    import numpy
    import pyarrow as pa
    days = pa.array(numpy.arange(rows, dtype="int32") % 20000).cast(pa.date32())
    small = pa.array((numpy.arange(rows) % 200).astype("uint8"))
    texts = pa.array([f"text number {i % 1000}" for i in range(100_000)])
    texts = pa.concat_arrays([texts] * (rows // 100_000))
    for name, chunks in (("dates, checked", [days]), ("uint8, widened", [small]), ("strings where they lie", [texts]),
                         ("strings in two chunks", [texts.slice(0, rows // 2), texts.slice(rows // 2)])):
        batches = [pa.RecordBatch.from_arrays([c], ["c"]) for c in chunks]
        best = 1e9
        for _ in range(4):
            stream, kept = device_stream(library, batches[0].schema, batches)
            arrays = []
            while True:  # copies to the device are not what is timed
                a = DeviceArray()
                method(stream, "get_next", P)(ctypes.addressof(stream), ctypes.addressof(a))
                if not a.array.release:
                    break
                arrays.append(a)
            ready, rest = stream.get_next, list(arrays)

            def get_next(_, out):
                ctypes.memset(out, 0, ctypes.sizeof(DeviceArray))
                if rest:
                    ctypes.memmove(out, ctypes.addressof(rest.pop(0)), ctypes.sizeof(DeviceArray))
                return 0
            replaced = GET(get_next)
            stream.get_next = ctypes.cast(replaced, P)
            begin = time.perf_counter()
            h.call("heddle_database_replace_device_stream", h.db, b"timed", ctypes.byref(stream))
            best = min(best, time.perf_counter() - begin)
            h.call("heddle_database_drop", h.db, b"timed")
            del ready, kept
        size = sum(b.nbytes for b in batches)
        print(f"{name}: {rows} rows, {size / 1e6:.0f} MB registered in {best * 1e3:.3f} ms, {size / best / 1e9:.0f} GB/s")


def other_memory(h, library, n=100_000):
    """Of another stream, behind its event; managed by the driver."""
    a, address, event, keep = library.late(n)
    handle = P(event)
    kept = register(h, "late", [("l", a, address)], n, ctypes.addressof(handle))
    managed, address = library.managed(n)
    kept += register(h, "managed", [("l", managed, address)], n, device_type=MANAGED)
    for table, wanted in (("late", 100 * n), ("managed", n * (n - 1) // 2)):
        s, stream = h.prepare({"op": "aggregate", "keys": [], "aggs": [{"fn": "sum", "arg": "c0", "as": "s"}],
                               "input": {"op": "scan", "table": table}}), Stream()
        h.call("heddle_execute", s, ctypes.byref(stream))
        schema, (batch,) = pull(stream, Array, lambda b: b)
        found = int.from_bytes(ctypes.string_at(batch.children[0].contents.buffers[1], 8), "little")
        assert found == wanted, (table, found, wanted)
        for thing in (schema, batch, stream):
            release(thing)
        h.free(s)
        h.call("heddle_database_drop", h.db, table.encode())
    print("memory behind an event, managed memory: sums right")
    del kept, keep


QUERIES = {
    "orders": {"op": "sort", "keys": ["o_orderkey"], "input": {"op": "scan", "table": "orders",
               "columns": ["o_orderkey", "o_custkey", "o_orderdate", "o_totalprice", "o_comment"]}},
    "groups": {"op": "sort", "keys": ["l_suppkey"], "input": {"op": "aggregate", "keys": ["l_suppkey"], "input": {"op": "scan", "table": "lineitem"},
               "aggs": [{"fn": "count", "as": "n"}, {"fn": "avg", "arg": "l_quantity", "as": "q"}]}},
    "nothing": {"op": "scan", "table": "orders", "filter": "o_orderkey < 0"},
}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--library", required=True)
    p.add_argument("--db", required=True)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--only", choices=("Cupy", "Torch"))
    p.add_argument("--layouts", type=int, metavar="ROWS", help="of tables of every layout; nothing else is tried")
    args = p.parse_args()
    libraries = []
    for kind in (k for k in (Cupy, Torch) if args.only in (None, k.__name__)):
        try:
            libraries.append(kind())
        except ImportError as missing:
            print(f"{kind.__name__}: {missing}")
    if not libraries:
        sys.exit(77)
    h = Heddle(args.library, args.db)
    for library in libraries:
        print(type(library).__name__)
        if args.layouts:
            every_layout(h, library, args.layouts)
            continue
        for name, root in QUERIES.items():
            run_both(h, library, name, root, args.repeat)
        for rows in (2, 31, 1_000_000, 10_000_001):
            register_and_sum(h, library, rows)
        every_layout(h, library, 70_000)
        if isinstance(library, Cupy):
            other_memory(h, library)
            timed(h, library, 20_000_000)
    if not args.layouts:
        register_result(h)


if __name__ == "__main__":
    main()
