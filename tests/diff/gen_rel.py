"""Inputs of random operators: their plan, columns and bounds for their rows."""

from dataclasses import dataclass, replace
from fractions import Fraction

from gen_value import Val
from hdexpr import Node
from hdtypes import DATE, STRING

MAX_ROWS = 60000
MAX_PAIRS = 1500000  # pairs a theta join may look at


@dataclass
class Out:
    """An output column."""
    name: str
    val: Val  # its node is a reference to the column
    mult: float  # rows per value, at most


@dataclass
class Rel:
    node: dict
    columns: list
    rows: float

    def names(self):
        return {c.name for c in self.columns}


def column_val(name, c):
    """Bounds and samples of a stored column."""
    known = c.known()
    samples = list({repr(v): v for v in known[:200]}.values())[:24]
    out = Val(Node("col", name=name), c.type, c.nullable, samples=samples)
    if c.type.is_number:
        finite = [Fraction(v) for v in known if v == v and abs(v) != float("inf")]
        out.lo, out.hi = min(finite, default=Fraction(0)), max(finite, default=Fraction(0))
        out.finite = len(finite) == len(known)
        out.bits = 4 if c.type.is_float else 0
    if c.type == DATE:
        days = [Fraction(v.toordinal()) for v in known]
        out.lo, out.hi = min(days, default=Fraction(719163)), max(days, default=Fraction(719163))
    if c.type == STRING:
        out.ascii = all(v.isascii() for v in known)
    return out


def renamed(val, name):
    return replace(val, node=Node("col", name=name))
