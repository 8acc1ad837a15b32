"""Plans, expressions and names that are deep, long or many, below docs/plan.md's limits and far above: rows or one error,
soon."""

import json

import judge

LIMIT_S = 10
ONE = {"op": "values", "columns": [{"name": "n", "type": "int64"}], "rows": [["1"], ["2"]]}


def plan(root, **more):
    return json.dumps({"heddle": 1, "root": root, **more}).encode()


def project(*exprs):
    return plan({"op": "project", "input": ONE, "exprs": [{"expr": e, "as": f"c{i}"} for i, e in enumerate(exprs)]})


def operators(n):
    root = json.dumps(ONE)
    return ('{"heddle": 1, "root": ' + '{"op": "filter", "pred": "n > 0", "input": ' * n + root + "}" * n + "}").encode()


def joins(n):
    root, names = ONE, "abcdefgh"
    for i in range(n):
        side = {"op": "values", "columns": [{"name": f"{names[i % 8]}{i}", "type": "int64"}], "rows": [["1"]]}
        root = {"op": "join", "kind": ("left", "inner", "full", "semi")[i % 4], "left": root, "right": side,
                "on": [["n", f"{names[i % 8]}{i}"]]}
    return plan(root)


def distinct(n):
    return plan({"op": "aggregate", "input": ONE, "aggs": [{"fn": "count", "arg": f"n + {i}", "distinct": True, "as": f"d{i}"}
                                                          for i in range(n)]})


def scalars(n):
    each = [{"scalar": {"op": "aggregate", "input": ONE, "aggs": [{"fn": "sum", "arg": "n", "as": "s"}]}} for _ in range(n)]
    return plan({"op": "project", "input": ONE, "exprs": [{"expr": e, "as": f"c{i}"} for i, e in enumerate(each)]})


SHAPES = {
    "operators": (operators, 100_000),
    "joins": (joins, 300),
    "count(distinct)": (distinct, 64),
    "scalar subqueries": (scalars, 40),
    "levels of JSON": (lambda n: b'{"heddle": 1, "root": ' + b"[" * n + b"]" * n + b"}", 1_000_000),
    "open levels": (lambda n: b'{"heddle": 1, "root": ' + b'{"input": ' * n, 1_000_000),
    "parentheses": (lambda n: project("(" * n + "n" + ")" * n), 1_000_000),
    "negations": (lambda n: project("- " * n + "n"), 100_000),
    "nots": (lambda n: project("not " * n + "n = 1"), 100_000),
    "terms": (lambda n: project(" + ".join(["n"] * n)), 20_000),
    "cases": (lambda n: project("case when n = 1 then " * n + "n" + " else 0 end" * n), 2_000),
    "digits": (lambda n: project("9" * n), 1_000_000),
    "places": (lambda n: project("0." + "9" * n), 1_000_000),
    "letters of a name": (lambda n: plan({"op": "project", "input": ONE, "exprs": [{"expr": "n", "as": "x" * n}]}), 1_000_000),
    "letters of a text": (lambda n: project("'" + "é" * n + "'"), 1_000_000),
    "items": (lambda n: project("n in (" + ", ".join(str(i) for i in range(n)) + ")"), 100_000),
    "columns": (lambda n: project(*["n + 1"] * n), 5_000),
    "parameters": (lambda n: plan(ONE, params={f"p{i}": {"type": "int64", "default": "1"} for i in range(n)}), 3_000),
    "rows": (lambda n: plan({**ONE, "rows": [["1"]] * n}), 300_000),
    "keys": (lambda n: plan({"op": "sort", "input": ONE, "keys": ["n"] * n}), 3_000),
    "branches": (lambda n: plan({"op": "union_all", "inputs": [ONE] * n}), 1_000),
    "limit": (lambda n: plan({"op": "limit", "input": ONE, "limit": n ** 4, "offset": n ** 3}), 1_000_000),
}


def trial(t):
    name = t.rng.choice(list(SHAPES))
    make, most = SHAPES[name]
    n = int(t.log_uniform(1, most))
    t.tell(f"{n} {name}")
    command = t.rng.choice((["run", "-", "--format", "csv"], ["run", "-"], ["explain", "-"]))
    return judge.ended(t.run(*command, stdin=make(n), limit=LIMIT_S))
