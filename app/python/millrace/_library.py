"""The C library behind a stream (`feed_reader.h`), through ctypes.

ctypes releases the interpreter's lock during a call, so other threads run while one waits for a batch.
"""

from __future__ import annotations

import ctypes
from ctypes import (POINTER, Structure, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p,
                    py_object)
from typing import Any

from . import _places
from ._errors import MillraceError
from ._version import __version__

ABI = 3

BATCH, END_OF_EPOCH, END_OF_STREAM, TIMEOUT, ABORTED, STEP, NOTICE = range(7)
DATA, OFFSETS, WEIGHTS, INVERSE, FEATURES, FEATURE_WEIGHTS = range(6)
FAILED, LOST, CORRUPT, INVALID = -1, -2, -3, -4

ROLES = {1: "row_file", 2: "row_number", 3: "dense", 4: "vector", 5: "id", 6: "list", 7: "weighted", 8: "sequence",
         9: "label", 10: "weight", 11: "mask", 12: "carry", 13: "inverse"}
DTYPES = {1: "uint8", 2: "int8", 3: "uint16", 4: "int16", 5: "uint32", 6: "int32", 7: "uint64", 8: "int64",
          9: "float32", 10: "float64", 11: "string"}


class Options(Structure):
    """millrace_feed_options"""

    _fields_ = [("struct_size", c_uint32), ("rank", c_int32), ("world_size", c_int32), ("abort_fd", c_int32),
                ("attempt", c_int64), ("stream", c_char_p), ("state", c_char_p), ("connect_timeout_ms", c_int32),
                ("join", c_int32), ("last", c_int32), ("numa_node", c_int32)]


class Event(Structure):
    """millrace_feed_event"""

    _fields_ = [("struct_size", c_uint32), ("batch", c_void_p), ("epoch", c_uint32), ("number", c_uint64),
                ("batches", c_uint64), ("rows", c_uint64), ("is_last", c_uint32), ("is_left_out", c_uint32)]


class Column(Structure):
    """millrace_column"""

    _fields_ = [("struct_size", c_uint32), ("name", c_void_p), ("name_bytes", c_uint32), ("role", c_uint32),
                ("dtype", c_uint32), ("width", c_uint32), ("items", c_uint64), ("num_values", c_uint64),
                ("data", c_void_p), ("offsets", c_void_p), ("weights", c_void_p), ("inverse", c_void_p),
                ("is_list", c_uint64)]


class Part(Structure):
    """millrace_part"""

    _fields_ = [("column", c_uint32), ("part", c_int32)]


class Stats(Structure):
    """millrace_feed_stats"""

    _fields_ = [("struct_size", c_uint32), ("wait_ns", c_uint64), ("batches", c_uint64), ("rows", c_uint64),
                ("bytes", c_uint64), ("held_batches", c_uint64), ("ring_bytes", c_uint64)]


class Info(Structure):
    """millrace_feed_info"""

    _fields_ = [("struct_size", c_uint32), ("micro_rows", c_uint64), ("stream_hash", c_char * 33),
                ("plan_hash", c_char * 33), ("step_batches", c_uint64)]


class RunOptions(Structure):
    """millrace_run_options"""

    _fields_ = [("struct_size", c_uint32), ("rank", c_int32), ("attempt", c_int64), ("run", c_char_p),
                ("socket_path", c_char_p), ("page_path", c_char_p), ("spill_path", c_char_p), ("memory_bytes", c_uint64),
                ("alive_ms", c_int32)]


class RunFile(Structure):
    """millrace_run_file"""

    _fields_ = [("struct_size", c_uint32), ("directory", c_char_p), ("name", c_char_p), ("facts", c_char_p),
                ("data", c_void_p), ("bytes", c_uint64), ("source", c_char_p)]


RING_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_uint64, c_int32)

_SIGNATURES = {
    "millrace_free": (None, [c_void_p]),
    "millrace_feed_open": (c_int, [c_char_p, POINTER(Options), POINTER(c_void_p), c_char_p, c_size_t]),
    "millrace_feed_next": (c_int, [c_void_p, c_int64, POINTER(Event)]),
    "millrace_feed_reopen": (c_int, [c_void_p, c_int64]),
    "millrace_feed_schema": (c_int, [c_void_p, POINTER(Column), c_size_t, POINTER(c_size_t)]),
    "millrace_feed_inputs": (c_char_p, [c_void_p]),
    "millrace_feed_error": (c_char_p, [c_void_p]),
    "millrace_feed_state_at": (c_void_p, [c_void_p, c_uint32, c_uint64]),
    "millrace_feed_on_ring": (c_int, [c_void_p, RING_CALLBACK, c_void_p]),
    "millrace_feed_get_info": (None, [c_void_p, POINTER(Info)]),
    "millrace_feed_get_stats": (None, [c_void_p, POINTER(Stats)]),
    "millrace_feed_close": (None, [c_void_p]),
    "millrace_run_open": (c_int, [POINTER(RunOptions), POINTER(c_void_p), c_char_p, c_size_t]),
    "millrace_run_close": (None, [c_void_p]),
    "millrace_run_preload": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t]),
    "millrace_run_send": (c_int64, [c_void_p, c_char_p, c_char_p, c_size_t]),
    "millrace_run_wait": (c_int, [c_void_p, c_int64]),
    "millrace_run_begin": (c_int, [c_void_p, c_int64]),
    "millrace_run_is_over": (c_int, [c_void_p, c_int64]),
    "millrace_run_acked": (c_int64, [c_void_p]),
    "millrace_run_checkpoint_due": (c_int, [c_void_p, c_int64, c_int64, c_int64]),
    "millrace_run_checkpoint": (c_int64, [c_void_p, POINTER(RunFile), c_char_p, c_char_p, c_size_t]),
    "millrace_checkpoint_read": (c_int, [c_char_p, c_int32, POINTER(c_void_p), POINTER(c_uint64), c_char_p, c_size_t]),
    "millrace_batch_bytes": (c_uint64, [c_void_p]),
    "millrace_batch_memory": (c_void_p, [c_void_p]),
    "millrace_batch_lengths": (c_int, [c_void_p, POINTER(c_uint32), c_size_t, c_void_p, c_size_t, POINTER(c_size_t)]),
    "millrace_batch_all_columns": (c_int, [c_void_p, POINTER(Column), c_size_t, POINTER(c_size_t)]),
}

_loaded = None
_loaded_python: Any = None


def load() -> ctypes.CDLL:
    """The library, loaded once; if its ABI or version differs, raises an error with both."""
    global _loaded
    if _loaded is None:
        path = _places.library()
        try:
            library = ctypes.CDLL(path)
            library.millrace_feed_abi.restype = c_uint32
            library.millrace_feed_version.restype = c_char_p
            abi, version = library.millrace_feed_abi(), library.millrace_feed_version().decode()
        except (OSError, AttributeError) as error:
            raise MillraceError(f"{path} cannot be used by millrace {__version__}: {error}") from None
        if abi != ABI or version != __version__:
            raise MillraceError(f"{path} is of version {version} (ABI {abi}), but this module is of version "
                                f"{__version__} (ABI {ABI}): install both from one release")
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        _loaded = library
    return _loaded


def load_python() -> ctypes.PyDLL:
    """The functions that make Python objects; called with the interpreter's lock."""
    global _loaded_python
    if _loaded_python is None:
        library = ctypes.PyDLL(load()._name)
        for name, arguments in (("millrace_python_batch", [c_void_p]),
                                ("millrace_python_tensors", [c_void_p, POINTER(Part), c_size_t])):
            function = getattr(library, name)
            function.restype, function.argtypes = py_object, arguments
        _loaded_python = library
    return _loaded_python


def take_text(address: int | None) -> str | None:
    """Copies a text of the library and frees the original. None if there is none."""
    if not address:
        return None
    try:
        return ctypes.string_at(address).decode()
    finally:
        load().millrace_free(address)
