#!/usr/bin/env python3
"""Plans with their inner joins as a parser of SQL would leave them: relations in any order, beside each other, all
conditions in one filter above. Semi and anti joins come behind these. With their order left to the planner they must give
the rows that the plans give.

Usage: shuffled.py --heddle BIN --db DB --plans DIR [--seed S] [--write DIR]    DIR: where plans are left
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile


def expression(e):
    return e if isinstance(e, str) else None


def is_inner(n):
    """Whose conditions are texts, so that a filter can say them."""
    if n["op"] != "join" or n["kind"] != "inner" or n.get("single") or n.get("asof"):
        return False
    return all(len(p) == 2 and all(expression(x) for x in p) for p in n.get("on", []))


def is_beside(n):
    return n["op"] == "join" and n["kind"] in ("semi", "anti") and "residual" not in n


def take_apart(n, relations, conditions, beside):
    if is_inner(n):
        take_apart(n["left"], relations, conditions, beside)
        take_apart(n["right"], relations, conditions, beside)
        conditions += [f"({a}) = ({b})" for a, b in n.get("on", [])]
        conditions += [f"({n['residual']})"] if "residual" in n else []
    elif is_beside(n):
        take_apart(n["left"], relations, conditions, beside)
        beside.append({**n, "right": shuffle_below(n["right"], beside.rng)})
    elif n["op"] == "filter" and expression(n["pred"]):
        take_apart(n["input"], relations, conditions, beside)
        conditions.append(f"({n['pred']})")
    elif n["op"] == "scan" and expression(n.get("filter")) and "columns" not in n:
        relations.append({k: v for k, v in n.items() if k != "filter"})
        conditions.append(f"({n['filter']})")
    else:
        relations.append(shuffle_below(n, beside.rng))


class Beside(list):
    def __init__(self, rng):
        super().__init__()
        self.rng = rng


def put_together(relations, conditions, beside):
    n = relations[0]
    for r in relations[1:]:
        n = {"op": "join", "kind": "inner", "left": n, "right": r}
    if conditions:
        n = {"op": "filter", "pred": " and ".join(conditions), "input": n}
    for b in beside:
        n = {**{k: v for k, v in b.items() if k not in ("build", "strategy")}, "left": n}
    return n


def shuffle_below(n, rng):
    if is_inner(n) or is_beside(n):
        relations, conditions, beside = [], [], Beside(rng)
        take_apart(n, relations, conditions, beside)
        for v in (relations, conditions, beside):
            rng.shuffle(v)
        return put_together(relations, conditions, beside)
    return {k: shuffle_below(v, rng) if k in ("input", "left", "right") else
            [shuffle_below(x, rng) for x in v] if k == "inputs" else v for k, v in n.items()}


def shuffle(plan, rng):
    """With its joins in some order, to be put in a good one."""
    plan = json.loads(json.dumps(plan))
    out = {**plan, "order": "auto", "root": shuffle_below(plan["root"], rng)}
    if "shared" in plan:
        out["shared"] = {k: shuffle_below(v, rng) for k, v in plan["shared"].items()}
    return out


def rows_of(args, plan):
    done = subprocess.run([args.heddle, "run", plan, "--db", args.db, "--threads", "2", "--format", "csv"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--plans", type=pathlib.Path, required=True)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--write", type=pathlib.Path)
    args = ap.parse_args()
    rng, wrong, count = random.Random(args.seed), [], 0
    with tempfile.TemporaryDirectory(prefix="heddle-shuffled-") as folder:
        folder = args.write or pathlib.Path(folder)
        folder.mkdir(exist_ok=True)
        for plan in sorted(args.plans.glob("*.json")):
            written = json.loads(plan.read_text())
            (folder / plan.name).write_text(json.dumps(shuffle(written, rng), indent=1))
            (folder / "auto.json").write_text(json.dumps({**written, "order": "auto"}))
            want = rows_of(args, plan)
            wrong += [f"{plan.name} {what}" for what, other in (("shuffled", folder / plan.name), ("auto", folder / "auto.json")) if rows_of(args, other) != want]
            count += 1
    print(f"{count} plans; wrong: {', '.join(wrong) or 'none'}")
    return len(wrong) > 0 or count == 0


if __name__ == "__main__":
    sys.exit(main())
