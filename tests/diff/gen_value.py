"""Values of random expressions: their tree, type and bounds."""

import struct
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from hdexpr import Node
from hdtypes import DATE, FLOAT32, FLOAT_EXACT_DIGITS, INT64, STRING, Type, decimal

RANGE = {"int32": 1 << 31, "int64": 1 << 63}
FLOAT_REACH = 1 << 45


@dataclass
class Val:
    node: Node
    type: Type
    nullable: bool = True
    lo: Fraction = Fraction(0)  # numbers: bounds of every finite value; dates: day numbers
    hi: Fraction = Fraction(0)
    samples: list = field(default_factory=list)
    finite: bool = True  # float64: never NaN or infinite
    bits: int = 0  # float64: values are multiples of 2^-bits, or None if they are rounded
    ascii: bool = True  # string: bytes are characters
    inexact: bool = False  # float64: its last bits depend on the order of addition
    depth: int = 0

    @property
    def reach(self):
        return max(abs(self.lo), abs(self.hi))


def lit(v, t):
    number = Fraction(0)
    if v is None:
        return Val(Node("lit", value=v, type=t), t, True)
    if t.is_number and v == v and abs(v) != float("inf"):
        number = Fraction(v)
    if t == DATE:
        number = Fraction(v.toordinal())
    out = Val(Node("lit", value=v, type=t), t, False, number, number, [v])
    if t.is_float:
        out.finite = v == v and abs(v) != float("inf")
        out.bits = number.denominator.bit_length() - 1
    if t == STRING:
        out.ascii = v.isascii()
    return out


def written(node):
    """An int or decimal of the plan itself: beside a float32 it becomes one."""
    if node.op == "neg":
        return written(node.args[0])
    leaf = node.op in ("lit", "param") or (node.op == "cast" and written(node.args[0]))
    return leaf and (node.type.is_int or node.type.kind == "decimal")


def kept_bits(bits, reach, t):
    """bits, if a float of the type holds all such numbers."""
    return bits if bits is not None and reach * 2 ** bits < 1 << (24 if t == FLOAT32 else 53) else None


def exact_literal(v):
    """An int or decimal of the plan, None if v has too many digits for one step of rounding."""
    text = format(Decimal(repr(v)), "f")
    whole, _, part = text.lstrip("-").partition(".")
    digits = len(whole.lstrip("0")) + len(part)
    if part in ("", "0"):
        return lit(int(v), INT64)
    return lit(Decimal(text), decimal(max(digits, 1), len(part))) if digits <= FLOAT_EXACT_DIGITS else None


def narrowed(values, t):
    return [struct.unpack("f", struct.pack("f", v))[0] for v in values] if t == FLOAT32 else values


def corners(a, b, op):
    values = [op(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return min(values), max(values)


def in_type(lo, hi, t):
    """Whether every value between the bounds is one of type t."""
    if t.is_int:
        return -RANGE[t.kind] <= lo and hi < RANGE[t.kind]
    if t.kind == "decimal":
        return max(abs(lo), abs(hi)) < Fraction(10) ** (t.p - t.s)
    return max(abs(lo), abs(hi)) < FLOAT_REACH
