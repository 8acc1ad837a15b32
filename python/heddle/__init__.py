"""Heddle: a JIT query compiler.

>>> import heddle
>>> con = heddle.connect()
>>> con.register("t", {"city": ["Ulm", "Jena", "Ulm"], "n": [1, 2, 3]})
>>> con.run({"heddle": 1, "root": {"op": "sort", "keys": ["city"], "input": {
...     "op": "aggregate", "keys": ["city"], "aggs": [{"fn": "sum", "arg": "n", "as": "n"}],
...     "input": {"op": "scan", "table": "t"}}}})
 city | n
------+---
 Jena | 2
 Ulm  | 4
(2 rows)
"""
from ._connection import Connection, Statement, connect
from ._create import create, gen
from ._device import DeviceResult
from ._errors import (Cancelled, CorruptError, DataError, Error, ExecutionError, InterfaceError, IoError,
                      ResourceError, SQLError, ToolError, UnsupportedError, UserError)
from ._native import lib as _lib
from ._result import Profile, Result

__version__ = _lib.heddle_version().decode()
__all__ = ["connect", "create", "gen", "Connection", "Statement", "Result", "DeviceResult", "Profile", "Error", "UserError", "UnsupportedError",
           "DataError", "IoError", "CorruptError", "ExecutionError", "ResourceError", "Cancelled", "ToolError",
           "InterfaceError", "SQLError"]
