#!/usr/bin/env bash
# Formats the C sources (.clang-format), with the clang-format of build/venv: versions differ in what they do.
#
#   scripts/format.sh [--check] [FILE]...      --check only names files that would change
set -euo pipefail
cd "$(dirname "$0")/.."

clang_format=build/venv/bin/clang-format
check=
if [ "${1:-}" = --check ]; then
    check=1
    shift
fi
files=("$@")
if [ "${#files[@]}" -eq 0 ]; then
    mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.c' '*.h')
fi

status=0
for file in "${files[@]}"; do
    if [ -z "$check" ]; then
        "$clang_format" -i "$file"
    elif ! "$clang_format" "$file" | cmp -s - "$file"; then
        echo "$file"
        status=1
    fi
done
exit "$status"
