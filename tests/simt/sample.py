#!/usr/bin/env python3
"""Runs a command on some of its inputs, drawn from the commit: every push tries others, and all of them run under `slow`.

    sample.py [--seed N|commit] COUNT COMMAND... -- INPUT...

The inputs that are drawn follow the command, in the order given.
"""

import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "diff"))
import seed as seeds  # noqa: E402


def main():
    args = sys.argv[1:]
    number = "commit"
    if args[:1] == ["--seed"]:
        number, args = args[1], args[2:]
    if "--" not in args[2:]:
        sys.exit(__doc__)
    at = args.index("--", 2)
    count, command, inputs = int(args[0]), args[1:at], args[at + 1:]
    drawn = sorted(random.Random(seeds.seed(number)).sample(range(len(inputs)), min(count, len(inputs))))
    return subprocess.run(command + [inputs[i] for i in drawn], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
