"""Counted vocabularies: the ids of a stream, the cache, runs with stops and kills, and refusals of changed values."""
import collections
import glob
import json
import os
import signal
import subprocess
import textwrap
import unittest

from harness import BIN
from poll import wait_for
from run_harness import SCRIPT, RunCase

USERS = [str(n * n % 23) if n % 9 else "" for n in range(1000)]  # of rows.csv; "" is null
KEPT = 640  # whole steps, so that none is dropped


class VocabularyCase(RunCase):
    """Rows whose users are texts, numbers and nulls; the recipe keeps the first KEPT."""

    def prepare_counted(self, vocabulary="auto", more="", total=1000, ranks=1, every=5):
        spec = self.prepare(ranks=ranks, every=every, more=more, total=total)
        with open(os.path.join(self.folder, "rows.csv"), "w", encoding="utf-8") as file:
            file.write("number,user,x,y,tags,word\n")
            for n in range(total):
                file.write(f"{n},{USERS[n % 1000]},{n / 8},{n % 3 - 1},{'|'.join(['7', '300'] * (n % 2))},{'wxyz'[n * n % 3]}\n")
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        text = text.replace("filter: x is not null", f"filter: number % 1000 < {KEPT}").replace("user: {rows: 1024}",
                                                                              f"user: {{vocabulary: {vocabulary}}}")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text)
        return spec

    def loader(self, *arguments, code=0):
        done = subprocess.run([os.path.join(BIN, "millrace-loader"), *arguments], capture_output=True, text=True, timeout=120,
                              check=False, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        self.err = done.stderr
        return done.stdout

    def streamed(self, spec, *more):
        """The report of the stream of a spec."""
        return json.loads(self.loader("stream", spec, "--json", *more))

    SCORED = "eval: {dataset: {where: number % 1000 < 640 and number > 300}}\n"  # rows of mostly other users

    READ = """
        import json, os, millrace
        here = os.path.dirname(os.path.abspath(__file__))
        def ids(rows):
            return {int(n): int(user) for batch in rows for n, user in zip(batch.carry["number"], batch["user"])}
    """

    def cached(self):
        """The files of counted values, and their keys."""
        folder = os.path.join(os.environ["XDG_CACHE_HOME"], "millrace/vocabularies")
        return glob.glob(folder + "/*.arrow"), glob.glob(folder + "/*.json")

    def resolved(self, run):
        return self.show(run)["spec"]


class CountedStream(VocabularyCase):
    def test_ids_are_places_by_falling_count_and_then_by_value(self):
        spec = self.prepare_counted()
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        alone = os.path.join(self.folder, "alone.yaml")
        with open(alone, "w", encoding="utf-8") as file:
            file.write(text[:text.index("command:")])
        out = self.run_script(f"""
            import json, millrace
            seen = {{}}
            stream = millrace.stream({alone!r}, as_numpy=True)
            rows = {{column["name"]: column["rows"] for column in stream.schema}}
            for batch in stream:
                for number, user in zip(batch.carry["number"], batch["user"]):
                    seen[int(number)] = int(user)
            print(json.dumps([rows, seen]))
        """)
        self.assertEqual(out.returncode, 0, out.stderr)
        rows, seen = json.loads(out.stdout)
        ids = {int(number): user for number, user in seen.items()}
        counts = collections.Counter(int(user) for user in USERS[:KEPT] if user)
        order = sorted(counts, key=lambda user: (-counts[user], user))
        self.assertEqual((rows["user"], rows["tags"], rows["dense"], rows["word"]), (len(order) + 1, 256, 0, 0))
        self.assertEqual(len(ids), KEPT)
        self.assertEqual(ids, {n: order.index(int(USERS[n])) + 1 if USERS[n] else 0 for n in range(KEPT)})

    def test_rows_that_are_scored_have_the_ids_of_training(self):
        spec = self.prepare_counted(more=self.SCORED)
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text[:text.index("command:")] + self.SCORED)
        read = self.READ + f"""
        print(json.dumps([ids(millrace.stream({spec!r}, part=part, as_numpy=True)) for part in ORDER]))
        """
        for order in (("score", "train", "eval"), ("eval", "score", "train")):
            out = self.run_script(read.replace("ORDER", repr(order)))
            self.assertEqual(out.returncode, 0, out.stderr)
            found = dict(zip(order, json.loads(out.stdout)))
            self.assertEqual(len(found["score"]), KEPT - 301)
            self.assertEqual(found["score"], found["eval"])
            self.assertEqual(found["score"], {n: user for n, user in found["train"].items() if n in found["score"]})
            self.assertEqual(len(self.cached()[1]), 1, "the training rows alone are counted")

    def test_rows_as_they_are_and_their_number_need_no_values(self):
        spec = self.prepare_counted(more=self.SCORED)
        self.loader("stream", spec, "--rows", "--data", "eval", "--sink", "parquet", "--output", os.path.join(self.folder, "out"))
        self.assertEqual(json.loads(self.loader("count", spec, "--data", "eval", "--json"))["rows"], KEPT - 301)
        self.assertEqual(self.cached(), ([], []))

    def test_threads_and_the_cache_change_nothing_and_a_damaged_file_is_counted_again(self):
        spec = self.prepare_counted()
        first = self.streamed(spec, "--threads", "1")
        values, keys = self.cached()
        self.assertEqual((len(values), len(keys)), (1, 1))
        with open(values[0], "rb") as file:
            whole = file.read()
        same = ("order_hash", "checksum", "stream_hash", "plan_hash")
        for damage in (None, b"", whole[:len(whole) // 2], b"x" * len(whole)):
            if damage is not None:
                with open(values[0], "wb") as file:
                    file.write(damage)
            again = self.streamed(spec, "--threads", "3")
            self.assertEqual([again[key] for key in same], [first[key] for key in same])
            with open(values[0], "rb") as file:
                self.assertEqual(file.read(), whole, "what was damaged is made anew")

    def test_the_cache_is_shared_by_what_does_not_change_the_rows(self):
        spec = self.prepare_counted()
        self.streamed(spec)
        for change in ("batch.rows=128", "batch.seed=9", "batch.shuffle=none", "labels.liked=y > -1", "features.dense=[]",
                       "train.learning_rate=0.5"):
            self.streamed(spec, "--set", change)
            self.assertEqual(len(self.cached()[1]), 1, change)
        for known, change in enumerate(("dataset.where=number > 10", "embeddings.user.vocabulary={min_count: 3}"), 2):
            self.streamed(spec, "--set", change)
            self.assertEqual(len(self.cached()[1]), known, change)

    def test_files_that_changed_are_counted_again(self):
        spec = self.prepare_counted()
        first = self.streamed(spec)
        path = os.path.join(self.folder, "rows.csv")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(",1,", ",77,"))
        self.assertNotEqual(self.streamed(spec)["stream_hash"], first["stream_hash"])

    def test_check_does_not_count_and_says_so(self):
        spec = self.prepare_counted()
        self.cli("check", spec)
        said = self.cli("check", spec, "--json") + self.err
        self.assertIn("note: embeddings: vocabularies counted when the run starts: user; their rows", said)
        self.assertEqual([line for line in self.err.splitlines() if "warning" in line and "nulls of" not in line], [])
        self.assertEqual(self.cached(), ([], []))
        self.streamed(spec)
        said = self.cli("check", spec, "--json") + self.err
        self.assertIn("note: embeddings: vocabularies counted before: user with", said)


class CountedRun(VocabularyCase):
    def test_a_run_counts_before_its_first_attempt_and_keeps_what_it_counted(self):
        spec = self.prepare_counted(ranks=2)
        self.hold(*range(1, 8))
        run = self.submit(spec)[0]
        wait_for("the ranks are at step 8", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [8])
        pinned = self.resolved(run)["embeddings"]["user"]
        self.assertEqual(len(pinned["vocabulary"]["hash"]), 32)
        self.assertEqual(pinned["rows"], len({user for user in USERS[:KEPT] if user}) + 1)
        # The next attempt needs neither the cache nor a rank of this attempt.
        for path in sum(self.cached(), []):
            os.unlink(path)
        os.kill(self.pid_of(1), signal.SIGKILL)
        self.release()
        ended = self.wait(run, "finished", "failed", "cancelled", seconds=120)
        self.assertEqual(ended["state"], "finished", ended.get("exit_reason"))
        self.assertEqual(ended["attempt"], 2)
        self.assertEqual(self.resolved(run)["embeddings"]["user"], pinned)
        self.assertEqual(self.cached(), ([], []), "the second attempt counted nothing")
        self.assertEqual(ended["receipt"]["order_hash"], self.streamed(spec)["order_hash"])
        self.assertIn("counted", " ".join(event["text"] for event in ended["events"]))

    def test_scores_in_a_run_have_its_ids_also_when_the_files_have_changed(self):
        spec = self.prepare_counted(more=self.SCORED)
        with open(os.path.join(self.folder, "script.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(self.READ) + textwrap.dedent("""
                spec = os.path.join(here, "spec.yaml")
                stream = millrace.stream(spec, as_numpy=True)
                with open(os.path.join(here, "rows.csv"), "a") as file:
                    file.write("100,99,1,0,,w\\n" * 900)
                with open(os.path.join(here, "found.json"), "w") as file:
                    json.dump(ids(millrace.stream(spec, part="score", as_numpy=True)), file)
                for batch in stream:
                    pass
            """))
        run = self.submit(spec)[0]
        self.assertIn(self.wait(run, "finished", "failed", "cancelled")["state"], ("finished", "failed"))
        with open(os.path.join(self.folder, "found.json"), encoding="utf-8") as file:
            found = json.load(file)
        counts = collections.Counter(int(user) for user in USERS[:KEPT] if user)
        order = sorted(counts, key=lambda user: (-counts[user], user))
        self.assertEqual(found, {str(n): order.index(int(USERS[n])) + 1 if USERS[n] else 0 for n in range(301, KEPT)})

    def test_the_receipt_counts_the_unknown_ids_of_the_evaluation(self):
        spec = self.prepare_counted(more="eval: {dataset: {where: number >= 700}}\n", vocabulary="{max_rows: 3}")
        with open(os.path.join(self.folder, "script.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent("""
                import os, millrace, numpy
                spec = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spec.yaml")
                for batch in millrace.stream(spec, as_numpy=True):
                    pass
                millrace.evaluate(lambda batch: numpy.full(batch.rows, 0.5), as_numpy=True)
            """))
        ended = self.wait(self.submit(spec)[0], "finished", "failed", "cancelled")
        self.assertEqual(ended["state"], "finished", ended.get("exit_reason"))
        seen = self.streamed(spec, "--data", "eval")["vocabularies"][0]
        self.assertGreater(seen["unknown"], 0)
        told = ended["receipt"]["vocabularies"][0]
        self.assertEqual((told["eval_ids"], told["eval_unknown"]), (seen["ids"], seen["unknown"]))
        self.assertGreater(told["ids"], told["eval_ids"])

    def test_variations_share_what_was_counted_where_their_rows_are_the_same(self):
        spec = self.prepare_counted(more="variations:\n  - {name: more, set: {batch.epochs: 1}}\n"
                                         "  - {name: fewer, set: {dataset.where: number < 300}}\n")
        runs = self.submit(spec, "--all-variations")
        for run in runs:
            self.assertEqual(self.wait(run, "finished", "failed", "cancelled")["state"], "finished")
        hashes = [self.resolved(run)["embeddings"]["user"]["vocabulary"]["hash"] for run in runs]
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])
        self.assertEqual(len(self.cached()[1]), 2)

    def test_a_stop_ends_the_counting(self):
        spec = self.prepare_counted(total=200_000)
        run = self.submit(spec)[0]
        found = []

        def counting():
            for pid in self.processes():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        words = file.read().split(b"\0")
                except OSError:
                    continue
                if words[0].endswith(b"millrace-loader") and words[1:2] == [b"inspect"]:
                    os.kill(pid, signal.SIGSTOP)  # counts until the stop arrives
                    found.append(pid)
            return found
        wait_for("a worker counts", counting, step=0.005)
        wait_for("the run says so", lambda: "vocabularies" in json.dumps(self.show(run)))
        self.cli("stop", run)
        ended = self.wait(run, "cancelled", "failed", "finished")
        self.assertEqual((ended["state"], ended["attempt"]), ("cancelled", 0))
        wait_for("the worker has ended", lambda: not os.path.exists(f"/proc/{found[0]}"))


if __name__ == "__main__":
    unittest.main()
