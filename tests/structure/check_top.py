#!/usr/bin/env python3
"""The top level of the repository has the files and folders that belong there, and no others: what a test or an editor leaves
there, and somebody adds by accident, fails. Tracked files count, as git has them; packaged source has no git, and is skipped.

Usage: check_top.py ROOT
"""
import subprocess
import sys

SKIPPED = 77
FOLDERS = """.ci api cmake codegen docs examples frontend graph include jcch planner python runtime scripts ssb templates
tests tools tpcds tpch"""
FILES = ".clang-format .gitignore CMakeLists.txt CMakePresets.json CONTRIBUTING.md LICENSE README.md"


def wrong(tracked):
    """What is at the top and should not be, or the other way round; tracked: paths from the top."""
    belongs = {*FILES.split(), *(f"{name}/" for name in FOLDERS.split())}
    found = {path.partition("/")[0] + ("/" if "/" in path else "") for path in tracked}
    return [f"{name}: not a file or folder of the top level" for name in sorted(found - belongs)] + \
        [f"{name}: of the top level, but nothing is there" for name in sorted(belongs - found)]


def main():
    try:
        done = subprocess.run(["git", "-C", sys.argv[1], "ls-files", "-z"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        print("skipped: there is no git")
        return SKIPPED
    tracked = done.stdout.split("\0")[:-1]
    if done.returncode != 0 or not tracked:
        print(f"skipped: no files of a checkout here {done.stderr}")
        return SKIPPED
    for line in wrong(tracked):
        print(line)
    strays = wrong([*tracked, "d-", "ops-/x"])
    if len(strays) != len(wrong(tracked)) + 2:
        print(f"two strays were not told: {strays}")
        return 1
    return 1 if wrong(tracked) else 0


if __name__ == "__main__":
    sys.exit(main())
