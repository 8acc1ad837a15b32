"""Plans with nodes exchanged, repeated, wrapped and lost (tests/fuzz/fuzz_mutate.c), run: rows or one error, and the same
with one thread or three, framed or not."""

import json
import subprocess

import judge

PLANS = 8  # in one process
LIMIT_S = 5
# What runs for long is stopped: joins of everything with everything are plans, too.
OPTIONS = ["--query-timeout", str(LIMIT_S), "--memory", "1G"]


def trial(t):
    mutate = t.world.program("fuzz/mutate_plan")
    texts, told = [], []
    for _ in range(PLANS):
        name, number = t.rng.choice(sorted(t.world.small_plans)), t.rng.getrandbits(32)
        text = json.dumps(t.world.small_plans[name]).encode()
        texts.append(subprocess.run([mutate, str(number)], input=text, stdout=subprocess.PIPE, check=True).stdout)
        told.append(f"{name} by {number}")
    t.tell("; ".join(told))
    first, second = run(t, texts, 1, {}), run(t, texts, 3, {"HEDDLE_FRAME_WEIGHT": "20"})
    for text, what, a, b in zip(texts, told, first, second):
        compare(text, what, a, b)
    return [judge.ERROR if "error" in a else judge.ROWS for a in first]


def run(t, texts, threads, env):
    """For each plan its error, or its rows in any order."""
    lines = b"".join(b'{"plan": %s, "threads": %d, "out": "%d.csv"}\n' % (text.replace(b"\n", b" "), threads, i)
                     for i, text in enumerate(texts))
    done = t.run("run", "--batch", "-", "--db", t.world.small, *OPTIONS, stdin=lines, env=env, limit=2 * LIMIT_S * PLANS)
    found = judge.answers(done, len(texts))
    return [a if "error" in a else {"rows": sorted((t.dir / f"{i}.csv").read_bytes().split(b"\n"))}
            for i, a in enumerate(found)]


def compare(text, what, a, b):
    """Time may be over in one run alone, and which rows a limit without a sort takes is free."""
    if "timeout" in (a.get("error", {}).get("class"), b.get("error", {}).get("class")):
        return
    judge.hold(("error" in a) == ("error" in b), f"{what}: once an error, once none: {str(a)[:300]}, {str(b)[:300]}")
    if "rows" in a and not is_free(json.loads(text)):
        judge.same(a["rows"], b["rows"], f"{what} with three threads")


def is_free(node):
    if isinstance(node, list):
        return any(is_free(n) for n in node)
    return isinstance(node, dict) and (node.get("op") == "limit" or any(is_free(n) for n in node.values()))
