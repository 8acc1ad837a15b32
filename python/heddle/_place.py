"""Makes the partitions of a database (docs/storage.md), and directories of some of them for the nodes of a cluster."""
from __future__ import annotations

import ctypes
import datetime
import json
import os
import pathlib
import shutil
from typing import Any

from . import _native as native
from . import _partitions as partitions
from ._connection import Connection, connect, new_context
from ._create import _Bar, _Load, _Stream
from ._errors import UserError


def place(path: str | os.PathLike, out: str | os.PathLike, nodes: int, *, count: int = 0, copies: int = 1, threads: int = 0,
          progress: Any = None) -> None:
    """Directories OUT/node-0, OUT/node-1 and so on, with some partitions each, for so many nodes: `count` partitions (by
    default one for each node), of which each is on `copies` nodes. What there is of a partition is left as it is. `path`: a
    database, or one in partitions already, which then go over as they are, as links where that is possible."""
    out = pathlib.Path(out)
    there = {} if partitions.is_whole(path) else partitions.look(os.fspath(path))
    count = len(there) or count or nodes
    if not 1 <= nodes <= count:
        raise UserError(f"nodes: expected 1 to {count}, which is how many partitions there are, not {nodes}")
    if not 1 <= copies <= nodes:
        raise UserError(f"copies: expected 1 to {nodes}, which is how many nodes there are, not {copies}")
    homes = [[out / f"node-{(k + c) % nodes}" / partitions.folder(k) for c in range(copies)] for k in range(count)]
    if there:
        partitions.gather([(os.fspath(path), there)])
        first = [pathlib.Path(path, partitions.folder(k)) for k in range(count)]
    else:
        first = [home[0] for home in homes]
        with connect(path, threads=threads, backend="cpu") as con, connect(path, threads=1, backend="cpu") as alone, \
                _Bar(progress) as say:
            _divide(con, alone, first, threads or os.cpu_count() or 1, say)
    for source, copied in zip(first, homes):
        for home in copied:
            _link(source, home)


def _link(source, home):
    """The directory is there afterwards as a whole, or not at all."""
    if home.exists():
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    making = home.with_name(home.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    try:
        shutil.copytree(source, making, copy_function=_link_file)
        making.rename(home)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _link_file(source, target):
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
    return target


# ---- which tables, and where ----------------------------------------------------------------------

def _key_root(tables, table, column):
    """Where foreign keys lead from a column in the end, as fe_key_root in frontend/segments.h."""
    for _ in range(16):
        for key in tables[table].get("foreign_keys", ()):
            if column in key["columns"]:
                table, column = key["table"], key["references"][key["columns"].index(column)]
                break
        else:
            break
    return table, column


def _may_cut(table, column):
    facts = column["facts"]
    return (column["type"] in ("int32", "int64", "date") and not column.get("nullable") and facts.get("sorted", False)
            and column["name"] in table.get("primary_key", [column["name"]]))


def _columns_to_cut(tables) -> dict[str, str]:
    """The column by which each table that is divided is cut: the largest table's by which that may be, and those that lead to the
    same key."""
    for table in sorted(tables.values(), key=lambda t: -t["rows"]):
        for column in filter(lambda c: _may_cut(table, c), table["columns"]):
            root = _key_root(tables, table["name"], column["name"])
            return {t["name"]: c["name"] for t in tables.values() for c in t["columns"]
                    if _may_cut(t, c) and _key_root(tables, t["name"], c["name"]) == root}
    raise UserError("no table has rows in the order of a key of ints or dates, by which it could be divided")


def _value(kind, number):
    return number if kind != "date" else (datetime.date(1970, 1, 1) + datetime.timedelta(number)).isoformat()


def _starts(con: Connection, table, column, count) -> list[int]:
    """The smallest value of each partition but the first: such that each has about as many rows of the table."""
    name, kind = column["name"], column["type"]
    before = con.prepare({"heddle": 1, "params": {"v": {"type": kind}}, "root": {
        "op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "scan", "table": table["name"], "filter": f"{name} < :v"}}})
    out = []
    for k in range(1, count):
        low, high = int(column["facts"]["min"]), int(column["facts"]["max"])
        while low < high:
            middle = (low + high) // 2
            if before.run(v=_value(kind, middle)).fetchone()[0] < table["rows"] * k // count:
                low = middle + 1
            else:
                high = middle
        out.append(low)
    return out


# ---- rows -----------------------------------------------------------------------------------------

def _schema(tables, cut, number, count) -> dict:
    made = []
    for t in tables.values():
        keys = [{k: f[k] for k in ("columns", "table", "references")} for f in t.get("foreign_keys", ())
                if f["table"] not in cut or t["name"] in cut]  # a partition has not all rows that other keys lead to
        made.append({"name": t["name"], "columns": [
            {"name": c["name"], "type": c["type"], "nullable": c.get("nullable", False), "packed": "bits" in c} for c in t["columns"]],
            **({"cut_by": cut[t["name"]]} if t["name"] in cut else {}),
            **({"primary_key": t["primary_key"]} if "primary_key" in t else {}), **({"foreign_keys": keys} if keys else {})})
    return {"partition": {"number": number, "of": count}, "tables": made}


def _rows(con: Connection, table, column, low, high) -> _Stream:
    """The rows of a range of values of the column, its ends among them or None; of no column all. In an order that is always the
    same one."""
    kind = next((c["type"] for c in table["columns"] if c["name"] == column), None)
    ends = [(f"{column} >= :low", low), (f"{column} < :high", high)]
    wanted = [text for text, end in ends if end is not None]
    root = {"op": "scan", "table": table["name"], **({"filter": " and ".join(wanted)} if wanted else {})}
    order = ([column] if column else []) + [c for c in table.get("primary_key", ()) if c != column]
    if order:
        root = {"op": "sort", "keys": order, "input": root}
    values = {name: _value(kind, end) for name, end in (("low", low), ("high", high)) if end is not None}
    plan = {"heddle": 1, "params": {name: {"type": kind} for name in values}, "root": root}
    found = con.run(plan, values).arrow()
    return _Stream(table["name"], found.schema, found.to_batches(max_chunksize=1 << 17), found.num_rows)


def _divide(con, alone, homes, threads, say):
    """alone: a connection with one thread, on which rows without a key come in the order in which they are stored."""
    tables = {t["name"]: t for t in con.catalog()["tables"]}
    cut = _columns_to_cut(tables)
    main = max((tables[name] for name in cut), key=lambda t: t["rows"])
    column = next(c for c in main["columns"] if c["name"] == cut[main["name"]])
    starts = _starts(con, main, column, len(homes))
    whole = {name: _rows(con if "primary_key" in t else alone, t, None, None, None) for name, t in tables.items() if name not in cut}
    context = new_context(threads=threads)
    for k, (low, high, home) in enumerate(zip([None, *starts], [*starts, None], homes)):
        if home.exists():
            continue
        home.parent.mkdir(parents=True, exist_ok=True)
        sources = {name: whole[name] if name in whole else _rows(con, t, cut[name], low, high) for name, t in tables.items()}
        writer = native.Owner(native.lib.heddle_writer_free, context)
        native.call(native.lib.heddle_writer_open, context.get(), os.fsencode(home),
                    json.dumps(_schema(tables, cut, k, len(homes))).encode(), ctypes.byref(writer.handle))
        try:
            _Load(writer, sources, threads, lambda share, what, k=k: say((k + share) / len(homes), what)).run()
        finally:
            writer.close()  # where it has not been committed, all is removed
