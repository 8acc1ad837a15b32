#!/usr/bin/env python3
"""Writes the tables of tests/simt/make_small.py and make_groups.py side by side, for `heddle load`.

    make_db.py DIR
"""

import json
import subprocess
import sys
from pathlib import Path

SIMT = Path(__file__).resolve().parent.parent / "simt"


def main():
    out = Path(sys.argv[1])
    schema = None
    for script in ("make_small.py", "make_groups.py"):
        subprocess.run([sys.executable, "-B", SIMT / script, out], check=True)
        made = json.loads((out / "schema.json").read_text())
        tables = schema["tables"] if schema else []
        schema = {**made, "tables": tables + made["tables"]}
    (out / "schema.json").write_text(json.dumps(schema, indent=2))


if __name__ == "__main__":
    main()
