#!/usr/bin/env python3
"""`heddle explain --fragments N` cuts plans into fragments that read what is there.

    cut.py HEDDLE DB PLAN|DIR...
"""
import json
import pathlib
import subprocess
import sys


def heddle(program, db, *arguments):
    return subprocess.run([program, "explain", *arguments, "--db", db], capture_output=True, text=True)


def tables_of(op):
    if isinstance(op, list):
        return set().union(*map(tables_of, op))
    if not isinstance(op, dict):
        return set()
    own = {op["table"]} if op.get("op") == "scan" else set()
    return own.union(*map(tables_of, op.values()))


def check(document, workers):
    assert document["workers"] == workers
    made = []
    for i, f in enumerate(document["fragments"]):
        last = i == len(document["fragments"]) - 1
        read = {t for t in tables_of(f["plan"]) if t.startswith("fragment_")}
        assert f["id"] == i and read == {x["table"] for x in f["inputs"]}, f
        assert all(x["fragment"] < i and made[x["fragment"]] == x["table"] for x in f["inputs"]), f
        assert (f["exchange"] == "result") == last, f
        assert f["workers"] == "one" or len(f["bind"]) == workers, f
        assert f["rows"] >= 0 and f["bytes"] > 0, f
        made.append(f"fragment_{i}")


def main():
    program, db, *paths = sys.argv[1:]
    plans = [p for given in map(pathlib.Path, paths) for p in (sorted(given.glob("*.json")) if given.is_dir() else [given])]
    for plan in plans:
        for workers in (1, 2, 7):
            done = heddle(program, db, str(plan), "--fragments", str(workers))
            assert done.returncode == 0, (plan, done.stderr)
            check(json.loads(done.stdout), workers)
    # Values that are given are those of the fragments.
    done = heddle(program, db, str(plans[0]), "--fragments", "2", "-p", "days=60")
    assert {f["plan"]["params"]["days"]["default"] for f in json.loads(done.stdout)["fragments"]} == {"60"}
    for bad in (["--fragments", "0"], ["--fragments", "1025"], ["--fragments", "2", "--dump", "plan"],
                ["--fragments", "2", "-p", "days=x"]):
        done = heddle(program, db, str(plans[0]), *bad)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout, (bad, done)
    print(f"{len(plans)} plans")


main()
