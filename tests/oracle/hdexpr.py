"""Reads expressions, as strings in the syntax of docs/plan.md 2.1 or as JSON trees, into one tree.

Operators of the tree carry the names of the JSON form: + - * / % neg = <> < <= > >= and or not
is_null in like ilike substring extract add_days add_months case coalesce cast try_cast & | ~ << >>, and col, lit, param.
"""

import datetime
import re
from dataclasses import dataclass, field

from hdtypes import (BINARY, BOOL, DATE, FLOAT64, INT64, INTERVAL, INT_TEXT, MAX_DIGITS, NULL, STRING, TIME, TIMESTAMP, PlanError, Type,
                     literal_decimal_type, nearest, parse_type, parse_value)


@dataclass
class Node:
    op: str
    args: list = field(default_factory=list)
    name: str = None  # col, param: the name; extract: the field
    value: object = None  # lit
    type: Type = None  # lit, cast
    escape: str = None  # like
    path: str = ""


COMPARE = {"=", "<>", "<", "<=", ">", ">="}
UNITS = ("year", "month", "day")
DAY_FIELDS = ("quarter", "week", "isoyear", "dow", "isodow", "doy", "decade", "century", "epoch")
TIME_FIELDS = ("hour", "minute", "second", "millisecond", "microsecond")
FIELDS = UNITS + DAY_FIELDS + TIME_FIELDS
CUT = UNITS + ("quarter", "week", "decade", "century") + TIME_FIELDS  # what date_trunc cuts down to
ARITY = {"||": (2, 2), "+": (2, 2), "-": (2, 2), "*": (2, 2), "/": (2, 2), "%": (2, 2), "neg": (1, 1), "not": (1, 1),
         "and": (2, 99), "or": (2, 99), "is_null": (1, 1), "in": (2, 9999), "like": (2, 3), "ilike": (2, 3),
         "substring": (2, 3), "extract": (1, 1), "date_trunc": (1, 1), "add_days": (2, 2), "add_months": (2, 2),
         "date_diff": (2, 2), "case": (2, 9999), "coalesce": (1, 99), "cast": (1, 1), "try_cast": (1, 1),
         "~": (1, 1), **{op: (2, 2) for op in (*COMPARE, "&", "|", "<<", ">>")}}
# called by name, with commas between the arguments
FUNCTIONS = {"floor": (1, 1), "ceil": (1, 1), "trunc": (1, 1), "round": (1, 2), "least": (1, 99), "greatest": (1, 99),
             "date_diff": (2, 2), "width_bucket": (4, 4), "power": (2, 2), "atan2": (2, 2), "degrees": (1, 1), "radians": (1, 1),
             **{f: (1, 1) for f in ("abs", "sign", "sqrt", "exp", "ln", "log10", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan")}}
FUNCTIONS.update({"is_not_distinct_from": (2, 2), "nullif": (2, 2), "iif": (3, 3), "last_day": (1, 1), "length": (1, 1), "octet_length": (1, 1), "ascii": (1, 1), "strpos": (2, 2), "starts_with": (2, 2), "ends_with": (2, 2),
                  "contains": (2, 2), "left": (2, 2), "right": (2, 2), "upper": (1, 1), "lower": (1, 1), "reverse": (1, 1), "repeat": (2, 2), "replace": (3, 3), "translate": (3, 3), "lpad": (2, 3), "rpad": (2, 3), "trim": (1, 2), "ltrim": (1, 2), "rtrim": (1, 2), "split_part": (3, 3)})
FUNCTIONS.update({"hash": (1, 99), "xor": (2, 2), "hex": (1, 1), "bit_count": (1, 1), "chr": (1, 1), "epoch": (1, 1), "make_date": (3, 3), "make_timestamp": (1, 1), "to_timestamp": (1, 1), "strftime": (2, 2)})
ARITY.update(FUNCTIONS)
ARITY.update({"add_micros": (2, 2), "date_part": (1, 1), "date_add": (2, 2), "position": (2, 2), "units_between": (2, 2)})
# What a unit moves by, and how many of it: of intervals, date_add.
STEPS = {"century": ("add_months", 1200), "decade": ("add_months", 120), "year": ("add_months", 12), "quarter": ("add_months", 3),
         "month": ("add_months", 1), "week": ("add_days", 7), "day": ("add_days", 1), "hour": ("add_micros", 3600000000),
         "minute": ("add_micros", 60000000), "second": ("add_micros", 1000000), "millisecond": ("add_micros", 1000),
         "microsecond": ("add_micros", 1)}

TOKEN = re.compile(r"""\s*(?:
    (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<string>'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")*")
  | (?P<param>:[A-Za-z_]\w*)
  | (?P<word>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
  | (?P<op>\|\||<<|>>|<>|!=|<=|>=|[-+*/%(),=<>&|~])
  )""", re.X)
RESERVED = {"or", "and", "not", "is", "null", "between", "in", "like", "escape", "case", "when", "then",
            "else", "end", "true", "false"}


def tokenize(text, path):
    out, pos = [], 0
    text = text.rstrip()
    while pos < len(text):
        m = TOKEN.match(text, pos)
        if not m:
            raise PlanError(path, f"cannot read expression at {text[pos:pos + 20]!r}")
        out.append((m.lastgroup, m[m.lastgroup]))
        pos = m.end()
    return out + [("end", "")]


def literal(value, t, path):
    return Node("lit", value=value, type=t, path=path)


class Parser:
    """Recursive descent; one method per level of precedence, lowest first."""

    def __init__(self, text, path):
        self.path = path
        self.tokens = tokenize(text, path)
        self.pos = 0

    def node(self, op, *args, **extra):
        return Node(op, list(args), path=self.path, **extra)

    def fail(self, wanted):
        raise PlanError(self.path, f"expected {wanted}, found {self.tokens[self.pos][1] or 'the end'!r}")

    def peek(self, *texts, ahead=0):
        kind, text = self.tokens[min(self.pos + ahead, len(self.tokens) - 1)]
        return text.lower() in texts if kind == "word" else kind == "op" and text in texts

    def accept(self, *texts):
        if not self.peek(*texts):
            return None
        self.pos += 1
        return self.tokens[self.pos - 1][1].lower()

    def expect(self, text):
        if not self.accept(text):
            self.fail(text)

    def kind(self, kind, ahead=0):
        return self.tokens[min(self.pos + ahead, len(self.tokens) - 1)][0] == kind

    def take(self, kind):
        if not self.kind(kind):
            self.fail(kind)
        self.pos += 1
        return self.tokens[self.pos - 1][1]

    def whole(self):
        e = self.disjunction()
        if not self.kind("end"):
            self.fail("the end")
        return e

    def disjunction(self):
        e = self.conjunction()
        while self.accept("or"):
            e = self.node("or", e, self.conjunction())
        return e

    def conjunction(self):
        e = self.negation()
        while self.accept("and"):
            e = self.node("and", e, self.negation())
        return e

    def negation(self):
        if self.accept("not"):
            return self.node("not", self.negation())
        return self.comparison()

    def comparison(self):
        e = self.bits()
        while True:
            op = self.accept("=", "<>", "!=", "<", "<=", ">", ">=")
            if op:
                e = self.node("<>" if op == "!=" else op, e, self.bits())
            elif self.accept("is"):
                negated = self.accept("not")
                if self.accept("distinct"):
                    self.expect("from")
                    e = self.negate(self.node("is_not_distinct_from", e, self.bits()), not negated)
                else:
                    self.expect("null")
                    e = self.negate(self.node("is_null", e), negated)
            elif self.peek("between", "in", "like", "ilike") or (self.peek("not") and self.peek("between", "in", "like", "ilike", ahead=1)):
                e = self.postfix(e)
            else:
                return e

    def negate(self, e, negated):
        return self.node("not", e) if negated else e

    def postfix(self, e):
        negated = self.accept("not")
        word = self.accept("between", "in", "like", "ilike")
        if word == "between":
            low = self.bits()
            self.expect("and")
            e = self.node("and", self.node(">=", e, low), self.node("<=", e, self.bits()))
        elif word == "in":
            e = self.node("in", e, *self.in_list())
        else:
            e = self.like(word, e)
        return self.negate(e, negated)

    def in_list(self):
        if self.kind("param"):
            return [self.primary()]
        self.expect("(")
        items = [self.disjunction()]
        while self.accept(","):
            items.append(self.disjunction())
        self.expect(")")
        return items

    def like(self, op, e):
        pattern, escape = self.primary(), None
        if self.accept("escape"):
            escape = self.unquote(self.take("string"))
        return self.node(op, e, pattern, escape=escape)

    def bits(self):
        e = self.sum()
        while True:
            op = self.accept("&", "|", "<<", ">>")
            if not op:
                return e
            e = self.node(op, e, self.sum())

    def sum(self):
        e = self.product()
        while True:
            op = self.accept("+", "-", "||")
            if not op:
                return e
            e = self.plus(op, e, self.interval() if self.is_interval() else self.product())

    def plus(self, op, left, right):
        """date ± interval becomes add_days or add_months; anything else is plain arithmetic."""
        if right.op != "interval" and left.op != "interval":
            return self.node(op, left, right)
        if left.op == "interval":
            if op == "-" or right.op == "interval":
                raise PlanError(self.path, "an interval stands only beside a date")
            left, right = right, left
        return moved(left, right.args[0], right.name, self.path, op == "-")

    def is_interval(self):
        return self.peek("interval") and (self.kind("string", 1) or self.kind("number", 1) or self.kind("param", 1)
                                          or self.kind("word", 1) or self.peek("(", "-", ahead=1))

    def interval(self):
        self.expect("interval")
        if self.kind("string"):
            text = self.unquote(self.take("string"))
            if not INT_TEXT.fullmatch(text):
                return literal(self.value(text, INTERVAL), INTERVAL, self.path)
            count = literal(self.value(text, INT64), INT64, self.path)
        else:
            count = self.unary()
        unit = self.accept(*STEPS, *(u + "s" for u in STEPS if u != "century"))
        return self.node("interval", count, name=unit.lower().removesuffix("s")) if unit else self.fail("a unit")

    def product(self):
        e = self.unary()
        while True:
            op = self.accept("*", "/", "%")
            if not op:
                return e
            e = self.node(op, e, self.unary())

    def unary(self):
        if self.accept("~"):
            return self.node("~", self.sum())
        if self.accept("-"):
            e = self.unary()
            if e.op == "lit" and e.type == INT64 and e.value == 1 << 63:
                return literal(-(1 << 63), INT64, self.path)
            return self.node("neg", e)
        return self.interval() if self.is_interval() else self.primary()

    def unquote(self, text):
        return text[1:-1].replace(text[0] * 2, text[0])

    def value(self, text, t):
        try:
            return parse_value(text, t)
        except ValueError as bad:
            raise PlanError(self.path, str(bad)) from None

    def primary(self):
        if self.accept("("):
            e = self.disjunction()
            self.expect(")")
            return e
        if self.kind("number"):
            return self.number(self.take("number"))
        if self.kind("string"):
            return literal(self.unquote(self.take("string")), STRING, self.path)
        if self.kind("param"):
            return self.node("param", name=self.take("param")[1:])
        if self.kind("quoted"):
            return self.node("col", name=self.unquote(self.take("quoted")))
        return self.word()

    def number(self, text):
        if "e" in text.lower():
            return literal(float(text), FLOAT64, self.path)
        if "." in text:
            t = literal_decimal_type(text)
            if t.p > MAX_DIGITS:
                raise PlanError(self.path, f"{text} has more than {MAX_DIGITS} digits")
            return literal(self.value(text, t), t, self.path)
        v = int(text)
        if v > 1 << 63:
            raise PlanError(self.path, f"{text} does not fit int64")
        return literal(v, INT64, self.path)

    def word(self):
        if self.accept("true"):
            return literal(True, BOOL, self.path)
        if self.accept("false"):
            return literal(False, BOOL, self.path)
        if self.accept("null"):
            return literal(None, NULL, self.path)
        if self.accept("case"):
            return self.case()
        if self.peek("date", "timestamp", "time") and self.kind("string", 1):
            t = {"date": DATE, "timestamp": TIMESTAMP, "time": TIME}[self.accept("date", "timestamp", "time")]
            return literal(self.value(self.unquote(self.take("string")), t), t, self.path)
        if self.peek("x") and self.kind("string", 1):
            self.accept("x")
            return literal(self.value(self.unquote(self.take("string")), BINARY), BINARY, self.path)
        if self.peek(*self.SPECIAL) and self.peek("(", ahead=1):
            return self.function()
        if self.peek("date_diff") and self.peek("(", ahead=1) and self.kind("string", 2):
            return self.units()
        if self.tokens[self.pos][1].lower() in FUNCTIONS and self.peek("(", ahead=1):
            return self.call(self.take("word").lower())
        name = self.take("word")
        if name.lower() in RESERVED:
            raise PlanError(self.path, f"unexpected {name}")
        return self.node("col", name=name)

    def case(self):
        subject = None if self.peek("when") else self.disjunction()
        args = []
        while self.accept("when"):
            c = self.disjunction()
            self.expect("then")
            args += [self.node("=", subject, c) if subject else c, self.disjunction()]
        if not args:
            self.fail("when")
        if self.accept("else"):
            args.append(self.disjunction())
        self.expect("end")
        return self.node("case", *args)

    SPECIAL = ("coalesce", "cast", "try_cast", "substring", "extract", "date_trunc", "date_part", "date_add", "position")

    def function(self):
        name = self.accept(*self.SPECIAL)
        self.expect("(")
        e = getattr(self, "call_" + name)()
        self.expect(")")
        return e

    def call(self, name):
        self.expect("(")
        args = self.arguments()
        self.expect(")")
        if not FUNCTIONS[name][0] <= len(args) <= FUNCTIONS[name][1]:
            raise PlanError(self.path, f"function {name} with {len(args)} arguments")
        return said(self.node(name, *args))

    def arguments(self):
        items = [self.disjunction()]
        while self.accept(","):
            items.append(self.disjunction())
        return items

    def call_coalesce(self):
        return self.node("coalesce", *self.arguments())

    def call_cast(self, op="cast"):
        e = self.disjunction()
        self.expect("as")
        text = self.take("word")
        if self.accept("("):
            text += "(" + self.take("number")
            self.expect(",")
            text += "," + self.take("number") + ")"
            self.expect(")")
        return self.node(op, e, type=parse_type(text, self.path))

    def call_try_cast(self):
        return self.call_cast("try_cast")

    def call_substring(self):
        args = [self.disjunction()]
        first = self.accept("from", ",") or self.fail("from")
        args.append(self.disjunction())
        if self.accept("for" if first == "from" else ","):
            args.append(self.disjunction())
        return self.node("substring", *args)

    def call_extract(self):
        field_name = self.accept(*FIELDS) or self.fail("a field")
        self.expect("from")
        return self.node("extract", self.disjunction(), name=field_name)

    def quoted_field(self, fields):
        name = self.take("string")[1:-1].lower()
        return name if name in fields else self.fail("a field")

    def call_date_part(self):
        field_name = self.quoted_field(FIELDS)
        self.expect(",")
        return self.node("extract", self.disjunction(), name=field_name)

    def call_date_add(self):
        e = self.disjunction()
        self.expect(",")
        n = self.disjunction()
        self.expect(",")
        return moved(e, n, self.quoted_field(STEPS), self.path)

    def call_position(self):
        e = self.bits()
        self.expect("in")
        return self.node("strpos", self.disjunction(), e)

    def units(self):
        self.take("word")
        self.expect("(")
        unit = self.quoted_field(STEPS)
        self.expect(",")
        a = self.disjunction()
        self.expect(",")
        e = self.node("units_between", a, self.disjunction(), name=unit)
        self.expect(")")
        return e

    def call_date_trunc(self):
        field_name = self.take("string")[1:-1].lower()
        if field_name not in CUT:
            self.fail("a field")
        self.expect(",")
        return self.node("date_trunc", self.disjunction(), name=field_name)


def moved(e, n, unit, path, back=False):
    """date ± interval, date_add."""
    op, factor = STEPS[unit]
    if factor != 1:
        n = Node("*", [n, literal(factor, INT64, path)], path=path)
    return Node(op, [e, Node("neg", [n], path=path) if back else n], path=path)


def said(e):
    """A function that stands for others, by those."""
    if e.op in ("epoch", "date_part"):
        return Node("extract", e.args, name=e.name or "epoch", path=e.path)
    if e.op == "date_diff" and e.name:
        return Node("units_between", e.args, name=e.name, path=e.path)
    if e.op == "date_add":
        return moved(*e.args, e.name, e.path)
    if e.op == "position":
        return Node("strpos", e.args[::-1], path=e.path)
    if e.op not in ("make_timestamp", "to_timestamp"):
        return e
    n = e.args[0]
    if e.op == "to_timestamp":
        product = Node("*", [n, literal(1000000, INT64, e.path)], path=e.path)
        n = Node("cast", [product], type=INT64, path=e.path)
    return Node("add_micros", [literal(datetime.datetime(1970, 1, 1), TIMESTAMP, e.path), n], path=e.path)


def parse(expr, path):
    """A string or a JSON tree."""
    if isinstance(expr, str):
        e = Parser(expr, path).whole()
        if e.op == "interval":
            raise PlanError(path, "an interval stands only beside a date")
        return e
    if isinstance(expr, dict):
        return Tree(expr, path).read()
    raise PlanError(path, "an expression is a string or an object")


class Tree:
    KEYS = {"lit": {"lit", "type"}, "col": {"col"}, "param": {"param"},
            "op": {"op", "args", "type", "field", "escape"}}

    def __init__(self, obj, path):
        self.obj, self.path = obj, path

    def read(self):
        kinds = [k for k in self.KEYS if k in self.obj]
        if len(kinds) != 1 or set(self.obj) - self.KEYS[kinds[0]]:
            raise PlanError(self.path, "not an expression tree")
        return getattr(self, "read_" + kinds[0])()

    def read_col(self):
        return Node("col", name=self.obj["col"], path=self.path)

    def read_param(self):
        return Node("param", name=self.obj["param"], path=self.path)

    def read_lit(self):
        v = self.obj["lit"]
        if "type" in self.obj:
            t = parse_type(self.obj["type"], self.path)
        else:
            t = {bool: BOOL, int: INT64, float: FLOAT64, str: STRING, type(None): NULL}[type(v)]
        return literal(json_value(v, t, self.path), t, self.path)

    def read_op(self):
        op = "<>" if self.obj["op"] == "!=" else self.obj["op"]
        args = [parse(a, f"{self.path}.args[{i}]") for i, a in enumerate(self.obj.get("args", []))]
        if op not in ARITY or not ARITY[op][0] <= len(args) <= ARITY[op][1]:
            raise PlanError(self.path, f"operator {op!r} with {len(args)} arguments")
        e = Node(op, args, path=self.path)
        if op in ("cast", "try_cast"):
            e.type = parse_type(self.obj["type"], self.path)
        if op in ("extract", "date_trunc", "date_part", "date_add") or (op == "date_diff" and "field" in self.obj):
            e.name = self.obj["field"]
        if op in ("like", "ilike"):
            e.escape = self.like_escape(args)
        return said(e)

    def like_escape(self, args):
        if len(args) == 3:
            return args.pop().value
        return self.obj.get("escape")


def json_value(v, t, path):
    """A JSON literal of a given type: text forms for every type, JSON numbers where they are exact."""
    if v is None:
        return None
    try:
        if t.kind == "bool" and isinstance(v, bool):
            return v
        if isinstance(v, bool):
            raise ValueError(f"{v} is not a {t}")
        if isinstance(v, str):
            return parse_value(v, t)
        if t.is_float:
            return nearest(float(v), t)
        if t.is_int and isinstance(v, int) or t.kind == "decimal":
            return parse_value(str(v), t)
    except ValueError as wrong:
        raise PlanError(path, str(wrong)) from None
    raise PlanError(path, f"{v!r} is not a {t}")
