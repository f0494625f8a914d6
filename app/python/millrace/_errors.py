"""The exceptions: each message is a whole sentence (where, what is wrong, what would be right)."""

from __future__ import annotations

from typing import Any


class MillraceError(RuntimeError):
    """Base class of Millrace's exceptions. The message is one sentence."""

    exit_code: int = 1
    """The exit code of the command line for this error."""

    def __init__(self, *arguments: Any, message: str | None = None) -> None:
        """`message`: the parameter needs this name, because torch's DataLoader then re-creates the exceptions of its
        workers."""
        super().__init__(*(arguments if message is None else (message,)))

    @property
    def message(self) -> str:
        """The message."""
        return str(self)

    @property
    def hint(self) -> str:
        """How to fix it: the part of the message after its semicolon; "" without one."""
        return str(self).partition("; ")[2]


class SpecError(MillraceError):
    """The spec, the data or a state is wrong; retrying gives the same error."""

    errors: list[dict[str, Any]] = []
    """The errors of a spec, each with `message`, `file`, `line`, `column` and `path` (the key), as in `millrace check
    --json`."""


class FeedError(MillraceError):
    """The feed that computes the stream has failed or ended: resume from the last saved state."""


class MisuseError(MillraceError):
    """The module was used in a way that cannot work; the message names a way that works."""

    exit_code: int = 2
    """The command line's exit code for wrong usage."""


class DaemonError(MillraceError):
    """No daemon answers, or it has an incompatible version."""

    exit_code: int = 6
    """The command line's exit code for this error."""


class RunError(MillraceError):
    """Runs that `wait()` waited for did not end as expected."""

    exit_code: int = 5
    """5: a run failed; 3: a run was cancelled; 1: the runs did not end in time."""
    runs: list[Any] = []
    """The runs in their current state."""
