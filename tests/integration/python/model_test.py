#!/usr/bin/env python3
"""Trained runs of the built-in trainer as torch modules: Python computes the figures that the runs reported."""
import copy
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
from millrace import _modules

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

    def test_other_features_are_refused_and_named(self):
        run = self.trained(**{"train.max_steps": 10})
        model = millrace.load_model(run)

        def evaluated(changes, own=model):
            return millrace.evaluate(own.probabilities, MOVIELENS, set=changes)

        right = evaluated({})
        swapped = ["age_years", "rated_year", "is_new"]
        for changes, why in (
                ({"features.dense": swapped}, "dense feature 1 of 3 is 'rated_year' in the model and 'age_years' in the stream"),
                ({"features.dense": swapped[1:]}, "dense feature 2 of 3 is 'age_years' in the model and 'is_new' in the stream"),
                ({"features.dense": ["rated_year", "year", "is_new"]}, "dense feature 2 of 3 is 'age_years' .* and 'year' in"),
                ({"features.dense": ["rated_year", "age_years", "is_new", "year"]},
                 "dense feature 4 of 4 is not there in the model and 'year' in the stream"),
                ({"embeddings.userId.rows": 1024}, "id feature 'userId' has a table of 8,192 rows in .* and a table of 1,024 rows"),
                ({"features.ids": ["movieId"]}, "id feature 'userId' is not there"),
                ({"recipe.derive.age_years": "year - 1970"},
                 r"dense feature 'age_years' comes from `derive: \{age_years: .*/.*\}` in the model and from "
                 r"`derive: \{age_years: .*year - 1970.*\}` in the stream")):
            with self.assertRaisesRegex(millrace.SpecError, why + ".*; read the rows with the spec of the model's run"):
                evaluated(changes)
        # The caller decides which rows there are and what they weigh.
        other = evaluated({"eval.dataset.where": "rating <= 3 or rating > 4", "recipe.sample.keep": 0.5})
        self.assertNotEqual(other.hash, right.hash)
        trusting = millrace.load_model(run, check_features=False)
        self.assertNotEqual(evaluated({"features.dense": swapped}, trusting)["eval.auc"], right["eval.auc"])
        # Features are checked for both streams of a process.
        with millrace.stream(MOVIELENS) as good, millrace.stream(MOVIELENS, set={"features.dense": swapped}) as bad:
            for _ in range(2):
                self.assertEqual(model(next(iter(good))).shape[1], 1)
                with self.assertRaises(millrace.SpecError):
                    model(next(iter(bad)))

    def test_a_damaged_checkpoint_is_refused(self):
        run = self.trained(**{"train.max_steps": 10})
        path = run.checkpoints[-1].path
        with open(path, "rb") as file:
            whole = bytearray(file.read())
        length, = struct.unpack("<Q", whole[:8])
        header = json.loads(whole[8:8 + length])
        places = {"top.0.weight": "the values of tensor top.0.weight do not fit their checksum",
                  "optimizer.top.0.weight.first": "the values of tensor optimizer.top.0.weight.first do not fit"}
        for name, why in places.items():
            damaged = bytearray(whole)
            damaged[8 + length + header[name]["data_offsets"][0] + 3] ^= 0x40
            self.assert_damaged(damaged, why)
        self.assert_damaged(whole[:-1], "is cut short")
        self.assert_damaged(whole + b"1", "has 1 bytes behind its last tensor")
        step = whole.index(b'"step":"10"')
        self.assert_damaged(whole[:step] + b'"step":"11"' + whole[step + 11:], "its checksum does not fit its header")

    def assert_damaged(self, content, why):
        path = os.path.join(self.folder, "step-00000010.a1.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        with self.assertRaisesRegex(millrace.MillraceError, f"^checkpoint {path}: ({why}).*; it cannot be used$"):
            millrace.load_model(path)

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

    def test_ids_may_be_named_with_dots_or_like_a_method(self):
        names = ("a", "a.b", "type", "forward", "user.id", "weight")
        with open(os.path.join(self.folder, "rows.csv"), "w", encoding="utf-8") as file:
            file.write(",".join(("number", "y", *names)) + "\n")
            for n in range(2000):
                file.write(",".join(map(str, (n, n * 7 % 3 % 2, *((n * k) % 11 for k in range(1, 1 + len(names)))))) + "\n")
        spec = os.path.join(self.folder, "names.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(f"name: names\ndataset: {{path: rows.csv}}\nlabels: {{y: y}}\nfeatures: {{dense: [number], ids: [{', '.join(names)}]}}\n"
                       f"embeddings: {{{', '.join(f'{name}: {{rows: 16}}' for name in names)}}}\n"
                       "batch: {rows: 64, micro_rows: 32, epochs: 1, seed: 1}\n"
                       "model: {type: mlp, embedding_dim: 4, hidden: [8]}\n"
                       "eval: {dataset: {where: \"number % 5 = 0\"}}\n")
        model = self.assert_same_figures(self.trained(spec, **{"train.max_steps": 20}), spec)
        self.assertEqual([name for name, _ in model.embedding.named_parameters()], sorted(f"{name}.weight" for name in names))
        copy.deepcopy(model).load_state_dict(model.state_dict())
        with self.assertRaisesRegex(RuntimeError, r"embedding\.a\.b\.weight"):
            model.load_state_dict({name: one for name, one in model.state_dict().items() if name != "embedding.a.b.weight"})

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
        # No evaluation improves by 10, so the first one stays the best.
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

    def write(self, content, name="step-00000001.a1.safetensors"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def refused(self, path, why):
        with self.assertRaisesRegex(millrace.MillraceError, why):
            millrace.load_model(path)

    def test_what_is_no_model_is_refused_with_a_sentence(self):
        self.refused(os.path.join(self.folder, "none.safetensors"), "none.safetensors cannot be read: .*No such file")
        header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode() + b" " * 64
        self.refused(self.write(struct.pack("<Q", len(header)) + header + b"1234"), "does not begin like a checkpoint")
        self.refused(self.write(b""), r"is not a checkpoint \(0 bytes\)")

    def test_facts_that_make_no_model_are_said(self):
        facts = {"type": "mlp", "heads": ["y"], "features": [], "dense": [], "vectors": [], "embedding_dim": 4, "inputs": []}
        with self.assertRaisesRegex(millrace.MillraceError, "checkpoint here is of a model 'oracle', which this version"):
            _modules.build({**facts, "type": "oracle"}, {}, "here")
        with self.assertRaisesRegex(millrace.MillraceError, "its tensors do not make the model that it names"):
            _modules.build(facts, {"elsewhere": torch.zeros(2)}, "here")


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
