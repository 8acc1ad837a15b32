"""Writes expression trees as the strings and the JSON trees of docs/plan.md section 2.

Trees are those of the oracle's reader (hdexpr.Node) with two more operators that exist only in writing:
`between` (x, low, high) and `case_of` (subject, value, result, …).
"""

import datetime
import math

from hdexpr import COMPARE, FUNCTIONS, Node
from hdtypes import BINARY, BOOL, FLOAT64, INT64, STRING, literal_decimal_type

OR, AND, NOT, TEST, BITS, SUM, PRODUCT, UNARY, PRIMARY = range(9)
LEVEL = {"or": OR, "and": AND, "not": NOT, "is_null": TEST, "in": TEST, "like": TEST, "ilike": TEST, "between": TEST,
         "+": SUM, "-": SUM, "||": SUM, "add_days": SUM, "add_months": SUM, "date_diff": SUM, "*": PRODUCT, "/": PRODUCT,
         "&": BITS, "|": BITS, "<<": BITS, ">>": BITS, "%": PRODUCT, "neg": UNARY, **{op: TEST for op in COMPARE}}
PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789_."
KEYWORDS = {"or", "and", "not", "is", "null", "between", "in", "like", "escape", "case", "when", "then", "else", "end",
            "true", "false", "date", "timestamp", "interval", "coalesce", "cast", "substring", "extract"}


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def value_text(v, t):
    """The text form of a literal's value."""
    if t == BINARY:
        return "\\x" + v.hex()
    if t == BOOL:
        return "true" if v else "false"
    if t.is_float:
        return repr(v)
    if t.kind == "decimal":
        return format(v, "f")
    if isinstance(v, datetime.datetime):
        text = v.strftime("%H:%M:%S") + (f".{v.microsecond:06d}" if v.microsecond else "")
        return v.date().isoformat() + " " + text
    return v.isoformat() if isinstance(v, (datetime.date, datetime.time)) else str(v)


class Writer:
    def __init__(self, rng):
        self.rng = rng

    # ---- strings

    def text(self, e, need=OR):
        level, text = self.spell(e)
        if level < need or (level == UNARY and text.startswith("--")) or self.rng.random() < 0.03:
            return "(" + text + ")"
        return text

    def spell(self, e):
        method = getattr(self, "text_" + e.op, None)
        if method:
            return method(e)
        if e.op in FUNCTIONS and (e.op not in LEVEL or self.rng.random() < 0.5):
            return PRIMARY, self.case(e.op) + "(" + ", ".join(self.text(a) for a in e.args) + ")"
        if e.op == "~":
            return BITS, "~" + self.text(e.args[0], SUM)
        level = LEVEL[e.op]
        if e.op in ("and", "or"):
            return level, f" {self.case(e.op)} ".join(self.text(a, level + 1) for a in e.args)
        if e.op in COMPARE:
            op = "!=" if e.op == "<>" and self.rng.random() < 0.3 else e.op
            return level, f"{self.text(e.args[0], SUM)} {op} {self.text(e.args[1], SUM)}"
        op = "-" if e.op == "date_diff" else e.op
        # the table of precedence can be read two ways for % beside * and /: parentheses settle it
        mixed = e.op == "%" or any(a.op == "%" for a in e.args)
        left, right = (UNARY, UNARY) if mixed and level == PRODUCT else (level, level + 1)
        return level, f"{self.text(e.args[0], left)} {op} {self.text(e.args[1], right)}"

    def case(self, word):
        return word.upper() if self.rng.random() < 0.1 else word

    def text_col(self, e):
        bare = all(c in PLAIN for c in e.name) and not e.name[0].isdigit() and e.name not in KEYWORDS
        if bare and self.rng.random() < 0.95:
            return PRIMARY, e.name
        return PRIMARY, '"' + e.name.replace('"', '""') + '"'

    def text_param(self, e):
        return PRIMARY, ":" + e.name

    def text_lit(self, e):
        v, t = e.value, e.type
        if v is None:
            return PRIMARY, "null" if t.kind == "null" else f"cast(null as {t})"
        if t.kind in ("date", "timestamp", "time", "interval"):
            return PRIMARY, f"{t} '{value_text(v, t)}'"
        if t == STRING:
            return PRIMARY, quoted(v)
        if t == BINARY:
            return PRIMARY, f"x'{v.hex()}'"
        if t == BOOL:
            return PRIMARY, value_text(v, t)
        return self.number(v, t)

    def number(self, v, t):
        if t.is_float and not math.isfinite(v):
            return PRIMARY, f"cast('{v}' as {t})"
        text = value_text(v, t)
        if t == INT64:
            natural = v > -(1 << 63)
        elif t == FLOAT64:
            text, natural = (text if "e" in text else text + "e0"), True
        else:
            natural = t.kind == "decimal" and t.s > 0 and literal_decimal_type(text) == t
        if natural:
            return UNARY if text.startswith("-") else PRIMARY, text
        return PRIMARY, f"cast('{text}' as {t})"

    def text_neg(self, e):
        inner = self.text(e.args[0], UNARY)
        return UNARY, f"-({inner})" if inner.startswith("-") else "-" + inner

    def text_not(self, e):
        a = e.args[0]
        if a.op == "is_null":
            return TEST, f"{self.text(a.args[0], SUM)} is not null"
        if a.op == "is_not_distinct_from" and self.rng.random() < 0.7:
            return TEST, f"{self.text(a.args[0], SUM)} is distinct from {self.text(a.args[1], SUM)}"
        if a.op in ("in", "like", "ilike", "between") and self.rng.random() < 0.7:
            return TEST, self.spell_test(a, "not ")
        return NOT, "not " + self.text(a, NOT)

    def text_is_not_distinct_from(self, e):
        return TEST, f"{self.text(e.args[0], SUM)} is not distinct from {self.text(e.args[1], SUM)}"

    def text_is_null(self, e):
        return TEST, f"{self.text(e.args[0], SUM)} is null"

    def spell_test(self, e, negation=""):
        x = self.text(e.args[0], SUM)
        if e.op == "between":
            return f"{x} {negation}between {self.text(e.args[1], SUM)} and {self.text(e.args[2], SUM)}"
        if e.op == "in" and e.name == "list":
            return f"{x} {negation}in {self.text(e.args[1], PRIMARY)}"
        if e.op == "in":
            return f"{x} {negation}in ({', '.join(self.text(a) for a in e.args[1:])})"
        escape = f" escape {quoted(e.escape)}" if e.escape else ""
        return f"{x} {negation}{e.op} {self.text(e.args[1], PRIMARY)}{escape}"

    def text_between(self, e):
        return TEST, self.spell_test(e)

    text_in = text_like = text_ilike = text_between

    def text_add_days(self, e):
        n, sign, unit = e.args[1], "+", "day" if e.op == "add_days" else "month"
        if n.op == "neg":
            n, sign = n.args[0], "-"
        if n.op == "lit" and n.value is not None:
            amount = n.value
            if unit == "month" and amount % 12 == 0 and self.rng.random() < 0.7:
                amount, unit = amount // 12, "year"
            count = f"'{amount}'" if amount < 0 or self.rng.random() < 0.7 else str(amount)
        else:
            count = self.text(n, PRIMARY) if n.op == "param" else f"({self.text(n)})"
        return SUM, f"{self.text(e.args[0], SUM)} {sign} interval {count} {unit}"

    text_add_months = text_add_days

    def text_add_micros(self, e):
        n = e.args[1]
        if n.op != "lit" or n.value is None:
            return SUM, f"{self.text(e.args[0], SUM)} + interval ({self.text(n)}) microsecond"
        if n.value % 1000 == 0:
            return PRIMARY, f"date_add({self.text(e.args[0])}, {n.value // 1000}, 'millisecond')"
        return SUM, f"{self.text(e.args[0], SUM)} - interval '{-n.value}' microseconds"

    def text_units_between(self, e):
        return PRIMARY, f"date_diff('{e.name}', {self.text(e.args[0])}, {self.text(e.args[1])})"

    def text_case(self, e):
        parts = [f"when {self.text(c)} then {self.text(v)}" for c, v in zip(e.args[0:-1:2], e.args[1::2])]
        if len(e.args) % 2:
            parts.append(f"else {self.text(e.args[-1])}")
        return PRIMARY, f"case {' '.join(parts)} end"

    def text_case_of(self, e):
        rest = e.args[1:]
        parts = [f"when {self.text(c)} then {self.text(v)}" for c, v in zip(rest[0:-1:2], rest[1::2])]
        if len(rest) % 2:
            parts.append(f"else {self.text(rest[-1])}")
        return PRIMARY, f"case {self.text(e.args[0])} {' '.join(parts)} end"

    def text_coalesce(self, e):
        return PRIMARY, f"coalesce({', '.join(self.text(a) for a in e.args)})"

    def text_cast(self, e):
        return PRIMARY, f"{self.case(e.op)}({self.text(e.args[0])} as {e.type})"

    text_try_cast = text_cast

    def text_extract(self, e):
        return PRIMARY, f"extract({e.name} from {self.text(e.args[0])})"

    def text_date_trunc(self, e):
        return PRIMARY, f"date_trunc('{e.name}', {self.text(e.args[0])})"

    def text_substring(self, e):
        s, start, length = (self.text(a) for a in e.args)
        if self.rng.random() < 0.5:
            return PRIMARY, f"substring({s}, {start}, {length})"
        return PRIMARY, f"substring({s} from {start} for {length})"

    # ---- JSON

    def expression(self, e):
        """A string mostly, a tree sometimes, a tree with strings in it now and then."""
        return self.text(e) if self.rng.random() < 0.75 else self.tree(e)

    def tree(self, e):
        if e.op not in ("lit", "col", "param") and self.rng.random() < 0.1:
            return self.text(e)
        method = getattr(self, "tree_" + e.op, None)
        if method:
            return method(e)
        name = {"date_diff": "-", "units_between": "date_diff"}.get(e.op, e.op)
        out = {"op": name, "args": [self.tree(a) for a in e.args]}
        if e.op in ("cast", "try_cast"):
            out["type"] = str(e.type)
        if e.op in ("extract", "date_trunc", "units_between"):
            out["field"] = e.name
        if e.op in ("like", "ilike") and e.escape:
            out["args"].append({"lit": e.escape, "type": "string"})
        return out

    def tree_col(self, e):
        return {"col": e.name}

    def tree_param(self, e):
        return {"param": e.name}

    def tree_lit(self, e):
        if e.value is None:
            return {"lit": None} if e.type.kind == "null" else {"lit": None, "type": str(e.type)}
        if e.type.is_float and not math.isfinite(e.value):
            return {"lit": str(e.value), "type": str(e.type)}
        plain = e.type == BOOL or e.type.is_float or (e.type.is_int and abs(e.value) < 1 << 31)
        return {"lit": e.value if plain else value_text(e.value, e.type), "type": str(e.type)}

    def tree_between(self, e):
        x, low, high = e.args
        return self.tree(Node("and", [Node(">=", [x, low]), Node("<=", [x, high])]))

    def tree_case_of(self, e):
        args = []
        for i, a in enumerate(e.args[1:]):
            last = i == len(e.args) - 2
            args.append(a if i % 2 or last else Node("=", [e.args[0], a]))
        return self.tree(Node("case", args))
