"""The examples in the package's docstrings."""
import doctest
import importlib
import importlib.util
import pkgutil
import sys

try:
    import pyarrow  # noqa: F401
except ImportError:
    print("skipped: no pyarrow")
    sys.exit(77)
import heddle

# Name of what an example is of: what it needs.
NEEDS = {"sql": "datafusion"}


class Finder(doctest.DocTestFinder):
    def find(self, *args, **kwargs):
        for test in super().find(*args, **kwargs):
            needed = NEEDS.get(test.name.rsplit(".", 1)[-1])
            if needed and importlib.util.find_spec(needed) is None:
                print(f"{test.name}: skipped: no {needed}")
            else:
                yield test


def main():
    found = failed = 0
    without = {"__main__"} | ({"ray"} if importlib.util.find_spec("ray") is None else set())
    modules = [heddle] + [importlib.import_module(f"heddle.{m.name}") for m in pkgutil.iter_modules(heddle.__path__)
                          if m.name not in without]
    runner = doctest.DocTestRunner()
    for module in modules:
        for test in Finder().find(module, globs={}):
            runner.run(test)
    failed, found = runner.failures, runner.tries
    print(f"{found} examples, {failed} failed")
    return 1 if failed or not found else 0


sys.exit(main())
