"""Where the time of a script's rank goes: a clock that is always in one phase.

An open phase counts at once, so no part ever decreases, and their sum is the time since the clock was made. Threads: any.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PARTS = ("busy", "stall", "evaluate", "checkpoint", "start", "ending")


class Phases:
    """See above. It starts in `start`, which the first batch of the attempt ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seconds = dict.fromkeys(_PARTS, 0.0)
        self._since = clock()
        self._part = "start"

    @property
    def part(self) -> str:
        """The current phase."""
        return self._part

    def enter(self, part: str) -> str:
        """Ends the current phase and begins `part`; returns the phase that ended."""
        with self._lock:
            now, before = self._clock(), self._part
            self._seconds[before] += now - self._since
            self._since, self._part = now, part
            return before

    @contextmanager
    def during(self, part: str) -> Iterator[None]:
        """Enters `part` for the duration of the block; then the previous phase continues."""
        before = self.enter(part)
        try:
            yield
        finally:
            self.enter(before)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A wait for the loop's next batch. Waiting for the first batch is part of the start; an evaluation that the script
        has not read to its end is over."""
        with self.during("start" if self._part == "start" else "stall"):
            yield
        self.enter("busy")

    def told(self) -> dict[str, float]:
        """Milliseconds in each phase up to now, in the form of a progress line."""
        with self._lock:
            seconds = dict(self._seconds)
            seconds[self._part] += self._clock() - self._since
        return {f"{part}_ms": 1e3 * took for part, took in seconds.items()}
