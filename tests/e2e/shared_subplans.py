#!/usr/bin/env python3
"""Joins and groupings that a plan has twice or more: with "order": "auto" those that give the same rows are computed once; rows are those
of the plan as it is written.

Usage: shared_subplans.py --heddle BIN [--backend cpu|cuda] [--count N] [--seed S]

A subplan is written again with other names, its joins in another order, other columns, more conditions, coarser groups, or as something
else (another literal, parameter, kind of join, side that may be NULL), and both are joined, compared or put together. Some plans must share,
and some must not.
"""
import sys

from shared_plans import arguments, compare, explained, join


def table(name, alias, *conditions):
    return {"op": "scan", "table": name, "alias": alias, **({"filter": " and ".join(f"({c})" for c in conditions)} if conditions else {})}


class Block:
    """f joined with p, maybe with f or p once more; everything about it but names, order of joins and columns is in `what`."""

    def __init__(self, rng):
        self.what = {"literal": rng.choice([9, 20, 30]), "kind": rng.randrange(3, 48), "inner": rng.choice(["inner", "inner", "inner", "left"]),
                     "third": rng.choice([None, None, "semi", "anti", "mark", "inner"]), "parameter": rng.random() < 0.3}

    def unlike(self, rng):
        other = Block(rng)
        other.what = dict(self.what)
        key = rng.choice(["literal", "kind", "inner", "third", "parameter"])
        other.what[key] = {"literal": self.what["literal"] + 1, "kind": self.what["kind"] - 1, "inner": "left" if self.what["inner"] == "inner" else "inner",
                           "third": "semi" if self.what["third"] != "semi" else "anti", "parameter": not self.what["parameter"]}[key]
        return other

    def written(self, rng, a, more=()):
        w = self.what
        f = table("f", f"{a}f", f"{a}f.f_qty < {':qty' if w['parameter'] else w['literal']}")
        p = table("p", f"{a}p", *([f"{a}p.p_kind < {w['kind']}"] if w["inner"] == "inner" else []), *(f"{a}p.{m}" for m in more))
        if w["inner"] == "inner" and rng.random() < 0.5:
            node = join("inner", p, f, [[f"{a}p.p_id", f"{a}f.f_p"]])
        else:
            node = join(w["inner"], f, p, [[f"{a}f.f_p", f"{a}p.p_id"]])
        if w["third"]:
            node = join(w["third"], node, table("p", f"{a}q", f"{a}q.p_val > 500"), [[f"{a}f.f_qty", f"{a}q.p_kind"]] if w["third"] != "inner" else [[f"{a}f.f_p", f"{a}q.p_id"]],
                        **({"mark": f"{a}m"} if w["third"] == "mark" else {}))
            if w["third"] == "mark":
                node = {"op": "filter", "pred": f"not {a}m", "input": node}
        return node


def grouped(rng, node, a, keys):
    columns = [f"{a}f.f_qty", f"{a}p.p_val", f"{a}p.p_kind", f"{a}f.f_id"]
    aggs = [{"fn": rng.choice(["sum", "min", "max", "count", "bit_xor", *(["avg"] if rng.random() < 0.3 else [])]), "arg": rng.choice(columns), "as": f"{a}v{i}"} for i in range(rng.randint(1, 3))]
    if rng.random() < 0.4:
        aggs.append({"fn": "count", "as": f"{a}n"})
    return {"op": "aggregate", "keys": [{"expr": f"{a}{k}", "as": f"{a}k{i}"} for i, k in enumerate(keys)], "aggs": aggs, "input": node}


def outputs(node, names):
    return {"op": "project", "exprs": [{"expr": n, "as": f"o{i}"} for i, n in enumerate(names)], "input": node}


def plan(rng):
    """The plan, and whether its subplans are meant to be unlike."""
    first = Block(rng)
    unlike = rng.random() < 0.25
    second = first.unlike(rng) if unlike else first
    more = [rng.choice(["p_val < 600", "p_text like '1%'", "p_id < 9000"])] if first.what["inner"] == "inner" and rng.random() < 0.3 else []
    keys = rng.sample(["p.p_kind", "f.f_p", "p.p_val"], rng.randint(1, 2))
    fewer = keys if rng.random() < 0.5 else rng.sample(keys, len(keys) - 1)
    x, y = first.written(rng, "x"), second.written(rng, "y", more)
    how = rng.randrange(4)
    if how == 0:  # rows with an average of the same
        scalar = grouped(rng, y, "y", [])
        node = join("inner", x, scalar, [], single=True)
        node = outputs(node, ["xf.f_id", "xp.p_id", scalar["aggs"][0]["as"]])
    elif how == 1:  # groups with coarser ones
        g, h = grouped(rng, x, "x", keys), grouped(rng, y, "y", fewer)
        on = [[f"xk{keys.index(k)}", f"yk{i}"] for i, k in enumerate(fewer)]
        node = join("inner", g, h, on, **({"single": True} if not on else {}))
        node = outputs(node, [*(f"xk{i}" for i in range(len(keys))), *(a["as"] for a in g["aggs"] + h["aggs"])])
    elif how == 2:  # rows whose value some group of the same has
        g = grouped(rng, y, "y", ["p.p_kind"])
        node = join(rng.choice(["semi", "anti"]), x, g, [["xp.p_kind", "yk0"], *([["xf.f_qty", g["aggs"][0]["as"]]] if g["aggs"][0]["fn"] in ("min", "max") and g["aggs"][0]["arg"] == "yf.f_qty" else [])])
        node = outputs(node, ["xf.f_id", "xp.p_val"])
    else:  # three of the same, put together
        parts = [(x, "x"), (y, "y"), (first.written(rng, "z"), "z")]
        node = {"op": "union_all", "inputs": [outputs(grouped(rng, n, a, keys), [*(f"{a}k{i}" for i in range(len(keys)))]) for n, a in parts]}
    return {"heddle": 1, "params": {"qty": {"type": "int32", "default": "20"}}, "root": node}


def pairs_of(rng, count):
    plans = [plan(rng) for _ in range(count)]
    return [(p, {**p, "order": "auto"}) for p in plans]


def main():
    args = arguments()

    def judge(folder, pairs):
        shares = lambda plans: sum(explained(args, folder, p, "computed: once") for p in plans)  # noqa: E731
        looked = pairs[:30]
        changed, written = shares(auto for _, auto in looked), shares(p for p, _ in looked[:5])
        said = f"{changed} of {len(looked)} share a subplan, {written} as written"
        return said, bool(written) or not len(looked) / 5 < changed < len(looked)

    some, wrong = compare(args, pairs_of, judge)
    return 1 if wrong or some < args.count / 4 else 0


if __name__ == "__main__":
    sys.exit(main())
