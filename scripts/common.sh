# Shared by the scripts that build; sourced, not run.
# shellcheck shell=bash

say() { printf -- '-- %s\n' "$*"; }

jobs=$(nproc)

# configure PRESET [CMAKE ARGUMENT]...: with ccache and the tests' Python where they are.
configure() {
    local preset=$1 log="build/$1.configure.log"
    local args=("--preset" "$preset")
    shift
    if command -v ccache >/dev/null; then
        args+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    fi
    if [ -x build/venv/bin/python ]; then
        args+=("-DPython3_EXECUTABLE=$PWD/build/venv/bin/python")
    fi
    mkdir -p build
    cmake "${args[@]}" "$@" >"$log" 2>&1 || {
        cat "$log"
        return 1
    }
}

# build PRESET [TARGET]...
build() {
    local preset=$1
    shift
    say "building build/$preset"
    cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"} -- --quiet
}

# A number that the commit decides; 1 outside of a checkout.
commit_number() {
    local commit
    commit=$(git rev-parse HEAD 2>/dev/null || echo 1)
    echo $((16#${commit:0:7}))
}
