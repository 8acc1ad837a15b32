"""Names the Python packages that are missing before any work is done."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path


def require(program, *packages):
    """Ends the program unless all packages are installed. Imports none of them."""
    own = Path(sys.argv[0]).resolve().parent  # holds a duckdb.py that is not the package
    path = [p for p in sys.path if Path(p).resolve() != own]
    missing = [p for p in packages if PathFinder.find_spec(p, path) is None]
    if missing:
        raise SystemExit(f"{program} needs {' and '.join(packages)}: no package {' and '.join(missing)} for {sys.executable}"
                         f" (pip install {' '.join(missing)}; build/venv of this tree has them)")
