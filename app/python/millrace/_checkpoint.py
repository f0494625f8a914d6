"""A script's checkpoints, tied to its run: the daemon stores them, and the next attempt resumes from them."""

from __future__ import annotations

import ctypes
import io
import json
import os
import time
from typing import Any, BinaryIO

from . import _library, _link, _safetensors
from ._errors import MillraceError, MisuseError
from ._version import __version__

_CONTENT = "content"  # the tensor with the script's content


class Resumed:
    """The checkpoint from which a run continues; made by `resume()`."""

    def __init__(self, path: str) -> None:
        file = _safetensors.Checkpoint(path, is_whole=False)  # the daemon has verified all of it before the attempt began
        content = file.place(_CONTENT)
        if content is None:
            raise MillraceError(f"checkpoint {path} is none of a script")
        self._path, self._content = path, content
        self._step, self._epoch, self._rows = (int(file.metadata[key]) for key in ("step", "epoch", "rows"))
        self._state = file.metadata["state"]

    @property
    def step(self) -> int:
        """The step of the checkpoint."""
        return self._step

    def open(self) -> BinaryIO:
        """Its content as a file object that reads in place; `torch.load` accepts it."""
        return io.BufferedReader(_Content(self._path, *self._content))  # type: ignore[return-value]

    def read(self) -> bytes:
        """Its content as bytes."""
        with self.open() as file:
            return file.read()


def write(link: _link.Link, content: Any, state: str) -> dict[str, Any]:
    """Writes the file of the current step; returns name, bytes and hash for its line."""
    run = link.run
    source, data, size = _taken(content)
    cursor = json.loads(state)["cursor"] if state else {"epoch": 0, "next": 0}
    facts = {"step": link.step, "epoch": cursor["epoch"], "next_micro_batch": cursor["next"], "rows": link.rows,
             "identity": {"run": run.id, "spec_hash": run.spec_hash, "stream_hash": run.stream_hash},
             "attempt": run.attempt, "rank": 0, "world_size": run.world, "versions": {"millrace": __version__}}
    texts = {"state": state, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
             **{key: json.dumps(value) for key, value in facts.items()}}
    name = f"step-{link.step:08d}.a{run.attempt}.safetensors"
    file = _library.RunFile(struct_size=ctypes.sizeof(_library.RunFile), directory=run.checkpoints.encode(),
                            name=name.encode(), facts=json.dumps(texts).encode(),
                            data=None if data is None else ctypes.addressof(data), bytes=size,
                            source=None if source is None else os.fsencode(source))
    written, checksum = link.write(file)
    return {"name": name, "bytes": written, "hash": checksum}


def _taken(content: Any) -> tuple[str | None, Any, int]:
    """A file's path, or bytes as C takes them, and the length."""
    if isinstance(content, (str, os.PathLike)):
        path = os.fspath(content)
        if os.path.isdir(path):
            raise MisuseError(f"millrace.checkpoint({path!r}): is a directory; a checkpoint is one file, or bytes")
        try:
            return path, None, os.stat(path).st_size
        except OSError as error:
            raise MisuseError(f"millrace.checkpoint({path!r}): {error.strerror}") from None
    try:
        view = memoryview(content).cast("B")
    except TypeError:
        raise MisuseError(f"millrace.checkpoint() takes the path of a file or its bytes, not {type(content).__name__}") \
            from None
    kind = ctypes.c_char * view.nbytes
    return None, kind.from_buffer_copy(view) if view.readonly else kind.from_buffer(view), view.nbytes


def checkpoint(content: str | os.PathLike[str] | bytes, step: int | None = None) -> bool:
    """Stores a checkpoint of the run at the step of the last batch that the loop got. The next attempt continues from
    it.

    content
        State that lets the script continue: the path of a file, which is copied, or its bytes. The stream's position is
        added automatically.
    step
        `stream.step`, for a script that counts its own steps; a different number is rejected. In a run without a
        dataset: the step that the script is at; default: the step of the last `millrace.log()`.

    Returns True if it wrote a checkpoint. Only rank 0 writes; on other ranks the call only resets `checkpoint_due`. The
    call does nothing if the run is stopped before its first step, or in a script that Millrace did not start.
    """
    link = _link.current()
    if link is None:
        return False
    if not link.run.has_dataset:
        return _bare(link, content, step)
    stream = link.stream
    if stream is not None and stream.stopped and not stream._has_begun():
        return False  # stopped before its first step: there is nothing more to save
    if stream is None and link.other_spec:
        raise MisuseError(f"millrace.checkpoint(): {link.why_no_step()}")
    if stream is None or stream.step == 0:
        raise MisuseError("millrace.checkpoint(): the run's stream has given no batch yet, so there is no step to save")
    if step is not None and step != stream.step:
        raise MisuseError(f"millrace.checkpoint(step={step}): the loop is at step {stream.step} of the stream "
                          "(stream.step), and a checkpoint is of that one")
    stream._has_saved()
    if link.run.rank != 0:
        return False
    link.checkpoint(content, stream._current())
    return True


def _bare(link: _link.Link, content: Any, step: int | None) -> bool:
    """The checkpoint of a run without a dataset."""
    if step is not None:
        link.reach("checkpoint", step)
    if link.step == 0:
        raise MisuseError("millrace.checkpoint(): a run without a dataset counts no steps by itself: say which one it is, "
                          "as in checkpoint(path, step=100)")
    if link.run.rank != 0:
        return False
    link.checkpoint(content, "")
    return True


class _Content(io.RawIOBase):
    """The content of a checkpoint file, read in place."""

    def __init__(self, path: str, start: int, size: int) -> None:
        self._file: BinaryIO = open(path, "rb", buffering=0)  # noqa: SIM115
        self._start, self._size, self._at = start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")[:max(0, self._size - self._at)]
        self._file.seek(self._start + self._at)
        count = self._file.readinto(view) or 0  # type: ignore[attr-defined]
        self._at += count
        return int(count)

    def close(self) -> None:
        self._file.close()
        super().close()


def resume() -> Resumed | None:
    """The checkpoint from which this attempt of the run continues; None if it begins at the run's start.

    Every rank calls this before its loop. The stream continues after the checkpoint's step automatically. Returns None
    in a script that Millrace did not start.
    """
    link = _link.current()
    if link is None:
        return None
    link.has_asked_to_resume = True
    return link.resumed
