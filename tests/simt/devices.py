#!/usr/bin/env python3
"""Plans on several devices give the rows that they give on one.

    devices.py --heddle BIN --db DB [--devices 2,4] [--repeat 2] [--params CLASS.json] [--direct] [--divide] PLAN...

HEDDLE_SPREAD=always spreads every plan that can be; with --divide =divide, and the first fragment is a part of a table on every device, which all
of them read. The last of the repeated executions is compared, which runs what the
first one has prepared. --params: values by query, for the plan of the same name. --direct: all exchanges go from device to
device.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(args, devices, *command):
    env = {**os.environ, "HEDDLE_SPREAD": "divide" if args.divide else "always"}
    command = [args.heddle, *command, "--db", args.db, "--backend", "cuda", "--device", devices, "--threads", "2"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return done


def rows(args, plan, params, devices, repeat):
    """The rows, and the report of the last execution."""
    done = run(args, devices, "run", plan, *params, "--format", "csv", "--repeat", str(repeat), "--time")
    ordered = json.loads(pathlib.Path(plan).read_text())["root"]["op"] == "sort"
    lines = done.stdout.splitlines()
    return lines if ordered else lines[:1] + sorted(lines[1:]), json.loads(done.stderr.splitlines()[-1])


def check_shown(args, plan, params, n):
    """What goes over links is told of each exchange."""
    text = run(args, ",".join(map(str, range(n))), "explain", plan, *params, "--dump", "devices").stdout
    own = f"fragment 0 on GPU {', '.join(map(str, range(n)))}: broadcast"
    if args.divide and own not in text:
        raise SystemExit(f"{plan} on {n} devices: no table is divided\n{text}")
    for line in text.splitlines():
        exchange = re.match(r"fragment \d+ on GPU ([\d, ]+)(?:, reads .*)?: (gather|broadcast|shuffle)", line)
        if exchange and "," in exchange[1]:
            of = {"gather": "one", "broadcast": "each", "shuffle": "each"}[exchange[2]]
            sent, received = map(int, re.search(rf", (\d+) bytes, (\d+) over the links of {of} GPU$", line).groups())
            share = (n - 1) / n / (n if exchange[2] == "shuffle" else 1)
            if abs(received - sent * share) > 1:
                raise SystemExit(f"{plan} on {n} devices: {line}")


def check(args, plan, params):
    """Fragments and bytes that were exchanged."""
    want, _ = rows(args, plan, params, "0", 1)
    fragments, sent = 0, 0
    for n in args.devices:
        got, report = rows(args, plan, params, ",".join(map(str, range(n))), args.repeat)
        if want != got:
            at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
            raise SystemExit(f"{plan}: {len(want)} lines on one device, {len(got)} on {n}; line {at + 1}: "
                             f"{want[at:at + 1]}, {got[at:at + 1]}")
        check_shown(args, plan, params, n)
        if report["devices"]["used"] != list(range(n)):
            raise SystemExit(f"{plan} on {n} devices: {report['devices']}")
        if report["plan_ms"] and args.repeat > 1:
            raise SystemExit(f"{plan} on {n} devices: the last execution has planned for {report['plan_ms']} ms")
        if args.direct and not all(f["direct"] for f in report["devices"]["fragments"][:-1]):
            raise SystemExit(f"{plan} on {n} devices: rows went through the host: {report['devices']['fragments']}")
        fragments += len(report["devices"]["fragments"])
        sent += sum(f["bytes"] for f in report["devices"]["fragments"][:-1])
    return fragments, sent


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--devices", default="2,4", type=lambda text: [int(n) for n in text.split(",")])
    ap.add_argument("--repeat", type=int, default=2)
    ap.add_argument("--params")
    ap.add_argument("--direct", action="store_true")
    ap.add_argument("--divide", action="store_true")
    ap.add_argument("plans", nargs="+")
    args = ap.parse_args()
    values = json.loads(pathlib.Path(args.params).read_text()) if args.params else {}
    fragments, sent = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for plan in args.plans:
            name, params = pathlib.Path(plan).stem, []
            if name in values:
                path = pathlib.Path(scratch) / f"{name}.json"
                path.write_text(json.dumps(values[name]))
                params = ["-p", f"@{path}"]
            of_plan = check(args, plan, params)
            fragments, sent = fragments + of_plan[0], sent + of_plan[1]
    print(f"{len(args.plans)} plans on {args.devices} devices: {fragments} fragments, {sent} bytes exchanged")
    return 0 if sent else "nothing was exchanged"


sys.exit(main())
