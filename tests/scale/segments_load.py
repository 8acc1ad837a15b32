#!/usr/bin/env python3
"""How tables are cut into segments when a database is written; and what is refused, and how, when it is written and read.

    segments_load.py BIN
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HEDDLE = sys.argv[1]


def column(name, kind="int32", **more):
    return {"name": name, "type": kind, **more}


def refers(column, table, to):
    return {"columns": column.split(), "table": table, "references": to.split()}


def call(*command, fails=None, gathered=2**31 - 1):
    """Standard output; or that the command fails with this text. gathered: rows that may be brought together."""
    env = {**os.environ, "HEDDLE_GATHERED_ROWS": str(gathered)}
    done = subprocess.run([HEDDLE, *map(str, command)], capture_output=True, text=True, check=False, env=env)
    if (done.returncode != 0) != (fails is not None) or (fails and fails not in done.stderr):
        raise SystemExit(f"{' '.join(map(str, command))}: {done.returncode}, {done.stdout}{done.stderr}, expected {fails}")
    return done.stdout


class Folder:
    def __init__(self, path):
        self.path, self.number = pathlib.Path(path), 0

    def load(self, tables, rows, segment_rows=4, fails=None):
        """tables: declarations; rows: of each, as lines of text. The database."""
        self.number += 1
        home = self.path / str(self.number)
        (home / "data").mkdir(parents=True)
        schema = {"segment_rows": segment_rows, "tables": tables,
                  "format": {"delimiter": ",", "trailing_delimiter": False, "null": "NULL"}}
        (home / "schema.json").write_text(json.dumps(schema))
        for table, lines in rows.items():
            (home / "data" / f"{table}.csv").write_text("".join(f"{line}\n" for line in lines))
        call("load", "--schema", home / "schema.json", "--from", home / "data", "--out", home / "db", fails=fails)
        if fails is None:
            call("check", home / "db")
        return home / "db"


def cuts(db):
    """Of each table: what it is cut by, and the rows of its segments."""
    tables = json.loads((db / "catalog.json").read_text())["tables"]
    return {t["name"]: (t.get("cut_by"), [s["rows"] for s in t["segments"]]) for t in tables if "segments" in t}


def rows(db, table):
    plan = db.parent / "plan.json"
    plan.write_text(json.dumps({"heddle": 1, "root": {"op": "scan", "table": table}}))
    return call("run", plan, "--db", db, "--format", "csv").splitlines()[1:]


PARENT = {"name": "parent", "columns": [column("id")], "primary_key": ["id"]}
CHILD = {"name": "child", "columns": [column("of"), column("n"), column("x", "string", nullable=True)],
         "primary_key": ["of", "n"], "foreign_keys": [refers("of", "parent", "id")]}
HEAP = {"name": "heap", "columns": [column("to", nullable=True)], "foreign_keys": [refers("to", "parent", "id")]}
CHILDREN = [f"{k},{n},{'NULL' if k == n else f'x{k}'}" for k in (1, 2, 3, 5, 8) for n in range(k % 2 + 1)]


def good(folder):
    db = folder.load([PARENT, CHILD, HEAP, {"name": "few", "columns": [column("k")]}],
                     {"parent": [1, 2, 3, 5, 8], "child": CHILDREN, "heap": [8, 1, "NULL", 2, 8], "few": [7, 7]})
    found = cuts(db)
    assert found["parent"][0] == "id" and found["child"][0] == "of" and found["heap"][0] is None and len(found) == 3, found
    assert len({len(sizes) for _, sizes in found.values()}) == 1, found  # as many of all
    assert all(size <= 4 for _, sizes in found.values() for size in sizes), found
    assert sorted(rows(db, "child")) == sorted(line.replace("NULL", "") for line in CHILDREN), rows(db, "child")
    assert rows(db, "few") == ["7", "7"]
    # Values of one key stay together, or else it is no key to cut by.
    db = folder.load([{"name": "t", "columns": [column("k"), column("v")]}], {"t": [f"{i // 2},{i}" for i in range(9)]})
    assert cuts(db)["t"][0] == "k", cuts(db)
    db = folder.load([{"name": "t", "columns": [column("k", "string")]}], {"t": [f"{i}" for i in range(9)]})
    assert cuts(db) == {"t": (None, [3, 3, 3])}, cuts(db)
    db = folder.load([{"name": "t", "columns": [column("k")]}], {"t": [1] * 8 + [2]})
    assert cuts(db)["t"][0] is None, cuts(db)
    # Parents far from where most children are.
    db = folder.load([PARENT, CHILD], {"parent": range(40), "child": [f"{k},{n},x" for k in (0, 1, 2, 3) for n in (0, 1)]})
    assert cuts(db)["parent"][0] == "id" and max(cuts(db)["parent"][1]) <= 4, cuts(db)
    # Blocks of 65,536 rows, cut anywhere.
    lines = [f"{i},{'NULL' if i % 7 == 0 else i % 1000},t{i % 300},{i * 0.5},{10 ** 20 + i}" for i in range(150000)]
    wide = {"name": "wide", "columns": [column("id", "int64"), column("v", nullable=True), column("s", "string"),
                                        column("f", "float64"), column("d", "decimal(30,0)")], "primary_key": ["id"]}
    db = folder.load([wide], {"wide": lines}, segment_rows=70000)
    assert sum(cuts(db)["wide"][1]) == 150000 and len(cuts(db)["wide"][1]) == 3, cuts(db)
    whole = folder.load([wide], {"wide": lines}, segment_rows=2**31 - 1)
    assert cuts(whole) == {} and sorted(rows(whole, "wide")) == sorted(rows(db, "wide"))


def bad(folder):
    by_rows = [{"name": "t", "columns": [column("a"), column("b")], "primary_key": ["a"]}]
    unsorted = [f"{(i * 7) % 10},{i}" for i in range(10)]
    folder.load(by_rows, {"t": unsorted})
    folder.load(by_rows, {"t": unsorted[:9] + ["0,0"]},
                fails="primary key (a): row 10 has 0, and so has a row before it")
    folder.load([PARENT, HEAP], {"parent": range(10), "heap": [9, "NULL", 3, 10, 2, 1]},
                fails="foreign key (to): 10 in row 4 is not in parent(id)")
    folder.load([PARENT, CHILD], {"parent": range(9), "child": [f"{k},0,x" for k in (1, 2, 3, 4, 6, 9)]},
                fails="foreign key (of): 9 in row 6 is not in parent(id)")
    unkeyed = {"name": "parent", "columns": [column("id")]}
    folder.load([unkeyed, HEAP], {"parent": [1, 5, 2, 3, 4, 1], "heap": [1]},
                fails="referenced key (id): row 6 has 1, and so has a row before it")
    folder.load([{"name": "t", "columns": [column("a")]}], {"t": range(2000)}, segment_rows=1,
                fails="more than 1024 segments of 1 rows")
    folder.load([{"name": "t", "columns": [column("a")]}], {"t": [1]}, segment_rows=0,
                fails="$.segment_rows: expected an integer from 1 to 2147483647")
    db = folder.load([PARENT], {"parent": range(9)})
    plan = db.parent / "plan.json"
    plan.write_text(json.dumps({"heddle": 1, "root": {"op": "aggregate", "keys": [], "aggs": [{"fn": "sum", "arg": "id", "as": "s"}],
                                                      "input": {"op": "scan", "table": "parent"}}}))
    call("explain", plan, "--db", db, "--dump", "pipelines", fails="tables of 3 segments, by fragments")
    assert call("explain", plan, "--db", db, "--dump", "devices").startswith("1 of 1: tables of 3 segments\n")
    ordered = db.parent / "ordered.json"
    ordered.write_text(json.dumps({"heddle": 1, "root": {"op": "sort", "keys": ["id"], "input": {"op": "scan", "table": "parent"}}}))
    call("run", ordered, "--db", db, gathered=8,
         fails="9 rows of the operator scan are needed in one place, which takes 8 at most")
    call("run", ordered, "--db", db, gathered=9)
    file = db / "parent-1.id.data"
    kept = file.read_bytes()
    file.write_bytes(bytes([kept[0] ^ 1]) + kept[1:])
    call("run", plan, "--db", db, fails=f"{file}: checksum is")
    file.write_bytes(kept[:-1])
    call("run", plan, "--db", db, fails=f"{file}: file has 2 bytes, the catalog says 3")
    file.unlink()
    call("run", plan, "--db", db, fails=f"{file}: file is missing")


def main():
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path)
        good(folder)
        bad(folder)
        print(f"{folder.number} databases")


main()
