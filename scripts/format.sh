#!/usr/bin/env bash
# Formats the C sources (.clang-format), with the clang-format of build/venv: versions differ in what they do.
#
#   scripts/format.sh [--check] [FILE]...      --check only names files that would change, and fails if there are any
set -euo pipefail
cd "$(dirname "$0")/.."

clang_format=build/venv/bin/clang-format
if [ ! -x "$clang_format" ]; then
    echo "scripts/format.sh: no $clang_format (scripts/setup.sh installs it)" >&2
    exit 77
fi
check=
if [ "${1:-}" = --check ]; then
    check=1
    shift
fi
files=("$@")
if [ "${#files[@]}" -eq 0 ]; then
    mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.c' '*.h')
fi

if [ -z "$check" ]; then
    printf '%s\0' "${files[@]}" | xargs -0 "$clang_format" -i
    exit
fi
# What it would change are warnings of the form FILE:LINE:COLUMN: ...
said=$(printf '%s\0' "${files[@]}" | xargs -0 -n 50 -P 2 "$clang_format" --dry-run 2>&1) || {
    printf '%s\n' "$said" >&2
    exit 1
}
[ -n "$said" ] || exit 0
sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: .*/\1/p' <<<"$said" | sort -u
exit 1
