"""Types of Arrow and of Heddle."""
from __future__ import annotations

import re

from ._errors import UnsupportedError, UserError


def _dictionary_of_strings(t):
    import pyarrow.types as is_
    return is_.is_dictionary(t) and (is_.is_string(t.value_type) or is_.is_large_string(t.value_type))


def heddle_type(t) -> str | None:
    """The type of Heddle that a type of pyarrow becomes; None: none does."""
    import pyarrow.types as is_
    if is_.is_decimal128(t):
        return f"decimal({t.precision},{t.scale})" if 0 <= t.scale <= t.precision else None
    names = [(is_.is_boolean, "bool"), (is_.is_int8, "int32"), (is_.is_int16, "int32"), (is_.is_int32, "int32"),
             (is_.is_uint8, "int32"), (is_.is_uint16, "int32"), (is_.is_integer, "int64"), (is_.is_float32, "float32"),
             (is_.is_float64, "float64"), (is_.is_date32, "date"), (is_.is_timestamp, "timestamp"), (is_.is_time, "time"), (is_.is_interval, "interval"),
             (is_.is_string, "string"), (is_.is_large_string, "string"), (_dictionary_of_strings, "string")]
    return next((name for test, name in names if test(t)), None)


def refuse(table: str, schema) -> None:
    """An error that names the first column whose type Heddle does not have."""
    import pyarrow.types as is_
    for f in schema:
        if heddle_type(f.type) is None:
            kind = "nested types are" if is_.is_nested(f.type) else "this type is"
            raise UnsupportedError(f'column "{f.name}" is {f.type}: {kind} not something that Heddle stores', table)


def arrow_type(name: str):
    """The type of pyarrow that a type of Heddle is read as."""
    import pyarrow as pa
    plain = {"bool": pa.bool_(), "int32": pa.int32(), "int64": pa.int64(), "float32": pa.float32(), "float64": pa.float64(),
             "date": pa.date32(), "timestamp": pa.timestamp("us"), "time": pa.time64("us"), "string": pa.string(),
             "interval": pa.month_day_nano_interval()}
    if name in plain:
        return plain[name]
    found = re.fullmatch(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", name)
    if found and 0 < int(found[1]) <= 38:
        return pa.decimal128(int(found[1]), int(found[2]))
    raise UserError(f"no such type: {name}; there are {', '.join(plain)} and decimal(p,s)")
