"""The lines of Python with which README begins, in an empty folder with the file that they name.

Usage: newcomer.py README
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LINES = 5  # no more than that


def main():
    code = re.search(r"```python\n(.*?)```", pathlib.Path(sys.argv[1]).read_text(), re.S)[1]
    lines = [line for line in code.splitlines() if line.strip()]
    if len(lines) > LINES:
        sys.exit(f"README promises {LINES} lines and has {len(lines)}")
    import pyarrow
    import pyarrow.parquet
    with tempfile.TemporaryDirectory() as folder:
        cities = ["Ulm", "Jena", "Kiel", "Ulm", "Jena", "Bonn"]
        pyarrow.parquet.write_table(pyarrow.table({"city": cities, "price": [5, 2, 9, 1, 3, 4]}), f"{folder}/sale.parquet")
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, env={**os.environ})
    if done.returncode:
        sys.exit(done.stderr)
    rows = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines() if "|" in line]
    want = [["city", "total"], ["Kiel", "9"], ["Ulm", "6"], ["Jena", "5"]]
    if rows != want or "execute" not in done.stdout:
        sys.exit(f"expected {want} and times, found\n{done.stdout}")


try:
    import datafusion  # noqa: F401
    import pyarrow  # noqa: F401
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)
main()
