"""The stream of the run that a script is a rank of: read from the run's own feed, which the daemon started."""

from __future__ import annotations

import os
import time
from typing import Any

from ._batch import Batch
from ._errors import FeedError, MillraceError, MisuseError
from ._feed import Request
from ._link import Link
from ._questions import Estimate
from ._ranks import Place, Ranks
from ._reader import Asked
from ._stream import Evaluation, Feeds, Stream

_LONGEST_WAIT = 300.0  # seconds to wait for the feed's socket
_END_SECONDS = 2.0  # seconds to read the stream's end after the script took its last batch


class _Over(Exception):
    """The run stops before the step that is being waited for."""


class RunFeed:
    """The run's feed, for a Reader. It does not belong to this process: close() does nothing to it."""

    def __init__(self, link: Link) -> None:
        run = link.run
        self.place = Place(run.rank, run.world, tuple(range(run.world)), run.attempt, run.id, False)
        self._path = run.feed_socket
        self.on_wait: Any = None
        """Called ten times a second during a wait for a batch."""

    def wait_for_socket(self) -> str:
        """The socket's path, once it exists. Ctrl-C ends the wait."""
        end = time.monotonic() + _LONGEST_WAIT
        while not os.path.exists(self._path):
            self.check_alive()
            if time.monotonic() > end:
                raise FeedError(f"the run's feed did not come up in {_LONGEST_WAIT:.0f} s: its log says why")
            time.sleep(0.003)
        return self._path

    def files(self) -> str:
        """Returns nothing: the daemon has pinned the run's plan."""
        return ""

    def check_alive(self) -> None:
        """Reports that this process waits."""
        if self.on_wait is not None:
            self.on_wait()

    def check_listening(self) -> None:
        """As check_alive: a feed that was lost is replaced, or the daemon ends this rank."""
        self.check_alive()

    def failure(self, sentence: str = "") -> FeedError:
        """The error for a feed that is gone."""
        return FeedError(sentence or "the run's feed is gone")

    def close(self) -> None:
        """Does nothing: the feed belongs to the daemon."""


class RunFeeds(Feeds):
    """Returns the run's feed whenever one is requested."""

    def __init__(self, link: Link, request: Request) -> None:
        # The run's spec has its variation and its changes, and the file may have changed since.
        self.request, self.ranks = request._replace(job=link.run.job), Ranks()  # by the launcher; torch.distributed must agree
        self.feed = RunFeed(link)

    def start(self) -> Any:
        return self.feed


class RunStream(Stream):
    """See Stream. Steps are counted over all attempts of the run."""

    def __init__(self, link: Link, request: Request, asked: Asked, device: Any, prefetch: int) -> None:
        self._link = link
        feeds = RunFeeds(link, request)
        super().__init__(feeds, asked, device, prefetch)
        self._run_feed = feeds.feed
        self._run_feed.on_wait = self._waits
        resumed = link.resumed
        self._text = "" if resumed is None else resumed._state
        self._steps, self._rows = link.step, link.rows
        self._first = link.step
        self._is_in_step = self._is_due = False
        self._asked_at = 0.0
        self._most = int(link.run.spec["train"]["max_steps"])
        self._epochs = int(link.run.spec["batch"]["epochs"])
        self._is_stopped = self._has_all = False
        self._length = 0  # in steps, once the script has asked for it
        self._ended: tuple[int, int] | None = None  # epoch and number at the end of the last step that has ended
        self._ended_text = ""

    def _waits(self) -> None:
        if not self._asked_at:
            return  # an evaluation over the same feed waits: it is read to its end
        self._link.waits(self._asked_at)
        if not self._is_in_step and self._link.is_over(self._steps + 1):
            raise _Over

    def _begin(self) -> None:
        if self._link.resumed is not None and not self._link.has_asked_to_resume:
            raise MisuseError(f"this run continues from its checkpoint of step {self._link.resumed.step}, and the script "
                              "has not asked for it: call millrace.resume() before the loop, and take up what it gives")
        self._asked_at = time.monotonic()
        try:
            super()._begin()
        except _Over:
            self._stop()
        finally:
            self._asked_at = 0.0

    def _give(self) -> Batch | None:
        self._check_open()
        if self._is_over:
            return None
        if not self._is_in_step:
            if self._link.is_over(self._steps + 1):
                return self._end() if self._has_all else self._stop()
            if 0 < self._most <= self._steps:
                return self._end()
        self._asked_at = time.monotonic()
        try:
            with self._link.phases.waiting():
                batch = super()._give()
        except _Over:
            return self._stop()
        finally:
            self._asked_at = 0.0
        return batch if batch is not None else self._end()

    def _is_through(self) -> bool:
        if self._has_all and not self._is_over:
            self._end()
        return super()._is_through()

    def _end(self) -> None:
        self._is_over = True
        self._ended = self._last
        self._link.ends()

    def _stop(self) -> None:
        self._is_stopped = True
        self._end()

    def _note(self, batch: Batch) -> None:
        if not self._is_in_step:
            rows = self._rows + batch.step_rows
            if batch.epoch > 0 and batch.epoch != self._link.epoch and self._steps % batch.epoch == 0:
                whole = self._steps // batch.epoch * self._epochs  # epochs have the same number of steps, as far as is known
                self._link.steps_total = min(whole, self._most) if self._most else whole
            if not self._link.begin(self._steps + 1, batch.epoch, rows, time.monotonic() - self._asked_at):
                raise _Over
            self._rows, self._ended = rows, self._last
            self._is_due = self._link.is_checkpoint_due(self._steps + 1)
        self._is_in_step = not batch._ends_step
        super()._note(batch)
        if batch._ends_step:
            self._has_all = 0 < self._most <= self._steps or self._is_last(batch)
            if self._has_all or 0 < self._length <= self._steps:
                self._link.is_at_end()

    def _is_last(self, batch: Batch) -> bool:
        """Whether this is the last step, by its mark. If the last step of an epoch is left out, only reading on shows
        it."""
        return batch.epoch + 1 >= self._epochs and self._reader is not None and \
            self._reader.epoch_end == (batch.epoch, batch.number)

    def __len__(self) -> int:
        counted = self._request.counted()
        self._length = self._count_steps(counted)
        return self._count_batches(counted)

    @property
    def estimate(self) -> Estimate:
        counted = self._request.counted()
        rows = counted["rows"] / self._epochs
        return Estimate(rows, rows, rows, *3 * [self._count_steps(counted)])

    def _has_begun(self) -> bool:
        return self._steps > self._first

    def _has_saved(self) -> None:
        self._is_due, self._ended = False, self._last

    def _ended_state(self) -> str:
        """The state after the last step that ended in this attempt; "" if none did."""
        if self._ended is None or self._reader is None:
            return self._ended_text
        try:
            return self._reader.state_at(*self._ended)
        except MillraceError:
            return ""

    def _final_state(self) -> str:
        self._reach_end()
        return self._current() if self._reader is not None or self._text else ""

    def _reach_end(self) -> None:
        """A loop that counts its steps does not read the stream's end, nor what was left out before it: this does. If
        another step comes instead, the loop did not take it, and it does not belong to the run."""
        reader = self._reader
        if self._is_over or reader is None or reader.is_broken or self._ready or self._is_in_step:
            return
        end = time.monotonic() + _END_SECONDS

        def look() -> None:
            if time.monotonic() > end:
                raise _Over
        self._run_feed.on_wait = look
        try:
            is_end = reader.next_step() is None if self._mover is None else self._mover.is_through
        except (_Over, MillraceError):
            return
        if is_end:
            self._is_over, self._last = True, reader.last_mark or self._last

    @property
    def stopped(self) -> bool:
        return self._is_stopped

    @property
    def checkpoint_due(self) -> bool:
        return self._is_due

    def load_state_dict(self, state: Any) -> None:
        self._check_process()
        text = state.get("state") if hasattr(state, "get") else None
        if text != self._current():
            raise MisuseError("a run's stream goes on where the run does: behind the checkpoint that millrace.resume() "
                              "gives, else from its start; another state cannot be loaded")

    def close(self) -> None:
        if not self._is_closed:
            self._link.ends()
        super().close()

    def __exit__(self, *failure: Any) -> None:
        if failure[0] is not None and not self._is_closed:
            self._link.is_at_end()  # the current step has not ended
            self._ended_text = self._ended_state()
            super().close()
        self.close()


def of_run(link: Link, request: Request, asked: Asked, device: Any, prefetch: int) -> RunStream | None:
    """The run's stream; None if the script asks for the stream of another spec."""
    if not _is_of_run(link, request):
        link.other_spec = request.spec
        return None
    if link.stream is not None:
        raise MisuseError("the run's stream was made already: a run has one (stream.evaluation() reads the rows of "
                          "its evaluation)")
    link.stream = RunStream(link, request, asked, device, prefetch)
    return link.stream


def evaluation_of_run(link: Link, request: Request, asked: Asked) -> Evaluation | None:
    """The evaluation rows of the run, from its feed; None if the script asks for those of another spec."""
    if not _is_of_run(link, request):
        return None
    return Evaluation(asked, RunFeeds(link, request), None, None)


def job_of(link: Link, request: Request) -> str:
    """The run's job.json where the spec is the run's, else ""."""
    return link.run.job if _names_spec_of(link, request) else ""


def _names_spec_of(link: Link, request: Request) -> bool:
    own = link.run.spec_file
    return not own or os.path.realpath(request.spec) == os.path.realpath(own)


def _is_of_run(link: Link, request: Request) -> bool:
    """Whether the spec is the run's. If so, the other arguments must match the run too."""
    run = link.run
    if not _names_spec_of(link, request):
        return False
    if not run.has_dataset:
        raise MisuseError("the run's spec has no dataset, so it has no stream: add one to it, or name another spec")
    own = run.spec.get("variation", "")
    if request.variation is not None and request.variation != own:
        raise MisuseError(f"this run is of {'variation ' + repr(own) if own else 'the base'} of the spec, and the script "
                          f"asks for variation {request.variation!r}: leave it out, `millrace run --variation` says it")
    if request.sets:
        raise MisuseError("set=...: the run has its spec already; `millrace run --set` changes it")
    return True
