#!/usr/bin/env bash
# Installs what a build and the tests need, on Debian 12 or Ubuntu 24.04, as root or with sudo.
# Does nothing, in a fraction of a second, where all is there. docs/dependencies.md says what
# each package is for.
#
#   scripts/setup.sh [build|test|ray]  build: only what compiling needs; default: test; ray: also build/venv-ray
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -- "$@"; fi
}

is_debian() {
    [ "$(. /etc/os-release && printf '%s' "${ID:-}")" = debian ]
}

# The LLVM of the distribution: the newest that has been tried on it.
llvm_version() {
    local name version
    name=$(. /etc/os-release && printf '%s' "${ID:-}")
    version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
    case "$name-$version" in
    debian-12) echo 19 ;;
    ubuntu-24.04) echo 18 ;;
    *) newest_llvm ;;
    esac
}

newest_llvm() {
    local v
    for v in 22 21 20 19 18 17 16; do
        if command -v "llvm-config-$v" >/dev/null || apt-cache show "llvm-$v-dev" >/dev/null 2>&1; then
            echo "$v"
            return
        fi
    done
    echo 19
}

packages() {
    local llvm
    llvm=$(llvm_version)
    printf '%s\n' gcc libc6-dev cmake ninja-build pkg-config libcjson-dev libxxhash-dev \
        "llvm-$llvm-dev"
    [ "$1" != build ] || return 0
    printf '%s\n' g++ ccache libcmocka-dev "clang-$llvm" "libclang-rt-$llvm-dev" python3 python3-venv \
        binutils valgrind dpkg-dev libzstd-dev zlib1g-dev
    if is_debian; then echo chromium-headless-shell; fi # Ubuntu's packages hold none
}

missing_packages() {
    local p
    for p in $(packages "$1"); do
        dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || echo "$p"
    done
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$1")
    [ "${#missing[@]}" -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "scripts/setup.sh: this system has no apt-get; install: ${missing[*]}" >&2
        exit 1
    fi
    say "installing ${missing[*]}"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" >/dev/null
}

# install_venv VENV LIST: Python packages in a virtual environment; the stamp is the list they were installed from.
install_venv() {
    local venv=$1 list=$2
    if [ -x "$venv/bin/python" ] && cmp -s "$list" "$venv/installed.txt"; then
        return 0
    fi
    say "installing Python packages into $venv"
    mkdir -p build
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$list"
    cp "$list" "$venv/installed.txt"
}

what=${1:-test}
case "$what" in
build | test | ray) ;;
*)
    echo "usage: scripts/setup.sh [build|test|ray]" >&2
    exit 2
    ;;
esac
install_packages "$what"
if [ "$what" != build ]; then
    install_venv build/venv scripts/requirements.txt
fi
if [ "$what" = ray ]; then
    install_venv build/venv-ray scripts/requirements-ray.txt
fi
