"""The rank and world size of a process, and how the ranks of a machine find the feed that they share.

Uses torch.distributed if the script has initialised it, else the environment (torchrun and similar). Under a launcher that
sets `RANK` and `WORLD_SIZE` the ranks of a machine meet through its other variables. Without one
(`torch.multiprocessing.spawn`, Lightning's own, any `init_process_group(rank=, world_size=)`) they meet in the store of the
default process group.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, NamedTuple

from . import _places
from ._errors import FeedError, MisuseError

_LONGEST_WAIT = 300.0  # seconds for all ranks to reach a stream
_WAYS_OUT = "initialise the process group before the first batch, or give rank= and world= to millrace.stream()"


class Place(NamedTuple):
    """This process's rank, the world size, and the ranks that share its feed."""

    rank: int
    world: int
    ranks: tuple[int, ...]  # that the feed serves
    attempt: int
    job: str | None  # identifies the job that shares a feed; None: only this process
    is_starter: bool


def group() -> Any:
    """torch.distributed if the script has initialised it; does not import it."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    return distributed if distributed is not None and distributed.is_available() and distributed.is_initialized() else None


class Ranks:
    """The source of a stream's rank and world size: explicit values, else those at the stream's start."""

    def __init__(self, rank: int | None = None, world: int | None = None, dp_rank: int | None = None,
                 dp_size: int | None = None) -> None:
        for first, second, names in ((rank, world, "rank and world"), (dp_rank, dp_size, "dp_rank and dp_size")):
            if (first is None) != (second is None):
                raise MisuseError(f"{names} belong together: give both, or none of them")
            if first is not None and second is not None and not 0 <= first < second:
                raise MisuseError(f"{names}: {first} of {second} cannot be; ranks count from 0 and stay below the size")
        if rank is not None and dp_rank is not None:
            raise MisuseError("rank and dp_rank cannot both be given: dp_rank and dp_size say which equal batches this "
                              "process gets among its tensor- or pipeline-parallel neighbours")
        own, size = (rank, world) if rank is not None else (dp_rank, dp_size)
        self.given: Place | None = None
        if own is not None and size is not None:
            self.given = Place(own, size, (own,), 0, None, True)

    @property
    def are_known(self) -> bool:
        """Whether they are final: given, or set by a launcher."""
        return self.given is not None or _environment() is not None

    def told(self) -> tuple[int, int]:
        """Rank and world size at present."""
        if self.given is not None:
            return self.given.rank, self.given.world
        environment, distributed = _environment(), group()
        if distributed is not None:
            own = distributed.get_rank(), distributed.get_world_size()
            if environment is not None and environment != own:
                raise MisuseError(f"torch.distributed says that this is rank {own[0]} of {own[1]}, but RANK and WORLD_SIZE of "
                                  f"the environment say rank {environment[0]} of {environment[1]}: they must say the same, or "
                                  "give rank= and world= to millrace.stream()")
            return own
        if environment is not None:
            return environment
        size = _number("WORLD_SIZE", 1)
        if size > 1:
            raise MisuseError(f"WORLD_SIZE of the environment says that there are {size} ranks, and nothing says which one this "
                              f"is: {_WAYS_OUT}")
        return 0, 1

    def place(self, call: str) -> Place:
        """The final place of this process. `call` names the stream, the same in all ranks. Without a launcher that tells
        which ranks share a machine, the ranks meet here."""
        if self.given is not None:
            return self.given
        rank, world = self.told()
        if _environment() is not None:
            return _launched(rank, world, call)
        return _meet(rank, world, call) if world > 1 else Place(0, 1, (0,), 0, None, True)


def _environment() -> tuple[int, int] | None:
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return None
    return _number("RANK", 0), _number("WORLD_SIZE", 1)


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return otherwise
    try:
        return int(text)
    except ValueError:
        raise MisuseError(f"{name} of the environment is {text!r}, which is not a number: the launcher sets it") from None


def _launched(rank: int, world: int, call: str) -> Place:
    local, local_world = _number("LOCAL_RANK", rank), _number("LOCAL_WORLD_SIZE", world)
    attempt = _number("TORCHELASTIC_RESTART_COUNT", 0)
    first = rank - local
    ranks = tuple(range(first, first + local_world))
    # TORCHELASTIC_RUN_ID may be "none" in every job, so the directory of error files is used too: it is unique to a
    # torchrun.
    error_file = os.environ.get("TORCHELASTIC_ERROR_FILE", "")
    names = [os.environ.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK")]
    job = json.dumps([*names, error_file.split("/attempt_")[0], attempt, call])
    return Place(rank, world, ranks, attempt, job if local_world > 1 else None, local == 0)


def _machine() -> str:
    """Equal in processes that can share a feed: one kernel, one pid namespace, one directory of sockets."""
    base = os.stat(_places.sockets())
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    return json.dumps([boot, os.stat("/proc/self/ns/pid").st_ino, base.st_dev, base.st_ino])


def _meet(rank: int, world: int, call: str) -> Place:
    """Meets through the store of the default process group, which cannot interfere with the script's collectives."""
    from torch.distributed import distributed_c10d
    try:
        store: Any = distributed_c10d._get_default_store()
    except (AttributeError, RuntimeError, ValueError) as error:
        raise MisuseError(f"the ranks of this process group have no store to find their feed with ({error}): give rank= and "
                          "world= to millrace.stream()") from None
    names = [f"millrace/{call}/{one}" for one in range(world)]
    store.set(names[rank], json.dumps([_machine(), os.urandom(16).hex()]))
    end, pause = time.monotonic() + _LONGEST_WAIT, 0.002
    while not store.check(names):
        if time.monotonic() > end:
            missing = [one for one, name in enumerate(names) if not store.check([name])]
            raise FeedError(f"rank {missing[0]} did not come to this stream in {_LONGEST_WAIT:.0f} s, and the ranks of a process "
                            "group read it together: every rank must make the same calls (rank=0, world=1 makes a stream for "
                            "one rank alone)")
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    told = [json.loads(store.get(name)) for name in names]
    ranks = tuple(one for one in range(world) if told[one][0] == told[rank][0])
    # The rank that starts the feed chooses the job's name, so that no other job can have it.
    return Place(rank, world, ranks, 0, told[ranks[0]][1] if len(ranks) > 1 else None, ranks[0] == rank)
