#!/usr/bin/env python3
"""heddle.ray on a cluster of several node processes on this machine.

    test_ray.py TPCH_DB JCCH_DB JCCH_PARAMS.json TPCH_PLANS JCCH_PLANS

Plans of both suites on 1, 2 and 4 workers give the rows of one process; so they do when a worker is killed; cancelling
and errors reach the caller; nothing is left behind. ONLY=test_cancel in the environment: the tests whose names begin so.
"""
import contextlib
import decimal
import json
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

try:
    import ray
    from ray.cluster_utils import Cluster as Nodes
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import heddle
import heddle.ray
from rows import differences

TPCH, JCCH, PARAMS, TPCH_PLANS, JCCH_PLANS = sys.argv[1:]
# Seconds of work in small tables: pairs of line items.
SLOW = {"heddle": 1, "root": {"op": "aggregate", "keys": ["l_suppkey"], "aggs": [{"fn": "count", "as": "n"}], "input": {
    "op": "join", "kind": "inner", "residual": "sin(a.l_partkey + l_suppkey) > 0.99",
    "left": {"op": "scan", "table": "lineitem", "alias": "a", "filter": "a.l_orderkey < 1000"}, "right": {"op": "scan", "table": "lineitem"}}}}


def children():
    """Processes that came of this one."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has just ended
            continue
        if state != "Z":
            parents[int(stat.parent.name)] = int(parent)
    mine, grown = {os.getpid()}, True
    while grown:
        more = {p for p, parent in parents.items() if parent in mine} - mine
        mine, grown = mine | more, bool(more)
    return mine - {os.getpid()}


def one_process(db, plan, values):
    with heddle.connect(db, threads=1) as con:
        return con.run(plan, values).arrow()


def timed(run):
    """Milliseconds."""
    began = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - began)


def no_tables_left(cluster, db):
    with heddle.connect(db) as con:
        stored = con.tables()
    for worker in cluster.workers():
        assert worker["tables"] == stored, worker


def plans_of_suites():
    """Database, plans, and values by plan of each."""
    tpch = sorted(pathlib.Path(TPCH_PLANS).glob("q*.json"))
    own = {p.stem: p for p in pathlib.Path(JCCH_PLANS).glob("q*.json")}
    return (TPCH, tpch, {}), (JCCH, [own.get(p.stem, p) for p in tpch], json.loads(pathlib.Path(PARAMS).read_text()))


def suite(db, plans, values):
    want = [one_process(db, p, values.get(p.stem, {})) for p in plans]
    for n in (1, 2, 4):
        with heddle.ray.Cluster(db, workers=n, threads=1) as cluster:
            where = cluster.workers()
            assert len({w["pid"] for w in where}) == n and len({w["node"] for w in where}) == min(n, 2), (where, ray.nodes())
            began = time.perf_counter()
            for p, rows in zip(plans, want):
                wrong = differences(json.loads(p.read_text()), rows, cluster.run(p, values.get(p.stem, {})).arrow())
                assert not wrong, (p, n, wrong)
            print(f"{len(plans)} plans, {n} workers: {time.perf_counter() - began:.1f} s", flush=True)
            no_tables_left(cluster, db)


def test_suites():
    for of in plans_of_suites():
        suite(*of)


@contextlib.contextmanager
def placed(db, nodes, **how):
    """Directories of a database's partitions, one for each node."""
    with tempfile.TemporaryDirectory() as folder:
        heddle.ray.place(db, folder, nodes, **how)
        yield [f"{folder}/node-{i}" for i in range(nodes)]


def test_partitions():
    for db, plans, values in plans_of_suites():
        want = [one_process(db, p, values.get(p.stem, {})) for p in plans]
        for nodes in (1, 2, 4):
            with placed(db, nodes, count=4) as paths, heddle.ray.Cluster(paths, threads=1) as cluster:
                assert [w["partitions"] for w in cluster.workers()] == [list(range(i, 4, nodes)) for i in range(nodes)]
                for p, rows in zip(plans, want):
                    query = cluster.start(p, values.get(p.stem, {}))
                    wrong = differences(json.loads(p.read_text()), rows, query.result().arrow())
                    assert not wrong, (p, nodes, wrong)
                    assert query.document["workers"] in (1, 4), query.document
                no_tables_left(cluster, db)


def test_partitions_of_a_killed_worker():
    want = sorted(one_process(TPCH, SLOW, {}).to_pylist(), key=str)
    with placed(TPCH, 2) as paths, heddle.ray.Cluster(paths, threads=1) as cluster:
        before = [w["pid"] for w in cluster.workers()]
        query = cluster.start(SLOW)
        time.sleep(0.5)
        os.kill(before[0], signal.SIGKILL)
        assert sorted(query.result().arrow().to_pylist(), key=str) == want
        os.kill(cluster.workers()[0]["pid"], signal.SIGKILL)  # which cuts plans
        assert len(cluster.run(SLOW)) == len(want)
        no_tables_left(cluster, TPCH)


def test_partitions_of_a_lost_node(nodes):
    """With a copy of each partition the query ends right; else the error says which is gone, and from where."""
    want = sorted(one_process(TPCH, SLOW, {}).to_pylist(), key=str)
    for copies in (2, 1):
        extra = nodes.add_node(num_cpus=1, object_store_memory=200 << 20)
        nodes.wait_for_nodes()
        with placed(TPCH, 3, copies=copies) as paths, heddle.ray.Cluster(paths, threads=1) as cluster:
            where = [w["node"] for w in cluster.workers()]
            lost = where.index(extra.node_id)
            query = cluster.start(SLOW)
            time.sleep(0.5)
            nodes.remove_node(extra, allow_graceful=False)
            if copies == 2:
                assert sorted(query.result().arrow().to_pylist(), key=str) == want
                assert [w["node"] for w in cluster.workers()] == where[:lost] + where[lost + 1:]
                continue
            try:
                query.result()
                raise AssertionError("no error")
            except heddle.ResourceError as e:
                assert f"partition {lost} is on no worker that is left: {paths[lost]} on node" in str(e), e


def test_partitions_that_do_not_belong_together():
    with placed(TPCH, 2) as paths, placed(JCCH, 2) as others:
        for wrong, kind, text in [([paths[1]], heddle.IoError, "of 2 partitions these are nowhere: 0"),
                                  ([paths[0], others[1]], heddle.CorruptError, "are not those in partition 0"),
                                  ([*paths, others[0]], heddle.CorruptError, "partition 0 is another one than on"),
                                  ([f"{paths[0]}/nowhere"], heddle.IoError, "no database, and no partition of one")]:
            try:
                heddle.ray.Cluster(wrong, threads=1)
                raise AssertionError("no error")
            except kind as e:
                assert text in str(e), e


def test_killed_worker():
    want = sorted(one_process(TPCH, SLOW, {}).to_pylist(), key=str)
    with heddle.ray.Cluster(TPCH, workers=2, threads=1) as cluster:
        before = [w["pid"] for w in cluster.workers()]
        query = cluster.start(SLOW)
        time.sleep(0.5)
        os.kill(before[1], signal.SIGKILL)
        assert sorted(query.result().arrow().to_pylist(), key=str) == want
        after = [w["pid"] for w in cluster.workers()]
        assert after[0] == before[0] and after[1] != before[1], (before, after)
        no_tables_left(cluster, TPCH)
        assert len(cluster.run(SLOW)) == len(want)  # it works on


def test_lost_node(nodes):
    """All that ran on a node is gone with it, rows in its object store too."""
    extra = nodes.add_node(num_cpus=1, object_store_memory=200 << 20)
    nodes.wait_for_nodes()
    want = sorted(one_process(TPCH, SLOW, {}).to_pylist(), key=str)
    with heddle.ray.Cluster(TPCH, threads=1) as cluster:
        assert len(cluster) == 3
        query = cluster.start(SLOW)
        time.sleep(0.5)
        nodes.remove_node(extra, allow_graceful=False)
        assert sorted(query.result().arrow().to_pylist(), key=str) == want
        for _ in range(120):  # until the cluster knows
            if sum(n["Alive"] for n in ray.nodes()) == 2:
                break
            time.sleep(0.5)
        assert len({w["node"] for w in cluster.workers()}) == 2


def test_cancel():
    with heddle.ray.Cluster(TPCH, workers=2, threads=1) as cluster:
        query = cluster.start(SLOW)
        threading.Timer(0.5, query.cancel).start()
        began = time.perf_counter()
        try:
            query.result()
            raise AssertionError("it was not cancelled")
        except heddle.Cancelled:
            assert time.perf_counter() - began < 3
        no_tables_left(cluster, TPCH)
        assert cluster.run({"heddle": 1, "root": {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "scan", "table": "orders"}}}).fetchall() == [(15000,)]


def test_shuffle():
    plan = {"heddle": 1, "root": {"op": "aggregate", "keys": ["l_shipdate"], "aggs": [
        {"fn": "median", "arg": "l_quantity", "as": "m"}], "input": {"op": "scan", "table": "lineitem"}}}
    want = one_process(TPCH, plan, {})
    with heddle.ray.Cluster(TPCH, workers=2, threads=1) as cluster:
        query = cluster.start(plan)
        assert [f["exchange"] for f in query.document["fragments"]] == ["shuffle", "result"], query.document
        wrong = differences(plan, want, query.result().arrow())
        assert not wrong, wrong
        no_tables_left(cluster, TPCH)


def test_errors():
    with heddle.ray.Cluster(TPCH, workers=2, threads=1) as cluster:
        for plan, kind, path in [
                ({"heddle": 1, "root": {"op": "scan", "table": "nowhere"}}, heddle.UserError, "$.root.table"),
                ({"heddle": 1, "root": {"op": "project", "exprs": [{"expr": "1 / (l_linenumber - 3)", "as": "x"}],
                                        "input": {"op": "scan", "table": "lineitem"}}}, heddle.ExecutionError, "$.root")]:
            try:
                cluster.run(plan)
                raise AssertionError("no error")
            except heddle.Error as e:
                assert type(e) is kind and e.path.startswith(path), repr(e)
        no_tables_left(cluster, TPCH)
    try:
        heddle.ray.Cluster("/nowhere")
        raise AssertionError("no error")
    except heddle.IoError:
        pass


def test_progress():
    seen = []
    with heddle.ray.Cluster(TPCH, workers=2, threads=1) as cluster:
        result = cluster.run(pathlib.Path(TPCH_PLANS) / "q01.json", progress=lambda share, what: seen.append(share))
        assert seen[0] == 0 and seen[-1] == 1 and seen == sorted(seen), seen
        assert result.profile.times["total"] > 0 and isinstance(result.fetchone()[2], decimal.Decimal)


def test_prepared():
    """It is cut once for values that stay; workers keep statements, also where one of them was cancelled or died."""
    plan = {"heddle": 1, "params": {"n": {"type": "int32", "default": 3}}, "root": {
        "op": "aggregate", "keys": ["l_returnflag"], "aggs": [{"fn": "count", "as": "n"}], "input": {
            "op": "scan", "table": "lineitem", "filter": "l_linenumber = :n"}}}
    want = {n: sorted(one_process(TPCH, plan, {"n": n}).to_pylist(), key=str) for n in (1, 3)}
    with placed(TPCH, 2) as paths:
        for db in (TPCH, paths):
            with heddle.ray.Cluster(db, workers=2, threads=1) as cluster:
                prepared = cluster.prepare(plan)
                first = prepared.start(n=1)
                assert prepared.start(n=1).document is first.document
                first.result()
                for values in ({}, {"n": 1}, {"n": 3}, {"n": 1}, {"n": 1}):
                    assert sorted(prepared.run(values).arrow().to_pylist(), key=str) == want[values.get("n", 3)], values
                slow = cluster.prepare(SLOW)
                rows = len(slow.run())
                query = slow.start()
                time.sleep(0.3)
                query.cancel()
                try:
                    query.result()
                    raise AssertionError("it was not cancelled")
                except heddle.Cancelled:
                    pass
                assert len(slow.run()) == rows
                os.kill(cluster.workers()[1]["pid"], signal.SIGKILL)
                assert sorted(prepared.run(n=1).arrow().to_pylist(), key=str) == want[1]
                assert len(slow.run()) == rows
                no_tables_left(cluster, TPCH)
    try:
        prepared.run()
        raise AssertionError("no error")
    except heddle.UserError as e:
        assert "closed" in str(e), e


def test_killed_among_queries():
    """A worker dies while all plans of a suite are under way, with whatever they have in the object store."""
    for db, plans, values in plans_of_suites():
        want = [one_process(db, p, values.get(p.stem, {})) for p in plans]
        with placed(db, 2) as paths, heddle.ray.Cluster(paths, threads=1) as cluster:
            for number in (0, 1):
                pid = cluster.workers()[number]["pid"]
                queries = [cluster.start(p, values.get(p.stem, {})) for p in plans]
                time.sleep(0.02)
                os.kill(pid, signal.SIGKILL)
                for p, query, rows in zip(plans, queries, want):
                    wrong = differences(json.loads(p.read_text()), rows, query.result().arrow())
                    assert not wrong, (p, number, wrong)
                assert cluster.workers()[number]["pid"] != pid
            no_tables_left(cluster, db)


def test_report():
    """What each part did, in numbers that agree with each other."""
    with placed(TPCH, 2) as paths, heddle.ray.Cluster(paths, threads=1) as cluster:
        result = cluster.run(pathlib.Path(TPCH_PLANS) / "q22.json")
        profile = result.profile
        found = profile.report["fragments"]
        assert [(f["exchange"], f["reads"], len(f["parts"])) for f in found] == [
            ("broadcast", [], 1), ("gather", [0], 2), ("result", [0, 1], 1)], found
        rows = [sum(p["rows"] for p in f["parts"]) for f in found]
        sent = [sum(p["bytes"] for p in f["parts"]) for f in found]
        assert rows[2] == len(result) and rows[1] <= 2 * rows[0] < 15000, rows  # keys of customers, not orders
        assert [p["read_bytes"] for p in found[1]["parts"]] == [sent[0]] * 2, found
        assert found[2]["parts"][0]["read_bytes"] == sent[0] + sent[1], found
        assert {p["worker"] for p in found[1]["parts"]} == {0, 1} and profile.report["workers"] == 2, found
        ends = [max(p["start_ms"] + p["wait_ms"] + p["prepare_ms"] + p["execute_ms"] for p in f["parts"]) for f in found]
        assert 0 < ends[0] < ends[1] < ends[2] < profile.times["total"] + 1, (found, profile.times)
        assert len(repr(profile).splitlines()) == 4 + 4 and "broadcast" in repr(profile), profile


def test_overhead():
    """On two workers over partitions no plan of the suites takes more than 150 ms more than in one process, once it is prepared."""
    for db, plans, values in plans_of_suites():
        with placed(db, 2) as paths, heddle.ray.Cluster(paths, threads=1) as cluster, heddle.connect(db, threads=1) as con:
            more = {}
            for p in plans:
                both = [of.prepare(p) for of in (con, cluster)]
                shortest = [min(timed(lambda: s.run(values.get(p.stem, {})).arrow()) for _ in range(6)) for s in both]
                more[p.stem] = shortest[1] - shortest[0]
            print(f"{len(plans)} plans: {sum(more.values()):.0f} ms more than in one process, {max(more.values()):.0f} at most", flush=True)
            assert max(more.values()) <= 150, more


def main():
    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 200 << 20})
    nodes.add_node(num_cpus=1, object_store_memory=200 << 20)
    nodes.wait_for_nodes()
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        for name, test in list(globals().items()):
            if name.startswith(os.environ.get("ONLY", "test_")):
                began = time.perf_counter()
                test(*[nodes] * test.__code__.co_argcount)
                print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)
    finally:
        ray.shutdown()
        nodes.shutdown()
    for _ in range(100):
        if not children():
            return
        time.sleep(0.1)
    sys.exit(f"processes are left: {children()}")


main()
