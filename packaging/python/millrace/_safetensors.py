"""Safetensors files, read: metadata and tensors (docs/formats/checkpoint.md)."""

from __future__ import annotations

import json
import struct
from typing import Any

from ._errors import MillraceError

_HEADER_MAX = 100_000_000
_TYPES = {"F32": "float32", "F64": "float64", "I64": "int64", "I32": "int32", "BF16": "bfloat16", "F16": "float16", "U8": "uint8"}


def read(path: str, names: Any = None) -> tuple[dict[str, str], dict[str, Any]]:
    """The metadata of a file and its tensors, those of `names(metadata)` where that is given; each has memory of its own."""
    try:
        with open(path, "rb") as file:
            length, = struct.unpack("<Q", file.read(8))
            if not 2 <= length <= _HEADER_MAX:
                raise ValueError("it does not begin like a safetensors file")
            header = json.loads(file.read(length))
            metadata: dict[str, str] = header.pop("__metadata__", {})
            wanted = header if names is None else set(names(metadata))
            return metadata, {name: _tensor(file, 8 + length, entry) for name, entry in header.items() if name in wanted}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise MillraceError(f"checkpoint {path} cannot be read: {error}") from None


def _tensor(file: Any, base: int, entry: dict[str, Any]) -> Any:
    import torch
    begin, end = entry["data_offsets"]
    values = bytearray(end - begin)
    file.seek(base + begin)
    if file.readinto(values) != len(values):
        raise ValueError("it is cut short")
    kind = getattr(torch, _TYPES[entry["dtype"]])
    flat = torch.frombuffer(values, dtype=kind) if values else torch.empty(0, dtype=kind)
    return flat.reshape(entry["shape"])
