#!/usr/bin/env python3
"""States beyond a GPU's memory: passes over it give the rows of one.

    passes.py --heddle BIN --simt BIN --db DB [--memory BYTES] [--passes 3,8] [--faults N] PLAN...

--db is TPC-H at scale factor 0.01. Every plan runs in so many passes (HEDDLE_PASSES) and with --memory of the device, of
which no more may be in use at any time, and gives the CPU's rows, those of a sort in their order. With --faults also:
what explain shows and reports tell, one error where nothing helps, a statement that runs again, two devices, a query that
is cancelled, launches that lose the device and allocations that fail, after which a sanitized build has lost nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

UNITS = {"K": 1 << 10, "M": 1 << 20}


def run(args, binary, plan, *options, command="run", **environment):
    command = [binary, command, plan, "--db", args.db, "--threads", "2", *options]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def on_gpu(args, plan, *options, **environment):
    return run(args, args.simt, plan, "--format", "csv", "--time", "--backend", "cuda", *options, **environment)


def rows(done, plan, what=""):
    if done.returncode != 0:
        sys.exit(f"{plan} {what}: exit status {done.returncode}\n{done.stderr}")
    lines = done.stdout.splitlines()
    return lines if json.loads(Path(plan).read_text())["root"]["op"] == "sort" else sorted(lines)


def report(done):
    return json.loads(done.stderr.splitlines()[-1])


def compare(args, plan):
    """Whether the memory asked for passes."""
    budget = int(args.memory[:-1]) * UNITS[args.memory[-1]]
    want = rows(run(args, args.heddle, plan, "--format", "csv", "--backend", "cpu"), plan)
    for options, environment in (*(((), {"HEDDLE_PASSES": n}) for n in args.passes), (("--device-memory", args.memory), {})):
        done = on_gpu(args, plan, *options, **environment)
        got, told = rows(done, plan, f"{options} {environment}"), report(done)
        if got != want:
            at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            sys.exit(f"{plan} {options} {environment}: {len(got)} lines, {len(want)} expected; line {at + 1}: "
                     f"{got[at:at + 1]}, {want[at:at + 1]}")
        passes = told.get("devices", {}).get("passes", 1)
        assert not environment or passes == int(environment["HEDDLE_PASSES"]), (plan, told)
    assert told["peak_bytes"] <= budget, (plan, told["peak_bytes"])
    return passes > 1


def shown(args, groups):
    text = run(args, args.simt, groups, "--backend", "cuda", "--device-memory", "1M", "--dump", "devices",
               command="explain").stdout
    first = text.splitlines()[0]
    assert first.startswith("1 of 1, ") and " passes: states are expected to take " in first, text
    assert "fragment 0 on GPU 0 in " in text and "GPU 0, pass 1: {" in text, text
    text = run(args, args.simt, groups, "--backend", "cuda", "--dump", "devices", command="explain").stdout
    assert text.strip() == "one", text


def never(args, groups):
    """No number of passes helps: one error, which names the limit."""
    done = on_gpu(args, groups, "--device-memory", "20K")
    assert done.returncode == 3 and "the limit of 20480 bytes of GPU memory is reached" in done.stderr, done.stderr[:500]
    assert len(done.stderr.splitlines()) == 1 and not done.stdout, done.stderr
    done = on_gpu(args, groups, "--device-memory", "1M", HEDDLE_PASSES="1")
    assert done.returncode == 3 and "the limit of " in done.stderr, done.stderr[:500]


def again(args, groups):
    """Too low an estimate, then as many passes as it takes; the second execution begins with these."""
    want = rows(on_gpu(args, groups), groups)
    done = on_gpu(args, groups, "--memory", "300K", "--repeat", "2", HEDDLE_POOL="direct")
    assert rows(done, groups) == want
    reports = [json.loads(line) for line in done.stderr.splitlines()]
    assert reports[0]["devices"]["passes"] == reports[1]["devices"]["passes"] > 1, reports
    assert reports[1]["compile_ms"] <= reports[0]["compile_ms"], reports


def on_two(args, groups):
    """Passes over each of two devices."""
    done = on_gpu(args, groups, "--device", "0,1", "--device-memory", "500K", HEDDLE_SPREAD="always")
    assert rows(done, groups) == rows(on_gpu(args, groups), groups)
    devices = report(done)["devices"]
    assert devices["used"] == [0, 1] and devices["passes"] > 1, devices
    assert [part["device"] for part in devices["fragments"][-1]["parts"]] == [0, 1] * devices["passes"], devices


def exchanged(args, text):
    """What passes exchange is in the host's memory."""
    told = report(on_gpu(args, text, HEDDLE_PASSES="4"))
    assert told["spilled_bytes"] == told["devices"]["exchanged_bytes"] > 0 and told["devices"]["passes"] == 4, told
    assert told["devices"]["file_bytes"] == 0, told
    assert [f["exchange"] for f in told["devices"]["fragments"]] == ["shuffle", "result"], told
    assert all(len(f["parts"]) == 4 for f in told["devices"]["fragments"]), told


def automatic(args, plan):
    """Passes where the CPU is expected to be slower than they are, and only there."""
    want = rows(on_gpu(args, plan), plan)
    for slower, backend in (("100000", "cuda"), ("1", "cpu")):
        done = run(args, args.simt, plan, "--format", "csv", "--time", "--backend", "auto", "--device-memory", "1M",
                   HEDDLE_AUTO_SLOWER_CPU=slower)
        told = report(done)
        assert rows(done, plan) == want and told["backend"] == backend, told
        assert backend == "cpu" or told["devices"]["passes"] > 1, told


def filed(args, plan):
    """Exchanged rows beyond the host's memory: in a file that is gone afterwards; what has no room there is one error."""
    want = rows(on_gpu(args, plan), plan)
    with tempfile.TemporaryDirectory() as folder:
        with_file = {"HEDDLE_PASSES": "4", "HEDDLE_STATE_BYTES": "1"}
        done = on_gpu(args, plan, "--temp", folder, **with_file)
        assert rows(done, plan) == want
        told = report(done)["devices"]
        assert told["file_bytes"] >= told["exchanged_bytes"] > 0, told
        for options, fault, status, text in ((("--temp-limit", "200K"), {}, 3, "the limit of 204800 bytes for temporary files"),
                                             ((), {"HEDDLE_FAULT": "write:1"}, 1, f"the temporary file in {folder} cannot grow"),
                                             ((), {"HEDDLE_FAULT": "write:2"}, 1, f"the temporary file in {folder} cannot grow"),
                                             ((), {"HEDDLE_FAULT": "flip:1"}, 1, f"the temporary file in {folder} is damaged"),
                                             ((), {"HEDDLE_FAULT": "flip:7"}, 1, f"the temporary file in {folder} is damaged"),
                                             (("--temp", "none", "--memory", "400K"), {"HEDDLE_STATE_BYTES": "0"}, 3, "the memory limit of ")):
            done = on_gpu(args, plan, *(options if "--temp" in options else ("--temp", folder, *options)),
                          "--device-memory", "20M", **{**with_file, **fault})
            assert done.returncode == status and text in done.stderr, (options, fault, done.returncode, done.stderr[:500])
            assert len(done.stderr.splitlines()) == 1 and not done.stdout, done.stderr
        failed, n = 0, 1
        for _ in range(args.faults):
            done = on_gpu(args, plan, "--temp", folder, HEDDLE_FAULT=f"alloc:{n}", **with_file)
            assert "Sanitizer" not in done.stderr and done.returncode >= 0, (n, done.stderr)
            assert done.returncode != 0 or rows(done, plan) == want, n
            failed += done.returncode != 0
            n += 1 + n // 3
        assert failed > args.faults // 4, failed
        assert not os.listdir(folder), os.listdir(folder)


def cancelled(args, plan):
    done = on_gpu(args, plan, "--device-memory", "1M", "--query-timeout", "0.02")
    assert done.returncode == 4 and "Sanitizer" not in done.stderr, (done.returncode, done.stderr[:500])


def broken(args, plan):
    """A query that fails in some pass, and the next one in the same process."""
    line = json.dumps({"plan": plan}) + "\n"
    command = [args.simt, "run", "--batch", "-", "--db", args.db, "--backend", "cuda", "--device-memory", "1M"]
    want, lost, n = None, 0, 0
    while True:
        done = subprocess.run(command, input=2 * line, capture_output=True, text=True, check=False,
                              env={**os.environ, **({"HEDDLE_FAULT": f"device:{n}"} if n else {})})
        answers = [json.loads(text) for text in done.stdout.splitlines()]
        assert len(answers) == 2 and "Sanitizer" not in done.stderr, (n, answers, done.stderr)
        want = want or answers
        errors = [a for a in answers if "error" in a]
        assert all("GPU 0" in a["error"]["message"] for a in errors) and len(errors) < 2, answers
        assert all("error" in a or a["rows"] == w["rows"] for a, w in zip(answers, want)), answers
        lost += len(errors)
        if (n and not errors) or lost > 6:
            break
        n = 2 * n + 1
    assert lost > 2, f"only {lost} launches were lost"
    return lost


def refused(args, plan):
    want, n, failed = rows(on_gpu(args, plan, HEDDLE_PASSES="3"), plan), 1, 0
    for _ in range(args.faults):
        done = on_gpu(args, plan, HEDDLE_PASSES="3", HEDDLE_FAULT=f"alloc:{n}")
        if "Sanitizer" in done.stderr or done.returncode < 0:
            sys.exit(f"alloc:{n}: exit status {done.returncode}\n{done.stderr}")
        assert done.returncode != 0 or rows(done, plan) == want, n
        failed += done.returncode != 0
        n += 1 + n // 4
    assert failed > args.faults // 4, f"{failed} of {args.faults} failed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--simt", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--memory", default="1M")
    parser.add_argument("--passes", default="3", type=lambda text: text.split(","))
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("plans", nargs="+")
    args = parser.parse_args()
    several = sum(compare(args, plan) for plan in args.plans)
    lost = 0
    if args.faults:
        of = {Path(plan).stem: plan for plan in args.plans}
        shown(args, of["groups"])
        never(args, of["groups"])
        again(args, of["groups"])
        on_two(args, of["groups"])
        exchanged(args, of["exchange"])
        filed(args, of["exchange"])
        automatic(args, of["groups"])
        cancelled(args, of["groups_text"])
        lost = broken(args, of["groups"])
        refused(args, of["groups_text"])
    print(f"{len(args.plans)} plans: rows of several passes are those of the CPU; {several} needed them with "
          f"{args.memory}; {lost} lost launches")


if __name__ == "__main__":
    main()
