#!/usr/bin/env bash
# libheddle defines no dynamic symbol but those of include/heddle.h.
#
#   exports.sh LIBRARY
set -euo pipefail

# What linkers and sanitizers add by themselves does not count.
own='^(_init|_fini|_edata|_end|__bss_start|__odr_asan.*)$'
names=$(nm -D --defined-only "$1" | awk '{print $NF}' | sed 's/@.*//' | grep -vE "$own" | sort -u)
if other=$(grep -v '^heddle_' <<<"$names"); then
    printf 'exported beside the API:\n%s\n' "$other" >&2
    exit 1
fi

header=$(dirname "$0")/../../include/heddle.h
declared=$(grep -oE '\bheddle_[a-z_]+\(' <(grep -v '^ \*' "$header" | tr '\n' ' ' |
    grep -oE 'HEDDLE_API [^;]*;') | tr -d '(' | sort -u)
diff <(echo "$declared") <(echo "$names") || {
    echo 'the header (<) and the library (>) differ' >&2
    exit 1
}
