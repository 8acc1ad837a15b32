"""Reads and writes rows in the forms of `heddle run --format csv|json`."""

import datetime
import io
import json
import math
import re
from decimal import Decimal

from hdtypes import nearest, parse_type, parse_value
from hdudf import float_text

EXACT_JSON = 1 << 53  # integers beyond this are strings in JSON


def value_text(v):
    """The csv form of a value; None has none."""
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, float):
        return float_text(v)
    if isinstance(v, Decimal):
        return format(v, "f")
    if isinstance(v, datetime.datetime):
        text = v.strftime("%H:%M:%S") + (f".{v.microsecond:06d}" if v.microsecond else "")
        return v.date().isoformat() + " " + text
    if isinstance(v, bytes):
        return "\\x" + v.hex()
    return v.isoformat() if isinstance(v, (datetime.date, datetime.time)) else str(v)


def quote(text):
    """The empty string is quoted, to differ from NULL."""
    if text == "" or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_csv(out, columns, rows):
    out.write(",".join(quote(name) for name, _ in columns) + "\n")
    for row in rows:
        out.write(",".join("" if v is None else quote(value_text(v)) for v in row) + "\n")


def json_form(v):
    if v is None or isinstance(v, (bool, str)):
        return v
    if isinstance(v, int):
        return v if abs(v) <= EXACT_JSON else str(v)
    if isinstance(v, float):
        return v if math.isfinite(v) else value_text(v)
    return value_text(v)


def write_json(out, columns, rows):
    nulls = [any(row[i] is None for row in rows) for i in range(len(columns))]
    json.dump({"columns": [{"name": n, "type": t, "nullable": null} for (n, t), null in zip(columns, nulls)],
               "rows": [[json_form(v) for v in row] for row in rows]}, out, ensure_ascii=False)
    out.write("\n")


def read_value(v, t):
    """A JSON or csv cell as a Python value of type t."""
    if v is None or isinstance(v, bool):
        return v
    if t.is_float:
        return nearest(float(v), t)
    return parse_value(v if isinstance(v, str) else str(v), t)


def read_json(text):
    """(columns [(name, type)], nullable flags, rows)"""
    doc = json.loads(text)
    columns = [(c["name"], c["type"]) for c in doc["columns"]]
    types = [parse_type(t) for _, t in columns]
    rows = [tuple(read_value(v, t) for v, t in zip(row, types)) for row in doc["rows"]]
    return columns, [c["nullable"] for c in doc["columns"]], rows


def split_csv(text):
    """Records of cells; an unquoted empty cell is None. The csv module cannot tell it from \"\"."""
    records, record, pos = [], [], 0
    while pos < len(text):
        cell, pos = read_cell(text, pos)
        record.append(cell)
        end = text[pos:pos + 1]
        if end in ("\n", "\r", ""):
            pos += 2 if text[pos:pos + 2] == "\r\n" else 1
            records.append(record)
            record = []
        else:
            pos += 1
            if pos == len(text):
                record.append(None)
                records.append(record)
    return records


CELL_END = re.compile("[,\r\n]")


def read_cell(text, pos):
    if text[pos:pos + 1] != '"':
        found = CELL_END.search(text, pos)  # a find() of each would read on to the end of the text where there is none
        end = found.start() if found else len(text)
        return text[pos:end] or None, end
    out, pos = [], pos + 1
    while True:
        end = text.index('"', pos)
        out.append(text[pos:end])
        if text[end + 1:end + 2] != '"':
            return "".join(out), end + 1
        out.append('"')
        pos = end + 2


def read_csv(text, types):
    """(column names, rows) with cells read as the given type texts."""
    head, *records = split_csv(text)
    types = [parse_type(t) for t in types]
    return [h or "" for h in head], [tuple(read_value(v, t) for v, t in zip(r, types)) for r in records]


def csv_text(columns, rows):
    out = io.StringIO()
    write_csv(out, columns, rows)
    return out.getvalue()
