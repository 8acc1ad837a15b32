"""Databases on disk from Parquet, CSV and Arrow; the generators of the benchmarks."""
from __future__ import annotations

import concurrent.futures
import ctypes
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
from typing import Any, Callable, Iterable, Iterator, Mapping

from . import _native as native
from ._connection import new_context
from ._errors import DataError, Error, IoError, UnsupportedError, UserError
from ._keys import foreign_key, names
from ._types import heddle_type, refuse

Progress = Callable[[float, str], Any]


def create(path: str | os.PathLike, tables: Mapping[str, Any], *, primary_keys: Mapping[str, Any] | None = None,
           foreign_keys: Mapping[str, Mapping[Any, Any]] | None = None, types: Mapping[str, Mapping[str, str]] | None = None,
           csv: Mapping[str, Any] | None = None, packed: bool = False,
           segment_rows: int = 0, threads: int = 0,
           progress: bool | Progress | None = None) -> None:
    """Makes a database in a new directory. Nothing is there before all is.

    `tables`: of each what it is made of: files of Parquet or CSV (a path, a pattern, a directory or a list of them), or
    whatever has `__arrow_c_stream__`, such as a DataFrame.

    `primary_keys`: `{"orders": "o_orderkey", "partsupp": ["ps_partkey", "ps_suppkey"]}`; `foreign_keys`:
    `{"lineitem": {"l_orderkey": "orders", ("l_partkey", "l_suppkey"): "partsupp"}}`, to the primary key of the other
    table, or to `("orders", ["o_orderkey"])`. Keys are checked, and joins by them get an index.

    `types`: of columns of CSV, where what pyarrow finds is not what is meant, such as
    `{"lineitem": {"l_tax": "decimal(12,2)"}}`. `csv`: `delimiter`, `quote_char`, `header` (a list of names where the
    files have no line of them).

    `packed`: numbers and codes of dictionaries are stored in as few bits as they need, which takes less memory, and on a
    CPU more time.

    `segment_rows`: tables of more rows are cut into segments, by default where they have more than 2,147,483,647
    ([docs/storage.md]).

    `progress`: a function of a fraction and a text, or whether to draw a bar on standard error; by default where that is
    a terminal.

    >>> import heddle, pyarrow as pa, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> heddle.create(folder.name + "/db", {
    ...     "city": pa.table({"id": [1, 2], "name": ["Ulm", "Jena"]}),
    ...     "visit": pa.table({"city": [2, 2, 1], "days": [1, 4, 2]})},
    ...     primary_keys={"city": "id"}, foreign_keys={"visit": {"city": "city"}})
    >>> heddle.connect(folder.name + "/db").rows("visit")
    3
    """
    threads = threads or os.cpu_count() or 1
    sources = {name: _open(name, source, (types or {}).get(name, {}), csv or {}) for name, source in tables.items()}
    schema = {"packed": packed, **({"segment_rows": segment_rows} if segment_rows else {}), **_schema(sources, primary_keys or {}, foreign_keys or {})}
    context = new_context(threads=threads)
    writer = native.Owner(native.lib.heddle_writer_free, context)
    native.call(native.lib.heddle_writer_open, context.get(), os.fsencode(path), json.dumps(schema).encode(),
                ctypes.byref(writer.handle))
    try:
        with _Bar(progress) as say:
            _Load(writer, sources, threads, say).run()
    finally:
        writer.close()  # where it has not been committed, all is removed


# ---- schema ---------------------------------------------------------------------------------------

def _schema(sources, primary_keys, foreign_keys) -> dict:
    for what, keys in ("primary_keys", primary_keys), ("foreign_keys", foreign_keys):
        for name in keys:
            if name not in sources:
                raise UserError(f"{what} names a table that is not made: {name}")
    keys = {name: names(of) for name, of in primary_keys.items()}
    made = []
    for name, source in sources.items():
        columns = [{"name": f.name, "type": heddle_type(f.type), "nullable": f.name not in keys.get(name, ())
                    and source.nullable(f.name)} for f in source.schema]
        table = {"name": name, "columns": columns}
        if name in keys:
            table["primary_key"] = keys[name]
        if name in foreign_keys:
            table["foreign_keys"] = [foreign_key(columns, to, keys) for columns, to in foreign_keys[name].items()]
        made.append(table)
    return {"tables": made}


# ---- sources --------------------------------------------------------------------------------------

class _Source:
    """A table's rows: a schema of pyarrow, and pieces that give batches, each with its first row."""

    schema: Any
    rows: int | None = None  # where that is known before

    def nullable(self, column: str) -> bool:
        """Whether it may hold NULL."""
        return self.schema.field(column).nullable

    def pieces(self) -> Iterator[tuple[int, Callable[[], Iterable]]]:
        """First rows, and what reads the batches from there."""
        raise NotImplementedError


class _Parquet(_Source):
    """Files of Parquet. Row groups are read in parallel; what is a dictionary in a file stays one."""

    def __init__(self, name, files):
        import pyarrow.parquet
        self._files = files
        self._metadata = [_read(name, f, pyarrow.parquet.read_metadata) for f in files]
        self.schema = _read(name, files[0], pyarrow.parquet.read_schema)
        for f, m in zip(files, self._metadata):
            schema = m.schema.to_arrow_schema()
            if schema.names != self.schema.names or schema.types != self.schema.types:
                raise DataError(f"its columns are not those of {files[0]}", str(f))
        refuse(name, self.schema)
        self.rows = sum(m.num_rows for m in self._metadata)
        self._coded = [self.schema.names[c] for c in range(len(self.schema)) if self._is_coded(c)]

    def _chunks(self, column):
        return (m.row_group(g).column(column) for m in self._metadata for g in range(m.num_row_groups))

    def nullable(self, column):
        c = self.schema.names.index(column)
        return any(not x.is_stats_set or not x.statistics.has_null_count or x.statistics.null_count
                   for x in self._chunks(c))

    def _is_coded(self, column):
        """A column of strings whose pages are codes: those are short."""
        import pyarrow
        if self.schema.types[column] not in (pyarrow.string(), pyarrow.large_string()):
            return False
        size = values = 0
        for x in self._chunks(column):
            if not any("DICTIONARY" in e for e in x.encodings):
                return False
            size, values = size + x.total_uncompressed_size, values + x.num_values
        return size < 2 * values

    def pieces(self):
        first = 0
        for file, metadata in zip(self._files, self._metadata):
            for group in range(metadata.num_row_groups):
                yield first, lambda file=file, metadata=metadata, group=group: self._read(file, metadata, group)
                first += metadata.row_group(group).num_rows

    def _read(self, file, metadata, group):
        import pyarrow.parquet
        with pyarrow.parquet.ParquetFile(file, metadata=metadata, read_dictionary=self._coded, memory_map=True) as f:
            return f.read_row_group(group, use_threads=False).to_batches()


class _Stream(_Source):
    """Batches one after the other."""

    def __init__(self, name, schema, batches, rows=None, nulls=None):
        refuse(name, schema)
        self.schema, self._batches, self.rows, self._nulls = schema, batches, rows, nulls

    def nullable(self, column):
        return self._nulls[column] if self._nulls is not None else super().nullable(column)

    def pieces(self):
        first = 0
        for batch in self._batches:
            yield first, lambda batch=batch: [batch]
            first += batch.num_rows


def _open(name, source, types, csv) -> _Source:
    if isinstance(source, (str, os.PathLike)) or isinstance(source, (list, tuple)):
        files = _files(name, source)
        kinds = {_kind(f) for f in files}
        if kinds == {"parquet"}:
            return _Parquet(name, files)
        if kinds == {"csv"}:
            return _open_csv(name, files, types, csv)
        raise UserError("expected files of Parquet (.parquet) or of CSV (.csv, .csv.gz), not both", name)
    return _open_arrow(name, source)


def _kind(file):
    name = file.name.lower()
    return "parquet" if name.endswith((".parquet", ".pq")) else "csv" if re.search(r"\.(csv|tsv|tbl)(\.\w+)?$", name) else name


def _files(name, source) -> list[pathlib.Path]:
    found = []
    for part in [source] if isinstance(source, (str, os.PathLike)) else source:
        path = pathlib.Path(part)
        if path.is_dir():
            more = sorted(f for f in path.rglob("*") if _kind(f) in ("parquet", "csv"))
        elif path.exists():
            more = [path]
        else:
            more = sorted(map(pathlib.Path, glob.glob(str(part), recursive=True)))
        if not more:
            raise IoError("no such file", str(part))
        found += more
    if not found:
        raise UserError("a list of files is empty", name)
    return found


def _read(name, file, how):
    import pyarrow
    try:
        return how(file)
    except pyarrow.ArrowException as e:
        raise DataError(str(e).splitlines()[0], str(file)) from None
    except OSError as e:
        raise IoError(e.strerror or str(e), str(file)) from None


def _open_csv(name, files, types, csv) -> _Source:
    import pyarrow.csv
    import pyarrow.dataset
    from ._types import arrow_type
    unknown = set(csv) - {"delimiter", "quote_char", "header"}
    if unknown:
        raise UserError(f"csv has no {min(unknown)}: it takes delimiter, quote_char and header")
    header = csv.get("header")
    form = pyarrow.dataset.CsvFileFormat(
        parse_options=pyarrow.csv.ParseOptions(delimiter=csv.get("delimiter", ","), quote_char=csv.get("quote_char", '"')),
        read_options=pyarrow.csv.ReadOptions(column_names=list(header) if header else None, use_threads=True),
        convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False,
                                                   column_types={c: arrow_type(t) for c, t in types.items()}))
    data = _read(name, files[0], lambda _: pyarrow.dataset.dataset([str(f) for f in files], format=form))

    def batches():
        try:
            yield from data.to_batches()
        except pyarrow.ArrowException as e:
            raise DataError(str(e).splitlines()[0], name) from None
    return _Stream(name, data.schema, batches())


def _open_arrow(name, source) -> _Source:
    import pyarrow
    if isinstance(source, Mapping):
        source = pyarrow.table(dict(source))
    if hasattr(source, "scanner"):  # a dataset of pyarrow
        source = source.scanner().to_reader()
    if hasattr(source, "__arrow_c_array__") and not hasattr(source, "__arrow_c_stream__"):
        source = pyarrow.table(pyarrow.record_batch(source))
    if not hasattr(source, "__arrow_c_stream__"):
        raise UserError(f"a table is made of files or of what has __arrow_c_stream__, not of {type(source).__name__}", name)
    if isinstance(source, pyarrow.RecordBatchReader):
        return _Stream(name, source.schema, source)
    table = pyarrow.table(source)  # of the reader of some other library: its columns are known at once
    table = table.cast(pyarrow.schema([f.with_type(pyarrow.string()) if f.type == pyarrow.string_view() else f
                                       for f in table.schema]))
    nulls = {n: table.column(n).null_count > 0 for n in table.column_names}
    return _Stream(name, table.schema, table.to_batches(max_chunksize=1 << 17), table.num_rows, nulls)


# ---- loading --------------------------------------------------------------------------------------

class _Load:
    """Reads pieces and appends them, on several threads; then commits. The main thread waits, and can be interrupted."""

    def __init__(self, writer, sources, threads, say):
        self._writer, self._sources, self._threads, self._say = writer, sources, threads, say
        self._stop, self._lock, self._done = threading.Event(), threading.Lock(), 0
        known = [s.rows for s in sources.values()]
        self._rows = None if None in known else max(1, sum(known))

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(self._threads) as pool:
            try:
                self._append_all(pool)
                self._wait([pool.submit(self._commit)])
            except BaseException:
                self._stop.set()
                raise

    def _append_all(self, pool):
        waiting = set()
        for name, source in self._sources.items():
            for first, read in source.pieces():
                waiting.add(pool.submit(self._append, name, first, read))
                if len(waiting) > 2 * self._threads:  # a stream is not read far ahead
                    done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                    self._wait(done)
        self._wait(waiting)

    @staticmethod
    def _wait(futures):
        for f in concurrent.futures.as_completed(futures):
            f.result()

    def _append(self, name, first, read):
        for batch in read():
            if self._stop.is_set():
                return
            array, schema = native.Array(), native.Schema()
            batch._export_to_c(ctypes.addressof(array), ctypes.addressof(schema))
            try:
                native.call(native.lib.heddle_writer_append, self._writer.get(), name.encode(), first, ctypes.byref(schema),
                            ctypes.byref(array))
            finally:
                array.release(array)
                schema.release(schema)
            first += batch.num_rows
            self._count(name, batch.num_rows)

    def _count(self, name, rows):
        with self._lock:
            self._done += rows
            self._say(0.7 * self._done / self._rows if self._rows else 0.0, f"{name}, {self._done:,} rows in all")

    def _commit(self):
        @native.Progress
        def step(_, fraction, what):
            self._say(0.7 + 0.3 * fraction, what.decode() if what else "")
            return int(self._stop.is_set())
        native.call(native.lib.heddle_writer_commit, self._writer.get(), step, None)


class _Bar:
    """What `progress` says: a function, a bar on standard error, or nothing."""

    def __init__(self, progress):
        self._say = progress if callable(progress) else None
        self._draw = not callable(progress) and (sys.stderr.isatty() if progress is None else bool(progress))
        self._shown = None

    def __enter__(self):
        return self

    def __call__(self, fraction: float, what: str):
        if self._say:
            self._say(fraction, what)
        elif self._draw:
            done = int(30 * fraction)
            shown = f"\r[{'#' * done}{' ' * (30 - done)}] {100 * fraction:3.0f} % {what[:40]:<40}"
            if shown != self._shown:
                self._shown = shown
                print(shown, end="", file=sys.stderr, flush=True)

    def __exit__(self, *_):
        if self._shown is not None:
            print(f"\r{' ' * 80}\r", end="", file=sys.stderr, flush=True)


# ---- the program ----------------------------------------------------------------------------------

def program() -> str:
    """The `heddle` command that comes with the package, or of the source tree, or of the path."""
    tree = native.PACKAGE.parents[1] / "build" / "release" / "bin" / "heddle"
    for path in os.environ.get("HEDDLE_PROGRAM"), native.PACKAGE / "bin" / "heddle", tree, shutil.which("heddle"):
        if path and os.access(path, os.X_OK):
            return str(path)
    raise IoError("the program heddle was not found; HEDDLE_PROGRAM may name it")


def gen(suite: str, sf: float, out: str | os.PathLike, *, threads: int = 0) -> None:
    """Generates the data of a benchmark, "tpch", "jcch" or "ssb", as a new database.

    >>> import heddle, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> heddle.gen("tpch", 0.001, folder.name + "/tiny")
    >>> heddle.connect(folder.name + "/tiny").rows("nation")
    25
    """
    command = [program(), "gen", suite, "--sf", str(sf), "--out", os.fspath(out)]
    done = subprocess.run(command + (["--threads", str(threads)] if threads else []), stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        message = done.stderr.strip().splitlines()[-1:] or ["it failed"]
        raise (UserError if done.returncode == 2 else Error)(message[0].removeprefix("heddle: error: "))
