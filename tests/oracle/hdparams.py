"""Parameter values of a plan, and the two forms of strings."""

import json
import re

from hdexpr import json_value
from hdtypes import PlanError, parse_type


def to_bytes_form(s):
    """One character per UTF-8 byte: length, substring, `_` and order then are those of the bytes."""
    return s.encode("utf-8", "surrogateescape").decode("latin-1")


def from_bytes_form(s):
    return s.encode("latin-1").decode("utf-8", "surrogateescape")


def resolve(plan, given):
    """name -> (Type, value) for every declared parameter; lists have a list of values."""
    declared = plan.get("params", {})
    unknown = set(given) - set(declared)
    if unknown:
        raise PlanError("$.params", f"no parameter {sorted(unknown)[0]!r}")
    values = {}
    for name, spec in declared.items():
        path = f"$.params.{name}"
        t = parse_type(spec["type"], path, lists=True)
        if name in given:
            values[name] = (t, read(given[name], t, path))
        elif "default" in spec:
            values[name] = (t, read(spec["default"], t, path))
        else:
            raise PlanError(path, "no value and no default")
    return values


def read(value, t, path):
    if t.kind != "list":
        return json_value(value, t, path)
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, list):
        raise PlanError(path, "a list parameter takes a JSON list")
    return [json_value(v, t.element, path) for v in value]


COUNTS = ("limit", "offset", "n", "preceding", "following")  # members that are integers, or parameters


def parameter(v):
    """The name, if v is a parameter as it stands beside the expressions."""
    if isinstance(v, dict) and set(v) == {"param"}:
        return v["param"]
    return v[1:] if isinstance(v, str) and v[:1] == ":" and v[1:].isidentifier() else None


def substituted(node, values):
    """The plan with values where parameters stand beside the expressions."""
    if isinstance(node, list):
        return [substituted(v, values) for v in node]
    if not isinstance(node, dict):
        return node
    out = {k: substituted(v, values) for k, v in node.items()}
    for key in COUNTS:
        name = parameter(node.get(key))
        if name is not None and "expr" not in node:
            out[key] = values[name][1]
    for key in ("preceding", "following"):
        if isinstance(out.get(key), str):
            out[key] = re.sub(r"^interval :(\w+) ", lambda m: f"interval '{values[m[1]][1]}' ", out[key])
    if isinstance(node.get("separator"), dict):
        out["separator"] = values[node["separator"]["param"]][1]
    if node.get("op") == "values" and parameter(node["rows"]) is not None:
        t, listed = values[parameter(node["rows"])]
        out["rows"] = [[to_json(v, t.element)] for v in listed]
    return out


def to_json(v, t):
    if t.kind in ("bool", "string") or t.is_int:
        return v
    if t.kind == "binary":
        return "\\x" + v.hex()
    if t.kind == "interval":
        return str(v)
    return repr(v) if t.is_float else format(v, "f") if t.kind == "decimal" else v.isoformat(*[" "] * (t.kind == "timestamp"))


def from_command_line(options):
    given = {}
    for text in options:
        if text.startswith("@"):
            with open(text[1:], encoding="utf-8") as f:
                given.update(json.load(f))
        else:
            name, _, value = text.partition("=")
            given[name] = value
    return given
