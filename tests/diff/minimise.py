"""Makes a failing plan smaller: takes operators, list entries and parts of expressions away while it still fails."""

import copy
import random
import time

from gen_render import Writer
from hderrors import inputs_of
from hdexpr import parse
from hdtypes import PlanError

SECONDS = 60
LISTS = ("sets", "exprs", "aggs", "keys", "order", "on", "inputs", "rows", "columns")
OPTIONAL = ("all", "sets", "rollup", "cube", "filter", "residual", "pred", "ties", "limit", "offset", "keep", "alias", "build", "strategy", "comment", "distinct", "single")


def operators(plan):
    """(holder, key) of every operator, outermost first."""
    out, stack = [], [(plan, "root")] + [(plan.get("shared", {}), n) for n in plan.get("shared", {})]
    while stack:
        holder, key = stack.pop(0)
        out.append((holder, key))
        node = holder[key]
        if node["op"] == "join":
            stack += [(node, "left"), (node, "right")]
        elif "inputs" in node:
            stack += [(node["inputs"], i) for i in range(len(node["inputs"]))]
        elif "input" in node:
            stack.append((node, "input"))
    return out


def pairs_of(node):
    return node.get("on", []) if node["op"] == "join" else []


def expression_slots(node):
    """(holder, key) of every expression of an operator."""
    slots = [(node, k) for k in ("filter", "pred", "residual", "count") if k in node]
    for key in ("exprs", "keys", "order", "aggs", "on"):
        for item in node.get(key, []):
            if isinstance(item, dict) and item.get("fn") != "grouping":
                slots += [(item, k) for k in ("expr", "arg", "by", "filter") if k in item]
    for pair in pairs_of(node):
        slots += [(pair, 0), (pair, 1)]
    if "asof" in node:
        slots += [(node["asof"], "left"), (node["asof"], "right")]
    return slots


def subexpressions(expr):
    """Smaller expressions to put in its place, as text."""
    try:
        tree = parse(expr, "")
    except PlanError:
        return []
    writer = Writer(random.Random(0))
    found, stack = [], list(tree.args)
    while stack:
        e = stack.pop(0)
        found.append(writer.text(e))
        stack += e.args
    return found


def candidates(plan):
    """Every plan one step smaller, as functions that edit a copy in place."""
    count = len(operators(plan))
    for i in range(count):
        holder, key = operators(plan)[i]
        node = holder[key]
        for k in range(len(inputs_of(node))):
            yield lambda p, i=i, k=k: replace_by_input(p, i, k)
        if node["op"] == "ref":
            yield lambda p, i=i: inline_ref(p, i)
        yield from smaller_fields(plan, i, node)
    for name in plan.get("params", {}):
        yield lambda p, name=name: p["params"].pop(name)
    for name in plan.get("shared", {}):
        yield lambda p, name=name: p["shared"].pop(name)


def smaller_fields(plan, i, node):
    if "inputs" in node and all("exprs" in n for n in node["inputs"]):
        for k in range(len(node["inputs"][0]["exprs"])):
            yield lambda p, k=k: drop_column(p, i, k)
    for key in OPTIONAL:
        if key in node:
            yield lambda p, key=key: at(p, i).pop(key)
    for key in LISTS:
        for k in range(len(node.get(key, []))):
            yield lambda p, key=key, k=k: at(p, i)[key].pop(k)
    for k, pair in enumerate(pairs_of(node)):
        if len(pair) > 2:
            yield lambda p, k=k: at(p, i)["on"][k].pop()
    if "asof" in node and node["asof"]["match"] in (">=", "<="):
        yield lambda p: at(p, i)["asof"].update(match=node["asof"]["match"][0])
    if node["op"] == "pairs":
        yield lambda p: without(p, i)
    for s, (holder, key) in enumerate(expression_slots(node)):
        for text in subexpressions(holder[key]):
            yield lambda p, s=s, text=text: set_expression(p, i, s, text)


def at(plan, i):
    holder, key = operators(plan)[i]
    return holder[key]


def replace_by_input(plan, i, k):
    holder, key = operators(plan)[i]
    holder[key] = inputs_of(holder[key])[k]


def without(plan, i):
    """A join of the rows with themselves in the place of their pairs."""
    holder, key = operators(plan)[i]
    node = holder[key]
    sides = [with_alias(copy.deepcopy(node["input"]), alias) for alias in node["aliases"]]
    holder[key] = {"op": "join", "kind": "inner", "left": sides[0], "right": sides[1],
                   **({"residual": node["pred"]} if "pred" in node else {})}


def with_alias(node, alias):
    if node["op"] not in ("scan", "ref") or "alias" in node:
        raise KeyError("only these take an alias")
    return {**node, "alias": alias}


def inline_ref(plan, i):
    holder, key = operators(plan)[i]
    holder[key] = copy.deepcopy(plan["shared"][holder[key]["name"]])


def drop_column(plan, i, k):
    for projection in at(plan, i)["inputs"]:
        projection["exprs"].pop(k)


def set_expression(plan, i, s, text):
    holder, key = expression_slots(at(plan, i))[s]
    holder[key] = text


def minimise(plan, still_fails, seconds=SECONDS):
    """still_fails(plan) says whether a valid plan fails in the same way; invalid plans must give False."""
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for edit in list(candidates(plan)):
            if time.monotonic() > deadline:
                return plan
            smaller = copy.deepcopy(plan)
            try:
                edit(smaller)
            except (KeyError, IndexError):
                continue  # an entry that only some of the inputs have
            if still_fails(smaller):
                plan, progress = smaller, True
                break
    return plan
