"""Rows of a query, and what it did."""
from __future__ import annotations

import ctypes
import html
import json
import os
import pathlib
from typing import Any, Iterator

from . import _native as native
from ._errors import UnsupportedError


class Result:
    """The rows of one run. They stay when statement and connection are closed.

    Whatever reads the Arrow PyCapsule interface reads it: `pyarrow.table(result)`, `polars.DataFrame(result)`,
    `con.register("t", result)`.

    >>> import heddle
    >>> con = heddle.connect()
    >>> con.register("t", {"a": [1, 2], "b": ["x", None]})
    >>> r = con.run({"heddle": 1, "root": {"op": "scan", "table": "t"}})
    >>> r
     a | b
    ---+---
     1 | x
     2 |
    (2 rows)
    >>> r.fetchall()
    [(1, 'x'), (2, None)]
    """

    def __init__(self, stream: native.Stream | None, report: str, statement, table=None):
        self._stream = stream  # until it is taken
        self._table = table
        self._report = report
        self._statement = statement

    def __del__(self):
        stream, self._stream = self._stream, None
        if stream is not None and stream.release:
            stream.release(stream)

    # -- Arrow --

    def __arrow_c_stream__(self, requested_schema=None):
        return self.arrow().__arrow_c_stream__(requested_schema)

    def arrow(self):
        """A `pyarrow.Table`, without copying values."""
        if self._table is None:
            import pyarrow
            stream, self._stream = self._stream, None
            self._table = pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
        return self._table

    def reader(self):
        """A `pyarrow.RecordBatchReader`."""
        return self.arrow().to_reader()

    def df(self, dtypes: str = "arrow"):
        """A DataFrame of pandas. Its columns are Arrow's, so that NULL and NaN differ, integers with NULLs stay integers,
        and decimals decimals; `dtypes="numpy"`: as numpy has them."""
        if dtypes == "numpy":
            return self.arrow().to_pandas()
        import pandas
        import pyarrow.types as is_
        # pandas has no intervals of Arrow
        return self.arrow().to_pandas(types_mapper=lambda t: None if is_.is_interval(t) else pandas.ArrowDtype(t))

    def pl(self):
        """A DataFrame of polars."""
        import polars
        import pyarrow.types as is_
        for f in self.arrow().schema:
            if is_.is_interval(f.type):
                raise UnsupportedError(f'column "{f.name}" is an interval, which polars does not have; cast it to string')
        return polars.from_arrow(self.arrow())

    # -- rows --

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.arrow().column_names

    @property
    def schema(self):
        """Names and types as a `pyarrow.Schema`."""
        return self.arrow().schema

    def __len__(self) -> int:
        return self.arrow().num_rows

    def __iter__(self) -> Iterator[tuple]:
        for batch in self.arrow().to_batches(max_chunksize=8192):
            yield from zip(*(c.to_pylist() for c in batch.columns))

    def fetchall(self) -> list[tuple]:
        """All rows as tuples of Python's values."""
        return list(self)

    def fetchone(self) -> tuple | None:
        """The first row, or None."""
        return next(iter(self), None)

    def show(self, rows: int = 20) -> None:
        """Prints the first rows."""
        print(self._text(rows))

    def __repr__(self):
        return self._text(20)

    def _text(self, limit):
        table = self.arrow()
        head = table.slice(0, limit)
        cells = [[_cell(v) for v in c.to_pylist()] for c in head.columns]
        widths = [max([len(n), *map(len, c)]) for n, c in zip(table.column_names, cells)]
        right = [_is_number(t) for t in table.schema.types]
        lines = [" | ".join(n.center(w) for n, w in zip(table.column_names, widths)),
                 "-+-".join("-" * w for w in widths)]
        lines += [" | ".join(v.rjust(w) if r else v.ljust(w) for v, w, r in zip(row, widths, right))
                  for row in zip(*cells)]
        lines = [(f"-{x}-" if i == 1 else f" {x}").rstrip() for i, x in enumerate(lines)]
        n = table.num_rows
        more = f", {n - limit} of them not shown" if n > limit else ""
        return "\n".join([*lines, f"({n} row{'' if n == 1 else 's'}{more})"])

    def _repr_html_(self) -> str:
        table = self.arrow()
        head = table.slice(0, 50)
        names = "".join(f"<th>{html.escape(n)}</th>" for n in table.column_names)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(v))}</td>" for v in row) + "</tr>"
                       for row in zip(*(c.to_pylist() for c in head.columns)))
        return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table><p>{table.num_rows} rows</p>"

    # -- files --

    def write_parquet(self, path: str | os.PathLike, **options: Any) -> None:
        """Writes the rows into a file of Parquet; options are those of `pyarrow.parquet.write_table`."""
        import pyarrow.parquet
        pyarrow.parquet.write_table(self.arrow(), path, **options)

    # -- what it did --

    @property
    def profile(self) -> Profile:
        """Times of the run; and with `profile=True` what each pipeline did."""
        return Profile(self._report, self._statement)


class Profile:
    """A run's times, and what its pipelines did. In a notebook it is a page.

    >>> import heddle
    >>> con = heddle.connect()
    >>> con.register("t", {"a": [1, 2]})
    >>> p = con.run({"heddle": 1, "root": {"op": "scan", "table": "t"}}, profile=True).profile
    >>> sorted(p.times)
    ['codegen', 'compile', 'execute', 'facts', 'open', 'plan', 'result', 'total', 'transfer']
    """

    def __init__(self, report: str, statement):
        self._text, self._statement = report, statement
        self.report: dict = json.loads(report)

    @property
    def times(self) -> dict[str, float]:
        """Milliseconds of each part."""
        return {k[:-3]: v for k, v in self.report.items()
                if k.endswith("_ms") and k[:-3] in ("facts", "plan", "codegen", "open", "compile", "transfer", "execute",
                                                    "result", "total")}

    def __repr__(self):
        lines = [f"{k:>8} {v:10.3f} ms" for k, v in self.times.items()]
        return "\n".join([f"{self.report['backend']}, {self.report['threads']} threads", *lines])

    def html(self, title: str = "profile") -> str:
        """A page, as `heddle run --profile FILE.html` writes it."""
        code = "cuda" if self.report.get("backend") == "cuda" else "llvm"
        texts = {"title": title, "plan": self._statement.explain("plan"),
                 "pipelines": self._statement.explain("pipelines"), "code": self._statement.explain(code)}
        page = _page().read_text()
        for slot, value in ("@REPORT@", self._text), ("@TEXTS@", json.dumps(texts)):
            page = page.replace(slot, value.replace("<", "\\u003c"), 1)
        return page

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html())}" style="width: 100%; height: 640px; border: 0">'
                "</iframe>")


def _page() -> pathlib.Path:
    """The page's frame: beside the package, or in the source tree."""
    inside = native.PACKAGE / "profile.html"
    return inside if inside.exists() else native.PACKAGE.parents[1] / "tools" / "profile.html"


def _cell(v: Any) -> str:
    return "" if v is None else str(v).lower() if isinstance(v, bool) else str(v)


def _is_number(t) -> bool:
    import pyarrow.types as types
    return types.is_integer(t) or types.is_floating(t) or types.is_decimal(t)
