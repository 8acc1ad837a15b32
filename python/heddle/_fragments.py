"""Fragments of a plan that is cut for several workers (docs/scale.md): what a worker does with one, and what goes where."""
from __future__ import annotations

import json
from typing import Any, Iterator, Sequence

from ._connection import Connection


def binds(fragment: dict, worker: int) -> dict:
    """The parameters of a worker that runs the fragment."""
    return fragment["bind"][worker] if fragment["workers"] == "every" else {}


def workers_of(fragment: dict, workers: int) -> Sequence[int]:
    """Which workers run it."""
    return range(workers if fragment["workers"] == "every" else 1)


def parts_of(source: dict, parts: Sequence[Any], worker: int) -> Sequence[Any]:
    """Of the results of a fragment, by worker, those that a worker reads who runs a later one."""
    return [parts[worker]] if source["exchange"] == "keep" else parts


def levels(fragments: Sequence[dict]) -> Iterator[list[dict]]:
    """Fragments that can run at one time, one list after the other: their inputs are in earlier lists."""
    level: dict[int, int] = {}
    for f in fragments:
        level[f["id"]] = 1 + max((level[i["fragment"]] for i in f["inputs"]), default=0)
    for n in range(1, 1 + max(level.values())):
        yield [f for f in fragments if level[f["id"]] == n]


class Runner:
    """Runs fragments over a connection, whose tables in memory it borrows the names of results for."""

    def __init__(self, con: Connection):
        self.con = con
        self.statement = None  # that works, for cancel

    def run(self, plan: dict, values: dict, inputs: dict):
        """A pyarrow.Table of the fragment's rows; `inputs`: tables of pyarrow by name."""
        try:
            for name, table in inputs.items():
                self.con.register(name, table)
            self.statement = self.con.prepare(json.dumps(plan))
            try:
                return self.statement.run(values).arrow()
            finally:
                statement, self.statement = self.statement, None
                statement.close()
        finally:
            for name in inputs:
                if name in self.con.tables():
                    self.con.drop(name)


def run_here(con: Connection, document: dict):
    """All fragments one after the other in this process: what workers would do, for tests. A pyarrow.Table."""
    import pyarrow
    runner, workers, done = Runner(con), document["workers"], {}
    for f in document["fragments"]:
        done[f["id"]] = []
        for worker in workers_of(f, workers):
            inputs = {i["table"]: pyarrow.concat_tables(parts_of(document["fragments"][i["fragment"]],
                                                                 done[i["fragment"]], worker))
                      for i in f["inputs"]}
            done[f["id"]].append(runner.run(f["plan"], binds(f, worker), inputs))
    return pyarrow.concat_tables(done[document["fragments"][-1]["id"]])
