#!/usr/bin/env python3
"""Each header compiles alone; the public one also as C99 without extensions and as C++.

    check_headers.py [-I DIR]... CC [CXX]
"""
import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import layers as model

FOLDERS = ("api", "codegen", "frontend", "graph", "include", "planner", "runtime", "ssb", "templates", "tools", "tpch", "tests")
PUBLIC = model.ROOT / "include" / "heddle.h"
FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror"]


def failure(job):
    """What the compiler says of a header, or None."""
    command, header = job
    # Included, not compiled: a header as the main file has warnings of its own.
    done = subprocess.run([*command, "-"], input=f'#include "{header}"\n', capture_output=True, text=True)
    return done.stderr if done.returncode else None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-I", dest="folders", action="append", default=[])
    ap.add_argument("compilers", nargs="+")
    args = ap.parse_args()
    cc, cxx = (args.compilers + [None])[:2]
    headers = [p for p in model.sources(*FOLDERS) if p.suffix == ".h"]
    paths = [f"-I{model.ROOT}", f"-I{model.ROOT / 'include'}", *(f for d in args.folders if d for f in ("-isystem", d))]
    inner = [cc, "-std=gnu11", "-D_GNU_SOURCE", '-DHEDDLE_SOURCE_DIR=""', *paths, *FLAGS, "-xc"]
    jobs = [(inner, h) for h in headers] + [([cc, "-std=c99", "-pedantic", *FLAGS, "-xc"], PUBLIC)]
    if cxx:
        jobs.append(([cxx, "-std=c++11", "-pedantic", *FLAGS, "-xc++"], PUBLIC))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(failure, jobs) if text]
    print("\n".join(found) if found else f"{len(headers)} headers")
    return bool(found) or not headers


if __name__ == "__main__":
    sys.exit(main())
