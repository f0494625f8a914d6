"""The process that computes a stream: started here, or by the rank of this node that comes first.

A feed lives as long as the process that started it: it holds the reading end of a pipe, and only that process has the other
end, so that even a SIGKILL ends the feed. Its socket is in a directory that only this user can enter; the feed removes
both.
"""

from __future__ import annotations

import json
import os
import time
import weakref
import zlib
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple

from . import _places, _questions
from ._errors import FeedError, MillraceError, MisuseError, SpecError
from ._ranks import Place

_LONGEST_WAIT = 300.0  # seconds to wait for the rank that starts the feed
_END_SECONDS = 5.0  # seconds for a feed to end once its readers are gone
_LIFE_LINES: set[int] = set()  # writing ends of this process's pipes; a forked child closes its copies


def _close_inherited_lines() -> None:
    while _LIFE_LINES:
        os.close(_LIFE_LINES.pop())


os.register_at_fork(after_in_child=_close_inherited_lines)


class Request(NamedTuple):
    """The parameters of a feed. Ranks that share a feed must have the same."""

    spec: str
    variation: str | None
    sets: tuple[str, ...]
    last: str
    part: str = "train"
    """"score": the rows of eval.dataset, without labels. ("eval" rows come from the feed of "train".)"""
    files: str = ""
    """The dataset's files that are read, as a feed reports them; "": all that exist."""
    job: str = ""
    """The job.json of the run whose feed it is; "": of none."""
    values_of: str = ""
    """The job.json of the run whose counted vocabularies give the ids of part "score"; "": those of the training rows."""

    def __str__(self) -> str:
        parts = [self.spec]
        if self.variation is not None:
            parts.append(f"variation {self.variation}")
        parts += [f"set {text}" for text in self.sets]
        parts += ["part score"] if self.part == "score" else []
        parts += [f"files {zlib.crc32(self.files.encode()):08x}"] if self.files else []
        return ", ".join([*parts, f"last {self.last}"])

    def changes(self) -> list[str]:
        """The arguments of a command about the same variation and changes."""
        arguments = [] if self.variation is None else ["--variation", self.variation]
        return arguments + [part for text in self.sets for part in ("--set", text)]

    def counted(self) -> dict[str, Any]:
        """How many rows and steps there are, by `millrace-loader count`."""
        if self.job:
            return _questions.ask("millrace-loader", "count", "--job", self.job, "--data", self.part)
        with _memory_file("millrace-files", self.files) as files:
            return _questions.ask("millrace-loader", "count", self.spec, *self.changes(), "--data", self.part,
                                  "--pinned", _path_of(os.getpid(), files))


@contextmanager
def _memory_file(name: str, text: str) -> Iterator[int]:
    fd = _new_memory_file(name, text)
    try:
        yield fd
    finally:
        os.close(fd)


def _new_memory_file(name: str, text: str) -> int:
    """A file without a path, which other processes of this user open through _path_of()."""
    fd = os.memfd_create(name)
    with open(fd, "w", encoding="utf-8", closefd=False) as file:
        file.write(text)
    return fd


def _path_of(pid: int, fd: int) -> str:
    return f"/proc/{pid}/fd/{fd}"


class Feed:
    """A feed and the connection to it. One thread at a time; close() from the process that made it."""

    def __init__(self, request: Request, at: Place) -> None:
        self.request, self.place = request, at
        self._pid = os.getpid()
        self._process: Any = None
        self._errors: Any = None
        self._socket: str | None = None
        self._directory = _directory(at.job, at.is_starter)
        self._finalizer: Any = None
        self._is_announced = False  # the first rank has created the directory
        if at.is_starter:
            self._start()

    def _start(self) -> None:
        import subprocess
        import tempfile
        shown = _new_memory_file("millrace-request", json.dumps(str(self.request)))
        files = _new_memory_file("millrace-files", self.request.files)
        self._socket = os.path.join(self._directory, f"{os.getpid()}-{shown}-{files}")
        reading, writing = os.pipe()
        feeds = os.dup(reading)  # one each for the shim and the feed
        _LIFE_LINES.add(writing)
        self._errors = tempfile.TemporaryFile(buffering=0)
        command = [_places.program("millrace-exec"), "--life-fd", str(reading), "--", _places.program("millrace-loader"),
                   "feed", "--spec", self.request.spec, "--socket", self._socket, "--world", str(self.place.world),
                   "--ranks", ",".join(map(str, self.place.ranks)), "--attempt", str(self.place.attempt),
                   "--life-fd", str(feeds)]
        command += [*self.request.changes(), "--pinned", _path_of(os.getpid(), files)]
        if self.request.part == "score":
            command += ["--score", *(["--values-of", self.request.values_of] if self.request.values_of else [])]
        try:
            # A session of its own: Ctrl-C in the terminal is for the script, which then ends the feed.
            self._process = subprocess.Popen(command, pass_fds=[reading, feeds], stdin=subprocess.DEVNULL,
                                             stdout=self._errors, stderr=self._errors, start_new_session=True)
        except OSError as error:
            _end(self._pid, None, writing, (shown, files), self._directory, self._errors)
            raise MillraceError(f"{command[0]} cannot be started: {error.strerror}") from None
        finally:
            os.close(reading)
            os.close(feeds)
        self._finalizer = weakref.finalize(self, _end, self._pid, self._process, writing, (shown, files),
                                           self._directory, self._errors)

    def wait_for_socket(self) -> str:
        """The socket's path, once it exists. Ctrl-C ends the wait."""
        end = time.monotonic() + _LONGEST_WAIT
        while True:
            if self._socket is None:
                self._socket = self._socket_of_starter()
            if self._socket is not None and os.path.exists(self._socket):
                return self._socket
            self.check_alive()
            if time.monotonic() > end:
                raise FeedError(f"the feed did not come up in {_LONGEST_WAIT:.0f} s: "
                                + ("it still reads its plan" if self.place.is_starter else
                                   "local rank 0 starts it when it calls millrace.stream() as this rank did; every "
                                   "rank must make the same calls (rank=0, world=1 makes a stream for one rank alone)"))
            time.sleep(0.003)

    def _socket_of_starter(self) -> str | None:
        try:
            names = os.listdir(self._directory)
        except OSError:
            if self._is_announced:
                raise FeedError("the first rank of this node ended its feed before that came up: what it says itself "
                                "tells why") from None
            return None
        self._is_announced = True
        for name in names:
            try:
                pid, shown, _ = map(int, name.split("-"))
                with open(_path_of(pid, shown), "rb") as file:
                    asked = json.loads(file.read())
            except (OSError, ValueError):
                continue  # left by a job that was killed, or still being created
            if asked != str(self.request):
                raise MisuseError(f"the ranks of this job ask for different streams: rank {self.place.rank} for "
                                  f"{self.request}; the first rank of this node for {asked}. All must ask for the same")
            return os.path.join(self._directory, name)
        return None

    def files(self) -> str:
        """The dataset's files that the feed reads, as it reported them before it listened; "" if it is gone."""
        pid, _, files = map(int, os.path.basename(self._socket or "0-0-0").split("-"))
        try:
            with open(_path_of(pid, files), encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""

    def check_alive(self) -> None:
        """Raises when the feed of this process has ended."""
        if self._process is not None and self._process.poll() is not None:
            raise self.failure()

    def check_listening(self) -> None:
        """As check_alive, also for a feed that another process started: raises if nothing listens at its socket."""
        self.check_alive()
        if self._process is None and self._socket is not None and not _is_listened_to(self._socket):
            raise self.failure("the feed is gone")

    def failure(self, sentence: str = "") -> MillraceError:
        """The feed's error as an exception; uses `sentence` if the feed reported none."""
        code = None
        if self._process is not None:
            import subprocess
            try:
                code = self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        said = self._said() if code else ""
        text = said or sentence or f"the feed ended with code {code}"
        if code is not None and code < 0:
            text = f"the feed was killed by signal {-code}: {text}" if said or sentence else \
                f"the feed was killed by signal {-code}; go on from the last state that was saved"
        return (SpecError if code in (2, 4) else FeedError)(text)

    def _said(self) -> str:
        """The last line of the feed's error output."""
        if self._errors is None:
            return ""
        size = os.fstat(self._errors.fileno()).st_size
        text = os.pread(self._errors.fileno(), 8192, max(0, size - 8192)).decode(errors="replace")
        lines = [line for line in text.splitlines() if line.strip()]
        return _sentence(lines)

    def close(self) -> None:
        """Ends the feed if this process started it. A second call does nothing."""
        if self._finalizer is not None:
            self._finalizer()


def _is_listened_to(path: str) -> bool:
    """Whether a process listens at a socket. A process that is too busy to accept counts as listening."""
    import socket
    folder, name = os.path.split(path)
    try:
        at = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            probe.connect(f"/proc/self/fd/{at}/{name}")  # a socket path has at most 108 bytes
        return True
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(at)


def _sentence(lines: list[str]) -> str:
    """The line of a worker's log that contains the reason."""
    for line in reversed(lines):
        if line.startswith("millrace-loader: "):
            return line[len("millrace-loader: "):]
    return lines[-1] if lines else ""


def _end(pid: int, process: Any, writing: int, shown: tuple[int, ...], directory: str, errors: Any) -> None:
    """Ends a feed by closing the life line. Takes no lock, because finalizers run anywhere."""
    if os.getpid() != pid:
        return  # a forked child: the feed is its parent's
    if writing in _LIFE_LINES:
        _LIFE_LINES.discard(writing)
        os.close(writing)
    for fd in shown:
        os.close(fd)
    errors.close()
    if process is not None:
        import subprocess
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    _remove(directory)  # if the feed could not


def _remove(directory: str) -> None:
    """Removes a feed's directory with its socket. Errors are ignored."""
    try:
        for name in os.listdir(directory):
            os.unlink(os.path.join(directory, name))
        os.rmdir(directory)
    except OSError:
        pass


def _sweep(base: str) -> None:
    """Removes the files of feeds that were killed together with the processes that started them."""
    for name in os.listdir(base):
        path = os.path.join(base, name)
        try:
            sockets = os.listdir(path)
        except OSError:
            continue
        starter = name.split("-")[1] if name.startswith("feed-") else sockets[0].split("-")[0] if sockets else ""
        if starter.isdigit() and not os.path.exists(f"/proc/{starter}"):
            _remove(path)


def _directory(shared: str | None, is_starter: bool) -> str:
    """A directory for a feed's socket that only this user can enter."""
    base = _places.sockets()
    if shared is None:
        import tempfile
        _sweep(base)
        return tempfile.mkdtemp(prefix=f"feed-{os.getpid()}-", dir=base)
    import hashlib
    path = os.path.join(base, "job-" + hashlib.sha256(shared.encode()).hexdigest()[:24])
    if is_starter:
        _sweep(base)
        _places.own_directory(path)
        for name in os.listdir(path):  # left by a job that was killed
            os.unlink(os.path.join(path, name))
    return path
