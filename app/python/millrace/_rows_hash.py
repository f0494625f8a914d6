"""Keys of rows, and the hash of a set of rows: docs/formats/evaluation.md. Processes whole columns, with numpy."""

from __future__ import annotations

from typing import Any

_GOLDEN, _OTHER = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


def _mixed(x: Any) -> Any:
    """SplitMix64's last step; `x` may be changed."""
    import numpy
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x ^= x >> numpy.uint64(shift)
        x *= numpy.uint64(factor)
    x ^= x >> numpy.uint64(31)
    return x


def keys(files: Any, numbers: Any) -> Any:
    """The key of each row, uint64, from its file and its number in the file."""
    import numpy
    mixed = _mixed(numpy.asarray(numbers, dtype=numpy.uint64) + numpy.uint64(_GOLDEN))
    mixed += numpy.asarray(files).astype(numpy.uint64) * numpy.uint64(_GOLDEN)
    return _mixed(mixed)


def total(keys: Any) -> int:
    """The sum over these rows; sums of parts add up. `text` formats it."""
    import numpy
    # Adds 32 bits at a time: a sum of 64-bit words would lose the carry into the upper word of the result.
    def exact(words: Any) -> int:
        low = int(numpy.sum(words & numpy.uint64(0xFFFFFFFF), dtype=numpy.uint64))
        return low + (int(numpy.sum(words >> numpy.uint64(32), dtype=numpy.uint64)) << 32)

    return exact(keys) + (exact(_mixed(keys ^ numpy.uint64(_OTHER))) << 64)


def text(total: int) -> str:
    """32 hex digits."""
    return f"{total % (1 << 128):032x}"
