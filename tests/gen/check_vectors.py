#!/usr/bin/env python3
"""Checks generated tables against known hashes (vectors.tsv).

usage: check_vectors.py TG_DUMP VECTORS [--scheme S] [--sf F,...] [--chunked yes|no]
                        [--pool quick|whole] [--threads N]
Runs TG_DUMP once for every (scheme, scale factor, chunk) selected, and compares rows and
sha256 of every file listed.  Exit status 0 if all agree.
"""
import argparse
import hashlib
import os
import subprocess
import sys
import tempfile

POOL_BYTES = 314572800
POOL = {
    "quick": (1 << 20, "ee37651f453ce30ac6472aedf2943196ca20303d4c39b25957d34b97c4c9ba72"),
    "whole": (POOL_BYTES, "09011f43d4e60579f77b33a51bbb67d04b4f3e700d84f289db6b937db90677f9"),
}


def digest(path):
    """Returns (rows, sha256) of a text file."""
    rows, h = 0, hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            rows += block.count(b"\n")
            h.update(block)
    return rows, h.hexdigest()


def groups(path, args):
    """Reads the vectors selected, by run: {(scheme, sf, chunk): [(table, rows, sha256)]}."""
    runs = {}
    with open(path) as f:
        for line in f:
            if line.startswith("#"):
                continue
            scheme, sf, table, chunk, rows, sha = line.rstrip("\n").split("\t")
            if args.scheme and scheme != args.scheme or args.sf and sf not in args.sf:
                continue
            if args.chunked and (chunk != "-") != (args.chunked == "yes"):
                continue
            runs.setdefault((scheme, sf, chunk), []).append((table, int(rows), sha))
    return runs


def command(args, scheme, sf, chunk):
    cmd = [args.dump, "-s", sf, "-t", str(args.threads)]
    if scheme != "plain":
        cmd.append("-b" if scheme == "ssb" else "-k")
    if scheme == "jcch-chunk":
        cmd.append("-R")
    if chunk != "-":
        i, n = chunk.split("/")
        cmd += ["-C", n, "-S", i]
    return cmd


def check_run(args, key, vectors):
    """Generates one data set and returns the number of files that differ."""
    scheme, sf, chunk = key
    bad = 0
    with tempfile.TemporaryDirectory(prefix="tg_") as d:
        subprocess.run(command(args, *key) + [d], check=True)
        for table, rows, sha in vectors:
            name = table + ".tbl"
            if chunk != "-" and table not in ("region", "nation", "date"):
                name += "." + chunk.split("/")[0]
            got = digest(os.path.join(d, name))
            ok = got == (rows, sha)
            bad += not ok
            print(f"{'ok' if ok else 'BAD'}\t{scheme}\t{sf}\t{table}\t{chunk}\t{got[0]} rows")
        left = [f for f in os.listdir(d) if f.startswith(".")]
        if left:
            print("BAD\tfiles left behind:", left)
            bad += 1
    return bad


def check_pool(args):
    size, want = POOL[args.pool]
    proc = subprocess.Popen([args.dump, "-t", str(args.threads), "pool"],
                            stdout=subprocess.PIPE)
    h, total = hashlib.sha256(), 0
    while block := proc.stdout.read(1 << 20):
        h.update(block[:max(0, size - total)])
        total += len(block)
    ok = proc.wait() == 0 and total == POOL_BYTES and h.hexdigest() == want
    print(f"{'ok' if ok else 'BAD'}\tpool {args.pool}\t{total} bytes")
    return 0 if ok else 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dump")
    p.add_argument("vectors")
    p.add_argument("--scheme")
    p.add_argument("--sf", type=lambda s: s.split(","))
    p.add_argument("--chunked", choices=["yes", "no"])
    p.add_argument("--pool", choices=["quick", "whole"])
    p.add_argument("--threads", type=int, default=2)
    args = p.parse_args()
    if args.pool:
        return check_pool(args)
    runs = groups(args.vectors, args)
    if not runs:
        print("no vector selected")
        return 1
    return 1 if sum(check_run(args, k, v) for k, v in runs.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
