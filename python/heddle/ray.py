"""Plans over several machines, on Ray: `pip install heddle[ray]`.

    import heddle.ray
    with heddle.ray.Cluster("/data/tpch100") as cluster:
        print(cluster.run("select count(*) from lineitem"))

or `python -m heddle.ray run PLAN.json --db DIR --nodes N`. Every node has the database at the same path. A plan is cut
into fragments (docs/scale.md); workers, actors of Ray with a connection each, run them, and rows go from one to the
other through Ray's object store.
"""
from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from typing import Any, Sequence

try:
    import ray
    import ray.exceptions
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as missing:
    raise ImportError(f"heddle.ray needs Ray: pip install heddle[ray] ({missing})") from missing

from . import _fragments as fragments
from ._connection import Connection, Params, Plan, connect, is_sql
from ._create import _Bar
from ._errors import Error, ResourceError, UserError
from ._result import Result

__all__ = ["Cluster", "Query"]

RETRIES = 3  # of a worker that died, and of what it was at


class _Worker:
    """An actor: a connection to the database, and the fragment that it runs. The methods of the group "control" run in a
    thread of their own."""

    def __init__(self, options: dict):
        self._runner = fragments.Runner(connect(**options))

    def run(self, query: str, plan: dict, values: dict, column: str | None, workers: int,
            inputs: Sequence[tuple[str, int]], *parts):
        """A pyarrow.Table, or with `column`, of a shuffle, one for each of so many workers. `inputs`: names of tables, and of how many of the parts, in turn, each is made. The parts'
        arrays lie in the object store's memory, and are read where they are."""
        import pyarrow
        rest = iter(parts)
        tables = {name: pyarrow.concat_tables(itertools.islice(rest, count)) for name, count in inputs}
        rows = self._runner.run(plan, values, tables, query)
        return rows if column is None else fragments.spread(rows, column, workers)

    @ray.method(concurrency_group="control")
    def cancel(self, query: str) -> None:
        """What the query runs here ends, and nothing of it begins."""
        self._runner.cancel(query)

    @ray.method(concurrency_group="control")
    def forget(self, query: str) -> None:
        """The query is over."""
        self._runner.forget(query)

    @ray.method(concurrency_group="control")
    def about(self) -> dict:
        """Where it is, and its tables."""
        node = ray.get_runtime_context().get_node_id()
        return {"pid": os.getpid(), "node": node, "tables": self._runner.con.tables()}


# A worker or a node is gone, and so may be rows that lay there.
_LOST = (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError, ray.exceptions.ActorUnschedulableError,
         ray.exceptions.NodeDiedError)


def _nodes() -> list[dict]:
    nodes = sorted((n for n in ray.nodes() if n["Alive"]), key=lambda n: n["NodeID"])
    if not nodes:
        raise ResourceError("the cluster has no node that is alive")
    return nodes


def _start_worker(nodes: list[dict], i: int, count: int, options: dict):
    """Worker i of so many, on the nodes in turns, which share the node's cores and GPUs. Ray starts one that died again,
    on its node, and runs again what it was at."""
    node, on_it = nodes[i % len(nodes)], len(range(i % len(nodes), count, len(nodes)))
    threads = max(1, int(node["Resources"].get("CPU", 1)) // on_it)
    gpus = int(node["Resources"].get("GPU", 0)) // on_it  # Ray shows a worker these alone
    actor = ray.remote(concurrency_groups={"control": 1}, allow_out_of_order_execution=True, num_cpus=0, max_restarts=RETRIES, max_task_retries=RETRIES,
                       num_gpus=gpus,
                       scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False))(_Worker)
    return actor.remote({"threads": threads, "device": "all" if gpus > 1 else 0, **options})


class Cluster:
    """A database on the nodes of a Ray cluster, with workers that run plans.

    `path`: of the database, the same on each node. `workers`: how many, by default one on each node. `address`: of the
    cluster; by default the one that the program is connected to or that RAY_ADDRESS names, else one on this machine for
    as long as it is needed. `threads`, of each worker: by default its share of the node's cores. `backend`,
    `memory_limit`: as for `heddle.connect`.
    """

    def __init__(self, path: str | os.PathLike, *, workers: int = 0, address: str | None = None, threads: int = 0,
                 backend: str | None = None, memory_limit: int = 0):
        path = os.path.abspath(path)
        if workers < 0:
            raise UserError(f"workers: expected 1 or more, or 0 for one on each node, not {workers}")
        self._con: Connection = connect(path, threads=1, backend="cpu")  # which cuts plans, and reads SQL
        self._workers: list = []
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        self._options = {"path": path, "backend": backend, "memory_limit": memory_limit}
        if threads:
            self._options["threads"] = threads
        try:
            nodes = _nodes()
            count = workers or len(nodes)
            self._workers = [_start_worker(nodes, i, count, self._options) for i in range(count)]
            ray.get([w.about.remote() for w in self._workers])
        except ray.exceptions.RayError as e:
            self.close()
            raise ResourceError(f"a worker does not start: {str(e).strip().splitlines()[-1]}") from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_):
        self.close()

    def __len__(self) -> int:
        """Workers."""
        return len(self._workers)

    def close(self) -> None:
        """Ends the workers, and the cluster if it was made for this."""
        for worker in self._workers:
            ray.kill(worker)
        self._workers = []
        self._con.close()
        if self._own and ray.is_initialized():
            ray.shutdown()
        self._own = False

    def _replace_lost(self) -> None:
        """Workers whose nodes are gone, or that died too often, are started anew on the nodes that are left."""
        nodes = _nodes()
        for i, worker in enumerate(self._workers):
            try:
                ray.get(worker.about.remote())
            except _LOST:
                self._workers[i] = _start_worker(nodes, i, len(self._workers), self._options)

    def workers(self) -> list[dict]:
        """Of each worker: the process, the node, and the tables of its connection. Lost ones are replaced before."""
        self._replace_lost()
        return ray.get([w.about.remote() for w in self._workers])

    def start(self, query: Plan, params: Params = None, *, progress: Any = False, **named: Any) -> Query:
        """Begins to run a plan, or a query in SQL; `progress`: as for `heddle.create`."""
        if not self._workers:
            raise UserError("the cluster was closed")
        statement = self._con.prepare_sql(query) if is_sql(query) else self._con.prepare(query)
        return Query(self, statement.fragments(len(self._workers), params, **named), progress)

    def run(self, query: Plan, params: Params = None, *, progress: Any = False, **named: Any) -> Result:
        """Runs a plan, or a query in SQL."""
        return self.start(query, params, progress=progress, **named).result()


class Query:
    """A plan that runs on a cluster, made by `Cluster.start`."""

    _numbers = itertools.count()

    def __init__(self, cluster: Cluster, document: dict, progress: Any):
        self.document = document  # docs/scale.md
        self._name = f"{os.getpid()}-{next(Query._numbers)}"
        self._cluster, self._progress, self._begun = cluster, progress, time.perf_counter()
        self._cancelled = False
        self._parts: list[list] = []  # of each fragment: what each of its workers gives
        self._begin()

    def _begin(self):
        self._parts = []
        for f in self.document["fragments"]:
            self._parts.append([self._submit(f, w) for w in fragments.workers_of(f, self.document["workers"])])

    def _submit(self, fragment, worker):
        """Ray begins with it when its inputs are there."""
        inputs, parts = [], []
        for i in fragment["inputs"]:
            source = self.document["fragments"][i["fragment"]]
            read = fragments.parts_of(source, self._parts[i["fragment"]], worker)
            inputs.append((i["table"], len(read)))
            parts += read
        alone = fragment["id"] if fragment["workers"] == "one" else 0  # such fragments are not all the first one's
        workers = self._cluster._workers
        actor = workers[(worker + alone) % len(workers)]
        column, count = fragment.get("column"), self.document["workers"]  # of a shuffle, which gives so many tables
        return actor.run.options(num_returns=count if column else 1).remote(
            self._name, fragment["plan"], fragments.binds(fragment, worker), column, count, inputs, *parts)

    def cancel(self) -> None:
        """From any thread: `result` raises `heddle.Cancelled`, unless the rows are there."""
        self._cancelled = True
        for worker in self._cluster._workers:
            worker.cancel.remote(self._name)

    def result(self) -> Result:
        """Waits for the rows."""
        import pyarrow
        if not self._parts:
            raise UserError("the rows were taken")
        try:
            parts = self._rows()
        except ray.exceptions.RayError as e:
            raise _error(e) from None
        except KeyboardInterrupt:
            self.cancel()
            raise
        finally:
            self._parts = []  # what nobody refers to, Ray frees
            if self._cancelled:
                for worker in self._cluster._workers:
                    worker.forget.remote(self._name)
        ms = round(1e3 * (time.perf_counter() - self._begun), 3)
        report = {"backend": "ray", "threads": self.document["workers"], "total_ms": ms}
        return Result(None, json.dumps(report), None, pyarrow.concat_tables(parts))

    def _rows(self):
        """The result's parts. Where more is lost than Ray brings back, all begins again on the workers that are left."""
        for attempt in range(RETRIES):
            self._wait()
            try:
                return ray.get(self._parts[-1])
            except _LOST:
                if attempt == RETRIES - 1 or self._cancelled:
                    raise
                self._cluster._replace_lost()
                self._begin()
        raise AssertionError("not reached")

    def _wait(self):
        """Until all is done, also where something fails: then so does all that reads it, at once."""
        left = [ref for part in sum(self._parts, []) for ref in (part if isinstance(part, list) else [part])]
        count = len(left)
        with _Bar(self._progress) as say:
            while left:
                say((count - len(left)) / count, f"{count - len(left)} of {count} parts of fragments")
                _, left = ray.wait(left, fetch_local=False)
            say(1.0, f"{count} of {count} parts of fragments")


def _error(e: Exception) -> Exception:
    """The exception of Heddle's that it is about."""
    while isinstance(e, ray.exceptions.RayTaskError) and isinstance(e.cause, Exception):
        e = e.cause
    if isinstance(e, Error):
        return e
    if isinstance(e, ray.exceptions.RayTaskError):
        return Error(f"a worker failed: {str(e).strip().splitlines()[-1]}", detail=str(e))
    if isinstance(e, ray.exceptions.RayError):
        return ResourceError(f"a worker died, more than {RETRIES} times, or its node: {str(e).strip().splitlines()[0]}")
    return Error(f"a worker failed: {type(e).__name__}: {e}")


# ---- the command ----------------------------------------------------------------------------------

def _parser():
    parser = argparse.ArgumentParser(prog="python -m heddle.ray", description="Plans over several machines, on Ray.")
    run = parser.add_subparsers(required=True, metavar="COMMAND").add_parser("run", help="run a plan and print its rows")
    run.add_argument("plan", metavar="PLAN", help="a file with a plan, or SQL")
    run.add_argument("--db", required=True, metavar="DIR", help="database, at this path on every node")
    run.add_argument("--nodes", type=int, default=0, metavar="N", help="workers (default: one on each node)")
    run.add_argument("--address", help="of the Ray cluster (default: $RAY_ADDRESS, else one on this machine)")
    run.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE", help="value of a parameter")
    run.add_argument("--format", choices=("table", "csv", "json"), default="table")
    run.add_argument("--rows", type=int, default=100, help="at most so many in a table (default: 100)")
    run.add_argument("--backend", choices=("auto", "cpu", "cuda"))
    run.add_argument("--threads", type=int, default=0, help="of each worker (default: its share of the node's cores)")
    run.add_argument("--time", action="store_true", help="times to standard error")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line; exit statuses are those of `python -m heddle`."""
    from . import __main__ as command
    options = _parser().parse_args(arguments)

    def run(_):
        params = dict(command._split(p, "NAME=VALUE") for p in options.param)
        with Cluster(options.db, workers=options.nodes, address=options.address, threads=options.threads,
                     backend=options.backend) as cluster:
            result = cluster.run(options.plan, params, progress=None)
            command.write(result, options.format, options.rows)
            if options.time:
                print(result.profile, file=sys.stderr)
    return command.guarded(run, options)


if __name__ == "__main__":
    from heddle import ray as module  # classes that workers know by this name
    sys.exit(module.main())
