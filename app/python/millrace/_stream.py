"""The stream that a training loop reads."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import weakref
import zlib
from collections import deque
from contextlib import contextmanager
from typing import Any, Iterator, Literal, Mapping, overload

from . import _kjt, _link, _places, _questions
from ._batch import Batch, NumpyArrays, TorchArrays
from ._errors import FeedError, MillraceError, MisuseError, SpecError
from ._feed import Feed, Request
from ._ranks import Place, Ranks, group
from ._reader import Asked, NotYet, Reader, Step

_calls = 0  # number of stream() calls, by which ranks find the feed that they share


class Feeds:
    """Starts the feeds of one stream; a later one replaces the previous one."""

    def __init__(self, request: Request, ranks: Ranks) -> None:
        global _calls
        if ranks.given is None:
            _calls += 1
        self.request, self.ranks = request, ranks
        self._call, self._starts = _calls, 0

    def start(self) -> Feed:
        """A feed at this process's place, which is determined now."""
        self._starts += 1
        return Feed(self.request, self.ranks.place(f"{self._call}.{self._starts}"))


class _Rows:
    """Iteration over one connection, for one consumer at a time: the common part of Stream and Evaluation."""

    def __init__(self, asked: Asked, ranks: Ranks) -> None:
        self._asked, self._ranks = asked, ranks
        self._place: Place | None = None  # once there is a feed
        self._has_met_group = ranks.given is not None
        self._has_delivered = False
        self._weak = weakref.ref(self)
        self._pid = os.getpid()
        self._reader: Reader | None = None
        self._ready: deque[Batch] = deque()
        self._consumer: weakref.ref[Any] | None = None
        self._turn = threading.Lock()

    def __iter__(self) -> Iterator[Batch]:
        self._check_process()
        with self._only_here():
            consumer = self._consumer() if self._consumer else None
            if consumer is not None and not (consumer.is_over or consumer.is_interrupted):
                self._replace(consumer)
            self._check_ranks()
            self._begin()
            if consumer is not None:
                consumer.is_over = True
            consumer = _Consumer(self)
            self._consumer = weakref.ref(consumer)
            return consumer

    @contextmanager
    def _only_here(self) -> Iterator[None]:
        """Raises if another thread uses the connection."""
        if not self._turn.acquire(blocking=False):
            raise MisuseError("two threads read this stream at once: one of them reads, and hands batches on")
        try:
            yield
        finally:
            self._turn.release()

    def _replace(self, consumer: _Consumer) -> None:
        """Another loop begins while `consumer` may still read. Raises if that is not possible."""
        raise NotImplementedError

    def _begin(self) -> None:
        raise NotImplementedError

    def _lose_place(self) -> None:
        """Nothing was delivered yet, and the place has changed."""
        raise NotImplementedError

    def _give(self) -> Batch | None:
        raise NotImplementedError

    def _state_of(self, epoch: int, number: int) -> str:
        raise NotImplementedError

    def _connection(self) -> Reader:
        raise NotImplementedError

    def _next(self) -> Batch | None:
        self._check_process()
        self._check_ranks()
        with self._only_here():
            return self._give()

    def _read(self) -> Batch | None:
        """The next batch of the connection, in host memory."""
        batch = self._try_read(True)
        assert not isinstance(batch, NotYet)
        return batch

    def _try_read(self, wait: bool) -> Batch | NotYet | None:
        """As _read(), but does not wait if `wait` is false: NOT_YET without a batch."""
        ready = self._ready
        while not ready:
            reader = self._connection()
            step = reader.next_step(wait)
            if step is None or isinstance(step, NotYet):
                return step
            ready.extend(self._batches(reader, step))
        batch = ready[0]
        self._has_delivered = True
        self._takes(batch)  # before it is taken: after an interrupt here the next call returns it
        ready.popleft()
        return batch

    def _takes(self, batch: Batch) -> None:
        """The loop is about to get this batch."""

    def _count_steps(self, counted: dict[str, Any]) -> int:
        return int(counted["whole_steps" if self._asked.last == "drop" else "steps"])

    def _count_batches(self, counted: dict[str, Any]) -> int:
        """Number of batches for this rank, from the result of `millrace-loader count`."""
        if self._asked.join:
            return self._count_steps(counted)
        rank, world = self._ranks.told()
        in_step = counted["step_rows"] // counted["micro_rows"]
        batches = counted["whole_steps"] * (in_step // world)
        if self._asked.last == "keep":
            # A rank without a micro-batch in an epoch's partial step gets an empty batch.
            rest = [epoch["micro_batches"] - epoch["whole_steps"] * in_step for epoch in counted["epochs"]]
            batches += sum(max(1, -((rank - one) // world)) for one in rest if one > 0)
        return int(batches)

    def _batches(self, reader: Reader, step: Step) -> list[Batch]:
        epoch, number, rows, parts = step
        assert self._place is not None
        facts = (epoch, number, rows, self._place.world)
        columns, is_torch, weak = reader.columns or reader.schema(), self._asked.arrays.is_torch, self._weak
        batches = [Batch(columns, part, is_torch, facts, weak) for part in parts or [reader.no_rows()]]
        for batch in batches[:-1]:
            batch._ends_step = False
        return batches

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise MisuseError(f"this stream belongs to process {self._pid}, not to this one, which was forked from it "
                              "(a DataLoader's worker is): read it in the process that made it, with num_workers=0; "
                              "the feed computes in processes of its own already")

    def _check_ranks(self) -> None:
        """Checks that torch.distributed, once it is initialised, agrees with this stream's rank and world."""
        if self._has_met_group or group() is None:
            return
        rank, world = self._ranks.told()
        place = self._place
        if place is None:
            return
        if (rank, world) != (place.rank, place.world):
            if self._has_delivered:
                raise MisuseError(
                    f"torch.distributed says that this is rank {rank} of {world}, but this stream was begun before it was "
                    f"initialised, as rank {place.rank} of {place.world}, and has delivered rows as such: initialise the process "
                    "group before the first batch, or give rank= and world= to millrace.stream()")
            self._lose_place()
        self._has_met_group = True

    @property
    def rank(self) -> int:
        """This rank, from 0. Before the first batch: the value that is known so far."""
        return self._place.rank if self._place is not None else self._ranks.told()[0]

    @property
    def world(self) -> int:
        """The number of ranks. Before the first batch: the value that is known so far."""
        return self._place.world if self._place is not None else self._ranks.told()[1]

    def __reduce__(self) -> Any:
        raise MisuseError("a stream cannot be sent to another process (a DataLoader's worker is one): read it in the "
                          "process that made it, with num_workers=0; the feed computes in processes of its own already")


class _Consumer:
    """The iterator of one loop."""

    def __init__(self, rows: _Rows) -> None:
        self._rows = rows
        self.is_over = False
        self.is_replaced = False
        """Another loop over an evaluation has begun."""
        self.is_interrupted = False
        """Its loop may have ended, although a traceback keeps this iterator alive; another one may replace it."""

    def __iter__(self) -> _Consumer:
        return self

    def __next__(self) -> Batch:
        if self.is_replaced:
            raise MisuseError("a newer loop over this evaluation has begun, which ended this one: read it in one loop at a "
                              "time, or make two with stream.evaluation()")
        try:
            batch = None if self.is_over else self._rows._next()
            self.is_interrupted = False
        except (FeedError, SpecError):
            self.is_over = True
            raise
        except MisuseError:
            raise
        except BaseException:
            self.is_interrupted = True
            raise
        if batch is None:
            self.is_over = True
            raise StopIteration
        return batch


class Stream(_Rows):
    """The steps of a spec's stream over all epochs, with this rank's rows of each; made by `millrace.stream()`.

    One loop at a time reads it: `for batch in stream`. After `break`, another loop continues where that loop ended. As
    a context manager it closes itself.
    """

    def __init__(self, feeds: Feeds, asked: Asked, device: Any, prefetch: int) -> None:
        super().__init__(asked, feeds.ranks)
        self._feeds, self._request = feeds, feeds.request
        self._mover: Any = None
        self._device, self._prefetch = device, prefetch
        self._cuda: Any = None
        if device is not None:
            from ._device import Cuda
            self._cuda = Cuda(device)
        self._last: tuple[int, int] | None = None  # epoch and number of the loop's last batch
        self._text = ""  # the state before the first batch, or without a connection
        self._files = ""  # files that the feed reads; "": not known, or pinned by the daemon
        self._packed: tuple[str, str] = ("", "")  # these files, and their form in a state
        self._is_over = self._is_closed = False
        self._steps = 0
        self._step_rows = 0  # of a whole step; 0: not known
        # If the ranks are known, the feed reads its plan while the script makes its model.
        self._feed: Feed | None = self._start_feed() if feeds.ranks.are_known else None

    def _start_feed(self) -> Feed:
        feed = self._feeds.start()
        self._place = feed.place
        return feed

    def _connection(self) -> Reader:
        if self._reader is not None and not self._reader.is_broken:
            return self._reader
        self._check_open()
        if self._reader is not None:
            if self._place is not None and self._place.job is not None:
                raise MisuseError("an interrupt came while a batch was being taken: go on with "
                                  "stream.load_state_dict(stream.state_dict()) in every rank")
            self._restart(self._current())
        if self._feed is None:
            self._feed = self._start_feed()
        if self._reader is None:
            self._reader = Reader(self._feed, self._asked._replace(state=self._text or None))
            self._files = self._feed.files() or self._files
            self._check_step_rows(self._reader)
            if self._mover is not None:
                self._reader.on_ring(self._mover.mapped, self._mover.unmapped)
        return self._reader

    def _check_step_rows(self, reader: Reader) -> None:
        """Rejects a state that was taken with another `batch.rows`: its number of steps counts other steps."""
        info, asked = reader.info(), self._step_rows
        rows = info.step_batches * info.micro_rows
        if asked not in (0, rows):
            self._leave()
            raise SpecError(f"this state was taken with batch.rows: {asked}, and this stream has {rows}: its steps are "
                            "others. Resume with the same batch.rows")
        self._step_rows = rows

    def _replace(self, consumer: _Consumer) -> None:
        self._check_open()
        if self._is_through():
            consumer.is_over = True  # it took the last batch, and did not ask for another
            return
        raise MisuseError("this stream has a consumer already: two loops would each get some of its steps. Make "
                          "another stream, or end the first loop and let go of its iterator")

    def _is_through(self) -> bool:
        """Whether the loop has got the last batch. Waits for the next batch, which is kept for the loop."""
        if self._mover is not None:
            self._is_over = self._is_over or self._mover.is_through
        elif not self._is_over and not self._ready:
            reader = self._connection()
            step = reader.next_step()
            if step is None:
                self._end_loop()
            else:
                assert not isinstance(step, NotYet)
                self._ready.extend(self._batches(reader, step))
        return self._is_over

    def _end_loop(self) -> None:
        self._is_over = True
        # Also after what was left out of the last epoch.
        self._last = self._connection().last_mark or self._last

    def _begin(self) -> None:
        self._check_open()
        if self._is_over:
            raise MisuseError("this stream was read to its end: one loop reads all epochs of the spec (batch.epochs). "
                              "Make another with millrace.stream(), or load a state")
        self._move()
        self._connection()

    def _move(self) -> None:
        """Copies batches to the device ahead of the loop."""
        if self._cuda is not None and self._mover is None:
            from ._device import Mover
            self._mover = Mover(self._cuda, self._try_read, self._prefetch)

    def _give(self) -> Batch | None:
        self._check_open()
        batch = None if self._is_over else self._mover.next() if self._mover is not None else self._read()
        if batch is None:
            self._end_loop()
        elif self._mover is not None:
            self._note(batch)
        return batch

    def _takes(self, batch: Batch) -> None:
        if self._mover is None:
            self._note(batch)

    def _note(self, batch: Batch) -> None:
        if batch._ends_step:
            self._last = (batch.epoch, batch.number)
            self._steps += 1

    def _state_of(self, epoch: int, number: int) -> str:
        if self._reader is None:
            raise MisuseError("the stream of this batch is closed: ask for its cursor before")
        return self._reader.state_at(epoch, number)

    def _current(self) -> str:
        if self._last is None or self._reader is None:
            return self._text
        return self._reader.state_at(*self._last)

    def state_dict(self) -> dict[str, Any]:
        """The loop's position: after the step of the last batch that it got, regardless of batches that were read
        ahead.

        The call does not communicate with other ranks. All ranks' states are equal, so one is enough to resume, with
        any number of ranks that divides the number of the step's micro-batches. The state names the files that are
        read, so it stays valid after the dataset has grown; new files are then left out. It has texts and numbers only:
        `torch.save` and `torch.distributed.checkpoint` store it as it is.
        """
        self._check_process()
        if self._packed[0] != self._files:
            self._packed = (self._files, _pack(self._files))
        return {"millrace": 1, "state": self._current(), "step": self._steps, "step_rows": self._step_rows,
                "files": self._packed[1]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes at the position of a `state_dict()` of a stream of the same spec. All ranks load the same state."""
        self._check_process()
        self._check_open()
        text = state.get("state") if isinstance(state, Mapping) else None
        if not isinstance(text, str) or state.get("millrace") != 1:
            raise SpecError("this is not a state of a stream: it is what stream.state_dict() of this version gave")
        if text:
            try:
                json.loads(text)["cursor"]["next"]
            except (ValueError, KeyError, TypeError):
                raise SpecError("this state of a stream is damaged: its text is not what was saved") from None
        files = _unpack(state.get("files", ""))
        consumer = self._consumer() if self._consumer else None
        if consumer is not None:
            consumer.is_over = True  # its loop read earlier rows
        self._steps, self._step_rows = int(state.get("step", 0)), int(state.get("step_rows", 0))
        is_same = files == self._request.files
        self._files = files
        if self._reader is None and not self._is_over and (is_same or self._feed is None):
            self._text = text
            self._pin()
        else:
            self._restart(text)

    def _restart(self, text: str) -> None:
        # In this order an interrupt leaves a stream that resumes from `text`.
        self._text, self._last, self._is_over = text, None, False
        self._leave()
        self._pin()
        self._feed = self._start_feed()

    def _pin(self) -> None:
        """Makes the next feed read the files of this stream, even if the dataset has grown."""
        self._request = self._feeds.request = self._request._replace(files=self._files)

    def _lose_place(self) -> None:
        self._leave()
        self._place = None
        self._move()

    def _told(self) -> dict[str, Any]:
        text = self._current()
        return json.loads(text) if text else {}

    @property
    def step(self) -> int:
        """Number of steps from the stream's start to the loop's position: the step of the last batch that the loop
        got."""
        return self._steps

    @property
    def stopped(self) -> bool:
        """The loop ended because the run is being stopped (`millrace stop`), in every rank after the same step: save a
        checkpoint and end. False in a script that Millrace did not start."""
        return False

    @property
    def checkpoint_due(self) -> bool:
        """The run needs a checkpoint at the end of this step (`train.checkpoint.every_steps`; less and less often while
        no daemon answers). It is true in every rank at the same step, until the rank calls `millrace.checkpoint()`.
        False in a script that Millrace did not start."""
        return False

    @property
    def order_hash(self) -> str:
        """The order hash of all ranks' rows up to the loop's position; "" before the first batch. At the end it is the
        order hash of the run, which `millrace stream SPEC --last drop` (or keep) prints."""
        return str(self._told().get("order_hash", ""))

    @property
    def rows_delivered(self) -> int:
        """Rows up to the loop's position, over all ranks."""
        return int(self._told().get("rows_delivered", 0))

    @property
    def rows_left_out(self) -> int:
        """Rows of the epochs' last, partial steps that `last="drop"` left out up to the loop's position."""
        return int(self._told().get("rows_left_out", 0))

    @property
    def schema(self) -> list[dict[str, Any]]:
        """The columns of the batches: name, role, dtype, width and rows, the size of a feature's embedding table (counted
        values and the unknown one, for `vocabulary: auto`; 0 without a table). Waits until all ranks have connected to the
        feed."""
        self._check_process()
        return self._connection().schema().describe()

    @property
    def stats(self) -> dict[str, int]:
        """Counts of this rank: wait_ns, batches, rows, bytes, held_batches, ring_bytes."""
        self._check_process()
        return self._connection().stats()

    def __len__(self) -> int:
        """The exact number of batches that this rank gets from the whole stream: one for each step; with `join=False`
        the step's micro-batches. If filters or draws decide the number, this reads their columns once and stores the
        result under the stream's hash. `estimate` is faster."""
        return self._count_batches(self._request.counted())

    @property
    def estimate(self) -> _questions.Estimate:
        """The number of rows and steps, estimated within seconds from some of the splits. In a run: the exact number,
        counted as by `len()`."""
        asked = (self._request.spec, *self._request.changes())
        document = _questions.ask("millrace", "preview", *asked)
        batch = _questions.ask("millrace", "check", *asked)["runs"][0]["spec"]["batch"]
        kept = document["rows_kept"]
        rows = [kept["value"], kept["low"], kept["high"]]
        steps = [None if one is None else one / batch["rows"] * batch["epochs"] for one in rows]
        return _questions.Estimate(*rows, *steps)

    def evaluation(self) -> Evaluation:
        """This rank's share of the spec's evaluation rows (`eval.dataset`); each loop over it reads them once.

        The stream's own feed serves it, independently of the training loop, until `close()`.
        """
        self._check_process()
        self._check_open()
        self._connection()
        assert self._feed is not None
        return Evaluation(self._asked, self._feeds, self._feed, self)

    def close(self) -> None:
        """Ends the feed and its connection. Batches that you hold stay readable. A second call does nothing."""
        if os.getpid() != self._pid or self._is_closed:
            return
        try:
            self._text, self._last = self._current(), None
        except MillraceError:
            pass  # the state that was loaded stays
        self._leave()
        self._is_closed = True

    def _leave(self) -> None:
        if self._mover is not None:
            self._mover.close()
            self._mover = None
        reader, self._reader = self._reader, None
        self._ready.clear()
        if reader is not None:
            reader.close()
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise MisuseError("this stream is closed: make another with millrace.stream(); its state_dict() is still "
                              "there to be loaded")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Evaluation(_Rows):
    """This rank's share of the evaluation rows; made by `millrace.stream(spec, part="eval")` (or "score") or
    `Stream.evaluation()`.

    Each loop over it reads the rows once, from their start; a new loop ends the previous one. The rows are those of the
    base, the same in all variations, and none is left out: in the last step a rank may get a batch of 0 rows. As a
    context manager it closes itself.
    """

    def __init__(self, asked: Asked, feeds: Feeds, feed: Feed | None, stream: Stream | None) -> None:
        """`stream`: the stream with the feed; None: a feed of its own, in which case `feed` is None once it is read."""
        super().__init__(asked._replace(stream="eval", state=None, last="keep"), feeds.ranks)
        self._feeds, self._feed, self._stream = feeds, feed, stream
        self._place = feed.place if feed is not None else None
        self._is_closed = False
        self._link = _link.current()
        self._interrupts: str | None = None  # the phase of the run that this reading has interrupted
        self._end_state = ""  # the state at the end of the last whole loop
        if feed is None and feeds.ranks.are_known:
            self._start_feed()

    def __len__(self) -> int:
        """The exact number of batches that this rank gets in one loop. If `eval.dataset.where` or a join drops rows,
        this reads the columns that decide it once, and stores the result under the stream's hash."""
        return self._count_batches(self._feeds.request._replace(part=self.part).counted())

    @property
    def part(self) -> str:
        """"eval", or "score": rows without labels."""
        return "score" if self._feeds.request.part == "score" else "eval"

    def _replace(self, consumer: _Consumer) -> None:
        consumer.is_replaced = True

    def _start_feed(self) -> None:
        self._feed = self._feeds.start()
        self._place = self._feed.place

    def _lose_place(self) -> None:
        if self._stream is not None:
            return  # the stream must find another feed
        has_begun = self._reader is not None
        self._leave()
        self._place = None
        if has_begun:
            self._begin()

    def _begin(self) -> None:
        if self._is_closed:
            raise MisuseError("this evaluation is closed: ask for another")
        if self._stream is not None and self._stream._feed is not self._feed:
            raise MisuseError("the stream of this evaluation is closed, or continued from another state: ask it for "
                              "evaluation() again")
        if self._feed is None:
            self._start_feed()
        assert self._feed is not None
        self._ready.clear()
        self._end()
        self._interrupts = self._link.evaluates() if self._link is not None else None
        self._reader = Reader(self._feed, self._asked)

    def _end(self) -> None:
        """Ends this pass: nothing more of it is read."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        before, self._interrupts = self._interrupts, None
        if self._link is not None and before is not None:
            self._link.has_evaluated(before)

    def _connection(self) -> Reader:
        assert self._reader is not None
        return self._reader

    def _give(self) -> Batch | None:
        if self._reader is None:
            return None
        batch = self._read()
        if batch is None:
            mark = self._reader.last_mark
            self._end_state = self._reader.state_at(*mark) if mark is not None else ""
            self._end()
        elif self._link is not None:
            self._link.evaluates_on()
        return batch

    def _state_of(self, epoch: int, number: int) -> str:
        raise MisuseError("an evaluation has no cursor: it is always read from its start")

    def close(self) -> None:
        """Ends its connection, and its feed if it has its own. Batches that you hold stay readable. A second call does
        nothing."""
        if os.getpid() == self._pid:
            self._leave()
            self._is_closed = True

    def _leave(self) -> None:
        self._ready.clear()
        self._end()
        feed, self._feed = self._feed, None
        if feed is not None and self._stream is None:
            feed.close()

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


@overload
def stream(spec: str | os.PathLike[str], variation: str | None = None, set: Mapping[str, Any] | None = None, *,
           part: Literal["train"] = "train", last: str = "drop", copy: bool = False, device: Any = None, prefetch: int = 2,
           rank: int | None = None, world: int | None = None, dp_rank: int | None = None, dp_size: int | None = None,
           as_numpy: bool = False, join: bool = True) -> Stream: ...


@overload
def stream(spec: str | os.PathLike[str], variation: str | None = None, set: Mapping[str, Any] | None = None, *,
           part: Literal["eval", "score"], copy: bool = False, rank: int | None = None, world: int | None = None,
           dp_rank: int | None = None, dp_size: int | None = None, as_numpy: bool = False,
           join: bool = True) -> Evaluation: ...


def stream(spec: str | os.PathLike[str], variation: str | None = None, set: Mapping[str, Any] | None = None, *,
           part: str = "train", last: str = "drop", copy: bool = False, device: Any = None, prefetch: int = 2,
           rank: int | None = None, world: int | None = None, dp_rank: int | None = None, dp_size: int | None = None,
           as_numpy: bool = False, join: bool = True) -> Stream | Evaluation:
    """Opens the stream of a spec, computed by a feed of its own; read it with `for batch in stream`.

    In a script that Millrace started (`command:` of the spec), the submitted spec gives the stream of the run, with the
    run's variation. The run's feed serves it, starting after the checkpoint from which the run continues.

    spec, variation, set
        The YAML file, one of its variations, and changes: `{"batch.seed": 8}`.
    part
        "train": a `Stream`. "eval": an `Evaluation`, the rows of `eval.dataset`. "score": the same without labels, for
        rows whose label is not known yet. It needs neither the spec's `labels` nor their columns, and `set=` may name
        other files, as in `{"eval.dataset": {"path": "today.parquet"}}`. "eval" and "score" accept only `copy`, the
        options for ranks, `as_numpy` and `join`; their batches are in host memory.
    last
        Handling of an epoch's last step if it has fewer rows than the others. "drop" leaves it out on every rank, and
        counts its rows (`rows_left_out`). "keep" gives every rank the same number of steps; a rank without rows gets a
        batch of 0 rows (`batch.scale`).
    copy
        Batches own their memory. Without it they view the ring's memory; a batch that you hold for long makes the feed
        allocate a new ring.
    device, prefetch
        "cuda": batches are on the GPU. `prefetch` batches are copied ahead, on a separate CUDA stream.
    rank, world
        The share of this process. If you give them, the process has a feed of its own. Otherwise they are determined at
        the first batch: from torch.distributed if the script has initialised it (`torch.multiprocessing.spawn`,
        Lightning's own launcher), else from the environment (torchrun). If both are present and disagree, a
        `MisuseError` is raised. The ranks of a machine then share one feed, so every rank must make the same calls.
    dp_rank, dp_size
        For trainers whose tensor- or pipeline-parallel ranks must see equal batches: processes with the same `dp_rank`
        get the same rows. Each has a feed of its own.
    as_numpy
        numpy arrays instead of torch tensors; also the default if torch is not installed.
    join
        True: this rank's rows of a step are delivered as one batch. False: as micro-batches, of which a step has
        several; a state taken between them is that of the previous step.
    """
    if part not in ("train", "eval", "score"):
        raise MisuseError(f"part={part!r}: \"train\" is what is trained on, \"eval\" are the evaluation rows, and \"score\" "
                          "are these without labels")
    if last not in ("drop", "keep"):
        raise MisuseError(f"last={last!r}: \"drop\" leaves an epoch's partial step out, \"keep\" delivers it")
    if not isinstance(prefetch, int) or prefetch < 0:
        raise MisuseError(f"prefetch={prefetch!r}: how many batches are copied ahead, 0 or more")
    path = _places.spec(os.fspath(spec))
    on_gpu = device is not None and not str(device).startswith("cpu")
    if on_gpu and as_numpy:
        raise MisuseError("as_numpy=True gives arrays in host memory: leave it or device out")
    arrays = _arrays(as_numpy)
    if on_gpu and not arrays.is_torch:
        raise MisuseError(f"device={str(device)!r} needs torch, which is not installed")
    _kjt.register(Batch)
    request = Request(path, variation, _questions.as_sets(set), last, "score" if part == "score" else "train")
    asked = Asked("train", None, join, last, copy, arrays, on_gpu)
    if part != "train" and on_gpu:
        raise MisuseError(f"device={str(device)!r}: evaluation rows come in host memory; batch.to(device) takes them there")
    link = _link.current() if part == "score" or (rank is None and dp_rank is None) else None
    if link is not None and part == "score":
        from . import _run_stream
        request = request._replace(values_of=_run_stream.job_of(link, request))
    elif link is not None:
        from . import _run_stream
        own = _run_stream.evaluation_of_run(link, request, asked) if part == "eval" else \
            _run_stream.of_run(link, request, asked, device if on_gpu else None, prefetch)
        if own is not None:
            return own
    feeds = Feeds(request, Ranks(rank, world, dp_rank, dp_size))
    if part != "train":
        return Evaluation(asked, feeds, None, None)
    return Stream(feeds, asked, device if on_gpu else None, prefetch)


def _pack(files: str) -> str:
    """The files' names in the form of a state: compressed, as text."""
    return base64.b85encode(zlib.compress(files.encode())).decode() if files else ""


def _unpack(packed: Any) -> str:
    try:
        return zlib.decompress(base64.b85decode(packed)).decode() if packed else ""
    except (ValueError, TypeError, zlib.error):
        raise SpecError("this state of a stream is damaged: its files are not what was saved") from None


def _arrays(as_numpy: bool) -> NumpyArrays | TorchArrays:
    """The factory of the arrays that batches hold."""
    try:
        import numpy  # noqa: F401
    except ModuleNotFoundError:
        raise MillraceError("millrace.stream() needs numpy (pip install numpy): batches are arrays") from None
    if not as_numpy:
        try:
            import torch
        except ModuleNotFoundError:
            return NumpyArrays()
        # A DataLoader checks for this class before it iterates.
        for rows in (Stream, Evaluation):
            torch.utils.data.IterableDataset.register(rows)  # type: ignore[attr-defined]
        return TorchArrays()
    return NumpyArrays()
