#!/usr/bin/env python3
"""What a profile tells of the warps of a GPU fits together.

    test_profile.py --heddle BIN --db DB

--db is JCC-H of any scale factor. The first waits of a warp lie one after the other between its start and its end,
and with the time that it was busy they are all of its time, unless there were more of them.
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


def profile(args, query, folder):
    out = Path(folder) / "profile.json"
    given = Path(folder) / "params.json"
    given.write_text(json.dumps(json.loads((ROOT / "jcch" / "params" / "skewed-1.json").read_text())[f"q{query:02}"]))
    plan = ROOT / "tpch" / "plans" / f"q{query:02}.json"
    done = subprocess.run([args.heddle, "run", plan, "--db", args.db, "--backend", "cuda", "--balance", "nifs+aws",
                           "-p", f"@{given}", "--profile", out], capture_output=True, text=True, timeout=300, check=False)
    expect(done.returncode == 0, f"q{query:02}:", done.stderr)
    return json.loads(out.read_text())["pipelines"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    args = parser.parse_args()
    waits = 0
    with tempfile.TemporaryDirectory(prefix="heddle-profile-") as folder:
        for query in QUERIES:
            for p in profile(args, query, folder):
                waits += check_pipeline(f"q{query:02} {p['name']}:", p["gpu"])
    expect(waits > 0, "no warp ever waited")
    print(f"{waits} waits")


if __name__ == "__main__":
    main()
