"""Databases in partitions (docs/storage.md): which a directory has, one connection over those of several machines, and who
runs what."""
from __future__ import annotations

import json
import os
import pathlib
import re
import tempfile
import zlib
from typing import Iterable, Mapping, Sequence

from ._connection import Connection, connect
from ._errors import CorruptError, Error, IoError, ResourceError

Catalog = tuple[bytes, bytes]  # catalog.json, compressed, and catalog.sum


def folder(number: int) -> str:
    """The name of a partition's directory."""
    return f"partition-{number}"


def is_whole(path: str | os.PathLike) -> bool:
    """It is a database in one directory."""
    return os.path.exists(os.path.join(path, "catalog.json"))


def look(path: str) -> dict[int, Catalog]:
    """The partitions in a directory, by number; none if there is no directory."""
    found = {}
    for name in os.listdir(path) if os.path.isdir(path) else ():
        number = re.fullmatch(r"partition-(0|[1-9]\d*)", name)
        inside = pathlib.Path(path, name)
        if number and (inside / "catalog.json").exists():
            text = zlib.compress((inside / "catalog.json").read_bytes(), 9)  # small arguments go to an actor with its start
            found[int(number[1])] = text, (inside / "catalog.sum").read_bytes()
    return found


def gather(places: Sequence[tuple[str, Mapping[int, Catalog]]]) -> dict[int, Catalog]:
    """All partitions of a database, of those at each place (its name, and what is there)."""
    all_, where = {}, {}
    for name, found in places:
        for number, catalog in found.items():
            if all_.setdefault(number, catalog) != catalog:
                raise CorruptError(f"partition {number} is another one than on {where[number]}", name)
            where.setdefault(number, name)
    names = ", ".join(name for name, _ in places)
    if not all_:
        raise IoError("no database, and no partition of one", names)
    of = json.loads(zlib.decompress(next(iter(all_.values()))[0])).get("partition", {}).get("of", 0)
    missing = [k for k in range(of) if k not in all_]
    if missing:
        raise IoError(f"of {of} partitions these are nowhere: {', '.join(map(str, missing))}", names)
    return all_


def connect_to(path: str, catalogs: Mapping[int, Catalog], **options) -> Connection:
    """A connection to the whole database, of which only some partitions are at the path: it cuts plans, and runs those over
    a partition that is there."""
    here = look(path)
    with tempfile.TemporaryDirectory(prefix="heddle-") as scratch:  # files are mapped once it is open
        for number, (text, checksum) in catalogs.items():
            inside = pathlib.Path(scratch, folder(number))
            if here.get(number) == (text, checksum):
                inside.symlink_to(pathlib.Path(path, folder(number)).resolve())
                continue
            inside.mkdir()
            (inside / "catalog.json").write_bytes(zlib.decompress(text))
            (inside / "catalog.sum").write_bytes(checksum)
        try:
            return connect(scratch, partial=True, **options)
        except Error as e:
            raise type(e)(e.message, e.path.removeprefix(scratch + os.sep), e.detail) from None


def assign(holders: Sequence[Iterable[int]], count: int, names: Sequence[str], lost: Sequence[tuple[str, Iterable[int]]]) -> list[int]:
    """Who runs what is over each of so many partitions: one of those that have it, evenly. holders: partitions of each;
    lost: the same of those that are gone, by name."""
    load, out = [0] * len(holders), []
    for k in range(count):
        able = [i for i, has in enumerate(holders) if k in has]
        if not able:
            gone = "; ".join(f"{name} had {', '.join(map(str, sorted(had)))}" for name, had in lost if k in had)
            raise ResourceError(f"partition {k} is on no worker that is left" + (f": {gone}" if gone else ""), ", ".join(names))
        chosen = min(able, key=lambda i: (load[i], len(set(holders[i]))))
        load[chosen] += 1
        out.append(chosen)
    return out
