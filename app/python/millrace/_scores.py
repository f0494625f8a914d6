"""Stores the scores of an evaluation with the run: docs/formats/scores.md. `millrace-loader scores` writes the file."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _places
from ._errors import MillraceError

_ROWS_MOST = 10_000_000


def keep(link: Any, digest: str, shares: Any) -> None:
    """Stores the scores of all ranks' shares beside the run's checkpoints. Errors are only warnings: the metrics exist."""
    try:
        write(link.run.checkpoints, link.run.attempt, link.step, digest, *joined(shares))
    except (MillraceError, OSError) as error:
        import warnings
        warnings.warn(f"the scores of this evaluation are not kept: {error}", RuntimeWarning, stacklevel=4)


def joined(shares: Any) -> tuple[Any, dict[str, tuple[Any, Any]]]:
    """Keys of all rows; by head their scores and labels (NaN: none), float32."""
    import numpy
    keys = numpy.concatenate([share.keys for share in shares])
    heads = {}
    for head in next((share.heads for share in shares if share.heads), {}):
        scores, labels, masks = (numpy.concatenate([share.heads[head][part] for share in shares if share.heads])
                                 for part in range(3))
        heads[head] = (scores.astype(numpy.float32), numpy.where(masks != 0, labels, numpy.float32(numpy.nan)))
    return keys, heads


def write(directory: str, attempt: int, step: int, digest: str, keys: Any, heads: dict[str, tuple[Any, Any]]) -> None:
    """Writes DIRECTORY/scores-STEP.aATTEMPT.zst. If there are too many rows, keeps those with the lowest keys."""
    import subprocess

    import numpy
    order = numpy.argsort(keys, kind="stable")[:_ROWS_MOST]
    told = {"attempt": attempt, "step": step, "rows_evaluated": len(keys), "hash": digest, "rows": len(order), "heads": list(heads)}
    columns = [numpy.ascontiguousarray(keys[order], dtype="<u8")]
    for pair in heads.values():
        columns += [numpy.ascontiguousarray(column[order], dtype="<f4") for column in pair]
    try:
        child = subprocess.Popen([_places.program("millrace-loader"), "scores", os.fspath(directory)], stdin=subprocess.PIPE,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except OSError as error:
        raise MillraceError(f"millrace-loader cannot be started: {error.strerror}") from None
    with child:
        assert child.stdin is not None and child.stderr is not None
        try:
            child.stdin.write(json.dumps(told).encode() + b"\n")
            for column in columns:
                child.stdin.write(memoryview(column).cast("B"))
            child.stdin.close()
        except BrokenPipeError:
            pass  # the error explains it
        words = child.stderr.read().decode(errors="replace").strip()
    if child.returncode != 0:
        raise MillraceError(words.removeprefix("millrace-loader: ") or f"millrace-loader ended with code {child.returncode}")
