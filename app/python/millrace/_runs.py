"""Runs and the facts about them, as plain values. Read from the documents of docs/reference/json.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Dict, List

from . import _chart


def number(value: Any) -> float:
    """A number in JSON; NaN and infinities are texts there."""
    return float(value)


def moment(text: str | None) -> datetime | None:
    """A time in UTC; None if it has not been reached."""
    if not text:
        return None
    return datetime.strptime(text.rstrip("Z"), "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    step: int
    steps_total: int | None
    """None: not known."""
    epoch: int
    epochs: int | None
    rows: int
    phase: str | None


@dataclass(frozen=True)
class Best:
    """The best value of a metric, the first of equals, and its step."""

    value: float
    step: int


@dataclass(frozen=True)
class Run:
    """A run, as it was when it was asked for: `client.show(run)` looks again."""

    id: str
    name: str
    variation: str | None
    """None: the base."""
    state: str
    """queued, starting, running, stopping, finished, failed or cancelled."""
    exit_reason: str | None
    trouble: str | None
    """A problem of the run that has not ended it; None: no problem."""
    progress: Progress
    metrics: dict[str, float]
    """Name to newest value."""
    best: dict[str, Best]
    """The best value of each `eval.` metric for which it is known which way is better."""
    tags: dict[str, str]
    created: datetime | None
    started: datetime | None
    ended: datetime | None
    samples_per_second: float | None
    """The mean over its steps; None: not known."""
    order_hash: str | None
    evaluation_hash: str | None
    """Equal in runs that were evaluated on rows at the same positions of their files. `compare` also compares the files' content."""
    rows_read: int | None
    """As the two below: None for a run without a dataset."""
    rows_kept: int | None
    rows_trained: int | None
    document: dict[str, Any] = field(repr=False, compare=False)
    """All that `millrace ls --json` says of it."""

    @classmethod
    def of(cls, said: dict[str, Any]) -> Any:
        """From a **run** of docs/reference/json.md."""
        return cls(**cls._read(said))

    @staticmethod
    def _read(said: dict[str, Any]) -> dict[str, Any]:
        at, rate = said["progress"], said["mean_samples_per_second"]
        return {
            "id": said["id"], "name": said["name"], "variation": said["variation"], "state": said["state"],
            "exit_reason": said["exit_reason"], "trouble": said["trouble"],
            "progress": Progress(at["step"], at["steps_total"], at["epoch"], at["epochs"], at["rows"], at["phase"]),
            "metrics": {name: number(value) for name, value in said["metrics"].items()},
            "best": {name: Best(number(one["value"]), one["step"]) for name, one in said["best"].items()},
            "tags": dict(said["tags"]), "created": moment(said["created"]), "started": moment(said["started"]),
            "ended": moment(said["ended"]), "samples_per_second": None if rate is None else number(rate),
            "order_hash": said["order_hash"], "evaluation_hash": said["eval_order_hash"],
            "rows_read": said["rows_read"], "rows_kept": said["rows_kept"], "rows_trained": said["rows_trained"],
            "document": said}

    @property
    def has_ended(self) -> bool:
        """It is finished, failed or cancelled."""
        return self.state in ("finished", "failed", "cancelled")

    @property
    def label(self) -> str:
        """The name of its variation, else its own."""
        return self.variation or self.name

    def _repr_html_(self) -> str:
        return _chart.runs_table([self])


@dataclass(frozen=True)
class Checkpoint:
    """A stored checkpoint of a run."""

    step: int
    path: str
    bytes: int
    hash: str | None
    attempt: int


@dataclass(frozen=True)
class RunDetails(Run):
    """A run with all that is known of it."""

    spec: dict[str, Any] = field(default_factory=dict)
    """Resolved: every key has a value."""
    spec_file: str | None = None
    params: dict[str, str] = field(default_factory=dict)
    receipt: dict[str, Any] | None = None
    """The record of the data that it was trained on: files, rows in and out of each step, hashes. None: not known yet."""
    checkpoints: list[Checkpoint] = field(default_factory=list)
    metric_names: list[str] = field(default_factory=list)
    directory: str | None = None
    events: list[tuple[datetime | None, str]] = field(default_factory=list)
    """Its history: when, what."""

    @staticmethod
    def _read(said: dict[str, Any]) -> dict[str, Any]:
        return {
            **Run._read(said), "spec": said["spec"], "spec_file": said["spec_file"], "params": dict(said["params"]),
            "receipt": said["receipt"], "metric_names": list(said["metric_names"]), "directory": said["directory"],
            "checkpoints": [Checkpoint(one["step"], one["path"], one["bytes"], one["hash"], one["attempt"])
                            for one in said["checkpoints"]],
            "events": [(moment(one["time"]), one["text"]) for one in said["events"]]}


class Runs(list):  # type: ignore[type-arg]
    """A list of `Run`s; printed a line each, a table in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(f"{run.id}  {' / '.join(filter(None, (run.name, run.variation)))}  {run.state}" for run in self) or "no runs"

    def _repr_html_(self) -> str:
        return _chart.runs_table(self)


@dataclass(frozen=True)
class Series:
    """One metric of one run over its steps."""

    run: str
    label: str
    name: str
    steps: list[int]
    times: list[datetime | None]
    values: list[float]
    points_total: int
    """As many as it has; what is here may be thinned out, extremes kept."""


class Metrics(Dict[str, List[Any]]):
    """Series of one run or several. A chart in a notebook.

    It is a dict of the columns `run`, `metric`, `step`, `time`, `value`, a list each with a row for every point:
    `metrics["value"]`, `pandas.DataFrame(metrics)` and `pyarrow.table(metrics)` work.
    """

    def __init__(self, series: list[Series]) -> None:
        super().__init__(run=[one.run for one in series for _ in one.steps],
                         metric=[one.name for one in series for _ in one.steps],
                         step=[step for one in series for step in one.steps],
                         time=[time for one in series for time in one.times],
                         value=[value for one in series for value in one.values])
        self.series = series

    def __repr__(self) -> str:
        told = ", ".join(f"{one.run} {one.name} ({len(one.steps)})" for one in self.series)
        return f"Metrics({told})"

    def get_series(self, name: str, run: Any = None) -> Series:
        """The series of this name, of this run where there are several."""
        run_id = getattr(run, "id", run)
        found = [one for one in self.series if one.name == name and run_id in (None, one.run)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} series are named {name!r}: " + ", ".join(f"{one.name} of {one.run}"
                                                                                  for one in self.series))
        return found[0]

    def frame(self, name: str | None = None) -> Any:
        """A pandas DataFrame of the columns; with `name` one of that metric, a row a step and a column a run. Needs pandas."""
        import pandas
        if name is None:
            return pandas.DataFrame(self)
        return pandas.DataFrame({one.run: pandas.Series(one.values, index=one.steps)
                                 for one in self.series if one.name == name}).rename_axis(index="step")

    def chart(self, *names: str, width: int = 640, height: int = 260) -> _chart.Chart:
        """Lines over steps, a picture for each name (all where none is given), as SVG. A notebook shows it."""
        wanted = names or tuple(dict.fromkeys(one.name for one in self.series))
        is_one = len({one.run for one in self.series}) <= 1
        pictures = []
        for name in wanted:
            lines = [(one.label if not is_one else one.name, one.steps, one.values)
                     for one in self.series if one.name == name]
            pictures.append(_chart.lines(name, lines, width, height))
        return _chart.Chart(pictures)

    def _repr_html_(self) -> str:
        return self.chart()._repr_html_()


@dataclass(frozen=True)
class Comparison:
    """Runs side by side. A table in a notebook."""

    runs: list[Run]
    differences: dict[str, dict[str, str | None]]
    """Keys of the spec that are not the same in all: key to run to its value. `file PATH` for a file whose content differs."""
    metrics: dict[str, dict[str, float | None]]
    """Name to run to newest value."""
    best: dict[str, dict[str, Best | None]]
    same_stream: bool
    """False: they trained on other files, rows or features, or in another order, and their losses do not compare."""
    same_evaluation_rows: bool | None
    """True: the same positions in files of the same content, and as many rows with a label. None: not known, of fewer than two."""
    differs_in_seed_only: list[str]
    """Runs that differ from the first in nothing but `batch.seed`. How far the seed alone moves the figures is not known."""
    other_label: list[str]
    """Runs that learn another label than the first."""
    paired: dict[str, dict[str, Any] | None]
    """The first run with each other one, by its id, row by row: `rows` that both scored, their `share`, and by head in `heads`
    the mean `log_loss_difference`. None if one of them has no scores, `problem` if they were evaluated on other files."""
    document: dict[str, Any] = field(repr=False, compare=False)
    """All that `millrace compare --json` says."""

    @classmethod
    def of(cls, said: dict[str, Any]) -> Comparison:
        """From the document."""
        def figure(value: Any) -> float | None:
            return None if value is None else number(value)

        return cls([Run.of(one) for one in said["runs"]], said["differences"],
                   {name: {run: figure(value) for run, value in one.items()} for name, one in said["metrics"].items()},
                   {name: {run: None if value is None else Best(number(value["value"]), value["step"])
                           for run, value in one.items()} for name, one in said["best"].items()},
                   said["same_stream"], said["same_evaluation_rows"], said["differs_in_seed_only"], said["other_label"],
                   said["paired"]["runs"], said)

    def columns(self) -> dict[str, list[Any]]:
        """A row a run: `run`, `variation`, each key that differs, each metric."""
        out: dict[str, list[Any]] = {"run": [run.id for run in self.runs],
                                     "variation": [run.variation or "base" for run in self.runs]}
        for key, values in self.differences.items():
            out[key] = [values.get(run.id) for run in self.runs]
        for name, figures in self.metrics.items():
            out[name] = [math.nan if figures.get(run.id) is None else figures[run.id] for run in self.runs]
        return out

    def frame(self) -> Any:
        """The columns as a pandas DataFrame. Needs pandas."""
        import pandas
        return pandas.DataFrame(self.columns())

    def _repr_html_(self) -> str:
        told = {True: "All were evaluated on the same rows.", None: "",
                False: "Not all were evaluated on the same rows: their test figures do not compare."}
        return _chart.table(self.columns(), told[self.same_evaluation_rows])
