#!/usr/bin/env python3
"""Self-test of the differential test: the generator, both spellings of expressions, and planted bugs that must be found.

    test_diff.py [CASES]      so many that have no bug; default: 50
"""

import itertools
import json
import os
import random
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, d) for d in ("../oracle", ".")]

try:
    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import compare
import dataset
import gen_data
import hdparams
import seed as seeds
from cases import PLANS, Database, groups
from gen_plan import PlanGen
from gen_render import Writer
from hdtypes import ExecutionError, parse_value
from minimise import minimise, operators


def test_groups():
    assert list(groups(PLANS - 1, 2)) == [(0, [PLANS - 1]), (1, [PLANS])]
    assert list(groups(3, 1)) == [(0, [3])]


def test_data_arrives():
    """Every value of a random database reads back from DuckDB as it was made."""
    for seed in range(8):
        tables = gen_data.random_database(random.Random(seed))
        con = dataset.load_duckdb(tables)
        for t in tables:
            columns = ", ".join(f'CAST("{c.name}" AS VARCHAR)' if c.type.kind == "interval" else f'"{c.name}"' for c in t.columns)
            rows = con.execute(f'SELECT {columns} FROM "{t.name}"').fetchall()
            rows = [tuple(parse_value(v, c.type) if v is not None and c.type.kind == "interval" else
                          hdparams.from_bytes_form(v) if isinstance(v, str) else v for v, c in zip(r, t.columns)) for r in rows]
            problem = compare.diff_rows(list(zip(*[c.values for c in t.columns])), rows)
            assert problem is None, (seed, t.name, problem)
        con.close()


def test_replay():
    """A case depends on its number alone."""
    a, b = Database(3), Database(3)
    first = [a.case(n).plan for n in range(75, 80)]
    assert b.case(79).plan == first[-1]
    assert len({str(p) for p in first}) == 5
    a.close()
    b.close()


def both_spellings(db, seed):
    """A plan with each expression twice: as a string and as a tree."""
    rng = random.Random(f"spelling {seed}")
    gen = PlanGen(rng, db.tables)
    rel = gen.scan()
    exprs, writer = [], Writer(rng)
    for i in range(3):
        node = gen.exprs(rel, risk=False).any(3).node
        exprs += [{"expr": writer.text(node), "as": f"s{i}"}, {"expr": writer.tree(node), "as": f"t{i}"}]
    plan = {"heddle": 1, "params": gen.params, "root": {"op": "project", "input": rel.node, "exprs": exprs}}
    return plan, gen.given


def test_spellings():
    for number in (3, 4, 9, 10):
        db = Database(number)
        for seed in range(20):
            plan, given = both_spellings(db, f"{number} {seed}")
            result = db.expect(plan, given)
            assert not isinstance(result, ExecutionError), (number, seed)
            for i in range(3):
                assert result.columns[2 * i][1] == result.columns[2 * i + 1][1], (number, seed, i)
                problem = compare.diff_rows([r[2 * i:2 * i + 1] for r in result.rows], [r[2 * i + 1:2 * i + 2] for r in result.rows], True)
                assert problem is None, (number, seed, i, problem)
        db.close()


def test_minimise():
    scan = {"op": "scan", "table": "t", "filter": "a = 1 and (b = 2 or c = 3)"}
    plan = {"heddle": 1, "root": {"op": "sort", "keys": ["a", "b"], "input": {
        "op": "join", "kind": "left", "left": {"op": "distinct", "input": scan}, "right": {"op": "scan", "table": "u"},
        "on": [["a", "x"], ["b", "y"]]}}}

    def fails(p):
        nodes = [holder[key] for holder, key in operators(p)]
        return any(n["op"] == "scan" and "b = 2" in n.get("filter", "") for n in nodes)

    assert minimise(plan, fails) == {"heddle": 1, "root": {"op": "scan", "table": "t", "filter": "b = 2"}}


def test_minimise_newer():
    """Pairs, tops, as-of joins and NULLs that match go where a failure needs none of them."""
    scan = lambda t: {"op": "scan", "table": t}  # noqa: E731
    top = {"op": "top", "input": {"op": "pairs", "input": scan("t"), "aliases": ["a", "b"], "pred": "a.x < b.x and a.y = 1"},
           "keys": ["a.x"], "order": ["a.y", {"expr": "abs(b.y - 2)"}], "limit": 3, "ties": "keep"}
    plan = {"heddle": 1, "root": {"op": "join", "kind": "left", "left": top, "right": scan("u"), "strategy": "merge",
                                  "on": [["a.x", "x", "null_equal"], ["b.x", "y"]],
                                  "asof": {"left": "a.y + 1", "right": "z", "match": ">="}}}
    found = lambda p, op: [holder[key] for holder, key in operators(p) if holder[key]["op"] == op]  # noqa: E731

    def asof(p):
        joins = [n for n in found(p, "join") if "asof" in n and len(n["on"]) > 0]
        return joins and "a.y" in joins[0]["asof"]["left"] and found(p, "pairs")

    small = minimise(plan, asof)["root"]
    assert (small["on"], small["asof"]) == ([["b.x", "y"]], {"left": "a.y", "right": "z", "match": ">"}), small
    assert small["left"] == {"op": "pairs", "input": scan("t"), "aliases": ["a", "b"]} and "strategy" not in small, small
    small = minimise(plan, lambda p: any("order" in n and len(n["order"]) > 0 for n in found(p, "top")) and "abs" in str(p))
    assert small["root"]["order"] == [{"expr": "abs(b.y - 2)"}] and "keys" not in small["root"] or not small["root"]["keys"], small
    small = minimise(plan, lambda p: not found(p, "top") and (found(p, "pairs") or [n for n in found(p, "join") if n["kind"] == "inner"]))
    assert small["root"] == {"op": "join", "kind": "inner", "left": scan("t"), "right": scan("t")}, small


def fake(workdir):
    """A launcher for fake_heddle.py under the running Python."""
    path = os.path.join(workdir, "heddle")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec "{sys.executable}" "{os.path.join(HERE, "fake_heddle.py")}" "$@"\n')
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def run(workdir, bug, *options):
    command = [sys.executable, os.path.join(HERE, "run.py"), "--heddle", fake(workdir), "--threads", "1", *options]
    done = subprocess.run(command, env={**os.environ, "HEDDLE_FAKE_BUG": bug}, capture_output=True, text=True)
    assert done.stdout, done.stderr
    lines = done.stdout.splitlines()
    counts = [int(part.split()[0]) for part in lines[-1].split(", ")]
    assert (counts[1] > 0) == (done.returncode == 1), (done.returncode, lines[-1])
    return counts, lines


CASES = int(sys.argv[1]) if sys.argv[1:] else 50


def test_no_bug():
    with tempfile.TemporaryDirectory() as d:
        counts, lines = run(d, "", "--seed", "0", "--count", str(CASES), "--threads", "1,2")
        assert sum(counts) == CASES and counts[1] == 0 and counts[0] >= 0.9 * CASES, lines


def find(bug, word, begin=100, cases=50):
    """The lines of a run that finds the planted bug, within so many cases; few are tried at a time, most show it early."""
    for first in range(begin, begin + cases, 5):
        with tempfile.TemporaryDirectory() as d:
            counts, lines = run(d, bug, "--seed", str(first), "--count", "5")
            if counts[1] > 0:
                assert any(line.startswith("FAIL") and word in line for line in lines), (bug, lines)
                return lines
    raise AssertionError(f"{bug} is not found")


def first_plans(numbers):
    """(number, text of the plan that is tried first), without asking the oracle."""
    tables = None
    for number in numbers:
        if number % PLANS == 0 or tables is None:
            tables = gen_data.random_database(random.Random(f"database {number // PLANS}"))
        yield number, json.dumps(PlanGen(random.Random(f"plan {number} 0"), tables).plan()[0])


def test_floats_are_generated():
    """Lists and pairs over floats are among the plans; of pairs, magnitudes of sums and differences."""
    texts = [text for _, text in first_plans(range(0, 400))]
    assert any('"list(float' in text for text in texts)
    assert any("abs(" in text and '"pairs"' in text for text in texts)


def test_planted_in_new_operators():
    for bug, word in (("pairs", '"op": "pairs"'), ("top", '"op": "top"')):
        numbers = itertools.islice((n for n, text in first_plans(range(100, 2000)) if word in text), 30)
        with tempfile.TemporaryDirectory() as d:
            assert any(run(d, bug, "--seed", str(n), "--count", "1")[0][1] for n in numbers), bug


def sweep(bug, only, count):
    with tempfile.TemporaryDirectory() as d:
        command = [sys.executable, "-B", os.path.join(HERE, "sweep.py"), "--heddle", fake(d), "--only", only, "--count", str(count)]
        done = subprocess.run(command, env={**os.environ, "HEDDLE_FAKE_BUG": bug}, capture_output=True, text=True)
    assert done.returncode in (0, 1) and " cases: " in done.stdout, done.stdout + done.stderr
    return done.returncode, done.stdout


def test_sweep():
    """It passes with the oracle in the place of the engine, sees planted bugs, and refusals that are wrong or missing."""
    assert sweep("", "auto ", 15)[0] == 0
    for bug, only in (("left", "auto left int32 nulls"), ("full", "auto full string nulls"), ("null_equal", "auto inner null_string nulls"),
                      ("asof", "asof left int32 heavy alone"), ("crash", "auto inner int32 nulls alone")):
        expected = 0 if bug == "crash" else 1  # of a distinct, which no plan has
        code, text = sweep(bug, only, 8)
        assert code == expected, (bug, text)
    code, text = sweep("strategy", "hash inner int32 nulls alone", 1)
    assert code == 1 and "no such strategy here" in text, text
    code, text = sweep("", "direct full int32 nulls alone", 1)
    assert code == 1 and "expected to be refused" in text, text


def test_planted_bugs():
    for bug, word in (("drop", "rows"), ("crash", "crash"), ("loud", "wrong error")):
        find(bug, word)
    find("quiet", "missing error", cases=250)
    with tempfile.TemporaryDirectory() as d:
        counts, lines = run(d, "strategy", "--seed", "100", "--count", "25")
        assert counts[1] == 0 and "strategy refused" in lines[-2], lines


def test_keep():
    number = next(line.split()[1].rstrip(":") for line in find("left", "rows") if line.startswith("FAIL"))
    with tempfile.TemporaryDirectory() as d:
        counts, lines = run(d, "left", "--seed", number, "--count", "1", "--keep", d)
        assert counts == [0, 1, 0], lines
        kept = os.path.join(d, f"case-{number}")
        names = set(os.listdir(kept))
        assert {"plan.json", "original.json", "params.json", "schema.json", "data", "expected", "found", "replay.sh"} <= names, names
        sizes = [os.path.getsize(os.path.join(kept, n)) for n in ("plan.json", "original.json")]
        assert sizes[0] < sizes[1], sizes


def test_schema():
    """Every generated plan has the shape that docs/plan.schema.json describes."""
    try:
        import jsonschema
    except ImportError:
        print("   (not checked: Python has no jsonschema)")
        return
    with open(os.path.join(HERE, "../../docs/plan.schema.json"), encoding="utf-8") as f:
        validator = jsonschema.Draft202012Validator(json.load(f))
    db = Database(10)
    for n in range(10 * PLANS, 11 * PLANS):
        errors = list(validator.iter_errors(db.case(n).plan))
        assert not errors, (n, errors[0].message)
    db.close()


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if sys.argv[2:]:
        drawn = random.Random(seeds.seed("commit")).sample(range(len(tests)), int(sys.argv[2]))
        tests = [tests[i] for i in sorted(drawn)]
    for name, test in tests:
        test()
        print(f"ok {name}", flush=True)
    print(f"{len(tests)} passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
