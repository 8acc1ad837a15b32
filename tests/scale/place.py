#!/usr/bin/env python3
"""Partitions that are made of a database, and connections that have some of them (without Ray: tests/scale/test_ray.py has that).

    place.py DB PLAN...
"""
import json
import pathlib
import sys
import tempfile

try:
    import pyarrow
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import heddle
from heddle import _fragments as fragments
from heddle import _partitions as partitions
from heddle._place import place
from rows import differences

COUNT = {"heddle": 1, "root": {"op": "aggregate", "aggs": [{"fn": "sum", "arg": "l_quantity", "as": "s"}],
                               "input": {"op": "scan", "table": "lineitem"}}}


def expect(kind, text, function, *args, **named):
    try:
        function(*args, **named)
    except kind as e:
        assert text in str(e), e
        return
    raise AssertionError(f"no {kind.__name__}: {text}")


def run_apart(nodes, runs, document):
    """Each fragment where its partition is."""
    runners, workers, done = [fragments.Runner(con) for con in nodes], document["workers"], {}
    for f in document["fragments"]:
        done[f["id"]] = []
        for w in fragments.workers_of(f, workers):
            inputs = {i["table"]: pyarrow.concat_tables(fragments.parts_of(document["fragments"][i["fragment"]], done[i["fragment"]], w))
                      for i in f["inputs"]}
            segment = fragments.segment_of(f, w, workers)
            rows, _ = runners[0 if segment is None else runs[segment]].run(json.dumps(f["plan"]), fragments.binds(f, w), inputs, segment=segment)
            done[f["id"]].append(fragments.spread(rows, f["column"], workers) if f["exchange"] == "shuffle" else rows)
    return pyarrow.concat_tables(done[document["fragments"][-1]["id"]])


def some_on_each(db, plans, folder):
    place(db, folder, 2, count=3)
    before = {f: f.stat().st_mtime_ns for f in pathlib.Path(folder).rglob("*/*/*")}
    place(db, folder, 2, count=3)  # all is there
    assert before == {f: f.stat().st_mtime_ns for f in pathlib.Path(folder).rglob("*/*/*")}
    paths = [f"{folder}/node-{i}" for i in range(2)]
    found = [partitions.look(p) for p in paths]
    assert [sorted(f) for f in found] == [[0, 2], [1]]
    catalogs = partitions.gather(list(zip(paths, found)))
    nodes = [partitions.connect_to(p, catalogs, threads=1, backend="cpu") for p in paths]
    runs = partitions.assign(found, 3, paths, [])
    assert runs == [0, 1, 0]
    with heddle.connect(db, threads=1) as whole:
        for path in plans:
            plan = json.loads(pathlib.Path(path).read_text())
            wrong = differences(plan, whole.run(plan).arrow(), run_apart(nodes, runs, nodes[0].prepare(plan).fragments(0)))
            assert not wrong, (path, wrong)
    assert nodes[1].run({"heddle": 1, "root": {"op": "scan", "table": "nation"}}).arrow().num_rows == 25
    expect(heddle.IoError, "the file is in no partition that is here", nodes[1].run, COUNT)
    expect(heddle.IoError, "the file is in no partition that is here", nodes[1].prepare(COUNT, segment=2).run)
    assert len(nodes[1].prepare(COUNT, segment=1).run()) == 1
    expect(heddle.UserError, "segment 4: tables have 3 segments", nodes[1].prepare, COUNT, segment=3)
    expect(heddle.UserError, "workers: expected 1 to 1024, or 0 for one a segment", nodes[0].prepare(COUNT).fragments, -1)
    return paths, found


def who_has_what(db, folder, paths, found):
    expect(heddle.IoError, "of 3 partitions these are nowhere: 0, 2", partitions.gather, [(paths[1], found[1])])
    expect(heddle.IoError, "no database, and no partition of one", partitions.gather, [(db, partitions.look(db))])
    expect(heddle.CorruptError, "partition 1 is another one than on b", partitions.gather,
           [("b", found[1]), ("c", {1: found[0][0]})])
    expect(heddle.ResourceError, "partition 1 is on no worker that is left: b had 1", partitions.assign, [{0, 2}], 3, ["a"], [("b", {1})])
    assert partitions.assign([{0, 1, 2}, {0, 1, 2}], 3, ["a", "b"], []) == [0, 1, 0]
    copies = pathlib.Path(folder, "copies")
    joined = pathlib.Path(folder, "joined")
    joined.mkdir()
    for path, has in zip(paths, found):
        for k in has:
            (joined / partitions.folder(k)).symlink_to(pathlib.Path(path, partitions.folder(k)))
    place(joined, copies, 3, copies=2)
    assert [sorted(partitions.look(str(copies / f"node-{i}"))) for i in range(3)] == [[0, 2], [0, 1], [1, 2]]
    expect(heddle.UserError, "nodes: expected 1 to 3", place, joined, copies, 4)
    expect(heddle.UserError, "copies: expected 1 to 2", place, joined, copies, 2, copies=3)


def main():
    db, *plans = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        paths, found = some_on_each(db, plans, f"{folder}/placed")
        who_has_what(db, folder, paths, found)
        heddle.create(f"{folder}/unsorted", {"t": pyarrow.table({"k": [2, 1]})})
        expect(heddle.UserError, "no table has rows in the order of a key", place, f"{folder}/unsorted", f"{folder}/no", 2)
    print(f"{len(plans)} plans")


main()
