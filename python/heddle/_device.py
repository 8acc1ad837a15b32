"""Arrow's PyCapsule interface of devices: tables that lie on a GPU, and results that stay there."""
from __future__ import annotations

import ctypes
from typing import Any

from . import _native as native
from ._errors import InterfaceError, UserError
from ._result import Profile

CPU = 1  # ARROW_DEVICE_CPU
SCHEMA, ARRAY, STREAM = b"arrow_schema", b"arrow_device_array", b"arrow_device_array_stream"
_Address = ctypes.c_void_p
_Get = ctypes.CFUNCTYPE(ctypes.c_int, _Address, _Address)


class DeviceArray(ctypes.Structure):
    """struct ArrowDeviceArray"""
    _fields_ = [("array", native.Array), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32),
                ("sync_event", _Address), ("reserved", ctypes.c_int64 * 3)]


class DeviceStream(ctypes.Structure):
    """struct ArrowDeviceArrayStream"""


DeviceStream._fields_ = [("device_type", ctypes.c_int32), ("get_schema", _Get), ("get_next", _Get),
                         ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, _Address)),
                         ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(DeviceStream))), ("private_data", _Address)]


# ---- capsules -------------------------------------------------------------------------------------

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [_Address, ctypes.c_char_p, _Address]
_lent = {}  # address: what a capsule points to, and its name
# Of a capsule that goes, so without a reference of its own.
_address_of = ctypes.PYFUNCTYPE(_Address, _Address, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, _Address)(("PyCapsule_GetName", ctypes.pythonapi))


@ctypes.PYFUNCTYPE(None, _Address)
def _drop(capsule):
    """Whoever took what is in it has set `release` to NULL."""
    thing = _lent.pop(_address_of(capsule, _name_of(capsule)))
    _release(thing)


def _capsule(thing, name):
    address = ctypes.addressof(thing)
    _lent[address] = thing
    return _new(address, name, ctypes.cast(_drop, _Address))


def _release(thing):
    base = thing.array if isinstance(thing, DeviceArray) else thing
    if base.release:
        base.release(base)


def _struct(kind, capsule, name):
    return kind.from_address(native.pointer_of(capsule, name))


# ---- tables ---------------------------------------------------------------------------------------

class Foreign:
    """What lies on a device: one array with its schema, or a stream; and what must live until they are taken."""

    def __init__(self, keep, stream=None, schema=None, array=None):
        self.keep, self.stream, self.schema, self.array = keep, stream, schema, array


def foreign(data: Any):
    """None: it lies on the host, or says nothing of devices."""
    host = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    if hasattr(data, "__arrow_c_device_stream__"):
        capsule = data.__arrow_c_device_stream__()
        stream = _struct(DeviceStream, capsule, STREAM)
        return None if host and stream.device_type == CPU else Foreign(capsule, stream=stream)
    if hasattr(data, "__arrow_c_device_array__"):
        capsules = data.__arrow_c_device_array__()
        schema, array = _struct(native.Schema, capsules[0], SCHEMA), _struct(DeviceArray, capsules[1], ARRAY)
        return None if host and array.device_type == CPU else Foreign(capsules, schema=schema, array=array)
    return None


def register(db, name: str, data: Foreign, replace: bool) -> None:
    """Takes over what there is, also where it fails."""
    lib = native.lib
    if data.stream is not None:
        function = lib.heddle_database_replace_device_stream if replace else lib.heddle_database_register_device_stream
        native.call(function, db, name.encode(), ctypes.byref(data.stream))
        return
    function = lib.heddle_database_replace_device if replace else lib.heddle_database_register_device
    native.call(function, db, name.encode(), ctypes.byref(data.schema), ctypes.byref(data.array))


def _next(stream) -> DeviceArray:
    array = DeviceArray()
    _check(stream, stream.get_next(ctypes.addressof(stream), ctypes.addressof(array)))
    return array


def _check(stream, status):
    if status:
        text = stream.get_last_error(ctypes.addressof(stream))
        raise InterfaceError(f"the Arrow stream failed: {text.decode('utf-8', 'replace') if text else status}")


def _schema(stream) -> native.Schema:
    schema = native.Schema()
    _check(stream, stream.get_schema(ctypes.addressof(stream), ctypes.addressof(schema)))
    return schema


# ---- results --------------------------------------------------------------------------------------

_held = {}  # private_data of an array on a GPU: its own release, and the statement that keeps the device open


@native.Array._fields_[8][1]
def _release_held(array):
    release, statement = _held.pop(array.contents.private_data)
    array.contents.release = release
    release(array)
    del statement


def _hold(array, statement):
    release = array.array.release
    _held[array.array.private_data] = type(release)(ctypes.cast(release, _Address).value), statement
    array.array.release = _release_held


class _Holding:
    """A stream over another one, whose arrays keep the statement."""

    def __init__(self, inner, statement):
        self.inner, self.statement = inner, statement
        fields = dict(DeviceStream._fields_)
        self.stream = DeviceStream(inner.device_type, *(fields[n](getattr(self, n)) for n in (
            "get_schema", "get_next", "get_last_error", "release")))

    def get_schema(self, _, out):
        return self.inner.get_schema(ctypes.addressof(self.inner), out)

    def get_next(self, _, out):
        status = self.inner.get_next(ctypes.addressof(self.inner), out)
        array = DeviceArray.from_address(out)
        if status == 0 and array.array.release:
            _hold(array, self.statement)
        return status

    def get_last_error(self, _):
        return self.inner.get_last_error(ctypes.addressof(self.inner))

    def release(self, stream):
        _streams.pop(stream.contents.private_data)
        stream.contents.release = type(stream.contents.release)()
        _release(self.inner)


_streams = {}  # private_data: those that are not released


def _holding(inner, statement) -> DeviceStream:
    made = _Holding(inner, statement)
    made.stream.private_data = id(made)
    _streams[id(made)] = made
    return made.stream


class DeviceResult:
    """The rows of one run where they were made: on a GPU one batch in its memory, else on the host.

    It offers them once, as an array or a stream, to whoever reads Arrow's PyCapsule interface of devices, such as cuDF,
    or `con.register("t", result)`. Connection and GPU stay open until the rows are released.

    >>> import heddle, pyarrow
    >>> con = heddle.connect(backend="cpu")
    >>> con.register("t", {"a": [1, 2]})
    >>> r = con.prepare({"heddle": 1, "root": {"op": "scan", "table": "t"}}).run_on_device()
    >>> r.device_type     # 1: the host, 2: CUDA
    1
    >>> pyarrow.record_batch(r).num_rows
    2
    """

    def __init__(self, stream: DeviceStream, report: str, statement):
        self._stream = stream  # until it is taken
        self._statement = statement
        #: What the run did, and how long it took.
        self.profile = Profile(report, statement)
        #: `ARROW_DEVICE_CPU` or `ARROW_DEVICE_CUDA`
        self.device_type: int = stream.device_type

    def __del__(self):
        stream, self._stream = self._stream, None
        if stream is not None:
            _release(stream)

    def _take(self):
        stream, self._stream = self._stream, None
        if stream is None:
            raise UserError("the rows were taken before")
        return stream

    def __arrow_c_device_stream__(self, requested_schema=None, **_):
        stream = self._take()
        return _capsule(stream if self.device_type == CPU else _holding(stream, self._statement), STREAM)

    def __arrow_c_device_array__(self, requested_schema=None, **_):
        stream = self._take()
        try:
            if self.device_type == CPU:
                return _on_host(stream).__arrow_c_device_array__(requested_schema)
            schema, array = _schema(stream), _next(stream)
        finally:
            _release(stream)
        if not array.array.release:  # no rows lie nowhere
            return _empty(schema).__arrow_c_device_array__(requested_schema)
        _hold(array, self._statement)
        return _capsule(schema, SCHEMA), _capsule(array, ARRAY)


def _empty(schema):
    import pyarrow
    return pyarrow.RecordBatch.from_pylist([], schema=pyarrow.Schema._import_from_c(ctypes.addressof(schema)))


def _on_host(stream):
    """All batches of a stream of the host as one."""
    import pyarrow
    batches = []
    while (array := _next(stream)).array.release:
        schema = _schema(stream)
        batches.append(pyarrow.RecordBatch._import_from_c_device(ctypes.addressof(array), ctypes.addressof(schema)))
    if not batches:
        return _empty(_schema(stream))
    return pyarrow.Table.from_batches(batches).combine_chunks().to_batches()[0]
