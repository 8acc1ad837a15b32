#!/usr/bin/env python3
"""Expression tests: groups of three lines, expression, type, value; blank lines and # comments between.

The expression sees one row whose columns are given below, so nothing is a constant to the planner
unless the test writes a literal. A value `error: TEXT` means that the run must fail with class
execution and TEXT in the message. Usage: run.py --heddle BIN FILE.test...
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

COLUMNS = [
    ("i", "int32", 7), ("ineg", "int32", -7), ("imax", "int32", 2147483647), ("imin", "int32", -2147483648),
    ("inull", "int32", None), ("zero", "int32", 0),
    ("j", "int64", "5000000000"), ("jmax", "int64", "9223372036854775807"), ("jmin", "int64", "-9223372036854775808"),
    ("jnull", "int64", None),
    ("d", "decimal(12,2)", "12.34"), ("dneg", "decimal(12,2)", "-12.35"), ("dnull", "decimal(12,2)", None),
    ("dzero", "decimal(12,2)", "0.00"), ("dmax", "decimal(38,0)", "9" * 38), ("d4", "decimal(18,4)", "0.1250"),
    ("dmid", "decimal(38,0)", "6" + "0" * 37), ("dlow", "decimal(38,0)", "12345678901234567890123456789012345678"),
    ("dfine", "decimal(38,37)", "9." + "9" * 37),
    ("f", "float64", 2.5), ("fneg", "float64", -0.5), ("fnull", "float64", None), ("fbig", "float64", 1e300),
    ("g", "float32", "0.1"), ("gneg", "float32", "-2.5"), ("gnull", "float32", None), ("gmax", "float32", "3.4028235e38"),
    ("gtiny", "float32", "1e-45"), ("gnan", "float32", "nan"), ("ginf", "float32", "inf"), ("gmzero", "float32", "-0"),
    ("gthird", "float32", "0.33333334"), ("gbig", "float32", "16777216"),
    ("s", "string", "heddle"), ("sempty", "string", ""), ("snull", "string", None), ("spct", "string", "50%_off"),
    ("snum", "string", "42"), ("sbad", "string", "4x2"), ("sdate", "string", "1996-02-29"),
    ("t", "date", "1996-02-29"), ("told", "date", "1900-03-01"), ("tnull", "date", None),
    ("ts", "timestamp", "1998-12-31 23:59:58.5"), ("tsnull", "timestamp", None),
    ("tm", "time", "12:34:56.789"), ("tmlast", "time", "23:59:59.999999"), ("tmnull", "time", None),
    ("b", "binary", "\\x00ff"), ("bempty", "binary", "\\x"), ("bnone", "binary", None), ("btext", "binary", "\\xc3966c"),
    ("iv", "interval", "1 year 2 months 3 days 04:05:06.789"), ("ivneg", "interval", "-1 month 10 days -00:00:01.5"),
    ("ivzero", "interval", "00:00:00"), ("ivnull", "interval", None), ("ivmonth", "interval", "1 month"),
    ("yes", "bool", True), ("no", "bool", False), ("bnull", "bool", None),
]
SOURCE = {"op": "values", "columns": [{"name": n, "type": t} for n, t, _ in COLUMNS],
          "rows": [[v for _, _, v in COLUMNS]]}


def groups(path):
    lines = [x.strip() for x in path.read_text().splitlines()]
    lines = [(k + 1, x) for k, x in enumerate(lines) if x and not x.startswith("#")]
    for k in range(0, len(lines) - 2, 3):
        yield lines[k][0], lines[k][1], lines[k + 1][1], lines[k + 2][1]
    if len(lines) % 3:
        raise SystemExit(f"{path}: an incomplete group at the end")


def run(engine, exprs, params=None, given=()):
    plan = {"heddle": 1, "params": params or {}, "root": {"op": "project", "input": SOURCE, "exprs": [
        {"expr": e, "as": f"c{k}"} for k, e in enumerate(exprs)]}}
    file = pathlib.Path(engine.scratch) / "plan.json"
    file.write_text(json.dumps(plan))
    return subprocess.run([engine.heddle, "run", str(file), "--backend", engine.backend, "--format", "json", *given],
                          capture_output=True, text=True)


def text(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"'{value}'" if isinstance(value, str) else repr(value)


def matches(want, value, type_):
    if want == text(value):
        return True
    if type_ in ("float32", "float64") and isinstance(value, (int, float)):
        return want not in ("null",) and not want.startswith("'") and float(want) == value
    return isinstance(value, str) and type_ != "string" and want == value


def check_ok(engine, path, cases):
    """All expressions that give a value, in one plan; one by one if that fails."""
    done = run(engine, [c[1] for c in cases])
    if done.returncode != 0 and len(cases) > 1:
        return sum((check_ok(engine, path, [c]) for c in cases), [])
    if done.returncode != 0:
        return [f"{path.name}:{cases[0][0]}: {cases[0][1]}: {done.stderr.strip()}"]
    out = json.loads(done.stdout)
    bad = []
    for k, (line, expr, type_, want) in enumerate(cases):
        got, value = out["columns"][k]["type"], out["rows"][0][k]
        if got != type_ or not matches(want, value, type_):
            bad.append(f"{path.name}:{line}: {expr}: expected {type_} {want}, found {got} {text(value)}")
    return bad


def check_errors(engine, path, cases):
    """One plan for all, which is compiled once: a parameter says which of them is evaluated."""
    exprs = [f"case when i + :which = {k} + 7 then {c[1]} end" for k, c in enumerate(cases)]
    params = {"which": {"type": "int64", "default": -1}}
    none = run(engine, exprs, params)
    if none.returncode != 0:
        return [f"{path.name}: an expression is evaluated that no row reaches: {none.stderr.strip()}"]
    bad = []
    for k, (line, expr, _, want) in enumerate(cases):
        done = run(engine, exprs, params, ["-p", f"which={k}"])
        message = want.removeprefix("error:").strip()
        if done.returncode != 1 or message not in done.stderr or f"$.root.exprs[{k}]" not in done.stderr:
            bad.append(f"{path.name}:{line}: {expr}: expected exit 1 with '{message}', found exit {done.returncode} "
                       f"{done.stdout.strip()[-200:]}{done.stderr.strip()}")
    return bad


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("files", nargs="+")
    engine = ap.parse_args()
    total, bad = 0, []
    with tempfile.TemporaryDirectory() as engine.scratch:
        for name in engine.files:
            path = pathlib.Path(name)
            cases = list(groups(path))
            total += len(cases)
            ok = [c for c in cases if not c[3].startswith("error:")]
            fail = [c for c in cases if c[3].startswith("error:")]
            bad += check_ok(engine, path, ok) if ok else []
            bad += check_errors(engine, path, fail) if fail else []
    print("\n".join(bad))
    print(f"{total - len(bad)} passed, {len(bad)} failed")
    return bool(bad)


sys.exit(main())
