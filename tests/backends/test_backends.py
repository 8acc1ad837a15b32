#!/usr/bin/env python3
"""A binary tells which backends it has: in `heddle info`, to who asks for one, and to who asks for its code.

    test_backends.py HEDDLE SCRATCH cpu=0|1 cuda=0|1
"""
import json
import pathlib
import subprocess
import sys

PLAN = {"heddle": 1, "root": {"op": "values", "columns": [{"name": "n", "type": "int64"}], "rows": [[1], [2]]}}
# Backend: option of CMake, member of `heddle info`, stages of explain that need no device.
BACKENDS = {"cpu": ("HEDDLE_LLVM", "llvm", ["llvm", "llvm-opt", "asm"]), "cuda": ("HEDDLE_CUDA", "cuda_driver", ["cuda"])}


def main():
    heddle, scratch = sys.argv[1:3]
    has = {name: flag == "1" for name, flag in (arg.split("=") for arg in sys.argv[3:])}
    plan = pathlib.Path(scratch) / "plan.json"
    plan.write_text(json.dumps(PLAN))

    def call(*args):
        return subprocess.run([heddle, *args], capture_output=True, text=True)

    info = json.loads(call("info", "--json").stdout)
    some = next(name for name in has if has[name])
    for name, (option, member, stages) in BACKENDS.items():
        missing = f"this build is without the {name} backend ({option}=OFF)"
        assert has[name] == (info.get(member + "_missing") != missing), info
        assert has[name] or info[member] is None, info
        pipelines = call("explain", str(plan), "--backend", name)
        assert (pipelines.returncode == 0) == has[name], pipelines
        assert has[name] or pipelines.returncode == 3 and missing in pipelines.stderr, pipelines
        for stage in stages:
            text = call("explain", str(plan), "--backend", some, "--dump", stage)
            assert (text.returncode == 0 and text.stdout != "") == has[name], text
            assert has[name] or missing in text.stderr, text
    rows = call("run", str(plan), "--format", "csv")
    if has["cpu"]:
        assert rows.stdout == "n\n1\n2\n", rows
    elif info["cuda_driver"] is None:
        assert rows.returncode == 3 and "backend cuda: " in rows.stderr, rows
    unknown = call("explain", str(plan), "--backend", "tpu")
    assert unknown.returncode == 2 and "expected auto" in unknown.stderr, unknown


main()
