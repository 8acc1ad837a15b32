"""Plans over several machines, on Ray: `pip install heddle[ray]`.

    import heddle.ray
    with heddle.ray.Cluster("/data/tpch100") as cluster:
        print(cluster.run("select count(*) from lineitem"))

or `python -m heddle.ray run PLAN.json --db DIR --nodes N`. Every node has the database at the same path, or some of its
partitions. A plan is cut into fragments (docs/scale.md); workers, actors of Ray with a connection each, run them, and rows go
from one to the other through Ray's object store.
"""
from __future__ import annotations

import argparse
import dataclasses
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
from . import _partitions as partitions
from ._connection import Connection, Params, Plan, connect, is_sql, read_plan, values_text
from ._create import _Bar
from ._errors import Error, ResourceError, UserError
from ._place import place
from ._result import Profile, Result

__all__ = ["Cluster", "Prepared", "Query", "place"]

RETRIES = 3  # of a worker that died, and of what it was at


class _Worker:
    """An actor: a connection to the database, and the fragment that it runs. The methods of the group "control" run in a
    thread of their own."""

    def __init__(self, options: dict, catalogs: dict | None):
        """catalogs: of all partitions, some of which are at the path; None: the database is there."""
        self._runner = fragments.Runner(connect(**options) if catalogs is None
                                        else partitions.connect_to(catalogs=catalogs, **options))

    def run(self, query: str, plan: str, values: dict, segment: int | None, column: str | None, workers: int,
            inputs: Sequence[tuple[str, int]], *parts):
        """A pyarrow.Table, or with `column`, of a shuffle, one for each of so many workers; and a report, a dict. `segment`: the
        partition that the plan is over. `inputs`: names of tables, and of how many of the parts, in turn, each is made. The parts'
        arrays lie in the object store's memory, and are read where they are."""
        import pyarrow
        start = time.time()
        rest = iter(parts)
        tables = {name: pyarrow.concat_tables(itertools.islice(rest, count)) for name, count in inputs}
        rows, report = self._runner.run(plan, values, tables, query, segment)
        sends = time.perf_counter()
        out = [rows] if column is None else fragments.spread(rows, column, workers)
        report |= {"send_ms": 1e3 * (time.perf_counter() - sends), "rows": rows.num_rows, "bytes": sum(t.nbytes for t in out),
                   "read_bytes": sum(t.nbytes for t in tables.values()), "start": start}
        return *out, report

    @ray.method(concurrency_group="control")
    def cut(self, query: bytes | str, params: Params, named: dict) -> dict:
        """The plan, or query in SQL, cut for the partitions."""
        con = self._runner.con
        statement = con.prepare_sql(query) if isinstance(query, str) else con.prepare(query)
        return statement.fragments(0, params, **named)

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


@dataclasses.dataclass
class _Place:
    """Where a worker is, and what it has there."""
    node: dict
    share: int         # workers on the node
    options: dict      # of its connection
    partitions: frozenset[int] = frozenset()
    catalogs: dict | None = None  # of all partitions; None: the database is whole

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.options['path']} on node {self.node['NodeManagerAddress']} ({self.node['NodeID'][:8]})"


def _affinity(node: dict):
    return NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)


def _start_worker(place: _Place):
    """Workers on a node share its cores and GPUs. Ray starts one that died again, on its node, and runs again what it was at."""
    threads = max(1, int(place.node["Resources"].get("CPU", 1)) // place.share)
    gpus = int(place.node["Resources"].get("GPU", 0)) // place.share  # Ray shows a worker these alone
    actor = ray.remote(concurrency_groups={"control": 1}, allow_out_of_order_execution=True, num_cpus=0, max_restarts=RETRIES, max_task_retries=RETRIES,
                       num_gpus=gpus, scheduling_strategy=_affinity(place.node))(_Worker)
    return actor.remote({"threads": threads, "device": "all" if gpus > 1 else 0, **place.options}, place.catalogs)


def _make_places(paths: Sequence[str], nodes: list[dict], count: int, options: dict) -> list[_Place]:
    """Of so many workers, on the nodes in turns, with these paths in turns."""
    return [_Place(nodes[i % len(nodes)], len(range(i % len(nodes), count, len(nodes))), {**options, "path": paths[i % len(paths)]})
            for i in range(count)]


class Cluster:
    """A database on the nodes of a Ray cluster, with workers that run plans.

    `path`: of the database, the same on each node; or of a directory that has some of its partitions (docs/storage.md) on each
    node, each partition on one at least; or a list of such directories, one for each worker. `workers`: how many, by default one
    on each node. `address`: of the cluster; by default the one that the program is connected to or that RAY_ADDRESS names, else
    one on this machine for as long as it is needed. `threads`, of each worker: by default its share of the node's cores.
    `backend`, `memory_limit`: as for `heddle.connect`.
    """

    def __init__(self, path: str | os.PathLike | Sequence[str | os.PathLike], *, workers: int = 0, address: str | None = None,
                 threads: int = 0, backend: str | None = None, memory_limit: int = 0):
        one = isinstance(path, (str, os.PathLike))
        paths = [os.path.abspath(p) for p in ([path] if one else path)]
        if workers < 0 or not paths:
            raise UserError(f"workers: expected 1 or more, or 0 for one on each node, not {workers}" if paths else
                            "path: the list is empty")
        whole = len(paths) == 1 and partitions.is_whole(paths[0])
        self._con: Connection | None = connect(paths[0], threads=1, backend="cpu") if whole else None  # cuts plans, reads SQL
        self._places: list[_Place] = []
        self._lost: list[_Place] = []  # with their partitions
        self._runs: list[int] = []    # [partition] which worker
        self._workers: list = []
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        options = {"backend": backend, "memory_limit": memory_limit, **({"threads": threads} if threads else {})}
        try:
            nodes = _nodes()
            self._places = _make_places(paths, nodes, workers or len(nodes if one else paths), options)
            if not whole:
                self._places = _look(self._places)
            self._assign()
            self._workers = [_start_worker(s) for s in self._places]
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
        if self._con is not None:
            self._con.close()
        if self._own and ray.is_initialized():
            ray.shutdown()
        self._own = False

    def _assign(self) -> None:
        if self._con is None:
            count = 1 + max(max(s.partitions) for s in self._places + self._lost)
            self._runs = partitions.assign([s.partitions for s in self._places], count, [s.name for s in self._places],
                                           [(s.name, s.partitions) for s in self._lost])

    def _replace_lost(self) -> None:
        """Workers that died too often are started anew, those whose nodes are gone on the nodes that are left. A partition stays
        where it is: what a lost node had, others must have, too."""
        nodes = _nodes()
        alive = {n["NodeID"] for n in nodes}
        left, workers = [], []
        for i, (place, worker) in enumerate(zip(self._places, self._workers)):
            try:
                ray.get(worker.about.remote())
            except _LOST:
                if place.node["NodeID"] not in alive and self._con is None:
                    self._lost.append(place)
                    continue
                if place.node["NodeID"] not in alive:
                    place = dataclasses.replace(place, node=nodes[i % len(nodes)])
                worker = _start_worker(place)
            left.append(place)
            workers.append(worker)
        self._places, self._workers = left, workers
        self._assign()

    def workers(self) -> list[dict]:
        """Of each worker: the process, the node, the tables of its connection, and the partitions that it has. Lost ones are
        replaced before."""
        self._replace_lost()
        about = ray.get([w.about.remote() for w in self._workers])
        return [{**a, "partitions": sorted(s.partitions)} for a, s in zip(about, self._places)]

    def prepare(self, query: Plan) -> Prepared:
        """A plan, or a query in SQL, that can be run many times, with other parameters."""
        return Prepared(self, query)

    def start(self, query: Plan, params: Params = None, *, progress: Any = False, **named: Any) -> Query:
        """Begins to run a plan, or a query in SQL; `progress`: as for `heddle.create`."""
        return self.prepare(query).start(params, progress=progress, **named)

    def _make_cut(self, query, params, named):
        """The document. Over partitions a worker makes it, for as many workers as there are partitions."""
        if self._con is not None:
            statement = self._con.prepare_sql(query) if is_sql(query) else self._con.prepare(query)
            return statement.fragments(len(self._workers), params, **named)
        for attempt in range(RETRIES):
            try:
                return ray.get(self._workers[0].cut.remote(query, params, named))
            except _LOST as e:
                if attempt == RETRIES - 1:
                    raise _error(e) from None
                self._replace_lost()
            except ray.exceptions.RayError as e:
                raise _error(e) from None
        raise AssertionError("not reached")

    def _runs_on(self, fragment: dict, worker: int, count: int) -> int:
        """Which worker runs the fragment's part of a worker, of so many: of those over a partition one that has it."""
        alone = fragment["id"] if fragment["workers"] == "one" else 0  # such fragments are not all the first one's
        over = self._segment(fragment, worker, count)
        return (worker + alone) % len(self._workers) if over is None else self._runs[over]

    def _segment(self, fragment: dict, worker: int, count: int) -> int | None:
        return fragments.segment_of(fragment, worker, count) if self._con is None else None

    def run(self, query: Plan, params: Params = None, *, progress: Any = False, **named: Any) -> Result:
        """Runs a plan, or a query in SQL."""
        return self.start(query, params, progress=progress, **named).result()


def _look(places: list[_Place]) -> list[_Place]:
    """The places at which there are partitions."""
    look = ray.remote(num_cpus=0)(partitions.look)
    found = ray.get([look.options(scheduling_strategy=_affinity(s.node)).remote(s.options["path"]) for s in places])
    catalogs = partitions.gather([(s.name, f) for s, f in zip(places, found)])
    partitions.connect_to(os.devnull, catalogs, threads=1, backend="cpu").close()  # they belong together
    return [dataclasses.replace(s, partitions=frozenset(f), catalogs=catalogs) for s, f in zip(places, found) if f]


class Prepared:
    """A plan, or a query in SQL, made by `Cluster.prepare`. It is cut for the values of its parameters, once as long as these
    stay, and workers keep the statements of its fragments over base tables. A parameter without a value has the plan's default."""

    def __init__(self, cluster: Cluster, query: Plan):
        if not cluster._workers:
            raise UserError("the cluster was closed")
        self._cluster, self._query = cluster, query if is_sql(query) else read_plan(query)
        self._cut: tuple[str, dict, list[str]] | None = None  # for which values, the document, its plans as JSON

    def start(self, params: Params = None, *, progress: Any = False, **named: Any) -> Query:
        """Begins to run it; `progress`: as for `heddle.create`."""
        began = time.perf_counter()
        if not self._cluster._workers:
            raise UserError("the cluster was closed")
        values = values_text(params) + values_text(named)
        if self._cut is None or self._cut[0] != values:
            document = self._cluster._make_cut(self._query, params, named)
            self._cut = values, document, [json.dumps(f["plan"]) for f in document["fragments"]]
        return Query(self._cluster, *self._cut[1:], progress, began)

    def run(self, params: Params = None, *, progress: Any = False, **named: Any) -> Result:
        """Runs it."""
        return self.start(params, progress=progress, **named).result()


class Query:
    """A plan that runs on a cluster, made by `Cluster.start` or `Prepared.start`."""

    _numbers = itertools.count()

    def __init__(self, cluster: Cluster, document: dict, plans: Sequence[str], progress: Any, began: float):
        self.document = document  # docs/scale.md
        self._name = f"{os.getpid()}-{next(Query._numbers)}"
        self._cluster, self._plans, self._progress, self._began = cluster, plans, progress, began
        self._cut_ms = 1e3 * (time.perf_counter() - began)
        self._start = time.time()
        self._cancelled = False
        self._parts: list[list] = []    # of each fragment: what each of its workers gives
        self._reports: list[list] = []  # likewise: which worker, and what it says about it
        self._begin()

    def _begin(self):
        self._parts, self._reports = [], []
        for f in self.document["fragments"]:
            parts, reports = zip(*[self._submit(f, w) for w in fragments.workers_of(f, self.document["workers"])])
            self._parts.append(parts)
            self._reports.append(reports)

    def _submit(self, fragment, worker):
        """Ray begins with it when its inputs are there."""
        inputs, parts = [], []
        for i in fragment["inputs"]:
            source = self.document["fragments"][i["fragment"]]
            read = fragments.parts_of(source, self._parts[i["fragment"]], worker)
            inputs.append((i["table"], len(read)))
            parts += read
        column, count = fragment.get("column"), self.document["workers"]  # of a shuffle, which gives so many tables
        number = self._cluster._runs_on(fragment, worker, count)
        *made, report = self._cluster._workers[number].run.options(num_returns=1 + (count if column else 1)).remote(
            self._name, self._plans[fragment["id"]], fragments.binds(fragment, worker), self._cluster._segment(fragment, worker, count),
            column, count, inputs, *parts)
        return made if column else made[0], (number, report)

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
            parts, reports = self._rows()
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
        report = {"backend": "ray", "workers": len(self._cluster), "cut_ms": round(self._cut_ms, 3), "fragments": reports,
                  "total_ms": round(1e3 * (time.perf_counter() - self._began), 3)}
        return _Result(None, json.dumps(report), None, pyarrow.concat_tables(parts))

    def _rows(self):
        """The result's parts, and reports of the fragments. Where more is lost than Ray brings back, all begins again on the workers
        that are left."""
        for attempt in range(RETRIES):
            self._wait()
            try:
                last = self._parts[-1]
                got = ray.get([*last, *(r for of_one in self._reports for _, r in of_one)])  # at once: Ray prints errors that nobody gets
                return got[:len(last)], self._describe(iter(got[len(last):]))
            except _LOST:
                if attempt == RETRIES - 1 or self._cancelled:
                    raise
                self._cluster._replace_lost()
                self._begin()
        raise AssertionError("not reached")

    def _describe(self, reports):
        """Of each fragment, and of each of its parts. Clocks of the machines are taken to agree."""
        out = []
        for f, of_one in zip(self.document["fragments"], self._reports):
            parts = []
            for (worker, _), r in zip(of_one, reports):
                start = 1e3 * (r.pop("start") - self._start) + self._cut_ms
                parts.append({"worker": worker, "start_ms": round(start, 3), **{k: round(v, 3) for k, v in r.items()}})
            out.append({"id": f["id"], "exchange": f["exchange"], "reads": [i["fragment"] for i in f["inputs"]], "parts": parts})
        return out

    def _wait(self):
        """Until all is done, also where something fails: then so does all that reads it, at once."""
        reports = [[r for _, r in of_one] for of_one in self._reports]
        waited = [r for of_one in reports for r in of_one]
        count, left = len(waited), waited
        with _Bar(self._progress) as say:
            while left:
                say((count - len(left)) / count, self._where(reports, set(left), count - len(left)))
                _, left = ray.wait(left, num_returns=len(left), timeout=0.1, fetch_local=False)
            say(1.0, f"{count} of {count} parts of fragments")

    def _where(self, reports, left, done):
        """For the bar: the first fragment that has not ended."""
        number = next(i for i, of_one in enumerate(reports) if left.intersection(of_one))
        f, parts = self.document["fragments"][number], reports[number]
        return (f"fragment {number} ({f['exchange']}) {len(parts) - len(left.intersection(parts))}/{len(parts)}, "
                f"all {done}/{sum(map(len, reports))}")


class _Result(Result):
    @property
    def profile(self) -> Profile:
        """Times of the run, of its fragments and of their parts on the workers."""
        return _Profile(self._report, None)


class _Profile(Profile):
    """report["fragments"] has of each fragment its parts: `worker`; `start_ms`, since the query began; `wait_ms`, for another
    fragment on that worker; `prepare_ms`, to register what it reads and type its plan; `compile_ms`, `execute_ms`; `send_ms`, to divide
    rows of a shuffle; `cpu_ms`, of all threads of the worker, from `prepare_ms` to `execute_ms`; `rows`, `bytes` of the result, `read_bytes` of the results that it reads."""

    def __repr__(self):
        columns = ("worker", "start_ms", "wait_ms", "prepare_ms", "compile_ms", "execute_ms", "send_ms", "cpu_ms", "rows", "bytes", "read_bytes")
        lines = [f"ray, {self.report['workers']} workers", f"     cut {self.report['cut_ms']:10.3f} ms",
                 f"   total {self.report['total_ms']:10.3f} ms", "fragment     " + " ".join(f"{c:>10}" for c in columns)]
        for f in self.report["fragments"]:
            lines += [f"{f['id']:<3}{f['exchange']:<10}" + " ".join(
                f"{p[c]:10.1f}" if c.endswith("_ms") else f"{p[c]:10}" for c in columns) for p in f["parts"]]
        return "\n".join(lines)


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
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    make = commands.add_parser("place", help="make partitions of a database, for nodes that have some each")
    make.add_argument("db", metavar="DB", help="database, or one in partitions")
    make.add_argument("--out", required=True, metavar="DIR", help="where directories node-0, node-1 and so on are made")
    make.add_argument("--nodes", type=int, required=True, metavar="N")
    make.add_argument("--partitions", type=int, default=0, metavar="N", help="how many (default: one for each node)")
    make.add_argument("--copies", type=int, default=1, metavar="N", help="nodes that have a partition (default: 1)")
    make.add_argument("--threads", type=int, default=0)
    run = commands.add_parser("run", help="run a plan and print its rows")
    run.add_argument("plan", metavar="PLAN", help="a file with a plan, or SQL")
    run.add_argument("--db", required=True, action="append", metavar="DIR",
                     help="database, or directory of some of its partitions, at this path on every node; several: one for each worker")
    run.add_argument("--nodes", type=int, default=0, metavar="N", help="workers (default: one on each node)")
    run.add_argument("--address", help="of the Ray cluster (default: $RAY_ADDRESS, else one on this machine)")
    run.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE", help="value of a parameter")
    run.add_argument("--format", choices=("table", "csv", "json"), default="table")
    run.add_argument("--rows", type=int, default=100, help="at most so many in a table (default: 100)")
    run.add_argument("--backend", choices=("auto", "cpu", "cuda"))
    run.add_argument("--threads", type=int, default=0, help="of each worker (default: its share of the node's cores)")
    run.add_argument("--time", action="store_true", help="times to standard error")
    make.set_defaults(command=_place_command)
    run.set_defaults(command=_run_command)
    return parser


def _place_command(options):
    place(options.db, options.out, options.nodes, count=options.partitions, copies=options.copies, threads=options.threads)


def _run_command(options):
    from . import __main__ as command
    params = dict(command._split(p, "NAME=VALUE") for p in options.param)
    with Cluster(options.db[0] if len(options.db) == 1 else options.db, workers=options.nodes, address=options.address, threads=options.threads,
                 backend=options.backend) as cluster:
        result = cluster.run(options.plan, params, progress=None)
        command.write(result, options.format, options.rows)
        if options.time:
            print(result.profile, file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line; exit statuses are those of `python -m heddle`."""
    from . import __main__ as command
    options = _parser().parse_args(arguments)
    return command.guarded(options.command, options)


if __name__ == "__main__":
    from heddle import ray as module  # classes that workers know by this name
    sys.exit(module.main())
