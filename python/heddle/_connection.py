"""Connections, tables and prepared statements."""
from __future__ import annotations

import ctypes
import datetime
import decimal
import json
import os
import threading
from typing import Any, Mapping, Sequence, TypeGuard, Union

from . import _device
from . import _keys
from . import _native as native
from ._device import DeviceResult
from ._errors import IoError, UnsupportedError, UserError
from ._result import Result

Plan = Union[dict, str, bytes, os.PathLike]
Params = Union[Mapping[str, Any], Sequence[Any], None]


def connect(path: str | os.PathLike | None = None, *, threads: int = 0, memory_limit: int = 0,
            backend: str | None = None, device: int | str | Sequence[int] = 0, cache_dir: str | None = None,
            trust: bool = False, partial: bool = False, no_mmap: bool = False, temp_dir: str | os.PathLike | None = None, temp_limit: int = 0,
            device_memory: int = 0, pin: int = 0) -> Connection:
    """Opens the database in a directory, or the partitions of one ([docs/storage.md]), or without a path an empty one in memory.

    `threads`: of a query, 0 for one a core. `memory_limit`: bytes for the state of queries, 0 for 80 % of the memory.
    `backend`: "cpu", "cuda", or "auto", which takes what is estimated to end first. `device`: number of the GPU; or
    several, such as [0, 1], or "all", which run a query of backend "cuda" together where it gains. `cache_dir`: of
    compiled plans, "" for none. `trust`: files are not verified. `partial`: of some partitions there are only catalogs: plans can be
    cut, and run over a segment whose partition is there. `no_mmap`: files are read at first use, not mapped. `temp_dir`: where state beyond the memory limit goes, "" for
    nowhere; by default $TMPDIR or /var/tmp where there is a limit. `temp_limit`: bytes of it, 0 for what the disk has.
    `device_memory`: bytes of a GPU's memory for columns and state, 0 for most of what is free; columns beyond it are
    streamed. `pin`: bytes of page-locked memory for copies of these.

    >>> import heddle
    >>> con = heddle.connect()
    >>> con.tables()
    []
    """
    return Connection(path, threads=threads, memory_limit=memory_limit, backend=backend, device=device,
                      cache_dir=cache_dir, trust=trust, partial=partial, no_mmap=no_mmap, temp_dir=temp_dir, temp_limit=temp_limit,
                      device_memory=device_memory, pin=pin)


def new_context(threads=0, memory_limit=0, backend=None, device=0, cache_dir=None, no_mmap=False, temp_dir=None,
                temp_limit=0, device_memory=0, pin=0) -> native.Owner:
    """A heddle_context."""
    devices = device if isinstance(device, str) else None if isinstance(device, int) else ",".join(map(str, device))
    options = native.Options(struct_size=ctypes.sizeof(native.Options), threads=threads, memory_limit=memory_limit,
                             cache_dir=None if cache_dir is None else os.fsencode(cache_dir),
                             backend=backend.encode() if backend else None, device=0 if devices is not None else device,
                             devices=None if devices is None else devices.encode(), no_mmap=int(no_mmap),
                             temp_dir=None if temp_dir is None else os.fsencode(temp_dir), temp_limit=temp_limit,
                             device_memory=device_memory, pin=pin)
    context = native.Owner(native.lib.heddle_context_free)
    native.call(native.lib.heddle_context_new, ctypes.byref(options), ctypes.byref(context.handle))
    return context


class Connection:
    """A database: stored tables, which are read only, and tables in memory. Any thread may use it."""

    def __init__(self, path=None, *, trust=False, partial=False, **options):
        self._context = new_context(**options)
        self._db = native.Owner(native.lib.heddle_database_free, self._context)
        native.call(native.lib.heddle_database_open, self._context.get(), None if path is None else os.fsencode(path),
                    int(trust) + 2 * int(partial), ctypes.byref(self._db.handle))
        self.path = None if path is None else os.fspath(path)
        self._sql = None  # made at the first con.sql
        self._lock = threading.Lock()
        self._version = 0  # of the set of tables

    # -- life --

    def close(self) -> None:
        """Closes the database. Results that are there keep their rows; statements can still be used."""
        self._db.close()
        self._context.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<heddle.Connection {self.path or 'in memory'}>"

    # -- tables --

    def tables(self) -> list[str]:
        """Names of all tables, stored ones first."""
        lib, db = native.lib, self._db.get()
        with self._lock:  # a name lives as long as its table
            names = [lib.heddle_database_table_name(db, i) for i in range(lib.heddle_database_table_count(db))]
        return [n.decode() for n in names if n is not None]

    def schema(self, table: str):
        """Names and types of a table's columns, and whether they may be NULL, as a `pyarrow.Schema`.

        >>> import heddle
        >>> con = heddle.connect()
        >>> con.register("t", {"a": [1, None], "b": ["x", "y"]})
        >>> con.schema("t").names
        ['a', 'b']
        """
        import pyarrow
        made = native.Schema()
        native.call(native.lib.heddle_database_table_schema, self._db.get(), table.encode(), ctypes.byref(made))
        return pyarrow.Schema._import_from_c(ctypes.addressof(made))

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        n = ctypes.c_int64()
        native.call(native.lib.heddle_database_table_rows, self._db.get(), table.encode(), ctypes.byref(n))
        return n.value

    def catalog(self) -> dict:
        """Tables, columns, keys and facts, as stored ([docs/storage.md])."""
        return json.loads(native.text(native.lib.heddle_database_catalog, self._db.get()))

    def register(self, name: str, data: Any, *, facts: bool | None = None, replace: bool = True, primary_key: Any = None,
                 foreign_keys: Mapping[Any, Any] | None = None) -> None:
        """Makes a table in memory of whatever has `__arrow_c_stream__` or `__arrow_c_array__`: a table of pyarrow, a
        DataFrame of polars or pandas, a reader, the result of a query; or of a dict of columns. What has
        `__arrow_c_device_array__` or `__arrow_c_device_stream__` and lies on the connection's GPU, such as a DataFrame
        of cuDF, stays there, for plans on backend cuda, without keys.

        Numbers and strings are used where they are, without a copy, where the layout allows. A table in memory of
        this name is replaced. Nobody may change the data as long as the table is there. `facts`: ranges and distinct
        values, by which plans choose ways and the order of joins, are computed: None, of a column when a query gains by
        them, once; True, of all columns now; False, never.

        `primary_key`: a column or several, "a" or ["a", "b"]; `foreign_keys`: a column, or several, and the table whose
        primary key it refers to, or a table and its columns. They are checked at once, and plans use them as keys of stored
        tables. A foreign key counts as long as the table that it refers to stays.

        >>> import heddle
        >>> con = heddle.connect()
        >>> con.register("t", {"a": [1, 2, 3]})
        >>> con.rows("t")
        3
        >>> con.register("city", {"id": [7, 8], "name": ["Ulm", "Jena"]}, primary_key="id")
        >>> con.register("visit", {"city": [8, 7, 8]}, foreign_keys={"city": "city"})
        >>> con.register("visit", {"city": [8, 9]}, foreign_keys={"city": ("city", "id")})
        Traceback (most recent call last):
        heddle._errors.DataError: visit: foreign key (city): 9 in row 2 is not in city(id)
        """
        if facts not in (None, True, False):
            raise UserError(f"facts: expected None, True or False, found {facts!r}")
        keys = _keys.of_table(name, primary_key, foreign_keys, self.catalog)
        self._db.get()
        with self._lock:
            self._version += 1
        try:
            self._register(name, data, facts, keys, replace)
        except UnsupportedError as e:
            if '"vu"' not in e.message or not (data := _without_views(data)):
                raise
            self._register(name, data, facts, keys, replace)

    def _register(self, name, data, facts, keys, replace):
        foreign = _device.foreign(data)
        if foreign and keys:
            raise UnsupportedError(f"{name}: a table in a device's memory has no keys")
        if foreign:
            _device.register(self._db.get(), name, foreign, replace)
            return
        stream, keep = _stream(data)
        native.call(native.lib.heddle_database_register_with_keys, self._db.get(), name.encode(), stream,
                    native.FACTS[facts], json.dumps(keys).encode() if keys else None, replace)
        del keep

    def drop(self, name: str) -> None:
        """Drops a table in memory. Statements that were prepared keep it until they are freed."""
        db = self._db.get()
        with self._lock:  # see tables()
            self._version += 1
            native.call(native.lib.heddle_database_drop, db, name.encode())

    # -- queries --

    def run(self, plan: Plan, params: Params = None, *, profile: bool = False, **named: Any) -> Result:
        """Runs a plan: a dict, JSON text, a path of a file, or a Substrait plan as bytes.

        Parameters are given as a dict or by name.

        >>> import heddle
        >>> con = heddle.connect()
        >>> con.register("t", {"a": [1, 2, 3]})
        >>> con.run({"heddle": 1, "params": {"n": {"type": "int64"}},
        ...          "root": {"op": "scan", "table": "t", "filter": "a > :n"}}, n=1).fetchall()
        [(2,), (3,)]
        """
        return self.prepare(plan, profile=profile).run(params, **named)

    def prepare(self, plan: Plan, *, profile: bool = False, deterministic: bool = False,
                segment: int | None = None) -> Statement:
        """A statement that can be run many times, with other parameters: it is read and compiled once.

        `segment`: of tables that have segments it reads the one of that number, as a table in one piece.

        `deterministic`: with backend "auto" every run is on the backend of the first one, so that sums of floats have
        the same last digits and rows without an order come in the same.
        """
        return Statement(self, read_plan(plan), profile=profile, deterministic=deterministic, segment=segment)

    def sql(self, query: str, params: Params = None, *, profile: bool = False, **named: Any) -> Result:
        """Runs a query in SQL; needs `pip install heddle[sql]`, which brings DataFusion to read it.

        Parameters are `$1` (a list) or `$name` (a dict, or by name).

        >>> import heddle
        >>> con = heddle.connect()
        >>> con.register("t", {"a": [1, 2, 3]})
        >>> con.sql("select max(a) as m, count(*) as n from t where a > $1", [1]).fetchall()
        [(3, 2)]
        """
        return self.prepare_sql(query, profile=profile).run(params, **named)

    def prepare_sql(self, query: str, *, profile: bool = False, deterministic: bool = False) -> Statement:
        """A statement of a query in SQL; `deterministic` as of `prepare`."""
        self._db.get()  # not in a child process, where DataFusion's threads are not either
        plan, names = self._planner().plan(query)
        return Statement(self, plan, names=names, profile=profile, deterministic=deterministic)

    def _planner(self):
        with self._lock:
            if self._sql is None:
                from ._sql import Planner
                self._sql = Planner(self)
            return self._sql

    def explain(self, query: Plan, stages: str = "plan", params: Params = None, **named: Any) -> str:
        """What is made of a plan, or of a query in SQL: a comma list of plan, facts, physical, pipelines, spec, backend,
        llvm, llvm-opt, asm, cuda, ptx.

        >>> import heddle
        >>> con = heddle.connect()
        >>> con.register("t", {"a": [1, 2, 3]})
        >>> print(con.explain({"heddle": 1, "root": {"op": "scan", "table": "t", "filter": "a > 1"}}))
        #0 scan t filter a > 1
        """
        statement = self.prepare_sql(query) if is_sql(query) else self.prepare(query)
        return statement.explain(stages, params, **named)

    def info(self) -> dict:
        """Devices, compilers and the cache."""
        return json.loads(native.text(native.lib.heddle_context_info, self._context.get()))


def is_sql(query: Any) -> TypeGuard[str]:
    """A text that is neither JSON nor the name of a file."""
    return isinstance(query, str) and not query.lstrip().startswith("{") and not _is_file(query)


def _is_file(name: str) -> bool:
    return "\n" not in name and (os.path.exists(name) or name.endswith((".json", ".pb")))


def read_plan(plan: Plan) -> bytes:
    """The bytes of a plan."""
    if isinstance(plan, Mapping):
        return json.dumps(plan).encode()
    if isinstance(plan, (bytes, bytearray, memoryview)):
        return bytes(plan)
    if isinstance(plan, str) and plan.lstrip().startswith("{"):
        return plan.encode()
    if isinstance(plan, (str, os.PathLike)):
        if isinstance(plan, str) and not _is_file(plan):
            raise UserError("a plan is JSON text, which begins with {, or the path of a file; SQL goes to con.sql")
        try:
            with open(plan, "rb") as f:
                return f.read()
        except OSError as e:
            raise IoError(e.strerror or str(e), os.fspath(plan)) from None
    raise UserError(f"a plan is a dict, JSON text, a path or bytes of Substrait, not {type(plan).__name__}")


def _stream(data):
    """The address of a stream of the data's rows, and what must live until it is consumed."""
    if not hasattr(data, "__arrow_c_stream__"):
        import pyarrow
        if isinstance(data, Mapping):
            data = pyarrow.table(dict(data))
        elif hasattr(data, "scanner"):  # a dataset of pyarrow
            data = data.scanner().to_reader()
        elif hasattr(data, "__arrow_c_array__"):
            data = pyarrow.table(pyarrow.record_batch(data))
        else:
            raise UserError(f"a table is made of what has __arrow_c_stream__ or __arrow_c_array__, or of a dict of "
                            f"columns, not of {type(data).__name__}")
    capsule = data.__arrow_c_stream__()
    return native.stream_of(capsule), capsule


def _without_views(data):
    """The same with plain strings for views of strings, as polars has them; None of a stream, which is read only once."""
    import pyarrow
    if isinstance(data, pyarrow.RecordBatchReader) or not hasattr(data, "__arrow_c_stream__"):
        return None
    table = pyarrow.table(data)
    return table.cast(pyarrow.schema([f.with_type(pyarrow.string()) if f.type == pyarrow.string_view() else f
                                      for f in table.schema]))


# ---- parameters -----------------------------------------------------------------------------------

def _value(v: Any) -> Any:
    """A parameter's value as heddle_bind_json takes it: texts as in literals, and small numbers."""
    if v is None or isinstance(v, (bool, str)):
        return v
    if isinstance(v, int):
        return v if abs(v) < 1 << 53 else str(v)
    if isinstance(v, float):
        return v if v - v == 0 else repr(v)
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, datetime.datetime):
        return v.isoformat(sep=" ")
    if isinstance(v, (datetime.date, datetime.time)):
        return v.isoformat()
    if isinstance(v, (list, tuple, set, frozenset)):
        return [_value(x) for x in v]
    if hasattr(v, "as_py"):  # pyarrow
        return _value(v.as_py())
    if hasattr(v, "item"):  # numpy
        return _value(v.item())
    raise UserError(f"a parameter cannot be of type {type(v).__name__}")


def values_text(params: Any) -> str:
    """JSON that differs where values of parameters do."""
    if isinstance(params, Mapping):
        return json.dumps({str(k): _value(v) for k, v in params.items()})
    return json.dumps(_value(params))


class Statement:
    """A prepared plan. Threads that share one take turns.

    >>> import heddle
    >>> con = heddle.connect()
    >>> con.register("t", {"a": [1, 2, 3]})
    >>> above = con.prepare({"heddle": 1, "params": {"n": {"type": "int64"}},
    ...                      "root": {"op": "scan", "table": "t", "filter": "a > :n"}})
    >>> [len(above.run(n=n)) for n in (0, 1, 2)]
    [3, 2, 1]
    """

    def __init__(self, con: Connection, plan: bytes, *, names: Sequence[str] | None = None, profile: bool = False,
                 deterministic: bool = False, segment: int | None = None):
        lib = native.lib
        self._names = names  # of a query's named parameters, in the order in which the plan numbers them
        self._lock = threading.Lock()
        options = native.StatementOptions(struct_size=ctypes.sizeof(native.StatementOptions), profile=int(profile),
                                          deterministic=int(deterministic),
                                          segment=0 if segment is None else segment + 1)
        self._owner = native.Owner(lib.heddle_statement_free, con._db)
        db, handle = con._db.get(), ctypes.byref(self._owner.handle)
        native.call(lib.heddle_statement_new, db, ctypes.byref(options), handle)
        native.interrupts.call(self._owner.handle, lib.heddle_statement_prepare_plan, self._owner.handle, plan, len(plan))

    def run(self, params: Params = None, **named: Any) -> Result:
        """Runs it. Values that were bound before stay."""
        with self._lock:
            handle = self._bind(params, named)
            stream = native.Stream()
            native.interrupts.call(handle, native.lib.heddle_execute, handle, ctypes.byref(stream))
            report = native.text(native.lib.heddle_statement_report, handle)
        return Result(stream, report, self)

    def run_on_device(self, params: Params = None, **named: Any) -> DeviceResult:
        """The same, but the rows stay where they are made: of backend cuda on the GPU."""
        with self._lock:
            handle = self._bind(params, named)
            stream = _device.DeviceStream()
            native.interrupts.call(handle, native.lib.heddle_statement_execute_device, handle, ctypes.byref(stream))
            report = native.text(native.lib.heddle_statement_report, handle)
        return _device.DeviceResult(stream, report, self)

    def _bind(self, params, named):
        handle = self._owner.get()
        values = self._by_name(params, named)
        if values:
            text = json.dumps({k: _value(v) for k, v in values.items()}).encode()
            native.interrupts.call(handle, native.lib.heddle_bind_json, handle, text)
        return handle

    def _by_name(self, params, named) -> dict[str, Any]:
        """Values by the plan's names: a plan made of SQL calls the parameters of $1, $2 and so on p1, p2."""
        if params is not None and not isinstance(params, Mapping):
            if isinstance(params, (str, bytes)) or named or self._names:
                raise UserError("parameters are a list where they are $1, $2, and else a dict")
            return {f"p{i + 1}": v for i, v in enumerate(params)}
        values = {**(params or {}), **named}
        if self._names is None:
            return values
        for name in values:
            if name not in self._names:
                raise UserError(f"the query has no parameter ${name}; it has {', '.join('$' + n for n in self._names)}")
        return {f"p{self._names.index(name) + 1}": v for name, v in values.items()}

    def explain(self, stages: str = "plan", params: Params = None, **named: Any) -> str:
        """What is made of the plan; see `Connection.explain`."""
        with self._lock:
            handle = self._bind(params, named)
            return native.text(native.lib.heddle_explain, handle, stages.encode()).rstrip("\n")

    def fragments(self, workers: int, params: Params = None, **named: Any) -> dict:
        """The plan, cut for so many workers that have the database each, or with 0 for one for each segment of the tables that
        have some: plans for each of them (docs/scale.md)."""
        with self._lock:
            handle = self._bind(params, named)
            return json.loads(native.text(native.lib.heddle_plan_fragments, handle, workers))

    def cancel(self) -> None:
        """From another thread: what runs, or else what is run next, raises `Cancelled`."""
        native.lib.heddle_statement_cancel(self._owner.get())

    def close(self) -> None:
        """Frees it."""
        with self._lock:
            self._owner.close()

