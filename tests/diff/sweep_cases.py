"""The cases of the sweep of joins: their plans, and which of them are refused, why."""

import datetime
import functools
import itertools
import math
import re
import zlib
from dataclasses import dataclass

from sweep_data import KEYS, SHAPES, Maker, makes_sense, names

STRATEGIES = ("auto", "hash", "radix", "direct", "index", "merge", "band", "loop", "asof")
KINDS = ("inner", "left", "right", "full", "semi", "anti", "mark")
PLAIN = ("lx <> rx", "lx > 1 and rx < 6", "lx <> rx or rx is null", "lw < rw", "lx > 2", "rx is not null")
RANGES = ("lx <= rx", "lx > rx", "abs(lx - rx) <= 2", "lx between rx - 1 and rx + 3", "lx between rlo and rhi", "rx between llo and lhi",
          "llo <= rhi and rlo <= lhi", "lx < rhi and llo > rlo", "lx between rx - 1 and rx + 3 and lw <> rw")
RESIDUALS = {"": ("",), "plain": PLAIN, "range": RANGES}
ABOVE = ("rows", "rows", "left rows", "groups", "count", "sort")


@dataclass(frozen=True)
class Case:
    strategy: str
    kind: str
    keys: str
    shape: str
    residual: str

    def __str__(self):
        return f"{self.strategy} {self.kind} {self.keys} {self.shape} {self.residual or 'alone'}"

    def same(self):
        """What has the same rows, whatever the strategy; an as-of join is another question."""
        return ("asof" if self.strategy == "asof" else "join", self.kind, self.keys, self.shape, self.residual)

    def draw(self, what, choices):
        return choices[zlib.crc32(f"{what} {self.same()}".encode()) % len(choices)]

    def build(self):
        """Sides may be exchanged by a plan in some kinds only; it is no part of the question what the rows are."""
        sides = {"inner": ("auto", "left", "right"), "right": ("auto", "left")}.get(self.kind, ("auto", "right"))
        if self.strategy == "direct" and self.kind == "inner":
            sides = sides[1:]  # which one is taken is the planner's choice, and it may be the one without a range
        return "auto" if self.strategy == "asof" else sides[zlib.crc32(f"build {self}".encode()) % len(sides)]


def all_cases():
    for keys, shape in itertools.product(KEYS, SHAPES):
        if makes_sense(keys, shape):
            for strategy, kind, residual in itertools.product(STRATEGIES, KINDS, RESIDUALS):
                yield Case(strategy, kind, keys, shape, residual)


# ---- plans


def key(side, k, pair):
    return f"{side}k{k} + 1" if pair.endswith("+") else f"{side}k{k}"


def join(case):
    left, right = names(case.keys, case.shape)
    node = {"op": "join", "kind": case.kind, "left": {"op": "scan", "table": left}, "right": {"op": "scan", "table": right},
            "on": [[key("l", k, p), key("r", k, p)] + (["null_equal"] if p.endswith("=") else []) for k, p in enumerate(KEYS[case.keys])]}
    residual = case.draw("residual", RESIDUALS[case.residual])
    if residual:
        node["residual"] = residual
    if case.kind == "mark":
        node["mark"] = "found"
    if case.build() != "auto":
        node["build"] = case.build()
    if case.strategy == "asof":
        node["asof"] = {"left": "lat", "right": "rat", "match": case.draw("match", (">=", ">", "<=", "<"))}
    elif case.strategy != "auto":
        node["strategy"] = case.strategy
    return node


def plan(case):
    node, above = join(case), case.draw("above", ABOVE)
    marks = ["found"] if case.kind == "mark" else []
    keys = ["lk0"] if case.keys != "none" else ["lx"]
    sums = [{"fn": "count", "as": "n"}, {"fn": "sum", "arg": "lrow", "as": "s"}]
    if above == "left rows":
        node = {"op": "project", "input": node, "exprs": ["lrow"] + marks}
    if above == "groups":
        node = {"op": "aggregate", "input": node, "keys": keys + marks, "aggs": sums}
    if above == "count":
        node = {"op": "aggregate", "input": node, "aggs": sums}
    if above == "sort":
        node = {"op": "sort", "input": node, "keys": keys}
    return {"heddle": 1, "name": "sweep", "root": node}


# ---- what is refused: the reason, and part of the message

REFUSED = {
    "no pair in `on`": r'strategy \w+ expects at least one pair in "on"',
    "no range in the residual": r'strategy band needs a range in "residual"',
    "no integers of a known range": r"strategy direct needs integer keys of a known range",
    "no stored index that serves": r"strategy index needs a scan on one side whose key has a stored index",
    "as-of joins are inner or left": r'"asof" expects kind inner or left',
    "as-of joins have no residual": r'"asof" expects no "residual"',
}
NEEDS_KEYS = ("hash", "radix", "direct", "index", "merge")
PARTS = {"i": 1, "l": 1, "m": 100, "q": 10000, "t": 1, "z": 1, "b": 1}  # of a whole one that a step of an integer is
SPAN = (1 << 31) - 1  # of the keys of one side, at most
INDEXED = "ilmqt"


@functools.lru_cache(maxsize=None)
def key_values(keys, shape):
    """The key columns' values of each side."""
    tables = {t.name[0]: t for t in Maker(keys, shape).tables()}
    return {side: [tables[side].column(f"{side}k{k}").values for k in range(len(KEYS[keys]))] for side in "lr"}


def null_equal(case):
    """NULLs of both sides match each other."""
    values = key_values(case.keys, case.shape)
    return any(p.endswith("=") and all(None in values[side][k] for side in "lr") for k, p in enumerate(KEYS[case.keys]))


def built(case):
    """Sides that may be the one in which rows are found."""
    if case.kind == "inner" and case.build() == "auto":
        return "lr"
    return "l" if case.kind == "right" or case.build() == "left" else "r"


def integer(letter, v):
    if letter == "t":
        return v.toordinal()
    return (v - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1) if letter == "z" else int(v * PARTS[letter])


def span(case, side, k, pair):
    """How many integers lie between the least and the largest value of a key; None: not known, or no integers."""
    known = {s: [v for v in key_values(case.keys, case.shape)[s][k] if v is not None] for s in "lr"}
    letter = max(pair[:2], key="ilbtzmq".find) if set(pair[:2]) <= set(PARTS) else ""
    if set(pair[:2]) == set("lm") and not known["lr"[pair.index("l")]]:
        return None  # any int64 at the decimal's scale takes more than 64 bits
    values = [integer(letter, v) for v in known[side]] if letter else []
    return max(values) - min(values) + 1 if values else 2 if letter == "b" else None


def direct_serves(case):
    """Keys are integers of 64 bits, on the side that is built of a known range, which a column without values does not
    have."""
    if case.kind == "full" or null_equal(case):
        return False
    spans = [[span(case, side, k, p) for k, p in enumerate(KEYS[case.keys])] for side in built(case)]
    return any(None not in s and math.prod(s) <= SPAN for s in spans)


def index_serves(case):
    """Only integer columns with a primary or foreign key whose values lie close together have one; where a row without a match comes out, nothing but the key
    may decide, apart from anti joins with a foreign key."""
    shape, first = SHAPES[case.shape], KEYS[case.keys][0]
    if not shape.pk or first[0] not in INDEXED or first.endswith("+"):
        return False
    plain_left = case.kind in ("left", "right") and len(KEYS[case.keys]) == 1 and not case.residual
    for side in built(case):
        if case.kind in ("inner", "semi") or plain_left or (case.kind == "anti" and side == shape.fk):
            return True
    return False


def refused(case):
    """The reason; None if the strategy serves the case."""
    if case.strategy == "asof" and case.kind not in ("inner", "left"):
        return "as-of joins are inner or left"
    if case.strategy == "asof":
        return "as-of joins have no residual" if case.residual else None
    if case.keys == "none" and case.strategy in NEEDS_KEYS:
        return "no pair in `on`"
    if case.strategy == "band" and case.residual != "range":
        return "no range in the residual"
    if case.strategy == "direct" and not direct_serves(case):
        return "no integers of a known range"
    if case.strategy == "index" and not index_serves(case):
        return "no stored index that serves"
    return None


def is_refusal(error, reason):
    return error is not None and error["class"] == "user" and re.search(REFUSED[reason], error["message"])
