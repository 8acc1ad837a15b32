#!/usr/bin/env python3
"""Points of a galaxy catalogue that nobody observed: uniform ones and clusters in a box of 100, as CSV and schema.

Usage: make_data.py FOLDER [--points N] [--seed N]     then  heddle load --schema FOLDER/schema.json --from FOLDER --out DB
"""
import argparse
import json
import pathlib
import random
import struct

BOX = 100.0


def float32(v):
    return struct.unpack("f", struct.pack("f", v))[0]


def make(folder, points, seed):
    draw = random.Random(seed)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    centres = [[draw.uniform(0, BOX) for _ in range(3)] for _ in range(max(1, points // 50))]
    with open(folder / "point.csv", "w") as f:
        f.write("id,x,y,z,mass\n")
        for i in range(points):
            at = draw.choice(centres) if i % 2 else None  # every other point belongs to a cluster
            place = [draw.gauss(c, 2.0) % BOX for c in at] if at else [draw.uniform(0, BOX) for _ in range(3)]
            f.write(",".join([str(i), *(repr(float32(v)) for v in place), str(draw.randint(1, 1000))]) + "\n")
    columns = [("id", "int32"), ("x", "float32"), ("y", "float32"), ("z", "float32"), ("mass", "int32")]
    schema = {"format": {"delimiter": ",", "header": True, "null": "", "trailing_delimiter": False},
              "tables": [{"name": "point", "columns": [{"name": n, "type": t} for n, t in columns], "primary_key": ["id"]}]}
    (folder / "schema.json").write_text(json.dumps(schema))


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("folder")
    ap.add_argument("--points", type=int, default=2000)
    ap.add_argument("--seed", type=int, default=12)
    args = ap.parse_args()
    make(args.folder, args.points, args.seed)
