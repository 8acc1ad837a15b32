#!/usr/bin/env python3
"""NVRTC keeps the calls of a framed kernel's functions: each function that the source of a kernel calls is called
in its PTX, too. (NVVM lost calls whose result it knew; what they had to write was missing on the device alone.)

Usage: parts_called.py --heddle BIN --db DB --plans DIR [--weight N]
Without NVRTC the test is skipped (exit status 77).
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def explain(args, plan, dump, env):
    p = subprocess.run([args.heddle, "explain", str(plan), "--db", args.db, "--backend", "cuda", "--dump", dump],
                       capture_output=True, text=True, env=env, check=False)
    return p.returncode, p.stdout, p.stderr.strip()


def lost(source, ptx):
    """Functions of parts, as kernel and name, that no call in the PTX names."""
    called = set(re.findall(r"call\.uni[^;]*?\n\s*(_Z\w+)", ptx))
    missing = []
    for unit in re.split(r"^// (?=p\d+: )", source, flags=re.M)[1:]:
        kernel = unit.split(":", 1)[0] + "_pipeline"
        for name in re.findall(r"HDD_PART [\w<>]+ (\w+)\(", unit):
            mangled = f"{len(kernel)}{kernel}{len(name)}{name}E"
            if not any(mangled in symbol for symbol in called):
                missing.append(f"{kernel}.{name}")
    return missing


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--db", required=True)
    ap.add_argument("--plans", required=True)
    ap.add_argument("--weight", default="20")
    args = ap.parse_args()
    env = {**os.environ, "HEDDLE_FRAME_WEIGHT": args.weight}
    passed = failed = parts = 0
    for plan in sorted(Path(args.plans).glob("*.json")):
        rc, ptx, error = explain(args, plan, "ptx", env)
        if rc and "NVRTC" in error:
            print(f"skipped: {error}")
            return SKIPPED
        _, source, _ = explain(args, plan, "cuda", env)
        parts += source.count("HDD_PART ")
        missing = lost(source, ptx) if not rc else [error]
        passed, failed = passed + (not missing), failed + bool(missing)
        if missing:
            print(f"{plan.name}: {', '.join(missing[:8])}")
    print(f"{parts} functions; {passed} passed, {failed} failed")
    return failed > 0 or parts == 0


if __name__ == "__main__":
    sys.exit(main())
