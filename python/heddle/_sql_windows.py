"""What DataFusion's Substrait loses of functions of windows, and how it comes back: by what DataFusion prints of its plan.

DISTINCT is not written, though Substrait has an invocation for it, and FILTER has no place there."""
from __future__ import annotations

import re

from ._errors import SQLError

_WINDOW = re.compile(r"\s*WindowAggr: windowExpr=\[\[(.*)\]\]$")


def has_lost(printed: str) -> bool:
    """Whether a function of a window in DataFusion's printed plan has what its Substrait has not."""
    return any(m and re.search(r"\(DISTINCT | FILTER \(", m[1]) for m in map(_WINDOW.match, printed.splitlines()))


def mark_distinct(made: dict, printed: str) -> None:
    """Says DISTINCT in a plan of Substrait's JSON. An error where it cannot be told of which function."""
    lines = [m[1] for m in map(_WINDOW.match, printed.splitlines()) if m]
    nodes = list(_windows(made["relations"][0]["root"]["input"]))
    if any(" FILTER (" in line for line in lines):
        raise SQLError("FILTER of a function of windows is lost in Substrait; write sum(case when condition then x end) over (...)")
    functions = [_functions(line) for line in lines]
    if "Subquery:" in printed or any('"' in line for line in lines) or [len(f) for f in functions] != [len(n) for n in nodes]:
        raise SQLError("DISTINCT of a function of windows is lost in Substrait, and cannot be told from the plan here; "
                       "make the window a subquery of its own, without texts")
    for texts, of in zip(functions, nodes):
        for text, function in zip(texts, of):
            if re.match(r"[\w.]+\(DISTINCT ", text):
                function["invocation"] = "AGGREGATION_INVOCATION_DISTINCT"


def _functions(line: str) -> list[str]:
    """The functions of a line, which commas outside all parentheses part."""
    out, depth, begin = [], 0, 0
    for i, c in enumerate(line):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and line.startswith(", ", i):
            out.append(line[begin:i])
            begin = i + 2
    return out + [line[begin:]]


def _windows(relation: dict):
    """The functions of each relation that has windows, in the order in which DataFusion prints them."""
    for kind, of in relation.items():
        if kind == "project":
            found = [e["windowFunction"] for e in of["expressions"] if "windowFunction" in e]
            if found:
                yield found
        for inner in [of[k] for k in ("input", "left", "right") if k in of] + of.get("inputs", []):
            yield from _windows(inner)
