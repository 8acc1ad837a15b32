#!/usr/bin/env python3
"""Does skew serialise? Speed-up with threads on JCC-H beside that on TPC-H, and how evenly the workers are busy.

Usage: scaling.py --heddle BIN --tpch DB --jcch DB [--class C] [--threads N] [--queries 1,5-9] [--rounds N]
                  [--repeat N] [--min-ms M] [--duckdb TPCH.json JCCH.json] [--out FILE.json]

Both databases have one scale factor. A round runs each suite on one thread and on N, --repeat times a query, in turns;
times are the fastest of all rounds, in ms:
  t1, tN     execute on TPC-H, class validation; j1, jN: on JCC-H
  up t, up j speed-up on N threads; of t: up j / up t, which should be at least 0.9
  balance    longest busy time of a worker on JCC-H over the mean, all pipelines together; at most 1.1
  serial     share of jN in which no pipeline ran: finishing states, that is sorting, merging, building tables
  skew       j1 / t1 and jN / tN; duck: the same of DuckDB, from two outputs of duckdb.py
Queries shorter than M ms on JCC-H and one thread are listed, but not judged.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = ("t1", "tN", "up t", "j1", "jN", "up j", "of t", "balance", "serial", "skew 1", "skew N", "duck")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--tpch", type=Path, required=True)
    parser.add_argument("--jcch", type=Path, required=True)
    parser.add_argument("--class", dest="cls", default="skewed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--queries", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--min-ms", type=float, default=50)
    parser.add_argument("--duckdb", type=Path, nargs=2)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def bench(args, suite, db, cls, threads):
    """{query: report of its fastest run}"""
    with tempfile.TemporaryDirectory(prefix="heddle-scaling-") as folder:
        out = Path(folder) / "bench.json"
        command = [args.heddle, "bench", suite, "--db", str(db), "--class", cls, "--threads", str(threads), "--backend", "cpu",
                   "--repeat", str(args.repeat), "--out", str(out)]
        command += ["--queries", args.queries] if args.queries else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
        report = json.loads(out.read_text())
    return {q["name"]: q["runs"][q["fastest"]] for q in report["queries"]}


def measure(args):
    """{(suite, threads): {query: report}}, the fastest of all rounds."""
    best = {}
    suites = (("tpch", args.tpch, "validation"), ("jcch", args.jcch, args.cls))
    for _ in range(args.rounds):
        for threads in (1, args.threads):
            for suite, db, cls in suites:
                mine = best.setdefault((suite, threads), {})
                for name, run in bench(args, suite, db, cls, threads).items():
                    if name not in mine or run["execute_ms"] < mine[name]["execute_ms"]:
                        mine[name] = run
    return best


def balance(run):
    busy = [sum(times) for times in zip(*(p["busy_ms"] for p in run["pipelines"]))]
    return max(busy) * len(busy) / sum(busy) if sum(busy) else 1.0


def duck_ratios(paths):
    if not paths:
        return {}
    tpch, jcch = (json.loads(p.read_text())["queries"] for p in paths)
    return {q: jcch[q]["duckdb"] / tpch[q]["duckdb"] for q in tpch if q in jcch and jcch[q]["duckdb"] and tpch[q]["duckdb"]}


def figures(args, best, duck):
    n, rows = args.threads, {}
    for q, run in best["jcch", n].items():
        t1, tn, j1, jn = (best[s, k][q]["execute_ms"] for s in ("tpch", "jcch") for k in (1, n))
        in_pipelines = sum(p["ms"] for p in run["pipelines"])
        rows[q] = dict(zip(COLUMNS, (t1, tn, t1 / tn, j1, jn, j1 / jn, (j1 / jn) / (t1 / tn), balance(run),
                                     1 - in_pipelines / jn, j1 / t1, jn / tn, duck.get(q))))
    return rows


def judged(args, row):
    """What is wrong with a query, or None."""
    if row["j1"] < args.min_ms:
        return None
    wrong = [name for name, bad in (("speed-up", row["of t"] < 0.9), ("balance", row["balance"] > 1.1)) if bad]
    return " and ".join(wrong) or None


def line(name, cells, note):
    text = "".join(f"{'-':>8}" if c is None else f"{c:>8.1f}" if k in ("t1", "tN", "j1", "jN") else f"{c:>8.2f}"
                   for k, c in cells.items())
    return f"{name:<6}{text}{note}"


def main():
    args = parse_args()
    rows = figures(args, measure(args), duck_ratios(args.duckdb))
    print(f"{'query':<6}" + "".join(f"{c:>8}" for c in COLUMNS))
    long = {q: r for q, r in rows.items() if r["j1"] >= args.min_ms}
    for q, r in rows.items():
        problem = judged(args, r)
        print(line(q, r, f"  {problem}" if problem else "" if q in long else "  short"))
    wrong = [q for q in long if judged(args, rows[q])]
    total = {k: sum(r[k] for r in rows.values()) for k in ("t1", "tN", "j1", "jN")}
    print(f"sum: speed-up {total['t1'] / total['tN']:.2f} on TPC-H, {total['j1'] / total['jN']:.2f} on JCC-H; "
          f"{len(long)} queries of {args.min_ms:g} ms or more, {len(wrong)} of them not as they should be")
    if args.out:
        args.out.write_text(json.dumps({"threads": args.threads, "class": args.cls, "queries": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
