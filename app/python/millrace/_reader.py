"""One connection to a feed: its events, combined into the steps that a loop gets.

One thread at a time. A wait checks every 100 ms for an interrupt (Ctrl-C) and whether the feed is alive.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from typing import Any, Callable, NamedTuple

from . import _library
from ._batch import Columns, Memory, NoRows, Tensors
from ._errors import FeedError, MillraceError, SpecError
from ._feed import Feed

_SLICE_MS = 100
_FIRST_HELLO_MS, _LAST_HELLO_MS = 250, 4000
_HELLO_SECONDS = 60.0


class Asked(NamedTuple):
    """The parameters of a connection."""

    stream: str
    state: str | None
    join: bool
    last: str
    copy: bool
    arrays: Any  # makes the arrays of batches: NumpyArrays or TorchArrays
    whole: bool = False  # batches will be copied to a device: as one piece of memory


class NotYet:
    """The value for a step that has not arrived yet."""


NOT_YET = NotYet()


class Step(NamedTuple):
    """One step, as this rank sees it."""

    epoch: int
    number: int  # of the first micro-batch after it
    rows: int  # over all ranks
    parts: list[Any]  # this rank's Memory or Tensors: one if steps are joined, empty if it has no rows


class Reader:
    """See above. Every Memory that it returned stays valid after close()."""

    def __init__(self, feed: Feed, asked: Asked) -> None:
        self._library = _library.load()
        self._feed, self._asked = feed, asked
        self._handle = ctypes.c_void_p()
        self.columns: Columns | None = None
        self.is_broken = False
        """An interrupt came while a batch was being taken: the last one read may be lost."""
        self.epoch_end: tuple[int, int] | None = None
        """The end of the newest epoch with a last step that was read: epoch and number."""
        self.last_mark: tuple[int, int] | None = None
        """The end of the newest step that was read, even if it is left out: epoch and number."""
        self._parts: list[Memory | Tensors] = []
        self._is_viewing = asked.arrays.is_torch and not asked.copy and not asked.whole
        self._codes: deque[int] = deque(maxlen=1)
        self._event = _library.Event(struct_size=ctypes.sizeof(_library.Event))
        self._reserve(64)
        self._on_ring: Any = None
        self._open()

    def _open(self) -> None:
        path = self._feed.wait_for_socket().encode()
        at, asked = self._feed.place, self._asked
        options = _library.Options(
            struct_size=ctypes.sizeof(_library.Options), rank=at.rank, world_size=at.world, abort_fd=-1,
            attempt=at.attempt, stream=asked.stream.encode(), state=asked.state.encode() if asked.state else None,
            connect_timeout_ms=_FIRST_HELLO_MS, join=asked.join, last=asked.last == "drop", numa_node=-1)
        error = ctypes.create_string_buffer(4096)

        def opened(timeout_ms: int) -> tuple[int, str]:
            options.connect_timeout_ms = timeout_ms
            code = self._library.millrace_feed_open(path, options, ctypes.byref(self._handle), error, len(error))
            return code, error.value.decode(errors="replace")

        self._greet(opened)
        self._arguments = {wait: ((self._handle,), (_SLICE_MS if wait else 0,), (ctypes.byref(self._event),))
                           for wait in (True, False)}

    def _go_on(self) -> None:
        """The feed hung up. It hangs up on all ranks when one of them reconnects, as a rank does if its hello was answered
        too late. All ranks resume from the furthest position that all have reached; each gets what it lacks."""
        if self._asked.stream != "train":
            raise self._failure(_library.LOST, self._error(), 0)
        self._feed.check_listening()

        def reopened(timeout_ms: int) -> tuple[int, str]:
            return self._library.millrace_feed_reopen(self._handle, timeout_ms), self._error()

        self._greet(reopened)

    def _greet(self, say_hello: Callable[[int], tuple[int, str]]) -> None:
        """Waits for the feed's answer. `say_hello` takes a timeout in milliseconds and returns a code and a sentence."""
        end, timeout_ms = time.monotonic() + _HELLO_SECONDS, _FIRST_HELLO_MS
        while True:
            code, sentence = say_hello(timeout_ms)
            if code >= 0:
                return
            if code != _library.LOST:
                raise self._failure(code, sentence, 4)
            self._feed.check_listening()
            if time.monotonic() > end:
                raise FeedError(sentence)
            # A busy machine answers later: each try has a longer timeout.
            timeout_ms = min(2 * timeout_ms, _LAST_HELLO_MS)

    def next_step(self, wait: bool = True) -> Step | NotYet | None:
        """The next step; None at the end of the stream; NOT_YET if it has not arrived and `wait` is false."""
        codes, event, arguments = self._codes, self._event, self._arguments[wait]
        try:
            while True:
                codes.clear()
                # A single call of C: an interrupt cannot come between the event and its code.
                codes.extend(map(self._library.millrace_feed_next, *arguments))
                code = codes[0]
                if code == _library.BATCH:
                    self._parts.append(self._take(event.batch, event.rows))
                elif code == _library.STEP:
                    parts, self._parts = self._parts, []
                    self.last_mark = (event.epoch, event.number)
                    if event.is_last:
                        self.epoch_end = self.last_mark
                    if not event.is_left_out:
                        codes.clear()
                        return Step(event.epoch, event.number, event.rows, parts)
                elif code == _library.END_OF_STREAM:
                    codes.clear()
                    return None
                elif code == _library.TIMEOUT:
                    if not wait:
                        return NOT_YET
                    self._feed.check_alive()
                elif code == _library.NOTICE:
                    import warnings
                    warnings.warn(self._error(), RuntimeWarning, stacklevel=4)
                elif code == _library.LOST:
                    codes.clear()
                    self._go_on()
                elif code != _library.END_OF_EPOCH:
                    codes.clear()
                    raise self._failure(code, self._error(), event.number)
        except BaseException:
            self.is_broken = self.is_broken or bool(codes and codes[0] != _library.TIMEOUT)
            raise

    def _take(self, batch: int, rows: int) -> Memory | Tensors:
        if self._is_viewing and self.columns is not None:
            return Tensors(batch, self.columns, rows, self._asked.arrays)
        library, count = self._library, ctypes.c_size_t()
        library.millrace_batch_all_columns(batch, self._structs, len(self._structs), ctypes.byref(count))
        if count.value > len(self._structs):
            self._reserve(count.value)
            library.millrace_batch_all_columns(batch, self._structs, len(self._structs), ctypes.byref(count))
        if self.columns is None:
            self.columns = self._columns(count.value)
        if self._is_viewing:
            return Tensors(batch, self.columns, rows, self._asked.arrays)
        return Memory(batch, self.columns, self._table[:count.value].tolist(), self._asked.arrays, self._asked.copy)

    def _columns(self, count: int) -> Columns:
        inputs = self._library.millrace_feed_inputs(self._handle).decode(errors="replace")
        return Columns(self._structs, count, self._asked.arrays, inputs)

    def _reserve(self, count: int) -> None:
        import numpy
        column = _library.Column
        self._structs = (column * count)()
        for struct in self._structs:
            struct.struct_size = ctypes.sizeof(column)
        names = ["items", "num_values", "data", "offsets", "weights", "inverse"]
        kind = numpy.dtype({"names": names, "formats": ["u8"] * len(names), "itemsize": ctypes.sizeof(column),
                            "offsets": [getattr(column, name).offset for name in names]})
        self._table: Any = numpy.frombuffer(memoryview(self._structs), dtype=kind)

    def schema(self) -> Columns:
        """The columns of all batches, even before the first; waits until the feed has sent them."""
        while self.columns is None:
            count = ctypes.c_size_t()
            code = self._library.millrace_feed_schema(self._handle, self._structs, len(self._structs),
                                                      ctypes.byref(count))
            if code == 0 and count.value > len(self._structs):
                self._reserve(count.value)
            elif code == 0:
                self.columns = self._columns(count.value)
            elif code == _library.TIMEOUT:
                self._feed.check_alive()
                time.sleep(0.003)
            elif code == _library.LOST:
                self._go_on()
            else:
                raise self._failure(code, self._error(), 0)
        return self.columns

    def no_rows(self) -> NoRows:
        """This rank's part of a step in which it has no rows."""
        return NoRows(self.schema(), self._asked.arrays)

    def state_at(self, epoch: int, number: int) -> str:
        """The state at a step's end."""
        text = _library.take_text(self._library.millrace_feed_state_at(self._handle, epoch, number))
        if text is None:
            raise MillraceError(self._error())
        return text

    def info(self) -> _library.Info:
        """The feed's answer to hello."""
        info = _library.Info(struct_size=ctypes.sizeof(_library.Info))
        self._library.millrace_feed_get_info(self._handle, ctypes.byref(info))
        return info

    def stats(self) -> dict[str, int]:
        """Counts of this connection."""
        stats = _library.Stats(struct_size=ctypes.sizeof(_library.Stats))
        self._library.millrace_feed_get_stats(self._handle, ctypes.byref(stats))
        return {field[0]: getattr(stats, field[0]) for field in stats._fields_[1:]}

    def on_ring(self, mapped: Any, unmapped: Any) -> None:
        """Reports the memory of every ring (address, bytes): when it is mapped, and before it is unmapped."""
        def told(_: Any, address: int, size: int, is_mapped: int) -> None:
            (mapped if is_mapped else unmapped)(address, size)
        self._on_ring = _library.RING_CALLBACK(told)
        self._library.millrace_feed_on_ring(self._handle, self._on_ring, None)

    def _error(self) -> str:
        return (self._library.millrace_feed_error(self._handle) or b"").decode(errors="replace")

    def _failure(self, code: int, sentence: str, exit_code: int) -> MillraceError:
        if code == _library.LOST:
            return self._feed.failure(sentence)
        return (SpecError if code == _library.INVALID or exit_code == 4 else FeedError)(sentence)

    def close(self) -> None:
        """Leaves the feed. A second call does nothing."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            if self._on_ring is not None:
                self._library.millrace_feed_on_ring(handle, _library.RING_CALLBACK(), None)
            self._library.millrace_feed_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()
