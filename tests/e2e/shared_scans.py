#!/usr/bin/env python3
"""Scans of a table with conditions on strings in common, and keys computed from rows: with "order": "auto" such scans are computed once,
subqueries of one row are relations, conjuncts come by rank, and computed keys follow from others; rows are those of plans in other words.

Usage: shared_scans.py --heddle BIN [--backend cpu|cuda] [--count N] [--seed S]

Conditions are written in any order, some uses have more of them, tables are scanned, looked up by an index, and read by subplans. Of all
plans some must share, and some must not. Keys are compared with a grouping by the row's key alone and a minimum of what is computed.
"""
import sys

from shared_plans import arguments, compare, explained, join

# ---- plans ----

TEXTS = ["p_text like '1%'", "substring(p_code, 1, 1) in ('3', '4')", "p_text > '5'", "not p_text like '%7'", "p_code is not null and p_text like '2%'"]
OTHERS = ["p_kind < 40", "p_kind >= 3", "p_val < 700", "p_val > p_kind", "p_id between 100 and 19000", "p_val is null or p_kind <> 4"]


def scan(rng, common, alias):
    """Conditions in any order; the table's columns under an alias."""
    parts = [*common, *rng.sample(OTHERS, rng.randrange(3))]
    rng.shuffle(parts)
    pred = " and ".join(f"({p})" for p in parts)
    for c in ("p_id", "p_text", "p_code", "p_kind", "p_val"):
        pred = pred.replace(c, f"{alias}.{c}")
    return {"op": "scan", "table": "p", "alias": alias, **({"filter": pred} if parts else {})}


def average(rng, common, alias):
    fn = rng.choice(["avg", "min", "max", "sum"])
    return {"op": "aggregate", "keys": [], "aggs": [{"fn": fn, "arg": f"{alias}.{rng.choice(['p_val', 'p_kind'])}", "as": f"{alias}_v"}], "input": scan(rng, common, alias)}


def shared(rng):
    common = rng.sample(TEXTS, rng.randint(1, 2))
    second = common if rng.random() < 0.8 else rng.sample(TEXTS, 1)
    left = scan(rng, common, "a")
    how = rng.randrange(5)
    if how == 0:
        node = join("inner", left, average(rng, second, "b"), [], single=True)
        node = {"op": "filter", "pred": "a.p_val > b_v and a.p_kind < 45", "input": node}
        if rng.random() < 0.5:
            node = join(rng.choice(["anti", "semi"]), node, {"op": "scan", "table": "f"}, [["a.p_id", "f_p"]])
    elif how == 1:
        node = join(rng.choice(["semi", "anti", "inner", "left"]), left, scan(rng, second, "b"), [["a.p_kind", "b.p_kind"], ["a.p_val", "b.p_val"]])
    elif how == 2:
        node = join("inner", {"op": "scan", "table": "f", "filter": "f_qty < 9"}, left, [["f_p", "a.p_id"]])
        node = join(rng.choice(["semi", "inner"]), node, scan(rng, second, "b"), [["f_p", "b.p_id"]])
    elif how == 3:
        node = join("semi", join("semi", left, scan(rng, second, "b"), [["a.p_val", "b.p_kind"]]), scan(rng, common, "c"), [["a.p_kind", "c.p_kind"]])
    else:
        node = join("semi", left, {"op": "filter", "pred": "n > 2", "input": {"op": "aggregate", "keys": [{"expr": "b.p_kind", "as": "k"}], "aggs": [{"fn": "count", "as": "n"}], "input": scan(rng, second, "b")}},
                    [["a.p_kind", "k"]])
    return {"heddle": 1, "root": {"op": "project", "exprs": [{"expr": c, "as": c[2:]} for c in ("a.p_id", "a.p_text", "a.p_val")], "input": node}}


def computed(rng):
    """Two plans: keys that a row gives, and its own key with their minima."""
    exprs = rng.sample(["upper(p_text)", "left(p_code, 2)", "p_kind % 7", "p_text || '-' || p_code", "case when p_val > p_kind then 1 end", "cast(p_kind as float64)", "p_code"], rng.randint(1, 3))
    kind = rng.choice(["inner", "inner", "left"])
    inside = join(kind, {"op": "scan", "table": "f", "filter": rng.choice(["f_qty < 20", "f_qty >= 1"])}, {"op": "scan", "table": "p", **({"filter": "p_kind < 30"} if rng.random() < 0.5 else {})},
                  [["f_p", "p_id"]])
    key = rng.choice(["p_id", "f_p"]) if kind == "inner" else "p_id"
    count = {"fn": "sum", "arg": "f_qty", "as": "n"}
    out = lambda node: {"heddle": 1, "root": {"op": "project", "exprs": [*[{"expr": f"x{i}", "as": f"x{i}"} for i in range(len(exprs))], {"expr": "k", "as": "k"}, {"expr": "n", "as": "n"}], "input": node}}  # noqa: E731
    keys = [{"expr": key, "as": "k"}, *[{"expr": e, "as": f"x{i}"} for i, e in enumerate(exprs)]]
    rng.shuffle(keys)
    minima = [{"fn": "min", "arg": e, "as": f"x{i}"} for i, e in enumerate(exprs)]
    return [out({"op": "aggregate", "keys": keys, "aggs": [count], "input": inside}),
            out({"op": "aggregate", "keys": [{"expr": key, "as": "k"}], "aggs": [count, *minima], "input": inside})]


# ---- the test ----

def pairs_of(rng, count):
    pairs = []
    for i in range(count):
        if i % 3 == 2:
            pairs.append(computed(rng))
        else:
            plan = shared(rng)
            pairs.append([plan, {**plan, "order": "auto"}])
    return pairs


def main():
    args = arguments()

    def judge(folder, pairs):
        looked = [pair[1] for pair in pairs if "order" in pair[1]][:30]
        changed = sum(explained(args, folder, p, 'keep "p"') for p in looked)
        return f"{changed} of {len(looked)} share a scan", not len(looked) / 5 < changed < len(looked) * 0.95

    some, wrong = compare(args, pairs_of, judge)
    return 1 if wrong or some < args.count / 2 else 0


if __name__ == "__main__":
    sys.exit(main())
