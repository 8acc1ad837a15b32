#!/usr/bin/env python3
"""Plans of examples/ that rank orders, against the orders themselves.

Usage: examples.py --heddle BIN --db TPCH --examples DIR
"""
import argparse
import json
import subprocess
import sys
from decimal import Decimal


def rows(args, plan):
    done = subprocess.run([args.heddle, "run", plan, "--db", args.db, "--format", "csv", "--threads", "2"],
                          capture_output=True, text=True, check=True)
    return [line.split(",") for line in done.stdout.splitlines()[1:]]


def orders(args):
    """(clerk, key, price, customer, day)"""
    columns = ["o_clerk", "o_orderkey", "o_totalprice", "o_custkey", "o_orderdate"]
    plan = json.dumps({"heddle": 1, "root": {"op": "scan", "table": "orders", "columns": columns}})
    done = subprocess.run([args.heddle, "run", "-", "--db", args.db, "--format", "csv"], input=plan, capture_output=True,
                          text=True, check=True)
    split = (line.split(",") for line in done.stdout.splitlines()[1:])
    return [(clerk, int(key), Decimal(price), int(customer), day) for clerk, key, price, customer, day in split]


def by(found, column):
    groups = {}
    for order in found:
        groups.setdefault(order[column], []).append(order)
    return groups


def largest(found):
    for group in by(found, 0).values():
        third = sorted((o[2] for o in group), reverse=True)[:3][-1]
        yield from ([o[0], str(o[1]), str(o[2])] for o in group if o[2] >= third)


def last(found):
    for customer, group in sorted(by(found, 3).items()):
        day, price = max(o[4] for o in group), max(o[2] for o in group)
        yield [str(customer), day, str(min(o[1] for o in group if o[4] == day)),
               str(min(o[1] for o in group if o[2] == price))]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--examples", required=True)
    args = ap.parse_args()
    all_orders = orders(args)
    wrong = sorted(rows(args, f"{args.examples}/largest_orders.json")) != sorted(largest(all_orders))
    wrong += rows(args, f"{args.examples}/last_order.json") != list(last(all_orders))
    print(f"{len(all_orders)} orders, {wrong} wrong")
    return wrong != 0


sys.exit(main())
