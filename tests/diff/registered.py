#!/usr/bin/env python3
"""Random plans over tables in memory: without facts, with facts that are computed when plans want them, and with all.

    registered.py --seed N --count N

Case n is that of run.py, whose tables are small: facts are computed whatever they cost (HEDDLE_FACTS_ALWAYS). Rows must be the
same, but for last digits of floats. A case is skipped, never passed, where a strategy that the plan names cannot be used
without facts, where joins are ordered and one order raises (docs/joins.md), and where a limit takes other rows. HEDDLE_LIBRARY, PYTHONPATH: as for python/.
"""

import argparse
import json
import math
import os
import random
import sys
from collections import Counter

os.environ["HEDDLE_FACTS_ALWAYS"] = "1"
os.environ.setdefault("HEDDLE_TIER", "first")
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), d) for d in ("../oracle", ".")]

try:
    import duckdb  # noqa: F401
    import pyarrow as pa
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import dataset
import gen_data
import heddle
from cases import ORDERED, RISK, groups
from gen_plan import PlanGen, as_json

MODES = {"never": False, "lazy": None, "now": True}


def connections(tables):
    cons = {}
    for mode, facts in MODES.items():
        cons[mode] = heddle.connect(threads=2, backend="cpu", cache_dir="")
        for t in tables:
            fields = [pa.field(c.name, dataset.arrow_column(c).type, c.nullable) for c in t.columns]
            table = pa.Table.from_arrays([dataset.arrow_column(c) for c in t.columns], schema=pa.schema(fields))
            cons[mode].register(t.name, table, facts=facts)
    return cons


def answer(con, plan, params):
    """Rows in an order of their own, or an error's class."""
    try:
        result = con.prepare(plan).run(params)
        return list(result.columns), sorted(result.fetchall(), key=key), result.profile.report["facts"]
    except heddle.Error as e:
        return type(e).__name__, str(e), []


def key(row):
    """Floats do not decide, as their last digits are free."""
    return [(v is None, "" if isinstance(v, float) else repr(v)) for v in row], [repr(round(v, 6)) for v in row
                                                                              if isinstance(v, float)]


def same_value(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)
    return a == b


def same(a, b):
    if a[0] != b[0] or isinstance(a[0], str):
        return a[0] == b[0]
    return len(a[1]) == len(b[1]) and all(same_value(v, w) for r, s in zip(a[1], b[1]) for v, w in zip(r, s))


def limits(node):
    """A limit takes any rows."""
    if isinstance(node, dict):
        return node.get("op") == "limit" or any(map(limits, node.values()))
    return isinstance(node, list) and any(map(limits, node))


def judge(found, plan):
    base = found["never"]
    ordered = plan.get("order") == "auto"
    kinds = {a[0] if isinstance(a[0], str) else "rows" for a in found.values()}
    if kinds & {"UserError", "UnsupportedError"} and len(kinds) > 1:
        return "skipped"
    if ordered and kinds == {"rows", "ExecutionError"}:
        return "skipped"
    if all(same(base, a) for a in found.values()):
        return "passed"
    return "skipped" if kinds == {"rows"} and limits(plan) else "failed"


def case(number, tables):
    risk = random.Random(f"risk {number}").random() < RISK
    plan, params = PlanGen(random.Random(f"plan {number} 0"), tables, risk).plan()
    plan = json.loads(json.dumps(plan))
    if random.Random(f"order {number}").random() < ORDERED:
        plan["order"] = "auto"
    return plan, params


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=25)
    a = p.parse_args()
    total, computed = Counter(), 0
    for database, numbers in groups(a.seed, a.count):
        tables = gen_data.random_database(random.Random(f"database {database}"))
        cons = connections(tables)
        for n in numbers:
            plan, params = case(n, tables)
            found = {mode: answer(con, as_json(plan), params) for mode, con in cons.items()}
            verdict = judge(found, plan)
            total[verdict] += 1
            computed += any(f["how"] in ("computed", "known") for f in found["lazy"][2])
            if verdict == "failed":
                print(f"FAIL {n}: " + "; ".join(f"{m} {str(f[:2])[:300]}" for m, f in found.items()), flush=True)
    print(", ".join(f"{total[v]} {v}" for v in ("passed", "failed", "skipped")) + f"; {computed} plans had lazy facts")
    return 1 if total["failed"] or computed < a.count / 4 else 0


if __name__ == "__main__":
    sys.exit(main())
