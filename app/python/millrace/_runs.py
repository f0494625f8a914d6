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
    """How far a run has got."""

    step: int
    steps_total: int | None
    """None: not known."""
    epoch: int
    epochs: int | None
    rows: int
    phase: str | None


@dataclass(frozen=True)
class Best:
    """The best value of a metric and its step; of equal values, the first."""

    value: float
    step: int


@dataclass(frozen=True)
class Run:
    """A run as it was at the time of the call; `client.show(run)` returns its current state."""

    id: str
    name: str
    variation: str | None
    """None: the base."""
    state: str
    """queued, starting, running, stopping, finished, failed or cancelled."""
    exit_reason: str | None
    trouble: str | None
    """A problem that has not ended the run; None: no problem."""
    progress: Progress
    metrics: dict[str, float]
    """The newest value of each metric, by name."""
    best: dict[str, Best]
    """The best value of each `eval.` metric, if it is known whether higher or lower is better."""
    tags: dict[str, str]
    created: datetime | None
    started: datetime | None
    ended: datetime | None
    samples_per_second: float | None
    """The mean over the run's steps; None: not known."""
    order_hash: str | None
    evaluation_hash: str | None
    """Equal in runs that were evaluated on rows at the same positions of their files. `compare` also compares the files' content."""
    rows_read: int | None
    """`rows_read`, `rows_kept` and `rows_trained` are None for a run without a dataset."""
    rows_kept: int | None
    rows_trained: int | None
    document: dict[str, Any] = field(repr=False, compare=False)
    """The run's part of the document of `millrace ls --json`."""

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
        """Whether the run is finished, failed or cancelled."""
        return self.state in ("finished", "failed", "cancelled")

    @property
    def label(self) -> str:
        """The name of its variation; for the base, the run's name."""
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
    """A run with everything that is known about it."""

    spec: dict[str, Any] = field(default_factory=dict)
    """The resolved spec: every key has a value."""
    spec_file: str | None = None
    params: dict[str, str] = field(default_factory=dict)
    receipt: dict[str, Any] | None = None
    """The record of the training data: files, rows in and out of each step, hashes. None: not known yet."""
    checkpoints: list[Checkpoint] = field(default_factory=list)
    metric_names: list[str] = field(default_factory=list)
    directory: str | None = None
    events: list[tuple[datetime | None, str]] = field(default_factory=list)
    """The run's history: the time and text of each event."""

    @staticmethod
    def _read(said: dict[str, Any]) -> dict[str, Any]:
        return {
            **Run._read(said), "spec": said["spec"], "spec_file": said["spec_file"], "params": dict(said["params"]),
            "receipt": said["receipt"], "metric_names": list(said["metric_names"]), "directory": said["directory"],
            "checkpoints": [Checkpoint(one["step"], one["path"], one["bytes"], one["hash"], one["attempt"])
                            for one in said["checkpoints"]],
            "events": [(moment(one["time"]), one["text"]) for one in said["events"]]}


class Runs(list):  # type: ignore[type-arg]
    """A list of `Run`s. It prints one run a line; a notebook shows a table."""

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
    """Number of points of the metric. The lists may have fewer: thinning keeps the extremes."""


class Metrics(Dict[str, List[Any]]):
    """Series of one run or several. A notebook shows a chart.

    It is a dict of the columns `run`, `metric`, `step`, `time` and `value`. Each column is a list with one entry for
    each point: `metrics["value"]`, `pandas.DataFrame(metrics)` and `pyarrow.table(metrics)` work.
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
        """The series with this name; `run` selects one if several runs have it."""
        run_id = getattr(run, "id", run)
        found = [one for one in self.series if one.name == name and run_id in (None, one.run)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} series are named {name!r}: " + ", ".join(f"{one.name} of {one.run}"
                                                                                  for one in self.series))
        return found[0]

    def frame(self, name: str | None = None) -> Any:
        """A pandas DataFrame of the columns. With `name`, only that metric: a row for each step, a column for each run.
        Needs pandas."""
        import pandas
        if name is None:
            return pandas.DataFrame(self)
        return pandas.DataFrame({one.run: pandas.Series(one.values, index=one.steps)
                                 for one in self.series if one.name == name}).rename_axis(index="step")

    def chart(self, *names: str, width: int = 640, height: int = 260) -> _chart.Chart:
        """Lines over steps as SVG, one picture for each name (default: all). A notebook shows them."""
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
    """Runs side by side. A notebook shows a table."""

    runs: list[Run]
    differences: dict[str, dict[str, str | None]]
    """The keys of the spec whose values differ: a map from key to run to value. `file PATH` is a file whose content
    differs."""
    metrics: dict[str, dict[str, float | None]]
    """A map from metric to run to newest value."""
    best: dict[str, dict[str, Best | None]]
    same_stream: bool
    """False: the runs trained on different files, rows or features, or in a different order. Their losses are then not
    comparable."""
    same_evaluation_rows: bool | None
    """True: the runs were evaluated on the same positions in files of the same content, with the same number of
    labelled rows. None: not known, or fewer than two runs were evaluated."""
    differs_in_seed_only: list[str]
    """Runs that differ from the first only in `batch.seed`. How much the seed alone changes the figures is not
    known."""
    other_label: list[str]
    """Runs that learn a different label from the first run's."""
    paired: dict[str, dict[str, Any] | None]
    """A comparison row by row of the first run with each other run, by the other run's id: `rows` that both scored,
    their `share`, and in `heads` the mean `log_loss_difference` of each head. None if one of the two has no scores;
    `problem` if they were evaluated on different files."""
    document: dict[str, Any] = field(repr=False, compare=False)
    """The document of `millrace compare --json`."""

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
        """A row for each run: `run`, `variation`, each key that differs, each metric."""
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
