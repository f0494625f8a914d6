#!/usr/bin/env python3
"""Batches as torch tensors: dtypes, life, jagged and keyed tensors, devices, DataLoader, checkpoints."""
import gc
import os
import sys
import threading
import types
import unittest

import torch
from harness import Case

import millrace
from millrace import _device


class KeyedJaggedTensor:
    """Takes the arguments of torchrec's constructor (torchrec.sparse.jagged_tensor), for machines without torchrec."""

    def __init__(self, keys, values, weights=None, lengths=None, offsets=None, stride=None, stride_per_key_per_rank=None,
                 stride_per_key=None, length_per_key=None, lengths_offset_per_key=None, offset_per_key=None,
                 index_per_key=None, jt_dict=None, inverse_indices=None):
        self.keys, self.values, self.weights, self.lengths = keys, values, weights, lengths
        self.strides, self.inverse = stride_per_key_per_rank, inverse_indices


def stand_in():
    """Installs fake torchrec modules, as far as a batch needs them."""
    tensors = types.ModuleType("torchrec.sparse.jagged_tensor")
    tensors.KeyedJaggedTensor = KeyedJaggedTensor
    sys.modules.update({"torchrec": types.ModuleType("torchrec"), "torchrec.sparse": types.ModuleType("torchrec.sparse"),
                        "torchrec.sparse.jagged_tensor": tensors})


class Tensors(Case):
    def test_columns_are_tensors_over_the_ring(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec) as stream:
            batch = next(iter(stream))
            numbers = batch.carry["number"]
            self.assertEqual((batch["dense"].dtype, batch["user"].dtype, batch["liked"].dtype, numbers.dtype),
                             (torch.float32, torch.int64, torch.float32, torch.int64))
            self.assertTrue(torch.equal(batch["dense"][:, 0], (numbers / 8).float()))
            files, rows = batch.row_ids
            self.assertEqual((files.dtype, rows.dtype), (torch.uint32, torch.uint64))
            self.assertEqual(rows.tolist(), numbers.tolist())
            view, want = batch["dense"][5:9].flatten(), (numbers[5:9] / 8).float().clone()
            del batch, numbers, files, rows
            gc.collect()
            self.assertEqual(stream.stats["held_batches"], 1)
            # A tensor that autograd keeps is a view like any other.
            weight = torch.ones(4, requires_grad=True)
            loss = (weight * view).sum()
            del view
            self.assertEqual(stream.stats["held_batches"], 1)
            loss.backward()
            self.assertTrue(torch.equal(weight.grad, want))
            del loss
            gc.collect()
            self.assertEqual(stream.stats["held_batches"], 0)

    def test_lists_become_jagged(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec) as stream:
            batch = next(iter(stream))
            jagged = batch["tags"].to_jagged()
            self.assertTrue(jagged.is_nested)
            self.assertEqual([one.tolist() for one in jagged.unbind()], batch["tags"].to_list())

    def test_one_keyed_jagged_tensor(self):
        stand_in()
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec) as stream:
            batch = next(iter(stream))
            kjt = batch.kjt()
            self.assertEqual(kjt.keys, ["user", "tags"])
            self.assertEqual(kjt.lengths.tolist(), [1] * 64 + batch["tags"].lengths.tolist())
            self.assertEqual(kjt.values.tolist(), batch["user"].tolist() + batch["tags"].values.tolist())
            self.assertIsNone(kjt.inverse)
            self.assertEqual(batch.kjt(["tags"]).keys, ["tags"])
            with self.assertRaisesRegex(millrace.MisuseError, "'dense' is not an id, list or weighted feature.*user, tags"):
                batch.kjt(["dense"])

    def test_a_keyed_jagged_tensor_views_the_ring(self):
        stand_in()
        import pyarrow
        import pyarrow.parquet
        tags, words = ([[k + n % 7 for k in range(n % size)] for n in range(256)] for size in (4, 3))
        pyarrow.parquet.write_table(pyarrow.table({
            "a": [n % 31 for n in range(256)], "b": [n % 17 for n in range(256)], "y": [n % 2 for n in range(256)],
            "tags": tags, "words": words, "w": [[k / 4 for k in one] for one in words]}),
            os.path.join(self.folder, "rows.parquet"))
        spec = os.path.join(self.folder, "spec.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write("name: many\ndataset: {path: rows.parquet}\nlabels: {y: y}\n"
                       "features: {ids: [b, a], lists: [tags], weighted: [{ids: words, weights: w}]}\n"
                       "embeddings: {a: {rows: 64}, b: {rows: 64}, tags: {rows: 64}, words: {rows: 64}}\n"
                       "batch: {rows: 64, micro_rows: 32, epochs: 1, seed: 1}\n")
        names = ["b", "a", "tags", "words"]
        for how in ("ring", "whole frames", "copies"):
            stream = millrace.stream(spec, copy=how == "copies")
            if how == "whole frames":
                to_device(stream, None)
            for batch in stream:
                moved = batch._changed(torch.clone)
                for one in (batch, moved):
                    values = {name: one[name] if name in "ab" else one[name].values for name in names}
                    for asked in (None, ["a"], ["tags", "words"], ["words"], ["b", "a", "tags"], ["words", "a"], ["a", "b"]):
                        kjt, keys = one.kjt(asked), asked or names
                        self.assertEqual(kjt.keys, keys)
                        self.assertEqual(kjt.values.tolist(), [value for name in keys for value in values[name].tolist()])
                        self.assertEqual(kjt.lengths.tolist(), [length for name in keys for length in
                                                                ([1] * 64 if name in "ab" else one[name].lengths.tolist())])
                        weights = [value for name in keys for value in
                                   (one[name].weights.tolist() if name == "words" else [1] * len(values[name]))]
                        self.assertEqual(None if kjt.weights is None else kjt.weights.tolist(),
                                         weights if "words" in keys else None)
                        is_view = kjt.values.data_ptr() == values[keys[0]].data_ptr()
                        self.assertEqual(is_view, asked not in (["words", "a"], ["a", "b"]), asked)
                self.assertNotEqual(moved["a"].data_ptr(), batch["a"].data_ptr())
                self.assertEqual(moved["a"].untyped_storage().data_ptr(), moved["words"].values.untyped_storage().data_ptr())
            stream.close()
            self.assertEqual(batch.kjt(["words"]).weights.data_ptr(), batch["words"].weights.data_ptr())
            with self.assertRaisesRegex(millrace.MisuseError, "one feature at least.*b, a, tags, words"):
                batch.kjt([])

    def test_shared_lists_stand_once_in_a_keyed_jagged_tensor(self):
        from views_test import SharedLists
        stand_in()
        with millrace.stream(SharedLists.spec_of_requests(self)) as stream:
            batch = next(iter(stream))
            kjt = batch.kjt()
            shared = batch["history"]
            self.assertEqual(kjt.strides, [[64], [len(shared.offsets) - 1]])
            keys, inverse = kjt.inverse
            self.assertEqual(keys, ["item", "history"])
            self.assertEqual(inverse.tolist(), [list(range(64)), shared.inverse.tolist()])
            self.assertEqual(shared.expand().to_list(), shared.to_list())
            self.assertEqual([one.tolist() for one in shared.to_jagged().unbind()], shared.to_list())

    def test_a_loss_with_a_gradient_is_a_number(self):
        import warnings

        from millrace import _link
        weight = torch.ones(1, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(_link._numbers({"loss": (2 * weight).sum(), "nan": torch.tensor(float("nan")), "rows": 3}),
                             {"loss": 2.0, "nan": "NaN", "rows": 3.0})
        with self.assertRaisesRegex(millrace.MisuseError, "a metric is a number, or a tensor of one"):
            _link._numbers({"loss": torch.ones(2)})

    def test_a_batch_goes_to_a_device(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec) as stream:
            batch = next(iter(stream))
            moved = batch.to("meta")
            self.assertEqual({moved["dense"].device.type, moved["tags"].values.device.type}, {"meta"})
            self.assertEqual((moved.rows, moved.epoch, moved.scale), (64, 0, 1.0))
            batch.record_stream(None)
            with millrace.stream(spec) as whole:
                to_device(whole, None)
                frame = next(iter(whole))
                moved = frame.to("meta")
                self.assertEqual({moved["dense"].device.type, moved["tags"].values.device.type}, {"meta"})
                self.assertEqual(moved["dense"].shape, batch["dense"].shape)
                self.assertTrue(torch.equal(frame._changed(torch.clone).carry["number"], batch.carry["number"]))
            with self.assertRaisesRegex(millrace.MisuseError, 'finds no GPU here.*device="cpu"'):
                millrace.stream(spec, device="cuda")
            self.assertEqual(next(iter(millrace.stream(spec, device="cpu")))["dense"].device.type, "cpu")


class FakeCuda:
    """A device whose copies are made later, by a thread; `wrong` lists accesses to memory that it does not hold."""

    def __init__(self):
        self.pinned, self.most, self.wrong = {}, 0, []
        self.turn, self.queue = threading.Condition(), []
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def register(self, address, size):
        self.pinned[address] = size
        self.most = max(self.most, len(self.pinned))

    def unregister(self, address):
        del self.pinned[address]

    def copy(self, batch):
        address = batch.carry["number"].data_ptr()
        if not any(at <= address < at + size for at, size in self.pinned.items()):
            self.wrong.append("a copy from memory that is not pinned")
        moved = batch.to("cpu")
        moved._made = {index: None for index in moved._made}
        event = threading.Event()
        with self.turn:
            self.queue.append((batch, moved, event))
            self.turn.notify()
        return moved, event

    def run(self):
        while True:
            with self.turn:
                self.turn.wait_for(lambda: self.queue or self.is_over)
                if not self.queue:
                    return
                # The newest copy first: the loop's result does not depend on when a copy is done.
                batch, moved, event = self.queue.pop()
            numbers = batch.carry["number"]
            moved._made = {batch._columns.by_name["number.carry"]: numbers.clone()}
            del batch, numbers
            event.set()

    def is_past(self, event):
        return event.is_set()

    def finish(self, event):
        event.wait(20)

    def hand_over(self, moved, event):
        event.wait(20)


def to_device(stream, device, prefetch=2):
    """Does what `device=` does, for a fake device."""
    stream._cuda, stream._prefetch, stream._asked = device, prefetch, stream._asked._replace(whole=True)


class Devices(Case):
    def test_frames_are_kept_until_their_copies_are_done(self):
        """Runs the code for a GPU with a fake device, without CUDA's own calls."""
        spec = self.spec(total=204800, rows=1024, micro=1024, epochs=1, split=20000)
        with millrace.stream(spec) as stream:
            want = [batch.carry["number"].clone() for batch in stream]
        for prefetch in (0, 2, 5):
            fake = FakeCuda()
            with millrace.stream(spec, prefetch=prefetch) as stream:
                to_device(stream, fake, prefetch)
                got, states = [], []
                for batch in stream:
                    got.append(batch.carry["number"])
                    states.append(stream.state_dict())
            with fake.turn:
                fake.is_over = True
                fake.turn.notify()
            fake.thread.join(20)
            self.assertEqual(len(got), len(want))
            self.assertTrue(all(torch.equal(one, two) for one, two in zip(got, want)))
            self.assertEqual((fake.wrong, fake.pinned), ([], {}))
        with millrace.stream(spec) as stream:
            stream.load_state_dict(states[9])
            self.assertTrue(torch.equal(next(iter(stream)).carry["number"], want[10]))

    def test_memory_that_cannot_be_pinned_is_told(self):
        class Refusing(FakeCuda):
            def register(self, address, size):
                raise millrace.MillraceError("no memory to pin")

            def copy(self, batch):
                event = threading.Event()
                event.set()
                return batch, event
        fake = Refusing()
        with millrace.stream(self.spec()) as stream:
            to_device(stream, fake)
            with self.assertRaisesRegex(millrace.MillraceError, "no memory to pin"):
                next(iter(stream))
        fake.is_over = True
        with fake.turn:
            fake.turn.notify()

    def test_the_mover_is_whole(self):
        self.assertEqual({name for name in vars(_device.Cuda) if not name.startswith("_")},
                         {name for name in vars(FakeCuda) if not name.startswith("_")} - {"run"})


class Loaders(Case):
    def test_a_dataloader_without_workers_reads_it(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec) as stream:
            loader = torch.utils.data.DataLoader(stream, batch_size=None)
            self.assertEqual(sum(batch.rows for batch in loader), 640)

    def test_a_dataloader_reads_an_evaluation(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1, more='eval: {dataset: {where: "number % 5 = 0"}}\n')
        with millrace.stream(spec, part="eval") as rows:
            loader = torch.utils.data.DataLoader(rows, batch_size=None)
            self.assertEqual(len(loader), 2)
            alive = iter(loader)  # as Lightning leaves its sanity check
            next(alive)
            for _ in range(2):
                self.assertEqual(sum(batch.rows for batch in loader), 128)

    def test_a_dataloader_with_workers_is_refused_and_the_parent_goes_on(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec) as stream:
            loop = iter(stream)
            held = next(loop)
            numbers = held.carry["number"].tolist()
            del loop
            loader = torch.utils.data.DataLoader(stream, batch_size=None, num_workers=2)
            with self.assertRaisesRegex(millrace.MisuseError, "num_workers=0"):
                next(iter(loader))
            del loader
            self.assertEqual(held.carry["number"].tolist(), numbers)
            self.assertEqual(1 + sum(1 for _ in stream), 10)


class Checkpoints(Case):
    def test_torch_save_and_dcp_keep_a_state_as_it_is(self):
        import torch.distributed.checkpoint as dcp
        spec = self.spec(total=640, rows=64, micro=16, epochs=1)
        with millrace.stream(spec) as stream:
            loop = iter(stream)
            for _ in range(4):
                next(loop)
            path = os.path.join(self.folder, "state.pt")
            torch.save({"data": stream.state_dict()}, path)
            dcp.save({"data": stream}, checkpoint_id=os.path.join(self.folder, "dcp"), no_dist=True)
            rest = [batch.carry["number"].tolist() for batch in loop]
            whole = stream.order_hash
        with millrace.stream(spec) as stream:
            stream.load_state_dict(torch.load(path)["data"])
            self.assertEqual([batch.carry["number"].tolist() for batch in stream], rest)
            self.assertEqual(stream.order_hash, whole)
        with millrace.stream(spec) as stream:
            dcp.load({"data": stream}, checkpoint_id=os.path.join(self.folder, "dcp"), no_dist=True)
            self.assertEqual([batch.carry["number"].tolist() for batch in stream], rest)


if __name__ == "__main__":
    unittest.main()
