#!/usr/bin/env python3
"""Regular expressions against Python's re: random patterns of the documented subset over random texts.

Usage: regexps.py --heddle BIN [--patterns 200] [--texts 200] [--seed N] [--backend B]
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

ALPHABET = "aabbcx-1 \nAZé€😀_"
BAD = ["(", "a)", "[a", "*a", "a**", "a{3,2}", "(?=a)", "(?P<n>a)", "\\1", "\\b", "a\\", "[z-a]", "[[:alpha:]]", "a++", "a{2000}",
       "((((a{60}){60}){60}){60})", "(a|b)*a(a|b){14}(a|b)*c" + "(a|b|c){9}" * 9]


class Patterns:
    """Texts of patterns; `plain`: no repetition is of what may be empty, where engines differ about the way."""

    def __init__(self, rng):
        self.rng = rng

    def character(self):
        c = self.rng.choice("aabbcx-1 Zé€😀_.")
        return "\\" + c if c == "." else c

    def in_class(self):
        parts = [self.rng.choice(["a", "b", "x", "é", "a-c", "0-9", "A-Z", "à-ü", "\\d", "\\w", "\\s", "\\D", "€", "\\]", "\\-", "."])
                 for _ in range(self.rng.choice([1, 1, 2, 3]))]
        return "[" + ("^" if self.rng.random() < 0.3 else "") + "".join(parts) + "]"

    def atom(self, depth):
        """(text, may be empty, plain)"""
        shape = self.rng.random()
        if shape < 0.5 or depth <= 0:
            return self.character(), False, True
        if shape < 0.62:
            return self.in_class(), False, True
        if shape < 0.7:
            return self.rng.choice([".", "\\d", "\\w", "\\S", "\\W"]), False, True
        if shape < 0.75:
            return self.rng.choice(["^", "\\Z"]), True, True
        text, empty, plain = self.choice(depth - 1)
        return self.rng.choice(["(", "(?:"]) + text + ")", empty, plain

    def repeated(self, depth):
        text, empty, plain = self.atom(depth)
        if self.rng.random() < 0.65 or text in ("^", "\\Z"):
            return text, empty, plain
        times = self.rng.choice(["*", "+", "?", "*", "+", "{2}", "{1,3}", "{2,}", "{,2}", "{0}"])
        lazy = "?" if self.rng.random() < 0.25 else ""
        return text + times + lazy, empty or times in ("*", "?", "{,2}", "{0}"), plain and not empty

    def sequence(self, depth):
        parts = [self.repeated(depth) for _ in range(self.rng.choice([1, 1, 2, 2, 3, 4]))]
        if self.rng.random() < 0.03:
            return "", True, True
        return "".join(p[0] for p in parts), all(p[1] for p in parts), all(p[2] for p in parts)

    def choice(self, depth):
        parts = [self.sequence(depth) for _ in range(self.rng.choice([1, 1, 1, 2, 3]))]
        return "|".join(p[0] for p in parts), any(p[1] for p in parts), all(p[2] for p in parts)


def filled(by, m):
    """`by` with what \\0 to \\9 and \\\\ stand for."""
    def stands_for(reference):
        c = reference.group()[1]
        return c if c == "\\" else (m.group(int(c)) or "" if int(c) <= m.re.groups else "")
    return re.sub(r"\\[0-9\\]", stands_for, by)


def replaced(pattern, text, by, every):
    """As docs/plan.md 2.4 says: no empty match right behind another one, and after an empty one the next character."""
    out, done, at, last = "", 0, 0, -1
    while at <= len(text):
        m = pattern.search(text, at)
        if not m:
            break
        if m.end() > last or m.start() < m.end():
            out += text[done:m.start()] + filled(by, m)
            done = last = m.end()
            if not every:
                break
        at = m.end() + (m.start() == m.end())
    return out + text[done:]


def cases(rng, patterns, texts):
    """(pattern, flags, plain, texts)"""
    for _ in range(patterns):
        pattern, _, plain = Patterns(rng).choice(3)
        fold = rng.random() < 0.15
        pool = [c for c in ALPHABET + "BX" if not fold or c.isascii()]
        listed = ["".join(rng.choice(pool) for _ in range(rng.choice([0, 1, 2, 3, 5, 9, 14]))) for _ in range(texts)]
        if fold and not pattern.isascii():
            continue
        yield pattern, "i" if fold else "", plain, listed


def groups_of(pattern):
    try:
        return re.compile(pattern).groups
    except re.error:
        return 0


def by_groups(pattern, given):
    """Something to put for a match: with groups, those that the pattern may lack only where it is no literal."""
    last = min(groups_of(pattern), 9)
    return "<" + "".join(f"\\{k}" for k in (last, 0, (last + 1) // 2)) + ("\\9" if given else "") + "\\\\ \\x>"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def plan_of(pattern, flags, plain, texts, as_parameter):
    """Ours has no \\Z: its $ is that."""
    ours = pattern.replace("\\Z", "$")
    p = ":p" if as_parameter else quoted(ours)
    more = f", '{flags}'" if flags and not as_parameter else ""
    exprs = ["i", {"expr": f"regexp_like(s, {p}{more})", "as": "l"}]
    by = by_groups(pattern, as_parameter)
    if plain:
        group = groups_of(pattern) // 2 + 1
        if group <= groups_of(pattern):
            exprs += [{"expr": f"regexp_extract(s, {p}, {group}{more})", "as": "g"}]
        put = "by" if as_parameter else quoted(by)
        exprs += [{"expr": f"regexp_replace_all(s, {p}, {put}{more})", "as": "h"},
                  {"expr": f"regexp_extract(s, {p}{more})", "as": "e"}, {"expr": f"regexp_replace(s, {p}, '<>'{more})", "as": "f"},
                  {"expr": "regexp_replace(s, %s, '<>', 'g%s')" % (p, flags) if not as_parameter else f"regexp_replace_all(s, {p}, '<>')", "as": "a"}]
    root = {"op": "project", "exprs": exprs, "input": {
        "op": "values", "columns": [{"name": "i", "type": "int32"}, {"name": "s", "type": "string"}, {"name": "by", "type": "string"}],
        "rows": [[i, t, by] for i, t in enumerate(texts)]}}
    params = {"p": {"type": "string"}} if as_parameter else {}
    return {"heddle": 1, "params": params, "root": root}, {"p": ("(?i)" if flags else "") + ours} if as_parameter else {}


def expected(pattern, flags, plain, texts, as_parameter):
    p = re.compile(pattern, re.ASCII | (re.IGNORECASE if flags else 0))
    group, by, rows = p.groups // 2 + 1, by_groups(pattern, as_parameter), []
    for i, t in enumerate(texts):
        m = p.search(t)
        row = [i, m is not None]
        if plain:
            row += [m and m.group(group) or ""] if group <= p.groups else []
            row += [replaced(p, t, by, True), m.group() if m else "", replaced(p, t, "<>", False), replaced(p, t, "<>", True)]
        rows.append(row)
    return rows


def run(args, folder, jobs):
    with open(folder / "batch", "w") as f:
        for n, (plan, params) in enumerate(jobs):
            (folder / f"p{n}.json").write_text(json.dumps(plan))
            f.write(json.dumps({"plan": str(folder / f"p{n}.json"), "params": params, "format": "json", "id": n, "out": str(folder / f"out{n}")}) + "\n")
    command = [args.heddle, "run", "--batch", folder / "batch", "--db", folder / "db"] + (["--backend", args.backend] if args.backend else [])
    done = subprocess.run(command, capture_output=True, text=True)
    return {a["id"]: a for a in map(json.loads, done.stdout.splitlines())}, done.stderr


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--patterns", type=int, default=200)
    ap.add_argument("--texts", type=int, default=200)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--backend")
    args = ap.parse_args()
    warnings.simplefilter("ignore", FutureWarning)  # of classes that later versions of re may read otherwise
    rng, wrong, pairs, refused = random.Random(args.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "schema.json").write_text(json.dumps({"tables": [{"name": "t", "columns": [{"name": "k", "type": "int32"}]}]}))
        (folder / "t.tbl").write_text("1|\n")
        subprocess.run([args.heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)
        left = list(cases(rng, args.patterns, args.texts))
        while left:
            some, left = left[:500], left[500:]
            said, stderr = run(args, folder, [plan_of(*c, n % 2 == 1) for n, c in enumerate(some)])
            for n, case in enumerate(some):
                pairs += len(case[3])
                error = said.get(n, {"error": stderr[-300:]}).get("error")
                found = error or sorted(json.loads((folder / f"out{n}").read_text())["rows"])
                want = expected(*case, n % 2 == 1)
                if error and "too complex" in error["message"]:
                    refused += 1
                elif found != want:
                    wrong += 1
                    at = next((k for k in range(len(want)) if error or found[k] != want[k]), 0)
                    print(f"WRONG {case[0]!r} {case[1]} over {case[3][at]!r}: expected {want[at]}, found {error or found[at]}")
        said, stderr = run(args, folder, [plan_of(p, "", True, ["a"], n % 2 == 1) for n, p in enumerate(BAD + BAD)])
        for n, p in enumerate(BAD + BAD):
            error = said.get(n, {}).get("error", {})
            if "regular expression, byte" not in error.get("message", "") or error.get("class") != "user":
                wrong += 1
                print(f"WRONG {p!r} should be refused: {error or stderr[-300:]}")
    print(f"{pairs} pairs, {len(BAD)} bad patterns, {refused} too complex, {wrong} wrong")
    return 1 if wrong or refused > args.patterns / 50 else 0


if __name__ == "__main__":
    sys.exit(main())
