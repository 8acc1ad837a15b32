#!/usr/bin/env python3
"""What each balancing strategy is worth (Themis, section 8): times, and how even warps and lanes were busy.

Usage: ablate.py --heddle BIN --db DB --sf F [--suite tpch|jcch|ssb] [--class C] [--queries 1,5-9]
                 [--modes MODE,MODE...] [--profiled MODE,MODE...] [--out FILE.json]

A mode is a value of --balance, for fixed work-sharing with a threshold behind a colon (nifs+fws:4096). All modes but
auto run the very same kernels. Only queries with a pipeline that can share work are compared. Times are the kernels' of
the fastest of three runs; profiled runs give IIR, ILIF (weighted by the time that a pipeline's warps worked), the share of
their time that warps waited, and pieces of work that moved. The last table is about the kernels of all queries as planned
(auto) that take at least 0.02 ms without a profile: the means of IIR and ILIF and, from 0.1 ms on, the time of the profiled
kernel over the mean time that its warps worked.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, Suite, parser, words

QUERY_TIMEOUT_S = 20
SHORT_MS, LONG_MS = 0.02, 0.1  # of kernels whose means, and whose evenness count
UNEVEN = 1.25


def parse_args():
    p = parser(__doc__)
    p.set_defaults(suite="jcch")
    p.add_argument("--class", dest="cls", default="paper")
    p.add_argument("--modes", type=words,
                   default=["none", "nifs", "nifs+fws:1024", "nifs+fws:8192", "nifs+fws-local:1024", "nifs+aws", "auto"])
    p.add_argument("--profiled", type=words, default=["none", "nifs", "nifs+aws", "auto"])
    p.add_argument("--out", type=Path)
    return p.parse_args()


def options_of(mode):
    name, _, threshold = mode.partition(":")
    return ["--balance", name] + (["--fws-threshold", threshold] if threshold else [])


def can_share(args, suite, name):
    done = subprocess.run([args.heddle, "explain", suite.plan_path(name), "--db", args.db, "--dump", "pipelines"],
                          text=True, capture_output=True, check=True)
    return "[gpu: nifs" in done.stdout


def bench(args, names, mode):
    """The report's queries that neither failed nor took too long."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "bench.json"
        subprocess.run([args.heddle, "bench", args.suite, "--db", args.db, "--class", args.cls, "--backend", "cuda",
                        "--queries", ",".join(names), "--repeat", "3", "--query-timeout", str(QUERY_TIMEOUT_S), "--trust",
                        "--out", out, *options_of(mode)], capture_output=True, check=False)
        return [q for q in json.loads(out.read_text())["queries"] if q["status"] == "ok"]


def kernel_times(args, names, mode):
    """{query: ms of its kernels in the fastest run}"""
    return {q["name"]: min(sum(p["gpu"]["kernel_ms"] for p in run["pipelines"]) for run in q["runs"])
            for q in bench(args, names, mode)}


def each_kernel(args, names, mode):
    """{(query, pipeline): ms of its kernel in its fastest run}"""
    return {(q["name"], runs[0]["name"]): min(p["gpu"]["kernel_ms"] for p in runs)
            for q in bench(args, names, mode) for runs in zip(*(run["pipelines"] for run in q["runs"]))}


def profiled(args, suite, name, values, mode):
    """(pipelines of a run, what went wrong)"""
    with tempfile.TemporaryDirectory() as scratch:
        profile = Path(scratch) / "profile.json"
        given = Path(scratch) / "params.json"
        given.write_text(json.dumps(values))
        done = subprocess.run([args.heddle, "run", suite.plan_path(name), "--db", args.db, "--trust", "--backend", "cuda",
                               "-p", f"@{given}", "--repeat", "2", "--profile", profile, "--format", "csv",
                               *options_of(mode)], text=True, capture_output=True, timeout=60, check=False)
        if done.returncode != 0:
            return [], done.stderr.strip()
        pipelines = [p["gpu"] | {"name": p["name"]} for p in json.loads(profile.read_text())["pipelines"]]
    return [p for p in pipelines if p.get("warps")], None


def balance_of(args, suite, name, values, mode):
    pipelines, error = profiled(args, suite, name, values, mode)
    return {"error": error} if error else summary(pipelines)


def summary(pipelines):
    visits = sum(level["visits"] for p in pipelines for level in p["levels"])
    idle = sum(level["idle_lanes"] for p in pipelines for level in p["levels"])
    busy = [sum(w["busy_us"] for w in p["warps"]) for p in pipelines]
    all_time = sum(w["end_us"] - w["start_us"] for p in pipelines for w in p["warps"])
    slow = max(pipelines, key=lambda p: p["kernel_ms"])
    return {
        "iir": idle / (32 * visits) if visits else 0,
        "ilif": sum(p["ilif"] * b for p, b in zip(pipelines, busy)) / sum(busy) if sum(busy) else 1,
        "waited": 1 - sum(busy) / all_time if all_time else 0,
        "donations": sum(p["donations"] for p in pipelines),
        "slowest": {k: slow[k] for k in ("name", "kernel_ms", "balance", "ilif", "iir", "donations", "transitions",
                                         "registers", "occupancy")} | {"levels": slow["levels"]},
    }


def table(rows, head):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def evenness(args, suite, values):
    """{query: kernels}; a kernel's time includes what it waits for, so its ratio to the mean busy time of its warps is 1
    at best. Counting makes kernels slower: which of them are long is asked without."""
    found = {}
    alone = each_kernel(args, suite.select(args.queries), "auto")
    for name in suite.select(args.queries):
        pipelines, error = profiled(args, suite, name, values.get(name, {}), "auto")
        if error:
            sys.exit(f"{name}: {error}")
        found[name] = [{k: p[k] for k in ("name", "iir", "ilif", "balance")} |
                       {"kernel_ms": alone[name, p["name"]],
                        "over_mean": 1000 * p["counted_kernel_ms"] * len(p["warps"]) / sum(w["busy_us"] for w in p["warps"])}
                       for p in pipelines if alone[name, p["name"]] >= SHORT_MS]
    kernels = [k | {"query": name} for name, ks in found.items() for k in ks]
    long = sorted((k for k in kernels if k["kernel_ms"] >= LONG_MS), key=lambda k: -k["over_mean"])
    table([[f"{k['query']} {k['name']}", k["balance"], f"{k['kernel_ms']:.2f}", f"{k['over_mean']:.2f}"] for k in long],
          ["kernel", "balance", "ms", "over the mean busy time"])
    uneven = sum(k["over_mean"] > UNEVEN for k in long)
    print(f"{uneven} of {len(long)} kernels over {LONG_MS} ms are above {UNEVEN}; of {len(kernels)} over {SHORT_MS} ms: "
          f"mean IIR {100 * sum(k['iir'] for k in kernels) / len(kernels):.1f} %, mean ILIF "
          f"{sum(k['ilif'] for k in kernels) / len(kernels):.2f}")
    return found


def main():
    args = parse_args()
    suite = Suite(ROOT / args.suite)
    names = [n for n in suite.select(args.queries) if can_share(args, suite, n)]
    values = suite.parameters(args.cls, args.sf)
    found = {"suite": args.suite, "class": args.cls, "scale_factor": args.sf, "kernel_ms": {}, "balance": {}}
    for mode in args.modes:
        found["kernel_ms"][mode] = kernel_times(args, names, mode)
    times = found["kernel_ms"]
    table([[n] + [f"{times[m][n]:.2f}" if n in times[m] else "-" for m in args.modes] for n in names],
          ["kernels, ms"] + args.modes)
    for mode in args.profiled:
        found["balance"][mode] = {n: balance_of(args, suite, n, values.get(n, {}), mode) for n in names}
        rows = [[n, "-", "-", "-", "-"] if "error" in b else
                [n, f"{100 * b['iir']:.1f} %", f"{b['ilif']:.2f}", f"{100 * b['waited']:.0f} %", str(b["donations"])]
                for n, b in found["balance"][mode].items()]
        table(rows, [mode, "IIR", "ILIF", "waited", "donations"])
    found["evenness"] = evenness(args, suite, values)
    if args.out:
        args.out.write_text(json.dumps(found, indent=1))
    return any("error" in b for mode in found["balance"].values() for b in mode.values())


sys.exit(main())
