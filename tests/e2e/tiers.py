#!/usr/bin/env python3
"""First runs on a CPU: both tiers of code give the same rows and the same errors, whatever happens meanwhile.

    tiers.py --heddle BIN --db DB [--threads LIST] [--plans DIR]

DB is TPC-H of a small scale factor; its plans run in either tier and with tiers that take turns at every morsel, at
every third one, and as costs say in a process with an empty cache. Errors of rows are raised in either tier, compilers
fail, statements are cancelled while code is being optimised, and two processes compile the same plan.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

WAYS = ({"HEDDLE_TIER": "first"}, {"HEDDLE_TIER_TURNS": "1"}, {"HEDDLE_TIER_TURNS": "3"}, {})
FAILS = ("o_totalprice / (o_orderkey - 59970)", "cast(o_comment as int64)", "o_orderkey * 9000000000000000000",
         "substring(o_comment, 1, o_custkey - 1500)")


def environment(cache, ways):
    rest = {k: v for k, v in os.environ.items() if k not in ("HEDDLE_TIER", "HEDDLE_TIER_TURNS", "HEDDLE_FAULT")}
    return {**rest, "HEDDLE_CACHE": str(cache), **ways}


class Bed:
    def __init__(self, args, scratch):
        self.args, self.scratch, self.caches = args, pathlib.Path(scratch), 0

    def new_cache(self):
        self.caches += 1
        return self.scratch / f"cache{self.caches}"

    def command(self, plan, threads, *more):
        return [self.args.heddle, "run", str(plan), "--db", self.args.db, "--backend", "cpu", "--threads", str(threads),
                "--format", "csv", *more]

    def run(self, plan, threads, ways, cache=None, more=()):
        """(exit status, rows in an order of their own, what it says on standard error)"""
        done = subprocess.run(self.command(plan, threads, *more), capture_output=True, text=True,
                              env=environment(cache or self.new_cache(), ways))
        lines = done.stdout.splitlines()
        return done.returncode, lines[:1] + sorted(lines[1:]), done.stderr

    def report(self, plan, threads, ways, cache=None, more=()):
        code, rows, text = self.run(plan, threads, ways, cache, ("--time", *more))
        if code:
            raise SystemExit(f"{plan} with {ways}: exit status {code}: {text}")
        return rows, [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def plan(self, name, plan):
        path = self.scratch / f"{name}.json"
        path.write_text(json.dumps(plan))
        return path


def need(so, *what):
    if not so:
        raise SystemExit(" ".join(map(str, what)))


def same_rows(bed, plans):
    both = 0
    for plan in plans:
        want = bed.run(plan, 2, {"HEDDLE_TIER": "optimised"})
        need(want[0] == 0, plan, want)
        for ways in WAYS:
            for threads in bed.args.threads if "HEDDLE_TIER_TURNS" in ways else bed.args.threads[-1:]:
                got, (report,) = bed.report(plan, threads, ways)
                need(got == want[1], plan, ways, f"{threads} threads: other rows than optimised code")
                tiers = [p["tiers"] for p in report["pipelines"]]
                first = sum(t["first_morsels"] for t in tiers)
                optimised = sum(t["optimised_morsels"] for t in tiers)
                need(first > 0 or not ways or optimised, plan, "nothing ran")
                need(optimised == 0 or ways.get("HEDDLE_TIER") != "first", plan, "optimised code in the first tier")
                both += first > 0 and optimised > 0
    return both


def long_plan(bed, times):
    """Pairs of lines of a supplier, each so many times."""
    return bed.plan(f"long{times}", {"heddle": 1, "root": {
        "op": "aggregate", "keys": ["l_linestatus"], "aggs": [
            {"fn": "count", "as": "n"}, {"fn": "sum", "arg": "l_quantity * q + l_tax", "as": "s"}],
        "input": {"op": "join", "kind": "inner", "on": [["l_suppkey", "k"]],
                  "left": {"op": "repeat", "count": str(times), "input": {"op": "scan", "table": "lineitem"}},
                  "right": {"op": "project", "exprs": [{"expr": "l_suppkey", "as": "k"}, {"expr": "l_quantity", "as": "q"}],
                            "input": {"op": "scan", "table": "lineitem"}}}}})


def took_over(report):
    """Within a pipeline, or between two where the machine was busy while the first one ran."""
    tiers = [p["tiers"] for p in report["pipelines"]]
    return any("swap_ms" in t for t in tiers) or (any(t["first_morsels"] for t in tiers) and any(t["optimised_morsels"] for t in tiers))


def swapped(bed):
    """Long work, of which the planner says that it is to be optimised meanwhile: with one number of threads or another optimised
    code takes over in mid-query. On a busy machine code may come late, so the work becomes longer until it does."""
    for times in (1, 4, 16, 64):
        plan, swaps = long_plan(bed, times), 0
        done = subprocess.run([bed.args.heddle, "explain", str(plan), "--db", bed.args.db, "--backend", "cpu", "--dump", "pipelines"],
                              capture_output=True, text=True, env=environment(bed.new_cache(), {}))
        need("[cpu: optimised meanwhile]" in done.stdout, "not long enough:", done.stdout, done.stderr)
        want = bed.report(plan, 2, {"HEDDLE_TIER": "optimised"})[0]
        for threads in bed.args.threads:
            got, (report,) = bed.report(plan, threads, {})
            need(got == want, threads, "threads: other rows after a swap")
            swaps += took_over(report)
        if swaps:
            return swaps
    raise SystemExit("optimised code never took over")


def without_values(found):
    """Of several threads anyone's row may be the first that fails: what it has is left out."""
    code, rows, text = found
    return code, rows, re.sub(r"'[^']*'|-?[0-9]+", "_", text)


def same_errors(bed):
    for i, expression in enumerate(FAILS):
        plan = bed.plan(f"fails{i}", {"heddle": 1, "root": {
            "op": "aggregate", "keys": [], "aggs": [{"fn": "max", "arg": expression, "as": "m"}],
            "input": {"op": "scan", "table": "orders"}}})
        want = bed.run(plan, 1, {"HEDDLE_TIER": "optimised"})
        need(want[0] == 1, plan, "did not fail:", want)
        for ways in WAYS:
            for threads in bed.args.threads:
                got = bed.run(plan, threads, ways)
                same = got == want if threads == 1 else without_values(got) == without_values(want)
                need(same, expression, ways, threads, "threads:", got, "but optimised", want)
    return len(FAILS)


def compilers_fail(bed, plan):
    """The first call of the compiler on one thread is all of the first tier."""
    cache = bed.new_cache()
    want, _ = bed.report(plan, 1, {"HEDDLE_TIER": "optimised"})
    got, reports = bed.report(plan, 1, {"HEDDLE_FAULT": "compile:2+"}, cache, ("--repeat", "8"))
    need(got == want, "other rows where optimised code is not to be had")
    need("no" in (reports[0]["optimised"], "no"), reports[0])
    while reports[-1]["optimised"] == "underway":  # the machine is slow
        _, reports = bed.report(plan, 1, {"HEDDLE_FAULT": "compile:2+"}, cache, ("--repeat", "50"))
    need(reports[-1]["optimised"] == "failed" and "LLVM" in reports[-1]["optimise_error"], reports[-1])
    need(not any(cache.glob("*.hdo")), "an entry without optimised code")
    code, _, text = bed.run(plan, 1, {"HEDDLE_FAULT": "compile:1"}, cache)
    need(code == 1 and "LLVM could not compile" in text, code, text)
    got, (report,) = bed.report(plan, 1, {}, cache)
    need(got == want and not report["compile_cached"], "after compilers that failed")
    got, (report,) = bed.report(plan, 1, {}, cache)
    need(got == want and report["compile_cached"] and report["optimised"] == "yes", "no entry of optimised code")
    need(all(p["tiers"]["first_morsels"] == 0 for p in report["pipelines"]), "a cached run in the first tier")


def two_processes(bed, plan, threads):
    want, _ = bed.report(plan, threads, {"HEDDLE_TIER": "optimised"})
    cache = bed.new_cache()
    twins = [subprocess.Popen(bed.command(plan, threads), stdout=subprocess.PIPE, text=True, env=environment(cache, {}))
             for _ in range(2)]
    for twin in twins:
        lines = twin.communicate()[0].splitlines()
        need(twin.returncode == 0 and lines[:1] + sorted(lines[1:]) == want, "two processes that compile one plan")
    need(len(list(cache.iterdir())) == 1, "what two processes left:", list(cache.iterdir()))


def bench_is_optimised(bed):
    """Its runs after the first, of statements of their own, are of optimised code from their first morsel on."""
    out = bed.scratch / "bench.json"
    command = [bed.args.heddle, "bench", "tpch", "--db", bed.args.db, "--backend", "cpu", "--threads", "2", "--queries", "1,6",
               "--repeat", "3", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(bed.new_cache(), {}))
    need(done.returncode == 0, command, done.stderr)
    for query in json.loads(out.read_text())["queries"]:
        first, *later = [[p["tiers"]["first_morsels"] for p in run["pipelines"]] for run in query["runs"]]
        need(sum(first) > 0, query["name"], "began optimised")
        need(len(later) == 2 and not any(map(sum, later)), query["name"], "was measured in the first tier")


def executed_again(bed, plan):
    """One statement: further executions come to optimised code by themselves, without waiting for it."""
    for repeat in (10, 100, 1000):
        _, reports = bed.report(plan, 2, {}, None, ("--repeat", str(repeat)))
        need(sum(p["tiers"]["first_morsels"] for p in reports[0]["pipelines"]) > 0, "no first tier")
        if reports[-1]["optimised"] == "yes" and not any(p["tiers"]["first_morsels"] for p in reports[-1]["pipelines"]):
            return
    raise SystemExit("a statement that was executed again and again kept the first tier")


def interrupted(bed, plan):
    """At many moments, those in which optimised code is being made among them: an end, soon, and nothing half-written."""
    cache = bed.new_cache()
    for delay in range(0, 60, 6):
        child = subprocess.Popen(bed.command(plan, 2), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 env=environment(cache, {}))
        time.sleep(0.01 + delay / 1000)
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        text = child.communicate(timeout=60)[1]
        took = time.monotonic() - start
        need(child.returncode in (0, 1, 130) or child.returncode == -signal.SIGINT, "status", child.returncode, text)
        need(took < bed.args.soon, f"{took:.1f} s to end")
        left = [p.name for p in cache.iterdir() if p.suffix != ".hdo"] if cache.exists() else []
        need(not left or child.returncode != 0, "left behind:", left)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--threads", default="1,2,3,7")
    ap.add_argument("--soon", type=float, default=5, help="seconds that an interrupted process may take to end")
    ap.add_argument("plans", nargs="+")
    args = ap.parse_args()
    args.threads = [int(n) for n in args.threads.split(",")]
    with tempfile.TemporaryDirectory(prefix="heddle-tiers-") as scratch:
        bed = Bed(args, scratch)
        both = same_rows(bed, args.plans)
        need(both > 0, "no execution ran in both tiers")
        swaps = swapped(bed)
        errors = same_errors(bed)
        compilers_fail(bed, args.plans[0])
        two_processes(bed, args.plans[0], 2)
        executed_again(bed, args.plans[0])
        bench_is_optimised(bed)
        interrupted(bed, args.plans[-1])
    print(f"{len(args.plans)} plans, {both} executions in both tiers, {swaps} swapped, {errors} errors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
