#!/usr/bin/env python3
"""What cutting does with each operator: how many fragments, which exchanges; and rows as in one piece, with errors of the
same class, where sums of some workers leave a type that the whole does not leave, too.

    operators.py
"""
import datetime
import decimal
import random
import sys
import tempfile

try:
    import pyarrow as pa
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import heddle
from heddle import _fragments as fragments
from rows import differences

D = decimal.Decimal
BIG = D(10) ** 37 * 9


def database(path):
    rng, n = random.Random(7), 1000
    day = datetime.date(2020, 1, 1)
    keys = sorted(rng.choice(range(200)) for _ in range(n))
    heddle.create(path, {
        "parent": pa.table({"p": pa.array(range(200), pa.int32()), "name": [f"n{i % 17}" for i in range(200)],
                            "other": [None if i % 5 == 0 else i % 3 for i in range(200)]}),
        "child": pa.table({"k": pa.array(keys, pa.int32()), "v": [rng.randrange(-50, 50) for _ in range(n)],
                           "f": [rng.random() for _ in range(n)], "small": pa.array([i % 4 for i in range(n)], pa.int32()),
                           "few": pa.array([i // 4 % 3 for i in range(n)], pa.int32()),
                           "s": [None if i % 11 == 0 else f"s{i % 23}" for i in range(n)]}),
        # Sums of one worker's half leave the type, that of all is 0.
        "wide": pa.table({"id": pa.array(range(8), pa.int32()), "g": [0] * 8,
                          "d": pa.array([BIG, BIG, D(1), D(0), -BIG, -BIG, D(-1), D(0)], pa.decimal128(38, 0)),
                          "i": pa.array([2**31 - 1] * 4 + [-(2**31 - 1)] * 4, pa.int32()),
                          "n": pa.array([(s * (2**25 - 1), 0, 0)
                                         for s in (1, 1, 1, 1, -1, -1, -1, -1)], pa.month_day_nano_interval()),
                          "l": pa.array([2**63 - 1] * 4 + [-(2**63 - 1)] * 4, pa.int64())}),
        "dated": pa.table({"day": [day + datetime.timedelta(i // 3) for i in range(90)], "x": list(range(90))}),
        "spread": pa.table({"x": list(range(500_000)), "y": pa.array([i % 1000 for i in range(500_000)], pa.int32())}),
        "notes": pa.table({"id": list(range(300_000)), "n": pa.array([i * 7 % 5000 for i in range(300_000)], pa.int32()),
                           "t": [f"note {i * 7919 % 100_003} of {i}" for i in range(300_000)]}),
        "keyless": pa.table({"a": ["x", None, "y", "x"] * 25, "b": [1.5, None, -0.0, 0.0] * 25}),
        "empty": pa.table({"e": pa.array([], pa.int32()), "z": pa.array([], pa.decimal128(12, 2))})},
        primary_keys={"parent": "p", "wide": "id"}, foreign_keys={"child": {"k": "parent"}})


def scan(table, **more):
    return {"op": "scan", "table": table, **more}


def aggregate(source, keys, *aggs, **more):
    return {"op": "aggregate", "keys": keys, "input": source, **more, "aggs": [
        {"fn": fn, "as": f"a{i}", **rest} for i, (fn, rest) in enumerate(aggs)]}


def join(kind, left, right, *on, **more):
    return {"op": "join", "kind": kind, "left": left, "right": right, "on": list(on), **more}


def pairs(pred, source):
    return {"op": "pairs", "aliases": ["a", "b"], "input": source, **({"pred": pred} if pred else {})}


def groups(alias):
    """20,000 groups, of expressions, on one worker."""
    return {"op": "project", "exprs": [{"expr": "x", "as": f"{alias}.x"}], "input": aggregate(
        scan("spread"), [{"expr": "x % 20000", "as": "x"}], ("median", {"arg": "y"}))}


CHILD, PARENT = scan("child"), scan("parent")
RING = ["broadcast", "gather", "result"]
LOOP = ["gather", "gather", "shuffle", "broadcast", "gather", "result"]
LOCAL, GATHERED, SHUFFLED = ["result"], ["gather", "result"], ["shuffle", "result"]
FEW = {2: SHUFFLED, 5: GATHERED}  # four values: too few for five workers
V = {"arg": "v"}
SOME = {"op": "sort", "keys": ["p"], "limit": 50, "input": scan("parent", filter="p > 3")}  # one worker has them
Y = {"op": "project", "exprs": [{"expr": "nullif(y, 7)", "as": "y"}], "input": {"op": "repeat", "count": "4", "input": scan("spread", filter="y < 900")}}
REDUCED = ["broadcast", "gather", "result"]
SEARCHED = scan("notes", filter="t like '%77%' or t like '%123%' or t like '%9 of 8%'")  # which takes long
FOUND = {"op": "project", "exprs": ["n", {"expr": "length(t)", "as": "size"}], "input": SEARCHED}
PARTS = ["broadcast", "gather", "result"]
SHARED = {"sums": aggregate(CHILD, ["small"], ("sum", {"arg": "f"}))}

# What, the plan, the exchanges.
CASES = [
    ("rows one by one", {"op": "project", "exprs": [{"expr": "v + 1", "as": "w"}], "input": scan("child", filter="v > 0")}, LOCAL),
    ("a key with the table", aggregate(CHILD, ["k"], ("median", V), ("count", {"arg": "s", "distinct": True})), LOCAL),
    ("two steps", aggregate(CHILD, ["small"], ("count", {}), ("count", {"arg": "s"}), ("sum", V), ("avg", V), ("min", {"arg": "s"}),
                            ("max", {"arg": "f"}), ("bit_xor", V), ("bool_and", {"arg": "v < 49"}), ("count_if", {"arg": "v > 3"}),
                            ("avg", {"arg": "f"}), ("sum", {"arg": "small"}), ("avg", {"arg": "small", "filter": "v = 100"}),
                            ("arg_min", {"arg": "s", "by": "v"}), ("arg_max", {"arg": "k", "by": "v"})), GATHERED),
    ("no keys, no rows", aggregate(scan("child", filter="v > 1000"), [], ("count", {}), ("sum", V), ("avg", V), ("avg", {"arg": "f"}),
                                   ("count", {"arg": "v", "distinct": True})), GATHERED),
    ("distinct", aggregate(CHILD, ["small"], ("count", {"arg": "s", "distinct": True}), ("sum", {"arg": "v", "distinct": True,
                           "filter": "v > 0"}), ("avg", {"arg": "k", "distinct": True}), ("count", {})), GATHERED),
    ("one step", aggregate(CHILD, ["small"], ("stddev_samp", V), ("quantile_disc", {"arg": "v", "q": "0.25"})), FEW),
    ("one step by a key", aggregate(CHILD, ["small", "v"], ("stddev_samp", {"arg": "f"}), ("string_agg", {"arg": "s"})), None),
    ("one step by many values", aggregate(CHILD, ["v"], ("median", {"arg": "f"})), SHUFFLED),
    ("one step by NULLs", aggregate(CHILD, ["s"], ("first", {"arg": "f", "order": ["f"]})), SHUFFLED),
    ("grouping sets", aggregate(CHILD, ["small", "s"], ("sum", V), ("count", {"arg": "v", "distinct": True}),
                                ("grouping", {"arg": ["small", "s"]}), rollup=True), GATHERED),
    ("sums within the type", aggregate(scan("wide"), [], ("sum", {"arg": "i"}), ("sum", {"arg": "l"}), ("avg", {"arg": "l"})), GATHERED),
    ("sums that leave it on a worker", aggregate(scan("wide"), ["g"], ("sum", {"arg": "d"}), ("avg", {"arg": "d"})), GATHERED),
    ("intervals that leave it on a worker", aggregate(scan("wide"), ["g"], ("sum", {"arg": "n"})), GATHERED),
    ("sums that leave it", aggregate(scan("wide", filter="id < 4"), [], ("sum", {"arg": "d"})), GATHERED),
    ("a sum of no rows", aggregate({"op": "repeat", "count": "2147483647", "input": {"op": "repeat", "count": "3",
                                "input": scan("wide", filter="id < 0")}}, [], ("sum", {"arg": "i"})), GATHERED),
    ("a join by the key", join("inner", CHILD, PARENT, ["k", "p"]), LOCAL),
    ("an outer join by the key", join("full", CHILD, PARENT, ["k", "p"], residual="v > 0"), LOCAL),
    ("existence", join("anti", PARENT, scan("child", filter="v = 7"), ["p", "k"]), LOCAL),
    ("another key", join("inner", CHILD, scan("parent", alias="q"), ["small", "q.other"]), ["broadcast", "result"]),
    ("a strategy that a result does not allow", join("inner", CHILD, PARENT, ["k", "p"], strategy="index", build="right"), LOCAL),
    ("the same beside a result", join("inner", aggregate(CHILD, ["small"], ("count", {})), PARENT, ["small", "p"], strategy="index",
     build="right"), None),
    ("a table that is searched", aggregate(join("semi", scan("spread"), SEARCHED, ["y", "n"]), [], ("count", {}), ("sum", {"arg": "x"})), PARTS),
    ("a table that is searched, and computed of", aggregate(join("inner", scan("spread"), FOUND, ["y", "n"]), ["size"], ("count", {}),
                                                            ("min", {"arg": "x"})), None),
    ("a table that is searched for rows that are not there", aggregate(join("anti", scan("spread"), scan(
        "notes", filter=SEARCHED["filter"] + " or t like '%123% of 4'"), ["y", "n"]), [], ("sum", {"arg": "x"})), PARTS),
    ("a table of which nothing is found", aggregate(join("semi", scan("spread"), scan("notes", filter="t like '%x%' or t like '%y%' or t like '%z%'"),
                                                         ["y", "n"]), [], ("count", {})), PARTS),
    ("large sides", join("inner", CHILD, scan("child", alias="b"), ["v", "b.v"]), {2: ["broadcast", "result"], 5: ["shuffle"] * 2 + LOCAL}),
    ("large sides, all rows", join("full", CHILD, scan("child", alias="b", filter="b.v > 3"), ["v", "b.v"], ["s", "b.s"]),
     ["shuffle", "shuffle", "result"]),
    ("two ways", join("semi", aggregate(CHILD, ["v"], ("median", {"arg": "f"})), scan("child", alias="b"), ["v", "b.k"]), None),
    ("two shuffles", join("left", aggregate(CHILD, ["v"], ("median", {"arg": "f"})), aggregate(CHILD, [{"expr": "v", "as": "w"}],
     ("median", {"arg": "k"}), ("mode", {"arg": "k"})) | {"aggs": [{"fn": "mode", "arg": "k", "as": "m"}]}, ["v", "w"]), None),
    ("existence for few", join("semi", SOME, Y, ["other", "y"], ["p", "y - 3"]), REDUCED),
    ("no existence for few", join("anti", SOME, Y, ["p", "y"], strategy="hash"), REDUCED),
    ("no existence for few, NULLs equal", join("anti", SOME, Y, ["other", "y", "null_equal"]), REDUCED),
    ("existence for few, a condition", join("semi", SOME, Y, ["p", "y"], residual="y % 2 = 0"), None),
    ("a mark", join("mark", CHILD, scan("parent", alias="q", filter="q.p > 190"), ["small", "q.other"], mark="m"), ["broadcast", "result"]),
    ("beside a whole", join("full", CHILD, scan("keyless"), ["s", "a"]), GATHERED),
    ("a whole in front", join("left", scan("keyless"), CHILD, ["a", "s"]), LOCAL),
    ("a scalar", join("left", CHILD, aggregate(CHILD, [], ("avg", V)), single=True), ["gather", "broadcast", "result"]),
    ("first rows", {"op": "sort", "keys": [{"expr": "v", "desc": True}], "limit": 10, "offset": 5, "input": CHILD}, GATHERED),
    ("first rows of an order", {"op": "limit", "limit": 7, "offset": 2, "input": {"op": "sort", "keys": ["v"], "input": CHILD}}, GATHERED),
    ("an order", {"op": "sort", "keys": ["f"], "input": CHILD}, GATHERED),
    ("first of groups", {"op": "top", "keys": ["small"], "order": ["v"], "limit": 2, "offset": 1, "ties": "keep", "input": CHILD}, GATHERED),
    ("first of local groups", {"op": "top", "keys": ["k"], "order": ["v"], "limit": 2, "input": CHILD}, LOCAL),
    ("one step by two keys", aggregate(CHILD, ["small", {"expr": "few", "as": "t"}], ("median", {"arg": "f"})), SHUFFLED),
    ("a window of two keys", {"op": "window", "partition": ["small", "few"], "order": ["f"], "functions": [{"fn": "rank", "as": "n"}],
                              "input": CHILD}, SHUFFLED),
    ("large sides, two keys", join("full", CHILD, scan("child", alias="b", filter="b.v > 3"), ["small", "b.small"], ["few", "b.few"]),
     ["shuffle"] * 2 + LOCAL),
    ("groups of many values, then few rows", {"op": "sort", "keys": ["a0", "w"], "limit": 5, "input": aggregate(
        scan("spread"), [{"expr": "x % 250000", "as": "w"}], ("sum", {"arg": "y"}), ("avg", {"arg": "y"}))},
     ["shuffle", "gather", "result"]),
    ("distinct on", {"op": "distinct", "on": ["s"], "order": ["f"], "input": CHILD}, GATHERED),
    ("distinct rows", {"op": "distinct", "input": scan("child", columns=["small", "s"])}, GATHERED),
    ("a local window", {"op": "window", "partition": ["k"], "order": ["f"], "functions": [{"fn": "row_number", "as": "n"},
                        {"fn": "sum", "arg": "v", "as": "t"}], "input": CHILD}, LOCAL),
    ("a window", {"op": "window", "partition": ["small"], "order": ["f"], "functions": [{"fn": "rank", "as": "n"}], "input": CHILD}, FEW),
    ("windows", {"op": "window", "partition": ["s"], "order": ["f"], "functions": [{"fn": "rank", "as": "n"},
                 {"fn": "sum", "arg": "v", "as": "t", "partition": ["small", "s"]}], "input": CHILD}, SHUFFLED),
    ("windows of no common key", {"op": "window", "partition": ["s"], "order": ["f"], "functions": [{"fn": "rank", "as": "n"},
                 {"fn": "sum", "arg": "v", "as": "t", "partition": ["small"]}], "input": CHILD}, GATHERED),
    ("union of two ways", {"op": "union", "inputs": [aggregate(CHILD, ["v"], ("mode", {"arg": "k"})),
                           {"op": "project", "exprs": ["v", "k"], "input": CHILD}]}, None),
    ("union all", {"op": "union_all", "inputs": [scan("child", columns=["v"]), scan("parent", columns=["p"])]}, LOCAL),
    ("union all of a whole", {"op": "union_all", "inputs": [scan("child", columns=["s"]), scan("keyless", columns=["a"])]}, GATHERED),
    ("union", {"op": "union", "inputs": [scan("child", columns=["s"]), scan("parent", columns=["name"])]}, GATHERED),
    ("except by the key", {"op": "except", "all": True, "inputs": [scan("child", columns=["k"]), scan("parent", columns=["p"])]}, LOCAL),
    ("intersect", {"op": "intersect", "inputs": [scan("child", columns=["small"]), scan("parent", columns=["other"])]}, ["gather", "gather", "result"]),
    ("pairs", aggregate(pairs("abs(a.v - b.v) < 3", scan("child")), [], ("count", {}), ("sum", {"arg": "a.v * b.v"}),
                        ("max", {"arg": "coalesce(a.s, 'none') || coalesce(b.s, 'none')", "filter": "a.s = b.s"})), RING),
    ("pairs as rows", {"op": "project", "exprs": [{"expr": "least(a.v, b.v)", "as": "l"}, {"expr": "greatest(a.v, b.v)", "as": "g"}],
                       "input": pairs("a.v + b.v = 0", scan("child"))}, ["broadcast", "result"]),
    ("pairs by distance", aggregate(pairs(None, scan("child")), [{"expr": "width_bucket(abs(a.f - b.f), 0, 1, 20)", "as": "d"}],
                                    ("count", {}), ("min", {"arg": "a.v * b.v"})), RING),
    ("pairs within", aggregate(pairs("(a.f - b.f) * (a.f - b.f) < 0.0001", scan("child")), [], ("count", {})), RING),
    ("the first pairs", {"op": "sort", "keys": ["l", "g"], "limit": 9, "input": {"op": "project", "input": pairs(None, scan("child")), "exprs": [
        {"expr": "least(a.f, b.f)", "as": "l"}, {"expr": "greatest(a.f, b.f)", "as": "g"}]}}, RING),
    ("pairs of equal rows and NULLs", aggregate(pairs("a.a is not distinct from b.a", scan("keyless")), [], ("count", {}),
                                                ("count_if", {"arg": "a.b = b.b"})), RING),
    ("pairs of no columns", aggregate(pairs(None, scan("child")), [], ("count", {})), RING),
    ("pairs of one row", aggregate(pairs(None, scan("child", filter="k = 3 and v = 7")), [], ("count", {})), RING),
    ("pairs of one worker's rows", aggregate(pairs(None, scan("wide", filter="id < 3")), [], ("count", {}), ("sum", {"arg": "a.id + b.id"})), RING),
    ("pairs of nothing", aggregate(pairs("a.e = b.e", scan("empty")), [], ("count", {}), ("sum", {"arg": "a.z"})), RING),
    ("pairs of groups", aggregate(pairs("abs(a.v - b.v) = 1", aggregate(CHILD, ["v"], ("count", {}))), [], ("sum", {"arg": "a.a0 * b.a0"})),
     ["gather", *RING]),
    ("a loop over groups", aggregate(join("inner", groups("x"), groups("y"), residual="x.x + y.x < 900"), [], ("count", {}),
                                     ("sum", {"arg": "x.x - y.x"})), LOOP),
    ("a loop that keeps rows", aggregate(join("left", groups("x"), groups("y"), residual="x.x > y.x + 19800"), [], ("count", {}),
                                         ("count", {"arg": "y.x"})), LOOP),
    ("subplans", {"op": "filter", "input": CHILD, "pred": {"op": "or", "args": [
        {"op": "in", "args": ["s"], "plan": {"op": "project", "exprs": ["name"], "input": PARENT}},
        {"op": "exists", "plan": aggregate(PARENT, ["other"], ("count", {})), "on": [["small", "other"]]}]}}, None),
    ("shared, computed once", join("inner", {"op": "ref", "name": "sums"}, {"op": "ref", "name": "sums", "alias": "b"}, ["a0", "b.a0"]),
     ["gather", "gather", "result"]),
    ("dates", aggregate(scan("dated"), ["day"], ("sum", {"arg": "x"})), LOCAL),
    ("by hash", aggregate(scan("keyless"), ["a"], ("count", {"arg": "b"}), ("min", {"arg": "b"})), None),
    ("nothing", aggregate(scan("empty"), [], ("sum", {"arg": "z"}), ("count", {})), GATHERED),
    ("no table", {"op": "values", "columns": [{"name": "x", "type": "int32"}], "rows": [[1], [2]]}, LOCAL),
]


def outcome(run):
    try:
        return run()
    except heddle.Error as e:
        return e


def check(con, what, root, exchanges):
    plan = {"heddle": 1, "root": root, **({"shared": SHARED} if "shared" in what else {})}
    statement = con.prepare(plan)
    want = outcome(lambda: statement.run().arrow())
    for workers in (1, 2, 3, 4, 5) if "pairs" in what else (1, 2, 5):
        document = statement.fragments(workers)
        got = outcome(lambda: fragments.run_here(con, document))
        if isinstance(want, heddle.Error):
            assert type(got) is type(want), (what, workers, want, got)
        else:
            assert not isinstance(got, heddle.Error), (what, workers, got)
            wrong = differences(plan, want, got)
            assert not wrong, (what, workers, wrong)
        found = [f["exchange"] for f in document["fragments"]]
        wanted = exchanges[workers] if isinstance(exchanges, dict) and workers > 1 else exchanges or found
        assert found == (["result"] if workers == 1 else wanted), (what, workers, found)
        if exchanges == LOCAL and workers > 1 and what != "no table":
            assert document["fragments"][0]["workers"] == "every", what
    return isinstance(want, heddle.Error)


def main():
    with tempfile.TemporaryDirectory() as folder:
        database(folder + "/db")
        with heddle.connect(folder + "/db", threads=2) as con:
            errors = [what for what, root, exchanges in CASES if check(con, what, root, exchanges)]
    assert errors == ["sums that leave it"], errors
    print(f"{len(CASES)} plans")


main()
