"""Batches on their way to a GPU: ring memory is registered as pinned; copies run on a CUDA stream of their own, some steps
ahead.

A frame returns to the feed only when the event after its copy has passed: torch keeps events only for its own pinned
memory.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Callable

from ._batch import Batch
from ._errors import MillraceError, MisuseError
from ._reader import NotYet


class Cuda:
    """The functions of torch.cuda that are used. Tests replace them."""

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
        """Call before the memory is freed."""
        self._torch.cuda.cudart().cudaHostUnregister(address)

    def copy(self, batch: Batch) -> tuple[Batch, Any]:
        """Returns the batch on the device, and the event after its copy."""
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
        """Makes the batch usable on the stream on which the loop computes."""
        current = self._torch.cuda.current_stream(self._device)
        current.wait_event(event)
        moved.record_stream(current)


class Mover:
    """Takes batches from `read` and returns them on the device, with `prefetch` copies in progress. One thread.

    The argument of `read` is whether to wait. Without waiting it may return NOT_YET. So a loop waits only for the batch
    that it gets, not for later ones.
    """

    def __init__(self, cuda: Any, read: Callable[[bool], Batch | NotYet | None], prefetch: int) -> None:
        self._cuda, self._read, self._prefetch = cuda, read, prefetch
        self._under_way: deque[tuple[Batch, Any]] = deque()
        self._copied: deque[tuple[Batch, Any]] = deque()  # their copy may not be done
        self._is_at_end = False
        self._pinned: set[int] = set()
        self.trouble: Exception | None = None

    def mapped(self, address: int, size: int) -> None:
        """A ring was mapped. Called from C: an error is raised by the following next()."""
        try:
            self._cuda.register(address, size)
            self._pinned.add(address)
        except Exception as error:
            self.trouble = error

    def unmapped(self, address: int, _size: int) -> None:
        """A ring is being unmapped: no frame in it is held, so no copy is in progress."""
        if address in self._pinned:
            self._pinned.discard(address)
            self._cuda.unregister(address)

    def next(self) -> Batch | None:
        """The next batch, on the device; None at the end."""
        # Returns copied frames to the feed before asking for the next one: the feed may have room for only a few.
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
        """Whether the end was read, and everything before it was returned."""
        return self._is_at_end and not self._under_way

    def _finish(self) -> None:
        """Waits for the copies in progress, then releases their frames."""
        for _, event in self._copied:
            self._cuda.finish(event)
        self._copied.clear()

    def close(self) -> None:
        """Call before the frames' memory is freed."""
        self._finish()
        self._under_way.clear()
