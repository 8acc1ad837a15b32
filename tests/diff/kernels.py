#!/usr/bin/env python3
"""Every kernel of random plans compiles with NVRTC, without warnings; no GPU is needed.

    kernels.py --heddle BIN --nvrtc BIN --seed N --count N [--report FILE]

--nvrtc is tests/simt's simt_test_nvrtc. The plans are those of run.py with the same numbers, with strategies left
to the engine. The report lists every kernel with its registers and spills; the summary is printed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

from run import stripped  # exits with 77 without the oracle's modules
import dataset
from cases import Database, groups
from engine import Engine, LoadFailed
from gen_plan import as_json
from seed import seed

SKIPPED = 77
KERNEL = re.compile(r"^(\S+) (\S+) (sm_\d+): (\d+) bytes, (\d+) registers, (\d+) bytes spilled")


def write_plans(db, numbers, home):
    paths = []
    for n in numbers:
        case = db.case(n)
        plan = stripped(case.plan)
        for name, value in case.params.items():
            if name in plan.get("params", {}):
                plan["params"][name]["default"] = value
        paths.append(os.path.join(home, f"plan{n}.json"))
        with open(paths[-1], "w", encoding="utf-8") as f:
            f.write(as_json(plan))
    return paths


def compile_plans(args, number, numbers, home):
    """Lines of the report; exits at the first kernel that does not compile."""
    db = Database(number)
    try:
        os.makedirs(home)
        dataset.write_files(db.tables, home)
        store = os.path.join(home, "db")
        Engine(args.heddle, os.path.join(home, "cache")).load(home, store)
        plans = write_plans(db, numbers, home)
    except LoadFailed as wrong:
        sys.exit(f"database {number} does not load: {wrong}")
    finally:
        db.close()
    done = subprocess.run([args.nvrtc, "--plans-only", store, *plans], capture_output=True, text=True)
    if done.returncode == SKIPPED:
        print(done.stdout.strip())
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(f"plans {numbers[0]} to {numbers[-1]}: exit status {done.returncode}\n{done.stderr}")
    return [m for m in map(KERNEL.match, done.stdout.splitlines()) if m]


def summary(kernels):
    for arch in sorted({k[3] for k in kernels}):
        of_arch = [k for k in kernels if k[3] == arch]
        spilling = [k for k in of_arch if int(k[6])]
        worst = max(of_arch, key=lambda k: int(k[6]))
        print(f"{arch}: {len(of_arch)} kernels, at most {max(int(k[5]) for k in of_arch)} registers, "
              f"{len(spilling)} spill, most {worst[6]} bytes ({worst[1]} {worst[2]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--nvrtc", required=True)
    parser.add_argument("--seed", type=seed, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--report")
    args = parser.parse_args()
    kernels = []
    with tempfile.TemporaryDirectory(prefix="heddle-kernels-") as scratch:
        for number, numbers in groups(args.seed, args.count):
            kernels += compile_plans(args, number, numbers, os.path.join(scratch, str(number)))
    if not kernels:
        sys.exit("no kernel was compiled")
    if args.report:
        with open(args.report, "w", encoding="utf-8") as f:
            f.writelines(k.string + "\n" for k in kernels)
    summary(kernels)


if __name__ == "__main__":
    main()
