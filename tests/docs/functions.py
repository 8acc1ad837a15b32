#!/usr/bin/env python3
"""docs/functions.md is what its generator writes (HEDDLE_UPDATE=1 writes it), and says the truth: each example of the
document is computed.

Usage: functions.py written --generator BIN FILE.md
       functions.py examples --heddle BIN FILE.md
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROW = re.compile(r"^\| `(?P<usage>.*?)` \|.*\| `(?P<example>[^`]*)` → `(?P<value>[^`]*)` \|$")
TABLE = re.compile(r"^The examples are of this table: `(.*)`\.$", re.M)


def written(args):
    run = subprocess.run([args.generator], capture_output=True)
    if run.returncode:
        sys.exit(run.stderr.decode())
    if os.environ.get("HEDDLE_UPDATE"):
        args.file.write_bytes(run.stdout)
    if args.file.read_bytes() != run.stdout:
        sys.exit(f"{args.file} is not what frontend/docs.def says; HEDDLE_UPDATE=1 ctest -R functions_written writes it")


def computed(heddle, root):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.json"
        file.write_text(json.dumps({"heddle": 1, "root": root}))
        run = subprocess.run([heddle, "run", str(file), "--backend", "cpu", "--threads", "1", "--format", "json"],
                             capture_output=True)
    if run.returncode:
        return [run.stderr.decode().strip()]
    rows = json.loads(run.stdout, parse_float=str, parse_int=str)["rows"]
    return [{None: "NULL", True: "true", False: "false"}.get(v, v) for v in rows[0]]


def same(a, b):
    try:
        return a == b or math.isclose(float(a), float(b), rel_tol=1e-14)
    except ValueError:
        return False


def examples(args):
    text = args.file.read_text(encoding="utf-8")
    source = json.loads(TABLE.search(text)[1])
    rows = [m for m in map(ROW.match, text.splitlines()) if m]
    one = {"op": "values", "columns": [{"name": "none", "type": "int32"}], "rows": [[0]]}
    wrong, count = 0, 0
    for m in rows:
        example = m["example"].replace("\\|", "|")
        if example.startswith("{"):
            root = {"op": "aggregate", "keys": [], "aggs": [{**json.loads(example), "as": "v"}], "input": source}
        else:
            root = {"op": "project", "exprs": [{"expr": example, "as": "v"}], "input": one}
        found = computed(args.heddle, root)[0]
        count += 1
        if not same(found, m["value"]):
            wrong += 1
            print(f"{example}: the document says {m['value']}, it is {found}")
    print(f"{count} examples, {wrong} wrong")
    return 1 if wrong or count < 100 else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("written", "examples"))
    parser.add_argument("--generator")
    parser.add_argument("--heddle")
    parser.add_argument("file", type=pathlib.Path)
    args = parser.parse_args()
    sys.exit({"written": written, "examples": examples}[args.what](args))


main()
