"""A batch as a pyarrow RecordBatch. pyarrow is imported only when a batch is converted."""

from __future__ import annotations

from typing import Any

from ._errors import MisuseError


def record_batch(batch: Any) -> Any:
    """See Batch.arrow."""
    try:
        import pyarrow
    except ImportError:
        raise MisuseError("batch.arrow() makes a pyarrow RecordBatch, and pyarrow is not installed "
                          "(pip install pyarrow)") from None
    columns = batch._columns
    arrays = [_label(pyarrow, batch, index) if columns.roles[index] == "label" else
              _array(pyarrow, batch._column(index), columns.dtypes[index]) for index in columns.in_tables.values()]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(columns.in_tables))


def _flat(pyarrow: Any, values: Any, dtype: str) -> Any:
    numbers: Any = values if isinstance(values, _ndarray()) else values.cpu().numpy()
    kind = pyarrow.uint8() if dtype == "string" else pyarrow.type_for_alias(_ALIASES.get(dtype, dtype))
    # py_buffer keeps the array alive, and the array keeps the frame.
    return pyarrow.Array.from_buffers(kind, numbers.size, [None, pyarrow.py_buffer(numbers.reshape(-1))])


def _label(pyarrow: Any, batch: Any, index: int) -> Any:
    """A label's values, null where the row has no label."""
    values = _array(pyarrow, batch._column(index), batch._columns.dtypes[index])
    mask = batch.masks.get(batch._columns.names[index])
    if mask is None:
        return values
    there: Any = mask if isinstance(mask, _ndarray()) else mask.cpu().numpy()
    import numpy
    bits = numpy.packbits(there != 0, bitorder="little")
    return pyarrow.Array.from_buffers(values.type, len(values), [pyarrow.py_buffer(bits), values.buffers()[1]])


def _texts(pyarrow: Any, count: int, offsets: Any, values: Any) -> Any:
    """Texts as large_string; as large_binary if one of them is not UTF-8."""
    texts = pyarrow.Array.from_buffers(pyarrow.large_binary(), count, [None, offsets.buffers()[1], values.buffers()[1]])
    try:
        return texts.cast(pyarrow.large_string())
    except pyarrow.ArrowInvalid:
        return texts


_ALIASES = {"float32": "float", "float64": "double"}


def _ndarray() -> type:
    import numpy
    return numpy.ndarray


def _array(pyarrow: Any, column: Any, dtype: str) -> Any:
    if not hasattr(column, "offsets"):
        flat = _flat(pyarrow, column, dtype)
        return flat if column.ndim == 1 else pyarrow.FixedSizeListArray.from_arrays(flat, column.shape[1])
    column = column.expand()
    offsets = _flat(pyarrow, column.offsets, "int64")
    values = _flat(pyarrow, column.values, dtype)
    if dtype == "string":
        return _texts(pyarrow, len(column), offsets, values)
    return pyarrow.LargeListArray.from_arrays(offsets, values)
