"""The built-in models as torch modules (docs/reference/models.md). Importing this loads torch.

Parameters and buffers of a network have the names of the checkpoint's tensors.
"""

from __future__ import annotations

import json
from typing import Any, Mapping

import torch
from torch import nn
from torch.nn import functional

from . import _inputs
from ._batch import Batch, Ragged
from ._errors import MillraceError, SpecError

_LIMIT = 5.0  # for a scaled input
_LEAST_WEIGHT = 1e-12  # a list with a smaller sum of weights counts as empty
_MARGIN = 1e-6  # smallest distance of target_mean from 0 and 1


def _whole(column: Any) -> Any:
    """A tensor, or a Ragged of tensors, even if the batch has numpy arrays."""
    return column.map(torch.as_tensor) if isinstance(column, Ragged) else torch.as_tensor(column)


class _Scale(nn.Module):
    """Scales dense inputs to mean 0 and deviation 1, within +-5, by statistics of the training rows."""

    count: torch.Tensor
    mean: torch.Tensor
    squares: torch.Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        for name in ("count", "mean", "squares"):
            self.register_buffer(name, torch.zeros(width, dtype=torch.float64))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        variance = torch.where(self.count > 0, self.squares / self.count, 0.0)
        varies = variance > _LEAST_WEIGHT * self.mean * self.mean
        factor = torch.where(varies, 1 / variance.sqrt(), 1.0).to(values.dtype)
        scaled = ((values - self.mean.to(values.dtype)) * factor).clamp(-_LIMIT, _LIMIT)
        return torch.where(torch.isfinite(values), scaled, 0.0)


class BuiltIn(nn.Module):
    """A built-in model: `forward(batch)` gives the logits [rows, heads] of a batch of `millrace.stream`."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        super().__init__()
        self.kind: str = facts["type"]
        self.heads: list[str] = list(facts["heads"])
        self.step = 0
        self.checks_features = True
        # As for the training rows and, if their steps differ, the evaluation rows.
        self._inputs = [_inputs.taken(facts, facts[name]) for name in ("inputs", "eval_inputs") if name in facts]
        self._taken = json.dumps(self._inputs)

    def _check(self, batch: Batch) -> None:
        """Checks that the batch's features are those that the model was trained on; checked once per stream."""
        columns = getattr(batch, "_columns", None)
        if columns is None or not self.checks_features or self._taken in columns.fitting:
            return
        given = json.loads(columns.inputs)
        differences = [_inputs.difference(own, given) for own in self._inputs]
        if all(differences):
            raise SpecError(f"the features of this stream are not those that the model has learnt: {differences[0]}; read the rows "
                            "with the spec of the model's run (which rows, and what they weigh, may differ), or say "
                            "load_model(..., check_features=False)")
        columns.fitting.add(self._taken)

    def probabilities(self, batch: Batch) -> dict[str, torch.Tensor]:
        """The probability of each row by head, as `millrace.evaluate` expects it."""
        return dict(zip(self.heads, torch.sigmoid(self(batch).double()).unbind(1)))


class _Cross(nn.Module):
    """x0 * (W x + b) + x; with a rank, W is a product of two matrices."""

    def __init__(self, shapes: Mapping[str, Any], prefix: str) -> None:
        super().__init__()
        for name in ("down", "weight", "bias"):
            shape = shapes.get(f"{prefix}.{name}")
            self.register_parameter(name, nn.Parameter(torch.zeros(*shape)) if shape else None)

    def forward(self, first: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        low = values if self.down is None else functional.linear(values, self.down)
        return first * functional.linear(low, self.weight, self.bias) + values


class _Tables(nn.Module):
    """Embedding tables by name. A table has the name of a column, which may contain dots or be the name of a method:
    register_parameter() and the strict check of load_state_dict() refuse such names, so this class replaces both."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        super().__init__()
        for name, shape in shapes.items():
            self._parameters[f"{name}.weight"] = nn.Parameter(torch.zeros(*shape))

    def weight(self, name: str) -> Any:
        return self._parameters[f"{name}.weight"]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
                              unexpected_keys: list[str], error_msgs: list[str]) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)
        if strict:
            own, given = {prefix + name for name in self._parameters}, {name for name in state_dict if name.startswith(prefix)}
            missing_keys += sorted(own - given)
            unexpected_keys += sorted(given - own)


class Network(BuiltIn):
    """`dlrm`, `dcn_v2`, `mlp` and `logistic`."""

    def __init__(self, facts: Mapping[str, Any], shapes: Mapping[str, Any]) -> None:
        super().__init__(facts)
        self._features = [(one["name"], one["table"]) for one in facts["features"]]
        self._blocks = (["dense"] if facts["dense"] else []) + list(facts["vectors"])
        self._dim = int(facts["embedding_dim"])
        if "input.mean" in shapes:
            self.input = _Scale(*shapes["input.mean"])
        self.embedding = _Tables({name.split(".", 1)[1].rsplit(".", 1)[0]: shape for name, shape in shapes.items()
                                  if name.startswith("embedding.")})
        crosses = [_Cross(shapes, f"cross.{i}") for i in range(len(shapes)) if f"cross.{i}.weight" in shapes]
        if crosses:
            self.cross = nn.ModuleList(crosses)
        for stack in ("bottom", "top", "hidden", "deep", "linear"):
            layers = [shapes[f"{stack}.{i}.weight"] for i in range(len(shapes)) if f"{stack}.{i}.weight" in shapes]
            if layers:
                self.add_module(stack, nn.ModuleList(nn.Linear(inputs, outputs) for outputs, inputs in layers))

    def forward(self, batch: Batch) -> torch.Tensor:
        """The logits [rows, heads]."""
        self._check(batch)
        blocks = [_whole(batch[name]) for name in self._blocks]
        dense = self.input(torch.cat(blocks, 1).to(self._dtype())) if blocks else None
        vectors = [self._pooled(name, table, batch) for name, table in self._features]
        if self.kind == "logistic":
            # A table's vector has one weight per head.
            weight = self.linear[0].weight  # type: ignore[index,union-attr]
            none = torch.zeros(batch.rows, 0, device=weight.device, dtype=weight.dtype)
            return sum(vectors, self._stack("linear", none if dense is None else dense))
        if self.kind != "dlrm":
            values = first = torch.cat(vectors if dense is None else [dense, *vectors], 1)
            for cross in self.cross if self.kind == "dcn_v2" else ():
                values = cross(first, values)
            return self._stack("deep" if self.kind == "dcn_v2" else "hidden", values)
        below = [] if dense is None else [self._stack("bottom", dense, ends_active=True)]
        together = torch.cat(below + vectors, 1).view(batch.rows, -1, self._dim)
        count = together.shape[1]
        first, second = torch.tril_indices(count, count, -1, device=together.device)
        pairs = torch.bmm(together, together.transpose(1, 2))[:, first, second]
        return self._stack("top", torch.cat([*below, pairs], 1))

    def _dtype(self) -> torch.dtype:
        """The parameters' type: float32, or what the caller has converted them to."""
        return next(self.parameters()).dtype

    def _stack(self, name: str, values: torch.Tensor, ends_active: bool = False) -> torch.Tensor:
        layers: Any = getattr(self, name)
        for number, layer in enumerate(layers, 1):
            values = layer(values)
            if ends_active or number < len(layers):
                values = functional.relu(values)
        return values

    def _pooled(self, name: str, table: str, batch: Batch) -> torch.Tensor:
        """A feature's vector of each row: the mean over its ids, weighted if they have weights; 0 without ids."""
        weight = self.embedding.weight(table)
        column = _whole(batch[name])
        if not isinstance(column, Ragged):
            return functional.embedding(column, weight)
        if column.weights is None:
            pooled = functional.embedding_bag(column.values, weight, column.offsets, mode="mean", include_last_offset=True)
        else:
            lists = torch.repeat_interleave(column.lengths)
            weights = column.weights.to(weight.dtype)
            totals = torch.zeros(len(column.offsets) - 1, device=weight.device, dtype=weight.dtype).index_add(0, lists, weights)
            shares = torch.where(totals.abs() < _LEAST_WEIGHT, 0.0, 1 / totals)[lists] * weights
            pooled = functional.embedding_bag(column.values, weight, column.offsets, mode="sum", include_last_offset=True,
                                              per_sample_weights=shares.nan_to_num(0.0))
        return pooled if column.inverse is None else pooled[column.inverse.long()]


class TargetMean(BuiltIn):
    """`target_mean`: means of the labels by the values of keys, smoothed."""

    total: torch.Tensor

    def __init__(self, facts: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
        super().__init__(facts)
        self._keys = [one["name"] for one in facts["features"]]
        self._smoothing = float(facts["smoothing"])
        self.register_buffer("total", tensors["total"])
        for number, key in enumerate(self._keys):
            for part in ("ids", "sums", "weights"):
                self.register_buffer(f"{part}{number}", tensors[f"key.{key}.{part}"])

    def forward(self, batch: Batch) -> torch.Tensor:
        """The logits [rows, heads], in double."""
        self._check(batch)
        overall = torch.where(self.total[:, 1] > 0, self.total[:, 0] / self.total[:, 1], 0.5)
        shifts = [self._shift(number, overall, _whole(batch[key])) for number, key in enumerate(self._keys)]
        return torch.logit((overall + sum(shifts)).clamp(_MARGIN, 1 - _MARGIN))

    def _shift(self, number: int, overall: torch.Tensor, values: Any) -> Any:
        """The difference of a key's mean from the overall mean, [rows, heads]: 0 for a value that was never seen."""
        ids, sums, weights = (self.get_buffer(f"{part}{number}") for part in ("ids", "sums", "weights"))
        full = weights + self._smoothing
        shift = torch.where(full > 0, (sums + self._smoothing * overall) / full - overall, 0.0)
        shift = torch.cat([shift, torch.zeros_like(overall)[None]])  # for no value
        ids = torch.cat([ids, ids.new_zeros(1)])
        at = torch.searchsorted(ids[:-1], values.contiguous())
        is_seen = (at < len(ids) - 1) & (ids[at] == values)
        return shift[torch.where(is_seen, at, len(ids) - 1)]


def build(facts: Mapping[str, Any], tensors: Mapping[str, torch.Tensor], place: str) -> BuiltIn:
    """The module for a checkpoint's facts (`module` of its metadata), with its weights."""
    try:
        if facts["type"] == "target_mean":
            return TargetMean(facts, tensors)
        if facts["type"] in ("dlrm", "dcn_v2", "mlp", "logistic"):
            network = Network(facts, {name: tuple(tensor.shape) for name, tensor in tensors.items()})
            network.load_state_dict(dict(tensors))
            return network
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise MillraceError(f"checkpoint {place}: its tensors do not make the model that it names: {error}") from None
    raise MillraceError(f"checkpoint {place} is of a model '{facts['type']}', which this version of the module does not know")
