"""Batches: columns as arrays that view the ring's memory and keep it alive.

A tensor keeps its frame alive by itself (DLPack). With numpy every array keeps the bytes of the whole frame, and these keep
one holder. The frame returns to the feed when the last owner is released, in any thread and order. A batch is an owner too.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any, Callable, Iterator

from . import _library
from ._errors import MisuseError

_FEATURES = ("dense", "vector", "id", "list", "weighted", "sequence")
_PACKED = ("id", "list", "weighted")


class Ragged:
    """Lists of different lengths: list `i` is `values[offsets[i]:offsets[i + 1]]`.

    `values` and `offsets` (int64, one more than the number of lists) view the batch's memory. `weights`: one float32
    for each value of a weighted list, else None. `inverse`: if rows share lists (`features.request`), the number of
    each row's list; else None, and row `i` has list `i`. `dtype` is "string" for texts; their values are bytes.
    """

    __slots__ = ("values", "offsets", "weights", "inverse", "dtype")

    def __init__(self, values: Any, offsets: Any, weights: Any = None, inverse: Any = None, dtype: str = "") -> None:
        self.values, self.offsets, self.weights, self.inverse, self.dtype = values, offsets, weights, inverse, dtype

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.inverse) if self.inverse is not None else max(0, len(self.offsets) - 1)

    def __getitem__(self, row: int) -> Any:
        """The list of one row."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row %= len(self)
        item = int(self.inverse[row]) if self.inverse is not None else row
        return self.values[int(self.offsets[item]):int(self.offsets[item + 1])]

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"Ragged({len(self)} rows, {len(self.values)} values)"

    @property
    def lengths(self) -> Any:
        """The length of each list. Rows that share a list have one entry."""
        return self.offsets[1:] - self.offsets[:-1]

    def expand(self) -> Ragged:
        """One list for each row: a copy if rows share lists, else this object."""
        if self.inverse is None:
            return self
        xp = _namespace(self.values)
        inverse = self.inverse.long() if xp is not _numpy() else self.inverse
        lengths = self.lengths[inverse]
        offsets = _offsets_of(lengths, xp)
        starts = self.offsets[:-1][inverse]
        repeat = xp.repeat_interleave if xp is not _numpy() else xp.repeat
        at = repeat(starts - offsets[:-1], lengths) + _arange(int(offsets[-1]), offsets, xp)
        weights = self.weights[at] if self.weights is not None else None
        return Ragged(self.values[at], offsets, weights, None, self.dtype)

    def to_jagged(self) -> Any:
        """A torch nested tensor (layout `torch.jagged`) over these values, with one list for each row."""
        import torch
        rows = self.expand()
        values, offsets = torch.as_tensor(rows.values), torch.as_tensor(rows.offsets)
        return torch.nested.nested_tensor_from_jagged(values, offsets)

    def to_list(self) -> list[Any]:
        """A Python list with one list for each row; texts become `str`."""
        if self.dtype == "string":
            return [bytes(memoryview(_to_numpy(one))).decode(errors="replace") for one in self]
        return [one.tolist() for one in self]

    def map(self, change: Any) -> Ragged:
        """A `Ragged` with `change` applied to each of its arrays."""
        return Ragged(change(self.values), change(self.offsets), None if self.weights is None else change(self.weights),
                      None if self.inverse is None else change(self.inverse), self.dtype)


def _numpy() -> Any:
    import numpy
    return numpy


def _namespace(array: Any) -> Any:
    """numpy or torch: the module of this array."""
    return _numpy() if isinstance(array, _numpy().ndarray) else sys.modules["torch"]


def _to_numpy(array: Any) -> Any:
    return array if isinstance(array, _numpy().ndarray) else array.cpu().numpy()


def _arange(count: int, like: Any, xp: Any) -> Any:
    return xp.arange(count) if xp is _numpy() else xp.arange(count, device=like.device)


def _offsets_of(lengths: Any, xp: Any) -> Any:
    if xp is _numpy():
        return xp.concatenate([xp.zeros(1, dtype=xp.int64), xp.cumsum(lengths, dtype=xp.int64)])
    return xp.nn.functional.pad(lengths.cumsum(0), (1, 0))


class _Holder:
    """One frame of the ring. numpy keeps it as the base of the array over the frame."""

    __slots__ = ("__array_interface__", "_capsule")

    def __init__(self, batch: int, address: int, size: int) -> None:
        # Its finalizer runs no Python code, in which an interrupt would be lost; in a forked child it does nothing.
        self._capsule = _library.load_python().millrace_python_batch(batch)
        self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


class Columns:
    """Describes a stream's columns, the same for all its batches. Read from the first batch, or from the schema."""

    def __init__(self, structs: Any, count: int, arrays: Any, inputs: str = "") -> None:
        """`inputs`: the description of the features, as the feed sent it (JSON)."""
        self.inputs = inputs
        self.fitting: set[str] = set()
        """The model inputs that were already compared with these columns and found equal."""
        self.names: list[str] = []
        self.roles: list[str] = []
        self.dtypes: list[str] = []
        self.widths: list[int] = []
        self.lists: list[bool] = []
        for column in structs[:count]:
            self.names.append(ctypes.string_at(column.name, column.name_bytes).decode() if column.name_bytes else "")
            self.roles.append(_library.ROLES.get(column.role, "unknown"))
            self.dtypes.append(_library.DTYPES.get(column.dtype, "unknown"))
            self.widths.append(column.width)
            self.lists.append(bool(column.is_list))
        self.has_inverse = "inverse" in self.roles
        self.wanted: Wanted | None = None
        self.packed = [index for index, role in enumerate(self.roles) if role in _PACKED]
        """Features with values that directly follow one another in a frame."""
        self.wants_lengths = False  # keyed jagged tensors are used
        self.by_role: dict[str, dict[str, int]] = {}
        for index, role in enumerate(self.roles):
            self.by_role.setdefault(role, {})[self.names[index]] = index
        # In tables a name is a feature's, else a head's label's, else a carried column's. A column with a name that is
        # taken is called NAME.label or NAME.carry there, so that none hides another.
        self.in_tables: dict[str, int] = {}
        for role in (*_FEATURES, "label", "carry"):
            for name, index in self.by_role.get(role, {}).items():
                self.in_tables.setdefault(f"{name}.{role}" if name in self.in_tables else name, index)
        # In batch[...] a carried column is always NAME.carry: a script must not train on the raw column of that name after
        # the feature was removed from the spec.
        carried = self.by_role.get("carry", {})
        self.by_name = {name: index for name, index in self.in_tables.items() if self.roles[index] != "carry"}
        for name, index in carried.items():
            self.by_name.setdefault(f"{name}.carry", index)
        self.items = ["uint8" if name == "string" else name for name in self.dtypes]
        self.kinds = [arrays.types[name] for name in self.items]
        # Values per item of a block [rows, width]; 0: [rows].
        self.blocks = [width if width > 1 or role in ("dense", "vector") else 0
                       for role, width in zip(self.roles, self.widths)]

    def describe(self) -> list[dict[str, Any]]:
        """Name, role, dtype, width and rows of each column, as Stream.schema says."""
        rows = {one["name"]: one.get("rows", 0) for one in json.loads(self.inputs or "[]")}
        return [{"name": name, "role": role, "dtype": dtype, "width": width, "rows": rows.get(name, 0)
                 if role in _FEATURES else 0}
                for name, role, dtype, width in zip(self.names, self.roles, self.dtypes, self.widths)]


class NumpyArrays:
    """Makes numpy arrays over a frame's bytes."""

    is_torch = False

    def __init__(self) -> None:
        numpy = _numpy()
        self._new = numpy.ndarray
        self.types = {name: numpy.dtype("uint8" if name == "string" else name) for name in _library.DTYPES.values()}

    def view(self, memory: Any, kind: Any, count: int, at: int) -> Any:
        """`count` values from byte `at` on, of one of `types`; they keep `memory` alive."""
        return self._new(count, kind, memory, at)

    def empty(self, dtype: str, *shape: int) -> Any:
        """An array without values, or an uninitialised one."""
        return _numpy().empty(shape, dtype=self.types[dtype])


class TorchArrays:
    """Makes torch tensors over a frame's bytes."""

    is_torch = True

    def __init__(self) -> None:
        import torch
        self._torch, self._new = torch, torch.frombuffer
        # The function behind the public one, which first inspects its argument.
        self.from_dlpack = getattr(torch._C, "_from_dlpack", torch.utils.dlpack.from_dlpack)
        self.types = {name: getattr(torch, "uint8" if name == "string" else name) for name in _library.DTYPES.values()}

    def view(self, memory: Any, kind: Any, count: int, at: int) -> Any:
        """As NumpyArrays.view."""
        return self._new(memory, dtype=kind, count=count, offset=at)

    def empty(self, dtype: str, *shape: int) -> Any:
        """As NumpyArrays.empty."""
        return self._torch.empty(shape, dtype=self.types[dtype])


class ByteArrays(TorchArrays):
    """Makes torch tensors over a frame's bytes that are a tensor themselves, in host or device memory."""

    def __init__(self, device: Any) -> None:
        super().__init__()
        self._device = device

    def view(self, memory: Any, kind: Any, count: int, at: int) -> Any:
        """As NumpyArrays.view."""
        return memory[at:at + count * kind.itemsize].view(kind)

    def empty(self, dtype: str, *shape: int) -> Any:
        """As NumpyArrays.empty."""
        return self._torch.empty(shape, dtype=self.types[dtype], device=self._device)


class Wanted:
    """The columns that batches were asked for. Later batches make them together, in one call of C."""

    def __init__(self, columns: Columns, indices: tuple[int, ...]) -> None:
        self.plain = tuple(one for one in indices if not columns.lists[one])
        self.lists = tuple(one for one in indices if columns.lists[one])
        parts = [(one, _library.DATA) for one in self.plain]
        self.places: list[tuple[int, ...]] = []  # indices of values, offsets, weights, inverse among the parts; 0: none
        for one in self.lists:
            at = len(parts)
            parts += [(one, _library.DATA), (one, _library.OFFSETS)]
            weights = inverse = 0
            if columns.roles[one] == "weighted":
                weights = len(parts)
                parts.append((one, _library.WEIGHTS))
            if columns.has_inverse:
                inverse = len(parts)
                parts.append((one, _library.INVERSE))
            self.places.append((at, at + 1, weights, inverse))
        self.count = len(parts)
        self.parts = (_library.Part * self.count)(*parts)


class Packed:
    """The columns of Columns.packed in memory: the int64 values of one column after those of another, likewise the weights
    of weighted columns and the lengths of items (int64; 1 for each id)."""

    __slots__ = ("values", "weights", "lengths")

    def __init__(self, values: Any, weights: Any, lengths: Any) -> None:
        self.values, self.weights, self.lengths = values, weights, lengths


class Tensors:
    """One frame of the ring as torch tensors, each of which keeps it alive."""

    __slots__ = ("_batch", "_capsule", "_columns", "_from_dlpack", "rows")

    def __init__(self, batch: int, columns: Columns, rows: int, arrays: TorchArrays) -> None:
        """Takes over `batch`."""
        self._capsule = _library.load_python().millrace_python_batch(batch)
        self._batch, self._columns, self._from_dlpack, self.rows = batch, columns, arrays.from_dlpack, rows

    def make(self, index: int, made: dict[int, Any]) -> None:
        """As Memory.make. Also makes the columns that earlier batches were asked for."""
        columns = self._columns
        wanted = columns.wanted
        if made or wanted is None or not (index in wanted.plain or index in wanted.lists):
            wanted = Wanted(columns, (index,))
            known = columns.wanted
            if known is None or not (index in known.plain or index in known.lists):
                columns.wanted = Wanted(columns, (*known.plain, *known.lists, index)) if known else wanted
        take = self._from_dlpack
        capsules = _library.load_python().millrace_python_tensors(self._batch, wanted.parts, wanted.count)
        tensors = list(map(take, capsules)) if not columns.has_inverse else \
            [take(one) if one is not None else None for one in capsules]
        made.update(zip(wanted.plain, tensors))
        for one, (values, offsets, weights, inverse) in zip(wanted.lists, wanted.places):
            made[one] = Ragged(tensors[values], tensors[offsets], tensors[weights] if weights else None,
                               tensors[inverse] if inverse else None, columns.dtypes[one])


    def packed(self) -> Packed | None:
        """None if there are no such features."""
        columns, library = self._columns, _library
        indices = columns.packed
        if not indices:
            return None
        weighted = columns.by_role.get("weighted")
        parts = [(indices[0], library.FEATURES)]
        if weighted:
            parts.append((min(weighted.values()), library.FEATURE_WEIGHTS))
        capsules = library.load_python().millrace_python_tensors(self._batch, (library.Part * len(parts))(*parts), len(parts))
        values, weights = [*map(self._from_dlpack, capsules), None][:2]
        return Packed(values, weights, self._lengths(indices) if columns.wants_lengths else None)

    def _lengths(self, indices: list[int]) -> Any:
        lengths = sys.modules["torch"].empty(self.rows * len(indices), dtype=sys.modules["torch"].int64)
        count = ctypes.c_size_t()
        _library.load().millrace_batch_lengths(self._batch, (ctypes.c_uint32 * len(indices))(*indices), len(indices),
                                               lengths.data_ptr(), len(lengths), ctypes.byref(count))
        return lengths[:count.value]  # lists that rows share are stored once


class Memory:
    """The bytes of one frame, or a copy of them, in host or device memory, and the positions of its columns."""

    __slots__ = ("_arrays", "_bytes", "_columns", "_places", "_start", "_view", "rows")

    def __init__(self, batch: int, columns: Columns, places: list[tuple[int, ...]], arrays: Any, copy: bool) -> None:
        """Takes over `batch`. `places`: items, num_values, data, offsets, weights, inverse of each column."""
        self._columns, self._places, self._arrays = columns, places, arrays
        self._view, self.rows = arrays.view, places[0][0]
        library = _library.load()
        self._start = library.millrace_batch_memory(batch)
        base = _numpy().asarray(_Holder(batch, self._start, library.millrace_batch_bytes(batch)))
        self._bytes: Any = memoryview(base.copy() if copy else base)

    def changed(self, change: Callable[[Any], Any]) -> Memory:
        """Applies `change` to all bytes, a tensor of uint8: one copy for all columns. The result's columns are at the same
        positions."""
        torch = sys.modules["torch"]
        whole = torch.frombuffer(self._bytes, dtype=torch.uint8) if isinstance(self._bytes, memoryview) else self._bytes
        made = change(whole)
        if made is whole:
            return self
        out = Memory.__new__(Memory)
        out._columns, out._places, out._start, out.rows = self._columns, self._places, self._start, self.rows
        out._bytes, out._arrays = made, ByteArrays(made.device)
        out._view = out._arrays.view
        return out

    def packed(self) -> Packed | None:
        """As Tensors.packed."""
        indices = self._columns.packed
        return Packed(self._together(indices, 2), self._together(list(self._columns.by_role.get("weighted", {}).values()), 4), None) \
            if indices else None

    def _together(self, indices: list[int], part: int) -> Any:
        """The values (2) or weights (4) of columns that follow one another in memory; None without columns."""
        if not indices:
            return None
        kind = "float32" if part == 4 else self._columns.items[indices[0]]
        filled = [self._places[index] for index in indices if self._places[index][1]]
        if not filled:
            return self._arrays.empty(kind, 0)
        return self._view(self._bytes, self._arrays.types[kind], sum(place[1] for place in filled), filled[0][part] - self._start)

    def make(self, index: int, made: dict[int, Any]) -> None:
        """Puts a column into `made`: [rows], or [rows, width], or a Ragged. May add other columns too."""
        if self._columns.lists[index]:
            made[index] = self._ragged(index)
            return
        place, columns = self._places[index], self._columns
        array = self._view(self._bytes, columns.kinds[index], place[1], place[2] - self._start)
        width = columns.blocks[index]
        made[index] = array.reshape(-1, width) if width else array

    def _ragged(self, index: int) -> Ragged:
        items, count, data, offsets, weights, inverse = self._places[index]
        view, memory, start, columns, types = self._view, self._bytes, self._start, self._columns, self._arrays.types
        values = view(memory, columns.kinds[index], count, data - start) if count else \
            self._arrays.empty(columns.items[index], 0)
        return Ragged(values, view(memory, types["int64"], items + 1, offsets - start),
                      self._weights(weights, count) if columns.roles[index] == "weighted" else None,
                      view(memory, types["uint32"], self.rows, inverse - start) if inverse else None,
                      columns.dtypes[index])

    def _weights(self, address: int, count: int) -> Any:
        arrays = self._arrays
        return self._view(self._bytes, arrays.types["float32"], count, address - self._start) if count else \
            arrays.empty("float32", 0)


class NoRows:
    """A rank's part of a step in which only other ranks have rows."""

    rows = 0

    def __init__(self, columns: Columns, arrays: Any) -> None:
        self._columns, self._arrays = columns, arrays

    def make(self, index: int, made: dict[int, Any]) -> None:
        """As Memory.make."""
        if self._columns.lists[index]:
            made[index] = self._ragged(index)
            return
        width = self._columns.blocks[index]
        made[index] = self._arrays.empty(self._columns.items[index], *((0, width) if width else (0,)))

    def _ragged(self, index: int) -> Ragged:
        arrays, is_weighted = self._arrays, self._columns.roles[index] == "weighted"
        offsets = arrays.empty("int64", 1)
        offsets[0] = 0
        return Ragged(arrays.empty(self._columns.items[index], 0), offsets,
                      arrays.empty("float32", 0) if is_weighted else None, None, self._columns.dtypes[index])


class Batch:
    """This rank's rows of one step.

    `batch["x"]` is a feature or a head's label: a tensor (without torch a numpy array), or a `Ragged` for lists and
    texts. If a feature and a label have the same name, `x` is the feature and `x.label` the label. A carried column is
    `batch.carry["x"]` or `batch["x.carry"]`, never `batch["x"]`. "dense" is the block of all dense features, [rows,
    width].
    Nothing is copied: the arrays view the ring's memory, which does not change while any view of it exists. You may
    write to them. torchrec's pipelines accept a batch: it has `to`, `record_stream` and `pin_memory`.
    """

    __slots__ = ("_columns", "_ends_step", "_is_torch", "_made", "_memory", "_packed", "_stream", "epoch", "number", "rows",
                 "scale", "step_rows", "__weakref__")

    epoch: int
    """The epoch, from 0."""
    number: int
    """The first micro-batch after this batch's step: a consumer's position in the stream."""
    rows: int
    """Rows of this rank."""
    step_rows: int
    """Rows of the step over all ranks."""
    scale: float
    """world x rows / step_rows. Multiply a mean over these rows by it; DDP's mean over ranks is then the mean over the
    step's rows. 1 if all ranks have the same number of rows; 0 if this rank has none."""

    def __init__(self, columns: Columns, memory: Memory | Tensors | NoRows, is_torch: bool, facts: tuple[int, int, int, int],
                 stream: Any) -> None:
        """`stream`: a weak reference, so that a batch that is kept does not keep a feed."""
        self._columns, self._is_torch, self._stream = columns, is_torch, stream
        self._memory: Memory | Tensors | NoRows | None = memory
        self.epoch, self.number, self.step_rows, world = facts
        self._ends_step = True
        self._made: dict[int, Any] = {}
        self._packed: Packed | None = None  # for a batch that was moved
        self.rows = memory.rows
        self.scale = world * self.rows / self.step_rows if self.step_rows else 0.0

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"Batch({self.rows} rows of {self.step_rows}, epoch {self.epoch}, {', '.join(self.keys())})"

    def __contains__(self, name: object) -> bool:
        return name in self._columns.by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.by_name)

    def keys(self) -> list[str]:
        """The names that `batch[...]` accepts."""
        return list(self._columns.by_name)

    def __getitem__(self, name: str) -> Any:
        index = self._columns.by_name.get(name)
        if index is None:
            if name in self._columns.by_role.get("carry", {}):
                raise KeyError(f"{name!r} is not a feature or label of this stream: batch.carry[{name!r}] is the carried column")
            dense = [one["name"] for one in json.loads(self._columns.inputs or "[]") if one["kind"] == "dense"]
            if name in dense:
                raise KeyError(f"{name!r} is a dense feature: batch['dense'][:, {dense.index(name)}]")
            raise KeyError(f"{name!r} is none of this stream's columns: {', '.join(self.keys())}")
        return self._column(index)

    def _column(self, index: int) -> Any:
        made = self._made.get(index)
        if made is None:
            memory = self._memory
            assert memory is not None
            memory.make(index, self._made)
            made = self._made[index]
        return made

    def _of_role(self, *roles: str) -> dict[str, Any]:
        by_role = self._columns.by_role
        return {name: self._column(index) for role in roles for name, index in by_role.get(role, {}).items()}

    @property
    def features(self) -> dict[str, Any]:
        """The inputs of the model, by name: "dense", vectors, ids, lists, weighted lists, sequences (`NAME.COLUMN`)."""
        return self._of_role(*_FEATURES)

    @property
    def labels(self) -> dict[str, Any]:
        """The labels by head, float32; 0 if the row has no label (see `masks`)."""
        return self._of_role("label")

    @property
    def weights(self) -> dict[str, Any]:
        """The rows' weights by head, float32."""
        return self._of_role("weight")

    @property
    def masks(self) -> dict[str, Any]:
        """By head, uint8: 1 if the row has a label."""
        return self._of_role("mask")

    @property
    def carry(self) -> dict[str, Any]:
        """The carried columns by name. Lists and texts are a `Ragged`, in which a null is an empty list or text."""
        return self._of_role("carry")

    @property
    def row_ids(self) -> tuple[Any, Any]:
        """The origin of each row: its file (uint32, in the plan's numbering) and its row in that file (uint64)."""
        return next(iter(self._of_role("row_file").values())), next(iter(self._of_role("row_number").values()))

    @property
    def cursor(self) -> str:
        """The stream's position after this batch's step; `millrace stream --from` accepts it."""
        stream = self._stream()
        if stream is None:
            raise MisuseError("the stream of this batch is gone: ask for its cursor before")
        return json.dumps(json.loads(stream._state_of(self.epoch, self.number))["cursor"])

    def kjt(self, features: list[str] | None = None) -> Any:
        """One torchrec KeyedJaggedTensor over these id, list and weighted features (default: all).

        Needs torchrec. The feed stores the features' values contiguously: ids, lists, weighted lists, each in the
        spec's order. All features, or adjacent ones in this order, are a view; others are copied. If rows share lists,
        a feature's lists are stored once, and `inverse_indices` gives the list of each row.
        """
        from . import _kjt
        return _kjt.keyed_jagged(self, features)

    def arrow(self) -> Any:
        """A pyarrow RecordBatch of features, labels and carried columns. Needs pyarrow. Ids, lists and numbers view the
        ring's memory; a list that rows share is copied for each row.

        A missing label is null. Texts are `large_string`, or `large_binary` if one of them is not UTF-8. A batch does not
        know the nulls and times of carried columns: a null is 0 or empty, a date is its days since 1970 and a time its
        microseconds.
        """
        from . import _arrow
        return _arrow.record_batch(self)

    def to(self, device: Any, non_blocking: bool = False) -> Batch:
        """A batch whose tensors are on `device`; this one stays as it is."""
        return self._changed(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """A batch whose tensors are copies in pinned memory."""
        return self._changed(lambda tensor: tensor.pin_memory())

    def record_stream(self, stream: Any) -> None:
        """Tells the allocator that `stream` uses this batch's tensors; tensors in host memory need no such call."""
        def record(tensor: Any) -> Any:
            if tensor.is_cuda:
                tensor.record_stream(stream)
            return tensor
        self._changed(record)

    def _changed(self, change: Any) -> Batch:
        if not self._is_torch:
            raise MisuseError("this batch holds numpy arrays, which have no device: make the stream without "
                              "as_numpy=True, where torch is installed")
        out = Batch.__new__(Batch)
        out._columns, out._memory, out._is_torch, out._stream = self._columns, None, True, self._stream
        out.epoch, out.number, out.rows = self.epoch, self.number, self.rows
        out.step_rows, out.scale = self.step_rows, self.scale
        out._made, out._ends_step = {}, self._ends_step
        if isinstance(self._memory, Memory):
            out._memory, out._packed = self._memory.changed(change), None
            return out
        out._packed = self._change_packed(change, out._made)
        for index, role in enumerate(self._columns.roles):
            if role != "inverse" and index not in out._made:
                value = self._column(index)
                out._made[index] = value.map(change) if isinstance(value, Ragged) else change(value)
        return out

    def _features_packed(self) -> Packed | None:
        return self._memory.packed() if isinstance(self._memory, (Tensors, Memory)) else self._packed

    def _change_packed(self, change: Any, made: dict[int, Any]) -> Packed | None:
        """Columns in one piece of memory are copied together: one copy for the features of many embedding tables."""
        before = self._features_packed()
        if before is None:
            return None
        packed = Packed(*(None if one is None else change(one) for one in (before.values, before.weights, before.lengths)))
        at = at_weights = 0
        for index in self._columns.packed:
            column = self._column(index)
            if not isinstance(column, Ragged):
                made[index] = packed.values[at:at + len(column)]
                at += len(column)
                continue
            count, weights = len(column.values), None
            if column.weights is not None:
                weights = packed.weights[at_weights:at_weights + count]
                at_weights += count
            made[index] = Ragged(packed.values[at:at + count], change(column.offsets), weights,
                                 None if column.inverse is None else change(column.inverse), column.dtype)
            at += count
        return packed
