"""Errors of the library as exceptions: one class each, all of them `heddle.Error`."""
from __future__ import annotations


class Error(Exception):
    """What went wrong, where, and details where there are any.

    `path` is a place in the plan such as ``$.root.input.on[0]``, a file, or a table; `detail` may be a compiler's log.

    >>> import heddle
    >>> try:
    ...     heddle.connect().run({"heddle": 1, "root": {"op": "scan", "table": "nowhere"}})
    ... except heddle.UserError as e:
    ...     print(e.path)
    $.root.table
    """

    def __init__(self, message: str, path: str = "", detail: str | None = None):
        super().__init__(f"{path}: {message}" if path else message)
        self.message, self.path, self.detail = message, path, detail


class UserError(Error):
    """A bad plan, schema or argument."""


class UnsupportedError(Error):
    """Valid, but not something that Heddle does."""


class DataError(Error):
    """Input data that are not what they should be."""


class IoError(Error):
    """The operating system said no."""


class CorruptError(Error):
    """A file of a database is damaged."""


class ExecutionError(Error):
    """Overflow, division by zero or a bad cast in some row."""


class ResourceError(Error):
    """No memory within the limit, or no device."""


class Cancelled(Error):
    """The statement was cancelled."""


class ToolError(Error):
    """LLVM or NVRTC refused; see `detail`."""


class InterfaceError(Error):
    """A connection or statement that cannot be used: it was closed, or made before a fork."""


class SQLError(UserError):
    """SQL that has an error, or a construct that con.sql does not take; the message names it."""


# In the order of heddle_error_class, from 1.
_CLASSES = (UserError, UnsupportedError, DataError, IoError, CorruptError, ExecutionError, ResourceError, Cancelled,
            ToolError)


def from_native(number: int, path: str, message: str, detail: str | None) -> Error:
    """The exception for an error's class, counted from 1."""
    cls = _CLASSES[number - 1] if 1 <= number <= len(_CLASSES) else Error
    return cls(message, path, detail)
