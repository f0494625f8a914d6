#!/usr/bin/env python3
"""Views keep the memory they show: slices that outlive their batch, their stream, and a fork."""
import gc
import os
import random
import signal
import threading
import unittest
import warnings
import weakref

import numpy
from harness import Case

import millrace

# 200 micro-batches of this size take several times the memory of the first ring.
WIDE = dict(total=204800, rows=1024, micro=1024, epochs=1, split=20000)


class Views(Case):
    def test_slices_of_two_hundred_batches_in_random_order(self):
        spec = self.spec(**WIDE)
        draw = random.Random(5)
        kept = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            with millrace.stream(spec, as_numpy=True) as stream:
                for step, batch in enumerate(stream):
                    at = draw.randrange(1000)
                    numbers = batch.carry["number"]
                    kept.append((numbers[at:at + 20], numbers[at:at + 20].tolist(), batch["dense"][at:at + 20, 0]))
                    while len(kept) > 40 or (kept and draw.random() < 0.3):
                        self.check(kept.pop(draw.randrange(len(kept))))
                    if step % 50 == 0:
                        gc.collect()
                self.assertEqual(step, 199)
        # The stream is closed; what is held is still there.
        while kept:
            self.check(kept.pop(draw.randrange(len(kept))))

    def check(self, one):
        view, numbers, dense = one
        self.assertEqual(view.tolist(), numbers)
        numpy.testing.assert_array_equal(dense, (view / 8).astype(numpy.float32))

    def test_a_frame_is_given_back_when_its_last_view_is_gone(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec, as_numpy=True) as stream:
            batch = next(iter(stream))
            gone = weakref.ref(batch)
            view = batch["dense"][3:5, 0][1:]
            with self.assertRaisesRegex(KeyError, r"'x' is a dense feature: batch\['dense'\]\[:, 0\]"):
                batch["x"]
            base = view
            while isinstance(base.base, numpy.ndarray):
                base = base.base
            self.assertEqual(type(base.base).__name__, "_Holder")
            self.assertEqual(stream.stats["held_batches"], 1)
            del batch, base
            self.assertIsNone(gone())
            self.assertEqual(stream.stats["held_batches"], 1)
            del view
            self.assertEqual(stream.stats["held_batches"], 0)

    def test_copies_hold_nothing(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec, as_numpy=True, copy=True) as stream, \
                millrace.stream(spec, as_numpy=True) as other:
            batches = list(stream)
            self.assertEqual(stream.stats["held_batches"], 0)
            for one, two in zip(batches, other):
                for name in ("dense", "user", "liked", "number.carry"):
                    numpy.testing.assert_array_equal(one[name], two[name])
                self.assertEqual(one["tags"].to_list(), two["tags"].to_list())
                self.assertEqual(one.carry["word"].to_list(), two.carry["word"].to_list())

    def test_a_batch_may_be_written_to(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec, as_numpy=True) as stream:
            for batch in stream:
                batch["dense"][:] = -1
                self.assertEqual(float(batch["dense"].sum()), -64)

    def test_views_are_let_go_in_any_thread(self):
        spec = self.spec(total=64000, rows=64, micro=64, epochs=1, split=10000)
        with millrace.stream(spec, as_numpy=True) as stream:
            boxes = [[] for _ in range(8)]
            over = threading.Event()
            wrong = []

            def drop(box):
                while not over.is_set() or box:
                    if box:
                        numbers, dense = box.pop()
                        if not numpy.array_equal(dense, (numbers / 8).astype(numpy.float32)):
                            wrong.append(numbers[0])
                    else:
                        over.wait(0.001)
            threads = [threading.Thread(target=drop, args=(box,)) for box in boxes]
            for thread in threads:
                thread.start()
            for step, batch in enumerate(stream):
                boxes[step % 8].append((batch.carry["number"], batch["dense"][:, 0]))
            over.set()
            for thread in threads:
                thread.join(20)
            self.assertEqual((step, wrong), (999, []))

    def test_a_forked_child_lets_its_parent_be(self):
        spec = self.spec(total=6400, rows=64, micro=64, epochs=1)
        with millrace.stream(spec, as_numpy=True) as stream:
            loop = iter(stream)
            held = [next(loop) for _ in range(3)]
            numbers = [batch.carry["number"].tolist() for batch in held]
            for what in ("drops", "asks", "reads"):
                child = os.fork()
                if child == 0:
                    os._exit(self.in_child(what, held, loop, stream))
                status = os.waitpid(child, 0)[1]
                if what == "reads":
                    self.assertEqual(os.WTERMSIG(status), signal.SIGSEGV)
                else:
                    self.assertEqual(status, 0, what)
            self.assertEqual([batch.carry["number"].tolist() for batch in held], numbers)
            self.assertEqual(3 + sum(1 for _ in loop), 100)
            self.assertEqual([batch.carry["number"].tolist() for batch in held], numbers)

    @staticmethod
    def in_child(what, held, loop, stream):
        """Runs in the child process; returns 0 if all is as expected."""
        if what == "drops":
            held.clear()
            gc.collect()
            stream.close()
            return 0
        if what == "asks":
            for ask in (lambda: next(loop), stream.state_dict, lambda: stream.schema):
                try:
                    ask()
                    return 1
                except millrace.MisuseError as error:
                    if "was forked from it" not in str(error):
                        return 2
            return 0
        return int(held[0]["dense"][0, 0]) and 3  # the child does not have this memory: SIGSEGV

    def test_arrow_views_the_same_memory(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        with millrace.stream(spec, as_numpy=True) as stream:
            batch = next(iter(stream))
            table = batch.arrow()
            self.assertEqual(table.num_rows, 64)
            numbers = batch.carry["number"].tolist()
            lists = batch["tags"].to_list()
            self.assertEqual(table.column("number").to_pylist(), numbers)
            self.assertEqual(table.column("tags").to_pylist(), lists)
            self.assertEqual(table.column("word").to_pylist(), [f"w{n}" for n in numbers])
            self.assertEqual(table.column("dense").to_pylist(), [[n / 8] for n in numbers])
            del batch
            self.assertEqual(stream.stats["held_batches"], 1)
            table.validate(full=True)
            del table
            self.assertEqual(stream.stats["held_batches"], 0)

    def test_arrow_has_nulls_for_missing_labels_and_strings_for_texts(self):
        import pyarrow
        spec, _ = self.carrying()
        with millrace.stream(spec, as_numpy=True, set={"labels.y": "if(k % 5 = 0, null, k % 2 = 1)"}) as stream:
            table = next(iter(stream)).arrow()
        table.validate(full=True)
        self.assertEqual(table.column("y").to_pylist(), [None, 1, 0, 1, 0, None, 0, 1])
        self.assertEqual(table.column("w").type, pyarrow.large_string())
        self.assertEqual(table.column("w").to_pylist(), [f"w{n}" for n in range(8)])
        with millrace.stream(spec, as_numpy=True, set={"recipe": [{"derive": {"w": "'\u00e9'"}}]}) as stream:
            self.assertEqual(next(iter(stream)).arrow().column("w").to_pylist(), ["\u00e9"] * 8)

    def carrying(self, features="carry: [k, l, f, d, v, w]", head="y"):
        """Writes rows with lists of all lengths; returns the spec and the table."""
        import datetime

        import pyarrow
        import pyarrow.parquet
        lists = [[1, 2], None, [], [3], [4], [5, 6, 7], [], [8]] * 4
        days = [None if one is None else [datetime.date(2026, 1, day) for day in one] for one in lists]
        table = pyarrow.table({
            "k": list(range(32)), "l": pyarrow.array(lists, pyarrow.list_(pyarrow.int64())),
            "f": pyarrow.array([None if one is None else [v / 4 for v in one] for one in lists], pyarrow.list_(pyarrow.float32())),
            "d": pyarrow.array(days, pyarrow.list_(pyarrow.date32())),
            "v": pyarrow.array([[n, n + 1] for n in range(32)], pyarrow.list_(pyarrow.int64(), 2)),
            "w": [f"w{n}" for n in range(32)]})
        pyarrow.parquet.write_table(table, os.path.join(self.folder, "rows.parquet"))
        spec = os.path.join(self.folder, "spec.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(f"name: lists\ndataset: {{path: rows.parquet}}\nlabels: {{{head}: k % 2 = 1}}\nfeatures: {{{features}}}\n"
                       + ("embeddings: {k: {rows: 64}, l: {rows: 16}}\n" if "lists:" in features else
                          "embeddings: {k: {rows: 64}}\n" if "ids:" in features else "")
                       + "batch: {rows: 8, micro_rows: 4, shuffle: none, order: as_is}\ncommand: ['true']\n")
        return spec, table

    def test_a_carried_list_keeps_its_offsets(self):
        spec, table = self.carrying()
        want = {name: [one or [] for one in table.column(name).to_pylist()] for name in "lfv"}
        want["d"] = [[(day - type(day)(1970, 1, 1)).days for day in one or []] for one in table.column("d").to_pylist()]
        for how in ({}, {"as_numpy": True}, {"copy": True}, {"as_numpy": True, "copy": True},
                    {"join": False, "set": {"batch.micro_rows": 1}}):
            with millrace.stream(spec, last="keep", **how) as stream:
                schema = {one["name"]: one for one in stream.schema}
                self.assertEqual((schema["l"]["role"], schema["l"]["dtype"]), ("carry", "int64"))
                found = {name: [] for name in "klfdv"}
                for batch in stream:
                    arrow = batch.arrow()
                    arrow.validate(full=True)
                    for name in "lfdv":
                        self.assertIsInstance(batch.carry[name], millrace.Ragged, how)
                        self.assertEqual(len(batch.carry[name]), batch.rows)
                        found[name] += batch[f"{name}.carry"].to_list()
                        self.assertEqual(arrow.column(name).to_pylist(), batch.carry[name].to_list())
                    found["k"] += batch.carry["k"].tolist()
                    self.assertEqual(batch.carry["w"].to_list(), [f"w{n}" for n in batch.carry["k"].tolist()])
                    if not how.get("as_numpy"):
                        moved = batch.to("cpu").carry["l"]
                        self.assertEqual(moved.to_list(), batch.carry["l"].to_list())
                self.assertEqual(found["k"], list(range(32)), how)
                for name, values in want.items():
                    self.assertEqual(found[name], values, (name, how))
        with millrace.stream(spec, rank=1, world=2, last="keep", set={"batch.rows": 24, "batch.micro_rows": 12}) as stream:
            last = list(stream)[-1]  # 8 rows are left, all of rank 0
            self.assertEqual((last.rows, last.carry["l"].to_list(), last.arrow().num_rows), (0, [], 0))

    def test_neither_a_carried_column_nor_a_label_hides_behind_a_feature(self):
        spec, table = self.carrying("dense: [k], ids: [k], lists: [l], carry: [k, l]", head="k")
        raw = [one or [] for one in table.column("l").to_pylist()]
        with millrace.stream(spec, last="keep") as stream:
            batch = next(iter(stream))
        self.assertEqual(batch.keys(), ["dense", "k", "l", "k.label", "k.carry", "l.carry"])
        self.assertEqual(batch.carry["k"].tolist(), list(range(8)))
        self.assertEqual(batch["k.carry"].tolist(), list(range(8)))
        self.assertEqual(batch["k.label"].tolist(), batch.labels["k"].tolist())
        self.assertEqual(batch.labels["k"].tolist(), [0, 1] * 4)
        self.assertEqual(batch["k"].tolist(), batch.features["k"].tolist())
        self.assertNotEqual(batch["k"].tolist(), list(range(8)), "an id is hashed")
        self.assertEqual((batch["l.carry"].to_list(), batch.carry["l"].to_list()), (raw[:8], raw[:8]))
        self.assertNotEqual(batch["l"].to_list(), raw[:8])
        arrow = batch.arrow()
        self.assertEqual(arrow.schema.names, batch.keys())
        self.assertEqual((arrow.column("k.carry").to_pylist(), arrow.column("l.carry").to_pylist()), (list(range(8)), raw[:8]))

    def test_a_name_that_is_no_feature_any_more_does_not_become_the_carried_column(self):
        spec, _ = self.carrying("ids: [k], carry: [k]")
        without = {"features.ids": [], "features.dense": ["k"], "embeddings": {}}
        for changes, keys in (({}, ["k", "y", "k.carry"]), (without, ["dense", "y", "k.carry"])):
            with millrace.stream(spec, last="keep", set=changes) as stream:
                batch = next(iter(stream))
            self.assertEqual(batch.keys(), keys)
            self.assertIn("k", batch.arrow().schema.names)
        with self.assertRaisesRegex(KeyError, r"'k' is not a feature or label of this stream: batch.carry\['k'\]"):
            batch["k"]
        self.assertNotIn("k", batch)


class SharedLists(Case):
    def spec_of_requests(self):
        """Writes rows in which four each share a request and its list; returns the spec."""
        path = os.path.join(self.folder, "rows.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write("request,item,y,history\n")
            for n in range(512):
                history = "|".join(str((n // 4 * 5 + k) % 90 + 1) for k in range(n // 4 % 6))
                file.write(f"{n // 4},{n},{n % 2},{history}\n")
        spec = os.path.join(self.folder, "spec.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write("name: shared\ndataset: {path: rows.csv}\n"
                       "recipe: [{derive: {history: \"split(history, '|')\"}}]\n"
                       "labels: {y: y}\nfeatures: {ids: [item], lists: [history], request: request, carry: [request]}\n"
                       "embeddings: {item: {rows: 1024}, history: {rows: 128}}\n"
                       "batch: {rows: 64, micro_rows: 32, epochs: 1, seed: 1}\n")
        return spec

    def test_lists_that_rows_share_stand_once(self):
        with millrace.stream(self.spec_of_requests(), as_numpy=True) as stream:
            for batch in stream:
                shared = batch["history"]
                self.assertIsNotNone(shared.inverse)
                self.assertEqual(len(shared), 64)
                self.assertLess(len(shared.offsets) - 1, 64)
                lengths = [int(request) % 6 for request in batch.carry["request"]]
                self.assertEqual([len(one) for one in shared], lengths)
                rows = shared.expand()
                self.assertIsNone(rows.inverse)
                self.assertEqual(rows.to_list(), shared.to_list())
                self.assertEqual(rows.lengths.tolist(), lengths)
                self.assertEqual(batch.arrow().column("history").to_pylist(), shared.to_list())


if __name__ == "__main__":
    unittest.main()
