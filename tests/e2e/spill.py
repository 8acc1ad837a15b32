#!/usr/bin/env python3
"""States beyond a memory limit, through the command line.

    spill.py --heddle BIN --db DB [--threads 1,3] rows PLAN...      everything in files (HEDDLE_STATE_BYTES=1): the same rows;
                                                                    and what plans do under a limit
    spill.py --heddle BIN --db DB fails                             what goes wrong is one error, and nothing is left
    spill.py --heddle BIN --db DB [--memory 256M] budget PLAN...    with and without the limit: the same rows, user and
                                                                    system time of both, and memory at its highest: what
                                                                    is anonymous, and pages of the temporary file

DB is TPC-H; rows and budget also run plans of their own, whose states are as large as lineitem. `budget` fails where
memory is above the limit by more than a half and 128 MiB (of LLVM, threads and a busy machine's delays).
"""
import argparse
import contextlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

ITEMS = {"op": "scan", "table": "lineitem"}
PRICE = [{"expr": "l_extendedprice"}, {"expr": "l_orderkey"}, {"expr": "l_partkey"}, {"expr": "l_quantity"}]


def counted(inner, *sums):
    return {"heddle": 1, "root": {"op": "aggregate", "keys": [], "input": inner,
                                  "aggs": [{"fn": "count", "as": "n"}] + [{"fn": "sum", "arg": s, "as": s} for s in sums]}}


def own_plans():
    """name: plan. One row or a few: the states are large, the results are not."""
    orders = {"op": "scan", "table": "orders"}
    return {
        "sort": {"heddle": 1, "root": {"op": "sort", "keys": PRICE, "offset": 50000, "limit": 5, "input": ITEMS}},
        "group": counted({"op": "aggregate", "keys": ["l_orderkey", "l_partkey", "l_suppkey"], "input": ITEMS,
                          "aggs": [{"fn": "sum", "arg": "l_quantity", "as": "q"}]}, "q"),
        "distinct": counted({"op": "distinct", "input": {"op": "project", "input": ITEMS, "exprs": [
            "l_partkey", "l_extendedprice", "l_orderkey"]}}, "l_partkey"),
        "join": counted({"op": "join", "kind": "inner", "on": [["l_orderkey", "o_orderkey"]], "strategy": "hash",
                         "left": ITEMS, "right": orders}, "o_totalprice"),
        "outer join": counted({"op": "join", "kind": "full", "on": [["o_orderkey", "l_orderkey"]], "strategy": "hash",
                               "left": orders, "right": ITEMS}, "o_totalprice", "l_quantity"),
        "window": counted({"op": "filter", "pred": "r <= 3", "input": {
            "op": "window", "partition": ["l_suppkey"], "order": PRICE, "input": ITEMS,
            "functions": [{"fn": "row_number", "as": "r"}, {"fn": "sum", "arg": "l_quantity", "as": "s"}]}}, "r", "s")}


class Spill:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.temp = os.path.join(folder, "temp")
        os.mkdir(self.temp)
        self.own = {}
        for name, plan in own_plans().items():
            self.own[name] = os.path.join(folder, name + ".json")
            pathlib.Path(self.own[name]).write_text(json.dumps(plan))

    def command(self, plan, *options):
        return [self.args.heddle, "run", plan, "--db", self.args.db, "--backend", "cpu", "--format", "csv", *options]

    def run(self, plan, *options, status=0, env=None, before=None):
        done = subprocess.run(self.command(plan, *options), capture_output=True, text=True, preexec_fn=before,
                              env={**os.environ, **(env or {})})
        if done.returncode != status:
            sys.exit(f"{plan} {' '.join(options)}: status {done.returncode}, wanted {status}\n{done.stderr}")
        return done

    def nothing_left(self, what):
        left = os.listdir(self.temp)
        if left:
            sys.exit(f"{what}: left in the folder: {left}")

    # ---- rows

    def rows(self, plans):
        spilled = 0
        for plan in [*plans, *self.own.values()]:
            wanted = self.run(plan, "--threads", "2").stdout
            for threads in self.args.threads.split(","):
                done = self.run(plan, "--threads", threads, "--temp", self.temp, "--time", env={"HEDDLE_STATE_BYTES": "1"})
                if done.stdout != wanted:
                    sys.exit(f"{plan}, {threads} threads: other rows\n{done.stdout[:500]}\n{wanted[:500]}")
                report = json.loads(done.stderr)
                states = sum(s.get("spilled_bytes", 0) for s in report["states"])
                if states > report["spilled_bytes"] or (plan in self.own.values() and not states):
                    sys.exit(f"{plan}: {states} bytes of states spilled, {report['spilled_bytes']} in all")
                spilled += report["spilled_bytes"] > 0
        self.choices()
        self.nothing_left("rows")
        print(f"{len(plans) + len(self.own)} plans, {spilled} runs spilled")

    def physical(self, plan, *options):
        command = [self.args.heddle, "explain", plan, "--db", self.args.db, "--backend", "cpu", "--dump", "physical", *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def choices(self):
        """What the limit decides, and nothing without one."""
        grouped = os.path.join(self.folder, "grouped.json")
        pathlib.Path(grouped).write_text(json.dumps(counted({
            "op": "aggregate", "keys": [{"expr": "l_orderkey + 1", "as": "k"}], "input": ITEMS, "aggs": [{"fn": "max", "arg": "l_extendedprice", "as": "q"}]}, "q")))
        cases = ((self.own["join"], "parts: both sides", "not none", "it takes more than a quarter of the memory limit"),
                 (grouped, "groups: hash", "not dense", "they take more than half of the memory limit"))
        for plan, taken, other, why in cases:
            under, free = self.physical(plan, "--memory", "1M"), self.physical(plan)
            if taken not in under or other not in under or why not in under or taken in free or "limit" in free:
                sys.exit(f"{plan}: not what the limit wants\n{under}\n{free}")
            if self.physical(plan, "--memory", "1M", "--temp", "none") != free:
                sys.exit(f"{plan}: without files the limit decides nothing")

    # ---- failures

    def refused(self, text, status, *options, before=None):
        done = self.run(self.own["sort"], "--memory", "1M", *options, status=status, before=before)
        lines = done.stderr.splitlines()
        if done.stdout or len(lines) != 1 or text not in lines[0]:
            sys.exit(f"{options}: wanted one line with {text!r}, found\n{done.stdout}{done.stderr}")
        self.nothing_left(options)

    def fails(self):
        self.refused("the memory limit of 1048576 bytes is reached", 3, "--temp", "none")
        self.refused("the limit of 2097152 bytes for temporary files is reached", 3, "--temp", self.temp,
                     "--temp-limit", "2M")
        self.refused("temporary files: No such file", 1, "--temp", self.temp + "/missing")
        self.refused("temporary files: Not a directory", 1, "--temp", self.own["sort"])
        self.refused("cannot grow", 1, "--temp", self.temp,
                     before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20)))
        if os.geteuid():
            os.chmod(self.temp, 0o500)
            self.refused("temporary files: Permission denied", 1, "--temp", self.temp)
            os.chmod(self.temp, 0o700)
        self.damaged()
        self.full_disk()
        self.ended(signal.SIGKILL, -signal.SIGKILL)
        self.ended(signal.SIGINT, 1)
        print("failures: each one line, nothing left")

    def damaged(self):
        """A byte of the file changes, or its end is missing, before it is read for the first time and later."""
        for plan in ("window", "distinct", "outer join"):
            for fault, text in (("flip", "do not match their checksum"), ("cut", "was cut: byte")):
                for n in (1, 3):
                    done = subprocess.run(self.command(self.own[plan], "--temp", self.temp, "--threads", "1"), capture_output=True,
                                          text=True, env={**os.environ, "HEDDLE_STATE_BYTES": "1", "HEDDLE_FAULT": f"{fault}:{n}"})
                    lines = done.stderr.splitlines()
                    if done.returncode != 1 or done.stdout or len(lines) != 1 or text not in lines[0] or self.temp not in lines[0]:
                        sys.exit(f"{plan} {fault}:{n}: status {done.returncode}, wanted one line with {text!r}\n{done.stdout}{done.stderr}")
            self.nothing_left(plan)

    def full_disk(self):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", self.temp], capture_output=True).returncode:
            print("no small file system could be mounted: a full disk was tried by RLIMIT_FSIZE alone")
            return
        try:
            self.refused("cannot grow", 1, "--temp", self.temp)
        finally:
            subprocess.run(["umount", self.temp], check=True)

    def ended(self, by, status):
        """Some time after the process has its file."""
        batch = os.path.join(self.folder, "batch.jsonl")
        pathlib.Path(batch).write_text((json.dumps({"plan": self.own["window"]}) + "\n") * 1000)
        process = subprocess.Popen([self.args.heddle, "run", "--batch", batch, "--db", self.args.db, "--memory", "1M",
                                    "--temp", self.temp], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not self.has_file(process.pid) and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(by)
        if process.wait() != status:
            sys.exit(f"ended by {by!r}: status {process.returncode}")
        self.nothing_left(by)

    def has_file(self, pid):
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(self.temp):
                    return True
        return False

    # ---- budget

    def measured(self, plan, *options):
        """(rows, user and system seconds, peak bytes of what is anonymous or the temporary file's, report)"""
        out = os.path.join(self.folder, "out")
        peak = 0
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(out, "w") as o, open(out + ".err", "w") as e:
            process = subprocess.Popen(self.command(plan, "--threads", "2", "--time", *options), stdout=o, stderr=e)
            while process.poll() is None:
                peak = max(peak, memory_of(process.pid))
                time.sleep(0.02)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        errors = pathlib.Path(out + ".err").read_text()
        if process.returncode:
            sys.exit(f"{plan} {options}: {errors}")
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return pathlib.Path(out).read_text(), used, peak, json.loads(errors)

    def budget(self, plans):
        limit = int(self.args.memory[:-1]) << 20
        self.run(self.own["sort"], "--memory", self.args.memory, "--temp", self.temp)  # files are verified once
        print(f"{'plan':<12}{'seconds':>9}{'limited':>9}{'spilled MiB':>13}{'memory MiB':>12}")
        total = [0, 0]
        for plan in [*plans, *self.own.values()]:
            wanted, free, _, _ = self.measured(plan)
            got, spent, peak, report = self.measured(plan, "--memory", self.args.memory, "--temp", self.temp)
            if got != wanted:
                sys.exit(f"{plan}: other rows\n{got[:500]}\n{wanted[:500]}")
            total = [total[0] + free, total[1] + spent]
            print(f"{pathlib.Path(plan).stem:<12}{free:>9.2f}{spent:>9.2f}{report['spilled_bytes'] >> 20:>13}"
                  f"{peak >> 20:>12}", flush=True)
            if peak > limit * 3 // 2 + (128 << 20):
                sys.exit(f"{plan}: {peak} bytes of memory, the limit is {limit}")
        print(f"{'sum':<12}{total[0]:>9.2f}{total[1]:>9.2f}")
        self.nothing_left("budget")


def memory_of(pid):
    kib, spilled = 0, False
    try:
        with open(f"/proc/{pid}/smaps") as smaps:
            for line in smaps:
                word, value = line.split(None, 2)[:2]
                if not word.endswith(":"):
                    spilled = line.endswith("(deleted)\n")
                elif word == ("Rss:" if spilled else "Anonymous:"):
                    kib += int(value)
    except (OSError, ValueError):
        return 0
    return kib << 10


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--threads", default="1,3")
    ap.add_argument("--memory", default="256M")
    ap.add_argument("what", choices=("rows", "fails", "budget"))
    ap.add_argument("plans", nargs="*")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        spill = Spill(args, folder)
        spill.fails() if args.what == "fails" else getattr(spill, args.what)(args.plans)


if __name__ == "__main__":
    main()
