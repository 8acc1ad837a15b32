#!/usr/bin/env python3
"""Writes the tables of tests/simt/make_small.py and make_groups.py side by side, and one of float32, for `heddle load`.

    make_db.py DIR
"""

import json
import subprocess
import sys
from pathlib import Path

SIMT = Path(__file__).resolve().parent.parent / "simt"
POINTS = 2000


def points(out):
    """float32: x never NULL, y sometimes; few values, so that they meet."""
    rows = [f"{i},{(i * 37 % 64 - 32) / 8!r},{'' if i % 9 == 0 else repr((i * 53 % 128 - 64) / 4)}\n" for i in range(POINTS)]
    (out / "point.csv").write_text("id,x,y\n" + "".join(rows))
    columns = [{"name": "id", "type": "int32"}, {"name": "x", "type": "float32"},
               {"name": "y", "type": "float32", "nullable": True}]
    return {"name": "point", "columns": columns, "primary_key": ["id"]}


def main():
    out = Path(sys.argv[1])
    schema = None
    for script in ("make_small.py", "make_groups.py"):
        subprocess.run([sys.executable, "-B", SIMT / script, out], check=True)
        made = json.loads((out / "schema.json").read_text())
        tables = schema["tables"] if schema else []
        schema = {**made, "tables": tables + made["tables"]}
    schema["tables"].append(points(out))
    (out / "schema.json").write_text(json.dumps(schema, indent=2))


if __name__ == "__main__":
    main()
