#!/usr/bin/env python3
"""What runs of the built-in trainer have learnt, as torch modules: the figures that the runs reported, from Python."""
import glob
import json
import os
import struct
import sys
import unittest

import torch
from daemon_case import DaemonCase
from harness import DEPS, MOVIELENS

import millrace

STEPS = {"train.max_steps": 60, "train.checkpoint.every_steps": 30, "eval.every_steps": 0}
FIGURES = ("eval.auc", "eval.log_loss", "eval.normalized_entropy", "eval.calibration")


class Model(DaemonCase):
    def trained(self, spec=MOVIELENS, **changes):
        """A run that has ended, and its client."""
        client = millrace.Client()
        run = client.launch(spec, set={**STEPS, "eval.metrics": ["auc", "log_loss", "normalized_entropy", "calibration"],
                                       **changes})
        return client.show(client.wait(run, timeout=150)[0])

    def assert_same_figures(self, run, spec=MOVIELENS, **changes):
        model = millrace.load_model(run.id)
        self.assertEqual(model.step, run.progress.step)
        figures = millrace.evaluate(model.probabilities, spec, set=changes)
        for name in FIGURES:
            self.assertAlmostEqual(figures[name], run.metrics[name], delta=1e-6, msg=name)
        self.assertEqual(figures.hash, run.evaluation_hash)
        return model

    def test_a_dlrm_has_the_figures_that_its_run_reported(self):
        run = self.trained()
        model = self.assert_same_figures(run)
        self.assertEqual((model.kind, model.heads), ("dlrm", ["liked"]))
        self.assertEqual([one.step for one in run.checkpoints], [30, 60])
        before = millrace.load_model(run, step=30)
        self.assertEqual(before.step, 30)
        self.assertFalse(torch.equal(before.top[0].weight, model.top[0].weight))
        by_path = millrace.load_model(run.checkpoints[0].path)
        for name, tensor in before.state_dict().items():
            self.assertTrue(torch.equal(tensor, by_path.state_dict()[name]), name)
        with self.assertRaisesRegex(millrace.MillraceError, f"run {run.id} has no checkpoint of step 7; .* 30, 60"):
            millrace.load_model(run, step=7)

    def test_it_can_be_trained_on(self):
        run = self.trained(**{"train.max_steps": 30})
        model = millrace.load_model(run)
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
        losses = []
        with millrace.stream(MOVIELENS) as stream:
            for batch in stream:
                logits = model(batch)
                self.assertEqual(tuple(logits.shape), (batch.rows, 1))
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], batch["liked"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                if len(losses) == 60:
                    break
        self.assertLess(sum(losses[-20:]), sum(losses[:20]))
        self.assertTrue(all(p.grad is not None for p in model.parameters()))

    def test_an_mlp_of_two_heads_with_lists_that_rows_share(self):
        spec = self.spec(total=3000, rows=128, micro=64, epochs=1, more="""
model: {type: mlp, embedding_dim: 4, hidden: [8]}
train: {optimizer: adagrad, learning_rate: 0.05}
eval: {dataset: {where: "number % 5 = 0"}}
""")
        with open(os.path.join(self.folder, "rows.csv"), "w", encoding="utf-8") as file:
            file.write("number,user,x,y,tags,word\n")
            for n in range(3000):
                tags = "|".join(str((n // 6 * 7 + k) % 200) for k in range(n // 6 % 4))
                file.write(f"{n},{n // 6},{n / 8},{n % 3 - 1},{tags},w\n")
        changes = {"labels.tall": "x > 100", "features.request": "user"}
        with millrace.stream(spec, set=changes) as stream:
            self.assertIsNotNone(next(iter(stream))["tags"].inverse)
        run = self.trained(spec, **{**changes, "train.max_steps": 15})
        model = self.assert_same_figures(run, spec, **changes)
        self.assertEqual(sorted(model.heads), ["liked", "tall"])

    def test_weighted_lists_and_vectors_enter_as_in_training(self):
        import pyarrow
        import pyarrow.parquet
        rows = range(2000)
        words = [[(n * 5 + k) % 60 for k in range(n % 4)] for n in rows]
        pyarrow.parquet.write_table(pyarrow.table({
            "number": list(rows), "y": [n * 7 % 3 == 0 for n in rows], "x": [float(n % 50) if n % 9 else None for n in rows],
            "v": pyarrow.array([[n % 5 / 2, float(n % 11)] for n in rows], pyarrow.list_(pyarrow.float32(), 2)),
            "words": words, "w": [[(k - 1) / 2 for k in range(len(one))] for one in words]}),
            os.path.join(self.folder, "rows.parquet"))
        spec = os.path.join(self.folder, "weighted.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write("name: weighted\ndataset: {path: rows.parquet}\nlabels: {y: y}\n"
                       "features: {dense: [x], vectors: [v], lists: [words], weighted: [{name: weighed, ids: words, weights: w}]}\n"
                       "embeddings: {words: {rows: 64, features: [words, weighed]}}\n"
                       "batch: {rows: 64, micro_rows: 32, epochs: 1, seed: 1}\n"
                       "model: {type: dlrm, embedding_dim: 4, bottom: [4], top: [8, 1]}\n"
                       "eval: {dataset: {where: \"number % 5 = 0\"}}\n")
        model = self.assert_same_figures(self.trained(spec, **{"train.max_steps": 20}), spec)
        self.assertEqual(tuple(model.input.mean.shape), (3,))

    def test_crosses_and_a_weight_an_id_have_the_figures_that_their_runs_reported(self):
        for changes in ({"model": {"type": "dcn_v2", "hidden": [16], "cross_layers": 2, "cross_rank": 3, "embedding_dim": 8}},
                        {"model": {"type": "dcn_v2", "hidden": [16], "cross_layers": 1, "embedding_dim": 8}},
                        {"model": {"type": "logistic", "embedding_dim": 1}}):
            self.assert_same_figures(self.trained(**changes), **changes)

    def test_two_ranks_train_on_the_rows_of_one(self):
        one, two = self.trained(), self.trained(**{"train.ranks": 2})
        self.assertEqual(two.receipt["order_hash"], one.receipt["order_hash"])
        self.assertEqual(two.evaluation_hash, one.evaluation_hash)
        self.assertEqual((two.progress.step, two.rows_trained), (one.progress.step, one.rows_trained))
        for name in FIGURES:
            self.assertAlmostEqual(two.metrics[name], one.metrics[name], delta=1e-4, msg=name)
        self.assert_same_figures(two)
        again = self.trained(**{"train.ranks": 2})
        self.assertEqual([two.metrics[name] for name in FIGURES], [again.metrics[name] for name in FIGURES])

    def test_a_run_that_learns_no_more_ends_early_and_its_best_stays(self):
        # Nothing is better by so much: the first evaluation stays the best one.
        stop = {"patience": 2, "min_delta": 10}
        run = self.trained(**{"train.max_steps": 200, "train.early_stop": stop, "eval.every_steps": 20,
                              "train.checkpoint": {"every_steps": 10, "keep": 1}})
        self.assertEqual((run.state, run.progress.step), ("finished", 60))
        self.assertRegex(run.exit_reason, "stopped early: 2 evaluations were no better than eval.normalized_entropy .* of step 20")
        self.assertEqual([one.step for one in run.checkpoints], [60])
        best, last = millrace.load_model(run, best=True), millrace.load_model(run)
        self.assertEqual((best.step, last.step), (20, 60))
        self.assertFalse(torch.equal(best.top[0].weight, last.top[0].weight))
        with self.assertRaisesRegex(millrace.MillraceError, "runs with train.early_stop keep one"):
            millrace.load_model(self.trained(**{"train.max_steps": 10}), best=True)

    def test_a_baseline_has_the_figures_that_its_run_reported(self):
        changes = {"model": {"type": "target_mean", "keys": ["movieId", "userId"], "smoothing": 5}, "batch.epochs": 1}
        self.assert_same_figures(self.trained(**changes), **changes)

    def test_numpy_batches_give_the_same(self):
        model = millrace.load_model(self.trained(**{"train.max_steps": 30}))
        with torch.no_grad():
            said = []
            for as_numpy in (False, True):
                with millrace.stream(MOVIELENS, as_numpy=as_numpy) as stream:
                    said.append(model(next(iter(stream))))
        self.assertTrue(torch.equal(*said))


class Files(unittest.TestCase):
    def setUp(self):
        import tempfile
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, header, values=b"", name="step-00000001.a1.safetensors"):
        path = os.path.join(self.folder, name)
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + values)
        return path

    def refused(self, path, why):
        with self.assertRaisesRegex(millrace.MillraceError, why):
            millrace.load_model(path)

    def test_what_is_no_model_is_refused_with_a_sentence(self):
        self.refused(os.path.join(self.folder, "none.safetensors"), "none.safetensors cannot be read: .*No such file")
        self.refused(os.path.join(self.folder, "step-00000001.a1.ckpt"), "of format 1 .*, which does not say")
        self.refused(self.write({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"1234"),
                     "no checkpoint of Millrace")
        facts = {"format": "millrace-checkpoint-2", "step": "1", "weights": "[]"}
        self.refused(self.write({"__metadata__": facts}), "does not say of which model")
        facts["module"] = json.dumps({"type": "oracle"})
        self.refused(self.write({"__metadata__": facts}), "of a model 'oracle', which this version")
        facts["module"] = json.dumps({"type": "mlp", "heads": ["y"], "features": [], "dense": [], "vectors": [],
                                      "embedding_dim": 4})
        facts["weights"] = json.dumps(["elsewhere"])
        entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
        self.refused(self.write({"__metadata__": facts, "elsewhere": entry}, b"1234"), "it is cut short")
        self.refused(self.write({"__metadata__": facts, "elsewhere": entry}, b"12345678"), "do not make the model")


class Safetensors(DaemonCase):
    @unittest.skipUnless(glob.glob(os.path.join(DEPS, "test-wheels", "safetensors")),
                         "the wheels of packaging/test-deps.lock are not there: packaging/setup --tests")
    def test_the_package_opens_a_checkpoint_as_it_is(self):
        sys.path.append(os.path.join(DEPS, "test-wheels"))
        self.addCleanup(sys.path.remove, os.path.join(DEPS, "test-wheels"))
        import safetensors.torch
        client = millrace.Client()
        run = client.wait(client.launch(MOVIELENS, set={**STEPS, "train.max_steps": 10}), timeout=150)[0]
        model = millrace.load_model(run)
        path = client.show(run).checkpoints[0].path
        tensors = safetensors.torch.load_file(path)
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, tensors[name]), name)
        self.assertEqual(tensors["optimizer.updates"].tolist(), [10])
        with safetensors.safe_open(path, "pt") as file:
            facts = file.metadata()
        self.assertEqual((facts["format"], facts["step"]), ("millrace-checkpoint-2", "10"))
        self.assertEqual(json.loads(facts["identity"])["run"], run.id)
        self.assertIn("cursor", json.loads(facts["state"]))


if __name__ == "__main__":
    unittest.main()
