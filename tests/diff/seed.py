"""The numbers of random cases: given, or drawn from the commit, so that every push tries other ones."""

import pathlib
import subprocess


def commit_seed():
    here = pathlib.Path(__file__).resolve().parent
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True)
        return int(done.stdout[:8], 16) % 1_000_000_000
    except (OSError, ValueError):
        return 1  # not a checkout: an unpacked release


def seed(text):
    """For argparse: a number, or "commit"; the latter is printed, to be repeated."""
    if text != "commit":
        return int(text)
    number = commit_seed()
    print(f"seed {number}", flush=True)
    return number
