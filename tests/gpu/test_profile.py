#!/usr/bin/env python3
"""What a profile tells of a GPU fits together: warps, the time line, bytes.

    test_profile.py --heddle BIN --db DB

--db is JCC-H of any scale factor. The first waits of a warp lie one after the other between its start and its end,
and with the time that it was busy they are all of its time, unless there were more of them. Spans of the time line lie
one after the other; launches of a pipeline add up to its kernel's time, every state has its finish, and spans and gaps
are all of the execution. Parts of bytes add up.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUERIES = (3, 5, 21)
WAITS_KEPT = 16  # HDD_PROFILE_WAITS
ROUNDED_US = 0.02  # two times of a report
ROUNDED_MS = 0.003  # likewise; times of a GPU's events are exact to half a microsecond


def expect(truth, *what):
    if not truth:
        sys.exit(" ".join(map(str, what)))


def check_warp(where, warp):
    waits = warp["waits_us"]
    expect(len(waits) == min(warp["transitions"], WAITS_KEPT), where, "number of waits", warp)
    times = [warp["start_us"], *(t for wait in waits for t in wait), warp["end_us"]]
    expect(all(a <= b + ROUNDED_US for a, b in zip(times, times[1:])), where, "order of waits", warp)
    rest = warp["end_us"] - warp["start_us"] - warp["busy_us"] - sum(to - since for since, to in waits)
    allowed = ROUNDED_US * (len(waits) + 2)
    expect(rest > -allowed, where, "longer than it ran", warp)
    expect(rest < allowed or warp["transitions"] > WAITS_KEPT, where, "neither busy nor waiting", warp)


def check_pipeline(where, gpu):
    """The number of its waits."""
    warps = gpu["warps"]
    expect(len(warps) == gpu["blocks"] * gpu["warps_per_block"], where, "number of warps")
    expect(gpu["registers"] > 0 and gpu["ilif"] >= 1 and 0 <= gpu["iir"] <= 1, where, gpu)
    for warp in warps:
        check_warp(where, warp)
    waits = sum(warp["transitions"] for warp in warps)
    expect(waits == gpu["transitions"], where, "transitions", waits, gpu["transitions"])
    return waits


def check_timeline(where, report):
    end = 0
    for span in report["timeline"]:
        expect(span["device"] == 0 and span["start_ms"] >= end - ROUNDED_MS, where, "order of spans", span, end)
        expect(abs(span["start_ms"] - end - span["gap_ms"]) < ROUNDED_MS, where, "gap", span, end)
        end = span["start_ms"] + span["ms"]
    expect(end <= report["execute_ms"] + ROUNDED_MS, where, "a span after the end", end, report["execute_ms"])
    spans = sum(s["ms"] + s["gap_ms"] for s in report["timeline"])
    expect(abs(spans - end) < ROUNDED_MS * len(report["timeline"]), where, "spans and gaps", spans, end)
    for p in report["pipelines"]:
        runs = [s["ms"] for s in report["timeline"] if s["what"] == "run" and s["pipeline"] == p["name"]]
        expect(abs(sum(runs) - p["gpu"]["kernel_ms"]) < ROUNDED_MS * (len(runs) + 1), where, p["name"], runs)
        expect(len(runs) == p["gpu"]["retries"] + (p["source_rows"] > 0), where, p["name"], "launches", runs)
    for s in report["states"]:
        finishes = [x["ms"] for x in report["timeline"] if x["what"] == "finish" and x["state"] == s["name"]]
        expect(len(finishes) == 1 and abs(finishes[0] - s["finish_ms"]) < ROUNDED_MS, where, s, finishes)


def check_bytes(where, report):
    sector = report["memory"]["sector"]
    expect(sector == 32, where, report["memory"])
    for p in report["pipelines"]:
        parts = p["bytes"]
        total = sum(parts[k] for k in ("scan", "lookup", "text", "write"))
        expect(abs(parts["all"] - total) <= 4 and parts["random"] >= parts["all"] - 1, where, p["name"], parts)
        expect(p["source_rows"] == 0 or parts["all"] > 0, where, p["name"], "no bytes")
        expect(p["floor_ms"] <= p["random_floor_ms"], where, p["name"], "floors")
        expect(abs(p["gpu"]["bytes"] - parts["all"]) <= 1, where, p["name"], "bytes")
    expect(report["counted"]["execute_ms"] > 0, where, report["counted"])


def profile(args, query, folder):
    out = Path(folder) / "profile.json"
    given = Path(folder) / "params.json"
    given.write_text(json.dumps(json.loads((ROOT / "jcch" / "params" / "skewed-1.json").read_text())[f"q{query:02}"]))
    plan = ROOT / "tpch" / "plans" / f"q{query:02}.json"
    done = subprocess.run([args.heddle, "run", plan, "--db", args.db, "--backend", "cuda", "--balance", "nifs+aws",
                           "-p", f"@{given}", "--profile", out], capture_output=True, text=True, timeout=300, check=False)
    expect(done.returncode == 0, f"q{query:02}:", done.stderr)
    return json.loads(out.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    args = parser.parse_args()
    waits = 0
    with tempfile.TemporaryDirectory(prefix="heddle-profile-") as folder:
        for query in QUERIES:
            report = profile(args, query, folder)
            check_timeline(f"q{query:02}:", report)
            check_bytes(f"q{query:02}:", report)
            for p in report["pipelines"]:
                waits += check_pipeline(f"q{query:02} {p['name']}:", p["gpu"])
    expect(waits > 0, "no warp ever waited")
    print(f"{waits} waits")


if __name__ == "__main__":
    main()
