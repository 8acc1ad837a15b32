#!/usr/bin/env python3
"""Stands in for the heddle binary in the self-test of this folder: the same commands, answered by the oracle.

HEDDLE_FAKE_BUG plants a bug for the test to find: `drop` loses the last input of a union, `left` makes left joins
inner, `crash` dies on a distinct, `quiet` never raises, `loud` always does, `strategy` refuses every strategy, `full`
makes full joins left ones, `null_equal` lets NULLs match nothing, `asof` takes equal values for nearer and the other way
round, `pairs` forgets their condition, `top` gives a row more of each group.
"""

import argparse
import json
import os
import shutil
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), d) for d in ("../oracle", ".")]

import dataset
import results
from gen_data import Column, Table
from hdtypes import ExecutionError, PlanError, parse_type
from plan_sql import Oracle

BUG = os.environ.get("HEDDLE_FAKE_BUG", "")


def load(args):
    shutil.copytree(args.from_, os.path.join(args.out, "data"))
    shutil.copy(args.schema, args.out)
    return 0


def read_tables(db):
    with open(os.path.join(db, "schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    return [read_table(t, os.path.join(db, "data", t["name"] + ".csv")) for t in schema["tables"]]


def read_table(entry, path):
    with open(path, encoding="utf-8", newline="") as f:
        _, rows = results.read_csv(f.read(), [c["type"] for c in entry["columns"]])
    values = list(zip(*rows)) or [()] * len(entry["columns"])
    columns = [Column(c["name"], parse_type(c["type"]), c["nullable"], list(v)) for c, v in zip(entry["columns"], values)]
    return Table(entry["name"], columns, len(rows))


def operators(plan):
    stack, found = [plan], []
    while stack:
        x = stack.pop()
        if isinstance(x, dict):
            found += [x] if "op" in x else []
            stack += x.values()
        elif isinstance(x, list):
            stack += x
    return found


def plant(plan):
    """Changes the plan as the bug does; may not return."""
    for node in operators(plan):
        if BUG == "left" and node.get("kind") == "left":
            node["kind"] = "inner"
        if BUG == "full" and node.get("kind") == "full":
            node["kind"] = "left"
        if BUG == "null_equal" and "on" in node:
            node["on"] = [pair[:2] for pair in node["on"]]
        if BUG == "asof" and "asof" in node:
            match = node["asof"]["match"]
            node["asof"]["match"] = match[0] if match.endswith("=") else match + "="
        if BUG == "pairs" and node["op"] == "pairs":
            node.pop("pred", None)
        if BUG == "top" and node["op"] == "top":
            node["limit"] += 1
        if BUG == "drop" and node["op"] == "union_all":
            node["inputs"][-1] = {"op": "limit", "input": node["inputs"][-1], "limit": 0}
        if BUG == "crash" and node["op"] == "distinct":
            os._exit(139)
        if BUG == "strategy" and "strategy" in node:
            return fail("unsupported", "no such strategy here")
    return fail("execution", "planted") if BUG == "loud" else None


def fail(kind, message):
    return {"error": {"class": kind, "path": "$", "message": message, "status": 1}}


def answer(oracle, line):
    with open(line["plan"], encoding="utf-8") as f:
        plan = json.load(f)
    planted = plant(plan)
    if planted:
        return planted
    oracle.check_errors = BUG != "quiet"
    try:
        columns, rows = oracle.run(plan, line["params"])
    except PlanError as e:
        return fail("user", str(e))
    except ExecutionError as e:
        return fail("execution", str(e))
    with open(line["out"], "w", encoding="utf-8", newline="") as f:
        (results.write_json if line["format"] == "json" else results.write_csv)(f, columns, rows)
    return {"rows": len(rows)}


def run(args):
    oracle = Oracle(dataset.load_duckdb(read_tables(args.db)), byte_strings=True)
    failed = False
    with open(args.batch, encoding="utf-8") as f:
        for text in f:
            line = json.loads(text)
            out = answer(oracle, line)
            failed |= "error" in out
            print(json.dumps({"id": line["id"], **out}), flush=True)
    oracle.con.close()
    return int(failed)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("command", choices=["load", "run"])
    ap.add_argument("--schema")
    ap.add_argument("--from", dest="from_")
    ap.add_argument("--out")
    ap.add_argument("--db")
    ap.add_argument("--batch")
    args = ap.parse_args()
    return load(args) if args.command == "load" else run(args)


if __name__ == "__main__":
    sys.exit(main())
