"""LIKE patterns that make naive matchers run for hours, and small ones against another matcher."""

import json
import re

import judge

LIMIT_S = 5
LETTERS = ("a", "b", "%", "_", "é", "\\")


def trial(t):
    return small(t) if t.rng.random() < 0.7 else large(t)


def plan(texts, patterns, escape=""):
    """Every text with every pattern, one column for each pattern."""
    exprs = [{"expr": f"s like '{p}'{escape}", "as": f"p{i}"} for i, p in enumerate(patterns)]
    values = {"op": "values", "columns": [{"name": "s", "type": "string"}], "rows": [[s] for s in texts]}
    return json.dumps({"heddle": 1, "root": {"op": "project", "input": values, "exprs": exprs}}).encode()


def matches(text, pattern, escaped):
    """By Python's regular expressions, over bytes; None: a pattern that ends in its escape."""
    expression, rest = b"", pattern.encode()
    while rest:
        one, rest = rest[:1], rest[1:]
        if escaped and one == b"\\":
            if not rest:
                return None
            one, rest = rest[:1], rest[1:]
            expression += re.escape(one)
        else:
            expression += {b"%": b".*", b"_": b"."}.get(one, re.escape(one))
    return re.fullmatch(expression, text.encode(), re.S) is not None


def small(t):
    def word(most, letters):
        return "".join(t.rng.choice(letters) for _ in range(t.rng.randint(0, most)))
    texts = [word(12, ("a", "b", "é", "%", "\\")) for _ in range(12)]
    patterns = [word(8, LETTERS) for _ in range(t.rng.randint(1, 6))]
    escaped = t.rng.random() < 0.5
    t.tell(f"{len(texts)} texts, patterns {patterns}{' with escapes' * escaped}")
    done = t.run("run", "-", "--format", "json", limit=LIMIT_S, stdin=plan(texts, patterns, " escape '\\'" * escaped))
    bad = [p for p in patterns if matches("", p, escaped) is None]
    judge.hold(judge.ended(done) == (judge.ERROR if bad else judge.ROWS), f"{done}, bad patterns {bad}")
    for text, row in zip(texts, [] if bad else json.loads(done.out)["rows"]):
        for pattern, found in zip(patterns, row):
            judge.hold(found == matches(text, pattern, escaped), f"{text!r} like {pattern!r} gives {found}")
    return judge.ERROR if bad else judge.ROWS


def large(t):
    """A text of up to two megabytes of one letter, and a pattern of many parts that just fail."""
    size, parts = int(t.log_uniform(1000, 2_000_000)), int(t.log_uniform(1, 2000))
    part = t.rng.choice(("a" * t.rng.randint(1, 60), "_a" * t.rng.randint(1, 20), "a_" * t.rng.randint(1, 20)))
    pattern = "%" + f"{part}%" * parts
    found = len(part) * parts <= size
    if t.rng.random() < 0.7:
        pattern, found = pattern + t.rng.choice(("b", "b%", part + "b%")), False
    t.tell(f"{size} letters like a pattern of {parts} times {part!r}")
    done = t.run("run", "-", "--format", "json", stdin=plan(["a" * size], [pattern]), limit=LIMIT_S)
    outcome = judge.ended(done)
    judge.hold(outcome == judge.ERROR or json.loads(done.out)["rows"] == [[found]], f"not {found}: {done}")
    return outcome
