"""Parameter values of a plan, and the two forms of strings."""

import json

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
