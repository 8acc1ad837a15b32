#!/usr/bin/env python3
"""Plans of Heddle written as Substrait: read again they give the same rows, whatever the form; and others can read them.

Usage: written.py --heddle BIN --suite tpch|jcch|ssb|tpcds|examples [--sf F] [--queries LIST]
       written.py --heddle BIN --others [--sf F]

--others: DataFusion runs the plans of TPC-H, with the values of their parameters, over the same data; REFUSED has those that it does
not take, and why. Protobuf's own reader takes both forms, as one plan, and every function but Heddle's own is one of Substrait's
extensions (PyPI: substrait).
"""

import argparse
import csv
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "substrait"), str(ROOT / "tpcds"), str(ROOT / "tpch" / "compare" / "lib")]

import producer  # noqa: E402

# Plans that DataFusion's consumer does not take, and what it says of them.
ENUMS = "non-Value type not supported"  # extract(YEAR, x): of enum arguments
TREES = "more than 1 relation trees"  # a shared subplan is a relation of its own
AMOUNT = "\"add_days\""  # an interval whose amount is a parameter: a function of Heddle's own
REFUSED = {"q01": AMOUNT, "q02": TREES, "q07": ENUMS, "q08": ENUMS, "q09": ENUMS, "q17": TREES, "q20": TREES, "q21": TREES}


class Failed(Exception):
    pass


def heddle(args, *command):
    done = subprocess.run([args.heddle, *map(str, command)], capture_output=True, check=False, timeout=300)
    if done.returncode:
        raise Failed(done.stderr.decode().strip())
    return done.stdout


def convert(args, plan, form, out, *more):
    out.write_bytes(heddle(args, "convert", plan, "--to", form, *more))
    return out


def rows(args, plan, db):
    text = heddle(args, "run", plan, "--db", db, "--backend", "cpu", "--format", "csv").decode()
    return text.splitlines()


def equal(a, b):
    """Floats are sums in any order."""
    if a == b:
        return True
    try:
        return "." in a and math.isclose(float(a), float(b), rel_tol=1e-12)
    except ValueError:
        return False


def difference(found, want, ordered):
    if found[0] != want[0] or len(found) != len(want):
        return f"{len(found)} lines, {found[0]} in place of {len(want)}, {want[0]}"
    pairs = zip(found[1:], want[1:]) if ordered else zip(sorted(found[1:]), sorted(want[1:]))
    for a, b in pairs:
        if a != b and not all(map(equal, next(csv.reader([a])), next(csv.reader([b])))):
            return f"{a} in place of {b}"
    return None


# ---- the round trip ----

def one(args, plan, db, scratch):
    """What is wrong, or None."""
    name = plan.stem
    text, binary = scratch / f"{name}.substrait.json", scratch / f"{name}.pb"
    try:
        convert(args, plan, "substrait-json", text, "--db", db)
        convert(args, plan, "substrait", binary, "--db", db)
    except Failed as error:
        return str(error)
    own = [heddle(args, "convert", p) for p in (text, binary, convert(args, text, "substrait", scratch / "again.pb"))]
    if own[0] != own[1] or own[0] != own[2]:
        return "the JSON and the binary form are not the same plan"
    ordered = json.loads(plan.read_text(encoding="utf-8"))["root"]["op"] == "sort"
    return difference(rows(args, binary, db), rows(args, plan, db), ordered)


def generated(args, scratch, name):
    heddle(args, "gen", name, "--sf", args.sf, "--out", scratch / "db")
    return scratch / "db"


def tpcds(args, scratch, name):
    import data
    if data.why_not():
        raise LookupError(data.why_not())
    made = [sys.executable, str(data.HERE / "make.py"), "--sf", args.sf, "--out", f"{scratch}/db", "--heddle", args.heddle]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    return scratch / "db"


SUITES = {"tpch": (generated, "tpch/plans"), "jcch": (generated, "jcch/plans"), "ssb": (generated, "ssb/plans"),
          "tpcds": (tpcds, "tpcds/plans"), "examples": (None, "examples")}


def suite(args, scratch):
    make, folder = SUITES[args.suite]
    db = make(args, scratch, args.suite) if make else generated(args, scratch, "tpch")
    plans = sorted((ROOT / folder).glob("*.json"))
    chosen = args.queries.split(",") if args.queries else [p.stem for p in plans]
    wrong = {p.stem: one(args, p, db, scratch) for p in plans if p.stem in chosen}
    return report(wrong, "give the same rows from Substrait")


# ---- other readers ----

def with_values(plan):
    """The plan with what its parameters are bound to, which not every reader knows."""
    values = {b.get("parameterAnchor", 0): b["value"] for b in plan.get("parameterBindings", [])}

    def walk(x):
        if isinstance(x, list):
            return [walk(y) for y in x]
        if not isinstance(x, dict):
            return x
        if "dynamicParameter" in x:
            return {"literal": values[x["dynamicParameter"].get("parameterReference", 0)]}
        return {k: walk(v) for k, v in x.items()}
    return walk({k: v for k, v in plan.items() if k != "parameterBindings"})


def strictly(text, binary):
    """What protobuf and the extensions' own files have against it, or None."""
    from google.protobuf.json_format import ParseDict
    from substrait.plan_pb2 import Plan
    document = json.loads(text)
    plan, other = ParseDict(document, Plan()), Plan.FromString(binary)
    if plan.SerializeToString(deterministic=True) != other.SerializeToString(deterministic=True):
        return "protobuf reads two plans"
    urns = {u["extensionUrnAnchor"]: u["urn"] for u in document["extensionUrns"]}
    for e in document["extensions"]:
        f = e["extensionFunction"]
        urn = urns[f["extensionUrnReference"]]
        if not urn.startswith("extension:io.heddle:") and f["name"] not in functions()[urn]:
            return f"{f['name']} is not in {urn}"
    return None


SHORT = {"boolean": "bool", "string": "str", "binary": "vbin", "precision_timestamp": "pts", "precision_time": "pt",
         "interval_year": "iyear", "interval_day": "iday", "decimal": "dec"}


def short_name(argument):
    if "options" in argument:
        return "req"
    name = str(argument["value"]).lower().partition("<")[0].strip().rstrip("?")
    return "any" if name.startswith("any") else SHORT.get(name, name)


KNOWN = {}


def functions():
    """By extension, the names with signatures."""
    if not KNOWN:
        import substrait_extensions
        import yaml
        for path in (Path(list(substrait_extensions.__path__)[0]) / "extensions").glob("functions_*.yaml"):
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
            found = KNOWN.setdefault(document["urn"], set())
            for kind in ("scalar_functions", "aggregate_functions", "window_functions"):
                for f in document.get(kind) or []:
                    found |= {f["name"] + ":" + "_".join(map(short_name, i.get("args") or [])) for i in f["impls"]}
    return KNOWN


def datafusion_rows(ctx, binary):
    from datafusion import substrait
    plan = substrait.Consumer.from_substrait_plan(ctx, substrait.Serde.deserialize_bytes(binary))
    table = ctx.create_dataframe_from_logical_plan(plan).to_arrow_table()
    return [tuple(column[i].as_py() for column in table.columns) for i in range(table.num_rows)]


def loaded(args, scratch, db):
    """A DataFusion context over the same rows."""
    import pyarrow as pa
    import pyarrow.csv
    from datafusion import SessionContext
    heddle(args, "gen", "tpch", "--sf", args.sf, "--tbl", scratch / "tbl")
    ctx = SessionContext()
    for table in json.loads((db / "catalog.json").read_text(encoding="utf-8"))["tables"]:
        columns = [c["name"] for c in table["columns"]] + ["_"]
        types = {c["name"]: producer.arrow_type(c["type"]) for c in table["columns"]}
        made = pyarrow.csv.read_csv(scratch / "tbl" / f"{table['name']}.tbl",
                                    pyarrow.csv.ReadOptions(column_names=columns),
                                    pyarrow.csv.ParseOptions(delimiter="|", quote_char=False),
                                    pyarrow.csv.ConvertOptions(column_types=types, include_columns=columns[:-1],
                                                               strings_can_be_null=False))
        schema = pa.schema([pa.field(f.name, f.type, nullable=False) for f in made.schema])
        ctx.register_record_batches(table["name"], [made.cast(schema).to_batches()])
    return ctx


def elsewhere(args, plan, db, ctx, scratch):
    import queries
    text = convert(args, plan, "substrait-json", scratch / "p.json", "--db", db)
    binary = convert(args, plan, "substrait", scratch / "p.pb", "--db", db).read_bytes()
    wrong = strictly(text.read_text(encoding="utf-8"), binary)
    if wrong:
        return wrong
    text.write_text(json.dumps(with_values(json.loads(text.read_text(encoding="utf-8")))), encoding="utf-8")
    binary = convert(args, text, "substrait", scratch / "v.pb").read_bytes()
    reason = REFUSED.get(plan.stem)
    try:
        found = datafusion_rows(ctx, binary)
    except Exception as error:  # whatever DataFusion has to say
        return None if reason and reason in str(error) else f"DataFusion: {str(error)[:300]}"
    if reason:
        return "DataFusion reads it by now: take it out of REFUSED"
    want = queries.read_csv("\n".join(rows(args, plan, db)))
    return queries.difference([tuple(map(queries.text, row)) for row in found], want)


def others(args, scratch):
    for name in ("substrait", "yaml"):
        if importlib.util.find_spec(name) is None:
            raise LookupError(f"no Python package {name} (scripts/requirements.txt)")
    if producer.why_not():
        raise LookupError(producer.why_not())
    db = generated(args, scratch, "tpch")
    ctx = loaded(args, scratch, db)
    wrong = {p.stem: elsewhere(args, p, db, ctx, scratch) for p in sorted((ROOT / "tpch/plans").glob("*.json"))}
    return report(wrong, f"are strict Substrait; DataFusion gives the rows of {len(wrong) - len(REFUSED)}")


def report(wrong, what):
    for name, error in wrong.items():
        if error:
            print(f"FAIL {name}: {error}")
    failed = sum(1 for e in wrong.values() if e)
    print(f"{len(wrong) - failed} of {len(wrong)} plans {what}")
    return 1 if failed or not wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--suite", choices=sorted(SUITES))
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--queries")
    args = parser.parse_args()
    args.heddle = os.path.abspath(args.heddle)
    with tempfile.TemporaryDirectory(prefix="heddle-written-") as scratch:
        try:
            return others(args, Path(scratch)) if args.others else suite(args, Path(scratch))
        except LookupError as missing:
            print(f"skipped: {missing}")
            return 77


if __name__ == "__main__":
    sys.exit(main())
