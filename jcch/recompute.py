#!/usr/bin/env python3
"""Computes the answers of the suite anew, with DuckDB; tpch/compare/lib/answers.py says how it is used.

The queries are TPC-H's own (tpch/compare/sql), averages and quotients given as exact sums and counts
(tests/tpch/exact). sql/ holds what replaces a query that DuckDB cannot answer in decent time.
"""

import sys
from pathlib import Path

JCCH = Path(__file__).resolve().parent
ROOT = JCCH.parent
sys.path.insert(0, str(ROOT / "tpch" / "compare" / "lib"))

import answers  # noqa: E402
import suite as suites  # noqa: E402

if __name__ == "__main__":
    sys.exit(answers.recompute(JCCH, (JCCH / "sql", ROOT / "tests" / "tpch" / "exact", suites.SQL)))
