"""libheddle through ctypes: the library, its structures, and calls that raise.

Everything that waits does so without the GIL, as ctypes calls do.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import signal
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from ._errors import Error, InterfaceError, from_native

__all__ = ["lib", "call", "text", "Options", "StatementOptions", "Stream", "Schema", "Array", "Progress", "Owner",
           "interrupts", "pointer_of", "stream_of"]

PACKAGE = pathlib.Path(__file__).resolve().parent

FACTS = {None: 0, True: 1, False: 2}  # HEDDLE_FACTS_LAZY, _NOW, _NEVER


# ---- Arrow's structures ---------------------------------------------------------------------------

class Schema(ctypes.Structure):
    """struct ArrowSchema"""


Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64),
                   ("n_children", c_int64), ("children", POINTER(POINTER(Schema))), ("dictionary", POINTER(Schema)),
                   ("release", ctypes.CFUNCTYPE(None, POINTER(Schema))), ("private_data", c_void_p)]


class Array(ctypes.Structure):
    """struct ArrowArray"""


Array._fields_ = [(n, c_int64) for n in ("length", "null_count", "offset", "n_buffers", "n_children")] + [
    ("buffers", c_void_p), ("children", c_void_p), ("dictionary", c_void_p),
    ("release", ctypes.CFUNCTYPE(None, POINTER(Array))), ("private_data", c_void_p)]


class Stream(ctypes.Structure):
    """struct ArrowArrayStream"""


Stream._fields_ = [("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p),
                   ("release", ctypes.CFUNCTYPE(None, POINTER(Stream))), ("private_data", c_void_p)]


# ---- structures of heddle.h -----------------------------------------------------------------------

class Options(ctypes.Structure):
    """heddle_options"""
    _fields_ = [("struct_size", c_size_t), ("threads", c_int), ("memory_limit", c_uint64), ("cache_dir", c_char_p),
                ("cache_limit", c_uint64), ("backend", c_char_p), ("device", c_int), ("no_mmap", c_int), ("temp_dir", c_char_p),
                ("temp_limit", c_uint64), ("devices", c_char_p),
                ("device_memory", c_uint64), ("pin", c_uint64)]


class StatementOptions(ctypes.Structure):
    """heddle_statement_options"""
    _fields_ = [("struct_size", c_size_t), ("backend", c_char_p), ("balance", c_char_p), ("threads", c_int),
                ("memory_limit", c_uint64), ("profile", c_int), ("no_cache", c_int), ("fws_threshold", c_uint32),
                ("gpu_warps", c_uint32), ("gpu_block", c_uint32), ("deterministic", c_int),
                ("tier", c_char_p), ("segment", c_int)]


Progress = ctypes.CFUNCTYPE(c_int, c_void_p, c_double, c_char_p)


# ---- the library ----------------------------------------------------------------------------------

def _candidates():
    named = os.environ.get("HEDDLE_LIBRARY")
    if named:
        yield named
        return
    yield str(PACKAGE / "lib" / "libheddle.so.0")
    tree = PACKAGE.parents[1]  # the package is run from the source tree
    yield str(tree / "build" / "release" / "api" / "libheddle.so")
    yield "libheddle.so.0"


def _find_nvrtc():
    """NVRTC of PyPI, where no variable names another: the library looks for the system's by itself."""
    if os.environ.get("HEDDLE_NVRTC"):
        return
    for base in map(pathlib.Path, sys.path):
        for found in sorted(base.glob("nvidia/*/lib/libnvrtc.so.*"), reverse=True):
            if "builtins" not in found.name:
                os.environ["HEDDLE_NVRTC"] = str(found)
                return


def _load():
    tried = []
    _find_nvrtc()
    for path in _candidates():
        if os.sep in path and not os.path.exists(path):
            tried.append(f"{path}: no such file")
            continue
        try:
            return ctypes.CDLL(path)
        except OSError as e:
            tried.append(str(e))
    raise ImportError("libheddle was not found; HEDDLE_LIBRARY may name it. Tried:\n  " + "\n  ".join(tried))


lib = _load()

P = c_void_p
ERR = POINTER(c_void_p)
# name: result, arguments. Functions that return int and end in ERR raise through call().
_PROTOTYPES = {
    "heddle_error_get_class": (c_int, [P]), "heddle_error_class_name": (c_char_p, [c_int]),
    "heddle_error_path": (c_char_p, [P]), "heddle_error_message": (c_char_p, [P]), "heddle_error_detail": (c_char_p, [P]),
    "heddle_error_free": (None, [P]), "heddle_version": (c_char_p, []), "heddle_free": (None, [P]),
    "heddle_context_new": (c_int, [P, P, ERR]), "heddle_context_free": (None, [P]),
    "heddle_context_info": (c_int, [P, P, ERR]),
    "heddle_database_open": (c_int, [P, c_char_p, c_int, P, ERR]), "heddle_database_free": (None, [P]),
    "heddle_database_catalog": (c_int, [P, P, ERR]),
    "heddle_database_register": (c_int, [P, c_char_p, P, c_int, ERR]),
    "heddle_database_replace": (c_int, [P, c_char_p, P, c_int, ERR]),
    "heddle_database_register_with_keys": (c_int, [P, c_char_p, P, c_int, c_char_p, c_int, ERR]),
    "heddle_database_register_device": (c_int, [P, c_char_p, P, P, ERR]),
    "heddle_database_replace_device": (c_int, [P, c_char_p, P, P, ERR]),
    "heddle_database_register_device_stream": (c_int, [P, c_char_p, P, ERR]),
    "heddle_database_replace_device_stream": (c_int, [P, c_char_p, P, ERR]),
    "heddle_database_drop": (c_int, [P, c_char_p, ERR]),
    "heddle_database_table_count": (c_int, [P]), "heddle_database_table_name": (c_char_p, [P, c_int]),
    "heddle_database_table_schema": (c_int, [P, c_char_p, P, ERR]),
    "heddle_database_table_rows": (c_int, [P, c_char_p, POINTER(c_int64), ERR]),
    "heddle_writer_open": (c_int, [P, c_char_p, c_char_p, P, ERR]),
    "heddle_writer_append": (c_int, [P, c_char_p, c_int64, P, P, ERR]),
    "heddle_writer_commit": (c_int, [P, Progress, P, ERR]), "heddle_writer_free": (None, [P]),
    "heddle_statement_new": (c_int, [P, P, P, ERR]), "heddle_statement_prepare_plan": (c_int, [P, c_char_p, c_size_t, ERR]),
    "heddle_statement_free": (None, [P]), "heddle_bind_json": (c_int, [P, c_char_p, ERR]),
    "heddle_execute": (c_int, [P, P, ERR]), "heddle_statement_execute_device": (c_int, [P, P, ERR]), "heddle_statement_cancel": (None, [P]),
    "heddle_plan_fragments": (c_int, [P, c_int, P, ERR]), "heddle_explain": (c_int, [P, c_char_p, P, ERR]), "heddle_statement_report": (c_int, [P, P, ERR]),
}
for _name, (_result, _arguments) in _PROTOTYPES.items():
    _f = getattr(lib, _name)
    _f.restype, _f.argtypes = _result, _arguments


def call(function, *args) -> None:
    """Calls a function that can fail, its error argument added; raises the error."""
    error = c_void_p()
    if function(*args, byref(error)) != 0:
        raise take_error(error)


def take_error(error) -> Error:
    """The exception for a heddle_error, which is freed."""
    detail = lib.heddle_error_detail(error)
    made = from_native(lib.heddle_error_get_class(error), lib.heddle_error_path(error).decode("utf-8", "replace"),
                       lib.heddle_error_message(error).decode("utf-8", "replace"),
                       detail.decode("utf-8", "replace") if detail else None)
    lib.heddle_error_free(error)
    return made


def text(function, *args) -> str:
    """The text that a function returns as its last `char **`."""
    out = c_void_p()
    call(function, *args, byref(out))
    value = ctypes.string_at(out).decode("utf-8", "replace")
    lib.heddle_free(out)
    return value


class Owner:
    """A handle of the library. It is freed once, after all that was made of it, in the process that made it.

    After a fork the child has the memory but none of the library's threads: it can neither use nor free a handle.
    """
    _lock = threading.RLock()  # the garbage collector may come in between

    def __init__(self, free, parent: Owner | None = None):
        self.handle, self._free, self._pid = c_void_p(), free, os.getpid()
        self._parent, self._users, self._open = parent, 1, True
        if parent is not None:
            with Owner._lock:
                parent._users += 1

    def get(self) -> c_void_p:
        if os.getpid() != self._pid:
            raise InterfaceError("made before a fork: open the database again in the child process")
        if not self._open:
            raise InterfaceError("it was closed")
        return self.handle

    def close(self) -> None:
        """No more use of it by its owner; what was made of it may still be used."""
        with Owner._lock:
            was_open, self._open = self._open, False
        if was_open:
            self._leave()

    def _leave(self):
        with Owner._lock:
            self._users -= 1
            last = self._users == 0
        if not last:
            return
        if self.handle and os.getpid() == self._pid:
            self._free(self.handle)
        if self._parent is not None:
            self._parent._leave()

    def __del__(self):
        try:
            self.close()
        except (AttributeError, TypeError):  # the interpreter is ending
            pass


def _after_fork():
    """Another thread of the parent may have held a lock, which nobody gives back in the child."""
    Owner._lock = threading.RLock()
    interrupts._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


# ---- Ctrl-C ---------------------------------------------------------------------------------------

class Interrupts:
    """Cancels what the main thread waits for when SIGINT comes.

    Python runs signal handlers between bytecodes, so not while the library works. But the interpreter writes each
    signal's number into the wake-up file at once; a thread reads it and cancels the statement, whose call then returns,
    and Python's own handler raises KeyboardInterrupt. The file that was set before, an event loop's, gets the number too.
    """

    def __init__(self):
        self._lock, self._pid = threading.Lock(), 0
        self._statement, self._cancelled, self._before = None, False, -1

    def _start(self):
        self._read, self._write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._write, False)
        self._pid = os.getpid()
        threading.Thread(target=self._watch, args=(self._read,), name="heddle-interrupts", daemon=True).start()

    def _watch(self, read):
        while numbers := os.read(read, 64):
            with self._lock:
                if signal.SIGINT in numbers and self._statement is not None:
                    lib.heddle_statement_cancel(self._statement)
                    self._cancelled = True
                if self._before >= 0:
                    try:
                        os.write(self._before, numbers)
                    except OSError:
                        pass

    @staticmethod
    def _wanted():
        return (threading.current_thread() is threading.main_thread()
                and callable(signal.getsignal(signal.SIGINT)))

    def call(self, statement, function, *args) -> None:
        """call(function, *args), which works for the statement and may be interrupted."""
        if not self._wanted():
            call(function, *args)
            return
        if self._pid != os.getpid():
            self._start()
        before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        with self._lock:
            self._statement, self._cancelled, self._before = statement, False, before
        try:
            call(function, *args)
        finally:
            with self._lock:
                self._statement, cancelled, self._before = None, self._cancelled, -1
            signal.set_wakeup_fd(before)
            if cancelled:  # where the call had ended before, the next one would report it
                self._drain(statement)

    @staticmethod
    def _drain(statement):
        try:
            call(lib.heddle_bind_json, statement, b"{}")
        except Error:
            pass


interrupts = Interrupts()


# ---- streams as capsules --------------------------------------------------------------------------

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]


def pointer_of(capsule, name: bytes) -> int:
    """The address that a capsule of this name has."""
    return _capsule_pointer(capsule, name)


def stream_of(capsule) -> int:
    """The address of a capsule's struct ArrowArrayStream."""
    return pointer_of(capsule, b"arrow_array_stream")
