#!/usr/bin/env bash
# Builds the Python wheel into build/dist: one for every Python 3, with LLVM, zstd and zlib inside.
#
#   scripts/wheel.sh
#
# The tag says which glibc it needs, that of the machine that builds it: 2.36 on Debian 12.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

python=build/venv/bin/python
[ -x "$python" ] || python=python3
dist=build/dist
mkdir -p "$dist" build/wheel-raw
rm -f build/wheel-raw/*.whl
if command -v ccache >/dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache; fi
export CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL="$jobs"

say "building the wheel"
"$python" -m pip wheel ./python --no-deps --no-build-isolation --quiet -w build/wheel-raw

glibc=$(getconf GNU_LIBC_VERSION | awk '{ sub(/\./, "_", $2); print $2 }')
"$python" -m wheel tags --remove --platform-tag "manylinux_${glibc}_x86_64" build/wheel-raw/*.whl >/dev/null
mv build/wheel-raw/*.whl "$dist"
ls -l "$dist"/*.whl
