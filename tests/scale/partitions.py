#!/usr/bin/env python3
"""Databases in partitions: what gen writes of each, in steps; what opens as one; what is refused, and how.

    partitions.py BIN
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HEDDLE = sys.argv[1]


def call(*command, fails=None):
    """Standard output; or that the command fails with this text."""
    done = subprocess.run([HEDDLE, *map(str, command)], capture_output=True, text=True, check=False)
    if (done.returncode != 0) != (fails is not None) or (fails and fails not in done.stderr):
        raise SystemExit(f"{' '.join(map(str, command))}: {done.returncode}, {done.stdout}{done.stderr}, expected {fails}")
    return done.stdout


def catalog(db):
    return json.loads((db / "catalog.json").read_text())


def stamps(db):
    return {f: f.stat().st_mtime_ns for f in db.rglob("*")}


def gen(home):
    """Three steps, the second one on its own, and again where one is gone."""
    db = home / "tpch"
    tpch = ["gen", "tpch", "--sf", "0.01", "--partitions", 3, "--out", db]
    call(*tpch, "--partition", 1)
    assert [f.name for f in db.iterdir()] == ["partition-1"]
    before = stamps(db)
    call(*tpch)
    assert all(stamps(db)[f] == at for f, at in before.items() if f.name != "tpch"), "a step was done twice"
    assert sorted(f.name for f in db.iterdir()) == ["partition-0", "partition-1", "partition-2"]
    shutil.rmtree(db / "partition-0")
    call("check", db, fails="of 3 partitions these are not here: 0")
    call(*tpch)
    call("check", db)
    parts = [catalog(db / f"partition-{k}") for k in range(3)]
    assert [p["partition"] for p in parts] == [{"number": k, "of": 3} for k in range(3)]
    rows = [{t["name"]: t["rows"] for t in p["tables"]} for p in parts]
    assert [r["orders"] for r in rows] == [5000] * 3 and {r["customer"] for r in rows} == {1500}, rows
    assert {t["name"]: t["cut_by"] for t in parts[0]["tables"] if "cut_by" in t} == {"orders": "o_orderkey", "lineitem": "l_orderkey"}
    for k in range(3):
        call("check", db / f"partition-{k}")
    files = {f.name: len({(db / f"partition-{k}" / f.name).stat().st_ino for k in range(3)}) for f in (db / "partition-0").iterdir()}
    assert files["part.p_name.data"] == files["customer.c_nationkey.fk0_offsets"] == 1, files  # they take their space once
    assert files["orders.o_orderkey.data"] == files["orders.o_custkey.fk0_offsets"] == files["catalog.json"] == 3, files
    assert not [f for f in files if f.endswith(".link")], files
    call(*tpch[:3], "0.02", *tpch[4:], fails="partition-0: exists already and is not an empty directory")
    call("gen", "tpch", "--sf", "0.01", "--partitions", 2, "--out", db / "partition-1",
         fails="exists already and is a database, not a directory of partitions")
    call(*tpch, "--partition", 3, fails="--partition: expected a number below that of --partitions")
    call(*tpch, "--segment-rows", 7, fails="--segment-rows")
    call("gen", "graph", "--vertices", 99, "--edges", 99, "--partitions", 2, "--out", home / "g", fails="--partitions")
    return db


def one(home, db):
    """Plans over all partitions, and over one by itself."""
    plan = home / "plan.json"
    plan.write_text(json.dumps({"heddle": 1, "root": {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
        "op": "join", "kind": "inner", "on": [["l_orderkey", "o_orderkey"]], "left": {"op": "scan", "table": "lineitem"},
        "right": {"op": "scan", "table": "orders"}}}}))
    counts = [int(call("run", plan, "--db", d, "--format", "csv").split()[1])
              for d in (db, *(db / f"partition-{k}" for k in range(3)))]
    assert counts[0] == sum(counts[1:]) == 60175, counts


def damage(home, db):
    """Partitions that do not belong together."""
    other = home / "other"
    call("gen", "tpch", "--sf", "0.01", "--partitions", 2, "--out", other)
    ssb = home / "ssb"
    call("gen", "ssb", "--sf", "0.01", "--partitions", 3, "--out", ssb)
    for source, message in [(other / "partition-0", "expected partition 1 of 3, found 0 of 2"),
                            (ssb / "partition-1", "it has other tables than partition 0"),
                            (db / "partition-0", "expected partition 1 of 3, found 0 of 3")]:
        mixed = home / "mixed"
        shutil.rmtree(mixed, ignore_errors=True)
        shutil.copytree(db, mixed)
        shutil.rmtree(mixed / "partition-1")
        shutil.copytree(source, mixed / "partition-1")
        call("check", mixed, fails=f"{mixed}/partition-1: {message}")
    larger = home / "larger"
    call("gen", "tpch", "--sf", "0.02", "--partitions", 3, "--out", larger)
    shutil.rmtree(mixed / "partition-1")
    shutil.copytree(larger / "partition-1", mixed / "partition-1")
    call("check", mixed, fails='partition-1: table "part": it is not divided, and its rows are not those in partition 0')
    plan = home / "sum.json"
    plan.write_text(json.dumps({"heddle": 1, "root": {"op": "aggregate", "aggs": [{"fn": "sum", "arg": "o_custkey", "as": "s"}],
                                                      "input": {"op": "scan", "table": "orders"}}}))
    file = db / "partition-2" / "orders.o_custkey.data"
    file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:])
    call("run", plan, "--db", db, fails=f"{file}: checksum is")
    file.unlink()
    call("run", plan, "--db", db, fails=f"{file}: file is missing")


KEY = {"name": "id", "type": "int32"}
PARENT = {"name": "parent", "columns": [KEY], "primary_key": ["id"], "cut_by": "id"}
CHILD = {"name": "child", "columns": [{"name": "of", "type": "int32"}, {"name": "s", "type": "string"}],
         "foreign_keys": [{"columns": ["of"], "table": "parent", "references": ["id"]}]}


def load(home, name, tables, rows, number=0, of=2, fails=None, **more):
    schema = {"tables": tables, "format": {"delimiter": ",", "trailing_delimiter": False}, **more}
    if of:
        schema["partition"] = {"number": number, "of": of}
    data = home / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    (home / "schema.json").write_text(json.dumps(schema))
    for table, lines in rows.items():
        (data / f"{table}.csv").write_text("".join(f"{line}\n" for line in lines))
    call("load", "--schema", home / "schema.json", "--from", data, "--out", home / name / f"partition-{number}", fails=fails)
    return home / name


def schemas(home):
    """What a schema may say of a partition."""
    cut_child = {**CHILD, "cut_by": "of"}
    good = [PARENT, cut_child]
    (home / "t").mkdir()
    load(home, "t", good, {"parent": [1, 2, 5], "child": ["1,b", "1,a", "5,x"]})
    db = load(home, "t", good, {"parent": [7, 9], "child": ["9,c"]}, 1)  # of other words
    call("check", db)
    plan = home / "words.json"
    plan.write_text(json.dumps({"heddle": 1, "root": {"op": "sort", "keys": ["s"], "input": {"op": "scan", "table": "child", "filter": "s < 'm'"}}}))
    assert call("run", plan, "--db", db, "--format", "csv").split() == ["of,s", "1,a", "1,b", "9,c"]
    shutil.rmtree(db / "partition-1")
    load(home, "t", good, {"parent": [5, 9], "child": ["9,c"]}, 1)
    call("check", db, fails='partition-1: table "parent": values of column "id" are in a partition before it, too')
    load(home, "t", good, {"parent": [9, 7], "child": ["9,c"]}, 2, 3,
         fails='parent: the rows are not in the order of column "id", by which the table is cut')
    for tables, wrong, more in [
            ([PARENT, CHILD], 'a foreign key leads to table "parent", which is divided, and this one is not', {}),
            ([{**PARENT, "cut_by": "ix"}], '$.tables[0].cut_by: table "parent" has no column "ix"', {}),
            ([{**PARENT, "cut_by": None}], '"cut_by": expected a column of ints or dates that is never NULL', {}),
            ([{**CHILD, "foreign_keys": [], "cut_by": "s"}], '"cut_by": expected a column of ints or dates', {}),
            ([{**CHILD, "foreign_keys": [], "primary_key": ["s"], "cut_by": "of"}], 'the primary key has not the column "of"', {}),
            ([PARENT], "a table of a partition has more than 1 rows: make more partitions", {"segment_rows": 1})]:
        load(home, "bad", tables, {"parent": [1, 2], "child": ["1,a"]}, fails=wrong, **more)
    load(home, "bad", [PARENT], {"parent": [1]}, of=0, fails="only a table of segments, or of a partition, is cut")
    load(home, "bad", [PARENT], {"parent": [1]}, 2, fails="$.partition.number: expected an integer from 0 to 1")


def main():
    with tempfile.TemporaryDirectory() as path:
        home = pathlib.Path(path)
        db = gen(home)
        one(home, db)
        damage(home, db)
        (home / "bad").mkdir()
        schemas(home)


main()
