#!/usr/bin/env bash
# The wheel: built, small, tied to nothing but the C library, and what a newcomer does with it in an empty environment.
#
#   wheel.sh SOURCE SCRATCH PYTHON
set -euo pipefail
source=$1 scratch=$2 python=$3

"$python" -c 'import scikit_build_core, wheel' 2>/dev/null || {
    echo 'skipped: scikit-build-core and wheel are not installed (scripts/requirements.txt)'
    exit 77
}
"$source/scripts/wheel.sh"
wheel=$(ls "$source"/build/dist/heddle-*.whl)
case $wheel in *-py3-none-manylinux_2_*_x86_64.whl) ;; *) echo "an odd tag: $wheel" >&2; exit 1 ;; esac
[ "$(stat -c %s "$wheel")" -le 25000000 ] || { echo "$wheel is larger than 25 MB" >&2; exit 1; }

rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch"
"$python" -m venv empty
empty/bin/pip install --quiet "$wheel[sql]" >pip.log 2>&1 || {
    if grep -qiE 'connection|network|name resolution' pip.log; then
        echo 'skipped: no network'
        exit 77
    fi
    cat pip.log >&2
    exit 1
}
package=$(empty/bin/python -c 'import heddle, os; print(os.path.dirname(heddle.__file__))')
case $package in "$scratch"/empty/*) ;; *) echo "another package: $package" >&2; exit 1 ;; esac
[ "$(du -sm --exclude=__pycache__ "$package" | cut -f1)" -le 60 ] || { echo "more than 60 MB installed" >&2; exit 1; }

# Of this system, the C library alone; nothing but the API to be seen.
for file in lib/libheddle.so.0 bin/heddle libexec/heddle/heddle-nvrtc; do
    if other=$(ldd "$package/$file" | grep -vE 'linux-vdso|ld-linux|lib(c|m|dl|rt|pthread)\.so' | grep -v "$package"); then
        echo "$file needs $other" >&2
        exit 1
    fi
done
if nm -D --defined-only "$package/lib/libheddle.so.0" | awk '{ print $NF }' | grep -v '^heddle_'; then
    echo 'exported beside the API' >&2
    exit 1
fi

empty/bin/python "$source/tests/python/newcomer.py" "$source/README.md"
empty/bin/python -m heddle gen tpch --sf 0.01 --out tpch
empty/bin/python -m heddle bench tpch --db tpch --queries 6 --repeat 1
empty/bin/python -m heddle sql 'select count(*) as n from nation' --db tpch | grep 25 >/dev/null
