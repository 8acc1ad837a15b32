"""What the scripts of this folder share: the suites as data, and arguments."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tpch" / "compare" / "lib"))

from suite import Suite  # noqa: E402, F401


def words(text):
    return text.split(",")


def parser(doc):
    """Of a script with that docstring, which runs queries of a suite over a database."""
    p = argparse.ArgumentParser(description=doc.split("\n")[0])
    p.add_argument("--heddle", required=True)
    p.add_argument("--db", required=True)
    p.add_argument("--sf", required=True, help="the scale factor of DB")
    p.add_argument("--suite", choices=("tpch", "jcch", "ssb"), default="tpch")
    p.add_argument("--queries", default="")
    return p
