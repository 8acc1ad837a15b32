#!/usr/bin/env python3
"""Device libraries (templates/library_*.cu) keep to the registers that the kernels linked with them have.

A kernel of which so many warps are to fit a multiprocessor has a limit of registers, and the linker refuses to let it call a
function that was compiled with a larger one. Usage: check_registers.py TEMPLATES
"""
import re
import sys
from pathlib import Path

REGISTERS = 65536  # of a multiprocessor
GRANULE = 8  # a thread has a multiple of these


def allowed(warps):
    return REGISTERS // (32 * warps) // GRANULE * GRANULE


def main():
    folder = Path(sys.argv[1])
    text = "\n".join(f.read_text(encoding="utf-8") for f in sorted(folder.glob("*.cuh")))
    warps = {k: int(re.search(rf"\b{k} *=? *(\d+)", text)[1]) for k in ("HDD_LOOKING_WARPS", "HDD_RESIDENT_WARPS")}
    wrong = seen = 0
    for path in sorted(folder.glob("library_*.cu")):
        limit = int(re.match(r"//!.*--maxrregcount=(\d+)", path.read_text(encoding="utf-8"))[1])
        # Kernels that share work are compiled for fewer warps than those that look up, and alone call that library.
        most = allowed(warps["HDD_RESIDENT_WARPS"] if path.stem == "library_share" else max(warps.values()))
        seen += 1
        if limit > most:
            wrong += 1
            print(f"{path.name}: {limit} registers; kernels that call it have {most}")
    print(f"{seen} libraries, {wrong} above the registers of kernels")
    return wrong > 0 or seen == 0


if __name__ == "__main__":
    sys.exit(main())
