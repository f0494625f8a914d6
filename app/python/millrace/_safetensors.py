"""Checkpoint files, read through the C library, which verifies their checksums (docs/formats/checkpoint.md)."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any

from . import _library
from ._errors import MillraceError

_TYPES = {"F32": "float32", "F64": "float64", "I64": "int64", "I32": "int32", "BF16": "bfloat16", "F16": "float16", "U8": "uint8"}


class Checkpoint:
    """A file's metadata, and the positions of its tensors.

    is_whole
        Also verifies the checksums of the tensors' values, which reads the file to its end.
    """

    def __init__(self, path: str, *, is_whole: bool) -> None:
        header, values, error = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.create_string_buffer(4096)
        if _library.load().millrace_checkpoint_read(os.fsencode(path), is_whole, ctypes.byref(header), ctypes.byref(values),
                                                    error, len(error)) != 0:
            raise MillraceError(error.value.decode(errors="replace"))
        entries = json.loads(_library.take_text(header.value) or "")
        self.path = path
        self.metadata: dict[str, str] = entries.pop("__metadata__")
        self._entries: dict[str, dict[str, Any]] = entries
        self._values = values.value

    def place(self, name: str) -> tuple[int, int] | None:
        """The position of a tensor's bytes in the file, and their number; None for an unknown tensor."""
        if name not in self._entries:
            return None
        begin, end = self._entries[name]["data_offsets"]
        return self._values + begin, end - begin

    def tensors(self, names: list[str]) -> dict[str, Any]:
        """These tensors, by name, each with memory of its own."""
        with open(self.path, "rb") as file:
            return {name: self._tensor(file, name) for name in names}

    def _tensor(self, file: Any, name: str) -> Any:
        import torch
        begin, size = self.place(name) or (0, 0)
        values = bytearray(size)
        file.seek(begin)
        if file.readinto(values) != size:
            raise MillraceError(f"checkpoint {self.path}: has become shorter while it was read")
        kind = getattr(torch, _TYPES[self._entries[name]["dtype"]])
        flat = torch.frombuffer(values, dtype=kind) if values else torch.empty(0, dtype=kind)
        return flat.reshape(self._entries[name]["shape"])
