#!/usr/bin/env python3
"""What each balancing strategy is worth (Themis, section 8): times, and how even warps and lanes were busy.

Usage: ablate.py times|shares|even|sweep --heddle BIN --db DB --sf F [--suite tpch|jcch|ssb] [--class C]
                 [--queries 1,5-9] [--plans FILE,FILE...] [--modes MODE,MODE...] [--timeout SECONDS] [--out FILE.json]

times   the paper's figure 9: ms of a query's kernels, the fastest of three runs.
shares  its figures 10 to 12, by profiled runs: IIR; ILIF, weighted by the time that a pipeline's warps worked; the share
        of their time that warps waited; how often one went idle; ms of the same kernels without counting.
even    the kernels of all queries as planned (auto) that take 0.02 ms or more: the means of IIR and ILIF and, from
        0.1 ms on, the time of the profiled kernel over the mean time that its warps worked.
sweep   its section 8.3.4: ms of all queries together for every --warps N,N... (in all) or --block N,N... (of a block),
        and the mean over the queries of how much longer than nifs+aws they took. With neither, of --db alone.

A mode is a value of --balance, for fixed work-sharing with a threshold behind a colon (nifs+fws:4096). All modes but auto
run the very same kernels. Only queries with a pipeline that can share work are compared. --plans: these instead of a
suite. A dash: the query took longer than the timeout. Tables are Markdown.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, Suite, parser, words

os.environ["HEDDLE_KERNEL_TIMES"] = "1"  # for reports of all runs

PAPER = ["pp+lr", "shuffle", "shuffle+ibr", "nifs", "nifs+aws"]  # DogQC++, Pyper without and with IBR, Themis
FIXED = ["nifs+fws:1024", "nifs+fws:8192", "nifs+fws-local:1024"]
MODES = {
    "times": ["none", "pp", *PAPER[:3], "nifs", *FIXED, "nifs+aws", "auto"],
    "shares": ["none", "pp", *PAPER[:3], "nifs", *FIXED[:2], "nifs+aws", "auto"],
    "even": ["auto"],
    "sweep": PAPER,
}
SHORT_MS, LONG_MS = 0.02, 0.1  # of kernels whose means, and whose evenness count
UNEVEN = 1.25
REPEAT = 3


def parse_args():
    p = parser(__doc__)
    p.add_argument("what", choices=MODES)
    p.set_defaults(suite="jcch")
    p.add_argument("--class", dest="cls", default="paper")
    p.add_argument("--plans", type=words, default=[])
    p.add_argument("--modes", type=words)
    p.add_argument("--warps", type=words, default=[])
    p.add_argument("--block", type=words, default=[])
    p.add_argument("--timeout", type=float, default=3)
    p.add_argument("--out", type=Path)
    args = p.parse_args()
    args.modes = args.modes or MODES[args.what]
    return args


# ---- what is run -----------------------------------------------------------------------------


class Query:
    def __init__(self, name, plan, values):
        self.name, self.plan, self.values = name, plan, values


def queries(args):
    if args.plans:
        return [Query(Path(p).stem, p, {}) for p in args.plans]
    suite = Suite(ROOT / args.suite)
    values = suite.parameters(args.cls, args.sf)
    return [Query(n, suite.plan_path(n), values.get(n, {})) for n in suite.select(args.queries)]


def can_share(args, query):
    done = subprocess.run([args.heddle, "explain", query.plan, "--db", args.db, "--trust", "--backend", "cuda",
                           "--dump", "pipelines"], text=True, capture_output=True, check=True)
    return "[gpu: nifs" in done.stdout


def options_of(mode):
    name, _, threshold = mode.partition(":")
    return ["--balance", name] + (["--fws-threshold", threshold] if threshold else [])


def run(args, query, options, repeat, profile):
    """Reports: of each run, of the last where it is profiled. None: it took too long."""
    with tempfile.TemporaryDirectory() as scratch:
        report, values = Path(scratch) / "report.json", Path(scratch) / "values.json"
        values.write_text(json.dumps(query.values))
        command = [args.heddle, "run", query.plan, "--db", args.db, "--trust", "--backend", "cuda", "-p", f"@{values}",
                   "--repeat", str(repeat), "--format", "csv", *options]
        command += ["--profile", report] if profile else ["--time"]
        try:  # it compiles as well, and a counted run takes longer
            done = subprocess.run(command, text=True, capture_output=True, timeout=3 * args.timeout + 5, check=False)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            sys.exit(f"{query.name} {' '.join(options)}: {done.stderr.strip()}")
        if profile:
            return [json.loads(report.read_text())]
        return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


def bench(args, work, options):
    """{query: reports of its runs} of a suite, in one process"""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "bench.json"
        done = subprocess.run([args.heddle, "bench", ROOT / args.suite, "--db", args.db, "--class", args.cls, "--backend",
                               "cuda", "--queries", ",".join(q.name for q in work), "--repeat", str(REPEAT),
                               "--query-timeout", str(args.timeout), "--trust", "--out", out, *options],
                              text=True, capture_output=True, check=False)
        if not out.exists():
            sys.exit(f"{' '.join(options)}: {done.stderr.strip()}")
        return {q["name"]: q["runs"] for q in json.loads(out.read_text())["queries"] if q["status"] == "ok"}


def kernel_ms(report):
    return sum(p["gpu"]["kernel_ms"] for p in report["pipelines"])


def times_of(args, work, options):
    """{query: ms of its kernels}, None: more than the timeout"""
    if args.plans:
        reports = {q.name: run(args, q, options, REPEAT, False) for q in work}
    else:
        reports = bench(args, work, options)
    return {q.name: min(map(kernel_ms, reports[q.name])) if reports.get(q.name) else None for q in work}


# ---- tables ----------------------------------------------------------------------------------


def table(title, rows, head):
    print(f"{title}\n\n| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def shown(value, form):
    return "-" if value is None else form.format(value)


def by_mode(title, found, modes, form):
    """found: {mode: {query: value}}"""
    table(title, [[n] + [shown(found[m][n], form) for m in modes] for n in found[modes[0]]], [""] + modes)


def times(args, work):
    found = {m: times_of(args, work, options_of(m)) for m in args.modes}
    by_mode("Times of kernels, ms", found, args.modes, "{:.2f}")
    return found


# ---- profiles --------------------------------------------------------------------------------


def with_warps(report):
    return [p["gpu"] | {"name": p["name"]} for p in report["pipelines"] if p["gpu"].get("warps")]


def summary(report):
    pipelines = with_warps(report)
    visits = sum(level["visits"] for p in pipelines for level in p["levels"])
    idle = sum(level["idle_lanes"] for p in pipelines for level in p["levels"])
    busy = [sum(w["busy_us"] for w in p["warps"]) for p in pipelines]
    all_time = sum(w["end_us"] - w["start_us"] for p in pipelines for w in p["warps"])
    return {
        "ms": kernel_ms(report),
        "IIR": 100 * idle / (32 * visits) if visits else 0,
        "ILIF": sum(p["ilif"] * b for p, b in zip(pipelines, busy)) / sum(busy) if sum(busy) else 1,
        "waited": max(100 * (1 - sum(busy) / all_time), 0) if all_time else 0,
        "transitions": sum(p["transitions"] for p in pipelines),
        "moved": sum(p["donations"] for p in pipelines),
    }


SHARES = [("IIR", "Idle lanes of a warp iteration (IIR, figure 10), %", "{:.1f}"),
          ("ILIF", "Longest over mean time of a warp's work (ILIF, figure 11)", "{:.2f}"),
          ("waited", "Share of their time that warps waited (figure 12), %", "{:.0f}"),
          ("transitions", "Times that a warp went idle (figure 12)", "{}"),
          ("moved", "Pieces of work, or nodes, that moved between warps", "{}"),
          ("ms", "Times of the same kernels without counting, ms", "{:.2f}")]


def shares(args, work):
    found = {}
    for mode in args.modes:
        found[mode] = {}
        for q in work:
            reports = run(args, q, options_of(mode), 1, True)
            found[mode][q.name] = summary(reports[0]) if reports else {}
    for key, title, form in SHARES:
        by_mode(title, {m: {n: s.get(key) for n, s in one.items()} for m, one in found.items()}, args.modes, form)
    return found


def evenness(args, work):
    """A kernel's time includes what it waits for, so its ratio to the mean busy time of its warps is 1 at best."""
    found = []
    for q in work:
        reports = run(args, q, options_of("auto"), 2, True)
        if not reports:
            sys.exit(f"{q.name}: it took too long")
        found += [{k: p[k] for k in ("name", "iir", "ilif", "balance", "kernel_ms")} |
                  {"query": q.name,
                   "over_mean": 1000 * p["counted_kernel_ms"] * len(p["warps"]) / sum(w["busy_us"] for w in p["warps"])}
                  for p in with_warps(reports[0]) if p["kernel_ms"] >= SHORT_MS]
    long = sorted((k for k in found if k["kernel_ms"] >= LONG_MS), key=lambda k: -k["over_mean"])
    table("Kernels as planned",
          [[f"{k['query']} {k['name']}", k["balance"], f"{k['kernel_ms']:.2f}", f"{k['over_mean']:.2f}"] for k in long],
          ["kernel", "balance", "ms", "over the mean busy time"])
    uneven = sum(k["over_mean"] > UNEVEN for k in long)
    print(f"{uneven} of {len(long)} kernels over {LONG_MS} ms are above {UNEVEN}; of {len(found)} over {SHORT_MS} ms: "
          f"mean IIR {100 * sum(k['iir'] for k in found) / max(len(found), 1):.1f} %, mean ILIF "
          f"{sum(k['ilif'] for k in found) / max(len(found), 1):.2f}")
    return found


# ---- sweeps ----------------------------------------------------------------------------------


def mean_ratio(one, best):
    """Geometric, over the queries that both finished."""
    logs = [math.log(one[n] / best[n]) for n in one if one[n] and best.get(n)]
    return math.exp(sum(logs) / len(logs)) if logs else None


def cell(one, best):
    late = sum(v is None for v in one.values())
    text = f"{sum(v for v in one.values() if v):.1f}, {shown(mean_ratio(one, best), '{:.2f}x')}"
    return text + (f", {late} late" if late else "")


def sweep(args, work):
    points = [("--gpu-warps", n) for n in args.warps] + [("--gpu-block", n) for n in args.block] or [()]
    found, rows = {}, []
    for point in points:
        one = {m: times_of(args, work, [*options_of(m), *point]) for m in args.modes}
        name = " ".join(point) or f"SF {args.sf}"
        found[name] = one
        rows.append([name] + [cell(one[m], one.get("nifs+aws", {})) for m in args.modes])
    table("Times of all queries together, ms, and each over nifs+aws", rows, [""] + args.modes)
    return found


def main():
    args = parse_args()
    work = queries(args)
    if args.what != "even":
        work = [q for q in work if can_share(args, q)]
    found = {"times": times, "shares": shares, "even": evenness, "sweep": sweep}[args.what](args, work)
    if args.out:
        args.out.write_text(json.dumps({"suite": args.suite, "class": args.cls, "scale_factor": args.sf,
                                        args.what: found}, indent=1))


sys.exit(main())
