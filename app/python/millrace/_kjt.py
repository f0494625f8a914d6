"""torchrec's KeyedJaggedTensor of a batch. torchrec is imported only when a batch is converted."""

from __future__ import annotations

from typing import Any

from ._batch import Packed, Ragged
from ._errors import MisuseError


def keyed_jagged(batch: Any, features: list[str] | None) -> Any:
    """See Batch.kjt."""
    try:
        from torchrec.sparse.jagged_tensor import KeyedJaggedTensor
    except ImportError:
        raise MisuseError("batch.kjt() makes a KeyedJaggedTensor, which torchrec brings: it is not installed "
                          "(pip install torchrec)") from None
    import torch
    columns = batch._columns
    known = {name: index for role in ("id", "list", "weighted") for name, index in columns.by_role.get(role, {}).items()}
    names = list(known) if features is None else list(features)
    for name in names:
        if name not in known:
            raise MisuseError(f"{name!r} is not an id, list or weighted feature of this stream: those are {', '.join(known)}")
    if not names:
        raise MisuseError("a KeyedJaggedTensor has one feature at least: this stream has " +
                          (", ".join(known) if known else "no id, list or weighted feature"))
    indices = [known[name] for name in names]
    columns.wants_lengths = True
    packed = batch._features_packed()
    made = _view(batch, indices, packed) if packed is not None and _is_run(indices, columns.packed) else _copy(batch, indices)
    of_rows: dict[str, Any] = {}
    if columns.has_inverse:
        parts = [batch._column(index) for index in indices]
        inverses = [one.inverse.long() if isinstance(one, Ragged) and one.inverse is not None else None for one in parts]
        if any(inverse is not None for inverse in inverses):
            row = torch.arange(batch.rows, device=made.values.device)
            of_rows["stride_per_key_per_rank"] = [[_items(one)] for one in parts]
            of_rows["inverse_indices"] = (names, torch.stack([row if one is None else one for one in inverses]))
    return KeyedJaggedTensor(keys=names, values=made.values, weights=made.weights, lengths=made.lengths, **of_rows)


def _is_run(indices: list[int], packed: list[int]) -> bool:
    """Whether these columns directly follow one another in memory."""
    at = packed.index(indices[0])
    return packed[at:at + len(indices)] == indices


def _items(column: Any) -> int:
    return len(column.offsets) - 1 if isinstance(column, Ragged) else len(column)


def _count(column: Any) -> int:
    return len(column.values) if isinstance(column, Ragged) else len(column)


def _view(batch: Any, indices: list[int], packed: Packed) -> Packed:
    """A view of columns that are in one piece of memory."""
    import torch
    columns = batch._columns
    values, weights, lengths = packed.values, packed.weights, packed.lengths
    are_weighted = [columns.roles[index] == "weighted" for index in indices]
    if indices != columns.packed:
        before = columns.packed[:columns.packed.index(indices[0])]
        at = sum(_count(batch._column(index)) for index in before)
        values = values[at:at + sum(_count(batch._column(index)) for index in indices)]
        if lengths is not None:
            at = sum(_items(batch._column(index)) for index in before)
            lengths = lengths[at:at + sum(_items(batch._column(index)) for index in indices)]
        if any(are_weighted):
            at = sum(_count(batch._column(index)) for index in before if columns.roles[index] == "weighted")
            weights = weights[at:at + sum(_count(batch._column(index)) for index, is_weighted in zip(indices, are_weighted)
                                          if is_weighted)]
    if lengths is None:
        lengths = _lengths(batch, indices)
    if not any(are_weighted):
        weights = None
    elif not all(are_weighted):  # weighted columns come last
        weights = torch.cat([torch.ones(len(values) - len(weights), dtype=torch.float32, device=values.device), weights])
    return Packed(values, weights, lengths)


def _lengths(batch: Any, indices: list[int]) -> Any:
    import torch
    parts = [batch._column(index) for index in indices]
    return torch.cat([one.lengths if isinstance(one, Ragged) else torch.ones_like(one) for one in parts])


def _copy(batch: Any, indices: list[int]) -> Packed:
    """A copy, for features that are in another order in memory, or in memory of the batch's own."""
    import torch
    parts = [batch._column(index) for index in indices]
    values = [one.values if isinstance(one, Ragged) else one for one in parts]
    weights = None
    if any(isinstance(one, Ragged) and one.weights is not None for one in parts):
        weights = torch.cat([one.weights if isinstance(one, Ragged) and one.weights is not None else
                             torch.ones(len(value), dtype=torch.float32, device=value.device)
                             for one, value in zip(parts, values)])
    return Packed(torch.cat(values), weights, _lengths(batch, indices))


def register(batch_class: type) -> None:
    """torchrec's pipelines require its own abstract class: registers batches as instances of it if torchrec is loaded."""
    import sys
    streamable = sys.modules.get("torchrec.streamable")
    if streamable is not None:
        streamable.Pipelineable.register(batch_class)
