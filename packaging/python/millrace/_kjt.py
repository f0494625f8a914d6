"""torchrec's KeyedJaggedTensor of a batch. torchrec is looked for when one is asked for."""

from __future__ import annotations

from typing import Any

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
            raise MisuseError(f"{name!r} is no id, list or weighted feature of this stream: those are {', '.join(known)}")
    values, lengths, weights, inverses = [], [], [], []
    has_weights = any(columns.roles[known[name]] == "weighted" for name in names)
    for name in names:
        column = batch._column(known[name])
        is_list = columns.lists[known[name]]
        one = column.values if is_list else column
        values.append(one)
        lengths.append(column.lengths if is_list else torch.ones_like(column))
        if has_weights:
            own = column.weights if is_list else None
            weights.append(own if own is not None else torch.ones(len(one), dtype=torch.float32, device=one.device))
        inverse = column.inverse if is_list else None
        inverses.append(None if inverse is None else inverse.long())
    made: dict[str, Any] = {"keys": names, "values": torch.cat(values), "lengths": torch.cat(lengths),
                            "weights": torch.cat(weights) if has_weights else None}
    if any(inverse is not None for inverse in inverses):
        row = torch.arange(batch.rows, device=values[0].device)
        made["stride_per_key_per_rank"] = [[len(one)] for one in lengths]
        made["inverse_indices"] = (names, torch.stack([row if one is None else one for one in inverses]))
    return KeyedJaggedTensor(**made)


def register(batch_class: type) -> None:
    """torchrec's pipelines ask for its own abstract class: a batch counts as one where torchrec is loaded."""
    import sys
    streamable = sys.modules.get("torchrec.streamable")
    if streamable is not None:
        streamable.Pipelineable.register(batch_class)
