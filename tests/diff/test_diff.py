#!/usr/bin/env python3
"""Self-test of the differential test: the generator, both spellings of expressions, and planted bugs that must be found.

    test_diff.py [CASES]      so many that have no bug; default: 50
"""

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
from cases import PLANS, Database, groups
from gen_plan import PlanGen
from gen_render import Writer
from hdtypes import ExecutionError
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
            rows = con.execute(f'SELECT * FROM "{t.name}"').fetchall()
            rows = [tuple(hdparams.from_bytes_form(v) if isinstance(v, str) else v for v in r) for r in rows]
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


def find(bug, word, begin=100):
    """The lines of a run that finds the planted bug, within 50 cases; few are tried at a time, most show it early."""
    for first in range(begin, begin + 50, 5):
        with tempfile.TemporaryDirectory() as d:
            counts, lines = run(d, bug, "--seed", str(first), "--count", "5")
            if counts[1] > 0:
                assert any(line.startswith("FAIL") and word in line for line in lines), (bug, lines)
                return lines
    raise AssertionError(f"{bug} is not found")


def test_planted_bugs():
    for bug, word in (("drop", "rows"), ("crash", "crash"), ("loud", "wrong error")):
        find(bug, word)
    find("quiet", "missing error", 0)
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
    for name, test in tests:
        test()
        print(f"ok {name}", flush=True)
    print(f"{len(tests)} passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
