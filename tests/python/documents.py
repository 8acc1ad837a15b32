"""Examples of Python in pages: each page's are one session, with the output that they show.

Usage: documents.py PAGE.md...   (blocks that begin with ```python and have >>>)
"""
import doctest
import importlib.util
import os
import pathlib
import re
import sys
import tempfile

try:
    import pyarrow  # noqa: F401
    import heddle
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)
SQL = importlib.util.find_spec("datafusion") is not None


def main():
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    pages = [pathlib.Path(p).resolve() for p in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for page in pages:
            globs = {}
            for found in re.finditer(r"```python\n(.*?)```", page.read_text(), re.S):
                if ">>>" in found[1] and (SQL or "sql(" not in found[1]):
                    line = page.read_text()[:found.start()].count("\n") + 1
                    test = doctest.DocTestParser().get_doctest(found[1], globs, page.name, str(page), line)
                    runner.run(test, clear_globs=False)
                    globs = test.globs
        os.chdir("/")
    print(f"{runner.tries} examples, {runner.failures} failed")
    return 1 if runner.failures or not runner.tries else 0


sys.exit(main())
