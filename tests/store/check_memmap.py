"""Reads columns with the code that docs/storage.md shows: check_memmap.py STORE_SAMPLE STORAGE_MD"""
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("numpy is not installed")
    sys.exit(77)


def documented_code(path):
    with open(path, encoding="utf-8") as f:
        return re.search(r"```python\n(.*?)```", f.read(), re.S).group(1)


def main(sample, doc):
    scope = {}
    exec(documented_code(doc), scope)
    read = scope["read_int_column"]
    with tempfile.TemporaryDirectory(dir=".") as d:
        db = os.path.join(d, "db")
        subprocess.run([sample, db], check=True)
        i = numpy.arange(70000, dtype="int64")
        assert (read(db, "sample", "narrow") == i % 100 - 50).all()
        assert (read(db, "sample", "day") == 10000 + i % 300).all()
        assert (read(db, "sample", "money") == i % 50 * 100).all()
        wide = read(db, "sample", "wide")
        assert (wide.mask == (i % 3 == 0)).all()
        assert (wide == i * i * 1000003).all()


main(*sys.argv[1:])
