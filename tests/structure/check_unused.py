#!/usr/bin/env python3
"""Functions and data that no other file of the product uses, and members of structs that nothing looks at.

What its own file alone uses is to be static there (then the compiler says when nothing does), what nothing uses is to go.
Names of the public header are roots.

    check_unused.py LAYERS.json OBJECT...      objects of the product beside those of the layers
"""
import collections
import fnmatch
import re
import sys

import layers as model

# Names that only tests use from outside, or that nm does not see used; and why. An entry that nothing needs fails.
SYMBOLS = {
    "heddle_*": "the public API",
    "main": "the system calls it",
    "cgl_*": "emitters of expressions, which one macro declares for all operators",
    "profile_npages": "written by templates/embed.cmake, which counts what it embeds",
    "hd_fault_arm": "tests let a call of the system fail",
    "hd_fault_calls": "tests count calls of the system",
    "hdr_needle": "tests search without a LIKE around it",
    "hdr_find": "the same",
    "rt_code_cache_dir": "tests damage the cache's files",
    "rt_choose_int_form": "a test tries every range of numbers",
    "rt_col_real": "tests read columns value by value",
    "rt_col_str": "the same",
    "qp_write_file": "tests compare whole sets of parameters",
    "tg_gen_pool": "tests compare the generator's texts",
    "tg_tbl_format": "tests compare the generator's lines",
    "tg_tbl_room": "the same",
    "hd_date_to_civil": "tests check dates by it, which kernels compute in another way",
    "pl_check": "tests of the rules want the broken one, not a fault",
    "pl_cpu_tile": "tests of the emitters plan the tiles of pipelines made by hand",
    "api_gpu_open": "the emulator takes its place (tests/simt/heddle_simt.c)",
}

MEMBERS = {
    "apart": "keeps a word on a cache line of its own",
    "private_driver": "of ADBC's structures, for driver managers",
    "value_length": "the same, for callers",
}

FOLDERS = ("api", "codegen", "frontend", "graph", "planner", "runtime", "ssb", "templates", "tools", "tpch")
STRUCT = re.compile(r"^(?:typedef )?(?:static const )?(?:struct|union)[\w ()\d]*\{\n(.*?)^\}", re.M | re.S)
MEMBER = re.compile(r"(\w+)(?:\[[^\]]*\])*(?: *: *\d+)? *(?=,|$)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def unused_symbols(objects, used):
    users = collections.Counter(symbol for o in objects for symbol in o.uses)
    for o in objects:
        for symbol in sorted(s for s in o.defines if not users[s]):
            root = next((p for p in SYMBOLS if fnmatch.fnmatchcase(symbol, p)), None)
            if root:
                used.add(root)
            else:
                yield f"{o.name}: no other file uses {symbol}: make it static, or remove it"


def members(text):
    """Names of the members of the structs of a file; pointers to functions are not looked for."""
    for struct in STRUCT.finditer(COMMENT.sub("", text)):
        body = re.sub(r"^\s*#.*(?:\\\n.*)*", "", struct.group(1), flags=re.M)
        body = re.sub(r"\benum\b[^{};]*\{[^}]*\}", "enum", body)
        for statement in re.split(r"[;{}]", body):
            if "(" not in statement and not re.fullmatch(r"(struct|union)( \w+)?", statement.strip()):
                yield from MEMBER.findall(statement.strip())


def looked_at(files):
    """Names behind `.` or `->`, in offsets, or in a macro's list."""
    text = COMMENT.sub("", "\n".join(p.read_text() for p in files))
    return (set(re.findall(r"(?:\.|->)\s*(\w+)", text)) | set(re.findall(r"\bX\((\w+)", text))
            | set(re.findall(r"(?:offsetof|HDD_OFFSET)\([^,()]*, *(\w+)\)", text)))


def unused_members(used):
    files = [p for f in FOLDERS for p in (model.ROOT / f).rglob("*") if p.suffix in (".c", ".h", ".def", ".cuh", ".cu")]
    by_host = looked_at(p for p in files if p.suffix in (".c", ".h", ".def"))
    by_device = by_host | looked_at(p for p in files if p.suffix in (".cuh", ".cu"))
    for path in (p for p in files if p.suffix in (".h", ".c")):
        for name in members(path.read_text()):
            if name in (by_device if "templates" in path.parts else by_host):
                continue
            used.add(name)
            if name not in MEMBERS:
                yield f"{path.relative_to(model.ROOT)}: nothing looks at the member {name}"


def main():
    layers = model.read(sys.argv[1])
    used = set()
    objects = model.objects([layer.library for layer in layers.values()] + sys.argv[2:])
    found = list(unused_symbols(objects, used)) + sorted(set(unused_members(used)))
    found += [f"nothing needs the exception {name}" for name in {**SYMBOLS, **MEMBERS} if name not in used]
    print("\n".join(found) if found else f"{sum(len(o.defines) for o in objects)} symbols of {len(objects)} objects")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
