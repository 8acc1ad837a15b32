"""Fragments of a plan that is cut for several workers (docs/scale.md): what a worker does with one, and what goes where."""
from __future__ import annotations

import collections
import json
import threading
import time
from typing import Any, Sequence

from ._connection import Connection
from ._errors import Cancelled


def binds(fragment: dict, worker: int) -> dict:
    """The parameters of a worker that runs the fragment."""
    return fragment["bind"][worker] if fragment["workers"] == "every" and fragment["bind"] else {}


def segment_of(fragment: dict, worker: int, workers: int) -> int | None:
    """Of a plan that is cut for segments: which one the worker reads who runs it."""
    return worker if fragment["workers"] == "every" and workers > 1 else None


def workers_of(fragment: dict, workers: int) -> Sequence[int]:
    """Which workers run it."""
    return range(workers if fragment["workers"] == "every" else 1)


def parts_of(source: dict, parts: Sequence[Any], worker: int) -> Sequence[Any]:
    """Of the results of a fragment, by worker, those that a worker reads who runs a later one."""
    if source["exchange"] == "shuffle":
        return [of_one[worker] for of_one in parts]
    return [parts[worker]] if source["exchange"] == "keep" else parts


def spread(table, column: str, workers: int) -> list:
    """The rows of a shuffle for each worker, whose number the column has, without it."""
    import pyarrow.compute as compute
    to = table[column]
    rest = table.drop_columns([column])
    return [rest.filter(compute.equal(to, w)) for w in range(workers)]


STATEMENTS = 64  # that a runner keeps


class Runner:
    """Runs fragments over a connection, in which it registers their inputs meanwhile. Statements of those that read no results
    stay prepared. Another thread may cancel."""

    def __init__(self, con: Connection):
        self.con = con
        self._statements: collections.OrderedDict[tuple, Any] = collections.OrderedDict()  # by plan and segment, the latest last
        self._turn = threading.Lock()  # fragments of several plans have inputs of one name
        self._lock = threading.Lock()
        self._statement = None  # that works
        self._key = None        # whose fragment it is
        self._cancelled: set[Any] = set()

    def run(self, plan: str, values: dict, inputs: dict, key: Any = None, segment: int | None = None):
        """A pyarrow.Table of the fragment's rows, and a report of its times; `plan`: its JSON; `inputs`: tables of pyarrow by
        name; `segment`: the one that it reads."""
        began = time.perf_counter()
        with self._turn:
            return self._run(plan, values, inputs, key, segment, began)

    def _run(self, plan, values, inputs, key, segment, began):
        turn, cpu = time.perf_counter(), time.process_time()
        try:
            for name, table in inputs.items():
                self.con.register(name, table)
            statement = None if inputs else self._statements.pop((plan, segment), None)
            statement = statement or self.con.prepare(plan, segment=segment)
            try:
                self._begin(statement, key)
                runs = time.perf_counter()
                result = statement.run(values)
                rows = result.arrow()
            except BaseException:
                self._begin(None, None)
                statement.close()
                raise
            self._end(statement, key, None if inputs else (plan, segment))
        finally:
            for name in set(inputs).intersection(self.con.tables()):
                self.con.drop(name)
        t = result.profile.times
        compiled = sum(t[k] for k in ("facts", "plan", "codegen", "open", "compile"))
        report = {"wait_ms": 1e3 * (turn - began), "prepare_ms": 1e3 * (runs - turn), "compile_ms": compiled, "execute_ms": t["total"] - compiled,
                  "cpu_ms": 1e3 * (time.process_time() - cpu)}
        return rows, report

    def _begin(self, statement, key):
        with self._lock:
            if key in self._cancelled:
                raise Cancelled("cancelled")
            self._statement, self._key = statement, key

    def _end(self, statement, key, name):
        """name: by which it is kept for further runs; it does not see tables that are registered later."""
        with self._lock:
            self._statement = self._key = None
            keeps = name is not None and key not in self._cancelled  # else its next run could be the cancelled one
        if not keeps:
            statement.close()
            return
        self._statements[name] = statement
        if len(self._statements) > STATEMENTS:
            self._statements.popitem(last=False)[1].close()

    def cancel(self, key: Any) -> None:
        """What runs for the key raises `Cancelled`, and so does all that is to be run for it until it is forgotten."""
        with self._lock:
            self._cancelled.add(key)
            if self._statement is not None and self._key == key:
                self._statement.cancel()

    def forget(self, key: Any) -> None:
        """The key is over."""
        with self._lock:
            self._cancelled.discard(key)


def run_here(con: Connection, document: dict, segments: bool = False):
    """All fragments one after the other in this process: what workers would do, for tests. `segments`: each has one. A
    pyarrow.Table."""
    import pyarrow
    runner, workers, done = Runner(con), document["workers"], {}
    for f in document["fragments"]:
        done[f["id"]] = []
        for worker in workers_of(f, workers):
            inputs = {i["table"]: pyarrow.concat_tables(parts_of(document["fragments"][i["fragment"]],
                                                                 done[i["fragment"]], worker))
                      for i in f["inputs"]}
            rows, _ = runner.run(json.dumps(f["plan"]), binds(f, worker), inputs,
                                 segment=segment_of(f, worker, workers) if segments else None)
            done[f["id"]].append(spread(rows, f["column"], workers) if f["exchange"] == "shuffle" else rows)
    return pyarrow.concat_tables(done[document["fragments"][-1]["id"]])
