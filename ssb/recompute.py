#!/usr/bin/env python3
"""Computes the answers of the suite anew, with DuckDB; tpch/compare/lib/answers.py says how it is used."""

import sys
from pathlib import Path

SSB = Path(__file__).resolve().parent
sys.path.insert(0, str(SSB.parent / "tpch" / "compare" / "lib"))

import answers  # noqa: E402

if __name__ == "__main__":
    sys.exit(answers.recompute(SSB, (SSB / "sql",)))
