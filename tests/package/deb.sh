#!/usr/bin/env bash
# Makes the Debian package, unpacks it into a folder, and from there runs the command line, a program linked against the
# library, and the library of the ADBC driver.
#
#   deb.sh CPACK BUILD_DIR SOURCE_DIR SCRATCH_DIR CC
set -euo pipefail

cpack=$1 build=$2 source=$3 scratch=$4 cc=$5

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

rm -rf "$scratch"
mkdir -p "$scratch"
"$cpack" --config "$build/CPackConfig.cmake" -B "$scratch/made" >"$scratch/cpack.log" 2>&1 || {
    cat "$scratch/cpack.log" >&2
    exit 1
}
deb=$(echo "$scratch"/made/*.deb)
[[ $(basename "$deb") == heddle_0.1.0_*.deb ]] || fail "the package is named $deb"

# Shared libraries that it links with are packages that it depends on.
depends=$(dpkg-deb -f "$deb" Depends)
for wanted in libc6 libcjson1 libxxhash0 libllvm; do
    [[ $depends == *"$wanted"* ]] || fail "no $wanted among the dependencies: $depends"
done

root=$scratch/root
dpkg-deb -x "$deb" "$root"
grep -q '^linux_amd64 = "/usr/lib.*/libadbc_driver_heddle.so"$' "$root/etc/adbc/drivers/heddle.toml" ||
    fail "the manifest names another library"

export LD_LIBRARY_PATH HEDDLE_CACHE=''
lib=$(dirname "$(find "$root/usr/lib" -name libadbc_driver_heddle.so)")
LD_LIBRARY_PATH=$lib
"$root/usr/bin/heddle" gen tpch --sf 0.001 --out "$scratch/db"
"$root/usr/bin/heddle" bench tpch --db "$scratch/db" --queries q01 --backend cpu >"$scratch/bench" ||
    fail "a query of an installed suite failed"
"$root/usr/bin/heddle" run "$source/examples/revenue.json" --db "$scratch/db" --format csv | grep -q '^l_shipmode,revenue,items$' ||
    fail "a plan gave no rows"

"$cc" -std=c11 -I"$root/usr/include" "$source/examples/embed.c" -L"$lib" -lheddle -o "$scratch/embed"
"$scratch/embed" | grep -q '^apple  10 pieces' || fail "a program with the packaged library gave no rows"
if ldd "$lib/libadbc_driver_heddle.so" | grep 'not found'; then
    fail "the ADBC driver lacks libraries"
fi
