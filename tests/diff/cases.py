"""Test cases by number: case n is a plan over database n // PLANS; both depend on n alone."""

import json
import random
from dataclasses import dataclass

import dataset
import gen_data
from gen_plan import PlanGen
from hdtypes import ExecutionError
from plan_sql import Oracle

PLANS = 25  # plans per database
RISK = 0.15  # share of plans that may raise
ORDERED = 0.4  # of the plans that give rows have their joins ordered by the planner
ATTEMPTS = 4  # a plan without result rows is drawn again: empty results prove little


@dataclass
class Case:
    number: int
    plan: dict
    params: dict
    expected: object  # a plan_sql.Result or an ExecutionError


class Database:
    def __init__(self, number):
        self.number = number
        self.tables = gen_data.random_database(random.Random(f"database {number}"))
        self.con = dataset.load_duckdb(self.tables)
        self.oracle = Oracle(self.con, byte_strings=True)

    def close(self):
        self.con.close()

    def expect(self, plan, params):
        """The outcome that the oracle gives; PlanError passes through."""
        try:
            return self.oracle.run_full(plan, params)
        except ExecutionError as outcome:
            return outcome

    def case(self, number):
        risk = random.Random(f"risk {number}").random() < RISK
        for attempt in range(ATTEMPTS):
            rng = random.Random(f"plan {number} {attempt}")
            plan, params = PlanGen(rng, self.tables, risk).plan()
            plan = json.loads(json.dumps(plan))  # as a reader of the file sees it
            expected = self.expect(plan, params)
            if not empty(expected):
                break
        if hasattr(expected, "rows") and random.Random(f"order {number}").random() < ORDERED:
            plan["order"] = "auto"  # rows are the same; what raises may be dropped before (docs/joins.md)
        return Case(number, plan, params, expected)


def empty(expected):
    return hasattr(expected, "rows") and not expected.rows


def groups(seed, count):
    """(database number, case numbers) for cases seed … seed+count-1."""
    numbers = range(seed, seed + count)
    for db in range(seed // PLANS, (seed + count - 1) // PLANS + 1):
        yield db, [n for n in numbers if n // PLANS == db]
