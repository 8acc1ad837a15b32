"""Which raising rows must end a query, and which an engine may pass over.

docs/plan.md: a row raises *only if* it reaches the expression. An engine may compute a column late, or never,
so an error is definite only if everything above the operator still needs the failing value for every row.
"""

from dataclasses import dataclass

from hdexpr import parse
from hdask import strict_columns


@dataclass
class Check:
    sql: str  # true if some row raises
    path: str
    node: dict  # the operator
    columns: set = None  # output columns that hold the failing value; None: a predicate or key, always used
    free: bool = False  # the operator itself may stop before the row


def inputs_of(node):
    op = node["op"]
    if op == "join":
        return [node["left"], node["right"]]
    if "inputs" in node:
        return node["inputs"]
    return [node["input"]] if "input" in node else []


def parents_of(plan, target):
    """Operators that read the rows of `target`, through references too; None stands for the result."""
    found = [None] if plan["root"] is target else []
    names = [n for n, sub in plan.get("shared", {}).items() if sub is target]
    stack = [plan["root"], *plan.get("shared", {}).values()]
    while stack:
        node = stack.pop()
        children = inputs_of(node)
        stack += children
        if any(c is target for c in children) or (node["op"] == "ref" and node["name"] in names):
            found.append(node)
    return found


def is_definite(plan, check):
    return not check.free and reaches(plan, check.node, check.columns)


def reaches(plan, node, columns):
    return any(used_by(plan, parent, node, columns) for parent in parents_of(plan, node))


def used_by(plan, parent, child, columns):
    if parent is None:
        return True
    rule = RULES.get(parent["op"])
    kept = rule(parent, child, columns) if rule else LOST
    return kept is not LOST and reaches(plan, parent, kept)


LOST = object()


def asks_subplan(expr):
    parts = expr.values() if isinstance(expr, dict) else expr if isinstance(expr, list) else []
    return isinstance(expr, dict) and "plan" in expr or any(map(asks_subplan, parts))


def reads(expr, columns):
    """Whether the value needs one of the columns; of conditions about subplans that is not said."""
    return columns is not None and not asks_subplan(expr) and bool(strict_columns(parse(expr, "")) & columns)


def named(item):
    """(expression, output name) of an entry of project's exprs or aggregate's keys."""
    if isinstance(item, str):
        return {"col": item}, item
    return item["expr"], item["as"]


def through_project(node, child, columns):
    if columns is None:
        return None
    out = {name for expr, name in map(named, node["exprs"]) if reads(expr, columns)}
    return (out | columns if node.get("keep") else out) or LOST


def through_aggregate(node, child, columns):
    if columns is None:
        return None
    if any(reads(named(k)[0], columns) for k in node.get("keys", [])):
        return None
    return {a["as"] for a in node["aggs"] if "arg" in a and a["fn"] not in ("count", "grouping", "first", "last") and reads(a["arg"], columns)} or LOST


def through_filter(node, child, columns):
    return None if reads(node["pred"], columns) else LOST


def through_values(node, child, columns):
    cells = [(c["name"], v["expr"]) for row in node["rows"] for c, v in zip(node["columns"], row) if isinstance(v, dict)]
    if not node["rows"] or columns is None:
        return None if node["rows"] else LOST
    return columns | {name for name, expr in cells if reads(expr, columns)}


def through_repeat(node, child, columns):
    return None if reads(node["count"], columns) else LOST


def through_sort(node, child, columns):
    return LOST if "limit" in node or "offset" in node else columns


def through_ref(node, child, columns):
    if columns is None or not node.get("alias"):
        return columns
    return {f"{node['alias']}.{c}" for c in columns}


def through_union(node, child, columns):
    # names come from the first input; a failing column of another one counts as lost
    return columns if columns is None or node["inputs"][0] is child else LOST


def through_distinct(node, child, columns):
    return LOST if "on" in node else None


def through_window(node, child, columns):
    """What the functions read is lost: nobody may ask for them, and frames leave rows out."""
    return columns


RULES = {"project": through_project, "values": through_values, "repeat": through_repeat, "aggregate": through_aggregate, "filter": through_filter, "sort": through_sort,
         "ref": through_ref, "union_all": through_union, "union": lambda node, child, columns: None, "distinct": through_distinct,
         "window": through_window}
