"""docs/plan.schema.json against the plans of the tree.

Every good plan is valid; a bad plan of tests/errors is rejected or accepted as the line "schema:"
of its expect file says ("unreadable": it is not JSON that the reader takes, so no schema sees
it). The schema's operators are those of the tables. Exit status 77: jsonschema is not installed.
"""
import json
import pathlib
import re
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: the Python package jsonschema is not installed")
    sys.exit(77)

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ("tpch", "jcch", "ssb", "examples", "tests", "docs")
failures = []


def fail(what):
    failures.append(what)


def good_plans():
    """(name, plan) of every JSON file and every documented example that is a plan."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.json")):
            if path.parent == ROOT / "tests" / "errors":
                continue
            try:
                plan = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                continue
            if isinstance(plan, dict) and "heddle" in plan and "root" in plan:
                yield str(path.relative_to(ROOT)), plan
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if not path.exists():
            continue
        blocks = re.findall(r"^```json\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
        for number, block in enumerate(blocks, 1):
            if '"heddle"' in block and '"root"' in block:
                document = json.loads(block)
                for plan in [f["plan"] for f in document.get("fragments", [])] or [document]:
                    yield f"{path.name}, example {number}", plan


def check_good(validator):
    count = 0
    for name, plan in good_plans():
        count += 1
        for error in validator.iter_errors(plan):
            where = "/".join(map(str, error.absolute_path))
            fail(f"{name}: {where}: {error.message[:200]}")
    return count


def check_bad(validator):
    count = 0
    for path in sorted((ROOT / "tests" / "errors").glob("*.json")):
        expect = path.with_suffix(".expect").read_text(encoding="utf-8")
        word = re.search(r"^schema: (\w+)$", expect, re.M)
        if not word or word[1] not in ("rejects", "accepts", "unreadable"):
            fail(f"{path.name}: its expect file has no line \"schema: rejects|accepts|unreadable\"")
            continue
        if word[1] == "unreadable":
            continue
        count += 1
        valid = validator.is_valid(json.loads(path.read_text(encoding="utf-8")))
        if valid != (word[1] == "accepts"):
            fail(f"{path.name}: the schema {'accepts' if valid else 'rejects'} it, not {word[1]}")
    return count


def table_names(file, macro):
    """Texts of the rows, without those that are not written as operators."""
    text = (ROOT / "frontend" / file).read_text(encoding="utf-8")
    rows = re.findall(rf'^{macro}\(\w+,\s*"?([^",]*)"?(.*)$', text, re.M)
    return {name for name, rest in rows if not re.match(r",\s*-?\d+,\s*-?\d+,\s*(NONE|NAME|LITERAL|PARAMETER),", rest)}


def check_tables(schema):
    defs = schema["$defs"]
    for where, file, macro in (("operator", "relops.def", "T_REL"), ("operation", "ops.def", "T_(?:OP|FUNCTION|FLOAT|TEXT|MADE|REWRITTEN)")):
        listed = set(defs[where]["properties"]["op"]["enum"])
        known = table_names(file, macro)
        if listed != known:
            fail(f"{where}: the schema and {file} differ in {sorted(listed ^ known)}")


def main():
    schema = json.loads((ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    good, bad = check_good(validator), check_bad(validator)
    check_tables(schema)
    print(f"{good} good plans, {bad} bad plans")
    for line in failures:
        print(line)
    sys.exit(1 if failures or not good or not bad else 0)


main()
