#!/usr/bin/env python3
"""Backend auto through the command line, over an emulated GPU that takes its time.

Usage: auto.py --heddle heddle_simt --db DB        TPC-H
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The model takes the CPU for so much slower that the GPU would pay, once it is there.
SLOWER = "2000"


def heddle(args, *words, **variables):
    """Output, lines of --time, and seconds."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([args.heddle, *words, "--db", args.db, "--threads", "2"], capture_output=True, text=True,
                              env={**os.environ, "HEDDLE_CACHE": cache, "HEDDLE_AUTO_SLOWER_CPU": SLOWER, **variables},
                              check=False)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stderr}")
    reports = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return done.stdout, reports, time.monotonic() - start


def expect(true, *what):
    if not true:
        sys.exit(f"not so: {what}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--heddle", required=True)
    p.add_argument("--db", required=True)
    args = p.parse_args()
    plan = str(ROOT / "tpch" / "plans" / "q06.json")

    # Nobody waits for a GPU that takes 20 s to open, at the end of the process neither.
    rows, (report,), seconds = heddle(args, "run", plan, "--time", HEDDLE_SIMT_OPEN_MS="20000")
    expect(report["backend"] == "cpu" and "that is done behind" in report["why"], report)
    expect(set(report["estimate"]) == {"cpu", "cuda"} and not report["estimate"]["cpu"]["measured"], report)
    expect(seconds < 15, seconds)

    # Later executions of a process are on the GPU, with the same rows.
    same, _, _ = heddle(args, "run", plan, "--backend", "cuda")  # the host's compiler keeps what it made
    expect(same == rows, same)
    many = ["run", plan, "--time", "--repeat", "1500"]
    last, reports, _ = heddle(args, *many, HEDDLE_SIMT_OPEN_MS="10", HEDDLE_SIMT_COMPILE_MS="10")
    backends = [r["backend"] for r in reports]
    expect(last == rows and backends[0] == "cpu" and "cuda" in backends, last, backends[-1])
    expect(sum(a != b for a, b in zip(backends, backends[1:])) <= 3, "changes")

    # Unless they are to stay, or the GPU does not open.
    last, reports, _ = heddle(args, *many[:-1], "200", "--deterministic")
    expect(last == rows and {r["backend"] for r in reports} == {"cpu"}, "deterministic")
    last, reports, _ = heddle(args, *many[:-1], "200", HEDDLE_SIMT_OPEN_MS="fail")
    expect(last == rows and {r["backend"] for r in reports} == {"cpu"}, "fail")
    expect(reports[-1]["why"] == "not the GPU: the device does not open", reports[-1]["why"])

    # The benchmark says what ran where; explain shows both estimates.
    shown, _, _ = heddle(args, "explain", plan, "--dump", "backend")
    expect(shown.startswith("cpu: the CPU needs") and "\ncpu: " in shown and "\ncuda: " in shown, shown)
    shown, _, _ = heddle(args, "explain", plan, "--dump", "backend", "--backend", "cpu")
    expect(shown == "cpu: asked for\n", shown)
    table, _, _ = heddle(args, "bench", "tpch", "--queries", "6", "--repeat", "2", HEDDLE_AUTO_SLOWER_CPU="1")
    expect("Backend cpu.\n" in table, table)


if __name__ == "__main__":
    main()
