"""Evaluates a user's own model over the evaluation rows: the metrics of the built-in models, under the same names.

A rank keeps the scores, the labels and the key of each row; rank 0 gathers them. Sums are rounded once and ranks of scores
are counted, so that the metrics do not depend on the number of ranks and batches.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any, Callable, Dict, Mapping, NamedTuple

from . import _link, _ranks, _rows_hash, _scores
from ._errors import MillraceError, MisuseError, SpecError
from ._stream import Evaluation, Stream, stream

_MARGIN = 1e-12  # predictions are kept so far from 0 and 1 in the log loss
_ROUNDING = 1e-6  # a prediction may be beyond 0 and 1 by what float32 rounds


class Figures(Dict[str, float]):
    """The figures of an evaluation by name, such as `eval.auc`; docs/reference/metrics.md lists them."""

    hash: str = ""
    """Equal in all evaluations of rows at the same positions of their files; `millrace compare` shows it."""
    rows: int = 0
    """Evaluation rows of all ranks, with and without a label. `figures["eval.rows"]` counts those with a label."""


class _Head(NamedTuple):
    """One head's rows, including those without a label."""

    scores: Any  # float64
    labels: Any  # float32
    masks: Any  # uint8, or None: every row has a label


class _Share(NamedTuple):
    """One rank's part of an evaluation."""

    keys: Any  # uint64
    heads: dict[str, _Head]
    failure: str | None


def evaluate(predict: Callable[[Any], Any], spec: str | os.PathLike[str] | Stream | Evaluation | None = None,
             variation: str | None = None, set: Mapping[str, Any] | None = None, *, as_numpy: bool = False) -> Figures:
    """Runs a model over the evaluation rows of a spec, on all ranks, and returns its figures: AUC, log loss, normalised
    entropy and calibration. They are exact and do not depend on the number of ranks. Every rank gets the result.

    predict
        Called with each batch of this rank. Returns the probability of each row: an array or tensor [rows]; with
        several heads [rows, heads], or a mapping by head. NaN, or a number outside 0 to 1 such as a logit, is an error
        that names the row. In a step in which only other ranks have rows, this rank gets a batch of 0 rows. No
        gradients are kept. Call `model.eval()` yourself.
    spec
        The YAML file; or a stream, whose feed then serves the rows; or an `Evaluation`. None: the spec of the run that
        started this script.
    variation, set, as_numpy
        As in `millrace.stream()`.

    With more than one rank, torch.distributed gathers the scores: call `init_process_group` first. In a script that a
    run started, the figures are stored with the run, and `millrace compare` shows them beside those of other runs.
    """
    link = _link.current()
    before = link.evaluates() if link is not None else ""
    try:
        rows, is_own = _rows_of(spec, variation, set, as_numpy, link)
        try:
            _check_group(rows.world)
            share = _read(predict, rows)
            figures = _met(share, rows.world, link)
        finally:
            if is_own:
                rows.close()
    finally:
        if link is not None:
            link.has_evaluated(before)
    if link is not None:
        link.evaluated(dict(figures), figures.hash, rows._end_state)
    return figures


def _rows_of(spec: Any, variation: str | None, changes: Any, as_numpy: bool, link: Any) -> tuple[Evaluation, bool]:
    """The evaluation rows, and whether they were opened here."""
    if isinstance(spec, (Stream, Evaluation)):
        if variation is not None or changes:
            raise MisuseError("variation and set belong to a spec's path: a stream has its own")
        if isinstance(spec, Evaluation) and spec.part == "score":
            raise MisuseError("rows of part=\"score\" have no labels to be held against: loop over them and keep what your model "
                              "says")
        return (spec.evaluation(), True) if isinstance(spec, Stream) else (spec, False)
    if spec is None:
        spec = (link.run.spec_file or None) if link is not None else None
        if spec is None:
            raise MisuseError("evaluate() needs a spec, or a stream: no run started this script, which could tell its own")
    return stream(spec, variation, changes, part="eval", as_numpy=as_numpy), True


def _check_group(world: int) -> None:
    if world == 1:
        return
    group = _ranks.group()
    if group is None:
        raise MisuseError(f"the scores of {world} ranks are brought together by torch.distributed: call "
                          "init_process_group before evaluate()")
    if group.get_world_size() != world:
        raise MisuseError(f"the evaluation rows are dealt to {world} ranks, but the process group has "
                          f"{group.get_world_size()}: they must be the same")


def _read(predict: Callable[[Any], Any], rows: Evaluation) -> _Share:
    """Reads this rank's part. An exception of predict() is re-raised here and reaches the other ranks as a sentence."""
    import numpy
    keys: list[Any] = []
    first = 0
    heads: dict[str, tuple[list[Any], list[Any], list[Any]]] = {}
    try:
        with _without_gradients():
            for batch in rows:
                scores = _scores_of(predict(batch), batch)
                _check_range(scores, first, rows)
                first += batch.rows
                keys.append(_rows_hash.keys(*map(_array, batch.row_ids)))
                masks = batch.masks
                for head, label in batch.labels.items():
                    columns = heads.setdefault(head, ([], [], []))
                    columns[0].append(scores[head])
                    columns[1].append(numpy.array(_array(label), dtype=numpy.float32))
                    columns[2].append(numpy.array(_array(masks[head])) if head in masks else
                                      numpy.ones(batch.rows, dtype=numpy.uint8))
    except Exception as error:
        if rows.world > 1:
            _met(_Share(numpy.empty(0, numpy.uint64), {}, f"{type(error).__name__}: {error}"), rows.world, is_failing=True)
        raise

    def joined(columns: list[Any], kind: Any) -> Any:
        return numpy.concatenate(columns) if columns else numpy.empty(0, kind)

    return _Share(joined(keys, numpy.uint64),
                  {head: _Head(joined(scores, numpy.float64), joined(labels, numpy.float32), joined(there, numpy.uint8))
                   for head, (scores, labels, there) in heads.items()}, None)


def _without_gradients() -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        from contextlib import nullcontext
        return nullcontext()
    return torch.no_grad()


def _array(value: Any) -> Any:
    """A tensor's or array's values in host memory, as numpy."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return value.numpy()
    import numpy
    return numpy.asarray(value)


def _scores_of(said: Any, batch: Any) -> dict[str, Any]:
    """The result of predict(), by head, float64."""
    import numpy
    heads = list(batch.labels)
    if isinstance(said, Mapping):
        missing = [head for head in heads if head not in said]
        if missing:
            raise MisuseError(f"predict() gave no scores of {', '.join(missing)}: a mapping has those of every head")
        columns = {head: _array(said[head]) for head in heads}
    else:
        block = _array(said)
        if len(heads) > 1 and block.shape != (batch.rows, len(heads)):
            raise MisuseError(f"predict() gave an array of shape {list(block.shape)} for {batch.rows} rows and "
                              f"{len(heads)} heads ({', '.join(heads)}): it is [rows, heads], or a mapping by head")
        columns = {head: block[:, at] for at, head in enumerate(heads)} if len(heads) > 1 else {heads[0]: block}
    for head, column in columns.items():
        if column.size != batch.rows:
            raise MisuseError(f"predict() gave {column.size} scores of {head} for {batch.rows} rows: one probability a row")
    return {head: numpy.array(column, dtype=numpy.float64).reshape(-1) for head, column in columns.items()}


def _check_range(scores: Mapping[str, Any], first: int, rows: Evaluation) -> None:
    """Refuses what is not a probability; `first` is the number of the batch's first row among those of this rank."""
    import numpy
    for head, column in scores.items():
        wrong = numpy.flatnonzero(~((column >= -_ROUNDING) & (column <= 1 + _ROUNDING)))
        if wrong.size > 0:
            value = float(column[wrong[0]])
            place = f"row {first + int(wrong[0])} of " + ("the evaluation" if rows.world == 1 else f"rank {rows.rank}'s evaluation")
            raise MisuseError(f"predictions of {head} must be from 0 to 1; {place} has {value:.6g}"
                              + ("" if math.isnan(value) else ": apply a sigmoid"))


def _met(share: _Share, world: int, link: Any = None, is_failing: bool = False) -> Figures:
    """The metrics over all ranks' shares, in every rank; the scores are stored with the run of `link`. `is_failing`: this
    rank has raised an exception, and only reports it to the others."""
    shares, group = [share], None
    if world > 1:
        group = _ranks.group()
        assert group is not None
        gathered: list[Any] | None = [None] * world if group.get_rank() == 0 else None
        group.gather_object(share, gathered, dst=0)
        shares = gathered or []
    told: list[Any] = [None]
    if shares:
        try:
            told = [_figures(shares)]
            if link is not None:
                _scores.keep(link, told[0][1], shares)
        except MillraceError as error:
            told = [error]
    if group is not None:
        group.broadcast_object_list(told, src=0)
    if isinstance(told[0], MillraceError):
        if is_failing:
            return Figures()
        raise told[0]
    values, digest, rows = told[0]
    figures = Figures(values)
    figures.hash, figures.rows = digest, rows
    return figures


def _figures(shares: list[_Share]) -> tuple[dict[str, float], str, int]:
    """Computes metrics by name, hash and number of rows from the ranks' shares."""
    import numpy
    for rank, share in enumerate(shares):
        if share.failure is not None:
            raise MillraceError(f"the evaluation failed in rank {rank}: {share.failure}")
    values: dict[str, float] = {}
    heads = sorted(next((share.heads for share in shares if share.heads), {}))
    for head in heads:
        scores, labels, masks = (numpy.concatenate([share.heads[head][part] for share in shares if share.heads])
                                 for part in range(3))
        there = masks != 0
        told = head_figures(head, scores[there], labels[there].astype(numpy.float64), int(len(there) - there.sum()))
        values.update({f"eval.{head}.{name}": value for name, value in told.items()})
        if head == heads[0]:
            values.update({f"eval.{name}": value for name, value in told.items()})
    if not values:
        raise SpecError("eval.dataset: there is no evaluation row with a label; check eval.dataset.where")
    return values, _rows_hash.text(sum(_rows_hash.total(share.keys) for share in shares)), \
        sum(len(share.keys) for share in shares)


def head_figures(head: str, scores: Any, labels: Any, without_label: int) -> dict[str, float]:
    """Computed as by the trainer's `train::EvalAccumulator`: exact, in double."""
    import numpy
    rows = len(scores)
    if rows == 0:
        raise SpecError(f"eval.dataset: the evaluation set has no row with a label of head '{head}' ({without_label} without); "
                        "check eval.dataset.where")
    label_sum = math.fsum(labels)
    if label_sum in (0, rows):
        raise SpecError(f"eval.dataset: label '{head}' is {0 if label_sum == 0 else 1} in all {rows} rows of the evaluation set: "
                        "an evaluation needs both classes")
    clipped = numpy.clip(scores, _MARGIN, 1 - _MARGIN)
    loss = -(labels * numpy.log(clipped) + (1 - labels) * numpy.log1p(-clipped))
    # fsum gives the same last digit in any order.
    log_loss = math.fsum(loss) / rows
    rate = label_sum / rows
    entropy = -rate * math.log(rate) - (1 - rate) * math.log1p(-rate) if 0 < rate < 1 else 0.0
    is_finite = bool(numpy.isfinite(scores).all())
    return {"auc": exact_auc(scores, labels > 0.5) if is_finite else math.nan, "log_loss": log_loss,
            "normalized_entropy": log_loss / entropy if entropy > 0 else math.nan,
            "calibration": math.fsum(scores) / label_sum if label_sum > 0 and is_finite else math.nan,
            "rows": float(rows), "positives": float((labels > 0.5).sum()), "rows_without_label": float(without_label)}


def exact_auc(scores: Any, is_positive: Any) -> float:
    """P(score of a positive > that of a negative) + P(equal) / 2."""
    import numpy
    order = numpy.argsort(scores, kind="stable")
    ordered, positive = scores[order], is_positive[order]
    starts = numpy.flatnonzero(numpy.concatenate([[True], ordered[1:] != ordered[:-1]]))
    positives = numpy.add.reduceat(positive.astype(numpy.float64), starts)
    negatives = numpy.add.reduceat((~positive).astype(numpy.float64), starts)
    below = numpy.cumsum(negatives) - negatives
    pairs = positives.sum() * negatives.sum()
    return float((positives * (below + negatives / 2)).sum() / pairs) if pairs > 0 else math.nan
