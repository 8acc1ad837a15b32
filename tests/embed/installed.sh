#!/usr/bin/env bash
# Installs the build into a fresh prefix, builds examples/embed.c against it in both ways that
# docs/embedding.md names, runs it, and runs the installed binary.
#
#   installed.sh CMAKE BUILD_DIR SOURCE_DIR SCRATCH_DIR CC CFLAGS
set -euo pipefail

cmake=$1 build=$2 source=$3 scratch=$4 cc=$5 flags=$6

rm -rf "$scratch"
mkdir -p "$scratch"
"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/install.log"

# The installed tree must work where it is moved to.
prefix=$scratch/prefix
mv "$scratch/first" "$prefix"
pc_dir=$(dirname "$(find "$prefix" -name heddle.pc)")
lib_dir=$(dirname "$pc_dir")

cat >"$scratch/expected" <<'ROWS'
apple  10 pieces, 11.30
pear   12 pieces, 11.50
plum   25 pieces, 7.50
ROWS

check() {
    HEDDLE_CACHE='' "$1" >"$scratch/found"
    diff "$scratch/expected" "$scratch/found"
}

export PKG_CONFIG_PATH=$pc_dir
read -r -a options <<<"$flags $(pkg-config --cflags --libs heddle)"
"$cc" -std=c11 -Wall -Wextra -Werror "$source/examples/embed.c" "${options[@]}" \
    "-Wl,-rpath,$lib_dir" -o "$scratch/embed"
check "$scratch/embed"

"$cmake" -S "$source/tests/embed/consumer" -B "$scratch/consumer" \
    "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_C_FLAGS=$flags" \
    "-DEMBED_SOURCE=$source/examples/embed.c" >"$scratch/consumer.log"
"$cmake" --build "$scratch/consumer" >>"$scratch/consumer.log"
check "$scratch/consumer/embed"

# The binary finds its library and its suites.
"$prefix/bin/heddle" --version
if "$prefix/bin/heddle" bench tpch --db "$scratch/none" --class none 2>"$scratch/error"; then
    echo "expected an error about the class" >&2
    exit 1
fi
grep -- '--class: expected one of validation' "$scratch/error"
