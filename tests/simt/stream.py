#!/usr/bin/env python3
"""A GPU smaller than the data: columns that are streamed or mapped give the rows of resident ones.

    stream.py --heddle BIN --simt BIN --db DB [--faults N] PLAN...

Every plan runs with nothing resident and with little, in chunks of few rows, also from page-locked copies, and gives the
CPU's rows. Then what is asked by bytes (--device-memory): rows, what explain shows, one error where the states have no
room. An execution is cancelled in the middle of its stream, and allocations fail one after the other; the sanitized build
looks for leaks there.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

FEW = {"HEDDLE_COLUMN_BYTES": "0", "HEDDLE_CHUNK_ROWS": "2048"}
SOME = {"HEDDLE_COLUMN_BYTES": "200000", "HEDDLE_CHUNK_ROWS": "8192"}


def run(args, binary, plan, *options, **environment):
    command = [binary, "run", plan, "--db", args.db, "--format", "csv", "--threads", "2", *options]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment})


def rows(done, what):
    if done.returncode != 0:
        sys.exit(f"{what}: exit status {done.returncode}\n{done.stderr}")
    return sorted(done.stdout.splitlines())


def streamed(args, plan, *options, **environment):
    return run(args, args.simt, plan, "--backend", "cuda", *options, **environment)


def compare(args, plan):
    want = rows(run(args, args.heddle, plan, "--backend", "cpu"), plan)
    for options, environment in (((), FEW), (("--repeat", "2", "--pin", "300K"), SOME)):
        got = rows(streamed(args, plan, *options, **environment), f"{plan} {environment}")
        if got != want:
            sys.exit(f"{plan} {environment}: {len(got)} rows, {len(want)} expected\n{got[:3]}\n{want[:3]}")


def explain(args, plan, *options):
    command = [args.simt, "explain", plan, "--db", args.db, "--backend", "cuda", "--dump", "pipelines", *options]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def by_bytes(args, q6):
    """Q6 reads 481,400 bytes of four columns at scale factor 0.01."""
    text = explain(args, q6, "--device-memory", "400K")
    assert "[gpu: streams " in text and "not resident on a GPU\n  column data lineitem." in text, text
    assert ": streamed, " in text, text
    assert "streams" not in explain(args, q6, "--device-memory", "8M")
    assert "streams" not in explain(args, q6)
    want = rows(run(args, args.heddle, q6, "--backend", "cpu"), q6)
    assert rows(streamed(args, q6, "--device-memory", "400K"), q6) == want
    done = streamed(args, q6, "--device-memory", "1K")
    assert done.returncode == 3 and "the limit of 1024 bytes of GPU memory is reached" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def reports(args, q6):
    """What crossed: the four columns, once, in chunks of 2,048 rows."""
    where = Path(args.db + ".stream.json")
    rows(streamed(args, q6, "--profile", str(where), **FEW), q6)
    first = json.loads(where.read_text())["pipelines"][0]
    where.unlink()
    gpu, n = first["gpu"], first["source_rows"]
    assert gpu["chunks"] == (n + 2047) // 2048, gpu
    assert n * 4 < gpu["streamed_bytes"] < n * 9, gpu
    assert gpu["retries"] == 0, gpu


def cancelled(args, plan):
    done = streamed(args, plan, "--query-timeout", "0.001", HEDDLE_COLUMN_BYTES="0", HEDDLE_CHUNK_ROWS="256")
    assert done.returncode != 0 and "Sanitizer" not in done.stderr, done.stderr


def faults(args, plan):
    """Until one is not reached, in steps that grow."""
    want, n, failed = rows(streamed(args, plan, **FEW), plan), 1, 0
    for _ in range(args.faults):
        done = streamed(args, plan, HEDDLE_FAULT=f"alloc:{n}", **FEW)
        if "Sanitizer" in done.stderr or done.returncode < 0:
            sys.exit(f"alloc:{n}: exit status {done.returncode}\n{done.stderr}")
        if done.returncode == 0:
            assert rows(done, plan) == want, n
        failed += done.returncode != 0
        n += 1 + n // 6
    assert failed > args.faults // 4, f"{failed} of {args.faults} failed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--simt", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("plans", nargs="+")
    args = parser.parse_args()
    for plan in args.plans:
        compare(args, plan)
    if args.faults:
        q6 = next(p for p in args.plans if Path(p).stem == "q06")
        by_bytes(args, q6)
        reports(args, q6)
        cancelled(args, next(p for p in args.plans if Path(p).stem == "q01"))
        faults(args, q6)
    print(f"{len(args.plans)} plans: rows of streamed and mapped columns are those of the CPU")


if __name__ == "__main__":
    main()
