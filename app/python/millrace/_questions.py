"""Requests about specs and datasets: the command line's answers as Python values."""

from __future__ import annotations

import datetime
import json
import os
from typing import Any, Mapping, NamedTuple

from . import _places
from ._errors import MisuseError, SpecError


class Estimate(NamedTuple):
    """An estimate of a stream from some of its splits: rows kept in one epoch and steps of all epochs, each with the
    bounds of a 95 % interval. The bounds are None if a single sampled split does not allow an interval."""

    rows: float
    rows_low: float | None
    rows_high: float | None
    steps: float
    steps_low: float | None
    steps_high: float | None


def settings(variation: str | None, changes: Any) -> list[str]:
    """The options `--variation` and `--set` of a command."""
    arguments = [] if variation is None else ["--variation", variation]
    for text in as_sets(changes):
        arguments += ["--set", text]
    return arguments


def as_sets(changes: Any) -> tuple[str, ...]:
    """{"batch.seed": 8} as KEY=VALUE, each value as JSON, which YAML can read: a text stays that text, a date a date."""
    if changes is not None and not isinstance(changes, Mapping):
        raise MisuseError(f"set={changes!r}: changes are a dict of keys and values, as in set={{\"batch.seed\": 8}}")
    return tuple(f"{key}={value if isinstance(value, datetime.date) else json.dumps(value, ensure_ascii=False)}"
                 for key, value in (changes or {}).items())


def ask(program: str, *arguments: str) -> Any:
    """The JSON document that a command prints. If it fails, raises its error as SpecError."""
    import subprocess
    done = subprocess.run([_places.program(program), *arguments, "--json"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    document = None
    if done.stdout.strip():
        try:
            document = json.loads(done.stdout)
        except ValueError:
            pass
    if done.returncode != 0 and not (isinstance(document, dict) and "ok" in document):
        said = [line for line in done.stderr.splitlines() if line.strip()]
        text = said[-1] if said else f"{program} {arguments[0]} ended with code {done.returncode}"
        raise SpecError(text.removeprefix(f"{program}: "))
    return document


def check(spec: str | os.PathLike[str], variation: str | None = None, set: Any = None) -> dict[str, Any]:
    """Checks a spec and resolves it. Returns the document of `millrace check --json`.

    It has `ok`, `errors` (each with its message and its place in the file) and `runs` (the resolved spec, hashes, rows
    and warnings of each variation).
    """
    return ask("millrace", "check", os.fspath(spec), *settings(variation, set))


def preview(spec: str | os.PathLike[str], variation: str | None = None, set: Any = None) -> dict[str, Any]:
    """Estimates within seconds, from some of the splits, how many rows a spec keeps and what it costs. Returns the
    document of `millrace preview --json`."""
    return ask("millrace", "preview", os.fspath(spec), *settings(variation, set))


def dataset(path: str | os.PathLike[str], profile: bool = False) -> dict[str, Any]:
    """Describes a dataset. Returns the document of `millrace dataset --json`: format, files, rows, columns with types.

    `profile=True` also reads a part of the dataset, and adds distinct values, quantiles and the cost of reading its
    files.
    """
    return ask("millrace", "dataset", os.fspath(path), *(["--profile"] if profile else []))
