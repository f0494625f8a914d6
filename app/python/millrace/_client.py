"""Runs of a daemon, from Python: uses the command line's `--json` (docs/reference/json.md), so that both give the same
answers."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Sequence

from . import _places, _questions
from ._errors import DaemonError, MillraceError, MisuseError, RunError, SpecError
from ._runs import Comparison, Metrics, Run, RunDetails, Runs, Series, moment, number

_CANCELLED, _FAILED, _UNREACHABLE, _USAGE = 3, 5, 6, 2


class _Answer:
    """The output of a command."""

    def __init__(self, code: int, document: Any, words: str) -> None:
        self.code, self.document, self.words = code, document, words

    def sentence(self) -> str:
        """The last line of its error output."""
        lines = [line for line in self.words.splitlines() if line.strip()]
        said = [line for line in lines if line.startswith("millrace: ")]
        return (said or lines or [f"millrace ended with code {self.code}"])[-1].replace("millrace: ", "", 1)


def _ask(arguments: Sequence[str], host: str | None) -> _Answer:
    """Runs a command to its end. An interrupt ends it at once, and so does the end of this process, however it ends."""
    import subprocess
    reading, writing = os.pipe()
    command = [_places.program("millrace-exec"), "--grace", "0", "--life-fd", str(reading), "--",
               _places.program("millrace"), *arguments, "--json", *(["--host", host] if host else [])]
    try:
        # A session of its own: Ctrl-C is for this process, which then ends the command.
        child = subprocess.Popen(command, pass_fds=[reading], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
                                 start_new_session=True, env={**os.environ, "NO_COLOR": "1"})
    except OSError as error:
        os.close(writing)
        raise MillraceError(f"{command[0]} cannot be started: {error.strerror}") from None
    finally:
        os.close(reading)
    try:
        out, words = child.communicate()
    finally:
        os.close(writing)
        child.wait()
    try:
        document = json.loads(out) if out.strip() else None
    except ValueError:
        document = None
    return _Answer(child.returncode, document, words)


def _error_of(answer: _Answer) -> MillraceError:
    """A failed command as an exception."""
    errors = answer.document.get("errors") if isinstance(answer.document, dict) else None
    if errors:
        wrong = SpecError("\n".join(_place_of(one) + one["message"] for one in errors))
        wrong.errors = errors
        return wrong
    kind = DaemonError if answer.code == _UNREACHABLE else MisuseError if answer.code == _USAGE else MillraceError
    error = kind(answer.sentence())
    error.exit_code = answer.code
    return error


def _place_of(error: Mapping[str, Any]) -> str:
    file, line, column = (error.get(key) for key in ("file", "line", "column"))
    return f"{file}:{line}:{column}: " if file and line else f"{file}: " if file else ""


def _id(run: Run | str) -> str:
    return run.id if isinstance(run, Run) else run


def _ids(runs: Sequence[Run | str | Sequence[Run | str]]) -> list[str]:
    flat: list[str] = []
    for one in runs:
        flat += [_id(one)] if isinstance(one, (Run, str)) else _ids(one)
    if not flat:
        raise MisuseError("no run is named: give ids, names or Run values")
    return flat


class Client:
    """The runs of a daemon: list, launch, wait, compare.

    A run is named by its id, uid or name, by the beginning of one of these, or by a `Run`. `stop` and `resume` need a
    whole one, or the beginning of an id with `r-`. Each call sends a new request to the daemon and returns plain
    values; no connection is kept. Errors have the command line's messages: `error.message`, `error.hint`,
    `error.exit_code`.
    """

    def __init__(self, host: str | None = None) -> None:
        """`host`: ssh://HOST, a named host, HOST:PORT or unix:PATH; None: `MILLRACE_HOST`, else this user's daemon (`millrace up` starts it)."""
        self.host = host

    def __repr__(self) -> str:
        return f"Client({self.host or os.environ.get('MILLRACE_HOST', '')!r})"

    def _document(self, *arguments: str) -> dict[str, Any]:
        answer = _ask(arguments, self.host)
        if answer.code != 0 or not isinstance(answer.document, dict):
            raise _error_of(answer)
        return answer.document

    def list(self, filter: str | None = None, order_by: str | Sequence[str] = (), limit: int = 50,
             deleted: bool = False) -> Runs:
        """Lists runs, newest first. `filter` is an expression as in `millrace ls`: `since 7d and metrics.eval.auc >
        0.79`."""
        arguments = ["ls", "--limit", str(limit)]
        arguments += ["--filter", filter] if filter else []
        for key in [order_by] if isinstance(order_by, str) else order_by:
            arguments += ["--order-by", key]
        return Runs(Run.of(one) for one in self._document(*arguments, *(["--deleted"] if deleted else []))["runs"])

    def show(self, run: Run | str) -> RunDetails:
        """Everything about one run, as it is now."""
        details: RunDetails = RunDetails.of(self._document("show", _id(run))["run"])
        return details

    def metrics(self, *runs: Run | str | Sequence[Run | str], names: str | Sequence[str] = (), points: int = 2000) -> Metrics:
        """The series of the metrics `names` of these runs; default: all metrics except `system.*`. Each series has at
        most `points` points; thinning keeps the extremes.

        `.frame()` gives a pandas DataFrame. Without pandas, use the columns: `metrics["value"]`.
        """
        wanted = [names] if isinstance(names, str) else list(names)
        options = [part for name in wanted for part in ("--name", name)] + ["--points", str(points)]
        series = []
        for run in _ids(runs):
            document = self._document("metrics", run, *options)
            run_id = document["run"]
            label = next((one.label for one in self._given(runs) if one.id == run_id), run_id)
            for one in document["series"]:
                rows = one["points"]
                series.append(Series(run_id, label, one["name"], [row["step"] for row in rows],
                                     [moment(row["time"]) for row in rows], [number(row["value"]) for row in rows],
                                     one["points_total"]))
        return Metrics(series)

    def _given(self, runs: Sequence[Any]) -> Any:
        """The `Run` objects among the arguments."""
        for one in runs:
            if isinstance(one, Run):
                yield one
            elif not isinstance(one, str):
                yield from self._given(one)

    def compare(self, *runs: Run | str | Sequence[Run | str], filter: str | None = None,
                names: str | Sequence[str] = ()) -> Comparison:
        """Compares runs: how they differ, their results, and whether all were evaluated on the same rows."""
        arguments = ["compare", *(_ids(runs) if runs or not filter else [])]
        arguments += ["--filter", filter] if filter else []
        for name in [names] if isinstance(names, str) else names:
            arguments += ["--metric", name]
        return Comparison.of(self._document(*arguments))

    def launch(self, spec: str | os.PathLike[str], variations: str | Sequence[str] = (), *, all_variations: bool = False,
               set: Mapping[str, Any] | None = None, name: str | None = None, project: str | None = None,
               tags: Mapping[str, str] | None = None, note: str | None = None, key: str | None = None,
               env: Sequence[str] = ()) -> Runs:
        """Queues a spec's base, or variations of it; returns at once. A wrong spec raises a `SpecError` with `errors`.

        variations, all_variations
            `variations` queues these variations without the base; `all_variations` queues the base and every variation.
        set
            Changes of keys: `{"train.learning_rate": 0.01}`.
        name
            Name of the runs. Default: the spec's `name`, else its file's name.
        key
            An idempotency key: repeated calls with the same key return the same runs.
        env
            Names of environment variables of this process that a script (`command` of the spec) gets, in addition to
            those of the allow-list.
        """
        arguments = ["run", os.fspath(spec), "--detach"]
        for variation in [variations] if isinstance(variations, str) else variations:
            arguments += ["--variation", variation]
        for text in _questions.as_sets(set):
            arguments += ["--set", text]
        for tag, value in (tags or {}).items():
            arguments += ["--tag", f"{tag}={value}"]
        for variable in env:
            arguments += ["--env", variable]
        for option, text in (("--name", name), ("--project", project), ("--note", note), ("--key", key)):
            arguments += [option, text] if text is not None else []
        document = self._document(*arguments, *(["--all-variations"] if all_variations else []))
        return Runs(Run.of(one) for one in document["runs"])

    def wait(self, *runs: Run | str | Sequence[Run | str], timeout: float | None = None, check: bool = True) -> Runs:
        """Waits until the runs have ended, and returns them in their final state, in the order of the arguments. Ctrl-C
        stops the waiting at once; the runs continue.

        timeout
            Seconds. Raises a `RunError` if the runs have not ended by then.
        check
            Raises a `RunError` also if a run failed or was cancelled; `error.runs` has the runs.
        """
        arguments = ["wait", *_ids(runs)]
        if timeout is not None:
            arguments += ["--timeout", str(max(1, round(timeout)))]
        answer = _ask(arguments, self.host)
        said = answer.document.get("runs") if isinstance(answer.document, dict) else None
        if said is None:
            raise _error_of(answer)
        ended = Runs(Run.of(one) for one in said)
        is_late = not all(run.has_ended for run in ended)
        if answer.code not in (0, _CANCELLED, _FAILED) and not is_late:
            raise _error_of(answer)
        if answer.code != 0 and (check or is_late):
            error = RunError(_told(ended, answer))
            error.exit_code, error.runs = answer.code, ended
            raise error
        return ended

    def stop(self, *runs: Run | str | Sequence[Run | str], wait: bool = False, grace: float | None = None,
             reason: str | None = None) -> Runs:
        """Stops runs. Each has `grace` seconds (default: 15) to write a checkpoint. `wait`: returns when the runs have
        ended."""
        arguments = ["stop", *_ids(runs), *(["--wait"] if wait else [])]
        arguments += ["--grace", str(round(grace))] if grace is not None else []
        arguments += ["--reason", reason] if reason is not None else []
        return Runs(Run.of(one) for one in self._document(*arguments)["runs"])

    def resume(self, run: Run | str, step: int | None = None, *, from_start: bool = False, ranks: int | None = None) -> Run:
        """Resumes a stopped or failed run from its last checkpoint, from the checkpoint of `step`, or from step 0
        (`from_start`). `ranks` changes the number of ranks of a script's run."""
        arguments = ["resume", _id(run)]
        arguments += ["--step", str(step)] if step is not None else []
        arguments += ["--ranks", str(ranks)] if ranks is not None else []
        resumed: Run = Run.of(self._document(*arguments, *(["--from-start"] if from_start else []))["runs"][0])
        return resumed


def _told(runs: Sequence[Run], answer: _Answer) -> str:
    """Which runs have not ended as they should, and why."""
    wrong = [run for run in runs if run.state != "finished"]
    if not wrong:
        return answer.sentence()
    told = [f"run {run.id} ({run.label}) is {run.state}" + (f": {run.exit_reason}" if run.exit_reason else "") for run in wrong]
    return "; ".join(told)
