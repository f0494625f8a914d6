#!/usr/bin/env python3
"""The evaluation rows, and evaluations of the user's own models over them: they have the figures of the built-in trainer."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import numpy
from daemon_case import DaemonCase
from harness import BIN, MOVIELENS, ROOT, Case, streamed

import millrace
from millrace import _evaluate, _rows_hash, _scores

EVAL = """
eval: {dataset: {where: "number % 5 = 0"}}
variations:
  - {name: half, set: {dataset.where: "number % 2 = 0"}}
  - {name: sampled, set: {recipe.0.filter: "x is not null and user < 500"}}
"""


def ids_of(rows):
    """File and number of every row, sorted."""
    return sorted(zip(*(numpy.concatenate(column).tolist() for column in zip(*(batch.row_ids for batch in rows)))))


class EvaluationRows(Case):
    def test_they_are_the_same_in_every_variation_and_need_no_training(self):
        spec = self.spec(total=1000, more=EVAL)
        want = [(0, number) for number in range(0, 1000, 5)]
        for variation in (None, "half"):
            with millrace.stream(spec, variation, part="eval", as_numpy=True, copy=True) as rows:
                self.assertEqual(ids_of(rows), want)
                self.assertEqual(ids_of(rows), want)  # a second loop reads from the start
        self.assert_nothing_left(5)

    def test_ranks_share_them_and_none_is_left_out(self):
        spec = self.spec(total=1000, rows=64, micro=16, more=EVAL)
        shares = []
        for rank in range(4):
            with millrace.stream(spec, part="eval", rank=rank, world=4, as_numpy=True, copy=True) as rows:
                self.assertEqual((rows.rank, rows.world), (rank, 4))
                batches = list(rows)
                self.assertEqual(len(batches), 4)  # 200 rows in steps of 64: the last one of 8
                shares += [one for batch in batches for one in batch.carry["number"].tolist()]
        self.assertEqual(sorted(shares), list(range(0, 1000, 5)))

    def test_they_are_the_rows_that_the_command_line_delivers(self):
        spec = self.spec(total=1000, more=EVAL)
        with millrace.stream(spec, part="eval", as_numpy=True) as rows:
            self.assertEqual(sum(batch.rows for batch in rows), streamed(spec, "--data", "eval")["rows_delivered"])

    def test_the_newer_loop_takes_over(self):
        with millrace.stream(self.spec(total=1000, more=EVAL), part="eval", as_numpy=True, copy=True) as rows:
            older = iter(rows)
            first = next(older).carry["number"].tolist()
            newer = iter(rows)
            with self.assertRaisesRegex(millrace.MisuseError, "a newer loop over this evaluation has begun"):
                next(older)
            self.assertEqual(next(newer).carry["number"].tolist(), first)
            self.assertEqual(sum(batch.rows for batch in newer), 200 - len(first))
            self.assertEqual(sum(batch.rows for batch in rows), 200)

    def test_the_length_is_exact(self):
        spec = self.spec(total=1000, rows=64, micro=16, more=EVAL)
        with millrace.stream(spec, part="eval", as_numpy=True) as rows:
            self.assertEqual((len(rows), len(list(rows))), (4, 4))
        with millrace.stream(spec, as_numpy=True) as stream:
            self.assertEqual(len(stream.evaluation()), 4)
        for rank in range(4):
            with millrace.stream(spec, part="eval", join=False, rank=rank, world=4, as_numpy=True) as rows:
                self.assertEqual(len(rows), len(list(rows)), rank)

    def test_rows_without_labels_are_scored(self):
        spec = self.spec(total=1000, more=EVAL)
        today = os.path.join(self.folder, "today.csv")
        with open(today, "w", encoding="utf-8") as file:  # without y, which the label needs
            file.write("number,user,x,tags,word\n" + "".join(f"{n},{n},{n / 8},{n % 9}|{n},w{n}\n" for n in range(100)))
        os.remove(os.path.join(self.folder, "rows.csv"))  # scoring does not need the training rows either
        changes = {"eval.dataset": {"path": "today.csv"}}
        with millrace.stream(spec, part="score", set=changes, as_numpy=True, copy=True) as rows:
            self.assertEqual((rows.part, len(rows)), ("score", 2))
            for _ in range(2):
                batches = list(rows)
                self.assertEqual([n for batch in batches for n in batch.carry["number"].tolist()], list(range(100)))
                self.assertEqual(batches[0].keys(), ["dense", "user", "tags", "number.carry", "word.carry"])
                self.assertEqual((batches[0].labels, batches[0].masks), ({}, {}))
            with self.assertRaisesRegex(millrace.MisuseError, "rows of part=\"score\" have no labels"):
                millrace.evaluate(lambda batch: batch["dense"][:, 0], rows)
        self.assert_nothing_left(5)

    def test_what_is_not_a_probability_is_refused_with_its_row(self):
        spec = self.spec(total=1000, rows=64, micro=64, more=EVAL)
        for wrong, sentence in ((-3.2, "row 70 of the evaluation has -3.2: apply a sigmoid"), (1.01, "has 1.01: apply a sigmoid"),
                                (numpy.nan, "row 70 of the evaluation has nan$"), (-1e-7, None), (1 + 1e-7, None)):
            def predict(batch, wrong=wrong):
                return numpy.where(batch.carry["number"] == 350, wrong, 0.25)
            with self.subTest(wrong), millrace.stream(spec, part="eval", as_numpy=True) as rows:
                if sentence is None:
                    self.assertEqual(millrace.evaluate(predict, rows).rows, 200)
                    continue
                with self.assertRaisesRegex(millrace.MisuseError, "^predictions of liked must be from 0 to 1; .*" + sentence):
                    millrace.evaluate(predict, rows)

    def test_features_of_scored_rows_are_those_of_the_evaluation(self):
        steps = "recipe: [{derive: {gone: y + 1}}, {filter: gone > 0}, {derive: {twice: x * 2}}]"
        with open(self.spec(total=1000, more=EVAL.split("variations")[0]), encoding="utf-8") as file:
            lines = [line for line in file.read().split("recipe:")]
        text = lines[0] + steps + "\n" + lines[1][lines[1].index("labels:"):].replace("dense: [x]", "dense: [twice]")
        text = text.replace('labels: {liked: "y > 0"}\n', "").replace("lists: [tags]", "").replace(", tags: {rows: 256}", "")
        spec = os.path.join(self.folder, "unlabelled.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text)
        with self.assertRaisesRegex(millrace.SpecError, "labels is missing"):
            next(iter(millrace.stream(spec, part="eval", as_numpy=True)))
        with millrace.stream(spec, part="score", as_numpy=True, copy=True) as rows:
            numbers = [n for batch in rows for n in batch.carry["number"].tolist()]
            self.assertEqual(numbers, list(range(0, 1000, 5)))
            self.assertEqual([x for batch in rows for x in batch["dense"][:, 0].tolist()], [n / 4 for n in numbers])

    def test_misuse_is_a_sentence(self):
        with self.assertRaisesRegex(millrace.SpecError, "eval.dataset is missing: it names rows"):
            next(iter(millrace.stream(self.spec(), part="score", as_numpy=True)))
        with self.assertRaisesRegex(millrace.SpecError, "has no eval section"):
            with millrace.stream(self.spec(), part="eval", as_numpy=True) as rows:
                next(iter(rows))
        with self.assertRaisesRegex(millrace.MisuseError, "part='test'"):
            millrace.stream(self.spec(), part="test")
        rows = millrace.stream(self.spec(more=EVAL), part="eval", as_numpy=True)
        rows.close()
        rows.close()
        with self.assertRaisesRegex(millrace.MisuseError, "closed"):
            iter(rows)


class Hashes(unittest.TestCase):
    # tests/unit/core/row_hash_test.cpp has the same figures.
    def test_a_rows_key_is_what_is_written_down(self):
        keys = _rows_hash.keys(numpy.array([0, 0, 1, 3], numpy.uint32), numpy.array([0, 1, 0, 2**40 + 5], numpy.uint64))
        self.assertEqual([hex(key) for key in keys.tolist()],
                         ["0x48218226ff3cd4bf", "0xdce423fc82c0d5b8", "0xa706dd2f4d197e6f", "0x25581b8cb1872854"])

    def test_the_sum_hangs_on_no_order_and_adds_up(self):
        keys = _rows_hash.keys(numpy.repeat(numpy.arange(3, dtype=numpy.uint32), 100), numpy.tile(numpy.arange(100), 3))
        self.assertEqual(_rows_hash.text(_rows_hash.total(keys)), "76dd9468b21c921478d579ba788539db")
        self.assertEqual(_rows_hash.total(keys[::-1].copy()), _rows_hash.total(keys))
        self.assertEqual(_rows_hash.total(keys[:7]) + _rows_hash.total(keys[7:]), _rows_hash.total(keys))


class Reckoned(unittest.TestCase):
    def test_auc_counts_equal_scores_half(self):
        draw = numpy.random.default_rng(1)
        scores, positive = draw.integers(0, 20, 300) / 20, draw.random(300) < 0.4
        pairs = scores[positive][:, None] - scores[~positive][None, :]
        self.assertAlmostEqual(_evaluate.exact_auc(scores, positive), ((pairs > 0) + (pairs == 0) / 2).mean(), places=14)

    def test_what_cannot_be_told_is_not_a_number(self):
        labels = numpy.array([0.0, 1.0, 1.0])
        told = _evaluate.head_figures("liked", numpy.array([0.1, numpy.nan, 0.9]), labels, 2)
        self.assertTrue(numpy.isnan(told["auc"]) and numpy.isnan(told["log_loss"]))
        self.assertEqual((told["rows"], told["positives"], told["rows_without_label"]), (3, 2, 2))
        with self.assertRaisesRegex(millrace.SpecError, "label 'liked' is 1 in all 3 rows"):
            _evaluate.head_figures("liked", labels, numpy.ones(3), 0)
        with self.assertRaisesRegex(millrace.SpecError, "no row with a label of head 'liked'"):
            _evaluate.head_figures("liked", labels[:0], labels[:0], 0)


class Mean:
    """target_mean of docs/reference/models.md, for one key: trained on a stream, then a callable."""

    def __init__(self, spec, variation, key, smoothing):
        sums, weights = {}, {}
        total = count = 0.0
        with millrace.stream(spec, variation, last="keep", as_numpy=True) as rows:
            for batch in rows:
                for user, label in zip(batch[key].tolist(), batch["liked"].tolist()):
                    sums[user], weights[user] = sums.get(user, 0.0) + label, weights.get(user, 0.0) + 1
                    total, count = total + label, count + 1
        self.key, self.mean = key, total / count
        self.shifts = {user: (sums[user] + smoothing * self.mean) / (weights[user] + smoothing) - self.mean for user in sums}

    def __call__(self, batch):
        shift = numpy.array([self.shifts.get(user, 0.0) for user in batch[self.key].tolist()])
        return numpy.clip(self.mean + shift, 1e-6, 1 - 1e-6)


class Evaluated(DaemonCase):
    """Compares evaluations with a run of the built-in model."""

    def setUp(self):
        super().setUp()
        folder = os.path.join(self.folder, "movielens")
        shutil.copytree(os.path.dirname(MOVIELENS), folder)
        self.path = os.path.join(folder, "movielens.yaml")

    def test_a_model_of_ones_own_has_the_figures_of_the_same_one_built_in(self):
        client = millrace.Client()
        run, = client.wait(client.launch(self.path, "movie-mean"))
        predict = Mean(self.path, "movie-mean", "movieId", 5)
        figures = millrace.evaluate(predict, self.path, as_numpy=True)
        self.assertEqual(figures.hash, run.evaluation_hash)
        self.assertEqual(figures.rows, figures["eval.rows"] + figures["eval.rows_without_label"])
        named = {name for name in run.metrics if name.startswith("eval.")}
        self.assertLessEqual(named, set(figures))
        self.assertEqual(figures["eval.auc"], run.metrics["eval.auc"])
        self.assertEqual(figures["eval.rows"], run.metrics["eval.rows"])
        for name in named:
            self.assertAlmostEqual(figures[name], run.metrics[name], places=12, msg=name)
        # The figures depend neither on micro-batches nor on the variation.
        other = millrace.evaluate(predict, self.path, "keep-30", {"batch.micro_rows": 64, "batch.rows": 128}, as_numpy=True)
        self.assertEqual((dict(other), other.hash), (dict(figures), figures.hash))

    def pair(self, *folders):
        """The loader's comparison of scores in these folders."""
        question = {"op": "pair", "runs": [{"id": str(i), "directory": folder} for i, folder in enumerate(folders)]}
        done = subprocess.run([os.path.join(BIN, "millrace-loader"), "inspect"], input=json.dumps(question), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["pairs"]

    def test_runs_and_models_of_ones_own_are_paired_row_by_row(self):
        client = millrace.Client()
        movie, both = client.wait(client.launch(self.path, ["movie-mean", "movie-user-mean"]))
        paired = client.compare(movie, both).paired[both.id]
        self.assertEqual((paired["rows"], paired["share"], paired["is_sample"]), (20133, 1, False))
        liked = paired["heads"]["liked"]
        self.assertEqual((liked["rows"], liked["rows_of_other_labels"]), (20133, 0))
        self.assertAlmostEqual(liked["log_loss_difference"], liked["log_loss"] - liked["log_loss_of_first"], places=12)
        self.assertIn(f"{both.id} against {movie.id}, on the 20,133 rows that both scored (100 %)",
                      self.cli("compare", movie.id, both.id))
        # The same model, computed here.
        predict = Mean(self.path, "movie-mean", "movieId", 5)
        own = os.path.join(self.folder, "own")
        os.mkdir(own)
        with millrace.stream(self.path, part="eval", as_numpy=True) as rows:
            share = _evaluate._read(predict, rows)
        _scores.write(own, 2, 7, "0" * 32, *_scores.joined([share]))
        self.assertEqual(os.listdir(own), ["scores-7.a2.zst"])
        self.assertEqual(self.pair(os.path.join(client.show(movie).directory, "checkpoints"), own)[0]["heads"][0]["log_loss_difference"], 0)
        self.assertEqual(self.pair(own, self.folder), [{"run": "1", "has_scores": False, "problem": "", "without": ["1"]}])
        with open(os.path.join(own, "scores-7.a2.zst"), "r+b") as file:
            file.truncate(1000)
        self.assertIn("scores-7.a2.zst: ", self.pair(os.path.join(client.show(movie).directory, "checkpoints"), own)[0]["problem"])

    def test_a_stream_serves_it_while_it_is_read(self):
        with millrace.stream(self.path, as_numpy=True) as rows:
            loop = iter(rows)
            next(loop)
            figures = millrace.evaluate(lambda batch: {"liked": numpy.full(batch.rows, 0.4)}, rows)
            next(loop)
            self.assertEqual(figures["eval.auc"], 0.5)
            again = millrace.evaluate(lambda batch: numpy.full((batch.rows, 1), 0.4), rows.evaluation())
            self.assertEqual((dict(again), again.hash), (dict(figures), figures.hash))
        with self.assertRaisesRegex(millrace.MisuseError, "closed"):
            millrace.evaluate(lambda batch: None, rows)

    def test_misuse_is_a_sentence(self):
        with self.assertRaisesRegex(millrace.MisuseError, "no run started this script"):
            millrace.evaluate(lambda batch: None)
        with self.assertRaisesRegex(millrace.MisuseError, "gave 3 scores of liked for 512 rows"):
            millrace.evaluate(lambda batch: numpy.zeros(3), self.path, as_numpy=True)
        with self.assertRaisesRegex(millrace.MisuseError, "gave no scores of liked"):
            millrace.evaluate(lambda batch: {}, self.path, as_numpy=True)
        with self.assertRaisesRegex(ZeroDivisionError, "by zero"):
            millrace.evaluate(lambda batch: 1 // 0, self.path, as_numpy=True)
        self.assert_no_feed()

    def assert_no_feed(self):
        self.assertEqual([command for _, command in self.ours() if " feed " in command], [])


class Exact(Case):
    def test_the_script_of_why_exact_loses_nothing(self):
        script = os.path.join(ROOT, "resources/examples/pytorch/exact.py")
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^millrace, 2-4-1 ranks +0 lost +0 twice +order same\n$")


if __name__ == "__main__":
    unittest.main()
