#!/usr/bin/env python3
"""A stream with NumPy: its rows, its order, its states, its properties."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import numpy
from harness import Case, MOVIELENS, streamed, write_dataset

import millrace


def ids_of(batch):
    """The rows' numbers as a list of ints."""
    return batch.carry["number"].tolist()


class Steps(Case):
    def test_rows_of_all_steps_are_the_sequence(self):
        spec = self.spec(total=1000, rows=64, micro=16, epochs=2)
        told = streamed(spec, "--last", "drop")
        with millrace.stream(spec, as_numpy=True) as stream:
            batches = [(batch.epoch, batch.rows, batch.step_rows, batch.scale, ids_of(batch)) for batch in stream]
            self.assertEqual(stream.order_hash, told["order_hash"])
            self.assertEqual(stream.rows_delivered, told["rows_delivered"])
            self.assertEqual(stream.rows_left_out, 2 * (1000 % 64))
        self.assertEqual(len(batches), 2 * (1000 // 64))
        self.assertEqual({b[1:4] for b in batches}, {(64, 64, 1.0)})
        for epoch in (0, 1):
            ids = [n for b in batches if b[0] == epoch for n in b[4]]
            self.assertEqual(len(set(ids)), 1000 // 64 * 64)
        self.assert_nothing_left()

    def test_keep_delivers_the_partial_step(self):
        spec = self.spec(total=1000, rows=64, micro=16, epochs=2)
        with millrace.stream(spec, last="keep", as_numpy=True) as stream:
            rows = [batch.rows for batch in stream]
            self.assertEqual(rows, 2 * ([64] * 15 + [40]))
            self.assertEqual(stream.order_hash, streamed(spec)["order_hash"])
            self.assertEqual(stream.rows_left_out, 0)

    def test_not_joined_steps_come_as_micro_batches(self):
        spec = self.spec(total=1000, rows=64, micro=16, epochs=1)
        with millrace.stream(spec, join=False, as_numpy=True) as stream:
            ids = []
            for batch in stream:
                self.assertEqual(batch.rows, 16)
                ids += ids_of(batch)
            self.assertEqual(stream.order_hash, streamed(spec, "--last", "drop")["order_hash"])
        with millrace.stream(spec, as_numpy=True) as stream:
            self.assertEqual(ids, [n for batch in stream for n in ids_of(batch)])

    def test_columns_hold_what_the_files_say(self):
        spec = self.spec(total=200, rows=64, micro=64, epochs=1)
        with millrace.stream(spec, as_numpy=True) as stream:
            for batch in stream:
                ids = numpy.array(ids_of(batch))
                self.assertEqual(batch["dense"].shape, (64, 1))
                numpy.testing.assert_array_equal(batch["dense"][:, 0], (ids / 8).astype(numpy.float32))
                numpy.testing.assert_array_equal(batch["liked"], (ids % 3 == 2).astype(numpy.float32))
                numpy.testing.assert_array_equal(batch.labels["liked"], batch["liked"])
                numpy.testing.assert_array_equal(batch.weights["liked"], numpy.ones(64, numpy.float32))
                numpy.testing.assert_array_equal(batch.masks["liked"], numpy.ones(64, numpy.uint8))
                self.assertEqual(batch["tags"].lengths.tolist(), (ids % 4).tolist())
                self.assertEqual(batch.carry["word"].to_list(), [f"w{n}" for n in ids])
                self.assertEqual(len(batch["tags"]), 64)
                self.assertEqual(len(batch["tags"][3]), ids[3] % 4)
                files, rows = batch.row_ids
                self.assertEqual(rows.tolist(), ids.tolist())
                self.assertEqual(set(files.tolist()), {0})
                self.assertEqual(set(batch), {"dense", "user", "tags", "liked", "number.carry", "word.carry"})
                self.assertIn("user", batch)
                with self.assertRaisesRegex(KeyError, "nothing.*dense, user, tags, liked"):
                    batch["nothing"]
            roles = {column["name"]: column["role"] for column in stream.schema if column["role"] not in ("weight", "mask")}
            self.assertEqual({roles[name] for name in ("dense", "user", "tags", "liked", "word")},
                             {"dense", "id", "list", "label", "carry"})

    def test_changes_and_variations_reach_the_feed(self):
        with millrace.stream(MOVIELENS, "since-1990", {"batch.epochs": 1}, as_numpy=True) as stream:
            steps = sum(1 for _ in stream)
            told = streamed(MOVIELENS, "--variation", "since-1990", "--set", "batch.epochs=1", "--last", "drop")
            self.assertEqual(stream.order_hash, told["order_hash"])
            self.assertEqual(steps, told["rows_delivered"] // 512)

    def test_two_streams_in_one_process(self):
        spec = self.spec(total=400, rows=32, micro=32, epochs=1)
        with millrace.stream(spec, as_numpy=True) as one, millrace.stream(spec, as_numpy=True) as two:
            for left, right in zip(one, two):
                self.assertEqual(ids_of(left), ids_of(right))
            self.assertEqual(one.order_hash, two.order_hash)

    def test_evaluation_rows_are_read_whole_each_time(self):
        with millrace.stream(MOVIELENS, set={"batch.epochs": 1}, as_numpy=True) as stream:
            next(iter(stream))
            evaluation = stream.evaluation()
            self.assertEqual(sum(batch.rows for batch in evaluation), 20133)
            self.assertEqual(sum(batch.rows for batch in evaluation), 20133)
            self.assertEqual(sum(1 for _ in stream), 80703 // 512 - 1)
            with self.assertRaisesRegex(millrace.MisuseError, "no cursor"):
                next(iter(evaluation)).cursor

    def test_texts_reach_the_spec_as_they_are(self):
        for text, rows in (("'a' = word", 0), ("word <> 'x: y'", 960), ("word <> 'x #y'", 960), ("number = 1 # of three", None)):
            with millrace.stream(self.spec(epochs=1), set={"recipe.filter": text}, as_numpy=True) as stream:
                if rows is None:
                    with self.assertRaisesRegex(millrace.SpecError, "unexpected '#'|'#'"):
                        next(iter(stream))
                else:
                    self.assertEqual(sum(batch.rows for batch in stream), rows, text)
        for text in ("see #12", "null", "a: b", "{x", "tag \U0001f600 \t \\", "'"):
            told = millrace.check(self.spec(more="command: ['true']\n"), set={"notes": text, "tags.x": text})
            self.assertEqual(told["errors"], [], text)
            spec = told["runs"][0]["spec"]
            self.assertEqual((spec["notes"], spec["tags"]["x"]), (text, text))

    def test_the_length_of_micro_batches_is_that_of_each_rank(self):
        for total in (1000, 961, 990, 960):
            folder = os.path.join(self.folder, str(total))
            os.mkdir(folder)
            spec = write_dataset(folder, total=total, rows=64, micro=16, epochs=2)
            for last, world in (("keep", 1), ("keep", 2), ("keep", 4), ("drop", 2)):
                for rank in range(world):
                    with millrace.stream(spec, last=last, join=False, as_numpy=True, rank=rank, world=world) as stream:
                        self.assertEqual(len(stream), sum(1 for _ in stream), (total, last, rank, world))

    def test_the_length_is_exact(self):
        spec = self.spec(total=1000, rows=64, micro=16, epochs=2)
        for last in ("drop", "keep"):
            with millrace.stream(spec, last=last, as_numpy=True) as stream:
                self.assertEqual(len(stream), sum(1 for _ in stream))
        with millrace.stream(MOVIELENS, as_numpy=True) as stream:
            self.assertEqual(len(stream), 3 * (80703 // 512))
            estimate = stream.estimate
            self.assertTrue(estimate.steps_low is None or estimate.steps_low <= 3 * 80703 / 512 <= estimate.steps_high)


class States(Case):
    def test_a_state_is_of_the_batch_the_loop_got_last(self):
        spec = self.spec(total=1000, rows=64, micro=16, epochs=2)
        states, ids = [], []
        with millrace.stream(spec, as_numpy=True) as stream:
            states.append(stream.state_dict())
            for batch in stream:
                ids.append(ids_of(batch))
                states.append(stream.state_dict())
            whole = stream.order_hash
        for at in (0, 1, 7, 14, 15, 16, 29, 30):
            with millrace.stream(spec, as_numpy=True) as stream:
                stream.load_state_dict(json.loads(json.dumps(states[at])))
                self.assertEqual([ids_of(batch) for batch in stream], ids[at:], at)
                self.assertEqual(stream.order_hash, whole)
                self.assertEqual(stream.rows_left_out, 2 * (1000 % 64))

    def test_a_stream_goes_back_to_a_state(self):
        spec = self.spec(total=500, rows=32, micro=16, epochs=1)
        with millrace.stream(spec, as_numpy=True) as stream:
            ids = [ids_of(batch) for batch in stream]
            end = stream.state_dict()
            stream.load_state_dict({"millrace": 1, "state": ""})
            first = []
            for batch in stream:
                first.append(ids_of(batch))
                if len(first) == 3:
                    break
            state = stream.state_dict()
            self.assertEqual(first, ids[:3])
            stream.load_state_dict(state)
            self.assertEqual([ids_of(batch) for batch in stream], ids[3:])
            self.assertEqual(stream.state_dict(), end)
        self.assertEqual(stream.state_dict(), end)

    def test_a_loop_that_was_left_is_gone_on_with(self):
        spec = self.spec(total=500, rows=32, micro=16, epochs=1)
        with millrace.stream(spec, as_numpy=True) as stream:
            ids = []
            while len(ids) < 500 // 32:
                for batch in stream:
                    ids.append(ids_of(batch))
                    if len(ids) % 4 == 0:
                        break
            self.assertEqual(len({n for one in ids for n in one}), 500 // 32 * 32)

    def test_the_cursor_of_each_batch_goes_on_behind_it(self):
        spec = self.spec(total=500, rows=32, micro=32, epochs=1)
        with millrace.stream(spec, as_numpy=True, last="keep") as stream:
            batches = list(stream)
            cursor = batches[9].cursor
        told = streamed(spec, "--from", cursor)
        self.assertEqual(told["rows_delivered"], 500 - 10 * 32)

    def test_ranks_share_the_sequence_and_know_the_same(self):
        spec = self.spec(total=1000, rows=64, micro=16, epochs=2)
        for last in ("drop", "keep"):
            texts, shares = {}, {}
            for world in (1, 2, 4):
                for rank in range(world):
                    with millrace.stream(spec, rank=rank, world=world, last=last, as_numpy=True) as stream:
                        for step, batch in enumerate(stream):
                            shares.setdefault((world, step), []).extend(zip(*map(list, batch.row_ids)))
                            texts.setdefault(step, set()).add(stream.state_dict()["state"])
                            self.assertAlmostEqual(batch.scale, world * batch.rows / batch.step_rows)
            steps = 2 * (1000 // 64 + (last == "keep"))
            self.assertEqual(sorted(texts), list(range(steps)))
            self.assertEqual({len(known) for known in texts.values()}, {1})
            for step in range(steps):
                self.assertEqual(sorted(shares[1, step]), sorted(shares[2, step]))
                self.assertEqual(sorted(shares[1, step]), sorted(shares[4, step]))

    def test_a_rank_without_rows_gets_a_batch_of_none(self):
        # 1000 = 15 x 64 + 40: the last step has three micro-batches, so the fourth rank has none.
        spec = self.spec(total=1000, rows=64, micro=16, epochs=1)
        with millrace.stream(spec, rank=3, world=4, last="keep", as_numpy=True) as stream:
            batch = list(stream)[-1]
        self.assertEqual((batch.rows, batch.step_rows, batch.scale), (0, 40, 0.0))
        self.assertEqual(batch["dense"].shape, (0, 1))
        self.assertEqual(batch["tags"].to_list(), [])
        self.assertEqual(batch["tags"].offsets.tolist(), [0])
        self.assertEqual(batch["liked"].dtype, numpy.float32)

    def test_equal_data_parallel_ranks_get_equal_batches(self):
        spec = self.spec(total=300, rows=32, micro=16, epochs=1)
        with millrace.stream(spec, dp_rank=1, dp_size=2, as_numpy=True) as one, \
                millrace.stream(spec, dp_rank=1, dp_size=2, as_numpy=True) as two:
            for left, right in zip(one, two):
                self.assertEqual(ids_of(left), ids_of(right))
                self.assertEqual(left.rows, 16)


    def test_a_state_survives_files_that_are_added(self):
        for more in ("", "\nbatch: {segment_splits: 3, rows: 64, micro_rows: 16, epochs: 2, seed: 3}\n"):
            folder = os.path.join(self.folder, str(len(more)))
            os.makedirs(folder)
            spec = write_dataset(folder, total=1000)
            self.split_into_weeks(folder, spec, more)
            with millrace.stream(spec, as_numpy=True) as stream:
                rows = [batch.carry["number"].tolist() for batch in stream]
                whole = stream.order_hash
            with millrace.stream(spec, as_numpy=True) as stream:
                loop = iter(stream)
                got = [next(loop).carry["number"].tolist() for _ in range(5)]
                state = stream.state_dict()
                # Adds a later week, and one that sorts before the others.
                for week in ("week=3", "week=0"):
                    os.mkdir(os.path.join(folder, week))
                    shutil.copy(os.path.join(folder, "week=1", "rows.csv"), os.path.join(folder, week, "rows.csv"))
                with millrace.stream(spec, as_numpy=True) as other:
                    self.assertGreater(len(other), len(rows))
                    other.load_state_dict(json.loads(json.dumps(state)))
                    self.assertEqual(len(other), len(rows))
                    rest = [batch.carry["number"].tolist() for batch in other]
                    self.assertEqual((got + rest, other.order_hash, other.step), (rows, whole, len(rows)))
                    self.assertEqual(other.state_dict()["files"], state["files"])
                # The same if the stream goes back after it has read.
                stream.load_state_dict(state)
                self.assertEqual([batch.carry["number"].tolist() for batch in stream], rest)
            os.remove(os.path.join(folder, "week=2", "rows.csv"))
            with millrace.stream(spec, as_numpy=True) as stream:
                stream.load_state_dict(state)
                with self.assertRaisesRegex(millrace.SpecError, "week=2/rows.csv', which is not among the files any more"):
                    next(iter(stream))
            with millrace.stream(spec, as_numpy=True) as stream, self.assertRaisesRegex(millrace.SpecError, "damaged: its files"):
                stream.load_state_dict({**state, "files": state["files"][:-6]})

    def test_a_state_does_not_notice_files_that_its_stream_does_not_read(self):
        spec = self.spec(total=1000)
        path = os.path.join(self.folder, "rows.csv")
        with open(path, encoding="utf-8") as file:
            head, *lines = file.read().splitlines()
        with open(spec, encoding="utf-8") as file:
            text = file.read().replace("rows.csv", "rows*.csv").replace("x is not null", "hash01(user) < 0.9")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text)
        rows = [batch.carry["number"].tolist() for batch in millrace.stream(spec, as_numpy=True)]
        with millrace.stream(spec, as_numpy=True) as stream:
            got = [next(iter(stream)).carry["number"].tolist()]
            state = stream.state_dict()
        changed = [line.split(",") for line in lines]
        user = head.split(",").index("user")
        for value in ("1.5", "word", ""):  # another type, then a missing value
            for row in changed:
                row[user] = value
            with open(os.path.join(self.folder, "rows2.csv"), "w", encoding="utf-8") as file:
                file.write("\n".join([head, *map(",".join, changed)]) + "\n" if value else "nothing\n1\n")
            with millrace.stream(spec, as_numpy=True) as stream:
                stream.load_state_dict(state)
                self.assertEqual(got + [batch.carry["number"].tolist() for batch in stream], rows, value)

    def split_into_weeks(self, folder, spec, more):
        """Divides rows.csv into two partitions; `more` replaces the spec's batch."""
        with open(os.path.join(folder, "rows.csv"), encoding="utf-8") as file:
            head, *lines = file.read().splitlines()
        os.remove(os.path.join(folder, "rows.csv"))
        for week, part in (("week=1", lines[:500]), ("week=2", lines[500:])):
            os.mkdir(os.path.join(folder, week))
            with open(os.path.join(folder, week, "rows.csv"), "w", encoding="utf-8") as file:
                file.write("\n".join([head, *part]) + "\n")
        with open(spec, encoding="utf-8") as file:
            text = file.read().replace("path: rows.csv", "path: 'week=*/rows.csv'")
        if more:
            text = "\n".join(line for line in text.splitlines() if not line.startswith("batch:")) + more
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text)


class Questions(Case):
    def test_specs_and_datasets_are_asked_about(self):
        checked = millrace.check(MOVIELENS)
        self.assertTrue(checked["ok"])
        self.assertEqual(checked["runs"][0]["spec"]["batch"]["rows"], 512)
        broken = self.spec(more="nonsense: 1\n")
        self.assertIn("nonsense", millrace.check(broken)["errors"][0]["message"])
        self.assertEqual(millrace.preview(MOVIELENS)["name"], "movielens-dlrm")
        with self.assertRaisesRegex(millrace.SpecError, "nonsense"):
            millrace.preview(broken)
        columns = {column["name"] for column in millrace.dataset(MOVIELENS.replace("movielens.yaml", "ratings.csv"))["columns"]}
        self.assertEqual(columns, {"userId", "movieId", "rating", "timestamp"})
        with self.assertRaises(millrace.SpecError):
            millrace.dataset(self.folder + "/nothing.parquet")

    def test_zstd_that_is_read_out_of_order_is_warned_of(self):
        import pyarrow
        spec = self.spec(total=2000, split=50, more="command: ['true']\n")
        with open(os.path.join(self.folder, "rows.csv"), "rb") as file, \
                pyarrow.CompressedOutputStream(os.path.join(self.folder, "rows.csv.zst"), "zstd") as packed:
            packed.write(file.read())
        for changes, count in (({}, 1), ({"batch.order": "as_is"}, 0)):
            told = millrace.check(spec, set={"dataset.path": "rows.csv.zst", **changes})["runs"][0]["warnings"]
            self.assertEqual(len([one for one in told if "is decompressed from its start for most of its 40 splits" in one]), count, told)

    def test_log_has_nobody_to_tell(self):
        self.assertIsNone(millrace.log(loss=1.0))


class Import(Case):
    def test_importing_loads_neither_numpy_nor_torch(self):
        done = subprocess.run([sys.executable, "-c", "import sys, millrace; print([n for n in ('numpy', 'torch', 'pyarrow', "
                               "'subprocess', 'asyncio') if n in sys.modules])"], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")

    def test_library_and_module_are_of_one_version(self):
        from millrace import _library
        self.assertEqual(_library.load().millrace_feed_version().decode(), millrace.__version__)
        done = self.run_script("from millrace import _library\n_library.__version__ = '9.9'\n_library.load()")
        self.assertRegex(done.stderr, r"is of version .* \(ABI 3\), but this module is of version 9.9")


if __name__ == "__main__":
    unittest.main()
