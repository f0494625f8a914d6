"""The connection between a rank and the daemon of its run: metrics, progress, checkpoints, `done`.

The C library keeps what is sent until it is stored, and its thread reports that the process lives. One per process, made at
the first call that needs it. Threads: any.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import math
import operator
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from . import _library, _run
from ._errors import MillraceError, MisuseError
from ._phases import Phases

if TYPE_CHECKING:
    from ._checkpoint import Resumed

_PROGRESS_SECONDS = 0.2
_RATE_SECONDS = 0.005  # a rank that is faster tells of every second, fourth, ... step
_MOST_STEPS = 1 << 62  # that a line to the daemon takes
_MOST_STATE_BYTES = 1 << 18  # a line to the daemon takes four times as many
_ON_THEIR_WAY = 2  # checkpoints between their writing and the daemon's answer
_DONE_MS, _ERROR_MS, _STOP_MS = 600_000, 30_000, 5_000  # for the daemon to store the last lines

_current: Link | None = None
_is_known = False
_known_lock = threading.Lock()


def current() -> Link | None:
    """The link of the run that this process is a rank of; None if Millrace's launcher did not start it."""
    global _current, _is_known
    if not _is_known:
        with _known_lock:
            if not _is_known:
                run = _run.find()
                _current = None if run is None else Link(run)
                _is_known = True
    link = _current
    return link if link is None or link.run.pid == os.getpid() else None


def _last_frame(trace: Any) -> Any:
    """The innermost frame of a traceback: where the exception was raised. None without a traceback."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _own_frame(trace: Any) -> Any:
    """The innermost frame outside of this package: the script's line that called it. None if there is none."""
    package, own = os.path.dirname(os.path.abspath(__file__)) + os.sep, None
    while trace is not None:
        is_inside = os.path.abspath(trace.tb_frame.f_code.co_filename).startswith(package)
        own, trace = own if is_inside else trace, trace.tb_next
    return own


def _numbers(values: dict[str, Any]) -> dict[str, Any]:
    told = {}
    for name, value in values.items():
        try:
            number = float(value.detach() if hasattr(value, "detach") else value)  # converting a loss with a gradient would warn
        except (TypeError, ValueError, RuntimeError):
            raise MisuseError(f"millrace.log({name}={value!r}): a metric is a number, or a tensor of one") from None
        told[name] = number if math.isfinite(number) else "NaN" if math.isnan(number) else \
            "Infinity" if number > 0 else "-Infinity"
    return told


class Link:
    """See above."""

    def __init__(self, run: _run.Run) -> None:
        self.run = run
        self.stream: Any = None
        """The run's stream, once the script has made it."""
        self.other_spec = ""
        """The spec of the last stream that is not the run's."""
        self.resumed: Resumed | None = None
        """The checkpoint that the attempt resumes from."""
        self.has_asked_to_resume = False
        self.step = self.epoch = self.rows = 0
        self._step_ended = self._rows_ended = 0
        """Counts only steps that have ended: not the one with the batch that the loop still uses."""
        self._is_ending = False
        self._is_finished = False
        self.steps_total = int(run.spec["train"].get("max_steps", 0))
        self.phases = Phases()
        self.params: dict[str, str] = {}
        """Texts that are sent with `done`: `eval_order_hash`, `eval_state`."""
        self._library = _library.load()
        self._handle = ctypes.c_void_p()
        self._lock = threading.RLock()
        self._values: dict[str, Any] = {}
        self._has_steps = False  # in a run without a dataset: the script sets its step
        self._checkpoints: list[int] = []  # numbers of their lines that the daemon has not stored
        self._error = ""
        self._begun = self._told = time.monotonic()
        self._marks = (self._begun, 0), (self._begun, 0), 0.0
        self._is_measuring = False  # a step has begun in this attempt
        self._has_told_step = False
        self._step_seconds = 0.0
        self._stalled = (0.0, 0.0)  # ms of waiting, and of all but the start, at the last report
        if run.resume is not None:
            from ._checkpoint import Resumed
            self.resumed = Resumed(run.resume)
            self.step = self._step_ended = self.resumed.step
            self.rows = self._rows_ended = self.resumed._rows
            self.epoch = self.resumed._epoch
        self._open()
        if not run.has_dataset:
            self.phases.enter("busy")  # nothing here ends the start
        self._hook = sys.excepthook
        sys.excepthook = self._failed
        atexit.register(self._finish)

    def _open(self) -> None:
        run, error = self.run, ctypes.create_string_buffer(1024)
        options = _library.RunOptions(
            struct_size=ctypes.sizeof(_library.RunOptions), rank=run.rank, attempt=run.attempt, run=run.id.encode(),
            socket_path=run.rank_socket.encode(), page_path=run.page.encode(), spill_path=run.spill.encode(),
            memory_bytes=0, alive_ms=0)
        code = self._library.millrace_run_open(options, ctypes.byref(self._handle), error, len(error))
        if code == 0 and run.rank == 0 and run.resume is not None:
            code = self._library.millrace_run_preload(self._handle, os.fsencode(run.resume), error, len(error))
        if code != 0:
            raise MillraceError(error.value.decode(errors="replace"))
        if run.rank == 0:
            self.send("receipt", receipt={"packages": _run.packages(), "script": _run.script_facts()})
        self.send("progress", **self._progress("training", 0.0))

    def send(self, kind: str, **members: Any) -> int:
        """Sends a line of the rank protocol; returns its number."""
        text = json.dumps({"type": kind, **members}, separators=(",", ":"), allow_nan=False)
        error = ctypes.create_string_buffer(1024)
        seq = int(self._library.millrace_run_send(self._handle, text.encode(), error, len(error)))
        if seq == _library.FAILED:
            raise MillraceError(error.value.decode(errors="replace"))
        if seq < 0:
            raise MisuseError(f"a line of {len(text):,} bytes is more than the daemon takes (1 MB): log fewer metrics a step")
        return seq

    def write(self, file: _library.RunFile) -> tuple[int, str]:
        """Writes a checkpoint's file; returns its bytes and checksum."""
        checksum, error = ctypes.create_string_buffer(33), ctypes.create_string_buffer(4096)
        written = int(self._library.millrace_run_checkpoint(self._handle, file, checksum, error, len(error)))
        if written < 0:
            raise MillraceError(f"the checkpoint could not be written: {error.value.decode(errors='replace')}")
        return written, checksum.value.decode()

    def log(self, values: dict[str, Any], step: int | None = None) -> None:
        """Logs metrics of the loop's current step; without a dataset, of the step that the script gives."""
        told = _numbers(values)
        if not self.run.has_dataset:
            return self._log_bare(told, step)
        if step is not None and step != self.step:
            raise MisuseError(f"millrace.log(step={step}): the loop is at step {self.step} of the stream (stream.step), and "
                              "metrics are of that one")
        with self._lock:
            # Without the run's stream there is no step: a second value would replace the first one.
            if self.stream is None and self.other_spec and not told.keys().isdisjoint(self._values):
                raise MisuseError(f"millrace.log(): {self.why_no_step()}")
            self._values.update(told)
        if self._is_finished:  # called by an exit handler that runs after this module's
            self._flush()
            self._library.millrace_run_wait(self._handle, _STOP_MS)

    def why_no_step(self) -> str:
        """Why the run is at no step although the script reads a stream."""
        return (f"the stream of {self.other_spec} is not the run's, whose steps count: the spec of this run is "
                f"{self.run.spec_file}, which os.environ['MILLRACE_SPEC'] names; open that stream first")

    def reach(self, call: str, step: int) -> None:
        """The script is at that step: of a run without a dataset, whose steps nobody else counts."""
        try:
            number = -1 if isinstance(step, bool) else operator.index(step)  # also NumPy's integers, and tensors of one
        except TypeError:
            number = -1
        if not self.step <= number <= _MOST_STEPS:
            raise MisuseError(f"millrace.{call}(step={step!r}): a step is a whole number, not before the last one, "
                              f"{self.step}, and at most 2^62")
        self.step = self._step_ended = number
        self._has_steps = True

    def _log_bare(self, told: dict[str, Any], step: int | None) -> None:
        with self._lock:
            if step is not None:
                self.reach("log", step)
            elif not self._has_steps:
                self.step = self._step_ended = self.step + 1
            self._values.update(told)
            self._flush()
            self._told_lately(time.monotonic(), self._phase(), 0.0)

    def _flush(self) -> None:
        """Sends what was logged for the current step, as one line."""
        with self._lock:
            values, self._values = self._values, {}
        if values:
            self.send("metrics", step=self.step, epoch=self.epoch, rows=self.rows, time_ms=time.time_ns() // 1_000_000,
                      values=values)

    def _progress(self, phase: str, waiting: float) -> dict[str, Any]:
        return {"step": self.step, "epoch": self.epoch, "rows": self.rows, "steps_total": self.steps_total,
                "phase": phase, "waiting_ms": 1e3 * waiting, **self.phases.told()}

    def begin(self, step: int, epoch: int, rows: int, waited: float) -> bool:
        """The loop is about to get the batch of a step, after waiting `waited` seconds. Returns whether it may."""
        code = _library.TIMEOUT
        while code == _library.TIMEOUT:  # ranks of several machines agree on a stop
            code = self._library.millrace_run_begin(self._handle, step)
        if code == _library.ABORTED:
            return False
        now = time.monotonic()
        took = now - self._begun
        if self._is_measuring:
            self._measure(took, waited)
            if self.run.rank == 0:
                self._rate(now)
        else:
            self._marks = (now, self.rows), (now, self.rows), now
        self._is_measuring = True
        self._flush()
        self._step_ended, self._rows_ended = self.step, self.rows
        self._begun = now
        self.step, self.epoch, self.rows = step, epoch, rows
        self._told_lately(now, "training", 0.0)
        return True

    def _stall_percent(self) -> float:
        """The share of waiting since the last call, in percent; a wait is over before each call."""
        told = self.phases.told()
        (old_stall, old_passed), self._stalled = self._stalled, (told["stall_ms"], sum(told.values()) - told["start_ms"])
        stall, passed = self._stalled[0] - old_stall, self._stalled[1] - old_passed
        return 100.0 * stall / passed if passed > 0 else 0.0

    def _measure(self, took: float, waited: float) -> None:
        self._step_seconds += 0.1 * (took - self._step_seconds)
        every = 1
        while every * self._step_seconds < _RATE_SECONDS and every < 1024:
            every *= 2
        # Also reports the first measured step: a short run ends before the next report.
        if took > 0 and (self.step % every == 0 or not self._has_told_step):
            self._has_told_step = True
            with self._lock:
                self._values.update({"rank.step_ms": 1e3 * took, "rank.wait_ms": 1e3 * waited,
                                     "input_stall_percent": self._stall_percent()})

    def _rate(self, now: float) -> None:
        """Rows per second over all ranks, over the last half to one second, at most ten times a second."""
        older, newer, told = self._marks
        if now - told >= 0.1 and now - older[0] >= 0.02:
            told = now
            with self._lock:
                self._values["samples_per_second"] = (self.rows - older[1]) / (now - older[0])
        if now - newer[0] >= 0.5:
            older, newer = newer, (now, self.rows)
        self._marks = older, newer, told

    def _told_lately(self, now: float, phase: str, waiting: float) -> None:
        if now - self._told >= _PROGRESS_SECONDS:
            self._told = now
            self.send("progress", **self._progress(phase, waiting))

    def waits(self, since: float) -> None:
        """The loop has been waiting for a batch since `since`."""
        now = time.monotonic()
        self._told_lately(now, "waiting", now - since)

    def is_over(self, step: int) -> bool:
        """Whether the run stops before that step."""
        return bool(self._library.millrace_run_is_over(self._handle, step))

    def is_checkpoint_due(self, step: int) -> bool:
        """Whether that step must end with a checkpoint: the same in all ranks. While no daemon answers, checkpoints become
        less frequent (rank-protocol.md), if all ranks are on this machine and can agree on it."""
        settings = self.run.spec["train"]["checkpoint"]
        every = int(settings["every_steps"])
        if every == 0 or step % every or not self.run.is_on_one_machine:
            return every > 0 and step % every == 0
        acked = self._library.millrace_run_acked(self._handle)
        self._checkpoints = [seq for seq in self._checkpoints if seq > acked]
        excess = len(self._checkpoints) - int(settings["keep"]) - _ON_THEIR_WAY
        return bool(self._library.millrace_run_checkpoint_due(self._handle, step, every, excess))

    def evaluates(self) -> str:
        """An evaluation begins; returns the phase that it interrupts."""
        before = self.phases.enter("evaluate")
        self.send("progress", **self._progress("evaluating", 0.0))
        return before

    def evaluates_on(self) -> None:
        """The evaluation has read another batch."""
        self._told_lately(time.monotonic(), "evaluating", 0.0)

    def has_evaluated(self, before: str) -> None:
        """The evaluation is over; the phase that it interrupted continues."""
        if self.phases.part == "evaluate":
            self.phases.enter(before)
        self.send("progress", **self._progress("evaluating" if self.phases.part == "evaluate" else self._phase(), 0.0))

    def evaluated(self, figures: dict[str, Any], rows_hash: str, state: str) -> None:
        """Metrics of an evaluation of all ranks, for the current step, the rows that they are about, and the state at the end
        of their stream."""
        self.params["eval_order_hash"] = rows_hash
        if len(state.encode()) <= _MOST_STATE_BYTES:
            self.params["eval_state"] = state
        if self.run.rank == 0:
            self.log(figures)
            self._flush()

    def ends(self) -> None:
        """The loop has returned from its last batch."""
        self._flush()
        self._step_ended, self._rows_ended = self.step, self.rows
        self.phases.enter("ending")
        self.is_at_end()

    def is_at_end(self) -> None:
        """The loop gets no further batch: what the script does from now on is its own, however long it takes."""
        self._is_ending = True
        self._told = 0.0
        self._told_lately(time.monotonic(), self._phase(), 0.0)

    def _phase(self) -> str:
        return "ending" if self._is_ending else "training"

    def checkpoint(self, content: Any, state: str) -> None:
        """Writes a checkpoint of this step and reports it."""
        from ._checkpoint import write
        self._flush()
        with self.phases.during("checkpoint"):
            self.send("progress", **self._progress("checkpoint", 0.0))
            self._checkpoints.append(self.send("checkpoint", step=self.step, state=state, **write(self, content, state)))
        self._step_ended, self._rows_ended = self.step, self.rows
        self.send("progress", **self._progress(self._phase(), 0.0))

    def _failed(self, kind: Any, value: Any, trace: Any) -> None:
        place = ""
        last = _own_frame(trace) or _last_frame(trace)
        if last is not None:
            place = f" ({os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno})"
        said = str(value).strip().splitlines()
        self._error = f"{kind.__name__}{': ' + said[0][:2000] if said else ''}{place}"
        self._hook(kind, value, trace)

    def _finish(self) -> None:
        """The interpreter is about to end. The library's thread runs until the process ends: other exit handlers and joined
        threads may take time, and the daemon must know that the process lives."""
        if self.run.pid != os.getpid() or self._is_finished:
            return
        state, wait = "", _STOP_MS
        self._flush()
        if self._error:
            self.rows, wait = self._rows_ended, _ERROR_MS
        elif self.stream is not None and not self.stream.stopped:
            state = self.stream._final_state()
        self._is_ending = self._is_finished = True
        self.phases.enter("ending")
        self.send("progress", **self._progress("ending", 0.0))
        ended = self.stream._ended_state() if self.stream is not None and self.run.rank == 0 else ""
        if ended:  # the script fails now, or will by its exit code, which is unknown here
            self.send("receipt", receipt={"ended": {"step": self._step_ended, "rows": self._rows_ended, "state": ended}})
        if self._error:
            self.send("error", message=self._error)
        elif state:
            self.send("done", step=self.step, rows=self.rows, state=state, metrics={}, params=self.params)
            wait = _DONE_MS
        self._library.millrace_run_wait(self._handle, wait)


def log(*, step: int | None = None, **metrics: float) -> None:
    """Logs metrics of this script's run at the step of the last batch that the loop got.

    A value is a number, or a tensor with one element; the call waits for the tensor's value. Metrics named `rank.*` are
    stored for each rank, all others for rank 0 only. In a script that Millrace did not start, this does nothing.

    step
        In a run without a dataset: the step of these metrics and of later ones; it must not decrease. Until a call
        gives a step, each call counts as one step. In a run with a dataset: `stream.step`, for a script that counts its
        own steps; a different number is rejected.
    """
    link = current()
    if link is not None and metrics:
        link.log(metrics, step)
