"""The exceptions: each message is a whole sentence (where, what is wrong, what would be right)."""

from __future__ import annotations

from typing import Any


class MillraceError(RuntimeError):
    """An error of Millrace, as one sentence. Base of the others."""

    exit_code: int = 1
    """The exit code of the command line for this error."""

    def __init__(self, *arguments: Any, message: str | None = None) -> None:
        """`message`: the parameter needs this name, because torch's DataLoader then re-creates the exceptions of its
        workers."""
        super().__init__(*(arguments if message is None else (message,)))

    @property
    def message(self) -> str:
        """The sentence."""
        return str(self)

    @property
    def hint(self) -> str:
        """The remedy: the part of the sentence after its semicolon; "" without one."""
        return str(self).partition("; ")[2]


class SpecError(MillraceError):
    """The spec, the data or a state is wrong: the same again ends the same way."""

    errors: list[dict[str, Any]] = []
    """Where a spec is wrong, each with `message`, `file`, `line`, `column`, `path` (its key): as `millrace check --json` says
    them."""


class FeedError(MillraceError):
    """The feed that computes the stream has failed or is gone: go on from the last state that was saved."""


class MisuseError(MillraceError):
    """The stream was used in a way in which it cannot work; the sentence says what works."""

    exit_code: int = 2
    """As the command line's for a command that it does not understand."""


class DaemonError(MillraceError):
    """No daemon answers, or it is of a version that cannot be spoken to."""

    exit_code: int = 6
    """As the command line's."""


class RunError(MillraceError):
    """Runs that were waited for have ended otherwise than they should."""

    exit_code: int = 5
    """5: one failed; 3: one was cancelled; 1: they had not ended within the time."""
    runs: list[Any] = []
    """They as they are now."""
