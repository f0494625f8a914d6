#!/usr/bin/env python3
"""The stream in Lightning, Accelerate and torchrec as they are published.

Lightning and Accelerate come from packaging/framework-deps.lock. torchrec does not belong to the set-up: PYTORCH_FRAMEWORKS names a
folder into which it was installed. Tests of a missing package are skipped. To install torchrec for torch 2.11:

    pip install --no-deps --target FOLDER torchrec==1.6.* fbgemm-gpu-cpu==1.6.* tensordict pyre-extensions iopath portalocker \\
        typing-inspect mypy-extensions orjson cloudpickle pyvers importlib_metadata zipp
"""
import importlib.util
import os
import sys
import unittest

import torch
from harness import FRAMEWORKS, Case, streamed

TORCHREC = os.environ.get("PYTORCH_FRAMEWORKS", "")
sys.path += [FRAMEWORKS, TORCHREC]

import millrace  # noqa: E402


def needs(package):
    """Decorator of a test: skips it if the package is missing."""
    return unittest.skipUnless(importlib.util.find_spec(package), f"no {package} in {FRAMEWORKS}, nor in PYTORCH_FRAMEWORKS ({TORCHREC or 'not set'})")


def net(width=1):
    torch.manual_seed(0)
    return torch.nn.Linear(width, 1)


def loss_of(model, batch):
    return torch.nn.functional.binary_cross_entropy_with_logits(model(batch["dense"]).squeeze(1), batch["liked"])


class FrameworksSoak(Case):
    @needs("lightning")
    def test_lightning_trains_on_the_stream_as_its_loader(self):
        import lightning

        spec, seen = self.spec(total=2000, rows=64, micro=64, epochs=2), []

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = net()

            def training_step(self, batch, index):
                seen.append(batch.rows)
                return loss_of(self.net, batch)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        with millrace.stream(spec) as stream:
            trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                                        enable_progress_bar=False, enable_model_summary=False, default_root_dir=self.folder)
            trainer.fit(Module(), train_dataloaders=stream)
            self.assertEqual(trainer.global_step, len(stream))
            self.assertEqual(stream.order_hash, streamed(spec, "--last", "drop")["order_hash"])
        self.assertEqual(len(seen), trainer.global_step)

    @needs("accelerate")
    def test_accelerate_prepares_model_and_optimizer(self):
        from accelerate import Accelerator

        spec = self.spec(total=2000, rows=64, micro=64, epochs=2)
        accelerator = Accelerator(cpu=True)
        model = net()
        model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))
        before = [one.detach().clone() for one in model.parameters()]
        with millrace.stream(spec) as stream:
            for batch in stream:
                accelerator.backward(loss_of(model, batch.to(accelerator.device)))
                optimizer.step()
                optimizer.zero_grad()
            self.assertEqual(stream.order_hash, streamed(spec, "--last", "drop")["order_hash"])
        self.assertFalse(all(torch.equal(one, two) for one, two in zip(before, model.parameters())))

    @needs("torchrec")
    def test_torchrec_takes_a_batch(self):
        from torchrec import EmbeddingBagCollection, EmbeddingBagConfig
        from torchrec.sparse.jagged_tensor import KeyedJaggedTensor
        from torchrec.streamable import Pipelineable

        spec = self.spec(total=2000, rows=64, micro=64, epochs=1)
        tables = [EmbeddingBagConfig(name=name, embedding_dim=4, num_embeddings=rows, feature_names=[name])
                  for name, rows in (("user", 1024), ("tags", 256))]
        torch.manual_seed(0)
        bags = EmbeddingBagCollection(tables=tables, device=torch.device("cpu"))
        with millrace.stream(spec) as stream:
            for batch in stream:
                kjt = batch.kjt()
                self.assertIsInstance(kjt, KeyedJaggedTensor)
                self.assertIsInstance(batch, Pipelineable)
                self.assertEqual(kjt.keys(), ["user", "tags"])
                self.assertEqual(kjt["user"].values().tolist(), batch["user"].tolist())
                self.assertEqual([one.tolist() for one in kjt["tags"].to_dense()], batch["tags"].to_list())
                pooled = bags(kjt)
                want = bags.embedding_bags["user"].weight[batch["user"]]
                self.assertTrue(torch.allclose(pooled["user"], want))

    @needs("torchrec")
    def test_torchrec_takes_lists_that_rows_share(self):
        from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

        spec = self.spec(total=1000, rows=64, micro=64, epochs=1)
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text.replace("features:\n", "features:\n  request: user\n").replace("shuffle: rows", "shuffle: requests"))
        with millrace.stream(spec) as stream:
            for batch in stream:
                kjt = batch.kjt()
                self.assertIsInstance(kjt, KeyedJaggedTensor)
                keys, inverse = kjt.inverse_indices()
                self.assertEqual(list(keys), ["user", "tags"])
                lists = kjt["tags"].to_dense()
                self.assertEqual([lists[row].tolist() for row in inverse[1]], batch["tags"].expand().to_list())


if __name__ == "__main__":
    unittest.main()
