"""Batches on their way to a GPU: ring memory registered as pinned, copies on a stream of their own, some steps ahead.

A frame is given back to the feed when the event behind its copy has passed, not before: torch keeps events only for its
own pinned memory.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Callable

from ._batch import Batch
from ._errors import MillraceError, MisuseError
from ._reader import NotYet


class Cuda:
    """What is asked of torch.cuda. Tests put another in its place."""

    def __init__(self, device: Any) -> None:
        import torch
        if not torch.cuda.is_available():
            raise MisuseError(f"device={str(device)!r}: torch finds no GPU here; leave device out, or give device=\"cpu\"")
        self._torch = torch
        self._device = torch.device(device)
        self._stream = torch.cuda.Stream(self._device)

    def register(self, address: int, size: int) -> None:
        """Pins ring memory."""
        result = self._torch.cuda.cudart().cudaHostRegister(address, size, 0)
        if int(result) != 0:
            raise MillraceError(f"{size} bytes of the ring cannot be pinned: CUDA says {result}")

    def unregister(self, address: int) -> None:
        """Before the memory goes."""
        self._torch.cuda.cudart().cudaHostUnregister(address)

    def copy(self, batch: Batch) -> tuple[Batch, Any]:
        """The batch on the device, and the event behind its copy."""
        with self._torch.cuda.stream(self._stream):
            moved = batch.to(self._device, non_blocking=True)
            return moved, self._stream.record_event()

    def is_past(self, event: Any) -> bool:
        """Whether the copy before the event is done."""
        return event.query()

    def finish(self, event: Any) -> None:
        """Waits for the copy."""
        event.synchronize()

    def hand_over(self, moved: Batch, event: Any) -> None:
        """To the stream on which the loop computes."""
        current = self._torch.cuda.current_stream(self._device)
        current.wait_event(event)
        moved.record_stream(current)


class Mover:
    """Takes batches from `read`, gives them out on the device, `prefetch` of them under way. One thread.

    `read` is told whether to wait: it gives NOT_YET when it need not and there is nothing. So a loop waits only for the batch
    that it gets, not for those after it.
    """

    def __init__(self, cuda: Any, read: Callable[[bool], Batch | NotYet | None], prefetch: int) -> None:
        self._cuda, self._read, self._prefetch = cuda, read, prefetch
        self._under_way: deque[tuple[Batch, Any]] = deque()
        self._copied: deque[tuple[Batch, Any]] = deque()  # frames whose copy may not be done
        self._is_at_end = False
        self._pinned: set[int] = set()
        self.trouble: Exception | None = None

    def mapped(self, address: int, size: int) -> None:
        """A ring is there. Called from C: what goes wrong is told by the next next()."""
        try:
            self._cuda.register(address, size)
            self._pinned.add(address)
        except Exception as error:
            self.trouble = error

    def unmapped(self, address: int, _size: int) -> None:
        """A ring goes: nobody holds a frame in it, so no copy is under way."""
        if address in self._pinned:
            self._pinned.discard(address)
            self._cuda.unregister(address)

    def next(self) -> Batch | None:
        """The next batch, on the device; None at the end."""
        # A frame that is copied goes back to the feed before the next one is asked for: it may have room for few.
        while self._copied and self._cuda.is_past(self._copied[0][1]):
            self._copied.popleft()
        while not self._is_at_end and len(self._under_way) <= self._prefetch:
            if not self._under_way:
                self._finish()
            batch = self._read(not self._under_way)
            if isinstance(batch, NotYet):
                break
            if batch is None:
                self._is_at_end = True
            else:
                moved, event = self._cuda.copy(batch)
                self._under_way.append((moved, event))
                self._copied.append((batch, event))
        if self.trouble is not None:
            raise self.trouble
        if not self._under_way:
            return None
        moved, event = self._under_way.popleft()
        self._cuda.hand_over(moved, event)
        return moved

    @property
    def is_through(self) -> bool:
        """The end was read, and everything before it was given out."""
        return self._is_at_end and not self._under_way

    def _finish(self) -> None:
        """Waits for the copies that are under way, then lets go of their frames."""
        for _, event in self._copied:
            self._cuda.finish(event)
        self._copied.clear()

    def close(self) -> None:
        """Before the frames' memory goes."""
        self._finish()
        self._under_way.clear()
