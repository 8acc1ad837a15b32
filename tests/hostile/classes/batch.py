"""Lines of a batch with bytes and words changed: every line is answered, with rows or with one error, and one that is no
JSON is refused as such."""

import json

import judge
from strict_json import is_strict_object  # tests/cli

LINES = 40
PIECES = (b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"1e400", b"-", b"9" * 30, b" ", b"\t", b"\\u0000", b"\\ud800",
          b"null", b"tru", b"\xff", b"\xc3", b"\x00", b"\x1f", b"NaN", b'"plan"', b'"out": "../x"', b'"threads": 99999999999',
          b'"id": [[[]]]', b'"params"', b"[" * 300, b"/dev/full", b"\\u001b[31m")


def line(rng):
    def mostly(good, *bad):
        return good if rng.random() < 0.85 else rng.choice(bad)
    values = {"op": "values", "columns": [{"name": "n", "type": rng.choice(("int64", "float64", "decimal(38,2)"))}],
              "rows": [[mostly("12", "12.5", None, "x")] for _ in range(rng.randint(0, 3))]}
    plan = {"heddle": 1, "params": {"x": {"type": "int64", "default": "1"}}, "root":
            {"op": "project", "input": values, "exprs": ["n", {"expr": rng.choice((":x", "1 / :x", "n")), "as": "y"}]}}
    return {"plan": mostly(plan, "nowhere.json", 1), "params": {"x": mostly("7", 0, 1.5, "x")},
            "out": mostly("rows", "/dev/full", "no/where"), "format": mostly(rng.choice(("csv", "json", "table")), "xml"),
            "threads": mostly(2, 1, 0), "id": rng.choice((1, "a\nb", [1, {"k": None}]))}


def mutate(rng, text):
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        at, cut = rng.randrange(len(text) + 1), rng.randint(0, 3)
        text = text[:at] + rng.choice((b"", rng.choice(PIECES), text[at:at + 30] * 2)) + text[at + cut:]
    return text.replace(b"\n", b" ")


def trial(t):
    texts = [mutate(t.rng, json.dumps({k: v for k, v in line(t.rng).items() if k == "plan" or t.rng.random() < 0.5}).encode())
             for _ in range(LINES)]
    texts = [text for text in texts if text.strip()]
    t.tell(f"{len(texts)} lines")
    found = judge.answers(t.run("run", "--batch", "-", stdin=b"\n".join(texts)), len(texts))
    for text, answer in zip(texts, found):
        judge.hold("error" in answer or is_strict_object(text), f"{text!r} is no JSON and was run: {answer}")
    names = {p.name for p in t.dir.iterdir()}
    judge.hold(not any(n.startswith(".heddle") for n in names), f"left behind: {sorted(names)}")
    return [judge.ERROR if "error" in a else judge.ROWS for a in found]
